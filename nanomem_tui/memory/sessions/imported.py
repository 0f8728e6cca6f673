"""Conversations that came with an import (seed 003), as transcripts: rows of ours that are only read.

Owns how rows become a conversation. What an agent keeps itself is in its files, of which no copy is made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.memory.sessions.sessions import SessionInfo
from nanomem_tui.store import lookup
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Record

if TYPE_CHECKING:
    from nanomem_tui.agents.transcripts import Message, Session

READ_ONLY = "imported, and only read"
BESIDE = " (imported)"
"""What the key of a conversation ends with where the agent has a session of the same key."""


class Chat(NamedTuple):
    """The messages of one conversation, in order. `state` changes whenever they do."""

    messages: list[Record]
    state: tuple[int, str, int]

    def said(self) -> list[Message]:
        """The messages as those of a transcript are."""
        from nanomem_tui.agents.transcripts import Message

        return [
            Message(number, str(row.meta.get("role") or ""), row.text, _local(row.at), raw={"content": row.text})
            for number, row in enumerate(self.messages)
        ]

    def transcript(self, key: str) -> Session:
        """The whole as a transcript of that key."""
        from nanomem_tui.agents.transcripts import Session

        said = self.said()
        return Session(key, said[0].timestamp, said[-1].timestamp, {}, 0, 0, False, tuple(said), ())


class ImportedChats:
    """The imported conversations of one workspace."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._known: tuple[int, dict[str, Chat]] = (-1, {})
        self.problem: Problem | None = None

    def all(self) -> dict[str, Chat]:
        """The conversations by chat id; made once per change where the rows are in RAM. Where they cannot be read there
        are none, and `problem` says why: what an agent keeps in files can be."""
        self.problem = None
        try:
            return self._all()
        except NanomemError as error:
            self.problem = Problem(error.what, error.where, fix=error.fix)
            return {}

    def _all(self) -> dict[str, Chat]:
        counter = self._store.snapshot.counter if self._store.loaded else -1
        if counter < 0 or self._known[0] != counter:
            by_chat: dict[str, list[Record]] = defaultdict(list)
            for row in lookup.records(self._store, "message"):
                by_chat[row.about].append(row)
            self._known = (counter, {chat: _chat(rows) for chat, rows in by_chat.items()})
        return self._known[1]


def find(chats: Mapping[str, Chat], key: str, taken: Collection[str]) -> Chat | None:
    """The conversation that is shown under that key. `taken`: the keys of the agent's sessions."""
    return next((chat for name, chat in chats.items() if name_of(name, taken) == key), None)


def told(chats: Mapping[str, Chat], taken: Collection[str]) -> list[tuple[SessionInfo, Chat]]:
    """The conversations as a list of sessions tells them, in no order."""
    return [(_info(name_of(key, taken), chat.messages), chat) for key, chat in chats.items()]


def name_of(chat: str, taken: Collection[str]) -> str:
    """The key under which a conversation is shown."""
    return f"{chat}{BESIDE}" if chat in taken else chat


def in_order(row: Record) -> tuple[Any, ...]:
    """What messages are sorted by: when they were said, and how they stood among those of the same second."""
    number = row.meta.get("number")
    return row.at, number if isinstance(number, int) else 0, row.id


def _chat(rows: list[Record]) -> Chat:
    ordered = sorted(rows, key=in_order)
    return Chat(ordered, (len(rows), max(row.updated_at for row in rows), max(row.revision for row in rows)))


def _info(key: str, rows: list[Record]) -> SessionInfo:
    return SessionInfo(
        key=key,
        path="",
        messages=len(rows),
        size=sum(len(row.text.encode("utf-8", "replace")) for row in rows),
        created_at=rows[0].at,
        updated_at=rows[-1].at,
        last_archived=0,
        unarchived=0,
        title="",
        hidden_reason=READ_ONLY,
        problems=0,
        checkpoint=False,
        imported=True,
    )


def _local(at: str) -> str:
    moment = clock.parse(at)
    return clock.local_naive(moment) if moment is not None else at
