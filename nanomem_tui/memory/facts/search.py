"""Search memory as seed 003's tool `memory_search` does: facts of a domain or category, else the nearest in meaning.

Falls back to words, with the reason, where semantic search is unavailable. Owns which of the three it is and the order
of the answers; `scopes` decides who sees what. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import chain, islice, zip_longest
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory import retention, scopes
from nanomem_tui.memory.facts.facts import Facts
from nanomem_tui.memory.items import Items
from nanomem_tui.memory.recall.meaning import ByMeaning, Near, NearestItems
from nanomem_tui.memory.recall.recall import MAX_QUERY, Question, Recall
from nanomem_tui.memory.recall.scoring import MAX_DISTANCE
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Fact, Hit, Item, fact_of
from nanomem_tui.vectors.embedders import share_known

LIMIT = 5
"""How many are given where nobody says how many (seed 003)."""
EVERY = 1_000_000_000
FEW = 4
"""How many times as many hits by words are asked for as are given, at first."""
READ = 0.5
"""The share of its letters that a model must know, for what it makes of a text to count."""
AUDIENCES = 32
NOTHING: Mapping[str, Any] = MappingProxyType({})

How = Literal["facts", "meaning", "words"]


class Meaning(NearestItems, Protocol):
    """What finds items by meaning: `vectors.semantic_search`."""

    @property
    def progress(self) -> str:
        """How far the embedding is, in words; empty when all is done."""


class Found(NamedTuple):
    """One answer: the item, its fact (None: it is none), and what found it.

    `how`: facts (it has the domain and the category), meaning, or words. `distance`: cosine distance, 0 to 2, to the
    query, None where it was not found by meaning; `is_near`: whether that is below `MAX_DISTANCE`.
    `score`: the higher the nearer, to be compared within one way of finding only. `parts`: what the score is made of.
    """

    item: Item
    fact: Fact | None
    how: How
    distance: float | None = None
    is_near: bool = True
    score: float = 0.0
    parts: Mapping[str, Any] = NOTHING

    @property
    def id(self) -> str:
        """The id of the item."""
        return self.item.id

    @property
    def text(self) -> str:
        """The words of the item; of a fact `key: value`."""
        return self.item.text

    @property
    def fields(self) -> dict[str, str | None]:
        """Domain, category, sub-category, key and value; empty for an item that is no fact."""
        return {name: getattr(self.fact, name) for name in _FIELDS} if self.fact is not None else {}

    def to_json(self) -> dict[str, Any]:
        """Return the answer as the command line prints it: a fact by its fields, and null in them for another item."""
        distance = None if self.distance is None else round(self.distance, 6)
        row = self.item.to_json()
        row |= {name: bool(row[name]) for name in ("enabled", "pinned", "is_deleted")}
        fields = {"domain": None, "category": None, "sub_category": None, "key": None, "value": None, **self.fields}
        head = {"id": self.id, "text": self.text, "score": round(self.score, 6), "parts": dict(self.parts)}
        return {**head, "how": self.how, "distance": distance, "is_near": self.is_near, **fields, **row, **head}


class _Shown(NamedTuple):
    """What an audience is given, of which state of the rows, and when (UTC ISO) the first of it expires."""

    counter: int
    until: str
    items: dict[str, Item]


class Answer(NamedTuple):
    """What was found, best first; `total`: how many facts there are of that domain and category (else the number of
    the results); `note`: why meaning had no part in it, or not all of it, empty when it had."""

    results: tuple[Found, ...]
    total: int
    note: str = ""


_FIELDS = ("domain", "category", "sub_category", "key", "value")


class MemorySearch:
    """Answers from the items of one workspace. May be called from any thread."""

    def __init__(
        self,
        store: MemoryStore,
        settings: Settings,
        items: Items,
        facts: Facts,
        recall: Recall,
        meaning: Callable[[], Meaning],
    ) -> None:
        self._store = store
        self._settings = settings
        self._items = items
        self._facts = facts
        self._recall = recall
        self._meaning = meaning
        self._shown: dict[tuple[scopes.Audience, bool], _Shown] = {}
        self._by_meaning = ByMeaning(meaning, settings)
        self._by_meaning.wanted = self._by_meaning.is_chosen = True  # whatever recall is to do: here it was asked for

    def __call__(
        self,
        query: str = "",
        domain: str | None = None,
        category: str | None = None,
        *,
        limit: int = LIMIT,
        audience: scopes.Audience | None = None,
        facts_only: bool = False,
        far: bool = False,
    ) -> Answer:
        """Return the answers, at most `limit`, of what `audience` may see (None: the owner, everything).

        With a domain or a category: the facts there, those that fit the query best first, and without a query the
        newest first. Else what is near to the query in meaning, or found by words, `facts_only`: of facts with fields;
        `far`: then also what is nearest and not near. Only what is enabled, accepted and not expired. Raises BadInput
        where neither is given, or for a malformed audience.
        """
        audience = audience or scopes.Audience()
        words = query.strip()[:MAX_QUERY]
        if domain is None and category is None:
            if not words:
                raise BadInput("nothing to look for", "query", "give words, a domain or a category")
            found, note = self._ranked(words, limit, audience, self._visible(audience, facts_only=facts_only))
            found = [one for one in found if far or one.is_near]
            return Answer(tuple(found), len(found), note)
        filed = [fact.id for fact in self._facts.all(domain=domain, category=category)]
        visible = self._visible(audience, facts_only=True)
        among = {key: visible[key] for key in filed if key in visible}
        found, note = self._ranked(words, limit, audience, among) if words and among else ([], "")
        first = [one.id for one in found]
        rest = islice((key for key in among if key not in first), limit - len(first))
        results = [*found, *(_found(among[key], "facts") for key in rest)]
        return Answer(tuple(one._replace(how="facts") for one in results), len(among), note)

    def names(self, audience: scopes.Audience | None = None) -> dict[str, dict[str, int]]:
        """Return how many visible facts each category of each domain has, `NO_DOMAIN` last."""
        visible = self._visible(audience or scopes.Audience(), facts_only=True)
        tree = self._facts.tree(fact for fact in self._facts.all() if fact.id in visible)
        return {domain: {name: len(facts) for name, facts in found.items()} for domain, found in tree.items()}

    def _visible(self, audience: scopes.Audience, *, facts_only: bool) -> dict[str, Item]:
        """Return the items or facts that an audience sees, by id, newest first; made once per change."""
        counter, now = self._store.load("item").counter, clock.iso(clock.now())
        known = self._shown.get((audience, facts_only))
        if known is not None and known.counter == counter and now < known.until:
            return known.items
        layer_of = scopes.visible_layers(
            audience,
            private_in_groups=self._settings.private_in_groups,
        )
        rows = (fact.item for fact in self._facts.all()) if facts_only else self._items.all()
        seen = [row for row in rows if row.enabled and layer_of(row) is not None]
        gone = {row.id for row in retention.find_expired(seen, self._settings, clock.now())}
        items = {row.id: row for row in seen if row.id not in gone}
        until = min((row.expires_at for row in items.values() if row.expires_at and row.expires_at > now), default="~")
        if len(self._shown) >= AUDIENCES:
            self._shown.clear()
        self._shown[audience, facts_only] = _Shown(counter, until, items)
        return items

    def _ranked(
        self, query: str, limit: int, audience: scopes.Audience, among: Mapping[str, Item]
    ) -> tuple[list[Found], str]:
        """Return those of `among` that fit the query, best first, at most `limit`, and why meaning did not find them
        alone.

        Words help out where the model reads not all of the query or has not embedded everything, and where it finds
        nothing near: it knows no part numbers and no names. What is not near comes last.
        """
        near = self._nearest(query, limit, among)
        note = near.why or self._meaning().progress
        by_meaning = [self._at(among[key], distance) for key, distance in near.distances.items()]
        if not note and near.read == 1 and any(one.is_near for one in by_meaning):
            return by_meaning[:limit], ""
        by_words = [
            _found(hit.item, "words", near.distances.get(hit.item.id), hit.score, hit.parts)
            for hit in self._hits(query, limit, audience, among)
        ]
        return sorted(_in_turns(by_words, by_meaning), key=lambda one: not one.is_near)[:limit], note

    def _nearest(self, query: str, limit: int, among: Mapping[str, Item]) -> Near:
        """Return the nearest of `among` in languages that the model reads: other texts are near to anything."""
        asked = limit
        while among and limit:
            near = self._by_meaning.near(query, asked, among.keys())
            items = {key: among[key] for key in near.distances if key in among}
            model = self._meaning().model
            readable = [key for key, row in items.items() if share_known(model, row.text) >= READ][:limit]
            if len(readable) == limit or len(near.distances) < asked:
                return near._replace(distances={key: near.distances[key] for key in readable})
            asked *= FEW
        return Near({})

    def _hits(self, query: str, limit: int, audience: scopes.Audience, among: Container[str]) -> list[Hit]:
        """Return the best of `among` by words: more are asked for while others stand before them."""
        asked = limit * FEW
        while True:
            question = Question(query, "", audience, limit=asked, max_chars=EVERY, whole=True)
            hits = self._recall.ask(question).hits
            found = [hit for hit in hits if hit.item.id in among][:limit]
            if len(found) == limit or len(hits) < asked:
                return found
            asked *= FEW * FEW

    def _at(self, item: Item, distance: float) -> Found:
        found = _found(item, "meaning", distance, 1 - distance, {"distance": round(distance, 6)})
        return found._replace(is_near=distance < MAX_DISTANCE)


def _found(
    item: Item, how: How, distance: float | None = None, score: float = 0.0, parts: Mapping[str, Any] = NOTHING
) -> Found:
    return Found(item, fact_of(item), how, distance, score=score, parts=parts)


def _in_turns(first: Sequence[Found], second: Sequence[Found]) -> list[Found]:
    found: dict[str, Found] = {}
    for one in chain.from_iterable(zip_longest(first, second)):
        if one is not None:
            found.setdefault(one.id, one)
    return list(found.values())
