"""What is said of one is never taken for what is said of another: no copy, nothing known, bettered or corrected."""

from __future__ import annotations

from collections import Counter

import pytest

from nanomem_tui.dream.dreamer import Proposal
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.guards import check
from nanomem_tui.dream.rules import RulesDreamer
from nanomem_tui.formats.history import HistoryEntry

SOUL, USER, MEMORY = "SOUL.md", "USER.md", "memory/MEMORY.md"


def files(memory: str = "## Facts\n", user: str = "") -> dict[str, str]:
    return {SOUL: "# Soul\n", USER: f"# User\n\n{user}\n", MEMORY: f"# Memory\n\n{memory}"}


def dreamt(there: dict[str, str], *said: str, steps: int = 0) -> tuple[Proposal, dict[str, str]]:
    """What the Dreamer proposes, and the files after what the guards let through of it."""
    entries = [HistoryEntry(at, "2026-05-01 10:00", f"- {one}") for at, one in enumerate(said, 1)]
    proposal = RulesDreamer(entries).propose(entries, there, steps=steps)
    checked = check(there, proposal.edits, {entry.cursor: entry.content for entry in entries}, today="2026-05-01")
    return proposal, dict(checked.files)


def lines(there: dict[str, str]) -> list[str]:
    return [line for text in there.values() for line in text.split("\n") if line.strip()]


NAMES = "Tom Eva Bob Zoe Max Ida Leo Mia Ned Amy Kim Joe Sue Ray Jan Liv".split()
TEAM = "## Team\n" + "".join(f"- {name}\n  - vegetarian\n  - office 3rd floor\n" for name in NAMES)


@pytest.mark.parametrize(
    "memory",
    [
        TEAM,
        "**Ana**\n- likes fish and chips on Fridays\n\n**Bob**\n- likes fish and chips on Fridays\n",
        "Ana:\n- likes fish and chips on Fridays\n\nBob:\n- likes fish and chips on Fridays\n",
        "## Ana\n- likes fish and chips on Fridays\n\n## Bob\n- likes fish and chips on Fridays\n",
        "## Steps\n1. Stop the server\n2. Copy the files of the server\n3. Stop the server\n",
        "## Steps\n1) Stop the server\n1) Stop the server\n",
        "## Allergies\n- Ana\n  - nuts\n- Bob\n  - nuts\n",
        "## Staff\n- Ana\n  - Lab\n    - nuts\n  - Home\n    - nuts\n",
        "## Staff\n- Ana\n\n  - nuts\n- Bob\n\n  - nuts\n",
        "## Case\n- US visa of Ana until further notice\n- us visa of Ana until further notice\n",
        "```\n- alpha is the host of staging\n- alpha is the host of staging\n```\n",
        "<!--\n- alpha is the host of staging\n- alpha is the host of staging\n-->\n",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 1 | 2 |\n",
        "- [ ] call Ana\n- [ ] call Ana\n",
    ],
)
def test_the_same_words_under_another_parent_are_no_copy_in_however_many_dreams(memory: str) -> None:
    there = files(memory)
    for number in range(5):
        before = Counter(lines(there))
        _, there = dreamt(there, f"[durable] Zed bought {number + 2} mugs", steps=10)
        assert not before - Counter(lines(there))
    assert all(f"Zed bought {number + 2} mugs" in there[MEMORY] for number in range(5))


@pytest.mark.parametrize(
    ("memory", "left"),
    [
        ("## Ana\n- likes fish\n- sings\n- likes fish\n\n## Bob\n- likes fish\n", 2),
        ("- Ana\n  - nuts\n  - nuts\n- Bob\n  - nuts\n", 2),
        ("**Ana**\n- nuts\n- **nuts**.\n", 1),
    ],
)
def test_a_copy_in_the_same_list_goes(memory: str, left: int) -> None:
    _, there = dreamt(files(memory), "[durable] Zed bought 3 mugs", steps=10)
    assert there[MEMORY].count("likes fish" if "fish" in memory else "nuts") == left


def test_a_line_of_another_is_no_copy_that_lets_one_be_removed() -> None:
    there = files("**Ana**\n- likes fish\n\n**Bob**\n- likes fish\n")
    edit = LineEdit("remove", MEMORY, line=7, old="- likes fish", evidence=(1,))
    allowed = check(there, [edit, edit, edit], {1: "Zed bought 3 mugs"})
    assert allowed.files[MEMORY].count("likes fish") == 0  # each counts as a line that is lost, not as a copy
    assert [refusal.why for refusal in allowed.refused] == ["the line to change is not there any more"]
