"""Search the records of an agent's work and the knowledge base in their full-text indexes, which `indexes` keeps.

A search of records has a bound, however many there are: a word that few rows hold is looked up whole; of one that many
hold only the newest rows count, and those of the newest that hold the rarest such words together
(docs/decisions/0040). A search of documents gets candidates here, and is rated elsewhere.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    TextClause,
    column,
    func,
    select,
    text,
)
from sqlalchemy import table as named_table
from sqlalchemy.sql.expression import ColumnClause

from nanomem_tui.core.text import normalised
from nanomem_tui.language import tokens
from nanomem_tui.store.database.full_text import fitting_words, lexeme
from nanomem_tui.store.database.reading import escape_nul, unescape_nul
from nanomem_tui.store.word_index import idf, nearest, saturated
from nanomem_tui.store.work import models
from nanomem_tui.store.work import records as work_records
from nanomem_tui.store.work.kinds import KINDS, Kind, Tier
from nanomem_tui.store.work.models import TABLES
from nanomem_tui.store.work.records import is_file, key_column, tier_word
from nanomem_tui.store.work.values import Chunk, TierHit, TierRecord, Where, words_of

NEWEST, FEWER = 128, 64
"""Rows of one word that are looked at in a table, the newest first, and where many kinds are searched; as many as are
asked for, if that is more."""
MANY = 3
"""Kinds that are many."""
TOGETHER = 3
"""Common words, the rarest of them, that such a row holds: of one that every other row holds, all would be read."""
WINDOW = 10_000
"""The newest rows among which those are sought that hold some words together."""
RATED = 24
"""Rows that are read, and rated by what they hold; twice as many as are asked for, if that is more."""
MOST_WORDS = 12
MOST_PATTERNS = 10_000
"""Patterns that share a word with a situation and are looked at, the newest."""
ABOUT_AS_WELL = 0.85
"""The share of the best fit of a pattern from which on its record decides."""
TITLE, SECTION = 4.0, 2.0
"""What a word in the title or the section counts beside one in the text, when the index chooses candidates."""
_LAST = "\U0010ffff"
_DOCUMENTS = models.table(models.DocumentRow)
_CHUNKS = models.table(models.ChunkRow)

# -- records that hold words ------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A kind that is searched: of one tier or of both, and which of its records count."""

    kind: Kind
    tier: Tier | None = None
    where: Where = Where()


def _newest(connection: Connection, asked: Asked) -> int:
    if asked.tier is None:
        return work_records.newest_number(connection, asked.kind)
    return max(_holding(connection, asked._replace(where=Where()), [[]], 1)[0], default=0)


def _holding(
    connection: Connection, asked: Asked, wanted: Sequence[Sequence[str]], most: int, since: int = 0
) -> list[list[int]]:
    """Of each of some lists of words the newest rows that hold all of them, from the number `since` on."""
    tier = [tier_word(asked.tier)] if asked.tier is not None else []
    values: dict[str, Any] = {"since": since, "most": most}
    conditions = []
    for place, (name, value) in enumerate(asked.where.fields.items()):
        conditions.append(f'"{name}" = :field{place}' if value is not None else f'"{name}" IS NULL')
        if value is not None:
            values[f"field{place}"] = escape_nul(value) if isinstance(value, str) else value + 0  # no truth on a server
    for name, sign in (("since", ">="), ("until", "<")):
        if moment := getattr(asked.where, name):
            conditions.append(f"at {sign} :of_{name}")
            values[f"of_{name}"] = moment
    for place, words in enumerate(wanted):
        values[f"query{place}"] = _query(connection, [*tier, *words], every=True)
    found: list[list[int]] = [[] for _ in wanted]
    statement = _lookup(asked.kind.table, connection.dialect.name, len(wanted), " AND ".join(conditions))
    for place, number in connection.execute(statement, values):
        found[place].append(number)
    return [sorted(numbers, reverse=True) for numbers in found]


