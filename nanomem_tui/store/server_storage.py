"""The memory of a workspace on a PostgreSQL server. Imported only where the settings name a server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.core import settings
from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.core.paths import Paths
from nanomem_tui.store.database import bookkeeping, migrations, postgres
from nanomem_tui.store.database.postgres import PostgresDatabase
from nanomem_tui.store.database.queries import CoreReading
from nanomem_tui.store.database.reading import Reading, has_older_schema
from nanomem_tui.store.first_edition import takeover
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
        """See `Place.where`."""
        return self.server.where

    def reading(self) -> Reading:
        """See `Place.reading`."""
        return ServerReading(self.server)

    def may_have_changed(self) -> bool:
        """See `Place.may_have_changed`."""
        return self.server.changed()

    def writer(self, layer_of: LayerOf, snapshot: Snapshot) -> Store:
        """See `Place.writer`. What another home plans of its agent's files is that one's to finish."""
        writers = Writers(self._paths.data / "writers", self._paths)
        return Store(self.server, writers, None, layer_of, snapshot)

    def described(self) -> Mapping[str, Any]:
        """See `Place.described`."""
        return {"database": self.where, "server": self.server.version()}

    def damages(self, writer: Store) -> list[Problem]:
        """See `Place.damages`. What its settings and our role lack; pages are the server's own."""
        return postgres.server_problems(self.server)

    def leading(self, work: str) -> contextlib.AbstractContextManager[bool]:
        """See `Place.leading`. Where nothing was written yet there is nothing to share."""
        return bookkeeping.lease(self.server, work) if self.server.exists() else contextlib.nullcontext(True)

    def is_first_edition(self) -> bool:
        """See `Place.is_first_edition`."""
        return takeover.is_due_on_server(self.server, self._id)

    def has_older_schema(self) -> bool:
        """See `Place.has_older_schema`."""
        with contextlib.suppress(NanomemError):
            return self.server.exists() and has_older_schema(self.reading())
        return False

    @contextlib.contextmanager
    def read_copy(self, files: Iterable[AnyRow]) -> Iterator[tuple[Path, TakenOver]]:
        """See `Place.read_copy`: of the first edition only. Who reads an older schema is told to migrate it."""
        with takeover.read_copy_of_server(self.server, self._paths, self._id, files) as found:
            yield found

    def take_over(self, files: Iterable[AnyRow]) -> TakenOver:
        """See `Place.take_over`."""
        if self.is_first_edition():
            return takeover.take_over_from_server(self.server, self._paths, self._id, files)
        migrations.migrate(self.server)
        return TakenOver({}, None, ())

    def take_rest(self, writer: Store) -> tuple[Problem, ...]:
        """See `Place.take_rest`."""
        return takeover.take_rest(writer, self._paths, self._id)
