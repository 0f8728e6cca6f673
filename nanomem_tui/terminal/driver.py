"""The terminal driver of the console: Textual's own, without its waits, and friendly to a frame that is there already.

Owns the reading of keys and the taking and giving back of the terminal. It must not know what is shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import selectors
import signal
import time
from codecs import getincrementaldecoder
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.drivers.web_driver import WebDriver

from nanomem_tui.widgets.real_cursor import SHOW

if TYPE_CHECKING:
    from textual.app import App
    from textual.message import Message


# What a terminal answers to a question, told from keys: an answer that comes late, or to another program, must not be
# typed into a screen where `d` deletes.

LATE = 2.0
"""Seconds within which the rest of an answer comes; what comes later was typed."""
QUICK = 0.15
"""Seconds behind an escape alone within which no person types the next key."""

_REPLY = re.compile(
    r"\x1b\[[?>=][0-9;:]*(?:[a-zA-Z]|[ !\"'#%&*][a-zA-Z]|\$[a-xzA-Z])|"  # what it is and can do; no key begins so
    r"\x1b\]\d[^\x07\x1b]*(?:\x07|\x1b\\)|"  # its colours, its title, what it has copied
    r"\x1b(?:P[0-9!>$|+=]|_[A-Z])[^\x07\x1b]*(?:\x07|\x1b\\)"  # its name and settings; pictures
)
_BEGUN = re.compile(
    r"\x1b(?:\[(?:[?>=][0-9;:]*[ !\"'#%&*$]?)?|\](?:\d[^\x07\x1b]*\x1b?)?|"
    r"[P_](?:[0-9!>$|+=A-Z][^\x07\x1b]*\x1b?)?)\Z"
)
"""The beginning of one at the end of what came so far."""


class Replies:
    """What came from a terminal, without its answers. `without` is given every piece with the time it came at."""

    def __init__(self) -> None:
        self._begun, self._since = "", -LATE
        self._given = False  # whether its escape was passed on, as a key that it may be

    def without(self, data: str, at: float) -> str:
        """What of a piece was typed, or is Textual's. The beginning of an answer waits for its rest."""
        if not self._goes_on(data, at):
            self._begun, self._given = "", False
        whole = self._begun + data
        kept = _REPLY.sub("", whole)
        lead = int(self._given and _REPLY.match(whole) is None)  # the escape that was passed on
        begun = _BEGUN.search(kept)
        if begun is not None:
            if begun.start() or not self._begun:
                self._since = at
            kept, self._begun, self._given = kept[: begun.start()], begun[0], bool(lead) and not begun.start()
        elif kept.endswith("\x1b") and len(kept) > lead:
            self._begun, self._given, self._since = "\x1b", True, at
        else:
            self._begun, self._given = "", False
        return kept[lead:]

    def _goes_on(self, data: str, at: float) -> bool:
        """Whether a piece may be the rest of what was begun: a person may press escape, and then another key."""
        is_typed = self._begun == "\x1b" and len(data) < 3
        return at - self._since < (QUICK if is_typed else LATE)


ALTERNATE_SCREEN = "\x1b[?1049h"
PART_SECONDS = 0.005  # how often to look whether a lone ESC was the key, while one may be waiting
PART_LOOKS = 20
ESC, SEEN_ESC = "\x1b", "\u241b"  # the key and, in a text, its picture
PASTE, PASTED = "\x1b[200~", "\x1b[201~"  # the terminal's marks around what is pasted
MANY = 16  # characters in one go, beside keys that send a sequence, that no hand types
_REPORT = r"\[(?:<[\d;]+[Mm]|M|\?[\d;]+\$?[a-z]|\d+;\d+R|[\d;:]+[ut]|[IO]|[\d;]*$)"
_SEQUENCE = re.compile(r"\x1b(?:\[[\d;:<?$]*[@-~]|O[@-~])")
#: Keys that move, before the first letter: a script sends End and a text in one go.
_KEYS_BEFORE = re.compile(r"(?:\x1b(?:\[[A-DFH]|O[A-DFH]|\[[1-8]~))*")
_STRAY_IN_MANY = re.compile(rf"\x1b(?!{_REPORT})")
#: Never a key: a colour, or ESC with text on both sides that came in one go.
_STRAY = re.compile(r"\x1b(?=\[[\d;]*m)|(?<=[^\x00-\x1f])\x1b+(?=[^\x1b\[O])")


