"""What tells one chat of another: items that name somebody of elsewhere, something private that every chat sees, items
that no chat sees.

Must not know what leaks (`memory.leaks` does). To move one without saying where takes it where it belongs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents.layout import Layout, session_folders
from nanomem_tui.agents.transcripts import SUFFIX, key_to_lossy_name, key_to_own_name, lossy_name_to_key, name_to_key
from nanomem_tui.core import files
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo, Problem, Refused
from nanomem_tui.core.files import read_log
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import counted
from nanomem_tui.memory.scopes import of_item
from nanomem_tui.review.finders import rows as finders_rows
from nanomem_tui.review.finders.rows import ASKED_FOR, Rows, print_of
from nanomem_tui.review.findings import Decision, Evidence, Finding, How
from nanomem_tui.store.erasure import forgotten
from nanomem_tui.store.erasure.forgotten import Forgotten
from nanomem_tui.store.values import AnyRow, Item, Record, Row

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change
    from nanomem_tui.review.scopes import Leak, Scopes


# Who said what a finding is about: in which session, when, and the message itself where it is still there.

_BY_SOURCE = {
    "explicit_user": "asked to remember it",
    "auto_heuristic": "taken from what was said",
    "auto_promoted": "made of lessons that several people taught",
    "crystallized": "read out of conversations",
    "manual": "entered by hand",
    "tool_result": "given back by a tool",
    "tool_feedback": "learned from a tool that failed",
    "user_feedback": "learned from a correction",
}


def said(rows: Rows, row: AnyRow) -> Sequence[Evidence]:
    """Who said a row where and when, and the message that it came from."""
    if isinstance(row, Record):
        return [Evidence(f"noted in the {row.kind}", row.about, row.at, row.session_key)]
    label = _BY_SOURCE.get(row.source, f"source: {row.source}")
    return [Evidence(label, _who(row), row.created_at, row.session_key or ""), *_message(rows, row), *_used(row)]


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
    from nanomem_tui.review.origin import message_of

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


class LeaksElsewhere:
    """Finds items that leak."""

    kinds = ("leak",)

    def __init__(self, rows: Rows, scopes: Scopes) -> None:
        self._rows = rows
        self._scopes = scopes

    def find(self) -> Iterable[Finding]:
        """All of them, also those that a person keeps."""
        return [self._finding(one) for one in self._scopes.found_leaks()]

    def _finding(self, leak: Leak) -> Finding:
        offers = HOME if leak.belongs else NO_HOME
        return self._rows.finding("leak", leak.item, leak.why, offers, leak.sure, *judged(leak))

    def evidence(self, finding: Finding) -> Sequence[Evidence]:
        """Who sees it, where it would belong, and who said it."""
        leak = self._scopes.leak_of(finding.ids[0])
        row = self._rows.row(finding)
        if leak is None or not isinstance(row, Item):
            return ()
        told = [Evidence("who sees it", of_item(row).words)]
        if leak.belongs:
            told.append(Evidence("where it would belong", self._scopes.named(leak.belongs).words))
        return [*told, *said(self._rows, row)]

    def changes(self, finding: Finding, decision: Decision, how: How) -> Sequence[Change] | None:
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


def id_of(leak: Leak) -> str:
    """The id of the finding of a leak."""
    return f"leak:{leak.item.id}"


def printed(leak: Leak) -> str:
    """What changes when the leak is another one."""
    return print_of(leak.item.text, *judged(leak))


def judged(leak: Leak) -> tuple[str, ...]:
    """What a leak is judged on beside its words."""
    return leak.kind, leak.item.scope_key, leak.belongs


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
        """Whether a session, or another one of the same chat, is there; of a key that no name can hold it is."""
        if key in self.keys or _chat(key) in self.chats:
            return True
        try:
            return bool(self.names & {key_to_own_name(key), key_to_lossy_name(key)})
        except ValueError:
            return True


class FromGoneSession:
    """Finds items and lessons of sessions that are gone."""

    kinds = ("orphan",)

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self) -> Iterable[Finding]:
        """All of them; none where the sessions cannot be read."""
        there = self.sessions()
        return list(self._found(there)) if there is not None else ()

    def sessions(self) -> Sessions | None:
        """The sessions that are there; None where there are none, or a folder cannot be read."""
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
        keys |= {info.key for info, _ in ws.sessions.chats()} if self._imported() else set()
        return Sessions(
            frozenset(names),
            frozenset(keys),
            frozenset(map(_chat, keys)),
            frozenset(key.partition(":")[0] for key in keys),
            tuple(map(ws.paths.relative, folders)),
        )

    def _imported(self) -> bool:
        return bool(self._rows.ws.store.load("record").records)

    def _found(self, there: Sessions) -> Iterator[Finding]:
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

    def _matters(self, row: Item, recent: str) -> bool:
        """Whether a person would want to be asked: what a chat alone can see, or what was taken from talk, unused."""
        if finders_rows.last_use(row) >= recent:
            return False
        return row.scope_type == "chat" or (row.source not in ASKED_FOR and not finders_rows.is_fact(row))

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
        """Where the session was looked for, and who said it."""
        row = self._rows.row(finding)
        there = self.sessions()
        if row is None or there is None:
            return ()
        looked = f"no transcript of {row.session_key}; {counted(len(there.names), 'other session')} there"
        return [Evidence("looked for in", looked, origin=", ".join(there.folders)), *said(self._rows, row)]


def _chat(key: str) -> str:
    """The chat of a session: `telegram:-100` of `telegram:-100:topic:42`."""
    return ":".join(key.split(":", 2)[:2])


# What was forgotten and stands in a file of the agent again: an agent writes these by hand, no gate of ours sees it.

SHOWN = 5
"""Lines of a file that are named."""


def problems(paths: Paths, layout: Layout) -> Iterator[Problem]:
    """The documents and notes, the archive and the conversations that hold what is forgotten. Raises the errors of
    `forgotten.load` and of `read_log`, and OSError."""
    kept = forgotten.load(paths)
    if not kept:
        return
    for path in _there([*sorted(paths.workspace.glob("*.md")), *sorted(paths.memory.glob("*.md"))]):
        text = files.read(path).decode("utf-8", "replace")
        yield from _told(paths, path, sorted({text.count("\n", 0, begin) + 1 for begin, _ in kept.places(text)}))
    since, _, _ = forgotten.stamp(paths)
    conversations = (path for folder in session_folders(paths, layout) for path in sorted(folder.glob("*.jsonl")))
    written = (path for path in _there(conversations) if path.stat().st_mtime_ns >= since)
    for path in (*_there([paths.history]), *written):
        yield from _told(paths, path, _lines(read_log(path), kept))


def _there(found: Iterable[Path]) -> Iterator[Path]:
    return (path for path in found if not path.is_symlink() and path.is_file())


def _lines(data: bytes, kept: Forgotten) -> list[int]:
    """The numbers of the lines of JSON that hold it; of a line that is none the text is looked at."""
    numbers = []
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            value = files.loads(line) if line else None
        except (ValueError, RecursionError):
            value = line.decode("utf-8", "replace")
        if value is not None and kept.value(value):
            numbers.append(number)
    return numbers


def _told(paths: Paths, path: Path, lines: list[int]) -> Iterator[Problem]:
    if lines:
        more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        listed = ", ".join(map(str, lines[:SHOWN])) + more
        what = f"forgotten, and there again: line{'s' if len(lines) > 1 else ''} {listed}"
        yield Problem(what, paths.relative(path), lines[0], "`nanomem forget --again` takes it out", "warning")
