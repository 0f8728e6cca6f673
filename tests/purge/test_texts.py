"""Texts without what is sought: JSON stays JSON, checksums fit, nothing else changes a byte."""

from __future__ import annotations

import json
import time
import zlib
from collections import Counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nanomem_tui.core.paths import find_workspace
from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.purge.matchers import Marks, Secrets, Words
from nanomem_tui.purge.texts import in_bytes, in_value
from nanomem_tui.store import forgotten

NEEDLE = "Quxwhalery painting"
WORDS = Words([NEEDLE])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def paths(tmp_path):
    """An empty workspace of its own."""
    (tmp_path / "memory").mkdir()
    return find_workspace(tmp_path, starting=True)


def cleaned(data, sought=WORDS, **more):
    found: Counter[str] = Counter()
    return in_bytes(data, sought, found, **more), found


@given(JSON)
def test_what_holds_none_of_it_is_the_same_value(value):
    assert in_value(value, WORDS, Counter()) is value


@given(st.binary(max_size=400))
def test_what_holds_none_of_it_is_the_same_bytes(data):
    assert cleaned(data) == (data, Counter())


@given(st.lists(JSON, max_size=5), st.text(max_size=20), st.booleans(), st.booleans())
def test_nothing_of_it_is_left_in_lines_and_each_stays_json(values, around, plain, tight):
    lines = [
        {"id": number, "said": [value, {around: f"{around} {NEEDLE}, {around}"}]} for number, value in enumerate(values)
    ]
    form: dict[str, Any] = {"ensure_ascii": plain, "separators": (",", ":") if tight else None}
    text = "".join(json.dumps(line, **form) + "\n" for line in lines)
    after, found = cleaned(text.encode("utf-8", "surrogatepass"))
    assert found["text"] == len(values)
    assert NEEDLE.encode() not in after
    read = [json.loads(line) for line in after.decode("utf-8", "surrogatepass").split("\n") if line]
    assert [line["id"] for line in read] == list(range(len(values)))
    assert [line["said"][0] for line in read] == [json.loads(json.dumps(value)) for value in values]


def test_a_line_with_a_checksum_gets_one_that_fits():
    body = json.dumps({"id": "op_1", "text": f"a {NEEDLE}"}, separators=(",", ":")).encode()
    line = b'{"c":"%08x","r":%b}\n' % (zlib.crc32(body), body)
    after, _ = cleaned(line * 2)
    for one in after.split(b"\n")[:-1]:
        assert one[6:14] == b"%08x" % zlib.crc32(one[20:-1])
        assert json.loads(one)["r"] == {"id": "op_1", "text": f"a {FORGOTTEN}"}


@pytest.mark.parametrize("text", ["QUXWHALERY  PAINTING", "quxwhalery\npainting", "Quxwhalery\t painting"])
def test_case_and_spaces_do_not_hide_it(text):
    assert NEEDLE.split()[0].lower() not in cleaned(f"# T\n\n- a\n- b {text} c\n- d\n".encode())[0].decode().lower()
    assert cleaned(f"# T\n\n- a\n- b {text} c\n- d\n".encode())[0] == b"# T\n\n- a\n- d\n"


def test_json_in_json_and_a_file_of_one_value_keep_their_form():
    inner = json.dumps({"deep": json.dumps({"deeper": f"x {NEEDLE}"})})
    whole = json.dumps({"version": 1, "items": [{"arguments": inner}]}, indent=2).encode()
    after, found = cleaned(whole)
    assert found["text"] == 1
    assert after.startswith(b'{\n  "version": 1,')
    assert json.loads(json.loads(json.loads(after)["items"][0]["arguments"])["deep"]) == {"deeper": f"x {FORGOTTEN}"}


def test_a_torn_line_is_cleaned_as_text_and_bad_bytes_stay():
    after, _ = cleaned(b'{"a": 1}\n{"b": "x Quxwhalery painting\xff\n{"c": 2}\n')
    assert after == b'{"a": 1}\n{"b": "x [forgotten]\xff\n{"c": 2}\n'


def test_a_password_is_known_by_the_word_before_it():
    line = json.dumps({"role": "tool", "arguments": {"password": "hunter2-Blue99", "host": "db1"}}).encode() + b"\n"
    after, found = cleaned(line, Secrets())
    assert json.loads(after)["arguments"]["host"] == "db1"
    assert b"hunter2" not in after
    assert [name.split(" #")[0] for name in found] == ["password"]


