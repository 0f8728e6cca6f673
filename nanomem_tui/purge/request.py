"""What a person wants to be forgotten: the words and rows that are meant by a text, an id, a session or a person, the
words that stay forgotten, and whether a name was mistyped.

Of what memories said that go by their id, or with a person, what is long enough to tell something is kept out as a text
is, wherever it stands. What is shorter, and a lesson of a tool, whose words are ours, only as a row that says just
this. Of a person what somebody else said too is nobody's. A name that nothing says must not end with a receipt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.messages import parse_session
from nanomem_tui.core.errors import BadInput, NotFound
from nanomem_tui.core.files import read_log
from nanomem_tui.purge import cleaning
from nanomem_tui.purge.matchers import SHORTEST, Copied, Marks, Words, is_long_enough, sender_of
from nanomem_tui.purge.run import Findings
from nanomem_tui.store.erasure import forgotten
from nanomem_tui.store.erasure.forgotten import Runs, flatten, run_of, text_of_row
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Lesson

if TYPE_CHECKING:
    from nanomem_tui.memory.turns.traces import Injected
    from nanomem_tui.workspace import Workspace


TELLING = 12
"""Characters from which the text of a row that is forgotten is looked for elsewhere: a shorter one says nothing."""
_SAID_BY = ("text", "bad_action", "better_action")
"""The fields of a row that somebody said; when a lesson holds is said by many."""


def is_long_enough_alone(text: str) -> bool:
    """Whether a text is long enough to be looked for wherever it may stand."""
    return len(text.strip()) >= TELLING


def _words(value: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """What a row says in the fields of these names, and in the file that it was made of."""
    return [*(value[name] for name in names if isinstance(value.get(name), str)), *_made_of(value)]


def _made_of(value: Mapping[str, Any]) -> list[str]:
    """The words of the Markdown file that a memory was made of, where it says them in other words."""
    meta = value.get("meta")
    source = meta.get("from") if isinstance(meta, Mapping) else None
    words = source.get("words") if isinstance(source, Mapping) else None
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def kept_of_row(values: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """(texts, whole rows) of one row, of which `values` are what it says now and said before, or parts of that."""
    of_tool = any(str(value.get("trigger", "")).startswith("tool:") for value in values)
    every = [text for value in values for text in _words(value, _SAID_BY)]
    texts = [] if of_tool else list(filter(is_long_enough_alone, every))
    whole = [value for value in values if "text" in value or {"trigger", "better_action"} <= value.keys()]
    rows = [said for value in whole if (said := text_of_row(value)) and said not in texts]
    return texts, rows


class _Heard(NamedTuple):
    """What was said: by whom ("" where that is not known), in which session, in which role."""

    sender: str
    session: str
    role: str
    text: str


def _heard(ws: Workspace) -> Iterator[_Heard]:
    """All that was said in the conversations of the agent, and in turns, as an agent may keep no conversation. What was
    imported is left out: its messages are records, which go by their session."""
    for turn in ws.traces.injections.turns():
        yield _Heard(turn.sender_id or "", turn.session_key, "user", turn.user)
    for info in ws.sessions.list():
        if not info.imported:
            for message in parse_session(read_log(Path(info.path)), info.path, info.key).messages:
                yield _Heard(sender_of(message.raw), info.key, message.role, message.content)


SAID = 16
"""Characters from which a message of a session is looked for elsewhere."""
_CATEGORY = re.compile(r"[a-z_]+(?::[\w-]+)+")
"""What many lessons are about (`response:language`, `tool:exec:error`): no words of anybody."""
_SAYS = ("text", "trigger", "bad_action", "better_action")


class Request(NamedTuple):
    """What a person asked to forget."""

    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()


class Targets(NamedTuple):
    """What is looked for, and by what it stays forgotten: the things that `forgotten.add` keeps."""

    sought: Words
    kept: Mapping[str, Sequence[str]]


def find_targets(ws: Workspace, wish: Request, *, parts: bool = False) -> Targets:
    """What is to be looked for, and by what it stays forgotten: what was asked, the ids of the rows that go, and what
    these say. `parts`: texts also where they stand inside longer words.

    Raises BadInput for a text or a name that says nothing, NotFound for an id that is nowhere, in no operation
    either, and was never forgotten.
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
    if wish.persons:
        marks = marks._replace(ids=marks.ids | set(_of_turns(ws, wish)))
    known = list(_rows(ws, marks))
    there = {row.id for row in known}
    for key in wish.ids:
        if key not in there and not _is_known(ws, key) and forgotten.load(ws.paths).named("id", key) is None:
            raise NotFound("nothing of that id is remembered", key, "`nanomem find` looks for anything by its words")
    said = [[*(row.to_json() for row in known if row.id == key), *_was(ws, key)] for key in wish.ids]
    texts = [text for values in said for value in values for text in _texts(value) if is_long_enough_alone(text)]
    copied = Copied()
    if wish.sessions or wish.persons:
        copied = Copied(_of_rows(ws, known), _said_there_alone(ws, wish))
    turns = {one.turn for one in ws.traces.injections.turns() if _is_theirs(wish, one)}
    ids = tuple(sorted(there | marks.ids | (turns & _recovered(ws))))  # the end of a turn comes back nowhere by itself
    every = Marks(frozenset({*ids, *turns}), marks.sessions, marks.senders)
    by_id = [kept_of_row(values) for values in said]
    of_persons = _of_persons(ws, wish, known, copied.rows) if wish.persons else []
    kept = {
        "text": [*wish.texts, *(text for long, _ in by_id for text in long), *of_persons],
        "row": [text for _, rows in by_id for text in rows],
        "id": ids,
        "session": wish.sessions,
        "sender": wish.persons,
    }
    return Targets(Words([*wish.texts, *texts], every, copied, wish.texts if parts else ()), kept)


