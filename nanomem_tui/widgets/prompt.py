"""Asking for text: a field of many lines to edit a memory, or of one line to ask for a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from nanomem_tui.core.text import editable, one_line, safe_text, typed_over
from nanomem_tui.widgets.cells import content
from nanomem_tui.widgets.dialog import Dialog
from nanomem_tui.widgets.filter_bar import LineInput

KEPT = "This was being written before, and is not saved yet."


def typed_number(answer: str | None) -> int | None:
    """The whole number that was typed, with or without commas between its digits; None for anything else."""
    digits = (answer or "").strip().replace(",", "")
    return int(digits) if digits.isdecimal() and len(digits) < 10 else None


class SafeTextArea(TextArea):
    """A text area that never holds a control character, shown or pasted, and doesn't blink."""

    DEFAULT_CSS = """
    SafeTextArea, SafeTextArea:focus {
        height: 1fr; min-height: 5; border: none; padding: 0; background: $background; color: $foreground;
    }
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(editable(text), soft_wrap=True, show_line_numbers=False, tab_behavior="focus", compact=True)
        self.cursor_blink = False

    async def _on_paste(self, event: events.Paste) -> None:
        lines = event.text.replace("\r\n", "\n").replace("\r", "\n")  # terminals paste a line end as a key press
        event.text = safe_text(lines)


class EditScreen(Dialog[str | None]):
    """Edit `text`; the result is the new text, or None when it was left as it was.

    Control characters are shown as pictures while editing; what was not typed over is saved as it was. `typed` is what
    was typed before and could not be saved, `why` says why, above the text. `wrong` says why a text can't be used, ""
    when it can: the dialog stays open with it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", show=False, priority=True),
        Binding("escape", "leave", "leave", show=False, priority=True),
    ]

    DEFAULT_CSS = "EditScreen #edit-why { color: $warning; height: auto; max-height: 6; }"

    def __init__(
        self,
        title: str,
        text: str,
        note: str = "",
        typed: str | None = None,
        why: str = "",
        wrong: Callable[[str], str] = lambda text: "",
    ) -> None:
        super().__init__(title, tall=True)
        self._wrong = wrong
        self._before = text
        self._shown = editable(text)
        self._typed = typed
        self._note = note
        self._why = why
        self._asked = False

    def inside(self) -> list[Widget]:
        """Why it is offered again, and the text."""
        area = SafeTextArea(self._before if self._typed is None else self._typed)
        return [Static(content(one_line(self._why, 400)), id="edit-why"), area] if self._why else [area]

    def keys(self) -> list[tuple[str, str]]:
        """How to save and to leave, and what is special."""
        note = self._note
        if self._shown != self._before.replace("\r\n", "\n"):
            note = "control characters are shown as pictures, and stay as they are"
        return [(" ^s", "key"), (" save ", ""), (" esc", "key"), (" leave ", ""), (f" {note}" if note else "", "warn")]

    def on_mount(self) -> None:
        """Put the cursor into the text."""
        area = self.query_one(SafeTextArea)
        area.focus()
        area.move_cursor(area.document.end)

    @property
    def draft_of(self) -> tuple[str, str]:
        """To what a draft of it belongs: the title, and the text before."""
        return self._title, self._before

    @property
    def draft(self) -> str | None:
        """What is written and not saved; None while that is what was there before."""
        return self.query_one(SafeTextArea).text if self.is_mounted and self.changed else None

    def take_draft(self, text: str) -> None:
        """Begin with what was being written when the console was ended. Before it is shown."""
        if self._typed is None:
            self._typed, self._why = text, KEPT

    @property
    def changed(self) -> bool:
        """Whether something was edited."""
        return self.query_one(SafeTextArea).text != self._shown

    def action_save(self) -> None:
        """Close with the new text; an unchanged one is no result, one that can't be used is kept to be mended."""
        text = self._as_written(self.query_one(SafeTextArea).text)
        why = self._wrong(text) if self.changed else ""
        if why:
            self.say_keys([(f" {why}: ", "bad"), (" ^s", "key"), (" save ", ""), (" esc", "key"), (" leave", "")])
        else:
            self.dismiss(text if self.changed else None)

    def _as_written(self, text: str) -> str:
        """What is in the area with the characters that pictures stand for, of the text before and of what was typed
        before and could not be saved."""
        typed = self._typed
        if typed is not None and editable(typed) != typed:
            return typed_over(typed, editable(typed), text)
        return typed_over(self._before, self._shown, text)

    def action_leave(self) -> None:
        """Close; when something was edited, only the second time."""
        if self.changed and not self._asked:
            self._asked = True
            self.say_keys(
                [(" edited: ", "warn"), (" ^s", "key"), (" saves ", ""), (" esc", "key"), (" again drops it", "")]
            )
        else:
            self.dismiss(None)


class AskScreen(Dialog[str | None]):
    """Ask for one line; the result is what was typed, or None.

    `wrong` says why an answer can't be used, "" when it can: the dialog stays open with the reason.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave", show=False, priority=True)]

    def __init__(
        self, title: str, value: str = "", placeholder: str = "", wrong: Callable[[str], str] = lambda answer: ""
    ) -> None:
        super().__init__(title)
        self._value = value
        self._placeholder = placeholder
        self._wrong = wrong

    def inside(self) -> list[Widget]:
        """The field."""
        return [LineInput(self._value, self._placeholder)]

    def on_mount(self) -> None:
        """What is offered is replaced by what is typed."""
        self.query_one(LineInput).select_all()

    def keys(self) -> list[tuple[str, str]]:
        """How to answer."""
        return [(" enter", "key"), (" go ", ""), (" esc", "key"), (" leave", "")]

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        why = self._wrong(event.value)
        if why:
            self.say_keys([(f" {why}", "bad")])
        else:
            self.dismiss(event.value or None)

    def action_leave(self) -> None:
        """Close without an answer."""
        self.dismiss(None)
