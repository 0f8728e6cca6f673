"""The rules Dreamer: turns new history entries into edits of lines without any model, the same way each time.

A fact that is known is left alone; one that says more than a line, or contradicts it, takes that line's place; a new
one goes to the end of the section that fits. Steps that are left go to copies and to lines that say they are over.
Nothing else is touched. Must not read files or apply edits for good.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from nanomem_tui import dates
from nanomem_tui.dream import corrected, details, rivals
from nanomem_tui.dream.claims import as_it_is, claim_of, denials, ended, main_part, old_value, parts_of, settled
from nanomem_tui.dream.dreamer import Proposal, Watch, nobody
from nanomem_tui.dream.edits import TITLES, LineEdit
from nanomem_tui.dream.facts import Fact, Skipped, facts_of, is_speech, route
from nanomem_tui.dream.guards import Gate, Limits, Refusal, evidence_of
from nanomem_tui.dream.later import Archive
from nanomem_tui.dream.lines import Line, Lines, Part
from nanomem_tui.dream.polarity import negations
from nanomem_tui.dream.tidy import tidied
from nanomem_tui.dream.wording import forms
from nanomem_tui.formats.history import HistoryEntry
from nanomem_tui.memory import secrets
from nanomem_tui.tokens import fold

_SECTIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("SOUL.md", "style"): ("communication", "style", "core principles", "principles", "tone", "voice", "沟通", "风格"),
    ("USER.md", "preference"): ("preference", "偏好", "喜好"),
    ("USER.md", "health"): ("health", "健康", "diet", "饮食"),
    ("USER.md", "identity"): ("identity", "basic information", "user information", "profile", "about", "身份", "基本"),
    ("memory/MEMORY.md", "decision"): ("decision", "决定", "决策", "project", "项目"),
    ("memory/MEMORY.md", "infrastructure"): ("infrastructure", "servers", "基础设施", "project", "项目"),
    ("memory/MEMORY.md", "project"): ("project", "项目"),
    ("memory/MEMORY.md", "preference"): ("preference", "偏好"),
    ("memory/MEMORY.md", "identity"): ("user information", "people"),
    ("memory/MEMORY.md", "people"): ("people", "contacts", "人物"),
}
_GENERAL = ("notes", "facts", "misc", "other", "general", "basic information", "identity", "备注", "其他", "笔记")
_NEW_TITLES: Mapping[tuple[str, str], str] = {
    ("SOUL.md", "style"): "Communication Style",
    ("USER.md", "preference"): "Preferences",
    ("USER.md", "health"): "Health",
    ("USER.md", "identity"): "Identity",
    ("memory/MEMORY.md", "decision"): "Decisions",
    ("memory/MEMORY.md", "infrastructure"): "Infrastructure",
    ("memory/MEMORY.md", "project"): "Project Context",
    ("memory/MEMORY.md", "people"): "People",
}
_NOBODY = frozenset(details.words("the user users person now currently anymore"))
_COMMON = frozenset(details.words("the project user information important notes context general work my our"))


class RulesDreamer:
    """The default Dreamer: offline, deterministic, the smallest edits.

    `archive` is the whole history as far as it is known: what a later entry says again, corrects or outdates is not
    taken back by an older one. `limits` are those of the guards behind it: what they refuse changes no line for the
    entries that follow, so that one Dream over many entries ends like many over a few each.
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
        held = work.held
        for entry in entries:
            facts, left_out = facts_of(entry)
            skipped += left_out
            for fact in facts:
                known = work.known(fact) if fact.held else work.remember(fact)
                if fact.held and not known:
                    held.append(Refusal(work.new_line(fact), fact.held))
                elif known:
                    skipped.append(Skipped(fact.cursor, fact.text, known, fact.mark, fact=True))
        edits = work.edits
        room = max(0, steps - (len(edits) - cleared)) if cleared else 0
        return Proposal((*edits[: min(room, cleared)], *edits[cleared:]), tuple(skipped), refused=tuple(held))


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
        self._lines = Lines(files)
        self._archive = Archive(archive or entries)
        self._gate = Gate(files, evidence_of(entries), limits, self._archive.today)
        self._refused: set[tuple[str, str, str]] = set()

    def clear(self, cursor: int, most: int) -> int:
        """Remove copies and lines that are over, at most `most`; returns how many edits that takes."""
        for edit in islice(tidied(self._lines.files, cursor, self._archive.today), most):
            self._make(edit)
        return len(self.edits)

    def _make(self, edit: LineEdit) -> None:
        self.edits.append(edit)
        if self._gate.admit(edit):  # it is left to the guards to say so; for what follows the line is as it was
            self._refused.add((edit.file, edit.old, edit.new))
        else:
            self._lines.make(edit, self._gate.files)

    def known(self, fact: Fact) -> str:
        """Which line says what the fact says; "" when none does."""
        for line in self._lines.alike(fact.text):
            if details.says(fact.text, line.text) and self._is_of(line, fact):
                return rivals.known(line)
        return ""

    def _is_of(self, line: Line, fact: Fact) -> bool:
        """Whether a line is said of whom the fact is: of nobody else by what it stands under, or where it would go."""
        if rivals.of_the_same(self._lines, line, fact):
            return True
        home = self.new_line(fact)
        return line.file == home.file and self._lines.stands_in(line, home.section)

    def remember(self, fact: Fact) -> str:
        """Make the edit that the fact asks for; returns why there is none."""
        plain = fact.text
        if known := self.known(fact):
            return known
        file, _ = route(fact)
        found = self._contradicted(fact, file)
        if isinstance(found, str):
            return found
        if found is not None:
            line, new, superseded = found
            if self._archive.repeats(fact, line, superseded):
                return f"a later entry says what stands in {line.file}:{line.number}"
            return self._ask(_replace(line, new, fact, superseded, "contradicts"))
        if denied := self._denied(fact):
            return self._take_back(fact, denied)
        for line in self._lines.sharing(details.words(plain)):
            if line.file == file and _says_more(fact, line) and rivals.of_the_same(self._lines, line, fact):
                return self._ask(_replace(line, plain, fact, "", "says more"))
        return self._outdated(fact) or self._add(fact, file)

    def _add(self, fact: Fact, file: str) -> str:
        """Add the line of a fact. Of one line that it may contradict a person is asked whether it goes; where it may
        contradict more than one, or one that says more, it waits itself."""
        edit = self.new_line(fact)
        beside = [line for line in rivals.beside(self._lines, fact, file) if not self._said_later(fact, line)]
        if len(beside) > 1 or any(len(parts_of(line.text)) > 1 for line in beside):
            told = " and ".join(f"“{secrets.mask(line.text)}”" for line in beside)
            self.held.append(Refusal(edit, f"it may contradict {told}"))
            return ""
        why = self._ask(edit)
        if not why and beside and (edit.file, edit.old, edit.new) not in self._refused:
            old = beside[0]
            gone = LineEdit(
                "remove", old.file, line=old.number, old=old.whole, evidence=(fact.cursor,), why="contradicted"
            )
            self.held.append(Refusal(gone, f"entry {fact.cursor} may contradict it: {fact.text}"))
        return why

    def _said_later(self, fact: Fact, line: Line) -> bool:
        claim = claim_of(line.text)
        return self._archive.repeats(fact, line, claim.value if claim else line.text)

    def new_line(self, fact: Fact) -> LineEdit:
        """The edit that puts the fact at the end of the section that fits."""
        file, topic = route(fact)
        section = _section(self._lines.parts(file), fact.text, file, topic)
        why = fact.mark or "unmarked"
        return LineEdit("add", file, section, new=f"- {fact.text}", evidence=(fact.cursor,), why=why)

    def _ask(self, edit: LineEdit) -> str:
        if (edit.file, edit.old, edit.new) in self._refused:
            return "another entry asks for the same, which was refused"
        self._make(edit)
        return ""

    def _outdated(self, fact: Fact) -> str:
        """Why a new line would be wrong already: a later entry says otherwise, or it is over."""
        if dates.is_over(fact.text, self._archive.today):
            return f"over since before {self._archive.today}"
        for later in self._archive.corrections(fact):
            said = as_it_is(later.text)
            if any(details.says(one, line.text) for one in (said, later.text) for line in self._lines.alike(said)):
                return f"entry {later.cursor} corrects it"
        return ""

    def _contradicted(self, fact: Fact, file: str) -> tuple[Line, str, str] | str | None:
        """(line, its new text, the value it loses) when the fact takes a line's place; why not when the line says it.

        Only a line gives way that says another value of the same, of the same one; see `rivals` and `corrected`."""
        claim = None if fact.person else claim_of(settled(fact.text))
        wrong = old_value(fact.text) if fact.mark == "correction" else ""
        found = rivals.other_value(self._lines, fact, claim, wrong, file) if claim is not None else None
        return found or self._corrected(fact) or rivals.other_amount(self._lines, fact, file)

    def _corrected(self, fact: Fact) -> tuple[Line, str, str] | str | None:
        """The only line that holds what the fact says is so no more: `X now, not Y`, `no longer Y`."""
        if not old_value(fact.text) and not ended(fact.text)[1]:
            return None
        near = corrected.holding(self._lines.sharing(details.words(fact.text)), fact)
        found = corrected.named_wrong(fact, [line for line in near if rivals.of_the_same(self._lines, line, fact)])
        return rivals.known(found) if isinstance(found, Line) else found

    def _denied(self, fact: Fact) -> list[Line]:
        """The lines that say what the fact denies of the same one, and maybe more."""
        if fact.person or old_value(fact.text):
            return []
        found: list[Line] = []
        for denial in denials(fact.text):
            about = details.words(denial) - _NOBODY
            near = self._lines.sharing(about) if about else []
            found += [line for line in near if _is_that(line, denial) or _says_that_and_more(line, denial)]
        return [
            line
            for line in found
            if not negations(line.text) and not is_speech(line.text) and rivals.of_the_same(self._lines, line, fact)
        ]

    def _take_back(self, fact: Fact, denied: Sequence[Line]) -> str:
        """Let a correction take the place of the one line that it denies whole; any other waits for a person."""
        line = denied[0]
        said = main_part(line.text)
        if self._archive.repeats(fact, line, said):
            return f"a later entry says what stands in {line.file}:{line.number}"
        edit = _replace(line, fact.text, fact, said, "denies")
        whole = any(_is_that(line, denial) for denial in denials(fact.text))
        if fact.mark == "correction" and len(denied) == 1 and whole:
            return self._ask(edit)
        more = "" if whole else ", among other things"
        places = "more than one line" if len(denied) > 1 else f"a line of {line.file}"
        self.held.append(Refusal(edit, f"it denies what {places} says{more}"))
        return ""


