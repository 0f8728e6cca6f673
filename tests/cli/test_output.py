"""What leaves the program: JSON that no terminal obeys, tables of the right width, words for counts and sizes."""

import io
import json
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanomem_tui.cli import output
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.core.text import cell_width

HOSTILE = "\x1b]52;c;aGk=\x07 \x9b2J \x7f \u202eabc\u2066 \u2028\u2029 \U000e0041 \ud800"


def obeyed(text):
    """The characters of `text` that a terminal would obey or a reader could not see."""
    bad = {0x7F, 0x2028, 0x2029, 0x200E, 0x200F, 0x61C, 0xFEFF}
    return [
        c
        for c in text
        if (ord(c) < 0x20 and c != "\n")
        or 0x80 <= ord(c) <= 0x9F
        or ord(c) in bad
        or 0x202A <= ord(c) <= 0x202E
        or 0x2066 <= ord(c) <= 0x2069
        or 0xD800 <= ord(c) <= 0xDFFF
        or 0xE0000 <= ord(c) <= 0xE007F
    ]


class Stream(io.TextIOWrapper):
    """A stdout that can be a terminal."""

    def __init__(self, tty=False, encoding="utf-8"):
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self.tty = tty

    def isatty(self):
        return self.tty

    def text(self):
        return self.buffer.getvalue().decode("utf-8")


@pytest.mark.parametrize("value", [HOSTILE, [{"id": HOSTILE}], {HOSTILE: [HOSTILE, {"a": HOSTILE}]}])
def test_json_with_hostile_text_reaches_no_terminal_and_keeps_its_value(value):
    text = output.json_text(value)
    assert obeyed(text) == []
    assert json.loads(text) == value


@given(
    st.recursive(
        st.text() | st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
@example("\x80\x9f\x7f")
def test_any_json_value_comes_back_and_is_never_obeyed(value):
    text = output.json_text(value)
    assert json.loads(text) == value
    assert obeyed(text) == []


def test_json_is_unescaped_utf8():
    assert "记住靠窗的座位 é 🙂" in output.json_text([{"text": "记住靠窗的座位 é 🙂"}])


def test_a_json_array_takes_one_line_per_object():
    assert output.json_text([{"id": 1}, {"id": 2}]).splitlines() == ["[", '{"id": 1},', '{"id": 2}', "]"]


def test_printed_lines_are_made_safe(monkeypatch):
    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    output.lines([HOSTILE])
    assert obeyed(stream.text()) == []


def test_an_error_is_one_line_whatever_it_says(monkeypatch):
    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    output.error_line("first\nsecond\x1b[2J")
    assert stream.text().count("\n") == 1
    assert obeyed(stream.text()) == []


def test_a_closed_stdout_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    output.lines(["nobody reads this"])


def test_text_that_the_terminal_cannot_encode_is_spelt_out(monkeypatch):
    stream = Stream(encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    output.lines(["座位"])
    assert stream.text() == "\\u5ea7\\u4f4d\n"


def test_a_pipe_has_no_width_and_a_terminal_has(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "stdout", Stream())
    assert output.terminal_width() is None
    monkeypatch.setattr(sys, "stdout", Stream(tty=True))
    assert output.terminal_width() is not None
    monkeypatch.setenv("COLUMNS", "72")
    assert output.terminal_width() == 72


COLUMNS = [
    Column("ID"),
    Column("Text", limit=90, least=28),
    Column("Source", limit=24, drop=2),
    Column("Hits", right=True),
    Column("Session", drop=3),
]
LONG = "The user prefers a window seat on every flight longer than two hours"
WIDE = "用户喜欢靠窗的座位，每次超过两小时的航班都是如此，除了夜间航班以外的所有情况"
ROWS = [
    ["ltm_1739443200123_1", LONG, "explicit_user", "12", "telegram:1"],
    ["ltm_1739443200123_2", WIDE, "auto", "3", "feishu:ou_7d8a"],
]


def test_a_table_fits_80_columns_and_keeps_ids_whole():
    lines = table(COLUMNS, ROWS, 80)
    assert all(cell_width(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines] == ["ID", "ltm_1739443200123_1", "ltm_1739443200123_2"]
    assert "Session" not in lines[0]


def test_columns_stand_under_their_titles_with_wide_text():
    head, first, second = table(COLUMNS, ROWS, 80)
    edge = cell_width(head)
    assert head.endswith("Hits")
    assert cell_width(first) == edge
    assert cell_width(second) == edge


def test_in_a_pipe_nothing_is_left_out():
    head, first, _ = table(COLUMNS, ROWS, None)
    assert "Session" in head
    assert ROWS[0][1] in first


def test_a_cell_is_one_safe_line():
    lines = table([Column("Text")], [["one\ntwo\x1b[2J"]], None)
    assert len(lines) == 2
    assert obeyed("".join(lines)) == []


def test_an_empty_optional_column_is_left_out():
    columns = [Column("ID"), Column("State", optional=True)]
    assert table(columns, [["a", ""]], None) == ["ID", "a"]
    assert table(columns, [["a", ""], ["b", "disabled"]], None)[0] == "ID  State"


def test_no_rows_are_no_lines():
    assert table(COLUMNS, [], 80) == []


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=200)), min_size=1, max_size=5), st.integers(40, 200))
def test_any_row_fits_where_there_is_a_column_that_can_shrink(rows, width):
    columns = [Column("Key", limit=20, least=8), Column("Text", limit=120, least=20)]
    lines = table(columns, rows, width)
    assert len(lines) == len(rows) + 1
    assert all(cell_width(line) <= width for line in lines)
    assert obeyed("\n".join(lines)) == []


def test_a_paragraph_is_broken_for_a_terminal_only():
    text = "word " * 30
    assert paragraph(text, None) == [text]
    assert all(cell_width(line) <= 40 for line in paragraph(text, 40))


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (5 * 10**12, "5000.0 GB")]
)
def test_sizes_read_in_few_characters(count, text):
    assert output.size(count) == text


def test_counts_name_the_largest_first():
    assert output.tally({"fact": 2, "decision": 5, "": 1}) == "decision 5, fact 2, - 1"
    assert (output.counted(1, "item"), output.counted(2, "item")) == ("1 item", "2 items")


def test_a_time_that_is_none_is_a_dash_and_nonsense_stays():
    assert output.when(None) == "-"
    assert output.when("yesterday") == "yesterday"
    assert output.when("2026-02-13T09:01:10")[:16] == "2026-02-13 09:01"


@pytest.mark.parametrize("tty", [True, False])
def test_progress_is_one_line_that_goes_away_and_none_in_a_pipe(monkeypatch, tty):
    stream = Stream(tty)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output.Progress, "PATIENCE", 0.0)
    with output.Progress() as progress:
        progress("Comparing \x1b[2J rows:", 1_000, 100_000)
        progress("Comparing rows:", 1_001, 100_000)
    said = stream.text()
    assert said == ("\r\x1b[KComparing ␛[2J rows: 1,000 of 100,000 …\r\x1b[K" if tty else "")


def test_short_work_says_nothing(monkeypatch):
    stream = Stream(tty=True)
    monkeypatch.setattr(sys, "stderr", stream)
    with output.Progress() as progress:
        progress("Reading")
    assert stream.text() == ""
