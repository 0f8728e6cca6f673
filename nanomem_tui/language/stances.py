"""What a correction plainly asks for or forbids (`always use tabs`, `never use tabs`), in English and Chinese.

Owns reading an order as its subject (the verb and its object) and whether it is wanted, so that of two orders that
only differ in that the last word holds. Careful by intent: every part of a text has to be such an order, or its words
of address; a condition is part of the object, and what points at something else (`that one`, `today`) is no order for
later. The words stand in `packs/stances.toml`. Pure functions over text.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import NamedTuple

from nanomem_tui.language import tables
from nanomem_tui.language.tokens import fold, simplified


class Stance(NamedTuple):
    """A verb with its object, and whether it is wanted."""

    subject: str
    wanted: bool


MAX_TEXT = 200
"""Characters of an order; what is longer tells more than one thing."""
_pattern = tables.patterns("stances")
_words = partial(tables.words, "stances")
_NOTHING = Stance("", wanted=True)
"""Of a part that only addresses, or gives a reason."""


@lru_cache(2_048)  # the same lessons are compared in every turn
def stances(text: str) -> tuple[Stance, ...]:
    """What a text orders, each subject once; nothing unless all of it is plain."""
    plain = simplified(fold(text)).replace("’", "'").strip()
    if len(plain) > MAX_TEXT or plain.endswith("?"):
        return ()
    found: dict[str, Stance] = {}
    for part in filter(None, map(str.strip, _pattern("parts").split(plain))):
        read = _chinese(part) if re.search("[㐀-鿿]", part) else _english(part)
        if read is None or (read.subject and read.subject in found):
            return ()
        if read.subject:
            found[read.subject] = read
    return tuple(found.values())


@lru_cache(1)
def _verbs() -> tuple[dict[str, str], dict[str, str]]:
    """The verbs, and their forms in “ing”, each with the form as which it is kept."""
    base = {verb: re.sub("ise$", "ize", verb) for verb in _words("verbs")}
    doubled = _words("doubled")
    stems = {verb: verb + verb[-1] if verb in doubled else verb.removesuffix("e") for verb in base}
    return base, {f"{stems[verb]}ing": kept for verb, kept in base.items()}


def _english(part: str) -> Stance | None:
    lead = _pattern("lead").match(part)
    rest = re.sub(r"\s+because\s.*", "", part[lead.end() :] if lead else part).strip()
    if _pattern("alone").fullmatch(rest):
        return _NOTHING
    order = _pattern("order").fullmatch(rest)
    if order is None:
        return None
    base, gerunds = _verbs()
    first, _, behind = order["rest"].partition(" ")
    verb = (gerunds if order["stop"] else base).get(first)
    if order["none"]:
        verb, behind = (gerunds[first], behind) if first in gerunds else ("use", order["rest"])
    if verb is None or (order["none"] and (first in base or first in _words("phrases"))):
        return None
    while ending := _pattern("end").search(behind):
        behind = behind[: ending.start()].rstrip()
    words = re.findall(r"[^\s\"“”`]+", behind.replace(" '", " ").strip("'"))
    words = [word for word in words if word not in _words("articles")]
    if _words("points").intersection(words):
        return None
    if not (words or order["never"] or order["always"] or order["stop"]):
        return None  # an order without an object is one for later only where it says so
    if words and len(words[-1]) > 3 and words[-1].endswith("s") and not words[-1].endswith("ss"):
        words[-1] = words[-1][:-1]
    wanted = not (order["never"] or order["dont"] or order["stop"] or order["none"])
    return Stance(" ".join((verb, *words)), wanted)


def _chinese(part: str) -> Stance | None:
    if _pattern("open_zh").search(part):
        return None
    rest = re.sub(r"(?<=[㐀-鿿])\s+|\s+(?=[㐀-鿿])", "", part)
    lead = _pattern("lead_zh").match(rest)
    rest = _pattern("end_zh").sub("", rest[lead.end() :] if lead else rest)
    if not rest or _pattern("alone_zh").fullmatch(rest):
        return _NOTHING
    against = _pattern("not_zh").match(rest)
    rest = rest[against.end() :] if against else rest
    verb = _pattern("verb_zh").match(rest)
    thing = rest[verb.end() :].strip() if verb else ""
    if verb is None or not (thing or verb[0] in _words("bare_zh")):
        return None
    name = "用" if verb["use"] else "加" if verb["add"] else verb[0]
    return Stance(f"{name} {thing}".rstrip(), against is None)
