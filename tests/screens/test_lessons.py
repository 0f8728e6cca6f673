"""The Lessons screen: how sure a lesson still is, switching it off, its three texts, and forgetting them all."""

import json
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, StoreError
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.lessons import Lessons
from nanomem_tui.screens.lessons import FORM
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Lesson
from tests.screens.console import console


async def test_each_lesson_shows_when_what_and_how_sure(demo):
    async with console(demo, "lessons", (120, 36)) as on:
        row = on.screen.table.cursor_row
        await on.shows("When", "Do", "Sure", row.trigger[:10])
        await on.press("enter")
        await on.shows("of 10 now", "learned", "No change by nanomem yet.")


async def test_a_lesson_is_shown_while_its_history_cannot_be_read(demo, monkeypatch):
    def away(*_):
        raise StoreError("PostgreSQL does not answer", "PostgreSQL memory at 127.0.0.1", "see that it runs")

    monkeypatch.setattr(Lessons, "history", away)
    async with console(demo, "lessons", (120, 36)) as on:
        await on.press("enter")
        await on.shows("of 10 now", "learned", "It cannot be read now: PostgreSQL")


@pytest.mark.slow
async def test_how_it_fared_is_told_in_words_and_an_older_word_says_so(demo):
    now = clock.now()
    record = {"efficacy": {"shown": 4, "followed": 1, "recurred": 0, "last_shown_at": clock.iso(now)}}
    first = Lesson("first", "k1", "response:language", "", "answer in English", "session", "cli:direct")
    first = first._replace(source="user_feedback", updated_at=clock.iso(now - timedelta(minutes=5)))
    last = first._replace(id="last", key="k2", better_action="answer in German", updated_at=clock.iso(now))
    first = first._replace(meta_json=json.dumps(record))
    with open_workspace(demo) as ws:
        for row in (first, last):
            ws.perform(new_operation("lessons.add", row.id, [change_of("lesson", None, row)], actor="agent"))
    async with console(demo, "lessons", (200, 60)) as on:
        await on.at("first")
        await on.shows("shown 4, followed 1, recurred 0; neutral", "last shown", "is told “answer in German”")
        assert "{'" not in on.text
        await on.at("last")
        await on.shows("never shown")
        assert "Older:" not in on.text


async def test_a_lesson_that_is_switched_off_stays_off(demo):
    async with console(demo, "lessons") as on:
        on.screen.filter_by("enabled:yes")
        await on.until(lambda: on.ids and all(row.enabled for row in on.screen.table.rows))
        row_id = on.screen.table.cursor_id
        await on.press("x")
        await on.shows("disable lesson")
        await on.press("ctrl+s")
        await on.shows("Saved")
    with open_workspace(demo) as ws:
        assert not ws.lessons.get(str(row_id)).enabled


async def test_its_texts_are_edited_under_their_names(demo):
    async with console(demo, "lessons") as on:
        row = on.screen.table.cursor_row
        await on.pilot.press("e")
        await on.shows("WHEN", "DO", "INSTEAD OF")
        await on.type("shouting")
        await on.press("ctrl+s")
        await on.until(lambda: on.cursor_text_of("bad_action").endswith("shouting"))
        assert on.screen.table.cursor_row.trigger == row.trigger


def test_a_form_gives_its_fields_back():
    form = "WHEN\nasked for a date\n\nDO\nsay the day\nof the week\n\nINSTEAD OF\n\n"
    assert FORM.read(form) == {
        "trigger": "asked for a date",
        "better_action": "say the day\nof the week",
        "bad_action": "",
    }


def test_a_form_that_lost_a_part_is_refused():
    with pytest.raises(BadInput, match="the line DO is missing"):
        FORM.read("WHEN\nx\nINSTEAD OF\ny\n")


async def test_delete_and_undo(demo):
    async with console(demo, "lessons") as on:
        before = on.ids
        await on.press("d")
        assert on.ids == before[1:]
        await on.press("u")
        assert on.ids == before


@pytest.mark.slow
async def test_all_are_forgotten_only_after_a_typed_word(demo):
    async with console(demo, "lessons") as on:
        before = on.ids
        await on.press("colon")
        await on.type("reset")
        await on.press("enter")
        await on.shows("type reset and enter")
        await on.type("no")
        await on.press("enter")
        assert on.ids == before
        await on.press("backspace", "backspace")
        await on.type("reset")
        await on.press("enter")
        await on.until(lambda: on.ids == [], "no lessons")
        await on.shows("No lessons yet")
        await on.press("u")
        await on.until(lambda: on.ids == before, "all lessons")


async def test_an_edit_of_what_another_changed_meanwhile_keeps_the_others_other_texts(demo):
    async with console(demo, "lessons") as on:
        row = on.screen.table.cursor_row
        form = on.screen.edit_form(row)
        with open_workspace(demo) as other:
            other.lessons.edit(row.id, trigger="their when", better_action="their do")
        typed = form.replace(row.trigger, "my when", 1)
        on.screen.call_later(on.screen.save, row, typed)
        await on.shows("somebody changed the trigger meanwhile", "my when", "their do")
        await on.press("ctrl+s")
        await on.until(lambda: on.app.ws.lessons.get(row.id).trigger == "my when")
        assert on.app.ws.lessons.get(row.id).better_action == "their do"


@pytest.mark.slow
async def test_an_edit_of_what_another_deleted_meanwhile_is_saved_once_that_is_back(demo):
    async with console(demo, "lessons") as on:
        row = on.screen.table.cursor_row
        typed = on.screen.edit_form(row).replace(row.trigger, "my when", 1)
        with open_workspace(demo) as other:
            deleted = other.lessons.delete([row.id])
        on.screen.call_later(on.screen.save, row, typed)
        await on.shows("this lesson was deleted meanwhile", f"{deleted.id}", "my when")
        with open_workspace(demo) as other:
            other.undo(deleted.id)
        await on.press("ctrl+s")
        await on.until(lambda: stored_trigger(demo, row.id) == "my when")


def stored_trigger(workspace, lesson_id):
    with open_workspace(workspace) as ws:
        return ws.lessons.get(lesson_id).trigger


@pytest.mark.slow
async def test_a_lesson_that_faded_says_so_and_an_edit_makes_it_sure_again(demo):
    long_ago = clock.iso(clock.now() - timedelta(days=90))
    lesson = Lesson("old", "old:k", "asked for a map", "", "send a link", confidence=4, updated_at=long_ago)
    with open_workspace(demo) as ws:
        ws.perform(new_operation("lessons.add", "an old lesson", [change_of("lesson", None, lesson)]))
    async with console(demo, "lessons", (160, 40)) as on:
        on.screen.filter_by("faded:yes")
        await on.until(lambda: on.ids == ["old"])
        assert on.screen.sign(on.screen.table.cursor_row) == "~"
        await on.press("enter")
        await on.shows("0.0", "faded", "Faded: not sure enough any more")
        await on.press("escape", "e")
        await on.type("x")
        await on.press("ctrl+s")
        await on.until(lambda: on.screen.sign(on.screen.table.cursor_row) == "")
