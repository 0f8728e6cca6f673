"""Run one Dream: new history entries in, one operation out that moves the files, the commit and the cursor together.

Owns the order: read the cursor and the batch, ask the Dreamer, check its edits against the guards, perform one
operation. It also applies the edits that a person chose, and reports what killed processes left unfinished. Must not
write a file itself; it creates only the lock that keeps Dreams apart.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.archive import HistoryEntry, ReadTo
from nanomem_tui.agents.git_history import VERSIONED, GitHistory, find_repository
from nanomem_tui.core import atomic, merge
from nanomem_tui.core.errors import (
    BadInput,
    Conflict,
    NanomemError,
    NothingToDo,
    Problem,
    Refused,
    from_os_error,
)
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.paths import DREAM_CURSOR, Paths
from nanomem_tui.core.text import counted, without_lone_surrogates
from nanomem_tui.dreams import review, rules
from nanomem_tui.dreams.edits import (
    TITLES,
    LineEdit,
    Owned,
    apply_edits,
    day_of,
    drop_empty_headings,
    owns_none,
    rebase,
)
from nanomem_tui.dreams.entries import Dreamer, Skipped, Watch, no_watcher
from nanomem_tui.dreams.guards import Checked, Limits, Refusal, check, evidence_of, without_secrets
from nanomem_tui.dreams.log import DreamQueue, Queue
from nanomem_tui.dreams.review import (
    WAITS,
    StoredEditLayer,
    can_wait,
    check_possible,
    kept_identity,
    mask_edit,
    rejected_changes,
    waiting_changes,
)
from nanomem_tui.dreams.rules import RulesDreamer
from nanomem_tui.language import secrets
from nanomem_tui.memory.repairs import describe_half_done
from nanomem_tui.model.client import Usage
from nanomem_tui.store import forgotten
from nanomem_tui.store.database.operation_log import STUCK
from nanomem_tui.store.files import layer as files_layer
from nanomem_tui.store.files.layer import FileLayer
from nanomem_tui.store.files.presence import Presence

if TYPE_CHECKING:
    from nanomem_tui.memory.parts import Memory


# The repository around a Dream: made where there is none, put in order where something was left, and what to say.


def begin_versions(paths: Paths, git: GitHistory | None) -> tuple[str, ...]:
    """See to it that versions are kept; a line to tell where one was begun, or none can be. Raises OSError's errors."""
    if git is not None:
        return ()
    if GitHistory.init(paths) is None:
        return (_none_kept(paths),)
    return (f"made a git repository in {paths.workspace}; its first commit holds the memory files as they were before",)


def foresee_problems(paths: Paths, git: GitHistory | None) -> tuple[str, ...]:
    """Return what to say before a Dream: that it would be refused, or not all of it would have a version."""
    if git is not None:
        names = " and ".join(git.unversioned())
        if git.inside:
            return (f"no versions of {names} are kept: {git.git_dir.parent} does not track them",) if names else ()
        waits = f"keeps no versions of {names}: what Dreams would change there waits in the inbox"
        return (f"{paths.relative(git.git_dir)} {waits}",) if names else ()
    if not paths.is_versioned:
        return ()
    if problems := find_repository(paths).problems:
        return tuple(f"a Dream would be refused: {problem.text()}" for problem in problems)
    return (_none_kept(paths),)


def _none_kept(paths: Paths) -> str:
    return f"no version is kept: {find_repository(paths).why_none}, and no repository is made inside another"


