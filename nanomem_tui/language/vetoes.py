"""The certain differences between what an entry of the archive says and a line that would be written on its strength:
another number, unit, sign or currency, another person, a denial lost or made up, a question, a plan or a guess made a
fact, a condition left out, what is over made present. Nothing learned may overrule them.

The words are data: `packs/notions.json`, and by language in `packs/differences.json` opposites in rows; `another` one,
`if`, `quoted`, what leaves it `open`, until what `time`, `than`, `from`; `plain`: a pattern of what looks like a
condition or a plan and is none. `*` stands for any letters.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from nanomem_tui.language import lines, reader
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.pair_features import AND, LIGHT, Aligned, align, clauses, is_moved, means, sentences, shares
from nanomem_tui.language.simplified import without_accents
from nanomem_tui.language.spoken import without_speaker
from nanomem_tui.language.statement import UNSPACED, Statement, Token, is_of_speaker, statement
from nanomem_tui.language.tables import table
from nanomem_tui.language.values import equal

UNSAID = "the entries that it cites do not say it plainly"
DENIED = "the entries that it cites say the opposite"
ANOTHER = "the entries that it cites say it of another"
NAMED = "the entries that it cites name somebody or something else"
SUPPOSED = "the entries that it cites say it only of a case that may come, or as a possibility"
COUNTED = "the entries that it cites say it of another number or day"
OVER = "the entries that it cites say it of another time"
STILL = "the entries that it cites do not say that it is over"
CONDITION = "the entries that it cites say it only under a condition that it leaves out"

_OPEN = frozenset({"asked", "consider", "hedge", "hearsay", "provided"})
"""Marks of what is not told as a fact."""
_BEFORE = _OPEN | {"wrong", "if", "except"}
"""Marks that hold for what follows in the same sentence."""
_BEHIND = frozenset({"except", "if", "provided"})
"""Marks that hold for what stands before them in the same sentence."""
_RELATED = 0.4
"""The share of a line's words that a part has, below which it says nothing of it, for or against."""
_NOT = ("un", "in", "im", "ir", "dis", "non", "non-")
"""What makes the opposite of a word."""
_ROLES = frozenset({"do:owe", "do:lend", "do:teach", "do:call"})
"""What somebody does to somebody."""
_VERB_LAST = ("de", "ja", "ko", "zh")
"""Languages in which what is done may stand behind all else."""
_STRETCH = re.compile(r"[,;，；、。！？]\s*(?!\d)|(?<=[.!?])\s")
_SIGNED = re.compile(r"(?<![A-Za-z0-9.,:/-])[-−–]\s?(?=[$€£¥₽₩]?\d)[$€£¥₽₩]?([\d.,]+)")
_COMPARES = re.compile(r"[<>≤≥]=?|\w[+#]+(?!\w)")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_PERIOD = re.compile(r"([年月週周])(?=\d)")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ANDS = "|".join(word for word in sorted(AND) if word.isalpha() and word[0] < "一")
_AND = re.compile(rf"\s(?:{_ANDS})\s", re.IGNORECASE)


class Finding(NamedTuple):
    """What certainly tells a line from an entry, "" where nothing does; whether a clause of the entry has its very
    words, and whether its words stand in several clauses."""

    why: str
    is_literal: bool = False
    is_scattered: bool = False


class _Part(NamedTuple):
    """A part of a text as a statement, with the marks that the rest of its sentence lays on it.

    `opener`: the name, or the one of the family, that the sentence began with, where the part has no subject.
    """

    text: str
    read: Statement
    marks: frozenset[str]
    is_denied: bool
    is_clause: bool
    opener: Token | None = None


