"""Whether a lesson helps: how often it stood before the model, whether it was followed, whether the failure came again.

Owns the record in the lesson's free fields (`meta["efficacy"]`) and the verdict that follows from it. Pure.
A lesson is followed in a turn in which it was shown and what it warns of did not happen, although it could have: its
tool was called, or, for lessons about answers, the person got an answer and did not correct it. Only who corrects
such a thing at all tells by silence that it was heeded: a lesson of all chats is decided in those that taught it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.store.values import Lesson, dumped

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
