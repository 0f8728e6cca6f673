"""Markdown as an outline: bullets, paragraphs and rows of tables, each with the headings and the lines over it.

Knows how a page is marked up, and not what its words say. Front matter, comments, code, pictures and what is struck out
are no blocks; wrapped lines are joined. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nanomem_tui.core.text import indent

OPEN, DONE = "[ ]", "[x]"
"""The marks of boxes."""
ROW = "|"
DEEPEST = 20
"""Levels of bullets; what stands deeper is on the last one."""
WRAPPED = 55
"""Characters of a line that may be wrapped though it ends in no comma and the next one begins with a capital."""
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_BULLET = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(.*)")
_BOX = re.compile(r"\[([ xX])\](?:\s|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TABLE_RULE = re.compile(r"[|:\- \t]*\|[|:\- \t]*|\+(?:[-=:]+\+)+")
_RULE = re.compile(rf" {{0,3}}([-*_])[ \t]*(?:\1[ \t]*){{2,}}|{_TABLE_RULE.pattern}")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_TAGS = re.compile(r"(?:\s*</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>)+\s*")
_BOLD = re.compile(r"(\*\*|__)(?!\1).+\1[:：]?")
_CELL = re.compile(r"(?<!\\)\|")
_END = re.compile(r"[.!?。！？…][\"'”’)\]*_]*$")
_GOES_ON = re.compile(r"[,，、;；:：–—-][*_]*$")
_WIDE = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_FIELD = re.compile(r"[^\s:：][^:：]{0,30}[:：](?:\s|$)")
_COMMENT = re.compile(
    r"^- \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\] .*$|(?:<!--(?s:.*?)(?:-->|\Z)|^%%[^%]*%%[ \t]*$"
    r"|^ {0,3}\[[^\]\n]*\]: *(?:<[^<>\n]*>|#|[^\s@]*[./][^\s@]*)(?: +[(\"'].*)?$"
    r"|^ {0,3}!\[[^\]\n]*\]\([^()\n]*\)[ \t]*$"
    r"|^ {0,3}(?:>[ \t]*)+\[![\w-]+\][-+]?.*$"
    r"|(?<!~)(?P<struck>~~?)(?=[^\s~])[^~\n]*(?<=[^\s~])(?P=struck)(?!~)"
    r"|(?i:<(?P<tag>del|s|strike)>.*?</(?P=tag)>))[ \t]*",
    re.MULTILINE,
)
"""A comment, the target of a link, a picture, the title of a callout, what is struck out, or a line of the mirrors'
form: what stands in such a line is the memory's own, also `<!--`."""
_FRONT_MATTER = re.compile(
    r"\s*(?:---[ \t]*\n(.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(.*?)^\+\+\+)[ \t]*$", re.DOTALL | re.MULTILINE
)
_FRONT_FIELD = re.compile(
    r"[ \t]*|[ \t]*#.*|[ \t]*-(?:[ \t].*)?|[ \t]+\S.*|[\w\"'][\w .\"'/-]*[ \t]*[:=].*|[\]}],?[ \t]*|\[[\w.-]+\]"
)
"""What a line of front matter may be."""


class Block(NamedTuple):
    """A bullet, a paragraph or a row of a table.

    `line` counts from 1. `mark`: the sign of a bullet, a box, `>`, `|` or "". `headings`: those over it, the highest
    first. `parent`: the place of the block that it stands under in the list of blocks; None: under none. `cells`: of a
    row, the heading of each column, "" where there is none, and what stands in it.
    """

    line: int
    text: str
    mark: str
    headings: tuple[str, ...]
    parent: int | None = None
    cells: tuple[tuple[str, str], ...] = ()

    @property
    def is_bold(self) -> bool:
        """Whether all of it is in bold."""
        return _BOLD.fullmatch(self.text) is not None

    @property
    def is_label(self) -> bool:
        """Whether it only announces what follows: it ends in a colon, or is a paragraph in bold."""
        return self.text.rstrip("*_ ").endswith((":", "：")) or (not self.mark and self.is_bold)


def readable(text: str) -> str:
    """Return a text with its lines where they are, without marks of encodings, front matter, comments and what is
    struck out."""
    text = text.replace("\0", "").replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    if front and all(map(_FRONT_FIELD.fullmatch, (front[1] or front[2] or "").split("\n"))):
        text = "\n" * front[0].count("\n") + text[front.end() :]
    return _COMMENT.sub(lambda match: match[0] if match[0].startswith("- [") else re.sub(r"[^\n]+", "", match[0]), text)


def outline(text: str, *, by_line: bool = False) -> tuple[list[Block], list[int]]:
    """Return the blocks of a readable text, and the lines at which code begins. `by_line`: no line goes on in the next
    one, as in plain text."""
    page = _Page(by_line)
    lines = text.split("\n")
    for at, line in enumerate(lines):
        page.add(at + 1, line, lines[at + 1] if at + 1 < len(lines) else "")
    return page.blocks, page.code