def check_versions(checked: Checked, before: Mapping[str, str], paths: Paths, git: GitHistory | None) -> Checked:
    """Return what a Dream writes by itself: an edit of a file that no commit can hold is refused, and waits for a
    person.

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


def clean_repository(git: GitHistory | None) -> tuple[str, ...]:
    """Put the repository in order; a line to tell where another program keeps it from that."""
    left = git.tidy() if git is not None else ()
    if not left:
        return ()
    what = f"`git status` shows {', '.join(left)} as staged, and a plain `git commit` would take this back"
    why = "another program holds .git/index.lock; the next Dream mends it"
    return (f"{what}: {why} (remove the lock if no git command is running)",)


# -- What a Dream came to, as a value. Must not run one ---------------------------------------------------------------

_MOST_REASONS = 3


def describe_passed_over(lines: Sequence[int]) -> str:
    """Return which lines of the history could not be read, and what became of them."""
    named = ", ".join(str(line) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
    stay = "is passed over and stays there" if len(lines) == 1 else "are passed over and stay there"
    which = counted(len(lines), "line")
    return f"{which} of history.jsonl cannot be read ({named}): what Dreams cannot read {stay}; see `nanomem doctor`"


@dataclass(frozen=True, slots=True)
class DreamResult:
    """What one Dream read, changed and refused. `files`: lines (added, removed) by file. A dry run has no operation.

    `analysis` is what the Dreamer made of the entries, `usage` what a model took for it.

    `notes`: what of it is out of the ordinary, each a line to be told: a repository was made, or none keeps it.

    `declined`: how many of the edits that a review showed a person neither took nor left for later.

    `unreadable`: the lines of the history that it passed over, because they are no entry.

    `unread`: the entries that the rules passed and could not read, which wait for a model; `again`: those of them that
    it read, beside which the cursor stays.

    `first` and `last` are the cursors between which those lie that it read, `read_to` the last of them in file order.
    """

    read: int
    cursor_before: int
    cursor_after: int
    edits: tuple[LineEdit, ...]
    refused: tuple[Refusal, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    remaining: int = 0
    unreadable: tuple[int, ...] = ()
    sha: str | None = None
    operation: Operation | None = None
    dreamer: str = "rules"
    analysis: str = ""
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    declined: int = 0
    unread: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    first: int = 0
    last: int = 0
    read_to: HistoryEntry | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last entry that it read."""
        if self.again:
            return self.again[0], self.again[-1]
        return self.first or self.cursor_before + 1, self.last or self.cursor_after

    @property
    def span(self) -> str:
        """Which entries it read."""
        return "{} to {}".format(*self.ends) + (" again" if self.again else "")

    @property
    def unchanged(self) -> str:
        """What to say of a Dream that changed no file: what it found, and why that changed nothing."""
        told = [f"{counted(self.declined, 'edit')} not taken"] if self.declined else []
        if facts := [line.why.partition(": ")[0] for line in self.facts_left]:
            reasons = [f"{why} ({number:,})" for why, number in Counter(facts).most_common()]
            more = ["…"] if len(reasons) > _MOST_REASONS else []
            told.append(f"{counted(len(facts), 'fact')} found: {', '.join((*reasons[:_MOST_REASONS], *more))}")
        if self.unread:
            told.append(rules.describe_unread(self.unread))
        if told:
            return f"nothing changed; {', '.join(told)}"
        return "nothing changed" if self.edits or self.refused else "nothing to remember"

    @property
    def summary(self) -> str:
        """What it changed, in a few words."""
        if not self.files:
            return self.unchanged
        added, removed = (sum(counts[side] for counts in self.files.values()) for side in (0, 1))
        return f"+{added} -{removed} in {', '.join(self.files)}"

    @property
    def facts_left(self) -> tuple[Skipped, ...]:
        """The facts that were found, and of which no edit was made."""
        return tuple(line for line in self.skipped if line.fact)

    def to_json(self) -> dict[str, Any]:
        """Return the counts and edits as a JSON object."""
        return {
            "read": self.read,
            "remaining": self.remaining,
            "unreadable": list(self.unreadable),
            "unread": list(self.unread),
            "again": list(self.again),
            "cursor_before": self.cursor_before,
            "cursor_after": self.cursor_after,
            "edits": [mask_edit(edit).to_json() for edit in self.edits],
            "refused": [{**mask_edit(refusal.edit).to_json(), "reason": refusal.why} for refusal in self.refused],
            "skipped": [line.to_json() for line in self.skipped],
            "files": {name: {"added": added, "removed": removed} for name, (added, removed) in self.files.items()},
            "sha": self.sha,
            "operation": self.operation.id if self.operation else None,
            "dreamer": self.dreamer,
            "analysis": self.analysis,
            "usage": self.usage.to_json(),
            "notes": list(self.notes),
        }


# The message of the commit that a Dream makes: how many entries were read, and of each file how many lines changed.
# No word of a memory. Pure.


