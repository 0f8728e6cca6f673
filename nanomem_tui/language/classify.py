"""What of a sentence shows what it is: its words, parts of its words, the order of its small words, its marks, and what
the sentences before it are. The trainer (`scripts/language/teach.py`) and the reader see the same features.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from nanomem_tui.language import pack_files
from nanomem_tui.language.pack_files import table

VERSION = 2
"""Changes when the features do: a pack of another version is made anew."""
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\w\s]|_")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_CODE = re.compile(r"https?:|/\w+/|\w+\(\)|[{}<>=`]")
_QUOTES = re.compile('["“”«»„「」『』]')
_EMOJI = re.compile("[\U0001f300-\U0001faff]")
_DIGIT = re.compile(r"\d")
_LENGTHS = (1, 2, 4, 7, 12, 20)


def tokens(text: str) -> list[str]:
    """Split a text into words in lower case and marks; a number is `0`.

    >>> tokens("I've 2 kids!")
    ["i've", '0', 'kids', '!']
    """
    found = (one[0] for one in _TOKEN.finditer(text))
    return ["0" if token[0].isdigit() else token.replace("’", "'").lower() for token in found]


def parts(text: str) -> list[str]:
    """Split a text into words, in Chinese and Japanese into all runs of one to three characters."""
    if not is_wide(text):
        return [token for token in tokens(text) if token[0].isalnum()]
    return [text[at : at + length] for length in (1, 2, 3) for at in range(len(text) - length + 1)]


def is_wide(text: str) -> bool:
    """Whether a text is written without spaces between words: Chinese or Japanese."""
    return len(_WIDE.findall(text)) > 0.15 * len(text)


def features(sentences: Sequence[str], at: int, acts: Sequence[str], common: Collection[str]) -> set[str]:
    """Return the features of the sentence at place `at` of a message. `acts`: what the sentences before it are.
    `common`: the words of the language that are seen most; only these show how a sentence is built."""
    sentence = sentences[at].strip()
    words = tokens(sentence)
    found = set(_of_characters(sentence) if is_wide(sentence) else _of_words(words, common))
    found.update(_of_form(sentence, len(words)))
    found.add(f"of {min(len(sentences), 3)}")
    found.add("last" if at == len(sentences) - 1 else f"at {min(at, 2)}")
    found.update(f"after {act}" for act in acts[-1:])
    found.update(f"two after {act}" for act in acts[-2:-1])
    found.update(f"some {act}" for act in acts)
    if at + 1 < len(sentences) and sentences[at + 1].rstrip().endswith(("?", "？")):
        found.add("before ?")
    return found


def _of_words(words: Sequence[str], common: Collection[str]) -> Iterator[str]:
    """Words, pairs of words, parts of words, and the frame that common words make around the others (`_`)."""
    bounded = ("^", *words, "$")
    yield from words
    yield from (f"{one} {other}" for one, other in pairwise(bounded))
    yield from (f"end {word}" for word in words[-2:])
    for word in words:
        yield from parts_of(word)
    frame: list[str] = []
    for word in bounded:
        shown = word if word in common or not word[0].isalpha() else "_"
        if shown != "_" or frame[-1:] != ["_"]:
            frame.append(shown)
    for length in (2, 3):
        yield from (f"#{' '.join(frame[n : n + length])}" for n in range(len(frame) - length + 1))
    yield f"#^{' '.join(frame[:4])}"


def parts_of(word: str) -> Iterator[str]:
    """Return the parts of a longer word, of three to five letters."""
    if len(word) > 3 and word.isalpha():
        marked = f"<{word}>"
        for length in (3, 4, 5):
            yield from (f"~{marked[n : n + length]}" for n in range(len(marked) - length + 1))


def _of_characters(sentence: str) -> Iterator[str]:
    """Runs of one to four characters; a number is `0`."""
    plain = f"^{re.sub(r'[0-9]+', '0', sentence.lower())}$"
    for length in (1, 2, 3, 4):
        yield from (plain[n : n + length] for n in range(len(plain) - length + 1))


def _of_form(sentence: str, words: int) -> Iterator[str]:
    """How it ends and begins, how long it is, and what is in it beside words."""
    if sentence:
        yield f"ends {sentence[-1]}" if not sentence[-1].isalnum() else "ends"
        yield "capital" if sentence[0].isupper() else "small"
    size = len(sentence) // 2 if is_wide(sentence) else words
    yield f"long {sum(size > length for length in _LENGTHS)}"
    signs = (("quotes", _QUOTES), ("code", _CODE), ("emoji", _EMOJI), ("digits", _DIGIT))
    yield from (name for name, pattern in signs if pattern.search(sentence))


# -- Which language a text is in, told by its script and, for Latin letters, by the small words in it -----------------

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
_LETTER = re.compile(r"[^\W\d_]")
LIKELY = 0.6
"""How many of the small words of the likeliest language another one needs to be likely too."""
LATIN = ("en", "de", "es", "fr", "pt", "it")


@lru_cache(256)  # a statement is compared with many
def language_of(text: str) -> str:
    """Return the code of the language that a text is most likely in; English where nothing tells.

    >>> language_of("Ich wohne in Köln und arbeite bei der Bahn")
    'de'
    """
    letters = len(_LETTER.findall(text)) or 1
    for code, pattern in _SCRIPTS:
        if len(pattern.findall(text)) > (0.05 if code == "ja" else 0.2) * letters:
            return code
    return next(iter(latin_languages_of(text)), "en")


def latin_languages_of(text: str) -> list[str]:
    """Return the languages with Latin letters of which small words stand in a text, the likeliest first.

    >>> latin_languages_of("mi chiamo Giulia e vivo a Bologna")
    ['es', 'it']
    """
    votes: Counter[str] = Counter()
    known = table("words")  # the languages of each word that few languages share and that is common in one
    for word in set(tokens(text)):
        for code in known.get(word, ()):
            votes[code] += 1
    least = LIKELY * max(votes.values(), default=0)
    return sorted((code for code in LATIN if votes[code] and votes[code] >= least), key=lambda code: -votes[code])


# What each sentence of a message is: a lasting statement and of what kind, a rule, a wish, a question, a task,
# chatter, words of others. Learned from labelled sentences, a pack of weights for each language (0102).

KINDS = ("fact", "preference", "decision", "episodic")
LASTING = frozenset({*KINDS, "rule"})
ZERO, STEP = 79, 0.0625
"""The letter of a weight of nothing (`O`), and how much each letter after it is."""


class Reading(NamedTuple):
    """What a sentence is.

    `act`: fact, preference, decision, episodic (lasting statements), rule (how the assistant has to behave), moment (a
    statement of no weight), question, order, remember, forget, correction, chatter or quoted. `kind`: the kind of the
    memory that it would be. `lasting`: how likely it is worth to be kept, 0 to 1.
    """

    act: str
    kind: str
    lasting: float


class Pack(NamedTuple):
    """What was learned of one language."""

    labels: tuple[str, ...]
    common: frozenset[str]
    forgetting: frozenset[str]
    names: frozenset[str]
    weights: dict[str, bytes]

    def probabilities(self, found: set[str]) -> list[float]:
        """Return how likely each label is, for a sentence with these features."""
        rows = [self.weights["always"], *filter(None, map(self.weights.get, found))]
        sums = map(sum, zip(*rows, strict=True))
        shares = [1 / (1 + math.exp(-STEP * (total - ZERO * len(rows)))) for total in sums]
        whole = sum(shares)
        return [share / whole for share in shares]


@lru_cache(16)
def pack(language: str) -> Pack:
    """Return the pack of a language, of English where there is none."""
    body = pack_files.read(language)
    if not body:
        return pack("en")
    weights = {name: letters.encode() for name, letters in body["weights"].items()}
    common, forgetting, names = (frozenset(body[name]) for name in ("common", "forgetting", "names"))
    return Pack(tuple(body["labels"]), common, forgetting, names, weights)


def read(sentences: Sequence[str], language: str) -> list[Reading]:
    """Return what each sentence of a message is. `language`: the code of a pack (`en`, `zh`)."""
    return list(_read(tuple(sentences), language))


@lru_cache(64)  # a message is asked several times in one turn
def _read(sentences: tuple[str, ...], language: str) -> tuple[Reading, ...]:
    learned = pack(language)
    found: list[Reading] = []
    acts: list[str] = []
    for at in range(len(sentences)):
        shares = learned.probabilities(features(sentences, at, acts, learned.common))
        best = dict(zip(learned.labels, shares, strict=True))
        found.append(_reading(best))
        acts.append(found[-1].act)
    return tuple(found)


def _reading(shares: dict[str, float]) -> Reading:
    """The likeliest act, the likeliest kind of what lasts, and how likely it lasts."""
    lasting: dict[str, float] = {}
    for label, share in shares.items():
        act, _, kind = label.partition(":")
        if (kind or act) in LASTING:
            lasting[kind or act] = lasting.get(kind or act, 0.0) + share
    label = max(shares, key=shares.__getitem__)
    kind = max(lasting, key=lasting.__getitem__)
    return Reading(label.partition(":")[0], "preference" if kind == "rule" else kind, sum(lasting.values()))


# What a heading is for and what a line is about, by the words of both in ten languages (`packs/topics.json`), and
# what words give away of a line: that it is of a stranger, supposed, a joke, of today, over … (`packs/cues.json`).

_WHOLE = {"headings": 4}
"""A word of a table that is not longer has to be the whole word; 4 elsewhere."""
_PATHS = re.compile(
    r"https?://\S+|(?<![^\s`\"'(=:])(?:[A-Za-z]:[\\/]|~/|\.{1,2}/|/(?=\w))[^\s`\"'),;]*|"
    r"(?<![\w./-])[\w.-]{1,80}(?:/[\w-]{1,80})+/[\w-]*\.\w{1,5}"
)
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Words:
    """The subjects that words belong to: whole words, beginnings of longer ones, parts of unspaced scripts."""

    def __init__(self, tables: Mapping[str, str], longest: int = 4) -> None:
        self._begins: dict[str, set[str]] = {}
        self._parts: dict[str, set[str]] = {}
        for name, words in tables.items():
            for word in words.split():
                table = self._parts if _UNSPACED.match(word) else self._begins
                table.setdefault(word.lower(), set()).add(name)
        self._lengths = sorted({len(word) for word in self._begins if len(word) > longest})
        self._pattern = re.compile("|".join(sorted(map(re.escape, self._parts), key=len, reverse=True)) or "(?!)")

    def subjects_of(self, text: str) -> frozenset[str]:
        """Return the subjects of a text."""
        found: set[str] = set()
        for word in tokens(text):
            found |= self._begins.get(word, set())
            for length in self._lengths:
                if length >= len(word):
                    break
                found |= self._begins.get(word[:length], set())
        for part in self._pattern.findall(text.lower()):
            found |= self._parts[part]
        return frozenset(found)


@lru_cache(3)
def _words(table: str) -> Words:
    if table == "cues":
        return Words(pack_files.table("cues"))
    return Words({name: topic[table] for name, topic in pack_files.table("topics").items()}, _WHOLE.get(table, 4))


def without_paths(text: str) -> str:
    """Return a text without addresses of pages and files: the names of their folders say nothing of what it is about.

    >>> without_paths("see /home/al/report.html")
    'see  '
    """
    return _PATHS.sub(" ", text)


@lru_cache(2048)
def topics_of_heading(title: str) -> frozenset[str]:
    """Return what a heading says that the lines under it are about.

    >>> topics_of_heading("Communication Style")
    frozenset({'style'})
    """
    return _words("headings").subjects_of(title)


def names_of_heading(title: str) -> tuple[str, ...]:
    """Return the words of a heading that name somebody or something: `Kestrel` of `Kestrel project`."""
    words = _words("headings")
    return tuple(word for word in tokens(title) if word.isalnum() and not words.subjects_of(word))


_pattern = pack_files.patterns("titles")


def without_subjects(title: str) -> str:
    """Return a heading without the Chinese words that only name a subject."""
    return _pattern("subjects").sub(" ", title)


@lru_cache(4096)
def topics_of_line(text: str) -> frozenset[str]:
    """Return what a line is about."""
    return _words("words").subjects_of(without_paths(text))


@lru_cache(4096)
def cues_of(text: str) -> frozenset[str]:
    """Return what the words of a line give away."""
    return _words("cues").subjects_of(text)


def is_needed_once(text: str) -> bool:
    """Return whether a line tells what matters when it is needed once: health, birth, family, emergencies.

    >>> is_needed_once("Tom is allergic to penicillin")
    True
    """
    return "needed" in cues_of(text) or not topics_of_line(text).isdisjoint(("identity", "family", "health"))


def title_of(topic: str, text: str) -> str:
    """Return the heading of a topic in the language of a text."""
    titles: dict[str, str] = pack_files.table("topics")[topic]["titles"]
    return titles.get(language_of(text), titles["en"])
