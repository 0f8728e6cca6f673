"""Words and patterns that are data: the files of `packs`, each of them read when something of it is first asked for.

A list of words is a text with white space between them. A table of words has a line for each meaning, with all words of
that meaning: `1 = "a|an|one"`. A pattern is a regular expression in which capital letters are as small ones, but within
`(?-i:…)`; or a list of such, one of which has to fit. `<name>` in it stands for another entry, as that is written: one
with a bar in it needs brackets around its name, `(?:<name>)`. For a table of words it is all of its words. A pattern
may have several lines: a line break and the blanks after it count for nothing, blanks before it count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

_NAMED = re.compile(r"(?<!\(\?P)<([A-Za-z_]{2,})>")
_BREAK = re.compile(r"\n *")


def read(file: str) -> dict[str, Any]:
    """Return what stands in `packs/{file}.toml` or `packs/{file}.json`, nothing where there is neither; for one who
    keeps another form of it."""
    path = Path(__file__).with_name("packs") / f"{file}.json"
    if path.is_file():
        body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return body
    path = path.with_suffix(".toml")
    if not path.is_file():
        return {}
    import tomllib  # 5 ms that a search must not pay: what it needs is JSON

    return tomllib.loads(path.read_text(encoding="utf-8"))


@lru_cache(None)
def table(file: str) -> dict[str, Any]:
    """Return the same, read once; nobody may change it.

    >>> sorted(table("orders"))
    ['ways', 'words']
    """
    return read(file)


@lru_cache(None)
def words(file: str, name: str) -> frozenset[str]:
    """Return the words of a list of that file."""
    return frozenset(table(file)[name].split())


@lru_cache(None)
def meanings(file: str, name: str) -> dict[str, str]:
    """Return what each word of a table of that file means."""
    return _meanings(table(file)[name])


def patterns(file: str) -> Callable[[str], re.Pattern[str]]:
    """Return what gives the patterns of that file by name; each is compiled when it is first asked for.

    >>> patterns("todos")("done").search("All DONE")[0]
    'DONE'
    """
    return _Patterns(file).__getitem__


def expand(entry: str | Iterable[str] | Mapping[str, str], parts: Mapping[str, Any]) -> str:
    """Return an entry as the text of a pattern, on one line, with what it names of `parts`; of a table of words all of
    them, the longer ones first.

    >>> expand(["no <thing>", "never"], {"thing": {"1": "one|once"}})
    'no once|one|never'
    """
    if isinstance(entry, str):
        return _NAMED.sub(lambda found: expand(parts[found[1]], parts), _BREAK.sub("", entry))
    if isinstance(entry, Mapping):
        return "|".join(map(re.escape, sorted(_meanings(entry), key=len, reverse=True)))
    return "|".join(expand(one, parts) for one in entry)


class _Patterns(dict[str, re.Pattern[str]]):
    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def __missing__(self, name: str) -> re.Pattern[str]:
        body = table(self._file)
        self[name] = re.compile(expand(body[name], body), re.IGNORECASE)
        return self[name]


def _meanings(rows: Mapping[str, str]) -> dict[str, str]:
    return {word: meaning for meaning, alike in rows.items() for word in _BREAK.sub("", alike).split("|")}


# Whether a text is worth a costly pattern, told by its words: each word is looked at once for all texts that hold it.

MOST_WORDS = 20_000
_DIGIT = re.compile(r"\d")


def is_worth_knowing(word: str, known: int) -> bool:
    """Whether a word that was judged is kept, where so many are known: one with a number in it hardly comes again."""
    return known < MOST_WORDS and len(word) < 24 and _DIGIT.search(word) is None


class MetWords:
    """Texts whose words all are known to tell nothing are passed over at the cost of splitting them. Thread-safe."""

    def __init__(self, telling: re.Pattern[str]) -> None:
        """`telling`: what a word has that makes its text worth a look."""
        self._telling = telling
        self._plain: set[str] = set()

    def tell(self, text: str) -> bool:
        """Whether a word of the text is a telling one."""
        words = text.split()
        if self._plain.issuperset(words):
            return False
        for word in set(words) - self._plain:
            if self._telling.search(word):
                return True
            if is_worth_knowing(word, len(self._plain)):
                self._plain.add(word)
        return False
