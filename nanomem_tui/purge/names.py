"""Names that hold what is to be forgotten: of files and folders, sessions, branches, tags, and paths in a git history.

A name is that by which an agent or a person finds a thing: it is told as left, with what to do, and never changed here.
The names that every memory has (`MEMORY.md`, `history.jsonl`, a day) are nobody's words. Reads only.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.formats.agent_home import Layout, session_folders
from nanomem_tui.formats.session_names import (
    CHECKPOINT_SUFFIX,
    SUFFIX,
    key_to_lossy_name,
    lossy_name_to_key,
    name_to_key,
)
from nanomem_tui.paths import Paths
from nanomem_tui.purge import of_home
from nanomem_tui.purge.texts import Found, Sought
from nanomem_tui.store import backup_files, git_names
from nanomem_tui.store.backup_archive import SUFFIX as BACKUP
from nanomem_tui.store.backup_archive import Archive
from nanomem_tui.text import FORGOTTEN

RENAME = "nanomem renames nothing of an agent: rename it"
HISTORY = "nanomem rewrites texts, no paths: `git filter-repo --path-rename` does, once no file is named so"
_FIXED = frozenset(
    "memory sessions session-state skills prompts cron media workspace .nanobot workspace-id .gitignore .cursor"
    " .dream_cursor MEMORY.md HISTORY.md USER.md SOUL.md AGENTS.md TOOLS.md IDENTITY.md HEARTBEAT.md SKILL.md README.md"
    " history.jsonl LTM_SNAPSHOT.json LTM_AUDIT.jsonl LESSONS.jsonl LESSONS_AUDIT.jsonl longterm.db memory.db"
    " config.json llm_usage.sqlite3 jobs.json master main HEAD".split()
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:\.[a-z]+)?")
_REFS = {
    "heads": ("branch", "`git branch -m {} NEW` renames it"),
    "tags": ("tag", "`git tag -d {}` removes it"),
}


class Named(NamedTuple):
    """A name that holds it: of what it is (untrusted), and what to do about it."""

    where: str
    way: str


def holds(name: str, sought: Sought) -> bool:
    """Whether a name, without the folders before it, holds what is sought."""
    if name in _FIXED or _DAY.fullmatch(name):
        return False
    found: Found = Counter()
    sought.clean(name, found)
    return bool(found)


def masked(where: str, sought: Sought) -> str:
    """A place without the names that hold what is sought, also where that of a session does in letters of its own."""
    parts = [(part, _own_key(part)) for part in where.split("/")]
    return "/".join(
        FORGOTTEN if key and holds(key, sought) else sought.clean(part, Counter()) if holds(part, sought) else part
        for part, key in parts
    )


def _own_key(name: str) -> str | None:
    """The session that a file is of by its name as it is made today; None where it is none."""
    stem = name.removesuffix(CHECKPOINT_SUFFIX).removesuffix(SUFFIX)
    return name_to_key(stem + SUFFIX) if stem != name else None


def on_disk(paths: Paths, layout: Layout, sought: Sought) -> Iterator[Named]:
    """The files, folders and sessions below the workspace, and of the agent's home, whose name holds it."""
    base, own = backup_files.base_of(paths), os.path.realpath(paths.data)
    folders = session_folders(paths, layout)
    tops = [paths.workspace, *folders, paths.data / "sessions", paths.data / "quarantine"]
    tops += [folder / name for folder in paths.agent_folders for name in ("media", *of_home.WORDS)]
    told: set[str] = set()
    for path in (found for top in tops for found in _below(top, own if top == paths.workspace else "")):
        key = _own_key(path.name)
        if key is None and holds(path.name, sought):
            key = _lossy_key(path, folders, paths)
            one = _session(key) if key else Named(f"the name of {_told(os.path.relpath(path, base))}", RENAME)
        elif key is not None and holds(key, sought):
            one = _session(key)
        else:
            continue
        if one.where not in told:
            told.add(one.where)
            yield one


def _below(top: Path, without: str) -> Iterator[Path]:
    """Every file and folder below one, but those of a repository, of backups and of the folder `without`."""
    for folder, names, files in os.walk(top):
        names[:] = sorted(
            name
            for name in names
            if name not in (".git", backup_files.FOLDER) and os.path.realpath(f"{folder}/{name}") != without
        )
        yield from (Path(folder, name) for name in (*names, *sorted(files)))


def _lossy_key(path: Path, folders: tuple[Path, ...], paths: Paths) -> str:
    """The session that a file is of by its name as old releases made it; "" where it is no such file."""
    if path.parent == paths.wal_dir and path.suffix == ".md":
        lossy = path.name.removesuffix(".md") + SUFFIX
    elif path.parent in folders and path.name.endswith((SUFFIX, CHECKPOINT_SUFFIX)):
        lossy = path.name.removesuffix(CHECKPOINT_SUFFIX).removesuffix(SUFFIX) + SUFFIX
    else:
        return ""
    key = lossy_name_to_key(lossy)
    return key if key_to_lossy_name(key) == lossy else ""


def _session(key: str) -> Named:
    told = _told(key)
    return Named(f"the session {told}", f"`nanomem forget --session {shlex.quote(told)}` takes it out, with its name")


def _told(name: str) -> str:
    """A name as text: one of the disk or of git may be bytes that are none."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def in_git(git_dir: Path, where: str, sought: Sought) -> Iterator[Named]:
    """The refs of a repository, and the paths in its history and its index, whose name holds it. `where`: how the
    repository is told of. Raises DamagedGit and the errors of `from_os_error`."""
    refs = git_names.refs(git_dir)
    for ref in sorted(refs):
        kind, _, name = ref.removeprefix("refs/").partition("/")
        if ref != "HEAD" and any(holds(part, sought) for part in name.split("/")):
            what, way = _REFS.get(kind, ("ref", "`git update-ref -d {}` removes it"))
            short = _told(name if kind in _REFS else ref)
            yield Named(f"the {what} {short} in {where}", way.format(shlex.quote(short)))
    held = {path for path in git_names.paths(git_dir, refs.values()) if holds(path.rpartition("/")[2], sought)}
    yield from (Named(f"the path {_told(path)} in {where}", HISTORY) for path in sorted(held))


def in_backup(path: Path, sought: Sought) -> int:
    """How many names in a backup hold it. Raises BadInput where it cannot be read."""
    if not path.name.endswith(BACKUP):
        return 0
    with Archive(path) as archive:
        entries = [entry.path for entry in archive.manifest.entries if "/.git/" not in f"/{entry.path}"]
        return sum(masked(name, sought) != name for name in entries)
