"""Documents as blocks: Markdown, plain text, saved web pages, and man pages as `man` shows them. Changes no text.

A block is a paragraph, an entry of a list or an example under its headings, in pieces that know their lines. Owns how
blocks are put together and that no control character gets through. Nothing is fetched, no script is read.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

from nanomem_tui.agents.markdown import blocks as blocks_of_code
from nanomem_tui.core.text import safe_text

LONGEST_TITLE = 200
"""Characters of a heading; what is longer was meant otherwise."""

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,4}[.)])\s+\S")
_MARKS_IN_MARKDOWN = "=-"
_EMPHASIS = re.compile(r"\[([^\]]*)\]\([^)]*\)|[*_`]{1,3}([^*_`]+)[*_`]{1,3}")
LONGEST_HEADING = 120
"""Characters of an underlined line that is a heading."""


class Piece(NamedTuple):
    """A part of a block that is not cut, if it can be helped: lines `line_from` to `line_to` of the source, from 1."""

    line_from: int
    line_to: int
    text: str


class Block(NamedTuple):
    """What belongs together under its headings, outermost first. `entry`: its first piece is what the rest explains."""

    section: tuple[str, ...]
    pieces: tuple[Piece, ...]
    entry: bool = False


class Reading(NamedTuple):
    """A document as it was read: its title, its blocks, and what it says of itself in one line ("": nothing)."""

    title: str
    blocks: tuple[Block, ...]
    about: str = ""


class Blocks:
    """Blocks in the making: words become pieces, pieces become blocks."""

    def __init__(self) -> None:
        self.made: list[Block] = []
        self._headings: list[tuple[int, str]] = []
        self._pieces: list[Piece] = []
        self._words: list[str] = []
        self._from = self._to = 0
        self._entry = False
        self._glued = False

    def heading(self, level: int, title: str) -> None:
        """Begin a section; those of the same or a deeper level end."""
        self.end()
        shown = " ".join(safe_text(title).split())[:LONGEST_TITLE]
        self._headings = [known for known in self._headings if known[0] < level]
        if shown:
            self._headings.append((level, shown))

    @property
    def section(self) -> tuple[str, ...]:
        """The headings above what comes next."""
        return tuple(title for _, title in self._headings)

    def add(self, text: str, line: int) -> None:
        """Go on with the piece, after a space, if anything is before it."""
        if not text:
            return
        if not self._words:
            self._from = line
        elif not self._glued:
            self._words.append(" ")
        self._glued = False
        self._words.append(text)
        self._to = max(line, self._from)

    def glue(self, *, glued: bool = True) -> None:
        """What is added next follows without a space."""
        self._glued = glued

    def row(self, text: str, line: int) -> None:
        """A piece of its own, its spaces kept: a line of an example or a table."""
        self.end_piece()
        if text.strip():
            self._pieces.append(Piece(line, line, safe_text(text.rstrip())))

    def end_piece(self) -> None:
        """What is added next is a piece of its own."""
        text = safe_text("".join(self._words)).strip()
        if text:
            self._pieces.append(Piece(self._from, self._to, text))
        self._words.clear()
        self._glued = False

    def end(self) -> None:
        """What is added next is a block of its own."""
        self.end_piece()
        if self._pieces:
            self.made.append(Block(self.section, tuple(self._pieces), self._entry))
            self._pieces = []
        self._entry = False

    def begin_entry(self) -> None:
        """A new block whose first piece is what the rest explains; one that explains nothing yet goes on."""
        self.end_piece()
        if not (self._entry and len(self._pieces) == 1):
            self.end()
        self._entry = True

    def make_entry(self) -> None:
        """What is added next explains the piece that the block has, if it is the only one."""
        self.end_piece()
        self._entry = self._entry or len(self._pieces) == 1


# -- Markdown and plain text -------------------------------------------------------------------------------------------


def parse_markdown(text: str, name: str) -> Reading:
    """Markdown as blocks. Its title is its first heading of the first level, else `name`."""
    return _parse(text, name, markdown=True)


def parse_text(text: str, name: str) -> Reading:
    """Plain text as blocks; an underlined line between empty ones is a heading, as in reStructuredText."""
    return _parse(text, name, markdown=False)


def _parse(text: str, name: str, *, markdown: bool) -> Reading:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    code = blocks_of_code(text) if markdown else frozenset()
    made, title = Blocks(), ""
    levels: list[str] = []
    at = _after_front_matter(lines) if markdown else 0
    while at < len(lines):
        line = lines[at]
        if at in code:
            at = _code(lines, code, at, made)
            continue
        heading = _HEADING.fullmatch(line[: LONGEST_TITLE * 4]) if markdown else None
        if heading:
            shown = _plain(heading[2] or "")
            title = title or (shown if len(heading[1]) == 1 else "")
            made.heading(len(heading[1]), shown)
        elif (mark := _underlined(lines, at, markdown)) and at + 1 not in code:
            if mark not in levels:
                levels.append(mark)
            level = _MARKS_IN_MARKDOWN.index(mark) + 1 if markdown else levels.index(mark) + 1
            title = title or (line.strip() if level == 1 else "")
            made.heading(level, _plain(line) if markdown else line)
            at += 1
        elif not line.strip():
            made.end()
        elif markdown and line.lstrip().startswith("|"):
            made.row(line.strip(), at + 1)
        else:
            if _BULLET.match(line):
                made.end_piece()
            made.add(" ".join(line.split()), at + 1)
        at += 1
    made.end()
    return Reading(title or name, tuple(made.made))


def _after_front_matter(lines: list[str]) -> int:
    """Where a Markdown file begins: after the settings that some put before it."""
    if lines and lines[0].rstrip() == "---":
        for at, line in enumerate(lines[1:60], 1):
            if line.rstrip() in ("---", "..."):
                return at + 1
    return 0


def _code(lines: list[str], code: frozenset[int], at: int, made: Blocks) -> int:
    """The lines of fenced code as one block, its fences left out; where it ends."""
    made.end()
    while at < len(lines) and at in code:
        if lines[at].lstrip()[:3] not in ("```", "~~~"):
            made.row(lines[at], at + 1)
        at += 1
    if at < len(lines) and lines[at].lstrip()[:3] in ("```", "~~~"):
        at += 1
    made.end()
    return at


def _underlined(lines: list[str], at: int, markdown: bool) -> str:
    """The sign that a heading is underlined with; "" where the line is none."""
    line = lines[at]
    if not line.strip() or len(line) > LONGEST_HEADING or at + 1 >= len(lines) or line[:1] in " \t":
        return ""
    match = _UNDERLINE.fullmatch(lines[at + 1])
    if not match or (at and lines[at - 1].strip() and not _UNDERLINE.fullmatch(lines[at - 1])):
        return ""
    if _UNDERLINE.fullmatch(line):
        return ""
    if markdown:
        return match[1] if match[1] in _MARKS_IN_MARKDOWN else ""
    return match[1] if len(match[0].rstrip()) >= len(line.rstrip()) else ""


def _plain(title: str) -> str:
    """A heading without links and emphasis."""
    return _EMPHASIS.sub(lambda match: match[1] if match[1] is not None else match[2], title).strip()


# -- saved pages -------------------------------------------------------------------------------------------------------

_DROPPED = frozenset(
    "script style noscript template iframe textarea svg math object canvas nav select button head".split()
)
_PARAGRAPH = frozenset(
    "p div section article main header footer aside blockquote figure figcaption table ul ol fieldset details "
    "summary address hr body dl pre".split()
)
_PIECE = frozenset(("li", "dd", "br", "tr", "caption", "dt"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)

SLICE = 2**20
"""Characters of a page that are read at once: markup that does not end is read anew with each."""
LONGEST_MARKUP = 2 * 2**20
"""Characters of a tag or a comment after which nothing more is read: an image may stand in one."""


def parse_saved_page(text: str, name: str) -> Reading:
    """The page as blocks; its title is that of the page, else its first heading, else `name`. Never raises."""
    page = _Page()
    text = text.replace("<![", "<!x[") + "\n"  # what HTML has no sections for is a comment
    at = 0
    while at < len(text):
        begins = text.rfind("<", at + 1, at + SLICE)  # no text is parted there
        end = begins if len(text) > at + SLICE and begins > 0 else at + SLICE
        page.feed(text[at:end])
        if len(page.rawdata) > LONGEST_MARKUP and page.cdata_elem is None:
            break
        at = end
    # Not closed: what is left is markup that never ends, say a comment; closing would take it for text, in hours.
    page.end_heading()
    page.blocks.end()
    return Reading(" ".join(page.title.split()) or page.first or name, tuple(page.blocks.made))


def decode_page(data: bytes) -> str:
    """The text of a page in the character set that it names, else UTF-8; bad bytes are shown as U+FFFD."""
    match = _CHARSET.search(data[:4096])
    named = match[1].decode("ascii").lower() if match else "utf-8"
    known = named.startswith(("iso-8859", "iso8859", "latin", "windows-", "cp12", "koi8", "gb", "big5", "euc", "shift"))
    try:
        return data.decode(named if known else "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


class _Page(HTMLParser):
    """Puts the text of a page together, as the parser of the standard library finds it."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = Blocks()
        self.title = self.first = ""
        self._dropping: list[str] = []
        self._in_title = False
        self._heading = 0
        self._words: list[str] = []
        self._verbatim = self._terms = self._cells = 0
        self._apart = True

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Go on with a tag that opens."""
        line = self.getpos()[0]
        if tag == "body":
            self._dropping.clear()
        elif tag == "title":
            self._in_title = not self.title
        elif tag in _DROPPED and tag not in self._dropping:  # its first end ends them all
            self._dropping.append(tag)
        if self._dropping or self._in_title:
            return
        if tag in _HEADINGS:
            self.end_heading()
            self._heading = int(tag[1])
        elif tag == "dt":
            self.blocks.begin_entry()
        elif tag in _PIECE:
            self.blocks.end_piece()
            self._cells = 0
            if tag == "li":
                self.blocks.add("•", line)
        elif tag in ("td", "th"):
            if self._cells:
                self.blocks.add("|", line)
            self._cells += 1
        elif tag in _PARAGRAPH:
            self._break()
            self._verbatim += tag == "pre"
            self._terms += tag == "dl"
        else:
            return
        self._apart = True

    def handle_endtag(self, tag: str) -> None:
        """Go on with a tag that closes."""
        if tag == "title":
            self._in_title = False
        elif tag in self._dropping:
            del self._dropping[self._dropping.index(tag) :]
        elif self._dropping:
            return
        elif tag in _HEADINGS:
            self.end_heading()
            self._apart = True
        elif tag in _PIECE or tag in _PARAGRAPH:
            self._verbatim = max(self._verbatim - (tag == "pre"), 0)
            self._terms = max(self._terms - (tag == "dl"), 0)
            if tag in _PIECE:
                self.blocks.end_piece()
            else:
                self._break()
            self._apart = True

    def handle_data(self, data: str) -> None:
        """Go on with text."""
        if self._in_title:
            self.title += data[:400] if len(self.title) < 400 else ""
        elif self._heading and not self._dropping:
            self._words.append(data[:1000])
        elif not self._dropping:
            for number, line in enumerate(data.split("\n"), self.getpos()[0]):
                if self._verbatim:
                    self.blocks.row(line, number)
                elif line.strip():
                    if number == self.getpos()[0] and not self._apart and not line[:1].isspace():
                        self.blocks.glue()
                    self.blocks.add(" ".join(line.split()), number)
            self._apart = data[-1:].isspace() if data else self._apart

    def _break(self) -> None:
        """A paragraph ends; within the explanation of a term it is a piece of that."""
        if self._terms:
            self.blocks.end_piece()
        else:
            self.blocks.end()

    def end_heading(self) -> None:
        """What follows stands below the heading that is being read."""
        if self._heading:
            title = " ".join("".join(self._words).split())
            self.first = self.first or title
            self.blocks.heading(self._heading, title)
        self._heading, self._words = 0, []


# -- man pages ---------------------------------------------------------------------------------------------------------

_SUMMARY = re.compile(r"\s+[-–—−]{1,3}\s+")
_DASHES = str.maketrans("‐‑−", "---")
_GAP = " " * 20
SUBSECTION = 4
"""Columns that the heading of a subsection is set in at most; text is set in deeper, that of a section not at all."""


def parse_man_page(shown: str, name: str) -> Reading:
    """A page as `man` shows it to a wide terminal, each paragraph on a line, as blocks. `name` ("nginx(8)") is its
    title; what its section NAME says it does is what it is about. Lines are those that are shown."""
    lines = [line.rstrip().translate(_DASHES) for line in shown.split("\n")]
    there = [number for number, line in enumerate(lines) if line]
    for number in {*there[:1], *there[-1:]}:
        if _GAP in lines[number]:  # which page it is, from one margin to the other
            lines[number] = ""
    made = Blocks()
    base = 0
    begins = True
    for number, line in enumerate(lines, 1):
        set_in = len(line) - len(line.lstrip())
        if not line:
            begins = True
            continue
        if set_in <= SUBSECTION:
            made.heading(2 if set_in else 1, line)
            base = 0
        elif set_in > base and base:
            made.make_entry()
            made.row(line[base:], number)
        else:
            if begins or set_in < base:
                made.end()
            base = set_in
            made.row(line[base:], number)
        begins = False
    made.end()
    about = ""
    for block in made.made[:4]:
        parts = _SUMMARY.split(" ".join(piece.text for piece in block.pieces), maxsplit=1)
        if len(parts) == 2:
            about = " ".join(parts[1].split())[:300]
            break
    return Reading(name, tuple(made.made), about)
