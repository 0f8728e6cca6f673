"""Keep what came of a turn, as one operation: used and captured items, lessons, mirrors, finished pending items.

Owns how the parts become one operation of the agent, when it must survive a power cut, how erased text is redacted from
a turn's traces, and the recovery of unfinished turns. Must not perform it, or decide what is worth capturing
(`capture.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import language
from nanomem_tui.agents.turn_log import TEXT_LIMIT
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.language import corrections, secrets
from nanomem_tui.memory import lessons as memory_lessons
from nanomem_tui.memory import notes, retention, safety
from nanomem_tui.memory.items import SameTextIndex
from nanomem_tui.memory.recall import recall
from nanomem_tui.memory.scopes import Audience, hold_for_review
from nanomem_tui.memory.turns import capture
from nanomem_tui.memory.turns.request import (
    Begun,
    Dropped,
    Ended,
    Quarantined,
    Saved,
    Taught,
    ToolUse,
    TurnEnd,
    TurnInput,
)
from nanomem_tui.memory.turns.traces import OpenTurn, Pending
from nanomem_tui.store import forgotten
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import AnyRow, Item, Lesson, Record, Row

if TYPE_CHECKING:
    from nanomem_tui.agents.turn_log import WalState


class TurnResult(NamedTuple):
    """The operation (None: nothing is kept), whether it must survive a power cut at once, and what is told of it."""

    operation: Operation | None
    durable: bool
    ended: Ended


class PreviousTurn(NamedTuple):
    """The turn before in the same session: its answer, the ids of the lessons that its block held, and whether the
    answer repeats what a tool gave."""

    answer: str = ""
    lessons: tuple[str, ...] = ()
    echoes: bool = False


class LearnedLessons(NamedTuple):
    """What a turn taught, what of it waits for a person, and what it could not teach, with the reason."""

    taught: tuple[Taught, ...] = ()
    held: tuple[Quarantined, ...] = ()
    dropped: tuple[Dropped, ...] = ()


class Draft:
    """The rows as the operation will leave them; several changes of one row become one."""

    def __init__(self, store: MemoryStore, duplicates: SameTextIndex) -> None:
        self._snapshot = store.load("item")
        self._same_texts = duplicates
        self._rows: dict[tuple[str, str], AnyRow] = {}

    def item(self, key: str) -> Item | None:
        """Return the item as it will be; None when there is none, or it is deleted."""
        row = self._rows.get(("item", key)) or self._snapshot.items.get(key)
        return row if isinstance(row, Item) and not row.is_deleted else None

    def duplicate(self, scope_key: str, text: str) -> Item | None:
        """Return the item of a scope with the same text, as it will be; none that is superseded."""
        wanted = safety.normalise(text)
        for row in self._rows.values():
            if isinstance(row, Item) and row.scope_key == scope_key and safety.normalise(row.text) == wanted:
                return row
        found = self._same_texts.find(scope_key, text)
        item = self.item(found.id) if found is not None else None
        return None if item is not None and retention.get_superseded(item) is not None else item

    def lesson(self, key: str) -> Lesson | None:
        """Return the lesson as it will be; None when there is none, or it is deleted."""
        row = self._rows.get(("lesson", key)) or self._snapshot.lessons.get(key)
        return row if isinstance(row, Lesson) and not row.is_deleted else None

    def lessons(self) -> dict[str, Lesson]:
        """Return every lesson as it will be, deleted ones too."""
        return {**self._snapshot.lessons, **{row.id: row for row in self._rows.values() if isinstance(row, Lesson)}}

    def record(self, key: str) -> Record | None:
        """Return the record as it will be, also one that is deleted; None when there is none."""
        row = self._rows.get(("record", key)) or self._snapshot.records.get(key)
        return row if isinstance(row, Record) else None

    def put(self, layer: str, row: AnyRow) -> None:
        """The row will be this."""
        self._rows[layer, row.id] = row

    def changes(self) -> list[Change]:
        """Return what turns the rows of now into those of the draft."""
        before = {key: self._snapshot.table(key[0]).get(key[1]) for key in self._rows}
        return [change_of(key[0], before[key], row) for key, row in self._rows.items() if row != before[key]]


class TurnPlanner:
    """What turns of one workspace keep."""

    def __init__(self, store: MemoryStore, settings: Settings, pending: Pending) -> None:
        self._store = store
        self._settings = settings
        self._pending = pending
        self._same_texts = SameTextIndex(store)

    def plan(self, end: TurnEnd, given: TurnInput, shown: Begun, before: PreviousTurn) -> TurnResult:
        """Return what to keep of a turn that ended. Reads only; its caller holds the lock of the rows."""
        kept = forgotten.load(self._store.paths)
        gone = frozenset(role for role, text in (("user", given.text), ("assistant", end.assistant)) if kept.text(text))
        # Before anything reads them: what a turn keeps of its words is decided without their secrets.
        given = given._replace(text=secrets.mask(given.text))
        end = end._replace(assistant=secrets.mask(end.assistant))
        draft = Draft(self._store, self._same_texts)
        used = _use(draft, shown)
        self._barred: list[Dropped] = []
        captured = list(self._captured(draft, end, given, shown, before, gone))
        learned = (
            self._learned(draft, end, given, shown, before) if self._settings.learning_enabled else LearnedLessons()
        )
        rest = self._unkept(given, captured, learned, before)
        fresh = [row.item for part in captured for row in part.rows if row.before is None and not row.why]
        ended = Ended(
            shown.turn,
            saved=tuple(Saved(row.item, merged=row.before is not None) for part in captured for row in part.saved),
            dropped=(
                *(_dropped(candidate.text, why) for part in captured for candidate, why in part.dropped),
                *learned.dropped,
                *self._barred,
                *rest,
            ),
            quarantined=(
                *(
                    Quarantined(row.item, row.why, again=row.before is not None)
                    for part in captured
                    for row in part.quarantined
                ),
                *learned.held,
            ),
            lessons=learned.taught,
        )
        changes = [
            *draft.changes(),
            *notes.mirror_changes(self._store.paths, self._settings, fresh),
            *self._pending.finished(given.state_key, end.done_actions, shown.turn),
        ]
        if not changes:
            return TurnResult(None, durable=False, ended=ended)
        meta = {"turn": shown.turn, "session_key": given.session_key}
        operation = new_operation("turn", _label(ended, used, len(shown.lessons)), changes, actor="agent", meta=meta)
        return TurnResult(operation, any(part.durable for part in captured), ended)

    def _captured(
        self, draft: Draft, end: TurnEnd, given: TurnInput, shown: Begun, before: PreviousTurn, gone: frozenset[str]
    ) -> Iterator[capture.Captured]:
        """Yield what each message adds, in order; a correction becomes a lesson instead of a preference."""
        teaches = bool(self._settings.learning_enabled and self._correction(given, before))

        def seen(found: list[capture.Candidate]) -> list[capture.Candidate]:
            rest = [one for one in found if not (teaches and self._is_order(one))]
            mends = capture.find_corrections(language.read(given.text), origin, self._same_texts.of_scope)
            known = capture.items_of_speaker(origin, self._same_texts.of_scope) if rest else []
            after = []
            for one in capture.apply_corrections(rest, mends):
                wrong = [mend.item for mend in mends if mend.text == one.text]
                over[one.text] = wrong or capture.find_given_up(one.text, known)
                after.append(capture.strengthen(one, over[one.text]))
            return after

        over: dict[str, list[Item]] = {}
        origin = capture.Origin(given.audience, given.session_key, given.message_id or None, shown.turn, given.said_on)
        recalled = [hit.item.text for hit in shown.block_hits]
        said = [("user", given.text), ("assistant", end.assistant)]
        kept = forgotten.load(self._store.paths)
        for role, text in said:
            if role in gone or kept.text(text):
                self._barred.append(Dropped(role, forgotten.WHY, "safety"))
                continue
            found = capture.capture(
                text, origin, self._settings, draft.duplicate, self._store.workspace_id,
                role=role, recalled=recalled, now=clock.past_time(given.at),
                seen=seen if role == "user" else list,
            )  # fmt: skip
            if role == "user":
                rows = (_in_place(draft, row, over.get(row.item.text, ())) for row in found.rows)
                found = found._replace(rows=tuple(rows))
                of_scope, duplicate = self._same_texts.of_scope, draft.duplicate
                message = language.read(text)
                asked = capture.forget_proposals(
                    message, origin, self._settings, of_scope, duplicate, clock.past_time(given.at)
                )
            parts = [found, asked] if role == "user" else [found]
            parts = [part._replace(rows=self._remembered(part.rows, role)) for part in parts] if kept else parts
            for row in (row for part in parts for row in part.rows):
                draft.put("item", row.item)
            yield from parts
            if role == "user" and not found.rows and any(why == capture.TOO_LONG for _, why in found.dropped):
                yield self._beginning(text, draft, origin, clock.past_time(given.at))

    def _unkept(
        self, given: TurnInput, captured: Sequence[capture.Captured], learned: LearnedLessons, before: PreviousTurn
    ) -> list[Dropped]:
        """Return why the rest of the user's message became nothing, unless it taught a lesson."""
        users = [part for part in captured if all(row.item.source_role == "user" for row in part.rows)]
        known = [row.item.text for part in users for row in part.rows]
        known += [one.text for part in users for one, _ in part.dropped if one.role == "user"]
        known += [drop.text for drop in learned.dropped]
        corrects = self._settings.learning_enabled and self._correction(given, before) is not None
        if corrects and (learned.taught or learned.held or learned.dropped):
            return []
        is_whole = any(drop.text == "user" for drop in self._barred) or len(given.text) > capture.MAX_MESSAGE
        if is_whole or given.text in known:
            return []
        forgets = any("forgets" in str(row.item.meta_json) for part in users for row in part.rows)
        found = capture.explain_uncaptured(language.read(given.text), known, self._settings, forgets=forgets)
        return [Dropped(text, why) for text, why in found]

    def _remembered(self, rows: Sequence[capture.Row], role: str) -> tuple[capture.Row, ...]:
        """Return the rows that bring back nothing that is forgotten; the store would not take the others."""
        kept = forgotten.load(self._store.paths)
        stay = tuple(row for row in rows if row.before is not None or kept.row(row.item.to_json()) is None)
        self._barred += [Dropped(role, forgotten.WHY, "safety")] * (len(rows) - len(stay))
        return stay

    def _is_order(self, one: capture.Candidate) -> bool:
        return one.kind == "preference" and not one.explicit and recall.is_order(one.text)

    def _beginning(self, text: str, draft: Draft, origin: capture.Origin, moment: datetime | None) -> capture.Captured:
        """Return the wishes to remember in the beginning of a too long message; they wait in the inbox."""
        why = f"the beginning of a message of {len(text):,} characters"
        head, workspace = capture.whole_sentences(text), self._store.workspace_id
        found = capture.capture(head, origin, self._settings, draft.duplicate, workspace, now=moment)
        asked = [row for row in found.rows if row.item.source == "explicit_user"]
        rows = [
            row if row.why or row.before is not None
            else capture.Row(hold_for_review(row.item, why, finding="long"), None, why)
            for row in asked
        ]  # fmt: skip
        for row in rows:
            draft.put("item", row.item)
        return capture.Captured(tuple(rows), durable=bool(rows))

    def _correction(self, given: TurnInput, before: PreviousTurn) -> corrections.Correction | None:
        message = language.read(given.text)
        found = corrections.detect(message.own, before.answer)
        return None if found is None or message.is_unwanted or message.forgetting else found

    def _learned(
        self, draft: Draft, end: TurnEnd, given: TurnInput, shown: Begun, before: PreviousTurn
    ) -> LearnedLessons:
        """Return what the turn teaches: first the message about the last answer, then the tools."""
        now = clock.now()
        said = self._correction(given, before)
        held = capture.held_sender(given.audience, self._settings)
        tools = [
            memory_lessons.ToolResult(memory_lessons.tool_name(tool.name), tool.result, tool.error, tool.arguments)
            for tool in end.tools
        ]
        failed: dict[str, bool] = {}
        for tool in tools:
            failed[tool.tool] = failed.get(tool.tool, False) or bool(tool.failed)
        corrected = said.trigger if said and not held else ""
        judged = memory_lessons.after_answer(
            filter(None, map(draft.lesson, before.lessons)), corrected, self._corrected_here(draft, given)
        )
        taught = _judged(draft, judged)
        here = filter(None, (draft.lesson(lesson.id) for lesson in shown.lessons))
        taught += _judged(draft, memory_lessons.after_turn(here, failed, now))
        corrects = (
            [memory_lessons.Feedback(language.read(given.text).own, before.answer, before.echoes)] if said else []
        )
        events: list[memory_lessons.ToolResult | memory_lessons.Feedback] = [*corrects, *tools]
        waiting_now: list[Quarantined] = []
        in_vain = {one.lesson.id for one in taught if one.what == "recurred"}
        kept = forgotten.load(self._store.paths)
        for event in events:
            found = memory_lessons.learn(
                event, draft.lessons(), self._settings, now,
                session_key=given.state_key, actor_key=given.audience.user_key or "", held=held, recurred=in_vain,
            )  # fmt: skip
            for learned in found:
                if learned.before is None and kept.row(learned.lesson.to_json()):
                    self._barred.append(Dropped("user" if event in corrects else "tool", forgotten.WHY, "safety"))
                    continue
                one = _reflected(draft, event, learned, now)
                draft.put("lesson", one.lesson)
                if one.what == "held":
                    why = str(one.lesson.meta["inbox"]["why"])
                    waiting_now.append(Quarantined(one.lesson, why, again=one.before is not None))
                elif one.what != "recurred" or one.lesson.id not in in_vain:  # that is told once
                    taught.append(Taught(one.lesson, one.what))
                    in_vain |= {one.lesson.id} if one.what == "recurred" else set()
        empty = said is not None and said.is_empty
        dropped = (Dropped(given.text, corrections.NOTHING_BETTER),) if empty else ()
        return LearnedLessons(tuple(taught), tuple(waiting_now), dropped)

    def _corrected_here(self, draft: Draft, given: TurnInput) -> frozenset[str]:
        rows = (row for row in draft.lessons().values() if row.source == "user_feedback" and not row.is_deleted)
        return frozenset(row.trigger for row in rows if row.session_key == given.state_key and not row.waits)


