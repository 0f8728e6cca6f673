"""The repository around a Dream: made where there is none, put in order where something was left, and what to say.

Must not know an edit or run a Dream.
"""

from __future__ import annotations

from nanomem_tui.paths import Paths
from nanomem_tui.store import git_tidy
from nanomem_tui.store.git_history import GitHistory, probe


def begun(paths: Paths, git: GitHistory | None) -> tuple[str, ...]:
    """See to it that versions are kept; a line to tell where one was begun, or none can be. Raises OSError's errors."""
    if git is not None:
        return ()
    if paths.is_versioned:
        return tuple(f"no version is kept: {one.where}: {one.what}" for one in probe(paths).problems)
    if GitHistory.init(paths) is None:
        return ("no version is kept: a folder above the workspace is a git repository, and none is made inside of one",)
    return (f"made a git repository in {paths.workspace}; its first commit holds the memory files as they were before",)


def cleaned(paths: Paths, git: GitHistory | None) -> tuple[str, ...]:
    """Put the repository in order; a line to tell where another program keeps it from that."""
    left = git_tidy.tidy(git, paths) if git is not None else ()
    if not left:
        return ()
    what = f"`git status` shows {', '.join(left)} as staged, and a plain `git commit` would take this back"
    why = "another program holds .git/index.lock; the next Dream mends it"
    return (f"{what}: {why} (remove the lock if no git command is running)",)
