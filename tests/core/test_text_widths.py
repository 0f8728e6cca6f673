"""Text that was made safe is as wide as it is reckoned, by the tables of a terminal, however it is cut."""

import random

import pytest
from wcwidth import wcswidth

from nanomem_tui.core.text import cell_width, one_line, pad, safe_text, wrap

SIGNS = (
    "a", "b", " ", "é", "記", "한", "ทำ", "สวั", "سَ", "ﾊﾞ", "か\u3099", "\u0301", "\u20e3", "\u1112\u1161\u11ab", "ㅎ",
    "1",    "👍", "👩", "🌈", "🏳", "❤", "☺", "⌚", "⚡", "⚕", "☝", "🏽", "🏿", "🇯", "🇵", "\u200d", "\ufe0f", "\ufe0e",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_any_mixture_is_as_wide_as_it_is_reckoned(seed):
    dice = random.Random(seed)
    for _ in range(2_500):
        text = "".join(dice.choices(SIGNS, k=dice.randint(1, 8)))
        safe, width = safe_text(text), dice.randint(1, 9)
        assert safe_text(safe) == safe
        assert wcswidth(safe) == cell_width(safe), ascii(text)
        assert wcswidth(pad(one_line(text, width), width)) == width, (ascii(text), width)
        assert all(wcswidth(line) == cell_width(line) for line in wrap(safe, width + 1)), ascii(text)


def test_a_tone_or_a_flag_letter_alone_is_shown_as_what_it_is():
    assert safe_text("a🏽") == "a⟨U+1F3FD⟩"
    assert safe_text("🇯 🇯🇵🇩") == "⟨U+1F1EF⟩ 🇯🇵⟨U+1F1E9⟩"
    for whole in ("🧑🏽‍🤝‍🧑🏿", "🏳️‍🌈", "🏴‍☠️", "👩🏾‍⚕️", "❤️‍🔥", "🇯🇵🇩🇪", "1️⃣", "☝🏽", "☺︎", "👍🏿"):
        assert safe_text(whole) == whole
