"""The injection log: which items and lessons each real turn was given, and what the turn saved. Both ways.

Owns one append-only file of ours, a line when a turn begins and one when it ends; beyond a size the oldest half goes.
Where the session state is switched off the log holds no words of anybody, and it never holds a secret.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.agents.jsonl import dump_line, parse_jsonl, text_of, whole
from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.atomic import append, opened, read_from
from nanomem_tui.core.errors import AccessDenied, BadInput, NanomemError, NotFound
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import secrets
from nanomem_tui.memory import scopes
from nanomem_tui.memory.superseded import mark_of

if TYPE_CHECKING:
    from nanomem_tui.memory.counters import CheckpointLog, Counters
    from nanomem_tui.memory.parts import Memory
    from nanomem_tui.memory.sessions.files import OwnSessions
    from nanomem_tui.memory.turns.working import Pending
    from nanomem_tui.store.memory_store import CheckpointResult
    from nanomem_tui.store.values import Row


MAX_BYTES = 8_000_000
MAX_USER = 400
NEAR = 500
"""Turns of all sessions among which the one before is looked for."""


class Injected(NamedTuple):
    """One turn: `items` and `lessons` are the ids that its block held, `chars` the block's length in characters.

    `ended_at` is empty while the turn is open, and for one that was declined, at `declined_at`; `saved` and `learned`
    are the ids that came of it, `held` those that it only put into the inbox. `related`: which of the items are there
    because they are near in meaning. Times are UTC ISO; `said_on` is the day where it was said,
    `echoes` whether the answer repeats what a tool gave, `older` which turns beyond the window the block held, by the
    session key and the number of their message.
    """

    turn: str
    at: str
    session_key: str
    channel: str | None = None
    chat_id: str | None = None
    sender_id: str | None = None
    message_id: str | None = None
    speaker: str = ""
    user: str = ""
    items: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    chars: int = 0
    ended_at: str = ""
    saved: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    declined_at: str = ""
    related: tuple[str, ...] = ()
    said_on: str = ""
    echoes: bool = False
    older: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it neither ended nor was declined, as far as is known."""
        return not (self.ended_at or self.declined_at)

    @property
    def state_key(self) -> str:
        """The key of its session's state; empty where the session is not of the chat, as older logs may say."""
        try:
            return scopes.state_key(self.session_key, self.channel or "", self.chat_id or "")
        except BadInput:
            return ""


