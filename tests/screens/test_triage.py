"""The Inbox screen as the triage queue: one key decides and goes on to the next, and no wrong key loses anything."""

import random

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.operations import new_key, new_operation
from nanomem_tui.store.database import operation_log
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.widgets.bars import LineInput
from nanomem_tui.widgets.dialogs import SafeTextArea
from nanomem_tui.widgets.theme import RowLine
from tests.memory.test_inbox import hold
from tests.review.lookers import look_for_junk
from tests.screens.console import console
from tests.store.homes import make_home


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with five items of junk, two that say the same, and one thing held back."""
    look_for_junk(monkeypatch)
    made = make_home(tmp_path)
    with open_workspace(made) as ws:
        for text in ("junk a", "junk b", "junk ไทย 记忆 🧠", "junk \x1b]52;c;AAAA\x07 [/foo]", "junk e"):
            put(ws, text)
        put(ws, "same tea and cake")
        put(ws, "same tea and bread")
        hold(ws)
    return made


def put(ws, text):
    """An item that the agent wrote, which no key of a person takes back."""
    now = clock.iso(clock.now())
    row = Item(new_key("ltm"), text, scope_key=f"workspace:{ws.id}:global", created_at=now, updated_at=now)
    ws.perform(new_operation("turn", "turn", [change_of("item", None, row)], actor="agent"))


async def to_rules(on):
    """Along the lists of the tab."""
    for _ in range(4):
        if on.screen.SCREEN != "rules":
            await on.press("]")
    assert on.screen.SCREEN == "rules"


def title(on):
    return on.screen.counts


def at(on):
    """The words at the cursor."""
    row = on.screen.table.cursor_row
    return "" if row is None else str(row.text)


def words(on):
    return [row.text for row in on.screen.table.rows]


async def test_seven_shows_all_that_wants_a_person_with_the_evidence(home):
    async with console(home, "items") as on:
        await on.press("7")
        await on.until(lambda: len(on.ids) == 7)
        assert [row.kind for row in on.screen.table.rows] == ["waiting", "duplicate", *["long"] * 5]
        await on.at("duplicate:tea")
        await on.shows("Says what another says: they say the same.", "the other item", "m merges them", "u undoes it")
        assert not {"\x1b", "\x07"} & set(on.text)


@pytest.mark.parametrize(("key", "left"), [("plus", True), ("minus", False), ("x", False), ("d", False), ("Z", True)])
async def test_one_key_decides_goes_on_to_the_next_and_is_undone(home, key, left):
    async with console(home, "inbox") as on:
        await on.until(lambda: len(on.ids) == 7)
        await on.at(next(row.id for row in on.screen.table.rows if row.text == "junk b"))
        before, place = words(on), words(on).index("junk b")
        await on.press(key)
        await on.until(lambda: "junk b" not in words(on))
        assert at(on) == before[place + 1]
        await on.shows("(u undoes it)", "6 left", "1 done, 3 a minute")
        remembered = {row.text for row in on.app.ws.items.all() if row.enabled}
        assert ("junk b" in remembered) == left
        await on.press("u")
        await on.until(lambda: words(on) == before)


@pytest.mark.slow
async def test_the_next_key_means_the_next_row_however_fast_it_comes(home):
    async with console(home, "inbox") as on:
        await on.until(lambda: len(on.ids) == 7)
        await on.at(next(row.id for row in on.screen.table.rows if row.kind == "long"))
        await on.pilot.press("d", "plus", "d", "plus", "d")
        await on.until(lambda: len(on.ids) == 2)
        log = [entry.operation.kind for entry in on.app.ws.log(5)]
        assert log == ["triage.delete", "triage.keep", "triage.delete", "triage.keep", "triage.delete"]
        await on.press("u", "u", "u", "u", "u")
        await on.until(lambda: len(on.ids) == 7)


@pytest.mark.slow
async def test_two_that_say_the_same_are_merged_and_one_thing_cannot_be(home):
    async with console(home, "inbox") as on:
        await on.at("duplicate:tea")
        await on.press("m")
        await on.until(lambda: "duplicate:tea" not in on.ids)
        await on.press("m")
        await on.shows("merge: it is about one thing")


@pytest.mark.slow
async def test_words_and_scope_are_mended_here(home):
    async with console(home, "inbox") as on:
        await on.until(lambda: len(on.ids) == 7)
        await on.at(next(row.id for row in on.screen.table.rows if row.text == "junk a"))
        await on.press("e")
        await on.until(lambda: on.app.screen.query(SafeTextArea))
        on.app.screen.query_one(SafeTextArea).text = "likes tea"
        await on.press("ctrl+s")
        await on.until(lambda: "junk a" not in words(on))
        await on.at(next(row.id for row in on.screen.table.rows if row.text == "junk e"))
        await on.press("S")
        on.app.screen.query_one(LineInput).value = "nowhere"
        await on.shows("Nothing of that name.")
        on.app.screen.query_one(LineInput).value = "telegram:42"
        await on.shows("the chat telegram:42")
        await on.press("enter")
        await on.until(lambda: "junk e" not in words(on))
        moved = {row.text: row.scope_key for row in on.app.ws.items.all()}
        assert moved["junk e"] == "channel:telegram:chat:42"
        assert "likes tea" in moved


@pytest.mark.slow
async def test_all_like_this_shows_what_goes_and_undo_takes_back_the_rule_too(home):
    async with console(home, "inbox", (80, 24)) as on:
        await on.until(lambda: len(on.ids) == 7)
        before = words(on)
        await on.at(next(row.id for row in on.screen.table.rows if row.text == "junk a"))
        await on.press("ampersand")
        await on.shows("delete what is too long: “it has * characters”", "5 findings decided; rule saved")
        await on.press("n")
        assert words(on) == before
        await on.press("ampersand", "x")
        await on.shows("disable what is too long")
        await on.press("y")
        await on.until(lambda: len(on.ids) == 2)
        await to_rules(on)
        await on.until(lambda: len(on.ids) == 1)
        await on.shows("disable what is too long")
        await on.press("7", "u")
        await on.until(lambda: words(on) == before)
        await to_rules(on)
        await on.shows("No rules yet.")


@pytest.mark.slow
async def test_a_kept_rule_is_applied_and_let_go_on_its_own_screen(home):
    with open_workspace(home) as ws:
        from nanomem_tui.review.inbox import rule_like

        ws.triage.rules.add(rule_like(ws.triage.findings(("long",))[0], "delete"))
    async with console(home, "rules") as on:
        await on.until(lambda: len(on.ids) == 1)
        await on.shows("5 findings now")
        await on.press("ampersand", "n")
        await on.press("ampersand", "y")
        await on.shows("delete 5 findings")
        await on.press("ampersand")
        await on.shows("about nothing now")
        await on.press("d")
        await on.until(lambda: on.ids == [])
        await on.press("u")
        await on.until(lambda: len(on.ids) == 1)
        await on.press("escape")
        assert on.screen.SCREEN == "inbox"


async def test_what_changed_since_it_was_shown_is_not_decided_on(home):
    async with console(home, "inbox") as on:
        await on.until(lambda: len(on.ids) == 7)
        shown = next(row for row in on.screen.table.rows if row.text == "junk a")
        await on.at(shown.id)
        with open_workspace(home) as other:
            other.items.edit(shown.ids[0], text="junk of another kind")
        await on.press("d")
        await on.shows("changed since it was shown")
        await on.press("f5")
        await on.until(lambda: "junk of another kind" in words(on))


@pytest.mark.slow
async def test_the_next_session_goes_on_where_this_one_ended(home):
    async with console(home, "inbox") as on:
        await on.until(lambda: len(on.ids) == 7)
        await on.at(on.ids[3])
        wanted = on.ids[4]
        await on.press("plus")
        await on.until(lambda: len(on.ids) == 6)
    async with console(home, "inbox") as on:
        await on.until(lambda: len(on.ids) == 6)
        assert on.screen.table.cursor_id == wanted
        assert "6 left · 1 done" in title(on)


@pytest.mark.slow
async def test_many_are_decided_on_after_a_look_at_them(home):
    with open_workspace(home) as ws:
        for number in range(25):
            ws.items.add(f"junk number {number}")
    async with console(home, "inbox") as on:
        await on.until(lambda: len(on.ids) == 32)
        before = words(on)
        await on.press("asterisk", "minus")
        await on.shows("Reject 32 findings")
        await on.press("minus", "enter", "escape")
        assert words(on) == before
        await on.press("minus", "y")
        await on.until(lambda: on.ids == [])
        await on.shows("things decided: all done")
        await on.press("u")
        await on.until(lambda: words(on) == before)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_random_keys_lose_nothing(home, seed):
    keys = ["plus", "minus", "x", "d", "m", "Z", "j", "k", "space", "v", "asterisk", "u", "ctrl+r", "ampersand", "y",
            "n", "escape", "enter", "tab", "s", "e", "S", "l", "9", "1", "7", "f5", "g", "G"]  # fmt: skip
    chance = random.Random(seed)
    async with console(home, "inbox") as on:
        await on.until(lambda: len(on.ids) == 7)
        before, rows = words(on), _rows(home)
        for _ in range(60):
            await on.pilot.press(chance.choice(keys))
            on.app.clear_notifications()
        for _ in range(4):
            await on.press("escape")
        await on.press("7")
        for _ in range(60):
            if _stands(on):
                await on.press("u")
                on.app.clear_notifications()
        assert not _stands(on)
        await on.press("f5")
        await on.until(lambda: sorted(words(on)) == sorted(before))
    assert _rows(home) == rows


def _rows(home):
    with open_workspace(home) as ws:
        rows = ws.store.load().items.values()
        return sorted((row.id, row.text, row.scope_key, bool(row.enabled), bool(row.is_deleted)) for row in rows)


def _stands(on):
    """Whether anything stands that the person did."""
    return any(operation_log.started_by_person(one.operation) and not one.undone for one in on.app.ws.log(1_000))


async def test_where_there_is_no_room_beside_the_list_the_whole_reason_stands_beneath_it(home):
    with open_workspace(home) as ws:
        junk = next(one for one in ws.triage.findings() if one.kind == "long")
    async with console(home, "inbox", (80, 24)) as on:
        await on.until(lambda: junk.id in on.ids)
        await on.at(junk.id)
        line = on.screen.query_one(RowLine)
        assert line.display
        await on.until(lambda: junk.why[:70] in "".join(segment.text for segment in line.render_line(0)))
        await on.press("enter")
        await on.until(lambda: not line.display)
    async with console(home, "inbox", (150, 40)) as on:
        await on.until(lambda: on.ids)
        assert not on.screen.query_one(RowLine).display
