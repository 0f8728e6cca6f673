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

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core.text import counted
from nanomem_tui.dreams import edits as dreams_edits
from nanomem_tui.dreams.edits import TITLES, LineEdit, day_of, tidy_lines
from nanomem_tui.dreams.entries import (
    FIRST_PERSON,
    SOUL,
    UNSURE,
    USER,
    Fact,
    Proposal,
    Skipped,
    Watch,
    facts_of,
    lines_of,
    no_watcher,
)
from nanomem_tui.dreams.guards import Gate, Limits, Refusal, evidence_of
from nanomem_tui.dreams.placement import (
    FIELD,
    KnownLine,
    Lines,
    Outline,
    Relation,
    SectionPlace,
    another_number,
    another_subject,
    heading_names,
    is_doubtful,
    is_no_change,
    is_not_same,
    loses_much,
    relations,
    rewrite_line,
    stems,
    tells_change,
)
from nanomem_tui.language import dates, secrets
from nanomem_tui.language.classify import cues_of
from nanomem_tui.language.statements.compare import compared, shares_of
from nanomem_tui.language.statements.pair_features import limits
from nanomem_tui.language.statements.statement import (
    denied_value,
    exchanged,
    name_told,
    owner_of,
    statement,
    subject_of,
    without_denied,
)
from nanomem_tui.language.tokens import fold

_REPEATS = (0.1, 0.7)  # how likely a line has to be repeated that a person is asked; whatever the sentences say
_ALSO_SAME = 0.15  # … how likely the sentences say the same, else
_SAME = 0.6  # how likely a line has to be repeated
_CHANGES = 0.55  # … changed
_SURELY = 0.85  # … where the agent did not mark the fact
_DIFFERENT = 0.9  # how sure it is that a line and a fact have nothing to do with each other
_TOLD = 2  # words that a line shares with a fact that says which of its values is wrong, and which is right
_CLEAR = 1.4  # how much likelier than any other line
_MAYBE = (0.2, 0.55)  # how likely either has to be that a person is asked; where the agent marked the fact
_ALIKE = 0.15  # share of words in common with a fact that tells a change, for a line to be asked about
_LIST = 4  # more lines than that, of which a fact could change each, are a list of its kind
_NEWER = 0.4  # how sure it has to be that a later entry takes back what an earlier one says


class Verdict(NamedTuple):
    """What a fact is to the lines that are there: the line it repeats, or changes, or those it may change or repeat."""

    same: KnownLine | None = None
    changes: KnownLine | None = None
    maybe: tuple[KnownLine, ...] = ()
    repeats: tuple[KnownLine, ...] = ()


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
        """Return the same Dreamer for one Dream over entries of `archive`."""
        return RulesDreamer(archive, limits)

    def propose(
        self, entries: Sequence[HistoryEntry], files: Mapping[str, str], *, steps: int = 0, watch: Watch = no_watcher
    ) -> Proposal:
        """Return the edits, in the order of the entries that are their evidence; at most `steps` with what is cleared
        away.

        Copies and lines that are over go first, so that a fact meets each line once; they take the steps that the facts
        leave.
        """
        work = _DreamPass({name: files.get(name, "") for name in TITLES}, entries, self._archive, self._limits)
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


