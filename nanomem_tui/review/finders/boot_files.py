"""What a boot file says already: the model reads SOUL.md, USER.md and MEMORY.md at every turn. An item that was taken
from one of them says so by its nature, and is no finding.

Must not decide what a boot file should say; the file stands, the memory beside it may go.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.language import spoken
from nanomem_tui.language.compare import compared
from nanomem_tui.language.tokens import tokens
from nanomem_tui.memory.safety import LONGEST
from nanomem_tui.review.finders import rows as finders_rows
from nanomem_tui.review.finders.rows import Rows, Verdicts
from nanomem_tui.review.finders.sources import said
from nanomem_tui.review.findings import Decision, Evidence, Finding
from nanomem_tui.store.values import Item, Row

# What SOUL.md, USER.md and MEMORY.md say, statement by statement, and whether a text says only what one of them says.

SHARED = 0.5
"""The share of the words of each that the other has at least, for the judge to be asked."""
HELD = 3
"""Statements that a text is held against at most: those that share most with it."""
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s*)?|^\s*>\s?")
_MARKUP = re.compile(r"\*\*|__|`|(?<!\w)\*|\*(?!\w)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NAME = re.compile(r"[^\W\d_]{2,}")
_CLAUSE = re.compile(r"(?<=[.;!?])\s+|[；。！？]")


class Statement(NamedTuple):
    """One statement of a boot file: the file, its line from 1, the line, what it says, and the heading over it."""

    file: str
    line: int
    text: str
    said: str
    heading: str


class Book:
    """The statements of all boot files, found by their words."""

    def __init__(self, files: Iterable[tuple[str, str]]) -> None:
        texts = list(files)
        names = [word for _, text in texts for name in spoken.names_given(text) for word in _NAME.findall(name)]
        self._name = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b" if names else "(?!)")
        self._words: dict[Statement, int] = {}
        self._by_word: dict[str, list[Statement]] = {}
        for name, text in texts:
            for statement in _statements(name, text):
                words = {*tokens(statement.said)}
                self._words[statement] = len(words)
                for word in {*words, *tokens(statement.heading)}:
                    self._by_word.setdefault(word, []).append(statement)

    def find(self, text: str) -> Statement | None:
        """The statement that says all that `text` says; None where none does."""
        words = {*tokens(text)}
        met = [word for word in words if word in self._by_word]
        if not met or len(met) < SHARED * len(words):  # most texts end here
            return None
        shared = Counter(one for word in met for one in self._by_word[word])
        near = [
            one for one, count in shared.most_common(HELD)
            if count >= SHARED * len(words) and count >= SHARED * self._words[one]
        ]  # fmt: skip
        return next((one for one in near if self._says(one, text)), None)

    def _says(self, one: Statement, text: str) -> bool:
        bare = self._name.sub("User", text)
        said = [self._name.sub("User", one.said), *([f"{one.heading}: {one.said}"] if one.heading else [])]
        return any("same" in (compared(line, bare).relation, compared(bare, line).relation) for line in said)


def _statements(name: str, text: str) -> Iterator[Statement]:
    heading, fenced = "", False
    for number, line in enumerate(_COMMENT.sub(_blank_lines, text).split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and (found := _HEADING.match(line)):
            heading = found[2].strip()
        elif not fenced and line.strip():
            bare = _MARKUP.sub("", _BULLET.sub("", line)).strip()
            for part in dict.fromkeys((bare, *(filter(None, map(str.strip, _CLAUSE.split(bare)))))):
                yield Statement(name, number, line.strip(), part, heading)


def _blank_lines(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


@lru_cache(8)
def book_of(files: tuple[tuple[str, str], ...]) -> Book:
    """The statements of these files, each its name and its text."""
    return Book(files)


OFFERS: tuple[Decision, ...] = ("delete", "keep", "disable", "edit")
OF_LESSON: tuple[Decision, ...] = ("disable", "keep", "delete", "edit")


class Restated:
    """Finds items and lessons that say only what stands in a boot file."""

    kinds = ("restated",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._book: Book | None = None
        self._ids: tuple[int, frozenset[str]] = (-1, frozenset())
        self._where: Verdicts[Statement | None] = Verdicts(lambda _: None)

    def find(self) -> Iterable[Finding]:
        """All of them."""
        self._read()
        counter, said_already = self._rows.counter, list(self._found())
        self._ids = counter, frozenset(row.id for row, _ in said_already)
        return [finding for row, finding in said_already if not _is_from_boot_file(row)]

    def ids(self) -> frozenset[str]:
        """The items that stand in a boot file: of these nobody need be asked a second time."""
        if self._ids[0] != self._rows.counter:
            self.find()
        return self._ids[1]

    def _found(self) -> Iterator[tuple[Row, Finding]]:
        rows: Sequence[Row] = [*self._items(), *self._rows.lessons()]
        for row in rows:
            statement = self._statement(row)
            if statement is not None:
                why = f"{statement.file}, line {statement.line} says it already"
                offers = OFFERS if isinstance(row, Item) else OF_LESSON
                weight = 0.8 if isinstance(row, Item) else 0.4
                yield row, self._rows.finding("restated", row, why, offers, weight, statement.text)

    def _items(self) -> Iterator[Item]:
        """Those that recall gives; a fact is looked up by its key, whatever a file says."""
        return (row for row in self._rows.unpinned() if not finders_rows.is_fact(row))

    def _read(self) -> None:
        """Read the boot files; where they changed all is judged anew."""
        book = book_of(tuple(self._files()))
        if book is not self._book:
            self._book, self._where = book, Verdicts(book.find)

    def _files(self) -> Iterator[tuple[str, str]]:
        for name in TRACKED_FILES:
            try:
                text = self._rows.ws.documents.read(name)
            except NanomemError:
                continue  # the status says what is wrong with it
            if text:
                yield name, text

    def _statement(self, row: Row) -> Statement | None:
        text = row.text if isinstance(row, Item) else row.better_action
        return self._where.of(row.id, text) if len(text) <= 2 * LONGEST else None

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """The line of the boot file, and who said it here."""
        row = self._rows.row(finding)
        if row is None:
            return ()
        self._read()
        statement = self._statement(row)
        line = [] if statement is None else [_line(statement)]
        return [*line, *said(self._rows, row)]


def _is_from_boot_file(row: Row) -> bool:
    """Whether a backfill or an import took the row from a boot file."""
    source = row.meta.get("from")
    return isinstance(source, dict) and source.get("file") in TRACKED_FILES


def _line(statement: Statement) -> Evidence:
    from nanomem_tui.language import secrets

    label = f"{statement.file}, line {statement.line}"
    return Evidence(label, secrets.mask(statement.text), origin=statement.file)
