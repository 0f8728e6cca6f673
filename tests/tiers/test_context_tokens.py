"""What counts tokens: an estimate that is near for each script, or a tokenizer that is here; never the network."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.tiers import context
from nanomem_tui.tiers.context import estimate_tokens, make_counter

COUNTED = (  # by the vocabulary cl100k_base
    ("The quick brown fox jumps over the lazy dog, and nobody was surprised by that at all.", 19),
    ("def assemble(self, task: str, max_tokens: int | None = None) -> Context:\n    return Context(task)\n", 25),
    ('{"id":"ev_1771234567890_12","at":"2026-02-15T09:30:12.123456+00:00","value":93.5,"unit":"%"}', 45),
    ("数据库连接超时，重启服务之后恢复正常。", 16),
    ("データベースへの接続がタイムアウトしました。", 22),
    ("데이터베이스 연결 시간이 초과되었습니다.", 17),
    ("Сервер базы данных не отвечает, попробуйте позже.", 22),
    ("ฐานข้อมูลไม่ตอบสนอง กรุณาลองใหม่", 28),
    ("Der Datenbankserver antwortet nicht, bitte versuchen Sie es später noch einmal.", 18),
)


@pytest.fixture(autouse=True)
def _anew() -> Any:
    make_counter.cache_clear()
    yield
    make_counter.cache_clear()


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_the_estimate_is_near_and_nearer_than_a_quarter_of_the_bytes(text: str, tokens: int) -> None:
    assert abs(estimate_tokens(text) - tokens) <= 0.5 * tokens
    total = sum(tokens for _, tokens in COUNTED)
    ours = sum(abs(estimate_tokens(text) - tokens) for text, tokens in COUNTED)
    bytes_over_four = sum(abs(len(text.encode()) / 4 - tokens) for text, tokens in COUNTED)
    assert ours < 0.15 * total < bytes_over_four


@given(st.text(max_size=60), st.text(max_size=60))
def test_more_text_is_not_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens(f"{one}\n{other}") >= estimate_tokens(one) - 1
    assert estimate_tokens(one) >= (1 if one.strip() else 0)


def _tiktoken(monkeypatch: pytest.MonkeyPatch, here: set[str]) -> ModuleType:
    """A tiktoken whose vocabularies are fetched, but for those that are `here`."""
    load = SimpleNamespace(read_file=lambda path: pytest.fail("the network was asked"))

    def get_encoding(name: str) -> Any:
        load.read_file(__file__ if name in here else f"https://somewhere/{name}")
        return SimpleNamespace(encode_ordinary=str.split)

    module = ModuleType("tiktoken")
    module.load = load  # type: ignore[attr-defined]
    module.get_encoding = get_encoding  # type: ignore[attr-defined]
    module.list_encoding_names = lambda: ["gpt2", "cl100k_base", "o200k_base", "cl100k_base_copy"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", module)
    monkeypatch.setitem(sys.modules, "tiktoken.load", load)
    return module


def test_a_vocabulary_that_is_here_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _tiktoken(monkeypatch, {"cl100k_base_copy", "gpt2"})
    fetch = module.load.read_file
    assert make_counter().name == "tiktoken cl100k_base_copy"
    assert make_counter().count("three words \ud800") == 3
    assert module.load.read_file is fetch


def test_one_that_would_have_to_be_fetched_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    _tiktoken(monkeypatch, set())
    assert make_counter() == ("an estimate by script", estimate_tokens)


def test_without_tiktoken_the_estimate_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert make_counter().name == "an estimate by script"


def test_a_text_that_looks_like_a_mark_of_a_model_is_text() -> None:
    assert context.estimate_tokens("<|endoftext|>") > 3
