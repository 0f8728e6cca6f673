"""Where a message stops being said and is a copy out of a chat or of mails: lines that begin as those of a log do.

How Telegram, WhatsApp, Signal, Slack, Discord, Teams, LINE, WeChat, Zoom, IRC, subtitles and mail programs write who
said something, and when, stands in `packs/chat_logs.toml`. Must not know what the lines say. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from nanomem_tui.language import tables

MOST = 2_000
"""Lines that are looked at."""
_pattern = tables.patterns("chat_logs")
_words = partial(tables.words, "chat_logs")


def begins(lines: Sequence[str]) -> int | None:
    """In which line a copy out of a chat begins, with all that follows; None where there is none."""
    speakers: list[tuple[int, str]] = []
    for at, line in enumerate(lines[:MOST]):
        bare = line.strip().lstrip("\u200e\u200f\u202a-\u202c> ")
        if _pattern("stamped").match(bare) or _pattern("nick").match(bare):
            return _first(speakers, at)
        if (signed := _pattern("signed").match(bare)) and not _is_told_of(signed["name"]):
            return _first(speakers, at)
        above = lines[at - 1] if at and _pattern("alone").match(bare) else ""
        if _pattern("bare_name").match(above) and not _is_told_of(above):
            return _first(speakers, at - 1)
        if spoken := _pattern("speaker").match(bare):
            speakers.append((at, spoken["name"].casefold()))
    somebody = [(at, name) for at, name in speakers if not _is_told_of(name)]
    whose = speakers if any(name in _words("oneself") for _, name in somebody) else somebody
    return whose[0][0] if len(whose) > 1 else None


def spoken(lines: Sequence[tuple[int, str]]) -> list[int]:
    """The numbers of the lines at which somebody begins to speak, where these lines hold a conversation: both parts of
    one with an agent, an agent and somebody who speaks twice, or two lines with a time and a name. None where they hold
    none."""
    roles: dict[int, str] = {}
    said: list[int] = []
    named: dict[str, list[int]] = {}
    for at, line in lines:
        if role := _pattern("role").match(line):
            roles[at] = (role["role"] or role["tag"] or role["field"] or role["head"]).casefold()
        elif says := _pattern("says").match(line):
            if not _is_told_of(says["nick"] or says["name"] or says["before"]):
                said.append(at)
        elif (speaker := _pattern("speaker").match(line.lstrip("> "))) and not _is_told_of(speaker["name"]):
            named.setdefault(speaker["name"].casefold(), []).append(at)
    if len(roles) < 3 and all(re.match(r"\s*[-*]\s+\w", line) for at, line in lines if at in roles):
        roles = {}  # a list that names a user and an agent
    asks, answers = (any(map(_pattern(part).fullmatch, roles.values())) for part in ("part_asks", "part_answers"))
    twice = [at for places in named.values() if len(places) > 1 for at in places]
    if answers and (said or twice or asks):
        return sorted([*roles, *said, *twice])
    return sorted(said if len(said) > 1 else ())


def _first(speakers: Sequence[tuple[int, str]], at: int) -> int:
    return min([at, *(place for place, name in speakers if not _is_told_of(name))])


def _is_told_of(name: str) -> bool:
    """Whether words before a colon name a thing that is told, or an order, and nobody."""
    from nanomem_tui.language.tokens import is_common

    words = name.casefold().lstrip("@~+(").rstrip(")").split()
    if words[0] in {"my", "our"} or name.startswith(("我的", "我们的")):
        return True
    if not _words("no_names").isdisjoint((words[0], words[-1])):
        return True
    return words[-1] not in _words("speakers") and all(map(is_common, words))
