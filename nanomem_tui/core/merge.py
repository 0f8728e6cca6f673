"""Lines compared and merged: three-way merge, hunks for a diff. Pure functions over text.

A line ends at a line feed and nowhere else, so carriage returns and Unicode separators stay where they are. Whether the
text ends in a line feed is merged on its own, so that lines added at the end of a file without one are no conflict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Tag = Literal["equal", "delete", "insert"]
Taken = Literal["ours", "theirs", "both"]
"""Whose lines a conflict comes to; of both those of ours first, a line that ours has not twice."""
_MAX_PAIRS = 400
_LIKE = 0.5
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+")


class Edit(NamedTuple):
    """The lines [start, stop) of one text became the lines [new_start, new_stop) of another; counted from 0."""

    start: int
    stop: int
    new_start: int
    new_stop: int


class ConflictHunk(NamedTuple):
    """Lines that both sides changed differently. `line` is the first line in our text, counted from 1."""

    line: int
    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


class Merged(NamedTuple):
    """The merged text; where `conflicts` is not empty it holds our side of them."""

    text: str
    conflicts: tuple[ConflictHunk, ...]


class HunkLine(NamedTuple):
    """One line of a hunk, without its line feed, and its number in the old and the new text (from 1, or None)."""

    tag: Tag
    text: str
    old: int | None
    new: int | None
    ends: bool = True
    """Whether a line feed follows; False only for the last line of a text without one."""


class Hunk(NamedTuple):
    """Neighbouring changes with the lines around them. Starts count from 1; a start of 0 goes with a count of 0."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[HunkLine, ...]

    @property
    def header(self) -> str:
        """The line that opens the hunk in a unified diff."""
        return f"@@ -{self.old_start},{self.old_count} +{self.new_start},{self.new_count} @@"


def split_lines(text: str) -> list[str]:
    """The lines of `text` with their line feeds; joined they are `text` again."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def common_start(one: Sequence[object], two: Sequence[object]) -> int:
    """How many lines at the start are equal. Compares slices: that runs at the speed of C."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def edits(old: Sequence[str], new: Sequence[str]) -> list[Edit]:
    """The changes that make `new` of `old`, in order, never touching each other."""
    top = common_start(old, new)
    end = common_start(old[top:][::-1], new[top:][::-1])
    inner_old, inner_new = old[top : len(old) - end], new[top : len(new) - end]
    if not inner_old and not inner_new:
        return []
    if not inner_old or not inner_new:
        return [Edit(top, top + len(inner_old), top, top + len(inner_new))]
    codes = SequenceMatcher(None, inner_old, inner_new, autojunk=False).get_opcodes()
    return [Edit(a + top, b + top, c + top, d + top) for tag, a, b, c, d in codes if tag != "equal"]


def count_changes(before: str, after: str) -> tuple[int, int]:
    """How many lines were added and removed."""
    changes = edits(split_lines(before), split_lines(after))
    return sum(e.new_stop - e.new_start for e in changes), sum(e.stop - e.start for e in changes)


def merge_lines(
    base: str, ours: str, theirs: str, *,
    keep_both: bool = False, theirs_win: bool = False, by_line: bool = False, taken: Sequence[Taken] = (),
) -> Merged:  # fmt: skip
    """Apply to `ours` what `theirs` changed since `base`.

    Changes conflict when they touch a same line of the base or insert different lines at one place; with `keep_both`
    such insertions are both kept, ours first, a line that ours has already not twice. A line that one side removed is
    no conflict with a line of the other side that stands in its place and is nothing like it. At a conflict the text
    holds our lines, with `theirs_win` theirs. `by_line`: neighbouring lines are changes of their own, as far as it can
    be told which became which, so that a conflict takes no more lines than those that both sides changed. `taken`:
    what a person decided of each conflict, in order.
    """
    base_lines, base_open = _closed(base)
    our_lines, our_open = _closed(ours)
    their_lines, their_open = _closed(theirs)
    our_edits, their_edits = edits(base_lines, our_lines), edits(base_lines, their_lines)
    if by_line:
        our_edits, their_edits = (
            _by_line(base_lines, our_lines, our_edits),
            _by_line(base_lines, their_lines, their_edits),
        )
    out: list[str] = []
    conflicts: list[ConflictHunk] = []
    at = 0
    for low, high, mine, other in _regions(our_edits, their_edits):
        out.extend(base_lines[at:low])
        at = high
        our_part = _applied(base_lines, our_lines, mine, low, high)
        their_part = _applied(base_lines, their_lines, other, low, high)
        if not mine:
            out.extend(their_part)
        elif not other or our_part == their_part:
            out.extend(our_part)
        elif low == high and keep_both:
            out.extend(_both(our_part, their_part))
        elif (settled := _settled(base_lines, (our_lines, mine), (their_lines, other), low, high)) is not None:
            out.extend(settled)
        else:
            line = mine[0].new_start - (mine[0].start - low) + 1
            side = taken[len(conflicts)] if len(conflicts) < len(taken) else "theirs" if theirs_win else "ours"
            conflicts.append(ConflictHunk(line, tuple(base_lines[low:high]), tuple(our_part), tuple(their_part)))
            out.extend({"ours": our_part, "theirs": their_part, "both": _both(our_part, their_part)}[side])
    out.extend(base_lines[at:])
    is_open = their_open if our_open == base_open else our_open
    text = "".join(out)
    return Merged(text[:-1] if is_open and text else text, tuple(conflicts))


