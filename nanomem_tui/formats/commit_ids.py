"""Commit ids as older agents printed them. Knows no repository."""

from __future__ import annotations


def decode_short_id(text: str) -> str:
    """The hex digits meant by a short commit id.

    Releases up to 0.3.0 printed the hex of the hex digits: `33353532` is ASCII `3552`, so four digits of the id.
    An id that is not of that form is returned as it is, lower case. One real id in 65,536 looks like the old form:
    look for a commit of the text itself first.
    """
    plain = text.strip().lower()
    try:
        inner = bytes.fromhex(plain).decode("ascii")
    except ValueError:
        return plain
    if len(plain) == 8 and all(digit in "0123456789abcdef" for digit in inner):
        return inner
    return plain
