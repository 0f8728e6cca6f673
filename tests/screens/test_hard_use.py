"""A terminal of ten columns, a megabyte in a field, a keymap that is wrong: told in words, and nothing is harmed."""

import time

import pytest
from textual import events

from nanomem_tui.core import config, paths
from nanomem_tui.widgets.bars import LONGEST, LineInput
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console
from tests.store.homes import make_home


@pytest.fixture
def workspace(tmp_path):
    return make_home(tmp_path)


@pytest.mark.parametrize(
    ("size", "said"), [((10, 5), "too small"), ((40, 12), "nanomem needs 60x20"), ((59, 24), "60x20")]
)
async def test_a_small_terminal_says_so_and_no_key_does_what_cannot_be_seen(workspace, size, said):
    async with console(workspace, "items", (80, 24)) as on:
        await on.press("j")
        at, before = on.screen.table.cursor_id, list(on.screen.listing.rows)
        await on.resize(*size)
        assert said in on.text
        for key in ("x", "d", "/", "x", "space", "ctrl+u", "J", "@", "e", "5"):
            await on.press(key)
        await on.resize(80, 24)
        assert (on.screen.SCREEN, on.screen.table.cursor_id) == ("items", at)
        assert list(on.screen.listing.rows) == before
        assert not on.screen.table.selected


async def test_it_starts_in_a_terminal_of_ten_columns_and_can_be_left(workspace):
    async with console(workspace, "items", (10, 5)) as on:
        assert "too small" in on.text
        await on.press("q")
        assert on.app.return_code == 0


@pytest.mark.slow
async def test_dialogs_follow_a_terminal_that_shrinks_and_grows(workspace):
    async with console(workspace, "items", (160, 45)) as on:
        for opens in ("J", "?", ":", "e", "'", "i"):
            await on.press(opens)
            for width, height in ((10, 5), (1, 1), (60, 20), (200, 60)):
                await on.resize(width, height)
            await on.press("escape")
        assert on.app.screen is on.screen


@pytest.mark.parametrize("opens", ["/", "J", ":", "|"])
async def test_a_megabyte_that_is_pasted_into_a_field_is_cut_in_words(workspace, opens):
    async with console(workspace, "items", (80, 24)) as on:
        await on.press(opens)
        start = time.process_time()
        on.app.post_message(events.Paste("amber kind:a*b \x1b[31m\n" * 50_000))
        await on.shows("of the 1,050,000 characters that were pasted")
        await on.press("left", "x")
        assert time.process_time() - start < 30
        assert len(on.app.screen.query_one(LineInput).value) <= LONGEST + 100
        await on.press("escape", "escape")
        assert on.app.screen is on.screen


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('theme = "solarized"', "cannot be 'solarized'"),
        ("theme = 3", "must be a text"),
        ("keys = 3", "must be a table"),
        ('[keys]\ndelete = "x"', "x is both toggle and delete"),
        ('[keys]\nfly = "f"\ndelete = "x"', "no action “fly”; and 1 more: nanomem config show"),
    ],
)
async def test_a_wrong_theme_or_keymap_is_told_and_the_console_starts(workspace, text, said):
    file = paths.find_workspace(workspace).settings
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    async with console(workspace, "items", (160, 45)) as on:
        told = "".join(line.split("▌ ")[-1].replace(" ", "") for line in on.text.splitlines() if "▌" in line)
        assert said.replace(" ", "") in told
        assert config.load(paths.find_workspace(workspace)).settings.max_items == 100_000
        await on.press("2", "1", "j")
        assert on.screen.table.cursor == 1


async def test_without_colour_what_is_chosen_is_marked_with_signs(workspace, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("NANOMEM_THEME", "dracula")
    with open_workspace(workspace) as ws:
        ws.items.set_enabled([ws.items.all()[2].id], False)
    async with console(workspace, "items", (80, 24)) as on:
        await on.press("space")
        lines = on.text.splitlines()
        assert lines[3].startswith("│ ●")
        assert lines[4].startswith("│▸")
        assert lines[5][3] == "-"


@pytest.mark.slow
async def test_when_the_only_hit_of_a_filter_is_deleted_the_filter_is_why_no_row_is_shown(demo):
    async with console(demo, "items") as on:
        total = len(on.ids)
        await on.press("slash")
        await on.type("brb lunch")
        await on.press("enter", "d")
        await on.shows("Nothing matches brb lunch; esc clears the filter", f"0 of {total - 1}")
        assert "No items yet" not in on.text
        await on.press("escape")
        assert len(on.ids) == total - 1
