"""The layer "session": transcript files replaced by an operation, and put back by its undo.

A value is `{"path": name in the sessions folder, "sha256": of the bytes, "blob": their name in the backups,
"messages": n}`; the one after a compaction also has `"keep"`, what was asked for, and `"force": true` when a person
insisted. A file in a folder of an older release has that folder's name as `"folder"`; where the places before and after
differ, the file moves as it is. Where little of a file changes, `"splices"` stand for the blob: what makes these bytes
of those on the other side.

Owns the protocol beside an agent: refused while one runs or while a turn in flight has its checkpoint, compared and
swapped under the agent's own lock, which is held for the rename alone.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nanomem_tui.agents.transcript_edits import Splice, apply_splices, inverse_splices
from nanomem_tui.agents.transcripts import Session, compact, parse_session, uncompact
from nanomem_tui.core import atomic
from nanomem_tui.core.atomic import locked, sha256, sync_folder, write_atomic
from nanomem_tui.core.errors import BadInput, Conflict, Refused, from_os_error
from nanomem_tui.core.files import Stamp, chunks, read_log, stamp_of
from nanomem_tui.core.operations import Change, Operation, Value
from nanomem_tui.memory.sessions import files
from nanomem_tui.memory.sessions.files import checkpoint_name
from nanomem_tui.store.files.presence import Presence

LOCK_NAME = ".session-files.lock"
INSIST = "stop the agent first, or insist with --force"
LOCK_WAIT = 2.0
"""Seconds to wait for the agent's lock, which it holds for milliseconds."""
SETTLED = 2.0
"""Seconds after a write from which another one gives a file another time, whatever the file system counts in."""
NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What a file system says that cannot give a file a second place."""


class SessionLayer:
    """Checks and applies changes of transcripts; `agent` tells whether an agent runs now. `folders`: where they lie, by
    the names of `agent_home.named_folders`."""

    name = "session"

    def __init__(
        self,
        folders: Callable[[], Mapping[str, Path | None]],
        backups: Path,
        agent: Callable[[], Presence],
        ours: Path | None = None,
    ) -> None:
        """`ours`: where transcripts lie that nanomem writes, which are only ever added to."""
        self._ours = ours
        self._folders = folders
        self._backups = backups
        self._agent = agent
        self._known: tuple[Path, Stamp, str] | None = None

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict unless each change fits what is there, Refused while an agent may have it in memory or when
        the file is another user's."""
        for change in changes:
            path = self._path(change)
            atomic.refuse_foreign(path, change.key)
            self._refuse(change, path)
            if (new := self._new_path(change)) is not None:
                atomic.refuse_foreign(new, change.key)
                self._is_moved(change, path, new)
            elif not isinstance(data := self._bytes_after(change, path), bytes):
                deque(data or (), maxlen=0)  # reads the backup to its end

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any transcript is what its change makes of it."""
        return any(
            self._digest(self._new_path(change) or self._path(change)) == (change.after or {}).get("sha256")
            for change in changes
        )

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true; what is already as it should be stays untouched."""
        for change in changes:
            path = self._path(change)
            if (new := self._new_path(change)) is not None:
                if not self._is_moved(change, path, new):
                    self._refuse(change, path)
                    with _os_errors(path):
                        self._move(path, new)
                continue
            if self._digest(path) == (change.after or {}).get("sha256"):
                continue
            self._refuse(change, path)
            stamp = _stamp(path)
            data = self._bytes_after(change, path)
            with _os_errors(path):
                self._swap(path, stamp, data)

    def _digest(self, path: Path) -> str | None:
        """The SHA-256 of a transcript, which is not held whole; None for no file. That of a long one that nobody wrote
        for a while is known as long as its stamp is the same."""
        if path.is_symlink():
            raise Refused("a link, which is not followed", str(path))
        stamp = _stamp(path)
        if stamp is None:
            return None
        if self._known is not None and self._known[:2] == (path, stamp):
            return self._known[2]
        digest = hashlib.sha256()
        for piece in chunks(path):
            digest.update(piece)
        found = digest.hexdigest()
        if stamp[1] > files.WHOLE and stamp[2] < (time.time() - SETTLED) * 1e9 and stamp == _stamp(path):
            self._known = path, stamp, found
        return found

    def _path(self, change: Change) -> Path:
        return self._place(change.before or change.after or {})

    def _new_path(self, change: Change) -> Path | None:
        """Where the file goes, None where it stays."""
        if change.before is None or change.after is None:
            return None
        new = self._place(change.after)
        return new if new != self._path(change) else None

    def _place(self, value: Value) -> Path:
        name = str(value.get("path", ""))
        plain = os.path.basename(name) == name and not name.startswith(".") and name.endswith(".jsonl")
        folder = self._folders().get(str(value.get("folder", "")))
        if folder is None or not plain:
            raise BadInput("not a session file of this workspace", name)
        return folder / name

    def _is_moved(self, change: Change, path: Path, new: Path) -> bool:
        """Whether the file is at its new place, and there alone. Raises Conflict when neither place is as it was."""
        there, wanted = self._digest(new), (change.after or {}).get("sha256")
        here = self._digest(path)
        if here is None and there == wanted:
            return True
        if here is None:
            raise Conflict("the session is gone" if there is None else "the session changed since", change.key)
        if here != (change.before or {}).get("sha256"):
            raise Conflict("the session changed since", change.key, "look at it again and repeat the change")
        if there not in (None, wanted):
            raise Conflict("there is such a session already", change.key)
        return False

    def _move(self, path: Path, new: Path) -> None:
        """Give a file its new place. It has both for a moment, so that a kill leaves it in one of them at least."""
        with self._locked():
            if self._digest(new) is None:
                try:
                    os.link(path, new, follow_symlinks=False)
                except OSError as error:
                    if error.errno not in NO_LINKS:
                        raise
                    write_atomic(new, chunks(path), like=path)
                sync_folder(new.parent)
            elif self._digest(new) != self._digest(path):
                raise Conflict("there is such a session already", str(new))
            os.unlink(path)
        sync_folder(path.parent)

    def _refuse(self, change: Change, path: Path) -> None:
        if (change.after or {}).get("force"):
            return
        if reason := refusal(path, self._agent()):
            raise Refused(reason, change.key, INSIST)

    def _bytes_after(self, change: Change, path: Path) -> bytes | Iterator[bytes] | None:
        """What the file holds after the change, whole or in pieces, None for no file. Raises Conflict when what is
        there does not fit; pieces raise the errors of `atomic.blob_pieces`."""
        there = self._digest(path)
        if (there is None) != (change.before is None):
            raise Conflict("the session is gone" if there is None else "there is such a session already", change.key)
        if change.before is None or there == change.before.get("sha256"):
            return None if change.after is None else self._made(change.after, path if there is not None else None)
        return self._grown(change, read_log(path), is_ours=path.parent == self._ours)

    def _made(self, after: Value, path: Path | None) -> bytes | Iterator[bytes]:
        """The bytes of a value, made of the file's own where it holds splices."""
        if "splices" not in after or path is None:
            return atomic.blob_pieces(self._backups, str(after.get("blob")))
        data = apply_splices(read_log(path), [_splice(one) for one in after["splices"]])
        if sha256(data) != after.get("sha256"):
            raise BadInput("a recorded change of a session is damaged", str(after.get("path")))
        return data

    def _grown(self, change: Change, current: bytes, *, is_ours: bool) -> bytes:
        """The change made of a transcript of ours to which messages were only added since; the removed lines in front
        of one that went on since its compaction. Raises Conflict for any other."""
        before, after = change.before, change.after
        if is_ours and before is not None and after is not None and "splices" in after:
            begins = _prefix_with(current, str(before.get("sha256")))
            data = apply_splices(begins, [_splice(one) for one in after["splices"]]) if begins else b""
            if begins and sha256(data) == after.get("sha256"):
                return data + current[len(begins) :]
        if before is not None and after is not None and before.get("blob") and after.get("blob"):
            shorter = atomic.get_blob(self._backups, str(before["blob"]))
            cut = compact(atomic.get_blob(self._backups, str(after["blob"])), _whole(before, "keep"))
            if cut.removed and cut.data == shorter and _goes_on(current, shorter):
                return uncompact(current, cut.removed, *cut.before, cut.boundary_at)
        raise Conflict("the session changed since", change.key, "look at it again and repeat the change")

    def _swap(self, path: Path, stamp: Stamp | None, data: bytes | Iterator[bytes] | None) -> None:
        """Put `data` (None: nothing) where `stamp` was: made durable beside it first, then renamed under the lock."""
        staged = path.with_name(f".{path.name[:80]}.{os.urandom(6).hex()}.nanomem-tmp")
        try:
            if data is not None:
                write_atomic(staged, data, like=path)
            with self._locked(), _appenders_kept_out(path):
                if _stamp(path) != stamp:
                    raise Conflict("the session changed meanwhile", str(path), "look at it again and repeat the change")
                os.unlink(path) if data is None else os.replace(staged, path)
            sync_folder(path.parent)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(staged)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The agent's own lock, where its release has one; never made by us."""
        folder = self._folders().get("")
        lock = folder / LOCK_NAME if folder else None
        if lock is None or not lock.exists():
            yield
            return
        with locked(lock, wait=LOCK_WAIT):
            yield