def commit_message(dreamer: str, result: DreamResult, elsewhere: Collection[str]) -> str:
    """Return the commit message: a prefix that the agent's own log looks for, then lines by file as the agent writes
    them.

    Files `elsewhere` are not in the commit."""
    lines = [f"dream: nanomem {dreamer}, {_count(result.read, 'entry', 'entries')}"]
    files = {name: counts for name, counts in result.files.items() if name not in elsewhere}
    if files:
        added = sum(counts[0] for counts in files.values())
        removed = sum(counts[1] for counts in files.values())
        lines += ["", *(f"{name}: +{counts[0]} -{counts[1]}" for name, counts in files.items())]
        changed = _count(len(files), "memory file", "memory files")
        lines.append(
            f"{changed} changed, {_count(added, 'insertion', 'insertions')}(+), "
            f"{_count(removed, 'deletion', 'deletions')}(-)"
        )
    lines += ["", f"Entries {result.span}."]
    if result.unreadable:
        lines.append(f"Passed over {_count(len(result.unreadable), 'line', 'lines')} that cannot be read.")
    return "\n".join(lines)


def _count(number: int, one: str, many: str) -> str:
    """As git and the agent write it, without a mark between thousands."""
    return f"{number} {one if number == 1 else many}"


MAX_BATCH_SIZE = 20
MAX_ITERATIONS = 10
_MAX_KEPT = 200
_MAX_ANALYSIS = 20_000


