"""What is sought: secrets by their shapes, and what a person wants to be forgotten, by its words, its id, its session,
its sender; and by the hashes that are kept of it, for what an interrupted forget or a restore left. Pure.

By its hash a text is met whole; of one that was cut in a label only the label of an operation that held it goes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.language import secrets
from nanomem_tui.store import forgotten
from nanomem_tui.store.forgotten import (
    UNSPACED,
    Forgotten,
    Interrupted,
    Runs,
    forgotten_names,
    merge_overlaps,
    run_of,
    with_mark,
)
from nanomem_tui.store.snapshot import SAID_AGAIN

Found = Counter[str]
"""How often each thing was found: `kind #fingerprint` of secrets, "text" of what is to be forgotten."""
Tell = Callable[[str, Found], None]
"""Is told what was found where: the table or the file, and the counts."""
SHORTEST, SHORTEST_UNSPACED = 3, 2
"""Characters that a text to forget has at least: less stands in everything. Without spaces a name has two."""
FEW = 64
"""Texts that are looked for in the bytes of files."""
_GONE = "\x00"
_UNSPACED = re.compile(f"[{UNSPACED}]")
_IDS = ("id", "item_id", "turn")
_SESSIONS = ("session_key", "session", "session_id")


class Marks(NamedTuple):
    """By what a line of a log or a row is told to belong to what is forgotten: ids (of turns too), keys of sessions,
    senders."""

    ids: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    senders: frozenset[str] = frozenset()

    def has_session(self, key: str) -> bool:
        """Whether a key is that of a session, or of what is kept of one chat of it."""
        return any(name in self.sessions for name in forgotten_names("session", key))

    def has_sender(self, key: str) -> bool:
        """Whether a name is that of a sender, or of the scope of one."""
        return any(name in self.senders for name in forgotten_names("sender", key))

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


class Sought:
    """What is looked for; this one is nothing. `whole`: a row that holds it goes as a whole; else the row stays
    without it. `texts`: what is looked for by its words, the longest first."""

    whole = True
    texts: tuple[str, ...] = ()
    copied = Copied()

    def __init__(self, marks: Marks | None = None) -> None:
        self.marks = marks or Marks()
        self._everywhere = self._document = self._archive = self

    @property
    def has_words(self) -> bool:
        """Whether words are looked for, which a name may hold too; ids, sessions and senders have fields."""
        return False

    def _places(self, _text: str) -> Sequence[tuple[int, int]]:
        return ()

    def clean(self, text: str, found: Found) -> str:
        """The text without it; what was in it is counted in `found`."""
        return marked(text, self._places(text), found)

    def clean_lines(self, text: str, found: Found) -> str:
        """A document without the lines that hold it: what is left of such a line says what it was about."""
        return marked(text, self._places(text), found, lines=True)

    def drops(self, key: str) -> bool:
        """Whether the field of that name goes as a whole: what a table by sessions has of one."""
        return self.marks.has_session(key)

    def takes(self, value: Mapping[str, Any]) -> bool:
        """Whether a line of a log goes as a whole, by what it says of itself: its id, its session, its sender."""
        return self.marks.mean(value)

    def at(self, where: str) -> Sought:
        """What is looked for in the file of that name: what rows say in documents too, what was said in the archive."""
        name = where.rpartition("/")[2]
        if name in ("history.jsonl", "HISTORY.md"):
            return self._archive
        return self._document if name.endswith((".md", ".txt")) else self

    def of_line(self, value: Mapping[str, Any]) -> Sought:
        """What is looked for in a row, a message, an entry: in another session's stays what only reads like it."""
        of_somebody = "id" in value or "role" in value or isinstance(value.get("session_key"), str)
        return self._everywhere if of_somebody else self

    def in_binary(self) -> Sought:
        """What is looked for in bytes that are no text: the letters beside it there are no part of its word."""
        return self


def is_long_enough(text: str) -> bool:
    """Whether a text says something by itself: less stands in everything. A character is a word in some writings."""
    bare = "".join(text.split())
    return len(bare) >= (SHORTEST_UNSPACED if _UNSPACED.search(bare) else SHORTEST)


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


