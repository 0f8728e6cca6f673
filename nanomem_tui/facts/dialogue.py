"""What people said in an agent's sessions, message by message: the last ones of all, of one, or those not read yet.

Owns which messages are people's own words, and how far each session was read. A session that cannot be read is told and
stops no other. Reads only; must not know what a fact is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents.jsonl import text_of
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, NotFound
from nanomem_tui.core.text import counted
from nanomem_tui.facts import talk

if TYPE_CHECKING:
    from nanomem_tui.agents.transcripts import Message
    from nanomem_tui.memory.sessions import Sessions

MOST_BYTES = 8_000_000
"""The end of one transcript that is read."""
NOBODYS = ("dream:", "cron:", "heartbeat", "system:", "subagent:", "trigger:")
"""How the keys begin of sessions in which no person speaks."""
_PARTS = frozenset({"cron", "trigger", "heartbeat", "subagent", "runtime", "system", "goal_continuation"})
"""Senders (before any colon) that are parts of the agent."""
_TOLD = 5


class Told(NamedTuple):
    """A message of a person. `number` counts the messages of its session from 0; `at` is UTC ISO, "" where unknown;
    `before` is what the assistant said right before it, "" for nothing."""

    session_key: str
    number: int
    at: str
    text: str
    before: str = ""
    sender_id: str | None = None
    message_id: str = ""


class Place(NamedTuple):
    """How far a session was read: the number of the last message, what it says (a digest), when it was said."""

    number: int
    digest: str
    at: str

    def to_json(self) -> list[object]:
        """As it is kept."""
        return list(self)


class Dialogue(NamedTuple):
    """The messages of people, oldest first, and what reading them came to.

    `messages` are all that were looked at, of the assistant too; `places` is how far each session is read by now;
    `left_out` says in words what was not read, `problems` which sessions could not be.
    """

    told: tuple[Told, ...] = ()
    messages: int = 0
    sessions: int = 0
    places: Mapping[str, Place] = {}
    left_out: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class _Row(NamedTuple):
    """A message in order: when (never before the one before it), of which session, how far that is read with it, and
    what a person said in it; None for the assistant, and for what is not read. `new`: it comes after what was read."""

    at: str
    key: str
    place: Place
    told: Told | None
    new: bool


def read(
    sessions: Sessions,
    channels: Collection[str],
    *,
    limit: int | None = None,
    session: str | None = None,
    since: datetime | None = None,
    places: Mapping[str, Place] | None = None,
    new_only: bool = False,
) -> Dialogue:
    """The last `limit` messages (None: all), of all sessions of these channels or of one `session`, of any channel.

    `since`: only what was said then or later. `places`: how far each session was read before (None: nobody read any);
    `new_only`: the first messages after that. Raises NotFound for a session that is not there.
    """
    rows: list[_Row] = []
    ends: dict[str, Place] = {}
    problems: list[str] = []
    left: dict[str, int] = {}
    other: set[str] = set()
    known: set[str] = set()
    for key, first, messages in _transcripts(sessions, problems):
        if key in known or (session is not None and key != session) or key.startswith(NOBODYS):
            continue
        known.add(key)
        if session is None and key.partition(":")[0] not in channels:
            other.add(key)
        elif messages:
            start = _after(messages, first, (places or {}).get(key))
            ends[key] = _place(messages[-1], first)
            rows += _rows(key, first, messages, start, left)
    if session is not None and session not in known:
        raise NotFound("no such session", session, "`nanomem session list` shows them all")
    rows.sort(key=lambda row: row.at)
    if since is not None:
        rows = [row for row in rows if row.at >= clock.iso(since)]
    if new_only:
        rows = [row for row in rows if row.new]
    kept, out = (rows[:limit], rows[len(rows[:limit]) :]) if new_only else _last(rows, limit)
    if since is not None:
        ends = {}  # nobody knows what was said before
    elif places is not None:
        ends = _reached(ends, kept, out, by_row=new_only)
    secret = sum(row.told is not None and talk.holds_secret(row.told.text) for row in kept)
    notes = [f"{counted(number, 'message')} not read: {why}" for why, number in sorted(left.items())]
    notes += [f"{counted(secret, 'message')} read without what is a secret in it"] if secret else []
    if other:
        names = ", ".join(sorted({key.partition(":")[0] for key in other})[:_TOLD])
        notes.append(f"{counted(len(other), 'session')} not read: {names} not among capture_channels")
    told = tuple(row.told for row in kept if row.told is not None)
    return Dialogue(told, len(kept), len({row.key for row in kept}), ends, tuple(notes), tuple(problems))


def _transcripts(sessions: Sessions, problems: list[str]) -> Iterator[tuple[str, int, Sequence[Message]]]:
    """The key of each session, the number of its first message here, and the messages; imported ones last."""
    for file in sessions.files():
        try:
            yield sessions.end_of(file, MOST_BYTES)
        except NanomemError as error:
            problems.append(f"{file.path.name}: {error.what}")
    for info, chat in sessions.chats():
        yield info.key, 0, chat.said()


def _last(rows: list[_Row], limit: int | None) -> tuple[list[_Row], list[_Row]]:
    cut = max(0, len(rows) - limit) if limit is not None else 0
    return rows[cut:], rows[:cut]


def _reached(ends: Mapping[str, Place], kept: list[_Row], out: list[_Row], *, by_row: bool) -> dict[str, Place]:
    """How far each session is read by now: to its end, unless new messages of it were left out; `by_row`: of those to
    the last one that was read."""
    missed = {row.key for row in out if row.new}
    found = {key: end for key, end in ends.items() if key not in missed}
    if by_row:
        found |= {row.key: row.place for row in kept if row.key in missed}
    return found


def _rows(key: str, first: int, messages: Sequence[Message], start: int, left: dict[str, int]) -> Iterator[_Row]:
    before, last = "", ""
    for at, message in enumerate(messages):
        text = message.content
        if message.hidden or message.command or message.role not in ("user", "assistant") or not text.strip():
            continue
        moment = clock.parse(message.timestamp) if message.timestamp else None
        last = max(last, clock.iso(moment)) if moment is not None else last
        when = clock.iso(moment) if moment is not None else ""
        user = message.role == "user"
        told = _told(key, first + message.index, when, message, before, left) if user else None
        yield _Row(last, key, _place(message, first), told, at >= start)
        before = "" if user else text


def _told(key: str, number: int, at: str, message: Message, before: str, left: dict[str, int]) -> Told | None:
    sender = _text(message.raw.get("sender_id"))
    if sender.partition(":")[0].lower() in _PARTS:
        return None
    if why := talk.why_not(message.content):
        left[why] = left.get(why, 0) + 1
        return None
    return Told(key, number, at, message.content, before, sender or None, _text(message.raw.get("message_id")))


def _text(value: object) -> str:
    """An id as text; ids are numbers in many channels."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(value)


def _place(message: Message, first: int) -> Place:
    return Place(first + message.index, digest_of(message), message.timestamp)


def digest_of(message: Message) -> str:
    """What tells a message from others: its role, its time and its words."""
    words = f"{message.role}\n{message.timestamp}\n{message.content}"
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _after(messages: Sequence[Message], first: int, place: Place | None) -> int:
    """Where in `messages` those begin that came after a place; a compaction may have moved or removed it."""
    if place is None:
        return 0
    at = place.number - first
    if 0 <= at < len(messages) and digest_of(messages[at]) == place.digest:
        return at + 1
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].timestamp == place.at and digest_of(messages[at]) == place.digest:
            return at + 1
    later = (number for number, one in enumerate(messages) if not (place.at and one.timestamp <= place.at))
    return next(later, len(messages))


def places_of(value: object) -> dict[str, Place]:
    """The places as they were kept; of what is no such thing, nothing: then a session is read from its beginning."""
    found = {}
    for key, place in value.items() if isinstance(value, dict) else ():
        fits = isinstance(place, list) and len(place) == 3
        if fits and type(place[0]) is int and isinstance(place[1], str) and isinstance(place[2], str):
            found[str(key)] = Place(*place)
    return found
