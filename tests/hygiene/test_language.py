"""Sentences of people are read in one place: `nanomem_tui/language`."""

import ast
import re

import pytest

from nanomem_tui.language.tokens import is_common
from tests.hygiene.repository import ROOT

pytestmark = pytest.mark.slow

WORDS = 3
"""Words of a language in one pattern that make it a pattern of sentences."""
EXCEPTIONS = {
    "memory/lessons.py": "what tools print when they fail",
    "review/leaks.py": "names of mailboxes",
    "memory/safety.py": "commands of a shell",
    "memory/transfer/crystallized.py": "names of fields of another program",
    "purge/texts.py": "names of fields that hold secrets",
}
_WORD = re.compile(r"[^\W\d_]{3,}")


def patterns(tree):
    """The line and the text of each regular expression of a module."""
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re":
            texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
            yield node.lineno, " ".join(one for one in texts if isinstance(one, str))


def words_of(pattern):
    """The words of a language in a pattern."""
    plain = re.sub(r"\\.|\(\?P?<?\w*>?", " ", pattern)
    found = {word.lower() for word in _WORD.findall(plain)}
    return {word for word in found if not word.isascii() or is_common(word)}


def test_no_pattern_of_sentences_stands_outside_the_package_that_reads_them():
    found = set()
    for path in sorted((ROOT / "nanomem_tui").rglob("*.py")):
        name = path.relative_to(ROOT / "nanomem_tui").as_posix()
        if not name.startswith("language/"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {name for _, pattern in patterns(tree) if len(words_of(pattern)) >= WORDS}
    assert found == set(EXCEPTIONS)
