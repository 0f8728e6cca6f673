"""The list of Dreams: who dreamt, what it took, what was refused, and what the model made of the entries."""

from dataclasses import replace

import pytest

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core import merge
from nanomem_tui.dreams.guards import Refusal
from nanomem_tui.dreams.rules import RulesDreamer
from nanomem_tui.model.client import Usage
from nanomem_tui.screens.base.diffs import no_evidence
from nanomem_tui.screens.dreams.dream import evidence_recorded, run_columns, told_above, told_below, usage_of
from nanomem_tui.widgets.text_view import Body, Field, Heading, Spans
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console


@pytest.fixture
def home(small_dreams):
    return small_dreams


def asks_a_model(monkeypatch):
    """The next Dreams used a model, which gave one edit up."""
    real = RulesDreamer.propose

    def propose(dreamer, *arguments, **named):
        proposal = real(dreamer, *arguments, **named)
        first, *rest = proposal.edits
        refused = (Refusal(first, "it would lose a name"),)
        usage = Usage(3, 2000, 345, 0.0123, 4.2, "qwen3:4b")
        return replace(proposal, edits=tuple(rest), refused=refused, usage=usage, analysis="Two people talk.")

    monkeypatch.setattr(RulesDreamer, "propose", propose)


@pytest.mark.slow
async def test_a_dream_of_ours_shows_what_it_took_and_what_was_not_made(home, monkeypatch):
    asks_a_model(monkeypatch)
    async with console(home, "dream", (210, 60)) as on:
        assert "Tokens" not in on.text
        await on.press("r", "y")
        await on.shows("Refused", "Tokens", "Cost", "2,345", "0.0123", "rules", "1 edit in the inbox")
        await on.shows("dreamer      nanomem, rules", "qwen3:4b, 3 questions, 2,000 tokens in, 345 out, 4.2 s")
        await on.press("tab", "G")
        await on.shows("What the Dreamer made of them", "Two people talk.", "Not made (1)", "it would lose a name")
        await on.press("escape", "/", *"tokens", "colon", "greater_than_sign", *"2000", "enter")
        await on.until(lambda: len(on.ids) == 1)
        await on.press("escape", "/", *"who", "colon", *"rules", "enter")
        await on.until(lambda: len(on.ids) == 1)
        await on.press("escape", "h")
        await on.until(lambda: len(on.ids) == 21)


async def test_dreams_of_the_agent_have_none_of_it(home):
    async with console(home, "dream", (210, 60)) as on:
        assert not any(title in on.text for title in ("Tokens", "Cost", "Refused", "dreamer"))


@pytest.mark.slow
def test_the_cells_are_those_of_the_runs_that_have_them(home, monkeypatch):
    asks_a_model(monkeypatch)
    with open_workspace(home) as ws:
        sha = ws.dream.run().sha
        runs = {run.sha: run for run in ws.dream.runs()}
        commits = {commit.sha: commit for commit in ws.dream.commits()}
    assert sha is not None
    columns = {column.key: column for column in run_columns(runs)}
    assert [columns[key].render(commits[sha]) for key in ("refused", "tokens", "cost")] == ["1", "2,345", "0.0123"]
    other = next(commit for key, commit in commits.items() if key != sha)
    assert [column.render(other) for column in columns.values()] == ["", "", ""]
    assert run_columns({key: run for key, run in runs.items() if key != sha}) == []


ENTRY = HistoryEntry(7, "2026-04-03 00:02", "They drink tea now", None, 1, {})


def test_the_evidence_is_what_the_dream_named_else_what_can_be_found():
    meta = {"edits": ({"op": "add", "new": "- likes tea", "evidence": (7, 8)}, {"op": "add", "new": "- cat"}, 3)}
    of = evidence_recorded(meta, lambda _: {7: ENTRY}, lambda hunk: ("found",))
    tea, cat = (merge.hunks("# U\n", f"# U\n- {what}\n")[0] for what in ("likes tea", "cat"))
    assert of(tea) == ("#7 2026-04-03 00:02: They drink tea now",)
    assert of(cat) == ("found",)
    assert evidence_recorded({}, lambda _: {7: ENTRY}, no_evidence)(tea) == ()


@pytest.mark.parametrize("value", [None, 3, "x", [], ["x", None, 3], {"calls": "many"}])
def test_what_has_another_shape_is_left_out(value):
    meta = {"usage": value, "refused": value, "rejected": value, "analysis": value, "edits": value}
    assert told_above(meta) == [Field("dreamer", "nanomem, rules")]
    assert [block for block in told_below(meta) if isinstance(block, Heading)] == (
        [Heading("What the Dreamer made of them")] if value == "x" else []
    )
    assert evidence_recorded(meta, lambda _: {}, no_evidence)(merge.hunks("", "- a\n")[0]) == ()
    assert usage_of({"calls": 2, "tokens_in": None, "cost": "much"}) == Usage(calls=2)


def test_what_a_person_rejected_is_named():
    meta = {"dreamer": "model", "rejected": [{"op": "add", "file": "USER.md", "new": "- tea"}]}
    assert Field("rejected", "1 edit, by a person") in told_above(meta)
    assert told_below(meta)[0] == Heading("Rejected by a person (1)")
    assert told_below({"analysis": " fine "})[1] == Body("fine")


def test_what_was_found_and_changed_nothing_is_named_with_the_reason():
    heading, line = told_below({"left": [{"cursor": 7, "text": "User likes tea", "reason": "known: USER.md:5"}, 3]})
    assert heading == Heading("Found, and no edit made of it (1)")
    assert isinstance(line, Spans)
    assert [words for words, _ in line.parts] == ["  #7 ", "User likes tea", "  known: USER.md:5"]
