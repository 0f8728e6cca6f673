"""Versions of the memory files: ours beside git and beside nanobot's own store, on one repository of --commits commits.

    python benchmarks/git_speed.py [--commits 2000] [--layout loose|packed|both] [--nanobot PYTHON] [--json FILE]

commit, diff and log beside nanobot's `GitStore` (`--nanobot`: a Python that has nanobot-ai) and git; blame beside
`git blame`, inside a process and as a command. `loose` is what an agent's repository looks
like, `packed` what `git gc` makes of it. Every figure is the median of runs taken in turns. `the disk` is a program
that writes the files of a commit and waits for the disk as ours does, and does nothing else.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
FILES = {"SOUL.md": 20, "USER.md": 40, "memory/MEMORY.md": 150}
BLAMED = "memory/MEMORY.md"
SEED = 3
ENVIRONMENT = dict(
    os.environ, GIT_AUTHOR_NAME="n", GIT_AUTHOR_EMAIL="n@d", GIT_COMMITTER_NAME="n", GIT_COMMITTER_EMAIL="n@d",
    GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1",
)  # fmt: skip
GOALS = {  # row → (ours, the other, the most that ours may take of the other's time)
    "commit": ("nanobot", 0.3),
    "diff": ("nanobot", 0.05),
    "log": ("nanobot", 1.0),
    "blame cold": ("git", 20.0),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--commits", type=int, default=2000)
    parser.add_argument("--layout", choices=["loose", "packed", "both"], default="both")
    parser.add_argument("--nanobot", type=Path, help="a Python that has nanobot-ai")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--read-only", action="store_true", help="log and diff alone")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--assert", action="store_true", dest="judge", help="fail when a figure is over its goal")
    options = parser.parse_args()
    layouts = ["loose", "packed"] if options.layout == "both" else [options.layout]
    document: dict[str, object] = {"commits": options.commits, "seed": SEED, "runs": options.runs}
    if options.nanobot is None:
        document["left out"] = {"nanobot-ai": "no Python that has it was named: `make peers`"}
        print("nanobot-ai is left out: `make peers`, and --nanobot .peers/nanobot-0.3.5/bin/python")
    over = 0
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
        base = Path(folder) / "base" / "workspace"
        build(base, options.commits)
        for layout in layouts:
            home = Path(folder) / layout
            shutil.copytree(base.parent, home)
            if layout == "loose":
                unpack(home / "workspace")
            figures = measure(home, options.runs, options.nanobot, reads=options.read_only)
            document[layout] = figures
            over += tell(layout, options.commits, figures)
    print(json.dumps(document))
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return int(options.judge and over > 0)


def tell(layout: str, commits: int, figures: dict[str, dict[str, float]]) -> int:
    """Print a table; returns how many figures are over their goal."""
    print(f"{layout}, {commits:,} commits (milliseconds; ratio of ours to the other)\n")
    print(
        f"  {'':34} {'ours':>9} {'git':>9} {'nanobot':>9} {'the disk':>9} {'to git':>8} {'to nanobot':>11} {'goal':>16}"
    )
    over = 0
    for name, row in figures.items():
        named = next((goal for goal in GOALS if name == goal), "")
        other, most = GOALS.get(named, ("", 0.0))
        ratios = {who: row["ours"] / row[who] if row.get(who) else None for who in ("git", "nanobot")}
        over += bool(named and ratios.get(other) is not None and (ratios[other] or 0) > most)
        cells = [f"{row[who]:9.2f}" if who in row else f"{'':9}" for who in ("ours", "git", "nanobot", "disk")]
        shown = [f"{ratio:.3g}" if ratio is not None else "" for ratio in ratios.values()]
        print(
            f"  {name:34} {' '.join(cells)} {shown[0]:>8} {shown[1]:>11} {f'{most:g} of {other}' if named else '':>16}"
        )
    print()
    return over


# The repository


class Edits:
    """Three memory files that change by a few lines at a time."""

    def __init__(self, seed: int = SEED) -> None:
        self.dice = random.Random(seed)
        self.lines = {name: [f"# {name}", "", *(self.line() for _ in range(count))] for name, count in FILES.items()}

    def line(self) -> str:
        words = (
            "amber quiet river window tea winter cargo north signal paper dinner market garden letter copper".split()
        )
        return f"- {' '.join(self.dice.choices(words, k=self.dice.randint(5, 16)))} {self.dice.randint(1, 9999)}"

    def data(self, name: str) -> bytes:
        return ("\n".join(self.lines[name]) + "\n").encode()

    def edit(self) -> str:
        name = self.dice.choices(list(FILES), (1, 2, 5))[0]
        lines = self.lines[name]
        for _ in range(self.dice.choice((1, 1, 2, 3))):
            at, kind = self.dice.randrange(2, len(lines)), self.dice.random()
            if kind < 0.5:
                lines[at] = self.line()
            elif kind < 0.75 or len(lines) < 10:
                lines.insert(at, self.line())
            else:
                del lines[at]
        return name


def git(workspace: Path, *words: str, data: bytes | None = None) -> bytes:
    line = ["git", "-C", str(workspace), *words]
    return subprocess.run(line, input=data, capture_output=True, check=True, env=ENVIRONMENT).stdout


def build(workspace: Path, commits: int) -> None:
    """A repository of that many commits, by git's own fast-import."""
    (workspace / "memory").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "master", str(workspace)], check=True, env=ENVIRONMENT)
    edits, stream, changed = Edits(), io.BytesIO(), set(FILES)
    for number in range(commits):
        message = f"dream: periodic memory consolidation {number}".encode()
        person = b"nanobot <nanobot@dream> %d +0000" % (1_767_225_600 + number * 7200)
        stream.write(b"commit refs/heads/master\nmark :%d\ncommitter %s\n" % (number + 1, person))
        stream.write(b"data %d\n%s\n" % (len(message), message))
        if number:
            stream.write(b"from :%d\n" % number)
        for name in sorted(changed):
            data = edits.data(name)
            stream.write(b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(data), data))
        stream.write(b"\n")
        changed = {edits.edit()}
    git(workspace, "fast-import", "--quiet", data=stream.getvalue())
    git(workspace, "reset", "-q", "--hard")


