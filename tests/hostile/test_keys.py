"""No key becomes a path: whatever a chat, an id, a name or a day is called, nothing is written outside of the home, and
two keys never share one file."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.memory.turns.request import turn_end
from nanomem_tui.tiers.records import NewRecord
from nanomem_tui.workspace import Workspace
from tests.store.homes import make_home

pytestmark = pytest.mark.slow

KEYS = (
    "../../outside", "/tmp/nanomem-outside", "..", ".", "", " ", "a/b", "a\\b", "..\\..\\outside", "%2e%2e%2foutside",
    "%2e%2e/%2e%2e/outside", "a\0b", "../../outside\0.md", "a\nb", "\r\n", "-rf", "--to=/tmp/x", "~", "~root/x",
    "$HOME", "`id`", "$(id)", "CON", "nul.md", "a" * 300, "字" * 300, "../" * 200 + "outside", "x" * 5_000,
    "．．／outside",
    "․․∕outside", "\u202egnp.exe", "\ud800", "\x1b]52;c;x\x07", "config.json", "..:..", "telegram:../../outside",
    "telegram:/etc/passwd", "a:b:c:d", ".git", ".git/hooks/post-commit", "nanomem.db", "*", "?", "[a-z]", "A", "a",
    "Ａ", "é", "e\u0301", "ß", "SS", "ss", "file:///etc/passwd", "\\\\server\\share", "C:\\x", "..;/x", "....//x",
)  # fmt: skip


def tell(ws, key, **where):
    body = {
        "session_key": f"telegram:{key}",
        "channel": "telegram",
        "chat_id": key,
        "sender_id": key,
        "message_id": key,
    }
    ws.engine.whole_turn(
        turn_end({**body, **where, "text": f"Remember that {key[:40]!r} is mine.", "assistant": "Yes."}, whole=True)
    )


WAYS: dict[str, Callable[[Workspace, str], object]] = {
    "a turn": tell,
    "a session key": lambda ws, key: tell(ws, "x", session_key=key),
    "a sender": lambda ws, key: tell(ws, "x", sender_id=key),
    "a fact": lambda ws, key: ws.facts.set(key, key, "value", domain=key),
    "a record": lambda ws, key: ws.records.store("goal", {"description": "d"}, key),
    "a task of": lambda ws, key: ws.records.store_many([NewRecord("task", {"description": "d", "goal_id": key}, key)]),
    "a kind": lambda ws, key: ws.records.store(key, {"description": "d"}, "x"),
    "a file that changed": lambda ws, key: ws.records.store("config-change", {"file_path": key, "content": "c"}, "x"),
    "an event": lambda ws, key: ws.operational.push("event", {"a": 1}, key),
    "an agent": lambda ws, key: ws.operational.push("event", {"agent": key, "state": {"a": 1}}, key),
    "a document": lambda ws, key: ws.knowledge.add_text("text", key, key),
    "a day": lambda ws, key: ws.journal.add("text", key),
    "a lesson": lambda ws, key: ws.lessons.add(key, key),
    "an item": lambda ws, key: ws.items.add(key),
    "a memory file": lambda ws, key: ws.documents.edit(key, "# mine\n"),
    "a memory file below": lambda ws, key: ws.documents.edit(f"memory/{key}", "# mine\n"),
    "a transcript": lambda ws, key: ws.sessions.compact(key),
    "a log": lambda ws, key: ws.wal.get(key),
}  # fmt: skip


def tree(folder, *but):
    """All files below a folder, without those below others."""
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(path.is_relative_to(one) for one in but)
    }


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path)
    return place_in(tmp_path)


def place_in(top):
    """A folder four levels above a workspace, with files that nothing may touch."""
    home = top / "user" / "deep" / "er"
    make_home(home, items=2, lessons=1)
    for folder in (top, top / "user", home):
        (folder / "outside").write_text("not yours")
        (folder / "outside.md").write_text("not yours")
    return top


def reached(place, way):
    """Use every key in one way: how many were taken, and the files outside of the home that were touched."""
    agent = next(place.rglob("workspace")).parent
    before, tmp = tree(place, agent), set(os.listdir("/tmp"))
    done = 0
    with open_workspace(agent / "workspace") as ws:
        for key in KEYS:
            with contextlib.suppress(NanomemError, ValueError):
                WAYS[way](ws, key)
                done += 1
        ws.flush()
        assert ws.degraded == ""
    after = tree(place, agent)
    touched = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return done, [*touched, *({"nanomem-outside"} & (set(os.listdir("/tmp")) - tmp))]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_written_outside_of_the_home(place, way):
    agent = next(place.rglob("workspace")).parent
    done, touched = reached(place, way)
    assert touched == []
    assert done or way in ("a kind", "a transcript", "a log", "a memory file", "a memory file below")
    with open_workspace(agent / "workspace") as ws:
        assert [
            problem for problem in ws.doctor() if problem.severity == "error" and "session-state" in problem.where
        ] == []


def test_what_is_not_a_memory_file_is_not_edited(place):
    workspace = next(place.rglob("workspace"))
    before = tree(workspace)
    with open_workspace(workspace) as ws:
        for key in (
            *KEYS,
            "AGENTS.md",
            "../config.json",
            "memory/../../config.json",
            ".git/config",
            "memory/.git/config",
        ):
            with contextlib.suppress(NanomemError, ValueError):
                ws.documents.edit(key, "# mine\n")
    after = {name for name, data in tree(workspace).items() if before.get(name) != data}
    assert {Path(name).relative_to(workspace).as_posix() for name in after if "/nanomem/" not in name} == set()


def test_two_chats_never_share_a_log(place):
    workspace = next(place.rglob("workspace"))
    told: dict[str, str] = {}
    with open_workspace(workspace) as ws:
        for number, key in enumerate(KEYS):
            with contextlib.suppress(NanomemError, ValueError):
                body = {"session_key": f"telegram:{key}", "channel": "telegram", "chat_id": key, "sender_id": "ana"}
                words = f"word{number} for this chat"
                ws.engine.whole_turn(turn_end({**body, "text": words, "assistant": "Yes."}, whole=True))
                told[f"telegram:{key}"] = words
    assert len(told) > 30
    with open_workspace(workspace) as ws:
        for key, words in told.items():
            said = [turn.pre.get("user", "") for turn in ws.wal.get(key).turns]
            assert said == [words], key


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_an_id_file_of_the_agent_that_is_a_path_is_none(place, key):
    agent = next(place.rglob("workspace")).parent
    named = agent / "workspace" / ".nanobot" / "workspace-id"
    named.parent.mkdir()
    named.write_bytes(key.encode("utf-8", "surrogatepass"))
    before = tree(place, agent)
    with open_workspace(agent / "workspace") as ws:
        ws.items.add("kept")
    assert tree(place, agent) == before
    assert {path.parent for path in (agent / "nanomem").rglob("*.ledger")} <= {agent / "nanomem" / "ledger" / ws.id}


@pytest.mark.parametrize(
    "key", ["../../outside", "/tmp/nanomem-outside", "a\0b", "\n", "..", "x" * 5_000, "．．／outside"]
)
def test_keys_in_files_that_others_wrote(place, key, capfd):
    """A transcript, a log, an archive, lessons and items whose fields are such keys: read, compacted, exported."""
    agent = next(place.rglob("workspace")).parent
    workspace, memory = agent / "workspace", agent / "workspace" / "memory"
    (agent / "sessions").mkdir(exist_ok=True)
    head = {
        "_type": "metadata",
        "key": key,
        "created_at": "2026-01-01T00:00:00",
        "metadata": {},
        "last_consolidated": 0,
    }
    lines = [head, *({"role": "user", "content": f"message {number}"} for number in range(30))]
    (agent / "sessions" / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (memory / "session-state").mkdir(parents=True, exist_ok=True)
    (memory / "session-state" / "x.md").write_text(
        f"# Session WAL State\n\n- session_key: {key}\n\n## Turns\n\n### 2026-01-01 PRE\n- user: hi\n"
    )
    (memory / "history.jsonl").write_text(
        json.dumps({"cursor": 1, "timestamp": "2026-01-01 00:00", "content": "said", "session_key": key}) + "\n"
    )
    before = tree(place, agent)
    for line in (
        ["session", "list"], ["session", "compact", key, "--keep", "2", "--yes"], ["session", "rescue", "--yes"],
        ["wal", "list"], ["wal", "recover", key, "--yes"], ["history", "list"], ["--run-dream"],
        ["doctor", "--fix", "--yes"], ["memory", "export", "--to", str(agent / "out.json")], ["undo"],
        ["backup", "make", "--in", str(agent / "b")],
    ):  # fmt: skip
        code = run(["--workspace", str(workspace), *line])
        told = capfd.readouterr()
        assert code in (0, 1, 2), (line, told)
        assert "Traceback" not in told.err, (line, told.err)
    assert tree(place, agent) == before


@pytest.mark.parametrize(
    "target", ["../../../../outside", "/tmp/nanomem-outside", "refs/heads/../../../../outside", "refs/heads/a\0b"]
)
def test_a_branch_that_is_a_path_moves_nothing_outside(place, target):
    agent = next(place.rglob("workspace")).parent
    with open_workspace(agent / "workspace") as ws:
        ws.documents.edit("USER.md", "# User\n\n- one\n")
        with contextlib.suppress(NanomemError):
            ws.dream.run()
    git = agent / "workspace" / ".git"
    git.mkdir(exist_ok=True)
    (git / "HEAD").write_text(f"ref: {target}\n")
    before = tree(place, agent)
    with open_workspace(agent / "workspace") as ws, contextlib.suppress(NanomemError):
        ws.documents.edit("USER.md", "# User\n\n- two\n")
    assert tree(place, agent) == before
    assert not Path("/tmp/nanomem-outside").exists()
