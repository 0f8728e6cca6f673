"""Two or three processes on one memory: killed, stopped, on a disk that fails, by clocks that jump.

Owns the trials: a program of its own (`python -m tests.crash.several`) that lets forked processes work, harms them at
random, and holds what they said against the model. It prints one line of JSON a trial. What a process says goes to the
system before its next step, so that no kill takes it back. On a server (NANOMEM_DATABASE_URL) who started the program
stops that meanwhile.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Conflict, NanomemError, NotFound, NothingToDo, Refused, ServerAway
from nanomem_tui.core.operations import Operation
from nanomem_tui.workspace import Workspace
from tests.crash.several_model import Key, Logged, Model, Row, Step
from tests.crash.shim import FAILS, FAULTS, KILLS
from tests.store.homes import Agent, make_home

ON_SERVER = bool(os.environ.get("NANOMEM_DATABASE_URL"))
ORDINARY = (Conflict, NotFound, NothingToDo, Refused)
"""What a change is refused for by what others did: nothing was changed then, whatever the disk does."""
FACTS = ("city", "name", "car", "tea")
PATIENCE = 60.0
"""Seconds for a process to say something."""


def seen(ws: Workspace) -> dict[Key, Row]:
    """What a look at a memory finds, counters aside."""
    found: dict[Key, Row] = {
        ("item", row.id): {"text": row.text, "enabled": bool(row.enabled), "pinned": bool(row.pinned)}
        for row in ws.items.all()
    }
    found |= {("lesson", row.id): {"text": row.better_action, "enabled": bool(row.enabled)} for row in ws.lessons.all()}
    return found


# -- a process ---------------------------------------------------------------------------------------------------------


class Process:
    """What one process does: steps by its own dice, each told before and after, until it is asked for what it sees."""

    def __init__(self, shim: Any, workspace: Path, told: int, seed: str, most: int) -> None:
        self.shim, self.workspace, self.told, self.most = shim, workspace, told, most
        self.dice = random.Random(seed)
        self.name = f"p{os.getpid()}"
        self.number = self.failed = 0
        self.is_harmed = False
        self.later = timedelta(0)
        clock.now = lambda: datetime.now(UTC) + self.later
        clock.stamp = lambda: (clock.now_ms(), clock.iso(clock.now()))
        if shim is not None and self.dice.random() < 0.4:
            fault = self.dice.choice((*KILLS, *FAILS))
            self.is_harmed = fault in FAILS
            self.patience = self.dice.randint(1, 4)
            shim.shim_arm(str(workspace.parents[1]).encode(), self.dice.randint(1, 700), FAULTS.index(fault), -1)
        self.ws = self._opened()

    def _opened(self) -> Workspace:
        while True:
            try:
                return open_workspace(self.workspace)
            except NanomemError:
                self._met_harm()

    def _met_harm(self) -> None:
        """After a while the disk is well again; a server is waited for."""
        self.failed += 1
        if self.is_harmed and self.failed >= self.patience:
            self.heal()
        if ON_SERVER:
            time.sleep(0.05)

    def heal(self) -> None:
        if self.shim is not None:
            self.shim.shim_heal()
        self.is_harmed = False

    def tell(self, **values: Any) -> None:
        os.write(self.told, json.dumps({**values, "at": time.monotonic_ns()}).encode() + b"\n")

    def work(self) -> None:
        while self.number < self.most:
            self.number += 1
            do, values = self._step()
            self.tell(do=do, values=values)
            try:
                operation, thing = self._do(do, values)
            except ORDINARY as error:
                self.tell(end="refused", said=error.line())
            except NanomemError as error:
                # A change that the server may have is told as such; that any other one is not there is a promise.
                is_unsure = "not known" in error.what if isinstance(error, ServerAway) else self.is_harmed
                self.tell(end="unsure" if is_unsure else "refused", said=error.line())
                self._met_harm()
                self.most += ON_SERVER  # what nobody could do is no step
            else:
                self.tell(end="did", id=operation.id if operation else "", thing=thing)

    def _step(self) -> tuple[str, dict[str, Any]]:
        """The next step, by the dice and by what is seen."""
        text, dice = f"{self.name} {self.number}", self.dice
        items: list[Any] = []
        lessons: list[Any] = []
        with contextlib.suppress(NanomemError):
            if dice.random() < 0.7:
                self.ws.refresh()
            items, lessons = self.ws.items.all(), self.ws.lessons.all()
        choice = dice.random()
        if choice < 0.18 or not items:
            return "add", {"text": text}
        row = dice.choice(items)
        if choice < 0.38:
            return "edit", {"keys": [row.id], "text": text, "saw": row.text}
        if choice < 0.47:
            return "enable", {"keys": [row.id], "on": not row.enabled}
        if choice < 0.52:
            return "pin", {"keys": [row.id], "on": not row.pinned}
        if choice < 0.58:
            return "delete", {"keys": [one.id for one in dice.sample(items, min(len(items), dice.randint(1, 3)))]}
        if choice < 0.68:
            name = dice.choice(FACTS)
            return "know", {"name": name, "text": f"{name}: {text}"}
        if choice < 0.73 or (choice < 0.78 and not lessons):
            return "teach", {"text": text}
        if choice < 0.76:
            lesson = dice.choice(lessons)
            return "enable lesson", {"keys": [lesson.id], "on": not lesson.enabled}
        if choice < 0.78:
            return "delete lesson", {"keys": [dice.choice(lessons).id]}
        if choice < 0.83:
            return "undo", {}
        if choice < 0.87:
            with contextlib.suppress(NanomemError):
                known = [entry.operation.id for entry in self.ws.log(30) if not entry.operation.is_reversal]
                if known:
                    return "undo", {"id": dice.choice(known)}
        if choice < 0.91:
            return "redo", {}
        return dice.choice((("flush", {}), ("checkpoint", {}), ("reopen", {}), ("jump", {})))

    def _do(self, do: str, values: dict[str, Any]) -> tuple[Operation | None, str]:
        """Do it; its operation, and the id of the thing that it made."""
        ws, keys = self.ws, values.get("keys", [])
        match do:
            case "add":
                operation, item, _ = ws.items.add(values["text"])
                return operation, item.id
            case "edit":
                return ws.items.edit(keys[0], text=values["text"]), ""
            case "enable":
                return ws.items.set_enabled(keys, values["on"]), ""
            case "pin":
                return ws.items.set_pinned(keys, values["on"]), ""
            case "delete":
                return ws.items.delete(keys), ""
            case "know":
                operation, fact, _ = ws.facts.set("about", values["name"], values["text"].partition(": ")[2])
                return operation, fact.id
            case "teach":
                operation = ws.lessons.add(f"tool of {values['text']}", values["text"])
                return operation, operation.changes[0].key
            case "enable lesson":
                return ws.lessons.set_enabled(keys, values["on"]), ""
            case "delete lesson":
                return ws.lessons.delete(keys), ""
            case "undo":
                return ws.undo(values.get("id"))[0], ""
            case "redo":
                return ws.redo()[0], ""
            case "flush":
                ws.flush()
            case "checkpoint":
                ws.checkpoint_if_due()
            case "reopen":
                try:
                    ws.close()
                finally:
                    self.ws = self._opened()
            case _:
                self.later += timedelta(days=self.dice.choice((-400, -1, 1, 30)), seconds=self.dice.randint(0, 9))
        return None, ""

    def answer(self, asked: socket.socket) -> None:
        """Say what is seen whenever that is asked for: after a checkpoint of every process, all see the same."""
        asked.send(b"ready\n")
        while word := asked.recv(1):
            self.heal()
            if word == b"f":
                self._patiently(self.ws.flush)
                asked.send(b"flushed\n")
            elif word == b"l":
                self._patiently(self.ws.flush)
                self.ws.refresh()
                asked.sendall(dumped(seen(self.ws)) + b"\n")
        self._patiently(self.ws.close)

    def _patiently(self, do: Callable[[], object]) -> None:
        """Do it as soon as the server is there."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                do()
                return
            except ServerAway:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)


