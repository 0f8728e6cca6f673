"""What people said in an agent's sessions, message by message: the last ones of all, of one, or those not read yet.

Owns which messages are people's own words, and how far each session was read. A session that cannot be read is named
and stops no other. Reads only; must not know what a fact is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui import language
from nanomem_tui.agents.jsonl import text_of
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, NotFound
from nanomem_tui.core.text import counted
from nanomem_tui.language import classify, remembering, secrets
from nanomem_tui.language.secrets import signs as secret_signs
from nanomem_tui.language.statements import attributes
from nanomem_tui.language.statements import attributes as statements_attributes
from nanomem_tui.language.statements.attributes import Attribute
from nanomem_tui.language.statements.compare import language_of_both
from nanomem_tui.language.tokens import simplified, straight
from nanomem_tui.memory import safety
from nanomem_tui.memory.turns.capture import MAX_MESSAGE, UNWANTED

if TYPE_CHECKING:
    from nanomem_tui.agents.session_file import Message
    from nanomem_tui.memory.sessions.sessions import Sessions


# What of a message may become a fact: the sentences in which a person says what is so, of the own life and for long.

MAX_SENTENCES = 100
"""Sentences of a message that is read: a longer one is a list or something pasted."""
MAX_SENTENCE = 400
"""Characters of a sentence that is read; a longer one is no plain statement."""
PLAY = "a song, a story, a game, a joke or a quotation"
"""Why a message is not read in which the one who speaks is not meant."""
ORDERS = "it tells the model to drop its instructions"
FAINT, SLIGHT, WEAK, ALONE = 0.1, 0.2, 0.25, 0.5
"""How likely has to last: a piece beside a task that gives an attribute, a statement of the moment that does, one that
does not, a clause of a greeting alone."""
_OTHERS = ("order", "quoted")
"""After a sentence of these nothing is the person's own for sure."""
TAG = 4
"""Characters of a Chinese question after a comma that asks whether what is before it is so."""
_SOFT = ("moment", "chatter", "remember", "correction")
"""What is a statement too where it may last."""
MARKED, OWN = 0.3, 0.35
"""How likely words without quotation marks that read as others' have to last to be the person's own, where they give
an attribute and where they do not."""
_QUOTES = re.compile(r"[\"“”„«»「」『』:：‘]|(?<!\w)'|'(?!\w)")
_PIECES = re.compile(r"\s*[,，;；]\s*|\s[–—-]\s")
"""Where a sentence goes on with something else."""
_ADDRESS = re.compile(r"[A-Za-z0-9._+-]+@\S+|https?://\S+")


class Saying(NamedTuple):
    """A sentence that a person says to be so; `asked`: it is to be remembered, so that it needs no `my` or `our`.

    `confirmed`: the sentence is what an answer of yes says; `source` are the words as they were written.
    """

    text: str
    asked: bool = False
    confirmed: bool = False
    source: str = ""

    @property
    def words(self) -> str:
        """The very words that say it."""
        return self.source or self.text

    @property
    def attributes(self) -> list[Attribute]:
        """The attributes that it gives."""
        return attributes.attributes(self.text, language_in(self.text), asked=self.asked)

    @property
    def is_plain(self) -> bool:
        """Whether it says one thing and nothing else."""
        return attributes.is_one_statement(self.text, language_in(self.text))


@lru_cache(512)
def language_in(text: str) -> str:
    """Return the language of a sentence; of several in Latin letters the one in which it says most."""
    plain = _ADDRESS.sub(" ", text).strip()
    first = next(filter(str.isalpha, plain), "")
    for part in (plain, first):
        if (code := classify.language_of(part)) not in classify.LATIN:
            return code
    codes = classify.latin_languages_of(plain)[:3] or [*dict.fromkeys((language_of_both(plain, ""), *classify.LATIN))]
    if len(text) > MAX_SENTENCE:
        return codes[0]
    return max(codes, key=lambda code: len(attributes.attributes(text, code)) + len(attributes.ended(text, code)))


def reason_unread(text: str) -> str:
    """Return why nothing of a message is read; "" when it is."""
    if len(text) > MAX_MESSAGE:
        return f"more than {MAX_MESSAGE:,} characters"
    sentences = [_plain(one) for one in remembering.sentences(text)]
    if len(sentences) > MAX_SENTENCES:
        return f"more than {MAX_SENTENCES} sentences"
    if language.read(text).is_unwanted or any(_has("unwanted", one) for one in sentences):
        return UNWANTED
    if any(_has("play", one) or _is_fiction(one) for one in sentences):
        return PLAY
    if any(_has("orders", one) for one in sentences):
        return ORDERS
    return next(
        (found.why for found in safety.check(text) if found.kind in ("code", "command", "recalled", "injection")), ""
    )


