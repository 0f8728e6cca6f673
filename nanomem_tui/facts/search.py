"""Searching the memory as seed 003's tool `memory_search` does: with a domain or a category the facts there, else what
is nearest in meaning; by words where nothing can be found by meaning, with the reason.

Owns which of the three it is, and in what order the answers stand. Who sees what is decided in `scopes`. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, Literal, NamedTuple, Protocol

from nanomem_tui import clock
from nanomem_tui.errors import BadInput
from nanomem_tui.facts.facts import NO_DOMAIN, Facts
from nanomem_tui.memory import retention, scopes
from nanomem_tui.memory.by_meaning import ByMeaning, Near, NearestItems
from nanomem_tui.memory.fact_fields import Fact, fact_of
from nanomem_tui.memory.items import Items
from nanomem_tui.memory.questions import MAX_QUERY, Question
from nanomem_tui.memory.recall import Recall
from nanomem_tui.settings import Settings
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Item

LIMIT = 5
"""How many are given where nobody says how many (seed 003)."""
EVERY = 1_000_000_000

How = Literal["facts", "meaning", "words"]


class Meaning(NearestItems, Protocol):
    """What finds items by meaning: `vectors.meaning`."""

    @property
    def progress(self) -> str:
        """How far the embedding is, in words; empty when all is done."""


class Found(NamedTuple):
    """One answer: the item, its fact (None: it is none), and what found it.

    `how`: facts (it has the domain and the category), meaning, or words. `distance`: cosine distance, 0 to 2, to the
    query, None where it was not found by meaning; `is_near`: whether that is below the setting `recall_max_distance`.
    `score`: the higher the nearer, to be compared within one way of finding only. `parts`: what the score is made of.
    """

    item: Item
    fact: Fact | None
    how: How
    distance: float | None = None
    is_near: bool = True
    score: float = 0.0
    parts: Mapping[str, Any] = {}

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
        """The answer as the command line prints it: a fact by its fields, and null in them for another item."""
        distance = None if self.distance is None else round(self.distance, 6)
        row = self.item.to_json()
        row |= {name: bool(row[name]) for name in ("enabled", "pinned", "is_deleted")}
        fields = {"domain": None, "category": None, "sub_category": None, "key": None, "value": None, **self.fields}
        head = {"id": self.id, "text": self.text, "score": round(self.score, 6), "parts": dict(self.parts)}
        return {**head, "how": self.how, "distance": distance, "is_near": self.is_near, **fields, **row, **head}


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
        self._by_meaning = ByMeaning(meaning, settings)
        self._by_meaning.wanted = True  # whatever recall is to do: here it is what was asked for

    def __call__(
        self,
        query: str = "",
        domain: str | None = None,
        category: str | None = None,
        *,
        limit: int = LIMIT,
        audience: scopes.Audience | None = None,
        facts_only: bool = False,
    ) -> Answer:
        """The answers, at most `limit`, of what `audience` may see (None: the owner, everything).

        With a domain or a category: the facts there, those that fit the query best first, and without a query the
        newest first. Else what is nearest to the query in meaning, far or not, `facts_only`: of facts with fields. Only
        what is enabled, accepted and not expired. Raises BadInput where neither is given, or for a malformed audience.
        """
        audience = audience or scopes.Audience()
        words = query.strip()[:MAX_QUERY]
        if domain is None and category is None:
            if not words:
                raise BadInput("nothing to look for", "query", "give words, a domain or a category")
            return self._anywhere(words, limit, audience, facts_only=facts_only)
        rows = (fact.item for fact in self._facts.all(domain=domain, category=category))
        facts = {item.id: Found(item, fact_of(item), "facts") for item in self._visible(rows, audience)}
        if not words or not facts:
            return Answer(tuple(facts.values())[:limit], len(facts))
        found, note = self._ranked(words, limit, audience, facts)
        known = {one.id for one in found}
        found += [one for key, one in facts.items() if key not in known]
        return Answer(tuple(one._replace(how="facts") for one in found[:limit]), len(facts), note)

    def names(self, audience: scopes.Audience | None = None) -> dict[str, dict[str, int]]:
        """The domains that the audience may see, `NO_DOMAIN` last, and how many facts each of their categories has."""
        found: dict[str, dict[str, int]] = {}
        facts = self._visible((fact.item for fact in self._facts.all()), audience or scopes.Audience())
        for fact in filter(None, map(fact_of, facts)):
            of_domain = found.setdefault(fact.domain or NO_DOMAIN, {})
            of_domain[fact.category] = of_domain.get(fact.category, 0) + 1
        return {
            name: dict(sorted(found[name].items())) for name in sorted(found, key=lambda one: (one == NO_DOMAIN, one))
        }

    def _anywhere(self, query: str, limit: int, audience: scopes.Audience, *, facts_only: bool) -> Answer:
        rows = (fact.item for fact in self._facts.all()) if facts_only else self._items.all()
        visible = {item.id: Found(item, fact_of(item), "words") for item in self._visible(rows, audience)}
        found, note = self._ranked(query, limit, audience, visible)
        return Answer(tuple(found[:limit]), len(found[:limit]), note)

    def _visible(self, rows: Iterable[Item], audience: scopes.Audience) -> list[Item]:
        """Those of them that are given, and that the audience may see."""
        layer_of = scopes.layers(audience, with_global=self._settings.recall_global)
        seen = [row for row in rows if row.enabled and not row.waits and layer_of(row) is not None]
        gone = {row.id for row in retention.expired(seen, self._settings, clock.now())}
        return [row for row in seen if row.id not in gone] if gone else seen

    def _ranked(
        self, query: str, limit: int, audience: scopes.Audience, among: Mapping[str, Found]
    ) -> tuple[list[Found], str]:
        """Those of `among` that fit the query, best first, and why meaning did not find them alone.

        Words help out where the model reads not all of the query or has not embedded everything, and where it finds
        nothing near: it knows no part numbers and no names.
        """
        near = self._by_meaning.near(query, limit, among.keys()) if among and limit else Near({})
        note = near.why or self._meaning().progress
        by_meaning = [self._at(among[key], distance) for key, distance in near.distances.items() if key in among]
        if not note and near.read == 1 and any(one.is_near for one in by_meaning):
            return by_meaning, ""
        question = Question(query, "", audience, limit=EVERY, max_chars=EVERY, whole=True)
        hits = [hit for hit in self._recall.ask(question).hits if hit.item.id in among][:limit]
        by_words = [
            among[hit.item.id]._replace(
                how="words", distance=near.distances.get(hit.item.id), score=hit.score, parts=hit.parts
            )
            for hit in hits
        ]
        return _in_turns(by_words, by_meaning), note

    def _at(self, found: Found, distance: float) -> Found:
        """What was found by meaning at that distance."""
        is_near = distance < self._settings.recall_max_distance
        parts = {"distance": round(distance, 6)}
        return found._replace(how="meaning", distance=distance, is_near=is_near, score=1 - distance, parts=parts)


def _in_turns(first: Sequence[Found], second: Sequence[Found]) -> list[Found]:
    """Both in one list, in turns, each answer once."""
    found: dict[str, Found] = {}
    for one in chain.from_iterable(zip_longest(first, second)):
        if one is not None:
            found.setdefault(one.id, one)
    return list(found.values())
