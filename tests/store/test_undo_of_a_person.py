"""Undo and redo as a person meets them: whatever the clock does, many deep, across kills, and of what failed."""

import contextlib
import os
import random
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NotFound, NothingToDo
from nanomem_tui.core.operations import Change, new_operation
from tests.crash.harness import fork
from tests.store.homes import Agent, files, kill, make_home, state


def _memory_files(workspace):
    found = files(workspace / "memory", lambda path: "AUDIT" in path.name)
    lines = found["LTM_SNAPSHOT.json"].split(b"\n")
    found["LTM_SNAPSHOT.json"] = b"\n".join(line for line in lines if not line.startswith(b'  "updated_at"'))
    return found


def _change(ws, step):
    ids = [row.id for row in ws.items.all()]
    match step % 5:
        case 0:
            ws.items.add(f"added in step {step}")
        case 1:
            ws.items.edit(ids[step % len(ids)], text=f"edited in step {step}", importance=step / 100)
        case 2:
            ws.lessons.set_enabled(["lesson_1"], not ws.lessons.get("lesson_1").enabled)
        case 3:
            ws.items.delete([ids[step % len(ids)]])
        case _:
            ws.lessons.edit("lesson_2", better_action=f"better in step {step}")


def _all(workspace):
    return {**state(workspace), "SOUL.md": (workspace / "SOUL.md").read_text()}


@contextlib.contextmanager
def told(moment):
    """While it lasts the clock of the system says that, and runs on."""
    with pytest.MonkeyPatch.context() as patch:
        ahead = moment - clock.now()
        real = clock.now
        patch.setattr(clock, "now", lambda: real() + ahead)
        patch.setattr(clock, "stamp", lambda: (clock.ms_of(clock.now()), clock.iso(clock.now())))
        yield


