"""A macro holds actions by their meaning, shows what it would do, and is one change that one undo takes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from nanomem_tui.core.errors import BadInput, Conflict, NothingToDo, Refused
from nanomem_tui.review import macros
from nanomem_tui.review.macros import Plan, record_step, run
from nanomem_tui.store.files.user import Macro, Step
from nanomem_tui.workspace import Workspace, open_workspace
from nanomem_tui.workspaces import Rehearsal
from tests.curation.lookers import look_for_junk
from tests.memory.test_inbox import hold
from tests.store.homes import make_home


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_workspace(make_home(tmp_path)) as ws:
        for text in ("the boat is green", "the boat is red", "tea, never coffee"):
            ws.items.add(text)
        ws.lessons.add("long answers", "be brief")
        yield ws


def plan(ws: Workspace, macro: Macro, rows: Sequence[str] = ()) -> Plan:
    with closing(Rehearsal(ws.paths, ws.configuration)) as rehearsal:
        return macros.plan(ws, rehearsal, macro, rows)


def ids(ws: Workspace, word: str) -> list[str]:
    return [row.id for row in ws.items.all() if word in row.text]


def state(ws: Workspace) -> dict[str, object]:
    return {row.id: row._replace(revision=0) for row in (*ws.items.all(), *ws.lessons.all())}


def test_what_was_done_by_a_filter_is_done_to_what_the_filter_lets_through_later(ws: Workspace) -> None:
    operation = ws.items.set_enabled(ids(ws, "boat"), False)
    step = record_step("toggle", "items", "shown", "boat", operation)
    assert step == Step("toggle", "items", "shown", "boat", {"enabled": False})
    ws.undo()
    ws.items.add("a boat more")
    made = plan(ws, Macro("boats", (step,)))
    assert set(made.steps[0].ids) == set(ids(ws, "boat"))
    assert made.texts[ids(ws, "more")[0]] == "a boat more"
    run(ws, made)
    assert not any(row.enabled for row in ws.items.all() if "boat" in row.text)
    assert all(row.enabled for row in ws.items.all() if "boat" not in row.text)


def test_several_steps_are_one_change_and_a_later_step_meets_the_earlier(ws: Workspace) -> None:
    before = state(ws)
    macro = Macro("sort", (
        Step("fields", "items", "shown", "boat", {"kind": "preference", "importance": 0.9}),
        Step("pin", "items", "shown", "kind:preference", {"pinned": True}),
        Step("edit", "items", "cursor", "", {"text": "the boat is blue"}),
        Step("toggle", "lessons", "shown", "brief", {"enabled": False}),
    ))  # fmt: skip
    count = len(ws.log())
    operation = run(ws, plan(ws, macro, ids(ws, "red")))
    assert len(ws.log()) == count + 1
    assert operation.label == "macro sort: 3 rows"
    boats = {row.text: (row.kind, row.pinned) for row in ws.items.all() if "boat" in row.text}
    assert boats == {"the boat is green": ("preference", True), "the boat is blue": ("preference", True)}
    assert not ws.lessons.all()[0].enabled
    ws.undo()
    assert state(ws) == before


def test_a_plan_changes_nothing_and_what_comes_to_nothing_is_no_change(ws: Workspace) -> None:
    before, count = state(ws), len(ws.log())
    there_and_back = Macro("idle", (
        Step("toggle", "items", "shown", "boat", {"enabled": False}),
        Step("toggle", "items", "shown", "boat", {"enabled": True}),
        Step("delete", "items", "shown", "no such words"),
    ))  # fmt: skip
    made = plan(ws, there_and_back)
    assert made.operation is None
    assert made.steps[2].ids == ()
    with pytest.raises(NothingToDo):
        run(ws, made)
    assert (state(ws), len(ws.log())) == (before, count)


def test_what_changed_since_it_was_shown_is_not_changed(ws: Workspace) -> None:
    made = plan(ws, Macro("off", (Step("toggle", "items", "shown", "tea", {"enabled": False}),)))
    ws.items.set_enabled(ids(ws, "tea"), False)
    with pytest.raises(Conflict):
        run(ws, made)


def test_a_step_that_cannot_be_done_is_named(ws: Workspace) -> None:
    with pytest.raises(Refused, match="no such item") as caught:
        plan(ws, Macro("gone", (Step("delete", "items", "ltm_gone"),)))
    assert "step 1: delete" in caught.value.where
    with pytest.raises(Refused, match="no field “colour”"):
        plan(ws, Macro("typo", (Step("delete", "items", "shown", "colour:red"),)))
    with pytest.raises(Refused, match="no macro can do `reset_lessons`"):
        plan(ws, Macro("forged", (Step("reset_lessons", "lessons", "shown"),)))
    with pytest.raises(BadInput, match="for the row at the cursor"):
        plan(ws, Macro("here", (Step("delete", "items", "cursor"),)))


def test_nothing_that_is_only_similar_is_touched(ws: Workspace) -> None:
    assert plan(ws, Macro("near", (Step("delete", "items", "shown", "boot"),))).operation is None


def test_what_has_no_one_meaning_is_not_recorded(ws: Workspace) -> None:
    operation, _, _ = ws.items.add("new")
    assert record_step("add", "items", "cursor", "", operation) is None
    first, second = ids(ws, "boat")
    one = ws.items.edit(first, text="the boat is white")
    two = ws.items.edit(second, text="the boat is black")
    both = one._replace(changes=(*one.changes, *two.changes))
    assert record_step("edit", "items", "selection", "", both) is None
    assert record_step("edit", "items", "cursor", "", one) == Step(
        "edit", "items", "cursor", "", {"text": "the boat is white"}
    )


def test_a_step_reads_as_words() -> None:
    for step, words in (
        (Step("toggle", "items", "shown", "hits:0", {"enabled": False}), "disable: all that “hits:0” lets through"),
        (Step("pin", "items", "cursor", "", {"pinned": False}), "unpin: the row at the cursor"),
        (Step("delete", "items", "a b"), "delete: 2 named rows"),
        (Step("fields", "items", "selection", "", {"kind": "fact"}), "set kind fact: the selected rows"),
    ):
        assert macros.describe_step(step) == f"{words} of items"


@pytest.fixture
def junk(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Two items of junk in the queue, two that say the same, and one thing held back."""
    look_for_junk(monkeypatch)
    for text in ("junk one", "junk two", "same tea a", "same tea b"):
        ws.items.add(text)
    hold(ws)
    return ws


