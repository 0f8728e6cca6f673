"""What is near a question in meaning, for recall: asked in time, or not at all, with the reason in one line.

Owns how long a question waits, and what becomes of the answer where a model cannot read it. Whatever goes wrong here
leaves recall by words. Must not decide who sees an item: it is told which there are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.errors import NanomemError
from nanomem_tui.vectors.embedders import share_read

if TYPE_CHECKING:
    from nanomem_tui.settings import Settings
    from nanomem_tui.vectors.meaning import Found

HYBRID = frozenset({"hybrid", "reserved_hybrid"})
"""The backends that ask for meaning; the second name is one that seed 001 reserved."""

FIRST_WAIT, WAIT = 20.0, 2.0
"""Seconds that the first question waits, for which a model of this machine is loaded, and that all others do."""

SLOW, PAUSE = 0.5, 30.0
"""Seconds after which a failure is a slow one, and for which nobody is asked after such a one."""


class Near(NamedTuple):
    """What is near: cosine distances by item, the share of the question that the model can read, and why there is
    nothing, empty when all is well."""

    distances: dict[str, float]
    read: float = 1.0
    why: str = ""


class NearestItems(Protocol):
    """What finds items by meaning: `vectors.meaning`."""

    @property
    def why_not(self) -> str:
        """Why nothing is found by meaning, in one line; empty when it is."""

    @property
    def model(self) -> str:
        """The name of the embedding model."""

    def nearest(self, text: str, limit: int, within: Container[str] | None = None) -> Sequence[tuple[str, float]]:
        """Ids of items with their cosine distance, nearest first."""

    def start(self) -> None:
        """Embed in the background what has no vector, and what comes."""


class ByMeaning:
    """Asks for what is near, in a thread, so that nobody waits longer than that. May be called from any thread."""

    def __init__(self, meaning: Callable[[], NearestItems] | None, settings: Settings, wait: float = WAIT) -> None:
        """`meaning`: gives what is asked, once that is needed; None: there is nothing to ask."""
        self._meaning = meaning
        self.wanted = meaning is not None and settings.recall_backend in HYBRID
        """Whether the settings want it."""
        self._wait = wait
        self._now = wait if settings.embedding_backend == "endpoint" else max(FIRST_WAIT, wait)
        self._asking: threading.Thread | None = None
        self._silent_until = 0.0
        self._why = ""

    def warm(self) -> None:
        """Begin to embed what has no vector, where meaning is wanted."""
        if self.wanted and self._meaning is not None:
            self._meaning().start()

    def near(self, text: str, limit: int, within: Container[str] | None = None) -> Near:
        """What is near a text, at most `limit` of `within`."""
        if not self.wanted or not text.strip():
            return Near({})
        if self._asking is not None and self._asking.is_alive():
            return Near({}, why="the embedding model does not answer in time")
        if time.monotonic() < self._silent_until:
            return Near({}, why=self._why)
        answer: list[Near | BaseException] = []
        thread = threading.Thread(
            target=self._ask, args=(text, limit, within, answer), name="nanomem-question", daemon=True
        )
        thread.start()
        thread.join(self._now)
        if not answer:
            self._asking = thread
            return Near({}, why="the embedding model does not answer in time")
        found = answer[0]
        if isinstance(found, BaseException):
            raise found
        return found

    def _ask(self, text: str, limit: int, within: Container[str] | None, answer: list[Near | BaseException]) -> None:
        started = time.monotonic()
        try:
            answer.append(self._answer(text, limit, within))
        except NanomemError as error:
            self._why = error.line()
            if time.monotonic() - started > SLOW:
                self._silent_until = time.monotonic() + PAUSE
            answer.append(Near({}, why=self._why))
        except BaseException as error:  # noqa: BLE001 - whoever asks gets it
            answer.append(error)

    def _answer(self, text: str, limit: int, within: Container[str] | None) -> Near:
        assert self._meaning is not None
        meaning = self._meaning()
        why = meaning.why_not
        if why:
            return Near({}, why=why)
        read = share_read(meaning.model, text)
        if not read:
            return Near({}, why=f"{meaning.model} reads no word of this language")
        found: Found = list(meaning.nearest(text, limit, within))
        self._now = self._wait
        return Near(dict(found), read)
