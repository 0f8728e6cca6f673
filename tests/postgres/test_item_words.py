"""The words of items on a server: the same rows are found as in a file, as the walls of the database let them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import Conflict, Refused
from nanomem_tui.memory.recall import Question
from nanomem_tui.store import reader, reindex
from nanomem_tui.store.postgres import postings
from nanomem_tui.store.postgres.full_text import PgFullText
from nanomem_tui.store.postgres.server import Server
from nanomem_tui.store.word_index import idf
from nanomem_tui.store.word_search import saturated
from nanomem_tui.tokens import tokens
from nanomem_tui.workspace import Workspace
from tests.postgres_server import PostgresServer, schema_in
from tests.store.homes import make_home

pytestmark = pytest.mark.vectors


def test_words_are_made_anew_from_the_rows(home: Path, url: str) -> None:
    with open_workspace(home) as ws:
        for number in range(30):
            ws.items.add(f"note {number} about ferries")
        ws.items.delete([ws.items.all()[0].id])
        ws.flush()
        assert reindex.state(ws.store).current
        server = Server(url, ws.id)
        with server.writing() as connection:
            connection.execute("DELETE FROM memory_postings WHERE workspace_id = ? AND word < 'g'", (ws.id,))
        server.close()
        assert not reindex.state(ws.store).current
        assert reindex.rebuild(ws.store).current


WORDS = ["ferry", "window", "seat", "tea", "sugar", "Porto", "train", "meeting", "budget", "garden", "violin", "doctor"]


def test_a_search_finds_what_it_finds_in_a_file(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(7)
    rows = [" ".join(draw.choices(WORDS, k=draw.randint(2, 9))) + f" {number}" for number in range(400)]
    found: list[list[list[str]]] = []
    for where in ("", url):
        monkeypatch.setenv("NANOMEM_DATABASE_URL", where)
        monkeypatch.setenv("NANOMEM_RECALL_BACKEND", "sqlite_fts")
        workspace = make_home(tmp_path / ("server" if where else "file"), items=0, lessons=0)
        with open_workspace(workspace) as ws:
            for row in rows:
                ws.items.add(row)
        with open_workspace(workspace) as ws:
            asked = [" ".join(draw.sample(WORDS, 3)) for draw in (random.Random(n) for n in range(40))]
            answers = [ws.recall.ask(Question(question)).hits for question in asked]
            found.append([[hit.item.text for hit in hits] for hits in answers])
    in_a_file, on_a_server = found
    same = [len(set(a) & set(b)) / max(1, len(a)) for a, b in zip(in_a_file, on_a_server, strict=True)]
    assert sum(same) / len(same) >= 0.99


def test_a_server_of_the_schema_before_is_brought_up_by_the_next_change(
    home: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOMEM_RECALL_BACKEND", "sqlite_fts")
    with open_workspace(home) as ws:
        ws.items.add("the ferry leaves at nine")
        ws.flush()
        server = Server(url, ws.id)
    with server.alone() as raw:
        raw.execute("DROP TABLE memory_postings")
        raw.execute("ALTER TABLE memory_entries ADD COLUMN words TSVECTOR")
        raw.execute("CREATE INDEX idx_memory_words ON memory_entries USING gin (words)")
        raw.execute("UPDATE memory_meta SET key = replace(key, ':posted_', ':index_')")
        raw.execute("DROP POLICY nanomem_members_of_one_role ON nanomem_members")
        raw.execute("UPDATE nanomem_schema SET version = 4")
    with open_workspace(home) as ws:
        assert [hit.item.text for hit in ws.recall.ask(Question("ferry")).hits] == ["the ferry leaves at nine"]
        ws.items.add("the ferry is late")
        ws.flush()
        assert reindex.state(ws.store).current
        found = ws.recall.ask(Question("ferry"))
        assert (len(found.hits), found.backend) == (2, "sqlite_fts")
    with server.alone() as raw:
        keys = {key.rpartition(":")[2] for (key,) in raw.execute("SELECT key FROM memory_meta")}
    assert not keys & {"index_rows", "index_length"}
    server.close()


def test_the_words_of_items_are_found_by_a_key_behind_a_wall(
    home: Path, url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A superuser passes by the walls, and sees indexes used that nobody else does."""
    import psycopg

    with open_workspace(home) as ws:
        ws.items.add("the ferry leaves at nine")
        ws.flush()
        name = ws.id
    place = schema_in(url)
    postgres.run(
        "postgres", "DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN",
        f"GRANT USAGE ON SCHEMA {place} TO reader", f"GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO reader",
        f"INSERT INTO {place}.nanomem_members VALUES ('reader', '{name}')",
    )  # fmt: skip
    asked = "SELECT block, held FROM memory_postings WHERE workspace_id = %s AND word = ANY(%s)"
    with psycopg.connect(url.replace("postgres@", "reader@")) as raw:
        raw.execute("SET enable_seqscan = off")
        raw.execute("SELECT set_config('nanomem.workspace', %s, false)", (name,))
        plan = str(raw.execute(f"EXPLAIN {asked}", (name, ["ferri"])).fetchall())
        assert "Index Cond: ((workspace_id =" in plan
        assert "word = ANY" in plan
        assert len(raw.execute(asked, (name, ["ferri"])).fetchall()) == 1


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "BLOCK", 8)


