"""What a new entry says otherwise takes the place of the line that it contradicts, and of no other."""

from __future__ import annotations

import pytest

from nanomem_tui.dream.edits import apply_edits
from nanomem_tui.dream.guards import check
from tests.dream.test_rules import dream, one

USER = "# U\n\n## Preferences\n- Prefers window seats\n- Uses VS Code\n- Eats meat\n"
MEMORY = (
    "# M\n\n## People\n- Anna, sister, born 1990-04-12\n- Bob works at ACME\n\n"
    "## Infra\n- srv3: Debian 12, 16 GB RAM, rack 4\n- srv4 has 16 GB\n\n## Notes\n- Owns a bicycle\n"
)
FILES = {"SOUL.md": "# S\n", "USER.md": USER, "memory/MEMORY.md": MEMORY}


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ("User prefers aisle seats now, not window seats", "- Prefers window seats", "- Prefers aisle seats"),
        ("Anna's birthday is 1990-04-13, not 1990-04-12", "- Anna, sister, born 1990-04-12",
         "- Anna, sister, born 1990-04-13"),
        ("srv3 has 32 GB", "- srv3: Debian 12, 16 GB RAM, rack 4", "- srv3: Debian 12, 32 GB RAM, rack 4"),
        ("srv4 has 64 GB now", "- srv4 has 16 GB", "- srv4 has 64 GB"),
        ("Bob no longer works at ACME", "- Bob works at ACME", "- Bob no longer works at ACME"),
        ("User no longer eats meat", "- Eats meat", "- User no longer eats meat"),
        ("Uses Zed instead of VS Code", "- Uses VS Code", "- Uses Zed instead of VS Code"),
    ],
)  # fmt: skip
def test_what_is_contradicted_is_superseded(said: str, old: str, new: str) -> None:
    edit = one(f"- [durable] {said}", files=FILES)
    assert (edit.op, edit.old, edit.new) == ("replace", old, new)
    assert edit.supersedes
    after = apply_edits(FILES, [edit])
    assert dream(f"- [durable] {said}", files=after).edits == ()


@pytest.mark.parametrize(
    "said",
    [
        "srv5 has 32 GB", "srv3 has 500 GB disk", "Carl no longer works at ACME",
        "Carl's birthday is 1990-04-13, not 1990-04-11", "srv3 has 2 disks",
    ],
)  # fmt: skip
def test_what_speaks_of_something_else_is_added(said: str) -> None:
    assert one(f"- [durable] {said}", files=FILES).op == "add"


def test_two_lines_that_could_be_meant_are_left_alone_and_the_new_one_waits() -> None:
    files = {**FILES, "memory/MEMORY.md": f"{MEMORY}- srv3 backup box with 16 GB\n"}
    proposal = dream("- [durable] srv3 has 32 GB", files=files)
    assert proposal.edits == ()
    assert [(held.edit.op, held.edit.new) for held in proposal.refused] == [("add", "- srv3 has 32 GB")]
    assert proposal.refused[0].why.startswith("it may contradict “srv3: Debian 12")


def test_a_section_that_a_person_named_shorter_is_used() -> None:
    (edit,) = dream("- [durable] The staging server is stg-2.example.internal", files=FILES).edits
    assert (edit.file, edit.section) == ("memory/MEMORY.md", "Infra")
    (edit,) = dream("- [durable] Release build takes an hour", files=FILES).edits
    assert edit.section == "Notes"


PENICILLIN = "- Allergic to penicillin (青霉素过敏)"
HEALTH = {**FILES, "USER.md": f"# U\n\n## Health\n{PENICILLIN}\n- Likes coffee, tea and milk\n- Sings\n"}


@pytest.mark.parametrize(
    "said",
    [
        "User is no longer allergic to penicillin; the test on 2025-09-01 was negative.",
        "User is not allergic to penicillin", "Not allergic to penicillin.",
        "User isn't allergic to penicillin any more",
    ],
)  # fmt: skip
def test_a_correction_that_denies_a_line_takes_its_place(said: str) -> None:
    edit = one(f"- [correction] {said}", files=HEALTH)
    assert (edit.op, edit.old, edit.new) == ("replace", PENICILLIN, f"- {said}")
    assert check(HEALTH, [edit], {1: said}).refused == ()
    after = apply_edits(HEALTH, [edit])
    assert dream(f"- [correction] {said}", files=after).edits == ()


@pytest.mark.parametrize(
    ("said", "old"),
    [
        ("[durable] User is not allergic to penicillin", PENICILLIN),
        ("[correction] User does not like coffee", "- Likes coffee, tea and milk"),
        ("User never sings", "- Sings"),
    ],
)
def test_what_denies_a_line_by_the_way_or_in_part_waits(said: str, old: str) -> None:
    proposal = dream(f"- {said}", files=HEALTH)
    assert proposal.edits == ()
    (held,) = proposal.refused
    assert (held.edit.op, held.edit.old, held.edit.new) == ("replace", old, f"- {said.rpartition('] ')[2]}")
    assert held.why.startswith("it denies what a line of USER.md says")


@pytest.mark.parametrize("said", ["User is not allergic to nuts", "User does not like beer", "不喜欢咖啡"])
def test_a_denial_of_something_else_is_added(said: str) -> None:
    assert one(f"- [correction] {said}", files=HEALTH).op == "add"


HOST = "- Jump host: 10.0.8.2 (10.0.4.17 decommissioned)"


@pytest.mark.parametrize(
    ("line", "said", "new"),
    [
        ("- Timezone: Europe/Berlin (was Asia/Shanghai)", "[permanent] Timezone: Asia/Tokyo",
         "- Timezone: Asia/Tokyo (was Asia/Shanghai)"),
        ("- Timezone: Europe/Berlin", "[permanent] Timezone: Asia/Tokyo", "- Timezone: Asia/Tokyo"),
        ("- Deadline: next Friday (as of 2026-03-01)", "[permanent] Deadline: 2026-05-01", "- Deadline: 2026-05-01"),
        (HOST, "[permanent] The jump host is now 10.0.9.9; 10.0.4.17 is decommissioned", ""),
        (HOST, "[permanent] The jump host is now 10.0.9.9", None),
        ("- Dentist: Dr. Lee, born 1970-01-02, (was in Graz)", "[permanent] Dentist: Dr. Wu", None),
    ],
)  # fmt: skip
def test_what_stands_beside_a_value_stays_or_all_of_it_waits(line: str, said: str, new: str | None) -> None:
    files = {**FILES, "USER.md" if "Timezone" in line else "memory/MEMORY.md": f"# T\n\n## Infra\n{line}\n"}
    edits = dream(f"- {said}", files=files).edits
    checked = check(files, edits, {1: said})
    changed = [edit.new for edit in checked.edits if edit.op == "replace"]
    if new is None:
        assert [refusal.edit.old for refusal in checked.refused] == [line]
        assert "nothing accounts for" in checked.refused[0].why
        assert dict(checked.files) == files
    elif new:
        assert changed == [new]
    else:
        assert checked.refused == ()
        assert "10.0.4.17" in checked.files["memory/MEMORY.md"]
