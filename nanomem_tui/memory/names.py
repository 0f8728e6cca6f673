"""What stands before a model as the name of who spoke: anybody chooses what a channel shows as their own.

Owns what is a name at all. What is none, for it is long, gives orders, holds a secret or claims a part in the
conversation, is not shown: the id of the sender is, else `USER`. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nanomem_tui.attach.fence import defused
from nanomem_tui.core.text import one_line, safe_text
from nanomem_tui.language import injection, secrets
from nanomem_tui.memory import safety

USER, SYSTEM = "user", "system"
LONGEST, MOST_WORDS = 40, 6
WIDE = 4
"""Letters that one of Chinese, Japanese or Korean counts as: ten of them are a sentence."""
_PARTS = frozenset({"assistant", "developer", "tool", "function", "model", "agent", "ai", "bot", "memory"})
"""Who else speaks to a model, or is it: a line under such a name would be taken for theirs."""
_COLONS = re.compile("[:;\uff1a\uff1b\ufe55\ufe13\u2236\ua789\u05c3\u0589\u02d0\u02f8]+")
"""What ends a name and begins what is said, and what looks like it."""
_MARKUP = re.compile(r"[<>\[\]{}|`#*=\\]|//|https?", re.IGNORECASE)
_ID = re.compile(r"[A-Za-z0-9_.@+|-]{1,64}")
_JOINTS = re.compile(r"[\W_]+")


def named(speaker: str, sender_id: str = "", said: str = "") -> str:
    """The name to show for who said `said`; `USER` where none is given. What this gave it gives again as it is."""
    if not speaker.strip():
        return USER
    for name in (_name(speaker), identity(sender_id)):
        if name and not _goes_on(name, said):
            return name
    return USER


@lru_cache(1024)
def _name(speaker: str) -> str:
    """A name as it is shown, empty where it is none."""
    if len(speaker) > LONGEST * 4:
        return ""
    name = " ".join(_COLONS.sub(" ", one_line(speaker)).split())
    if not name or _length(name) > LONGEST or len(name.split()) > MOST_WORDS or _MARKUP.search(name):
        return ""
    if safe_text(speaker) != speaker:  # it hides something
        return ""
    words = _words(name)
    if words in _PARTS or (words == SYSTEM and name != SYSTEM) or _orders(speaker, name):
        return ""
    return name if defused(name) == name else ""


@lru_cache(1024)
def identity(sender_id: str) -> str:
    """The id of a sender as it is shown, empty where it has no form of one."""
    if not _ID.fullmatch(sender_id) or _words(sender_id) in (*_PARTS, SYSTEM) or _orders(sender_id, sender_id):
        return ""
    return sender_id[:LONGEST]


def _orders(*texts: str) -> bool:
    """Whether one of these gives orders, also with other marks between its words, or holds a secret."""
    return any(injection.reason(one) or injection.reason(_words(one)) or secrets.find(one) for one in texts)


@lru_cache(1024)
def _goes_on(name: str, said: str) -> bool:
    """Whether a name and what follows it give orders together that neither gives alone."""
    return bool(said and injection.reason(f"{name} {said}") and not injection.reason(said))


def _length(name: str) -> int:
    return len(name) + (WIDE - 1) * (safety.weight(name) - len(name))


def _words(text: str) -> str:
    return " ".join(_JOINTS.sub(" ", injection.plain(text)).split())
