"""The lines above the Recall screen: the message and what it replies to, told at each key; who asks, by which profile
and weights.
"""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from nanomem_tui.core.text import cell_width, one_line
from nanomem_tui.screens.recall_rows import Asked, audience_words
from nanomem_tui.widgets.bars import LineBar
from nanomem_tui.widgets.document import Span
from nanomem_tui.widgets.filter_bar import LineInput

FRAME = 6  # cells around who asks


class AskedBar(LineBar):
    """Who asks, the profile, and each weight; the one that the keys turn stands out."""

    def __init__(self) -> None:
        super().__init__(id="asked")
        self._asked, self._weight = Asked(), ""

    def show(self, asked: Asked, weight: str) -> None:
        """Show `asked`; `weight` is the one that is turned."""
        self._asked, self._weight = asked, weight
        self.fit()

    def fit(self) -> None:
        """Who asks, and the weights in as many words as there is room for."""
        who = audience_words(self._asked.audience)
        weights: list[Span] = []
        used = 0
        for was, letters in ((True, 0), (False, 0), (False, 3)):
            weights = weight_parts(self._asked, self._weight, was=was, letters=letters)
            used = sum(cell_width(text) for text, _ in weights) + FRAME
            if used + cell_width(one_line(who)) <= self.size.width:
                break
        who = one_line(who, max(self.size.width - used, 8))
        self.set_parts([(" as ", "dim"), (who, "key"), ("  ", ""), *weights])


class AskLine(Horizontal):
    """A name and a field of one line."""

    DEFAULT_CSS = """
    AskLine { height: 1; }
    AskLine > LineBar { width: 10; }
    """

    def __init__(self, name: str, hint: str, *, id: str) -> None:
        super().__init__(id=id)
        self._said = name
        self._hint = hint

    def compose(self) -> ComposeResult:
        """The two of them."""
        name = LineBar()
        name.set_parts([(f" {self._said} ", "key")])
        yield name
        yield LineInput(placeholder=self._hint, id=f"ask-{self.id}")

    @property
    def field(self) -> LineInput:
        """Where it is typed."""
        return self.query_one(LineInput)


class AskBar(Vertical):
    """The message, what it replies to, and who asks. Enter, tab and the down key go to the answer; esc clears the field
    first. The line of the reply is there while it is typed, or holds something.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "clear", show=False),
        Binding("down,tab", "keep", "to the list", show=False),
    ]
    DEFAULT_CSS = """
    AskBar { height: auto; background: $panel; }
    AskBar #reply { display: none; }
    AskBar.-reply #reply { display: block; }
    """

    class MessageChanged(Message):
        """The message is now `text`, and replies to `reply_to`; several in a row become one."""

        def __init__(self, text: str, reply_to: str) -> None:
            super().__init__()
            self.text = text
            self.reply_to = reply_to

        def can_replace(self, message: Message) -> bool:
            """Only what was typed last matters."""
            return isinstance(message, AskBar.MessageChanged)

    class Left(Message):
        """The person went back to the list."""

    def compose(self) -> ComposeResult:
        """The fields, and the line below them."""
        yield AskLine("Message", "/ and the words of a message, as the agent would get it", id="message")
        yield AskLine("Reply to", "the words of the message that it replies to", id="reply")
        yield AskedBar()

    def _line(self, name: str) -> AskLine:
        return self.query_one(f"#{name}", AskLine)

    def show(self, asked: Asked, weight: str) -> None:
        """Show who asks and how it is ranked."""
        self.query_one(AskedBar).show(asked, weight)

    def open(self, name: str = "message") -> None:
        """Let the person type: the `message`, or what it is a `reply` to. What stands there is selected: other words
        take its place, and a key that moves the cursor keeps it."""
        if name == "reply":
            self.add_class("-reply")
        field = self._line(name).field
        field.focus()
        field.select_all()

    def set_text(self, text: str, reply_to: str = "") -> None:
        """Another message, as if it had been typed."""
        self._line("message").field.value = one_line(text)
        self._line("reply").field.value = one_line(reply_to)
        self._fit()

    def _fit(self) -> None:
        self.set_class(bool(self._line("reply").field.value), "-reply")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.MessageChanged(self._line("message").field.value, self._line("reply").field.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """To the answer."""
        self._fit()
        self.post_message(self.Left())

    def action_clear(self) -> None:
        """Nothing in this field any more."""
        for line in self.query(AskLine):
            if line.field.has_focus:
                line.field.value = ""
        self.action_keep()


def weight_parts(asked: Asked, weight: str, *, was: bool = True, letters: int = 0) -> list[Span]:
    """The profile and its weights: the chosen one in brackets, a changed one with a star and what it `was`.

    `letters`: how many of each name; 0 for all.
    """
    parts: list[Span] = [(f"by {asked.profile}", "key"), (" ", "")]
    for name, value in asked.weights.items():
        changed = name in asked.changed
        before = f" was {asked.usual[name]:.3f}" if was and changed else ""
        text = f"{name[: letters or None]} {value:.3f}{'*' if changed else ''}{before}"
        tone = "warn" if changed else "key" if name == weight else "dim"
        parts.append((f"[{text}]" if name == weight else f" {text} ", tone))
    return parts
