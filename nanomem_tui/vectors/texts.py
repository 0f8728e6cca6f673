"""What is to be embedded, and which of the items has no vector of its present text.

Owns what of an item is embedded, and by what a vector is known to be of that text. Must not embed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from nanomem_tui.store.fact_fields import Fact, fact_of
from nanomem_tui.store.values import Item
from nanomem_tui.vectors.collection import ITEMS

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import MemoryStore

MOST = 8_000
"""Characters of a text that are embedded; models read a few hundred words and leave out the rest."""
_FORM = 1
"""Counts the forms that `embedded` gave to texts: a vector of another form is none of this text."""
Key = tuple[str, str]
"""Collection and key of a text."""
HashesOf = Callable[[str, Sequence[str]], Mapping[str, str]]
"""Tells, of some keys of a collection, the hashes of the texts that it has vectors of."""


class Wanted(NamedTuple):
    """A text that wants a vector: of what it is, the text and its hash, and from when that is (UTC ISO)."""

    collection: str
    key: str
    text: str
    text_hash: str
    at: str = ""


class Step(NamedTuple):
    """What is to be done next: texts that want a vector, what is gone; how many rows were looked at, the rows that are
    listed as changed, with the hash of their text, and how far each table was looked through."""

    wanted: Sequence[Wanted]
    gone: Sequence[Key] = ()
    looked: int = 0
    due: Mapping[Key, str] = {}
    marks: Mapping[str, str] = {}


class Texts(Protocol):
    """The texts of a memory that are to have a vector."""

    @property
    def collections(self) -> Sequence[str]:
        """The names of the collections that they are in."""

    def step(self, model: str, most: int, held: HashesOf) -> Step | None:
        """What is to be done next, at most `most` texts; None where nothing is."""

    def done(self, model: str, step: Step, made: Mapping[Key, bool]) -> None:
        """A step was done: of each text whether a vector could be made."""

    def rest(self, model: str) -> int:
        """How many texts are to be looked at, or want a vector."""


def filed(item: Item) -> Fact | None:
    """The fact that an item of kind fact is; None for any other."""
    return fact_of(item) if item.kind == "fact" else None


def embedded(item: Item) -> str:
    """The text that stands for an item: its own; for a fact with where it belongs."""
    fact = filed(item)
    if fact is None:
        return item.text[:MOST]
    place = " ".join(dict.fromkeys(filter(None, (fact.domain, fact.category, fact.sub_category))))
    return f"{place}. {item.text}"[:MOST]


def text_hash(text: str) -> str:
    """What tells that a vector is of this text."""
    data = f"{_FORM}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def is_active(item: Item | None) -> bool:
    """Whether an item is to be found: it is there, and switched on."""
    return item is not None and item.enabled and not item.is_deleted


def wanted(item: Item) -> Wanted:
    """What is to be embedded of an item."""
    text = embedded(item)
    return Wanted(ITEMS, item.id, text, text_hash(text))


class ItemTexts:
    """The active items of a store, in step with its snapshot, whose lock guards the account. Every method may be called
    from any thread; none asks a disk while it holds that lock."""

    collections = (ITEMS,)

    def __init__(self, store: MemoryStore) -> None:
        self._snapshot = store.load("item")
        self._changed: set[str] = set()
        self._watching = False
        self.current: dict[str, str] = {}
        """The hash of the present text of each active item."""
        self._known: dict[str, str] = {}
        self._missing: dict[str, str] = {}
        self._gone: set[str] = set()
        self._unmade: set[str] = set()

    def begin(self, known: Mapping[str, str], unmade: Iterable[str]) -> None:
        """Watch the snapshot from now on; `known`: the hashes of the texts that have a vector, or none can be made of
        (those of `unmade`)."""
        with self._snapshot.lock:
            if not self._watching:
                self._changed, self._watching = self._snapshot.watch(), True
            rows = list(self._snapshot.items.values())
        current = {one.key: one.text_hash for one in map(wanted, filter(is_active, rows))}
        with self._snapshot.lock:
            self.current, self._known, self._unmade = current, dict(known), set(unmade)
            self._missing = {key: text for key, text in current.items() if known.get(key) != text}
            self._gone = set(known) - {row.id for row in rows if not row.is_deleted}

    def follow(self) -> None:
        """Take up what changed since."""
        with self._snapshot.lock:
            if not self._changed:
                return
            for key in self._changed:
                row = self._snapshot.items.get(key)
                self._missing.pop(key, None)
                if row is None or not is_active(row):
                    self.current.pop(key, None)
                    if (row is None or row.is_deleted) and self._known.pop(key, None) is not None:
                        self._gone.add(key)
                    continue
                self._gone.discard(key)
                text = self.current[key] = wanted(row).text_hash
                if self._known.get(key) != text:
                    self._missing[key] = text
                    self._unmade.discard(key)
            self._changed.clear()

    def step(self, model: str, most: int, held: HashesOf) -> Step | None:
        """See `Texts.step`: what came last first. What another process embedded meanwhile is taken up."""
        while True:
            with self._snapshot.lock:
                self.follow()
                gone = [(ITEMS, key) for key in self._gone]
                newest = [wanted(self._snapshot.items[key]) for key in islice(reversed(self._missing), most)]
            there = held(ITEMS, [one.key for one in newest]) if newest else {}
            fit = {(ITEMS, one.key): True for one in newest if there.get(one.key) == one.text_hash}
            if fit:
                self.done(model, Step([one for one in newest if (ITEMS, one.key) in fit]), fit)
            rest = [one for one in newest if (ITEMS, one.key) not in fit]
            if rest or not newest:
                return Step(rest, gone) if rest or gone else None

    def done(self, model: str, step: Step, made: Mapping[Key, bool]) -> None:
        """See `Texts.done`. A text that changed meanwhile still wants a vector."""
        with self._snapshot.lock:
            self._gone.difference_update(key for _, key in step.gone)
            for one in step.wanted:
                self._known[one.key] = one.text_hash
                if self._missing.get(one.key) == one.text_hash:
                    del self._missing[one.key]
                if not made[ITEMS, one.key]:
                    self._unmade.add(one.key)
                if one.key not in self.current:  # it went, or was switched off, while it was embedded
                    self._changed.add(one.key)
            self.follow()

    def rest(self, model: str) -> int:
        """See `Texts.rest`."""
        with self._snapshot.lock:
            self.follow()
            return len(self._missing) + len(self._gone)

    def counts(self) -> tuple[int, int]:
        """How many items have a vector, and how many are to have one."""
        with self._snapshot.lock:
            self.follow()
            total = len(self.current) - self.unmade
            return total - len(self._missing), total

    def is_settled(self, size: int) -> bool:
        """Whether a collection of that size holds the present texts of all active items, and nothing else."""
        with self._snapshot.lock:
            if self._missing or self._gone or len(self._known) != len(self.current):
                return False
            return size == len(self.current) - len(self._unmade)

    @property
    def unmade(self) -> int:
        """Of how many of them no vector can be made."""
        return len(self._unmade & self.current.keys())
