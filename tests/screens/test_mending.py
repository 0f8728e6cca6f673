"""Putting right from the screen Status: shown first, a backup, and the same as `nanomem doctor --fix` does."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui.cli.main import run as run_line
from nanomem_tui.store.files.presence import Presence
from nanomem_tui.workspace import Workspace
from tests.screens.console import console

LINE = b'{"cursor": 1, "timestamp": "2026-05-01 10:00", "content": "one"}\n'
Sample = Callable[[str], Path]


def broken(workspace):
    """A torn archive, a cursor beyond it, and a file that holds what is no text."""
    (workspace / "memory" / "history.jsonl").write_bytes(LINE + b'{"cursor": 3, "ti')
    (workspace / "memory" / ".dream_cursor").write_text("99999")
    (workspace / "USER.md").write_bytes(b"# User\n- caf\xe9\n")
    return workspace


def agents_files(workspace):
    found = (path for path in sorted(workspace.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(workspace).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def workspace(sample_copy):
    return broken(sample_copy("nb035") / "home" / ".nanobot" / "workspace")


@pytest.mark.slow
async def test_what_can_be_put_right_is_shown_and_done_after_a_backup(workspace, tmp_path):
    other = tmp_path / "other" / ".nanobot"
    shutil.copytree(workspace.parent, other)
    async with console(workspace, "status", (120, 40)) as on:
        await on.press("ctrl+f")
        await on.shows("Put right", "memory/history.jsonl", "USER.md", "A backup is made first")
        await on.press("n")
        assert (workspace / "memory" / ".dream_cursor").read_text() == "99999"
        await on.press("ctrl+f")
        await on.shows("Put right")
        await on.press("y")
        await on.until(lambda: (workspace / "memory" / "history.jsonl").read_bytes() == LINE)
        await on.shows("The doctor found")
    assert list((workspace.parent.parent / ".nanobot" / "nanomem-backups").glob("*")) or list(
        workspace.parent.glob("nanomem-backups/*")
    )
    assert run_line(["--workspace", str(other / "workspace"), "doctor", "--fix", "--yes"]) == 0
    assert agents_files(workspace) == agents_files(other / "workspace")


async def test_where_nothing_can_be_put_right_that_is_said(workspace, monkeypatch):
    monkeypatch.setattr(Workspace, "agent", lambda _: Presence(True, 4711, "nanobot gateway"))
    before = agents_files(workspace)
    async with console(workspace, "status", (120, 40)) as on:
        await on.press("ctrl+f")
        await on.until(lambda: "nothing can be put right now" in on.text or "Put right" in on.text)
        await on.press("escape")
    assert agents_files(workspace) == before


@pytest.mark.slow
async def test_a_backup_is_made_from_the_palette(workspace, capsys):
    async with console(workspace, "status", (120, 40)) as on:
        await on.press("colon")
        await on.type("back up")
        await on.press("enter")
        await on.shows("backed up")
    capsys.readouterr()
    assert run_line(["--workspace", str(workspace), "backup", "check"]) == 0
