"""Small things said right: what counts as a problem, rows that go and come back, scrollbars without blocks."""

import sqlite3
from types import SimpleNamespace
from typing import Any, cast

from nanomem_tui import open_workspace
from nanomem_tui.background import count_problems
from nanomem_tui.core.errors import Problem
from nanomem_tui.screens.base.editable_rows import format_change
from nanomem_tui.widgets.theme import PlainBars
from tests.store.homes import make_home


def test_a_note_wants_no_attention(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("it has a database")
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 45, 0))
    with open_workspace(workspace) as ws:
        (old,) = [problem for problem in ws.doctor() if "SQLite 3.45.0" in problem.what]
    found = [old, Problem("damaged", "nanomem.db")]
    assert [problem.severity for problem in found] == ["note", "error"]
    assert count_problems(cast(Any, SimpleNamespace(problems=lambda: found))) == 1


def test_a_deleted_row_goes_and_comes_back_in_words():
    assert format_change("is_deleted", True, False) == ("", "deleted", "back")
    assert format_change("is_deleted", False, True) == ("", "there", "deleted")
    assert format_change("enabled", True, False) == ("enabled: ", "yes", "no")


def test_a_plain_scrollbar_is_of_blanks():
    for position in range(40):
        bar = PlainBars.render_bar(size=10, virtual_size=50, window_size=10, position=position)
        assert "".join(segment.text for segment in bar.segments).isascii()
