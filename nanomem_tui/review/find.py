"""Find anything by typing: screens, items, lessons, sessions, files and the rest, best match first.

Owns what there is to find and the order. Reads in steps, so that a key never waits for 100,000 rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.language import times_asked
from nanomem_tui.language.times_asked import Span, TimeAsked
from nanomem_tui.memory.filters import Filter, Kind, Search, fold, parse
from nanomem_tui.memory.recall import said_on, times
from nanomem_tui.store.values import fact_of

if TYPE_CHECKING:
    from nanomem_tui.review.parts import ReviewedMemory

KINDS = (
    "screen", "file", "lesson", "note", "dream", "session", "summary", "journal", "reflection", "record", "fact",
    "item",
)  # fmt: skip
"""What there is to find, in the order in which what fits equally well is shown."""
FIELDS: Mapping[str, Kind] = {"kind": "text", "id": "text"}
STEP = 5_000  # rows between two looks whether another question came
LIMIT = 500
RECORDS = 100
TIMELY = -1  # the rank of what is of the time that is asked for
LAST = 1_000_000  # the rank of a record: what is found by title stands before it
SHORTEST = 4  # characters of a word from which ids are looked at too, and what is similar


class Place(NamedTuple):
    """One place: the screen, the id of its row there ("" for the screen itself), and the words that name it.

    `part` tells which of several lists of that screen: the kind of a record. `title` is untrusted text. `said`: when it
    was said, where that is not `at`.
    """

    kind: str
    screen: str
    row: str
    title: str
    at: str = ""
    part: str = ""
    said: str = ""


class Found(NamedTuple):
    """What was found so far: the best `places`, of how many, whether that is all, whether they are only similar."""

    places: Sequence[Place]
    total: int
    done: bool
    fuzzy: bool = False
    left_out: str = ""
    ranks: Sequence[tuple[int, int]] = ()
    """How well each of `places` fits, less is better: for who joins what several workspaces found."""
    time: TimeAsked | None = None
    """The time that was asked for."""


class _Chunk(NamedTuple):
    places: Sequence[Place]
    texts: Sequence[str]


class _Timed(NamedTuple):
    """The time of a query: what was asked, what else a place must hold, and whether one is of that time."""

    asked: TimeAsked
    wanted: Filter
    fits: Callable[[Place], bool]


class Places:
    """The places of one workspace, as they were when each was first looked at. Safe to ask from several threads."""

    def __init__(self, ws: Callable[[], ReviewedMemory], screens: Mapping[str, str]) -> None:
        """`screens`: their titles by name; `ws` is asked for the workspace when it is needed."""
        self._ws = ws
        self._screens = screens
        self._chunks: list[_Chunk] = []
        self._rest: Iterator[_Chunk] = self._read()
        self._lock = threading.Lock()
        self._failed: list[str] = []
        self._days: dict[object, tuple[Span, ...]] = {}

    def find(
        self,
        query: str,
        limit: int = LIMIT,
        stop: Callable[[], bool] = lambda: False,
        *,
        similar: bool = True,
        within: Span | None = None,
    ) -> Iterator[Found]:
        """Yield what `query` (the language of filters; `kind:session` looks at one kind) may mean, better with each
        step.

        Ends early when `stop` says so. Where no words occur as they stand, what is `similar` to them. What was said at
        a time that the words name, or is about it, stands first, and needs to hold the other words alone. `within`:
        only what was said in these days, or is about them.
        """
        wanted = parse(query, FIELDS)
        keep = self._of_days([within]) if within is not None else None
        timed = self._timed(query, keep)
        time = timed.asked if timed is not None else None
        similar = similar and any(len(word) >= SHORTEST for word in wanted.words)
        for fuzzy in (False, True) if similar else (False,):
            best: list[tuple[int, int, int, Place]] = []
            total = 0
            for number, chunk in enumerate(self._all()):
                if stop():
                    return
                hits = _search(chunk, wanted, keep, fuzzy=fuzzy)
                ranked = _ranked(chunk, hits, wanted, number, fuzzy=fuzzy)
                if timed is not None and not fuzzy:
                    timely = _search(chunk, timed.wanted, timed.fits, fuzzy=False)
                    kept = frozenset(timely)
                    ranked = [one for one, index in zip(ranked, hits, strict=True) if index not in kept]
                    ranked += [(TIMELY, *one[1:]) for one in _ranked(chunk, timely, timed.wanted, number, fuzzy=False)]
                    hits = [*hits, *kept.difference(hits)]
                total += len(hits)
                best = nsmallest(limit, [*best, *ranked])
                if hits:
                    ranks = [one[:2] for one in best]
                    yield Found([one[-1] for one in best], total, False, fuzzy, ranks=ranks, time=time)
            records = [] if fuzzy else self._records(wanted, keep)
            if total or records or fuzzy or not similar:
                places = [*(one[-1] for one in best), *records][:limit]
                ranks = [*(one[:2] for one in best), *((LAST, at) for at in range(len(records)))][:limit]
                failed = ", ".join(dict.fromkeys(self._failed))
                yield Found(places, total + len(records), True, fuzzy, failed, ranks, time)
                return

    def _timed(self, query: str, keep: Callable[[Place], bool] | None) -> _Timed | None:
        """Return the time that a query names, and the rest of its words; None where it names none."""
        if not times_asked.may_name(query):
            return None

        asked = times_asked.asked(query, times.today(self._ws().paths))
        if asked is None:
            return None
        rest, fits = parse(asked.rest, FIELDS), self._of_days(asked.spans)
        if times_asked.tells_nothing(" ".join(rest.words)):
            rest = replace(rest, words=())
        return _Timed(asked, rest, fits if keep is None else lambda place: keep(place) and fits(place))

    def _of_days(self, spans: Sequence[Span]) -> Callable[[Place], bool]:
        """Return what tells whether a place was said in some days, or is about them."""
        zone = said_on.agent_zone(self._ws().paths)

        def is_of(place: Place) -> bool:
            day = times.day_of(place.said or place.at, zone)
            if day is None:
                return False
            key = (place.kind, place.row, place.said or place.at, place.title)
            if key not in self._days:
                self._days[key] = times.days_of(place.title, day.isoformat())
            return any(span.holds(own) for own in self._days[key] for span in spans)

        return is_of

    def _all(self) -> Iterator[_Chunk]:
        """Yield every chunk: those that were read first, then those still to be read."""
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
        sources: Sequence[tuple[str, Callable[[ReviewedMemory], Iterable[Place]]]] = (
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

    def _records(self, wanted: Filter, keep: Callable[[Place], bool] | None) -> list[Place]:
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
        found = [place for place in found if keep is None or keep(place)]
        return sorted(found, key=lambda place: not all(word in fold(place.title) for word in wanted.words))


def _chunk(places: list[Place]) -> _Chunk:
    """A list is found by its title and by the name that settings and `--snapshot` have for it."""
    return _Chunk(places, [fold(f"{one.title} {one.screen}" if one.kind == "screen" else one.title) for one in places])


def _field(place: Place, name: str) -> str:
    return place.kind if name == "kind" else place.row


def _search(chunk: _Chunk, wanted: Filter, keep: Callable[[Place], bool] | None, *, fuzzy: bool) -> list[int]:
    tests = [test for test in (wanted.predicate(_field), keep) if test is not None]
    accept = (lambda index: all(test(chunk.places[index]) for test in tests)) if tests else None
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
    """Return the hits with what they are sorted by: how the words stand in them, their kind, the order they came in."""
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


def _files(ws: ReviewedMemory) -> Iterable[Place]:
    return (Place("file", "files", name, name) for name in ws.documents.names())


def _lessons(ws: ReviewedMemory) -> Iterable[Place]:
    for row in ws.lessons.all():
        yield Place("lesson", "lessons", row.id, f"{row.trigger} → {row.better_action}", row.updated_at)


def _notes(ws: ReviewedMemory) -> Iterable[Place]:
    return (Place("note", "notes", note.name, note.name, note.updated_at) for note in ws.notes.list())


def _dreams(ws: ReviewedMemory) -> Iterable[Place]:
    return (Place("dream", "dream", commit.sha, commit.subject, commit.at) for commit in ws.dream.commits())


def _sessions(ws: ReviewedMemory) -> Iterable[Place]:
    for info in ws.sessions.list():
        hidden = info.hidden_reason and not info.imported
        row = f"{info.key} ({info.path})" if hidden else info.key
        yield Place("session", "sessions", row, f"{info.key} {info.title}".strip(), info.updated_at)


def _summaries(ws: ReviewedMemory) -> Iterable[Place]:
    for entry in ws.history.entries():
        yield Place("summary", "archive", f"{entry.cursor}:{entry.line}", entry.content, entry.timestamp)
    for old in ws.history.old():
        yield Place("summary", "archive", old.id, old.entry.content, old.entry.timestamp)


def _journal(ws: ReviewedMemory) -> Iterable[Place]:
    return (Place("journal", "journal", row.id, f"{row.about} {row.text}", row.at) for row in ws.journal.entries())


def _reflections(ws: ReviewedMemory) -> Iterable[Place]:
    for row in ws.reflections.all():
        yield Place("reflection", "reflections", row.id, f"{row.about} {row.text}", row.at)


def _items(ws: ReviewedMemory) -> Iterable[Place]:
    rows = [*ws.items.all(), *ws.items.foreign()]
    for row in rows:
        kind, screen = ("item", "items") if fact_of(row) is None else ("fact", "knowledge")
        yield Place(kind, screen, row.id, row.text, row.updated_at, said=said_on.day_noted(row) or row.created_at)
