"""Self-improvement lessons as a person works with them (seed 000 §2.5). Every change is one operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import Operation, new_key, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory import fading, superseded
from nanomem_tui.memory.expected import as_shown
from nanomem_tui.memory.labels import told
from nanomem_tui.memory.unsettled import settled
from nanomem_tui.store import reading
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.operations import LogEntry
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Lesson, active, lesson_key

if TYPE_CHECKING:
    from nanomem_tui.memory.compaction import Compaction

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
        groups = reading.lesson_groups(self._store)
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
        return fading.effective(lesson, self._store.settings, clock.now())

    def faded(self, rows: Iterable[Lesson]) -> frozenset[str]:
        """The ids of those that are enabled and not sure enough any more to be given now."""
        now, settings = clock.now(), self._store.settings
        return frozenset(row.id for row in rows if row.enabled and fading.is_weak(row, settings, now))

    def newer(self, row: Lesson) -> Lesson | None:
        """The lesson that is given instead of this one, where it would be given, as it is newer and of the same topic;
        None when there is none."""
        from nanomem_tui.memory import learning

        rows, settings = self.all(include_disabled=False), self._store.settings
        return learning.newer(row, rows, settings, clock.now(), session_key=row.session_key)

    def strong(self) -> int:
        """How many are enabled and sure enough to be given now; the others faded, and a message gets none of them."""
        enabled = [row for row in reading.lessons(self._store) if row.enabled]
        return len(enabled) - len(self.faded(enabled))

    def why_not(self, lesson_id: str, text: str, session_key: str = "") -> str:
        """Why a lesson is not given with a message, in words; empty when it is among those to be given. Raises
        NotFound or BadInput."""
        from nanomem_tui.core.settings import OFF
        from nanomem_tui.memory import efficacy, learning

        row, now, settings = self.get(lesson_id), clock.now(), self._store.settings
        if not settings.memory_enabled:
            return OFF
        if not settings.learning_enabled:
            return "lessons are switched off (learning_enabled)"
        if row.waits:
            return f"waits in the inbox: nanomem inbox accept {row.id}"
        if not row.enabled:
            return f"disabled: nanomem memory lessons enable {row.id}"
        if efficacy.is_withdrawn(row):
            return "it proved harmful"
        if learning.is_about_no_name(row):
            return "the name of its tool is none, so it stands in no block"
        if fading.is_weak(row, settings, now):
            sure = fading.effective(row, settings, now)
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
        from nanomem_tui.memory.compaction import compact_lessons

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
