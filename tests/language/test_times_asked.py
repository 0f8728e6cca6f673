"""The time that a question asks for: which words name one, which days they mean, and what is no time."""

import time
from datetime import date

import pytest

from nanomem_tui.language import pack_files, times_asked
from nanomem_tui.language.times_asked import Span, about, asked, may_name, read_date

TODAY = date(2026, 11, 30)
"""A Monday."""


def days(text, today=TODAY):
    """The days that a question asks for, each span as `first..last`."""
    found = asked(text, today)
    spans = found.spans if found is not None else ()
    return [f"{since}..{until}" if since != until else f"{since}" for since, until in spans]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("what did I say today?", "2026-11-30"),
        ("what did I say yesterday?", "2026-11-29"),
        ("what was it the day before yesterday?", "2026-11-28"),
        ("what did we decide last Tuesday?", "2026-11-24"),
        ("what did we decide last Monday?", "2026-11-23"),
        ("what is planned for this Friday?", "2026-12-04"),
        ("what did I do on Friday?", "2026-11-27"),
        ("what will I do on Friday?", "2026-12-04"),
        ("what did I do 3 days ago?", "2026-11-27"),
        ("two weeks ago", "2026-11-16..2026-11-22"),
        ("3 months ago", "2026-08-01..2026-08-31"),
        ("a year ago", "2025-01-01..2025-12-31"),
        ("a few days ago", "2026-11-24..2026-11-28"),
        ("in the last 3 days", "2026-11-27..2026-11-30"),
        ("the next two weeks", "2026-11-30..2026-12-14"),
        ("last week", "2026-11-23..2026-11-29"),
        ("this month", "2026-11-01..2026-11-30"),
        ("next year", "2027-01-01..2027-12-31"),
        ("last weekend", "2026-11-28..2026-11-29"),
        ("what did I do at the weekend?", "2026-11-28..2026-11-29"),
        ("last summer", "2026-06-01..2026-08-31"),
        ("last quarter", "2026-07-01..2026-09-30"),
        ("what happened in March?", "2026-03-01..2026-03-31"),
        ("what will happen in March?", "2027-03-01..2027-03-31"),
        ("what happened in December?", "2025-12-01..2025-12-31"),
        ("in March 2025", "2025-03-01..2025-03-31"),
        ("last March", "2026-03-01..2026-03-31"),
        ("in March last year", "2025-03-01..2025-03-31"),
        ("what was on March 3rd?", "2026-03-03"),
        ("3 March 2026", "2026-03-03"),
        ("March 3, 2026", "2026-03-03"),
        ("the 3rd of March 2026", "2026-03-03"),
        ("2026-03-02", "2026-03-02"),
        ("the notes of 2026-03", "2026-03-01..2026-03-31"),
        ("what happened in 2025?", "2025-01-01..2025-12-31"),
        ("2.3.2026", "2026-03-02"),
        ("13/2/2026", "2026-02-13"),
        ("what did I say since March?", "2026-03-01..2026-11-30"),
        ("between March 1 and March 5", "2026-03-01..2026-03-05"),
        ("from March to May 2026", "2026-03-01..2026-05-31"),
        ("2026-03-02 to 2026-03-09", "2026-03-02..2026-03-09"),
        ("the week before August 3, 2026", "2026-07-27..2026-08-02"),
        ("what did I eat the week before last?", "2026-11-16..2026-11-22"),
        ("two days after 2026-03-02", "2026-03-03..2026-03-04"),
    ],
)  # fmt: skip
def test_english_words_mean_these_days(text, meant):
    assert days(text) == [meant]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("我昨天说了什么？", "2026-11-29"),
        ("上周五我们聊了什么", "2026-11-27"),
        ("三月发生了什么", "2026-03-01..2026-03-31"),
        ("2025年3月2日", "2025-03-02"),
        ("去年三月", "2025-03-01..2025-03-31"),
        ("3天前", "2026-11-27"),
        ("上个月", "2026-10-01..2026-10-31"), ("三月以来", "2026-03-01..2026-11-30"),
        ("昨日何を言いましたか", "2026-11-29"),
        ("先週の金曜日", "2026-11-27"),
        ("3月に何がありましたか", "2026-03-01..2026-03-31"),
        ("3日前", "2026-11-27"), ("先月", "2026-10-01..2026-10-31"),
        ("어제 내가 뭐라고 했지?", "2026-11-29"),
        ("지난주 금요일", "2026-11-27"),
        ("3월에 무슨 일이 있었어", "2026-03-01..2026-03-31"),
        ("3일 전", "2026-11-27"), ("지난 주말", "2026-11-28..2026-11-29"),
        ("was habe ich gestern gesagt?", "2026-11-29"), ("was war letzten Dienstag?", "2026-11-24"),
        ("was habe ich im März gesagt?", "2026-03-01..2026-03-31"),
        ("vor zwei Wochen", "2026-11-16..2026-11-22"),
        ("was war am 2.3.?", "2026-03-02"), ("seit gestern", "2026-11-29..2026-11-30"),
        ("qué dije ayer?", "2026-11-29"),
        ("el martes pasado", "2026-11-24"),
        ("en marzo de 2025", "2025-03-01..2025-03-31"),
        ("hace dos semanas", "2026-11-16..2026-11-22"),
        ("la semana pasada", "2026-11-23..2026-11-29"),
        ("qu'est-ce que j'ai dit hier ?", "2026-11-29"),
        ("mardi dernier", "2026-11-24"),
        ("il y a 3 jours", "2026-11-27"),
        ("qu'avons-nous dit en mars 2026 ?", "2026-03-01..2026-03-31"),
        ("le mois dernier", "2026-10-01..2026-10-31"),
        ("o que eu disse ontem?", "2026-11-29"),
        ("terça-feira passada", "2026-11-24"),
        ("em março de 2026", "2026-03-01..2026-03-31"),
        ("cosa ho detto ieri?", "2026-11-29"),
        ("martedì scorso", "2026-11-24"),
        ("3 giorni fa", "2026-11-27"),
        ("cosa ho detto a marzo?", "2026-03-01..2026-03-31"),
        ("что я говорил вчера?", "2026-11-29"),
        ("в прошлый вторник", "2026-11-24"),
        ("что было в марте?", "2026-03-01..2026-03-31"),
        ("3 дня назад", "2026-11-27"),
        ("в прошлом месяце", "2026-10-01..2026-10-31"),
        ("เมื่อวานฉันพูดอะไร", "2026-11-29"),
        ("เดือนที่แล้ว", "2026-10-01..2026-10-31"),
    ],
)  # fmt: skip
def test_other_languages_mean_these_days(text, meant):
    assert days(text) == [meant]


