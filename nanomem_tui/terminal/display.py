"""How an app's frames reach the terminal: whole, or thin: only what differs from what the terminal shows.

Owns the hook into Textual's `App._display`. Either way every cell passes the guard of `cells`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.color import ColorSystem
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.driver import Driver
from textual.screen import Screen

from nanomem_tui.terminal.cells import pieces_of
from nanomem_tui.terminal.shadow import Shadow
from nanomem_tui.terminal.writing import whole

if TYPE_CHECKING:
    from rich.console import RenderableType

SYNC_BYTES = 512  # what is no longer than this comes in one piece: no need to tell the terminal when to paint
SYNC_START, SYNC_END = "\x1b[?2026h", "\x1b[?2026l"


def wants_thin(setting: str, environ: Mapping[str, str]) -> bool:
    """Whether output is thin: `setting` is "auto", "on" or "off"; auto is on where the terminal is reached by SSH."""
    if setting in {"on", "off"}:
        return setting == "on"
    return bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))


class Display(App[int]):
    """An app whose frames are written cell by cell."""

    _shadow: Shadow | None = None  # None: frames are written whole

    def write_thin(self, thin: bool) -> None:
        """Write only what differs from what the terminal shows, or each frame whole."""
        self._shadow = Shadow() if thin else None

    def forget_terminal(self) -> None:
        """Somebody else may have written to the terminal: the next frame writes all that is to be seen."""
        if self._shadow is not None:
            self._shadow.forget()

    def on_mount(self) -> None:
        """Paint the whole screen when the program goes on after a stop: the shell wrote over it."""
        self.app_resume_signal.subscribe(self, lambda _app: self.paint_anew())

    def paint_anew(self) -> None:
        """Write all that is to be seen once more, as where somebody else wrote over it."""
        self.forget_terminal()
        self.screen.refresh(layout=True)

    async def on_event(self, event: events.Event) -> None:
        """A terminal that was resized may show anything."""
        if isinstance(event, events.Resize):
            self.forget_terminal()
        await super().on_event(event)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        driver = self._terminal_driver()
        if driver is None or not isinstance(renderable, LayoutUpdate | ChopsUpdate):
            if renderable is not None:
                self.forget_terminal()
            super()._display(screen, renderable)
            return
        try:
            if not self._batch_count:
                self._write_frame(driver, self._frame(renderable))
        except Exception as error:  # noqa: BLE001 - as Textual: a mistake in a frame ends the app, in order
            self._handle_exception(error)
        finally:
            self.post_display_hook()

    def _terminal_driver(self) -> Driver | None:
        """The driver of a terminal that is there to be written to."""
        driver = self._driver
        if driver is None or self.is_headless or driver.is_inline or not self._running or self._closed:
            return None
        return driver

    def _frame(self, update: LayoutUpdate | ChopsUpdate) -> str:
        size = self.screen.outer_size
        cursor = self._previous_cursor_position = size.clamp_offset(self.cursor_position)
        place = (cursor.y, cursor.x)
        pieces = pieces_of(update, self.console._color_system or ColorSystem.TRUECOLOR)
        if self._shadow is None:
            return whole(pieces, size.width, place)
        return self._shadow.draw(pieces, (size.width, size.height), place)

    def _write_frame(self, driver: Driver, data: str) -> None:
        if not data:
            return
        if self._sync_available and (self._shadow is None or len(data) > SYNC_BYTES):
            data = f"{SYNC_START}{data}{SYNC_END}"
        driver.write(data)
        driver.flush()
