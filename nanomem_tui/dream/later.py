"""What entries behind the one that is read say: so that an old entry, read again, takes nothing newer back.

A cursor that was set back, or a backlog, makes a Dream read what was said before something that a file holds already.
Owns finding out whether a later entry says what a line says, corrects a fact, or tells a day by which it is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

from nanomem_tui.dream import details
from nanomem_tui.dream.claims import as_it_is, claim_of, old_value
from nanomem_tui.dream.corrected import corrects
from nanomem_tui.dream.facts import Fact, facts_of
from nanomem_tui.dream.lines import Line
from nanomem_tui.dream.tidy import day_of
from nanomem_tui.formats.history import HistoryEntry
from nanomem_tui.tokens import fold


class Archive:
    """All entries of the history that are known, read or not, in the order of their cursors."""

    def __init__(self, entries: Sequence[HistoryEntry]) -> None:
        self._entries = sorted(entries, key=lambda entry: (entry.cursor, entry.line))

    @cached_property
    def today(self) -> str:
        """The newest day (`YYYY-MM-DD`) that an entry tells: the clock of a Dream."""
        return day_of(self._entries)

    def repeats(self, fact: Fact, line: Line, value: str) -> bool:
        """Whether an entry after that of `fact`, which would take the place of `line`, says what the line says."""
        claim = claim_of(line.text)
        for later in self._after(fact.cursor, value):
            other = claim_of(later.text)
            if claim and other and (other.subject, fold(other.value)) == (claim.subject, fold(claim.value)):
                return True
            if details.says(line.text, later.text) or details.says(as_it_is(later.text), line.text):
                return True
        return False

    def corrections(self, fact: Fact) -> Iterator[Fact]:
        """The facts in entries after that of `fact` that call a value in it wrong."""
        text = fold(fact.text)
        for later, wrong in self._corrections:
            if later.cursor > fact.cursor and details.holds(text, wrong) and corrects(later.text, fact.text):
                yield later

    @cached_property
    def _corrections(self) -> list[tuple[Fact, str]]:
        telling = (entry for entry in self._entries if any(old_value(line) for line in entry.content.split("\n")))
        facts = (fact for entry in telling for fact in _facts(entry))
        return [(fact, fold(wrong)) for fact in facts if (wrong := old_value(fact.text))]

    @cached_property
    def _folded(self) -> list[str]:
        return [fold(entry.content) for entry in self._entries]

    def _after(self, cursor: int, value: str) -> Iterator[Fact]:
        """The facts of the entries behind `cursor` that hold `value`."""
        wanted = fold(value)
        for entry, content in zip(self._entries, self._folded, strict=True):
            if entry.cursor > cursor and wanted in content:
                yield from _facts(entry)


@lru_cache(maxsize=4096)
def _read(cursor: int, timestamp: str, content: str) -> tuple[Fact, ...]:
    return tuple(fact for fact in facts_of(HistoryEntry(cursor, timestamp, content))[0] if not fact.held)


def _facts(entry: HistoryEntry) -> tuple[Fact, ...]:
    return _read(entry.cursor, entry.timestamp, entry.content)
