"""The fields of a request as JSON gives them: each read and checked, and those that nobody knows named.

Owns what a field may be, and what becomes of one that is misspelt. Pure; must not know what a turn is.

An unknown field is told and left out. One that is a known field in other letters (`senderId`), or that is near the name
of one that says whose a memory is, is refused: what it was to say would be missing, and the memory saved for somebody
else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import is_utf8
from nanomem_tui.language import secrets

MAX_TEXT = 500_000
"""Characters of a message, a reply or an answer that are read; the rest is cut off, and the turn says so."""
MAX_TOLD = 5
"""Unknown fields that are told one by one."""
WHOSE = ("session_key", "channel", "chat_id", "sender_id")
"""The fields that say whose a memory is."""
IDS = frozenset({*WHOSE, "message_id", "participant"})
"""The fields that may be numbers; words never are."""
OTHER_NAMES = {"userid": "sender_id", "sender": "sender_id", "fromid": "sender_id", "conversationid": "chat_id"}
"""What other programs call a field that says whose a memory is."""
_TITLE = re.compile(r"\s\S")
"""What the title of a chat or a name has and an id has not: only there may somebody have written a secret."""
NEAR = 0.8
"""How alike two names are, of 1, that one may be a slip of the other."""
SHOWN = 40


def unknown(body: Mapping[str, Any], known: Collection[str], where: str = "", *, strict: bool = True) -> list[str]:
    """What to tell about the fields of `body` that nobody knows. Raises BadInput for one that must not be overlooked
    (`strict`)."""
    told = []
    for name in (name for name in body if name not in known):
        nearest, certain = _nearest(name, known)
        shown, meant = f"{where}{name[:SHOWN]}", f"`{nearest}` is meant" if nearest else ""
        if strict and nearest and (certain or nearest in WHOSE):
            raise BadInput("an unknown field", shown, f"write `{nearest}`")
        told.append(f"unknown field {shown}, left out" + (f"; perhaps {meant}" if meant else ""))
    more = len(told) - MAX_TOLD
    return told if more <= 0 else [*told[:MAX_TOLD], f"{more} unknown fields more, left out"]


def _nearest(name: str, known: Collection[str]) -> tuple[str, bool]:
    """The known field that a name is near to, and whether it can be nothing else; empty when there is none."""
    bare = _bare(name)
    plain = {_bare(one): one for one in known}
    if bare in plain:
        return plain[bare], True
    if OTHER_NAMES.get(bare) in known:
        return OTHER_NAMES[bare], True
    found = difflib.get_close_matches(bare[:SHOWN], plain, 1, 0.6)
    ratio = difflib.SequenceMatcher(None, bare[:SHOWN], found[0]).ratio() if found else 0.0
    nearest = plain[found[0]] if found else ""
    return ("", False) if nearest in WHOSE and ratio < NEAR else (nearest, False)


def _bare(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def clipped(body: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """The fields of which only the beginning is read."""
    return tuple(name for name in names if isinstance(body.get(name), str) and len(body[name]) > MAX_TEXT)


def text_field(body: Mapping[str, Any], name: str, limit: int, *, clip: bool = False) -> str:
    """A text field. One that is too long is refused, or with `clip` its beginning is taken."""
    value = body.get(name)
    if value is None:
        return ""
    if name in IDS and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # ids are numbers in many channels
    if not isinstance(value, str):
        raise BadInput("not a text", name, "give it in quotation marks")
    if clip:
        value = value[:limit]
    if len(value) > limit:
        raise BadInput(f"a text of {len(value):,} characters", name, f"give at most {limit:,}")
    if name in IDS and _TITLE.search(value):
        value = secrets.mask(value)
    if not is_utf8(value):
        raise BadInput("text with a lone surrogate, which is no UTF-8", name, "remove it")
    return value


def texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A list of texts. Raises BadInput."""
    value = body.get(name) or []
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > 1_000:
        raise BadInput("not a list of texts", name, 'give ["…"]')
    return tuple(text_field({name: entry}, name, MAX_TEXT) for entry in value)


def flag(body: Mapping[str, Any], name: str) -> bool:
    """True or false, false where nothing is given. Raises BadInput."""
    value = body.get(name)
    if value not in (None, True, False):
        raise BadInput("neither true nor false", name)
    return bool(value)


def time(body: Mapping[str, Any]) -> str:
    """The field `at` as UTC ISO, empty where nothing is given. Raises BadInput."""
    given = text_field(body, "at", 60)
    if not given:
        return ""
    moment = clock.parse(given)
    if moment is None:
        raise BadInput("no time", "at", "give ISO 8601, like 2026-03-01T10:00:00+00:00")
    return clock.iso(moment)
