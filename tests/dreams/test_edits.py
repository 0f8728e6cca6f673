"""Edits of lines: placed where a person would put them, and no other byte changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core import merge
from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.dreams.edits import LineEdit, apply_edits, tidy_lines
from nanomem_tui.dreams.guards import check
from nanomem_tui.dreams.rules import RulesDreamer

USER = "# User Profile\n\n## Identity\n- Name: 周明\n\n## Preferences\n- Terse\n  and short\n- Calm\n\nEnd.\n"


def edited(text, *edits, name="USER.md"):
    return apply_edits({name: text}, edits)[name]


def add(new, section="", name="USER.md"):
    return LineEdit("add", name, section, new=new)


def test_a_line_is_added_after_the_last_item_of_its_section():
    assert edited(USER, add("- x", "identity")) == USER.replace("- Name: 周明\n", "- Name: 周明\n- x\n")
    assert edited(USER, add("- x", "Preferences")) == USER.replace("- Calm\n", "- Calm\n- x\n")


def test_a_wrapped_item_is_not_torn_apart():
    text = "# U\n\n## P\n- one\n  goes on\n\n## Q\n"
    assert edited(text, add("- x", "P")) == "# U\n\n## P\n- one\n  goes on\n- x\n\n## Q\n"


def test_a_section_without_items_gets_its_first_one_after_its_text_and_before_a_rule():
    text = "# M\n\n## Project Context\n\n(about projects)\n\n---\n\n*footer*\n"
    assert edited(text, add("- x", "Project Context")) == text.replace("projects)\n", "projects)\n\n- x\n")
    assert edited("## A\n\n### B\n\n- b\n", add("- x", "A")) == "## A\n\n- x\n\n### B\n\n- b\n"
    assert edited("## A\n## B\n", add("- x", "A")) == "## A\n- x\n\n## B\n"
    assert edited("## A", add("- x", "A")) == "## A\n- x"


CODE = "```yaml\n---\n- x: 1\n- y: 2\n```\n"


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("# M\n\n## Facts\n- a\n", f"\n{CODE}"),
        ("# M\n\n## Facts\n- a\n", "\n<!-- was:\n- b\n-->\n"),
        ("# M\n\n## Facts\n- a\n  ```\n- x: 1\n\n- y: 2\n  ```\n", ""),
        ("# M\n\n<!-- ## Facts\n- b\n-->\n## Facts\n- a\n", ""),
    ],
)
def test_no_line_goes_into_code_or_a_comment(before, behind):
    assert edited(before + behind, add("- new", "Facts")) == f"{before}- new\n{behind}"


def test_a_section_of_code_alone_gets_its_first_line_behind_it():
    assert edited(f"## Facts\n{CODE}", add("- new", "Facts")) == f"## Facts\n{CODE}\n- new\n"


def test_of_two_lines_alike_the_one_in_code_stays():
    text = "```\n- a\n```\n\n\n\n- a\n"
    assert edited(text, LineEdit("remove", "USER.md", line=2, old="- a")) == "```\n- a\n```\n\n\n\n"


def test_a_missing_section_is_made_at_the_end_in_the_style_of_the_file():
    assert edited("# U\n\n## A\n- a\n", add("- x", "B")) == "# U\n\n## A\n- a\n\n## B\n- x\n"
    assert edited("# U\n\n## A\n\n- a\n", add("- x", "B")) == "# U\n\n## A\n\n- a\n\n## B\n\n- x\n"


def test_a_flat_list_and_an_empty_file():
    assert edited("# User\n- a\n", add("- x")) == "# User\n- a\n- x\n"
    assert edited("- a\n- b", add("- x")) == "- a\n- b\n- x"
    assert edited("", add("- x", "Notes")) == "# User Profile\n\n## Notes\n- x\n"
    assert apply_edits({}, [LineEdit("add", "SOUL.md", new="- x")]) == {"SOUL.md": "# Soul\n\n- x\n"}


def test_crlf_and_a_missing_last_line_end_stay():
    assert edited("# U\r\n- a\r\n", add("- x")) == "# U\r\n- a\r\n- x\r\n"
    assert edited("# U\r\n- a", add("- x")) == "# U\r\n- a\r\n- x"
    assert edited("# U\r\n- a\r\n- b", LineEdit("replace", "USER.md", old="- a", new="- c")) == "# U\r\n- c\r\n- b"
    assert edited("# U\r\n- a\r\n- b", LineEdit("remove", "USER.md", old="- b")) == "# U\r\n- a"


def test_replace_and_remove_take_the_named_line_nearest_to_its_number():
    text = "- a\n- b\n- a\n"
    assert edited(text, LineEdit("replace", "USER.md", line=3, old="- a", new="- c")) == "- a\n- b\n- c\n"
    assert edited(text, LineEdit("remove", "USER.md", line=1, old="- a")) == "- b\n- a\n"


def test_a_line_moves_between_files():
    files = {"USER.md": "# U\n- a\n- b\n", "SOUL.md": "# S\n\n## Style\n- calm\n"}
    moved = LineEdit("move", "USER.md", "Style", old="- a", to_file="SOUL.md")
    assert apply_edits(files, [moved]) == {"USER.md": "# U\n- b\n", "SOUL.md": "# S\n\n## Style\n- calm\n- a\n"}


def test_a_line_that_is_gone_is_a_conflict_and_a_line_end_or_another_file_bad_input():
    with pytest.raises(Conflict):
        edited("- a\n", LineEdit("remove", "USER.md", old="- b"))
    with pytest.raises(Conflict):
        edited("- a\n\n", LineEdit("remove", "USER.md", old=""))
    for bad in (add("- x\n- y"), LineEdit("add", "AGENTS.md", new="- x"), add("x\ry")):
        with pytest.raises(BadInput):
            apply_edits({}, [bad])


lines = st.lists(st.sampled_from(["# T", "## A", "## B", "- a", "- b", "", "text", "```", "---"]), max_size=12)


@given(lines, st.sampled_from(["A", "B", "C", ""]), st.booleans(), st.booleans())
def test_adding_a_line_changes_no_other_line(body, section, closed, crlf):
    text = ("\r\n" if crlf else "\n").join(body) + ("\n" if closed else "")
    after = edited(text, add("- NEW", section))
    plain = [line.rstrip("\r") for line in after.split("\n")]
    assert plain.count("- NEW") == 1
    if text.strip():
        assert merge.count_changes(text.replace("\r", ""), after.replace("\r", ""))[1] <= (0 if closed else 1)
        rest = [line for line in plain if line.strip() and line not in ("- NEW", f"## {section}")]
        assert rest == [line for line in body if line.strip() and line != f"## {section}"]


# Code and comments in the memory files: a Dream of the rules writes nothing there, and believes nothing there.


MEMORY = "memory/MEMORY.md"
FACT = "- The backup host is alpha9 on port 2222"


def dreamt(text, content):
    files = {"SOUL.md": "# Soul\n", "USER.md": "# User\n", MEMORY: text}
    entries = [HistoryEntry(1, "2026-05-01 10:00", content)]
    return apply_edits(files, RulesDreamer().propose(entries, files, steps=10).edits)[MEMORY]


@pytest.mark.parametrize(
    "block", ["```yaml\n- x: 1\n- y: 2\n```\n", "<!-- a template:\n- x\n-->\n", "~~~\n## Servers\n- x\n~~~\n"]
)
def test_a_new_fact_goes_to_the_list_and_not_into_the_block_behind_it(block):
    text = f"# Memory\n\n## Servers\n- a is 5\n\n{block}"
    assert dreamt(text, FACT.replace("- ", "- [permanent] ")) == text.replace("- a is 5\n", f"- a is 5\n{FACT}\n")


def test_what_a_comment_says_is_not_known_and_its_heading_is_none():
    text = f"# Memory\n\n<!-- ## Infrastructure\n{FACT}\n-->\n"
    assert dreamt(text, FACT.replace("- ", "- [permanent] ")) == f"{text}\n## Notes\n{FACT}\n"


def test_a_line_of_a_comment_is_no_copy_of_a_real_one():
    text = f"# Memory\n\n## Servers\n{FACT}\n\n<!-- as it was:\n{FACT}\n-->\n"
    assert dreamt(text, "- [permanent] Carla is allergic to nuts").startswith(text)


# Copies and lines that are over: what a Dream may clear away without losing anything.


NAME = "memory/MEMORY.md"


def removed(text, today="2026-04-03"):
    return [(edit.line or 0, edit.why) for edit in tidy_lines({NAME: text}, 7, today)]


def test_the_later_of_two_copies_goes():
    text = "## A\n- The staging host is alpha.example\n- x\n- **The staging host is alpha.example.**\n- x\n"
    assert removed(text) == [(4, "a copy of line 2"), (5, "a copy of line 3")]
    assert removed("- Ana\n  - nuts\n  - milk\n  - nuts\n") == [(4, "a copy of line 2")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The port is 5432 on alpha", "The port is 5433 on alpha"),
        ("Anna owes Ben some money", "Ben owes Anna some money"),
        ("User likes green tea a lot", "User likes black tea a lot"),
        ("Deploy on Monday with Anna", "Deploy on Tuesday with Anna"),
        ("User does eat fish", "User does not eat fish"),
        ("用户喜欢喝绿茶和咖啡", "用户喜欢喝红茶和咖啡"),
    ],
)
def test_lines_that_differ_in_a_value_are_no_copies(one, other):
    assert removed(f"## A\n- {one}\n- {other}\n") == []


def test_check_boxes_code_and_lines_with_lines_below_stay():
    boxes, code, nested = "- [ ] buy milk now please\n", "- a b c d\n", "- top\n  - in\n"
    text = f"{boxes}{boxes}```\n{code}{code}```\n{nested}{nested}"
    assert removed(text) == []


def test_what_is_over_goes_and_the_guards_let_it():
    text = "# M\n\n- Anna covers for Ben until 2026-04-01\n- Anna likes tea\n- a\n- b\n"
    edits = list(tidy_lines({NAME: text}, 7, "2026-04-03"))
    assert [edit.why for edit in edits] == ["over since before 2026-04-03"]
    assert check({NAME: text}, edits, {7: "nothing of it"}, today="2026-04-03").edits == tuple(edits)
    late = check({NAME: text}, edits, {7: "nothing of it"}, today="2026-04-01")
    assert [refusal.why for refusal in late.refused] == ["nothing accounts for ben, 2026-04-01"]
    assert removed(text, "") == []


def test_copies_lose_nothing_so_any_number_may_go():
    text = "# M\n\n" + "- The staging host is alpha.example\n" * 12
    edits = list(tidy_lines({NAME: text}, 7, "2026-04-03"))
    checked = check({NAME: text}, edits, {7: ""})
    assert (len(checked.edits), checked.refused) == (11, ())
    assert checked.files[NAME] == "# M\n\n- The staging host is alpha.example\n"
    assert list(tidy_lines(checked.files, 7, "2026-04-03")) == []


def test_a_removal_of_the_last_copy_is_refused():
    text = "# M\n\n- The staging host is alpha.example\n"
    edit = LineEdit("remove", NAME, line=3, old="- The staging host is alpha.example", evidence=(7,))
    assert apply_edits({NAME: text}, [edit])[NAME] == "# M\n\n"
    assert [refusal.why for refusal in check({NAME: text}, [edit], {7: ""}).refused] == [
        "nothing accounts for alpha.example"
    ]
