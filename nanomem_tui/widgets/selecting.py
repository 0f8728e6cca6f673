"""Selecting rows of a table by keys: one by one, a range, or all shown. The selection is kept by row id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Row = TypeVar("Row")


class Selects(Generic[Row]):
    """Mix-in of `LineTable`: owns which rows are selected; the table owns rows, cursor and painting."""

    _rows: Sequence[Row]
    _row_id: Callable[[Row], str]
    _cursor: int
    _cursor_id: str | None

    def init_selection(self) -> None:
        """Start with nothing selected."""
        self._selected: set[str] = set()
        self._anchor: str | None = None
        self._before_range: set[str] = set()

    @property
    def cursor_id(self) -> str | None:
        """The id of the row under the cursor."""
        raise NotImplementedError

    def move_cursor(self, index: int) -> None:
        """Put the cursor on the row at `index`."""
        raise NotImplementedError

    def _find(self, row_id: str, near: int) -> int | None:
        raise NotImplementedError

    def _refresh_what_differs(self) -> None:
        raise NotImplementedError

    def _tell_selection(self, count: int) -> None:
        raise NotImplementedError

    @property
    def selected(self) -> frozenset[str]:
        """The ids of the selected rows, also of those that a filter hides."""
        return frozenset(self._selected)

    @property
    def target_ids(self) -> list[str]:
        """What an action means: the selected rows, else the row under the cursor."""
        if self._selected:
            return sorted(self._selected)
        return [self._cursor_id] if self.cursor_id is not None and self._cursor_id is not None else []

    def select_ids(self, ids: Iterable[str]) -> None:
        """Select exactly these rows."""
        self._anchor = None
        self._set_selected(set(ids))

    def clear_selection(self) -> bool:
        """Select nothing; False when nothing was selected."""
        had = bool(self._selected) or self._anchor is not None
        self.select_ids(())
        return had

    def keep_selected(self, existing: Callable[[str], bool]) -> None:
        """Drop ids from the selection that no longer exist at all (a filter only hides rows)."""
        self._set_selected({row_id for row_id in self._selected if existing(row_id)})

    def _set_selected(self, ids: set[str]) -> None:
        if ids != self._selected:
            self._selected = ids
            self._refresh_what_differs()
            self._tell_selection(len(ids))

    def _stretch_range(self, old: int) -> None:
        assert self._anchor is not None
        anchor = self._find(self._anchor, old)
        if anchor is None:
            self._anchor = None
            return
        low, high = sorted((anchor, self._cursor))
        self._set_selected(self._before_range | {self._row_id(row) for row in self._rows[low : high + 1]})

    def action_select(self) -> None:
        """Select the row or not, and move on."""
        if self.cursor_id is not None and self._cursor_id is not None:
            self._anchor = None
            self._set_selected(self._selected ^ {self._cursor_id})
            self.move_cursor(self._cursor + 1)

    def action_select_range(self) -> None:
        """Start a range at the cursor, or end it."""
        if self._anchor is not None:
            self._anchor = None
        elif self.cursor_id is not None and self._cursor_id is not None:
            self._anchor, self._before_range = self._cursor_id, set(self._selected)
            self._stretch_range(self._cursor)

    def action_select_all(self) -> None:
        """Select every row shown; when they all are, none of them."""
        shown = {self._row_id(row) for row in self._rows}
        self._anchor = None
        self._set_selected(self._selected - shown if shown <= self._selected else self._selected | shown)
