"""Tables of words and patterns: what reads them takes no longer on a long run of one character than on other text."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date

import pytest

from nanomem_tui.language import cues, dates, pack_files, sentences, tokens
from nanomem_tui.language.statements import values

LONG = [part * (20_000 // len(part)) for part in ("x", " ", "x ", "1", ".", "一", "“", "1x")]
READERS: dict[str, Callable[[str], object]] = {
    "absolute": lambda text: dates.absolute(text, "2026-03-02"),
    "annotated": lambda text: dates.annotated(text, "2026-03-02"),
    "told": lambda text: dates.find_relative_dates(text, date(2026, 3, 2)),
    "is_over": lambda text: dates.is_over(text, "2026-03-02"),
    "values": values.values,
    "split": sentences.split,
    "tokens": tokens.tokens,
    "query_weights": tokens.query_weights,
    "shape": cues.shape,
    "waits_for": cues.waits_for,
    "asked_speaker": cues.asked_speaker,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("text", LONG, ids=lambda text: ascii(text[:2]))
def test_a_long_run_of_characters_is_read_at_once(name, text):
    for one in (text, f"tomorrow {text} in 3 days?"):
        begin = time.process_time()
        READERS[name](one)
        assert time.process_time() - begin < 3, name


def test_a_word_of_a_table_has_one_meaning():
    for file, names in {"dates": ("days", "turns", "numbers", "units", "phrases"), "word-forms": ("forms",)}.items():
        for name in names:
            words = "|".join("".join(one.splitlines()) for one in pack_files.table(file)[name].values()).split("|")
            assert sorted(words) == sorted(set(words)), (file, name)
