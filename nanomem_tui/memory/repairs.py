"""Repairs: each with its cause, what is done, and how no byte is lost. The report is `memory/doctor.py`.

Started by `nanomem doctor --fix` (`cli/commands/doctor.py`) and by the Health screen (`screens/status.py`): both show
what `find_repairs` found, and hand it to `back_up_and_repair`. What cannot be read moves to the quarantine unchanged,
files in the way move there too, and nothing is deleted. The agent's own files are left alone while it runs.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents import releases
from nanomem_tui.agents.archive import parse_cursor
from nanomem_tui.agents.jsonl import BOM, count_shared_lines, parse_jsonl
from nanomem_tui.core import atomic
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import Conflict, CorruptDatabase, NanomemError
from nanomem_tui.core.files import read_file
from nanomem_tui.core.operations import Change, Operation, new_operation
from nanomem_tui.core.paths import DREAM_CURSOR
from nanomem_tui.core.text import counted
from nanomem_tui.memory import doctor
from nanomem_tui.memory.doctor import read_bytes
from nanomem_tui.memory.sessions import transcript_repair
from nanomem_tui.store import forgotten
from nanomem_tui.store.database import operation_log
from nanomem_tui.store.files.history import LAYER, file_value
from nanomem_tui.store.moving.backup import Made, make_backup
from nanomem_tui.store.values import ROW_LAYERS

if TYPE_CHECKING:
    from nanomem_tui.memory.parts import Memory


# One thing that the doctor can put right, and the move of a file to the quarantine, which many of them are.


class Repair(NamedTuple):
    """One thing that can be put right: what is wrong where, what is done, and `do`, which does it, and may return in
    words what it did. `held`: why it has to wait, "" when it need not. `aside`: it touches nothing of what is
    remembered. `changes`: what it does as changes of an operation, which undo takes back, in place of `do`."""

    what: str
    where: str
    how: str
    do: Callable[[], object] = lambda: None
    held: str = ""
    aside: bool = False
    changes: Callable[[], Sequence[Change]] | None = None


def quarantine(ws: Memory, path: Path, what: str) -> Repair:
    """Return the move of a file to the quarantine; `what`: what is wrong with it."""

    def move() -> None:
        if path.is_symlink():
            raise NanomemError("a link, which is not followed", str(path))
        atomic.quarantine(ws.paths.quarantine, path.name, read_file(path.resolve()))
        os.unlink(path)
        atomic.sync_folder(path.parent)

    return Repair(what, ws.paths.relative(path), "it is moved to the quarantine", move)


# -- Find what can be repaired, and repair it --------------------------------------------------------------------------

REPAIRED = "doctor.repair"
"""The kind of the operation that holds what the doctor changed in files, and that undo takes back."""
NAMED = 3
"""Places that the log names of what was put right; all stand in its free field `fixes`."""


def find_repairs(ws: Memory) -> list[Repair]:
    """Return everything that can be put right now, or once the agent has stopped. Changes nothing."""
    of_agent = (_identity, _lines, _shared, _documents, _cursors, _checkpoints, _git_locks, _sessions, _transcripts)
    found = [*_each(ws, *of_agent)]
    agent = ws.agent()
    if agent.running:
        found = [one._replace(held=f"{agent.what} runs (process {agent.pid})") for one in found]
    every = [
        *_each(ws, _misplaced, _database, _work_database),
        *found,
        *_each(ws, _left_behind, _modes),
    ]
    mark = forgotten.read_interrupted(ws.paths)  # what is half gone is no damage, and none of it is quarantined
    return every if mark is None else [one._replace(held=f"{mark.what}; {mark.way}") for one in every]


def _each(ws: Memory, *finders: Callable[[Memory], Iterator[Repair]]) -> Iterator[Repair]:
    for finder in finders:
        with contextlib.suppress(NanomemError, OSError):
            yield from finder(ws)


def back_up_and_repair(ws: Memory, found: Sequence[Repair]) -> tuple[Made, list[tuple[Repair, str]]]:
    """Make a backup of everything, then the repairs; returns the backup, and what `apply_repairs` returns."""
    made = make_backup(ws.paths, ws.layout, reason="before doctor --fix")
    return made, apply_repairs(ws, found, made.path.name)


def apply_repairs(ws: Memory, found: Sequence[Repair], backup: str = "") -> list[tuple[Repair, str]]:
    """Put right what need not wait; each with why it could not be done, "" when it was. A failure stops no other.

    The log tells of it before it is done, with the name of the `backup` that takes it back; where the log itself is to
    be put right, once it is. What is a change of files comes last, as one operation, which undo takes back.
    """
    can = [one for one in found if not one.held]
    others = [one for one in can if one.changes is None]
    logged = _log(ws, others, backup)
    done = [_repair(one) for one in others]
    if not logged:
        _log(ws, [one for one, why in done if not why], backup)
    return done + _change_files(ws, [one for one in can if one.changes is not None])


def describe_undo(done: Sequence[tuple[Repair, str]], backup: str) -> list[str]:
    """Return sentences about how to take repairs back; `backup`: the one made before."""
    if not any(not why for _, why in done):
        return []
    changed = any(one.changes is not None for one, why in done if not why)
    undo = ["`nanomem undo` takes back what it changed in files"] if changed else []
    return [*undo, f"`nanomem backup restore {backup}` takes it back"]


def _change_files(ws: Memory, wanted: Sequence[Repair]) -> list[tuple[Repair, str]]:
    """Make the changes of these as one operation; each by itself where one of them cannot be made."""
    try:
        changes = [change for one in wanted if one.changes is not None for change in one.changes()]
        if changes:
            ws.perform(new_operation(REPAIRED, _label(wanted), changes))
    except (NanomemError, OSError) as error:
        if len(wanted) > 1:
            return [done for one in wanted for done in _change_files(ws, [one])]
        return [(one, _reason(error)) for one in wanted]
    return [(one, "") for one in wanted]


def _log(ws: Memory, wanted: Sequence[Repair], backup: str) -> bool:
    """Record the repairs in the log of operations; return whether that could be done."""
    if not wanted:
        return True
    meta: dict[str, Any] = {"backup": backup, "fixes": [[one.where, one.what, one.how] for one in wanted]}
    if all(one.aside for one in wanted):
        meta[operation_log.ASIDE] = True
    with contextlib.suppress(NanomemError, OSError):
        ws.perform(new_operation(operation_log.REPAIRED, _label(wanted), (), meta=meta))
        return True
    return False


def _label(wanted: Sequence[Repair]) -> str:
    names = list(dict.fromkeys(one.where for one in wanted))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"put right {counted(len(wanted), 'thing')}: {', '.join(names[:NAMED])}{more}"


def _repair(one: Repair) -> tuple[Repair, str]:
    try:
        found = one.do()
    except (NanomemError, OSError) as error:
        return one, _reason(error)
    return (one._replace(how=found), "") if isinstance(found, str) else (one, "")


def _reason(error: NanomemError | OSError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f"{error.what}; {error.fix}" if error.fix else error.what


# -- Repairs of our own database --------------------------------------------------------------------------------------


def _database(ws: Memory) -> Iterator[Repair]:
    """A whole file in the place of a damaged one, indexes and owners of tables, and the search index."""
    with contextlib.suppress(CorruptDatabase):  # what is damaged is put right all the same
        if not ws.store.has_database:
            return
    if ws.store.place.has_older_schema():
        how = "it is brought up to date; of a file a copy is kept"
        yield Repair("it has an older schema", ws.store.where, how, ws.store.bring_up_to_date)
        return
    if ws.store.shows_copy:
        return
    from nanomem_tui.store import recovery as store_recovery
    from nanomem_tui.store.database import postgres
    from nanomem_tui.store.database.engine import SqliteDatabase
    from nanomem_tui.store.recovery import LOG

    where = ws.store.where
    database, recovery = ws.store.writer.database, ws.store.writer.recovery
    if recovery is not None and isinstance(database, SqliteDatabase):
        if damaged := list(store_recovery.damaged_parts(database)):
            how = "it is made anew from the newest whole copy and the log"
            how += "; this file goes to the quarantine" if database.file.exists() else ""
            yield Repair(f"damaged: {damaged[0]}", where, how, lambda: recovery.repair().text())
            return
        if copies := recovery.damaged_copies():
            what = f"{counted(len(copies), 'copy', 'copies')} of it damaged"
            how = "made anew; the old goes to the quarantine"
            yield Repair(what, where, how, recovery.replace_damaged_copies, aside=True)
        if lines := recovery.unreadable_lines():
            what, how = f"{counted(len(lines), 'line')} cannot be read", "it is written anew from the database"
            yield Repair(what, ws.paths.relative(database.file.with_name(LOG)), how, recovery.write_anew, aside=True)
        if lost := recovery.lost_commits():
            what = f"it lacks {counted(lost, 'change')} that the log beside it has"
            yield Repair(what, where, "they are made again", recovery.make_lost_commits_again)
        if names := store_recovery.missing_indexes(database):
            how = "they are made anew from their tables"
            yield Repair(f"lacks index {names[0]}", where, how, partial(store_recovery.make_indexes, database, names))
    if (server := ws.store.server) is not None and (tables := postgres.foreign_owned_tables(server)):
        what = f"tables of one role, which other members may not see: {', '.join(tables)}"
        how = "they are given to the owner of the schema"
        yield Repair(what, where, how, partial(postgres.give_tables_to_owner, server))
    for entry in ws.store.unfinished():
        if entry.state == operation_log.STUCK:
            close = partial(ws.store.writer.leave_as_it_is, entry.operation.id)
            yield Repair(describe_half_done(entry.operation), where, "what is there stays", close)
    if not ws.store.index_state().current:
        yield Repair("its search index does not have what its rows say", where, "it is made anew", ws.store.make_index)


def _work_database(ws: Memory) -> Iterator[Repair]:
    """Yield the newest schema for the records of work."""
    if ws.tier_database.has_older_schema():
        how = "they are brought up to date; of a file a copy is kept"
        what, where = "the records of work have an older schema", ws.tier_database.where
        yield Repair(what, where, how, ws.tier_database.bring_up_to_date)


def describe_half_done(operation: Operation) -> str:
    """In words: which operation could not be finished, and which files somebody may have changed since."""
    files = dict.fromkeys(change.key for change in operation.changes if change.layer not in ROW_LAYERS)
    return f"{operation.label} ({operation.id}) is half done: not all of its files fit it ({', '.join(files)})"


# -- Repairs of files -------------------------------------------------------------------------------------------------


def _misplaced(ws: Memory) -> Iterator[Repair]:
    """Yield what lies in the place of a folder of ours; nothing can be kept in a quarantine that is none."""
    wrong = doctor.find_misplaced(ws.paths)
    if ws.paths.quarantine in wrong:
        return
    for path in wrong:
        yield quarantine(ws, path, doctor.MISPLACED)
    for path, kind in doctor.find_misplaced_locks(ws.paths).items():
        what, do = f"a {kind} lies in the place of a lock", partial(atomic.move_aside, ws.paths.quarantine, path)
        yield Repair(what, ws.paths.relative(path), "it is moved to the quarantine", do)


def _identity(ws: Memory) -> Iterator[Repair]:
    """Yield the id by which the agent finds its sessions, where one folder alone can be theirs."""
    kept, known = releases.workspace_id(ws.paths), ws.layout.workspace_id
    if known is None or kept == known:
        return
    path = ws.paths.workspace_id_file
    what = "the id of the workspace is gone" if kept is None else "no sessions lie under this id"

    def put_back() -> None:
        before = read_bytes(path)
        if before:
            atomic.quarantine(ws.paths.quarantine, path.name, before)
        atomic.make_folder(path.parent)
        atomic.write_atomic(path, f"{known}\n".encode(), expected=atomic.sha256(before) if path.exists() else "")

    yield Repair(what, ws.paths.relative(path), f"it becomes {known}, under which its sessions lie", put_back)


def _lines(ws: Memory) -> Iterator[Repair]:
    """Yield files of lines with damaged lines, which stop agents, or with several objects on one line."""
    paths = ws.paths
    for path in (paths.history, paths.lessons, paths.ltm_audit, paths.lessons_audit):
        try:
            data = read_bytes(path)
        except NanomemError:  # the doctor names it, and it stays as it is
            continue
        records = parse_jsonl(core_files.as_utf8(data), "")
        good = [record for record in records if record.value is not None]
        bad, shared = len(records) - len(good), count_shared_lines(records)
        padded = sum(b"\0" in record.raw for record in good)
        where, after = paths.relative(path), b"".join(record.raw.replace(b"\0", b"") + b"\n" for record in good)
        if data.startswith(BOM):
            after = BOM + after.removeprefix(BOM)
        what, how = list[str](), list[str]()
        if core_files.is_wide(data):
            what.append(f"{core_files.encoding_of(data)[:6].upper()}, of which agents read nothing")
            how.append("it is written as UTF-8")
        if bad:
            what.append(f"{counted(bad, 'line')} that cannot be read")
            verb = "goes" if bad == 1 else "go"
            how.append(f"the file as it is is kept in the quarantine, and {counted(bad, 'line')} {verb} from it")
        if shared:
            what.append(f"{counted(shared, 'line')} with several objects, which agents skip")
            how.append("each object gets a line of its own")
        if padded:
            what.append(f"{counted(padded, 'line')} with NUL bytes, which agents skip")
            how.append("the NUL bytes go")
        if not what and data and not data.endswith(b"\n"):
            what.append("no newline at the end")
            how.append("a newline is added: what is written next would be lost with the last line")
            after = data + b"\n"
        if what:
            changes = partial(_rewritten, ws, path, data, after, keep=bool(bad))
            yield Repair(", ".join(what), where, "; ".join(how), changes=changes)


def _rewritten(ws: Memory, path: Path, before: bytes, after: bytes, *, keep: bool) -> list[Change]:
    """Return the change of a file of lines. `keep`: it loses what cannot be read, and the quarantine gets a copy."""
    if keep:
        atomic.quarantine(ws.paths.quarantine, path.name, before)
    values = (file_value(ws.paths.backups, data) for data in (before, after))
    return [Change(LAYER, ws.paths.relative(path), *values)]


def _shared(ws: Memory) -> Iterator[Repair]:
    """Yield the items of an agent in a file that ends in the middle: it would start with none of them."""
    for name in ws.store.spoiled_files():
        where = ws.paths.relative(ws.paths.memory / name)
        how = "it is written anew from what is shown, and the file as it is is kept in the quarantine"
        yield Repair("cannot be read whole", where, how, partial(ws.store.write_anew, name))


def _documents(ws: Memory) -> Iterator[Repair]:
    """Documents on which every turn of an agent fails that reads UTF-8 alone."""
    for path in (ws.paths.soul, ws.paths.user, ws.paths.memory_md):
        try:
            data = read_bytes(path)
        except NanomemError:
            continue
        where = ws.paths.relative(path)
        if core_files.is_wide(data):
            what = f"{core_files.encoding_of(data)[:6].upper()}: every turn of an agent that reads UTF-8 fails"
            yield Repair(what, where, "it is written as UTF-8", changes=partial(_decoded, ws, path, data, keep=False))
            continue
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            what = f"not UTF-8 at byte {error.start:,}: every turn of the agent fails"
            how = "the file as it is is kept in the quarantine; bytes that are no text become �"
            yield Repair(what, where, how, changes=partial(_decoded, ws, path, data, keep=True))


def _decoded(ws: Memory, path: Path, data: bytes, *, keep: bool) -> list[Change]:
    """Return the change that makes plain UTF-8 of a document. `keep`: the quarantine gets a copy of what is no text."""
    key, now = ws.paths.relative(path), ws.documents.load(ws.paths.relative(path))
    if now.data != data:
        raise Conflict("the file changed meanwhile", key, "look at it again and repeat it")
    if keep:
        atomic.quarantine(ws.paths.quarantine, path.name, data)
    mark = "utf-8-sig" if data.startswith(BOM) else core_files.UTF8
    return [Change("file", key, now.value, {"text": core_files.decode(data, "replace"), "encoding": mark})]


def _cursors(ws: Memory) -> Iterator[Repair]:
    """Yield the counters of the archive: where they do not fit it, the agent loses entries, or pays for them again."""
    paths = ws.paths
    entries, latest = doctor.measure_archive(paths)
    given = read_bytes(paths.cursor)
    count = parse_cursor(given) or 0
    told = given.decode("utf-8", "replace").strip()[:20]
    if count > latest + doctor.REACHED:
        yield _counter(ws, paths.cursor, f"{told} is beyond the last entry ({latest})", latest)
        count = latest
    elif entries and given and count < latest:
        yield _counter(ws, paths.cursor, f"“{told}” is behind the archive, which goes to {latest}", latest)
    if not paths.dream_cursor.exists():
        return
    dreamt = parse_cursor(read_bytes(paths.dream_cursor))
    last = max(latest, count)
    if dreamt is None and entries:
        known = _committed(ws)
        if known is not None and 0 <= known <= last:
            yield _counter(ws, paths.dream_cursor, "no number: the next Dream would read all of it again", known)
    elif dreamt is not None and (dreamt > last or dreamt < 0):
        right = max(0, min(dreamt, last))
        yield _counter(ws, paths.dream_cursor, f"{dreamt} is no place in an archive that ends at {last}", right)


def _counter(ws: Memory, path: Path, what: str, right: int) -> Repair:
    def changes() -> list[Change]:
        before, after = read_bytes(path), str(right).encode()
        atomic.quarantine(ws.paths.quarantine, path.name, before)
        if path == ws.paths.dream_cursor:
            return [ws.documents.change(DREAM_CURSOR, str(right))]
        return _rewritten(ws, path, before, after, keep=False)

    return Repair(what, ws.paths.relative(path), f"it becomes {right}", changes=changes)


def _committed(ws: Memory) -> int | None:
    """Return the Dream's cursor as the last commit holds it."""
    try:
        git = ws.git()
        head = git.head() if git is not None else None
        return git.cursor_at(head) if git is not None and head else None
    except NanomemError:
        return None


