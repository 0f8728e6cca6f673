"""Two processes on one memory: no lost update, hits add up, deletes stay deleted, what nobody saw is not replaced."""

import shutil
import subprocess
import sys

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import Conflict, NotFound
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.files.exchange import merge_row
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.memory.turns import begin, turn
from tests.store.homes import Agent, files, kill, make_home, state


def bump(ws, item_id, times=1):
    """What a turn does: hits grow, nothing else."""
    row = ws.items.get(item_id)
    after = row._replace(hits=row.hits + times)
    ws.store.perform(new_operation("turn", "a turn", [change_of("item", row, after)], actor="agent"))


def two(workspace, *, begun):
    """Two workspaces that have both loaded their rows, before the first change or after it."""
    if begun:
        with open_workspace(workspace) as first:
            first.items.set_pinned(["ltm_4"], True)
    pair = (open_workspace(workspace), open_workspace(workspace))
    for ws in pair:
        ws.items.all()
    return pair


@pytest.mark.parametrize("begun", [False, True], ids=["at the first change", "later"])
def test_each_keeps_what_the_other_did(tmp_path, begun):
    workspace = make_home(tmp_path)
    one, other = two(workspace, begun=begun)
    one.items.edit("ltm_1", text="by one")
    one.lessons.set_enabled(["lesson_1"], False)
    one.items.delete(["ltm_2"])
    bump(one, "ltm_4", 2)
    other.refresh()
    other.items.edit("ltm_1", importance=0.1)
    with pytest.raises(NotFound):
        other.items.edit("ltm_2", text="deleted meanwhile")
    other.items.edit("ltm_3", text="by the other")
    bump(other, "ltm_4", 3)
    added = other.items.add("added by the other")[1]
    one.close()
    other.close()
    rows = state(workspace)
    assert (rows["ltm_1"].text, rows["ltm_1"].importance) == ("by one", 0.1)
    assert not rows["lesson_1"].enabled
    assert "ltm_2" not in rows
    assert rows["ltm_3"].text == "by the other"
    assert rows["ltm_4"].hits == 1 + 2 + 3
    assert rows[added.id].text == "added by the other"
    assert all(not row.meta for row in rows.values())


@pytest.mark.parametrize("begun", [False, True], ids=["at the first change", "later"])
def test_a_text_that_was_changed_unseen_is_not_replaced_and_undo_goes_back_in_order(tmp_path, begun):
    workspace = make_home(tmp_path)
    one, other = two(workspace, begun=begun)
    one.items.edit("ltm_1", text="first")
    with pytest.raises(Conflict, match="changed since by human: edit “first”"):
        other.items.edit("ltm_1", text="second")
    assert other.items.get("ltm_1").text == "first", "seen now"
    other.items.edit("ltm_1", text="second")
    other.close()
    one.close()
    with open_workspace(workspace) as ws:
        for text in ("first", "item number 1"):
            ws.undo()
            assert ws.items.get("ltm_1").text == text


def test_one_sees_what_the_other_committed(tmp_path):
    one, other = two(make_home(tmp_path), begun=True)
    one.items.edit("ltm_1", text="by one")
    one.lessons.delete(["lesson_2"])
    assert {"items", "lessons"} <= other.refresh()
    assert other.items.get("ltm_1").text == "by one"
    assert len(other.lessons.all()) == 2
    assert other.refresh() == set()
    one.undo()
    assert "lessons" in other.refresh()
    assert len(other.lessons.all()) == 3
    one.close()
    other.close()


def test_a_browsing_process_takes_over_the_first_change_of_another(tmp_path):
    workspace = make_home(tmp_path)
    one, other = two(workspace, begun=False)
    one.items.edit("ltm_1", text="by one")
    one.close()
    agent = Agent(workspace)
    agent.items["ltm_9"] = {**agent.items["ltm_3"], "id": "ltm_9", "text": "by the agent"}
    agent.flush()
    assert "items" in other.refresh()
    assert other.items.get("ltm_1").text == "by one"
    other.items.set_pinned(["ltm_9"], True)
    other.close()
    rows = state(workspace)
    assert (rows["ltm_1"].text, rows["ltm_9"].text) == ("by one", "by the agent")


