"""The frame of every dialog: a box over the screen that fits 60x20, a title, and keys at its lower edge."""

from __future__ import annotations

from typing import Generic, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from nanomem_tui.core.text import one_line
from nanomem_tui.widgets.bars import LineBar
from nanomem_tui.widgets.cells import content

Result = TypeVar("Result")


class Dialog(ModalScreen[Result], Generic[Result]):
    """A modal screen with a titled box; a subclass yields what is inside in `inside` and its keys in `keys`."""

    DEFAULT_CSS = """
    Dialog { align: center middle; background: $background 60%; }
    Dialog:ansi { background: transparent; }
    Dialog > #dialog-box {
        width: 90%; max-width: 110; height: auto; max-height: 90%; min-height: 5;
        border: round $primary; background: $background; padding: 0 1;
    }
    Dialog.-tall > #dialog-box { height: 90%; }
    Dialog.-ascii > #dialog-box { border: ascii $primary; }
    Dialog #dialog-keys { background: $background; dock: bottom; }
    """

    def __init__(self, title: str, tall: bool = False) -> None:
        super().__init__()
        self._title = title
        self._tall = tall

    def compose(self) -> ComposeResult:
        """The box with what is inside and the line of keys."""
        self.set_class(self._tall, "-tall")
        self.set_class(bool(getattr(self.app, "ascii_only", False)), "-ascii")
        box = Vertical(*self.inside(), LineBar(id="dialog-keys"), id="dialog-box")
        box.border_title = content(one_line(self._title, 70))  # a str would be read as markup
        yield box

    def on_mount(self) -> None:
        """Say the keys."""
        self.say_keys(self.keys())

    def inside(self) -> list[Widget]:
        """The widgets of the dialog, from the top."""
        raise NotImplementedError

    def keys(self) -> list[tuple[str, str]]:
        """Its keys: (text, tone) parts."""
        return [(" esc", "key"), (" back", "")]

    def say_keys(self, parts: list[tuple[str, str]]) -> None:
        """Show other keys, or what is asked, at the lower edge."""
        self.query_one("#dialog-keys", LineBar).set_parts(parts)