@lru_cache(maxsize=256)
def _lookup(table: str, dialect: str, many: int, condition: str) -> TextClause:
    """The statement that gives (place, number) for so many queries. Its texts are names of ours; values are bound."""
    key = "rowid" if dialect == "sqlite" else "number"
    fits = (
        f" AND EXISTS (SELECT 1 FROM {table} WHERE number = {table}_words.{key} AND {condition})" if condition else ""
    )
    parts = (
        f"SELECT * FROM (SELECT {place} AS place, {key} FROM {table}_words WHERE {_matches(table, dialect, place)}"
        f" AND {key} >= :since{fits} ORDER BY {key} DESC LIMIT :most) AS part{place}"
        for place in range(many)
    )
    return text(" UNION ALL ".join(parts))


def _matches(table: str, dialect: str, place: int | str = "") -> str:
    if dialect == "sqlite":
        return f"{table}_words MATCH :query{place}"
    return f"{table}_words.words @@ CAST(:query{place} AS tsquery)"


def _query(connection: Connection, words: Sequence[str], *, every: bool, title: bool = False) -> str:
    if is_file(connection):
        return (" " if every else " OR ").join(f'{"title:" if title else ""}"{word}"' for word in words)
    return (" & " if every else " | ").join(f"{lexeme(word)}{':A' if title else ''}" for word in fitting_words(words))


def find(connection: Connection, asked: Sequence[Asked], question: str, limit: int) -> list[TierHit]:
    """Return the best `limit` records of these kinds for the words of a question, best first; equal ones newest first.

    Where a condition narrows a kind, all of its rows that hold a word may be read, however many they are.
    """
    most = max(FEWER if len(asked) >= MANY else NEWEST, limit)
    weights = dict(list(tokens.query_weights(question, MOST_WORDS).items())[:MOST_WORDS])
    likely: list[tuple[float, int, int]] = []
    weighed: list[dict[str, float]] = []
    for place, one in enumerate(asked if weights else ()):
        worth: dict[str, float] = {}
        if one.kind.words:
            worth, scores = _looked_up(connection, one, weights, most)
            likely += [(score, place, number) for number, score in scores.items()]
        weighed.append(worth)
    best = heapq.nlargest(max(RATED, 2 * limit), likely)
    rated: list[TierHit] = []
    for place, one in enumerate(asked):
        numbers = [number for _, at, number in best if at == place]
        if numbers:
            rated += _rated(list(work_records.by_numbers(connection, one.kind, numbers).values()), weighed[place])
    rated.sort(key=lambda one: (one.record.at, one.record.key), reverse=True)
    return sorted(rated, key=lambda one: -one.score)[:limit]


def _looked_up(
    connection: Connection, asked: Asked, weights: Mapping[str, float], most: int
) -> tuple[dict[str, float], dict[int, float]]:
    """What each word is worth in a kind, and what its rows may be worth."""
    scores: defaultdict[int, float] = defaultdict(float)
    newest = _newest(connection, asked)
    rows = _holding(connection, asked, [[word] for word in weights], most) if newest else []
    holding = dict(zip(weights, rows, strict=False))
    common = [word for word, found in holding.items() if len(found) == most]
    worth: dict[str, float] = {}
    for word, found in holding.items():
        frequency = _frequency(found, newest, most)
        worth[word] = weights[word] * math.log(1 + (newest - frequency + 0.5) / (frequency + 0.5))
    if len(common) > 1:
        rarest = sorted(common, key=lambda word: -worth[word])[:TOGETHER]
        (both,) = _holding(connection, asked, [rarest], most, newest - WINDOW)
        for word in common:
            holding[word] = list({*both, *holding[word]})
    for word, found in holding.items():
        for number in found:
            scores[number] += worth[word]
    return worth, scores


def _frequency(found: Sequence[int], newest: int, most: int) -> float:
    """How many rows hold a word: counted, or reckoned from how close together the newest of them lie."""
    if len(found) < most:
        return float(len(found))
    return most * newest / max(most, newest - found[-1] + 1)


