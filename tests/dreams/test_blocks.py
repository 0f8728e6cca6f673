"""Code and comments in the memory files: a Dream of the rules writes nothing there, and believes nothing there."""

from __future__ import annotations

import pytest

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.dreams.edits import apply_edits
from nanomem_tui.dreams.rules import RulesDreamer

MEMORY = "memory/MEMORY.md"
FACT = "- The backup host is alpha9 on port 2222"


def dreamt(text: str, content: str) -> str:
    files = {"SOUL.md": "# Soul\n", "USER.md": "# User\n", MEMORY: text}
    entries = [HistoryEntry(1, "2026-05-01 10:00", content)]
    return apply_edits(files, RulesDreamer().propose(entries, files, steps=10).edits)[MEMORY]


@pytest.mark.parametrize(
    "block", ["```yaml\n- x: 1\n- y: 2\n```\n", "<!-- a template:\n- x\n-->\n", "~~~\n## Servers\n- x\n~~~\n"]
)
def test_a_new_fact_goes_to_the_list_and_not_into_the_block_behind_it(block: str) -> None:
    text = f"# Memory\n\n## Servers\n- a is 5\n\n{block}"
    assert dreamt(text, FACT.replace("- ", "- [permanent] ")) == text.replace("- a is 5\n", f"- a is 5\n{FACT}\n")


def test_what_a_comment_says_is_not_known_and_its_heading_is_none() -> None:
    text = f"# Memory\n\n<!-- ## Infrastructure\n{FACT}\n-->\n"
    assert dreamt(text, FACT.replace("- ", "- [permanent] ")) == f"{text}\n## Notes\n{FACT}\n"


def test_a_line_of_a_comment_is_no_copy_of_a_real_one() -> None:
    text = f"# Memory\n\n## Servers\n{FACT}\n\n<!-- as it was:\n{FACT}\n-->\n"
    assert dreamt(text, "- [permanent] Carla is allergic to nuts").startswith(text)
