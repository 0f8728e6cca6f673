"""The quick look for orders lets through to the patterns whatever these find something in."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.language import injection, secrets
from nanomem_tui.review.finders.texts import CLEAN, HIDDEN, Sieve
from tests.review.junk import HELD_OUT, PARTS, labelled, secrets_of

SIEVE = Sieve()


def looked(text):
    """What is found where the sieve decides how to look."""
    may_hold = SIEVE.may_hold(text)
    return injection.reason(text, hidden=may_hold == HIDDEN) if may_hold else ""


TEXTS = [one.item.text for one in labelled(PARTS) + labelled(HELD_OUT)]
ORDERS = [text for text in TEXTS if injection.reason(text)]
WAYS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    str.upper,
    lambda text: codecs.encode(text, "rot13"),
    lambda text: text[::-1],
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: text.encode().hex(),
    lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    lambda text: " ".join(text),
    lambda text: ".".join(text),
    lambda text: text.replace("o", "0").replace("i", "1"),
    lambda text: text.replace(" ", "\n\t "),
)


@given(st.sampled_from(ORDERS), st.sampled_from(WAYS), st.text(max_size=30), st.text(max_size=30))
def test_an_order_is_never_clean_however_it_is_hidden(order, hide, before, after):
    text = f"{before} {hide(order)} {after}"
    assert looked(text) == injection.reason(text), text


WORDS = [*injection.signs(), *"the to of you all and ai x".split()]


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_words_of_orders_side_by_side_are_never_clean_where_a_pattern_fits(words):
    text = " ".join(words)
    assert looked(text) == injection.reason(text), text


def test_the_samples_of_the_safety_rules_are_let_through():
    source = (Path(__file__).resolve().parents[1] / "memory" / "test_safety.py").read_text(encoding="utf-8")
    missed = [line for line in source.splitlines() if looked(line) != injection.reason(line)]
    assert missed == []


def test_no_secret_of_the_samples_is_passed_over():
    folder = Path(__file__).resolve().parents[1] / "memory"
    lines = [
        line for name in ("test_secrets.py", "test_safety.py") for line in (folder / name).read_text().splitlines()
    ]
    found = [line for line in (*lines, *TEXTS) if secrets.find(line)]
    assert len(found) > 80
    assert [line for line in found if not secrets_of(line)] == []


def test_half_of_what_is_no_order_is_clean_at_once():
    plain = [text for text in TEXTS if text.isascii() and not injection.reason(text)]
    clean = sum(SIEVE.may_hold(text) == CLEAN for text in plain) / len(plain)
    assert clean > 0.5, clean