def _about(line: Line) -> frozenset[str]:
    """The words of what a line says of the user, without its remarks."""
    return details.words(main_part(line.text)) - _NOBODY


def _is_that(line: Line, said: str) -> bool:
    """Whether a line says that and nothing else, remarks aside."""
    return forms(main_part(line.text)) == forms(said)


def _says_that_and_more(line: Line, said: str) -> bool:
    """Whether that is most of what a line says, of the one with whom both begin."""
    there, about = _about(line), details.words(said) - _NOBODY
    one, other = forms(line.text), forms(said)
    same = one[:1] == other[:1] and one.count("'s") == other.count("'s")
    return same and len(about) > 1 and about <= there and len(there) <= 2 * len(about) + 1


def _replace(line: Line, new: str, fact: Fact, superseded: str, why: str) -> LineEdit:
    return LineEdit(
        "replace", line.file, line=line.number, old=line.whole, new=line.lead + new, evidence=(fact.cursor,),
        supersedes=superseded, why=why,
    )  # fmt: skip


def _says_more(fact: Fact, line: Line) -> bool:
    """Whether the fact says what the line says, and more; what somebody said another time only if it holds the words of
    the line as they are."""
    if not details.extends(fact.text, line.text):
        return False
    who, colon, said = line.text.partition(": ")
    if not fact.person:
        return True
    return bool(colon) and fact.text.startswith(f"{who}: ") and fold(said).strip(" .!") in fold(fact.text)


