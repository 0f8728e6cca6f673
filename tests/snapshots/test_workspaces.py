"""The dialogs over several workspaces at every size, kept as text: names in every script, one that is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanomem_tui.core import config, paths
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import Paths
from nanomem_tui.opening import Opening
from nanomem_tui.review.find import Place
from nanomem_tui.screens.base import jump_dialog
from nanomem_tui.workspaces import FoundTogether, Hit, Known, Listed, Summary, Together
from tests.snapshots.test_looks import InText, in_text, look
from tests.snapshots.test_screens import Pictured
from tests.snapshots.waiting import steady

pytestmark = pytest.mark.slow

__all__ = ["look"]  # a fixture
SIZES = ((80, 24), (60, 20), (200, 60))
HOMES = {
    "ana": "/home/ana/.nanobot",
    "家里的助手": "/srv/bots/家里的助手/.nanobot",
    "ผู้ช่วย 🐘": "/srv/bots/ผู้ช่วย 🐘/.nanobot",
    "a name that is far too long for any column": "/srv/bots/long/.nanobot",
}


def place(name):
    home = Path(HOMES[name])
    return Known(name, str(home), "settings", Paths(home / "workspace", home, home / "nanomem"))


GONE = NanomemError("no workspace", "/mnt/stick/.nanobot", "name one with --workspace PATH")
ROWS = {
    "ana": Summary(place("ana"), "Wren", "nanobot 0.3.5", True, "nanobot gateway", 45, 9, 12, 3, 2,
                   "2026-03-02T09:00:00+00:00", 1),
    "家里的助手": Summary(place("家里的助手"), "小助手", "ram-first", False, "", 100_000, 200, 0, 0, 0),
    "ผู้ช่วย 🐘": Summary(place("ผู้ช่วย 🐘"), "ผู้ช่วย 🐘", "scoped", False, "", None, 0, None, None, 0, "", 12),
    "a name that is far too long for any column": Summary(
        place("a name that is far too long for any column"), "[/red] \x1b]52;c;x\x07", "nanobot 0.1.4", False, "", 0, 0
    ),
}  # fmt: skip
BROKEN = Known("stick", "/mnt/stick/.nanobot", "settings", None, GONE)


@pytest.fixture
def several(monkeypatch):
    """Workspaces that are the same on every machine."""
    listed = Listed((*(row.known for row in ROWS.values()), BROKEN))
    monkeypatch.setattr(jump_dialog, "list_workspaces", lambda _opened: listed)
    monkeypatch.setattr(
        jump_dialog, "summary", lambda known, _opened: ROWS.get(known.name) or Summary(known, error=known.error)
    )
    hits = [
        Hit(row.known, Place("item", "items", f"ltm_{at}", text, "2026-03-01T08:00:00"))
        for at, (row, text) in enumerate(zip(ROWS.values(), ("tea", "茶 🍵", "ชา", "[/red]tea"), strict=True))
    ]
    found = FoundTogether(hits, 40, True, left_out={"stick": "no workspace"})
    monkeypatch.setattr(Together, "find", lambda *_, **__: iter([found]))


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("name", ["dark", "ascii"])
@pytest.mark.parametrize("dialog", ["going", "broken", "searching"])
async def test_dialog(snapshot, pictured, look, dialog, name):
    keys = {"going": ("ctrl+o", "down"), "broken": ("ctrl+o", "pagedown"), "searching": ("J", "ctrl+o", "t", "e", "a")}[
        dialog
    ]
    look(name)
    found = paths.find_workspace(pictured)
    opening = Opening(found, config.load(found))
    lines: list[str] = []
    app = Pictured(opening)
    async with app.run_test(size=SIZES[0]) as pilot:
        await app.settled()
        for key in keys:
            await pilot.press(key)
            await app.settled()
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await steady(app, pilot)
            box = app.screen.query_one("#dialog-box").region
            strips = [strip.crop(box.x, box.right) for strip in app.screen._compositor.render_strips()]
            lines += [f"{size[0]}x{size[1]}", *in_text(strips[box.y : box.bottom], {})[::2]]
    if opening.opened is not None:
        opening.opened.close()
    assert "\x1b" not in "".join(lines)
    assert "\n".join(lines) + "\n" == snapshot(extension_class=InText)
