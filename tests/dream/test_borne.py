"""What a model may not make of what it was told, and what it may say in words of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.dream.clauses import of_same
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.guards import check
from nanomem_tui.dream.support import unsupported
from nanomem_tui.language import dates
from tests.dream.dreaming import Dreaming, edit, fact, step, study
from tests.store.git_samples import needs_git

STAMP = "2026-05-04 10:00"

INVENTED = [
    ("- Ana is diabetic", "- [permanent] Ana's mother is diabetic"),
    ("- Ana is diabetic", "- The mother of Ana is diabetic"),
    ("- User is diabetic", "- My mother is diabetic"),
    ("- Kestrel uses PostgreSQL", "- Kestrel's test suite uses PostgreSQL"),
    ("- 小明有糖尿病", "- 小明的妈妈有糖尿病"),
    ("- Ana has twelve cats", "- [durable] Ana has two cats"),
    ("- Ana has 12 cats", "- Ana has two cats and twelve fish"),
    ("- 小明有十二只猫", "- 小明有两只猫"),
    ("- 小明有12只猫", "- 小明有两只猫"),
    ("- Pays 900 EUR a month", "- Pays 900 EUR a week"),
    ("- Ana married Bob in Lisbon", "- [durable] Ana met Bob in Lisbon"),
    ("- Ana hates Lisbon", "- Ana moved to Lisbon"),
    ("- Ana likes Porto", "- Ana visited Porto"),
    ("- Ana is allergic to milk", "- Ana is allergic to nuts"),
    ("- Ana is allergic to tea", "- Ana likes tea\n- Ana is allergic to nuts"),
    ("- Deploy on Friday", "- [permanent] Deploy on Friday only if Tom approves"),
    ("- Deploy on Friday", "- Deploy on Friday only after Tom approves"),
    ("- Deploy on Friday", "- Deploy on Friday, but only with Tom"),
    ("- Eats cheese", "- Eats cheese except Brie"),
    ("- 周五部署", "- 只有小明同意才能周五部署"),
    ("- 周五部署", "- 除非下雨，否则周五部署"),
    ("- Bob pays 900 EUR", "- [durable] Ana pays 900 EUR\n- [durable] Bob pays 300 EUR"),
    ("- 小明在上海打了李雷", "- [durable] 小明在上海见了李雷"),
    ("- 李雷打了小明", "- 小明打了李雷"),
    ("- The port is 9090", "- The port is 8080\n- The other port is 9090"),
    ("- Ana has three cats", "- Ana has two cats; Bob has three cats"),
    ("- สมชายเกลียดกรุงเทพ", "- [durable] สมชายไปกรุงเทพ"),
    ("- Ana lives in Porto", "- Ana moved from Porto to Lisbon"),
    ("- Has a red bicycle", "- Sold the red bicycle"),
    ("- Not allergic to penicillin", "- Stopped taking penicillin because she is allergic to it"),
    ("- Moved to Lisbon in 2019", "- Moved to Lisbon in 2021"),
    ("- Ana eats only fish", "- Ana eats fish"),
]

NOT_TAKEN_BACK = [
    ("- Name: Ana", "- [durable] Ana no longer eats meat"),
    ("- Name: Ana", "- [durable] Ana moved to Lisbon from Porto"),
    ("- Allergic to penicillin", "- Ana stopped taking penicillin because she is allergic to it"),
    ("- Allergic to penicillin", "- Ana stopped taking it, allergic to penicillin"),
    ("- Allergic to penicillin", "- Ana no longer sees Dr Wu about penicillin"),
    ("- Allergic to penicillin", "- Ana discussed penicillin with Dr Wu"),
    ("- Works at Acme", "- Ana no longer cycles to Acme"),
    ("- Works at Acme as a chemist", "- Ana no longer works at Acme on Mondays"),
    ("- Works at Acme", "- Ana no longer works at Acme on Mondays"),
    ("- Works at Acme", "- Ana works at Acme over summer"),
    ("- Lives in Porto", "- Ana moved to Porto"),
    ("- Lives in Porto", "- Ana's son no longer lives in Porto"),
    ("- สมชายชอบชา", "- สมชายไม่ชอบกาแฟ"),
]

HONEST = [
    ("", "- Lives in Lisbon (since 2026-05)", "- [durable] I moved to Lisbon last week"),
    ("- Lives in Porto", "- Lives in Lisbon (since 2026-05)", "- [durable] I moved to Lisbon last week"),
    ("- Lives in Porto", "- Lives in Lisbon", "- Ana moved to Lisbon from Porto"),
    ("", "- Has two cats", "- I have 2 cats"),
    ("", "- Company has 12 employees", "- My company has twelve employees"),
    ("", "- Works as a nurse", "- I'm a nurse"),
    ("", "- Works at Acme", "- I started a new job at Acme in May"),
    ("", "- Prefers short replies", "- Please keep your replies short, I like that most"),
    ("", "- Birthday: 3 March", "- My birthday is on March 3rd"),
    ("", "- Moved to Graz on 2025-03-02", "- Moved to Graz on 2 March 2025"),
    ("", "- Mother is diabetic", "- My mother is diabetic"),
    ("", "- Ana's mother is diabetic", "- The mother of Ana is diabetic"),
    ("", "- Kestrel's test suite uses PostgreSQL", "- Kestrel's test suite uses PostgreSQL now"),
    ("", "- Allergic to nuts and milk", "- I am allergic to nuts\n- I am allergic to milk"),
    ("", "- Deploy on Friday only if Tom approves", "- Deploy on Friday only if Tom approves"),
    ("", "- Runs each morning", "- I run every morning"),
    ("", "- Speaks Portuguese", "- I spoke Portuguese as a child"),
    ("", "- Owns a Tesla", "- I bought a Tesla"),
    ("", "- Goal: run a marathon", "- I want to run a marathon"),
    ("", "- Bob pays 300 EUR a month", "- Ana pays 900 EUR a month\n- Bob pays 300 EUR a month"),
    ("", "- Wife: Clara", "- My wife is called Clara"),
    ("", "- Kestrel uses PostgreSQL", "- Kestrel switched to PostgreSQL from MySQL"),
    ("", "- Dog named Rex", "- We have a dog called Rex"),
    ("", "- 有两只猫", "- 我有2只猫"),
    ("", "- 小明有十二只猫", "- 小明养了12只猫，小明有十二只猫"),
    ("", "- 住在北京", "- 我上个月搬到北京了"),
    ("", "- 小明在上海见了李雷", "- 小明昨天在上海见了李雷"),
    ("", "- 偏好喝茶", "- 我最喜欢喝茶"),
    ("", "- 只有小明同意才能周五部署", "- 只有小明同意才能周五部署"),
    ("", "- 用户在柏林工作", "- 我在柏林工作"),
    ("", "- 女儿叫米娅，6岁", "- 我女儿叫米娅，今年六岁"),
    ("", "- Works as a nurse at Charité", "- I am a nurse at the Charité"),
    ("", "- Sister: Eva (Graz)", "- My sister Eva lives in Graz"),
    ("", "- 妈妈有糖尿病", "- 我妈妈有糖尿病"),
    ("", "- สมชายไปกรุงเทพ", "- [durable] สมชายไปกรุงเทพ"),
    ("- สมชายชอบชา", "", "- สมชายไม่ชอบชา"),
    ("- Works at Acme", "", "- Ana left Acme in March"),
    ("- Lives in Porto", "", "- Ana moved from Porto to Lisbon"),
    ("- Allergic to penicillin", "", "- I am no longer allergic to penicillin"),
    ("- Has a red bicycle", "", "- I sold the red bicycle to Tom"),
    ("- 有一辆红色自行车", "", "- 我上个月卖掉了一辆红色自行车"),
    ("- 住在上海", "", "- 我不再住在上海了"),
]


def why(old: str, new: str, said: str) -> str:
    op: Any = "replace" if old and new else "remove" if old else "add"
    told = f"{STAMP}\n{said}\n{dates.absolute(said, STAMP)}"
    return unsupported(LineEdit(op, "USER.md", old=old, new=new, evidence=(1,)), told, "2026-05-04", "", "Ana")


@pytest.mark.parametrize(("new", "said"), INVENTED)
def test_what_was_told_of_another_in_another_number_or_under_a_condition_waits(new: str, said: str) -> None:
    assert why("", new, said).startswith("the entries that it cites ")


@pytest.mark.parametrize(("old", "said"), NOT_TAKEN_BACK)
def test_a_line_stays_that_no_clause_takes_back(old: str, said: str) -> None:
    assert why(old, "", said).startswith("the entries that it cites ")


@pytest.mark.parametrize(("old", "new", "said"), HONEST)
def test_an_honest_edit_in_other_words_passes(old: str, new: str, said: str) -> None:
    assert why(old, new, said) == ""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Ana is diabetic", "Ana is diabetic now", True),
        ("Ana is diabetic", "Ana's mother is diabetic", False),
        ("Ana's mother is diabetic", "The mother of Ana is diabetic", True),
        ("is diabetic", "My mother is diabetic", False),
        ("Kestrel uses Redis", "Kestrel's test suite uses Redis", False),
        ("Port: 8080", "The staging server port is 8080", False),
        ("小明有糖尿病", "小明的妈妈有糖尿病", False),
        ("小明有糖尿病", "小明现在有糖尿病", True),
    ],
)
def test_whether_two_statements_are_of_the_same_one(one: str, other: str, same: bool) -> None:
    assert of_same(one, other) == same


@pytest.mark.parametrize(
    ("text", "old", "goes"),
    [
        ("# User\n- a\n", "# User", False),
        ("# User\n\n## Facts\n- a\n", "# User", False),
        ("# User\n- a\n\n## Old\n\n## Facts\n- b\n", "## Old", True),
        ("# User\n- Kestrel:\n  - port 8080\n", "- Kestrel:", False),
        ("# User\n- Kestrel\n- Falcon\n- c\n", "- Kestrel", True),
        ("# User\n\n**Ana**\n\n- likes fish\n", "**Ana**", False),
        ("# User\nAllergies:\n- nuts\n", "Allergies:", False),
    ],
)
def test_a_title_goes_only_when_nothing_stands_under_it(text: str, old: str, goes: bool) -> None:
    gone = LineEdit("remove", "USER.md", line=text.split("\n").index(old) + 1, old=old, evidence=(1,))
    checked = check({"USER.md": text}, [gone], {1: "all of it is gone: Kestrel, Ana, Allergies, User, Old"})
    assert [one.why for one in checked.refused] == ([] if goes else ["lines stand under it"])


@pytest.mark.parametrize(("lines", "go"), [(1, 1), (3, 1), (4, 1), (5, 2), (7, 2), (20, 5)])
def test_of_a_small_file_not_half_may_go(lines: int, go: int) -> None:
    text = "# User\n" + "".join(f"- thing {number}\n" for number in range(lines))
    gone = [LineEdit("remove", "USER.md", old=f"- thing {number}", evidence=(1,)) for number in range(lines)]
    checked = check({"USER.md": text}, gone, {1: " ".join(map(str, range(lines)))})
    assert len(checked.edits) == go


@needs_git
def test_in_a_dream_the_invented_waits_and_the_honest_is_written(tmp_path: Path) -> None:
    said = ("- Ana's mother is diabetic", "- Ana has two cats", "- Ana no longer eats meat", "- I moved to Lisbon")
    user = "# User\n- Name: Ana\n- Likes tea\n- Lives in Porto\n"
    bad = [
        edit("add", 21, new="- Ana is diabetic"), edit("add", 22, new="- Ana has twelve cats"),
        edit("remove", 23, line=2, old="- Name: Ana"), edit("remove", 23, line=1, old="# User"),
    ]  # fmt: skip
    good = [
        edit("replace", 24, line=4, old="- Lives in Porto", new="- Lives in Lisbon", supersedes="Porto"),
        edit("add", 22, new="- Has two cats"),
    ]
    on = Dreaming(tmp_path, said, study(fact("all of it", 21, 22, 23, 24)), step(*bad, *good), step())
    on.bench.paths.user.write_text(user)
    result = on.run(max_iterations=30)
    assert on.user == "# User\n- Name: Ana\n- Likes tea\n- Lives in Lisbon\n- Has two cats\n"
    assert len(result.refused) == len(on.bench.review.waiting()) == len(bad)
