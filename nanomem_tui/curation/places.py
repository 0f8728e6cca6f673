"""Everything that a person may want to go to, found by typing: screens, items, lessons, sessions, files and the rest.

Owns what there is to find and which of it comes first. It goes nowhere: a screen or a command does something with the
place. Reads in steps, so that a key never waits for the next 100,000 rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.errors import NanomemError
from nanomem_tui.memory.filters import Filter, Kind, Search, fold, parse
from nanomem_tui.store.values import fact_of

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

KINDS = (
    "screen", "file", "lesson", "note", "dream", "session", "summary", "journal", "reflection", "record", "fact",
    "item",
)  # fmt: skip
"""What there is to find, in the order in which what fits equally well is shown."""
FIELDS: Mapping[str, Kind] = {"kind": "text", "id": "text"}
STEP = 5_000  # rows between two looks whether another question came
LIMIT = 500
RECORDS = 100
LAST = 1_000_000  # the rank of a record: what is found by title stands before it
SHORTEST = 4  # characters of a word from which ids are looked at too, and what is similar


class Place(NamedTuple):
    """One place: the screen, the id of its row there ("" for the screen itself), and the words that name it.

    `part` tells which of several lists of that screen: the kind of a record. `title` is untrusted text.
    """

    kind: str
    screen: str
    row: str
    title: str
    at: str = ""
    part: str = ""


class Found(NamedTuple):
    """What was found so far: the best `places`, of how many, whether that is all, whether they are only similar."""

    places: Sequence[Place]
    total: int
    done: bool
    fuzzy: bool = False
    left_out: str = ""
    ranks: Sequence[tuple[int, int]] = ()
    """How well each of `places` fits, less is better: for who joins what several workspaces found."""


class _Chunk(NamedTuple):
    places: Sequence[Place]
    texts: Sequence[str]


class Places:
    """The places of one workspace, as they were when each was first looked at. Safe to ask from several threads."""

    def __init__(self, ws: Callable[[], Workspace], screens: Mapping[str, str]) -> None:
        """`screens`: their titles by name; `ws` is asked for the workspace when it is needed."""
        self._ws = ws
        self._screens = screens
        self._chunks: list[_Chunk] = []
        self._rest: Iterator[_Chunk] = self._read()
        self._lock = threading.Lock()
        self._failed: list[str] = []

    def find(
        self,
        query: str,
        limit: int = LIMIT,
        stop: Callable[[], bool] = lambda: False,
        *,
        similar: bool = True,
    ) -> Iterator[Found]:
        """What `query` (the language of filters; `kind:session` looks at one kind) may mean, better with each step.

        Ends early when `stop` says so. Where no words occur as they stand, what is `similar` to them.
        """
        wanted = parse(query, FIELDS)
        similar = similar and any(len(word) >= SHORTEST for word in wanted.words)
        for fuzzy in (False, True) if similar else (False,):
            best: list[tuple[int, int, int, Place]] = []
            total = 0
            for number, chunk in enumerate(self._all()):
                if stop():
                    return
                hits = _search(chunk, wanted, fuzzy=fuzzy)
                total += len(hits)
                best = nsmallest(limit, [*best, *_ranked(chunk, hits, wanted, number, fuzzy=fuzzy)])
                if hits:
                    yield Found([one[-1] for one in best], total, False, fuzzy, ranks=[one[:2] for one in best])
            records = [] if fuzzy else self._records(wanted)
            if total or records or fuzzy or not similar:
                places = [*(one[-1] for one in best), *records][:limit]
                ranks = [*(one[:2] for one in best), *((LAST, at) for at in range(len(records)))][:limit]
                yield Found(places, total + len(records), True, fuzzy, ", ".join(dict.fromkeys(self._failed)), ranks)
                return

    def _all(self) -> Iterator[_Chunk]:
        """Every chunk: those that were read first, then those still to be read."""
        at = 0
        while True:
            with self._lock:
                if at == len(self._chunks):
                    more = next(self._rest, None)
                    if more is None:
                        return
                    self._chunks.append(more)
                chunk = self._chunks[at]
            at += 1
            yield chunk

    def _read(self) -> Iterator[_Chunk]:
        sources: Sequence[tuple[str, Callable[[Workspace], Iterable[Place]]]] = (
            ("files", _files), ("lessons", _lessons), ("notes", _notes), ("dreams", _dreams), ("sessions", _sessions),
            ("archive", _summaries), ("journal", _journal), ("reflections", _reflections), ("items", _items),
        )  # fmt: skip
        yield _chunk([Place("screen", name, "", title) for name, title in self._screens.items()])
        for name, source in sources:
            try:
                places = iter(source(self._ws()))
                while some := list(islice(places, STEP)):
                    yield _chunk(some)
            except (NanomemError, OSError):  # one that cannot be read hides none of the others
                self._failed.append(name)

    def _records(self, wanted: Filter) -> list[Place]:
        """Records of the agent's work: they lie in a database that searches words by itself."""
        words = " ".join((*wanted.words, *wanted.phrases))
        test = wanted.predicate(_field)
        if not words or (test is not None and not test(Place("record", "trail", "", ""))):
            return []
        try:
            hits = self._ws().records.search(words, limit=RECORDS)
        except (NanomemError, OSError):
            self._failed.append("records")
            return []
        found = [
            Place("record", "trail", hit.record.id, hit.record.title, hit.record.at, hit.record.kind) for hit in hits
        ]
        return sorted(found, key=lambda place: not all(word in fold(place.title) for word in wanted.words))