def _of_persons(ws: Workspace, wish: Request, known: Sequence[AnyRow], alone: Sequence[str]) -> list[str]:
    """What the memories and the lessons of the persons say and nobody else said; who does not say his name in a session
    where they spoke may be one of them. `alone`: what no row says that stays."""
    marks = Marks(senders=frozenset(wish.persons))
    rows = [row for row in known if cleaning.belongs(row, marks)]
    turns = [one for one in ws.traces.injections.turns() if one.sender_id in wish.persons]
    chats = {one.session_key for one in turns} | {row.session_key for row in rows if row.session_key}
    theirs = {row.better_action if isinstance(row, Lesson) else row.text for row in rows}
    texts = [text for text in alone if text in theirs]
    runs = Runs(map(run_of, texts))
    said_by_others = {
        run_of(one.text[begin:end])
        for one in (_heard(ws) if texts else ())
        if one.role == "user" and one.sender not in wish.persons and (one.sender or one.session not in chats)
        for begin, end in runs.found_in(one.text)
    }
    return [text for text in texts if run_of(text) not in said_by_others]


def _of_turns(ws: Workspace, wish: Request) -> Iterator[str]:
    """The ids of the reflections that say what went wrong in a turn of theirs: who asked for it no row says, and the
    change does that it was last seen in."""
    turns = {one.turn for one in ws.traces.injections.turns() if one.sender_id in wish.persons}
    rows = ws.store.load("record").records.values() if turns else ()
    for row in rows:
        newest = next(iter(ws.log(limit=1, key=row.id)), None) if row.kind == "reflection" else None
        if newest is not None and newest.operation.meta.get("turn") in turns:
            yield row.id


def _is_theirs(wish: Request, turn: Injected) -> bool:
    return turn.session_key in wish.sessions or turn.sender_id in wish.persons


def _recovered(ws: Workspace) -> set[str]:
    return {one.turn for items in ws.traces.pending.all().values() for one in items}


