"""The real agent after our Consolidator: it goes on from the summary, archives only what is new, and numbers on."""

import json

import pytest

from nanomem_tui import open_workspace

pytestmark = pytest.mark.interop

KEY = "telegram:4700141"


@pytest.fixture
def done(agent, monkeypatch):
    """What was archived of a long session."""
    monkeypatch.setenv("HOME", str(agent.home))
    with open_workspace(agent.workspace) as ws:
        return ws.consolidator.apply(ws.consolidator.plan(KEY, budget=1500))[1]


def entries(agent):
    lines = (agent.workspace / "memory" / "history.jsonl").read_bytes().split(b"\n")
    return [json.loads(line) for line in lines if line]


def test_it_replays_what_was_not_archived(agent, done):
    found = agent.sessions()[KEY]
    assert found["last_archived"] == found["last_consolidated"] == done.end
    assert len(found["messages"]) == done.messages + 1
    assert found["replayed"][0]["content"].startswith("Continue the active task")
    stays = found["messages"][done.end + 1 :]
    assert len(found["replayed"]) == len(stays) + 1
    for shown, kept in zip(found["replayed"][1:], stays, strict=True):
        assert shown["content"].startswith(kept["content"]), "it adds only where a picture was"


def test_its_next_prompt_holds_the_summary_and_not_the_old_messages(agent, done):
    old = agent.sessions()[KEY]["messages"][0]["content"]
    call = agent.run("turn", "hello", "--session", KEY)["calls"][0]["messages"]
    assert done.entries[0].content.split("\n")[0] in call[0]["content"]
    assert old not in json.dumps(call, ensure_ascii=False)
    after = agent.sessions()[KEY]
    assert (after["last_archived"], after["messages"][-1]["role"]) == (done.end, "assistant")


def test_it_numbers_on_and_its_dream_reads_ours(agent, done):
    last = done.entries[-1].cursor
    reply = agent.run("turn", "/compact", "--session", KEY, script=[{"text": "- [durable] its own summary"}])
    assert "reply" in reply
    mine = [row for row in entries(agent) if row["cursor"] > last]
    assert [(row["cursor"], row["content"]) for row in mine] == [(last + 1, "- [durable] its own summary")]
    (agent.workspace / "memory" / ".dream_cursor").write_text(str(done.entries[0].cursor - 1))
    asked = json.dumps(agent.run("dream")["calls"][0]["messages"], ensure_ascii=False)
    for entry in done.entries:
        assert json.dumps(entry.content, ensure_ascii=False)[1:-1] in asked, "no entry is longer than it reads"


def test_an_archive_that_we_compacted_is_its_archive_still(agent, monkeypatch):
    monkeypatch.setenv("HOME", str(agent.home))
    with open_workspace(agent.workspace) as ws:
        ws.history_changes.compact(100)
    kept = entries(agent)
    assert [row["cursor"] for row in kept] == list(range(183, 283))
    agent.run("turn", "hello", "--session", KEY)
    agent.run("turn", "/compact", "--session", KEY, script=[{"text": "- [durable] more"}])
    assert entries(agent) == [*kept, {**entries(agent)[-1], "cursor": 283, "content": "- [durable] more"}]
