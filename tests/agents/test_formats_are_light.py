"""What importing and reading may cost: nothing heavy is imported, and twice the input takes about twice the time."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from nanomem_tui.agents.archive import HistoryEntry, dump_entry, parse_history, parse_history_md
from nanomem_tui.agents.jsonl import dump_line
from nanomem_tui.agents.session_file import parse_session
from nanomem_tui.agents.snapshot_files import LtmItem, LtmSnapshot, dump_snapshot, parse_snapshot
from nanomem_tui.agents.transcripts import compact, uncompact
from nanomem_tui.agents.turn_log import dump_header, dump_post, dump_pre, parse_wal

HEAVY = ("textual", "rich", "sqlmodel", "sqlalchemy", "sqlite3", "dulwich", "rapidfuzz", "click", "pydantic", "asyncio")


def test_importing_every_format_imports_nothing_heavy():
    code = (
        "import pkgutil, importlib, sys; import nanomem_tui.agents as f\n"
        "[importlib.import_module(f'nanomem_tui.agents.{m.name}') for m in pkgutil.iter_modules(f.__path__)]\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def history(size):
    return b"".join(dump_entry(HistoryEntry(cursor, "2026-01-02 03:04", "- [durable] x")) for cursor in range(size))


def transcript(size):
    calls = [{"role": "assistant", "content": "", "tool_calls": [{"id": str(n)}]} for n in range(size // 2)]
    results = [{"role": "tool", "tool_call_id": str(n), "content": "r"} for n in range(size // 2)]
    pairs = [message for pair in zip(calls, results, strict=True) for message in pair]
    head = {"_type": "metadata", "last_archived": size // 2, "last_consolidated": size // 2}
    return b"".join(map(dump_line, [head, *pairs]))


def wal(size):
    return dump_header("a:b", "a", "b") + (dump_pre("t", {"user": "x"}) + dump_post("u", "y")) * (size // 2)


def snapshot(size):
    return dump_snapshot(LtmSnapshot(tuple(LtmItem(f"ltm_{n}", "text") for n in range(size // 4))))


def cut_and_put_back(data):
    done = compact(data, 10)
    assert uncompact(done.data, done.removed, *done.before) == data


CASES = {
    "history": (history, lambda data: parse_history(data, "h")),
    "history with bad lines": (
        lambda n: history(n).replace(b"durable", b"\xff"),
        lambda data: parse_history(data, "h"),
    ),
    "HISTORY.md": (lambda n: b"[2026-01-02 03:04] x\n\nmore\n\n" * n, lambda data: parse_history_md(data, "h", 0.0)),
    "session": (transcript, lambda data: parse_session(data, "s", "k")),
    "compaction": (transcript, cut_and_put_back),
    "WAL": (wal, lambda data: parse_wal(data, "w")),
    "WAL of one endless text": (lambda n: wal(2) + b"line\n" * n, lambda data: parse_wal(data, "w")),
    "snapshot": (snapshot, lambda data: parse_snapshot(data, "s")),
    "snapshot with damage everywhere": (
        lambda n: snapshot(n).replace(b'"text"', b'"te"xt"'),
        lambda data: parse_snapshot(data, "s"),
    ),
    "snapshot in one line with damage everywhere": (
        lambda n: snapshot(n).replace(b'"text"', b'"te"xt"').replace(b"\n", b""),
        lambda data: parse_snapshot(data, "s"),
    ),
    "snapshot of numbers": (lambda n: b'{"items": [' + b"1, {}," * n, lambda data: parse_snapshot(data, "s")),
    "snapshot of open brackets": (lambda n: b'{"items": [' + b'{"id":' * n, lambda data: parse_snapshot(data, "s")),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_ten_times_the_input_is_nowhere_near_a_hundred_times_the_work(case):
    make, read = CASES[case]

    def cost(size):
        data = make(size)
        best = float("inf")
        for _ in range(2):
            start = time.process_time()
            read(data)
            best = min(best, time.process_time() - start)
        return best

    cost(100)  # a busy machine may disturb one measurement
    assert any(cost(10_000) < 40 * max(cost(1_000), 0.0005) for _ in range(3))
