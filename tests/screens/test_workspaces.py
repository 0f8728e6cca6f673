"""One console over several workspaces: going from one to another by keys, and nothing of the one in the other."""

import os
import threading
import weakref
from pathlib import Path

import pytest
from textual.screen import ModalScreen

from nanomem_tui import app, workspaces
from nanomem_tui.actions import SCREENS
from nanomem_tui.core import paths
from nanomem_tui.core.errors import DiskFull
from nanomem_tui.memory.turns.request import TurnInput
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.store.files.user import Bookmark, Drafts, NamedFilter
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.widgets.bars import FilterBar, StatusBar
from nanomem_tui.widgets.tour import WALK, Tour
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console

pytestmark = pytest.mark.slow

CAT = "家猫 sleeps by day 🐈"


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two agents' workspaces, both in the settings of the user."""
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = []
    for name, texts in (("boats", ("the boat is green", "tea, never coffee")), ("家猫", (CAT, "แมวสีส้ม", "fish"))):
        workspace = tmp_path / name / "workspace"
        workspace.mkdir(parents=True)
        (workspace.parent / "config.json").write_text("{}")
        with open_workspace(workspace) as ws:
            for text in texts:
                ws.items.add(text)
        workspaces.add(str(workspace), name)
        made.append(workspace)
    return made[0], made[1]


def title(on):
    return on.screen.counts


async def over(on, name):
    """To the other workspace, by the key twice."""
    await on.press("ctrl+o")
    await on.shows("Workspaces", name)
    await on.press("ctrl+o")
    await on.until(lambda: f"in {name}" in title(on), f"the console is on {name}")


@pytest.mark.slow
async def test_the_key_twice_goes_to_the_other_workspace_and_back(two):
    async with console(two[0], "items", (80, 24)) as on:
        await on.until(lambda: "in boats" in title(on))
        await over(on, "家猫")
        assert on.app.ws.paths.workspace == two[1]
        await on.shows("家猫 sleeps by day", "แมวสีส้ม")
        assert "boat" not in on.text
        assert str(two[1]) in on.screen.query_one(StatusBar).status.workspace
        await over(on, "boats")
        await on.shows("the boat is green")
        assert on.app.ws.paths.workspace == two[0]


@pytest.mark.slow
async def test_what_waits_is_saved_and_undo_takes_back_what_was_done_there(two):
    async with console(two[0], "items") as on:
        left = on.app.ws
        gone = on.ids[0]
        await on.press("d")
        await on.until(lambda: gone not in on.ids)
        await over(on, "家猫")
        assert left.store.dirty == 0
        with open_workspace(two[0]) as ws:
            assert gone not in {row.id for row in ws.items.all()}
        before = on.ids
        await on.press("u")  # nothing was done here
        await on.shows("No more of your changes")
        assert on.ids == before
        await on.press("d", "u")
        await on.until(lambda: on.ids == before)
        await over(on, "boats")
        assert gone not in on.ids
        await on.press("u")
        await on.until(lambda: gone in on.ids)
        assert on.screen.table.cursor_id == gone
        await on.press("u")
        await on.shows("No more of your changes")


@pytest.mark.slow
async def test_filter_selection_place_and_clipboard_stay_behind(two):
    async with console(two[0], "items") as on:
        await on.press("2", "1", "space", "/")
        await on.type("boat")
        await on.press("enter", "y")
        on.app.copy_to_clipboard("the boat is green")
        screens = [one for one in on.app._installed_screens.values() if isinstance(one, WorkspaceScreen)]
        await on.press("escape", "U")
        await over(on, "家猫")
        assert on.screen.SCREEN == "items"
        assert (on.screen.listing.filter.source, on.screen.table.selected) == ("", frozenset())
        assert on.screen.query_one(FilterBar).query_one("Input").value == ""
        assert on.app.clipboard == ""
        assert not any(screen.is_running for screen in screens)
        on.app.go_back()
        assert on.screen.SCREEN == "items", "there is no screen of the workspace before to go back to"
        for key in ("6", "U", "8", "9", "3"):
            await on.press(key)
            assert "boat" not in on.text.replace("boats", "")


