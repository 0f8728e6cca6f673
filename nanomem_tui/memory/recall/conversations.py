"""Recall over conversations: passages of sessions, the archive and notes, ranked, with their neighbours.

Owns which text of each source is a passage, how much of it is kept in RAM, and when it is read anew. `passages` ranks
them; each source searches for exact words itself. Reads only.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.archive import HistoryEntry, marked_lines
from nanomem_tui.agents.session_file import Message
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted
from nanomem_tui.language import times_asked
from nanomem_tui.language.cues import asked_speaker
from nanomem_tui.language.times_asked import Span, TimeAsked
from nanomem_tui.language.tokens import readable
from nanomem_tui.memory.filters import Matcher, Neighbour
from nanomem_tui.memory.notes import Note, Notes
from nanomem_tui.memory.recall.passages import AskedTime, Budget, Nearest, OrderedRecall, Passage, PassageHit, Shelf
from nanomem_tui.memory.sessions.archive import History
from nanomem_tui.memory.sessions.files import SessionFile
from nanomem_tui.memory.sessions.sessions import Sessions

if TYPE_CHECKING:
    from nanomem_tui.vectors.collection import PassageVectors

SOURCES = ("sessions", "history", "notes")
ROLES = ("user", "assistant")

MOST_BYTES = 8_000_000
"""The end of one transcript that is read."""

LONGEST = 2_000
"""Characters of a passage that are kept; the index takes 255 words of it."""

SITTING = timedelta(hours=4)
"""A longer silence ends a sitting: a chat may go on for years, and what was said last month is no neighbour."""

PATIENCE = 0.25
"""Seconds in which a question embeds passages before it is answered."""

MOST_DAYS = 200_000
"""Passages whose days are held."""

FEW = 10
"""Passages that follow where others hold every word."""

_CHAT = "imported\n"  # how the name of an imported conversation begins where files are named by their paths
_DREAMS = "dream:"  # how the key of the transcript of a Dream begins

_STEP = 16  # files between two looks whether anybody still waits

_LINES = 3  # lines of one archive entry that may stand before another entry


class ConversationHit(NamedTuple):
    """A passage that was found. `id` is that of the exact search of its source; `key` is that of the session (of an
    archive entry: where it came from, or "") or the name of the note; `number` is the message, the cursor or the line.

    `at` as the source tells it. `parts` are what the score is the sum of, and `terms`, the words that it holds.
    `place` begins with the cursor and the line of an archive entry, which tell two of one cursor apart. `sender`: who
    wrote a message, or the one before an answer, by the id that the transcript has.
    """

    source: str
    id: str
    key: str
    number: int
    role: str
    at: str
    text: str
    score: float
    parts: dict[str, Any]
    before: tuple[Neighbour, ...]
    after: tuple[Neighbour, ...]
    place: str
    sender: str = ""


class ConversationRecall(NamedTuple):
    """What was found, best first, in words what was not looked at, and the time that the question names."""

    hits: tuple[ConversationHit, ...]
    left_out: tuple[str, ...] = ()
    time: TimeAsked | None = None


def nearest_wanted(wanted: Matcher, found: int) -> int | None:
    """Return how many of the nearest passages follow the `found` ones that hold all that is `wanted`; None: as many as
    fit.

    None of them (0) where a person says precisely what (a phrase, or what it must not hold), or one word, which
    somebody wrote; a few where several words were; all where nobody wrote them.
    """
    if not wanted or wanted.precise:
        return 0
    if not found:
        return None
    return FEW if len(wanted.needles) > 1 else 0


class Conversations:
    """The passages of one workspace. Each source is read when it is first asked and again where its files changed;
    several threads may ask."""

    def __init__(
        self, sessions: Sessions, history: History, notes: Notes, vectors: Callable[[], PassageVectors] | None = None
    ) -> None:
        """`vectors`: gives those of passages; None: words alone find them."""
        self._days: dict[int, tuple[Span, ...]] = {}
        self._vectors = vectors
        self.patience = PATIENCE
        self._sessions = sessions
        self._history = history
        self._notes = notes
        self._shelves = {source: Shelf(ROLES) for source in SOURCES}
        self._lock = threading.Lock()

    def recall(
        self,
        query: str,
        sources: Sequence[str] = SOURCES,
        limit: int = 20,
        *,
        without: Collection[str] = (),
        within: Span | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> ConversationRecall:
        """Return the nearest passages of these sources, best first, but those of the ids `without`. Those of the time
        that the question names stand higher; `within`: only what was said in these days, where nothing is asked all of
        it.

        `stop` is asked now and then: once it says so, nothing is found. What could not be read has nothing to find.
        """
        if limit < 1:
            return ConversationRecall(())
        while not self._lock.acquire(timeout=0.05):
            if stop():
                return ConversationRecall(())
        try:
            return self._recall(query, sources, limit, without, within, stop)
        finally:
            self._lock.release()

    def time_of(self, query: str) -> TimeAsked | None:
        """Return the time that a question names; None where it names none."""
        if not times_asked.may_name(query):
            return None
        from nanomem_tui.memory.recall import times

        return times_asked.asked(query, times.today(self._sessions.paths))

    def said_in(self, spans: Sequence[Span]) -> Callable[[str], bool]:
        """Return what tells whether a time, as a transcript tells it, is within one of some spans."""
        from nanomem_tui.memory.recall import said_on, times

        zone = said_on.agent_zone(self._sessions.paths)

        def is_in(at: str) -> bool:
            day = times.day_of(at, zone)
            return day is not None and any(span.since <= day <= span.until for span in spans)

        return is_in

    def timed(self, asked: TimeAsked | None) -> AskedTime | None:
        """Return the time of a question as an index takes it."""
        if asked is None:
            return None
        from nanomem_tui.memory.recall import said_on, times

        zone, days = said_on.agent_zone(self._sessions.paths), self._days
        if len(days) > MOST_DAYS:
            days.clear()

        def fits(passage: Passage) -> bool:
            mark = hash((passage.at, passage.text))
            spans = days.get(mark)
            if spans is None:
                day = times.day_of(passage.at, zone)
                spans = times.days_of(passage.text, day.isoformat() if day is not None else "")
                days[mark] = spans
            return any(own.holds(one) for one in spans for own in asked.spans)

        return AskedTime(fits, asked.subject, asked.only)

    def _recall(
        self,
        query: str,
        sources: Sequence[str],
        limit: int,
        without: Collection[str],
        within: Span | None,
        stop: Callable[[], bool],
    ) -> ConversationRecall:
        asked = self.time_of(query)
        timed = self.timed(asked)
        is_in = self.said_in([within]) if within is not None else None
        keep = (lambda passage: is_in(passage.at)) if is_in is not None else None
        renew = {"sessions": self._renew_sessions, "history": self._renew_history, "notes": self._renew_notes}
        hits: list[ConversationHit] = []
        left_out: list[str] = []
        waiting = 0
        speaker = asked_speaker(query)
        for source in sources:
            shelf = self._shelves[source]
            state = self._state(source)
            if shelf.state != state:
                shelf.state, said = None, renew[source](shelf, stop)
                if stop():
                    return ConversationRecall(())
                shelf.state, shelf.left_out = state, said
            left_out += shelf.left_out
            nearest, unknown = self._nearest(shelf.index, stop)
            waiting += unknown
            best = shelf.index.search(query, _LINES * limit + len(without), speaker, nearest, timed, keep)
            found = distinct_hits(source, best, without, limit)
            hits += [to_hit(source, hit) for hit in shelf.index.explained(query, found)]
        if keep is not None and not query.strip():
            hits.sort(key=lambda told: told.at, reverse=True)
        else:
            hits.sort(key=lambda told: -told.score)
        left_out += [f"{counted(waiting, 'passage')} by meaning, not embedded yet"] if waiting else []
        return ConversationRecall(tuple(hits[:limit]), tuple(left_out), asked)

    def by_meaning(self, index: OrderedRecall) -> Nearest | None:
        """Return what finds the passages of an index by their meaning; None: words find them."""
        return self._nearest(index, lambda: False)[0]

    def _nearest(self, index: OrderedRecall, stop: Callable[[], bool]) -> tuple[Nearest | None, int]:
        """Return what finds passages by meaning, and how many have no vector yet; None: words only."""
        if self._vectors is None:
            return None, 0
        vectors, texts = self._vectors(), [passage.text for passage in index.passages]
        try:
            end = time.monotonic() + self.patience
            vectors.make(vectors.wanting(texts), lambda: time.monotonic() > end or stop())
            left = vectors.wanting(texts)
            vectors.go_on(left)
        except NanomemError:
            return None, 0

        def nearest(text: str, limit: int) -> list[tuple[int, float]]:
            with contextlib.suppress(NanomemError):
                return vectors.nearest(text, texts, limit)
            return []

        return nearest, len(left)

    def _state(self, source: str) -> object:
        """Return what tells whether a source changed since: stamps, or what was parsed of a file of the same stamp."""
        if source == "sessions":
            files = [(file.path, file.stamp) for file in self._sessions.files()]
            return files, [(info.key, chat.state) for info, chat in self._sessions.chats()]
        return self._history.in_order() if source == "history" else self._notes.list()

    # -- reading the sources --------------------------------------------------------------------------------------

    def _renew_sessions(self, shelf: Shelf, stop: Callable[[], bool]) -> list[str]:
        room = Budget()
        unread = shortened = 0
        files, chats = self._sessions.files(), self._sessions.chats()
        shelf.keep_only({str(file.path) for file in files} | {_CHAT + info.key for info, _ in chats})
        for number, file in enumerate(files, 1):
            name = str(file.path)
            if number % _STEP == 0 and stop():
                return []
            if room.full:
                shelf.drop(name)
                unread += 1
                continue
            passages, whole = shelf.get(name, file.stamp), file.stamp[1] <= MOST_BYTES
            if passages is None:
                passages = self._passages(file)
            taken = room.take(passages)
            shortened += not whole or len(taken) < len(passages)
            if not shelf.put(name, file.stamp, taken, stop):
                return []
        for info, chat in chats:
            name = _CHAT + info.key
            passages = shelf.get(name, chat.state)
            if passages is None:
                passages = transcript_passages(info.key, 0, chat.spoken_messages(), name)
            taken = room.take(passages)
            unread += not taken
            if not shelf.put(name, chat.state, taken, stop):
                return []
        shelf.tidy()
        said = [f"{counted(unread, 'older session')}"] if unread else []
        return [*said, f"the beginning of {counted(shortened, 'long session')}"] if shortened else said

    def _passages(self, file: SessionFile) -> list[Passage]:
        """Return what was said in a transcript; nothing of one that cannot be read, or of a Dream."""
        try:
            key, first, messages = self._sessions.end_of(file, MOST_BYTES)
        except NanomemError:
            return []
        return [] if key.startswith(_DREAMS) else transcript_passages(key, first, messages, str(file.path))

    def _renew_history(self, shelf: Shelf, stop: Callable[[], bool]) -> list[str]:
        entries = self._history.in_order()
        room = Budget()
        by_key: dict[str, list[HistoryEntry]] = {}
        for entry in entries:
            by_key.setdefault(entry.session_key or "", []).append(entry)
        sitting_of = {
            id(entry): f"{key}\n{sitting}"
            for key, group in by_key.items()
            for entry, sitting in zip(group, _sittings(entry.timestamp for entry in group), strict=True)
        }
        passages = [passage for entry in entries for passage in entry_passages(entry, sitting_of[id(entry)])]
        taken = room.take(passages)
        shelf.put("", None, taken, stop)
        shelf.tidy()
        left = len(passages) - len(taken) + self._history.older
        return [counted(left, "older line of the archive", "older lines of the archive")] if left else []

    def _renew_notes(self, shelf: Shelf, stop: Callable[[], bool]) -> list[str]:
        room = Budget()
        unread = 0
        notes = self._notes.list()
        shelf.keep_only({note.name for note in notes})
        for note in notes:
            if room.full:
                shelf.drop(note.name)
                unread += 1
                continue
            stamp = (note.size, note.updated_at)
            passages = shelf.get(note.name, stamp)
            if passages is None:
                passages = self._note_passages(note)
            if not shelf.put(note.name, stamp, room.take(passages), stop):
                return []
        shelf.tidy()
        return [counted(unread, "older note")] if unread else []

    def _note_passages(self, note: Note) -> list[Passage]:
        """Return the lines of a note that are not empty; nothing when it cannot be read."""
        try:
            lines = self._notes.read(note.name).split("\n")
        except NanomemError:
            return []
        return [
            Passage(f"{note.name}:{number}", line.strip()[:LONGEST], note.name, "", note.date)
            for number, line in enumerate(lines, 1)
            if line.strip()
        ]


def distinct_hits(source: str, found: Iterable[PassageHit], without: Collection[str], limit: int) -> list[PassageHit]:
    """Return the first hits of different ids, at most `limit`: an archive entry has lines, of which the best tells."""
    hits: dict[str, PassageHit] = {}
    for hit in found:
        name = _id(source, hit.passage)
        if name not in without and len(hits) < limit:
            hits.setdefault(name, hit)
    return list(hits.values())


def entry_passages(entry: HistoryEntry, session: str) -> list[Passage]:
    """Return the lines of an archive entry, each a passage: an entry sums up a whole conversation."""
    return [
        Passage(f"{entry.cursor}:{entry.line}:{number}", text[:LONGEST], session, "", entry.timestamp)
        for number, (_, text) in enumerate(marked_lines(entry.content))
        if text
    ]


def transcript_passages(key: str, first: int, messages: Iterable[Message], place: str) -> list[Passage]:
    """Return the passages of messages from index `first` on; `place` names the transcript."""
    said = [message for message in messages if _is_said(message)]
    sittings = _sittings(message.timestamp for message in said)
    return [
        Passage(
            f"{key}#{first + message.index}",
            message.content[:LONGEST],
            f"{place}\n{sitting}",
            message.role,
            message.timestamp,
            place,
            sender_of(message),
        )
        for message, sitting in zip(said, sittings, strict=True)
    ]


def sender_of(message: Message) -> str:
    """Return who wrote a message, where the transcript tells."""
    sender = message.raw.get("sender_id")
    return sender if isinstance(sender, str) else ""


def _is_said(message: Message) -> bool:
    return message.role in ROLES and not message.hidden and not message.command and bool(message.content.strip())


def _sittings(times: Iterable[str]) -> list[int]:
    """For each time, in order, the number of its sitting; unknown times end none."""
    numbers, number = [], 0
    last: datetime | None = None
    for text in times:
        try:
            moment = datetime.fromisoformat(text).replace(tzinfo=None) if text else None
        except ValueError:
            moment = None
        if moment is not None:
            number += last is not None and moment - last > SITTING
            last = moment
        numbers.append(number)
    return numbers


def to_hit(source: str, hit: PassageHit) -> ConversationHit:
    """A passage of a source that was found, with its words and neighbours."""
    key, number = _named(source, hit.passage)
    return ConversationHit(
        source=source,
        id=_id(source, hit.passage),
        key=key,
        number=number,
        role=hit.passage.speaker if source == "sessions" else "",
        at=hit.passage.at,
        text=hit.passage.text,
        score=hit.score,
        parts={"terms": readable(hit.terms), **hit.parts},
        before=tuple(_neighbour(source, passage) for passage in hit.before),
        after=tuple(_neighbour(source, passage) for passage in hit.after),
        place=hit.passage.key,
        sender=hit.passage.sender or next((one.sender for one in reversed(hit.before) if one.sender), ""),
    )


def _named(source: str, passage: Passage) -> tuple[str, int]:
    """Return the key and the number of a passage."""
    if source == "history":
        return passage.session.rpartition("\n")[0], int(passage.key.partition(":")[0])
    key, _, number = passage.key.rpartition("#" if source == "sessions" else ":")
    return key, int(number)


def _id(source: str, passage: Passage) -> str:
    return passage.key.partition(":")[0] if source == "history" else passage.key


def _neighbour(source: str, passage: Passage) -> Neighbour:
    role = passage.speaker if source == "sessions" else ""
    return Neighbour(_id(source, passage), role, passage.at, passage.text)
