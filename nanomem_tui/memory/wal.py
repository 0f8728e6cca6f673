"""WAL state: the logs of turns of the scoped system, and the turns that began and never ended. Reads only."""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import InvalidConfig, NotFound, Problem
from nanomem_tui.memory.reading import Parsed, regular_files
from nanomem_tui.paths import Paths

if TYPE_CHECKING:
    from nanomem_tui.formats.wal_state import Turn, WalState
    from nanomem_tui.memory.traces import Traces

_OWN_ID = re.compile(r"turn_([0-9]{10,14})_[0-9]+")
_MARGIN = timedelta(seconds=2)
"""How much the times of processes and of turns may differ: those of processes are told in whole seconds."""


def state_folder(paths: Paths, setting: str) -> Path:
    """The folder that `wal_state_dir` names. Raises InvalidConfig when it lies outside the workspace."""
    folder = Path(os.path.normpath(paths.workspace / setting))
    if not setting or folder == paths.workspace or not folder.is_relative_to(paths.workspace):
        raise InvalidConfig("the session state must lie in a folder of the workspace", setting, "correct wal_state_dir")
    return folder


def usual_or_named(paths: Paths, setting: str) -> Path:
    """As `state_folder`, for who only looks: the usual folder when the setting names no possible one."""
    try:
        return state_folder(paths, setting)
    except InvalidConfig:
        return paths.wal_dir


class WalInfo(NamedTuple):
    """One log. `path` is absolute, `size` in bytes, `updated_at` UTC ISO of the last block, else of the file."""

    session_key: str
    path: str
    turns: int
    open_turns: int
    size: int
    updated_at: str
    problems: int


class OpenTurn(NamedTuple):
    """A turn that began and never ended: what was asked when the agent stopped. `at` is UTC ISO; `id` is empty for
    turns of others."""

    session_key: str
    number: int
    at: str
    user: str
    line: int
    id: str = ""


def may_go_on(turn: OpenTurn, since: datetime | None) -> bool:
    """Whether a turn that has no end belongs to an agent that began at `since` and still runs; None: nobody knows when
    it began, so that it may be any. A turn's time can be that of its message, which may have waited for the agent:
    an id of ours tells when the turn itself began."""
    if since is None:
        return True
    own = _OWN_ID.fullmatch(turn.id)
    at = datetime.fromtimestamp(int(own[1]) / 1000, UTC) if own else clock.parse(turn.at)
    return at is not None and at >= since - _MARGIN


class WalStates:
    """The turn logs of one workspace, each parsed once for every state of its file."""

    def __init__(self, paths: Paths, setting: str = "", traces: Traces | None = None) -> None:
        self._paths = paths
        self._folder = state_folder(paths, setting) if setting else paths.wal_dir
        self._traces = traces
        self._parsed = Parsed(_parse)

    def list(self) -> builtins.list[WalInfo]:
        """Every log, the last written first."""
        infos = [info for info, _, _ in self._read()]
        return sorted(infos, key=lambda info: info.updated_at, reverse=True)

    def get(self, session_key: str) -> WalState:
        """The log of a session. Raises NotFound."""
        for info, state, _ in self._read():
            if info.session_key == session_key:
                return state
        raise NotFound("no turn log of that session", session_key, "`nanomem wal list` shows them all")

    def check(self) -> builtins.list[OpenTurn]:
        """Every turn that began and never ended, the newest first; without those that were recovered."""
        found = [
            OpenTurn(state.session_key, turn.number, turn.at_pre, turn.pre.get("user", ""), turn.line, turn.id)
            for _, state, _ in self._read()
            for turn in self._open(state)
        ]
        return sorted(found, key=lambda turn: turn.at, reverse=True)

    def recovered(self) -> builtins.list[OpenTurn]:
        """Every turn that never ended and was recovered into a pending item, the newest first."""
        found = [
            OpenTurn(state.session_key, turn.number, turn.at_pre, turn.pre.get("user", ""), turn.line, turn.id)
            for _, state, _ in self._read()
            for turn in state.open_turns
            if self.is_recovered(state.session_key, turn)
        ]
        return sorted(found, key=lambda turn: turn.at, reverse=True)

    def is_recovered(self, session_key: str, turn: Turn) -> bool:
        """Whether a turn that never ended was recovered."""
        if self._traces is None:
            return False
        return any(item.is_of(turn.at_pre, turn.id) for item in self._traces.pending.known(session_key))

    def counts(self) -> dict[str, int]:
        """How many `files` and `turns` there are, and how many turns are `open`."""
        infos = [info for info, _, _ in self._read()]
        return {
            "files": len(infos),
            "turns": sum(info.turns for info in infos),
            "open": sum(info.open_turns for info in infos),
        }

    def problems(self) -> builtins.list[Problem]:
        """What could not be read, line by line."""
        return [
            problem
            for _, state, unreadable in self._read()
            for problem in (*state.problems, unreadable)
            if problem is not None
        ]

    def unreadable(self) -> builtins.list[Problem]:
        """The logs that cannot be read at all: nobody knows which turns are in them."""
        return [unreadable for _, _, unreadable in self._read() if unreadable is not None]

    def _open(self, state: WalState) -> builtins.list[Turn]:
        """The open turns of a session that nobody recovered."""
        return [turn for turn in state.open_turns if not self.is_recovered(state.session_key, turn)]

    def _read(self) -> Iterator[tuple[WalInfo, WalState, Problem | None]]:
        for name, at in regular_files(self._folder, ".md"):
            path = self._folder / name
            state, unreadable = self._parsed.get(path, self._paths.relative(path))
            if unreadable is not None:
                state = state._replace(channel="", chat_id="", turns=(), problems=())
            last = state.turns[-1] if state.turns else None
            spoken = clock.parse(last.at_post or last.at_pre) if last else None
            info = WalInfo(
                session_key=state.session_key,
                path=str(path),
                turns=len(state.turns),
                open_turns=len(self._open(state)),
                size=at.st_size,
                updated_at=clock.iso(spoken or datetime.fromtimestamp(at.st_mtime, UTC)),
                problems=len(state.problems) + (unreadable is not None),
            )
            yield info, state, unreadable


def _parse(data: bytes, where: str) -> WalState:
    from nanomem_tui.formats.wal_state import parse_wal  # only few homes have such files

    return parse_wal(data, where)
