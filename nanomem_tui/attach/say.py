"""Speaks into the agent's own log: once for each thing that is wrong, never with a memory's text.

Uses the logger that the agent already loaded, else the standard one; loads none itself.
"""

from __future__ import annotations

import logging
import sys
import threading
from typing import Any

_said: set[str] = set()
_lock = threading.Lock()


def once(key: str, text: str) -> bool:
    """Warn with `text` unless `key` was warned of before; whether it was said now."""
    with _lock:
        if key in _said:
            return False
        _said.add(key)
    _logger().warning("nanomem: " + _plain(text))
    return True


def again(key: str, text: str) -> None:
    """Say that the trouble `key` is over, if it was said, so that the next one is said too."""
    with _lock:
        known = key in _said
        _said.discard(key)
    if known:
        _logger().info("nanomem: " + _plain(text))


def _plain(text: str) -> str:
    """One line without control characters or the braces and percent signs that a logger would read."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)[:300]
    return line.replace("{", "(").replace("}", ")").replace("%", "%%" if "loguru" not in sys.modules else "%")


def _logger() -> Any:
    loguru = sys.modules.get("loguru")
    return loguru.logger if loguru is not None else logging.getLogger("nanomem")
