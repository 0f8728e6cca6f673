"""The Ledger screen on a large operation: its filter asks for keys without reading what the operation changed."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.database import reading
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.screens.console import console
from tests.store.homes import make_home


async def test_a_filter_by_key_finds_a_large_operation_and_does_not_read_it(tmp_path, monkeypatch):
    home = make_home(tmp_path, items=0)
    with open_workspace(home) as ws:
        rows = [Item(f"row_{number}", f"text {number}") for number in range(reading.LARGE + 1)]
        changes = [change_of("item", None, row) for row in rows]
        large = ws.perform(new_operation("memory.import", "import many", changes, actor="import"))
        small = ws.items.edit("row_7", text="seven")
        other = ws.items.edit("row_8", text="eight")

    asked = reading.SqliteReading.all

    def read_little(self, name, **values):
        assert name != "operation_changes", "a filter reads a large operation whole"
        return asked(self, name, **values)

    async with console(home, "ledger") as on:
        await on.until(lambda: {large.id, small.id, other.id} <= set(on.ids))
        monkeypatch.setattr(reading.SqliteReading, "all", read_little)
        await on.press("slash")
        await on.type("key:row_7")
        await on.until(lambda: set(on.ids) == {large.id, small.id}, "those that touched it")


@pytest.mark.slow
async def test_all_that_are_selected_are_taken_back_the_newest_first(tmp_path):
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        before = [row[:-1] for row in ws.items.all()]
        key = ws.items.all()[0].id
        for text in ("one", "two", "three"):
            ws.items.edit(key, text=text)
    async with console(home, "ledger", (120, 40)) as on:
        await on.until(lambda: len(on.ids) >= 3)
        await on.press("space", "space", "space", "t")
        await on.shows("Take back: 3 changes", "edit “three”", "edit “one”")
        await on.press("y")
        await on.shows("took back 3 changes (^r does it again)")
    with open_workspace(home) as ws:
        assert [row[:-1] for row in ws.items.all()] == before


@pytest.mark.slow
async def test_what_is_refused_in_the_middle_leaves_the_others_taken_back_and_says_so(tmp_path):
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        key, other = (row.id for row in ws.items.all()[:2])
        first = ws.items.edit(key, text="one")
        ws.items.edit(key, text="one more")  # not selected: stands in the way of the first
        ws.items.edit(other, text="another")
    async with console(home, "ledger", (120, 40)) as on:
        await on.until(lambda: first.id in on.ids)
        await on.press("space", "down", "space", "t")
        await on.shows("Take back: 2 changes")
        await on.press("y")
        await on.shows("(^r does it again)")
    with open_workspace(home) as ws:
        assert ws.items.get(key).text == "one more"
        assert ws.items.get(other).text != "another"


async def test_which_agent_did_it_is_told_and_filtered_by(demo):
    async with console(demo, "ledger") as on:
        await on.shows("agent Wren")
        await on.press("slash")
        await on.type("who:wren")
        await on.press("enter")
        shown = {row.operation.who for row in on.screen.table.rows}
        assert shown == {"agent Wren"}
        await on.press("enter")
        await on.shows("who          agent Wren")