class DreamRunner(DreamQueue):
    """Runs Dreams on one workspace, one at a time."""

    def __init__(
        self,
        paths: Paths,
        git: Callable[[], GitHistory | None],
        files: FileLayer,
        perform: Perform,
        presence: Callable[[], Presence],
        dreamer: Dreamer | None = None,
        limits: Limits | None = None,
        settle: Callable[[], None] | None = None,
        owned: Owned = owns_none,
        read_to: Callable[[], ReadTo | None] = lambda: None,
    ) -> None:
        super().__init__(paths, files, presence, read_to)
        self._owned = owned
        self._settle = settle
        self._git = git
        self._perform = perform
        self._dreamer: Dreamer = dreamer or RulesDreamer()
        self._limits = limits or Limits()

    def run(
        self,
        *,
        dry_run: bool = False,
        max_batch_size: int = MAX_BATCH_SIZE,
        max_iterations: int = MAX_ITERATIONS,
        whole_batch: bool = False,
        timeout: float | None = None,
        started_by: str = "human",
        watch: Watch = no_watcher,
        dreamer: Dreamer | None = None,
        review: bool = False,
    ) -> DreamResult:
        """One Dream over the oldest `max_batch_size` entries, with at most `max_iterations` edits, of `dreamer`.

        Entries beyond that many edits wait for the next Dream; with `whole_batch` none does: there may be that many
        edits for each entry, and one beyond waits for a person. What the guards refuse waits for a person, and with
        `review` every edit does. A dry run writes nothing at all; after `timeout` seconds no change is begun. A plain
        undo takes back what a person started; a schedule names itself in `started_by`.
        `watch` is told each step before it is done; an error that it raises ends the Dream, and nothing is changed.
        A line of the history that cannot be read is passed over, as by an agent, and named; a copy of it is kept.
        Raises NothingToDo when no entry waits, Refused while another Dream runs, when the cursor is ahead of the last
        entry, the time is up or a file holds bytes that are no UTF-8, Conflict when somebody changed a line that is to
        be edited.
        """
        dreamer, step = dreamer or self._dreamer, _in_time(watch, timeout)
        if not dry_run:
            self._refuse_beside_the_agent()
            self._files.refuse_foreign(VERSIONED)
            self._clean_up()
        waiting = self._waiting(self.queue(), "no history entry is new since the last Dream", dreamer)
        if dry_run:
            result = self._propose(dreamer, max_batch_size, max_iterations, step, whole_batch=whole_batch)
            result = replace(result, notes=(*result.notes, *foresee_problems(self._paths, self._git())))
            return _all_for_review(result) if review else result
        with self._alone():
            step(f"reading {counted(min(len(waiting), max_batch_size), 'entry', 'entries')}")
            result = self._propose(dreamer, max_batch_size, max_iterations, step, whole_batch=whole_batch)
            result = _all_for_review(result) if review else result
            step(f"writing {result.summary}")
            self._refuse_beside_the_agent()  # a model takes minutes, in which the agent may have begun
            self._refuse_when_late(result)
            return self._commit(result, started_by)

    def apply(
        self,
        proposed: DreamResult,
        chosen: Sequence[LineEdit],
        waiting: Sequence[Refusal] = (),
        rejected: Sequence[Refusal] = (),
        *,
        started_by: str = "human",
    ) -> DreamResult:
        """Return the Dream that a dry run `proposed`, with the edits that a person chose, in their words, as one
        commit.

        `waiting` are those to be decided later; `rejected` ones are remembered, and not proposed again for the same
        entries; all others are let go. The cursor moves as it would have. Raises
        Conflict when another Dream was quicker or a line to change is gone, BadInput for what is no line, Refused while
        another Dream runs.
        """
        self._refuse_beside_the_agent()
        for edit in chosen:
            check_possible(edit)
        with self._alone():
            self._clean_up()
            self._refuse_when_late(proposed)
            before = {name: self._text(name) for name in TITLES}
            declined = len(proposed.edits) + len(proposed.refused) - len(chosen) - len(waiting)
            decided = replace(proposed, edits=tuple(chosen), refused=tuple(waiting), declined=max(0, declined))
            result = self._changed(decided, before, apply_edits(before, chosen))
            return self._commit(result, started_by, rejected)

    def pass_over(self, cursor: int, why: str, *, started_by: str = "human") -> Operation:
        """Move the cursor past the next entry, which no Dreamer could read; the entry stays where it is.

        Raises Conflict when it is not the next one any more, Refused while another Dream runs.
        """
        self._refuse_beside_the_agent()
        with self._alone():
            self._clean_up()
            waiting = self.queue().waiting
            if not waiting or waiting[0].cursor != cursor:
                raise Conflict("another Dream was quicker", DREAM_CURSOR, "nothing was changed")
            begin_versions(self._paths, self._git())
            text = f"dream: nanomem passed over entry {cursor}\n\nNo Dreamer could read it: {secrets.mask(why)}"
            left = max(cursor, self.queue().cursor)
            meta = {"commit": text, "started_by": started_by, "read_to": list(ReadTo.from_entry(left, waiting[0]))}
            change = self._files.change(DREAM_CURSOR, str(left))
            label = f"Dream: entry {cursor} passed over"
            return self._perform(new_operation("dream.pass", label, [change], actor="dream", meta=meta))

    def _commit(self, result: DreamResult, started_by: str, rejected: Sequence[Refusal] = ()) -> DreamResult:
        self._keep_unreadable(result.unreadable)
        made = begin_versions(self._paths, self._git()) or foresee_problems(self._paths, self._git())
        done = self._perform(self._operation(result, started_by, rejected))
        without = self._files.uncommitted(done)
        left = (f"made without a commit: {without.text()}",) if without is not None else ()
        notes = (*made, *left, *clean_repository(self._git()))
        return replace(result, operation=done, sha=self._files.commit_of(done), notes=(*result.notes, *notes))

    def _keep_unreadable(self, numbers: Sequence[int]) -> None:
        """Copies of lines that are passed over: nobody reads them again, and who mends the archive may lose them."""
        lines = atomic.read_stable(self._paths.history).split(b"\n") if numbers else []
        for number in numbers:
            if number <= len(lines):
                name = f"history.jsonl-line-{number}"
                atomic.quarantine(self._paths.quarantine, name, lines[number - 1] + b"\n")

    def _clean_up(self) -> None:
        """Finish what killed Dreams left half done, before anything is read. Raises what keeps that from being done,
        Refused when the versions of the files cannot be read."""
        files_layer.refuse_unreadable(self._paths)
        if self._settle is not None:
            self._settle()
        clean_repository(self._git())

    def _refuse_when_late(self, result: DreamResult) -> None:
        if self.queue().cursor != result.cursor_before:
            raise Conflict("another Dream was quicker", DREAM_CURSOR, "nothing was changed; run it again")

    def _refuse_beside_the_agent(self) -> None:
        if self._presence().dreaming:
            raise Refused("the agent is dreaming now", "", "wait until it is done")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            atomic.make_folder(self._paths.data)
            with atomic.locked(self.lock, wait=0):
                yield
        except Refused as error:
            if error.where == str(self.lock):
                raise Refused("another Dream is running", "", "wait until it is done") from error
            raise
        except OSError as error:
            raise from_os_error(error, "beginning a Dream") from error

    def _waiting(self, queue: Queue, why_none: str, dreamer: Dreamer) -> tuple[HistoryEntry, ...]:
        """Return what a Dream may read now: for a model also what the rules could not read, where nothing is new.
        Raises NothingToDo, or Refused when the cursor is ahead of all entries."""
        if queue.waiting:
            return queue.waiting
        if queue.unread and dreamer.name == "model":
            return queue.unread
        if (ahead := queue.too_far(self._git())) is not None:
            raise Refused(ahead.what, ahead.where, ahead.fix)
        if lines := queue.passed():
            why_none += f"; {describe_passed_over(lines)}"
        if queue.unread:
            why_none += f"; {rules.describe_unread([entry.cursor for entry in queue.unread])}"
        raise NothingToDo(f"nothing to dream about: {why_none}")

    def _propose(
        self, dreamer: Dreamer, max_batch_size: int, max_iterations: int, watch: Watch, *, whole_batch: bool = False
    ) -> DreamResult:
        queue = self.queue()
        waiting = self._waiting(queue, "another Dream was quicker", dreamer)
        in_file = _batch(waiting, max_batch_size)
        result = self._read_batch(queue, in_file, dreamer, max_iterations, watch, whole_batch=whole_batch)
        if result.read < len(in_file) and (rising := _rising(in_file)) != in_file:
            # Only of cursors that rise can a Dream have read some and leave the rest to the next one.
            result = self._read_batch(queue, rising, dreamer, max_iterations, watch, whole_batch=whole_batch)
        return replace(result, remaining=len(waiting) - result.read + queue.more)

    def _read_batch(
        self,
        queue: Queue,
        in_file: Sequence[HistoryEntry],
        dreamer: Dreamer,
        max_iterations: int,
        watch: Watch,
        *,
        whole_batch: bool,
    ) -> DreamResult:
        batch = sorted(in_file, key=lambda entry: entry.cursor)
        if whole_batch:
            max_iterations *= len(batch)
        is_new = bool(queue.waiting)
        before = {name: self._text(name) for name in TITLES}
        limits = replace(self._limits, forgotten=forgotten.load(self._paths))
        if isinstance(dreamer, RulesDreamer):
            dreamer = dreamer.knowing(queue.entries, limits)
        proposal = dreamer.propose(batch, before, steps=max_iterations, watch=watch)
        if proposal.done is not None:
            batch = [entry for entry in batch if entry.cursor <= proposal.done]
        edits, dropped, last = _within(proposal.edits, batch, max_iterations, whole_batch=whole_batch)
        done = [entry for entry in in_file if entry.cursor <= last]
        refused = [*dropped, *proposal.refused]
        edits, left, again = self._not_asked_before(edits, refused, dreamer.name)
        checked = check(before, edits, evidence_of(batch), limits, day_of(queue.entries))
        checked = check_versions(checked, before, self._paths, self._git())
        skipped = [one for one in proposal.skipped if one.cursor <= last]
        result = DreamResult(
            read=len(done),
            cursor_before=queue.cursor,
            cursor_after=max(queue.cursor, done[-1].cursor) if is_new else queue.cursor,
            first=batch[0].cursor,
            last=last,
            read_to=done[-1],
            edits=checked.edits,
            refused=tuple(map(without_secrets, (*checked.refused, *left))),
            skipped=tuple(_without_forgotten(one, limits.forgotten) for one in (*skipped, *again)),
            unreadable=queue.passed(done[-1].line) if is_new else (),
            unread=tuple(dict.fromkeys(one.cursor for one in proposal.skipped if one.unread and one.cursor <= last)),
            again=() if is_new else tuple(dict.fromkeys(entry.cursor for entry in batch if entry.cursor <= last)),
            dreamer=dreamer.name,
            analysis=proposal.analysis,
            usage=proposal.usage,
            notes=_why_fewer(in_file, len(done), max_iterations),
        )
        return self._changed(result, before, checked.files)

    def _changed(self, result: DreamResult, before: Mapping[str, str], after: Mapping[str, str]) -> DreamResult:
        """Return the result with the files that come of it: a heading of ours goes with its last line."""
        changed = {
            name: drop_empty_headings(before[name], text, partial(self._owned, name))
            for name, text in after.items()
            if text != before[name]
        }
        files = {name: merge.count_changes(before[name], text) for name, text in changed.items()}
        return replace(result, files=files, before={name: before[name] for name in changed}, after=changed)

    def _not_asked_before(
        self, edits: Sequence[LineEdit], refused: Sequence[Refusal], dreamer: str
    ) -> tuple[list[LineEdit], list[Refusal], list[Skipped]]:
        """(edits to hold against the guards, those refused or waiting already, those that a person rejected): an entry
        that is read again decides nothing that is up to a person, and nothing that one decided."""
        layer = StoredEditLayer(self._paths)
        waiting = {kept_identity(hunk.edit, hunk.dreamer): hunk.why for hunk in layer.read()[0]}
        rejected = {kept_identity(hunk.edit, hunk.dreamer) for hunk in layer.rejected()}
        others: list[LineEdit] = []
        left: list[Refusal] = []
        again: list[Skipped] = []
        for one in (*(Refusal(edit, "") for edit in edits), *refused):
            edit, key = one.edit, kept_identity(one.edit, dreamer)
            if key in rejected:
                cursor = max(edit.evidence, default=0)
                again.append(Skipped(cursor, secrets.mask(edit.new or edit.old), "a person rejected it", fact=True))
            elif one.why or key in waiting:
                left.append(Refusal(edit, waiting.get(key, one.why)))
            else:
                others.append(edit)
        return others, left, again

    def _text(self, name: str) -> str:
        loaded = self._files.load(name)
        if any(problem.severity == "error" and "UTF-8" in problem.what for problem in loaded.problems):
            raise Refused("a memory file holds bytes that are no UTF-8", name, "repair it first: see `nanomem doctor`")
        return loaded.text or ""

    def _operation(self, result: DreamResult, started_by: str, rejected: Sequence[Refusal]) -> Operation:
        known = {kept_identity(hunk.edit, hunk.dreamer) for hunk in StoredEditLayer(self._paths).read()[0]}
        gone = forgotten.load(self._paths)
        barred = [one for one in result.refused if gone.value(one.edit.to_json())]
        kept = [one for one in result.refused if can_wait(one.edit) and one not in barred]
        new = [one for one in kept if kept_identity(one.edit, result.dreamer) not in known]
        told = (
            (len(new), "to the inbox"),
            (len(kept) - len(new), "in the inbox already"),
            (len(barred), "refused as forgotten"),
        )
        # In this order: what waits for a person is kept before the cursor passes the entries that ask for it.
        changes: list[Change] = waiting_changes(new, result.dreamer)
        changes += review.unread_changes(self._paths, result.unread, result.again)
        for name, text in result.after.items():
            change = self._files.change(name, text)
            old = result.before[name]
            # The value before is what the Dreamer read; whoever wrote since then is merged with, or is a conflict.
            before = change.before if (change.before or {}).get("text", "") == old else {"text": old}
            changes.append(Change(change.layer, name, before, change.after))
        if not result.again:
            changes.append(self._files.change(DREAM_CURSOR, str(result.cursor_after)))
        changes += rejected_changes(rejected, result.dreamer)
        meta = {  # every edit with its evidence: blame is to name the entries of each line that a Dream wrote
            "commit": commit_message(result.dreamer, result, git.unversioned() if (git := self._git()) else ()),
            "started_by": started_by,
            "dreamer": result.dreamer,
            "entries": result.read,
            "edits": [edit.to_json() for edit in result.edits],
            "refused": [{**mask_edit(r.edit).to_json(), "reason": r.why} for r in result.refused[:_MAX_KEPT]],
        }
        if result.read_to is not None and not result.again:
            meta["read_to"] = list(ReadTo.from_entry(result.cursor_after, result.read_to))
        if result.facts_left:
            meta["left"] = [
                {**line.to_json(), "text": without_lone_surrogates(secrets.mask(line.text))}
                for line in result.facts_left[:_MAX_KEPT]
            ]
        if rejected:
            meta["rejected"] = [mask_edit(one.edit).to_json() for one in rejected[:_MAX_KEPT]]
        if result.usage.calls:
            meta |= {"analysis": result.analysis[:_MAX_ANALYSIS], "usage": result.usage.to_json()}
        label = [f"Dream: {counted(result.read, 'entry', 'entries')}", result.summary]
        label += [f"{counted(number, 'edit')} {what}" for number, what in told if number]
        return new_operation("dream.run", ", ".join(label), changes, actor="dream", meta=meta)


