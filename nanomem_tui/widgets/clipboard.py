"""The ways to the clipboard of the person, wherever they sit: a program of the desktop, tmux, the terminal (OSC 52).

Owns the choice among them. A terminal never answers whether it took a text, so a way that says so goes first.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

TERMINAL_BYTES = 74_994
"""Characters of base64 that every terminal with OSC 52 takes (xterm and its kind)."""
PATIENCE = 3.0
"""Seconds for a program."""


class Way(NamedTuple):
    """One way: what it is called, and the command that takes the text; none for the terminal itself."""

    name: str
    command: tuple[str, ...] = ()


TERMINAL = Way("your terminal's clipboard (OSC 52)")
TMUX = Way("tmux's buffer and your terminal's clipboard", ("tmux", "load-buffer", "-w", "-"))
_DESKTOPS = (
    ("WAYLAND_DISPLAY", Way("the clipboard (wl-copy)", ("wl-copy",))),
    ("DISPLAY", Way("the clipboard (xclip)", ("xclip", "-selection", "clipboard"))),
    ("DISPLAY", Way("the clipboard (xsel)", ("xsel", "--clipboard", "--input"))),
    ("WSL_DISTRO_NAME", Way("the clipboard (clip.exe)", ("clip.exe",))),
)
_MAC = Way("the clipboard (pbcopy)", ("pbcopy",))


def ways(environ: Mapping[str, str], which: Callable[[str], str | None] = shutil.which) -> Sequence[Way]:
    """The ways for a person whose terminal has this environment, the surest first; the terminal itself is the last.

    Over SSH a program here would fill a clipboard on the wrong machine; in tmux only tmux reaches the terminal.
    """
    found: list[Way] = []
    if environ.get("TMUX"):
        found.append(TMUX)
    elif not (environ.get("SSH_TTY") or environ.get("SSH_CONNECTION") or environ.get("TEXTUAL_DRIVER")):
        found += [way for name, way in _DESKTOPS if environ.get(name)]
        found += [_MAC] if sys.platform == "darwin" else []
    return [*(way for way in found if which(way.command[0])), TERMINAL]


def take(way: Way, text: str) -> bool:
    """Give the text to the program of a way; whether it took it."""
    try:
        done = subprocess.run(
            way.command, input=text.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def fits_terminal(text: str) -> bool:
    """Whether a terminal would take all of the text."""
    return len(b64encode(text.encode())) <= TERMINAL_BYTES
