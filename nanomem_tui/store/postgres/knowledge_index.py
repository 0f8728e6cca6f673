"""The full-text index of the knowledge base on a server, with the faces of `knowledge_index.Shelf` and `Writer`.

A whole number says by its bits which of the next rows hold a word, as with the words of records (`tier_words`); others
beside it say which hold it more than once, in their section and in their title. Each word has a count of its chunks,
and of the documents that have it in their title. Must not know how hits are ranked in the end.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nanomem_tui.store.knowledge_index import SECTION, SELECTED, TITLE, Named, Row, row_of, title_words
from nanomem_tui.store.knowledge_values import Chunk
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_words import BITS, kept, parts, place, rows_in
from nanomem_tui.store.vocabulary import nearest
from nanomem_tui.store.word_index import idf
from nanomem_tui.tokens import tokens

TABLES = {
    "knowledge_words": """CREATE TABLE knowledge_words (
        workspace_id TEXT COLLATE "C" NOT NULL, word TEXT COLLATE "C" NOT NULL, block BIGINT NOT NULL,
        held BIGINT NOT NULL, often BIGINT NOT NULL, section BIGINT NOT NULL, title BIGINT NOT NULL,
        PRIMARY KEY (workspace_id, word, block))""",
    "knowledge_terms": """CREATE TABLE knowledge_terms (
        workspace_id TEXT COLLATE "C" NOT NULL, word TEXT COLLATE "C" NOT NULL, held BIGINT NOT NULL,
        titled BIGINT NOT NULL, PRIMARY KEY (workspace_id, word))""",
}
K1, B = 1.2, 0.75
"""BM25 as FTS5 has it: how soon a repeated word stops to count, and how much a long text is held back."""
OFTEN = 2.5
"""How often a word is taken to be in a text that holds it more than once."""
WIDER = 4
"""Times as many chunks as are asked for whose length is looked at, where more hold a word."""
Bits = tuple[int, int, int, int]
"""Which rows hold a word: at all, more than once, in the section, in the title."""


class PgWriter:
    """Collects what changes of the words, and writes it with a few statements."""

    def __init__(self, connection: Connection, workspace_id: str) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        self._new: defaultdict[tuple[str, int], Bits] = defaultdict(lambda: (0, 0, 0, 0))
        self._gone: Counter[tuple[str, int]] = Counter()
        self._held: Counter[str] = Counter()
        self._titled: Counter[str] = Counter()

    def add(self, number: int, one: Named, chunk: Chunk) -> None:
        """Put a chunk of a document into it."""
        block, bit = place(number)
        text, section, title = _words(one, chunk)
        for word in kept([*text, *section, *title]):
            bits = (bit, bit * (text[word] > 1), bit * (word in section), bit * (word in title))
            was = self._new[word, block]
            self._new[word, block] = (was[0] | bits[0], was[1] | bits[1], was[2] | bits[2], was[3] | bits[3])
            self._held[word] += 1

    def forget(self, number: int, one: Named, chunk: Chunk) -> None:
        """Take a chunk out of it."""
        block, bit = place(number)
        for word in kept([found for part in _words(one, chunk) for found in part]):
            self._gone[word, block] |= bit
            self._held[word] -= 1

    def counted(self, one: Named, by: int) -> None:
        """Note that there is a document more, or less, with chunks."""
        for word in kept(title_words(one)):
            self._titled[word] += by

    def done(self) -> None:
        """Write what waits."""
        self._take_away()
        self._put()
        self._count()

    def _take_away(self) -> None:
        if not self._gone:
            return
        words, blocks, bits = _columns([(word, block, mask) for (word, block), mask in self._gone.items()])
        names = ("held", "often", "section", "title")
        self._connection.execute(
            f"UPDATE knowledge_words AS w SET {', '.join(f'{name} = w.{name} & ~u.held' for name in names)}"
            " FROM unnest(CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS bigint[])) AS u (word, block, held)"
            " WHERE w.workspace_id = ? AND w.word = u.word AND w.block = u.block",
            (words, blocks, bits, self._workspace_id),
        )
        self._connection.execute(
            "DELETE FROM knowledge_words WHERE workspace_id = ? AND word = ANY(CAST(? AS text[]))"
            " AND block = ANY(CAST(? AS bigint[])) AND held = 0",
            (self._workspace_id, words, sorted(set(blocks))),
        )
        self._gone.clear()

    def _put(self) -> None:
        if not self._new:
            return
        columns = _columns([(word, block, *bits) for (word, block), bits in sorted(self._new.items())])
        self._connection.execute(
            "INSERT INTO knowledge_words (workspace_id, word, block, held, often, section, title) SELECT ?, u.*"
            f" FROM unnest(CAST(? AS text[]), {', '.join(['CAST(? AS bigint[])'] * 5)}) AS u"
            " ON CONFLICT (workspace_id, word, block) DO UPDATE SET held = knowledge_words.held | excluded.held,"
            " often = knowledge_words.often | excluded.often, section = knowledge_words.section | excluded.section,"
            " title = knowledge_words.title | excluded.title",
            (self._workspace_id, *columns),
        )
        self._new.clear()

    def _count(self) -> None:
        words = sorted({*self._held, *self._titled})
        changed = [(word, self._held[word], self._titled[word]) for word in words]
        changed = [row for row in changed if row[1] or row[2]]
        if changed:
            self._connection.execute(
                "INSERT INTO knowledge_terms (workspace_id, word, held, titled) SELECT ?, u.*"
                " FROM unnest(CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS bigint[])) AS u"
                " ON CONFLICT (workspace_id, word) DO UPDATE SET held = knowledge_terms.held + excluded.held,"
                " titled = knowledge_terms.titled + excluded.titled",
                (self._workspace_id, *_columns(changed)),
            )
            self._connection.execute(
                "DELETE FROM knowledge_terms WHERE workspace_id = ? AND word = ANY(CAST(? AS text[])) AND held <= 0",
                (self._workspace_id, [row[0] for row in changed]),
            )
        self._held.clear()
        self._titled.clear()


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _words(one: Named, chunk: Chunk) -> tuple[Counter[str], Counter[str], Counter[str]]:
    return Counter(tokens(chunk.text)), Counter(tokens(chunk.section)), Counter(title_words(one))


class PgShelf:
    """The index of one workspace, for one search."""

    def __init__(self, connection: Connection, workspace_id: str) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        self._known: dict[str, tuple[int, int]] = {}

    def count(self) -> int:
        """How many chunks there are."""
        return self._number("SELECT count(*) FROM knowledge_chunks WHERE workspace_id = ?")

    def documents(self) -> int:
        """How many documents there are."""
        return self._number("SELECT count(*) FROM knowledge_documents WHERE workspace_id = ?")

    def _number(self, query: str) -> int:
        return int(self._connection.execute(query, (self._workspace_id,)).fetchone()[0])

    def rows_with(self, word: str) -> int:
        """How many chunks hold a word, in title, section or text."""
        return self._counts(word)[0]

    def titles_with(self, word: str) -> int:
        """How many documents hold a word in their title, or in what they are about."""
        return self._counts(word)[1]

    def _counts(self, word: str) -> tuple[int, int]:
        if word not in self._known:
            query = "SELECT held, titled FROM knowledge_terms WHERE workspace_id = ? AND word = ?"
            row = self._connection.execute(query, (self._workspace_id, word)).fetchone()
            self._known[word] = (int(row[0]), int(row[1])) if row is not None else (0, 0)
        return self._known[word]

    def nearest(self, word: str) -> str | None:
        """The word with the same first letter that `word` was probably meant to be; None when nothing is near."""
        query = (
            "SELECT word FROM knowledge_terms WHERE workspace_id = ? AND held > 0 AND word >= ? AND word < ?"
            " AND length(word) BETWEEN ? AND ?"
        )
        values = (self._workspace_id, word[:1], word[:1] + "\U0010ffff", len(word) - 2, len(word) + 2)
        return nearest(word, [row[0] for row in self._connection.execute(query, values)], self.rows_with)

    def best(self, words: Iterable[str], kinds: Sequence[str], limit: int) -> Iterator[Row]:
        """The chunks that hold any of the words, those first that hold more of them, rarer ones, in shorter texts."""
        found = self._found(list(words))
        most = len(found) if kinds else WIDER * limit
        wider = heapq.nlargest(most, found, key=lambda number: (found[number], -number))
        if len(wider) > limit or kinds:
            wider = self._shorter_first(wider, found, kinds)[:limit]
        rows = self._rows(wider)
        yield from (rows[number] for number in wider if number in rows)

    def _found(self, words: Sequence[str]) -> dict[int, float]:
        """How often the rows hold the words, and how rare these are: as much as their bits tell."""
        total = self.count()
        query = (
            "SELECT word, block, held, often, section, title FROM knowledge_words"
            " WHERE workspace_id = ? AND word = ANY(CAST(? AS text[]))"
        )
        scores: defaultdict[int, float] = defaultdict(float)
        for word, block, *bits in self._connection.execute(query, (self._workspace_id, list(words))):
            held, often, section, title = bits
            worth = idf(total, self.rows_with(word))
            for number in rows_in(block, held):
                bit = 1 << (number % BITS)
                times = (OFTEN if often & bit else 1.0) + SECTION * bool(section & bit) + TITLE * bool(title & bit)
                scores[number] += worth * times * (K1 + 1) / (times + K1)
        return scores

    def _shorter_first(self, numbers: Sequence[int], scores: Mapping[int, float], kinds: Sequence[str]) -> list[int]:
        """The best of some rows with their lengths taken into account; of `kinds` of documents alone."""
        of_kinds = f" AND d.kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        lengths: dict[int, int] = {}
        for part in parts(numbers):
            query = (
                "SELECT c.number, length(c.text) FROM knowledge_chunks c JOIN knowledge_documents d"
                " ON d.workspace_id = c.workspace_id AND d.id = c.document_id WHERE c.workspace_id = ?"
                f" AND c.number IN ({', '.join('?' * len(part))}){of_kinds}"
            )
            lengths |= dict(self._connection.execute(query, (self._workspace_id, *part, *kinds)).fetchall())
        mean = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
        rated = {
            number: scores[number] * (1 + K1) / (1 + K1 * (1 - B + B * length / mean))
            for number, length in lengths.items()
        }
        return sorted(rated, key=lambda number: (-rated[number], number))

    def _rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        found: dict[int, Row] = {}
        for part in parts(numbers):
            query = (
                f"SELECT {SELECTED} FROM knowledge_chunks c JOIN knowledge_documents d"
                " ON d.workspace_id = c.workspace_id AND d.id = c.document_id"
                f" WHERE c.workspace_id = ? AND c.number IN ({', '.join('?' * len(part))})"
            )
            found |= {row[0]: row_of(row) for row in self._connection.execute(query, (self._workspace_id, *part))}
        return found
