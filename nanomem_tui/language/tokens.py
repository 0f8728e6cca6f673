"""The one tokenizer of recall: the same words for the full-text index, the RAM index and the query.

Text is folded (NFKC, case, accents), cut into words, and scripts without spaces into parts, so that a short query finds
its item: Chinese and Japanese into single characters and pairs, Thai, Lao, Khmer and Burmese into syllables, pairs and
triples of them. Borders between scripts are word borders. English words are reduced to their stem, and words that say
nothing are left out. In languages that bend their words these are found by their beginnings too, in Arabic and Hebrew
by what is in them (`parts`): better there than a stemmer for each language (docs/decisions/0018). A pictograph is a
word: its token is written in letters (`u1f355`), since SQLite's own tokenizer, which cuts the index, knows no others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from itertools import pairwise

from nanomem_tui.language import pack_files
from nanomem_tui.language.pack_files import table

# English word forms: one stem for `run`, `runs`, `running` and `ran`, so that a question finds it told otherwise.

_VOWELS = "aeiouy"
_VALID_LI = "cdeghkmnrt"
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_REGION = re.compile(r"[aeiouy][^aeiouy]")
_HAS_VOWEL = re.compile(r"[aeiouy]")
_CONSONANT_Y = re.compile(r"(^|[aeiouy])y")
_LONG_PREFIXES = ("gener", "commun", "arsen", "organ", "univers", "past", "later", "emerg", "inter")
_WHOLE = frozenset(
    "only early sky outing evening inning earring herring canning succeed proceed exceed wedding building anything "
    "everything something nothing morning during news bias atlas cosmos".split()
)
_IRREGULAR = pack_files.meanings("word-forms", "forms")  # read now, for a question opens no file


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word; words of two letters and words with digits stay as they are."""
    word = _IRREGULAR.get(word, word)
    if len(word) < 3 or not word.isalpha():
        return word
    if word in _WHOLE or word.removesuffix("s") in _WHOLE:
        return word if word in _WHOLE else word.removesuffix("s")
    if "y" in word:
        word = _CONSONANT_Y.sub(r"\1Y", word)
    if word.startswith(_LONG_PREFIXES):
        r1 = next(len(prefix) for prefix in _LONG_PREFIXES if word.startswith(prefix))
    else:
        r1 = _after_region(word, 0)
    r2 = _after_region(word, r1)
    word = _past(_plural(word), r1)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _derived(word, r1, r2)
    word, has_suffix = _without_suffix(word, "step_4", r2)
    if not has_suffix and word.endswith(("sion", "tion")) and len(word) - 3 >= r2:
        word = word[:-3]
    return _final(word, r1, r2).lower()


def _after_region(word: str, start: int) -> int:
    """Where the region after the first consonant that follows a vowel begins."""
    found = _REGION.search(word, start)
    return found.end() if found else len(word)


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("us", "ss")) and _HAS_VOWEL.search(word, 0, len(word) - 2):
        return word[:-1]
    return word


