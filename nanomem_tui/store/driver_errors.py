"""What an error of SQLite means to a person."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from nanomem_tui.errors import AccessDenied, CorruptDatabase, DiskFull, StoreError


def in_our_words(error: sqlite3.Error, path: Path) -> StoreError | AccessDenied | DiskFull:
    """The error of our tree for one of the driver's, met with the database at `path`."""
    text = str(error).lower()
    if "unable to open" in text or "readonly" in text or "permission" in text:
        if _disk(path.parent) == "read-only":
            return AccessDenied("the disk of the database is read-only", str(path), "mount it for writing")
        return AccessDenied("the database cannot be opened", str(path), "check its owner, mode and free space")
    if "locked" in text or "busy" in text:
        return StoreError("the database is locked by another process", str(path), "try again in a moment")
    if "full" in text or ("i/o" in text and _disk(path.parent) == "full"):
        return DiskFull("no space left for the database", str(path), "free some space; nothing was lost")
    if "i/o" in text:
        return StoreError(f"the disk failed under the database ({error})", str(path), "run `nanomem doctor`")
    fix = "run `nanomem doctor`; the file is kept as it is"
    return CorruptDatabase(f"the database cannot be read ({error})", str(path), fix)


def _disk(folder: Path) -> str:
    """What ails the disk of a folder: `read-only`, `full` or nothing."""
    found = os.statvfs(folder) if folder.is_dir() else None
    if found is None or found.f_flag & os.ST_RDONLY:
        return "read-only" if found is not None else ""
    return "full" if found.f_bavail * found.f_frsize < 256 * 1024 else ""