def difference(entry: str, line: str, language: str, about: str = "") -> Finding:
    """Return what certainly tells a line from what an entry says. `about`: the words that either need not have: the
    owner's name, the heading over the line."""
    about = _plain(about)
    said = [part for part in _parts(entry, language) if part.read.tokens or part.read.marks or not part.read.values]
    whole = statement(line, language)
    if any(_is_alike(part, whole, line) for part in said):
        return Finding("", True)
    literal, scattered = True, False
    for wanted in _stretches(line, language):
        fits = [align(part.read, wanted.read) for part in said]
        covered = [shares(fit)[1] for fit in fits]
        best = max(covered, default=0.0)
        near = [at for at, share in enumerate(covered) if share >= best - 0.001]
        known = frozenset(token.stem for part in said for token in part.read.tokens)
        found = [(at, _differs(said[at], wanted, fits[at], (about, line), known)) for at in near]
        if best < _RELATED:
            found = [(at, why and UNSAID) for at, why in found]
        if all(why for _, why in found):
            return Finding(next((why for at, why in found if said[at].is_clause), found[0][1]) if found else UNSAID)
        if any(_is_said_of_another(token, wanted.read, said) for at in near for token in fits[at].right):
            return Finding(ANOTHER)
        scattered |= not any(said[at].is_clause for at in near)
        literal &= any(not why and _is_literal(said[at], fits[at], about) for at, why in found)
    return Finding("", literal, scattered)


def takes_back(entry: str, line: str, language: str, about: str = "") -> str:
    """Return why an entry does not say plainly that a line is so no more; "" where a part of it does."""
    about, old, why = _plain(about), _with_marks([line], language)[0], STILL
    for part in _parts(entry, language):
        fit = align(part.read, old.read)
        lost = [token for token in fit.right if token.is_name or not token.notions]
        if lost or fit.values_right or all(_plain(ours.stem) in about for ours, _ in fit.both):
            continue
        if _is_of_another(part, old.read, about) or _names_another(part, old.read, fit, (about, line), frozenset()):
            why = ANOTHER
        elif not _ends(part, old, fit):
            continue
        elif _OPEN & part.marks - old.marks or _words_of("open", part.text, language):
            why = SUPPOSED
        elif {"if", "except", "some"} & part.marks - old.marks or _says_more(fit, part, about):
            why = CONDITION
        else:
            return ""
    return why


def _ends(part: _Part, old: _Part, fit: Aligned) -> bool:
    """Whether a part denies what a line says, or says that it is over, or that something changed from what both have:
    moved from Porto."""
    if part.is_denied != old.is_denied or ("lack" in part.marks) != ("lack" in old.marks):
        return True
    new = part.marks - old.marks
    before = (part.text[max(0, ours.at - 8) : ours.at] for ours, _ in fit.both)
    is_left = "change" in new and any(_words_of("from", text, old.read.language) for text in before)
    return is_left or bool({"end", "formerly", "wrong"} & new)


def _says_more(fit: Aligned, part: _Part, about: str) -> bool:
    """Whether a part says more than that a line is over: where, whom with, on which days it is so no more."""
    if part.marks & {"change", "formerly"}:
        return False
    ends = max((ours.at for ours, _ in fit.both), default=0)
    return any(not (token.is_name and token.at > ends) and _plain(token.stem) not in about for token in fit.left)


def _is_said_of_another(token: Token, wanted: Statement, said: Sequence[_Part]) -> bool:
    """Whether a word that the nearest part has not stands only in parts that begin with another name than a line."""
    parts = [part for part in said if part.is_clause and any(means(token, other) for other in part.read.tokens)]
    names = [_opening(part.read) or part.opener for part in parts]
    return bool(parts) and all(name is not None and not _is_in(name, wanted, _plain(wanted.normal)) for name in names)


def _is_alike(part: _Part, whole: Statement, line: str) -> bool:
    """Whether a part has the very words of a line, and nothing beside it touches them."""
    bases = [[value.base for value in side.values] for side in (part.read, whole)]
    if part.read.normal != whole.normal or bases[0] != bases[1] or part.marks != whole.marks:
        return False
    return part.is_denied == _is_denied(whole) and part.opener is None and not _has_other_sign(part.text, line)


