"""The two databases of the system of seed 004, `working.db` and `longterm.db`: what an agent recorded of its work.

Reads both forms of it: that of the real system (JSON as `..._json` BLOBs, times in epoch seconds) and that of the seed
(JSON as text, TIMESTAMP). Gives the fields as JSON values and UTC ISO texts; whether they make a record is not its
matter.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents.databases import MAX_CELL, Raw, open_tables
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Problem

Reader = Callable[[Any, list[str]], Any]
"""A value as its field takes it; the list gets what had to be put right. Raises ValueError with what is wrong."""
KEPT_AS_TEXT = "is no JSON: kept as text"


class WorkRow(NamedTuple):
    """A row of theirs. `fields`: those that it has, without those that say nothing; `place`: where it stands there."""

    kind: str
    id: str
    fields: Mapping[str, Any]
    place: str
    note: str = ""


class WorkRows(NamedTuple):
    """What was found in one database; `refused`: how many rows of each kind cannot be read."""

    rows: list[WorkRow]
    problems: list[Problem]
    refused: Mapping[str, int]


def read_work_records(path: Path, where: str) -> WorkRows:
    """Every row of the known tables. Raises what opening does."""
    rows: list[WorkRow] = []
    problems: list[Problem] = []
    refused = Counter[str]()
    with open_tables(path, where) as source:
        for name, (kind, fields) in TABLES.items():
            for table in (name, f"archived_{name}"):
                columns = _columns(fields, source.columns(table)) if table in source.names else {}
                asked = [_own_id(kind), *columns.values()] if columns else []
                for number, raw in source.rows(table, asked) if columns else ():
                    place = f"{table} {number}"
                    try:
                        rows.append(_row(kind, fields, columns, raw, place))
                    except ValueError as error:
                        refused[kind] += 1
                        problems.append(Problem(f"{place}: {error}", where))
        return WorkRows(rows, [*source.problems, *problems], refused)


def _columns(fields: Mapping[str, Reader], there: frozenset[str]) -> dict[str, str]:
    """Their column for each field that they have."""
    found = {name: next((one for one in (name, f"{name}_json") if one in there), "") for name in fields}
    return {name: column for name, column in found.items() if column}


def _own_id(kind: str) -> str:
    return "agent_name" if kind == "agent-state" else "id"


def _row(kind: str, fields: Mapping[str, Reader], columns: Mapping[str, str], raw: Raw, place: str) -> WorkRow:
    notes: list[str] = []
    own = _text(raw.get(_own_id(kind)), notes)
    if not own:
        raise ValueError("it has no id")
    values: dict[str, Any] = {}
    for name, column in columns.items():
        found: list[str] = []
        try:
            value = fields[name](raw.get(column), found)
        except ValueError as error:
            raise ValueError(f"{column} {error}") from None
        notes += [f"{column} {note}" for note in found]
        if value is not None:
            values[name] = value
    return WorkRow(kind, own, values, place, "; ".join(notes))


# -- values ---------------------------------------------------------------------------------------------------------


def _text(value: Any, _notes: list[str]) -> str | None:
    """A text; an empty one, which is what that system writes for none, is none."""
    if isinstance(value, (str, bytes)) and len(value) >= MAX_CELL:
        raise ValueError(f"is longer than {MAX_CELL - 1:,}")
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise ValueError("is no text") from None
    return str(value) or None if value is not None else None


def _json(value: Any, notes: list[str]) -> Any:
    """JSON, whatever it is; other text as it stands."""
    if isinstance(value, (int, float)):
        return value  # what SQLite made of it in a column of type JSON
    text = _text(value, notes)
    if text is None:
        return None
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        notes.append(KEPT_AS_TEXT)
        return text


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _tags(value: Any, notes: list[str]) -> list[str] | None:
    """Names: a JSON list, an array as PostgreSQL writes it, or parted by commas."""
    text = _text(value, notes)
    if text is None:
        return None
    if text.lstrip().startswith("["):
        found = _json(text, [])
        if isinstance(found, list):
            return [str(one) for one in found]
    return [one for part in text.strip("{} ").split(",") if (one := part.strip(' "'))]


def _time(value: Any, _notes: list[str]) -> str | None:
    """A time as UTC ISO text: epoch seconds, 0 being none, or a timestamp, which is UTC where it does not say."""
    if value in {None, "", 0}:
        return None
    moment = None
    if isinstance(value, (int, float)):
        try:
            moment = datetime.fromtimestamp(value, UTC)
        except (ValueError, OverflowError, OSError):
            moment = None
    elif isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            moment = None
    if moment is None:
        raise ValueError("is no time")
    return clock.iso(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def _integer(value: Any, _notes: list[str]) -> int | None:
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ValueError("is no whole number")


def _number(value: Any, _notes: list[str]) -> float | None:
    if value is None or (isinstance(value, (int, float)) and math.isfinite(value)):
        return value
    raise ValueError("is no number")


def _flag(value: Any, _notes: list[str]) -> bool | None:
    if value is None or value in (0, 1):
        return None if value is None else bool(value)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ValueError("is neither true nor false")


TABLES: Mapping[str, tuple[str, Mapping[str, Reader]]] = {
    "goals": (
        "goal",
        {
            "description": _text, "status": _text, "priority": _integer, "created_at": _time, "completed_at": _time,
            "result": _text, "metadata": _json,
        },
    ),
    "tasks": (
        "task",
        {
            "goal_id": _text, "description": _text, "agent": _text, "status": _text, "input": _json, "output": _json,
            "started_at": _time, "completed_at": _time, "duration_ms": _integer, "error": _text,
        },
    ),
    "tool_calls": (
        "tool-call",
        {
            "task_id": _text, "tool_name": _text, "agent": _text, "input": _json, "output": _json, "success": _flag,
            "duration_ms": _integer, "reason": _text, "timestamp": _time,
        },
    ),
    "agent_states": ("agent-state", {"agent_name": _text, "state": _json, "updated_at": _time}),
    "decisions": (
        "decision",
        {
            "context": _text, "options": _json, "chosen": _text, "reasoning": _text, "intelligence_level": _text,
            "model_used": _text, "outcome": _text, "timestamp": _time,
        },
    ),
    "patterns": (
        "pattern",
        {
            "trigger": _text, "action": _text, "success_rate": _number, "uses": _integer, "last_used": _time,
            "created_from": _text,
        },
    ),
    "procedures": (
        "procedure",
        {
            "name": _text, "description": _text, "steps": _json, "success_count": _integer, "fail_count": _integer,
            "avg_duration_ms": _integer, "tags": _tags, "created_at": _time, "last_used": _time,
        },
    ),
    "incidents": (
        "incident",
        {
            "description": _text, "symptoms": _json, "root_cause": _text, "resolution": _text, "resolved_by": _text,
            "prevention": _text, "timestamp": _time,
        },
    ),
    "config_changes": (
        "config-change",
        {"file_path": _text, "content": _text, "changed_by": _text, "reason": _text, "timestamp": _time},
    ),
}  # fmt: skip
"""Their tables: which kind of record a row is, and how its fields are read. Vectors are not: ours are other ones."""
TABLES = {**TABLES, "config_history": TABLES["config_changes"]}
