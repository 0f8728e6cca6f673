"""A terminal gets a theme that it can show, and plots are readable without colour."""

import pytest
from rich.cells import cell_len

from nanomem_tui.widgets.plots import bars, meter, sparkline
from nanomem_tui.widgets.theme import ASCII, THEME_NAMES, THEMES, UNICODE, choose_theme

FULL = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


@pytest.mark.parametrize(
    ("wanted", "environ", "theme"),
    [
        ("auto", FULL, "nanomem-dark"),
        ("auto", {**FULL, "COLORFGBG": "0;15"}, "nanomem-light"),
        ("auto", {**FULL, "SSH_TTY": "/dev/pts/0"}, "ansi-dark"),
        ("auto", {**FULL, "SSH_CONNECTION": "1 2 3 4", "COLORFGBG": "0;15"}, "ansi-light"),
        ("auto", {**FULL, "NO_COLOR": ""}, "ansi-dark"),
        ("light", {**FULL, "NO_COLOR": "1"}, "ansi-light"),
        ("auto", {"TERM": "linux"}, "ansi-dark"),
        ("light", FULL, "nanomem-light"),
        ("dark", {**FULL, "SSH_TTY": "x"}, "nanomem-dark"),
        ("textual-dark", FULL, "textual-dark"),
    ],
)
def test_the_theme_follows_the_terminal(wanted, environ, theme):
    assert choose_theme(wanted, environ) == theme


def test_themes_have_their_names():
    assert {theme.name for theme in THEMES} < set(THEME_NAMES)


def test_signs_are_one_cell_and_ascii_is_ascii():
    for signs in (UNICODE, ASCII):
        values = [getattr(signs, name) for name in signs.__slots__]
        assert all(cell_len(value) == 1 for value in values if value not in (signs.steps, signs.eighths))
    assert all(getattr(ASCII, name).isascii() for name in ASCII.__slots__)


def test_a_sparkline_keeps_its_peaks():
    assert sparkline([0, 1, 2, 7], 10) == "▁▂▃█"
    assert sparkline([0] * 99 + [5], 10) == "▁▁▁▁▁▁▁▁▁█"
    assert sparkline([], 10) == ""
    assert sparkline([0, 0], 10) == "▁▁"
    assert sparkline([0, 9], 10, ASCII) == ".@"


def test_bars_are_labelled_and_fit():
    lines = bars([("fact", 120), ("数据", 30), ("none", 0)], 30)
    assert lines[0] == "fact 120 █████████████████████"
    assert lines[1] == "数据  30 █████"
    assert lines[2] == "none   0"
    assert all(cell_len(line) <= 30 for line in lines)
    assert bars([], 30) == []
    assert bars([("evil\x1b", 1)], 20, ASCII)[0].startswith("evil␛ 1 @")


def test_a_meter_has_its_width_and_shows_the_least_there_is():
    assert meter(0, 4) == "····"
    assert meter(1, 4) == "████"
    assert meter(0.5, 3) == "█▌·"
    assert meter(1e-9, 3) == "▏··"
    assert meter(7, 2) == "██"
    assert meter(-1, 2) == "··"
    assert meter(0.5, 4, ASCII) == "@@.."
    assert meter(1e-9, 4, ASCII) == "@..."
