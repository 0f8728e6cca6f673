"""What a model proposes is held against the entries that it cites; what they do not say waits for a person."""

from __future__ import annotations

from typing import Any

import pytest

from nanomem_tui.dreams.edits import LineEdit
from nanomem_tui.dreams.guards import reason_unsupported
from tests.dreams.dreaming import Dreaming, edit, fact, step, study
from tests.dreams.pipeline import Bench
from tests.store.git_samples import needs_git, small

SIX = "- [permanent] Likes mango\n- [permanent] Prefers tea\n- Favourite colour is red"
USER, SOUL = "# User\n- Allergic to penicillin\n- b\n- c\n", "# Soul\n- - Be kind.\n"
MADE_UP: list[dict[str, Any]] = [
    edit("remove", 21, line=2, old="- Allergic to penicillin"),
    edit("replace", 21, line=2, old="- Allergic to penicillin", new="- Not allergic to anything"),
    edit("replace", 21, line=2, old="- Allergic to penicillin", new="- Prefers tea"),
    edit("add", 21, new="- User enjoys sailing and hates his boss"),
    edit("remove", 21, file="SOUL.md", line=2, old="- - Be kind."),
]


@needs_git
@pytest.mark.parametrize("bad", MADE_UP, ids=[str(row.get("new", row.get("old"))) for row in MADE_UP])
def test_what_the_cited_entry_does_not_say_waits_with_the_reason(tmp_path, bad):
    on = Dreaming(tmp_path, (SIX,), study(fact("mango", 21)), step(bad, edit("add", 21, new="- Likes mango")))
    on.bench.paths.user.write_text(USER)
    on.bench.paths.soul.write_text(SOUL)
    result = on.run()
    assert (on.user, on.bench.paths.soul.read_text()) == (f"{USER}- Likes mango\n", SOUL)
    assert [refusal.why.startswith("the entries that it cites ") for refusal in result.refused] == [True]
    (hunk,) = on.bench.review.waiting()
    assert (hunk.why, hunk.edit.old) == (result.refused[0].why, bad.get("old", ""))


def why(op, old, new, said):
    asked: Any = op
    return reason_unsupported(LineEdit(asked, "USER.md", old=old, new=new, evidence=(1,)), said, "2026-04-03", "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "- Prefers tea", "- [durable] I like tea most"),
        ("", "- Relocated to Berlin in 2025", "Moved to Berlin in 2025"),
        ("", "- 用户喜欢喝茶", "用户说他喜欢喝茶"),
        ("- Lives in Graz", "- Lives in Berlin", "moved to Berlin"),
        ("- Not vegetarian", "- Vegetarian", "vegetarian since spring"),
        ("- Timezone: London", "- Timezone: Berlin", "Timezone is Berlin, not London"),
        ("- Runs no server", "- Runs no server; no NAS", "he has no NAS"),
        ("- Conference until 2026-03-01", "", "anything"),
    ],
)
def test_what_the_entry_says_in_other_words_passes(old, new, said):
    assert why("replace" if old and new else "remove" if old else "add", old, new, said) == ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "- User enjoys tea and hates his boss", "User enjoys tea"),
        ("", "- Not allergic to nuts", "allergic to nuts"),
        ("- Allergic to nuts", "- Not allergic to nuts", "ate nuts; is allergic to nuts"),
        ("- Never eats meat", "- Eats meat", "he never eats meat"),
        ("- Allergic to nuts and milk", "- Allergic", "likes mango"),
        ("- Likes hiking", "", "likes mango"),
        ("- Likes hiking", "- Likes mango", "likes mango"),
    ],
)
def test_what_the_entry_does_not_say_is_named(old, new, said):
    assert why("replace" if old and new else "remove" if old else "add", old, new, said) != ""


CHINESE, ENGLISH = "- [durable] Mira 2025年搬到Graz，喜欢喝茶", "- [durable] Mira moved to Graz in 2025 and likes tea"
FOREIGN: list[tuple[str, dict[str, Any]]] = [
    (CHINESE, edit("add", 21, new="- Mira moved to Graz in 2025")),
    (CHINESE, edit("add", 21, new="- Mira left Graz 2025")),
    (CHINESE, edit("replace", 21, line=2, old="- Prefers coffee", new="- Prefers tea")),
    (CHINESE, edit("remove", 21, line=2, old="- Prefers coffee")),
    (ENGLISH, edit("add", 21, new="- Mira 2025年搬到Graz，喜欢喝茶")),
    ("- [durable] Мира живёт в Граце", edit("add", 21, new="- lives there with a friend")),
]


@needs_git
@pytest.mark.parametrize(("said", "asked"), FOREIGN, ids=[str(asked.get("new", "remove")) for _, asked in FOREIGN])
def test_an_edit_in_another_script_than_its_entries_waits_and_says_so(tmp_path, said, asked):
    on = Dreaming(tmp_path, (said,), study(fact("tea", 21)), step(asked))
    on.bench.paths.user.write_text("# User\n- Prefers coffee\n")
    result = on.run()
    assert on.user == "# User\n- Prefers coffee\n"
    assert [refusal.why for refusal in result.refused] == ["it is written in another language than its entries"]
    assert [row["reason"] for row in result.to_json()["refused"]] == [result.refused[0].why]
    assert [hunk.to_json()["why"] for hunk in on.bench.review.waiting()] == [result.refused[0].why]


@needs_git
@pytest.mark.parametrize(
    "new", ["- Mira moved to Linz in 2025", "- Mira moved to Graz in 2019", "- See `tea.md`, Mira"]
)
def test_in_another_script_too_a_name_or_number_of_nowhere_is_named(tmp_path, new):
    asked = edit("add", 21, new=new)
    on = Dreaming(tmp_path, (CHINESE,), study(fact("tea", 21)), step(asked, status="more"), step(asked))
    (refusal,) = on.run().refused
    assert refusal.why.startswith("no entry that it names, and no line, says ")


def test_an_entry_of_two_languages_bears_out_either():
    said = "用户喜欢喝茶\nThe user prefers tea"
    assert why("add", "", "- Prefers tea", said) == why("add", "", "- 用户喜欢喝茶", said) == ""
    assert "the entries that it cites" in why("add", "", "- Hates sailing boats", said)


@needs_git
def test_the_rules_need_no_words_of_their_own(tmp_path):
    bench = Bench(small(tmp_path))
    bench.remember(SIX, first=21)
    bench.dreams.status()
    result = bench.dreams.run(dreamer="rules")
    assert (len(result.edits) + len(result.refused), len(result.edits) > 1) == (3, True)
