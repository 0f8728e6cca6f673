"""What is newer takes the place of the line that it can mean; what may be another's, or beside it, takes none."""

import pytest

from nanomem_tui.dreams.edits import apply_edits
from nanomem_tui.dreams.guards import check
from tests.dreams.pipeline import Bench
from tests.dreams.test_rules import dream
from tests.store.git_samples import needs_git, small

SOUL, USER, MEMORY = "SOUL.md", "USER.md", "memory/MEMORY.md"


def files(user="", memory=""):
    return {SOUL: "# Soul\n", USER: f"# User\n\n{user}\n", MEMORY: f"# Long-term Memory\n\n{memory}\n"}


@pytest.mark.parametrize(
    ("file", "text", "said", "old", "new"),
    [
        (MEMORY, "## Notes\n- City: Lisbon", "City: Porto", "- City: Lisbon", "- City: Porto"),
        (USER, "## Identity\n- City: Lisbon", "City: Porto", "- City: Lisbon", "- City: Porto"),
        (USER, "## Identity\n- **City**: Lisbon", "**City**: Porto", "- **City**: Lisbon", "- **City**: Porto"),
        (USER, "## 身份\n- 姓名：王芳\n- 年龄：32", "年龄：33", "- 年龄：32", "- 年龄：33"),
        (MEMORY, "## Notes\n- Budget: 5000 EUR", "Budget: 9000 EUR", "- Budget: 5000 EUR", "- Budget: 9000 EUR"),
        (MEMORY, "## Contacts\n- Bob's phone: 555-1234\n- Zed's phone: 555-8888", "Bob's phone: 555-9999",
         "- Bob's phone: 555-1234", "- Bob's phone: 555-9999"),
        (MEMORY, "## Notes\n- Backup to the NAS every Friday", "Backup is every Tuesday now, not Friday",
         "- Backup to the NAS every Friday", "- Backup to the NAS every Tuesday"),
        (MEMORY, "## Notes\n- CI runs on Jenkins", "CI: moved from Jenkins to Buildkite", "- CI runs on Jenkins",
         "- CI runs on Buildkite"),
        (MEMORY, "## Notes\n- Head of the lab is Ms Bauer", "Head of the lab is Mr Osei now, not Ms Bauer",
         "- Head of the lab is Ms Bauer", "- Head of the lab is Mr Osei now"),
        (MEMORY, "## Notes\n- The contract for the lifts is with Kone",
         "The contract is with Otis since May, not with Kone",
         "- The contract for the lifts is with Kone", "- The contract for the lifts is with Otis since May"),
    ],
)  # fmt: skip
def test_what_is_newer_takes_the_place_of_the_one_line_that_can_be_meant(file, text, said, old, new):
    there = files(**{"user" if file == USER else "memory": text})
    proposal = dream(f"- [correction] {said}", files=there)
    assert [(edit.op, edit.file, edit.old, edit.new) for edit in proposal.edits] == [("replace", file, old, new)]
    assert proposal.refused == ()
    checked = check(there, proposal.edits, {1: said})
    assert checked.refused == ()
    again = dream(f"- [correction] {said}", files=dict(checked.files))
    assert (again.edits, again.refused) == ((), ())


def test_an_unmarked_line_that_says_which_value_is_wrong_corrects_the_one_line_that_has_it():
    there = files(memory="## Projects\n- Premio tower: 16 floors, completed 2015, developer Alpha Property")
    proposal = dream("- Premio tower developer corrected: Beta Group (not Alpha Property)", files=there)
    [edit] = proposal.edits
    assert edit.new == "- Premio tower: 16 floors, completed 2015, developer Beta Group"


@pytest.mark.parametrize(
    ("field", "said", "waits"),
    [
        ("- **Name**: Alex", "[permanent] User's name is Alex (Aleksei)", True),
        ("- **Name**: Alex", "[permanent] The user is called Alex", False),
        ("- 姓名：王芳", "[permanent] 用户名叫王芳", False),
        ("- Имя: Алекс", "[permanent] Пользователя зовут Алекс", False),
    ],
)
def test_the_name_of_the_owner_stands_once(field, said, waits):
    proposal = dream(f"- {said}", files=files(user=f"## Basics\n{field}"))
    assert proposal.edits == ()
    assert [one.why.startswith("it may repeat") for one in proposal.refused] == [True] * waits


