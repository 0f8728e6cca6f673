"""The rules Dreamer: what is remembered, where, and what is left alone."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.dreams import edits as dreams_edits
from nanomem_tui.dreams.edits import apply_edits
from nanomem_tui.dreams.entries import MEMORY, SOUL, USER, Skipped, facts_of, skipped_summary
from nanomem_tui.dreams.guards import Limits, check
from nanomem_tui.dreams.rules import RulesDreamer
from tests.store.git_samples import sample

FILES = {
    "SOUL.md": "# Soul\n\n## Core Principles\n- Solve by doing.\n",
    "USER.md": "# User\n\n## Identity\n- Name: 周明\n- Timezone: Europe/London\n\n## Preferences\n- Terse answers\n",
    "memory/MEMORY.md": "# Long-term Memory\n\n## Project 青鸟\n- DB: PostgreSQL 16\n\n## Home\n- Cat: Lula\n",
}


def entry(content, cursor=1):
    return HistoryEntry(cursor, "2026-04-03 00:02", content)


def dream(*contents, files=None):
    entries = [entry(content, number) for number, content in enumerate(contents, 1)]
    return RulesDreamer().propose(entries, FILES if files is None else files)


def one(content, files=None):
    edits = dream(content, files=files).edits
    assert len(edits) == 1, edits
    return edits[0]


def test_the_example_of_the_design_goes_to_user_and_memory():
    edits = dream("- User prefers dark mode\n- [durable] Decided to use Redis for 青鸟").edits
    assert [(e.op, e.file, e.section, e.new, e.evidence) for e in edits] == [
        ("add", "USER.md", "Preferences", "- User prefers dark mode", (1,)),
        ("add", "memory/MEMORY.md", "Project 青鸟", "- Decided to use Redis for 青鸟", (1,)),
    ]


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("User prefers dark mode and terse answers (max 5 lines)", USER), ("Prefers window seats", USER),
        ("Allergic to penicillin", USER), ("用户偏好简洁的中文回复，不喜欢客套话", USER), ("对花生过敏", USER),
        ("女儿叫小满，2019 年 5 月生；周三要接她放学", USER),
        ("Timezone is Europe/Berlin", USER),
        ("I live in Berlin", USER), ("我住在杭州", USER), ("The user's wife is called Mei", USER),
        ("Never use exclamation marks", SOUL), ("Reply in Chinese", SOUL), ("Keep answers under five lines", SOUL),
        ("回答先给结论，再给理由", SOUL),
        ("不要使用感叹号", SOUL),
        ("Be more concise", SOUL), ("Use no emojis", SOUL),
        ("Decided to use PostgreSQL 16 instead of MySQL", MEMORY),
        ("The staging host is stg-2.example.internal", MEMORY),
        ("报销流程：先拍照→飞书审批→财务每月 25 日打款", MEMORY),
        ("生产数据库已从 MySQL 迁移到 PostgreSQL 16", MEMORY),
        ("Restore drill every first Monday", MEMORY),
    ],
)  # fmt: skip
def test_a_fact_is_routed_to_its_file(text, file):
    proposal = dream(f"- [durable] {text}")
    found = [*proposal.edits, *(refusal.edit for refusal in proposal.refused)]
    assert [edit.file for edit in found] == [file]


@pytest.mark.parametrize(
    "content",
    [
        "- [ephemeral] Sam said: That sounds great!", "- [skip] Weather small talk", "- [SKILL] deploy: how to deploy",
        "- What should we do?", "- Thanks, see you!", "## Summary of the talk", "- User asked about the weather",
        "- The assistant called web_search and listed five hits", "- 1. Best hikes near Graz – Blog",
        "```\n- port 8080\n```", "[2026-03-04 10:15] ASSISTANT: Here is the list:", "| Name | Age |", "- 助手搜索了",
        "- A colleague swears by Vim.", "- User is tired today.", "- User asked how to cook rice; steps were given.",
        "- Пользователь спросил о погоде.", "- Le paquet est arrivé.",
    ],
)  # fmt: skip
def test_narration_results_labels_and_chat_are_never_written(content):
    assert dream(content).edits == ()


def test_what_is_left_out_is_said_with_the_reason():
    proposal = dream("- [ephemeral] rain\n- [SKILL] deploy: how\n- What should we do?\n- Thanks, see you!")
    assert [line.why for line in proposal.skipped] == [
        "marked ephemeral", "a skill, not a memory", "a question", "chat",
    ]  # fmt: skip


def test_a_raw_dump_is_not_read_line_by_line():
    proposal = dream("[RAW] 2 messages\n[2026-04-03T09:00] USER: - [permanent] User prefers tea\n- User prefers tea")
    assert proposal.edits == ()
    assert [s.why for s in proposal.skipped] == ["a dump of messages, no summary"]


def test_marks_bullets_and_prose_of_every_release_are_read():
    contents = ["- [permanent] Prefers tea", "* Likes hiking", "The user prefers trains.", "[USER] Prefers chess"]
    assert [e.new for e in dream("\n".join(contents)).edits] == [
        "- Prefers tea", "- Likes hiking", "- The user prefers trains.", "- Prefers chess",
    ]  # fmt: skip


def test_who_said_it_and_what_nobody_needs_stand_in_no_line():
    assert one("- [permanent] User mentioned that she is allergic to nuts").new == "- She is allergic to nuts"
    assert one("- [durable] 3. User likes figs [permanent]").new == "- User likes figs"
    edits = dream("- [permanent] Anna is vegan.\n- [permanent] She works at ACME.").edits
    assert [edit.new for edit in edits] == ["- Anna is vegan.", "- Anna works at ACME."]


def test_what_owner_and_others_say_in_a_chat_is_read_as_a_message():
    files = {**FILES, "USER.md": "# User\n\n## Health\n- Blood pressure tablets each morning\n"}
    edit = one("[2026-04-03 10:15] USER: remember that I'm allergic to penicillin", files)
    assert (edit.file, edit.section, edit.new) == (USER, "Health", "- I'm allergic to penicillin")


def test_what_lasts_of_what_somebody_else_says_in_a_conversation_waits_for_a_person():
    proposal = dream("- [durable] Gina said: I've been vegetarian since 2010.")
    assert proposal.edits == ()
    [held] = proposal.refused
    assert (held.edit.file, held.edit.section) == (MEMORY, "People")
    assert held.edit.new == "- Gina: I've been vegetarian since 2010."
    assert held.why == "somebody else said it in a conversation"


def test_lines_go_where_lines_are_alike_or_under_a_new_heading_in_the_language_of_the_file():
    files = {
        "SOUL.md": "# 灵魂\n", "USER.md": "# 用户\n\n## 家庭\n- 女儿：小满，小学二年级\n\n## 健康\n- 高血压\n",
        "memory/MEMORY.md": "# 记忆\n\n## 学校\n- 班主任是梁老师\n",
    }  # fmt: skip
    edits = dream("- [permanent] 小满对花生过敏\n- [durable] 用户喜欢喝茶", files=files).edits
    assert [(edit.file, edit.section) for edit in edits] == [(USER, "健康"), (USER, "偏好")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- Allergies: penicillin", "- Allergies: peanuts"),
        ("- Luna is a cat", "- Luna is seven years old"),
        ("- Note: buy milk", "- Note: pay rent"),
        ("- User is vegetarian", "- User is 35 years old"),
        ("- Project uses FastAPI", "- Project uses SQLModel"),
    ],
)
def test_a_subject_that_may_have_several_values_keeps_them_all(old, new):
    for file in FILES:
        edits = dream(new.replace("- ", "- [durable] "), files={**FILES, file: f"# T\n\n## A\n{old}\n"}).edits
        assert [edit.op for edit in edits] in ([], ["add"])


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
def test_lines_that_differ_in_a_value_are_never_taken_for_one(old, new):
    assert not dreams_edits.says_all(new, old)
    assert not dreams_edits.says_all(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Prefers window seats", "prefers window seat"),
        ("Allergic to penicillin (青霉素过敏)", "Allergic to penicillin"),
        ("User likes dark roast coffee in the morning", "User likes dark roast coffee"), ("对花生过敏。", "对花生过敏"),
    ],
)  # fmt: skip
def test_what_is_known_is_not_added_again(old, new):
    assert dreams_edits.says_all(new, old)
    proposal = dream(f"- [durable] {new}", files={**FILES, "USER.md": f"# U\n\n## A\n- {old}\n"})
    assert (proposal.edits, proposal.skipped[0].why) == ((), "known: USER.md:4")


@pytest.mark.parametrize(
    ("name", "after"), [("nb035", 202), pytest.param("nb035", 0, marks=pytest.mark.slow), ("v0_1_5", 0)]
)
@pytest.mark.slow
def test_on_a_real_history_a_second_dream_changes_nothing(tmp_path, name, after):
    from nanomem_tui.agents.archive import parse_history

    paths = sample(name, tmp_path)
    entries = [e for e in parse_history(paths.history.read_bytes(), "history.jsonl")[0] if e.cursor > after]
    files = {key: (paths.workspace / key).read_text() for key in FILES}
    first = RulesDreamer().propose(entries, files)
    now = apply_edits(files, first.edits)
    assert first.edits
    assert not any(" said:" in edit.new for edit in first.edits)
    assert RulesDreamer().propose(entries, now).edits == ()
    assert first == RulesDreamer().propose(entries, files)


words = st.sampled_from("user prefers tea coffee Luna Anna 42 2026-01-01 not is berlin the 用户 喜欢 red".split())
facts = st.lists(words, min_size=1, max_size=7).map(" ".join)


@settings(deadline=None)
@given(st.lists(facts, max_size=8), st.lists(facts, max_size=6))
def test_whatever_comes_a_dream_settles_and_loses_no_detail(old, new):
    files = {"SOUL.md": "", "USER.md": "# U\n" + "".join(f"- {text}\n" for text in old), "memory/MEMORY.md": ""}
    contents = [f"- {text}" for text in new]
    proposal = dream(*contents, files=files)
    after = apply_edits(files, proposal.edits)
    for edit in proposal.edits:
        if edit.op == "replace" and not edit.supersedes:
            assert dreams_edits.unaccounted_details(edit.old, *after.values(), *contents) == ()
    again = dream(*contents, files=after)
    assert not [edit for edit in again.edits if edit.op == "add"]


def test_facts_carry_their_mark_and_cursor():
    found, skipped = facts_of(entry("- [durable] Lives in Bremen\n- [ephemeral] gone\n\n... (truncated)", 7))
    assert [(fact.text, fact.cursor, fact.mark, fact.label) for fact in found] == [
        ("Lives in Bremen", 7, "durable", "person")
    ]
    assert [(line.cursor, line.why) for line in skipped] == [(7, "marked ephemeral")]


def test_a_correction_in_a_conversation_changes_no_line_of_somebody_else():
    files = {**FILES, "memory/MEMORY.md": "# M\n\n## Home\n- Dinner with Luna costs 20 euros\n"}
    after = apply_edits(
        files, dream("- [correction] Sam said: My dinner costs 30 euros, not 20 euros", files=files).edits
    )
    assert "- Dinner with Luna costs 20 euros\n" in after[MEMORY]


def test_the_last_lines_of_an_entry_are_not_those_that_wait():
    things = ("tea", "figs", "plums", "jazz", "chess", "maps", "boats", "bread", "owls", "moss", "elms", "hops")
    assert len(dream("\n".join(f"- User likes {thing}" for thing in things)).edits) == len(things)


def test_the_summary_counts_the_lines_that_the_agent_wanted_kept():
    lines = [Skipped(1, "x", "talk", mark) for mark in ("durable", "durable", "ephemeral", None)]
    assert skipped_summary(lines) == "Skipped 4 lines, 2 of them marked durable"
    lines.append(Skipped(1, "x", "a question", "correction"))
    assert skipped_summary(lines) == "Skipped 5 lines, 1 of them marked correction, 2 marked durable"
    assert skipped_summary(lines[2:3]) == "Skipped 1 line"


def test_marked_lines_that_would_outgrow_the_file_are_refused_not_lost():
    contents = [f"- [permanent] User likes {name} most of all" for name in ("figs", "jazz", "maps")]
    edits = dream(*contents).edits
    size = len(apply_edits(FILES, edits[:2])[USER].encode())
    checked = check(FILES, edits, dict(enumerate(contents, 1)), Limits(max_bytes=size))
    assert (len(checked.edits), [r.edit for r in checked.refused]) == (2, [edits[2]])


@pytest.mark.slow
def test_dreams_write_the_same_in_every_process(tmp_path):
    program = (
        "import sys; from pathlib import Path; from nanomem_tui.agents.archive import parse_history\n"
        "from nanomem_tui.dreams.rules import RulesDreamer; folder = Path(sys.argv[1])\n"
        "files = {name: (folder / name).read_text() for name in ('SOUL.md', 'USER.md', 'memory/MEMORY.md')}\n"
        "entries = parse_history((folder / 'memory/history.jsonl').read_bytes(), 'x')[0][:40]\n"
        "print(RulesDreamer(entries).propose(entries, files, steps=100))\n"
    )
    line = [sys.executable, "-c", program, str(sample("nb035", tmp_path).workspace)]
    written = {
        subprocess.run(
            line, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("0", "3")
    }
    (edits,) = written
    assert edits.count("LineEdit(") > 5
