"""`nanomem backup`, `migrate-store` and `members`: the whole memory in one file, moved to another store, and who may
see it.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import Command, Count, Group, Words, agreed, decided, paged, pass_state
from nanomem_tui.cli.output import Column
from nanomem_tui.cli.state import State, page
from nanomem_tui.core import errors
from nanomem_tui.core.errors import Refused

if TYPE_CHECKING:
    from nanomem_tui.agents.releases import Layout
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.purge.run import RemovedAgain
    from nanomem_tui.store.database.postgres import PostgresDatabase
    from nanomem_tui.store.moving.backup import Made
    from nanomem_tui.store.moving.migrate_store import Done, Plan
    from nanomem_tui.store.moving.restore import Restored


SHOWN = 12
"""Files of a plan that are named; the rest are counted."""


def _in(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--in", "folder", type=Words(), metavar="FOLDER", help="Where the backups lie (default: nanomem-backups)."
    )(command)


@click.group("backup", cls=Group)
def backup() -> None:
    """The whole memory in one file: workspace, sessions, databases, configuration. While everything runs.

    A backup holds what the agent knows, and the keys in its configuration: it is readable by you alone. Each stands
    alone, and is a zip file with a manifest of hashes.

    \b
    Example:
      nanomem backup make
      nanomem backup restore latest --dry-run
    """


@backup.command("make")
@_in
@click.option("--whole", is_flag=True, hidden=True, expose_value=False, help="Each backup is whole, also without.")
@click.option("--everything", is_flag=True, help="Also what else lies in the agent's workspace.")
@pass_state
def make_backup(state: State, folder: str | None, everything: bool) -> int:
    """Make a backup now, beside the memory or in another folder, and read it back. Exit code 1 when it lacks something
    that could not be read.

    \b
    Example:
      nanomem backup make --in /mnt/usb
    """
    from nanomem_tui.store.moving import backup as backups

    paths, layout = _found(state)
    with output.Progress() as progress:
        made = backups.make_backup(
            paths, layout, _folder(paths, folder), everything=everything,
            progress=lambda done, of: progress("backing up: file", done, of),
        )  # fmt: skip
    state.show(_made(made), lambda: _made_lines(made))
    return 1 if _lacking(made.left_out) else 0


def _lacking(left_out: Sequence[tuple[str, str]]) -> list[str]:
    """What a backup lacks because nobody could read it, each in a line."""
    from nanomem_tui.store.moving.backup import missing_parts

    return [f"It lacks {path}, which could not be read: {why}" for path, why in missing_parts(left_out)]


def _made_lines(made: Made) -> list[str]:
    from nanomem_tui.store.moving.backup import missing_parts

    unread = missing_parts(made.left_out)
    left = [f"Left out: {path} ({why})" for path, why in made.left_out if (path, why) not in unread]
    rest = [f"and {output.counted(len(left) - SHOWN, 'more')}"] if len(left) > SHOWN else []
    size = f"{output.size(made.size)}, {output.size(made.stored)} written"
    return [
        f"{output.counted(made.files, 'file')}, {size}: {made.path}",
        *_lacking(made.left_out),
        *left[:SHOWN],
        *rest,
    ]


@backup.command("list")
@_in
@paged
@pass_state
def list_backups(state: State, folder: str | None, limit: int | None, offset: int) -> None:
    """The backups that are there, the newest first.

    \b
    Example:
      nanomem backup list
    """
    from nanomem_tui.store.moving import backup as backups

    paths, _ = _found(state)
    found = page(backups.list_archives(_folder(paths, folder)), limit, offset)
    columns = [
        Column("Backup", least=24, of=lambda one: one.path.name),
        Column("Made", of=lambda one: output.when(one.made_at) if one.made_at else ""),
        Column("Files", right=True, of=lambda one: str(one.files)),
        Column("Size", right=True, of=lambda one: output.size(one.size)),
        Column("Written", right=True, of=lambda one: output.size(one.stored)),
        Column(
            "Note",
            limit=60,
            least=16,
            optional=True,
            of=lambda one: one.problem or one.reason or (f"builds on {one.base}" if one.base else ""),
        ),
    ]
    none = [f"No backup in {_folder(paths, folder)} yet; `nanomem backup make` makes one."]
    unchecked = "Not checked: `nanomem backup check NAME` reads one through."
    state.show(
        [_made(one) for one in found],
        lambda: [*output.columned(columns, found), unchecked] if found else none,
    )


@backup.command("check")
@click.argument("name", type=Words(), default="latest")
@_in
@pass_state
def check_backup(state: State, name: str, folder: str | None) -> int:
    """Read a whole backup: every file, every database. Exit code 1 when anything is wrong, or
    was not there to be read when it was made.

    \b
    Example:
      nanomem backup check latest
    """
    from nanomem_tui.store.moving import backup as backups

    path = _named(state, name, folder)
    manifest, problems = backups.check_archive(path)
    torn = backups.unreadable_newer(path.parent, path) if name == "latest" else []
    problems += [errors.Problem(f"newer than {path.name}, and {one.problem}", one.path.name) for one in torn]
    lacks = _lacking(manifest.left_out)
    told = {"id": path.name, "files": len(manifest.entries), "size": manifest.size, "lacks": lacks}
    whole = f"{path.name} is whole: {output.counted(len(manifest.entries), 'file')}, {output.size(manifest.size)}."
    state.show(
        {**told, "problems": [json_objects.problem(one) for one in problems]},
        lambda: [*(one.text() for one in problems), *([whole] if len(problems) == len(torn) else []), *lacks],
    )
    return 1 if problems or lacks else 0


@backup.command("prune")
@click.option(
    "--keep", type=int, default=7, show_default=True, help="So many that you made, and so many made by itself."
)
@click.option("--days", type=click.IntRange(0), default=0, help="And all that are younger than so many days.")
@_in
@decided
@pass_state
def prune_backups(state: State, keep: int, days: int, folder: str | None, yes: bool, dry_run: bool) -> int:
    """Remove old backups for good. Those that stay are read first.

    A damaged one among them is named and stays, and counts for nothing; exit code 1 then. What a backup of an older
    nanomem builds on stays with it.

    \b
    Example:
      nanomem backup prune --keep 3 --dry-run
    """
    from nanomem_tui.store.moving import backup as backups

    place = _folder(_found(state)[0], folder)
    with output.Progress() as progress:
        plan = backups.prune_plan(place, keep, days, lambda number, of: progress("looking through: backup", number, of))
    left = [
        *(f"Cannot be read, and stays: {name}" for name in plan.unread),
        *(f"Damaged, and stays: {name} ({why}; remove it when you need nothing of it)" for name, why in plan.damaged),
    ]
    code = 1 if left else 0
    if not plan.removed:
        state.show(json_objects.plain(plan), [f"Nothing to remove: {output.counted(len(plan.kept), 'backup')}.", *left])
        return code
    removed = output.counted(len(plan.removed), "backup")
    lines = [*_named_lines("Would remove", plan.removed), *left]
    if not agreed(state, json_objects.plain(plan), lines, f"Remove {removed} for good?", yes=yes, dry_run=dry_run):
        return 0
    backups.prune(place, plan)
    told = f"{removed} removed, {output.size(plan.freed)} freed; {output.counted(len(plan.kept), 'backup')} left."
    state.show(json_objects.plain(plan), [told, *left])
    return code


@backup.command("restore")
@click.argument("name", type=Words())
@click.option("--to", "place", type=Words(), metavar="FOLDER", help="A new place, instead of where the memory is now.")
@click.option("--user-settings", is_flag=True, help="Also your own settings, which hold for every workspace.")
@click.option("--force", is_flag=True, help="Also while an agent runs, which may write its own copies back.")
@_in
@decided
@pass_state
def restore_backup(
    state: State,
    name: str,
    place: str | None,
    user_settings: bool,
    force: bool,
    folder: str | None,
    yes: bool,
    dry_run: bool,
) -> int:
    """Bring a backup back: to a new place, or in place after a backup of what is there now.

    In place, what came since stays, but for our own folder, the references of the repository and Dream's cursor.
    Your own settings, which hold for every workspace, stay as they are unless they are gone. Refused while an agent
    runs, or another nanomem.

    \b
    Example:
      nanomem backup restore latest --to ~/looked-at
      nanomem backup restore 20261123-190000 --dry-run
    """
    from nanomem_tui.store.moving import backup as backups
    from nanomem_tui.store.moving import restore
    from nanomem_tui.store.moving.backup import Archive, folder_of

    path = Path(name).expanduser() if place and Path(name).expanduser().is_file() else _named(state, name, folder)
    if place is not None and user_settings:
        raise errors.BadInput("--user-settings goes without --to", "", "there they lie in settings/config.toml")
    if place is not None:
        if dry_run:
            manifest, problems = backups.check_archive(path)
            told = f"Would write {output.counted(len(manifest.entries), 'file')} to {place}."
            found = [one.text() for one in problems]
            state.show({"files": len(manifest.entries), "problems": found}, found or [told])
            return 1 if found else 0
        done = restore.restore_to(path, Path(place))
        lines = [
            f"{output.counted(len(done.changed), 'file')} written to {place}.",
            f"`nanomem --workspace {shlex.quote(done.workspace)} memory status` opens it.",
            *_not_kept_out(state, Path(place)),
        ]
        state.show(_restored(done), lines)
        return 0
    paths, layout = _found(state)
    from nanomem_tui.store.files.presence import find_running_agent

    agent = find_running_agent(paths, layout.sessions_dir)
    if agent.running and not force:
        raise errors.Refused(f"{agent.what} runs (process {agent.pid})", "", "stop the agent first, or --to FOLDER")
    with Archive(path) as archive:
        plan = restore.plan_restore(paths, layout, archive, with_user=user_settings)
    if not (plan.changed or plan.removed or backups.interrupted(folder_of(paths))):
        state.show(_restored(plan), [f"Everything is as in {path.name}.", *_left_lines(plan)])
        return 0
    lines = [*_plan_lines(plan), *_kept_out(paths)]
    if not agreed(state, _restored(plan), lines, f"Restore {path.name}?", yes=yes, dry_run=dry_run):
        return 0
    again = _taken_out_again(state)
    done = restore.restore_in_place(paths, layout, path, with_user=user_settings, then=again)
    undo = f"{done.undo.name if done.undo else ''}{' --user-settings' if user_settings else ''}"
    lines = [
        f"{output.counted(len(done.changed), 'file')} restored, {len(done.removed):,} taken away.",
        f"`nanomem backup restore {undo}` takes it back.",
        *_again_lines(again),
        *_in_backup(again, done.undo),
        *([f"Note: {done.note}."] if done.note else []),
        *_left_lines(done),
    ]
    state.show(_restored(done), lines)
    return 0


def _left_lines(done: Restored) -> list[str]:
    """That the user's own settings are not those of then, and how these come back."""
    way = "they hold for every workspace; --user-settings brings back those of then"
    return [f"Left as they are: your own settings in {done.left} ({way})."] if done.left else []


