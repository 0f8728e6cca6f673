"""The rows that a list shows, written to a file of the person's own. Never over a file that is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import BadInput, NanomemError, Refused
from nanomem_tui.core.text import counted
from nanomem_tui.widgets.list_export import FORMATS, exported
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.screens.workspace_screen import WorkspaceScreen


def written(screen: WorkspaceScreen[Any], suffix: str) -> str:
    """The selected rows of the screen, else all that it shows, in the format of `suffix`."""
    return exported(screen.columns(), screen.export_rows(), screen.row_id, suffix)


def checked(name: str) -> Path:
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
    from nanomem_tui.widgets.prompt import AskScreen

    count = len(screen.export_rows())

    def wrong(name: str) -> str:
        try:
            checked(name)
        except NanomemError as error:
            return f"{error.what}: {error.fix}"
        return ""

    async def write(name: str | None) -> None:
        path = checked(name or "")
        data = written(screen, path.suffix.lstrip(".").lower()).encode()
        await screen.console.in_thread(lambda ws: atomic.write_atomic(path, data, expected="", mode=0o600))
        say(screen, f"Wrote {counted(count, 'row')} to {path.name}")

    screen.ask(
        AskScreen(f"Export {counted(count, 'row')}", "", "a new file: name.json, name.csv or name.md", wrong), write
    )
