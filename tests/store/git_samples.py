"""Workspaces for the git tests: copies of the sample homes, and a small repository made by the git binary."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.core.paths import Paths, find_workspace
from tests.conftest import SAMPLES

_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "GIT_AUTHOR_NAME": "a person",
    "GIT_AUTHOR_EMAIL": "p@x",
    "GIT_COMMITTER_NAME": "a person",
    "GIT_COMMITTER_EMAIL": "p@x",
}

needs_git = pytest.mark.skipif(not shutil.which("git") and not os.environ.get("CI"), reason="needs the git binary")


def git(folder: Path, *arguments: str, check: bool = True, given: str = "") -> str:
    """What the real git prints, in an environment without any configuration of this machine; `given` is its input."""
    found = subprocess.run(
        ["git", *arguments], cwd=folder, env=_ENVIRONMENT, input=given.encode(), capture_output=True, check=False
    )
    assert not check or found.returncode == 0, found.stderr.decode()
    return found.stdout.decode("utf-8", "replace")


@cache
def _unpacked() -> Path:
    """All sample homes, unpacked once for this process."""
    folder = Path(tempfile.mkdtemp(prefix="nanomem-samples-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(SAMPLES) as packed:
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since 3.11.4
        packed.extractall(folder, **safely)
    return folder


def sample(name: str, folder: Path) -> Paths:
    """The workspace of one sample home, copied into `folder`."""
    shutil.copytree(_unpacked() / name, folder / name, symlinks=True)
    return find_workspace(folder / name / "home" / ".nanobot" / "workspace")


def small(folder: Path) -> Paths:
    """A workspace with two commits by the git binary on the branch `main`."""
    shutil.copytree(_small(), folder / "workspace", copy_function=shutil.copy)
    return find_workspace(folder / "workspace")


@cache
def _small() -> Path:
    workspace = Path(tempfile.mkdtemp(prefix="nanomem-small-")) / "workspace"
    atexit.register(shutil.rmtree, workspace.parent, ignore_errors=True)
    (workspace / "memory").mkdir(parents=True)
    git(workspace, "init", "-q", "-b", "main")
    write(workspace, {"SOUL.md": "# Soul\n- calm\n", "USER.md": "# User\n- a\n- b\n", "memory/MEMORY.md": "# M\n"})
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "init: nanobot memory store")
    write(workspace, {"USER.md": "# User\n- a\n- b\n- c\n", "memory/.dream_cursor": "20"})
    git(workspace, "add", "-A")
    git(workspace, "commit", "-q", "-m", "dream: manual run")
    return workspace


def write(workspace: Path, files: dict[str, str]) -> None:
    """Write text files below `workspace`."""
    for name, text in files.items():
        (workspace / name).write_text(text, encoding="utf-8", newline="")
