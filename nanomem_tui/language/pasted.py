"""What of a message was pasted and not said: a mail that somebody got, a document to translate, the text of a file, a
copy out of a chat, what stands in quotation marks.

The signs by which that is told stand in `packs/pasted.toml`. What stands behind one of them was written by nobody knows
whom, and it says "I" and "remember" as a person does (MINJA; OWASP ASI06). Pure; it must not know what becomes of
either part.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from nanomem_tui.language import chat_logs, quotations, remembering, tables
from nanomem_tui.language.sentences import split

WHY = "in something pasted, not said"

_pattern = tables.patterns("pasted")
_INLINE = "b|i|u|s|em|strong|small|sup|sub|span|br|p|code|kbd|a"
_ENCLOSED = re.compile(
    rf"<(?!(?:{_INLINE})\b)(?P<tag>[a-z][\w-]{{1,30}})\b[^<>\n]{{0,200}}>.*?(?:</(?P=tag)\s*>|\Z)|"
    r"(?P<quotes>\"\"\"|'''|```|~~~|“““).*?(?:(?P=quotes)|”””|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""Between tags that only a document has, and between three quotation marks."""
_ANSWERED = re.compile(r"\s*>(?:[\s>]|[^\W\d_]|$)")
"""How a mail program begins the lines that are answered."""
_ENTRY = re.compile(r"\s*(?:[-*•·–]|[（(]?\d{1,2}[.)、）])\s*")
_WORD = re.compile(r"[^\W_㐀-䶿一-鿿぀-ヿ가-힯]+")
_WIDE = re.compile(r"[㐀-䶿一-鿿぀-ヿ가-힯]")
FEW = 4
"""Words of a quotation that says something; two wide characters are one."""
LONG = 4_000
"""Characters of a quotation beyond which nobody looks at what it says."""
LEFT_OUT = "“…”"
"""What stands where somebody else is quoted."""
AROUND = 400
"""Characters before a quotation that tell whose it is."""
REPORTED = "what a page, a mail or a document says, not who tells it"


class Parts(NamedTuple):
    """What a person says in a message, and what else stands in it."""

    said: str
    pasted: str


@lru_cache(8)  # a message is asked for them several times in one turn
def parts(text: str) -> Parts:
    """Tell the two apart; nearly every message is said from its beginning to its end."""
    pasted: list[str] = []

    def cut(found: re.Match[str]) -> str:
        pasted.append(found[0].strip(found["quotes"] and "\"'`~“”"))
        return "\n"

    lines = _without_rest(_ENCLOSED.sub(cut, text).split("\n"), pasted)
    pasted += filter(_ANSWERED.match, lines)
    own = "\n".join(line for line in lines if not _ANSWERED.match(line))
    said = _without_quoted(_without_reported(own, pasted), pasted)
    return Parts(said, "\n".join(pasted)) if pasted or len(said) < len(text) else Parts(text, "")


def _without_rest(lines: list[str], told: list[str]) -> list[str]:
    """What is left without the end of a message that is all another's; what is given to be worked on goes nowhere."""
    log = chat_logs.begins(lines)
    last = max((at for at, line in enumerate(lines) if line.strip()), default=-1)
    for at, line in enumerate(lines):
        if at == log:
            told.append("\n".join(lines[at:]))
            return lines[:at]
        if at < last and _begins_others(line):
            told.append("\n".join(lines[at + 1 :]))
            if _pattern("marked").match(line) is None:
                return lines[: at + 1]
            is_wrapped = at > 0 and _pattern("marked").match(f"{lines[at - 1]} {line}") is not None
            return lines[: at - is_wrapped]
        work = _pattern("worked_on").match(line)
        if work is not None and not _pattern("own").search(work[0]):
            return [*lines[:at], line[: work.end()]]
    return lines


def _without_quoted(text: str, told: list[str]) -> str:
    """What is left without the quotations that say something, unless the sentence around one says that in own words.

    A plain sentence stays where it stands, for it says nothing by itself; that it was quoted is told.
    """
    kept, at = [], 0
    for start, end in quotations.spans(text):
        quoted, lead = quotations.inside(text, (start, end)), _lead(text[max(0, start - AROUND) : start])
        speaks, several = _speaks(quoted), len(split(quoted)) > 1
        words = len(_WORD.findall(quoted)) + len(_WIDE.findall(quoted)) // 2
        own = _own(lead)
        if own == "asked" or not (speaks or words >= FEW or (several and words > 1)):
            continue
        if speaks or (several and not own) or own == "theirs":
            kept += [text[at:start], LEFT_OUT]
            at = end
        if speaks or own != "said":
            told.append(quoted if several else text[start:end])
    return "".join((*kept, text[at:]))


def _speaks(quoted: str) -> bool:
    """Whether something quoted would be a memory, or take one back, had a person said it. What is as long as that is no
    word of one's own in any case."""
    return len(quoted) > LONG or any(map(remembering.says_something, remembering.sentences(quoted)))


@lru_cache(64)
def _own(lead: str) -> Literal["asked", "said", "theirs", ""]:
    """What a sentence itself says of what it leads to: that it is to be remembered or done (“remember: …”), something
    else (“I prefer …”), something of what another one wrote (“I like this mail: …”), or nothing."""
    told = f"{lead} {LEFT_OUT}"
    said = remembering.read(told) if lead else None
    if said is None:
        return ""
    if said.explicit and (said.text != told or _pattern("points").search(lead) is None):
        return "asked"  # a wish has the words that it wants
    return "theirs" if said.explicit or _pattern("others").search(lead) else "said"


def _lead(before: str) -> str:
    """What stands of a sentence before its quotation; of an entry of a list, the line above the list."""
    lines = before.rstrip(" \t").split("\n")
    while len(lines) > 1 and (_ENTRY.fullmatch(lines[-1]) or not lines[-1].strip()):
        lines.pop()
        while len(lines) > 1 and _ENTRY.match(lines[-1]):
            lines.pop()
        if not lines[-1].rstrip().endswith((":", "：")):
            return ""
    line = lines[-1].rstrip()
    return "" if line.endswith(tuple(".!?。！？")) else (split(line) or [""])[-1]


def _without_reported(text: str, told: list[str]) -> str:
    """What is left without what pages, mails and documents say, which goes to `told`: behind a colon all that follows,
    in quotation marks what stands in them, else the sentence."""
    kept, at = [], 0
    for found in _pattern("reported").finditer(text):
        if found.start() < at or _pattern("own").search(found[0]):
            continue
        behind = text[found.end() :]
        if (quoted := quotations.spans(behind)[:1]) and not quoted[0][0]:
            length = quoted[0][1]
        elif found[0].rstrip().endswith((":", "：")):
            length = len(behind)
        else:
            first = split(behind)[0]
            length = behind.index(first) + len(first)
        kept.append(text[at : found.end()])
        told.append(behind[:length])
        at = found.end() + length
    return "".join((*kept, text[at:]))


def reports(text: str) -> bool:
    """Whether some of a message is what a page, a mail or a document says."""
    return any(not _pattern("own").search(found[0]) for found in _pattern("reported").finditer(text))


def _begins_others(line: str) -> bool:
    """Whether what stands behind a line is not the person's own."""
    announces = line.rstrip().endswith((":", "：")) and _pattern("announced").search(line) is not None
    return (announces or _pattern("marked").match(line) is not None) and _pattern("own").search(line) is None
