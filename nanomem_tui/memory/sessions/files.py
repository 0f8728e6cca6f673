"""Transcript files: find them, name them, count them, write those of our own turns, and apply changes to them.

`SessionLayer` applies the changes of operations: it keeps the bytes before and after, refuses while the agent writes
the file, and undoes exactly.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.jsonl import dump_line, parse_jsonl, text_of
from nanomem_tui.agents.releases import NOT_READ, Layout, session_folders
from nanomem_tui.agents.session_names import (
    CHECKPOINT_SUFFIX,
    SUFFIX,
    is_own_name,
    key_to_lossy_name,
    key_to_name,
    key_to_own_name,
    lossy_name_to_key,
    name_to_key,
)
from nanomem_tui.agents.transcript_edits import Splice, apply_splices, inverse_splices
from nanomem_tui.agents.transcripts import (
    OFFSET_KEYS,
    compact,
    is_metadata,
    is_provider_state,
    offset_fault,
    plain_messages,
    uncompact,
)
from nanomem_tui.core import atomic, clock
from nanomem_tui.core import files as core_files
from nanomem_tui.core.atomic import locked, open_locked, read_from, sha256, sync_folder, write_atomic
from nanomem_tui.core.errors import BadInput, Conflict, Refused, from_os_error
from nanomem_tui.core.files import Stamp, chunks, read_log, stamp_of
from nanomem_tui.core.operations import Change, Operation, Value
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import secrets
from nanomem_tui.store.files.presence import Presence

if TYPE_CHECKING:
    from nanomem_tui.agents.session_file import Session

NO_METADATA = "no metadata line"
BYTES_PER_TOKEN = 4.0
HEAVY = 2_000_000
"""Bytes at which a session of ours is compacted."""
"""Bytes of a session that are counted as a token of its budget."""
WHOLE = 64_000_000
"""Bytes of a transcript up to which it is held whole: some 70,000 messages in 250 MB."""
TAKEN_OUT = "`nanomem doctor --fix` takes the line out while no agent runs, and undo puts it back"
"""What to do about a line of a transcript that cannot be read."""


class SessionFile(NamedTuple):
    """One transcript file; `current` when it lies where the agent of this layout looks. `link`: it is none, but a link,
    a folder or a pipe in the place of one, and is never opened; `instead` says which."""

    path: Path
    stamp: Stamp
    modified: float
    current: bool
    link: bool
    checkpoint: bool
    instead: str = ""


class Summary(NamedTuple):
    """What a listing says of a transcript, counted line by line. `header` is the metadata that agents obey."""

    header: Mapping[str, Any] | None
    messages: int
    last_archived: int
    problems: int
    other_keys: tuple[str, ...] = ()


def session_files(paths: Paths, layout: Layout, named: Collection[str] | None = None) -> Iterator[SessionFile]:
    """Yield transcript files, hidden and temporary ones left out; `named`: only these names."""
    for folder in session_folders(paths, layout):
        current = layout.sessions_dir is not None and folder == layout.sessions_dir
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        names = {entry.name for entry in entries}
        for entry in entries:
            if not entry.name.endswith(SUFFIX) or entry.name.startswith("."):
                continue
            if named is not None and entry.name not in named:
                continue
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                instead = _instead(found.st_mode)
                yield SessionFile(
                    path=folder / entry.name,
                    stamp=stamp_of(found),
                    modified=found.st_mtime,
                    current=current,
                    link=bool(instead),
                    checkpoint=checkpoint_name(entry.name) in names,
                    instead=instead,
                )


def _instead(mode: int) -> str:
    """Return what lies in the place of a transcript; "" where it is one."""
    if stat.S_ISREG(mode):
        return ""
    kind = core_files.kind_of(mode)
    return "a link, which is not followed" if kind == "link" else f"a {kind} lies in the place of the file"


def checkpoint_name(name: str) -> str:
    """Return the name of the sidecar with the turn in flight that belongs to a transcript's file name."""
    return name.removesuffix(SUFFIX) + CHECKPOINT_SUFFIX


def key_of(name: str, header: Mapping[str, Any] | None) -> str:
    """Return whose transcript a file is: its metadata knows best, then its name."""
    return text_of((header or {}).get("key")) or name_to_key(name) or lossy_name_to_key(name)


def names_of(key: str) -> set[str]:
    """Return the file names that any release, or we, give to the transcript of a key."""
    return {key_to_name(key), key_to_own_name(key), key_to_lossy_name(key)}


