"""The Dream screen: what was changed and why, the way back part by part, a dry run, and the memory files themselves."""

import shutil
import threading
from typing import cast

import pytest

from nanomem_tui.agents.git import FileDiff as StoredDiff
from nanomem_tui.dreams.revert import RestoreEdit
from nanomem_tui.dreams.rules import RulesDreamer
from nanomem_tui.screens.base.diffs import RevertPart, evidence_among, file_diff, message_beside
from nanomem_tui.screens.dreams.dream import DreamScreen, edit_parts, hunk_parts
from nanomem_tui.store.files.presence import Presence
from nanomem_tui.workspace import Workspace, open_workspace
from tests.screens.console import console
from tests.store.git_samples import git, needs_git

PENICILLIN = "- Allergic to penicillin"


def view(on):
    return cast("DreamScreen", on.screen).view


def user(workspace):
    return (workspace / "USER.md").read_text()


async def bad_dream(on):
    """Put the cursor on the Dream that lost the allergy; its id."""
    row = next(row for row in on.screen.table.rows if row.subject == "dream: periodic memory consolidation")
    await on.at(row.sha)
    await on.shows("- Allergic to penicillin")
    return row.sha


async def test_every_commit_is_listed_with_what_it_did(sample):
    async with console(sample("nb035"), "dream", (160, 45)) as on:
        rows = on.screen.table.rows
        assert len(rows) == 22
        assert [row.actor for row in rows].count("dream") == 20
        await on.shows("revert: undo 9847f2a3", "+22 -4", "SOUL, USER, MEMORY")
        assert "dream_cursor" not in on.text
        await on.press("h")
        await on.until(lambda: len(on.ids) == 20)
        await on.press("h")
        await on.until(lambda: len(on.ids) == 22)


async def test_the_detail_shows_the_diff_and_the_entries_that_were_read(sample):
    async with console(sample("nb035"), "dream", (160, 60)) as on:
        await on.at(next(row.sha for row in on.screen.table.rows if row.short == "51617caa"))
        await on.shows("USER.md", "cursor", "252 → 265", "by nanobot <nanobot@dream>")
        await on.press("tab", "G")
        await on.shows("#265")
        assert any("Entries it read (13)" in text for line in view(on).lines for text, _ in line)


async def test_an_old_release_says_that_its_entries_are_not_known(sample):
    async with console(sample("v0_1_5"), "dream", (160, 45)) as on:
        await on.press("j")
        await on.shows("Not known: this commit does not carry the cursor.")


async def test_a_hunk_knows_the_entry_that_asked_for_it(demo):
    with open_workspace(demo) as ws:
        entries = ws.history.entries()
        lines = [
            evidence
            for commit in ws.dream.commits()
            if commit.is_dream
            for diff in ws.dream.show(commit.sha)[1]
            for hunk in file_diff(diff, evidence_among(entries)).hunks
            for evidence in hunk.evidence
        ]
    assert lines
    assert all(line.startswith("#") for line in lines)


@pytest.mark.slow
async def test_a_run_is_taken_back_and_that_can_be_undone(demo):
    async with console(demo, "dream") as on:
        await bad_dream(on)
        assert PENICILLIN not in user(demo)
        await on.press("t")
        await on.shows("All of this run; later edits stay", "+ - Allergic to penicillin", "y take it back")
        await on.press("y")
        await on.until(lambda: PENICILLIN in user(demo))
        await on.shows("u undoes it", "take back dream")
        await on.shows("No longer in force")
        await on.press("u")
        await on.until(lambda: PENICILLIN not in user(demo))


@pytest.mark.slow
async def test_only_a_hunk_or_a_file_is_taken_back(demo):
    memory = demo / "memory" / "MEMORY.md"
    async with console(demo, "dream") as on:
        await bad_dream(on)
        await on.press("tab", "n")
        assert view(on).hunk_index == 1
        await on.press("t")
        await on.shows("Hunk 1 of memory/MEMORY.md")
        await on.press("tab")
        await on.shows("All that it changed in memory/MEMORY.md")
        await on.press("left", "y")
        await on.until(lambda: "restic" in memory.read_text())
        assert PENICILLIN not in user(demo), "the other file stays as it is"