def _taken_out_again(state: State) -> RemovedAgain:
    from nanomem_tui.purge.databases import Memory
    from nanomem_tui.purge.run import RemovedAgain

    with state.open(forgiving=True) as ws:
        return RemovedAgain(Memory(ws.paths, ws.layout, ws.id, ws.agent(), ws.store.server))


def _again_lines(again: RemovedAgain) -> list[str]:
    """What is forgotten, came back and is gone again."""
    places = [f"Forgotten, and taken out again: {place.where}" for place in again.places]
    more = [f"  and {output.counted(len(places) - SHOWN, 'more place')}"] if len(places) > SHOWN else []
    left = [f"Forgotten, and left: {place.where} ({place.stays or 'it came back'})" for place in again.left]
    return [*places[:SHOWN], *more, *left]


def _in_backup(again: RemovedAgain, undo: Path | None) -> list[str]:
    """That the backup of what was there holds what is forgotten: an agent may have written it again."""
    times = again.times_in(undo) if undo is not None else 0
    if undo is None or not times:
        return []
    way = "`nanomem forget --again --backups` removes the backups that hold it"
    return [f"Forgotten, and left: {undo.name}: {output.counted(times, 'time')} (a backup: {way})"]


def _not_kept_out(state: State, place: Path) -> list[str]:
    """That a copy of then holds what was forgotten since: it is another memory, which nothing was taken out of."""
    from nanomem_tui.store import forgotten

    try:
        kept = set(forgotten.load(_found(state)[0]).every)
    except errors.NanomemError:  # there may be no memory here any more
        return []
    for file in place.rglob(forgotten.FILE):
        kept -= set(forgotten.read(file).every)
    if not kept:
        return []
    return [f"Note: it holds what was forgotten since: {output.counted(len(kept), 'thing')}; forget it there, too."]


