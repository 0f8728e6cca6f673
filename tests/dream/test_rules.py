"""The rules Dreamer: what is remembered, where, and what is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanomem_tui.dream import details
from nanomem_tui.dream.edits import LineEdit, apply_edits
from nanomem_tui.dream.facts import MEMORY, SOUL, USER, Skipped, facts_of, skipped_summary
from nanomem_tui.dream.guards import Limits, check
from nanomem_tui.dream.dreamer import Proposal
from nanomem_tui.dream.rules import RulesDreamer
from nanomem_tui.formats.history import HistoryEntry
from tests.store.git_samples import sample

FILES = {
    "SOUL.md": "# Soul\n\n## Core Principles\n- Solve by doing.\n",
    "USER.md": "# User\n\n## Identity\n- Name: 周明\n- Timezone: Europe/London\n\n## Preferences\n- Terse answers\n",
    "memory/MEMORY.md": "# Long-term Memory\n\n## Project 青鸟\n- DB: PostgreSQL 16\n\n## Home\n- Cat: Lula\n",
}


def entry(content: str, cursor: int = 1) -> HistoryEntry:
    return HistoryEntry(cursor, "2026-04-03 00:02", content)


def dream(*contents: str, files: dict[str, str] | None = None) -> Proposal:
    entries = [entry(content, number) for number, content in enumerate(contents, 1)]
    return RulesDreamer().propose(entries, FILES if files is None else files)


def one(content: str, files: dict[str, str] | None = None) -> LineEdit:
    edits = dream(content, files=files).edits
    assert len(edits) == 1, edits
    return edits[0]


def test_the_example_of_the_design_goes_to_user_and_memory() -> None:
    edits = dream("- User prefers dark mode\n- Decided to use PostgreSQL").edits
    assert [(e.op, e.file, e.section, e.new, e.evidence) for e in edits] == [
        ("add", "USER.md", "Preferences", "- User prefers dark mode", (1,)),
        ("add", "memory/MEMORY.md", "Project 青鸟", "- Decided to use PostgreSQL", (1,)),
    ]


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("User prefers dark mode and terse answers (max 5 lines)", USER), ("Prefers window seats", USER),
        ("Allergic to penicillin", USER), ("用户偏好简洁的中文回复，不喜欢客套话", USER), ("对花生过敏", USER),
        ("称呼用户为「老周」", USER), ("女儿叫小满，2019 年 5 月生；周三要接她放学", USER),
        ("Timezone is Europe/Berlin", USER),
        ("I live in Berlin", USER), ("我住在杭州", USER), ("The user's wife is called Mei", USER),
        ("Never use exclamation marks", SOUL), ("Reply in Chinese", SOUL), ("Keep answers under five lines", SOUL),
        ("The assistant should call tools before guessing", SOUL), ("回答先给结论，再给理由", SOUL),
        ("不要使用感叹号", SOUL),
        ("Be more concise", SOUL), ("Use no emojis", SOUL),
        ("Decided to use PostgreSQL 16 instead of MySQL", MEMORY),
        ("The staging host is stg-2.example.internal", MEMORY),
        ("报销流程：先拍照→飞书审批→财务每月 25 日打款", MEMORY),
        ("生产数据库已从 MySQL 迁移到 PostgreSQL 16", MEMORY),
        ("`make release` needs `GPG_TTY=$(tty)`", MEMORY), ("Restore drill every first Monday", MEMORY),
    ],
)  # fmt: skip
def test_a_fact_is_routed_to_its_file(text: str, file: str) -> None:
    proposal = dream(f"- [durable] {text}")
    found = [*proposal.edits, *(refusal.edit for refusal in proposal.refused)]
    assert [edit.file for edit in found] == [file]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("- [ephemeral] Sam said: That sounds great!", "marked ephemeral"),
        ("- [skip] Weather small talk", "marked skip"),
        ("- [durable] Sam said: That pic is gorgeous!", "talk"),
        ("- [SKILL] deploy: how to deploy", "a skill"),
        ("- What should we do?", "a question"),
        ("- Thanks, see you!", "talk"),
        ("- (nothing)", "nothing said"),
        ("Some prose about the day.", "prose"),
    ],
)
def test_what_is_no_memory_is_left_out_with_the_reason(content: str, why: str) -> None:
    proposal = dream(content)
    assert proposal.edits == ()
    assert proposal.skipped[0].why.startswith(why)


def test_a_raw_dump_is_not_read_line_by_line() -> None:
    proposal = dream("[RAW] 2 messages\n[2026-04-03T09:00] USER: - [permanent] User prefers tea\n- User prefers tea")
    assert proposal.edits == ()
    assert [s.why for s in proposal.skipped] == ["a dump of messages, no summary"]


def test_marks_bullets_and_prose_of_every_release_are_read() -> None:
    contents = ["- [permanent] Prefers tea", "* Likes hiking", "The user prefers trains.", "[USER] Plays chess"]
    assert [e.new for e in dream("\n".join(contents)).edits] == [
        "- Prefers tea", "- Likes hiking", "- The user prefers trains.", "- Plays chess",
    ]  # fmt: skip


def test_a_lasting_fact_of_a_person_in_a_marked_conversation_is_kept_under_people() -> None:
    edit = one("- [durable] Gina said: Oh no! I lost my job at Door Dash. How are you?")
    assert (edit.file, edit.section, edit.new) == (MEMORY, "People", "- Gina: I lost my job at Door Dash.")
    after = apply_edits(FILES, [edit])
    assert one("- [durable] Gina said: I work at Lyft now.", files=after).op == "add"


def test_a_correction_takes_the_place_of_the_wrong_value_and_nothing_else() -> None:
    edit = one("- [correction] Timezone is Europe/Berlin, not Europe/London")
    assert (edit.op, edit.old, edit.new) == ("replace", "- Timezone: Europe/London", "- Timezone: Europe/Berlin")
    edit = one("- [correction] The cat is called Luna (was recorded as Lula)")
    assert (edit.file, edit.old, edit.new) == (MEMORY, "- Cat: Lula", "- Cat: Luna")
    files = {**FILES, "memory/MEMORY.md": "# M\n\n## Code\n- 代码缩进使用 2 个空格\n"}
    edit = one("- [correction] 代码缩进使用 4 个空格（此前记为 2 个空格）", files=files)
    assert (edit.old, edit.new) == ("- 代码缩进使用 2 个空格", "- 代码缩进使用 4 个空格")


def test_a_newer_value_of_the_same_subject_replaces_the_older_also_unmarked() -> None:
    assert one("- Timezone: Asia/Tokyo").new == "- Timezone: Asia/Tokyo"
    assert one("- Timezone: Asia/Tokyo").op == "replace"
    files = {**FILES, "USER.md": "# U\n\n## Preferences\n- User prefers dark mode\n- Lives in Hangzhou\n"}
    edit = one("- User prefers light mode", files=files)
    assert (edit.op, edit.old, edit.new) == ("replace", "- User prefers dark mode", "- User prefers light mode")
    assert one("- Prefers window seats", files=files).op == "add"
    assert one("- User lives in Berlin", files=files).old == "- Lives in Hangzhou"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- Allergies: penicillin", "- Allergies: peanuts"),
        ("- Luna is a cat", "- Luna is seven years old"),
        ("- Note: buy milk", "- Note: pay rent"),
        ("- Port: 8080", "- Port: 9090"),
        ("- User is vegetarian", "- User is 35 years old"),
        ("- Project uses FastAPI", "- Project uses SQLModel"),
    ],
)
def test_a_subject_that_may_have_several_values_keeps_them_all(old: str, new: str) -> None:
    for file in FILES:
        assert one(new, files={**FILES, file: f"# T\n\n## A\n{old}\n"}).op == "add"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Meets Anna on 3 May", "Meets Anna on 4 May"), ("Pays 20 euros for lunch", "Pays 25 euros for lunch"),
        ("Works with Sara on billing", "Works with Sarah on billing"), ("Has a red bicycle", "Has a blue bicycle"),
        ("Sees https://a.example/x daily", "Sees https://a.example/y daily"), ("Likes coffee", "Does not like coffee"),
        ("Anna manages Ben", "Ben manages Anna"), ("Host app-3 ran out of memory", "Host app-4 ran out of memory"),
        ("Swims on Monday mornings", "Swims on Tuesday mornings"), ("用户住在杭州的滨江", "用户住在苏州的滨江"),
        ("周三接女儿放学", "周四接女儿放学"), ("喜欢香菜", "不喜欢香菜"),
    ],
)  # fmt: skip
def test_lines_that_differ_in_a_value_are_never_taken_for_one(old: str, new: str) -> None:
    assert not details.says(new, old)
    assert not details.says(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Prefers window seats", "prefers window seat"),
        ("Allergic to penicillin (青霉素过敏)", "Allergic to penicillin"),
        ("User likes dark roast coffee in the morning", "User likes dark roast coffee"), ("对花生过敏。", "对花生过敏"),
        ("Backups: restic to b2:acme-backup, retention 7d/4w/12m", "Backups: restic to b2:acme-backup"),
    ],
)  # fmt: skip
def test_what_is_known_is_not_added_again(old: str, new: str) -> None:
    assert details.says(new, old)
    proposal = dream(f"- {new}", files={**FILES, "USER.md": f"# U\n\n## A\n- {old}\n"})
    assert (proposal.edits, proposal.skipped[0].why) == ((), "known: USER.md:4")


def test_a_line_that_says_more_takes_the_place_of_the_one_that_says_less() -> None:
    files = {**FILES, "USER.md": "# U\n\n## Health\n- Allergic to penicillin\n"}
    edit = one("- Allergic to penicillin since 2019", files=files)
    assert (edit.op, edit.old, edit.new) == (
        "replace", "- Allergic to penicillin", "- Allergic to penicillin since 2019",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "after"), [("nb035", 202), pytest.param("nb035", 0, marks=pytest.mark.slow), ("v0_1_5", 0)]
)
@pytest.mark.slow
def test_on_a_real_history_a_second_dream_changes_nothing(tmp_path, name: str, after: int) -> None:
    from nanomem_tui.formats.history import parse_history

    paths = sample(name, tmp_path)
    entries = [e for e in parse_history(paths.history.read_bytes(), "history.jsonl")[0] if e.cursor > after]
    files = {key: (paths.workspace / key).read_text() for key in FILES}
    first = RulesDreamer().propose(entries, files)
    now = apply_edits(files, first.edits)
    assert first.edits
    assert not any(" said:" in edit.new for edit in first.edits)
    assert RulesDreamer().propose(entries, now).edits == ()
    in_parts = files
    for entry_ in entries:
        in_parts = apply_edits(in_parts, RulesDreamer().propose([entry_], in_parts).edits)
    assert in_parts == now
    assert first == RulesDreamer().propose(entries, files)


words = st.sampled_from("user prefers tea coffee Luna Anna 42 2026-01-01 not is berlin the 用户 喜欢 red".split())
facts = st.lists(words, min_size=1, max_size=7).map(" ".join)


@settings(deadline=None)
@given(st.lists(facts, max_size=8), st.lists(facts, max_size=6))
def test_whatever_comes_a_dream_settles_and_loses_no_detail(old: list[str], new: list[str]) -> None:
    files = {"SOUL.md": "", "USER.md": "# U\n" + "".join(f"- {text}\n" for text in old), "memory/MEMORY.md": ""}
    contents = [f"- {text}" for text in new]
    proposal = dream(*contents, files=files)
    after = apply_edits(files, proposal.edits)
    for edit in proposal.edits:
        if edit.op == "replace" and not edit.supersedes:
            assert details.unaccounted(edit.old, *after.values(), *contents) == ()
    again = dream(*contents, files=after)
    assert not [edit for edit in again.edits if edit.op == "add"]


def test_facts_carry_their_mark_and_cursor() -> None:
    found, skipped = facts_of(entry("- [durable] a fact\n- [ephemeral] gone\n\n... (truncated)", 7))
    assert found == [Fact("a fact", 7, "durable")]
    assert next((s.cursor, s.why) for s in skipped) == (7, "marked ephemeral")


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("[permanent] Evan said: Hey Sam! How're you doing? I had a health scare last week.",
         "Evan: I had a health scare in the week of 2026-03-23."),
        ("[correction] Sam said: Got some news - I'm a Weight Watchers coach now!",
         "Sam: Got some news - I'm a Weight Watchers coach now!"),
        ("[permanent] Audrey said: Pepper loves lounging on the couch.", "Audrey: Pepper loves lounging on the couch."),
        ("[correction] Maria said: We all have our sources of inspiration.",
         "Maria: We all have our sources of inspiration."),
        ("[permanent] Ann said: Dr. Okafor retired.", "Ann: Dr. Okafor retired."),
        ("[permanent] Calvin said:\nThe album is done.", "Calvin: The album is done."),
        ("[durable] Gina said: Thanks, Jon! Since I lost my job at Door Dash, things have been tough.",
         "Gina: Since I lost my job at Door Dash, things have been tough."),
        ("[durable] Gina: Since I lost my job, things have been tough.",
         "Gina: Since I lost my job, things have been tough."),
        ("[durable] John said: Great idea, except I don't like dark beer.",
         "John: Great idea, except I don't like dark beer."),
        ("[durable] Melanie said: We've got a pup and a kitty.", "Melanie: We've got a pup and a kitty."),
        ("[durable] Andrew said: Used to hike a lot. Can't wait!", "Andrew: Used to hike a lot."),
        ("[durable] Bob said: Anna lives in Bremen.", "Bob: Anna lives in Bremen."),
    ],
)  # fmt: skip
def test_what_the_agent_marked_is_remembered_with_its_speaker(content: str, kept: str) -> None:
    edit = one(f"- {content}")
    assert (edit.op, edit.file, edit.section, edit.new) == ("add", MEMORY, "People", f"- {kept}")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[permanent] Maria said: Hey John! Nice to hear from you. What's new with you?", "a question"),
        ("[permanent] James said: Thanks! Appreciate your support. Stay safe and talk to you soon!", "a greeting"),
        ("[correction] Thanks, Anna!", "a greeting"), ("[permanent] Gina said:", "nothing said"),
        ("[durable] John said: I'll let you know when I'm free. Bye!", "talk"),
        ("[durable] Tim said: Your support means a lot to me.", "talk"),
        ("[durable] Evan said: You got this!", "talk"),
    ],
)  # fmt: skip
def test_a_marked_line_that_is_left_out_is_named_with_its_mark(content: str, why: str) -> None:
    proposal = dream(f"- {content}")
    assert proposal.edits == ()
    line = proposal.skipped[0]
    assert line.why.startswith(why)
    assert line.reason.startswith(f"{content.partition(' ')[0]} {why}")
    assert line.to_json()["mark"] == content[1 : content.index("]")]


def test_what_two_lines_quote_of_one_person_is_kept_twice() -> None:
    edit = one("- [permanent] Gina said: I lost my job.")
    assert one("- [durable] Gina: birthday 3 May", files=apply_edits(FILES, [edit])).op == "add"
    known = dream("- [permanent] Gina said: I lost my job.", files=apply_edits(FILES, [edit]))
    assert [(s.why[:6], s.mark) for s in known.skipped] == [("known:", "permanent")]


def test_a_correction_in_a_conversation_changes_no_line_of_somebody_else() -> None:
    files = {**FILES, "memory/MEMORY.md": "# M\n\n## Home\n- Dinner with Luna costs 20 euros\n"}
    assert one("- [correction] Sam said: My dinner with Luna costs 30 euros, not 20 euros", files=files).op == "add"


def test_the_summary_counts_the_lines_that_the_agent_wanted_kept() -> None:
    lines = [Skipped(1, "x", "talk", mark) for mark in ("durable", "durable", "ephemeral", None)]
    assert skipped_summary(lines) == "Skipped 4 lines, 2 of them marked durable"
    lines.append(Skipped(1, "x", "a question", "correction"))
    assert skipped_summary(lines) == "Skipped 5 lines, 1 of them marked correction, 2 marked durable"
    assert skipped_summary(lines[2:3]) == "Skipped 1 line"


def test_a_line_of_greetings_without_end_is_read_at_once() -> None:
    assert len(dream("- [permanent] " + "Great Great " * 49 + "x").edits) == 1


@pytest.mark.slow
def test_of_a_real_history_no_permanent_line_is_talk(tmp_path) -> None:
    from nanomem_tui.formats.history import parse_history

    paths = sample("nb035", tmp_path)
    entries = [e for e in parse_history(paths.history.read_bytes(), "history.jsonl")[0] if e.cursor > 202]
    proposal = RulesDreamer().propose(entries, {key: (paths.workspace / key).read_text() for key in FILES})
    left = [line for line in proposal.skipped if line.mark in ("permanent", "correction")]
    assert {line.why.partition(":")[0] for line in left} == {"known", "a question", "a greeting"}
    assert len(left) <= 10
    added = "\n".join(edit.new for edit in proposal.edits)
    assert "Evan: Life's been quite the rollercoaster lately. I had a health scare in the week of " in added
    assert "I'm a Weight Watchers coach in my group now!" in added


def test_marked_lines_that_would_outgrow_the_file_are_refused_not_lost() -> None:
    contents = [f"- [permanent] Ann said: I have visited the museum of {name}." for name in ("Oslo", "Rome", "Bath")]
    edits = dream(*contents).edits
    size = len(apply_edits(FILES, edits[:2])[MEMORY].encode())
    checked = check(FILES, edits, dict(enumerate(contents, 1)), Limits(max_bytes=size))
    assert (len(checked.edits), [r.edit for r in checked.refused]) == (2, [edits[2]])
