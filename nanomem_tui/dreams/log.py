"""The log of Dreams and where Dream stands: runs, their commits, the cursor, and the entries that wait.

Owns the values that a blame shows (`BlamedLine`, its evidence), `DreamLog` and `DreamQueue`. Reads only, and loads no
language rules, so that a status stays fast.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.agents.archive import (
    HistoryEntry,
    ReadTo,
    clamp_cursor,
    count_skipped,
    not_dreamt,
    parse_cursor,
    parse_history,
)
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound, Problem, shown_error
from nanomem_tui.core.paths import DREAM_CURSOR, TRACKED_FILES, Paths
from nanomem_tui.core.text import counted
from nanomem_tui.memory.sessions.archive import WHOLE, is_long, long_archive
from nanomem_tui.store.files.history import HISTORY

if TYPE_CHECKING:
    from nanomem_tui.agents.git import Commit, FileDiff
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.store.files.layer import FileLayer
    from nanomem_tui.store.files.presence import Presence


# A line of a memory file with who wrote it and why: the values of a blame, and what a commit says of who made it.

Who = Literal["nanomem dream", "agent dream", "person", "outside", "agent", "before"]
"""A Dream of ours, one of the agent, a person through nanomem, an edit by another program, the agent itself; or, of a
line that was there when versions began to be kept, nobody knows who."""

_BACK = ("revert:", 'Revert "', "nanomem: undo", "nanomem: redo", "nanomem: take back", "nanomem: go back to")
_ACCEPTED = "nanomem: accept"
_KEPT_OUTSIDE = "nanomem: keep what was edited outside"


class Writer(NamedTuple):
    """The commit that wrote a line. `at` is UTC ISO, `author` is `Name <mail>`."""

    sha: str
    at: str
    author: str
    subject: str
    who: Who

    @property
    def short(self) -> str:
        """The first 8 digits of the id, as agents print it."""
        return self.sha[:8]

    @property
    def accepted(self) -> bool:
        """Whether a person accepted what had waited: the words are a Dream's, and so is the evidence."""
        return self.who == "person" and self.subject.startswith(_ACCEPTED)

    @property
    def dreamt(self) -> bool:
        """Whether a Dream found the words, whoever let them in."""
        return self.accepted or self.who in ("nanomem dream", "agent dream")

    @property
    def role(self) -> str:
        """Who, in a word or two; `accepted` for a person who let in what a Dream had proposed."""
        return "accepted" if self.accepted else self.who

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        said = {"commit": self.sha, "at": self.at, "who": self.who, "author": self.author, "subject": self.subject}
        return {**said, "accepted": self.accepted}


class BlamedLine(NamedTuple):
    """One line of a memory file, counted from 1. `writer` is None for a line that is not committed yet.

    `first` is who wrote it before `writer` brought it back, None where that is the same. `entries` asked for it, the
    best first; `messages` are what these came from, where they were looked up. `gone`: the Dream behind it recorded
    none, and not all that it read is still in the archive.
    """

    file: str
    number: int
    text: str
    writer: Writer | None
    first: Writer | None = None
    entries: tuple[EntryEvidence, ...] = ()
    messages: tuple[MessageEvidence, ...] = ()
    gone: bool = False

    @property
    def sha(self) -> str | None:
        """The id of the commit that wrote it last."""
        return self.writer.sha if self.writer else None

    @property
    def origin(self) -> Writer | None:
        """Who wrote it first: the one who had a reason."""
        return self.first or self.writer

    @property
    def at(self) -> str:
        """When it was written, UTC ISO; "" when it is not committed."""
        return self.writer.at if self.writer else ""

    @property
    def who(self) -> str:
        """Who wrote it, `uncommitted` for nobody yet."""
        return self.writer.who if self.writer else "uncommitted"

    @property
    def role(self) -> str:
        """`who`; `accepted` for a person who let in what a Dream had proposed."""
        return self.writer.role if self.writer else self.who

    @property
    def cursors(self) -> tuple[int, ...]:
        """The history entries that asked for it, the best first."""
        return tuple(entry.cursor for entry in self.entries)

    @property
    def guessed(self) -> bool:
        """Whether its entries are those that share its words, and no Dream recorded them."""
        return bool(self.entries) and not any(entry.recorded for entry in self.entries)

    @property
    def doubt(self) -> str:
        """Why no entry is named, or another one may have asked for it, in a sentence; "" where a Dream named one."""
        if self.gone:
            left = "another may have asked for it" if self.entries else "none that is left shares enough words"
            return f"The archive no longer holds all entries that this Dream read: {left}."
        if self.entries:
            return ""
        dreamt = self.origin is not None and self.origin.dreamt
        return "No entry that this Dream read shares enough words with it." if dreamt else "No Dream wrote it."

    @property
    def named(self) -> str:
        """The entries, a `~` before those that are guessed: `~#12 #7`."""
        return ("~" if self.guessed else "") + " ".join(f"#{cursor}" for cursor in self.cursors)

    @property
    def session_key(self) -> str | None:
        """The session that the best entry came from, None when it is not known."""
        said = self.messages[0].session_key if self.messages else None
        return said or next((entry.session_key for entry in self.entries if entry.session_key), None)

    def to_json(self) -> dict[str, Any]:
        """Return the line as a JSON object."""
        nobody = {"commit": None, "at": None, "who": "uncommitted", "author": None, "subject": None, "accepted": False}
        return {
            "file": self.file,
            "line": self.number,
            "text": self.text,
            **(self.writer.to_json() if self.writer else nobody),
            "first": self.first.to_json() if self.first else None,
            "cursors": list(self.cursors),
            "guessed": self.guessed,
            "gone": self.gone,
            "entries": [entry._asdict() for entry in self.entries],
            "session_key": self.session_key,
            "messages": [message._asdict() for message in self.messages],
        }


