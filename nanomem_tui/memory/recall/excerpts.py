"""Excerpts of transcripts, archive and notes that a model may be given: only what its audience may see.

Owns the choice of excerpts, for a tool that asks and for the block of a turn, and the form in which a question and its
answer are repeated. `scopes` decides who may see what; `passages` ranks. An excerpt holds no secret, nothing that was
forgotten, and nothing that instructs the model. Reads only.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.agents.session_file import Message, count_messages, parse_session, session_header
from nanomem_tui.attach.fence import CLOSE, OPEN
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.files import Stamp, chunks, read_end, read_log, read_piece
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import cues, dates, secrets
from nanomem_tui.language.cues import asked_speaker
from nanomem_tui.language.tokens import alike, index_tokens, query_words
from nanomem_tui.memory.filters import Matcher
from nanomem_tui.memory.recall import recall as questions
from nanomem_tui.memory.recall import scoring
from nanomem_tui.memory.recall.conversations import (
    LONGEST,
    ROLES,
    SOURCES,
    ConversationHit,
    Conversations,
    distinct_hits,
    entry_passages,
    sender_of,
    to_hit,
    transcript_passages,
)
from nanomem_tui.memory.recall.passages import AskedTime, Passage, Shelf
from nanomem_tui.memory.safety import same_words
from nanomem_tui.memory.scopes import Audience, is_group, is_one_person, sessions_of
from nanomem_tui.memory.sessions.files import SessionFile, key_of
from nanomem_tui.memory.sessions.files import is_of_one as files_is_of_one
from nanomem_tui.memory.turns import prompt
from nanomem_tui.memory.turns.prompt import Exchange
from nanomem_tui.store import forgotten
from nanomem_tui.store.forgotten import Forgotten
from nanomem_tui.store.values import chat_of

if TYPE_CHECKING:
    from nanomem_tui.memory.recall.passages import Nearest, OrderedRecall
    from nanomem_tui.memory.sessions.archive import History
    from nanomem_tui.memory.sessions.sessions import Sessions


# The passages of single chats: what was said in the sessions of some keys, and what the archive sums up of them.

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


class _Read(NamedTuple):
    """What was read of a transcript: its passages, how many messages it has, and how many the agent replays no more."""

    stamp: Stamp
    key: str
    passages: list[Passage]
    messages: int
    archived: int


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
        time: AskedTime | None = None,
        by_meaning: Callable[[OrderedRecall], Nearest | None] = lambda index: None,
    ) -> list[ConversationHit]:
        """Return the nearest messages and archive lines, best first; `time`: the one that the query names."""
        found = self.recall_said(query, limit, time, by_meaning(self.said.index))
        index = self.archived.index
        lines = index.search(query, _LINES * limit, nearest=by_meaning(index), time=time)
        hits = distinct_hits("history", lines, (), limit)
        found += [to_hit("history", hit) for hit in index.explained(query, hits)]
        return sorted(found, key=lambda told: -told.score)[:limit]

    def recall_said(
        self, query: str, limit: int, time: AskedTime | None = None, nearest: Nearest | None = None
    ) -> list[ConversationHit]:
        """Return the nearest messages, best first."""
        index = self.said.index
        hits = index.search(query, limit, asked_speaker(query), nearest, time)
        return [to_hit("sessions", hit) for hit in index.explained(query, hits)]

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
                    read = _read(file, kept, talk.most)
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
            if talk.said.get(name, read.stamp) is None:
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
    """Return the index of a message by the key of its passage."""
    return int(key.rpartition("#")[2])


def _is_as_good(known: _Read, file: SessionFile, lag: int) -> bool:
    return known.stamp == file.stamp or 0 < file.stamp[1] - known.stamp[1] < lag


def _go_on() -> bool:
    return False


def _read(file: SessionFile, kept: Forgotten, most: int) -> _Read:
    """Read the last `most` bytes of a transcript, or a bit more, as it is now."""
    size = file.stamp[1]
    start = 0 if size <= most else (size - most) // (most // 4) * (most // 4)
    data = read_log(file.path) if not start else read_end(file.path, start, size)
    head = data if not start else next(iter(chunks(file.path)), b"")
    header = session_header(head[: head.find(b"\n") + 1], "")
    if not files_is_of_one(file.path.name, header):
        return _Read(file.stamp, "", [], 0, 0)
    key = key_of(file.path.name, header)
    messages = parse_session(data, "", key).messages
    before = _messages_before(file.path, start) if start else 0
    passages = transcript_passages(key, before, _told_of(messages, kept), str(file.path))
    return _Read(file.stamp, key, passages, before + len(messages), _archived(header))


def _told_of(messages: Iterable[Message], kept: Forgotten) -> Iterator[Message]:
    """Yield the messages without recalled blocks and forgotten text, and none of forgotten senders."""
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


def _messages_before(path: Path, start: int) -> int:
    """Return how many messages begin in the first `start` bytes of a file, by its lines."""
    count, left = 0, start
    for piece in chunks(path):
        count += count_messages(piece[:left])
        left -= len(piece)
        if left <= 0:
            break
    return count


def _archived(header: Mapping[str, Any] | None) -> int:
    value = (header or {}).get("last_consolidated", (header or {}).get("last_archived"))
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


MOST = 8
"""Excerpts of one answer, where nobody says how many."""

FAINT = 0.4
"""What has no word of the query itself, but stands beside what has, is left out below that share of the best score."""

MOST_TURNS = 3
"""Turns beyond the window that a block may hold."""

LOOKED_AT = 8
"""Passages of which those are chosen."""

COVERS = 0.7
"""How much of what a message is about a turn beyond the window has to say."""

SHORT = 80
"""Characters of an answer that says little without what was asked."""

TELLS = 1.0
"""How much the words that it shares with the message have to tell: so many times what a word counts that one message
of the chat has."""

WIDTH = 300
"""Characters of a message in an excerpt."""

JUST_NOW = timedelta(minutes=10)

_CUT = 300  # characters left out at the end of a passage that was cut there: what stands there may be half a secret


class Excerpt(NamedTuple):
    """A round of a session, a line of the archive or of a note. `id` is by which a person finds it: `session show`
    takes `KEY#NUMBER`, `history show` the cursor, `notes` the name and the line.

    `turn` has who spoke, as the transcript has them, what, the answer (None: there is none, or it is of no session) and
    the time as the source tells it.
    """

    source: str
    id: str
    turn: Exchange
    score: float

    def to_json(self) -> dict[str, object]:
        """Return the object that `recall` and `turn begin` print."""
        turn = self.turn
        return {
            "source": self.source,
            "id": self.id,
            "at": turn.at,
            "speaker": turn.speaker,
            "text": turn.user,
            **({} if turn.assistant is None else {"assistant": turn.assistant}),
            "line": self.line,
        }

    @property
    def line(self) -> str:
        """The excerpt as a model is given it."""
        return prompt.excerpt_line(self.source, self.id, self.turn)


class ExcerptSearch:
    """What one workspace tells of what was said and noted, by audience."""

    def __init__(
        self,
        conversations: Callable[[], Conversations],
        chats: ChatPassages,
        settings: Settings,
        workspace_id: str,
        forgotten_words: Callable[[], Forgotten],
    ) -> None:
        """`conversations`: everything, for the owner; `forgotten_words` raises where they cannot be read."""
        self._conversations = conversations
        self._chats = chats
        self._settings = settings
        self._workspace_id = workspace_id
        self._forgotten = forgotten_words

    def search(self, query: str, audience: Audience, session_key: str = "", limit: int = MOST) -> list[Excerpt]:
        """Return the nearest excerpts of what an audience may see, best first.

        A chat is told of its own session and what the archive has of that; notes are of no chat, and the owner's alone.
        Raises BadInput, and the errors of `forgotten.load`.
        """
        if not self._settings.memory_enabled or not query.strip() or limit < 1:
            return []
        keys = sessions_of(audience, session_key)
        hits: Sequence[ConversationHit] = ()
        if keys is None:
            hits = self._conversations().recall(query, SOURCES, 2 * limit + 1).hits
        elif keys:
            conversations = self._conversations()
            with self._chats.talk_in(keys) as talk:
                time = conversations.timed(conversations.time_of(query))
                hits = talk.recall(query, 2 * limit + 1, time, conversations.by_meaning)
        least = FAINT * max((hit.score for hit in hits), default=0.0)
        said = (hit for hit in hits if hit.score >= least or hit.parts["terms"] or "time" in hit.parts)
        return self._excerpts((hit for hit in said if not _is_being_answered(hit)), audience, limit)

    def beyond_window(
        self, message: str, audience: Audience, session_key: str, window: Sequence[Exchange], *, replays: bool
    ) -> list[Excerpt]:
        """Return the turns of the same chat, before those in the window, that surely have a bearing on a message; best
        first.

        `replays`: the agent puts its session before the model itself, from where it summed it up last. Raises BadInput,
        and the errors of `forgotten.load`.
        """
        keys = sessions_of(audience, session_key)
        if not keys or not message.strip():
            return []
        with self._chats.talk_in(keys, before=True) as talk:
            ends = talk.replayed_from() if replays else talk.last_turns(len(window))
            if not any(ends.values()):
                return []
            hits = [hit for hit in talk.recall_said(message, LOOKED_AT) if hit.number < ends.get(hit.key, 0)]
            bears = _bearing(message, hits, talk.said.index)
        shown = {same_words(one.user) for one in window}
        found = self._excerpts(bears, audience, MOST_TURNS + len(shown))
        return [one for one in found if same_words(one.turn.user) not in shown][:MOST_TURNS]

    def _excerpts(self, hits: Iterable[ConversationHit], audience: Audience, limit: int) -> list[Excerpt]:
        """Return the first of these as they may be told, each round once."""
        kept = self._forgotten()
        found: dict[tuple[str, str], Excerpt] = {}
        for hit in hits:
            if len(found) >= limit:
                break
            excerpt = self._excerpt(hit, audience, kept)
            if excerpt is not None:
                found.setdefault((excerpt.source, excerpt.id), excerpt)
        return list(found.values())

    def _excerpt(self, hit: ConversationHit, audience: Audience, kept: Forgotten) -> Excerpt | None:
        if kept and (kept.named("session", hit.key) or kept.named("sender", hit.sender)):
            return None
        if hit.source != "sessions":
            text = _shown(prompt.plain_unjudged(_clean(hit.text, kept)), hit, WIDTH)
            return Excerpt(hit.source, hit.id, Exchange(hit.at, "", text), hit.score) if text else None
        part = _round(hit)
        place = audience if not audience.is_owner else Audience(*(chat_of(hit.key) or (None, None)))
        # An agent may name no sender in a private chat: its id tells that one person writes there.
        sender = hit.sender or (str(place.chat_id) if is_one_person(place.channel, place.chat_id) else "")
        turn = Exchange(
            hit.at,
            (prompt.identity(sender) if is_group(place.channel, place.chat_id, sender) else "") or prompt.USER,
            _clean(part.asked, kept),
            None if part.answer is None else _clean(part.answer, kept),
            sender=sender,
            answer_checked=False,  # a tool may have given it
        )
        told = prompt.retell(turn, place, self._settings, self._workspace_id)
        if {told.user, told.assistant} & {prompt.UNCHECKED, prompt.LEFT_OUT}:
            return None
        said = _shown(told.user, hit, WIDTH) if part.shows_asked else ""
        reply = _shown(told.assistant, hit, WIDTH) if told.assistant and part.shows_answer else None
        if not (said or reply):
            return None
        return Excerpt(hit.source, part.id, told._replace(user=said, assistant=reply), hit.score)


def _is_being_answered(hit: ConversationHit) -> bool:
    moment = clock.parse(hit.at) if hit.role == "user" and not hit.after else None
    return moment is not None and abs(clock.now() - moment) < JUST_NOW


class _Round(NamedTuple):
    """What was asked and the answer to it, which of the two an excerpt shows, and the id of the first that it shows."""

    asked: str
    answer: str | None
    shows_asked: bool
    shows_answer: bool
    id: str


def _round(hit: ConversationHit) -> _Round:
    """Return the round of a hit; question and answer are both shown where one says little alone."""
    if hit.role == "assistant":
        before = next((one for one in reversed(hit.before) if one.role == "user"), None)
        if before is None:
            return _Round("", hit.text, False, True, hit.id)
        both = before is hit.before[-1] and len(hit.text) < SHORT and _asks(before.text)
        return _Round(before.text, hit.text, both, True, before.id if both else hit.id)
    after = hit.after[0] if hit.after and hit.after[0].role == "assistant" else None
    answers = after is not None and _asks(hit.text)
    return _Round(hit.text, after.text if after else None, True, answers, hit.id)


def _asks(text: str) -> bool:
    return bool(cues.shape(text) & cues.QUESTION)


def _clean(text: str, kept: Forgotten) -> str:
    text = without_blocks(text if len(text) < LONGEST else text[:-_CUT])
    return kept.taken_out(text) if kept else text


def _shown(text: str, hit: ConversationHit, width: int) -> str:
    part, _ = Matcher(tuple(hit.parts["terms"])).excerpt(text, width)
    return dates.annotated(part, hit.at[:10]) if hit.at[:10] else part


def _bearing(message: str, hits: Sequence[ConversationHit], index: OrderedRecall) -> list[ConversationHit]:
    """Return those hits whose round says enough of what a message is about: an unneeded one is worse than none."""
    words = questions.weighted_words(questions.Question(message))
    known = index.statistics([*words, *(other for word in words for other in alike(word))])
    asked = scoring.read_message(message, words, {word: (word,) for word in query_words(message)}, known)
    called = set(index.names)
    found = []
    for hit in hits:
        part = _round(hit)
        text = "\n".join((part.asked if part.shows_asked else "", part.answer or "" if part.shows_answer else ""))
        held = set(index_tokens(text)) & (words.keys() | asked.covers.keys()) - called
        tells = sum(asked.words[word] for word in held & asked.heavy)
        if tells >= TELLS * asked.most and scoring.coverage(asked, held | called) >= COVERS:
            found.append(hit)
    return found