@contextlib.contextmanager
def _appenders_kept_out(path: Path) -> Iterator[None]:
    """Hold the lock that whoever appends to a transcript of ours takes (`appending`): no message is lost."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _prefix_with(data: bytes, digest: str) -> bytes:
    """The whole lines that `data` begins with and whose SHA-256 is `digest`; empty where there are none."""
    hashed = hashlib.sha256()
    place = 0
    while place < len(data):
        end = data.find(b"\n", place) + 1 or len(data)
        hashed.update(data[place:end])
        place = end
        if hashed.hexdigest() == digest:
            return data[:place]
    return b""


def refusal(path: Path, agent: Presence) -> str:
    """Why a transcript must not be changed now, in words; "" when it may be."""
    if agent.running:
        return f"{agent.what or 'an agent'} runs (process {agent.pid}) and would write its own copy over the change"
    if path.with_name(checkpoint_name(path.name)).exists():
        return "a turn in flight left its checkpoint, which a change would void"
    return ""


def kept_value(name: str, blob: str, messages: int) -> dict[str, Any]:
    """The value of a transcript `name` whose bytes are kept as `blob`, which is their SHA-256."""
    return {"path": name, "sha256": blob, "blob": blob, "messages": messages}


def splice_values(
    name: str, data: bytes, splices: Sequence[Splice], messages: tuple[int, int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values before and after of a transcript `name` of which little changes; `messages` are counts for people."""
    new = apply_splices(data, splices)
    before = {"path": name, "sha256": sha256(data), "messages": messages[0]}
    after = {"path": name, "sha256": sha256(new), "messages": messages[1]}
    return {**before, "splices": [*map(_plain, inverse_splices(data, splices))]}, {
        **after,
        "splices": [*map(_plain, splices)],
    }


