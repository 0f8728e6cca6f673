"""What is looked through and told, and never changed: backups, histories in git, and names (of files and folders,
sessions, branches, tags, and paths in a history).

A history that holds anything is told with its commits and the command that takes it out. A name is that by which an
agent or a person finds a thing: it is told with what to do. The names that every memory has (`MEMORY.md`,
`history.jsonl`, a day) are nobody's words.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.agents import git
from nanomem_tui.agents.git_history import GitHistory, probe
from nanomem_tui.agents.layout import Layout, session_folders
from nanomem_tui.agents.transcripts import CHECKPOINT_SUFFIX, SUFFIX, key_to_lossy_name, lossy_name_to_key, name_to_key
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import from_os_error, in_words
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import FORGOTTEN, counted
from nanomem_tui.purge import any_database, stored_files
from nanomem_tui.purge.stored_files import is_session
from nanomem_tui.purge.texts import GZIP, in_bytes, unpacked
from nanomem_tui.purge.wanted_words import Found, Sought
from nanomem_tui.store.moving import backup
from nanomem_tui.store.moving.backup import SUFFIX as BACKUP
from nanomem_tui.store.moving.backup import Archive


def archives(paths: Paths) -> list[Path]:
    """The backups, and the bundles of git histories that earlier versions left."""
    folder = backup.folder_of(paths)
    return sorted((*folder.glob(f"*{BACKUP}"), *folder.glob("*.bundle")))


def in_archive(path: Path, sought: Sought) -> Found:
    """What a backup, or a bundle of a git history, holds, also in names. Raises BadInput where it cannot be read."""
    found: Found = Counter()
    if path.suffix == ".bundle":
        for data in _packed(path):
            in_history(data, sought, found)
        return found
    with Archive(path) as archive:
        for entry in archive.manifest.entries:
            data = b"".join(archive.data(entry))
            if data.startswith(any_database.SQLITE):
                found.update(any_database.in_database_bytes(data, sought))
            elif "/.git/" in f"/{entry.path}":
                found.update(_object(data, sought))
            elif is_session(Path(entry.path).name, data, sought.marks):
                found["file"] += 1
            else:
                in_bytes(unpacked(data) or data, sought.at(entry.path), found)
            if sought.whole and "/.git/" not in f"/{entry.path}" and masked_name(entry.path, sought) != entry.path:
                found["name"] += 1
    return found


def in_history(data: bytes, sought: Sought, found: Found) -> None:
    """What an object of a git history holds, which says no name: a database, a conversation, a text."""
    if data.startswith(any_database.SQLITE):
        found.update(any_database.in_database_bytes(data, sought))
    elif is_session("", data, sought.marks):
        found["file"] += 1
    else:
        inner = unpacked(data) if data.startswith(GZIP) else None
        name = "history.jsonl" if data[:1] == b"{" else "document.md"
        in_bytes(data if inner is None else inner, sought if inner is not None else sought.at(name), found)


def _object(data: bytes, sought: Sought) -> Found:
    found: Found = Counter()
    try:
        in_history(zlib.decompress(data).partition(b"\0")[2], sought, found)
    except zlib.error:
        in_history(data, sought, found)
    return found


def _packed(path: Path) -> Iterator[bytes]:
    """What the objects of a bundle of ours hold, which are not differences of each other."""
    data = core_files.read(path, core_files.MOST_OF_A_LOG)
    data = data[data.index(b"PACK") + 12 : -20]
    while data:
        end = next(at for at, byte in enumerate(data) if not byte & 0x80) + 1
        reader = zlib.decompressobj()
        yield reader.decompress(data[end:])
        data = reader.unused_data


OUTER = "the repository of a folder above the workspace holds versions of the memory files: look there yourself"
WORKTREE = "a linked worktree of the git history: look there yourself"
BORROWED = "objects of the git history lie in another repository: look there yourself"
TYPED = "what was typed for a commit: remove the file, git makes it anew"
_OF_REFS = ("index", "packed-refs", "refs", "HEAD", "ORIG_HEAD", "MERGE_HEAD")
"""Files and folders of a repository that hold names of branches, tags and paths; these names are reported."""
_NAMED = 3
"""Commits that are named; the rest are counted."""


def histories(paths: Paths) -> tuple[list[Path], list[tuple[str, str]]]:
    """The histories that can be looked through, and what of them cannot, with the reasons."""
    found: list[Path] = []
    unread: list[tuple[str, str]] = []
    for git_dir in filter(os.path.lexists, paths.git_dirs):
        if reason := _unread(git_dir, paths.workspace):
            unread.append((paths.relative(git_dir), reason))
            continue
        found.append(git_dir)
        unread += [(paths.relative(path), why) for path, why in _elsewhere(git_dir, paths.workspace)]
    if (outer := paths.outer_git_dir) is not None and (history := probe(paths).history) is not None:
        history.close()
        unread.append((str(outer), OUTER))
    return found, unread


def _unread(git_dir: Path, workspace: Path) -> str:
    try:
        return (git.why_not(git_dir, workspace) or ("", ""))[0]
    except OSError as error:
        return in_words(error, "reading the git repository").line()


def _elsewhere(git_dir: Path, workspace: Path) -> Iterator[tuple[Path, str]]:
    """What belongs to a history and lies outside of the workspace: linked worktrees, objects of another repository."""
    with contextlib.suppress(OSError):  # told where the history itself is read
        for folder in git.worktrees(git_dir):
            with contextlib.suppress(FileNotFoundError):
                said = os.fsdecode(core_files.read(folder / "gitdir")).rstrip("\n")
                checkout = Path(os.path.realpath(folder / said)).parent
                if checkout.is_dir() and not checkout.is_relative_to(os.path.realpath(workspace)):
                    yield checkout, WORKTREE
        borrowed = git_dir / "objects" / "info" / "alternates"
        if borrowed.exists() and core_files.read(borrowed).strip():
            yield borrowed, BORROWED


def history_settings(git_dir: Path) -> Iterator[Path]:
    """The files of one that hold words and are no part of its history: addresses with their passwords, hooks."""
    folders = ("info", "hooks")
    for path in sorted((*git_dir.iterdir(), *(one for name in folders for one in (git_dir / name).glob("*")))):
        odd = path.name in _OF_REFS or path.name.endswith(("MSG", ".lock", ".sample"))
        if not odd and path.is_file() and not path.is_symlink():
            yield path
    yield from sorted((git_dir / "modules").rglob("config"))


def look_in_history(where: str, git_dir: Path, sought: Sought, tell: Callable[[str, Found, str], None]) -> None:
    """Tell what one holds, told of as `where`: blobs and messages, also those that nothing leads to any more, and the
    messages of reflogs. Raises DamagedGit and the errors of `from_os_error`."""
    found: Found = Counter()
    with contextlib.closing(GitHistory(git_dir)) as objects:
        holding = dict.fromkeys(objects.ids(), False)
        commits: dict[str, str] = {}
        trees: list[str] = []
        for sha in sorted(holding):
            kind, data = objects.raw(sha)
            if kind == "tree":
                trees.append(sha)
                continue
            if kind == "commit":
                commits[sha] = objects.read(sha).tree
            before = found.total()
            head, _, message = data.partition(b"\n\n")
            merged = head.partition(b"\nmergetag ")[2]  # the message of a tag that a commit merged
            in_history(data if kind == "blob" else b"\n".join((message, merged)), sought, found)
            holding[sha] = found.total() > before
        if found:
            _up(objects, trees, holding)
    try:
        for path, said in git.words(git_dir):
            mine: Found = Counter()
            in_history(said, sought, mine)
            if path.name.endswith("MSG"):
                tell(f"{where}/{path.relative_to(git_dir).as_posix()}", mine, TYPED)
            else:
                found.update(mine)
    except OSError as error:
        raise from_os_error(error, "reading the git history") from error
    held = [sha for sha, tree in commits.items() if holding[sha] or holding.get(tree)]
    tell(where, found, f"{_commits(held)}; nanomem writes no history anew: {_command(git_dir)}")


def _up(objects: GitHistory, trees: list[str], holding: dict[str, bool]) -> None:
    """Mark the trees that lead to a blob that holds it."""
    todo = list(trees)
    done = set(holding) - set(trees)
    while todo:
        sha = todo.pop()
        if sha in done:
            continue
        inner = [entry.sha for entry in objects.tree(sha).values() if entry.sha in holding]
        if waiting := [one for one in inner if one not in done]:
            todo += [sha, *waiting]
        else:
            holding[sha] = any(holding[one] for one in inner)
            done.add(sha)


def _commits(held: list[str]) -> str:
    if not held:
        return "no commit holds it, but an object that a reflog, the stash, the index or nothing leads to"
    more = f" and {len(held) - _NAMED} more" if len(held) > _NAMED else ""
    named = ", ".join(sha[:8] for sha in held[:_NAMED])
    return f"{counted(len(held), 'commit')} ({named}{more}) {'holds' if len(held) == 1 else 'hold'} it"


def _command(git_dir: Path) -> str:
    place = shlex.quote(str(git_dir.parent))
    return f"`git -C {place} filter-repo --force --replace-text FILE --replace-message FILE` does"


def _paths_in(git_dir: Path) -> Iterator[str]:
    """The path of every file and folder in the commits, also in those that nothing leads to any more, and of the index;
    one may come twice. Raises DamagedGit."""
    with contextlib.closing(GitHistory(git_dir)) as objects:
        commits = (sha for sha in objects.ids() if objects.raw(sha)[0] == "commit")
        todo = [(objects.read(sha).tree, "") for sha in commits]
        seen: set[tuple[str, str]] = set()
        while todo:
            sha, folder = one = todo.pop()
            if one not in seen:
                seen.add(one)
                for name, entry in objects.tree(sha).items():
                    yield f"{folder}{name}"
                    todo += [(entry.sha, f"{folder}{name}/")] if entry.is_folder else []
    for path in git.staged(git_dir) or {}:
        parts = path.split("/")
        yield from ("/".join(parts[: number + 1]) for number in range(len(parts)))


RENAME = "nanomem renames nothing of an agent: rename it"
HISTORY = "nanomem writes no history anew: `git filter-repo --path-rename` does, once no file is named so"
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


def name_holds(name: str, sought: Sought) -> bool:
    """Whether a name, without the folders before it, holds what is sought."""
    if name in _FIXED or _DAY.fullmatch(name):
        return False
    found: Found = Counter()
    sought.clean(name, found)
    return bool(found)


def masked_name(where: str, sought: Sought) -> str:
    """A place without the names that hold what is sought, also where that of a session does in letters of its own."""

    def masked(part: str) -> str:
        if (key := _own_key(part)) and name_holds(key, sought):
            return FORGOTTEN
        return sought.clean(part, Counter()) if name_holds(part, sought) else part

    return "/".join(map(masked, where.split("/")))


def _own_key(name: str) -> str | None:
    """The session that a file is of by its name as it is made today; None where it is none."""
    stem = name.removesuffix(CHECKPOINT_SUFFIX).removesuffix(SUFFIX)
    return name_to_key(stem + SUFFIX) if stem != name else None


def names_on_disk(paths: Paths, layout: Layout, sought: Sought) -> Iterator[Named]:
    """Files, folders and sessions of the workspace and the agent's home whose name holds it; one may come twice."""
    base, own = backup.base_of(paths), os.path.realpath(paths.data)
    folders = session_folders(paths, layout)
    tops = [paths.workspace, *folders, paths.data / "sessions", paths.data / "quarantine"]
    tops += [folder / name for folder in paths.agent_folders for name in ("media", *stored_files.WORD_FOLDERS)]
    for path in (found for top in tops for found in _below(top, own if top == paths.workspace else "")):
        key = _own_key(path.name)
        if name_holds(path.name if key is None else key, sought):
            if key := _told(key or _lossy_key(path, folders, paths)):
                way = f"`nanomem forget --session {shlex.quote(key)}` takes it out, with its name"
                yield Named(f"the session {key}", way)
            else:
                yield Named(f"the name of {_told(os.path.relpath(path, base))}", RENAME)


