"""Versions: a memory file as of every change, what differs from before and from now, and the way back."""

from __future__ import annotations

from typing import cast

import pytest

from nanomem_tui.agents.git import DamagedGit
from nanomem_tui.dreams.blame import Versions
from nanomem_tui.screens.dreams.dream_versions import VersionsScreen, version_lines
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console

MEMORY = "memory/MEMORY.md"


@pytest.fixture
def home(sample):
    return sample("nb035")


def screen(on):
    return cast("VersionsScreen", on.screen)


def shown(on):
    """The lines of the version that is shown, with sign and mark."""
    return [f"{row.line.sign}{'x' if row.gone else ' '} {row.line.text}" for row in screen(on).view.version]


async def at_commit(on, short):
    await on.at(next(row.sha for row in on.screen.table.rows if row.sha.startswith(short)))


def test_every_line_is_marked_against_the_version_before_and_against_now():
    lines = version_lines("# A\n- tea\n", "# A\n- coffee\n- cat\n", "- cat\n")
    marks = [(row.line.sign, row.line.text, row.gone) for row in lines]
    assert marks == [(" ", "# A", True), ("-", "- tea", False), ("+", "- coffee", True), ("+", "- cat", False)]
    assert [row.line.number for row in version_lines("a\nb\n", "a\nb\n", "a\nb\n")] == [1, 2]
    assert [row.line.sign for row in version_lines("a\n", None, "a\n")] == ["-"]
    assert version_lines(None, None, None) == ()


@pytest.mark.slow
async def test_it_opens_at_the_commit_and_the_file_of_the_dream_screen(home):
    async with console(home, "dream", (160, 45)) as on:
        await at_commit(on, "51617caa")
        await on.press("V")
        await on.shows("USER.md", "as of 2025-09-1", "periodic memory consolidation (51617caa)", "x not there any more")
        assert on.screen.table.cursor_id == next(sha for sha in on.ids if sha.startswith("51617caa"))
        assert sum(line.startswith("+") for line in shown(on)) == 2
        await on.press("escape")
        assert on.screen.SCREEN == "dream"


@pytest.mark.slow
async def test_moving_through_time_by_arrows_and_from_file_to_file(home):
    async with console(home, "versions", (160, 45)) as on:
        await on.shows(f"{MEMORY} · ")
        await at_commit(on, "9847f2a3")
        await on.shows("+1 -20 against the version before")
        await on.press("tab", "left")
        await on.until(lambda: (on.screen.table.cursor_id or "").startswith("af4387c8"))
        await on.shows("+  ## 报销")
        await on.press("right", "right")
        await on.until(lambda: (on.screen.table.cursor_id or "").startswith("53de1fe8"))
        await on.press("w", "right")
        assert (on.screen.table.cursor_id or "").startswith("53de1fe8"), "text that is not wrapped is moved instead"
        await on.press("w", "l")
        await on.shows("SOUL.md · ", "SOUL.md  as of")


@pytest.mark.slow
async def test_a_version_is_brought_back_after_a_look_and_undo_takes_that_back(home):
    with open_workspace(home) as ws:
        sha = next(commit.sha for commit in ws.dream.commits() if commit.short == "9847f2a3")
        then = ws.dream.versions.text(sha, MEMORY)
    file = home / MEMORY
    before = file.read_text()
    async with console(home, "versions", (120, 40)) as on:
        await at_commit(on, "9847f2a3")
        await on.press("t")
        await on.shows(f"{MEMORY} as of 9847f2a3", "Later changes of this file: lost", "y do it")
        await on.press("enter")
        assert file.read_text() == before
        await on.press("y")
        await on.until(lambda: file.read_text() == then)
        await on.shows(f"go back to {MEMORY} of 9847f2a3")
        await on.until(lambda: on.screen.table.rows[0].who == "person")
        await on.until(lambda: on.screen.context().can_undo)
        await on.press("u")
        await on.until(lambda: file.read_text() == before)


@pytest.mark.slow
async def test_only_what_one_change_did_to_the_file_is_taken_back(home):
    file = home / MEMORY
    assert "恒远" in file.read_text()
    async with console(home, "versions", (120, 40)) as on:
        await at_commit(on, "af4387c8")
        await on.press("t")
        await on.shows("The file is as it was then")
        await on.press("y", "tab")
        await on.shows("Take back only what af4387c8 did")
        await on.press("y")
        await on.until(lambda: "恒远" not in file.read_text())


