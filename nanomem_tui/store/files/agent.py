"""The two files that we share with a RAM-first agent, on disk: notice its changes, write ours, append its audit logs.

Owns the reading and writing of `LTM_SNAPSHOT.json`, `LESSONS.jsonl` and the audit logs. The rules of the merge are in
`exchange`; what is done with the changes is the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import Conflict, NanomemError, Problem
from nanomem_tui.core.operations import Change, failed_in
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.store import forgotten, processes
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.files import exchange
from nanomem_tui.store.files.exchange import AgentRows, Known, Raw, Source
from nanomem_tui.store.forgotten import NOTHING, Forgotten
from nanomem_tui.store.values import AnyRow, Row

EMPTY = AgentRows({}, True, ())
AGENT = "#agent"
PAST = "#past"
"""Behind a file's name: the rows as the agent itself last wrote them, and what our exports since then replaced."""
AUDIT_LOOK = 20_000_000
"""Bytes up to which an audit log is read for broken lines."""
AUDIT_TAIL = 100_000
"""Bytes at the end of a log where lines of ours are looked for, before they are written a second time."""
EXPORTED_ITEMS = 300
"""Items written to the agent's LTM_SNAPSHOT.json."""
ORDER = 5_000
"""Ids whose place in a file is remembered after they left it."""


class SharedFile:
    """One shared file as it is now: its stat when we read it, its bytes and its rows.

    `known` is what the next merge starts from, `noticed` the fingerprint of the file that it covers, `mark` that of
    what the database remembers; `unsaved`: `known` has yet to be remembered.
    """

    def __init__(self, source: Source, path: Path) -> None:
        self.source = source
        self.path = path
        self.stat: tuple[int, int, int] | None = None
        self.data = b""
        self.rows = EMPTY
        self.error: Problem | None = None
        self.order: list[str] = []
        self.known = Known({}, {})
        self.noticed = ""
        self.mark = ""
        self.unsaved = False

    @property
    def name(self) -> str:
        """The file's name."""
        return self.source.name


