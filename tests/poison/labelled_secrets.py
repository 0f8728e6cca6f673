"""Texts with a secret in ten languages, and texts that only look like one: tests/data/secrets.jsonl.

No value is a real credential: bodies are random. A value lies there in parts, so that no scanner takes the file for a
leak. `held_out`: the half that was not looked at while the patterns were written.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).resolve().parents[1] / "data" / "secrets.jsonl"
LANGUAGES = {"en", "zh", "de", "es", "fr", "pt", "it", "ru", "ja", "ko"}


class Labelled(NamedTuple):
    """One text, its secret (empty: it has none), and what it is an example of."""

    text: str
    value: str
    kind: str
    language: str
    carrier: str
    held_out: bool

    def is_open(self, text: str) -> bool:
        """Whether the secret, or a word of it, can be read in a text."""
        words = [word for word in re.split(r"[\s,]+", self.value) if len(word) >= 4]
        return self.value in text or any(word in text for word in words)


def labelled() -> list[Labelled]:
    """All of them."""
    found = []
    for line in FILE.read_text("utf-8").splitlines():
        row = json.loads(line)
        value = "".join(row["value"])
        text = row["text"].replace("{}", value) if value else row["text"]
        found.append(Labelled(text, value, row["kind"], row["language"], row["carrier"], row["held_out"]))
    return found


def secrets() -> list[Labelled]:
    """Those with a secret."""
    return [one for one in labelled() if one.value]


def lookalikes() -> list[Labelled]:
    """Those without."""
    return [one for one in labelled() if not one.value]
