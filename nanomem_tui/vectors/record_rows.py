"""The vectors of records in `tiers.db`: which texts want one, and which there are, by kind, id and model. A cache.

Owns these tables and how far they were looked through: of a table of a million rows nothing is read twice. Must not
know an embedder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from nanomem_tui.store import sql, tier_meta, tier_numbers, tier_rows
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS, Kind
from nanomem_tui.store.tier_store import TierStore
from nanomem_tui.store.tier_tables import columns, embedded, quoted, record_of
from nanomem_tui.store.tier_values import TierRecord
from nanomem_tui.vectors.texts import text_hash

T = TypeVar("T")
ORDER = ("incident", "procedure", "decision", "goal", "task", "tool-call")
"""The kinds that are embedded: what tells most in a row first, and what there is most of last."""
LOOKED = 4_096
"""Rows that one step looks at."""
KEYS, PART = 500, 1_000
"""Ids that one query names, and vectors that are read at a time."""
_COLUMNS = ("workspace_id", "model", "kind", "id", "at", "text_hash", "vector")
Key = tuple[str, str]
"""Kind and id of a record."""


class Wanted(NamedTuple):
    """A text that wants a vector: of which record, from when that is (UTC ISO), and the hash of the text."""

    kind: str
    id: str
    at: str
    text: str
    text_hash: str

    @property
    def key(self) -> Key:
        """Of which record it is."""
        return self.kind, self.id


class Stored(NamedTuple):
    """A vector that there is: float32, little end first. Its number grows with each one that is made."""

    number: int
    kind: str
    id: str
    at: str
    text_hash: str
    vector: bytes


class Step(NamedTuple):
    """What one look found: texts that want a vector, records that are gone, what of the due is looked at (and its
    texts, to be sure that they still are those), how far each table was looked through, and how many rows that were."""

    wanted: tuple[Wanted, ...]
    gone: tuple[Key, ...]
    due: Mapping[Key, str]
    marks: Mapping[str, tuple[int, int]]
    looked: int


class RecordRows:
    """The vectors of the records of one workspace."""

    def __init__(self, database: TierStore, workspace_id: str) -> None:
        self._database = database
        self._id = workspace_id

    @property
    def exist(self) -> bool:
        """Whether there are records at all."""
        return self._database.exists

    # -- what wants a vector ----------------------------------------------------------------------------------------

    def step(self, model: str, most: int) -> Step | None:
        """What is to be done next, at most `most` texts; None where nothing is. What changed comes first, then what is
        new, then the rest, newest first."""
        return self._ask(lambda connection: self._step(connection, model, most), None)

    def _step(self, connection: Connection, model: str, most: int) -> Step | None:
        if (step := self._due(connection, model, most)) is not None:
            return step
        for old in (False, True):
            for name in ORDER:
                for table in KINDS[name].tables.values():
                    step = self._scan(connection, model, KINDS[name], table, most, old=old)
                    if step is not None:
                        return step
        return None

    def _due(self, connection: Connection, model: str, most: int) -> Step | None:
        query = "SELECT kind, id FROM record_vectors_due WHERE workspace_id = ? LIMIT ?"
        keys: list[Key] = [(kind, key) for kind, key in connection.execute(query, (self._id, most))]
        if not keys:
            return None
        found = {(kind, key): tier_rows.get(connection, self._id, KINDS[kind], key) for kind, key in keys}
        records = [record for record in found.values() if record is not None]
        texts = {one.key: one for one in map(_wanted, records)}
        empty = [key for key, one in texts.items() if not one.text]
        gone = [key for key, record in found.items() if record is None]
        wanted = self._without_vector(connection, model, [one for one in texts.values() if one.text])
        due = {key: texts[key].text_hash if key in texts else "" for key in keys}
        return Step(tuple(wanted), (*gone, *empty), due, {}, len(keys))

    def _scan(self, connection: Connection, model: str, kind: Kind, table: str, most: int, *, old: bool) -> Step | None:
        """What the next rows of a table want: new ones, or those that were there before the first look."""
        low, high = self._mark(connection, model, table)
        compared, order = ("<", "DESC") if old else (">", "ASC")
        names = ", ".join(map(quoted, columns(kind, table)))
        every, own = sql.whole(connection, self._id)
        mine = f"{every} AND" if every else " WHERE"
        query = f"SELECT number, {names} FROM {table}{mine} number {compared} ? ORDER BY number {order} LIMIT {LOOKED}"
        wanted: list[Wanted] = []
        looked = 0
        rows = connection.execute(query, (*own, low if old else high))
        while len(wanted) < most and (part := rows.fetchmany(most)):
            texts = []
            for number, workspace_id, *row in part:
                low, high = (number, high) if old else (low, number)
                if workspace_id == self._id:
                    texts.append(_wanted(record_of(kind, table, (workspace_id, *row))))
            wanted += self._without_vector(connection, model, [one for one in texts if one.text])
            looked += len(part)
        return Step(tuple(wanted), (), {}, {table: (low, high)}, looked) if looked else None

    def _without_vector(self, connection: Connection, model: str, texts: Sequence[Wanted]) -> list[Wanted]:
        held: dict[Key, str] = {}
        for kind in {one.kind for one in texts}:
            ids = [one.id for one in texts if one.kind == kind]
            for part in _parts(ids):
                query = (
                    "SELECT id, text_hash FROM record_vectors WHERE workspace_id = ? AND kind = ?"
                    f" AND id IN ({', '.join('?' * len(part))}) AND model = ?"
                )
                rows = connection.execute(query, (self._id, kind, *part, model))
                held |= {(kind, key): found for key, found in rows}
        return [one for one in texts if held.get(one.key) != one.text_hash]

    def _mark(self, connection: Connection, model: str, table: str) -> tuple[int, int]:
        """From and to which number a table was looked through."""
        found = self._noted(connection, self._marked(table))
        if found and self._noted(connection, self._marked()) == model:
            low, _, high = found.partition(" ")
            return int(low), int(high)
        newest = self._newest(connection, table)
        return newest + 1, newest

    def _marked(self, table: str = "") -> str:
        """Under which name that is kept; without a table: for which model."""
        return f"vectors {self._id} {table}".rstrip()

    def rest(self, model: str) -> int:
        """How many records are still to be looked at; those that are gone since are counted too."""

        def count(connection: Connection) -> int:
            query = "SELECT count(*) FROM record_vectors_due WHERE workspace_id = ?"
            total: int = connection.execute(query, (self._id,)).fetchone()[0]
            for name in ORDER:
                for table in KINDS[name].tables.values():
                    low, high = self._mark(connection, model, table)
                    total += low - 1 + self._newest(connection, table) - high
            return total

        return self._ask(count, 0)

    # -- what there is ----------------------------------------------------------------------------------------------

    def keep(self, model: str, step: Step, vectors: Sequence[bytes | None]) -> None:
        """Commit the vectors of a step, None for a text of which there can be none. What changed meanwhile stays due.
        Raises the store's errors; nothing is written then."""

        def write(connection: Connection) -> None:
            self._forget(connection, step.gone)
            again = "DELETE FROM record_vectors WHERE workspace_id = ? AND kind = ? AND id = ? AND model = ?"
            connection.executemany(again, [(self._id, *one.key, model) for one in step.wanted])
            made = [
                (self._id, model, one.kind, one.id, one.at, one.text_hash, vector)
                for one, vector in zip(step.wanted, vectors, strict=True)
            ]
            tier_numbers.add_many(connection, self._id, "record_vectors", _COLUMNS, made)
            for (kind, key), known in step.due.items():
                record = tier_rows.get(connection, self._id, KINDS[kind], key)
                if (_wanted(record).text_hash if record is not None else "") == known:
                    query = "DELETE FROM record_vectors_due WHERE workspace_id = ? AND kind = ? AND id = ?"
                    connection.execute(query, (self._id, kind, key))
            if self._noted(connection, self._marked()) != model:  # what the one before looked at is not looked at
                self._look_again(connection)
                tier_meta.put(connection, self._id, self._marked(), model)
            for table, (low, high) in step.marks.items():
                tier_meta.put(connection, self._id, self._marked(table), f"{low} {high}")

        self._database.write(write)

    def newest(self, model: str, kind: str, limit: int, take: Callable[[list[Stored]], None]) -> None:
        """Give the vectors of the newest records of a kind to `take`, part by part."""
        condition = "workspace_id = ? AND model = ? AND kind = ? AND vector IS NOT NULL"

        def read(connection: Connection) -> None:
            query = f"{_stored(connection)} WHERE {condition} ORDER BY at DESC LIMIT ?"
            rows = iter(sql.each(connection, query, (self._id, model, kind, limit)))
            while part := list(islice(rows, PART)):
                take([Stored(*row) for row in part])

        self._ask(read, None)

    def since(self, model: str, number: int, limit: int) -> list[Stored]:
        """The vectors that were made after that number, in order."""
        condition = "number > ? AND workspace_id = ? AND model = ? AND vector IS NOT NULL"

        def read(connection: Connection) -> list[Stored]:
            # By its number alone: through an index of the others every vector would be looked at with each search.
            alone = sql.unindexed(connection)
            query = f"{_stored(connection)}{alone} WHERE {condition} ORDER BY number LIMIT ?"
            return [Stored(*row) for row in connection.execute(query, (number, self._id, model, limit))]

        none: list[Stored] = []
        return self._ask(read, none)

    def last(self) -> int:
        """The highest number that a vector has."""
        return self._ask(lambda connection: self._newest(connection, "record_vectors"), 0)

    def counts(self) -> dict[str, int]:
        """How many vectors there are of each model."""
        query = "SELECT model, count(*) FROM record_vectors WHERE workspace_id = ? GROUP BY model"
        none: dict[str, int] = {}
        return self._ask(lambda connection: dict(connection.execute(query, (self._id,)).fetchall()), none)

    def records(self, keys: Iterable[Key]) -> dict[Key, tuple[TierRecord, str]]:
        """Records with the hash of what is embedded of them."""

        def look(connection: Connection) -> dict[Key, tuple[TierRecord, str]]:
            found = ((key, tier_rows.get(connection, self._id, KINDS[key[0]], key[1])) for key in keys)
            return {key: (record, _wanted(record).text_hash) for key, record in found if record is not None}

        return self._ask(look, {})

    # -- taking away ------------------------------------------------------------------------------------------------

    def again(self, *, everything: bool = False) -> None:
        """Let every record be looked at once more; `everything`: with no vector that there is."""

        def write(connection: Connection) -> None:
            self._look_again(connection)
            if everything:
                connection.execute("DELETE FROM record_vectors WHERE workspace_id = ?", (self._id,))

        if self.exist:
            self._database.write(write)

    def _look_again(self, connection: Connection) -> None:
        for name in ORDER:
            for table in KINDS[name].tables.values():
                tier_meta.drop(connection, self._id, self._marked(table))

    def sweep(self, model: str) -> None:
        """Take away the vectors of other models, and those of records that are not there."""

        def write(connection: Connection) -> None:
            connection.execute("DELETE FROM record_vectors WHERE workspace_id = ? AND model != ?", (self._id, model))
            for name in ORDER:
                there = " UNION ALL ".join(
                    f"SELECT 1 FROM {table} t WHERE t.workspace_id = v.workspace_id AND t.id = v.id"
                    for table in KINDS[name].tables.values()
                )
                connection.execute(
                    f"DELETE FROM record_vectors WHERE {sql.beside_number(connection)} = ? AND number IN"
                    " (SELECT number FROM record_vectors v"
                    f" WHERE v.workspace_id = ? AND v.kind = ? AND NOT EXISTS ({there}))",
                    (self._id, self._id, name),
                )

        if self.exist:
            self._database.write(write)

    def _forget(self, connection: Connection, keys: Iterable[Key]) -> None:
        query = "DELETE FROM record_vectors WHERE workspace_id = ? AND kind = ? AND id = ?"
        connection.executemany(query, [(self._id, *key) for key in keys])

    # -- what else is remembered ------------------------------------------------------------------------------------

    def mark(self, name: str) -> int:
        """A number that was kept under a name; 0 where none was."""
        return self._ask(lambda connection: int(self._noted(connection, name) or 0), 0)

    def set_mark(self, name: str, number: int) -> None:
        """Keep a number under a name."""
        self._database.write(lambda connection: tier_meta.put(connection, self._id, name, str(number)))

    def _noted(self, connection: Connection, name: str) -> str:
        return tier_meta.get(connection, self._id, name) or ""

    def _newest(self, connection: Connection, table: str) -> int:
        """The highest number in a table."""
        every, own = sql.whole(connection, self._id)
        return int(connection.execute(f"SELECT max(number) FROM {table}{every}", own).fetchone()[0] or 0)

    def _ask(self, ask: Callable[[Connection], T], otherwise: T) -> T:
        return self._database.read(ask) if self.exist else otherwise


def _wanted(record: TierRecord) -> Wanted:
    text = embedded(record)
    return Wanted(record.kind, record.id, record.at, text, text_hash(text))


def _stored(connection: Connection) -> str:
    """The vectors, as they are read."""
    vector = "CAST(vector AS BLOB)" if sql.is_sqlite(connection) else "vector"
    return f"SELECT number, kind, id, at, text_hash, {vector} FROM record_vectors"


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + KEYS] for start in range(0, len(ids), KEYS))