def queue(ws: Workspace, *kinds: str) -> list[str]:
    return [one.id for one in ws.triage.findings(kinds or None)]


DECISIONS = (
    ("accept", "keep"), ("toggle", "disable"), ("delete", "delete"), ("reject", "reject"), ("snooze", "snooze"),
)  # fmt: skip


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
@pytest.mark.parametrize(("action", "decision"), DECISIONS)
def test_a_decision_on_what_a_filter_lets_through_is_made_again(junk: Workspace, action: str, decision: str) -> None:
    operation = junk.triage.decide(junk.triage.findings(("long",)), decision)  # type: ignore[arg-type]
    step = record_step(action, "inbox", "shown", "is:long", operation)
    assert step == Step(action, "inbox", "shown", "is:long", {})
    junk.undo()
    junk.items.add("junk three")
    before, items = queue(junk), state(junk)
    made = plan(junk, Macro("junk", (step,)))
    assert (queue(junk), state(junk)) == (before, items), "a plan changes nothing"
    run(junk, made)
    assert queue(junk, "long") == []
    assert set(queue(junk)) == {one for one in before if not one.startswith("long:")}
    junk.undo()
    assert (queue(junk), state(junk)) == (before, items)


def test_a_decision_on_the_row_at_the_cursor_is_made_on_the_row_that_is_named(junk: Workspace) -> None:
    first, second = queue(junk, "long")
    step = record_step("accept", "inbox", "cursor", "", junk.triage.decide(junk.triage.named([first]), "keep"))
    assert step is not None
    assert macros.describe_step(step) == "keep: the row at the cursor of inbox"
    macro = Macro("fine", (step,))
    with pytest.raises(BadInput, match="for the row at the cursor"):
        plan(junk, macro)
    run(junk, plan(junk, macro, [second]))
    assert queue(junk, "long") == []
    with pytest.raises(Refused, match="nothing of that id wants a person"):
        plan(junk, macro, [second])


def test_what_is_held_back_is_accepted_again_by_a_macro(junk: Workspace) -> None:
    [held] = queue(junk, "waiting")
    step = record_step("accept", "inbox", "shown", "is:waiting", junk.triage.decide(junk.triage.named([held]), "keep"))
    assert step is not None
    junk.undo()
    run(junk, plan(junk, Macro("trust", (step,))))
    assert queue(junk, "waiting") == []


def test_a_move_of_the_inbox_holds_the_scope(junk: Workspace) -> None:
    found = junk.triage.findings(("long",))
    step = record_step("split", "inbox", "shown", "is:long", junk.triage.decide(found, "split", scope="telegram:42"))
    assert step is not None
    assert macros.describe_step(step) == "move to telegram:42: all that “is:long” lets through of inbox"
    junk.undo()
    run(junk, plan(junk, Macro("there", (step,))))
    moved = {row.text: row.scope_key for row in junk.items.all()}
    assert moved["junk one"] == moved["junk two"] == "channel:telegram:chat:42"


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_an_inbox_step_and_an_item_step_are_one_change(junk: Workspace) -> None:
    before = state(junk), queue(junk)
    steps = (Step("toggle", "inbox", "shown", "is:long"), Step("pin", "items", "shown", "junk", {"pinned": True}))
    run(junk, plan(junk, Macro("both", steps)))
    assert all(row.pinned and not row.enabled for row in junk.items.all() if "junk" in row.text)
    junk.undo()
    assert (state(junk), queue(junk)) == before


def test_no_words_are_given_by_a_macro_of_the_inbox(junk: Workspace) -> None:
    assert not macros.can_hold("inbox", "edit")
    with pytest.raises(Refused, match="no macro can do `edit` on inbox"):
        plan(junk, Macro("words", (Step("edit", "inbox", "shown", "is:long"),)))
