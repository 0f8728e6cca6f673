"""What commands do in the same way with rows of every kind: switch them, delete them, correct one.

A `Resource` describes a kind: how its rows are found, printed and named. The kinds are declared beside their commands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import Command, Words, agreed, completing, decided, pass_state, rehearsable, words_kept
from nanomem_tui.cli.planned import show_changes
from nanomem_tui.cli.state import State

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

Rows = Sequence[Any]
Bodies = Sequence[dict[str, Any]]


class Resource(NamedTuple):
    """A kind of rows as commands see it."""

    nouns: tuple[str, ...]
    """What one is called, and several where an s does not make them."""
    key: str
    """The name of several of them in JSON."""
    part: str
    """The attribute of a workspace that keeps them, with `get`, `delete` and the like."""
    body: Callable[[Workspace, Any], dict[str, Any]]
    """A row as JSON."""
    preview: Callable[[Rows, Bodies], list[str]]
    """The lines that say what would be deleted."""
    completes: str = "items"
    """What a shell completes where ids are to be named; "" for nothing."""
    layer: str = ""
    """What is read first, so that rows in a file that cannot be read are no missing ones."""

    def counted(self, number: int) -> str:
        """So many of them, in words."""
        return output.counted(number, *self.nouns)

    def ending(self, shown: int, total: int) -> str:
        """The last line of a list: how many there are, and how many of them it shows."""
        return output.of_total(shown, total, *self.nouns)

    def rows(self, ws: Workspace, ids: Sequence[str]) -> list[Any]:
        """The rows of these ids, each once. Raises NotFound, Refused, or AccessDenied."""
        if self.layer:
            ws.store.load(self.layer)
        return list({row.id: row for row in map(getattr(ws, self.part).get, ids)}.values())

    def bodies(self, ws: Workspace, rows: Rows) -> list[dict[str, Any]]:
        """The rows as JSON."""
        return [self.body(ws, row) for row in rows]

    def ids(self) -> Callable[[Any], Any]:
        """The argument that names one or several of them."""
        complete = completing(self.completes) if self.completes else None
        return click.argument("ids", metavar="ID...", type=Words(), nargs=-1, required=True, shell_complete=complete)

    def switching(self, name: str, field: str, help: str) -> click.Command:
        """The command `name` that sets `field` (enabled, pinned), or with un- or dis- before it takes it back."""
        wanted = name in ("enable", "pin")
        word = field if wanted else {"enabled": "disabled", "pinned": "unpinned"}[field]

        @click.command(name, cls=Command, help=help)
        @self.ids()
        @rehearsable
        @pass_state
        def switch(state: State, ids: Sequence[str], dry_run: bool) -> None:
            with state.open(dry_run=dry_run) as ws:
                rows, kept = self.rows(ws, ids), getattr(ws, self.part)
                wrong = [row.id for row in rows if bool(getattr(row, field)) != wanted]
                done = [getattr(kept, f"set_{field}")(wrong, wanted)] if wrong else []
                body = {self.key: self.bodies(ws, [kept.get(row.id) for row in rows])}
            show_changes(state, done, body, f"Already {word}.", dry_run=dry_run)

        return switch

    def deleting(self, help: str) -> click.Command:
        """The command `delete`."""

        @click.command("delete", cls=Command, help=help)
        @self.ids()
        @decided
        @pass_state
        def delete(state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
            with state.open() as ws:
                rows = self.rows(ws, ids)
                bodies = self.bodies(ws, rows)
                preview, question = {self.key: bodies}, f"Delete {self.counted(len(rows))}?"
                if not agreed(state, preview, partial(self.preview, rows, bodies), question, yes=yes, dry_run=dry_run):
                    return
                op = getattr(ws, self.part).delete([row.id for row in rows])
            state.show({"operation": json_objects.operation(op), **preview}, [op.label])

        return delete


class Typed(NamedTuple):
    """New values of a row: from options, or its text as somebody wrote it anew in the editor."""

    fields: dict[str, Any]
    seen: Any = None
    """The row as it was when the editor was opened; None without one."""

    def kept(self) -> AbstractContextManager[None]:
        """Print what was written in the editor where it cannot be kept."""
        return nullcontext() if self.seen is None else words_kept(next(iter(self.fields.values())))


def typed(given: dict[str, Any], row: Any, field: str, text: str, option: str) -> Typed:
    """What of `given` is not None; without any, `field` with its `text` edited, for which `option` is the other way."""
    fields = {name: value for name, value in given.items() if value is not None}
    if fields:
        return Typed(fields)
    from nanomem_tui.terminal import editor

    return Typed({field: editor.edit_text(text, option)}, row)
