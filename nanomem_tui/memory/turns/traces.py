"""What turns leave beside rows, in our own folder: counters, checkpoints, the injection log, recovered turns.

Counters (seed 001 §10) are counted in RAM and appended to a small file, a line for each save, so that several processes
add up and a damaged line costs only itself. The injection log records which turn was given which items. `Pending` keeps
unfinished turns that were recovered. `Traces` opens each of them for one workspace.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.agents import turn_log
from nanomem_tui.agents.jsonl import dump_line, parse_jsonl, text_of, whole_number
from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.atomic import append_lines, open_locked, read_from
from nanomem_tui.core.errors import (
    AccessDenied,
    BadInput,
    Conflict,
    InvalidConfig,
    NanomemError,
    NotFound,
    NothingToDo,
    from_os_error,
)
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, Value, new_operation
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.memory import scopes
from nanomem_tui.memory.retention import get_superseded

if TYPE_CHECKING:
    from nanomem_tui.memory.sessions.files import OwnSessions
    from nanomem_tui.store.memory_store import CheckpointResult, MemoryStore
    from nanomem_tui.store.values import Row


COUNTERS: Mapping[str, str] = {
    "memory_recall_hit": "turns for which something was recalled",
    "memory_recall_miss": "turns for which nothing was recalled",
    "memory_capture_saved": "items that turns saved",
    "memory_capture_dropped_low_conf": "candidates dropped for low confidence or importance",
    "memory_capture_dropped_safety": "candidates that a safety filter dropped or kept back",
    "memory_capture_deduped": "candidates that were known already",
    "memory_prompt_chars": "characters of memory put before the model",
    "turns_begun": "turns that began",
    "turns_ended": "turns that ended",
    "turns_declined": "turns that the agent declined",
    "lessons_shown": "lessons put before the model",
    "lessons_learned": "lessons that turns taught or changed",
    "ledger_operations": "operations that turns recorded",
    "ledger_durable": "operations that turns recorded and that survive a power cut",
    "checkpoints": "checkpoints that wrote something",
    "checkpoint_operations": "operations that checkpoints moved into the database",
    "checkpoint_rows": "rows that checkpoints wrote",
    "checkpoint_ms": "milliseconds that checkpoints took",
    "sessions_compacted": "sessions of ours that were compacted by themselves",
}
"""Every counter by name, with what it counts. The first seven are those of seed 001."""

FOLD_AT = 8_000
"""Bytes of the file at which its lines are folded into one: it is read whole at the end of each turn."""


class Counters:
    """The counters of one workspace over its file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._added: Counter[str] = Counter()

    def add(self, name: str, number: int = 1) -> None:
        """Count in RAM; `save` keeps it. An unknown name is a KeyError: a counter is declared where it is explained."""
        COUNTERS[name]
        self._added[name] += number

    def save(self) -> None:
        """Append what was counted since the last save. Raises the errors of `from_os_error`; it is kept in RAM then."""
        added = {name: number for name, number in self._added.items() if number}
        if not added:
            return
        size = append_lines(self._file, dump_line(added), "writing the counters")
        self._added.clear()
        if size > FOLD_AT:
            self._fold()

    def read(self) -> dict[str, int]:
        """Return every counter, those of other processes and what is not saved yet included. Changes nothing."""
        try:
            found = _sum(files.read(self._file))
        except OSError:
            found = Counter()
        found.update(self._added)
        return {name: found[name] for name in COUNTERS}

    def _fold(self) -> None:
        with open_locked(self._file, "writing the counters") as handle:
            if os.fstat(handle).st_size > FOLD_AT:
                atomic.write_atomic(self._file, dump_line(_sum(read_from(handle))))


def _sum(data: bytes) -> Counter[str]:
    total: Counter[str] = Counter()
    for record in parse_jsonl(data, ""):
        for name, number in (record.value or {}).items():
            if isinstance(number, int) and not isinstance(number, bool):
                total[name] += number
    return total


