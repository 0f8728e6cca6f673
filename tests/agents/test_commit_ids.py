from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.archive import decode_short_id


@given(st.text("0123456789abcdef", min_size=4, max_size=4))
def test_an_old_id_gives_the_four_digits_it_was_made_of(digits):
    assert decode_short_id(digits.encode().hex()) == digits


@pytest.mark.parametrize(
    "text", ["a51039c0", "9847f2a3", "3552", "3335353", "33353532aa", "", "revert me", "３３３５３５３２"]
)
def test_another_text_stays_as_it_is(text):
    assert decode_short_id(text) == text


def test_the_id_in_a_real_revert():
    assert decode_short_id(" 33353532 ") == "3552"
