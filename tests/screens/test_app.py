"""The console as a whole: its screens by key, undo of anything, checkpoints behind, trouble in words, never a crash."""

import time

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.actions import SCREENS
from nanomem_tui.app import NanomemApp
from nanomem_tui.core import config, paths
from nanomem_tui.core.errors import CorruptDatabase, DiskFull
from nanomem_tui.opening import Opening
from nanomem_tui.screens.files import FilesScreen
from nanomem_tui.screens.registry import PLACES
from nanomem_tui.widgets.bars import FilterBar, StatusBar
from nanomem_tui.widgets.text_view import Preview, TextView
from tests.screens.console import Console, console


def bar(on):
    return on.screen.query_one(StatusBar).text


def toasts(on):
    return " ".join(str(one.message) + str(one.title) for one in on.app._notifications)


def test_every_screen_has_its_place():
    assert set(PLACES) == set(SCREENS)


@pytest.mark.slow
async def test_a_key_shows_a_screen_and_1_comes_back_to_the_same_row(demo):
    keys = {"2": "lessons", "3": "sessions", "4": "wal", "5": "dream", "9": "status", "U": "ledger"}
    async with console(demo, "items") as on:
        await on.press("j", "j")
        at = on.screen.table.cursor_id
        for key, name in keys.items():
            await on.press(key)
            assert name == on.screen.SCREEN
            await on.press("1")
            assert on.screen.table.cursor_id == at


@pytest.mark.slow
async def test_a_change_on_one_screen_is_taken_back_on_another(demo):
    async with console(demo, "items") as on:
        before = on.ids
        await on.press("d", "2", "u")
        await on.shows("undo: delete")
        await on.press("1")
        await on.until(lambda: on.ids == before, "the item is back")


@pytest.mark.slow
async def test_undo_goes_back_through_many_changes_and_redo_forward(demo):
    async with console(demo, "items") as on:
        before = on.ids
        await on.press("d", "d", "d", "d", "u", "u", "u", "u")
        assert on.ids == before
        await on.press("ctrl+r", "ctrl+r")
        assert on.ids == before[2:]


async def test_nothing_to_undo_is_said(tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    async with console(workspace, "items") as on:
        await on.press("u")
        assert toasts(on) == "No more of your changes; U opens history"


@pytest.mark.slow
async def test_the_ledger_takes_back_any_change_whatever_came_after(demo):
    async with console(demo, "items") as on:
        first, second = on.ids[:2]
        await on.press("d", "d", "U")
        await on.until(lambda: len(on.ids) >= 2, "the changes")
        await on.press("j", "t")
        await on.shows("Take back: delete")
        await on.press("y")
        await on.until(lambda: on.screen.table.rows[2].undone, "the first delete taken back")
        await on.press("1")
        await on.until(lambda: first in on.ids and second not in on.ids)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 60)])
async def test_the_ledger_says_what_was_taken_back_however_wide_it_is(demo, size):
    async with console(demo, "items", size) as on:
        await on.press("x", "u", "U")
        await on.shows("taken back", "undo: disable")
        line = next(line for line in on.text.split("\n") if "taken back" in line)
        assert "disable" in line
        assert "undo" not in line


async def test_esc_leaves_the_ledger_to_where_one_came_from(demo):
    async with console(demo, "lessons") as on:
        await on.press("U", "escape")
        assert on.screen.SCREEN == "lessons"


@pytest.mark.slow
async def test_eight_changes_are_saved_behind(demo):
    async with console(demo, "items") as on:
        for _ in range(8):
            await on.press("x", "j")
        on.app.check_workspace()
        await on.until(lambda: on.app.state.saved_at, "a checkpoint")
        await on.until(lambda: "saved" in bar(on) and "unsaved" not in bar(on))
        assert "writing agent files" in bar(on), "they are written at most once in a flush interval"


async def test_what_waits_for_a_checkpoint_is_counted_and_saved_at_the_end(demo):
    async with console(demo, "items") as on:
        gone = on.ids[0]
        await on.press("d")
        await on.until(lambda: "1 unsaved" in bar(on))
    with open_workspace(demo) as ws:
        assert gone not in {item.id for item in ws.items.all()}
        assert ws.checkpoint_state()["dirty"] == 0


async def test_a_full_disk_is_said_in_words_and_nothing_is_half_done(demo, monkeypatch):
    async with console(demo, "items") as on:
        before = on.ids

        def full(*_args, **_named):
            raise DiskFull("no space left while writing the ledger", "ledger", "free some space; nothing was changed")

        monkeypatch.setattr(on.app.ws.store.writer, "perform", full)
        await on.press("d")
        assert "no space left" in toasts(on)
        assert on.ids == before
        on.app.check_workspace()
        await on.until(lambda: "not saving: no space left" in bar(on), "degraded in words")
        monkeypatch.undo()
        await on.press("d")
        assert on.ids == before[1:]
        await on.until(lambda: "not saving" not in bar(on), "well again")


