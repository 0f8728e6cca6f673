"""The parts of a workspace that ask a person, each made when it is first used; mixed into the other parts.

Owns which of these parts needs which. Must not change anything or read more than paths and settings.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from nanomem_tui.review.conflicts import Conflicts
    from nanomem_tui.review.duplicates import Duplicates
    from nanomem_tui.review.moments import Moments
    from nanomem_tui.review.pairs import Pairs
    from nanomem_tui.review.queue import Triage
    from nanomem_tui.review.scopes import Scopes
    from nanomem_tui.review.waiting import Waits
    from nanomem_tui.store.files.user import Habits
    from nanomem_tui.workspace import Workspace


class CurationParts:
    """What a person's decisions on one agent's memory are made with."""

    @cached_property
    def waits(self) -> Waits:
        """What was held back: items, lessons and edits of Dreams."""
        from nanomem_tui.review.waiting import Waits

        return Waits(self._whole)

    @cached_property
    def triage(self) -> Triage:
        """The queue of all that wants a person."""
        from nanomem_tui.review.queue import Triage

        return Triage(self._whole)

    @cached_property
    def habits(self) -> Habits:
        """Bookmarks, named filters and macros of a person."""
        from nanomem_tui.store.files.user import Habits

        return Habits(self._whole.paths)

    @cached_property
    def pairs(self) -> Pairs:
        """How memories stand to each other, for duplicates and conflicts."""
        from nanomem_tui.review.pairs import Pairs

        return Pairs(self._whole.store)

    @cached_property
    def duplicates(self) -> Duplicates:
        """Items that say what another one says."""
        from nanomem_tui.memory.recall.meaning import HYBRID
        from nanomem_tui.review.duplicates import Duplicates, NearInMeaning
        from nanomem_tui.review.findings import Marks

        ws = self._whole
        meaning = NearInMeaning(lambda: ws.meaning) if ws.settings.recall_backend in HYBRID else None
        return Duplicates(ws.store, Marks(ws.store).all, ws.perform, meaning, self.pairs)

    @cached_property
    def scopes(self) -> Scopes:
        """Who sees what, what leaks, and items that move from one scope to another."""
        from nanomem_tui.review.scopes import Scopes

        return Scopes(self._whole)

    @cached_property
    def moments(self) -> Moments:
        """The past: rows as they were at any moment, and the way back."""
        from nanomem_tui.review.moments import Moments

        return Moments(self._whole)

    @cached_property
    def conflicts(self) -> Conflicts:
        """Memories that contradict each other."""
        from nanomem_tui.review.conflicts import Conflicts
        from nanomem_tui.review.findings import Marks

        ws = self._whole
        return Conflicts(ws.store, Marks(ws.store), ws.perform, ws.id, self.pairs)

    @property
    def _whole(self) -> Workspace:
        """The workspace that these are parts of."""
        return cast("Workspace", self)