async def test_a_thread_of_the_screen_before_reads_the_workspace_before(two):
    async with console(two[0], "items") as on:
        screen = on.screen
        await over(on, "家猫")
        assert screen.ws.paths.workspace == two[0]
        with pytest.raises(Exception, match="another workspace"):
            await screen.change(lambda ws: ws.items.add("lost"))
        assert on.app.ws.items.count()["total"] == 3


async def test_one_that_is_broken_is_shown_with_its_error_and_left_alone(two):
    (two[1].parent / "nanomem" / "config.toml").write_text("max_items = [")
    async with console(two[0], "items", (120, 30)) as on:
        await on.press("ctrl+o")
        await on.shows("the settings do not parse", "error")
        await on.press("enter")
        await on.until(lambda: not isinstance(on.app.screen, ModalScreen))
        await on.shows("the settings do not parse")
        assert on.app.ws.paths.workspace == two[0]
        await on.press("d")
        await on.until(lambda: len(on.ids) == 1)


@pytest.mark.slow
async def test_each_looks_as_its_own_settings_say(two):
    (two[1].parent / "nanomem" / "config.toml").write_text('theme = "nord"\nascii = true\n[keys]\ndelete = "f6"\n')
    async with console(two[0], "items") as on:
        theme = on.app.theme
        await over(on, "家猫")
        assert (on.app.theme, on.app.ascii_only) == ("nord", True)
        await on.press("d")
        assert len(on.ids) == 3
        await on.press("f6")
        await on.until(lambda: len(on.ids) == 2)
        await over(on, "boats")
        assert (on.app.theme, on.app.ascii_only) == (theme, False)
        await on.press("d")
        await on.until(lambda: len(on.ids) == 1)


async def test_typing_narrows_the_list(two):
    async with console(two[0], "items") as on:
        await on.press("ctrl+o")
        await on.shows("家猫", "no agent", "boats")
        await on.type("boat")
        await on.until(lambda: "家猫" not in on.text)
        await on.press("enter")
        await on.shows("This is boats")


@pytest.mark.slow
async def test_a_search_in_all_of_them_goes_to_what_was_found(two):
    async with console(two[0], "lessons") as on:
        await on.press("J")
        await on.type("sleeps")
        await on.shows("0 found")
        await on.press("ctrl+o")
        await on.shows("all workspaces", "家猫", "1 found")
        await on.press("enter")
        await on.until(lambda: "in 家猫" in title(on))
        await on.until(lambda: getattr(on.screen.table.cursor_row, "text", "") == CAT)
        await on.press("J", "ctrl+o")
        await on.type("green")
        await on.shows("boats", "1 found")
        await on.press("ctrl+o")
        await on.shows("Jump to anything", "0 found")


@pytest.mark.slow
async def test_keys_typed_meanwhile_go_to_the_other_workspace(two):
    async with console(two[0], "items") as on:
        await on.press("ctrl+o")
        await on.pilot.press("ctrl+o", "slash", "f", "i", "s", "h")
        await on.until(lambda: "in 家猫" in title(on))
        await on.until(lambda: on.screen.listing.filter.source == "fish")
        with open_workspace(two[0]) as ws:
            assert ws.items.count()["total"] == 2


async def test_alone_no_name_is_said(tmp_path, two):
    for name in ("boats", "家猫"):
        workspaces.forget(name)
    async with console(two[0], "items") as on:
        assert "in boats" not in on.text
        await on.press("ctrl+o")
        await on.shows("nanomem workspaces add PATH")


@pytest.mark.slow
async def test_the_opened_ones_are_remembered_where_that_is_wanted(two, tmp_path):
    file = paths.remembered_workspaces()
    async with console(two[0], "items") as on:
        await over(on, "家猫")
    assert not file.exists()
    with paths.user_settings().open("a") as settings:
        settings.write("remember_workspaces = true\n")
    async with console(two[0], "items") as on:
        await over(on, "家猫")
    assert file.stat().st_mode & 0o777 == 0o600
    for name in ("boats", "家猫"):
        workspaces.forget(name)
    assert [one.folder for one in workspaces.list_workspaces().workspaces] == []


