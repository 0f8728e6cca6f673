"""What came from a session that is gone: nothing shows any more who said it, and a chat that is gone asks no more.

Asks only where sessions can be read and others of the same channel are there: a home that was copied without its
sessions, or an agent that keeps none, has no orphans. Reads names of files, no transcript.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nanomem_tui.agents.layout import session_folders
from nanomem_tui.agents.transcripts import SUFFIX, key_to_lossy_name, key_to_own_name, lossy_name_to_key, name_to_key
from nanomem_tui.core.text import counted
from nanomem_tui.curation.finders import use
from nanomem_tui.curation.finders.origin import said
from nanomem_tui.curation.finders.rows import ASKED_FOR, Rows
from nanomem_tui.curation.values import Decision, Evidence, Finding
from nanomem_tui.store.values import Item, Row

PASSING = ("dream", "cron", "heartbeat", "system", "subagent", "unified")
"""Channels whose sessions come and go by themselves."""
OF_CHAT: tuple[Decision, ...] = ("delete", "keep", "split", "disable")
OF_ALL: tuple[Decision, ...] = ("keep", "disable", "delete", "edit")
OF_LESSON: tuple[Decision, ...] = ("delete", "keep", "disable", "edit")
AT_USE_DAYS = 30
"""What was of use since stands on its own."""


class Sessions(NamedTuple):
    """The sessions that are there: names of files, keys as far as names tell them, their chats and channels."""

    names: frozenset[str]
    keys: frozenset[str]
    chats: frozenset[str]
    channels: frozenset[str]
    folders: tuple[str, ...]

    def has(self, key: str) -> bool:
        """Whether a session, or another one of the same chat, is there; of a key that no name can hold it is."""
        if key in self.keys or _chat(key) in self.chats:
            return True
        try:
            return bool(self.names & {key_to_own_name(key), key_to_lossy_name(key)})
        except ValueError:
            return True


class FromGoneSession:
    """Finds items and lessons of sessions that are gone."""

    kinds = ("orphan",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self) -> Iterable[Finding]:
        """All of them; none where the sessions cannot be read."""
        there = self.sessions()
        return list(self._found(there)) if there is not None else ()

    def sessions(self) -> Sessions | None:
        """The sessions that are there; None where there are none, or a folder cannot be read."""
        ws = self._rows.ws
        names: set[str] = set()
        folders = session_folders(ws.paths, ws.layout)
        for folder in folders:
            try:
                names.update(name for name in os.listdir(folder) if name.endswith(SUFFIX) and name[0] != ".")
            except OSError:
                return None
        if not names:
            return None
        keys = {name_to_key(name) or lossy_name_to_key(name) for name in names}
        keys |= {info.key for info, _ in ws.sessions.chats()} if self._imported() else set()
        return Sessions(
            frozenset(names),
            frozenset(keys),
            frozenset(map(_chat, keys)),
            frozenset(key.partition(":")[0] for key in keys),
            tuple(map(ws.paths.relative, folders)),
        )

    def _imported(self) -> bool:
        return bool(self._rows.ws.store.load("record").records)

    def _found(self, there: Sessions) -> Iterator[Finding]:
        recent = self._rows.time().limit(AT_USE_DAYS)
        known: dict[str, bool] = {}
        for row in self._rows.unpinned():
            if row.session_key and self._is_gone(row.session_key, there, known) and self._matters(row, recent):
                chat = row.scope_type == "chat"
                yield self._finding(row, OF_CHAT if chat else OF_ALL, 0.6 if chat else 0.2)
        for lesson in self._rows.lessons():
            key = lesson.session_key.rpartition(" ")[2]
            if lesson.scope == "session" and key and self._is_gone(key, there, known):
                yield self._finding(lesson, OF_LESSON, 0.6)

    def _matters(self, row: Item, recent: str) -> bool:
        """Whether a person would want to be asked: what a chat alone can see, or what was taken from talk, unused."""
        if use.last_use(row) >= recent:
            return False
        return row.scope_type == "chat" or (row.source not in ASKED_FOR and not use.is_fact(row))

    def _is_gone(self, key: str, there: Sessions, known: dict[str, bool]) -> bool:
        gone = known.get(key)
        if gone is None:
            channel, colon, _ = key.partition(":")
            usual = bool(colon) and channel in there.channels and channel not in PASSING
            gone = known[key] = usual and not there.has(key)
        return gone

    def _finding(self, row: Row, offers: Sequence[Decision], weight: float) -> Finding:
        key = (row.session_key or "").rpartition(" ")[2]
        if not isinstance(row, Item):
            why = f"it applies only in {key}, and that session is gone"
        elif row.scope_type == "chat":
            why = f"only {key} could see it, and that session is gone"
        else:
            why = f"it came from {key}, which is gone: nothing shows who said it"
        return self._rows.finding("orphan", row, why, offers, weight, key)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Where the session was looked for, and who said it."""
        row = self._rows.row(finding)
        there = self.sessions()
        if row is None or there is None:
            return ()
        looked = f"no transcript of {row.session_key}; {counted(len(there.names), 'other session')} there"
        return [Evidence("looked for in", looked, origin=", ".join(there.folders)), *said(self._rows, row)]


def _chat(key: str) -> str:
    """The chat of a session: `telegram:-100` of `telegram:-100:topic:42`."""
    return ":".join(key.split(":", 2)[:2])
