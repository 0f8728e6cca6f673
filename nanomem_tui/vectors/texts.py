"""What is to be embedded, of items and of records of work, and which of it has no vector of its present text.

Owns what of a thing is embedded, by what a vector is known to be of that text, and how far was looked. Items are in
RAM, and their changes are watched. Of records there may be a million: each table is looked through once, and what
changes since is listed by whoever changes it. Must not embed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.store import sql, tier_rows
from nanomem_tui.store.fact_fields import Fact, fact_of
from nanomem_tui.store.tier_kinds import KINDS, Kind
from nanomem_tui.store.tier_tables import columns, quoted, record_of
from nanomem_tui.store.tier_tables import embedded as embedded_of_record
from nanomem_tui.store.values import Item
from nanomem_tui.vectors.collection import ITEMS, VectorFile

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.sql import Connection
    from nanomem_tui.store.tier_store import TierStore
    from nanomem_tui.store.tier_values import TierRecord

MOST = 8_000
"""Characters of a text that are embedded; models read a few hundred words and leave out the rest."""
_FORM = 1
"""Counts the forms that `embedded` gave to texts: a vector of another form is none of this text."""
ORDER = ("incident", "procedure", "decision", "goal", "task", "tool-call")
"""The kinds of records that are embedded, each in a collection called as its table: what tells most in a row first, and
what there is most of last."""
LOOKED = 4_096
"""Rows of a table that one step looks at."""
Key = tuple[str, str]
"""Collection and key of a text."""
Held = Callable[[str, Sequence[str]], Mapping[str, str]]
"""Tells, of some keys of a collection, the hashes of the texts that it has vectors of."""


class Wanted(NamedTuple):
    """A text that wants a vector: of what it is, the text and its hash, and from when that is (UTC ISO)."""

    collection: str
    key: str
    text: str
    text_hash: str
    at: str = ""


class Step(NamedTuple):
    """What is to be done next: texts that want a vector, what is gone; how many rows were looked at, the rows that are
    listed as changed, with the hash of their text, and how far each table was looked through."""

    wanted: Sequence[Wanted]
    gone: Sequence[Key] = ()
    looked: int = 0
    due: Mapping[Key, str] = {}
    marks: Mapping[str, str] = {}


class Texts(Protocol):
    """The texts of a memory that are to have a vector."""

    @property
    def collections(self) -> Sequence[str]:
        """The names of the collections that they are in."""

    def step(self, model: str, most: int, held: Held) -> Step | None:
        """What is to be done next, at most `most` texts; None where nothing is."""

    def done(self, model: str, step: Step, made: Mapping[Key, bool]) -> None:
        """A step was done: of each text whether a vector could be made."""

    def rest(self, model: str) -> int:
        """How many texts are to be looked at, or want a vector."""


def filed(item: Item) -> Fact | None:
    """The fact that an item of kind fact is; None for any other."""
    return fact_of(item) if item.kind == "fact" else None


def embedded(item: Item) -> str:
    """The text that stands for an item: its own; for a fact with where it belongs."""
    fact = filed(item)
    if fact is None:
        return item.text[:MOST]
    place = " ".join(dict.fromkeys(filter(None, (fact.domain, fact.category, fact.sub_category))))
    return f"{place}. {item.text}"[:MOST]


def text_hash(text: str) -> str:
    """What tells that a vector is of this text."""
    data = f"{_FORM}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def is_active(item: Item | None) -> bool:
    """Whether an item is to be found: it is there, and switched on."""
    return item is not None and item.enabled and not item.is_deleted


def wanted(item: Item) -> Wanted:
    """What is to be embedded of an item."""
    text = embedded(item)
    return Wanted(ITEMS, item.id, text, text_hash(text))


class ItemTexts:
    """The active items of a store, in step with its snapshot, whose lock guards the account. Every method may be called
    from any thread; none asks a disk while it holds that lock."""

    collections = (ITEMS,)

    def __init__(self, store: MemoryStore) -> None:
        self._snapshot = store.load("item")
        self._changed: set[str] = set()
        self._watching = False
        self.current: dict[str, str] = {}
        """The hash of the present text of each active item."""
        self._known: dict[str, str] = {}
        self._missing: dict[str, str] = {}
        self._gone: set[str] = set()
        self._unmade: set[str] = set()

    def begin(self, known: Mapping[str, str], unmade: Iterable[str]) -> None:
        """Watch the snapshot from now on; `known`: the hashes of the texts that have a vector, or none can be made of
        (those of `unmade`)."""
        with self._snapshot.lock:
            if not self._watching:
                self._changed, self._watching = self._snapshot.watch(), True
            rows = list(self._snapshot.items.values())
        current = {one.key: one.text_hash for one in map(wanted, filter(is_active, rows))}
        with self._snapshot.lock:
            self.current, self._known, self._unmade = current, dict(known), set(unmade)
            self._missing = {key: text for key, text in current.items() if known.get(key) != text}
            self._gone = set(known) - {row.id for row in rows if not row.is_deleted}

    def follow(self) -> None:
        """Take up what changed since."""
        with self._snapshot.lock:
            if not self._changed:
                return
            for key in self._changed:
                row = self._snapshot.items.get(key)
                self._missing.pop(key, None)
                if row is None or not is_active(row):
                    self.current.pop(key, None)
                    if (row is None or row.is_deleted) and self._known.pop(key, None) is not None:
                        self._gone.add(key)
                    continue
                self._gone.discard(key)
                text = self.current[key] = wanted(row).text_hash
                if self._known.get(key) != text:
                    self._missing[key] = text
                    self._unmade.discard(key)
            self._changed.clear()

    def step(self, model: str, most: int, held: Held) -> Step | None:
        """See `Texts.step`: what came last first. What another process embedded meanwhile is taken up."""
        while True:
            with self._snapshot.lock:
                self.follow()
                gone = [(ITEMS, key) for key in self._gone]
                newest = [wanted(self._snapshot.items[key]) for key in islice(reversed(self._missing), most)]
            there = held(ITEMS, [one.key for one in newest]) if newest else {}
            fit = {(ITEMS, one.key): True for one in newest if there.get(one.key) == one.text_hash}
            if fit:
                self.done(model, Step([one for one in newest if (ITEMS, one.key) in fit]), fit)
            rest = [one for one in newest if (ITEMS, one.key) not in fit]
            if rest or not newest:
                return Step(rest, gone) if rest or gone else None

    def done(self, model: str, step: Step, made: Mapping[Key, bool]) -> None:
        """See `Texts.done`. A text that changed meanwhile still wants a vector."""
        with self._snapshot.lock:
            self._gone.difference_update(key for _, key in step.gone)
            for one in step.wanted:
                self._known[one.key] = one.text_hash
                if self._missing.get(one.key) == one.text_hash:
                    del self._missing[one.key]
                if not made[ITEMS, one.key]:
                    self._unmade.add(one.key)
                if one.key not in self.current:  # it went, or was switched off, while it was embedded
                    self._changed.add(one.key)
            self.follow()

    def rest(self, model: str) -> int:
        """See `Texts.rest`."""
        with self._snapshot.lock:
            self.follow()
            return len(self._missing) + len(self._gone)

    def counts(self) -> tuple[int, int]:
        """How many items have a vector, and how many are to have one."""
        with self._snapshot.lock:
            self.follow()
            total = len(self.current) - self.unmade
            return total - len(self._missing), total

    @property
    def unmade(self) -> int:
        """Of how many of them no vector can be made."""
        return len(self._unmade & self.current.keys())


class RecordTexts:
    """The records of work of one workspace. How far each table was looked through stands beside the vectors."""

    collections = tuple(KINDS[name].table for name in ORDER)

    def __init__(self, database: TierStore, workspace_id: str, file: VectorFile) -> None:
        self._database, self._id, self._file = database, workspace_id, file
        self._noticed: set[Key] = set()

    @property
    def exist(self) -> bool:
        """Whether there are records at all."""
        return self._database.exists

    def notice(self, keys: Iterable[Key]) -> None:
        """Look at these once more: a vector of theirs is of another text."""
        self._noticed.update(keys)

    def step(self, model: str, most: int, held: Held) -> Step | None:
        """See `Texts.step`: what changed first, then what is new, then the rest, newest first."""
        if not self.exist:
            return None
        marks = self._marks(model)

        def find(connection: Connection) -> Step | None:
            if (step := self._due(connection, most, held)) is not None:
                return step
            for old in (False, True):
                for name in ORDER:
                    for table in KINDS[name].tables.values():
                        step = self._scan(connection, KINDS[name], table, marks, most, held, old=old)
                        if step is not None:
                            return step
            return None

        return self._database.read(find)

    def _due(self, connection: Connection, most: int, held: Held) -> Step | None:
        query = "SELECT kind, id FROM record_vectors_due WHERE workspace_id = ? LIMIT ?"
        listed = [(KINDS[kind].table, key) for kind, key in connection.execute(query, (self._id, most))]
        keys = list(dict.fromkeys([*islice(self._noticed, most), *listed]))[:most]
        if not keys:
            return None
        texts = self._texts(connection, keys)
        gone = [key for key in keys if key not in texts or not texts[key].text]
        wants = _without([one for one in texts.values() if one.text], held)
        return Step(wants, gone, len(keys), {key: texts[key].text_hash if key in texts else "" for key in keys})

    def _scan(
        self, connection: Connection, kind: Kind, table: str, marks: Mapping[str, str], most: int, held: Held,
        *, old: bool,
    ) -> Step | None:  # fmt: skip
        """What the next rows of a table want: new ones, or those that were there before the first look."""
        low, high = self._seen(connection, marks, table)
        compared, order = ("<", "DESC") if old else (">", "ASC")
        names = ", ".join(map(quoted, columns(kind, table)))
        every, own = sql.whole(connection, self._id)
        mine = f"{every} AND" if every else " WHERE"
        query = f"SELECT number, {names} FROM {table}{mine} number {compared} ? ORDER BY number {order} LIMIT {LOOKED}"
        wants: list[Wanted] = []
        looked = 0
        rows = connection.execute(query, (*own, low if old else high))
        while len(wants) < most and (part := rows.fetchmany(most)):
            texts = []
            for number, workspace_id, *row in part:
                low, high = (number, high) if old else (low, number)
                if workspace_id == self._id:
                    texts.append(_of_record(record_of(kind, table, (workspace_id, *row))))
            wants += _without([one for one in texts if one.text], held)
            looked += len(part)
        return Step(wants, looked=looked, marks={table: f"{low} {high}"}) if looked else None

    def done(self, model: str, step: Step, made: Mapping[Key, bool]) -> None:
        """See `Texts.done`. What changed meanwhile stays listed."""
        begins = self._begins(model)
        for name in self._file.marks("records "):
            if not name.startswith(begins):  # what another model looked at, or in other tables, is not looked at
                self._file.unmark(name)
        if step.marks:
            self._file.note({begins + table: numbers for table, numbers in step.marks.items()})
        if not step.due:
            return

        def settle(connection: Connection) -> None:
            texts = self._texts(connection, step.due)
            query = "DELETE FROM record_vectors_due WHERE workspace_id = ? AND kind = ? AND id = ?"
            for key, known in step.due.items():
                if (texts[key].text_hash if key in texts else "") == known:
                    connection.execute(query, (self._id, KIND_OF[key[0]], key[1]))

        self._database.write(settle)
        self._noticed.difference_update(step.due)

    def rest(self, model: str) -> int:
        """See `Texts.rest`; records that are gone since are counted too."""
        if not self.exist:
            return 0
        marks = self._marks(model)

        def count(connection: Connection) -> int:
            query = "SELECT count(*) FROM record_vectors_due WHERE workspace_id = ?"
            total = int(connection.execute(query, (self._id,)).fetchone()[0]) + len(self._noticed)
            for name in ORDER:
                for table in KINDS[name].tables.values():
                    low, high = self._seen(connection, marks, table)
                    total += low - 1 + max(0, self._newest(connection, table) - high)
            return total

        return self._database.read(count)

    def look_again(self) -> None:
        """Let every record be looked at once more."""
        self._file.unmark("records ")

    def records(self, keys: Iterable[Key]) -> dict[Key, tuple[TierRecord, str]]:
        """Records with the hash of what is embedded of them."""
        found = self._database.read(lambda connection: self._found(connection, keys))
        return {key: (record, _of_record(record).text_hash) for key, record in found.items()}

    def _found(self, connection: Connection, keys: Iterable[Key]) -> dict[Key, TierRecord]:
        found = {key: tier_rows.get(connection, self._id, KINDS[KIND_OF[key[0]]], key[1]) for key in keys}
        return {key: record for key, record in found.items() if record is not None}

    def _texts(self, connection: Connection, keys: Iterable[Key]) -> dict[Key, Wanted]:
        return {key: _of_record(record) for key, record in self._found(connection, keys).items()}

    def _begins(self, model: str) -> str:
        """Begins the names under which is kept how far these very tables were looked through: those that were moved, or
        restored from a backup, number their rows anew."""
        found = None if self._database.is_remote else self._database.path.stat().st_ino
        return f"records {self._database.where} {found} {model} "

    def _marks(self, model: str) -> dict[str, str]:
        begins = self._begins(model)
        return {name.removeprefix(begins): numbers for name, numbers in self._file.marks(begins).items()}

    def _seen(self, connection: Connection, marks: Mapping[str, str], table: str) -> tuple[int, int]:
        """From and to which number a table was looked through."""
        if found := marks.get(table):
            low, _, high = found.partition(" ")
            return int(low), int(high)
        newest = self._newest(connection, table)
        return newest + 1, newest

    def _newest(self, connection: Connection, table: str) -> int:
        every, own = sql.whole(connection, self._id)
        return int(connection.execute(f"SELECT max(number) FROM {table}{every}", own).fetchone()[0] or 0)


KIND_OF = {KINDS[name].table: name for name in ORDER}
"""The kind of the records of a collection."""


def _of_record(record: TierRecord) -> Wanted:
    text = embedded_of_record(record)
    return Wanted(KINDS[record.kind].table, record.id, text, text_hash(text), record.at)


def _without(texts: Sequence[Wanted], held: Held) -> list[Wanted]:
    """Those that have no vector yet."""
    there = {
        name: held(name, [one.key for one in texts if one.collection == name])
        for name in {one.collection for one in texts}
    }
    return [one for one in texts if there[one.collection].get(one.key) != one.text_hash]