def _rated(records: Sequence[TierRecord], worth: Mapping[str, float]) -> list[TierHit]:
    held = [words_of(record) for record in records]
    mean = max(1.0, sum(map(len, held)) / max(1, len(held)))
    rated: list[TierHit] = []
    for record, words in zip(records, held, strict=True):
        counts = Counter(word for word in words if word in worth)
        score = sum(worth[word] * saturated(times, len(words), mean) for word, times in counts.items())
        if counts:
            rated.append(TierHit(record, score, {"lexical": round(score, 6), "words": [*counts]}))
    return rated


# -- the pattern for a situation --------------------------------------------------------------------------------------


def best_pattern(connection: Connection, situation: str, least: float) -> TierRecord | None:
    """Return the pattern to use: one of just that trigger, else of those that fit about as well as any the one that
    succeeded most, then the one used most. `least`: the success rate below which none counts."""
    fits = [fit for fit in _fitting(connection, situation, least) if fit[0]]
    nearest_fit = max((fit for fit, *_ in fits), default=0.0)
    about = [one for one in fits if one[0] >= (nearest_fit if nearest_fit > 1 else nearest_fit * ABOUT_AS_WELL)]
    if not about:
        return None
    *_, number = max(about, key=lambda one: one[1:4])
    return work_records.by_numbers(connection, KINDS["pattern"], [number])[number]


def _fitting(connection: Connection, situation: str, least: float) -> Iterator[tuple[float, float, int, str, int]]:
    """How well patterns fit, their success rates, uses, ids and numbers."""
    patterns = TABLES["pattern"].c
    columns = (patterns.number, patterns.id, patterns.trigger, patterns.success_rate, patterns.uses)
    good = select(*columns).where(patterns.success_rate >= least)
    worth = (patterns.success_rate.desc(), patterns.uses.desc(), patterns.id.desc())
    found = list(connection.execute(good.where(patterns.trigger == situation).order_by(*worth).limit(1)))
    words = frozenset(tokens.query_tokens(situation))
    if words:
        key: ColumnClause[int] = column(key_column(connection))
        index = named_table("patterns_words", key)
        holding = text(_matches("patterns", connection.dialect.name)).bindparams(
            query=_query(connection, sorted(words), every=False)
        )
        joined = TABLES["pattern"].join(index, patterns.number == index.c[key.name])
        near = good.select_from(joined).where(holding)
        found += connection.execute(near.order_by(patterns.number.desc()).limit(MOST_PATTERNS))
    plain = normalised(situation)
    for number, record_id, trigger, rate, uses in found:
        fit = 2.0 if normalised(trigger) == plain else _fit(words, frozenset(tokens.query_tokens(trigger)))
        yield fit, rate, uses, record_id, number


def _fit(asked: frozenset[str], trigger: frozenset[str]) -> float:
    """The share of their words that a situation and a trigger have in common (0 to 1); 0 where that is no fit: less
    than half of the situation, and not all of the trigger."""
    shared = len(asked & trigger)
    # A trigger of one word, as `nginx is down` is, would fit every long text about nginx.
    whole = shared == len(trigger) and (shared > 1 or len(asked) <= 3)
    return 2 * shared / (len(asked) + len(trigger)) if whole or 2 * shared >= len(asked) else 0.0


# -- the knowledge base -----------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A chunk as a search finds it, with the document that it is of."""

    id: str
    document_id: str
    chunk: Chunk
    kind: str
    title: str
    source: str
    about: str


