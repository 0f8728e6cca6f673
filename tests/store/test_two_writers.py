"""Two processes on one store: no lost update, hits add up, deletes stay deleted, what nobody saw is not replaced."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import Conflict, NotFound
from nanomem_tui.operations import Operation, new_operation
from nanomem_tui.store import ledger as ledger_files
from nanomem_tui.store import ledger_order
from nanomem_tui.store.copies import Copies
from nanomem_tui.store.merge_rows import merge_row
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace
from tests.store.homes import Agent, files, kill, make_home, state, written_behind


def bump(ws: Workspace, item_id: str, times: int = 1) -> None:
    """What a turn does: hits grow, nothing else."""
    row = ws.items.get(item_id)
    after = row._replace(hits=row.hits + times)
    ws.store.perform(new_operation("turn", "a turn", [change_of("item", row, after)], actor="agent"))


def two(workspace: Path, *, adopted: bool) -> tuple[Workspace, Workspace]:
    """Two workspaces that have both loaded their rows, before the first change or after it."""
    if adopted:
        with open_workspace(workspace) as first:
            first.items.set_pinned(["ltm_4"], True)
    pair = (open_workspace(workspace), open_workspace(workspace))
    for ws in pair:
        ws.items.all()
    return pair


@pytest.mark.parametrize("adopted", [False, True], ids=["at the first change", "later"])
def test_each_keeps_what_the_other_did(tmp_path: Path, adopted: bool) -> None:
    workspace = make_home(tmp_path)
    one, other = two(workspace, adopted=adopted)
    one.items.edit("ltm_1", text="by one")
    one.lessons.set_enabled(["lesson_1"], False)
    one.items.delete(["ltm_2"])
    bump(one, "ltm_4", 2)
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


@pytest.mark.parametrize("adopted", [False, True], ids=["at the first change", "later"])
def test_a_text_that_was_changed_unseen_is_not_replaced_and_undo_goes_back_in_order(
    tmp_path: Path, adopted: bool
) -> None:
    workspace = make_home(tmp_path)
    one, other = two(workspace, adopted=adopted)
    one.items.edit("ltm_1", text="first")
    with pytest.raises(Conflict, match="look again"):
        other.items.edit("ltm_1", text="second")
    assert other.items.get("ltm_1").text == "first", "seen now"
    other.items.edit("ltm_1", text="second")
    other.close()
    one.close()
    row = state(workspace)["ltm_1"]
    assert (row.text, row.meta) == ("second", {})
    with open_workspace(workspace) as ws:
        for text in ("first", "item number 1"):
            ws.undo()
            assert ws.items.get("ltm_1").text == text


def test_one_sees_what_the_other_committed(tmp_path: Path) -> None:
    one, other = two(make_home(tmp_path), adopted=True)
    one.items.edit("ltm_1", text="by one")
    one.lessons.delete(["lesson_2"])
    assert {"items", "lessons"} <= other.refresh(), "what is recorded is seen too"
    one.flush()
    other.refresh()
    assert other.items.get("ltm_1").text == "by one"
    assert len(other.lessons.all()) == 2
    assert other.refresh() == set()
    one.close()
    other.close()


def test_a_browsing_process_takes_over_the_first_change_of_another(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    one, other = two(workspace, adopted=False)
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


def test_an_export_of_one_is_no_change_of_the_agent_to_the_other(tmp_path: Path) -> None:
    one, other = two(make_home(tmp_path), adopted=True)
    bump(one, "ltm_1", 1)
    bump(other, "ltm_1", 2)
    one.items.edit("ltm_2", text="by one")
    one.flush()
    other.flush()
    assert other.items.get("ltm_1").hits == 4
    assert "agent.changed" not in {entry.operation.kind for entry in other.log()}
    one.close()
    other.close()


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_what_changes_while_a_checkpoint_writes_is_kept_and_so_is_what_it_merged(tmp_path: Path) -> None:
    from nanomem_tui.store import checkpoint

    one, other = two(make_home(tmp_path), adopted=True)
    other.items.edit("ltm_1", importance=0.2)
    other.flush()
    one.items.edit("ltm_1", kind="preference")
    real = checkpoint.write

    def slow(*args: object) -> checkpoint.Written:
        written = real(*args)  # type: ignore[arg-type]
        one.items.edit("ltm_1", text="while it wrote")
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "write", slow)
        one.flush()
    row = one.items.get("ltm_1")
    assert (row.text, row.kind, row.importance) == ("while it wrote", "preference", 0.2)
    one.close()
    other.refresh()
    row = other.items.get("ltm_1")
    assert (row.text, row.kind, row.importance, row.meta) == ("while it wrote", "preference", 0.2, {})
    other.close()


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_what_is_seen_of_another_while_a_checkpoint_writes_is_counted_once(tmp_path: Path) -> None:
    """A console's checkpoint runs on a thread, its looks at what others recorded on another."""
    from nanomem_tui.store import checkpoint

    person, agent = two(make_home(tmp_path), adopted=True)
    bump(agent, "ltm_1", 2)
    person.refresh()
    person.items.edit("ltm_1", text="edited")
    real = checkpoint.write

    def meanwhile(*args: object) -> checkpoint.Written:
        written = real(*args)  # type: ignore[arg-type]
        bump(agent, "ltm_1", 5)
        person.refresh()
        assert person.items.get("ltm_1").hits == 8
        return written

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "write", meanwhile)
        person.flush()
    assert person.items.get("ltm_1").hits == 8
    person.items.edit("ltm_1", text="edited again")
    person.flush()
    agent.close()
    person.close()
    found = state(tmp_path / "home" / "workspace")["ltm_1"]
    assert (found.text, found.hits) == ("edited again", 8)


