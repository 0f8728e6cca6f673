"""Who may teach: what others say and correct waits in the inbox until a person accepts it."""

from nanomem_tui import open_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.turns.capture import held_sender
from tests.memory.turns import settle, turn

HOME = {"items": 0, "lessons": 0}

CORRECTION = "No, that is wrong, it was Canberra all along and not Sydney"


def test_who_may_teach():
    settings, named = Settings(), Settings(capture_senders=("ana",))
    assert held_sender(Audience("telegram", "42", "ben"), settings) == ""
    assert held_sender(Audience("cli", "direct"), settings) == ""
    assert "no sender is named" in held_sender(Audience("telegram", "42"), settings)
    assert "no sender is named" in held_sender(Audience("telegram", "42", ""), settings)
    assert held_sender(Audience("telegram", "42", "ana"), named) == ""
    assert "capture_senders" in held_sender(Audience("telegram", "42", "ben"), named)
    assert "capture_senders" in held_sender(Audience("cli", "direct"), named)


def test_what_somebody_else_corrects_waits_and_what_one_who_may_says_is_learned(workspace):
    settle(workspace, capture_senders=["ana"])
    with open_workspace(workspace) as ws:
        turn(ws, "What is the capital of Australia?", "It is Sydney, of course.", sender_id="ben")
        ended = turn(ws, CORRECTION, sender_id="ben")
        assert [lesson.what for lesson in ended.lessons if lesson.what == "learned"] == []
        [one] = ws.inbox.list()
        assert one.layer == "lesson"
        assert "capture_senders" in one.why
        assert not [lesson for lesson in ws.lessons.all() if lesson.enabled]
        turn(ws, CORRECTION, sender_id="ben")
        assert len(ws.inbox.list()) == 1, "said again by the same it waits on"
        turn(ws, CORRECTION, sender_id="ana")
        assert ws.inbox.list() == []
        assert [lesson.better_action for lesson in ws.lessons.all() if lesson.enabled] == [CORRECTION]
        sure = ws.lessons.all()[0].confidence
        turn(ws, CORRECTION, sender_id="ben")
        assert [lesson.confidence for lesson in ws.lessons.all()] == [sure], "who may not teach confirms nothing"
