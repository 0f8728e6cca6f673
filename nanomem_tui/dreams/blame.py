"""Blame and versions of the memory files: who wrote each line, when, why, and from which messages of a session.

Combines the commits, the edits that our own Dreams recorded, the archive and the sessions. A commit that only restored
a line (an undo, a revert) is named together with the commit that wrote the line first, because that one had the
evidence. `Versions` lists every version and how long what each Dream wrote lasted. Reads only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.agents import git_history
from nanomem_tui.agents.archive import HistoryEntry, marked_lines
from nanomem_tui.agents.git import Commit, DamagedGit
from nanomem_tui.agents.git_history import GitHistory, LineOrigin, covers
from nanomem_tui.core import clock, merge
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import NanomemError, NotFound
from nanomem_tui.core.paths import DREAM_CURSOR, TRACKED_FILES, Paths
from nanomem_tui.dreams.edits import _MOST_TEXT, features, is_statement, plain_line
from nanomem_tui.dreams.log import (
    BlamedLine,
    EntryEvidence,
    MessageEvidence,
    Who,
    Writer,
    brings_back,
    full_name,
    operations_behind,
    require_history,
    who_made,
)
from nanomem_tui.store.files.layer import FileLayer

if TYPE_CHECKING:
    from datetime import datetime

    from nanomem_tui.agents.session_file import Message
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.sessions.archive import History
    from nanomem_tui.memory.sessions.sessions import Sessions


# Why a line was written: the history entries that ask for it, and the messages of a session that these came from.

MOST = 3  # entries, or messages, that are named for a line
ENOUGH = 0.4  # share of a line's words, by weight, that an entry holds
SAID = 0.34  # the same for a message: people say things in words of their own
_NEAR_BEST = 0.6
_AFTER = 120.0  # seconds: an entry is stamped by the minute in which it was written


@dataclass(frozen=True, slots=True)
class RecordedEdit:
    """What a Dream of ours recorded of one edit: the line it wrote, and the cursors of its evidence."""

    file: str
    line: str
    cursors: tuple[int, ...]


class Weights:
    """How much a word or a detail says among some texts: the fewer of them hold it, the more."""

    def __init__(self, texts: Iterable[frozenset[str]]) -> None:
        self._count: dict[str, int] = {}
        self._texts = 0
        for found in texts:
            self._texts += 1
            for feature in found:
                self._count[feature] = self._count.get(feature, 0) + 1

    def share(self, wanted: frozenset[str], there: frozenset[str]) -> float:
        """Return how much of `wanted`, by weight, `there` holds: 0 to 1. One shared word of several is nothing."""
        both = wanted & there
        if not both or (len(both) == 1 and len(wanted) > 2):
            return 0.0
        return sum(map(self._weight, both)) / sum(map(self._weight, wanted))

    def _weight(self, feature: str) -> float:
        return math.log(2 + self._texts / (1 + self._count.get(feature, 0))) * (1.5 if feature[0] == "=" else 1.0)


class Candidates:
    """The entries that one Dream read, ready to be asked about many lines."""

    def __init__(self, entries: Sequence[HistoryEntry]) -> None:
        self._statements = [
            (entry, text, features(text))
            for entry in entries
            for _, text in marked_lines(entry.content[: 16 * _MOST_TEXT])
        ]
        self._weights = Weights(found for _, _, found in self._statements)

    def about(self, line: str) -> tuple[EntryEvidence, ...]:
        """Return the entries that ask for `line`, the best first, the newest of equals."""
        wanted = features(plain_line(line)) if is_statement(line) else frozenset()
        best: dict[int, EntryEvidence] = {}
        for entry, text, found in self._statements if wanted else ():
            score = self._weights.share(wanted, found)
            known = best.get(entry.cursor)
            if score >= ENOUGH and (known is None or score > known.score):
                best[entry.cursor] = _found(entry, text, score)
        return _best(best.values(), lambda one: (one.score, one.cursor))


def _found(entry: HistoryEntry, text: str, score: float) -> EntryEvidence:
    return EntryEvidence(entry.cursor, entry.timestamp, entry.session_key, text, score, line=entry.line)


def recorded_evidence(
    line: str, cursors: Sequence[int], entries: Mapping[int, HistoryEntry]
) -> tuple[EntryEvidence, ...]:
    """Return the entries that a Dream named for `line`, each with the statement in it that is most like the line."""
    wanted = features(plain_line(line))
    result = []
    for cursor in cursors:
        entry = entries.get(cursor)
        if entry is None:  # compacted away since
            result.append(EntryEvidence(cursor, "", None, "", 1.0, True))
            continue
        texts = [text for _, text in marked_lines(entry.content[: 16 * _MOST_TEXT])]
        text = max(texts, key=lambda text: len(wanted & features(text)), default="")
        result.append(_found(entry, text, 1.0)._replace(recorded=True))
    return tuple(result)


class SessionWords:
    """What was said in one session, ready to be asked about many lines."""

    def __init__(self, key: str, messages: Sequence[Message]) -> None:
        self.key = key
        self._messages = [
            (message, features(message.content), clock.parse(message.timestamp))
            for message in messages
            if message.role in {"user", "assistant"} and not message.hidden and message.content.strip()
        ]
        self._weights = Weights(found for _, found, _ in self._messages)

    def about(self, line: str, entry: EntryEvidence, after: str = "") -> tuple[MessageEvidence, ...]:
        """Return the messages that `entry`, and by it `line`, came from, the best first, what a person said before
        answers.

        Nothing said after the entry counts. `after` is the time of the entry before it of the same session: what was
        said since comes first, older messages only where there is none, for sessions are also archived late.
        """
        end, start = clock.parse(entry.timestamp), clock.parse(after)
        within: list[MessageEvidence] = []
        before: list[MessageEvidence] = []
        asked = [features(plain_line(line)), features(entry.text)]
        for message, found, at in self._messages:
            if end is not None and at is not None and (at - end).total_seconds() > _AFTER:
                continue
            score = max(self._weights.share(wanted, found) for wanted in asked)
            if score >= SAID:
                late = start is None or at is None or at > start
                (within if late else before).append(
                    MessageEvidence(self.key, message.index, message.role, message.timestamp, message.content, score)
                )
        return _best(within or before, lambda one: (one.score, one.role == "user", one.index))


def _best(found: Iterable[Any], order: Callable[[Any], Any]) -> tuple[Any, ...]:
    ranked = sorted(found, key=order, reverse=True)
    return tuple(one for one in ranked[:MOST] if one.score >= _NEAR_BEST * ranked[0].score)


_MOST_SESSIONS = 8  # sessions that are looked through for an entry that names none
_RECORDING = frozenset({"dream.run", "dream.accept", "inbox.accept"})  # operations that hold edits with evidence
_Placed = tuple[int, str, LineOrigin | None]  # number from 1, text, who wrote it


class Blames:
    """Blame in one workspace. What is asked for is a function, so that only a line that needs it reads it."""

    def __init__(
        self,
        paths: Paths,
        git: Callable[[], GitHistory | None],
        files: FileLayer,
        history: History,
        operations: Callable[[str], Iterable[Operation]],
        sessions: Callable[[], Sessions],
    ) -> None:
        self._paths = paths
        self._git = git
        self._files = files
        self._history = history
        self._operations = operations
        self._sessions = sessions
        self._kept: dict[str, tuple[str, list[LineOrigin]]] = {}  # by file: who wrote its lines as of the commit

    def blame(self, file: str) -> list[BlamedLine]:
        """Return every line of a memory file with its writer, without the messages. Raises BadInput, NotFound."""
        name, work, placed = self._placed(file)
        if work is None:
            return [BlamedLine(name, number, text, None) for number, text, _ in placed]
        return [work.line(number, text, written) for number, text, written in placed]

    def doubts(self, lines: Iterable[BlamedLine]) -> list[str]:
        """Return which commits may not have written the lines that they are named for: the version before is lost."""
        git = self._git()
        named = dict.fromkeys((one.sha, line.file) for line in lines for one in (line.writer, line.first) if one)
        doubts = ((sha, git.doubt(sha, file)) for sha, file in named) if git is not None else ()
        what = "the version before it cannot be read, its lines may be older"
        return [f"{sha[:8]}: {what}: {why}" for sha, why in doubts if why]

    def own_headings(self, file: str) -> frozenset[int]:
        """Return the numbers of headings that our Dreams made, or a person who accepted a proposal of one."""
        _, work, placed = self._placed(file)
        lines = (work.line(number, text, written) for number, text, written in placed if work and text[:1] == "#")
        made = ((line.number, line.origin) for line in lines)
        return frozenset(number for number, who in made if who and (who.who == "nanomem dream" or who.accepted))

    def _placed(self, file: str) -> tuple[str, _Work | None, list[_Placed]]:
        """Return the name of the file, what looks its lines up (None without versions), and the lines."""
        name = full_name(file)
        loaded = self._files.load(name)
        if loaded.data is None:
            raise NotFound("there is no such file", name, "an agent makes it, or `nanomem dream run`")
        texts = [line.removesuffix("\n").removesuffix("\r") for line in merge.split_lines(loaded.text or "")]
        git = self._git()
        head = git.head() if git else None
        if git is None or head is None:
            return name, None, [(number, text, None) for number, text in enumerate(texts, 1)]
        written = self._written(git, head, name)
        committed = merge.split_lines(git.text(git.blob_id(head, name)) or "")
        places = git_history.line_places(committed, merge.split_lines(loaded.text or ""))
        lines = [None if place is None else written[place] for place in places]
        return name, _Work(self, git, name), list(zip(range(1, len(texts) + 1), texts, lines, strict=True))

    def with_messages(self, lines: Iterable[BlamedLine]) -> list[BlamedLine]:
        """Return the lines with the messages of sessions that their entries came from; each session is read once."""
        transcripts = _Transcripts(self._sessions(), self._history.in_order())
        return [line._replace(messages=transcripts.messages_of(line)) if line.entries else line for line in lines]

    def led_to(self, session_key: str, index: int) -> list[BlamedLine]:
        """Return the lines of all memory files that the message `index` of a session led to. Raises NotFound."""
        messages = self._sessions().get(session_key).messages
        message = next((message for message in messages if message.index == index), None)
        if message is None:
            last = f"its messages are 0 to {len(messages) - 1}" if messages else "it has no messages"
            raise NotFound("no such message", f"{session_key}, message {index}", last)
        said = features(message.content)
        lines = [line for name in self._files.names() for line in self.blame(name)]
        likely = [line for line in lines if _may_come_from(line, session_key, said)]
        wanted = (session_key, index)
        return [
            line
            for line in self.with_messages(likely)
            if any((m.session_key, m.index) == wanted for m in line.messages)
        ]

    def _written(self, git: GitHistory, head: str, name: str) -> list[LineOrigin]:
        """Return who wrote each line as of `head`."""
        kept = self._kept.get(name)
        if kept is None or kept[0] != head:
            kept = self._kept[name] = head, git_history.blame(git, head, name, brings_back)
        return kept[1]

    def edits(self, file: str) -> list[Operation]:
        """Return what Dreams of ours did to a file, and what a person took over of them, as the ledger holds it."""
        return [operation for operation in self._operations(file) if operation.kind in _RECORDING]

    def taken_back(self, cursor: int) -> bool:
        """Return whether a person took back the Dream that had moved the cursor last; it is at `cursor`."""
        from nanomem_tui.dreams import log

        return log.is_taken_back(tuple(self._operations(DREAM_CURSOR)), cursor)

    def entries_read(self, git: GitHistory, commit: Commit) -> tuple[list[HistoryEntry], bool]:
        """Return the entries that a Dream went through, by the cursors that its commit carries, else by the time; and
        whether some of them may be gone: the archive was compacted since, and begins behind where the Dream did."""
        moved = False
        with suppress(DamagedGit):  # else the time tells
            moved = any(path == DREAM_CURSOR for path, _, _ in git.changed(commit.sha))
        before, after = commit.cursor_before, commit.cursor_after
        if before is None and commit.is_first:
            before = 0
        oldest = self._history.lowest
        if moved and before is not None and after is not None:
            gone = before < after and (oldest is None or oldest.cursor > before + 1)
            return self._history.read_between(before, after), gone
        start, end = _dreamt_before(git, commit), clock.parse(commit.at)
        read = [
            entry
            for entry in self._history.in_order()
            if (at := clock.parse(entry.timestamp)) is not None
            and end is not None and at <= end and (start is None or at > start)
        ]  # fmt: skip
        begins = clock.parse(oldest.timestamp) if oldest else None
        cut = oldest is None or oldest.cursor > 1
        return read, cut and (start is None or begins is None or begins > start)

    def entries_of(self, cursors: Collection[int]) -> dict[int, HistoryEntry]:
        """Return the entries of these cursors, as far as the archive has them."""
        return self._history.entries_of(cursors)


class _Work:
    """One blame: what is known of a commit is looked up once for all its lines."""

    def __init__(self, blames: Blames, git: GitHistory, name: str) -> None:
        self._blames = blames
        self._git = git
        self._name = name
        self._writers: dict[str, Writer] = {}
        self._recorded: dict[str, list[RecordedEdit]] = {}
        self._candidates: dict[str, tuple[Candidates, bool]] = {}

    def line(self, number: int, text: str, written: LineOrigin | None) -> BlamedLine:
        """One line with its entries; `written` names who wrote it."""
        if written is None:
            return BlamedLine(self._name, number, text, None)
        writer, first = (self._writer(sha) for sha in written)
        entries, gone = self._entries(text, first) if is_statement(text) else ((), False)
        return BlamedLine(self._name, number, text, writer, None if first == writer else first, entries, gone=gone)

    def _writer(self, sha: str) -> Writer:
        found = self._writers.get(sha)
        if found is None:
            commit = self._git.read(sha)
            found = Writer(sha, commit.at, commit.author, commit.subject, who_made(commit))
            self._writers[sha] = found
        return found

    def _entries(self, text: str, writer: Writer) -> tuple[tuple[EntryEvidence, ...], bool]:
        """Return the entries behind a line, and whether others may be gone."""
        if not writer.dreamt:
            return (), False
        commit = self._git.read(writer.sha)
        if writer.who != "agent dream":
            if writer.sha not in self._recorded:
                made = (edit for one in operations_behind(commit, self._edits) for edit in one.meta.get("edits") or ())
                self._recorded[writer.sha] = [found for edit in made if (found := _recorded(edit)) is not None]
            edits = [one for one in self._recorded[writer.sha] if one.file == self._name and one.line == text.strip()]
            cursors = tuple(dict.fromkeys(cursor for edit in edits for cursor in edit.cursors))
            if cursors:
                return recorded_evidence(text, cursors, self._blames.entries_of(cursors)), False
        if writer.accepted:
            return (), False
        if writer.sha not in self._candidates:
            read, gone = self._blames.entries_read(self._git, commit)
            self._candidates[writer.sha] = Candidates(read), gone
        candidates, gone = self._candidates[writer.sha]
        return candidates.about(text), gone

    @cached_property
    def _edits(self) -> list[Operation]:
        return self._blames.edits(self._name)


class _Transcripts:
    """The sessions that entries came from, each read once."""

    def __init__(self, sessions: Sessions, entries: Sequence[HistoryEntry]) -> None:
        self._sessions = sessions
        self._said: dict[str, SessionWords] = {}
        self._before: dict[int, str] = {}
        last: dict[str | None, str] = {}
        for entry in sorted(entries, key=lambda entry: (entry.cursor, entry.line)):
            self._before[entry.cursor] = last.get(entry.session_key, "")
            last[entry.session_key] = entry.timestamp

    def messages_of(self, line: BlamedLine) -> tuple[MessageEvidence, ...]:
        """Return the messages that the entries of `line` came from, the best first."""
        found: dict[tuple[str, int], MessageEvidence] = {}
        for entry in line.entries:
            for key in [entry.session_key] if entry.session_key else self._at_that_time(entry):
                for message in self._words_of(key).about(line.text, entry, self._before.get(entry.cursor, "")):
                    place = (message.session_key, message.index)
                    if place not in found or found[place].score < message.score:
                        found[place] = message
        return tuple(sorted(found.values(), key=lambda message: -message.score)[:MOST])

    def _words_of(self, key: str) -> SessionWords:
        if key not in self._said:
            try:
                messages = self._sessions.get(key).messages
            except NanomemError:  # gone, or not to be read: then nothing of it is shown
                messages = ()
            self._said[key] = SessionWords(key, messages)
        return self._said[key]

    @cached_property
    def _spans(self) -> list[tuple[str, str, str]]:
        infos = [info for info in self._sessions.list() if not info.key.startswith("dream:")]
        return [(info.key, info.created_at, info.updated_at) for info in infos]

    def _at_that_time(self, entry: EntryEvidence) -> list[str]:
        """Return the sessions under way when an entry was written that names none, the newest first."""
        at = clock.parse(entry.timestamp)
        if at is None:
            return []
        begun = [row for row in self._spans if (start := clock.parse(row[1])) is not None and start <= at]
        return [key for key, _, _ in sorted(begun, key=lambda row: row[2], reverse=True)[:_MOST_SESSIONS]]


def _may_come_from(line: BlamedLine, session_key: str, said: frozenset[str]) -> bool:
    return any(
        entry.session_key in (session_key, None) and said & (features(line.text) | features(entry.text))
        for entry in line.entries
    )


def _recorded(edit: Any) -> RecordedEdit | None:
    """An edit as the ledger holds it; None when it has another shape, or names no evidence."""
    if not isinstance(edit, Mapping):
        return None
    file, line = edit.get("to_file") or edit.get("file"), edit.get("new") or edit.get("old")
    cursors = edit.get("evidence")
    if not isinstance(file, str) or not isinstance(line, str) or not isinstance(cursors, (list, tuple)):
        return None
    return RecordedEdit(file, line.strip(), tuple(cursor for cursor in cursors if isinstance(cursor, int)))


def _dreamt_before(git: GitHistory, commit: Commit) -> datetime | None:
    """Return when the Dream before this one was committed, None when it was the first."""
    try:
        while commit.parents:
            commit = git.read(commit.parents[0])
            if commit.message.startswith("dream:"):
                return clock.parse(commit.at)
    except DamagedGit:
        return None
    return None


# Every version of the memory files: their texts as of a commit or now, what each changed, and how long what Dreams
# wrote lasted.


NOW = ""
"""In place of the id of a commit: the files as they are now."""


Blobs = tuple[str | None, str | None]
"""The ids of a file's contents before and after, None where there was no file."""


