"""Corrections that contradict each other: the last word holds; what only looks like it stands side by side."""

from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui.core import clock
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.lessons import rank
from nanomem_tui.store.values import Lesson
from tests.memory.turns import turn

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
S = "telegram:1"

FLIPS = (
    ("always use tabs", "never use tabs"),
    ("No, always use tabs", "Don't use tabs any more!"),
    ("I said use tabs.", "Please never ever use tabs, because the linter complains"),
    ("Stop using emojis", "From now on, use emojis"),
    ("no more emojis please", "Actually, use some emojis"),
    ("don’t use bullet points", "You should always use bullet points"),
    ("Wrong, do not reply in Markdown", "reply in Markdown"),
    ("stop apologizing", "always apologize"),
    ("Don't apologise for delays", "Apologize for delays"),
    ("Never add a summary at all", "Add the summary, thanks"),
    ("You must not use 'tabs'", "Not like that, use tabs"),
    ("No formatting with asterisks", "Remember to format with asterisks"),
    ("avoid ending messages with questions", "No. End messages with questions."),
    ("never use tabs in Makefiles", "always use tabs in makefiles"),
    ("use tabs", "Don't use tabs, use spaces"),
    ("用中文回答", "不要用中文回答"),
    ("不对，要用表情", "以后不要再用表情了"),
    ("别用 tab 缩进", "请用tab缩进"),
    ("不是，不要用缩写", "使用缩写"),
    ("不要加注释", "以后每次都要添加注释"),
    ("千万别道歉", "一定要道歉"),
    ("不要叫我老板", "你应该叫我老板"),
    ("别再使用缩写，谢谢", "使用缩写"),
)
HARMLESS = (
    ("always use tabs", "always use tabs in Python"),
    ("always use tabs", "never use tabs in Makefiles"),
    ("use tabs", "never use spaces"),
    ("use tabs", "don't use hard tabs"),
    ("never use tabs", "Use tabs unless I say otherwise"),
    ("never use tabs", "use tabs, but only in Go"),
    ("always use tabs", "don't always use tabs"),
    ("use tabs", "don't just use tabs"),
    ("use tabs", "don't forget to use tabs"),
    ("use tabs", "never stop using tabs"),
    ("use tabs", "don't hesitate to use tabs"),
    ("use tabs", "why don't you use tabs?"),
    ("use tabs", "No, you didn't use tabs"),
    ("use tabs", "That's wrong, I never use tabs"),
    ("use it", "don't use it"),
    ("use that font", "never use that font"),
    ("send the report today", "don't send the report today"),
    ("don't reply yet", "reply yet"),
    ("reply", "don't reply"),
    ("write tests", "never rewrite tests"),
    ("never write code without tests", "write code with tests"),
    ("answer with code", "don't answer without code"),
    ("call me Ana", "never call me Anna"),
    ("use my name", "don't use your name"),
    ("no emojis", "add emojis to the title"),
    ("add a summary", "don't add a long summary"),
    ("don't ask twice", "ask before you delete files"),
    ("never delete files", "never delete files without asking"),
    ("never delete files", "delete the old files"),
    ("use port 8080", "don't use port 80"),
    ("use at most three emojis", "don't use three emojis"),
    ("never commit to main", "commit to main only when I ask"),
    ("do not push", "push the branch"),
    ("wrong, it is Luna", "wrong, it is not Luna"),
    ("用表情", "不要用表情包"),
    ("用表情", "不要总是用表情"),
    ("用表情", "不要不用表情"),
    ("用表情", "不得不用表情"),
    ("用 tab", "除非我说，不要用 tab"),
    ("用 tab", "要不要用 tab"),
    ("用这个字体", "不要用这个字体"),
    ("加注释", "不要加太多注释"),
    ("写测试", "别重写测试"),
    ("叫我小王", "别叫我王总"),
    ("回答", "不要回答"),
    ("用 tab", "不是用 tab"),
    ("别人用 tab", "人用 tab"),
    ("use problems", "No problem"),
    ("not use tabs, I think", "use tabs"),
)


def lesson(number, text, **fields):
    at = clock.iso(NOW + timedelta(minutes=number))
    made = Lesson(f"lesson_{number}", f"k{number}", "response:alignment", "", text, "session", S, confidence=5)
    return made._replace(**{"source": "user_feedback", "updated_at": at, **fields})


def given(*rows, session=S):
    return {one.id for one in rank(rows, "x", Settings(), NOW + timedelta(hours=1), session_key=session)}


@pytest.mark.parametrize(("one", "other"), FLIPS)
def test_of_two_corrections_that_contradict_each_other_the_last_holds(one, other):
    language = "response:language" if "中文" in one else "response:alignment"
    assert given(lesson(1, one, trigger=language), lesson(2, other, trigger=language)) == {"lesson_2"}


@pytest.mark.parametrize(("first", "second"), [pair for pair in FLIPS if not pair[1].endswith("use spaces")])
def test_and_in_the_other_order_the_other_one(first, second):
    language = "response:language" if "中文" in first else "response:alignment"
    assert given(lesson(2, first, trigger=language), lesson(1, second, trigger=language)) == {"lesson_2"}


@pytest.mark.parametrize(("one", "other"), HARMLESS)
def test_what_does_not_plainly_contradict_stands_side_by_side(one, other):
    assert given(lesson(1, one), lesson(2, other)) == {"lesson_1", "lesson_2"}
    assert given(lesson(2, one), lesson(1, other)) == {"lesson_1", "lesson_2"}


def test_what_orders_two_things_is_not_held_back_for_one_of_them():
    assert given(lesson(1, "never use tabs, never use emojis"), lesson(2, "use emojis")) == {"lesson_1", "lesson_2"}
    assert given(lesson(2, "never use tabs, never use emojis"), lesson(1, "use emojis")) == {"lesson_2"}


def test_who_says_it_a_third_time_is_heard_and_what_agrees_stays():
    rows = [lesson(1, "always use tabs"), lesson(2, "never use tabs"), lesson(3, "No, use tabs")]
    assert given(*rows) == {"lesson_1", "lesson_3"}
    assert given(*rows[:2]) == {"lesson_2"}
    assert given(rows[0]) == {"lesson_1"}, "it is kept, and counts again"


def test_a_correction_holds_in_its_chat_and_takes_no_place_of_what_a_person_wrote():
    everywhere = lesson(9, "always use tabs", scope="global", session_key="", source="auto_promoted")
    written = lesson(8, "use tabs", scope="global", session_key="", source="manual")
    here = lesson(1, "never use tabs")
    assert given(everywhere, written, here) == {"lesson_8", "lesson_1"}
    assert given(everywhere, written, here, session="cli:direct") == {"lesson_9", "lesson_8"}


def test_a_correction_of_a_turn_holds_the_one_before_back_and_that_is_told(ws):
    turn(ws, "Format the file", "I formatted it with four spaces for each level.")
    turn(ws, "No, always use tabs", "All lines are indented with tabs now.")
    turn(ws, "Never use tabs", "Spaces again.")
    rows = {row.better_action: row for row in ws.lessons.all() if row.source == "user_feedback"}
    first, last = rows["No, always use tabs"], rows["Never use tabs"]
    assert first.enabled
    assert ws.lessons.newer(first) == last
    assert ws.lessons.newer(last) is None
    assert ws.lessons.why_not(first.id, "tabs", first.session_key).startswith(f"{last.id} says otherwise")
    assert ws.lessons.why_not(last.id, "tabs", last.session_key) == ""
    ws.lessons.delete([last.id])
    assert ws.lessons.newer(first) is None
