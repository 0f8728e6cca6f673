"""The memory of a workspace on a PostgreSQL server. Imported only where the settings name a server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nanomem_tui.core import settings
from nanomem_tui.core.errors import NanomemError, Problem, Refused
from nanomem_tui.core.paths import Paths
from nanomem_tui.store.database import bookkeeping, migrations, postgres
from nanomem_tui.store.database.postgres import PostgresDatabase
from nanomem_tui.store.database.queries import CoreReading
from nanomem_tui.store.database.reading import Reading, has_older_schema
from nanomem_tui.store.first_edition.takeover import TakenOver
from nanomem_tui.store.processes import Writers
from nanomem_tui.store.storage import LayerOf, Storage
from nanomem_tui.store.transactions import Store
from nanomem_tui.store.values import AnyRow

if TYPE_CHECKING:
    from nanomem_tui.store.snapshot import Snapshot


class ServerReading(CoreReading):
    """A schema to read, of which it is asked until it is there whether it is."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database.reading, database.where)
        self._database = database
        self._is_made = False

    @property
    def exists(self) -> bool:
        """See `Reading.exists`. Raises AccessDenied where this role may not look into the schema."""
        self._is_made = self._is_made or self._database.exists()
        return self._is_made


class ServerStorage(Storage):
    """The schema of a workspace, by the address that the settings name."""

    def __init__(self, paths: Paths, workspace_id: str, url: str) -> None:
        """Connects when it is first asked. Raises InvalidConfig for the address, or MissingExtra."""
        settings.check_address("database_url", url, "the settings")
        self.server: PostgresDatabase = PostgresDatabase(url, workspace_id)
        self._paths = paths
        self._id = workspace_id

    @property
    def where(self) -> str:
        """See `Storage.where`."""
        return self.server.where

    def reading(self) -> Reading:
        """See `Storage.reading`."""
        return ServerReading(self.server)

    def may_have_changed(self) -> bool:
        """See `Storage.may_have_changed`."""
        return self.server.changed()

    def writer(self, layer_of: LayerOf, snapshot: Snapshot) -> Store:
        """See `Storage.writer`. What another home plans of its agent's files is that one's to finish."""
        writers = Writers(self._paths.data / "writers", self._paths)
        return Store(self.server, writers, None, layer_of, snapshot)

    def described(self) -> Mapping[str, Any]:
        """See `Storage.described`."""
        return {"database": self.where, "server": self.server.version()}

    def damages(self, writer: Store) -> list[Problem]:
        """See `Storage.damages`. What its settings and our role lack; pages are the server's own."""
        return postgres.server_problems(self.server)

    def leading(self, work: str) -> contextlib.AbstractContextManager[bool]:
        """See `Storage.leading`. Where nothing was written yet there is nothing to share."""
        return bookkeeping.lease(self.server, work) if self.server.exists() else contextlib.nullcontext(True)

    def is_first_edition(self) -> bool:
        """See `Storage.is_first_edition`. Raises Refused for a memory that the first edition keeps on the server."""
        if not self.server.exists() and self._has_rows_of_first_edition():
            what = "the first edition of nanomem keeps this memory on the server, and it is not taken over from there"
            fix = "move it into a file with that edition (`nanomem migrate-store URL sqlite`), then back with this one"
            raise Refused(what, self.where, fix)
        return False

    def _has_rows_of_first_edition(self) -> bool:
        """Whether its tables, in the schema that the address leads to, have this workspace, and it was not moved."""
        asked = (
            "SELECT coalesce(to_regclass('nanomem_workspaces') IS NOT NULL"
            " AND has_table_privilege(to_regclass('memory_meta'), 'SELECT'), false)"
        )
        with self.server.reading() as connection:
            connection.exec_driver_sql("SET LOCAL search_path TO DEFAULT")
            if not connection.exec_driver_sql(asked).scalar():
                return False
            connection.exec_driver_sql("SELECT set_config('nanomem.workspace', %s, true)", (self._id,))
            names = [f"{self._id}:revision", f"{self._id}:moved"]
            found = connection.exec_driver_sql('SELECT "key" FROM memory_meta WHERE "key" = ANY(%s)', (names,))
            return list(found.scalars()) == names[:1]

    def has_older_schema(self) -> bool:
        """See `Storage.has_older_schema`."""
        with contextlib.suppress(NanomemError):
            return self.server.exists() and has_older_schema(self.reading())
        return False

    def take_over(self, files: Iterable[AnyRow]) -> TakenOver:
        """See `Storage.take_over`: an older schema is brought to the newest."""
        migrations.migrate(self.server)
        return TakenOver({}, None, ())