class Injections:
    """The log of one workspace, read piece by piece as it grows."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._turns: dict[str, Injected] = {}
        self._read: tuple[int, int] = (0, 0)  # inode and bytes

    def began(self, turn: Injected) -> None:
        """Record what a turn was given. Raises the errors of `from_os_error`."""
        fields = {name: value for name, value in turn._asdict().items() if value not in (None, "", (), 0)}
        self._append({**fields, "user": logged_words(turn.user)} if turn.user else fields)

    def ended(
        self,
        turn: str,
        at: str,
        saved: Sequence[str],
        learned: Sequence[str],
        held: Sequence[str] = (),
        *,
        echoes: bool = False,
    ) -> None:
        """Record what came of a turn; `echoes`: its answer repeats what a tool gave."""
        came: dict[str, Any] = {"saved": list(saved), "learned": list(learned)}
        came |= {"held": list(held)} if held else {}
        came |= {"echoes": True} if echoes else {}
        self._append({"turn": turn, "ended_at": at, **came})

    def declined(self, turn: str, at: str) -> None:
        """Record that a turn was declined: nothing of it is kept, and it cannot be ended."""
        self._append({"turn": turn, "declined_at": at})

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """While it lasts no other process ends a turn of this workspace: whether one has ended is asked, its end kept
        and recorded as one step. Where no lock can be made nothing can be kept either."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(NanomemError):
                stack.enter_context(opened(self._file.with_suffix(".lock"), "ending a turn"))
            yield

    def check(self) -> None:
        """Raise AccessDenied where no turn can be logged: one that began then is not known, and cannot be kept."""
        place = self._file
        while not place.exists() and place != place.parent:
            place = place.parent
        if not os.access(place, os.W_OK):
            raise AccessDenied(
                "no turn can be kept here, as nothing can be written", str(place), "check owner and mode"
            )

    def turns(self, limit: int | None = None, offset: int = 0) -> list[Injected]:
        """The turns, newest first."""
        end = None if limit is None else offset + limit
        return list(islice(reversed(self._load().values()), offset, end))

    def lessons_before(self, state_key: str, turn: str) -> tuple[str, ...]:
        """The lessons that the last turn of a session before this one was given, if it ended not long ago."""
        for one in islice(reversed(self._load().values()), NEAR):
            if one.state_key == state_key and one.turn != turn and one.ended_at:
                return one.lessons
        return ()

    def get(self, turn: str) -> Injected | None:
        """One turn by its id."""
        return self._load().get(turn)

    def of_item(self, key: str) -> list[Injected]:
        """The turns that were given this item or lesson, or from which it came; newest first."""
        return [t for t in self.turns() if key in {*t.items, *t.lessons, *t.saved, *t.learned, *t.held}]

    def _append(self, value: Mapping[str, Any]) -> None:
        size = append(self._file, dump_line(value), "writing the injection log")
        if size > MAX_BYTES:
            self._trim()

    def _trim(self) -> None:
        """The newer half stays."""
        with opened(self._file, "writing the injection log") as handle:
            size = os.fstat(handle).st_size
            if size > MAX_BYTES:
                kept = read_from(handle, size // 2)
                atomic.write_atomic(self._file, kept[kept.find(b"\n") + 1 :])

    def _load(self) -> dict[str, Injected]:
        """Every turn, oldest first; only what was appended since the last look is read."""
        try:
            with files.opened(self._file) as file:
                found = os.fstat(file.fileno())
                inode, done = self._read
                if inode != found.st_ino or found.st_size < done:
                    self._turns, done = {}, 0
                file.seek(done)
                data = file.read()
                inode = found.st_ino
        except OSError:
            self._turns, self._read = {}, (0, 0)
            return self._turns
        data = data[: data.rfind(b"\n") + 1]  # a line that is still being written is read next time
        self._read = (inode, done + len(data))
        for record in parse_jsonl(data, ""):
            value = record.value or {}
            key = text_of(value.get("turn"))
            if key:
                known = self._turns.get(key, Injected(key, "", ""))
                self._turns[key] = known._replace(**_fields(value))
        return self._turns


def logged_words(text: str) -> str:
    """The words of a message as the log keeps them: their beginning, with a name in place of each secret."""
    return secrets.mask_start(text)[:MAX_USER]


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """The known fields of a line in their types; others and wrong ones are left out."""
    lists = {"items", "lessons", "saved", "learned", "held", "related", "older"}
    found: dict[str, Any] = {}
    for name in Injected._fields:
        given = value.get(name)
        if name in lists and isinstance(given, list):
            found[name] = tuple(map(str, given))
        elif name == "echoes":
            found |= {} if given is None else {name: given is True}
        elif name == "chars" and given is not None:
            found[name] = whole(given)
        elif isinstance(given, str) and name not in lists:
            found[name] = given
    return found


# What a turn was given, item by item: the words that the model had then, and what became of each since.

How = Literal["given", "saved", "learned", "held"]
SINCE_LIMIT = 1_000
"""Operations of one row that are looked through."""


class Given(NamedTuple):
    """An item or a lesson of a turn. `text`: its words now, empty when it is gone; `then`: the words that the model
    had, where they were others and are known; `since`: what became of it, in words, or empty. `near`: given because it
    is near in meaning."""

    what: str
    id: str
    text: str
    how: How = "given"
    then: str = ""
    since: str = ""
    near: bool = False


def given_of(ws: Memory, turn: Injected) -> list[Given]:
    """What the turn was given, then what it saved, learned and left in the inbox. Raises the store's errors."""
    near = frozenset(turn.related)
    found = [_given(ws, turn, "item", key, "given", key in near) for key in turn.items]
    found += [_given(ws, turn, "lesson", key, "given") for key in turn.lessons]
    found += [_given(ws, turn, "item", key, "saved") for key in turn.saved]
    found += [_given(ws, turn, "lesson", key, "learned") for key in turn.learned]
    lessons = ws.store.load("item").lessons
    found += [_given(ws, turn, "lesson" if key in lessons else "item", key, "held") for key in turn.held]
    return found


def turn_named(ws: Memory, name: str) -> Injected:
    """The turn of that id, or the one whose id begins so; without a name the newest. Raises NotFound."""
    turns = ws.traces.injections.turns(None if name else 1)
    if not name:
        if not turns:
            raise NotFound("no turn yet", "", "the log begins with the first turn of an agent: `nanomem attach`")
        return turns[0]
    near = [turn for turn in turns if turn.turn == name] or [turn for turn in turns if turn.turn.startswith(name)]
    if len(near) != 1:
        what = f"{len(near):,} turns begin so" if near else "no such turn"
        raise NotFound(what, name, "see `nanomem turn list`")
    return near[0]


def _given(ws: Memory, turn: Injected, what: str, key: str, how: How, near: bool = False) -> Given:
    snapshot = ws.store.load("item")
    row: Row | None = (snapshot.items if what == "item" else snapshot.lessons).get(key)
    is_gone = row is None or row.is_deleted
    as_it_was = row is not None and row.enabled and not is_gone and not _is_after(row.updated_at, turn.at)
    was = {} if as_it_was else _fields_then(ws, turn, key)
    fields = {} if row is None else row._asdict()
    now, then = "" if is_gone else _words(what, fields), _words(what, {**fields, **was})
    return Given(what, key, now, how, then if then != now else "", _since(row, was, now != then), near)


def _since(row: Row | None, was: Mapping[str, Any], reworded: bool) -> str:
    """What became of a row since the turn, of which `was` holds the fields that changed."""
    if row is None or row.is_deleted:
        return "deleted since"
    if row.waits:
        return "waits in the inbox"
    if not row.enabled and was.get("enabled", False):
        mark = mark_of(row)
        return f"superseded since by {mark.by}" if mark is not None else "switched off since"
    return "edited since" if reworded else ""


def _words(what: str, fields: Mapping[str, Any]) -> str:
    if what == "item":
        return str(fields.get("text") or "")
    return f"{fields['trigger']}: {fields.get('better_action') or ''}" if fields.get("trigger") else ""


def _fields_then(ws: Memory, turn: Injected, key: str) -> dict[str, Any]:
    """The fields of a row that changed since the turn, with the values that they had when it began."""
    was: dict[str, Any] = {}
    for entry in ws.log(SINCE_LIMIT, key=key):
        if not _is_after(entry.operation.at, turn.at):
            break
        for change in entry.operation.changes:
            if change.key == key and change.before:
                was.update(change.before)
    return was


def _is_after(at: str, moment: str) -> bool:
    one, other = clock.parse(at), clock.parse(moment)
    return one is not None and other is not None and one > other


# What turns leave beside rows, in our own folder: counters, the injection log, recovered turns, transcripts of ours.


def own_sessions_folder(paths: Paths, workspace_id: str) -> Path:
    """Where transcripts of ours lie, for an agent that keeps none."""
    return paths.data / "sessions" / workspace_id


class Traces:
    """The traces of turns in one workspace; `agents_sessions` tells where the agent keeps its own transcripts."""

    def __init__(
        self, paths: Paths, workspace_id: str, settings: Settings, agents_sessions: Callable[[], Path | None]
    ) -> None:
        self._paths = paths
        self._id = workspace_id
        self._settings = settings
        self._agents_sessions = agents_sessions

    @cached_property
    def counters(self) -> Counters:
        """What was counted (seed 001 §10)."""
        from nanomem_tui.memory.counters import Counters

        return Counters(self._paths.data / "counters" / f"{self._id}.jsonl")

    @cached_property
    def checkpoints(self) -> CheckpointLog:
        """What the last checkpoints took."""
        from nanomem_tui.memory.counters import CheckpointLog

        return CheckpointLog(self._paths.data / "checkpoints" / f"{self._id}.jsonl")

    @cached_property
    def injections(self) -> Injections:
        """Which turn was given which items."""
        return Injections(self._paths.data / "injections" / f"{self._id}.jsonl")

    @cached_property
    def pending(self) -> Pending:
        """Unfinished turns that were recovered."""
        from nanomem_tui.memory.turns.working import Pending

        return Pending(self._paths.data / "pending" / f"{self._id}.json")

    @cached_property
    def sessions(self) -> OwnSessions | None:
        """Transcripts of ours; None where the agent keeps its own, whose folder we never write."""
        from nanomem_tui.memory.sessions.files import OwnSessions

        folder, agents = own_sessions_folder(self._paths, self._id), self._agents_sessions()
        if agents is not None and agents != folder:
            return None
        return OwnSessions(folder, self._settings)

    def checkpointed(self, done: CheckpointResult) -> None:
        """Count a checkpoint, note what it took, and save what was counted until then."""
        from nanomem_tui.memory.counters import Checkpointed

        self.checkpoints.add(Checkpointed(clock.iso(clock.now()), round(done.ms, 3), done.operations, done.rows))
        count = self.counters.add
        count("checkpoints")
        count("checkpoint_operations", done.operations)
        count("checkpoint_rows", done.rows)
        count("checkpoint_ms", round(done.ms))
        self.close()

    def close(self) -> None:
        """Save what was counted; counters are no reason to fail."""
        if "counters" in self.__dict__:
            with contextlib.suppress(NanomemError):
                self.counters.save()
