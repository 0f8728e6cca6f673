"""Merge an edit with what somebody else wrote into the same lines meanwhile: one decision for each conflict.

Changes nothing: its result is the merged text, or a text to continue with. Nothing typed is lost by leaving it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget

from nanomem_tui.core import merge
from nanomem_tui.core.text import counted
from nanomem_tui.widgets.dialogs import Dialog
from nanomem_tui.widgets.diff_view import DiffLine, DiffView, Hunk, diff_texts, spans_of
from nanomem_tui.widgets.text_view import Block, Body, Line, Spans, lay_out, side_by_side
from nanomem_tui.widgets.theme import glyphs

if TYPE_CHECKING:
    from nanomem_tui.core.merge import ConflictHunk, Taken

SIDES: tuple[tuple[Taken, str, str], ...] = (
    ("ours", "1", "the file's"), ("theirs", "2", "yours"), ("both", "3", "both"),
)  # fmt: skip
WORDS = {side: words for side, _, words in SIDES}
KEYS = {key: side for side, key, _ in SIDES}
NO_LINE = Spans((("(no line)", "dim"),), 4)


class Texts(NamedTuple):
    """The three versions of one text: as it was when the person began, as it is there now, as the person wants it."""

    base: str
    now: str
    yours: str

    def merged(self, taken: Sequence[Taken]) -> merge.Merged:
        """What they come to; "ours" of a conflict is what is there now."""
        return merge.merge_lines(self.base, self.now, self.yours, keep_both=True, taken=taken)


class Answer(NamedTuple):
    """The merged text, and whether it is to be saved as it is, or to be written at first."""

    text: str
    how: Literal["save", "edit"]


class MergeView(DiffView):
    """The places that both changed, each with its three versions and what was decided; or what saving would do."""

    def __init__(self, name: str, texts: Texts, taken: list[Taken | None]) -> None:
        super().__init__()
        self._file = name
        self._texts = texts
        self.conflicts = texts.merged(()).conflicts
        self.taken = taken
        self.at = 0
        self._starts_of: list[int] = []
        self.shows_result = False

    @property
    def left(self) -> int:
        """How many places are not decided."""
        return self.taken.count(None)

    def result(self) -> str:
        """The merged text as decided so far, with both sides of the rest."""
        return self._texts.merged([side or "both" for side in self.taken]).text

    def take(self, side: Taken) -> None:
        """Decide the place at the cursor, and go to the next one that is not decided."""
        self.taken[self.at] = side
        open_ones = [number for number, one in enumerate(self.taken) if one is None]
        self.go(next((number for number in open_ones if number > self.at), open_ones[0] if open_ones else self.at))

    def go(self, number: int) -> None:
        """Put the cursor on a place and bring it into view."""
        self.at = max(0, min(number, len(self.conflicts) - 1))
        self.lay_out_again(keep_place=True)
        if self.at < len(self._starts_of):
            self.scroll_to(y=max(0, self._starts_of[self.at] - 1), animate=False, force=True)

    def move_by(self, lines: int) -> None:
        """From place to place by single lines; by pages as any text."""
        if self.shows_result or abs(lines) > 1:
            super().move_by(lines)
        else:
            self.go(self.at + lines)

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The places, or the difference between the file now and what would be saved."""
        if self.shows_result:
            self.files = (diff_texts(self._file, self._texts.now, self.result()),)
            left = f"{counted(self.left, 'place')} not decided: both sides are kept there." if self.left else ""
            self.blocks = (Body("What saving would change in the file as it is now.", "dim"), Body(left, "warn"))
            return super().lay_out(width, wrapped)
        told = f"While you were writing, somebody else changed the same lines, in {counted(len(self.taken), 'place')}."
        lines = lay_out((Body(told), Body("What only one of you changed is merged already.", "dim")), width)
        self._starts_of = []
        for number, conflict in enumerate(self.conflicts):
            lines.append(())
            self._starts_of.append(len(lines))
            lines += self._conflict_lines(number, conflict, width)
        return lines

    def _conflict_lines(self, number: int, conflict: ConflictHunk, width: int) -> list[Line]:
        at_cursor, taken = number == self.at, self.taken[number]
        marker = glyphs(self).cursor if at_cursor else " "
        decided = f"keeps {WORDS[taken]}" if taken else "not decided"
        title = f"{marker} {number + 1} of {len(self.taken)}, line {conflict.line}: {decided} "
        lines: list[Line] = [((title, "cursor" if at_cursor else "warn" if taken is None else "good"),)]
        was = [Spans(((line.rstrip("\n"), "dim"),), 4) for line in conflict.base] or [NO_LINE]
        lines += lay_out([Spans((("before", "label"),), 2), *was], width)
        now, yours = _sides(conflict)
        lines += side_by_side(
            [Spans((("1 the file now", "label"),), 2), *now], [Spans((("2 yours", "label"),), 2), *yours],
            width, glyphs(self).separator,
        )  # fmt: skip
        return lines


