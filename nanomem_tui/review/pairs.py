"""Pairs of memories that are compared, and how `language.statements.compare` judges each.

Owns the index of what memories are about, kept up with changes, and who is compared with whom: rows that one chat may
see together and that share a rare word, or say where somebody lives or works and the like. Must not decide anything.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from sys import intern
from typing import NamedTuple

from nanomem_tui.language.statements.compare import Comparison, compared, language_of_both, likeness, shares_of
from nanomem_tui.language.statements.statement import UNSPACED, Statement, statement
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item, Row, fact_of, identity_of_item

CROWD = 40
"""Memories that share a word, beyond which it is none to look by; of a topic so many of the newest are looked at."""
MOST = 600
"""Characters of a text; what is longer tells more than can be compared."""
COMPARED = 5
"""Memories that are compared with one, of those that share a rare word or a topic."""
LEAST_TURNED = 0.25
"""How likely two texts have to be the same for the judge to be asked the other way round too."""
SURE = 0.9
"""How sure it is that two facts of one name contradict each other."""
TOPICS = {
    **{f"do:{name}": name for name in "live work study birthday age number address weigh size doctor dentist".split()},
    **{f"do:{name}": name for name in "deadline cost smoke".split()},
    "do:marry": "alone", "do:single": "alone", "do:eat": "food", "do:meat": "food", "do:vegetarian": "food",
}  # fmt: skip
"""What one has one value of at a time: memories of it are compared whatever other words they share."""
_MOVED = ("live", "work")
"""What “I moved to Lisbon” may be about."""
_SIGNS = re.compile(r"[\W_]+")


class Pair(NamedTuple):
    """Two memories that one judge has compared, the older first."""

    older: Row
    newer: Row
    judged: Comparison


class _Node(NamedTuple):
    """What rows of one place say in the same words: the newest row, and what it is about."""

    rows: tuple[Row, ...]
    terms: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    @property
    def row(self) -> Row:
        return self.rows[0]


Place = tuple[str, str, str]
"""Where a memory is seen and who said it there, and its words."""


class Pairs:
    """The pairs of memories of one store that say the same or stand against each other. Every look is up to date."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._changed: set[str] | None = None
        self._lessons: dict[str, Row] = {}
        self._place: dict[str, Place] = {}
        self._nodes: dict[Place, _Node] = {}
        self._index: defaultdict[str, dict[Place, None]] = defaultdict(dict)
        self._found: defaultdict[Place, dict[Place, Comparison]] = defaultdict(dict)
        self._new: dict[Place, None] = {}

    def rows(self) -> list[tuple[Place, tuple[Row, ...]]]:
        """Return the rows that say something, those of one place and the same words together, the newest first."""
        with self._lock:
            self._update()
            return [(place, node.rows) for place, node in self._nodes.items()]

    def all(self) -> list[Pair]:
        """Return each pair that is not merely different, once."""
        with self._lock:
            self._update()
            self._compare()
            return [
                Pair(self._nodes[one].row, self._nodes[other].row, judged)
                for one, others in self._found.items()
                for other, judged in others.items()
            ]

    # -- the index ----------------------------------------------------------------------------------------------

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
            lessons: Mapping[str, Row] = dict(snapshot.lessons)
        changed |= {key: None for key in self._lessons if key not in lessons}
        changed |= {key: row for key, row in lessons.items() if self._lessons.get(key) is not row}
        self._lessons = dict(lessons)
        for key, row in changed.items():
            self._drop(key)
            if row is not None and row.enabled and not row.is_deleted:
                self._put(key, row)

    def _put(self, key: str, row: Row) -> None:
        words = spoken_text(row)
        if not words:
            return
        place = (scope_of(row), _speaker(row), _key(row, words))
        self._place[key] = place
        known = self._nodes.get(place)
        rows = sorted((*(known.rows if known else ()), row), key=last_said, reverse=True)
        if known is None:
            self._nodes[place] = _Node(tuple(rows))
        else:
            self._nodes[place] = known._replace(rows=tuple(rows))
            if rows[0] is not row:
                return
            self._forget(place)
        self._new[place] = None

    def _drop(self, key: str) -> None:
        place = self._place.pop(key, None)
        if place is None:
            return
        node = self._nodes[place]
        left = tuple(row for row in node.rows if row.id != key)
        if node.row.id != key:
            self._nodes[place] = node._replace(rows=left)
            return
        self._forget(place)
        for term in (*node.terms, *node.topics):
            self._index[term].pop(place, None)
        self._new.pop(place, None)
        if left:
            self._nodes[place] = _Node(left)
            self._new[place] = None
        else:
            del self._nodes[place]

    def _forget(self, place: Place) -> None:
        self._found.pop(place, None)
        for others in self._found.values():
            others.pop(place, None)

    # -- comparing ----------------------------------------------------------------------------------------------

    def _compare(self) -> None:
        """Hold what is new against what it may repeat or contradict."""
        if not self._new:
            return
        waiting, self._new = list(self._new), {}
        for place in waiting:
            self._read(place)
        met: set[tuple[Place, Place]] = set()
        for place in waiting:
            node = self._nodes[place]
            for other in self._candidates(place, node):
                pair = (place, other) if place < other else (other, place)
                if pair not in met:
                    met.add(pair)
                    self._judge(place, other)

    def _read(self, place: Place) -> None:
        """Take what a memory is about into the index."""
        node = self._nodes[place]
        if not node.terms and not node.topics:
            node = self._nodes[place] = _about(node)
            for term in (*node.terms, *node.topics):
                self._index[term][place] = None

    def _candidates(self, place: Place, node: _Node) -> list[Place]:
        """Return what shares the rarest words or a topic with a memory, the newest of equals first."""
        near: defaultdict[Place, float] = defaultdict(float)
        for term in node.terms:
            if len(others := self._index[term]) <= CROWD:
                for other in others:
                    near[other] += 1 / len(others)
        for topic in node.topics:
            others = self._index[topic]
            for other in sorted(others, key=self._when, reverse=True)[:CROWD] if len(others) > CROWD else others:
                near[other] += 1
        near.pop(place, None)
        found = sorted(near, key=self._when, reverse=True)
        found.sort(key=near.__getitem__, reverse=True)
        return [other for other in found if _may_meet(node.row, self._nodes[other].row)][:COMPARED]

    def _when(self, place: Place) -> tuple[str, str, str]:
        return last_said(self._nodes[place].row)

    def _judge(self, one: Place, other: Place) -> None:
        old, new = sorted((one, other), key=self._when)
        older, newer = self._nodes[old], self._nodes[new]
        judged = judge(older.row, newer.row)
        if judged.relation != "different" and (judged.relation != "same" or _repeats(older, newer)):
            self._found[old][new] = judged


