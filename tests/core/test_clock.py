"""UTC inside, an agent's naive local time at the border."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.core import clock


@pytest.fixture
def zone(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("zone", ["Asia/Kolkata"], indirect=True)
def test_naive_text_is_local_time(zone):
    assert clock.parse("2026-02-13T09:17:00") == datetime(2026, 2, 13, 3, 47, tzinfo=UTC)
    assert clock.local_naive(datetime(2026, 2, 13, 3, 47, tzinfo=UTC)) == "2026-02-13T09:17:00"
    assert clock.iso(datetime(2026, 2, 13, 9, 17)) == "2026-02-13T03:47:00+00:00"


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Chatham"], indirect=True)
def test_what_an_agent_wrote_comes_back_to_the_microsecond(zone):
    for text in ("2026-02-13T09:17:00.000123", "2026-07-01T00:00:00", "2000-02-29T23:59:59.999999"):
        moment = clock.parse(text)
        assert moment is not None
        assert clock.local_naive(moment) == text
        assert clock.parse(clock.iso(moment)) == moment


@pytest.mark.parametrize(
    "text", ["2026-02-13", "2026-02-13 09:17", "2026-02-13T09:17:00Z", "2026-02-13T09:17:00+05:30", "20260213"]
)
def test_other_forms_of_a_time_are_read(text):
    moment = clock.parse(text)
    assert moment is not None
    assert moment.utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["", None, "yesterday", "2026-13-01", "0001-01-01T00:00:00+14:00", 5, "9" * 500])
def test_no_time_is_none(text):
    assert clock.parse(text) is None


@given(st.text(max_size=40))
def test_no_text_breaks_it(text):
    clock.parse(text)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))
def test_our_own_form_is_exact_and_sorts(moment):
    assert clock.parse(clock.iso(moment)) == moment
    assert clock.iso(moment).endswith("+00:00")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (86_400, "1 d"),
        (86_400 * 60, "2 mon"),
        (86_400 * 730, "2 y"),
    ],
)
def test_an_age_is_one_short_word(seconds, text):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.age_text(now - timedelta(seconds=seconds), now) == text
    assert clock.age_text(None) == "-"


def test_a_stamp_is_now_in_both_forms():
    before = clock.now()
    stamps = [clock.stamp() for _ in range(1_000)]
    after = clock.now()
    assert [text for _, text in stamps] == sorted(text for _, text in stamps)
    for ms, text in stamps:
        moment = clock.parse(text)
        assert moment is not None
        assert before <= moment <= after
        assert int(moment.timestamp() * 1000) == ms
    for moment in (datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2026, 3, 1, 10, 0, 0, 7, tzinfo=UTC)):
        with clock.at(moment):
            assert clock.stamp() == (1772359200000, clock.iso(moment))


def test_a_stamp_on_the_second_is_written_as_any_other_time(monkeypatch):
    monkeypatch.setattr(clock.time, "time_ns", lambda: 1772359200_000_000_999)
    assert clock.stamp() == (1772359200000, clock.iso(datetime(2026, 3, 1, 10, tzinfo=UTC)))


def test_days_before_there_were_any_are_the_first_day():
    assert clock.days_ago(0) - clock.days_ago(3) > timedelta(days=2, hours=23)
    assert {clock.days_ago(days) for days in (10**6, 10**9, 10**20)} == {datetime.min.replace(tzinfo=UTC)}
