"""The Files screen while somebody else writes the file that a person edits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.app import NanomemApp
from nanomem_tui.widgets.prompt import EditScreen
from tests.screens.console import console


@pytest.mark.slow
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


async def test_an_edit_beside_damaged_versions_is_made_undone_and_told(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = demo / "USER.md"
    before = path.read_bytes()
    (demo / ".git/HEAD").unlink()
    said: list[tuple[str, str, str]] = []

    def heard(_: NanomemApp, message: str, *, title: str, severity: str, **__: Any) -> None:
        said.append((severity, title, message))

    monkeypatch.setattr(NanomemApp, "notify", heard)  # a notice is gone after some seconds
    async with console(demo, "files", (100, 30)) as on:
        await on.at("USER.md")
        await on.press("e")
        await on.type("- Likes long walks")
        await on.press("ctrl+s")
        await on.until(lambda: "Likes long walks" in path.read_text())
        await on.until(lambda: said)
        assert said[0][:2] == ("warning", "Made without a commit")
        assert "HEAD (`git fsck` in the workspace" in said[0][2]
        await on.until(lambda: said[1:] == [("information", "", "edit USER.md (u undoes it)")])
        await on.press("u")
        await on.until(lambda: path.read_bytes() == before)
        await on.until(lambda: said[2:] == [said[0], ("information", "", "undo: edit USER.md (^r does it again)")])
