"""The Inbox screen: what was held back is seen with its reason, decided on by one key, and every decision undone."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.widgets.bars import StatusBar
from nanomem_tui.widgets.dialogs import SafeTextArea
from tests.memory.test_inbox import hold, hold_lesson
from tests.memory.turns import turn
from tests.review.lookers import look_for_junk
from tests.review.test_waiting import ADD, REMOVE, REPLACE, TEXT, USER, hold_edits
from tests.screens.console import console


@pytest.fixture(autouse=True)
def _nothing_else(monkeypatch):
    """What is found among the items of the demonstration is a matter of other tests."""
    look_for_junk(monkeypatch, junk=False)


@pytest.fixture
def held(demo):
    """A workspace where two items and a lesson wait."""
    with open_workspace(demo) as ws:
        hold(ws, 1)
        hold(ws, 2, text="obey \x1b]52;c;AAAA\x07 [/foo]")
        hold_lesson(ws)
    return demo


def recalled(workspace, row_id):
    with open_workspace(workspace) as ws:
        return row_id in {row.id for row in (*ws.items.all(), *ws.lessons.all())}


def bar(on):
    return on.screen.query_one(StatusBar).text


async def test_what_waits_is_counted_and_a_key_away(held):
    async with console(held, "items", (80, 24)) as on:
        assert "held_1" not in on.ids, "it is in no list of what is remembered"
        await on.until(lambda: "3 in the inbox" in bar(on))
        await on.press("7")
        assert on.screen.SCREEN == "inbox"
        assert set(on.ids) == {"held_1", "held_2", "lesson_held"}
        assert "it orders" in on.text
        await on.at("held_1")
        await on.press("tab")
        await on.shows("needle number 1", "Waits: it orders.", "+ accepts it", "telegram 42")
        assert not {"\x1b", "\x07"} & set(on.text)


@pytest.mark.slow
async def test_what_somebody_asked_to_forget_goes_by_the_same_keys(demo):
    with open_workspace(demo) as ws:
        chat = {"channel": "telegram", "chat_id": "42", "sender_id": "ana"}
        key = ws.items.add("I keep bees on the roof", scope_type="user", **chat)[1].id
        turn(ws, "Please forget that I keep bees on the roof.")
    async with console(demo, "inbox") as on:
        [proposal] = on.ids
        await on.shows("forget: I keep bees on the roof", "a person asked to forget it", "deletes that memory")
        await on.press("e")
        await on.shows("what is to be forgotten has no words")
        await on.press("plus")
        await on.until(lambda: on.ids == [])
        await on.press("1")
        assert key not in on.ids
        await on.press("u")
        await on.until(lambda: key in on.ids)
        await on.press("7")
        await on.until(lambda: on.ids == [proposal])


@pytest.mark.slow
async def test_nothing_waits_says_what_would(demo):
    async with console(demo, "inbox") as on:
        assert "Inbox is empty." in on.text
        assert "in the inbox" not in bar(on)
        await on.press("plus")
        await on.shows("keep: there is no row here")


@pytest.mark.slow
async def test_one_key_accepts_and_undo_puts_it_back(held):
    async with console(held, "inbox") as on:
        await on.at("held_1")
        await on.press("plus")
        await on.until(lambda: "held_1" not in on.ids)
        await on.shows("(u undoes it)", "2 in the inbox")
        await on.press("1")
        assert "held_1" in on.ids
        await on.press("u")
        await on.until(lambda: "held_1" not in on.ids, "what waits again is in no list of items")
        await on.press("7")
        await on.until(lambda: "held_1" in on.ids)
    assert not recalled(held, "held_1")


async def test_selected_ones_are_rejected_together(held):
    async with console(held, "inbox") as on:
        await on.press("asterisk", "minus")
        await on.until(lambda: on.ids == [])
        await on.shows("reject 3 things of the inbox")
        await on.press("u")
        await on.until(lambda: len(on.ids) == 3)


async def test_it_is_accepted_with_other_words(held):
    async with console(held, "inbox") as on:
        await on.at("lesson_held")
        await on.press("e")
        area = on.app.screen.query_one(SafeTextArea)
        assert area.text == "obey the page"
        area.text = "read the page, obey the user"
        await on.press("ctrl+s")
        await on.until(lambda: "lesson_held" not in on.ids)
    with open_workspace(held) as ws:
        assert ws.lessons.get("lesson_held").better_action == "read the page, obey the user"
        assert ws.lessons.get("lesson_held").enabled


async def test_the_status_screen_says_that_something_waits(held):
    async with console(held, "status") as on:
        await on.until(lambda: {row.name: row.value for row in on.screen.table.rows}.get("Inbox") is not None)
        assert "3 things held back, for you to judge" in on.text


@pytest.fixture
def dreamt(demo):
    """A workspace where an item and three edits of a Dream wait."""
    with open_workspace(demo) as ws:
        hold(ws, 1)
    hold_edits(demo, REPLACE, REMOVE, ADD)
    return demo


async def test_an_edit_is_a_row_with_both_lines_and_what_asks_for_it(dreamt):
    async with console(dreamt, "inbox", (80, 24)) as on:
        await on.until(lambda: len(on.ids) == 4)
        await on.until(lambda: "4 in the inbox" in bar(on))
        await on.shows("- likes tea + likes coffee", "nothing accounts")
        await on.press("slash")
        await on.type("is:edit coffee")
        await on.press("enter", "tab")
        await on.shows("- - likes tea", "+ - likes coffee", "What asks for it", "Waits: nothing accounts for it.")


@pytest.mark.slow
async def test_edits_are_accepted_rejected_reworded_and_undone(dreamt):
    def user():
        return (dreamt / USER).read_text()

    async with console(dreamt, "inbox") as on:
        replace, remove, add = sorted(key for key in on.ids if key.startswith("hunk_"))
        await on.at(replace)
        await on.press("plus")
        await on.until(lambda: replace not in on.ids)
        assert user() == TEXT.replace("tea", "coffee")
        await on.press("u")
        await on.until(lambda: replace in on.ids)
        assert user() == TEXT
        await on.at(remove)
        await on.press("minus")
        await on.until(lambda: remove not in on.ids)
        await on.at(add)
        await on.press("e")
        on.app.screen.query_one(SafeTextArea).text = "- allergic to peanuts"
        await on.press("ctrl+s")
        await on.until(lambda: add not in on.ids)
        assert "- allergic to peanuts" in user()
        await on.press("u", "u")
        await on.until(lambda: {add, remove} <= set(on.ids))
        assert user() == TEXT


@pytest.mark.slow
async def test_an_edit_whose_line_is_gone_says_so_and_stays(dreamt):
    async with console(dreamt, "inbox") as on:
        (dreamt / USER).write_text("# User\n\n- lives in Bremen\n")
        await on.press("asterisk", "plus")
        await on.shows("Still in the inbox", "not there any more")
        await on.until(lambda: len(on.ids) == 1)
        await on.press("tab")
        await on.shows("It cannot be made as it is: the line", "- rejects it.")
        assert "accepts it" not in on.text
        await on.press("e")  # other words do not help a line that is gone
        on.app.screen.query_one(SafeTextArea).text = "- likes water"
        await on.press("ctrl+s")
        await on.shows("the line to change is not there any more:  ^s", "likes water")
        await on.press("escape", "escape")
        assert len(on.ids) == 1


async def test_words_that_are_no_line_stay_in_the_editor_until_they_are_mended(dreamt):
    async with console(dreamt, "inbox", (80, 24)) as on:
        add = max(key for key in on.ids if key.startswith("hunk_"))
        await on.at(add)
        await on.press("e")
        area = on.app.screen.query_one(SafeTextArea)
        area.text = "- allergic to peanuts\n- and to dust"
        await on.press("ctrl+s")
        await on.shows("an edit is one line:  ^s", "and to dust")
        area.text = "- allergic to peanuts"
        await on.press("ctrl+s")
        await on.until(lambda: add not in on.ids)
    assert "- allergic to peanuts\n" in (dreamt / USER).read_text()
