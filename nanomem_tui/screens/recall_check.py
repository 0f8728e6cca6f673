"""What became of the saved questions: the losses first, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from nanomem_tui.core.text import counted, quoted
from nanomem_tui.screens.recall_rows import audience_words
from nanomem_tui.widgets.dialog import Dialog
from nanomem_tui.widgets.document import Block, Body, Document, Spans
from nanomem_tui.widgets.preview import Preview

if TYPE_CHECKING:
    from nanomem_tui.memory.recall.regressions import Checked


class CheckedScreen(Dialog[None]):
    """The saved questions, asked again."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "close", show=False)]

    def __init__(self, checked: Sequence[Checked]) -> None:
        lost = sum(bool(one.lost) for one in checked)
        super().__init__(f"{counted(len(checked), 'saved question')}, {lost:,} with a loss", tall=True)
        self._checked = checked

    def inside(self) -> list[Widget]:
        """One text."""
        return [Preview()]

    def on_mount(self) -> None:
        """Fill it in."""
        preview = self.query_one(Preview)
        preview.show(Document(tuple(checked_blocks(self._checked))))
        preview.focus()

    def action_close(self) -> None:
        """Back to the screen."""
        self.dismiss(None)


def checked_blocks(checked: Sequence[Checked]) -> list[Block]:
    """Questions with a loss first, what was lost and why; then the others."""
    blocks: list[Block] = []
    for one in sorted(checked, key=lambda one: not one.lost):
        question = one.regression.question
        who = "" if question.audience.is_owner else f"  as {audience_words(question.audience)}"
        state = ("LOST  ", "bad") if one.lost else ("found ", "good")
        count = f"  {len(one.found)} of {len(one.regression.expect)}"
        blocks.append(Spans((state, (quoted(question.text, 200), ""), (count, "dim"), (who, "dim")), 6))
        blocks += [Spans((("      ", ""), (key, "accent"), (f"  {why}", "warn")), 8) for key, why in one.lost]
    return blocks or [Body("No question was saved yet: M saves one.", "dim")]
