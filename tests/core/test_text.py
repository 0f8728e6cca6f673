"""Untrusted text becomes plain, visible text, and widths agree with what the screen reckons with."""

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nanomem_tui.core.text import cell_width, clusters, counted, cut, cut_quoted, one_line, pad, quoted, safe_text, wrap

ODD = st.sampled_from(
    [
        *"ab \t\n\x1b\x9b\x7f\u200d\u200c\ufe0f\ufe0e\u0301\u093f\u0915\u094d\u202e\ud800\U000e0041漢กำ็1#*",
        *"👩🏽🚀❤🇩🇪\u20e3\u0647\u0645\u180b\U000e0100가\u3164\u2028",
    ]
)
TEXTS = st.text(st.one_of(st.characters(), ODD), max_size=60)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b]52;c;ZXZpbA==\x07", "␛]52;c;ZXZpbA==␇"),
        ("\x9b2J", "\\x9b2J"),
        ("a\rb\x7f", "a␍b␡"),
        ("\u202eevil\u202c", "⟨U+202E⟩evil⟨U+202C⟩"),
        ("pass\u200bword\ufeff", "pass⟨U+200B⟩word⟨U+FEFF⟩"),
        ("hi\U000e0041", "hi⟨U+E0041⟩"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("a\ufe0fb", "a⟨U+FE0F⟩b"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("one\u2028two", "one⟨U+2028⟩two"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_shown(raw, shown):
    assert safe_text(raw) == shown


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\tand tab",
        "👩🏽\u200d🚀 ❤\ufe0f 1\ufe0f\u20e3 🇩🇪",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "क्\u200dष",
        "ന്\u200d",
        "葛\U000e0100",
        "naïve e\u0301",
    ],
)
def test_writing_that_people_use_is_left_alone(text):
    assert safe_text(text) == text


def test_a_tower_of_marks_is_spelt_out():
    shown = safe_text("a" + "\u0301" * 40)
    assert shown.count("\u0301") == 16
    assert shown.count("⟨U+0301⟩") == 24


def test_a_huge_text_is_taken():
    assert safe_text("x\x1b" * 500_000).count("␛") == 500_000
    assert one_line("漢字 " * 500_000, 10) == "漢字 漢字…"


@given(TEXTS)
def test_no_control_character_comes_out_and_twice_is_once(text):
    shown = safe_text(text)
    assert safe_text(shown) == shown
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    shown.encode("utf-8")


@given(TEXTS)
def test_widths_agree_with_the_screen(text):
    shown = one_line(text)
    assert cell_width(shown) == cell_len(shown)
    assert "".join(clusters(shown)) == shown
    assert sum(map(cell_width, clusters(shown))) == cell_len(shown)


@given(TEXTS, st.integers(0, 30))
def test_cut_and_pad_fit_and_never_split_a_character(text, width):
    shown = one_line(text)
    short = cut(shown, width)
    assert cell_len(short) <= width
    assert cell_len(pad(shown, width)) == width
    if short != shown and width:
        kept = list(clusters(short[:-1]))
        assert short.endswith("…")
        assert kept == list(clusters(shown))[: len(kept)]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("👩🏽\u200d🚀👩🏽\u200d🚀", 3, "👩🏽\u200d🚀…"),
        ("🇩🇪🇫🇷", 3, "🇩🇪…"),
        ("🇩🇪🇫🇷", 2, "…"),
        ("กำกำ", 3, "กำ…"),
        ("漢字漢字", 4, "漢…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("plain words", 6, "plain…"),
    ],
)
def test_cut_keeps_whole_characters(text, width, shown):
    # An older rich counts a joined emoji as the sum of its parts.
    assert cut(text, width) == (shown if cell_width(shown) <= width else "…")


def test_pad_aligns_right():
    assert pad("漢", 4, "right") == "  漢"


@given(TEXTS, st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_only_spaces(text, width):
    shown = safe_text(text)
    lines = wrap(shown, width)
    assert all(cell_len(line) <= width for line in lines)
    squeezed = "".join(lines).replace(" ", "")
    assert squeezed == shown.replace("\n", "").replace("\t", "").replace(" ", "")


def test_wrap_breaks_at_spaces():
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert wrap("ein längerer Satz", 10) == ["ein", "längerer", "Satz"]
    assert wrap("", 10) == [""]


def test_every_single_character_has_the_width_of_the_screen():
    assert [c for c in map(chr, range(0x20, 0x3000)) if cell_width(c) != cell_len(c)] == []


def test_plain_text_loads_no_width_table():
    code = (
        "import sys; from nanomem_tui.core.text import cut, safe_text, cell_width;"
        "cut(safe_text('a\\x1b' * 50), 20); cell_width('abc'); print('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_one_is_one_and_many_are_many():
    said = [counted(0, "row"), counted(1, "row"), counted(1234, "row"), counted(2, "entry", "entries")]
    assert said == ["0 rows", "1 row", "1,234 rows", "2 entries"]


@given(st.text(max_size=80), st.integers(1, 60))
def test_a_quotation_is_one_line_that_is_closed(text, limit):
    shown = quoted(text, limit)
    assert (shown[0], shown[-1], shown.count("“"), shown.count("”")) == ("“", "”", 1, 1)
    assert "\n" not in shown
    assert len(shown) <= limit + 3


@given(st.text(st.sampled_from("ab “”漢"), max_size=20), st.integers(0, 30))
def test_what_is_cut_inside_a_quotation_is_closed(text, width):
    label = f"edit “{text.replace('“', '').replace('”', '')}”"
    shown = cut_quoted(label, width)
    assert cell_width(shown) <= max(width, 0)
    assert width < 3 or shown.count("“") == shown.count("”")
