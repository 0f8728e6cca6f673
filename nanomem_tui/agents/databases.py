"""The SQLite files of other memory systems, read without a trace: no lock, no `-shm`, no recovery beside the original.

Knows which system a database belongs to and gives its rows as they are. What they mean to us is the importer's matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core.errors import AccessDenied, BadInput, NanomemError, NotFound, Problem

if TYPE_CHECKING:
    import sqlite3


Kind = Literal["nanomem-records", "scoped", "facts", "chroma", "working", "longterm-records"]

_SIDE_FILES = ("-wal", "-journal")
_SIGNS: tuple[tuple[Kind, frozenset[str]], ...] = (
    ("nanomem-records", frozenset({"work_meta", "goals"})),
    ("nanomem-records", frozenset({"tier_meta", "goals"})),
    ("scoped", frozenset({"memory_entries"})),
    ("facts", frozenset({"facts", "journal"})),
    ("chroma", frozenset({"collections", "segments", "embeddings", "embedding_metadata"})),
    ("working", frozenset({"goals", "tasks"})),
    ("longterm-records", frozenset({"procedures", "incidents"})),
)
_ATTEMPTS = 5


@contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads the database at `path` as it was when it was opened; rows can be read by name.

    Without pending changes beside it the file is read in place, immutable; else a private copy is read and removed.
    Raises NotFound, AccessDenied, or BadInput when it is no database or keeps changing.
    """
    import sqlite3

    if not path.is_file():
        raise NotFound("no database", str(path))
    try:
        with source_uri(path) as uri, closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA query_only=ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            yield connection
    except PermissionError as error:
        raise AccessDenied("no permission to read the database", str(path), "check its owner and mode") from error
    except sqlite3.DatabaseError as error:
        raise BadInput(f"cannot read the database: {error}", str(path)) from error


def identify_database(path: Path) -> Kind | None:
    """Which system the database at `path` belongs to; None when it is none of them, or cannot be read."""
    try:
        with open_read_only(path) as connection:
            tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    except (BadInput, NotFound, AccessDenied, OSError):
        return None
    return next((kind for kind, signs in _SIGNS if signs <= tables), None)


def memory_entries(path: Path) -> list[dict[str, Any]]:
    """Every row of `memory_entries`, deleted ones too, in the order they were stored. Raises like `open_read_only`."""
    with open_read_only(path) as connection:
        return [dict(row) for row in connection.execute("SELECT * FROM memory_entries ORDER BY rowid")]


def row_counts(path: Path, tables: Sequence[str]) -> dict[str, int]:
    """Count the rows of those tables that exist and can be read. Raises like `open_read_only`."""
    import sqlite3

    counts: dict[str, int] = {}
    with open_read_only(path) as connection:
        there = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
        for table in tables:
            if table in there:
                with suppress(sqlite3.DatabaseError):
                    counts[table] = int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])
    return counts


@contextmanager
def source_uri(path: Path) -> Iterator[str]:
    """The URI to read: the file itself, or a private copy for as long as the context lasts."""
    with open(path, "rb"):
        pass  # sqlite says "unable to open" where the system says why
    if not _pending(path):
        yield f"{path.absolute().as_uri()}?immutable=1"
        return
    import tempfile  # 10 ms that the usual database, whole in its file, does not cost

    with tempfile.TemporaryDirectory(prefix="nanomem-") as folder:
        yield f"{_private_copy(path, Path(folder)).as_uri()}?mode=rw"


def _pending(path: Path) -> bool:
    """Whether changes that are not in the file itself lie beside it."""
    return any(_size(path, suffix) > 0 for suffix in _SIDE_FILES)


def _size(path: Path, suffix: str) -> int:
    try:
        return os.stat(f"{path}{suffix}").st_size
    except FileNotFoundError:
        return 0


def _state(path: Path) -> list[tuple[int, int]]:
    """Size and time of the database and what lies beside it; (0, 0) for what is absent."""
    state = []
    for suffix in ("", *_SIDE_FILES):
        try:
            found = os.stat(f"{path}{suffix}")
            state.append((found.st_size, found.st_mtime_ns))
        except FileNotFoundError:
            state.append((0, 0))
    return state