# -- ledger files of processes that ended -----------------------------------------------------------------------------


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_a_living_process_keeps_its_ledger_file(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    one, other = two(workspace, adopted=True)
    one.items.edit("ltm_1", text="by one")
    other.items.edit("ltm_2", text="by the other")
    other.flush()
    mine = one.store.ledger.path
    assert mine is not None
    assert mine.stat().st_size > 0, "its owner lives: nobody adopts it"
    kill(one)
    other.items.set_pinned(["ltm_3"], True)
    other.flush()
    assert not mine.exists()
    other.close()
    rows = state(workspace)
    assert (rows["ltm_1"].text, rows["ltm_2"].text, rows["ltm_3"].pinned) == ("by one", "by the other", True)


def test_what_was_done_on_top_of_a_killed_process_stays_on_top(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    killed = open_workspace(workspace)
    killed.items.edit("ltm_1", text="second")
    bump(killed, "ltm_2", 4)
    deleted = killed.items.delete(["ltm_3"])
    kill(killed)
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").text == "second"
        last = ws.items.edit("ltm_1", text="third")
        bump(ws, "ltm_2")
        ws.undo(deleted.id)
        ws.flush()
        assert ws.items.get("ltm_1").text == "third"
    rows = state(workspace)
    assert (rows["ltm_1"].text, rows["ltm_1"].meta) == ("third", {})
    assert rows["ltm_2"].hits == 1 + 4 + 1
    assert rows["ltm_3"].text == "item number 3"
    with open_workspace(workspace) as ws:
        assert {e.operation.id for e in ws.log() if e.undone} == {deleted.id}
        assert ws.undo()[0].undoes == last.id, "the order of time, not of adoption"


def test_a_change_made_after_the_other_looked_is_adopted_with_a_merge(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    one, other = two(workspace, adopted=True)
    one.items.edit("ltm_1", text="by one")
    one.items.edit("ltm_2", kind="decision")
    bump(one, "ltm_2", 2)
    one.items.delete(["ltm_3"])
    kill(one)
    with pytest.raises(Conflict):
        other.items.edit("ltm_1", text="by the other")
    bump(other, "ltm_2", 3)
    other.close()
    rows = state(workspace)
    assert (rows["ltm_1"].text, rows["ltm_1"].meta) == ("by one", {})
    assert (rows["ltm_2"].hits, rows["ltm_2"].kind) == (6, "decision")
    assert "ltm_3" not in rows


def test_a_change_seen_and_then_committed_over_by_a_third_is_not_lost(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    one, third = two(workspace, adopted=True)
    one.items.edit("ltm_1", text="by one")
    other = open_workspace(workspace)
    assert other.items.get("ltm_1").text == "by one", "seen in the ledger of a living process"
    third.items.edit("ltm_1", importance=0.3)
    third.flush()
    kill(one)
    other.items.set_pinned(["ltm_2"], True)
    other.close()
    row = state(workspace)["ltm_1"]
    assert (row.text, row.importance) == ("by one", 0.3)
    third.close()


def test_two_workspaces_of_one_home_do_not_mix(tmp_path: Path) -> None:
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
        assert ws.items.first(10) == ws.items.all()
    with open_workspace(first) as ws:
        assert len(ws.items.search("shared")) == 3


def test_a_data_folder_removed_beneath_a_running_process_is_made_again(tmp_path: Path) -> None:
    import shutil

    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    ws.items.edit("ltm_1", text="first")
    ws.flush()
    ws.items.edit("ltm_2", text="waiting")
    written_behind(ws)
    shutil.rmtree(workspace.parent / "nanomem")
    ws.items.edit("ltm_3", text="after")
    assert {row.text for row in state(workspace).values() if row.id in ("ltm_2", "ltm_3")} == {"waiting", "after"}
    ws.close()
    rows = state(workspace)
    assert [rows[f"ltm_{n}"].text for n in range(1, 5)] == ["first", "waiting", "after", "item number 4"]


WRITER = """
import sys
from nanomem_tui import open_workspace
from nanomem_tui.operations import Operation, new_operation
from nanomem_tui.store.snapshot import change_of
ws = open_workspace(sys.argv[1])
for number in range(int(sys.argv[3])):
    ws.items.add(f"{sys.argv[2]} {number}")
    row = ws.items.get("ltm_1")
    ws.store.perform(new_operation("turn", "a turn", [change_of("item", row, row._replace(hits=row.hits + 1))]))
    ws.checkpoint_if_due()
    ws.refresh()
ws.close()
"""


def test_two_real_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    workspace, number = make_home(tmp_path), 25
    command = [sys.executable, "-c", WRITER, str(workspace)]
    writers = [subprocess.Popen([*command, name, str(number)], stderr=subprocess.PIPE) for name in ("one", "two")]
    for writer in writers:
        _, said = writer.communicate(timeout=60)
        assert writer.returncode == 0, said.decode()
    rows = state(workspace)
    texts = {row.text for row in rows.values() if hasattr(row, "text")}
    assert {f"{name} {n}" for name in ("one", "two") for n in range(number)} <= texts
    assert rows["ltm_1"].hits == 1 + 2 * number
    assert len(Agent(workspace).items) == 4 + 2 * number
    assert not list((workspace.parent / "nanomem" / "ledger").rglob("*.ledger"))


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_reading_beside_a_writer_changes_none_of_its_files(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    writer = open_workspace(workspace)
    writer.items.edit("ltm_1", text="committed")
    writer.flush()
    writer.items.edit("ltm_2", text="waiting")
    ours = workspace.parent
    before = files(ours, lambda path: path.name.endswith("-shm"))
    with open_workspace(workspace) as ws:
        ws.status()
        assert {row.text for row in ws.items.all()} >= {"committed", "waiting"}
        ws.items.search("committed")
        ws.log()
        ws.refresh()
    assert files(ours, lambda path: path.name.endswith("-shm")) == before
    assert os.listdir(ours / "nanomem" / "ledger")
    writer.close()


# -- the merge of rows ------------------------------------------------------------------------------------------------


def test_rows_merge_field_by_field() -> None:
    base = Item("a", "x", hits=3, updated_at="2026-01-01", meta_json='{"keep": 1}')
    ours = base._replace(hits=5, kind="decision", updated_at="2026-01-02", meta_json='{"keep": 1, "ours": 1}')
    theirs = base._replace(hits=4, text="y", updated_at="2026-01-03", meta_json='{"theirs": 1}', revision=9)
    merged = merge_row(base, ours, theirs)
    assert (merged.hits, merged.kind, merged.text, merged.revision) == (6, "decision", "y", 9)
    assert merged.updated_at == "2026-01-03"
    assert merged.meta == {"ours": 1, "theirs": 1}


@pytest.mark.parametrize("newer", ["ours", "theirs"])
def test_the_newer_text_stays(newer: str) -> None:
    base = Item("a", "x", updated_at="2026-01-01")
    ours = base._replace(text="ours", updated_at="2026-01-02" if newer == "theirs" else "2026-01-04")
    merged = merge_row(base, ours, base._replace(text="theirs", updated_at="2026-01-03"))
    assert merged.text == newer
    assert set(merged.meta["conflict"].values()) == {"ours", "theirs"} - {newer}


def test_a_delete_stays_unless_it_was_taken_back() -> None:
    there, gone = Item("a", "x"), Item("a", "x", is_deleted=True)
    assert merge_row(there, gone, there._replace(hits=1)).is_deleted
    assert merge_row(there, there._replace(text="y"), gone).is_deleted
    assert not merge_row(gone, there, gone._replace(hits=1)).is_deleted
    assert merge_row(None, there, gone).is_deleted


def test_a_broken_meta_breaks_no_merge() -> None:
    base = Item("a", "x", meta_json="not json")
    merged = merge_row(base, base._replace(text="y"), base._replace(text="z"))
    assert "conflict" in merged.meta


def test_what_a_deleted_item_was_is_told_by_its_history(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    one, other = two(workspace, adopted=True)
    one.items.delete(["ltm_1"])
    one.close()
    other.refresh()
    with pytest.raises(NotFound):
        other.items.get("ltm_1")
    assert [e.operation.kind for e in other.items.history("ltm_1")] == ["items.delete"]
    other.close()


def test_what_is_shown_of_another_process_is_counted_once_whoever_writes_first(tmp_path: Path) -> None:
    for first in ("shown", "showing"):
        workspace = make_home(tmp_path / first)
        one = open_workspace(workspace)
        turn(one, "ltm_1")
        two = open_workspace(workspace)
        assert two.items.get("ltm_1").hits == one.items.get("ltm_1").hits
        turn(two, "ltm_1")
        two.items.edit("ltm_2", text="written by two")
        for ws in (one, two) if first == "shown" else (two, one):
            ws.flush()
        one.close()
        two.close()
        rows = state(workspace)
        assert (rows["ltm_1"].hits, rows["ltm_2"].text) == (1 + 2, "written by two")


def turn(ws, item_id: str) -> None:
    """What a turn of an agent does to an item that it recalled."""
    row = ws.items.get(item_id)
    ws.store.perform(new_operation("turn", "a turn", [change_of("item", row, row._replace(hits=row.hits + 1))]))


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_what_another_is_writing_is_not_taken_for_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operation is kept, then written, then cleared; who reads the ledgers before and the rest meanwhile sees it in
    the kept file alone, and must not do it again."""
    workspace = make_home(tmp_path)
    writer = open_workspace(workspace)
    writer.items.edit("ltm_1", text="first")
    writer.flush()
    row = writer.items.get("ltm_1")
    writer.store.perform(new_operation("turn", "a turn", [change_of("item", row, row._replace(hits=row.hits + 1))]))
    keep, read_all, late = Copies.keep, ledger_files.read_all, []

    def kept(copies: Copies, lines: Sequence[bytes]) -> None:
        keep(copies, lines)
        if not late:
            late.append(open_workspace(workspace))
            answers = [lambda _folder: []]  # it had looked before the turn was recorded
            monkeypatch.setattr(
                ledger_files, "read_all", lambda folder: (answers.pop() if answers else read_all)(folder)
            )
            late[0].items.all()
            monkeypatch.setattr(ledger_files, "read_all", read_all)

    monkeypatch.setattr(Copies, "keep", kept)
    writer.flush()
    writer.close()
    late[0].items.add("something else")
    late[0].close()
    assert state(workspace)["ltm_1"].hits == row.hits + 1


@pytest.mark.parametrize("again", [False, True], ids=["undone", "redone"])
def test_what_another_process_undid_before_it_was_written_stays_undone(tmp_path: Path, again: bool) -> None:
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="long ago")
    editor, other = open_workspace(workspace), open_workspace(workspace)
    editor.items.edit("ltm_1", text="from the editor")
    other.refresh()
    assert other.undo()[0].undoes is not None
    if again:
        other.redo()
    wanted = "from the editor" if again else "long ago"
    assert [entry.undone for entry in editor.log() if entry.operation.kind == "items.edit"] == [not again, False]
    other.close()  # writes the undo, while what it undoes waits in the editor's file
    assert [entry.undone for entry in editor.log() if entry.operation.kind == "items.edit"] == [not again, False]
    editor.close()
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").text == wanted
        assert [entry.undone for entry in ws.log() if entry.operation.kind == "items.edit"] == [not again, False]
        database = ws.paths.database
    database.write_bytes(b"damaged" * 9_000)
    for side in ("-wal", "-shm"):
        database.with_name(database.name + side).unlink(missing_ok=True)
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").text == wanted, "from the copy and the operations since, in their order"
        ws.items.set_pinned(["ltm_2"], True)
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").text == wanted
        ws.undo()
        assert not ws.items.get("ltm_2").pinned
        ws.undo()
        assert ws.items.get("ltm_1").text == ("long ago" if again else "item number 1")


def test_operations_of_several_processes_are_ordered_as_they_were_made() -> None:
    def made(number: int, second: int, process: int = 7) -> Operation:
        return new_operation("x", "x", ())._replace(id=f"op_1_{process}_{number}", at=f"2026-01-01T00:00:{second:02}")

    late, early, back = made(5, 40), made(3, 37), made(6, 10)
    assert ledger_order.as_made([late, early]) == [early, late], "by its number and its time it was made before"
    assert ledger_order.as_made([late, back]) == [late, back], "a clock that went back"
    reused = made(1, 50)
    assert ledger_order.as_made([late, reused]) == [late, reused], "another process of the same number"
    other = made(9, 38, process=8)
    assert ledger_order.as_made([late, other, early]) == [early, other, late]
