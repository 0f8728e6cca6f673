"""A text, a value or a file without what is sought.

`in_value` and `in_bytes` go through JSON, lines of JSON with or without a checksum, session states (the log of the
turns of a session), and plain text, also in UTF-16; `unpacked` reads what is packed. Pure.
"""

from __future__ import annotations

import contextlib
import io
import json
import mmap
import os
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents.databases import open_read_only
from nanomem_tui.agents.jsonl import parse_jsonl
from nanomem_tui.agents.turn_log import TITLE, parse_wal
from nanomem_tui.core import files
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.purge.matchers import FEW, Found, Sought

GZIP, _ZLIB = b"\x1f\x8b", b"\x78"
OTHERS = (b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
"""How files begin that others pack, which are not looked into: zip, bzip2, xz, zstd, 7z, rar."""
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def unpacked(data: bytes) -> bytes | None:
    """What is packed in these bytes; None: nothing is, or not whole, or more than is held in memory."""
    if not data.startswith((GZIP, _ZLIB)):
        return None
    parts: list[bytes] = []
    size = 0
    while data.startswith((GZIP, _ZLIB)):  # gzip files one after another are one
        reader = zlib.decompressobj(47)
        try:
            parts.append(reader.decompress(data, files.MOST_OF_A_LOG - size + 1))
        except zlib.error:
            return None
        size += len(parts[-1])
        if not reader.eof or size > files.MOST_OF_A_LOG:
            return None
        data = reader.unused_data
    return b"".join(parts)


def utf16_encoding(data: bytes) -> str:
    """The encoding of a text in UTF-16, as its first bytes tell it; "" where it is none."""
    codec = _WIDE.get(data[:2], "")
    if codec:
        try:
            data.decode(codec, "surrogatepass")
        except UnicodeDecodeError:
            return ""
    return codec


def utf16_as_utf8(data: bytes) -> bytes:
    """A text in UTF-16 as UTF-8; other bytes as they are."""
    codec = utf16_encoding(data)
    return data.decode(codec, "surrogatepass").encode("utf-8", "surrogatepass") if codec else data


def restore_encoding(text: bytes, before: bytes) -> bytes:
    """What `plain` made, in the encoding that it had."""
    codec = utf16_encoding(before)
    return text.decode("utf-8", "surrogatepass").encode(codec, "surrogatepass") if codec else text


_BEGIN = TITLE.encode()


def is_session_state(data: bytes) -> bool:
    """Whether these are the bytes of a session state; a name does not tell, as a git history has none."""
    return data.removeprefix(b"\xef\xbb\xbf").startswith(_BEGIN)


def session_state_key(data: bytes) -> str:
    """The session that its header names; "" where that was cut off."""
    state = parse_wal(data, "")
    return "" if any(one.what.startswith("no session key") for one in state.problems) else state.session_key


def without_turns(data: bytes, sought: Sought, found: Found) -> bytes:
    """It without the turns that go, which are counted; the very same bytes where none does."""
    gone = turn_lines_gone(data, sought)
    if not gone:
        return data
    turns = [turn for turn in parse_wal(data, "").turns if turn.line in gone]
    found["turn"] += len(turns)
    return b"".join(line for number, line in enumerate(io.BytesIO(data), 1) if number not in gone)


def turn_lines_gone(data: bytes, sought: Sought) -> set[int]:
    """The numbers of the lines that go, from 1."""
    if not sought.whole or not is_session_state(data):
        return set()
    state = parse_wal(data, "")
    whole = sought.takes({"session_key": state.session_key})
    taken = [turn for turn in state.turns if whole or sought.takes(turn.pre)]
    if not taken:
        return set()
    lines = io.BytesIO(data).readlines()
    heads = {number for number, line in enumerate(lines, 1) if line.startswith(_BEGIN)}
    begins = sorted({turn.line for turn in state.turns} | {turn.line_post for turn in state.turns} | heads)
    ends = dict(zip(begins, [*begins[1:], len(lines) + 1], strict=True))
    blocks = {line for turn in taken for line in (turn.line, turn.line_post) if line}
    return {number for begin in blocks for number in range(begin, ends[begin])}


_ENVELOPE = re.compile(rb'\{"c":"([0-9a-f]{8})","r":(.*)\}', re.DOTALL)
_TELLING = re.compile(
    r"pass|pwd|pin|secret|token|key|auth|cred|cookie|card|cvv|cvc|otp|2fa|mfa|seed|phrase|recovery|backup|iban|ssn|"
    r"account|id|parol|heslo|salasana|"
    r"adgangskode|sandi|laluan|lozinka|senha|clave|kennwort|mdp|[^\x00-\x7f]",
    re.IGNORECASE,
)
"""Names of fields by which a value may be told to be a secret."""
OTHER_VALUES = ("earlier", "said")
"""The fields of a fact that hold values of it: those before, and the one that was said."""


def has_taken(value: Any, sought: Sought) -> bool:
    """Whether anything within a JSON value goes as a whole, by what it says of itself."""
    if isinstance(value, Mapping):
        return sought.takes(value) or any(has_taken(inner, sought) for inner in value.values())
    if not isinstance(value, (list, tuple)):
        return False
    return _is_of_taken(value, sought) or any(has_taken(inner, sought) for inner in value)


def without_origin(value: Any, sought: Sought, found: Found) -> Any:
    """What an operation says of itself, without the turn and the session that it was of."""
    if isinstance(value, Mapping):
        left: dict[str, Any] = {}
        for key, inner in value.items():
            if (isinstance(inner, str) and sought.drops(inner)) or sought.takes({key: inner}):
                found["session"] += 1
            else:
                left[key] = without_origin(inner, sought, found)
        return left
    if not isinstance(value, (list, tuple)):
        return value
    stay = [one for one in value if not (isinstance(one, str) and sought.drops(one))]
    found.update({"session": len(value) - len(stay)} if len(stay) < len(value) else {})
    return [without_origin(one, sought, found) for one in stay]


_ESCAPE = re.compile(r"(\\[nrt])")


def clean_fragment(text: str, sought: Sought, found: Found) -> str:
    """What may be a part of JSON without what is sought: no letter of an escape is one of the word behind it."""
    if "\\" not in text:
        return sought.clean(text, found)
    return "".join(part if _ESCAPE.fullmatch(part) else sought.clean(part, found) for part in _ESCAPE.split(text))


def in_value(value: Any, sought: Sought, found: Found, name: str = "") -> Any:
    """A JSON value without what is sought; the very same value where it holds none. A text beside its key is read
    with it, as a password is told by the word before it; a text that is JSON itself is gone through.

    `name`: the key of the fact that these are values of.
    """
    if isinstance(value, str):
        return _in_text(value, sought, found)
    if isinstance(value, Mapping):
        left = {key: inner for key, inner in value.items() if not sought.drops(key)}
        found.update({"session": len(value) - len(left)} if len(left) < len(value) else {})
        name = left["key"] if isinstance(left.get("key"), str) else name
        cleaned = {
            _in_text(key, sought, found): _in_field((key == "value" and name) or key, inner, sought, found, name)
            for key, inner in left.items()
        }
        return value if cleaned == value else cleaned
    if isinstance(value, (list, tuple)):
        stay = [inner for inner in value if not _is_of_taken(inner, sought)]
        found.update({"row": len(value) - len(stay)} if len(stay) < len(value) else {})
        listed = [in_value(inner, sought, found, name) for inner in stay]
        return value if listed == list(value) else listed
    return value


def _is_of_taken(value: Any, sought: Sought) -> bool:
    """Whether one of a list is, or changes, what goes as a whole; a change is a layer, a key, before and after, a turn
    that was recovered when it began, its words, whether it is done, and its id."""
    if isinstance(value, Mapping):
        return sought.takes(value) or any(
            isinstance(inner, Mapping) and sought.takes(inner) for inner in value.values()
        )
    if not isinstance(value, (list, tuple)) or len(value) != 4 or not all(isinstance(one, str) for one in value[:2]):
        return False
    if isinstance(value[3], str) and sought.takes({"turn": value[3]}):
        return True
    return any(sought.takes({"id": value[1], **(inner or {})}) for inner in value[2:] if isinstance(inner, Mapping))


def _in_field(key: str, value: Any, sought: Sought, found: Found, name: str) -> Any:
    if not isinstance(value, str):
        return in_value(value, sought, found, name if key in OTHER_VALUES else "")
    mine: Found = Counter()
    cleaned = _in_text(value, sought, mine)
    if cleaned == value and not sought.whole and _TELLING.search(key):
        begin = f"{key}: "
        beside = sought.clean(f"{begin}{value}", mine)
        cleaned = beside.removeprefix(begin) if beside.startswith(begin) else value
    if cleaned != value:
        found.update(mine)
    return cleaned


def _in_text(text: str, sought: Sought, found: Found) -> str:
    if text[:1] in "{[" and text[-1:] in "}]":
        try:
            value = files.loads(text)
        except ValueError:
            return sought.clean(text, found)
        cleaned = in_value(value, sought, found)
        return text if cleaned is value else _written(cleaned, text)
    return sought.clean(text, found)


def in_bytes(data: bytes, sought: Sought, found: Found, *, redact: bool = False) -> bytes:
    """A file without what is sought; the same bytes where it holds none. Bytes that are no text stay as they are.

    `redact`: a line that goes as a whole stays, without what it says.
    """
    if (utf8 := utf16_as_utf8(data)) is not data:
        wide = in_bytes(utf8, sought, found, redact=redact)
        return data if wide == utf8 else restore_encoding(wide, data)
    data = without_turns(data, sought, found)
    if b"\0" in data:
        sought = sought.in_binary()
    text = data.decode("utf-8", "surrogateescape")
    begin = text.lstrip("\ufeff \t\r\n")[:1]
    if begin in ("{", "["):
        whole = _purged_json(text, sought, found)
        cleaned = whole if whole is not None else _lines(text, sought, found, redact=redact)
    else:
        cleaned = sought.clean_lines(text, found)
    return data if cleaned == text else cleaned.encode("utf-8", "surrogateescape")


def _purged_json(text: str, sought: Sought, found: Found) -> str | None:
    """A file that is one JSON value, in the form that it has; None: it is none."""
    if "\n{" in text or _ENVELOPE.fullmatch(text.strip().encode("utf-8", "surrogateescape")):
        return None
    try:
        value = files.loads(text.lstrip("\ufeff"))
    except ValueError:
        return None
    if isinstance(value, dict) and "\n" not in text.strip() and not text.startswith("\ufeff"):
        return None  # a log of one line
    cleaned = in_value(value, sought, found)
    if cleaned is value:
        return text
    indent = re.match(r"\s*[{\[]\n( +)", text)
    end = "\n" if text.endswith("\n") else ""
    return _written(cleaned, text, len(indent[1]) if indent else None) + end


def _lines(text: str, sought: Sought, found: Found, *, redact: bool) -> str:
    cleaned = (_line(line, sought, found, redact=redact) for line in text.split("\n"))
    return "\n".join(line for line in cleaned if line is not None)


class Line(NamedTuple):
    """A line that holds it: its number, the first is 1, and what it says (untrusted)."""

    number: int
    said: str


def lines_in(data: bytes, sought: Sought, also: AbstractSet[int] = frozenset()) -> Iterator[Line]:
    """The lines of a file that hold it, and those of the numbers `also`."""
    data = utf16_as_utf8(data)
    gone = also | turn_lines_gone(data, sought)
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), 1):
        mine: Found = Counter()
        _line(line, sought, mine, redact=False)
        if mine or (number in gone and line.strip()):
            yield Line(number, _saying(line))


