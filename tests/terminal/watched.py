"""A console whose frames go to three terminals: as Textual writes them, whole, and thin."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pyte
from rich.color import ColorSystem
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.screen import Screen

from nanomem_tui.app import NanomemApp
from nanomem_tui.terminal.frames import Shadow, full_frame, pieces_of
from tests.terminal.emulator import Emulator

TRUE = ColorSystem.TRUECOLOR
APP_CSS = Path(inspect.getfile(NanomemApp)).with_name("app.tcss")


class Peer:
    """The same two ways in a terminal that others wrote."""

    def __init__(self, columns: int, lines: int) -> None:
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.Stream(self.screen)
        self._stream.feed("\x1b[?7l")

    def feed(self, data: str) -> None:
        self._stream.feed(data)

    @property
    def cells(self) -> list[list[tuple[Any, ...]]]:
        screen = self.screen
        return [[_seen(screen.buffer[y][x]) for x in range(screen.columns)] for y in range(screen.lines)]


def _seen(char: pyte.screens.Char) -> tuple[Any, ...]:
    decorated = char.reverse or char.underscore or char.strikethrough
    return ("", char.bg) if char.data in {" ", ""} and not decorated else tuple(char)


class WatchedApp(NanomemApp):
    """Compares the terminals after every frame."""

    CSS_PATH = APP_CSS
    peers = False
    frames = 0
    sent = 0  # characters, thin
    sent_by_textual = 0

    def begin(self, columns: int, lines: int) -> None:
        """New terminals, full of rubbish."""
        self.terminals = [Emulator(columns, lines) for _ in range(3)]
        self.others = [Peer(columns, lines) for _ in range(3 if self.peers else 0)]

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and not self._batch_count and self._running:
            self._compare(renderable)
        super()._display(screen, renderable)

    def _compare(self, update: LayoutUpdate | ChopsUpdate) -> None:
        size = self.screen.outer_size
        if not hasattr(self, "shadow"):
            self.shadow = Shadow()
        if not hasattr(self, "terminals") or (self.terminals[0].columns, self.terminals[0].lines) != size:
            self.begin(size.width, size.height)
        thin = self.shadow.draw(pieces_of(update, TRUE), (size.width, size.height), (0, 0))
        theirs = self._by_textual(update)
        self.sent += len(thin)
        self.sent_by_textual += len(theirs)
        written = (theirs, full_frame(pieces_of(update, TRUE), size.width, (0, 0)), thin)
        for terminals in (self.terminals, self.others):
            for terminal, data in zip(terminals, written, strict=False):
                terminal.feed(data)
        self.frames += 1
        reference, *ours = self.terminals
        for terminal in ours:
            assert terminal.grid == reference.grid, differences(terminal, reference)
        for other in self.others[1:]:
            assert other.cells == self.others[0].cells

    def _by_textual(self, update: LayoutUpdate | ChopsUpdate) -> str:
        """What Textual writes. Where the edge of a dialog cuts through joined emoji, the rest of a line is not where
        it was laid out; so each strip goes to its place."""
        if isinstance(update, ChopsUpdate):
            return f"\x1b[m{update.render_segments(self.console)}"
        parts = ["\x1b[m"]
        for y, strips in enumerate(update.strips, 1):
            x = 1
            for strip in strips:
                parts.append(f"\x1b[{y};{x}H{strip.render(self.console)}")
                x += strip.cell_length
        return "".join(parts)


def differences(ours: Emulator, theirs: Emulator) -> str:
    return "\n".join(
        f"line {y}, column {x}: {mine} is not {yours}"
        for y, (my_line, your_line) in enumerate(zip(ours.grid, theirs.grid, strict=True))
        for x, (mine, yours) in enumerate(zip(my_line, your_line, strict=True))
        if mine != yours
    )[:2000]