def _plain(sentence: str) -> str:
    return simplified(straight(sentence))


def _has(pattern: str, sentence: str) -> bool:
    return attributes.pack(language_in(sentence)).pattern(pattern).search(sentence) is not None


def _is_fiction(sentence: str) -> bool:
    """Return whether a sentence tells or asks for a song, a story or the like; “I write novels” does not."""
    if "fiction" not in classify.cues_of(sentence):
        return False
    clauses = attributes.clauses(sentence, language_in(sentence))
    return any("fiction" in classify.cues_of(one) and remembering.reading_of(one).act in _OTHERS for one in clauses)


@lru_cache(512)
def read_sayings(text: str, before: str = "") -> tuple[Saying, ...]:
    """Return what a message states; `before`: the assistant's words, whose question a plain yes confirms."""
    if not text.strip() or reason_unread(text):
        return ()
    if statements_attributes.is_yes(text):
        return _confirmed(before, text)
    message = language.read(text)
    own = message.own
    found = [
        Saying(part, asked=one.explicit and one.intent != "rule")
        for one in message.statements
        for part in remembering.sentences(one.text)
    ]
    found += _answered(before, text)
    found += [Saying(one) for one in _aside(own) if not any(one in other.text or other.text in one for other in found)]
    kept: list[Saying] = []
    for one in sorted(found, key=lambda one: own.find(one.text)):
        if (back := _back(one.text)) is not None:
            kept = kept[: -1 if back == 0 else None]  # of two sentences the second takes back a word of the first
        elif not _is_asked(one.text, own) and (said := one.text if _tells(one.text) else _before_a_question(one.text)):
            kept.append(one._replace(text=said))
    return tuple(dict.fromkeys(kept))


def _aside(text: str) -> Iterator[str]:
    """Yield the statements of a text that the reader passes over (“I'm Ana, nice to meet you”): beside a greeting, a
    question or a task, or taken for chatter or a quotation. Nothing behind somebody else's words."""
    parts = remembering.sentences(remembering.without_lists(text))
    while parts:
        part, parts = _unled(parts[0]), parts[1:]
        reading = classify.read((part, *parts), language_in(text))[0]
        is_asking = reading.act in ("question", "order") or part.endswith(("?", "？"))
        if is_asking and (said := _beside_a_task(part)):
            yield from said
        elif reading.act in classify.LASTING or reading.lasting >= _least(reading.act, part):
            yield part
        elif reading.act == "question":
            continue
        elif _stands_alone(part):
            yield part
        elif reading.act in _OTHERS:
            return


def _unled(part: str) -> str:
    found = attributes.pack(language_in(part)).pattern("introduces").match(part)
    return part[found.end() :] if found is not None else part


def _least(act: str, part: str) -> float:
    """Return how likely a sentence of an act that is none of what lasts has to last to be read."""
    if act in _SOFT:
        return SLIGHT if attributes.attributes(part, language_in(part)) else WEAK
    if act != "quoted" or _QUOTES.search(part):
        return 1.1
    return MARKED if attributes.attributes(part, language_in(part)) else OWN


def _beside_a_task(part: str) -> list[str]:
    """Return the statement before or behind a question in one sentence (“I'm vegan, what can I cook?”)."""
    if any(sign in part for sign in ':："“«„「『”'):
        return []
    pieces = [(found.start(), found.end()) for found in _PIECES.finditer(part)]
    if not pieces or (part.endswith(("?", "？")) and _is_tag(part, part[pieces[-1][1] :])):
        return []
    heads = [part[:start] for start, _ in reversed(pieces)]
    tails = [part[end:] for _, end in pieces if not part.endswith(("?", "？")) and not _has("composed", part)]
    return next(([one] for one in (*heads, *tails) if _is_said(one)), [])


def _before_a_question(part: str) -> str:
    """Return the statement before the first piece of a sentence that asks without a question mark."""
    if any(sign in part for sign in ':："“«„「『”'):
        return ""
    for found in _PIECES.finditer(part):
        head, rest = part[: found.start()], part[found.end() :]
        if remembering.is_question(rest) and not _is_tag(part, rest):
            return head if _tells(head) and _is_said(head) else ""
    return ""


