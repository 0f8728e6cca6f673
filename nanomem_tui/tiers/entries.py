"""What happens now, one entry at a time: its categories, what each must say, and what it is about.

Owns the checks of an entry. Values only; must not know a database.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nanomem_tui.core import clock, files
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import one_line
from nanomem_tui.store.work.kinds import ENDED
from nanomem_tui.store.work.values import MAX_TEXT, checked_id

CATEGORIES = ("metric", "event", "task", "tool_result")
MAX_SOURCE = 500
"""Characters of a source, and of the name of a metric."""
DEEPEST = 100
"""Lists and objects within each other."""
_ERRORS = frozenset({"error", "critical", "fatal"})
_MEASURED = frozenset({"name", "value", "unit"})
"""What the table of metrics has room for."""


class OperationalEntry(NamedTuple):
    """Something that happened: `at` is UTC ISO, `data` JSON; a critical one went into working memory at once."""

    id: str
    at: str
    category: str
    source: str
    data: Any
    critical: bool = False


class MetricValue(NamedTuple):
    """The newest value of a metric; `at` is UTC ISO."""

    name: str
    value: float
    unit: str
    at: str


def read_spool(data: bytes) -> tuple[list[OperationalEntry], bool]:
    """Read the entries of a file of an earlier release, each a line `{"c":"<crc32>","r":<entry>}`, but for those that
    had aged; and whether every line could be read. Lines that were torn or harmed are passed over."""
    found: list[OperationalEntry] = []
    is_whole = True
    for line in data.split(b"\n"):
        body = line[20:-1]
        if line[6:14] != b"%08x" % zlib.crc32(body):
            is_whole = is_whole and not line.strip(b"\0\r ")
            continue
        try:
            said = files.loads(body)
            if said.get("aged") in (ids := [one.id for one in found]):
                found = found[ids.index(said["aged"]) + 1 :]
            elif "id" in said:
                checked(said["category"], said["data"], said["source"])
                critical = said["critical"] is not False
                at = clock.iso(clock.parse(said["at"]) or clock.now())
                found.append(OperationalEntry(
                    str(said["id"]), at, said["category"], said["source"], said["data"], critical))  # fmt: skip
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, BadInput):
            is_whole = False
    return found, is_whole


def checked(category: str, data: Any, source: Any) -> None:
    """Raise BadInput for what no entry of that category can be."""
    if category not in CATEGORIES:
        raise BadInput("no such category", one_line(str(category), 40), f"one of {', '.join(CATEGORIES)}")
    if not isinstance(source, str) or len(source) > MAX_SOURCE:
        raise BadInput("no usable source", one_line(str(source), 40), f"a text of at most {MAX_SOURCE} characters")
    if not source.isascii():
        text_of(source)
    if category == "event":
        return
    if not isinstance(data, dict):
        raise BadInput(f"the data of a {category} must be an object", "", _EXAMPLES[category])
    if category == "metric":
        name, value, unit = data.get("name"), data.get("value"), data.get("unit")
        if not isinstance(name, str) or not name or len(name) > MAX_SOURCE or name.isspace():
            raise BadInput("a metric needs a name", "", _EXAMPLES[category])
        if not _is_number(value):
            told = one_line(repr(value), 40)
            raise BadInput(f"the value of a metric must be a number, not {told}", name, _EXAMPLES[category])
        if unit is not None and not isinstance(unit, str):
            told = one_line(repr(unit), 40)
            raise BadInput(f"the unit of a metric must be a text, not {told}", name, _EXAMPLES[category])
    else:
        for field in ("id", "status") if category == "task" else ("tool",):
            if not isinstance(data.get(field), str) or not data[field].strip():
                raise BadInput(f"a {category} needs `{field}`", "", _EXAMPLES[category])
        if category == "task" and checked_id(data["id"]) != data["id"]:
            raise BadInput("a task's id has blanks around it", one_line(data["id"], 40), _EXAMPLES[category])


_EXAMPLES = {
    "metric": 'give {"name": "cpu.percent", "value": 12.5}',
    "task": 'give {"id": "task_1", "status": "in_progress"}',
    "tool_result": 'give {"tool": "read_file", "input": {"path": "a.txt"}, "output": "...", "success": true}',
}


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def text_of(data: Any) -> str:
    """The data as JSON. Raises BadInput for what UTF-8 JSON cannot hold, and for too much."""
    try:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        raise BadInput("the data is no JSON", "", "give UTF-8 text, finite numbers, lists and objects") from None
    if size > MAX_TEXT:
        raise BadInput(f"the data has {size:,} bytes", "", f"give at most {MAX_TEXT:,}")
    if _deeper(data, DEEPEST):
        raise BadInput(f"the data is nested more than {DEEPEST} deep", "", "make it flatter")
    return text


def _deeper(value: Any, levels: int) -> bool:
    """Whether a value has more levels of lists and objects."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return inside is not None and (levels == 0 or any(_deeper(one, levels - 1) for one in inside))


