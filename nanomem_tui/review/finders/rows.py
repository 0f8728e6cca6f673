"""What finders share: the rows and their words without secrets, and who said each, in which message; also leaks.

Owns how a row becomes a finding, which message an item came from (a message that is merely near is none), items that
leak, items of sessions that are gone, and forgotten text that is still in the agent's files. Reads only.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from nanomem_tui.agents.releases import Layout, session_folders
from nanomem_tui.agents.session_names import SUFFIX, key_to_lossy_name, key_to_own_name, lossy_name_to_key, name_to_key
from nanomem_tui.core import clock, files
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound, NothingToDo, Problem, Refused
from nanomem_tui.core.files import read_log
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import counted
from nanomem_tui.language.classify import is_needed_once
from nanomem_tui.language.secrets import signs as secret_signs
from nanomem_tui.memory.scopes import scope_of_item
from nanomem_tui.review.findings import Decision, DecisionDetails, Evidence, Finding, fingerprint
from nanomem_tui.review.leaks import leak_basis
from nanomem_tui.store import forgotten
from nanomem_tui.store.forgotten import Forgotten
from nanomem_tui.store.values import AnyRow, Item, Lesson, Record, Row, layer_of

if TYPE_CHECKING:
    from nanomem_tui.agents.session_file import Message
    from nanomem_tui.core.operations import Change
    from nanomem_tui.language.secrets import Secret
    from nanomem_tui.memory.parts import Memory
    from nanomem_tui.review.leaks import Leak, Scopes
    from nanomem_tui.review.parts import ReviewedMemory
    from nanomem_tui.store.snapshot import Snapshot


# How much a memory is used, by the memory's own time: a month in which nobody talked makes nothing stale.

ENOUGH = 5
"""Items recalled since: before that nobody knows what recall would have found."""
_IDLE = 7.0
"""Days that count as passed after the last sign of life."""
_ORIGIN = datetime(1, 1, 1, tzinfo=UTC)


class Clock:
    """The time by which an item is old: it stands still a week after each sign of life, until the next one."""

    def __init__(self, days: Iterable[str], recalled: Sequence[str], counted: int) -> None:
        """`days` with a sign of life, `recalled` times in order, `counted` recalls without a time."""
        self._recalled, self._counted = recalled, counted
        self._now = _number(clock.now())
        moments = sorted(
            {day.toordinal() for day in map(_date, days) if day is not None and day.toordinal() < self._now}
        )
        self._days: list[float] = [float(day) for day in moments] or [self._now]
        gaps = (min(_IDLE, later - earlier) for earlier, later in pairwise(self._days))
        self._passed = list(accumulate(gaps, initial=0.0))
        self._total = self._passed[-1] + min(_IDLE, self._now - self._days[-1])
        self._limits: dict[int, str] = {}

    def limit(self, days: float) -> str:
        """Return the moment so many days ago (UTC ISO): what happened before it is older."""
        whole = round(days)
        if whole not in self._limits:
            then = self._total - whole
            place = max(0, bisect_right(self._passed, then) - 1)
            self._limits[whole] = clock.iso(_moment(self._days[place] + then - self._passed[place]))
        return self._limits[whole]

    def age(self, moment: datetime) -> timedelta:
        """Return how long ago something was."""
        number = _number(moment)
        place = bisect_right(self._days, number) - 1
        if place < 0:
            return timedelta(days=self._total + self._days[0] - number)
        return timedelta(days=self._total - self._passed[place] - min(_IDLE, number - self._days[place]))

    def recalled_since(self, moment: str) -> int:
        """Return how many items were recalled after that moment."""
        return len(self._recalled) - bisect_left(self._recalled, moment) if self._recalled else self._counted


def clock_of(items: Sequence[Item], lessons: Sequence[Lesson] = ()) -> Clock:
    """Return the time of these items and lessons."""
    recalled = sorted(row.last_accessed_at for row in items if row.last_accessed_at)
    days = {moment[:10] for moment in recalled}
    days.update(row.created_at[:10] for row in items)
    days.update(row.updated_at[:10] for row in items)
    days.update(max(row.updated_at, row.last_applied_at or "")[:10] for row in lessons)
    return Clock(days, recalled, 0 if recalled else sum(row.hits > 1 for row in items))


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _number(moment: datetime) -> float:
    return moment.toordinal() + (moment.hour * 3600 + moment.minute * 60 + moment.second) / 86400


def _moment(number: float) -> datetime:
    return _ORIGIN + timedelta(days=max(1.0, number) - 1)


def was_recalled(row: Item) -> bool:
    """Return whether recall gave it; a capture begins with one hit, which is no recall."""
    return bool(row.last_accessed_at) or row.hits > 1


def last_use(row: Item) -> str:
    """Return the last sign of life: recalled, confirmed, edited, made (UTC ISO)."""
    return max(row.last_accessed_at or "", row.updated_at, row.created_at)


def is_fact(row: Item) -> bool:
    """Return whether it is a fact with a key: these are looked up by key, and nobody counts that."""
    return '"fact"' in row.meta_json


def expires(row: Item) -> bool:
    """Return whether its time ends by itself within the kind's usual time: the hygiene takes it away."""
    return row.kind == "episodic" and row.expires_at is not None