def _repeats(one: _Node, other: _Node) -> bool:
    return 2 * len({*one.terms}.intersection(other.terms)) >= max(len(one.terms), len(other.terms))


def judge(older: Row, newer: Row) -> Comparison:
    """Return how the newer of two memories stands to the older; facts go by their names."""
    names = [identity_of_item(row) if isinstance(row, Item) else None for row in (older, newer)]
    if names[0] and names[1]:
        if names[0][1:] != names[1][1:]:
            return Comparison("different", 1.0)
        same = spoken_text(older).casefold() == spoken_text(newer).casefold()
        return Comparison("same", 1.0) if same else Comparison("newer", SURE)
    return compare_texts(spoken_text(older), spoken_text(newer))


def compare_texts(older: str, newer: str) -> Comparison:
    """Return how the later text stands to the earlier; an unsure share is the chance of a conflict."""
    judged = compared(older, newer)
    if judged.relation not in ("unsure", "different"):
        return judged
    shares = shares_of(older, newer)
    if shares["same"] >= LEAST_TURNED and (turned := compared(newer, older)).relation == "same":
        return turned
    opposed = shares["newer"] + shares["denial"]
    if judged.relation == "unsure" and opposed > shares["same"] and opposed > likeness(older, newer):
        return Comparison("unsure", opposed)
    return Comparison("different", shares["different"])


