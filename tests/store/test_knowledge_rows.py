"""The rows of the knowledge base: what stays, what goes, and an index that follows."""

from __future__ import annotations

import sqlite3

import pytest

from nanomem_tui.store import knowledge_index, knowledge_rows
from nanomem_tui.store.knowledge_index import Index
from nanomem_tui.store.knowledge_values import Chunk, KnowledgeDocument

ONE = KnowledgeDocument("kd_1", "file", "Title", "a.md", "about", "h", 2, "2026", "2026", {})
CHUNKS = [Chunk("A", 1, 2, "first words"), Chunk("A > B", 3, 4, "second words")]


@pytest.fixture
def base() -> sqlite3.Connection:
    connection = knowledge_rows.in_memory()
    knowledge_rows.begin(connection, "")
    assert knowledge_rows.put(connection, "w", ONE, CHUNKS) == 2
    return connection


def found(base: sqlite3.Connection, *words: str) -> list[str]:
    return [row.chunk.text for row in Index(base, "w").best(words, (), 10)]


def test_a_document_comes_back_with_its_chunks(base: sqlite3.Connection) -> None:
    assert knowledge_rows.documents(base, "w") == [ONE]
    assert [chunk for _, chunk in knowledge_rows.chunks(base, "w", "kd_1")] == CHUNKS
    assert knowledge_rows.documents(base, "other") == []


def test_only_what_changed_is_written(base: sqlite3.Connection) -> None:
    before = dict(knowledge_rows.chunks(base, "w", "kd_1"))
    assert knowledge_rows.put(base, "w", ONE, [Chunk("A", 5, 6, "first words"), Chunk("C", 7, 7, "third")]) == 1
    after = dict(knowledge_rows.chunks(base, "w", "kd_1"))
    assert [after[key].line_from for key in before.keys() & after.keys()] == [5]
    assert (found(base, "second"), found(base, "third")) == ([], ["third"])


def test_a_new_title_is_found_in_every_chunk(base: sqlite3.Connection) -> None:
    knowledge_rows.put(base, "w", ONE._replace(title="Renamed"), CHUNKS)
    assert (len(found(base, "renam")), found(base, "titl")) == (2, [])


def test_chunks_that_say_the_same_have_ids_of_their_own(base: sqlite3.Connection) -> None:
    twice = [Chunk("A", 1, 1, "same"), Chunk("A", 2, 2, "same")]
    ids = knowledge_rows.chunk_ids("kd_1", twice)
    assert len(set(ids)) == 2
    assert knowledge_rows.chunk_ids("kd_1", twice) == ids


def test_what_is_deleted_is_not_found(base: sqlite3.Connection) -> None:
    knowledge_rows.delete(base, "w", "kd_1")
    assert (knowledge_rows.documents(base, "w"), found(base, "words"), Index(base, "w").count()) == ([], [], 0)
    base.execute("INSERT INTO knowledge_words (knowledge_words) VALUES ('integrity-check')")


def test_an_index_of_other_tokens_is_made_anew_before_a_change(
    base: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_rows, "VERSION", 1_000)
    monkeypatch.setattr(knowledge_index, "tokens", str.split)
    knowledge_rows.begin(base, "")
    assert found(base, "words") == ["first words", "second words"]
    knowledge_rows.delete(base, "w", "kd_1")
    assert Index(base, "w").rows_with("words") == 0


def test_a_bit_flipped_in_what_is_known_beside_hides_nothing(base: sqlite3.Connection) -> None:
    base.execute("UPDATE knowledge_documents SET meta = '{broken'")
    assert knowledge_rows.documents(base, "w")[0].title == "Title"
    assert found(base, "first") == ["first words"]
