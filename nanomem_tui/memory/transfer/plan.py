"""What an import would do with each row that a reader found: new, there already, in conflict, deleted here. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from nanomem_tui.memory.transfer.values import DOES, Entry, Found, Prefer, Reading
from nanomem_tui.store.values import Item, Lesson, Row
from nanomem_tui.text import normalised, one_line

COUNTED = frozenset({"hits", "last_accessed_at", "last_applied_at", "updated_at", "expires_at", "revision"})
"""Fields that move by use: a difference in them alone is no conflict."""
Flag = Callable[[Row], str]
"""Why a row should wait for a person; empty when it need not."""


class Choices(NamedTuple):
    """How an import decides: who wins a conflict; whether rows deleted here come back; `undone`: ids that an undone
    import brought, which nobody deleted on purpose."""

    prefer: Prefer = "ours"
    restore: bool = False
    undone: frozenset[str] = frozenset()


class Planner:
    """Decides row by row over one or more readings; what an earlier row brings counts as there for a later one."""

    def __init__(self, items: Mapping[str, Item], lessons: Mapping[str, Lesson], choices: Choices) -> None:
        self._tables: dict[type, Mapping[str, Row]] = {Item: items, Lesson: lessons}
        self._choices = choices
        self._texts: dict[tuple[str, ...], Row] = {}
        self._gone: dict[tuple[str, ...], Row] = {}
        self._coming: dict[str, Row] = {}
        for table in self._tables.values():
            for row in table.values():
                if not row.is_deleted:
                    self._texts.setdefault(key_of(row), row)
                elif row.id not in choices.undone:
                    self._gone[key_of(row)] = row

    def entries(self, reading: Reading, flag: Flag) -> Iterable[Entry]:
        """The verdicts on the rows of a reading, in its order; `flag` says which should wait for a person."""
        words: dict[str, tuple[str, ...]] = {}
        for found in reading.rows:
            entry = self._entry(found, reading, flag)
            key = key_of(found.row)
            if words.setdefault(found.row.id, key) != key:
                why = "that id comes twice, with other words: the first is taken"
                entry = Entry("conflict", masked(found.row), found.place, why, entry.present)
            if found.note:
                entry = entry._replace(why="; ".join(filter(None, (entry.why, found.note))))
            if entry.verdict in DOES:
                self._coming[entry.row.id] = entry.row
                self._texts.setdefault(key_of(entry.row), entry.row)
            yield entry

    def _entry(self, found: Found, reading: Reading, flag: Flag) -> Entry:
        row, place = found.row, found.place
        if row.id in self._coming:
            return Entry("same", row, place, "that id comes twice", self._coming[row.id])
        present = self._tables[type(row)].get(row.id)
        if present is None and row.id in self._tables[Lesson if isinstance(row, Item) else Item]:
            return Entry("conflict", row, place, "that id is taken by another kind of row")
        if present is not None and not present.is_deleted:
            return self._met(row, place, present, reading, flag)
        back = present is not None and (self._choices.restore or row.id in self._choices.undone)
        if present is not None and not back:
            return Entry("deleted", row, place, "it was deleted here", present)
        twin = self._texts.get(key_of(row))
        if twin is not None and (not reading.ours or twin.id not in self._coming):
            return _twin(row, place, twin)
        reason = flag(row) if row.enabled else ""
        shown = masked(row) if reason else row
        twin = twin or self._texts.get(key_of(shown))
        if twin is not None and (not reading.ours or twin.id not in self._coming):
            return _twin(row, place, twin)
        gone = None if reading.ours or present is not None else self._deleted(row, shown)
        if gone is not None and not self._choices.restore:
            return Entry("deleted", shown, place, f"the same text was deleted here as {gone.id}", gone)
        if gone is not None:
            back, present, row, shown = True, gone, row._replace(id=gone.id), shown._replace(id=gone.id)
        why = "deleted here, comes back" if back and row.id not in self._choices.undone else ""
        if reason:
            return Entry("inbox", shown, place, "; ".join(filter(None, (why, reason))), present)
        return Entry("new", row, place, why, present)

    def _deleted(self, *rows: Row) -> Row | None:
        """The row of ours that was deleted and said what one of these rows says."""
        return next((self._gone[key_of(row)] for row in rows if key_of(row) in self._gone), None)

    def _met(self, row: Row, place: str, present: Row, reading: Reading, flag: Flag) -> Entry:
        """The verdict on a row whose id is here. What should wait for a person replaces nothing."""
        fields = reading.fields or frozenset(row._fields)
        changed = (name for name in row._fields if differs(row, present, name))
        names = [name for name in changed if name in fields and name != "id"]
        names = [name for name in names if not _same_time(row, present, name, reading.times)]
        if not names:
            return Entry("same", row, place, "it is here", present)
        if set(names) <= COUNTED:
            return Entry("same", row, place, f"it is here; used since ({', '.join(names)})", present)
        what = f"{', '.join(names)} differ{'s' if len(names) == 1 else ''}"
        if reason := flag(row) if row.enabled else "":
            if present.waits and not present.enabled:
                return Entry("same", masked(row), place, "it waits in the inbox", present)
            return Entry("conflict", masked(row), place, f"{what}: ours stays, theirs: {reason}", present)
        prefer = self._choices.prefer
        if prefer == "theirs" or (prefer == "newer" and row.updated_at > present.updated_at):
            taken = present._replace(**{name: getattr(row, name) for name in names})
            return Entry("update", taken, place, f"{what}: theirs is taken", present)
        return Entry("conflict", row, place, f"{what}: ours stays", present)


def _twin(row: Row, place: str, twin: Row) -> Entry:
    return Entry("same", row, place, f"the same text is here as {twin.id}", twin)


def masked(row: Row) -> Row:
    """The row with a name in place of each secret in its words."""
    from nanomem_tui.memory.secrets import mask

    if isinstance(row, Item):
        return row._replace(text=mask(row.text))
    trigger, bad, better = map(mask, (row.trigger, row.bad_action, row.better_action))
    return row._replace(trigger=trigger, bad_action=bad, better_action=better)


def differs(one: Row, other: Row, name: str) -> bool:
    """Whether two rows differ in a field."""
    return bool(getattr(one, name) != getattr(other, name))


def _same_time(one: Row, other: Row, name: str, times: Callable[[str], str]) -> bool:
    """Whether a field is a time, and the same one as far as the format can write it."""
    found, known = getattr(one, name), getattr(other, name)
    return name.endswith("_at") and bool(found and known) and times(found) == times(known)


def key_of(row: Row) -> tuple[str, ...]:
    """What makes two rows the same memory: scope and normalised words, as a file of lines can hold them."""
    if isinstance(row, Item):
        return ("item", row.scope_key, normalised(one_line(row.text)))
    scope = row.session_key if row.scope != "global" else ""
    return ("lesson", row.scope, scope, normalised(row.trigger), normalised(row.better_action))
