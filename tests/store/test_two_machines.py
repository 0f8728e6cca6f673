"""Two machines that change one thing without knowing of each other: nobody's change is gone without a mark."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace
from tests.store.homes import kill, make_home, written_behind


@contextlib.contextmanager
def unseen(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within, it sees nothing of what others did, as one whose server is away, and writes nothing."""
    with monkeypatch.context() as patch:
        patch.setattr(ws.store.deciding, "alone", contextlib.nullcontext)
        patch.setattr(ws.store, "see_others", lambda: None)
        if ws.store.behind is not None:
            patch.setattr(ws.store.behind, "ask", lambda: None)
        yield


@pytest.fixture(params=["it goes on", "killed, and the next one writes it"])
def meet(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Workspace]:
    """`first` is written by one; then `second` is decided by another that has not seen it, and is written."""
    opened: list[Workspace] = []

    def meeting(first: Callable[[Workspace], object], *second: Callable[[Workspace], object]) -> Workspace:
        workspace = make_home(tmp_path)
        with open_workspace(workspace) as ws:
            ws.items.set_pinned(["ltm_4"], True)
        one, other = open_workspace(workspace), open_workspace(workspace)
        other.items.all()
        other.lessons.all()
        first(one)
        written_behind(one)
        with unseen(other, monkeypatch):
            one.close()
            for decide in second:
                decide(other)
        if request.param == "it goes on":
            other.flush()
            opened.append(other)
            return other
        kill(other)
        opened.append(open_workspace(workspace))
        opened[0].flush()
        return opened[0]

    yield meeting  # type: ignore[misc]
    for ws in opened:
        ws.close()


def edit(text: str) -> Callable[[Workspace], object]:
    return lambda ws: ws.items.edit("ltm_1", text=text)


def delete(ws: Workspace) -> object:
    return ws.items.delete(["ltm_1"])


def said(ws: Workspace) -> tuple[str, object]:
    row = ws.items.get("ltm_1")
    return row.text, row.meta.get("conflict")


def test_an_edit_that_a_delete_did_not_know_stays_marked(meet: Callable[..., Workspace]) -> None:
    ws = meet(edit("green"), delete)
    assert said(ws) == ("green", {"is_deleted": True})
    ws.items.delete(["ltm_1"])
    ws.flush()
    assert "ltm_1" not in {row.id for row in ws.items.all()}, "who has seen it decides"


def test_an_edit_of_what_was_deleted_meanwhile_stays_marked(meet: Callable[..., Workspace]) -> None:
    ws = meet(delete, edit("blue"))
    assert said(ws) == ("blue", {"is_deleted": True})
    ws.items.edit("ltm_1", text="blue")
    assert said(ws) == ("blue", None), "who writes it, be it as it stands, says that it stays"


def test_who_edits_and_then_deletes_does_not_take_what_he_did_not_see(meet: Callable[..., Workspace]) -> None:
    ws = meet(edit("green"), edit("blue"), delete)
    assert said(ws) == ("blue", {"text": "green", "is_deleted": True})


def test_a_delete_of_what_was_only_counted_or_deleted_too_is_a_delete(meet: Callable[..., Workspace]) -> None:
    def turn(ws: Workspace) -> None:
        row = ws.items.get("ltm_1")
        ws.store.perform(new_operation("turn", "a turn", [change_of("item", row, row._replace(hits=9))], actor="agent"))
        ws.items.delete(["ltm_2"])

    ws = meet(turn, lambda ws: ws.items.delete(["ltm_1", "ltm_2"]))
    assert {row.id for row in ws.items.all()} == {"ltm_3", "ltm_4"}


def test_an_agent_does_not_bring_back_what_a_person_deleted(meet: Callable[..., Workspace]) -> None:
    def corrected(ws: Workspace) -> None:
        row = ws.items.get("ltm_1")
        after = row._replace(text="by the agent")
        ws.store.perform(new_operation("turn", "a turn", [change_of("item", row, after)], actor="agent"))

    ws = meet(delete, corrected)
    assert "ltm_1" not in {row.id for row in ws.items.all()}
    ws.undo()
    assert ws.items.get("ltm_1").text == "by the agent", "kept with what is deleted"


def test_a_lesson_too(meet: Callable[..., Workspace]) -> None:
    ws = meet(lambda ws: ws.lessons.edit("lesson_1", better_action="green"), lambda ws: ws.lessons.delete(["lesson_1"]))
    row = ws.lessons.get("lesson_1")
    assert (row.better_action, row.meta["conflict"]) == ("green", {"is_deleted": True})


def test_a_delete_tells_of_when_it_was_and_nothing_more() -> None:
    row = Item("ltm_1", "x", updated_at="2026-01-01")
    change = change_of("item", row, row._replace(is_deleted=True))
    assert change.before == {"is_deleted": False, "updated_at": "2026-01-01"}
    assert change.after == {"is_deleted": True, "updated_at": "2026-01-01"}


# -- a person settles it -------------------------------------------------------------------------------------------


