"""Moving or copying items to another scope: a dialog with the known scopes, a look at what stands in the way, one
operation.

Owns the dialog and what is said before and after. Whether an item can go, the scopes of the workspace say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.items import Plan, Verb
from nanomem_tui.memory.scopes import HINT, Scope, named
from nanomem_tui.screens.recall_pick import PickScreen
from nanomem_tui.screens.rows import LISTED, MANY, SAID
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.document import Block, Body, Spans
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


class Way(NamedTuple):
    """Where items may go, and how: moved or copied. `why`: a word on that scope."""

    verb: Verb
    scope: Scope
    why: str = ""

    @property
    def id(self) -> str:
        """The words by which it is found: `move to telegram:42`."""
        return f"{self.verb} to {self.scope.name}"


def ask_where(screen: WorkspaceScreen[Any], ids: Sequence[str], whose: str, belongs: str = "") -> None:
    """Ask to which scope the items go, and take them there. `belongs`: the name of the scope that is listed first."""

    async def chosen(way: Way | None) -> None:
        if way is not None:
            await _go(screen, ids, way)

    screen.ask(_dialog(lambda: screen.ws, f"Move or copy {whose}", belongs), chosen)


def _dialog(ws: Callable[[], Workspace], title: str, belongs: str) -> PickScreen[Way]:
    def load() -> list[Way]:
        space = ws()
        scopes = space.scopes.known()
        first = [space.scopes.named(belongs)] if belongs else []
        rest = [scope for scope in scopes if scope.scope_key not in {one.scope_key for one in first}]
        ways = [Way("move", scope, "where it belongs") for scope in first]
        ways += [Way("move", scope, scope.words) for scope in rest]
        return ways + [Way("copy", scope, scope.words) for scope in (*first, *rest)]

    def typed(text: str) -> Way | None:
        verb, name = _parted(text)
        try:
            scope = named(name, ws().id)
        except BadInput:
            return None
        return Way(verb, scope, scope.words)

    columns: list[Column[Way]] = [
        Column("way", "To", lambda way: way.id, min_width=24),
        Column("why", "Who sees it", lambda way: way.why, width=30, priority=1, tone="dim"),
    ]
    return PickScreen(title, columns, lambda way: way.id, lambda way: way.id, load, typed=typed, hint=HINT)


def _parted(text: str) -> tuple[Verb, str]:
    """How and where, of what was typed: `copy telegram:42`, `move to global`, or the scope alone."""
    words = text.split()
    verb: Verb = "copy" if words[:1] == ["copy"] else "move"
    words = words[1:] if words[:1] in (["copy"], ["move"]) else words
    return verb, " ".join(words[1:] if words[:1] == ["to"] else words)


async def _go(screen: WorkspaceScreen[Any], ids: Sequence[str], way: Way) -> None:
    """Do it at once; after a look at it where it is many items, or where something stands in the way."""
    plan: Plan = await screen.console.in_thread(lambda ws: ws.scopes.plan(ids, way.scope, way.verb))
    merge = bool(plan.mergeable) and way.verb == "move"

    async def do(_yes: bool = True) -> None:
        def work(ws: Workspace) -> Operation:
            if way.verb == "copy":
                return ws.scopes.copy(ids, way.scope)[0]
            return ws.scopes.move(ids, way.scope, merge=merge)[0]

        for operation in await screen.change(work):
            say(screen, f"{one_line(operation.label, SAID)} (u undoes it)")
        screen.table.clear_selection()

    if not plan.notes and len(plan.goes) <= MANY:
        await do()
        return
    number = len(plan.goes) + (len(plan.mergeable) if merge else 0)
    title = f"{way.verb.capitalize()} {counted(number, 'item')} to {plan.scope.name}"
    refused = "" if number else f"Nothing can go: {'; '.join(plan.notes)}."
    screen.confirm(title, _blocks(plan, merge=merge), do, opened_by=screen.key_of("split"), refused=refused)


def _blocks(plan: Plan, *, merge: bool) -> list[Block]:
    blocks: list[Block] = [
        Spans(((f"{plan.verb}   ", "good"), (one_line(row.text, 160), "")), 7) for row in plan.goes[:LISTED]
    ]
    if len(plan.goes) > LISTED:
        blocks.append(Body(f"… and {len(plan.goes) - LISTED:,} more", "dim"))
    merged = plan.mergeable if merge else ()
    for twin in merged[:LISTED]:
        text = one_line(twin.there.text, 120)
        blocks.append(Spans((("merge  ", "accent"), (text, ""), (f"  into {twin.there.id}, with its hits", "dim")), 7))
    others = [twin for twin in plan.twins if twin not in merged]
    for twin in others[:LISTED]:
        text = one_line(twin.item.text, 120)
        blocks.append(Spans((("stays  ", "warn"), (text, ""), (f"  {one_line(twin.why, 100)}", "dim")), 7))
    if len(others) > LISTED:
        blocks.append(Body(f"… and {len(others) - LISTED:,} more stay", "dim"))
    blocks += [Body(f"{note[:1].upper()}{note[1:]}.", "warn") for note in plan.notes if not note.startswith("stays: ")]
    return blocks