class Memo(NamedTuple):
    """What the database is to remember of one shared file: rows by source name, and markers by name. `mark`: the name
    of each of these in the database; `forgotten`: what is not remembered, though an agent wrote it again."""

    file: str
    known: Known
    fingerprint: str
    order: Sequence[str]
    mark: Callable[[str], str] = str
    forgotten: Forgotten = NOTHING

    def rows(self) -> dict[str, Mapping[str, Any]]:
        """The remembered rows, by source name."""
        kept = {"": self.known.seen, AGENT: self.known.agent, PAST: self.known.past}
        return {self.mark(self.file + end): self._allowed(rows) for end, rows in kept.items()}

    def _allowed(self, rows: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.forgotten:
            return rows
        return {key: row for key, row in rows.items() if self.forgotten.value({"id": key, "row": row}) is None}

    def marks(self) -> dict[str, str]:
        """The markers."""
        marks = {f"stat:{self.file}": self.fingerprint, f"order:{self.file}": json.dumps(list(self.order))}
        return {self.mark(name): value for name, value in marks.items()}


class AgentFiles:
    """The shared files of one workspace. Not thread-safe by itself: the store calls it under its own lock.

    `anew`: names of files that the next export writes though they hold what it would say.
    """

    def __init__(self, paths: Paths, workspace_id: str, settings: Settings) -> None:
        self.paths = paths
        self.workspace_id = workspace_id
        self.settings = settings
        self.files = [SharedFile(source, paths.memory / source.name) for source in exchange.SOURCES]
        self.failures: dict[str, Problem] = {}
        self.anew: set[str] = set()
        self._here = processes.read_home_id(paths) if settings.database_url else ""

    def mark(self, name: str) -> str:
        """A marker of what is remembered of the files here: homes that share a store have files of their own."""
        return f"{name}@{self._here}" if self.settings.database_url else name

    def settle_here(self) -> bool:
        """Make sure that this home is told from others that share the store; whether it was not told before. Raises
        the errors of `processes.make_home_id`."""
        if not self.settings.database_url or self._here:
            return False
        self._here = processes.make_home_id(self.paths)
        return True

    def is_changed(self) -> bool:
        """Whether a file on disk is not the one that was read last."""
        return any(file.stat != _stat(file.path) for file in self.files)

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
            why, fix = (error.what, error.fix) if isinstance(error, NanomemError) else (error.strerror, "")
            file.error = Problem(f"cannot be read ({why})", self.paths.relative(file.path), fix=fix)
            return False
        file.stat, file.data, file.error = stat, data, None
        file.rows = file.source.parse(data, self.paths.relative(file.path))
        file.order = exchange.merge_order(list(file.rows.rows), file.order)
        return True

    def unreadable(self, layer: str) -> Problem | None:
        """Why the file of a layer cannot be read at all; None when it can, or is not there."""
        return next((file.error for file in self.files if file.source.layer == layer), None)

    def problems(self) -> list[Problem]:
        """What could not be read or written."""
        found = [problem for file in self.files for problem in file.rows.problems]
        found += [file.error for file in self.files if file.error is not None]
        return found + list(self.failures.values())

    def audit_problems(self) -> list[Problem]:
        """The lines of the agent's audit logs that cannot be read; logs beyond 20 MB are left to the doctor."""
        found: list[Problem] = []
        for path in (self.paths.ltm_audit, self.paths.lessons_audit):
            try:
                if path.stat().st_size <= AUDIT_LOOK:
                    from nanomem_tui.agents.jsonl import repairable
                    from nanomem_tui.agents.snapshot_files import parse_audit

                    found += repairable(parse_audit(files.read(path), self.paths.relative(path))[1])
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

    def read_rows(self) -> list[AnyRow]:
        """Read the files, and return all their rows as ours."""
        self.read()
        return [row for layer in ("item", "lesson") for row in self.initial_rows(layer)]

    def stats(self) -> dict[str, str]:
        """A fingerprint of each file as it is on disk now, by marker name."""
        return {self.mark(f"stat:{file.name}"): _fingerprint(_stat(file.path)) for file in self.files}

    # -- what the next merge starts from --------------------------------------------------------------------------

    def begin(self) -> None:
        """Take the files as they are for what both sides know: nothing was exchanged yet."""
        for file in self.files:
            file.known = Known(file.rows.rows, file.rows.rows)
            file.noticed, file.unsaved = _fingerprint(file.stat), True

    def forget_known(self) -> None:
        """Know nothing of the files any more: what the database remembers is to be recalled."""
        for file in self.files:
            file.known, file.noticed, file.mark, file.unsaved = Known({}, {}), "", "", False

    def is_behind(self, meta: Mapping[str, str]) -> bool:
        """Whether another process remembered a file later than we did."""
        return any(meta.get(self.mark(f"stat:{file.name}"), file.mark) != file.mark for file in self.files)

    def recall(self, meta: Mapping[str, str], rows: Callable[[str], Mapping[str, Any]]) -> None:
        """Take what the database remembers, of each file that another process remembered later than we did."""
        for file in self.files:
            mark = meta.get(self.mark(f"stat:{file.name}"), "")
            if mark and mark != file.mark:
                seen, agent, past = (rows(self.mark(file.name + end)) for end in ("", AGENT, PAST))
                file.known = Known(seen, agent, past)
                file.noticed = file.mark = mark
                file.unsaved = False
                file.order = exchange.merge_order(
                    list(file.rows.rows), _order(meta.get(self.mark(f"order:{file.name}")))
                )

    def notice(self, tables: Mapping[str, Mapping[str, Row]]) -> tuple[list[Change], bool]:
        """What the agent changed since, as changes to our rows, and whether it wrote at all.

        A file that is gone, or cannot be read, removes nothing. One that says what we would write is an export of ours
        that was cut off before it was remembered.
        """
        changes: list[Change] = []
        wrote = False
        for file in filter(_is_new, self.files):
            found, known, table = file.rows, file.known, tables[file.source.layer]
            if found.complete and list(self._exported(file, table)[1].items()) == list(found.rows.items()):
                file.known = known.exported(found.rows)
            else:
                changes += exchange.merge(file.source, known, found, table, self.workspace_id)
                agent = found.rows if found.complete else {**known.agent, **found.rows}
                file.known = Known(found.rows if found.complete else {**known.seen, **found.rows}, agent)
                wrote = True
            file.noticed, file.unsaved = _fingerprint(file.stat), True
        return changes, wrote

    def has_new(self) -> bool:
        """Whether a file was written since we noticed it last."""
        return any(map(_is_new, self.files))

    def memo(self) -> tuple[Memo, ...]:
        """What has changed of what the database is to remember; give what it took to `remembered`. Raises the errors of
        `forgotten.load`."""
        unsaved = [file for file in self.files if file.unsaved]
        without = forgotten.load(self.paths) if unsaved else NOTHING
        return tuple(
            Memo(file.name, file.known, file.noticed, tuple(file.order[-ORDER:]), self.mark, without)
            for file in unsaved
        )

    def remembered(self, memos: Sequence[Memo]) -> None:
        """The database has these now."""
        for memo in memos:
            for file in self.files:
                if file.name == memo.file:
                    file.mark = memo.fingerprint
                    file.unsaved = file.known is not memo.known or file.noticed != memo.fingerprint

    # -- writing ----------------------------------------------------------------------------------------------------

    def plan(self, tables: Mapping[str, Mapping[str, Row]]) -> dict[str, tuple[bytes, dict[str, Raw]]]:
        """What our rows make of each file that exists, by its name: its bytes and its rows. The memo says so from now
        on: who meets the file as it is then does not take it for the agent's, also where nobody lived to tell."""
        planned = {
            file.name: self._exported(file, tables[file.source.layer])
            for file in self.files
            if file.stat is not None and file.error is None
        }
        for file in self.files:
            known = file.known.meant(planned[file.name][1]) if file.name in planned else file.known
            file.known, file.unsaved = known, file.unsaved or known is not file.known
        return planned

    def export(self, planned: Mapping[str, tuple[bytes, dict[str, Raw]]]) -> tuple[tuple[str, ...], bool]:
        """Write the files as planned; the names of those written, and whether all is done.

        A file that could not be read in whole is copied to the quarantine before it is replaced. A file that the agent
        rewrote since we read it is left for the next time. A failed write is a problem, not an exception.
        """
        written: list[str] = []
        done = True
        for file in self.files:
            if file.name not in planned:
                done = done and file.error is None  # one that cannot be read now is written when it can
                continue
            try:
                written += [file.name] if self._export(file, *planned[file.name]) else []
                self.failures.pop(file.name, None)
            except Conflict:
                done = False
            except NanomemError as error:
                self.failures[file.name] = Problem(error.what, file.name, fix=error.fix)
                done = False
        return tuple(written), done

    def _export(self, file: SharedFile, data: bytes, rows: dict[str, Raw]) -> bool:
        same = rows == dict(file.rows.rows) and list(rows) == list(file.rows.rows)
        if same and file.name not in self.anew:
            return False  # also of a file with a broken line: what changed may be the other file's
        if file.rows.problems:
            atomic.quarantine(self.paths.quarantine, file.name, file.data)
        atomic.write_atomic(file.path, data, expected=atomic.sha256(file.data))
        self.anew.discard(file.name)
        file.known, file.unsaved = file.known.exported(rows), True
        self._read(file)
        # Had the agent written in between, what we just read is its own, and yet to be noticed: no file has this mark.
        file.noticed = _fingerprint(file.stat) if file.data == data else f"before {_fingerprint(file.stat)}"
        return True

    def _exported(self, file: SharedFile, table: Mapping[str, Row]) -> tuple[bytes, dict[str, Raw]]:
        """The file with our rows in it, and its rows."""
        limit = EXPORTED_ITEMS if file.source.layer == "item" else self.settings.max_lessons
        return exchange.export(file.source, file.data, file.rows, table, limit, file.order)

    def keeps_audit(self) -> bool:
        """Whether there is an audit log to append to."""
        return self.paths.ltm_audit.exists() or self.paths.lessons_audit.exists()

    def append_audit(self, entries: Sequence[LogEntry], tables: Mapping[str, Mapping[str, Row]]) -> bool:
        """Append what our operations did to the agent's audit logs, where it keeps them; False when that failed.

        Lines that the log ends with already, from an export that was cut off, are not written again.
        """
        failed = failed_in(entry.operation for entry in entries)
        logs: dict[str, list[bytes]] = {}
        for entry in entries:
            if entry.operation.id in failed or entry.operation.kind == "void":
                continue
            for name, line in exchange.audit_lines(entry.operation, tables):
                logs.setdefault(name, []).append(line)
        for name, lines in logs.items():
            path = self.paths.memory / name
            if not path.exists():
                continue
            try:
                present = _last_lines(path, sum(map(len, lines)) + AUDIT_TAIL)
                fresh = [line for line in lines if line not in present]
                if fresh:
                    atomic.append_line(path, b"".join(fresh), durable=True)
            except (NanomemError, OSError) as error:
                what, fix = (error.what, error.fix) if isinstance(error, NanomemError) else (str(error), "")
                self.failures[path.name] = Problem(f"the audit log cannot be written ({what})", path.name, fix=fix)
                return False
            self.failures.pop(path.name, None)
        return True


def _last_lines(path: Path, size: int) -> set[bytes]:
    """The lines in the last `size` bytes of a file."""
    with files.opened(path) as file:
        file.seek(max(0, path.stat().st_size - size - 1))
        return {line + b"\n" for line in file.read().split(b"\n")}


def _order(text: str | None) -> list[str]:
    try:
        return [key for key in files.loads(text or "[]") if isinstance(key, str)]
    except (ValueError, TypeError):
        return []


def _is_new(file: SharedFile) -> bool:
    return file.stat is not None and file.error is None and file.noticed != _fingerprint(file.stat)


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
