"""When a screen is ready for its picture."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from nanomem_tui.app import NanomemApp


async def steady(app: NanomemApp, pilot: Pilot[Any]) -> None:
    """Wait until the screen stays as it is: a detail is read a moment after its row was chosen."""
    seen, same = "", 0
    while same < 3:
        await app.settled()
        await pilot.pause(0.04)
        now = app.screen_text()
        same, seen = (same + 1 if now == seen else 0), now
