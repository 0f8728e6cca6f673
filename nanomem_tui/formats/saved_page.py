"""A web page that was saved, as blocks. Nothing is fetched, no script is read. Changes nothing.

The reader of tags is our own: that of the standard library takes quadratic time for markup that never closes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from nanomem_tui.formats.blocks import Blocks, Reading

_RAW = frozenset(("script", "style", "noscript", "template", "iframe", "textarea", "noembed", "xmp"))
_DROPPED = frozenset(("svg", "math", "object", "canvas", "nav", "select", "button", "head"))
_PARAGRAPH = frozenset(
    "p div section article main header footer aside blockquote figure figcaption table ul ol fieldset details "
    "summary address hr body".split()
)
_PIECE = frozenset(("li", "dd", "br", "tr", "caption"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_START = re.compile("<(?=[a-zA-Z/!?])")
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_ATTRIBUTES = re.compile(r"(?:[^<>\"']|\"[^\"]{0,4000}\"|'[^']{0,4000}'){0,400}+>")
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)


class Token(NamedTuple):
    """What stands next in a page: text (`name` is ""), or a tag, `closing` or not; and the line it begins in."""

    line: int
    text: str
    name: str = ""
    closing: bool = False


def parse_saved_page(text: str, name: str) -> Reading:
    """The page as blocks; its title is that of the page, else its first heading, else `name`. Never raises."""
    page = _Page()
    for token in tokens_of(text):
        page.take(token)
    page.end()
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


def tokens_of(page: str) -> Iterator[Token]:
    """The text and the tags of a page in order, in linear time; what never closes ends the page."""
    at, line, end = 0, 1, len(page)
    while at < end:
        opened = _START.search(page, at)
        start = opened.start() if opened else end
        if start > at:
            yield Token(line, unescape(page[at:start]))
        line += page.count("\n", at, start)
        if start == end:
            return
        name = _NAME.match(page, start)
        if name is None:
            closing = "-->" if page.startswith("<!--", start) else ">"
            found = page.find(closing, start + 2)
            at = end if found < 0 else found + len(closing)
        else:
            whole = _ATTRIBUTES.match(page, name.end())
            found = whole.end() - 1 if whole else page.find(">", name.end())
            at = end if found < 0 else found + 1
        line += page.count("\n", start, at)
        if name is not None:
            tag, closes = name[1].lower(), page[start + 1] == "/"
            yield Token(line, "", tag, closes)
            if tag in _RAW and not closes:
                ending = re.compile(f"</{tag}", re.IGNORECASE).search(page, at)
                stop = ending.start() if ending else end
                line += page.count("\n", at, stop)
                at = stop


class _Page:
    """Puts the tokens of a page together."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self.title = ""
        self.first = ""
        self._dropping = ""
        self._depth = 0
        self._in_title = False
        self._heading = 0
        self._words: list[str] = []
        self._verbatim = 0
        self._terms = 0
        self._cells = 0
        self._apart = True

    def take(self, token: Token) -> None:
        """Go on with the next token."""
        if token.name == "title":
            self._in_title = not token.closing and not self.title
        elif self._in_title and not token.name:
            self.title += token.text[:400]
        elif token.name in _DROPPED and (not self._dropping or token.name == self._dropping):
            self._depth = max(self._depth - 1, 0) if token.closing else self._depth + 1
            self._dropping = token.name if self._depth else ""
        elif token.name == "body":
            self._dropping, self._depth = "", 0
        elif self._dropping:
            return
        elif not token.name:
            self._text(token)
        elif token.closing:
            self._close(token.name)
        else:
            self._open(token.name, token.line)

    def end(self) -> None:
        """The page ends."""
        self._end_heading()
        self.blocks.end()

    def _open(self, tag: str, line: int) -> None:
        if tag in _HEADINGS:
            self._end_heading()
            self._heading = int(tag[1])
        elif tag == "pre":
            self._break()
            self._verbatim += 1
        elif tag == "dl":
            self._break()
            self._terms += 1
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
        else:
            return
        self._apart = True

    def _close(self, tag: str) -> None:
        if tag in _HEADINGS:
            self._end_heading()
        elif tag == "pre":
            self._verbatim = max(self._verbatim - 1, 0)
            self._break()
        elif tag == "dl":
            self._terms = max(self._terms - 1, 0)
            self._break()
        elif tag in _PIECE or tag == "dt":
            self.blocks.end_piece()
        elif tag in _PARAGRAPH:
            self._break()
        else:
            return
        self._apart = True

    def _text(self, token: Token) -> None:
        if self._heading:
            self._words.append(token.text[:1000])
            return
        for number, line in enumerate(token.text.split("\n"), token.line):
            if self._verbatim:
                self.blocks.row(line, number)
            elif line.strip():
                if number == token.line and not self._apart and not line[:1].isspace():
                    self.blocks.glue()
                self.blocks.add(" ".join(line.split()), number)
        self._apart = token.text[-1:].isspace() if token.text else self._apart

    def _break(self) -> None:
        """A paragraph ends; within the explanation of a term it is a piece of that."""
        if self._terms:
            self.blocks.end_piece()
        else:
            self.blocks.end()

    def _end_heading(self) -> None:
        if self._heading:
            title = " ".join("".join(self._words).split())
            self.first = self.first or title
            self.blocks.heading(self._heading, title)
        self._heading, self._words = 0, []
