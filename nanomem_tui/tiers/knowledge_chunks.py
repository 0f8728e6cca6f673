"""Documents cut into chunks: what belongs together stays together, and no chunk goes across a heading.

Neighbouring blocks of one section are put together until there are LEAST words; an entry of a list, say an option of a
man page, is never parted from what explains it, unless that is longer than WHOLE words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from nanomem_tui.formats.blocks import Block, Piece, Reading
from nanomem_tui.store.knowledge_values import PATH, Chunk

LEAST, MOST, WHOLE = 60, 250, 400
"""Words of a chunk that nothing is added to, of one that is put together, and of a block that is not cut."""

LETTERS = 10
"""Characters that count as a word where there are no spaces between words."""

_SENTENCE = re.compile(r"(?<=[.!?。！？;:])\s+|(?<=[。！？])")
TAG = 80
"""Characters of an entry that its parts have in their section."""


def cut(reading: Reading) -> tuple[Chunk, ...]:
    """The chunks of a document, in its order."""
    found: list[Chunk] = []
    for section, blocks in groupby(reading.blocks, lambda block: block.section):
        found.extend(_of_section(section, blocks))
    return tuple(found)


def words_in(text: str) -> int:
    """How many words a text counts as."""
    return max(len(text.split()), len(text) // LETTERS // 2)


def _of_section(section: tuple[str, ...], blocks: Iterable[Block]) -> Iterator[Chunk]:
    held: list[Block] = []
    size = 0
    for block in blocks:
        words = sum(words_in(piece.text) for piece in block.pieces)
        if held and (size >= LEAST or size + words > MOST):
            yield _chunk(section, [piece for one in held for piece in one.pieces], held)
            held, size = [], 0
        if words > WHOLE:
            yield from _parts(section, block)
        else:
            held.append(block)
            size += words
    if held:
        yield _chunk(section, [piece for one in held for piece in one.pieces], held)


def _parts(section: tuple[str, ...], block: Block) -> Iterator[Chunk]:
    """A long block in chunks; those of an entry are told with its name."""
    if block.entry and len(block.pieces) > 1:
        section = (*section, " ".join(block.pieces[0].text.split())[:TAG])
    held: list[Piece] = []
    size = 0
    for piece in (part for whole in block.pieces for part in _sentences(whole)):
        words = words_in(piece.text)
        if held and size + words > MOST:
            yield _chunk(section, held)
            held, size = [], 0
        held.append(piece)
        size += words
    if held:
        yield _chunk(section, held)


def _sentences(piece: Piece) -> Iterator[Piece]:
    """A piece that is no longer than a chunk: itself, else its sentences, else as many characters as go in."""
    if words_in(piece.text) <= MOST:
        yield piece
        return
    most = MOST * LETTERS
    for sentence in _SENTENCE.split(piece.text):
        for at in range(0, len(sentence), most):
            if part := sentence[at : at + most].strip():
                yield piece._replace(text=part)


def _chunk(section: tuple[str, ...], pieces: Sequence[Piece], blocks: Sequence[Block] = ()) -> Chunk:
    if blocks:
        text = "\n\n".join("\n".join(piece.text for piece in block.pieces) for block in blocks)
    else:
        text = "\n".join(piece.text for piece in pieces)
    first, last = min(piece.line_from for piece in pieces), max(piece.line_to for piece in pieces)
    return Chunk(PATH.join(section), first, last, text)