@lru_cache(2048)
def _stretches(line: str, language: str) -> tuple[_Part, ...]:
    """The parts of a line between its commas that say something each; all of it where one is a mere word."""
    found = [part.strip() for part in _STRETCH.split(line) if part and part.strip()]
    if not all(len(part.split()) > 1 or (part[:1] > "\u3000" and len(part) > 3) for part in found):
        found = []
    return tuple(part for part in _with_marks(found or [line], language) if part.read.tokens or part.read.values)


def is_said(line: str, entry: str) -> bool:
    """Whether a text says a line in its very words, with nothing that touches them."""
    found = difference(entry, line, language_of(f"{entry} {line}"))
    return found.is_literal and not found.is_scattered


def have_one_value(old: str, new: str) -> bool:
    """Whether two lines give another value of the same, of which there is one at a time: where somebody lives."""
    language = language_of(f"{old} {new}")
    one, other = statement(old, language), statement(new, language)
    same = {notion for ours, _ in align(one, other).both for notion in ours.notions}
    return "one" in one.marks & other.marks and bool(same) and one.subject == other.subject


def denies(text: str) -> bool:
    """Whether a text denies something."""
    return _is_denied(statement(text))


_LIMITS = _OPEN | {"if", "except", "some", "wrong", "past", "formerly", "end", "not", "future", "lack"}


def limits(text: str) -> frozenset[str]:
    """Return the marks by which what a text says is so only at times, no more, not yet, or as somebody says."""
    return (statement(text).marks & _LIMITS) | _words_of("open", text, language_of(text))


def leaves_open(text: str) -> bool:
    """Whether a text itself says that something is a wish, a plan, a possibility or hearsay."""
    return bool(limits(text) - (_LIMITS - _OPEN))


@lru_cache(1024)
def _parts(entry: str, language: str) -> tuple[_Part, ...]:
    """The sentences of an entry, their clauses, and what stands between the `and`s of these."""
    result: list[_Part] = []
    opener: Token | None = None
    plain = re.compile(table("differences")["plain"].get(language, r"(?!)"), re.IGNORECASE)
    for row in entry.split("\n"):
        for found in sentences(lines.parted(row).text):
            sentence = without_speaker(plain.sub(" ", found.strip()))
            inside = [part.strip() for part in clauses(sentence) if part.strip()]
            read = _with_marks(inside, language, opener)
            if len(read) > 1:
                one = _read(sentence, language)
                result.append(_Part(sentence, one, one.marks, _is_denied(one), False, read[0].opener))
            for part in read:
                pieces = _AND.split(part.text)
                result += [part, *(_of_list(pieces, part, language) if len(pieces) > 1 else ())]
            opener = next((first for part in read if (first := _opening(part.read)) is not None), opener)
    return tuple(result)


def _with_marks(texts: Sequence[str], language: str, opener: Token | None = None) -> list[_Part]:
    """The clauses of a sentence, each with the marks that the others lay on it."""
    read = [_read(text, language) for text in texts]
    found = []
    within: Token | None = None
    for at, (text, one) in enumerate(zip(texts, read, strict=True)):
        # One that says nothing else, as `before that,`, lays all its marks on those behind it.
        before = [
            other.marks & _BEFORE if len(other.tokens) > 1 or other.values else other.marks for other in read[:at]
        ]
        own = _opening(one)
        owner = None if own or one.subject == "me" else within or (opener if one.subject == "he" else None)
        found.append(
            _Part(text, one, one.marks.union(*before) | _laid_behind(read[at + 1 :]), _is_denied(one), True, owner)
        )
        within = own or within
    return found


@lru_cache(4096)
def _read(text: str, language: str) -> Statement:
    """A clause as a statement, with the marks of words that only hold here."""
    one = statement(text, language)
    more = {"if", "provided"} if _words_of("if", text, language) else set()
    more |= {"hearsay"} if _words_of("quoted", text, language) else set()
    return one._replace(marks=one.marks | more) if more else one


