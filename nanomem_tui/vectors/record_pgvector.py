"""The collections of records in PostgreSQL: a table for each kind, with its own index of pgvector. Nothing of them is
held here, however many there are.

Owns which tables these are. Must not know where vectors come from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.store.tier_kinds import KINDS
from nanomem_tui.vectors.pgvector import PgServer, PgTable
from nanomem_tui.vectors.record_index import Near, parts_of
from nanomem_tui.vectors.record_rows import ORDER, Key, Stored

if TYPE_CHECKING:
    from nanomem_tui.vectors.index import Vectors

TABLE = "nanomem_{}_{}"
"""One for each collection and number of dimensions."""


class PgCollections:
    """The vectors of the records of one workspace and model."""

    name, follows = "pgvector", False

    def __init__(self, url: str, workspace_id: str, dimension: int, model: str, *, anew: bool = False) -> None:
        """Raises MissingExtra, InvalidConfig (the address) or StoreError (the server, its extension, its rights)."""
        self._server = PgServer(url)
        self._tables = {
            kind: PgTable(self._server, TABLE.format(KINDS[kind].table, dimension), dimension, workspace_id, model)
            for kind in ORDER
        }
        self.is_new = anew

        def prepare(connection: Any) -> None:
            self._server.check(connection)
            for kind, table in self._tables.items():
                made = table.make(connection)
                table.clear(connection, f"^{TABLE.format(KINDS[kind].table, '[0-9]+')}$", anew=anew)
                self.is_new = self.is_new or made

        try:
            self._server.run(prepare)
        except BaseException:
            self.close()
            raise

    @property
    def place(self) -> str:
        return self._server.where

    def put(self, rows: Sequence[Stored], vectors: Vectors) -> None:
        for kind, (known, part) in parts_of(rows, vectors).items():
            self._tables[kind].put(known, part)

    def remove(self, keys: Iterable[Key]) -> None:
        by_kind: defaultdict[str, list[str]] = defaultdict(list)
        for kind, key in keys:
            by_kind[kind].append(key)
        for kind, gone in by_kind.items():
            self._tables[kind].remove(gone)

    def nearest(self, kind: str, vector: Vectors, limit: int) -> list[Near]:
        return [Near(kind, key, far, held) for far, key, held in self._tables[kind].best(vector, limit)]

    def close(self) -> None:
        self._server.close()
