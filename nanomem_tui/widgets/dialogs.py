"""Dialogs: the frame, and the usual ones: confirm, ask for a line, fill in a form, edit a text, choose from a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import editable, one_line, safe_text, typed_over
from nanomem_tui.widgets.bars import LineBar, LineInput
from nanomem_tui.widgets.key_queue import RowsToCome
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Block, Body, Document, Preview
from nanomem_tui.widgets.theme import content

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


# -- Asking before something large or destructive: what will change is shown first, and can be scrolled ---------------


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


# A dialog with a field and a list: typing narrows the list, the arrows move in it meanwhile, enter chooses.

Row = TypeVar("Row")

PAGE_KEYS: list[BindingType] = [
    Binding("pagedown", "move(10)", "page down", show=False, priority=True),
    Binding("pageup", "move(-10)", "page up", show=False, priority=True),
]
"""For lists that are longer than a screen."""


class ChoosingDialog(RowsToCome, Dialog[Row | None], Generic[Row]):
    """A `LineInput` over a `LineTable`; the result is the row chosen, or None."""

    ROW_KEYS = frozenset(
        ("enter", "down", "tab", "ctrl+n", "ctrl+j", "up", "shift+tab", "ctrl+p", "ctrl+k", "pagedown", "pageup")
    )

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", show=False, priority=True),
        Binding("down,tab,ctrl+n,ctrl+j", "move(1)", "down", show=False, priority=True),
        Binding("up,shift+tab,ctrl+p,ctrl+k", "move(-1)", "up", show=False, priority=True),
    ]

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(LineInput).focus()

    _in_list = False

    def pointed_at(self) -> LineTable[Row] | None:
        """The list, when the last key moved in it."""
        return self.table if self._in_list else None

    @on(Input.Changed)
    def _back_in_the_field(self) -> None:
        self._in_list = False

    @property
    def table(self) -> LineTable[Row]:
        """The list."""
        return self.query_one(LineTable)

    def choose(self, row: Row) -> None:
        """What enter on a row does."""
        self.dismiss(row)

    @on(Input.Submitted)
    @on(LineTable.RowActivated)
    def _entered(self, event: Input.Submitted | LineTable.RowActivated) -> None:
        event.stop()
        row = self.table.cursor_row
        if row is not None:
            self.choose(row)

    def action_move(self, rows: int) -> None:
        """Move the cursor of the list while typing goes on."""
        self._in_list = True
        self.table.move_by(rows)

    def action_close(self) -> None:
        """Back without a choice."""
        self.dismiss(None)


# -- A small form: a few named fields of one line each, checked before they are taken ---------------------------------

Check = Callable[[Mapping[str, str]], Mapping[str, Any]]


class FormField(NamedTuple):
    """One field: its name, what it holds ("" where the rows differ), and what may be written there.

    `optional`: it may be emptied.
    """

    name: str
    value: str
    hint: str
    optional: bool = False


class FormLine(Horizontal):
    """A name, what is written, and below it what may be."""

    DEFAULT_CSS = """
    FormLine { height: 1; margin-top: 1; }
    FormLine > LineBar { width: 13; background: $background; }
    """

    def __init__(self, field: FormField, typed: str, empty: str) -> None:
        super().__init__()
        self._field = field
        self._typed = typed
        self._empty = empty

    def compose(self) -> ComposeResult:
        """The two of them."""
        name = LineBar()
        name.set_parts([(self._field.name, "key")])
        yield name
        empty = "none" if self._field.optional else self._field.value or self._empty
        yield LineInput(self._typed, empty, id=f"field-{self._field.name}")


class FormScreen(Dialog["Mapping[str, Any] | None"]):
    """Edit `fields`; the result is what `check` makes of those that were changed, or None when none was.

    `check` raises an error of the tree for what can't be taken: that is said, and the form stays as it was typed.
    `typed` is what was typed before and could not be saved, `why` says why, above the fields. `empty` is what an empty
    field means. `at`: the field that the cursor begins in, at its end; else it is the first, and what is typed replaces
    what a field holds.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", show=False, priority=True),
        Binding("escape", "leave", "leave", show=False, priority=True),
        Binding("down,tab,ctrl+n", "move(1)", "next field", show=False, priority=True),
        Binding("up,shift+tab,ctrl+p", "move(-1)", "field before", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    FormScreen VerticalScroll { height: auto; max-height: 100%; margin-bottom: 1; }
    FormScreen .hint { background: $background; margin-left: 13; }
    FormScreen #form-why { color: $warning; height: auto; max-height: 4; }
    """

    def __init__(
        self,
        title: str,
        fields: Sequence[FormField],
        check: Check,
        *,
        typed: Mapping[str, str] | None = None,
        why: str = "",
        empty: str = "as they are",
        at: str = "",
    ) -> None:
        super().__init__(title)
        self._fields = tuple(fields)
        self._check = check
        self._typed = typed or {}
        self._why = why
        self._empty = empty
        self._at = at

    def inside(self) -> list[Widget]:
        """The fields, each with its hint."""
        lines: list[Widget] = [Static(content(one_line(self._why, 400)), id="form-why")] if self._why else []
        for field in self._fields:
            hint = LineBar(classes="hint")
            hint.set_parts([(field.hint, "dim")])
            lines += [FormLine(field, self._typed.get(field.name, field.value), self._empty), hint]
        inside = VerticalScroll(*lines)
        inside.can_focus = False
        return [inside]

    def keys(self) -> list[tuple[str, str]]:
        """How to save and to leave."""
        return [
            (" ^s", "key"),
            (" save ", ""),
            (" tab", "key"),
            (" next field ", ""),
            (" esc", "key"),
            (" leave", ""),
        ]

    def on_mount(self) -> None:
        """Into the first field, where what is typed replaces what is there, or behind the text of the one asked for."""
        if self._at:
            self.query_one(f"#field-{self._at}", LineInput).focus()
            return
        self.query(LineInput).first(LineInput).focus()
        for line in self.query(LineInput):
            line.select_all()

    @property
    def changed(self) -> dict[str, str]:
        """The fields that hold something else than at first, by name."""
        typed = {field.name: self.query_one(f"#field-{field.name}", LineInput).value.strip() for field in self._fields}
        return {
            field.name: typed_over(field.value, one_line(field.value), typed[field.name])
            for field in self._fields
            if typed[field.name] != one_line(field.value) and (typed[field.name] or field.optional)
        }

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_save()

    def action_save(self) -> None:
        """Close with what was changed, when it can be taken."""
        changed = self.changed
        try:
            self.dismiss(self._check(changed) if changed else None)
        except NanomemError as error:
            self.say_keys([(f" {error.what}" + (f" ({error.fix})" if error.fix else ""), "bad")])

    def action_move(self, step: int) -> None:
        """To another field."""
        fields = list(self.query(LineInput))
        at = next((number for number, field in enumerate(fields) if field.has_focus), 0)
        fields[(at + step) % len(fields)].focus()

    def action_leave(self) -> None:
        """Close and change nothing."""
        self.dismiss(None)


# -- Asking for text: a field of many lines to edit a memory, or of one line to ask for a word ------------------------

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
