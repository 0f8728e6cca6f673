"""The gate on ratios lets noise through and nothing that is twice as slow."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import gate
from tests.hygiene.repository import ROOT

EXPECTED = json.loads(gate.EXPECTED.read_bytes())
Factor = Callable[[str, int], float]
SLOWED = """
import runpy, sys, time
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/benchmarks"]
from nanomem_tui.store.memory_store import MemoryStore
done = MemoryStore.perform

def twice(self, *given, **named):
    begun = time.process_time()
    found = done(self, *given, **named)
    until = 2 * time.process_time() - begun
    while time.process_time() < until:
        pass
    return found

if sys.argv[2] == "slowed":
    MemoryStore.perform = twice
sys.argv = [sys.argv[1] + "/benchmarks/turn_speed.py", *sys.argv[3:]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Programs:
    """Stand in for the programs: what was committed, times a factor by the ratio's name and how often it was asked."""

    def __init__(self, factor):
        self.factor, self.asked = factor, dict.fromkeys(gate.WORDS, 0)

    def __call__(self, program, words):
        assert words == gate.WORDS[program]
        self.asked[program] += 1
        return figures(program, lambda name: EXPECTED["ratios"][name] * self.factor(name, self.asked[program]))


def figures(program, of):
    """What a program keeps where its ratios are these."""
    names = [name for name, ratio in gate.RATIOS.items() if ratio.program == program]
    if program == "cli_start":
        return {command: {"least_cpu_ratio": of(name)} for command, name in zip(
            ("--version", "memory status", "memory search"), names, strict=True)}  # fmt: skip
    if program == "turn_speed":
        return {"least (ours, floor)": {"1000": {"update in RAM": [of(names[0]), 1.0]}}}
    if program == "recall_speed":
        row = {"nanomem": {"ask cpu ms": of(names[0])}, "FTS5 porter": {"ask cpu ms": 1.0}}
        return {"items": {"10000": row}}
    if program == "keeping_speed":
        kept = ("checkpoint, used", "checkpoint, edited", "open until a first answer")
        row = {f"{what}, least processor": of(name) for what, name in zip(kept, names, strict=True)}
        return {"ms": {"10000": {**row, "JSON rewrite, least processor": 1.0, "full read, least processor": 1.0}}}
    rows = zip(("log", "diff"), names, strict=True)
    return {"loose": {what: {"ours cpu": of(name), "git cpu": 1.0} for what, name in rows}}


def judged(factor):
    programs = Programs(factor)
    return gate.judged(EXPECTED, programs, say=lambda _: None), programs


def test_what_is_committed_is_what_is_looked_at():
    assert list(EXPECTED["ratios"]) == list(gate.RATIOS)
    assert {ratio.program for ratio in gate.RATIOS.values()} == set(gate.WORDS)
    assert all((ROOT / "benchmarks" / f"{program}.py").exists() for program in gate.WORDS)
    assert 1.3 <= EXPECTED["tolerance"] <= 1.6


@pytest.mark.parametrize(
    ("factor", "failing", "runs"),
    [
        (lambda name, time: 1.0, 0, 1),
        (lambda name, time: 0.3, 0, 1),
        (lambda name, time: 3.0 if time == 1 else 1.1, 0, 2),
        (lambda name, time: 2.0 * 0.83, len(gate.RATIOS), 3),
    ],
    ids=["as committed", "faster", "noise that goes away", "a doubling, with what noise takes off"],
)
def test_noise_passes_and_a_doubling_does_not(factor, failing, runs):
    lines, programs = judged(factor)
    assert len(lines) == failing
    assert set(programs.asked.values()) == {runs}


@pytest.mark.parametrize("slow", gate.RATIOS)
def test_a_doubling_fails_in_one_line_that_says_where(slow):
    lines, programs = judged(lambda name, time: 2.0 if name == slow else 1.0)
    (line,) = lines
    assert slow in line
    assert "2.00 of the committed" in line
    assert f"benchmarks/{gate.RATIOS[slow].program}.py" in line
    assert [program for program, asked in programs.asked.items() if asked > 1] == [gate.RATIOS[slow].program]


def test_the_exit_code_is_the_number_of_ratios(monkeypatch, capsys):
    monkeypatch.setattr(gate, "run", Programs(lambda name, time: 2.0 if name.startswith("git") else 1.0))
    assert gate.main() == 2
    assert capsys.readouterr().err.count("gate: git ") == 2


def test_a_program_that_fails_fails_the_gate(monkeypatch):
    monkeypatch.setattr(gate, "ROOT", Path("/nowhere"))
    monkeypatch.setattr(gate.subprocess, "run", lambda *line, **how: subprocess.CompletedProcess(line, 1, "", "broken"))
    with pytest.raises(SystemExit, match=r"cli_start\.py failed"):
        gate.run("cli_start", [])


@pytest.mark.slow
def test_a_store_that_takes_twice_as_long_fails(tmp_path):
    name = "update in RAM, of JSON and one write"

    def measured(how):
        def measure(program, words):
            kept = tmp_path / "figures.json"
            line = [sys.executable, "-c", SLOWED, str(ROOT), how, *words, "--json", str(kept)]
            subprocess.run(line, check=True, capture_output=True)
            return dict(json.loads(kept.read_bytes()))

        expected = {"tolerance": EXPECTED["tolerance"], "ratios": {name: EXPECTED["ratios"][name]}}
        return gate.judged(expected, measure)

    assert measured("as it is") == []
    (line,) = measured("slowed")
    assert name in line
