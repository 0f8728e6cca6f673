"""The token log that a real agent writes, read by us while it lives: its sums are those that it tells itself."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from nanomem_tui.agents import databases
from tests.conftest import need
from tests.interop.real_agent import PEER

pytestmark = pytest.mark.interop

DRIVER = Path(__file__).with_name("usage_driver.py")
ZONE = "America/St_Johns"  # half an hour beside the others
HOUR = 3_600_000


@pytest.fixture
def zone(monkeypatch):
    monkeypatch.setenv("TZ", ZONE)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def calls():
    """Calls of the last days, of every source and outcome, hour by hour so that some lie at the border of a day."""
    now = int(time.time() * 1000)
    sources, found = ("user", "api", "cron", "dream", "system"), []
    for number in range(150):
        asked, answered = 100 + number, 10 + number
        tokens = None if number % 11 == 0 else (asked, answered, asked + answered + number % 3, 0)
        if tokens and number % 7 == 0:
            tokens = (asked, answered, asked + answered, asked + answered)
        found.append(
            {
                "started_at_ms": now - number * HOUR,
                "model": f"model-{number % 3}",
                "source": sources[number % 5],
                "finish_reason": "error" if tokens is None else "stop",
                "tokens": tokens,
            }
        )
    return found


def test_the_log_of_a_live_agent_is_read_as_it_reads_it(tmp_path, zone):
    need(PEER.exists(), "no agent to drive: run `make peers`")
    path = tmp_path / "home" / "llm_usage.sqlite3"
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    with subprocess.Popen(
        [PEER, DRIVER, path, ZONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(json.dumps(calls()) + "\n")
        agent.stdin.flush()
        theirs = json.loads(agent.stdout.readline())
        assert path.with_name(f"{path.name}-wal").stat().st_size > 0
        before = {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith("-shm")}
        ours = databases.read_llm_usage(path, "llm_usage.sqlite3")
        after = {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith("-shm")}
        agent.stdin.close()
        assert agent.wait(timeout=60) == 0
    assert after == before
    assert ours.problems == ()
    assert _by_source(ours) == {
        (day["date"], source): (
            counts["input_tokens"], counts["output_tokens"], counts["total_tokens"], counts["requests"],
            counts["failed_requests"], counts["estimated_tokens"],
        )
        for day in theirs["days"] for source, counts in day["sources"].items()
    }  # fmt: skip
    closed = databases.read_llm_usage(path, "llm_usage.sqlite3")  # nothing lies beside it any more
    assert closed == ours
    assert sum(one.total_tokens for one in closed.calls if one.model == "model-1") == sum(
        day["total_tokens"] for day in theirs["model_days_30d"] if day["model"] == "model-1"
    )


def _by_source(report):
    found: dict[tuple[str, str], list[int]] = {}
    for one in report.calls:
        counts = (
            one.prompt_tokens, one.completion_tokens, one.total_tokens, one.requests, one.failed, one.estimated,
        )  # fmt: skip
        known = found.setdefault((one.day, one.source), [0] * len(counts))
        known[:] = [mine + more for mine, more in zip(known, counts, strict=True)]
    return {key: tuple(counts) for key, counts in found.items()}
