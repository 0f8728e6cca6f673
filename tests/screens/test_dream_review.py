"""Review: a dry run decided on edit by edit, applied as one commit, or left without a trace."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.dreams.edits import LineEdit
from nanomem_tui.dreams.entries import Skipped
from nanomem_tui.dreams.guards import Refusal
from nanomem_tui.dreams.rules import RulesDreamer
from nanomem_tui.dreams.run import DreamResult
from nanomem_tui.model.client import Usage
from nanomem_tui.screens.dreams.dream_review import (
    Proposed,
    applied_shown,
    evidence_blocks,
    hunk_shown,
    marked,
    rows_of,
    run_blocks,
)
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.text_view import Body, Heading, Spans
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console

pytestmark = pytest.mark.slow  # whole screens, processes or homes; `make test` ends within its minutes

EDITS = 9
"""How many a Dream of six entries of the sample home has."""
TEXTS = {
    "SOUL.md": "",
    "USER.md": "# User\n\n- likes tea\n- lives in Bremen\n",
    "memory/MEMORY.md": "# Long-term Memory\n\n## Trips\n- Oslo in May\n",
}
TEA = LineEdit("replace", "USER.md", line=3, old="- likes tea", new="- likes coffee", evidence=(4,), why="contradicts")
MOVE = LineEdit("move", "USER.md", "Trips", 4, "- lives in Bremen", to_file="memory/MEMORY.md")
RESULT = DreamResult(3, 3, 6, (TEA, MOVE))
ENTRIES = {4: HistoryEntry(4, "2026-04-03 00:02", "- [durable] Likes coffee now\n- rain", "telegram:1", 1, {})}


def rows(on):
    return on.screen.listing.rows


def files(workspace):
    return {str(path): path.read_bytes() for path in sorted(workspace.rglob("*")) if path.is_file()}


def memory(workspace):
    return "".join((workspace / name).read_text() for name in TEXTS)


@pytest.fixture
def home(small_dreams):
    """A workspace whose next Dream has EDITS edits of one file."""
    return small_dreams


async def test_edits_are_decided_one_by_one_and_applied_as_one_commit_which_undo_takes_back(home):
    before = memory(home)
    async with console(home, "dream") as on:
        commits = on.ids
        await on.press("T")
        await on.shows(
            f"0 of {EDITS} decided", "Evidence (1 entry)", "This dry run", f"{EDITS} edits proposed from 6 entries"
        )
        await on.press("+", "-", "+")
        await on.shows(f"3 of {EDITS} decided", "accepted", "rejected")
        assert [row.decision for row in rows(on)[:4]] == ["accept", "reject", "accept", ""]
        assert memory(home) == before
        taken, left = rows(on)[0].edit.new, rows(on)[1].edit.new
        await on.press("r")
        await on.shows(f"2 edits accepted, 1 rejected, {EDITS - 3} open", "The open ones wait in the inbox", "y apply")
        await on.press("tab")
        await on.shows("The open ones are let go")
        await on.press("y")
        await on.until(lambda: on.screen.SCREEN == "dream" and len(on.ids) == len(commits) + 1)
        await on.shows("MEMORY.md +4 -0 from 6 of 80 entries", "u undoes it")
        assert on.screen.table.cursor == 0
        assert taken in memory(home)
        assert left not in memory(home)
        await on.until(lambda: on.screen.context().can_undo)
        await on.press("u")
        await on.until(lambda: memory(home) == before)
    with open_workspace(home) as ws:
        assert ws.dream.review.waiting() == []
        assert ws.dream.status()["cursor"] == 202


async def test_open_edits_wait_in_the_inbox(home):
    async with console(home, "dream") as on:
        await on.press("T", "+", "r", "y")
        await on.shows(f"{EDITS - 1} edits in the inbox")
        await on.press("7")
        await on.until(lambda: on.screen.SCREEN == "inbox" and len(on.ids) == EDITS - 1)


async def test_what_is_rejected_is_not_proposed_again_for_the_same_entries(home):
    async with console(home, "dream") as on:
        await on.press("T")
        await on.shows(f"0 of {EDITS} decided")
        gone = rows(on)[0].edit
        await on.press("-", "r", "y")
        await on.shows(f"{EDITS - 1} edits in the inbox")
        (home / "memory" / ".dream_cursor").write_text("202")
        await on.press("T")
        await on.shows(f"0 of {EDITS - 1} decided")
        assert gone not in [row.edit for row in rows(on)]


async def test_several_are_decided_at_once_and_the_same_key_opens_them_again(home):
    async with console(home, "dream") as on:
        await on.press("T", "*", "+")
        await on.shows(f"{EDITS} of {EDITS} decided")
        await on.press("g", "space", "space", "-")
        await on.until(lambda: [row.decision for row in rows(on)[:3]] == ["reject", "reject", "accept"])
        await on.press("g", "-")
        await on.shows(f"{EDITS - 1} of {EDITS} decided")
        await on.press("u", "u")
        await on.until(lambda: all(row.decision == "accept" for row in rows(on)))
        await on.press("u")
        await on.shows(f"0 of {EDITS} decided")
        await on.press("/", *"is", "colon", *"refused", "enter")
        await on.shows("No is `refused`: there are open")


async def test_other_words_are_what_is_written(home):
    async with console(home, "dream") as on:
        await on.press("T", "e")
        await on.shows("Accept with other words")
        await on.type(" Surely.")
        await on.press("ctrl+s")
        await on.shows("reworded", f"1 of {EDITS} decided")
        await on.press("e")
        await on.press("escape")
        await on.shows(f"1 of {EDITS} decided")
        await on.press("r", "y")
        await on.until(lambda: "Frankfurt Surely." in memory(home))


async def test_leaving_changes_nothing_and_the_decisions_are_kept(home):
    async with console(home, "dream") as on:
        await on.press("5")
        before = files(home)
        await on.press("T", "+", "-", "r", "escape", "escape")
        await on.shows("Nothing was changed; T goes back to what you decided")
        assert on.screen.SCREEN == "dream"
        assert files(home) == before
        await on.press("T")
        await on.shows(f"2 of {EDITS} decided", "As you left it")
        await on.press("T")
        await on.shows("2 decisions that were not applied would be gone")
        await on.press("y")
        await on.shows(f"0 of {EDITS} decided")
        assert files(home) == before


async def test_after_another_dream_it_is_tried_anew(home):
    async with console(home, "dream") as on:
        await on.press("T", "+", "escape", "r", "y")
        await on.shows("u undoes it")
        await on.press("T")
        await on.until(lambda: rows(on) and not any(row.decision for row in rows(on)))
        assert all(min(row.edit.evidence) > 208 for row in rows(on))


async def test_all_rejected_moves_only_the_cursor(home):
    before = memory(home)
    async with console(home, "dream") as on:
        await on.press("T", "*", "-", "r")
        await on.shows("no file changes", "The cursor moves from 202 to 208")
        assert "tab" not in on.text.split("y apply")[1].splitlines()[0]
        await on.press("y")
        await on.shows("Dream: read 6 of 80 entries")
    assert memory(home) == before
    with open_workspace(home) as ws:
        assert ws.dream.status()["cursor"] == 208


def warnings(monkeypatch):
    """What is said as a warning from now on; it is still said."""
    said: list[str] = []

    def noting(at, text, severity="information", title=""):
        said.extend([text] if severity == "warning" else [])
        say(at, text, severity, title)

    monkeypatch.setattr("nanomem_tui.screens.dreams.dream_review.say", noting)
    return said


async def test_a_line_that_went_meanwhile_is_marked_and_waits_while_the_others_are_made(demo, monkeypatch):
    said = warnings(monkeypatch)
    async with console(demo, "dream") as on:
        await on.press("T", "*", "+")
        replaced = next(row.edit for row in rows(on) if row.edit.op != "add")
        added = next(row.edit for row in rows(on) if row.edit.op == "add")
        file = demo / replaced.file
        file.write_text(file.read_text().replace(replaced.old, "- words of somebody else"))
        await on.press("r")
        await on.shows("Accepted, but the line to change is not there any more; it waits in the inbox", "y apply")
        await on.press("escape")
        assert [row.edit for row in rows(on) if row.state == "stale"] == [replaced]
        await on.press("r")
        await on.shows("y apply")
        await on.press("y")
        await on.until(lambda: on.screen.SCREEN == "dream" and bool(said))
    assert said[0].startswith("1 accepted edit to the inbox: the line to change is not there any more. Dream: ")
    assert added.new in memory(demo)
    assert "- words of somebody else" in memory(demo)
    with open_workspace(demo) as ws:
        waits = ws.dream.review.waiting()
        assert [(hunk.edit, hunk.why) for hunk in waits] == [(replaced, "the line to change is not there any more")]


async def test_one_edit_that_no_file_can_hold_does_not_keep_the_others_from_being_accepted(home, monkeypatch):
    hostile = LineEdit("add", "USER.md", new="- has a \x1b[31mred\x07 bell", evidence=(1,))
    propose = RulesDreamer.propose

    def with_hostile(self, *args, **options):
        found = propose(self, *args, **options)
        return replace(found, edits=(*found.edits[:3], replace(hostile, evidence=found.edits[2].evidence)))

    monkeypatch.setattr(RulesDreamer, "propose", with_hostile)
    said = warnings(monkeypatch)
    async with console(home, "dream", size=(80, 24)) as on:
        await on.press("T", "*", "+")
        await on.shows("3 of 4 decided")
        assert said == ["Not accepted: has a ␛[31mred␇ bell (control characters)"]
        await on.press("r")
        await on.shows("3 edits accepted, 0 rejected, 1 open", "y apply  ")
        assert "Not accepted" not in on.text


async def test_a_dry_run_says_what_it_is_at_and_esc_stops_it(home, monkeypatch):
    asked, go = threading.Event(), threading.Event()
    real = RulesDreamer.propose

    def propose(dreamer, *arguments, **named):
        asked.set()
        go.wait(60)
        named["watch"]("asking the model")
        return real(dreamer, *arguments, **named)

    monkeypatch.setattr(RulesDreamer, "propose", propose)
    async with console(home, "dream") as on:
        await on.pilot.press("T")
        await on.until(asked.is_set)
        await on.shows("Dreaming, 0 s", "esc stops it")
        await on.pilot.press("r")
        await on.until(lambda: any("runs already" in str(one.title) for one in on.app._notifications))
        await on.pilot.press("escape")
        await on.shows("Stopping the Dream")
        go.set()
        await on.app.settled()
        await on.shows("The Dream was stopped: nothing was changed.")
        await on.press("T")
        await on.shows(f"0 of {EDITS} decided")


async def test_nothing_to_dream_about_is_no_error(sample):
    async with console(sample("ramfirst"), "dream") as on:
        await on.press("T")
        await on.shows("Nothing to dream about")
        assert "Error" not in on.text
        await on.press("r")
        await on.shows("nothing is proposed")


async def test_what_the_guards_refused_says_why_and_may_be_accepted(home, monkeypatch):
    real = RulesDreamer.propose

    def propose(dreamer, *arguments, **named):
        proposal = real(dreamer, *arguments, **named)
        first, *rest = proposal.edits
        refused = (Refusal(first, "it is too bold"),)
        return replace(proposal, edits=tuple(rest), refused=refused, analysis="They talk a lot.", usage=Usage(1, 9, 1))

    monkeypatch.setattr(RulesDreamer, "propose", propose)
    async with console(home, "dream", (160, 60)) as on:
        await on.press("T", "G")
        await on.shows("refused", "The guards refused it: it is too bold", "They talk a lot.")
        line = rows(on)[-1].edit.new
        await on.press("+", "r", "y")
        await on.until(lambda: line in memory(home))


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_it_works_on_a_small_screen(home, size):
    async with console(home, "dream", size) as on:
        await on.press("T", "+", "enter")
        await on.shows("+ - Project")
        await on.press("+", "escape")
        await on.shows(f"2 of {EDITS} decided")


# What the right pane tells


def shown_text(blocks):
    return "\n".join(
        "".join(text for text, _ in block.parts) if isinstance(block, Spans) else str(getattr(block, "text", block))
        for block in blocks
    )


def test_an_edit_is_shown_as_a_diff_in_its_surroundings_with_its_evidence():
    first, second = rows_of(RESULT)
    shown = hunk_shown(first, [], TEXTS, ENTRIES, RESULT)
    assert [(line.sign, line.text) for line in shown.files[0].hunks[0].lines][2:4] == [
        ("-", "- likes tea"), ("+", "- likes coffee"),
    ]  # fmt: skip
    assert "#4 2026-04-03 00:02 telegram:1" in shown_text(shown.below)
    moved = hunk_shown(second, [first], TEXTS, ENTRIES, RESULT)
    assert [(file.path, file.counts) for file in moved.files] == [("USER.md", (0, 1)), ("memory/MEMORY.md", (1, 0))]
    assert "names no entry" in shown_text(moved.below)


def test_an_edit_that_builds_on_one_before_it_is_shown_on_top_of_that_one():
    again = Proposed(1, replace(TEA, old="- likes coffee", new="- likes espresso"))
    first = rows_of(RESULT)[0]
    shown = hunk_shown(again, [first], TEXTS, {}, RESULT)
    assert shown.files[0].counts == (1, 1)
    let_go = first._replace(decision="reject")
    alone = hunk_shown(again, [let_go], TEXTS, {}, RESULT)
    assert [line.text for line in alone.files[0].hunks[0].lines if line.sign != " "] == [
        "- likes tea",
        "- likes espresso",
    ]
    kept = again._replace(decision="accept")
    assert "1 edit accepted, 1 rejected, 0 open: USER.md +1 -1" in shown_text(
        applied_shown([let_go, kept], TEXTS, RESULT, keep=True).above
    )
    gone = hunk_shown(again, [let_go], {**TEXTS, "USER.md": "# User\n"}, {}, RESULT)
    assert not gone.files
    assert "not there any more" in shown_text(gone.above)


def test_the_words_that_entry_and_line_share_are_marked():
    def words(text, line):
        spans = marked(text, line)
        assert "".join(part for part, _ in spans) == text
        return [part for part, tone in spans if tone == "added-word"]

    assert words("- [durable] Mira moved to Oslo in May", "- Moves to Oslo (May 2026)") == ["moved", "Oslo", "May"]
    assert words("host 10.0.0.7:8080 and 10.0.0.9", "- server 10.0.0.7:8080") == ["10.0.0.7:8080"]
    assert "".join(words("我喜欢喝绿茶和咖啡", "- 喜欢绿茶")) == "喜欢绿茶"
    assert words("nothing alike", "- tea") == []


def test_the_statement_that_says_it_comes_first():
    entry = HistoryEntry(4, "2026-04-03 00:02", "- rain\n- [durable] Likes coffee now\n- sun", None, 1, {})
    texts = shown_text(evidence_blocks(TEA, {4: entry})).split("\n")
    assert texts[2:] == ["  - [durable] Likes coffee now", "  - rain", "  - sun"]


def test_an_entry_that_is_gone_is_named():
    assert "is not in the archive any more" in shown_text(evidence_blocks(TEA, {}))


def test_a_secret_in_a_refused_edit_is_masked():
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    refused = Refusal(replace(TEA, new=f"- token {token}"), "a secret")
    assert token not in rows_of(replace(RESULT, refused=(refused,)))[-1].edit.new


def test_each_line_that_was_left_out_is_named_with_its_mark_up_to_a_number():
    skipped = tuple(Skipped(number, f"line {number}", "talk", "durable") for number in range(1, 90))
    blocks = run_blocks(DreamResult(2, 0, 89, (), skipped=skipped))
    assert Heading("Skipped 89 lines, 89 of them marked durable") in blocks
    assert "#60 [durable] talk: line 60" in shown_text(blocks)
    assert blocks[-1] == Body("… and 29 more", "dim")


def test_what_applying_does_is_shown_before_it_is_done():
    given = [row._replace(decision="accept") for row in rows_of(RESULT)]
    shown = applied_shown(given, TEXTS, RESULT, keep=False)
    assert "2 edits accepted, 0 rejected, 0 open: USER.md +1 -2, memory/MEMORY.md +1 -0." in shown_text(shown.above)
    assert "from 3 to 6" in shown_text(shown.above)
    gone = applied_shown(given, {**TEXTS, "USER.md": ""}, RESULT, keep=False)
    assert (gone.refused, shown_text(gone.above).count("Accepted, but the line to change is not there")) == ("", 2)
