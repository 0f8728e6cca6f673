"""Copying and exporting what a screen shows: to the clipboard by the surest way, else to a file, and said which.

A terminal never answers whether it took a text, so a way to the clipboard that says so goes first: a program of the
desktop, tmux, then the terminal (OSC 52). Rows are written as JSON, CSV or Markdown, never over a file that is there.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import BadInput, NanomemError, Refused
from nanomem_tui.core.text import counted, one_line, safe_text
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column

if TYPE_CHECKING:
    from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
    from nanomem_tui.workspace import Workspace

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


def clipboard_ways(environ: Mapping[str, str], which: Callable[[str], str | None] = shutil.which) -> Sequence[Way]:
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


def copy_by(way: Way, text: str) -> bool:
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


# -- The rows of a list as a file: JSON, CSV or a Markdown table; pure values, no widget ------------------------------

Row = TypeVar("Row")

FORMATS = ("json", "csv", "md")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKS = str.maketrans({char: f"\\{char}" for char in "\\`*[]<>|"})


def format_rows(columns: Sequence[Column[Row]], rows: Iterable[Row], row_id: Callable[[Row], str], suffix: str) -> str:
    """The rows in the format of `FORMATS` that `suffix` names: an object, a line or a table row each, `id` first.

    JSON keeps each text as it is; CSV and Markdown show control characters as pictures, as the screen does.
    """
    named = [("id", "Id", row_id), *((column.key, column.title, column.written or column.render) for column in columns)]
    if suffix == "json":
        objects = [{key: render(row) for key, _, render in named} for row in rows]
        return json.dumps(objects, ensure_ascii=False, indent=1) + "\n"
    if suffix == "csv":
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([key for key, _, _ in named])
        writer.writerows([_no_formula(safe_text(render(row))) for _, _, render in named] for row in rows)
        return file.getvalue()
    lines = [_table_line(title for _, title, _ in named), _table_line("---" for _ in named)]
    lines += [_table_line(_plain(render(row)) for _, _, render in named) for row in rows]
    return "\n".join(lines) + "\n"


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    return one_line(text).translate(_MARKS)


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


# Copying what a screen shows: to the clipboard of the person by the surest way, else to a file, and said which.

FILE = "copied.txt"
"""In nanomem's folder; the last text that was copied to it."""


async def copy_to_clipboard(screen: WorkspaceScreen[Any]) -> None:
    """Copy by the first way that takes it; what is too long for a terminal goes to a file."""
    text = safe_text(screen.copy_text())
    size = f"{len(text):,} characters"
    for way in clipboard_ways(os.environ):
        if way.command:
            if await asyncio.to_thread(copy_by, way, text):
                say(screen, f"{size} copied to {way.name}")
                return
        elif fits_terminal(text):
            screen.app.copy_to_clipboard(text)
            say(screen, f"{size} sent to {way.name}; if it did not arrive: “copy to file” in the palette")
            return
    await copy_to_file(screen, f"{size} are too many for a terminal's clipboard: ")


async def copy_to_file(screen: WorkspaceScreen[Any], why: str = "") -> None:
    """Copy to the file, which only this person can read."""
    text = safe_text(screen.copy_text())

    def write(ws: Workspace) -> str:
        file = ws.paths.data / FILE
        atomic.make_folder(file.parent)
        atomic.write_atomic(file, text.encode(), mode=0o600)
        return str(file)

    say(screen, f"{why}copied to {await screen.console.in_thread(write)}")


# -- The rows that a list shows, written to a file of the person's own. Never over a file that is there ---------------


def export_text(screen: WorkspaceScreen[Any], suffix: str) -> str:
    """The selected rows of the screen, else all that it shows, in the format of `suffix`."""
    return format_rows(screen.columns(), screen.export_rows(), screen.row_id, suffix)


def check_export_path(name: str) -> Path:
    """The file of that name. Raises BadInput for another format or a folder that is not there, Refused for a file that
    is there already."""
    path = Path(name).expanduser()
    if path.suffix.lstrip(".").lower() not in FORMATS:
        raise BadInput("the name says no format", name, f"end it with {', '.join(f'.{one}' for one in FORMATS)}")
    if not path.parent.is_dir():
        raise BadInput("its folder is not there", name, "make it, or name a file in a folder that is there")
    if os.path.lexists(path):
        raise Refused("that file is there already", name, "name a new one")
    return path


def export_view(screen: WorkspaceScreen[Any]) -> None:
    """Ask for a file and write the rows into it, for this person alone."""
    from nanomem_tui.widgets.dialogs import AskScreen

    count = len(screen.export_rows())

    def wrong(name: str) -> str:
        try:
            check_export_path(name)
        except NanomemError as error:
            return f"{error.what}: {error.fix}"
        return ""

    async def write(name: str | None) -> None:
        path = check_export_path(name or "")
        data = export_text(screen, path.suffix.lstrip(".").lower()).encode()
        await screen.console.in_thread(lambda ws: atomic.write_atomic(path, data, expected="", mode=0o600))
        say(screen, f"Wrote {counted(count, 'row')} to {path.name}")

    screen.ask(
        AskScreen(f"Export {counted(count, 'row')}", "", "a new file: name.json, name.csv or name.md", wrong), write
    )