def _both(ours: list[str], theirs: list[str]) -> list[str]:
    held = set(ours)
    return [*ours, *(line for line in theirs if line not in held)]


def _by_line(base: list[str], side: list[str], changes: list[Edit]) -> list[Edit]:
    """The same changes, each as small as can be: a line removed, or one that became another."""
    return [small for edit in changes for small in _split(base, side, edit)]


def _split(base: list[str], side: list[str], edit: Edit) -> list[Edit]:
    """An edit in parts; lines that look alike belong together, as many against as many do as well."""
    start, stop, new_start, new_stop = edit
    gone, come = stop - start, new_stop - new_start
    if gone == come or not come:
        return [
            Edit(start + n, start + n + 1, new_start + min(n, come), new_start + min(n + 1, come)) for n in range(gone)
        ]
    if not gone or gone * come > _MAX_PAIRS:
        return [edit]
    at = next(
        ((n, m) for n in range(gone) for m in range(come) if _alike([base[start + n]], [side[new_start + m]])), None
    )
    if at is None:
        return [edit]
    n, m = start + at[0], new_start + at[1]
    parts = [Edit(start, n, new_start, m), Edit(n, n + 1, m, m + 1), Edit(n + 1, stop, m + 1, new_stop)]
    whole = [part for part in parts if part.start < part.stop or part.new_start < part.new_stop]
    return [small for part in whole for small in (_split(base, side, part) if part != parts[1] else [part])]


_Side = tuple[list[str], list[Edit]]


def _settled(base: list[str], ours: _Side, theirs: _Side, low: int, high: int) -> list[str] | None:
    """What both sides come to where one only removed lines; None: that is for a person to settle."""
    mine = _merge_removals(base, *ours, theirs[1], low, high)
    return mine if mine is not None else _merge_removals(base, *theirs, ours[1], low, high)


def _merge_removals(
    base: list[str], side: list[str], changes: list[Edit], removals: list[Edit], low: int, high: int
) -> list[str] | None:
    """The base lines [low, high) where one side only removed lines and the other put lines that are nothing like them.

    None when the one side did more, or the other rewrote what the one removed.
    """
    if any(edit.new_start < edit.new_stop for edit in removals):
        return None
    if any(_alike(base[low:high], side[edit.new_start : edit.new_stop]) for edit in changes):
        return None
    gone = {number for edit in [*changes, *removals] for number in range(edit.start, edit.stop)}
    out: list[str] = []
    for number in range(low, high + 1):
        out.extend(line for edit in changes if edit.start == number for line in side[edit.new_start : edit.new_stop])
        out.extend(base[number : number + 1] if number < high and number not in gone else [])
    return out


def _alike(old: list[str], new: list[str]) -> bool:
    """Whether any new line looks like a rewritten old one; so many lines that nobody could say count as rewritten."""
    if len(old) * len(new) > _MAX_PAIRS:
        return True
    return any(_similar(_BULLET.sub("", one).strip(), _BULLET.sub("", other).strip()) for one in old for other in new)


def _similar(one: str, other: str) -> bool:
    if not one or not other:
        return False
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.real_quick_ratio() >= _LIKE and matcher.quick_ratio() >= _LIKE and matcher.ratio() >= _LIKE


def _closed(text: str) -> tuple[list[str], bool]:
    """The lines of `text`, each with a line feed, and whether the last one had none."""
    is_open = bool(text) and not text.endswith("\n")
    return split_lines(text + "\n" if is_open else text), is_open


def _regions(ours: list[Edit], theirs: list[Edit]) -> list[tuple[int, int, list[Edit], list[Edit]]]:
    """Ranges [low, high) of the base with the edits of both sides in each; ranges never share a line."""
    waiting = [(edit.start, edit.stop, side, edit) for side, of in enumerate((ours, theirs)) for edit in of]
    waiting.sort(key=lambda row: row[:3])
    regions: list[tuple[int, int, list[Edit], list[Edit]]] = []
    for start, stop, side, edit in waiting:
        if regions and _touch(regions[-1][0], regions[-1][1], start, stop):
            low, high, mine, other = regions[-1]
            (other if side else mine).append(edit)
            regions[-1] = (low, max(high, stop), mine, other)
        else:
            regions.append((start, stop, [] if side else [edit], [edit] if side else []))
    return regions


def _touch(low: int, high: int, start: int, stop: int) -> bool:
    if low == high or start == stop:
        return low == start == stop == high or low < start < high
    return start < high


