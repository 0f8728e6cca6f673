"""Self-improvement lessons (seed 000 §2.5): edit them, learn from failures and corrections, rank them for a message.

Owns the service for a person, what an event teaches and how sure that is, when a lesson becomes global, which lessons a
prompt gets, and how lessons fare once they were shown (`Efficacy`). Learning is pure: an event and the present lessons
give the new rows, and the turn performs them. A disabled lesson is never taught, enabled or deleted by an event.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NothingToDo
from nanomem_tui.core.operations import Operation, new_key, new_operation
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.language.tokens import fold, tokens
from nanomem_tui.memory import row_service
from nanomem_tui.memory.edit_conflicts import check_unchanged, quote_start, settle_conflict
from nanomem_tui.memory.scopes import confirm_held
from nanomem_tui.store import lookup
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Lesson, Record, active, dumped, lesson_key

DECAY_HOURS = 168.0
"""Hours after which a lesson's confidence is one less."""
LEAST_CONFIDENCE = 1.0
"""Confidence that a lesson needs now to be put before the model."""
PROMOTED_TRIGGERS = frozenset({"response:length", "response:language"})
PROMOTING_PEOPLE = 3
"""What a global lesson may be about, and how many people have to teach it."""


# How sure a lesson is now (seed 000 §2.5): it fades with time since it was last confirmed. Pure; reads no words.


def effective_confidence(lesson: Lesson, now: datetime) -> float:
    """Return the confidence now: one less for each decay time since it was last confirmed or applied; at least 0."""
    moments = [clock.parse(text) for text in (lesson.last_applied_at, lesson.updated_at)]
    last = max((moment for moment in moments if moment is not None), default=None)
    hours = max(0.0, (now - last).total_seconds() / 3600) if last is not None else 0.0
    return max(0.0, lesson.confidence - hours / DECAY_HOURS)


def is_weak(lesson: Lesson, now: datetime) -> bool:
    """Return whether a lesson has faded too far to be given; it loses one after a whole decay time."""
    return is_weak_confidence(effective_confidence(lesson, now))


def is_weak_confidence(sure: float) -> bool:
    """Return whether a lesson of that confidence is not given."""
    return math.ceil(sure) < LEAST_CONFIDENCE


EDITABLE = ("trigger", "bad_action", "better_action", "confidence", "scope", "session_key")
SCOPES = ("session", "global")


class Lessons(row_service.RowService[Lesson]):
    """The lessons of one workspace."""

    layer, see = "lesson", "nanomem memory lessons list --include-disabled"

    def all(self, *, include_disabled: bool = True) -> list[Lesson]:
        """Return the lessons that are not deleted and do not wait in the inbox, newest first."""
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

    def effective(self, lesson: Lesson) -> float:
        """Return the confidence now, one less for each decay time since it was confirmed; at least 0."""
        return effective_confidence(lesson, clock.now())

    def faded(self, rows: Iterable[Lesson]) -> frozenset[str]:
        """Return the ids of those that are enabled and not sure enough any more to be given now."""
        now = clock.now()
        return frozenset(row.id for row in rows if row.enabled and is_weak(row, now))

    def newer(self, row: Lesson) -> Lesson | None:
        """Return the newer lesson of the same topic that is given instead; None when there is none."""
        return find_newer(row, self.all(include_disabled=False), clock.now(), session_key=row.session_key)

    def strong(self) -> int:
        """Return how many are enabled and sure enough to be given now."""
        enabled = [row for row in lookup.lessons(self._store) if row.enabled]
        return len(enabled) - len(self.faded(enabled))

    def why_not(self, lesson_id: str, text: str, session_key: str = "") -> str:
        """Return why a lesson is not given with a message, in words; empty when it is among those to be given."""
        from nanomem_tui.core.settings import OFF

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
        if is_about_no_name(row):
            return "the name of its tool is none, so it stands in no block"
        if is_weak(row, now):
            sure = effective_confidence(row, now)
            since = max(row.last_applied_at or "", row.updated_at)[:10]
            again = f"to confirm it: nanomem memory lessons edit {row.id} --confidence {row.confidence}"
            return f"its confidence of {row.confidence} faded to {sure:.1f} since {since}; {again}"
        if row.scope != "global" and row.session_key != session_key:
            return f"of another session: {row.session_key}"
        rows = self.all(include_disabled=False)
        ranked = rank_for_message(rows, text, settings, now, session_key=session_key)
        rank = next((at for at, one in enumerate(ranked, 1) if one.id == row.id), 0)
        most = settings.max_lessons_in_prompt
        if not rank:
            newer = find_newer(row, rows, now, session_key=session_key)
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
        operation = new_operation(
            "lessons.add", f"add lesson {quote_start(trigger)}", [change_of("lesson", None, lesson)]
        )
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
        """Return the lesson with the same key; one that is disabled or waits too."""
        rows = self._store.load("lesson").lessons.values()
        return next((row for row in rows if row.key == lesson.key and not row.is_deleted), None)

    def edit(self, lesson_id: str, *, expected: Lesson | None = None, **fields: Any) -> Operation:
        """Change fields of a lesson; `expected`: as it was shown. Giving its own confidence confirms it."""
        if unknown := fields.keys() - set(EDITABLE):
            raise BadInput(f"cannot edit {', '.join(sorted(unknown))}", lesson_id, f"one of {', '.join(EDITABLE)}")
        if expected is not None:
            self._store.see_others()
        row = self._active(lesson_id)
        after = row._replace(**_checked(fields), meta_json=settle_conflict(row, fields))
        check_unchanged(row, expected, fields)
        if after == row and "confidence" not in fields:
            raise NothingToDo("nothing to change", row.id)
        key = _key(after) if _key(after) != _key(row) else row.key
        after = after._replace(key=key, updated_at=clock.iso(clock.now()))
        verb = "edit" if after._replace(updated_at=row.updated_at) != row else "confirm"
        label = f"{verb} lesson {quote_start(row.trigger)}"
        return self._perform(new_operation("lessons.edit", label, [change_of("lesson", row, after)]))

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
        """Return the record with its verdict, as `lessons show` prints it."""
        return {**self._asdict(), "verdict": self.verdict}