@pytest.mark.slow
async def test_leaving_or_enter_changes_nothing(demo):
    async with console(demo, "dream") as on:
        await bad_dream(on)
        before = user(demo)
        await on.press("t", "enter", "t", "escape")
        await on.press("r", "enter", "r", "n")
        await on.press("T")
        await on.shows("edits proposed")
        await on.press("enter", "escape", "escape")
        assert on.screen.SCREEN == "dream"
        assert user(demo) == before


async def test_what_later_edits_changed_is_a_conflict_in_words(demo):
    with open_workspace(demo) as ws:
        text = ws.documents.read("memory/MEMORY.md") or ""
        ws.documents.edit("memory/MEMORY.md", text.replace("- Backups are handled", "- Backups: somebody else does"))
    async with console(demo, "dream") as on:
        await bad_dream(on)
        await on.shows("In part replaced by later edits")
        await on.press("t")
        await on.shows("as it is now", "as it was before", "- Backups: somebody else does", "restic")
        await on.press("y")
        await on.shows("Conflict in memory/MEMORY.md")
        assert PENICILLIN not in user(demo)


@pytest.mark.slow
@pytest.mark.parametrize(("tabs", "kept"), [(1, "- Backups: somebody else does"), (2, "- Backups: restic to")])
async def test_a_conflict_is_settled_for_one_of_its_sides(demo, tabs, kept):
    memory = demo / "memory" / "MEMORY.md"
    with open_workspace(demo) as ws:
        text = ws.documents.read("memory/MEMORY.md") or ""
        ws.documents.edit("memory/MEMORY.md", text.replace("- Backups are handled", "- Backups: somebody else does"))
    async with console(demo, "dream") as on:
        await bad_dream(on)
        await on.press("t", *["tab"] * tabs)
        await on.shows("lines that were changed since")
        await on.press("y")
        await on.until(lambda: PENICILLIN in user(demo))
        assert kept in memory.read_text()
        assert memory.read_text().count("- Backups: ") == 1


async def test_the_first_commit_cannot_be_taken_back(demo):
    async with console(demo, "dream") as on:
        await on.press("G", "t")
        await on.shows("The first commit cannot be taken back")
        await on.press("y")
        await on.shows("The first commit cannot be taken back")


@pytest.mark.slow
async def test_a_dream_is_run_after_a_yes_and_says_when_nothing_waits(demo):
    async with console(demo, "dream") as on:
        await on.press("r")
        await on.shows("waiting", "entries since the last Dream")
        await on.press("y")
        await on.until(lambda: "u undoes it" in on.text or "nothing" in on.text)
        for _ in range(5):
            await on.press("r")
            if "Nothing to dream about" in on.text:
                break
            await on.press("y")
        await on.shows("Nothing to dream about: no entry is new since the last Dream.")
        await on.press("escape", "T")
        await on.shows("Nothing to dream about")


async def test_a_cursor_ahead_of_the_last_entry_is_said_before_a_dream(demo):
    (demo / "memory" / ".dream_cursor").write_text("100000")
    async with console(demo, "dream") as on:
        await on.press("r")
        await on.shows("Cannot dream: the cursor says 100000", "ahead of the last entry", "What to do: write")
        await on.press("y", "escape", "T")
        await on.shows("The cursor says 100000")


@pytest.mark.slow
async def test_the_undo_of_a_dream_says_that_its_entries_are_read_again(demo):
    async with console(demo, "dream") as on:
        cursor = on.app.ws.dream.queue().cursor
        await on.press("r", "y")
        await on.until(lambda: on.app.ws.dream.queue().cursor > cursor)
        await on.app.settled()
        after = on.app.ws.dream.queue().cursor
        await on.press("u")
        said = f"The cursor goes back from {after} to {cursor}: the next Dream reads"
        await on.until(lambda: any(said in one.message for one in on.app._notifications))
        assert on.app.ws.dream.taken_back()


@pytest.mark.slow
async def test_no_dream_while_the_agent_dreams(demo, monkeypatch):
    monkeypatch.setattr(Workspace, "agent", lambda _: Presence(True, 1, "nanobot gateway", dreaming=True))
    before = user(demo)
    async with console(demo, "dream") as on:
        await on.press("r")
        await on.shows("The agent is dreaming now")
        await on.press("y")
        await on.shows("The agent is dreaming now")
        await on.press("escape", "T", "+", "r", "y")
        await on.shows("the agent is dreaming now")
        assert user(demo) == before