class Shelf:
    """The index of a knowledge base, for one search."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held: dict[str, int] = {}

    def count(self) -> int:
        """Count the chunks."""
        return self._number(select(func.count()).select_from(_CHUNKS))

    def documents(self) -> int:
        """Count the documents."""
        return self._number(select(func.count()).select_from(_DOCUMENTS))

    def rows_with(self, word: str) -> int:
        """Count the chunks that hold a word, in title, section or text."""
        if word not in self._held:
            if is_file(self._connection):
                asked = text("SELECT doc FROM knowledge_terms WHERE term = :word").bindparams(word=word)
            else:
                asked = _matching(self._connection, "SELECT count(*) FROM knowledge_words WHERE ", [word])
            self._held[word] = self._number(asked)
        return self._held[word]

    def titles_with(self, word: str) -> int:
        """Count the documents that hold a word in their title, or in what they are about."""
        key = f"knowledge_words.{key_column(self._connection)}"
        joined = f"knowledge_words JOIN knowledge_chunks c ON c.number = {key}"
        asked = f"SELECT count(DISTINCT c.document_id) FROM {joined} WHERE "
        return self._number(_matching(self._connection, asked, [word], title=True))

    def nearest(self, word: str) -> str | None:
        """Find the word with the same first letter that `word` was probably meant to be; None when nothing is near."""
        if is_file(self._connection):
            asked = (
                "SELECT term FROM knowledge_terms WHERE term >= :first AND term < :last"
                " AND length(term) BETWEEN :a AND :b"
            )
        else:
            asked = (
                "SELECT word FROM ts_stat('SELECT words FROM knowledge_words')"
                " WHERE starts_with(word, :first) AND length(word) BETWEEN :a AND :b"
            )
        first = word[:1]
        values = {"first": first, "last": first + _LAST, "a": len(word) - 2, "b": len(word) + 2}
        known = {name: value for name, value in values.items() if f":{name}" in asked}
        found = self._connection.execute(text(asked), known)
        return nearest(word, list(found.scalars()), self.rows_with)

    def best(self, words: Iterable[str], kinds: Sequence[str], limit: int) -> list[Row]:
        """List the chunks that hold any of the words, those first that the index ranks first; of `kinds` of documents
        alone where they are named."""
        wanted = [word for word in words if self.rows_with(word)]
        if not wanted:
            return []
        key: ColumnClause[int] = column(key_column(self._connection))
        index = named_table("knowledge_words", key)
        joined = index.join(_CHUNKS, _CHUNKS.c.number == index.c[key.name])
        joined = joined.join(_DOCUMENTS, _DOCUMENTS.c.id == _CHUNKS.c.document_id)
        place = (_CHUNKS.c.section, _CHUNKS.c.line_from, _CHUNKS.c.line_to, _CHUNKS.c.text)
        chunk = (_CHUNKS.c.id, _CHUNKS.c.document_id, *place)
        of = (_DOCUMENTS.c.kind, _DOCUMENTS.c.title, _DOCUMENTS.c.source, _DOCUMENTS.c.about)
        asked = select(*chunk, *of).select_from(joined).where(_matching(self._connection, "", wanted))
        if kinds:
            asked = asked.where(_DOCUMENTS.c.kind.in_(kinds))
        asked = asked.order_by(self._order(wanted), _CHUNKS.c.number).limit(limit)
        found = self._connection.execute(asked)
        return [
            Row(
                key, document_id, Chunk(unescape_nul(section), line_from, line_to, unescape_nul(said)), kind,
                *map(unescape_nul, names),
            )
            for key, document_id, section, line_from, line_to, said, kind, *names in found
        ]  # fmt: skip

    def _order(self, words: Sequence[str]) -> TextClause:
        if is_file(self._connection):
            return text(f"bm25(knowledge_words, {TITLE}, {SECTION}, 1.0)")
        total = self.count()
        parts, values = [], {}
        for place, word in enumerate(words):
            worth = idf(total, self.rows_with(word))
            for mark, counts in (("", 1.0), (":B", SECTION), (":A", TITLE)):
                name = f"part{place}{mark[1:]}"
                parts.append(f"CASE WHEN words @@ CAST(:{name} AS tsquery) THEN {worth * counts:.6f} ELSE 0 END")
                values[name] = f"{lexeme(word)}{mark}"
        return text(f"({' + '.join(parts)}) / (1 + ln(1 + length(words))) DESC").bindparams(**values)

    def _number(self, asked: Any) -> int:
        return int(self._connection.execute(asked).scalar() or 0)


def _matching(connection: Connection, begin: str, words: Sequence[str], *, title: bool = False) -> TextClause:
    """A statement, or a condition, that ends with: holds any of the words, or holds them in the title."""
    statement = text(begin + _matches("knowledge", connection.dialect.name))
    return statement.bindparams(query=_query(connection, words, every=False, title=title))
