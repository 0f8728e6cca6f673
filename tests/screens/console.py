"""The console on a workspace, driven by keys, without a terminal. Waits for conditions, never for time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from textual import app as textual_app
from textual import pilot as textual_pilot
from textual._compositor import Compositor, visible_screen_stack
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen

from nanomem_tui import app as app_module
from nanomem_tui.app import NanomemApp
from nanomem_tui.core import config, paths
from nanomem_tui.opening import Opening
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets import bars

PATIENCE = 60.0  # seconds that anything is waited for, however busy the machine


class Console:
    """A running console: press keys, read the screen."""

    def __init__(self, app: NanomemApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> WorkspaceScreen[Any]:
        return cast("WorkspaceScreen[Any]", self.app.main_screen)

    @property
    def text(self) -> str:
        visible_screen_stack.set(self.app._background_screens)  # a dialog lies over the screen that it was called from
        return self.app.screen_text()

    @property
    def ids(self) -> list[str]:
        return [self.screen.row_id(row) for row in self.screen.table.rows]

    def cursor_text_of(self, field: str) -> str:
        """A field of the row at the cursor; "" while there is none, so that it can be waited for."""
        if not self.screen.query("#list"):
            return ""
        row = self.screen.table.cursor_row
        return "" if row is None else str(getattr(row, field))

    @property
    def cursor_text(self) -> str:
        return self.cursor_text_of("text")

    async def press(self, *keys: str) -> None:
        """Press keys, each after the one before has done all that it does."""
        for key in keys:
            await self.pilot.press(key)
            await self.app.settled(PATIENCE)
            await self.pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, and wait until all is laid out anew."""
        await self.pilot.resize_terminal(width, height)
        await self.until(lambda: self.app.screen._compositor.size == (width, height))
        await self.app.settled(PATIENCE)
        await self.pilot.pause()

    async def go(self, screen: str) -> None:
        """Show another screen, and wait until its rows are there."""
        self.app.go(screen)
        await self.app.settled(PATIENCE)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        await self.pilot.press(*(NAMES.get(char, char) for char in text))
        await self.pilot.pause()

    async def until(self, true: Callable[[], Any], what: str = "") -> None:
        """Wait until something is true; fails with the screen after a minute."""
        end = time.monotonic() + PATIENCE
        while not true():
            if time.monotonic() > end:
                raise AssertionError(f"never: {what or true}\n{self.text}")
            await asyncio.sleep(0.01)
            await self.pilot.pause()

    async def shows(self, *texts: str) -> None:
        await self.until(lambda: all(text in self.text for text in texts), f"the screen shows {texts}")

    async def at(self, row_id: str) -> None:
        """Put the cursor on a row."""
        assert self.screen.table.move_to_id(row_id), f"{row_id} is not among {self.ids}"
        await self.app.settled(PATIENCE)
        await self.pilot.pause()


NAMES = {
    "]": "right_square_bracket",
    "[": "left_square_bracket",
    " ": "space",
    "/": "slash",
    ":": "colon",
    '"': "quotation_mark",
    "-": "minus",
    "_": "underscore",
    ".": "full_stop",
}


_RULES: dict[tuple[object, ...], list[RuleSet]] = {}
_parse_rules = Stylesheet._parse_rules


def _parsed_once(sheet: Stylesheet, *args: Any, **kwargs: Any) -> list[RuleSet]:
    """The rules of a stylesheet, read once by a process and not once by each app."""
    key = (args, *kwargs.items(), *sheet._variables.items())
    if key not in _RULES:
        _RULES[key] = _parse_rules(sheet, *args, **kwargs)
    return _RULES[key]


def _painted_when_asked(
    compositor: Compositor, full: bool = False, screen_stack: list[Screen[Any]] | None = None, simplify: bool = False
) -> None:
    """No frame for a terminal that is not there: what is shown is drawn where a test reads it."""
    visible_screen_stack.set(screen_stack or [])
    compositor._dirty_regions.clear()


async def _soon(*_seconds: float) -> None:
    """Textual's pilot waits until the process is idle; `settled` knows when all is done that a key does."""
    await asyncio.sleep(0)


@contextmanager
def quick(*, painted: bool = False) -> Iterator[pytest.MonkeyPatch]:
    """Consoles that parse no style twice, wait for what is to come and not for time, and paint (unless `painted`) only
    what is read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", _parsed_once)
        for module in (textual_app, textual_pilot):
            patch.setattr(module, "wait_for_idle", _soon)
        if not painted:
            patch.setattr(Compositor, "render_update", _painted_when_asked)
        yield patch


@asynccontextmanager
async def console(
    workspace: Path,
    screen: str,
    size: tuple[int, int] = (140, 40),
    kind: type[NanomemApp] = NanomemApp,
    *,
    painted: bool = False,
) -> AsyncIterator[Console]:
    """The console on `workspace`, showing `screen`, all read; `painted`: every frame, as for a terminal."""
    found = paths.find_workspace(workspace)
    opening = Opening(found, config.load(found))
    app = kind(opening, first_screen=screen)
    with quick(painted=painted) as patch:
        patch.setattr(bars, "NOTICE_SECONDS", PATIENCE)  # what is said stays until it was looked for
        patch.setattr(bars, "SECONDS", dict.fromkeys(bars.SECONDS, PATIENCE))
        patch.setattr(app_module, "ROWS_PATIENCE", PATIENCE)
        async with app.run_test(size=size, notifications=True) as pilot:
            await app.settled(PATIENCE)
            app.check_workspace()
            await app.settled(PATIENCE)
            await pilot.pause()
            yield Console(app, pilot)
    if opening.opened is not None:
        opening.opened.close()
