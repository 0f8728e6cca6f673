"""Runs the benchmarks and keeps what they measured in benchmarks/figures.json, from which the README's table is made.

    scripts/bench.py                      # all, as the README quotes them; data sets by NANOMEM_LOCOMO and NANOMEM_CMRC
    scripts/bench.py recall turn_speed    # these
    scripts/bench.py --quick              # all in under three minutes, smaller; prints and keeps nothing
    scripts/bench.py --long               # a million items; --into FILE keeps it
    scripts/bench.py --readme             # only write the table anew; --check says whether it is stale (exit code 1)

Each part of the file says when it was measured, on what, under which load and with which seed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import figures

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks"
KEPT = FOLDER / "figures.json"
QUICK = {
    "cli_start": ["--runs", "7"],
    "conflicts": ["--n", "5000"],
    "console": ["--items", "1000", "--runs", "2"],
    "duplicates": ["--n", "5000", "--floor", "1000"],
    "git_speed": ["--commits", "200"],
    "keeping_speed": ["--n", "1000", "10000", "--rounds", "3"],
    "moments": ["--n", "5000", "--edits", "500"],
    "operational": ["--n", "2000", "--rounds", "3"],
    "recall": ["--quick"],
    "recall_speed": ["--n", "1000", "10000"],
    "records_meaning": ["--n", "2000", "--rounds", "30"],
    "scopes": ["--n", "5000"],
    "service_speed": ["--n", "2000", "--rounds", "60"],
    "store_speed": ["--n", "5000", "--rounds", "2"],
    "tiers": ["--n", "5000", "--rounds", "50"],
    "triage": ["--n", "5000"],
    "trust": ["--trials", "2"],
    "turn_speed": ["--items", "1000", "--rounds", "10"],
    "vectors": ["--quick"],
}
LONG = {
    "keeping_speed": ["--n", "1000", "1000000", "--rounds", "3"],
    "recall_speed": ["--n", "1000000"],
    "records_meaning": ["--n", "1000000"],
    "turn_speed": ["--items", "1000000", "--rounds", "5"],
}
LIBRARIES = ("textual", "rich", "click", "dulwich", "rapidfuzz", "sqlmodel", "tantivy", "rank-bm25", "numpy",
             "onnxruntime", "chromadb")  # fmt: skip
AGENT = ROOT / ".peers" / "nanobot-0.3.5" / "bin" / "python"
FULL = {
    "git_speed": ["--nanobot", str(AGENT.relative_to(ROOT))] if AGENT.exists() else [],
    "tiers": ["--n", "1000000"],
    "turn_speed": ["--items", "1000,10000,100000"],
}
NO_DATA = 2


def main() -> int:
    """Run what is asked for; the exit code is the number of benchmarks that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="benchmarks; all when none is named")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--quick", action="store_true")
    form.add_argument("--long", action="store_true")
    form.add_argument("--readme", action="store_true")
    form.add_argument("--check", action="store_true")
    parser.add_argument("--into", type=Path, help="the file that keeps the figures")
    given = parser.parse_args()
    if given.readme or given.check:
        return figures.bring_up_to_date(ROOT / "README.md", KEPT, check=given.check)
    known = sorted(path.stem for path in FOLDER.glob("*.py") if '__name__ == "__main__"' in path.read_text("utf-8"))
    if unknown := set(given.names) - set(known):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    sizes = QUICK if given.quick else LONG if given.long else FULL
    chosen = given.names or (sorted(LONG) if given.long else known)
    into = given.into or (None if given.quick or given.long else KEPT)
    failed = 0
    for name in chosen:
        done, found = run(name, sizes.get(name, []))
        failed += done not in {0, NO_DATA}
        if into and done == 0:
            keep(into, name, found)
    if into == KEPT and not failed:
        figures.bring_up_to_date(ROOT / "README.md", KEPT, check=False)
    return failed


def run(name: str, words: list[str]) -> tuple[int, dict[str, Any]]:
    """The exit code of one benchmark, whose words are printed as they come, and what it measured, on what."""
    print(f"\n== {name} {' '.join(words)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
        target = Path(folder, "figures.json")
        before, started = os.getloadavg()[0], time.monotonic()
        line = [sys.executable, str(FOLDER / f"{name}.py"), *words]
        if '"--json"' in (FOLDER / f"{name}.py").read_text("utf-8"):
            line += ["--json", str(target)]
        printed = []
        with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
            assert process.stdout is not None
            for text in process.stdout:
                print(text, end="", flush=True)
                printed.append(text.rstrip())
        measured = json.loads(target.read_bytes()) if target.exists() else {"printed": printed}
    about = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started),
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        "options": words,
    }
    return process.returncode, {**about, **where(), "figures": measured}


def where() -> dict[str, Any]:
    """The machine and the versions of what runs on it."""
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    machine = {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {"machine": machine, "versions": versions, "commit": commit.stdout.strip()}


def keep(into: Path, name: str, found: dict[str, Any]) -> None:
    """Replace one benchmark's part of the file."""
    kept = json.loads(into.read_bytes()) if into.exists() else {}
    kept[name] = found
    into.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