class SavedVersion(NamedTuple):
    """One version: its commit (`NOW`: the files as they are), the one before, who made it when (UTC ISO) and said what,
    and the memory files that it changed.
    """

    sha: str
    parent: str | None
    at: str
    who: Who | Literal["uncommitted"]
    subject: str
    files: Mapping[str, Blobs]


class Versions:
    """The versions of the memory files of one workspace."""

    def __init__(
        self, git: Callable[[], GitHistory | None], files: FileLayer, why_none: Callable[[], str] = str
    ) -> None:
        self._git = git
        self._why_none = why_none
        self._files = files
        self._line_counts: dict[Blobs, tuple[int, int]] = {}

    def text(self, sha: str, path: str) -> str | None:
        """A file as of a commit (`NOW`: as it is now), bytes that are no UTF-8 replaced; None when there was none.

        Raises NotFound for an unknown commit, DamagedGit.
        """
        if sha == NOW:
            return self._files.load(path).text
        git = require_history(self._git, sha, self._why_none)
        data = git.file_at(sha if len(sha) == 40 else git.commit(sha).sha, path)
        return None if data is None else core_files.decode(data, "replace")

    def newest_first(self) -> Iterator[SavedVersion]:
        """Yield all of them, the newest first; before them the files as they are now, where a commit does not hold
        them.

        Which files a version changed is told at once; how many lines `counts` tells, of the versions that are looked
        at.
        """
        git = self._git()
        head = git.head() if git else None
        if git is None or head is None:
            return
        differs: dict[str, Blobs] = {}
        for path in TRACKED_FILES:
            with suppress(DamagedGit):  # what cannot be read is not said to differ
                if self._files.load(path).data != git.file_at(head, path):
                    differs[path] = (None, None)
        if differs:
            yield SavedVersion(NOW, head, "", "uncommitted", "not committed yet", differs)
        for commit in git.walk():
            files = _blobs(git, commit)
            yield SavedVersion(commit.sha, commit.parent, commit.at, who_made(commit), commit.subject, files)

    def of_file(self, path: str) -> Iterator[SavedVersion]:
        """Return those that changed a file, the newest first."""
        return (saved for saved in self.newest_first() if path in saved.files)

    def counts(self, saved: SavedVersion, path: str) -> tuple[int, int]:
        """Return how many lines a version added to a file and removed from it. Counted once for each pair of contents.

        Raises DamagedGit.
        """
        old, new = saved.files[path]
        if not saved.sha:
            return merge.count_changes(self.text(saved.parent or "", path) or "", self.text(NOW, path) or "")
        git = self._git()
        if git is None:
            return 0, 0
        found = self._line_counts.get((old, new))
        if found is None:
            found = merge.count_changes(git.text(old) or "", git.text(new) or "")
            self._line_counts[old, new] = found
        return found


def _blobs(git: GitHistory, commit: Commit) -> dict[str, Blobs]:
    """Return the memory files that a commit changed; all that it holds where what came before cannot be read."""
    try:
        changes = git.changed(commit.sha)
    except DamagedGit:
        changes = [("/", None, None)]
    found: dict[str, Blobs] = {}
    for name in TRACKED_FILES:
        change = next((change for change in changes if change[0] == "/" or covers(change[0], name)), None)
        if change is not None and change[0] == name:
            found[name] = change[1:]
        elif change is not None:  # what came before cannot be read
            with suppress(DamagedGit):
                found[name] = (None, git.blob_id(commit.sha, name))
    return found
