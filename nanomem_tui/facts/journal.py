"""The journal: what was noted of a day (seed 003), by a person or an agent, and what came with an import.

Owns what an entry may be and how entries are found. That each change is one operation is the matter of `records`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import Actor, Operation, new_key
from nanomem_tui.facts.records import Records
from nanomem_tui.memory.expected import as_shown
from nanomem_tui.memory.items import checked
from nanomem_tui.memory.unsettled import settled
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.operations import LogEntry
from nanomem_tui.store.values import Record

KIND = "journal"


class Journal:
    """The journal of one workspace. An entry is a Record: `about` is its day, `text` what was noted."""

    def __init__(self, store: MemoryStore, perform: Callable[[Operation], Operation]) -> None:
        self._store = store
        self._records = Records(store, perform, KIND, "journal entry", "nanomem journal list")

    # -- looking --------------------------------------------------------------------------------------------------

    def entries(self, since: str = "", until: str = "", words: str = "") -> list[Record]:
        """The entries, newest day first and within a day the newest first.

        `since`, `until`: days (`YYYY-MM-DD`), both included; `words`: what an entry must hold, in the language of
        searches (words, "a phrase", -without). Raises BadInput for what is no day.
        """
        first, last = (day_of(one) if one else one for one in (since, until))
        found = [row for row in self._records.all() if row.about >= first and (not last or row.about <= last)]
        if words.strip():
            from nanomem_tui.memory.matching import matcher

            wanted = matcher(words)
            found = [row for row in found if wanted and wanted.matches(row.text)]
        return sorted(found, key=lambda row: row.about, reverse=True)  # the order within a day stays

    def days(self) -> dict[str, int]:
        """How many entries each day has, the newest day first."""
        counts = Counter(row.about for row in self._records.all())
        return dict(sorted(counts.items(), reverse=True))

    def get(self, entry_id: str) -> Record:
        """The entry of that id, or of the one id that begins so. Raises NotFound or BadInput."""
        return self._records.get(entry_id)

    def history(self, entry_id: str) -> list[LogEntry]:
        """Every operation that touched the entry, newest first."""
        return self._records.history(entry_id)

    def warnings(self, entry: Record) -> list[str]:
        """What a person should know of the text of an entry; it is kept as it was given all the same."""
        from nanomem_tui.memory import safety

        same = [
            row for row in self._records.all()
            if row.about == entry.about and row.text == entry.text and row.id != entry.id
        ]  # fmt: skip
        return [*(f"the same text is already there as {row.id}" for row in same[:1]), *safety.warnings(entry.text)]

    # -- changing -------------------------------------------------------------------------------------------------

    def add(
        self, text: str, day: str = "", *, session_key: str = "", source: str = "manual", actor: Actor = "human"
    ) -> tuple[Operation, Record, list[str]]:
        """A new entry of a day, today without one: the operation, the entry, and warnings. Raises BadInput."""
        moment = clock.now()
        day = day_of(day) if day else clock.local_naive(moment)[:10]
        now = clock.iso(moment)
        entry = Record(
            new_key(KIND), KIND, day, checked(text), session_key, source, _at(day, moment), created_at=now,
            updated_at=now,
        )  # fmt: skip
        warnings = self.warnings(entry)
        return self._records.add([entry], actor=actor), entry, warnings

    def edit(
        self, entry_id: str, *, text: str | None = None, day: str | None = None, expected: Record | None = None
    ) -> Operation:
        """Change the text or the day of an entry. `expected`: the entry as it was shown to who edits it.

        Raises Conflict when somebody changed it since, BadInput, NotFound, NothingToDo.
        """
        if expected is not None:
            self._store.see_others()
        row = self.get(entry_id)
        fields: dict[str, str] = {}
        if text is not None:
            fields["text"] = checked(text)
        if day is not None:
            fields["about"] = day_of(day)
        as_shown(row, expected, fields)
        if "about" in fields and fields["about"] != row.about:
            fields["at"] = _at(fields["about"], clock.parse(row.at) or clock.now())
        if (meta := settled(row, fields)) != row.meta_json:  # who writes the text settles which one it is
            fields["meta_json"] = meta
        return self._records.change(row, fields)

    def delete(self, ids: Sequence[str]) -> Operation:
        """Delete entries; `undo` brings them back. Raises NotFound."""
        return self._records.delete(ids)


def day_of(text: str) -> str:
    """A day as `YYYY-MM-DD`. Raises BadInput for what is none."""
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        raise BadInput(f"{text.strip()[:40]!r} is no day", "--day", "give it like 2026-02-15") from None


def _at(day: str, moment: datetime) -> str:
    """The time of day of `moment` on another day, so that entries of a day stay in the order in which they came."""
    try:
        return clock.iso(datetime.combine(date.fromisoformat(day), moment.astimezone().time()).astimezone())
    except (ValueError, OverflowError, OSError):  # a day at the edge of the calendar has no such time everywhere
        return f"{day}T12:00:00+00:00"
