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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import BadInput, Conflict, NanomemError, NothingToDo, Problem, Refused
from nanomem_tui.formats import encoding, markdown
from nanomem_tui.formats.history import parse_cursor
from nanomem_tui.operations import Actor, Change, Operation, Perform, Value, new_operation
from nanomem_tui.paths import DREAM_CURSOR, TRACKED_FILES, Paths
from nanomem_tui.store import atomic, file_steps, file_values, owners
from nanomem_tui.store.file_steps import Step

if TYPE_CHECKING:
    from nanomem_tui.store.git_history import GitHistory

_TRIES = 5
_WRITER_WAIT = 0.5
"""Seconds: an agent or an editor that has the file open for writing is done with it sooner."""
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
        name = encoding.encoding_of(self.data)
        if self.data == encoding.encode(self.text or "", name):
            return {"text": self.text} if name == encoding.UTF8 else {"text": self.text, "encoding": name}
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
            from nanomem_tui.store.git_history import probe

            found += probe(self._paths).problems
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
        if file_values.bytes_of(key, after, loaded.data) == loaded.data or new_text == base:
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
            owners.refuse_foreign(self.path(key).resolve(), key)
        if self._paths.is_versioned and (git := self._git()) is not None:
            from nanomem_tui.store import git_refs

            name = git_refs.read_head(git.git_dir).name
            owners.refuse_foreign(git.git_dir / name, f"{self._paths.relative(git.git_dir)}/{name}")

    def _step(self, change: Change) -> Step:
        """What the change comes to, given what is there now."""
        return self._fit(change.key, *self._values(change))

    def _values(self, change: Change) -> tuple[bytes | None, bytes | None]:
        """The bytes before and after a change, in the encoding that the file has where its values name none."""
        there = self.load(change.key).data
        before, after = (file_values.bytes_of(change.key, value, there) for value in (change.before, change.after))
        return before, after

    def _fit(self, key: str, before: bytes | None, after: bytes | None) -> Step:
        path, current = self.path(key), self.load(key).data
        if current in (before, after):
            return Step(key, path, current, after, current)
        if key == DREAM_CURSOR:
            if (parse_cursor(after) or 0) <= (parse_cursor(before) or 0):
                return Step(key, path, current, current, current)  # taken back late: later Dreams keep their place
            raise Conflict("another Dream moved the cursor meanwhile", key, "start again")
        return Step(key, path, current, file_values.merged_with(key, before, current, after), current)

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any of the files holds what its change makes of it, whatever somebody else did to it since."""
        self._settle(changes)
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
            return head is not None and (change.key == DREAM_CURSOR or file_values.is_in(git, head, [change]))
        return change.key == DREAM_CURSOR  # another Dream went on

    def _settle(self, changes: Sequence[Change]) -> None:
        """Finish what a killed process left beside these files; before anybody asks what they hold."""
        from nanomem_tui.store import swap

        for change in changes:
            with contextlib.suppress(OSError):
                swap.settle(self.path(change.key).resolve())

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Write the files, commit them, then move the cursor file on. A failure puts back what was there.

        A cursor that goes back goes first: who is killed in between leaves entries to be read again, never one unread.
        """
        self._settle(changes)
        contents = [change for change in changes if change.key != DREAM_CURSOR]
        self._apply(operation, changes, contents, [self._step(change) for change in contents])

    def resume(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Go on where a killed process ended: what it wrote already is the operation's, and so is its commit."""
        from nanomem_tui.store import file_commits, git_tidy

        self._settle(changes)
        git = self._git()
        left = [change for change in changes if change.key != DREAM_CURSOR or not self._is_passed(change)]
        contents = [change for change in left if change.key != DREAM_CURSOR]
        if git is not None and file_commits.has_commit(
            git, operation, lambda sha: file_values.is_in(git, sha, changes)
        ):
            left, contents = [change for change in left if change.key == DREAM_CURSOR], []
        steps = [
            step._replace(outside=file_values.without(change, step.current, step.target))
            for change, step in self._each(contents)
        ]
        self._apply(operation, left, contents, steps)
        if git is not None:
            git_tidy.tidy(git, self._paths)

    def _is_passed(self, change: Change) -> bool:
        """Whether another Dream moved the cursor on meanwhile."""
        try:
            self._step(change)
        except Conflict:
            return True
        return False

    def retreat(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Take back what a killed process wrote and did not commit."""
        self._settle(changes)
        contents = [change for change in changes if change.key != DREAM_CURSOR]
        steps = [step._replace(outside=None) for _, step in self._each(contents)]
        self._apply(operation, changes, contents, steps)

    def _each(self, changes: Sequence[Change]) -> list[tuple[Change, Step]]:
        return [(change, self._step(change)) for change in changes]

    def _apply(
        self, operation: Operation, changes: Sequence[Change], contents: Sequence[Change], steps: Sequence[Step]
    ) -> None:
        cursors = [self._step(change) for change in changes if change.key == DREAM_CURSOR]
        back = [step for step in cursors if file_steps.goes_back(step)]
        git, problem = self._history(operation)
        if git is not None:
            file_steps.commit_outside(git, steps, operation.label)
        done: list[Step] = []
        whole = 0
        head = git.head() if git is not None else None
        try:
            for step in back:
                done.append(step)
                file_steps.write(step)
                whole = len(done)
            for change, step in zip(contents, steps, strict=True):
                done.append(step)  # before: a write may fail when the file has its name already
                self._write(done, change, git, operation.label)
                whole = len(done)
            head = git.head() if git is not None else None
            committed = None
            files, left = file_steps.committed(git, [*done, *cursors]) if git is not None else ({}, [])
            if git is not None and files:
                from nanomem_tui.store import file_commits

                committed = git.commit_files(files, file_commits.message(operation))
            if git is not None and left:
                fix = "commit it yourself"
                what = "not committed: it is staged, or the same lines have changes that are not committed"
                problem = Problem(what, " and ".join(left), fix=fix, severity="warning")
            for step in (step for step in cursors if step not in back):
                done.append(step)
                file_steps.write(step)
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
        file_steps.wait_for_stale(steps)
        made = None
        for written in steps:
            step = written
            for _ in range(_TRIES):
                with contextlib.suppress(NanomemError):
                    if not file_steps.is_overwritten(step, self.load(step.key).data):
                        break
                    step = self._fit(step.key, step.current, step.target)
                    made = file_steps.put_back(git, step, label) or made
        return made

    def _history(self, operation: Operation) -> tuple[GitHistory | None, Problem | None]:
        if not self._paths.is_versioned:
            return None, None
        from nanomem_tui.store import file_commits

        return file_commits.history_for(self._paths, self._git(), operation)

    def _write(self, done: list[Step], change: Change, git: GitHistory | None, label: str) -> None:
        """Make the last step of `done`; where somebody writes that file in this moment, what they wrote is merged."""
        for left in reversed(range(_TRIES)):
            try:
                file_steps.write(done[-1])
                break
            except Conflict:
                if not left:
                    raise
            from nanomem_tui.store import swap

            swap.wait_for_writers(done[-1].path, _WRITER_WAIT)
            done[-1] = self._step(change)
            if git is not None:
                file_steps.commit_outside(git, done[-1:], label)

    def _take_back(self, done: Sequence[Step], whole: int) -> None:
        """Make what was begun undone; what somebody wrote since is kept. Only the first `whole` were surely written."""
        for number, step in reversed([*enumerate(done)]):
            for _ in range(_TRIES):
                try:
                    back = self._fit(step.key, step.target, step.current)
                    if number < whole or back.current == step.target:
                        file_steps.write(back)
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
