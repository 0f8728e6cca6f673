"""The question of a recall as a value: its words with weights, corrected spelling, and what is near it in meaning.

`ByMeaning` asks for semantic neighbours in time or not at all, with the reason in one line; whatever goes wrong there
leaves recall by words. Must not know an index or decide who sees an item: both are passed in as functions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.language.times_asked import Span
from nanomem_tui.language.tokens import is_english, light_words, query_words, search_weights, tokens
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.store.word_index import idf, trust
from nanomem_tui.vectors.embedders import PLAIN, is_installed, share_known

if TYPE_CHECKING:
    from nanomem_tui.core.settings import Settings
    from nanomem_tui.vectors.semantic_search import Found


REPLY_WEIGHT = 0.5
"""What a word counts that stands only in the message replied to."""

LIGHT = 0.5
"""What a word counts that tells little of what a question is about, beside others."""

FAINT = 0.2
"""What a word counts that tells the time that is asked for: `yesterday` is no word that a memory of then must hold."""

LONGER_WEIGHT = 0.6
"""What a word counts that begins like one of the message which no row holds."""

MAX_QUERY = 20_000
"""Characters of a message that are looked at."""


class Question(NamedTuple):
    """What is asked: a message, what it replies to, for whom, and within which bounds (None: those of the settings).

    `whole`: a search by a person, without the budget of a prompt and the cap on the user layer. `session_key`: the
    session within the chat of the audience. `within`: only memories that were said in these days, or are about them.
    """

    text: str
    reply_to: str = ""
    audience: Audience = Audience()
    scope: str = "all"
    kinds: tuple[str, ...] = ()
    limit: int | None = None
    max_chars: int | None = None
    profile: str | None = None
    weights: Mapping[str, float] | None = None
    whole: bool = False
    session_key: str = ""
    within: Span | None = None


def full_text(question: Question) -> str:
    """Return the whole text of a question."""
    text = f"{question.text}\n{question.reply_to}" if question.reply_to else question.text
    return text[:MAX_QUERY]


def written_words(question: Question) -> dict[str, str]:
    """Its words as they were written, by token."""
    return query_words(full_text(question))


def weighted_words(question: Question) -> dict[str, float]:
    """Return the words of a question with their weights; those of the message replied to count less."""
    words = _weights(question.text[:MAX_QUERY])
    if question.reply_to:
        for word, weight in _weights(question.reply_to[:MAX_QUERY]).items():
            words.setdefault(word, REPLY_WEIGHT * weight)
    return words


def discount_time_words(
    words: Mapping[str, float], telling: Collection[str] | None, total: int, rows_with: Callable[[str], int]
) -> Mapping[str, float]:
    """Return the words with those counting little that only name a time: all but the `telling` ones (None: no time is
    named), and never more than a share of the best of these, however rare they are."""
    if telling is None:
        return words
    worth = {word: idf(total, rows_with(word)) for word in words}
    best = max((words[word] * worth[word] for word in words if word in telling and rows_with(word)), default=0.0)
    most = {word: FAINT * best / worth[word] if best and worth[word] else weight for word, weight in words.items()}
    return {word: weight if word in telling else min(FAINT * weight, most[word]) for word, weight in words.items()}


def _weights(text: str) -> dict[str, float]:
    """Return the words of a text with what each counts: those that tell little count less, where there are others."""
    words, light = search_weights(text), light_words(english=is_english(text))
    if light.issuperset(words):
        return words
    return {word: LIGHT * weight if word in light else weight for word, weight in words.items()}


def correct_spelling(
    words: Mapping[str, float],
    as_written: Mapping[str, str],
    known: Callable[[str], bool],
    nearest: Callable[[str], str | None],
    longer: Callable[[str], Sequence[str]],
) -> tuple[dict[str, float], dict[str, tuple[str, ...]]]:
    """Return the words with those that no row holds replaced by what may be meant, and what was replaced by which
    tokens.

    The nearest word that is held, and those that begin like it (`postgres`: `postgresql`), which count less.
    """
    found: dict[str, float] = {}
    replaced: dict[str, tuple[str, ...]] = {}
    for word, weight in words.items():
        is_known = known(word)
        if not is_known and word not in as_written:
            continue  # a part of a word, or words joined that nobody wrote so
        meant = {word: weight} if is_known else _meant(word, weight, as_written[word], known, nearest, longer)
        if meant and word not in meant:
            replaced[as_written.get(word, word)] = tuple(meant)
        for other, counts in (meant or {word: weight}).items():
            found[other] = max(counts, found.get(other, 0.0))
    return found, replaced


def split_compound(word: str, known: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the two words that one is made of, both of them known (`vscode`: `vs`, `code`); nothing where there are
    none. Of several ways the one whose shorter half is longest."""
    ways = (tokens(f"{word[:at]} {word[at:]}") for at in range(2, len(word) - 1))
    found = [tuple(way) for way in ways if len(way) == 2 and all(map(known, way))]
    return max(found, key=lambda way: min(map(len, way)), default=())


def describe_corrections(replaced: Mapping[str, Sequence[str]], texts: Iterable[str]) -> dict[str, str]:
    """Return what was replaced, with the words that were meant as the texts that were found write them: a token is a
    stem."""
    left = {token for meant in replaced.values() for token in meant}
    forms: dict[str, str] = {}
    for text in texts if left else ():
        words = query_words(text, len(text))
        forms |= {token: words[token] for token in left & words.keys()}
        left -= words.keys()
        if not left:
            break
    return {word: ", ".join(forms.get(token, token) for token in meant) for word, meant in replaced.items()}


def _meant(
    word: str,
    weight: float,
    as_written: str,
    known: Callable[[str], bool],
    nearest: Callable[[str], str | None],
    longer: Callable[[str], Sequence[str]],
) -> dict[str, float]:
    """Return what a word that no row holds may mean, with what each counts. A stem is a beginning only where the word
    as it was written is none (`postgr` of `postgres` is that of `postgrad` too)."""
    near = nearest(word)
    forms = (longer(as_written) or longer(word)) if as_written.isalpha() else ()
    found = dict.fromkeys(forms, LONGER_WEIGHT * weight)
    if near is None:
        return found or dict.fromkeys(split_compound(as_written, known), weight)
    return {near: trust(word) * weight, **{form: counts for form, counts in found.items() if form != near}}


# What is near a question in meaning, for recall: asked in time, or not at all, with the reason in one line.

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
    """Return whether recall asks for meaning too: where it was chosen, and with `auto` where a model of this machine is
    installed and items are ranked our own way. Loads nothing; an endpoint is sent questions only by choice."""
    if settings.recall_backend in HYBRID:
        return True
    return settings.recall_backend == AUTO and settings.recall_profile == "default" and is_installed(settings)


class Near(NamedTuple):
    """What is near: cosine distances by item, the share of the question that the model can read, and why there is
    nothing, empty when all is well."""

    distances: dict[str, float]
    read: float = 1.0
    why: str = ""


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
        """Begin to embed what has no vector, where meaning is wanted. Where nobody chose it the model is loaded too:
        questions are answered by words until that is done."""
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
        return Near({key: distance * scale for key, distance in found}, read)
