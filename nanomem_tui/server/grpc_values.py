"""Records as messages of the gRPC service, and back: JSON as bytes, times as seconds since 1970.

Owns that border, for the service and for its client. Must not know a connection or a workspace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import one_line
from nanomem_tui.server import memory_pb2 as pb
from nanomem_tui.store.work.kinds import KINDS, RECORD_KINDS, Kind
from nanomem_tui.tiers.operational import CATEGORIES

_NAMES = {"tool-call": "ToolCallRecord"}
MESSAGES: Mapping[str, Any] = {
    name: getattr(pb, _NAMES.get(name) or name.title().replace("-", "")) for name in RECORD_KINDS
}
"""The message of each kind of record."""
OURS = 20
"""From this number on the fields of a message are ours: another client does not know them, and clears none of them."""
RECENT, PAGE, FOUND, TOKENS = 100, 50, 5, 4_000
"""How many entries, records and hits, and how many tokens of context, where a client does not say."""
_COUNTED = frozenset({"avg_duration_ms", "last_used"})
"""What is counted of a procedure or a pattern beside what each must have: who stores its words anew clears no count."""


class _Member(NamedTuple):
    """A field of a kind and the field of its message. `keeps`: one that was not given leaves what is there."""

    name: str
    attribute: str
    type: str
    optional: bool
    keeps: bool


def _members(kind: Kind) -> tuple[_Member, ...]:
    found = []
    for message_field in MESSAGES[kind.name].DESCRIPTOR.fields:
        field = kind.field(message_field.name.removesuffix("_json"))
        if field is not None:
            type_ = "list" if field.type == "json" and not message_field.name.endswith("_json") else field.type
            keeps = message_field.number >= OURS or field.required or field.name in _COUNTED
            found.append(_Member(field.name, message_field.name, type_, message_field.has_presence, keeps))
    return tuple(found)


_MEMBERS = {name: _members(KINDS[name]) for name in RECORD_KINDS}


def fields_of(kind: str, message: Any) -> dict[str, Any]:
    """The fields of the record in a message. Raises BadInput for what is no JSON or no time."""
    fields: dict[str, Any] = {}
    for member in _MEMBERS[kind]:
        value = getattr(message, member.attribute)
        if member.optional and not message.HasField(member.attribute):
            value = None
        elif member.type == "json":
            value = from_json(value, member.attribute)
        elif member.type == "time":
            value = iso(value, member.attribute)
        elif member.type == "list":
            value = list(value) or None
        elif value == "":
            value = None
        if value is not None or not member.keeps:
            fields[member.name] = value
    if kind == "pattern" and fields.get("uses") and "success_rate" not in fields:
        fields["success_rate"] = 0.0  # a client of aiOS, which tells the uses of a pattern, does not send a 0
    return fields


def message_of(kind: str, record_id: str, fields: Mapping[str, Any]) -> Any:
    """The message of a record. Raises BadInput for a field that the message does not have, and what cannot be sent."""
    values: dict[str, Any] = {}
    given = {name: value for name, value in fields.items() if value is not None}
    for member in _MEMBERS[kind]:
        value = given.pop(member.name, None)
        if value is None:
            continue
        if member.type == "json":
            value = to_json(value, member.name)
        elif member.type == "time":
            value = seconds(value, member.name)
        values[member.attribute] = value
    if given:
        names = ", ".join(member.name for member in _MEMBERS[kind])
        raise BadInput(f"a {kind} has no field `{one_line(min(given), 40)}`", "", f"its fields: {names}")
    if record_id and kind != "agent-state":
        values["id"] = record_id
    try:
        return MESSAGES[kind](**values)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"that cannot be sent as a {kind}", why(error)) from error


def values_of(kind: str, message: Any) -> dict[str, Any]:
    """The record in a message as a client gets it: its id and its fields, absent ones None."""
    fields: dict[str, Any] = {"id": message.id} if kind != "agent-state" else {}
    return {**fields, **dict.fromkeys((member.name for member in _MEMBERS[kind]), None), **fields_of(kind, message)}


def from_json(data: bytes, name: str) -> Any:
    """The JSON value in a field; None where it is empty. Raises BadInput."""
    if not data:
        return None
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        raise BadInput(f"{name} is nested too deeply", "", "give flatter JSON") from None
    except ValueError as error:
        raise BadInput(f"{name} is no JSON", why(error), "give UTF-8 JSON, one value") from None


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def to_json(value: Any, name: str) -> bytes:
    """A value as UTF-8 JSON without spacing. Raises BadInput for what is none."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"{name} cannot be written as JSON", why(error)) from None


def why(error: Exception) -> str:
    """What is wrong with a value that cannot be read or sent, in words."""
    said = str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeError):
        return "a text in it is no UTF-8"
    if isinstance(error, OverflowError) or "integer string conversion" in said:
        return "a number in it is too large"
    return one_line(said, 120)


def iso(moment: int, name: str) -> str | None:
    """Seconds since 1970 as the time of a record; None for 0, which stands for none. Raises BadInput."""
    if not moment:
        return None
    try:
        return clock.iso(datetime.fromtimestamp(moment, UTC))
    except (ValueError, OverflowError, OSError):
        raise BadInput(f"{name} is no time", str(moment), "give seconds since 1970, no milliseconds") from None


def seconds(value: Any, name: str) -> int:
    """A time as seconds since 1970: of a number of them, a datetime, or ISO text; 0 for None. Raises BadInput."""
    if value is None:
        return 0
    if isinstance(value, (int, float)) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return int(value)
    moment = value if isinstance(value, datetime) else clock.parse(value)
    if moment is None:
        raise BadInput(
            f"{name} is no time", one_line(str(value), 40), "give a datetime, ISO text, or seconds since 1970"
        )
    return int(moment.timestamp() // 1)


def seconds_of(text: str | None) -> int:
    """The time of a record as seconds since 1970; 0 where it has none."""
    moment = clock.parse(text)
    return int(moment.timestamp() // 1) if moment is not None else 0


def where_of(kind: Kind, where: Mapping[str, str]) -> dict[str, Any]:
    """What a query compares, in the types of the fields; an empty text stands for no value. Raises BadInput."""
    found: dict[str, Any] = {}
    for name, text in where.items():
        field = kind.field(name)
        if field is None:
            names = ", ".join(one.name for one in kind.fields if one.type != "json")
            raise BadInput(f"a {kind.name} has no field `{one_line(name, 40)}`", "where", f"one of {names}")
        if not text:
            found[name] = None
            continue
        try:
            found[name] = _READ[field.type](text)
        except (ValueError, KeyError):
            raise BadInput(f"{name} cannot be {one_line(text, 40)}", "where", _WANTED.get(field.type, "")) from None
    return found


_READ: Mapping[str, Any] = {
    "text": str, "json": str, "time": str, "int": int, "real": float, "bool": {"true": True, "false": False}.__getitem__
}  # fmt: skip
_WANTED = {"int": "give a whole number", "real": "give a number", "bool": "give true or false"}


def told(category: str, data: Any) -> tuple[str, Any]:
    """Category and data of an entry as they are kept. Agents of the real system name categories of their own, such as
    `security.scan_complete`: those are events of that type."""
    if category in CATEGORIES:
        return category, data
    if isinstance(data, dict) and "type" not in data:
        return "event", {"type": category, **data}
    return "event", {"type": category, "data": data}
