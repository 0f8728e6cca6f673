"""Self-improvement lessons as a person works with them (seed 000 §2.5). Every change is one operation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import Operation, new_key, new_operation
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.memory import superseded
from nanomem_tui.memory.edits import as_shown, settled, told
from nanomem_tui.store import lookup
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Lesson, active, dumped, lesson_key

if TYPE_CHECKING:
    from nanomem_tui.memory.retention import Compaction


# How sure a lesson is now (seed 000 §2.5): it fades with time since it was last confirmed. Pure; reads no words.


def effective(lesson: Lesson, settings: Settings, now: datetime) -> float:
    """The confidence now: one less for each decay time since it was last confirmed or applied; at least 0."""
    moments = [clock.parse(text) for text in (lesson.last_applied_at, lesson.updated_at)]
    last = max((moment for moment in moments if moment is not None), default=None)
    hours = max(0.0, (now - last).total_seconds() / 3600) if last is not None else 0.0
    return max(0.0, lesson.confidence - hours / settings.lesson_confidence_decay_hours)


def is_weak(lesson: Lesson, settings: Settings, now: datetime) -> bool:
    """Whether a lesson faded so far that it is not given. It is one less after a whole decay time: what was learned a
    moment ago is not below the least by a moment."""
    return weak(effective(lesson, settings, now), settings)


def weak(sure: float, settings: Settings) -> bool:
    """Whether a lesson of that confidence is not given."""
    return math.ceil(sure) < settings.min_lesson_confidence


EDITABLE = ("trigger", "bad_action", "better_action", "confidence", "scope", "session_key")
SCOPES = ("session", "global")


class Lessons:
    """The lessons of one workspace."""

    def __init__(self, store: MemoryStore, perform: Callable[[Operation], Operation]) -> None:
        self._store = store
        self._perform = perform

    def all(self, *, include_disabled: bool = True) -> list[Lesson]:
        """The lessons that are not deleted and do not wait in the inbox, newest first."""
        snapshot = self._store.load("lesson")
        with snapshot.lock:
            rows = [row for row in active(snapshot.lessons.values()) if not row.waits]
        return rows if include_disabled else [row for row in rows if row.enabled]

    def count(self) -> dict[str, Any]:
        """`total`, `enabled` and the count by scope; `inbox`: how many wait for a person beside them."""
        groups = lookup.lesson_groups(self._store)
        scopes: Counter[str] = Counter()
        for scope, _, number, waiting in groups:
            if number > waiting:
                scopes[scope] += number - waiting
        enabled = sum(number for _, is_enabled, number, _ in groups if is_enabled)
        inbox = sum(waiting for *_, waiting in groups)
        by_scope = dict(sorted(scopes.items()))
        return {"total": scopes.total(), "enabled": enabled, "inbox": inbox, "by_scope": by_scope}

    def get(self, lesson_id: str) -> Lesson:
        """The lesson of that id, or of the one id that begins so; also one that waits in the inbox, which `waits`
        tells. Raises NotFound or BadInput."""
        rows = self._store.load("lesson").lessons
        row = rows.get(lesson_id)
        if row is None:
            near = [r for key, r in rows.items() if lesson_id and key.startswith(lesson_id) and not r.is_deleted]
            if len(near) > 1:
                raise BadInput(f"{len(near)} lessons begin with that id", lesson_id, "give more of it")
            row = near[0] if near else None
        if row is None or row.is_deleted:
            raise NotFound("no such lesson", lesson_id, "see `nanomem memory lessons list --include-disabled`")
        return row

    def _active(self, lesson_id: str) -> Lesson:
        """As `get`, for a change. Raises Refused for one that waits: what becomes of that is decided in the inbox."""
        row = self.get(lesson_id)
        if row.waits:
            raise Refused("it waits in the inbox", row.id, f"`nanomem inbox accept {row.id}`, or reject it")
        return row

    def history(self, lesson_id: str) -> list[LogEntry]:
        """Every operation that touched the lesson, newest first."""
        return self._store.journal.log(10_000, key=lesson_id)

    def effective(self, lesson: Lesson) -> float:
        """The confidence now: one less for each decay time (168 h) since the lesson was last confirmed; at least 0."""
        return effective(lesson, self._store.settings, clock.now())

    def faded(self, rows: Iterable[Lesson]) -> frozenset[str]:
        """The ids of those that are enabled and not sure enough any more to be given now."""
        now, settings = clock.now(), self._store.settings
        return frozenset(row.id for row in rows if row.enabled and is_weak(row, settings, now))

    def newer(self, row: Lesson) -> Lesson | None:
        """The lesson that is given instead of this one, where it would be given, as it is newer and of the same topic;
        None when there is none."""
        from nanomem_tui.memory import learning

        rows, settings = self.all(include_disabled=False), self._store.settings
        return learning.newer(row, rows, settings, clock.now(), session_key=row.session_key)

    def strong(self) -> int:
        """How many are enabled and sure enough to be given now; the others faded, and a message gets none of them."""
        enabled = [row for row in lookup.lessons(self._store) if row.enabled]
        return len(enabled) - len(self.faded(enabled))

    def why_not(self, lesson_id: str, text: str, session_key: str = "") -> str:
        """Why a lesson is not given with a message, in words; empty when it is among those to be given. Raises
        NotFound or BadInput."""
        from nanomem_tui.core.settings import OFF
        from nanomem_tui.memory import learning

        row, now, settings = self.get(lesson_id), clock.now(), self._store.settings
        if not settings.memory_enabled:
            return OFF
        if not settings.learning_enabled:
            return "lessons are switched off (learning_enabled)"
        if row.waits:
            return f"waits in the inbox: nanomem inbox accept {row.id}"
        if not row.enabled:
            return f"disabled: nanomem memory lessons enable {row.id}"
        if is_withdrawn(row):
            return "it proved harmful"
        if learning.is_about_no_name(row):
            return "the name of its tool is none, so it stands in no block"
        if is_weak(row, settings, now):
            sure = effective(row, settings, now)
            since = max(row.last_applied_at or "", row.updated_at)[:10]
            again = f"to confirm it: nanomem memory lessons edit {row.id} --confidence {row.confidence}"
            return f"its confidence of {row.confidence} faded to {sure:.1f} since {since}; {again}"
        if row.scope != "global" and row.session_key != session_key:
            return f"of another session: {row.session_key}"
        rows = self.all(include_disabled=False)
        ranked = learning.ranked(rows, text, settings, now, session_key=session_key)
        rank = next((at for at, one in enumerate(ranked, 1) if one.id == row.id), 0)
        most = settings.max_lessons_in_prompt
        if not rank:
            newer = learning.newer(row, rows, settings, now, session_key=session_key)
            return f"{newer.id} says otherwise of {row.trigger}" if newer else "another lesson says the same"
        return f"rank {rank} of {len(ranked)}, {most} are given (max_lessons_in_prompt)" if rank > most else ""

    def add(
        self,
        trigger: str,
        better_action: str,
        bad_action: str = "",
        scope: str = "global",
        session_key: str = "",
        confidence: int = 5,
    ) -> Operation:
        """A new lesson; its id is the key of the operation's one change. Raises BadInput."""
        lesson = self.new(trigger, better_action, bad_action, scope, session_key, confidence)
        operation = new_operation("lessons.add", f"add lesson {told(trigger)}", [change_of("lesson", None, lesson)])
        return self._perform(operation)

    def new(
        self, trigger: str, better_action: str, bad_action: str, scope: str, session_key: str, confidence: int = 5
    ) -> Lesson:
        """A lesson as a person makes it, for who keeps it in an operation with more. Raises BadInput."""
        self._store.load("lesson")
        now = clock.iso(clock.now())
        lesson = Lesson(
            id=new_key("lesson"),
            source="manual",
            created_at=now,
            updated_at=now,
            **_checked(
                {
                    "trigger": trigger,
                    "better_action": better_action,
                    "bad_action": bad_action,
                    "scope": scope,
                    "session_key": session_key,
                    "confidence": confidence,
                }
            ),
        )
        if scope == "session" and not session_key:
            raise BadInput("a session lesson needs a session", "--session", "give its key, or use --scope global")
        return lesson._replace(key=_key(lesson))

    def same(self, lesson: Lesson) -> Lesson | None:
        """The lesson that is there already with the same key; also one that is disabled or waits in the inbox."""
        rows = self._store.load("lesson").lessons.values()
        return next((row for row in rows if row.key == lesson.key and not row.is_deleted), None)

    def edit(self, lesson_id: str, *, expected: Lesson | None = None, **fields: Any) -> Operation:
        """Change fields of a lesson. `expected`: the lesson as it was shown to who edits it. Who gives the confidence
        that it has confirms it: its time begins anew.

        Raises Conflict when somebody changed one of the fields since, BadInput, NotFound, NothingToDo, and Refused for
        a lesson that waits in the inbox, as every change does.
        """
        if unknown := fields.keys() - set(EDITABLE):
            raise BadInput(f"cannot edit {', '.join(sorted(unknown))}", lesson_id, f"one of {', '.join(EDITABLE)}")
        if expected is not None:
            self._store.see_others()
        row = self._active(lesson_id)
        after = row._replace(**_checked(fields), meta_json=settled(row, fields))
        as_shown(row, expected, fields)
        if after == row and "confidence" not in fields:
            raise NothingToDo("nothing to change", row.id)
        key = _key(after) if _key(after) != _key(row) else row.key
        after = after._replace(key=key, updated_at=clock.iso(clock.now()))
        label = (
            f"{'edit' if after._replace(updated_at=row.updated_at) != row else 'confirm'} lesson {told(row.trigger)}"
        )
        return self._perform(new_operation("lessons.edit", label, [change_of("lesson", row, after)]))

    def set_enabled(self, ids: Sequence[str], enabled: bool) -> Operation:
        """Enable or disable lessons; a disabled one stays, whatever the agent writes. Raises NotFound, NothingToDo."""
        return self._set(ids, "enabled", enabled, "enable" if enabled else "disable")

    def delete(self, ids: Sequence[str]) -> Operation:
        """Delete lessons; `undo` brings them back."""
        return self._set(ids, "is_deleted", True, "delete")

    def _set(self, ids: Sequence[str], field: str, value: Any, verb: str) -> Operation:
        rows = list({row.id: row for row in map(self._active, ids)}.values())
        touched = [row for row in rows if bool(getattr(row, field)) != value]
        if not touched:
            raise NothingToDo(f"nothing to {verb}", ", ".join(ids))
        back = verb == "enable"
        changes = [
            change_of("lesson", row, (superseded.cleared(row) if back else row)._replace(**{field: value}))
            for row in touched
        ]
        what = f"lesson {told(touched[0].trigger)}" if len(touched) == 1 else counted(len(touched), "lesson")
        what += superseded.noted(touched) if back else ""
        return self._perform(new_operation(f"lessons.{verb}", f"{verb} {what}", changes))

    def compact_preview(self, max_lessons: int | None = None) -> Compaction[Lesson]:
        """What a compaction to `max_lessons` would remove; never a disabled lesson."""
        from nanomem_tui.memory.retention import compact_lessons

        limit = self._store.settings.max_lessons if max_lessons is None else max_lessons
        if limit < 0:
            raise BadInput("the number of lessons cannot be negative", "--max-lessons")
        return compact_lessons(self.all(), limit)

    def compact(self, max_lessons: int | None = None) -> Operation:
        """Remove what `compact_preview` shows, as one operation. Raises NothingToDo."""
        plan = self.compact_preview(max_lessons)
        if not plan.removed:
            rest = counted(len(plan.kept), "lesson")
            raise NothingToDo("nothing to compact", f"{rest}, no duplicates, none beyond the cap")
        changes = [change_of("lesson", row, row._replace(is_deleted=True)) for row, _ in plan.removed]
        gained = [(row, plan.absorbed[row.id]) for row in plan.kept if row.id in plan.absorbed]
        changes += [change_of("lesson", row, row._replace(hits=row.hits + extra)) for row, extra in gained if extra]
        meta = {"removed": len(plan.removed), "kept": len(plan.kept)}
        label = f"compact: {counted(len(plan.removed), 'lesson')} removed, {len(plan.kept):,} kept"
        return self._perform(new_operation("lessons.compact", label, changes, meta=meta))

    def reset(self) -> Operation:
        """Delete every lesson, as one operation that `undo` takes back. Raises NothingToDo."""
        rows = self.all()
        if not rows:
            raise NothingToDo("there are no lessons", "lessons")
        changes = [change_of("lesson", row, row._replace(is_deleted=True)) for row in rows]
        meta = {"removed": len(rows), "kept": 0}
        label = f"reset: {counted(len(rows), 'lesson')} removed"
        return self._perform(new_operation("lessons.reset", label, changes, meta=meta))


