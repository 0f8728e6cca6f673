"""What the entries say only of a case that may come is no fact: a model's edit that states it as one waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.support import unsupported
from nanomem_tui.dream.witness import SUPPOSED
from tests.dream.dreaming import Dreaming, edit, fact, step, study
from tests.store.git_samples import needs_git

WAITS = [
    ("", "- Lives in Paris", "- If I moved to Paris, I would learn French"),
    ("", "- Moved to Paris", "- If I moved to Paris, I would learn French"),
    ("", "- Learns French", "- If I moved to Paris, I would learn French"),
    ("", "- Learns French in Paris", "- if I moved to Paris I would learn French"),
    ("- Lives in Lisbon", "- Lives in Paris", "- If I moved to Paris, I would need a visa"),
    ("- City: Lisbon", "- City: Paris", "- I might move to Paris"),
    ("", "- Owns a Tesla", "- I might buy a Tesla"),
    ("", "- Bought a Tesla", "- I might buy a Tesla"),
    ("", "- User buys a Tesla", "- [durable] The user may buy a Tesla next year"),
    ("", "- Drives a Tesla", "- Maybe I will get a Tesla to drive"),
    ("", "- Uses Postgres", "- Suppose we use Postgres: what about backups"),
    ("", "- The project uses Postgres", "- Let's say the project uses Postgres"),
    ("", "- Lives in Paris", "- I wish I lived in Paris"),
    ("", "- Uses Postgres", "- We could use Postgres"),
    ("", "- Switching to Postgres", "- Considering switching to Postgres"),
    ("", "- Ana has a dog", "- Imagine that Ana has a dog"),
    ("", "- Ana moved to Porto", "- Ana asked if Ben moved to Porto"),
    ("", "- Postgres supports JSON", "- The user asked if Postgres supports JSON"),
    ("- Has a red bicycle", "", "- I might have sold the red bicycle"),
    ("- Works at Acme", "", "- If I no longer worked at Acme, I would travel"),
    ("", "- Use tabs", "- Use tabs if the file uses tabs"),
    ("", "- Delete the branch", "- Delete the branch unless it is open"),
    ("", "- 住在巴黎", "- 如果我搬到巴黎，就要学法语"),
    ("", "- 用户学法语", "- 如果我搬到巴黎，就要学法语"),
    ("- 住在上海", "- 住在巴黎", "- 要是我搬到巴黎就好了"),
    ("", "- 用户买了特斯拉", "- 我可能会买特斯拉"),
    ("", "- 项目使用 Postgres", "- 假设项目使用 Postgres"),
    ("", "- 用户搬到巴黎", "- 用户考虑搬到巴黎"),
    ("", "- 安娜养狗", "- 也许安娜养狗"),
]

PASSES = [
    ("", "- Use tabs if the file uses tabs", "- [durable] Use tabs if the file uses tabs"),
    ("", "- Use tabs when the file uses tabs", "- Use tabs if the file uses tabs"),
    ("", "- Ask if unsure", "- [permanent] Ask if unsure"),
    ("", "- Asks when unsure", "- Ask if unsure"),
    ("", "- If the file uses tabs, use tabs", "- Use tabs if the file uses tabs"),
    ("", "- Never deploy on Fridays unless urgent", "- Never deploy on Fridays unless urgent"),
    ("", "- Might buy a Tesla", "- I might buy a Tesla"),
    ("", "- Might move to Paris", "- I might move to Paris"),
    ("", "- Wants to buy a Tesla", "- Maybe I want to buy a Tesla"),
    ("", "- Ana lives in Porto", "- Ana lives in Porto and might buy a Tesla"),
    ("", "- Ana lives in Porto", "- Ana lives in Porto; if she moved, she would go to Faro"),
    ("", "- Ana lives in Porto", "- If you ask me, Ana lives in Porto"),
    ("", "- Ana lives in Porto", "- Ana might buy a Tesla. Ana lives in Porto"),
    ("", "- Ana moved to Porto", "- Ana moved to Porto and asks if anyone knows a gym"),
    ("", "- Ana has a studio", "- Ana has a studio, considering it a second home"),
    ("", "- Likes hiking", "- Likes hiking even if it rains"),
    ("", "- Keep replies short", "- Keep replies short if possible"),
    ("", "- Would like short replies", "- I would like short replies"),
    ("", "- Prefers short replies", "- The user would prefer short replies"),
    ("", "- Allergic to nuts", "- Allergic to nuts, so ask if a dish has any"),
    ("", "- Trip to Rome in May", "- The trip to Rome is in May"),
    ("", "- May Lin leads Falcon", "- May Lin leads Falcon"),
    ("", "- Likes Imagine Dragons", "- Likes Imagine Dragons"),
    ("- City: Lisbon", "- City: Porto", "- Moved to Porto; might move on to Faro"),
    ("- Has a red bicycle", "", "- Sold the red bicycle; might buy a blue one"),
    ("", "- 文件用制表符时用制表符", "- 如果文件用制表符，就用制表符"),
    ("", "- 如果文件用制表符就用制表符", "- 如果文件用制表符就用制表符"),
    ("", "- 可能会买特斯拉", "- 我可能会买特斯拉"),
    ("", "- 安娜住在波尔图", "- 安娜住在波尔图，可能会买特斯拉"),
    ("", "- 回答尽可能简短", "- 请尽可能简短地回答"),
    ("- 住在上海", "- 住在北京", "- 用户搬到北京，考虑到工作"),
    ("", "- 时区：欧洲/柏林", "- 时区：欧洲/柏林"),
]


def why(old: str, new: str, said: str) -> str:
    op: Any = "replace" if old and new else "remove" if old else "add"
    return unsupported(LineEdit(op, "USER.md", old=old, new=new, evidence=(1,)), said, "2026-04-03", "")


@pytest.mark.parametrize(("old", "new", "said"), WAITS)
def test_what_is_only_supposed_is_not_written_as_a_fact(old: str, new: str, said: str) -> None:
    assert why(old, new, said) == SUPPOSED


@pytest.mark.parametrize(("old", "new", "said"), PASSES)
def test_what_is_said_beside_it_and_what_keeps_its_condition_passes(old: str, new: str, said: str) -> None:
    assert why(old, new, said) == ""


@needs_git
def test_in_a_dream_it_waits_with_that_reason(tmp_path: Path) -> None:
    said = "- If I moved to Paris, I would learn French\n- [durable] 如果换车，可能会买特斯拉\n- Likes tea"
    bad = [edit("add", 21, new="- Lives in Paris"), edit("add", 21, new="- 买特斯拉")]
    good = [edit("add", 21, new="- Likes tea"), edit("add", 21, new="- Would learn French")]
    on = Dreaming(tmp_path, (said,), study(fact("all of it", 21)), step(*bad, *good))
    result = on.run(max_iterations=20)
    assert [one.new for one in result.edits] == [one["new"] for one in good]
    assert [(one.edit.new, one.why) for one in result.refused] == [(one["new"], SUPPOSED) for one in bad]
    assert sorted(hunk.edit.new for hunk in on.bench.review.waiting()) == sorted(one["new"] for one in bad)
