"""`nanomem files`: SOUL.md, USER.md and MEMORY.md as they are now, and a person's edit of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.memory_answers import time_lines, within
from nanomem_tui.cli.options import (
    Command,
    Count,
    Group,
    State,
    Words,
    asked_query,
    cannot_read,
    dated,
    page,
    paged,
    pass_state,
    query_options,
    rehearsable,
)
from nanomem_tui.cli.output import Column, table
from nanomem_tui.cli.planned import tell
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo

if TYPE_CHECKING:
    from nanomem_tui.review.find import Place
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


# `nanomem find`: anything by typing a part of it: screens, items, lessons, sessions, files, notes, Dreams, records.

KINDS = (
    "screen", "file", "lesson", "note", "dream", "session", "summary", "journal", "reflection", "record", "fact",
    "item",
)  # fmt: skip


@click.command("find", cls=Command)
@query_options
@dated
@click.option("--in", "kinds", type=click.Choice(["all", *KINDS]), multiple=True, help="Only of this kind; repeatable.")
@click.option("--limit", type=Count(1), default=20, show_default=True, help="Print N at most.")
@click.option("--all-workspaces", is_flag=True, help="In every workspace that `nanomem workspaces list` knows.")
@pass_state
def find(
    state: State,
    query: str | None,
    terms: Sequence[str],
    since: str,
    until: str,
    kinds: Sequence[str],
    limit: int,
    all_workspaces: bool,
) -> int:
    """Anything whose words hold what you type; where nothing does, what is similar. J does the same in the console.

    It looks at titles and texts of rows; `nanomem session search` looks into conversations. Exit code 1 when something
    could not be looked at, which is named. What was said at a time in the words, or is about it, stands first
    (`find "garden last week"`); --since and --until leave out all else.

    \b
    Example:
      nanomem find "window seat"
      nanomem find garden --in item --in session
      nanomem find ferry --all-workspaces
    """
    asked = asked_query(query, terms, may_be_empty=bool(since or until))
    wanted = [] if "all" in kinds else [f"kind:{','.join(dict.fromkeys(kinds))}"] if kinds else []
    return (_everywhere if all_workspaces else _here)(state, " ".join([*wanted, asked]), since, until, limit)


def _here(state: State, query: str, since: str, until: str, limit: int) -> int:
    from nanomem_tui.actions import SCREENS
    from nanomem_tui.agents.layout import missing_sessions, not_read
    from nanomem_tui.review.find import Found, Places

    found = Found((), 0, done=True)
    with state.open() as ws:
        span = within(ws, since, until)
        for step in Places(lambda: ws, SCREENS).find(query, limit, within=span):
            found = step
        unread = list(filter(None, (missing_sessions(ws.layout), not_read(ws.layout))))
    output.notes(f"Note: {problem.text()}" for problem in unread)
    if found.left_out:
        output.notes([f"Note: not looked at, for it cannot be read: {found.left_out}"])
    left_out = ", ".join(filter(None, [found.left_out, *(str(problem.where) for problem in unread)]))
    body = {
        "total": found.total,
        "similar": found.fuzzy,
        "left_out": left_out,
        "places": [_place(one) for one in found.places],
        **({"time": found.time.to_json()} if found.time is not None else {}),
    }
    columns = [Column("What"), Column("ID", limit=40, least=12), Column("Words", limit=100, least=20)]
    cells = [_cells(one) for one in found.places]
    told = time_lines(found.time, span)
    state.show(body, lambda: [*told, *(table(columns, cells, output.terminal_width()) or [_none(left_out)])])
    _tell_similar(similar=found.fuzzy and bool(found.places))
    return 1 if left_out else 0


def _everywhere(state: State, query: str, since: str, until: str, limit: int) -> int:
    from nanomem_tui.memory.recall import times
    from nanomem_tui.workspaces import FoundTogether, Together, known

    asked_for = {state.locate().workspace: ""} if state.workspace is not None else {}
    listed = known(asked_for)
    span = times.parse_span(state.locate(), since, until) if since or until else None
    found = FoundTogether((), 0, done=True)
    together = Together(lambda: listed.workspaces)
    try:
        for step in together.find(query, limit, within=span):
            found = step
    finally:
        together.close()
    output.notes(f"Note: {problem.text()}" for problem in listed.problems)
    output.notes(f"Note: not looked at, for it cannot be read: {name}: {why}" for name, why in found.left_out.items())
    body = {
        "total": found.total,
        "similar": found.fuzzy,
        "left_out": dict(found.left_out),
        "workspaces": [{"id": one.name, "path": str(one.place)} for one in listed.workspaces],
        "places": [{"workspace": one.known.name, **_place(one.place)} for one in found.hits],
    }
    columns = [Column("Workspace", limit=40, least=10), Column("What"), Column("ID", limit=40, least=12),
               Column("Words", limit=100, least=20)]  # fmt: skip
    cells = [(one.known.name, *_cells(one.place)) for one in found.hits]
    state.show(body, lambda: table(columns, cells, output.terminal_width()) or [_none(found.left_out)])
    _tell_similar(similar=found.fuzzy and bool(found.hits))
    return 1 if found.left_out else 0


def _none(left_out: object) -> str:
    return "Nothing found in what could be read." if left_out else "Nothing found."


def _place(one: Place) -> dict[str, str]:
    return {"id": one.row, "kind": one.part or one.kind, "screen": one.screen, "title": one.title, "at": one.at}


def _cells(one: Place) -> tuple[str, str, str]:
    return one.part or one.kind, one.row or one.screen, one.title


def _tell_similar(*, similar: bool) -> None:
    if similar:
        output.notes(["Note: nothing holds these words; this is similar."])
