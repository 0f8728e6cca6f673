"""Imports name where a row stands, what comes twice with other words, and the folder that was meant."""

import json

import pytest

from tests.store.homes import item, lesson

HOME = {"items": 0, "lessons": 0}


@pytest.mark.parametrize("here", [False, True])
def test_other_words_under_an_id_that_came_are_named(ws, tmp_path, here):
    path = tmp_path / "LTM_SNAPSHOT.json"
    first, second = item(901, "the first words"), item(901, "the second words")
    if here:
        path.write_text(json.dumps({"version": 1, "items": [first]}))
        ws.transfer.run(ws.transfer.preview(path))
    path.write_text(json.dumps({"version": 1, "items": [first, second, first]}))
    plan = ws.transfer.preview(path, prefer="theirs")
    assert [entry.verdict for entry in plan.entries] == ["same" if here else "new", "conflict", "same"]
    assert plan.entries[1].row.text == "the second words"
    assert "comes twice, with other words" in plan.entries[1].why
    assert [(problem.what, problem.severity) for problem in plan.problems] == [
        ("the id of item 2, ltm_901, comes twice", "warning"),
        ("the id of item 3, ltm_901, comes twice", "warning"),
    ]
    learned = tmp_path / "LESSONS.jsonl"
    learned.write_text("".join(json.dumps(lesson(7, better_action=words)) + "\n" for words in ("one", "two")))
    assert [entry.verdict for entry in ws.transfer.preview(learned).entries] == ["new", "conflict"]


def test_a_row_that_is_here_is_updated_once_however_often_it_comes(ws, tmp_path):
    path = tmp_path / "LTM_SNAPSHOT.json"
    path.write_text(json.dumps({"items": [item(902, "words", source="one")]}))
    ws.transfer.run(ws.transfer.preview(path))
    changed = item(902, "words", source="two")
    path.write_text(json.dumps({"items": [changed, {**changed, "source": "three"}]}))
    plan = ws.transfer.preview(path, prefer="theirs")
    assert [entry.verdict for entry in plan.entries] == ["update", "same"]
    ws.transfer.run(plan)
    assert ws.items.get("ltm_902").source == "two"


def test_places_are_those_of_the_file(ws, tmp_path):
    path = tmp_path / "LTM_SNAPSHOT.json"
    items = [item(911), 5, {"id": "no text"}, item(912, " "), {"text": "no id"}, item(916)]
    path.write_text(json.dumps({"version": 1, "items": items}))
    plan = ws.transfer.preview(path)
    assert [(entry.row.id, entry.place) for entry in plan.entries] == [("ltm_911", "item 1"), ("ltm_916", "item 6")]
    assert [problem.what.split(" (")[0] for problem in plan.problems] == [
        "item 2 is no object",
        "item 3 has no text",
        "item 5 has no id",
        "item 4",
    ]
    path.write_text(json.dumps({"items": [item(number) for number in (911, 912, 916)]}).replace('"ltm_912"', '"ltm'))
    assert [entry.place for entry in ws.transfer.preview(path).entries] == ["item 1", "item 3"]
    learned = tmp_path / "LESSONS.jsonl"
    learned.write_text("\n".join([json.dumps(lesson(21)), "", "{broken", json.dumps(lesson(22))]) + "\n")
    assert [entry.place for entry in ws.transfer.preview(learned).entries] == ["line 1", "line 4"]


@pytest.mark.parametrize("written", [".", "../{}", "../{}/."])
def test_an_import_from_where_one_stands_is_named_as_the_folder(samples, ws, monkeypatch, written):
    folder = samples / "ramfirst"
    monkeypatch.chdir(folder)
    plan = ws.transfer.preview(written.format(folder.name))
    assert plan.name == folder.name
    assert ws.transfer.run(plan).label.endswith(f" from {folder.name}")
    assert plan.notes[0].startswith(f"Found in {folder.name}: ")