def _about(node: _Node) -> _Node:
    """Return the node with the words by which a memory is found, and what it is about that has one value."""
    text = spoken_text(node.row)
    if len(text) > MOST:
        return node
    read = statement.__wrapped__(
        text, language_of_both(text, "")
    )  # what is compared is remembered, what is only looked at need not be
    terms = dict.fromkeys(intern(token.notions[0] if token.notions else token.stem) for token in read.tokens)
    topics = tuple(map(intern, _topics(node.row, read)))
    return node._replace(terms=tuple(terms), topics=topics)


def _topics(row: Row, read: Statement) -> Iterator[str]:
    identity = identity_of_item(row) if isinstance(row, Item) else None
    if identity is not None:
        yield "fact|" + "|".join(map(str, identity[1:]))
    whose = next((who for who in sorted(read.who) if who.startswith("kin:")), "me")
    first = min(read.tokens, key=lambda token: token.at, default=None)
    if first and not first.notions and whose == "me" and "me" not in read.who and read.language not in UNSPACED:
        whose = first.stem
    found = {TOPICS[notion] for token in read.tokens for notion in token.notions if notion in TOPICS}
    if "change" in read.marks and not any(token.notions for token in read.tokens):
        found.update(_MOVED)
    yield from sorted(f"{whose}|{topic}" for topic in found)


def _may_meet(one: Row, other: Row) -> bool:
    """Return whether one chat may be given both, and one person may have said them."""
    if isinstance(one, Item) and isinstance(other, Item) and one.scope_type == other.scope_type == "chat":
        if one.sender_id and other.sender_id and one.sender_id != other.sender_id:
            return False
    return seen_together(one, other)


def spoken_text(row: Row) -> str:
    """Return what a row says; a lesson only where no other trigger may be meant."""
    if isinstance(row, Item):
        fact = fact_of(row) if row.kind == "fact" and not row.text else None
        text = f"{fact.key.replace('_', ' ')}: {fact.value}" if fact is not None else row.text
    else:
        text = row.better_action if _is_open(row.trigger, row.better_action) else ""
    return text


def _is_open(trigger: str, action: str) -> bool:
    """Return whether what triggered a lesson limits it to no case: nothing, or the person's own order."""
    if not trigger.strip():
        return True
    orders, ordered = ({token.stem for token in statement(text).tokens} for text in (trigger, action))
    return not orders.isdisjoint(ordered)


def _key(row: Row, words: str) -> str:
    identity = identity_of_item(row) if isinstance(row, Item) and row.kind == "fact" else None
    named = "|".join(map(str, identity[1:])) if identity is not None else ""
    return f"{named}\n{_SIGNS.sub(' ', words.casefold()).strip()}"


def _speaker(row: Row) -> str:
    return row.sender_id or "" if isinstance(row, Item) and row.scope_type == "chat" else ""


def scope_of(row: Row) -> str:
    """Return the scope of a row, "" for everybody: of a lesson the chat of its session."""
    if isinstance(row, Item):
        return "" if row.scope_type == "global" else row.scope_key
    if row.scope == "global":
        return ""
    channel, colon, chat = row.session_key.partition(":")
    return f"channel:{channel}:chat:{chat}" if colon and chat else f"session:{row.session_key}"


def seen_together(one: Row, other: Row) -> bool:
    """Return whether one chat may be given both rows."""
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


def covers(winner: Row, loser: Row) -> bool:
    """Return whether everybody who sees `loser` also sees `winner`."""
    first, second = scope_of(winner), scope_of(loser)
    if not first or first == second:
        return True
    if not second or not isinstance(winner, Item) or not isinstance(loser, Item) or winner.channel != loser.channel:
        return False
    return first.partition(":user:")[2] == second.partition(":chat:")[2] != "" or (
        first.partition(":chat:")[2] == second.partition(":user:")[2] != ""
    )


def last_said(row: Row) -> tuple[str, str, str]:
    """Return when a row was said last, to tell the newer."""
    return row.updated_at, row.created_at, row.id
