"""English word forms: one stem for `run`, `runs`, `running` and `ran`, so that a question finds it told otherwise.

Owns the rules of suffixes (those of the published Porter2 algorithm) and a table of irregular forms. Knows no index;
`tokens` decides which words come here: lower-case ASCII only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import TypeVar

_VOWELS = "aeiouy"
_VALID_LI = "cdeghkmnrt"
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_REGION = re.compile(r"[aeiouy][^aeiouy]")
_HAS_VOWEL = re.compile(r"[aeiouy]")
_LONG_PREFIXES = ("gener", "commun", "arsen", "organ", "univers", "past", "later", "emerg", "inter")
_WHOLE = frozenset(
    "only early sky outing evening inning earring herring canning succeed proceed exceed wedding building anything "
    "everything something nothing morning during news bias atlas cosmos".split()
)

S = TypeVar("S")

_IRREGULAR = {
    form: base
    for base, forms in (
        line.split(": ")
        for line in (
            "be: been being|become: became|begin: began begun|bite: bit bitten|blow: blew blown|break: broke broken"
            "|bring: brought|build: built|buy: bought|catch: caught|choose: chose chosen|come: came|deal: dealt"
            "|draw: drew drawn|drink: drank drunk|drive: drove driven|eat: ate eaten|fall: fell fallen|feed: fed"
            "|feel: felt|fight: fought|find: found|fly: flew flown|forget: forgot forgotten|freeze: froze frozen"
            "|get: got gotten|give: gave given|go: went gone goes|grow: grew grown|hang: hung|hear: heard"
            "|hide: hid hidden|hold: held|keep: kept|know: knew known|lay: laid|lead: led|leave: left|lend: lent"
            "|lose: lost|make: made"
            "|mean: meant|meet: met|pay: paid|ride: rode ridden|ring: rang rung|rise: rose risen|run: ran|say: said"
            "|see: saw seen|seek: sought|sell: sold|send: sent|shake: shook shaken|shine: shone|shoot: shot|show: shown"
            "|sing: sang sung|sink: sank sunk|sit: sat|sleep: slept|speak: spoke spoken|spend: spent|stand: stood"
            "|steal: stole stolen|stick: stuck|strike: struck|swear: swore sworn|sweep: swept|swim: swam swum"
            "|take: took taken|teach: taught|tear: tore torn|tell: told|think: thought|throw: threw thrown"
            "|understand: understood|wake: woke woken|wear: wore worn|win: won|write: wrote written"
            "|child: children|foot: feet|goose: geese|knife: knives|leaf: leaves|life: lives|man: men|mouse: mice"
            "|person: people persons|tooth: teeth|wife: wives|wolf: wolves|woman: women|shelf: shelves|half: halves"
            "|good: better best|bad: worse worst|dive: dove|dig: dug|sew: sewn|bend: bent|spin: spun|shrink: shrank"
            "|skate: skating|die: dying died|lie: lying|tie: tying|ski: skis skied|news: news|series: series"
            "|mom: mum mother mommy|dad: father daddy|bike: bicycle bicycles bikes|photo: photograph photographs photos"
            "|movie: film films movies|kid: kids|gym: gyms"
        ).split("|")
    )
    for form in forms.split()
}

_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("ization", "ize"), ("fulness", "ful"), ("ousness", "ous"),
    ("iveness", "ive"), ("biliti", "ble"), ("lessli", "less"), ("entli", "ent"), ("ation", "ate"), ("alism", "al"),
    ("aliti", "al"), ("ousli", "ous"), ("iviti", "ive"), ("fulli", "ful"), ("enci", "ence"), ("anci", "ance"),
    ("abli", "able"), ("izer", "ize"), ("ator", "ate"), ("alli", "al"), ("bli", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("ational", "ate"), ("tional", "tion"), ("alize", "al"), ("icate", "ic"), ("iciti", "ic"), ("ical", "ic"),
    ("ness", ""), ("ful", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "al",
    "er", "ic",
)  # fmt: skip


def _by_last_letter(suffixes: Iterable[S], ending: Callable[[S], str]) -> dict[str, tuple[S, ...]]:
    """Suffixes by the letter that they end in, each group in its order: most words need to be held against few."""
    found: dict[str, list[S]] = {}
    for suffix in suffixes:
        found.setdefault(ending(suffix)[-1], []).append(suffix)
    return {letter: tuple(group) for letter, group in found.items()}


_STEP_2_BY_LETTER = _by_last_letter(_STEP_2, itemgetter(0))
_STEP_3_BY_LETTER = _by_last_letter(_STEP_3, itemgetter(0))
_STEP_4_BY_LETTER = _by_last_letter(_STEP_4, str)


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word; words of two letters and words with digits stay as they are."""
    word = _IRREGULAR.get(word, word)
    if len(word) < 3 or not word.isalpha():
        return word
    if word in _WHOLE or word.removesuffix("s") in _WHOLE:
        return word.removesuffix("s") if word not in _WHOLE else word
    word = _consonant_y(word)
    r1 = _after_region(word, 0)
    if word.startswith(_LONG_PREFIXES):
        r1 = next(len(prefix) for prefix in _LONG_PREFIXES if word.startswith(prefix))
    r2 = _after_region(word, r1)
    word = _plural(word)
    word = _past(word, r1)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _derived(word, r1, r2)
    word = _last_suffix(word, r2)
    return _final(word, r1, r2).lower()