def _titled(wanted: str, title: str) -> bool:
    """Whether a title is, holds or begins like the wanted word: `Infra` for infrastructure."""
    folded = title.casefold()
    return wanted in folded or any(
        len(word) > 3 and (wanted.startswith(word) or word.startswith(wanted)) for word in re.findall(r"\w+", folded)
    )


def _section(parts: Sequence[Part], fact: str, file: str, topic: str) -> str:
    """The title of the section where the fact fits; that of a new one when none does."""
    named = [part for part in parts if part.level >= 2 and part.title]
    of_fact = details.words(fact)
    for part in named if topic != "people" else ():  # what somebody says touches many titles and is under none
        title = details.words(part.title) - _COMMON
        if any(len(word) > 1 for word in title & of_fact):
            return part.title
    for wanted in _SECTIONS.get((file, topic), ()):
        for part in named:
            if _titled(wanted, part.title):
                return part.title
    if topic != "people":
        meant = {word for word in of_fact if len(word) > 1}  # a single character of a script without spaces says little
        best = max(((len(meant & part.words), part.title) for part in named), default=(0, ""), key=lambda row: row[0])
        if best[0] >= 3:
            return best[1]
    if not named and any(part.has_list for part in parts):
        return ""  # a flat file: one list under its own heading
    if (file, topic) not in _NEW_TITLES or topic == "project":
        for wanted in _GENERAL:
            for part in named:
                if wanted in part.title.casefold():
                    return part.title
    return _NEW_TITLES.get((file, topic), "Notes")
