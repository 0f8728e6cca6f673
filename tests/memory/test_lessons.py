"""Lessons as a person works with them (seed 000)."""

from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo
from nanomem_tui.store.values import Lesson
from tests.store.homes import Agent, fill


def test_a_lesson_is_added_with_the_key_of_the_seed(ws):
    key = ws.lessons.add("Response:Length", "Be  brief", "essays", confidence=7).changes[0].key
    lesson = ws.lessons.get(key)
    assert lesson.key == "response:length|be brief|global|"
    assert (lesson.bad_action, lesson.confidence, lesson.source, lesson.enabled) == ("essays", 7, "manual", True)
    session = ws.lessons.add("t", "b", scope="session", session_key="cli:direct").changes[0].key
    assert ws.lessons.get(session).key == "t|b|session|cli:direct"


@pytest.mark.parametrize(
    "fields",
    [
        {"trigger": " "},
        {"better_action": ""},
        {"scope": "galaxy"},
        {"scope": "session"},
        {"confidence": 0},
        {"confidence": 11},
        {"trigger": "\ud800"},
        {"bad_action": "\udcff"},
    ],
)
def test_what_cannot_be_kept_is_refused(ws, fields):
    with pytest.raises(BadInput):
        ws.lessons.add(**{"trigger": "t", "better_action": "b", **fields})
    assert len(ws.lessons.all()) == 3
    assert ws.log() == []


def test_an_edit_keeps_a_key_that_the_agent_made_unless_its_words_change(workspace):
    agent = Agent(workspace)
    agent.lessons["lesson_1"]["key"] = "a key of the agent's own"
    agent.flush()
    with open_workspace(workspace) as ws:
        ws.lessons.edit("lesson_1", confidence=9)
        assert ws.lessons.get("lesson_1").key == "a key of the agent's own"
        ws.lessons.edit("lesson_1", trigger="New")
        assert ws.lessons.get("lesson_1").key == "new|better 1|global|"
        with pytest.raises(NothingToDo):
            ws.lessons.edit("lesson_1", trigger="New")
        with pytest.raises(BadInput, match="cannot edit hits"):
            ws.lessons.edit("lesson_1", hits=3)


def test_a_faded_lesson_is_confirmed_by_the_confidence_that_it_has(ws):
    long_ago = clock.iso(clock.now() - timedelta(days=90))
    lesson = Lesson("old", "old:k", "asked for a map", "", "send a link", "global", confidence=10, updated_at=long_ago)
    fill(ws, [lesson])
    assert ws.lessons.faded([lesson]) == {"old"}
    why = ws.lessons.why_not("old", "a map please")
    assert why.endswith("to confirm it: nanomem memory lessons edit old --confidence 10")
    operation = ws.lessons.edit("old", confidence=10)
    assert operation.label == "confirm lesson “asked for a map”"
    row = ws.lessons.get("old")
    assert (row.confidence, ws.lessons.faded([row]), ws.lessons.why_not("old", "a map please")) == (10, frozenset(), "")
    ws.undo()
    assert ws.lessons.get("old").updated_at == long_ago


def test_why_an_older_word_is_not_given(ws):
    now = clock.now()
    first = Lesson("first", "k1", "response:language", "", "answer in English", "session", "cli:direct")
    first = first._replace(source="user_feedback", updated_at=clock.iso(now - timedelta(hours=1)))
    last = first._replace(id="last", key="k2", better_action="请用中文回答", updated_at=clock.iso(now))
    fill(ws, [first, last])
    assert ws.lessons.why_not("first", "answer", "cli:direct") == "last says otherwise of response:language"
    assert ws.lessons.why_not("last", "answer", "cli:direct") == ""


def test_disabled_ones_stay_and_are_told_apart(ws):
    ws.lessons.set_enabled(["lesson_1"], False)
    assert [row.id for row in ws.lessons.all(include_disabled=False)] == ["lesson_3", "lesson_2"]
    assert ws.lessons.count() == {"total": 3, "enabled": 2, "inbox": 0, "by_scope": {"global": 3}}
    ws.lessons.compact_preview(1)
    ws.lessons.compact(1)
    assert {row.id for row in ws.lessons.all()} == {"lesson_1", "lesson_3"}
    ws.lessons.set_enabled(["lesson_1"], True)
    with pytest.raises(NothingToDo):
        ws.lessons.set_enabled(["lesson_1"], True)


def test_a_reset_can_be_taken_back(ws):
    ws.lessons.reset()
    assert ws.lessons.all() == []
    with pytest.raises(NothingToDo):
        ws.lessons.reset()
    with pytest.raises(NothingToDo):
        ws.lessons.compact(0)
    ws.undo()
    assert len(ws.lessons.all()) == 3


def test_an_id_may_be_cut_short_while_it_is_clear(ws):
    with pytest.raises(BadInput, match="lessons begin"):
        ws.lessons.get("lesson")
    with pytest.raises(NotFound):
        ws.lessons.get("")
    ws.lessons.delete(["lesson_1"])
    with pytest.raises(NotFound):
        ws.lessons.get("lesson_1")
    assert [e.operation.kind for e in ws.lessons.history("lesson_1")] == ["lessons.delete"]


def test_confidence_fades_with_the_hours(ws):
    def aged(hours, **fields):
        at = clock.iso(clock.now() - timedelta(hours=hours))
        return round(ws.lessons.effective(Lesson("l", confidence=5, updated_at=at, **fields)), 3)

    assert (aged(0), aged(168), aged(84), aged(10_000)) == (5, 4, 4.5, 0)
    recent = clock.iso(clock.now())
    assert aged(168, last_applied_at=recent) == 5, "counted from when it was last confirmed"
    week = clock.iso(clock.now() - timedelta(hours=168))
    assert aged(0, last_applied_at=week) == 5, "or from when it was told"
    assert ws.lessons.effective(Lesson("l", confidence=5, updated_at="no time")) == 5


def test_a_lesson_reaches_the_agents_file_in_its_form(workspace):
    with open_workspace(workspace) as ws:
        key = ws.lessons.add("t", "b").changes[0].key
    agent = Agent(workspace)
    assert list(agent.lessons[key]) == list(agent.lessons["lesson_1"])
    assert "+" not in agent.lessons[key]["created_at"]


def test_an_edit_that_expects_what_was_shown_replaces_nothing_unseen(workspace):
    with open_workspace(workspace) as one, open_workspace(workspace) as two:
        shown = two.lessons.get("lesson_1")
        one.lessons.edit("lesson_1", better_action="one")
        with pytest.raises(Conflict, match="better action meanwhile, from “better 1” to “one”"):
            two.lessons.edit("lesson_1", expected=shown, better_action="two")
        two.lessons.edit("lesson_1", expected=shown, trigger="when")
        assert (two.lessons.get("lesson_1").trigger, two.lessons.get("lesson_1").better_action) == ("when", "one")
