"""What a person wants to be forgotten, as it is looked for: by its words, by its id, its session, its sender; and by
the hashes that are kept of it, for what an interrupted forget or a restore left. Pure.

By its hash a text is met whole; of one that was cut in a label only the label of an operation that held it goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from typing import Any, NamedTuple

from nanomem_tui.purge.texts import SHORTEST, Found, Sought
from nanomem_tui.store import word_runs
from nanomem_tui.store.forgotten import Forgotten, called
from nanomem_tui.store.purge_marker import Mark
from nanomem_tui.store.snapshot import SAID_AGAIN
from nanomem_tui.store.word_runs import UNSPACED, Runs, apart, run_of, with_mark
from nanomem_tui.text import FORGOTTEN

_GONE = "\x00"
_BESIDE = re.compile(r"\.?(.+?)(?:\.[0-9a-f-]+)+\.nanomem-(?:kept|swap)")
"""The name of what lies beside a file that was to be replaced: it holds what that did."""


class Marks(NamedTuple):
    """By what a line of a log or a row is told to belong to what is forgotten: ids (of turns too), keys of sessions,
    senders."""

    ids: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    senders: frozenset[str] = frozenset()

    def has_session(self, key: str) -> bool:
        """Whether a key is that of a session, or of what is kept of one chat of it."""
        return any(name in self.sessions for name in called("session", key))

    def has_sender(self, key: str) -> bool:
        """Whether a name is that of a sender, or of the scope of one."""
        return any(name in self.senders for name in called("sender", key))

    def mean(self, value: Mapping[str, Any]) -> bool:
        """Whether what says so of itself goes: by its id, its session or chat, who sent it or taught it."""
        ids, sessions, senders = self
        return bool(
            (ids and any(isinstance(name := value.get(field), str) and name in ids for field in _IDS))
            or (
                sessions
                and any(isinstance(key := value.get(name), str) and self.has_session(key) for name in _SESSIONS)
            )
            or (sessions and value.get("scope_type") == "chat" and _chat(value) in sessions)
            or (senders and any(map(self.has_sender, persons_of(value))))
        )


class Copied(NamedTuple):
    """Texts that go where nothing says whose they are, and stay in what is somebody else's: what the rows of a session
    say, in documents and the archive; what was said in it and nowhere else, in the archive."""

    rows: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


class Words:
    """Texts that a person wants to be forgotten: by their words, whatever their case and what stands between them."""

    whole = True

    def __init__(
        self,
        texts: Iterable[str],
        marks: Marks | None = None,
        copied: Copied | None = None,
        parts: Iterable[str] = (),
    ) -> None:
        """`parts`: texts that are met inside longer words too, which go as a whole then."""
        sought = {" ".join(text.split()) for text in texts}
        self.texts = tuple(sorted(filter(is_long_enough, sought), key=len, reverse=True))
        self.marks = marks or Marks()
        self._parts = word_runs.parts_pattern(parts)
        self._runs = Runs(run_of(text) for text in self.texts)
        self._everywhere: Words = self
        self._document = self._archive = self
        self.copied = copied or Copied()
        self._binary: Words | None = None
        if copied is not None and any(copied):
            self._document = self._with(copied.rows)
            self._archive = self._with((*copied.rows, *copied.said))

    def _with(self, more: Sequence[str]) -> Words:
        made = Words((*self.texts, *more), self.marks)
        made._everywhere, made._parts = self, self._parts
        return made

    @property
    def has_words(self) -> bool:
        """Whether words are looked for, which a name may hold too; ids, sessions and senders have fields."""
        return bool(self._runs) or self._parts is not None

    def at(self, where: str) -> Sought:
        """What rows say is looked for in documents too, what was said in the archive."""
        name = _BESIDE.sub(r"\1", where.rpartition("/")[2])
        if name in ("history.jsonl", "HISTORY.md"):
            return self._archive
        return self._document if name.endswith((".md", ".txt")) else self

    def of_line(self, value: Mapping[str, Any]) -> Sought:
        """In a row, a message and an entry of another session stays what only reads like it."""
        of_somebody = "id" in value or "role" in value or isinstance(value.get("session_key"), str)
        return self._everywhere if of_somebody else self

    def in_binary(self) -> Sought:
        """Inside longer words too: the fields of a row of a database stand there with nothing between them."""
        if self._binary is None:
            self._binary = Words(self.texts, self.marks, parts=self.texts)
        return self._binary

    def said_alone(self) -> Sought:
        """The same words, whoever's they are."""
        alone = copy(self)
        alone.marks = Marks()
        return alone

    def clean(self, text: str, found: Found) -> str:
        """The text with `[forgotten]` in its place."""
        whole = self._places(text)
        cleaned = with_mark(FORGOTTEN, text, whole)
        cut = self._runs.cut_in(cleaned)
        if whole or cut:
            found["text"] += len(whole) + len(cut)
        return with_mark(FORGOTTEN, cleaned, cut)

    def clean_lines(self, text: str, found: Found) -> str:
        """A document without the lines that hold it: what is left of such a line says what it was about."""
        return marked(text, self._places(text), found, lines=True)

    def _places(self, text: str) -> list[tuple[int, int]]:
        found = self._runs.found_in(text)
        if self._parts is None:
            return found
        return apart([*found, *word_runs.parts_found_in(text, self._parts)])

    def drops(self, key: str) -> bool:
        """Those named as a session."""
        return self.marks.has_session(key)

    def takes(self, value: Mapping[str, Any]) -> bool:
        """By its id, its session or its sender."""
        return self.marks.mean(value)


