"""What relative dates meant when they were said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.dream.dates import absolute, is_over

SAID = "2026-04-03 00:02"  # a Friday


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("User moved to Berlin yesterday.", "User moved to Berlin on 2026-04-02."),
        ("Yesterday the build broke", "On 2026-04-02 the build broke"),
        ("Gina: I lost my job last week.", "Gina: I lost my job in the week of 2026-03-23."),
        ("The report is due by tomorrow", "The report is due by 2026-04-04"),
        ("We met 3 days ago and two weeks ago", "We met on 2026-03-31 and around 2026-03-20"),
        ("Working there since last month", "Working there since 2026-03"),
        ("Hiking this weekend", "Hiking on the weekend of 2026-04-04"),
        ("She left last Friday", "She left on 2026-03-27"),
        ("Married last June", "Married in 2025-06"),
        ("Saw her this morning", "Saw her on 2026-04-03 (morning)"),
        ("用户昨天搬到柏林，下周三出差，上个月辞职", "用户2026-04-02搬到柏林，2026-04-08出差，2026年3月辞职"),
        ("3天前开始，去年买的", "2026-03-31开始，2025年买的"),
    ],
)
def test_what_is_told_exactly_becomes_a_date(text: str, told: str) -> None:
    assert absolute(text, SAID) == told
    assert absolute(told, "2027-01-01 10:00") == told  # said once, it never moves again


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The plan is due in 3 days.", "The plan is due in 3 days (as of 2026-04-03)."),
        ("Call on Friday", "Call on Friday (as of 2026-04-03)"),
        ("Move next Friday", "Move next Friday (as of 2026-04-03)"),
    ],
)
def test_what_has_two_readings_says_when_it_was_said(text: str, told: str) -> None:
    assert absolute(text, SAID) == told
    assert absolute(told, SAID) == told


@pytest.mark.parametrize(
    "text",
    [
        "`yesterday` is a variable",
        'The song is called "Yesterday"',
        "See https://example.org/today",
        "Start each day with today's agenda",
        "The last month of the year is busy",
        "先天后天的差别",
        "User prefers dark mode",
    ],
)
def test_names_habits_and_code_stay(text: str) -> None:
    assert absolute(text, SAID) == text


@pytest.mark.parametrize(
    "text",
    [
        "Ana reads USA Today and works at Tomorrow Ltd",
        "Ana's favourite song is Yesterday by the Beatles",
        "Ana's favourite song: Yesterday",
        "Yesterday by the Beatles is her song",
        "Tomorrow Ltd hired Bob",
        "The notes are in today.md",
        "The app is called Tonight",
        "The app is called tonight",
        "The log is yesterday.log or /srv/today/log, the tag #today, the folder notes_today",
        "The today list is long",
        "She likes 'yesterday' and ‘tomorrow’ and «today» and [notes](today notes.md)",
        "Ana watches Last Week Tonight",
        "Ana works at This Morning",
        "今日头条的编辑",
        "应用叫明天",
    ],
)
def test_what_is_called_like_a_time_keeps_its_name(text: str) -> None:
    assert absolute(text, SAID) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Yesterday Ana read USA Today", "On 2026-04-02 Ana read USA Today"),
        ("today.md was written today", "today.md was written on 2026-04-03"),
        ("Deadline: Tomorrow", "Deadline: 2026-04-04"),
        ("Ana wrote 'today' yesterday, and tomorrow she flies",
         "Ana wrote 'today' on 2026-04-02, and 2026-04-04 she flies"),
        ("Tomorrow is Ana's birthday", "Tomorrow is Ana's birthday (as of 2026-04-03)"),
        ("Bob heard the song yesterday", "Bob heard the song yesterday (as of 2026-04-03)"),
    ],
)  # fmt: skip
def test_beside_a_name_a_time_is_told_and_in_doubt_its_words_stay(text: str, told: str) -> None:
    assert absolute(text, SAID) == told


@pytest.mark.parametrize("said", ["", "soon", "2026-13-45"])
def test_without_a_time_nothing_is_guessed(said: str) -> None:
    assert absolute("User moved yesterday", said) == "User moved yesterday"


@given(st.text(max_size=80), st.sampled_from(["yesterday", "9999 years ago", "in 2 weeks", "下周日", "last May"]))
def test_any_text_is_told_once(text: str, words: str) -> None:
    once = absolute(f"{text} {words}", SAID)
    assert absolute(once, SAID) == once


def test_a_line_that_says_its_own_end_is_over_after_it() -> None:
    assert is_over("- Uses the old VPN until 2026-04-01", "2026-04-03")
    assert is_over("优惠有效期至 2026-04-01", "2026-04-03")
    for line in ("until 2026-04-03", "until 2026-04-01, then until 2026-05-01", "moved on 2026-04-01", "until May"):
        assert not is_over(line, "2026-04-03"), line
    assert not is_over("until 2026-04-01", "")