def _of_rows(ws: Workspace, gone: Sequence[AnyRow]) -> tuple[str, ...]:
    """What rows say that go, and none that stays."""
    ids = {row.id for row in gone}
    rows = ws.store.load()
    stay = {
        flatten(text)
        for layer in ROW_LAYERS
        for row in rows.table(layer).values()
        if row.id not in ids
        for text in _said(row)
    }
    told = [text for row in gone for text in _said(row)]
    return tuple(text for text in told if is_long_enough_alone(text) and flatten(text) not in stay)


def _rows(ws: Workspace, marks: Marks) -> Iterator[AnyRow]:
    if any(marks):
        rows = ws.store.load()  # of what is not written yet too: an agent's files
        for layer in ROW_LAYERS:
            yield from (row for row in rows.table(layer).values() if cleaning.belongs(row, marks))


def _said(row: AnyRow) -> list[str]:
    return _texts(row.to_json())


def _texts(value: Mapping[str, Any]) -> list[str]:
    """The words of a row, or of a patch of one, and those of the file that it was made of."""
    return [text for text in _words(value, _SAYS) if text and not _CATEGORY.fullmatch(text)]


def _was(ws: Workspace, key: str) -> Iterator[Mapping[str, Any]]:
    """What a row was before, as the operations that touched it know: whole, or what was changed."""
    for entry in ws.log(limit=10_000, key=key):
        for change in entry.operation.of(key):
            yield from filter(None, (change.before, change.after))


def _is_known(ws: Workspace, key: str) -> bool:
    from nanomem_tui.store.work import records
    from nanomem_tui.store.work.kinds import KINDS

    if ws.log(limit=1, key=key):
        return True
    if not ws.tier_database.exists:
        return False
    name = key.rpartition("/")[2]
    return ws.tier_database.read(
        lambda connection: any(records.get(connection, kind, name) is not None for kind in KINDS.values())
    )


def _said_there_alone(ws: Workspace, wish: Request) -> tuple[str, ...]:
    """What was said in the sessions, and by the persons, and by nobody else anywhere: an everyday sentence that stands
    in another conversation too tells nothing of where it is from."""
    meant: dict[str, str] = {}
    others: set[str] = set()
    for one in _heard(ws):
        there = one.session in wish.sessions and one.role in ("user", "assistant")
        if not (there or one.sender in wish.persons):
            others.add(flatten(one.text))
        elif len(one.text.strip()) >= SAID:
            meant[flatten(one.text)] = one.text
    return tuple(text for key, text in meant.items() if key not in others)


_LISTS = {
    "session": "`nanomem session list` names those that there are",
    "person": "`nanomem scopes list` names those that there are",
}
Name = tuple[str, str]
"""What it is, "session" or "person", and which."""


def unknown_names(ws: Workspace, wish: Request) -> list[Name]:
    """The names that no conversation, turn or row says, and that were not forgotten before: what was forgotten is
    nowhere, and the same command again is no mistake."""
    kept = forgotten.load(ws.paths)
    sessions = {key for key in wish.sessions if kept.named("session", key) is None}
    persons = {sender for sender in wish.persons if kept.named("sender", sender) is None}
    if sessions:
        sessions -= {one.key for one in ws.sessions.list()} | {one.session_key for one in ws.wal.list()}
    if sessions or persons:
        turns = ws.traces.injections.turns()
        sessions -= {turn.session_key for turn in turns}
        items = ws.store.load().items.values()
        persons -= {turn.sender_id for turn in turns} | {item.sender_id for item in items}
    return [*(("session", key) for key in sorted(sessions)), *(("person", sender) for sender in sorted(persons))]


def refuse_unknown(names: list[Name], look: Callable[[Words], Findings]) -> None:
    """Raise NotFound for the first name that nothing says in all that can be looked through."""
    for what, name in names:
        one = frozenset({name})
        found = look(Words((), Marks(sessions=one) if what == "session" else Marks(senders=one)))
        if not found.places:
            where = f" that can be looked through (not {found.unread[0][0]})" if found.unread else ""
            raise NotFound(f"nothing of that {what} is anywhere{where}, and nothing was done", name, _LISTS[what])
