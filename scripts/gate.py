"""The gate on ratios: programs at small sizes, each ratio beside the one that is committed in benchmarks/gate.json.

    scripts/bench.py --gate           # exit code 1, and a line for each ratio that is too large
    scripts/bench.py --gate --keep    # write the ratios of this machine as the expected ones

Owns which ratios are looked at and when one is too large; the programs measure. Both sides of a ratio are time of the
processor, taken in one run, so that other programs on the machine change it little. A ratio that is too large is
measured again, and its least counts: noise makes a ratio larger now and then, a slower program makes it larger always.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = ROOT / "benchmarks" / "gate.json"
ROUNDS = 3
Figures = dict[str, Any]
Measuring = Callable[[str, list[str]], Figures]


class Ratio(NamedTuple):
    """One ratio: the program that it is from, and how it is found in what that one keeps."""

    program: str
    found: Callable[[Figures], float]


WORDS = {  # program → its options here
    "cli_start": ["--items", "2000", "--runs", "9"],
    "turn_speed": ["--items", "1000", "--rounds", "20"],
    "recall_speed": ["--n", "10000", "--passes", "5"],
    "keeping_speed": ["--n", "10000", "--rounds", "7"],
    "git_speed": ["--commits", "300", "--layout", "loose", "--runs", "9", "--read-only"],
}


def _start(name: str) -> Callable[[Figures], float]:
    return lambda found: float(found[name]["least_cpu_ratio"])


def _update(found: Figures) -> float:
    ours, floor = found["least (ours, floor)"]["1000"]["update in RAM"]
    return float(ours / floor)


def _question(found: Figures) -> float:
    engines = found["items"]["10000"]
    return float(engines["nanomem"]["ask cpu ms"] / engines["FTS5 porter"]["ask cpu ms"])


def _kept(name: str, floor: str) -> Callable[[Figures], float]:
    def told(found: Figures) -> float:
        row = found["ms"]["10000"]
        return float(row[f"{name}, least processor"] / row[f"{floor}, least processor"])

    return told


def _versions(name: str) -> Callable[[Figures], float]:
    return lambda found: float(found["loose"][name]["ours cpu"] / found["loose"][name]["git cpu"])


RATIOS = {
    "nanomem --version, of bare Python": Ratio("cli_start", _start("--version")),
    "memory status, of bare Python": Ratio("cli_start", _start("memory status")),
    "memory search, of bare Python": Ratio("cli_start", _start("memory search")),
    "update in RAM, of JSON and one write": Ratio("turn_speed", _update),
    "recall at 10k, of FTS5": Ratio("recall_speed", _question),
    "checkpoint of 100 used at 10k, of the JSON rewrite": Ratio(
        "keeping_speed", _kept("checkpoint, used", "JSON rewrite")
    ),
    "checkpoint of 100 edited at 10k, of the JSON rewrite": Ratio(
        "keeping_speed", _kept("checkpoint, edited", "JSON rewrite")
    ),
    "open to a first answer at 10k, of a full read": Ratio(
        "keeping_speed", _kept("open until a first answer", "full read")
    ),
    "git log, of git's": Ratio("git_speed", _versions("log")),
    "git diff, of git's": Ratio("git_speed", _versions("diff")),
}


def judged(expected: Figures, measure: Measuring, say: Callable[[str], None] = print) -> list[str]:
    """A line for each ratio that stays more than the tolerance above the expected one. Programs whose ratios are within
    it are run once, others up to `ROUNDS` times."""
    least: dict[str, float] = {}
    wanted = dict.fromkeys(RATIOS[name].program for name in expected["ratios"])
    for _ in range(ROUNDS):
        for program in wanted:
            found = measure(program, WORDS[program])
            for name in _of(program, expected):
                least[name] = min(RATIOS[name].found(found), least.get(name, float("inf")))
        over = [name for name in expected["ratios"] if _excess(name, least, expected) > expected["tolerance"]]
        wanted = dict.fromkeys(RATIOS[name].program for name in over)
        if not wanted:
            break
    for name, ratio in least.items():
        say(f"  {name:54}{ratio:9.4f} ×{expected['ratios'][name]:10.4f} ×{_excess(name, least, expected):8.2f} of it")
    return [_line(name, least, expected) for name in over]


def _of(program: str, expected: Figures) -> list[str]:
    return [name for name in expected["ratios"] if RATIOS[name].program == program]


def _excess(name: str, least: dict[str, float], expected: Figures) -> float:
    return least[name] / float(expected["ratios"][name])


def _line(name: str, least: dict[str, float], expected: Figures) -> str:
    program = RATIOS[name].program
    return (
        f"gate: {name}: {least[name]:.4g} × is {_excess(name, least, expected):.2f} of the committed "
        f"{expected['ratios'][name]:.4g} ×, at most {expected['tolerance']:g} is let through; see "
        f"benchmarks/{program}.py {' '.join(WORDS[program])}"
    )


def by_words() -> dict[str, str]:
    """The environment of a benchmark: recall by words, also where a model is installed; what measures meaning asks for
    it itself."""
    return {"NANOMEM_RECALL_BACKEND": "ram", **os.environ}


def run(program: str, words: list[str]) -> Figures:
    """What a program found. Raises SystemExit where it fails."""
    with tempfile.TemporaryDirectory(prefix="nanomem-gate-") as folder:
        kept = Path(folder, "figures.json")
        line = [sys.executable, str(ROOT / "benchmarks" / f"{program}.py"), *words, "--json", str(kept)]
        done = subprocess.run(
            line, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False, env=by_words()
        )
        if done.returncode or not kept.exists():
            raise SystemExit(f"gate: benchmarks/{program}.py failed:\n{done.stdout}{done.stderr}")
        return dict(json.loads(kept.read_bytes()))


def main(*, keep: bool = False) -> int:
    """Judge, or with `keep` write what is expected; the number of ratios that are too large."""
    expected = json.loads(EXPECTED.read_bytes())
    if keep:
        expected["ratios"] = measured()
        EXPECTED.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
        return 0
    print(f"  {'ratios, of the processor time':54}{'measured':>11}{'committed':>12}")
    lines = judged(expected, run)
    for line in lines:
        print(line, file=sys.stderr)
    return len(lines)


def measured(rounds: int = ROUNDS) -> dict[str, float]:
    """The median of each ratio."""
    found = [{program: run(program, words) for program, words in WORDS.items()} for _ in range(rounds)]
    return {
        name: float(f"{statistics.median(ratio.found(one[ratio.program]) for one in found):.3g}")
        for name, ratio in RATIOS.items()
    }
