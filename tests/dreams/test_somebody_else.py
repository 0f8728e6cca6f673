"""What is said of one is never taken for what is said of another: no copy, nothing known, bettered or corrected."""

from collections import Counter

import pytest

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.dreams.edits import LineEdit, has_copy
from nanomem_tui.dreams.guards import check
from nanomem_tui.dreams.rules import RulesDreamer

SOUL, USER, MEMORY = "SOUL.md", "USER.md", "memory/MEMORY.md"


def files(memory="## Facts\n", user=""):
    return {SOUL: "# Soul\n", USER: f"# User\n\n{user}\n", MEMORY: f"# Memory\n\n{memory}"}


def dreamt(there, *said, steps=0):
    """What the Dreamer proposes, and the files after what the guards let through of it."""
    entries = [HistoryEntry(at, "2026-05-01 10:00", f"- {one}") for at, one in enumerate(said, 1)]
    proposal = RulesDreamer(entries).propose(entries, there, steps=steps)
    checked = check(there, proposal.edits, {entry.cursor: entry.content for entry in entries}, today="2026-05-01")
    return proposal, dict(checked.files)


def kept(said, proposal, after):
    """Whether what was said is in a file, or waits for a person."""
    told = [line for text in after.values() for line in text.split("\n")]
    told += [refusal.edit.new for refusal in proposal.refused]
    return any(said.rstrip(".") in line for line in told)


def lines(there):
    return [line for text in there.values() for line in text.split("\n") if line.strip()]


NAMES = "Tom Eva Bob Zoe Max Ida Leo Mia Ned Amy Kim Joe Sue Ray Jan Liv".split()
TEAM = "## Team\n" + "".join(f"- {name}\n  - vegetarian\n  - office 3rd floor\n" for name in NAMES)


@pytest.mark.parametrize(
    "memory",
    [
        TEAM,
        "**Ana**\n- likes fish and chips on Fridays\n\n**Bob**\n- likes fish and chips on Fridays\n",
        "Ana:\n- likes fish and chips on Fridays\n\nBob:\n- likes fish and chips on Fridays\n",
        "## Ana\n- likes fish and chips on Fridays\n\n## Bob\n- likes fish and chips on Fridays\n",
        "## Steps\n1. Stop the server\n2. Copy the files of the server\n3. Stop the server\n",
        "## Steps\n1) Stop the server\n1) Stop the server\n",
        "## Allergies\n- Ana\n  - nuts\n- Bob\n  - nuts\n",
        "## Staff\n- Ana\n  - Lab\n    - nuts\n  - Home\n    - nuts\n",
        "## Staff\n- Ana\n\n  - nuts\n- Bob\n\n  - nuts\n",
        "## Case\n- US visa of Ana until further notice\n- us visa of Ana until further notice\n",
        "```\n- alpha is the host of staging\n- alpha is the host of staging\n```\n",
        "<!--\n- alpha is the host of staging\n- alpha is the host of staging\n-->\n",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 1 | 2 |\n",
        "- [ ] call Ana\n- [ ] call Ana\n",
    ],
)
def test_the_same_words_under_another_parent_are_no_copy_in_however_many_dreams(memory):
    there = files(memory)
    for number in range(5):
        before = Counter(lines(there))
        _, there = dreamt(there, f"[permanent] Zed bought {number + 2} mugs", steps=10)
        assert not before - Counter(lines(there))
    assert all(f"Zed bought {number + 2} mugs" in "".join(there.values()) for number in range(5))


@pytest.mark.parametrize(
    ("memory", "left"),
    [
        ("## Ana\n- likes fish\n- sings\n- likes fish\n\n## Bob\n- likes fish\n", 2),
        ("- Ana\n  - nuts\n  - nuts\n- Bob\n  - nuts\n", 2),
        ("**Ana**\n- nuts\n- **nuts**.\n", 1),
    ],
)
def test_a_copy_in_the_same_list_goes(memory, left):
    _, there = dreamt(files(memory), "[permanent] Zed bought 3 mugs", steps=10)
    assert there[MEMORY].count("likes fish" if "fish" in memory else "nuts") == left


