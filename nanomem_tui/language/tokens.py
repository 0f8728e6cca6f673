"""The one tokenizer of recall: the same words for the full-text index, the RAM index and the query.

Text is folded (NFKC, case, accents), cut into words, and scripts without spaces into parts, so that a short query finds
its item: Chinese and Japanese into single characters and pairs, Thai, Lao, Khmer and Burmese into syllables, pairs and
triples of them. Borders between scripts are word borders. English words are reduced to their stem, and words that say
nothing are left out. In languages that bend their words these are found by their beginnings too, in Arabic and Hebrew
by what is in them (`parts`): better there than a stemmer for each language (docs/decisions/0110). A pictograph is a
word: its token is written in letters (`u1f355`), since SQLite's own tokenizer, which cuts the index, knows no others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import pairwise

from nanomem_tui.language import tables
from nanomem_tui.language.stemming import stem

VERSION = 6
"""Grows when the same text gives other tokens; an index built by another version is rebuilt."""

PART = "\ue000"
"""What a part of a word ends with, so that it is no word; SQLite takes it for a letter."""
BEGINNINGS = (3, 5)
"""Letters of the beginnings by which a word is found that has more of them."""
INSIDE = 3
"""Letters of each run of an Arabic or Hebrew word by which it is found; its borders count as letters."""
BORDER = "\ue001"
"""What stands for the border of a word in such a run; SQLite takes it for a letter."""

PAIR = 0.5
"""What two neighbours of a question count as one word."""

SYLLABLES = (0.4, 1.0, 0.5)
"""What one, two and three syllables of Thai, Lao, Khmer and Burmese count that follow each other in a question."""

_ASCII_WORDS = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_PLAIN = bytes(
    ord(chr(code).lower()) if code < 128 and (chr(code).isalnum() or code == ord("'")) else 32 for code in range(256)
)
"""What an ASCII character is read as, so that a text can be split at white space: quicker than to look for words."""

_ODD = re.compile(r"'(?:(?<![a-z0-9]')|(?![a-z])|[a-z]+['0-9])")
"""An apostrophe that does not stand within a word, once."""

_STOP = frozenset(
    "a about above after again all also am an and any are as at be because been before being below between both but "
    "by can could did do does doing down during each few for from further had has have having he her here hers him "
    "his how i if in into is it its itself just me might mine more most must my myself no nor not now of off on once "
    "only or other our ours out over own same shall she should so some such than that the their theirs them "
    "themselves then there these they this those through to too under until up us very was we were what when where "
    "which while who whom whose why will with would yet you your yours yourself cannot".split()
)
LONG_STOP_WORDS = tuple(sorted(word for word in _STOP if len(word) > 3))
"""The words left out that a slip can make into a word that nobody wrote."""

MOST_ASKED = 96
"""Words of a query that are asked for."""
LONGEST_JOINED = 40
"""Letters of a word that is joined of several."""
NATIONAL = 8
"""The last digits of a telephone number, by which it is found with and without the number of its country."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_CONTRACTED = frozenset("s m d ll re ve em all".split())
_MOST_STEMS = 200_000

# 15 ms to compile: a program that meets plain ASCII only, or no text at all, does not pay for them.
_pattern = tables.patterns("tokens")
tables.table("tokens")  # read now, for a question opens no file


class _Stems(dict[str, str]):
    """Stems by word form; empty for a word that says nothing. A cache that starts over when it is full."""

    def __missing__(self, word: str) -> str:
        base, apostrophe, rest = word.partition("'")
        if (apostrophe and rest == "t") or base in _STOP:
            found = ""
        elif base.isascii():
            found = stem(base)
            found = _american().get(found, found)
        elif _pattern("semitic").match(base):
            found = _bare(base)
        else:
            found = "".join(f"u{ord(letter):x}" for letter in base) if _pattern("picture").fullmatch(base) else base
        if found and apostrophe and rest not in _CONTRACTED:
            found = stem(base + rest)
        if len(self) >= _MOST_STEMS:
            self.clear()
        self[word] = found
        return found


