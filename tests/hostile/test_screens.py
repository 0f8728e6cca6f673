"""Every screen on a terminal, with hostile words in all that it shows: nothing comes out that a terminal would obey."""

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from nanomem_tui.actions import SCREENS
from tests.snapshots import hostile
from tests.snapshots.terminal import PATIENCE, Terminal
from tests.snapshots.test_terminal import ENTER, ESC, TAB, harmless, walk

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from nanomem_tui.core import config, paths
from nanomem_tui.app import NanomemApp
from nanomem_tui.opening import Opening
found = paths.find_workspace(sys.argv[1])
opening = Opening(found, config.load(found, forgiving=True))
NanomemApp(opening, first_screen=sys.argv[2]).run()
if opening.opened is not None:
    opening.opened.close()
"""


@pytest.fixture(scope="module")
def hostile_home(tmp_path_factory):
    return hostile.build(tmp_path_factory.mktemp("hostile") / ".nanobot")


@contextmanager
def on(workspace, screen, columns):
    """The console in a terminal, with that screen first."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "TZ", "LANG"}}
    env = {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    words = ["-c", PROGRAM, str(workspace), screen]
    child = pexpect.spawn(
        sys.executable, words, env=env, dimensions=(36, columns), timeout=PATIENCE, echo=False, cwd=str(ROOT)
    )
    child.delaybeforesend = None
    child.ptyproc.delayafterterminate = 0.5  # a busy machine reaps late
    try:
        yield Terminal(child, columns, 36)
    finally:
        child.close(force=True)


def led_through(workspace, screen):
    """Press every key of a screen; nothing may come out that a terminal would obey. Raises AssertionError."""
    with on(workspace, screen, 150) as console:
        console.shows("quit")
        walk(console, ESC, *["j"] * 6, ENTER, "G", TAB, "G", "k", "k", ENTER, "n", "G", TAB)
        for key in ("e", "i", "c", "d", "o", "S", "I", "W", "m", "t", "T", "&", "|", "'", "B", "O", "?", ":"):
            walk(console, key, "j", ESC, ESC)  # what each key asks, left again
        walk(console, "/", "before", ENTER, "j", ENTER, ESC)
        assert console.child.isalive(), console.text
        harmless(console)
        assert "Traceback" not in console.text


@pytest.mark.parametrize("screen", SCREENS)
def test_no_screen_sends_it_to_the_terminal(hostile_home, tmp_path, screen):
    home = tmp_path / ".nanobot"
    shutil.copytree(hostile_home.parent, home, symlinks=True)
    led_through(home / "workspace", screen)
