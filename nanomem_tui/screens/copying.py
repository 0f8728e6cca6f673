"""Copying what a screen shows: to the clipboard of the person by the surest way, else to a file, and said which."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from nanomem_tui.core import atomic
from nanomem_tui.core.text import safe_text
from nanomem_tui.widgets import clipboard
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.screens.workspace_screen import WorkspaceScreen
    from nanomem_tui.workspace import Workspace

FILE = "copied.txt"
"""In nanomem's folder; the last text that was copied to it."""


async def copy(screen: WorkspaceScreen[Any]) -> None:
    """Copy by the first way that takes it; what is too long for a terminal goes to a file."""
    text = safe_text(screen.copy_text())
    size = f"{len(text):,} characters"
    for way in clipboard.ways(os.environ):
        if way.command:
            if await asyncio.to_thread(clipboard.take, way, text):
                say(screen, f"{size} copied to {way.name}")
                return
        elif clipboard.fits_terminal(text):
            screen.app.copy_to_clipboard(text)
            say(screen, f"{size} sent to {way.name}; if it did not arrive: “copy to file” in the palette")
            return
    await to_file(screen, f"{size} are too many for a terminal's clipboard: ")


async def to_file(screen: WorkspaceScreen[Any], why: str = "") -> None:
    """Copy to the file, which only this person can read."""
    text = safe_text(screen.copy_text())

    def write(ws: Workspace) -> str:
        file = ws.paths.data / FILE
        atomic.make_folder(file.parent)
        atomic.write_atomic(file, text.encode(), mode=0o600)
        return str(file)

    say(screen, f"{why}copied to {await screen.console.in_thread(write)}")
