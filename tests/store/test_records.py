"""Records: rows of the third layer, kept as items and lessons are."""

import sqlite3
from contextlib import closing

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.facts.journal import Records
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Record
from tests.store.homes import kill

AT = "2026-11-02T10:00:00+00:00"


def made(folder):
    """An empty workspace."""
    place = folder / "home" / "workspace"
    place.mkdir(parents=True)
    return place


def entry(number, text="Met Ana"):
    return Record(f"journal_{number}", "journal", "2026-11-02", text, at=AT, created_at=AT, updated_at=AT)


def journal(ws):
    return Records(ws.store, ws.perform, "journal", "journal entry", "nanomem journal list")


def texts(ws):
    return {row.id: row.text for row in journal(ws).rows()}


def test_records_outlive_a_close_and_a_kill(tmp_path):
    place = made(tmp_path)
    with open_workspace(place) as ws:
        journal(ws).add_rows([entry(1), entry(2, "Read a book")])
    killed = open_workspace(place)
    journal(killed).change_row(journal(killed).get("journal_1"), {"text": "Met Ana and Bo"})
    kill(killed)
    with open_workspace(place) as ws:
        assert texts(ws) == {"journal_1": "Met Ana and Bo", "journal_2": "Read a book"}
        journal(ws).delete(["journal_2"])
        assert list(texts(ws)) == ["journal_1"]
        ws.undo()
        ws.undo()
        assert texts(ws) == {"journal_1": "Met Ana", "journal_2": "Read a book"}
        with pytest.raises(NothingToDo):
            journal(ws).change_row(journal(ws).get("journal_1"), {"text": "Met Ana"})
        with pytest.raises(BadInput, match="2 journal entries begin with that id"):
            journal(ws).get("journal_")
        with pytest.raises(NotFound):
            journal(ws).get("none")


def test_two_processes_see_each_other(tmp_path):
    place = made(tmp_path)
    with open_workspace(place) as one, open_workspace(place) as two:
        journal(one).add_rows([entry(1)])
        two.refresh()
        assert texts(two) == {"journal_1": "Met Ana"}
        journal(two).change_row(journal(two).get("journal_1"), {"text": "Met Bo"})
        two.flush()
        one.refresh()
        assert texts(one) == {"journal_1": "Met Bo"}
        one.flush()
    with open_workspace(place) as ws:
        assert texts(ws) == {"journal_1": "Met Bo"}


@pytest.mark.sqlite("the file itself")
def test_the_tables_of_the_seed_are_there_to_be_asked(tmp_path):
    place = made(tmp_path)
    with open_workspace(place) as ws:
        ws.facts.set("Home", "city", "Porto", domain="Life")
        ws.items.add('Said "fact" once')
        journal(ws).add_rows([entry(1)])
        fields = {"model": "m", "source": "user", "prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
        import json

        used = Record("usage_1", "usage", "2026-11-02", meta_json=json.dumps({**fields, "requests": 1}), at=AT)
        said = Record("message_1", "message", "telegram:7", "hello", meta_json='{"role": "user"}', at=AT)
        learnt = Record("reflection_1", "reflection", "web", "ask less", meta_json='{"error": "timeout"}', at=AT)
        ws.perform(new_operation("import", "rows", [change_of("record", None, row) for row in (used, said, learnt)]))
        database = ws.paths.database
    with closing(sqlite3.connect(database)) as connection:
        ask = {
            "facts": "domain, category, key, value",
            "journal": "date, content",
            "conversations": "chat_id, role, message",
            "token_usage": "date, model, total_tokens, requests",
            "reflections": "tool_name, error_text, insight",
        }
        found = {name: connection.execute(f"SELECT {columns} FROM {name}").fetchall() for name, columns in ask.items()}
    assert found == {
        "facts": [("Life", "Home", "city", "Porto")],
        "journal": [("2026-11-02", "Met Ana")],
        "conversations": [("telegram:7", "user", "hello")],
        "token_usage": [("2026-11-02", "m", 7, 1)],
        "reflections": [("web", "timeout", "ask less")],
    }