_TOLD = ("id", "text", "content", "trigger", "better_action", "message")


def _saying(line: str) -> str:
    try:
        value = files.loads(line)
    except ValueError:
        return line
    if isinstance(value, dict) and set(value) == {"c", "r"}:
        value = value["r"]
    told = [value[name] for name in _TOLD if isinstance(value.get(name), str)] if isinstance(value, dict) else []
    return ": ".join(told) or line


def _line(line: str, sought: Sought, found: Found, *, redact: bool) -> str | None:
    """One line of JSON without what is sought, with a checksum that fits; None: it goes as a whole."""
    sealed = _ENVELOPE.fullmatch(line.encode("utf-8", "surrogateescape")) if line.startswith('{"c":"') else None
    body = sealed[2].decode("utf-8", "surrogateescape") if sealed else line
    try:
        value = files.loads(body)
    except ValueError:
        objects = parse_jsonl(line.encode("utf-8", "surrogateescape"), "")  # and what is none between them
        parts = [one.raw.decode("utf-8", "surrogateescape") for one in objects]
        if len(parts) > 1:
            each = [_line(part, sought, found, redact=redact) for part in parts]
            left = [part for part in each if part is not None]
            return line if each == parts else "".join(left) if left else None
        if line[:1] == "{" and sought.takes(dict(_FIELD.findall(line))):
            found["line"] += 1
            return FORGOTTEN if redact else None
        return clean_fragment(line, sought, found) if line else line
    if isinstance(value, dict):
        sought = sought.of_line(value)
    if isinstance(value, dict) and sought.takes(value) and not (redact and value.get("content") == FORGOTTEN):
        found["line"] += 1
        if not redact:
            return None
        told = {name: value[name] for name in ("role", "timestamp", "sender_id", "tool_call_id") if name in value}
        cleaned: Any = {**told, "content": FORGOTTEN}
    else:
        cleaned = in_value(value, sought, found)
        if isinstance(cleaned, dict) and "changes" in cleaned and isinstance(cleaned.get("meta"), dict):
            meta = without_origin(cleaned["meta"], sought, found)  # a line of the ledger is an operation
            cleaned = cleaned if meta == cleaned["meta"] else {**cleaned, "meta": meta}
    if cleaned is value:
        return line
    again = _written(cleaned, body)
    if not sealed:
        return again + ("\r" if line.endswith("\r") else "")
    raw = again.encode("utf-8", "surrogatepass")
    return f'{{"c":"{zlib.crc32(raw):08x}","r":{raw.decode("utf-8", "surrogateescape")}}}'


