"""A file of gigabytes in the place of any other: it is named, nothing waits for it, and no memory is filled with it.

The files are sparse: they take no room on the disk.
"""

import os
import resource
import subprocess
import sys
import time

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.releases import detect, session_folders
from nanomem_tui.core import files
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.files import chunks
from nanomem_tui.core.paths import find_workspace
from tests.hostile.test_traps import PLACES, SOFT, built, few, planted, workspace

__all__ = ["built", "workspace"]  # fixtures

SIZE, MEMORY, SECONDS = 5 << 30, 2 << 30, 20.0
ALL = (*SOFT, *(place for places in PLACES.values() if places is not SOFT for place in places))


def gigabytes(path):
    with path.open("wb") as file:
        file.write(b"# first line\n")
        file.truncate(SIZE)


def run(workspace, *line):
    """One command that may have 2 GB of address space, and must end in time."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "nanomem_tui", "--workspace", str(workspace), *line],
        capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(workspace.parents[1])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    assert "Traceback" not in done.stderr, (line, done.stderr[-2000:])
    assert done.returncode in (0, 1, 2), (line, done)
    assert time.monotonic() - began < SECONDS, line
    return done


@pytest.mark.slow
@pytest.mark.parametrize("place", ["USER.md", "memory/history.jsonl"])
def test_the_doctor_names_it_and_what_to_do(workspace, place):
    planted(workspace, gigabytes, place)
    done = run(workspace, "doctor")
    [line] = [line for line in done.stdout.splitlines() if "more than 1,024 MB" in line or "more than 256" in line]
    assert place in line
    assert "move it away" in line
    assert done.returncode == 1


@pytest.mark.slow
def test_what_stands_beside_it_is_there(workspace):
    for place in ("USER.md", "memory/2026-01-01.md", "memory/session-state/telegram_1.md"):
        planted(workspace, gigabytes, place)
    assert "moonlit" in run(workspace, "memory", "add", "--text", "Walks the moonlit quay").stdout
    assert "moonlit" in run(workspace, "memory", "list").stdout
    assert (workspace / "USER.md").stat().st_size == SIZE
    refused = run(workspace, "files", "show", "USER.md")
    assert (refused.returncode, "more than" in refused.stderr, len(refused.stderr.splitlines())) == (2, True, 1)


@pytest.mark.slow
def test_a_session_of_gigabytes_hides_no_other(workspace):
    paths = find_workspace(workspace)
    folder = next(one for one in session_folders(paths, detect(paths)) if any(one.glob("*.jsonl")))
    before = run(workspace, "session", "list").stdout
    gigabytes(folder / "telegram_huge.jsonl")
    after = run(workspace, "session", "list").stdout
    assert all(line.split()[0] in after for line in before.splitlines()[1:] if line.split())


def test_a_line_without_an_end_is_not_held_whole(tmp_path):
    gigabytes(tmp_path / "one.jsonl")
    with pytest.raises(NanomemError, match="more than 256 MB"):
        list(chunks(tmp_path / "one.jsonl"))


def test_one_that_grows_while_it_is_read_ends_too(tmp_path):
    path = tmp_path / "grows"
    path.write_bytes(b"x" * 100)
    with path.open("rb") as file, pytest.raises(OSError, match="more than"):
        files.read_all(file, path, 99)


@pytest.mark.slow
def test_the_library_says_it_as_well(workspace):
    planted(workspace, gigabytes, "USER.md")
    with open_workspace(workspace) as ws, pytest.raises(NanomemError, match="more than"):
        ws.documents.read("USER.md")


@pytest.mark.slow
@pytest.mark.parametrize("place", ALL)
def test_no_command_fills_the_memory_or_waits(workspace, place):
    planted(workspace, gigabytes, place)
    for line in few():
        if line[0] != "backup":  # it takes a copy of all of it, in pieces
            run(workspace, *line)