def _plain(splice: Splice) -> list[Any]:
    """A splice as JSON holds it: bytes that are no UTF-8 in base64."""
    try:
        return [splice.start, splice.end, splice.data.decode("utf-8")]
    except UnicodeDecodeError:
        return [splice.start, splice.end, {"raw": base64.b64encode(splice.data).decode("ascii")}]


def _splice(value: Any) -> Splice:
    try:
        start, end, text = value
        data = text.encode("utf-8") if isinstance(text, str) else base64.b64decode(text["raw"])
        return Splice(int(start), int(end), data)
    except (TypeError, ValueError, KeyError) as error:
        raise BadInput("a recorded change of a session that cannot be read", str(value)[:60]) from error


def _goes_on(current: bytes, start: bytes) -> bool:
    """Whether `current` begins with the messages of `start`, line endings and key order aside."""
    now, then = _messages(current), _messages(start)
    return len(now.messages) >= len(then.messages) and all(
        new.raw == old.raw for new, old in zip(now.messages, then.messages, strict=False)
    )


def _messages(data: bytes) -> Session:
    return parse_session(data, "", "")


def _stamp(path: Path) -> Stamp | None:
    try:
        return stamp_of(os.lstat(path))
    except FileNotFoundError:
        return None


def _whole(value: Value, name: str) -> int:
    found: Any = value.get(name)
    return found if isinstance(found, int) else 0


@contextlib.contextmanager
def _os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise from_os_error(error, f"writing {path.name}") from error