def openmetrics(counters: Mapping[str, int], gauges: Mapping[str, tuple[float | None, str]]) -> str:
    """Counters and gauges (value, help) as OpenMetrics text; a gauge that is not known is left out."""
    lines: list[str] = []
    for name, number in counters.items():
        full = f"nanomem_{name}"
        lines += [f"# TYPE {full} counter", f"# HELP {full} {COUNTERS[name]}", f"{full}_total {number}"]
    for name, (value, told) in gauges.items():
        if value is not None:
            full = f"nanomem_{name}"
            lines += [f"# TYPE {full} gauge", f"# HELP {full} {told}", f"{full} {value:g}"]
    return "\n".join([*lines, "# EOF"]) + "\n"


# -- What the last checkpoints took: one small append-only file of ours, folded when it grows -------------------------

CHECKPOINT_LOG_BYTES = 64_000
KEPT = 300
"""Checkpoints that are kept when the file is folded."""


class Checkpointed(NamedTuple):
    """One checkpoint: when (UTC ISO), milliseconds, operations and rows."""

    at: str
    ms: float
    operations: int
    rows: int


class CheckpointLog:
    """The file of one workspace."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, done: Checkpointed) -> None:
        """Keep what a checkpoint took."""
        with contextlib.suppress(NanomemError), open_locked(self._file, "writing what checkpoints took") as handle:
            atomic.append_to(handle, dump_line(done._asdict()))
            if os.fstat(handle).st_size > CHECKPOINT_LOG_BYTES:
                kept = b"".join(dump_line(one._asdict()) for one in self.last(KEPT))
                atomic.write_atomic(self._file, kept)

    def last(self, limit: int = KEPT) -> list[Checkpointed]:
        """Return the last checkpoints, the oldest first; a damaged line costs itself."""
        try:
            data = files.read(self._file)
        except OSError:
            return []
        found: list[Checkpointed] = []
        for record in parse_jsonl(data, ""):
            value = record.value or {}
            with contextlib.suppress(KeyError, TypeError, ValueError):
                found.append(
                    Checkpointed(str(value["at"]), float(value["ms"]), int(value["operations"]), int(value["rows"]))
                )
        return found[-limit:]


# The injection log: which items and lessons each real turn was given, and what the turn saved. Both ways.

INJECTION_LOG_BYTES = 8_000_000
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
        """Hold the lock under which turns of this workspace end, as far as one can be made."""
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(NanomemError):
                stack.enter_context(open_locked(self._file.with_suffix(".lock"), "ending a turn"))
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
        """Return the turns, newest first."""
        end = None if limit is None else offset + limit
        return list(islice(reversed(self._load().values()), offset, end))

    def lessons_before(self, state_key: str, turn: str) -> tuple[str, ...]:
        """Return the lessons that the last turn of a session before this one was given, if it ended not long ago."""
        for one in islice(reversed(self._load().values()), NEAR):
            if one.state_key == state_key and one.turn != turn and one.ended_at:
                return one.lessons
        return ()

    def get(self, turn: str) -> Injected | None:
        """One turn by its id."""
        return self._load().get(turn)

    def of_item(self, key: str) -> list[Injected]:
        """Return the turns that were given this item or lesson, or from which it came; newest first."""
        return [t for t in self.turns() if key in {*t.items, *t.lessons, *t.saved, *t.learned, *t.held}]

    def _append(self, value: Mapping[str, Any]) -> None:
        size = append_lines(self._file, dump_line(value), "writing the injection log")
        if size > INJECTION_LOG_BYTES:
            self._trim()

    def _trim(self) -> None:
        """The newer half stays."""
        with open_locked(self._file, "writing the injection log") as handle:
            size = os.fstat(handle).st_size
            if size > INJECTION_LOG_BYTES:
                kept = read_from(handle, size // 2)
                atomic.write_atomic(self._file, kept[kept.find(b"\n") + 1 :])

    def _load(self) -> dict[str, Injected]:
        """Return every turn, oldest first; only what was appended since the last look is read."""
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
    """Return the words of a message as the log keeps them: their beginning, with a name in place of each secret."""
    from nanomem_tui.language import secrets  # a status reads no rules of words

    return secrets.mask_start(text)[:MAX_USER]


def _fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known fields of a line in their types; others and wrong ones are left out."""
    lists = {"items", "lessons", "saved", "learned", "held", "related", "older"}
    found: dict[str, Any] = {}
    for name in Injected._fields:
        given = value.get(name)
        if name in lists and isinstance(given, list):
            found[name] = tuple(map(str, given))
        elif name == "echoes":
            found |= {} if given is None else {name: given is True}
        elif name == "chars" and given is not None:
            found[name] = whole_number(given)
        elif isinstance(given, str) and name not in lists:
            found[name] = given
    return found


