"""The rules Dreamer: turns new history entries into edits of lines without any model, the same way each time.

A fact that is known is left alone; one that says more than a line, or contradicts it, takes that line's place; a new
one goes to the end of the section that fits. Steps that are left go to copies and to lines that say they are over.
Nothing else is touched. Must not read files or apply edits for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from nanomem_tui.dream import details
from nanomem_tui.dream.claims import Claim, claim_of, old_value
from nanomem_tui.dream.dreamer import Proposal, Watch, nobody
from nanomem_tui.dream.edits import TITLES, LineEdit, apply_edits
from nanomem_tui.dream.facts import Fact, Skipped, facts_of, route
from nanomem_tui.dream.tidy import day_of, tidied
from nanomem_tui.formats import markdown
from nanomem_tui.formats.history import HistoryEntry
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
_COMMON = frozenset(details.words("the project user information important notes context general work my our"))


@dataclass(frozen=True, slots=True)
class _Line:
    file: str
    number: int
    whole: str
    lead: str
    text: str


@dataclass
class _State:
    files: dict[str, str]
    edits: list[LineEdit] = field(default_factory=list)
    lines: list[_Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = _items(self.files)

    def make(self, edit: LineEdit) -> None:
        self.files = apply_edits(self.files, [edit])
        self.edits.append(edit)
        others = [line for line in self.lines if line.file != edit.file]
        self.lines = others + _items({edit.file: self.files[edit.file]})


def _items(files: Mapping[str, str]) -> list[_Line]:
    """The list lines of the files, with what stands before their text."""
    found = []
    for file, text in files.items():
        lines = text.split("\n")
        for bullet in markdown.bullets(text):
            whole = lines[bullet.line - 1].removesuffix("\r")
            if bullet.text and not bullet.text.startswith(("[ ]", "[x]", "[X]")):
                lead = whole[: len(whole.rstrip()) - len(bullet.text)]
                found.append(_Line(file, bullet.line, whole, lead, bullet.text))
    return found


class RulesDreamer:
    """The default Dreamer: offline, deterministic, the smallest edits."""

    name = "rules"

    def propose(
        self, entries: Sequence[HistoryEntry], files: Mapping[str, str], *, steps: int = 0, watch: Watch = nobody
    ) -> Proposal:
        """The edits, in the order of the entries that are their evidence; at most `steps` with what is cleared away."""
        state = _State({name: files.get(name, "") for name in TITLES})
        skipped: list[Skipped] = []
        for entry in entries:
            facts, left_out = facts_of(entry)
            skipped += left_out
            for fact in facts:
                known = _remember(state, fact)
                if known:
                    skipped.append(Skipped(fact.cursor, fact.text, known, fact.mark))
        if entries and len(state.edits) < steps:
            watch("looking for copies and lines that are over")
            for edit in islice(tidied(state.files, entries[-1].cursor, day_of(entries)), steps - len(state.edits)):
                state.make(edit)
        return Proposal(tuple(state.edits), tuple(skipped))


def _remember(state: _State, fact: Fact) -> str:
    """Make the edit that the fact asks for; returns why there is none."""
    plain = fact.text
    for line in state.lines:
        if details.says(plain, line.text):
            return f"known: {line.file}:{line.number}"
    file, topic = route(fact)
    found = _contradicted(state, fact, file)
    if isinstance(found, str):
        return found
    if found is not None:
        line, new, superseded = found
        state.make(_replace(line, new, fact, superseded, "contradicts"))
        return ""
    for line in state.lines:
        if line.file == file and details.extends(plain, line.text):
            state.make(_replace(line, plain, fact, "", "says more"))
            return ""
    section = _section(state.files[file], plain, file, topic)
    state.make(LineEdit("add", file, section, new=f"- {plain}", evidence=(fact.cursor,), why=fact.mark or "unmarked"))
    return ""


def _replace(line: _Line, new: str, fact: Fact, superseded: str, why: str) -> LineEdit:
    return LineEdit(
        "replace", line.file, line=line.number, old=line.whole, new=line.lead + new, evidence=(fact.cursor,),
        supersedes=superseded, why=why,
    )  # fmt: skip


def _contradicted(state: _State, fact: Fact, file: str) -> tuple[_Line, str, str] | str | None:
    """(line, its new text, the value it loses) when the fact takes a line's place; why not when the line says it.

    A fact that is marked as a correction may name the wrong value and is looked for in every file; any other replaces
    only the one line of its own file that gives the same subject one other value.
    """
    corrects = fact.mark == "correction"
    wrong = old_value(fact.text) if corrects else ""
    claim = None if fact.person else claim_of(fact.text)
    if claim is not None:
        found = _other_value(state, claim, wrong, "" if corrects else file)
        if found is not None:
            return found
    return _wrong_value(state, fact, claim, wrong) if wrong else None


def _other_value(state: _State, claim: Claim, wrong: str, file: str) -> tuple[_Line, str, str] | str | None:
    same = [(line, other) for line in state.lines if (other := claim_of(line.text)) and other.subject == claim.subject]
    for line, other in same:
        if fold(other.value) == fold(claim.value) or details.says(claim.value, other.value):
            return f"known: {line.file}:{line.number}"
    named = [(line, other) for line, other in same if wrong and details.holds(fold(other.value), fold(wrong))]
    alone = [(line, other) for line, other in same if file in ("", line.file)]
    if len(named) != 1 and (len(alone) != 1 or not claim.sure or not alone[0][1].sure):
        return None
    line, other = named[0] if len(named) == 1 else alone[0]
    return line, line.text[: other.start] + claim.value, other.value


def _wrong_value(state: _State, fact: Fact, claim: Claim | None, wrong: str) -> tuple[_Line, str, str] | None:
    """The line that holds the value named as wrong and shares most words with the fact, unless two do so alike."""
    rest = details.words(fact.text) - details.words(wrong)
    who = f"{fact.text.partition(':')[0]}:" if fact.person else ""
    holding = [
        (len(rest & details.words(line.text)), line)
        for line in state.lines
        if line.text.startswith(who) and details.holds(fold(line.text), fold(wrong)) and rest & details.words(line.text)
    ]
    holding.sort(key=lambda row: -row[0])
    if not holding or (len(holding) > 1 and holding[0][0] == holding[1][0]):
        return None
    line = holding[0][1]
    return (line, _put(line.text, wrong, claim.value), wrong) if claim else (line, fact.text, wrong)


def _put(text: str, old: str, new: str) -> str:
    """`text` with the first `old` (whatever its case) replaced by `new`."""
    at = text.casefold().find(old.casefold())
    return text[:at] + new + text[at + len(old) :] if at >= 0 else text


def _section(text: str, fact: str, file: str, topic: str) -> str:
    """The title of the section where the fact fits; that of a new one when none does."""
    sections = markdown.sections(text)
    named = [section for section in sections if section.level >= 2 and section.title]
    of_fact = details.words(fact)
    for section in named if topic != "people" else ():  # what somebody says touches many titles and is under none
        title = details.words(section.title) - _COMMON
        if any(len(word) > 1 for word in title & of_fact):
            return section.title
    for wanted in _SECTIONS.get((file, topic), ()):
        for section in named:
            if wanted in section.title.casefold():
                return section.title
    held = [(frozenset[str]().union(*map(details.words, section.lines)), section.title) for section in named]
    best = max(((len(of_fact & found), title) for found, title in held), default=(0, ""), key=lambda row: row[0])
    if best[0] >= 3 and topic != "people":
        return best[1]
    if not named and any(markdown.bullets("\n".join(section.lines)) for section in sections):
        return ""  # a flat file: one list under its own heading
    if (file, topic) not in _NEW_TITLES:
        for wanted in _GENERAL:
            for section in named:
                if wanted in section.title.casefold():
                    return section.title
    return _NEW_TITLES.get((file, topic), "Notes")