def dumped(found: dict[Key, Row]) -> bytes:
    return json.dumps([[*key, row] for key, row in sorted(found.items())]).encode()


def loaded(said: bytes) -> dict[Key, Row]:
    return {(kind, name): row for kind, name, row in json.loads(said)}


# -- a trial -----------------------------------------------------------------------------------------------------------


@dataclass
class Running:
    """A process as the trial sees it: its number, the file in which it tells, the line by which it is asked.

    `most`: the steps that it has to take; `harms`: at which sizes of that file it is harmed, the last first, and how.
    """

    pid: int
    told: Path
    asked: socket.socket
    most: int
    harms: list[tuple[int, signal.Signals]]
    is_ready: bool = False
    is_stopped_until: float = 0.0

    def hears(self) -> bool:
        """Whether it says within a moment that it is ready; raises OSError where it ended."""
        self.asked.settimeout(0.005)
        with contextlib.suppress(TimeoutError):
            if not self.asked.recv(6):
                raise OSError("it ended")
            self.is_ready = True
        return self.is_ready

    def ask(self, word: bytes) -> bytes:
        self.asked.settimeout(PATIENCE)
        self.asked.send(word)
        said = b""
        while not said.endswith(b"\n"):
            more = self.asked.recv(65_536)
            if not more:
                raise AssertionError(f"a process ended when it was asked: {broken_of(self.told)}")
            said += more
        return said


