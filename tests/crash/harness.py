"""A writer in a child process that is killed at a chosen step, and what must be true of the workspace afterwards.

The steps are every call that changes a file (before it, in the middle of a write, after it) and every statement and
commit of the database. A killed child flushes nothing: SIGKILL.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import signal
import sqlite3
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NotFound, NothingToDo
from nanomem_tui.workspace import Workspace
from tests.store.homes import Agent

CALLS = ("write", "fsync", "replace", "rename", "link", "ftruncate", "unlink", "mkdir", "open", "fchmod")
"""The calls of `os` that change a file."""


@dataclass
class Steps:
    """Counts steps and ends the process at step `at`; `where`: before, inside (half a write) or after it."""

    at: int = 0
    where: str = "before"
    count: int = 0
    names: list[str] = field(default_factory=list)
    armed: bool = False
    _counting: threading.RLock = field(default_factory=threading.RLock)  # files wait for the disk side by side

    def install(self) -> None:
        """Hook the calls of this process; only for a child that ends soon."""
        for name in CALLS:
            setattr(os, name, self._hooked(name, getattr(os, name)))
        sqlite3.connect = functools.partial(sqlite3.connect, factory=self._stepping())  # type: ignore[assignment]

    def _stepping(self) -> type[sqlite3.Connection]:
        """A connection of which every statement is a step."""
        step = self._step

        class Cursor(sqlite3.Cursor):
            def execute(self, statement: str, *values: Any) -> Any:
                step(statement[:12])
                return super().execute(statement, *values)

            def executemany(self, statement: str, values: Any) -> Any:
                step(statement[:12])
                return super().executemany(statement, values)

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *values: Any) -> Any:  # it makes no cursor of ours
                step(statement[:12])
                return super().execute(statement, *values)

            def executemany(self, statement: str, values: Any) -> Any:
                step(statement[:12])
                return super().executemany(statement, values)

            def commit(self) -> None:
                step("COMMIT")
                super().commit()

            def cursor(self, factory: Any = Cursor) -> Any:
                return super().cursor(factory)

        return Connection

    def _step(self, name: str) -> bool:
        if not self.armed:
            return False
        with self._counting:
            self.count += 1
            number = self.count
            self.names.append(name)
        if number != self.at:
            return False
        if self.where == "before" or name not in CALLS:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    def _hooked(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            if name == "open" and not (len(args) > 1 and args[1] & os.O_CREAT):
                return real(*args, **named)
            end = self._step(name)
            if end and self.where == "inside" and name == "write":
                real(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            done = real(*args, **named)
            if end:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return call


Action = Callable[[Workspace], object]


def script(length: int) -> list[Action]:
    """A person's work: additions, edits, switches, deletes, undo, redo, and flushes in between."""
    actions: list[Action] = []
    for number in range(length):
        match number % 9:
            case 0 | 4:
                actions.append(lambda ws, n=number: ws.items.add(f"added {n}"))
            case 1:
                actions.append(lambda ws, n=number: ws.items.edit("ltm_1", text=f"edited {n}"))
            case 2:
                actions.append(lambda ws: ws.lessons.set_enabled(["lesson_1"], not ws.lessons.get("lesson_1").enabled))
            case 3:
                actions.append(lambda ws: ws.flush())
            case 5:
                actions.append(lambda ws: ws.items.delete([ws.items.all()[0].id]))
            case 6:
                actions.append(lambda ws: ws.undo())
            case 7:
                actions.append(lambda ws: ws.checkpoint_if_due())
            case _:
                actions.append(lambda ws: ws.items.set_pinned(["ltm_2"], not ws.items.get("ltm_2").pinned))
    return [*actions, lambda ws: ws.close()]


def act(ws: Workspace, action: Action) -> None:
    """Do it; where the item is gone or nothing is to be done, that is the same for whoever tries."""
    with contextlib.suppress(NotFound, NothingToDo):
        action(ws)


Look = tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]


def look(ws: Workspace) -> Look:
    """What a person sees, without ids and times, which differ from run to run, and hits, which a kill may cost."""
    items = Counter((row.text, bool(row.enabled), bool(row.pinned)) for row in ws.items.all())
    lessons = Counter((row.trigger, row.better_action, bool(row.enabled)) for row in ws.lessons.all())
    return items, lessons


def fresh_look(workspace: Path) -> Look:
    """The same by a process that has just come."""
    with open_workspace(workspace) as ws:
        return look(ws)


def fork() -> int:
    """`os.fork`, without the warning that Python gives where a test runner has a thread of its own. The child collects
    no garbage: what the parent left may wait, as it goes, for threads that the child does not have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        gc.disable()
    return child


def run_in_child(
    workspace: Path, actions: list[Action], steps: Steps, *, seconds: float | None = None
) -> tuple[int, int]:
    """Run the actions in a child until its end; (how many were acknowledged, steps counted or 0 when it was killed).

    `seconds`: kill it after that time instead of at a step.
    """
    read, write = os.pipe()
    child = fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            steps.install()
            real_write = os.write
            ws = open_workspace(workspace)
            for action in actions:
                steps.armed = True
                act(ws, action)
                steps.armed = False
                real_write(write, b".")
            real_write(write, b"%d" % steps.count)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    if seconds is not None:
        signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, seconds)
    said = b""
    while chunk := os.read(read, 65_536):
        said += chunk
    os.close(read)
    signal.setitimer(signal.ITIMER_REAL, 0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the writer itself failed"
    return said.count(b"."), int(said.strip(b".") or 0)


def looks_of(workspace: Path, actions: list[Action]) -> list[Look]:
    """What is seen before the first action and after each, when nobody is killed."""
    ws = open_workspace(workspace)
    seen = [look(ws)]
    for action in actions:
        act(ws, action)
        seen.append(look(ws) if action is not actions[-1] else seen[-1])
    return seen


def check(workspace: Path, seen: list[Look], acknowledged: int) -> None:
    """Nothing acknowledged is lost, nothing is done twice, and the next process goes on as if nothing had happened."""
    found = fresh_look(workspace)
    possible = seen[acknowledged : acknowledged + 2]
    assert found in possible, "the acknowledged changes, and at most the one that was under way"
    with open_workspace(workspace) as ws:
        assert look(ws) == found, "looking changes nothing"
        ids = [entry.operation.id for entry in ws.log(limit=10_000)]
        assert len(ids) == len(set(ids))
        ws.items.add("after the kill")
        expected = look(ws)
        assert ws.problems() == []
    assert fresh_look(workspace) == expected
    agent = Agent(workspace)
    texts = Counter(text for (text, *_), count in expected[0].items() for _ in range(count))
    assert Counter(row["text"] for row in agent.items.values()) == texts
    assert {row["trigger"]: row["enabled"] for row in agent.lessons.values()} == {
        trigger: enabled for trigger, _, enabled in expected[1]
    }
    events = [line for line in (workspace / "memory" / "LTM_AUDIT.jsonl").read_bytes().split(b"\n") if line]
    assert len(events) == len(set(events)), "no event twice"
