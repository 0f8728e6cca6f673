"""What a boot file says already: the model reads SOUL.md, USER.md and MEMORY.md at every turn. An item that was taken
from one of them says so by its nature, and is no finding.

Must not decide what a boot file should say; the file stands, the memory beside it may go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.curation.finders import use
from nanomem_tui.curation.finders.boot_files import Book, Statement, book_of
from nanomem_tui.curation.finders.origin import said
from nanomem_tui.curation.finders.rows import Rows, Verdicts
from nanomem_tui.curation.values import Decision, Evidence, Finding
from nanomem_tui.memory.safety import LONGEST
from nanomem_tui.store.values import Item, Row

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
        return (row for row in self._rows.unpinned() if not use.is_fact(row))

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
