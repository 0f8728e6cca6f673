"""Who looks before a change sees what every other process did, written or only recorded; nobody's change is lost."""

from __future__ import annotations

import shutil
import tempfile
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from nanomem_tui import open_workspace
from nanomem_tui.store import reader
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace
from tests.memory.turns import begin, turn
from tests.store.homes import Agent, kill, make_home
from tests.store.test_two_writers import bump

CHANGES: dict[str, dict[str, Any]] = {
    "disable": {"enabled": False},
    "pin": {"pinned": True},
    "importance": {"importance": 0.1},
    "kind": {"kind": "preference"},
    "text": {"text": "another text"},
}


def change(ws: Workspace, key: str, what: str) -> None:
    """One change of a person."""
    if what == "delete":
        ws.items.delete([key])
    elif what in ("disable", "pin"):
        (ws.items.set_enabled if what == "disable" else ws.items.set_pinned)([key], what == "pin")
    else:
        ws.items.edit(key, **CHANGES[what])


def rows(workspace: Path) -> dict[str, Item]:
    with open_workspace(workspace) as ws:
        return {item.id: item for item in ws.items.all()}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "workspace"
    (folder / "memory").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("first", [True, False], ids=["nothing written yet", "later"])
@pytest.mark.parametrize("end", ["flush", "kill"])
@pytest.mark.parametrize("what", [*CHANGES, "delete"])
def test_a_change_of_what_another_process_has_yet_to_write_stays(
    workspace: Path, what: str, end: str, first: bool
) -> None:
    if not first:
        with open_workspace(workspace) as ws:
            ws.items.add("what makes the database")
    agent = open_workspace(workspace)
    added = agent.items.add("My cat is called Tom.")[1]
    bump(agent, added.id, 2)
    with open_workspace(workspace) as person:
        bump(person, added.id, 3)
        change(person, added.id, what)
    agent.refresh()
    if what == "delete":
        assert added.id not in {item.id for item in agent.items.all()}
    else:
        seen = agent.items.get(added.id)
        assert {name: getattr(seen, name) for name in CHANGES[what]} == CHANGES[what]
        bump(agent, added.id, 4)
    if end == "kill":
        kill(agent)
    else:
        agent.close()
    found = rows(workspace)
    if what == "delete":
        assert added.id not in found
    else:
        row = found[added.id]
        assert {name: getattr(row, name) for name in CHANGES[what]} == CHANGES[what]
        assert row.hits == 9
        assert row.meta == {}


@pytest.mark.parametrize("what", [*CHANGES, "delete"])
def test_one_that_does_not_look_takes_nothing_back(workspace: Path, what: str) -> None:
    agent = open_workspace(workspace)
    added = agent.items.add("My cat is called Tom.")[1]
    with open_workspace(workspace) as person:
        change(person, added.id, what)
    bump(agent, added.id, 2)
    agent.close()
    found = rows(workspace)
    if what == "delete":
        assert added.id not in found
    else:
        assert {name: getattr(found[added.id], name) for name in CHANGES[what]} == CHANGES[what]
        assert found[added.id].hits == 2


def test_what_a_process_only_recorded_is_seen_at_the_next_look(workspace: Path) -> None:
    agent, console = open_workspace(workspace), open_workspace(workspace)
    assert console.items.all() == []
    added = agent.items.add("My boss is Carla.")[1]
    assert "items" in console.refresh()
    assert console.items.get(added.id).text == "My boss is Carla."
    assert console.refresh() == set()
    agent.items.edit(added.id, text="My boss is Ana.")
    assert "items" in console.refresh()
    assert console.items.get(added.id).text == "My boss is Ana."
    agent.undo()
    agent.undo()
    assert "items" in console.refresh()
    assert console.items.all() == []
    agent.close()
    console.close()


