"""`nanomem find`: anything by typing a part of it: screens, items, lessons, sessions, files, notes, Dreams, records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.memory_answers import time_lines, within
from nanomem_tui.cli.shared import Command, Count, asked_query, dated, pass_state, query_options
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table

if TYPE_CHECKING:
    from nanomem_tui.review.find import Place

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
    span = times.within(state.locate(), since, until) if since or until else None
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