_FIELD = re.compile(r'"(\w+)" ?: ?"((?:[^"\\]|\\.)*)"')
"""What a line that was torn says of itself: the texts in it that stand beside their names."""


def _written(value: Any, before: str, indent: int | None = None) -> str:
    """A value as JSON in the form that `before` has. What no UTF-8 holds is written as an escape."""
    tight = '": ' not in before and indent is None
    separators = (",", ":") if tight else (",", ": ") if indent is not None else (", ", ": ")
    written = json.dumps(value, ensure_ascii=before.isascii(), indent=indent, separators=separators)
    return re.sub("[\ud800-\udbff]|[\udc00-\udc7f]|[\udd00-\udfff]", lambda one: f"\\u{ord(one[0]):04x}", written)


# -- What the rows of any database hold, of ours in a backup or of another system, and what the bytes of a file hold
# that is no text. Changes nothing.

_INDEX = re.compile(r"_(?:fts|words)_(?:data|idx|content|docsize|config)$")
DERIVED = frozenset({"content_norm", "content_hash", "row_hash"})
"""Tables and columns that are made of others, which are looked through."""


def look_in_database(path: Path, sought: Sought, found: Found) -> None:
    """What the text columns of any database hold, and what is packed in others. Changes nothing."""
    try:
        with open_read_only(path) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
            tables = [name for (name,) in connection.execute(query) if not _INDEX.search(name)]
            for table in tables:
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")]
                names = [name for name in columns if name not in DERIVED]
                wanted = ", ".join(map(_quoted, names))
                for row in connection.execute(f"SELECT {wanted} FROM {_quoted(table)}"):
                    cleaned_row(dict(zip(names, row, strict=True)), sought, found)
    except (sqlite3.Error, NanomemError, UnicodeDecodeError):
        data = files.read(path, files.MOST_OF_A_LOG)
        sought.in_binary().clean(data.decode("utf-8", "replace"), found)


