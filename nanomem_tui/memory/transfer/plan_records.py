"""What an import would do with each record that a reader found. Pure.

Equal records are told apart by their number: of three equal messages, two of which are here, one is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from nanomem_tui.memory.transfer.record_rows import COUNTS
from nanomem_tui.memory.transfer.values import Choices, Entry, Reading
from nanomem_tui.store.values import Record

COMPARED = ("about", "text", "at")
"""Fields in which a record that is here may differ from theirs; the others are in its id, or of no matter."""
Key = tuple[object, ...]


class RecordPlanner:
    """Decides over the records of one reading, in its order."""

    def __init__(
        self, ours: Mapping[str, Record], choices: Choices, reading: Reading, standing: Mapping[str, str]
    ) -> None:
        self._ours = ours
        self._choices = choices
        self._reading = reading
        self._standing = standing
        self._equal: dict[Key, list[Record]] = defaultdict(list)
        self._gone: dict[Key, list[Record]] = defaultdict(list)
        theirs = {found.row.id for found in reading.rows if isinstance(found.row, Record)}
        for row in ours.values() if theirs else ():
            if row.id not in theirs and not (row.is_deleted and row.id in choices.undone):
                (self._gone if row.is_deleted else self._equal)[self._key(row)].append(row)

    def entry(self, row: Record, place: str) -> Entry:
        """The verdict on one record, whose id has not come before."""
        present = self._ours.get(row.id)
        if present is not None and not present.is_deleted:
            return self._met(row, place, present)
        back = present is not None and (self._choices.restore or row.id in self._choices.undone)
        if present is not None and not back:
            return Entry("deleted", row, place, "it was deleted here", present)
        if row.id in self._standing:
            return Entry("same", row, place, f"it stands in the session {self._standing[row.id]}")
        key = self._key(row) if self._equal or self._gone else ()
        twin = self._twin(row, self._equal.get(key, []))
        if twin is not None:
            return Entry("same", row, place, f"the same is here as {twin.id}", twin)
        deleted = self._gone.get(key)
        if deleted and not self._choices.restore:
            gone = deleted.pop()
            return Entry("deleted", row, place, f"the same was deleted here as {gone.id}", gone)
        why = "deleted here, comes back" if back and row.id not in self._choices.undone else ""
        return Entry("new", row, place, why, present)

    def _twin(self, row: Record, same: list[Record]) -> Record | None:
        """Of the records of ours that say the same under another id one, each once; of token use those that add up to
        it."""
        if row.kind != "usage":
            return same.pop() if same else None
        sums = [sum(_count(one, name) for one in same) for name in COUNTS]
        return same[0] if same and sums == [_count(row, name) for name in COUNTS] else None

    def _met(self, row: Record, place: str, present: Record) -> Entry:
        """The verdict on a record whose id is here."""
        names = [name for name in COMPARED if getattr(row, name) != getattr(present, name)]
        times = self._reading.times
        names = [name for name in names if name != "at" or times(row.at) != times(present.at)]
        counted = row.kind == "usage" and any(_count(row, name) != _count(present, name) for name in COUNTS)
        newer = row.updated_at > present.updated_at
        if counted and newer:
            taken = present._replace(meta_json=row.meta_json, at=row.at, updated_at=row.updated_at)
            return Entry("update", taken, place, "it went on counting", present)
        if row.kind == "usage":
            names = ["counts"] if counted else []
        if not names:
            return Entry("same", row, place, "it is here", present)
        what = f"{', '.join(names)} differ{'s' if len(names) == 1 else ''}"
        if self._choices.prefer == "theirs" or (self._choices.prefer == "newer" and newer):
            taken = present._replace(about=row.about, text=row.text, at=row.at)
            taken = taken._replace(meta_json=row.meta_json) if row.kind == "usage" else taken
            return Entry("update", taken, place, f"{what}: theirs is taken", present)
        return Entry("conflict", row, place, f"{what}: ours stays", present)

    def _key(self, row: Record) -> Key:
        """What two equal records have in common."""
        meta = row.meta
        if row.kind == "usage":
            return row.kind, row.about, meta.get("model")
        said = tuple(str(meta.get(name) or "") for name in ("role", "args", "error"))
        return row.kind, row.about, row.text, self._reading.times(row.at), *said


def _count(row: Record, name: str) -> int:
    value = row.meta.get(name)
    return value if isinstance(value, int) else 0