def is_ahead(text: str, today: str) -> bool:
    """Return whether a text names a day that is still to come (`today`: YYYY-MM-DD)."""
    return "20" in text and any(day > today for day in re.findall(r"(?<!\d)20\d\d-\d\d-\d\d(?!\d)", text))


T = TypeVar("T")
NOTES = frozenset({"journal", "reflection"})
"""Kinds of records that say something in words of their own."""
ASKED_FOR = frozenset({"explicit_user", "manual", "human", "user_feedback"})
"""Sources of what a person asked to remember; all else was taken from what was said."""


class Verdicts(Generic[T]):
    """What was judged of texts by the id of their row: a second look judges only texts that are new."""

    def __init__(self, judge: Callable[[str], T]) -> None:
        self._judge = judge
        self._seen: dict[str, str] = {}
        self._found: dict[str, T] = {}

    def get(self, key: str, text: str) -> T | None:
        """Return what was judged of this text; None where there is nothing to say of it."""
        seen = self._seen.get(key)
        if seen is not text and seen != text:
            found = self._judge(text)
            if found:
                self._found[key] = found
            else:
                self._found.pop(key, None)
            self._seen[key] = text
        return self._found.get(key)

    def forget(self, living: int) -> None:
        """Begin anew once most of what is known is of rows that are gone; `living`: how many there are."""
        if len(self._seen) > 2 * living + 1000:
            self._seen, self._found = {}, {}


