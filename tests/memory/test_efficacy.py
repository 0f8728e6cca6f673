"""Whether a lesson helps: shown, followed, or the failure came again."""

from datetime import UTC, datetime

import pytest

from nanomem_tui.core import clock
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory import lessons
from nanomem_tui.memory.lessons import Efficacy, after_answer, after_turn, efficacy_of, with_efficacy
from nanomem_tui.store.values import Lesson

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOOL = Lesson(
    "lesson_1", trigger="tool:exec:error", better_action="Use less", scope="global", updated_at=clock.iso(NOW)
)
ANSWER = TOOL._replace(id="lesson_2", trigger="response:length", better_action="be concise")


@pytest.mark.parametrize(
    ("followed", "recurred", "verdict"),
    [
        (0, 0, "neutral"),
        (2, 0, "neutral"),
        (3, 0, "validated"),
        (7, 3, "validated"),
        (2, 2, "neutral"),
        (0, 2, "neutral"),
        (0, 3, "harmful"),
        (3, 7, "harmful"),
    ],
)
def test_the_verdict_follows_from_the_record(followed, recurred, verdict):
    assert Efficacy(10, followed, recurred).verdict == verdict
    assert Efficacy(10, followed, recurred).to_json()["verdict"] == verdict


def test_a_turn_tells_about_the_tools_that_it_called():
    (one,) = after_turn([TOOL], {"exec": False}, NOW)
    assert (one.outcome, efficacy_of(one.lesson)) == ("followed", Efficacy(1, 1, 0, clock.iso(NOW)))
    (two,) = after_turn([one.lesson], {"exec": True}, NOW)
    assert (two.outcome, efficacy_of(two.lesson)) == ("recurred", Efficacy(2, 1, 1, clock.iso(NOW)))
    (three,) = after_turn([two.lesson], {"other": True}, NOW)
    assert (three.outcome, efficacy_of(three.lesson)) == ("", Efficacy(3, 1, 1, clock.iso(NOW)))
    assert three.before == two.lesson


def test_the_next_message_tells_about_the_answer():
    (shown,) = after_turn([ANSWER], {}, NOW)
    assert shown.outcome == ""
    here = {"response:length"}
    (good,) = after_answer([shown.lesson], "", here)
    (bad,) = after_answer([good.lesson], "response:length", here)
    (other,) = after_answer([bad.lesson], "response:language", here)
    assert [one.outcome for one in (good, bad, other)] == ["followed", "recurred", "followed"]
    assert efficacy_of(other.lesson) == Efficacy(1, 2, 1, clock.iso(NOW))
    assert after_answer([TOOL], "response:length", here) == []


def test_where_nobody_ever_complained_silence_decides_nothing_about_a_lesson_of_all_chats():
    assert after_answer([ANSWER], "") == []
    assert after_answer([ANSWER], "response:length", {"response:language"}) == []
    own = ANSWER._replace(scope="session")
    assert [one.outcome for one in after_answer([own], "")] == ["followed"]


def test_a_record_is_told_in_words():
    assert lessons.describe_efficacy(TOOL) == "never shown"
    some, bad = Efficacy(4, 1, 0), Efficacy(9, 0, 5)
    assert lessons.describe_efficacy(with_efficacy(TOOL, some)) == "shown 4, followed 1, recurred 0; neutral"
    told = "shown 9, followed 0, recurred 5; harmful"
    assert lessons.describe_efficacy(with_efficacy(TOOL, bad)) == f"{told}, not given any more"
    assert lessons.describe_efficacy(with_efficacy(ANSWER, bad)) == f"{told}, given all the same, as a wish"


def test_a_harmful_lesson_is_no_longer_shown():
    bad = with_efficacy(TOOL, Efficacy(5, 0, 5))
    assert lessons.rank([bad, ANSWER], "x", Settings(), NOW, session_key="s") == [ANSWER]
    assert bad.enabled
    wish = with_efficacy(ANSWER, Efficacy(5, 0, 5))
    assert lessons.rank([wish], "x", Settings(), NOW, session_key="s") == [wish], "a person wishes it still"


def test_a_success_makes_no_harmful_lesson_surer():
    own = TOOL._replace(scope="session", session_key="s", confidence=1, source="tool_feedback")
    success = lessons.ToolResult("exec", "done")

    def taught(lesson):
        found = lessons.learn(success, {lesson.id: lesson}, Settings(), NOW, session_key="s")
        return [one.lesson.confidence for one in found]

    assert taught(own) == [2]
    assert taught(with_efficacy(own, Efficacy(3, 0, 3))) == [], "it stood before no model"


def test_a_failure_makes_no_harmful_lesson_surer():
    failure = lessons.ToolResult("exec", "error: timeout")
    (first,) = lessons.learn(failure, {}, Settings(), NOW, session_key="s")
    bad = with_efficacy(first.lesson, Efficacy(3, 0, 3))
    (again,) = lessons.learn(failure, {bad.id: bad}, Settings(), NOW, session_key="s")
    assert (again.what, again.lesson.confidence, again.lesson.hits) == ("recurred", 1, 2)


def test_other_free_fields_stay_and_nonsense_counts_as_nothing():
    kept = with_efficacy(TOOL._replace(meta_json='{"a": 1}'), Efficacy(1))
    assert kept.meta["a"] == 1
    for text in ('{"efficacy": 3}', '{"efficacy": {"shown": -1, "followed": "x", "recurred": true}}', '{"efficacy"'):
        assert efficacy_of(TOOL._replace(meta_json=text)) == Efficacy()
    assert lessons.efficacy_of(TOOL) == Efficacy()
