"""The patterns of `packs/*.toml`: each is a regular expression over several lines, and `<name>` in it is another one of
the same file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

_NAMED = re.compile(r"(?<!\(\?)(?<!P)<(\w+)>")


@lru_cache(64)
def load_toml(name: str) -> dict[str, Any]:
    """Return what a file of `packs/` holds, nothing where there is none. `name`: without `.toml`."""
    file = resources.files(__package__).joinpath("packs", f"{name}.toml")
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


@lru_cache(16)
def load_json(name: str) -> dict[str, Any]:
    """Return what a file of `packs/` holds, and keep it. `name`: without `.json`."""
    return read_json(name)


def read_json(name: str) -> dict[str, Any]:
    """Read a file of `packs/` of which another form is kept. `name`: without `.json`."""
    text = resources.files(__package__).joinpath("packs", f"{name}.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


class PatternFile:
    """The patterns of a file, each compiled when it is first asked for. Letters match in either case."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self._patterns: dict[str, re.Pattern[str]] = {}

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return a pattern; one that the file has not is found nowhere."""
        if name not in self._patterns:
            self._patterns[name] = self.compiled(self._body.get(name, "(?!)"))
        return self._patterns[name]

    def compiled(self, form: str) -> re.Pattern[str]:
        """Return a form as a pattern, with those that it names."""
        form = form.replace("\n", "")
        while _NAMED.search(form):
            form = _NAMED.sub(lambda found: f"(?:{self.named(found[1])})", form).replace("\n", "")
        return re.compile(form, re.IGNORECASE)

    def named(self, name: str) -> str:
        """Return the form that a name in angle brackets stands for."""
        return str(self._body[name])


@lru_cache
def patterns(name: str) -> PatternFile:
    """Return the patterns of a file of `packs/`."""
    return PatternFile(load_toml(name))
