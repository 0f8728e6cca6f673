"""Import, export and the notes from the console: a look first, one operation, errors in a line, no key that waits."""

import json
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.retention import Overflow
from nanomem_tui.memory.transfer.import_plan import ImportPlan
from nanomem_tui.memory.transfer.service import Transfer
from nanomem_tui.screens.base.editable_rows import LISTED
from nanomem_tui.screens.transfer import plan_blocks
from nanomem_tui.widgets.bars import LineInput
from nanomem_tui.widgets.text_view import Body, Spans
from tests.screens.console import console

pytestmark = pytest.mark.slow  # whole screens, processes or homes; `make test` ends within its minutes

Sample = Callable[[str], Path]


async def choose(on, action):
    """Do an action of the palette."""
    await on.press("colon")
    await on.type(action)
    await on.press("enter")


async def name_file(on, path):
    """Import from a path, up to the look at the plan."""
    await choose(on, "import")
    await on.shows("Import from a file or folder")
    on.app.screen.query_one(LineInput).value = str(path)
    await on.press("enter")


def texts(on):
    return {row.text for row in on.screen.listing.rows}


@pytest.fixture
def written(tmp_path):
    """A file with one thing that is new to the demonstration and one that is known there."""
    file = tmp_path / "memories.md"
    known = "- database: PostgreSQL 16 since the October upgrade\n"
    file.write_text(f"# Facts\n\n- The kayak is in the boat house\n{known}")
    return file


async def test_an_import_shows_counts_and_duplicates_and_is_one_operation(demo, written):
    async with console(demo, "items") as on:
        before = on.ids
        await name_file(on, written)
        await on.shows("Import 1 row from memories.md", "here already (duplicates)", "The kayak is in the boat house")
        await on.press("n")
        assert on.ids == before
        await name_file(on, written)
        await on.shows("yes, do it")
        await on.press("y")
        await on.until(lambda: "The kayak is in the boat house" in texts(on))
        await on.shows("import 1 item from memories.md (u undoes it)")
        await on.press("u")
        await on.until(lambda: on.ids == before)


async def test_what_is_here_already_has_nothing_to_confirm(demo, written):
    with open_workspace(demo) as ws:
        ws.transfer.run(ws.transfer.preview(written))
    async with console(demo, "items") as on:
        await name_file(on, written)
        await on.shows("Nothing to import", "esc back, nothing was changed")
        await on.press("y")
        assert "Nothing to import" in on.text
        await on.press("escape")
        assert on.app.screen is on.screen


async def test_what_cannot_be_read_is_one_line_and_the_path_is_offered_again(demo):
    async with console(demo, "items") as on:
        before = on.ids
        await name_file(on, "/nowhere/x.jsonl")
        await on.shows("no such file", "Import from a file or folder")
        assert on.app.screen.query_one(LineInput).value == "/nowhere/x.jsonl"
        await on.press("escape")
        assert on.ids == before


async def test_the_database_that_lies_around_is_offered(sample):
    async with console(sample("ftswal"), "items") as on:
        await choose(on, "import")
        await on.shows("Import from a file or folder")
        assert on.app.screen.query_one(LineInput).value.endswith("longterm.db")
        await on.press("enter")
        await on.shows("Import 185 rows from longterm.db", "scoped-db")
        await on.press("y")
        await on.until(lambda: not any(on.screen.foreign(row) for row in on.screen.listing.rows))
        assert len(on.ids) == 185


async def test_keys_go_on_while_a_file_is_read_and_the_time_is_told(demo, written, monkeypatch):
    real, held = Transfer.preview, threading.Event()

    def slow(self, path, **options):
        held.wait(60)
        return real(self, path, **options)

    monkeypatch.setattr(Transfer, "preview", slow)
    async with console(demo, "items") as on:
        await name_file(on, written)
        await on.shows("Reading memories.md")
        await on.press("j", "j")
        assert on.screen.table.cursor == 2
        held.set()
        await on.shows("Import 1 row")
        assert "Reading" not in on.text


async def test_many_new_rows_are_read_again_and_not_put_in_one_by_one(demo, written, monkeypatch):
    monkeypatch.setattr("nanomem_tui.screens.base.editable_rows.PLACED", 10)
    async with console(demo, "items") as on:
        await name_file(on, written)
        await on.shows("yes, do it")
        read, reload = [], on.screen.reload
        monkeypatch.setattr(on.screen, "reload", lambda *given: (read.append(given), reload(*given))[1])
        await on.press("y")
        await on.until(lambda: "The kayak is in the boat house" in texts(on))
        assert read


async def test_the_notes_are_taken_in_after_a_look(demo):
    async with console(demo, "items") as on:
        before = on.ids
        await choose(on, "take in notes")
        await on.shows("items from 2 Markdown files", "memory/MEMORY.md:", "yes, do it")
        await on.press("y")
        await on.until(lambda: len(on.screen.listing.rows) > len(before))
        await choose(on, "take in notes")
        await on.shows("Nothing to take in", "It was done before")
        await on.press("escape", "u")
        await on.until(lambda: on.ids == before)


