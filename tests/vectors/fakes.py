"""An embedder for the tests of indexes: words that two texts share bring them near, and nothing is loaded."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nanomem_tui.core.errors import ModelUnavailable

PLACES = 256


class Words:
    """A vector of the words of a text. `bad`: texts of which it gives what is no vector; `broken`: what it raises."""

    def __init__(self, name: str = "words-1", dimension: int = PLACES) -> None:
        self.name = name
        self.dimension = dimension
        self.asked: list[str] = []
        self.bad: dict[str, float] = {}
        self.broken: Exception | None = None
        self.size = dimension
        self.before: Callable[[Sequence[str]], object] = lambda texts: None
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.before(texts)
        if self.broken is not None:
            raise self.broken
        with self._lock:
            self.asked += texts
        rows = np.array([self.vector(text) for text in texts], np.float32).reshape(len(texts), self.size)
        for place, text in enumerate(texts):
            for part, value in self.bad.items():
                if part in text:
                    rows[place] = value
        return rows

    def vector(self, text: str) -> list[float]:
        numbers = [0.001] * self.size
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.blake2b(f"{self.name} {word}".encode(), digest_size=8).digest()
            numbers[int.from_bytes(digest) % self.size] += 1.0
        length = math.hypot(*numbers)
        return [number / length for number in numbers]


def unavailable() -> ModelUnavailable:
    return ModelUnavailable("nobody answers", "http://127.0.0.1:1", "start it")


def made(words: Words) -> Callable[[], Any]:
    return lambda: words
