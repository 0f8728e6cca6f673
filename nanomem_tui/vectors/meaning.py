"""Search by meaning over one workspace: items are embedded, and found by how near they are to a question.

Owns when things are done: what wants a vector gets one by a thread, by a search or by a command. The rows are the
truth: every vector and every index is a cache of them, of one model at a time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Container, Iterator
from typing import TYPE_CHECKING, Any

from nanomem_tui.errors import MissingExtra, NanomemError, Problem, Refused
from nanomem_tui.store import atomic
from nanomem_tui.vectors.index import Found, Index
from nanomem_tui.vectors.making import PLAIN
from nanomem_tui.vectors.rows import VectorRows

if TYPE_CHECKING:
    from nanomem_tui.settings import Settings
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.vectors.embedders import Embedder
    from nanomem_tui.vectors.index import Vectors
    from nanomem_tui.vectors.keeping import Keeper, Outside, Progress
    from nanomem_tui.vectors.making import Maker

LOCK = "embedding.lock"
"""The file, beside the database, whose flock is held by the process that embeds."""
PATIENCE = 0.25
"""Seconds that a search embeds what is missing before it looks at what is there."""
FEW = 8
"""Vectors that a search makes and commits with later ones; the thread, and closing, commit them all."""
WORTH = 100
"""Missing vectors up to which it is worth to wait for the thread that makes them."""
LOOK, PAUSE = 1.0, 30.0
"""Seconds between two looks of the thread, and after a failure."""
LEAVE = 5.0
"""Seconds that closing waits for the thread."""
BREATH = 0.005
"""Seconds between two batches of the thread, in which others get their turn."""


class Meaning:
    """What is found by meaning. Every method may be called from any thread, but not holding the snapshot's lock."""

    def __init__(
        self,
        store: MemoryStore,
        settings: Settings,
        embedder: Callable[[], Embedder],
        outside: Outside | None = None,
    ) -> None:
        """`embedder`: makes the one that the settings name, or raises why there is none; `outside`: opens the index
        outside the database that they name, None where it is the rows."""
        self._store = store
        self._settings = settings
        self._embedder = embedder
        self._outside = outside
        self._making, self._building, self._working = threading.Lock(), threading.Lock(), threading.Lock()
        self._maker: Maker | None = None
        self._refusal: NanomemError | None = None
        self._keeper: Keeper | None = None
        self._trouble: NanomemError | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    # -- what there is ------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether a question can be asked; it may find little while much is still to be embedded."""
        return not self.why_not

    @property
    def why_not(self) -> str:
        """Why nothing is found by meaning, in one line; empty when it is."""
        try:
            self._made()
        except NanomemError as error:
            return error.line()
        return ""

    @property
    def model(self) -> str:
        """The name of the embedding model; empty while there is none."""
        return self._maker.name if self._maker is not None else ""

    def maker(self) -> Maker:
        """The embedder, which checks what it makes. Raises why there is none."""
        return self._made()

    def state(self) -> dict[str, Any]:
        """`model`, `dimension`, `index`, `done` of `total` items (None: not counted yet), whether a thread is
        `running`, and the `problem` of the last try. Loads no model: what was not asked for yet is what the database
        has."""
        keeper = self._keeper
        running = self._thread is not None and self._thread.is_alive()
        found: dict[str, Any] = {"model": "", "dimension": 0, "index": self._settings.vector_index}
        found |= {"done": 0, "total": None, "running": running, "problem": ""}
        if keeper is not None:
            done, total = keeper.kept.counts()
            found |= {"model": keeper.maker.name, "dimension": keeper.dimension, "index": keeper.index.name}
            found |= {"done": done, "total": total}
        elif held := VectorRows(self._store).counts():
            found |= {"model": held[0].model, "dimension": held[0].dimension, "done": held[0].rows}
        return found | {"problem": next((error.line() for error in self._troubles()), "")}

    @property
    def progress(self) -> str:
        """How far the embedding is, in words; empty when all is done, or nothing was begun."""
        done, total = self._keeper.kept.counts() if self._keeper is not None else (0, 0)
        return f"embedding {done:,} of {total:,}" if done < total else ""

    def problems(self) -> list[Problem]:
        """What did not work, of what was tried so far."""
        found = [
            Problem(error.what, error.where or "vectors", None, error.fix, "warning") for error in self._troubles()
        ]
        if self._keeper is not None and self._keeper.kept.refused:
            what = f"no vector could be made of {self._keeper.kept.refused:,} of the texts; words find them"
            found.append(Problem(what, "vectors", None, "", "note"))
        return found

    def _troubles(self) -> list[NanomemError]:
        found = [self._trouble] if self._trouble is not None else []
        return [*found, *(self._keeper.troubles.values() if self._keeper is not None else ())]

    # -- asking -------------------------------------------------------------------------------------------------

    def nearest(
        self, text: str, limit: int, within: Container[str] | None = None, *, patience: float = PATIENCE
    ) -> Found:
        """The items nearest to a text in meaning, at most `limit`, with their cosine distance (0 to 2), nearest first.

        `within`: of these ids alone. What has no vector yet is embedded first, for `patience` seconds or so. Raises
        MissingExtra, BadInput, InvalidConfig or ModelError when no question can be asked.
        """
        keeper = self._kept()
        question = keeper.maker.question(text)
        self._hurry(keeper, patience)
        return self._ask(keeper, lambda index: _nearest(keeper, index, question, limit, within))

    def near(self, item_id: str, limit: int, within: Container[str] | None = None) -> Found:
        """The items nearest to one of them, itself left out; none when it has no vector. Raises as `nearest`."""
        keeper = self._kept()
        self._hurry(keeper, PATIENCE)

        def ask(index: Index) -> Found:
            visible = keeper.kept.visible(None, len(index))
            vector = index.vector(item_id) if visible is None or item_id in visible else None
            return [] if vector is None else _nearest(keeper, index, vector, limit + 1, within)

        return [one for one in self._ask(keeper, ask) if one[0] != item_id][:limit]

    def _ask(self, keeper: Keeper, ask: Callable[[Index], Found]) -> Found:
        """The answer of the index; of the rows where it is one outside that fails."""
        index = keeper.index
        try:
            return ask(index)
        except NanomemError as error:
            if not keeper.fall_back(index, error):
                raise
        return ask(keeper.index)

    # -- keeping in step ----------------------------------------------------------------------------------------

    def sync(self, progress: Progress | None = None, *, anew: bool = False, everything: bool = False) -> int:
        """Embed every text that has no vector; how many that were. Committed batch by batch: where it is cut off, the
        next one goes on. `anew`: an index outside is made anew, and vectors that are none are thrown away;
        `everything`: so are all that there are, whatever they hold.

        Raises Refused while another process does the same, and what the embedder and the store do.
        """
        with self._working, self._alone():
            if everything and self._made().texts([PLAIN]) and (rows := VectorRows(self._store)).can_keep:
                rows.clear()
            keeper = self._kept(anew=anew or everything)
            if anew and keeper.rows.can_keep:
                keeper.rows.remove(keeper.rows.bad())
            made = keeper.work(progress, lambda: False)
            if "database" in keeper.troubles:
                raise keeper.troubles["database"]
            self._trouble = None
            return made

    def preview(self) -> tuple[int, int]:
        """How many items have a vector of the present model in the database, and how many are to have one; nothing is
        embedded or written. Raises why there is no embedder, and what the store does."""
        from nanomem_tui.vectors.keeping import Keeper

        return Keeper(self._store, self._made(), None).kept.counts()

    def start(self) -> None:
        """Embed on a thread what is there, and what comes, until `stop`; nothing happens where that cannot be."""
        with self._making:
            if self._thread is None or not self._thread.is_alive():
                self._stop.clear()
                self._thread = threading.Thread(target=self._run, name="nanomem-meaning", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread, once the batch that it is at is done; one that waits for an endpoint is left to itself, and
        writes no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(LEAVE)
            if self._thread.is_alive() and self._keeper is not None:
                self._keeper.rows.close()
            self._thread = None

    def close(self) -> None:
        """End the thread and let go of the index."""
        self.stop()
        if not self._building.acquire(timeout=LEAVE):  # it waits for an endpoint
            return
        try:
            if self._keeper is not None:
                self._keeper.keep_late()
                self._keeper.index.close()
                self._keeper = None
        finally:
            self._building.release()

    def _run(self) -> None:
        wait = 0.0
        while not self._stop.wait(wait):
            wait = LOOK
            try:
                keeper = self._kept()
                if keeper.lacks:
                    with self._working:
                        self._work_alone(keeper)
                self._trouble = None
            except MissingExtra:  # whoever asks is told
                return
            except NanomemError as error:
                self._trouble = error
                wait = PAUSE

    def _work_alone(self, keeper: Keeper) -> None:
        """Embed what is missing, or, while another process does that, take up what it has committed."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self._alone())
            except Refused:
                keeper.take_over()
            else:
                keeper.work(None, lambda: self._stop.wait(BREATH))

    def _hurry(self, keeper: Keeper, patience: float) -> None:
        """Embed what is missing for so many seconds, or let who is at it go on that long, where that may be enough.
        What fails is told in `problems`, and what is there is searched."""
        end = time.monotonic() + patience
        done, total = keeper.kept.counts()
        wait = patience if total - done <= WORTH else 0.0
        if not keeper.lacks or not self._working.acquire(timeout=wait):
            return
        try:
            keeper.work(None, lambda: time.monotonic() >= end, FEW)
            self._trouble = None
        except NanomemError as error:
            self._trouble = error
        finally:
            self._working.release()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from embedding the same. Raises Refused while one does."""
        if not VectorRows(self._store).can_keep:
            yield
            return
        lock = self._store.paths.data / LOCK
        try:
            held = atomic.locked(lock, wait=0)
            held.__enter__()
        except Refused as error:
            what = "another process embeds the items"
            raise Refused(what, str(lock), "wait for it: what it has done is used at once") from error
        try:
            yield
        finally:
            held.__exit__(None, None, None)

    # -- its parts ----------------------------------------------------------------------------------------------

    def _made(self) -> Maker:
        """The embedder. Raises why there is none."""
        with self._making:
            if self._refusal is not None:
                raise self._refusal
            if self._maker is None:
                from nanomem_tui.vectors.making import Maker

                try:
                    self._maker = Maker(self._embedder())
                except NanomemError as error:
                    self._refusal = error
                    raise
            return self._maker

    def _kept(self, *, anew: bool = False) -> Keeper:
        """The index with all that the database has; `anew`: made once more."""
        maker = self._made()
        with self._building:
            if anew and self._keeper is not None:
                self._keeper.index.close()
                self._keeper = None
            if self._keeper is None:
                from nanomem_tui.vectors.keeping import Keeper

                self._keeper = Keeper(self._store, maker, self._outside, anew=anew)
            return self._keeper


def _nearest(keeper: Keeper, index: Index, vector: Vectors, limit: int, within: Container[str] | None) -> Found:
    return index.nearest(vector, limit, keeper.kept.visible(within, len(index)))
