"""Edits of lines: the only thing that a Dreamer may return. Pure: texts in, texts out.

Owns where a new line goes and how a line is found again. An edit changes the lines it names and no other byte.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from nanomem_tui.agents import markdown
from nanomem_tui.agents.markdown import Section
from nanomem_tui.core.errors import BadInput, Conflict

Op = Literal["add", "replace", "remove", "move"]
TITLES: Mapping[str, str] = {"SOUL.md": "Soul", "USER.md": "User Profile", "memory/MEMORY.md": "Long-term Memory"}
"""The heading of each file that a Dream may change, for the case that it has to make it."""

_LIST = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_BOLD = re.compile(r"\*\*[^*]+\*\*")
_RULE = re.compile(r" {0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*")


@dataclass(frozen=True, slots=True)
class LineEdit:
    """One change of one line.

    `old` is the whole line that is replaced, removed or moved, `new` the whole line that comes, both without line end;
    `line` is where `old` stood (from 1). `section` is the title under which a line is added or to which it is moved (in
    `to_file`, else its own file); "" is the end of the part before the first section. `evidence` are the cursors of the
    history entries that ask for it; `supersedes` is the value in `old` that they contradict; `why` is for people.
    """

    op: Op
    file: str
    section: str = ""
    line: int | None = None
    old: str = ""
    new: str = ""
    evidence: tuple[int, ...] = ()
    to_file: str = ""
    supersedes: str = ""
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """The fields that are not empty, as a JSON object."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None, ())}


def apply_edits(files: Mapping[str, str], edits: Iterable[LineEdit]) -> dict[str, str]:
    """`files` (text by name) with the edits made in order.

    Raises Conflict when a line that an edit names is not there, BadInput for a line with a line end or another file.
    """
    result = dict(files)
    for edit in edits:
        if "\n" in edit.section or "\r" in edit.section:
            raise BadInput("a heading is one line", edit.file)
        for name in (edit.file, edit.to_file or edit.file):
            if name not in TITLES:
                raise BadInput("a Dream may not change that file", name)
        if "\n" in edit.new or "\r" in edit.new:
            raise BadInput("an edit is one line", edit.file)
        text = result.get(edit.file, "")
        if edit.op == "add":
            result[edit.file] = _added(edit.file, text, edit.section, edit.new)
            continue
        at = _find(text, edit)
        if edit.op == "replace":
            result[edit.file] = _with_line(text, at, edit.new)
            continue
        result[edit.file] = _with_line(text, at, None)
        if edit.op == "move":
            target = edit.to_file or edit.file
            result[target] = _added(target, result.get(target, ""), edit.section, edit.new or edit.old)
    return result


def rebased(edit: LineEdit, files: Mapping[str, str], passed: Iterable[LineEdit]) -> LineEdit:
    """The edit on the line that is there, where its own is one that another edit, of those `passed` over, would have
    written: the last of three changes of a line can be made without the two before it. Else as it is."""
    left, found = list(passed), edit
    while found.op != "add" and not _stands(found, files):
        before = next((one for one in left if _writes(one, found)), None)
        if before is None:
            return edit
        left.remove(before)
        if before.op == "add" and found.op == "replace":
            evidence = tuple(sorted({*before.evidence, *found.evidence}))
            found = replace(before, new=found.new, evidence=evidence, why=found.why)
        elif before.op == "add":
            return edit
        else:
            found = replace(found, old=before.old, line=before.line, supersedes="")
    return found


def _stands(edit: LineEdit, files: Mapping[str, str]) -> bool:
    return any(line.removesuffix("\r") == edit.old for line in files.get(edit.file, "").split("\n"))


def _writes(edit: LineEdit, other: LineEdit) -> bool:
    """Whether an edit writes the line that the other one changes."""
    return edit.op in ("add", "replace") and edit.file == other.file and edit.new == other.old and edit != other


def _find(text: str, edit: LineEdit) -> int:
    """The index of the line `edit.old`, the one nearest to `edit.line`."""
    places = [i for i, line in enumerate(text.split("\n")) if line.removesuffix("\r") == edit.old]
    if not places or not edit.old.strip():
        raise Conflict("the line to change is not there any more", edit.file, edit.old[:80])
    if len(places) > 1 and (within := markdown.blocks(text)):  # not the one in code, wherever the other went
        places = [place for place in places if place not in within] or places
    return min(places, key=lambda place: abs(place + 1 - (edit.line or 1)))


