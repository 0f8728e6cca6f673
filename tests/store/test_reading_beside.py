"""Reading while another process writes: everything is of one moment, and what was written is seen at the next look."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.operations import new_operation
from nanomem_tui.store import reader
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.workspace import Workspace
from tests.store.homes import make_home, state

COMMITS = 20
WRITER = f"""
import sys
from nanomem_tui import open_workspace
ws = open_workspace(sys.argv[1])
for number in range({COMMITS}):
    sys.stdin.read(1)
    ws.items.add(f"written {{number}}")
    ws.store.checkpoint()
    sys.stdout.write("x")
    sys.stdout.flush()
ws.close()
"""


def count(ws: Workspace, item_id: str) -> None:
    """What a turn does: hits grow."""
    row = ws.items.get(item_id)
    ws.store.perform(new_operation("turn", "a turn", [change_of("item", row, row._replace(hits=row.hits + 1))]))


def shown(ws: Workspace, text: str) -> bool:
    """Whether an item is there after a look or two; a look in vain, at a locked database, is no answer."""
    for _ in range(10):
        ws.refresh()
        if text in {item.text for item in ws.items.all()}:
            return True
    return False


@contextmanager
def written_when_asked(monkeypatch: pytest.MonkeyPatch, asked: str, write: Callable[[], object]) -> Iterator[None]:
    """The first question to the database in which `asked` stands finds that somebody writes just then."""
    opening, written = reader.open_database, []

    def trace(question: str) -> None:
        if asked in question and not written:
            written.append(question)
            write()

    @contextmanager
    def opened(path: Path, *newest: int) -> Iterator[sqlite3.Connection]:
        with opening(path, *newest) as connection:
            connection.set_trace_callback(trace)
            yield connection

    with monkeypatch.context() as patched:
        patched.setattr(reader, "open_database", opened)
        yield
    assert written


@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize("table", ["memory_meta", "memory_entries", "lessons", "row_hash"])
def test_rows_and_what_is_known_of_them_are_of_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """A turn is written between what a reader asks: its hit is counted once, and nothing looks damaged."""
    workspace = make_home(tmp_path)
    writer = open_workspace(workspace)
    count(writer, "ltm_1")
    writer.flush()

    def write() -> None:
        count(writer, "ltm_1")
        writer.items.add("added meanwhile")
        writer.store.checkpoint()

    reading = open_workspace(workspace)
    with written_when_asked(monkeypatch, table, write):
        reading.items.all()
    assert reading.problems() == []
    count(reading, "ltm_1")
    reading.close()
    writer.close()
    assert state(workspace)["ltm_1"].hits == 1 + 3


@pytest.mark.sqlite("the file itself")
def test_what_waited_and_is_written_while_it_is_read_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves the ledger for the database when both were read: the rows without it, the ledger's with it."""
    workspace = make_home(tmp_path)
    writer = open_workspace(workspace)
    count(writer, "ltm_1")
    writer.flush()
    writer.items.edit("ltm_2", text="acknowledged")
    reading = open_workspace(workspace)
    with written_when_asked(monkeypatch, "FROM operations", writer.store.checkpoint):
        text = reading.items.get("ltm_2").text
    assert text == "acknowledged"
    reading.close()
    writer.close()


def test_what_another_process_committed_is_seen_at_the_next_look(tmp_path: Path) -> None:
    """Also by who looks again and again while it is being written."""
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("before")
    command = [sys.executable, "-c", WRITER, str(workspace)]
    reading = open_workspace(workspace)
    reading.items.all()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        os.set_blocking(writer.stdout.fileno(), False)
        for number in range(COMMITS):
            writer.stdin.write(b"x")
            while writer.stdout.read(1) != b"x":
                assert writer.poll() is None
                reading.refresh()
            assert shown(reading, f"written {number}")
        writer.stdin.close()
        assert writer.wait(timeout=60) == 0
    reading.close()
