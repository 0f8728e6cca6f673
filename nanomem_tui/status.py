"""The object of `memory status`: counts of every part, and problems. Reads only."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from nanomem_tui.agents import databases as agents_databases
from nanomem_tui.agents import releases
from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.memory.recall.meaning import HYBRID
from nanomem_tui.memory.transfer import backfill, foreign
from nanomem_tui.review.parts import ReviewedMemory
from nanomem_tui.review.quarantine import Quarantine, edits_waiting
from nanomem_tui.store import forgotten, lookup
from nanomem_tui.store.work.kinds import TIERS

if TYPE_CHECKING:
    from nanomem_tui.memory.facts.search import Meaning
    from nanomem_tui.memory.turns.wal_states import WalStates


OF_FACTS = ("journal", "conversations", "reflections", "token_usage")
"""What a database of facts holds beside them."""


class CountedMemory(ReviewedMemory, Protocol):
    """One agent's memory with all that is counted in it."""

    @property
    def wal(self) -> WalStates:
        """The turn logs of the scoped system."""

    @property
    def meaning(self) -> Meaning:
        """Semantic search."""

    def problems(self) -> list[Problem]:
        """Return what could not be read so far."""


def status(ws: CountedMemory) -> dict[str, Any]:
    """Counts of every part. A part that cannot be read is None and named in `problems`; the rest stays usable."""
    problems: list[Problem] = []
    part = _Reader(problems)
    databases = part.read(lambda: _foreign(ws), [])
    others = [*databases, *part.read(lambda: _chroma(ws), [])]
    items = part.read(ws.items.count, {"total": None, "enabled": None, "by_kind": {}})
    items["foreign"] = part.read(lambda: len(ws.items.foreign()), None) if databases else 0
    lessons = part.read(ws.lessons.count, {"total": None, "enabled": None})
    waiting = [*(rows.pop("inbox", None) for rows in (items, lessons)), part.read(lambda: edits_waiting(ws), None)]
    lessons["strong"] = part.read(ws.lessons.strong, None) if lessons["total"] else lessons["total"]
    sessions = part.read(lambda: _sessions(ws), None)
    chats = part.read(lambda: lookup.record_subjects(ws.store, "message"), 0)  # imported
    history = part.read(ws.history.count, {"entries": None, "unprocessed": None})
    dream = part.read(ws.dream.status, {"runs": None, "cursor": None})
    if ahead := dream.get("ahead"):
        problems.append(Problem(ahead["what"], ahead["where"], fix=ahead["fix"]))
    records = part.read(lambda: _records(ws, problems), {"journal": None, "reflections": None, "usage": None})
    wal = part.read(ws.wal.counts, {"files": None, "turns": None, "open": None})
    notes = part.read(lambda: len(ws.notes.list()), None)
    checkpoint = part.read(lambda: _checkpoint(ws), {"dirty": None, "last_at": None, "last_ms": None})
    agent = ws.agent()
    problems += part.read(Quarantine(ws).problems, ())
    problems += filter(None, [forgotten.interrupted_problem(ws.paths)])
    if ws.settings.recall_backend in HYBRID and (why := ws.meaning.why_not):
        problems.append(Problem(f"recall is by words alone: {why}", "recall_backend", severity="note"))
    return {
        "workspace": str(ws.paths.workspace),
        "id": ws.id,
        "home": str(ws.paths.home) if ws.paths.home else None,
        "data": str(ws.paths.data),
        "release": ws.layout.release,
        "agent": {"running": agent.running, "pid": agent.pid, "what": agent.what},
        "items": items,
        "lessons": lessons,
        "inbox": None if None in waiting else sum(waiting),
        "sessions": None if sessions is None else sessions + chats,
        "history": history,
        "dream": dream,
        "wal": wal,
        "notes": notes,
        **records,
        "vectors": part.read(lambda: _vectors(ws), None),
        "tiers": part.read(lambda: _tiers(ws), None),
        "checkpoint": checkpoint,
        "store": part.read(lambda: _store(ws), None),
        "counters": part.read(ws.traces.counters.read, None),
        "foreign": others,
        "backfill": part.read(lambda: _backfill(ws), None),
        "problems": [p.to_json() for p in _distinct([*problems, *ws.problems(), *ws.store.files.audit_problems()])],
    }