def _checkpoints(ws: Memory) -> Iterator[Repair]:
    """Checkpoints of turns in flight that the agent throws away at its next start."""
    for path, why in doctor.find_checkpoints(ws.paths, ws.layout):
        if why:
            yield quarantine(ws, path, why)


def _git_locks(ws: Memory) -> Iterator[Repair]:
    for git in ws.paths.git_dirs:
        for path, problem in doctor.find_git_locks(git, ws.paths, ws.agent()):
            if problem.severity == "error":
                yield quarantine(ws, path, problem.what)._replace(aside=True)


def _sessions(ws: Memory) -> Iterator[Repair]:
    for one in transcript_repair.plan_rescues(ws):
        if not one.refused:
            how = "its file gets the name that the agent looks for"
            if one.joined:
                how = f"its {counted(one.messages, 'message')} go in front of those that the agent has"
            what = f"the agent does not find session {one.key}"
            do = partial(transcript_repair.rescue, ws, [one.path])
            yield Repair(what, ws.paths.relative(Path(one.path)), how, do)


def _transcripts(ws: Memory) -> Iterator[Repair]:
    for one in transcript_repair.find_broken(ws):
        lines = f"{counted(one.lines, 'line')} that cannot be read: the agent counts on as if they could be"
        how = f"{'it goes' if one.lines == 1 else 'they go'} from it; undo brings the file back as it was"
        if not one.lines:
            lines = f"{counted(one.shared, 'line')} with several messages, which the agent skips"
            how = "each message gets a line of its own; undo brings the file back as it was"
        if one.wide:
            lines = "UTF-16 or UTF-32, of which agents read nothing" + (f"; {lines}" if one.lines or one.shared else "")
            how = "it is written as UTF-8; undo brings the file back as it was"
        changes = partial(transcript_repair.repair_changes, ws, one)
        yield Repair(lines, ws.paths.relative(one.file.path), how, changes=changes)


def _left_behind(ws: Memory) -> Iterator[Repair]:
    for path in doctor.find_left_behind(ws.paths, ws.layout):
        yield quarantine(ws, path, doctor.LEFT_BEHIND)._replace(aside=True)


def _modes(ws: Memory) -> Iterator[Repair]:
    """Files of ours that others may read, or that we may not write."""
    for path, right in doctor.find_own_files(ws.paths):
        mode = os.lstat(path).st_mode
        if not stat.S_ISLNK(mode) and doctor.has_wrong_mode(mode, right):
            what, do = f"mode {stat.S_IMODE(mode):04o}", partial(_allow, path, right)
            yield Repair(what, ws.paths.relative(path), f"it becomes {right:04o}", do, aside=True)


def _allow(path: Path, right: int) -> None:
    for one in (path, *(path.with_name(f"{path.name}{beside}") for beside in ("-wal", "-shm"))):
        with contextlib.suppress(FileNotFoundError):  # what was left behind is moved away before
            os.chmod(one, right)
