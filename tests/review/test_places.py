"""Anything is found by typing a part of it, the best first."""

import pytest

from nanomem_tui.actions import SCREENS
from nanomem_tui.demo import build
from nanomem_tui.review.find import Place, Places
from nanomem_tui.workspace import open_workspace

SHARES_A_HOME = True


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return build(tmp_path_factory.mktemp("places") / ".nanobot")


def look(ws, query, limit=50):
    return list(Places(lambda: ws, SCREENS).find(query, limit))[-1]


def kinds(found):
    return [place.kind for place in found.places]


@pytest.mark.slow
def test_every_kind_of_thing_is_found(workspace):
    with open_workspace(workspace) as ws:
        assert look(ws, "recall").places[0] == Place("screen", "recall", "", "Recall")
        assert look(ws, "soul").places[0][:3] == ("file", "files", "SOUL.md")
        assert look(ws, "telegram:20417").places[0][:3] == ("session", "sessions", "telegram:20417")
        assert "dream" in kinds(look(ws, "consolidation"))
        assert {"item", "fact"} <= set(kinds(look(ws, "PostgreSQL")))
        for kind in ("lesson", "note", "journal"):
            assert set(kinds(look(ws, f"kind:{kind}"))) == {kind}
        goal = ws.records.list_records("goal")[0]
        found = look(ws, goal.title)
        assert (found.places[0].kind, found.places[0].part, found.places[0].row) == ("record", "goal", goal.id)


@pytest.mark.slow
def test_an_id_finds_its_row_and_words_in_its_middle_do_not_hide_a_beginning(workspace):
    with open_workspace(workspace) as ws:
        row = ws.items.all()[3]
        assert [place.row for place in look(ws, row.id).places] == [row.id]
        found = look(ws, "dream").places
        assert found[0].kind == "screen"
        assert found[1].title.startswith("dream:")


def test_a_slip_finds_what_is_similar_and_a_short_word_does_not(workspace):
    with open_workspace(workspace) as ws:
        found = look(ws, "postgresqk")
        assert found.fuzzy
        assert "PostgreSQL" in found.places[0].title
        assert list(look(ws, "zq").places) == []


def test_one_that_cannot_be_read_hides_none_of_the_others(workspace, monkeypatch):
    with open_workspace(workspace) as ws:

        def broken():
            raise OSError("gone")

        monkeypatch.setattr(ws.notes, "list", broken)
        found = look(ws, "PostgreSQL")
        assert found.left_out == "notes"
        assert found.places


def test_another_question_ends_the_first_at_once(workspace):
    with open_workspace(workspace) as ws:
        assert list(Places(lambda: ws, SCREENS).find("a", stop=lambda: True)) == []
