"""Runs the benchmarks and keeps what they measured in benchmarks/figures.json, from which the page docs/benchmarks.md
and its pictures are made.

    scripts/bench.py                      # all, as the page quotes them; data sets by NANOMEM_LOCOMO and NANOMEM_CMRC
    scripts/bench.py recall turn_speed    # these
    scripts/bench.py --quick              # all, smaller; prints and keeps nothing
    scripts/bench.py --long               # all, then a million items and half an hour; kept in figures_long.json
    scripts/bench.py --long soak          # only the large form of these
    scripts/bench.py --gate               # a few ratios beside the committed ones; 1 where one is too large

Each part of the file says when it was measured, on what, under which load and with which seed. How large each form is
stands in bench_forms.py, what the gate looks at in gate.py.
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
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import bench_forms
import gate
from bench_forms import Run
from report import page

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks"
LIBRARIES = ("textual", "rich", "click", "dulwich", "rapidfuzz", "sqlmodel", "tantivy", "rank-bm25", "numpy",
             "onnxruntime", "chromadb", "sqlite-vec")  # fmt: skip
NO_DATA = 2


def main() -> int:
    """Run what is asked for; the exit code is the number of benchmarks that failed, or of ratios that are too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="benchmarks; all when none is named")
    form = parser.add_mutually_exclusive_group()
    for name in ("quick", "long", "gate"):
        form.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--into", type=Path, help="the file that keeps the figures")
    parser.add_argument("--keep", action="store_true", help="with --gate: expect the ratios of this machine")
    given = parser.parse_args()
    if given.gate:
        return gate.main(keep=given.keep)
    known = sorted(path.stem for path in FOLDER.glob("*.py") if '__name__ == "__main__"' in path.read_text("utf-8"))
    if unknown := set(given.names) - set(known):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    wanted = given.names or known
    if given.quick:
        return all_of(bench_forms.quick(wanted), given.into)
    failed = 0
    if not (given.long and given.names):
        failed = all_of(bench_forms.usual(given.names or bench_forms.everyday(known)), given.into or page.KEPT)
    return failed + (all_of(bench_forms.large(wanted), given.into or page.KEPT_LONG) if given.long else 0)


def all_of(runs: Sequence[Run], into: Path | None) -> int:
    """Run these, and keep what they found; how many failed."""
    failed = 0
    for one in runs:
        done, found = run(one)
        failed += done not in {0, NO_DATA}
        if into and done == 0:
            keep(into, one.name, found)
    if into in {page.KEPT, page.KEPT_LONG} and not failed:
        page.write(ROOT / "docs")
    return failed


def run(one: Run) -> tuple[int, dict[str, Any]]:
    """The exit code of one benchmark, whose words are printed as they come, and what it measured, on what."""
    print(f"\n== {one.program} {' '.join(one.words)}", flush=True)
    python = ROOT / one.python if one.python else Path(sys.executable)
    if not python.exists():
        print(f"left out: {one.python} is not there: {one.made_by}")
        return NO_DATA, {}
    with tempfile.TemporaryDirectory(prefix="nanomem-bench-") as folder:
        target = Path(folder, "figures.json")
        before, started = os.getloadavg()[0], time.monotonic()
        line = [str(python), str(FOLDER / f"{one.program}.py"), *one.words, "--json", str(target)]
        environment = gate.by_words()
        with subprocess.Popen(
            line, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
        ) as process:
            assert process.stdout is not None
            for text in process.stdout:
                print(text, end="", flush=True)
        measured = json.loads(target.read_bytes()) if target.exists() else {}
    about = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started),
        "load": [round(before, 1), round(os.getloadavg()[0], 1)],
        "options": one.words,
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
