"""The pictures of a memory: the numbers are those of the memory, and each says in a sentence what it comes to."""

from datetime import timedelta

import pytest

from nanomem_tui.core import clock
from nanomem_tui.core.operations import new_operation
from nanomem_tui.core.text import cell_width
from nanomem_tui.memory.turns.traces import KEPT, Checkpointed, CheckpointLog, Injected
from nanomem_tui.model.client import MAX_BYTES
from nanomem_tui.review.charts import PICTURES, pictures
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.widgets.plots import chart_line, draw_chart
from nanomem_tui.widgets.theme import ASCII, UNICODE
from nanomem_tui.workspace import open_workspace


@pytest.fixture
def ws(tmp_path):
    (tmp_path / "workspace").mkdir()
    return open_workspace(tmp_path / "workspace")


def picture(ws, name):
    return PICTURES[name](ws)


def written(ws, text, days, **fields):
    """An item of so many days ago."""
    _, item, _ = ws.items.add(text)
    at = clock.iso(clock.now() - timedelta(days=days))
    after = item._replace(created_at=at, updated_at=at, **fields)
    ws.perform(new_operation("items.edit", "earlier", [change_of("item", item, after)]))
    return item.id


def test_growth_is_what_there_was_at_the_end_of_each_day(ws):
    for number, days in enumerate((10, 10, 5)):
        written(ws, f"a fact {number}", days)
    written(ws, "an episode", 5, kind="episodic")
    ws.items.delete([written(ws, "gone today", 10)])
    shown = picture(ws, "growth")
    assert list(shown.parts) == ["fact", "episodic"]
    assert len(shown.labels) == 11
    assert [tuple(row) for row in (shown.values[0], shown.values[5], shown.values[-1])] == [(3, 0), (4, 1), (3, 1)]
    assert "4 items" in shown.said
    assert "1 deleted" in shown.said


def test_what_was_deleted_before_anything_was_recorded_is_left_out(ws):
    assert picture(ws, "growth").labels == ()
    assert "Nothing is remembered yet" in picture(ws, "growth").said


def test_never_recalled_is_counted_by_age(ws):
    written(ws, "used", 40, hits=3)
    written(ws, "never used", 40)
    written(ws, "new", 1)
    shown = picture(ws, "unused")
    assert list(zip(shown.labels, shown.values, strict=True)) == [("under a week", (0, 1)), ("1 to 3 months", (1, 1))]
    assert "2 of 3 enabled items were never recalled (67%)" in shown.said


def test_the_hit_rate_is_of_each_day_of_turns(ws):
    log = ws.traces.injections
    for number, (day, items) in enumerate((("01", ("ltm_1",)), ("01", ()), ("03", ("ltm_1", "ltm_2")))):
        log.began(Injected(f"turn_{number}", f"2026-05-{day}T12:00:00+00:00", "cli:direct", items=items))
    shown = picture(ws, "hits")
    assert [row[0] for row in shown.values] == [0.5, 1.0]
    assert "2 of 3 turns" in shown.said


def test_checkpoints_are_timed(ws):
    assert picture(ws, "checkpoints").labels == ()
    written(ws, "one", 0)
    ws.flush()
    shown = picture(ws, "checkpoints")
    assert len(shown.values) == 1
    assert shown.values[0][0] > 0
    assert "1 checkpoint took" in shown.said


def test_a_log_of_checkpoints_stays_small_and_survives_damage(tmp_path):
    file = tmp_path / "log" / "checkpoints.jsonl"
    log = CheckpointLog(file)
    for number in range(1_200):
        log.add(Checkpointed("2026-05-01T12:00:00+00:00", float(number), 1, 2))
    assert file.stat().st_size < MAX_BYTES + 1_000
    file.write_bytes(file.read_bytes() + b'{"at": "torn')
    assert [one.ms for one in log.last(3)] == [1197.0, 1198.0, 1199.0]
    assert len(log.last()) == KEPT


@pytest.mark.slow
def test_every_picture_is_drawn_within_its_place(ws):
    for number in range(60):
        written(ws, f"項目 {number}", number * 7 % 400, kind=("fact", "preference", "decision", "episodic")[number % 4])
    ws.flush()
    shown = list(pictures(ws))
    assert [one.name for one in shown] == list(PICTURES)
    for one in shown:
        for signs in (UNICODE, ASCII):
            for width, height in ((24, 8), (38, 20), (120, 20)):
                for line in draw_chart(one, width, height, signs):
                    text = "".join(part for part, _ in line)
                    assert cell_width(text) <= width, (one.name, width, text)
            assert cell_width(chart_line(one, 20, signs)) <= 20


def test_ascii_draws_with_ascii_alone(ws):
    for number in range(12):
        written(ws, f"item {number}", number * 9)
    ws.flush()
    for one in pictures(ws):
        text = "".join(part for line in draw_chart(one, 60, 16, ASCII) for part, _ in line) + chart_line(one, 20, ASCII)
        assert text.isascii(), (one.name, text)