class _DreamPass:
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
        for edit in islice(tidy_lines(self.files, cursor, self._today), most):
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
        place = self._outline.find_place(fact)
        found = self._verdict(fact, place)
        if found.same is not None:
            return f"known: {found.same.file}:{found.same.number}"
        line = new_line(fact, place)
        if fact.held:
            return self._hold(line, fact.held)
        if why := self._outdated(fact, found):
            return why
        if found.changes is not None:
            return self._change(fact, found.changes, line)
        if found.maybe:
            told = " and ".join(f"“{secrets.mask(other.text)}”" for other in found.maybe[:2])
            return self._hold(line, f"it may contradict {told}")
        if fact.mark is None and is_doubtful(fact.text):
            return self._hold(line, UNSURE)
        if found.repeats:
            return self._hold(line, f"it may repeat “{secrets.mask(found.repeats[0].text)}”")
        if not place.sure:
            return self._hold(line, "its place is not sure")
        return self._make(line)

    def _hold(self, edit: LineEdit, why: str) -> str:
        self.held.append(Refusal(edit, why))
        return ""

    def _verdict(self, fact: Fact, place: SectionPlace) -> Verdict:
        """Hold a fact against the lines with the same words; `place`: where it would go."""
        for text in (fact.text, without_denied(fact.text)):
            if same := [line for line in self._lines.same(text) if self._is_of(line, fact)]:
                return Verdict(same=same[0])
        if (field := self._name_given(fact)) is not None:
            is_known = fold(name_told(fact.text)) in fold(field.text) and "(" not in fact.text
            return Verdict(same=field) if is_known else Verdict(repeats=(field,))
        near = self._lines.near(fact.text, self.owner)
        if fact.person:  # what somebody said stands beside what they said before
            return Verdict(same=next((line for line, _ in near if dreams_edits.says_all(fact.text, line.text)), None))
        near = [pair for pair in near if not is_quoted(pair[0])]
        likely = relations(fact, near, place, self.owner)
        likely = [one if self._may_repeat(one, fact) else one._replace(same=0.0) for one in likely]
        alike = sorted((one for one in likely if one.same), key=lambda one: -one.same)
        repeats = tuple(one.line for one in alike if not _is_placeholder(one.line))
        found = [_certain(one, fact) for one in likely]
        said = [one for one in found if one.same >= _SAME and self._may_say(one.line, fact)]
        if said:
            return Verdict(same=max(said, key=lambda one: one.same).line)
        changed = sorted((one for one in found if one.changes >= _CHANGES), key=lambda one: -one.changes)
        changed = [one for one in changed if one.changes * _CLEAR >= changed[0].changes]
        is_sure = bool(changed) and (bool(fact.mark) or changed[0].changes >= _SURELY)
        if is_sure and len(changed) == 1 and self._may_change(changed[0].line, fact):
            return Verdict(changes=changed[0].line)
        maybe = [one.line for one in found if one.same + one.changes >= _MAYBE[bool(fact.mark)]]
        maybe = [one for one in maybe if not _is_placeholder(one) and not another_number(one.text, fact.text)]
        if len(maybe) > _LIST:  # one more of a list of its kind
            return Verdict(repeats=repeats)
        if not maybe and tells_change(fact):  # it says that something is otherwise: not of what
            maybe = [line for line, alike in near if alike >= _ALIKE]
        if fact.mark:  # what the agent marked waits only where it may be of the same one
            maybe = [one for one in maybe if not _says_more(fact.text, one)]
            maybe = [one for one in maybe if not another_subject(one, fact.text, self.owner)]
        return Verdict(maybe=tuple(maybe), repeats=repeats)

    def _name_given(self, fact: Fact) -> KnownLine | None:
        """Return the field that has the owner's name, where a fact only says how they are called."""
        if not self.owner or self.owner not in name_told(fact.text).split():
            return None
        return next((line for line in self._lines.all if owner_of(line.whole) == self.owner), None)

    def _may_repeat(self, one: Relation, fact: Fact) -> bool:
        """Return whether a fact may say what a line says, so that a person is asked."""
        if one.same < _REPEATS[0] or another_number(one.line.text, fact.text):
            return False
        return one.same >= _REPEATS[1] or shares_of(one.line.statement, fact.text)["same"] >= _ALSO_SAME

    def _may_say(self, line: KnownLine, fact: Fact) -> bool:
        """Return whether a line may say what a fact says: nothing in the fact is certainly of another, or otherwise."""
        text, wrong = without_denied(fact.text), denied_value(fact.text)
        if (wrong and fold(wrong) in fold(line.text)) or _is_placeholder(line):
            return False
        if _says_more(text, line) and not _are_in_the_same_words(line.statement, text):
            return False
        instead = exchanged(fact.text)[1]
        is_changed = bool(instead) and fold(instead) in fold(line.text)
        barred = another_subject if is_changed else is_not_same  # `moved from A to B`, and the line has B
        return self._is_of(line, fact) and not barred(line, text, self.owner)

    def _may_change(self, line: KnownLine, fact: Fact) -> bool:
        """Return whether a fact may take the place of a line: it is of nobody else, and no rule of the agent's."""
        if (line.file == SOUL and fact.mark is None) or "also" in statement(fact.text).marks:
            return False
        return self._is_of(line, fact) and not is_no_change(line, fact.text, self.owner)

    def _is_of(self, line: KnownLine, fact: Fact) -> bool:
        """Return whether the headings over a line name nobody else."""
        over = heading_names(line)
        return not over or bool(over & dreams_edits.meaningful_words(f"{fact.under} {fact.text}"))

    def _change(self, fact: Fact, line: KnownLine, instead: LineEdit) -> str:
        new, lost = rewrite_line(line, fact.text)
        if new == line.whole and line.field:
            return f"known: {line.file}:{line.number}"
        if new == line.whole or loses_much(line, f"{new} {fact.text}"):
            return self._hold(instead, f"it may contradict “{secrets.mask(line.text)}”")
        edit = LineEdit(
            "replace", line.file, line=line.number, old=line.whole, new=new, evidence=(fact.cursor,), supersedes=lost,
            why=f"{fact.mark or 'unmarked'}: newer",
        )  # fmt: skip
        return self._make(edit)

    def _outdated(self, fact: Fact, found: Verdict) -> str:
        """Return why a line would be wrong already: it is over, or a later entry says otherwise."""
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
        """Return which later entry says that it is not so any more, or what is so since; "" where none does."""
        told = KnownLine("", 0, fact.text, "", fact.text, fact.under, "")
        for later in () if fact.person else self._after(fact):
            if later.person or another_subject(told, later.text, self.owner) or another_number(told.text, later.text):
                continue
            wrong, said = stems(denied_value(later.text)), stems(without_denied(later.text))
            if not wrong or not wrong <= stems(fact.text):
                words = stems(fact.text)
                alike = len(words & said) / (min(len(words), len(said)) or 1)
                shares = shares_of(fact.text, later.text) if alike >= _NEWER else {}
                newer = (
                    _has_other_value(told, later.text)
                    or alike * (shares.get("newer", 0) + shares.get("denial", 0)) >= _NEWER
                )
                if not newer:
                    continue
            elif not any(said - wrong <= stems(line.statement) for line, _ in self._lines.near(later.text, self.owner)):
                continue
            return f"entry {later.cursor} says what is so since"
        return ""

    def _after(self, fact: Fact) -> list[Fact]:
        """Return the facts of later entries with two words of this one at least."""
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


