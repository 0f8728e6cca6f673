"""Turn logs (WAL state of the scoped system, seed 001 §4.3): read them all, and write the one of our own turns.

Several logs may name one session (a copy, or one of each of two systems): they are joined by the time of their turns,
and a turn that is in two of them by its id is listed once.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents import turn_log
from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.atomic import open_locked
from nanomem_tui.core.errors import BadInput, Conflict, InvalidConfig, NotFound, Problem
from nanomem_tui.core.files import Parsed, regular_files
from nanomem_tui.core.paths import Paths
from nanomem_tui.language import secrets
from nanomem_tui.memory.turns.traces import OpenTurn

if TYPE_CHECKING:
    from nanomem_tui.agents.turn_log import Turn, WalState
    from nanomem_tui.memory.turns.traces import Traces


_OWN_ID = re.compile(r"turn_([0-9]{10,14})_[0-9]+")
_MARGIN = timedelta(seconds=2)
"""How much the times of processes and of turns may differ: those of processes are told in whole seconds."""


def state_folder(paths: Paths, setting: str) -> Path:
    """Return the folder that `wal_state_dir` names. Raises InvalidConfig when it lies outside the workspace."""
    folder = Path(os.path.normpath(paths.workspace / setting))
    if not setting or folder == paths.workspace or not folder.is_relative_to(paths.workspace):
        raise InvalidConfig("the session state must lie in a folder of the workspace", setting, "correct wal_state_dir")
    return folder


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
        return any(item.is_of(turn.at_pre, turn.id) for item in self._traces.pending.known(session_key))

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


# Writing WAL state: what a turn is about before the model is called, what became of it after (seed 001 §4.3).

MAX_KEY = 512
MAX_NAME = 200
_HEAD = 8192
_LONGEST_PRE = 4_000_000
"""Bytes at the end of a file in which a block that is taken back must begin."""
_NEAR_END = 65_536
"""Bytes at the end of a file in which the block of a turn that ends now mostly lies."""
_IDS = frozenset({"sender_id", "message_id", "reply_to_message_id", "reply_to_participant"})
"""Fields of a block that a channel counts or names, which may look like numbers of cards."""
_BAD_KEY = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|(?:^|[:/\\])\.\.(?:[:/\\]|$)")
_KEY_LINE = re.compile(rb"^- session_key: ?(.*)$", re.MULTILINE)


def checked_key(session_key: str) -> str:
    """A session key that may name a file. Raises BadInput: empty, too long, control characters or `../`."""
    if not session_key.strip() or len(session_key) > MAX_KEY or _BAD_KEY.search(session_key):
        fix = "give a key like telegram:12345"
        raise BadInput("no session key: empty, too long, control characters or `../`", session_key[:60], fix)
    return session_key


class WalWriter:
    """Appends turns to the state files of one folder, which is made at the first turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, Path] = {}

    def pre(
        self, session_key: str, channel: str, chat_id: str, at: str, fields: Mapping[str, str], turn: str = ""
    ) -> None:
        """Write the beginning of a turn at `at` (UTC ISO), with the header of a new file."""
        header = turn_log.dump_header(session_key, channel, chat_id)
        masked = {name: value if name in _IDS else secrets.mask_start(value) for name, value in fields.items()}
        self._append(session_key, header, turn_log.dump_pre(at, masked, turn))

    def post(
        self,
        session_key: str,
        at: str,
        assistant: str | None,
        pending_actions: Sequence[str] = (),
        turn: str = "",
        done_actions: Sequence[str] = (),
    ) -> None:
        """The end of a turn, of the session's last one where no id is given; None: it had no answer."""
        header = turn_log.dump_header(session_key, "", "")
        actions = [secrets.mask_start(action) for action in pending_actions]
        done = [secrets.mask_start(action) for action in done_actions[: turn_log.MAX_DONE]]
        answer = None if assistant is None else secrets.mask_start(assistant)
        self._append(session_key, header, turn_log.dump_post(at, answer, actions, turn, done_actions=done))

    def take_back(self, session_key: str, channel: str, chat_id: str, at: str, turn: str = "") -> None:
        """Remove the beginning of a turn, or mark it as declined where more was written after it."""
        path = self.file(session_key)
        if not path.is_file():
            return
        with open_locked(path, "writing the session state") as handle:
            size = os.fstat(handle).st_size
            start = max(0, size - _LONGEST_PRE)
            tail = os.pread(handle, size - start, start)
            place = tail.rfind(b"\n### " + f"{at} PRE\n".encode())
            block = tail[place + 1 :]
            if place >= 0 and b"\n### " not in block and (not turn or f"\n- turn: {turn}\n".encode() in block):
                place += start + 1
                if os.pread(handle, place, 0) == turn_log.dump_header(session_key, channel, chat_id):
                    os.unlink(path)
                else:
                    os.ftruncate(handle, place)
            elif turn and f"\n- turn: {turn}\n".encode() in tail:
                now = clock.iso(clock.now())
                atomic.append_to(handle, turn_log.dump_post(now, None, (), turn, declined=True))

    def has_end(self, session_key: str, turn: str) -> bool:
        """Return whether the last block of a turn near the end of the file is its POST."""
        try:
            with files.opened(self.file(session_key)) as file:
                size = os.fstat(file.fileno()).st_size
                for near in (_NEAR_END, _LONGEST_PRE):
                    file.seek(max(0, size - near))
                    tail = file.read()
                    place = tail.rfind(f"\n- turn: {turn}\n".encode())
                    head = tail.rfind(b"\n### ", 0, place + 1) if place >= 0 else -1
                    if head >= 0:
                        return tail[head + 1 : tail.find(b"\n", head + 1)].endswith(b" POST")
        except OSError:
            return False
        return False

    def stamp(self, session_key: str) -> tuple[int, int] | None:
        """Return what tells that a session's file was written: its inode and size; None where there is none."""
        try:
            found = self.file(session_key).stat()
        except (OSError, BadInput):
            return None
        return found.st_ino, found.st_size

    def file(self, session_key: str) -> Path:
        """Return where the session's turns lie: the seed's name, or one with a hash where that is another session's.

        Seed 001 gives `slack:T1_C2` and `slack_T1:C2` one name; turns of two sessions in one file would answer each
        other. A name beyond what a folder can hold is cut and hashed too.
        """
        if session_key not in self._files:
            plain = self.folder / turn_log.wal_name(checked_key(session_key))
            taken = len(plain.name.encode()) > MAX_NAME or _owner(plain) not in (None, session_key)
            self._files[session_key] = self.folder / _hashed(plain.name, session_key) if taken else plain
        return self._files[session_key]

    def _append(self, session_key: str, header: bytes, block: bytes) -> None:
        with open_locked(self.file(session_key), "writing the session state") as handle:
            head = os.pread(handle, _HEAD, 0)
            owner = _owner_in(head)
            if mine := owner in (None, session_key):
                # A header that was cut off by a kill tells nobody whose turns these are: it is written again.
                has_header = owner is not None or b"\n### " in head
                atomic.append_to(handle, block if has_header else header + block)
        if not mine:  # another process took the name between our look and our lock
            taken = self._files.pop(session_key)
            if self.file(session_key) == taken:
                raise Conflict("that turn log names another session", str(taken), "set the file aside")
            self._append(session_key, header, block)


def _owner(path: Path) -> str | None:
    """Return whose turns a file holds; None where there is no file, or none that says."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _owner_in(os.pread(handle, _HEAD, 0))
    finally:
        os.close(handle)


def _owner_in(head: bytes) -> str | None:
    found = _KEY_LINE.search(head.partition(b"\n## Turns")[0])
    key = found[1].decode("utf-8", "replace").removesuffix("\r") if found else ""
    return key if key.strip() else None


def _hashed(name: str, session_key: str) -> str:
    stem = name.removesuffix(".md").encode()[: MAX_NAME - 20].decode("utf-8", "ignore")
    return f"{stem}-{blake2b(session_key.encode('utf-8', 'replace'), digest_size=6).hexdigest()}.md"
