"""An embedder for the tests of recall by meaning: words of one sense are near, and nothing is loaded."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nanomem_tui.core.settings import Settings
from nanomem_tui.vectors.semantic_search import SemanticSearch
from nanomem_tui.workspace import Workspace

SENSES = (
    {"car", "auto", "vehicle", "drive", "drives", "skoda"},
    {"tea", "coffee", "drink", "drinks", "beverage"},
    {"dog", "cat", "pet", "animal"},
    {"flat", "home", "live", "lives", "house"},
    {"sun", "summer", "warm"},
)
ELSE = len(SENSES)


class Senses:
    """A vector of the senses of the words of a text; a text without any has one that is near no other sense."""

    def __init__(self, name: str = "senses-1") -> None:
        self.name = name
        self.dimension = ELSE + 1
        self.asked: list[str] = []
        self.broken: Exception | None = None
        self.hold: threading.Event | None = None
        self.slow = 0.0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.hold is not None:
            self.hold.wait()
        if self.broken is not None:
            raise self.broken
        self.asked += texts
        time.sleep(self.slow)
        return np.array([self._vector(text) for text in texts], np.float32).reshape(len(texts), self.dimension)

    def _vector(self, text: str) -> list[float]:
        words = text.lower().replace("?", " ").replace(".", " ").split()
        numbers = [float(sum(word in sense for word in words)) for sense in SENSES]
        numbers.append(0.0 if any(numbers) else 1.0)
        length = math.hypot(*numbers)
        return [number / length for number in numbers]


def meaning_of(ws: Workspace, senses: Senses) -> SemanticSearch:
    """What finds by these senses in a workspace."""
    return SemanticSearch(ws.store, Settings(), lambda: senses)
