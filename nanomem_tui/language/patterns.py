"""Patterns and lists of words that stand in a file of data (`packs/NAME.toml`).

An entry is a regular expression, in which capital letters are as small ones, or a list of such, one of which has to
fit. `<name>` in it stands for another entry of the file. A line end and the blanks after it count for nothing, so that
a long one may have several lines. A file is read, and a pattern is compiled, when it is first asked for.
"""

from __future__ import annotations

import re
import tomllib
from functools import cached_property
from importlib import resources

_NAMED = re.compile(r"(?<!\(\?)(?<!P)<([a-z_]+)>")


class Patterns:
    """The entries of one file.

    >>> Patterns("todos")["done"].search("all done")[0]
    'done'
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._words: dict[str, frozenset[str]] = {}

    @cached_property
    def _body(self) -> dict[str, str | list[str]]:
        return tomllib.loads(resources.files(__package__).joinpath("packs", f"{self._name}.toml").read_text("utf-8"))

    def __getitem__(self, name: str) -> re.Pattern[str]:
        """Return an entry as a pattern."""
        if name not in self._compiled:
            self._compiled[name] = re.compile(self.form(name), re.IGNORECASE)
        return self._compiled[name]

    def form(self, name: str) -> str:
        """Return an entry as the text of a pattern, with those that it names in it."""
        entry = self._body[name]
        parts = [entry] if isinstance(entry, str) else entry
        joined = "|".join("".join(line.lstrip(" ") for line in part.split("\n")) for part in parts)
        return _NAMED.sub(lambda found: f"(?:{self.form(found[1])})", joined)

    def words(self, name: str) -> frozenset[str]:
        """Return the words of an entry that is a list of words with blanks between them."""
        if name not in self._words:
            self._words[name] = frozenset(str(self._body[name]).split())
        return self._words[name]