def _kept_out(paths: Paths) -> list[str]:
    """That what is forgotten does not come back with a backup of before."""
    from nanomem_tui.store import forgotten

    kept = output.counted(len(forgotten.load(paths).every), "thing")
    return [f"Stays forgotten: {kept}; what comes back of it is taken out again"] if forgotten.load(paths) else []


def _plan_lines(plan: Restored) -> list[str]:
    return [
        *_named_lines("Would write", plan.changed),
        *_named_lines("Would take away", plan.removed),
        *_named_lines("Came since and stays", plan.stays),
        *([f"Note: {plan.note}."] if plan.note else []),
        *_left_lines(plan),
    ]


def _named_lines(title: str, names: Sequence[str]) -> Iterable[str]:
    shown = [f"{title}: {name}" for name in names[:SHOWN]]
    return [*shown, f"  and {output.counted(len(names) - SHOWN, 'more file')}"] if len(names) > SHOWN else shown


def _found(state: State) -> tuple[Paths, Layout]:
    from nanomem_tui.agents.releases import detect

    found = state.locate()
    return found, detect(found)


def _folder(paths: Paths, folder: str | None) -> Path:
    from nanomem_tui.store.moving.backup import folder_of

    return Path(folder).expanduser().absolute() if folder else folder_of(paths)


