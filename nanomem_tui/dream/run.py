"""One Dream: new history entries in, one operation out, in which the files, the commit and the cursor move together.

Owns the order of things: read the cursor and the batch, ask the Dreamer, hold its edits against the guards, hand one
operation to the pipeline. Must not write a file itself; the only thing it makes is the lock that keeps Dreams apart.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from nanomem_tui.agents.archive import HistoryEntry, ReadTo
from nanomem_tui.agents.git_history import VERSIONED, GitHistory
from nanomem_tui.core import atomic
from nanomem_tui.core.errors import Conflict, NothingToDo, Refused, from_os_error
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.paths import DREAM_CURSOR, Paths
from nanomem_tui.core.text import counted, whole
from nanomem_tui.dream import repository, unread
from nanomem_tui.dream.commit_message import commit_message
from nanomem_tui.dream.dreamer import Dreamer, Watch, nobody
from nanomem_tui.dream.edits import TITLES, LineEdit, apply_edits
from nanomem_tui.dream.facts import Skipped
from nanomem_tui.dream.guards import Limits, Refusal, check, discreet, evidence_of
from nanomem_tui.dream.headings import Owned, emptied, nobodys
from nanomem_tui.dream.hunks import HunkLayer, keepable
from nanomem_tui.dream.queue import DreamQueue, Queue
from nanomem_tui.dream.result import DreamResult, passed_over
from nanomem_tui.dream.review import WAITS, asked, masked, possible, rejected_changes, waiting_changes
from nanomem_tui.dream.rules import RulesDreamer
from nanomem_tui.dream.tidy import day_of
from nanomem_tui.language import secrets
from nanomem_tui.store import forgotten
from nanomem_tui.store.files import layer as files_layer
from nanomem_tui.store.files import merge
from nanomem_tui.store.files.layer import FileLayer
from nanomem_tui.store.files.presence import Presence

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
        owned: Owned = nobodys,
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
        watch: Watch = nobody,
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
            result = replace(result, notes=(*result.notes, *repository.foreseen(self._paths, self._git())))
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
        """The Dream that a dry run `proposed`, with the edits that a person chose, in their words, as one commit.

        `waiting` are those to be decided later; `rejected` ones are remembered, and not proposed again for the same
        entries; all others are let go. The cursor moves as it would have. Raises
        Conflict when another Dream was quicker or a line to change is gone, BadInput for what is no line, Refused while
        another Dream runs.
        """
        self._refuse_beside_the_agent()
        for edit in chosen:
            possible(edit)
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
            repository.begun(self._paths, self._git())
            text = f"dream: nanomem passed over entry {cursor}\n\nNo Dreamer could read it: {secrets.mask(why)}"
            left = max(cursor, self.queue().cursor)
            meta = {"commit": text, "started_by": started_by, "read_to": list(ReadTo.of(left, waiting[0]))}
            change = self._files.change(DREAM_CURSOR, str(left))
            label = f"Dream: entry {cursor} passed over"
            return self._perform(new_operation("dream.pass", label, [change], actor="dream", meta=meta))

    def _commit(self, result: DreamResult, started_by: str, rejected: Sequence[Refusal] = ()) -> DreamResult:
        self._keep_unreadable(result.unreadable)
        made = repository.begun(self._paths, self._git()) or repository.foreseen(self._paths, self._git())
        done = self._perform(self._operation(result, started_by, rejected))
        without = self._files.uncommitted(done)
        left = (f"made without a commit: {without.text()}",) if without is not None else ()
        notes = (*made, *left, *repository.cleaned(self._git()))
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
        repository.cleaned(self._git())

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
        """What a Dream may read now: for a model also what the rules could not read, where nothing is new. Raises
        NothingToDo, or Refused when the cursor is ahead of all entries."""
        if queue.waiting:
            return queue.waiting
        if queue.unread and dreamer.name == "model":
            return queue.unread
        if (ahead := queue.too_far(self._git())) is not None:
            raise Refused(ahead.what, ahead.where, ahead.fix)
        if lines := queue.passed():
            why_none += f"; {passed_over(lines)}"
        if queue.unread:
            why_none += f"; {unread.told([entry.cursor for entry in queue.unread])}"
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
        checked = repository.with_versions(checked, before, self._paths, self._git())
        skipped = [one for one in proposal.skipped if one.cursor <= last]
        result = DreamResult(
            read=len(done),
            cursor_before=queue.cursor,
            cursor_after=max(queue.cursor, done[-1].cursor) if is_new else queue.cursor,
            first=batch[0].cursor,
            last=last,
            read_to=done[-1],
            edits=checked.edits,
            refused=tuple(map(discreet, (*checked.refused, *left))),
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
        """The result with the files that come of it: a heading of ours goes with its last line."""
        changed = {
            name: emptied(before[name], text, partial(self._owned, name))
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
        layer = HunkLayer(self._paths)
        waiting = {asked(hunk.edit, hunk.dreamer): hunk.why for hunk in layer.read()[0]}
        rejected = {asked(hunk.edit, hunk.dreamer) for hunk in layer.rejected()}
        others: list[LineEdit] = []
        left: list[Refusal] = []
        again: list[Skipped] = []
        for one in (*(Refusal(edit, "") for edit in edits), *refused):
            edit, key = one.edit, asked(one.edit, dreamer)
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
        known = {asked(hunk.edit, hunk.dreamer) for hunk in HunkLayer(self._paths).read()[0]}
        gone = forgotten.load(self._paths)
        barred = [one for one in result.refused if gone.value(one.edit.to_json())]
        kept = [one for one in result.refused if keepable(one.edit) and one not in barred]
        new = [one for one in kept if asked(one.edit, result.dreamer) not in known]
        told = (
            (len(new), "to the inbox"),
            (len(kept) - len(new), "in the inbox already"),
            (len(barred), "refused as forgotten"),
        )
        # In this order: what waits for a person is kept before the cursor passes the entries that ask for it.
        changes: list[Change] = waiting_changes(new, result.dreamer)
        changes += unread.noted(self._paths, result.unread, result.again)
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
            "refused": [{**masked(r.edit).to_json(), "reason": r.why} for r in result.refused[:_MAX_KEPT]],
        }
        if result.read_to is not None and not result.again:
            meta["read_to"] = list(ReadTo.of(result.cursor_after, result.read_to))
        if result.facts_left:
            meta["left"] = [
                {**line.to_json(), "text": whole(secrets.mask(line.text))} for line in result.facts_left[:_MAX_KEPT]
            ]
        if rejected:
            meta["rejected"] = [masked(one.edit).to_json() for one in rejected[:_MAX_KEPT]]
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
    """The same Dream with each edit waiting for a person, and no file changed."""
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
    """The oldest `size` entries, and any more that carry the last one's cursor: a cursor is done as a whole."""
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
    """The entries of a batch, in file order, up to the first whose cursor goes back."""
    end = next((at for at in range(1, len(batch)) if batch[at].cursor < batch[at - 1].cursor), len(batch))
    return batch[:end]


def _why_fewer(batch: Sequence[HistoryEntry], read: int, limit: int) -> tuple[str, ...]:
    """Why a Dream ended before the end of its batch: a line to tell, or none."""
    if read == len(batch):
        return ()
    of = f"{read} of {counted(len(batch), 'entry', 'entries')} were read"
    return (f"{of}: the rest asks for more than {counted(limit, 'edit')} in all, and waits for the next Dream",)