def _is_said(piece: str) -> bool:
    """Return whether a piece of a sentence is a statement, and of what may last if only a little."""
    alone = remembering.reading_of(piece)
    if alone.act in (*_OTHERS, "question", "forget"):
        return False
    return alone.lasting >= WEAK or (alone.lasting >= FAINT and bool(attributes.attributes(piece, language_in(piece))))


def _is_tag(sentence: str, rest: str) -> bool:
    if classify.is_wide(rest):
        return len(rest.strip("?？")) < TAG
    return attributes.pack(language_in(sentence)).pattern("tag").search(f", {rest}") is not None


def _is_asked(sentence: str, text: str) -> bool:
    behind = text[text.find(sentence) + len(sentence) :].lstrip()
    found = re.match(r"[,，]\s*([^?？.。!！]*[?？])", behind)
    return found is not None and _is_tag(sentence, found[1])


def _stands_alone(part: str) -> bool:
    """Return whether a sentence is a plain statement without what is polite in it, or by its first clause."""
    language, plain = language_in(part), straight(part)
    bare = attributes.pack("common").pattern("polite").sub("", plain)
    if _ADDRESS.search(plain):  # `my email: …` reads as torn off something
        return len(attributes.clauses(plain, language)) == 1 and bool(attributes.attributes(plain, language))
    if any(sign in bare for sign in ':："“«„「'):
        return False
    first = attributes.clauses(bare, language)[:1]
    alone = [remembering.reading_of(one) for one in (bare, *first, *(one.partition(",")[0] for one in first))]
    return bool(bare) and any(one.act in classify.LASTING and one.lasting >= ALONE for one in alone)


def _back(sentence: str) -> int | None:
    found = attributes.pack(language_in(sentence)).pattern("back").search(_plain(sentence))
    return found.start() if found is not None else None


def retractions(text: str) -> tuple[str, ...]:
    """Return the sentences of a message that may say that something is so no longer, or ask to forget it."""
    if not text.strip() or reason_unread(text):
        return ()
    parts = language.read(text).sentences
    acts = [one.act for one in classify.read(parts, language_in(text))]
    return tuple(part for part, act in zip(parts, acts, strict=True) if act != "question" and _tells(part))


def _tells(sentence: str) -> bool:
    plain = _plain(sentence)
    if not plain or len(plain) > MAX_SENTENCE or remembering.is_question(plain):
        return False
    if _has("doubt", plain) or _has("composed", plain):
        return False
    return not (holds_secret(sentence) or safety.is_recalled(sentence))


def holds_secret(text: str) -> bool:
    """Return whether a secret, or what leads to one, stands in a text; the sentence that holds it is not read."""
    return bool(secrets.find(text) or secrets.is_masked(text) or secret_signs.is_private(_plain(text)))


def _answered(before: str, text: str) -> list[Saying]:
    asked = remembering.sentences(before)[-1:] if before and not reason_unread(before) else ()
    statement = statements_attributes.answered(asked[0], text) if asked and len(asked[0]) <= MAX_SENTENCE else ""
    return [Saying(statement, confirmed=True, source=f"{asked[0].strip()} {text.strip()}")] if statement else []


def _confirmed(before: str, answer: str) -> tuple[Saying, ...]:
    """Return what the question at the end of `before` says of the one who answers yes to it."""
    if not before or reason_unread(before):
        return ()
    asked = remembering.sentences(before)[-1:]
    statement = statements_attributes.confirmed(asked[0]) if asked and len(asked[0]) <= MAX_SENTENCE else ""
    if not statement or not _tells(statement):
        return ()
    return (Saying(statement, confirmed=True, source=f"{asked[0].strip()} {answer.strip()}"),)


MOST_BYTES = 8_000_000
"""The end of one transcript that is read."""
NOBODYS = ("dream:", "cron:", "heartbeat", "system:", "subagent:", "trigger:")
"""How the keys begin of sessions in which no person speaks."""
_PARTS = frozenset({"cron", "trigger", "heartbeat", "subagent", "runtime", "system", "goal_continuation"})
"""Senders (before any colon) that are parts of the agent."""
_TOLD = 5


class SpokenMessage(NamedTuple):
    """A message of a person. `number` counts the messages of its session from 0; `at` is UTC ISO, "" where unknown;
    `before` is what the assistant said right before it, "" for nothing."""

    session_key: str
    number: int
    at: str
    text: str
    before: str = ""
    sender_id: str | None = None
    message_id: str = ""