# What a turn was given, item by item: the words that the model had then, and what became of each since.

How = Literal["given", "saved", "learned", "held"]
SINCE_LIMIT = 1_000
"""Operations of one row that are looked through."""


class InjectedPart(NamedTuple):
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


def find_injected(store: MemoryStore, turn: Injected) -> list[InjectedPart]:
    """Return what the turn was given, then what it saved, learned and left in the inbox. Raises the store's errors."""
    near = frozenset(turn.related)
    found = [_injected_part(store, turn, "item", key, "given", key in near) for key in turn.items]
    found += [_injected_part(store, turn, "lesson", key, "given") for key in turn.lessons]
    found += [_injected_part(store, turn, "item", key, "saved") for key in turn.saved]
    found += [_injected_part(store, turn, "lesson", key, "learned") for key in turn.learned]
    lessons = store.load("item").lessons
    found += [_injected_part(store, turn, "lesson" if key in lessons else "item", key, "held") for key in turn.held]
    return found


def find_turn(injections: Injections, name: str) -> Injected:
    """Return the turn of that id, or the one whose id begins so; without a name the newest. Raises NotFound."""
    turns = injections.turns(None if name else 1)
    if not name:
        if not turns:
            raise NotFound("no turn yet", "", "the log begins with the first turn of an agent: `nanomem attach`")
        return turns[0]
    near = [turn for turn in turns if turn.turn == name] or [turn for turn in turns if turn.turn.startswith(name)]
    if len(near) != 1:
        what = f"{len(near):,} turns begin so" if near else "no such turn"
        raise NotFound(what, name, "see `nanomem turn list`")
    return near[0]


def _injected_part(
    store: MemoryStore, turn: Injected, what: str, key: str, how: How, near: bool = False
) -> InjectedPart:
    snapshot = store.load("item")
    row: Row | None = (snapshot.items if what == "item" else snapshot.lessons).get(key)
    is_gone = row is None or row.is_deleted
    as_it_was = row is not None and row.enabled and not is_gone and not _is_after(row.updated_at, turn.at)
    was = {} if as_it_was else _fields_then(store, turn, key)
    fields = {} if row is None else row._asdict()
    now, then = "" if is_gone else _words(what, fields), _words(what, {**fields, **was})
    return InjectedPart(what, key, now, how, then if then != now else "", _since(row, was, now != then), near)


def _since(row: Row | None, was: Mapping[str, Any], reworded: bool) -> str:
    """Return what became of a row since the turn, of which `was` holds the fields that changed."""
    if row is None or row.is_deleted:
        return "deleted since"
    if row.waits:
        return "waits in the inbox"
    if not row.enabled and was.get("enabled", False):
        mark = get_superseded(row)
        return f"superseded since by {mark.by}" if mark is not None else "switched off since"
    return "edited since" if reworded else ""


def _words(what: str, fields: Mapping[str, Any]) -> str:
    if what == "item":
        return str(fields.get("text") or "")
    return f"{fields['trigger']}: {fields.get('better_action') or ''}" if fields.get("trigger") else ""


def _fields_then(store: MemoryStore, turn: Injected, key: str) -> dict[str, Any]:
    """Return the fields of a row that changed since the turn, with the values that they had when it began."""
    was: dict[str, Any] = {}
    for entry in store.journal.log(SINCE_LIMIT, key=key):
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
    """Return where transcripts of ours lie, for an agent that keeps none."""
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
        return Counters(self._paths.data / "counters" / f"{self._id}.jsonl")

    @cached_property
    def checkpoints(self) -> CheckpointLog:
        """What the last checkpoints took."""
        return CheckpointLog(self._paths.data / "checkpoints" / f"{self._id}.jsonl")

    @cached_property
    def injections(self) -> Injections:
        """Which turn was given which items."""
        return Injections(self._paths.data / "injections" / f"{self._id}.jsonl")

    @cached_property
    def pending(self) -> Pending:
        """Unfinished turns that were recovered."""
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


