"""A small form: a few named fields of one line each, checked before they are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Static

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import one_line, typed_over
from nanomem_tui.widgets.bars import LineBar
from nanomem_tui.widgets.cells import content
from nanomem_tui.widgets.dialog import Dialog
from nanomem_tui.widgets.filter_bar import LineInput

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
