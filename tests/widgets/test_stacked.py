"""Stacked columns as text: the parts are told apart without colour, nothing is wider than it may be."""

import pytest

from nanomem_tui.widgets.plots import MOST, brief, fitting_bars, legend, stacked
from nanomem_tui.widgets.theme import ASCII


def plain(lines):
    return ["".join(text for text, _ in line) for line in lines]


def test_parts_stand_on_each_other_up_to_the_scale():
    lines = plain(stacked([(2, 2), (1, 0), (0, 0)], ["mon", "wed"], 40, 4))
    assert lines[0].startswith("     4 │▓▓▓")
    assert [line[8:11] for line in lines[:4]] == ["▓▓▓", "▓▓▓", "███", "███"]
    assert [line[12:15] for line in lines[:4]] == ["   ", "   ", "   ", "███"]
    assert lines[3].startswith("     0 │")
    assert lines[4].split() == ["mon", "wed"]


def test_without_unicode_and_without_anything():
    assert "#" in plain(stacked([(1,)], ["a"], 20, 3, ASCII))[0]
    assert plain(stacked([], [], 20, 2))[-1].strip() == ""
    assert [text for text, _ in legend(["x", "y"], ASCII)] == ["# ", "x  ", "= ", "y  "]


@pytest.mark.parametrize("count", [1, 7, 31, 400])
@pytest.mark.parametrize("width", [12, 40, 100])
def test_it_fits(count, width):
    room = fitting_bars(count, width)
    columns = [[float(number % 5), 1.0, 0.0, 2.0][:MOST] for number in range(room)]
    lines = plain(stacked(columns, ["2026-01-01", "2026-12-31"], width, 6))
    assert len(lines) == 7
    assert all(len(line) <= max(width, 12) for line in lines)


@pytest.mark.parametrize(
    ("number", "money", "said"),
    [
        (0, False, "0"),
        (950, False, "950"),
        (12_345, False, "12.3k"),
        (4_560_000, False, "4.56M"),
        (0.0123, True, "0.0123"),
    ],
)
def test_numbers_are_short(number, money, said):
    assert brief(number, money) == said
