"""Bring a backup back: to a place of its own, or in place.

In place, a backup is made of what is there, so that it can be taken back as well. What came since stays, but for what
would speak against the state of then: our own folder and the references of the repository. Every file is written beside
its place before the first one is moved there. A mark lies beside the backups meanwhile: the doctor tells where one was
left, and the same restore is done again to its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import update

from nanomem_tui.agents.releases import Layout
from nanomem_tui.core import atomic, clock, config
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, NanomemError, Refused, from_os_error
from nanomem_tui.core.paths import Paths, derived_id, find_workspace, user_settings, workspace_id
from nanomem_tui.store import forgotten, processes
from nanomem_tui.store.database.models import META
from nanomem_tui.store.files import user
from nanomem_tui.store.first_edition import contents
from nanomem_tui.store.moving import backup
from nanomem_tui.store.moving.backup import MARK, SETTINGS, SIDE_FILES, Archive, Entry, Mark, base_of, folder_of
from nanomem_tui.store.storage import SERVERS_FILE as OLD_STORES


class Restored(NamedTuple):
    """What a restore did, or would do: files written and taken away, by their path, and those that came since and stay.
    `undo` is the backup of what was there before, `note` what else there is to say; `workspace`: where a memory lies
    that was brought to a new place; `left`: the user's own settings, where they are not those of then and stay."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    stays: tuple[str, ...]
    undo: Path | None = None
    note: str = ""
    workspace: str = ""
    left: str = ""


def restore_to(path: Path, place: Path) -> Restored:
    """Bring a backup back into a new folder, which becomes the agent's home (or the workspace, where it had no home).

    The agent's configuration and the folder of its sessions name the new place. Raises BadInput for a damaged backup,
    Refused where something is there, and what it cannot be written for; the place is as it was then.
    """
    place = place.expanduser().absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Refused("something is there already", str(place), "name a folder that is empty or does not exist")
    with Archive(path) as archive, contextlib.ExitStack() as stack:
        _refuse_damaged(archive)
        atomic.make_folder(place)
        stack.callback(_empty, place)
        manifest = archive.manifest
        for entry in manifest.entries:
            target = place / ("settings/config.toml" if entry.path == SETTINGS else entry.path)
            _put(_staged(archive, entry, target, place, stack), target, entry)
        old, new = (str(Path(start) / manifest.workspace) for start in (manifest.place, place))
        _move_config(place / "config.json", old, new)
        for marker in place.glob("sessions/*/.workspace"):
            atomic.write_atomic(marker, f"{new}\n".encode())
        for entry in manifest.entries:
            if entry.database:
                _keep_beside(place / entry.path)
        _keep_apart(Path(new))
        stack.pop_all()
        return Restored(tuple(entry.path for entry in manifest.entries), (), (), workspace=new)


def plan_restore(paths: Paths, layout: Layout, archive: Archive, *, with_user: bool = False) -> Restored:
    """What `in_place` would do. Raises BadInput for a damaged backup, Refused for one of another place."""
    _refuse_damaged(archive)
    manifest, base = archive.manifest, base_of(paths)
    # One of before an id was taken over (`strayed`) has that of the place.
    if manifest.workspace_id not in (workspace_id(paths), derived_id(paths)) and paths.data.exists():
        what = f"a backup of another memory, of {manifest.place}"
        raise Refused(what, str(archive.path), "bring it back to a place of its own: --to FOLDER")
    if base / manifest.workspace != paths.workspace:
        raise Refused("a backup with another name of the workspace", manifest.workspace, "use --to FOLDER")
    then = {entry.path: entry for entry in manifest.entries}
    there = os.path.lexists(user_settings())
    url, note = backup.server_of(paths, archive, then, with_user=with_user and there)

    def is_changed(name: str) -> bool:
        if url and backup.is_on_server(paths, base / name):
            return backup.differs(paths, url, base / name, archive, then[name])
        return _is_changed(_target(base, name), archive, then[name])

    own = f"{paths.data.relative_to(base).as_posix()}/"
    stays = {f"{own}{forgotten.FILE}"}  # of now and of then
    if (paths.data / OLD_STORES).exists():  # a backup knows of fewer servers
        stays.add(f"{own}{OLD_STORES}")
    settings_stay = there and not with_user
    changed = [
        name for name in then if name not in stays and not (name == SETTINGS and settings_stay) and is_changed(name)
    ]
    for name in changed:
        if name != SETTINGS:
            _refuse_links(base / name, base)
    now = backup.files_to_back_up(paths, layout, lambda _path, _why: None, served=bool(url))
    since = {name for name, file in now if name not in then and not (url and backup.is_on_server(paths, file))}
    kept = (f"{own}quarantine/", f"{own}backups/", f"{own}receipts/", *stays)
    removed = {
        name
        for name in since
        if _is_reference(name)
        or base / name == paths.dream_cursor  # what that Dream wrote is gone: it is to be read again
        or (name.startswith(own) and (not name.startswith(kept) or name.endswith(".db")))
    }
    left = str(user_settings()) if settings_stay and SETTINGS in then and is_changed(SETTINGS) else ""
    return Restored(tuple(changed), tuple(sorted(removed)), tuple(sorted(since - removed)), note=note, left=left)