def _of_list(pieces: Sequence[str], part: _Part, language: str) -> Iterator[_Part]:
    """What stands between the `and`s of a clause: all that was said before holds for it too."""
    marks, denied = part.marks - part.read.marks, False
    read = [_read(piece, language) for piece in pieces]
    opener = _opening(read[0]) or part.opener
    for at, (piece, one) in enumerate(zip(pieces, read, strict=True)):
        marks, denied = marks | one.marks, denied or _is_denied(one)
        owner = opener if at and _opening(one) is None else part.opener
        yield _Part(piece, one, marks | _laid_behind(read[at + 1 :]), denied, True, owner)


def _opening(one: Statement) -> Token | None:
    """The name, or the one of the family, that a statement begins with."""
    first, known = one.first, reader.pack(one.language)
    if first is not None and one.subject == "name" and one.language == "en":  # no word that is often said
        return first if first.stem not in known.weights or first.stem in known.names else None
    return first if one.subject.startswith(("name", "kin:", "pet:")) else None


def _laid_behind(read: Sequence[Statement]) -> frozenset[str]:
    """The marks that clauses lay on those before them."""
    return frozenset(mark for one in read if "asked" not in one.marks for mark in one.marks & _BEHIND)


def _differs(part: _Part, wanted: _Part, fit: Aligned, beside: tuple[str, str], known: frozenset[str]) -> str:
    """What certainly tells a part from a part of a line. `beside`: what neither need have, and the whole line."""
    one, new = part.read, wanted.read
    if fit.values_right or _has_other_unit(one, new) or _has_other_sign(part.text, wanted.text):
        return COUNTED
    if why := _turns(part, wanted) or _of_words(part.text, wanted.text, new.language):
        return why
    if _counts_another(one, new) or _is_value_left(part, wanted, fit):
        return COUNTED
    if _is_of_another(part, new, beside[0]) or _is_turned(part, wanted, fit):
        return ANOTHER
    if any("do:like" in token.notions for token in fit.right) and not _is_rule(part.text):
        return UNSAID  # it is so, and nobody said that they like it
    return _names_another(part, new, fit, beside, known)


def _turns(part: _Part, wanted: _Part) -> str:
    """Why a part does not say what is wanted: it denies, leaves open, limits or is over."""
    left, new = part.marks - wanted.marks, wanted.marks - part.marks
    if {"asked", "consider", "future"} & left and _is_rule(part.text) and _is_rule(wanted.text):
        left -= {"asked", "consider", "future"}
    plans = bool({"consider", "future"} & wanted.marks)
    if (_OPEN & left or "future" in left) and not (plans and not left & _OPEN):
        return SUPPOSED
    if "except" in left:
        return CONDITION
    lacks = ["lack" in side.marks for side in (part, wanted)]
    denies = [part.is_denied, wanted.is_denied]
    if (denies[0], lacks[0]) != (denies[1], lacks[1]) and not (denies[0] + lacks[0] == 1 == denies[1] + lacks[1]):
        return DENIED
    if {"hedge", "hearsay", "asked"} & new:
        return SUPPOSED
    if {"if", "except", "some"} & left or {"if", "except", "all"} & new:
        return CONDITION
    is_over = bool({"past", "formerly", "end"} & wanted.marks)
    was = bool({"past", "formerly"} & part.marks) and not {"change", "now"} & part.marks
    return OVER if (was and not is_over) or "formerly" in new else ""


def _is_rule(text: str) -> bool:
    """Whether a text asks for something of the assistant, or says what somebody prefers."""
    return lines.read(text).label in ("rule", "preference")


def _is_denied(one: Statement) -> bool:
    return bool(one.denials) or "end" in one.marks or "wrong" in one.marks


