"""The Files screen, behind Dream: read and edit SOUL, USER and MEMORY, one commit an edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nanomem_tui.core.errors import Conflict, NanomemError, NotFound, NothingToDo
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.console import show_blame
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialogs import EditScreen
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Spans

SAYS: Mapping[str, str] = {
    "SOUL.md": "who the agent is",
    "USER.md": "what it knows of you",
    "memory/MEMORY.md": "what it keeps for long",
}

TOGETHER = "What the file says now, with what you wrote: where nothing was decided both are there. Saved as it is here."


@dataclass(frozen=True, slots=True)
class FileRow:
    """One memory file and its text; `error` says why it could not be read."""

    name: str
    text: str
    error: str = ""


class FilesScreen(WorkspaceScreen[FileRow]):
    """The memory files."""

    SCREEN = "files"
    EMPTY = "There is no SOUL.md, USER.md or MEMORY.md here yet."
    HELP = "The memory files as they are now. An edit of yours is one commit, which u takes back."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"name": "text", "lines": "number"}

    def columns(self) -> Sequence[Column[FileRow]]:
        """Which file, how long."""
        return (
            Column("name", "File", lambda row: row.name, width=18, sort=lambda row: row.name),
            Column("says", "What it says", lambda row: row.error or SAYS.get(row.name, ""), min_width=20, tone="dim"),
            Column("lines", "Lines", lambda row: f"{_line_count(row.text):,}", width=6, align="right",
                   sort=lambda row: _line_count(row.text)),
        )  # fmt: skip

    def row_id(self, row: FileRow) -> str:
        """The path in the workspace."""
        return row.name

    def load(self) -> Iterable[Sequence[FileRow]]:
        """Those that exist."""
        documents = self.ws.documents
        yield [_read(documents, name) for name in documents.names()]

    def search_text(self, row: FileRow) -> str:
        """Words are searched in the whole file."""
        return f"{row.name} {row.text}"

    def field(self, row: FileRow, name: str) -> Any:
        """The fields of the filter language."""
        return row.name if name == "name" else _line_count(row.text)

    def sign(self, row: FileRow) -> str:
        """What could not be read."""
        return "!" if row.error else ""

    def detail(self, row: FileRow) -> Document:
        """The text, headings standing out."""
        blocks: list[Block] = [Field("file", f"{row.name}, {_line_count(row.text):,} lines")]
        if row.error:
            blocks.append(Body(row.error, "bad"))
        blocks.append(Heading("Text"))
        lines = row.text.replace("\r\n", "\n").split("\n")
        blocks += [Spans(((line, "heading" if line.startswith("#") else ""),), 2) for line in lines]
        return Document(tuple(blocks), copy=row.text)

    def copy_text(self) -> str:
        """The text of the file."""
        row = self.table.cursor_row
        return "" if row is None else row.text

    # Actions

    def do_blame(self) -> None:
        """Who wrote each line of the file."""
        show_blame(self.console, self._row().name)

    def do_edit(self) -> None:
        """Edit the file here."""
        row = self._row_now()

        async def save(text: str | None) -> None:
            if text is not None:
                await self._save(row, text)

        self.ask(EditScreen(f"Edit {row.name}", row.text, "one commit"), save)

    async def do_edit_external(self) -> None:
        """Edit the file in the person's own editor."""
        row = self._row_now()
        after = self.edit_outside(row.text)
        if after == row.text:
            say(self, "Nothing was changed")
        else:
            await self._save(row, after)

    async def _save(self, row: FileRow, text: str) -> None:
        try:
            done = await self.change(lambda ws: ws.documents.edit(row.name, text, base=row.text))
        except NothingToDo:
            say(self, "Nothing was changed")
            return
        except Conflict as error:
            self._merge(row, text, error)
            return
        more = " with what was written meanwhile" if _read(self.ws.documents, row.name).text != text else ""
        for operation in done:
            say(self, f"{operation.label}{more} (u undoes it)")

    def _merge(self, row: FileRow, text: str, error: Conflict) -> None:
        """Ask what becomes of the lines that somebody else changed while a person wrote at them."""
        from nanomem_tui.screens.merge_dialog import Answer, MergeScreen, Texts

        now = _read(self.ws.documents, row.name)
        if now.error:
            raise error
        texts = Texts(row.text, now.text, text)

        async def decided(answer: Answer | None) -> None:
            if answer is not None and answer.how == "save":
                await self._save(now, answer.text)
            elif answer is not None:
                edit = EditScreen(f"Edit {row.name}", now.text, "one commit", typed=answer.text, why=TOGETHER)
                self.ask(edit, save)

        async def save(again: str | None) -> None:
            if again is not None:
                await self._save(now, again)

        self.ask(MergeScreen(row.name, texts), decided)

    def _row(self) -> FileRow:
        row = self.table.cursor_row
        if row is None:
            raise NotFound("there is no file here")
        return row

    def _row_now(self) -> FileRow:
        """The file as it is now: the list may not show yet what was written a moment ago."""
        return _read(self.ws.documents, self._row().name)


def _read(documents: Any, name: str) -> FileRow:
    try:
        return FileRow(name, documents.read(name) or "")
    except NanomemError as error:
        return FileRow(name, "", error.line())


def _line_count(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))
