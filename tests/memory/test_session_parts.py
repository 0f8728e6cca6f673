"""A part of a transcript is the same, whether the file is held whole or read a piece at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.formats.session_names import key_to_name
from nanomem_tui.memory import reading, session_parts

KEY = "cli:long"


@pytest.fixture
def workspace(sample_copy) -> Path:
    found = sample_copy("nb035") / "home/.nanobot/workspace"
    with open_workspace(found) as ws:
        folder = ws.layout.sessions_dir
    assert folder is not None
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
def test_a_part_is_that_of_the_whole(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, piece: int, start: int | None, many: int | None
) -> None:
    monkeypatch.setattr(reading.chunks, "__defaults__", (piece,))
    with open_workspace(workspace) as ws:
        expected, total = ws.sessions.part(KEY, start=start, many=many)
        monkeypatch.setattr(session_parts, "WHOLE", 100)
        found, there = ws.sessions.part(KEY, start=start, many=many)
    assert there == total == 500

    def told(part: session_parts.Session) -> list[tuple[int, str, str]]:
        return [(one.index, one.role, one.content) for one in part.messages]

    assert told(found) == told(expected)
    assert (found.key, found.title, found.last_archived) == (expected.key, expected.title, expected.last_archived)


def test_of_a_long_one_the_end_is_shown_where_nothing_is_said(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_parts, "WHOLE", 100)
    monkeypatch.setattr(session_parts, "AT_ONCE", 30)
    with open_workspace(workspace) as ws:
        found, total = ws.sessions.part(KEY)
    assert [one.index for one in found.messages] == list(range(470, 500))
    assert total == 500
