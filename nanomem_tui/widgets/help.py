"""The help of a screen and the palette of commands, both made from the registry of actions."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.actions import BY_NAME, GROUP_TITLES, SCREENS, Action, Context, Group, actions_on, keys_text
from nanomem_tui.memory.filters import fold, parse, ranked, search
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialog import Dialog
from nanomem_tui.widgets.document import Block, Body, Document, Heading, Spans
from nanomem_tui.widgets.filter_bar import LineInput
from nanomem_tui.widgets.line_table import LineTable
from nanomem_tui.widgets.preview import Preview

KEY_WIDTH = 13


def help_document(context: Context, ascii_only: bool = False, intro: str = "") -> Document:
    """Every key of the screen, in groups, with the command that does the same and why one can't be used now."""
    blocks: list[Block] = [Body(intro)] if intro else []
    groups: tuple[Group, ...] = ("screen", "select", "global", "move", "go")
    for group in groups:
        actions = actions_on(context.screen, group)
        if actions:
            blocks.append(Heading(GROUP_TITLES[group]))
            blocks.extend(_entry(action, context, ascii_only) for action in actions)
    return Document(tuple(blocks))


def _entry(action: Action, context: Context, ascii_only: bool) -> Spans:
    keys = keys_text(action, ascii_only)
    why = action.enabled(context)
    twin = action.twin(context.screen)
    parts = [(f"  {keys:<{KEY_WIDTH - 2}}", "accent"), (action.help, "dim" if why else "")]
    if why:
        parts.append((f" Not now: {why}.", "warn"))
    if twin:
        parts.append((f" [nanomem {twin}]", "dim"))
    return Spans(tuple(parts), KEY_WIDTH)


class HelpScreen(Dialog[None]):
    """The keys of a screen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q", "close", "close", show=False)]

    def __init__(self, context: Context, intro: str = "") -> None:
        super().__init__(f"Keys of {SCREENS.get(context.screen, context.screen)}", tall=True)
        self._asked_for = context
        self._intro = intro

    def inside(self) -> list[Widget]:
        """The list of keys."""
        return [Preview()]

    def keys(self) -> list[tuple[str, str]]:
        """How to read on and leave."""
        return [(" j k", "key"), (" scroll ", ""), (" esc", "key"), (" back", "")]

    def on_mount(self) -> None:
        """Fill in the keys."""
        preview = self.query_one(Preview)
        preview.show(help_document(self._asked_for, bool(getattr(self.app, "ascii_only", False)), self._intro))
        preview.focus()

    def action_close(self) -> None:
        """Back to the screen."""
        self.dismiss(None)


class PaletteScreen(Dialog[str | None]):
    """Every action by name; the result is the name of the chosen one, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+p", "close", "close", show=False, priority=True),
        Binding("down,tab", "move(1)", "down", show=False, priority=True),
        Binding("up,shift+tab", "move(-1)", "up", show=False, priority=True),
    ]

    def __init__(self, context: Context) -> None:
        super().__init__("Commands", tall=True)
        self._asked_for = context
        self._actions = [
            a for a in actions_on(context.screen) if a.group not in {"move", "select"} and a.name != "palette"
        ]
        self._texts = [fold(f"{action.label_on(context.screen)} {action.help}") for action in self._actions]

    def inside(self) -> list[Widget]:
        """A field and the list."""
        screen, context = self._asked_for.screen, self._asked_for
        columns: list[Column[Action]] = [
            Column("label", "Command", lambda action: action.label_on(screen), width=14),
            Column("key", "Key", keys_text, width=10, tone="accent"),
            Column("help", "What it does", lambda action: _why(action, context) or action.help, min_width=16),
        ]
        table = LineTable(columns, lambda action: action.name, dimmed=lambda action: bool(_why(action, context)))
        table.can_focus = False
        return [LineInput(placeholder="type to find"), table]

    def keys(self) -> list[tuple[str, str]]:
        """How to choose."""
        return [(" enter", "key"), (" do it ", ""), (" ↑ ↓", "key"), (" choose ", ""), (" esc", "key"), (" back", "")]

    def on_mount(self) -> None:
        """Show all."""
        self._table.set_rows(self._actions)
        self.query_one(LineInput).focus()

    @property
    def _table(self) -> LineTable[Action]:
        return self.query_one(LineTable)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        found = ranked(self._texts, search(self._texts, parse(event.value, {})))
        self._table.set_rows([self._actions[index] for index in found], empty="No command of that name.")
        self._table.move_cursor(0)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose()

    @on(LineTable.RowActivated)
    def _activated(self, event: LineTable.RowActivated) -> None:
        event.stop()
        self._choose()

    def _choose(self) -> None:
        name = self._table.cursor_id
        if name is not None:
            why = _why(BY_NAME[name], self._asked_for)
            if why:
                self.say_keys([(f" not now: {why}", "bad")])
            else:
                self.dismiss(name)

    def action_move(self, rows: int) -> None:
        """Move the cursor of the list while typing goes on."""
        self._table.move_by(rows)

    def action_close(self) -> None:
        """Back to the screen."""
        self.dismiss(None)


def _why(action: Action, context: Context) -> str:
    return action.enabled(context) or ""
