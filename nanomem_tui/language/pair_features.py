"""What of two statements shows how they stand to each other: which words of the one the other has, which values are
equal, who each is about, and what each says beside it (not, no longer, now, also, maybe). The trainer
(`scripts/language/teach_pairs.py`) and the judge (`compare`) see the same features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language.statement import UNSPACED, Statement, Token
from nanomem_tui.language.values import Value, match_values

VERSION = 2
"""Changes when the features do: a pack of another version is made anew."""
MARKS = (
    "not", "lack", "end", "change", "now", "lately", "also", "hedge", "hearsay", "past", "formerly", "future", "once",
    "wrong", "asked", "consider", "new", "if", "except", "all", "some", "ai",
)  # fmt: skip
_TELLING = ("kin", "env", "side", "birth", "day", "part", "pet", "where", "via", "lang", "color", "drinkable", "freq")
"""Groups of words of which each excludes the others."""
AND = frozenset("and y e o et ou und oder or и или 和 跟 或 と や 와 과".split())
"""Words between what may stand in any order."""
LIGHT = frozenset({"do:have", "do:please", "do:want", "do:make", "do:keep", "do:call", "do:run_in"})
"""What words mean that say little about what a statement is of."""


class Aligned(NamedTuple):
    """The words of two statements held together: what only the one has, what only the other has, and the pairs."""

    left: list[Token]
    right: list[Token]
    both: list[tuple[Token, Token]]
    values_left: list[Value]
    values_right: list[Value]
    values_both: int


def align(one: Statement, other: Statement) -> Aligned:
    """Hold the words and values of two statements together."""
    rest = list(other.tokens)
    left: list[Token] = []
    both: list[tuple[Token, Token]] = []
    waiting: list[Token] = []
    stems = {token.stem: token for token in reversed(rest)}
    for token in one.tokens:
        found = stems.get(token.stem)
        if found is not None and found in rest:
            rest.remove(found)
            both.append((token, found))
        else:
            waiting.append(token)
    for token in waiting:
        found = next((other_one for other_one in rest if _alike(token, other_one)), None)
        if found is None:
            # A word that stands twice in the one and once in the other is there.
            found = next((paired for _, paired in both if paired.stem == token.stem or _means(token, paired)), None)
            if found is None:
                left.append(token)
        else:
            rest.remove(found)
            both.append((token, found))
    rest = [token for token in rest if not any(ours.stem == token.stem or _means(token, ours) for ours, _ in both)]
    values_left, values_right, values_both = match_values(one.values, other.values)
    return Aligned(left, rest, both, values_left, values_right, values_both)


def _means(one: Token, other: Token) -> bool:
    """Whether two words mean one thing."""
    return bool(one.notions and other.notions and not set(one.notions).isdisjoint(other.notions))


def _alike(one: Token, other: Token) -> bool:
    """Whether two words mean one thing, or are forms of one word."""
    if one.notions and other.notions:
        return not set(one.notions).isdisjoint(other.notions)
    return _forms(one.stem, other.stem)


@lru_cache(16384)
def _forms(a: str, b: str) -> bool:
    """Whether two words are forms of one: they begin alike, or one is part of the other."""
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if short and "\uac00" <= short[0] <= "\ud7a3":
        return len(short) > 1 and short[:2] == long[:2] and len(long) <= 2 * len(short)
    if len(short) < 3 or (short[:2] != long[:2] and len(short) < 4):
        return False
    size = 0
    for x, y in zip(short, long, strict=False):
        if x != y:
            break
        size += 1
    if size >= 4 and size >= 0.6 * len(long):
        return True
    if size == len(short) and len(long) - size <= 3 and size >= 3:
        return True
    return len(short) >= 4 and short in long and len(long) > 6


def of_pair(one: Statement, other: Statement, found: Aligned) -> set[str]:
    """Return the features of two statements, `other` said later. `found`: the two held together (`align`)."""
    return set(features_of(one, other, found))


def features_of(one: Statement, other: Statement, found: Aligned) -> Iterator[str]:
    yield from _of_shares(one, other, found)
    level = level_of(found)
    for mark in MARKS:
        state = state_of(mark in one.marks, mark in other.marks)
        if state:
            yield f"{mark} {state}"
            yield f"{mark} {state} {level}"
    denied = state_of(bool(one.denials), bool(other.denials))
    ended = state_of("end" in one.marks, "end" in other.marks)
    lacks = state_of("lack" in one.marks, "lack" in other.marks)
    yield f"denied {denied} ended {ended}"
    yield f"denied {denied} lacks {lacks}"
    yield f"denied {denied} {level}"
    values = _of_values(found)
    yield from (f"values {value}" for value in values)
    yield from (f"values {value} {level}" for value in values)
    yield from (f"values {value} denied {denied}" for value in values[:1])
    yield from _of_slot(one, other, found)
    turn = (
        "turn" if {"change", "now"} & (other.marks - one.marks) else "end" if "end" in other.marks - one.marks else ""
    )
    more = "also" if "also" in other.marks - one.marks else ""
    yield f"turn {turn}{more} {denied} {level}"
    yield f"turn {turn}{more} {values[0] if values else ''} new {bool(found.right)}"
    about = subjects(one, other)
    yield f"subjects {about}"
    yield f"subjects {about} {level}"
    if one.subject == "me" and other.subject == "name" and "me" in other.who:
        yield "roles"
    yield from _of_letters(one, other, level)
    groups = {notion.partition(":")[0] for token in found.right for notion in token.notions}
    is_new = bool(found.values_right) or bool(groups & {*_TELLING, "color"})
    yield f"new {is_new} denied {denied} ended {ended} {len(found.right) > 0}"
    yield from _of_ends(one, other, found, level)
    doubt = _doubt(one, other)
    yield f"doubt {doubt} {level}"
    yield f"doubt {doubt} values {values[0] if values else ''}"
    who = people(one, other)
    yield f"people {who}"
    yield f"people {who} {level}"
    yield from _of_words(found, level, denied)
    if one.asks or other.asks:
        yield f"asks {state_of(one.asks, other.asks)}"
    yield f"unspaced {one.language in UNSPACED} {level}"


def _of_slot(one: Statement, other: Statement, found: Aligned) -> Iterator[str]:
    """Whether the two differ in one place only, and are of what has one value at a time."""
    left, right = len(found.left) + len(found.values_left), len(found.right) + len(found.values_right)
    single = state_of("one" in one.marks, "one" in other.marks)
    kind = "value" if found.values_left or found.values_right else "word"
    who = subjects(one, other)
    yield f"one {single} {min(left, 2)} {min(right, 2)}"
    if left == right == 1 and found.both:
        ends = [min((token.at for token in side), default=99) for side in (found.left, found.right)]
        yield f"slot {kind} {single}"
        yield f"slot {kind} {single} {who}"
        yield f"slot {kind} first {min(ends) < 2}"
        yield from (f"slot {notion}" for ours, _ in found.both for notion in ours.notions)
    elif not left and not right:
        yield f"order {order_of(one, other)}"


def order_of(one: Statement, other: Statement) -> str:
    """How the words of two statements stand when they are the same: `same` order, `moved` where a part stands
    elsewhere, `turned` where they are in each other's place, which changes who does what to whom; else nothing."""
    left, right = ([*side.normal] if side.language in UNSPACED else side.normal.split() for side in (one, other))
    if left == right:
        return "same"
    if sorted(left) != sorted(right):
        return ""
    if one.language not in UNSPACED and _keeps_its_words(one, left, right):
        return "moved"
    while left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    rounds = (left[at:] + left[:at] == right for at in range(1, len(left)))
    return "moved" if any(rounds) or not AND.isdisjoint(left) else "turned"