def _without_forgotten(skipped: Skipped, gone: forgotten.Forgotten) -> Skipped:
    """A line that was left out, without what a person wanted to be forgotten: such lines are shown."""
    if not gone or gone.text(skipped.text) is None:
        return skipped
    return replace(skipped, text=gone.taken_out(skipped.text), why=forgotten.WHY)


def _all_for_review(result: DreamResult) -> DreamResult:
    """Return the same Dream with each edit waiting for a person, and no file changed."""
    waiting = tuple(Refusal(edit, WAITS) for edit in result.edits)
    return replace(result, edits=(), refused=(*waiting, *result.refused), files={}, before={}, after={})


def _in_time(watch: Watch, timeout: float | None) -> Watch:
    """`watch`, and an end after `timeout` seconds: no step is begun then. Raises Refused."""
    deadline = None if timeout is None else time.monotonic() + timeout

    def step(what: str) -> None:
        watch(what)
        if deadline is not None and time.monotonic() > deadline:
            raise Refused(f"the Dream took longer than {timeout:g} s", "", "nothing was changed; give it more time")

    return step


def _batch(waiting: Sequence[HistoryEntry], size: int) -> Sequence[HistoryEntry]:
    """Return the oldest `size` entries, and any more that carry the last one's cursor: a cursor is done as a whole."""
    size = max(1, size)
    while size < len(waiting) and waiting[size].cursor == waiting[size - 1].cursor:
        size += 1
    return waiting[:size]


