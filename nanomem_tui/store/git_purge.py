"""The whole history of a repository without some of its text: every object that is there is written anew, all that
names one follows (refs, the stash, notes, reflogs, staging areas, linked worktrees), and the old objects are removed.
Before that all of it goes into a bundle, which `git clone` reads. For who has made sure that nobody else writes here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import regular
from nanomem_tui.errors import from_os_error
from nanomem_tui.store import atomic, git_anew, git_bundle, git_named
from nanomem_tui.store.git_objects import DamagedGit, ObjectStore

Clean = Callable[[bytes], bytes]
_REMOVING = "nanomem-removing"
"""The file that lists what is to be removed, once nothing leads there any more."""


class Rewritten(NamedTuple):
    """How many commits got a new id, how many objects were removed, and the bundle of what was before."""

    commits: int
    removed: int
    bundle: Path | None


def texts(git_dir: Path) -> Iterator[tuple[str, str, bytes]]:
    """(kind, id, bytes) of every blob, and of every message, also of those that no ref leads to any more, and of those
    that reflogs hold. Raises DamagedGit, and the errors of `from_os_error`."""
    with contextlib.closing(ObjectStore(git_dir / "objects")) as objects:
        for sha in sorted(objects.ids()):
            kind, data = objects.raw(sha)
            if kind == "blob":
                yield kind, sha, data
            elif kind in ("commit", "tag"):
                yield from ((kind, sha, said) for said in git_anew.words(kind, data))
    try:
        yield from (("log", name, said) for name, said in git_named.words(git_named.state(git_dir)))
    except OSError as error:
        raise from_os_error(error, "reading the git history") from error


def is_unfinished(git_dir: Path) -> bool:
    """Whether one that was killed left old objects."""
    return (git_dir / _REMOVING).exists()


def rewrite(git_dir: Path, clean: Clean, message: Clean, bundles: Path | None) -> Rewritten:
    """Write the history anew: `clean` makes each blob what it is to be, `message` each message. `bundles`: the folder
    for what was before; None where that is kept elsewhere.

    Killed at any step, either history is whole, and the next run goes on. Raises DamagedGit, Refused where a lock is
    held or somebody else moved something, and the errors of `from_os_error`.
    """
    try:
        with contextlib.closing(ObjectStore(git_dir / "objects")) as objects:
            removed = _finish(git_dir, objects)
            found = git_named.state(git_dir)
            ids = objects.ids()
            new = git_anew.Anew(objects, ids, git_named.notes(git_dir, found), clean, message)
            new.make()
            refs = _whole(git_dir, found, new)
            changed = git_named.renewed(found, new.known, message)
            if not new.gone and not changed:
                return Rewritten(0, removed, None)
            bundle = _bundle(git_dir, objects, ids, found, refs, new.broken, bundles) if bundles and new.gone else None
            with git_named.held(git_dir, found):
                git_named.move(changed)
                _remove(git_dir, objects, new.gone)
            moved = sum(1 for sha in new.commits if new.known[sha] != sha)
            return Rewritten(moved, removed + len(new.gone), bundle)
    except OSError as error:
        raise from_os_error(error, "rewriting the git history") from error


def _whole(git_dir: Path, found: git_named.State, new: git_anew.Anew) -> dict[str, str]:
    """The refs. Raises DamagedGit for one that leads to what is missing."""
    refs = git_named.refs(git_dir, found)
    for name, sha in refs.items():
        if sha not in new.known or sha in new.broken:
            raise DamagedGit("a git object is missing that a ref leads to", name, "run `git fsck` in the workspace")
    return refs


def _bundle(
    git_dir: Path, objects: ObjectStore, ids: set[str], found: git_named.State, refs: dict[str, str],
    broken: set[str], folder: Path,
) -> Path:  # fmt: skip
    heads = git_bundle.names(objects, ids, refs, git_named.kin(git_dir, found), git_named.stashed(git_dir, found))
    return git_bundle.write(objects, ids, {name: sha for name, sha in heads.items() if sha not in broken}, folder)


def _remove(git_dir: Path, objects: ObjectStore, gone: set[str]) -> None:
    """Remove old objects. What is left of them when that is cut short would be broken, so they are listed before."""
    if not gone and not is_unfinished(git_dir):
        return
    listed = git_dir / _REMOVING
    atomic.write_atomic(listed, "".join(f"{sha}\n" for sha in sorted(gone)).encode())
    objects.remove(gone)
    listed.unlink()
    atomic.sync_folder(git_dir)


def _finish(git_dir: Path, objects: ObjectStore) -> int:
    """Go on with removing where that was cut short; nothing that anything leads to. Returns how many were there."""
    if not is_unfinished(git_dir):
        return 0
    ids = objects.ids()
    listed = set(regular.read(git_dir / _REMOVING).decode("ascii", "replace").split())
    gone = listed & ids - git_bundle.reachable(objects, ids, git_named.every(git_named.state(git_dir)))
    _remove(git_dir, objects, gone)
    return len(gone)
