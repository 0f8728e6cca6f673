"""The pattern that an agent is given for a situation: it fits, and no other that fits about as well did better."""

import time

import pytest

from nanomem_tui.tiers.records import NewRecord


def learnt(ws, trigger, rate, uses=50, name=""):
    fields = {"trigger": trigger, "action": "do it", "success_rate": rate, "uses": uses}
    ws.records.store("pattern", fields, name or trigger)


def found(ws, situation, least=0.0):
    pattern = ws.records.find_pattern(situation, least)
    return pattern.id if pattern is not None else ""


def test_of_patterns_that_fit_alike_the_better_record_wins(ws):
    learnt(ws, "disk full alpha", 1.0)
    learnt(ws, "disk full beta", 0.0)
    assert found(ws, "disk full") == "disk full alpha"
    learnt(ws, "disk full gamma", 1.0, uses=70)
    assert found(ws, "disk full") == "disk full gamma"
    learnt(ws, "disk full again on it", 0.9, uses=500)  # the words that say nothing do not count
    assert found(ws, "the disk was full") == "disk full again on it"
    assert found(ws, "disk full", 0.95) == "disk full gamma"


def test_just_that_trigger_goes_before_a_better_record(ws):
    learnt(ws, "disk full alpha", 1.0)
    learnt(ws, "Disk  full", 0.2)
    learnt(ws, "disk full", 0.4)
    assert found(ws, "disk full") == "disk full"
    assert found(ws, "disk full", 0.5) == "disk full alpha"
    learnt(ws, "it is down", 0.3)  # no word of it says anything by itself
    assert found(ws, "it is down") == "it is down"


@pytest.mark.parametrize(
    ("trigger", "situation", "fits"),
    [
        ("disk full alpha", "something else entirely disk", False),
        ("disk full alpha", "disk", True),
        ("disk full", "the disk of the database server in the second rack is full again", True),
        ("nginx is down", "nginx is down on web-3", True),
        ("nginx is down", "install nginx as a proxy on the new machine", False),
        ("nginx reverse proxy broken", "nginx proxy failing", True),
        ("nginx reverse proxy broken", "restart the proxy of the office", False),
        ("磁盘已满", "服务器磁盘已满", True),
        ("磁盘已满", "今天的天气怎么样", False),
    ],
)
def test_what_shares_one_word_of_many_is_not_found(ws, trigger, situation, fits):
    learnt(ws, trigger, 0.5, name="it")
    learnt(ws, "quite another matter", 1.0)
    assert found(ws, situation) == ("it" if fits else "")


@pytest.mark.slow
def test_a_good_pattern_is_found_behind_any_number_of_bad_ones(ws):
    learnt(ws, "disk full on the root", 0.95, name="good")
    bad = {"action": "pray", "success_rate": 0.1, "uses": 9}
    ws.records.store_many([NewRecord("pattern", {"trigger": f"disk full of {n}", **bad}, f"p{n}") for n in range(2000)])
    assert found(ws, "disk full", 0.9) == "good"
    assert found(ws, "disk full") == "good"
    assert found(ws, "disk full", 0.96) == ""
    started = time.thread_time()
    found(ws, "disk full")
    assert time.thread_time() - started < 0.2