def _private_copy(path: Path, folder: Path) -> Path:
    """A copy of the database with its side files, all of one moment. Raises BadInput when the moment never comes."""
    import shutil

    target = folder / "copy.db"
    for _ in range(_ATTEMPTS):
        before = _state(path)
        for suffix in ("", *_SIDE_FILES):
            copied = Path(f"{target}{suffix}")
            copied.unlink(missing_ok=True)
            if os.path.exists(f"{path}{suffix}"):
                shutil.copyfile(f"{path}{suffix}", copied)
        if _state(path) == before:
            return target
    raise BadInput("the database keeps changing", str(path), "try again when its agent is idle")


# Reading tables of databases that somebody else made: a damaged page, a wrong type or a bad byte costs its row.

MAX_CELL = 1_000_001
"""Characters of a cell that are read: one more than any text may have."""

Raw = dict[str, Any]


class Tables:
    """The tables of a database that is open. `problems` says what of the tables asked so far could not be read."""

    def __init__(self, connection: sqlite3.Connection, where: str) -> None:
        self._connection = connection
        self._where = where
        self.problems: list[Problem] = []
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self.names = frozenset(str(name) for (name,) in named)

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none where there is no such table."""
        return frozenset(str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{table}")'))

    def rows(self, table: str, wanted: Sequence[str]) -> Iterator[tuple[int, Raw]]:
        """(number, fields) of each row of a table that can be read, those of the asked columns that it has.

        What lies behind a damaged page is read from the other end; what lies between two is lost, and said.
        """
        import sqlite3

        if table not in self.names:
            return
        names = [name for name in wanted if name in self.columns(table)]
        if not names:
            what = f"the table {table} has none of the columns that are known"
            self.problems.append(Problem(what, self._where))
            return
        number, last = 0, None
        try:
            for place, raw in self._read(table, names, "ASC"):
                number, last = number + 1, place
                yield number, raw
        except sqlite3.DatabaseError as error:
            beyond = self._from_the_end(table, names, last)
            what = f"the table {table} cannot be read beyond row {number} ({error})"
            rest = f", but for the last {len(beyond):,}" if beyond else ""
            self.problems.append(Problem(what + rest, self._where, fix="what can be read of it is read"))
            yield from ((number + 1 + more, raw) for more, raw in enumerate(beyond, 1))

    def _from_the_end(self, table: str, names: Sequence[str], last: Any) -> list[Raw]:
        """The rows behind the damage, in their order."""
        import sqlite3

        found: list[Raw] = []
        try:
            for place, raw in self._read(table, names, "DESC"):
                if last is not None and place <= last:
                    break
                found.append(raw)
        except sqlite3.DatabaseError:
            pass  # the other side of the damage
        return found[::-1]

    def _read(self, table: str, names: Sequence[str], order: str) -> Iterator[tuple[Any, Raw]]:
        # Only a text can be long; a number stays a number. What `substr` cuts ends at the first NUL as well.
        cells = [
            f"CASE WHEN length(CAST({name} AS BLOB)) > {MAX_CELL} AND typeof({name}) IN ('text', 'blob') "
            f"THEN substr({name}, 1, {MAX_CELL}) ELSE {name} END"
            for name in (f'"{name}"' for name in names)
        ]
        sql = f'SELECT rowid, {", ".join(cells)} FROM "{table}" ORDER BY rowid {order}'
        for place, *values in self._connection.execute(sql):
            yield place, dict(zip(names, values, strict=True))


@contextmanager
def open_tables(path: Path, where: str) -> Iterator[Tables]:
    """The tables of the database at `path`, as long as the context lasts. `where` is how problems name the file.

    Raises like `foreign_databases.open_read_only`.
    """
    with open_read_only(path) as connection:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.text_factory = _tolerant
        yield Tables(connection, where)


def _tolerant(data: bytes) -> str:
    """A text of a foreign table: what is no UTF-8 costs a character, a lone surrogate stays, to be refused."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


# A folder of Chroma's PersistentClient, read without Chroma and without a trace: what it keeps beside its vectors.

