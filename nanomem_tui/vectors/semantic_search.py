"""Search by meaning over one workspace: texts are embedded, and found by how near they are to a question.

Owns when things are done: what wants a vector gets one by a thread, by a search or by a command, batch by batch. Items
and records of work go the same way: embedded, written to the file, then given to the copy in Chroma or PostgreSQL that
the settings name. Of what is near only that is given whose text is still the one that was embedded. The doctor's part
stands here too.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import MissingExtra, NanomemError, Problem, Refused, extra_command
from nanomem_tui.store.values import Item
from nanomem_tui.vectors import embedders
from nanomem_tui.vectors.collection import ITEMS, MOST, FileCollection, Row, VectorFile, fact_of_item, usable_rows
from nanomem_tui.vectors.embedders import PLAIN, CheckedEmbedder

if TYPE_CHECKING:
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.vectors.collection import Collection
    from nanomem_tui.vectors.embedders import Embedder, Vector

Found = list[tuple[str, float]]
"""Ids of items, and their cosine distance, 0 to 2, nearest first."""
Progress = Callable[[int, int], object]
"""Told how many of the texts that wanted a vector were looked at, and of how many."""
Key = tuple[str, str]
"""Collection and key of a text."""
HashesOf = Callable[[str, Sequence[str]], Mapping[str, str]]
"""Tells, of some keys of a collection, the hashes of the texts that it has vectors of."""
_FORM = 1
"""Counts the forms that `embedded` gave to texts: a vector of another form is none of this text."""
BATCH, FEW = 32, 8
"""Texts that are embedded and written together (a fifth of a second with the model that is bundled), and by a search,
which is waited for."""
PART = 100
"""Vectors that a copy is given at a time."""
TAKEN = 1_000
"""Vectors that are taken at a time from what another process embedded, and changes that are taken up at a time."""
PATIENCE = 0.25
"""Seconds that a search embeds what is missing before it looks at what is there."""
WORTH = 100
"""Missing vectors up to which it is worth to wait for the thread that makes them."""
READY = 0.9
"""The share of items with a vector from which on what is near tells something of all."""
LOOK, PAUSE, BREATH = 1.0, 30.0, 0.005
"""Seconds between two looks of the thread, after a failure, and between two batches, in which others get their turn."""
LEAVE = 5.0
"""Seconds that closing waits for the thread."""


class ExternalIndex(Protocol):
    """Collections outside the file, by name: a copy that is searched in its place."""

    name: str
    place: str
    """Where it is, in one line without a password; another place is another copy."""

    @property
    def collections(self) -> Mapping[str, Collection]:
        """What it has."""

    def close(self) -> None:
        """Let go of what is open."""


Outside = Callable[[int, str, bool], ExternalIndex]
"""Opens the copy that the settings name, for vectors of so many numbers of a model; if the last is true, what is broken
there, and ours, is removed first. Raises errors of ours."""


class PendingText(NamedTuple):
    """A text that wants a vector: of what it is, the text and its hash, and from when that is (UTC ISO)."""

    collection: str
    key: str
    text: str
    text_hash: str
    at: str = ""


class Step(NamedTuple):
    """What is to be done next: texts that want a vector, what is gone; how many rows were looked at, the rows that are
    listed as changed, with the hash of their text, and how far each table was looked through."""

    wanted: Sequence[PendingText]
    gone: Sequence[Key] = ()
    looked: int = 0
    due: Mapping[Key, str] = {}
    marks: Mapping[str, str] = {}


class TextSource(Protocol):
    """The texts of a memory that are to have a vector."""

    def step(self, model: str, most: int, held: HashesOf) -> Step | None:
        """What is to be done next, at most `most` texts; None where nothing is."""

    def done(self, model: str, step: Step, made: Mapping[Key, bool]) -> None:
        """A step was done: of each text whether a vector could be made."""

    def rest(self, model: str) -> int:
        """How many texts are to be looked at, or want a vector."""


def text_hash(text: str) -> str:
    """What tells that a vector is of this text."""
    data = f"{_FORM}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


# -- any texts ---------------------------------------------------------------------------------------------------------


class Search(ABC):
    """Texts kept in step with their vectors. Every method may be called from any thread, but not holding the lock of
    the snapshot."""

    _what: str
    """What is embedded, as a person calls it, and in the name of the thread."""

    def __init__(self, file: VectorFile, lock: str, outside: Outside | None) -> None:
        """`lock`: the file, beside that of the vectors, whose flock is held by the process that embeds in bulk;
        `outside`: opens the copy that is searched, None where the file is."""
        self._file, self._outside = file, outside
        self._lock_file = file.path.with_name(lock)
        self._opening, self._working, self._starting = threading.RLock(), threading.Lock(), threading.Lock()
        self._collections: dict[str, FileCollection] = {}
        self._copy: ExternalIndex | None = None
        self._lags = outside is not None
        self._silent_until = 0.0
        self._swept = False
        self._troubles: dict[str, NanomemError] = {}
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    @abstractmethod
    def maker(self) -> CheckedEmbedder:
        """The embedder, which checks what it makes. Raises why there is none."""

    @abstractmethod
    def _begin(self, maker: CheckedEmbedder, *, anew: bool = False, everything: bool = False) -> TextSource | None:
        """Make ready for this embedder, once, and give what is embedded, None where there is nothing yet; `anew`: look
        at everything once more."""

    def problems(self) -> list[Problem]:
        """What did not work, of what was tried so far."""
        found = list(self._troubles.values())
        return [Problem(one.what, one.where or f"vectors of {self._what}", None, one.fix, "warning") for one in found]

    @property
    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def _problem(self) -> str:
        return next((error.line() for error in self._troubles.values()), "")

    def sync(self, progress: Progress | None = None, *, anew: bool = False, everything: bool = False) -> int:
        """Embed every text that has no vector; how many that were. Written batch by batch: where it is cut off, the
        next one goes on. `anew`: everything is looked at once more, and a copy outside is made anew; `everything`: so
        is every vector.

        Raises Refused while another process does the same, and what the embedder and the store do.
        """
        maker = self.maker()
        with self._working, self._alone():
            if everything:
                maker.texts([PLAIN])  # one that makes no vector must not cost those that there are
            self._silent_until = 0.0
            texts = self._begin(maker, anew=anew, everything=everything)
            if texts is None:
                return 0
            if anew or everything:
                with self._opening:
                    self._close_copy()
                    self._opened(maker, anew=True)
            made = self._work(texts, maker, BATCH, lambda: False, progress)
            if "database" in self._troubles:
                raise self._troubles["database"]
            self._troubles.pop("embedding", None)
            return made

    def _work(
        self,
        texts: TextSource,
        maker: CheckedEmbedder,
        most: int,
        stop: Callable[[], bool],
        progress: Progress | None = None,
    ) -> int:
        """Embed and write, batch by batch, until `stop`; how many texts that were. Raises what the embedder does."""
        made = looked = 0
        total = texts.rest(maker.name) if progress is not None else 0
        for collection in self._collections.values():
            self._try_write("database", collection.save)
        while (step := texts.step(maker.name, most, self._hashes)) is not None:
            vectors = maker.texts([one.text for one in step.wanted]) if step.wanted else []
            self._write_vectors(texts, maker, step, vectors)
            self._pass_on(maker, stop)
            made, looked = made + sum(vector is not None for vector in vectors), looked + step.looked
            if progress is not None and step.wanted:
                progress(min(looked, total), max(looked, total))
            if stop():
                return made
        self._pass_on(maker, stop, progress)
        if not self._swept and self._file.is_writable and "database" not in self._troubles:
            self._swept = True  # vectors of other models serve nobody now
            for name in self._collections:
                self._try_write("sweep", partial(self._file.change, "sweep", collection=name, model=maker.name))
        return made

    def _write_vectors(
        self, texts: TextSource, maker: CheckedEmbedder, step: Step, vectors: Sequence[Vector | None]
    ) -> None:
        """Write the vectors of a step. What cannot be written is held, told, and tried again with the next ones."""
        rows: dict[str, list[Row]] = {}
        made: dict[Key, bool] = {}
        for one, vector in zip(step.wanted, vectors, strict=True):
            rows.setdefault(one.collection, []).append(Row(one.key, one.text_hash, vector, one.at))
            made[one.collection, one.key] = vector is not None
        for name, part in rows.items():
            self._try_write("database", partial(self._collections[name].upsert, part))
        for name in {name for name, _ in step.gone}:
            gone = [key for of, key in step.gone if of == name]
            self._try_write("sweep", partial(self._collections[name].delete, gone))
        self._lags = self._lags or self._outside is not None or bool(step.gone)
        if (step.marks or step.due) and "database" in self._troubles:  # nothing is settled that is not written
            raise self._troubles["database"]
        texts.done(maker.name, step, made)

    def _try_write(self, what: str, write: Callable[[], object]) -> None:
        """Write; what fails is told, and takes nothing from a search."""
        try:
            write()
        except NanomemError as error:
            self._troubles[what] = error
        else:
            self._troubles.pop(what, None)

    def _hashes(self, name: str, keys: Sequence[str]) -> Mapping[str, str]:
        return {key: row.text_hash for key, row in self._collections[name].rows(keys).items()}

    def _hurry(self, texts: TextSource, maker: CheckedEmbedder, patience: float) -> None:
        """Embed what is missing for so many seconds, or let who is at it go on that long, where that may be enough.
        What fails is told in `problems`, and what is there is searched."""
        end = time.monotonic() + patience
        rest = texts.rest(maker.name)
        wants = rest or self._lags or any(one.is_unsaved for one in self._collections.values())
        if wants and self._working.acquire(timeout=patience if rest <= WORTH else 0.0):
            try:
                self._try_write("embedding", lambda: self._work(texts, maker, FEW, lambda: time.monotonic() >= end))
            finally:
                self._working.release()

    # -- the thread -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Embed on a thread what is there, and what comes, until `stop`; nothing happens where that cannot be."""
        with self._starting:
            if not self._is_running:
                self._stop.clear()
                self._thread = threading.Thread(target=self._run, name=f"nanomem-{self._what}", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, once the batch that it is at is done; one that waits for an endpoint is left to itself, and
        writes no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(LEAVE)
            self._file.is_closed = self._thread.is_alive()
            self._thread = None

    def close(self) -> None:
        """End the thread, write what is unsaved, and let go of the copy."""
        self.stop()
        if not self._opening.acquire(timeout=LEAVE):  # it waits for an endpoint
            return
        try:
            for collection in self._collections.values():
                self._try_write("database", collection.save)
            self._close_copy()
        finally:
            self._opening.release()

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = LOOK
            try:
                maker = self.maker()
                texts = self._begin(maker)
                if texts is not None and (texts.rest(maker.name) or self._lags):
                    with self._working:
                        self._work_alone(texts, maker)
                self._troubles.pop("embedding", None)
            except MissingExtra:  # whoever asks is told
                return
            except NanomemError as error:
                self._troubles["embedding"] = error
                wait = PAUSE

    def _work_alone(self, texts: TextSource, maker: CheckedEmbedder) -> None:
        """Embed what is missing, or, while another process does that, take up what it has written."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self._alone())
            except Refused:
                texts.step(maker.name, TAKEN, self._hashes)
            else:
                self._work(texts, maker, BATCH, lambda: self._stop.wait(BREATH))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from embedding the same. Raises Refused while one does."""
        with contextlib.ExitStack() as held:
            if self._file.is_writable:
                atomic.make_folder(self._lock_file.parent)
                try:
                    held.enter_context(atomic.locked(self._lock_file, wait=0))
                except Refused as error:
                    what = f"another process embeds the {self._what}"
                    raise Refused(
                        what, str(self._lock_file), "wait for it: what it has done is used at once"
                    ) from error
            yield

    # -- the copy outside -------------------------------------------------------------------------------------------

    def _opened(self, maker: CheckedEmbedder, *, anew: bool = False) -> ExternalIndex | None:
        """The copy; None where there is to be none, or it failed a moment ago: asking it may take seconds each time."""
        with self._opening:
            if self._outside is None or not self._file.is_writable:
                return None
            if self._copy is None and time.monotonic() >= self._silent_until:
                try:
                    copy = self._copy = self._outside(maker.dimension, maker.name, anew)
                    self._lags = True
                    for name, collection in copy.collections.items():
                        sent = self._sent(maker, copy, name)
                        ((given,),) = self._file.rows("up to", collection=name, model=maker.name, number=sent) or [(0,)]
                        if len(collection) < given:  # it was made anew, and gets everything
                            self._file.unmark(self._mark(maker, copy, name))
                except NanomemError as error:
                    self._do_without(error)
            return self._copy

    def _mark(self, maker: CheckedEmbedder, copy: ExternalIndex, name: str) -> str:
        return f"sent {copy.name} {copy.place} {name} {maker.name}"

    def _sent(self, maker: CheckedEmbedder, copy: ExternalIndex, name: str) -> int:
        mark = self._mark(maker, copy, name)
        return int(self._file.marks(mark).get(mark, 0))

    def _pass_on(self, maker: CheckedEmbedder, stop: Callable[[], bool], progress: Progress | None = None) -> None:
        """Give the copy what it does not have yet, until `stop`, and forget what was taken away once nobody needs to be
        told. What fails is told, and tried again later."""
        copy = self._opened(maker)
        if not self._lags or (copy is None and self._outside is not None):
            return
        try:
            last = self._file.last()
            for name, ours in self._collections.items():
                sent = last
                if copy is not None:
                    theirs, sent = copy.collections[name], self._sent(maker, copy, name)
                    while part := ours.since(sent, PART):
                        theirs.delete([row.key for row in part if row.vector is None])
                        theirs.upsert(usable_rows(part, maker.dimension))
                        sent = part[-1].number
                        self._file.note(self._mark(maker, copy, name), str(sent))
                        if progress is not None:
                            progress(sent, max(sent, last))
                        if stop():
                            return
                self._file.change("settle", collection=name, model=maker.name, number=sent)
            self._lags = False
            self._troubles.pop("index", None)
        except NanomemError as error:
            self._do_without(error)

    def _do_without(self, error: NanomemError) -> None:
        self._troubles["index"] = error
        self._silent_until = time.monotonic() + PAUSE
        self._close_copy()

    def _close_copy(self) -> None:
        with self._opening:
            if self._copy is not None:
                self._copy.close()
                self._copy = None


def outside_of(store: MemoryStore, settings: Settings, names: Sequence[str] = (ITEMS,)) -> Outside | None:
    """What opens the copy of some collections that the settings name; None where the file is searched."""

    def chroma(_: int, model: str, anew: bool) -> ExternalIndex:
        from nanomem_tui.vectors.outside import ChromaCopy, chroma_location

        items = store.load("item").items if ITEMS in names else None
        place = chroma_location(settings, store.paths, is_of_records=items is None)
        return ChromaCopy(place, store.workspace_id, names, model, items, anew=anew)

    def pgvector(dimension: int, model: str, anew: bool) -> ExternalIndex:
        from nanomem_tui.vectors.outside import PgCopy

        return PgCopy(settings.pgvector_url, store.workspace_id, names, dimension, model, anew=anew)

    known: dict[str, Outside] = {"chroma": chroma, "pgvector": pgvector}
    return known.get(settings.vector_index)


# -- items -------------------------------------------------------------------------------------------------------------


def text_to_embed(item: Item) -> str:
    """The text that stands for an item: its own; for a fact with where it belongs."""
    fact = fact_of_item(item)
    if fact is None:
        return item.text[:MOST]
    place = " ".join(dict.fromkeys(filter(None, (fact.domain, fact.category, fact.sub_category))))
    return f"{place}. {item.text}"[:MOST]


class ItemTexts:
    """The active items of a store, in step with its snapshot, whose lock guards the account. Every method may be called
    from any thread; none asks a disk while it holds that lock."""

    def __init__(self, store: MemoryStore) -> None:
        self._snapshot = store.load("item")
        self._changed = self._snapshot.watch()
        self.current: dict[str, str] = {}
        """The hash of the present text of each active item."""
        self._todo: dict[str, None] = {}
        """What wants a vector, or has one and is gone; what came last is last."""
        self._known: dict[str, str] = {}
        self._unmade: set[str] = set()

    def close(self) -> None:
        """Follow the store no more."""
        self._snapshot.unwatch(self._changed)

    def begin(self, known: Mapping[str, str], unmade: Iterable[str]) -> None:
        """Look at every item; `known`: the hashes of the texts that have a vector, or none can be made of (those of
        `unmade`)."""
        with self._snapshot.lock:
            self._known, self._unmade = dict(known), set(unmade)
            keys = iter(dict.fromkeys((*known, *self._snapshot.items)))
        while part := list(islice(keys, TAKEN)):
            self._note_texts(part)

    def follow(self) -> None:
        """Take up what changed since."""
        while self._changed:
            with self._snapshot.lock:
                part = list(islice(self._changed, TAKEN))
                self._changed.difference_update(part)
                self._note_texts(part)

    def _note_texts(self, keys: Iterable[str]) -> None:
        """See what these want. The vector of an item that is switched off stays."""
        with self._snapshot.lock:
            for key in keys:
                item, held = self._snapshot.items.get(key), self._known.get(key)
                if item is None or item.is_deleted:
                    self.current.pop(key, None)
                    is_wanting = held is not None
                elif not item.enabled:
                    self.current.pop(key, None)
                    is_wanting = False
                else:
                    self.current[key] = text_hash(text_to_embed(item))
                    is_wanting = held != self.current[key]
                self._todo.pop(key, None)
                if is_wanting:
                    self._todo[key] = None

    def step(self, model: str, most: int, held: HashesOf) -> Step | None:
        """What came last first. What another process embedded meanwhile is taken up."""
        while True:
            self.follow()
            with self._snapshot.lock:
                keys = list(islice(reversed(self._todo), most))
                texts = {key: text_to_embed(self._snapshot.items[key]) for key in keys if key in self.current}
            newest = [PendingText(ITEMS, key, text, text_hash(text)) for key, text in texts.items()]
            there = held(ITEMS, [*texts]) if texts else {}
            wants = [one for one in newest if there.get(one.key) != one.text_hash]
            fit = [one for one in newest if there.get(one.key) == one.text_hash]
            if not fit:
                gone = [(ITEMS, key) for key in keys if key not in texts]
                return Step(wants, gone, len(keys)) if keys else None
            self.done(model, Step(fit), {(ITEMS, one.key): True for one in fit})

    def done(self, model: str, step: Step, made: Mapping[Key, bool]) -> None:
        """A text that changed meanwhile still wants a vector."""
        with self._snapshot.lock:
            for one in step.wanted:
                self._known[one.key] = one.text_hash
                (self._unmade.discard if made[ITEMS, one.key] else self._unmade.add)(one.key)
            for _, key in step.gone:
                self._known.pop(key, None)
            self._changed.update(key for _, key in (*made, *step.gone))

    def rest(self, model: str) -> int:
        self.follow()
        return len(self._todo)

    def counts(self) -> tuple[int, int]:
        """How many items have a vector, and how many are to have one."""
        self.follow()
        with self._snapshot.lock:
            total = len(self.current) - self.unmade
            return total - sum(key in self.current for key in self._todo), total

    @property
    def unmade(self) -> int:
        """Of how many of them no vector can be made."""
        return len((self._unmade & self.current.keys()) - self._todo.keys())


class SemanticSearch(Search):
    """What is found by meaning among items."""

    _what = "items"

    def __init__(
        self, store: MemoryStore, settings: Settings, embedder: Callable[[], Embedder], outside: Outside | None = None
    ) -> None:
        """`embedder`: makes the one that the settings name, or raises why there is none."""
        super().__init__(VectorFile(store.paths.vectors, lambda: store.has_database), "embedding.lock", outside)
        self._store, self._settings, self._embedder = store, settings, embedder
        self._making = threading.Lock()
        self._maker: CheckedEmbedder | None = None
        self._items: ItemTexts | None = None

    @property
    def why_not(self) -> str:
        """Why nothing is found by meaning, in one line; empty when it is."""
        try:
            self.maker()
        except NanomemError as error:
            return error.line()
        return ""

    @property
    def model(self) -> str:
        """The name of the embedding model; empty while there is none."""
        return self._maker.name if self._maker is not None else ""

    @property
    def scale(self) -> float:
        """What a distance of the model is multiplied by, so that models can be compared. Raises as `nearest`."""
        return self.maker().scale

    @property
    def is_ready(self) -> bool:
        """Whether so many items have a vector that those which have none may be left to words."""
        done, total = self._items.counts() if self._items is not None else (0, 0)
        return done >= READY * total

    def maker(self) -> CheckedEmbedder:
        """The embedder, which checks what it makes. Raises why there is none."""
        with self._making:
            if self._maker is None:
                self._maker = CheckedEmbedder(self._embedder())
            return self._maker

    def state(self) -> dict[str, Any]:
        """`model`, `dimension`, `index`, `done` of `total` items (None: not counted yet), whether a thread is
        `running`, and the `problem` of the last try. Loads no model: what was not asked for yet is what the file has.
        """
        found: dict[str, Any] = {"model": "", "dimension": 0, "index": self._settings.vector_index, "done": 0}
        found |= {"total": None, "running": self._is_running, "problem": self._problem}
        if self._items is not None and self._maker is not None:
            done, total = self._items.counts()
            index = self._copy.name if self._copy is not None else "rows"
            found |= {"model": self._maker.name, "dimension": self._maker.dimension, "index": index}
            found |= {"done": done, "total": total}
        elif held := self._file.counts([ITEMS]):
            found |= {"model": held[0].model, "dimension": held[0].dimension, "done": held[0].rows}
        return found

    @property
    def progress(self) -> str:
        """How far the embedding is, in words; empty when all is done, or nothing was begun."""
        done, total = self._items.counts() if self._items is not None else (0, 0)
        return f"embedding {done:,} of {total:,}" if done < total else ""

    def problems(self) -> list[Problem]:
        """What did not work, of what was tried so far."""
        unmade = self._items.unmade if self._items is not None else 0
        what = f"no vector could be made of {unmade:,} of the texts; words find them"
        return [*super().problems(), *([Problem(what, "vectors", None, "", "note")] if unmade else [])]

    def preview(self) -> tuple[int, int]:
        """How many items have a vector of the present model, and how many are to have one; nothing is embedded or
        written. Raises why there is no embedder, and what the store does."""
        maker = self.maker()
        collection = FileCollection(self._file, ITEMS, maker.name, maker.dimension)
        texts = ItemTexts(self._store)
        try:
            texts.begin(collection.hashes(), collection.unmade())
            return texts.counts()
        finally:
            texts.close()

    def nearest(
        self, text: str, limit: int, within: Container[str] | None = None, *, patience: float = PATIENCE
    ) -> Found:
        """The items nearest to a text in meaning, at most `limit`, with their cosine distance, nearest first.

        `within`: of these ids alone. What has no vector yet is embedded first, for `patience` seconds or so. Raises
        MissingExtra, BadInput, InvalidConfig or ModelError when no question can be asked.
        """
        maker = self.maker()
        texts = self._begin(maker)
        question = maker.question(text)
        self._hurry(texts, maker, patience)
        return self._near(texts, maker, question, limit, within)

    def near(self, item_id: str, limit: int, within: Container[str] | None = None) -> Found:
        """The items nearest to one of them, itself left out; none when it has no vector. Raises as `nearest`."""
        maker = self.maker()
        texts = self._begin(maker)
        self._hurry(texts, maker, PATIENCE)
        texts.follow()
        found = self._collections[ITEMS].rows([item_id]).get(item_id)
        if found is None or found.vector is None or found.text_hash != texts.current.get(item_id):
            return []
        return [one for one in self._near(texts, maker, found.vector, limit + 1, within) if one[0] != item_id][:limit]

    def _near(
        self, texts: ItemTexts, maker: CheckedEmbedder, vector: Vector, limit: int, within: Container[str] | None
    ) -> Found:
        """Of the collection that is searched what is still to be found; of the file where the copy fails."""

        def ask(collection: Collection) -> Found:
            texts.follow()
            size = limit
            while True:
                near = collection.nearest(vector, size, within)
                found = [(one.key, one.distance) for one in near if texts.current.get(one.key) == one.text_hash]
                if len(found) >= limit or len(near) < size:
                    return found[:limit]
                size *= 4

        copy = self._opened(maker)
        if copy is not None:
            try:
                return ask(copy.collections[ITEMS])
            except NanomemError as error:
                self._do_without(error)
        return ask(self._collections[ITEMS])

    def _begin(self, maker: CheckedEmbedder, *, anew: bool = False, everything: bool = False) -> ItemTexts:
        with self._opening:
            if self._items is not None and not (anew or everything):
                return self._items
            if anew or everything:
                self._file.change("clear" if everything else "clear unmade", collection=ITEMS)
                self._collections.pop(ITEMS, None)  # what it holds in RAM is looked at anew too
            made = self._collections.setdefault(ITEMS, FileCollection(self._file, ITEMS, maker.name, maker.dimension))
            # Where a copy is searched, no matrix is read: what the file holds is known by the hashes in it.
            known = made.hashes() if self._outside is None else self._file.hashes(ITEMS, maker.name)
            self._store.refresh()
            texts = self._items if self._items is not None else ItemTexts(self._store)
            texts.begin(known, made.unmade())
            self._items, self._swept = texts, False
            return texts


def semantic_search_of(store: MemoryStore, settings: Settings) -> SemanticSearch:
    """Search by meaning over the items of a store; nothing of it is loaded yet."""
    return SemanticSearch(
        store, settings, lambda: embedders.embedder_of(settings, store.paths), outside_of(store, settings)
    )


# -- what the doctor says ----------------------------------------------------------------------------------------------


def find_problems(store: MemoryStore, settings: Settings) -> Iterator[Problem]:
    """What is wrong with the vectors of a workspace, and with the copy outside that its settings name. Reads only, and
    asks no endpoint for a vector."""
    if settings.embedding_enabled:
        try:
            embedders.embedder_of(settings, store.paths)
        except MissingExtra as error:
            usual = settings.embedding_backend in _BUNDLED
            yield Problem(error.what, "embedding_backend", None, error.fix, "note" if usual else "warning")
        except NanomemError as error:
            yield Problem(f"nothing is found by meaning: {error.what}", error.where, None, error.fix, "warning")
    yield from _health_of_file(VectorFile(store.paths.vectors))
    try:
        if settings.vector_index == "chroma":
            from nanomem_tui.vectors import outside

            if importlib.util.find_spec("chromadb") is None:
                what = "vector_index is chroma, and chromadb is not installed: the rows are searched"
                yield Problem(what, "the settings", None, extra_command("chroma"), "warning")
            place = outside.chroma_location(settings, store.paths)
            if isinstance(place, Path):
                outside.check_owner(place, store.workspace_id)
        elif settings.vector_index == "pgvector":
            from nanomem_tui.vectors.outside import PgServer

            with contextlib.closing(PgServer(settings.pgvector_url)) as server:
                server.run(server.check)
    except NanomemError as error:
        yield Problem(f"{error.what}: the rows are searched", error.where, None, error.fix, "warning")


_BUNDLED = frozenset({"auto", "minilm", "reserved_hybrid"})
"""Backends that nobody chose, or that come with an extra of ours."""


def _health_of_file(file: VectorFile) -> Iterator[Problem]:
    again = "`nanomem memory reindex --vectors`"
    if not file.path.exists():
        return
    where = file.path.name
    if not file.is_whole():
        what = "the file of the vectors is damaged, or lacks a table"
        yield Problem(what, where, None, f"it is a cache: {again} makes it anew", "warning")
        return
    held = file.counts([ITEMS])
    if len(held) > 1:
        listed = ", ".join(f"{count.rows:,} of {count.model}" for count in held)
        what = f"vectors of {len(held)} models: {listed}; those of one serve, and the others go when it has all"
        yield Problem(what, where, None, f"{again} embeds them anew", "note")
