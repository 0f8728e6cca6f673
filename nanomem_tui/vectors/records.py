"""Records of an agent's work found by meaning: the six kinds of text of seed 004, each in a collection of its own.

Owns how far the records were looked through. There may be a million: each table is looked through once, newest last,
and what changes since is listed by whoever changes it; in RAM are the newest of a kind that is asked for. Must not know
how words find records, or what becomes of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core.errors import BadAnswer, NanomemError, Refused
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work.kinds import KINDS, Kind
from nanomem_tui.store.work.values import embedded
from nanomem_tui.vectors.collection import FileCollection, Near, VectorFile
from nanomem_tui.vectors.embedders import share_known
from nanomem_tui.vectors.semantic_search import (  # fmt: skip
    PATIENCE,
    HashesOf,
    Key,
    Outside,
    PendingText,
    Search,
    Step,
    outside_of,
    text_hash,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.core.settings import Settings
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.store.work.values import TierRecord
    from nanomem_tui.store.work.work_store import WorkStore
    from nanomem_tui.vectors.collection import Collection
    from nanomem_tui.vectors.embedders import CheckedEmbedder

ORDER = ("incident", "procedure", "decision", "goal", "task", "tool-call")
"""The kinds of records that are embedded, each in a collection called as its table: what tells most in a row first, and
what there is most of last."""
KIND_OF = {KINDS[name].table: name for name in ORDER}
"""The kind of the records of a collection."""
LOOKED = 4_096
"""Rows of a table that one step looks at."""
HELD_RECORDS = 50_000
"""Vectors of a kind of records that are held in RAM, those of the newest: 75 MB of MiniLM."""
READ = 0.5
"""The least share of a question about records that a model must be able to read."""


class RecordTexts:
    """The records of work of one workspace. How far each table was looked through stands beside the vectors."""

    collections = tuple(KINDS[name].table for name in ORDER)

    def __init__(self, database: WorkStore, file: VectorFile) -> None:
        self._database, self._file = database, file
        self._noticed: set[Key] = set()

    @property
    def exist(self) -> bool:
        """Whether there are records at all."""
        return self._database.exists

    def notice(self, keys: Iterable[Key]) -> None:
        """Look at these once more: a vector is of another text, as another machine changed the record."""
        self._noticed.update(keys)

    def step(self, model: str, most: int, held: HashesOf) -> Step | None:
        """What changed first, then what is new, then the rest, newest first."""
        if not self.exist:
            return None
        marks = self._marks(model)

        def find(connection: Connection) -> Step | None:
            if (step := self._due(connection, most, held)) is not None:
                return step
            for old in (False, True):
                for name in ORDER:
                    if (step := self._scan(connection, KINDS[name], marks, most, held, old=old)) is not None:
                        return step
            return None

        return self._database.read(find)

    def _due(self, connection: Connection, most: int, held: HashesOf) -> Step | None:
        listed = [(KINDS[kind].table, key) for kind, key in work_records.due(connection, most)]
        keys = list(dict.fromkeys([*islice(self._noticed, most), *listed]))[:most]
        if not keys:
            return None
        texts = self._texts(connection, keys)
        gone = [key for key in keys if key not in texts or not texts[key].text]
        wants = _without([one for one in texts.values() if one.text], held)
        return Step(wants, gone, len(keys), {key: texts[key].text_hash if key in texts else "" for key in keys})

    def _scan(
        self, connection: Connection, kind: Kind, marks: Mapping[str, str], most: int, held: HashesOf, *, old: bool
    ) -> Step | None:
        """What the next rows of a kind want: new ones, or those that were there before the first look."""
        low, high = self._seen(connection, marks, kind)
        wants: list[PendingText] = []
        looked = 0
        rows = work_records.neighbours(connection, kind, low if old else high, LOOKED, before=old)
        while len(wants) < most and (part := list(islice(rows, most))):
            low, high = (part[-1][0], high) if old else (low, part[-1][0])
            texts = [_of_record(record) for _, record in part]
            wants += _without([one for one in texts if one.text], held)
            looked += len(part)
        return Step(wants, looked=looked, marks={kind.table: f"{low} {high}"}) if looked else None

    def done(self, model: str, step: Step, made: Mapping[Key, bool]) -> None:
        """What changed meanwhile stays listed."""
        begins = self._begins(model)
        for name in self._file.marks("records "):
            if not name.startswith(begins):  # what another model looked at, or in other tables, is not looked at
                self._file.unmark(name)
        for table, numbers in step.marks.items():
            self._file.note(begins + table, numbers)
        if not step.due:
            return

        def settle(connection: Connection) -> None:
            texts = self._texts(connection, step.due)
            for key, known in step.due.items():
                if (texts[key].text_hash if key in texts else "") == known:
                    work_records.set_due(connection, KINDS[KIND_OF[key[0]]], key[1], due=False)

        self._database.write(settle)
        self._noticed.difference_update(step.due)

    def rest(self, model: str) -> int:
        """Records that are gone since are counted too."""
        if not self.exist:
            return 0
        marks = self._marks(model)

        def count(connection: Connection) -> int:
            total = work_records.count_due(connection) + len(self._noticed)
            for kind in (KINDS[name] for name in ORDER):
                low, high = self._seen(connection, marks, kind)
                total += low - 1 + max(0, work_records.newest_number(connection, kind) - high)
            return total

        return self._database.read(count)

    def records(self, keys: Iterable[Key]) -> dict[Key, tuple[TierRecord, str]]:
        """Records with the hash of what is embedded of them."""
        found = self._database.read(lambda connection: self._found(connection, keys))
        return {key: (record, _of_record(record).text_hash) for key, record in found.items()}

    def _found(self, connection: Connection, keys: Iterable[Key]) -> dict[Key, TierRecord]:
        found = {key: work_records.get(connection, KINDS[KIND_OF[key[0]]], key[1]) for key in keys}
        return {key: record for key, record in found.items() if record is not None}

    def _texts(self, connection: Connection, keys: Iterable[Key]) -> dict[Key, PendingText]:
        return {key: _of_record(record) for key, record in self._found(connection, keys).items()}

    def _begins(self, model: str) -> str:
        """Begins the names under which is kept how far these very tables were looked through: those that were moved, or
        restored from a backup, number their rows anew."""
        found = None if self._database.is_remote else self._database.path.stat().st_ino
        return f"records {self._database.where} {found} {model} "

    def _marks(self, model: str) -> dict[str, str]:
        begins = self._begins(model)
        return {name.removeprefix(begins): numbers for name, numbers in self._file.marks(begins).items()}

    def _seen(self, connection: Connection, marks: Mapping[str, str], kind: Kind) -> tuple[int, int]:
        """From and to which number a kind was looked through."""
        if found := marks.get(kind.table):
            low, _, high = found.partition(" ")
            return int(low), int(high)
        newest = work_records.newest_number(connection, kind)
        return newest + 1, newest


class NearRecord(NamedTuple):
    """A record that is near, and its cosine distance (0 to 2)."""

    record: TierRecord
    distance: float


class RecordMeaning(Search):
    """Records of an agent's work found by meaning: the six kinds of text of seed 004, each in a collection of its own,
    of which the newest are held in RAM once they are asked for."""

    _what = "records"

    def __init__(
        self,
        store: MemoryStore,
        database: WorkStore,
        maker: Callable[[], CheckedEmbedder],
        outside: Outside | None = None,
    ) -> None:
        """`maker`: the embedder, or why there is none."""
        super().__init__(VectorFile(store.paths.vectors), "records-embedding.lock", outside)
        self._records = RecordTexts(database, self._file)
        self._maker = maker
        self._model = ""

    def maker(self) -> CheckedEmbedder:
        """The embedder. Raises why there is none."""
        return self._maker()

    def state(self) -> dict[str, Any]:
        """`model`, `index`, `done` of `total` records (what was never looked at counts as one), whether a thread is
        `running`, and the `problem` of the last try. Loads no model."""
        counts = {held.model: held.rows for held in self._file.counts(self._records.collections)}
        model = self._model or next(iter(counts), "")
        done = counts.get(model, 0)
        index = "" if not self._model else "rows" if self._outside is None else self._copy.name if self._copy else ""
        found = {"model": model, "index": index, "done": done, "total": done + self._records.rest(model)}
        return {**found, "running": self._is_running, "problem": self._problem}

    def preview(self) -> tuple[int, int]:
        """How many records have a vector of the present model, and how many there are with what is to be looked at;
        nothing is embedded. Raises why there is no embedder."""
        model = self.maker().name
        done = sum(held.rows for held in self._file.counts(self._records.collections) if held.model == model)
        return done, done + self._records.rest(model)

    def nearest(
        self, question: str, kinds: Sequence[str], limit: int, *, patience: float = PATIENCE
    ) -> list[NearRecord]:
        """The records of some kinds nearest to a question, at most `limit`, nearest first. What has no vector yet is
        embedded first, for `patience` seconds or so, unless a thread is at it; one whose text changed since is left
        out. Raises why nothing can be asked; a million rows are not searched in place of a copy that fails."""
        if not self._records.exist:
            return []
        maker = self.maker()
        if share_known(maker.name, question) < READ:
            raise BadAnswer(f"{maker.name} reads no word of this language", "", "")
        vector = maker.question(question)
        self._begin(maker)
        if not self._is_running:
            self._hurry(self._records, maker, patience)
        copy = self._opened(maker)
        if copy is None and self._outside is not None:
            raise self._troubles.get("index") or Refused("the copy of the vectors is closed")
        collections: Mapping[str, Collection] = copy.collections if copy is not None else self._collections
        near: list[tuple[float, Key, Near]] = []
        try:
            for name in (KINDS[kind].table for kind in kinds):
                near += [(one.distance, (name, one.key), one) for one in collections[name].nearest(vector, limit)]
        except NanomemError as error:
            self._do_without(error)
            raise
        nearest = sorted(near)[:limit]
        known = self._records.records(key for _, key, _ in nearest)
        self._records.notice(key for _, key, one in nearest if key in known and known[key][1] != one.text_hash)
        fit = [(known[key][0], one) for _, key, one in nearest if key in known and known[key][1] == one.text_hash]
        return [NearRecord(record, one.distance) for record, one in fit]

    def _begin(self, maker: CheckedEmbedder, *, anew: bool = False, everything: bool = False) -> RecordTexts | None:
        with self._opening:
            if not self._records.exist:
                return None
            if self._model == maker.name and not (anew or everything):
                return self._records
            if anew or everything:
                for name in self._records.collections:
                    self._file.change("clear" if everything else "clear unmade", collection=name)
                self._file.unmark("records ")  # how far they were looked through
            for name in self._records.collections:
                self._collections[name] = FileCollection(self._file, name, maker.name, maker.dimension, HELD_RECORDS)
            self._model, self._swept = maker.name, False
            return self._records


def record_meaning_of(
    database: WorkStore, store: MemoryStore, settings: Settings, maker: Callable[[], CheckedEmbedder]
) -> RecordMeaning:
    """Search by meaning over the records of a workspace, with the embedder that `maker` gives."""
    return RecordMeaning(store, database, maker, outside_of(store, settings, RecordTexts.collections))


def _of_record(record: TierRecord) -> PendingText:
    text = embedded(record)
    return PendingText(KINDS[record.kind].table, record.id, text, text_hash(text), record.at)


def _without(texts: Sequence[PendingText], held: HashesOf) -> list[PendingText]:
    there = {
        name: held(name, [one.key for one in texts if one.collection == name])
        for name in {one.collection for one in texts}
    }
    return [one for one in texts if there[one.collection].get(one.key) != one.text_hash]
