"""What shows how two statements stand to each other: which words of the one the other has, which values are equal, who
each is about, and what each says beside it (not, no longer, now, also, maybe). And what shows whether an entry of the
archive says plainly what a line says: how much of the line stands in one sentence, in one clause, in all of it. The
trainer (`scripts/language/teach_pairs.py`) and the judge (`compare`) see the same features.
"""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from nanomem_tui.language import classify
from nanomem_tui.language import sentences as language_sentences
from nanomem_tui.language.classify import language_of
from nanomem_tui.language.pack_files import table
from nanomem_tui.language.statements.statement import (
    UNSPACED,
    Statement,
    Token,
    is_of_speaker,
    statement,
    without_speaker,
)
from nanomem_tui.language.statements.values import Value, equal, match_values
from nanomem_tui.language.tokens import without_accents

VERSION = 3
"""Changes when the features do: a pack of another version is made anew."""
MARKS = (
    "not", "lack", "end", "change", "now", "lately", "also", "hedge", "hearsay", "past", "formerly", "future", "once",
    "wrong", "asked", "consider", "new", "if", "except", "all", "some", "ai",
)  # fmt: skip
_TELLING = ("kin", "env", "side", "birth", "day", "part", "pet", "where", "via", "lang", "color", "drinkable", "freq")
"""Groups of words of which each excludes the others."""
_NAMED = ("drinkable:", "lang:", "color:", "pet:")
"""Of what words stand for a thing as names do: tea, German."""
AND = frozenset("and y e o et ou und oder or и или 和 跟 或 と や 와 과".split())
"""Words between what may stand in any order."""
LIGHT = frozenset({"do:have", "do:please", "do:want", "do:make", "do:keep", "do:call", "do:run_in"})
"""What words mean that say little about what a statement is of."""


_SENTENCE = re.compile(r"(?<=[!?;])\s+|(?<=[^\d\s]\.)\s+|(?<=\d{3}\.)\s+|(?<=[。！？；])|\n+")
_CLAUSE = re.compile(
    r"[,:](?!\d)|[;，；：、。！？—–\n]+|(?<=[!?])\s|(?<=[^\d\s]\.)\s|(?<=\d{3}\.)\s|\s-\s|"
    r"\s(?:but|aber|sondern|pero|sino|mais|mas|ma|но|а|while|whereas|because|weil)\s|但|不过|지만 "
)


def sentences(entry: str) -> Sequence[str]:
    """Return the sentences of an entry."""
    return [part for part in _SENTENCE.split(entry) if part.strip()] or [entry]


def clauses(entry: str) -> Sequence[str]:
    """Return the parts of an entry between its commas and words like `but`."""
    return [part for part in _CLAUSE.split(entry) if part and part.strip()] or [entry]


class Aligned(NamedTuple):
    """The words of two statements held together: what only the one has, what only the other has, and the pairs."""

    left: list[Token]
    right: list[Token]
    both: list[tuple[Token, Token]]
    values_left: list[Value]
    values_right: list[Value]
    values_both: int


def align(one: Statement, other: Statement) -> Aligned:
    """Hold the words and values of two statements together: the same words, then those that mean one thing."""
    firsts = {token.stem: token for token in reversed(other.tokens)}
    both = [(token, firsts.pop(token.stem)) for token in one.tokens if token.stem in firsts]
    rest = [token for token in other.tokens if all(token is not theirs for _, theirs in both)]
    left = []
    for token in one.tokens:
        if any(token is ours for ours, _ in both):
            continue
        found = next((theirs for theirs in rest if _are_alike(token, theirs)), None)
        if found is not None:
            rest.remove(found)
            both.append((token, found))
        elif not any(means(token, theirs) for _, theirs in both):  # what stands twice in the one, once in the other
            left.append(token)
    rest = [token for token in rest if not any(means(token, ours) for ours, _ in both)]
    return Aligned(left, rest, both, *match_values(one.values, other.values))


def means(one: Token, other: Token) -> bool:
    """Whether two words are one, or mean one thing."""
    return one.stem == other.stem or not set(one.notions).isdisjoint(other.notions)


