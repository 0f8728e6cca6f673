"""Which rows are compared, by what they say of whom, and which pairs of them contradict each other.

Owns the index of what rows say, kept up with what changes, and who is compared with whom: rows of one scope, and of two
where one chat may see both. Must not decide anything.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nanomem_tui.curation import contradiction
from nanomem_tui.curation.contradiction import Rivals
from nanomem_tui.curation.said import Said
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item, Row, fact_of

MOST = 8
"""Rows of one scope that say something of the same: what is said more often is a list, and no contradiction."""
WIDEST = 50
"""Scopes in which one thing for everybody is contradicted."""


class Told(NamedTuple):
    """One saying of one row."""

    row: Row
    said: Said


class Pairs:
    """The pairs of rows of one store that contradict each other. Every look is up to date."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._changed: set[str] | None = None
        self._rows: dict[str, Row] = {}
        self._texts: dict[str, tuple[str, tuple[Said, ...]]] = {}
        self._keys: defaultdict[str, dict[str, Said]] = defaultdict(dict)

    def all(self) -> list[tuple[Row, Row, Rivals]]:
        """(older, newer, what they say otherwise) of each pair once, by the surest of what they say otherwise."""
        with self._lock:
            self._update()
            found: dict[tuple[str, str], tuple[Row, Row, Rivals]] = {}
            for ids in self._keys.values():
                if len(ids) > 1 and len({said.value for said in ids.values()}) > 1:
                    for one, other in _of_key([Told(self._rows[key], said) for key, said in ids.items()]):
                        pair = _pair(one, other)
                        known = found.get((pair[0].id, pair[1].id))
                        if known is None or known[2].weight < pair[2].weight:
                            found[pair[0].id, pair[1].id] = pair
            return list(found.values())

    def _update(self) -> None:
        snapshot = self._store.load()
        with snapshot.lock:
            first = self._changed is None
            if first:
                self._changed = snapshot.watch()
            changed: dict[str, Row | None] = {
                key: snapshot.items.get(key) for key in (snapshot.items if first else self._changed or ())
            }
            self._changed.clear()  # type: ignore[union-attr]
            lessons = dict(snapshot.lessons)
        changed |= {key: row for key, row in lessons.items() if self._rows.get(key) is not row}
        for key, row in changed.items():
            self._drop(key)
            if row is not None and row.enabled and not row.is_deleted:
                self._put(key, row)

    def _put(self, key: str, row: Row) -> None:
        text = f"{row.trigger}\n{row.better_action}" if not isinstance(row, Item) else row.text
        known = self._texts.get(key)
        if known is None or known[0] != text:
            known = self._texts[key] = text, said_by(row)
        if known[1]:
            self._rows[key] = row
            for said in known[1]:
                self._keys[said.key][key] = said

    def _drop(self, key: str) -> None:
        if self._rows.pop(key, None) is not None:
            for said in self._texts[key][1]:
                self._keys[said.key].pop(key, None)
                if not self._keys[said.key]:
                    del self._keys[said.key]


def said_by(row: Row) -> tuple[Said, ...]:
    """What a row says; a fact also by its names, a lesson only where no other trigger may be meant."""
    if isinstance(row, Item):
        fact = fact_of(row) if row.kind == "fact" else None
        said = contradiction.said(row.text)
        if fact is None or said or not fact.value:
            return said
        return contradiction.said(f"{fact.key.replace('_', ' ')}: {fact.value}")
    return contradiction.said(row.better_action) if _is_open(row.trigger) else ()


def _is_open(trigger: str) -> bool:
    """Whether what triggered a lesson limits it to no case: nothing, or the person's own order."""
    from nanomem_tui.memory.stances import stances

    return not trigger.strip() or bool(stances(trigger))


def scope_of(row: Row) -> str:
    """The scope of a row, "" for everybody: of a lesson the chat of its session."""
    if isinstance(row, Item):
        return "" if row.scope_type == "global" else row.scope_key
    if row.scope == "global":
        return ""
    channel, colon, chat = row.session_key.partition(":")
    return f"channel:{channel}:chat:{chat}" if colon and chat else f"session:{row.session_key}"


def seen_together(one: Row, other: Row) -> bool:
    """Whether one chat may be given both: of one scope, one of them for everybody, or a chat and who speaks in it."""
    first, second = scope_of(one), scope_of(other)
    if first == second or not first or not second:
        return True
    if (
        not isinstance(one, Item)
        or not isinstance(other, Item)
        or {one.scope_type, other.scope_type} != {"chat", "user"}
    ):
        return False
    chat, user = (one, other) if one.scope_type == "chat" else (other, one)
    who, where = user.scope_key.partition(":user:")[2], chat.scope_key.partition(":chat:")[2]
    if one.channel != other.channel:
        return False
    return user.chat_id == where if chat.sender_id is None else chat.sender_id == who


def stands_for(winner: Row, loser: Row) -> bool:
    """Whether everybody who is given the one would be given the other in its place: it is for everybody, of the same
    scope, or a private chat and the person in it."""
    first, second = scope_of(winner), scope_of(loser)
    if not first or first == second:
        return True
    if not second or not isinstance(winner, Item) or not isinstance(loser, Item) or winner.channel != loser.channel:
        return False
    return first.partition(":user:")[2] == second.partition(":chat:")[2] != "" or (
        first.partition(":chat:")[2] == second.partition(":user:")[2] != ""
    )


def when(row: Row) -> tuple[str, str, str]:
    """When a row was said last, to tell the newer."""
    return row.updated_at, row.created_at, row.id


def _of_key(told: Sequence[Told]) -> Iterator[tuple[Told, Told]]:
    """Of one key: in each scope the newest against those that say otherwise, and the newest of two scopes."""
    scopes: defaultdict[tuple[str, str], list[Told]] = defaultdict(list)
    for one in told:
        scopes[scope_of(one.row), _speaker(one)].append(one)
    newest: dict[tuple[str, str], Told] = {}
    for place, rows in scopes.items():
        rows.sort(key=lambda one: when(one.row), reverse=True)
        newest[place] = rows[0]
        if len(rows) <= MOST:
            yield from ((other, rows[0]) for other in rows[1:] if contradiction.against(other.said, rows[0].said))
    places = list(newest)
    if len(places) < 2:
        return
    wide = [place for place in places if not place[0]]
    yield from _across(newest, [(one, other) for one in wide for other in places if other[0]][:WIDEST])
    users = [place for place in places if ":user:" in place[0]]
    chats = [place for place in places if ":chat:" in place[0]]
    if len(users) * len(chats) <= 2_500:
        yield from _across(newest, [(one, other) for one in users for other in chats])


def _across(
    newest: Mapping[tuple[str, str], Told], pairs: Sequence[tuple[tuple[str, str], tuple[str, str]]]
) -> Iterator[tuple[Told, Told]]:
    for one, other in pairs:
        first, second = newest[one], newest[other]
        if seen_together(first.row, second.row) and contradiction.against(first.said, second.said):
            yield first, second


def _speaker(one: Told) -> str:
    """Who says it, where it is said of whoever speaks: two persons of one chat are two."""
    row = one.row
    told = isinstance(row, Item) and row.scope_type == "chat" and one.said.key.startswith("user|")
    return row.sender_id or "" if told and isinstance(row, Item) else ""


def _pair(one: Told, other: Told) -> tuple[Row, Row, Rivals]:
    old, new = sorted((one, other), key=lambda told: when(told.row))
    return old.row, new.row, Rivals(old.said, new.said)