def _key(lesson: Lesson) -> str:
    return lesson_key(lesson.trigger, lesson.better_action, lesson.scope, lesson.session_key)


def _checked(fields: dict[str, Any]) -> dict[str, Any]:
    for name in ("trigger", "better_action"):
        if name in fields and not str(fields[name]).strip():
            raise BadInput(f"the {name.replace('_', ' ')} is empty", name, "give the words")
    if "scope" in fields and fields["scope"] not in SCOPES:
        raise BadInput(f"unknown scope `{fields['scope']}`", "--scope", f"one of {', '.join(SCOPES)}")
    if "confidence" in fields and not 1 <= fields["confidence"] <= 10:
        raise BadInput("confidence goes from 1 to 10", "--confidence")
    return fields


# Whether a lesson helps: how often it stood before the model, whether it was followed, whether the failure came
# again.

Verdict = Literal["validated", "neutral", "harmful"]
Outcome = Literal["followed", "recurred", ""]

ENOUGH = 3
"""Turns that decided something, before a verdict is given."""
GOOD, BAD = 0.7, 0.3
"""Share of these turns in which the lesson was followed: from the first on validated, up to the second harmful."""


class Efficacy(NamedTuple):
    """How a lesson fared. `shown`, `followed`, `recurred`: turns; times are UTC ISO, empty for never."""

    shown: int = 0
    followed: int = 0
    recurred: int = 0
    last_shown_at: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the record says: validated, harmful (the failure comes again although it is shown), or neutral."""
        decided = self.followed + self.recurred
        if decided < ENOUGH:
            return "neutral"
        share = self.followed / decided
        return "validated" if share >= GOOD else "harmful" if share <= BAD else "neutral"

    def to_json(self) -> dict[str, object]:
        """The record with its verdict, as `lessons show` prints it."""
        return {**self._asdict(), "verdict": self.verdict}


def of(lesson: Lesson) -> Efficacy:
    """The record of a lesson; an empty one where there is none that can be read."""
    if '"efficacy"' not in lesson.meta_json:
        return Efficacy()
    body = lesson.meta.get("efficacy")
    if not isinstance(body, dict):
        return Efficacy()
    counts = [body.get(name) for name in ("shown", "followed", "recurred")]
    shown, followed, recurred = (n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else 0 for n in counts)
    return Efficacy(shown, followed, recurred, str(body.get("last_shown_at", "")))


def is_wish(lesson: Lesson) -> bool:
    """Whether a lesson is about answers: a person's wish, and no advice about a tool."""
    return lesson.trigger.startswith("response:")


