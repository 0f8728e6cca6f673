"""Where something stands between quotation marks, of whatever kind: the spans of a text, from mark to mark.

Owns telling a mark that opens from one that closes, and from an apostrophe, a sign for inches or minutes. Must not know
who says what stands between them. Pure.
"""

from __future__ import annotations

import re

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
