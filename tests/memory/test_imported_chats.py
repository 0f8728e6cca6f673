"""Imported conversations beside the agent's own: listed, shown, searched and recalled, and never changed."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NotFound, Refused
from tests.memory.test_transfer_crystal import database

HOME = {"items": 0, "lessons": 0}

SAID = [
    ("telegram:1", "user", "The heron landed on the pier", "2026-02-15T09:00:00"),
    ("telegram:1", "assistant", "A heron, how fine", "2026-02-15T09:00:00"),
    ("telegram:2", "user", "Book a table", "2026-02-16T09:00:00"),
]


@pytest.fixture
def transcript(workspace):
    """`transcript(key, [(role, text)])`: a session of the agent."""

    def write(key, said):
        head = {"_type": "metadata", "key": key, "created_at": "2026-03-01T00:00:00", "metadata": {}}
        lines = [head, *({"role": role, "content": text, "timestamp": "2026-03-01T00:00:01"} for role, text in said)]
        folder = workspace.parent / "sessions"
        (folder / f"{key.replace(':', '_')}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    return write


@pytest.fixture
def source(tmp_path):
    return database(tmp_path / "memory.db", conversations=SAID)


def bring(ws, source):
    ws.transfer.run(ws.transfer.preview(source))


def test_they_are_listed_with_their_first_and_last_time(ws, source, transcript):
    transcript("cli:1", [("user", "hello")])
    bring(ws, source)
    listed = [(info.key, info.messages, info.imported, info.hidden_reason) for info in ws.sessions.list()]
    told = "imported, and only read"
    assert listed == [("cli:1", 1, False, ""), ("telegram:2", 1, True, told), ("telegram:1", 2, True, told)]
    first = ws.sessions.list()[-1]
    assert first.created_at == first.updated_at == ws.transfer.records()[0].at
    assert ws.status()["sessions"] == 3
    ws.undo()
    assert [info.key for info in ws.sessions.list()] == ["cli:1"]


def test_they_are_read_searched_and_recalled(ws, source):
    bring(ws, source)
    shown = [(message.index, message.role, message.content) for message in ws.sessions.get("telegram:1").messages]
    assert shown == [(0, "user", SAID[0][2]), (1, "assistant", SAID[1][2])], "those of one second keep their order"
    (hit,) = ws.sessions.search("heron pier")
    assert (hit.session_key, hit.index, [one.text for one in hit.after]) == ("telegram:1", 0, [SAID[1][2]])
    near = ws.conversations.recall("where did the heron land", ["sessions"])
    assert near.hits[0].id == "telegram:1#0"
    ws.undo()
    assert ws.conversations.recall("where did the heron land", ["sessions"]).hits == ()
    with pytest.raises(NotFound):
        ws.sessions.get("telegram:1")


def test_nothing_of_theirs_is_changed(ws, source):
    bring(ws, source)
    for work in (ws.sessions.compact_preview, ws.sessions.compact, ws.consolidator.plan):
        with pytest.raises(Refused) as caught:
            work("telegram:1")
        assert "imported, and only read" in caught.value.line()
    assert ws.sessions.compact_all_preview(1) == []
    assert ws.consolidator.plan_all(budget=1) == []


def test_what_stands_in_the_agents_own_session_is_not_copied(ws, source, transcript):
    transcript("telegram:1", [("user", "earlier"), *(row[1:3] for row in SAID[:2]), ("user", "later")])
    plan = ws.transfer.preview(source)
    assert [(entry.verdict, entry.why) for entry in plan.entries] == [
        ("same", "it stands in the session telegram:1"), ("same", "it stands in the session telegram:1"), ("new", "")
    ]  # fmt: skip
    ws.transfer.run(plan)
    assert [info.key for info in ws.sessions.list()] == ["telegram:1", "telegram:2"]


def test_a_session_of_the_same_key_stands_beside_it(ws, source, transcript):
    transcript("telegram:1", [("user", "another heron")])
    bring(ws, source)
    assert {info.key for info in ws.sessions.list()} == {"telegram:1", "telegram:1 (imported)", "telegram:2"}
    assert [one.content for one in ws.sessions.get("telegram:1").messages] == ["another heron"]
    assert len(ws.sessions.get("telegram:1 (imported)").messages) == 2
    assert {hit.session_key for hit in ws.sessions.search("heron")} == {"telegram:1", "telegram:1 (imported)"}
    assert ws.sessions.compact_preview("telegram:1").refused == ""
    with pytest.raises(Refused):
        ws.sessions.compact("telegram:1 (imported)", 1)


@pytest.mark.sqlite("the file itself")
def test_sessions_are_listed_where_our_database_cannot_be_read(workspace, source, transcript):
    with open_workspace(workspace) as ws:
        bring(ws, source)
        database_file = ws.paths.database
    transcript("cli:1", [("user", "hello")])
    for path in database_file.parent.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xff" * 5000)
    with open_workspace(workspace) as ws:
        assert [info.key for info in ws.sessions.list()] == ["cli:1"]
        assert [problem.severity for problem in ws.sessions.problems()] == ["error"]
