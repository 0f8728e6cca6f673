"""A part of a transcript is the same, whether the file is held whole or read a piece at a time."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents import transcript_edits
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import Conflict
from nanomem_tui.memory.sessions import files as sessions_files
from nanomem_tui.memory.sessions import sessions

KEY = "cli:long"


@pytest.fixture
def workspace(sample_copy):
    found = sample_copy("nb035") / "home/.nanobot/workspace"
    with open_workspace(found) as ws:
        folder = ws.layout.sessions_dir
    head = {"_type": "metadata", "key": KEY, "created_at": "2026-01-01T00:00:00", "metadata": {"title": "Long"}}
    lines = [json.dumps({**head, "last_archived": 7, "last_consolidated": 7}), '{"broken', ""]
    for number in range(500):
        lines.append(
            json.dumps({"role": "user", "content": f"message {number} 北京", "timestamp": "2026-01-01T10:00:00"})
        )
        if number % 90 == 5:
            lines += ["no json", '{"_type": "provider_state", "x": 1}']
    (folder / key_to_name(KEY)).write_text("\n".join(lines) + "\n", "utf-8")
    return found


@pytest.mark.parametrize("piece", [300, 4_000, 1_000_000])
@pytest.mark.parametrize(
    ("start", "many"), [(0, 3), (0, None), (None, 20), (120, 50), (497, 50), (600, 5), (10, 0), (None, 0)]
)
def test_a_part_is_that_of_the_whole(workspace, monkeypatch, piece, start, many):
    monkeypatch.setattr(files, "CHUNK", piece)
    with open_workspace(workspace) as ws:
        expected, total = ws.sessions.part(KEY, start=start, many=many)
        monkeypatch.setattr(sessions_files, "WHOLE", 100)
        found, there = ws.sessions.part(KEY, start=start, many=many)
    assert there == total == 500

    def told(part):
        return [(one.index, one.role, one.content) for one in part.messages]

    assert told(found) == told(expected)
    assert (found.key, found.title, found.last_archived) == (expected.key, expected.title, expected.last_archived)


def test_of_a_long_one_the_end_is_shown_where_nothing_is_said(workspace, monkeypatch):
    monkeypatch.setattr(sessions_files, "WHOLE", 100)
    monkeypatch.setattr(sessions, "AT_ONCE", 30)
    with open_workspace(workspace) as ws:
        found, total = ws.sessions.part(KEY)
    assert [one.index for one in found.messages] == list(range(470, 500))
    assert total == 500


def test_a_long_one_is_compacted_as_a_short_one_and_put_back(workspace, monkeypatch):
    with open_workspace(workspace) as ws:
        path = ws.layout.sessions_dir / key_to_name(KEY)
        before = path.read_bytes()
        ws.sessions.compact(KEY, 40)
        expected = path.read_bytes()
        ws.undo()
        monkeypatch.setattr(sessions_files, "WHOLE", 100)
        monkeypatch.setattr(transcript_edits, "MARGIN", 10)
        held = []
        monkeypatch.setattr(sessions, "read_log", held.append)
        assert ws.sessions.compact_preview(KEY, 40).kept == 40
        ws.sessions.compact(KEY, 40)
        assert path.read_bytes() == expected
        ws.undo()
        assert path.read_bytes() == before
        ws.redo()
        assert path.read_bytes() == expected
    assert held == []


def test_a_call_far_before_its_result_is_looked_for_in_all_of_it(workspace, monkeypatch):
    with open_workspace(workspace) as ws:
        path = ws.layout.sessions_dir / key_to_name(KEY)
        lines = path.read_bytes().split(b"\n")
        lines[10] = b'{"role": "assistant", "content": "", "tool_calls": [{"id": "far", "function": {"name": "f"}}]}'
        lines[-5] = b'{"role": "tool", "tool_call_id": "far", "content": "late"}'
        path.write_bytes(b"\n".join(lines))
        plan = ws.sessions.compact_preview(KEY, 40)
        monkeypatch.setattr(sessions_files, "WHOLE", 100)
        monkeypatch.setattr(transcript_edits, "MARGIN", 10)
        assert ws.sessions.compact_preview(KEY, 40).kept == plan.kept > 480


def test_what_is_said_while_a_long_one_is_read_is_not_lost(workspace, monkeypatch):
    with open_workspace(workspace) as ws:
        path = ws.layout.sessions_dir / key_to_name(KEY)
        keep = atomic.put_blob

        def late(backups, pieces):
            with path.open("ab") as file:
                file.write(b'{"role": "user", "content": "wait"}\n')
            return keep(backups, pieces)

        monkeypatch.setattr(atomic, "put_blob", late)
        with pytest.raises(Conflict):
            ws.sessions.compact(KEY, 40)
        assert path.read_bytes().endswith(b'"wait"}\n')
        assert len(path.read_bytes().split(b"\n")) > 500
