"""The Journal, the Reflections and the Usage screen, behind Knowledge."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.screens.base.forms import TextForm
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Record
from nanomem_tui.widgets.dialogs import EditScreen
from tests.agents.test_llm_usage import call, made
from tests.screens.console import console

SMALL, LARGE = (80, 24), (200, 60)


@pytest.fixture
def home(tmp_path, clean_home):
    """An empty workspace."""
    workspace = tmp_path / ".nanobot" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (tmp_path / ".nanobot" / "config.json").write_text("{}")
    return workspace


async def dialog(on, key):
    """Press a key that opens a field of many lines."""
    await on.pilot.press(key)
    await on.until(lambda: isinstance(on.app.screen, EditScreen), "a field")


@pytest.mark.slow
async def test_an_entry_is_written_read_with_its_day_changed_and_taken_back(home):
    with open_workspace(home) as ws:
        ws.journal.add("Сначала дождь", "2026-02-15")
        ws.journal.add("下午晴 🌤 [/foo]", "2026-02-15")
    async with console(home, "journal", LARGE) as on:
        await on.shows("2026-02-15", "What was noted", "下午晴 🌤 [/foo]", "The same day: 1 more")
        await dialog(on, "a")
        await on.shows("DAY", "TEXT")
        await on.type("noted by hand")
        await on.press("ctrl+s")
        await on.until(lambda: len(on.ids) == 3)
        await on.shows("noted by hand", "u undoes it")
        await on.at(on.ids[-1])
        await dialog(on, "e")
        await on.type("!!")
        await on.press("ctrl+s")
        await on.until(lambda: any("!!" in row.text for row in on.screen.table.rows))
        before = on.ids
        await on.press("d")
        await on.until(lambda: len(on.ids) == 2)
        await on.press("u")
        await on.until(lambda: on.ids == before, "in its place")


@pytest.mark.slow
async def test_a_day_that_is_none_is_offered_again(home):
    async with console(home, "journal", SMALL) as on:
        await on.shows("No journal yet")
        await dialog(on, "a")
        await on.press("up", "up", "up", "end", "backspace", "backspace")
        await on.type("99")
        await on.press("down", "down", "down")
        await on.type("x")
        await on.press("ctrl+s")
        await on.shows("is no day")
        assert isinstance(on.app.screen, EditScreen)


async def test_the_journal_is_filtered_by_day_and_goes_back_to_the_transcripts(home):
    with open_workspace(home) as ws:
        for day in ("2026-02-15", "2026-02-16", "2026-03-01"):
            ws.journal.add(f"of {day}", day)
    async with console(home, "journal", SMALL) as on:
        assert [row.about for row in on.screen.table.rows] == ["2026-03-01", "2026-02-16", "2026-02-15"]
        on.screen.filter_by("day:2026-02-*")
        await on.until(lambda: len(on.ids) == 2)
        await on.press("escape", "escape")
        assert on.app.main_screen.name == "sessions"


@pytest.mark.slow
async def test_a_reflection_becomes_a_lesson_and_leads_to_it(home):
    with open_workspace(home) as ws:
        ws.reflections.add("web_search", '{"query": "курс"}', "Error: timeout", "Ask for less at once")
    async with console(home, "reflections", LARGE) as on:
        await on.shows("web_search", "Ask for less at once", "Error: timeout", '{"query": "курс"}')
        await on.press("o")
        await on.shows("where this came from is not known")
        await on.press("L")
        await on.shows("The lesson that it became", "tool:web_search:error")
        assert on.screen.sign(on.screen.table.rows[0]) == ">"
        await on.press("o")
        await on.shows("2 Lessons")
        assert on.screen.SCREEN == "lessons"
        assert on.screen.table.cursor_row.better_action == "Ask for less at once"
        await on.shows("o goes there")
        await on.press("o")
        assert on.screen.SCREEN == "reflections"
        assert on.screen.table.cursor_row.text == "Ask for less at once"
        await on.press("d", "2", "o")
        await on.shows("The reflection was deleted since")
        assert on.screen.SCREEN == "lessons"


@pytest.mark.slow
async def test_a_reflection_is_written_and_edited_as_one_text(home):
    async with console(home, "reflections", SMALL) as on:
        await on.shows("No reflections yet")
        await dialog(on, "a")
        await on.type("always look first")
        await on.press("ctrl+s")
        await on.shows("is empty")
        await on.press(*["up"] * 15, "down")
        await on.type("exec")
        await on.press("down", "down", "down", "down", "down", "down")
        await on.type("exit 1")
        await on.press("ctrl+s")
        await on.until(lambda: len(on.ids) == 1, "one reflection")
        row = on.screen.table.rows[0]
        assert (row.about, row.text, row.meta["error"]) == ("exec", "always look first", "exit 1")


def used(day, model, source, tokens, cost=None):
    """A row of the use of tokens as an import leaves it."""
    meta = {"model": model, "source": source, "prompt_tokens": tokens - 10, "completion_tokens": 10}
    meta |= {"total_tokens": tokens, "requests": 1} | ({} if cost is None else {"cost": cost})
    return Record(f"u_{day}_{model}_{source}", "usage", day, source="import", at=f"{day}T10:00:00+00:00",
                  meta_json=json.dumps(meta))  # fmt: skip


@pytest.fixture
def spent(home):
    rows = [
        used("2026-02-15", "gpt-4o", "dream", 1_000, 0.5),
        used("2026-02-15", "local", "heartbeat", 3_000),
        used("2026-02-18", "gpt-4o", "dream", 8_000, 1.5),
    ]
    with open_workspace(home) as ws:
        changes = [change_of("record", None, row) for row in rows]
        ws.perform(new_operation("import", "import", changes, actor="import"))
    return home


async def test_tokens_are_added_up_by_day_model_source_and_owner(spent):
    async with console(spent, "usage", LARGE) as on:
        await on.shows("2 days · 12,000 tokens · 2.00 and more", "2026-02-18", "8,000", "Tokens by day and model")
        await on.at("day 2026-02-15")
        await on.shows("No price is known of 1 model: local", "0.5")
        await on.press("B")
        await on.shows("2 models")
        assert on.ids == ["model gpt-4o", "model local"]
        await on.press("B")
        assert on.ids == ["source dream", "source heartbeat"]
        await on.press("B")
        await on.shows("imported")
        await on.press("B", "s", "s")
        assert on.ids == ["day 2026-02-18", "day 2026-02-15"]


async def test_what_is_filtered_is_what_is_added_up_and_drawn(spent):
    async with console(spent, "usage", LARGE) as on:
        on.screen.filter_by("model:local")
        await on.shows("1 day · 3,000 tokens · no prices")
        on.screen.filter_by("cost:>0")
        await on.shows("2 days · 9,000 tokens · 2.00")
        await on.press("C")
        await on.shows("Cost by day and model")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), SMALL, LARGE])
async def test_each_of_them_shows_what_there_is(demo, size):
    async with console(demo, "items", size) as on:
        for screen, shown in {"journal": "Fields", "reflections": "Insight", "usage": "Tokens by day"}.items():
            await on.go(screen)
            assert on.screen.table.state == "rows"
            await on.press("enter")
            await on.shows(shown)


async def test_what_the_agent_counts_meanwhile_is_seen(spent):
    async with console(spent, "usage", LARGE) as on:
        on.screen.filter_by("whose:agent")
        await on.shows("No whose `agent`")
        made(spent.parent / "llm_usage.sqlite3", call("2026-03-01T12:00:00+00:00", model="qwen3"))
        on.app.check_workspace()
        await on.until(lambda: on.ids == ["day 2026-03-01"], "the agent's day")


async def test_prices_that_were_set_meanwhile_are_read_again(home, monkeypatch):
    file = home.parent / "settings.toml"
    monkeypatch.setenv("NANOMEM_CONFIG", str(file))
    row = used("2026-02-15", "own", "cron", 10)
    with open_workspace(home) as ws:
        ws.perform(new_operation("import", "import", [change_of("record", None, row)]))
    async with console(home, "usage", SMALL) as on:
        await on.shows("no prices", "Share")
        await on.press("C")
        await on.shows("No price is known", "Of the cost")
        file.write_text('[model_prices]\nown = "1000000/1000000"\n')
        await on.press("f5")
        await on.shows("1 day · 10 tokens · 10.00")
        file.write_text("model_prices = [broken")
        await on.press("f5")
        await on.shows("1 day · 10 tokens · 10.00")


async def test_nothing_used_is_said(home):
    async with console(home, "usage", SMALL) as on:
        await on.shows("No use of tokens is known")


def test_a_form_gives_its_fields_back_and_tells_a_part_that_was_lost():
    form = TextForm({"DAY": "day", "TEXT": "text"}, "the edited entry")
    text = form.text({"day": "2026-01-01", "text": "a\n\nDAY\nb"})
    assert form.read(text) == {"day": "2026-01-01", "text": "a\n\nDAY\nb"}
    assert form.edited(text, text.replace("2026-01-01", "2026-01-02")) == {"day": "2026-01-02"}