def _has_other_unit(one: Statement, wanted: Statement) -> bool:
    """Whether a number of a line has a unit in the part and none that is known in the line, or the other way round."""
    for value in wanted.values:
        alike = [other for other in one.values if equal(other, value)]
        if alike and all(other.kind != value.kind for other in alike):
            return True
    periods = [set(_PERIOD.findall(side.normal)) for side in (one, wanted)]
    return bool(periods[0] and periods[1] and not periods[0] & periods[1])


def _has_other_sign(said: str, line: str) -> bool:
    """Whether a number is below zero in one text and not in the other, or a sign as `<` or that of `C#` differs."""
    if {*_COMPARES.findall(line)} - {*_COMPARES.findall(said)} or {*"<>≤≥"} & {*said} - {*line}:
        return True
    for one, other in ((said, line), (line, said)):
        below = {found.strip(".,") for found in _SIGNED.findall(one)}
        plain = Counter(_NUMBER.findall(other)) - Counter(_SIGNED.findall(other))
        if any(number in plain for number in below):
            return True
    return False


def _counts_another(one: Statement, wanted: Statement) -> bool:
    """Whether a number is one of other things, while of those that the line counts there is another number."""
    for value in wanted.values:
        if (thing := _behind(wanted, value.end)) is not None:
            found = [(equal(other, value), _behind(one, other.end)) for other in one.values]
            of_it = {is_equal for is_equal, other in found if other is not None and means(thing, other)}
            if of_it == {False} and any(is_equal for is_equal, _ in found):
                return True
    return False


def _behind(one: Statement, end: int) -> Token | None:
    return next((token for token in one.ordered if 0 <= token.at - end < 4), None)


def _is_of_another(part: _Part, wanted: Statement, about: str) -> bool:
    """Whether a part is of another of the family than a line, or its sentence of somebody else."""
    one, opener = part.read, part.opener
    if opener is not None and not _is_in(opener, wanted, _plain(f"{about} {wanted.normal}")):
        return True
    theirs = wanted.kin - one.kin - {*(opener.notions if opener else ())}
    return bool(theirs) or (bool(one.kin - wanted.kin) and one.subject != "me")


def _names_another(part: _Part, wanted: Statement, fit: Aligned, beside: tuple[str, str], known: frozenset[str]) -> str:
    """Why the names of a part and a line differ: a part begins with another, or says it of what is another's."""
    one, about = part.read, beside[0]
    named = _plain(f"{about} {beside[1]} {wanted.normal}")
    opens = min((ours.at for ours, _ in fit.both), default=0)
    for token in fit.left:
        begins = token is one.first and one.subject == "name" and _opening(one) is not None
        if one.language in UNSPACED and one.subject == "" and not token.notions:
            begins = begins or (token is one.first and token.at == 0 and len(token.stem) == 1)
        if (begins or (token.is_name and one.subject != "me")) and token.at < opens and _plain(token.stem) not in named:
            return ANOTHER if token.at == 0 else NAMED
    owner = _plain(part.opener.stem if part.opener else "")
    names = (
        _plain(token.stem)
        for token in fit.right
        if token.is_name or (wanted.subject == "name" and token is wanted.first and token.stem in known)
    )
    return NAMED if any(name not in about and name != owner for name in names) else ""


def _is_value_left(part: _Part, wanted: _Part, fit: Aligned) -> bool:
    """Whether a line has the value from which something was changed: of two days the first."""
    if "change" not in part.marks or "change" in wanted.marks:
        return False
    for value in wanted.read.values:
        alike = [equal(one, value) for one in part.read.values if one.kind == value.kind]
        if alike and alike[0] and not alike[-1]:
            return True
    days = [token for token in part.read.ordered if any(notion.startswith("day:") for notion in token.notions)]
    return len(days) > 1 and [ours for ours, _ in fit.both if ours in days] == days[:1]


def _is_in(token: Token, wanted: Statement, named: str) -> bool:
    return _plain(token.stem) in named or any(means(token, other) for other in wanted.tokens)


def _plain(text: str) -> str:
    return without_accents(text.casefold())


