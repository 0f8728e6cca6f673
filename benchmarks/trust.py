"""What is lost, side by side: acknowledged writes of nanomem and of nanobot-ai, under the same harm.

    python benchmarks/trust.py [--trials 40] [--nanobot .peers/nanobot-0.3.5/bin/python] [--json FILE]

A writer is a process of its own that says each entry once its call came back: from then on it is acknowledged. What a
new process can read afterwards is what is left of it. `kill`: SIGKILL at a random moment. `tail`: half a line at the
end of what is appended to, as a kill inside of a write leaves it, and one write more. `byte`: a byte in the middle of a
file becomes 0xFF, what our doctor offers is done, and one write more. `two`: two writers at once. `full`: files may not
grow beyond a size. nanobot is asked by its own `MemoryStore` (history.jsonl by `append_history`, MEMORY.md by
`write_memory`), nanomem by `open_workspace`.

Of nanomem alone: `faults`: each of its writers, from one change to `scrub`, killed before, inside and after calls that
change a file, with the disk failing, full or writing half, and with the power cut. `damaged`: every file of a memory,
damaged in ten ways. `backups`: a byte changed, or the end cut off. `beside`: the stores of releases of nanobot and a
person, at full speed for some seconds each. `hidden`: conversations of nanobot 0.1.5 that 0.3.5 no longer finds.
`forget`: a text planted in every layer, and the files in which its bytes are found after `forget`. `orders`, `plain`:
the 118 attacks of bastioncorpus and 20 false facts by seven ways in, where one sender may teach. `fence`: both, and 26
ends of the block, in each of its parts. `secrets`, `alike`: 44 kinds and 1,000 values made by rule. `escapes`: every
command, and every key of every screen, with hostile words in all that they show. `keys`: 57 names by 18 ways in.
`traps`: pipes, sockets, devices, folders and links in the place of files. `hooks`: a repository that names programs of
its own. `open`: what others could read of what all commands make. `spoiled`: real files flipped, cut, spliced and
repeated. nanobot has none of these to compare: MEMORY.md and the archive take what the model writes. Exits with 1 where
nanomem lost something. The JSON has the counts, and the words of each row; the README's rows of trust are made from it
(`scripts/bench.py trust`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import _intruders
import _neighbours
import _promises

ROOT = Path(__file__).resolve().parents[1]
OURS = """
import sys
sys.path.insert(0, sys.argv[4])
from nanomem_tui import open_workspace
with open_workspace(sys.argv[1]) as ws:
    if sys.argv[2] == "read":
        print("\\n".join(item.text for item in ws.items.all()), flush=True)
    else:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(sys.argv[3])):
            ws.items.add(f"entry {sys.argv[2]}-{number} is kept")
            print(f"entry {sys.argv[2]}-{number} is kept", flush=True)
"""
HISTORY = """
import sys
from pathlib import Path
from nanobot.agent.memory import MemoryStore
store = MemoryStore(Path(sys.argv[1]))
if sys.argv[2] == "read":
    print("\\n".join(str(one.get("content")) for one in store.read_unprocessed_history(0)), flush=True)
else:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        store.append_history(f"entry {sys.argv[2]}-{number} is kept")
        print(f"entry {sys.argv[2]}-{number} is kept", flush=True)
"""
MEMORY = HISTORY.replace(
    'print("\\n".join(str(one.get("content")) for one in store.read_unprocessed_history(0)), flush=True)',
    "print(store.read_memory(), flush=True)",
).replace(
    'store.append_history(f"entry {sys.argv[2]}-{number} is kept")',
    'store.write_memory(store.read_memory() + f"entry {sys.argv[2]}-{number} is kept\\n")',
)


class System(NamedTuple):
    """One thing that keeps entries: its interpreter and program, and the files that it writes."""

    name: str
    python: str
    program: str
    files: Callable[[Path], list[Path]]

    def start(self, home: Path, *line: str, limit: int = 0) -> subprocess.Popen[str]:
        """A process of it; `limit`: the bytes that a file may have."""
        import resource

        def bounded() -> None:
            if limit:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        words = [self.python, "-c", self.program, str(home), *line, *["0"] * (2 - len(line)), str(ROOT)]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(words, stdin=-1, stdout=-1, stderr=quiet, text=True, preexec_fn=bounded)  # noqa: PLW1509  no threads
        if line[0] != "read" and process.stdout is not None:
            process.stdout.readline()  # it is ready, and waits
        return process

    def write(self, home: Path, name: str, number: int, limit: int = 0) -> set[str]:
        """Write so many entries; those that were acknowledged."""
        return said(self.start(home, name, str(number), limit=limit))

    def read(self, home: Path) -> set[str]:
        """What a new process reads."""
        process = self.start(home, "read")
        found = said(process)
        assert process.returncode == 0 or self.program is not OURS, "nanomem could not read"
        return found


def said(process: subprocess.Popen[str], wait: float = 0.0, first: int = 0) -> set[str]:
    """The entries that a process tells; with `first` it is killed some seconds after so many of them."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    found = {process.stdout.readline().strip() for _ in range(first)}
    if first:
        time.sleep(wait)
        process.kill()
    found |= set(process.communicate()[0].split("\n"))
    return {line for line in found if line.endswith("kept")}