def _within(
    edits: Sequence[LineEdit], batch: Sequence[HistoryEntry], limit: int, *, whole_batch: bool
) -> tuple[list[LineEdit], list[Refusal], int]:
    """(edits to make, edits refused, last cursor done): whole entries as long as their edits fit into `limit`; with
    `whole_batch` all entries."""
    last_of = [max(edit.evidence, default=batch[-1].cursor) for edit in edits]
    if len(edits) <= limit:
        return list(edits), [], batch[-1].cursor
    if whole_batch:
        why = f"more than {counted(limit, 'edit')} in one Dream"
        return list(edits[:limit]), [Refusal(edit, why) for edit in edits[limit:]], batch[-1].cursor
    first_left_out = last_of[limit]
    done = [entry.cursor for entry in batch if entry.cursor < first_left_out]
    if done:
        kept = [edit for edit, cursor in zip(edits, last_of, strict=True) if cursor < first_left_out]
        return kept, [], done[-1]
    own = [edit for edit, cursor in zip(edits, last_of, strict=True) if cursor == first_left_out]
    why = f"one entry asks for more than {counted(limit, 'edit')}"
    return own[:limit], [Refusal(edit, why) for edit in own[limit:]], first_left_out


def _rising(batch: Sequence[HistoryEntry]) -> Sequence[HistoryEntry]:
    """Return the entries of a batch, in file order, up to the first whose cursor goes back."""
    end = next((at for at in range(1, len(batch)) if batch[at].cursor < batch[at - 1].cursor), len(batch))
    return batch[:end]