@pytest.mark.slow
async def test_the_memory_files_are_two_keys_away_and_edited_with_one_commit(demo):
    async with console(demo, "dream") as on:
        await on.press("1", "]", "]")
        assert on.ids == ["SOUL.md", "USER.md", "memory/MEMORY.md"]
        await on.at("USER.md")
        await on.shows("Mira Lindqvist")
        await on.press("e")
        await on.type("- Likes long walks")
        await on.press("ctrl+s")
        await on.until(lambda: "Likes long walks" in user(demo))
        await on.press("5")
        await on.until(lambda: on.screen.SCREEN == "dream" and on.screen.table.rows[0].actor == "human")
        await on.press("u")
        await on.until(lambda: "Likes long walks" not in user(demo))


async def test_an_unchanged_file_makes_no_commit(demo):
    async with console(demo, "files") as on:
        await on.press("e", "ctrl+s")
        with open_workspace(demo) as ws:
            assert len(ws.dream.commits()) == 5


@pytest.mark.slow
async def test_a_dream_that_is_not_in_force_says_so_first_and_offers_what_is_left(demo):
    async with console(demo, "dream") as on:
        await bad_dream(on)
        await on.press("t", "y")
        await on.until(lambda: PENICILLIN in user(demo))
        await bad_dream(on)
        await on.press("t")
        await on.shows("Nothing of this Dream is in the files any more", "There is nothing to take back")
        await on.press("y", "escape")
        on.app.ws.documents.edit("SOUL.md", f"{on.app.ws.documents.read('SOUL.md')}- Likes cats\n")
        for keys in (("t",), ("tab", "n", "t")):  # from the list, and from a hunk of it
            await bad_dream(on)
            await on.press(*keys)
            await on.shows("Nothing of this Dream is in the files any more", "Back to before this run")
            await on.shows("y take it back", "Likes cats")
            assert "Hunk 1" not in on.text
            await on.press("escape", "escape")
        await on.press("t", "y")
        await on.shows("go back to before dream")
        await on.press("u")
        await on.until(lambda: PENICILLIN in user(demo))


async def test_the_message_is_shown_without_the_diff_that_follows_anyway(sample):
    async with console(sample("nb035"), "dream", (160, 60)) as on:
        await on.at(next(row.sha for row in on.screen.table.rows if row.short == "51617caa"))
        await on.shows("USER.md: +2 -1", "file changed", "Writes about memory systems")
        assert on.text.count("Writes about memory systems") == 1 + on.text.count("#265")
        assert "```" not in on.text
    message = "dream: x\n\nUSER.md: +1 -0\n\n```diff\n+++ USER.md\n+a\n```\nand more"
    assert message_beside(message, [object()]) == "dream: x\n\nUSER.md: +1 -0\nand more"
    assert message_beside(message, []) == message


class Slow:
    """A Dreamer that waits to be let go."""

    def __init__(self, monkeypatch):
        self.asked, self.go = threading.Event(), threading.Event()
        real = RulesDreamer.propose

        def propose(dreamer, *arguments, **named):
            self.asked.set()
            self.go.wait(60)
            return real(dreamer, *arguments, **named)

        monkeypatch.setattr(RulesDreamer, "propose", propose)


@pytest.mark.slow
async def test_a_dream_that_runs_says_so_and_esc_stops_it_before_it_writes(demo, monkeypatch):
    slow = Slow(monkeypatch)
    before = user(demo)
    async with console(demo, "dream") as on:
        commits = on.ids
        await on.press("r")
        await on.pilot.press("y")
        await on.until(slow.asked.is_set)
        await on.shows("Dreaming", "esc stops it", "reading ")
        await on.pilot.press("j", "r")  # the rest goes on meanwhile
        await on.until(lambda: on.screen.table.cursor == 1)
        await on.until(lambda: any("runs already" in str(one.title) for one in on.app._notifications))
        await on.pilot.press("escape")
        await on.shows("Stopping the Dream")
        slow.go.set()
        await on.app.settled()
        await on.until(lambda: any("was stopped" in str(one.title) for one in on.app._notifications))
        await on.press("f5")
        assert on.ids == commits
        assert user(demo) == before
        await on.press("escape", "r", "y")
        await on.shows("u undoes it")
        assert len(on.ids) == len(commits) + 1


