"""What is said twice is given once; what differs in a number, a name or a denial never is the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.tiers.context_fitting import find_alike, read_text


def same(one: str, other: str) -> bool:
    """Whether `other` adds nothing to `one`."""
    return find_alike(read_text(other), [read_text(one)]) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The user prefers tea in the morning", "User prefers tea in the mornings."),
        ("Restarted nginx after the config change", "restarted nginx after a config change."),
        ("用户喜欢在早上喝绿茶", "用户喜欢在早上喝绿茶。"),
        ("The deployment of the service failed", "The deploymant of the service failed"),
        ("a\nb  c longer text", "a b c longer text"),
    ],
)
def test_these_say_the_same(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Restarted nginx on web-1 after the config change", "Restarted nginx on web-2 after the config change"),
        ("The upload of the report took 15 seconds", "The upload of the report took 16 seconds"),
        ("The upload of the report took 1.5 seconds", "The upload of the report took 15 seconds"),
        ("The service is reachable from the office now", "The service is not reachable from the office now"),
        ("Maria likes green tea in the mornings", "Marta likes green tea in the mornings"),
        ("The report was sent to Anna before the meeting", "The report was sent to Anne before the meeting"),
        ("Read the file /etc/nginx/site.conf before that", "Read the file /etc/nginx/site.cnf before that"),
        ("The connection is encrypted in the office network", "The connection is unencrypted in the office network"),
        ("The port of the office printer is open today", "The port of the office printer is shut today"),
        ("用户喜欢在早上喝绿茶而且不加糖", "用户喜欢在早上喝红茶而且不加糖"),
        ("用户以后不要在早上收到提醒", "用户以后要在早上收到提醒"),
        ("the backup of the database", "the backup of the database of the office in the other town"),
    ],
)
def test_these_do_not(one: str, other: str) -> None:
    assert not same(one, other)


@given(st.text("the nginx web-1 is up. Anna 数据", max_size=60), st.integers(0, 9), st.integers(0, 9))
def test_another_number_is_another_matter(text: str, one: int, other: int) -> None:
    assert same(f"{text} {one}", f"{text} {other}") == (one == other)


def test_what_is_behind_the_part_that_is_compared_has_to_be_equal() -> None:
    long = "the same words again " * 400
    assert same(long + "x", long + "x")
    assert not same(long + "x", long + "y")
