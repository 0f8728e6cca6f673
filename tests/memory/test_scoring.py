"""The profiles, each against sums made by hand from the formula of its seed."""

import math
import sqlite3
from datetime import UTC, datetime

import pytest

from nanomem_tui.memory.recall import scoring
from nanomem_tui.memory.recall.scoring import PROFILES
from nanomem_tui.store.item_index import Candidate
from nanomem_tui.store.values import Item

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
A_DAY_AGO = "2026-02-28T12:00:00+00:00"
HALF_A_YEAR_AGO = "2025-09-02T12:00:00+00:00"  # 180 days


def test_default_is_bm25_that_three_small_shares_raise():
    item = Item("i", "dark mode", importance=0.5, hits=3, updated_at=HALF_A_YEAR_AGO)
    other = Item("other", "dark", importance=0.5, hits=3, updated_at=HALF_A_YEAR_AGO)
    rated = [Candidate(item, 4.0), Candidate(other, 4.5), Candidate(item._replace(id="a"), 4.0)]
    first, second, one = scoring.rank_default(rated, 5, PROFILES["default"], NOW.date(), ["light", "dark"])
    assert [first.item.id, second.item.id, one.item.id] == ["other", "a", "i"]
    assert [row.item.id for row in scoring.rank_default(rated, 1, PROFILES["default"], NOW.date(), [])] == ["other"]
    importance, recency, hits = 0.02 * 0.5, 0.02 * math.exp(-1), 0.01 * math.log(4) / 5
    assert one.parts == {
        "terms": ["dark"],
        "lexical": 4.0,
        "importance": pytest.approx(importance),
        "recency": pytest.approx(recency),
        "hits": pytest.approx(hits),
    }
    assert one.score == pytest.approx(4.0 * (1 + importance + recency + hits))
    most = Item("m", "", importance=1.0, hits=10**9, updated_at="2026-03-01T12:00:00+00:00")
    assert sum(scoring.item_shares(most, PROFILES["default"], NOW.date())) == pytest.approx(0.05)


def test_of_many_candidates_the_best_stay_in_their_order():
    rated = [Candidate(Item(f"i{number}", ""), 1.0 + number % 7) for number in range(300)]
    every = scoring.rank_default(rated, len(rated), PROFILES["default"], NOW.date(), [])
    assert [one.score for one in every] == sorted((one.score for one in every), reverse=True)
    best = scoring.rank_default(rated, 12, PROFILES["default"], NOW.date(), [])
    assert [one.item.id for one in best] == [one.item.id for one in every[:12]]


def test_seed_000_is_the_sum_of_its_four_parts():
    rows = [
        Item("both", "User prefers concise replies", hits=2, updated_at=A_DAY_AGO),
        Item("one", "concise notes", hits=0, updated_at=A_DAY_AGO),
        Item("none", "tea", hits=0, updated_at="nonsense"),
    ]
    scored = scoring.rank_seed000("concise concise replies about boats", rows, PROFILES["seed000"], NOW)
    by_id = {one.item.id: one for one in scored}
    idf_concise, idf_replies = 1 + math.log(4 / 3), 1 + math.log(4 / 2)
    overlap = ((1 + math.log1p(2)) * idf_concise + (1 + math.log1p(1)) * idf_replies) / math.sqrt(4)
    recency = 0.2 / (1 + math.log1p(24))
    both = by_id["both"]
    assert both.parts["terms"] == ["concise", "replies"]
    assert both.parts["overlap"] == pytest.approx(overlap)
    assert both.parts["coverage"] == pytest.approx(0.75 * 2 / 4)
    assert both.parts["recency"] == pytest.approx(recency)
    assert both.parts["hits"] == pytest.approx(0.05 * math.log1p(2))
    assert both.score == pytest.approx(overlap + 0.375 + recency + 0.05 * math.log1p(2))
    assert by_id["one"].score == pytest.approx((1 + math.log1p(2)) * idf_concise / math.sqrt(2) + 0.75 / 4 + recency)
    assert by_id["none"].score == 0.0, "no recency without a time; and still an answer, the last"
    assert [one.item.id for one in scored] == ["both", "one", "none"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The repository PATHS, now", ("repo", "path")),
        ("我喜欢简洁的回复", ("我喜欢简洁的回复",)),
        ("更新配置 文件", ("更新配置", "config", "文件")),
        ("配置", ("config", "config")),
        ("a b cd_2", ("cd_2",)),
    ],
)
def test_seed_000_cuts_words_its_own_way(text, words):
    assert scoring.seed000_words(text) == words


TEXTS = [
    "User prefers dark mode in every editor, dark at night",
    "The editor is vim; naïve café dark",
    "flush_every updates is eight",
    "decided: deploy with flush every week",
    "女儿小满 dark",
]


@pytest.mark.parametrize("query", ["dark editor", "flush_every", "naive cafe", "the is", "deploy DEPLOY week", "x y"])
def test_the_bm25_of_seed_001_is_that_of_sqlite(query):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(entry_id UNINDEXED, content)")
    rows = [Item(f"i{n}", text) for n, text in enumerate(TEXTS)]
    connection.executemany(
        "INSERT INTO f VALUES (?, ?)", [(row.id, " ".join(row.text.lower().split())) for row in rows]
    )
    match = " OR ".join(scoring.seed001_words(query))
    wanted = dict(connection.execute("SELECT entry_id, bm25(f) FROM f WHERE f MATCH ?", (match,))) if match else {}
    assert scoring.seed001_bm25(query, rows) == pytest.approx(wanted)


def test_seed_001_is_the_sum_of_its_three_parts():
    rows = [
        (Item("best", "dark", importance=0.5, updated_at=HALF_A_YEAR_AGO), -3.0),
        (Item("mid", "dark", importance=0.9, updated_at="2026-03-01T12:00:00+00:00"), -2.0),
        (Item("least", "dark", importance=0.0, updated_at=""), -1.0),
    ]
    scored = {one.item.id: one for one in scoring.rank_seed001("dark", rows, PROFILES["seed001"], NOW)}
    assert scored["best"].score == pytest.approx(0.65 * 1 + 0.2 * 0.5 + 0.15 * math.exp(-1))
    assert scored["mid"].score == pytest.approx(0.65 * 0.5 + 0.2 * 0.9 + 0.15)
    assert scored["least"].score == pytest.approx(0.0)
    alone = scoring.rank_seed001("dark", rows[2:], PROFILES["seed001"], NOW)
    assert alone[0].score == pytest.approx(0.65), "one hit, or equal ones, count in full"


def test_seed_001_asks_for_sixteen_words_of_ascii():
    assert scoring.seed001_words("I do DO it, 小满, x_1") == ["do", "it", "x_1"]
    assert len(scoring.seed001_words(" ".join(f"w{n}" for n in range(40)))) == 16
