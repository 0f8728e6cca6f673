"""Where a model's edits are laid on the files: each is held against the lines that it saw and the entries it names.

Owns telling the model what is wrong with an edit, once, and refusing it when it comes back wrong. Works on copies of
the texts. Must not ask a model, and must not judge what the guards judge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from nanomem_tui.agents import markdown
from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.core.text import one_line
from nanomem_tui.dream import details, support, tidy, titles
from nanomem_tui.dream.edits import TITLES, LineEdit, Op, apply_edits
from nanomem_tui.dream.facts import MAX_FACT, Skipped
from nanomem_tui.dream.guards import Refusal, holding, orders_the_agent
from nanomem_tui.dream.veil import brought, unmasked
from nanomem_tui.language import dates, secrets
from nanomem_tui.language.spoken import owner_of

_OPS = ("add", "replace", "remove", "move")
_MARKER = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)]|#{1,6}|>|\|)(?=\s|$|\|)")
_MAX_READ = 400
_QUOTED = 300


class Desk:
    """The files as they become, edit by edit. `steps` counts edits and reads; `log` is for the model's next question.

    `told` are the edits that the model was told to mend; `left_over` those that came when no step was left.
    """

    def __init__(self, files: Mapping[str, str], entries: Sequence[HistoryEntry]) -> None:
        self.files = dict(files)
        self.edits: list[LineEdit] = []
        self.left_over: list[LineEdit] = []
        self.log: list[str] = []
        self.asked: dict[str, set[int]] = {}
        self.steps = 0
        self.finished = False
        self.repeats = False
        """Whether an edit was given again, word for word, after the model was told that it is refused."""
        self.told: list[Refusal] = []
        self.skipped: list[Skipped] = []
        self._heard: list[Refusal] = []
        self._refusals_shown = 0  # refusals for good that the model was told
        self._refused: list[Refusal] = []
        self._cursors = {entry.cursor for entry in entries}
        self._days = {entry.cursor: entry.timestamp for entry in entries}
        self._said: dict[int, str] = {}
        for entry in entries:
            told = f"{entry.timestamp}\n{entry.content}\n{dates.absolute(entry.content, entry.timestamp)}"
            self._said[entry.cursor] = f"{self._said.get(entry.cursor, '')}\n{told}"
        self._seen = dict(files)
        self._before = dict(files)
        self._today = tidy.day_of(entries)

    @property
    def refused(self) -> list[Refusal]:
        """What was given up, those included that the model never mended; each edit once."""
        once = {replace(one.edit, line=None, why=""): one for one in reversed([*self._refused, *self.told])}
        return [Refusal(one.edit, self._as_it_stands(one)) for one in reversed(once.values())]

    def _as_it_stands(self, refusal: Refusal) -> str:
        """The reason for a person, who sees the files without the other edits of this Dream."""
        what, quote, line = refusal.why.partition("; it is: ")
        lines = (one[:_QUOTED] for one in _lines(self._before.get(refusal.edit.file, "")))
        return refusal.why if not quote or line in lines else f"{what} once the edits before it are made"

    def show(self) -> None:
        """The model saw the files as they are now, and the log: line numbers are those of now."""
        self._seen = dict(self.files)
        self._heard = list(self.told)
        self._refusals_shown = len(self._refused)

    def read(self, file: str, first: int, last: int) -> None:
        """Lines of a file that the model wants to see with its next question."""
        self.steps += 1
        if file not in TITLES:
            self.log.append(f"read of {one_line(file, 80)}: there is no such memory file.")
            return
        count = self.files.get(file, "").count("\n") + 1
        first = min(max(1, first), count)
        last = min(max(first, last), count, first + _MAX_READ - 1)
        self.asked.setdefault(file, set()).update(range(first, last + 1))
        self.log.append(f"read of {file}: lines {first} to {last} are shown above, as far as they fit.")

    def take(self, raw: Mapping[str, Any]) -> None:
        """One edit of the model: made on the copies, told back, or refused."""
        self.steps += 1
        edit = self._edit(raw)
        heard = (*self._refused[: self._refusals_shown], *self._heard)
        self.repeats |= any(_same_words(one.edit, edit) for one in heard)
        if edit.op not in _OPS or edit.file not in TITLES or (edit.op == "move" and edit.to_file not in ("", *TITLES)):
            why = "a Dream may not change that file" if edit.op in _OPS else "there is no such edit"
            self._refuse(edit, why)
            return
        if kinds := brought(edit, titles.made(edit, self.files)):  # first: no other reason may repeat it
            self._refuse(edit, holding(kinds))
            return
        edit, why = self._placed(edit)
        if not why and edit.op == "add" and (known := self._known(edit.new)):
            self.skipped.append(Skipped(max(edit.evidence), edit.new, f"known: {known}", fact=True))
            self.log.append(f"{_shortly(edit)}: not needed, {known} says it.")
            return
        before = self.files
        if not why:
            try:
                self.files = apply_edits(self.files, [edit])
            except (BadInput, Conflict) as error:
                why = error.what
        if why:
            self._tell(edit, why)
            return
        text, around = before.get(edit.file, ""), self._around(edit, before)
        why = support.unsupported(edit, self._cited(edit), self._today, text, around)
        if why and not orders_the_agent(edit.new):
            self.files = before
            self._forget(edit)
            self._refuse(edit, why)
            return
        self._forget(edit)
        self.edits.append(edit)
        self.log.append(f"{_shortly(edit)}: made.")

    def cut_off(self, rest: Sequence[Mapping[str, Any]]) -> None:
        """Edits for which no step is left."""
        self.left_over += map(self._edit, rest)

    def _edit(self, raw: Mapping[str, Any]) -> LineEdit:
        """The edit as the model gave it, its evidence narrowed down to the entries of this Dream."""
        op, line = raw["op"], raw["line"] or None
        adds = op == "add"
        evidence = tuple(sorted(self._cursors.intersection(raw["evidence"])))
        old = "" if adds else raw["old"].removesuffix("\n").removesuffix("\r")
        new = "" if op in ("remove", "move") else raw["new"].strip("\r\n").rstrip()
        if evidence and not dates.has_relative(old):  # what is relative in the new line was said in the last entry
            new = dates.absolute(new, self._days[evidence[-1]])
        return LineEdit(
            cast("Op", op),
            raw["file"],
            section=_title(raw["section"]) if op in ("add", "move") else "",
            line=None if adds else line,
            old=old,
            new=new,
            evidence=evidence,
            to_file=raw["to_file"] if op == "move" and raw["to_file"] != raw["file"] else "",
            supersedes=raw["supersedes"] if op == "replace" else "",
            why=" ".join(raw["why"].split()),
        )

    def _placed(self, edit: LineEdit) -> tuple[LineEdit, str]:
        """(the edit with its line found and its list mark, why it cannot be made)."""
        if not edit.evidence:
            return edit, "it names no entry of this Dream as evidence"
        if edit.op != "add":
            edit, why = self._found(edit)
            if why:
                return edit, why
        if edit.op in ("add", "replace"):
            if "\n" in edit.new or "\r" in edit.new:
                return edit, "an edit is one line"
            if edit.new.startswith("#") and not edit.old.startswith("#"):
                return edit, "`new` is a heading: name the heading in `section`"
            edit = _marked(edit)
            if invented := self._invented(edit):
                return edit, f"no entry that it names, and no line, says {', '.join(invented[:4])}"
            if len(edit.new.lstrip(" \t-*+")) > max(MAX_FACT, len(edit.old)):
                return edit, f"longer than {MAX_FACT} characters"
        return edit, self._heading(edit)

    def _around(self, edit: LineEdit, files: Mapping[str, str]) -> str:
        """The title that the line stands under, or comes to, and the owner's name."""
        owner = owner_of(files.get("USER.md", ""))
        sections = markdown.sections(files.get(edit.file, ""))
        above = [part.title for part in sections if part.level > 1 and part.start_line <= (edit.line or 0)]
        return f"{owner} {edit.section if edit.op == 'add' else ''.join(above[-1:])}"

    def _heading(self, edit: LineEdit) -> str:
        """Why the edit must not make its heading; "" when it makes none, or one that it may."""
        title = titles.made(edit, self.files)
        if not title or orders_the_agent(title):  # that is for the guards to say
            return ""
        return titles.impossible(title) or support.unsaid_heading(title, edit.new or edit.old, self._cited(edit))

    def _found(self, edit: LineEdit) -> tuple[LineEdit, str]:
        """The edit with the number that its line has now; `old` must stand there, or at one other place alone."""
        seen = _lines(self._seen.get(edit.file, ""))
        at = edit.line or 0
        there = seen[at - 1] if 0 < at <= len(seen) else None
        same = [number for number, line in enumerate(seen, 1) if line == edit.old]
        if not edit.old.strip() or (there != edit.old and len(same) != 1):
            if there is None:
                return edit, f"{edit.file} has no line {at}" if at else "`line` and `old` are needed"
            return edit, f"line {at} of {edit.file} is not as `old` says; it is: {there[:_QUOTED]}"
        return replace(edit, line=at if there == edit.old else same[0]), ""

    def _known(self, new: str) -> str:
        """Where a line says already what `new` says, or that another edit does; "" when none does."""
        for files in (self._before, self.files):
            for name, text in files.items():
                for bullet in markdown.bullets(text):
                    if details.says(new, bullet.text) and bullet.text in self.files.get(name, ""):
                        return f"{name}:{bullet.line}" if files is self._before else "another edit of this Dream"
        return ""

    def _invented(self, edit: LineEdit) -> tuple[str, ...]:
        """The names, numbers, dates and addresses in the new line that are nowhere else."""
        unknown = details.unaccounted(unmasked(edit.new), edit.old, self._cited(edit), *self.files.values())
        return tuple(map(secrets.mask, unknown))

    def _cited(self, edit: LineEdit) -> str:
        """What the entries say that the edit names."""
        return "\n".join(self._said[cursor] for cursor in edit.evidence)

    def _tell(self, edit: LineEdit, why: str) -> None:
        """Tell the model, or refuse the edit when it was told before."""
        if any(_same(refusal.edit, edit) for refusal in self._heard if refusal in self.told):
            self._forget(edit)
            self._refuse(edit, why)
            return
        self.told.append(Refusal(edit, why))
        self.log.append(f"{_shortly(edit)}: not made: {why}. Mend it or leave it out.")

    def _refuse(self, edit: LineEdit, why: str) -> None:
        self._refused.append(Refusal(edit, why))
        self.log.append(f"{_shortly(edit)}: refused for good: {why}.")

    def _forget(self, edit: LineEdit) -> None:
        """It was tried again after the model heard of it. Of several tries at one line those of the same words went."""
        tries = [one for one in self.told if one in self._heard and _same(one.edit, edit)]
        gone = [one for one in tries if one.edit.new == edit.new] or (tries if len(tries) == 1 else [])
        self.told = [one for one in self.told if one not in gone]


