"""JSON lines, read one by one, so that damage costs the line it sits in and nothing else. Opens no file.

Lines end at LF alone: U+2028, U+2029 and U+0085 occur raw inside the strings that agents write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from nanomem_tui.errors import BadInput, Problem

BOM = b"\xef\xbb\xbf"
_WHITE = b" \t\r\f\v"
LINE_STAYS = "the line is kept as it is; correct or remove it in an editor while no agent runs"
TAKEN_OUT = (
    "`nanomem doctor --fix` takes the line out while no agent runs, and keeps the file as it is in the quarantine; or"
    " correct it in an editor"
)


class Record(NamedTuple):
    """One line: its number from 1, its bytes without the newline, and its object or None.

    A problem beside a value is a warning: the line was read, and something about it wants attention.
    """

    number: int
    raw: bytes
    value: dict[str, Any] | None
    problem: Problem | None


def parse_jsonl(data: bytes, where: str) -> tuple[Record, ...]:
    """Every line of `data` that is not blank, readable or not; `where` names the file in problems. Never raises."""
    return tuple(records(data, where))


def records(data: bytes, where: str) -> Iterator[Record]:
    """The lines of `parse_jsonl` one by one, for a reader that makes its own values of them."""
    lines = data.split(b"\n")
    tail = lines.pop()
    for number, raw in enumerate(lines, 1):
        if raw.strip(_WHITE):
            yield _record(number, raw, where)
    if tail.strip(_WHITE):
        yield _tail(len(lines) + 1, tail, where)


def parse_object(raw: bytes) -> dict[str, Any]:
    """The object in one line. Raises ValueError with the reason as its text."""
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{raw[error.start]:02X} at column {error.start + 1} is not UTF-8") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON at column {error.pos + 1}: {error.msg}") from None
    if not isinstance(value, dict):
        raise ValueError(f"not an object but {_kind(value)}")  # noqa: TRY004 - one kind of error for every bad line
    return value


def dump_line(value: Mapping[str, Any]) -> bytes:
    """`value` as one line with its newline, as agents write it. Raises BadInput when it is no UTF-8 text or no JSON."""
    try:
        return json.dumps(value, ensure_ascii=False).encode("utf-8") + b"\n"
    except UnicodeEncodeError as error:
        what, fix = "text with a lone surrogate cannot be written as UTF-8", "remove the half of a character it holds"
        raise BadInput(what, f"character {error.start}", fix) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput("a value that JSON cannot hold", str(error)) from None


def dump_line_as_read(value: Mapping[str, Any]) -> bytes:
    """Like `dump_line`, for what an agent wrote: a lone surrogate stays the escape it was, so nothing is lost."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def torn_tail(data: bytes) -> bytes:
    """What an interrupted append left: the last line when it has no newline and does not parse, else nothing."""
    if data.endswith(b"\n"):
        return b""
    tail = data[data.rfind(b"\n") + 1 :]
    if not tail.strip(_WHITE):
        return b""
    try:
        parse_object(tail)
    except ValueError:
        return tail
    return b""


def _record(number: int, raw: bytes, where: str) -> Record:
    try:
        value = parse_object(raw)
    except ValueError as error:
        return _repaired(number, raw, where, str(error))
    problem = None
    if number == 1 and raw.endswith(b"\r"):
        problem = Problem("lines end in CRLF", where, number, severity="warning")
    return Record(number, raw, value, problem)


def _repaired(number: int, raw: bytes, where: str, reason: str) -> Record:
    """The line read without what a power cut or an editor put around it, else the line as unreadable."""
    inner, what = raw, reason
    if number == 1 and raw.startswith(BOM):
        inner, what = raw[len(BOM) :], "begins with a byte order mark"
    if b"\0" in inner:
        inner, what = inner.strip(b"\0"), f"{inner.count(0)} NUL bytes, as a power cut leaves them"
        if not inner.strip(_WHITE):
            return Record(number, raw, None, Problem(what, where, number, LINE_STAYS))
    if inner is not raw:
        try:
            return Record(number, raw, parse_object(inner), Problem(what, where, number, severity="warning"))
        except ValueError as error:
            what = f"{what}; {error}"
    return Record(number, raw, None, Problem(what, where, number, LINE_STAYS))


def _tail(number: int, raw: bytes, where: str) -> Record:
    record = _record(number, raw, where)
    if record.value is None:
        reason = record.problem.what if record.problem else ""
        return record._replace(problem=Problem(f"torn tail, {len(raw)} bytes: {reason}", where, number, LINE_STAYS))
    what = "no newline at the end: an append would be glued to this line"
    return record._replace(problem=record.problem or Problem(what, where, number, severity="warning"))


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def mendable(problems: Iterable[Problem], fix: str = TAKEN_OUT) -> list[Problem]:
    """The same of a file that the doctor mends, which says so, in the words of `fix`."""
    return [one._replace(fix=fix) if one.fix == LINE_STAYS else one for one in problems]
