from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.jsonl import dump_line, dump_line_as_read, parse_jsonl, torn_tail
from nanomem_tui.core.errors import BadInput

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=4)


@pytest.mark.slow
@given(st.lists(OBJECTS, max_size=6))
def test_what_is_dumped_is_read_again(values):
    records = parse_jsonl(b"".join(map(dump_line, values)), "f")
    assert [record.value for record in records] == values
    assert not any(record.problem for record in records)


@given(st.lists(OBJECTS | st.binary(max_size=20), max_size=8), st.booleans())
def test_every_line_that_is_not_blank_comes_back_byte_for_byte_in_its_place(parts, ended):
    lines = [dump_line(part)[:-1] if isinstance(part, dict) else part.replace(b"\n", b"") for part in parts]
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    records = parse_jsonl(data, "f")
    assert [(record.number, record.raw) for record in records] == [
        (number, line) for number, line in enumerate(lines, 1) if line.strip(b" \t\r\f\v")
    ]
    assert all(record.value is not None or record.problem for record in records)


def test_separators_that_python_calls_line_ends_stay_inside_a_string():
    value = {"content": "a\u2028b\u2029c\x85d\x0be\x0cf"}
    data = json.dumps(value, ensure_ascii=False).encode() + b"\n"
    assert [record.value for record in parse_jsonl(data, "f")] == [value]


def test_a_bad_byte_costs_its_own_line_and_says_where_it_is():
    data = b'{"a": 1}\n{"a": "\xff"}\n{"a": 3}\n'
    first, second, third = parse_jsonl(data, "f.jsonl")
    assert (first.value, second.value, third.value) == ({"a": 1}, None, {"a": 3})
    assert second.problem is not None
    assert second.problem.text().startswith("f.jsonl:2: byte 0xFF at column 8")


def test_a_line_padded_with_nuls_is_still_read():
    (record,) = parse_jsonl(b"\0" * 4096 + b'{"a": 1}\n', "f")
    assert record.value == {"a": 1}
    assert record.problem is not None
    assert record.problem.severity == "warning"
    assert "4096 NUL" in record.problem.what


def test_a_line_of_nuls_is_reported_and_costs_nothing_else():
    records = parse_jsonl(b'{"a": 1}\n' + b"\0" * 40 + b'\n{"a": 2}\n', "f")
    assert [record.value for record in records] == [{"a": 1}, None, {"a": 2}]


def test_a_byte_order_mark_and_crlf_are_read_and_reported_once():
    records = parse_jsonl(b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}\r\n', "f")
    assert [(record.number, record.value) for record in records] == [(1, {"a": 1}), (3, {"a": 2})]
    assert [bool(record.problem) for record in records] == [True, False]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"[1]", "not an object but a list"),
        (b"null", "not an object but null"),
        (b"true", "a truth value"),
        (b"3.5", "a number"),
        (b'"x"', "a text"),
        (b'{"a": ', "not JSON at column 7"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"n": ' + b"9" * 5000 + b"}", "limit"),
    ],
)
def test_a_line_that_is_no_object_says_why(line, why):
    (record,) = parse_jsonl(line + b"\n", "f")
    assert record.value is None
    assert record.problem is not None
    assert why in record.problem.what


def test_a_torn_tail_is_told_from_a_line_without_its_newline():
    assert torn_tail(b'{"a": 1}\n{"a": ') == b'{"a": '
    assert torn_tail(b'{"a": 1}\n{"a": 2}') == b""
    assert torn_tail(b'{"a": 1}\n') == torn_tail(b"") == torn_tail(b"\n  ") == b""
    torn = parse_jsonl(b'{"a": 1}\n{"a": ', "f")[-1].problem
    glued = parse_jsonl(b'{"a": 1}\n{"a": 2}', "f")[-1]
    assert torn is not None
    assert torn.what.startswith("torn tail, 6 bytes")
    assert glued.value == {"a": 2}
    assert glued.problem is not None
    assert glued.problem.severity == "warning"


def test_a_lone_surrogate_is_refused_in_new_text_and_kept_in_text_that_was_read():
    with pytest.raises(BadInput, match="lone surrogate"):
        dump_line({"text": "a\ud800"})
    line = b'{"text": "a\\ud800", "b": "\xc3\xa9"}\n'
    (record,) = parse_jsonl(line, "f")
    assert record.value is not None
    assert dump_line_as_read(record.value) == line


def test_a_value_that_is_no_json_is_refused():
    with pytest.raises(BadInput, match="JSON cannot hold"):
        dump_line({"a": object()})
