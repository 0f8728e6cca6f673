"""The passages of single chats: what was said in the sessions of some keys, and what the archive sums up of them.

Owns which files and entries are those of a chat, and how a transcript that grew is read on. Nothing of another chat is
in such an index, so that nothing of it can be found, counted or spelt by it. What is forgotten is taken out before it
is indexed. Reads only.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.agents.transcripts import Message, count_messages, parse_session, session_header
from nanomem_tui.attach.fence import CLOSE, OPEN
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.files import Stamp, chunks, read_end, read_log, read_piece
from nanomem_tui.core.paths import Paths
from nanomem_tui.language import secrets
from nanomem_tui.language.cues import asked_speaker
from nanomem_tui.memory.conversations import LONGEST, ROLES, Told, as_told, distinct, entry_passages, said_in, sender_of
from nanomem_tui.memory.sequences import Passage, Timed
from nanomem_tui.memory.session_files import SessionFile, is_of_one, key_of
from nanomem_tui.memory.shelf import Shelf
from nanomem_tui.store import forgotten
from nanomem_tui.store.forgotten import Forgotten

if TYPE_CHECKING:
    from nanomem_tui.memory.history import History
    from nanomem_tui.memory.sequences import Nearest, OrderedRecall
    from nanomem_tui.memory.sessions import Sessions

MOST_BYTES, BEFORE_BYTES = 4_000_000, 1_000_000
"""The end of one transcript that is read, and where a turn waits for it: some 8,000 and 2,000 messages."""

LAG = 8_000
"""Bytes by which a transcript may have grown where only what was said before the last turns is wanted: about ten of
them."""

HEAD = 64_000
"""Bytes of the metadata line that are read: a summary in it has at most 12,000 characters."""

CHATS = 32
"""Chats whose passages are kept; the one not asked for the longest time goes, and is read again when it comes back."""

_LINES = 3  # lines of one archive entry that may stand before another entry

_HEAD = b'{"_type"'  # how the lines of a transcript begin that are rewritten with every turn


class _Read(NamedTuple):
    """What was read of a transcript: its passages, how many messages it has, how many the agent replays no more, and
    what tells whether it only grew since."""

    stamp: Stamp
    key: str
    passages: list[Passage]
    messages: int
    archived: int
    start: int = 0
    size: int = 0
    digest: bytes = b""


class ChatTalk:
    """What was said in one chat, in order: an index of its sessions and one of its archive."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        """`most`: bytes of the end of a transcript that are read."""
        self.most = most
        self.said = Shelf(ROLES)
        self.archived = Shelf()
        self.files: dict[str, _Read] = {}
        self.entries: tuple[HistoryEntry, ...] | None = None

    def recall(
        self,
        query: str,
        limit: int,
        time: Timed | None = None,
        by_meaning: Callable[[OrderedRecall], Nearest | None] = lambda index: None,
    ) -> list[Told]:
        """The nearest messages and lines of the archive, best first. `time`: the time that the query names;
        `by_meaning`: gives what finds the passages of an index by their meaning, None where words alone do."""
        found = self.recall_said(query, limit, time, by_meaning(self.said.index))
        index = self.archived.index
        lines = index.search(query, _LINES * limit, nearest=by_meaning(index), time=time)
        hits = distinct("history", lines, (), limit)
        found += [as_told("history", hit) for hit in index.explained(query, hits)]
        return sorted(found, key=lambda told: -told.score)[:limit]

    def recall_said(
        self, query: str, limit: int, time: Timed | None = None, nearest: Nearest | None = None
    ) -> list[Told]:
        """The nearest messages, best first."""
        index = self.said.index
        hits = index.search(query, limit, asked_speaker(query), nearest, time)
        return [as_told("sessions", hit) for hit in index.explained(query, hits)]

    def replayed_from(self) -> dict[str, int]:
        """By session key, the index of the first message that the agent itself puts before its model again."""
        return {read.key: read.archived for read in self.files.values()}

    def last_turns(self, many: int) -> dict[str, int]:
        """By session key, the index of the message that begins the last so many turns; 0 where there are fewer."""
        found = {}
        for read in self.files.values():
            asked = [one for one in read.passages if one.speaker == "user"]
            first = asked[-many] if many and len(asked) >= many else None
            found[read.key] = number_of(first.key) if first is not None else 0 if many else read.messages
        return found


class ChatPassages:
    """The talk of the chats of one workspace, each read when it is first asked for and on where its files grew."""

    def __init__(self, sessions: Sessions, history: History, paths: Paths) -> None:
        self._sessions = sessions
        self._history = history
        self._paths = paths
        self._chats: OrderedDict[tuple[frozenset[str], bool], ChatTalk] = OrderedDict()
        self._forgotten: forgotten.Stamp = forgotten.NEVER
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def talk_in(self, keys: frozenset[str], *, before: bool = False) -> Iterator[ChatTalk]:
        """The talk in the sessions of these keys, for one thread at a time. `before`: for a turn, which waits and wants
        what was said before its last ones: less of a transcript is read, not again for few bytes, and no archive.

        A transcript that cannot be read has said nothing. Raises the errors of `forgotten.load`: what is forgotten
        cannot be told from the rest then.
        """
        with self._lock:
            stamp = forgotten.stamp(self._paths)
            kept = forgotten.load(self._paths)
            if stamp != self._forgotten:
                self._chats.clear()
                self._forgotten = stamp
            talk = self._chats.setdefault((keys, before), ChatTalk(BEFORE_BYTES if before else MOST_BYTES))
            self._chats.move_to_end((keys, before))
            while len(self._chats) > CHATS:
                self._chats.popitem(last=False)
            self._renew_said(talk, keys, kept, LAG if before else 0)
            if not before:
                self._renew_archive(talk, keys, kept)
            yield talk

    def _renew_said(self, talk: ChatTalk, keys: frozenset[str], kept: Forgotten, lag: int) -> None:
        try:
            files = self._sessions.files_of(keys)
        except BadInput:  # no file can have such a name
            files = []
        reads: dict[str, _Read] = {}
        for file in sorted(files, key=lambda file: file.modified):
            name = str(file.path)
            known = talk.files.get(name)
            try:
                if known is None or not _is_as_good(known, file, lag):
                    read = _read(file, known, kept, talk.most)
                elif known.stamp == file.stamp:
                    read = known
                else:  # what is summed up may have changed all the same
                    read = known._replace(archived=_archived(session_header(read_piece(file.path, 0, HEAD), "")))
            except NanomemError:
                continue
            if read.key in keys and not kept.named("session", read.key):
                reads[name] = read
        talk.said.keep_only(reads.keys())
        for name, read in reads.items():
            if talk.said.known(name, read.stamp) is None:
                talk.said.put(name, read.stamp, read.passages, _go_on)
        talk.said.tidy()
        talk.files = reads

    def _renew_archive(self, talk: ChatTalk, keys: frozenset[str], kept: Forgotten) -> None:
        entries = self._history.in_order()
        if entries is talk.entries:
            return
        passages: list[Passage] = []
        for entry in entries:
            if entry.session_key in keys and not kept.named("session", entry.session_key or ""):
                content = secrets.mask(kept.taken_out(entry.content) if kept else entry.content)
                passages += entry_passages(entry._replace(content=content), f"{entry.session_key}\n0")
        talk.archived.put("", None, passages, _go_on)
        talk.archived.tidy()
        talk.entries = entries


def number_of(key: str) -> int:
    """The index of a message by the key of its passage."""
    return int(key.rpartition("#")[2])


def _is_as_good(known: _Read, file: SessionFile, lag: int) -> bool:
    """Whether what is known of a file need not be read again."""
    return known.stamp == file.stamp or 0 < file.stamp[1] - known.stamp[1] < lag


def _go_on() -> bool:
    return False


def _read(file: SessionFile, known: _Read | None, kept: Forgotten, most: int) -> _Read:
    """Read a transcript as it is now; of one that only grew since it was `known` the new lines alone are parsed."""
    size = file.stamp[1]
    start = 0 if size <= most else (size - most) // (most // 4) * (most // 4)
    data = read_log(file.path) if not start else read_end(file.path, start, size)
    head = data if not start else next(iter(chunks(file.path)), b"")
    header = session_header(head[: head.find(b"\n") + 1], "")
    key = key_of(file.path.name, header)
    if not is_of_one(file.path.name, header):
        return _Read(file.stamp, "", [], 0, 0)
    body = _without_heads(data)
    is_plain = not core_files.is_wide(data) and body.endswith(b"\n")
    hashed, at = hashlib.blake2b(), 0
    if known is not None and is_plain and (known.key, known.start) == (key, start) and 0 < known.size <= len(body):
        hashed.update(memoryview(body)[: known.size])
        at = known.size
    if known is not None and at and hashed.digest() == known.digest:
        behind = known.passages[-1] if known.passages else None
        passages, count = known.passages, known.messages
        messages = parse_session(body[known.size :], "", key).messages
    else:
        behind, passages = None, []
        messages = parse_session(data if not is_plain else body, "", key).messages
        count = _messages_before(file.path, start) if start else 0
    place = str(file.path)
    new = said_in(key, count, _told_of(messages, kept), place, behind)
    hashed.update(memoryview(body)[at:])
    digest = hashed.digest() if is_plain else b""
    counted = count + len(messages)
    return _Read(file.stamp, key, [*passages, *new], counted, _archived(header), start, len(body), digest)


def _told_of(messages: Iterable[Message], kept: Forgotten) -> Iterator[Message]:
    """The messages as they may be indexed: without blocks of memory that an agent keeps in its transcript, without what
    is forgotten, and none of somebody who is."""
    for message in messages:
        content = without_blocks(message.content)
        if kept and kept.named("sender", sender_of(message)):
            continue
        content = kept.taken_out(content) if kept else content
        if len(content) > LONGEST:  # it is cut there, and half a secret is not known as one
            content = secrets.mask_start(content)
        yield message if content == message.content else replace(message, content=content)


def without_blocks(text: str) -> str:
    """A text without the blocks of memory in it: what stood there may be deleted by now.

    >>> without_blocks("Hi <recalled-memory>x</recalled-memory>there")
    'Hi there'
    """
    if OPEN not in text:
        return text
    first, *rest = text.split(OPEN)
    return first + "".join(part.partition(CLOSE)[2] for part in rest)


def _without_heads(data: bytes) -> bytes:
    """The lines of a transcript behind those that are rewritten with every turn."""
    at = 0
    while data.startswith(_HEAD, at):
        end = data.find(b"\n", at)
        if end < 0:
            return b""
        at = end + 1
    return data[at:]


def _messages_before(path: Path, start: int) -> int:
    """How many messages begin in the first `start` bytes of a file, by its lines."""
    count, left = 0, start
    for piece in chunks(path):
        count += count_messages(piece[:left])
        left -= len(piece)
        if left <= 0:
            break
    return count


def _archived(header: Mapping[str, Any] | None) -> int:
    """The offset up to which the agent has summed a transcript up; 0 where it tells none."""
    value = (header or {}).get("last_consolidated", (header or {}).get("last_archived"))
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