@dataclass
class Trial:
    """Some processes on one new memory, until each has taken its steps; `harm` is what is done to them."""

    shim: Any
    folder: Path
    seed: str
    most: int
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.workspace = make_home(self.folder / "memory", items=3, lessons=2)
        self.told: list[Path] = []
        self.running: list[Running] = []

    def run(self) -> None:
        """Let it happen, and raise AssertionError where something is not as the model says."""
        before = self._fresh()[0]
        model = Model({key: {**row, "deleted": False} for key, row in before.items()})
        try:
            for _ in range(self.dice.choice((2, 3))):
                self._start(self.most)
            while not all(one.is_ready for one in self.running):
                self._wait()
            for one in self.running:
                one.ask(b"f")
            looks = [loaded(one.ask(b"l")) for one in self.running]
            live, log, problems = self._fresh()
        finally:
            self._end()
        after, _, _ = self._fresh()
        steps = [step for file in self.told for step in steps_of(file)]
        model.follow(steps, log)
        self._count(steps, model)
        assert model.wrong == [], "\n".join(model.wrong[:6])
        wanted = model.there()
        for name, look in (*((f"process {n}", look) for n, look in enumerate(looks)), ("fresh", live), ("last", after)):
            assert look == wanted, f"{name}: {difference(look, wanted)}"
        assert problems == [], problems
        texts = {name: row["text"] for (kind, name), row in wanted.items() if kind == "item" and row["enabled"]}
        exported = {key: row["text"] for key, row in Agent(self.workspace).items.items()}
        assert exported == texts, f"the agent's file: {set(exported.items()) ^ set(texts.items())}"

    # -- its processes ------------------------------------------------------------------------------------------------

    def _start(self, most: int) -> None:
        ours, theirs = socket.socketpair()
        told = self.folder / f"told{len(self.told)}"
        self.told.append(told)
        pid = os.fork()
        if pid == 0:
            ours.close()
            for other in self.running:
                other.asked.close()
            file = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                process = Process(self.shim, self.workspace, file, f"{self.seed} {told.name}", most)
                process.work()
                process.answer(theirs)
                os._exit(0)
            except BaseException:
                os.write(file, json.dumps({"broken": traceback.format_exc()}).encode() + b"\n")
            finally:
                os._exit(1)
        theirs.close()
        whole = most * 240 or 1
        harms = [(self.dice.randint(1, whole), signal.SIGSTOP) for _ in range(self.dice.randint(0, 2))]
        harms += [(self.dice.randint(1, whole), signal.SIGKILL)] if self.dice.random() < 0.45 else []
        told.touch()
        self.running.append(Running(pid, told, ours, most, sorted(harms, reverse=True) if most else []))

    def _wait(self) -> None:
        """A moment, in which one of the processes may be harmed."""
        now = time.monotonic()
        assert now - self.began < 10 * PATIENCE, "it does not end"
        for one in [*self.running]:
            if one.is_ready:
                continue
            if one.is_stopped_until:
                if now > one.is_stopped_until:
                    os.kill(one.pid, signal.SIGCONT)
                    one.is_stopped_until = 0.0
                continue
            try:
                if one.hears():
                    continue
            except OSError:
                self._next(one)
                continue
            if one.harms and one.told.stat().st_size >= one.harms[-1][0]:
                time.sleep(self.dice.uniform(0, 0.02))
                self._harm(one, one.harms.pop()[1])

    def _harm(self, one: Running, by: signal.Signals) -> None:
        os.kill(one.pid, by)
        if by == signal.SIGSTOP:
            self.counts["stopped"] += 1
            one.is_stopped_until = time.monotonic() + self.dice.uniform(0.005, 0.15)
            if self.dice.random() < 0.8:
                return
            time.sleep(0.01)  # with all that it holds
            os.kill(one.pid, signal.SIGKILL)
        self._next(one)

    def _next(self, ended: Running) -> None:
        """Another process goes on in the place of one that was killed."""
        _, status = os.waitpid(ended.pid, 0)
        assert os.WIFSIGNALED(status), f"a process broke: {broken_of(ended.told)}"
        self.counts["killed"] += 1
        ended.asked.close()
        self.running.remove(ended)
        self._start(max(0, ended.most - len(steps_of(ended.told))))

    def _end(self) -> None:
        for one in self.running:
            os.kill(one.pid, signal.SIGCONT)
            one.asked.close()
            os.waitpid(one.pid, 0)

    def _fresh(self) -> tuple[dict[Key, Row], list[Logged], list[str]]:
        """What a process sees that opens the memory now, the log oldest first, and what the doctor calls wrong."""
        self.began = time.monotonic()
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            told = b"{}"
            try:
                told = patiently(lambda: looked(self.workspace))
            except BaseException:
                told = json.dumps({"broken": traceback.format_exc()}).encode()
            finally:
                theirs.sendall(told)
                os._exit(0)
        theirs.close()
        with ours:
            said = b""
            while chunk := ours.recv(65_536):
                said += chunk
        os.waitpid(pid, 0)
        found = json.loads(said)
        assert "broken" not in found, found["broken"]
        rows = {(kind, name): row for kind, name, row in found["rows"]}
        log = [Logged(*[tuple(value) if isinstance(value, list) else value for value in one]) for one in found["log"]]
        return rows, log, found["problems"]

    def _count(self, steps: list[Step], model: Model) -> None:
        self.counts["processes"] += len(self.told)
        self.counts["changes"] += sum(step.end == "did" and bool(step.id) for step in steps)
        self.counts["undone and redone"] += sum(step.end == "did" and step.do in {"undo", "redo"} for step in steps)
        self.counts["refused"] += sum(step.end == "refused" for step in steps)
        self.counts["failed"] += sum(step.end == "unsure" for step in steps)
        self.counts["under way at a kill"] += sum(not step.end and step.do not in {"jump", "reopen"} for step in steps)
        self.counts["of these done"] += model.found
        self.counts["told as failed and done"] += model.told_as_failed
        self.counts["clock jumps"] += sum(step.do == "jump" for step in steps)


