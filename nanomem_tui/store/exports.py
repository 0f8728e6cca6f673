"""The agent's files written from the rows, at most once in a flush interval, and its audit logs from the operations.

Owns when that is due and what is remembered of it. What the files look like is `exchange`'s and `agent_files`'.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nanomem_tui.errors import Conflict
from nanomem_tui.paths import Paths
from nanomem_tui.settings import Settings
from nanomem_tui.store.rows import RowStore

if TYPE_CHECKING:
    from nanomem_tui.store.agent_files import SharedFile
    from nanomem_tui.store.database import Database
    from nanomem_tui.store.memory_store import CheckpointResult
    from nanomem_tui.store.postgres.database import PgDatabase


class ExportedRows(RowStore):
    """Rows that an agent's files are to hold too."""

    def __init__(self, paths: Paths, workspace_id: str, settings: Settings) -> None:
        super().__init__(paths, workspace_id, settings)
        self._exported_at = time.monotonic()

    @property
    @abstractmethod
    def database(self) -> Database | PgDatabase:
        """The writing side."""

    @property
    def export_due(self) -> bool:
        """Whether the agent's files do not hold yet what the database does."""
        return self.settings.export and self._export_due

    def spoiled_files(self) -> list[str]:
        """The agent's files of items that cannot be read whole, where we write them."""
        self.load()
        return [file.name for file in self.files.files if file.source.layer == "item" and self._is_spoiled(file)]

    def _is_spoiled(self, file: SharedFile) -> bool:
        return self.settings.export and file.error is None and not file.rows.complete

    def write_anew(self, name: str) -> None:
        """Write one of the agent's files from the rows, be they what it holds. Raises the store's errors, and Conflict
        when the agent writes it meanwhile."""
        with self._lock:
            self.files.anew.add(name)
            self._export_due = True
        self.checkpoint(final=True)
        if name in self.files.anew:
            problem = self.files.failures.get(name)
            raise Conflict("not written anew", name, problem.what if problem else "it changes meanwhile; ask again")

    @abstractmethod
    def checkpoint(self, *, final: bool = False) -> CheckpointResult:
        """Move what waits into the database, then write the agent's files."""

    def _interval_over(self, since: float) -> bool:
        return time.monotonic() - since >= self.settings.flush_interval_seconds

    def _export(self) -> tuple[str, ...]:
        """Write the agent's files, and remember what they hold, before any other process of ours looks at them."""
        from nanomem_tui.store import checkpoint

        with self.database.writing() as connection, self._lock:
            self.files.settle()
            self.files.read()
            self._refresh_rows(self.ledger.files())
            if self._noticed or self.files.has_new():
                return ()
            meta = self._meta()
            written, done = self.files.export(self._tables())
            marks, audited = self._append_audit(self._audited(meta))
            self._export_due = not (done and audited)
            self._exported_at = time.monotonic()
            if not self._export_due and meta.get(self.files.mark("exported")) != str(self._revision):
                marks[self.files.mark("exported")] = str(self._revision)
            memo = self.files.memo()
            if memo or marks:
                checkpoint.remember(connection, self.workspace_id, memo, marks)
        with self._lock:
            self.files.remembered(memo)
        return written

    def _audited(self, meta: Mapping[str, str]) -> int:
        """The place in the order up to which the agent's logs have everything; those of a home that joins others, which
        share the store, begin now."""
        since, exported = meta.get(self.files.mark("audit_seq")), self.files.mark("exported")
        if since is None and exported not in meta and any(name.startswith("exported@") for name in meta):
            return self.journal.end()
        return int(since or 0)

    def _append_audit(self, since: int) -> tuple[dict[str, str], bool]:
        """Append what was done behind a place in the order to the agent's logs, where it keeps them: what to remember,
        and whether it succeeded."""
        if not self.files.keeps_audit():
            end = self.journal.end()
        else:
            entries = self.journal.after(since)
            if not self.files.append_audit(entries, self._tables()):
                return {}, False
            end = entries[-1].position if entries else since
        return {self.files.mark("audit_seq"): str(end)} if end != since else {}, True