_HARMLESS = re.compile(
    r"[a-z_]{0,24}|\d{4}-\d\d-\d\dT[\d:.]{5,15}(?:Z|\+00:00)?|[a-z]{1,12}_\d{8,}(?:_\d+)*|[0-9a-f]{24}|[0-9a-f]{64}"
)
"""Texts that are no words of anybody: names of states, times, ids, hashes. Rows are full of them."""
_known = lru_cache(1 << 16)(secrets.find)
SHORTEST_ALONE = 8
"""Characters of a secret that is looked for where nothing beside it tells it; twice as many without a digit."""
_ID = re.compile(r"[0-9a-f]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""What names a workspace, or a thing elsewhere: taken out of a file of ours it would name nothing any more."""
SHORT = 40
"""Characters of texts that rows hold again and again: names of chats, of tools, of states."""


def _is_told_by_its_place(value: str) -> bool:
    """Whether a text that only its place tells is a secret wherever it stands: no word, no id, no number."""
    if _HARMLESS.fullmatch(value) or _ID.fullmatch(value) or _known(value):
        return False
    mixed = any(one.isalpha() for one in value) and any(one.isdigit() for one in value)
    return len(value) >= (SHORTEST_ALONE if mixed else 2 * SHORTEST_ALONE)


class Secrets(Sought):
    """Secrets: each is replaced by its kind and a fingerprint.

    One that only the words beside it tell, as a password, is remembered where it is met: `everywhere` looks for it
    where it stands alone, too.
    """

    whole = False

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """`values`: those that were met before, and what is put in their place."""
        super().__init__()
        self._values = dict(values or {})
        self._met: dict[str, str] = {}

    def everywhere(self) -> Secrets | None:
        """What is looked for in a second look, wherever it stands; None: the first one has told all."""
        more = {value: name for value, name in self._met.items() if value not in self._values}
        return Secrets({**self._values, **more}) if more else None

    def clean(self, text: str, found: Found) -> str:
        """The text with each secret masked."""
        if _HARMLESS.fullmatch(text):
            return text
        told = _known(text) if len(text) <= SHORT else secrets.find(text)
        places = [(one.start, one.end, f"{one.kind} #{one.fingerprint}") for one in told]
        for start, end, name in places:
            if len(self._met) < FEW and _is_told_by_its_place(text[start:end]):
                self._met[text[start:end]] = name
        if self._values:
            places = sorted([*places, *self._alone(text, places)])
        parts, last = [], 0
        for start, end, name in places:
            found[name] += 1
            parts += [text[last:start], f"[{name}]"]
            last = end
        return "".join((*parts, text[last:])) if parts else text

    def _alone(self, text: str, told: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
        """Where a value that was met elsewhere stands, as a word, in no secret that is told already."""
        taken = list(told)
        for value, name in self._values.items():
            start = text.find(value)
            while start >= 0:
                end = start + len(value)
                bounds = text[max(0, start - 1) : start], text[end : end + 1]
                free = not any(start < stop and begin < end for begin, stop, _ in taken)
                if free and not any(one.isalnum() for one in bounds):
                    taken.append((start, end, name))
                    yield start, end, name
                start = text.find(value, end)

    clean_lines = clean


class Words(Sought):
    """Texts that a person wants to be forgotten: by their words, whatever their case and what stands between them."""

    def __init__(
        self,
        texts: Iterable[str],
        marks: Marks | None = None,
        copied: Copied | None = None,
        parts: Iterable[str] = (),
    ) -> None:
        """`parts`: texts that are met inside longer words too, which go as a whole then."""
        super().__init__(marks)
        sought = {" ".join(text.split()) for text in texts}
        self.texts = tuple(sorted(filter(is_long_enough, sought), key=len, reverse=True))
        self._parts = forgotten.parts_pattern(parts)
        self._runs = Runs(run_of(text) for text in self.texts)
        self._binary: Words | None = None
        if copied is not None and any(copied):
            self.copied = copied
            self._document = self._with(copied.rows)
            self._archive = self._with((*copied.rows, *copied.said))

    def _with(self, more: Sequence[str]) -> Words:
        made = Words((*self.texts, *more), self.marks)
        made._everywhere, made._parts = self, self._parts
        return made

    @property
    def has_words(self) -> bool:
        return bool(self._runs) or self._parts is not None

    def in_binary(self) -> Sought:
        if self._binary is None:  # the fields of a row of a database stand there with nothing between them
            self._binary = Words(self.texts, self.marks, parts=self.texts)
        return self._binary

    def clean(self, text: str, found: Found) -> str:
        cleaned = super().clean(text, found)
        return marked(cleaned, self._runs.cut_in(cleaned), found)

    def _places(self, text: str) -> list[tuple[int, int]]:
        found = self._runs.found_in(text)
        if self._parts is None:
            return found
        return merge_overlaps([*found, *forgotten.parts_found_in(text, self._parts)])


class LongerWords(Words):
    """The longer words that texts stand in, for who asks how many there are: where a text is a word it is none."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__((), parts=texts)
        self._whole = Runs(run_of(text) for text in texts)

    def in_binary(self) -> Sought:
        return Sought()  # there is no telling what is a word

    def _places(self, text: str) -> list[tuple[int, int]]:
        inside = super()._places(text)
        whole = self._whole.found_in(text) if inside else []
        return [place for place in inside if not any(a < place[1] and place[0] < b for a, b in whole)]


_NAMED = ("id", "session", "sender")


class _Hashed(frozenset[str]):
    """Names of which only hashes are kept: `in` works, but they cannot be listed."""

    _what: str
    _kept: Forgotten

    @classmethod
    def of_kind(cls, kept: Forgotten, what: str) -> _Hashed:
        """Those of a kind: `id`, `session`, `sender`."""
        made = cls()
        made._what, made._kept = what, kept
        return made

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._kept.named(self._what, name) is not None

    def __bool__(self) -> bool:
        return any(mark.what == self._what for mark in self._kept.every)


class KeptWords(Sought):
    """What `forgotten.json` says, as something to be looked for."""

    def __init__(self, kept: Forgotten, mark: Interrupted | None = None) -> None:
        """`mark`: of a forget that was interrupted, which tells what else it looked for."""
        if mark is not None:
            kept = kept.joined(mark.kept).joined(mark.sought)
        super().__init__(Marks(*(_Hashed.of_kind(kept, what) for what in _NAMED)))
        self._kept = kept
        if mark is not None:
            self._document = KeptWords(kept.joined(mark.rows))
            self._archive = KeptWords(kept.joined(mark.rows).joined(mark.said))
            self._document._everywhere = self._archive._everywhere = self

    @property
    def has_words(self) -> bool:
        return any(mark.words and mark.what not in ("row", *_NAMED) for mark in self._kept.every)

    def _places(self, text: str) -> list[tuple[int, int]]:
        return self._kept.places(text)
