"""Running command lines inside the test's own process, on copies of the sample homes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.cli.main import run as run_line
from tests.store.homes import make_home


@dataclass(frozen=True)
class Result:
    """How one command line ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.err == "", self.err
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("memory", "list", "--json")`: exit code, stdout and stderr of that line."""

    def call(*args: str | Path) -> Result:
        capsys.readouterr()
        code = run_line([str(arg) for arg in args])
        found = capsys.readouterr()
        return Result(code, found.out, found.err)

    return call


@pytest.fixture
def home(sample_copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """`home("ramfirst")`: the workspace of a fresh copy, which is now the default one too."""

    def copy(name: str) -> Path:
        workspace = sample_copy(name) / "home" / ".nanobot" / "workspace"
        monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
        return workspace

    return copy


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small home of a RAM-first agent, which is the default one."""
    found = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


@pytest.fixture
def ramfirst(home: Callable[[str], Path]) -> Path:
    """The workspace of a RAM-first agent: 156 items, 61 lessons."""
    return home("ramfirst")
