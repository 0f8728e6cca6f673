"""Rows of a list as JSON, CSV and Markdown: whole, and nothing in them is more than text."""

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.core.text import safe_text
from nanomem_tui.screens.base.copying import format_rows
from nanomem_tui.widgets.columns import Column

COLUMNS = [
    Column[str]("text", "Text", lambda row: row, width=5),
    Column[str]("size", "Size", lambda row: str(len(row))),
]


def of(suffix, *rows):
    return format_rows(COLUMNS, rows, lambda row: f"id_{len(row)}", suffix)


def test_json_keeps_every_text_as_it_is():
    rows = ["=1+1", "a | b\x1b[31m", "長崎 🍜", "a line\nand another"]
    assert [row["text"] for row in json.loads(of("json", *rows))] == rows
    assert json.loads(of("json", "ab")) == [{"id": "id_2", "text": "ab", "size": "2"}]


def test_csv_holds_no_formula_and_no_control_character():
    read = list(
        csv.reader(io.StringIO(of("csv", "=cmd|' /C calc'!A0", "@SUM(A1)", "-2", 'say "hi", twice', "\x1b[2J")))
    )
    assert read[0] == ["id", "text", "size"]
    assert [row[1] for row in read[1:]] == ["'=cmd|' /C calc'!A0", "'@SUM(A1)", "'-2", 'say "hi", twice', "␛[2J"]


def test_a_markdown_table_has_a_line_for_each_row_whatever_is_in_it():
    hostile = ["a | b", "# heading\n- list", "[link](javascript:alert(1))", "<script>", "`code`", "***"]
    lines = of("md", *hostile).splitlines()
    assert lines[:2] == ["| Id | Text | Size |", "| --- | --- | --- |"]
    assert len(lines) == 2 + len(hostile)
    assert lines[2] == "| id_5 | a \\| b | 5 |"
    assert "\\[link\\](javascript:alert(1))" in lines[4]
    assert "\\<script\\>" in lines[5]


@given(st.lists(st.text(max_size=30), max_size=6))
def test_every_row_comes_back(rows):
    assert [row["text"] for row in json.loads(of("json", *rows))] == rows
    read = list(csv.reader(io.StringIO(of("csv", *rows), newline="")))[1:]
    assert [row[1].removeprefix("'") for row in read] == [safe_text(row).removeprefix("'") for row in rows]
    assert len(of("md", *rows).split("\n")) == len(rows) + 3
