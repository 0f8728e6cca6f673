"""What is remembered of the agent's files, by name: a server keeps it for each home that shares the store, a file for
the one home that it lies in.

Both places are seen with the names of a server. Between a file and a server only what is of this home moves, and what
is of other homes stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nanomem_tui.store.moving.tables import FOREIGN, PLACE_MARKER, Table

_MARKERS = ("stat:", "order:")
_WHOLE = ("exported", PLACE_MARKER)
_BETWEEN = "@"


class Naming:
    """The names of one place. `here`: the id of this home; `adds`: the place leaves it out; `all_homes`: what is of
    other homes counts, too."""

    def __init__(self, here: str, *, adds: bool, all_homes: bool) -> None:
        self._end = f"{_BETWEEN}{here}"
        self._adds = adds
        self._all = all_homes

    def seen(self, table: Table) -> Callable[[tuple[Any, ...]], tuple[Any, ...] | None] | None:
        """What makes of a row of the table one with the names of a server, None for one that does not count; None where
        nothing has to be done."""
        if table is not FOREIGN or (self._all and not self._adds):
            return None
        return self._row

    def _row(self, row: tuple[Any, ...]) -> tuple[Any, ...] | None:
        source, *rest = row
        if self._adds:
            return (f"{source}{self._end}", *rest)
        return row if source.endswith(self._end) else None

    def kept(self, table: Table, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row with the names of the place itself."""
        return (row[0].removesuffix(self._end), *row[1:]) if table is FOREIGN and self._adds else row

    def marker(self, name: str) -> str | None:
        """A marker by the name that a server has for it; None for one that does not count."""
        if not of_files(name):
            return name
        if self._adds:
            return f"{name}{self._end}"
        return name if self._all or name.endswith(self._end) else None

    def kept_marker(self, name: str) -> str:
        """A marker by the name of the place itself."""
        return name.removesuffix(self._end) if self._adds and of_files(name) else name


def of_files(name: str) -> bool:
    """Whether a marker is of the agent's files."""
    return name.startswith(_MARKERS) or name.partition(_BETWEEN)[0] in _WHOLE


def holds_a_place(name: str) -> bool:
    """Whether a marker holds a place in the order of operations."""
    return name.partition(_BETWEEN)[0] == PLACE_MARKER
