"""The lines of a history entry, each as a statement of its own: what stands under a line says of whom or what it is."""

import pytest

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.dreams.edits import apply_edits
from nanomem_tui.dreams.entries import facts_of, lines_of
from nanomem_tui.dreams.rules import RulesDreamer


def told(content):
    facts, skipped = facts_of(HistoryEntry(1, "2026-05-01 10:00", content))
    read = {line.text for line in (*facts, *skipped)}
    return [line.text for line in lines_of(content) if line.text in read] or [fact.text for fact in facts]


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ("- [durable] Kestrel:\n    - port 8080\n    - uses MySQL", ["Kestrel port 8080", "Kestrel uses MySQL"]),
        ("- Falcon:\n\t- port 9090\n- Likes tea", ["Falcon port 9090", "Likes tea"]),
        ("User is allergic to:\n- nuts\n- shellfish", ["User is allergic to nuts", "User is allergic to shellfish"]),
        ("- [permanent] Ana is allergic to:\n    - nuts", ["Ana is allergic to nuts"]),
        ("- User's dog:\n  - is called Rex\n  - 4 years old", ["User's dog is called Rex", "User's dog – 4 years old"]),
        ("- Trip to Porto:\n  - Hotel:\n    - booked", ["Trip to Porto – Hotel – booked"]),
        ("1. Ana\n   - vegetarian\n2. **Bob**\n   - vegan", ["Ana vegetarian", "Bob vegan"]),
        ("## Kestrel\n- port 8080\n\n**Falcon**\n- port 9090", ["Kestrel port 8080", "Falcon port 9090"]),
        ("- 小明：\n  - 对花生过敏", ["小明 – 对花生过敏"]),
        ("- [durable] Gina said:\n  - I work as a nurse in Leeds.", ["Gina: I work as a nurse in Leeds."]),
        ("- Kestrel is a project\n  - port 8080", ["Kestrel is a project", "Kestrel is a project – port 8080"]),
    ],
)
def test_a_line_of_a_list_says_what_it_stands_under(content, facts):
    assert told(content) == facts


@pytest.mark.parametrize("opens", ["The conversation covered:", "User said:", "## Summary", "- Preferences:", "Facts:"])
def test_what_opens_a_list_and_names_nobody_is_not_repeated(opens):
    assert told(f"{opens}\n  - likes tea") == ["likes tea"]


def test_a_line_has_the_mark_of_the_line_that_it_stands_under_unless_it_has_its_own():
    content = "- [ephemeral] Task:\n  - call Bob\n  - [durable] Bob has a boat\n- [durable] Kestrel:\n  - port 8080"
    marks = [(line.mark, line.text) for line in lines_of(content)]
    assert marks == [
        ("ephemeral", "call Bob"), ("durable", "Bob has a boat"), ("durable", "Kestrel port 8080")
    ]  # fmt: skip


def test_two_things_of_one_project_do_not_take_each_others_place():
    files = {"SOUL.md": "# Soul\n", "USER.md": "# User\n", "memory/MEMORY.md": "# Memory\n\n## Facts\n- x 1\n"}
    for cursor, told_of in enumerate(("port 8080", "deploys on Fridays", "uses MySQL"), 1):
        entries = [HistoryEntry(cursor, "2026-05-01 10:00", f"- [permanent] Kestrel:\n  - {told_of}")]
        files = apply_edits(files, RulesDreamer().propose(entries, files, steps=10).edits)
    for line in ("- Kestrel port 8080", "- Kestrel deploys on Fridays", "- Kestrel uses MySQL"):
        assert line in files["memory/MEMORY.md"]