def test_a_line_of_another_is_no_copy_for_the_guards_either():
    there = files("**Ana**\n- likes fish\n\n**Bob**\n- likes fish\n- likes fish\n")
    assert not has_copy(there[MEMORY], LineEdit("remove", MEMORY, line=4, old="- likes fish"))
    assert has_copy(there[MEMORY], LineEdit("remove", MEMORY, line=7, old="- likes fish"))


BOTH = [
    ("User is diabetic", "[permanent] User's mother is diabetic"),
    ("User's mother is diabetic", "[permanent] User is diabetic"),
    ("Diabetic", "[permanent] Diabetic mother"),
    ("Ana is vegetarian", "[permanent] Ana's son is vegetarian"),
    ("Ana's mother is diabetic", "[permanent] Ana is diabetic"),
    ("Tom works at Siemens", "[permanent] Tom's wife works at Siemens too"),
    ("Tom works at Siemens", "[permanent] Tom works at Siemens' competitor"),
    ("Kestrel uses PostgreSQL", "[permanent] Kestrel's test suite uses PostgreSQL"),
    ("Kestrel uses PostgreSQL", "[permanent] The Kestrel test suite uses PostgreSQL"),
    ("The Kestrel test suite uses PostgreSQL", "[permanent] Kestrel uses PostgreSQL"),
    ("Tom thinks that Eva likes sushi", "[permanent] Eva likes sushi"),
    ("Eva likes sushi", "[permanent] Tom thinks that Eva likes sushi"),
    ("Eva likes sushi, Tom says", "[permanent] Eva likes sushi"),
    ("Eva likes sushi", "[permanent] Eva likes sushi, according to Tom"),
    ("Ana wants to move to Lisbon", "[permanent] Ana moved to Lisbon"),
    ("Bob is allergic to nuts only when he is tired", "[permanent] Bob is allergic to nuts"),
    ("Bob eats meat", "[permanent] Bob eats meat unless Ana cooks"),
    ("Bob is diabetic (suspected)", "[permanent] Bob is diabetic"),
    ("Ana likes black", "[permanent] Ana likes black tea"),
    ("Ana has cats", "[permanent] Ana has a cat allergy"),
    ("Ana is employed by Lyft", "[permanent] Ana is unemployed by Lyft"),
    ("Ana uninstalled the updates of Kestrel", "[permanent] Ana installed the updates of Kestrel"),
    ("Knows C++", "[permanent] Knows C"),
    ("Freezer runs at -18 degrees", "[permanent] Freezer runs at 18 degrees"),
    ("Response is < 50 ms on alpha", "[permanent] Response is > 50 ms on alpha"),
    ("用户喜欢咖啡厅", "[permanent] 用户喜欢咖啡"),
    ("用户的母亲对花生过敏", "[permanent] 用户对花生过敏"),
    ("用户对花生过敏", "[permanent] 用户的母亲对花生过敏"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), BOTH)
def test_what_is_said_of_another_or_otherwise_is_neither_known_nor_better(line, said):
    told = said.partition("] ")[2]
    for there in (files(f"## Facts\n- {line}\n"), files(user=f"- {line}\n")):
        proposal, after = dreamt(there, said)
        assert f"- {line}" in lines(after)
        assert kept(told, proposal, after)
        assert dreamt(after, said)[1] == after


@pytest.mark.parametrize(
    "memory",
    ["## People\n- Bob\n  - vegetarian\n", "## Bob\n- Vegetarian\n", "**Bob**\n- Vegetarian\n", "Bob:\n- Vegetarian\n"],
)  # fmt: skip
@pytest.mark.parametrize("said", ["[permanent] Vegetarian", "[permanent] Vegetarian since 2019"])
def test_what_stands_under_a_name_is_not_known_of_the_user(memory, said):
    there = files(memory, "- Name: Ana\n")
    proposal, after = dreamt(there, said)
    assert not Counter(lines(there)) - Counter(lines(after))
    assert kept(said.partition("] ")[2], proposal, after)
    assert dreamt(after, said)[1] == after


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("User likes tea and coffee", "Likes tea"), ("Ana is diabetic (type 1)", "Ana is diabetic."),
        ("Ana now lives in Porto", "Ana lives in Porto"),
    ],
)  # fmt: skip
def test_what_is_the_same_of_the_same_one_is_known(line, said):
    there = files(user=f"- {line}\n- Has a garden\n")
    proposal, after = dreamt(there, f"[permanent] [USER] {said}")
    assert (after, proposal.refused) == (there, ())