def _are_alike(one: Token, other: Token) -> bool:
    """Whether two words mean one thing, or are forms of one word."""
    return means(one, other) if one.notions and other.notions else _are_forms(one.stem, other.stem)


@lru_cache(16384)
def _are_forms(a: str, b: str) -> bool:
    """Whether two words are forms of one: they begin alike, or one is part of the other."""
    short, long = sorted((a, b), key=len)
    if short and "\uac00" <= short[0] <= "\ud7a3":
        return len(short) > 1 and short[:2] == long[:2] and len(long) <= 2 * len(short)
    if len(short) < 3 or (short[:2] != long[:2] and len(short) < 4):
        return False
    size = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if (size >= 4 and size >= 0.6 * len(long)) or (size == len(short) and len(long) - size <= 3):
        return True
    return len(short) >= 4 and short in long and len(long) > 6


def of_pair(one: Statement, other: Statement, found: Aligned) -> Iterator[str]:
    """Find the features of two statements, `other` said later. `found`: the two held together (`align`)."""
    from rapidfuzz.fuzz import partial_ratio, ratio

    level = level_of(found)
    yield from _of_shares(one, other, found)
    yield from _of_marks(one, other, level)
    denied = state_of(bool(one.denials), bool(other.denials))
    ended = state_of("end" in one.marks, "end" in other.marks)
    yield f"denied {denied} ended {ended}"
    yield f"denied {denied} lacks {state_of('lack' in one.marks, 'lack' in other.marks)}"
    yield f"denied {denied} {level}"
    values = _of_values(found)
    yield from (f"values {value} denied {denied}" for value in values[:1])
    yield from _of_slot(one, other, found)
    new = other.marks - one.marks
    turns = bool({"change", "now"} & new)
    turn = ("turn" if turns else "end" if "end" in new else "") + ("also" if "also" in new else "")
    yield f"turn {turn} {denied} {level}"
    yield f"turn {turn} {values[0] if values else ''} new {bool(found.right)}"
    doubt = f"{'once' if {'once', 'past', 'some'} & new else ''} {'now' if turns else ''}".strip()
    doubt = "open" if other.asks or {"hedge", "hearsay"} & new else doubt
    yield f"doubt {doubt} values {values[0] if values else ''}"
    yield f"doubt {doubt} {level}"
    names = (
        f"subjects {subjects(one, other)}",
        f"people {people(one, other)}",
        *(f"values {value}" for value in values),
    )
    for name in names:
        yield name
        yield f"{name} {level}"
    tells = {notion.partition(":")[0] for token in found.right for notion in token.notions} & {*_TELLING}
    yield f"new {bool(found.values_right or tells)} denied {denied} ended {ended} {bool(found.right)}"
    if one.subject == "me" and other.subject == "name" and "me" in other.who:
        yield "roles"
    yield from _of_attribute(one, other, found)
    yield from _of_ends(one, other, found, level)
    whole, part = ratio(one.normal, other.normal), partial_ratio(one.normal, other.normal)
    yield f"ratio {int(whole // 10)}"
    yield f"part {int(part // 10)}"
    yield f"ratio {int(whole // 20)} {level}"
    yield from _of_words(found, level, denied)
    if one.asks or other.asks:
        yield f"asks {state_of(one.asks, other.asks)}"
    yield f"unspaced {one.language in UNSPACED} {level}"


def _of_marks(one: Statement, other: Statement, level: str) -> Iterator[str]:
    """What one of two statements says beside it, and the other does not."""
    for mark in MARKS:
        if state := state_of(mark in one.marks, mark in other.marks):
            yield f"{mark} {state}"
            yield f"{mark} {state} {level}"


def _of_slot(one: Statement, other: Statement, found: Aligned) -> Iterator[str]:
    """Whether the two differ in one place only, and are of what has one value at a time."""
    left, right = len(found.left) + len(found.values_left), len(found.right) + len(found.values_right)
    single = state_of("one" in one.marks, "one" in other.marks)
    yield f"one {single} {min(left, 2)} {min(right, 2)}"
    if left == right == 1 and found.both:
        slot = f"slot {'value' if found.values_left or found.values_right else 'word'}"
        yield f"{slot} {single}"
        yield f"{slot} {single} {subjects(one, other)}"
        yield f"{slot} first {any(token.at < 2 for token in (*found.left, *found.right))}"
        yield from (f"slot {notion}" for ours, _ in found.both for notion in ours.notions)
    elif not left and not right:
        are_moved = sorted(one.words) == sorted(other.words)
        order = "same" if one.words == other.words else "turned" if are_turned(one, other) else "moved"
        yield f"order {order if are_moved else ''}"