def efficacy_of(lesson: Lesson) -> Efficacy:
    """Return the record of a lesson; an empty one where there is none that can be read."""
    if '"efficacy"' not in lesson.meta_json:
        return Efficacy()
    body = lesson.meta.get("efficacy")
    if not isinstance(body, dict):
        return Efficacy()
    counts = [body.get(name) for name in ("shown", "followed", "recurred")]
    shown, followed, recurred = (n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else 0 for n in counts)
    return Efficacy(shown, followed, recurred, str(body.get("last_shown_at", "")))


def is_wish(lesson: Lesson) -> bool:
    """Return whether a lesson is about answers: a person's wish, and no advice about a tool."""
    return lesson.trigger.startswith("response:")


def is_withdrawn(lesson: Lesson) -> bool:
    """Return whether a lesson proved harmful and is not given; a wish about answers always is."""
    return not is_wish(lesson) and efficacy_of(lesson).verdict == "harmful"


def describe_efficacy(lesson: Lesson) -> str:
    """Return the record of a lesson as a person reads it."""
    record = efficacy_of(lesson)
    if not record.shown:
        return "never shown"
    counts = f"shown {record.shown:,}, followed {record.followed:,}, recurred {record.recurred:,}"
    given = "not given any more" if is_withdrawn(lesson) else "given all the same, as a wish"
    return f"{counts}; {record.verdict}{f', {given}' if record.verdict == 'harmful' else ''}"


class JudgedLesson(NamedTuple):
    """A lesson with its new record, as it was, and what happened: followed, recurred, or empty for nothing decided."""

    lesson: Lesson
    before: Lesson
    outcome: Outcome


def after_turn(shown: Iterable[Lesson], failed: Mapping[str, bool], now: datetime) -> list[JudgedLesson]:
    """Return the lessons shown in a turn that ended; `failed`: of each tool called, whether a call failed."""
    found = []
    for lesson in shown:
        tool = lesson.trigger.removeprefix("tool:").removesuffix(":error")
        is_about = lesson.trigger.startswith("tool:") and tool in failed
        outcome: Outcome = "" if not is_about else "recurred" if failed[tool] else "followed"
        record = efficacy_of(lesson)
        record = record._replace(shown=record.shown + 1, last_shown_at=clock.iso(now))
        found.append(JudgedLesson(with_efficacy(lesson, _counted(record, outcome)), lesson, outcome))
    return found


