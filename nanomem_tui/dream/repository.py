"""The repository around a Dream: made where there is none, put in order where something was left, and what to say.

Which edits it cannot keep a version of is known here. Must not run a Dream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nanomem_tui.agents.git_history import GitHistory, probe
from nanomem_tui.core.paths import Paths
from nanomem_tui.dream.edits import LineEdit, apply_edits
from nanomem_tui.dream.guards import Checked, Refusal


def begun(paths: Paths, git: GitHistory | None) -> tuple[str, ...]:
    """See to it that versions are kept; a line to tell where one was begun, or none can be. Raises OSError's errors."""
    if git is not None:
        return ()
    if GitHistory.init(paths) is None:
        return (_none_kept(paths),)
    return (f"made a git repository in {paths.workspace}; its first commit holds the memory files as they were before",)


def foreseen(paths: Paths, git: GitHistory | None) -> tuple[str, ...]:
    """What to tell before a Dream is run: that it would be refused, or that not all of it would have a version."""
    if git is not None:
        names = " and ".join(git.unversioned())
        if git.inside:
            return (f"no versions of {names} are kept: {git.git_dir.parent} does not track them",) if names else ()
        waits = f"keeps no versions of {names}: what Dreams would change there waits in the inbox"
        return (f"{paths.relative(git.git_dir)} {waits}",) if names else ()
    if not paths.is_versioned:
        return ()
    if problems := probe(paths).problems:
        return tuple(f"a Dream would be refused: {problem.text()}" for problem in problems)
    return (_none_kept(paths),)


def _none_kept(paths: Paths) -> str:
    return f"no version is kept: {probe(paths).why_none}, and no repository is made inside another"


def with_versions(checked: Checked, before: Mapping[str, str], paths: Paths, git: GitHistory | None) -> Checked:
    """What a Dream writes by itself: an edit of a file that no commit can hold is refused, and waits for a person.

    Not so in a repository above the workspace, which is a person's own: what it tracks is theirs to say.
    """
    if git is None or git.inside or not (names := git.unversioned()):
        return checked
    kept, refused = list[LineEdit](), list(checked.refused)
    for edit in checked.edits:
        name = next((name for name in (edit.file, edit.to_file) if name in names), None)
        if name is None:
            kept.append(edit)
        else:
            refused.append(Refusal(edit, f"{paths.relative(git.git_dir)} keeps no versions of {name}"))
    return replace(checked, edits=tuple(kept), files=apply_edits(before, kept), refused=tuple(refused))


def cleaned(git: GitHistory | None) -> tuple[str, ...]:
    """Put the repository in order; a line to tell where another program keeps it from that."""
    left = git.tidy() if git is not None else ()
    if not left:
        return ()
    what = f"`git status` shows {', '.join(left)} as staged, and a plain `git commit` would take this back"
    why = "another program holds .git/index.lock; the next Dream mends it"
    return (f"{what}: {why} (remove the lock if no git command is running)",)
