"""The layers of rows ("item", "lesson", "record"): changes of rows, checked against and made in the RAM snapshot.

Must not read or write a disk: the next checkpoint does.
"""

from __future__ import annotations

from collections.abc import Sequence

from nanomem_tui.errors import BadInput, Conflict
from nanomem_tui.operations import Change, Operation
from nanomem_tui.store.snapshot import Snapshot, first_difference


class RowLayer:
    """One layer of rows over a snapshot."""

    def __init__(self, name: str, snapshot: Snapshot) -> None:
        self.name = name
        self._snapshot = snapshot

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict when a row is not what a change starts from (counters may have moved), BadInput when a text
        is none that UTF-8 can hold."""
        table = self._snapshot.table(self.name)
        for change in changes:
            row = table.get(change.key)
            if row is None and change.before is not None:
                raise Conflict(f"{self.name} is gone", change.key, "nothing was changed")
            field = first_difference(row, change) if row is not None else None
            if field is not None and change.before is None:
                raise Conflict(f"{self.name} already there", change.key, "nothing was changed")
            if field is not None:
                what = f"{self.name} was changed since ({field})"
                raise Conflict(what, change.key, "look again, or undo the later change first: see `nanomem log`")
            refuse_lone_surrogates(change)

    def begun(self, changes: Sequence[Change]) -> bool:
        """False: rows are made from the ledger itself."""
        return False

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make the changes in RAM; the next checkpoint writes them."""
        with self._snapshot.lock:
            for change in changes:
                self._snapshot.patch(change)


def refuse_lone_surrogates(change: Change) -> None:
    """Raise BadInput when a text that a change writes is none that UTF-8 can hold."""
    for name, value in (change.after or {}).items():
        if isinstance(value, str) and not value.isascii() and not _is_utf8(value):
            raise BadInput("text with a lone surrogate, which is no UTF-8", name, "remove it")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
