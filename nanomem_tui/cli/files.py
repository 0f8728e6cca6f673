"""`nanomem files`: SOUL.md, USER.md and MEMORY.md as they are now, and a person's edit of them."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.planned import tell
from nanomem_tui.cli.shared import Group, Words, cannot_read, paged, pass_state, rehearsable
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

MAX_INPUT = 8_000_000
"""Bytes of a memory file."""


@click.group("files", cls=Group)
def files() -> None:
    """The memory files that the agent reads at each start: SOUL.md, USER.md, MEMORY.md.

    \b
    Example:
      nanomem files show USER.md
      nanomem files edit USER.md
    """


@files.command("list")
@paged
@pass_state
def list_files(state: State, limit: int | None, offset: int) -> None:
    """The files that are there, with their lines and characters.

    \b
    Example:
      nanomem files list
    """
    with state.open() as ws:
        found = [_listed(ws, name) for name in ws.documents.names()]
    body = page(found, limit, offset)
    columns = [
        Column("File"), Column("Lines", right=True), Column("Characters", right=True), Column("Note", optional=True),
    ]  # fmt: skip
    rows = [
        (one["id"], "" if one["problem"] else f"{one['lines']:,}", "" if one["problem"] else f"{one['characters']:,}",
         one["problem"])
        for one in body
    ]  # fmt: skip
    state.show(body, lambda: table(columns, rows, output.terminal_width()) if rows else ["No memory file is there."])


def _listed(ws: Workspace, name: str) -> dict[str, Any]:
    """One file of the list; one that cannot be read says why, and hides no other."""
    try:
        text, problem = ws.documents.read(name) or "", ""
    except NanomemError as error:
        text, problem = "", error.what
    return {"id": name, "lines": len(text.splitlines()), "characters": len(text), "problem": problem}


@files.command("show")
@click.argument("file", type=Words())
@pass_state
def show(state: State, file: str) -> None:
    """One file as it is now.

    \b
    Example:
      nanomem files show MEMORY.md
    """
    from nanomem_tui.dreams.log import full_name

    name = full_name(file)
    with state.open() as ws:
        text = ws.documents.read(name)
    if text is None:
        raise BadInput("there is no such file", name, "see `nanomem files list`")
    state.show({"id": name, "text": text}, text.replace("\r\n", "\n").split("\n"))


@files.command("edit")
@click.argument("file", type=Words())
@click.option("--from", "source", type=Words(), metavar="FILE", help="The new text is in this file (-: on stdin).")
@rehearsable
@pass_state
def edit(state: State, file: str, source: str | None, *, dry_run: bool) -> None:
    """Edit a file in your editor, or give its new text: one commit, which `nanomem undo` takes back.

    What somebody wrote into it meanwhile is kept; where both changed the same lines nothing is written.

    \b
    Example:
      nanomem files edit USER.md
      nanomem files edit SOUL.md --from soul-new.md --dry-run
    """
    from nanomem_tui.cli import editor
    from nanomem_tui.dreams.log import full_name

    name = full_name(file)
    with state.open(dry_run=dry_run) as ws:
        seen = ws.documents.read(name)
        given = _given(source) if source is not None else None
        text = given if given is not None else editor.edit_text(seen or "", "--from")
        kept = editor.words_kept(text) if given is None else contextlib.nullcontext()
        with kept, contextlib.suppress(NothingToDo):
            done = [ws.documents.edit(name, text, base=seen)]
            tell(state, done, {"id": name}, dry_run=dry_run)
            return
    tell(state, [], {"id": name}, "Nothing changed.", dry_run=dry_run)


def _given(source: str) -> str:
    """The text of a file that was named. Raises BadInput, and what `from_os_error` does."""
    try:
        if source == "-":
            data = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with Path(source).open("rb") as stream:
                data = stream.read(MAX_INPUT + 1)
    except OSError as error:
        raise cannot_read(error, source, "reading the text") from error
    if len(data) > MAX_INPUT:
        raise BadInput(f"more than {MAX_INPUT:,} bytes", source, "a memory file is read at each start: keep it short")
    try:
        return core_files.decode(data)
    except UnicodeDecodeError as error:
        raise BadInput(f"byte {error.start} is no UTF-8", source, "give the text in UTF-8") from None
