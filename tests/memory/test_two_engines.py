"""Two processes on one store: what an agent's turns and a person's edits do at once. Hits add up, deletes stay."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import Conflict, NotFound, NothingToDo
from nanomem_tui.memory.turn_values import turn_end, turn_input
from nanomem_tui.workspace import Workspace
from tests.store.homes import make_home

Report = dict[str, Any]


def in_child(workspace: Path, work: Callable[[Workspace], Report]) -> Callable[[], Report]:
    """Run `work` in a process of its own; the result waits for it and gives its report."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            with open_workspace(workspace) as ws:
                report = work(ws)
            os.write(write, json.dumps(report).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)

    def wait() -> Report:
        data = b""
        while chunk := os.read(read, 65_536):
            data += chunk
        os.close(read)
        _, status = os.waitpid(child, 0)
        assert os.WEXITSTATUS(status) == 0
        return json.loads(data)

    return wait


def agent(number: int, turns: int) -> Callable[[Workspace], Report]:
    """An engine: turns that use items, and turns that save one."""

    def work(ws: Workspace) -> Report:
        chance = random.Random(number)
        hits: Counter[str] = Counter()
        saved: list[str] = []
        for turn in range(turns):
            chat = {"session_key": f"telegram:{number}", "sender_id": f"person{number}"}
            if turn % 5 == 0:
                body = {**chat, "text": f"Remember that I like the number {number}-{turn}", "assistant": "ok"}
                ended = ws.engine.whole_turn(turn_end(body, whole=True))
                saved += [one.item.id for one in ended.saved]
                continue
            begun = ws.engine.begin_turn(turn_input({**chat, "text": f"item {chance.randint(1, 30)}"}))
            ended = ws.engine.end_turn(turn_end({"turn": begun.turn, "assistant": "ok"}))
            if ended.operation:
                hits.update(hit.item.id for hit in begun.hits)
            ws.checkpoint_if_due()
        return {"hits": hits, "saved": saved}

    return work


def person(turns: int) -> Callable[[Workspace], Report]:
    """A console: edits, deletes and additions."""

    def work(ws: Workspace) -> Report:
        chance = random.Random(7)
        deleted: list[str] = []
        edited: dict[str, str] = {}
        added: list[str] = []
        for turn in range(turns):
            ws.refresh()
            key = f"ltm_{chance.randint(1, 30)}"
            with contextlib.suppress(NotFound, NothingToDo, Conflict):
                if turn % 10 == 9:
                    ws.items.delete([key])
                    deleted.append(key)
                elif turn % 3 == 0:
                    _, item, _ = ws.items.add(f"a note of the person {turn}")
                    added.append(item.id)
                else:
                    ws.items.edit(key, text=f"item {key.removeprefix('ltm_')} edited {turn}")
                    edited[key] = f"item {key.removeprefix('ltm_')} edited {turn}"
            ws.checkpoint_if_due()
        return {"deleted": deleted, "edited": edited, "added": added}

    return work


def together(tmp_path: Path, turns: int) -> None:
    workspace = make_home(tmp_path, items=30)
    settings = workspace.parent / "nanomem" / "config.toml"
    settings.parent.mkdir()
    settings.write_text("capture_max_entries_per_turn = 4\nflush_every_updates = 20\n")
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
    waits = [in_child(workspace, work) for work in (agent(1, turns), agent(2, turns), person(turns))]
    one, two, edits = (wait() for wait in waits)
    with open_workspace(workspace) as ws:
        ws.flush()
        rows = ws.store.load("item").items
        hits = Counter(one["hits"]) + Counter(two["hits"])
        for number in range(1, 31):
            key = f"ltm_{number}"
            assert rows[key].hits == 1 + hits[key], key
            assert bool(rows[key].is_deleted) == (key in edits["deleted"]), key
            if key in edits["edited"] and key not in edits["deleted"]:
                assert rows[key].text == edits["edited"][key]
        saved = one["saved"] + two["saved"]
        assert len(saved) == len(set(saved)) >= 2 * (turns // 5)
        assert all(not rows[key].is_deleted for key in saved + edits["added"])
        ended = sum(bool(turn.ended_at) for turn in ws.traces.injections.turns())
        assert ended == 2 * turns
        assert ws.traces.counters.read()["turns_ended"] == 2 * turns
        assert ws.wal.counts() == {"files": 2, "turns": 2 * turns, "open": 0}
        assert ws.problems() == []
    with open_workspace(workspace) as ws:
        fresh = ws.store.load("item").items
        assert {key: row.hits for key, row in fresh.items()} == {key: row.hits for key, row in rows.items()}


def test_two_engines_and_a_person_at_once(tmp_path: Path) -> None:
    together(tmp_path, 60)


@pytest.mark.slow
def test_ten_thousand_operations_of_three_processes(tmp_path: Path) -> None:
    together(tmp_path, 3_400)