class MergeScreen(Dialog["Answer | None"]):
    """Asks what becomes of each place that both changed. `draft` is what there is to lose."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", show=False, priority=True),
        Binding("escape,q", "leave", "leave", show=False),
        Binding("tab,shift+tab", "result", "result", show=False, priority=True),
    ]

    def __init__(self, name: str, texts: Texts) -> None:
        super().__init__(f"{name}: both of you changed it", tall=True)
        self._file = name
        self._texts = texts
        self._taken: list[Taken | None] = [None] * len(texts.merged(()).conflicts)

    def inside(self) -> list[Widget]:
        """The places."""
        return [MergeView(self._file, self._texts, self._taken)]

    @property
    def view(self) -> MergeView:
        """The places."""
        return self.query_one(MergeView)

    @property
    def draft_of(self) -> tuple[str, str]:
        """To what a draft belongs: the title of its editor, and the text as it is there now."""
        return f"Edit {self._file}", self._texts.now

    @property
    def draft(self) -> str:
        """What was decided so far, with both sides of the rest."""
        return self._texts.merged([side or "both" for side in self._taken]).text

    def keys(self) -> list[tuple[str, str]]:
        """How to decide, to look and to save."""
        left = self.view.left
        save = [(" ^s", "key"), (" save ", "")] if not left else [(f" {left} left ", "warn")]
        if self.view.shows_result:
            return [
                *save,
                (" tab", "key"),
                (" places ", ""),
                (" e", "key"),
                (" edit ", ""),
                (" esc", "key"),
                (" later", ""),
            ]
        keys: list[tuple[str, str]] = []
        for _, key, words in SIDES:
            keys += [(f" {key}", "key"), (f" {words} ", "")]
        keys += [(" tab", "key"), (" result ", "")]
        return [*keys, (" e", "key"), (" edit ", ""), *save, (" esc", "key"), (" later", "")]

    def on_mount(self) -> None:
        """Keys go to the places."""
        self.view.focus()
        self.say_keys(self.keys())

    def on_key(self, event: events.Key) -> None:
        """Decide the place at the cursor, or go on by hand."""
        side = KEYS.get(event.character or "")
        if side is not None and not self.view.shows_result:
            event.stop()
            self.view.take(side)
        elif event.character == "e":
            event.stop()
            self.dismiss(Answer(self.view.result(), "edit"))
        self.say_keys(self.keys())

    def action_result(self) -> None:
        """Show what saving would do, or the places again."""
        self.view.shows_result = not self.view.shows_result
        self.view.files, self.view.blocks = (), ()
        self.view.lay_out_again()
        self.say_keys(self.keys())

    def action_save(self) -> None:
        """Close with the merged text, once every place is decided."""
        if self.view.left:
            self.say_keys([(f" {counted(self.view.left, 'place')} left to decide: ", "bad"), *self.keys()])
        else:
            self.dismiss(Answer(self.view.result(), "save"))

    def action_leave(self) -> None:
        """Close without a result."""
        self.dismiss(None)


def _sides(conflict: ConflictHunk) -> tuple[list[Block], list[Block]]:
    """The lines of both sides, the words that differ standing out."""
    now, yours = ([line.rstrip("\n") for line in side] for side in (conflict.ours, conflict.theirs))
    lines = [DiffLine("-", text) for text in now] + [DiffLine("+", text) for text in yours]
    sides: dict[str, list[Block]] = {"-": [], "+": []}
    for line, parts in spans_of(Hunk(tuple(lines))):
        sides[line.sign].append(Spans(tuple(parts), 4))
    return sides["-"] or [NO_LINE], sides["+"] or [NO_LINE]
