"""What the Journal and the Reflections screen share: rows that happened at a time, edited as one text.

Knows records, not what their fields mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Operation
from nanomem_tui.screens.rows import RowsScreen
from nanomem_tui.screens.text_form import TextForm
from nanomem_tui.store.values import Record
from nanomem_tui.widgets.toast import say


class RecordsScreen(RowsScreen[Record]):
    """Records of one kind, newest first. A subclass says which, and what their form is."""

    LAYER = "record"
    FORM: ClassVar[TextForm]

    def headline(self, row: Record) -> str:
        """Its text."""
        return row.text

    def copy_text(self) -> str:
        """The text of the row, or of the selected ones."""
        return "\n\n".join(row.text for row in self.targets())

    def form_fields(self, row: Record) -> dict[str, str]:
        """What the form edits, by field."""
        raise NotImplementedError

    def edit_form(self, row: Record) -> str:
        """Its fields, each under the name of its part."""
        return self.FORM.text(self.form_fields(row))

    def again(self, row: Record, now: Record, text: str) -> str:
        """The fields that were edited as they were typed, the others as they are now."""
        return self.FORM.text({**self.form_fields(now), **self.FORM.edited(self.edit_form(row), text)})

    def said(self, warnings: Sequence[str]) -> None:
        """Say what a person should know of what was kept; from a thread."""
        for warning in warnings:
            self.app.call_later(say, self, warning, "warning")

    def ask_new(self, title: str, fields: dict[str, str]) -> None:
        """Let a person fill in a form, and keep it."""

        async def add(text: str) -> None:
            await self.done(await self.change(lambda ws: self.keep_new(self.FORM.read(text))))

        self.ask_text(title, self.FORM.text(fields), add)

    def keep_new(self, fields: dict[str, str]) -> Operation:
        """Keep a new row of these fields; in a thread."""
        raise NotImplementedError

    def _now(self, key: str) -> Record | None:
        try:
            found: Record = self.part().get(key)
        except NanomemError:
            return None
        return found

    def _place_of(self, row: Record, rows: Sequence[Record]) -> int:
        """Where a row that came (back) belongs: newest first."""
        for index, other in enumerate(rows):
            if self.order(other) < self.order(row):
                return index
        return len(rows)

    def order(self, row: Record) -> tuple[str, str]:
        """What rows are newest by."""
        return row.at, row.id
