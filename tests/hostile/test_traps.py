"""A workspace full of traps: nothing of it is run, no command hangs at it, nothing is written outside through it."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess

import pytest

from nanomem_tui import demo
from tests.hostile.commands import commands, line_of, on_a_terminal
from tests.store.git_samples import needs_git

pytestmark = pytest.mark.slow

WORDS = "tea"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return demo.build(tmp_path_factory.mktemp("traps") / ".nanobot").parent


@pytest.fixture
def workspace(built, tmp_path):
    return moved_in(built, tmp_path)


def moved_in(built, folder):
    """The workspace of a copy of a home."""
    home = folder / "home" / ".nanobot"
    shutil.copytree(built, home, symlinks=True)
    config = home / "config.json"
    config.write_text(config.read_text().replace(str(built), str(home)))
    for path in home.rglob(".workspace"):
        path.write_text(f"{home / 'workspace'}\n")
    return home / "workspace"


def lines_of_all():
    return [line_of(path, command, WORDS) for path, command in commands()]


def few():
    return [
        ["memory", "status"], ["doctor"], ["memory", "list"], ["session", "list"], ["history", "list"], ["wal", "list"],
        ["dream", "log"], ["dream", "status"], ["files", "list"], ["files", "show", "USER.md"], ["recall", WORDS],
        ["backup", "make"], ["scrub"], ["find", WORDS],
    ]  # fmt: skip


def unwell(answers):
    """Those that did not end in time with words."""
    return [
        f"{' '.join(line)[:80]}: {code}: {raw[-200:]!r}"
        for line, raw, code in answers
        if code not in (0, 1, 2) or b"Traceback" in raw or b"internal error" in raw
    ]


def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "kept.md").write_text("# Not of this workspace\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "one.jsonl").write_text('{"_type": "metadata", "key": "cli:outside"}\n')
    return folder


def tree(folder):
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def fifo(path):
    os.mkfifo(path)


def unix_socket(path):
    listener = socket.socket(socket.AF_UNIX)
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)  # the path of a socket is short
        listener.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)
        listener.close()


def folder(path):
    path.mkdir()


def endless_device(path):
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero


def link_to_itself(path):
    path.symlink_to(path.name)


def link_outside(path):
    path.symlink_to(path.parents[1] / "nowhere" / "at" / "all")


SOFT = (
    "USER.md", "SOUL.md", "memory/MEMORY.md", "memory/history.jsonl", "memory/.cursor", "memory/.dream_cursor",
    "memory/2026-01-01.md", "memory/LTM_SNAPSHOT.json", "memory/LESSONS.jsonl", "memory/session-state/telegram_1.md",
    "../nanomem/habits.json", "../nanomem/ledger/x.ledger", ".git/index", ".git/index.lock",
)  # fmt: skip
PLACES: dict[str, tuple[str, ...]] = {
    "each of its own": SOFT, "agent's settings": ("../config.json",), "our settings": ("../nanomem/config.toml",),
    "database": ("../nanomem/nanomem.db",), "tiers": ("../nanomem/work.db",), "HEAD": (".git/HEAD",),
    "git's settings": (".git/config",), "identity": (".nanobot/workspace-id",),
}  # fmt: skip


def planted(workspace, make, place):
    path = workspace / place
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.exists() or path.is_symlink():
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)


@pytest.mark.parametrize("make", [fifo, unix_socket, folder, link_to_itself], ids=lambda make: make.__name__)
def test_what_is_no_file_blocks_no_command(workspace, tmp_path, make):
    for place in ("USER.md", "memory/history.jsonl", "memory/.cursor", ".git/HEAD", "memory/session-state/x.md"):
        planted(workspace, make, place)
    assert unwell(on_a_terminal(workspace, few(), tmp_path)) == []


TRAPS = (fifo, unix_socket, folder, endless_device, link_to_itself, link_outside)


@pytest.mark.slow
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("make", TRAPS, ids=lambda make: make.__name__)
def test_no_trap_in_any_place_blocks_a_command(workspace, tmp_path, make, places):
    try:
        for place in places:
            planted(workspace, make, place)
    except PermissionError:
        pytest.skip("only root makes devices")
    assert unwell(on_a_terminal(workspace, few(), tmp_path)) == []


@pytest.mark.slow
def test_no_command_writes_through_a_link_that_leads_outside(workspace, tmp_path):
    away = outside(tmp_path)
    for place, target in (
        ("USER.md", "kept.md"), ("memory/MEMORY.md", "kept.md"), ("memory/2026-01-01.md", "kept.md"),
        ("memory/session-state", "sub"), ("memory/history.jsonl", "sub/one.jsonl"),
        ("memory/LESSONS.jsonl", "new.jsonl"),
        ("memory/LTM_SNAPSHOT.json", "new.json"),
    ):  # fmt: skip
        planted(workspace, lambda path, to=target: path.symlink_to(away / to), place)
    before = tree(away)
    changing = [
        [*line, "--yes"] for line in (["memory", "compact"], ["memory", "lessons", "compact"], ["doctor", "--fix"])
    ]
    changing += [["memory", "add", "--text", "tea at four"], ["memory", "flush"], ["--run-dream"], ["undo"],
                 ["memory", "backfill"], ["scrub", "--mask", "--yes"], ["bookmarks", "add", "items", "x"]]  # fmt: skip
    assert unwell(on_a_terminal(workspace, [*few(), *changing], tmp_path)) == []
    assert tree(away) == before


HOOKS = ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-checkout", "update",
         "reference-transaction", "pre-auto-gc", "post-index-change", "fsmonitor-watchman")  # fmt: skip


def armed(workspace, folder_):
    """Hooks, filters and programs for everything in the workspace's repository; the file that any of them writes."""
    ran = folder_ / "ran"
    script = folder_ / "script"
    script.write_text(f"#!/bin/sh\necho $0 >> {ran}\ncat\n")
    script.chmod(0o755)
    git = workspace / ".git"
    (git / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        shutil.copy(script, git / "hooks" / hook)
    (folder_ / "included").write_text(f"[core]\n\tpager = {script}\n\tfsmonitor = {script}\n")
    with (git / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {script}\n\tpager = {script}\n\teditor = {script}\n\tsshCommand = {script}\n"
            f"\thooksPath = {git / 'hooks'}\n\taskPass = {script}\n[include]\n\tpath = {folder_ / 'included'}\n"
            f'[filter "evil"]\n\tclean = {script}\n\tsmudge = {script}\n\tprocess = {script}\n\trequired = true\n'
            f'[diff "evil"]\n\ttextconv = {script}\n\tcommand = {script}\n[gpg]\n\tprogram = {script}\n'
            f"[commit]\n\tgpgSign = true\n[credential]\n\thelper = {script}\n[alias]\n\tlog = !{script}\n"
        )
    (workspace / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    return ran


def lines_in_a_repository(workspace, folder_):
    """Every command, and edits that make commits."""
    return [
        *lines_of_all(), ["files", "edit", "USER.md", "--from", str(_edited(workspace, folder_))], ["undo"],
        ["--run-dream"],
    ]  # fmt: skip


@needs_git
@pytest.mark.slow
def test_nothing_that_a_repository_names_is_run(workspace, tmp_path):
    ran = armed(workspace, tmp_path)
    assert unwell(on_a_terminal(workspace, lines_in_a_repository(workspace, tmp_path), tmp_path)) == []
    assert not ran.exists(), ran.read_text()
    environment = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(workspace), "status"], env=environment, capture_output=True, check=False)
    assert ran.exists(), "git itself would have run it"


def _edited(workspace, folder_):
    new = folder_ / "new.md"
    new.write_text((workspace / "USER.md").read_text() + "- Tea at four\n")
    return new
