"""The Blame screen: from Dream and Files to a line, and from there to its commit, its entry and what was said."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_name
from tests.screens.console import console

pytestmark = pytest.mark.slow  # whole screens, processes or homes; `make test` ends within its minutes

ALLERGY = "- Allergic to penicillin"


@pytest.fixture
def workspace(tmp_path):
    """A home in which a Dream of ours wrote one line that came from message 1 of a session."""
    folder = tmp_path / "home" / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder.parent / "config.json").write_text("{}")
    (folder / "SOUL.md").write_text("# Soul\n- \x1b[2J[/b] hostile\n")
    (folder / "USER.md").write_text("# User Profile\n")
    entry = {"cursor": 1, "timestamp": "2026-04-01 10:05", "session_key": "cli:direct"}
    entry["content"] = "- [permanent] Allergic to penicillin"
    (folder / "memory" / "history.jsonl").write_text(json.dumps(entry) + "\n")
    head = {"_type": "metadata", "key": "cli:direct", "created_at": "2026-04-01T10:00:00", "metadata": {}}
    said = [("user", "Good morning"), ("user", "I am allergic to penicillin")]
    rows = [
        {"role": role, "content": text, "timestamp": f"2026-04-01T10:0{n}:00"} for n, (role, text) in enumerate(said)
    ]
    (folder / "sessions").mkdir()
    (folder / "sessions" / key_to_name("cli:direct")).write_text(
        "".join(json.dumps(row) + "\n" for row in [head, *rows])
    )
    with open_workspace(folder) as ws:
        ws.dream.run()
    return folder


async def at_the_line(on):
    await on.press("1", "]", "]")
    await on.at("USER.md")
    await on.press("b")
    await on.until(lambda: any(ALLERGY in row.text for row in on.screen.table.rows))
    await on.at(next(on.screen.row_id(row) for row in on.screen.table.rows if row.text == ALLERGY))


async def test_a_file_shows_who_wrote_each_line_and_why(workspace):
    async with console(workspace, "dream", (160, 45)) as on:
        await at_the_line(on)
        assert {row.file for row in on.screen.table.rows} == {"USER.md"}
        await on.shows("nanomem dream", "#1", "a Dream of nanomem", "named by the Dream", "cli:direct, message 1")


async def test_a_line_that_a_person_accepted_shows_them_and_why_a_dream_proposed_it(workspace):
    with open_workspace(workspace) as ws:
        ws.undo()
        ws.dream.run(review=True)
        ws.dream.review.accept([hunk.id for hunk in ws.dream.review.waiting()])
    async with console(workspace, "dream", (160, 45)) as on:
        await at_the_line(on)
        await on.shows("accepted", "a person, who accepted what a Dream proposed", "named by the Dream")
        await on.shows("cli:direct, message 1")
        await on.press("slash")
        await on.type(" who:accepted")
        await on.until(lambda: [row.text for row in on.screen.table.rows] == ["", "## Health", ALLERGY])


async def test_enter_leads_to_the_commit_the_entry_and_the_message(workspace):
    with open_workspace(workspace) as ws:
        sha = ws.dream.commits()[0].sha
    async with console(workspace, "dream", (160, 45)) as on:
        await at_the_line(on)
        await on.shows("cli:direct, message 1")
        await on.press("enter", "enter")
        await on.until(lambda: on.screen.SCREEN == "dream" and on.screen.table.cursor_row is not None)
        assert on.screen.row_id(on.screen.table.cursor_row) == sha
        await at_the_line(on)
        await on.shows("cli:direct, message 1")
        await on.press("enter", "n", "enter")
        await on.until(lambda: on.screen.SCREEN == "archive")
        await on.shows("Allergic to penicillin")


async def test_o_leads_to_what_was_said(workspace):
    async with console(workspace, "dream", (160, 45)) as on:
        await at_the_line(on)
        await on.press("o")
        await on.until(lambda: on.screen.SCREEN == "sessions")
        await on.shows("I am allergic to penicillin")


async def test_a_commit_shows_the_lines_that_stand_and_says_when_none_does(workspace):
    async with console(workspace, "dream", (160, 45)) as on:
        await on.press("b")
        await on.until(lambda: [row.text for row in on.screen.table.rows if row.text] == ["## Health", ALLERGY])
    with open_workspace(workspace) as ws:
        sha = ws.dream.commits()[0].sha
        ws.undo()
    async with console(workspace, "dream", (160, 45)) as on:
        await on.at(sha)
        await on.press("b")
        await on.shows(f"Nothing that {sha[:8]} wrote stands any more")


async def test_from_a_hunk_to_its_line(workspace):
    async with console(workspace, "dream", (160, 45)) as on:
        await on.press("tab", "b")
        await on.until(lambda: on.screen.SCREEN == "blame" and on.screen.table.cursor_row is not None)
        assert on.screen.table.cursor_row.file == "USER.md"
        assert on.screen.table.cursor_row.writer is not None


async def test_hostile_lines_stay_text_and_a_small_screen_is_enough(workspace):
    async with console(workspace, "blame", (60, 20)) as on:
        await on.shows("[/b] hostile")
        assert "\x1b" not in on.text
        await on.press("j", "enter")
        await on.shows("somebody, before versions were kept")


async def test_a_message_leads_to_its_lines_and_one_that_led_nowhere_says_so(workspace):
    async with console(workspace, "sessions", (160, 45)) as on:
        await on.press("b")
        await on.shows("Go to a message of the transcript first")
        await on.press("enter")
        await on.shows("I am allergic to penicillin")
        await on.press("G", "b")
        await on.until(lambda: on.screen.SCREEN == "blame" and [row.text for row in on.screen.table.rows] == [ALLERGY])
        await on.press("3", "g", "n", "b")
        await on.shows("It led to no line of SOUL, USER or MEMORY")