def _in_place(draft: Draft, row: capture.Row, over: Sequence[Item]) -> capture.Row:
    """Return a new row that supersedes others, unless it waits for a person."""
    if row.why or row.before is not None:
        return row
    item: Row = row.item
    for old in over:
        draft.put("item", retention.mark_superseded(old, item, "item", "outdated", row.item.updated_at))
        item = retention.mark_winner(item, old.id)
    assert isinstance(item, Item)
    return row._replace(item=item)


def _use(draft: Draft, shown: Begun) -> int:
    """Count the items that the block held as used; how many those are."""
    now = clock.iso(clock.now())
    rows = [row for hit in shown.block_hits if (row := draft.item(hit.item.id)) is not None]
    for row in rows:
        draft.put("item", row._replace(hits=row.hits + 1, last_accessed_at=now))
    return len(rows)


def _reflected(
    draft: Draft,
    event: memory_lessons.ToolResult | memory_lessons.Feedback,
    taught: memory_lessons.TaughtLesson,
    now: datetime,
) -> memory_lessons.TaughtLesson:
    """Return what an event taught, once the reflection that it leaves is kept."""
    if isinstance(event, memory_lessons.Feedback):
        return taught
    made = memory_lessons.reflect_failure(event, taught, draft.record, clock.iso(now))
    if made is None:
        return taught
    draft.put("record", made[0])
    return made[1]