@pytest.mark.parametrize("file", ["SOUL.md", "USER.md", MEMORY])
async def test_only_the_versions_of_the_file_are_listed_as_by_the_command(home, file):
    with open_workspace(home) as ws:
        shas = [saved.sha for saved in ws.dream.versions.of_file(file)]
    async with console(home, "versions", (120, 40)) as on:
        while f"{file} ·" not in on.text:
            await on.press("l")
        await on.until(lambda: on.ids == shas)
        await on.shows(f"{file} · {len(shas)} versions")


async def test_another_file_is_shown_as_of_the_same_time(home):
    async with console(home, "versions", (160, 45)) as on:
        await at_commit(on, "53de1fe8")  # of MEMORY.md alone; the SOUL.md of then is of 8f7d870e
        await on.press("l")
        await on.shows("SOUL.md · ", "(8f7d870e)")
        assert (on.screen.table.cursor_id or "").startswith("8f7d870e")


@pytest.mark.slow
async def test_what_no_commit_holds_yet_is_a_version_of_its_own(home):
    (home / "USER.md").write_text((home / "USER.md").read_text() + "- plays chess\n")
    async with console(home, "versions", (140, 40)) as on:
        await on.press("l", "l", "g")
        await on.shows("not committed yet", "USER.md  now", "+  - plays chess")
        await on.press("t")
        await on.shows("that is the file as it is now")


async def test_a_file_that_was_not_there_yet_says_so(demo):
    async with console(demo, "versions", (120, 40)) as on:
        commits = on.app.ws.dream.commits()
        assert on.app.ws.dream.versions.text(commits[-1].sha, MEMORY) is not None
    with open_workspace(demo) as ws:
        (demo / "SOUL.md").unlink()
        assert ws.dream.versions.text("", "SOUL.md") is None
    async with console(demo, "versions", (120, 40)) as on:
        await on.press("l", "g")
        await on.shows("there was no such file")


async def test_where_no_version_is_kept_it_says_so(sample):
    async with console(sample("ramfirst"), "versions") as on:
        await on.shows("No version of the memory files is kept yet")
        await on.press("t", "l", "n", "escape")
        assert on.screen.SCREEN == "dream"


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_it_works_on_a_small_screen(home, size):
    async with console(home, "versions", size) as on:
        await on.press("j", "enter", "n")
        await on.until(lambda: shown(on))
        await on.press("escape", "j")
        assert on.screen.table.cursor == 2


@pytest.mark.slow
async def test_the_lines_of_the_rows_that_are_shown_are_counted_and_of_no_other(home, monkeypatch):
    counted: list[str] = []
    counts = Versions.counts

    def counting(self, saved, path):
        counted.append(saved.sha)
        return counts(self, saved, path)

    monkeypatch.setattr(Versions, "counts", counting)
    with open_workspace(home) as ws:  # more of them than a small screen shows
        for number in range(10):
            ws.documents.edit(MEMORY, f"{ws.documents.read(MEMORY)}- number {number}\n")
    async with console(home, "versions", (120, 20), painted=True) as on:
        rows = on.screen.table.rows
        changed = [row.sha for row in rows if MEMORY in row.files]
        await on.until(lambda: counted and not screen(on).reading)
        assert changed[-1] not in counted, "it is below what is shown"
        await on.press("G")
        await on.until(lambda: changed[-1] in counted)
        assert len(counted) == len(set(counted)), "each once"


async def test_a_version_that_cannot_be_read_is_not_counted_and_the_others_are(home, monkeypatch):
    counts = Versions.counts
    tried: list[str] = []

    def failing(self, saved, path):
        tried.append(saved.sha)
        if saved.subject.startswith("revert"):
            raise DamagedGit("a blob is missing", saved.sha)
        return counts(self, saved, path)

    monkeypatch.setattr(Versions, "counts", failing)
    async with console(home, "versions", (120, 40)) as on:
        await on.until(lambda: any(" ? " in line and "revert" in line for line in on.text.split("\n")))
        await on.shows("+6 -20")
        assert len(tried) == len(set(tried)), "each once"