def _consonant_y(word: str) -> str:
    """`y` as a consonant (first, or after a vowel) written as `Y`."""
    if "y" not in word:
        return word
    letters = list(word)
    for at, letter in enumerate(letters):
        if letter == "y" and (at == 0 or letters[at - 1] in _VOWELS):
            letters[at] = "Y"
    return "".join(letters)


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
    for suffix in ("ingly", "edly", "ing", "ed"):
        if not word.endswith(suffix):
            continue
        base = word[: -len(suffix)]
        if not _HAS_VOWEL.search(base):
            return word
        if base.endswith(("at", "bl", "iz")):
            return base + "e"
        if base.endswith(_DOUBLES):
            return base[:-1] if len(base) > 3 or base[0] not in _VOWELS else base
        return base + "e" if r1 >= len(base) and _ends_short(base) else base
    return word


def _ends_short(word: str) -> bool:
    """Whether the word ends in a short syllable: vowel between consonants (the last not w, x, Y), or vowel first."""
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    return (
        len(word) > 2
        and word[-1] not in _VOWELS
        and word[-1] not in "wxY"
        and word[-2] in _VOWELS
        and word[-3] not in _VOWELS
    )


def _derived(word: str, r1: int, r2: int) -> str:
    """Steps 2 and 3: `ization` to `ize`, then `ize` to nothing further; only behind the first region."""
    for suffix, rest in _STEP_2_BY_LETTER.get(word[-1:], ()):
        if word.endswith(suffix):
            word = word[: -len(suffix)] + rest if len(word) - len(suffix) >= r1 else word
            break
    else:
        if word.endswith("ogi") and len(word) - 3 >= r1 and word[-4:-3] == "l":
            word = word[:-1]
        elif word.endswith("li") and len(word) - 2 >= r1 and word[-3:-2] in _VALID_LI:
            word = word[:-2]
    for suffix, rest in _STEP_3_BY_LETTER.get(word[-1:], ()):
        if word.endswith(suffix):
            return word[: -len(suffix)] + rest if len(word) - len(suffix) >= r1 else word
    return word[:-5] if word.endswith("ative") and len(word) - 5 >= r2 else word


def _last_suffix(word: str, r2: int) -> str:
    for suffix in _STEP_4_BY_LETTER.get(word[-1:], ()):
        if word.endswith(suffix):
            return word[: -len(suffix)] if len(word) - len(suffix) >= r2 else word
    if word.endswith(("sion", "tion")) and len(word) - 3 >= r2:
        return word[:-3]
    return word


def _final(word: str, r1: int, r2: int) -> str:
    if word.endswith("e"):
        base = word[:-1]
        return base if len(base) >= r2 or (len(base) >= r1 and not _ends_short(base)) else word
    return word[:-1] if word.endswith("ll") and len(word) - 1 >= r2 else word
