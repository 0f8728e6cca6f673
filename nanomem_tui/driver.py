"""The terminal driver of the console: Textual's own, without its waits, and friendly to a frame that is there already.

Owns the reading of keys and the taking and giving back of the terminal. It must not know what is shown.
"""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App

ALTERNATE_SCREEN = "\x1b[?1049h"
PART_SECONDS = 0.005  # how often to look whether a lone ESC was the key, while one may be waiting
PART_LOOKS = 20


def console_driver(state: list[Any] | None) -> type[ConsoleDriver]:
    """A driver class for a terminal that was taken already and had the termios `state` before; None: take it all."""
    return type("FirstFrameDriver", (ConsoleDriver,), {"state_before": state})


class ConsoleDriver(LinuxDriver):
    """Reads keys without a poll, so that Esc and leaving don't wait for one and an idle console sleeps.

    With `state_before` the other screen is shown already and holds the first frame: it is not cleared, and what is
    given back at the end, and to an editor in between, is that state.
    """

    state_before: list[Any] | None = None
    left = False

    def __init__(self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: Any = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._first_frame = self.state_before is not None
        self._wake: tuple[int, int] | None = None  # a pipe, while keys are read

    def write(self, data: str) -> None:
        """Write to the terminal, but for the command that would clear the first frame."""
        if self._first_frame and data == ALTERNATE_SCREEN:
            self._first_frame = False
            return
        super().write(data)

    def start_application_mode(self) -> None:
        """Take the terminal, at the start and after an editor."""
        self._wake = os.pipe()
        super().start_application_mode()  # type: ignore[no-untyped-call] # Textual left it so
        type(self).left = False
        if self.state_before is not None:
            self.attrs_before = self.state_before

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        super().stop_application_mode()
        type(self).left = True

    def disable_input(self) -> None:
        """Stop reading keys, at once."""
        if self._wake is not None and self._key_thread is not None and self._key_thread.is_alive():
            os.write(self._wake[1], b"x")
        super().disable_input()

    def close(self) -> None:
        """Let go of the terminal and of the pipe."""
        super().close()
        if self._wake is not None:
            for end in self._wake:
                os.close(end)
            self._wake = None

    def run_input_thread(self) -> None:
        """Wait for keys and hand them on, until woken by `disable_input`."""
        assert self._wake is not None
        wake = self._wake[0]
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        looks = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                ready = {key.fd for key, _ in selector.select(PART_SECONDS if looks else None)}
                if wake in ready:
                    os.read(wake, 1)
                    return
                if self.fileno in ready:
                    data = os.read(self.fileno, 4096)
                    if not data:  # the terminal is gone; a signal ends the program
                        selector.unregister(self.fileno)
                    for event in parser.feed(decode(data)) if data else ():
                        self.process_message(event)
                    looks = PART_LOOKS
                for event in parser.tick():
                    self.process_message(event)
                looks = max(looks - 1, 0)
