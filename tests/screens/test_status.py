"""The Status screen: what is here, what is broken and where, what waits, and what the doctor finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nanomem_tui import open_workspace
from tests.screens.console import Console, console

Sample = Callable[[str], Path]


def said(on: Console) -> dict[str, str]:
    return {row.name: row.value for row in on.screen.table.rows}


async def test_counts_are_those_of_the_workspace(sample: Sample) -> None:
    async with console(sample("nb035"), "status") as on:
        parts = said(on)
        assert parts["Sessions"] == "39"
        assert parts["History"].startswith("282 entries")
        assert parts["Dream"].startswith("20 runs")
        assert parts["Saving"] == "nothing was ever changed here"
        assert parts["Database"] == "none yet"


async def test_what_is_torn_is_named_by_file_and_line(sample: Sample) -> None:
    async with console(sample("torn"), "status", (160, 45)) as on:
        bad = [row for row in on.screen.table.rows if row.health in {"bad", "warn"}]
        assert any("LESSONS.jsonl:" in row.name for row in bad)
        assert said(on)["Lessons"].startswith("60,")
        await on.at(on.screen.row_id(bad[0]))
        await on.shows("where", "what")


async def test_the_doctor_adds_what_it_finds(sample: Sample) -> None:
    async with console(sample("torn"), "status") as on:
        before = len(on.ids)
        await on.press("D")
        await on.shows("The doctor found")
        await on.until(lambda: len(on.ids) >= before)


async def test_what_waits_for_a_checkpoint_is_said_and_saved_by_a_key(demo: Path) -> None:
    async with console(demo, "items") as on:
        await on.press("x", "0")
        await on.until(lambda: "1 unsaved" in said(on).get("Saving", ""))
        await on.press("ctrl+s")
        await on.shows("Saved 1 change")
        await on.press("f5")
        await on.until(lambda: said(on)["Saving"].startswith("all saved"))
        assert "recorded" in said(on)["Database"]


async def test_growth_and_kinds_are_plotted(sample: Sample) -> None:
    async with console(sample("ramfirst"), "status") as on:
        await on.at("Items")
        await on.shows("By kind", "Written, by month", "Recalled")


async def test_a_broken_database_leaves_the_rest_usable(demo: Path) -> None:
    with open_workspace(demo) as ws:
        ws.items.add("x")
        path = ws.paths.database
    path.write_bytes(b"garbage" * 1000)
    async with console(demo, "status") as on:
        assert said(on)["Items"] == "cannot be read"
        assert int(said(on)["Sessions"]) > 0
        assert any("cannot be read" in row.value for row in on.screen.table.rows if row.health == "bad")