def after_answer(shown: Iterable[Lesson], corrected: str, taught: Collection[str] = ()) -> list[JudgedLesson]:
    """Return the lessons about answers that stood before the model when it gave the answer before this message.
    `corrected`: the trigger of the correction that the message makes, empty when it makes none. `taught`: the triggers
    that this chat corrected before; a lesson of all chats that is about anything else is not decided here."""
    found = []
    for lesson in shown:
        if is_wish(lesson) and (lesson.scope == "session" or lesson.trigger in taught):
            outcome: Outcome = "recurred" if corrected == lesson.trigger else "followed"
            found.append(JudgedLesson(with_efficacy(lesson, _counted(efficacy_of(lesson), outcome)), lesson, outcome))
    return found


def _counted(record: Efficacy, outcome: Outcome) -> Efficacy:
    return record._replace(
        followed=record.followed + (outcome == "followed"), recurred=record.recurred + (outcome == "recurred")
    )


def with_efficacy(lesson: Lesson, record: Efficacy) -> Lesson:
    """Return the lesson with another record."""
    meta = {**lesson.meta, "efficacy": record._asdict()}
    return lesson._replace(meta_json=dumped(meta))


# Lessons that learn (seed 000 §2.5): from tools that fail, from success after failure, from a person's corrections.

TRIGGER, ACTION = 120, 260
HEAD = 180
"""Of an action that is too long, the characters at its beginning that stay; the rest is its end."""
PROMOTED = 5
"""Confidence of a lesson that became global."""
FIRST = {"tool_feedback": 1, "user_feedback": 2}
"""Confidence that one event gives: a person counts twice a tool."""

What = Literal["learned", "confirmed", "reinforced", "promoted", "dropped", "recurred", "held"]


class ToolResult(NamedTuple):
    """What a tool gave back. `error`: the text of an exception, empty when there was none. `tool`: see `tool_name`."""

    tool: str
    result: str = ""
    error: str = ""
    arguments: str = ""

    @property
    def failed(self) -> str:
        """The text of the failure (an exception, or a result that begins `error:`), empty after a success."""
        if self.error.strip():
            return self.error.strip()
        plain = self.result.strip()
        return plain if plain[:6].lower() == "error:" else ""


class Feedback(NamedTuple):
    """A message of a person, and the answer before it that it may correct."""

    text: str
    answer: str = ""
    echoes: bool = False


class TaughtLesson(NamedTuple):
    """A lesson as it is to be, what it was (None: it is new), and what happened to it."""

    lesson: Lesson
    before: Lesson | None
    what: What