def kill(system: System, folder: Path, random_: random.Random) -> tuple[int, int]:
    """Acknowledged and lost."""
    home = _promises.new_home(folder)
    told = said(system.start(home, "k", "100000"), random_.uniform(0.0, 0.25), 1)
    return len(told), len(told - system.read(home))


def tail(system: System, folder: Path, random_: random.Random) -> tuple[int, int]:
    """Acknowledged and lost."""
    home = _promises.new_home(folder)
    told = said(system.start(home, "a", "100000"), 0.0, 5)
    for path in system.files(home):
        line = path.read_bytes().rstrip(b"\n").rpartition(b"\n")[2]
        with path.open("ab") as file:
            file.write(line[: random_.randrange(1, max(2, len(line)))])
    told |= system.write(home, "b", 1)
    return len(told), len(told - system.read(home))


def byte(system: System, folder: Path, random_: random.Random) -> tuple[int, int]:
    """Acknowledged and lost, but for the entry that the byte is of."""
    home = _promises.new_home(folder)
    told = said(system.start(home, "a", "100000"), 0.0, 8)
    path = random_.choice(system.files(home))
    data = bytearray(path.read_bytes())
    if data:  # a kill can leave nothing of MEMORY.md
        data[random_.randrange(len(data))] = 0xFF
    path.write_bytes(data)
    if system.program is OURS:  # a person does what it says
        doctor = [sys.executable, "-m", "nanomem_tui", "--workspace", str(home), "doctor", "--fix", "--yes"]
        subprocess.run(doctor, cwd=ROOT, capture_output=True, check=False)
    told |= system.write(home, "b", 1)
    return len(told), max(0, len(told - system.read(home)) - 1)


def two(system: System, folder: Path, random_: random.Random) -> tuple[int, int]:
    """Acknowledged and lost."""
    home = _promises.new_home(folder)
    number = str(random_.randrange(60, 90))
    writers = [system.start(home, name, number) for name in "ab"]
    for process in writers:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    told = {line for process in writers for line in process.communicate()[0].split("\n") if line.endswith("kept")}
    return len(told), len(told - system.read(home))


def full(system: System, folder: Path, random_: random.Random) -> tuple[int, int]:
    """Acknowledged and lost."""
    home = _promises.new_home(folder)
    told = system.write(home, "a", 20)
    size = max((path.stat().st_size for path in home.rglob("*") if path.is_file()), default=0)
    told |= system.write(home, "b", 400, limit=size + random_.randrange(100, 4000))
    return len(told), len(told - system.read(home))