class Pasted:
    """Makes ESC in pasted text visible: a parser of keys would take what follows it out of the text, or obey it.

    Where the terminal marks what is pasted, that is known. Where it doesn't, text with an ESC in the midst of it, or
    behind more than a hand types in one go, is taken for pasted.
    """

    def __init__(self) -> None:
        self._pasting = False
        self._held = ""  # what may be the beginning of the end mark
        self._tail = ""  # what may be the beginning of the start mark, handed on already

    def shown(self, data: str) -> str:
        """What came in one read, as keys and text for the parser."""
        data, self._held = self._held + data, ""
        parts: list[str] = []
        while data:
            part, data = self._inside(data) if self._pasting else self._outside(data)
            parts.append(part)
        return "".join(parts)

    @property
    def pasting(self) -> bool:
        """Whether the end of what is pasted is yet to come."""
        return self._pasting

    def _inside(self, data: str) -> tuple[str, str]:
        text, end, rest = data.partition(PASTED)
        self._pasting = not end
        if not end:
            held = next((size for size in range(len(PASTED) - 1, 0, -1) if text.endswith(PASTED[:size])), 0)
            text, self._held = text[: len(text) - held], text[len(text) - held :]
        return text.replace(ESC, SEEN_ESC) + end, rest

    def _outside(self, data: str) -> tuple[str, str]:
        joined, before = self._tail + data, len(self._tail)
        at = joined.find(PASTE)
        self._pasting = at >= 0
        cut = len(data) if at < 0 else at + len(PASTE) - before
        self._tail = joined[1 - len(PASTE) :] if at < 0 else ""
        typed = data[: max(at - before, 0)] if self._pasting else data
        many = len(_SEQUENCE.sub("", typed)) >= MANY
        moves = _KEYS_BEFORE.match(typed) if many else None
        keys = moves[0] if moves is not None else ""
        text = (_STRAY_IN_MANY if many else _STRAY).sub(_seen, typed[len(keys) :])
        return keys + text + data[len(typed) : cut], data[cut:]


def _seen(found: re.Match[str]) -> str:
    return SEEN_ESC * len(found[0])


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

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again after a stop. A hang-up sends this signal as well: then there is none to take."""
        with contextlib.suppress(OSError):
            os.tcgetpgrp(self.fileno)
            super()._sigcont_application()

    def start_application_mode(self) -> None:
        """Take the terminal, at the start and after an editor."""
        self._wake = os.pipe()
        super().start_application_mode()  # type: ignore[no-untyped-call] # Textual left it so
        type(self).left = False
        forget = getattr(self._app, "forget_terminal", None)
        if forget is not None:
            forget()
        if self.state_before is not None:
            self.attrs_before = self.state_before
        if getattr(self._app, "shows_cursor", False):
            self.write(SHOW)

    def stop_application_mode(self) -> None:
        """Give the terminal back, in its own colours."""
        self.write("\x1b[m")
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

    @staticmethod
    def _events(parser: XTermParser, data: str) -> Iterable[Message]:
        return parser.feed(data) if data else ()  # nothing at all would be the end of the file

    def run_input_thread(self) -> None:
        """Wait for keys and hand them on, until woken by `disable_input`."""
        assert self._wake is not None
        wake = self._wake[0]
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        pasted, replies = Pasted(), Replies()
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
                    sent = decode(data)
                    if not pasted.pasting:
                        typed, mark, rest = sent.partition(PASTE)
                        sent = replies.without(typed, time.monotonic()) + mark + rest
                    for event in self._events(parser, pasted.shown(sent)):
                        self.process_message(event)
                    looks = PART_LOOKS
                for event in parser.tick():
                    self.process_message(event)
                looks = max(looks - 1, 0)


# The driver of a console in a tab of a browser: Textual's own, which also ends when the tab or its server is gone.


class TabDriver(WebDriver):
    """Leaves in order when its server says so, or is there no more."""

    def start_application_mode(self) -> None:
        """Begin, and know the loop that ends it."""
        self._loop = asyncio.get_running_loop()
        super().start_application_mode()

    def run_input_thread(self) -> None:
        """Hand on what is typed, until there is no more: the server closed it, or was killed."""
        super().run_input_thread()
        self._hang_up()

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Do what the server asks for."""
        if packet_type == "quit":
            self._hang_up()
        else:
            super().on_meta(packet_type, payload)

    def _hang_up(self) -> None:
        app: Any = self._app
        if not self.exit_event.is_set():
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(app.asked_to_end, signal.SIGHUP)