def test_what_an_agent_wrote_is_taken_over_once_by_whoever_writes_first(tmp_path):
    workspace = make_home(tmp_path)
    one, other = two(workspace, begun=True)
    agent = Agent(workspace)
    agent.items["ltm_1"]["hits"] += 5
    agent.items["ltm_9"] = {**agent.items["ltm_3"], "id": "ltm_9", "text": "by the agent"}
    agent.flush()
    for ws in (one, other):
        ws.refresh()
        assert (ws.items.get("ltm_1").hits, ws.items.get("ltm_9").text) == (6, "by the agent")
    for ws in (one, other):
        ws.items.add(f"by {ws is one}")
    one.close()
    other.close()
    assert state(workspace)["ltm_1"].hits == 6
    with open_workspace(workspace) as ws:
        assert [entry.operation.kind for entry in ws.log()].count("agent.changed") == 1


def test_an_export_of_one_is_no_change_of_the_agent_to_the_other(tmp_path):
    one, other = two(make_home(tmp_path), begun=True)
    bump(one, "ltm_1", 1)
    bump(other, "ltm_1", 2)
    one.items.edit("ltm_2", text="by one")
    one.flush()
    other.flush()
    one.refresh()
    assert [ws.items.get("ltm_1").hits for ws in (one, other)] == [4, 4]
    assert "agent.changed" not in {entry.operation.kind for entry in other.log()}
    one.close()
    other.close()


def test_what_was_done_on_top_of_a_killed_process_stays_on_top(tmp_path):
    workspace = make_home(tmp_path)
    killed = open_workspace(workspace)
    killed.items.edit("ltm_1", text="second")
    deleted = killed.items.delete(["ltm_3"])
    kill(killed)
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").text == "second"
        last = ws.items.edit("ltm_1", text="third")
        ws.undo(deleted.id)
    rows = state(workspace)
    assert (rows["ltm_1"].text, rows["ltm_3"].text) == ("third", "item number 3")
    with open_workspace(workspace) as ws:
        assert {e.operation.id for e in ws.log() if e.undone} == {deleted.id}
        assert ws.undo()[0].undoes == last.id


def test_a_kill_costs_hits_since_the_last_checkpoint_and_nothing_else(tmp_path):
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    bump(ws, "ltm_1", 2)
    ws.flush()
    bump(ws, "ltm_1", 4)
    ws.items.edit("ltm_2", text="acknowledged")
    kill(ws)
    rows = state(workspace)
    assert (rows["ltm_1"].hits, rows["ltm_2"].text) == (3, "acknowledged")


@pytest.mark.parametrize("again", [False, True], ids=["undone", "redone"])
def test_what_another_process_undid_stays_undone(tmp_path, again):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="long ago")
    editor, other = open_workspace(workspace), open_workspace(workspace)
    edited = editor.items.edit("ltm_1", text="from the editor")
    other.undo(edited.id)
    if again:
        other.redo()
    editor.refresh()
    wanted = "from the editor" if again else "long ago"
    assert editor.items.get("ltm_1").text == wanted
    assert [entry.undone for entry in editor.log() if entry.operation.kind == "items.edit"] == [not again, False]
    editor.close()
    other.close()
    assert state(workspace)["ltm_1"].text == wanted


def test_two_workspaces_of_one_home_do_not_mix(tmp_path):
    first = make_home(tmp_path)
    second = first.with_name("second")
    (second / "memory").mkdir(parents=True)
    one, two_ = open_workspace(first), open_workspace(second)
    for number in range(3):
        one.items.add(f"shared word, first {number}")
        two_.items.add(f"shared word, second {number}")
    kill(one)
    two_.close()
    assert len(state(second)) == 3
    with open_workspace(first) as ws:
        assert len(ws.items.all()) == 4 + 3
        ws.items.set_pinned(["ltm_1"], True)
    with open_workspace(second) as ws:
        assert {hit.item.text for hit in ws.items.search("shared")} == {f"shared word, second {n}" for n in range(3)}
        assert len(ws.log()) == 3
    with open_workspace(first) as ws:
        assert len(ws.items.search("shared")) == 3


