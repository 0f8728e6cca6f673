"""Editing in the person's own editor: what was written there is not lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_what_was_written_of_an_item_that_somebody_deleted_meanwhile_is_printed(
    workspace: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor is a program that deletes the item by another process before it writes."""
    run("memory", "add", "--text", "Likes tea")
    key = run("memory", "list", "--json").json[0]["id"]
    other = [sys.executable, "-m", "nanomem_tui", "--workspace", str(workspace), "memory", "delete", key, "--yes"]
    script = tmp_path / "editor.py"
    script.write_text(
        f"import subprocess, sys\nsubprocess.run({other!r}, check=True)\nopen(sys.argv[1], 'w').write('words of mine')"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.delenv("VISUAL", raising=False)
    result = run("memory", "edit", key)
    assert (result.code, "words of mine" in result.err) == (2, True)