def new_line(fact: Fact, place: SectionPlace) -> LineEdit:
    """Return the edit that puts the fact at the end of its section."""
    new, why = f"- {fact.text}", fact.mark or "unmarked"
    return LineEdit("add", place.file, place.section, new=new, evidence=(fact.cursor,), why=why)


def _says_more(text: str, line: KnownLine) -> bool:
    """Return whether a text says all that a line says, and more: `a job`, `a job at a bakery`."""
    return bool(stems(line.statement)) and stems(line.statement) < stems(text)


def _is_placeholder(line: KnownLine) -> bool:
    """Return whether a line waits to be filled in: `**Timezone**: (your timezone)`."""
    value = line.field["value"] if line.field else line.text
    return value.startswith("(") and value.endswith(")")


def is_quoted(line: KnownLine) -> bool:
    """Return whether a line is what somebody said: `Ana: I like tea`."""
    return line.field is not None and FIRST_PERSON.search(line.field["value"]) is not None


def _certain(one: Relation, fact: Fact) -> Relation:
    """Return what is learned, unless it is certain: the line says all the words, is a field of the same name, or has
    the value that the fact says is wrong; what happened another time stands beside it."""
    line, text, said = one.line, fact.text, without_denied(fact.text)
    is_other = _has_other_value(line, text)
    if is_other is not None:
        return Relation(line, float(not is_other), float(is_other))
    if dreams_edits.says_all(said, line.text) or (said != text and stems(said) <= stems(line.statement)):
        return Relation(line, 1.0, 0.0)
    if _are_in_the_same_words(line.statement, text):
        return Relation(line, 1.0, 0.0)
    is_several = line.field is not None and "several" in cues_of(line.field["key"])
    if is_several or (fact.mark and fact.label == "event" and not tells_change(fact)):
        return one._replace(changes=0.0)
    wrong, right = exchanged(text)
    there = fold(line.text)
    if right and fold(right) in there and fold(wrong) not in there and stems(said) & stems(line.text):
        return Relation(line, 1.0, 0.0)
    if fact.label == "event" and not tells_change(fact):  # it may be another time, and a person is asked
        return one._replace(changes=min(one.changes, _CHANGES / 2))
    if wrong and right and fold(wrong) in there and len(stems(said) & stems(line.statement)) >= _TOLD:
        return one._replace(same=0.0, changes=1.0)
    wrong = denied_value(text) or wrong
    if wrong and fold(wrong) in there and stems(said) & stems(line.statement):
        return one._replace(same=0.0, changes=max(one.changes, _CHANGES))
    if shares_of(line.statement, text)["different"] >= _DIFFERENT:
        return one._replace(changes=min(one.changes, _CHANGES / 2))
    return one


