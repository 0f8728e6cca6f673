"""How sure a lesson is now (seed 000 §2.5): it fades with time since it was last confirmed. Pure; reads no words."""

from __future__ import annotations

import math
from datetime import datetime

from nanomem_tui.core import clock
from nanomem_tui.core.settings import Settings
from nanomem_tui.store.values import Lesson


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