def is_withdrawn(lesson: Lesson) -> bool:
    """Whether a lesson stands in no block any more because it proved harmful. A wish about answers stays: that a model
    does not heed it says nothing against it."""
    return not is_wish(lesson) and of(lesson).verdict == "harmful"


def words(lesson: Lesson) -> str:
    """The record of a lesson as a person reads it."""
    record = of(lesson)
    if not record.shown:
        return "never shown"
    counts = f"shown {record.shown:,}, followed {record.followed:,}, recurred {record.recurred:,}"
    given = "not given any more" if is_withdrawn(lesson) else "given all the same, as a wish"
    return f"{counts}; {record.verdict}{f', {given}' if record.verdict == 'harmful' else ''}"


class Judged(NamedTuple):
    """A lesson with its new record, as it was, and what happened: followed, recurred, or empty for nothing decided."""

    lesson: Lesson
    before: Lesson
    outcome: Outcome


def after_turn(shown: Iterable[Lesson], failed: Mapping[str, bool], now: datetime) -> list[Judged]:
    """The lessons that stood before the model in a turn that ended. `failed`: of each tool that was called in it,
    whether a call failed."""
    found = []
    for lesson in shown:
        tool = lesson.trigger.removeprefix("tool:").removesuffix(":error")
        is_about = lesson.trigger.startswith("tool:") and tool in failed
        outcome: Outcome = "" if not is_about else "recurred" if failed[tool] else "followed"
        record = of(lesson)
        record = record._replace(shown=record.shown + 1, last_shown_at=clock.iso(now))
        found.append(Judged(with_record(lesson, _counted(record, outcome)), lesson, outcome))
    return found


def after_answer(shown: Iterable[Lesson], corrected: str, taught: Collection[str] = ()) -> list[Judged]:
    """The lessons about answers that stood before the model when it gave the answer before this message. `corrected`:
    the trigger of the correction that the message makes, empty when it makes none. `taught`: the triggers that this
    chat corrected before; a lesson of all chats that is about anything else is not decided here."""
    found = []
    for lesson in shown:
        if is_wish(lesson) and (lesson.scope == "session" or lesson.trigger in taught):
            outcome: Outcome = "recurred" if corrected == lesson.trigger else "followed"
            found.append(Judged(with_record(lesson, _counted(of(lesson), outcome)), lesson, outcome))
    return found


def _counted(record: Efficacy, outcome: Outcome) -> Efficacy:
    return record._replace(
        followed=record.followed + (outcome == "followed"), recurred=record.recurred + (outcome == "recurred")
    )


def with_record(lesson: Lesson, record: Efficacy) -> Lesson:
    """The lesson with another record."""
    meta = {**lesson.meta, "efficacy": record._asdict()}
    return lesson._replace(meta_json=dumped(meta))
