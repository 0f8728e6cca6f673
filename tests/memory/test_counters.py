"""Counters that outlive the process and add up over several; the injection log, both ways."""

import json

import pytest

from nanomem_tui.memory.turns import traces as injection_log
from nanomem_tui.memory.turns import traces as module
from nanomem_tui.memory.turns.traces import COUNTERS, Counters, Injected, Injections, openmetrics


@pytest.fixture
def file(tmp_path):
    return tmp_path / "ours" / "counters.jsonl"


def test_the_counters_of_the_seed_are_there():
    assert list(COUNTERS)[:7] == [
        "memory_recall_hit", "memory_recall_miss", "memory_capture_saved", "memory_capture_dropped_low_conf",
        "memory_capture_dropped_safety", "memory_capture_deduped", "memory_prompt_chars",
    ]  # fmt: skip


def test_what_was_saved_survives_and_two_processes_add_up(file):
    one, two = Counters(file), Counters(file)
    assert set(one.read().values()) == {0}
    assert not file.exists()
    one.add("memory_recall_hit")
    one.add("memory_prompt_chars", 300)
    two.add("memory_recall_hit", 2)
    one.save()
    two.save()
    two.add("memory_recall_hit")
    assert two.read()["memory_recall_hit"] == 4
    found = Counters(file).read()
    assert (found["memory_recall_hit"], found["memory_prompt_chars"]) == (3, 300)
    with pytest.raises(KeyError):
        one.add("no_such_counter")


def test_nothing_counted_writes_nothing(file):
    Counters(file).save()
    assert not file.exists()


def test_a_damaged_line_costs_itself(file):
    counters = Counters(file)
    counters.add("turns_begun", 5)
    counters.save()
    with file.open("ab") as handle:
        handle.write(b'{"turns_begun": 1\n\xff\xfe\n{"turns_begun": "many"}\n{"turns_begun": tr')
    counters.add("turns_begun", 2)
    counters.save()
    assert Counters(file).read()["turns_begun"] == 7


def test_a_second_look_adds_what_came_since_also_when_another_process_replaced_the_file(file):
    reader, writer = Counters(file), Counters(file)
    writer.add("turns_ended", 3)
    writer.save()
    assert reader.read()["turns_ended"] == reader.read()["turns_ended"] == 3
    writer.add("turns_ended", 2)
    writer.save()
    assert reader.read()["turns_ended"] == 5
    with file.open("ab") as handle:
        handle.write(b'{"turns_ended": 10')
    assert reader.read()["turns_ended"] == 5, "a line that is being written counts once it is whole"
    with file.open("ab") as handle:
        handle.write(b"}\n")
    assert reader.read()["turns_ended"] == 15
    size = file.stat().st_size
    file.write_bytes(b'{"turns_ended": 1}\n' * 20)
    assert file.stat().st_size > size, "the same file, of other lines"
    assert reader.read()["turns_ended"] == 20
    file.unlink()
    assert reader.read()["turns_ended"] == 0


def test_the_file_stays_small(file, monkeypatch):
    monkeypatch.setattr(module, "FOLD_AT", 2_000)
    counters = Counters(file)
    for _ in range(500):
        counters.add("turns_begun")
        counters.save()
    assert file.stat().st_size < 2_100
    assert Counters(file).read()["turns_begun"] == 500


def test_openmetrics_names_types_and_ends():
    text = openmetrics({"memory_recall_hit": 3}, {"items": (12, "items kept"), "last": (None, "unknown")})
    assert text == (
        "# TYPE nanomem_memory_recall_hit counter\n"
        "# HELP nanomem_memory_recall_hit turns for which something was recalled\n"
        "nanomem_memory_recall_hit_total 3\n"
        "# TYPE nanomem_items gauge\n# HELP nanomem_items items kept\nnanomem_items 12\n# EOF\n"
    )


def injected(number, *items, **fields):
    at = f"2026-03-01T10:{number:02}:00+00:00"
    return Injected(f"turn_{number}", at, "a:1", "a", "1", user=f"question {number}", items=items, chars=9, **fields)


def test_the_log_answers_both_ways(tmp_path):
    log = Injections(tmp_path / "ours" / "injections.jsonl")
    assert log.turns() == []
    log.began(injected(1, "i1", "i2"))
    log.began(injected(2, "i2", lessons=("l1",)))
    log.ended("turn_1", "2026-03-01T10:01:09+00:00", ["i3"], [])
    again = Injections(tmp_path / "ours" / "injections.jsonl")
    assert [turn.turn for turn in again.turns()] == ["turn_2", "turn_1"]
    assert [turn.turn for turn in again.turns(1, 1)] == ["turn_1"]
    assert [turn.turn for turn in again.of_item("i2")] == ["turn_2", "turn_1"]
    assert [turn.turn for turn in again.of_item("l1")] == ["turn_2"]
    assert [turn.turn for turn in again.of_item("i3")] == ["turn_1"]
    assert again.get("turn_1") == injected(1, "i1", "i2")._replace(ended_at="2026-03-01T10:01:09+00:00", saved=("i3",))
    assert again.get("turn_9") is None
    log.began(injected(3, "i1"))
    assert [turn.turn for turn in again.of_item("i1")] == ["turn_3", "turn_1"]


def test_a_torn_or_strange_line_is_left_out(tmp_path):
    file = tmp_path / "injections.jsonl"
    log = Injections(file)
    log.began(injected(1, "i1"))
    with file.open("ab") as handle:
        handle.write(b'[1]\n{"turn": 5}\n{"turn": "turn_2", "items": "x", "chars": true, "user": 5}\n{"turn": "tor')
    assert [(turn.turn, turn.items, turn.chars) for turn in log.turns()] == [("turn_2", (), 0), ("turn_1", ("i1",), 9)]
    log.began(injected(3))
    assert [turn.turn for turn in log.turns()] == ["turn_3", "turn_2", "turn_1"]


def test_the_log_stays_bounded_and_keeps_the_newest(tmp_path, monkeypatch):
    monkeypatch.setattr(injection_log, "INJECTION_LOG_BYTES", 4_000)
    log = Injections(tmp_path / "injections.jsonl")
    for number in range(60):
        log.began(injected(number, "i"))
    turns = log.turns()
    assert turns[0].turn == "turn_59"
    assert 5 < len(turns) < 40
    assert all(json.loads(line) for line in (tmp_path / "injections.jsonl").read_bytes().splitlines())