def who_made(commit: Commit) -> Who:
    """Return who is behind a commit, in the words that every list, log and blame uses."""
    ours = commit.author.startswith("nanomem <")
    if commit.message.startswith("dream:"):
        return "nanomem dream" if ours else "agent dream"
    if not commit.parents and commit.message.startswith("init:"):
        return "before"  # whoever made the repository, its lines were there
    if ours:
        return "outside" if commit.message.startswith(_KEPT_OUTSIDE) else "person"
    return "agent" if "nanobot@dream" in commit.author else "outside"


def brings_back(commit: Commit) -> bool:
    """Return whether a commit only puts back what was there before."""
    return commit.message.startswith(_BACK)


def full_name(file: str) -> str:
    """Return the path of a memory file that may be named short, like `MEMORY.md`. Raises BadInput."""
    wanted = file.strip().removeprefix("./").casefold()
    for name in TRACKED_FILES:
        if wanted in (name.casefold(), name.rpartition("/")[2].casefold()):
            return name
    raise BadInput("not a file with versions", file, f"one of {', '.join(TRACKED_FILES)}")


_SAME_TIME = 600.0  # seconds between an operation and its commit at most


class DreamRun(NamedTuple):
    """One Dream as it was committed. `at` is UTC ISO; the cursor file is not counted among `files`, `added`, `removed`.

    `who` is exact (`who_made`), `actor` its kind: dream, human or agent.

    `entries` is how many history entries it went through, None where neither its message nor the cursor tells.
    `tokens`, `cost`, `refused` (edits) and `dreamer` are None where the ledger does not hold them: of an agent's
    Dreams, and `tokens` and `cost` of one that asked no model.
    """

    sha: str
    at: str
    actor: str
    who: Who
    author: str
    message: str
    files: tuple[str, ...]
    added: int
    removed: int
    entries: int | None
    tokens: int | None = None
    cost: float | None = None
    refused: int | None = None
    dreamer: str | None = None

    @property
    def short(self) -> str:
        """The first 8 digits of the id, as agents print it."""
        return self.sha[:8]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {**self._asdict(), "files": list(self.files)}


def run_of(commit: Commit, meta: Mapping[str, Any] | None = None) -> DreamRun:
    """Return the Dream that made `commit`, `meta` being what its operation recorded; counts its lines."""
    usage = as_mapping((meta or {}).get("usage"))
    refused, tokens = (meta or {}).get("refused"), usage.get("tokens")
    stats = [stat for stat in commit.files if stat.path != DREAM_CURSOR]
    return DreamRun(
        sha=commit.sha,
        at=commit.at,
        actor=commit.actor,
        who=who_made(commit),
        author=commit.author,
        message=commit.subject,
        files=tuple(stat.path for stat in stats),
        added=sum(stat.added for stat in stats),
        removed=sum(stat.removed for stat in stats),
        entries=commit.entries,
        tokens=tokens if isinstance(tokens, int) else None,
        cost=float(usage["cost"]) if isinstance(usage.get("cost"), (int, float)) else None,
        refused=len(refused) if isinstance(refused, (list, tuple)) else None,
        dreamer=str((meta or {}).get("dreamer") or "") or None,
    )