def test_a_row_of_a_table_gets_the_new_value_in_its_cell():
    table = "## Costs\n| What | Price | When |\n|---|---|---|\n| Piano lessons | 180 EUR | weekly |"
    (edit,) = dream("- [correction] Piano lessons cost 200 EUR now, not 180 EUR", files=files(memory=table)).edits
    assert (edit.op, edit.old, edit.new) == (
        "replace", "| Piano lessons | 180 EUR | weekly |", "| Piano lessons | 200 EUR | weekly |",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("user", "memory", "said"),
    [
        ("", "## Falcon\n- Deadline: 2026-12-20\n\n## Sparrow\n- Deadline: 2026-12-25", "Deadline: 2027-01-15"),
        ("- Timezone: Europe/London", "## Notes\n- Timezone: Europe/Paris", "Timezone: Asia/Tokyo"),
    ],
)
def test_where_more_than_one_line_can_be_meant_the_new_one_waits(user, memory, said):
    proposal = dream(f"- [durable] {said}", files=files(user, memory))
    assert proposal.edits == ()
    (held,) = proposal.refused
    assert (held.edit.op, held.edit.new) == ("add", f"- {said}")
    assert held.why.startswith("it may contradict “")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Bob's phone: 555-1234", "Zed's phone: 555-8888"), ("Bob's phone: 555-1234", "Phone: 555-8888"),
        ("Phone: 555-1234", "Bob's phone: 555-8888"), ("Bob's city: Rome", "City: Porto"),
        ("Anna lives in Berlin", "Ben lives in Munich"), ("Anna lives in Berlin", "Anna works at ACME"),
        ("年龄：32", "女儿年龄：5"), ("年龄：32", "韩梅梅的年龄：40"), ("用户30岁", "女儿5岁"),
        ("Falcon deadline: 2026-12-20", "Sparrow deadline: 2027-01-15"),
        ("Falcon deadline: 2026-12-20", "Falcon budget: 9000 EUR"), ("Python version 3.11", "Node version 20.1"),
        ("Languages: English", "Languages: French"), ("Allergies: penicillin", "Allergies: peanuts"),
        ("Note: buy milk", "Note: pay rent"), ("Luna is a cat", "Luna is seven years old"),
        ("Goal: run 5 km", "Goal: run 10 km"), ("Likes tea", "Likes coffee"),
        ("City: Lisbon (until 2019)", "City: Porto"), ("City: Lisbon", "Former city: Porto"),
        ("City: Lisbon", "City: maybe Porto"), ("City: Lisbon", "User lived in Porto"),
        ("City: Lisbon", "Home town: Porto"),
        ("Visited Rome in 2019", "Visited Rome in 2021"),
        ("Ran 5 km with Jo", "Ran 10 km with Jo"), ("Meets Anna on 3 May", "Meets Anna on 4 May"),
        ("Ticket 12 is closed", "Ticket 13 is closed"),
        ("周三接女儿放学", "周四接女儿放学"),
        ("City: Porto", "Lives in Porto, Portugal"),
    ],
)  # fmt: skip
def test_two_people_two_projects_lists_other_attributes_and_other_times_are_no_rivals(line, said):
    for there in (files(user=f"## Notes\n- {line}"), files(memory=f"## Notes\n- {line}")):
        proposal = dream(f"- [durable] {said}", files=there)
        assert f"- {line}" in "\n".join(apply_edits(there, proposal.edits).values())
        told = [edit.new[2:] for edit in (*proposal.edits, *(one.edit for one in proposal.refused))]
        assert said in [*told, *(one.text for one in proposal.skipped)]


@needs_git
def test_a_person_finds_what_may_contradict_in_the_inbox(tmp_path):
    bench = Bench(small(tmp_path))
    bench.paths.memory_md.write_text("# Long-term Memory\n\n## Bob\n- City: Lisbon\n")
    bench.remember("- [durable] City: Porto", first=21)
    bench.dreams.status()
    bench.dreams.run(dreamer="rules")
    (hunk,) = bench.review.waiting()
    assert (hunk.edit.op, hunk.edit.new, hunk.why) == ("add", "- City: Porto", "it may contradict “City: Lisbon”")
    assert "- City: Lisbon\n" in (bench.texts()["memory/MEMORY.md"] or "")
