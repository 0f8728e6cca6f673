"""The arguments that a model passes to a tool, checked: whatever it sends is a text or a number of the right size.

Owns the checks. Must not know a tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import one_line

Arguments = Mapping[str, Any]


def known(arguments: Arguments, names: Mapping[str, Any], tool: str) -> None:
    """Raise BadInput for an argument that the tool does not take."""
    unknown = [one_line(str(key), 60) for key in arguments if key not in names]
    if unknown:
        raise BadInput("unknown argument", ", ".join(unknown), f"{tool} takes {', '.join(names)}")


def text_argument(arguments: Arguments, name: str, most: int) -> str:
    """A text of at most so many characters, stripped; empty where there is none. Raises BadInput."""
    value = arguments.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput("not a text", name, "give a string")
    if len(value) > most:
        raise BadInput(f"{len(value):,} characters", name, f"give at most {most:,}")
    return value.strip()


def number(arguments: Arguments, name: str, otherwise: int, most: int, least: int = 1) -> int:
    """A whole number within bounds, `otherwise` where there is none. Raises BadInput."""
    value = arguments.get(name)
    if value is None:
        return otherwise
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not least <= value <= most:
        raise BadInput("no such number", name, f"give a whole number from {least} to {most:,}")
    return int(value)


def words(arguments: Arguments, name: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """Some of certain words, all of them where none is given. Raises BadInput."""
    value = arguments.get(name)
    if value is None or value == []:
        return otherwise
    if not isinstance(value, list) or any(one not in otherwise for one in value):
        raise BadInput("no such choice", name, f"give a list of {', '.join(otherwise)}")
    return tuple(one for one in otherwise if one in value)
