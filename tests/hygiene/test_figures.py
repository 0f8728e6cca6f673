"""The README's figures are those that the benchmarks measured."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.hygiene.repository import ROOT

KEPT = ROOT / "benchmarks" / "figures.json"


def test_the_table_of_the_readme_is_made_from_what_was_measured() -> None:
    line = [sys.executable, str(ROOT / "scripts" / "bench.py"), "--check"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_part_says_when_and_on_what_it_was_measured() -> None:
    for name, part in json.loads(KEPT.read_bytes()).items():
        assert {"at", "load", "machine", "versions", "figures"} <= set(part), name
