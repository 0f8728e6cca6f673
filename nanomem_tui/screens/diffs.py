"""What Dreams did as values for a diff view: the hunks that a restore counts, with their evidence.

Turns the values of the workspace into those of the widget; pure, and quick enough for a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.text import one_line
from nanomem_tui.widgets.diff import DiffLine, FileDiff, Hunk, Sign
from nanomem_tui.widgets.document import Block, Body, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.agents import git
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.store.files import merge

Evidence = Callable[["merge.Hunk"], tuple[str, ...]]

SHOWN_ENTRIES = 60
ENTRY_CHARACTERS = 240
EVIDENCE_CHARACTERS = 160
_DIFF_BLOCK = re.compile(r"\n*^```diff$.*?(?:^```$|\Z)\n*", re.DOTALL | re.MULTILINE)
_SIGNS: Mapping[str, Sign] = {"equal": " ", "delete": "-", "insert": "+"}


def message_beside(message: str, files: Sequence[object]) -> str:
    """The message of a commit without the diff that agents write into it, when the real one follows."""
    return (_DIFF_BLOCK.sub("\n", message) if files else message).strip("\n")


def no_evidence(_hunk: merge.Hunk) -> tuple[str, ...]:
    """Nothing is known about why."""
    return ()


def file_diff(file: git.FileDiff, evidence: Evidence = no_evidence) -> FileDiff:
    """One file of a commit: the very hunks that a restore counts."""
    note = file.damage or ("new file" if file.before is None else "file removed" if file.after is None else "")
    section = _Sections(file.after or "")
    hunks = [
        Hunk(
            tuple(DiffLine(_SIGNS[line.tag], line.text, line.new or line.old or 0) for line in hunk.lines),
            f"line {_changed(hunk)}{section.at(_changed(hunk))}",
            evidence(hunk),
        )
        for hunk in file.hunks
    ]
    return FileDiff(file.path, tuple(hunks), note)


def _changed(hunk: merge.Hunk) -> int:
    """The number that the first changed line has in the new text, or would have."""
    first = next(index for index, line in enumerate(hunk.lines) if line.tag != "equal")
    return hunk.lines[first].new or hunk.new_start + first


class _Sections:
    """Under which heading of a Markdown text a line stands."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def at(self, number: int) -> str:
        """``, Title`` for the line of that number, counted from 1."""
        before = (line for line in reversed(self._lines[:number]) if line.startswith("#"))
        title = next(before, "").lstrip("# ")
        return f", {title}" if title else ""


def evidence_among(entries: Sequence[HistoryEntry]) -> Evidence:
    """Which of `entries` say what a hunk adds: those that hold an added line word for word, white space aside."""
    texts = [(entry, " ".join(entry.content.casefold().split())) for entry in entries]

    def of(hunk: merge.Hunk) -> tuple[str, ...]:
        added = [_statement(line.text) for line in hunk.lines if line.tag == "insert"]
        found = [entry for entry, text in texts if any(line and line in text for line in added)]
        return tuple(entry_line(entry) for entry in found)

    return of


def _statement(line: str) -> str:
    """What a line of a memory file says, without its bullet."""
    words = " ".join(line.casefold().split()).lstrip("-*+# ")
    return words if len(words) >= 8 else ""


def entry_line(entry: HistoryEntry, limit: int = EVIDENCE_CHARACTERS) -> str:
    """A summary in one line: number, when, who with, what."""
    session = f" {entry.session_key}" if entry.session_key else ""
    return f"#{entry.cursor} {entry.timestamp}{session}: {one_line(entry.content, limit)}"


def entries_read(entries: Sequence[HistoryEntry], known: bool) -> list[Block]:
    """The summaries that a Dream went through, below its diff."""
    if not known:
        return [Heading("Entries it read"), Body("Not known: this commit does not carry the cursor.", "dim")]
    blocks: list[Block] = [Heading(f"Entries it read ({len(entries):,})")]
    for entry in entries[:SHOWN_ENTRIES]:
        session = f" {entry.session_key}" if entry.session_key else ""
        text = one_line(entry.content, ENTRY_CHARACTERS)
        blocks.append(Spans(((f"#{entry.cursor} ", "accent"), (f"{entry.timestamp}{session} ", "dim"), (text, "")), 2))
    if len(entries) > SHOWN_ENTRIES:
        blocks.append(Body(f"… and {len(entries) - SHOWN_ENTRIES:,} more", "dim"))
    return blocks