def _are_in_the_same_words(one: str, other: str) -> bool:
    """Return whether two statements have the same words that tell something, but for `User`: `Allergic to nuts`, `User
    is allergic to nuts`."""
    words, others = stems(one) - stems("user"), stems(other) - stems("user")
    if not words or words != others or statement(one).denials != statement(other).denials:
        return False
    return not dreams_edits.unaccounted_details(one, other) and not dreams_edits.unaccounted_details(
        other, f"{one} User"
    )


def _has_other_value(line: KnownLine, text: str) -> bool | None:
    """Return whether two fields of one name that has one value at a time have another one: `City: Rome`, `City: Porto`.
    None where they are no such fields."""
    field, said = line.field, FIELD.fullmatch(text)
    if not field or not said or FIRST_PERSON.search(f"{field['value']} {said['value']}"):
        return None
    keys = [fold(one["key"].strip("*:： ")) for one in (field, said)]
    if keys[0] != keys[1] or "several" in cues_of(keys[0]):
        return None
    if limits(said["value"]) or limits(field["value"]):
        return None
    return fold(field["value"].strip("* .")) != fold(said["value"].strip("* ."))


def _most_named(entries: Sequence[HistoryEntry], user: str) -> str:
    """Return the name with which most lines of the entries begin, where the file about the user has it."""
    names = Counter(subject_of(line.text) for entry in entries for line in lines_of(entry.content))
    return next((name for name, _ in names.most_common() if name and re.search(rf"\b{re.escape(name)}\b", user)), "")


# History entries that the rules could not read, prose and dumps of messages: a Dream notes them, a model's reads
# them.

_NAMED = 10


def describe_unread(cursors: Sequence[int]) -> str:
    """Return which entries were not read, why, and what becomes of them."""
    named = ", ".join(f"#{cursor}" for cursor in cursors[:_NAMED]) + (", …" if len(cursors) > _NAMED else "")
    verb = "waits" if len(cursors) == 1 else "wait"
    entries = counted(len(cursors), "entry", "entries")
    return f"{entries} the rules could not read ({named}: prose, or a dump of messages): {verb} for a Dream by a model"
