"""The commit of an operation on memory files: its message, whether it is there already, and that it can be made.

Must not write a file or make a commit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nanomem_tui.errors import Problem, Refused
from nanomem_tui.operations import Operation
from nanomem_tui.paths import Paths
from nanomem_tui.store import git_hindrance
from nanomem_tui.store.git_history import AUTHOR, MENDING, VERSIONED, probe
from nanomem_tui.store.git_objects import DamagedGit

if TYPE_CHECKING:
    from nanomem_tui.store.git_history import GitHistory


def own_words(operation: Operation) -> str:
    """The message that the operation itself says; "" when it is taken back or done again: that is never a Dream."""
    given = operation.meta.get("commit")
    return given if isinstance(given, str) and not operation.undoes and not operation.redoes else ""


def message(operation: Operation) -> str:
    """What the operation itself says, else its label."""
    return own_words(operation) or f"nanomem: {' '.join(operation.label.split())}"


def has_commit(git: GitHistory, operation: Operation, holds: Callable[[str], bool]) -> bool:
    """Whether the commit of an operation was made since it was recorded; `holds` is asked about the id of one that says
    the same."""
    words, since = message(operation).strip(), operation.at[:19]
    for commit in git.walk():
        if commit.at[:19] < since:
            return False
        if commit.message.strip() == words and commit.author == AUTHOR and holds(commit.sha):
            return True
    return False


def refuse_unreadable(paths: Paths) -> None:
    """Raise Refused when there is a repository that is damaged or not used: nothing goes on as if there were none."""
    found = probe(paths) if paths.is_versioned else None
    if found is not None and found.problems:
        problem = found.problems[0]
        raise Refused(f"the versions of the memory files: {problem.what}", problem.where, problem.fix)


def history_for(paths: Paths, git: GitHistory | None, operation: Operation) -> tuple[GitHistory | None, Problem | None]:
    """Where a change of memory files is to be committed; where versions are kept and cannot be, None and why.

    An operation that says itself what its commit is (a Dream) is not made then: raises Refused, DamagedGit. In a
    repository above the workspace nothing is committed while git is in the midst of a merge or the like.
    """
    keys = [change.key for change in operation.changes if change.layer == "file"]
    if git is None:
        if operation.meta.get("commit"):
            refuse_unreadable(paths)
        found = probe(paths)
        problem = found.problems[0] if found.problems and any(key in VERSIONED for key in keys) else None
        return found.history, problem and problem._replace(severity="warning")
    if git.inside and (what := git_hindrance.in_progress(git.git_dir)):
        said = f"not committed: git is in the midst of {what}"
        return None, Problem(said, str(git.git_dir.parent), fix="finish it or abort it", severity="warning")
    try:
        _ = [git.tracks(key) for key in keys]  # reads the folders that the commit changes
    except DamagedGit as error:
        if operation.meta.get("commit"):
            raise
        return None, Problem(error.what, paths.relative(git.git_dir), fix=MENDING, severity="warning")
    return git, None