@pytest.mark.sqlite("the file itself")
def test_a_data_folder_removed_beneath_a_running_process_is_made_again(tmp_path):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="first")
        ws.flush()
        shutil.rmtree(workspace.parent / "nanomem")
        ws.items.edit("ltm_3", text="after")
        assert (ws.items.get("ltm_1").text, ws.items.get("ltm_3").text) == ("first", "after")
    rows = state(workspace)
    assert [rows[f"ltm_{n}"].text for n in range(1, 5)] == ["first", "item number 2", "after", "item number 4"]


WRITER = """
import sys
from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.snapshot import change_of
ws = open_workspace(sys.argv[1])
for number in range(int(sys.argv[3])):
    ws.items.add(f"{sys.argv[2]} {number}")
    row = ws.items.get("ltm_1")
    used = change_of("item", row, row._replace(hits=row.hits + 1))
    ws.store.perform(new_operation("turn", "a turn", [used], actor="agent"))
    ws.checkpoint_if_due()
    ws.refresh()
ws.close()
"""


@pytest.mark.slow
def test_two_real_processes_at_once_lose_nothing(tmp_path):
    workspace, number = make_home(tmp_path), 25
    command = [sys.executable, "-c", WRITER, str(workspace)]
    writers = [subprocess.Popen([*command, name, str(number)], stderr=subprocess.PIPE) for name in ("one", "two")]
    for writer in writers:
        _, said = writer.communicate(timeout=120)
        assert writer.returncode == 0, said.decode()
    rows = state(workspace)
    texts = {row.text for row in rows.values() if hasattr(row, "text")}
    assert {f"{name} {n}" for name in ("one", "two") for n in range(number)} <= texts
    assert rows["ltm_1"].hits == 1 + 2 * number
    assert len(Agent(workspace).items) == 4 + 2 * number


@pytest.mark.sqlite("the file itself")
def test_reading_beside_a_writer_changes_none_of_its_files(tmp_path):
    workspace = make_home(tmp_path)
    writer = open_workspace(workspace)
    writer.items.edit("ltm_1", text="in the file")
    writer.flush()
    writer.items.edit("ltm_2", text="in the WAL")
    before = files(workspace.parent, lambda path: path.name.endswith("-shm"))
    with open_workspace(workspace) as ws:
        ws.status()
        assert {row.text for row in ws.items.all()} >= {"in the file", "in the WAL"}
        ws.items.search("file")
        ws.log()
        ws.refresh()
    assert files(workspace.parent, lambda path: path.name.endswith("-shm")) == before
    writer.close()


def test_what_a_deleted_item_was_is_told_by_its_history(tmp_path):
    one, other = two(make_home(tmp_path), begun=True)
    one.items.delete(["ltm_1"])
    one.close()
    other.refresh()
    with pytest.raises(NotFound):
        other.items.get("ltm_1")
    assert [e.operation.kind for e in other.items.history("ltm_1")] == ["items.delete"]
    other.close()


def test_an_agent_recalls_what_others_did_at_its_next_turn(tmp_path):
    workspace = make_home(tmp_path, items=0, lessons=0)
    agent, other = open_workspace(workspace), open_workspace(workspace)
    told = turn(agent, "My cat is called Tom.").saved[0].item.id
    assert [hit.item.id for hit in begin(other, "what is the cat called").hits] == [told]
    turn(other, "My cat is called Tom.")
    assert [item.id for item in other.items.all()] == [told], "said again, not saved twice"
    with open_workspace(workspace) as person:
        person.items.delete([told])
    for ws in (agent, other):
        assert begin(ws, "what is the cat called").hits == ()
    again = turn(agent, "My cat is called Tom.").saved[0].item.id
    for ws in (agent, other):
        ws.close()
    assert set(state(workspace)) == {again}


# -- the merge of rows ------------------------------------------------------------------------------------------------


def test_rows_merge_field_by_field():
    base = Item("a", "x", hits=3, updated_at="2026-01-01", meta_json='{"keep": 1}')
    ours = base._replace(hits=5, kind="decision", updated_at="2026-01-02", meta_json='{"keep": 1, "ours": 1}')
    theirs = base._replace(hits=4, text="y", updated_at="2026-01-03", meta_json='{"theirs": 1}', revision=9)
    merged = merge_row(base, ours, theirs)
    assert (merged.hits, merged.kind, merged.text, merged.revision) == (6, "decision", "y", 9)
    assert merged.updated_at == "2026-01-03"
    assert merged.meta == {"ours": 1, "theirs": 1}