JUMPS = (-400 * 24, -24, -1, 0, 0, 1, 24, 30 * 24)
"""Hours by which a clock is set."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("killed", [False, True])
def test_whatever_the_clock_does_undo_takes_back_the_last_change(tmp_path, seed, killed):
    """Each change in a process of its own."""
    chance, now = random.Random(seed), datetime(2026, 3, 1, 12, tzinfo=UTC)
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_4"], True)
    (workspace / "SOUL.md").write_text("# Soul\n")
    states = [_all(workspace)]
    for step in range(9):
        now += timedelta(hours=chance.choice(JUMPS))
        ws = open_workspace(workspace)
        with told(now):
            if step == 5:
                ws.documents.edit("SOUL.md", "# Soul\nkind\n")
            else:
                _change(ws, step * 5 + chance.randrange(5))
            kill(ws) if killed and chance.random() < 0.5 else ws.close()
        states.append(_all(workspace))
    for before in states[-2::-1]:
        now += timedelta(hours=chance.choice(JUMPS))
        with told(now), open_workspace(workspace) as ws:
            [done] = ws.undo()
        assert _all(workspace) == before, done.label
    with open_workspace(workspace) as ws:
        assert [entry.operation.kind for entry in ws.log(9)] == ["undo"] * 9, "the log is in the order of commits"


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59.999999+00:00", "no time", ""])
@pytest.mark.sqlite("the file itself")
def test_a_time_that_somebody_wrote_keeps_no_change_from_being_made(tmp_path, at):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.add("the first")
    with contextlib.closing(sqlite3.connect(workspace.parent / "nanomem" / "nanomem.db")) as connection:
        connection.execute("UPDATE operations SET at = ?", (at,))
        connection.commit()
    before = state(workspace)
    with open_workspace(workspace) as ws:
        ws.items.add("the second")
    with open_workspace(workspace) as ws:
        ws.undo()
    assert state(workspace) == before


@pytest.mark.slow
def test_a_hundred_steps_back_and_forth_across_restarts_are_exact(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_4"], True)  # the first change, so that what follows starts from a database
        ws.undo()
    states, agent_files = [state(workspace)], [_memory_files(workspace)]
    for restart in range(10):
        with open_workspace(workspace) as ws:
            for step in range(10 * restart, 10 * restart + 10):
                _change(ws, step)
        states.append(state(workspace))
        agent_files.append(_memory_files(workspace))
    for expected, expected_files in zip(states[-2::-1], agent_files[-2::-1], strict=True):
        with open_workspace(workspace) as ws:
            assert len(ws.undo(count=10)) == 10
        assert state(workspace) == expected
        assert _memory_files(workspace) == expected_files
    with open_workspace(workspace) as ws, pytest.raises(NothingToDo):
        ws.undo()
    for expected, expected_files in zip(states[1:], agent_files[1:], strict=True):
        with open_workspace(workspace) as ws:
            assert len(ws.redo(count=10)) == 10
        assert state(workspace) == expected
        assert _memory_files(workspace) == expected_files
    with open_workspace(workspace) as ws, pytest.raises(NothingToDo):
        ws.redo()


def test_an_undo_takes_back_no_hits_that_a_turn_counted_meanwhile(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    agent.items["ltm_2"]["text"] = agent.items["ltm_1"]["text"]
    agent.flush()
    with open_workspace(workspace) as ws:
        operation = ws.items.compact(0)
        kept = ws.items.get("ltm_2")
        assert kept.hits == 2, "the copy's hit is added, and counts on"
    agent.load()
    agent.items["ltm_2"]["hits"] += 5
    agent.flush()
    with open_workspace(workspace) as ws:
        ws.undo(operation.id)
        assert (ws.items.get("ltm_1").hits, ws.items.get("ltm_2").hits) == (1, 7)


class _Breaks:
    """A layer that cannot do what it was asked."""

    name = "broken"

    def check(self, changes):
        """Everything fits."""

    def begun(self, changes):
        return False

    def apply(self, operation, changes):
        raise OSError(5, "the disk said no")


def test_what_could_not_be_done_is_void_in_the_log_and_after_a_kill(tmp_path):
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    before = ws.items.get("ltm_1")
    ws.store.layers["broken"] = _Breaks()
    changes = [Change("item", "ltm_1", {"text": before.text}, {"text": "half done"}), Change("broken", "x", {}, {})]
    with pytest.raises(OSError, match="the disk said no"):
        ws.store.perform(new_operation("test", "both", changes))
    assert ws.items.get("ltm_1")._replace(revision=0) == before
    assert [(e.operation.kind, e.undone) for e in ws.log()] == [("void", False), ("test", True)]
    kill(ws)
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").text == before.text
        ws.items.set_pinned(["ltm_2"], True)
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").text == before.text
        assert [(e.operation.kind, e.undone) for e in ws.log()][1:] == [("void", False), ("test", True)]
        ws.undo()
        with pytest.raises(NothingToDo):
            ws.undo()
    assert b"half done" not in (workspace / "memory" / "LTM_AUDIT.jsonl").read_bytes()


def test_only_what_a_person_started_is_undone_without_an_id(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
    agent = Agent(workspace)
    agent.items["ltm_9"] = {**agent.items["ltm_1"], "id": "ltm_9", "text": "learned"}
    agent.flush()
    with open_workspace(workspace) as ws:
        human = ws.items.set_pinned(["ltm_2"], True)
        ws.flush()
        assert [e.operation.actor for e in ws.log()] == ["human", "agent", "human"], "in the order of time"
        assert ws.undo()[0].undoes == human.id
        learned = next(e for e in ws.log() if e.operation.actor == "agent").operation
        ws.undo(learned.id)
        with pytest.raises(NotFound):
            ws.items.get("ltm_9")


def test_names_of_operations_are_unique_after_a_fork(tmp_path):
    from nanomem_tui.core.operations import new_key

    read, write = os.pipe()
    child = fork()
    if child == 0:
        os.write(write, " ".join(new_key("ltm") for _ in range(50)).encode())
        os._exit(0)
    ours = {new_key("ltm").rpartition("_")[2] for _ in range(50)}
    os.waitpid(child, 0)
    theirs = {key.rpartition("_")[2] for key in os.read(read, 100_000).decode().split()}
    os.close(read)
    os.close(write)
    assert not ours & theirs


@pytest.mark.parametrize("begun", [False, True])
def test_an_edit_of_a_file_that_a_kill_cut_off_is_finished_by_the_next_and_can_be_undone(
    sample_copy, monkeypatch, begun
):
    workspace = sample_copy("nb035") / "home/.nanobot/workspace"
    before = (workspace / "USER.md").read_text("utf-8")
    replace = os.replace

    def dying(source, target, **where):
        named = os.fsdecode(target).endswith("USER.md")
        if begun or not named:
            replace(source, target, **where)
        if named:
            os._exit(9)

    child = fork()
    if not child:
        monkeypatch.setattr(os, "replace", dying)
        with contextlib.suppress(BaseException):
            open_workspace(workspace).documents.edit("USER.md", f"{before}- new line\n")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with open_workspace(workspace) as ws:
        assert begun or any("USER.md" in problem.text() for problem in ws.doctor()), "it is named until then"
        ws.documents.edit("SOUL.md", "# Soul\n")
        assert (workspace / "USER.md").read_text("utf-8") == f"{before}- new line\n"
        ws.undo()
        ws.undo()
    assert (workspace / "USER.md").read_text("utf-8") == before
