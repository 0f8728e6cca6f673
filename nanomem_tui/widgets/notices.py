"""Where an app says things: what went well in the status bar for a while, trouble as one notice over the screen."""

from __future__ import annotations

from textual.app import App
from textual.notifications import SeverityLevel
from textual.timer import Timer

NOTICE_SECONDS = 3.0  # at least
READ_A_SECOND = 8  # characters


class Notices(App[int]):
    """An app whose status bar has a place for words: `notice`, "" when there are none."""

    notice = ""
    _notice_timer: Timer | None = None

    def notice_changed(self) -> None:
        """There are other words, or none: show that. For the app to say how."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Say something, for as long as it takes to read."""
        if severity == "information" and not title:
            self.say_busy(message)
            self._notice_timer = self.set_timer(max(NOTICE_SECONDS, len(message) / READ_A_SECOND), self._end_notice)
        else:
            self.clear_notifications()
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    def say_busy(self, words: str) -> None:
        """Say in the status bar what is under way, until other words or none come."""
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self.notice = words
        self.notice_changed()

    def _end_notice(self) -> None:
        self.notice = ""
        self.notice_changed()
