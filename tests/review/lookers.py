"""A finder of its own for tests of the queue: what is said to be junk is long, what says the same is a duplicate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import pytest

from nanomem_tui.review import finders as registered
from nanomem_tui.review.finders.held import Quarantined
from nanomem_tui.review.findings import Evidence, Finding
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace


class Looker:
    """Finds items with the word `junk`, and those with the same first word behind `same`."""

    kinds = ("duplicate", "long")

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.asked = 0

    def find(self) -> Iterable[Finding]:
        self.asked += 1
        rows = [row for row in self.ws.items.all() if row.enabled]
        yield from self._twins(rows)
        for row in rows:
            if "junk" in row.text:
                why = f"it has {len(row.text)} characters"
                offers = ("delete", "keep", "disable", "edit")
                yield Finding(
                    f"long:{row.id}", "long", "item", (row.id,), row.text, why, row.created_at, 0.5, row.text, offers,
                    row.scope_key, row.source,
                )  # fmt: skip

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        return [Evidence("the other item", f"beside {key}", id=key) for key in finding.ids]

    def _twins(self, rows: Sequence[Item]) -> Iterator[Finding]:
        groups: dict[str, list[Item]] = defaultdict(list)
        for row in reversed(rows):
            if row.text.startswith("same "):
                groups[row.text.split()[1]].append(row)
        for name, same in groups.items():
            if len(same) > 1:
                ids = tuple(row.id for row in same)
                print_ = "|".join(row.text for row in same)
                yield Finding(
                    f"duplicate:{name}", "duplicate", "item", ids, same[0].text, "they say the same", print_=print_,
                    offers=("merge", "keep"), scope_key=same[0].scope_key, source=same[0].source,
                )  # fmt: skip


def look_for_junk(monkeypatch: pytest.MonkeyPatch, *more: object, junk: bool = True) -> list[Looker]:
    """Let every workspace have the finder of what is held back, where `junk` this one, and `more`; returns those
    made."""
    made: list[Looker] = []

    def finders(ws: Workspace) -> list[object]:
        made.append(Looker(ws))
        return [Quarantined(ws.quarantine), *(made[-1:] if junk else []), *more]

    monkeypatch.setattr(registered, "finders", finders)
    return made