async def test_a_change_beside_a_log_that_cannot_be_read_is_told_as_made(demo, monkeypatch):
    async with console(demo, "items") as on:
        before = on.ids

        def unreadable(*_args, **_named):
            raise CorruptDatabase("the log cannot be read", "nanomem.db", "nanomem doctor says more")

        monkeypatch.setattr(on.app.ws, "log", unreadable)
        await on.press("d")
        assert on.ids == before[1:]
        assert "u undoes it" in bar(on)
        monkeypatch.undo()
        await on.press("u")
        assert on.ids == before


async def test_an_unexpected_error_of_a_change_is_a_notice(demo, monkeypatch):
    async with console(demo, "items") as on:

        def broken(*_args, **_named):
            raise RuntimeError("surprise")

        monkeypatch.setattr(on.app.ws.items, "delete", broken)
        await on.press("d")
        assert "surprise" in toasts(on)
        await on.press("j")


async def test_what_went_well_is_said_in_the_status_bar(demo):
    async with console(demo, "items") as on:
        await on.press("x")
        assert "u undoes it" in bar(on)
        assert toasts(on) == ""


async def test_the_palette_does_what_is_chosen_by_name(demo):
    async with console(demo, "items") as on:
        await on.press("ctrl+p")
        await on.type("next theme")
        before = on.app.theme
        await on.press("enter")
        await on.until(lambda: on.app.theme != before)


async def test_help_names_the_keys_of_the_screen_and_why_one_cannot_be_used(demo):
    async with console(demo, "items", (120, 60)) as on:
        await on.press("question_mark")
        await on.shows("Keys of Memory", "Make one item", "select two or more rows first")
        await on.press("escape")
        assert on.app.screen is on.screen


async def test_remapped_keys_work_and_wrong_ones_are_named(demo, monkeypatch):
    found = paths.find_workspace(demo)
    loaded = config.load(found)
    settings = loaded.settings._replace(keys={"delete": "f6", "fly": "f"})
    app = NanomemApp(Opening(found, loaded._replace(settings=settings)))
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await app.settled()
        on = Console(app, pilot)
        assert "there is no action “fly”" in toasts(on)
        before = on.ids
        await on.press("d")
        assert on.ids == before
        await on.press("f6")
        assert on.ids == before[1:]


@pytest.mark.slow
async def test_every_place_that_names_a_key_names_the_one_in_force(demo):
    found = paths.find_workspace(demo)
    loaded = config.load(found)
    moved = {"delete": "f6", "go_lessons": "f2", "palette": "f9, dollar_sign", "theme": "f3", "next_list": "f4"}
    app = NanomemApp(Opening(found, loaded._replace(settings=loaded.settings._replace(keys=moved))))
    async with app.run_test(size=(200, 60), notifications=True) as pilot:
        await app.settled()
        on = Console(app, pilot)
        await on.shows("f2 Lessons", " f6 delete", " f4 next list")
        assert "2 Lessons" not in on.text.replace("f2 Lessons", "")
        await on.press("question_mark")
        help_text = on.app.screen.query_one(Preview).document.plain()
        for line in ("  f6         Delete one", "  f9 $       Every action", "  f3         Dark, light"):
            assert line in help_text
        await on.press("escape", "dollar_sign")
        await on.type("delete")
        table = on.app.screen.table
        keys = {choice.id: table.render_line(y).text for y, choice in enumerate(table.rows, 1)}
        assert " f6 " in keys["items delete"]
        assert " f2 " not in keys["items delete"]
        assert " f2 f6 " in keys["lessons delete"]
        await on.press("escape")
        before = on.app.theme
        await on.press("f3")
        assert on.app.theme != before, "an action of the palette may be given a key"


@pytest.mark.slow
async def test_keys_typed_before_there_are_rows_act_in_order(demo):
    found = paths.find_workspace(demo)
    app = NanomemApp(Opening(found, config.load(found)))
    async with app.run_test(size=(120, 30)) as pilot:
        on = Console(app, pilot)
        await pilot.press("j", "d", "slash")
        await pilot.press(*"tea")
        await app.settled()
        await on.until(lambda: on.screen.listing.filter.source == "tea", "the filter typed ahead")
        await on.shows("undoes it")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (60, 20), (160, 45)])
