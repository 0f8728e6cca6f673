"""Two consoles, three agents and a schedule of Dreams on one PostgreSQL, which is killed and started anew twice: is
anything lost or done twice, does undo stay right?

    .peers/vectors/bin/python benchmarks/shared_store.py [--minutes 20] [--items 1000] [--json FILE]

Three homes share a workspace, as on three machines: their files are copies. In each an agent
is told turns (`nanomem turn serve`), in two a console is used by a person who never rests, in one Dreams run by a
schedule and new entries come to its archive. The server is killed with SIGKILL at a third and at two thirds of the
time, and started anew after some seconds. At the end everything that was acknowledged is looked for by new processes,
every operation is counted, the newest changes are undone and redone.

Exits with 1 where something is lost or doubled.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _pty import Terminal
from soak import Console, Engine, home_of, repeat

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.workspace import Workspace
from tests.postgres_server import PostgresServer, needed

ROOT = Path(__file__).resolve().parents[1]
AWAY = 8.0
"""Seconds for which the server is gone."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    needed()
    with (
        tempfile.TemporaryDirectory(prefix="nanomem-shared-") as name,
        tempfile.TemporaryDirectory(prefix="nanomem-pg-") as data,
    ):
        os.environ |= {"HOME": name, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
        for variable in ("NANOMEM_WORKSPACE", "SSH_CONNECTION", "NO_COLOR"):
            os.environ.pop(variable, None)
        server = PostgresServer(Path(data))
        os.environ |= {
            "NANOMEM_DATABASE_URL": server.url("postgres"), "NANOMEM_DREAM_SCHEDULE": "on",
            "NANOMEM_DREAM_INTERVAL_H": "0.05", "NANOMEM_FLUSH_INTERVAL_SECONDS": "20",
        }  # fmt: skip
        try:
            found = shared(Path(name), server, options.items, options.minutes)
        finally:
            server.server.cleanup()
    print(json.dumps(found, indent=1))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if not found["failed"] else 1


def homes(folder: Path, items: int) -> list[Path]:
    """The workspace as three machines have it."""
    first = home_of(folder, items)
    found = [first]
    for name in ("second", "third"):
        shutil.copytree(folder / ".nanobot", folder / name / ".nanobot")
        found.append(folder / name / ".nanobot" / "workspace")
    return found


def shared(folder: Path, server: PostgresServer, items: int, minutes: float) -> dict[str, Any]:
    """Run all of them for so long; what came of it."""
    places = homes(folder, items)
    broke: list[str] = []
    end = time.monotonic() + minutes * 60
    with contextlib.ExitStack() as stack:
        engines = [Engine(stack.enter_context(_serving(place))) for place in places]
        terminals = [stack.enter_context(Terminal(_nanomem(place), size=(120, 40))) for place in places[:2]]
        for terminal in terminals:
            terminal.wait_for("1 Memory")
        consoles = [Console(terminal) for terminal in terminals]
        dreams = subprocess.Popen([*_nanomem(places[0]), "dream", "schedule"], stdout=-1, stderr=-2, text=True)
        stack.callback(dreams.kill)
        entries: list[str] = []
        threads = [
            *(repeat(_numbered(engine, at), 0.5, end, broke) for at, engine in enumerate(engines)),
            *(repeat(console.work, 0.5, end, broke) for console in consoles),
            repeat(lambda number: entries.append(_entry(places[0], number)), 5.0, end, broke),
        ]
        restarts = threading.Thread(target=_restarts, args=(server, end, minutes * 60))
        restarts.start()
        for thread in (*threads, restarts):
            thread.join()
        for terminal in terminals:
            terminal.drain(1.0)
            terminal.send("q")
            terminal.wait_end()
        dreams.send_signal(signal.SIGTERM)
        said = dreams.communicate()[0]
        for engine in engines:
            engine.process.communicate()
    return told_of(places, engines, consoles, entries, said, broke, minutes)


def _nanomem(place: Path) -> list[str]:
    return [sys.executable, "-W", "ignore", "-m", "nanomem_tui", "--workspace", str(place)]


@contextlib.contextmanager
def _serving(place: Path) -> Any:
    process = subprocess.Popen([*_nanomem(place), "turn", "serve"], stdin=-1, stdout=-1, text=True)
    try:
        yield process
    finally:
        process.kill()


def _numbered(engine: Engine, at: int) -> Any:
    """Each agent speaks of other things, in chats of its own."""
    return lambda number: engine.work(at + 1_000_000 * (at + 1) + number * 10, may_refuse=True)


def _entry(place: Path, number: int) -> str:
    """A new entry of the archive, as an agent appends it: a fact that a Dream takes up."""
    text = f"- [correction] Code of gate {number}: green-{number * 7919}"
    path = place / "memory" / "history.jsonl"
    line = {"cursor": number, "timestamp": time.strftime("%Y-%m-%d %H:%M"), "content": text}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return f"green-{number * 7919}"


def _restarts(server: PostgresServer, end: float, seconds: float) -> None:
    """Kill it at a third and at two thirds, and start it anew."""
    for part in (2 / 3, 1 / 3):
        while time.monotonic() < end - part * seconds:
            time.sleep(0.2)
        os.kill(server.server.get_pid(), signal.SIGKILL)
        time.sleep(AWAY)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.server.ensure_postgres_running()


def told_of(
    places: list[Path], engines: list[Engine], consoles: list[Console], entries: list[str], said: str,
    broke: list[str], minutes: float,
) -> dict[str, Any]:  # fmt: skip
    """The table, and what of it is not as it must be."""
    for place in places:  # what waits in RAM is written
        with open_workspace(place) as ws:
            ws.items.all()
            ws.flush()
    failed = list(broke)
    with open_workspace(places[0]) as ws:
        texts = "\n".join(item.text for item in ws.items.all())
        remembered = [one for engine in engines for one in engine.remembered]
        lost = [one for one in remembered if one not in texts]
        doubled = [one for one in remembered if texts.count(one + ".") > 1]
        log = ws.log(limit=1_000_000)
        ids = Counter(entry.operation.id for entry in log)
        stand, unexplained = left_standing(ws)
        off = [item.id for item in ws.items.all() if not item.enabled and item.id not in stand]
        memory = "\n".join(ws.documents.read(name) or "" for name in ("SOUL.md", "USER.md", "memory/MEMORY.md"))
        dreamt = [one for one in entries if one in memory]
        twice = [one for one in entries if len(re.findall(rf"{one}\b", memory)) > 1]
        commits = [commit for commit in ws.dream.commits() if commit.is_dream]
        cursors = Counter(commit.cursor_after for commit in commits)
    failed += [f"{len(lost)} of {len(remembered)} lost: remembered by agents"] if lost else []
    failed += [f"{len(doubled)} doubled: remembered by agents: {doubled[:3]}"] if doubled else []
    failed += [f"{len(off)} items are disabled that were taken back: {off[:3]}"] if off else []
    several = [one for one, n in ids.items() if n > 1]
    failed += [f"operations twice in the log: {several[:3]}"] if several else []
    failed += [f"{one}: taken back, and stands" for one in unexplained]
    undone, told = undone_and_redone(places)
    failed += [told] if told else []
    failed += [f"dreamt twice: {twice[:3]}"] if twice else []
    again = [one for one, n in cursors.items() if n > 1]
    failed += [f"two Dreams ended at one entry: {again}"] if again else []
    return {
        "minutes": minutes, "turns": sum(len(engine.turns) for engine in engines), "remembered": len(remembered),
        "refused while it was away": sum(engine.refused for engine in engines),
        "lost": len(lost), "doubled": len(doubled), "operations": len(log), "Dreams": len(commits),
        "entries dreamt": len(dreamt), "of": len(entries), "undone and redone on three machines": undone,
        "taken back while another decided": len(stand),
        "console": {"keys": sum(one.keys for one in consoles), "disabled": sum(one.disabled for one in consoles)},
        "turn ms": _spread([ms for engine in engines for ms in engine.ms]), "schedule said": said[-300:],
        "failed": failed,
    }  # fmt: skip


def undone_and_redone(places: list[Path]) -> tuple[int, str]:
    """Change twenty items on one machine, take that back on another one, make it again on a third, take it back: how
    many, and what was not as it must be."""
    here, there, third = (open_workspace(place) for place in places[:3])
    try:
        before = _items(here)
        keys = list(before)[:20]
        for key in keys:
            here.items.set_enabled([key], False)
        here.flush()
        for ws, do, enabled in ((there, there.undo, True), (third, third.redo, False), (there, there.undo, True)):
            for _ in keys:
                do()
            ws.flush()
            for one in (here, there, third):
                one.refresh()
                if any(bool(row.enabled) != enabled for key, row in _items(one).items() if key in keys):
                    return len(keys), f"{do.__name__} of 20 changes is not seen everywhere"
        changed = [key for key, row in _items(there).items() if row != before[key]]
        return len(keys), f"undo left something of {changed[:3]}" if changed else ""
    except NanomemError as error:
        return 0, error.line()
    finally:
        for ws in (here, there, third):
            ws.close()


def left_standing(ws: Workspace) -> tuple[set[str], list[str]]:
    """Changes of persons that they took back and that stand: somebody else decided on the same item before that. The
    items, and the changes of which no later one tells that."""
    wrong: list[str] = []
    entries = [one for one in ws.log(limit=1_000_000) if one.operation.actor == "human" and not one.undone]
    standing = [one for one in entries if one.operation.kind == "items.disable"]
    touched: set[str] = set()
    for one in standing:
        keys = {change.key for change in one.operation.changes}
        touched |= keys
        later = [
            other for key in keys for other in ws.log(limit=1_000, key=key) if other.operation.at > one.operation.at
        ]
        wrong += [] if later else [one.operation.label]
    return touched, wrong


def _items(ws: Workspace) -> dict[str, Any]:
    return {item.id: item._replace(revision=0, updated_at="") for item in ws.items.all()}


def _spread(ms: list[float]) -> dict[str, float]:
    ordered = sorted(ms) or [0.0]
    return {"p50": ordered[len(ordered) // 2], "p99": ordered[int(len(ordered) * 0.99)], "max": ordered[-1]}


if __name__ == "__main__":
    sys.exit(main())
