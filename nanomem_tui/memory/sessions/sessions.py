"""Sessions: list, read, search and compact the agent's conversations, and the imported ones, which are read-only.

Owns the list over every release's file naming, pages of long transcripts, and how imported rows (seed 003) become a
conversation. Every change is one operation.
"""

from __future__ import annotations

import builtins
import contextlib
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nanomem_tui.agents.jsonl import repairable, text_of
from nanomem_tui.agents.releases import NOT_READ
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo, Problem, Refused
from nanomem_tui.core.files import Stamp, chunks, has_stamp, read_end, read_log
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, new_operation
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.memory.sessions import files
from nanomem_tui.memory.sessions.files import (
    TAKEN_OUT,
    SessionFile,
    Summary,
    hidden_reason,
    key_of,
    names_of,
    newest_first,
    other_keys,
    session_files,
    summarise,
)
from nanomem_tui.store import lookup
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Record

if TYPE_CHECKING:
    from nanomem_tui.agents.releases import Layout
    from nanomem_tui.agents.session_file import Message, Session
    from nanomem_tui.agents.transcripts import Compacted
    from nanomem_tui.memory.filters import Matcher, Neighbour, Range
    from nanomem_tui.store.files.presence import Presence


# -- What is told of transcripts: in a list, as a search result, before a compaction. Values only ---------------------


class SessionInfo(NamedTuple):
    """One transcript in a list. `path` is absolute, `size` in bytes, times are UTC ISO (of the file if it names none).

    `unarchived` messages are in no summary yet. `hidden_reason` says why the agent does not find it, "" when it does.
    `checkpoint`: a turn is in flight, or was when the agent died. `other_keys` wrote into the same file. `imported`: it
    came with an import and lies in our rows, not in a file.
    """

    key: str
    path: str
    messages: int
    size: int
    created_at: str
    updated_at: str
    last_archived: int
    unarchived: int
    title: str
    hidden_reason: str
    problems: int
    checkpoint: bool
    other_keys: tuple[str, ...] = ()
    imported: bool = False


class TranscriptHit(NamedTuple):
    """A message that matches: `text` is an excerpt, `ranges` are the hits in it (start and end in characters), `before`
    and `after` are the messages around it."""

    session_key: str
    index: int  # type: ignore[assignment]  # a tuple's own `index` is never asked for
    role: str
    timestamp: str
    text: str
    ranges: tuple[Range, ...]
    before: tuple[Neighbour, ...] = ()
    after: tuple[Neighbour, ...] = ()


class SessionCompaction(NamedTuple):
    """What compacting a session would do; `refused` says why it may not be done now, "" when it may.

    `unarchived` of the removed messages are in no summary yet.
    """

    key: str
    messages: int
    keep: int
    removed: int
    kept: int
    bytes_before: int
    bytes_after: int
    refused: str = ""
    unarchived: int = 0


# -- What of a message is searched, and shown beside one that was found -----------------------------------------------


def find_match(message: Message, wanted: Matcher) -> str | None:
    """Return the text of a message that matches: what was said, else the tool calls; None when neither does."""
    if wanted.matches(message.content):
        return message.content
    calls = _calls(message)
    return calls if calls and wanted.matches(calls) else None


def _calls(message: Message) -> str:
    return "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)


def show_neighbour(key: str, index: int, message: Message) -> Neighbour:
    """A message beside one that matches, as much of it as is shown."""
    from nanomem_tui.memory.filters import EXCERPT, Neighbour

    text = (message.content or _calls(message))[:EXCERPT]
    return Neighbour(f"{key}#{index}", message.role, message.timestamp, text)


__all__ = ["KEEP", "SessionCompaction", "SessionInfo", "Sessions", "TranscriptHit"]

KEEP = Settings().session_keep_messages
"""Messages that a compaction keeps where no setting says otherwise (seed 000: compactKeepMessages)."""
_TRIES = 3
T = TypeVar("T")

_NOTHING = Summary(None, 0, 0, 1)


