"""An agent that says its first words, or that is upgraded, while a workspace is open: its conversations are its own."""

import json

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_lossy_name, key_to_name

KEY = "telegram:7"


def say(folder, name, number):
    """A message in a transcript, whose first makes its file and its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    lines = [] if path.exists() else [{"_type": "metadata", "key": KEY, "created_at": "2026-01-01T00:00:00"}]
    lines.append({"role": "user", "content": f"message {number}", "timestamp": "2026-01-01T00:00:00"})
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def listed(ws):
    return [(info.key, info.messages, info.hidden_reason) for info in ws.sessions.list()]


def test_its_first_conversation_is_seen_listed_compacted_and_brought_back(ws, workspace):
    assert listed(ws) == []
    ws.refresh()
    for number in range(3):
        say(workspace.parent / "sessions", key_to_lossy_name(KEY), number)
    assert "sessions" in ws.refresh()
    assert listed(ws) == [(KEY, 3, "")]
    operation = ws.sessions.compact(KEY, 1)
    assert listed(ws) == [(KEY, 1, "")]
    ws.undo(operation.id)
    assert listed(ws) == [(KEY, 3, "")]


def test_after_an_upgrade_the_new_folder_is_its_own_and_the_old_ones_are_hidden(workspace):
    (workspace / "memory" / "LTM_SNAPSHOT.json").unlink()
    (workspace / "memory" / "LESSONS.jsonl").unlink()
    say(workspace / "sessions", key_to_lossy_name(KEY), 1)
    with open_workspace(workspace) as ws:
        assert listed(ws) == [(KEY, 1, "")]
        ws.refresh()
        (workspace / ".nanobot").mkdir()
        (workspace / ".nanobot" / "workspace-id").write_text("ab" * 16 + "\n")
        own = workspace.parent / "sessions" / ("ab" * 16)
        say(own, key_to_name(KEY), 1)
        say(own, key_to_name(KEY), 2)
        assert "sessions" in ws.refresh()
        assert (ws.layout.release, ws.layout.sessions_dir) == ("nanobot 0.3.5", own)
        assert sorted(found[1:] for found in listed(ws)) == [
            (1, "lies in the folder of an older release, where this agent does not look"),
            (2, ""),
        ]