def is_of_one(name: str, header: Mapping[str, Any] | None) -> bool:
    """Return whether a file is certainly of one session: two keys may share an old name."""
    key = key_of(name, header)
    if name_to_key(name) == key or is_own_name(name, key):
        return True
    return key == lossy_name_to_key(name) and name.count("_") == 1


def hidden_reason(file: SessionFile, header: Mapping[str, Any] | None, layout: Layout) -> str:
    """Return why the agent of this layout does not find that session, in words; "" when it does."""
    name = file.path.name
    if file.link:
        return file.instead
    if layout.release in NOT_READ:
        return ""
    if not file.current:
        return "lies in the folder of an older release, where this agent does not look"
    named, key = name_to_key(name), text_of((header or {}).get("key"))
    if is_own_name(name, key):
        return ""
    if layout.session_naming == "base64url":
        if named is None:
            return "its file name is of an older release, which this agent ignores"
        if key and key != named:
            return f"its file is named for {named}: the agent looks for {key} elsewhere"
        return "" if header is not None else f"it has {NO_METADATA}: the agent loads it but does not list it"
    if key and key not in (named, None) and key_to_lossy_name(key) != name:
        return f"its file is not named as this agent names {key}"
    return ""


def other_keys(name: str, key: str) -> tuple[str, ...]:
    """Keys that an old release put into the same file, as far as its name tells: `slack:T1_C2` with `slack_T1:C2`."""
    if name_to_key(name) == key or key_to_lossy_name(key) != name:
        return ()
    likely = lossy_name_to_key(name)
    return (likely,) if likely != key and ":" in likely else ()


def summarise(file: SessionFile) -> Summary:
    """Count a transcript without holding it; plain lines of a long one are not parsed."""
    long = file.stamp[1] > WHOLE
    header: dict[str, Any] | None = None
    keys: list[str] = []
    pieces = chunks(file.path)
    first = next(pieces, b"")
    wide = core_files.is_wide(first)
    messages, problems = 0, int(wide)
    for chunk in [core_files.as_utf8(b"".join([first, *pieces]))] if wide else chain([first], pieces):
        if long and (plain := plain_messages(chunk)) is not None:
            messages += plain
            continue
        for record in parse_jsonl(chunk, ""):
            problems += record.problem is not None
            if record.value is None:
                continue
            if is_metadata(record.value):
                problems += header is not None
                header = record.value
                keys.append(text_of(header.get("key")))
            elif not is_provider_state(record.value):
                messages += 1
                problems += not text_of(record.value.get("role"))
    head = header or {}
    offsets = [head.get(name, 0) for name in OFFSET_KEYS]
    faults = [bool(offset_fault(offset, messages)) for offset in offsets]
    at = 0 if OFFSET_KEYS[0] in head else 1
    others = tuple(dict.fromkeys(key for key in keys if key and key != keys[-1]))
    return Summary(
        header=header,
        messages=messages,
        last_archived=0 if faults[at] else int(offsets[at]),
        problems=problems + sum(faults) + (header is None),
        other_keys=others,
    )


def newest_first(files: Iterable[SessionFile]) -> list[SessionFile]:
    """Return the files by their time of change, the newest first; of the same time, those that the agent finds."""
    return sorted(files, key=lambda file: (file.modified, file.current, file.path.name), reverse=True)


# -- Transcripts of our own, for an agent that keeps none: appended message by message --------------------------------

_HEAD = 1 << 16  # bytes of the metadata line that are read: a summary in it has at most 12,000 characters
ROLES = ("user", "assistant", "tool", "system")


