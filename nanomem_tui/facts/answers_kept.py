"""What a model said of messages that it has read, so that no run pays for the same message twice.

Owns one file of ours for each workspace, which can be lost without harm: then the model is asked again. A message is
known by a digest of what the model was shown of it; of its words only the facts are kept that the model named.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import NanomemError

FOLDER = "crystallize"
"""The folder of these files in nanomem's own."""
MOST = 10_000
"""Messages that are kept, the newest answers."""
Facts = Sequence[Mapping[str, Any]]


class AnswersKept:
    """The answers of one model about the messages of one workspace. `asked_as`: the instructions that it was given;
    other instructions or another model are other answers."""

    def __init__(self, file: Path, model: str, asked_as: str) -> None:
        self._file = file
        self._head = f"{model}\0{asked_as}\0"
        self._known: dict[str, Facts] = _read(file)

    def of(self, shown: str) -> Facts | None:
        """Return the facts that the model named of a message, None where it was not asked about it."""
        return self._known.get(self._key(shown))

    def keep(self, answers: Mapping[str, Facts]) -> None:
        """Keep the facts of messages, by what was shown of them. A failure costs nothing but the next question."""
        for shown, facts in answers.items():
            self._known.pop(key := self._key(shown), None)
            self._known[key] = [dict(fact) for fact in facts]
        self._known = dict(list(self._known.items())[-MOST:])
        with contextlib.suppress(OSError, NanomemError):
            atomic.make_folder(self._file.parent)
            atomic.write_atomic(self._file, json.dumps(self._known, ensure_ascii=False).encode())

    def _key(self, shown: str) -> str:
        return hashlib.sha256(f"{self._head}{shown}".encode("utf-8", "surrogatepass")).hexdigest()


def _read(file: Path) -> dict[str, Facts]:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        value = files.loads(files.read(file))
        if isinstance(value, dict):
            return {key: facts for key, facts in value.items() if isinstance(facts, list) and all(map(_is_fact, facts))}
    return {}


def _is_fact(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("category", "key", "value"))
