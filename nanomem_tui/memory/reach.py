"""What a model may be told of transcripts, the archive and notes: excerpts of what its audience may see.

Owns the choice of excerpts, for a tool that asks and for the block of a turn, and the form in which a round, what was
asked and its answer, is given again. Who may see what is `scopes`'; the ranking is `sequences`'. An excerpt holds no
secret, nothing that is forgotten, and nothing that reads as an order to the model. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import cues, dates
from nanomem_tui.language.tokens import alike, index_tokens, query_words
from nanomem_tui.memory import bearing, earlier, names, prompt, questions
from nanomem_tui.memory.chat_passages import ChatPassages, without_blocks
from nanomem_tui.memory.conversations import LONGEST, SOURCES, Conversations, Told
from nanomem_tui.memory.groups import is_group, is_of_one
from nanomem_tui.memory.matching import Matcher
from nanomem_tui.memory.scopes import Audience, sessions_of
from nanomem_tui.memory.working import Exchange, same_words
from nanomem_tui.store.forgotten import Forgotten
from nanomem_tui.store.values import chat_of

if TYPE_CHECKING:
    from nanomem_tui.memory.sequences import OrderedRecall

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
        """The object that `recall` and `turn begin` print."""
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


class Reach:
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
        """The nearest excerpts of what an audience may see, best first.

        A chat is told of its own session and what the archive has of that; notes are of no chat, and the owner's alone.
        Raises BadInput, and the errors of `forgotten.load`.
        """
        if not self._settings.memory_enabled or not query.strip() or limit < 1:
            return []
        keys = sessions_of(audience, session_key)
        hits: Sequence[Told] = ()
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
        """The turns of the same chat, before those in the window, that surely have a bearing on a message; best first.

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

    def _excerpts(self, hits: Iterable[Told], audience: Audience, limit: int) -> list[Excerpt]:
        """The first of these as they may be told, each round once."""
        kept = self._forgotten()
        found: dict[tuple[str, str], Excerpt] = {}
        for hit in hits:
            if len(found) >= limit:
                break
            excerpt = self._excerpt(hit, audience, kept)
            if excerpt is not None:
                found.setdefault((excerpt.source, excerpt.id), excerpt)
        return list(found.values())

    def _excerpt(self, hit: Told, audience: Audience, kept: Forgotten) -> Excerpt | None:
        if kept and (kept.named("session", hit.key) or kept.named("sender", hit.sender)):
            return None
        if hit.source != "sessions":
            text = _shown(prompt.unjudged(_clean(hit.text, kept)), hit, WIDTH)
            return Excerpt(hit.source, hit.id, Exchange(hit.at, "", text), hit.score) if text else None
        part = _round(hit)
        place = audience if not audience.is_owner else Audience(*(chat_of(hit.key) or (None, None)))
        # An agent may name no sender in a private chat: its id tells that one person writes there.
        sender = hit.sender or (str(place.chat_id) if is_of_one(place.channel, place.chat_id) else "")
        turn = Exchange(
            hit.at,
            _speaker(sender, place),
            _clean(part.asked, kept),
            None if part.answer is None else _clean(part.answer, kept),
            sender=sender,
            answer_checked=False,  # a tool may have given it
        )
        told = earlier.told(turn, place, self._settings, self._workspace_id)
        if {told.user, told.assistant} & {prompt.UNCHECKED, prompt.LEFT_OUT}:
            return None
        said = _shown(told.user, hit, WIDTH) if part.shows_asked else ""
        reply = _shown(told.assistant, hit, WIDTH) if told.assistant and part.shows_answer else None
        if not (said or reply):
            return None
        return Excerpt(hit.source, part.id, told._replace(user=said, assistant=reply), hit.score)


def _is_being_answered(hit: Told) -> bool:
    """Whether a hit is the message that the model just got: an agent writes it down before it asks."""
    moment = clock.parse(hit.at) if hit.role == "user" and not hit.after else None
    return moment is not None and abs(clock.now() - moment) < JUST_NOW


def _speaker(sender: str, place: Audience) -> str:
    """Who wrote a message: in a group by their id, else the user."""
    return (names.identity(sender) if is_group(place.channel, place.chat_id, sender) else "") or names.USER


class _Round(NamedTuple):
    """What was asked and the answer to it, which of the two an excerpt shows, and the id of the first that it shows."""

    asked: str
    answer: str | None
    shows_asked: bool
    shows_answer: bool
    id: str


def _round(hit: Told) -> _Round:
    """The round of a hit, which is one of its two messages. The other is shown where the first asks: a question says
    little without its answer, and a short answer little without its question."""
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
    """A passage without blocks of memory and what is forgotten."""
    text = without_blocks(text if len(text) < LONGEST else text[:-_CUT])
    return kept.taken_out(text) if kept else text


def _shown(text: str, hit: Told, width: int) -> str:
    """The part of a text around the words that were found, with the date behind each relative one."""
    part, _ = Matcher(tuple(hit.parts["terms"])).excerpt(text, width)
    return dates.annotated(part, hit.at[:10]) if hit.at[:10] else part


def _bearing(message: str, hits: Sequence[Told], index: OrderedRecall) -> list[Told]:
    """Those hits whose round says enough of what a message is about: an unneeded one is worse than none."""
    words = questions.weighted(questions.Question(message))
    known = index.statistics([*words, *(other for word in words for other in alike(word))])
    asked = bearing.message(message, words, {word: (word,) for word in query_words(message)}, known)
    called = set(index.names)
    found = []
    for hit in hits:
        part = _round(hit)
        text = "\n".join((part.asked if part.shows_asked else "", part.answer or "" if part.shows_answer else ""))
        held = set(index_tokens(text)) & (words.keys() | asked.covers.keys()) - called
        tells = sum(asked.words[word] for word in held & asked.heavy)
        if tells >= TELLS * asked.most and bearing.covers(asked, held | called) >= COVERS:
            found.append(hit)
    return found