class OwnSession:
    """One transcript: messages added in RAM, written by `save` in one append."""

    def __init__(self, key: str, path: Path, settings: Settings) -> None:
        self.key = key
        self.path = path
        self._settings = settings
        self._waiting: list[bytes] = []
        self._count: tuple[int, int, int] = (0, 0, 0)  # inode, bytes counted, messages in them
        self._cut_to = 0
        self._look_again = 0
        self.is_over_budget = False
        """Whether the last save left more than `consolidate_budget_tokens` that was not archived, by its size."""

    def add_message(self, role: str, content: str, **fields: Any) -> None:
        """Add a message with further fields of the format, to be written by `save`."""
        if role not in ROLES:
            raise BadInput(f"unknown role `{role}`", self.key, f"one of {', '.join(ROLES)}")
        at = fields.pop("timestamp", None) or clock.local_naive(clock.now())
        told = {name: secrets.mask_value(value) for name, value in {"content": content, **fields}.items()}
        self._waiting.append(dump_line({"role": role, "content": told.pop("content"), "timestamp": at, **told}))

    def save(self) -> int:
        """Append what waits in one write; return how many messages that were."""
        if not self._waiting:
            return 0
        number = len(self._waiting)
        data = b"".join(self._waiting)
        with open_locked(self.path, "writing the session") as handle:
            found = os.fstat(handle)
            head = b"" if found.st_size else _header(self.key)
            counted = self._counted(handle, found) + number
            atomic.append_to(handle, head + data)
            self._waiting.clear()
            found = os.fstat(handle)
            self._count = (found.st_ino, found.st_size, counted)
            self.is_over_budget = self._is_over_budget(handle)
        return number

    @property
    def is_full(self) -> bool:
        """Whether it is beyond a threshold and is to be compacted, as of the last save."""
        heavy = max(HEAVY, 2 * self._cut_to)
        return self._is_long() or self._count[1] >= heavy

    def was_compacted(self) -> None:
        """Note its size: one that is as heavy after a compaction is not compacted again at once."""
        self._cut_to = self.path.stat().st_size

    def read(self) -> Session:
        """Return the whole transcript as it is on disk. Raises the errors of `from_os_error`."""
        from nanomem_tui.agents.session_file import parse_session

        data = read_log(self.path) if self.path.exists() else b""
        return parse_session(data, self.path.name, self.key)

    def _counted(self, handle: int, found: os.stat_result) -> int:
        """Messages in the file so far: known from the last save, or counted where somebody else wrote since."""
        inode, size, messages = self._count
        if (inode, size) == (found.st_ino, found.st_size):
            return messages
        start, messages = (size, messages) if inode == found.st_ino and size <= found.st_size else (0, 0)
        added = read_from(handle, start).count(b"\n")
        return messages + added - (start == 0 and added > 0)  # the first line is the metadata

    def looked_at(self) -> None:
        """Note that somebody counts its tokens now: it is worth another look once it has grown by an eighth of them."""
        self.is_over_budget = False
        budget = self._settings.consolidate_budget_tokens * BYTES_PER_TOKEN
        self._look_again = self._count[1] + round(budget / 8)

    def _is_over_budget(self, handle: int) -> bool:
        """Estimated: the messages behind the offset of the first line are as long as all of them on average."""
        settings = self._settings
        _, size, messages = self._count
        least = settings.consolidate_budget_tokens * BYTES_PER_TOKEN
        if size <= least or size < self._look_again:
            return False
        try:
            archived = int(json.loads(os.pread(handle, _HEAD, 0).partition(b"\n")[0])["last_archived"])
        except (ValueError, KeyError, TypeError, RecursionError):
            archived = 0
        return size * max(0, messages - archived) > least * max(1, messages)

    def _is_long(self) -> bool:
        settings = self._settings
        return self._count[2] >= max(settings.session_compact_threshold_messages, settings.session_keep_messages + 1)


