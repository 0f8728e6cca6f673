"""A token is compared in one place, in a time that tells nothing of it, and by no server otherwise."""

from __future__ import annotations

import ast
import hmac
from pathlib import Path

import pytest

from nanomem_tui import servers
from nanomem_tui.servers import http

SECRET = {"word", "_word", "token", "_token", "ticket", "_ticket", "wanted", "given", "cookie", "secret"}
WORD = "s3cret-word-of-24-letters"


def names(node):
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr


def compared(source):
    """The comparisons for equality in a module that name a secret."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
        and any(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops)
        and SECRET & {name for side in (node.left, *node.comparators) for name in names(side) if _is_value(side)}
    ]


def _is_value(side):
    return isinstance(side, ast.Name | ast.Attribute | ast.Subscript)


def test_no_server_compares_a_token_by_itself():
    assert compared("if given == self._word: pass") == ["given == self._word"]
    folder = Path(servers.__file__).parent
    found = {path.name: lines for path in folder.glob("*.py") if (lines := compared(path.read_text("utf-8")))}
    assert found == {}


def test_it_is_compared_in_constant_time(monkeypatch):
    asked: list[tuple[bytes, bytes]] = []

    def compare(one, other):
        asked.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(http, "compare_digest", compare)
    assert http.token_matches(WORD, WORD)
    assert not http.token_matches(WORD[:-1], WORD)
    assert asked == [(WORD.encode(), WORD.encode()), (WORD[:-1].encode(), WORD.encode())]


@pytest.mark.parametrize(
    "given", ["", " ", WORD[:-1], WORD + "x", WORD.upper(), f" {WORD}", WORD + "\0", "\ud800", "字" * 24, "x" * 100_000]
)
def test_what_is_not_the_token_does_not_match(given):
    assert not http.token_matches(given, WORD)
