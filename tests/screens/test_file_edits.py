"""The Files screen while somebody else writes the file that a person edits."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from nanomem_tui.app import NanomemApp
from nanomem_tui.screens.merge_dialog import MergeScreen
from nanomem_tui.widgets.dialogs import EditScreen
from tests.screens.console import console


@pytest.mark.slow
async def test_a_line_that_is_written_while_a_person_types_is_kept(demo):
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


THREE = "# User\n- one line\n- kept\n- two line"
THEIRS = "# User\n- one line of the agent\n- kept\n- two line of the agent\n- new of the agent"


@asynccontextmanager
async def both_wrote(demo):
    """A person changed the last line, somebody else that one and two more; the person has pressed save."""
    path = demo / "USER.md"
    path.write_text(THREE)
    async with console(demo, "files", (100, 40)) as on:
        await on.at("USER.md")
        await on.shows("two line")
        await on.press("e")
        await on.type(" of mine")
        path.write_text(THEIRS)
        await on.press("ctrl+s")
        await on.until(lambda: isinstance(on.app.screen, MergeScreen))
        yield on, path


@pytest.mark.slow
async def test_lines_that_both_changed_are_merged_by_the_person(demo):
    async with both_wrote(demo) as (on, path):
        await on.shows("1 of 1, line 4: not decided", "the file now", "- two line of the agent", "- two line of mine")
        await on.press("ctrl+s")
        await on.shows("1 place left to decide")
        assert path.read_text() == THEIRS
        await on.press("3")
        await on.shows("keeps both")
        await on.press("tab")
        await on.shows("What saving would change", "+ - two line of mine")
        await on.press("ctrl+s")
        await on.until(lambda: path.read_text().rstrip("\n") == f"{THEIRS}\n- two line of mine")
        await on.press("u")
        await on.until(lambda: path.read_text() == THEIRS)


@pytest.mark.parametrize(
    ("key", "line"), [("1", "- two line of the agent\n- new of the agent"), ("2", "- two line of mine")]
)
async def test_one_side_is_taken(demo, key, line):
    async with both_wrote(demo) as (on, path):
        await on.press(key)
        await on.press("ctrl+s")
        await on.until(lambda: not isinstance(on.app.screen, MergeScreen))
        if key == "2":
            await on.until(lambda: "two line of mine" in path.read_text())
        assert path.read_text().startswith("# User\n- one line of the agent\n- kept\n")
        assert path.read_text().endswith(line)


@pytest.mark.slow
async def test_it_comes_back_when_the_file_changed_once_more(demo):
    async with both_wrote(demo) as (on, path):
        await on.press("2")
        path.write_text(THEIRS.replace("- two line of the agent", "- two line of the agent again"))
        await on.press("ctrl+s")
        await on.shows("- two line of the agent again", "not decided")
        await on.press("2")
        await on.press("ctrl+s")
        await on.until(lambda: "two line of mine" in path.read_text())


@pytest.mark.slow
async def test_what_was_typed_is_kept_when_the_merge_is_put_away(demo):
    async with both_wrote(demo) as (on, path):
        await on.press("escape")
        await on.until(lambda: not isinstance(on.app.screen, MergeScreen))
        assert path.read_text() == THEIRS
        await on.press("e")
        await on.shows("not saved yet", "two line of mine", "two line of the agent")
        await on.press("ctrl+s")
        await on.until(lambda: "two line of mine" in path.read_text())
        assert "- two line of the agent\n" in path.read_text()


@pytest.mark.slow
async def test_it_is_written_on_by_hand(demo):
    async with both_wrote(demo) as (on, path):
        await on.press("e")
        await on.until(lambda: isinstance(on.app.screen, EditScreen))
        await on.type(" and by hand")
        await on.press("ctrl+s")
        await on.until(lambda: "and by hand" in path.read_text())
        assert all(line in path.read_text() for line in ("two line of mine", "two line of the agent\n"))


async def test_an_edit_beside_damaged_versions_is_made_undone_and_told(demo, monkeypatch):
    path = demo / "USER.md"
    before = path.read_bytes()
    (demo / ".git/HEAD").unlink()
    said: list[tuple[str, str, str]] = []

    def heard(_, message, *, title, severity, **__):
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