NAME = "chroma.sqlite3"
"""The database in such a folder."""
OURS = "nanomem.json"
"""A file in such a folder that nanomem made for its own index."""
COLLECTIONS = ("nanobot_facts", "nanobot_memory")
"""The collections of that system: its own name for facts, then the one of its first releases."""
DOCUMENT = "chroma:document"
"""The key under which a document is kept among the metadata."""

_NEEDED = {
    "collections": frozenset({"id", "name"}),
    "segments": frozenset({"id", "scope", "collection"}),
    "embeddings": frozenset({"id", "segment_id", "embedding_id", "seq_id"}),
    "embedding_metadata": frozenset({"id", "key", "string_value", "int_value", "float_value"}),
}
_VALUES = ("string_value", "int_value", "float_value", "bool_value")


class ChromaEntry(NamedTuple):
    """An entry of a collection: its id, its metadata, and among them the document (under `DOCUMENT`)."""

    id: str
    collection: str
    metadata: dict[str, Any]


class ChromaFolder(NamedTuple):
    """The `entries` of the collections asked for, in order, and how many entries each of the `others` has."""

    entries: list[ChromaEntry]
    others: dict[str, int]
    problems: list[Problem]


def chroma_database(path: Path) -> Path | None:
    """The database of the Chroma folder at `path`, which may be named itself; None when there is none."""
    found = path / NAME if path.is_dir() else path
    return found if found.name == NAME and found.is_file() else None


def read_chroma_folder(path: Path, where: str) -> ChromaFolder:
    """The entries of both collections in the database at `path`, and what could not be read.

    Raises BadInput for a version whose tables are others, and like `foreign_databases.open_read_only`.
    """
    with open_tables(path, where) as source:
        _check(source, path)
        names = {str(raw["id"]): str(raw["name"]) for _, raw in source.rows("collections", ("id", "name"))}
        segments = _segments(source)
        found: dict[str, dict[str, dict[str, Any]]] = {
            key: {} for wanted in COLLECTIONS for key, name in names.items() if name == wanted
        }
        others = dict.fromkeys((name for name in names.values() if name not in COLLECTIONS), 0)
        by_number: dict[int, dict[str, Any]] = {}
        for _, raw in source.rows("embeddings", ("id", "segment_id", "embedding_id")):
            collection = segments.get(str(raw["segment_id"]), "")
            if collection in found:
                by_number[raw["id"]] = found[collection].setdefault(str(raw["embedding_id"]), {})
            elif collection in names:
                others[names[collection]] += 1
        for _, raw in source.rows("embedding_metadata", ("id", "key", *_VALUES)):
            if raw["id"] in by_number:
                by_number[raw["id"]][str(raw["key"])] = _value(raw)
        entries = [ChromaEntry(key, names[of], meta) for of, rows in found.items() for key, meta in rows.items()]
        return ChromaFolder(entries, others, source.problems)


def _check(source: Tables, path: Path) -> None:
    for table, columns in _NEEDED.items():
        missing = sorted(columns - source.columns(table))
        if missing:
            what = f"no Chroma folder of a version that is known: its table {table} lacks {', '.join(missing)}"
            raise BadInput(what, str(path), "known are those of Chroma 0.4 to 1.5")


def _segments(source: Tables) -> dict[str, str]:
    """Whose segment of metadata each is: the id of its collection."""
    found = source.rows("segments", ("id", "scope", "collection"))
    return {str(raw["id"]): str(raw["collection"]) for _, raw in found if raw["scope"] == "METADATA"}


def _value(raw: Raw) -> Any:
    if raw.get("bool_value") is not None:
        return bool(raw["bool_value"])
    return next((raw[name] for name in _VALUES if raw.get(name) is not None), None)


# The token log of nanobot (0.3.5: `llm_usage.sqlite3` in its data folder): one row for each call of a provider.

VERSION = 1
"""The `user_version` of the releases that we know."""

_LLM_USAGE_NEEDED = frozenset({"started_at_ms", "model", "source", "input_tokens", "output_tokens", "total_tokens"})
_FIX = "it stays as it is; only what the agent spent cannot be told"
_LAST = 253_402_300_800_000
"""Milliseconds at which the year 10000 begins: what is not before it, a text too, is no time of a call."""


