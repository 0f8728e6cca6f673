"""Counting the messages of a long transcript without reading them out. Opens no file."""

from __future__ import annotations

_BEGIN = b'{"role": "'
"""What a message begins with as agents write it; in what it says, quotation marks are escaped."""


def plain_messages(data: bytes) -> int | None:
    """How many messages whole lines hold that all have the form in which agents write one, and are not read out; None
    where one has not, or may be about the session.

    A line that another is glued to, one with NUL bytes or with what is no UTF-8 has not. Damage between two quotation
    marks is not seen.
    """
    if not data.startswith(_BEGIN) or not data.endswith(b"}\n"):
        return None
    lines = data.count(b"\n")
    if not lines == data.count(b"}\n" + _BEGIN) + 1 == data.count(_BEGIN):
        return None
    if b'"_type"' in data or b'{"role": ""' in data or b"\0" in data:
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return lines
