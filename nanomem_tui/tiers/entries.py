"""What happens now, one entry at a time: its categories, what each must say, and its line in a file.

Owns the form of an entry and the checks of it. Values only; must not know a file or a database.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import BadInput
from nanomem_tui.store.ledger import json_writer
from nanomem_tui.store.tier_kinds import ENDED
from nanomem_tui.store.tier_values import MAX_TEXT, checked_id
from nanomem_tui.text import one_line

CATEGORIES = ("metric", "event", "task", "tool_result")
MAX_SOURCE = 500
"""Characters of a source, and of the name of a metric."""
DEEPEST = 100
"""Lists and objects within each other."""
_ERRORS = frozenset({"error", "critical", "fatal"})
_TELLING = frozenset({"level", "severity", "type", "kind", "category"})
"""The names under which an entry says how grave it is, or what it is about."""
_MEASURED = frozenset({"name", "value", "unit"})
"""What the table of metrics has room for."""
_HEAD = re.compile(
    rb'\{"id":"([^"\\]+)","at":"([^"\\]+)","category":"(\w+)","source":("(?:[^"\\]|\\.)*"),"critical":(true|false|null),"data":'
)
_FLAGS = {False: "false", True: "true", None: "null"}
_CRITICAL = {flag: critical for critical, flag in _FLAGS.items()}
as_json = json_writer(finite=True)
quoted = json.encoder.encode_basestring
"""A text as JSON."""


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


class Kept(NamedTuple):
    """An entry as it is kept: `rank` (milliseconds) orders it and tells its age, `text` is its data as JSON, `segment`
    the file that has its line. `critical`: True where working memory has it, None where it still has to."""

    rank: int
    id: str
    at: str
    category: str
    source: str
    critical: bool | None
    text: str
    segment: Any = None

    @property
    def ms(self) -> int:
        """Its own time in milliseconds, which the clock may have set back."""
        return clock.ms_of(clock.parse(self.at) or clock.now())

    @property
    def when(self) -> tuple[int, str, str]:
        """What orders entries of several processes; those of one keep the order in which they came."""
        return self.rank, self.at, self.id

    def entry(self) -> OperationalEntry:
        """The entry with its data."""
        critical = self.critical is not False
        return OperationalEntry(self.id, self.at, self.category, self.source, json.loads(self.text), critical)

    def line(self) -> bytes:
        """One line: `{"c":"<crc32 of the body>","r":<body>}` and a newline, as in the ledger."""
        return line_of(self.id, self.at, self.category, self.source, self.critical, self.text)


def line_of(entry_id: str, at: str, category: str, source: str, critical: bool | None, text: str) -> bytes:
    """The line of an entry with these fields, `text` being its data as JSON."""
    told = f'"category":"{category}","source":{quoted(source)},"critical":{_FLAGS[critical]}'
    return signed(f'{{"id":"{entry_id}","at":"{at}",{told},"data":{text}}}'.encode())


def signed(body: bytes) -> bytes:
    """A body of JSON as a line with its checksum."""
    return b'{"c":"%08x","r":%b}\n' % (zlib.crc32(body), body)


def kept_of(body: bytes, segment: Any) -> tuple[Kept, Any] | None:
    """The entry in the body of a line, and its data; None where there is none. Its rank is its time."""
    head = _HEAD.match(body)
    if head is None:
        return None
    try:
        entry_id, at, category, source, critical = (part.decode() for part in head.groups())
        moment = clock.parse(at)
        text = body[head.end() : -1].decode()
        data = json.loads(text)
        source = json.loads(source)
        checked(category, data, source)
    except (ValueError, RecursionError, BadInput):
        return None
    if moment is None:
        return None
    return Kept(clock.ms_of(moment), entry_id, at, category, source, _CRITICAL[critical], text, segment), data


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
    if type(value) is float:
        return math.isfinite(value)
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:
        return False


def text_of(data: Any) -> str:
    """The data as JSON. Raises BadInput for what UTF-8 JSON cannot hold, and for too much."""
    try:
        text = as_json(data)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError):
        raise BadInput("the data is no JSON", "", "give UTF-8 text, finite numbers, lists and objects") from None
    if size > 2 * DEEPEST:
        if size > MAX_TEXT:
            raise BadInput(f"the data has {size:,} bytes", "", f"give at most {MAX_TEXT:,}")
        if text.count("{") + text.count("[") > DEEPEST and _deeper(data, DEEPEST):
            raise BadInput(f"the data is nested more than {DEEPEST} deep", "", "make it flatter")
    return text


def _deeper(value: Any, levels: int) -> bool:
    """Whether a value has more levels of lists and objects."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    return inside is not None and (levels == 0 or any(_deeper(one, levels - 1) for one in inside))


def is_critical(data: Any, source: str) -> bool:
    """Whether that is an error or an event of security, by what it says of itself."""
    if source[:1] in "sS" and _of_security(source):
        return True
    if not isinstance(data, dict) or _TELLING.isdisjoint(data):
        return False
    grave = [data.get("level"), data.get("severity")]
    about = [data.get("type"), data.get("kind"), data.get("category")]
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
