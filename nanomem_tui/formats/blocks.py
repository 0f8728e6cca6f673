"""Documents as blocks: what a reader of any format makes of a document, before it is cut into chunks.

A block is a paragraph, an entry of a list or an example under its headings, in pieces that know their lines. Owns how
blocks are put together and that no control character gets through. Must not know a format.
"""

from __future__ import annotations

from typing import NamedTuple

from nanomem_tui.text import safe_text

LONGEST_TITLE = 200
"""Characters of a heading; what is longer was meant otherwise."""


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

    def make_entry(self) -> bool:
        """What is set in after a single piece explains it: the block becomes an entry. False where it has more."""
        self.end_piece()
        self._entry = self._entry or len(self._pieces) == 1
        return self._entry
