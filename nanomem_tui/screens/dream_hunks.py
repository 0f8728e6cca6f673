"""Edits that a dry run proposed, as rows that a person decides on, and what the right pane tells of one.

Turns values of the workspace into those of the widgets; reads what it is given, changes nothing, decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.dreams.blame import plain
from nanomem_tui.dreams.edits import LineEdit, apply_edits, details, rebased, words
from nanomem_tui.dreams.guards import Refusal
from nanomem_tui.dreams.review import WAITS, standing
from nanomem_tui.language import secrets
from nanomem_tui.language.tokens import fold
from nanomem_tui.screens.diff_dialog import Shown
from nanomem_tui.screens.dreaming import in_words, usage_words
from nanomem_tui.widgets.diff import FileDiff, diff_texts
from nanomem_tui.widgets.document import Block, Body, Field, Heading, Span, Spans

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.dreams.run import DreamResult

Decision = Literal["", "accept", "reject"]

CONTEXT = 3  # lines around a change
ENTRY_CHARACTERS = 4_000
SHARED = "added-word"  # the tone of words that an entry shares with the line
SHOWN_SKIPPED = 60
_PIECE = re.compile(
    r"(?P<dense>[\u0e00-\u0eff\u1780-\u17ff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)"
    r"|[^\W_]+(?:[.'’:/@_-][^\W_]+)*"
)


class Proposed(NamedTuple):
    """One proposed edit: `edit` as it would be made, `words` whether a person worded it, `refused` why the guards did
    not let it through ("" when they did), what was decided, and `stale` why the files as they are now do not allow it.
    """

    number: int
    edit: LineEdit
    refused: str = ""
    decision: Decision = ""
    worded: bool = False
    stale: str = ""

    @property
    def state(self) -> str:
        """What was decided, in a word."""
        if self.stale and self.decision != "reject":
            return "stale"
        if self.decision == "accept":
            return "reworded" if self.worded else "accepted"
        return "rejected" if self.decision else "refused" if self.refused else "open"

    @property
    def text(self) -> str:
        """The line that it is about, in one: the new one, of a removal the old one."""
        return plain(self.edit.new or self.edit.old) or (self.edit.new or self.edit.old)

    @property
    def waiting(self) -> Refusal:
        """As what waits for another day."""
        return Refusal(self.edit, self.refused or WAITS)


def rows_of(result: DreamResult) -> list[Proposed]:
    """All that a dry run proposed: what the guards let through, then what they refused, secrets masked."""
    held = [(replace(one.edit, new=secrets.mask(one.edit.new)), one.why) for one in result.refused]
    found = [(edit, "") for edit in result.edits] + held
    return [Proposed(number, edit, why) for number, (edit, why) in enumerate(found)]


def accepted(rows: Iterable[Proposed]) -> list[LineEdit]:
    """The edits to make."""
    return [row.edit for row in rows if row.decision == "accept"]


def rejected(rows: Iterable[Proposed], result: DreamResult, keep: bool) -> list[Refusal]:
    """The edits that a person let go, as they were proposed; those still open too unless they are to be kept."""
    proposed = rows_of(result)
    gone = [row.number for row in rows if row.decision == "reject" or not (row.decision or keep)]
    return [Refusal(proposed[number].edit, proposed[number].refused) for number in gone]


def looked_at(rows: Sequence[Proposed], files: Mapping[str, str]) -> list[Proposed]:
    """The rows, those marked stale whose line is not in the files any more; `files` are those of now."""
    return [row._replace(stale=_based(row, rows[: row.number], files)[1]) for row in rows]


def decided(rows: Sequence[Proposed]) -> int:
    """How many are decided."""
    return sum(1 for row in rows if row.decision)


def place(edit: LineEdit) -> str:
    """Where an edit is made: the file, and the section where one is named."""
    target = edit.to_file or edit.file
    there = f"{target}, {edit.section}" if edit.section else target
    return f"{edit.file} to {there}" if edit.op == "move" else there


def hunk_shown(
    row: Proposed,
    before: Sequence[Proposed],
    files: Mapping[str, str],
    entries: Mapping[int, HistoryEntry],
    result: DreamResult,
) -> Shown:
    """The diff of an edit in its surroundings, what it rests on, and the Dream that it is part of.

    `before` are the rows that stand before it, `files` the memory files as they are now.
    """
    above: list[Block] = [Spans(((f"{row.edit.op} in {place(row.edit)}", "heading"), (f"  {row.state}", "dim")))]
    if row.refused:
        above.append(Body(f"The guards refused it: {row.refused}. A person may accept it all the same.", "warn"))
    if row.edit.why:
        above.append(Field("why", row.edit.why))
    if row.edit.supersedes:
        above.append(Field("supersedes", row.edit.supersedes))
    diffs, problem = _diffs(row, before, files)
    if problem:
        above.append(Body(problem, "bad"))
        pairs = (("-", row.edit.old, "removed"), ("+", row.edit.new, "added"))
        above += [Spans(((f"{sign} {text}", tone),), 2) for sign, text, tone in pairs if text]
    return Shown(diffs, above, [*evidence_blocks(row.edit, entries), *run_blocks(result)])


def _diffs(row: Proposed, before: Sequence[Proposed], files: Mapping[str, str]) -> tuple[list[FileDiff], str]:
    """What the edit changes, alone, or where that cannot be, on top of those before it that are not rejected."""
    texts, problem = _based(row, before, files)
    if texts is None:
        return [], problem
    start, end = texts
    changed = [name for name, text in end.items() if start.get(name, "") != text]
    return [diff_texts(name, start.get(name, ""), end[name], CONTEXT) for name in changed], ""


_Texts = Mapping[str, str]


def _based(row: Proposed, before: Sequence[Proposed], files: _Texts) -> tuple[tuple[_Texts, _Texts] | None, str]:
    """(the files before and after the edit, why there are none)."""
    lead = [other.edit for other in before if other.decision != "reject" and not other.refused]
    let_go = [other.edit for other in before if other.decision == "reject"]
    problem = ""
    for base in ([], lead):
        try:
            start = standing(files, base, let_go).files
            return (start, apply_edits(start, [rebased(row.edit, start, let_go)])), ""
        except NanomemError as error:
            problem = in_words(error)
    return None, problem


def evidence_blocks(edit: LineEdit, entries: Mapping[int, HistoryEntry]) -> list[Block]:
    """The history entries that an edit rests on, the words that they share with its line marked."""
    if not edit.evidence:
        return [Heading("Evidence"), Body("It names no entry: it only tidies up what the file says.", "dim")]
    blocks: list[Block] = [Heading(f"Evidence ({counted(len(edit.evidence), 'entry', 'entries')})")]
    line = edit.new or edit.old
    for cursor in edit.evidence:
        entry = entries.get(cursor)
        if entry is None:
            blocks.append(Spans(((f"#{cursor} ", "accent"), ("is not in the archive any more", "dim")), 2))
            continue
        session = f" {entry.session_key}" if entry.session_key else ""
        blocks.append(Spans(((f"#{cursor} ", "accent"), (f"{entry.timestamp}{session}", "dim")), 2))
        shown = entry.content[:ENTRY_CHARACTERS]
        blocks += [Spans((("  ", ""), *parts), 4) for parts in _best_first(shown, line)]
        if len(entry.content) > len(shown):
            blocks.append(Body(f"  … {len(entry.content) - len(shown):,} more characters", "dim"))
    return blocks


def _best_first(content: str, line: str) -> list[list[Span]]:
    """The lines of an entry, before the others the one that shares most with `line`, which is not dim."""
    found = [marked(text, line) for text in content.split("\n") if text.strip()]
    shares = [sum(len(text) for text, tone in parts if tone == SHARED) for parts in found]
    best = shares.index(max(shares)) if any(shares) else None
    if best is None:
        return found
    top = [(text, tone if tone == SHARED else "") for text, tone in found[best]]
    return [top, *found[:best], *found[best + 1 :]]


def marked(text: str, line: str) -> list[Span]:
    """`text` in parts, the words that `line` holds as well standing out."""
    wanted = words(plain(line) or line)
    told, folded = set(details(line)), fold(line)
    parts: list[Span] = []
    end = 0
    for start, stop in _matches(text, wanted, told, folded):
        parts += [(text[end:start], "dim")] if end < start else []
        parts.append((text[start:stop], SHARED))
        end = stop
    return [*parts, (text[end:], "dim")] if end < len(text) else parts


def _matches(text: str, wanted: frozenset[str], told: set[str], folded: str) -> Iterable[tuple[int, int]]:
    for match in _PIECE.finditer(text):
        start, piece = match.start(), match[0]
        if match["dense"]:  # scripts without spaces: pairs of characters that stand in both
            pairs = [n for n, pair in enumerate(pairwise(piece)) if "".join(pair) in folded]
            hits = {at for n in pairs for at in (n, n + 1)}
            yield from ((start + at, start + at + 1) for at in sorted(hits))
        elif fold(piece) in told or ((found := words(piece)) and found <= wanted):
            yield start, match.end()


def run_blocks(result: DreamResult) -> list[Block]:
    """What was read for the whole of it, by whom, what was left out, and the analysis."""
    span = "#{} to #{}".format(*result.ends)
    waits = f"; {result.remaining:,} wait behind them" if result.remaining else ""
    blocks: list[Block] = [
        Heading("This dry run"),
        Field("it read", f"{counted(result.read, 'entry', 'entries')}, {span}{waits}"),
        Field("dreamer", usage_words(result.usage) if result.usage.calls else result.dreamer),
    ]
    if result.unreadable:
        from nanomem_tui.dreams.run import passed_over

        blocks.append(Body(passed_over(result.unreadable), "bad"))
    blocks += [Body(note, "warn") for note in result.notes]
    if result.analysis.strip():
        blocks += [Heading("What the Dreamer made of them"), Body(result.analysis.strip())]
    return [*blocks, *_skipped_blocks(result)]


def _skipped_blocks(result: DreamResult) -> list[Block]:
    if not result.skipped:
        return []
    from nanomem_tui.dreams.entries import skipped_summary

    blocks: list[Block] = [Heading(skipped_summary(result.skipped))]
    for line in result.skipped[:SHOWN_SKIPPED]:
        reason = (f"{line.reason}: ", "dim")
        blocks.append(Spans(((f"#{line.cursor} ", "accent"), reason, (one_line(line.text, 200), "dim")), 2))
    if len(result.skipped) > SHOWN_SKIPPED:
        blocks.append(Body(f"… and {len(result.skipped) - SHOWN_SKIPPED:,} more", "dim"))
    return blocks


def applied_shown(rows: Sequence[Proposed], files: Mapping[str, str], result: DreamResult, keep: bool) -> Shown:
    """What applying the accepted edits would change; `keep`: those still open wait in the inbox."""
    passed = [row.edit for row in rows if row.decision != "accept"]
    found, open_ones = standing(files, accepted(rows), passed), len(rows) - decided(rows)
    made = found.edits
    diffs = [diff_texts(name, files[name], text, CONTEXT) for name, text in found.files.items() if files[name] != text]
    counts = ", ".join("{} +{} -{}".format(diff.path, *diff.counts) for diff in diffs)
    rejected = sum(1 for row in rows if row.decision == "reject")
    said = f"{counted(len(made), 'edit')} accepted, {rejected:,} rejected, {open_ones:,} open"
    above: list[Block] = [Body(f"{said}: {counts or 'no file changes'}.", "" if counts else "warn")]
    for one in found.stale:
        words = one_line(plain(one.edit.new or one.edit.old) or one.edit.old, 200)
        above.append(Body(f"Accepted, but {one.why}; it waits in the inbox: {words}", "bad"))
    if open_ones:
        above.append(Body("The open ones " + ("wait in the inbox." if keep else "are let go."), "warn"))
    moves = f"The cursor moves from {result.cursor_before} to {result.cursor_after}"
    above.append(Body(f"{moves}: these entries are dreamt about no more. One commit, which u takes back.", "dim"))
    return Shown(diffs, above)