class _Reader:
    """Reads parts one by one, so that a broken one does not take the others down."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems

    def read(self, part: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return part()
        except NanomemError as error:
            self._problems.append(Problem(error.what, error.where, fix=error.fix))
        except OSError as error:
            self._problems.append(Problem(error.strerror or str(error), str(error.filename or "")))
        return otherwise


def _distinct(problems: list[Problem]) -> list[Problem]:
    return list(dict.fromkeys(problems))


def _foreign(ws: CountedMemory) -> list[dict[str, Any]]:
    found = []
    for path in foreign.find_databases(ws.paths, ws.settings):
        kind = agents_databases.identify_database(path)
        if kind in foreign.SHOWN:
            rows = foreign.read_rows(ws.paths, path, ws.id)
            deleted = sum(1 for row in rows if row.get("is_deleted"))
            counts = {"total": len(rows), "active": len(rows) - deleted, "deleted": deleted}
            others = {"others": agents_databases.row_counts(path, OF_FACTS)} if kind == "facts" else {}
            found.append({"path": ws.paths.relative(path), "format": kind, **counts, **others})
    return found


def _chroma(ws: CountedMemory) -> list[dict[str, Any]]:
    """Return the Chroma folder in the agent's home that is not ours, with its entries by collection; without counts,
    and why, where it cannot be read."""
    path = agents_databases.chroma_database(ws.paths.home / "chroma") if ws.paths.home is not None else None
    if path is None or (path.parent / agents_databases.OURS).exists():
        return []
    named = {"path": ws.paths.relative(path.parent), "format": "chroma"}
    try:
        read = agents_databases.read_chroma_folder(path, ws.paths.relative(path))
    except NanomemError as error:
        return [{**named, "total": None, "active": None, "deleted": None, "why": error.what}]
    counts = Counter(entry.collection for entry in read.entries) + Counter(read.others)
    number = sum(counts.values())
    return [{**named, "total": number, "active": number, "deleted": 0, "collections": dict(counts)}]


def _backfill(ws: CountedMemory) -> dict[str, Any]:
    """Return whether Markdown from before the store was taken in and when (UTC ISO), how many items the last time
    brought and whether they were taken back; else of how many files it would be."""
    at = backfill.done_at(ws.store)
    if at is None:
        return {"done": False, "at": None, "files": len(backfill.files(ws.paths)), "items": 0, "undone": False}
    made = backfill.newest(ws.store)
    brought = len(made.operation.changes) if made is not None else 0
    return {"done": True, "at": at or None, "files": 0, "items": brought, "undone": made is not None and made.undone}


def _records(ws: CountedMemory, problems: list[Problem]) -> dict[str, Any]:
    """Return how many journal entries and reflections there are, and the token use: `requests`, `total_tokens`, and the
    tokens `by_origin` (nanomem, the agent's own log, an import)."""
    groups = lookup.record_groups(ws.store)
    origins: dict[str, int] = {}
    requests = 0
    for kind, source, _, asked, tokens in groups:
        if kind == "usage":
            origin = "nanomem" if source == "nanomem" else "import"
            origins[origin], requests = origins.get(origin, 0) + tokens, requests + asked
    if ws.paths.token_log is not None:
        asked, tokens, problem = agents_databases.usage_totals(
            ws.paths.token_log, ws.paths.relative(ws.paths.token_log)
        )
        origins["agent"], requests = tokens, requests + asked
        problems += [problem] if problem else []
    return {
        "journal": sum(number for kind, _, number, *_ in groups if kind == "journal"),
        "reflections": sum(number for kind, _, number, *_ in groups if kind == "reflection"),
        "usage": {"requests": requests, "total_tokens": sum(origins.values()), "by_origin": origins},
    }


def _vectors(ws: CountedMemory) -> dict[str, Any]:
    """Return whether there is to be search by meaning, in which index, and how many items have a vector, by model."""
    from nanomem_tui.vectors.collection import ITEMS, VectorFile

    held = {count.model: count.rows for count in VectorFile(ws.paths.vectors).counts([ITEMS])}
    return {"enabled": ws.settings.embedding_enabled, "index": ws.settings.vector_index, "by_model": held}


def _tiers(ws: CountedMemory) -> dict[str, Any]:
    """Return how many records the agent's work has in each tier (`exact` always, by now), and the bytes of their file;
    none of those that lie on a server."""
    if ws.settings.database_url:
        found: dict[str, int] = dict.fromkeys(TIERS, 0)
        for counts in ws.records.counts().values():
            for tier, number in counts.items():
                found[tier] += number
        return {**found, "exact": True, "bytes": 0}
    files = (ws.paths.work_database, ws.paths.tiers_database)
    file = next((one for one in files if one.exists()), None)
    if file is None:  # what reads it is not imported
        return {**dict.fromkeys(TIERS, 0), "exact": True, "bytes": 0}
    from nanomem_tui.store.storage import count_work

    return {**count_work(ws.paths, ws.id), "exact": True, "bytes": file.stat().st_size}


def _sessions(ws: CountedMemory) -> int:
    """Return how many transcripts lie in files; where there is none, what reads them is not imported."""
    return len(ws.sessions.of_files()) if releases.has_session_files(ws.paths, ws.layout) else 0


def _checkpoint(ws: CountedMemory) -> dict[str, Any]:
    """Return what waits for a checkpoint, and the last one."""
    last_at, last_ms = ws.store.last_checkpoint()
    return {"dirty": ws.store.unwritten(), "last_at": last_at or None, "last_ms": last_ms}


def _store(ws: CountedMemory) -> dict[str, Any]:
    described: dict[str, Any] = {"database": None, "schema": None, "sqlite": sqlite3.sqlite_version, "operations": 0}
    described["server"] = None  # which PostgreSQL, where the rows lie on one
    described["index"] = None  # "current", or "old": made by another version's tokenizer
    return {**described, **ws.store.described()}