def cleaned_row(row: Mapping[str, Any], sought: Sought, found: Found) -> Mapping[str, Any] | None:
    """A row of a table without what is sought, the very same where it holds none; None: it goes as a whole."""
    mine: Found = Counter({"row": 1} if _is_taken(row, sought) else {})
    left = dict(row)
    for name, value in row.items():
        text = _unpacked(value) if isinstance(value, bytes) else value
        if isinstance(text, str) and (clean := in_value(text, sought, mine)) != text:
            left[name] = clean
    found.update(mine)
    return row if not mine else None if sought.whole else left


def in_database_bytes(data: bytes, sought: Sought) -> Found:
    """What the rows of a database hold that is given as bytes."""
    import tempfile

    found: Found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        copy.write_bytes(data)
        look_in_database(copy, sought, found)
    return found


def _unpacked(value: bytes) -> str | None:
    data = unpacked(value)
    return None if data is None else data.decode("utf-8", "replace")


def _is_taken(row: Mapping[str, Any], sought: Sought) -> bool:
    """Whether a row goes by what it says of itself, or holds in JSON what does."""
    if not sought.whole:
        return False
    if sought.takes(row):
        return True
    for text in row.values():
        if isinstance(text, str) and text[:1] in ("{", "["):
            with contextlib.suppress(ValueError, RecursionError):
                if has_taken(files.loads(text), sought):
                    return True
    return False


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
LEAST = 6
"""Bytes that do not stand in a picture by chance."""
SQLITE = b"SQLite format 3\0"


def times_in_bytes(path: Path, sought: Sought) -> int:
    """How many of the longest texts a file that is no text holds, however large it is, in any of the encodings that
    programs write; of short ones there is no telling, as they stand in any picture."""
    with files.opened(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return sum(any(data.find(form) >= 0 for form in _encoded(text)) for text in sought.texts[:FEW])


def times_freed(path: Path, sought: Sought) -> int:
    """How many of them a database may hold in pages that were freed, where rows lie that were deleted; in one without
    such pages there are none, and what is in it is a word of an index."""
    with open_read_only(path) as connection:
        (freed,) = connection.execute("PRAGMA freelist_count").fetchone()
    return times_in_bytes(path, sought) if freed else 0


def _encoded(text: str) -> set[bytes]:
    forms = {form.encode(encoding, "surrogatepass") for form in (text, text.lower()) for encoding in ENCODINGS}
    return {form for form in forms if len(form) >= LEAST}
