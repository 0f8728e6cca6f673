"""What relative dates meant when they were said."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.language import dates
from nanomem_tui.language.dates import absolute, annotated, is_over

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
def test_what_is_told_exactly_becomes_a_date(text, told):
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
def test_what_has_two_readings_says_when_it_was_said(text, told):
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
def test_names_habits_and_code_stay(text):
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
def test_what_is_called_like_a_time_keeps_its_name(text):
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
def test_beside_a_name_a_time_is_told_and_in_doubt_its_words_stay(text, told):
    assert absolute(text, SAID) == told


@pytest.mark.parametrize("said", ["", "soon", "2026-13-45"])
def test_without_a_time_nothing_is_guessed(said):
    assert absolute("User moved yesterday", said) == "User moved yesterday"


@given(st.text(max_size=80), st.sampled_from(["yesterday", "9999 years ago", "in 2 weeks", "下周日", "last May"]))
def test_any_text_is_told_once(text, words):
    once = absolute(f"{text} {words}", SAID)
    assert absolute(once, SAID) == once


def test_a_line_that_says_its_own_end_is_over_after_it():
    assert is_over("- Uses the old VPN until 2026-04-01", "2026-04-03")
    assert is_over("优惠有效期至 2026-04-01", "2026-04-03")
    for line in ("until 2026-04-03", "until 2026-04-01, then until 2026-05-01", "moved on 2026-04-01", "until May"):
        assert not is_over(line, "2026-04-03"), line
    assert not is_over("until 2026-04-01", "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tomorrow the plumber comes", "tomorrow (2026-04-04) the plumber comes"),
        ("Yesterday the build broke", "Yesterday (2026-04-02) the build broke"),
        ("Exam in 3 days, rent due next month", "Exam in 3 days (2026-04-06), rent due next month (2026-05)"),
        ("The dentist is on Monday", "The dentist is on Monday (2026-04-06)"),
        ("Move next Friday", "Move next Friday (2026-04-10)"),
        ("Trip next Sunday", "Trip next Sunday (2026-04-05 or 2026-04-12)"),
        ("If it rains tomorrow, stay in", "If it rains tomorrow (2026-04-04), stay in"),
        ("We met last week", "We met last week (week of 2026-03-23)"),
        ("明天水管工来，三天后出差", "明天(2026-04-04)水管工来，三天后(2026-04-06)出差"),
        ("下周五考试，周三体检", "下周五(2026-04-10)考试，周三(2026-04-08)体检"),
        ("後天去台北", "後天(2026-04-05)去台北"),
        ("Morgen kommt der Klempner", "Morgen (2026-04-04) kommt der Klempner"),
        ("mañana viene el fontanero", "mañana (2026-04-04) viene el fontanero"),
        ("Il est venu hier", "Il est venu hier (2026-04-02)"),
        ("Me mudé hace un año.", "Me mudé hace un año (around 2025)."),
        ("há 3 dias cheguei, amanhã volto", "há 3 dias (2026-03-31) cheguei, amanhã (2026-04-04) volto"),
        ("domani arriva l'idraulico", "domani (2026-04-04) arriva l'idraulico"),
        ("завтра придёт сантехник", "завтра (2026-04-04) придёт сантехник"),
        ("明日は配管工が来る", "明日(2026-04-04)は配管工が来る"),
        ("내일 배관공이 온다", "내일 (2026-04-04) 배관공이 온다"),
    ],
)
def test_a_date_stands_behind_each_relative_one(text, told):
    assert annotated(text, SAID) == told
    assert annotated(told, SAID) == told


@pytest.mark.parametrize(
    "text",
    [
        "I work from home every Friday",
        "He built the shed in 3 days",
        "Ana reads USA Today",
        'The song is called "Yesterday"',
        "Guten Morgen sagt er immer",
        "Ich wohne hier",
        "por la mañana tomo café",
        "每周五开会",
        "Has 3 dogs and 5 years of experience",
        "User prefers dark mode",
    ],
)
def test_what_is_no_date_gets_none(text):
    assert annotated(text, SAID) == text


def test_a_weekday_in_a_rule_is_every_one():
    assert annotated("No meetings on Friday", SAID, is_rule=True) == "No meetings on Friday"
    assert annotated("The launch is tomorrow", SAID, is_rule=True) == "The launch is tomorrow (2026-04-04)"


def test_a_dream_keeps_the_words_of_another_language_beside_their_date():
    told = absolute("Morgen kommt der Klempner", SAID)
    assert told == "Morgen (2026-04-04) kommt der Klempner"
    assert absolute(told, "2027-01-01 10:00") == told


@pytest.mark.parametrize(
    ("text", "until", "ahead"),
    [
        ("大後天去台北", date(2026, 4, 6), True),
        ("The course begins in twelve days", date(2026, 4, 15), True),
        ("We met last week", date(2026, 4, 5), False),
        ("下周三去北京", date(2026, 4, 8), True),
        ("ไปเชียงใหม่พรุ่งนี้", date(2026, 4, 4), True),
    ],
)
def test_a_relative_date_reads_right_until_a_day(text, until, ahead):
    assert [(one.until, one.ahead) for one in dates.find_relative_dates(text, date(2026, 4, 3))] == [(until, ahead)]