class ReadingPosition(NamedTuple):
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

    told: tuple[SpokenMessage, ...] = ()
    messages: int = 0
    sessions: int = 0
    places: Mapping[str, ReadingPosition] = {}
    left_out: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class _Row(NamedTuple):
    """A message in order: when (never before the one before it), of which session, how far that is read with it, and
    what a person said in it; None for the assistant, and for what is not read. `new`: it comes after what was read."""

    at: str
    key: str
    place: ReadingPosition
    told: SpokenMessage | None
    new: bool


def read_dialogue(
    sessions: Sessions,
    channels: Collection[str],
    *,
    limit: int | None = None,
    session: str | None = None,
    since: datetime | None = None,
    places: Mapping[str, ReadingPosition] | None = None,
    new_only: bool = False,
) -> Dialogue:
    """Return the last `limit` messages (None: all), of all sessions of these channels or of one `session`, of any
    channel.

    `since`: only what was said then or later. `places`: how far each session was read before (None: nobody read any);
    `new_only`: the first messages after that. Raises NotFound for a session that is not there.
    """
    rows: list[_Row] = []
    ends: dict[str, ReadingPosition] = {}
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
            ends[key] = _position_at(messages[-1], first)
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
    secret = sum(row.told is not None and holds_secret(row.told.text) for row in kept)
    notes = [f"{counted(number, 'message')} not read: {why}" for why, number in sorted(left.items())]
    notes += [f"{counted(secret, 'message')} read without what is a secret in it"] if secret else []
    if other:
        names = ", ".join(sorted({key.partition(":")[0] for key in other})[:_TOLD])
        notes.append(f"{counted(len(other), 'session')} not read: {names} not among capture_channels")
    told = tuple(row.told for row in kept if row.told is not None)
    return Dialogue(told, len(kept), len({row.key for row in kept}), ends, tuple(notes), tuple(problems))


def _transcripts(sessions: Sessions, problems: list[str]) -> Iterator[tuple[str, int, Sequence[Message]]]:
    """Yield the key of each session, the number of its first message here, and the messages; imported ones last."""
    for file in sessions.files():
        try:
            yield sessions.end_of(file, MOST_BYTES)
        except NanomemError as error:
            problems.append(f"{file.path.name}: {error.what}")
    for info, chat in sessions.chats():
        yield info.key, 0, chat.spoken_messages()


def _last(rows: list[_Row], limit: int | None) -> tuple[list[_Row], list[_Row]]:
    cut = max(0, len(rows) - limit) if limit is not None else 0
    return rows[cut:], rows[:cut]


def _reached(
    ends: Mapping[str, ReadingPosition], kept: list[_Row], out: list[_Row], *, by_row: bool
) -> dict[str, ReadingPosition]:
    """Return how far each session is read: to its end, or with `by_row` to its last message that was read."""
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
        told = _spoken(key, first + message.index, when, message, before, left) if user else None
        yield _Row(last, key, _position_at(message, first), told, at >= start)
        before = "" if user else text


def _spoken(
    key: str, number: int, at: str, message: Message, before: str, left: dict[str, int]
) -> SpokenMessage | None:
    sender = _text(message.raw.get("sender_id"))
    if sender.partition(":")[0].lower() in _PARTS:
        return None
    if why := reason_unread(message.content):
        left[why] = left.get(why, 0) + 1
        return None
    return SpokenMessage(key, number, at, message.content, before, sender or None, _text(message.raw.get("message_id")))


def _text(value: object) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text_of(value)


def _position_at(message: Message, first: int) -> ReadingPosition:
    return ReadingPosition(first + message.index, digest_of(message), message.timestamp)


def digest_of(message: Message) -> str:
    """Return what tells a message from others: its role, its time and its words."""
    words = f"{message.role}\n{message.timestamp}\n{message.content}"
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _after(messages: Sequence[Message], first: int, place: ReadingPosition | None) -> int:
    """Return where in `messages` those begin that came after a place; a compaction may have moved or removed it."""
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


def places_of(value: object) -> dict[str, ReadingPosition]:
    """Return the places that were kept; anything else is ignored, and those sessions are read anew."""
    found = {}
    for key, place in value.items() if isinstance(value, dict) else ():
        fits = isinstance(place, list) and len(place) == 3
        if fits and type(place[0]) is int and isinstance(place[1], str) and isinstance(place[2], str):
            found[str(key)] = ReadingPosition(*place)
    return found
