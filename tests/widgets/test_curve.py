"""A curve of shares as text: where it is high it stands high, and no loss is hidden."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.core.text import cell_width
from nanomem_tui.widgets.plots import AXIS, curve, small_curve
from nanomem_tui.widgets.theme import ASCII, UNICODE

shares = st.lists(st.floats(0, 1), max_size=300)
EMPTY = " \u2800"


@given(shares, st.integers(8, 120), st.integers(2, 12), st.sampled_from([ASCII, UNICODE]))
def test_it_has_its_height_and_fits_the_width(values, width, height, signs):
    lines = curve(values, width, height, signs)
    assert len(lines) == height
    assert all(cell_width(line) <= width for line in lines)
    assert lines[0].startswith("100 %")
    assert lines[-1].startswith("  0 %")
    drawn = "".join(line[AXIS:] for line in lines).strip(EMPTY)
    assert bool(drawn) == bool(values)
    assert signs is UNICODE or "".join(lines).isascii()


@pytest.mark.parametrize("signs", [ASCII, UNICODE])
def test_what_lasts_is_on_top_and_what_went_at_the_bottom(signs):
    top = curve([1.0] * 9, 30, 5, signs)
    assert top[0][AXIS:].strip(EMPTY)
    assert not any(line[AXIS:].strip(EMPTY) for line in top[1:])
    fallen = curve([1.0, 0.0], 30, 5, signs)
    assert all(line[AXIS:].strip(EMPTY) for line in fallen), "the step is drawn all the way"
    assert len(fallen[0]) < len(fallen[-1])


def test_a_loss_that_was_made_good_at_once_is_still_seen():
    lines = curve([1.0] * 500 + [0.0] + [1.0] * 500, 40, 4, ASCII)
    assert lines[-1][AXIS:].strip() in {"*", "**"}


def test_values_beside_the_range_stay_on_the_plot():
    assert len(curve([-3.0, 9.0], 20, 3)) == 3


def test_in_one_line_the_height_is_that_of_the_share_itself():
    assert small_curve([1.0, 1.0, 0.5, 0.0], 14) == "██▅▁"
    assert small_curve([0.9] * 100, 5, ASCII) == "#####"
    assert small_curve([1.0, 1.0, 0.0, 1.0], 2) == "▁█"
    assert small_curve([1.0, 0.0, 0.5], 1) == "▅"
    assert small_curve([], 5) == ""
