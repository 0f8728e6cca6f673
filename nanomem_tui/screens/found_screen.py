"""What the screens behind Sessions share: the way to the next list, and the search in everything that was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from nanomem_tui.screens.find import FindScreen, show_found
from nanomem_tui.screens.workspace_screen import WorkspaceScreen

if TYPE_CHECKING:
    from nanomem_tui.screens.find import Found

Row = TypeVar("Row")


class FoundScreen(WorkspaceScreen[Row], Generic[Row]):
    """A list of things that were said, one of three."""

    NEXT: ClassVar[str] = ""

    def do_next_list(self) -> None:
        """To the next list."""
        self.console.go(self.NEXT)

    def do_search_all(self) -> None:
        """Search every transcript, the archive and the notes."""
        self.ask(FindScreen(), self._found)

    async def _found(self, found: Found | None) -> None:
        if found is not None:  # None is never handed on
            show_found(self.console, found)
