"""Headings that come and go with the lines under them, where a change of a memory file is made or taken back.

Owns two rules. A heading that a Dream of ours made goes with the last line under it; one of anybody else stays. And a
heading is not taken back from above lines that were written under it later: they would stand under another. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from nanomem_tui.agents import markdown
from nanomem_tui.core.errors import Conflict
from nanomem_tui.core.operations import Change
from nanomem_tui.store.files import layer, merge

Owned = Callable[[str], Collection[int]]
"""Of a memory file by its name: the lines (from 1) of the headings that a Dream of ours made."""


def nobodys(_file: str) -> Collection[int]:
    """Where nobody knows who made a heading."""
    return ()


class _Under(NamedTuple):
    """A heading at the index `at`, the indexes of the filled lines under it, and whether it has headings below it."""

    at: int
    lines: tuple[int, ...]
    leads: bool


def emptied(now: str, after: str, owned: Callable[[], Collection[int]]) -> str:
    """`after`, a change of `now`, without those of the headings `owned` in `now` under which nothing is left by it."""
    mine: Collection[int] | None = None
    headings = {one.at: one for one in _headings(now)}
    while True:
        came_from = {place: at for at, place in _places(now, after).items()}
        bare = [
            one.at
            for one in _headings(after)
            if not one.lines and not one.leads
            and (was := headings.get(came_from.get(one.at, -1))) and (was.lines or was.leads)
        ]  # fmt: skip
        if bare and mine is None:
            mine = owned()
        gone = [at for at in bare if came_from[at] + 1 in (mine or ())]
        if not gone:
            return after
        after = _without(after, gone[-1])


def still_needed(base: str, now: str, then: str, after: str) -> str:
    """`after` with the headings that going from `base` back to `then` took out of `now` with all that stood under them,
    and under which `now` has lines that stay."""
    kept, stays = _places(base, then), _places(now, after)
    lines = base.split("\n")
    taken = {lines[one.at].strip() for one in _headings(base) if not {one.at, *one.lines} & kept.keys()}
    raw, result = now.split("\n"), after.split("\n")
    for one in reversed(_headings(now)):
        left = [stays[at] for at in one.lines if at in stays]
        if one.at in stays or not left or raw[one.at].strip() not in taken:
            continue
        above = [raw[one.at - 1]] if one.at and not raw[one.at - 1].strip() else []
        below = [raw[one.at + 1]] if not raw[one.at + 1].strip() else []
        at = left[0]
        if above and at and not result[at - 1].strip():
            above = []
        result[at:at] = [*above, raw[one.at], *below]
    return "\n".join(result)


def taken_back(change: Change, now: str | None, owned: Owned) -> Change:
    """The change of a memory file that takes back an older one, made on what the file holds `now` where a heading has
    to stay or to go; else as it is."""
    base, then = (str((value or {}).get("text", "")) for value in (change.before, change.after))
    if now is None or now == base or "raw" in {**(change.before or {}), **(change.after or {})}:
        return change
    try:
        merged = layer.merged_with(change.key, base.encode(), now.encode(), then.encode())
    except (Conflict, UnicodeEncodeError):  # it is said by who makes the change
        return change
    after = (merged or b"").decode()
    final = emptied(now, still_needed(base, now, then, after), lambda: owned(change.key))
    return change if final == after else Change(change.layer, change.key, {"text": now}, {"text": final})


def _headings(text: str) -> list[_Under]:
    sections = [section for section in markdown.sections(text) if section.level]
    return [
        _Under(
            section.start_line - 1,
            tuple(section.start_line + at for at, line in enumerate(section.lines) if line.strip()),
            number + 1 < len(sections) and sections[number + 1].level > section.level,
        )
        for number, section in enumerate(sections)
    ]


def _places(old: str, new: str) -> dict[int, int]:
    """Where each line of `old` that is kept stands in `new`; both counted from 0."""
    before, after = old.split("\n"), new.split("\n")
    found: dict[int, int] = {}
    at = place = 0
    for edit in merge.edits(before, after):
        found.update(zip(range(at, edit.start), range(place, edit.new_start), strict=True))
        at, place = edit.stop, edit.new_stop
    found.update(zip(range(at, len(before)), range(place, len(after)), strict=True))
    return found


def _without(text: str, at: int) -> str:
    """The text without the heading at index `at` and the blank lines that set it off."""
    end = "\n" if text.endswith("\n") else ""
    lines = text.removesuffix("\n").split("\n")
    stop = at + 1
    while stop < len(lines) and not lines[stop].strip():
        stop += 1
    if stop < len(lines):
        return "\n".join([*lines[:at], *lines[stop:]]) + end
    while at and not lines[at - 1].strip():
        at -= 1
    left = "\n".join(lines[:at])
    return f"{left}{end}" if end and left else left.removesuffix("\r")
