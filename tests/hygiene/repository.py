"""The files of this repository, for the tests that look at them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "nanomem_tui"
GENERATED = ("_pb2",)
"""How the names of modules end that a compiler writes (`scripts/stubs.py`)."""


@cache
def files() -> tuple[Path, ...]:
    """Every file that is tracked, or would be; a copy without git is walked."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode == 0:
        return tuple(path for name in done.stdout.decode().split("\0") if name and (path := ROOT / name).is_file())
    hidden = {".git", ".venv", ".peers", "build", "dist", "__pycache__"}
    return tuple(path for path in ROOT.rglob("*") if path.is_file() and not hidden & set(path.relative_to(ROOT).parts))


def modules(*folders: str) -> tuple[Path, ...]:
    """The Python files that people write, of the whole repository or below the folders named (relative to the root)."""
    bases = tuple(ROOT / folder for folder in folders) or (ROOT,)
    written = (path for path in files() if path.suffix == ".py" and not path.stem.endswith(GENERATED))
    return tuple(path for path in written if any(path.is_relative_to(base) for base in bases))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
