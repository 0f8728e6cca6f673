"""The words of `scrub` and `forget`: what was found where, what goes, what is left, line by line and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nanomem_tui.cli import words
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.purge.databases import Memory
    from nanomem_tui.purge.run import Looked, Receipt, Wanted

SHOWN = 40
"""Places and rows that are named; the rest are counted."""
SAID = 60
"""Cells of what a row says."""
LINES = 8
"""Lines of a file whose numbers stand beside its name."""


def receipt_lines(receipt: Receipt) -> list[str]:
    lines = [f"Taken out: {where}: {words.counted(times, 'time')}" for where, times in receipt.taken]
    left = [f"Left: {where}: {words.counted(times, 'time')} ({why})" for where, times, why in receipt.left if times]
    shown = [
        *lines[:SHOWN],
        *([f"and {words.counted(len(lines) - SHOWN, 'more place')}"] if len(lines) > SHOWN else []),
    ]
    return [*shown, *left, f"{receipt.label[:1].upper()}{receipt.label[1:]}.", f"Receipt {receipt.id}."]


def _git_steps(found: Looked) -> list[str]:
    """Say how to use the `git filter-repo` command, where one is shown."""
    if not any("FILE" in place.stays for place in found.places):
        return []
    file = "In git: commit what is open first. FILE is a full path, with a line `regex:(?i)TEXT==>[forgotten]` a text."
    return [file, "Then remove FILE, push with --force, and repeat this; clones keep theirs (docs/forgetting.md)."]


def as_json(found: Looked) -> list[dict[str, Any]]:
    return [{"where": one.where, "found": dict(one.found), "stays": one.stays} for one in found.places]


def going(found: Looked) -> dict[str, Any]:
    """The rows that go as a whole, and the lines of files, all of them, for --json."""
    rows = [{**row._asdict(), "said": one_line(row.said, SAID)} for row in found.rows]
    lines = {where: [line.number for line in held] for where, held in found.lines.items()}
    said = {where: [one_line(line.said, SAID) for line in held] for where, held in found.lines.items()}
    return {"rows": rows, "lines": lines, "said": said}


def what_goes(found: Looked, *, full: bool) -> list[str]:
    """The rows and lines that go, by name: what a count does not tell is whether the right ones are meant."""
    stay = {place.where for place in found.places if place.stays}
    rows = [f"Goes: {row.table} {row.id}: {one_line(row.said, SAID)}" for row in found.rows]
    lines = [
        f"Goes: {where}, line {line.number}: {one_line(line.said, SAID)}"
        for where, held in found.lines.items()
        if where not in stay
        for line in held
    ]
    shown = [*rows, *lines] if full else [*rows[:SHOWN], *lines[:SHOWN]]
    more = [
        f"and {words.counted(len(every) - SHOWN, f'more {name}')}; --full names all"
        for every, name in ((rows, "row"), (lines, "line"))
        if len(every) > SHOWN and not full
    ]
    both = f"{words.counted(len(rows), 'row')} and {words.counted(len(lines), 'line')} go as a whole or in part"
    return [*shown, *more, *([f"{both}; {summed(found)[:1].lower()}{summed(found)[1:]}"] if found.places else [])]


def forget_lines(found: Looked, *, full: bool) -> list[str]:
    """What a `forget` would do: the places, the rows and lines that go, what could not be looked through."""
    looked = " of what could be looked through" if found.unread else ""
    none = [] if found.places else [f"It is found nowhere{looked}; once it is forgotten it is kept out."]
    return [*lines_of(found), *what_goes(found, full=full), *none, *unread(found)]


ELSEWHERE = "Not reached: backups made with `--in`, and copies on other disks; remove those that hold it."
"""What no look reaches."""


def longer(found: Looked) -> list[str]:
    """That a text stands inside longer words, which nobody sees who looks for whole ones."""
    if not found.places:
        return []
    where = f"{words.counted(found.total, 'time')} in {words.counted(len(found.places), 'place')}"
    named = ", ".join(place.where for place in found.places[:NAMED])
    rest = len(found.places) - NAMED
    more = f" and {words.counted(rest, 'more place')}" if rest > 0 else ""
    return [f"It also stands inside longer words: {where} ({named}{more}); --part-of-words takes these too."]


def _numbers(found: Looked, where: str) -> str:
    """` (lines 3, 8, 20 and more)`: where in a file it is."""
    numbers = found.lines.get(where, ())
    if not numbers:
        return ""
    listed = ", ".join(str(line.number) for line in numbers[:LINES])
    named = "line" if len(numbers) == 1 else "lines"
    return f" ({named} {listed}{' and more' if len(numbers) > LINES else ''})"


def lines_of(found: Looked) -> list[str]:
    lines = [
        f"{place.where}{_numbers(found, place.where)}: {_held(place.found)}"
        + (f" (stays: {place.stays})" if place.stays else "")
        for place in found.places
    ]
    more = [f"and {words.counted(len(lines) - SHOWN, 'more place')}"] if len(lines) > SHOWN else []
    return [*lines[:SHOWN], *more]


NAMED = 3
"""Fingerprints of a kind that are shown for a place; --json has all of them."""


def mask_lines(found: Looked) -> list[str]:
    """What a mask would do, place by place: what is masked, and what stays."""
    lines = [
        f"{'Would stay' if place.stays else 'Would be masked'}: {line}"
        for place, line in zip(found.places, lines_of(found), strict=False)
    ]
    stay = len(found.places) - len(found.can_go)
    times = words.counted(sum(sum(place.found.values()) for place in found.can_go), "time")
    rest = f"; {words.counted(stay, 'place')} would stay" if stay else ""
    more = [f"and {words.counted(len(found.places) - SHOWN, 'more place')}"] if len(found.places) > SHOWN else []
    return [*lines[:SHOWN], *more, f"Would mask {times} in {words.counted(len(found.can_go), 'place')}{rest}."]


def none_left(memory: Memory, found: Looked, wanted: Wanted) -> list[str]:
    """That no backup would be left, where those that hold it are removed."""
    from nanomem_tui.store import backup
    from nanomem_tui.store.backup import folder_of

    if not wanted.backups:
        return []
    made = {one.path.name for one in backup.listed(folder_of(memory.paths))}
    held = made & {place.where for place in found.places}
    if not held:
        return []
    rest = "; none would be left" if held == made else ""
    return [f"Would remove {words.counted(len(held), 'backup')}, and those that build on them{rest}."]


def backups_left(memory: Memory, done: Looked, wanted: Wanted) -> list[str]:
    """That the last backup is gone, and how another is made."""
    from nanomem_tui.store import backup
    from nanomem_tui.store.backup import SUFFIX, folder_of

    removed = wanted.backups and any(place.where.endswith(SUFFIX) for place in done.can_go)
    if not removed or backup.listed(folder_of(memory.paths)):
        return []
    return ["No backup is left: `nanomem backup make` makes one."]


def _held(found: Mapping[str, int]) -> str:
    """`password #9e02, #bbca and 2 more × 7`: each kind with the first of its fingerprints."""
    kinds: dict[str, list[str]] = {}
    times: dict[str, int] = {}
    for name, number in sorted(found.items()):
        kind, _, mark = name.partition(" #")
        kinds.setdefault(kind, []).extend([f"#{mark}"] if mark else [])
        times[kind] = times.get(kind, 0) + number

    def told(kind: str, marks: list[str]) -> str:
        more = f" and {len(marks) - NAMED} more" if len(marks) > NAMED else ""
        named = f"{kind} {', '.join(marks[:NAMED])}{more}" if marks else kind
        return f"{named} × {times[kind]}" if times[kind] > 1 else named

    return "; ".join(told(kind, marks) for kind, marks in kinds.items())


def summed(found: Looked) -> str:
    return f"Found {words.counted(found.total, 'time')} in {words.counted(len(found.places), 'place')}."


def unread(found: Looked) -> list[str]:
    """Say what was not searched, and why, after the steps for a history in git."""
    from nanomem_tui.purge.stored_files import LEADS_OUT, PROGRAMS, WORKSPACE

    lines = [f"Could not be looked through: {where}: {why}" for where, why in found.unread]
    for reason in dict.fromkeys(why for _, why in found.passed):
        files = [where for where, why in found.passed if why == reason]
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        noun = {LEADS_OUT: "link", PROGRAMS: "folder", WORKSPACE: "folder"}.get(reason, "file")
        told = f" of no memory, {reason}" if noun == "file" else f" {reason}"
        lines.append(f"Not looked at: {words.counted(len(files), noun)}{told}: {', '.join(files[:NAMED])}{more}.")
    return [*_git_steps(found), *lines]
