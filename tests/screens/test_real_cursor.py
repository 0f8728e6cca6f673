"""The terminal's own cursor stands where the keys act, for who reads the screen by ear or finger."""

import re

import pytest

from nanomem_tui.demo import build
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console
from tests.snapshots.terminal import nanomem

MARK = "▸"


def line_of_mark(on, before=""):
    """The line of the screen on which the row at the cursor is marked, behind `before`."""
    return next(y for y, line in enumerate(on.text.splitlines()) if f"{before}{MARK}" in line)


@pytest.mark.slow
async def test_it_is_on_the_current_row_wherever_the_keys_go(demo):
    async with console(demo, "items", (80, 24)) as on:
        for key in ("j", "j", "ctrl+d", "G", "k", "g", "space", "x", "s", "2", "j", "5", "1"):
            await on.press(key)
            assert (on.app.cursor_position.x, on.app.cursor_position.y) == (1, line_of_mark(on)), key
        await on.press("j", "?")
        help_at = on.app.cursor_position
        assert help_at.x > 0
        await on.press("escape")
        assert on.app.cursor_position.y == line_of_mark(on)


@pytest.mark.slow
async def test_it_is_in_the_field_that_is_typed_into_and_in_the_list_when_arrows_move(demo):
    async with console(demo, "items", (80, 24)) as on:
        await on.press("/")
        await on.type("abc")
        assert (on.app.cursor_position.x, on.app.cursor_position.y) == (5, 21)
        await on.press("escape", ":")
        first = on.app.cursor_position
        await on.press("down")
        assert on.app.cursor_position.y == line_of_mark(on, "│ ")
        await on.type("z")
        assert on.app.cursor_position.y == first.y
        await on.press("escape")
        assert on.app.cursor_position.y == line_of_mark(on)


async def test_in_the_detail_it_is_on_the_line_that_is_read(demo):
    async with console(demo, "sessions", (160, 30)) as on:
        await on.press("tab", "j", "j")
        x, y = on.app.cursor_position
        assert on.text.splitlines()[y][x] == MARK


def _row_of_cursor(terminal):
    return terminal.text.splitlines()[terminal._screen.cursor.y]


@pytest.mark.slow
@pytest.mark.parametrize("thin", ["off", "on"])
def test_a_terminal_has_it_there_for_a_few_bytes(tmp_path, thin):
    workspace = build(tmp_path / ".nanobot")
    with open_workspace(workspace) as ws:
        rows = len(ws.items.all())
    with nanomem(workspace, NANOMEM_THIN_OUTPUT=thin, NANOMEM_REAL_CURSOR="true") as terminal:
        terminal.shows("q quit", str(rows))
        while terminal.read(0.5):
            pass
        if "Welcome" in terminal.text:
            terminal.type("\x1b")
            terminal.hides("Welcome")
        terminal.until(lambda: _row_of_cursor(terminal).startswith(f"│{MARK}"), "the cursor is on the first row")
        for _ in range(5):
            at, before = terminal._screen.cursor.y, len(terminal.raw)
            terminal.type("j")
            terminal.until(lambda at=at: terminal._screen.cursor.y == at + 1, "the cursor is on the next row")
            assert _row_of_cursor(terminal).startswith(f"│{MARK}")
            while terminal.read(0.2):
                pass
            written = terminal.raw[before:].removesuffix(b"\x1b[?2026l")
            assert len(re.search(rb"(?:\x1b\[\d+(?:;\d+)?H)?$", written)[0]) in range(4, 9)  # what the place costs
        assert b"\x1b[?25h" in terminal.raw