async def test_an_export_names_what_it_wrote_and_replaces_only_after_a_word(demo, tmp_path):
    file = tmp_path / "out.md"
    async with console(demo, "items") as on:
        await choose(on, "export")
        await on.shows("Export what is remembered")
        on.app.screen.query_one("#field-file", LineInput).value = str(file)
        on.app.screen.query_one("#field-format", LineInput).value = "marktown"
        await on.press("enter")
        assert "no format “marktown”" in on.text
        on.app.screen.query_one("#field-format", LineInput).value = "markdown"
        await on.press("enter")
        await on.shows("items to out.md")
        first = file.read_bytes()
        assert "database: PostgreSQL 16 since the October upgrade" in first.decode()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        await choose(on, "export")
        await on.shows("Export what is remembered")
        on.app.screen.query_one("#field-file", LineInput).value = str(file)
        await on.press("enter")
        await on.shows("Replace a file", "What is in it now is lost.")
        assert file.read_bytes() == first
        await on.type("replace")
        await on.press("enter")
        await on.until(lambda: file.read_bytes() != first)
        assert json.loads(file.read_bytes().split(b"\n")[0])


async def test_an_export_into_no_folder_is_refused_in_a_line(demo):
    async with console(demo, "items") as on:
        await choose(on, "export")
        await on.shows("Export what is remembered")
        on.app.screen.query_one("#field-file", LineInput).value = "/nowhere/out.jsonl"
        await on.press("enter")
        await on.shows("its folder is not there")


@pytest.mark.parametrize("step", ["preview", "run"])
async def test_an_import_that_is_under_way_is_stopped_by_esc_and_changes_nothing(demo, written, monkeypatch, step):
    real = getattr(Transfer, step)

    def held(self, *given, tell):
        for _ in range(6_000):
            tell("Reading", 0, 0)  # what the import does, too, again and again
            time.sleep(0.01)
        return real(self, *given, tell=tell)

    monkeypatch.setattr(Transfer, step, held)
    async with console(demo, "items") as on:
        before = on.ids
        await choose(on, "import")
        await on.shows("Import from a file or folder")
        on.app.screen.query_one(LineInput).value = str(written)
        await on.pilot.press("enter")
        if step == "run":
            await on.shows("yes, do it")
            await on.pilot.press("y")
        await on.shows("esc stops it")
        await on.pilot.press("j", "k", "escape")
        await on.shows("stopped: nothing was changed")
        assert on.ids == before
        await on.press("escape")
        monkeypatch.setattr(Transfer, step, real)
        await name_file(on, written)
        await on.shows("yes, do it")
    with open_workspace(demo) as ws:
        assert "memory.import" not in {entry.operation.kind for entry in ws.log()}


def test_what_an_import_brings_beyond_the_cap_is_said_before_its_rows(written):
    over = Overflow(150_000, 100_000, 50_000)
    blocks = plan_blocks(ImportPlan(written, "markdown", (), over_cap=over))
    assert Body(over.line(), "warn") in blocks
    assert "50,000 of them are compacted away after a day" in over.line()
    assert "`nanomem config set max_items 150000` (0: no cap)" in over.line()


def test_of_each_kind_of_a_source_some_rows_are_shown(samples, tmp_path):
    place = tmp_path / "workspace"
    place.mkdir()
    with open_workspace(place) as ws:
        blocks = plan_blocks(ws.transfer.preview(samples / "aios"))
    texts = [block.parts[1][0] for block in blocks if isinstance(block, Spans)]
    assert {text.partition(":")[0] for text in texts} == {
        "goal", "task", "tool call", "agent state", "decision", "pattern", "procedure", "incident", "config change",
    }  # fmt: skip
    assert len(texts) == LISTED
    assert Body(f"… and {421 - LISTED:,} more", "dim") in blocks


async def test_each_kind_of_a_database_is_counted_before_it_comes(demo, samples):
    source = samples / "crystal/home/.nanobot/memory.db"
    async with console(demo, "items", (80, 24)) as on:
        await name_file(on, source)
        await on.shows("Import 526 rows from memory.db", "91 facts: 91 new", "45 journal entries: 45 new",
                       "360 messages of 7 conversations: 360 new", "20 reflections: 20 new",
                       "10 rows of token use: 10 new")  # fmt: skip
        await on.press("y")
        await on.until(lambda: "Work Hours: 10-19" in texts(on))
        await name_file(on, source)
        await on.shows("Nothing to import", "91 facts: 91 here already")


async def test_the_databases_of_an_agents_work_are_looked_at_kind_by_kind(demo, samples):
    async with console(demo, "items", (100, 40)) as on:
        await name_file(on, samples / "aios")
        await on.shows("Import 421 rows from aios", "working-db", "120 tasks: 120 new", "20 incidents: 20 new")
        await on.press("y")
        await on.shows("import 1 agent state", "(u undoes it)")
        await name_file(on, samples / "aios")
        await on.shows("Nothing to import", "here already (duplicates)")
        await on.press("escape")
        await choose(on, "ledger")
        await on.shows("421 things touched", "tier goal/g0", "+ status: completed")
        await on.press("u")
        await on.shows("undo: import 1 agent state")