def _below(top: Path, without: str) -> Iterator[Path]:
    """Every file and folder below one, but those of a repository, of backups and of the folder `without`."""
    for folder, names, files in os.walk(top):
        names[:] = sorted(
            name
            for name in names
            if name not in (".git", backup.FOLDER) and os.path.realpath(f"{folder}/{name}") != without
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


def _told(name: str) -> str:
    """A name as text: one of the disk or of git may be bytes that are none."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def names_in_git(git_dir: Path, where: str, sought: Sought) -> Iterator[Named]:
    """The refs of a repository, and the paths in its history and its index, whose name holds it. `where`: how the
    repository is told of. Raises DamagedGit and the errors of `from_os_error`."""
    for ref in sorted(git.ref_names(git_dir)):
        kind, _, name = ref.removeprefix("refs/").partition("/")
        if ref.startswith("refs/") and any(name_holds(part, sought) for part in name.split("/")):
            what, way = _REFS.get(kind, ("ref", "`git update-ref -d {}` removes it"))
            short = _told(name if kind in _REFS else ref)
            yield Named(f"the {what} {short} in {where}", way.format(shlex.quote(short)))
    held = {path for path in _paths_in(git_dir) if name_holds(path.rpartition("/")[2], sought)}
    yield from (Named(f"the path {_told(path)} in {where}", HISTORY) for path in sorted(held))
