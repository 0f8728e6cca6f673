"""What shows how two statements stand to each other: which words of the one the other has, which values are equal, who
each is about, and what each says beside it (not, no longer, now, also, maybe). And what shows whether an entry of the
archive says plainly what a line says: how much of the line stands in one sentence, in one clause, in all of it. The
trainer (`scripts/language/teach_pairs.py`) and the judge (`compare`) see the same features.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language.statement import UNSPACED, Statement, Token, statement
from nanomem_tui.language.values import Value, match_values

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
