"""A session state without the turns that go: what a person said there goes with the answer to it, and with whatever
else the two blocks of the turn hold, as an answer says again what was asked. Pure."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from nanomem_tui.formats.wal_state import TITLE, parse_wal

if TYPE_CHECKING:
    from nanomem_tui.purge.texts import Found, Sought

_BEGIN = TITLE.encode()


def is_one(data: bytes) -> bool:
    """Whether these are the bytes of a session state; a name does not tell, as a git history has none."""
    return data.removeprefix(b"\xef\xbb\xbf").startswith(_BEGIN)


def key_of(data: bytes) -> str:
    """The session that its header names; "" where that was cut off."""
    state = parse_wal(data, "")
    return "" if any(one.what.startswith("no session key") for one in state.problems) else state.session_key


def without(data: bytes, sought: Sought, found: Found) -> bytes:
    """It without the turns that go, which are counted; the very same bytes where none does."""
    gone = lines_gone(data, sought)
    if not gone:
        return data
    turns = [turn for turn in parse_wal(data, "").turns if turn.line in gone]
    found["turn"] += len(turns)
    return b"".join(line for number, line in enumerate(io.BytesIO(data), 1) if number not in gone)


def lines_gone(data: bytes, sought: Sought) -> set[int]:
    """The numbers of the lines that go, from 1."""
    if not sought.whole or not is_one(data):
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
