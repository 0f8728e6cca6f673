"""Any order of changes, undo, redo, checkpoints, kills, restarts and agent flushes agrees with a plain dict."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store import values
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Record
from nanomem_tui.workspace import Workspace
from tests.conftest import LONG, ON_POSTGRES
from tests.store.homes import Agent, item, kill, make_home

pytestmark = pytest.mark.slow

Row = dict[str, Any]
KEPT = st.characters(exclude_categories=["Cs"], exclude_characters="\0" if ON_POSTGRES else "")  # a server has no NUL
TEXT = st.text(KEPT, min_size=1, max_size=12).filter(lambda text: text.strip())


class Memory(RuleBasedStateMachine):
    """Drives one workspace beside a RAM-first agent; `rows` is what must be there, by id."""

    ids = Bundle("ids")

    @initialize(target=ids)
    def start(self):
        self.base = Path(tempfile.mkdtemp())
        self.workspace = make_home(self.base, items=2, lessons=1)
        self.agent = Agent(self.workspace)
        self.rows: dict[str, Row] = {
            key: {"text": row["text"], "enabled": True, "pinned": False, "hits": row["hits"]}
            for key, row in self.agent.items.items()
        }
        self.undone: list[tuple[dict[str, Row | None], dict[str, Row | None]]] = []
        self.done: list[tuple[dict[str, Row | None], dict[str, Row | None]]] = []
        self.number = 10
        self.ws: Workspace = open_workspace(self.workspace)
        return "ltm_1"

    def teardown(self):
        if hasattr(self, "ws"):
            self.ws.close()
            self.ws = open_workspace(self.workspace)
            self.agrees()
            self.ws.close()
            shutil.rmtree(self.base)

    def _did(self, **after):
        before = {key: self.rows.get(key) for key in after}
        self._set(after)
        self.done.append((before, dict(after)))
        self.undone.clear()

    def _set(self, rows):
        """Make the rows so; hits are the agent's to count, no undo takes them back."""
        for key, row in rows.items():
            if row is None:
                self.rows.pop(key, None)
            else:
                counted = {} if "record" in row else {"hits": self.hits[key] if key in self.hits else row["hits"]}
                self.rows[key] = {**row, **counted}

    @property
    def hits(self):
        return self.__dict__.setdefault("_hits", {})

    # -- a person -----------------------------------------------------------------------------------------------

    @rule(target=ids, text=TEXT)
    def add(self, text):
        added = self.ws.items.add(text)[1]
        self._did(**{added.id: {"text": text.strip(), "enabled": True, "pinned": False, "hits": 0}})
        return added.id

    @rule(key=ids, text=TEXT)
    def edit(self, key, text):
        if key in self.rows and self.rows[key]["text"] != text.strip():
            self.ws.items.edit(key, text=text)
            self._did(**{key: {**self.rows[key], "text": text.strip()}})

    @rule(target=ids, name=st.sampled_from(["city", "Name"]), value=TEXT)
    def know(self, name, value):
        """A fact: one row, whatever value it gets; one that a person deleted comes back."""
        fact_id = values.id_of(values.identity("", None, "about", name))
        present = self.rows.get(fact_id)
        text = f"{name}: {value.strip()}"
        if present is not None and present["text"].removeprefix(f"{name}: ") == value.strip():
            return fact_id
        if present is None and self.agent.items.get(fact_id):
            return fact_id  # the agent has it in RAM yet: whose counts stand is not what is asked here
        assert self.ws.facts.set("about", name, value)[1].id == fact_id
        self._did(**{fact_id: {**(present or {"pinned": False, "hits": 0}), "text": text, "enabled": True}})
        return fact_id

    @rule(number=st.integers(0, 3), text=TEXT)
    def note(self, number, text):
        """A record, of the layer that no agent's file holds."""
        key = f"journal_{number}"
        row = Record(key, "journal", "2026-11-02", text, at="2026-11-02T10:00:00+00:00")
        present = self.ws.store.load("record").records.get(key)
        change = change_of("record", present, row)
        if present is None or change.after != {}:
            self.ws.perform(new_operation("journal.note", f"note {number}", [change]))
            self._did(**{key: {"text": text, "record": True}})

    @rule(keys=st.lists(ids, min_size=1, max_size=3), field=st.sampled_from(["enabled", "pinned"]), value=st.booleans())
    def switch(self, keys, field, value):
        present = [key for key in dict.fromkeys(keys) if key in self.rows]
        touched = [key for key in present if self.rows[key][field] != value]
        if touched:
            getattr(self.ws.items, f"set_{field}")(present, value)
            self._did(**{key: {**self.rows[key], field: value} for key in touched})

    @rule(keys=st.lists(ids, min_size=1, max_size=3))
    def delete(self, keys):
        present = [key for key in dict.fromkeys(keys) if key in self.rows]
        if present:
            self.ws.items.delete(present)
            self._did(**dict.fromkeys(present))

    @rule(count=st.integers(1, 4))
    def undo(self, count):
        wanted = min(count, len(self.done))
        try:
            assert len(self.ws.undo(count=count)) == wanted
        except NothingToDo:
            assert wanted == 0
        for _ in range(wanted):
            self.undone.append(self.done.pop())
            self._set(self.undone[-1][0])

    @rule(count=st.integers(1, 4))
    def redo(self, count):
        wanted = min(count, len(self.undone))
        try:
            assert len(self.ws.redo(count=count)) == wanted
        except NothingToDo:
            assert wanted == 0
        for _ in range(wanted):
            self.done.append(self.undone.pop())
            self._set(self.done[-1][1])

    # -- the machine --------------------------------------------------------------------------------------------

    @rule(final=st.booleans())
    def checkpoint(self, final):
        self.ws.store.checkpoint(final=final)

    @rule()
    def restart(self):
        self.ws.close()
        self.ws = open_workspace(self.workspace)

    @rule(torn=st.booleans())
    def kill(self, torn):
        path = self.ws.paths.database.with_name("operations.jsonl")
        kill(self.ws)
        if torn and path.exists():
            with path.open("ab") as file:
                file.write(b'{"seq":9,"id"')
        self.ws = open_workspace(self.workspace)

    @rule()
    def look_again(self):
        self.ws.refresh()

    # -- the agent ----------------------------------------------------------------------------------------------

    @rule(target=ids)
    def agent_learns(self):
        self.number += 1
        row = item(self.number)
        self.agent.items[row["id"]] = row
        self.agent.flush()
        self.rows[row["id"]] = {"text": row["text"], "enabled": True, "pinned": False, "hits": row["hits"]}
        self.ws.refresh()
        self.ws.items.all()
        return str(row["id"])

    @rule(key=ids)
    def agent_uses(self, key):
        if key in self.agent.items and key in self.rows and not key.startswith("fact_"):
            # A fact that comes back begins to count anew: its hits are another matter (tests/facts).
            self.agent.items[key]["hits"] += 1
            self.hits[key] = self.rows[key]["hits"] + 1
            self.rows[key] = {**self.rows[key], "hits": self.hits[key]}
            self.agent.flush()
            self.ws.refresh()
            self.ws.items.all()

    @rule()
    def agent_flushes_what_it_has_in_ram(self):
        self.agent.flush()
        self.ws.refresh()

    @rule()
    def agent_restarts(self):
        self.ws.flush()
        self.agent.load()

    @invariant()
    def agrees(self):
        if not hasattr(self, "ws"):
            return
        found = {
            row.id: {"text": row.text, "enabled": bool(row.enabled), "pinned": bool(row.pinned), "hits": row.hits}
            for row in self.ws.items.all()
        }
        records = self.ws.store.load("record").records.values()
        found |= {row.id: {"text": row.text, "record": True} for row in records if not row.is_deleted}
        assert found == self.rows
        assert len(self.ws.lessons.all()) == 1
        assert self.ws.store.degraded == ""


MACHINE_SETTINGS = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    report_multiple_bugs=False,
)
TestMemory = Memory.TestCase
TestMemory.settings = MACHINE_SETTINGS


@pytest.mark.slow
def test_for_longer(monkeypatch):
    from hypothesis.stateful import run_state_machine_as_test

    assert os.environ.get("HOME")
    longer = settings(MACHINE_SETTINGS, max_examples=300 if LONG else 60, stateful_step_count=50)
    run_state_machine_as_test(Memory, settings=longer)
