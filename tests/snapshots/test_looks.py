"""Every screen at every size in every look, kept as text: what stands in each cell, and in which style.

A style is a letter; each line of the screen is followed by its runs (`a12b3`: twelve cells of a, three of b).
"""

from __future__ import annotations

import re
import sys
from string import ascii_letters

import pytest
from rich.style import Style
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from nanomem_tui import open_workspace
from nanomem_tui.actions import SCREENS
from nanomem_tui.core import config, paths
from nanomem_tui.memory.turns.traces import Checkpointed, CheckpointLog
from nanomem_tui.opening import Opening
from nanomem_tui.review.inbox import Rule, rule_like
from tests.snapshots.test_screens import COLOURS, LOOKED_AT, Pictured
from tests.snapshots.waiting import steady

pytestmark = pytest.mark.slow

SIZES = ((80, 24), (160, 45), (60, 20))
LOOKS: dict[str, dict[str, str]] = {
    "dark": {**COLOURS, "NANOMEM_THEME": "dark"},
    "light": {**COLOURS, "NANOMEM_THEME": "light"},
    "ansi": {**COLOURS, "SSH_CONNECTION": "1 2 3 4", "NANOMEM_THIN_OUTPUT": "off"},
    "no-colour": {**COLOURS, "NO_COLOR": "1"},
    "ascii": {**COLOURS, "NANOMEM_ASCII": "true"},
}


ID = 18  # digits
OPERATION = re.compile(r"((op|turn)_\d+_\d+(?:_\d+)?)( *)")
"""An id that holds the number of a process."""


class InText(SingleFileSnapshotExtension):
    """A file of text for each picture."""

    file_extension = _file_extension = "txt"
    _write_mode = write_mode = WriteMode.TEXT


@pytest.fixture
def look(monkeypatch):
    """`look("ansi")`: the environment of a terminal, and settings."""

    def set_look(name):
        for variable in LOOKED_AT:
            monkeypatch.delenv(variable, raising=False)
        for variable, value in LOOKS[name].items():
            monkeypatch.setenv(variable, value)

    return set_look


def in_text(strips, letters):
    """The lines of a screen, each with its runs of styles."""
    lines: list[str] = []
    for strip in strips:
        runs: list[tuple[str, int]] = []
        for segment in strip:
            style = (segment.style or Style.null()).clear_meta_and_links()
            letter = letters.setdefault(style, ascii_letters[len(letters)])
            if runs and runs[-1][0] == letter:
                runs[-1] = (letter, runs[-1][1] + segment.cell_length)
            else:
                runs.append((letter, segment.cell_length))
        lines += [f"|{strip.text}|", "".join(f"{letter}{length}" for letter, length in runs)]
    return lines


async def pictures(app):
    """The screen at every size, and the legend of its styles."""
    letters: dict[Style, str] = {}
    lines: list[str] = []
    async with app.run_test(size=SIZES[0]) as pilot:
        await app.settled()
        await app.in_thread(lambda ws: ws.store.load())  # the bar tells of what was read
        app.check_workspace()
        await app.settled()
        for size in SIZES:
            await pilot.resize_terminal(*size)
            app.check_workspace()
            await steady(app, pilot)
            lines += [f"{size[0]}x{size[1]}", *in_text(app.screen._compositor.render_strips(), letters)]
    text = "\n".join([*lines, *(f"{letter} {style}" for style, letter in letters.items())]) + "\n"
    return OPERATION.sub(lambda found: (f"{found[2]}_" + "0" * ID).ljust(len(found[0])), text)  # of no pid's length


def keep_rules(home):
    """Two rules, one of which is about something there now."""
    with open_workspace(home) as ws:
        found = ws.triage.findings()[-1]
        ws.triage.rules.add(rule_like(found, "keep")._replace(id="rule_1"))
        ws.triage.rules.add(Rule("delete", "unused", why="never recalled in * days, while * were", id="rule_2"))


@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("screen", SCREENS)
async def test_look(snapshot, pictured, look, monkeypatch, screen, name):
    look(name)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    timed = [Checkpointed(f"2026-03-01T{hour:02}:00:00+00:00", 4.0 + hour, 1, 3) for hour in range(6)]
    monkeypatch.setattr(CheckpointLog, "last", lambda *_: timed)
    if screen == "rules":
        keep_rules(pictured)
    found = paths.find_workspace(pictured)
    opening = Opening(found, config.load(found))
    try:
        picture = await pictures(Pictured(opening, first_screen=screen))
    finally:
        if opening.opened is not None:
            opening.opened.close()
    if name == "ascii":
        assert not any(mark in picture for mark in "│─▸█▁")
    assert picture == snapshot(extension_class=InText)