class Rows:
    """The rows of one workspace that finders ask about."""

    def __init__(self, ws: ReviewedMemory) -> None:
        self.ws = ws
        self._secrets: Verdicts[list[Secret]] = Verdicts(_secrets)
        self._lasting: Verdicts[bool] = Verdicts(is_needed_once)
        self._time: tuple[tuple[int, str], Clock] | None = None
        self._items: tuple[int, list[Item]] = (-1, [])

    def items(self) -> Sequence[Item]:
        """Return the items that can be recalled; made once per change, and must not be altered."""
        snapshot, counter = self._snapshot()
        if self._items[0] != counter:
            with snapshot.lock:
                rows = [row for row in snapshot.items.values() if row.enabled and not row.is_deleted]
            self._secrets.forget(len(rows))
            self._lasting.forget(len(rows))
            self._items = counter, rows
        return self._items[1]

    def time(self) -> Clock:
        """Return the memory's own time; made once per change of a row, and anew each hour."""
        made = self.counter, clock.iso(clock.now())[:13]
        if self._time is None or self._time[0] != made:
            self._time = made, clock_of(self.items(), self.lessons())
        return self._time[1]

    def unpinned(self) -> Iterable[Item]:
        """Return those that nobody pinned: what is pinned is there because a person wants it."""
        return (row for row in self.items() if not row.pinned)

    def lessons(self) -> Sequence[Lesson]:
        """Return the lessons that can be given."""
        snapshot, _ = self._snapshot()
        with snapshot.lock:
            return [row for row in snapshot.lessons.values() if row.enabled and not row.is_deleted]

    def switched_off(self) -> Sequence[Row]:
        """Items and lessons that are kept without use, and do not wait in the inbox."""
        snapshot, _ = self._snapshot()
        with snapshot.lock:
            rows: list[Row] = [*snapshot.items.values(), *snapshot.lessons.values()]
        return [row for row in rows if not row.enabled and not row.is_deleted and not row.waits]

    def notes(self) -> Sequence[Record]:
        """Return what was noted of days, and of tools that failed."""
        snapshot, _ = self._snapshot()
        with snapshot.lock:
            return [row for row in snapshot.records.values() if row.kind in NOTES and not row.is_deleted]

    def row(self, finding: Finding) -> Row | None:
        """Return the item or lesson that a finding is about; None when it is gone."""
        found = self.any_row(finding)
        return found if isinstance(found, Item | Lesson) else None

    def any_row(self, finding: Finding) -> AnyRow | None:
        """Return the row that a finding is about; None when it is gone."""
        snapshot, _ = self._snapshot()
        row: AnyRow | None = snapshot.table(finding.layer).get(finding.ids[0])
        return row if row is not None and not row.is_deleted else None

    def secrets(self, row: AnyRow) -> Sequence[Secret]:
        """Return the secrets in the words of a row."""
        return self._secrets.get(row.id, row_words(row)) or ()

    def shown(self, row: AnyRow) -> str:
        """Return the words of a row as a finding tells them: what is secret masked."""
        if not self.secrets(row):
            return row_line(row)
        from nanomem_tui.language import secrets

        return secrets.mask(row_line(row))

    def finding(
        self, kind: str, row: AnyRow, why: str, offers: Sequence[Decision], weight: float, *judged: object
    ) -> Finding:
        """A finding about one row; `judged`: what beside its words the finding was judged on."""
        scope = row.scope_key if isinstance(row, Item) else row.session_key or getattr(row, "scope", "")
        text = self.shown(row)
        return Finding(
            f"{kind}:{row.id}", kind, layer_of(row), (row.id,), text, why, row.created_at,
            weight, fingerprint(row_words(row), *judged), tuple(offers), scope, row.source,
        )  # fmt: skip

    def lasts(self, row: Item) -> bool:
        """Return whether what it says matters when it is needed once (see `topics.is_needed_once`)."""
        return self._lasting.get(row.id, row.text) is not None

    @property
    def counter(self) -> int:
        """Grows with every change of a row."""
        return self._snapshot()[1]

    def _snapshot(self) -> tuple[Snapshot, int]:
        snapshot = self.ws.store.load()
        return snapshot, snapshot.counter


def row_words(row: AnyRow) -> str:
    """Return all that a row says."""
    return f"{row.trigger}\n{row.bad_action}\n{row.better_action}" if isinstance(row, Lesson) else row.text


def row_line(row: AnyRow) -> str:
    """A row on one line: of a lesson what triggers it, and what to do then."""
    return f"{row.trigger}: {row.better_action}" if isinstance(row, Lesson) else row.text


def _secrets(text: str) -> list[Secret]:
    if not secret_signs.may_hold(text):
        return []
    from nanomem_tui.language import secrets

    return secrets.find(text)


# Where an item came from: the message of its session that holds its words, or that was said when it was written.

ID_KEYS = ("message_id", "id", "source_message_id")
AFTER = timedelta(minutes=10)  # an item is written that long after the message at most
EARLY = timedelta(seconds=5)  # clocks and roundings
WORDS = 12  # characters that are enough to know a text by


def message_of(ws: Memory, item: Item) -> int | None:
    """Return the number of the message in the item's session; None when it is not known."""
    try:
        session = ws.sessions.get(item.session_key or "")
    except NotFound:
        return None
    return find_origin(session.messages, item)


