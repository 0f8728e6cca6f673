"""Saved questions: read again as they were saved, refused with the line when they cannot be, and free of secrets."""

import pytest

from nanomem_tui.core.errors import BadInput, NotFound
from nanomem_tui.memory.recall import regressions
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.scopes import Audience

QUESTION = Question("what do I drink?", "the menu", Audience("telegram", "42", "ana"), limit=3)


def test_a_saved_question_is_read_again(tmp_path):
    file = tmp_path / "recall" / "saved.jsonl"
    regressions.save(file, QUESTION, ["ltm_1"])
    regressions.save(file, Question("plain"), ["ltm_2", "ltm_3"])
    first, second = regressions.load(file)
    assert (first.question, first.expect, first.line) == (QUESTION, ("ltm_1",), 1)
    assert (second.question, second.expect, second.line) == (Question("plain"), ("ltm_2", "ltm_3"), 2)


def test_a_saved_question_holds_no_secret(tmp_path):
    file = tmp_path / "saved.jsonl"
    key = "ghp_" + "a1B2" * 9
    saved = regressions.save(file, Question(f"where is {key} used?", f"I said {key}"), ["ltm_1"])
    assert key not in file.read_text()
    assert saved.question == regressions.load(file)[0].question
    assert saved.question.text.startswith("where is [GitHub token #")
    assert saved.question.text.endswith("] used?")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"message": " ", "expect": ["a"]}', "without a message"),
        ('{"message": "x", "expect": []}', "expects nothing"),
        ('{"message": "x", "expect": ["a"], "limit": 0}', "limit"),
        ('{"message": "x", "expect": ["a"], "why": 1}', "unknown field `why`"),
    ],
)
def test_a_question_that_is_none_costs_its_line_and_is_named(tmp_path, line, what):
    file = tmp_path / "saved.jsonl"
    file.write_text(f'{{"message": "x", "expect": ["a"]}}\n{line}\n')
    found, (problem,) = regressions.read(file)
    assert [one.question.text for one in found] == ["x"]
    assert what in problem.what
    assert (problem.where, problem.line) == (str(file), 2)
    assert regressions.load(file) == found
    assert regressions.problems(file) == [problem]
    file.write_text(line)
    with pytest.raises(BadInput, match=what) as caught:
        regressions.read(file)
    assert caught.value.where.endswith(":1")
    assert [problem.line for problem in regressions.problems(file)] == [1]


def test_questions_are_forgotten_by_line_or_item(tmp_path):
    file = tmp_path / "saved.jsonl"
    for number in (1, 2, 3):
        regressions.save(file, Question(f"question {number}"), [f"ltm_{number}", "ltm_9"])
    before = file.read_bytes()
    regressions.forget(file, "2")
    assert [one.question.text for one in regressions.load(file)] == ["question 1", "question 3"]
    assert file.with_name("saved.jsonl.bak").read_bytes() == before
    assert len(regressions.forget(file, "ltm_3")) == 1
    with pytest.raises(NotFound):
        regressions.forget(file, "2")
    assert len(regressions.forget(file, "ltm_9")) == 1
    regressions.save(file, Question("anew"), ["ltm_1"])
    assert [one.question.text for one in regressions.load(file)] == ["anew"]


def test_a_question_that_lost_an_item_says_which_and_why(ws):
    kept, lost = ws.items.add("Ana drinks green tea")[1], ws.items.add("Ana drinks black coffee")[1]
    asked = regressions.Regression(Question("what does Ana drink"), (kept.id, lost.id))
    assert [one.lost for one in regressions.check([asked], ws.recall.ask, ws.recall.why_not)] == [()]
    ws.items.set_enabled([lost.id], enabled=False)
    (found,) = regressions.check([asked], ws.recall.ask, ws.recall.why_not)
    assert found.found == (kept.id,)
    assert [key for key, _ in found.lost] == [lost.id]
    assert "disabled" in found.lost[0][1]
