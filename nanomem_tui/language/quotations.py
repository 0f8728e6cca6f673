"""Where something stands between quotation marks, of whatever kind: the spans of a text, from mark to mark.

Owns telling a mark that opens from one that closes, and from an apostrophe, a sign for inches or minutes. Must not know
who says what stands between them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from nanomem_tui.language import pack_files

LONGEST, MOST = 20_000, 200
"""Characters of a text that are looked at; marks behind one that opens, for the one that closes it."""
_CLOSES = {
    "“": '”“"', "„": '“”"', "”": "”", "«": "»", "»": "«", "‹": "›", "›": "‹", "「": "」", "『": "』", "‚": "‘’",
    "‘": "’", '"': '"”', "＂": "＂", "'": "'", "`": "`", "``": "''",
}  # fmt: skip
"""Of each mark that may open those that close it."""
_MARKS = "".join({*"".join(_CLOSES), *"".join(_CLOSES.values())})
_ENDS = ".!?…。！？\n"
_END = re.compile(f"[{_ENDS}]")
_ALWAYS_OPEN = "“„«‹「『‚"
_MARK = re.compile(r"``|''|[“”„«»‹›「」『』‚‘’\"＂'`]")
_BEFORE = re.compile(r"[\s(\[{<:：,，;；=/|。！？、—–*_~>-]")
_WORD = re.compile(r"[^\W_]")
_UNSPACED = re.compile(r"[぀-ヿ㐀-䶿一-鿿가-힯]")
_NO_QUOTE = re.compile(r"'(?:\d0s|tis|twas|cause|em|til|n|bout|round)\b", re.IGNORECASE)
"""What begins with an apostrophe."""
_OF_SEVERAL = re.compile(r"[sxzSXZ]['’](?=\s+[a-zà-ÿ])")
"""An apostrophe behind the s of several: “my parents' house”."""


def spans(text: str) -> list[tuple[int, int]]:
    """The quotations of a text, marks included, in order; one within another is part of it. One that is never closed
    goes to the end, where a mark that only opens, or the beginning of a line, shows that it is one."""
    marks = list(_MARK.finditer(text, 0, LONGEST))
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(marks):
        mark = marks[at]
        if not _opens(text, mark):
            at += 1
            continue
        closing = _closing(text, marks, at)
        if closing is not None:
            found.append((mark.start(), marks[closing].end()))
            at = closing + 1
        elif mark[0] in _ALWAYS_OPEN or (mark[0] == '"' and _begins_line(text, mark)):
            found.append((mark.start(), len(text)))
            break
        else:
            at += 1
    return found


def _opens(text: str, mark: re.Match[str]) -> bool:
    before, behind = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    if mark[0] in _ALWAYS_OPEN:
        return mark[0] != "“" or not before or _WORD.match(before) is None or _UNSPACED.match(before) is not None
    if mark[0] not in _CLOSES or not behind or _NO_QUOTE.match(text, mark.start()):
        return False
    free = not before or _BEFORE.match(before) is not None or _MARK.match(before) is not None
    if mark[0] in '"＂':
        return free or _UNSPACED.match(before) is not None
    return free and not behind.isspace()


def _closing(text: str, marks: list[re.Match[str]], opening: int) -> int | None:
    """Which mark closes that one; None when none does."""
    kind = marks[opening][0]
    depth, likely, last = 1, None, None
    for at in range(opening + 1, min(len(marks), opening + 1 + MOST)):
        mark = marks[at]
        if kind == "`" and "\n" in text[marks[opening].end() : mark.start()]:
            break  # code in a line
        if mark[0] not in _CLOSES[kind]:
            depth += mark[0] == kind and kind in "„«»‹›「『"
            continue
        if _opens_within(text, mark, kind):
            if likely is not None and depth == 1:
                return likely
            depth += 1
        elif _closes(text, mark, kind):
            last = at
            if depth > 1:
                depth -= 1
            elif kind in "'‘‚" and _OF_SEVERAL.match(text, mark.start() - 1):
                likely = at
            else:
                return at
    return likely if likely is not None else last


def _opens_within(text: str, mark: re.Match[str], kind: str) -> bool:
    """Whether a mark of the same kind opens once more within."""
    before, behind = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    if mark[0] != kind or kind not in "\"'“":
        return False
    return before.isspace() and _WORD.match(behind) is not None and _NO_QUOTE.match(text, mark.start()) is None


def _closes(text: str, mark: re.Match[str], kind: str) -> bool:
    behind = text[mark.end() : mark.end() + 1]
    if kind in "'‘‚`":
        return not text[mark.start() - 1].isspace() and (_WORD.match(behind) is None or bool(_UNSPACED.match(behind)))
    return True


def _begins_line(text: str, mark: re.Match[str]) -> bool:
    line = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()].rstrip()
    return (not line or line[-1] in ":：.!?。！？") and not text[mark.end() : mark.end() + 1].isspace()


def inside(text: str, span: tuple[int, int]) -> str:
    """What stands between the marks of a quotation."""
    return text[slice(*span)].strip(_MARKS)


def joined(text: str) -> str:
    """The text, as long as it is, with no end of a sentence within a quotation but the last."""
    parts, last = [], 0
    for start, end in spans(text):
        within = text[start:end].rstrip(_MARKS + _ENDS)
        parts += [text[last:start], _END.sub("x", within)]
        last = start + len(within)
    return "".join((*parts, text[last:]))


# Where a message stops being said and is a copy out of a chat or of mails: lines that begin as those of a log do.

MOST_LINES = 2_000
"""Lines that are looked at."""
_pattern = pack_files.patterns("chat_logs")
_words = partial(pack_files.words, "chat_logs")


def begins(lines: Sequence[str]) -> int | None:
    """In which line a copy out of a chat begins, with all that follows; None where there is none."""
    speakers: list[tuple[int, str]] = []
    for at, line in enumerate(lines[:MOST_LINES]):
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
