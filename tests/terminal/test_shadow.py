"""The shadow of a terminal: what is drawn, in whatever pieces, is what the terminal shows, and it holds no control."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from nanomem_tui.terminal.frames import (
    PLAIN,
    Pen,
    Piece,
    Shadow,
    agreed,
    cells_of,
    changed,
    full_frame,
    pen_of,
    pieces_of,
    wants_thin,
    without_controls,
)
from tests.snapshots.hostile import ATTACKS, everything
from tests.terminal.emulator import Emulator

TRUE = ColorSystem.TRUECOLOR
COLUMNS, LINES = 24, 8
STYLES = (
    None, Style(), Style(bold=True), Style(dim=True, color="red"), Style(bold=True, dim=True), Style(reverse=True),
    Style(bgcolor="#102030"), Style(color="#102030", bgcolor="blue", underline=True), Style(color="color(99)"),
    Style(italic=True, strike=True), Style(color="default", bgcolor="default"),
)  # fmt: skip
CODES = ("", "1", "2", "1;2", "7", "4;31", "38;2;1;2;3", "38;5;9;48;5;10", "1;38;2;1;2;3;48;2;4;5;6", "39;49", "90;107")

texts = st.text(alphabet="ab  .é记忆한😀▸…ำ\u0301", max_size=12)
segments = st.lists(st.tuples(texts, st.sampled_from(STYLES)), min_size=1, max_size=4)
drawings = st.lists(st.tuples(st.integers(0, LINES - 1), st.integers(0, COLUMNS - 1), segments), min_size=1, max_size=6)


def strip_of(parts):
    return Strip([Segment(text, style) for text, style in parts])


def pieces(drawing):
    fitting = []
    for y, x, parts in drawing:
        strip = strip_of(parts)
        if strip.cell_length and x + strip.cell_length <= COLUMNS:
            fitting.append(Piece(y, x, cells_of(strip, TRUE)))
    return fitting


def blank_screen():
    return [Piece(y, 0, cells_of(Strip([Segment(" " * COLUMNS)]), TRUE)) for y in range(LINES)]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(drawings, min_size=1, max_size=8), st.integers(0, 8))
def test_what_is_drawn_in_pieces_is_what_the_terminal_shows(frames, forgotten):
    shadow, thin, reference = Shadow(), Emulator(COLUMNS, LINES), Emulator(COLUMNS, LINES)
    for number, drawing in enumerate([None, *frames]):
        drawn = blank_screen() if drawing is None else pieces(drawing)
        if number == forgotten:
            shadow.forget()
            thin.grid, thin.look = Emulator(COLUMNS, LINES, "?").grid, thin.look._replace(ink="31")
        thin.feed(shadow.draw(drawn, (COLUMNS, LINES), (0, 0)))
        reference.feed(full_frame(drawn, COLUMNS, (0, 0)))
        assert thin.grid == reference.grid


@pytest.mark.parametrize("lines", [1, 3, -1, -4])
def test_lines_that_moved_are_scrolled(lines):
    def screen(first):
        rows = [f"row {first + y} holds words of its own {(first + y) ** 3}".ljust(60) for y in range(18)]
        texts = ["a title".ljust(60), *rows, "keys at the foot".ljust(60)]
        return [Piece(y, 0, cells_of(Strip([Segment(text)]), TRUE)) for y, text in enumerate(texts)]

    shadow, terminal = Shadow(), Emulator(60, 20)
    terminal.feed(shadow.draw(screen(100), (60, 20), (0, 0)))
    data = shadow.draw(screen(100 + lines), (60, 20), (0, 0))
    terminal.feed(data)
    assert "\x1b[2;19r" in data
    assert len(data) < 80 + abs(lines) * 60
    expected = Emulator(60, 20)
    expected.feed(full_frame(screen(100 + lines), 60, (0, 0)))
    assert terminal.grid == expected.grid


def test_what_is_shown_already_is_not_written_again():
    shadow = Shadow()
    assert shadow.draw(blank_screen(), (COLUMNS, LINES), (0, 0))
    assert shadow.draw(blank_screen(), (COLUMNS, LINES), (0, 0)) == ""
    assert shadow.draw([], (COLUMNS, LINES), (0, 3)) == "\x1b[3C"


def test_another_size_is_another_screen():
    shadow = Shadow()
    shadow.draw(blank_screen(), (COLUMNS, LINES), (0, 0))
    terminal = Emulator(COLUMNS - 2, LINES)
    terminal.feed(shadow.draw(blank_screen(), (COLUMNS - 2, LINES), (0, 0)))
    assert terminal.text.strip() == ""


@pytest.mark.parametrize("text", [*ATTACKS.values(), everything(), "\u200d\x1b[31mx", "a\u0301\x9b2J"])
def test_no_cell_holds_what_a_terminal_obeys(text):
    strip = Strip([Segment(text, Style(bold=True))])
    drawn = [Piece(0, 0, cells_of(strip, TRUE))]
    for data in (full_frame(drawn, 400, (0, 0)), Shadow().draw(drawn, (400, 1), (0, 0))):
        Emulator(400, 1).feed(data)  # anything but its own few sequences is a mistake there
        assert not set(data) & set("\x07\x08\x0b\x0e\x0f\x7f\x9b\x9c\x9d\u202e\u202d\u2066\r\n")
        assert all(sequence[0] == "[" for sequence in data.split("\x1b")[1:])
        assert "\x1b[2J" not in data
        assert "\x1b[31" not in data


def test_links_are_left_out():
    linked = Strip([Segment("words", Style(link="http://hostile.example"))])
    assert "hostile" not in full_frame([Piece(0, 0, cells_of(linked, TRUE))], 80, (0, 0))


def test_a_refused_character_leaves_the_rest_where_it_was():
    assert without_controls("a\x1bb\u2028c") in {"ab\ufffdc", "abc"}
    strip = Strip([Segment("a\x1bb\x07c")])
    assert len(cells_of(strip, TRUE)) == strip.cell_length


@given(st.sampled_from(CODES), st.sampled_from(CODES), st.sampled_from(CODES))
def test_a_pen_is_changed_to_just_what_is_wanted(before, old, new):
    ours, theirs = Emulator(9, 1), Emulator(9, 1)
    ours.feed(changed(None, pen_of(before)) + changed(pen_of(before), pen_of(old)) + changed(pen_of(old), pen_of(new)))
    theirs.feed(f"\x1b[0m\x1b[{new}m")
    assert ours.look == theirs.look


def test_the_terminals_own_colours_are_no_colour():
    assert pen_of("39;49") == pen_of("") == PLAIN
    assert pen_of("1;7;34") == Pen("34", "", ("1", "7"))
    assert changed(pen_of("1;31"), pen_of("1;31")) == ""


def test_after_emoji_the_cursor_is_put_where_it_belongs():
    assert agreed("记")
    assert not agreed("👩‍🚀")
    drawn = [Piece(0, 0, cells_of(Strip([Segment("👩‍🚀 flies")]), TRUE))]
    assert "\x1b[1;3H flies" in full_frame(drawn, 80, (0, 0))


def test_an_update_of_many_strips_is_pieces_side_by_side():
    line = [Strip([Segment("ab")], 2), Strip([Segment("cd")], 2)]
    found = list(pieces_of(LayoutUpdate([line], Region(3, 2, 4, 1)), TRUE))
    assert [(y, x, "".join(text for text, _ in cells)) for y, x, cells in found] == [(2, 3, "ab"), (2, 5, "cd")]


@pytest.mark.parametrize(
    ("setting", "environ", "thin"),
    [
        ("auto", {}, False),
        ("auto", {"SSH_TTY": "/dev/pts/3"}, True),
        ("auto", {"SSH_CONNECTION": "::1 1 ::1 2"}, True),
        ("off", {"SSH_TTY": "/dev/pts/3"}, False),
        ("on", {}, True),
    ],
)
def test_output_is_thin_over_ssh_or_as_it_is_set(setting, environ, thin):
    assert wants_thin(setting, environ) is thin
