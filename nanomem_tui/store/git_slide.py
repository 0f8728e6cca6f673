"""Where a group of changed lines stands among its equals: the second half of how git pairs lines (see `git_diff`).

A group that begins with the line that follows it, or ends with the line before it, may as well stand a line lower or
higher. Git lines it up with a change on the other side, else puts it where its borders read best: at blank lines and at
shallow indents. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_MOST_INDENT = 200
_MOST_BLANKS = 20
_MOST_SLIDING = 100
_INDENT_WEIGHT = 60
_SPACES = frozenset(b" \t\n\r\v\f")


class Side:
    """One of the two texts, and which of its lines are marked as changed. A line behind the end is never marked."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self.changed = bytearray(len(lines) + 1)


class _Group:
    """The changed lines [start, end) of one side; empty where two unchanged lines follow each other."""

    def __init__(self, side: Side) -> None:
        self.lines, self.changed = side.lines, side.changed
        self.start = 0
        self.end = self.changed.find(0)

    def forward(self, count: int) -> None:
        """Behind the next `count` unchanged lines."""
        at = self.end
        while count:
            changed_at = self.changed.find(1, at)
            run = (len(self.lines) if changed_at < 0 else changed_at) - at
            if run >= count:
                at += count
                break
            count -= run
            at = self.changed.find(0, changed_at)
        self.start, self.end = at, self.changed.find(0, at)

    def back(self) -> None:
        """Before the last unchanged line."""
        self.end = self.start = self.start - 1
        while self.start and self.changed[self.start - 1]:
            self.start -= 1

    def up(self) -> bool:
        """One line higher, taking in a group that it meets; False when it cannot go there."""
        if not self.start or self.lines[self.start - 1] != self.lines[self.end - 1]:
            return False
        self.start, self.end = self.start - 1, self.end - 1
        self.changed[self.start], self.changed[self.end] = 1, 0
        while self.start and self.changed[self.start - 1]:
            self.start -= 1
        return True

    def down(self) -> bool:
        """One line lower, taking in a group that it meets; False when it cannot go there."""
        if self.end >= len(self.lines) or self.lines[self.start] != self.lines[self.end]:
            return False
        self.changed[self.start], self.changed[self.end] = 0, 1
        self.start += 1
        self.end = self.changed.find(0, self.end)
        return True

    @property
    def is_empty(self) -> bool:
        return self.start == self.end


def slide_groups(side: Side, other: Side) -> None:
    """Move each group of changed lines of `side` to where git puts it. The marks of `other` stay."""
    group, beside = _Group(side), _Group(other)
    while True:
        if not group.is_empty:
            _slide(group, beside)
        start = side.changed.find(1, group.end)
        if start < 0:
            return
        beside.forward(start - group.end)
        group.start, group.end = start, side.changed.find(0, start)


def _slide(group: _Group, beside: _Group) -> None:
    while True:
        size = group.end - group.start
        while group.up():
            beside.back()
        highest = group.end
        lined_up = not beside.is_empty
        while group.down():
            beside.forward(1)
            lined_up = lined_up or not beside.is_empty
        if size == group.end - group.start:
            break
    if group.end == highest:
        return
    if lined_up:
        while beside.is_empty:
            group.up()
            beside.back()
        return
    best = _best_end(group, max(highest, group.end - size - 1, group.end - _MOST_SLIDING), size)
    while group.end > best:
        group.up()
        beside.back()


def _best_end(group: _Group, lowest: int, size: int) -> int:
    """The end from `lowest` to that of the group at which both its borders read best; the last of equals."""
    best, best_indent, best_penalty = group.end, 0, 0
    for end in range(lowest, group.end + 1):
        borders = [_border(group.lines, place) for place in (end, end - size)]
        indent = sum(border.indent for border in borders)
        penalty = sum(border.penalty for border in borders)
        sign = (indent > best_indent) - (indent < best_indent)
        if end == lowest or _INDENT_WEIGHT * sign + penalty - best_penalty <= 0:
            best, best_indent, best_penalty = end, indent, penalty
    return best


class _Border(NamedTuple):
    """How a text reads when it is cut before a line: the indent there, and what speaks against it."""

    indent: int
    penalty: int


def _border(lines: Sequence[bytes], at: int) -> _Border:
    here = _indent(lines[at]) if at < len(lines) else -1
    before, blanks_before = _neighbour(lines, range(at - 1, -1, -1))
    behind, blanks_behind = _neighbour(lines, range(at + 1, len(lines)))
    penalty = 1 if before == -1 and not blanks_before else 0
    penalty += 21 if at >= len(lines) else 0
    below = 1 + blanks_behind if here == -1 else 0
    blanks = blanks_before + below
    penalty += 6 * below - 30 * blanks
    indent = here if here != -1 else behind
    if indent != -1 and before != -1:
        penalty += _step(indent, before, behind, blanks > 0)
    return _Border(indent, penalty)


def _step(indent: int, before: int, behind: int, blank: bool) -> int:
    """What speaks against a border between a line indented by `before` and one by `indent`."""
    if indent > before:
        return 10 if blank else -4
    if indent == before:
        return 0
    if behind != -1 and behind > indent:  # it opens a block of its own
        return 17 if blank else 24
    return 17 if blank else 23


def _neighbour(lines: Sequence[bytes], places: range) -> tuple[int, int]:
    """The indent of the first line in `places` that is not blank (-1: none), and how many blank ones come before."""
    blanks = 0
    for place in places:
        indent = _indent(lines[place])
        if indent != -1:
            return indent, blanks
        blanks += 1
        if blanks == _MOST_BLANKS:
            return 0, blanks
    return -1, blanks


def _indent(line: bytes) -> int:
    """The column of the first character, at most `_MOST_INDENT`; -1 for a blank line."""
    column = 0
    for byte in line:
        if byte not in _SPACES:
            return column
        if byte == 32:
            column += 1
        elif byte == 9:
            column += 8 - column % 8
        if column >= _MOST_INDENT:
            return _MOST_INDENT
    return -1