def _applied(base: list[str], side: list[str], changes: list[Edit], low: int, high: int) -> list[str]:
    """The base lines [low, high) with `changes` of one side made."""
    out: list[str] = []
    for edit in changes:
        out.extend(base[low : edit.start])
        out.extend(side[edit.new_start : edit.new_stop])
        low = edit.stop
    return out + base[low:high]


def hunks(before: str, after: str, context: int = 3) -> tuple[Hunk, ...]:
    """The differences of two texts as hunks with up to `context` equal lines around each."""
    old, new = split_lines(before), split_lines(after)
    groups: list[list[Edit]] = []
    for edit in edits(old, new):
        if groups and edit.start - groups[-1][-1].stop <= 2 * context:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return tuple(_hunk(old, new, group, context) for group in groups)


def _hunk(old: list[str], new: list[str], group: list[Edit], context: int) -> Hunk:
    lead = min(context, group[0].start)
    old_at, new_at = group[0].start - lead, group[0].new_start - lead
    stop = min(len(old), group[-1].stop + context)
    first_old, first_new = old_at, new_at
    rows: list[HunkLine] = []

    def equal_until(limit: int) -> None:
        nonlocal old_at, new_at
        while old_at < limit:
            rows.append(_line("equal", old[old_at], old_at + 1, new_at + 1))
            old_at, new_at = old_at + 1, new_at + 1

    for edit in group:
        equal_until(edit.start)
        rows.extend(_line("delete", old[i], i + 1, None) for i in range(edit.start, edit.stop))
        rows.extend(_line("insert", new[i], None, i + 1) for i in range(edit.new_start, edit.new_stop))
        old_at, new_at = edit.stop, edit.new_stop
    equal_until(stop)
    old_count, new_count = old_at - first_old, new_at - first_new
    return Hunk(first_old + bool(old_count), old_count, first_new + bool(new_count), new_count, tuple(rows))


def _line(tag: Tag, text: str, old: int | None, new: int | None) -> HunkLine:
    return HunkLine(tag, text.removesuffix("\n"), old, new, text.endswith("\n"))


def revert_hunk(before: str, after: str, number: int, context: int = 3) -> str:
    """`after` with hunk `number` (from 0, of `hunks(before, after, context)`) taken back. Raises IndexError."""
    hunk = hunks(before, after, context)[number]
    old, new = split_lines(before), split_lines(after)
    old_at = hunk.old_start - bool(hunk.old_count)
    new_at = hunk.new_start - bool(hunk.new_count)
    kept = old[old_at : old_at + hunk.old_count]
    return "".join([*new[:new_at], *kept, *new[new_at + hunk.new_count :]])


def small_edits(before: str, after: str) -> tuple[Edit, ...]:
    """The changes as a person counts: a line that came or went, with the blank ones above it, or became another."""
    old, new = _closed(before)[0], _closed(after)[0]
    return tuple(small for edit in _by_line(old, new, edits(old, new)) for small in _lone(old, new, edit))


def _lone(old: list[str], new: list[str], edit: Edit) -> list[Edit]:
    """An edit that only adds lines, or only removes some, in parts of one filled line each."""
    adds = edit.start == edit.stop
    if not adds and edit.new_start != edit.new_stop:
        return [edit]
    start, stop = edit[2:] if adds else edit[:2]
    ends = [at + 1 for at in range(start, stop) if (new if adds else old)[at].strip()] or [stop]
    spans = zip([start, *ends[:-1]], [*ends[:-1], stop], strict=True)
    return [edit._replace(new_start=a, new_stop=b) if adds else edit._replace(start=a, stop=b) for a, b in spans]


def changed_lines(before: str, after: str, edit: Edit) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The filled lines that one of `small_edits` removed and those that it added."""
    parts = _closed(before)[0][edit.start : edit.stop], _closed(after)[0][edit.new_start : edit.new_stop]
    removed, added = (tuple(line.removesuffix("\n") for line in lines if line.strip()) for lines in parts)
    return removed, added


def revert_edit(before: str, after: str, edit: Edit) -> str:
    """`after` with one of `small_edits(before, after)` taken back."""
    (old, _), (new, is_open) = _closed(before), _closed(after)
    text = "".join([*new[: edit.new_start], *old[edit.start : edit.stop], *new[edit.new_stop :]])
    return text[:-1] if is_open and text else text


def has_reworded_line(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether any line of `new` looks like one of `old` that was reworded."""
    return _alike(list(old), list(new))


def unified(path: str, before: str | None, after: str | None) -> str:
    """A unified diff of one file as text; the empty string when nothing differs."""
    found = hunks(before or "", after or "")
    if not found:
        return ""
    signs = {"equal": " ", "delete": "-", "insert": "+"}
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    rows = [f"--- {names[0]}", f"+++ {names[1]}"]
    for hunk in found:
        rows.append(hunk.header)
        for line in hunk.lines:
            rows.append(signs[line.tag] + line.text)
            if not line.ends:
                rows.append("\\ No newline at end of file")
    return "\n".join(rows) + "\n"
