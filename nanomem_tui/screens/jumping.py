"""Jump to anything: one field in which typing finds any screen, item, session, file, Dream or record; enter goes there.

Owns the dialog and the way to a place. What there is to find, and what comes first, is not its matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from nanomem_tui.actions import SCREENS
from nanomem_tui.review.find import Found, Place, Places
from nanomem_tui.screens.searching import SearchingDialog, Shown
from nanomem_tui.widgets.columns import Column

if TYPE_CHECKING:
    from nanomem_tui.app import NanomemApp
    from nanomem_tui.screens.tiers_trail import TrailScreen
    from nanomem_tui.workspace import Workspace


def show_place(console: NanomemApp, screen: str, row: str, part: str = "") -> None:
    """Go to a screen, with the cursor on a row when one is named; a screen behind another opens as by its keys."""
    if not row:
        console.go(screen)
    elif screen == "trail" and part:
        console.go("trail")
        trail = cast("TrailScreen", console.get_screen("trail"))
        trail.call_later(trail.show_record, part, row)
    else:
        console.go(screen, row)


class JumpScreen(SearchingDialog[Place]):
    """A field and what it finds, the best first; the result is the place chosen, or None."""

    def __init__(self, workspace: Callable[[], Workspace], everywhere: Callable[[str], None], asked: str = "") -> None:
        """`everywhere` looks for what was typed in all workspaces; `asked` is typed already."""
        super().__init__("Jump to anything", ("everywhere", everywhere), asked)
        self._places = Places(workspace, SCREENS)

    def columns(self) -> list[Column[Place]]:
        """What a place is, and its words."""
        return [
            Column("kind", "What", lambda place: place.part or place.kind, width=12, tone="accent"),
            Column("title", "Words", lambda place: place.title, min_width=24),
            Column("at", "When", lambda place: place.at[:10], width=10, priority=1, tone="dim"),
        ]

    def id_of(self, row: Place) -> str:
        """Kind and row."""
        return f"{row.kind} {row.part} {row.row or row.screen}"

    def find(self, query: str, stop: Callable[[], bool]) -> Iterator[Shown[Place]]:
        """The screens, until something is typed."""
        for found in self._places.find(query or "kind:screen", stop=stop):
            yield Shown(found.places, [(f"  {_counted(found)}", "dim")], found.done)


def _counted(found: Found) -> str:
    count = f"{found.total:,} found" if found.total <= len(found.places) else f"the best of {found.total:,}"
    if found.fuzzy and found.places:
        count = f"none found, {len(found.places):,} similar"
    if not found.done:
        count += ", searching …"
    return f"{count}; not in {found.left_out}" if found.left_out else count


def jump(screen: Any, asked: str = "") -> None:
    """Ask where to go, and go there."""
    console = cast("NanomemApp", screen.console)

    async def chosen(place: Place | None) -> None:
        if place is not None:  # None is never handed on
            show_place(console, place.screen, place.row, place.part)

    def everywhere(typed: str) -> None:
        from nanomem_tui.screens.workspaces import look_everywhere

        look_everywhere(screen, typed)

    screen.ask(JumpScreen(console.opening.workspace, everywhere, asked), chosen)