class Recovered(NamedTuple):
    """A turn that began and never ended: when (UTC ISO) and what was asked. `done`: the agent has answered it since.
    `turn`: its id, empty for turns of others."""

    at: str
    text: str
    done: bool = False
    turn: str = ""

    def is_of(self, at: str, turn: str) -> bool:
        """Return whether it is the turn that is meant: by its id where both have one, else by when it began."""
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

    def waiting_in(self, session_key: str) -> tuple[Recovered, ...]:
        """Return what waits in a session, oldest first."""
        return tuple(item for item in self.recovered_in(session_key) if not item.done)

    def recovered_in(self, session_key: str) -> tuple[Recovered, ...]:
        """Return every turn of a session that was recovered, those that were answered since too; oldest first."""
        return _items(self._table().get(session_key))

    def all(self) -> dict[str, tuple[Recovered, ...]]:
        """Return what waits, by session."""
        return {key: waiting for key in self._table() if (waiting := self.waiting_in(key))}

    def finished(self, session_key: str, done_actions: Sequence[str], turn: str = "") -> list[Change]:
        """Return the change that marks `done_actions` and the turn as done; none where nothing waits."""
        before = self.recovered_in(session_key) if done_actions or turn else ()
        after = [
            item._replace(done=item.done or bool(turn and item.turn == turn) or _is_told(item.text, done_actions))
            for item in before
        ]
        return [pending_change(session_key, before, after)] if tuple(after) != before else []

    def is_told(self, session_key: str, done_action: str) -> bool:
        """Return whether something that was recovered in a session is what an agent says to have done."""
        return any(_is_told(item.text, [done_action]) for item in self.recovered_in(session_key))

    def recover(
        self,
        turns: Sequence[OpenTurn],
        perform: Perform,
        *,
        beside: Sequence[Change] = (),
        also: str = "",
        actor: Actor = "human",
    ) -> Operation:
        """Make unfinished turns pending items, as one operation; `beside`: more changes, `also`: their label."""
        by_session: dict[str, list[Recovered]] = {}
        for turn in sorted(turns, key=lambda turn: turn.at):
            known = (*self.recovered_in(turn.session_key), *by_session.get(turn.session_key, ()))
            if not any(item.is_of(turn.at, turn.id) for item in known):
                item = Recovered(turn.at, turn.user, turn=turn.id)
                by_session.setdefault(turn.session_key, []).append(item)
        if not by_session:
            raise NothingToDo("nothing to recover", "", "every turn was finished, or is recovered already")
        changes = [
            pending_change(key, self.recovered_in(key), (*self.recovered_in(key), *items))
            for key, items in by_session.items()
        ]
        label = f"recover {counted(sum(map(len, by_session.values())), 'unfinished turn')}{also}"
        return perform(new_operation("wal.recover", label, [*changes, *beside], actor=actor))

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict unless each `before` is what is there now."""
        table = self._table()
        for change in changes:
            if _items(table.get(change.key)) != _items(change.before):
                raise Conflict("the pending items changed since", change.key, "look at them again")

    def begun(self, changes: Sequence[Change]) -> bool:
        """Return whether any `after` is true already."""
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


def pending_change(session_key: str, before: Sequence[Recovered], after: Sequence[Recovered]) -> Change:
    """Return the change of a session's recovered turns from `before` to `after`; none at all is no value."""
    return Change("pending", session_key, _value(before), _value(after))


def _is_told(text: str, done_actions: Sequence[str]) -> bool:
    """Return whether a recovered question is among what was done, in its own words or as a block shows it."""
    from nanomem_tui.memory.safety import same_words

    words = same_words(text)
    told = map(same_words, done_actions)
    return bool(words) and any(done == words or done.startswith(f"{words} (asked ") for done in told)