def _why_fewer(batch: Sequence[HistoryEntry], read: int, limit: int) -> tuple[str, ...]:
    """Return why a Dream ended before the end of its batch: a line to tell, or none."""
    if read == len(batch):
        return ()
    of = f"{read} of {counted(len(batch), 'entry', 'entries')} were read"
    return (f"{of}: the rest asks for more than {counted(limit, 'edit')} in all, and waits for the next Dream",)


# What a killed process recorded of the memory files and the edits that wait, and did not finish: for the doctor.


def unfinished_problems(ws: Memory) -> Iterator[Problem]:
    """A problem for each operation that a process which ended left half done, or had only recorded, and for what our
    commits left undone in the repository."""
    for entry in ws.store.unfinished():
        if entry.state == STUCK:
            fix = "look at these files, then `nanomem doctor --fix` leaves them as they are"
            yield Problem(describe_half_done(entry.operation), ws.store.where, None, fix, "warning")
        elif not ws.store.writer.is_of_here(entry):
            done = entry.operation
            what = f"{done.label} ({done.id}) was begun in another home that shares this memory, and is not finished"
            fix = "nothing can be done here, as its files lie there: the next change in that home finishes it"
            yield Problem(what, ws.store.where, None, fix, "warning")
        else:
            yield from _unfinished(ws, entry.operation, ws.store.where)
    git = ws.git()
    if git is not None and (rows := git.behind()):
        what = f"the staging area is behind the last commits ({', '.join(rows)}): a plain `git commit` takes them back"
        fix = "nothing has to be done: the next Dream mends it, or `git reset -q` in the workspace"
        yield Problem(what, ws.paths.relative(git.git_dir / "index"), None, fix, "warning")


