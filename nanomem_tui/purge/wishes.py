"""What a person wants to be forgotten: the words and rows that are meant by a text, an id, a session or a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import BadInput, NotFound
from nanomem_tui.formats.sessions import parse_session
from nanomem_tui.memory.reading import read_log
from nanomem_tui.purge import memory_rows
from nanomem_tui.purge.texts import SHORTEST
from nanomem_tui.purge.wanted_words import Copied, Marks, Words, is_long_enough, sender_of
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Lesson
from nanomem_tui.store.word_runs import flat

if TYPE_CHECKING:
    from nanomem_tui.memory.injections import Injected
    from nanomem_tui.workspace import Workspace

TELLING = 12
"""Characters from which the text of a row that is forgotten is looked for elsewhere: a shorter one says nothing."""
SAID = 16
"""The same for a message of a session."""


_CATEGORY = re.compile(r"[a-z_]+:[a-z_]+")
"""What many lessons are about (`response:language`): no words of anybody."""


class Wish(NamedTuple):
    """What a person asked to forget."""

    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()

    def told(self) -> dict[str, Sequence[str]]:
        """By what it stays forgotten."""
        return {"text": self.texts, "id": self.ids, "session": self.sessions, "sender": self.persons}


def meant(ws: Workspace, wish: Wish, *, parts: bool = False) -> tuple[Words, tuple[str, ...]]:
    """What is to be looked for, and the ids of the rows that go by what they say of themselves. `parts`: texts also
    where they stand inside longer words.

    Raises BadInput for a text or a name that says nothing, NotFound for an id that is nowhere, also in no operation.
    """
    for text in wish.texts:
        if not is_long_enough(text):
            fix = f"give at least {SHORTEST} characters (2 of Chinese, Japanese, Thai): less stands in everything"
            raise BadInput("a text too short to be forgotten", repr(text), fix)
    for what, names in (("id", wish.ids), ("session", wish.sessions), ("person", wish.persons)):
        if not all(name.strip() for name in names):
            raise BadInput(f"an empty --{what} names nothing", "", "say which one is to be forgotten")
    ws.flush()
    marks = Marks(frozenset(wish.ids), frozenset(wish.sessions), frozenset(wish.persons))
    known = list(_rows(ws, marks))
    before = [text for key in wish.ids for text in _was(ws, key)]
    there = {row.id for row in known}
    for key in wish.ids:
        if key not in there and not _is_known(ws, key):
            raise NotFound("nothing of that id is remembered", key, "`nanomem find` looks for anything by its words")
    asked = [text for row in known if row.id in marks.ids for text in _said(row)]
    texts = [*wish.texts, *(text for text in (*asked, *before) if len(text.strip()) >= TELLING)]
    copied = Copied()
    if wish.sessions or wish.persons:
        copied = Copied(_of_rows(ws, known), _said_there_alone(ws, wish))
    turns = {one.turn for one in ws.traces.injections.turns() if _is_theirs(wish, one)}
    ids = tuple(sorted(there | marks.ids | (turns & _recovered(ws))))  # the end of a turn comes back nowhere by itself
    every = Marks(frozenset({*ids, *turns}), marks.sessions, marks.senders)
    return Words(texts, every, copied, wish.texts if parts else ()), ids


def _is_theirs(wish: Wish, turn: Injected) -> bool:
    return turn.session_key in wish.sessions or turn.sender_id in wish.persons


def _recovered(ws: Workspace) -> set[str]:
    """The ids of turns that wait as recovered, which say no sender themselves."""
    return {one.turn for items in ws.traces.pending.all().values() for one in items}


def _of_rows(ws: Workspace, gone: Sequence[AnyRow]) -> tuple[str, ...]:
    """What rows say that go, and none that stays."""
    ids = {row.id for row in gone}
    rows = ws.store.load()
    stay = {
        flat(text)
        for layer in ROW_LAYERS
        for row in rows.table(layer).values()
        if row.id not in ids
        for text in _said(row)
    }
    told = [text for row in gone for text in _said(row)]
    return tuple(text for text in told if len(text.strip()) >= TELLING and flat(text) not in stay)


def _rows(ws: Workspace, marks: Marks) -> Iterator[AnyRow]:
    if any(marks):
        rows = ws.store.load()  # of what is not written yet too: an agent's files
        for layer in ROW_LAYERS:
            yield from (row for row in rows.table(layer).values() if memory_rows.belongs(row, marks))


def _said(row: AnyRow) -> list[str]:
    if isinstance(row, Lesson):
        every = (row.trigger, row.bad_action, row.better_action)
        return [text for text in every if text and not _CATEGORY.fullmatch(text)]
    return [row.text]


def _was(ws: Workspace, key: str) -> Iterator[str]:
    """What a row said before, as the operations that touched it know."""
    for entry in ws.log(limit=10_000, key=key):
        for change in entry.operation.of(key):
            for value in (change.before, change.after):
                for name in ("text", "trigger", "bad_action", "better_action"):
                    if value and isinstance(value.get(name), str):
                        yield value[name]


def _is_known(ws: Workspace, key: str) -> bool:
    return bool(ws.log(limit=1, key=key)) or any(_work(ws, key))


def _work(ws: Workspace, key: str) -> Iterable[bool]:
    from nanomem_tui.store import tier_rows
    from nanomem_tui.store.tier_kinds import KINDS

    if ws.tier_database.exists:
        found = ws.tier_database.read(
            lambda connection: [
                tier_rows.get(connection, ws.id, kind, key.rpartition("/")[2]) is not None for kind in KINDS.values()
            ]
        )
        yield from found


def _said_there_alone(ws: Workspace, wish: Wish) -> tuple[str, ...]:
    """What was said in the sessions, and by the persons, and by nobody else anywhere: an everyday sentence that stands
    in another conversation too tells nothing of where it is from."""
    meant: dict[str, str] = {}
    others: set[str] = set()

    def heard(text: str, *, is_meant: bool) -> None:
        if is_meant and len(text.strip()) >= SAID:
            meant[flat(text)] = text
        elif not is_meant:
            others.add(flat(text))

    for turn in ws.traces.injections.turns():  # what was said where the agent keeps no conversation of its own
        heard(turn.user, is_meant=_is_theirs(wish, turn))
    for info in ws.sessions.list():
        if info.imported:
            continue  # its messages are records, which go by their session
        whole = info.key in wish.sessions
        for message in parse_session(read_log(Path(info.path)), info.path, info.key).messages:
            by = sender_of(message.raw)
            heard(message.content, is_meant=(whole and message.role in ("user", "assistant")) or by in wish.persons)
    return tuple(text for key, text in meant.items() if key not in others)