def find_origin(messages: Sequence[Message], item: Item) -> int | None:
    """By the message's id, else by the words of the item (the nearest in time), else by the time alone."""
    for message in messages:
        if item.source_message_id and item.source_message_id in map(str, map(message.raw.get, ID_KEYS)):
            return message.index
    written = clock.parse(item.created_at)
    spoken = [message for message in messages if message.role in {"user", "assistant"} and not message.hidden]
    words = _plain(item.text)
    if len(words) >= WORDS:
        same = [message for message in spoken if words in _plain(message.content)]
        if same:
            ranked = [(abs(_apart(message, item)), message.role != "user", message.index) for message in same]
            return min(ranked)[2]
    if written is None:
        return None
    before = [one for one in spoken if -EARLY.total_seconds() <= _apart(one, item) <= AFTER.total_seconds()]
    users = [one for one in before if one.role == "user"]
    return (users or before)[-1].index if before else None


def _apart(message: Message, item: Item) -> float:
    said, written = clock.parse(message.timestamp), clock.parse(item.created_at)
    return float("inf") if said is None or written is None else (written - said).total_seconds()


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# What tells one chat of another: items that name somebody of elsewhere, something private that every chat sees, items
# that no chat sees.

# Who said what a finding is about: in which session, when, and the message itself where it is still there.

_BY_SOURCE = {
    "explicit_user": "asked to remember it",
    "auto_heuristic": "taken from what was said",
    "auto_promoted": "made of lessons that several people taught",
    "crystallized": "read out of conversations",
    "manual": "entered by hand",
    "tool_result": "from a tool result",
    "tool_feedback": "learned from a tool that failed",
    "user_feedback": "learned from a correction",
}


def origin_evidence(rows: Rows, row: AnyRow) -> Sequence[Evidence]:
    """Return who said a row where and when, and the message that it came from."""
    if isinstance(row, Record):
        return [Evidence(f"noted in the {row.kind}", row.about, row.at, row.session_key)]
    label = _BY_SOURCE.get(row.source, f"source: {row.source}")
    return [Evidence(label, _who(row), row.created_at, row.session_key or ""), *_message(rows, row), *_used(row)]


class RowFinder:
    """Finds rows of some `kinds`: a subclass yields the findings in `_found`."""

    kinds: tuple[str, ...] = ()

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self) -> Iterable[Finding]:
        """Return all findings, also those that a person keeps."""
        return list(self._found())

    def _found(self) -> Iterable[Finding]:
        raise NotImplementedError

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return who said the row, where and when."""
        row = self._rows.any_row(finding)
        return () if row is None else origin_evidence(self._rows, row)


def _who(row: Row) -> str:
    if not isinstance(row, Item):
        return f"about {row.actor_key}" if row.actor_key else ""
    who = row.sender_id or (row.chat_id if row.scope_type == "user" else "") or ""
    named = f"{row.source_role or 'user'} {who}".strip() if who or row.source_role else ""
    return ", ".join(filter(None, (named, f"in {row.channel}" if row.channel else "")))


def _used(row: Row) -> Iterator[Evidence]:
    last = row.last_accessed_at if isinstance(row, Item) else row.last_applied_at
    if last:
        yield Evidence("recalled last" if isinstance(row, Item) else "applied last", f"{row.hits:,} times in all", last)


def _message(rows: Rows, row: Row) -> Iterator[Evidence]:
    if not isinstance(row, Item) or not row.session_key:
        return
    from nanomem_tui.core.text import one_line
    from nanomem_tui.language import secrets

    try:
        place = message_of(rows.ws, row)
        if place is None:
            return
        message = next(one for one in rows.ws.sessions.get(row.session_key).messages if one.index == place)
    except NanomemError:
        return
    text = one_line(secrets.mask_start(message.content), 400)
    yield Evidence(f"message {place}, {message.role}", text, message.timestamp, row.session_key)


HOME: tuple[Decision, ...] = ("split", "keep", "disable", "edit", "delete")
NO_HOME: tuple[Decision, ...] = ("disable", "keep", "edit", "delete", "split")
"""Where nobody knows whose it is."""


class LeaksElsewhere(RowFinder):
    """Finds items that leak."""

    kinds = ("leak",)

    def __init__(self, rows: Rows, scopes: Scopes) -> None:
        super().__init__(rows)
        self._scopes = scopes

    def _found(self) -> Iterable[Finding]:
        return map(self._finding, self._scopes.found_leaks())

    def _finding(self, leak: Leak) -> Finding:
        offers = HOME if leak.belongs else NO_HOME
        return self._rows.finding("leak", leak.item, leak.why, offers, leak.sure, *leak_basis(leak))

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return who sees it, where it would belong, and who said it."""
        leak = self._scopes.leak_of(finding.ids[0])
        row = self._rows.row(finding)
        if leak is None or not isinstance(row, Item):
            return ()
        told = [Evidence("who sees it", scope_of_item(row).words)]
        if leak.belongs:
            told.append(Evidence("where it would belong", self._scopes.named(leak.belongs).words))
        return [*told, *origin_evidence(self._rows, row)]

    def changes(self, finding: Finding, decision: Decision, how: DecisionDetails) -> Sequence[Change] | None:
        """A move, by default to where it belongs; where the same words are there already, one item is made of them."""
        if decision != "split":
            return None
        leak = self._scopes.leak_of(finding.ids[0])
        scope = how.scope or (leak.belongs if leak is not None else "")
        if not scope:
            raise BadInput("nobody knows where it belongs", finding.id, "say it: `nanomem triage split ID --scope S`")
        try:
            return self._scopes.changes([finding.ids[0]], self._scopes.named(scope))
        except NothingToDo as error:
            raise Refused(error.what, finding.id, error.fix) from error


