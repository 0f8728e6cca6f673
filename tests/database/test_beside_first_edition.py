"""The first edition beside a takeover: what it shows is what is taken, and it stops at the new database.

Goes with the store of the first edition.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui import open_workspace, paths
from nanomem_tui.database import first_edition, takeover
from nanomem_tui.database.engine import SqliteDatabase
from nanomem_tui.database.store import Store
from nanomem_tui.database.writers import Writers
from nanomem_tui.errors import NanomemError, NewerDatabase, Refused, in_words
from nanomem_tui.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import ROW_TYPES
from nanomem_tui.workspace import Workspace
from tests.database.first_edition_homes import described, plain
from tests.store.homes import kill, make_home

pytestmark = pytest.mark.sqlite("the first edition of a file of SQLite")


def taken_over(workspace: Path) -> tuple[Store, takeover.TakenOver]:
    found = paths.locate(workspace)
    taken = takeover.take_over(found, paths.workspace_id(found))
    store = Store(SqliteDatabase(found.database), Writers(found.data / "writers"))
    store.load()
    return store, taken


def work_at_random(workspace: Path, chance: random.Random) -> None:
    """Let up to three processes work on one memory, each by itself, and kill them."""
    open_ones = [open_workspace(workspace) for _ in range(chance.randint(1, 3))]
    for step in range(chance.randint(8, 30)):
        ws = chance.choice(open_ones)
        try:
            work_once(ws, chance, step)
        except NanomemError:
            continue
        if chance.random() < 0.1:
            kill(ws)
            open_ones[open_ones.index(ws)] = open_workspace(workspace)
    for ws in open_ones:
        kill(ws)


def work_once(ws: Workspace, chance: random.Random, step: int) -> None:
    there = [item for item in ws.store.load().items.values() if not item.is_deleted]
    if not there:
        return
    one, some = chance.choice(there), [item.id for item in chance.sample(there, min(3, len(there)))]
    what = chance.randrange(11)
    if what == 0:
        ws.items.add(f"added {step}")
    elif what == 1:
        ws.items.edit(one.id, text=f"edited {step}")
    elif what == 2:
        ws.items.delete(some[:2])
    elif what == 3:
        ws.items.set_pinned(some, chance.random() < 0.7)
    elif what == 4:
        ws.undo()
    elif what == 5:
        entry = next(entry for entry in ws.log() if entry.operation.kind.startswith("items") and not entry.undone)
        ws.undo(entry.operation.id, keys=[chance.choice(entry.operation.changes).key])
    elif what == 6:
        ws.redo()
    elif what in (7, 8):  # agents wait for nobody, so that these do not know of each other
        fields = chance.choice([{"text": f"said {step}"}, {"hits": one.hits + 1}, {"is_deleted": True}])
        after = one._replace(updated_at=f"2027-01-01T10:{step:02}:00.000000+00:00", **fields)
        ws.perform(new_operation("turn", f"turn {step}", [change_of("item", one, after)], actor="agent"))
    elif what == 9:
        ws.flush()
    else:
        ws.journal.add(f"day {step}")


@pytest.mark.parametrize("seed", range(8))
def test_what_killed_processes_left_is_taken_as_the_first_edition_shows_it(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    workspace = make_home(tmp_path, items=5, lessons=2)
    with open_workspace(workspace) as ws:
        ws.items.add("there before")
    work_at_random(workspace, chance)
    shutil.copytree(workspace.parent, tmp_path / "copy")
    shown = described(workspace)
    store, taken = taken_over(tmp_path / "copy" / "workspace")
    for layer in ROW_TYPES:
        found = {key: plain(row) for key, row in store.snapshot.table(layer).items()}
        for row in (*found.values(), *shown["rows"][layer].values()):
            row["meta_json"] = json.loads(row["meta_json"])
        assert found == shown["rows"][layer]
    log = {entry.operation.id: entry for entry in store.log(1000)}
    assert log.keys() == shown["log"].keys()
    redone = {entry.operation.meta.get("undo") for entry in log.values()}
    undone = {key: entry.undone for key, entry in log.items() if key not in redone}
    assert undone == {key: shown["log"][key]["undone"] for key in undone}
    assert taken.problems == ()


def test_a_process_of_the_first_edition_that_meets_the_new_database_ends_with_one_line(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("written by the first edition")
    taken_over(workspace)
    for work in (lambda ws: ws.items.all(), lambda ws: ws.log(), lambda ws: ws.items.add("late")):
        ws = open_workspace(workspace)
        with pytest.raises(NewerDatabase) as met:
            work(ws)
        line = met.value.line()
        assert "the database has schema 4, this nanomem knows 3" in line
        assert "install a newer nanomem" in line
        assert "\n" not in line
        kill(ws)
    done = subprocess.run(
        [sys.executable, "-m", "nanomem_tui", "memory", "list", "--workspace", str(workspace)],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "install a newer nanomem" in done.stderr


def test_an_idle_process_of_the_first_edition_records_nothing_that_nobody_would_read(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("written by the first edition")
    idle = open_workspace(workspace)
    idle.items.all()
    store, _ = taken_over(workspace)
    with pytest.raises((NanomemError, OSError)) as met:
        idle.items.add("typed into a console that was left open")
    assert "\n" not in in_words(met.value).line()
    kill(idle)
    assert "typed into" not in "".join(item.text for item in store.snapshot.items.values())
    found = paths.locate(workspace)
    assert not first_edition.is_due(found, paths.workspace_id(found))


def test_while_a_console_of_the_first_edition_has_changed_something_it_is_refused(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("written by the first edition")
        with pytest.raises(Refused, match=f"process {os.getpid()}"):
            taken_over(workspace)
        ws.items.add("and more")
    found = paths.locate(workspace)
    assert first_edition.is_first_edition(found.database)
    store, _ = taken_over(workspace)
    assert "and more" in [item.text for item in store.snapshot.items.values()]


def test_an_edit_of_what_an_agent_wrote_that_no_checkpoint_met_is_taken_with_the_agents_row(tmp_path: Path) -> None:
    from tests.store.homes import Agent, item

    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("written by the first edition")
    agent = Agent(workspace)
    agent.items["ltm_9"] = item(9, "new from the agent")
    agent.flush()
    ws = open_workspace(workspace)
    ws.items.edit("ltm_9", text="edited before any checkpoint")
    rows = ws.store.files.initial_rows("item")
    kill(ws)
    found = paths.locate(workspace)
    key = paths.workspace_id(found)
    with takeover.read_copy(found, key) as (_, taken):
        assert [problem.where for problem in taken.problems] == ["ltm_9"]
    with takeover.read_copy(found, key, rows) as (file, taken):
        assert taken.problems == ()
        store = Store(SqliteDatabase(file), Writers(file.parent))
        assert store.load().items["ltm_9"].text == "edited before any checkpoint"
        store.database.close()