def _value(items: Sequence[Recovered]) -> Value | None:
    rows = [[*item] if item.turn else [*item[:3]] if item.done else [item.at, item.text] for item in items]
    return {"items": rows} if rows else None


def _items(value: Any) -> tuple[Recovered, ...]:
    found = value.get("items") if isinstance(value, Mapping) else None
    rows = found if isinstance(found, list | tuple) else ()
    return tuple(
        Recovered(str(row[0]), str(row[1]), len(row) > 2 and row[2] is True, str(row[3]) if len(row) > 3 else "")
        for row in rows
        if isinstance(row, list | tuple) and len(row) in (2, 3, 4)
    )


class OpenTurn(NamedTuple):
    """A turn that began and never ended: what was asked when the agent stopped. `at` is UTC ISO; `id` is empty for
    turns of others; `line` is one of the log `path`."""

    session_key: str
    number: int
    at: str
    user: str
    line: int
    id: str = ""
    path: str = ""


# Writing WAL state: what a turn is about before the model is called, what became of it after (seed 001 §4.3).

MAX_KEY = 512
MAX_NAME = 200
_HEAD_BYTES = 8192
_LONGEST_PRE = 4_000_000
"""Bytes at the end of a file in which a block that is taken back must begin."""
_NEAR_END = 65_536
"""Bytes at the end of a file in which the block of a turn that ends now mostly lies."""
_IDS = frozenset({"sender_id", "message_id", "reply_to_message_id", "reply_to_participant"})
"""Fields of a block that a channel counts or names, which may look like numbers of cards."""
_BAD_KEY = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|(?:^|[:/\\])\.\.(?:[:/\\]|$)")
_KEY_LINE = re.compile(rb"^- session_key: ?(.*)$", re.MULTILINE)


def checked_key(session_key: str) -> str:
    """A session key that may name a file. Raises BadInput: empty, too long, control characters or `../`."""
    if not session_key.strip() or len(session_key) > MAX_KEY or _BAD_KEY.search(session_key):
        fix = "give a key like telegram:12345"
        raise BadInput("no session key: empty, too long, control characters or `../`", session_key[:60], fix)
    return session_key