def asked(ws: Workspace) -> list[tuple[str, str]]:
    return [(one.id, one.text) for one in ws.triage.findings(["unsettled"])]


def test_two_texts_are_in_the_queue_with_what_both_said(meet: Callable[..., Workspace]) -> None:
    ws = meet(edit("green"), edit("blue"))
    assert asked(ws) == [("unsettled:ltm_1", "blue")]
    (finding,) = ws.triage.findings(["unsettled"])
    assert [(one.label, one.text) for one in ws.triage.evidence(finding)] == [("the other one's words", "green")]
    ws.triage.decide([finding], "reject")
    assert said(ws) == ("green", None)
    assert asked(ws) == []
    ws.undo()
    assert said(ws) == ("blue", {"text": "green"})
    assert asked(ws) == [("unsettled:ltm_1", "blue")]
    ws.triage.decide(ws.triage.findings(["unsettled"]), "keep")
    assert (said(ws), asked(ws)) == (("blue", None), [])


@pytest.mark.parametrize("decision", ["keep", "reject", "edit"])
def test_an_edit_and_a_delete_are_in_the_queue(meet: Callable[..., Workspace], decision: str) -> None:
    ws = meet(edit("green"), delete)
    (finding,) = ws.triage.findings(["unsettled"])
    assert "another one deleted it" in finding.why
    ws.triage.decide([finding], decision, text="teal" if decision == "edit" else None)  # type: ignore[arg-type]
    there = {row.id: (row.text, row.meta) for row in ws.items.all()}.get("ltm_1")
    assert there == {"keep": ("green", {}), "edit": ("teal", {}), "reject": None}[decision]
    assert asked(ws) == []


def test_a_lesson_is_settled_by_its_edit_too(meet: Callable[..., Workspace]) -> None:
    def instead(text: str) -> Callable[[Workspace], object]:
        return lambda ws: ws.lessons.edit("lesson_1", better_action=text)

    ws = meet(instead("green"), instead("blue"))
    (finding,) = ws.triage.findings(["unsettled"])
    ws.triage.decide([finding], "reject")
    row = ws.lessons.get("lesson_1")
    assert (row.better_action, row.meta) == ("green", {})
    ws.undo()
    ws.lessons.edit("lesson_1", better_action="teal")
    assert (ws.lessons.get("lesson_1").meta, asked(ws)) == ({}, [])


def test_a_fact_is_settled_by_its_edit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        fact = ws.facts.set("Home", "lives in", "Bern")[1]
    with open_workspace(workspace) as one, open_workspace(workspace) as other:
        other.items.all()
        one.facts.edit(fact.id, value="Oslo")
        written_behind(one)
        with unseen(other, monkeypatch):
            one.flush()
            other.facts.edit(fact.id, value="Rome")
        other.flush()
        assert (other.facts.get(fact.id).value, len(other.triage.findings(["unsettled"]))) == ("Rome", 1)
        other.facts.edit(fact.id, value="Rome")
        assert (other.facts.get(fact.id).value, other.triage.findings(["unsettled"])) == ("Rome", [])


# -- it is undone ----------------------------------------------------------------------------------------------------


def last(ws: Workspace, label: str) -> str:
    return next(entry.operation.id for entry in ws.log() if entry.operation.label.startswith(label))


def test_an_undo_of_the_later_text_brings_back_the_one_it_met(meet: Callable[..., Workspace]) -> None:
    ws = meet(lambda ws: (edit("lime")(ws), edit("green")(ws)), edit("blue"))
    assert said(ws) == ("blue", {"text": "green"})
    ws.undo(last(ws, "edit “blue”"))
    assert (said(ws), asked(ws)) == (("green", None), [])
    ws.redo()
    assert said(ws) == ("blue", {"text": "green"}), "and so does a redo"
    ws.undo(last(ws, "edit “blue”"))
    ws.undo(last(ws, "edit “green”"))
    assert said(ws) == ("lime", None)


def test_an_undo_goes_back_step_by_step(meet: Callable[..., Workspace]) -> None:
    ws = meet(edit("green"), edit("blue"), edit("navy"))
    assert said(ws) == ("navy", {"text": "green"})
    for expected in (("blue", {"text": "green"}), ("green", None), ("item number 1", None)):
        ws.undo()
        assert said(ws) == expected


def test_an_undo_of_a_delete_that_was_not_made_true_takes_its_mark(meet: Callable[..., Workspace]) -> None:
    ws = meet(edit("green"), delete)
    ws.undo()
    assert (said(ws), asked(ws)) == (("green", None), [])
    ws.redo()
    assert said(ws) == ("green", {"is_deleted": True})


def test_an_undo_of_the_edit_of_what_was_deleted_deletes_it_again(meet: Callable[..., Workspace]) -> None:
    ws = meet(delete, edit("blue"))
    ws.undo()
    assert "ltm_1" not in {row.id for row in ws.items.all()}
    ws.undo()
    assert said(ws) == ("item number 1", None)