def test_lines_of_a_sender_go_and_in_a_transcript_stay_without_words():
    sought = Words([], Marks(senders=frozenset({"u7"}), sessions=frozenset({"telegram:7"})))
    said = {"role": "user", "content": "secret plan", "sender_id": "u7", "timestamp": "t"}
    lines = "".join(json.dumps(one) + "\n" for one in ({"role": "user", "content": "hi"}, said)).encode()
    assert cleaned(lines, sought)[0] == b'{"role": "user", "content": "hi"}\n'
    kept = cleaned(lines, sought, redact=True)[0].decode().split("\n")
    assert json.loads(kept[1])["content"] == FORGOTTEN
    assert b"secret plan" not in cleaned(lines, sought, redact=True)[0]
    assert in_value({"telegram:7": [1], "cli:x": [2]}, sought, Counter()) == {"cli:x": [2]}


def test_many_texts_are_found_as_few_are():
    many = Words([f"text number {number} of many" for number in range(500)] + [NEEDLE])
    found: Counter[str] = Counter()
    assert many.clean(f"a {NEEDLE.lower()} and text  number 77\nof many.", found) == f"a {FORGOTTEN} and {FORGOTTEN}."
    assert found["text"] == 2


@pytest.mark.parametrize("cut", ["Quxwhale…", "a quxwhalery  p...", "“Quxwhalery\npaintin…”", "Quxwhalery painting…"])
def test_the_beginning_of_it_is_known_where_the_rest_was_cut(cut):
    found: Counter[str] = Counter()
    cleaned = WORDS.clean(f"add {cut} yes", found)
    assert "uxwhale" not in cleaned.lower()
    assert "add " in cleaned
    assert " yes" in cleaned
    assert found["text"] == 1
    assert WORDS.clean("Quxwh… is another thing…", Counter()) == "Quxwh… is another thing…"


@pytest.mark.parametrize(
    ("sought", "holds", "holds_not"),
    [
        ("Mum", ["Mum's birthday", "my mum.", "MUM", "_mum_"], ["Mumbai", "maximum", "xmum"]),
        ("blue bike", ["blue-bike", "Blue  Bike", "blue_bike", "ｂｌｕｅ　ｂｉｋｅ", "“blue” bike", "blue\u200b bike"],
         ["blue bikes", "bluebike", "a blue", "bike blue"]),
        ("小明的", ["我是小明的朋友", "a小明的b"], ["小明"]),
        ("C++", ["I like C++.", "c++11 is", "(C++)"], ["vitamin C", "C+", "Abc++"]),
        ("CAFÉ nord", ["the café-nord", "cafe\u0301 Nord"], ["cafe nord"]),
        ("It is so.", ["it is so", "It is so, really"], ["it is sober"]),
        ("#tag", ["a #tag", "x#tag"], ["tag", "#tags"]),
    ],
)  # fmt: skip
def test_a_text_is_met_in_whole_words_whatever_their_form_and_by_the_gate_alike(sought, holds, holds_not, paths):
    words = Words([sought])
    forgotten.add(paths, "receipt_1", {"text": [sought]})
    gate = forgotten.load(paths)
    for text in holds:
        assert (words.clean(text, Counter()) != text, gate.text(text) is not None) == (True, True), text
    for text in holds_not:
        assert (words.clean(text, Counter()), gate.text(text)) == (text, None), text


@given(st.text(alphabet="ab c-_.…é中+\n", max_size=12), st.text(alphabet="ab c-_.…é中+\n", min_size=3, max_size=5))
def test_gate_and_search_agree(text, sought):
    words, run = Words([sought]), forgotten.run_of(sought)
    assume(run.words and words.texts and "…" not in text and "..." not in text)
    salt = b"salt"
    digest = forgotten.mark_digest(salt, "signs" if run.signed else "words", " ".join(run.words))
    mark = forgotten.Mark("signs" if run.signed else "words", len(run.words), digest, "r")
    assert (words.clean(text, Counter()) != text) == (forgotten.Forgotten(salt, (mark,)).text(text) is not None)


def test_what_was_forgotten_by_an_earlier_version_stays_forgotten():
    digest = forgotten.mark_digest(b"salt", "text", "the blue bike")
    kept = forgotten.Forgotten(b"salt", (forgotten.Mark("text", 3, digest, "r"),))
    assert kept.text("Is it the blue-bike?") is not None
    assert kept.text("the blue car") is None


def test_the_letter_of_an_escape_in_a_torn_line_is_no_part_of_the_word():
    after, found = cleaned(b'{"a": 1}\n{"b": "x\\nquxwhalery painting\\n')
    assert (b"quxwhalery" in after, found["text"]) == (False, 1)


def test_hundreds_of_long_texts_cost_no_more_than_one():
    many = Words([f"message {number} of the conversation says {number * 7} long and tedious words" * 3
                  for number in range(400)])  # fmt: skip
    lines = [f"something else that was said on day {number}… and so on" for number in range(4_000)]
    began = time.process_time()
    for line in lines:
        many.clean(line, Counter())
    assert time.process_time() - began < 2