def shorten(text: str, limit: int = ACTION, head: int = HEAD) -> str:
    """`text` on one line within `limit` characters: its head, ` … `, its tail."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[:head]} … {line[len(line) - (limit - head - 3) :]}"


_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@lru_cache(1_024)
def tool_name(name: str) -> str:
    """A tool's name as lessons have it. It is anybody's text: of what is no name only which it is comes in a block."""
    from nanomem_tui.language import injection

    if _NAME.fullmatch(name) and not injection.reason(re.sub(r"[_.:-]+", " ", name)):
        return name
    return f"unnamed-{hashlib.blake2b(name.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def learn(
    event: ToolResult | Feedback,
    lessons: Mapping[str, Lesson],
    settings: Settings,
    now: datetime,
    *,
    session_key: str,
    actor_key: str = "",
    held: str = "",
    recurred: Collection[str] = (),
) -> list[TaughtLesson]:
    """Return what an event teaches; `lessons` are all of them by id, deleted ones too. `actor_key` names who corrects.

    `held`: why a person has to accept what this one corrects; it confirms nothing that is known. `recurred`: the
    ids of the lessons whose failure came in this turn although they were shown: nothing in it makes them surer."""
    if not (settings.memory_enabled and settings.learning_enabled):
        return []
    active = [lesson for lesson in lessons.values() if not lesson.is_deleted]
    if isinstance(event, Feedback):
        taught = _from_feedback(event, active, settings, now, session_key, actor_key, held)
    elif failure := event.failed:
        taught = _from_failure(event._replace(tool=tool_name(event.tool)), failure, active, now, session_key)
    else:
        taught = _from_success(event._replace(tool=tool_name(event.tool)), active, now, session_key, recurred)
    taught = [_in_spite(one, recurred) for one in taught]
    changed = {one.lesson.id for one in taught}
    beyond = find_over_cap(
        [*(one for one in active if one.id not in changed), *(one.lesson for one in taught)], settings
    )
    dropped = [TaughtLesson(one._replace(is_deleted=True), one, "dropped") for one in beyond if one.id not in changed]
    return [*taught, *dropped]


def _in_spite(taught: TaughtLesson, recurred: Collection[str]) -> TaughtLesson:
    """Return what an event taught; of a lesson shown in vain only that the failure came again."""
    before = taught.before
    if before is None or taught.what != "confirmed":
        return taught
    if before.id not in recurred and efficacy_of(before).verdict != "harmful":
        return taught
    at = taught.lesson.updated_at if is_wish(before) else before.updated_at
    return TaughtLesson(taught.lesson._replace(confidence=before.confidence, updated_at=at), before, "recurred")


def _from_failure(
    event: ToolResult, failure: str, lessons: Sequence[Lesson], now: datetime, session_key: str
) -> list[TaughtLesson]:
    # What a tool gives back is anybody's text, and no list knows all orders: none of its words go into a lesson.
    from nanomem_tui.language import injection

    better = suggest_better_way(event.tool, failure, "" if injection.reason(event.arguments) else event.arguments)
    return _teach(f"tool:{event.tool}:error", "", better, "tool_feedback", lessons, now, session_key, "")


def _from_success(
    event: ToolResult, lessons: Sequence[Lesson], now: datetime, session_key: str, recurred: Collection[str]
) -> list[TaughtLesson]:
    """A tool that works again confirms the newest of this session's lessons about its failures (+1)."""
    trigger = f"tool:{event.tool}:error"[:TRIGGER]
    mine = [
        one for one in lessons
        if one.enabled and one.trigger == trigger and one.session_key == session_key
        and efficacy_of(one).verdict != "harmful"  # it stands in no block: nothing succeeded for its sake
    ]  # fmt: skip
    open_ones = [one for one in mine if _later(one.updated_at, one.last_applied_at)]
    if not open_ones:
        return []
    newest = max(open_ones, key=lambda one: one.updated_at)
    if newest.id in recurred:  # it succeeded at last, and not for the sake of that lesson
        return []
    at = clock.iso(now)
    after = newest._replace(confidence=min(10, newest.confidence + 1), last_applied_at=at, updated_at=at)
    return [TaughtLesson(after, newest, "reinforced")]


def _from_feedback(
    event: Feedback,
    lessons: Sequence[Lesson],
    settings: Settings,
    now: datetime,
    session_key: str,
    actor_key: str,
    unknown: str,
) -> list[TaughtLesson]:
    from nanomem_tui.language import corrections, injection

    found = corrections.detect(event.text, event.answer)
    if found is None or found.is_empty:
        return []
    order = injection.reason(found.text)
    why = order or unknown
    bad = "" if event.echoes or corrections.says_nothing(event.answer) else event.answer
    if not why:  # one who may teach says what waited only for that
        at = clock.iso(now)
        lessons = [confirm_held(one, actor_key, at) if _waits_for_origin(one) else one for one in lessons]
    taught = _teach(found.trigger, bad, found.text, "user_feedback", lessons, now, session_key, actor_key)
    if unknown and any(one.before is not None and one.what != "held" for one in taught):
        return []
    if why:
        # Kept for a person to look at, disabled, so that nothing teaches or shows it; once accepted it is accepted.
        held = json.dumps({"inbox": {"why": why, "finding": "injection" if order else "origin"}}, ensure_ascii=False)
        return [
            TaughtLesson(one.lesson._replace(enabled=False, meta_json=held), None, "held")
            if one.before is None
            else one
            for one in taught
        ]
    rest = [one for one in lessons if one.id not in {one.lesson.id for one in taught}]
    return _promote(taught, [*rest, *(one.lesson for one in taught)], settings, now)


def _waits_for_origin(lesson: Lesson) -> bool:
    why = lesson.meta.get("inbox") if not lesson.enabled else None
    return isinstance(why, dict) and why.get("finding") == "origin"


