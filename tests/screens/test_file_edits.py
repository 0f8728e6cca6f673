"""The Files screen while somebody else writes the file that a person edits."""

from __future__ import annotations

from pathlib import Path

from nanomem_tui.widgets.prompt import EditScreen
from tests.screens.console import console


async def test_a_line_that_is_written_while_a_person_types_is_kept(demo: Path) -> None:
    path = demo / "USER.md"
    async with console(demo, "files") as on:
        await on.at("USER.md")
        await on.press("e")
        await on.type("- Likes long walks")
        path.write_text(path.read_text().replace("\n", "\n- by the agent\n", 1))
        await on.press("ctrl+s")
        await on.until(lambda: "Likes long walks" in path.read_text())
        assert "- by the agent\n" in path.read_text()
        await on.press("u")
        await on.until(lambda: "Likes long walks" not in path.read_text())
        assert "- by the agent\n" in path.read_text()


async def test_what_was_typed_over_a_line_that_changed_is_offered_again(demo: Path) -> None:
    path = demo / "USER.md"
    path.write_text("# User\n- one line")
    async with console(demo, "files") as on:
        await on.at("USER.md")
        await on.shows("one line")
        await on.press("e")
        await on.type(" and mine")
        path.write_text("# User\n- one line of the agent")
        await on.press("ctrl+s")
        await on.shows("the file changed meanwhile at line 2", "one line and mine")
        assert path.read_text() == "# User\n- one line of the agent"
        await on.press("ctrl+s")
        await on.until(lambda: not isinstance(on.app.screen, EditScreen))
        await on.until(lambda: path.read_text() == "# User\n- one line and mine")