class WalWriter:
    """Appends turns to the state files of one folder, which is made at the first turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, Path] = {}

    def pre(
        self, session_key: str, channel: str, chat_id: str, at: str, fields: Mapping[str, str], turn: str = ""
    ) -> None:
        """Write the beginning of a turn at `at` (UTC ISO), with the header of a new file."""
        from nanomem_tui.language import secrets

        header = turn_log.dump_header(session_key, channel, chat_id)
        masked = {name: value if name in _IDS else secrets.mask_start(value) for name, value in fields.items()}
        self._append(session_key, header, turn_log.dump_pre(at, masked, turn))

    def post(
        self,
        session_key: str,
        at: str,
        assistant: str | None,
        pending_actions: Sequence[str] = (),
        turn: str = "",
        done_actions: Sequence[str] = (),
    ) -> None:
        """The end of a turn, of the session's last one where no id is given; None: it had no answer."""
        from nanomem_tui.language import secrets

        header = turn_log.dump_header(session_key, "", "")
        actions = [secrets.mask_start(action) for action in pending_actions]
        done = [secrets.mask_start(action) for action in done_actions[: turn_log.MAX_DONE]]
        answer = None if assistant is None else secrets.mask_start(assistant)
        self._append(session_key, header, turn_log.dump_post(at, answer, actions, turn, done_actions=done))

    def take_back(self, session_key: str, channel: str, chat_id: str, at: str, turn: str = "") -> None:
        """Remove the beginning of a turn, or mark it as declined where more was written after it."""
        path = self.file(session_key)
        if not path.is_file():
            return
        with open_locked(path, "writing the session state") as handle:
            size = os.fstat(handle).st_size
            start = max(0, size - _LONGEST_PRE)
            tail = os.pread(handle, size - start, start)
            place = tail.rfind(b"\n### " + f"{at} PRE\n".encode())
            block = tail[place + 1 :]
            if place >= 0 and b"\n### " not in block and (not turn or f"\n- turn: {turn}\n".encode() in block):
                place += start + 1
                if os.pread(handle, place, 0) == turn_log.dump_header(session_key, channel, chat_id):
                    os.unlink(path)
                else:
                    os.ftruncate(handle, place)
            elif turn and f"\n- turn: {turn}\n".encode() in tail:
                now = clock.iso(clock.now())
                atomic.append_to(handle, turn_log.dump_post(now, None, (), turn, declined=True))

    def has_end(self, session_key: str, turn: str) -> bool:
        """Return whether the last block of a turn near the end of the file is its POST."""
        try:
            with files.opened(self.file(session_key)) as file:
                size = os.fstat(file.fileno()).st_size
                for near in (_NEAR_END, _LONGEST_PRE):
                    file.seek(max(0, size - near))
                    tail = file.read()
                    place = tail.rfind(f"\n- turn: {turn}\n".encode())
                    head = tail.rfind(b"\n### ", 0, place + 1) if place >= 0 else -1
                    if head >= 0:
                        return tail[head + 1 : tail.find(b"\n", head + 1)].endswith(b" POST")
        except OSError:
            return False
        return False

    def stamp(self, session_key: str) -> tuple[int, int] | None:
        """Return what tells that a session's file was written: its inode and size; None where there is none."""
        try:
            found = self.file(session_key).stat()
        except (OSError, BadInput):
            return None
        return found.st_ino, found.st_size

    def file(self, session_key: str) -> Path:
        """Return where the session's turns lie: the seed's name, or one with a hash where that is another session's.

        Seed 001 gives `slack:T1_C2` and `slack_T1:C2` one name; turns of two sessions in one file would answer each
        other. A name beyond what a folder can hold is cut and hashed too.
        """
        if session_key not in self._files:
            plain = self.folder / turn_log.wal_name(checked_key(session_key))
            taken = len(plain.name.encode()) > MAX_NAME or _owner(plain) not in (None, session_key)
            self._files[session_key] = self.folder / _hashed(plain.name, session_key) if taken else plain
        return self._files[session_key]

    def _append(self, session_key: str, header: bytes, block: bytes) -> None:
        with open_locked(self.file(session_key), "writing the session state") as handle:
            head = os.pread(handle, _HEAD_BYTES, 0)
            owner = _owner_in(head)
            if mine := owner in (None, session_key):
                # A header that was cut off by a kill tells nobody whose turns these are: it is written again.
                has_header = owner is not None or b"\n### " in head
                atomic.append_to(handle, block if has_header else header + block)
        if not mine:  # another process took the name between our look and our lock
            taken = self._files.pop(session_key)
            if self.file(session_key) == taken:
                raise Conflict("that turn log names another session", str(taken), "set the file aside")
            self._append(session_key, header, block)


def _owner(path: Path) -> str | None:
    """Return whose turns a file holds; None where there is no file, or none that says."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _owner_in(os.pread(handle, _HEAD_BYTES, 0))
    finally:
        os.close(handle)


def _owner_in(head: bytes) -> str | None:
    found = _KEY_LINE.search(head.partition(b"\n## Turns")[0])
    key = found[1].decode("utf-8", "replace").removesuffix("\r") if found else ""
    return key if key.strip() else None


def _hashed(name: str, session_key: str) -> str:
    stem = name.removesuffix(".md").encode()[: MAX_NAME - 20].decode("utf-8", "ignore")
    return f"{stem}-{blake2b(session_key.encode('utf-8', 'replace'), digest_size=6).hexdigest()}.md"


def state_folder(paths: Paths, setting: str) -> Path:
    """Return the folder that `wal_state_dir` names. Raises InvalidConfig when it lies outside the workspace."""
    folder = Path(os.path.normpath(paths.workspace / setting))
    if not setting or folder == paths.workspace or not folder.is_relative_to(paths.workspace):
        raise InvalidConfig("the session state must lie in a folder of the workspace", setting, "correct wal_state_dir")
    return folder