def patiently(do: Callable[[], bytes]) -> bytes:
    """Ask until the server is there."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return do()
        except ServerAway:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def looked(workspace: Path) -> bytes:
    """What a new process sees."""
    with open_workspace(workspace) as ws:
        rows = [[*key, row] for key, row in sorted(seen(ws).items())]
        log = [logged(entry) for entry in reversed(ws.log(100_000))]
        problems = [f"{one.what} ({one.where})" for one in ws.doctor() if one.severity == "error"]
        return json.dumps({"rows": rows, "log": log, "problems": problems}).encode()


def logged(entry: Any) -> Logged:
    op = entry.operation
    texts = [
        str((change.after or {}).get("text") or (change.after or {}).get("better_action")) for change in op.changes
    ]
    undo = str(op.meta.get("undo") or "")
    keys = tuple(change.key for change in op.changes)
    return Logged(op.id, op.kind, keys, tuple(texts), op.undoes or "", op.redoes or "", undo, entry.undone, op.label)


def steps_of(file: Path) -> list[Step]:
    """The steps that a process told."""
    steps: list[Step] = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        told = json.loads(line)
        if "do" in told:
            steps.append(Step(told["do"], told["values"], told["at"]))
        elif "end" in told:
            last = steps[-1]
            last.end, last.ended, last.said = told["end"], told["at"], told.get("said", "")
            last.id, last.thing = told.get("id", ""), told.get("thing", "")
    return steps


def broken_of(file: Path) -> str:
    lines = file.read_text().splitlines() if file.exists() else []
    return str(json.loads(lines[-1]).get("broken", lines[-1])) if lines else "it told nothing"


def difference(found: dict[Key, Row], wanted: dict[Key, Row]) -> str:
    keys = [key for key in {**found, **wanted} if found.get(key) != wanted.get(key)]
    return "; ".join(f"{key}: {found.get(key)} and not {wanted.get(key)}" for key in keys[:5])


def warm_up() -> None:
    """Load what the processes need, once for all trials; of a server nothing is asked."""
    url = os.environ.pop("NANOMEM_DATABASE_URL", "")
    with tempfile.TemporaryDirectory() as folder, open_workspace(make_home(Path(folder))) as ws:
        ws.items.add("loaded")
        ws.facts.set("about", "name", "Mira")
        ws.undo()
        ws.redo()
        ws.flush()
        ws.doctor()
    if url:
        os.environ["NANOMEM_DATABASE_URL"] = url
    gc.freeze()


def main() -> None:
    """`several.py FOLDER FIRST TRIALS STEPS`: run the trials of the seeds from FIRST on."""
    folder, first, trials, most = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    warnings.simplefilter("ignore")
    shim = None
    if os.environ.get("LD_PRELOAD"):
        shim = ctypes.CDLL(None)
        shim.shim_arm.argtypes = (ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int)
    warm_up()
    for seed in range(first, first + trials):
        place = folder / f"trial{seed}"
        place.mkdir()
        trial = Trial(shim, place, str(seed), most)
        wrong = ""
        try:
            trial.run()
        except (AssertionError, OSError, ValueError) as error:
            wrong = f"{type(error).__name__}: {error}"
        print(json.dumps({"seed": seed, "counts": trial.counts, "wrong": wrong}), flush=True)
        if not wrong:  # what was told stays, for who looks into it
            shutil.rmtree(place)


if __name__ == "__main__":
    main()