OTHERS = [
    ("Clara is allergic to peanuts", "[correction] Tom is allergic to shrimps, not peanuts"),
    ("The staging server port is 8080", "[correction] The production server port is now 9090, not 8080"),
    ("The database of Kestrel is PostgreSQL 15",
     "[permanent] The database of Falcon is now MySQL 8, not PostgreSQL 15"),
    ("Ana works at Acme", "[correction] Bob works at Initech, not Acme"),
    ("Works at Acme", "[correction] Bob works at Initech, not Acme"),
    ("Lives in Porto", "[permanent] User's brother now lives in Lisbon, not Porto"),
    ("Lives in Porto", "[correction] Bob lives in Lisbon, not Porto"),
    ("Ana's sister is called Maria", "[permanent] Ana's dog is called Rex, not Maria"),
    ("Prefers email", "[permanent] The user's boss prefers phone calls, not email"),
    ("Prefers email messages", "[permanent] The user's boss prefers phone calls, not email messages"),
    ("Uses VS Code", "[permanent] Bob uses Zed instead of VS Code"),
    ("Uses VS Code extensions", "[permanent] Uses Zed instead of VS Code"),
    ("Ana's daughter, born 1990-04-12", "[correction] Ana's birthday is 1990-04-13, not 1990-04-12"),
    ("Anna, sister, married 1990-04-12", "[correction] Anna's birthday is 1990-04-13, not 1990-04-12"),
    ("Ana's mother works at Acme", "[permanent] Ana no longer works at Acme"),
    ("Ana works at Acme", "[permanent] Ana's mother no longer works at Acme"),
    ("Ana's sister has 2 cats", "[permanent] Ana has 3 cats"),
    ("Ana: mother has 2 cats", "[permanent] Ana has 3 cats"),
    ("Ana's mother is allergic to nuts", "[correction] Ana is not allergic to nuts"),
    ("Ana is allergic to nuts", "[correction] Ana's mother is not allergic to nuts"),
    ("小明住在上海", "[correction] 小红住在北京，不是上海"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), OTHERS)
def test_a_correction_changes_no_line_of_another(line, said):
    told = said.partition("] ")[2]
    for there in (files(f"## Facts\n- {line}\n"), files(user=f"- {line}\n"), files(f"## Notes\n\n- x 1\n- {line}\n")):
        proposal, after = dreamt(there, said)
        assert f"- {line}" in lines(after)
        assert kept(told, proposal, after)
        assert dreamt(after, said)[1] == after


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("## Bob\n- City: Lisbon\n", "[correction] City is Porto, not Lisbon"),
        ("- Bob\n  - City: Lisbon\n", "[correction] City is Porto, not Lisbon"),
        ("Bob:\n- Office: room 4.12\n", "[correction] Office is room 5.01"),
        ("**Bob**\n- Uses VS Code\n", "[permanent] Uses Zed instead of VS Code"),
        ("**Bob**\n- Eats meat\n", "[correction] User no longer eats meat"),
        ("**Bob**\n- Allergic to nuts\n", "[correction] User is not allergic to nuts"),
        ("## Falcon\n- srv3 has 16 GB\n", "[correction] srv3 has 32 GB"),
    ],
)
def test_a_correction_changes_no_line_under_the_name_of_another(memory, said):
    there = files(memory)
    proposal, after = dreamt(there, said)
    assert not Counter(lines(there)) - Counter(lines(after))
    assert all(refusal.edit.op in ("remove", "add") for refusal in proposal.refused)