def _teach(
    trigger: str, bad: str, better: str, source: str, lessons: Sequence[Lesson], now: datetime, session: str, actor: str
) -> list[TaughtLesson]:
    from nanomem_tui.language import secrets

    trigger, better = secrets.mask(trigger)[:TRIGGER], shorten(secrets.mask(better))
    bad = shorten(secrets.mask(bad))
    key = lesson_key(trigger, better, "session", session)
    at, step = clock.iso(now), FIRST[source]
    same = next((one for one in lessons if one.key == key), None)
    if same is not None and not same.enabled:
        return [TaughtLesson(same, same, "held")] if same.waits else []
    if same is None:
        lesson = Lesson(
            id=new_key("lesson"), key=key, trigger=trigger, bad_action=bad, better_action=better, scope="session",
            session_key=session, actor_key=actor, source=source, confidence=step, hits=1, created_at=at, updated_at=at,
        )  # fmt: skip
        return [TaughtLesson(lesson, None, "learned")]
    after = same._replace(
        confidence=min(10, same.confidence + step),
        hits=same.hits + 1,
        updated_at=at,
        bad_action="" if source == "tool_feedback" else bad or same.bad_action,
        actor_key=actor or same.actor_key,
    )
    return [TaughtLesson(after, same, "confirmed")]


def _promote(
    taught: list[TaughtLesson], lessons: Sequence[Lesson], settings: Settings, now: datetime
) -> list[TaughtLesson]:
    """Return what was taught, with the global lesson once enough people taught the same."""
    if not taught or not settings.promotion_enabled or taught[0].lesson.trigger not in PROMOTED_TRIGGERS:
        return taught
    own, at = taught[0], clock.iso(now)
    key = lesson_key(own.lesson.trigger, own.lesson.better_action, "global", "")
    alike = [one for one in lessons if one.scope == "session" and one.enabled and _global_key(one) == key]
    actors = {one.actor_key for one in alike if one.actor_key}
    known = next((one for one in lessons if one.key == key), None)
    if (known is not None and not known.enabled) or (known is None and len(actors) < PROMOTING_PEOPLE):
        return taught
    marked = [own._replace(lesson=own.lesson._replace(promoted_global_key=key))]
    marked += [
        TaughtLesson(one._replace(promoted_global_key=key), one, "promoted")
        for one in alike
        if one.promoted_global_key != key and one.id != own.lesson.id
    ]
    if known is not None:
        return [*marked, TaughtLesson(known._replace(hits=known.hits + 1, updated_at=at), known, "confirmed")]
    new = own.lesson._replace(
        id=new_key("lesson_global"), key=key, scope="global", session_key="", actor_key="", source="auto_promoted",
        confidence=PROMOTED, hits=sum(one.hits for one in alike), created_at=at, updated_at=at, last_applied_at="",
        promoted_global_key="", meta_json=json.dumps({"actors": len(actors)}),
    )  # fmt: skip
    return [*marked, TaughtLesson(new, None, "promoted")]


def _global_key(lesson: Lesson) -> str:
    return lesson_key(lesson.trigger, lesson.better_action, "global", "")


def find_over_cap(lessons: Iterable[Lesson], settings: Settings) -> list[Lesson]:
    """Return the enabled lessons beyond `max_lessons`, least sure and oldest first."""
    enabled = sorted((one for one in lessons if one.enabled and not one.is_deleted), key=lambda one: one.updated_at)
    too_many = len(enabled) - settings.max_lessons
    return sorted(enabled, key=lambda one: (one.confidence, one.updated_at))[:too_many] if too_many > 0 else []


def rank(lessons: Iterable[Lesson], text: str, settings: Settings, now: datetime, *, session_key: str) -> list[Lesson]:
    """Return the lessons to put before the model, best first: those of `ranked`, as many as the settings say."""
    return rank_for_message(lessons, text, settings, now, session_key=session_key)[: settings.max_lessons_in_prompt]


