"""Asking before something large or destructive: what will change is shown first, and can be scrolled.

Never confirmed by Enter, nor by the key that opened it; what can't be undone wants a typed word.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual import events, on
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.core.text import safe_text
from nanomem_tui.widgets.dialog import Dialog
from nanomem_tui.widgets.document import Block, Body, Document
from nanomem_tui.widgets.filter_bar import LineInput
from nanomem_tui.widgets.preview import Preview


class ConfirmScreen(Dialog[bool]):
    """Shows `blocks` (what will change) and `reason` (why it asks, whether it can be undone); True when confirmed.

    `opened_by` is the key that asked for the action: it never confirms. With `word` the person types that word and
    presses enter; else it is ``y``. ``n`` and ``esc`` leave everything as it is. `refused` says why it can't be done:
    then there is nothing to confirm.
    """

    DEFAULT_CSS = """
    ConfirmScreen Preview { height: auto; max-height: 100%; margin-bottom: 1; }
    ConfirmScreen #confirm-reason { height: auto; max-height: 4; margin-bottom: 1; }
    ConfirmScreen LineInput { margin-bottom: 1; }
    """

    def __init__(
        self,
        title: str,
        blocks: Sequence[Block],
        reason: str = "You can undo this with u.",
        *,
        opened_by: str = "",
        word: str = "",
        refused: str = "",
    ) -> None:
        super().__init__(title)
        self._blocks = tuple(blocks)
        self._reason = refused or reason
        self._refused = bool(refused)
        self._word = word
        self._yes = "Y" if opened_by == "y" else "y"

    def inside(self) -> list[Widget]:
        """The preview, the reason, and a field when a word is to be typed."""
        widgets: list[Widget] = [Preview(id="confirm-preview"), Preview(id="confirm-reason")]
        return [*widgets, LineInput(placeholder=self._word)] if self._word and not self._refused else widgets

    def keys(self) -> list[tuple[str, str]]:
        """How to say yes and no."""
        if self._refused:
            return [(" esc", "key"), (" back, nothing was changed", "")]
        if self._word:
            return [(f" type {self._word} and enter", "key"), (" to do it ", ""), (" esc", "key"), (" leaves it", "")]
        return [
            (f" {self._yes}", "key"),
            (" yes, do it ", ""),
            (" n", "key"),
            (" no ", ""),
            (" j k", "key"),
            (" scroll", ""),
        ]

    def on_mount(self) -> None:
        """Show what will change; keys go to the preview, or to the field."""
        preview = self.query_one("#confirm-preview", Preview)
        preview.show(Document(self._blocks))
        self.query_one("#confirm-reason", Preview).show(
            Document((Body(self._reason, "bad" if self._refused else "warn"),))
        )
        self.query_one("#confirm-reason").can_focus = False
        (self.query_one(LineInput) if self._word and not self._refused else preview).focus()

    def on_key(self, event: events.Key) -> None:
        """Yes, no, or nothing."""
        if event.key == "escape" or (not self._word and event.key in {"n", "q"}):
            event.stop()
            self.dismiss(False)
        elif event.character == self._yes and not self._word and not self._refused:
            event.stop()
            self.dismiss(True)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        event.stop()
        if safe_text(event.value).strip() == self._word:
            self.dismiss(True)
        else:
            self.say_keys([(f" that is not “{self._word}”", "bad"), ("  esc", "key"), (" leaves it", "")])
