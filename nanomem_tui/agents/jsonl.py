"""JSON lines, read one by one, so that damage costs the line it sits in and nothing else. Opens no file.

Lines end at LF alone: U+2028, U+2029 and U+0085 occur raw inside the strings that agents write. A line into which two
appends ran, or that begins torn, is as many records as it has whole objects, and one for each piece that is none.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.core.errors import BadInput, Problem

BOM = b"\xef\xbb\xbf"
_WHITE = b" \t\r\f\v"
_LIST = b"[, \t]"
"""What a list has between its objects and around them."""
_OBJECT = re.compile(r'\{\s*"')
_HEAD = re.compile(r'\{\s*"[^"\\]*"')
_BETWEEN = re.compile(r"[\s\0\ufeff]*")
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_DECODER = json.JSONDecoder()
_MOST_TRIES = 200
"""Places of one line at which an object is looked for behind what cannot be read."""
LINE_STAYS = "the line is kept as it is; correct or remove it in an editor while no agent runs"
SHARED_LINE = "it is read here, and agents skip the line; put each object on a line of its own while no agent runs"
SPLIT = "it is read here, and agents skip the line; `nanomem doctor --fix` puts each object on a line of its own"
TAKEN_OUT = (
    "`nanomem doctor --fix` takes the line out while no agent runs, and keeps the file as it is in the quarantine; or"
    " correct it in an editor"
)


class Record(NamedTuple):
    """One object, or one stretch of bytes that is none: its line from 1, its bytes without the newline, its value or
    None. Most lines are one record; of one that is several, `start` is the byte in the line where this one begins.

    A problem beside a value is a warning: the line was read, and something about it wants attention.
    """

    number: int
    raw: bytes
    value: dict[str, Any] | None
    problem: Problem | None
    start: int = 0


def parse_jsonl(data: bytes, where: str) -> tuple[Record, ...]:
    """Every line of `data` that is not blank, readable or not; `where` names the file in problems. Never raises."""
    return tuple(records(data, where))


def records(data: bytes, where: str) -> Iterator[Record]:
    """The lines of `parse_jsonl` one by one, for a reader that makes its own values of them."""
    lines = data.split(b"\n")
    tail = lines.pop()
    for number, raw in enumerate(lines, 1):
        if raw.strip(_WHITE):
            yield from _records(number, raw, where)
    if tail.strip(_WHITE):
        yield from _tail(len(lines) + 1, tail, where)


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
    """What an interrupted append left: what does not parse at the end of a last line without newline, else nothing."""
    if data.endswith(b"\n"):
        return b""
    tail = data[data.rfind(b"\n") + 1 :]
    found = list(_records(1, tail, "")) if tail.strip(_WHITE) else []
    return tail[found[-1].start :] if found and found[-1].value is None else b""


def count_shared_lines(records: Iterable[Record]) -> int:
    """How many lines hold several objects."""
    found = Counter(record.number for record in records if record.value is not None)
    return sum(count > 1 for count in found.values())


def _records(number: int, raw: bytes, where: str) -> Iterator[Record]:
    try:
        value = parse_object(raw)
    except ValueError as error:
        yield from _repaired(number, raw, where, str(error))
        return
    problem = None
    if number == 1 and raw.endswith(b"\r"):
        problem = Problem("lines end in CRLF", where, number, severity="warning")
    yield Record(number, raw, value, problem)


def _repaired(number: int, raw: bytes, where: str, reason: str) -> Iterator[Record]:
    """The line read without what a power cut or an editor put around it, else what can be read of it."""
    inner, what = raw, reason
    if raw.startswith(BOM):
        inner, what = raw[len(BOM) :], "begins with a byte order mark"
    if b"\0" in inner:
        inner, what = inner.replace(b"\0", b""), f"{inner.count(0)} NUL bytes, as a power cut leaves them"
        if not inner.strip(_WHITE):
            yield Record(number, raw, None, Problem(what, where, number, LINE_STAYS))
            return
    if inner is not raw:
        try:
            yield Record(number, raw, parse_object(inner), Problem(what, where, number, severity="warning"))
        except ValueError as error:
            what = f"{what}; {error}"
        else:
            return
    found = list(_objects(raw))
    if not found:
        yield Record(number, raw, None, Problem(what, where, number, LINE_STAYS))
        return
    yield from _parted(number, raw, where, found)


def _parted(number: int, raw: bytes, where: str, found: list[tuple[int, int, dict[str, Any]]]) -> Iterator[Record]:
    """The records of a line with these objects; the first of them has the warning that agents skip such a line."""
    what = f"{len(found)} objects on one line" if len(found) > 1 else "an object on one line with what is none"
    shared: Problem | None = Problem(what, where, number, SHARED_LINE, "warning")
    at = 0
    for start, end, value in [*found, (len(raw), len(raw), None)]:
        rest = raw[at:start].strip(_WHITE + b"\0").removeprefix(BOM)
        rest = rest if rest.strip(_LIST) else b""
        if rest:
            begin = raw.index(rest, at)
            what = f"{len(rest)} bytes that are no object, at column {begin + 1}"
            yield Record(number, rest, None, Problem(what, where, number, LINE_STAYS), begin)
        if value is not None:
            yield Record(number, raw[start:end], value, shared, start)
            shared = None
        at = end


def _objects(raw: bytes) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The whole objects in a line: the bytes between which each lies, and its value.

    What an object holds is none of them: behind what cannot be read, one counts where the reading of that failed, or
    where it begins as that did, and only if nothing but objects follow it to the end of the line.
    """
    text = raw.decode("utf-8", "surrogateescape")
    at = size = 0
    for start, end, value in _found(text):
        size += len(text[at:start].encode("utf-8", "surrogateescape"))
        begin, size = size, size + len(text[start:end].encode("utf-8", "surrogateescape"))
        yield begin, size, value
        at = end


