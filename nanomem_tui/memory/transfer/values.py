"""What a transfer is made of: the rows that a reader found, and the plan of what an import would do with each.

Values only; `rows` checks fields, `plan` decides, `service` does.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from nanomem_tui.core.errors import Problem
from nanomem_tui.core.text import counted
from nanomem_tui.memory.retention import Overflow
from nanomem_tui.store.erasure.forgotten import Forgotten
from nanomem_tui.store.values import AnyRow, Item, Record, fact_of
from nanomem_tui.store.values import layer_of as layer_of_row
from nanomem_tui.store.work import layer
from nanomem_tui.store.work.kinds import KINDS as TIER_KINDS
from nanomem_tui.store.work.values import TierRecord

ImportRow = AnyRow | TierRecord
Verdict = Literal["new", "update", "inbox", "same", "conflict", "deleted"]
DOES = frozenset({"new", "update", "inbox"})
"""The verdicts that change something here."""
Prefer = Literal["ours", "theirs", "newer"]
TWICE = "that id comes twice"
STEP = 500
"""Rows after which it is told how far an import is."""
Tell = Callable[[str, int, int], object]
"""Hears what is done now, how much of it is done, and how much there is (0: nobody knows)."""
NOUNS: Mapping[str, tuple[str, str]] = {
    "item": ("item", "items"),
    "lesson": ("lesson", "lessons"),
    "fact": ("fact", "facts"),
    "journal": ("journal entry", "journal entries"),
    "message": ("message", "messages"),
    "reflection": ("reflection", "reflections"),
    "usage": ("row of token use", "rows of token use"),
    **{kind: (kind.replace("-", " "), f"{kind.replace('-', ' ')}s") for kind in TIER_KINDS},
}
"""What one and what several of a kind are called."""
_NONE: Mapping[str, int] = MappingProxyType({})


class Choices(NamedTuple):
    """How an import decides: who wins a conflict; whether rows deleted here come back; `undone`: ids that an undone
    import brought, which nobody deleted on purpose; `forgotten`: what never comes back."""

    prefer: Prefer = "ours"
    restore: bool = False
    undone: frozenset[str] = frozenset()
    forgotten: Forgotten = Forgotten()


class Found(NamedTuple):
    """A row of a source, as a row of ours: where it stands there, and what had to be put right in it. `given`: of a
    record of an agent's work the fields that theirs has; the others are as a new one has them."""

    row: ImportRow
    place: str
    note: str = ""
    given: frozenset[str] = frozenset()


class Reading(NamedTuple):
    """What a reader found in one file.

    `fields`: what the format holds of a row; empty: everything. `ours`: a copy that nanomem made, taken as it is;
    `trusted`: of this very workspace. `deleted`: rows that are deleted there. `notes` are sentences for a person.
    `times`: a time as the format can write it; what gets lost by that is no difference. `refused`: how many rows of
    each kind are left out, where there are several kinds.
    """

    format: str
    rows: Sequence[Found] = ()
    problems: Sequence[Problem] = ()
    fields: frozenset[str] = frozenset()
    ours: bool = False
    trusted: bool = False
    deleted: int = 0
    notes: Sequence[str] = ()
    times: Callable[[str], str] = str
    refused: Mapping[str, int] = _NONE


