"""What a list shows is written to a file: by key and headless the same."""

import asyncio
import json
import stat

import pytest

from nanomem_tui.cli.main import run
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console


def filled(tmp_path):
    workspace = tmp_path / "home" / "workspace"
    workspace.mkdir(parents=True)
    with open_workspace(workspace) as ws:
        for text in ("the ferry leaves at nine", "tea, never coffee", "ferry tickets are in the blue folder"):
            ws.items.add(text)
    return workspace


@pytest.mark.slow
async def test_the_rows_shown_are_written_to_a_file_of_ones_own(tmp_path):
    workspace, file = filled(tmp_path), tmp_path / "ferry.json"
    async with console(workspace, "items") as on:
        await on.press("/")
        await on.type("ferry")
        await on.press("enter", "X")
        await on.shows("Export 2 rows")
        await on.type(str(file))
        await on.press("enter")
        await on.shows("Wrote 2 rows to ferry.json")
        assert on.ids == [row["id"] for row in json.loads(file.read_text("utf-8"))]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    twin = tmp_path / "twin.json"
    line = ["--workspace", str(workspace), "--snapshot", "items", "--filter", "ferry", "--size", "140x40"]
    assert await asyncio.to_thread(run, [*line, "--rows", str(twin)]) == 0
    assert twin.read_bytes() == file.read_bytes()


@pytest.mark.slow
async def test_selected_rows_alone_are_written(tmp_path):
    workspace, file = filled(tmp_path), tmp_path / "one.csv"
    async with console(workspace, "items") as on:
        await on.press("space", "X")
        await on.shows("Export 1 row")
        await on.type(str(file))
        await on.press("enter")
        await on.shows("Wrote 1 row")
        assert file.read_text("utf-8").count("\n") == 2


@pytest.mark.slow
async def test_a_file_that_is_there_is_never_written_over(tmp_path):
    workspace, file = filled(tmp_path), tmp_path / "mine.md"
    file.write_text("mine", "utf-8")
    async with console(workspace, "items") as on:
        await on.press("X")
        for name, said in ((str(file), "that file is there already"), ("a.txt", "the name says no format"),
                           (str(tmp_path / "none" / "a.md"), "its folder is not there")):  # fmt: skip
            await on.press("ctrl+u")
            await on.type(name)
            await on.press("enter")
            await on.shows(said)
        await on.press("escape")
    assert file.read_text("utf-8") == "mine"
