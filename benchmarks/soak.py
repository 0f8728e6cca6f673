"""A console, an agent, the engine and the memory service on one store for half an hour: is anything lost, does
anything grow, does anybody wait?

    python benchmarks/soak.py [--minutes 30] [--items 2000] [--nanobot .peers/nanobot-0.3.5/bin/python] [--json FILE]

Four processes on one workspace, each at a bounded rate, on this machine alone: a console in a pseudo-terminal, driven
by keys; the stores of a real nanobot, which write entries, messages and lines of MEMORY.md; `nanomem turn serve`, which
is told turns; `nanomem serve grpc`, which is told goals, tasks and events by a client. Afterwards:

- what each was told is done (a call that came back, an answer in JSON) is looked for by new processes, the agent's own
  among them; `doctor` is asked;
- the resident memory of each, read every five seconds: what the last third holds beside the second third. The memory
  itself doubles meanwhile, and a console shows all of it: its last third counts beside another one that is started
  then, and shown the same;
- locks: /proc/locks is read every two milliseconds, and who holds an exclusive lock of a file of the home for how long
  is told by file. Left out are locks that say that a process lives or a run of the lifecycle is under way, for which
  no writer waits: those of a writer of files, and of a service. Who holds one while the disk writes holds it for as
  long as the disk takes: a bare write with its fsync is timed ten times a second in the same folder.

Exits with 1 where something is lost, a lock was held longer than 50 ms beyond the longest bare write of that second, or
memory grew by more than a tenth beside both.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _locks import LONG, Disk, Held, Locks
from _pty import Terminal

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NotFound
from nanomem_tui.servers.grpc.client import MemoryClient
from nanomem_tui.workspace import Workspace

ROOT = Path(__file__).resolve().parents[1]
GROWTH_GOAL = 1.10
"""Memory of the last third, beside that of the second."""
AGENT = """
import json, sys, threading, time
from pathlib import Path
from nanobot.agent.memory import MemoryStore
from nanobot.session.manager import SessionManager
workspace, pause = Path(sys.argv[1]), float(sys.argv[2])
store, sessions = MemoryStore(workspace), SessionManager(workspace)
told = {"entries": [], "messages": [], "lines": []}
if pause:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    store.git.init()
    print("ready", flush=True)
    number = 0
    while not ended.wait(pause):
        number += 1
        store.append_history(f"entry {number} of the agent")
        told["entries"].append(f"entry {number} of the agent")
        session = sessions.get_or_create(f"telegram:{number // 50 % 40}")
        session.add_message("user" if number % 2 else "assistant", f"message {number}")
        sessions.save(session)
        told["messages"].append(f"message {number}")
        if number % 40 == 0:
            store.write_memory(f"{store.read_memory()}- line {number} of the agent\\n")
            told["lines"].append(f"- line {number} of the agent")
else:
    told["entries"] = [entry["content"] for entry in store.read_unprocessed_history(since_cursor=0)]
    told["lines"] = store.read_memory().splitlines()
    for number in range(40):
        told["messages"] += [one["content"] for one in sessions.get_or_create(f"telegram:{number}").messages]
