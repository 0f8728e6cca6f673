"""Why the history of a repository cannot be written anew without losing something: what git is in the midst of, what
lies elsewhere, what is missing. Reads only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from nanomem_tui import regular
from nanomem_tui.errors import NanomemError, Refused, in_words
from nanomem_tui.store import git_foreign, git_index, git_named, git_refs
from nanomem_tui.store.git_objects import DamagedGit, ObjectStore

WORKTREE = "a linked worktree of the git history: look there yourself"
BORROWED = "objects of the git history lie in another repository: look there yourself"
_IN_PROGRESS = {
    "MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase", "rebase-apply": "a rebase", "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect", "BISECT_START": "a bisect", "NOTES_MERGE_PARTIAL": "a merge of notes",
}  # fmt: skip
_LINKED = ("HEAD", "index", "packed-refs", "refs", "logs", "worktrees", "objects")
_ALTERNATES = "objects/info/alternates"
_ELSEWHERE = {
    "shallow": ("it is a shallow clone", "`git fetch --unshallow` fetches the rest"),
    _ALTERNATES: (
        "objects of it lie in another repository",
        "`git repack -ad` brings them here, then remove objects/info/alternates",
    ),
    "info/grafts": ("it has grafts", "remove .git/info/grafts"),
}


def check(git_dir: Path, workspace: Path) -> None:
    """Raise Refused, with the first reason why nothing can be written anew here."""
    for what, where, fix in _reasons(git_dir, workspace):
        raise Refused(f"the git history cannot be written anew: {what}", where, f"{fix}, or leave out --git")


def unread(git_dir: Path, workspace: Path) -> str:
    """Why a history cannot even be looked through, "" where it can."""
    try:
        return (git_foreign.why_not(git_dir, workspace) or ("", ""))[0]
    except OSError as error:
        return in_words(error, "reading the git repository").line()


def elsewhere(git_dir: Path, workspace: Path) -> list[tuple[Path, str]]:
    """What belongs to a history and lies outside of the workspace, and what it is: linked worktrees, and objects of
    another repository."""
    inside = os.path.realpath(workspace)
    found: list[tuple[Path, str]] = []
    with contextlib.suppress(OSError):  # told where the history itself is read
        found = [(path, WORKTREE) for path in git_named.checkouts(git_dir)]
        borrowed = git_dir / _ALTERNATES
        if borrowed.exists() and regular.read(borrowed).strip():
            found.append((borrowed, BORROWED))
    return [
        one for one in found if one[1] == BORROWED or os.path.commonpath([os.path.realpath(one[0]), inside]) != inside
    ]


def in_progress(git_dir: Path) -> str:
    """Return what git is in the midst of ("a merge"), "" where it is in nothing."""
    return next((what for name, what in _IN_PROGRESS.items() if os.path.lexists(git_dir / name)), "")


def _reasons(git_dir: Path, workspace: Path) -> Iterator[tuple[str, str, str]]:
    if reason := unread(git_dir, workspace):
        yield reason, str(git_dir), "look through it yourself"
        return
    try:
        yield from _links(git_dir)
        for folder in git_named.folders(git_dir):
            yield from _in_progress(folder)
        yield from _elsewhere(git_dir)
        yield from _locks(git_dir)
        yield from _named(git_dir)
    except (OSError, NanomemError) as error:
        said = in_words(error, "reading the git repository")
        yield said.what, said.where or str(git_dir), said.fix or "run `git fsck` in the workspace"


def _links(git_dir: Path) -> Iterator[tuple[str, str, str]]:
    tops = [folder / name for folder in git_named.folders(git_dir) for name in _LINKED]
    walked = (Path(at, name) for top in tops for at, folders, names in os.walk(top) for name in (*folders, *names))
    for path in (*tops, *walked):
        if path.is_symlink():
            yield "a part of it is a link", str(path), "put what it leads to in its place"


def _in_progress(folder: Path) -> Iterator[tuple[str, str, str]]:
    for name, what in _IN_PROGRESS.items():
        if os.path.lexists(folder / name):
            yield f"git is in the midst of {what}", str(folder / name), "finish it or abort it first"


def _elsewhere(git_dir: Path) -> Iterator[tuple[str, str, str]]:
    for name, (what, fix) in _ELSEWHERE.items():
        with contextlib.suppress(FileNotFoundError):
            if regular.read(git_dir / name).strip():
                yield what, str(git_dir / name), fix
    for path in (git_dir / "objects" / "pack").glob("*.promisor"):
        yield "it is a partial clone", str(path), "fetch all of it into a new clone"
    if any(name.startswith("refs/replace/") for name in git_named.refs(git_dir, git_named.state(git_dir))):
        yield "it has replacements", "refs/replace", "`git replace -d` takes them away"


def _locks(git_dir: Path) -> Iterator[tuple[str, str, str]]:
    folders = git_named.folders(git_dir)
    locks = [*git_dir.glob("*.lock"), *(git_dir / "refs").rglob("*.lock")]
    locks += [path for folder in folders[1:] for path in folder.glob("*.lock")]
    for path in locks:
        if not git_refs.is_ours(path):
            yield "another program has locked it", str(path), "wait, or remove a stale lock"


def _named(git_dir: Path) -> Iterator[tuple[str, str, str]]:
    for where, what, fix in missing(git_dir):
        yield what, where, fix
    for path, (kind, data) in git_named.state(git_dir).items():
        if kind == "index" and git_index.ids(data) is None:
            yield git_named.INDEX, str(path), git_named.INDEX_FIX


def missing(git_dir: Path) -> Iterator[tuple[str, str, str]]:
    """(name, what is wrong, what to do) of each ref, HEAD of a worktree and change in the stash that leads to no
    object. Raises DamagedGit and OSError."""
    found = git_named.state(git_dir)
    named = git_named.refs(git_dir, found)
    of_worktrees = {name: sha for name, sha in git_named.kin(git_dir, found).items() if name.startswith("worktrees/")}
    named |= {name: sha for name, sha in of_worktrees.items() if name.endswith("/HEAD") or "/refs/" in name}
    named |= {f"stash@{{{number}}}": sha for number, sha in enumerate(git_named.stashed(git_dir, found)) if number}
    with contextlib.closing(ObjectStore(git_dir / "objects")) as objects:
        ids = objects.ids()
        for name, sha in named.items():
            try:
                if sha not in ids:
                    objects.raw(sha)  # in a repository that borrows objects it lies elsewhere
            except DamagedGit:
                yield name, *_told(name)


def _told(name: str) -> tuple[str, str]:
    begin = "look for it in a bundle or a backup (`git fetch FILE 'refs/*:refs/old/*'`)"
    if name.startswith("worktrees/"):
        what, fix = "a linked worktree", "`git worktree remove --force` lets go of it"
    elif name.startswith("stash@"):
        what, fix = "a change in the stash", f"`git stash drop {name}` lets go of it"
    else:
        what, fix = "the stash" if name == "refs/stash" else "a ref", "`git update-ref -d` lets go of it"
    return f"{what} leads to a git object that is missing", f"{begin}; {fix}"