def rank_for_message(
    lessons: Iterable[Lesson], text: str, settings: Settings, now: datetime, *, session_key: str
) -> list[Lesson]:
    """Return every lesson that may be given with a message, best first: what shares words with it and is recent, then
    what is surer now, then what happened more often. None that faded or proved harmful, each thing that is said once,
    and of what people said of one topic the last that counts (`retention`)."""
    if not (settings.memory_enabled and settings.learning_enabled):
        return []
    words = set(tokens(text))
    scored = []
    shown: set[tuple[str, str]] = set()
    seen = [(one, effective_confidence(one, now)) for one in lessons if _shows(one, session_key)]
    given = [(one, sure) for one, sure in seen if not is_weak_confidence(sure)]
    older = find_superseded_lessons(one for one, _ in given)
    for lesson, sure in sorted(given, key=lambda one: one[0].scope != "session"):
        same = (fold(lesson.trigger), fold(lesson.better_action))
        if same in shown or lesson.id in older:
            continue
        shown.add(same)
        mine = _words_of(f"{lesson.trigger} {lesson.better_action} {lesson.bad_action}")
        moment = clock.parse(lesson.updated_at) or now
        recency = 1.0 / (1.0 + math.log1p(max(0.0, (now - moment).total_seconds() / 3600)))
        overlap = len(words & mine) / len(words) if words else 0.0
        scored.append((overlap + 0.2 * recency, sure, lesson.hits, lesson))
    scored.sort(key=lambda entry: entry[:3], reverse=True)
    return [lesson for *_, lesson in scored]


def find_newer(lesson: Lesson, lessons: Iterable[Lesson], now: datetime, *, session_key: str) -> Lesson | None:
    """Return the lesson that is given in a session instead of this one, which is older and of the same topic."""
    given = [one for one in lessons if _shows(one, session_key) and not is_weak(one, now)]
    return find_superseded_lessons(given).get(lesson.id)


def find_superseded_lessons(lessons: Iterable[Lesson]) -> dict[str, Lesson]:
    """Of lessons that would stand before one model: those that another takes the place of, by id, with that one.

    Of an answer's language and length only one thing can hold: what was said last, and in a chat what was said there;
    so a lesson that a person wrote gives way too, but to another that a person wrote. The same is true of what one
    correction asks for and another forbids in so many words; what a person wrote takes no part in that. So an older
    one is kept, and counts again when the newer one is gone."""
    from nanomem_tui.language import corrections

    topics: dict[str, list[Lesson]] = {}
    older: dict[str, Lesson] = {}
    orders: list[tuple[Lesson, tuple[corrections.Stance, ...]]] = []
    for one in sorted(lessons, key=lambda one: (one.scope == "session", one.updated_at, one.id)):
        if topic := corrections.topic(one.trigger, one.better_action):
            topics.setdefault(topic, []).append(one)
        elif one.source in _SAID and (found := corrections.stances(one.better_action)):
            orders.append((one, found))
    for *before, last in topics.values():
        older |= {one.id: last for one in before if _SAID.intersection((one.source, last.source))}
    holds = {stance.subject: (one, stance) for one, found in orders for stance in found}
    for one, found in orders:
        by, stance = holds[found[0].subject]
        if len(found) == 1 and stance.wanted != found[0].wanted:  # one that orders more is not wrong in all of it
            older[one.id] = by
    return older


_SAID = frozenset({"user_feedback", "auto_promoted"})


@lru_cache(2_048)  # the same lessons are ranked in every turn
def _words_of(text: str) -> frozenset[str]:
    return frozenset(tokens(text))


def _shows(lesson: Lesson, session_key: str) -> bool:
    here = lesson.scope == "global" or lesson.session_key == session_key
    if not (lesson.enabled and not lesson.is_deleted and here and not is_withdrawn(lesson)):
        return False
    return not is_about_no_name(lesson)


def is_about_no_name(lesson: Lesson) -> bool:
    """Return whether a lesson was learned, here or by an agent, of a tool whose name is none: it stands in no block."""
    if lesson.source != "tool_feedback" or not lesson.trigger.startswith("tool:"):
        return False
    name = lesson.trigger.removeprefix("tool:").removesuffix(":error")
    return tool_name(name) != name


def _later(first: str, second: str) -> bool:
    one, two = clock.parse(first), clock.parse(second)
    return one is not None and (two is None or one > two)


# The reflection that a lesson learned from a failed tool leaves (seed 003): which tool, with what, what it said, and
# what follows from it.

KIND = "reflection"
ARGUMENTS, REFLECTION_HEAD = 500, 400
"""Characters of the arguments that are kept, and of them those at their beginning."""
_FAILED = frozenset({"learned", "confirmed", "recurred"})