def _of_attribute(one: Statement, other: Statement, found: Aligned) -> Iterator[str]:
    """How much of what each gives a value of, and of the value, the other has: a phone, and which one."""
    ours = _split(one, [token for token, _ in found.both], found.left, found.values_left)
    theirs = _split(other, [token for _, token in found.both], found.right, found.values_right)
    several = state_of(one.has_several, other.has_several)
    for name, split in (("a", ours), ("b", theirs)):
        if split:
            yield f"attribute {name} {split}"
            yield f"attribute {name} {split} several {several}"
    if ours or theirs:
        yield f"attribute {ours or 'none'} {theirs or 'none'}"
        yield f"attribute {ours or 'none'} {theirs or 'none'} several {several}"


def _split(side: Statement, both: Sequence[Token], alone: Sequence[Token], values: Sequence[Value]) -> str:
    """How much of its attribute and of its value a statement shares; "" where it has not that form."""
    if not side.value_at:
        return ""
    before = [sum(token.at < side.value_at for token in tokens) for tokens in (both, alone)]
    behind = [len(both) - before[0], len(alone) - before[1] + sum(value.start >= side.value_at for value in values)]
    return " of ".join("none" if not shared else "some" if left else "all" for shared, left in (before, behind))


def are_turned(one: Statement, other: Statement) -> bool:
    """Whether two statements have the same words, and names in each other's place: who does what to whom differs."""
    if sorted(one.words) != sorted(other.words) or not AND.isdisjoint(one.words):
        return False
    names = (
        [token.stem for token in side.ordered if not token.notions or token.notions[0].startswith(_NAMED)]
        for side in (one, other)
    )
    return next(names) != next(names) and not is_moved(one.words, other.words)


