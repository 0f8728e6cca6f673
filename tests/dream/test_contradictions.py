"""What a new entry says otherwise takes the place of the line that it contradicts, and of no other."""

from __future__ import annotations

import pytest

from nanomem_tui.dream.edits import apply_edits
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


def test_two_lines_that_could_be_meant_are_left_alone() -> None:
    files = {**FILES, "memory/MEMORY.md": f"{MEMORY}- srv3 backup box with 16 GB\n"}
    assert one("- [durable] srv3 has 32 GB", files=files).op == "add"


def test_a_section_that_a_person_named_shorter_is_used() -> None:
    (edit,) = dream("- [durable] The staging server is stg-2.example.internal", files=FILES).edits
    assert (edit.file, edit.section) == ("memory/MEMORY.md", "Infra")
    (edit,) = dream("- [durable] Release build takes an hour", files=FILES).edits
    assert edit.section == "Notes"
