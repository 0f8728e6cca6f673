"""`nanomem scrub` and `nanomem forget`: find secrets in everything stored, and erase texts for good."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.options import Command, Words, agreed, completing, decided, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core import clock
from nanomem_tui.core.errors import AccessDenied, DiskFull, NotFound, Refused
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.purge.databases import Memory
    from nanomem_tui.purge.matchers import Sought
    from nanomem_tui.purge.run import BackupOptions, FoundPlaces, Name, Receipt, Request
    from nanomem_tui.store.forgotten import Forgotten, Interrupted


# The words of `scrub` and `forget`: what was found where, what goes, what is left, line by line and as JSON.

SHOWN = 40
"""Places and rows that are named; the rest are counted."""
SAID = 60
"""Cells of what a row says."""
LINES = 8
"""Lines of a file whose numbers stand beside its name."""


def receipt_lines(receipt: Receipt) -> list[str]:
    lines = [f"Taken out: {where}: {output.counted(times, 'time')}" for where, times in receipt.taken]
    left = [f"Left: {where}: {output.counted(times, 'time')} ({why})" for where, times, why in receipt.left if times]
    shown = [
        *lines[:SHOWN],
        *([f"and {output.counted(len(lines) - SHOWN, 'more place')}"] if len(lines) > SHOWN else []),
    ]
    return [*shown, *left, f"{receipt.label[:1].upper()}{receipt.label[1:]}.", f"Receipt {receipt.id}."]


def _git_steps(found: FoundPlaces) -> list[str]:
    """Say how to use the `git filter-repo` command, where one is shown."""
    if not any("FILE" in place.stays for place in found.places):
        return []
    file = "In git: commit what is open first. FILE is a full path, with a line `regex:(?i)TEXT==>[forgotten]` a text."
    return [file, "Then remove FILE, push with --force, and repeat this; clones keep theirs (docs/forgetting.md)."]


def as_json(found: FoundPlaces) -> list[dict[str, Any]]:
    return [{"where": one.where, "found": dict(one.found), "stays": one.stays} for one in found.places]


def going(found: FoundPlaces) -> dict[str, Any]:
    """The rows that go as a whole, and the lines of files, all of them, for --json."""
    rows = [{**row._asdict(), "said": one_line(row.said, SAID)} for row in found.rows]
    lines = {where: [line.number for line in held] for where, held in found.lines.items()}
    said = {where: [one_line(line.said, SAID) for line in held] for where, held in found.lines.items()}
    return {"rows": rows, "lines": lines, "said": said}


def what_goes(found: FoundPlaces, *, full: bool) -> list[str]:
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
        f"and {output.counted(len(every) - SHOWN, f'more {name}')}; --full names all"
        for every, name in ((rows, "row"), (lines, "line"))
        if len(every) > SHOWN and not full
    ]
    both = f"{output.counted(len(rows), 'row')} and {output.counted(len(lines), 'line')} go as a whole or in part"
    return [*shown, *more, *([f"{both}; {summed(found)[:1].lower()}{summed(found)[1:]}"] if found.places else [])]


def forget_lines(found: FoundPlaces, *, full: bool) -> list[str]:
    """What a `forget` would do: the places, the rows and lines that go, what could not be looked through."""
    looked = " of what could be looked through" if found.unread else ""
    none = [] if found.places else [f"It is found nowhere{looked}; once it is forgotten it is kept out."]
    return [*lines_of(found), *what_goes(found, full=full), *none, *unread(found)]


ELSEWHERE = "Not reached: backups made with `--in`, and copies on other disks; remove those that hold it."
"""What no look reaches."""


def purge_words_longer(found: FoundPlaces) -> list[str]:
    """That a text stands inside longer words, which nobody sees who looks for whole ones."""
    if not found.places:
        return []
    where = f"{output.counted(found.total, 'time')} in {output.counted(len(found.places), 'place')}"
    named = ", ".join(place.where for place in found.places[:NAMED])
    rest = len(found.places) - NAMED
    more = f" and {output.counted(rest, 'more place')}" if rest > 0 else ""
    return [f"It also stands inside longer words: {where} ({named}{more}); --part-of-words takes these too."]


def _numbers(found: FoundPlaces, where: str) -> str:
    """` (lines 3, 8, 20 and more)`: where in a file it is."""
    numbers = found.lines.get(where, ())
    if not numbers:
        return ""
    listed = ", ".join(str(line.number) for line in numbers[:LINES])
    named = "line" if len(numbers) == 1 else "lines"
    return f" ({named} {listed}{' and more' if len(numbers) > LINES else ''})"


def lines_of(found: FoundPlaces) -> list[str]:
    lines = [
        f"{place.where}{_numbers(found, place.where)}: {_held(place.found)}"
        + (f" (stays: {place.stays})" if place.stays else "")
        for place in found.places
    ]
    more = [f"and {output.counted(len(lines) - SHOWN, 'more place')}"] if len(lines) > SHOWN else []
    return [*lines[:SHOWN], *more]


NAMED = 3
"""Fingerprints of a kind that are shown for a place; --json has all of them."""


def mask_lines(found: FoundPlaces) -> list[str]:
    """What a mask would do, place by place: what is masked, and what stays."""
    lines = [
        f"{'Would stay' if place.stays else 'Would be masked'}: {line}"
        for place, line in zip(found.places, lines_of(found), strict=False)
    ]
    stay = len(found.places) - len(found.can_go)
    times = output.counted(sum(sum(place.found.values()) for place in found.can_go), "time")
    rest = f"; {output.counted(stay, 'place')} would stay" if stay else ""
    more = [f"and {output.counted(len(found.places) - SHOWN, 'more place')}"] if len(found.places) > SHOWN else []
    return [*lines[:SHOWN], *more, f"Would mask {times} in {output.counted(len(found.can_go), 'place')}{rest}."]


def none_left(memory: Memory, found: FoundPlaces, wanted: BackupOptions) -> list[str]:
    """That no backup would be left, where those that hold it are removed."""
    from nanomem_tui.store.moving import backup
    from nanomem_tui.store.moving.backup import folder_of

    if not wanted.backups:
        return []
    made = {one.path.name for one in backup.list_archives(folder_of(memory.paths))}
    held = made & {place.where for place in found.places}
    if not held:
        return []
    rest = "; none would be left" if held == made else ""
    return [f"Would remove {output.counted(len(held), 'backup')}, and those that build on them{rest}."]


def backups_left(memory: Memory, done: FoundPlaces, wanted: BackupOptions) -> list[str]:
    """That the last backup is gone, and how another is made."""
    from nanomem_tui.store.moving import backup
    from nanomem_tui.store.moving.backup import SUFFIX, folder_of

    removed = wanted.backups and any(place.where.endswith(SUFFIX) for place in done.can_go)
    if not removed or backup.list_archives(folder_of(memory.paths)):
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

    def held_text(kind: str, marks: list[str]) -> str:
        more = f" and {len(marks) - NAMED} more" if len(marks) > NAMED else ""
        named = f"{kind} {', '.join(marks[:NAMED])}{more}" if marks else kind
        return f"{named} × {times[kind]}" if times[kind] > 1 else named

    return "; ".join(held_text(kind, marks) for kind, marks in kinds.items())


def summed(found: FoundPlaces) -> str:
    return f"Found {output.counted(found.total, 'time')} in {output.counted(len(found.places), 'place')}."


def unread(found: FoundPlaces) -> list[str]:
    """Say what was not searched, and why, after the steps for a history in git."""
    from nanomem_tui.purge.stored_files import LEADS_OUT, PROGRAMS, WORKSPACE

    lines = [f"Could not be looked through: {where}: {why}" for where, why in found.unread]
    for reason in dict.fromkeys(why for _, why in found.passed):
        files = [where for where, why in found.passed if why == reason]
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        noun = {LEADS_OUT: "link", PROGRAMS: "folder", WORKSPACE: "folder"}.get(reason, "file")
        held_text = f" of no memory, {reason}" if noun == "file" else f" {reason}"
        lines.append(f"Not looked at: {output.counted(len(files), noun)}{held_text}: {', '.join(files[:NAMED])}{more}.")
    return [*_git_steps(found), *lines]


_EVERYWHERE = click.option("--backups", is_flag=True, help="Also remove the backups and bundles that hold it.")


@click.command(cls=Command)
@click.option("--mask", is_flag=True, help="Put a kind and a fingerprint in the place of each secret, everywhere.")
@_EVERYWHERE
@decided
@pass_state
def scrub(state: State, mask: bool, backups: bool, yes: bool, dry_run: bool) -> int:
    """Look for secrets in everything that is stored. Changes nothing without --mask.

    Items, lessons, records, operations and their values, sessions, the archive, notes, session logs, mirrors, copies,
    the quarantine, git, backups, and every other text of the workspace and the agent's home up to 16 MB: each place
    with the kinds and fingerprints of what it holds, never the value. A password that one place tells is found where it
    stands alone, too. Settings (the agent's, yours, those of git) and packed files stay, and are told;
    a history in git too, with its commits and the command that takes it out of them. Exit code 1 when something is
    found (with --mask: is left), or could not be looked through. What --mask takes out no undo brings back.

    \b
    Example:
      nanomem scrub
      nanomem scrub --mask --dry-run
    """
    from nanomem_tui.purge.matchers import Secrets
    from nanomem_tui.purge.run import BackupOptions
    from nanomem_tui.store import forgotten

    if (yes or dry_run or backups) and not mask:
        raise click.UsageError("--yes, --dry-run and --backups go with --mask", click.get_current_context())
    wanted = BackupOptions(backups)
    memory = _memory(state)
    sought = Secrets()
    found = _find_all(memory, sought, wanted)
    if (everywhere := sought.everywhere()) is not None:
        sought = everywhere
        found = _find_all(memory, sought, wanted)
    begun = forgotten.read_interrupted(memory.paths) if mask and not dry_run else None
    if begun is not None and begun.kind != "scrub":
        raise _another(begun)
    if not mask or not (found.can_go or begun):
        none = ["No secret was found."]
        lines = [*lines_of(found), summed(found)] if found.places else none
        state.show({"found": as_json(found), "receipt": None}, [*lines, *unread(found)])
        return 1 if found.places or found.unread else 0
    question = f"Mask what was found in {output.counted(len(found.can_go), 'place')}? Nothing brings it back."
    lines = [*mask_lines(found), *none_left(memory, found, wanted), *unread(found)]
    if not agreed(state, {"found": as_json(found)}, lines, question, yes=yes, dry_run=dry_run):
        return 0
    from nanomem_tui.core.operations import new_key

    marked = begun or forgotten.Interrupted("scrub", new_key("receipt"), "", {})
    return _done(state, memory, [sought], wanted, marked)


@click.command(cls=Command)
@click.option("--text", "texts", multiple=True, type=Words(), metavar="TEXT", help="Whatever holds these words, whole.")
@click.option("--part-of-words", "parts", is_flag=True, help="With --text: what stands inside longer words goes too.")
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
    help="A conversation, and what says that it came from it.",
)
@click.option(
    "--person", "persons", multiple=True, type=Words(), metavar="SENDER",
    help="What a sender said and was answered, and its memories.",
)  # fmt: skip
@click.option(
    "--lift", metavar="RECEIPT", type=Words(), help="Let what a receipt names be remembered again from now on."
)
@click.option("--again", is_flag=True, help="Take out what was forgotten before and is there again.")
@click.option("--full", is_flag=True, help="Name every row and line that goes, however many they are.")
@click.option("--list", "listing", is_flag=True, help="The receipts of what was forgotten and masked.")
@_EVERYWHERE
@decided
@pass_state
def forget(
    state: State, texts: tuple[str, ...], parts: bool, ids: tuple[str, ...], sessions: tuple[str, ...],
    persons: tuple[str, ...], lift: str | None, again: bool, full: bool, listing: bool,
    backups: bool, yes: bool, dry_run: bool,
) -> int:  # fmt: skip
    """Take a text, a memory, a conversation or a person out of everything, for good, with a receipt.

    A row that holds it goes as a whole, a line of SOUL, USER, MEMORY and notes too; in a conversation and in the
    archive [forgotten] stands in its place. Operations lose the values that held it, copies of the database are made
    anew, freed pages are written over. A keyed hash of it is kept, so that no capture, Dream, import or agent brings it
    back. Not while an agent or another nanomem runs. Nothing undoes it. Exit code 1 when something is left.

    A text is met as whole words, whatever their case and the signs between them: `kayak` is not in `kayaks`. That it
    stands inside longer words is said; --part-of-words takes these words too (what is kept out later is whole words).

    A history in git stays, and is told with its commits and the command that takes it out of them.

    A name that holds a text (of a file, a session, a branch, a path in the git history) stays, and is told as left with
    what to do: nothing of an agent is renamed.

    With --id what the memory said stays forgotten too, with --person what his memories said and nobody else did: it is
    captured from nobody. A text under 12 characters is kept out where a memory says just that; --lift gives it back.

    With --session and --person go what says that it is theirs, what was said there alone from the archive, and the
    lines of documents that hold a memory that goes. A sentence that somebody else said too stays with them, and a line
    of MEMORY or USER that only reads like the conversation stays.

    \b
    Example:
      nanomem forget --text "blue bike" --dry-run
      nanomem forget --session telegram:20417 --backups
      nanomem forget --list
    """
    from nanomem_tui.purge import run
    from nanomem_tui.purge.matchers import KeptWords, LongerWords
    from nanomem_tui.purge.run import BackupOptions, Request
    from nanomem_tui.store import forgotten

    wish = Request(texts, ids, sessions, persons)
    asked = {"text": len(texts), "memory": len(ids), "session": len(sessions), "person": len(persons)}
    asked = {name: number for name, number in asked.items() if number}
    if bool(asked) + bool(lift) + listing + again != 1:
        usage = "say what: --text, --id, --session or --person; or --again, --lift, or --list"
        raise click.UsageError(usage, click.get_current_context())
    if parts and not texts:
        raise click.UsageError("--part-of-words goes with --text", click.get_current_context())
    if listing:
        return _list(state)
    if lift:
        return _lift(state, lift, yes=yes, dry_run=dry_run)
    sought, kept, asked, names = _sought(state, wish, asked, parts=parts, again=again)
    memory, wanted = _memory(state), BackupOptions(backups)
    begun = _begun(memory, wish, asked, parts=parts, again=again) if not dry_run else None
    run.refuse_unknown(names, lambda one: _find_all(memory, one, wanted))
    found = (
        _find_all(memory, sought, wanted) if dry_run or not yes else run.FoundPlaces((), ())
    )  # nobody reads a preview then

    def inside() -> FoundPlaces:
        return _find_all(memory, LongerWords(texts), wanted) if texts and not parts else run.FoundPlaces((), ())

    def more(longer: FoundPlaces) -> list[str]:
        """What is said beside it."""
        return [*purge_words_longer(longer), ELSEWHERE]

    longer = inside() if dry_run or not yes else run.FoundPlaces((), ())
    preview = {"found": as_json(found), **going(found), "inside_longer_words": longer.total}
    what = " and ".join(output.counted(number, name) for name, number in asked.items())
    lines = [*forget_lines(found, full=full), *none_left(memory, found, wanted), *more(longer)]
    question = f"Forget {what} for good? Nothing brings it back."
    if not agreed(state, preview, lines, question, yes=yes, dry_run=dry_run):
        return 0
    every = [sought]
    if begun is not None and not again:  # by what was left out of the first half the rest may not be told any more
        every.append(KeptWords(forgotten.load(memory.paths), begun))
    mark = begun or _mark(memory, sought, asked, kept, parts=parts)
    return _done(state, memory, every, wanted, mark, lambda: more(inside()))


def _sought(
    state: State, wish: Request, asked: dict[str, int], *, parts: bool, again: bool
) -> tuple[Sought, Mapping[str, Sequence[str]], dict[str, int], list[Name]]:
    """What is looked for, what stays forgotten, how much was asked for, and the names that may be mistyped."""
    from nanomem_tui.purge import run
    from nanomem_tui.purge.matchers import KeptWords
    from nanomem_tui.purge.run import find_targets
    from nanomem_tui.store import forgotten

    with state.open() as ws:
        if not again:
            return *find_targets(ws, wish, parts=parts), asked, run.unknown_names(ws, wish)
        ws.flush()
        kept, mark = forgotten.load(ws.paths), forgotten.read_interrupted(ws.paths)
    if mark is not None and mark.kind == "forget":
        return KeptWords(kept, mark), {}, dict(mark.asked), []
    if not kept:
        raise NotFound("nothing was ever forgotten here", "", "say what: --text, --id, --session or --person")
    return KeptWords(kept), {}, {"thing": len(kept.every)}, []


def _begun(memory: Memory, wish: Request, asked: Mapping[str, int], *, parts: bool, again: bool) -> Interrupted | None:
    """The mark of just this that was interrupted, None where nothing was. Raises Refused where something else was: what
    tells how that is ended would be lost."""
    from nanomem_tui.store import forgotten

    mark = forgotten.read_interrupted(memory.paths)
    things = {"text": wish.texts, "id": wish.ids, "session": wish.sessions, "sender": wish.persons}
    if mark is None or (mark.kind == "forget" and (again or mark.is_of(asked, things, parts=parts))):
        return mark
    raise _another(mark)


def _another(mark: Interrupted) -> Refused:
    return Refused(mark.what, "", f"{mark.way}; then repeat this")


def _mark(
    memory: Memory, sought: Sought, asked: Mapping[str, int], kept: Mapping[str, Sequence[str]], *, parts: bool
) -> Interrupted:
    """What tells of a forget until it is at its end."""
    from nanomem_tui.core.operations import new_key
    from nanomem_tui.store import forgotten

    key = new_key("receipt")
    things = {name: [one for one in names if one] for name, names in kept.items()}
    after = forgotten.with_more(forgotten.load(memory.paths), key, things)
    mark = forgotten.Interrupted("forget", key, "", asked, parts=parts, kept=after)
    if not things:
        return mark
    alone = forgotten.NOTHING._replace(salt=after.salt)

    def hashed(**more: Iterable[str]) -> Forgotten:
        return forgotten.with_more(alone, key, more)

    rows, said = hashed(text=sought.copied.rows), hashed(text=sought.copied.said)
    return mark._replace(sought=hashed(text=sought.texts, id=sought.marks.ids), rows=rows, said=said)


def _memory(state: State) -> Memory:
    """The memory, with all that waited written where that can be done, and closed again."""
    from nanomem_tui.purge.databases import Memory

    with state.open(forgiving=True) as ws:
        if ws.paths.data.is_dir():
            with contextlib.suppress(AccessDenied, DiskFull):  # it is looked through where it waits
                ws.flush()
        return Memory(ws.paths, ws.layout, ws.id, ws.agent(), ws.store.server)


def _find_all(memory: Memory, sought: Sought, wanted: BackupOptions) -> FoundPlaces:
    from nanomem_tui.purge import run

    with output.Progress() as progress:
        return run.find_texts(memory, sought, wanted, lambda where: progress(f"looking through {where}"))


def _done(
    state: State, memory: Memory, sought: Sequence[Sought], wanted: BackupOptions, mark: Interrupted,
    more: Callable[[], Sequence[str]] = tuple,
) -> int:  # fmt: skip
    """Take it out, under a mark that lies there meanwhile, and tell of it. `sought`: one after another."""
    from nanomem_tui.purge import databases, run
    from nanomem_tui.store import forgotten

    options = ("--backups",) if wanted.backups else mark.options
    begun = mark._replace(at=mark.at or clock.iso(clock.now()), options=options)

    def begin() -> None:
        forgotten.begin_forgetting(memory.paths, begun)
        if mark.kept:
            forgotten.add_all(memory.paths, mark.kept)

    with output.Progress() as progress:
        held_text = [
            run.remove_texts(memory, one, wanted, lambda where: progress(f"cleaning {where}"), begin) for one in sought
        ]
    done, after = (
        looked[0]._replace(places=tuple(place for one in looked for place in one.places))
        for looked in zip(*held_text, strict=True)
    )
    receipt = run.receipt_of(mark.receipt, mark.kind, mark.asked, done, after)
    with state.open(forgiving=True) as ws:
        run.keep_receipt(ws, receipt, sought[0])
    if not any(place.stays == databases.UNMOVED for place in after.places):  # else the same command ends it
        forgotten.end_forgetting(memory.paths)
    lines = [
        *receipt_lines(receipt),
        *backups_left(memory, done, wanted),
        *unread(after),
    ]
    lines += more()
    state.show({"found": as_json(after), "receipt": receipt.to_json()}, lines)
    return 1 if receipt.left else 0


def _list(state: State) -> int:
    from nanomem_tui.purge import run
    from nanomem_tui.store import forgotten

    with state.open(forgiving=True) as ws:
        found, mark = run.receipts(ws.paths), forgotten.read_interrupted(ws.paths)
    lines = [f"{one['id']}  {output.when(str(one['at']))}  {one['kind']}: {_asked(one)}" for one in found]
    if mark is not None:
        lines.insert(0, f"Interrupted: {mark.what}; {mark.way}.")
        begun = {"id": mark.receipt, "at": mark.at, "kind": mark.kind, "asked": dict(mark.asked)}
        found.insert(0, {**begun, "interrupted": mark.way, "taken": [], "left": []})
    state.show(found, lines or ["Nothing was ever forgotten or masked."])
    return 0


def _asked(receipt: dict[str, Any]) -> str:
    what = ", ".join(output.counted(number, name) for name, number in receipt["asked"].items()) or "secrets"
    since = f"; lifted {output.when(str(receipt['lifted']))}: may be remembered again" if receipt.get("lifted") else ""
    return f"{what}, taken out of {output.counted(len(receipt['taken']), 'place')}{since}"


def _lift(state: State, key: str, *, yes: bool, dry_run: bool) -> int:
    from nanomem_tui.core import errors
    from nanomem_tui.purge import run
    from nanomem_tui.store import forgotten

    with state.open(forgiving=True) as ws:
        held = [mark for mark in forgotten.load(ws.paths).every if mark.receipt == key]
        if not held:
            raise errors.NotFound("no receipt of that name keeps anything out", key, "see `nanomem forget --list`")
        what = output.counted(len(held), "thing")
        line = f"Would let {what} be remembered again."
        if not agreed(
            state, {"lifts": len(held)}, [line], f"Let {what} be remembered again?", yes=yes, dry_run=dry_run
        ):
            return 0 if dry_run else 1
        forgotten.lift(ws.paths, key)
        run.lift_receipt(ws.paths, key)
    state.show({"lifts": len(held)}, [f"{what} may be remembered again; what was taken out stays out."])
    return 0
