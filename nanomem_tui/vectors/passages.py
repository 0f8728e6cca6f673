"""Vectors of what was said and noted: by the text, in RAM and in one file of ours that is a cache like every vector.

Owns that file and which texts have a vector. A passage has no id that lasts, and the same words come again in other
files: the text itself is the key. Must not know where passages come from.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui import regular
from nanomem_tui.errors import NanomemError
from nanomem_tui.store.atomic import write_atomic
from nanomem_tui.vectors.legible import share_read

if TYPE_CHECKING:
    from nanomem_tui.vectors.making import Maker

MOST = 20_000
"""Passages of a source that get a vector, the newest: two minutes or three of one core, and 30 MB."""
LONGEST = 600
"""Characters of a passage that are embedded."""
BATCH = 16
_DIGEST = 16


class PassageVectors:
    """The vectors of one workspace's passages. Every method may be called from any thread."""

    def __init__(self, maker: Callable[[], Maker], folder: Path) -> None:
        """`maker`: the embedder, or why there is none; `folder`: ours, where the file lies if it is there."""
        self._maker = maker
        self._folder = folder
        self._lock, self._working = threading.RLock(), threading.Lock()
        self._matrix: Any = None
        self._count = 0
        self._by_digest: dict[bytes, int] = {}
        self._by_text: dict[str, int] = {}
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def wanting(self, texts: Sequence[str]) -> list[str]:
        """Which of the newest texts (the last ones) have no vector. Raises why there is no embedder."""
        with self._lock:
            self._load()
            return [text for text in islice(reversed(texts), MOST) if self._row(text) < 0]

    def make(self, texts: Sequence[str], stop: Callable[[], bool] = lambda: False) -> None:
        """Embed texts, batch by batch, until `stop` says so; nothing while another thread does. Raises as `wanting`."""
        if not self._working.acquire(blocking=False):
            return
        try:
            maker = self._maker()
            for start in range(0, len(texts), BATCH):
                if stop() or self._closing.is_set():
                    return
                part = texts[start : start + BATCH]
                self._take(part, maker.texts([text[:LONGEST] for text in part]))
        finally:
            self._working.release()

    def go_on(self, texts: Sequence[str]) -> None:
        """Embed texts on a thread of its own, one at a time, until `close`."""

        def work() -> None:
            with contextlib.suppress(NanomemError):  # the next question tries again, and is told
                self.make(texts)

        if texts and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=work, name="nanomem-passages", daemon=True)
            self._thread.start()

    def clear(self) -> None:
        """Forget every vector, and the file of them."""
        with self._lock:
            self._matrix, self._count = None, 0
            self._by_digest, self._by_text = {}, {}
            with contextlib.suppress(OSError):
                self._file().unlink(missing_ok=True)

    def close(self) -> None:
        """End the thread, once the batch that it is at is done: a process must not end within a run of the model."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def nearest(self, question: str, texts: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """The places of the texts nearest to a question, at most `limit`, and their cosine distance, nearest first;
        none where the model does not read the question. Raises as `wanting`."""
        import numpy as np

        maker = self._maker()
        if share_read(maker.name, question) < 0.5:
            return []
        asked = maker.question(question)
        with self._lock:
            self._load()
            rows = np.fromiter((self._row(text) for text in texts), np.int64, len(texts))
            if not self._count:
                return []
            similar = np.where(rows >= 0, (self._matrix[: self._count] @ asked)[rows], -2.0)
        places = np.argsort(-similar, kind="stable")[:limit].tolist()
        return [(place, max(0.0, 1.0 - float(similar[place]))) for place in places if similar[place] > -2.0]

    # -- what is kept -------------------------------------------------------------------------------------------

    def _row(self, text: str) -> int:
        """Where the vector of a text is; -1: nowhere yet."""
        row = self._by_text.get(text)
        if row is None:
            row = self._by_text[text] = self._by_digest.get(_digest(text), -1)
        return row

    def _take(self, texts: Iterable[str], vectors: Sequence[Any]) -> None:
        """Keep vectors, in RAM and in the file where there is a folder for it."""
        import numpy as np

        with self._lock:
            self._load()
            data = b""
            for text, vector in zip(texts, vectors, strict=True):
                kept = np.zeros(self._matrix.shape[1], np.float32) if vector is None else vector
                if self._count == len(self._matrix):
                    self._matrix = np.concatenate([self._matrix, np.empty_like(self._matrix)])
                self._matrix[self._count] = kept
                self._by_text[text] = self._by_digest[_digest(text)] = self._count
                self._count += 1
                data += _digest(text) + kept.astype("<f4").tobytes()
            with contextlib.suppress(OSError):  # a cache: what cannot be kept is made again
                if self._folder.is_dir():
                    handle = os.open(self._file(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                    try:
                        os.write(handle, data)
                    finally:
                        os.close(handle)

    def _file(self) -> Path:
        maker = self._maker()
        name = hashlib.blake2b(f"{maker.name} {LONGEST}".encode(), digest_size=8).hexdigest()
        return self._folder / f"passages-{name}.vectors"

    def _load(self) -> None:
        """Read what was kept, once: whole records of numbers; the rest is cut off, and made again when it is wanted."""
        import numpy as np

        if self._matrix is not None:
            return
        dimension, file = self._maker().dimension, self._file()
        size = _DIGEST + 4 * dimension
        data = b""
        with contextlib.suppress(OSError):
            data = regular.read(file) if file.is_file() else b""
            whole = len(data) // size * size
            if whole > 4 * MOST * size:
                write_atomic(file, data[whole - 2 * MOST * size : whole])
            elif whole < len(data):
                os.truncate(file, whole)
            data = data[max(0, whole - 2 * MOST * size) : whole]
        records = np.frombuffer(data, np.dtype([("key", f"V{_DIGEST}"), ("vector", "<f4", (dimension,))]))
        vectors = records["vector"].astype(np.float32)
        good = np.abs(np.linalg.norm(vectors, axis=1) - 1) < 0.01
        self._matrix = np.concatenate([vectors[good], np.empty((BATCH, dimension), np.float32)])
        self._count = int(good.sum())
        self._by_digest = {key.tobytes(): row for row, key in enumerate(records["key"][good])}


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
