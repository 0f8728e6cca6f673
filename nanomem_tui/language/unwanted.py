"""Whether a person asks that something not be remembered, in English and Chinese.

The words of that wish stand in `packs/unwanted.toml`: who says no to keeping (an order, a wish, a wish in the passive),
what keeping is, and of what. One such sentence is enough for its whole message. Where it is not sure it takes the wish
for one: what is lost is told, and what is kept against a person's will is not taken back. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nanomem_tui.language import tables
from nanomem_tui.language.tokens import simplified

_pattern = tables.patterns("unwanted")


@lru_cache(16)  # a message is asked several times in one turn
def is_unwanted(message: str) -> bool:
    """Whether a message says that it, or something in it, is not to be remembered."""
    plain = simplified(" ".join(message.replace("’", "'").split()))
    if not (_pattern("keeping").search(plain) and _pattern("refusing").search(plain)):
        return False
    return any(_is_wish(plain, found) for found in _pattern("wish").finditer(plain))


def _is_wish(plain: str, found: re.Match[str]) -> bool:
    if found["order"] is None:
        return True
    before = plain[: found.start()]
    if _pattern("told").search(before) and not found["order"].startswith(("not to", "without")):
        return False
    return not (before.lower().endswith("you ") and _pattern("reproach").match(found[0]))
