"""The rules Dreamer: turns new history entries into edits of lines without any model, the same way each time.

What a line says already is left alone; what is newer takes the place of the line that it can mean, and of no other;
what is new goes where lines are alike. What is not sure waits for a person. Steps that are left go to copies and to
lines that say they are over. Must not read files or apply edits for good.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from nanomem_tui.dream import details
from nanomem_tui.dream.dreamer import Proposal, Watch, nobody
from nanomem_tui.dream.edits import TITLES, LineEdit
from nanomem_tui.dream.entry_lines import lines_of
from nanomem_tui.dream.facts import FIRST_PERSON, SOUL, UNSURE, USER, Fact, Skipped, facts_of
from nanomem_tui.dream.guards import Gate, Limits, Refusal, evidence_of
from nanomem_tui.dream.known import FIELD, Known, Lines, telling
from nanomem_tui.dream.places import Outline, stems
from nanomem_tui.dream.rewrite import loses, rewritten
from nanomem_tui.dream.tidy import day_of, tidied
from nanomem_tui.dream.vetoes import another_subject, same_barred
from nanomem_tui.formats.history import HistoryEntry
from nanomem_tui.language import dates, secrets
from nanomem_tui.language.compare import compared, shares_of
from nanomem_tui.language.features import is_wide
from nanomem_tui.language.spoken import denied_value, owner_of, subject_of, without_denied
from nanomem_tui.language.tokens import fold
from nanomem_tui.language.topics import cues_of
from nanomem_tui.language.values import values
from nanomem_tui.language.vetoes import limits

_SAME = 0.75  # how sure it has to be that a line is repeated
_NEWER = 0.4  # … that it is given up
_OTHERS = 0.2  # the same, where it seems to be of somebody else
_LIKELY = 0.2  # how likely something of the kind is for a person to be asked
_HELD, _HELD_WIDE = 0.5, 0.25  # share of a fact's words that a line holds which says it; where no spaces part words
_ALIKE = 0.2  # share of words that two lines have in common at least
_DOUBTFUL = frozenset({"stranger", "joke", "fiction", "unsure"})


class Verdict(NamedTuple):
    """What a fact is to the lines that are there: the line it repeats, or changes, or those it may mean."""

    same: Known | None = None
    changes: Known | None = None
    maybe: tuple[Known, ...] = ()


class RulesDreamer:
    """The default Dreamer: offline, deterministic, the smallest edits.

    `archive` is the whole history as far as it is known: what a later entry says is not taken back by an older one.
    `limits` are those of the guards behind it: what they refuse changes no line for the entries that follow, so that
    one Dream over many entries ends like many over a few each.
    """

    name = "rules"

    def __init__(self, archive: Sequence[HistoryEntry] = (), limits: Limits | None = None) -> None:
        self._archive = archive
        self._limits = limits

    def knowing(self, archive: Sequence[HistoryEntry], limits: Limits) -> RulesDreamer:
        """The same Dreamer for one Dream over entries of `archive`."""
        return RulesDreamer(archive, limits)

    def propose(
        self, entries: Sequence[HistoryEntry], files: Mapping[str, str], *, steps: int = 0, watch: Watch = nobody
    ) -> Proposal:
        """The edits, in the order of the entries that are their evidence; at most `steps` with what is cleared away.

        Copies and lines that are over go first, so that a fact meets each line once; they take the steps that the facts
        leave.
        """
        work = _Work({name: files.get(name, "") for name in TITLES}, entries, self._archive, self._limits)
        cleared = 0
        if entries and steps:
            watch("looking for copies and lines that are over")
            cleared = work.clear(entries[-1].cursor, steps)
        skipped: list[Skipped] = []
        for entry in entries:
            facts, left_out = facts_of(entry, work.owner)
            skipped += left_out
            for fact in facts:
                if why := work.remember(fact):
                    skipped.append(Skipped(fact.cursor, fact.text, why, fact.mark, fact=True))
        edits = work.edits
        room = max(0, steps - (len(edits) - cleared)) if cleared else 0
        return Proposal((*edits[: min(room, cleared)], *edits[cleared:]), tuple(skipped), refused=tuple(work.held))


class _Work:
    """One Dream: the lines as its edits leave them."""

    def __init__(
        self,
        files: Mapping[str, str],
        entries: Sequence[HistoryEntry],
        archive: Sequence[HistoryEntry],
        limits: Limits | None,
    ) -> None:
        self.edits: list[LineEdit] = []
        self.held: list[Refusal] = []
        self.files = dict(files)
        user = files.get(USER, "")
        self.owner = owner_of(user) or _most_named(entries, user)
        self._archive = sorted(archive or entries, key=lambda entry: (entry.cursor, entry.line))
        self._today = day_of(self._archive)
        self._gate = Gate(files, evidence_of(entries), limits, self._today)
        self._refused: set[tuple[str, str, str]] = set()
        self._later: dict[str, list[Fact]] | None = None
        self._lines, self._outline = Lines(self.files), Outline(self.files, self.owner)

    def clear(self, cursor: int, most: int) -> int:
        """Remove copies and lines that are over, at most `most`; returns how many edits that takes."""
        for edit in islice(tidied(self.files, cursor, self._today), most):
            self._make(edit)
        return len(self.edits)

    def _make(self, edit: LineEdit) -> str:
        key = (edit.file, edit.old, edit.new)
        if key in self._refused:
            return "another entry asks for the same, which was refused"
        self.edits.append(edit)
        if self._gate.admit(edit):  # it is left to the guards to say so; for what follows the line is as it was
            self._refused.add(key)
        else:
            self.files = dict(self._gate.files)
            self._lines.read(self.files)
            self._outline.read(self.files)
        return ""

    def remember(self, fact: Fact) -> str:
        """Make the edit that the fact asks for, or hold it for a person; returns why there is neither."""
        found = self._verdict(fact)
        if found.same is not None:
            return f"known: {found.same.file}:{found.same.number}"
        if fact.held:
            self.held.append(Refusal(self._new_line(fact), fact.held))
            return ""
        if why := self._outdated(fact, found):
            return why
        if found.changes is not None:
            return self._change(fact, found.changes)
        if found.maybe:
            told = " and ".join(f"“{secrets.mask(line.text)}”" for line in found.maybe[:2])
            self.held.append(Refusal(self._new_line(fact), f"it may contradict {told}"))
            return ""
        if fact.mark is None and (why := self._doubt(fact)):
            self.held.append(Refusal(self._new_line(fact), why))
            return ""
        return self._make(self._new_line(fact))

    def _doubt(self, fact: Fact) -> str:
        """Why a person should look at a new line that nobody asked to keep."""
        if cues_of(fact.text) & _DOUBTFUL:
            return UNSURE
        return "" if self._outline.place(fact).sure else "no section is like it"

    def _verdict(self, fact: Fact) -> Verdict:
        """Hold a fact against the lines with the same words."""
        for text in (fact.text, without_denied(fact.text)):
            if same := [line for line in self._lines.same(text) if self._is_of(line, fact)]:
                return Verdict(same=same[0])
        if fact.person:  # what somebody said stands beside what they said before
            said = (line for line, _ in self._lines.near(fact.text) if details.says(fact.text, line.text))
            return Verdict(same=next(said, None))
        said_wrong = denied_value(fact.text)
        wrong = stems(said_wrong)
        kinds = {value.kind for value in values(fact.text)}
        newer: list[tuple[float, Known]] = []
        maybe: list[Known] = []
        for line, alike in self._lines.near(fact.text, self.owner):
            shares = shares_of(line.statement, fact.text)
            if line.field and FIRST_PERSON.search(line.field["value"]):  # what somebody said
                continue
            if (other := _same_field(line, fact.text)) is not None:
                if not other:
                    return Verdict(same=line)
                newer.append((1.0, line))
                continue
            if self._says_it(line, fact, shares, alike):
                return Verdict(same=line)
            if _other_number(line.statement, fact.text) and not wrong:
                continue
            if another_subject(line, fact.text, self.owner):
                maybe += [line] if (shares["same"] + shares["newer"] + shares["denial"]) * alike >= _OTHERS else []
                continue
            named = bool(wrong) and wrong <= stems(line.statement) and alike >= _ALIKE and _ends(line.text, said_wrong)
            weight = alike * (1.3 if kinds & {value.kind for value in values(line.statement)} else 1.0)
            changed = shares["newer"] + shares["denial"]
            if named:
                changed = 1.0
            elif line.field and values(line.field["value"]) and not kinds:  # “the deadline is tight” is no other date
                changed = shares["denial"]
            elif _other_number(line.statement, fact.text):
                continue
            shared = stems(fact.text) & stems(line.statement)
            likely = (changed + shares["same"]) * alike
            telling = bool(line.field) or len(stems(line.statement)) > 1
            maybe += [line] if telling and (likely >= _LIKELY or (named and alike >= _ALIKE)) else []
            by_key = line.field and (len(shared) > 1 or stems(line.field["key"]) & shared)
            if by_key or (not line.field and len(stems(line.statement)) > 1):
                newer.append((changed * (weight + 0.3 * named), line))
        newer.sort(key=lambda pair: -pair[0])
        best = [(score, line) for score, line in newer if score >= _NEWER and score >= 0.8 * newer[0][0]]
        if len(best) == 1 and self._may_change(best[0][1], fact, best[0][0]):
            return Verdict(changes=best[0][1])
        return Verdict(maybe=tuple(line for _, line in best) or tuple(maybe))

    def _may_change(self, line: Known, fact: Fact, score: float) -> bool:
        """Whether a fact may take the place of a line: it is of nobody else, and where the fact would go."""
        if not self._is_of(line, fact) or (line.file == SOUL and not fact.mark):
            return False
        file, section, _ = self._outline.place(fact)
        return fact.mark == "correction" or score >= 0.9 or (file, section) == (line.file, line.section)

    def _says_it(self, line: Known, fact: Fact, shares: Mapping[str, float], alike: float) -> bool:
        """Whether a line says what the fact says: the judge says so, or it is a field with that value."""
        text = without_denied(fact.text)
        wrong = denied_value(fact.text)
        if wrong and fold(wrong) in fold(line.text):
            return False
        if wrong and stems(text) <= stems(line.statement) and not another_subject(line, text, self.owner):
            bases = {str(value.base) for value in values(line.statement)}
            return all(str(value.base) in bases for value in values(text)) and self._is_of(line, fact)
        if same_barred(line, text, self.owner):
            return False
        if details.says(text, line.text) or (text != fact.text and stems(text) <= stems(line.statement)):
            return self._is_of(line, fact)
        if line.field and (bases := {str(value.base) for value in values(line.field["value"])}):
            key = stems(line.field["key"].strip("*:： "))
            if key and key <= stems(fact.text) and bases <= {str(value.base) for value in values(fact.text)}:
                return True
        if field := line.field:
            more = stems(fact.text) - stems(self.owner) - stems(line.statement)
            value = stems(field["value"])
            if value and value <= stems(fact.text) and len(more) <= 1 and shares["denial"] + shares["newer"] < _LIKELY:
                return True
        said = stems(fact.text) - stems(self.owner)
        held = said & stems(line.statement)
        if len(held) < (_HELD_WIDE if is_wide(fact.text) else _HELD) * len(said) or len(held) < min(2, len(said)):
            return False
        return shares["same"] >= _SAME and alike >= _ALIKE

    def _is_of(self, line: Known, fact: Fact) -> bool:
        """Whether the headings over a line name nobody else."""
        over = telling(line)
        return not over or bool(over & details.words(f"{fact.under} {fact.text}"))

    def _change(self, fact: Fact, line: Known) -> str:
        new, lost = rewritten(line, fact.text)
        if new == line.whole and line.field:
            return f"known: {line.file}:{line.number}"
        if new == line.whole or loses(line, f"{new} {fact.text}"):
            self.held.append(Refusal(self._new_line(fact), f"it may contradict “{secrets.mask(line.text)}”"))
            return ""
        edit = LineEdit(
            "replace", line.file, line=line.number, old=line.whole, new=new, evidence=(fact.cursor,), supersedes=lost,
            why=f"{fact.mark or 'unmarked'}: newer",
        )  # fmt: skip
        return self._make(edit)

    def _new_line(self, fact: Fact) -> LineEdit:
        """The edit that puts the fact at the end of the section that fits."""
        file, section, _ = self._outline.place(fact)
        return LineEdit(
            "add", file, section, new=f"- {fact.text}", evidence=(fact.cursor,), why=fact.mark or "unmarked"
        )  # fmt: skip

    def _outdated(self, fact: Fact, found: Verdict) -> str:
        """Why a line would be wrong already: it is over, or a later entry says otherwise."""
        if dates.is_over(fact.text, self._today):
            return f"over since before {self._today}"
        if found.changes is None:
            return self._corrected(fact)
        words = stems(found.changes.statement)
        for later in self._after(fact):
            if (
                len(words & stems(later.text)) >= min(2, len(words))
                and compared(later.text, found.changes.statement).relation == "same"
            ):
                return f"a later entry says what stands in {found.changes.file}:{found.changes.number}"
        return ""

    def _corrected(self, fact: Fact) -> str:
        """Which later entry says that it is not so any more, or what is so since; "" where none does."""
        told = Known("", 0, fact.text, "", fact.text, fact.under, "")
        for later in () if fact.person else self._after(fact):
            if later.person or another_subject(told, later.text, self.owner) or _other_number(told.text, later.text):
                continue
            wrong, said = stems(denied_value(later.text)), stems(without_denied(later.text))
            if not wrong or not wrong <= stems(fact.text):
                words = stems(fact.text)
                alike = len(words & said) / (min(len(words), len(said)) or 1)
                shares = shares_of(fact.text, later.text) if alike >= _NEWER else {}
                newer = (
                    _same_field(told, later.text)
                    or alike * (shares.get("newer", 0) + shares.get("denial", 0)) >= _NEWER
                )
                if not newer:
                    continue
            elif not any(said - wrong <= stems(line.statement) for line, _ in self._lines.near(later.text, self.owner)):
                continue
            return f"entry {later.cursor} says what is so since"
        return ""

    def _after(self, fact: Fact) -> list[Fact]:
        """The facts of later entries with two words of this one at least."""
        if self._later is None:
            self._later = {}
            for entry in self._archive:
                for later in facts_of(entry, self.owner)[0]:
                    for word in () if later.held else stems(later.text):
                        self._later.setdefault(word, []).append(later)
        shared = Counter[int]()
        by_id: dict[int, Fact] = {}
        for word in stems(fact.text):
            for later in self._later.get(word, ()):
                if later.cursor > fact.cursor:
                    by_id[id(later)] = later
                    shared[id(later)] += 1
        least = min(2, len(stems(fact.text)))
        return [by_id[one] for one, count in shared.items() if count >= least]


def _same_field(line: Known, text: str) -> bool | None:
    """Whether two fields of one name that has one value at a time have another one: `City: Rome`, `City: Porto`. None
    where they are no such fields."""
    field, said = line.field, FIELD.fullmatch(text)
    if not field or not said or FIRST_PERSON.search(f"{field['value']} {said['value']}"):
        return None
    keys = [fold(one["key"].strip("*:： ")) for one in (field, said)]
    if keys[0] != keys[1] or "several" in cues_of(keys[0]):
        return None
    if limits(said["value"]) or limits(field["value"]):
        return None
    return fold(field["value"].strip("* .")) != fold(said["value"].strip("* ."))


def _ends(text: str, value: str) -> bool:
    """Whether a value does not go on where it stands in a text: `VS Code` of `VS Code extensions` does."""
    at = fold(text).find(fold(value))
    return at < 0 or re.match(r"\s+[^\W\d_]{4}", fold(text)[at + len(fold(value)) :]) is None


def _other_number(one: str, other: str) -> bool:
    """Whether two lines begin with another number of the same thing: `Ticket 12`, `Ticket 13`."""
    found = [next((word for word in text.split()[:4] if word[:1].isdigit()), "") for text in (one, other)]
    return all(found) and found[0] != found[1] and one.split()[:1] == other.split()[:1]


def _most_named(entries: Sequence[HistoryEntry], user: str) -> str:
    """The name with which most lines of the entries begin, where the file about the user has it."""
    names = Counter(subject_of(line.text) for entry in entries for line in lines_of(entry.content))
    return next((name for name, _ in names.most_common() if name and re.search(rf"\b{re.escape(name)}\b", user)), "")