def _judged(draft: Draft, judged: Sequence[memory_lessons.JudgedLesson]) -> list[Taught]:
    for one in judged:
        draft.put("lesson", one.lesson)
    return [Taught(one.lesson, one.outcome) for one in judged if one.outcome]


def _dropped(text: str, why: str) -> Dropped:
    if why == "known already":
        return Dropped(text, why, "known")
    other = why.endswith("in one turn") or why.startswith(capture.NOT_SAFETY)
    kind = "weak" if why.startswith("low ") else "other" if other else "safety"
    return Dropped(text, why, kind)


def _label(ended: Ended, used: int, shown: int) -> str:
    saved = sum(not kept.merged for kept in ended.saved)
    merged = len(ended.saved) - saved
    changed = len({taught.lesson.id for taught in ended.lessons if taught.is_change})
    parts = [
        f"{counted(saved, 'item')} saved" if saved else "",
        f"{counted(merged, 'item')} confirmed" if merged else "",
        f"{counted(len(ended.quarantined), 'thing')} in the inbox" if ended.quarantined else "",
        f"{counted(changed, 'lesson')} changed" if changed else "",
        f"{counted(used, 'item')} used" if used else "",
        f"{counted(shown, 'lesson')} shown" if shown else "",
    ]
    return f"turn: {', '.join(part for part in parts if part) or 'pending items done'}"


