"""Whose session is whose: what a turn left behind is given to the chat that it came from, and to no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.scopes import state_key
from nanomem_tui.memory.turns.request import turn_end, turn_input
from nanomem_tui.workspace import open_workspace

LEFT = "the hidden answer of chat A"


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "home" / "workspace"
    (folder / "memory").mkdir(parents=True)
    return folder


def fields(key, channel, chat, text="hello there", **more):
    return {"session_key": key, "channel": channel, "chat_id": chat, "sender_id": "u1", "text": text, **more}


@pytest.mark.parametrize(
    ("key", "channel", "chat"),
    [
        ("telegram:A", "telegram", "B"),
        ("telegram:A", "signal", "A"),
        ("telegram:-1001", "telegram", "-100"),
        ("telegram:-100", "telegram", "-1001"),
        ("telegram:A:topic:4", "telegram", "B"),
        ("unified:other", "telegram", "A"),
        ("cli:direct", "telegram", "A"),
        ("A", "telegram", "A"),
        ("telegram:", "telegram", "A"),
        ("", "telegram", ":A"),
        ("telegram::A", None, None),
    ],
)
def test_a_session_of_another_chat_is_refused_in_one_line(key, channel, chat):
    with pytest.raises(BadInput) as caught:
        turn_input(fields(key, channel, chat))
    assert "\n" not in caught.value.line()
    assert len(caught.value.line()) < 300


@pytest.mark.parametrize(
    ("key", "channel", "chat", "state"),
    [
        ("telegram:A", "telegram", "A", "telegram:A"),
        ("telegram:-100:topic:42", "telegram", "-100", "telegram:-100:topic:42"),
        ("api:default", "api", "default", "api:default"),
        ("websocket:5f0e", "websocket", "5f0e", "websocket:5f0e"),
        ("", "matrix", "!r:example.org", "matrix:!r:example.org"),
        ("cli:work", "cli", "direct", "cli/direct cli:work"),
        ("unified:default", "telegram", "A", "telegram/A unified:default"),
    ],
)
def test_the_keys_of_agents_are_taken(key, channel, chat, state):
    assert turn_input(fields(key, channel, chat)).state_key == state


def test_chats_that_share_a_session_name_do_not_see_each_others_turns(workspace):
    shared = "unified:default"
    with open_workspace(workspace) as ws:
        for text in ("where is the key to the door?", "No, that is wrong, it is in the blue box"):
            one = fields(shared, "telegram", "A", text, assistant=LEFT, pending_actions=["call the plumber"])
            ws.engine.whole_turn(turn_end(one, whole=True))
        mine = ws.engine.preview(turn_input(fields(shared, "telegram", "A"))).block
        assert LEFT in mine
        assert "plumber" in mine
        assert "blue box" in mine
        for channel, chat in (("telegram", "B"), ("signal", "A")):
            theirs = ws.engine.begin_turn(turn_input(fields(shared, channel, chat, sender_id="u2")))
            assert (theirs.working, theirs.pending, theirs.lessons) == ((), (), ())
            assert LEFT not in theirs.block
    with open_workspace(workspace) as ws:
        assert LEFT in ws.engine.preview(turn_input(fields(shared, "telegram", "A"))).block
        assert LEFT not in ws.engine.preview(turn_input(fields(shared, "telegram", "B"))).block


def test_a_turn_ends_in_the_chat_where_it_began(workspace):
    with open_workspace(workspace) as ws:
        begun = ws.engine.begin_turn(turn_input(fields("telegram:A", "telegram", "A")))
        with pytest.raises(BadInput, match="another chat"):
            ws.engine.end_turn(turn_end({**fields("telegram:B", "telegram", "B"), "turn": begun.turn}))
    with open_workspace(workspace) as ws, pytest.raises(BadInput, match="another chat"):
        ws.engine.end_turn(turn_end({**fields("telegram:B", "telegram", "B"), "turn": begun.turn}))


@pytest.mark.parametrize("chat", ["7 ", "7\u3000", "7\u00a0", "7\u2003", "a ", " 7", "x  "])
def test_a_chat_whose_id_begins_or_ends_with_a_blank_is_one_of_its_own(workspace, chat):
    chats = (chat.strip(), chat)
    for number, name in enumerate((*chats, *chats)):
        text = f"Remember that crate {number} is full"
        with open_workspace(workspace) as ws:
            begun = ws.engine.begin_turn(turn_input(fields("", "telegram", name, text)))
            told = fields(f"telegram:{name}", "telegram", name, text, turn=begun.turn, assistant=f"answer {number}")
            ended = ws.engine.end_turn(turn_end(told))
            assert [saved.item.text for saved in ended.saved] == [f"crate {number} is full"]
            assert ended.problems == ()
    with open_workspace(workspace) as ws:
        for name, answers in zip(chats, (["answer 0", "answer 2"], ["answer 1", "answer 3"]), strict=True):
            assert [turn.assistant for turn in ws.wal.get(f"telegram:{name}").turns] == answers
            shown = ws.engine.preview(turn_input(fields("", "telegram", name)))
            assert [turn.assistant for turn in shown.working] == answers
        assert (ws.wal.check(), ws.wal.problems()) == ([], [])


WORDS = st.text("AB: /@", min_size=1, max_size=6)
KEYS = WORDS | st.sampled_from(["unified:default", "cli:x", "api:default", "t:A", "t:A:B", "t:A:B:x"])


@given(KEYS, st.sampled_from(["t", "u", "cli", "api"]), WORDS, KEYS, st.sampled_from(["t", "u", "cli", "api"]), WORDS)
def test_no_two_chats_share_a_state(key, channel, chat, key2, channel2, chat2):
    try:
        one, two = state_key(key, channel, chat), state_key(key2, channel2, chat2)
    except BadInput:
        return
    if one == two:
        assert (key, channel) == (key2, channel2)
        # Only where one id begins with the other and a colon may a key name both: the agent's session is the same one.
        assert chat == chat2 or chat.startswith(f"{chat2}:") or chat2.startswith(f"{chat}:")


def test_an_answer_that_was_not_given_is_left_out(workspace):
    with open_workspace(workspace) as ws:
        ws.engine.whole_turn(turn_end(fields("telegram:A", "telegram", "A"), whole=True))
        state = (workspace / "memory" / "session-state" / "telegram_A.md").read_text()
        assert "POST" in state
        assert "assistant" not in state
        block = ws.engine.preview(turn_input(fields("telegram:A", "telegram", "A"))).block
        assert "- user: hello there" in block
        assert "assistant:" not in block
    with open_workspace(workspace) as ws:
        (again,) = ws.engine.preview(turn_input(fields("telegram:A", "telegram", "A"))).working
        assert not again.assistant
        assert ws.wal.check() == []
