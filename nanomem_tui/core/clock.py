"""The time: UTC inside, an agent's naive local time at the border. The one place that asks the system clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, tzinfo

_set: ContextVar[datetime | None] = ContextVar("set", default=None)
_second: tuple[int, str] = (-1, "")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def now() -> datetime:
    """The present as an aware UTC datetime."""
    return _set.get() or datetime.now(UTC)


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """While it lasts the present is `moment`, for this task or thread, and what is done is dated so though later things
    were done before: how the demonstration makes its past."""
    token = _set.set(moment.astimezone(UTC))
    try:
        yield
    finally:
        _set.reset(token)


def is_set() -> bool:
    """Whether the present is one that was set."""
    return _set.get() is not None


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return ms_of(now())


def ms_of(moment: datetime) -> int:
    """Milliseconds since the epoch of an aware time, none lost to rounding: as `stamp` says it."""
    return (moment - _EPOCH) // _MILLISECOND


def stamp() -> tuple[int, str]:
    """The present as milliseconds since the epoch and as `iso` writes it, for what happens many times a second."""
    global _second  # noqa: PLW0603  the text of the second that runs
    moment = _set.get()
    if moment is not None:
        return ms_of(moment), iso(moment)
    micros = time.time_ns() // 1000
    seconds, fraction = divmod(micros, 1_000_000)
    known, text = _second
    if known != seconds:
        text = datetime.fromtimestamp(seconds, UTC).isoformat()[:19]
        _second = (seconds, text)
    return micros // 1000, f"{text}.{fraction:06d}+00:00" if fraction else f"{text}+00:00"


def iso(moment: datetime) -> str:
    """`moment` as ISO 8601 in UTC with offset, the form of our tables. A naive moment is local time."""
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat()


def parse(text: str | None) -> datetime | None:
    """An aware UTC datetime from ISO text, naive text being local time; None when it is no time.

    Accepts a date alone and `YYYY-MM-DD HH:MM`, as agents write them.
    """
    if not isinstance(text, str) or not text:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def past_time(text: str | None) -> datetime:
    """When something was that is told of now: the time in `text`, the present for one to come, or for none."""
    present = now()
    return min(parse(text) or present, present)


def days_ago(days: int) -> datetime:
    """The moment so many days before the present; where there is none, the first that there is."""
    try:
        return now() - timedelta(days=days)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def local_naive(moment: datetime) -> str:
    """`moment` as an agent writes it: local time, no offset."""
    return moment.astimezone().replace(tzinfo=None).isoformat()


def local_minute(moment: datetime) -> str:
    """Return local time to the minute: `2026-02-15 09:30`."""
    return local_naive(moment)[:16].replace("T", " ")


def age_text(moment: datetime | None, reference: datetime | None = None) -> str:
    """How long ago `moment` was, in one short word: `12 s`, `5 min`, `3 h`, `8 d`, `4 mon`, `2 y`; `-` for None."""
    if moment is None:
        return "-"
    seconds = max(0, int(((reference or now()) - moment).total_seconds()))
    steps = (
        (60, 1, "s"),
        (3600, 60, "min"),
        (86400, 3600, "h"),
        (86400 * 60, 86400, "d"),
        (86400 * 730, 86400 * 30, "mon"),
    )
    for limit, unit, name in steps:
        if seconds < limit:
            return f"{seconds // unit} {name}"
    return f"{seconds // (86400 * 365)} y"


# -- When work is done again: the next time of a cron line, and a thread that repeats something beside the program.


def cron_next(cron: str, after: datetime, zone: tzinfo | None) -> datetime:
    """The first time after `after` that a cron line names; `zone`: in which it is meant (None: that of here)."""
    from cronsim import CronSim

    local = after.astimezone(zone)
    return next(CronSim(cron, local)).astimezone(now().tzinfo)


Step = Callable[[Callable[[], bool]], float]
"""Does it once, and returns the seconds to wait before the next time. Is given whether the thread was stopped; must
not raise."""


class Repeating:
    """Started once, stopped once."""

    def __init__(self, name: str, step: Step, first: float) -> None:
        """`name`: that of the thread. `first`: the seconds before the first step."""
        self._step = step
        self._first = first
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to wait for the first step."""
        self._thread.start()

    def stop(self) -> None:
        """End, once a step that runs is done."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        wait = self._first
        while not self._stop.wait(wait):
            wait = self._step(self._stop.is_set)
