"""Records of an agent's work found by meaning: the six kinds of text of seed 004, each in a collection of its own.

Owns when things are done: what wants a vector gets one by a thread, by a search or by a command, batch by batch, and
each batch is committed with how far it went. Must not know how words find records, or what becomes of the answer.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nanomem_tui.errors import BadAnswer, MissingExtra, NanomemError, Problem, Refused
from nanomem_tui.store import atomic
from nanomem_tui.vectors.legible import share_read
from nanomem_tui.vectors.record_index import RamCollections, usable
from nanomem_tui.vectors.record_rows import Key, RecordRows

if TYPE_CHECKING:
    from nanomem_tui.store.tier_store import TierStore
    from nanomem_tui.store.tier_values import TierRecord
    from nanomem_tui.vectors.making import Maker
    from nanomem_tui.vectors.record_index import Collections

    Progress = Callable[[int, int], object]

LOCK = "records-embedding.lock"
"""The file, beside the database, whose flock is held by the process that embeds."""
BATCH, FEW = 64, 8
"""Texts that are embedded and committed together, and by a search, which is waited for."""
PATIENCE = 0.25
"""Seconds that a search embeds what is missing before it looks at what is there."""
LOOK, PAUSE, BREATH = 1.0, 30.0, 0.005
"""Seconds between two looks of the thread, after a failure, and between two batches."""
LEAVE = 5.0
"""Seconds that closing waits for the thread."""
PART = 100
"""Vectors that an index outside is given at a time."""
READ = 0.5
"""The least share of a question that a model must be able to read."""


class Outside(Protocol):
    """Opens the index outside the database that the settings name. Raises errors of ours."""

    def __call__(self, dimension: int, model: str, /, *, anew: bool) -> Collections: ...


class NearRecord(NamedTuple):
    """A record that is near, and its cosine distance (0 to 2)."""

    record: TierRecord
    distance: float


class RecordMeaning:
    """What is found by meaning. Every method may be called from any thread."""

    def __init__(
        self, database: TierStore, workspace_id: str, maker: Callable[[], Maker], outside: Outside | None = None
    ) -> None:
        """`maker`: the embedder, or why there is none; `outside`: None where the rows are the index."""
        self._rows = RecordRows(database, workspace_id)
        self._lock_file = database.path.with_name(LOCK)
        self._maker, self._outside = maker, outside
        self._opening, self._working = threading.Lock(), threading.Lock()
        self._index: Collections | None = None
        self._begun: Collections | None = None
        self._silent_until = 0.0
        self._model = ""
        self._troubles: dict[str, NanomemError] = {}
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    # -- what there is ----------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """`model`, `index`, `done` of `total` records (what was never looked at counts as one), whether a thread is
        `running`, and the `problem` of the last try. Loads no model."""
        counts = self._rows.counts()
        model = self._model or max(counts, key=lambda name: counts[name], default="")
        done = counts.get(model, 0)
        running = self._thread is not None and self._thread.is_alive()
        return {
            "model": model,
            "index": self._index.name if self._index is not None else "",
            "done": done,
            "total": done + self._rows.rest(model),
            "running": running,
            "problem": next((error.line() for error in self._troubles.values()), ""),
        }

    def problems(self) -> list[Problem]:
        """What did not work, of what was tried so far."""
        return [
            Problem(error.what, error.where or "vectors of records", None, error.fix, "warning")
            for error in self._troubles.values()
        ]

    # -- asking -----------------------------------------------------------------------------------------------------

    def nearest(
        self, question: str, kinds: Sequence[str], limit: int, *, patience: float = PATIENCE
    ) -> list[NearRecord]:
        """The records of some kinds nearest to a question, at most `limit`, nearest first. What has no vector yet is
        embedded first, for `patience` seconds or so, unless a thread is at it; one whose text changed since is left
        out. Raises why nothing can be asked."""
        if not self._rows.exist:
            return []
        maker = self._maker()
        if share_read(maker.name, question) < READ:
            raise BadAnswer(f"{maker.name} reads no word of this language", "", "")
        vector = maker.question(question)
        if self._thread is None or not self._thread.is_alive():
            self._hurry(maker, patience)
        try:
            index = self._opened(maker)
            near = [one for kind in kinds for one in index.nearest(kind, vector, limit)]
        except NanomemError as error:
            self._do_without(error)
            raise
        near = sorted(near, key=lambda one: (one.distance, one.kind, one.id))[:limit]
        known = self._rows.records((one.kind, one.id) for one in near)
        found = [(known.get((one.kind, one.id)), one) for one in near]
        return [NearRecord(fit[0], one.distance) for fit, one in found if fit is not None and fit[1] == one.text_hash]

    def _hurry(self, maker: Maker, patience: float) -> None:
        """Embed what is missing for so many seconds; what fails is told, and what is there is searched."""
        end = time.monotonic() + patience
        if not self._working.acquire(timeout=patience):
            return
        try:
            with self._alone():
                self._work(maker, FEW, lambda: time.monotonic() >= end)
            self._troubles.pop("embedding", None)
        except Refused:  # another process is at it
            return
        except NanomemError as error:
            self._troubles["embedding"] = error
        finally:
            self._working.release()

    # -- keeping in step --------------------------------------------------------------------------------------------

    def sync(self, progress: Progress | None = None, *, anew: bool = False, everything: bool = False) -> int:
        """Embed every text that has no vector of its present words; how many that were. Where it is cut off, the next
        one goes on. `anew`: every record is looked at once more, and an index outside made anew; `everything`: every
        vector too. Raises Refused while another process does the same, and what the embedder and the store do."""
        if not self._rows.exist:
            return 0
        maker = self._maker()
        with self._working, self._alone():
            if anew or everything:
                maker.texts(["records"])  # one that makes no vector must not cost those that there are
                self._rows.again(everything=everything)
                self._close_index()
            self._silent_until = 0.0
            self._opened(maker, anew=anew or everything)
            made = self._work(maker, BATCH, lambda: False, progress)
            self._rows.sweep(maker.name)
        self._troubles.pop("embedding", None)
        return made

    def preview(self) -> tuple[int, int]:
        """How many records have a vector of the present model, and how many there are with what is to be looked at;
        nothing is embedded. Raises why there is no embedder."""
        model = self._maker().name
        done = self._rows.counts().get(model, 0)
        return done, done + self._rows.rest(model)

    def _work(self, maker: Maker, most: int, stop: Callable[[], bool], progress: Progress | None = None) -> int:
        """Embed and commit, batch by batch, until `stop`; how many texts that were."""
        made = looked = 0
        total = self._rows.rest(maker.name) if progress is not None else 0
        while (step := self._rows.step(maker.name, most)) is not None:
            vectors = maker.texts([one.text for one in step.wanted]) if step.wanted else []
            kept = [None if vector is None else vector.astype("<f4").tobytes() for vector in vectors]
            self._rows.keep(maker.name, step, kept)
            self._pass_on(maker, step.gone, stop)
            made, looked = made + len(kept), looked + step.looked
            if progress is not None:
                progress(min(looked, total), max(looked, total))
            if stop():
                return made
        self._pass_on(maker, (), stop, progress)
        return made

    def _pass_on(
        self, maker: Maker, gone: Sequence[Key], stop: Callable[[], bool], progress: Progress | None = None
    ) -> None:
        """Give an index outside what it does not have yet, until `stop`. What fails is told, and tried again with the
        next batch."""
        try:
            index = self._opened(maker)
            if gone:
                index.remove(gone)
            if index.follows:
                return
            mark = f"outside {index.name} {index.place} {maker.name}"
            sent = 0 if index.is_new and index is not self._begun else self._rows.mark(mark)
            self._begun = index
            while part := self._rows.since(maker.name, sent, PART):
                rows, vectors = usable(part, maker.dimension)
                index.put(rows, vectors)
                sent = part[-1].number
                self._rows.set_mark(mark, sent)
                if progress is not None:
                    progress(sent, max(sent, self._rows.last()))
                if stop():
                    break
            self._troubles.pop("index", None)
        except NanomemError as error:
            self._do_without(error)

    # -- the thread -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Embed on a thread what is there, and what comes, until `stop`; nothing happens where that cannot be."""
        with self._opening:
            if self._thread is None or not self._thread.is_alive():
                self._stop.clear()
                self._thread = threading.Thread(target=self._run, name="nanomem-records", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, once the batch that it is at is done."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(LEAVE)
            self._thread = None

    def close(self) -> None:
        """End the thread and let go of the index."""
        self.stop()
        self._close_index()

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = LOOK
            try:
                if self._rows.exist:
                    maker = self._maker()
                    with self._working, self._alone():
                        self._work(maker, BATCH, lambda: self._stop.wait(BREATH))
                self._troubles.pop("embedding", None)
            except MissingExtra:  # whoever asks is told
                return
            except Refused:
                continue  # another process is at it
            except NanomemError as error:
                self._troubles["embedding"] = error
                wait = PAUSE

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from embedding the same. Raises Refused while one does."""
        try:
            atomic.make_folder(Path(self._lock_file).parent)
            held = atomic.locked(Path(self._lock_file), wait=0)
            held.__enter__()
        except Refused as error:
            raise Refused("another process embeds the records", str(self._lock_file), "wait for it") from error
        try:
            yield
        finally:
            held.__exit__(None, None, None)

    # -- the index --------------------------------------------------------------------------------------------------

    def _opened(self, maker: Maker, *, anew: bool = False) -> Collections:
        """The index. Raises what opening one outside does."""
        with self._opening:
            if self._index is None:
                if time.monotonic() < self._silent_until:
                    raise self._troubles["index"]
                self._model = maker.name
                if self._outside is None:
                    self._index = RamCollections(self._rows, maker.dimension, maker.name)
                else:
                    self._index = self._outside(maker.dimension, maker.name, anew=anew)
            return self._index

    def _do_without(self, error: NanomemError) -> None:
        """The index failed: nobody asks it for a while, which may take seconds each time."""
        self._troubles["index"] = error
        self._silent_until = time.monotonic() + PAUSE
        self._close_index()

    def _close_index(self) -> None:
        with self._opening:
            if self._index is not None:
                self._index.close()
                self._index = None
