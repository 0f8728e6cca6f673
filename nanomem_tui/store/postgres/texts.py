"""What PostgreSQL cannot keep in a text, and the sign that stands in its place. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanomem_tui.operations import Operation


def without_nul(operation: Operation) -> Operation:
    """PostgreSQL keeps no NUL in a text: its sign stands in its place."""
    if not any(_has_nul(change.after) for change in operation.changes):
        return operation
    return operation._replace(changes=tuple(one._replace(after=_signed(one.after)) for one in operation.changes))


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return any(map(_has_nul, inner))


def _signed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _signed(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_signed(inner) for inner in value]
    return value.replace("\0", "\u2400") if isinstance(value, str) else value