def _named(state: State, name: str, folder: str | None) -> Path:
    from nanomem_tui.store.moving import backup as backups

    place = Path(folder).expanduser() if folder else _folder(_found(state)[0], None)
    found = backups.find_archive(place, name)
    if name == "latest":
        torn = backups.unreadable_newer(place, found)
        output.notes([f"Note: {one.path.name} is newer, and cannot be read: {one.problem}" for one in torn])
    return found


def _made(made: Made) -> dict[str, Any]:
    return {"id": made.path.name, **json_objects.plain(made)}


def _restored(done: Restored) -> dict[str, Any]:
    told: dict[str, Any] = json_objects.plain(done)
    return told


# `nanomem migrate-store`: the memory of a workspace from a file of our own to a PostgreSQL database, or back.


@click.command("migrate-store", cls=Command)
@click.argument("source", type=Words(), metavar="FROM")
@click.argument("target", type=Words(), metavar="TO")
@click.option("--keep-settings", is_flag=True, help="Leave database_url as it is: you name the new store yourself.")
@click.option("--replace", is_flag=True, help="Also over a memory in TO that no move left behind: it is gone then.")
@decided
@pass_state
def migrate_store(
    state: State, source: str, target: str, keep_settings: bool, replace: bool, yes: bool, dry_run: bool
) -> None:
    """Move the memory of this workspace to another store. FROM and TO are `sqlite` (the file nanomem.db of the
    workspace) or an address of a PostgreSQL database.

    Items, lessons, facts, records and every operation move, so that history, undo and points in time are as
    before; both sides are compared before the new one is used. Let consoles and agents end first: nothing is moved
    while another process has either open. The old store stays as it was. Cut off anywhere, the same command goes on.

    \b
    Example:
      nanomem migrate-store sqlite postgresql+psycopg://me@db.example/memory --dry-run
      nanomem migrate-store postgresql+psycopg://me@db.example/memory sqlite
    """
    from nanomem_tui.core import paths
    from nanomem_tui.store.first_edition import takeover
    from nanomem_tui.store.moving import migrate_store as moving_migrate_store
    from nanomem_tui.store.moving.migrate_store import Move

    found = state.locate()
    key = paths.workspace_id(found)
    move = Move(found, key, source, target, replace=replace)
    stores = [takeover.open_work(found, key, _url(place)) for place in (source, target)]
    try:
        plan = move.plan()
        of_work = moving_migrate_store.counts_of_work(stores[0])
        if plan.state == "done" and of_work and not stores[0].moved_to():  # cut off between the two
            plan = plan._replace(state="resumed", rows=of_work)
        elif plan.state != "done":
            plan = plan._replace(rows={**plan.rows, **of_work})
        stores[0].database.close()  # the move waits until nobody else is connected
        if plan.state == "done" and _names(found, target, keep=keep_settings):
            state.show(_body(plan, None, None), [f"The memory is in {target} already: nothing to do."])
            return
        if not keep_settings and (others := move.stays()):
            what = f"the settings are those of {', '.join(others)} as well, whose memory would stay behind"
            raise Refused(what, str(found.settings), "move those first, each with --workspace and --keep-settings")
        question = f"Move this memory from {source} to {target}?"
        if not agreed(state, _body(plan, None, None), _migrate_plan_lines(plan), question, yes=yes, dry_run=dry_run):
            return
        with output.Progress() as progress:
            done = move.run(progress)
            moved = moving_migrate_store.move_work(*stores, replace=replace)
    finally:
        move.close()
        for store in stores:
            store.close()
    file = None if keep_settings else _set(found, target)
    state.show(_body(plan, done, file, moved), lambda: _done_lines(plan, done, file, found, moved))


def _names(found: Paths, target: str, *, keep: bool) -> bool:
    """Whether the settings of the workspace name the store already, or are not to."""
    from nanomem_tui.core import config

    return keep or config.load(found, forgiving=True).settings.database_url == _url(target)