class _Page:
    """A page as it is read line by line."""

    def __init__(self, by_line: bool) -> None:
        self.blocks: list[Block] = []
        self.code: list[int] = []
        self._by_line = by_line
        self._headings: list[tuple[int, str]] = []
        self._fence = ""
        self._last = ""  # the line before, where it may go on
        self._set_in = 0  # how far the block that may go on is set in
        self._columns: list[str] = []
        self._label: int | None = None  # a paragraph that announces what follows
        self._above: list[tuple[int, int]] = []  # the bullets that are open: how far they are set in, their places

    def add(self, number: int, line: str, under: str) -> None:
        """Read the next line. `under`: the one after it."""
        last, self._last = self._last, ""
        if self._in_code(number, line):
            return
        if heading := _HEADING.fullmatch(line):
            self._head(len(heading[1]), heading[2] or "")
        elif not line.strip():
            self._columns = []
        elif any(pattern.fullmatch(line) for pattern in (_RULE, _UNDERLINE, _TAGS)):
            return
        elif "|" in line and ("|" in under or under.startswith("+=")) and _RULE.fullmatch(under):
            self._columns = _cells(line)
        elif self._columns or line.lstrip().startswith("|"):
            self._row(number, line)
        elif bullet := _BULLET.fullmatch(line):
            self._bullet(number, line, bullet)
        elif not last and _UNDERLINE.fullmatch(under) and ("=" in under or not _END.search(line.rstrip())):
            self._head(1 if "=" in under else 2, line)
        else:
            self._words(number, line, last)

    def _in_code(self, number: int, line: str) -> bool:
        mark = _FENCE.match(line)
        if mark and not self._fence:
            self._fence = mark[1]
            self.code.append(number)
            return True
        if mark and mark[1].startswith(self._fence) and not line[mark.end() :].strip():
            self._fence = ""
            return True
        return bool(self._fence)

    def _head(self, level: int, title: str) -> None:
        self._headings = [one for one in self._headings if one[0] < level] + [(level, title.strip())]
        self._label, self._above, self._columns = None, [], []

    def _row(self, number: int, line: str) -> None:
        values = _cells(line)
        columns = [*self._columns, *[""] * len(values)]
        filled = [(name, value) for name, value in zip(columns, values, strict=False) if any(map(str.isalnum, value))]
        cells = tuple(filled) if len(filled) > 1 or len(values) == 1 else ()
        self._above = [one for one in self._above if one[0] < indent(line)]
        words = [f"{name}: {value}" if name and len(cells) > 1 else value for name, value in cells]
        if cells:
            self._append(number, ", ".join(words), ROW, cells)

    def _bullet(self, number: int, line: str, bullet: re.Match[str]) -> None:
        words, mark = bullet[3].strip(), bullet[2]
        if box := _BOX.match(words):
            words, mark = words[box.end() :].strip(), OPEN if box[1] == " " else DONE
        if not words:
            return
        wide = len(bullet[1].expandtabs(4))
        self._above = [one for one in self._above if one[0] < wide][:DEEPEST]
        self._append(number, words, mark)
        self._above.append((wide, len(self.blocks) - 1))
        self._last, self._set_in = line, wide

    def _words(self, number: int, line: str, last: str) -> None:
        words = line.strip()
        mark = ">" if words.startswith(">") else ""
        words = words.lstrip("> ").strip()
        if not words:
            return
        self._last = line
        if last and not self._by_line and last.lstrip().startswith(">") == bool(mark) and self._goes_on(last, line):
            self.blocks[-1] = self.blocks[-1]._replace(text=_joined(self.blocks[-1].text, words))
        else:
            self._above, self._label, self._set_in = [], None, indent(line)
            self._append(number, words, mark)
        if self.blocks[-1].is_label and not self.blocks[-1].mark:
            self._label = len(self.blocks) - 1

    def _goes_on(self, line: str, following: str) -> bool:
        """Whether a line is wrapped, so that the next one belongs to it."""
        end, begin = line.rstrip(), following.lstrip("> \t")
        if indent(following) > self._set_in or _GOES_ON.search(end):
            return not (_FIELD.match(begin) and _END.search(end))
        if _FIELD.match(begin):
            return False
        return begin[0].islower() or (not _END.search(end) and len(end) >= WRAPPED)

    def _append(self, number: int, text: str, mark: str, cells: tuple[tuple[str, str], ...] = ()) -> None:
        parent = self._above[-1][1] if self._above else self._label
        headings = tuple(title for _, title in self._headings if title)
        self.blocks.append(Block(number, text, mark, headings, parent, cells))


def _cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    return [cell.strip() for cell in _CELL.split(bare.removesuffix("|"))]


def _joined(text: str, words: str) -> str:
    """A line and the one that it goes on in: Chinese and Japanese put no space between."""
    return f"{text}{words}" if _WIDE.search(text[-2:]) and _WIDE.match(words[0]) else f"{text} {words}"


def children(blocks: Sequence[Block]) -> list[list[int]]:
    """Return the places of the blocks that stand directly under each block."""
    found: list[list[int]] = [[] for _ in blocks]
    for at, block in enumerate(blocks):
        if block.parent is not None:
            found[block.parent].append(at)
    return found


def parents(blocks: Sequence[Block], block: Block) -> Iterator[Block]:
    """The blocks over a block, the nearest first."""
    while block.parent is not None:
        block = blocks[block.parent]
        yield block
