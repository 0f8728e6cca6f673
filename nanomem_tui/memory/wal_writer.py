"""Writing WAL state: what a turn is about before the model is called, what became of it after (seed 001 §4.3).

Owns the choice of the file and the append: one write under a lock, never over what is there. A secret that was said is
written as its kind and fingerprint. Reading is `wal`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from nanomem_tui.agents import turn_log
from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.atomic import opened
from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.language import secrets

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
        """The beginning of the turn with the id `turn` at `at` (UTC ISO); a new file gets its header in the same write.

        Raises BadInput for a key that can name no file, or the errors of `from_os_error`.
        """
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
        """The end of a turn, of the session's last one where no id is given; None: it had no answer. Raises the errors
        of `from_os_error`."""
        header = turn_log.dump_header(session_key, "", "")
        actions = [secrets.mask_start(action) for action in pending_actions]
        done = [secrets.mask_start(action) for action in done_actions[: turn_log.MAX_DONE]]
        answer = None if assistant is None else secrets.mask_start(assistant)
        self._append(session_key, header, turn_log.dump_post(at, answer, actions, turn, done_actions=done))

    def take_back(self, session_key: str, channel: str, chat_id: str, at: str, turn: str = "") -> None:
        """Take the beginning of the turn at `at` away again; where something was written after it, it is marked as
        declined instead.

        A file that holds nothing else goes. Raises the errors of `from_os_error`.
        """
        path = self.file(session_key)
        if not path.is_file():
            return
        with opened(path, "writing the session state") as handle:
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
        """Whether the last block of a turn, near the end of the file, is its POST: it has ended or was declined, in
        whatever process. False where the file cannot be read, or says nothing of it."""
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
        """What tells that a session's file was written: its inode and size; None where there is none."""
        try:
            found = self.file(session_key).stat()
        except (OSError, BadInput):
            return None
        return found.st_ino, found.st_size

    def file(self, session_key: str) -> Path:
        """Where the session's turns lie: the seed's name, or one with a hash where that is another session's.

        Seed 001 gives `slack:T1_C2` and `slack_T1:C2` one name; turns of two sessions in one file would answer each
        other. A name beyond what a folder can hold is cut and hashed too.
        """
        if session_key not in self._files:
            plain = self.folder / turn_log.wal_name(checked_key(session_key))
            taken = len(plain.name.encode()) > MAX_NAME or _owner(plain) not in (None, session_key)
            self._files[session_key] = self.folder / _hashed(plain.name, session_key) if taken else plain
        return self._files[session_key]

    def _append(self, session_key: str, header: bytes, block: bytes) -> None:
        with opened(self.file(session_key), "writing the session state") as handle:
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
    """Whose turns a file holds; None where there is no file, or none that says."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _owner_in(os.pread(handle, _HEAD, 0))
    finally:
        os.close(handle)


def _owner_in(head: bytes) -> str | None:
    """The key that a head names, with the blanks at its end: the ids of two chats may differ in nothing else."""
    found = _KEY_LINE.search(head.partition(b"\n## Turns")[0])
    key = found[1].decode("utf-8", "replace").removesuffix("\r") if found else ""
    return key if key.strip() else None


def _hashed(name: str, session_key: str) -> str:
    stem = name.removesuffix(".md").encode()[: MAX_NAME - 20].decode("utf-8", "ignore")
    return f"{stem}-{blake2b(session_key.encode('utf-8', 'replace'), digest_size=6).hexdigest()}.md"