def _chunk(places: list[Place]) -> _Chunk:
    return _Chunk(places, [fold(place.title) for place in places])


def _field(place: Place, name: str) -> str:
    return place.kind if name == "kind" else place.row


def _search(chunk: _Chunk, wanted: Filter, *, fuzzy: bool) -> list[int]:
    test = wanted.predicate(_field)
    accept = None if test is None else lambda index: test(chunk.places[index])
    found = Search(chunk.texts, wanted, accept, fuzzy=fuzzy).run()
    if fuzzy:
        return list(found.indexes) if found.fuzzy else []
    hits = list(found.indexes)
    one_word = len(wanted.words) == 1 and not wanted.phrases and len(wanted.words[0]) >= SHORTEST
    if one_word:  # an id that was copied from somewhere
        known, word = set(hits), wanted.words[0]
        hits += [
            index
            for index, place in enumerate(chunk.places)
            if place.row[: len(word)].lower() == word and index not in known and (accept is None or accept(index))
        ]
    return hits


def _ranked(
    chunk: _Chunk, hits: Sequence[int], wanted: Filter, number: int, *, fuzzy: bool
) -> list[tuple[int, int, int, Place]]:
    """The hits with what they are sorted by: how the words stand in them, their kind, the order they came in."""
    words = wanted.words + wanted.phrases
    ranked = []
    for order, index in enumerate(hits):
        text, place = chunk.texts[index], chunk.places[index]
        rank = order if fuzzy else sum(_rank(text, word) for word in words)
        ranked.append((rank, KINDS.index(place.kind), number * STEP + order, place))
    return ranked


def _rank(text: str, word: str) -> int:
    at = text.find(word)
    return 0 if at == 0 else 1 if at > 0 and not text[at - 1].isalnum() else 2


# What there is of each kind


def _files(ws: Workspace) -> Iterable[Place]:
    return (Place("file", "files", name, name) for name in ws.documents.names())


def _lessons(ws: Workspace) -> Iterable[Place]:
    for row in ws.lessons.all():
        yield Place("lesson", "lessons", row.id, f"{row.trigger} → {row.better_action}", row.updated_at)


def _notes(ws: Workspace) -> Iterable[Place]:
    return (Place("note", "notes", note.name, note.name, note.updated_at) for note in ws.notes.list())


def _dreams(ws: Workspace) -> Iterable[Place]:
    return (Place("dream", "dream", commit.sha, commit.subject, commit.at) for commit in ws.dream.commits())


def _sessions(ws: Workspace) -> Iterable[Place]:
    for info in ws.sessions.list():
        hidden = info.hidden_reason and not info.imported
        row = f"{info.key} ({info.path})" if hidden else info.key
        yield Place("session", "sessions", row, f"{info.key} {info.title}".strip(), info.updated_at)


def _summaries(ws: Workspace) -> Iterable[Place]:
    for entry in ws.history.entries():
        yield Place("summary", "archive", f"{entry.cursor}:{entry.line}", entry.content, entry.timestamp)
    for old in ws.history.old():
        yield Place("summary", "archive", old.id, old.entry.content, old.entry.timestamp)


def _journal(ws: Workspace) -> Iterable[Place]:
    return (Place("journal", "journal", row.id, f"{row.about} {row.text}", row.at) for row in ws.journal.entries())


def _reflections(ws: Workspace) -> Iterable[Place]:
    for row in ws.reflections.all():
        yield Place("reflection", "reflections", row.id, f"{row.about} {row.text}", row.at)


def _items(ws: Workspace) -> Iterable[Place]:
    rows = [*ws.items.all(), *ws.items.foreign()]
    for row in rows:
        kind, screen = ("item", "items") if fact_of(row) is None else ("fact", "knowledge")
        yield Place(kind, screen, row.id, row.text, row.updated_at)
