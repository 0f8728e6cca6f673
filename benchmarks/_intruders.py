"""What tries to get out of a memory, or in by it, each counted as (tried, broken), by the parts that its tests use. For
`trust.py`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

UMASKS = (0o000, 0o022, 0o077)


def escapes(folder: Path) -> tuple[int, int]:
    """Commands and screens with hostile words in all that they show, and those that sent a terminal one of them."""
    from nanomem_tui.actions import SCREENS
    from tests.hostile import test_commands, test_screens
    from tests.hostile.commands import on_a_terminal
    from tests.snapshots import hostile

    built = hostile.build(_new(folder) / ".nanobot").parent
    here = _new(folder)
    workspace = test_commands.moved_in(built, here)
    answers = on_a_terminal(workspace, test_commands.hostile_lines(), here)
    answers += on_a_terminal(workspace, test_commands.shown_lines(workspace, here), here)
    broken = len(test_commands.faults(answers))
    for screen in SCREENS:
        try:
            test_screens.led_through(test_commands.moved_in(built, _new(folder)), screen)
        except AssertionError as error:
            print(error)
            broken += 1
    return len(answers) + len(SCREENS), broken


def traps(folder: Path) -> tuple[int, int]:
    """Commands in workspaces where pipes, sockets, folders, devices and links stand in the place of files, and those
    that hung or broke."""
    from nanomem_tui import demo
    from tests.hostile import test_traps
    from tests.hostile.commands import on_a_terminal

    built = demo.build(_new(folder) / ".nanobot").parent
    tried = broken = 0
    for make in test_traps.TRAPS:
        for places in test_traps.PLACES.values():
            here = _new(folder)
            workspace = test_traps.moved_in(built, here)
            try:
                for place in places:
                    test_traps.planted(workspace, make, place)
            except PermissionError:  # only root makes devices
                continue
            answers = on_a_terminal(workspace, test_traps.few(), here)
            tried += len(answers)
            broken += len(test_traps.unwell(answers))
            shutil.rmtree(here)
    return tried, broken


def hooks(folder: Path) -> tuple[int, int]:
    """Commands in a repository with programs of its own for everything, and how often one of these ran."""
    from nanomem_tui import demo
    from tests.hostile import test_traps
    from tests.hostile.commands import on_a_terminal

    here = _new(folder)
    workspace = test_traps.moved_in(demo.build(_new(folder) / ".nanobot").parent, here)
    ran = test_traps.armed(workspace, here)
    answers = on_a_terminal(workspace, test_traps.lines_in_a_repository(workspace, here), here)
    return len(answers), len(ran.read_text().splitlines()) if ran.exists() else 0


def open_to_others(folder: Path) -> tuple[int, int]:
    """Files and folders that commands made, whatever the umask, and those of ours that others could read."""
    from tests.hostile import test_permissions
    from tests.store.homes import make_home

    tried = broken = 0
    for umask in UMASKS:
        here = _new(folder)
        before = os.umask(umask)
        try:
            number, of_others = test_permissions.made_by_all(make_home(here / "home", lessons=1), here)
        finally:
            os.umask(before)
        tried += number
        broken += len(of_others)
    return tried, broken


def _new(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))
