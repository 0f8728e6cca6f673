"""The token log of nanobot (0.3.5: `llm_usage.sqlite3` in its data folder): one row for each call of a provider.

It is the agent's own truth, of at most 400 days and 100,000 calls: it is summed up where it lies and never copied into
rows of ours. Reads only, beside a live agent too. What a price or a plot makes of the sums is not known here.
"""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.formats import foreign_databases

if TYPE_CHECKING:
    import sqlite3

VERSION = 1
"""The `user_version` of the releases that we know."""

_NEEDED = frozenset({"started_at_ms", "model", "source", "input_tokens", "output_tokens", "total_tokens"})
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
        with foreign_databases.open_read_only(path) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            return _report(connection, where, since)
    except NanomemError as error:
        return Report((), (Problem(error.what, where, fix=error.fix or _FIX),))
    except (sqlite3.Error, OSError) as error:
        return Report((), (Problem(f"the agent's token log cannot be read: {error}", where, fix=_FIX),))


def totals(path: Path, where: str) -> tuple[int, int, Problem | None]:
    """(requests, tokens) of the whole log, and why they cannot be told. Cheaper than `read`. Never raises."""
    import sqlite3

    try:
        with foreign_databases.open_read_only(path) as connection:
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
    if missing := sorted(_NEEDED - columns):
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