def _past(word: str, r1: int) -> str:
    if not word.endswith(("d", "g", "ly")):
        return word
    for suffix in ("eedly", "eed"):
        if word.endswith(suffix):
            return word[: -len(suffix)] + "ee" if len(word) - len(suffix) >= r1 else word
    suffix = next((suffix for suffix in ("ingly", "edly", "ing", "ed") if word.endswith(suffix)), "")
    base = word.removesuffix(suffix)
    if not suffix or not _HAS_VOWEL.search(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base.endswith(_DOUBLES):
        return base[:-1] if len(base) > 3 or base[0] not in _VOWELS else base
    return base + "e" if r1 >= len(base) and _ends_short(base) else base


def _ends_short(word: str) -> bool:
    """Whether the word ends in a short syllable: vowel between consonants (the last not w, x, Y), or vowel first."""
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    if len(word) < 2 or word[-1] in _VOWELS or word[-1] in "wxY":
        return False
    return word[-2] in _VOWELS and word[-3] not in _VOWELS


def _derived(word: str, r1: int, r2: int) -> str:
    """Steps 2 and 3: `ization` to `ize`, then `ize` to nothing further; only behind the first region."""
    word, has_suffix = _without_suffix(word, "step_2", r1)
    if not has_suffix and word.endswith("ogi") and len(word) - 3 >= r1 and word[-4:-3] == "l":
        word = word[:-1]
    elif not has_suffix and word.endswith("li") and len(word) - 2 >= r1 and word[-3:-2] in _VALID_LI:
        word = word[:-2]
    word, has_suffix = _without_suffix(word, "step_3", r1)
    return word[:-5] if not has_suffix and word.endswith("ative") and len(word) - 5 >= r2 else word


@lru_cache(None)
def _suffixes(step: str) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The suffixes of a step, the longer ones first, and what stands in the place of each."""
    rests = pack_files.meanings("word-forms", step)
    return tuple(sorted(rests, key=len, reverse=True)), rests


def _without_suffix(word: str, step: str, region: int) -> tuple[str, bool]:
    """The word with what stands for its longest suffix, where that is within the region; and whether it has one."""
    suffixes, rests = _suffixes(step)
    if not word.endswith(suffixes):
        return word, False
    suffix = next(filter(word.endswith, suffixes))
    base = word[: -len(suffix)]
    return (base + rests[suffix] if len(base) >= region else word), True


def _final(word: str, r1: int, r2: int) -> str:
    if word.endswith("e"):
        base = word[:-1]
        return base if len(base) >= r2 or (len(base) >= r1 and not _ends_short(base)) else word
    return word[:-1] if word.endswith("ll") and len(word) - 1 >= r2 else word


VERSION = 7
"""Grows when the same text gives other tokens; an index built by another version is rebuilt."""

PART = "\ue000"
"""What a part of a word ends with, so that it is no word; SQLite takes it for a letter."""
BEGINNINGS = (3, 5)
"""Letters of the beginnings by which a word is found that has more of them."""
TAIL, LEAST_COMPOUND, LEAST_HEAD = 4, 8, 3
"""Letters by which a word is found within a compound (`schl` of `Schlüssel` in `Haustürschlüssel`), those that a
compound has at least, and those that stand before the word in it."""
MOST_OF_COMPOUNDS = 40
"""Words of a text up to which it is found by the tails of its compounds; a longer one would only count as longer."""
FEW_WORDS = 8
"""Words up to which a text may be in such a language though none of them shows it."""
COMPOUND = 0.8
"""What the tail of a compound counts."""
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
_TWO_LETTERS = {**_UMLAUTS, ord("đ"): "dj"}
_CONTRACTED = frozenset("s m d ll re ve em all".split())
_BEYOND_LATIN = "\u0250"
"""The first letter that is none of ours, where runs are without accents."""
_MOST_STEMS = 200_000

# 15 ms to compile: a program that meets plain ASCII only, or no text at all, does not pay for them.
_pattern = pack_files.patterns("tokens")
pack_files.table("tokens")  # read now, for a question opens no file


class _Stems(dict[str, str]):
    """Stems by word form; empty for a word that says nothing. A cache that starts over when it is full."""

    def __missing__(self, word: str) -> str:
        base, apostrophe, rest = (_alone(word) if "'" in word else word).partition("'")
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


def _alone(word: str) -> str:
    """A word without the article or small word that an apostrophe joins to it: `ufficio` of `dell'ufficio`."""
    base, _, rest = word.partition("'")
    is_small = len(rest) < 2 or rest in _CONTRACTED or rest in _STOP
    return word if is_small or base not in _listed("elided") else rest


_ARABIC = str.maketrans("أإآٱةى", "ااااهي")
_stem_of = _Stems().__getitem__


def _runs(text: str) -> list[str]:
    """The runs of word characters of one script, folded; an English word with what follows its apostrophe."""
    folded = text if text.isascii() else plain_digits(unicodedata.normalize("NFKC", text).casefold())
    folded = folded if folded.isascii() else folded.replace("’", "'").replace("ʼ", "'")
    if folded.isascii():
        read = folded.encode().translate(_PLAIN).decode()
        return _ASCII_WORDS.findall(read) if "'" in read and _ODD.search(read) else read.split()
    plain = _pattern("accents").sub("", unicodedata.normalize("NFD", folded)).translate(_one_spelling())
    return _pattern("word").findall(unicodedata.normalize("NFC", plain))


def plain_digits(text: str) -> str:
    """Return a text with the digits of every script as those of ASCII; of the same length.

    >>> plain_digits("٠١२३")
    '0123'
    """
    return text if text.isascii() else _pattern("digit").sub(lambda found: str(unicodedata.digit(found[0])), text)


@lru_cache(1)
def _one_spelling() -> dict[int, str]:
    """What a letter is read as: `ł` as `l`, a traditional Chinese character as the simplified one."""
    letters = pack_files.table("one-spelling")
    pairs = [pair.split("=") for pair in letters["latin"].split()]
    return str.maketrans({**dict(pairs), **dict(zip(letters["traditional"], letters["simplified"], strict=True))})


@lru_cache(1)
def _american() -> dict[str, str]:
    """By the stem of an English word as Britons write it that of the American one: `colour`, `color`."""
    return dict(pair.split("=") for pair in pack_files.table("one-spelling")["english"].split())


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
    words += _tails_of(text, runs)
    if _pattern("apart").search(text):
        words += joined(text)
    return words


def joined(text: str) -> list[str]:
    """What is written apart or by other letters, as it may be written too: hyphened words and identifiers as one word,
    the words that capital letters divide, numbers and account codes without their separators, `ü` as `ue`.

    >>> joined("wi-fi"), joined("getUser"), joined("1,234,567")
    (['wifi'], ['get', 'user'], ['1234567'])
    """
    words = (word for word in _pattern("hyphened").findall(text) if len(word) <= 2 * LONGEST_JOINED)
    found = [_stem_of("".join(runs)) for word in words if len(runs := _runs(word)) > 2 or not word[0].isdigit()]
    found += [_stem_of("".join(_runs(name.replace(name[1], "")))) for name in _pattern("called").findall(text)]
    for name in _pattern("humped").findall(text):
        found += map(_stem_of, map(str.lower, _pattern("humps").findall(name)))
    found += ["".join(map(str.lower, filter(str.isalnum, code))) for code in _pattern("grouped").findall(text)]
    for number in _pattern("number").findall(plain_digits(text)):
        digits = "".join(filter(str.isdigit, number))
        if len(digits) < len(number):
            found.append(digits)
        if len(digits) > NATIONAL:
            found.append(digits[-NATIONAL:] + PART)
    if not text.isascii():
        folded = unicodedata.normalize("NFC", text).casefold()
        found += [
            _stem_of("".join(_runs(word.translate(_TWO_LETTERS)))) for word in _pattern("umlauted").findall(folded)
        ]
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
    is_bent = _bends(text, runs, "accented_too")
    if text.isascii():
        return [part for run in runs for part in _parts(run)] if is_bent else []
    found: list[str] = []
    latin, unspaced = _pattern("latin").match, _pattern("unspaced").match
    for run in runs:
        if is_bent if run.isascii() or latin(run) else not unspaced(run):
            found.extend(_parts(run))
    return found


def _tails_of(text: str, runs: list[str]) -> list[str]:
    """The four letters at each place of a long word where the second word of a compound may begin.

    >>> [part[:-1] for part in _tails_of("der Kirschbaum", ["der", "kirschbaum"])]
    ['schb', 'chba', 'hbau', 'baum']
    """
    if len(runs) > MOST_OF_COMPOUNDS:
        return []
    long = [run for run in runs if len(run) >= LEAST_COMPOUND and run[0] < _BEYOND_LATIN and run.isalpha()]
    if not long or not _has_compounds(text, runs):
        return []
    return [run[at : at + TAIL] + PART for run in long for at in range(LEAST_HEAD, len(run) - TAIL + 1)]


def _asked_tails(text: str, runs: list[str]) -> list[str]:
    """What words of a question are found by as the second word of a compound; none in a sentence of English."""
    if not _elsewhere().isdisjoint(runs) and not _has_compounds(text, runs):
        return []
    return [run[:TAIL] + PART for run in runs if len(run) >= TAIL and run[0] < _BEYOND_LATIN and run.isalpha()]


def _has_compounds(text: str, runs: list[str]) -> bool:
    """Whether a text is in a language that writes compounds as one word, as German, Dutch, Swedish and Finnish do: its
    small words show it, or it is short and nothing in it shows another language."""
    own, elsewhere = _listed("small_of_compounds").intersection(runs), _elsewhere()
    if own:
        return len(own) > len(elsewhere.intersection(runs))
    if len(runs) > FEW_WORDS or not elsewhere.isdisjoint(runs):
        return False
    if text.isascii():
        return not any(is_common(_stem_of(run)) for run in runs)
    return not any(map(_is_unspaced, runs)) and _pattern("of_no_compounds").search(text.casefold()) is None


@lru_cache(1)
def _elsewhere() -> frozenset[str]:
    """The small words of English and of other languages without compounds."""
    return (_STOP | _foreign()) - _listed("small_of_compounds") - _listed("small_anywhere")


def is_part(token: str) -> bool:
    """Whether a token is a part of a word, and no word."""
    return token[-1:] == PART


def is_piece(token: str) -> bool:
    """Whether a token is of a script without spaces, and so a piece of a text rather than a word."""
    return _is_unspaced(token)


def _parts(run: str) -> list[str]:
    if "'" in run:
        run = _alone(run)
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


def _bends(text: str, runs: list[str], letters: str = "accented") -> bool:
    """Whether a text in Latin letters is in another language than English, as its small words and letters show."""
    english = sum(run in _STOP for run in runs)
    if text.isascii() and english >= 2:
        return False
    foreign = sum(map(_foreign().__contains__, runs))
    if not text.isascii():
        foreign += sum(1 for _ in _pattern(letters).finditer(unicodedata.normalize("NFC", text).casefold()))
    return foreign >= max(english, 1)


def is_english(text: str) -> bool:
    """Whether a text is in Latin letters and, as far as its small words show, in English."""
    runs = _runs(text)
    latin = sum(run.isascii() for run in runs)
    return 2 * latin > len(runs) and not _bends(text, runs)


@lru_cache(1)
def _foreign() -> frozenset[str]:
    """The small words of other languages in Latin letters that are none in English, as they are read (`für`: `fur`)."""
    telling = {word for word, codes in pack_files.table("words").items() if "en" not in codes}
    telling.update(pack_files.table("tokens")["small_words"].split())
    plain = {word for word in telling if word.isascii() and word.isalpha() and len(word) > 1}
    return frozenset(plain.union(_listed("folded"))) - _STOP - _listed("english_too")


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
    particles = pack_files.table("tokens")["particles"]
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
    """Weigh the tokens that a query asks of `index_tokens`: its words, their parts, two neighbours as one."""
    weights = query_weights(text, limit)
    runs = _runs(text)
    pairs = [_stem_of(one + other) for one, other in pairwise(runs[: limit + 1]) if _may_be_one(one, other)]
    found = {
        **dict.fromkeys(pairs, PAIR),
        **dict.fromkeys(_asked_tails(text, runs)[:limit], COMPOUND),
        **dict.fromkeys((*joined(text), *_parts_of(text, runs)[: len(BEGINNINGS) * limit]), 1.0),
    }
    found.pop("", None)
    return {**found, **weights}


def _may_be_one(word: str, after: str) -> bool:
    """Whether two neighbours in a question may be one word elsewhere, as `vs code` is."""
    if _is_unspaced(word) or _is_unspaced(after) or (word.isdigit() and after.isdigit()):
        return False
    return not (word in _STOP and after in _STOP)


_listed = partial(pack_files.words, "tokens")


def light_words(*, english: bool) -> frozenset[str]:
    """The tokens that tell little of what a text is about: `like` in “what is it like?”, `ist` in “wo ist er?”.

    >>> "ist" in light_words(english=is_english("wo ist der Schlüssel?")), "ist" in light_words(english=True)
    (True, False)
    """
    return _listed("light") if english else _light_elsewhere()


@lru_cache(1)
def _light_elsewhere() -> frozenset[str]:
    return _listed("light") | _listed("light_elsewhere") | frozenset(tokens(pack_files.table("tokens")["small_words"]))


def alike(word: str) -> list[str]:
    """The tokens that a note may have where a question has this one: English words, and Chinese terms that Taiwan and
    the mainland have each of their own.

    >>> alike("kid")[:2], alike("软体")
    (['child', 'son'], ['软件'])
    """
    if not word.isascii():
        return [_other_term()[word]] if word in _other_term() else []
    return str(pack_files.table("alike")["words"].get(word, "")).split()


@lru_cache(1)
def _other_term() -> dict[str, str]:
    pairs = [tuple(pair.split("=")) for pair in table("one-spelling")["terms"].split()]
    return {term: other for one, two in pairs for term, other in ((one, two), (two, one))}


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


# -- Common English words: who writes one of them meant it, and no name is made of them alone -------------------------

_LINES = table("common-words")["words"]  # read now, for a question opens no file


@lru_cache(1)
def _stems() -> frozenset[str]:
    return frozenset(tokens(" ".join(_LINES)))


def is_common(word: str) -> bool:
    """Whether a token is the stem of a common English word."""
    return word in _stems()


# Text as our patterns are written: with straight apostrophes, and the traditional characters in them simplified.


@lru_cache(1)
def _characters() -> dict[int, str]:
    return {ord(one): other for one, other in table("traditional")["characters"].split()}


def straight(text: str) -> str:
    """A sentence with the apostrophes that our patterns have, and without blanks around it."""
    return text.replace("’", "'").strip()


def simplified(text: str) -> str:
    """`text` with each traditional character that our patterns know as the simplified one; of the same length."""
    return text if text.isascii() else text.translate(_characters())


def without_accents(text: str) -> str:
    """`text` without the accents over its letters."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
