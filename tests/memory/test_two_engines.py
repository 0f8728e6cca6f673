"""Two processes on one store: what an agent's turns and a person's edits do at once. Hits add up, deletes stay."""

import json
import os
import random
from collections import Counter

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import Conflict
from nanomem_tui.memory.turns.request import turn_end, turn_input
from tests.conftest import LONG
from tests.crash.harness import fork
from tests.memory.turns import begin, end
from tests.store.homes import make_home


def in_child(workspace, work):
    """Run `work` in a process of its own; the result waits for it and gives its report."""
    read, write = os.pipe()
    child = fork()
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

    def wait():
        data = b""
        while chunk := os.read(read, 65_536):
            data += chunk
        os.close(read)
        _, status = os.waitpid(child, 0)
        assert os.WEXITSTATUS(status) == 0
        return json.loads(data)

    return wait


def agent(number, turns, items):
    """An engine: turns that use items, and turns that save one."""

    def work(ws):
        chance = random.Random(number)
        hits = Counter()
        saved = []
        for turn in range(turns):
            chat = {"session_key": f"telegram:{number}", "sender_id": f"person{number}"}
            if turn % 5 == 0:
                body = {**chat, "text": f"Remember that I like the number {number}-{turn}", "assistant": "ok"}
                ended = ws.engine.whole_turn(turn_end(body, whole=True))
                saved += [one.item.id for one in ended.saved]
                continue
            begun = ws.engine.begin_turn(turn_input({**chat, "text": f"item {chance.randint(1, items)}"}))
            ws.engine.end_turn(turn_end({"turn": begun.turn, "assistant": "ok"}))
            hits.update(hit.item.id for hit in begun.hits)
            ws.checkpoint_if_due()
        return {"hits": hits, "saved": saved}

    return work


def person(changes, items):
    """A console: that many edits, deletes, additions and undos; one that is refused (another was there first, and it is
    said) is made again with another item."""

    def work(ws):
        chance = random.Random(7)
        alive = [f"ltm_{number}" for number in range(1, items + 1)]
        found = {"deleted": [], "edited": {}, "added": [], "undone": [], "done": 0, "refused": 0}
        while found["done"] < changes:
            ws.refresh()
            turn = found["done"]
            key = chance.choice(alive)
            try:
                if turn % 10 == 9 and len(alive) > items // 3:
                    ws.items.delete([key])
                    alive.remove(key)
                    found["deleted"].append(key)
                elif turn % 10 == 8:
                    operation, item, _ = ws.items.add(f"a slip of the person {turn}")
                    found["undone"].append(item.id)
                    ws.undo(operation.id)
                elif turn % 3 == 0:
                    found["added"].append(ws.items.add(f"a note of the person {turn}")[1].id)
                else:
                    text = f"item {key.removeprefix('ltm_')} edited {turn}"
                    ws.items.edit(key, text=text)
                    found["edited"][key] = text
                found["done"] += 1
            except Conflict:
                found["refused"] += 1
                assert found["refused"] < changes, "most of what a person does is done"
            ws.checkpoint_if_due()
        return found

    return work


def together(tmp_path, turns, items):
    """Two engines with that many turns each, and a person with as many changes, all at once."""
    workspace = make_home(tmp_path, items=items)
    settings = workspace.parent / "nanomem" / "config.toml"
    settings.parent.mkdir()
    settings.write_text("capture_max_entries_per_turn = 4\nflush_every_updates = 20\n")
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
    workers = (agent(1, turns, items), agent(2, turns, items), person(turns, items))
    one, two, edits = (wait() for wait in [in_child(workspace, work) for work in workers])
    assert edits["done"] == turns
    with open_workspace(workspace) as ws:
        ws.flush()
        rows = ws.store.load("item").items
        hits = Counter(one["hits"]) + Counter(two["hits"])
        assert len(hits) > items // 4
        for number in range(1, items + 1):
            key = f"ltm_{number}"
            if key in edits["deleted"]:  # what was deleted while a turn held it was shown, and is counted no more
                assert rows[key].hits <= 1 + hits[key], key
            else:
                assert rows[key].hits == 1 + hits[key], key
            assert bool(rows[key].is_deleted) == (key in edits["deleted"]), key
            if key in edits["edited"]:
                assert rows[key].text == edits["edited"][key]
        saved = one["saved"] + two["saved"]
        assert len(saved) == len(set(saved)) >= 2 * (turns // 5)
        assert all(not rows[key].is_deleted for key in saved + edits["added"])
        assert all(rows[key].is_deleted for key in edits["undone"] if key in rows)
        ended = sum(bool(turn.ended_at) for turn in ws.traces.injections.turns())
        assert ended == 2 * turns
        assert ws.traces.counters.read()["turns_ended"] == 2 * turns
        assert ws.wal.counts() == {"files": 2, "turns": 2 * turns, "open": 0}
        assert ws.problems() == []
    with open_workspace(workspace) as ws:
        fresh = ws.store.load("item").items
        assert {key: (row.hits, row.text, bool(row.is_deleted)) for key, row in fresh.items()} == {
            key: (row.hits, row.text, bool(row.is_deleted)) for key, row in rows.items()
        }


@pytest.mark.slow
def test_two_engines_and_a_person_at_once(tmp_path):
    together(tmp_path, 60, items=30)


@pytest.mark.slow
def test_thousands_of_operations_of_three_processes(tmp_path):
    together(tmp_path, 3_400 if LONG else 700, items=300)


def test_what_is_pending_and_was_said_in_one_process_is_known_in_the_other(workspace):
    with open_workspace(workspace) as one, open_workspace(workspace) as other:
        for number, ws in enumerate((one, other)):  # both have worked on the chat
            end(ws, begin(ws, f"hello {number}").turn)
        end(one, begin(one, "call him").turn, pending_actions=["call Bob"])
        begun = begin(other, "what now")
        assert begun.pending == ("call Bob",)
        assert [turn.user for turn in begun.working] == ["hello 0", "hello 1", "call him"]
        assert end(other, begun.turn, done_actions=["call Bob"]).problems == ()
        assert begin(one, "anything left?").pending == ()


def test_a_turn_that_begins_here_and_ends_there_counts_what_it_used(workspace):
    with open_workspace(workspace) as one, open_workspace(workspace) as other:
        other.engine.preview(turn_input({"session_key": "telegram:42", "text": "hello"}))
        key = one.items.add("the harbour opens at nine", scope_type="global")[1].id
        begun = begin(one, "when does the harbour open")
        assert key in [hit.item.id for hit in begun.hits]
        assert end(other, begun.turn).operation is not None
        assert other.items.get(key).hits == 1
