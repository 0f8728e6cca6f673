"""One list of all that waits, and decisions about things of every kind as one operation that one undo takes back."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo
from nanomem_tui.core.operations import new_operation
from nanomem_tui.dreams.edits import LineEdit
from nanomem_tui.dreams.guards import Refusal
from nanomem_tui.dreams.review import waiting_changes
from nanomem_tui.review.quarantine import Quarantine, WaitingEdit
from tests.memory.test_inbox import hold, hold_lesson
from tests.store.homes import make_home

USER = "USER.md"
TEXT = "# User\n\n- likes tea\n- lives in Bremen\n"
REPLACE = LineEdit("replace", USER, line=3, old="- likes tea", new="- likes coffee", evidence=(4,), why="contradicts")
REMOVE = LineEdit("remove", USER, line=4, old="- lives in Bremen", evidence=(5,))
ADD = LineEdit("add", USER, section="Health", new="- allergic to nuts", evidence=(6, 99))
MOVE = LineEdit("move", USER, line=4, old="- lives in Bremen", to_file="memory/MEMORY.md", section="Places")


def hold_edits(workspace, *edits, why="nothing accounts for it"):
    """`USER.md` with two lines, and edits of it in the inbox."""
    (workspace / USER).write_text(TEXT)
    with open_workspace(workspace) as ws:
        changes = waiting_changes([Refusal(edit, why) for edit in edits], "rules")
        ws.perform(new_operation("dream.run", "Dream", changes, actor="dream"))


@pytest.fixture
def workspace(tmp_path):
    """A home in which an item, a lesson and three edits wait."""
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        hold(ws, 1)
        hold_lesson(ws)
    hold_edits(made, REPLACE, REMOVE, ADD)
    return made


def edits(ws):
    return sorted((one for one in Quarantine(ws).list() if isinstance(one, WaitingEdit)), key=lambda one: one.id)


def text(workspace):
    return (workspace / USER).read_text()


def test_everything_that_waits_is_one_list(workspace):
    with open_workspace(workspace) as ws:
        found = Quarantine(ws).list()
        assert [one.layer for one in found].count("edit") == 3
        assert {"item", "lesson"} < {one.layer for one in found}
        assert Quarantine(ws).count() == len(found) == ws.status()["inbox"] == 5
        assert [one.since for one in found] == sorted((one.since for one in found), reverse=True)


@pytest.mark.parametrize(
    ("edit", "shown", "place"),
    [
        (REPLACE, "- likes tea + likes coffee", "USER.md"),
        (REMOVE, "- lives in Bremen", "USER.md"),
        (ADD, "+ allergic to nuts", "USER.md, Health"),
        (MOVE, "- lives in Bremen + lives in Bremen", "USER.md to memory/MEMORY.md, Places"),
    ],
)
def test_an_edit_says_what_it_would_change_and_where(tmp_path, edit, shown, place):
    made = make_home(tmp_path)
    hold_edits(made, edit)
    with open_workspace(made) as ws:
        one = edits(ws)[0]
        assert (one.text, one.where, one.why, one.layer) == (shown, place, "nothing accounts for it", "edit")


def test_evidence_names_entries_also_those_that_are_gone(workspace):
    (workspace / "memory" / "history.jsonl").write_text(
        '{"cursor": 6, "timestamp": "2026-04-03 00:02", "content": "- likes sun\\n- is allergic to nuts"}\n'
    )
    with open_workspace(workspace) as ws:
        found = Quarantine(ws).evidence(edits(ws)[2])
        assert [(one.cursor, one.text) for one in found] == [(6, "is allergic to nuts"), (99, "")]


def test_a_row_and_edits_are_one_decision_and_one_undo(workspace):
    with open_workspace(workspace) as ws:
        ids = ["held_1", *(one.id for one in edits(ws)[:2])]
        done = Quarantine(ws).accept(ids)
        assert done.operation is not None
        assert (done.operation.label, done.operation.actor) == ("accept 3 things of the inbox", "human")
        assert text(workspace) == "# User\n\n- likes coffee\n"
        assert ws.items.get("held_1").enabled
        assert Quarantine(ws).count() == 2
        ws.undo()
        assert (text(workspace), Quarantine(ws).count()) == (TEXT, 5)
        gone = Quarantine(ws).reject(ids)
        assert (len(gone.rows), Quarantine(ws).count(), text(workspace)) == (3, 2, TEXT)
        ws.undo()
        assert Quarantine(ws).count() == 5


def test_of_several_edits_those_that_cannot_be_made_wait_on(workspace):
    (workspace / USER).write_text("# User\n\n- lives in Bremen\n")
    with open_workspace(workspace) as ws:
        first = edits(ws)[0]
        assert "not there" in Quarantine(ws).now(first)
        done = Quarantine(ws).accept([one.id for one in edits(ws)])
        assert [one.id for one, _ in done.left] == [first.id]
        assert "not there" in done.left[0][1].what
        assert text(workspace) == "# User\n\n## Health\n- allergic to nuts\n"
        assert [one.id for one in edits(ws)] == [first.id]
        with pytest.raises(Conflict):
            Quarantine(ws).accept([first.id])
        (workspace / USER).write_text("# User\n")
        hold_edits(workspace, MOVE)
        (workspace / USER).write_text("# User\n")
        with pytest.raises(Conflict):
            Quarantine(ws).accept([one.id for one in edits(ws)])
        assert len(edits(ws)) == 2


def test_all_are_made_in_the_order_in_which_they_were_proposed(tmp_path):
    made = make_home(tmp_path)
    chain = [REPLACE, LineEdit("replace", USER, line=3, old="- likes coffee", new="- likes cocoa"), ADD]
    hold_edits(made, *chain, LineEdit("add", USER, section="Health", new="- sleeps well"))
    with open_workspace(made) as ws:
        done = Quarantine(ws).accept([one.id for one in Quarantine(ws).list()])
        assert done.left == ()
    assert text(made) == (
        "# User\n\n- likes cocoa\n- lives in Bremen\n\n## Health\n- allergic to nuts\n- sleeps well\n"
    )


def test_ids_are_found_by_their_beginning_and_a_wrong_one_is_named(workspace):
    with open_workspace(workspace) as ws:
        waits = Quarantine(ws)
        one = edits(ws)[1]
        assert waits.get(one.id).id == one.id
        assert waits.get("held_").id == "held_1"
        for bad in ("none", "", "../x"):
            with pytest.raises(NotFound):
                waits.get(bad)
        with pytest.raises(BadInput, match="3 edits begin"):
            waits.get("hunk_")
        with pytest.raises(NothingToDo):
            waits.get("ltm_1")
        with pytest.raises(BadInput, match="one text"):
            waits.accept(["held_1", one.id], "x")


def test_a_broken_file_among_the_edits_is_a_problem_of_the_status(workspace):
    with open_workspace(workspace) as ws:
        (ws.paths.review / "hunk_1_2.json").write_text("{")
        assert [problem["where"] for problem in ws.status()["problems"]] == ["review/hunk_1_2.json"]
        assert len(edits(ws)) == 3


def test_a_look_notices_what_another_process_put_there(workspace):
    with open_workspace(workspace) as ws:
        ws.refresh()
        hold_edits(workspace, MOVE)
        assert "review" in ws.refresh()
        with open_workspace(workspace) as other:
            Quarantine(other).reject([edits(other)[0].id])
        assert "review" in ws.refresh()
