"""Any order of what a person, an agent, a Dream, a kill and the clock do to a whole workspace agrees with a plain dict.

The dict has what a new look must find: items and lessons by id, the lines of SOUL, USER and MEMORY, goals, the messages
of a conversation and the entries of the archive. After each step the workspace is held against it; at the end it is
opened anew and the doctor asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_lossy_name
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Conflict, NothingToDo
from nanomem_tui.workspace import Workspace
from tests.store.homes import kill, make_home

pytestmark = pytest.mark.crash
Place = tuple[str, str]
"""What it is, and its id: ("item", "ltm_1"), ("line", "- tea")."""
KEY = "telegram:7"
START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=10)


def seen(ws):
    """What a look at the workspace finds."""
    found: dict[Place, Any] = {("item", row.id): (row.text, bool(row.enabled)) for row in ws.items.all()}
    found |= {("lesson", row.id): (row.better_action, bool(row.enabled)) for row in ws.lessons.all()}
    texts = (ws.documents.read(name) or "" for name in ws.documents.names())
    found |= {("line", line): True for text in texts for line in text.split("\n") if line.strip()}
    found |= {("goal", row.id): row.fields["description"] for row in ws.records.list_records("goal")}
    if any(info.key == KEY for info in ws.sessions.list()):
        found["messages", KEY] = tuple(str(message.content) for message in ws.sessions.get(KEY).messages)
    found["entries", ""] = tuple(sorted(entry.content for entry in ws.history.entries()))
    return found


class Whole(RuleBasedStateMachine):
    """Drives one workspace; `things` is what must be there."""

    @initialize()
    def start(self):
        self.base = Path(tempfile.mkdtemp())
        self.workspace = make_home(self.base, items=2, lessons=1)
        (self.workspace / "USER.md").write_text("# User\n\n- Name: Mira\n")
        (self.workspace / "memory" / "MEMORY.md").write_text("# Memory\n\n- first\n")
        self.now = START
        self.real = clock.now, clock.stamp
        clock.now = lambda: self.now  # in every thread
        clock.stamp = lambda: (clock.ms_of(self.now), clock.iso(self.now))
        self.ws: Workspace = open_workspace(self.workspace)
        self.things = seen(self.ws)
        self.number = 0
        self.done: list[dict[Place, tuple[Any, Any]]] = []
        self.undone: list[dict[Place, tuple[Any, Any]]] = []

    def teardown(self):
        if not hasattr(self, "ws"):
            return
        try:
            self.ws.close()
            with open_workspace(self.workspace) as ws:
                assert seen(ws) == self.things
                wrong = [p for p in ws.doctor() if p.severity == "error" and ".dream_cursor" not in p.where]
                assert wrong == []
        finally:
            clock.now, clock.stamp = self.real
            shutil.rmtree(self.base)

    # -- how a step is kept -------------------------------------------------------------------------------------------

    def next(self):
        self.number += 1
        self.now += timedelta(seconds=1)
        return self.number

    def did(self, work, **wanted):
        """A person's change: what it changed is looked at, held against what was `wanted`, and can be taken back."""
        before = dict(self.things)
        try:
            work()
        except (NothingToDo, Conflict):
            assert seen(self.ws) == before
            return
        self.things = seen(self.ws)
        changed = {
            place: (before.get(place), self.things.get(place))
            for place in {**before, **self.things}
            if before.get(place) != self.things.get(place)
        }
        for kind, value in wanted.items():
            assert value in [after for (one, _), (_, after) in changed.items() if one == kind], changed
        assert {kind for kind, _ in changed} <= set(wanted) or not wanted, changed
        self.done.append(changed)
        self.undone.clear()

    def back(self, step, side):
        """Make the things of a step as they were before it (0) or after it (1); a conversation went on meanwhile."""
        for place, values in step.items():
            value = values[side]
            if place[0] == "messages":
                long, short = max(values, key=len), min(values, key=len)
                cut, now = long[: len(long) - len(short)], self.things[place]
                self.things[place] = cut + now if value == long else now[len(cut) :]
            elif value is None:
                self.things.pop(place, None)
            else:
                self.things[place] = value

    # -- a person -----------------------------------------------------------------------------------------------------

    @rule(words=WORDS)
    def add(self, words):
        text = f"{words} {self.next()}".strip()
        self.did(lambda: self.ws.items.add(text), item=(text, True))

    def pick(self, kind, number):
        known = sorted(key for one, key in self.things if one == kind)
        return known[number % len(known)] if known else ""

    @rule(number=st.integers(0, 50), words=WORDS)
    def edit(self, number, words):
        if key := self.pick("item", number):
            text = f"{words} {self.next()}".strip()
            self.did(lambda: self.ws.items.edit(key, text=text), item=(text, self.things["item", key][1]))

    @rule(number=st.integers(0, 50), on=st.booleans())
    def switch(self, number, on):
        if key := self.pick("item", number):
            self.did(lambda: self.ws.items.set_enabled([key], on))

    @rule(number=st.integers(0, 50))
    def delete(self, number):
        if key := self.pick("item", number):
            self.did(lambda: self.ws.items.delete([key]), item=None)

    @rule(most=st.integers(1, 6))
    def compact_items(self, most):
        self.did(lambda: self.ws.items.compact(most))
        on = [value for (kind, _), value in self.things.items() if kind == "item" and value[1]]
        assert len(on) <= most, "what a person switched off is kept, and counts for none"

    @rule(words=WORDS)
    def teach(self, words):
        text = f"{words} {self.next()}".strip()
        self.did(lambda: self.ws.lessons.add(f"tool {self.number}", text), lesson=(text, True))

    @rule(name=st.sampled_from(["USER.md", "memory/MEMORY.md"]), words=WORDS, top=st.booleans())
    def write_line(self, name, words, top):
        line = f"- {words} {self.next()} of the person"
        text = self.ws.documents.read(name) or ""
        new = text.replace("\n\n", f"\n\n{line}\n", 1) if top else f"{text}{line}\n"
        self.did(lambda: self.ws.documents.edit(name, new, base=text), line=True)

    @rule(keep=st.integers(1, 4))
    def compact_session(self, keep):
        if len(self.things.get(("messages", KEY), ())) > keep:
            wanted = self.things["messages", KEY][-keep:]
            self.did(lambda: self.ws.sessions.compact(KEY, keep), messages=wanted)

    @rule()
    def dream(self):
        lines = {key for kind, key in self.things if kind == "line"}
        self.did(lambda: self.ws.dream.run())
        assert lines <= {key for kind, key in self.things if kind == "line"}, "a Dream lost a line"

    @rule(words=st.lists(WORDS, min_size=1, max_size=3))
    def take_in(self, words):
        texts = [f"{word} {self.next()}".strip() for word in words]
        file = self.base / "in.md"
        file.write_text("".join(f"- {text}\n" for text in texts))
        self.did(lambda: self.ws.transfer.run(self.ws.transfer.preview(file)))

    @rule()
    def undo(self):
        try:
            done = self.ws.undo()
        except NothingToDo:
            assert self.done == []
            return
        except Conflict:  # told, and nothing was changed
            return
        assert len(done) == 1
        self.undone.append(self.done.pop())
        self.back(self.undone[-1], 0)

    @rule()
    def redo(self):
        try:
            done = self.ws.redo()
        except NothingToDo:
            assert self.undone == []
            return
        except Conflict:
            return
        assert len(done) == 1
        self.done.append(self.undone.pop())
        self.back(self.done[-1], 1)

    # -- an agent beside it -------------------------------------------------------------------------------------------

    @rule(words=WORDS)
    def agent_says(self, words):
        folder = self.base / "home" / "sessions"
        folder.mkdir(exist_ok=True)
        path = folder / key_to_lossy_name(KEY)
        if not path.exists():
            head = {"_type": "metadata", "key": KEY, "created_at": "2026-01-01T00:00:00", "metadata": {}}
            path.write_text(json.dumps(head) + "\n")
        text = f"{words} {self.next()}"
        with path.open("a") as file:
            file.write(json.dumps({"role": "user", "content": text, "timestamp": "2026-01-01T00:00:00"}) + "\n")
        self.things["messages", KEY] = (*self.things.get(("messages", KEY), ()), text)

    @rule(durable=st.booleans())
    def agent_archives(self, durable):
        text = f"- [durable] Keeps lamp {self.next()}" if durable else f"lamp {self.next()} was moved"
        entry = {"cursor": self.number, "timestamp": "2026-01-01 00:00", "content": text}
        with (self.workspace / "memory" / "history.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self.things["entries", ""] = tuple(sorted((*self.things["entries", ""], text)))

    @rule(name=st.sampled_from(["USER.md", "memory/MEMORY.md"]))
    def agent_writes_a_line(self, name):
        line = f"- line {self.next()} of the agent"
        path = self.workspace / name
        text = path.read_text()
        path.write_text(f"{text}{'' if text.endswith(chr(10)) else chr(10)}{line}\n")
        self.things["line", line] = True

    @rule(words=WORDS)
    def agent_tells_of_a_goal(self, words):
        key = f"goal_{self.next()}"
        self.ws.records.store("goal", {"description": words.strip() or "x"}, key)
        self.things["goal", key] = words.strip() or "x"

    # -- what happens to the process ----------------------------------------------------------------------------------

    @rule(days=st.sampled_from([-400, -1, 1, 30]))
    def clock_jumps(self, days):
        self.now = max(START - timedelta(days=500), self.now + timedelta(days=days))

    @rule()
    def checkpoint(self):
        self.ws.flush()

    @rule()
    def restart(self):
        self.ws.close()
        self.ws = open_workspace(self.workspace)

    @rule(torn=st.booleans())
    def killed(self, torn):
        path = self.ws.paths.database.with_name("operations.jsonl")
        kill(self.ws)
        if torn and path.exists():
            with path.open("ab") as file:
                file.write(b'{"seq":9,"id"')
        self.ws = open_workspace(self.workspace)

    @precondition(lambda self: hasattr(self, "ws"))
    @invariant()
    def agrees(self):
        self.ws.refresh()
        assert seen(self.ws) == self.things
        assert self.ws.degraded == ""


MACHINE = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck), database=None,
    report_multiple_bugs=False,
)  # fmt: skip
TestWhole = Whole.TestCase
TestWhole.settings = MACHINE


@pytest.mark.long
def test_for_longer():
    assert os.environ.get("HOME")
    with contextlib.suppress(KeyboardInterrupt):
        run_state_machine_as_test(Whole, settings=settings(MACHINE, max_examples=400, stateful_step_count=50))
