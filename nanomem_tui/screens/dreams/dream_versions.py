"""The Versions screen, behind Dream: a memory file as it was after every change, and how to restore a version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from textual import on, work
from textual.message import Message
from textual.widget import Widget

from nanomem_tui.core import merge
from nanomem_tui.core.errors import NanomemError, Refused
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.core.text import counted
from nanomem_tui.dreams.blame import NOW, SavedVersion
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.diffs import RevertPart, revert
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.screens.base.list_screen import View
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.diff_view import MARKS, DiffLine, VersionLine, VersionView, diff_texts
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Spans

ALL_LINES = 10**9
PAGE = 50  # versions that are shown before the rest is read


class ShownVersion(NamedTuple):
    """What the right pane shows."""

    file: str
    lines: tuple[VersionLine, ...]
    above: tuple[Block, ...]


class VersionsScreen(WorkspaceScreen[SavedVersion]):
    """Every version of a memory file."""

    class Counted(Message):
        """From the counting thread: the lines of the rows that are shown."""

    SCREEN = "versions"
    FLASHES = False
    EMPTY = "No version of the memory files is kept yet. The first Dream, or the first edit here, begins it."
    HELP = (
        "A memory file as it was after each change of it, the newest first. Up and down move through time, in the text "
        "left and right do. l shows the next file, n the next change, t brings a version back."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"id": "text", "who": "text", "file": "text", "age": "age"}

    def __init__(self) -> None:
        super().__init__()
        self._file = TRACKED_FILES[-1]
        self._shown = ""
        self._counted: dict[tuple[str, str], str] = {}  # "…" while it is under way
        self._to_count: dict[tuple[str, str], SavedVersion] = {}
        self._counting = 0  # threads that count

    # The list

    def columns(self) -> Sequence[Column[SavedVersion]]:
        """When, who, and what it did to the file."""
        return (
            aged("Age", lambda row: row.at if row.sha else "now", align="right", tone="dim"),
            Column("who", "Who", _who, width=13, tone="accent", sort=_who),
            Column("lines", "+/-", self._counts, width=8, align="right"),
            Column("subject", "Subject", lambda row: row.subject, min_width=18),
            Column("sha", "Commit", lambda row: row.sha[:8], width=8, priority=1, tone="dim"),
        )  # fmt: skip

    def _counts(self, row: SavedVersion) -> str:
        """What is not known yet is counted late, and only of the rows that are shown: it takes its time."""
        if self._file not in row.files:
            return ""
        of = (row.sha, self._file)
        found = self._counted.get(of)
        if found is None:
            found = self._counted[of] = "…"
            if not self._to_count:
                self.call_after_refresh(self._count_shown)
            self._to_count[of] = row
        return found

    def _count_shown(self) -> None:
        wanted, self._to_count = self._to_count, {}
        self._counting += 1
        self._count(wanted)

    @work(thread=True, group="counts", exit_on_error=False)
    def _count(self, wanted: Mapping[tuple[str, str], SavedVersion]) -> None:
        versions = self.ws.dream.versions
        try:
            for (sha, file), saved in wanted.items():
                try:
                    self._counted[sha, file] = "+{} -{}".format(*versions.counts(saved, file))
                except NanomemError:  # its detail says why
                    self._counted[sha, file] = "?"
        finally:
            self.post_message(self.Counted())

    def on_versions_screen_counted(self) -> None:
        """The lines of the rows that are shown were counted."""
        self._counting -= 1
        if self.table.rows:
            self.table.set_rows(self.table.rows)

    @property
    def reading(self) -> bool:
        """Also while lines of rows that are shown are still to be counted."""
        return super().reading or bool(self._to_count or self._counting)

    def row_id(self, row: SavedVersion) -> str:
        """The id of the commit."""
        return row.sha or "now"

    def load(self) -> Iterable[Sequence[SavedVersion]]:
        """Every commit, the newest first, and before them the files as they are now, where no commit holds them."""
        for path in TRACKED_FILES:
            self._counted.pop((NOW, path), None)
        found = self.ws.dream.versions.newest_first()
        while rows := list(islice(found, PAGE)):
            yield rows

    def search_text(self, row: SavedVersion) -> str:
        """Words are searched in the subject."""
        return row.subject

    def field(self, row: SavedVersion, name: str) -> Any:
        """The fields of the filter language."""
        if name == "file":
            return {part for path in row.files for part in (path, path.rpartition("/")[2])}
        return {"id": row.sha, "who": {row.who, row.who.rpartition(" ")[2]}, "age": row.at}[name]

    def _show_view(self, view: View[SavedVersion]) -> None:
        """Only what changed the file is a version of it."""
        super()._show_view(replace(view, rows=[row for row in view.rows if self._file in row.files]))

    def _go_to_wanted(self) -> None:
        """To the row that is wanted; of a change that left the file alone, to the version that it left."""
        if self._wanted_row is not None:
            self._wanted_row = self._version_at(self._wanted_row)
        super()._go_to_wanted()

    def _version_at(self, sha: str) -> str:
        """The version of the file after the change `sha`: the oldest one for what came before; itself, if unknown."""
        rows = self.listing.rows
        at = next((number for number, row in enumerate(rows) if self.row_id(row) == sha), None)
        if at is None:
            return sha
        own = [number for number, row in enumerate(rows) if self._file in row.files]
        return self.row_id(rows[next((number for number in own if number >= at), own[-1])]) if own else sha

    def _say_totals(self) -> None:
        super()._say_totals()
        total = sum(1 for row in self.listing.rows if self._file in row.files)
        self.say_counts(f"{self._file} · {counted(total, 'version')}")

    # The detail

    def make_detail(self) -> Widget:
        """The text of a version."""
        return VersionView(id="detail")

    @property
    def view(self) -> VersionView:
        """The text of a version."""
        return self.query_one("#detail", VersionView)

    def detail(self, row: SavedVersion) -> ShownVersion:
        """The file as of then, against the version before and against now."""
        file, versions = self._file, self.ws.dream.versions
        then, now = versions.text(row.sha, file), versions.text(NOW, file)
        before = versions.text(row.parent, file) if row.parent else None
        lines = version_lines(before, then, now)
        above: list[Block] = [
            Spans(((file, "heading"), (f"  as of {format_time(row.at)}" if row.sha else "  now", "dim")))
        ]
        said = f"{row.who}: {row.subject.removeprefix('dream: ')}"
        above.append(Field("by", f"{said} ({row.sha[:8]})" if row.sha else said))
        above.append(Field("then", _comparison(lines, then, now)))
        above += [Body(MARKS, "dim"), Body("")]
        return ShownVersion(file, lines, tuple(above))

    def show_detail(self, detail: Any) -> None:
        """Moving through time stays at the place; another file is shown from its top."""
        if isinstance(detail, ShownVersion):
            same, self._shown = detail.file == self._shown, detail.file
            self.view.show(detail.lines, detail.above, keep_place=same)
        elif isinstance(detail, Document):
            self._shown = ""
            self.view.show((), ())

    @on(VersionView.Travel)
    def _travel(self, event: VersionView.Travel) -> None:
        event.stop()
        self.table.move_by(-event.step)

    def copy_text(self) -> str:
        """The file as of then."""
        return "\n".join(row.line.text for row in self.view.version if row.line.sign != "-")

    # Actions

    def show_file(self, file: str) -> None:
        """Show the versions of another file, from the same time on."""
        self._file = file
        row = self.table.cursor_row
        if row is not None and self._wanted_row is None:
            self._wanted_row = self.row_id(row)
        self._make_view()
        self.table.refresh()
        self.refresh_detail()

    def begin_with(self, file: str) -> None:
        """Show the versions of this file when the screen comes next."""
        if self.is_mounted:
            self.show_file(file)
        else:
            self._file = file

    def do_next_part(self) -> None:
        """To the next memory file."""
        self.show_file(TRACKED_FILES[(TRACKED_FILES.index(self._file) + 1) % len(TRACKED_FILES)])

    def do_next_hunk(self) -> None:
        """To the next change, also from the list."""
        self.view.action_next_hunk()

    def do_previous_hunk(self) -> None:
        """To the change before, also from the list."""
        self.view.action_previous_hunk()

    def do_dream_restore(self) -> None:
        """Show what bringing the file back would change, then do it."""
        row, file = self.table.cursor_row, self._file
        if row is None:
            return
        if not row.sha:
            raise Refused("that is the file as it is now", file, "choose an older version")
        short = row.sha[:8]
        parts = [(f"{file} as of {short}; what came after it in this file is lost", RevertPart(file, as_of=True))]
        if file in row.files and row.parent:
            parts.append((f"Take back only what {short} did in {file}; later edits stay", RevertPart(file)))
        revert(self, row.sha, f"Bring back {file} of {short}", parts, "do it")

    def operations_done(self, operations: Sequence[Any]) -> None:
        """There is a new version."""
        self.forget_detail()
        self.reload()


def version_lines(before: str | None, then: str | None, now: str | None) -> tuple[VersionLine, ...]:
    """Every line of a file as it was `then`, with those that differ from `before`, and which are no longer there."""
    gone: set[int] = set()
    for edit in merge.edits(_lines(then), _lines(now)):
        gone.update(range(edit.start + 1, edit.stop + 1))
    hunks = diff_texts("", before or "", then or "", ALL_LINES).hunks
    lines = hunks[0].lines if hunks else [DiffLine(" ", text, n) for n, text in enumerate(_lines(then), 1)]
    return tuple(VersionLine(line, line.sign != "-" and line.number in gone) for line in lines)


def _lines(text: str | None) -> list[str]:
    lines = (text or "").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _comparison(lines: Sequence[VersionLine], then: str | None, now: str | None) -> str:
    """How the version compares, in a sentence."""
    if then is None:
        return "there was no such file"
    came = sum(1 for row in lines if row.line.sign == "+")
    went = sum(1 for row in lines if row.line.sign == "-")
    total = len(lines) - went
    gone = sum(1 for row in lines if row.gone)
    new = len(_lines(now)) - (total - gone)
    since = f"since then {gone:,} went and {new:,} came" if gone or new else "as it is now"
    return f"{counted(total, 'line')}, +{came} -{went} against the version before; {since}"


def _who(row: SavedVersion) -> str:
    return row.who