class OwnSessions:
    """The transcripts in one folder of ours, which is made at the first message."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self._settings = settings
        self._sessions: dict[str, OwnSession] = {}

    def get_or_create(self, key: str) -> OwnSession:
        """Return the transcript of `key`; nothing is written before its first message is saved. Raises BadInput."""
        session = self._sessions.get(key)
        if session is None:
            session = OwnSession(key, self.folder / key_to_own_name(key), self._settings)
            self._sessions[key] = session
        return session

    def over_budget(self) -> list[OwnSession]:
        """Return the sessions that turns of this process left over their budget."""
        return [session for session in list(self._sessions.values()) if session.is_over_budget]

    def keys(self) -> Sequence[str]:
        """Return the keys that were asked for in this process."""
        return tuple(self._sessions)


def _header(key: str) -> bytes:
    now = clock.local_naive(clock.now())
    head: Mapping[str, Any] = {
        "_type": "metadata", "key": key, "created_at": now, "updated_at": now, "metadata": {},
        "last_archived": 0, "last_consolidated": 0,
    }  # fmt: skip
    return json.dumps(head, ensure_ascii=False).encode() + b"\n"


# -- The layer "session": transcript files replaced by an operation, and put back by its undo -------------------------

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
        """Return whether any transcript is what its change makes of it."""
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
        """Return the SHA-256 of a transcript, None for no file; of a long settled one it is remembered."""
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
        if stamp[1] > WHOLE and stamp[2] < (time.time() - SETTLED) * 1e9 and stamp == _stamp(path):
            self._known = path, stamp, found
        return found

    def _path(self, change: Change) -> Path:
        return self._path_of(change.before or change.after or {})

    def _new_path(self, change: Change) -> Path | None:
        """Return where the file goes, None where it stays."""
        if change.before is None or change.after is None:
            return None
        new = self._path_of(change.after)
        return new if new != self._path(change) else None

    def _path_of(self, value: Value) -> Path:
        name = str(value.get("path", ""))
        plain = os.path.basename(name) == name and not name.startswith(".") and name.endswith(".jsonl")
        folder = self._folders().get(str(value.get("folder", "")))
        if folder is None or not plain:
            raise BadInput("not a session file of this workspace", name)
        return folder / name

    def _is_moved(self, change: Change, path: Path, new: Path) -> bool:
        """Return whether the file is at its new place, and there alone."""
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
        """Return what the file holds after the change, whole or in pieces, None for no file."""
        there = self._digest(path)
        if (there is None) != (change.before is None):
            raise Conflict("the session is gone" if there is None else "there is such a session already", change.key)
        if change.before is None or there == change.before.get("sha256"):
            return None if change.after is None else self._made(change.after, path if there is not None else None)
        return self._grown(change, read_log(path), is_ours=path.parent == self._ours)

    def _made(self, after: Value, path: Path | None) -> bytes | Iterator[bytes]:
        if "splices" not in after or path is None:
            return atomic.blob_pieces(self._backups, str(after.get("blob")))
        data = apply_splices(read_log(path), [_splice(one) for one in after["splices"]])
        if sha256(data) != after.get("sha256"):
            raise BadInput("a recorded change of a session is damaged", str(after.get("path")))
        return data

    def _grown(self, change: Change, current: bytes, *, is_ours: bool) -> bytes:
        """Return the change applied to a transcript that only grew since. Raises Conflict for any other."""
        before, after = change.before, change.after
        if is_ours and before is not None and after is not None and "splices" in after:
            begins = _prefix_with(current, str(before.get("sha256")))
            data = apply_splices(begins, [_splice(one) for one in after["splices"]]) if begins else b""
            if begins and sha256(data) == after.get("sha256"):
                return data + current[len(begins) :]
        if before is not None and after is not None and before.get("blob") and after.get("blob"):
            shorter = atomic.get_blob(self._backups, str(before["blob"]))
            cut = compact(atomic.get_blob(self._backups, str(after["blob"])), _integer(before, "keep"))
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
    """Hold the lock that whoever appends to a transcript of ours takes (`core.atomic`): no message is lost."""
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
    """Return the whole lines that `data` begins with and whose SHA-256 is `digest`; empty where there are none."""
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
    """Return why a transcript must not be changed now, in words; "" when it may be."""
    if agent.running:
        return f"{agent.what or 'an agent'} runs (process {agent.pid}) and would write its own copy over the change"
    if path.with_name(checkpoint_name(path.name)).exists():
        return "a turn in flight left its checkpoint, which a change would void"
    return ""


def kept_value(name: str, blob: str, messages: int) -> dict[str, Any]:
    """Return the value of a transcript `name` whose bytes are kept as `blob`, which is their SHA-256."""
    return {"path": name, "sha256": blob, "blob": blob, "messages": messages}


def splice_values(
    name: str, data: bytes, splices: Sequence[Splice], messages: tuple[int, int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values before and after of a transcript of which little changes; `messages`: counts."""
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
    """Return whether `current` begins with the messages of `start`, line endings and key order aside."""
    now, then = _messages(current), _messages(start)
    return len(now.messages) >= len(then.messages) and all(
        new.raw == old.raw for new, old in zip(now.messages, then.messages, strict=False)
    )


def _messages(data: bytes) -> Session:
    from nanomem_tui.agents.session_file import parse_session

    return parse_session(data, "", "")


def _stamp(path: Path) -> Stamp | None:
    try:
        return stamp_of(os.lstat(path))
    except FileNotFoundError:
        return None


def _integer(value: Value, name: str) -> int:
    found: Any = value.get(name)
    return found if isinstance(found, int) else 0


@contextlib.contextmanager
def _os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise from_os_error(error, f"writing {path.name}") from error