_ARABIC = str.maketrans("أإآٱةى", "ااااهي")
_stem_of = _Stems().__getitem__


def _runs(text: str) -> list[str]:
    """The runs of word characters of one script, folded; an English word with what follows its apostrophe."""
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    if folded.isascii():
        read = folded.encode().translate(_PLAIN).decode()
        return _ASCII_WORDS.findall(read) if "'" in read and _ODD.search(read) else read.split()
    plain = _pattern("accents").sub("", unicodedata.normalize("NFD", folded)).translate(_one_spelling())
    return _pattern("word").findall(unicodedata.normalize("NFC", plain))


@lru_cache(1)
def _one_spelling() -> dict[int, str]:
    """What a letter is read as: `ł` as `l`, a traditional Chinese character as the simplified one."""
    letters = tables.table("one-spelling")
    pairs = [pair.split("=") for pair in letters["latin"].split()]
    return str.maketrans({**dict(pairs), **dict(zip(letters["traditional"], letters["simplified"], strict=True))})


@lru_cache(1)
def _american() -> dict[str, str]:
    """By the stem of an English word as Britons write it that of the American one: `colour`, `color`."""
    return dict(pair.split("=") for pair in tables.table("one-spelling")["english"].split())


def _is_unspaced(run: str) -> bool:
    return not run.isascii() and _pattern("unspaced").match(run) is not None


def shown(token: str) -> str:
    """A token as a person reads it: a pictograph as itself, a part of a word as its letters."""
    if is_part(token):
        return token[:-1].strip(BORDER)
    if _pattern("spelt").fullmatch(token) is None:
        return token
    picture = "".join(chr(int(code, 16)) for code in token[1:].split("u"))
    return picture if _pattern("picture").fullmatch(picture) else token


def readable(found: Iterable[str]) -> list[str]:
    """Tokens that were found, as a person reads them, each once: a part of a word only where no word has it.

    >>> readable(["u1f355", "савунма", "сав" + PART, "мас" + PART])
    ['савунма', '🍕', 'мас']
    """
    held = set(found)
    words = {token for token in held if not is_part(token)}
    parts = set(map(shown, held - words))
    return [*sorted(map(shown, words)), *sorted(part for part in parts if not any(part in word for word in words))]


