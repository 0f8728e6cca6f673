from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.snapshot_files import LessonLine, dump_lessons, parse_lessons

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LESSONS = st.builds(
    lambda **fields: LessonLine(**fields),
    id=TEXT.filter(bool),
    key=TEXT,
    trigger=TEXT,
    bad_action=TEXT,
    better_action=TEXT,
    scope=st.sampled_from(["session", "global"]),
    session_key=TEXT,
    confidence=st.integers(1, 10),
    hits=st.integers(0, 99),
    enabled=st.booleans(),
    extra=st.dictionaries(st.sampled_from(["mood", "tags"]), st.none() | st.lists(TEXT, max_size=2), max_size=2),
)


def real(samples, home):
    return (samples / home / "home/.nanobot/workspace/memory/LESSONS.jsonl").read_bytes()


@given(st.lists(LESSONS, max_size=4, unique_by=lambda lesson: lesson.id))
def test_lessons_survive_their_file(lessons):
    data = dump_lessons(lessons)
    again = parse_lessons(data, "l")
    assert [lesson._replace(line=0, origin={}) for lesson in again.lessons] == lessons
    assert (again.problems, again.complete) == ((), True)
    assert dump_lessons(again.lessons) == data


def test_the_real_file_comes_back_byte_for_byte(samples):
    data = real(samples, "ramfirst")
    found = parse_lessons(data, "LESSONS.jsonl")
    assert (len(found.lessons), found.problems, found.complete) == (61, (), True)
    assert dump_lessons(found.lessons) == data
    assert [lesson.line for lesson in found.lessons] == list(range(1, 62))


def test_a_torn_last_line_costs_one_lesson_of_sixty_one(samples):
    found = parse_lessons(real(samples, "torn"), "LESSONS.jsonl")
    assert (len(found.lessons), found.complete) == (60, False)
    assert [problem.line for problem in found.problems] == [61]
    assert found.lessons == parse_lessons(real(samples, "ramfirst"), "l").lessons[:60]


def test_a_change_of_one_field_leaves_the_rest_of_its_line():
    line = b'{"mood": 1, "enabled": 1, "id": "a", "hits": "x", "better_action": "b"}\n'
    (lesson,) = parse_lessons(line, "l").lessons
    assert lesson.enabled is True
    assert dump_lessons([lesson]) == line
    assert dump_lessons([lesson._replace(enabled=False)]) == line.replace(b'"enabled": 1', b'"enabled": false')


@pytest.mark.parametrize("line", [b'{"trigger": "x"}', b'{"id": 5}', b"[]", b"\xff", b'{"id": "a"'])
def test_a_line_that_is_no_lesson_makes_the_file_incomplete(line):
    found = parse_lessons(b'{"id": "a"}\n' + line + b'\n{"id": "b"}\n', "l")
    assert [lesson.id for lesson in found.lessons] == ["a", "b"]
    assert not found.complete
    assert found.problems[0].line == 2


def test_an_id_that_comes_twice_is_warned_of():
    found = parse_lessons(b'{"id": "a"}\n{"id": "a"}\n', "l")
    assert (len(found.lessons), found.complete) == (2, True)
    assert found.problems[0].severity == "warning"