HARM: dict[str, Callable[[System, Path, random.Random], tuple[int, int]]] = {
    "kill": kill, "tail": tail, "byte": byte, "two": two, "full": full,
}  # fmt: skip
Counts = dict[str, dict[str, tuple[int, int]]]
"""Harm → system → acknowledged and lost, or tried and broken."""
NAMED = {
    "kill": "`kill -9` at a random moment: writes lost",
    "tail": "a torn tail, then a write: lost",
    "byte": "a byte becomes 0xFF: other entries lost",
    "two": "two writers at once: lost",
    "full": "files cannot grow: acknowledged, and lost",
    "faults": "{writers} writers killed at a call, or its disk failing, full, or without power: lost or half done",
    "damaged": "files of a memory damaged in ten ways: cost more than is told, or not put right",
    "backups": "damaged backups: taken for whole",
    "beside": "written by real agents and by a person beside them, at full speed: lost",
    "hidden": "conversations that an upgrade of nanobot-ai hides: not found after `session rescue`",
    "forget": "`forget`: files that still hold it",
    "orders": "orders to the model from tools, answers, strangers, replies, pasted texts: active without a person",
    "plain": "plain false facts by the same ways: active without a person",
    "fence": "texts in the block before the model: a careless agent obeyed",
    "secrets": "kinds of secrets said in a turn: open in a file afterwards",
    "alike": "values that only look like secrets: taken for one",
    "escapes": "commands and screens that show hostile words: sent the terminal a control",
    "keys": "chats, ids and names such as `../../x`: files outside of the home touched",
    "traps": "commands among pipes, sockets, devices and links in the place of files: hung or broke",
    "hooks": "commands in a repository with hooks, filters and programs of its own: ran one",
    "open": "files and folders that commands made, at three umasks: readable by others",
    "spoiled": "spoiled files of {kinds} kinds: brought a parser down",
}


def main() -> int:
    """Count, print, and keep where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--nanobot", default=".peers/nanobot-0.3.5/bin/python")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    systems = systems_of(ROOT / options.nanobot)
    with tempfile.TemporaryDirectory() as name:
        os.environ["HOME"] = name
        found = {**beside(systems, Path(name), options.trials), **alone(Path(name), options.trials)}
    named = {harm: words.format(**_promises.numbers()) for harm, words in NAMED.items()}
    for harm, counts in found.items():
        told = "; ".join(f"{name} {lost:,} of {tried:,}" for name, (tried, lost) in counts.items())
        print(f"{named[harm]}: {told}")
    left_out = {} if len(systems) > 1 else {"nanobot-ai": "not installed: `make peers`"}
    for who, why in left_out.items():
        print(f"{who} is left out: {why}")
    if options.json:
        body = {"seed": "the names of the row and the system", "runs": options.trials, "left out": left_out}
        options.json.write_text(json.dumps({**body, "named": named, "lost": found}, indent=1) + "\n")
    return int(any(counts["nanomem"][1] for counts in found.values()))


def systems_of(nanobot: Path) -> list[System]:
    """Ours, and nanobot's two where it is installed."""
    systems = [System("nanomem", sys.executable, OURS, _files)]
    if nanobot.exists():
        python = str(nanobot)
        systems.append(System("nanobot-ai history", python, HISTORY, lambda home: [home / "memory" / "history.jsonl"]))
        systems.append(System("nanobot-ai MEMORY.md", python, MEMORY, lambda home: [home / "memory" / "MEMORY.md"]))
    return systems


def beside(systems: list[System], folder: Path, trials: int) -> Counts:
    """What each system loses under the same harm."""
    found: Counts = {}
    for harm, work in HARM.items():
        for system in systems:
            random_ = random.Random(f"{harm} {system.name}")
            counts = [work(system, folder, random_) for _ in range(trials)]
            found.setdefault(harm, {})[system.name] = (sum(a for a, _ in counts), sum(b for _, b in counts))
            print(harm, system.name, *found[harm][system.name], flush=True)
    return found


def alone(folder: Path, trials: int) -> Counts:
    """What nobody else has to compare with."""
    ours: dict[str, tuple[int, int] | None] = {
        "faults": _promises.faults(folder),
        "damaged": _neighbours.damaged(folder),
        "backups": _neighbours.backups(folder, trials * 25, random.Random("backups")),
        "beside": _neighbours.beside(folder),
        "forget": _promises.forget(folder),
        **_promises.poison(folder),
        "escapes": _intruders.escapes(folder),
        "keys": _promises.keys(folder),
        "traps": _intruders.traps(folder),
        "hooks": _intruders.hooks(folder),
        "open": _intruders.open_to_others(folder),
        "spoiled": _promises.spoil(folder),
    }
    found: Counts = {name: {"nanomem": count} for name, count in ours.items() if count is not None}
    if (hidden := _neighbours.hidden(folder)) is not None:
        found["hidden"] = hidden
    return {name: found[name] for name in NAMED if name in found}


def _files(home: Path) -> list[Path]:
    """What a change of ours is appended to."""
    return [path for name in ("nanomem.db-wal", "operations.jsonl") for path in home.rglob(name)]


if __name__ == "__main__":
    sys.exit(main())