def as_mapping(value: object) -> Mapping[str, Any]:
    """A JSON object as it was recorded; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def operations_behind(commit: Commit, operations: Iterable[Operation]) -> list[Operation]:
    """Return those of the operations that may have made a commit, the nearest in time first: two decisions within
    minutes may say the same. A commit comes after its operation, so it is known by what the operation said in it, and
    by the time.
    """
    at = clock.parse(commit.at)
    same = [
        (abs((made - at).total_seconds()), operation)
        for operation in operations
        if str(operation.meta.get("commit", "")).strip() == commit.message.strip()
        and at is not None
        and (made := clock.parse(operation.at)) is not None
    ]
    return [operation for apart, operation in sorted(same, key=lambda pair: pair[0]) if apart <= _SAME_TIME]


class Recorded:
    """What the operations of our Dreams recorded, found by the commit that each made."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_message: dict[str, list[Operation]] = {}
        for operation in operations:
            said = str(operation.meta.get("commit", "")).strip()
            if operation.kind == "dream.run" and said:
                self._by_message.setdefault(said, []).append(operation)

    def meta_of(self, commit: Commit) -> Mapping[str, Any] | None:
        """Return what the operation behind a commit recorded; None where the ledger holds none."""
        found = operations_behind(commit, self._by_message.get(commit.message.strip(), ()))
        return found[0].meta if found else None


def require_history(git: Callable[[], GitHistory | None], sha: str, why_none: Callable[[], str] = str) -> GitHistory:
    """Return the history that the commit `sha` is sought in. Raises NotFound where no versions are kept."""
    found = git()
    if found is None:
        if why := why_none().rstrip("."):
            raise NotFound("no such version", sha, why)
        raise NotFound("no versions of the memory files are kept here", sha, "a Dream begins to keep them")
    return found


class DreamLog:
    """What Dreams did, newest first. `why_none` says why no versions are kept."""

    def __init__(
        self,
        git: Callable[[], GitHistory | None],
        operations: Callable[[], Iterable[Operation]] = tuple,
        why_none: Callable[[], str] = str,
    ) -> None:
        self._git = git
        self._operations = operations
        self._why_none = why_none

    def commits(self, limit: int | None = None) -> list[Commit]:
        """Return every commit of the memory files, whoever made it; their statistics are counted when asked."""
        git = self._git()
        return git.commits(limit) if git else []

    def dreams(self) -> list[Commit]:
        """Return the commits that Dreams made."""
        return [commit for commit in self.commits() if commit.is_dream]

    def runs(self, limit: int | None = None) -> list[DreamRun]:
        """Return the newest Dreams with files, lines and entries counted."""
        recorded = self.recorded()
        return [run_of(commit, recorded.meta_of(commit)) for commit in self.dreams()[:limit]]

    def ran(self) -> int:
        """Return how many Dreams of ours are recorded, whether or not a commit holds them."""
        return sum(operation.kind == "dream.run" for operation in self._operations())

    def recorded(self) -> Recorded:
        """Return what the ledger holds of the Dreams of ours, as it is now."""
        return Recorded(self._operations())

    def commit(self, sha: str) -> Commit:
        """Return the one commit whose id begins so. Raises NotFound."""
        return self._history(sha).commit(sha)

    def show(self, sha: str) -> tuple[Commit, list[FileDiff]]:
        """A commit by the start of its id, and what it changed. Raises NotFound."""
        commit = self.commit(sha)
        return commit, self._history(sha).diff(commit.sha)

    def diff(self, first: str, second: str) -> list[FileDiff]:
        """Return the memory files as of one commit against another, those that differ. Raises NotFound."""
        git = self._history(first)
        return git.diff_between(git.commit(first).sha, git.commit(second).sha, TRACKED_FILES)

    def damage(self, shas: Iterable[str] = ()) -> list[str]:
        """Return what could not be read for the log: of these commits, and of all before the oldest one read."""
        if (git := self._git()) is None:
            return []
        found = [f"{sha[:8]}: not all lines are counted: {why}" for sha in shas if (why := git.read(sha).damage)]
        return [*found, *([f"older changes cannot be read: {git.cut}"] if git.cut else [])]

    def _history(self, sha: str) -> GitHistory:
        return require_history(self._git, sha, self._why_none)


