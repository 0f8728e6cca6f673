"""What a wish to forget names: of “scratch the note about my therapist” it is the therapist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from nanomem_tui.language import detect, features, reader
from nanomem_tui.language.tokens import tokens

USUAL, USUAL_KOREAN, USUAL_RUN = 18, 8, 4
"""How much, in steps of the weights that were learned, a word and the parts of it, or a run of Chinese or Japanese
characters, make of a sentence a wish to forget for it to be one of the words of such wishes."""
MOST = 40
"""Clauses of a wish, and names in one, that are looked for."""
_CLAUSE = re.compile(r"[,;:，；：、。!！?？\n()（）…–—]+|\s-\s")
_REASON = re.compile(r"(?<=\w )(?:because|weil|porque|parce que|perché|потому что)\b.*|(?<=\w)因[为為].*", re.DOTALL)
_RUN = re.compile(r"[^\W_]+")
_APART = re.compile("['’]")
_WORD_OF_TWO = re.compile(r"(?=([゠-ヿ]{2}|[㐀-鿿]{2}))")
_HIRAGANA, _HANGUL, _CYRILLIC = re.compile("[぀-ゟ]"), re.compile("[가-힯]"), re.compile("[Ѐ-ӿ]")


class Name(NamedTuple):
    """A word that names what is meant. `is_rare`: it is rare in its language, so that it names one thing. `is_usual`:
    such wishes have it often, whatever they name (“erase”, “the note”, but also “my salary”)."""

    word: str
    is_rare: bool = False
    is_usual: bool = False


def named(wish: str) -> list[list[Name]]:
    """Return for each clause of a wish to forget the words that may name what is meant; in Chinese and Japanese runs of
    two characters, else single ones.

    >>> named("scratch the note about my therapist")[0][-1]
    Name(word='therapist', is_rare=True, is_usual=False)
    """
    learned = reader.pack(detect.language_of(wish))
    clauses = [clause for part in _CLAUSE.split(_REASON.sub("", wish)) if (clause := part.strip())]
    found = [_of_characters(one, learned) if features.is_wide(one) else _of_words(one, learned) for one in clauses]
    return [names[:MOST] for names in found if names][:MOST]


def _of_words(clause: str, learned: reader.Pack) -> list[Name]:
    found: list[Name] = []
    for word in features.tokens(clause):
        if word[0].isalnum() and learned.common.isdisjoint((word, word.partition("'")[0])):
            pull = _pull((word, *features.parts_of(word)), learned)
            is_usual = word in learned.forgetting or pull >= (USUAL_KOREAN if _HANGUL.match(word) else USUAL)
            found.append(Name(word, word in learned.names or word not in learned.weights, is_usual))
    return found


def _pull(found: Iterable[str], learned: reader.Pack) -> int:
    """How much these features make of a sentence a wish to forget."""
    at = learned.labels.index("forget")
    return sum(learned.weights[one][at] - reader.ZERO for one in found if one in learned.weights)


def _of_characters(clause: str, learned: reader.Pack) -> list[Name]:
    """What is left of a clause without the longest runs that such wishes have, in runs of two characters; in Japanese
    without those that join words, and with the words that such wishes have."""
    rest = clause.rstrip("了吧啊呀啦")
    for length in (3, 2, 1):
        for run in (clause[at : at + length] for at in range(len(clause) - length + 1)):
            rest = rest.replace(run, " " * length) if run in learned.forgetting else rest
    runs = _RUN.findall(rest)
    found = [Name(run, run not in learned.weights) for run in runs if run.isascii()]
    wide = [run for run in runs if not run.isascii()]
    for run in [one for one in wide if len(one) > 1] or wide:
        pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        usual = [_pull([pair], learned) >= USUAL_RUN for pair in pairs]
        for at, pair in enumerate(pairs):
            found.append(Name(pair, pair not in learned.weights, any(usual[max(at - 1, 0) : at + 2])))
    if not _HIRAGANA.search(clause):
        return found
    found = [name for name in found if not _HIRAGANA.search(name.word)]
    known = [name.word for name in found]
    return found + [Name(run, is_usual=True) for run in dict.fromkeys(_WORD_OF_TWO.findall(clause)) if run not in known]


def standing_in(names: Sequence[Name], texts: Sequence[str]) -> list[list[Name]]:
    """Return for each text those of the names that stand in it, if in another form (`психолога`, `психологу`)."""
    held = [
        frozenset(tokens(text) + (tokens(apart) if (apart := _APART.sub(" ", text)) != text else [])) for text in texts
    ]
    by_start: dict[str, list[str]] = {}
    for word in frozenset[str]().union(*held):
        by_start.setdefault(word[:2], []).append(word)
    forms = {name: [_forms(word, by_start) for word in tokens(name.word.rpartition("'")[2])] for name in names}
    return [[name for name in names if forms[name] and not any(map(words.isdisjoint, forms[name]))] for words in held]


def _forms(word: str, by_start: Mapping[str, Iterable[str]]) -> list[str]:
    return [other for other in by_start.get(word[:2], ()) if other == word or _is_form(word, other)]


def _is_form(one: str, other: str) -> bool:
    """Whether two words are likely forms of one."""
    short, long = sorted((len(one), len(other)))
    same = next((at for at, (letter, wanted) in enumerate(zip(one, other, strict=False)) if letter != wanted), short)
    if _HANGUL.match(one):
        return same >= 2 and same >= short - 1
    if _CYRILLIC.match(one):
        return same >= 3 and long - same <= 2
    return (
        (same >= 5 and 5 * same >= 3 * long) or other in (f"{one}s", f"{one}es") or one in (f"{other}s", f"{other}es")
    )