def _found(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    at, tries = (text.index("[") + 1 if _is_list(text) else 0), _MOST_TRIES
    while (at := _skipped(text, at)) < len(text) and tries:
        value, end = _object_at(text, at)
        if value is not None:
            yield at, end, value
            after = _skipped(text, end)
            at = after + text.startswith(",", after)
            continue
        head = _HEAD.match(text, at)
        for place in _places(text, at, end, head[0] if head else None):
            tries -= 1
            if _is_last(text, place) or not tries:
                break
        else:
            return
        at = place


def _is_list(text: str) -> bool:
    """Whether a line is a list of nothing but objects."""
    if text.lstrip()[:1] != "[" or text.rstrip()[-1:] != "]":
        return False
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(values) and all(isinstance(value, dict) and value for value in values)


def _skipped(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def _places(text: str, start: int, failed: int, head: str | None) -> Iterator[int]:
    """Where an object may begin behind `start`, at which none does: where reading that `failed`, and where `head`, the
    first words of it, comes again."""
    if head is not None:
        again = text.find(head, start + 1)
        while 0 <= again < failed - 2:
            yield again
            again = text.find(head, again + 1)
    for match in _OBJECT.finditer(text, max(start + 1, failed - 2)):
        yield match.start()


def _is_last(text: str, at: int) -> bool:
    """Whether a whole object begins there, behind which come others or the end of the line."""
    value, end = _object_at(text, at)
    after = _skipped(text, end)
    return value is not None and text[after : after + 1] in ("", "{")


def _object_at(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins there and its end, else None and where the reading failed."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return None, error.pos
    except (ValueError, RecursionError):  # a number too long, brackets too deep
        return None, at + 1
    if not isinstance(value, dict) or not value or _BAD_BYTE.search(text, at, end):
        return None, end if isinstance(value, dict) else at + 1
    return value, end


def _tail(number: int, raw: bytes, where: str) -> Iterator[Record]:
    *before, last = _records(number, raw, where)
    yield from before
    if last.value is None:
        reason = last.problem.what if last.problem else ""
        what = f"torn tail, {len(last.raw)} bytes: {reason}"
        yield last._replace(problem=Problem(what, where, number, LINE_STAYS))
        return
    what = "no newline at the end: an append would be glued to this line"
    yield last._replace(problem=last.problem or Problem(what, where, number, severity="warning"))


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def repairable(problems: Iterable[Problem], fix: str = TAKEN_OUT) -> list[Problem]:
    """The same of a file that the doctor mends, which says so; of a line that is taken out in the words of `fix`."""
    fixes = {LINE_STAYS: fix, SHARED_LINE: SPLIT}
    return [one._replace(fix=fixes.get(one.fix, one.fix)) for one in problems]


# Keeping what was read: an object as it was, with only the changed fields replaced. Values in, values out.

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No keys: the default of a value's mappings, which nobody can write into."""


def merge_fields(
    origin: Mapping[str, Any], known: Mapping[str, Any], as_read: Mapping[str, Any], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """`origin` with the fields of `known` that differ from `as_read` replaced, in its own order, unknown keys kept.

    `as_read` holds the known fields as they were read from `origin`: a field that is absent there and still has that
    value stays absent, and one of a strange type stays as it is until somebody changes it. `extra`: the unknown keys.
    """
    result: dict[str, Any] = {}
    for key, value in origin.items():
        if key in known:
            result[key] = value if known[key] == as_read[key] else known[key]
        elif key in extra:
            result[key] = extra[key]
    for key, value in known.items():
        if key not in result and (not origin or value != as_read[key]):
            result[key] = value
    result.update((key, value) for key, value in extra.items() if key not in result)
    return result


def unknown_keys(origin: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The keys of `origin` that are not in `known`, in their order."""
    return {} if origin.keys() <= known else {key: value for key, value in origin.items() if key not in known}


def text_of(value: object, default: str = "") -> str:
    """`value` when it is text, else `default`."""
    return value if isinstance(value, str) else default


def whole_number(value: object, default: int = 0) -> int:
    """`value` as a whole number; `default` for a truth value, a text or a fraction."""
    if isinstance(value, bool):
        return default
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else default