class Entry(NamedTuple):
    """What the import does with one row of a source, and why. `present` is the row of ours that it meets."""

    verdict: Verdict
    row: ImportRow
    place: str
    why: str = ""
    present: ImportRow | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry as the command line prints it."""
        met = {"present": self.present.id} if self.present is not None else {}
        body = {"id": self.row.id, "layer": layer_of(self.row), "verdict": self.verdict, "why": self.why}
        return {**body, "place": self.place, **met, "text": words_of(self.row), "row": self.row.to_json()}


def layer_of(row: ImportRow) -> str:
    """The layer that a row belongs to."""
    return layer.NAME if isinstance(row, TierRecord) else layer_of_row(row)


def kind_of(row: ImportRow) -> str:
    """Of which kind a row is, for a person: a fact is every item with the fields of one."""
    if isinstance(row, (Record, TierRecord)):
        return row.kind
    if isinstance(row, Item):
        return "fact" if fact_of(row) is not None else "item"
    return "lesson"


def words_of(row: ImportRow) -> str:
    """The words of a row in a list of rows."""
    if isinstance(row, TierRecord):
        return f"{NOUNS[row.kind][0]}: {row.title}"
    if isinstance(row, Item):
        return row.text
    if not isinstance(row, Record):
        return f"{row.trigger}: {row.better_action}"
    meta = row.meta
    if row.kind == "usage":
        return f"{row.about} {meta.get('model')}: {meta.get('total_tokens')} tokens"
    return f"{meta.get('role') if row.kind == 'message' else row.about}: {row.text}"


def by_noun(counts: Mapping[str, int]) -> str:
    """How many of each kind, in words; kinds of which there are none are left out."""
    told = [counted(number, *NOUNS[kind]) for kind, number in counts.items() if number]
    return " and ".join(filter(None, (", ".join(told[:-1]), *told[-1:])))


def _even(sizes: Sequence[int], room: int) -> list[int]:
    """How many of each there is room for, as even as can be."""
    shares = [0] * len(sizes)
    while room > 0 and any(share < size for share, size in zip(shares, sizes, strict=True)):
        least = min((share, at) for at, share in enumerate(shares) if share < sizes[at])[1]
        shares[least] += 1
        room -= 1
    return shares


class ImportPlan(NamedTuple):
    """An import that is not done yet: every row with its verdict, and what could not be read."""

    path: Path
    format: str
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    deleted: int = 0
    notes: tuple[str, ...] = ()
    over_cap: Overflow | None = None
    """That there would be more items than `max_items` has room for."""
    refused: Mapping[str, int] = _NONE
    """How many rows of each kind could not be read."""

    @property
    def name(self) -> str:
        """What the file or folder is called, however its path was written."""
        return Path(os.path.abspath(self.path)).name or str(self.path)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each verdict, `bad` ones and those `deleted_there` included."""
        counted = Counter(entry.verdict for entry in self.entries)
        verdicts: tuple[Verdict, ...] = ("new", "update", "inbox", "same", "conflict", "deleted")
        bad = sum(1 for problem in self.problems if problem.severity == "error")
        return {**{name: counted[name] for name in verdicts}, "deleted_there": self.deleted, "bad": bad}

    @property
    def kinds(self) -> dict[str, dict[str, int]]:
        """How many rows of each kind have each verdict, `bad` ones included; kinds of which there is none are left
        out."""
        found: dict[str, Counter[str]] = {kind: Counter() for kind in NOUNS}
        for entry in self.entries:
            found[kind_of(entry.row)][entry.verdict] += 1
        for kind, number in self.refused.items():
            found[kind].update({"bad": number} if number else {})
        return {kind: dict(verdicts) for kind, verdicts in found.items() if verdicts}

    def told_by_kind(self, words: Mapping[str, str]) -> list[str]:
        """A sentence for each kind of row where there are several; `words`: what to call each verdict."""
        chats = {
            entry.row.about for entry in self.entries if isinstance(entry.row, Record) and entry.row.kind == "message"
        }
        told: list[str] = []
        for kind, verdicts in self.kinds.items():
            many = counted(sum(verdicts.values()), *NOUNS[kind])
            whose = f" of {counted(len(chats), 'conversation')}" if kind == "message" else ""
            told.append(f"{many}{whose}: {', '.join(f'{number:,} {words[name]}' for name, number in verdicts.items())}")
        return told if len(told) > 1 else []

    def some(self, verdicts: Sequence[str], most: int) -> list[Entry]:
        """At most `most` of the entries with these verdicts, in their order: of each verdict some of every kind."""
        shown: list[Entry] = []
        for verdict in verdicts:
            room = most - len(shown)
            kinds: dict[str, list[Entry]] = {}
            for entry in self.entries:
                if entry.verdict == verdict and len(of := kinds.setdefault(kind_of(entry.row), [])) < room:
                    of.append(entry)
            shares = _even([len(of) for of in kinds.values()], room)
            shown += [entry for of, share in zip(kinds.values(), shares, strict=True) for entry in of[:share]]
        return shown

    @property
    def todo(self) -> list[Entry]:
        """The entries that change something."""
        return [entry for entry in self.entries if entry.verdict in DOES]


class Exported(NamedTuple):
    """An export that was made. `left_out`: how many rows were not written, by reason; `lost`: what the format lacks;
    `records`: how many of each kind; `notes`: sentences for a person."""

    path: Path
    format: str
    items: int
    lessons: int
    left_out: dict[str, int]
    lost: str
    records: Mapping[str, int] = _NONE
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was written, counted."""
        return by_noun({"item": self.items, "lesson": self.lessons, **self.records})
