"""Several workspaces looked at together: how each of them is, and one search across all of them.

Reads only. Each workspace is opened for itself, with its own settings and scopes; one that cannot be read is named and
takes no other down. Must not know which workspaces there are (`known`), or a screen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from heapq import nsmallest
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.core import config
from nanomem_tui.core.errors import NanomemError, in_words
from nanomem_tui.known import Known
from nanomem_tui.language.times_asked import Span
from nanomem_tui.review.find import LIMIT, Found, Place, Places
from nanomem_tui.store.memory_store import agent_name
from nanomem_tui.workspace import Workspace

MOST = 30
"""Workspaces that one search looks at: what is read of each is held until the search is closed."""

Opened = Mapping[Path, Callable[[], Workspace]]
"""Workspaces that are open already, by the folder: one process holds each of them once."""


class Summary(NamedTuple):
    """How one workspace is. A count that could not be read is None; `error` says why nothing could be."""

    known: Known
    agent: str = ""
    release: str = ""
    running: bool = False
    what: str = ""
    items: int | None = None
    lessons: int | None = None
    sessions: int | None = None
    inbox: int | None = None
    dirty: int | None = None
    saved_at: str = ""
    problems: int = 0
    error: NanomemError | None = None

    def to_json(self) -> dict[str, Any]:
        """As the command line prints it."""
        known, error = self.known, self.error
        home = known.found.home if known.found is not None else None
        told = {} if error is None else {"error": {"what": error.what, "where": error.where, "fix": error.fix}}
        return {
            "id": known.name, "path": str(known.place), "origin": known.origin, "home": str(home) if home else None,
            "release": self.release,
            "agent": {"name": self.agent, "running": self.running, "what": self.what},
            "items": self.items, "lessons": self.lessons, "sessions": self.sessions, "inbox": self.inbox,
            "checkpoint": {"dirty": self.dirty, "last_at": self.saved_at or None}, "problems": self.problems, **told,
        }  # fmt: skip


def summary(known: Known, opened: Opened | None = None) -> Summary:
    """How a workspace is; why it cannot be told stands in it. Never raises."""
    try:
        if known.found is None:
            raise known.error or NanomemError("no workspace", known.path)
        already = (opened or {}).get(known.place)
        if already is not None:
            return _told(known, already())
        ws = Workspace(known.found, config.load(known.found))
        try:
            return _told(known, ws)
        finally:
            ws.close()
    except Exception as error:  # noqa: BLE001 - one that is broken in any way takes no other down
        return Summary(known, error=in_words(error, "reading the workspace"))


def _told(known: Known, ws: Workspace) -> Summary:
    found = ws.status()
    agent, saved = found["agent"], found["checkpoint"]
    wrong = sum(problem["severity"] != "note" for problem in found["problems"])
    return Summary(
        known, agent_name(ws.settings, ws.paths), found["release"], agent["running"], agent["what"],
        found["items"]["total"], found["lessons"]["total"], found["sessions"], found["inbox"], saved["dirty"],
        saved["last_at"] or "", wrong,
    )  # fmt: skip


class Hit(NamedTuple):
    """A place in one of several workspaces."""

    known: Known
    place: Place


class FoundTogether(NamedTuple):
    """What was found so far in all of them, the best first; of how many; what could not be read, by workspace."""

    hits: Sequence[Hit]
    total: int
    done: bool
    fuzzy: bool = False
    left_out: Mapping[str, str] = MappingProxyType({})


class Together:
    """One search across workspaces. Keeps what it read of them until `close`."""

    def __init__(self, workspaces: Callable[[], Sequence[Known]], opened: Opened | None = None) -> None:
        """`workspaces` is asked for them with the first question, in its thread."""
        self._ask = workspaces
        self._already = dict(opened or {})
        self._opened: dict[Path, Workspace] = {}
        self._places: dict[Path, Places] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._wrong: dict[str, str] = {}

    @cached_property
    def _workspaces(self) -> Sequence[Known]:
        listed = self._ask()
        self._wrong.update((one.name, f"beyond the first {MOST}") for one in listed[MOST:])
        return listed[:MOST]

    def find(
        self,
        query: str,
        limit: int = LIMIT,
        stop: Callable[[], bool] = lambda: False,
        *,
        within: Span | None = None,
    ) -> Iterator[FoundTogether]:
        """What `query` (as `Places.find` takes it, with `within`) means in any of them, better with each step; what is
        similar only where none of them holds the words. Ends early when `stop` says so."""
        for similar in (False, True):
            best: dict[str, Found] = {}
            for known in self._workspaces:
                for found in self._of(known, query, limit, stop, within, similar=similar):
                    best[known.name] = found
                    yield self._joined(best, limit, similar=similar)
                if stop():
                    return
            joined = self._joined(best, limit, similar=similar)
            if joined.total or similar:
                yield joined._replace(done=True)
                return

    def _of(
        self, known: Known, query: str, limit: int, stop: Callable[[], bool], within: Span | None, *, similar: bool
    ) -> Iterator[Found]:
        """What is found in one; why nothing can be is remembered."""
        try:
            found: Found | None = None
            for found in self._places_of(known).find(query, limit, stop, similar=similar, within=within):
                if found.total or found.left_out:
                    yield found
            self._wrong.pop(known.name, None)
            if found is not None and found.left_out:
                self._wrong[known.name] = found.left_out
        except Exception as error:  # noqa: BLE001 - the rest is searched all the same
            self._wrong[known.name] = in_words(error, "reading the workspace").line()

    def _places_of(self, known: Known) -> Places:
        if known.found is None:
            raise known.error or NanomemError("no workspace", known.path)
        with self._lock:  # a question that nobody waits for any more may still be at it
            if self._closed:
                raise NanomemError("the search is closed", known.path)
            if known.place not in self._places:
                self._places[known.place] = Places(self._already.get(known.place) or self._open(known), {})
            return self._places[known.place]

    def _open(self, known: Known) -> Callable[[], Workspace]:
        assert known.found is not None
        ws = self._opened[known.place] = Workspace(known.found, config.load(known.found))
        return lambda: ws

    def _joined(self, best: Mapping[str, Found], limit: int, *, similar: bool) -> FoundTogether:
        """The best of all, each rank by turns: as many workspaces as hold it are seen at the top."""
        ranked = []
        for number, known in enumerate(self._workspaces):
            found = best.get(known.name, Found((), 0, True))
            for order, (place, rank) in enumerate(zip(found.places, found.ranks, strict=True)):
                ranked.append((rank, order, number, Hit(known, place)))
        hits = [one[-1] for one in nsmallest(limit, ranked, key=lambda one: one[:3])]
        total = sum(found.total for found in best.values())
        return FoundTogether(hits, total, False, similar, dict(self._wrong))

    def close(self) -> None:
        """Let go of the workspaces that it opened; nothing was changed in them."""
        with self._lock:
            self._closed = True
            for ws in self._opened.values():
                with suppress(NanomemError):
                    ws.close()
            self._opened.clear()
            self._places.clear()