def _refuse_damaged(archive: Archive) -> None:
    """Raise BadInput where the bytes of then are not there any more. A database that was damaged then is as it was."""
    for problem in archive.damage():
        raise BadInput(f"the backup is damaged: {problem.what}", problem.where, "nothing was changed; take another one")


def restore_in_place(
    paths: Paths, layout: Layout, path: Path, *,
    with_user: bool = False, then: Callable[[], None] = lambda: None,
) -> Restored:  # fmt: skip
    """Bring a backup back in place, after one of what is there. Killed at any step, it is done again to the end.

    What is forgotten stays that: `forgotten.json` and the receipts are those of now and of then. `then`: takes out
    again what came back of it, before the restore is at its end. `with_user`: also the user's own settings, which hold
    for every workspace and stay else, unless they are gone. Raises Refused beside another process of nanomem, BadInput
    for a damaged backup. Whether an agent runs, the caller has looked at.
    """
    with processes.exclusive_use(paths):
        with Archive(path) as archive:
            planned = plan_restore(paths, layout, archive, with_user=with_user)
            safe = backup.make_backup(paths, layout, reason=f"before {path.name} was restored").path
            _bring_back(paths, archive, planned, safe)
        then()
        _keep_beside(paths.database)
        os.unlink(folder_of(paths) / MARK)
        atomic.sync_folder(folder_of(paths))
        return planned._replace(undo=safe)


def _bring_back(paths: Paths, archive: Archive, planned: Restored, safe: Path) -> None:
    """Write every file beside its place, then set the mark, and move them there. Nothing has begun where one of them
    cannot be written."""
    base, url = base_of(paths), backup.url_now(paths)  # as it was then, by the plan
    entries = {entry.path: entry for entry in archive.manifest.entries}
    targets = {name: _target(base, name) for name in planned.changed}
    on_server = [name for name in targets if url and backup.is_on_server(paths, base / name)]
    for target in targets.values():
        if target.is_relative_to(paths.ledger) and target.parent.is_file():  # left by who took the first edition over
            target.parent.unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
        staged = {
            name: _staged(archive, entries[name], target, target.parent if name == SETTINGS else base, stack)
            for name, target in targets.items()
            if name not in on_server
        }
        mark = Mark(str(archive.path), safe.name, clock.iso(clock.now()))
        atomic.write_atomic(folder_of(paths) / MARK, json.dumps(mark._asdict()).encode())
        if (kept := entries.get((paths.data / forgotten.FILE).relative_to(base).as_posix())) is not None:
            forgotten.add_file(paths, b"".join(archive.data(kept)))
        for name in on_server:
            backup.bring_back(paths, url, base / name, archive, entries[name])
        with atomic.try_writers_lock(paths.database.with_name("store.lock"), backup.WAIT) as got:
            if not got:
                raise Refused("another process writes the database", str(paths.database), "try again when it is done")
            if paths.database in targets.values():
                _set_aside(paths)
            _remove([base / name for name in planned.removed if not (base / name).is_dir()])
            for name, temporary in staged.items():
                _put(temporary, targets[name], entries[name])


def _set_aside(paths: Paths) -> None:
    """Put the log and the copies of the database that is replaced into the quarantine: nobody may bring it back by
    them."""
    for name in backup.OF_DATABASE:
        if os.path.lexists(found := paths.store / name):
            target = paths.quarantine / backup.ASIDE / name
            atomic.make_folder(target.parent)
            if target.is_dir():
                shutil.rmtree(target)
            os.rename(found, target)
            atomic.sync_folder(target.parent)
            atomic.sync_folder(paths.store)


