"""How a new statement stands to a line of the memory files: it says the same, changes the line, or has nothing to do
with it. Learned from labelled lines (`scripts/language/teach_places.py`).

Owns what is looked at for that. What is certainly another person or thing is `vetoes`' to say, and what two sentences
say of each other `language.compare`'s. Pure functions over text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nanomem_tui.dream import details
from nanomem_tui.dream.facts import Fact
from nanomem_tui.dream.known import Known
from nanomem_tui.dream.places import Place, means_of, stems
from nanomem_tui.dream.vetoes import another_subject, same_barred
from nanomem_tui.language.compare import pack, shares_of
from nanomem_tui.language.spoken import denied_value, subject_of, without_denied
from nanomem_tui.language.statement import statement
from nanomem_tui.language.tokens import fold
from nanomem_tui.language.topics import cues_of
from nanomem_tui.language.values import values
from nanomem_tui.language.vetoes import leaves_open

VERSION = 2
"""Changes when the features do: the pack is made anew."""
_STEPS = (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)
_MARKS = ("not", "end", "change", "now", "new", "also", "formerly", "past", "future", "hedge", "if")
_CUES = ("change", "lasting", "done", "agreed", "past", "today")
_SELVES = frozenset({"user", "he", "she"})


class Candidate(NamedTuple):
    """A line that a fact may repeat or change, and what speaks for it or against it."""

    line: Known
    features: set[str]


class Relation(NamedTuple):
    """How likely it is that a fact says the same as a line, and that it changes the line, each from 0 to 1."""

    line: Known
    same: float
    changes: float


def relations(fact: Fact, near: Sequence[tuple[Known, float]], place: Place, owner: str) -> list[Relation]:
    """Return how a fact stands to the lines that are near it (`known.Lines.near`); `place`: where it would go."""
    learned = pack("relations")
    found = ((one.line, learned.shares(one.features)) for one in candidates(fact, near, place, owner))
    return [Relation(line, shares["same"], shares["changes"]) for line, shares in found]


def candidates(fact: Fact, near: Sequence[tuple[Known, float]], place: Place, owner: str) -> list[Candidate]:
    """Return what speaks for and against each of the lines that are near a fact."""
    text = without_denied(fact.text)
    common = set(_of_fact(fact))
    found = []
    keys = [stems(line.field["key"]) if line.field else frozenset[str]() for line, _ in near]
    for n, (line, alike) in enumerate(near):
        features = {*common, *_of_pair(line, fact, text, alike, owner)}
        features.add(f"rank {min(n, 3)}")
        features.add(f"first by {_step(alike - near[1][1]) if n == 0 and len(near) > 1 else 'no'}")
        here = (line.file, line.section) == (place.file, place.section)
        features.add(f"here {here} {place.sure}" if here else f"file {line.file == place.file} {place.sure}")
        features.add(f"in {line.file}")
        if keys[n] and sum(keys[n] <= other for other in keys) > 1:
            features.add("key of several")
        features |= (
            {f"{one} & change" for one in features if one.startswith(("alike", "newer", "field", "kind"))}
            if ("fact changes" in common)
            else set()
        )
        found.append(Candidate(line, features))
    return found


def _step(share: float) -> float:
    return max((step for step in _STEPS if share >= step), default=0.0)


def tells_change(fact: Fact) -> bool:
    """Whether a fact itself says that something is otherwise than before."""
    is_marked = fact.mark == "correction" or bool(denied_value(fact.text)) or "change" in cues_of(fact.text)
    return is_marked or bool(statement(fact.text).marks & {"change", "end", "now", "formerly"})


def _of_fact(fact: Fact) -> Iterator[str]:
    """What a fact says of itself: that something changed, ended, is also so."""
    marks = statement(fact.text).marks
    cues = cues_of(fact.text)
    yield "always"
    yield from (f"marks {mark}" for mark in _MARKS if mark in marks)
    yield from (f"cue {cue}" for cue in _CUES if cue in cues)
    if tells_change(fact):
        yield "fact changes"
    if fact.mark:
        yield f"mark {fact.mark}"
    yield f"is {fact.label}"


def _of_pair(line: Known, fact: Fact, text: str, alike: float, owner: str) -> Iterator[str]:
    """What a line and a fact have in common, and what only one of them has."""
    shares = shares_of(line.statement, fact.text)
    for name in ("same", "newer", "denial", "different"):
        yield from (f"{name} {step}" for step in _STEPS if shares.get(name, 0.0) >= step)
    sure = shares["newer"] + shares["denial"]
    yield from (f"changed {step}" for step in _STEPS if sure >= step)
    yield from (f"alike {step}" for step in _STEPS if alike >= step)
    said, there = stems(text) - stems(owner), stems(line.statement) - stems(owner)
    yield from (f"holds {step}" for step in _STEPS if len(said & there) >= step * (len(said) or 1))
    yield from (f"held {step}" for step in _STEPS if len(said & there) >= step * (len(there) or 1))
    yield f"shared {min(len(said & there), 4)}"
    yield f"more {min(len(said - there), 4)}"
    yield from _of_values(line, text)
    wrong = stems(denied_value(fact.text))
    if wrong:
        yield "wrong there" if wrong <= stems(line.statement) else "wrong elsewhere"
    names = {name for name in details.details(text) if name != fold(owner)}
    known = fold(f"{line.under} {line.text}")
    yield f"other names {min(sum(name not in known for name in names), 3)}"
    yield f"same names {min(sum(name in known for name in names), 3)}"
    first, then = fold(subject_of(line.statement)), fold(subject_of(text))
    if first and then and first not in _SELVES and then not in _SELVES:
        yield f"subject {first == then}"
    elif then and then != fold(owner):
        yield f"subject there {then in known}"
    yield from _of_field(line, said, text)
    yield f"row {bool(line.head)}"
    means = means_of(line.statement), means_of(text)
    yield from (f"both {mean.partition(':')[0]}" for mean in means[0] & means[1])
    groups = [{mean.partition(":")[0] for mean in one - (means[0] & means[1])} for one in means]
    yield from (f"other {group}" for group in groups[0] & groups[1])
    if another_subject(line, text, owner):
        yield "another subject"
    if same_barred(line, text, owner):
        yield "not the same"
    if leaves_open(line.statement) != leaves_open(fact.text):
        yield "one is open"
    if details.says(text, line.text):
        yield "says it"


def _of_values(line: Known, text: str) -> Iterator[str]:
    """Values of both: equal ones, others of the same kind, and those that only one has."""
    ours, theirs = values(line.statement), values(text)
    bases = {str(value.base) for value in ours}
    fresh = [value for value in theirs if str(value.base) not in bases]
    kinds = {value.kind for value in ours}
    for value in fresh:
        yield f"kind {value.kind}" if value.kind in kinds else f"only {value.kind}"
        yield "kind of both" if value.kind in kinds else "kind of one"
    yield f"values {min(len(ours), 2)} {min(len(theirs), 2)} {min(len(fresh), 2)}"
    if theirs and not fresh:
        yield "values there"


def _of_field(line: Known, said: frozenset[str], text: str) -> Iterator[str]:
    """Which words of a field's key and value the new statement has."""
    field = line.field
    if not field:
        yield "no field"
        return
    key, value = stems(field["key"]), stems(field["value"])
    yield "field"
    yield f"field key {bool(key) and key <= said}"
    yield f"field key some {bool(key & said)}"
    yield f"field value {'all' if value and value <= said else 'some' if value & said else 'none'}"
    if ":" in text[:40] or "：" in text[:20]:
        yield "both fields"
