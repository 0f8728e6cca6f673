"""Where the rows of a workspace are kept, in a file or on a server, as the settings say: what reads them, what writes
them, what earlier copies there are. The one place that decides it. Must not know rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nanomem_tui.paths import Paths
from nanomem_tui.settings import Settings
from nanomem_tui.store.copies import Copies
from nanomem_tui.store.source import Source

if TYPE_CHECKING:
    from nanomem_tui.store.database import Database
    from nanomem_tui.store.postgres.database import PgDatabase
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.postgres.source import PgSource
    from nanomem_tui.store.sql import Connection


def server_of(settings: Settings, workspace_id: str) -> Server | None:
    """The server that the settings name, None for a file. Raises InvalidConfig and MissingExtra."""
    if not settings.database_url:
        return None
    from nanomem_tui.store.postgres.server import Server

    return Server(settings.database_url, workspace_id)


def read_from(paths: Paths, workspace_id: str, server: Server | None) -> tuple[Copies, Source | PgSource]:
    """Where earlier copies of the database lie, and where its rows are read from."""
    if server is None:
        copies = Copies(paths.backups, paths.ledger, workspace_id)
        return copies, Source(paths, copies)
    from nanomem_tui.store.postgres.source import NoCopies, PgSource

    source = PgSource(server, paths.database.with_name("store.lock"))
    return NoCopies(paths.backups, paths.ledger, workspace_id), source


def written_to(paths: Paths, server: Server | None, guard: Callable[[Connection], None]) -> Database | PgDatabase:
    """The writing side. `guard`: raises, in each transaction, what keeps anybody from writing."""
    if server is not None:
        from nanomem_tui.store.postgres.database import PgDatabase

        return PgDatabase(server, paths.database, guard)
    from nanomem_tui.store.database import Database

    return Database(paths.database, paths.backups, guard=guard)
