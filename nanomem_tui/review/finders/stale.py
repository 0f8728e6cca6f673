"""Findings about use: what was of use once and has not been for long, and what recall never gave.

The more an item was used the longer it may rest. Pinned items, facts with a key, and what matters when it is needed
once are never asked about.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import lru_cache
from itertools import chain

from nanomem_tui.core import clock
from nanomem_tui.core.text import counted
from nanomem_tui.memory import lessons as memory_lessons
from nanomem_tui.review.finders import rows as finders_rows
from nanomem_tui.review.finders.rows import ASKED_FOR, RowFinder, Rows
from nanomem_tui.review.findings import Decision, Finding
from nanomem_tui.store.values import Item, Lesson

DAYS: Mapping[str, int] = {"episodic": 45, "decision": 120, "fact": 180, "preference": 270}
"""Days without use after which an item of a kind is stale, had it been used once."""
FADED_FOR = timedelta(days=30)
"""How long a lesson has to be too weak to be given."""
ASKED_TIMES = 1.5
"""What a person asked to remember may rest longer."""
OVER: tuple[Decision, ...] = ("delete", "disable", "keep", "edit")
MAYBE: tuple[Decision, ...] = ("disable", "keep", "delete", "edit")
FADED: tuple[Decision, ...] = ("delete", "keep", "disable", "edit")


class UseFinder(RowFinder):
    """Judges use; `asked_already` gives the ids that other finders ask about."""

    def __init__(self, rows: Rows, asked_already: Callable[[], frozenset[str]]) -> None:
        super().__init__(rows)
        self._asked_already = asked_already


class Stale(UseFinder):
    """Finds items that were recalled once and not for long, and lessons that faded."""

    kinds = ("stale",)

    def _found(self) -> Iterable[Finding]:
        return chain(self._items(), self._lessons())

    def _items(self) -> Iterator[Finding]:
        items = self._rows.items()
        time = self._rows.time()
        asked: frozenset[str] | None = None
        youngest, today = time.limit(min(DAYS.values())), clock.iso(clock.now())[:10]
        for row in items:
            if row.pinned or (row.last_accessed_at or row.updated_at) >= youngest or not finders_rows.was_recalled(row):
                continue
            last = finders_rows.last_use(row)
            if (
                last >= time.limit(allowed_idle_days(row))
                or finders_rows.is_fact(row)
                or self._rows.lasts(row)
                or finders_rows.is_ahead(row.text, today)
            ):
                continue
            asked = self._asked_already() if asked is None else asked
            if row.id not in asked:
                yield self._finding(row, last)

    def _finding(self, row: Item, last: str) -> Finding:
        moment = clock.parse(last)
        ago = clock.age_text(moment)
        why = f"{row.kind}, of use {counted(row.hits, 'time')}, last {ago} ago"
        over = row.kind == "episodic"
        return self._rows.finding("stale", row, why, OVER if over else MAYBE, 0.7 if over else 0.4, row.hits)

    def _lessons(self) -> Iterator[Finding]:
        time = self._rows.time()
        for lesson in self._rows.lessons():
            last = clock.parse(max(lesson.last_applied_at or "", lesson.updated_at))
            if last is None or not memory_lessons.is_weak(lesson, last + time.age(last) - FADED_FOR):
                continue
            why = f"it has faded and is not given any more, last confirmed {clock.age_text(last)} ago"
            offers = MAYBE if lesson.source in ASKED_FOR else FADED
            yield self._rows.finding("stale", lesson, why, offers, 0.5, lesson.hits)


def allowed_idle_days(row: Item) -> float:
    """Days that an item may go without use: twice as long for one that was of use sixteen times."""
    days = DAYS.get(row.kind, DAYS["fact"]) * (1 + math.log2(max(1, row.hits)) / 4)
    return days * (ASKED_TIMES if row.source in ASKED_FOR else 1)


# -- Small talk: words that tell nothing to anybody a day later. English, Chinese, Japanese, Thai. Pure ---------------

LONGEST = 60
"""Characters: what is longer tells something."""


@lru_cache(1)
def _words() -> re.Pattern[str]:
    english = (
        "a|again|ah|alright|and|anyway|are|away|awesome|back|brb|bye|cool|cya|do|done|dude|enough|everyone|fine|for|ftw|"
        "going|gonna|good|got|grabbing|great|gtg|guys|ha|haha(?:ha)*|hehe|hello|hey|hi|hmm+|home|how|i|i'll|i'm|im|it|it's|"
        "its|just|k|kk|later|lmao|lol|love|lunch|man|me|minute|minutes|moment|morning|nah|never|nice|night|no|np|nope|nvm|of|"
        "oh|ok|okay|omg|one|oops|perfect|please|problem|rofl|right|roger|same|sec|second|see|so|sorry|sounds|still|sure|"
        "thank|thanks|that|that's|the|then|there|thx|to|too|ty|ugh|um|very|wait|welcome|well|what|what's|whatever|wow|wtf|"
        "ya|yay|yeah|yep|yes|you|you're|your|yup|xd|works|up|now|cheers|mate|much|really|lets|let's|go|gotcha|on|my|way|"
        "coffee|break|in|bit|test|testing|ping|pong|it|does|did|hahaha|dinner|afk|tho|though|true|damn|weird|lovely|day"
    )
    chinese = (
        "好|好的|好吧|好滴|好呀|好嘞|行|行吧|嗯+|哦+|噢|啊+|哈+|嘿+|呵+|谢谢|谢了|多谢|感谢|不客气|没事|没关系|收到|明白|知道了|了解|"
        "可以|对|对的|是的|是|没错|再见|拜拜|晚安|早安|早上好|早|晚上好|你好|您好|在吗|在|稍等|等等|等一下|马上|来了|吃饭去了|我先去吃饭了|"
        "辛苦了|厉害|牛|太棒了|棒|不错|真的|真的吗|吗|呢|吧|了|呀|哎|唉|笑死|笑死我了|测试|测试一下|先这样|那就这样|就这样|没问题|ok"
    )
    other = (
        "はい|うん|了解(?:です|しました)?|ありがとう(?:ございます)?|おはよう(?:ございます)?|おやすみ(?:なさい)?|すみません|お疲れ様(?:です|でした)?|笑|"
        "なるほど|そうですね|またね|ขอบคุณ(?:ครับ|ค่ะ|นะ)?|โอเค|ครับ|ค่ะ|สวัสดี|5{3,}|ได้เลย|ไม่เป็นไร|ฝันดี|บาย"
    )
    gap = r"[\s.,!?…~～。，！？、:;()'’\-^_/*\"“”\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f]*"
    return re.compile(rf"{gap}(?:(?:(?<![a-z'])(?:{english})(?![a-z'])|{chinese}|{other}){gap})+", re.IGNORECASE)


def is_chatter(text: str) -> bool:
    """Return whether a text is nothing but small talk, or signs without a word."""
    bare = text.strip()
    if len(bare) > LONGEST:
        return False
    return not any(char.isalnum() for char in bare) or _words().fullmatch(bare) is not None


# What recall never gave, though it had time and cause: nobody asks about what is new, or where recall is not used.

CHATTER_DAYS, TAKEN_DAYS, ASKED_DAYS, LESSON_DAYS = 3, 21, 120, 60
"""Days until somebody is asked: about small talk, what was taken from talk, what a person asked for, a lesson."""
MATTERS = 0.9
"""Importance from which disuse says nothing."""
GO: tuple[Decision, ...] = ("delete", "keep", "disable", "edit")


class NeverRecalled(UseFinder):
    """Finds items that recall never gave, and lessons that never applied."""

    kinds = ("unused",)

    def _found(self) -> Iterable[Finding]:
        return sorted(chain(self._items(), self._lessons()), key=lambda one: -one.weight)

    def _items(self) -> Iterator[Finding]:
        items = self._rows.items()
        time = self._rows.time()
        asked: frozenset[str] | None = None
        today = clock.iso(clock.now())[:10]
        youngest, taken, told = (time.limit(days) for days in (CHATTER_DAYS, TAKEN_DAYS, ASKED_DAYS))
        for row in items:
            if row.hits > 1 or row.last_accessed_at or row.pinned or row.updated_at >= youngest:
                continue
            old = finders_rows.last_use(row) < (told if row.source in ASKED_FOR else taken)
            chatter = row.source not in ASKED_FOR and is_chatter(row.text)
            if not (chatter or (old and self._is_idle(row, time, today))):
                continue
            asked = self._asked_already() if asked is None else asked
            if row.id not in asked:
                yield self._finding(row, time, chatter=chatter)

    def _is_idle(self, row: Item, time: finders_rows.Clock, today: str) -> bool:
        """Return whether it was passed over again and again, and is nothing that matters once."""
        if finders_rows.is_fact(row) or time.recalled_since(row.created_at) < finders_rows.ENOUGH:
            return False
        if row.importance >= MATTERS or self._rows.lasts(row):
            return False
        return not finders_rows.is_ahead(row.text, today)

    def _finding(self, row: Item, time: finders_rows.Clock, *, chatter: bool) -> Finding:
        age = clock.age_text(clock.parse(row.created_at))
        if chatter:
            return self._rows.finding("unused", row, f"small talk, never recalled in {age}", GO, 0.9)
        others = counted(time.recalled_since(row.created_at), "other item")
        why = f"never recalled in {age}, while {others} {'was' if others.startswith('1 ') else 'were'}"
        asked = row.source in ASKED_FOR
        return self._rows.finding("unused", row, why, MAYBE if asked else GO, 0.3 if asked else 0.6)

    def _lessons(self) -> Iterator[Finding]:
        lessons = self._rows.lessons()
        applied = sum(1 for row in lessons if row.last_applied_at)
        limit = self._rows.time().limit(LESSON_DAYS)
        for row in lessons if applied >= finders_rows.ENOUGH else ():
            if memory_lessons.is_weak(row, clock.now()):
                continue  # it is not given any more: that it never applied is no news
            if not row.last_applied_at and row.hits <= 1 and row.updated_at < limit and row.source not in ASKED_FOR:
                yield self._of_lesson(row)

    def _of_lesson(self, row: Lesson) -> Finding:
        age = clock.age_text(clock.parse(row.created_at))
        return self._rows.finding("unused", row, f"it never applied in {age}", MAYBE, 0.3)
