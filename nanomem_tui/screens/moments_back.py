"""Bringing a moment back: a dialog with what can be brought back by itself, a look at what that changes, one operation.

Owns the dialogs. What differs and what a restore leaves is for the moments of the workspace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.scopes import of_item
from nanomem_tui.review.moments import words_of
from nanomem_tui.screens.moments_detail import difference_blocks
from nanomem_tui.screens.recall_pick import PickScreen
from nanomem_tui.screens.rows import SAID
from nanomem_tui.screens.taking_back import Part, take_back
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.store.values import Item
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.review.moments import Difference, Mark, Moment

Wanted = Callable[["Difference"], bool]


class Way(NamedTuple):
    """Something that can be brought back: its words, how much that is, and which rows are meant; or a file of the
    version with the SHA `commit`."""

    id: str
    why: str
    wanted: Wanted
    file: str = ""
    commit: str = ""


def ask_what(screen: WorkspaceScreen[Any], mark: Mark) -> None:
    """Ask what of the moment is to come back, show what that changes, and do it after a yes."""

    def load() -> list[Way]:
        moments = screen.ws.moments
        return ways(screen, moments.of(mark))

    async def chosen(way: Way | None) -> None:
        if way is None:
            return
        if way.file:
            title = f"Bring back {way.file} as it was {mark.at[:16].replace('T', ' ')}"
            parts = [(way.file, Part(file=way.file, as_of=True))]
            take_back(screen, way.commit, title, parts, "Bring back")
            return
        await _confirm(screen, mark, way)

    columns: list[Column[Way]] = [
        Column("way", "Bring back", lambda way: way.id, min_width=24),
        Column("why", "", lambda way: way.why, width=20, priority=1, tone="dim"),
    ]
    title = f"Bring back what was there after: {one_line(mark.label, 60)}"
    screen.ask(PickScreen(title, columns, lambda way: way.id, lambda way: way.id, load), chosen)


def ways(screen: WorkspaceScreen[Any], moment: Moment) -> list[Way]:
    """All of it, each layer, kind and scope with how many rows these are, each file, then row by row. Raises
    NothingToDo when nothing differs."""
    from nanomem_tui.core.errors import NotFound, NothingToDo

    moments = screen.ws.moments
    files = moments.files(moment)
    try:
        found = moments.diff(moment)
    except NotFound:
        if not files:
            raise
        found = []
    if not found and not files:
        raise NothingToDo("nothing differs from then", moment.name)
    rows = [Way("all of it", counted(len(found), "row"), lambda one: True)] if found else []
    for title, names in (("layer", _layers), ("kind", _kinds), ("scope", _scopes)):
        counts: dict[str, int] = {}
        for one in found:
            for name in names(one):
                counts[name] = counts.get(name, 0) + 1
        rows += [
            Way(f"{title} {name}", counted(count, "row"), _named(names, name)) for name, count in sorted(counts.items())
        ]
    commit = moments.version(moment) if files else ""
    rows += [Way(f"file {one.path}", "as it was", lambda one: False, one.path, commit) for one in files if commit]
    rows += [Way(f"{_sign(one)} {one_line(_words(one), 200)} ({one.key})", one.layer, _the(one.key)) for one in found]
    return rows


async def _confirm(screen: WorkspaceScreen[Any], mark: Mark, way: Way) -> None:
    plan = await screen.console.in_thread(lambda ws: ws.moments.plan(ws.moments.of(mark), way.wanted))

    async def do(_yes: bool) -> None:
        for done in await screen.change(lambda ws: ws.moments.restore(plan)):
            say(screen, f"{one_line(done.label, SAID)} (u undoes it)")

    title = f"{plan.label[:1].upper()}{plan.label[1:]}"
    screen.confirm(
        one_line(title, 70),
        difference_blocks(plan.differences, back=True),
        do,
        opened_by=screen.key_of("dream_restore"),
    )


def _named(names: Callable[[Difference], set[str]], name: str) -> Wanted:
    return lambda one: name in names(one)


def _the(key: str) -> Wanted:
    return lambda one: one.key == key


def _layers(one: Difference) -> set[str]:
    return {one.layer}


def _kinds(one: Difference) -> set[str]:
    return {str(getattr(row, "kind", "")) for row in (one.then, one.now) if row is not None} - {""}


def _scopes(one: Difference) -> set[str]:
    return {of_item(row).name for row in (one.then, one.now) if isinstance(row, Item)}


def _words(one: Difference) -> str:
    row = one.then or one.now
    return words_of(row) if row is not None else ""


def _sign(one: Difference) -> str:
    return {"added": "-", "removed": "+", "changed": "~"}[one.fate]
