"""Where a new line goes and which line it changes, as learned from labelled workspaces."""

import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.dreams.entries import MEMORY, SOUL, USER
from nanomem_tui.dreams.rules import RulesDreamer

ROOT = Path(__file__).resolve().parents[2]


def dream(said, user, memory):
    files = {SOUL: "# Soul\n", USER: f"# User\n\n{user}\n", MEMORY: f"# Memory\n\n{memory}\n"}
    return RulesDreamer().propose([HistoryEntry(1, "2026-04-03 10:00", said)], files)


def test_the_packs_are_made_of_what_is_taught():
    command = [sys.executable, str(ROOT / "scripts" / "language" / "teach_places.py"), "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ("La cuota del club sube a 45 €.", "- Cuota del club: 40 €", "- Cuota del club: 45 €"),
        ("The fee of the club is 90 EUR since May.", "- Fee of the club: 80 EUR, due in March",
         "- Fee of the club: 90 EUR, due in March"),
    ],
)  # fmt: skip
def test_a_newer_value_takes_the_place_of_the_old_one_and_leaves_the_rest(said, old, new):
    proposal = dream(f"- [durable] {said}", "## Identity\n- Name: Kim", f"## Club\n{old}\n- Chair: Ines Ott")
    assert [(edit.op, edit.old, edit.new) for edit in proposal.edits] == [("replace", old, new)]


@pytest.mark.parametrize(
    "said",
    ["- She is in the garden. He has a rare illness.", "- If they win, Ana might move to Oslo.",
     "- A neighbour has a new boat.", "- User asked for a recipe; the assistant gave three."],
)  # fmt: skip
def test_what_is_supposed_told_of_strangers_or_narrated_is_written_into_no_file(said):
    assert dream(said, "## Identity\n- Name: Kim", "## Notes\n- Ana is a nurse").edits == ()


def test_a_pronoun_after_a_line_about_another_person_is_not_written_as_theirs_unseen():
    proposal = dream(
        "- Marta is the new chair of the club.\n- He is allergic to penicillin.",
        "## Identity\n- Name: Kim\n\n## Health\n- Asthma", "## Club\n- Chair: Ines Ott",
    )  # fmt: skip
    assert not any("allergic" in edit.new for edit in proposal.edits)
    assert [refused.edit.new for refused in proposal.refused if "allergic" in refused.edit.new] == [
        "- He is allergic to penicillin."
    ]


def test_a_placeholder_of_the_template_says_nothing():
    user = "## Basic Information\n- **Timezone**: (your timezone, e.g., UTC+8)"
    proposal = dream("- [permanent] The office opens at 9:30 (UTC+8)", user, "## Important Notes\n- Key is with Ana")
    assert [edit.op for edit in proposal.edits] == ["add"]