@pytest.mark.slow
async def test_esc_stops_a_dream_on_every_screen(demo, monkeypatch):
    slow = Slow(monkeypatch)
    before = user(demo)
    async with console(demo, "dream") as on:
        await on.press("r")
        await on.pilot.press("y")
        await on.until(slow.asked.is_set)
        on.app.go("items")
        await on.until(lambda: on.screen.SCREEN == "items" and on.screen.is_mounted)
        await on.shows("Dreaming", "esc stops it")
        await on.pilot.press("escape")
        await on.shows("Stopping the Dream")
        slow.go.set()
        await on.app.settled()
        await on.until(lambda: any("was stopped" in str(one.title) for one in on.app._notifications))
        assert user(demo) == before


async def test_a_row_is_known_by_its_commit_also_at_80_columns(sample):
    async with console(sample("nb035"), "dream", (80, 24)) as on:
        await on.shows("Commit", "9847f2a3", "SOUL, USER, MEMORY")
        assert all(sha[:8] in on.text for sha in on.ids[:15])


@pytest.mark.slow
async def test_a_home_without_versions_says_so(sample):
    async with console(sample("ramfirst"), "dream") as on:
        await on.shows("No Dream has run yet")
        await on.press("t", "enter", "n", "y")
        await on.shows("there is no row here")
        await on.press("r")
        await on.shows("Nothing to dream about")


def test_each_run_of_changed_lines_that_a_hunk_shows_is_offered_alone():
    before = "".join(f"- {number}\n" for number in range(30))
    after = before.replace("- 2\n", "- two\n").replace("- 4\n", "- 4\n- new\n").replace("- 25\n", "")
    file = file_diff(StoredDiff("USER.md", before, after))
    assert [hunk_parts(file, shown) for shown in range(len(file.hunks))] == [
        [
            ("Hunk 1 of USER.md: + - two", RevertPart("USER.md", 0)),
            ("Hunk 2 of USER.md: + - new", RevertPart("USER.md", 1)),
        ],
        [("Hunk 3 of USER.md", RevertPart("USER.md", 2))],
    ]


def test_each_edit_that_a_hunk_shows_is_offered_alone_where_there_are_several():
    before, after = "# U\n- a\n- b\n", "# U\n- a\n- one\n- two\n- b\n"
    (hunk,) = file_diff(StoredDiff("USER.md", before, after)).hunks
    edits = [RestoreEdit(4, "USER.md", (), ("- one",)), RestoreEdit(5, "USER.md", (), ("- two",)),
             RestoreEdit(6, "SOUL.md", (), ("- one",))]  # fmt: skip
    assert edit_parts(edits, "USER.md", hunk) == [
        ("Only one edit: + - one", RevertPart(edit=4)),
        ("Only one edit: + - two", RevertPart(edit=5)),
    ]
    assert edit_parts(edits[:1], "USER.md", hunk) == []


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_versions_that_cannot_be_read_are_said_and_never_called_none(demo, size):
    (demo / ".git").rename(demo / "elsewhere")
    (demo / ".git").write_text("gitdir: elsewhere\n")
    async with console(demo, "dream", size) as on:
        await on.shows("versions of the memory files", "is not followed", "and no Dream runs")
        assert " .git " in on.text
        assert "No Dream has run" not in on.text
        await on.press("r")
        await on.shows("Cannot dream: the versions of the memory files", "is not followed")


@pytest.mark.slow
@needs_git
async def test_before_a_dream_it_says_what_has_no_version(demo):
    shutil.rmtree(demo / ".git")
    git(demo / "memory", "init", "-q")
    async with console(demo, "dream") as on:
        await on.press("r")
        await on.shows("No version of SOUL.md, USER.md is kept here", "waits in the inbox")
        await on.press("n", "T")
        await on.shows("edits proposed")
        await on.press("tab", "G")
        await on.shows("memory/.git keeps no versions of SOUL.md and USER.md")