# A turn as its traces (session state, log, transcript) may have it: without what is forgotten. Reads only.


def redact_begin(given: TurnInput, paths: Paths) -> TurnInput:
    """Return what arrived. Raises the errors of `forgotten.load`."""
    kept = forgotten.load(paths)
    return given._replace(text=kept.taken_out(given.text)) if kept else given


def redact_end(end: TurnEnd, paths: Paths) -> TurnEnd:
    """Return what came of it. Raises the errors of `forgotten.load`."""
    kept = forgotten.load(paths)
    if not kept:
        return end
    return end._replace(
        assistant=kept.taken_out(end.assistant),
        tools=tuple(ToolUse(*map(kept.taken_out, tool)) for tool in end.tools),
        pending_actions=tuple(map(kept.taken_out, end.pending_actions)),
        done_actions=tuple(map(kept.taken_out, end.done_actions)),
    )


# Whether an answer repeats what a tool gave back: told again in a later turn it would pass for the agent's own words.


# What becomes of turns that an agent began and never ended: pending items of their sessions, and what a person had
# asked to be remembered in them, in one operation.

StateOf = Callable[[str], "WalState"]
"""The turn log of a session."""


class TurnRecovery(NamedTuple):
    """The operation, the items that it remembers, and those that it put into the inbox."""

    operation: Operation
    captured: tuple[Item, ...] = ()
    held: tuple[Item, ...] = ()


