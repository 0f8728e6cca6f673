"""The encoding of a text file, as its byte order mark says: UTF-8 with or without one, UTF-16, UTF-32. Opens no file.

What is read has neither mark nor NUL bytes of an encoding in it; what is written has the encoding and the mark that the
file had.
"""

from __future__ import annotations

import codecs

UTF8 = "utf-8"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK_OF = {name: mark for mark, name in _MARKS}
MARK = "\ufeff"


def encoding_of(data: bytes | None) -> str:
    """The name of the encoding of a file that begins so; UTF-8 without a mark for what has none, and for no file."""
    return next((name for mark, name in _MARKS if data is not None and data.startswith(mark)), UTF8)


def is_wide(data: bytes) -> bool:
    """Whether a file is in UTF-16 or UTF-32."""
    return encoding_of(data) not in (UTF8, "utf-8-sig")


def decode(data: bytes, errors: str = "strict") -> str:
    """The text of a file without its mark. Raises UnicodeDecodeError, unless `errors` says otherwise."""
    name = encoding_of(data)
    mark = _MARK_OF.get(name, b"")
    return data[len(mark) :].decode(UTF8 if mark == codecs.BOM_UTF8 else name, errors)


def encode(text: str, name: str) -> bytes:
    """A text as the bytes of a file of that encoding, with its mark. Raises UnicodeEncodeError for a lone surrogate."""
    mark = _MARK_OF.get(name, b"")
    body = text.removeprefix(MARK) if mark else text
    return mark + body.encode(UTF8 if mark == codecs.BOM_UTF8 else name)


def plain(data: bytes) -> bytes:
    """A file in UTF-16 or UTF-32 as UTF-8 without a mark; any other as it is."""
    return decode(data, "replace").encode() if is_wide(data) else data
