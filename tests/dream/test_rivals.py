"""What contradicts a line takes its place where only that line can be meant, and else a person is told of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanomem_tui.dream.edits import apply_edits
from nanomem_tui.dream.guards import check
from tests.dream.pipeline import Bench
from tests.dream.test_rules import dream
from tests.store.git_samples import needs_git, small

SOUL, USER, MEMORY = "SOUL.md", "USER.md", "memory/MEMORY.md"


def files(user: str = "", memory: str = "") -> dict[str, str]:
    return {SOUL: "# Soul\n", USER: f"# User\n\n{user}\n", MEMORY: f"# Long-term Memory\n\n{memory}\n"}


@pytest.mark.parametrize(
    ("file", "text", "said", "old", "new"),
    [
        (MEMORY, "## Notes\n- City: Lisbon", "City: Porto", "- City: Lisbon", "- City: Porto"),
        (USER, "## Identity\n- City: Lisbon", "City: Porto", "- City: Lisbon", "- City: Porto"),
        (USER, "## Identity\n- Name: Ana\n- City: Lisbon", "City is Porto", "- City: Lisbon", "- City: Porto"),
        (USER, "## 身份\n- 姓名：王芳\n- 年龄：32", "年龄：33", "- 年龄：32", "- 年龄：33"),
        (USER, "- 年龄 30", "年龄 31", "- 年龄 30", "- 年龄 31"),
        (USER, "- 年龄30岁", "用户今年31岁", "- 年龄30岁", "- 年龄31岁"),
        (USER, "- 用户30岁", "用户31岁", "- 用户30岁", "- 用户31岁"),
        (USER, "- 所在城市：杭州", "城市：苏州", "- 所在城市：杭州", "- 所在城市：苏州"),
        (USER, "- Age 30", "Age: 31", "- Age 30", "- Age 31"),
        (USER, "- Age: 30", "User is 31 years old", "- Age: 30", "- Age: 31"),
        (USER, "- User is 30 years old", "User is 31 years old", "- User is 30 years old", "- User is 31 years old"),
        (MEMORY, "## Notes\n- Timezone: Europe/London", "Timezone is Asia/Tokyo", "- Timezone: Europe/London",
         "- Timezone: Asia/Tokyo"),
        (MEMORY, "## Falcon\n- Deadline: 2026-12-20\n\n## Sparrow\n- Deadline: 2026-12-25",
         "Falcon deadline: 2027-01-15", "- Deadline: 2026-12-20", "- Deadline: 2027-01-15"),
        (MEMORY, "## Falcon\n- Deadline: 2026-12-20", "The deadline of Falcon is 2027-01-15", "- Deadline: 2026-12-20",
         "- Deadline: 2027-01-15"),
        (MEMORY, "## 猎鹰项目\n- 截止日期：2026-12-20", "猎鹰的截止日期：2027-01-15", "- 截止日期：2026-12-20",
         "- 截止日期：2027-01-15"),
        (MEMORY, "## People\n- Anna lives in Berlin", "Anna lives in Munich", "- Anna lives in Berlin",
         "- Anna lives in Munich"),
        (MEMORY, "## People\n- Luna is 3 years old", "Luna is 4 years old", "- Luna is 3 years old",
         "- Luna is 4 years old"),
        (MEMORY, "## Contacts\n- Bob's phone: 555-1234\n- Zed's phone: 555-8888", "Bob's phone: 555-9999",
         "- Bob's phone: 555-1234", "- Bob's phone: 555-9999"),
        (MEMORY, "## Notes\n- Budget 5000 EUR", "Budget: 9000 EUR", "- Budget 5000 EUR", "- Budget 9000 EUR"),
    ],
)  # fmt: skip
def test_another_value_of_the_same_takes_the_place_of_the_one_line_that_can_be_meant(
    file: str, text: str, said: str, old: str, new: str
) -> None:
    there = files(**{"user" if file == USER else "memory": text})
    proposal = dream(f"- [durable] {said}", files=there)
    assert [(edit.op, edit.file, edit.old, edit.new) for edit in proposal.edits] == [("replace", file, old, new)]
    assert proposal.edits[0].supersedes
    assert proposal.refused == ()
    checked = check(there, proposal.edits, {1: said})
    assert checked.refused == ()
    again = dream(f"- [durable] {said}", files=dict(checked.files))
    assert (again.edits, again.refused) == ((), ())


def test_a_correction_gives_another_room_of_the_same_kind() -> None:
    (edit,) = dream("- [correction] Office is room 5.01", files=files("- Office: room 4.12")).edits
    assert (edit.old, edit.new, edit.supersedes) == ("- Office: room 4.12", "- Office: room 5.01", "room 4.12")


ASKED = [
    ("", "## Bob\n- City: Lisbon", "City: Porto", "- City: Lisbon"),
    ("", "## Bob\n### Contact\n- Age: 40", "Age: 31", "- Age: 40"),
    ("", "## Falcon\n- Deadline: 2026-12-20", "Deadline: 2027-01-15", "- Deadline: 2026-12-20"),
    ("- City: Lisbon", "", "User lives in Porto", "- City: Lisbon"),
    ("- Lives in Lisbon", "", "City: Porto", "- Lives in Lisbon"),
    ("- Lives in Lisbon", "", "Moved to Porto", "- Lives in Lisbon"),
    ("- Deadline: 2026-12-20", "", "[MEMORY] Deadline: 2027-01-15", "- Deadline: 2026-12-20"),
    ("", "## Notes\n- Port: 8080", "Port: 9090", "- Port: 8080"),
    ("", "## Notes\n- Language: English and German", "[MEMORY] Language: French", "- Language: English and German"),
    ("", "## Notes\n- The car is red", "The car is blue", "- The car is red"),
    ("", "## Notes\n- Stand-up is at 9:30", "Stand-up is at 10:00", "- Stand-up is at 9:30"),
]  # fmt: skip


@pytest.mark.parametrize(("user", "memory", "said", "old"), ASKED)
def test_where_it_cannot_be_told_the_new_line_is_kept_and_a_person_asked_about_the_old_one(
    user: str, memory: str, said: str, old: str
) -> None:
    there = files(user, memory)
    proposal = dream(f"- [durable] {said}", files=there)
    told = said.removeprefix("[MEMORY] ")
    assert [(edit.op, edit.new) for edit in proposal.edits] == [("add", f"- {told}")]
    (held,) = proposal.refused
    assert (held.edit.op, held.edit.old, held.edit.evidence) == ("remove", old, (1,))
    assert held.why == f"entry 1 may contradict it: {told}"
    again = dream(f"- [durable] {said}", files=apply_edits(there, proposal.edits))
    assert (again.edits, again.refused) == ((), ())


NESTED = [
    ("## People\n- Bob\n  - City: Lisbon", "- [durable] City: Porto", "add"),
    ("Bob:\n- City: Lisbon", "- [durable] City: Porto", "add"),
    ("**Bob**\n\n- Likes tea\n- City: Lisbon", "- [durable] City: Porto", "add"),
    ("## Notes\n- Identity\n  - City: Lisbon", "User details:\n- [durable] City: Porto", "replace"),
    ("## Falcon\n- Deadline: 2026-12-20", "Falcon:\n- [durable] Deadline: 2027-01-15", "replace"),
    ("- Falcon\n  - Deadline: 2026-12-20\n- Sparrow\n  - Deadline: 2026-12-25",
     "- [durable] Falcon deadline: 2027-01-15", "replace"),
]  # fmt: skip


@pytest.mark.parametrize(("memory", "said", "op"), NESTED)
def test_what_a_line_is_an_entry_of_tells_whose_it_is(memory: str, said: str, op: str) -> None:
    there = files(memory=memory)
    edits = [edit for edit in dream(said, files=there).edits if "City" in edit.new or "eadline" in edit.new]
    assert [edit.op for edit in edits] == [op]
    held = dream(said, files=there).refused
    assert [refusal.edit.op for refusal in held] == (["remove"] if op == "add" else [])


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("- [durable] Trip to Spain in May:\n  - [durable] City: Porto", "- Trip to Spain in May – City: Porto"),
        ("Bob:\n- [correction] City: Porto", "- Bob City: Porto"),
    ],
)
def test_what_a_list_says_of_another_is_written_as_that_and_contradicts_nothing(said: str, new: str) -> None:
    proposal = dream(said, files=files(memory="## Notes\n- City: Lisbon"))
    assert [(edit.op, edit.new) for edit in proposal.edits] == [("add", new)]
    assert proposal.refused == ()


def test_what_two_lists_say_of_two_is_no_contradiction() -> None:
    there = files(memory="## Sparrow\n- Deadline: 2026-12-20")
    proposal = dream("Falcon:\n- [durable] Deadline: 2027-01-15", files=there)
    assert ([edit.op for edit in proposal.edits], proposal.refused) == (["add"], ())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Ana: designer; City: Lisbon", "City: Porto"), ("City: Lisbon", "Ana: designer; City: Porto"),
        ("姓名：王芳，年龄：32", "李雷的同事：韩梅梅，年龄：40"), ("姓名：王芳，年龄：32", "年龄：33"),
    ],
)  # fmt: skip
def test_a_value_that_stands_behind_another_subject_is_named_and_replaces_nothing(line: str, said: str) -> None:
    there = files(memory=f"## Notes\n- {line}")
    proposal = dream(f"- [durable] {said}", files=there)
    assert not [edit for edit in proposal.edits if edit.op != "add"]
    (held,) = proposal.refused
    assert line in (held.edit.old or held.why)
    assert said in (held.edit.new or held.why)


def test_of_a_line_with_more_than_one_value_the_others_stay() -> None:
    there = files("- Timezone: Europe/London; Office: room 4")
    (edit,) = dream("- [durable] Timezone: Asia/Tokyo", files=there).edits
    assert (edit.new, edit.supersedes) == ("- Timezone: Asia/Tokyo; Office: room 4", "Europe/London")
    assert check(there, [edit], {1: "Timezone: Asia/Tokyo"}).refused == ()


SEVERAL = [
    ("", "## Falcon\n- Deadline: 2026-12-20\n\n## Sparrow\n- Deadline: 2026-12-25", "Deadline: 2027-01-15",
     "it may contradict “Deadline: 2026-12-20” and “Deadline: 2026-12-25”"),
    ("", "## Trip\n- City: Rome\n\n## Wife\n- City: Lisbon", "City: Porto",
     "it may contradict “City: Rome” and “City: Lisbon”"),
    ("- Timezone: Europe/London", "## Notes\n- Timezone: Europe/Paris", "Timezone: Asia/Tokyo",
     "it may contradict “Timezone: Europe/London” and “Timezone: Europe/Paris”"),
    ("", "## Notes\n- srv3: 16 GB RAM\n- srv3 backup box with 16 GB", "srv3 has 32 GB",
     "it may contradict “srv3: 16 GB RAM” and “srv3 backup box with 16 GB”"),
]  # fmt: skip


@pytest.mark.parametrize(("user", "memory", "said", "why"), SEVERAL)
def test_where_more_than_one_line_can_be_meant_the_new_one_waits(user: str, memory: str, said: str, why: str) -> None:
    proposal = dream(f"- [durable] {said}", files=files(user, memory))
    assert proposal.edits == ()
    (held,) = proposal.refused
    assert (held.edit.op, held.edit.new, held.why) == ("add", f"- {said}", why)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Bob's phone: 555-1234", "Zed's phone: 555-8888"), ("Bob's phone: 555-1234", "Phone: 555-8888"),
        ("Phone: 555-1234", "Bob's phone: 555-8888"), ("Bob's city: Rome", "City: Porto"),
        ("Anna lives in Berlin", "Ben lives in Munich"), ("Anna lives in Berlin", "Anna works at ACME"),
        ("年龄：32", "女儿年龄：5"), ("年龄：32", "韩梅梅的年龄：40"), ("用户30岁", "女儿5岁"),
        ("Falcon deadline: 2026-12-20", "Sparrow deadline: 2027-01-15"),
        ("Falcon deadline: 2026-12-20", "Falcon budget: 9000 EUR"), ("Python version 3.11", "Node version 20.1"),
        ("Flight to Oslo: 2026-12-28", "Flight to Rome: 2027-01-05"),
        ("Flight to Oslo: 2026-12-28", "Flight from Oslo: 2027-01-05"),
        ("Languages: English", "Languages: French"), ("Allergies: penicillin", "Allergies: peanuts"),
        ("Note: buy milk", "Note: pay rent"), ("Luna is a cat", "Luna is seven years old"),
        ("Goal: run 5 km", "Goal: run 10 km"), ("Likes tea", "Likes coffee"),
        ("City: Lisbon", "City: Porto (until 2019)"), ("City: Lisbon", "City: Porto (formerly)"),
        ("City: Lisbon (until 2019)", "City: Porto"), ("City: Lisbon", "Former city: Porto"),
        ("City: Lisbon", "City: maybe Porto"), ("City: Lisbon", "User lived in Porto"),
        ("年龄 30", "年龄可能 31"), ("City: Lisbon", "Home town: Porto"),
        ("Visited Rome in 2019", "Visited Rome in 2021"),
        ("Ran 5 km with Jo", "Ran 10 km with Jo"), ("Meets Anna on 3 May", "Meets Anna on 4 May"),
        ("Host app-3 ran out of memory", "Host app-4 ran out of memory"),
        ("Ticket 12 is closed", "Ticket 13 is closed"),
        ("Gina: My car is red.", "Gina said: My car is blue."), ("周三接女儿放学", "周四接女儿放学"),
        ("City: Porto", "Lives in Porto, Portugal"),
    ],
)  # fmt: skip
def test_two_people_two_projects_lists_other_attributes_and_other_times_are_no_rivals(line: str, said: str) -> None:
    for there in (files(user=f"## Notes\n- {line}"), files(memory=f"## Notes\n- {line}")):
        proposal = dream(f"- [durable] {said}", files=there)
        assert proposal.refused == ()
        assert f"- {line}" in "\n".join(apply_edits(there, proposal.edits).values())
        assert [edit.op for edit in proposal.edits] == ["add"]


def test_many_values_that_stand_beside_each_other_are_a_list() -> None:
    there = files(memory="## Notes\n- Port: 8080\n- Port: 9090")
    proposal = dream("- [durable] Port: 7070", files=there)
    assert ([edit.op for edit in proposal.edits], proposal.refused) == (["add"], ())


def test_what_an_older_entry_says_is_no_reason_to_ask_about_a_newer_line() -> None:
    there = files(memory="## Bob\n- Deadline: 2027-01-15")
    said = ("- [durable] Deadline: 2026-12-20", "- [durable] Deadline: 2027-01-15")
    assert [refusal.edit.op for refusal in dream(*said, files=there).refused] == []


@needs_git
def test_a_person_finds_the_pair_in_the_inbox_and_decides(tmp_path: Path) -> None:
    bench = Bench(small(tmp_path))
    bench.paths.memory_md.write_text("# Long-term Memory\n\n## Bob\n- City: Lisbon\n")
    bench.remember("- [durable] City: Porto", first=21)
    bench.dreams.status()
    result = bench.dreams.run(dreamer="rules")
    assert [refusal.why for refusal in result.refused] == ["entry 21 may contradict it: City: Porto"]
    (hunk,) = bench.review.waiting()
    assert (hunk.edit.op, hunk.edit.old, hunk.why) == ("remove", "- City: Lisbon", result.refused[0].why)
    text = bench.texts()["memory/MEMORY.md"] or ""
    assert "- City: Lisbon\n" in text
    assert "- City: Porto" in text
