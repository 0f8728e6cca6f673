"""The memory files that an agent owns (SOUL, USER, MEMORY, its Dream cursor, daily notes) as a layer of operations.

Owns how such a file is changed beside a running agent: only from the content that the change started from (an agent
writes without locks), whole and durable, strict UTF-8, with the line ends, the mode and the symlink that were there,
and committed at once where the agent keeps versions, so that our change is never taken for part of a Dream. A change
that somebody made outside before ours is committed on its own first. The cursor file is never ahead of its commit: one
that goes on follows it, one that goes back goes before all else.

Must not know what a line means, the ledger, or any other file of the workspace.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents import markdown
from nanomem_tui.agents.archive import parse_cursor
from nanomem_tui.core import atomic
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NothingToDo, Problem, Refused, from_os_error
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, Value, new_operation
from nanomem_tui.core.paths import DREAM_CURSOR, TRACKED_FILES, Paths

if TYPE_CHECKING:
    from nanomem_tui.agents.git_history import GitHistory

_TRIES = 5
_WRITER_WAIT = 0.05
"""Seconds after which an agent or an editor is done with what it writes."""
_BARE_FEED = r"(?<!\r)\n"


class Loaded(NamedTuple):
    """One file: its text (None: there is no such file), its exact bytes, and what could not be read in it."""

    text: str | None
    data: bytes | None
    problems: tuple[Problem, ...] = ()

    @property
    def value(self) -> Value | None:
        """The file as a value of a change: its text, and its encoding where that is not plain UTF-8. Bytes that are no
        text are kept beside it: undo brings them back."""
        if self.data is None:
            return None
        name = core_files.encoding_of(self.data)
        if self.data == core_files.encode(self.text or "", name):
            return {"text": self.text} if name == core_files.UTF8 else {"text": self.text, "encoding": name}
        import base64

        return {"text": self.text, "raw": base64.b64encode(self.data).decode("ascii")}


class FileLayer:
    """The layer `file` of operations. Keys are paths in the workspace; a value is `{"text": …}`, None for no file."""

    name = "file"

    def __init__(self, paths: Paths, git: Callable[[], GitHistory | None], perform: Perform | None = None) -> None:
        self._paths = paths
        self._git = git
        self._perform = perform
        self._commits: dict[str, str] = {}
        self._uncommitted: dict[str, Problem] = {}

    def path(self, key: str) -> Path:
        """The place of `key`. Raises BadInput for a file that is not ours to change, Refused where it leads outside."""
        parts = key.split("/")
        is_note = len(parts) == 2 and parts[0] == "memory" and markdown.daily_note_name(parts[1]) is not None
        if key not in (*TRACKED_FILES, DREAM_CURSOR) and not is_note:
            raise BadInput("not a memory file", key, "one of SOUL.md, USER.md, memory/MEMORY.md or a daily note")
        path = self._paths.workspace.joinpath(*parts)
        try:
            target = path.resolve()
            inside = target.is_relative_to(self._paths.workspace.resolve())
            usable = target.is_file() or not target.exists()
        except (OSError, RuntimeError) as error:
            raise Refused("a link that leads nowhere", key, "replace it by a file") from error
        if not inside:
            raise Refused("a link that leads out of the workspace", key, "replace it by a file")
        if not usable:
            raise Refused("not a regular file", key, "replace it by a file")
        return path

    def load(self, key: str) -> Loaded:
        """The file with its problems. Raises BadInput, Refused and the errors of `from_os_error`."""
        try:
            data = atomic.read_stable(self.path(key))
        except FileNotFoundError:
            return Loaded(None, None)
        text, problems = markdown.decode(data, key)
        return Loaded(text, data, problems)

    def read(self, key: str) -> str | None:
        """The text of the file, None when there is none; bad bytes are shown as U+FFFD (`load` reports them)."""
        return self.load(key).text

    def names(self) -> tuple[str, ...]:
        """Those of SOUL.md, USER.md and memory/MEMORY.md that are there."""
        return tuple(name for name in TRACKED_FILES if (self._paths.workspace / name).is_file())

    def problems(self) -> list[Problem]:
        """What cannot be read in the memory files and in their git history."""
        found: list[Problem] = []
        if self._paths.is_versioned:
            from nanomem_tui.agents.git_history import find_repository

            found += find_repository(self._paths).problems
        for name in self.names():
            try:
                found += self.load(name).problems
            except NanomemError as error:
                found.append(Problem(error.what, name, fix=error.fix))
        return found

    def edit(self, key: str, new_text: str, label: str | None = None, *, base: str | None = None) -> Operation:
        """Make a person's edit through the pipeline; see `edit_operation`."""
        operation = self.edit_operation(key, new_text, label or "", base=base)
        return self._perform(operation) if self._perform else operation

    def change(self, key: str, text: str | None) -> Change:
        """The change that makes `text` of what is there (None: no file). Raises BadInput for a cursor that is none."""
        if key == DREAM_CURSOR and text is not None and parse_cursor(text.encode("utf-8", "replace")) is None:
            raise BadInput("not a cursor", key, "a whole number")
        return Change(self.name, key, self.load(key).value, None if text is None else {"text": text})

    def edit_operation(
        self, key: str, new_text: str, label: str = "", actor: Actor = "human", *, base: str | None = None
    ) -> Operation:
        """A person's edit as an operation; an editor's plain line feeds become those of the file.

        `base` is the text that the person saw (None: what is there now): what somebody wrote since is merged.
        Raises NothingToDo when the text is what is there, BadInput when it cannot be written as UTF-8.
        """
        loaded = self.load(key)
        old = base if base is not None else loaded.text or ""
        if "\r\n" in old and not re.search(_BARE_FEED, old):
            new_text = re.sub(_BARE_FEED, "\r\n", new_text)
        after = {"text": new_text}
        if bytes_of(key, after, loaded.data) == loaded.data or new_text == base:
            raise NothingToDo("nothing was changed", key)
        before = loaded.value if base is None or base == (loaded.text or "") else {"text": base}
        return new_operation("file.edit", label or f"edit {key}", [Change(self.name, key, before, after)], actor=actor)

    def commit_of(self, operation: Operation) -> str | None:
        """The commit that the operation made in this process, None when it made none."""
        return self._commits.get(operation.id)

    def uncommitted(self, operation: Operation) -> Problem | None:
        """Why no commit holds what the operation did in this process, where versions are kept: to be told; else None.

        The change is made all the same, and undone as any other.
        """
        return self._uncommitted.get(operation.id)

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict unless every change fits what is there, as it is or by a clean merge of lines.

        Raises Refused for a file that would be taken from its owner.
        """
        self.refuse_foreign([change.key for change in changes])
        for change in changes:
            self._step(change)

    def refuse_foreign(self, keys: Sequence[str]) -> None:
        """Raise Refused when one of these files, or the branch that a commit moves, is another user's to keep."""
        for key in keys:
            atomic.refuse_foreign(self.path(key).resolve(), key)
        if self._paths.is_versioned and (git := self._git()) is not None:
            from nanomem_tui.agents import git as agents_git

            name = agents_git.read_head(git.git_dir).name
            atomic.refuse_foreign(git.git_dir / name, f"{self._paths.relative(git.git_dir)}/{name}")

    def _step(self, change: Change) -> Step:
        """What the change comes to, given what is there now."""
        return self._fit(change.key, *self._values(change))

    def _values(self, change: Change) -> tuple[bytes | None, bytes | None]:
        """The bytes before and after a change, in the encoding that the file has where its values name none."""
        there = self.load(change.key).data
        before, after = (bytes_of(change.key, value, there) for value in (change.before, change.after))
        return before, after

    def _fit(self, key: str, before: bytes | None, after: bytes | None) -> Step:
        path, current = self.path(key), self.load(key).data
        if current in (before, after):
            return Step(key, path, current, after, current)
        if key == DREAM_CURSOR:
            if (parse_cursor(after) or 0) <= (parse_cursor(before) or 0):
                return Step(key, path, current, current, current)  # taken back late: later Dreams keep their place
            raise Conflict("another Dream moved the cursor meanwhile", key, "start again")
        return Step(key, path, current, merged_with(key, before, current, after), current)

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any of the files holds what its change makes of it, whatever somebody else did to it since."""
        return any(self._is_made(change) for change in changes)

    def _is_made(self, change: Change) -> bool:
        before, after = self._values(change)
        with contextlib.suppress(Conflict):
            step = self._step(change)
            if change.key == DREAM_CURSOR:
                return before != after == step.current
            return before != after and step.current == step.target
        return False

    def stands(self, change: Change) -> bool:
        """Whether the change is made, and committed where versions are kept. Reads only."""
        with contextlib.suppress(Conflict):
            step = self._step(change)
            git = self._git()
            if step.current != step.target or git is None or not git.tracks(change.key):
                return step.current == step.target
            head = git.head()
            return head is not None and (change.key == DREAM_CURSOR or is_committed(git, head, [change]))
        return change.key == DREAM_CURSOR  # another Dream went on

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Write the files, commit them, then move the cursor file on. A failure puts back what was there.

        A cursor that goes back goes first: who is killed in between leaves entries to be read again, never one unread.
        """
        contents = [change for change in changes if change.key != DREAM_CURSOR]
        self._apply(operation, changes, contents, [self._step(change) for change in contents])

    def resume(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Go on where a killed process ended: what it wrote already is the operation's, and so is its commit."""
        git = self._git()
        left = [change for change in changes if change.key != DREAM_CURSOR or not self._is_passed(change)]
        contents = [change for change in left if change.key != DREAM_CURSOR]
        if git is not None and has_commit(git, operation, lambda sha: is_committed(git, sha, changes)):
            left, contents = [change for change in left if change.key == DREAM_CURSOR], []
        steps = [
            step._replace(outside=others_change(change, step.current, step.target))
            for change, step in self._each(contents)
        ]
        self._apply(operation, left, contents, steps)
        if git is not None:
            git.tidy()

    def _is_passed(self, change: Change) -> bool:
        """Whether another Dream moved the cursor on meanwhile."""
        try:
            self._step(change)
        except Conflict:
            return True
        return False

    def _each(self, changes: Sequence[Change]) -> list[tuple[Change, Step]]:
        return [(change, self._step(change)) for change in changes]

    def _apply(
        self, operation: Operation, changes: Sequence[Change], contents: Sequence[Change], steps: Sequence[Step]
    ) -> None:
        cursors = [self._step(change) for change in changes if change.key == DREAM_CURSOR]
        back = [step for step in cursors if goes_back(step)]
        git, problem = self._history(operation)
        if git is not None:
            commit_outside(git, steps, operation.label)
        done: list[Step] = []
        whole = 0
        head = git.head() if git is not None else None
        try:
            for step in back:
                done.append(step)
                write_step(step)
                whole = len(done)
            for change, step in zip(contents, steps, strict=True):
                done.append(step)  # before: a write may fail when the file has its name already
                self._write(done, change, git, operation.label)
                whole = len(done)
            head = git.head() if git is not None else None
            committed = None
            files, left = commit_contents(git, [*done, *cursors]) if git is not None else ({}, [])
            if git is not None and files:
                committed = git.commit_files(files, commit_message(operation))
            if git is not None and left:
                fix = "commit it yourself"
                what = "not committed: it is staged, or the same lines have changes that are not committed"
                problem = Problem(what, " and ".join(left), fix=fix, severity="warning")
            for step in (step for step in cursors if step not in back):
                done.append(step)
                write_step(step)
                whole = len(done)
        except NanomemError:
            self._take_back(done, whole)
            self._answer(git, head, [*done, *cursors])
            raise
        again = self._look_again(done[len(back) : len(back) + len(contents)], git, operation.label)
        if committed:
            self._commits[operation.id] = again or committed
        if problem is not None:
            self._uncommitted[operation.id] = problem

    def _look_again(self, steps: Sequence[Step], git: GitHistory | None, label: str) -> str | None:
        """Where somebody wrote over a step what they had read before it, its change is made in that as well. The commit
        of that, None without one. The change is acknowledged whatever comes of this."""
        wait_for_stale(steps)
        made = None
        for written in steps:
            step = written
            for _ in range(_TRIES):
                with contextlib.suppress(NanomemError):
                    if not is_overwritten(step, self.load(step.key).data):
                        break
                    step = self._fit(step.key, step.current, step.target)
                    made = put_back(git, step, label) or made
        return made

    def _history(self, operation: Operation) -> tuple[GitHistory | None, Problem | None]:
        if not self._paths.is_versioned:
            return None, None

        return history_for(self._paths, self._git(), operation)

    def _write(self, done: list[Step], change: Change, git: GitHistory | None, label: str) -> None:
        """Make the last step of `done`; where somebody writes that file in this moment, what they wrote is merged."""
        for left in reversed(range(_TRIES)):
            try:
                write_step(done[-1])
                break
            except Conflict:
                if not left:
                    raise
            time.sleep(_WRITER_WAIT)
            done[-1] = self._step(change)
            if git is not None:
                commit_outside(git, done[-1:], label)

    def _take_back(self, done: Sequence[Step], whole: int) -> None:
        """Make what was begun undone; what somebody wrote since is kept. Only the first `whole` were surely written."""
        for number, step in reversed([*enumerate(done)]):
            for _ in range(_TRIES):
                try:
                    back = self._fit(step.key, step.target, step.current)
                    if number < whole or back.current == step.target:
                        write_step(back)
                except Conflict:
                    continue
                except NanomemError:
                    pass
                break

    def _answer(self, git: GitHistory | None, head: str | None, steps: Sequence[Step]) -> None:
        """Where a commit was made, another that takes it back."""
        with contextlib.suppress(NanomemError):
            if git is not None and git.head() != head:
                files = {step.key: git.file_at(head, step.key) if head else step.current for step in steps}
                files = {key: data for key, data in files.items() if git.tracks(key)}
                git.commit_files(files, "nanomem: take back a change that could not be finished")


# -- memory files as values of changes --------------------------------------------------------------------------------


def bytes_of(key: str, value: Value | None, like: bytes | None = None) -> bytes | None:
    """The bytes of a change's value, in the encoding that it names, else in that of the file as it is (`like`). Raises
    BadInput for text that is no UTF-8."""
    if value is None:
        return None
    if "raw" in value:
        import base64

        return base64.b64decode(str(value["raw"]))
    text = value.get("text")
    if not isinstance(text, str):
        raise BadInput("a file's value without text", key)
    try:
        return core_files.encode(text, str(value.get("encoding") or core_files.encoding_of(like)))
    except UnicodeEncodeError as error:
        raise BadInput("text that is no UTF-8 (a lone surrogate)", key, "remove that character") from error


def merged_with(key: str, before: bytes | None, current: bytes | None, after: bytes | None) -> bytes | None:
    """What was changed between `before` and `after`, made in `current`. Raises Conflict, naming the lines."""
    from nanomem_tui.core import merge

    fix = "look at the file and repeat the change"
    try:
        base, ours, theirs = (core_files.decode(data or b"") for data in (before, current, after))
    except UnicodeDecodeError as error:
        raise Conflict("the file changed meanwhile and holds bytes that are no UTF-8", key, fix) from error
    merged = merge.merge_lines(base, ours, theirs, keep_both=True)
    if merged.conflicts:
        lines = ", ".join(str(conflict.line) for conflict in merged.conflicts[:5])
        raise Conflict(f"the file changed meanwhile at line {lines}", key, fix)
    if not merged.text and after is None:
        return None
    return core_files.encode(merged.text, core_files.encoding_of(current or after or before))


def is_committed(git: GitHistory, sha: str, changes: Sequence[Change]) -> bool:
    """Whether a commit holds what the changes make of the files, and what others made of them besides."""
    for change in changes:
        held = git.file_at(sha, change.key) if git.tracks(change.key) else None
        before, after = bytes_of(change.key, change.before, held), bytes_of(change.key, change.after, held)
        held = held if git.tracks(change.key) else after
        with contextlib.suppress(Conflict):
            if held == after or (change.key != DREAM_CURSOR and merged_with(change.key, before, held, after) == held):
                continue
        return False
    return True


def others_change(change: Change, current: bytes | None, target: bytes | None) -> bytes | None:
    """What others made of a file into which the change is written already, or into which it is not yet."""
    before, after = (bytes_of(change.key, value, current) for value in (change.before, change.after))
    if current != target or before == after:
        return current
    try:
        return before if current == after else merged_with(change.key, after, current, before)
    except Conflict:
        return None


# -- one file made what a change wants of it --------------------------------------------------------------------------

_MODE = 0o644
_OUTSIDE = "nanomem: keep what was edited outside\n\nbefore: {label}"
_OVERWRITTEN = "nanomem: make a change again that was written over\n\n{label}"
STALE_SECONDS = 0.01
"""How long after ours a version is looked for that was made of the text before."""


class Step(NamedTuple):
    """What becomes of one file: its bytes now, and those that it shall have."""

    key: str
    path: Path
    current: bytes | None
    target: bytes | None
    outside: bytes | None
    """What others made of the file before: committed on its own first. None for nothing."""


def commit_outside(git: GitHistory, steps: Sequence[Step], label: str) -> None:
    """Commit what others made of the files before; in a repository above the workspace that stays uncommitted."""
    if git.inside:
        return
    head = git.head()
    files = {step.key: step.outside for step in steps if step.outside is not None and git.tracks(step.key)}
    if head is not None:
        from nanomem_tui.agents.git import id_of_blob

        files = {key: data for key, data in files.items() if git.blob_id(head, key) != id_of_blob(data)}
    if files:
        git.commit_files(files, _OUTSIDE.format(label=" ".join(label.split())))


def commit_contents(git: GitHistory, steps: Sequence[Step]) -> tuple[dict[str, bytes | None], list[str]]:
    """What a commit is to hold of the steps, and the files that it must leave out.

    In a repository above the workspace the commit holds our change alone: what else was changed in a file stays
    uncommitted, and a file is left out where somebody staged it, or changed the same lines.
    """
    taken = [step for step in steps if git.takes(step.key, new=step.current is None)]
    head = git.head()
    if not git.inside or head is None:
        return {step.key: step.target for step in taken}, []
    from nanomem_tui.agents import git as agents_git

    staged = agents_git.staged(git.git_dir)
    files: dict[str, bytes | None] = {}
    left: list[str] = []
    for step in taken:
        blob, held = git.blob_id(head, step.key), git.file_at(head, step.key)
        try:
            if staged and staged.get(git.local(step.key) or "") != blob:
                raise Conflict("the file is staged", step.key)
            same = held == step.current or step.key == DREAM_CURSOR
            files[step.key] = step.target if same else merged_with(step.key, step.current, held, step.target)
        except Conflict:
            left.append(step.key)
    return files, left


def goes_back(step: Step) -> bool:
    return (parse_cursor(step.target) or 0) < (parse_cursor(step.current) or 0)


def write_step(step: Step) -> None:
    """Make the file the step's target if it still is its current. Raises Conflict, and those of `from_os_error`."""
    if step.target == step.current:
        return
    expected = "" if step.current is None else atomic.sha256(step.current)
    try:
        if step.target is not None:
            if not step.path.parent.is_dir():
                atomic.make_folder(step.path.parent)
            atomic.write_atomic(step.path, step.target, expected=expected, mode=_MODE)
            return

        atomic.remove_expected(step.path.resolve(), expected)
    except OSError as error:
        raise from_os_error(error, f"writing {step.key}") from error


def wait_for_stale(steps: Sequence[Step]) -> None:
    """Give who read before our write the time to write."""
    if any(step.target != step.current for step in steps):
        time.sleep(STALE_SECONDS)


def is_overwritten(step: Step, now: bytes | None) -> bool:
    """Whether the file has lines not that the step brought, or those again that it took: a version made of the text
    before. One that is gone is nobody's version."""
    if now is None or step.target is None or now == step.target:
        return False
    before, ours, theirs = (Counter((data or b"").splitlines()) for data in (step.current, step.target, now))
    came, went = ours - before, before - ours
    lacks = any(theirs[line] < min(number, ours[line]) for line, number in came.items())
    return lacks or any(theirs[line] > ours[line] for line in went)


def put_back(git: GitHistory | None, step: Step, label: str) -> str | None:
    """Make a step again in what somebody else wrote, which is committed on its own first; the commit."""
    if git is not None:
        commit_outside(git, [step], label)
    write_step(step)
    files = commit_contents(git, [step])[0] if git is not None else {}
    if git is None or not files:
        return None
    return git.commit_files(files, _OVERWRITTEN.format(label=" ".join(label.split())))


# -- the commit of an operation ---------------------------------------------------------------------------------------


def own_message(operation: Operation) -> str:
    """The message that the operation itself says; "" when it is taken back or done again: that is never a Dream."""
    given = operation.meta.get("commit")
    return given if isinstance(given, str) and not operation.undoes and not operation.redoes else ""


def commit_message(operation: Operation) -> str:
    """What the operation itself says, else its label."""
    return own_message(operation) or f"nanomem: {' '.join(operation.label.split())}"


def has_commit(git: GitHistory, operation: Operation, holds: Callable[[str], bool]) -> bool:
    """Whether the commit of an operation was made since it was recorded; `holds` is asked about the id of one that says
    the same."""
    from nanomem_tui.agents.git_history import AUTHOR

    words, since = commit_message(operation).strip(), operation.at[:19]
    for commit in git.walk():
        if commit.at[:19] < since:
            return False
        if commit.message.strip() == words and commit.author == AUTHOR and holds(commit.sha):
            return True
    return False


def refuse_unreadable(paths: Paths) -> None:
    """Raise Refused when there is a repository that is damaged or not used: nothing goes on as if there were none."""
    from nanomem_tui.agents.git_history import find_repository

    found = find_repository(paths) if paths.is_versioned else None
    if found is not None and found.problems:
        problem = found.problems[0]
        raise Refused(f"the versions of the memory files: {problem.what}", problem.where, problem.fix)


def history_for(paths: Paths, git: GitHistory | None, operation: Operation) -> tuple[GitHistory | None, Problem | None]:
    """Where a change of memory files is to be committed; where versions are kept and cannot be, None and why.

    An operation that says itself what its commit is (a Dream) is not made then: raises Refused, DamagedGit. In a
    repository above the workspace nothing is committed while git is in the midst of a merge or the like.
    """
    from nanomem_tui.agents import git as agents_git
    from nanomem_tui.agents.git import DamagedGit
    from nanomem_tui.agents.git_history import MENDING, VERSIONED, find_repository

    keys = [change.key for change in operation.changes if change.layer == "file"]
    if git is None:
        if operation.meta.get("commit"):
            refuse_unreadable(paths)
        found = find_repository(paths)
        problem = found.problems[0] if found.problems and any(key in VERSIONED for key in keys) else None
        return found.history, problem and problem._replace(severity="warning")
    if git.inside and (what := agents_git.in_progress(git.git_dir)):
        said = f"not committed: git is in the midst of {what}"
        return None, Problem(said, str(git.git_dir.parent), fix="finish it or abort it", severity="warning")
    try:
        _ = [git.tracks(key) for key in keys]  # reads the folders that the commit changes
    except DamagedGit as error:
        if operation.meta.get("commit"):
            raise
        return None, Problem(error.what, paths.relative(git.git_dir), fix=MENDING, severity="warning")
    return git, None