@pytest.mark.parametrize(
    "text",
    [
        "may I ask you something", "we march in step", "march madness", "what did April say?", "an email from April",
        "June is my sister", "the sun is out", "an august assembly", "Tell me about Mark and Mai",
        'the song "Yesterday" by the Beatles', "open `yesterday.log`", "read notes/today.md", "the USA Today app",
        "what do I do every Friday?", "Black Friday", "which seat do I like?", "call 030-2026-1234", "10.0.0.1",
        "version 2026.3", "a 2026 € bill", "2026", "2026-13-01", "31/31/2026", "week", "day by day", "安全第一",
        "see https://example.com/2026-03-02/", "x" * 2_000 + " yesterday",
    ],
)  # fmt: skip
def test_other_words_are_no_time(text):
    assert days(text) == []


def test_where_a_question_looks_nowhere_either_reading_counts():
    assert days("March 3") == ["2026-03-03", "2027-03-03"]
    assert days("what is on Friday?") == ["2026-11-27", "2026-12-04"]
    assert days("3/2/2026") == ["2026-02-03", "2026-03-02"], "month first or day first"


def test_several_times_of_a_question_all_count():
    assert days("did I say yesterday that I fly on 2026-12-24?") == ["2026-11-29", "2026-12-24"]


def test_the_rest_of_a_question_is_what_the_time_does_not_say():
    found = asked("what did I say about the seat yesterday?", TODAY)
    assert found is not None
    assert (found.said, found.rest, found.only) == ("yesterday", "what did I say about the seat ?", False)


@pytest.mark.parametrize(
    "text",
    [
        "what did I say yesterday?", "what happened in March?", "yesterday", "anything planned for next week?",
        "我昨天说了什么？", "昨日何を言いましたか", "어제 내가 뭐라고 했지?",
        "was habe ich gestern gesagt?", "qué dije ayer?",
        "qu'est-ce que j'ai dit hier ?", "o que eu disse ontem?", "cosa ho detto ieri?", "что я говорил вчера?",
    ],
)  # fmt: skip
def test_a_question_may_ask_for_nothing_but_a_time(text):
    found = asked(text, TODAY)
    assert found is not None
    assert found.only