def test_a_row_that_waits_here_shows_what_others_wrote_of_it(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        gone, kept = ws.items.add("one")[1], ws.items.add("two")[1]
    agent = open_workspace(workspace)
    bump(agent, gone.id)
    bump(agent, kept.id)
    with open_workspace(workspace) as person:
        person.items.delete([gone.id])
        person.items.edit(kept.id, text="two, as a person says")
    agent.refresh()
    assert [item.text for item in agent.items.all()] == ["two, as a person says"]
    agent.close()
    assert {item.text: item.hits for item in rows(workspace).values()} == {"two, as a person says": 1}


def test_what_was_seen_on_a_row_that_one_wrote_is_not_lost_when_the_other_dies(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        key = ws.items.add("one")[1].id
    agent, console = open_workspace(workspace), open_workspace(workspace)
    agent.items.edit(key, importance=0.2)
    console.refresh()
    console.items.set_pinned([key], True)
    console.flush()
    console.refresh()
    assert (console.items.get(key).importance, console.items.get(key).pinned) == (0.2, True)
    kill(agent)
    console.items.add("another")
    console.close()
    row = rows(workspace)[key]
    assert (row.importance, row.pinned) == (0.2, True)


def test_a_change_there_and_back_again_in_two_processes_is_back(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        old = ws.items.add("one")[1].id
    agent, person = open_workspace(workspace), open_workspace(workspace)
    new = agent.items.add("two")[1].id
    agent.items.set_enabled([old, new], False)
    person.refresh()
    person.items.set_enabled([old, new], True)
    person.close()
    assert {row.enabled for row in rows(workspace).values()} == {True}, "beside the agent, which has yet to write"
    agent.close()
    assert {row.enabled for row in rows(workspace).values()} == {True}
    assert all(row.meta == {} for row in rows(workspace).values())


def test_what_a_killed_process_did_to_a_row_is_taken_over_by_who_never_saw_it(workspace: Path) -> None:
    agent = open_workspace(workspace)
    agent.items.add("one")
    with open_workspace(workspace) as person:
        gone = person.items.add("two")[1].id
    killed = open_workspace(workspace)
    killed.items.delete([gone])
    kill(killed)
    agent.close()
    assert [row.text for row in rows(workspace).values()] == ["one"]


def test_an_edit_of_what_an_agent_just_added_is_taken_over_from_a_killed_process(tmp_path: Path) -> None:
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
    agent = Agent(workspace)
    agent.items["ltm_9"] = {**agent.items["ltm_1"], "id": "ltm_9", "text": "by the agent"}
    agent.flush()
    killed = open_workspace(workspace)
    killed.items.edit("ltm_9", text="by a person")
    kill(killed)
    with open_workspace(workspace) as ws:
        ws.flush()
    assert rows(workspace)["ltm_9"].text == "by a person"


@pytest.mark.parametrize("third", ["flush", "add"])
def test_what_one_took_back_of_a_killed_process_stays_taken_back(workspace: Path, third: str) -> None:
    with open_workspace(workspace) as ws:
        disabled, edited, deleted = (ws.items.add(text)[1].id for text in ("one", "two", "three"))
    killed, person = open_workspace(workspace), open_workspace(workspace)
    killed.items.set_enabled([disabled], False)
    killed.items.edit(edited, text="words of the killed")
    killed.items.delete([deleted])
    kill(killed)
    person.refresh()
    person.undo()
    person.undo()
    person.items.set_enabled([disabled], True)
    with open_workspace(workspace) as other:
        if third == "add":
            other.items.add("something else")
        other.flush()
    wanted = {disabled: ("one", True), edited: ("two", True), deleted: ("three", True)}
    for _ in range(2):
        found = rows(workspace)
        assert {key: (found[key].text, found[key].enabled) for key in wanted} == wanted
        person.close()


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_an_undo_of_what_another_has_yet_to_write_stays_whoever_writes_first(
    workspace: Path, order: tuple[int, ...]
) -> None:
    with open_workspace(workspace) as ws:
        key = ws.items.add("v0")[1].id
    one, two, three = (open_workspace(workspace) for _ in range(3))
    one.items.edit(key, text="v1")
    two.refresh()
    done = two.items.edit(key, text="v2")
    three.refresh()
    three.undo(done.id)
    processes = (one, two, three)
    for number in order:
        processes[number].flush()
        assert rows(workspace)[key].text == "v1"
    for ws in processes:
        ws.close()
    assert rows(workspace)[key].text == "v1"


@pytest.mark.sqlite("what a person changes waits for no checkpoint on a server")
def test_markers_of_what_others_have_yet_to_write_go_when_they_wrote(workspace: Path) -> None:
    agent = open_workspace(workspace)
    key = agent.items.add("one")[1].id
    with open_workspace(workspace) as person:
        person.items.set_pinned([key], True)
    with open_workspace(workspace) as person:
        meta = person.store.read(lambda connection: reader.meta(connection, person.id))
        assert set(reader.seen(meta)) == {("item", key)}
    agent.close()
    with open_workspace(workspace) as person:
        assert reader.seen(person.store.read(lambda connection: reader.meta(connection, person.id))) == {}


def test_an_agent_recalls_what_others_did_at_its_next_turn(workspace: Path) -> None:
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
    assert set(rows(workspace)) == {again}


FIELDS = {
    "enabled": st.booleans(),
    "pinned": st.booleans(),
    "importance": st.sampled_from([0.1, 0.5, 0.9]),
    "text": st.sampled_from(["one", "two", "three"]),
}


class Processes(RuleBasedStateMachine):
    """Three processes that look before each change; some end with a checkpoint, some are killed."""

    items = Bundle("items")

    @initialize()
    def begin(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="nanomem-test-"))
        self.workspace = self.base / "home" / "workspace"
        (self.workspace / "memory").mkdir(parents=True)
        self.open: dict[int, Workspace] = {}
        self.model: dict[str, dict[str, Any]] = {}

    def process(self, number: int) -> Workspace:
        """The process, which has looked."""
        if number not in self.open:
            self.open[number] = open_workspace(self.workspace)
        ws = self.open[number]
        ws.refresh()
        assert self.seen(ws) == self.model
        return ws

    @staticmethod
    def seen(ws: Workspace) -> dict[str, dict[str, Any]]:
        return {item.id: {name: getattr(item, name) for name in (*FIELDS, "hits")} for item in ws.items.all()}

    @rule(target=items, number=st.integers(0, 2))
    def add(self, number: int) -> str:
        text = f"item {len(self.model)}"
        key = self.process(number).items.add(text)[1].id
        self.model[key] = {"enabled": True, "pinned": False, "importance": 0.7, "text": text, "hits": 0}
        return key

    @rule(number=st.integers(0, 2), key=items, name=st.sampled_from([*FIELDS]), data=st.data())
    def edit(self, number: int, key: str, name: str, data: st.DataObject) -> None:
        if key not in self.model:
            return
        value, ws = data.draw(FIELDS[name]), self.process(number)
        if self.model[key][name] != value:
            if name in ("enabled", "pinned"):
                (ws.items.set_enabled if name == "enabled" else ws.items.set_pinned)([key], value)
            else:
                ws.items.edit(key, **{name: value})
            self.model[key][name] = value

    @rule(number=st.integers(0, 2), key=items, times=st.integers(1, 3))
    def use(self, number: int, key: str, times: int) -> None:
        if key in self.model:
            bump(self.process(number), key, times)
            self.model[key]["hits"] += times

    @rule(number=st.integers(0, 2), key=consumes(items))
    def delete(self, number: int, key: str) -> None:
        if self.model.pop(key, None) is not None:
            ws = open_workspace(self.workspace) if number not in self.open else self.open[number]
            self.open[number] = ws
            ws.refresh()
            ws.items.delete([key])

    @rule(number=st.integers(0, 2))
    def write(self, number: int) -> None:
        self.process(number).flush()

    @precondition(lambda self: self.open)
    @rule(number=st.integers(0, 2), killed=st.booleans())
    def end(self, number: int, killed: bool) -> None:
        ws = self.open.pop(number, None)
        if ws is not None:
            if killed:
                kill(ws)
            else:
                ws.close()

    @invariant()
    def a_newcomer_sees_everything(self) -> None:
        if hasattr(self, "workspace"):
            ws = open_workspace(self.workspace)
            try:
                assert self.seen(ws) == self.model
            finally:
                kill(ws)

    def teardown(self) -> None:
        if not hasattr(self, "base"):
            return
        for ws in self.open.values():
            ws.close()
        try:
            assert {key: row.hits for key, row in rows(self.workspace).items()} == {
                key: row["hits"] for key, row in self.model.items()
            }
        finally:
            shutil.rmtree(self.base, ignore_errors=True)


TestProcesses = Processes.TestCase
TestProcesses.settings = settings(deadline=None, stateful_step_count=20, report_multiple_bugs=False)