# What came from a session that is gone: nothing shows any more who said it, and a chat that is gone asks no more.

PASSING = ("dream", "cron", "heartbeat", "system", "subagent", "unified")
"""Channels whose sessions come and go by themselves."""
OF_CHAT: tuple[Decision, ...] = ("delete", "keep", "split", "disable")
OF_ALL: tuple[Decision, ...] = ("keep", "disable", "delete", "edit")
OF_LESSON: tuple[Decision, ...] = ("delete", "keep", "disable", "edit")
AT_USE_DAYS = 30
"""What was of use since stands on its own."""


class Sessions(NamedTuple):
    """The sessions that are there: names of files, keys as far as names tell them, their chats and channels."""

    names: frozenset[str]
    keys: frozenset[str]
    chats: frozenset[str]
    channels: frozenset[str]
    folders: tuple[str, ...]

    def has(self, key: str) -> bool:
        """Return whether a session, or another one of the same chat, is there; of a key that no name can hold it is."""
        if key in self.keys or _chat(key) in self.chats:
            return True
        try:
            return bool(self.names & {key_to_own_name(key), key_to_lossy_name(key)})
        except ValueError:
            return True


class FromGoneSession(RowFinder):
    """Finds items and lessons of sessions that are gone."""

    kinds = ("orphan",)

    def _found(self) -> Iterator[Finding]:
        if (there := self.sessions()) is None:
            return
        recent = self._rows.time().limit(AT_USE_DAYS)
        known: dict[str, bool] = {}
        for row in self._rows.unpinned():
            if row.session_key and self._is_gone(row.session_key, there, known) and self._matters(row, recent):
                chat = row.scope_type == "chat"
                yield self._finding(row, OF_CHAT if chat else OF_ALL, 0.6 if chat else 0.2)
        for lesson in self._rows.lessons():
            key = lesson.session_key.rpartition(" ")[2]
            if lesson.scope == "session" and key and self._is_gone(key, there, known):
                yield self._finding(lesson, OF_LESSON, 0.6)

    def sessions(self) -> Sessions | None:
        """Return the sessions that are there; None where there are none, or a folder cannot be read."""
        ws = self._rows.ws
        names: set[str] = set()
        folders = session_folders(ws.paths, ws.layout)
        for folder in folders:
            try:
                names.update(name for name in os.listdir(folder) if name.endswith(SUFFIX) and name[0] != ".")
            except OSError:
                return None
        if not names:
            return None
        keys = {name_to_key(name) or lossy_name_to_key(name) for name in names}
        keys |= {info.key for info, _ in ws.sessions.chats()} if ws.store.load("record").records else set()
        return Sessions(
            frozenset(names),
            frozenset(keys),
            frozenset(map(_chat, keys)),
            frozenset(key.partition(":")[0] for key in keys),
            tuple(map(ws.paths.relative, folders)),
        )

    def _matters(self, row: Item, recent: str) -> bool:
        if last_use(row) >= recent:
            return False
        return row.scope_type == "chat" or (row.source not in ASKED_FOR and not is_fact(row))

    def _is_gone(self, key: str, there: Sessions, known: dict[str, bool]) -> bool:
        gone = known.get(key)
        if gone is None:
            channel, colon, _ = key.partition(":")
            usual = bool(colon) and channel in there.channels and channel not in PASSING
            gone = known[key] = usual and not there.has(key)
        return gone

    def _finding(self, row: Row, offers: Sequence[Decision], weight: float) -> Finding:
        key = (row.session_key or "").rpartition(" ")[2]
        if not isinstance(row, Item):
            why = f"it applies only in {key}, and that session is gone"
        elif row.scope_type == "chat":
            why = f"only {key} could see it, and that session is gone"
        else:
            why = f"it came from {key}, which is gone: nothing shows who said it"
        return self._rows.finding("orphan", row, why, offers, weight, key)

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Return where the session was looked for, and who said it."""
        row = self._rows.row(finding)
        there = self.sessions()
        if row is None or there is None:
            return ()
        looked = f"no transcript of {row.session_key}; {counted(len(there.names), 'other session')} there"
        return [Evidence("looked for in", looked, origin=", ".join(there.folders)), *origin_evidence(self._rows, row)]


def _chat(key: str) -> str:
    return ":".join(key.split(":", 2)[:2])


# What was forgotten and stands in a file of the agent again: an agent writes these by hand, no gate of ours sees it.

SHOWN = 5
"""Lines of a file that are named."""


def forgotten_problems(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """Yield the documents and notes, the archive and the conversations that hold what is forgotten."""
    kept = forgotten.load(paths)
    if not kept:
        return
    for path in _there([*sorted(paths.workspace.glob("*.md")), *sorted(paths.memory.glob("*.md"))]):
        text = files.read(path).decode("utf-8", "replace")
        yield from _lines_problem(
            paths, path, sorted({text.count("\n", 0, begin) + 1 for begin, _ in kept.places(text)})
        )
    since, _, _ = forgotten.stamp(paths)
    conversations = (path for folder in session_folders(paths, layout) for path in sorted(folder.glob("*.jsonl")))
    written = (path for path in _there(conversations) if path.stat().st_mtime_ns >= since)
    for path in (*_there([paths.history]), *written):
        yield from _lines_problem(paths, path, _lines(read_log(path), kept))


def _there(found: Iterable[Path]) -> Iterator[Path]:
    return (path for path in found if not path.is_symlink() and path.is_file())


def _lines(data: bytes, kept: Forgotten) -> list[int]:
    """Return the numbers of the lines of JSON that hold it; of a line that is none the text is looked at."""
    numbers = []
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            value = files.loads(line) if line else None
        except (ValueError, RecursionError):
            value = line.decode("utf-8", "replace")
        if value is not None and kept.value(value):
            numbers.append(number)
    return numbers


def _lines_problem(paths: Paths, path: Path, lines: list[int]) -> Iterator[Problem]:
    if lines:
        more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        listed = ", ".join(map(str, lines[:SHOWN])) + more
        what = f"forgotten, and there again: line{'s' if len(lines) > 1 else ''} {listed}"
        yield Problem(what, paths.relative(path), lines[0], "`nanomem forget --again` takes it out", "warning")
