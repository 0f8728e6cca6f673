"""What a terminal answers to a question, told from keys: an answer that comes late, or to another program, must not be
typed into a screen where `d` deletes.

Textual hands out every sequence that it does not know as the keys that its characters would be. Owns what an answer
looks like; Textual's own questions (`CSI ? … $ y`) are left to it.
"""

from __future__ import annotations

import re

LATE = 2.0
"""Seconds within which the rest of an answer comes; what comes later was typed."""
QUICK = 0.15
"""Seconds behind an escape alone within which no person types the next key."""

_REPLY = re.compile(
    r"\x1b\[[?>=][0-9;:]*(?:[a-zA-Z]|[ !\"'#%&*][a-zA-Z]|\$[a-xzA-Z])|"  # what it is and can do; no key begins so
    r"\x1b\]\d[^\x07\x1b]*(?:\x07|\x1b\\)|"  # its colours, its title, what it has copied
    r"\x1b(?:P[0-9!>$|+=]|_[A-Z])[^\x07\x1b]*(?:\x07|\x1b\\)"  # its name and settings; pictures
)
_BEGUN = re.compile(
    r"\x1b(?:\[(?:[?>=][0-9;:]*[ !\"'#%&*$]?)?|\](?:\d[^\x07\x1b]*\x1b?)?|"
    r"[P_](?:[0-9!>$|+=A-Z][^\x07\x1b]*\x1b?)?)\Z"
)
"""The beginning of one at the end of what came so far."""


class Replies:
    """What came from a terminal, without its answers. `without` is given every piece with the time it came at."""

    def __init__(self) -> None:
        self._begun, self._since = "", -LATE
        self._given = False  # whether its escape was passed on, as a key that it may be

    def without(self, data: str, at: float) -> str:
        """What of a piece was typed, or is Textual's. The beginning of an answer waits for its rest."""
        if not self._goes_on(data, at):
            self._begun, self._given = "", False
        whole = self._begun + data
        kept = _REPLY.sub("", whole)
        lead = int(self._given and _REPLY.match(whole) is None)  # the escape that was passed on
        begun = _BEGUN.search(kept)
        if begun is not None:
            if begun.start() or not self._begun:
                self._since = at
            kept, self._begun, self._given = kept[: begun.start()], begun[0], bool(lead) and not begun.start()
        elif kept.endswith("\x1b") and len(kept) > lead:
            self._begun, self._given, self._since = "\x1b", True, at
        else:
            self._begun, self._given = "", False
        return kept[lead:]

    def _goes_on(self, data: str, at: float) -> bool:
        """Whether a piece may be the rest of what was begun: a person may press escape, and then another key."""
        is_typed = self._begun == "\x1b" and len(data) < 3
        return at - self._since < (QUICK if is_typed else LATE)