async def test_no_line_is_longer_than_the_screen(demo, size):
    from rich.cells import cell_len

    async with console(demo, "items", size) as on:
        for key in "20U":
            lines = on.text.split("\n")
            assert len(lines) == size[1]
            assert max(map(cell_len, lines)) <= size[0]
            await on.press(key)


async def test_a_smaller_terminal_says_what_is_needed(demo):
    async with console(demo, "items", (50, 15)) as on:
        await on.shows("nanomem needs 60x20")


@pytest.mark.slow
async def test_nothing_is_written_by_looking(demo):
    def files():
        """All but what SQLite shares between processes that read: `-shm`, and an empty `-wal`."""
        found = (path for path in demo.parent.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in found if path.suffix not in (".db-shm", ".db-wal")}

    before = files()
    async with console(demo, "items") as on:
        for key in "23450U1":
            await on.press(key)
    assert files() == before


async def test_an_action_that_fails_unexpectedly_is_said_in_words_and_the_console_goes_on(demo, monkeypatch):
    async with console(demo, "items") as on:

        def broken(*_args):
            raise KeyError("surprise")

        monkeypatch.setattr(type(on.screen), "do_wrap", broken)
        await on.press("w")
        assert "that did not work" in toasts(on)
        assert "surprise" in toasts(on)
        assert "Traceback" not in toasts(on)
        await on.press("j")
        assert on.screen.table.cursor == 1


@pytest.mark.slow
async def test_the_palette_shows_first_what_is_called_so_itself(demo):
    async with console(demo, "items", (100, 30)) as on:
        await on.press("ctrl+p")
        await on.type("chart")
        await on.shows("Charts")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "pictures")


@pytest.mark.slow
async def test_the_palette_goes_to_the_screen_of_what_is_chosen(demo):
    async with console(demo, "items", (100, 30)) as on:
        await on.press("ctrl+p")
        await on.type("find in all")
        await on.shows("Sessions: find in all", "3 F", "Notes: find in all", "3 ] ] ] F")
        await on.press("enter")
        await on.shows("Find in all transcripts")
        assert on.screen.SCREEN == "sessions"
        await on.press("escape", "ctrl+p")
        await on.type("kind")
        await on.shows("Memory: kind, scope", "1 i")
        await on.press("enter")
        await on.shows("Kind, importance and scope of")
        assert on.screen.SCREEN == "items"


@pytest.mark.slow
async def test_the_palette_takes_the_commands_that_agents_have_for_dreams(demo):
    async with console(demo, "items", (100, 30)) as on:
        await on.press("ctrl+p")
        await on.type("/dream")
        await on.shows("/dream Run a Dream now", "/dream-log", "/dream-restore")
        await on.press("enter")
        await on.shows("Run a Dream")
        assert on.screen.SCREEN == "dream"
        await on.press("escape")
        sha = on.ids[-2]
        await on.press("1", "ctrl+p")
        await on.type(f"/dream-log {sha[:8]}")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "dream" and on.ids == [sha])
        await on.press("ctrl+p")
        await on.type(f"/dream-restore {sha[:8]}")
        await on.press("enter")
        await on.shows(f"Take back {sha[:8]}")


@pytest.mark.slow
async def test_an_action_of_another_screen_waits_for_its_rows(demo, monkeypatch):
    read = FilesScreen.load

    def slowly(screen):
        time.sleep(0.3)
        yield from read(screen)

    monkeypatch.setattr(FilesScreen, "load", slowly)
    async with console(demo, "items") as on:
        await on.press("ctrl+p")
        await on.type("files: edit")
        await on.press("enter")
        await on.shows("Edit SOUL.md")


async def test_a_filter_over_what_fits_needs_no_scrollbar(demo):
    async with console(demo, "scopes", (120, 60)) as on:
        await on.until(lambda: len(on.screen.table.rows) > 3)
        for key, is_open in (("slash", True), ("escape", False)):
            await on.press(key)
            await on.until(lambda is_open=is_open: on.screen.query_one(FilterBar).is_open == is_open)
            await on.pilot.pause(0.2)
            assert not on.screen.table.show_vertical_scrollbar
            assert not on.screen.query_one("#detail", TextView).show_vertical_scrollbar


@pytest.mark.slow
async def test_a_dialog_is_as_high_as_what_it_says_and_stays_so(demo):
    async with console(demo, "inbox", (80, 24)) as on:
        await on.press("G", "ampersand")
        await on.shows("All like this", "decided; rule saved", "apply")
        for _ in range(5):
            await on.pilot.pause(0.05)
            shown = on.app.screen.query_one(Preview)
            assert shown.size.height == len(shown.lines) > 3
