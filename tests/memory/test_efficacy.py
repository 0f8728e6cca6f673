"""Whether a lesson helps: shown, followed, or the failure came again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nanomem_tui import clock
from nanomem_tui.config import Settings
from nanomem_tui.memory import efficacy, learning
from nanomem_tui.memory.efficacy import Efficacy, after_answer, after_turn, of, with_record
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
def test_the_verdict_follows_from_the_record(followed: int, recurred: int, verdict: str) -> None:
    assert Efficacy(10, followed, recurred).verdict == verdict
    assert Efficacy(10, followed, recurred).to_json()["verdict"] == verdict


def test_a_turn_tells_about_the_tools_that_it_called() -> None:
    (one,) = after_turn([TOOL], {"exec": False}, NOW)
    assert (one.outcome, of(one.lesson)) == ("followed", Efficacy(1, 1, 0, clock.iso(NOW)))
    (two,) = after_turn([one.lesson], {"exec": True}, NOW)
    assert (two.outcome, of(two.lesson)) == ("recurred", Efficacy(2, 1, 1, clock.iso(NOW)))
    (three,) = after_turn([two.lesson], {"other": True}, NOW)
    assert (three.outcome, of(three.lesson)) == ("", Efficacy(3, 1, 1, clock.iso(NOW)))
    assert three.before == two.lesson


def test_the_next_message_tells_about_the_answer() -> None:
    (shown,) = after_turn([ANSWER], {}, NOW)
    assert shown.outcome == ""
    (good,) = after_answer([shown.lesson], "")
    (bad,) = after_answer([good.lesson], "response:length")
    (other,) = after_answer([bad.lesson], "response:language")
    assert [one.outcome for one in (good, bad, other)] == ["followed", "recurred", "followed"]
    assert of(other.lesson) == Efficacy(1, 2, 1, clock.iso(NOW))
    assert after_answer([TOOL], "response:length") == []


def test_a_harmful_lesson_is_no_longer_shown() -> None:
    bad = with_record(TOOL, Efficacy(5, 0, 5))
    assert learning.rank([bad, ANSWER], "x", Settings(), NOW, session_key="s") == [ANSWER]
    assert bad.enabled


def test_other_free_fields_stay_and_nonsense_counts_as_nothing() -> None:
    kept = with_record(TOOL._replace(meta_json='{"a": 1}'), Efficacy(1))
    assert kept.meta["a"] == 1
    for text in ('{"efficacy": 3}', '{"efficacy": {"shown": -1, "followed": "x", "recurred": true}}', '{"efficacy"'):
        assert of(TOOL._replace(meta_json=text)) == Efficacy()
    assert efficacy.of(TOOL) == Efficacy()