def _unfinished(ws: Memory, operation: Operation, where: str) -> Iterator[Problem]:
    done = [_stands(ws, change) for change in operation.changes if change.layer in ("file", "hunk")]
    if done and all(done):
        return
    what, then = "recorded and never begun", "is done"
    if any(done) or not done:
        what, then = "begun, and the program ended before it was done", "is finished"
    fix = f"nothing has to be done: it {then} before the next Dream, or the next change of these files, begins"
    yield Problem(f"{operation.label} ({operation.id}) was {what}", where, None, fix, "warning")


def _stands(ws: Memory, change: Change) -> bool:
    with contextlib.suppress(NanomemError):
        return (ws.documents if change.layer == "file" else StoredEditLayer(ws.paths)).stands(change)
    return False


_TRIES = 3  # somebody may write between the look and the change


class Applicable(NamedTuple):
    """The edits that can be made, in their order, the texts that come of them, and those that cannot."""

    edits: tuple[LineEdit, ...]
    files: Mapping[str, str]
    stale: tuple[Refusal, ...]


def find_applicable(files: Mapping[str, str], edits: Iterable[LineEdit], passed: Sequence[LineEdit] = ()) -> Applicable:
    """Return what of `edits` can be made on `files`, each on top of those before it; `passed` are those that were
    proposed beside them and are not to be made now."""
    texts = dict(files)
    made: list[LineEdit] = []
    stale: list[Refusal] = []
    for edit in edits:
        try:
            check_possible(edit)
            there = rebase(edit, texts, passed)
            texts = apply_edits(texts, [there])
        except (BadInput, Conflict) as error:
            stale.append(Refusal(edit, error.what))
        else:
            made.append(there)
    return Applicable(tuple(made), texts, tuple(stale))


def apply_applicable(
    runner: DreamRunner,
    read: Callable[[str], str | None],
    proposed: DreamResult,
    chosen: Sequence[LineEdit],
    waiting: Sequence[Refusal] = (),
    rejected: Sequence[Refusal] = (),
) -> tuple[DreamResult, tuple[Refusal, ...]]:
    """`DreamRunner.apply` with those of the chosen edits that can be made, and the others, which wait beside `waiting`.

    `read` gives the text of a memory file. Raises what `apply` does, Conflict only for what is no such edit.
    """
    passed = [one.edit for one in (*waiting, *rejected)]
    for left in range(_TRIES, 0, -1):
        found = find_applicable({name: read(name) or "" for name in TITLES}, chosen, passed)
        try:
            return runner.apply(proposed, found.edits, [*waiting, *found.stale], rejected), found.stale
        except Conflict:
            if left == 1:
                raise
    raise AssertionError("unreachable")