def _title(said: str) -> str:
    """A title as it stands behind its mark; what has several lines stays as it is, to be told so."""
    title = said.strip().lstrip("# ")
    return title if len(title.splitlines()) > 1 else " ".join(title.split())


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split("\n")]


def _marked(edit: LineEdit) -> LineEdit:
    """The edit with the list mark of the line it replaces, or of a list, when the model left it out."""
    new = edit.new
    if not new.strip() or _MARKER.match(new):
        return edit
    mark = _MARKER.match(edit.old)
    if edit.op == "replace":
        return replace(edit, new=f"{mark[0]} {new.lstrip()}") if mark and not mark[2].startswith("#") else edit
    return replace(edit, new=f"- {new.lstrip()}")


def _same(one: LineEdit, other: LineEdit) -> bool:
    """Whether two edits are tries of one: at the same line, or of much the same text for the same entries."""
    if one.file != other.file or one.op != other.op:
        return False
    if one.op != "add":
        return (one.line is not None and one.line == other.line) or bool(one.old and one.old == other.old)
    first, second = details.words(one.new), details.words(other.new)
    alike = 2 * len(first & second) >= min(len(first), len(second))
    return one.new == other.new or (alike and bool({*one.evidence} & {*other.evidence} or not one.evidence))


def _same_words(one: LineEdit, other: LineEdit) -> bool:
    """Whether two edits are the same word for word, wherever they name the line."""
    return replace(one, line=None, why="") == replace(other, line=None, why="")


def _shortly(edit: LineEdit) -> str:
    where = f" line {edit.line}" if edit.line else ""
    return f"{one_line(edit.op, 20)} {one_line(edit.file, 80)}{where} `{one_line(edit.new or edit.old, 120)}`"