def reflect_failure(
    event: ToolResult, taught: TaughtLesson, known: Callable[[str], Record | None], at: str
) -> tuple[Record, TaughtLesson] | None:
    """Return the reflection of a failure and the lesson that names it; None where nothing was learned."""
    lesson = taught.lesson
    if not event.failed or taught.what not in _FAILED or lesson.source != "tool_feedback":
        return None
    row = known(str(lesson.meta.get("reflection") or "")) or known(reflection_id(lesson.key))
    if row is not None and row.is_deleted:
        return None
    meta = {
        **(row.meta if row else {}),
        "args": _safe_part(event.arguments, ARGUMENTS, REFLECTION_HEAD),
        "lesson": lesson.id,
    }
    meta |= {"error": error} if (error := _safe_part(event.failed)) else {}
    times = meta.get("times", 1)
    meta["times"] = times + 1 if row and isinstance(times, int) else 1
    first = row or Record(
        reflection_id(lesson.key), KIND, event.tool, lesson.better_action, lesson.session_key, "agent", created_at=at
    )
    after = first._replace(at=at, updated_at=at, meta_json=dumped(meta))
    linked = lesson._replace(meta_json=dumped({**lesson.meta, "reflection": after.id}))
    return after, taught._replace(lesson=linked)


def reflection_id(lesson_key: str) -> str:
    """Return the id of the reflection of a lesson that was learned from a tool, also of one that is learned again."""
    return f"{KIND}_{hashlib.blake2b(lesson_key.encode('utf-8', 'replace'), digest_size=10).hexdigest()}"


def _safe_part(text: str, limit: int = ACTION, head: int = HEAD) -> str:
    from nanomem_tui.language import injection, secrets

    return "" if injection.reason(text) else shorten(secrets.mask(text), limit, head)


# -- What to do better after a tool failed, by the words of the failure (seed 000 §2.5), in English -------------------

LONGEST_PLACE = 120
"""Characters of a path or an address that a sentence names."""

_ADVICE: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"(?:\b(?:https?|status|code|error)\b\W{0,3}|^\W*)40[13]\b|"
            r"\b40[13]\W{0,3}(?:forbidden|unauthori[sz]ed|client error)|"
            r"^(?=.*https?://).*(?:\b40[13]\b|forbidden|unauthori[sz]ed|access denied)",
            re.IGNORECASE | re.DOTALL,
        ),
        "The server refuses access to {what}: give its credentials, or take another source, when calling `{tool}`.",
    ),
    (
        re.compile(
            r"permission|denied|outside|not allowed|forbidden|unauthori[sz]ed|\b40[13]\b|权限|拒绝", re.IGNORECASE
        ),
        "Ensure {what} is inside allowed workspace and has permissions before `{tool}`.",
    ),
    (
        re.compile(r"not found|no such|does not exist|missing|\b404\b|找不到|不存在", re.IGNORECASE),
        "Check that {what} exists and is readable before calling `{tool}`.",
    ),
    (
        re.compile(r"time(?:d )?[- ]?out|too (?:large|long|many)|limit|out of memory|超时", re.IGNORECASE),
        "Use smaller scope or lighter parameters when calling `{tool}`.",
    ),
    (
        re.compile(
            r"invalid|required|missing argument|unexpected|type ?error|value ?error|schema|json|参数", re.IGNORECASE
        ),
        "Check the names and types of the parameters before calling `{tool}`.",
    ),
    (
        re.compile(r"connection|network|unreachable|dns|refused|ssl|\b5\d\d\b|网络|连接", re.IGNORECASE),
        "Check that the address is right and reachable, and retry later, when calling `{tool}`.",
    ),
)
_PLACE = re.compile(r"(?:[A-Za-z]:\\|~?/|\./)[^\s'\"`,;:)]+|https?://[^\s'\"`,;)]+")


def suggest_better_way(tool: str, failure: str, asked: str = "") -> str:
    """Return advice by the kind of failure; a path is named only where the call itself asked for it."""
    places = (place.rstrip(".") for place in _PLACE.findall(failure))
    place = next((place for place in places if place in asked), "")
    what = f"`{place[:LONGEST_PLACE]}`" if place else "the target"
    for pattern, text in _ADVICE:
        if pattern.search(failure):
            return text.format(tool=tool, what=what)
    return f"Read the error of `{tool}` and change the call before trying it again."
