"""Short-term working memory (seed 000 §Architecture): the last turns and the pending items of each session, in RAM.

Fed by turns, filled again after a restart from the session state where there is one. Must not write a file, and must
not know how it is shown.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents.turn_log import Turn, WalState
from nanomem_tui.core import clock
from nanomem_tui.language import dates, secrets

if TYPE_CHECKING:
    from nanomem_tui.agents.transcripts import Message

MAX_SESSIONS = 1_000
"""Sessions held at once; the one not used for the longest time goes, and is filled again when it comes back."""
MAX_TEXT = 400
"""Characters of a question or an answer that are kept, as in the session state."""


class Exchange(NamedTuple):
    """One turn: when (UTC ISO), who spoke, what, and the answer (None while it is not there).

    `turn`: its id, where it is known; two turns may begin at one time. `sender`: the id of who spoke, empty where the
    channel names none. `checked`: what is told again of somebody who may not teach is not; `answer_checked`: nor is an
    answer that asks for something to be remembered, or that repeats what a tool gave.
    """

    at: str
    speaker: str
    user: str
    assistant: str | None = None
    turn: str = ""
    sender: str = ""
    checked: bool = True
    answer_checked: bool = True


Restore = Callable[[str], tuple[Sequence[Exchange], Sequence[str]]]
"""The turns and pending items of a session from what outlived the process, oldest first."""


class _Session:
    def __init__(self, turns: int, pending: int) -> None:
        self.turns: deque[Exchange] = deque(maxlen=turns)
        self.pending: deque[str] = deque(maxlen=pending)
        self.stamp: object = None


class WorkingMemory:
    """A window of `turns` exchanges and a queue of `pending` items per session; the oldest fall out."""

    def __init__(self, turns: int, pending: int, restore: Restore = lambda _key: ((), ())) -> None:
        self._sizes = (turns, pending)
        self._restore = restore
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def turns(self, session_key: str) -> tuple[Exchange, ...]:
        """The last turns of a session, oldest first."""
        return tuple(self._of(session_key).turns)

    def pending(self, session_key: str) -> tuple[str, ...]:
        """What waits to be done in a session, oldest first."""
        return tuple(self._of(session_key).pending)

    def began(self, session_key: str, at: str, speaker: str, user: str, turn: str = "", sender: str = "") -> None:
        """A turn that has no answer yet."""
        self._of(session_key).turns.append(Exchange(at, speaker, _short(user), turn=turn, sender=sender))

    def ended(
        self,
        session_key: str,
        at: str,
        assistant: str,
        speaker: str = "",
        user: str = "",
        turn: str = "",
        sender: str = "",
    ) -> None:
        """The answer of the turn that began `at`; a turn that is not in the window any more is put there."""
        turns = self._of(session_key).turns
        for place in range(len(turns) - 1, -1, -1):
            if _is(turns[place], at, turn):
                turns[place] = turns[place]._replace(assistant=_short(assistant))
                return
        turns.append(Exchange(at, speaker, _short(user), _short(assistant), turn, sender))

    def forget(self, session_key: str, at: str, turn: str = "") -> None:
        """Take a turn back that the agent declined."""
        session = self._of(session_key)
        session.turns = deque((one for one in session.turns if not _is(one, at, turn)), session.turns.maxlen)

    def add_pending(self, session_key: str, items: Iterable[str]) -> tuple[str, ...]:
        """Put items into the queue; one that is there already moves to its end. Those that fell out of it."""
        return _add(self._of(session_key).pending, items)

    def done(self, session_key: str, items: Iterable[str]) -> tuple[str, ...]:
        """Take items out of the queue, each by its words (`same_words`); which of them were there."""
        session = self._of(session_key)
        wanted = {same_words(item): item for item in items}
        there = {same_words(item) for item in session.pending}
        session.pending = _without(session.pending, wanted.values())
        return tuple(item for words, item in wanted.items() if words in there)

    def drop(self, session_key: str) -> None:
        """Forget a session; it is filled again when it is next asked for."""
        self._sessions.pop(session_key, None)

    def catch_up(self, session_key: str, stamp: object) -> None:
        """Forget a session whose log is not as this process left it: another one wrote there."""
        known = self._sessions.get(session_key)
        if known is not None and known.stamp != stamp:
            self.drop(session_key)

    def left(self, session_key: str, stamp: object) -> None:
        """How this process left the log of a session."""
        self._of(session_key).stamp = stamp

    def _of(self, session_key: str) -> _Session:
        session = self._sessions.get(session_key)
        if session is None:
            session = _Session(*self._sizes)
            turns, pending = self._restore(session_key)
            session.turns.extend(turns)
            _add(session.pending, pending)
            self._sessions[session_key] = session
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session_key)
        return session


def from_state(state: WalState, turns: int, pending: int) -> tuple[list[Exchange], list[str]]:
    """The last `turns` finished ones of a session's state file, and the queue as they left it, of `pending` items: what
    turns of ours added, and the last of others, without what any turn since told as done."""
    ended = [turn for turn in state.turns if not turn.open and not turn.declined]
    finished = ended[-turns:] if turns else []
    window = {turn.number for turn in finished}
    queue: deque[str] = deque(maxlen=pending)
    for turn in sorted(ended, key=lambda turn: turn.line_post):
        _add(queue, turn.pending_actions if turn.id or turn.number in window else ())
        queue = _without(queue, turn.done_actions)
    return [_exchange(turn) for turn in finished], list(queue)


def from_messages(messages: Iterable[Message], turns: int) -> list[Exchange]:
    """The last turns of a transcript."""
    from nanomem_tui.memory import echoes

    found: list[Exchange] = []
    results: list[str] = []
    for message in messages:
        if message.role == "user":
            moment = clock.parse(message.timestamp)
            sender = message.raw.get("sender_id")
            at, sender = clock.iso(moment) if moment else "", sender if isinstance(sender, str) else ""
            found.append(Exchange(at, "user", message.content, sender=sender))
            results = []
        elif message.role == "tool":
            results.append(message.content)
        elif message.role == "assistant" and message.content and found:
            checked = not (results and echoes.repeats(message.content, results, found[-1].user))
            found[-1] = found[-1]._replace(assistant=message.content, answer_checked=checked)
    return found[-turns:] if turns else []


def _exchange(turn: Turn) -> Exchange:
    speaker, user = turn.pre.get("speaker", ""), _short(turn.pre.get("user", ""))
    return Exchange(turn.at_pre, speaker, user, turn.assistant, turn.id, turn.pre.get("sender_id", ""))


def _is(exchange: Exchange, at: str, turn: str) -> bool:
    """Whether a turn is the one that is meant: by its id where both have one, else by when it began."""
    return exchange.turn == turn if exchange.turn and turn else exchange.at == at


def same_words(text: str) -> str:
    """The form in which two pending items are the same: case, white space, secrets, marks at the end and the dates that
    were put behind relative ones left out."""
    return _short(dates.unannotated(text)).casefold().rstrip(" .!?,;:…。！？，；")


def _add(queue: deque[str], items: Iterable[str]) -> tuple[str, ...]:
    """Put items into a queue; those that fell out of it, the oldest first."""
    fell = []
    for item in map(_short, items):
        for known in [one for one in queue if same_words(one) == same_words(item)]:
            queue.remove(known)
        if item and len(queue) == queue.maxlen:
            fell.append(queue[0] if queue else item)
        if item:
            queue.append(item)
    return tuple(fell)


def _without(queue: deque[str], items: Iterable[str]) -> deque[str]:
    done = set(map(same_words, items)) if queue else ()
    return deque((item for item in queue if same_words(item) not in done), queue.maxlen) if done else queue


def _short(text: str) -> str:
    """A text on one line, cut, with a name in place of each secret, as the session state has it."""
    line = " ".join(secrets.mask_start(text)[: MAX_TEXT * 4].split())
    return line if len(line) <= MAX_TEXT else line[:MAX_TEXT].rstrip() + "..."
