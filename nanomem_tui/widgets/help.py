"""The help of a screen and the command palette, both made from the registry of actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.actions import (
    GROUP_TITLES,
    SCREENS,
    SLASH,
    Action,
    Context,
    Group,
    Moved,
    actions_on,
    key_text,
    keys_of,
    keys_text,
    way_to,
)
from nanomem_tui.memory.filters import fold, parse, rank_matches, search
from nanomem_tui.widgets.bars import LineInput
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialogs import ChoosingDialog, Dialog
from nanomem_tui.widgets.key_queue import moved_keys
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Block, Body, Document, Heading, Preview, Spans

KEY_WIDTH = 13
WAITING = (
    "N unsaved: N changes are in the database, and go into the agent's own files by themselves.",
    "writing agent files: the agent's own files get what the database has within flush_interval_seconds (120),",
    "or at once by the key that flushes, and when the console ends.",
)


def help_document(context: Context, ascii_only: bool = False, intro: str = "", moved: Moved | None = None) -> Document:
    """Every key of the screen, in groups, with the command that does the same and why one can't be used now."""
    blocks: list[Block] = [Body(intro)] if intro else []
    groups: tuple[Group, ...] = ("screen", "select", "global", "move", "go")
    for group in groups:
        actions = actions_on(context.screen, group)
        if actions:
            blocks.append(Heading(GROUP_TITLES[group]))
            blocks.extend(_entry(action, context, ascii_only, moved or {}) for action in actions)
    blocks += [Heading("What the status bar says is still to be written"), *(Body(line) for line in WAITING)]
    return Document(tuple(blocks))


def _entry(action: Action, context: Context, ascii_only: bool, moved: Moved) -> Spans:
    keys = keys_text(action, moved, ascii_only)
    why = action.enabled(context)
    command = action.command_on(context.screen)
    parts = [(f"  {keys:<{KEY_WIDTH - 2}}", "accent"), (action.help_on(context.screen), "dim" if why else "")]
    if why:
        parts.append((f" Not now: {why}.", "warn"))
    if command:
        parts.append((f" [nanomem {command}]", "dim"))
    return Spans(tuple(parts), KEY_WIDTH)


class HelpScreen(Dialog[None]):
    """The keys of a screen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "close", "close", show=False)]

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
        ascii_only = bool(getattr(self.app, "ascii_only", False))
        preview.show(help_document(self._asked_for, ascii_only, self._intro, moved_keys(self)))
        preview.focus()

    def action_close(self) -> None:
        """Back to the screen."""
        self.dismiss(None)


class Choice(NamedTuple):
    """An action on a screen; `argument` is what was typed behind the name of an agent's command, such as a commit."""

    screen: str
    action: Action
    argument: str = ""

    @property
    def id(self) -> str:
        """Its own in the list."""
        return f"{self.screen} {self.action.name}"

    @property
    def slash(self) -> str:
        """The command of an agent that does the same, "" for none."""
        return SLASH.get(self.action.name, "") if self.screen == "dream" or self.action.group == "go" else ""


def _called(label: str) -> str:
    """A label, and the same in one word: who looks for “back up” may type “backup”."""
    return f"{label} {''.join(label.split())}"


def _also(choice: Choice) -> str:
    """What an action is called in the registry and on the command line."""
    command = " ".join(word for word in choice.action.command_on(choice.screen).split() if not word.isupper())
    return f"{choice.action.name.replace('_', ' ')} {command}"


