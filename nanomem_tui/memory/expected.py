"""Whether a row is still what a person was shown when the edit began. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanomem_tui.core.errors import Conflict
from nanomem_tui.core.text import quoted
from nanomem_tui.store.values import AnyRow


def as_shown(row: AnyRow, shown: AnyRow | None, fields: Mapping[str, Any]) -> None:
    """Raise Conflict, naming both values, when one of the edited `fields` is neither as it was shown nor as it is to
    be. Without `shown` nothing is expected."""
    for name, value in fields.items() if shown is not None else ():
        was, now = getattr(shown, name), getattr(row, name)
        if now not in (was, value):
            what = f"somebody changed the {name.replace('_', ' ')} meanwhile, from {quoted(str(was), 80)}"
            raise Conflict(f"{what} to {quoted(str(now), 80)}", row.id, "save again to replace it")
