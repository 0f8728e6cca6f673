"""`nanomem files`, `find`, `bookmarks` and `filters`: the memory files, search by name, and what the console keeps."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.fast_commands import time_lines, within
from nanomem_tui.cli.options import (
    Command,
    Count,
    Group,
    Words,
    agreed,
    asked_query,
    completing,
    dated,
    decided,
    given_text,
    paged,
    pass_state,
    query_options,
    rehearsable,
    words_kept,
)
from nanomem_tui.cli.output import Column, table
from nanomem_tui.cli.planned import show_changes
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound, NothingToDo, Problem

if TYPE_CHECKING:
    from nanomem_tui.review.find import Place
    from nanomem_tui.workspace import Workspace


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
    from nanomem_tui.dreams.log import full_name
    from nanomem_tui.terminal import editor

    name = full_name(file)
    with state.open(dry_run=dry_run) as ws:
        seen = ws.documents.read(name)
        advice = "a memory file is read at each start: keep it short"
        given = given_text(source, "reading the text", advice, "text") if source is not None else None
        text = given if given is not None else editor.edit_text(seen or "", "--from")
        kept = words_kept(text) if given is None else contextlib.nullcontext()
        with kept, contextlib.suppress(NothingToDo):
            done = [ws.documents.edit(name, text, base=seen)]
            show_changes(state, done, {"id": name}, dry_run=dry_run)
            return
    show_changes(state, [], {"id": name}, "Nothing changed.", dry_run=dry_run)


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
    from nanomem_tui.agents.releases import missing_sessions, unsupported_agent
    from nanomem_tui.review.find import Found, Places

    found = Found((), 0, done=True)
    with state.open() as ws:
        span = within(ws, since, until)
        for step in Places(lambda: ws, SCREENS).find(query, limit, within=span):
            found = step
        unread = list(filter(None, (missing_sessions(ws.layout), unsupported_agent(ws.layout))))
    output.notes(f"Note: {problem.text()}" for problem in unread)
    if found.left_out:
        output.notes([f"Note: not looked at, for it cannot be read: {found.left_out}"])
    left_out = ", ".join(filter(None, [found.left_out, *(str(problem.where) for problem in unread)]))
    body = {
        "total": found.total,
        "similar": found.fuzzy,
        "left_out": left_out,
        "places": [_place_json(one) for one in found.places],
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
    from nanomem_tui.workspaces import FoundTogether, Together, list_workspaces

    asked_for = {state.locate().workspace: ""} if state.workspace is not None else {}
    listed = list_workspaces(asked_for)
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
        "workspaces": [{"id": one.name, "path": str(one.folder)} for one in listed.workspaces],
        "places": [{"workspace": one.known.name, **_place_json(one.place)} for one in found.hits],
    }
    columns = [Column("Workspace", limit=40, least=10), Column("What"), Column("ID", limit=40, least=12),
               Column("Words", limit=100, least=20)]  # fmt: skip
    cells = [(one.known.name, *_cells(one.place)) for one in found.hits]
    state.show(body, lambda: table(columns, cells, output.terminal_width()) or [_none(found.left_out)])
    _tell_similar(similar=found.fuzzy and bool(found.hits))
    return 1 if found.left_out else 0


def _none(left_out: object) -> str:
    return "Nothing found in what could be read." if left_out else "Nothing found."


def _place_json(one: Place) -> dict[str, str]:
    return {"id": one.row, "kind": one.part or one.kind, "screen": one.screen, "title": one.title, "at": one.at}


def _cells(one: Place) -> tuple[str, str, str]:
    return one.part or one.kind, one.row or one.screen, one.title


def _tell_similar(*, similar: bool) -> None:
    if similar:
        output.notes(["Note: nothing holds these words; this is similar."])


# `nanomem bookmarks` and `nanomem filters`: what the console keeps under ; and |, listed, kept and forgotten.


@click.group("bookmarks", cls=Group)
def bookmarks() -> None:
    """Rows to come back to. In the console ; sets one and ' lists them.

    \b
    Example:
      nanomem bookmarks add items ltm_1739443200123_1
    """


@bookmarks.command("list")
@paged
@pass_state
def list_bookmarks(state: State, limit: int | None, offset: int) -> None:
    """Every bookmark, in the order in which they were set.

    \b
    Example:
      nanomem bookmarks list --json
    """
    with state.open() as ws:
        found = page(ws.habits.read().bookmarks, limit, offset)
        _tell(ws.habits.problems())
    columns = [Column("Screen"), Column("ID", limit=48, least=12), Column("Title", limit=80, least=16)]
    cells = [(one.part or one.screen, one.row, one.title) for one in found]
    state.show(
        [{"id": one.row, "screen": one.screen, "part": one.part, "title": one.title} for one in found],
        lambda: table(columns, cells, output.terminal_width()) or ["No bookmark yet: ; sets one in the console."],
    )


@bookmarks.command("add")
@click.argument("screen", type=Words(), shell_complete=completing("screens"))
@click.argument("row", metavar="ID", type=Words())
@click.option("--title", type=Words(), default="", help="Words that name it in the list.")
@click.option("--kind", "part", type=Words(), default="", help="Of a record on the screen `trail`: its kind.")
@rehearsable
@pass_state
def add_bookmark(state: State, screen: str, row: str, title: str, part: str, dry_run: bool) -> None:
    """Set a bookmark on a row of a screen.

    \b
    Example:
      nanomem bookmarks add sessions telegram:20417 --title "the trip"
    """
    from nanomem_tui.store.files.user import Bookmark

    _known_screen(screen)
    mark = Bookmark(screen, row, title, part)
    with state.open() as ws:
        if not dry_run:
            ws.habits.set_bookmark(mark)
    body = {"id": row, "screen": screen, "part": part, "title": title}
    state.show({"dry_run": True, **body} if dry_run else body, [f"{'Would set' if dry_run else 'Set'} {screen} {row}"])


@bookmarks.command("delete")
@click.argument("screen", type=Words(), shell_complete=completing("screens"))
@click.argument("row", metavar="ID", type=Words())
@click.option("--kind", "part", type=Words(), default="", help="Of a record on the screen `trail`: its kind.")
@decided
@pass_state
def delete_bookmark(state: State, screen: str, row: str, part: str, yes: bool, dry_run: bool) -> None:
    """Forget a bookmark; the row stays.

    \b
    Example:
      nanomem bookmarks delete items ltm_1739443200123_1 --yes
    """
    from nanomem_tui.store.files.user import Bookmark

    mark = Bookmark(screen, row, "", part)
    body = {"id": row, "screen": screen, "part": part}
    with state.open() as ws:
        if not ws.habits.has_bookmark(mark):
            raise NotFound("no such bookmark", f"{screen} {row}", "see `nanomem bookmarks list`")
        lines = [f"Would forget the bookmark {screen} {row}; the row stays"]
        if not agreed(state, body, lines, f"Forget the bookmark {screen} {row}?", yes=yes, dry_run=dry_run):
            return
        ws.habits.remove_bookmark(mark)
    state.show(body, [f"Forgot the bookmark {screen} {row}; the row stays"])


@click.group("filters", cls=Group)
def filters() -> None:
    """Filters of lists under names. In the console | keeps the filter of a screen and chooses one.

    \b
    Example:
      nanomem filters save old-facts 'kind:fact age:>90d hits:0'
      nanomem memory list --filter old-facts
    """


@filters.command("list")
@click.option("--screen", type=Words(), shell_complete=completing("screens"), help="Only those of this screen.")
@paged
@pass_state
def list_filters(state: State, screen: str | None, limit: int | None, offset: int) -> None:
    """Every named filter.

    \b
    Example:
      nanomem filters list --screen items
    """
    with state.open() as ws:
        found = page([one for one in ws.habits.read().filters if screen in (None, one.screen)], limit, offset)
        _tell(ws.habits.problems())
    columns = [Column("Name", limit=40, least=10), Column("Screen"), Column("Filter", limit=100, least=20)]
    state.show(
        [{"name": one.name, "screen": one.screen, "filter": one.text} for one in found],
        lambda: (
            table(columns, [(one.name, one.screen, one.text) for one in found], output.terminal_width())
            or ["No filter has a name yet: | gives one in the console."]
        ),
    )


@filters.command("save")
@click.argument("name", type=Words())
@click.argument("text", metavar="FILTER", type=Words())
@click.option("--screen", type=Words(), default="items", show_default=True, shell_complete=completing("screens"),
              help="The screen that it is for.")  # fmt: skip
@rehearsable
@pass_state
def save_filter(state: State, name: str, text: str, screen: str, dry_run: bool) -> None:
    """Keep a filter under a name; one of that name on that screen is replaced, and told.

    \b
    Example:
      nanomem filters save unused 'hits:0 age:>30d'
    """
    from nanomem_tui.memory.filters import ITEM_FIELDS, LESSON_FIELDS, parse_strict
    from nanomem_tui.store.files.user import NamedFilter, checked_name

    _known_screen(screen)
    fields = {"items": ITEM_FIELDS, "lessons": LESSON_FIELDS}.get(screen)
    if fields is not None:
        parse_strict(text, fields)
    entry = NamedFilter(checked_name(name), screen, text)
    with state.open() as ws:
        was = ws.habits.filter_named(entry.name, screen) if dry_run else ws.habits.save_filter(entry)
    body = {"name": entry.name, "screen": screen, "filter": text, "was": was.text if was else None}
    said = f"{'Would keep' if dry_run else 'Kept'} {entry.name} on {screen}: {text}"
    said += f" (it was: {was.text})" if was else ""
    state.show({"dry_run": True, **body} if dry_run else body, [said])


@filters.command("delete")
@click.argument("name", type=Words())
@click.option("--screen", type=Words(), default="items", show_default=True, shell_complete=completing("screens"),
              help="The screen that it is for.")  # fmt: skip
@decided
@pass_state
def delete_filter(state: State, name: str, screen: str, yes: bool, dry_run: bool) -> None:
    """Forget a named filter.

    \b
    Example:
      nanomem filters delete unused --yes
    """
    with state.open() as ws:
        found = ws.habits.filter_named(name, screen)
        if found is None:
            raise NotFound(f"no filter `{name}` on {screen}", "", "see `nanomem filters list`")
        body = {"name": name, "screen": screen, "filter": found.text}
        lines = [f"Would forget {name} on {screen}: {found.text}"]
        if not agreed(state, body, lines, f"Forget the filter {name}?", yes=yes, dry_run=dry_run):
            return
        ws.habits.delete_filter(name, screen)
    state.show(body, [f"Forgot {name} on {screen}: {found.text}"])


def _known_screen(screen: str) -> None:
    from nanomem_tui.actions import SCREENS

    if screen not in SCREENS:
        raise BadInput(f"no screen `{screen}`", "SCREEN", f"one of {', '.join(SCREENS)}")


def _tell(problems: Sequence[Problem]) -> None:
    """Raise why nothing can be listed: an empty list would be no answer."""
    for one in problems:
        raise NanomemError(one.what, one.where, one.fix)
