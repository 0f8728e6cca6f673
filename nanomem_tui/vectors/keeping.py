"""An index kept in step with the items: filled from the database, given what is embedded, rid of what is gone.

Owns the way of a vector: embedded, committed, put into the index, known. What fails on that way leaves nothing half
done; an index outside the database that fails is replaced by one over the rows. Must not decide when.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from nanomem_tui.errors import NanomemError
from nanomem_tui.vectors.index import Entry, Index, RamIndex
from nanomem_tui.vectors.kept import Kept, Wanted
from nanomem_tui.vectors.rows import Stored, VectorRows

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.vectors.index import Vectors
    from nanomem_tui.vectors.making import Maker

BATCH = 32
"""Texts that are embedded, and committed, at a time: a fifth of a second with the model that is bundled."""
TAKEN = 1_000
"""Vectors that are taken at a time from what another process committed."""
Progress = Callable[[int, int], None]
"""Told how many items have a vector, and of how many."""


class Outside(Protocol):
    """Opens an index outside the database for vectors of so many numbers of a model; `anew`: what is broken there, and
    ours, is removed first. Raises errors of ours."""

    def __call__(self, dimension: int, model: str, *, anew: bool) -> Index: ...


class Keeper:
    """One index of one model over the items of a store. Made with what the database has; `work` does the rest.

    `troubles`: what failed and was done without, by what it was.
    """

    def __init__(self, store: MemoryStore, maker: Maker, outside: Outside | None, *, anew: bool = False) -> None:
        """Raises what the store does, and the embedder when it cannot say how many numbers a vector has."""
        self.troubles: dict[str, NanomemError] = {}
        self.maker = maker
        self.rows = VectorRows(store)
        self.dimension = maker.dimension
        self.kept = Kept(store.load("item"))
        self._exchanging = threading.Lock()
        self.swept = False
        self._unkept: set[str] = set()
        self.index: Index = RamIndex(self.dimension)
        if outside is None or not self.rows.can_keep:  # where nothing was written, nothing is
            self._fill()
            return
        try:
            self.index = outside(self.dimension, maker.name, anew=anew)
            self._take_held()
        except NanomemError as error:
            self._do_without(error)

    def _wanted(self) -> dict[str, Entry]:
        return {one.entry.key: one.entry for one in self.kept.begin()}

    def _take_held(self) -> None:
        """What the index outside has already; it forgets what is not wanted any more, and gets the rest by `work`."""
        wanted, held = self._wanted(), self.index.held()
        self.index.remove([key for key in held if key not in wanted])
        self.kept.has([entry for key, entry in wanted.items() if held.get(key) == entry.text_hash])

    def _fill(self) -> None:
        """Put into the index what the database has."""
        wanted = self._wanted()
        self.rows.read(self.maker.name, lambda rows: self._take(rows, wanted))

    def _take(self, rows: Sequence[Stored], wanted: Mapping[str, Entry]) -> None:
        """Take vectors of the database that are of the present texts, and are vectors."""
        import numpy as np

        size = 4 * self.dimension
        fit = [
            (entry, row.vector)
            for row in rows
            if (entry := wanted.get(row.key)) is not None
            and row.text_hash == entry.text_hash
            and len(row.vector) == size
        ]
        if not fit:
            return
        matrix = np.frombuffer(b"".join(data for _, data in fit), "<f4").reshape(-1, self.dimension)
        with np.errstate(all="ignore"):
            usable = np.abs(np.linalg.norm(matrix, axis=1) - 1) < 0.02
        entries = [entry for (entry, _), good in zip(fit, usable.tolist(), strict=True) if good]
        self._put(entries, matrix[usable].astype(np.float32, copy=False))

    @property
    def lacks(self) -> bool:
        """Whether there is anything to do."""
        return self.kept.lacks or (bool(self._unkept) and self.rows.can_keep)

    # -- work ---------------------------------------------------------------------------------------------------

    def work(self, progress: Progress | None, stop: Callable[[], bool], few: int = 0) -> int:
        """Bring the index into step, batch by batch until `stop`; how many texts were embedded. So `few` vectors are
        not looked for in the database, and may wait to be committed with the next ones: that takes as long as making
        one. Raises what the embedder does."""
        made = 0
        if len(self._unkept) > few:
            self.keep_late()
        while True:
            self._forget()
            batch = self.kept.missing(BATCH)
            if not batch:
                break
            made += self._embed(self._not_there(batch) if len(batch) > few else batch, few)
            if progress is not None:
                progress(*self.kept.counts())
            if stop():
                return made
        if not self.swept and self.rows.can_keep:
            self.swept = True
            self._write("sweep", lambda: self.rows.sweep(self.maker.name, self.kept.living()))
        return made

    def take_over(self) -> None:
        """Take up what another process embedded."""
        self._forget()
        self._not_there(self.kept.missing(TAKEN))

    def _not_there(self, batch: Sequence[Wanted]) -> list[Wanted]:
        """Those of which the database has no vector; the others are taken up."""
        wanted = {one.entry.key: one.entry for one in batch}
        self._take(list(self.rows.of(self.maker.name, list(wanted)).values()), wanted)
        return [one for one in batch if not self.kept.knows(one.entry)]

    def _embed(self, batch: Sequence[Wanted], few: int) -> int:
        """Make, commit and put the vectors of some texts; how many."""
        import numpy as np

        if not batch:
            return 0
        made: list[tuple[Entry, Vectors]] = []
        for one, vector in zip(batch, self.maker.texts([one.text for one in batch]), strict=True):
            if vector is None:
                self.kept.refuse(one.entry)
            else:
                made.append((one.entry, vector))
        if len(self._unkept) + len(made) > few:
            self._keep([self._row(entry, vector) for entry, vector in made])
        else:
            self._unkept.update(entry.key for entry, _ in made)
        if made:
            self._put([entry for entry, _ in made], np.stack([vector for _, vector in made]))
        if len(self._unkept) >= max(1, few) and "database" not in self.troubles:
            self.keep_late()
        return len(made)

    def _keep(self, rows: Sequence[Stored]) -> None:
        """Commit vectors; where that cannot be, it is tried again with the next ones."""
        if not rows or not (
            self.rows.can_keep and self._write("database", lambda: self.rows.put(self.maker.name, rows))
        ):
            self._unkept.update(row.key for row in rows)

    def keep_late(self) -> None:
        """Commit what was not when it was made: it was little, there was no database, or its disk was full."""
        while self._unkept and self.rows.can_keep:
            keys = list(islice(self._unkept, TAKEN))
            self._unkept.difference_update(keys)
            known = [(entry, self.index.vector(entry.key)) for entry in self.kept.entries(keys)]
            self._keep([self._row(entry, vector) for entry, vector in known if vector is not None])
            if "database" in self.troubles:
                return

    def _row(self, entry: Entry, vector: Vectors) -> Stored:
        return Stored(entry.key, entry.text_hash, self.dimension, vector.astype("<f4").tobytes())

    def _forget(self) -> None:
        """Rid the index of what is stale, and the database of what is deleted."""
        stale = self.kept.stale()
        if not stale:
            return
        index = self.index
        try:
            index.remove(stale)
        except NanomemError as error:
            self.fall_back(index, error)
        living = self.kept.living()
        dead = [key for key in stale if key not in living]
        if dead and self.rows.can_keep:
            self._write("sweep", lambda: self.rows.remove(dead))

    def _put(self, entries: Sequence[Entry], vectors: Vectors) -> None:
        index = self.index
        try:
            index.put(entries, vectors)
        except NanomemError as error:
            if not self.fall_back(index, error):
                raise
            self.index.put(entries, vectors)
        self.kept.has(entries)

    def _write(self, what: str, write: Callable[[], None]) -> bool:
        """A write of the cache, and whether it was done: one that fails is told, and takes nothing from a search."""
        try:
            write()
        except NanomemError as error:
            self.troubles[what] = error
            return False
        self.troubles.pop(what, None)
        return True

    # -- without the index outside ------------------------------------------------------------------------------

    def fall_back(self, failed: Index, error: NanomemError) -> bool:
        """Go on with an index over the rows, once the one outside failed; False where it is the rows that did."""
        with self._exchanging:
            if failed is self.index:
                if isinstance(failed, RamIndex):
                    return False
                failed.close()
                self._do_without(error)
            return True

    def _do_without(self, error: NanomemError) -> None:
        self.troubles["index"] = error
        self.index = RamIndex(self.dimension)
        self._fill()