class Calls(NamedTuple):
    """The calls of one local day (`YYYY-MM-DD`), model and source (user, api, cron, dream, system).

    `total_tokens` is what the agent reckons, not always the sum of the other two. `failed`: so many of the `requests`
    gave no answer; `estimated`: so many of the tokens are the agent's own guess.
    """

    day: str
    model: str
    source: str
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    requests: int
    failed: int
    estimated: int


class Report(NamedTuple):
    """What could be read of the log: its sums, oldest day first, and what is wrong with it."""

    calls: tuple[Calls, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_llm_usage(path: Path, where: str, since: str = "") -> Report:
    """The calls in the log at `path`, summed by local day, model and source; `since`: from that day on. `where` names
    the file in problems.

    Without the file there is nothing. One that cannot be read, or lacks what is summed, gives one problem and nothing
    else; one of a newer release is read as far as it is understood, with a warning. Never raises.
    """
    import sqlite3

    if not path.is_file():
        return Report()
    try:
        with open_read_only(path) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            return _report(connection, where, since)
    except NanomemError as error:
        return Report((), (Problem(error.what, where, fix=error.fix or _FIX),))
    except (sqlite3.Error, OSError) as error:
        return Report((), (Problem(f"the agent's token log cannot be read: {error}", where, fix=_FIX),))


def usage_totals(path: Path, where: str) -> tuple[int, int, Problem | None]:
    """(requests, tokens) of the whole log, and why they cannot be told. Cheaper than `read`. Never raises."""
    import sqlite3

    try:
        with open_read_only(path) as connection:
            sql = "SELECT count(*), total(max(coalesce(total_tokens, 0), 0)) FROM llm_calls"
            requests, tokens = connection.execute(sql).fetchone()
            return int(requests), int(tokens), None
    except (NanomemError, sqlite3.Error, OSError):
        problems = read_llm_usage(path, where).problems
        return 0, 0, problems[0] if problems else None


def _report(connection: sqlite3.Connection, where: str, since: str) -> Report:
    columns = {str(row["name"]) for row in connection.execute("PRAGMA table_info(llm_calls)")}
    if not columns:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return Report()  # an agent made it this moment
        return Report((), (Problem("not the token log of an agent: it holds no llm_calls", where, fix=_FIX),))
    if missing := sorted(_LLM_USAGE_NEEDED - columns):
        what = f"the agent's token log has another form: no {', '.join(missing)}"
        return Report((), (Problem(what, where, fix=_FIX),))
    problems = []
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        what = f"the agent's token log is of a newer release (version {version}, known is {VERSION})"
        problems.append(Problem(what, where, fix="what is new in it is not told", severity="warning"))
    rows = connection.execute(_sums(columns), (_start(since), _LAST))
    calls = tuple(Calls(day, model, source, *map(int, counts)) for day, model, source, *counts in rows)
    undated = connection.execute("SELECT count(*) FROM llm_calls WHERE started_at_ms >= ?", (_LAST,)).fetchone()[0]
    if undated:
        problems.append(Problem(f"{undated:,} calls without a time are left out", where, severity="warning"))
    return Report(calls, tuple(problems))


def _sums(columns: set[str]) -> str:
    """The query for the sums. What is no number counts as nothing, and `total` has room for any number."""
    counts = [f"total(max({name}, 0))" for name in ("input_tokens", "output_tokens", "total_tokens")]
    failed = "total(finish_reason IN ('error', 'cancelled'))" if "finish_reason" in columns else "0"
    estimated = "total(max(estimated_tokens, 0))" if "estimated_tokens" in columns else "0"
    return (
        "SELECT date(started_at_ms / 1000, 'unixepoch', 'localtime'), "
        "coalesce(CAST(model AS TEXT), ''), coalesce(CAST(source AS TEXT), ''), "
        f"{', '.join(counts)}, count(*), {failed}, {estimated} "
        "FROM llm_calls WHERE started_at_ms >= ? AND started_at_ms < ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )


def _start(since: str) -> int:
    """The first millisecond of a local day; of every day when it is none."""
    try:
        day = datetime.fromisoformat(since).date()
        return int(datetime.combine(day, time.min).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return -(2**63)