def is_moved(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether two orders of the same things differ in that a part of one stands elsewhere in the other."""
    apart = [at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    ours, theirs = (list(side[apart[0] : apart[-1] + 1]) if apart else [] for side in (one, other))
    return any(ours[at:] + ours[:at] == theirs for at in range(1, len(ours)))


def state_of(one: bool, other: bool) -> str:
    return "both" if one and other else "a" if one else "b" if other else ""


def step(share: float) -> int:
    return 5 if share >= 0.999 else int(share * 5)


def shares(found: Aligned) -> tuple[float, float]:
    """How much of each statement the other has, in words and values."""
    both = weight([ours for ours, _ in found.both]) + found.values_both
    ours = weight(found.left) + len(found.values_left) + both
    theirs = weight(found.right) + len(found.values_right) + both
    return both / (ours or 1), both / (theirs or 1)


def weight(tokens: Sequence[Token]) -> float:
    """How much words tell: a character of a script without spaces is half a word."""
    return sum(
        0.3 if not LIGHT.isdisjoint(token.notions) else 1.0 if token.notions or len(token.stem) > 1 else 0.5
        for token in tokens
    )


def level_of(found: Aligned) -> str:
    """How alike two statements are, roughly."""
    a, b = shares(found)
    high, low = max(a, b), min(a, b)
    upper = "H" if high >= 0.99 else "h" if high >= 0.6 else "m" if high >= 0.3 else "l"
    return upper + ("h" if low >= 0.7 else "m" if low >= 0.4 else "l")


def _of_shares(one: Statement, other: Statement, found: Aligned) -> Iterator[str]:
    a, b = shares(found)
    left = int(weight(found.left) + 0.5) + len(found.values_left)
    right = int(weight(found.right) + 0.5) + len(found.values_right)
    yield "always"
    yield f"of a {step(a)}"
    yield f"of b {step(b)}"
    yield f"of both {step(a)} {step(b)}"
    yield f"left {min(left, 4)}"
    yield f"right {min(right, 5)}"
    yield f"left {min(left, 3)} right {min(right, 3)}"
    yield f"pairs {min(len(found.both), 5)}"
    order = [theirs.at for _, theirs in found.both]
    yield f"order {order == sorted(order)} {min(left, 2)} {min(right, 2)}"
    if not found.left and not found.right:
        yield "words all"
    size = (len(other.tokens) + 1) / (len(one.tokens) + 1)
    yield f"size {sum(size >= least for least in (0.6, 0.9, 1.15, 1.8))}"


def _of_values(found: Aligned) -> list[str]:
    """How the values stand: one differs from one of its kind, or they are equal or on one side only."""
    result = []
    for value in found.values_left:
        rival = next((one for one in found.values_right if rivals(value, one)), None)
        if rival is not None:
            result += ["differ", f"differ {value.kind.split()[0]}"]
            if value.kind != rival.kind:
                result.append("differ kind")
            if value.amount is not None and rival.amount is not None and value.amount == -rival.amount:
                result.append("differ sign")
    sides = state_of(bool(found.values_left), bool(found.values_right)).replace("both", "other")
    result = result or ([sides] if sides else ["equal"] if found.values_both else [])
    return [*result, "some equal"] if result and found.values_both else result


def rivals(one: Value, other: Value) -> bool:
    """Whether two values that differ are of one kind, or the same number of two units."""
    if one.amount is not None and one.amount == other.amount:
        return True
    kinds = {one.kind.split()[0], other.kind.split()[0]}
    return len(kinds) == 1 or "number" in kinds or kinds == {"clock", "time"}


def people(one: Statement, other: Statement) -> str:
    """Whether two statements are of the same people."""
    ours, theirs = one.kin, other.kin
    if ours and theirs:
        return "kin same" if ours == theirs else "kin part" if ours & theirs else "kin other"
    kin = f"kin {state_of(bool(ours), bool(theirs))} " if ours or theirs else ""
    return f"{kin}me {state_of('me' in one.who, 'me' in other.who)}"


def subjects(one: Statement, other: Statement) -> str:
    """Whom or what the two are about, told as kinds."""
    ours, theirs = (side.subject.partition(":")[0] for side in (one, other))
    return f"same {ours}" if one.subject == other.subject else f"{ours} {theirs}"


def _of_ends(one: Statement, other: Statement, found: Aligned, level: str) -> Iterator[str]:
    """Whether the first and the last word of each has its like in the other: the first tells what it is about."""
    ends = []
    for side, alone in ((one, found.left), (other, found.right)):
        ends.append([bool(side.tokens) and side.ordered[at] in alone for at in (0, -1)])
    first = f"first {ends[0][0]} {ends[1][0]}"
    yield first
    yield f"{first} {level}"
    yield f"{first} last {ends[0][1]} {ends[1][1]}"
    yield f"first {ends[0][0]} values {bool(found.values_left)} {bool(found.values_right)}"


def _of_words(found: Aligned, level: str, denied: str) -> Iterator[str]:
    """What the words are that only one has: by what they mean, and as they are."""
    groups: list[set[str]] = []
    for side, tokens in (("a", found.left), ("b", found.right)):
        notions = [notion for token in tokens for notion in token.notions]
        groups.append({notion.partition(":")[0] for notion in notions})
        yield from (f"{side} {notion}" for notion in notions)
        yield from (f"{side}: {token.stem[:6]}" for token in tokens if not token.notions)
    for group in groups[0] & groups[1]:
        yield f"swap {group}"
        yield f"swap {group} denied {denied}"
        yield f"swap {group} {level}"
    yield from (f"only a {group}" for group in groups[0] - groups[1] if group in _TELLING)
    yield from (f"only b {group}" for group in groups[1] - groups[0] if group in _TELLING)
    yield from (f"both {notion}" for ours, _ in found.both for notion in ours.notions)
    names = [min(sum(token.is_name for token in tokens), 2) for tokens in (found.left, found.right)]
    yield f"names {names[0]} {names[1]}"
    plain = [min(sum(not token.notions for token in tokens), 3) for tokens in (found.left, found.right)]
    yield f"plain {plain[0]} {plain[1]}"
    shared = [ours.notions[0].partition(":")[0] if ours.notions else "_" for ours, _ in found.both]
    yield f"shared plain {min(shared.count('_'), 4)}"
    yield f"shared {'+'.join(sorted(set(shared)))}"


def of_evidence(entry: str, line: str, language: str) -> set[str]:
    """Return the features of an entry and a line that might be written on its strength."""
    whole, wanted = statement(entry, language), statement(line, language)
    parts, small = sentences(entry), clauses(entry)
    best, held, _ = _nearest(parts, wanted)
    clause, fit, over = _nearest(small, wanted)
    there = align(whole, wanted)
    found = {f"best {name}" for name in of_pair(best, wanted, held) if not name.startswith("attribute ")}
    found.update(_of_marks(whole, wanted, str(step(shares(there)[1]))))
    found.update(f"clause {name}" for name in _of_marks(clause, wanted, level_of(fit)))
    found.update(f"elsewhere {mark}" for mark in MARKS if mark in whole.marks - clause.marks - wanted.marks)
    return found | {
        f"missing {min(int(weight(there.right) + 0.5), 5)}",
        f"covered {step(shares(there)[1])}",
        f"values missing {min(len(there.values_right), 2)}",
        f"names missing {min(sum(token.is_name for token in there.right), 2)}",
        f"denials {min(whole.denials, 3)} {min(wanted.denials, 2)}",
        f"people {people(whole, wanted)}",
        f"people new {bool(wanted.kin - whole.kin)}",
        f"clause {step(shares(fit)[1])}",
        f"clause {step(shares(fit)[1])} of {step(shares(there)[1])}",
        f"clauses {min(len(small), 5)} over {min(over, 4)}",
        f"sentences {min(len(parts), 4)}",
        f"clause people {people(clause, wanted)}",
        f"clause subjects {subjects(clause, wanted)}",
        f"clause values {bool(fit.values_right)} {bool(there.values_right)}",
        f"clause denied {state_of(bool(clause.denials), bool(wanted.denials))} {level_of(fit)}",
        f"asks {best.asks} {clause.asks}",
    }


def _nearest(texts: Sequence[str], wanted: Statement) -> tuple[Statement, Aligned, int]:
    """The one of some texts that has most of what is wanted, held together with it; and how many have any of it."""
    read = [statement(text, wanted.language) for text in texts]
    fits = [align(one, wanted) for one in read]
    at = max(range(len(read)), key=lambda at: (shares(fits[at])[1], -len(read[at].tokens)))
    return read[at], fits[at], sum(bool(fit.both or fit.values_both) for fit in fits)


# The certain differences between what an entry of the archive says and a line that would be written on its strength:
# another number, unit, sign or currency, another person, a denial lost or made up, a question, a plan or a guess made
# a fact, a condition left out, what is over made present. Nothing learned may overrule them.

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


class LineDifference(NamedTuple):
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


def difference(entry: str, line: str, language: str, about: str = "") -> LineDifference:
    """Return what certainly tells a line from what an entry says. `about`: the words that either need not have: the
    owner's name, the heading over the line."""
    about = _plain(about)
    said = [part for part in _parts(entry, language) if part.read.tokens or part.read.marks or not part.read.values]
    whole = statement(line, language)
    if any(_is_alike(part, whole, line) for part in said):
        return LineDifference("", True)
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
            return LineDifference(
                next((why for at, why in found if said[at].is_clause), found[0][1]) if found else UNSAID
            )
        if any(_is_said_of_another(token, wanted.read, said) for at in near for token in fits[at].right):
            return LineDifference(ANOTHER)
        scattered |= not any(said[at].is_clause for at in near)
        literal &= any(not why and _is_literal(said[at], fits[at], about) for at, why in found)
    return LineDifference("", literal, scattered)


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
    """Whether a part denies a line, says that it is over, or that it changed: moved from Porto."""
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
        for found in sentences(language_sentences.parted(row).text):
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
    first, known = one.first, classify.pack(one.language)
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
    if why := _turns(part, wanted) or _vetoes_of_words(part.text, wanted.text, new.language):
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
    return language_sentences.read(text).label in ("rule", "preference")


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


def _vetoes_of_words(said: str, line: str, language: str) -> str:
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