@pytest.mark.slow
async def test_the_memory_that_is_left_is_let_go_of(two):
    async with console(two[0], "items") as on:
        await over(on, "家猫")
        left = weakref.ref(on.app.ws)
        await over(on, "boats")
        await on.until(lambda: app.let_go_of_garbage() or left() is None, "nothing holds it any more")


@pytest.mark.slow
async def test_a_text_that_waits_there_is_told_and_offered_there(two):
    Drafts(paths.find_workspace(two[1])).save("Edit", "fish", "a fish that was being written")
    async with console(two[0], "items") as on:
        assert "not saved yet" not in on.text
        await over(on, "家猫")
        await on.shows("1 text not saved yet")


@pytest.mark.slow
async def test_the_walk_of_a_demonstration_ends_with_it(two):
    async with console(two[0], "items") as on:
        on.app.begin_tour(Tour(WALK, {}))
        await on.shows("Step 1")
        await over(on, "家猫")
        assert "Step 1" not in on.text


@pytest.mark.slow
async def test_what_cannot_be_saved_is_told_and_stays_in_the_ledger(two, monkeypatch):
    async with console(two[0], "items") as on:
        gone = on.ids[0]
        await on.press("d")
        await on.until(lambda: gone not in on.ids)

        def full(*_, **__):
            raise DiskFull("no space left", "nanomem.db", "free some")

        with monkeypatch.context() as patch:
            patch.setattr(MemoryStore, "checkpoint", full)
            await over(on, "家猫")
            await on.shows("boats was not saved", "every change is saved")
        await over(on, "boats")
        assert gone not in on.ids
        await on.press("ctrl+s")
        await on.until(lambda: on.app.ws.store.dirty == 0)


@pytest.mark.slow
async def test_a_disk_that_hangs_is_told_and_the_console_goes_on(two, monkeypatch):
    hangs = threading.Event()
    monkeypatch.setattr(app, "PATIENCE", 0.2)
    real, folder = os.listdir, two[1]

    def listed(path="."):
        if Path(path) == folder:
            hangs.wait(60)
        return real(path)

    async with console(two[0], "items") as on:
        await on.press("ctrl+o")
        monkeypatch.setattr(os, "listdir", listed)
        await on.press("ctrl+o")
        await on.shows("家猫 does not answer")
        await on.press("d")
        await on.until(lambda: len(on.ids) == 1)
        hangs.set()


@pytest.mark.slow
async def test_no_screen_shows_a_word_of_the_workspace_before(two, demo):
    with open_workspace(two[0]) as ws:
        for number in range(3):
            ws.items.add(f"zebra {number}")
        ws.lessons.add("zebra answers", "be brief, zebra")
        ws.journal.add("a day with a zebra")
        ws.habits.set_bookmark(Bookmark("items", ws.items.all()[0].id, "zebra"))
        ws.habits.save_filter(NamedFilter("zebra", "items", "zebra"))
        ws.engine.begin_turn(TurnInput("cli:x", "cli", "x", text="do you know the zebra"))
    workspaces.add(str(demo), "demo")
    here = workspaces.list_workspaces().named("demo")
    assert here is not None
    async with console(two[0], "items", (200, 60)) as on:
        for name in SCREENS:
            on.app.go(name)
            await on.app.settled()
        assert "zebra" in await everything(on, ("items", "lessons", "journal"))
        on.app.switch_to(here)
        await on.until(lambda: "in demo" in title(on))
        assert "zebra" not in await everything(on, tuple(SCREENS))
        on.app.go("items")
        await on.press("apostrophe")
        assert "zebra" not in on.text
        await on.press("escape", "vertical_line")
        assert "zebra" not in on.text
        await on.press("escape", "J")
        await on.type("zebra")
        await on.shows("Nothing found")


async def everything(on, names):
    """What these screens show, one after the other."""
    shown = []
    for name in names:
        on.app.go(name)
        await on.app.settled()
        await on.pilot.pause()
        shown.append(on.text)
    return "\n".join(shown)