class EntryEvidence(NamedTuple):
    """A history entry that asks for a line. `text` is the statement in it that does; `timestamp` is as the agent wrote
    it, `line` where it stands in the archive. `recorded`: the Dream said so itself; else `score` (0 to 1) says how much
    of the line it holds.
    """

    cursor: int
    timestamp: str
    session_key: str | None
    text: str
    score: float
    recorded: bool = False
    line: int = 0


class MessageEvidence(NamedTuple):
    """A message of a session that an entry, and so a line, came from; `index` as in `session show`."""

    session_key: str
    index: int  # type: ignore[assignment]  # a tuple's own `index` is never asked for
    role: str
    timestamp: str
    text: str
    score: float


class Queue(NamedTuple):
    """Where Dream stands: its cursor (clamped to what exists), the last one, the entries it has not seen, and all.

    `stated` is what the cursor file says, `given` the last cursor that the agent gave, whose entry may be gone.
    `unread` are entries that a Dream passed and could not read. Of a long archive `entries` are those from a little
    before the cursor on, as many as a few Dreams read; `more` wait behind them.
    """

    cursor: int
    latest: int
    waiting: tuple[HistoryEntry, ...]
    entries: tuple[HistoryEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    stated: int = 0
    given: int = 0
    unread: tuple[HistoryEntry, ...] = ()
    more: int = 0

    @property
    def ahead(self) -> int:
        """How many entries to come the cursor file passes over already; 0 when it is not beyond the last one."""
        return count_skipped(self.stated, self.latest, self.given)

    def too_far(self, git: GitHistory | None) -> Problem | None:
        """Return what a cursor file that is `ahead` leads to, and what to write there; None when it is not.

        The newest commit tells up to where Dreams have read, unless that is beyond the last entry as well.
        """
        if not self.ahead:
            return None
        last = max(self.latest, self.given)
        newest = git.commits(1) if git else []
        read = newest[0].cursor_after if newest else None
        to_come = "the entry" if self.ahead == 1 else f"the {self.ahead:,} entries"
        what = f"the cursor says {self.stated}, {self.ahead:,} ahead of the last entry ({last}): "
        what += f"no Dream would ever read {to_come} to come"
        if read is None or read > last:
            fix = f"write the last entry that a Dream has read into {DREAM_CURSOR}; 0 has all of them read again"
        else:
            wait = sum(1 for entry in self.entries if entry.cursor > read)
            fix = f"write {read} into {DREAM_CURSOR}: up to there Dreams have read"
            fix += f", and {counted(wait, 'entry', 'entries')} would wait" if wait else ""
        return Problem(what, DREAM_CURSOR, None, fix)

    @property
    def unreadable(self) -> tuple[Problem, ...]:
        """The lines behind the cursor that are no entry, in the order of the file."""
        entries = {entry.line for entry in self.entries}
        read = max((entry.line for entry in self.entries if entry.cursor <= self.cursor), default=0)
        follows = min((entry.line for entry in self.waiting if entry.cursor == self.cursor + 1), default=0)
        read = max(read, follows - 1)  # what lies before the very next entry was read, whatever became of it
        bad = {p.line: p for p in self.problems if p.line is not None and p.line > read and p.line not in entries}
        return tuple(bad[line] for line in sorted(bad))

    def passed(self, last: int = 0) -> tuple[int, ...]:
        """Return the unreadable lines that a Dream up to the line `last` passes over; all when it reads all."""
        rest = any(entry.line > last for entry in self.waiting)
        lines = (problem.line for problem in self.unreadable if problem.line is not None)
        return tuple(line for line in lines if line < last or not rest)


class DreamQueue:
    """The history of one workspace as Dream sees it."""

    def __init__(
        self,
        paths: Paths,
        files: FileLayer,
        presence: Callable[[], Presence],
        read_to: Callable[[], ReadTo | None] = lambda: None,
    ) -> None:
        """`read_to` is asked where the last Dream of ours ended, once cursors are out of order."""
        self._read_to = read_to
        self._paths = paths
        self._files = files
        self._presence = presence

    def queue(self) -> Queue:
        """Return the entries that wait for a Dream, in file order. Reads only.

        Raises AccessDenied when the history cannot be read."""
        stated = parse_cursor(self._files.load(DREAM_CURSOR).data) or 0
        try:
            entries, problems, latest, more = self._read(stated)
        except (OSError, NanomemError) as error:
            said = shown_error(error, f"reading {self._paths.history.name}")
            raise type(said)(said.what, self._paths.relative(self._paths.history), said.fix) from error
        cursor = clamp_cursor(stated, latest)
        waiting = not_dreamt(entries, max(0, stated), self._read_to)
        unread: tuple[HistoryEntry, ...] = ()
        if (self._paths.review / "unread").is_dir():
            from nanomem_tui.dreams.review import unread_entries

            unread = unread_entries(self._paths, lambda noted: self._passed(entries, noted, cursor))
        return Queue(cursor, latest, tuple(waiting), entries, problems, stated, self._agent_cursor(), unread, more)

    def _read(self, stated: int) -> tuple[tuple[HistoryEntry, ...], tuple[Problem, ...], int, int]:
        """Return the entries, what is wrong with lines, the highest cursor, and how many wait beyond these entries: of
        a long archive only those are read that a few Dreams take. Raises OSError and NanomemError."""
        path, where = self._paths.history, self._paths.relative(self._paths.history)
        if is_long(path):
            long = long_archive(path, where)
            cursor = clamp_cursor(stated, long.highest)
            part, told = long.from_piece_of(cursor, WHOLE)
            more = long.count_above(cursor) - sum(entry.cursor > cursor for entry in part)
            return tuple(part), tuple(told), long.highest, more
        try:
            data = atomic.read_stable(path)
        except FileNotFoundError:
            data = b""
        entries, problems = parse_history(data, where)
        return entries, problems, max((entry.cursor for entry in entries), default=0), 0

    def _passed(self, entries: Sequence[HistoryEntry], noted: Collection[int], cursor: int) -> list[HistoryEntry]:
        """Return those of the cursors `noted` that a Dream is past."""
        path = self._paths.history
        found = long_archive(path, self._paths.relative(path)).entries_of(noted).values() if is_long(path) else entries
        return [entry for entry in found if entry.cursor <= cursor and entry.cursor in noted]

    def count_between(self, queue: Queue, before: int, last: int) -> int:
        """Count the entries after the cursor `before` up to `last`; `queue` is what was read now."""
        path = self._paths.history
        if is_long(path):
            long = long_archive(path, self._paths.relative(path))
            return long.count_above(before) - long.count_above(last)
        return sum(1 for entry in queue.entries if before < entry.cursor <= last)

    def _agent_cursor(self) -> int:
        """Return the last cursor that the agent gave; 0 where its file does not tell."""
        try:
            return parse_cursor(atomic.read_stable(self._paths.cursor)) or 0
        except (OSError, NanomemError):
            return 0

    def running(self) -> bool:
        """Return whether a Dream of ours, or the agent's own, is under way."""
        return self._presence().dreaming or self._is_locked()

    def _is_locked(self) -> bool:
        try:
            handle = os.open(self.lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return not atomic.try_lock(handle)
        finally:
            os.close(handle)

    @property
    def lock(self) -> Path:
        """The file whose lock keeps Dreams of ours apart."""
        return self._paths.data / "dream.lock"


def describe_rewind(operations: Sequence[Operation]) -> str:
    """Return what undos and redos did to the cursor, when it goes back; "" when it does not."""
    moves = [change for operation in operations for change in operation.changes if change.key == DREAM_CURSOR]
    if not moves:
        return ""
    now, after = _cursor(moves[0].before), _cursor(moves[-1].after)
    if now <= after:
        return ""
    if any(change.key == HISTORY and change.after is None for operation in operations for change in operation.changes):
        return f"the cursor goes back from {now} to {after}"  # with the archive that it counts in
    again = counted(now - after, "entry", "entries")
    return f"the cursor goes back from {now} to {after}: the next Dream reads {again} again"


def is_taken_back(operations: Sequence[Operation], cursor: int) -> bool:
    """Return whether a person took back the Dream that had moved the cursor last, and none came after: it is as that
    left it.

    `operations` are those that touched the cursor, the newest first.
    """
    last = operations[0] if operations else None
    if last is None or last.undoes is None or last.actor != "human":
        return False
    move = next((change for change in last.changes if change.key == DREAM_CURSOR), None)
    return move is not None and _cursor(move.before) > _cursor(move.after) == cursor


def _cursor(value: object) -> int:
    text = value.get("text") if isinstance(value, Mapping) else None
    return max(0, parse_cursor(str(text).encode()) or 0) if text is not None else 0  # below 0 is as 0: all is unread
