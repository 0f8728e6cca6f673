"""What of a ranked answer is given, and why the rest is cut: so many, so many of the user layer, so many characters.

Pure functions over values. Must not rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nanomem_tui.store.values import Hit


class Cut(NamedTuple):
    """An item that fits the question and is not given, and why; `is_unrelated`: it has no bearing on the message."""

    hit: Hit
    why: str
    is_unrelated: bool = False


class Bounds(NamedTuple):
    """Hits that are given, characters of them all, and hits of the user layer; `whole`: only the first counts."""

    limit: int
    budget: int
    of_user: int
    whole: bool = False

    def cut(self, hits: Sequence[Hit]) -> tuple[list[Hit], list[Cut]]:
        """What is given, in its order, and what is cut."""
        kept: list[Hit] = []
        cut: list[Cut] = []
        used = users = 0
        for hit in hits:
            why = ""
            if len(kept) >= self.limit:
                why = f"over maxResults {self.limit}"
            elif not self.whole and hit.layer == "user" and users >= self.of_user:
                why = f"user layer full ({self.of_user})"
            elif not self.whole and used + len(hit.item.text) > self.budget:
                why = f"over the budget of {self.budget} characters"
            if why:
                cut.append(Cut(hit, why))
                continue
            kept.append(hit)
            used += len(hit.item.text)
            users += hit.layer == "user"
        return kept, cut
