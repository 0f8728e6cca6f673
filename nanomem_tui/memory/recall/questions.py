"""The question of a recall as a value: its words with weights, and corrected spelling.

Must not know an index: what it has is passed in as functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.language.times_asked import Span
from nanomem_tui.language.tokens import is_english, light_words, query_words, search_weights, tokens
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.store.word_index import idf, trust

if TYPE_CHECKING:
    pass


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
    """Lower words that only name a time to a share of the best `telling` one (None: no time is named)."""
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
    """Return the two known words that one is made of (`vscode`: `vs`, `code`), longest shorter half first."""
    ways = (tokens(f"{word[:at]} {word[at:]}") for at in range(2, len(word) - 1))
    found = [tuple(way) for way in ways if len(way) == 2 and all(map(known, way))]
    return max(found, key=lambda way: min(map(len, way)), default=())


def describe_corrections(replaced: Mapping[str, Sequence[str]], texts: Iterable[str]) -> dict[str, str]:
    """Return what was corrected to which words, as the texts that were found write them."""
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
    """Return what an unknown word may mean, with weights: the nearest one and longer forms."""
    near = nearest(word)
    forms = (longer(as_written) or longer(word)) if as_written.isalpha() else ()
    found = dict.fromkeys(forms, LONGER_WEIGHT * weight)
    if near is None:
        return found or dict.fromkeys(split_compound(as_written, known), weight)
    return {near: trust(word) * weight, **{form: counts for form, counts in found.items() if form != near}}
