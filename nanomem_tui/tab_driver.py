"""The driver of a console in a tab of a browser: Textual's own, which also ends when the tab or its server is gone.

A tab that closes is a hang-up: the console saves, keeps what was being typed, and leaves. Named by `TEXTUAL_DRIVER`.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import Any

from textual.drivers.web_driver import WebDriver


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
