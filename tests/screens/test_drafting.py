"""What is being written when the console is ended from outside is offered again where it belongs."""

import signal
import stat

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import paths
from nanomem_tui.widgets.dialogs import EditScreen
from tests.screens.console import console
from tests.store.homes import make_home

pytestmark = pytest.mark.slow


def drafts(home):
    folder = paths.find_workspace(home).data / "drafts"
    return sorted(folder.iterdir()) if folder.is_dir() else []


@pytest.mark.slow
async def test_a_text_that_was_being_edited_is_there_when_the_same_is_edited_again(tmp_path):
    home = make_home(tmp_path)
    async with console(home, "items", (100, 30)) as on:
        await on.until(lambda: on.ids)
        first = on.ids[0]
        await on.press("e")
        await on.type(" and half a sentence 女儿")
        on.app.asked_to_end(signal.SIGHUP)
    [kept] = drafts(home)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    async with console(home, "items", (100, 30)) as on:
        await on.shows("1 text not saved yet")
        await on.at(first)
        await on.press("e")
        await on.shows("and half a sentence 女儿", "is not saved yet")
        await on.press("ctrl+s")
        await on.until(lambda: not drafts(home))
    with open_workspace(home) as ws:
        assert ws.items.get(first).text.endswith(" and half a sentence 女儿")


@pytest.mark.slow
async def test_who_leaves_the_draft_sees_it_no_more_and_nothing_untouched_is_kept(tmp_path):
    home = make_home(tmp_path)
    async with console(home, "items", (100, 30)) as on:
        await on.until(lambda: on.ids)
        await on.press("e")
        await on.type("?")
        on.app.asked_to_end(signal.SIGTERM)
    async with console(home, "items", (100, 30)) as on:
        await on.until(lambda: on.ids)
        await on.press("e")
        await on.shows("is not saved yet")
        await on.press("escape", "escape")
        await on.until(lambda: not drafts(home))
        await on.press("e")
        await on.shows("leave")
        assert "not saved yet" not in on.text
        on.app.asked_to_end(signal.SIGTERM)
    assert drafts(home) == []


async def test_a_huge_paste_into_the_filter_does_not_fill_the_screen(tmp_path):
    async with console(make_home(tmp_path), "items", (80, 24)) as on:
        await on.until(lambda: on.ids)
        on.screen.filter_by("x" * 45_000)
        await on.shows("Nothing matches")
        assert sum("x" * 40 in line for line in on.text.splitlines()) < 6


async def test_an_edit_of_what_another_deleted_meanwhile_is_kept_as_typed(demo):
    with open_workspace(demo) as other:
        _, item, _ = other.items.add("Likes ferries", "preference", "chat", channel="telegram", chat_id="7")
    async with console(demo, "items") as on:
        await on.pilot.press("e")
        await on.type(" and trains")
        with open_workspace(demo) as other:
            deleted = other.items.delete([item.id])
        await on.press("ctrl+s")
        await on.shows("this item was deleted meanwhile", f"{deleted.id}`", "as a new one")
        await on.until(lambda: isinstance(on.app.screen, EditScreen) and "Likes ferries and trains" in on.text)
        await on.press("ctrl+s")
        await on.until(lambda: "Likes ferries and trains" in [row.text for row in on.screen.table.rows])
        new = next(row for row in on.screen.table.rows if row.text == "Likes ferries and trains")
        assert (new.kind, new.scope_key) == ("preference", item.scope_key)
