"""The injection log: which items and lessons each real turn was given, and what the turn saved. Both ways.

Owns one append-only file of ours, a line when a turn begins and one when it ends; beyond a size the oldest half goes.
Where the session state is switched off the log holds no words of anybody, and it never holds a secret.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents.jsonl import dump_line, parse_jsonl, text_of, whole
from nanomem_tui.core import atomic, files
from nanomem_tui.core.atomic import append, opened, read_from
from nanomem_tui.core.errors import AccessDenied, BadInput, NanomemError
from nanomem_tui.language import secrets
from nanomem_tui.memory import scopes

MAX_BYTES = 8_000_000
MAX_USER = 400
NEAR = 500
"""Turns of all sessions among which the one before is looked for."""


class Injected(NamedTuple):
    """One turn: `items` and `lessons` are the ids that its block held, `chars` the block's length in characters.

    `ended_at` is empty while the turn is open, and for one that was declined, at `declined_at`; `saved` and `learned`
    are the ids that came of it, `held` those that it only put into the inbox. `related`: which of the items are there
    because they are near in meaning. Times are UTC ISO; `said_on` is the day where it was said,
    `echoes` whether the answer repeats what a tool gave, `older` which turns beyond the window the block held, by the
    session key and the number of their message.
    """

    turn: str
    at: str
    session_key: str
    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None
    message_id: str | None = None
    speaker: str = ""
    user: str = ""
    items: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    chars: int = 0
    ended_at: str = ""
    saved: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    declined_at: str = ""
    related: tuple[str, ...] = ()
    said_on: str = ""
    echoes: bool = False
    older: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it neither ended nor was declined, as far as is known."""
        return not (self.ended_at or self.declined_at)

    @property
    def state_key(self) -> str:
        """The key of its session's state; empty where the session is not of the chat, as older logs may say."""
        try:
            return scopes.state_key(self.session_key, self.channel or "", self.chat_id or "")
        except BadInput:
            return ""


class Injections:
    """The log of one workspace, read piece by piece as it grows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._turns: dict[str, Injected] = {}
        self._read: tuple[int, int] = (0, 0)  # inode and bytes

    def began(self, turn: Injected) -> None:
        """Record what a turn was given. Raises the errors of `from_os_error`."""
        fields = {name: value for name, value in turn._asdict().items() if value not in (None, "", (), 0)}
        self._append({**fields, "user": logged_words(turn.user)} if turn.user else fields)

    def ended(
        self,
        turn: str,
        at: str,
        saved: Sequence[str],
        learned: Sequence[str],
        held: Sequence[str] = (),
        *,
        echoes: bool = False,
    ) -> None:
        """Record what came of a turn; `echoes`: its answer repeats what a tool gave."""
        came: dict[str, Any] = {"saved": list(saved), "learned": list(learned)}
        came |= {"held": list(held)} if held else {}
        came |= {"echoes": True} if echoes else {}
        self._append({"turn": turn, "ended_at": at, **came})

    def declined(self, turn: str, at: str) -> None:
        """Record that a turn was declined: nothing of it is kept, and it cannot be ended."""
        self._append({"turn": turn, "declined_at": at})

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """While it lasts no other process ends a turn of this workspace: whether one has ended is asked, its end kept
        and recorded as one step. Where no lock can be made nothing can be kept either."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(NanomemError):
                stack.enter_context(opened(self._file.with_suffix(".lock"), "ending a turn"))
            yield

    def check(self) -> None:
        """Raise AccessDenied where no turn can be logged: one that began then is not known, and cannot be kept."""
        place = self._file
        while not place.exists() and place != place.parent:
            place = place.parent
        if not os.access(place, os.W_OK):
            raise AccessDenied(
                "no turn can be kept here, as nothing can be written", str(place), "check owner and mode"
            )

    def turns(self, limit: int | None = None, offset: int = 0) -> list[Injected]:
        """The turns, newest first."""
        end = None if limit is None else offset + limit
        return list(islice(reversed(self._load().values()), offset, end))

    def lessons_before(self, state_key: str, turn: str) -> tuple[str, ...]:
        """The lessons that the last turn of a session before this one was given, if it ended not long ago."""
        for one in islice(reversed(self._load().values()), NEAR):
            if one.state_key == state_key and one.turn != turn and one.ended_at:
                return one.lessons
        return ()

    def get(self, turn: str) -> Injected | None:
        """One turn by its id."""
        return self._load().get(turn)

    def of_item(self, key: str) -> list[Injected]:
        """The turns that were given this item or lesson, or from which it came; newest first."""
        return [t for t in self.turns() if key in {*t.items, *t.lessons, *t.saved, *t.learned, *t.held}]

    def _append(self, value: Mapping[str, Any]) -> None:
        size = append(self._file, dump_line(value), "writing the injection log")
        if size > MAX_BYTES:
            self._trim()

    def _trim(self) -> None:
        """The newer half stays."""
        with opened(self._file, "writing the injection log") as handle:
            size = os.fstat(handle).st_size
            if size > MAX_BYTES:
                kept = read_from(handle, size // 2)
                atomic.write_atomic(self._file, kept[kept.find(b"\n") + 1 :])

    def _load(self) -> dict[str, Injected]:
        """Every turn, oldest first; only what was appended since the last look is read."""
        try:
            with files.opened(self._file) as file:
                found = os.fstat(file.fileno())
                inode, done = self._read
                if inode != found.st_ino or found.st_size < done:
                    self._turns, done = {}, 0
                file.seek(done)
                data = file.read()
                inode = found.st_ino
        except OSError:
            self._turns, self._read = {}, (0, 0)
            return self._turns
        data = data[: data.rfind(b"\n") + 1]  # a line that is still being written is read next time
        self._read = (inode, done + len(data))
        for record in parse_jsonl(data, ""):
            value = record.value or {}
            key = text_of(value.get("turn"))
            if key:
                known = self._turns.get(key, Injected(key, "", ""))
                self._turns[key] = known._replace(**_fields(value))
        return self._turns


def logged_words(text: str) -> str:
    """The words of a message as the log keeps them: their beginning, with a name in place of each secret."""
    return secrets.mask_start(text)[:MAX_USER]


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """The known fields of a line in their types; others and wrong ones are left out."""
    lists = {"items", "lessons", "saved", "learned", "held", "related", "older"}
    found: dict[str, Any] = {}
    for name in Injected._fields:
        given = value.get(name)
        if name in lists and isinstance(given, list):
            found[name] = tuple(map(str, given))
        elif name == "echoes":
            found |= {} if given is None else {name: given is True}
        elif name == "chars" and given is not None:
            found[name] = whole(given)
        elif isinstance(given, str) and name not in lists:
            found[name] = given
    return found
