"""The lines of a history entry as statements of their own: mark, text, and what a line stands under.

Owns which lines belong together: what was said on the line after `Name said:`, and the entries of a list under the line
that they are of, which says of whom or what they are. Must not judge what a line is worth.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nanomem_tui.agents.archive import marks
from nanomem_tui.core.text import indent
from nanomem_tui.dream import titles

_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_NAME = r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}"
SPEECH = re.compile(rf"(?P<who>{_NAME}) (?:said|says|wrote|asked|replied): ?(?P<what>.*)")
"""Who said what: `Gina said: …`."""
_TITLE = re.compile(r"#{1,6}[ \t]+|\*\*[^*]+\*\*[:：]?")
_ENDS = (":", "：")
_VERB = (
    r"(?:is|are|was|were|has|have|had|likes?|loves?|hates?|dislikes?|wants?|needs?|uses?|owns?|keeps?|speaks?|prefers?|"
    r"plays?|eats?|drinks?|knows?|lives?|works?|runs?|visited|bought|moved|will|can|must)"
)
_GOES_ON = re.compile(rf"\b(?:to|of|in|at|on|for|from|with|by|{_VERB})$", re.IGNORECASE)
"""How a line ends that what stands under it goes on with."""
_NUMBER = re.compile(r"^\d{1,3}[.)]\s+")
_TOLD = re.compile(r"\b(?:said|says|mentioned|told|shared|asked|wrote|stated|noted|added|learned|discussed|covered)\b")
_OPENS = frozenset("the a an here next things what some other also this these that those".split())


class EntryLine(NamedTuple):
    """One line without its mark and bullet. `under`: the lines that it is an entry of, as `Trip to Porto:`; of whom or
    what they say it is, its text says as well."""

    mark: str | None
    text: str
    is_bullet: bool
    under: str = ""


class _Above(NamedTuple):
    """A line that others are entries of: how far it is indented, its mark, its words, and where it is in the list."""

    indent: int
    mark: str | None
    text: str
    of: str
    number: int


def lines_of(content: str) -> list[EntryLine]:
    """The statements of an entry, in order. What opens a list, `Kestrel:`, is none: each line of the list begins so."""
    lines: list[EntryLine] = []
    above: list[_Above] = []
    opened: set[int] = set()
    for raw in content.split("\n"):
        is_bullet = _BULLET.match(raw) is not None
        depth = indent(raw) if is_bullet else -1
        for own, text in marks(raw):
            plain = " ".join(text.split())
            before = SPEECH.fullmatch(lines[-1].text) if lines and own is None and not is_bullet else None
            if before and lines[-1].mark and not before["what"]:
                lines[-1] = lines[-1]._replace(text=f"{lines[-1].text} {plain}")
                continue
            above = [one for one in above if one.indent < depth]
            over = above[-1] if above else None
            if over is not None and (over.text.endswith(_ENDS) or re.fullmatch(_NAME, _head(over.text))):
                opened.add(over.number)
            said = _joined(over.of, plain) if over else plain
            mark = own or (over.mark if over and over.indent >= 0 else None)
            if is_bullet or plain.endswith(_ENDS) or _TITLE.match(plain):
                of = _of(plain, over.of if over else "", is_bullet=is_bullet)
                above.append(_Above(depth, mark, plain, of, len(lines)))
            lines.append(EntryLine(mark, said, is_bullet, " ".join(one.text for one in above if one.indent < depth)))
    return [line for number, line in enumerate(lines) if number not in opened]


def _of(plain: str, over: str, *, is_bullet: bool) -> str:
    """What the lines under a line begin with: of whom or what they are. A line of the list says it itself, a title or
    what opens a list where it names somebody or something; "" else."""
    head = _head(plain)
    if not titles.telling(head) or (not is_bullet and not _names(head)):
        return over
    return _joined(over, head)


def _head(plain: str) -> str:
    """The words of a line without the marks of a title or a list."""
    return _NUMBER.sub("", re.sub(r"^#{1,6}[ \t]+", "", plain), count=1).replace("**", "").rstrip(" :：")


def _names(head: str) -> bool:
    """Whether a line above a list names whom or what that is about: `Kestrel`, `The user is allergic to`."""
    first = head.partition(" ")[0].casefold()
    if SPEECH.fullmatch(f"{head}:"):
        return True
    if _TOLD.search(head):
        return False
    if re.match(r"(?:the )?user(?:['’]s)?\b", head, re.IGNORECASE):
        return True
    named = re.match(rf"{_NAME}(?:['’]s)?(?![\w'’])", head)
    goes_on = named and (named.end() == len(head) or _GOES_ON.search(head) or head[named.end() - 2 :][:1] in "'’")
    return first not in _OPENS and bool(goes_on or not head.isascii())


def _joined(head: str, text: str) -> str:
    """What stands under `head` as a statement of its own. A colon would make the whole of it the value of `head`."""
    if not head:
        return text
    if SPEECH.fullmatch(f"{head}:"):
        return f"{head}: {text}"
    goes_on = re.fullmatch(_NAME, head) or _GOES_ON.search(head) or re.match(rf"{_VERB}\b", text)
    return f"{head} {text}" if goes_on else f"{head} – {text}"