def unpack(workspace: Path) -> None:
    """Every object in a file of its own."""
    packs = workspace / ".git/objects/pack"
    aside = workspace.parent / "packs"
    shutil.move(packs, aside)
    packs.mkdir()
    for pack in aside.glob("*.pack"):
        git(workspace, "unpack-objects", "-q", data=pack.read_bytes())
    shutil.rmtree(aside)


# The figures


def measure(home: Path, runs: int, nanobot: Path | None, *, reads: bool) -> dict[str, dict[str, float]]:
    """The rows of one layout: milliseconds by who."""
    from nanomem_tui.agents.git_history import GitHistory

    workspace = home / "workspace"
    commits = git(workspace, "log", "--format=%H").decode().split()
    middle = commits[len(commits) // 2]
    rows: dict[str, dict[str, float]] = {}

    def log() -> None:
        history = GitHistory(workspace / ".git")
        assert [(c.short, c.at, c.subject) for c in history.commits()]
        history.close()

    def diff() -> None:
        history = GitHistory(workspace / ".git")
        assert [file.unified() for file in history.diff(middle)]
        history.close()

    theirs = Nanobot(home, nanobot, middle) if nanobot is not None else None

    def also(name: str) -> dict[str, Callable[[], object]]:
        return {"nanobot": partial(theirs.do, name)} if theirs else {}

    try:
        rows["log"] = turns(runs, ours=log, git=lambda: git(workspace, "log", "--format=%h %ct %s"), **also("log"))
        rows["diff"] = turns(runs, ours=diff, git=lambda: git(workspace, "show", middle), **also("diff"))
        if reads:
            return rows
        rows["commit"] = commit_row(home, 3 * runs, also("commit"))
    finally:
        if theirs:
            theirs.process.kill()
            theirs.process.wait()
    return {**rows, **blame_rows(home, runs)}


def turns(runs: int, **work: Callable[[], object]) -> dict[str, float]:
    """The median milliseconds of each, taken in turns after one to warm up, and of ours and git's the least of the
    processor; work that times itself returns seconds."""
    times: dict[str, list[float]] = {name: [] for name in work}
    used: dict[str, list[float]] = {name: [] for name in work if name in {"ours", "git"}}
    for turn in range(runs + 1):
        for name, do in work.items():
            begun = processor()
            taken = timed(do)
            if turn:
                times[name].append(taken * 1000)
                used.get(name, []).append((processor() - begun) * 1000)
    cpu = {f"{name} cpu": min(taken) for name, taken in used.items()}
    return {**{name: statistics.median(taken) for name, taken in times.items()}, **cpu}


def processor() -> float:
    """Seconds of the processor that this process and those that it waited for have used."""
    rows = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(row.ru_utime + row.ru_stime for row in rows)


def timed(do: Callable[[], object]) -> float:
    """The seconds that it takes, or says that it took."""
    started = time.perf_counter()
    said = do()
    return said if isinstance(said, float) else time.perf_counter() - started


def commit_row(home: Path, runs: int, also: dict[str, Callable[[], object]]) -> dict[str, float]:
    """A commit of one changed file, each in a copy of its own; only ours is on the disk when it returns.

    What the one before left for the disk is written first, untimed: the next to wait would pay for it.
    """
    from nanomem_tui.agents.git_history import GitHistory

    places = {name: home / f"commit-{name}" for name in ("ours", "git", "disk")}
    for place in places.values():
        shutil.copytree(home / "workspace", place)
    edits = Edits(7)
    history = GitHistory(places["ours"] / ".git")

    def ours() -> None:
        name = edits.edit()
        history.commit_files({name: edits.data(name)}, "dream: x")

    def theirs() -> None:
        name = edits.edit()
        (places["git"] / name).write_bytes(edits.data(name))
        git(places["git"], "add", "-A")
        git(places["git"], "commit", "-q", "-m", "dream: x")

    work = {"ours": ours, "git": theirs, "disk": partial(disk_alone, places["disk"] / ".git"), **also}
    return turns(runs, **{name: partial(settled, do) for name, do in work.items()})


def settled(do: Callable[[], object]) -> float:
    """The seconds of `do` when nothing else is left for the disk."""
    os.sync()
    return timed(do)


def disk_alone(folder: Path) -> None:
    """Write four objects, an index and a branch; wait for their contents, the objects' names, the branch's name."""
    names = [os.urandom(20).hex() for _ in range(4)]
    files = {
        f"objects/{name[:2]}/{name[2:]}": b"x" * size for name, size in zip(names, (3000, 150, 120, 60), strict=True)
    }
    files |= {"nanomem-index": b"x" * 300, "refs/heads/nanomem": b"x" * 41}
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        with open(f"{path}.tmp", "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(f"{path}.tmp", path)
    for parent in {(folder / name).parent for name in files if "/" in name}:
        handle = os.open(parent, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


def blame_rows(home: Path, runs: int) -> dict[str, dict[str, float]]:
    """Blame of one file, inside a process and as a command."""
    from nanomem_tui.workspace import open_workspace

    workspace = home / "workspace"
    (home / "config.json").write_text("{}")

    def theirs() -> bytes:
        return git(workspace, "blame", "--line-porcelain", BLAMED)

    def ours() -> list[str | None]:
        with open_workspace(workspace) as ws:
            return [line.sha for line in ws.dream.blames.blame(BLAMED)]

    def command() -> None:
        line = [sys.executable, "-m", "nanomem_tui", "blame", BLAMED, "--workspace", str(workspace)]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)})

    return {
        "blame cold": turns(max(3, runs // 2), ours=ours, git=theirs),
        "blame cold, as a command": turns(runs, ours=command, git=theirs),
    }


THEIRS = """
import sys, time
from pathlib import Path
from loguru import logger
logger.remove()
sys.path.insert(0, sys.argv[4])
from git_speed import FILES, Edits
from nanobot.utils.gitstore import GitStore

root, middle, parent = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
store, edits = GitStore(root, list(FILES)), Edits(7)

def commit():
    name = edits.edit()
    (root / name).write_bytes(edits.data(name))
    assert store.auto_commit("dream: x")

work = {"log": lambda: store.log(10**9), "diff": lambda: store.diff_commits(parent[:8], middle[:8]), "commit": commit}
for line in sys.stdin:
    started = time.perf_counter()
    work[line.strip()]()
    print(time.perf_counter() - started, flush=True)
"""


class Nanobot:
    """nanobot's own store in a process of its own, in a copy; each answer is the seconds that it took."""

    def __init__(self, home: Path, python: Path, middle: str) -> None:
        place = home / "nanobot"
        shutil.copytree(home / "workspace", place)
        parent = git(place, "rev-parse", f"{middle}^").decode().strip()
        words = [str(python), "-c", THEIRS, str(place), middle, parent, str(ROOT / "benchmarks")]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=ENVIRONMENT
        )

    def do(self, name: str) -> float:
        """Do one thing, and say how long it took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


if __name__ == "__main__":
    sys.exit(main())
