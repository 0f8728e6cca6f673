"""To which scope findings of the inbox go: a dialog with the known scopes, the one where they belong first.

Owns the dialog only; whether an item can go, the queue says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.scopes import HINT
from nanomem_tui.review.findings import Finding, How
from nanomem_tui.review.queue import HELD
from nanomem_tui.screens.recall_pick import PickScreen
from nanomem_tui.widgets.columns import Column

if TYPE_CHECKING:
    from nanomem_tui.screens.inbox import InboxScreen
    from nanomem_tui.workspace import Workspace

EACH = "where each belongs"


class Target(NamedTuple):
    """A scope by its name (`EACH`: another one for each), and who sees it."""

    name: str
    why: str


def ask_for_scope(screen: InboxScreen, rows: Sequence[Finding]) -> None:
    """Ask where the findings go, and take them there."""
    if not rows or any(row.layer != "item" or row.kind in HELD for row in rows):
        raise BadInput("only an item has a scope to move to", rows[0].id if rows else "")

    async def move(target: Target | None) -> None:
        if target is not None:
            await screen.take(rows, "split", How(scope=None if target.name == EACH else target.name))

    def typed(text: str) -> Target | None:
        try:
            scope = screen.ws.scopes.named(text.strip())
        except BadInput:
            return None
        return Target(scope.name, scope.words)

    whose = one_line(rows[0].text, 40) if len(rows) == 1 else counted(len(rows), "item")
    columns: list[Column[Target]] = [
        Column("scope", "To", lambda target: target.name, min_width=20),
        Column("why", "Who sees it", lambda target: target.why, width=34, priority=1, tone="dim"),
    ]
    name = lambda target: target.name  # noqa: E731
    screen.ask(
        PickScreen(f"Move {whose}", columns, name, name, lambda: _targets(screen.ws, rows), typed=typed, hint=HINT),
        move,
    )


def _targets(ws: Workspace, rows: Sequence[Finding]) -> list[Target]:
    known = [Target(scope.name, scope.words) for scope in ws.scopes.known()]
    leaks = [ws.scopes.leak_of(row.ids[0]) for row in rows if row.kind == "leak"]
    homes = {leak.belongs for leak in leaks if leak is not None and leak.belongs}
    if not homes or len(leaks) < len(rows):
        return known
    first = Target(EACH, f"{counted(len(homes), 'scope')}, as each finding says")
    if len(homes) == 1:
        scope = ws.scopes.named(homes.pop())
        first = Target(scope.name, f"where {'it belongs' if len(rows) == 1 else 'they belong'}")
    return [first, *(target for target in known if target.name != first.name)]
