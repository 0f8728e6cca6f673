"""The two files that we share with a RAM-first agent, on disk: notice its changes, write ours, append its audit logs.

Owns the reading and writing of `LTM_SNAPSHOT.json`, `LESSONS.jsonl` and the audit logs. The rules of the merge are in
`exchange`; what is done with the changes is the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nanomem_tui.config import Settings
from nanomem_tui.errors import Conflict, NanomemError, Problem
from nanomem_tui.formats.audit import parse_audit
from nanomem_tui.operations import Change
from nanomem_tui.paths import Paths
from nanomem_tui.store import atomic, audit_export, exchange
from nanomem_tui.store.exchange import AgentRows, Raw, Source
from nanomem_tui.store.oplog import LogEntry
from nanomem_tui.store.values import Row

EMPTY = AgentRows({}, True, ())
AUDIT_LOOK = 20_000_000


@dataclass(slots=True)
class SharedFile:
    """One shared file as it is now: its stat when we read it, its bytes and its rows."""

    source: Source
    path: Path
    stat: tuple[int, int, int] | None = None
    data: bytes = b""
    rows: AgentRows = EMPTY
    error: Problem | None = None
    order: list[str] = field(default_factory=list)


@dataclass(slots=True)
class AgentFiles:
    """The shared files of one workspace. Not thread-safe by itself: the store calls it under its own lock."""

    paths: Paths
    workspace_id: str
    settings: Settings
    files: list[SharedFile] = field(default_factory=list)
    failures: dict[str, Problem] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = [SharedFile(source, self.paths.memory / source.name) for source in exchange.SOURCES]

    def read(self) -> bool:
        """Read what changed on disk since the last look; True when something did."""
        return sum(self._read(file) for file in self.files) > 0

    def _read(self, file: SharedFile) -> bool:
        try:
            found = file.path.stat()
        except FileNotFoundError:
            gone = file.stat is not None
            file.stat, file.data, file.rows, file.error = None, b"", EMPTY, None
            return gone
        except OSError as error:
            file.error = Problem(f"cannot be read ({error.strerror})", self.paths.relative(file.path))
            return False
        stat = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stat == file.stat:
            return False
        try:
            data = atomic.read_stable(file.path)
        except (OSError, NanomemError) as error:
            file.error = Problem(f"cannot be read ({error})", self.paths.relative(file.path))
            return False
        file.stat, file.data, file.error = stat, data, None
        file.rows = file.source.parse(data, self.paths.relative(file.path))
        file.order = exchange.woven(list(file.rows.rows), file.order)
        return True

    def orders(self) -> dict[str, str]:
        """The ids of each file in their order, gone ones too, by marker name: where a row that comes back belongs."""
        return {f"order:{file.source.name}": json.dumps(file.order) for file in self.files if file.order}

    def recall_orders(self, meta: Mapping[str, str]) -> None:
        """Take the orders that `orders` gave to an earlier process."""
        for file in self.files:
            known = meta.get(f"order:{file.source.name}")
            if known:
                file.order = exchange.woven(list(file.rows.rows), json.loads(known))

    def problems(self) -> list[Problem]:
        """What could not be read or written."""
        found = [problem for file in self.files for problem in file.rows.problems]
        found += [file.error for file in self.files if file.error is not None]
        return found + list(self.failures.values())

    def audit_problems(self) -> list[Problem]:
        """The lines of the agent's audit logs that cannot be read; logs beyond 20 MB are left to the doctor."""
        found: list[Problem] = []
        for name in (audit_export.ITEMS, audit_export.LESSONS):
            path = self.paths.memory / name
            try:
                if path.stat().st_size <= AUDIT_LOOK:
                    found += parse_audit(path.read_bytes(), self.paths.relative(path))[1]
            except FileNotFoundError:
                continue
            except OSError as error:
                found.append(Problem(f"cannot be read ({error.strerror})", self.paths.relative(path)))
        return found

    def initial_rows(self, layer: str) -> list[Row]:
        """The agent's rows as ours, for a workspace without a database."""
        return [
            file.source.to_row(raw, self.workspace_id)
            for file in self.files
            if file.source.layer == layer
            for raw in file.rows.rows.values()
        ]

    def seen(self) -> dict[str, Mapping[str, Raw]]:
        """The rows of each file as read, by file name: what the next merge starts from."""
        return {file.source.name: file.rows.rows for file in self.files}

    def stats(self) -> dict[str, str]:
        """A fingerprint of each file as it is on disk now, by marker name."""
        return {f"stat:{file.source.name}": _fingerprint(_stat(file.path)) for file in self.files}

    def read_stats(self) -> dict[str, str]:
        """The same of each file as it was when we read it."""
        return {f"stat:{file.source.name}": _fingerprint(file.stat) for file in self.files}

    def changes(self, base: Mapping[str, Mapping[str, Raw]], tables: Mapping[str, Mapping[str, Row]]) -> list[Change]:
        """What the agent changed since `base`, as changes to our rows. A file that is gone removes nothing."""
        found: list[Change] = []
        for file in self.files:
            if file.stat is not None and file.error is None:
                table = tables[file.source.layer]
                seen = base.get(file.source.name, {})
                found += exchange.merge(file.source, seen, file.rows, table, self.workspace_id)
        return found

    def export(self, tables: Mapping[str, Mapping[str, Row]], *, create: bool = False) -> dict[str, dict[str, Raw]]:
        """Write our rows into the files that exist (with `create`: into all); returns the rows of each file written.

        A file that could not be read in whole is copied to the quarantine before it is replaced. A file that the agent
        rewrote since we read it is left for the next time. A failed write is a problem, not an exception.
        """
        written: dict[str, dict[str, Raw]] = {}
        limits = {"item": self.settings.export_max_items, "lesson": self.settings.max_lessons}
        for file in self.files:
            if (file.stat is None and not create) or file.error is not None:
                continue
            limit = limits[file.source.layer]
            table = tables[file.source.layer]
            data, rows = exchange.export(file.source, file.data, file.rows, table, limit, file.order)
            if rows == dict(file.rows.rows) and file.rows.complete and list(rows) == list(file.rows.rows):
                continue
            try:
                if file.rows.problems:
                    atomic.quarantine(self.paths.quarantine, file.source.name, file.data)
                atomic.write_atomic(file.path, data, expected=atomic.sha256(file.data) if file.stat else "")
            except Conflict:
                continue
            except NanomemError as error:
                self.failures[file.source.name] = Problem(error.what, file.source.name, fix=error.fix)
                continue
            self.failures.pop(file.source.name, None)
            written[file.source.name] = rows
            self._read(file)
        return written

    def append_audit(self, entries: Sequence[LogEntry]) -> bool:
        """Append what our operations did to the agent's audit logs, where it keeps them; False when that failed."""
        logs: dict[Path, bytes] = {}
        for entry in entries:
            for name, line in audit_export.lines(entry.operation):
                path = self.paths.memory / name
                if path.exists():
                    logs[path] = logs.get(path, b"") + line
        for path, data in logs.items():
            try:
                atomic.append_line(path, data, durable=True)
            except NanomemError as error:
                self.failures[path.name] = Problem(
                    f"the audit log cannot be written ({error.what})", path.name, fix=error.fix
                )
                return False
            self.failures.pop(path.name, None)
        return True


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _fingerprint(stat: tuple[int, int, int] | None) -> str:
    return "-".join(map(str, stat)) if stat else "absent"


def row_tables(items: Mapping[str, Any], lessons: Mapping[str, Any]) -> dict[str, Mapping[str, Row]]:
    """The rows by layer name."""
    return {"item": items, "lesson": lessons}