def recover(
    turns: Sequence[OpenTurn], state_of: StateOf, pending: Pending, store: MemoryStore, settings: Settings,
    perform: Perform,
) -> TurnRecovery:  # fmt: skip
    """Recover unfinished turns. Raises NothingToDo, and the store's errors."""
    store.load("item")
    with store.snapshot.lock:
        draft = Draft(store, SameTextIndex(store))
        rows = [row for turn in sorted(turns, key=lambda turn: turn.at)
                for row in _asked(turn, state_of, draft, store.workspace_id, settings)]  # fmt: skip
        fresh = [row.item for row in rows if row.before is None and not row.why]
        beside = [*draft.changes(), *notes.mirror_changes(store.paths, settings, fresh)]
        saved = tuple(row.item for row in rows if not row.why)
        held = tuple(row.item for row in rows if row.why)
        parts = [(len(saved), "memory", "memories", "remembered"), (len(held), "memory", "memories", "in the inbox")]
        also = "".join(f", {counted(number, one, many)} {where}" for number, one, many, where in parts if number)
        return TurnRecovery(pending.recover(turns, perform, beside=beside, also=also), saved, held)


def _asked(
    turn: OpenTurn, state_of: StateOf, draft: Draft, workspace_id: str, settings: Settings
) -> Iterator[capture.Row]:
    """Yield what the message of a turn asked to be remembered, as rows of the draft."""
    state = state_of(turn.session_key)
    pre = next((one.pre for one in state.turns if one.number == turn.number), {})
    if pre.get("speaker", "user") == "system":
        return
    try:
        audience = Audience(state.channel or None, state.chat_id or None, pre.get("sender_id") or None)
        origin = capture.Origin(audience, turn.session_key, pre.get("message_id") or None)
        found = capture.capture(
            turn.user, origin, settings, draft.duplicate, workspace_id, now=clock.past_time(turn.at)
        )
    except NanomemError:
        return  # whose it is cannot be told from its log: it is pending all the same
    for row in found.rows:
        if row.item.source == "explicit_user" and (row.before is None or row.why):
            kept = _recovery_judged(row, turn.user)
            draft.put("item", kept.item)
            yield kept


def _recovery_judged(row: capture.Row, said: str) -> capture.Row:
    """Return the row as the turn would have left it: its log has masks for secrets and may be cut."""
    if row.why or row.before is not None:
        return row
    why, finding = "", ""
    if mark := secrets.mask_pattern().search(row.item.text):
        why, finding = f"it holds a secret: {mark['name']}", "secret"
    elif len(said) > TEXT_LIMIT and said.rstrip(".").endswith(row.item.text.rstrip(".")):
        why, finding = "the beginning of a message, whose end is not known", "long"
    return capture.Row(hold_for_review(row.item, why, finding=finding), None, why) if why else row