def fold(text: str) -> str:
    """`text` with width and case differences removed and white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def tokens(text: str) -> list[str]:
    """The tokens of `text`, in order, with repeats; stop words are left out."""
    return _words_of(text, _runs(text))


def index_tokens(text: str) -> list[str]:
    """The tokens by which a text is found: those of `tokens`, parts of words where its language bends them, and what is
    written apart as one word (`joined`)."""
    runs = _runs(text)
    words = _words_of(text, runs)
    words += _parts_of(text, runs)
    if _pattern("apart").search(text):
        words += joined(text)
    return words


def joined(text: str) -> list[str]:
    """What is written apart or by other letters, as it may be written too: hyphened words and identifiers as one word,
    the words that capital letters divide, numbers without their separators, `ü` as `ue`.

    >>> joined("wi-fi"), joined("getUser"), joined("1,234,567")
    (['wifi'], ['get', 'user'], ['1234567'])
    """
    words = (word for word in _pattern("hyphened").findall(text) if len(word) <= 2 * LONGEST_JOINED)
    found = [_stem_of("".join(runs)) for word in words if len(runs := _runs(word)) > 2 or not word[0].isdigit()]
    for name in _pattern("humped").findall(text):
        found += map(_stem_of, map(str.lower, _pattern("humps").findall(name)))
    for number in _pattern("number").findall(text):
        digits = "".join(filter(str.isdigit, number))
        if len(digits) < len(number):
            found.append(digits)
        if len(digits) > NATIONAL:
            found.append(digits[-NATIONAL:] + PART)
    if not text.isascii():
        folded = unicodedata.normalize("NFC", text).casefold()
        found += [_stem_of("".join(_runs(word.translate(_UMLAUTS)))) for word in _pattern("umlauted").findall(folded)]
    return [word for word in found if 1 < len(word) <= LONGEST_JOINED]


def parts(text: str) -> list[str]:
    """The parts of words by which a text is found too, each marked by PART; none in English.

    >>> [part[:-1] for part in parts("савунма")]
    ['сав', 'савун']
    """
    return _parts_of(text, _runs(text))


def _words_of(text: str, runs: list[str]) -> list[str]:
    if text.isascii():
        return list(filter(None, map(_stem_of, runs)))
    found: list[str] = []
    unspaced = _pattern("unspaced").match
    for run in runs:
        if not run.isascii() and unspaced(run):
            found.extend(_pieces(run))
        elif word := _stem_of(run):
            found.append(word)
    return found


def _parts_of(text: str, runs: list[str]) -> list[str]:
    is_bent = _bends(text, runs)
    if text.isascii():
        return [part for run in runs for part in _parts(run)] if is_bent else []
    found: list[str] = []
    latin, unspaced = _pattern("latin").match, _pattern("unspaced").match
    for run in runs:
        if is_bent if run.isascii() or latin(run) else not unspaced(run):
            found.extend(_parts(run))
    return found


def is_part(token: str) -> bool:
    """Whether a token is a part of a word, and no word."""
    return token[-1:] == PART


def _parts(run: str) -> list[str]:
    if _pattern("semitic").match(run):
        bare = _bare(run)
        within = f"{BORDER}{bare}{BORDER}"
        return [within[at : at + INSIDE] + PART for at in range(len(bare))] if len(bare) > 1 else []
    return [run[:length] + PART for length in BEGINNINGS if len(run) > length] if run[0].isalpha() else []


def _bare(word: str) -> str:
    """An Arabic word without its article, in one spelling."""
    if len(word) > INSIDE + 1:
        word = _pattern("article").sub("", word)
    return word.translate(_ARABIC)


def _bends(text: str, runs: list[str]) -> bool:
    """Whether a text in Latin letters is in another language than English, as its small words and letters show."""
    english = sum(run in _STOP for run in runs)
    if text.isascii() and english >= 2:
        return False
    foreign = sum(map(_foreign().__contains__, runs))
    if not text.isascii():
        foreign += sum(1 for _ in _pattern("accented").finditer(unicodedata.normalize("NFC", text).casefold()))
    return foreign >= max(english, 1)


def is_english(text: str) -> bool:
    """Whether a text is in Latin letters and, as far as its small words show, in English."""
    runs = _runs(text)
    latin = sum(run.isascii() for run in runs)
    return 2 * latin > len(runs) and not _bends(text, runs)


@lru_cache(1)
def _foreign() -> frozenset[str]:
    """The small words of other languages in Latin letters that are none in English, as they are read (`für`: `fur`)."""
    telling = {word for word, codes in tables.table("words").items() if "en" not in codes}
    telling.update(tables.table("tokens")["small_words"].split())
    plain = {word for word in telling if word.isascii() and word.isalpha() and len(word) > 1}
    return frozenset(plain.union(_listed("folded"))) - _STOP


def _pieces(run: str) -> list[str]:
    """A run of a script without spaces as single characters and pairs; of Thai, Lao, Khmer and Burmese as syllables."""
    if _pattern("southern_letter").match(run):
        syllables = _pattern("syllable").findall(run)
        most = 3
    else:
        syllables, most = list(run), 2
    sizes = range(1, most + 1)
    return ["".join(syllables[at : at + size]) for size in sizes for at in range(len(syllables) - size + 1)]


def query_tokens(text: str, limit: int = MOST_ASKED) -> list[str]:
    """The distinct tokens of a query; single characters of unspaced scripts only where no bigram holds them."""
    return list(query_words(text, limit))


def query_words(text: str, limit: int = MOST_ASKED) -> dict[str, str]:
    """The distinct tokens of a query with the word as it was written (folded), in order."""
    words: dict[str, str] = {}
    for run in _query_runs(text):
        if not _is_unspaced(run):
            word = _stem_of(run)
            if word:
                words.setdefault(word, run)
        else:
            pieces = _pieces(run)
            for piece in [one for one in pieces if len(one) > 1] or pieces:
                words.setdefault(piece, piece)
        if len(words) >= limit:
            break
    return dict(list(words.items())[:limit]) if len(words) > limit else words


def query_weights(text: str, limit: int = MOST_ASKED) -> dict[str, float]:
    """The tokens of a query with what each counts: in a longer one in Chinese and Japanese single characters too."""
    words = dict.fromkeys(query_tokens(text, limit), 1.0)
    if _pattern("southern_letter").search(text):
        return {word: _of_syllables(word) for word in words}
    if text.isascii() or sum(1 for word in words if len(word) == 2 and _is_unspaced(word)) < 3:
        return words
    particles = tables.table("tokens")["particles"]
    singles = dict.fromkeys(
        (letter for run in _query_runs(text) if _is_unspaced(run) for letter in run if letter not in particles),
        1.0,
    )
    return {**dict(list(singles.items())[:limit]), **words}


def _of_syllables(word: str) -> float:
    """What a word of a question in Thai, Lao, Khmer or Burmese counts, by its syllables; 1 for any other."""
    if _pattern("southern_letter").match(word) is None:
        return 1.0
    return SYLLABLES[min(len(_pattern("syllable").findall(word)), len(SYLLABLES)) - 1]


def search_weights(text: str, limit: int = MOST_ASKED) -> dict[str, float]:
    """The tokens of a query with what each counts, the parts of its words, and two neighbours as one word: what is
    asked of `index_tokens`."""
    weights = query_weights(text, limit)
    runs = _runs(text)
    pairs = [_stem_of(one + other) for one, other in pairwise(runs[: limit + 1]) if _may_be_one(one, other)]
    found = {
        **dict.fromkeys(pairs, PAIR),
        **dict.fromkeys((*joined(text), *_parts_of(text, runs)[: len(BEGINNINGS) * limit]), 1.0),
    }
    found.pop("", None)
    return {**found, **weights}


def _may_be_one(word: str, after: str) -> bool:
    """Whether two neighbours in a question may be one word elsewhere, as `vs code` is."""
    if _is_unspaced(word) or _is_unspaced(after) or (word.isdigit() and after.isdigit()):
        return False
    return not (word in _STOP and after in _STOP)


_listed = partial(tables.words, "tokens")


def light_words(*, english: bool) -> frozenset[str]:
    """The tokens that tell little of what a text is about: `like` in “what is it like?”, `ist` in “wo ist er?”.

    >>> "ist" in light_words(english=is_english("wo ist der Schlüssel?")), "ist" in light_words(english=True)
    (True, False)
    """
    return _listed("light") if english else _light_elsewhere()


@lru_cache(1)
def _light_elsewhere() -> frozenset[str]:
    return _listed("light") | _listed("light_elsewhere") | frozenset(tokens(tables.table("tokens")["small_words"]))


def alike(word: str) -> list[str]:
    """The tokens that a note may have where a question has this one; none but in English.

    >>> alike("kid")[:2]
    ['child', 'son']
    """
    return str(tables.table("alike")["words"].get(word, "")).split()


def is_of_talk(word: str) -> bool:
    """Whether a token is about the conversation itself, like `mention`, and tells nothing of what it was about."""
    return word in _listed("of_talk")


def _query_runs(text: str) -> list[str]:
    """The runs of a question without the words that only ask, unless nothing else is there."""
    runs = _runs(text)
    if text.isascii() or sum(len(run) for run in runs if _is_unspaced(run)) < 5:
        return runs
    asking = _pattern("asking")
    told = [part for run in runs for part in (asking.sub(" ", run).split() if _is_unspaced(run) else (run,))]
    return told or runs
