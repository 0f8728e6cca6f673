"""Words and patterns that are data: the tables of `packs`, each file read when something of it is first asked for.

A table of words has a line for each meaning, with all words of that meaning: `1 = "a|an|one"`. A pattern is written
over as many lines as it needs; white space at their ends does not count, and `<name>` in it stands for another text or
for all words of a table of the same file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

_NAMED = re.compile(r"(?<!\(\?P)<(\w+)>")


@lru_cache(None)
def table(file: str) -> dict[str, Any]:
    """Return what stands in `packs/{file}.toml`, or in a file that a search of words needs, `packs/{file}.json`."""
    path = Path(__file__).with_name("packs") / f"{file}.toml"
    if not path.is_file():
        body: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        return body
    import tomllib  # 5 ms that a search must not pay

    return tomllib.loads(path.read_text(encoding="utf-8"))


@lru_cache(None)
def words(file: str, name: str) -> frozenset[str]:
    """Return the words of a text of that file, which are separated by white space."""
    return frozenset(table(file)[name].split())


@lru_cache(None)
def meanings(file: str, name: str) -> dict[str, str]:
    """Return what each word of a table of that file means."""
    return {word: meaning for meaning, alike in table(file)[name].items() for word in _joined(alike).split("|")}


class _Patterns(dict[str, re.Pattern[str]]):
    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def __missing__(self, name: str) -> re.Pattern[str]:
        self[name] = re.compile(_filled(self._file, name), re.IGNORECASE)
        return self[name]


def patterns(file: str) -> Callable[[str], re.Pattern[str]]:
    """Return what gives the patterns of that file by name; each is compiled when it is first asked for, and looks at no
    case but within `(?-i:…)`."""
    return _Patterns(file).__getitem__


def _joined(text: str) -> str:
    """A text of a table without the breaks of its lines."""
    return "".join(line.strip() for line in text.splitlines())


def _filled(file: str, name: str) -> str:
    """A text of that file with what it names, or all words of a table, the longer ones first."""
    body = table(file)[name]
    if isinstance(body, dict):
        return "|".join(map(re.escape, sorted(meanings(file, name), key=len, reverse=True)))
    return _NAMED.sub(lambda found: _filled(file, found[1]), _joined(body))
