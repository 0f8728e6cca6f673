"""What notes in Markdown say that lasts, each memory so that it can be read alone (0105).

A block of the page (`outline.py`) is a memory where its words last (`lines.py`). It gets the heading and the
lines over it where it does not name what it is about; a line that says something by itself has those under it with it.
Which headings name nothing, or have only ideas and tasks under them, says `packs/notes.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nanomem_tui.language import lines, reader, tables
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.features import tokens
from nanomem_tui.language.outline import DONE, OPEN, ROW, Block, children, outline, parents
from nanomem_tui.language.spoken import subject_of
from nanomem_tui.language.topics import names_of_heading, topics_of_heading

LASTS = 0.6
"""How likely a block has to be worth keeping."""
MAY_LAST, BESIDE = 0.2, 0.75
"""How likely it has to be where those beside it in a list are that likely, or where it stands under one that lasts."""
BOXED = 0.85
"""How likely what stands beside a box has to be."""
SHORT = 4
"""Words of a block that is read with what it is about."""
LONGEST = 1_000
"""Characters beyond which a memory becomes several, at the ends of sentences."""
TOGETHER = 300
"""Characters of a memory that is made of a line and those under it."""
LABELS = 3
"""Lines over a block that stand before its words at most."""
CONTEXT = 80
"""Characters of a heading or a line that is put before those under it."""
_KINDS = {
    "person": "fact",
    "project": "fact",
    "preference": "preference",
    "rule": "preference",
    "decision": "decision",
    "event": "episodic",
}
"""The kind of a memory of each label of a line that lasts."""
_HEADED = {"preferences": "preference", "style": "preference", "decisions": "decision"}
"""The kind of what stands under a heading that is about one of these."""
_LISTED = frozenset({"-", "*", "+", ROW})
"""The marks of what stands in a list, and is no step."""
_pattern = tables.patterns("notes")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_LABEL = re.compile(r"([^:：]{1,40})[:：]")
_SIGNS = re.compile(r"^[^\w\s\"'“„«(（\[`~/.#-]+\s+")
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_INSIDE = re.compile(r"\(.*\)|([*_])(?!\1).*\1")
"""A paragraph that is all in parentheses or in italics: a hint to who fills in the page."""


class Note(NamedTuple):
    """A memory in notes: its words, its line from 1, the headings over it, the highest first, its kind, and the words
    of the page that it is made of, as they stand there."""

    text: str
    line: int
    headings: tuple[str, ...]
    kind: str
    made_of: tuple[str, ...] = ()


class Notes(NamedTuple):
    """The memories of a page, what says nothing that lasts, and the lines at which code begins."""

    found: list[Note]
    left: list[Note]
    code: list[int]


def read(text: str, *, titled: bool = True, by_line: bool = False) -> Notes:
    """Return the memories of a readable page. `titled`: its first heading may name what all of it is about. `by_line`:
    no line goes on in the next one."""
    blocks, code = outline(text, by_line=by_line)
    page = _Page(blocks, titled)
    found = [note for at in range(len(blocks)) for note in page.notes(at)]
    return Notes(found, page.left, code)


class _Page:
    """The blocks of a page, and which of them are in the memory of another."""

    def __init__(self, blocks: Sequence[Block], titled: bool) -> None:
        self.left: list[Note] = []
        self._blocks = blocks
        self._under = children(blocks)
        self._titled = titled
        self._taken: set[int] = set()
        self._shares: dict[int, float] = {}
        self._lists: dict[tuple[tuple[str, ...], int | None], tuple[float, int]] = {}

    def notes(self, at: int) -> Iterator[Note]:
        """The memories of a block that is not in one before."""
        block = self._blocks[at]
        if at in self._taken or self._is_label(at):
            return
        if not self._lasts(at):
            self.left.append(self._note(block, block.text))
            return
        text = ": ".join([*self._context(block), _words(block)])
        made_of = [_words(block)]
        for one in self._below(at):
            longer = f"{text.rstrip(' .。;；')}; {_words(self._blocks[one])}"
            if len(longer) > TOGETHER:
                break
            text = longer
            made_of.append(_words(self._blocks[one]))
            self._taken.add(one)
        for part in _parts(text):
            yield self._note(block, part)._replace(made_of=tuple(made_of))

    def _note(self, block: Block, text: str) -> Note:
        return Note(text, block.line, block.headings, self._kind(block))

    def _below(self, at: int) -> Iterator[int]:
        """The places of the blocks under one that last, with those under them."""
        for one in self._under[at]:
            if not self._is_label(one) and self._lasts(one):
                yield one
                yield from self._below(one)

    def _is_label(self, at: int) -> bool:
        """Whether a block only says what those under it are about."""
        block = self._blocks[at]
        if block.is_label or (block.is_bold and self._under[at]):
            return True
        short = len(block.text) <= CONTEXT and len(tokens(block.text)) <= 6
        return bool(self._under[at]) and short and lines.read(_line(block, block.text), _over(block)).lasting < LASTS

    def _lasts(self, at: int) -> bool:
        """Whether a block is worth keeping: by its words, or where those beside it are, and it may be."""
        block, share = self._blocks[at], self._share(at)
        if block.mark in (OPEN, DONE):
            return share >= BOXED or _is_answer(block)
        if share >= LASTS or not block.mark or share < MAY_LAST:
            return share >= LASTS
        if block.parent is not None and not self._is_label(block.parent):
            return self._lasts(block.parent)
        total, count = self._list_of(block)
        return count > 2 and (total - share) / (count - 1) >= BESIDE

    def _list_of(self, block: Block) -> tuple[float, int]:
        """How likely the blocks of a list are worth keeping, added up, and how many they are."""
        if not self._lists:
            for at, one in enumerate(self._blocks):
                if one.mark:
                    total, count = self._lists.get((one.headings, one.parent), (0.0, 0))
                    self._lists[one.headings, one.parent] = (total + self._share(at), count + 1)
        return self._lists[block.headings, block.parent]

    def _share(self, at: int) -> float:
        """How likely a block is worth keeping, by its words; a short one also by what it is about."""
        block = self._blocks[at]
        if at not in self._shares:
            self._shares[at] = 0.0
            over = [*block.headings, *(one.text for one in parents(self._blocks, block))]
            text = _words(block)
            label = _LABEL.match(text)
            is_open = any(map(_is_open, over)) or (label and _is_open(label[1], alone=True))
            if sum(map(str.isalnum, text)) > 1 and not is_open and not _is_placeholder(block):
                self._shares[at] = self._read(block).lasting
        return self._shares[at]

    def _read(self, block: Block) -> lines.LineReading:
        """What a block is, a short one also with what it is about: the likelier to last of both."""
        text = _words(block)
        texts = [text]
        needs = self._says_what(block.parent) if block.parent is not None else block.mark in _LISTED
        if needs and block.mark not in (OPEN, DONE) and len(_WORDS.findall(text)) < SHORT:
            texts.append(": ".join([*self._context(block), text]))
        return max((lines.read(_line(block, one), _over(block)) for one in texts), key=lambda one: one.lasting)

    def _says_what(self, parent: int) -> bool:
        """Whether the block over another says what that is about, and not where it was copied from or who told it."""
        if not self._is_label(parent):
            return False
        return lines.read(self._blocks[parent].text, _over(self._blocks[parent])).label != "narration"

    def _context(self, block: Block) -> list[str]:
        """The heading and the labels that a block needs before its own words, the highest first."""
        found = [_plain(one.text) for one in parents(self._blocks, block) if is_name(one.text)][:LABELS]
        titles = block.headings if self._titled else block.headings[1:]
        named = next((_plain(title) for title in reversed(titles) if is_name(title)), "")
        if _is_of_somebody(block.text):
            return []
        if _is_answer(block):
            return [_plain(_over(block))]
        if named and not _names(named) & set(tokens(" ".join([block.text, *found]))):
            found.append(named)
        return found[::-1]

    def _kind(self, block: Block) -> str:
        above = (one.text for one in parents(self._blocks, block) if len(one.text) <= CONTEXT / 2)
        for title in [*above, *reversed(block.headings)]:
            kind = next((kind for topic, kind in _HEADED.items() if topic in topics_of_heading(title)), "")
            if kind:
                return kind
        shares: dict[str, float] = {}
        for label, share in self._read(block).shares.items():
            if label in _KINDS:
                shares[_KINDS[label]] = shares.get(_KINDS[label], 0.0) + share
        return max(shares, key=shares.__getitem__)


def is_name(title: str) -> bool:
    """Whether a heading or a label names what those lines are about that stand under it.

    >>> is_name("Oma Truus (Ruben's mum)"), is_name("Important notes"), is_name("2026-03-01")
    (True, False, False)
    """
    plain = _plain(title)
    if len(plain) > CONTEXT:
        return False
    return bool(_names(_ASIDE.sub("", plain) or plain)) and not re.search(r"\w:\w", plain)


def _is_open(title: str, *, alone: bool = False) -> bool:
    """Whether nothing is settled of what stands under a heading or a label. `alone`: only where it says just that."""
    bare = _ASIDE.sub("", _plain(title)).strip(" *_!?")
    found = list(_pattern("open").finditer(bare))
    ends = any(one.start() == 0 or one.end() == len(bare) for one in found)
    return any(one[0] == bare for one in found) if alone else ends


def _is_of_somebody(text: str) -> bool:
    """Whether a text begins with a name that is known as one, so that it needs no heading."""
    name = "" if any(map(str.isdigit, text)) else subject_of(text)
    return bool(name) and name.casefold() in reader.pack(language_of(text)).names


def _names(title: str) -> set[str]:
    rest = _pattern("plain_unspaced").sub(" ", title)
    plain = tables.words("notes", "plain")
    words = (word for word in names_of_heading(rest) if not word.isdigit() and word not in plain)
    return {word for word in words if len(word) > 1 or _UNSPACED.match(word)}


def _plain(title: str) -> str:
    """A heading or a label without its marks, the signs before it and its colon."""
    return _SIGNS.sub("", title.replace("**", "").replace("__", "").strip()).rstrip(":： ")


def _over(block: Block) -> str:
    return block.headings[-1] if block.headings else ""


def _words(block: Block) -> str:
    """What a block says; of a row, each value behind the heading of its column."""
    if block.mark != ROW:
        return block.text
    columns = _pattern("columns")
    if len(block.cells) == 2 and all(columns.fullmatch(name.strip("* ")) for name, _ in block.cells):
        return f"{block.cells[0][1]}: {block.cells[1][1]}"
    return block.text


def _line(block: Block, text: str) -> str:
    """The line as it is known to the reader of lines."""
    mark = f"- {block.mark}" if block.mark in (OPEN, DONE) else "" if block.mark == ROW else block.mark
    return f"{mark} {text[:LONGEST]}" if mark else text[:LONGEST]


def _parts(text: str) -> Iterator[str]:
    """The text in parts of at most `LONGEST` characters, cut between sentences where there are any."""
    while len(text) > LONGEST:
        cut = max((end.end() for end in _SENTENCE.finditer(text, 0, LONGEST)), default=LONGEST)
        yield text[:cut].strip()
        text = text[cut:].strip()
    if text:
        yield text


def _is_answer(block: Block) -> bool:
    """Whether a block is the ticked answer to what the heading of a template asks."""
    return block.mark == DONE and bool(block.headings) and _pattern("template").fullmatch(block.text) is not None


def _is_placeholder(block: Block) -> bool:
    """Whether a block stands where something is still to be written, or says what to write there."""
    bare = block.text.strip("*_ .")
    if len(bare) > LONGEST:
        return False
    if block.mark in ("", OPEN) and _pattern("template").fullmatch(bare):
        return True
    if not block.mark and _INSIDE.fullmatch(block.text):
        return True
    return _pattern("placeholder").fullmatch(block.text) is not None
