"""A dialog that shows a diff and asks: what applying the edits of a Dream would do, or taking one back, part by part.

It reads in a thread and changes nothing: the result says what the person chose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

from textual import events, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from nanomem_tui.core.errors import NanomemError, in_words
from nanomem_tui.widgets.dialog import Dialog
from nanomem_tui.widgets.diff import DiffLine, FileDiff, Hunk, spans_of
from nanomem_tui.widgets.diff_view import DiffView
from nanomem_tui.widgets.document import Block, Body, Line, Spans, lay_out
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.side_by_side import side_by_side

if TYPE_CHECKING:
    from nanomem_tui.dreams.restore import RestoreConflict

Choice = TypeVar("Choice")


class Shown(NamedTuple):
    """What a diff dialog shows. `refused` says why there is nothing to confirm; "" when there is something."""

    files: Sequence[FileDiff] = ()
    above: Sequence[Block] = ()
    below: Sequence[Block] = ()
    conflicts: Sequence[RestoreConflict] = ()
    refused: str = ""


class ProposalView(DiffView):
    """A diff with what stands below it, and conflicts with both sides beside each other."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.below: tuple[Block, ...] = ()
        self.conflicts: tuple[RestoreConflict, ...] = ()

    def show_all(self, shown: Shown, keep_place: bool = False) -> None:
        """Show all of it."""
        self.below, self.conflicts = tuple(shown.below), tuple(shown.conflicts)
        self.files, self.blocks = (), ()
        self._laid_out_at = -1
        self.show(shown.files, shown.above, keep_place)

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """Blocks and files, then conflicts, then the rest."""
        lines = super().lay_out(width, wrapped)
        for conflict in self.conflicts:
            title = f"Conflict in {conflict.path}, line {conflict.line}"
            lines += [(), *lay_out((Spans(((title, "bad"),)),), width)]
            now, then = _sides(conflict)
            lines += side_by_side(
                [Spans((("as it is now", "label"),)), *now], [Spans((("as it was before", "label"),)), *then],
                width, glyphs(self).separator,
            )  # fmt: skip
        if self.below:
            lines += [(), *lay_out(self.below, width, wrapped)]
        return lines


def _sides(conflict: RestoreConflict) -> tuple[list[Block], list[Block]]:
    """The lines of both sides, the words that differ standing out."""
    lines = [DiffLine("-", text) for text in conflict.now] + [DiffLine("+", text) for text in conflict.then]
    sides: dict[str, list[Block]] = {"-": [], "+": []}
    for line, parts in spans_of(Hunk(tuple(lines))):
        sides[line.sign].append(Spans(tuple(parts), 2))
    none: list[Block] = [Body("(no line)", "dim")]
    return sides["-"] or none, sides["+"] or none


class DiffDialog(Dialog["Choice | None"], Generic[Choice]):
    """Shows what each of `choices` would do, read by `read` in a thread; ``y`` takes the one shown, tab the next.

    A choice is (its words, its value). `first` stands above them all.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "close", show=False),
        Binding("tab,right,l", "other(1)", "other", show=False, priority=True),
        Binding("shift+tab,left,h", "other(-1)", "other", show=False, priority=True),
    ]

    class Read(Message):
        """From the reading thread: what a choice would do."""

        def __init__(self, number: int, shown: Shown) -> None:
            super().__init__()
            self.number = number
            self.shown = shown

    def __init__(
        self,
        title: str,
        choices: Sequence[tuple[str, Choice]],
        read: Callable[[Choice], Shown],
        verb: str,
        first: Sequence[Block] = (),
    ) -> None:
        super().__init__(title, tall=True)
        self._choices = choices
        self._read = read
        self._verb = verb
        self._first = tuple(first)
        self._number = 0
        self._known: dict[int, Shown] = {}

    def inside(self) -> list[Widget]:
        """The diff."""
        return [ProposalView()]

    @property
    def view(self) -> ProposalView:
        """The diff."""
        return self.query_one(ProposalView)

    @property
    def chosen(self) -> Choice:
        """The value of the choice that is shown."""
        return self._choices[self._number][1]

    def on_mount(self) -> None:
        """Read the first choice."""
        self.view.focus()
        self._show()

    def _show(self) -> None:
        shown = self._known.get(self._number)
        what = self._choices[self._number][0]
        if shown is None:
            self.view.show_all(Shown(above=[Spans(((what, "heading"),)), Body("Reading …", "dim")]))
            self.say_keys([(" esc", "key"), (" back", "")])
            self._read_in_thread(self._number)
            return
        several = len(self._choices) > 1
        said: list[Block] = [*self._first, *([Spans(((what, "heading"),))] if several or self._first else [])]
        if shown.refused:
            said.append(Body(f"{shown.refused[:1].upper()}{shown.refused[1:]}.", "bad"))
            said += [Body("tab shows another way.", "dim")] if several else []
        self.view.show_all(shown._replace(above=[*said, *shown.above]))
        self.say_keys(self.keys())

    def keys(self) -> list[tuple[str, str]]:
        """How to say yes, no, and something else."""
        shown = self._known.get(self._number)
        keys: list[tuple[str, str]] = []
        if shown is not None and not shown.refused:
            keys += [(" y", "key"), (f" {self._verb} ", "")]
        if len(self._choices) > 1:
            keys += [(" tab", "key"), (f" other way ({self._number + 1} of {len(self._choices)}) ", "")]
        return [*keys, (" n N", "key"), (" hunks ", ""), (" esc", "key"), (" no", "")]

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False)
    def _read_in_thread(self, number: int) -> None:
        try:
            shown = self._read(self._choices[number][1])
        except NanomemError as error:
            shown = Shown(refused=error.line())
        except Exception as error:  # noqa: BLE001 - the dialog says what went wrong
            shown = Shown(refused=in_words(error).line())
        self.post_message(self.Read(number, shown))

    def on_diff_dialog_read(self, event: Read) -> None:
        """A choice was read."""
        event.stop()
        self._known[event.number] = event.shown
        if event.number == self._number:
            self._show()

    def on_key(self, event: events.Key) -> None:
        """Yes, unless there is nothing to say yes to."""
        shown = self._known.get(self._number)
        if event.character == "y" and shown is not None and not shown.refused:
            event.stop()
            self.dismiss(self.chosen)

    def action_other(self, step: int) -> None:
        """Show another choice."""
        if len(self._choices) > 1:
            self._number = (self._number + step) % len(self._choices)
            self._show()

    def action_close(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)
