"""Backups of a whole memory: made while everything runs, listed, checked, and brought back.

A backup in place is preceded by one of what is there, so that a restore can be taken back as well. What came since
stays, but for what would speak against the state of then: our own folder and the references of the repository.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import clock, json_text, regular
from nanomem_tui.errors import BadInput, NanomemError, NotFound, Problem, Refused, from_os_error
from nanomem_tui.formats.agent_home import Layout
from nanomem_tui.paths import Paths, derived_id, sharing, user_settings, workspace_id
from nanomem_tui.store import atomic, backup_files, backup_marker, backup_place, backup_server, forgotten, openers
from nanomem_tui.store.backup_archive import SUFFIX, Archive, Entry, Manifest, Writer
from nanomem_tui.store.backup_files import SETTINGS, SIDE_FILES, base_of, folder_of
from nanomem_tui.store.ledger import SUFFIX as LEDGER
from nanomem_tui.store.old_stores import FILE as OLD_STORES

Progress = Callable[[int, int], None]


class Made(NamedTuple):
    """One backup in a list. `size` in bytes of what it holds, `stored` of its own file; `base`: what it builds on,
    `reason`: why nanomem made it by itself; `note`: what its maker should know."""

    path: Path
    made_at: str
    files: int
    size: int
    stored: int
    base: str
    reason: str
    left_out: tuple[tuple[str, str], ...]
    problem: str = ""
    note: str = ""


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


def make(
    paths: Paths, layout: Layout, folder: Path | None = None, *,
    whole: bool = False, everything: bool = False, reason: str = "", progress: Progress = lambda _done, _all: None,
) -> Made:  # fmt: skip
    """Write a backup and return it; every piece was read back. It builds on the newest one there, unless `whole`
    or that one is damaged.

    Raises the errors of `from_os_error`; then nothing of it is left.
    """
    target = folder or folder_of(paths)
    base, known = _newest(target) if not whole else ("", frozenset[str]())
    path = _free(target)
    left_out: list[tuple[str, str]] = []
    url = backup_server.url_now(paths)
    all_of_it = backup_files.found(
        paths, layout, lambda *one: left_out.append(one), everything=everything, served=bool(url)
    )
    found = [one for one in all_of_it if not one[1].is_relative_to(target)]
    if ours := not url and any(file == paths.database for _, file in found):
        found = [one for one in found if not backup_files.is_kept_beside(one[1], paths)]
    writer = Writer(path, known)
    try:
        entries: list[Entry] = []
        for number, (name, file) in enumerate(found):
            progress(number, len(found))
            try:
                if url and (part := backup_server.part_of(paths, file)) is not None:
                    entries += backup_server.entries(paths, url, part, name, writer.piece)
                    continue
                if ours and file == paths.database:
                    entries += backup_files.of_one_moment(paths, writer.piece)
                    continue
                entry = backup_files.taken(file, name, writer.piece)
            except NanomemError as error:
                if writer.failure is not None:
                    raise from_os_error(writer.failure, "making a backup") from error
                if url and backup_server.part_of(paths, file):  # without the rows it would be no backup
                    raise
                left_out.append((name, error.what))
                continue
            entries += [entry] if entry is not None else []
        inside = paths.workspace.relative_to(base_of(paths)).as_posix()
        manifest = Manifest(
            clock.iso(clock.now()), "" if inside == "." else inside, workspace_id(paths), str(base_of(paths)),
            tuple(entries), base, reason, tuple(left_out),
        )  # fmt: skip
        writer.close(manifest)
    except OSError as error:
        raise from_os_error(error, "making a backup") from error
    finally:
        writer.abandon()
    for problem in _damaged(path):
        with contextlib.suppress(OSError):
            os.unlink(path)
        if base:
            alone = make(paths, layout, folder, whole=True, everything=everything, reason=reason, progress=progress)
            return alone._replace(note=f"{base} is damaged ({problem.what}): this one builds on no other")
        raise BadInput(
            f"the backup did not come out right: {problem.what}", str(path), "try again: nothing of it is left"
        )
    return _made(path)


def listed(folder: Path) -> list[Made]:
    """Every backup in a folder, the newest first; one that cannot be read says why."""
    try:
        files = sorted(folder.glob(f"*{SUFFIX}"), reverse=True)
    except OSError as error:
        raise from_os_error(error, "listing backups") from error
    return [_made(path) for path in files]


def named(folder: Path, name: str) -> Path:
    """The backup that a person names: a path, a name in the folder, or `latest`, the newest that a person made.

    Raises NotFound.
    """
    if name == "latest":
        found = listed(folder)
        newest = next((one for one in found if not (one.problem or one.reason)), None)
        if newest is None:
            by_itself = next((one.path.name for one in found if one.reason), "")
            damaged = "; none that is there can be read" if found else ""
            yours = f"no backup that you made; nanomem itself made {by_itself}"
            what = yours if by_itself else f"no backup yet{damaged}"
            raise NotFound(what, str(folder), "`nanomem backup make` makes one")
        return newest.path
    inside = [folder / name, folder / f"{name}{SUFFIX}"] if os.path.basename(name) == name else []
    for path in (*inside, Path(name).expanduser()):
        if path.is_file():
            return path
    raise NotFound("no such backup", name, "`nanomem backup list` shows those that are there")


def passed_over(folder: Path, path: Path) -> list[Made]:
    """The newer backups beside that one that cannot be read, the newest first."""
    return [one for one in listed(folder) if one.problem and one.path.name > path.name]


def check(path: Path) -> tuple[Manifest, list[Problem]]:
    """What a backup holds, and what is wrong with it: every piece is read, every file put together, every database
    opened. Raises BadInput or NotFound when it cannot be opened at all."""
    with Archive(path) as archive:
        return archive.manifest, list(_problems(archive, archive.manifest.entries))


def restore_to(path: Path, place: Path) -> Restored:
    """Bring a backup back into a new folder, which becomes the agent's home (or the workspace, where it had no home).

    The agent's configuration and the folder of its sessions name the new place. Raises BadInput for a damaged backup,
    Refused where something is there.
    """
    place = place.expanduser().absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Refused("something is there already", str(place), "name a folder that is empty or does not exist")
    with Archive(path) as archive:
        _refuse_damaged(archive)
        atomic.make_folder(place)
        manifest = archive.manifest
        for entry in manifest.entries:
            name = "settings/config.toml" if entry.path == SETTINGS else entry.path
            backup_place.write(archive, entry, place / name, place)
        old, new = (str(Path(start) / manifest.workspace) for start in (manifest.place, place))
        _move_config(place / "config.json", old, new)
        for marker in place.glob("sessions/*/.workspace"):
            atomic.write_atomic(marker, f"{new}\n".encode())
        backup_place.keep_apart(Path(new))
        return Restored(tuple(entry.path for entry in manifest.entries), (), (), workspace=new)


def restore_plan(paths: Paths, layout: Layout, path: Path, *, with_user: bool = False) -> Restored:
    """What `restore` would do. Raises BadInput for a damaged backup, Refused for one of another place."""
    with Archive(path) as archive:
        _refuse_damaged(archive)
        return _plan(paths, layout, archive, with_user=with_user)


def restore(
    paths: Paths, layout: Layout, path: Path, *,
    others: bool = False, with_user: bool = False, then: Callable[[], None] = lambda: None,
) -> Restored:  # fmt: skip
    """Bring a backup back in place, after one of what is there. Killed at any step, it is done again to the end.

    What is forgotten stays that: `forgotten.json` and the receipts are those of now and of then. `then`: takes out
    again what came back of it, before the restore is at its end.
    `others`: also where the database holds other workspaces, which go back too; `with_user`: also the user's own
    settings, which hold for every workspace and stay else, unless they are gone. Raises Refused beside another process
    of nanomem, BadInput for a damaged backup. Whether an agent runs, the caller has looked at.
    """
    with openers.alone(paths):
        return _restore_alone(paths, layout, path, others=others, with_user=with_user, then=then)


def _restore_alone(
    paths: Paths, layout: Layout, path: Path, *, others: bool, with_user: bool, then: Callable[[], None]
) -> Restored:
    refuse_beside(paths)
    shared = sharing(paths)
    if shared and not others:
        what = f"the database holds the memory of {', '.join(shared)} as well, which would go back too"
        raise Refused(what, str(paths.database), "add --with-others when that is what you want")
    with Archive(path) as archive:
        _refuse_damaged(archive)
        plan = _plan(paths, layout, archive, with_user=with_user)
        before = make(paths, layout, reason=f"before {path.name} was restored")
        safe = before.path
        backup_marker.begin(folder_of(paths), path, safe.name)
        base, entries = base_of(paths), {entry.path: entry for entry in archive.manifest.entries}
        if (kept := entries.get(_forgotten(paths))) is not None:
            forgotten.join(paths, b"".join(archive.data(kept)))
        backup_place.remove([base / name for name in plan.removed])
        url = backup_server.url_now(paths)  # as it was then, by the plan
        for name in plan.changed:
            target = user_settings() if name == SETTINGS else base / name
            if url and (part := backup_server.part_of(paths, target)) is not None:
                backup_server.bring_back(paths, url, part, archive, entries[name])
                continue
            backup_place.write(archive, entries[name], target, target.parent if name == SETTINGS else base)
        then()
        backup_marker.end(folder_of(paths))
        return plan._replace(undo=safe, note="; ".join(filter(None, (plan.note, before.note))))


def settle(paths: Paths, then: Callable[[], None] = lambda: None) -> bool:
    """Bring an interrupted restore to its end where every file is as in a backup: whether there was one.

    `then` as for `restore`, and Refused as there."""
    if backup_marker.read(folder_of(paths)) is None:
        return False
    with openers.alone(paths):
        refuse_beside(paths)
        then()
        backup_marker.end(folder_of(paths))
    return True


def _newest(folder: Path) -> tuple[str, frozenset[str]]:
    for one in listed(folder):
        with contextlib.suppress(NanomemError), Archive(one.path) as archive:
            return one.path.name, archive.names
    return "", frozenset()


def _free(folder: Path) -> Path:
    while True:
        path = folder / f"{f'{clock.now():%Y%m%d-%H%M%S-%f}'[:-3]}{SUFFIX}"
        if not os.path.lexists(path):
            return path
        time.sleep(0.001)


def _made(path: Path) -> Made:
    try:
        with Archive(path) as archive:
            found = archive.manifest
        stored = path.stat().st_size
        count = len(found.entries)
        return Made(path, found.made_at, count, found.size, stored, found.base, found.reason, found.left_out)
    except (NanomemError, OSError) as error:
        return Made(path, "", 0, 0, 0, "", "", (), getattr(error, "what", "") or str(error))


def _damaged(path: Path) -> Iterator[Problem]:
    """What is wrong with an archive that was just written, and with its pieces."""
    try:
        with Archive(path) as archive:
            for name in sorted({name for entry in archive.manifest.entries for name in entry.pieces}):
                archive.piece(name)
    except BadInput as error:
        yield Problem(error.what, error.where)


def _problems(archive: Archive, entries: tuple[Entry, ...]) -> Iterator[Problem]:
    from hashlib import sha256

    for entry in entries:
        digest, size = sha256(), 0
        try:
            with tempfile.NamedTemporaryFile(suffix=".db") as copy:
                for data in archive.data(entry):
                    digest.update(data)
                    size += len(data)
                    if entry.database:
                        copy.write(data)
                if (digest.hexdigest(), size) != (entry.sha256, entry.size):
                    yield Problem("a file is not what it was", entry.path, None, "take another backup")
                elif entry.database:
                    copy.flush()
                    yield from _unsound(Path(copy.name), entry)
        except NanomemError as error:
            yield Problem(error.what, entry.path, None, error.fix)


def _unsound(copy: Path, entry: Entry) -> Iterator[Problem]:
    """What SQLite says against a database."""
    try:
        with contextlib.closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            [(told,)] = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.Error as error:
        told = str(error)
    if told != "ok":
        fix = "the database was damaged already when the backup was made; an older backup may be whole"
        yield Problem(f"the database is damaged: {told}", entry.path, None, fix)


def _refuse_damaged(archive: Archive) -> None:
    """Raise BadInput where the bytes of then are not there any more. A database that was damaged then is as it was."""
    plain = tuple(entry._replace(database=False) for entry in archive.manifest.entries)
    for problem in _problems(archive, plain):
        raise BadInput(f"the backup is damaged: {problem.what}", problem.where, "nothing was changed; take another one")


def _plan(paths: Paths, layout: Layout, archive: Archive, *, with_user: bool) -> Restored:
    manifest, base = archive.manifest, base_of(paths)
    # One of before an id was taken over (`strayed`) has that of the place.
    if manifest.workspace_id not in (workspace_id(paths), derived_id(paths)) and paths.data.exists():
        what = f"a backup of another memory, of {manifest.place}"
        raise Refused(what, str(archive.path), "bring it back to a place of its own: --to FOLDER")
    if base / manifest.workspace != paths.workspace:
        raise Refused("a backup with another name of the workspace", manifest.workspace, "use --to FOLDER")
    then = {entry.path: entry for entry in manifest.entries}
    settings = user_settings()
    there = os.path.lexists(settings)
    url, note = backup_server.server_of(paths, archive, then, with_user=with_user and there)
    theirs = then.get(SETTINGS)
    left = there and not with_user and theirs is not None and _is_changed(settings, theirs)
    found = backup_files.found(paths, layout, lambda _path, _why: None, served=bool(url))
    now = [name for name, file in found if not (url and backup_server.part_of(paths, file))]
    stays = (_forgotten(paths), *_old_stores(paths))
    changed = [
        name
        for name, entry in then.items()
        if name not in stays
        and not (name == SETTINGS and there and not with_user)
        and (
            backup_server.differs(paths, url, part, archive, entry)
            if url and (part := backup_server.part_of(paths, _target(base, name))) is not None
            else _is_changed(_target(base, name), entry)
        )
    ]
    for name in changed:
        if name != SETTINGS:
            backup_place.refuse_links(base / name, base)
    own = f"{paths.data.relative_to(base).as_posix()}/"
    since = [name for name in now if name not in then]
    kept = (f"{own}quarantine/", f"{own}backups/", f"{own}receipts/", *stays)
    dreamt = paths.dream_cursor  # what that Dream wrote is gone: it is to be read again
    removed = [
        name
        for name in since
        if _is_reference(name)
        or base / name == dreamt
        or (name.startswith(own) and (not name.startswith(kept) or name.endswith(".db")))
    ]
    since_then = sorted(set(since) - set(removed) - {name for name in since if name.endswith(SIDE_FILES)})
    kept_as_is = str(settings) if left else ""
    return Restored(tuple(changed), tuple(removed), tuple(since_then), note=note, left=kept_as_is)


def _forgotten(paths: Paths) -> str:
    """What keeps forgotten things out, as a backup names it: of now and of then, never of then alone."""
    return (paths.data / forgotten.FILE).relative_to(base_of(paths)).as_posix()


def _old_stores(paths: Paths) -> tuple[str, ...]:
    """What names the servers that the memory was on, where that is known now: a backup knows of fewer."""
    file = paths.data / OLD_STORES
    return (file.relative_to(base_of(paths)).as_posix(),) if file.exists() else ()


def _target(base: Path, name: str) -> Path:
    return user_settings() if name == SETTINGS else base / name


def _is_changed(path: Path, entry: Entry) -> bool:
    beside = entry.database and any(os.path.exists(f"{path}{side}") for side in SIDE_FILES)
    return beside or _digest(path) != entry.sha256


def _is_reference(name: str) -> bool:
    inside = f"/{name}".partition("/.git/")[2]
    return inside.startswith("refs/") or inside in ("packed-refs", "index")


def _digest(path: Path) -> str:
    from hashlib import file_digest

    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _move_config(path: Path, old: str, new: str) -> None:
    """Let the agent's configuration name the new workspace where it named the old one."""
    try:
        config = json_text.loads(regular.read(path))
        defaults = config["agents"]["defaults"]
        if os.path.realpath(os.path.expanduser(defaults["workspace"])) != os.path.realpath(old):
            return
    except (OSError, ValueError, KeyError, TypeError):
        return
    defaults["workspace"] = new
    atomic.write_atomic(path, json.dumps(config, ensure_ascii=False, indent=2).encode())


def refuse_beside(paths: Paths) -> None:
    """Raise Refused where another process has the memory open: what it knows would be written over the old state."""
    for path in sorted(paths.ledger.rglob(f"*{LEDGER}")) if paths.ledger.is_dir() else ():
        if path.parent.name == "kept":
            continue
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                if not atomic.try_lock(handle):
                    what = f"another nanomem has this memory open (process {path.name.split('-')[1]})"
                    raise Refused(what, str(path), "close it first")
            finally:
                os.close(handle)
