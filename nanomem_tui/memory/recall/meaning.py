"""Semantic neighbours of a question, asked for in time or not at all, with the reason in one line.

Owns whether recall asks for meaning and how long a question waits. Whatever goes wrong here leaves recall by words.
Must not decide who sees an item: it is told which there are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.language.tokens import is_english
from nanomem_tui.vectors.embedders import PLAIN, is_installed, is_of_english, share_known

if TYPE_CHECKING:
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.vectors.semantic_search import Found


HYBRID = frozenset({"hybrid", "reserved_hybrid"})
"""The backends that ask for meaning; the second name is one that seed 001 reserved."""

AUTO = "auto"
"""The backend that asks for meaning where a model of this machine is installed."""

FIRST_WAIT, WAIT = 20.0, 2.0
"""Seconds that the first question waits, for which a model of this machine is loaded, and that all others do."""

FIRST_WAIT_OF_AUTO = 3.0
"""The first of them where nobody chose meaning: the bundled model is loaded within a second."""

SLOW, PAUSE = 0.5, 30.0
"""Seconds after which a failure is a slow one, and for which nobody is asked after such a one."""


def is_wanted(settings: Settings) -> bool:
    """Return whether recall asks for meaning: by choice, or with `auto` where a local model is installed."""
    if settings.recall_backend in HYBRID:
        return True
    return settings.recall_backend == AUTO and settings.recall_profile == "default" and is_installed(settings)


class Near(NamedTuple):
    """What is near: cosine distances by item, the share of the question that the model can read, why there is
    nothing, empty when all is well, and whether the model was taught the language: else near tells no bearing."""

    distances: dict[str, float]
    read: float = 1.0
    why: str = ""
    is_taught: bool = True


class NearestItems(Protocol):
    """What finds items by meaning: `vectors.semantic_search`."""

    @property
    def why_not(self) -> str:
        """Why nothing is found by meaning, in one line; empty when it is."""

    @property
    def model(self) -> str:
        """The name of the embedding model."""

    def nearest(self, text: str, limit: int, within: Container[str] | None = None) -> Sequence[tuple[str, float]]:
        """Ids of items with their cosine distance, nearest first."""

    @property
    def scale(self) -> float:
        """What a distance of the model is multiplied by, so that models can be compared."""

    @property
    def is_ready(self) -> bool:
        """Whether nearly all items have a vector."""

    def start(self) -> None:
        """Embed in the background what has no vector, and what comes."""


class ByMeaning:
    """Asks for what is near, in a thread, so that nobody waits longer than that. May be called from any thread."""

    def __init__(self, meaning: Callable[[], NearestItems] | None, settings: Settings, wait: float = WAIT) -> None:
        """`meaning`: gives what is asked, once that is needed; None: there is nothing to ask."""
        self._meaning = meaning
        self.wanted = meaning is not None and is_wanted(settings)
        """Whether the settings want it."""
        self.is_chosen = settings.recall_backend != AUTO
        """Whether the settings name the backend: the person then reads why meaning had no part in an answer."""
        self._wait = wait
        first = FIRST_WAIT if self.is_chosen else FIRST_WAIT_OF_AUTO
        self._now = wait if settings.embedding_backend == "endpoint" else max(first, wait)
        self._asking: threading.Thread | None = None
        self._silent_until = 0.0
        self._why = ""

    def warm(self) -> None:
        """Begin to embed in the background; with `auto` the model is loaded too, and words answer until then."""
        if not self.wanted or self._meaning is None:
            return
        self._meaning().start()
        if not self.is_chosen and self._asking is None:
            self._asking = self._started(PLAIN, 1, None, [])

    def near(self, text: str, limit: int, within: Container[str] | None = None) -> Near:
        """Return what is near a text, at most `limit` of `within`."""
        if not self.wanted or not text.strip():
            return Near({})
        near = self._in_time(text, limit, within)
        return near if self.is_chosen else near._replace(why="")

    def close(self) -> None:
        """Wait for a question that is still asked: a process must not end while a model is loaded."""
        if self._asking is not None:
            self._asking.join(self._wait)

    def _in_time(self, text: str, limit: int, within: Container[str] | None) -> Near:
        if self._asking is not None and self._asking.is_alive():
            return Near({}, why="the embedding model does not answer in time")
        if time.monotonic() < self._silent_until:
            return Near({}, why=self._why)
        answer: list[Near | BaseException] = []
        thread = self._started(text, limit, within, answer)
        thread.join(self._now)
        if not answer:
            self._asking = thread
            return Near({}, why="the embedding model does not answer in time")
        found = answer[0]
        if isinstance(found, BaseException):
            raise found
        return found

    def _started(
        self, text: str, limit: int, within: Container[str] | None, answer: list[Near | BaseException]
    ) -> threading.Thread:
        """A thread that asks, and puts what it gets into `answer`."""
        thread = threading.Thread(
            target=self._ask, args=(text, limit, within, answer), name="nanomem-question", daemon=True
        )
        thread.start()
        return thread

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
        read = share_known(meaning.model, text)
        if not read:
            return Near({}, why=f"{meaning.model} reads no word of this language")
        found: Found = list(meaning.nearest(text, limit, within))
        self._now = self._wait
        if not self.is_chosen and not meaning.is_ready:
            return Near({}, why="items are still being embedded")
        scale = meaning.scale
        is_taught = is_english(text) or not is_of_english(meaning.model)
        return Near({key: distance * scale for key, distance in found}, read, is_taught=is_taught)
