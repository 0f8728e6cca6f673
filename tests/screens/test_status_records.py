"""The Status screen tells the journal, reflections and token use, where there are any."""

from nanomem_tui import open_workspace
from tests.screens.console import console
from tests.screens.test_status import said


async def test_records_are_counted_and_tokens_told_by_whose_they_are(tmp_path):
    place = tmp_path / "home" / "workspace"
    (place / "memory").mkdir(parents=True)
    with open_workspace(place) as ws:
        ws.journal.add("Moved the server")
        ws.reflections.add("exec", "", "no", "ask")
        ws.usage.add("dream", "m", 1000, 500, requests=2)
    async with console(place, "status", (120, 40)) as on:
        parts = said(on)
        assert (parts["Journal"], parts["Reflections"]) == ("1 entry", "1 reflection")
        assert parts["Token use"] == "1,500 tokens in 2 requests"
        await on.at("Token use")
        await on.shows("nanomem 1,500")