class PaletteScreen(ChoosingDialog[Choice]):
    """Every action of every screen by name, those of this one first; the result is the chosen one, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+p", "close", "close", show=False, priority=True)]

    def __init__(self, context: Context) -> None:
        super().__init__("Commands", tall=True)
        self._asked_for = context
        here = [a for a in actions_on(context.screen) if a.group not in {"move", "select"} and a.name != "palette"]
        self._choices = [Choice(context.screen, action) for action in here]
        for screen in SCREENS:
            if screen != context.screen:
                self._choices += [Choice(screen, action) for action in actions_on(screen, "screen")]
        self._own = [fold(_called(choice.action.label_on(choice.screen))) for choice in self._choices]
        self._also = [fold(f"{own} {_also(choice)}") for own, choice in zip(self._own, self._choices, strict=True)]
        self._names = [fold(self._label(choice)) for choice in self._choices]
        self._texts = [
            fold(f"{self._label(choice)} {also} {self._help(choice)}")
            for also, choice in zip(self._also, self._choices, strict=True)
        ]

    def inside(self) -> list[Widget]:
        """A field and the list."""
        columns: list[Column[Choice]] = [
            Column("label", "Command", self._label, width=21),
            Column("key", "Key", self._keys, width=10, tone="accent"),
            Column("help", "What it does", lambda choice: self._why(choice) or self._help(choice), min_width=16),
        ]
        table = LineTable(columns, lambda choice: choice.id, dimmed=lambda choice: bool(self._why(choice)))
        table.can_focus = False
        return [LineInput(placeholder="type to find"), table]

    def keys(self) -> list[tuple[str, str]]:
        """How to choose."""
        return [(" enter", "key"), (" do it ", ""), (" ↑ ↓", "key"), (" choose ", ""), (" esc", "key"), (" back", "")]

    def on_mount(self) -> None:
        """Show all."""
        self.table.set_rows(self._choices)

    def _label(self, choice: Choice) -> str:
        label = choice.action.label_on(choice.screen)
        return label if choice.screen == self._asked_for.screen else f"{SCREENS[choice.screen]}: {label}"

    def _keys(self, choice: Choice) -> str:
        ascii_only, moved = bool(getattr(self.app, "ascii_only", False)), moved_keys(self)
        keys = keys_of(choice.action, moved)
        if choice.screen == self._asked_for.screen or not keys:
            return keys_text(choice.action, moved, ascii_only)
        return " ".join(key_text(key, ascii_only) for key in (*way_to(choice.screen, moved), keys[0]))

    def _help(self, choice: Choice) -> str:
        return " ".join(filter(None, (choice.slash, choice.action.help_on(choice.screen))))

    def _why(self, choice: Choice) -> str:
        """Why it can't be done now; of another screen that is known only there."""
        here = choice.screen == self._asked_for.screen
        return (choice.action.enabled(self._asked_for) or "") if here else ""

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value.startswith("/"):
            self.table.set_rows(self._slashed(event.value), empty="No command of that name.")
            self.table.move_cursor(0)
            return
        found = rank_matches(self._texts, search(self._texts, parse(event.value, {})))
        words = fold(event.value).split()
        found = sorted(found, key=lambda index: self._far(index, words))
        self.table.set_rows([self._choices[index] for index in found], empty="No command of that name.")
        self.table.move_cursor(0)

    def _far(self, index: int, words: Sequence[str]) -> int:
        """0 for one that is called so itself, 1 in the registry or as a command, 2 where its screen is, 3 for one that
        only speaks of it."""
        near = (self._own, self._also, self._names)
        return next((at for at, names in enumerate(near) if all(word in names[index] for word in words)), len(near))

    def _slashed(self, typed: str) -> list[Choice]:
        """The actions of an agent's command, as far as it is typed; what stands behind its name goes with it."""
        name, _, argument = typed.partition(" ")
        found = sorted((c for c in self._choices if c.slash.startswith(name)), key=lambda choice: len(choice.slash))
        if not argument.strip():
            return found
        return [c._replace(screen="dream", argument=argument.strip()) for c in found if c.slash == name]

    def choose(self, row: Choice) -> None:
        """Do it, unless it can't be done now."""
        why = self._why(row)
        if why:
            self.say_keys([(f" not now: {why}", "bad")])
        else:
            self.dismiss(row)