def _set(found: Paths, target: str) -> str:
    """Let the settings of the workspace name the store; the file that says it."""
    from nanomem_tui.store.files import user

    user.save_setting(found.settings, "database_url", _url(target), workspace=found.workspace)
    return str(found.settings)


def _url(target: str) -> str:
    return "" if target == "sqlite" else target


def _body(plan: Plan, done: Done | None, file: str | None, work: Mapping[str, int] = {}) -> dict[str, Any]:
    body: dict[str, Any] = {
        "operation": None, "from": plan.source, "to": plan.target, "state": plan.state, "rows": dict(plan.rows),
        "replaced": plan.replaced,
    }  # fmt: skip
    if done is not None:
        tables = {name: {"rows": rows} for name, rows in {**done.tables, **work}.items()}
        body |= {"move": done.move, "tables": tables, "settings": file}
    return body


def _migrate_plan_lines(plan: Plan) -> list[str]:
    told = [f"{rows:,} in {table}" for table, rows in plan.rows.items() if rows]
    first = {
        "done": f"The memory is in {plan.target} already; the settings do not name it yet.",
        "resumed": f"A move to {plan.target} was cut off; this goes on with it: {', '.join(told)}.",
    }.get(plan.state, f"Would move to {plan.target}: {', '.join(told)}.")
    gone = (
        "What it left there is copied anew" if plan.state == "resumed" else "What is there of an earlier time would go"
    )
    return [first, *([f"{gone}: {output.counted(plan.replaced, 'row')}."] if plan.replaced else [])]


def _done_lines(plan: Plan, done: Done, file: str | None, found: Paths, work: Mapping[str, int]) -> list[str]:
    moved = sum(done.tables.values()) + sum(work.values())
    tables = output.counted(len(done.tables) + len(work), "table")
    same = f"{output.counted(moved, 'row')} of {tables} moved, the same on both sides."
    named = f"database_url is set in {file}." if file else f"Name it: {_setting(plan.target)}"
    return [same if done.tables else "The move is at its end.", named, _left(plan.source, found)]


def _setting(target: str) -> str:
    return f"nanomem config set --here database_url {shlex.quote(_url(target))}"


def _left(source: str, found: Paths) -> str:
    """What is still there of the old store, and how it goes."""
    if source == "sqlite":
        return f"The old store is left as it was, and is not used: {found.database} (docs/postgresql.md: Moving)."
    return "The old store is left as it was, and is not used; docs/postgresql.md (Moving) says how its rows go."


# -- `nanomem members`: who may see a memory that lies on a PostgreSQL server -----------------------------------------


@click.group("members", cls=Group)
def members() -> None:
    """Who may see a memory that lies on a PostgreSQL server: roles of the server, each of which may read and change all
    of it.

    \b
    Example:
      nanomem members add colleague
      nanomem members list
    """


@members.command("list")
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def list_members(state: State, limit: int, offset: int) -> None:
    """The roles that see this memory; superusers of the server see it too.

    \b
    Example:
      nanomem members list
    """
    from nanomem_tui.store.database import postgres

    with _database(state) as database:
        found = postgres.members(database)[offset : offset + limit]
        state.show({"members": found, "where": database.where}, found)


@members.command("add")
@click.argument("role", type=Words())
@pass_state
def add_member(state: State, role: str) -> None:
    """Let a role of the server see and change this memory. The first one makes a group of it, for which the owner needs
    CREATEROLE.

    \b
    Example:
      nanomem members add colleague
    """
    from nanomem_tui.store.database import postgres

    with _database(state) as database:
        postgres.grant(database, role)
        state.show({"operation": None, "member": role}, [f"{role} sees this memory now, and may change it."])


@members.command("remove")
@click.argument("role", type=Words())
@pass_state
def remove_member(state: State, role: str) -> None:
    """Let a role see this memory no more. What it read it knows, and what it changed stays.

    \b
    Example:
      nanomem members remove colleague
    """
    from nanomem_tui.store.database import postgres

    with _database(state) as database:
        postgres.revoke(database, role)
        state.show({"operation": None, "member": role}, [f"{role} sees this memory no more."])


@contextlib.contextmanager
def _database(state: State) -> Iterator[PostgresDatabase]:
    """The schema of the workspace. Raises Refused where the memory lies in a file."""
    with state.open() as ws:
        if ws.store.server is None:
            fix = "`nanomem migrate-store` brings it to a server (docs/postgresql.md)"
            raise Refused("only a memory in a schema of a server has members", ws.store.where, fix)
        yield ws.store.server