print(json.dumps(told), flush=True)
"""
Told = dict[str, list[str]]


@dataclass
class Engine:
    """`nanomem turn serve`: a turn is told, its answer read; what was asked to be remembered is wanted again."""

    process: subprocess.Popen[str]
    turns: list[str] = field(default_factory=list)
    remembered: list[str] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)
    refused: int = 0

    def work(self, number: int, *, may_refuse: bool = False) -> None:
        """One turn, of one of 40 chats; every tenth is to be remembered. `may_refuse`: what is not acknowledged is
        counted, and is not wanted again."""
        text = f"and what of lamp {number % 500} in room {number % 17}?"
        if number % 10 == 0:
            text = f"Remember that the code of locker {number} is blue-{number * 7919}."
        chat = f"{number % 40}"
        body = {"do": "turn", "session_key": f"telegram:{chat}", "channel": "telegram", "chat_id": chat}
        body |= {"sender_id": "mira", "message_id": f"m{number}", "text": text, "assistant": f"answer {number}."}
        began = time.perf_counter()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(body) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.ms.append((time.perf_counter() - began) * 1000)
        if may_refuse and "error" in answer:
            self.refused += 1
            return
        assert "error" not in answer, answer
        self.turns.append(f"answer {number}.")
        if number % 10 == 0:
            self.remembered.append(f"blue-{number * 7919}")


@dataclass
class Service:
    """`nanomem serve grpc`, and a client of it: goals, tasks, tool calls and events."""

    client: MemoryClient
    kept: list[tuple[str, str]] = field(default_factory=list)
    events: int = 0
    ms: list[float] = field(default_factory=list)

    def work(self, number: int) -> None:
        """One call that keeps a record, four that do not."""
        began = time.perf_counter()
        if number % 10 == 0:
            self.kept.append(("goal", self.client.store_goal(f"goal {number}", id=f"goal_{number}")))
        else:
            at = f"goal_{number // 10 * 10}"
            self.kept.append(
                ("task", self.client.store_task(f"task {number}", id=f"task_{number}", goal_id=at, agent="ops"))
            )
        self.ms.append((time.perf_counter() - began) * 1000)
        self.client.push_event("soak", {"number": number}, "soak", critical=number % 50 == 0)
        self.client.update_metric("soak.number", number)
        self.client.get_recent_events(20)
        self.client.get_active_goals() if number % 100 == 0 else self.client.get_metric("soak.number")
        self.events += 2


class Console:
    """Keys of a person who never rests: moves, searches, disables and takes it back, looks at every screen."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.keys = 0
        self.disabled = 0

    def _press(self, keys: str, pause: float = 0.1) -> None:
        self.terminal.send(keys)
        self.keys += 1
        end = time.monotonic() + pause
        while (left := end - time.monotonic()) > 0:
            self.terminal.read(left)
        del self.terminal.output[:-20_000]  # what scrolled away is not looked at again

    def work(self, number: int) -> None:
        """A few seconds: an item is disabled and taken back, then one of the screens is looked through."""
        self._press("1", 0.3)
        for _ in range(number % 7 + 1):
            self._press("j")
        self._press("x", 0.3)
        self.disabled += 1
        self._press("u", 0.3)
        for word in (f"/item {number}", "\r", "\x1b"):
            self._press(word, 0.4)
        self._press(str(number % 10), 0.5)
        for key in "jjkG":
            self._press(key)