def _is_turned(said: _Part, wanted: _Part, fit: Aligned) -> bool:
    """Whether names, or all words, that both have stand in each other's place: Tom owes Lena, Lena owes Tom."""
    one, pairs = said.read, sorted(fit.both, key=lambda pair: pair[0].at)
    for ours, theirs in pairs if "me" in one.who & wanted.read.who else ():
        before = (side.text[: verb.at].lower() for side, verb in ((said, ours), (wanted, theirs)))
        speaks = [any(is_of_speaker(word, one.language) for word in _WORD.findall(text)) for text in before]
        if _ROLES & {*ours.notions} and speaks[0] != speaks[1]:
            return True
    if not AND.isdisjoint(one.words):
        return False
    is_whole = not fit.left and not fit.right and one.language in UNSPACED
    if not is_whole and not _words_of("than", one.normal, one.language):
        texts = (said.text, wanted.text)
        pairs = [pair for pair in pairs if any(map(_has_capital, pair, texts))]
    order = [theirs.at for _, theirs in pairs]
    if order == sorted(order) or len(set(order)) != len(order):
        return False
    wanted_order = sorted(order)
    swapped = sum(ours != theirs for ours, theirs in zip(order, wanted_order, strict=True))
    return swapped == 2 or not is_moved(order, wanted_order)


def _has_capital(token: Token, text: str) -> bool:
    """Whether a word that does not begin a text has a capital."""
    return token.is_name or (token.at > 0 and text[token.at : token.at + 1].isupper())


def _is_literal(part: _Part, fit: Aligned, about: str) -> bool:
    """Whether a clause says every word of a line, and nothing before the last of them that the line has not."""
    if any(map(_tells, fit.right)) or fit.values_right or not part.is_clause or not (fit.both or fit.values_both):
        return False
    ends = max((ours.at for ours, _ in fit.both), default=0)
    ends = 9999 if part.read.language in _VERB_LAST else ends
    left = (token for token in fit.left if token.is_name or (token.at < ends and _tells(token)))
    return all(_plain(token.stem) in about for token in left)


def _tells(token: Token) -> bool:
    """Whether a word says more than to have, to want or to keep."""
    return not LIGHT & {*token.notions}


def _of_words(said: str, line: str, language: str) -> str:
    """What single words tell apart: before and after, the other one, a talk of something, a claim."""
    for ours, theirs in zip(_rows_of(said, language), _rows_of(line, language), strict=True):
        if ours and theirs and not ours & theirs:
            return DENIED
    words = [frozenset(_WORD.findall(text.lower())) for text in (said, line)]
    for one, other in (words, words[::-1]):
        if any(f"{prefix}{word}" in other - one for prefix in _NOT for word in one - other):
            return DENIED
    for kind, why in (("another", ANOTHER), ("open", SUPPOSED), ("time", OVER)):
        if _words_of(kind, said, language) - _words_of(kind, line, language):
            return why
    return ""


@lru_cache(4096)
def _rows_of(text: str, language: str) -> tuple[frozenset[str], ...]:
    """Of each row of opposites the words that a text has."""
    rows = table("differences")["opposites"].get(language, ())
    return tuple(_having(text, row.split(), language) for row in rows)


@lru_cache(8192)
def _words_of(kind: str, text: str, language: str) -> frozenset[str]:
    """The words of one kind that a text has."""
    return _having(text, table("differences")[kind].get(language, "").split(), language)


def _having(text: str, words: Sequence[str], language: str) -> frozenset[str]:
    """Those of some words that a text has; `*` stands for any letters, `_` for the space between two words."""
    lower = text.lower().replace("’", "'")
    if language in UNSPACED:
        return frozenset(word for word in words if word in lower)
    there = _WORD.findall(lower)
    there += ["_".join(pair) for pair in pairwise(there)]
    return frozenset(word for word in words if (fnmatch.filter(there, word) if "*" in word else word in there))