class LongerWords(Words):
    """The longer words that texts stand in, for who asks how many there are: where a text is a word it is none."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__((), parts=texts)
        self._whole = Runs(run_of(text) for text in texts)

    def in_binary(self) -> Sought:
        """None: there is no telling what is a word."""
        return Words(())

    def _places(self, text: str) -> list[tuple[int, int]]:
        inside = super()._places(text)
        whole = self._whole.found_in(text) if inside else []
        return [place for place in inside if not any(a < place[1] and place[0] < b for a, b in whole)]


def is_long_enough(text: str) -> bool:
    """Whether a text says something by itself: less stands in everything. A character is a word in some writings."""
    bare = "".join(text.split())
    return len(bare) >= (SHORTEST_UNSPACED if _UNSPACED.search(bare) else SHORTEST)


_UNSPACED = re.compile(f"[{UNSPACED}]")
SHORTEST_UNSPACED = 2
"""The same of a text in a writing without spaces: a name has two."""
_IDS = ("id", "item_id", "turn")
_SESSIONS = ("session_key", "session", "session_id")


def sender_of(value: Mapping[str, Any]) -> str:
    """Who sent it; "" where that is not said."""
    said = value.get("sender_id", value.get("sender"))
    return "" if said is None else str(said)


def persons_of(value: Mapping[str, Any]) -> set[str]:
    """Who sent or taught something, or said again what waited, as it says so itself; the owner of a user's scope where
    nobody sent it."""
    meta = value.get("meta")
    again = meta.get(SAID_AGAIN) if isinstance(meta, Mapping) else None
    told = {sender_of(value), str(value.get("actor_key") or "")}
    told |= {sender_of(meta)} if isinstance(meta, Mapping) else set()
    told |= {str(again.get("by") or "")} if isinstance(again, Mapping) else set()
    if value.get("scope_type") == "user" and not any(told):
        told.add(str(value.get("scope_key") or ""))
    return told - {""}


def _texts(value: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [said for name in names if isinstance(said := value.get(name), str)]


def _chat(value: Mapping[str, Any]) -> str:
    return f"{value.get('channel')}:{value.get('chat_id')}"


def marked(text: str, places: Sequence[tuple[int, int]], found: Found, *, lines: bool = False) -> str:
    """A text with `[forgotten]` in these places, or without the lines that have one; they are counted."""
    if not places:
        return text
    found["text"] += len(places)
    if not lines:
        return with_mark(FORGOTTEN, text, places)
    every = with_mark(_GONE, text, places).splitlines(keepends=True)
    return "".join(line for line in every if _GONE not in line)


_NAMED = ("id", "session", "sender")


class _Hashed(frozenset[str]):
    """Names of which only hashes are kept: `in` works, but they cannot be listed."""

    _what: str
    _kept: Forgotten

    @classmethod
    def of(cls, kept: Forgotten, what: str) -> _Hashed:
        """Those of a kind: `id`, `session`, `sender`."""
        made = cls()
        made._what, made._kept = what, kept
        return made

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._kept.named(self._what, name) is not None

    def __and__(self, others: AbstractSet[object]) -> frozenset[str]:
        return frozenset(name for name in others if isinstance(name, str) and name in self)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __bool__(self) -> bool:
        return any(mark.what == self._what for mark in self._kept.every)


class KeptWords(Words):
    """What `forgotten.json` says, as something to be looked for."""

    def __init__(self, kept: Forgotten, mark: Mark | None = None) -> None:
        """`mark`: of a forget that was interrupted, which tells what else it looked for."""
        if mark is not None:
            kept = _with(kept, mark.kept, mark.sought)
        ids, sessions, senders = (_Hashed.of(kept, what) for what in _NAMED)
        super().__init__((), Marks(ids, sessions, senders))
        self._kept = kept
        if mark is not None:
            self._document, self._archive = (KeptWords(_with(kept, *more)) for more in _copied(mark))
            self._document._everywhere = self._archive._everywhere = self

    @property
    def has_words(self) -> bool:
        """Whether a text is forgotten, or only what was named."""
        return any(mark.words and mark.what not in ("row", *_NAMED) for mark in self._kept.every)

    def in_binary(self) -> Sought:
        """The same: a hash is that of a word."""
        return self

    def clean(self, text: str, found: Found) -> str:
        """The text with `[forgotten]` in its place."""
        return marked(text, self._kept.places(text), found)

    def clean_lines(self, text: str, found: Found) -> str:
        """A document without the lines that hold it."""
        return marked(text, self._kept.places(text), found, lines=True)


def _copied(mark: Mark) -> tuple[tuple[Forgotten, ...], tuple[Forgotten, ...]]:
    """What was looked for in documents, and in the archive."""
    return (mark.rows,), (mark.rows, mark.said)


def _with(kept: Forgotten, *more: Forgotten) -> Forgotten:
    """What is forgotten, here and there."""
    for one in more:
        if not kept:
            kept = one
        elif one.salt == kept.salt:
            kept = kept._replace(marks=tuple(dict.fromkeys((*kept.marks, *one.marks))))
        elif one:
            kept = kept._replace(others=(*kept.others, one))
    return kept
