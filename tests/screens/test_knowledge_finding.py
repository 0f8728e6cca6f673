"""Finding facts on the Knowledge screen: what the filter, the order and the search by meaning say for themselves."""

import pytest

from nanomem_tui.core.errors import MissingExtra, extra_command
from nanomem_tui.vectors.semantic_search import SemanticSearch
from tests.screens.console import console

SMALL, LARGE = (80, 24), (200, 60)


@pytest.mark.slow
async def test_what_is_not_installed_is_said_with_the_command_that_installs_it(demo, monkeypatch):
    def missing(_):
        raise MissingExtra("search by meaning needs onnxruntime, which is not installed", "", extra_command("vector"))

    monkeypatch.setattr(SemanticSearch, "maker", missing)
    async with console(demo, "knowledge", SMALL) as on:
        await on.press("~")
        await on.type("where do I live")
        await on.shows(extra_command("vector"), "by words")
        await on.type(" zzyzx qwertzuiop")
        await on.shows("No fact has words like", "nothing was searched", "needs onnxruntime")
        await on.until(lambda: on.text.count(extra_command("vector")) == 2, "the command beside the filter too")
        assert "Nothing is near" not in on.text


async def test_far_is_explained(demo):
    async with console(demo, "knowledge", SMALL) as on:
        await on.press("question_mark")
        await on.shows("Far is the distance")


@pytest.mark.parametrize(("screen", "fields"), [("knowledge", "domain: category: sub: key:"), ("usage", "day: model:")])
async def test_the_filter_names_the_fields_of_its_screen(demo, screen, fields):
    async with console(demo, screen, SMALL) as on:
        await on.press("slash")
        await on.shows(fields, "-not")
        await on.type("knid:fact")
        await on.shows("Nothing matches knid:fact")
        said = " ".join(" ".join(line.strip("│ ") for line in on.text.splitlines()).split())
        assert f"no field “knid” here, searched as text (fields: {', '.join(sorted(on.screen.FILTER_FIELDS))})" in said


async def test_an_order_that_no_heading_shows_is_named(demo):
    async with console(demo, "knowledge", SMALL) as on:
        await on.press("s")
        assert "Sorted by" not in on.text
        for _ in range(3):
            await on.press("s")
            if on.screen.listing.sorted_by == "hits":
                break
        await on.shows("Sorted by hits, the largest first")