def check_words(ws: Workspace, words: list[str]) -> None:
    """What the server says of words is what the rows hold, and the best rows are those of adding up everything."""
    server = Server(ws.settings.database_url, ws.id)
    rows = {item.id: tokens(item.text) for item in ws.items.all()}
    mean = sum(map(len, rows.values())) / len(rows)
    with server.reading() as connection:
        index = PgFullText(connection, ws.id, reader.meta(connection, ws.id))
        found = index.statistics(words)
        assert (found.total, found.mean) == (len(rows), pytest.approx(mean))
        held = {word: sum(word in row for row in rows.values()) for word in words}
        assert found.rows_with == held
        assert postings.number(connection, ws.id) == sum(len(set(row)) for row in rows.values())
        for count in (1, 2, 3, len(words)):
            asked = words[:count]
            scores = {
                key: sum(
                    idf(len(rows), held[word]) * saturated(times, len(row), mean)
                    for word, times in Counter(row).items() if word in asked
                )
                for key, row in rows.items() if set(asked) & set(row)
            }  # fmt: skip
            best = [item.id for item in index.candidates(asked, lambda item: not item.id.endswith("7"))]
            there = sorted((score for key, score in scores.items() if not key.endswith("7")), reverse=True)
            assert [scores[key] for key in best] == pytest.approx(there[: len(best)])
            assert len(best) == min(200, len(there))
    server.close()


def test_what_is_said_of_words_is_what_the_rows_hold_whatever_is_done(
    home: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(3)
    drawn = [tokens(word)[0] for word in WORDS]

    def text() -> str:
        return " ".join(draw.choices(WORDS, weights=range(1, len(WORDS) + 1), k=draw.randint(1, 12)))

    with open_workspace(home) as ws:
        for _ in range(5):
            with_words = [f"{text()} {number}" for number in range(60)]
            for one in with_words:
                ws.items.add(one)
            keys = [item.id for item in ws.items.all()]
            for key in draw.sample(keys, 20):
                ws.items.edit(key, text=f"{text()} {key}")
            ws.items.delete(draw.sample(keys, 15))
            ws.flush()
            check_words(ws, draw.sample(drawn, len(drawn)))
        ws.undo()
        ws.undo()
        ws.flush()
        check_words(ws, drawn)
        reindex.rebuild(ws.store)
        assert reindex.state(ws.store).current
        check_words(ws, drawn)


def test_an_index_that_is_made_anew_takes_up_what_is_written_meanwhile(
    home: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nanomem_tui.store.postgres import words_anew

    monkeypatch.setattr(words_anew, "CHUNK", 10)
    with open_workspace(home) as ws, open_workspace(home) as other:
        keys = [ws.items.add(f"ferry {number} tea")[1].id for number in range(40)]
        ws.flush()
        steps = iter(range(100))

        def meanwhile(_seconds: float) -> None:
            at = next(steps)
            other.refresh()
            other.items.edit(keys[at], text=f"window {at}")
            other.items.delete([keys[20 + at]])
            other.items.add(f"ferry window {at}")
            other.flush()

        monkeypatch.setattr(words_anew, "time", SimpleNamespace(sleep=meanwhile))
        reindex.rebuild(ws.store)
        monkeypatch.undo()
        monkeypatch.setenv("NANOMEM_DATABASE_URL", ws.settings.database_url)
        monkeypatch.setattr(postings, "BLOCK", 8)
        assert next(steps) > 3
        ws.refresh()
        assert reindex.state(ws.store).current
        check_words(ws, ["ferri", "window", "tea"])


def test_two_that_make_an_index_anew_do_not_mix(
    home: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nanomem_tui.store.postgres import words_anew

    monkeypatch.setattr(words_anew, "CHUNK", 2)
    with open_workspace(home) as ws, open_workspace(home) as other:
        for number in range(8):
            ws.items.add(f"ferry {number} tea")
        ws.flush()
        with ws.store.leading("words") as ours, pytest.raises(Refused, match="another process"):
            assert ours
            reindex.rebuild(other.store)
        steps = iter(range(100))

        def meanwhile(_seconds: float) -> None:
            if next(steps) == 1:
                words_anew.make(other.store.database, other.id)

        monkeypatch.setattr(words_anew, "time", SimpleNamespace(sleep=meanwhile))
        with pytest.raises(Conflict, match="somebody else"):
            reindex.rebuild(ws.store)
        assert reindex.state(ws.store).current
        check_words(ws, ["ferri", "tea"])
