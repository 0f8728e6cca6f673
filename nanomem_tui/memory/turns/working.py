"""Short-term working memory (seed 000 §Architecture): the last turns and the pending items of each session, in RAM.

Fed by turns, filled again after a restart from the session state where there is one. Must not write a file, and must
not know how it is shown.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.turn_log import Turn, WalState
from nanomem_tui.attach.fence import defused
from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.errors import BadInput, Conflict, NothingToDo, from_os_error
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, Value, new_operation
from nanomem_tui.core.text import counted, one_line, safe_text
from nanomem_tui.language import dates, injection, secrets
from nanomem_tui.memory import safety
from nanomem_tui.memory.turn_log import OpenTurn

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
    from nanomem_tui.memory.turns import keeping

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
            checked = not (results and keeping.repeats(message.content, results, found[-1].user))
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


# What stands before a model as the name of who spoke: anybody chooses what a channel shows as their own.

USER, SYSTEM = "user", "system"
LONGEST, MOST_WORDS = 40, 6
WIDE = 4
"""Letters that one of Chinese, Japanese or Korean counts as: ten of them are a sentence."""
_PARTS = frozenset({"assistant", "developer", "tool", "function", "model", "agent", "ai", "bot", "memory"})
"""Who else speaks to a model, or is it: a line under such a name would be taken for theirs."""
_COLONS = re.compile("[:;\uff1a\uff1b\ufe55\ufe13\u2236\ua789\u05c3\u0589\u02d0\u02f8]+")
"""What ends a name and begins what is said, and what looks like it."""
_MARKUP = re.compile(r"[<>\[\]{}|`#*=\\]|//|https?", re.IGNORECASE)
_ID = re.compile(r"[A-Za-z0-9_.@+|-]{1,64}")
_JOINTS = re.compile(r"[\W_]+")


def named(speaker: str, sender_id: str = "", said: str = "") -> str:
    """The name to show for who said `said`; `USER` where none is given. What this gave it gives again as it is."""
    if not speaker.strip():
        return USER
    for name in (_name(speaker), identity(sender_id)):
        if name and not _goes_on(name, said):
            return name
    return USER


@lru_cache(1024)
def _name(speaker: str) -> str:
    """A name as it is shown, empty where it is none."""
    if len(speaker) > LONGEST * 4:
        return ""
    name = " ".join(_COLONS.sub(" ", one_line(speaker)).split())
    if not name or _length(name) > LONGEST or len(name.split()) > MOST_WORDS or _MARKUP.search(name):
        return ""
    if safe_text(speaker) != speaker:  # it hides something
        return ""
    words = _words(name)
    if words in _PARTS or (words == SYSTEM and name != SYSTEM) or _orders(speaker, name):
        return ""
    return name if defused(name) == name else ""


@lru_cache(1024)
def identity(sender_id: str) -> str:
    """The id of a sender as it is shown, empty where it has no form of one."""
    if not _ID.fullmatch(sender_id) or _words(sender_id) in (*_PARTS, SYSTEM) or _orders(sender_id, sender_id):
        return ""
    return sender_id[:LONGEST]


def _orders(*texts: str) -> bool:
    """Whether one of these gives orders, also with other marks between its words, or holds a secret."""
    return any(injection.reason(one) or injection.reason(_words(one)) or secrets.find(one) for one in texts)


@lru_cache(1024)
def _goes_on(name: str, said: str) -> bool:
    """Whether a name and what follows it give orders together that neither gives alone."""
    return bool(said and injection.reason(f"{name} {said}") and not injection.reason(said))


def _length(name: str) -> int:
    return len(name) + (WIDE - 1) * (safety.weight(name) - len(name))


def _words(text: str) -> str:
    return " ".join(_JOINTS.sub(" ", injection.plain(text)).split())


# -- Pending items that outlive the process: unfinished turns that somebody recovered after a crash -------------------


class Recovered(NamedTuple):
    """A turn that began and never ended: when (UTC ISO) and what was asked. `done`: the agent has answered it since.
    `turn`: its id, empty for turns of others."""

    at: str
    text: str
    done: bool = False
    turn: str = ""

    def is_of(self, at: str, turn: str) -> bool:
        """Whether it is the turn that is meant: by its id where both have one, else by when it began."""
        return self.turn == turn if self.turn and turn else self.at == at


class Pending:
    """The recovered turns of each session, and the layer that changes them.

    A value is `{"items": [[at, text], …]}`; `[at, text, true]` is one that was answered since, and stays known as
    recovered; a fourth value is the turn's id.
    """

    name = "pending"

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read: tuple[tuple[int, int, int] | None, dict[str, Any]] = (None, {})

    def of(self, session_key: str) -> tuple[Recovered, ...]:
        """What waits in a session, oldest first."""
        return tuple(item for item in self.known(session_key) if not item.done)

    def known(self, session_key: str) -> tuple[Recovered, ...]:
        """Every turn of a session that was recovered, those that were answered since too; oldest first."""
        return _items(self._table().get(session_key))

    def all(self) -> dict[str, tuple[Recovered, ...]]:
        """What waits, by session."""
        return {key: waiting for key in self._table() if (waiting := self.of(key))}

    def finished(self, session_key: str, done_actions: Sequence[str], turn: str = "") -> list[Change]:
        """The change that marks what the agent says to have done, and the turn `turn`, which ended after all; none
        where nothing of it waits."""
        before = self.known(session_key) if done_actions or turn else ()
        after = [
            item._replace(done=item.done or bool(turn and item.turn == turn) or _is_told(item.text, done_actions))
            for item in before
        ]
        return [change_of(session_key, before, after)] if tuple(after) != before else []

    def told(self, session_key: str, done_action: str) -> bool:
        """Whether something that was recovered in a session is what an agent says to have done."""
        return any(_is_told(item.text, [done_action]) for item in self.known(session_key))

    def recover(
        self,
        turns: Sequence[OpenTurn],
        perform: Perform,
        *,
        beside: Sequence[Change] = (),
        also: str = "",
        actor: Actor = "human",
    ) -> Operation:
        """Put unfinished turns among the pending items of their sessions, as one operation. Raises NothingToDo.

        `beside`: changes that belong to it; `also` tells of them.
        """
        by_session: dict[str, list[Recovered]] = {}
        for turn in sorted(turns, key=lambda turn: turn.at):
            known = (*self.known(turn.session_key), *by_session.get(turn.session_key, ()))
            if not any(item.is_of(turn.at, turn.id) for item in known):
                item = Recovered(turn.at, turn.user, turn=turn.id)
                by_session.setdefault(turn.session_key, []).append(item)
        if not by_session:
            raise NothingToDo("nothing to recover", "", "every turn was finished, or is recovered already")
        changes = [change_of(key, self.known(key), (*self.known(key), *items)) for key, items in by_session.items()]
        label = f"recover {counted(sum(map(len, by_session.values())), 'unfinished turn')}{also}"
        return perform(new_operation("wal.recover", label, [*changes, *beside], actor=actor))

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict unless each `before` is what is there now."""
        table = self._table()
        for change in changes:
            if _items(table.get(change.key)) != _items(change.before):
                raise Conflict("the pending items changed since", change.key, "look at them again")

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any `after` is true already."""
        table = self._table()
        return any(_items(table.get(change.key)) == _items(change.after) for change in changes)

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every `after` true: the file is replaced whole, under a lock."""
        try:
            atomic.make_folder(self._file.parent)
            with atomic.locked(self._file.with_name(f"{self._file.name}.lock")):
                table = dict(self._table())
                for change in changes:
                    table.pop(change.key, None)
                    if _items(change.after):
                        table[change.key] = dict(change.after or {})
                atomic.write_atomic(self._file, json.dumps(table, ensure_ascii=False, indent=1).encode())
        except OSError as error:
            raise from_os_error(error, "writing the pending items") from error

    def _table(self) -> Mapping[str, Any]:
        try:
            found = self._file.stat()
            stamp = (found.st_ino, found.st_size, found.st_mtime_ns)
            if self._read[0] != stamp:
                value = files.loads(files.read(self._file))
                self._read = (stamp, value if isinstance(value, dict) else {})
        except FileNotFoundError:
            self._read = (None, {})
        except OSError as error:
            raise from_os_error(error, "reading the pending items") from error
        except ValueError as error:
            raise BadInput(f"the pending items cannot be read ({error})", str(self._file), "remove the file") from error
        return self._read[1]


def change_of(session_key: str, before: Sequence[Recovered], after: Sequence[Recovered]) -> Change:
    """The change of a session's recovered turns from `before` to `after`; none at all is no value."""
    return Change("pending", session_key, _value(before), _value(after))


def _is_told(text: str, done_actions: Sequence[str]) -> bool:
    """Whether a recovered question is among what was done, in its own words or as a block shows it."""
    words = same_words(text)
    told = map(same_words, done_actions)
    return bool(words) and any(done == words or done.startswith(f"{words} (asked ") for done in told)


def _value(items: Sequence[Recovered]) -> Value | None:
    rows = [[*item] if item.turn else [*item[:3]] if item.done else [item.at, item.text] for item in items]
    return {"items": rows} if rows else None


def _items(value: Any) -> tuple[Recovered, ...]:
    """The items of a value, whatever somebody wrote into the file."""
    found = value.get("items") if isinstance(value, Mapping) else None
    rows = found if isinstance(found, list | tuple) else ()
    return tuple(
        Recovered(str(row[0]), str(row[1]), len(row) > 2 and row[2] is True, str(row[3]) if len(row) > 3 else "")
        for row in rows
        if isinstance(row, list | tuple) and len(row) in (2, 3, 4)
    )