def _keep_beside(database: Path) -> None:
    """Put a copy and the log beside a memory that came back: by them it is known that it was there when it is gone, and
    made anew when it is damaged. One of the first edition gets them when it is taken over."""
    from nanomem_tui.store.database.engine import SqliteDatabase
    from nanomem_tui.store.recovery import DatabaseRecovery

    if database.name != "nanomem.db" or not contents.is_newer(database):
        return
    with contextlib.closing(SqliteDatabase(database)) as made:
        recovery = DatabaseRecovery(made, database.parent / "copies", database.parent / "quarantine")
        recovery.sync()
        recovery.copy_if_due()


def _remove(files: list[Path]) -> None:
    """Take files away for good: operations that came back with a power cut would be done again."""
    for path in files:
        for one in (path, *(Path(f"{path}{side}") for side in SIDE_FILES)):
            one.unlink(missing_ok=True)
    for folder in {path.parent for path in files if path.parent.is_dir()}:
        atomic.sync_folder(folder)


def _staged(archive: Archive, entry: Entry, target: Path, base: Path, stack: contextlib.ExitStack) -> Path:
    """Write a file beside its place, durable; it is gone at the end of `stack` unless it was moved. Never through a
    link. A database of ours has a new epoch."""
    _refuse_links(target, base)
    atomic.make_folder(target.parent)
    temporary = target.with_name(f".{target.name[:50]}.{os.urandom(6).hex()}.nanomem-tmp")
    stack.callback(temporary.unlink, missing_ok=True)
    with _writing(target):
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(handle, "wb") as file:
            file.writelines(archive.data(entry))
            file.flush()
            atomic.give_to_owner(handle, target)
            os.fchmod(handle, entry.mode & 0o775)  # no file of a memory is everybody's to write
            if entry.database and target.name == "nanomem.db":
                _give_epoch(temporary)
            os.fsync(handle)
        os.utime(temporary, ns=(entry.mtime_ns, entry.mtime_ns))
    return temporary


def _give_epoch(database: Path) -> None:
    """Tell those who know the database of before that this is another one, where it has an epoch."""
    with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute(str(update(META).values(epoch="")), {"epoch": os.urandom(8).hex()})
        connection.commit()
        connection.execute("PRAGMA journal_mode=DELETE")


def _put(temporary: Path, target: Path, entry: Entry) -> None:
    with _writing(target):
        if entry.database:  # what lies beside it belongs to the one that goes
            for side in SIDE_FILES:
                Path(f"{target}{side}").unlink(missing_ok=True)
        os.replace(temporary, target)
        atomic.sync_folder(target.parent)


@contextlib.contextmanager
def _writing(target: Path) -> Iterator[None]:
    """Tell a fault of the disk as one of this file."""
    try:
        yield
    except OSError as error:
        error.filename = str(target)
        raise from_os_error(error, f"writing {target.name}") from error


def _refuse_links(target: Path, base: Path) -> None:
    for folder in (target, *target.parents):
        if folder == base:
            return
        if folder.is_symlink():
            raise Refused("a link is in the way, which is not followed", str(folder), "remove it and try again")


def _empty(place: Path) -> None:
    for path in place.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _keep_apart(workspace: Path) -> None:
    """Let a memory that was brought to a new place lie in its own file there, and not where another one's rows are."""
    try:
        found = find_workspace(workspace)
    except NanomemError:  # nothing of a memory was in it
        return
    if config.load(found, forgiving=True).settings.database_url:
        user.save_setting(found.settings, "database_url", "")


def _target(base: Path, name: str) -> Path:
    return user_settings() if name == SETTINGS else base / name


def _is_changed(path: Path, archive: Archive, entry: Entry) -> bool:
    """Whether a file is not what it was; a database: whether its rows are not."""
    if entry.database:
        with contextlib.suppress(NanomemError, sqlite3.Error), archive.taken_out(entry) as then:
            return backup.contents(path) != backup.contents(then)
    try:
        return atomic.digest(path) != entry.sha256
    except OSError:
        return True


def _is_reference(name: str) -> bool:
    inside = f"/{name}".partition("/.git/")[2]
    return inside.startswith("refs/") or inside in ("packed-refs", "index")


def _move_config(path: Path, old: str, new: str) -> None:
    """Let the agent's configuration name the new workspace where it named the old one."""
    try:
        config = core_files.loads(core_files.read(path))
        defaults = config["agents"]["defaults"]
        if os.path.realpath(os.path.expanduser(defaults["workspace"])) != os.path.realpath(old):
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    defaults["workspace"] = new
    atomic.write_atomic(path, json.dumps(config, ensure_ascii=False, indent=2).encode())
