"""Vectors of what was said and noted. A passage has no id that lasts, and the same words come again in other files: the
text itself is the key.

Must not know where passages come from.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.errors import NanomemError
from nanomem_tui.vectors.collection import PASSAGES, FileCollection, Row, VectorFile
from nanomem_tui.vectors.embedders import share_read

if TYPE_CHECKING:
    from nanomem_tui.vectors.embedders import Maker

MOST = 20_000
"""Passages of a source that get a vector, the newest: two minutes or three of one core, and 30 MB."""
LONGEST = 600
"""Characters of a passage that are embedded."""
BATCH, WRITTEN = 16, 128
"""Passages that are embedded, and written, together."""


class PassageVectors:
    """The vectors of one workspace's passages. Every method may be called from any thread."""

    def __init__(self, maker: Callable[[], Maker], path: Path) -> None:
        """`maker`: the embedder, or why there is none; `path`: the file of the vectors, made where its folder is."""
        self._maker = maker
        self._file = VectorFile(path, path.parent.is_dir)
        self._lock, self._working = threading.RLock(), threading.Lock()
        self._collection: FileCollection | None = None
        self._known: set[str] = set()
        self._keys: dict[str, str] = {}
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def wanting(self, texts: Sequence[str]) -> list[str]:
        """Which of the newest texts (the last ones) have no vector. Raises why there is no embedder."""
        with self._lock:
            self._opened()
            newest, known, keys = islice(reversed(texts), MOST), self._known, self._keys
            return [text for text in newest if (keys.get(text) or self._key(text)) not in known]

    def make(self, texts: Sequence[str], stop: Callable[[], bool] = lambda: False) -> None:
        """Embed texts, batch by batch, until `stop` says so; nothing while another thread does. Raises as `wanting`."""
        if not self._working.acquire(blocking=False):
            return
        rows: list[Row] = []
        try:
            maker = self._maker()
            for start in range(0, len(texts), BATCH):
                if stop() or self._closing.is_set():
                    return
                part = texts[start : start + BATCH]
                vectors = maker.texts([text[:LONGEST] for text in part])
                rows += [Row(self._key(text), str(LONGEST), made) for text, made in zip(part, vectors, strict=True)]
                if len(rows) >= WRITTEN:
                    self._keep(rows)
        finally:
            self._keep(rows)
            self._working.release()

    def _keep(self, rows: list[Row]) -> None:
        if rows:
            with self._lock, contextlib.suppress(NanomemError):  # a cache: what cannot be kept is made again
                self._known.update(row.key for row in rows)
                self._opened().upsert(rows)
            rows.clear()

    def go_on(self, texts: Sequence[str]) -> None:
        """Embed texts on a thread of its own, one at a time, until `close`."""

        def work() -> None:
            with contextlib.suppress(NanomemError):  # the next question tries again, and is told
                self.make(texts)

        if texts and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=work, name="nanomem-passages", daemon=True)
            self._thread.start()

    def clear(self) -> None:
        """Forget every vector."""
        with self._lock:
            self._file.clear([PASSAGES])
            self._collection, self._known = None, set()

    def close(self) -> None:
        """End the thread, once the batch that it is at is done: a process must not end within a run of the model."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._file.let_go()

    def nearest(self, question: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """The places of the texts nearest to a question, at most `limit`, and their cosine distance, nearest first;
        none where the model does not read the question. Raises as `wanting`."""
        maker = self._maker()
        if share_read(maker.name, question) < 0.5:
            return []
        asked = maker.question(question)
        known = self._keys
        keys = [known.get(text) or self._key(text) for text in texts]
        near = self._opened().nearest(asked, limit, set(keys))
        places: dict[str, list[int]] = {one.key: [] for one in near}
        for place, key in enumerate(keys):
            if key in places:
                places[key].append(place)
        return [(place, one.distance) for one in near for place in places[one.key]][:limit]

    def _key(self, text: str) -> str:
        """By what a text is known."""
        key = self._keys.get(text)
        if key is None:
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
            key = self._keys[text] = digest.hexdigest()
        return key

    def _opened(self) -> FileCollection:
        """The collection with what was kept, of which the oldest go where there are far too many."""
        with self._lock:
            if self._collection is None:
                maker = self._maker()
                for old in self._file.path.parent.glob("passages-*.vectors"):  # a form of an earlier release
                    with contextlib.suppress(OSError):
                        old.unlink()
                self._file.trim(PASSAGES, maker.name, 4 * MOST, 2 * MOST)
                self._collection = FileCollection(self._file, PASSAGES, maker.name, maker.dimension)
                self._known = {key for key, of in self._collection.known().items() if of == str(LONGEST)}
            return self._collection
