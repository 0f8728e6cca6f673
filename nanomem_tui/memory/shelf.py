"""Passages kept in RAM for recall, by the file they are from: added where a file grew, made anew where it changed.

Owns how much is kept. Knows no file's form and opens none: whoever reads it hands over its passages and its stamp.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from nanomem_tui.memory.sequences import OrderedRecall, Passage

MOST_PASSAGES = 50_000
MOST_CHARACTERS = 16_000_000
"""What one source may keep in RAM, the newest of it."""

_STEP = 64  # passages between two looks whether anybody still waits
_STRIDE = 1_000  # a beginning that moved with every passage would make the index anew each time


class Room:
    """How much may still be kept."""

    def __init__(self) -> None:
        self._passages, self._characters = MOST_PASSAGES, MOST_CHARACTERS

    @property
    def full(self) -> bool:
        """Whether nothing more fits."""
        return self._passages <= 0 or self._characters <= 0

    def take(self, passages: list[Passage]) -> list[Passage]:
        """The last of these passages that fit; of more, the beginning moves by `_STRIDE` passages while they grow."""
        start = len(passages)
        while start and not self.full:
            start -= 1
            self._passages -= 1
            self._characters -= len(passages[start].text)
        return passages[-(-start // _STRIDE) * _STRIDE :] if start else passages


class _File:
    def __init__(self) -> None:
        self.stamp: object = None
        self.passages: list[Passage] = []


class Shelf:
    """The passages of one source in one index, by the file they are from."""

    def __init__(self, roles: Collection[str] = ()) -> None:
        self._roles = roles
        self.index = OrderedRecall(roles=roles)
        self._files: dict[str, _File] = {}
        self._dropped = 0
        self.state: object = None
        self.left_out: list[str] = []

    def known(self, name: str, stamp: object) -> list[Passage] | None:
        """The passages of a file when it is in that state, else None."""
        file = self._files.get(name)
        return file.passages if file is not None and file.stamp == stamp else None

    def put(self, name: str, stamp: object, passages: list[Passage], stop: Callable[[], bool]) -> bool:
        """Keep these passages of a file; what it had already stays when they begin with that. False: stopped."""
        file = self._files.get(name)
        if file is not None and file.passages is not passages:
            if passages[: len(file.passages)] != file.passages:
                self.drop(name)
                file = None
        file = file or self._files.setdefault(name, _File())
        if file.passages is not passages:
            for number, passage in enumerate(passages[len(file.passages) :], 1):
                if number % _STEP == 0 and stop():
                    file.stamp = None
                    return False
                self.index.add(passage)
                file.passages.append(passage)
        file.stamp = stamp
        return True

    def drop(self, name: str) -> None:
        """Forget a file."""
        file = self._files.pop(name, None)
        if file is not None:
            for session in {passage.session for passage in file.passages}:
                self.index.forget(session)
            self._dropped += len(file.passages)

    def keep_only(self, names: Collection[str]) -> None:
        """Forget every file but these."""
        for name in [name for name in self._files if name not in names]:
            self.drop(name)

    def tidy(self) -> None:
        """Make the index anew when most of it is forgotten."""
        if self._dropped > max(1_000, len(self.index) // 2):
            self.index = OrderedRecall((one for file in self._files.values() for one in file.passages), self._roles)
            self._dropped = 0
