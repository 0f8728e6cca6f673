"""Copies and lines that are over: what a Dream may clear away without losing anything."""

from __future__ import annotations

import pytest

from nanomem_tui.dreams.edits import LineEdit, apply_edits, tidy_lines
from nanomem_tui.dreams.guards import check

NAME = "memory/MEMORY.md"


def removed(text: str, today: str = "2026-04-03") -> list[tuple[int, str]]:
    return [(edit.line or 0, edit.why) for edit in tidy_lines({NAME: text}, 7, today)]


def test_the_later_of_two_copies_goes() -> None:
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
def test_lines_that_differ_in_a_value_are_no_copies(one: str, other: str) -> None:
    assert removed(f"## A\n- {one}\n- {other}\n") == []


def test_check_boxes_code_and_lines_with_lines_below_stay() -> None:
    boxes, code, nested = "- [ ] buy milk now please\n", "- a b c d\n", "- top\n  - in\n"
    text = f"{boxes}{boxes}```\n{code}{code}```\n{nested}{nested}"
    assert removed(text) == []


def test_what_is_over_goes_and_the_guards_let_it() -> None:
    text = "# M\n\n- Anna covers for Ben until 2026-04-01\n- Anna likes tea\n- a\n- b\n"
    edits = list(tidy_lines({NAME: text}, 7, "2026-04-03"))
    assert [edit.why for edit in edits] == ["over since before 2026-04-03"]
    assert check({NAME: text}, edits, {7: "nothing of it"}, today="2026-04-03").edits == tuple(edits)
    late = check({NAME: text}, edits, {7: "nothing of it"}, today="2026-04-01")
    assert [refusal.why for refusal in late.refused] == ["nothing accounts for ben, 2026-04-01"]
    assert removed(text, "") == []


def test_copies_lose_nothing_so_any_number_may_go() -> None:
    text = "# M\n\n" + "- The staging host is alpha.example\n" * 12
    edits = list(tidy_lines({NAME: text}, 7, "2026-04-03"))
    checked = check({NAME: text}, edits, {7: ""})
    assert (len(checked.edits), checked.refused) == (11, ())
    assert checked.files[NAME] == "# M\n\n- The staging host is alpha.example\n"
    assert list(tidy_lines(checked.files, 7, "2026-04-03")) == []


def test_a_removal_of_the_last_copy_is_refused() -> None:
    text = "# M\n\n- The staging host is alpha.example\n"
    edit = LineEdit("remove", NAME, line=3, old="- The staging host is alpha.example", evidence=(7,))
    assert apply_edits({NAME: text}, [edit])[NAME] == "# M\n\n"
    assert [refusal.why for refusal in check({NAME: text}, [edit], {7: ""}).refused] == [
        "nothing accounts for alpha.example"
    ]