def _with_line(text: str, at: int, new: str | None) -> str:
    lines = text.split("\n")
    if new is not None:
        lines[at] = new + ("\r" if lines[at].endswith("\r") else "")
        return "\n".join(lines)
    del lines[at]
    if at == len(lines) and lines:  # the last line of a text that does not end in a line feed
        lines[-1] = lines[-1].removesuffix("\r")
    return "\n".join(lines)


def _added(name: str, text: str, title: str, new: str) -> str:
    """`text` with the line `new` at the end of the section `title`, which is made when there is none."""
    if not text.strip():
        return f"# {TITLES[name]}\n\n" + (f"## {title}\n" if title else "") + new + "\n"
    end = "\r" if 2 * text.count("\r\n") > text.count("\n") else ""
    closed = text.endswith("\n")
    lines = text.removesuffix("\n").split("\n")
    section = find_section(text, title)
    if section is None and not title:
        at, block = 0, [new, ""]
    elif section is None:
        spaced = re.search(r"(?m)^## .*\n\r?\n", text) is not None
        lead = [""] if lines[-1].strip() else []
        at, block = len(lines), [*lead, f"## {title}", *([""] if spaced else []), new]
    else:
        at, block = _place([line.removesuffix("\r") for line in lines] if "\r" in text else lines, section, new)
    block = [line + end for line in block]
    if at == len(lines) and not closed:
        lines[-1] += end
        block[-1] = block[-1].removesuffix("\r")
    return "\n".join([*lines[:at], *block, *lines[at:]]) + ("\n" if closed else "")


def find_section(text: str, title: str) -> Section | None:
    """The first section with that title ("": the part under the file's own heading, or before any)."""
    found = markdown.sections(text)
    if title:
        return next((s for s in found if s.level and s.title.casefold() == title.casefold()), None)
    return next((s for s in found if s.level <= 1), None)


def _place(lines: list[str], section: Section, new: str) -> tuple[int, list[str]]:
    """(index, lines to put there): after the last list line of the section, else after its text, set off by a blank."""
    start = section.start_line if section.level else 0
    body = lines[start : start + len(section.lines)]
    within = markdown.blocks("\n".join(body))
    named = _named_lists(body, within)
    listed = (i for i in range(len(body) - 1, -1, -1) if i not in within and _LIST.match(body[i]))
    last = next((i for i in listed if i not in named), None)
    if last is None and named:
        at = min(named.values())
        return start + at, [*([""] if at and body[at - 1].strip() else []), new, ""]
    if last is not None:
        while last + 1 < len(body) and _goes_on(body[last + 1], {last, last + 1} <= within):
            last += 1
        return start + last + 1, [new]
    stop = next((i for i, line in enumerate(body) if i not in within and _RULE.fullmatch(line)), len(body))
    filled = [i for i in range(stop) if body[i].strip()]
    at = start + (filled[-1] + 1 if filled else min(1, stop))
    before = [""] if filled else []
    after = [""] if at < len(lines) and lines[at].strip() else []
    return at, [*before, new, *after]


def opens_list(line: str) -> bool:
    """Whether a line of text says what the list under it is of: `Bob:`, or a name in bold."""
    text = line.strip()
    return text.endswith((":", "：", ":**", "：**")) or _BOLD.fullmatch(text) is not None


def _named_lists(body: Sequence[str], within: Collection[int]) -> dict[int, int]:
    """The list lines that stand under a line that says what they are of, and where that stands: another line of the
    section does not come there."""
    found: dict[int, int] = {}
    opened: int | None = None
    for at, line in enumerate(body):
        if at in within or not line.strip():
            continue
        if _LIST.match(line):
            if opened is not None:
                found[at] = opened
        elif not line[:1].isspace():
            opened = at if opens_list(line) else None
    return found


def _goes_on(line: str, within: bool) -> bool:
    """Whether a list item goes on in its next line: an indented one, or any in the code that it holds."""
    return within or bool(line.startswith((" ", "\t")) and line.strip())
