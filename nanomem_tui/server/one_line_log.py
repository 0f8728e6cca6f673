"""What the libraries of a server have to say, on stderr: one safe line for each thing, and not the same one again and
again. No tracebacks, and nothing of a client's bytes but as visible text."""

from __future__ import annotations

import io
import logging
import sys
import time

from nanomem_tui.core.text import one_line

LONGEST = 300
"""Cells of a line."""
AGAIN = 60.0
"""Seconds before the same line is printed once more."""
MOST_KEPT = 100
"""Lines that are remembered for that."""


class OneLine(logging.Handler):
    """Prints a record as one line."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._printed: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Print it, unless the same was printed just now. Whatever goes wrong stops nothing."""
        try:
            text = record.getMessage()
            error = record.exc_info[1] if record.exc_info else None
            if error is not None:
                text = f"{text.splitlines()[0] if text else 'error'}: {type(error).__name__}: {error}"
            self.say(text)
        except Exception:  # noqa: BLE001, S110  a log ends no server; stderr may be gone
            pass

    def say(self, text: str) -> None:
        """Print `text` as one line."""
        line, now = one_line(f"nanomem: {text}", LONGEST), time.monotonic()
        if now - self._printed.get(line, -AGAIN) < AGAIN:
            return
        while len(self._printed) >= MOST_KEPT:
            del self._printed[next(iter(self._printed))]
        self._printed[line] = now
        print(line, file=sys.stderr, flush=True)


def log_in_lines() -> OneLine:
    """Let every library of this process log so; returns what prints."""
    handler = OneLine()
    logging.getLogger().handlers[:] = [handler]
    logging.captureWarnings(capture=True)
    return handler


class Lines(io.TextIOBase):
    """A stream that prints the last line of whatever is written to it in one go: of a traceback the error."""

    def __init__(self, to: OneLine) -> None:
        super().__init__()
        self._to = to

    def write(self, text: str) -> int:
        """Print what it says last."""
        lines = [line for line in text.splitlines() if line.strip()]
        if lines:
            self._to.say(lines[-1])
        return len(text)
