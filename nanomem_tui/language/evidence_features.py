"""What shows whether an entry of the archive says plainly what a line says: how much of the line stands in one clause,
of whom, with which values, and what the clause says beside it (asked, maybe, if, not).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nanomem_tui.language.pair_features import (
    MARKS,
    Aligned,
    align,
    features_of,
    level_of,
    people,
    shares,
    state_of,
    step,
    subjects,
    weight,
)
from nanomem_tui.language.statement import Statement, statement

_SENTENCE = re.compile(r"(?<=[!?;])\s+|(?<=[^\d\s]\.)\s+|(?<=\d{3}\.)\s+|(?<=[。！？；])|\n+")


_CLAUSE = re.compile(
    r"[,:](?!\d)|[;，；：、。！？—–\n]+|(?<=[!?])\s|(?<=[^\d\s]\.)\s|(?<=\d{3}\.)\s|\s-\s|\s(?:but|aber|sondern|pero|sino|mais|mas|ma"
    r"|но|а|while|whereas|because|weil)\s|但|不过|지만 "
)


def sentences(entry: str) -> Sequence[str]:
    """The sentences of an entry."""
    return [part for part in _SENTENCE.split(entry) if part.strip()] or [entry]


def clauses(entry: str) -> Sequence[str]:
    """The parts of an entry between its commas and words like `but`."""
    return [part for part in _CLAUSE.split(entry) if part and part.strip()] or [entry]


def of_evidence(entry: str, line: str, language: str) -> set[str]:
    """Return the features of an entry and a line that might be written on its strength."""
    whole, wanted = statement(entry, language), statement(line, language)
    parts = [statement(part, language) for part in sentences(entry)]
    best = max(parts, key=lambda part: (_covered(part, wanted), -len(part.tokens)))
    held = align(best, wanted)
    found = {f"best {name}" for name in features_of(best, wanted, held)}
    there = align(whole, wanted) if len(parts) > 1 else held
    found.update(_of_entry(whole, wanted, there))
    small = [statement(part, language) for part in clauses(entry)]
    fits = [align(part, wanted) for part in small]
    at = max(range(len(small)), key=lambda n: (shares(fits[n])[1], -len(small[n].tokens)))
    clause, fit = small[at], fits[at]
    share, all_of_it = shares(fit)[1], shares(there)[1]
    found.add(f"clause {step(share)}")
    found.add(f"clause {step(share)} of {step(all_of_it)}")
    found.add(f"clauses {min(len(small), 5)} over {min(sum(bool(one.both or one.values_both) for one in fits), 4)}")
    level = level_of(fit)
    for mark in MARKS:
        state = state_of(mark in clause.marks, mark in wanted.marks)
        if state:
            found.add(f"clause {mark} {state}")
            found.add(f"clause {mark} {state} {level}")
        elif mark in whole.marks and mark not in wanted.marks:
            found.add(f"elsewhere {mark}")
    found.add(f"clause people {people(clause, wanted)}")
    found.add(f"clause subjects {subjects(clause, wanted)}")
    found.add(f"clause values {len(fit.values_right) > 0} {len(there.values_right) > 0}")
    found.add(f"clause denied {state_of(bool(clause.denials), bool(wanted.denials))} {level}")
    found.add(f"asks {best.asks} {clause.asks}")
    found.add(f"sentences {min(len(parts), 4)}")
    return found


def _of_entry(whole: Statement, wanted: Statement, there: Aligned) -> Iterator[str]:
    """How much of a line stands anywhere in an entry, and what the entry says beside it."""
    missing = int(weight(there.right) + 0.5)
    share = step(shares(there)[1])
    yield f"missing {min(missing, 5)}"
    yield f"covered {share}"
    yield f"values missing {min(len(there.values_right), 2)}"
    yield f"names missing {min(sum(token.is_name for token in there.right), 2)}"
    for mark in MARKS:
        state = state_of(mark in whole.marks, mark in wanted.marks)
        if state:
            yield f"{mark} {state}"
            yield f"{mark} {state} {share}"
    yield f"denials {min(whole.denials, 3)} {min(wanted.denials, 2)}"
    yield f"people {people(whole, wanted)}"
    kin = {who for who in wanted.who - whole.who if who.startswith("kin:")}
    yield f"people new {bool(kin)}"


def _covered(part: Statement, wanted: Statement) -> float:
    return shares(align(part, wanted))[1]
