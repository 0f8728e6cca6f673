"""What the options that commands share come to: the workspace asked for, the form of the output, the page of a list.

Must not import click: the commands that are asked most often do without it (see `quick`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from nanomem_tui.cli import output

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

T = TypeVar("T")
Lines = Sequence[str] | Callable[[], Sequence[str]]


class State:
    """The global options of this run, wherever on the line they stood."""

    def __init__(self, workspace: str | None = None, *, json: bool = False) -> None:
        self.workspace = workspace
        self.json = json

    def open(self) -> Workspace:
        """The workspace asked for. Raises WorkspaceMissing, NotAWorkspace or AccessDenied."""
        from nanomem_tui import open_workspace

        return open_workspace(self.workspace)

    def show(self, value: Any, human: Lines) -> None:
        """Print `value` as JSON, or the lines of `human`, whichever was asked for."""
        if self.json:
            output.document(value)
        else:
            output.lines(human() if callable(human) else human)


def page(rows: Sequence[T], limit: int | None, offset: int) -> list[T]:
    """The part of `rows` that was asked for."""
    return list(rows[offset:] if limit is None else rows[offset : offset + limit])
