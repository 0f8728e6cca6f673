"""Turn logs (WAL state of the scoped system, seed 001 §4.3): read them all, and write the one of our own turns.

Several logs may name one session (a copy, or one of each of two systems): they are joined by the time of their turns,
and a turn that is in two of them by its id is listed once.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import InvalidConfig, NotFound, Problem
from nanomem_tui.core.files import Parsed, regular_files
from nanomem_tui.core.paths import Paths
from nanomem_tui.memory.turns.traces import OpenTurn, state_folder

if TYPE_CHECKING:
    from nanomem_tui.agents.turn_log import Turn, WalState
    from nanomem_tui.memory.turns.traces import Traces


_OWN_ID = re.compile(r"turn_([0-9]{10,14})_[0-9]+")
_MARGIN = timedelta(seconds=2)
"""How much the times of processes and of turns may differ: those of processes are told in whole seconds."""


def wal_folder(paths: Paths, setting: str) -> Path:
    """As `state_folder`, for who only looks: the usual folder when the setting names no possible one."""
    try:
        return state_folder(paths, setting)
    except InvalidConfig:
        return paths.wal_dir


class WalInfo(NamedTuple):
    """The log of one session. `path` is absolute, `size` in bytes, `updated_at` UTC ISO of the last block, else of the
    file. `others`: the paths of further logs of that session, which count in all of this."""

    session_key: str
    path: str
    turns: int
    open_turns: int
    size: int
    updated_at: str
    problems: int
    others: tuple[str, ...] = ()


def may_go_on(turn: OpenTurn, since: datetime | None) -> bool:
    """Return whether an unfinished turn may be one of an agent that runs since then (None: unknown)."""
    if since is None:
        return True
    own = _OWN_ID.fullmatch(turn.id)
    at = datetime.fromtimestamp(int(own[1]) / 1000, UTC) if own else clock.parse(turn.at)
    return at is not None and at >= since - _MARGIN


class _Log(NamedTuple):
    """One file; `unreadable`: why nothing of it is known. `updated_at` as in `WalInfo`."""

    path: Path
    size: int
    updated_at: str
    state: WalState
    unreadable: Problem | None


class _Session(NamedTuple):
    """All logs of one session, the last written first, and what they say together. `paths`: of each turn its file."""

    logs: tuple[_Log, ...]
    state: WalState
    paths: tuple[str, ...]


class WalStates:
    """The turn logs of one workspace, each parsed once for every state of its file."""

    def __init__(self, paths: Paths, setting: str = "", traces: Traces | None = None) -> None:
        self._paths = paths
        self._folder = state_folder(paths, setting) if setting else paths.wal_dir
        self._traces = traces
        self._parsed = Parsed(_parse)

    def list(self) -> builtins.list[WalInfo]:
        """Return the log of every session, the last written first."""
        infos = [
            WalInfo(
                session_key=session.state.session_key,
                path=str(session.logs[0].path),
                turns=len(session.state.turns),
                open_turns=sum(not is_known for _, is_known in self._open(session)),
                size=sum(log.size for log in session.logs),
                updated_at=session.logs[0].updated_at,
                problems=len(session.state.problems) + sum(log.unreadable is not None for log in session.logs),
                others=tuple(str(log.path) for log in session.logs[1:]),
            )
            for session in self._sessions()
        ]
        return sorted(infos, key=lambda info: info.updated_at, reverse=True)

    def get(self, session_key: str) -> WalState:
        """Return the log of a session. Raises NotFound."""
        for session in self._sessions():
            if session.state.session_key == session_key:
                return session.state
        raise NotFound("no turn log of that session", session_key, "`nanomem wal list` shows them all")

    def check(self) -> builtins.list[OpenTurn]:
        """Return every turn that began and never ended, the newest first; without those that were recovered."""
        return self._never_ended(recovered=False)

    def recovered(self) -> builtins.list[OpenTurn]:
        """Return every turn that never ended and was recovered into a pending item, the newest first."""
        return self._never_ended(recovered=True)

    def _never_ended(self, *, recovered: bool) -> builtins.list[OpenTurn]:
        found = [
            turn for session in self._sessions() for turn, is_known in self._open(session) if is_known is recovered
        ]
        return sorted(found, key=lambda turn: turn.at, reverse=True)

    def is_recovered(self, session_key: str, turn: Turn) -> bool:
        """Return whether a turn that never ended was recovered."""
        if self._traces is None:
            return False
        return any(item.is_of(turn.at_pre, turn.id) for item in self._traces.pending.recovered_in(session_key))

    def counts(self) -> dict[str, int]:
        """Return how many `files` and `turns` there are, and how many turns are `open`."""
        infos = self.list()
        return {
            "files": sum(1 + len(info.others) for info in infos),
            "turns": sum(info.turns for info in infos),
            "open": sum(info.open_turns for info in infos),
        }

    def problems(self) -> builtins.list[Problem]:
        """Return what could not be read, line by line."""
        return [
            problem for log in self._logs() for problem in (*log.state.problems, log.unreadable) if problem is not None
        ]

    def unreadable(self) -> builtins.list[Problem]:
        """Return the logs that cannot be read at all: nobody knows which turns are in them."""
        return [log.unreadable for log in self._logs() if log.unreadable is not None]

    def _open(self, session: _Session) -> Iterator[tuple[OpenTurn, bool]]:
        """Yield the turns of a session that never ended, each with whether it was recovered."""
        key = session.state.session_key
        for turn, path in zip(session.state.turns, session.paths, strict=True):
            if turn.open:
                asked = turn.pre.get("user", "")
                found = OpenTurn(key, turn.number, turn.at_pre, asked, turn.line, turn.id, path)
                yield found, self.is_recovered(key, turn)

    def _sessions(self) -> builtins.list[_Session]:
        logs: dict[str, builtins.list[_Log]] = {}
        for log in self._logs():
            logs.setdefault(log.state.session_key, []).append(log)
        return [_joined(sorted(of, key=lambda log: log.updated_at, reverse=True)) for of in logs.values()]

    def _logs(self) -> Iterator[_Log]:
        for name, at in regular_files(self._folder, ".md"):
            path = self._folder / name
            state, unreadable = self._parsed.get(path, self._paths.relative(path))
            if unreadable is not None:
                state = state._replace(channel="", chat_id="", turns=(), problems=())
            last = state.turns[-1] if state.turns else None
            spoken = clock.parse(last.at_post or last.at_pre) if last else None
            updated_at = clock.iso(spoken or datetime.fromtimestamp(at.st_mtime, UTC))
            yield _Log(path, at.st_size, updated_at, state, unreadable)


def _joined(logs: Sequence[_Log]) -> _Session:
    """Return the logs of one session as one."""
    first = logs[0].state
    told = [(turn, str(log.path)) for log in logs for turn in log.state.turns]
    if len(logs) > 1:
        ended = {turn.id for turn, _ in told if turn.id and not turn.open}
        left = [(turn, path) for turn, path in told if not (turn.open and turn.id in ended)]
        once = {turn.id or (path, turn.number): (turn, path) for turn, path in left}
        told = sorted(once.values(), key=lambda one: one[0].at_pre or one[0].at_post or "")
        named = next((log.state for log in logs if log.state.chat_id), first)
        first = first._replace(
            channel=named.channel,
            chat_id=named.chat_id,
            turns=tuple(turn._replace(number=number) for number, (turn, _) in enumerate(told, 1)),
            problems=tuple(problem for log in logs for problem in log.state.problems),
        )
    return _Session(tuple(logs), first, tuple(path for _, path in told))


def _parse(data: bytes, where: str) -> WalState:
    from nanomem_tui.agents.turn_log import parse_wal  # only few homes have such files

    return parse_wal(data, where)