class Sessions:
    """The transcripts of one workspace. Summaries are kept by inode, size and time: a second list reads nothing."""

    def __init__(
        self,
        paths: Paths,
        layout: Callable[[], Layout],
        perform: Perform,
        agent: Callable[[], Presence],
        imported: ImportedChats | None = None,
        own: Path | None = None,
        archive: Callable[[str, int, Actor], object] = lambda *_: None,
    ) -> None:
        """`own`: the folder of our own transcripts; `archive`: summarises the first messages of one of them."""
        self._paths = paths
        self._imported = imported
        self._layout = layout
        self._perform = perform
        self._agent = agent
        self._own = own
        self._archive = archive
        self._summaries: dict[str, tuple[Stamp, Summary, str]] = {}

    def count(self) -> int:
        """Return how many transcripts there are, hidden ones too, without opening one."""
        return sum(1 for _ in session_files(self._paths, self._layout()))

    def list(self) -> builtins.list[SessionInfo]:
        """Return all transcripts, readable or not, and imported conversations, the newest first."""
        infos = self.of_files()
        known = {info.path for info in infos}
        self._summaries = {path: kept for path, kept in self._summaries.items() if path in known}
        infos += [info for info, _ in self.chats()]
        return sorted(infos, key=lambda info: info.updated_at, reverse=True)

    def of_files(self) -> builtins.list[SessionInfo]:
        """Return every transcript in a file, the one last written first."""
        layout = self._layout()
        return [self._info(file, layout) for file in newest_first(session_files(self._paths, layout))]

    def chats(self) -> builtins.list[tuple[SessionInfo, Chat]]:
        """Return the imported conversations, the newest first."""
        found = self._imported.all() if self._imported is not None else {}
        if not found:
            return []

        keys = {info.key for info in self.of_files()}
        return sorted(list_imported(found, keys), key=lambda chat: chat[0].updated_at, reverse=True)

    @property
    def untold(self) -> Problem | None:
        """Why the imported conversations could not be read when they were asked for last."""
        return self._imported.problem if self._imported is not None else None

    def _chat(self, key: str) -> Chat | None:
        """Return the imported conversation of that key."""
        found = self._imported.all() if self._imported is not None else {}
        if not found:
            return None

        return find_imported(found, key, {info.key for info in self.of_files()})

    def get(self, key: str, path: str = "") -> Session:
        """Return the whole transcript of `key`; of two files that at `path`, else the agent's."""
        chat = self._chat(key) if not path else None
        return chat.transcript(key) if chat is not None else self.of_agent(key, path)

    def part(self, key: str, path: str = "", start: int | None = None, many: int | None = None) -> tuple[Session, int]:
        """Return `many` messages from `start` on (None: the last ones), and how many there are in all."""
        from nanomem_tui.memory.sessions import files as sessions_files

        chat = self._chat(key) if not path else None
        if chat is not None:
            return slice_session(chat.transcript(key), start, many)
        file = self._file(key, path)
        if file.stamp[1] > sessions_files.WHOLE:
            return slice_long_file(file.path, self._summary(file)[0], key, start, many)
        return slice_session(self._transcript(file, key), start, many)

    def of_agent(self, key: str, path: str = "") -> Session:
        """As `get`, for a transcript in a file. Raises NotFound, or Refused for an imported one."""
        return self._transcript(self._file(key, path), key)

    def _transcript(self, file: SessionFile, key: str) -> Session:

        from nanomem_tui.agents.session_file import parse_session

        return parse_session(read_log(file.path), self._paths.relative(file.path), key)

    def summaries(self) -> builtins.list[tuple[SessionFile, Summary, str]]:
        """Return every transcript file, the newest first, what is listed of it, why it cannot be read ("": it can)."""
        files = newest_first(session_files(self._paths, self._layout()))
        return [(file, *self._summary(file)) for file in files]

    def unreadable(self) -> builtins.list[Problem]:
        """Return the transcripts that cannot be read at all: nobody knows what is in them."""
        files = session_files(self._paths, self._layout())
        found = [(file, self._summary(file)[1]) for file in files if not file.link]
        fix = "check its owner and mode"
        return [Problem(why, self._paths.relative(file.path), None, fix) for file, why in found if why]

    def problems(self) -> builtins.list[Problem]:
        """Return what is wrong in transcripts, line by line; reads the files that are not clean."""
        found = [*filter(None, [self.untold])]
        if self._layout().release in NOT_READ:  # nobody knows yet what is wrong in these
            return found
        for file in newest_first(session_files(self._paths, self._layout())):
            summary, unreadable = self._summary(file)
            where = self._paths.relative(file.path)
            if unreadable:
                fix = "move it away" if file.link else "check its owner, its mode and what it is"
                found.append(Problem(unreadable, where, None, fix))
            elif summary.problems:
                from nanomem_tui.agents.session_file import parse_session

                told = parse_session(read_log(file.path), where, "").problems
                found += repairable(told, TAKEN_OUT)
        return found

    @property
    def paths(self) -> Paths:
        """Where the agent's files lie."""
        return self._paths

    def search(
        self, query: str, limit: int = 100, said: Callable[[str], bool] | None = None
    ) -> builtins.list[TranscriptHit]:
        """Return the messages that hold every word of `query`, newest session and newest message first, at most
        `limit`.

        Case and width are no difference, `"a phrase"` and `-without` work as in filters; tool calls are searched too.
        `said`: whether a message of some time may be one.
        """
        return list(self.hits(query, limit, said=said))

    def hits(
        self,
        query: str,
        limit: int = 100,
        stop: Callable[[], bool] = lambda: False,
        said: Callable[[str], bool] | None = None,
    ) -> Iterator[TranscriptHit]:
        """Yield what `search` finds, transcript by transcript; `stop` is asked before each."""
        from nanomem_tui.memory.filters import matcher

        wanted = matcher(query)
        left = limit if wanted else 0
        for info in self.list() if left > 0 else ():
            found = self._hits(info, wanted)
            newest = deque((hit for hit in found if said is None or said(hit.timestamp)), maxlen=left)
            yield from reversed(newest)
            left -= len(newest)
            if left <= 0 or stop():
                return

    def files(self) -> builtins.list[SessionFile]:
        """Return the files of all transcripts but links, the newest first, without opening one."""
        return newest_first(file for file in session_files(self._paths, self._layout()) if not file.link)

    def files_of(self, keys: Collection[str]) -> builtins.list[SessionFile]:
        """Return the files that may be these keys' transcripts by their names, without links."""
        names = {name for key in keys for name in names_of(key)}
        return [file for file in session_files(self._paths, self._layout(), names) if not file.link]

    def end_of(self, file: SessionFile, most: int) -> tuple[str, int, tuple[Message, ...]]:
        """Return the key, the index of the first message, and the messages of the last `most` bytes or a bit more."""
        from nanomem_tui.agents.session_file import parse_session

        size = file.stamp[1]
        if size <= most:
            whole = parse_session(read_log(file.path), "", "")
            return key_of(file.path.name, {"key": whole.key}), 0, whole.messages
        key, count = self._counted(file)
        start = (size - most) // (most // 4) * (most // 4)
        messages = parse_session(read_end(file.path, start, size), "", "").messages
        return key, max(0, count - len(messages)), messages

    def _counted(self, file: SessionFile) -> tuple[str, int]:
        """Return the key of a long transcript and its messages, counted by lines."""
        from nanomem_tui.agents.session_file import count_messages, session_header

        kept = self._summaries.get(str(file.path))
        if kept is not None and kept[0] == file.stamp:
            return key_of(file.path.name, kept[1].header), kept[1].messages
        header, count = None, 0
        for chunk in chunks(file.path):
            header = header or session_header(chunk, "")
            count += count_messages(chunk)
        return key_of(file.path.name, header), count

    def compact_preview(self, key: str, keep: int = KEEP) -> SessionCompaction:
        """Return what `compact` would do. Raises NotFound, or BadInput for a `keep` below 1."""
        file = self._file(key)
        return self._compaction(key, file, compact_file(file, keep), keep)

    def compact_all_preview(self, keep: int = KEEP) -> builtins.list[SessionCompaction]:
        """Return what `compact_all` would do to each session that is longer than `keep` messages, refused ones too."""
        long = [info for info in self.list() if info.messages > keep and not info.hidden_reason]
        return [plan for plan in (self.compact_preview(info.key, keep) for info in long) if plan.removed]

    def compact(self, key: str, keep: int = KEEP, force: bool = False, *, actor: Actor = "human") -> Operation:
        """Keep the last `keep` messages; our own transcripts are summarised into the archive first."""

        def compacted() -> Operation:
            is_own = self._archived_first(key, keep, actor)
            return self._compacted_to(key, keep, force or is_own, actor)

        return _while_it_grows(compacted)

    def compact_full(self, key: str, settings: Settings) -> Operation:
        """Compact a transcript of ours that is beyond its thresholds. Raises as `compact`."""
        keep = settings.session_keep_messages
        plan = self.compact_preview(key, keep)
        if plan.bytes_after >= files.HEAVY:
            keep = max(1, plan.kept // 2)
        return self.compact(key, keep, actor="compaction")

    def _archived_first(self, key: str, keep: int, actor: Actor) -> bool:
        """Archive what goes of a transcript of ours; return whether it is one."""
        file = self._file(key)
        if self._own is None or file.path.parent != self._own:
            return False
        if removed := compact_file(file, keep).removed_messages:
            self._archive(key, removed, actor)
        return True

    def _compacted_to(self, key: str, keep: int, force: bool, actor: Actor) -> Operation:
        change = self._change(key, keep, force)
        label = f"compact session {key} to {_count(change, 'after')} of {counted(_count(change, 'before'), 'message')}"
        return self._perform(new_operation("session.compact", label, [change], actor=actor, meta={"keep": keep}))

    def compact_all(self, keep: int = KEEP, force: bool = False) -> builtins.list[Operation]:
        """Compact every session longer than `keep` messages, as one operation; refused ones are left out."""
        from nanomem_tui.memory.sessions.files import INSIST

        agent = self._agent()
        if agent.running and not force:
            raise Refused(f"{agent.what} runs (process {agent.pid})", "", INSIST)
        plans = [plan for plan in self.compact_all_preview(keep) if force or not plan.refused]

        def compacted() -> builtins.list[Operation]:
            own = [self._archived_first(plan.key, keep, "human") for plan in plans]
            changes = [self._change(plan.key, keep, force or ours) for plan, ours in zip(plans, own, strict=True)]
            if not changes:
                return []
            label = f"compact {counted(len(changes), 'session')} to {counted(keep, 'message')}"
            return [self._perform(new_operation("session.compact", label, changes, meta={"keep": keep}))]

        return _while_it_grows(compacted)

    def _change(self, key: str, keep: int, force: bool) -> Change:
        from nanomem_tui.core import atomic
        from nanomem_tui.memory.sessions.files import INSIST, kept_value

        file = self._file(key)
        result = compact_file(file, keep)
        plan = self._compaction(key, file, result, keep)
        if plan.refused and not (force and file.current and not file.link):
            raise Refused(plan.refused, key, INSIST)
        if not result.removed_messages:
            raise NothingToDo(f"the session has {counted(plan.messages, 'message')}, {keep:,} are kept", key)
        backups = self._paths.backups
        before = kept_value(file.path.name, atomic.put_blob(backups, chunks(file.path)), plan.messages)
        after = kept_value(file.path.name, atomic.put_blob(backups, result.data), result.kept_messages)
        if not has_stamp(file.path, file.stamp):  # both were read of it
            raise Conflict("the session changed meanwhile", key, "look at it again and repeat the change")
        insisted = {"force": True} if force else {}
        return Change("session", key, before, {**after, "keep": keep, **insisted})

    def _compaction(self, key: str, file: SessionFile, result: Compacted, keep: int) -> SessionCompaction:
        from nanomem_tui.memory.sessions.files import refusal

        refused = refusal(file.path, self._agent())
        if file.link or not file.current:
            refused = hidden_reason(file, None, self._layout())
        return SessionCompaction(
            key=key,
            messages=result.removed_messages + result.kept_messages,
            keep=keep,
            removed=result.removed_messages,
            kept=result.kept_messages,
            bytes_before=file.stamp[1],
            bytes_after=len(result.data),
            refused=refused,
            unarchived=result.removed_unarchived,
        )

    def _file(self, key: str, path: str = "") -> SessionFile:
        """Return the file of `key`: that at `path`, else the agent's own before a hidden one, then the newest."""
        claims: builtins.list[tuple[bool, SessionFile]] = []
        layout = self._layout()
        for file in newest_first(session_files(self._paths, layout)):
            if path and str(file.path) != path:
                continue
            summary, _ = self._summary(file)
            if key_of(file.path.name, summary.header) == key and not file.link:
                claims.append((not hidden_reason(file, summary.header, layout), file))
        if not claims and self._chat(key) is not None:
            raise Refused(READ_ONLY, key, "`nanomem undo` takes the import back")
        if not claims:
            raise NotFound("no such session", key, "`nanomem session list` shows them all")
        return max(claims, key=lambda claim: claim[0])[1]

    def _summary(self, file: SessionFile) -> tuple[Summary, str]:
        """Return the counts of a file, and why it could not be read ("" when it was)."""
        kept = self._summaries.get(str(file.path))
        if kept is not None and kept[0] == file.stamp:
            return kept[1], kept[2]
        summary, unreadable = _NOTHING, ""
        if file.link:
            unreadable = file.instead
        else:
            try:
                summary = summarise(file)
            except NanomemError as error:
                unreadable = error.what
        self._summaries[str(file.path)] = (file.stamp, summary, unreadable)
        return summary, unreadable

    def _info(self, file: SessionFile, layout: Layout) -> SessionInfo:
        summary, unreadable = self._summary(file)
        header = summary.header or {}
        key = key_of(file.path.name, summary.header)
        modified = clock.iso(datetime.fromtimestamp(file.modified, UTC))
        metadata = header.get("metadata")
        return SessionInfo(
            key=key,
            path=str(file.path),
            messages=summary.messages,
            size=file.stamp[1],
            created_at=_utc(header.get("created_at"), modified),
            updated_at=_utc(header.get("updated_at"), modified),
            last_archived=summary.last_archived,
            unarchived=summary.messages - summary.last_archived,
            title=text_of(metadata.get("title")) if isinstance(metadata, dict) else "",
            hidden_reason=unreadable or hidden_reason(file, summary.header, layout),
            problems=summary.problems,
            checkpoint=file.checkpoint,
            other_keys=summary.other_keys or other_keys(file.path.name, key),
        )

    def _hits(self, info: SessionInfo, wanted: Matcher) -> Iterator[TranscriptHit]:
        """Yield the hits of one transcript, oldest first; an unreadable file has none."""
        from nanomem_tui.memory.filters import AROUND, with_neighbours

        try:
            for (index, message), window in with_neighbours(self._numbered(info)):
                text = find_match(message, wanted)
                if text is not None:
                    excerpt, ranges = wanted.excerpt(text)
                    beside = [show_neighbour(info.key, *one) if one else None for one in window]
                    before, after = (tuple(filter(None, part)) for part in (beside[:AROUND], beside[AROUND + 1 :]))
                    yield TranscriptHit(
                        info.key, index, message.role, message.timestamp, excerpt, ranges, before, after
                    )
        except NanomemError:
            return

    def _numbered(self, info: SessionInfo) -> Iterator[tuple[int, Message]]:
        """Yield the messages of a transcript with their index, a piece of the file at a time."""
        from nanomem_tui.agents.session_file import parse_session

        chat = self._chat(info.key) if info.imported else None
        if chat is not None:
            yield from enumerate(chat.spoken_messages())
            return
        start = 0
        for chunk in chunks(self._paths.workspace / info.path):
            messages = parse_session(chunk, "", info.key).messages
            yield from ((start + message.index, message) for message in messages)
            start += len(messages)


def _count(change: Change, side: str) -> int:
    value = change.before if side == "before" else change.after
    return int((value or {}).get("messages", 0))


def _utc(value: object, otherwise: str) -> str:
    moment = clock.parse(value) if isinstance(value, str) else None
    return clock.iso(moment) if moment else otherwise


def _while_it_grows(compact: Callable[[], T]) -> T:
    """Compact, again where a turn appended in that moment. Raises Conflict when that happens each time."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(Conflict):
            return compact()
    return compact()


# -- A part of a transcript: a long one is never held whole, and its file is read a piece at a time -------------------

AT_ONCE = 2_000
"""Messages of a longer one that are held where no number is asked for."""


def slice_session(whole: Session, start: int | None, many: int | None) -> tuple[Session, int]:
    """So many messages from an index on (None: the last ones, or all), and how many there are."""
    from dataclasses import replace

    total = len(whole.messages)
    first = (max(0, total - many) if many is not None else 0) if start is None else start
    return replace(whole, messages=whole.messages[first : None if many is None else first + many]), total


def slice_long_file(path: Path, summary: Summary, key: str, start: int | None, many: int | None) -> tuple[Session, int]:
    """Return the same of a file that is not held whole, of which `summary` says what there is."""
    from nanomem_tui.agents.session_file import Session

    count = AT_ONCE if many is None and start is None else many
    first = max(0, summary.messages - (count or 0)) if start is None else start
    last = summary.messages if count is None else first + count
    messages = tuple(islice(_from(path, first), max(0, last - first)))
    head = summary.header or {}
    metadata = head.get("metadata")
    part = Session(
        key=key,
        created_at=text_of(head.get("created_at")),
        updated_at=text_of(head.get("updated_at")),
        metadata=metadata if isinstance(metadata, dict) else {},
        last_archived=summary.last_archived,
        last_consolidated=summary.last_archived,
        has_provider_state=False,
        messages=messages,
        problems=(),
        has_metadata=summary.header is not None,
    )
    return part, summary.messages


def compact_file(file: SessionFile, keep: int) -> Compacted:
    """Return the transcript cut to its last `keep` messages; a long one is not held."""
    if keep < 1:
        raise BadInput("a session keeps at least one message", str(keep))
    from nanomem_tui.agents.transcript_edits import compact_long
    from nanomem_tui.agents.transcripts import compact

    if file.stamp[1] <= files.WHOLE:
        return compact(read_log(file.path), keep)
    shown = _shown.get(file.path)
    if shown is not None and shown[:2] == (file.stamp, keep):
        return shown[2]
    found = compact_long(lambda: chunks(file.path), keep)
    if found is None:
        return compact(read_log(file.path), keep)
    _shown[file.path] = file.stamp, keep, found
    return found


_shown: dict[Path, tuple[Stamp, int, Compacted]] = {}
"""Of each long transcript the cut that was shown last, for who says yes to it."""


def _from(path: Path, start: int) -> Iterator[Message]:
    """Yield the messages from an index on."""
    from dataclasses import replace

    from nanomem_tui.agents.session_file import messages_in, parse_session

    first = 0
    for chunk in chunks(path):
        count = messages_in(chunk)
        if first + count > start:
            for message in parse_session(chunk, "", "").messages:
                if first + message.index >= start:
                    yield replace(message, index=first + message.index)
        first += count


# -- Conversations that came with an import (seed 003), as transcripts: rows of ours that are only read ---------------

READ_ONLY = "imported, and only read"
BESIDE = " (imported)"
"""What the key of a conversation ends with where the agent has a session of the same key."""


class Chat(NamedTuple):
    """The messages of one conversation, in order. `state` changes whenever they do."""

    messages: list[Record]
    state: tuple[int, str, int]

    def spoken_messages(self) -> list[Message]:
        """Return the messages as those of a transcript are."""
        from nanomem_tui.agents.session_file import Message

        return [
            Message(number, str(row.meta.get("role") or ""), row.text, _local(row.at), raw={"content": row.text})
            for number, row in enumerate(self.messages)
        ]

    def transcript(self, key: str) -> Session:
        """Return the whole as a transcript of that key."""
        from nanomem_tui.agents.session_file import Session

        said = self.spoken_messages()
        return Session(key, said[0].timestamp, said[-1].timestamp, {}, 0, 0, False, tuple(said), ())


class ImportedChats:
    """The imported conversations of one workspace."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._known: tuple[int, dict[str, Chat]] = (-1, {})
        self.problem: Problem | None = None

    def all(self) -> dict[str, Chat]:
        """Return the conversations by chat id; none, with a `problem`, where they cannot be read."""
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


def find_imported(chats: Mapping[str, Chat], key: str, taken: Collection[str]) -> Chat | None:
    """Return the conversation that is shown under that key. `taken`: the keys of the agent's sessions."""
    return next((chat for name, chat in chats.items() if imported_key(name, taken) == key), None)


def list_imported(chats: Mapping[str, Chat], taken: Collection[str]) -> list[tuple[SessionInfo, Chat]]:
    """Return the conversations as a list of sessions tells them, in no order."""
    return [(_info(imported_key(key, taken), chat.messages), chat) for key, chat in chats.items()]


def imported_key(chat: str, taken: Collection[str]) -> str:
    """Return the key under which a conversation is shown."""
    return f"{chat}{BESIDE}" if chat in taken else chat


def message_order(row: Record) -> tuple[Any, ...]:
    """Return what messages are sorted by: when they were said, and how they stood among those of the same second."""
    number = row.meta.get("number")
    return row.at, number if isinstance(number, int) else 0, row.id


def _chat(rows: list[Record]) -> Chat:
    ordered = sorted(rows, key=message_order)
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
