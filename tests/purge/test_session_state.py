"""What `forget --person` and `--session` take out of the logs of turns: whole turns, and nothing of anybody else."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable

import pytest

from nanomem_tui.agents import turn_log
from nanomem_tui.purge.matchers import Marks, Secrets, Words
from nanomem_tui.purge.texts import in_bytes, lines_in
from tests.cli.conftest import Result
from tests.purge import planted

Run = Callable[..., Result]
Turn = Callable[..., object]
ANSWER = "I will remember that your submarine is called Ozymandias, mallory."


@pytest.fixture
def workspace(home):
    """The home of an agent of nanobot 0.3.5."""
    return home("nb035")


@pytest.fixture
def turn(run, monkeypatch):
    """`turn("mallory", "Remember: …", "ok", chat_id="777")`: one turn in a chat, from its begin to its end."""

    def told(sender, text, answer="", *, chat="777", do=()):
        body = {"channel": "telegram", "chat_id": chat, "sender_id": sender, "text": text}
        body |= {"assistant": answer} if answer else {}
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body).encode())))
        return run("turn", *do, "--json").json

    return told


@pytest.mark.slow
def test_the_turns_of_a_person_go_whole_and_those_of_others_stay(workspace, run, turn):
    turn("mallory", "Remember: my submarine is called Ozymandias.", ANSWER)
    turn("alice", "Remember: I like tea.", "ok")
    assert run("forget", "--person", "mallory", "--yes").code == 0
    for word in ("mallory", "Ozymandias"):
        assert planted.outside_git(workspace.parent, word) == []
    state = turn_log.parse_wal((workspace / "memory/session-state/telegram_777.md").read_bytes(), "telegram_777.md")
    assert [(one.pre["sender_id"], one.assistant) for one in state.turns] == [("alice", "ok")]
    assert state.problems == ()
    assert run("turn", "list", "--json").json[0]["sender_id"] == "alice"
    assert len(run("turn", "list", "--json").json) == 1  # the end of a turn does not stay without its beginning


@pytest.mark.slow
def test_a_turn_of_hers_that_was_recovered_waits_no_longer(workspace, run, turn):
    turn("mallory", "Please paint the submarine Ozymandias.", do=("begin",))
    turn("alice", "Please make some tea.", do=("begin",))
    assert run("wal", "recover").code == 0
    assert run("forget", "--person", "mallory", "--yes").code == 0
    assert planted.outside_git(workspace.parent, "Ozymandias") == []
    assert "make some tea" in next((workspace.parent / "nanomem" / "pending").glob("*.json")).read_text()


@pytest.mark.slow
def test_a_history_and_a_backup_that_hold_them_are_told_and_cleaned(workspace, run, turn):
    turn("mallory", "Remember: my submarine is called Ozymandias.", ANSWER)
    planted.git(workspace, "add", "-f", "memory/session-state")
    planted.git(workspace, "commit", "-q", "-m", "a log of turns")
    planted.told_then_cleaned(workspace, run, ("--person", "mallory"), "Ozymandias")


ASKED = {"role": "user", "content": "My yacht is called Bathsheba.", "sender_id": "mallory"}
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "Bathsheba"}'}}
ANSWERS = (
    {"role": "assistant", "content": "Let me look for Bathsheba.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "Bathsheba of mallory"},
    {"role": "assistant", "content": "Nice, mallory."},
)
OTHERS = ({"role": "user", "content": "I like tea.", "sender_id": "alice"}, {"role": "assistant", "content": "Fine."})


@pytest.mark.slow
def test_the_answers_to_her_go_from_a_conversation_and_its_lines_stay(workspace, run):
    session = next((workspace.parent / "sessions").rglob("*.jsonl"))
    before = session.read_bytes()
    with session.open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in (ASKED, *ANSWERS, *OTHERS))
    told = run("forget", "--person", "mallory", "--dry-run").out
    assert "Let me look for Bathsheba." in told
    assert f"{session.name}: 4 times" in run("forget", "--person", "mallory", "--yes").out
    added = [json.loads(line) for line in session.read_bytes().removeprefix(before).splitlines()]
    assert [one["content"] for one in added] == ["[forgotten]"] * 4 + ["I like tea.", "Fine."]
    assert added[1]["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "find", "arguments": "{}"},
    }
    assert added[2]["tool_call_id"] == "c1"
    assert tuple(added[4:]) == OTHERS
    for word in ("mallory", "Bathsheba"):
        assert planted.outside_git(workspace.parent, word) == []


def test_of_an_agent_that_keeps_no_conversations_too(tmp_path, run, turn, monkeypatch):
    document = tmp_path / "own" / "memory" / "MEMORY.md"
    document.parent.mkdir(parents=True)
    document.write_text("# Memory\n")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(tmp_path / "own"))
    turn("mallory", "Remember: my submarine is called Ozymandias.", ANSWER)
    turn("alice", "Remember: I like tea.", "Fine, tea it is.")
    assert run("forget", "--person", "mallory", "--yes").code == 0
    for word in ("mallory", "Ozymandias"):
        assert planted.outside_git(tmp_path / "own", word) == []
    said = [one["content"] for one in run("session", "show", "telegram:777", "--json").json["messages"]]
    assert said == ["[forgotten]", "[forgotten]", "Remember: I like tea.", "Fine, tea it is."]


@pytest.mark.slow
def test_a_session_with_turns_is_forgotten_at_once(workspace, run, turn):
    turn("u1", "Remember: I like green tea.", "ok", chat="7")
    turn("u1", "Remember: I like black tea.", "ok", chat="8")
    told = run("forget", "--session", "telegram:7", "--yes")
    assert (told.code, "Left: " in told.out) == (0, False)
    log = json.dumps(run("log", "--full", "--json").json)
    assert "telegram:7" not in log
    assert "telegram:8" in log
    assert planted.outside_git(workspace.parent, "telegram:7") == []


@pytest.mark.slow
def test_a_session_of_the_same_file_name_stays(workspace, run):
    path = workspace / "memory" / "session-state" / "telegram_7_7.md"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(turn_log.dump_header("telegram_7:7", "telegram_7", "7"))
    run("forget", "--session", "telegram:7_7", "--yes")
    assert path.exists()
    assert run("forget", "--session", "telegram_7:7", "--yes").code == 0
    assert not path.exists()


def _state(*turns):
    data = turn_log.dump_header("a:b", "a", "b")
    for number, (sender, text) in enumerate(turns):
        data += turn_log.dump_pre(f"2026-01-0{number + 1}T00:00:00Z", {"sender_id": sender, "user": text}, f"t{number}")
    for number, (_, text) in enumerate(turns):
        data += turn_log.dump_post(f"2026-01-1{number}T00:00:00Z", f"re {text}", (f"do {text}",), f"t{number}")
    return data


def test_blocks_that_do_not_follow_each_other_are_one_turn():
    data = _state(("mallory", "one"), ("alice", "two"), ("mallory", "three"))
    found: Counter[str] = Counter()
    sought = Words((), Marks(senders=frozenset({"mallory"})))
    left = in_bytes(data, sought, found)
    assert [one.assistant for one in turn_log.parse_wal(left, "").turns] == ["re two"]
    assert (found, b"one" in left, b"three" in left) == ({"turn": 2}, False, False)
    assert {"- sender_id: mallory", "  - do three"} <= {one.said for one in lines_in(data, sought)}
    assert in_bytes(left, sought, found) is left


def test_nobody_elses_turn_is_changed():
    data = _state(("mallory", "one"), ("alice", "two"))
    for sought in (Words((), Marks(senders=frozenset({"None", "bob"}))), Secrets()):
        assert in_bytes(data, sought, Counter()) is data
