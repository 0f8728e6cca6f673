"""The files of a backup in their places: written, taken away, and never through a link.

Must not know which files come back.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from nanomem_tui.errors import NanomemError, Refused, from_os_error
from nanomem_tui.store import atomic, owners
from nanomem_tui.store.backup_archive import Archive, Entry
from nanomem_tui.store.backup_files import SIDE_FILES


def remove(paths: list[Path]) -> None:
    """Take files away for good: operations that came back with a power cut would be done again."""
    for path in paths:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in paths if path.parent.is_dir()}:
        atomic.sync_folder(folder)


def write(archive: Archive, entry: Entry, target: Path, base: Path) -> None:
    """Put one file in its place, whole or not at all; never through a link."""
    refuse_links(target, base)
    atomic.make_folder(target.parent)
    temporary = target.with_name(f".{target.name[:50]}.{os.urandom(6).hex()}.nanomem-tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            for data in archive.data(entry):
                file.write(data)
            file.flush()
            owners.settle(file.fileno(), target)
            os.fchmod(file.fileno(), entry.mode & 0o775)  # no file of a memory is everybody's to write
            os.fsync(file.fileno())
        os.utime(temporary, ns=(entry.mtime_ns, entry.mtime_ns))
        if entry.database:  # what lies beside it belongs to the one that goes
            for side in SIDE_FILES:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{target}{side}")
        os.replace(temporary, target)
        atomic.sync_folder(target.parent)
    except OSError as error:
        error.filename = str(target)
        raise from_os_error(error, f"writing {target.name}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def refuse_links(target: Path, base: Path) -> None:
    """Raise Refused where the way to a file leads through a link."""
    for folder in (target, *target.parents):
        if folder == base:
            return
        if folder.is_symlink():
            raise Refused("a link is in the way, which is not followed", str(folder), "remove it and try again")


def keep_apart(workspace: Path) -> None:
    """Let a memory that was brought to a new place lie in its own file there, and not where another one's rows are."""
    from nanomem_tui import config, paths
    from nanomem_tui.store import settings_file

    try:
        found = paths.locate(workspace)
    except NanomemError:  # nothing of a memory was in it
        return
    if config.load(found, forgiving=True).settings.database_url:
        settings_file.save(found.settings, "database_url", "")
