"""`nanomem scrub` and `nanomem forget`: what is stored looked through, and texts taken out of all of it for good."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.shared import Command, Words, agreed, completing, decided, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.errors import AccessDenied, DiskFull
from nanomem_tui.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.purge.receipts import Receipt
    from nanomem_tui.purge.run import Looked, Memory, Wanted
    from nanomem_tui.purge.texts import Sought

SHOWN = 40
"""Places and rows that are named; the rest are counted."""
SAID = 60
"""Cells of what a row says."""
LINES = 8
"""Lines of a file that are named for a person; --json has more."""


def _everywhere(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--backups", is_flag=True, help="Also remove the backups and bundles that hold it.")(command)
    return click.option(
        "--git", is_flag=True, help="Also write the git history anew; a bundle of what was is kept until you remove it."
    )(command)


@click.command(cls=Command)
@click.option("--mask", is_flag=True, help="Put a kind and a fingerprint in the place of each secret, everywhere.")
@_everywhere
@decided
@pass_state
def scrub(state: State, mask: bool, git: bool, backups: bool, yes: bool, dry_run: bool) -> int:
    """Look for secrets in everything that is stored. Changes nothing without --mask.

    Items, lessons, records, operations and their values, sessions, the archive, notes, session logs, mirrors, copies,
    the quarantine, git, backups: each place with the kinds and fingerprints of what it holds, never the value. Exit
    code 1 when something is found (with --mask: is left). What --mask takes out no undo brings back.

    \b
    Example:
      nanomem scrub
      nanomem scrub --mask --dry-run
    """
    from nanomem_tui.purge import texts
    from nanomem_tui.purge.run import Wanted

    if (yes or dry_run or git or backups) and not mask:
        raise click.UsageError("--yes, --dry-run, --git and --backups go with --mask", click.get_current_context())
    wanted = Wanted(git, backups)
    memory = _memory(state)
    found = _look(memory, texts.Secrets(), wanted)
    if not mask or not found.can_go:
        none = ["No secret was found."]
        lines = [*_lines(found), _sum(found)] if found.places else none
        state.show({"found": _told(found), "receipt": None}, [*lines, *_unread(found)])
        return 1 if found.places or found.unread else 0
    question = f"Mask what was found in {words.counted(len(found.can_go), 'place')}? Nothing brings it back."
    lines = [*_mask_lines(found), *_none_left(memory, found, wanted), *_unread(found)]
    if not agreed(state, {"found": _told(found)}, lines, question, yes=yes, dry_run=dry_run):
        return 0
    from nanomem_tui.purge import receipts

    return _done(state, memory, texts.Secrets(), wanted, receipts.new_id(), "scrub", {})


@click.command(cls=Command)
@click.option("--text", "texts", multiple=True, type=Words(), metavar="TEXT", help="Whatever holds these words.")
@click.option(
    "--id",
    "ids",
    multiple=True,
    type=Words(),
    metavar="ID",
    shell_complete=completing("items"),
    help="An item, lesson or record, and its words.",
)
@click.option(
    "--session",
    "sessions",
    multiple=True,
    type=Words(),
    metavar="KEY",
    shell_complete=completing("sessions"),
    help="A conversation and its memories.",
)
@click.option(
    "--person", "persons", multiple=True, type=Words(), metavar="SENDER", help="What a sender said, everywhere."
)
@click.option(
    "--lift", metavar="RECEIPT", type=Words(), help="Let what a receipt names be remembered again from now on."
)
@click.option("--list", "listing", is_flag=True, help="The receipts of what was forgotten and masked.")
@_everywhere
@decided
@pass_state
def forget(
    state: State, texts: tuple[str, ...], ids: tuple[str, ...], sessions: tuple[str, ...], persons: tuple[str, ...],
    lift: str | None, listing: bool, git: bool, backups: bool, yes: bool, dry_run: bool,
) -> int:  # fmt: skip
    """Take a text, a memory, a conversation or a person out of everything, for good, with a receipt.

    A row that holds it goes as a whole, a line of SOUL, USER, MEMORY and notes too; in a conversation and in the
    archive [forgotten] stands in its place. Operations lose the values that held it, copies of the database are made
    anew, freed pages are written over. A keyed hash of it is kept, so that no capture, Dream, import or agent brings it
    back. Not while an agent or another nanomem runs. Nothing undoes it. Exit code 1 when something is left.

    \b
    Example:
      nanomem forget --text "blue bike" --dry-run
      nanomem forget --session telegram:20417 --git --backups
      nanomem forget --list
    """
    from nanomem_tui.purge import run
    from nanomem_tui.purge.run import Wanted
    from nanomem_tui.purge.wishes import Wish, meant

    wish = Wish(texts, ids, sessions, persons)
    asked = {"text": len(texts), "memory": len(ids), "session": len(sessions), "person": len(persons)}
    asked = {name: number for name, number in asked.items() if number}
    if bool(asked) + bool(lift) + listing != 1:
        usage = "say what: --text, --id, --session or --person; or --lift, or --list"
        raise click.UsageError(usage, click.get_current_context())
    if listing:
        return _list(state)
    if lift:
        return _lift(state, lift, yes=yes, dry_run=dry_run)
    with state.open() as ws:
        sought, known = meant(ws, wish)
    memory, wanted = _memory(state), Wanted(git, backups)
    found = _look(memory, sought, wanted) if dry_run or not yes else run.Looked((), ())  # nobody reads a preview then
    preview = {"found": _told(found), **_going(found)}
    what = " and ".join(words.counted(number, name) for name, number in asked.items())
    none = "It is found nowhere; once it is forgotten it is kept out."
    lines = [*_lines(found), *_rows_that_go(found), _sum(found) if found.places else none]
    lines += [*_none_left(memory, found, wanted), *_unread(found)]
    question = f"Forget {what} for good? Nothing brings it back."
    if not agreed(state, preview, lines, question, yes=yes, dry_run=dry_run):
        return 0
    from nanomem_tui.purge import receipts
    from nanomem_tui.store import forgotten

    run.refuse(memory)
    key = receipts.new_id()
    kept = {**wish.told(), "id": known}
    forgotten.add(memory.paths, key, {name: [one for one in names if one] for name, names in kept.items()})
    return _done(state, memory, sought, wanted, key, "forget", asked)


def _memory(state: State) -> Memory:
    """The memory, with all that waited written where that can be done, and closed again."""
    from nanomem_tui.purge.run import Memory

    with state.open(forgiving=True) as ws:
        if ws.paths.data.is_dir():
            with contextlib.suppress(AccessDenied, DiskFull):  # it is looked through where it waits
                ws.flush()
        return Memory(ws.paths, ws.layout, ws.id, ws.agent(), ws.store.server)


def _look(memory: Memory, sought: Sought, wanted: Wanted) -> Looked:
    from nanomem_tui.purge import run

    with output.Progress() as progress:
        return run.look(memory, sought, wanted, lambda where: progress(f"looking through {where}"))


def _done(
    state: State, memory: Memory, sought: Sought, wanted: Wanted, key: str, kind: str, asked: dict[str, int]
) -> int:
    from nanomem_tui.purge import receipts, run

    with output.Progress() as progress:
        done, after = run.take_out(memory, sought, wanted, lambda where: progress(f"cleaning {where}"))
    receipt = receipts.receipt_of(key, kind, asked, done, after)
    with state.open(forgiving=True) as ws:
        receipts.keep(ws, receipt)
    lines = [*_receipt_lines(receipt), *_backups_left(memory, done, wanted), *_unread(after)]
    state.show({"found": _told(after), "receipt": receipt.to_json()}, lines)
    return 1 if receipt.left else 0


def _receipt_lines(receipt: Receipt) -> list[str]:
    lines = [f"Taken out: {where}: {words.counted(times, 'time')}" for where, times in receipt.taken]
    left = [f"Left: {where}: {words.counted(times, 'time')} ({why})" for where, times, why in receipt.left if times]
    shown = [
        *lines[:SHOWN],
        *([f"and {words.counted(len(lines) - SHOWN, 'more place')}"] if len(lines) > SHOWN else []),
    ]
    return [*shown, *left, f"{receipt.label[:1].upper()}{receipt.label[1:]}.", f"Receipt {receipt.id}."]


def _told(found: Looked) -> list[dict[str, Any]]:
    return [{"where": one.where, "found": dict(one.found), "stays": one.stays} for one in found.places]


def _going(found: Looked) -> dict[str, Any]:
    """The rows that go as a whole, and the lines of files, for --json: as many as a person is shown."""
    rows = [{**row._asdict(), "said": one_line(row.said, SAID)} for row in found.rows[:SHOWN]]
    lines = {where: list(numbers) for where, numbers in found.lines.items()}
    return {"rows": rows, "more_rows": max(0, len(found.rows) - SHOWN), "lines": lines}


def _rows_that_go(found: Looked) -> list[str]:
    """The rows that go as a whole, by name: what a count does not tell is whether the right ones are meant."""
    shown = [f"Goes: {row.table} {row.id}: {one_line(row.said, SAID)}" for row in found.rows[:SHOWN]]
    more = len(found.rows) - SHOWN
    return [*shown, *([f"and {words.counted(more, 'more row')}"] if more > 0 else [])]


def _numbers(found: Looked, where: str) -> str:
    """` (lines 3, 8, 20 and more)`: where in a file it is."""
    numbers = found.lines.get(where, ())
    if not numbers:
        return ""
    listed = ", ".join(map(str, numbers[:LINES]))
    named = "line" if len(numbers) == 1 else "lines"
    return f" ({named} {listed}{' and more' if len(numbers) > LINES else ''})"


def _lines(found: Looked) -> list[str]:
    lines = [
        f"{place.where}{_numbers(found, place.where)}: {_held(place.found)}"
        + (f" (stays: {place.stays})" if place.stays else "")
        for place in found.places
    ]
    return [*lines[:SHOWN], *([f"and {words.counted(len(lines) - SHOWN, 'more place')}"] if len(lines) > SHOWN else [])]


NAMED = 3
"""Fingerprints of a kind that are shown for a place; --json has all of them."""


def _mask_lines(found: Looked) -> list[str]:
    """What a mask would do, place by place: what is masked, and what stays."""
    lines = [
        f"{'Would stay' if place.stays else 'Would be masked'}: {line}"
        for place, line in zip(found.places, _lines(found), strict=False)
    ]
    stay = len(found.places) - len(found.can_go)
    times = words.counted(sum(sum(place.found.values()) for place in found.can_go), "time")
    rest = f"; {words.counted(stay, 'place')} would stay" if stay else ""
    more = [f"and {words.counted(len(found.places) - SHOWN, 'more place')}"] if len(found.places) > SHOWN else []
    return [*lines[:SHOWN], *more, f"Would mask {times} in {words.counted(len(found.can_go), 'place')}{rest}."]


def _none_left(memory: Memory, found: Looked, wanted: Wanted) -> list[str]:
    """That no backup would be left, where those that hold it are removed."""
    from nanomem_tui.store import backup
    from nanomem_tui.store.backup_files import folder_of

    if not wanted.backups:
        return []
    made = {one.path.name for one in backup.listed(folder_of(memory.paths))}
    held = made & {place.where for place in found.places}
    if not held:
        return []
    rest = "; none would be left" if held == made else ""
    return [f"Would remove {words.counted(len(held), 'backup')}, and those that build on them{rest}."]


def _backups_left(memory: Memory, done: Looked, wanted: Wanted) -> list[str]:
    """That the last backup is gone, and how another is made."""
    from nanomem_tui.store import backup
    from nanomem_tui.store.backup_archive import SUFFIX
    from nanomem_tui.store.backup_files import folder_of

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


def _sum(found: Looked) -> str:
    return f"Found {words.counted(found.total, 'time')} in {words.counted(len(found.places), 'place')}."


def _unread(found: Looked) -> list[str]:
    return [f"Could not be looked through: {where}: {why}" for where, why in found.unread]


def _list(state: State) -> int:
    from nanomem_tui.purge import receipts

    with state.open(forgiving=True) as ws:
        found = receipts.listed(ws.paths)
    lines = [f"{one['id']}  {words.when(str(one['at']))}  {one['kind']}: {_asked(one)}" for one in found]
    state.show(found, lines or ["Nothing was ever forgotten or masked."])
    return 0


def _asked(receipt: dict[str, Any]) -> str:
    what = ", ".join(words.counted(number, name) for name, number in receipt["asked"].items()) or "secrets"
    since = f"; lifted {words.when(str(receipt['lifted']))}: may be remembered again" if receipt.get("lifted") else ""
    return f"{what}, taken out of {words.counted(len(receipt['taken']), 'place')}{since}"


def _lift(state: State, key: str, *, yes: bool, dry_run: bool) -> int:
    from nanomem_tui import errors
    from nanomem_tui.purge import receipts
    from nanomem_tui.store import forgotten

    with state.open(forgiving=True) as ws:
        held = [mark for mark in forgotten.load(ws.paths).every if mark.receipt == key]
        if not held:
            raise errors.NotFound("no receipt of that name keeps anything out", key, "see `nanomem forget --list`")
        what = words.counted(len(held), "thing")
        line = f"Would let {what} be remembered again."
        if not agreed(
            state, {"lifts": len(held)}, [line], f"Let {what} be remembered again?", yes=yes, dry_run=dry_run
        ):
            return 0 if dry_run else 1
        forgotten.lift(ws.paths, key)
        receipts.lifted(ws.paths, key)
    state.show({"lifts": len(held)}, [f"{what} may be remembered again; what was taken out stays out."])
    return 0
