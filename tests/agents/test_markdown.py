from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.markdown import (
    Bullet,
    bullets,
    daily_note_name,
    decode,
    dump_mirror_line,
    sections,
)


@given(st.binary(max_size=80))
def test_a_file_without_problems_is_its_text_and_bad_bytes_are_reported(data):
    text, problems = decode(data, "MEMORY.md")
    errors = [problem for problem in problems if problem.severity == "error"]
    assert errors or text.encode() == data
    sections(text)
    bullets(text)


def test_bad_bytes_are_shown_and_named_by_line():
    text, problems = decode(b"a\nb\xffc\r\n\xe4\xb8\n", "USER.md")
    assert text == "a\nb\ufffdc\r\n\ufffd\n"
    assert [(problem.line, problem.what[:9]) for problem in problems] == [(2, "byte 0xFF"), (3, "byte 0xE4")]
    assert decode(b"\xef\xbb\xbfx", "f")[1][0].severity == "warning"
    assert decode(b"a\nb\0\0", "f")[1][0].line == 2


def test_sections_begin_at_their_headings():
    text = "intro\n# One\na\n\n## Two ##\r\nb\r\n```\n# no heading\n```\n#also none\n###### \n"
    found = [(section.title, section.level, section.start_line) for section in sections(text)]
    assert found == [("", 0, 1), ("One", 1, 2), ("Two", 2, 5), ("", 6, 11)]
    assert sections(text)[1].lines == ("a", "")
    assert sections(text)[2].lines == ("b", "```", "# no heading", "```", "#also none")
    assert sections("\n\n") == []


@given(st.text(st.sampled_from("# a\n`~-"), max_size=60))
def test_every_line_is_a_heading_or_in_one_section(text):
    found = sections(text)
    lines = text.split("\n")
    for section in found:
        first = section.start_line if section.level else 0
        assert list(section.lines) == lines[first : first + len(section.lines)]
        if section.level:
            assert lines[section.start_line - 1].startswith("#" * section.level)
    assert sum(len(section.lines) + bool(section.level) for section in found) in (
        len(lines),
        len(lines) - (found[0].start_line - 1 if found else len(lines)),
    )


def test_bullets_are_the_list_lines_outside_of_code():
    text = "- a\n  * b \n\t+ c\n1. d\n12) e\n-no\n```\n- code\n```\n- [x] f\r\n"
    assert bullets(text) == [
        Bullet(1, 0, "a"),
        Bullet(2, 2, "b"),
        Bullet(3, 4, "c"),
        Bullet(4, 0, "d"),
        Bullet(5, 0, "e"),
        Bullet(10, 0, "[x] f"),
    ]


def test_what_stands_in_a_comment_is_neither_heading_nor_list_line():
    text = "# One\n<!-- ## Two\n- x\n-->\n- a <!-- - b -->\n- <!-- old:\n- c\n--> - d\n<!-- - e -->\n- f\n"
    assert [section.title for section in sections(text)] == ["One"]
    assert [bullet.text for bullet in bullets(text)] == ["a <!-- - b -->", "f"]


def test_a_comment_that_nothing_closes_hides_nothing():
    text = "- a\n<!-- note\n- b\n# One\n"
    assert [bullet.text for bullet in bullets(text)] == ["a", "b"]
    assert [section.title for section in sections(text)] == ["", "One"]


def test_a_comment_in_code_is_code_and_a_fence_in_a_comment_is_none():
    assert [bullet.text for bullet in bullets("```\n<!--\n```\n- a\n-->\n- b\n")] == ["a", "b"]
    assert [bullet.text for bullet in bullets("<!--\n```\n-->\n- a\n")] == ["a"]


def test_code_that_belongs_to_a_list_line_is_code_however_far_it_is_indented():
    assert [bullet.text for bullet in bullets("- a\n    - b\n      ```\n      - x\n      ```\n- c\n")] == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026-02-21.md", date(2026, 2, 21)),
        ("2026-02-30.md", None),
        ("2026-2-1.md", None),
        ("MEMORY.md", None),
        ("x2026-02-21.md", None),
    ],
)
def test_a_daily_note_is_known_by_its_name(name, day):
    assert daily_note_name(name) == day


def test_white_space_in_a_mirrored_text_cannot_make_a_second_line():
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert dump_mirror_line(at, "a\n- [x]\u2028 b") == b"- [2026-01-02 03:04:05 UTC] a - [x] b\n"