@pytest.mark.parametrize(
    ("line", "said", "now"),
    [
        ("Clara is allergic to peanuts", "[correction] Clara is allergic to shrimps, not peanuts",
         "Clara is allergic to shrimps, not peanuts"),
        ("The staging server port is 8080", "[correction] The staging server port is now 9090, not 8080",
         "The staging server port is 9090"),
        ("Ana works at Acme", "[permanent] Ana now works at Initech, not Acme", "Ana works at Initech"),
        ("Ana works at Acme as a nurse", "[correction] Ana works at Initech, not Acme",
         "Ana works at Initech as a nurse"),
        ("Kestrel uses PostgreSQL 15; the migration must be approved by the board and customers told beforehand",
         "[permanent] Kestrel now uses PostgreSQL 17, not PostgreSQL 15",
         "Kestrel uses PostgreSQL 17; the migration must be approved by the board and customers told beforehand"),
    ],
)  # fmt: skip
def test_of_the_same_one_the_newer_takes_the_place_of_the_line_or_waits(line, said, now):
    for there in (files(f"## Facts\n- {line}\n"), files(user=f"- {line}\n")):
        proposal, after = dreamt(there, said)
        told = said.rpartition("] ")[2].partition(", not ")[0]
        changed = f"- {now}" in lines(after) or f"- {told}" in lines(after)
        assert (changed and f"- {line}" not in lines(after)) or (proposal.refused and f"- {line}" in lines(after))
        assert dreamt(after, said)[1] == after


BESIDE = [
    ("Lives in Porto", "[permanent] User lives in constant fear of spiders", False),
    ("Works at Acme", "[permanent] User works at home on Fridays", False),
    ("Works at Acme", "[permanent] User works at Initech on Fridays", True),
    ("Lives in Porto", "[permanent] User lives in Lisbon in summer", True),
    ("Timezone: UTC+1", "[permanent] User's timezone is unknown", False),
    ("City: Lisbon", "[permanent] User's city is noisy at night", True),
    ("Deadline: 2026-12-20", "[permanent] [USER] The deadline is very tight", True),
    ("Lives in Porto, with her mother and two cats, and pays rent herself", "[permanent] User lives in Lisbon", True),
    ("Lives in Porto with her mother", "[permanent] User lives in Lisbon", True),
    ("Works at Acme as a nurse", "[permanent] User works at Initech", True),
    ("Ana has a sister with 2 cats", "[permanent] [USER] Ana has 3 cats", True),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), [(line, said) for line, said, _ in BESIDE])
def test_what_is_so_for_a_while_or_beside_it_takes_no_line_away_unseen(line, said):
    there = files(user=f"- {line}\n")
    proposal, after = dreamt(there, said)
    assert f"- {line}" in lines(after)
    assert kept(said.rpartition("] ")[2], proposal, after)
    assert dreamt(after, said)[1] == after


def test_a_new_line_does_not_come_under_a_name_that_is_not_its_own():
    there = files("## Preferences\n- Likes tea\n\nBob:\n- Likes milk\n\n**Eva**\n- Likes rum\n", "- Name: Ana\n")
    _, after = dreamt(there, "[permanent] [MEMORY] Likes juice")
    assert "## Preferences\n- Likes tea\n- Likes juice\n\nBob:\n- Likes milk\n" in after[MEMORY]
    there = files("## Preferences\n\nBob:\n- Likes milk\n")
    _, after = dreamt(there, "[permanent] [MEMORY] Likes juice")
    assert "## Preferences\n\n- Likes juice\n\nBob:\n- Likes milk\n" in after[MEMORY]


def test_one_dream_or_many_and_again_end_alike():
    said = [
        "[permanent] Kestrel uses PostgreSQL 15; the board approves it",
        "[permanent] Clara is allergic to peanuts",
        "[permanent] Kestrel now uses PostgreSQL 17, not PostgreSQL 15",
        "[correction] Tom is allergic to shrimps, not peanuts",
        "[correction] Clara is allergic to milk, not peanuts",
        "[permanent] Ana's mother is diabetic",
        "[permanent] Ana is diabetic",
        "[permanent] Ana is diabetic since 2019",
    ]
    entries = [HistoryEntry(at, "2026-05-01 10:00", f"- {one}") for at, one in enumerate(said, 1)]
    ends = []
    for batch in (1, 3, 8, 8):
        there = ends[-1] if ends and batch == 8 and len(ends) == 3 else files()
        for at in range(0, 8, batch):
            edits = RulesDreamer(entries).propose(entries[at : at + batch], there).edits
            there = dict(check(there, edits, {entry.cursor: entry.content for entry in entries}).files)
        ends.append(there)
    assert ends[0] == ends[1] == ends[2]
    assert set(lines(ends[2])) <= set(lines(ends[3]))
