"""The tours: their steps, the lines above the status bar, and the app's part that goes on as a person does what they
say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from nanomem_tui.actions import BY_NAME, Moved, key_text, keys_of
from nanomem_tui.core import paths
from nanomem_tui.core.text import wrap
from nanomem_tui.widgets.bars import Notices
from nanomem_tui.widgets.theme import joined

# -- The tours: five lines for who is here for the first time, and a walk through the demonstration -------------------

_KEY = re.compile(r"\{(\w+)\}")
MARK = "toured"
"""A file in the user's state folder: the five lines were shown."""


class Step(NamedTuple):
    """Lines with the names of actions where their keys are to stand; done when one of `done` (an action, or
    `screen action`) was done. None in `done`: only esc goes on."""

    lines: tuple[str, ...]
    done: tuple[str, ...] = ()


FIRST = (
    Step(
        (
            "Welcome. Everything can be undone: {undo} undoes, {ledger} shows every change.",
            "{go_items} what it remembers · {go_dream} Dreams · {go_recall} why it recalls · {go_inbox} what needs you",
            "{filter} finds as you type · {open} opens, {back} goes back · {cursor_down} {cursor_up} move",
            "{edit} edits · {toggle} switches off · {delete} deletes · {select} selects · {copy} copies",
            "{help} the keys of a screen · {palette} every command by name · {back} hides this",
        )
    ),
)
WALK = (
    Step(
        (
            "Demo data, deleted when you quit. Try anything. Step {step}.",
            "{go_inbox} shows what needs your decision, the most dangerous first.",
            "{back} hides this; {palette} tour shows it again.",
        ),
        ("go_inbox",),
    ),
    Step(
        (
            "One of these is poisoned: a tool result that tries to instruct the model. Step {step}.",
            "{last_turn} shows a turn that was given it. {reject} takes it away, {accept} would keep it.",
        ),
        ("inbox reject", "inbox delete", "inbox toggle"),
    ),
    Step(
        ("Gone, but nothing is ever lost here. Step {step}.", "{undo} brings it back; {redo} takes it away again."),
        ("undo",),
    ),
    Step(
        (
            "Some memories say the same twice. Step {step}.",
            "{next_list} leads on from the inbox to the duplicates; {merge} makes one of them, hits and all.",
        ),
        ("duplicates merge", "inbox merge", "items merge"),
    ),
    Step(
        (
            "And two say opposite things of one telephone. Step {step}.",
            "{next_list} once more: what contradicts; {merge} lets the newer stand, the older stays in its history.",
        ),
        ("conflicts merge", "inbox merge"),
    ),
    Step(
        (
            "And one thing that was said in one chat is known in all. Step {step}.",
            "{go_items}, then {previous_list}: who sees what, and what leaks. {split} gives a memory its own place.",
        ),
        ("scopes split", "items split", "inbox split"),
    ),
    Step(
        (
            "Last night a Dream lost what it should have kept. Step {step}.",
            "{go_dream} shows each Dream, word by word; {dream_restore} takes one back, later edits stay.",
        ),
        ("dream dream_restore",),
    ),
    Step(
        (
            "That was all. {ledger} shows every change you made, {go_recall} why a message recalls what it does.",
            "{help} shows the keys anywhere; {back} hides this, {quit} quits.",
        )
    ),
)


class Tour:
    """A tour under way: the step that is shown, until it is over."""

    def __init__(self, steps: Sequence[Step], moved: Moved, ascii_only: bool = False) -> None:
        self._steps = [step for step in steps if all(_is_there(name) for name in step.done) or not step.done]
        self._moved = moved
        self._ascii = ascii_only
        self._at = 0
        self._away = False

    @property
    def over(self) -> bool:
        """Whether there is nothing more to show."""
        return self._away or self._at >= len(self._steps)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is shown now; none when it is over."""
        return () if self.over else tuple(_KEY.sub(self._named, line) for line in self._steps[self._at].lines)

    def did(self, screen: str, action: str) -> bool:
        """Something was done: whether that was the step, and the next one is shown."""
        if self.over or not {action, f"{screen} {action}"}.intersection(self._steps[self._at].done):
            return False
        self._at += 1
        return True

    def leave(self) -> None:
        """The person has seen enough for now."""
        self._away = True

    def go_on(self) -> bool:
        """Show the step again that was shown when the person left; False where no step was left."""
        self._away = False
        return not self.over

    def _named(self, found: re.Match[str]) -> str:
        name = found[1]
        if name == "step":
            return f"{self._at + 1} of {len(self._steps)}"
        action = BY_NAME[name]
        return key_text(next(iter(keys_of(action, self._moved)), f": {action.label}"), self._ascii)


def _is_there(name: str) -> bool:
    """Whether an action that is named with its screen exists there."""
    screen, _, action = name.rpartition(" ")
    return action in BY_NAME and (not screen or BY_NAME[action].on(screen))


def first_tour(which: str, moved: Moved, ascii_only: bool = False) -> Tour | None:
    """The tour of a start: the `walk` of the demonstration, or the `first` lines where they were never shown."""
    if which == "walk":
        return Tour(WALK, moved, ascii_only)
    return Tour(FIRST, moved, ascii_only) if is_first_run() else None


def is_first_run() -> bool:
    """Whether the five lines were never shown to this user; from now on they were."""
    mark = paths.user_state() / MARK
    try:
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark.touch(mode=0o600, exist_ok=False)
    except OSError:  # shown before; or nothing can be kept, and then not each time anew
        return False
    return True


class TourBar(Widget):
    """The lines of the step that is shown; no line of the screen while there are none."""

    DEFAULT_CSS = """
    TourBar { height: 0; background: $panel; color: $accent; text-style: bold; }
    TourBar:nocolor { text-style: bold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._words: tuple[str, ...] = ()
        self._lines: list[str] = []

    def show(self, words: Sequence[str]) -> None:
        """Show these lines; paints only when they differ."""
        if tuple(words) != self._words:
            self._words = tuple(words)
            self.fit()

    def on_resize(self) -> None:
        """Wrap the lines to the new width."""
        self.fit()

    def fit(self) -> None:
        """As many lines as the width needs."""
        width = max(self.app.size.width - 2, 10)
        self._lines = [line for words in self._words for line in wrap(words, width)]
        self.styles.height = len(self._lines)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line."""
        text = f" {self._lines[y]}" if y < len(self._lines) else ""
        parts: list[tuple[str, Style]] = [(text, self.rich_style)]
        return Strip(joined(parts, self.size.width, self.rich_style), self.size.width)


class Touring(Notices):
    """An app that may show a tour."""

    tour: Tour | None = None

    def begin_tour(self, tour: Tour | None) -> None:
        """Show a tour, or none."""
        self.tour = tour
        self.notice_changed()

    @property
    def tour_lines(self) -> Sequence[str]:
        """What the tour says now."""
        return self.tour.lines if self.tour is not None else ()

    def toured(self, screen: str, action: str) -> bool:
        """Something was done; whether that was all that it did: esc puts the tour away."""
        if self.tour is None or self.tour.over:
            return False
        leaves = action == "back"
        if leaves:
            self.tour.leave()
        if leaves or self.tour.did(screen, action):
            self.notice_changed()
        return leaves
