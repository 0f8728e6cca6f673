"""Runs every benchmark of benchmarks/ in turn, or those named on the command line, and prints what each prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


def main(chosen: list[str]) -> int:
    """Run the benchmarks; the exit code is the number of those that failed."""
    programs = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith("_"))
    failed = 0
    for path in programs:
        if chosen and path.stem not in chosen:
            continue
        print(f"\n== {path.stem}", flush=True)
        failed += subprocess.run([sys.executable, str(path)], cwd=FOLDER.parent, check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
