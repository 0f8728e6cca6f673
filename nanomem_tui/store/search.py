"""Finding items by words: the full-text index where there is one, else the same words over the rows in RAM.

Scores are BM25 (k1 0.9, b 0.4) over the tokens of `tokens`, with small multipliers for importance, recency and hits.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from nanomem_tui import clock
from nanomem_tui.store import reader
from nanomem_tui.store.values import Hit, Item
from nanomem_tui.tokens import query_tokens, tokens

CANDIDATES = 200
K1, B = 0.9, 0.4


def candidates(
    connection: sqlite3.Connection, workspace_id: str, words: Sequence[str], accept: Callable[[Item], bool]
) -> list[Item]:
    """The first accepted items that the full-text index ranks for any of the words."""
    if not words:
        return []
    match = " OR ".join(f'"{word}"' for word in (w.replace('"', '""') for w in words))
    query = (
        "SELECT e.id FROM memory_entries_fts f JOIN memory_entries e ON e.number = f.rowid"
        " WHERE memory_entries_fts MATCH ? AND e.workspace_id = ? ORDER BY f.rank"
    )
    ids = connection.execute(query, (match, workspace_id))
    accepted: list[Item] = []
    while len(accepted) < CANDIDATES and (part := [row[0] for row in ids.fetchmany(CANDIDATES)]):
        found = reader.items_by_id(connection, workspace_id, part)
        accepted += [found[key] for key in part if key in found and accept(found[key])]
    return accepted[:CANDIDATES]


def rank(query: str, items: Iterable[Item], limit: int) -> list[Hit]:
    """The best `limit` active items for the query, best first, each with the parts of its score."""
    words = query_tokens(query)
    wanted = set(words)
    pool: list[tuple[Item, Counter[str], int]] = []
    seen: Counter[str] = Counter()
    total = count = 0
    for item in items:
        if item.is_deleted:
            continue
        found = tokens(item.text)
        count += 1
        total += len(found)
        matched = Counter(word for word in found if word in wanted)
        if matched:
            pool.append((item, matched, len(found)))
            seen.update(matched.keys())
    mean = total / count if count else 1.0
    hits = [_hit(item, matched, length, seen, count, mean) for item, matched, length in pool]
    hits.sort(key=lambda hit: (-hit.score, hit.item.id))
    return hits[:limit]


def _hit(item: Item, matched: Counter[str], length: int, seen: Counter[str], count: int, mean: float) -> Hit:
    lexical = 0.0
    for word, times in matched.items():
        idf = math.log(1 + (count - seen[word] + 0.5) / (seen[word] + 0.5))
        lexical += idf * times * (K1 + 1) / (times + K1 * (1 - B + B * length / mean))
    moment = clock.parse(item.updated_at)
    days = max(0.0, (clock.now() - moment).total_seconds() / 86400) if moment else 365.0
    recency = math.exp(-days / 180)
    usage = min(1.0, math.log1p(item.hits) / 5)
    score = lexical * (1 + 0.02 * item.importance + 0.02 * recency + 0.01 * usage)
    parts = {
        "terms": sorted(matched),
        "lexical": round(lexical, 6),
        "importance": item.importance,
        "recency": round(recency, 6),
        "hits": item.hits,
    }
    return Hit(item, score, parts)