def _keeps_its_words(one: Statement, left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether each name stands behind the same word as before: in Bonn, wherever that stands."""
    before = [{word: words[at - 1] if at else "" for at, word in enumerate(words)} for words in (left, right)]
    stems = tuple(token.stem[:4] for token in one.tokens if not token.notions)
    names = [word for word in before[0] if stems and word.startswith(stems)]
    return bool(names) and all(before[0][word] == before[1][word] != "" for word in names)


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
    yield f"size {0 if size < 0.6 else 1 if size < 0.9 else 2 if size < 1.15 else 3 if size < 1.8 else 4}"


def _of_values(found: Aligned) -> list[str]:
    """How the values stand: equal, one differs from one of its kind, on one side only."""
    result = []
    for value in found.values_left:
        rival = next((one for one in found.values_right if rivals(value, one)), None)
        if rival is not None:
            result.append("differ")
            result.append(f"differ {value.kind.split()[0]}")
            if value.kind != rival.kind:
                result.append("differ kind")
            if value.amount is not None and rival.amount is not None and value.amount == -rival.amount:
                result.append("differ sign")
    if not result:
        if found.values_left and found.values_right:
            result.append("other")
        elif found.values_left:
            result.append("a")
        elif found.values_right:
            result.append("b")
        elif found.values_both:
            result.append("equal")
    if result and found.values_both:
        result.append("some equal")
    return result


def rivals(one: Value, other: Value) -> bool:
    """Whether two values that differ are of one kind, or the same number of two units."""
    if one.amount is not None and one.amount == other.amount:
        return True
    kinds = {one.kind.split()[0], other.kind.split()[0]}
    return len(kinds) == 1 or "number" in kinds or kinds == {"clock", "time"}


def people(one: Statement, other: Statement) -> str:
    """Whether two statements are of the same people."""
    ours = {who for who in one.who if who.startswith("kin:")}
    theirs = {who for who in other.who if who.startswith("kin:")}
    if ours and theirs:
        return "kin same" if ours == theirs else "kin part" if ours & theirs else "kin other"
    if ours or theirs:
        return f"kin {state_of(bool(ours), bool(theirs))} me {state_of('me' in one.who, 'me' in other.who)}"
    return f"me {state_of('me' in one.who, 'me' in other.who)}"


def _doubt(one: Statement, other: Statement) -> str:
    """Whether the later statement leaves it open, or tells of one time."""
    if other.asks or {"hedge", "hearsay"} & (other.marks - one.marks):
        return "open"
    turned = bool({"now", "change"} & (other.marks - one.marks))
    if {"once", "past", "some"} & (other.marks - one.marks):
        return "once now" if turned else "once"
    return "now" if turned else ""


def _of_ends(one: Statement, other: Statement, found: Aligned, level: str) -> Iterator[str]:
    """Whether the first and the last word of each has its like in the other: the first tells what it is about."""
    told = []
    for side, alone in ((one, found.left), (other, found.right)):
        ordered = sorted(side.tokens, key=lambda token: token.at)
        there = {token.at for token in alone}
        told.append((bool(ordered) and ordered[0].at in there, bool(ordered) and ordered[-1].at in there))
    yield f"first {told[0][0]} {told[1][0]}"
    yield f"first {told[0][0]} {told[1][0]} last {told[0][1]} {told[1][1]}"
    yield f"first {told[0][0]} {told[1][0]} {level}"
    yield f"first {told[0][0]} values {len(found.values_left) > 0} {len(found.values_right) > 0}"


def subjects(one: Statement, other: Statement) -> str:
    """Whom or what the two are about, told as kinds."""
    if one.subject == other.subject:
        return f"same {one.subject.partition(':')[0]}"
    return f"{one.subject.partition(':')[0]} {other.subject.partition(':')[0]}"


def _of_letters(one: Statement, other: Statement, level: str) -> Iterator[str]:
    """How alike the two are written."""
    from rapidfuzz.fuzz import partial_ratio, ratio

    whole, part = ratio(one.normal, other.normal), partial_ratio(one.normal, other.normal)
    yield f"ratio {int(whole // 10)}"
    yield f"part {int(part // 10)}"
    yield f"ratio {int(whole // 20)} {level}"


def _of_words(found: Aligned, level: str, denied: str) -> Iterator[str]:
    """What the words are that only one has: by what they mean, and as they are."""
    groups: list[set[str]] = [set(), set()]
    names = [0, 0]
    for at, (side, tokens) in enumerate((("a", found.left), ("b", found.right))):
        for token in tokens:
            for notion in token.notions:
                groups[at].add(notion.partition(":")[0])
                yield f"{side} {notion}"
            if not token.notions:
                yield f"{side}: {token.stem[:6]}"
                names[at] += token.is_name
    for group in groups[0] & groups[1]:
        yield f"swap {group}"
        yield f"swap {group} denied {denied}"
        yield f"swap {group} {level}"
    for at, side in enumerate("ab"):
        yield from (f"only {side} {group}" for group in groups[at] - groups[1 - at] if group in _TELLING)
    yield f"names {min(names[0], 2)} {min(names[1], 2)}"
    both = {notion for ours, _ in found.both for notion in ours.notions}
    yield from (f"both {notion}" for notion in both)
    plain = [sum(not token.notions for token in tokens) for tokens in (found.left, found.right)]
    yield f"plain {min(plain[0], 3)} {min(plain[1], 3)}"
    yield f"shared plain {min(sum(not ours.notions for ours, _ in found.both), 4)}"
    shared = [ours.notions[0].partition(":")[0] if ours.notions else "_" for ours, _ in found.both]
    yield f"shared {'+'.join(sorted(set(shared)))}"
