"""Short notices over the screen. The one place that calls `App.notify`: always safe text, never markup."""

from __future__ import annotations

from typing import Literal

from textual.app import App
from textual.widget import Widget

from nanomem_tui.core.errors import in_words
from nanomem_tui.core.text import one_line

Severity = Literal["information", "warning", "error"]
SECONDS: dict[Severity, float] = {"information": 3.0, "warning": 3.0, "error": 6.0}


def say(at: Widget | App[object], text: str, severity: Severity = "information", title: str = "") -> None:
    """Show `text` (at most three lines of it) for some seconds; errors stay longer. esc and another screen end it."""
    app = at if isinstance(at, App) else at.app
    app.notify(
        one_line(text, 160), title=one_line(title, 50), severity=severity, timeout=SECONDS[severity], markup=False
    )


def say_error(at: Widget | App[object], error: BaseException) -> None:
    """Show an error: what, where and what to do."""
    said = in_words(error)
    text = " ".join(part for part in (said.where, f"({said.fix})" if said.fix else "") if part)
    say(at, text or said.what, "error", said.what if text else "")
