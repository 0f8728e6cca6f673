"""The quarantine: items, lessons and edits of Dreams that wait for a person, in one list; accepted or rejected.

A decision about several of them is one operation: `memory.quarantined_rows` accepts and rejects items and lessons,
`dreams.review` edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo
from nanomem_tui.core.operations import Change, Operation, new_operation, plan_only
from nanomem_tui.core.text import counted

if TYPE_CHECKING:
    from nanomem_tui.core.errors import Problem
    from nanomem_tui.dreams.log import EntryEvidence
    from nanomem_tui.dreams.review import Review, StoredEdit
    from nanomem_tui.memory.quarantined_rows import QuarantinedRows, Waiting
    from nanomem_tui.review.parts import ReviewedMemory

EDIT = "edit"
"""The layer of a waiting edit; the others are `item` and `lesson`."""


class WaitingEdit(NamedTuple):
    """An edit of a Dream that waits, with the same fields as a row of the inbox that waits."""

    hunk: StoredEdit

    @property
    def id(self) -> str:
        """The id of the hunk."""
        return self.hunk.id

    @property
    def layer(self) -> str:
        """`edit`."""
        return EDIT

    @property
    def old(self) -> str:
        """The whole line that goes, or moves; "" for a new one. What is secret is masked, whatever was kept."""
        return _masked(self.hunk.edit.old)

    @property
    def new(self) -> str:
        """The whole line that comes; "" for a removal."""
        edit = self.hunk.edit
        return _masked(edit.new) or (self.old if edit.op == "move" else "")

    @property
    def text(self) -> str:
        """What it would change, on one line: `- old + new`, list marks left out."""
        return " ".join(f"{sign} {_words(line)}" for sign, line in (("-", self.old), ("+", self.new)) if line)

    @property
    def why(self) -> str:
        """Why it was not made."""
        return self.hunk.why

    @property
    def since(self) -> str:
        """When it was proposed (UTC ISO)."""
        return self.hunk.at

    @property
    def where(self) -> str:
        """The file and the section that it is about: `USER.md, Health`; of a move also where to."""
        edit = self.hunk.edit
        target = edit.to_file or edit.file
        there = ", ".join(filter(None, (target, edit.section)))
        return f"{edit.file} to {there}" if edit.op == "move" else there

    @property
    def origin(self) -> str:
        """Who proposed it for which file, and from which entries: `Dream (rules) for USER.md, from #4 #5`."""
        cursors = " ".join(f"#{cursor}" for cursor in self.hunk.edit.evidence)
        return f"Dream ({self.hunk.dreamer}) for {self.where}" + (f", from {cursors}" if cursors else "")


def _masked(line: str) -> str:
    from nanomem_tui.language import secrets

    return secrets.mask(line)


def _words(line: str) -> str:
    return line.strip().lstrip("-*+ ") or line.strip()


class DecidedWaiting(NamedTuple):
    """A decision: the operation, what it was about, and what had to stay, with the reason.

    Only of several edits some may stay: one whose line is gone does not keep the others waiting.
    """

    operation: Operation
    rows: tuple[Waiting | WaitingEdit, ...]
    left: tuple[tuple[WaitingEdit, NanomemError], ...] = ()


class PlannedDecision(NamedTuple):
    """A decision that is not performed yet: its changes and free fields, what it is about, and what has to stay."""

    plans: tuple[Operation, ...]
    rows: tuple[Waiting | WaitingEdit, ...]
    left: tuple[tuple[WaitingEdit, NanomemError], ...] = ()

    @property
    def changes(self) -> list[Change]:
        """All its changes."""
        return [change for plan in self.plans for change in plan.changes]

    @property
    def meta(self) -> dict[str, Any]:
        """The free fields of its operation: how many things were decided on among them."""
        carried = {key: value for plan in self.plans for key, value in plan.meta.items()}
        return {**carried, "decided": len(self.rows)}


class Quarantine:
    """Everything quarantined in one workspace."""

    def __init__(self, ws: ReviewedMemory) -> None:
        self._ws = ws

    def list(self) -> list[Waiting | WaitingEdit]:
        """Return everything that waits, the newest first."""
        found: list[Waiting | WaitingEdit] = [*self._ws.inbox.list(), *self._edits()]
        return sorted(found, key=lambda one: (one.since, one.id), reverse=True)

    def count(self) -> int:
        """Return how many things wait; of the edits only their files are counted, none is read."""
        return self._ws.inbox.count() + edits_waiting(self._ws)

    def problems(self) -> Sequence[Problem]:
        """Return what lies among the edits and is none."""
        return self._ws.dream.review.problems() if edits_waiting(self._ws) else ()

    def get(self, row_id: str) -> Waiting | WaitingEdit:
        """Return what waits under that id, or under the one id that begins so."""
        near = [one for one in self._edits() if row_id and one.id.startswith(row_id)]
        exact = [one for one in near if one.id == row_id]
        if exact:
            return exact[0]
        try:
            row = self._ws.inbox.get(row_id)
        except NotFound:
            if len(near) == 1:
                return near[0]
            if not near:
                raise
            raise BadInput(f"{len(near)} edits begin with that id", row_id, "give more of it") from None
        if near:
            raise BadInput(f"{len(near) + 1} things that wait begin with that id", row_id, "give more of it")
        return row

    def named(self, ids: Iterable[str]) -> Sequence[Waiting | WaitingEdit]:
        """Return what waits under those ids, each once. Raises what `get` does, NothingToDo for no id."""
        found = list({one.id: one for one in map(self.get, ids)}.values())
        if not found:
            raise NothingToDo("nothing is named", "inbox", "see `nanomem inbox list`")
        return found

    def accept(self, ids: Sequence[str], text: str | None = None) -> DecidedWaiting:
        """Make rows active and edits in their files, as one operation; `text`: for the one named."""
        return self._perform("accept", self.planned("accept", ids, text))

    def reject(self, ids: Sequence[str]) -> DecidedWaiting:
        """Take rows away and let edits go, as one operation. Raises what `get` does."""
        return self._perform("reject", self.planned("reject", ids))

    def planned(self, verb: str, ids: Sequence[str], text: str | None = None) -> PlannedDecision:
        """Return what `accept` or `reject` (the `verb`) would do; raises what they do."""
        found = self.named(ids)
        rows = [one.id for one in found if not isinstance(one, WaitingEdit)]
        edits = sorted((one for one in found if isinstance(one, WaitingEdit)), key=lambda one: (one.since, one.id))
        if verb == "reject":
            plans = [self._planning(lambda quarantined, _: quarantined.reject(rows))] if rows else []
            plans += [self._planning(lambda _, review: review.reject([one.id for one in edits]))] if edits else []
            return PlannedDecision(tuple(plans), tuple(found))
        if text is not None and len(found) != 1:
            raise BadInput("one text for several things", ", ".join(ids), "accept them one by one")
        left = self._impossible(edits) if len(found) > 1 else ()
        stays = {one.id for one, _ in left}
        made = [one.id for one in edits if one.id not in stays]
        if not rows and not made:
            raise left[0][1]
        plans = [self._planning(lambda quarantined, _: quarantined.accept(rows, text))] if rows else []
        plans += [self._planning(lambda _, review: review.accept(made, text))] if made else []
        return PlannedDecision(tuple(plans), tuple(one for one in found if one.id not in stays), left)

    def evidence(self, one: WaitingEdit) -> tuple[EntryEvidence, ...]:
        """Return the history entries that ask for an edit, secrets masked; missing ones by number."""
        from nanomem_tui.dreams.blame import recorded_evidence

        edit = one.hunk.edit
        found = recorded_evidence(edit.new or edit.old, edit.evidence, self._ws.history.entries_of(edit.evidence))
        return tuple(entry._replace(text=_masked(entry.text)) for entry in found)

    def now(self, one: WaitingEdit, text: str | None = None) -> str:
        """Return why the edit, with `text` as its words, cannot be made as the files are now; "" when it can."""
        try:
            self._ws.dream.review.preview([one.id], text)
        except NanomemError as error:
            return error.what
        return ""

    def _edits(self) -> Sequence[WaitingEdit]:
        if not edits_waiting(self._ws):
            return ()
        return [WaitingEdit(hunk) for hunk in self._ws.dream.review.waiting()]

    def _impossible(self, edits: Sequence[WaitingEdit]) -> tuple[tuple[WaitingEdit, NanomemError], ...]:
        """Return those of several edits that cannot be made, in their order, on top of those before them."""
        if not edits:
            return ()
        from nanomem_tui.dreams.edits import TITLES, apply_edits
        from nanomem_tui.dreams.review import check_possible
        from nanomem_tui.dreams.review import relocate as placed

        passed = self._ws.dream.review.passed([one.hunk for one in edits])
        texts = {name: self._ws.documents.read(name) or "" for name in TITLES}
        left: list[tuple[WaitingEdit, NanomemError]] = []
        for one in edits:
            try:
                edit = placed(one.hunk.edit, texts, passed)
                check_possible(edit)
                texts = apply_edits(texts, [edit])
            except (BadInput, Conflict) as error:
                left.append((one, error))
        return tuple(left)

    def _planning(self, decide: Callable[[QuarantinedRows, Review], Operation]) -> Operation:
        """Return the operation of a decision, not yet performed."""
        from nanomem_tui.dreams.review import Review, StoredEditLayer
        from nanomem_tui.memory.quarantined_rows import QuarantinedRows

        rows = QuarantinedRows(self._ws.store, plan_only)
        return decide(rows, Review(StoredEditLayer(self._ws.paths), self._ws.documents, plan_only))

    def _perform(self, verb: str, planned: PlannedDecision) -> DecidedWaiting:
        if len(planned.plans) == 1:
            operation = planned.plans[0]._replace(meta=planned.meta)
        else:
            label = f"{verb} {counted(len(planned.rows), 'thing')} of the inbox"
            operation = new_operation(f"inbox.{verb}", label, planned.changes, meta=planned.meta)
        return DecidedWaiting(self._ws.perform(operation), planned.rows, planned.left)


def edits_waiting(ws: ReviewedMemory) -> int:
    """Return how many edits of Dreams wait, without a look at them."""
    if not ws.paths.review.is_dir():
        return 0  # and what reads them is not imported
    from nanomem_tui.dreams.review import StoredEditLayer

    return StoredEditLayer(ws.paths).count()