def is_critical(data: Any, source: str) -> bool:
    """Whether that is an error or an event of security, by what it says of itself."""
    said = data if isinstance(data, dict) else {}
    grave = [said.get("level"), said.get("severity")]
    about = [source, said.get("type"), said.get("kind"), said.get("category")]
    return any(isinstance(word, str) and word.lower() in _ERRORS for word in grave) or any(
        isinstance(word, str) and _of_security(word) for word in about
    )


def _of_security(name: str) -> bool:
    """Whether a name is `security`, or one of a part of it: `security.login`."""
    return name[:8].lower() == "security" and not name[8:9].isalnum()


def is_active(status: str) -> bool:
    """Whether a task in that state is still to be done."""
    return status.strip().lower() not in ENDED


def said(category: str, data: Any) -> str:
    """What an entry of that category says, in words: those of a message, a metric, a task; else its data as JSON."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        name, value, message = data.get("name"), data.get("value"), data.get("message")
        if category == "metric" and isinstance(name, str) and _is_number(value):
            return f"{name} = {value:,.10g} {data.get('unit') or ''}".rstrip()
        if isinstance(message, str) and message.strip():
            return message
        if category == "task" and "id" in data and "status" in data:
            description = data.get("description")
            told = f"{data['id']}: {data['status']}"
            return f"{told} · {description}" if isinstance(description, str) and description else told
    return json.dumps(data, ensure_ascii=False)


def records_of(entry: OperationalEntry) -> Iterator[tuple[str, dict[str, Any]]]:
    """The kinds and fields as which working memory keeps an entry. What the table of metrics has no room for is an
    event too."""
    data = entry.data
    told = {"source": entry.source, "timestamp": entry.at}
    if entry.category == "metric":
        yield "metric", {"name": data["name"], "value": data["value"], "unit": data.get("unit"), **told}
    if entry.category != "metric" or entry.critical or data.keys() - _MEASURED:
        yield "event", {"category": entry.category, "data": data, "critical": entry.critical, **told}


def name_of(category: str, data: Any) -> str:
    """Return what an entry is about: a metric, a task or a tool; empty for an event."""
    named = {"metric": "name", "task": "id", "tool_result": "tool"}.get(category)
    return str(data[named]) if named else ""


def agent_of(data: Any) -> str | None:
    """Return the agent whose state an event or a task tells; None where it tells none."""
    if isinstance(data, Mapping) and "state" in data:
        agent = data.get("agent")
        return agent if isinstance(agent, str) and agent else None
    return None


def description_of(data: Any) -> str:
    """Return what a task is about, by what was said of it; its id where nothing else was."""
    return text_in(data, "description") or text_in(data, "title") or text_in(data, "id")


def text_in(data: Any, name: str) -> str:
    """Return the text that an object has under a name; empty where there is none."""
    value = data.get(name) if isinstance(data, Mapping) else None
    return value if isinstance(value, str) else ""