@pytest.mark.parametrize("text", ["what's the weather today?", "how are you today?", "我昨天买的手机"])
def test_a_question_with_a_subject_asks_for_more_than_a_time(text):
    found = asked(text, TODAY)
    assert found is not None
    assert not found.only


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-03-02", "2026-03-02", "2026-03-02"), ("2026-03", "2026-03-01", "2026-03-31"),
        ("yesterday", "2026-11-29", "2026-11-29"), ("Last Tuesday", "2026-11-24", "2026-11-24"),
        ("tuesday", "2026-11-24", "2026-11-24"), ("2 weeks ago", "2026-11-16", "2026-11-16"),
        ("a year ago", "2025-11-30", "2025-11-30"),
        ("3d", "2026-11-27", "2026-11-27"),
        ("2w", "2026-11-16", "2026-11-16"),
        ("last week", "2026-11-23", "2026-11-29"),
        ("march", "2026-03-01", "2026-03-31"),
        ("may", "2026-05-01", "2026-05-31"),
        ("march 2025", "2025-03-01", "2025-03-31"),
        ("2025", "2025-01-01", "2025-12-31"),
        ("2.3.2026", "2026-03-02", "2026-03-02"),
        ("letzten Dienstag", "2026-11-24", "2026-11-24"), ("昨天", "2026-11-29", "2026-11-29"),
        ("2026-03-02T10:00", "2026-03-02", "2026-03-02"), (" today ", "2026-11-30", "2026-11-30"),
    ],
)  # fmt: skip
def test_a_person_gives_a_date_in_these_forms(text, since, until):
    assert read_date(text, TODAY) == Span(date.fromisoformat(since), date.fromisoformat(until))


@pytest.mark.parametrize("text", ["", "soon", "2026-02-30", "99999 days ago", "yesterday or so", "\0", "0000-01-01"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(ValueError, match="no date"):
        read_date(text, TODAY)


def test_a_date_with_two_readings_is_refused_with_both():
    with pytest.raises(ValueError, match="2026-02-03 or 2026-03-02"):
        read_date("3/2/2026", TODAY)


def test_the_29th_of_february_is_that_of_a_leap_year():
    assert days("what happened on 29 February?") == ["2024-02-29"]


def test_a_text_is_about_its_dates_and_what_its_words_meant_then():
    said = date(2026, 3, 2)
    assert about("Flew home yesterday", said) == (Span(date(2026, 3, 1), date(2026, 3, 1)),)
    assert about("Dentist on 2026-12-01 at 9", said) == (Span(date(2026, 12, 1), date(2026, 12, 1)),)
    assert about("Rent is paid until 2026-04-01", said) == (Span(date(2026, 4, 1), date(2026, 4, 1)),)
    assert about("Likes window seats", said) == ()


def test_what_was_in_a_year_was_not_in_a_week_of_it():
    year, week = Span(date(2026, 1, 1), date(2026, 12, 31)), Span(date(2026, 3, 2), date(2026, 3, 8))
    assert not week.holds(year)
    assert year.holds(week)
    assert year.holds(year)


def test_every_word_that_names_a_time_is_worth_a_look():
    ours, others = ("month_names", "weekday_names", "more_phrases", "more_joined"), ("days", "phrases")
    words = [word for name in ours for word in pack_files.meanings("times", name)]
    words += [word for name in others for word in pack_files.meanings("dates", name)]
    assert len(words) > 300
    assert [word for word in words if not may_name(f"{word} ")] == []


def test_to_see_that_a_question_names_no_time_costs_next_to_nothing():
    started = time.perf_counter()
    for _ in range(1_000):
        asked("which seat do I like on long flights to Lisbon?", TODAY)
    assert time.perf_counter() - started < 0.25, "a quarter of a millisecond each at the most, on a busy machine"


@pytest.mark.parametrize("part", ["a", "1", " ", "1-", "1.", "march ", "in ", "last ", "月", "yesterday "])
def test_a_long_text_of_one_part_takes_no_time(part):
    text = part * (200_000 // len(part))
    started = time.perf_counter()
    asked(text, TODAY)
    about(text, TODAY)
    times_asked.tells_nothing(text)
    with pytest.raises(ValueError, match="no date"):
        read_date(text, TODAY)
    assert time.perf_counter() - started < 5
