"""What finds rows where they arrive, kept in step with them: the words of items and of records; of the knowledge base
that they are to be made anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.store import item_words, knowledge_rows, tier_meta, tier_words
from nanomem_tui.store.moving.tables import ITEMS, KIND_OF, KNOWLEDGE, Row, Table
from nanomem_tui.store.reader import ITEM_COLUMNS
from nanomem_tui.store.tier_kinds import Kind
from nanomem_tui.store.tier_tables import record_of, words_of
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.store.sql import Connection


class Changed(NamedTuple):
    """A row by its number: what it was and what it is, None where it was not there, or is gone."""

    number: int
    before: Row | None
    after: Row | None


def write(connection: Connection, workspace_id: str, table: Table, changed: Sequence[Changed]) -> None:
    """Bring what finds the rows of a table into step with them."""
    if table is ITEMS:
        items = [_item_words(one) for one in changed]
        item_words.of(connection).write(connection, workspace_id, items, current=True)
    elif (kind := KIND_OF.get(table.name)) is not None and kind.words:
        for one in changed:
            _record_words(connection, workspace_id, table, kind, one)
    elif table.name in KNOWLEDGE and changed:
        tier_meta.put(connection, workspace_id, knowledge_rows.INDEXED_BY, "")


def finish(connection: Connection, workspace_id: str) -> None:
    """Make the index of the knowledge base anew, where its rows changed."""
    knowledge_rows.begin(connection, workspace_id)


def item_of(row: Row) -> Item:
    """The item of a row."""
    return Item._make(row[: len(ITEM_COLUMNS)])


def _item_words(one: Changed) -> item_words.Changed:
    before = item_of(one.before) if one.before is not None else None
    after = item_of(one.after) if one.after is not None else None
    if after is None:
        assert before is not None
        after = before._replace(is_deleted=True)
    return item_words.Changed(one.number, before, after)


def _record_words(connection: Connection, workspace_id: str, table: Table, kind: Kind, one: Changed) -> None:
    was, now = (
        words_of(record_of(kind, table.name, (workspace_id, *row))) if row is not None else None
        for row in (one.before, one.after)
    )
    if was is not None and now is not None:
        if was != now:
            tier_words.replace(connection, table.name, one.number, was, now)
    elif now is not None:
        tier_words.add(connection, table.name, one.number, now)
    elif was is not None:
        tier_words.forget(connection, table.name, one.number, was)