def repeat(work: Callable[[int], None], pause: float, end: float, broke: list[str]) -> threading.Thread:
    """Do it again and again until `end`, on a thread; what broke is told."""

    def run() -> None:
        number = 0
        try:
            while time.monotonic() < end:
                began = time.monotonic()
                work(number := number + 1)
                time.sleep(max(0.0, pause - (time.monotonic() - began)))
        except Exception as error:  # told at the end, with the rest
            broke.append(f"{getattr(work, '__qualname__', work)}: {type(error).__name__}: {error}")

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def resident_mb(pid: int) -> float:
    """The resident memory of a process, in MB; 0.0 where it has ended."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return 0.0


def home_of(folder: Path, items: int) -> Path:
    """A home of an agent with its default workspace and so many items."""
    workspace = folder / ".nanobot" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    for name in ("SOUL.md", "USER.md", "memory/MEMORY.md"):
        (workspace / name).write_text(f"# {name}\n\n- first line\n", encoding="utf-8")
    config = {"agents": {"defaults": {"workspace": str(workspace)}}}
    (folder / ".nanobot" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with open_workspace(workspace) as ws:
        for number in range(items):
            ws.items.add(f"item {number}: lamp {number % 500} stands in room {number % 17}")
        ws.records.store("goal", {"description": "the first one"}, "goal_first")
    return workspace


def lost_of(
    workspace: Path, python: str, agent: Told, engine: Engine, service: Service, console: Console
) -> dict[str, tuple[int, int]]:
    """Told and lost, by what it was: looked for by new processes."""
    read = subprocess.run([python, "-c", AGENT, str(workspace), "0"], capture_output=True, check=True)
    found: Told = json.loads(read.stdout)
    counts = {f"{name} of the agent": (len(agent[name]), len(set(agent[name]) - set(found[name]))) for name in agent}
    with open_workspace(workspace) as ws:
        texts = "\n".join(item.text for item in ws.items.all())
        counts["remembered by the engine"] = len(engine.remembered), sum(one not in texts for one in engine.remembered)
        logs = [ws.wal.get(info.session_key) for info in ws.wal.list()]
        answers = {turn.assistant for state in logs for turn in state.turns}
        counts["turns of the engine"] = len(engine.turns), len(set(engine.turns) - answers)
        counts["records by gRPC"] = len(service.kept), sum(not _is_kept(ws, *one) for one in service.kept)
        counts["items that the console changed and took back"] = (
            console.disabled, sum(not item.enabled for item in ws.items.all())
        )  # fmt: skip
    return counts


def _is_kept(ws: Workspace, kind: str, record_id: str) -> bool:
    with contextlib.suppress(NotFound):
        return bool(ws.records.get(kind, record_id))
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--nanobot", default=".peers/nanobot-0.3.5/bin/python")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    python = str(ROOT / options.nanobot)
    with tempfile.TemporaryDirectory(prefix="nanomem-soak-") as name:
        folder = Path(name)
        os.environ |= {"HOME": name, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        for variable in ("NANOMEM_WORKSPACE", "SSH_CONNECTION", "NO_COLOR"):
            os.environ.pop(variable, None)
        workspace = home_of(folder, options.items)
        found = soaked(folder, workspace, python, options.minutes)
    print(json.dumps(found, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if not found["failed"] else 1


def soaked(folder: Path, workspace: Path, python: str, minutes: float) -> dict[str, Any]:
    """Run all four for so long; what came of it."""
    nanomem = [sys.executable, "-m", "nanomem_tui", "--workspace", str(workspace)]
    program = folder / "bin" / "nanobot"  # under its own name, so that it is seen for what it is
    program.parent.mkdir()
    program.write_text(AGENT, encoding="utf-8")
    with contextlib.ExitStack() as stack:
        agent = subprocess.Popen([python, program, str(workspace), "0.2"], stdin=-1, stdout=-1, text=True)
        turns = subprocess.Popen([*nanomem, "turn", "serve"], stdin=-1, stdout=-1, text=True)
        grpc = subprocess.Popen([*nanomem, "serve", "grpc"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for process in (agent, turns, grpc):
            stack.callback(process.kill)
        assert agent.stdout is not None
        assert agent.stdout.readline() == "ready\n"
        terminal = stack.enter_context(Terminal(nanomem, size=(120, 40)))
        terminal.wait_for("1 Memory")
        client = stack.enter_context(MemoryClient(workspace))
        _until_served(client)
        engine, service, console = Engine(turns), Service(client), Console(terminal)
        pids = {"console": terminal.pid, "agent": agent.pid, "engine": turns.pid, "gRPC": grpc.pid}
        locks, broke, disk = Locks(folder, {pid: one for one, pid in pids.items()}), list[str](), Disk(folder)
        memory: dict[str, list[float]] = {one: [] for one in pids}
        end = time.monotonic() + minutes * 60
        threads = [
            repeat(engine.work, 0.5, end, broke),
            repeat(service.work, 0.2, end, broke),
            repeat(console.work, 0.5, end, broke),
            repeat(lambda _number: disk.write(), 0.1, end, broke),
        ]
        watch = threading.Thread(target=_watched, args=(locks, end))
        watch.start()
        while time.monotonic() < end:
            for one, pid in pids.items():
                memory[one].append(resident_mb(pid))
            time.sleep(5)
        for thread in (*threads, watch):
            thread.join()
        terminal.drain(1.0)
        terminal.send("q")
        terminal.wait_end()
        told: Told = json.loads(agent.communicate()[0])
        turns.communicate()
        grpc.terminate()
        grpc.wait()
    found = told_of(workspace, python, told, engine, service, console, locks, disk, memory, broke, minutes)
    fresh = fresh_mb(nanomem)
    row = found["resident MB"]["console"]
    row |= {"started then": fresh, "beside that": row["last third"] / fresh}
    for name, row in found["resident MB"].items():
        if min(row["of it"], row.get("beside that", row["of it"])) > GROWTH_GOAL:
            found["failed"].append(f"{name} grew to {row['of it']:.2f}")
    return found


def fresh_mb(nanomem: list[str]) -> float:
    """What a console holds that is started now and led through the same screens for a minute."""
    with Terminal(nanomem, size=(120, 40)) as terminal:
        terminal.wait_for("1 Memory")
        console, end = Console(terminal), time.monotonic() + 60
        for number in itertools.count(1):
            console.work(number)
            if time.monotonic() > end:
                break
        held = resident_mb(terminal.pid)
        terminal.drain(1.0)
        terminal.send("q")
        terminal.wait_end()
    return held


def _watched(locks: Locks, end: float) -> None:
    while time.monotonic() < end:
        locks.look()
        time.sleep(0.002)


def _until_served(client: MemoryClient) -> None:
    for _ in range(100):
        with contextlib.suppress(Exception):
            client.get_active_goals()
            return
        time.sleep(0.1)


def told_of(
    workspace: Path, python: str, told: Told, engine: Engine, service: Service, console: Console, locks: Locks,
    disk: Disk, memory: dict[str, list[float]], broke: list[str], minutes: float,
) -> dict[str, Any]:  # fmt: skip
    """The table, and what of it is not as it must be."""
    lost = lost_of(workspace, python, told, engine, service, console)
    nanomem = [sys.executable, "-m", "nanomem_tui", "--workspace", str(workspace)]
    doctor = subprocess.run([*nanomem, "doctor"], capture_output=True, text=True, check=False)
    held = {
        f"{who}: {name}": {"times": len(ms), "median": statistics.median(ms), "max": max(ms)}
        for (who, name), ms in sorted(locks.held.items())
    }
    grown: dict[str, dict[str, float]] = {}
    for name, all_mb in memory.items():
        third = max(1, len(all_mb) // 3)
        middle, last = statistics.median(all_mb[third : 2 * third]), statistics.median(all_mb[2 * third :])
        grown[name] = {"first": all_mb[0], "second third": middle, "last third": last, "of it": last / middle}
    failed = list(broke)
    failed += [f"{count[1]} of {count[0]} lost: {name}" for name, count in lost.items() if count[1]]
    failed += [f"held, {disk.near(one):.0f} ms a bare write: {one}" for one in locks.long if _is_too_long(one, disk)]
    failed += [f"doctor: {doctor.stdout[-2000:]}"] if doctor.returncode else []
    return {
        "minutes": minutes, "told and lost": lost, "keys": console.keys, "events": service.events,
        "resident MB": grown, "locks held ms": held, "looks at the locks": locks.looks,
        "locks held long": [f"{one}; a bare write then {disk.near(one):.0f} ms" for one in locks.long],
        "bare writes ms": _spread([ms for _, ms in disk.took]),
        "locks held to the end": locks.forever(),
        "turn ms": _spread(engine.ms), "record ms": _spread(service.ms), "failed": failed,
    }  # fmt: skip


def _is_too_long(held: Held, disk: Disk) -> bool:
    """Whether it was one of ours, and the disk alone does not say why."""
    return held.who != "agent" and held.ms > LONG + disk.near(held)


def _spread(ms: list[float]) -> dict[str, float]:
    ordered = sorted(ms) or [0.0]
    return {"p50": ordered[len(ordered) // 2], "p99": ordered[int(len(ordered) * 0.99)], "max": ordered[-1]}


if __name__ == "__main__":
    sys.exit(main())
