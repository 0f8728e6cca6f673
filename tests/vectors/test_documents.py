"""How items stand in a collection: ids, documents and metadata as the crystallized system wrote them."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import clock
from nanomem_tui.store.values import Item
from nanomem_tui.vectors import documents
from nanomem_tui.vectors.documents import Ids, Place
from nanomem_tui.vectors.index import Entry


def fact(key: str, value: str, category: str = "person", **fields: Any) -> Item:
    parts = {"category": category, "key": key, "value": value, **fields}
    meta = json.dumps({"fact": parts})
    return Item(f"fact_{key}", f"{key}: {value}", meta_json=meta, updated_at="2026-03-01T10:00:00.5+00:00")


def test_a_fact_has_the_four_lines_and_the_metadata_of_the_seed() -> None:
    item = fact("имя", "Анна", domain="family", sub_category="relatives")
    assert documents.document(item) == "Domain: family\nКатегория: person\nКлюч: имя\nЗначение: Анна"
    marks = documents.metadata(Entry(item.id, "hash", item))
    moment = clock.parse("2026-03-01T10:00:00+00:00")
    assert moment is not None
    assert marks == {
        "type": "fact",
        "category": "person",
        "key": "имя",
        "value": "Анна",
        "domain": "family",
        "sub_category": "relatives",
        "updated_at": clock.local_naive(moment),
        "nanomem_id": item.id,
        "nanomem_hash": "hash",
    }
    assert documents.place_of(marks) == Place("family", "person", "имя")


def test_an_item_that_is_no_fact_has_a_type_and_an_id_of_its_own() -> None:
    item = Item("ltm_1", "likes tea", kind="preference")
    marks = documents.metadata(Entry("ltm_1", "hash", item))
    assert (marks["type"], marks["category"], marks["key"], marks["value"]) == (
        "item",
        "preference",
        "ltm_1",
        "likes tea",
    )
    assert documents.document(item) == "likes tea"
    assert documents.place_of(marks) is None
    ids = Ids()
    assert ids.change({"ltm_1": None}, ()) == {"ltm_1": "item::ltm_1"}


def put(ids: Ids, **places: Place | None) -> dict[str, str]:
    called = ids.change(places, ())
    ids.settle(called, ())
    return called


def remove(ids: Ids, *keys: str) -> dict[str, str]:
    called = ids.change({}, keys)
    ids.settle(called, keys)
    return called


def test_an_id_gains_the_domain_only_while_two_domains_share_category_and_key() -> None:
    ids = Ids()
    put(ids, a=Place("work", "person", "name"), x=Place("work", "person", "age"))
    assert ids.of == {"a": "fact::person::name", "x": "fact::person::age"}
    assert put(ids, b=Place("home", "person", "name")) == {
        "a": "fact::work::person::name",
        "b": "fact::home::person::name",
    }
    put(ids, c=Place("", "person", "name"))
    assert ids.of["c"] == "fact::person::name"
    remove(ids, "c")
    assert remove(ids, "b") == {"a": "fact::person::name"}
    assert ids.of == {"a": "fact::person::name", "x": "fact::person::age"}


def test_the_same_fact_of_two_chats_has_two_ids() -> None:
    ids = Ids()
    put(ids, a=Place("work", "person", "name"))
    put(ids, b=Place("work", "person", "name"))
    assert ids.of == {"a": "fact::person::name::a", "b": "fact::person::name::b"}


def test_two_colons_in_a_name_make_no_two_facts_one() -> None:
    ids = Ids()
    put(ids, a=Place("", "person::near", "name"))
    put(ids, b=Place("", "person", "near::name"))
    assert ids.of == {"a": "fact::person::near::name", "b": "fact::person::near::name::b"}


def test_two_that_change_at_once_never_get_one_id() -> None:
    ids = Ids()
    put(ids, u=Place("a", "p::q", "k"))
    put(ids, v=Place("a", "p::q", "k"))
    put(ids, u=Place("", "p", "q::k"))
    assert sorted(ids.items) == sorted(ids.of.values())
    assert len(set(ids.of.values())) == 2


NAMES = st.sampled_from(["", "a", "b"])
PLACES = st.none() | st.builds(Place, NAMES, st.sampled_from(["p", "p::q"]), st.sampled_from(["k", "q::k"]))


@given(st.lists(st.tuples(st.sampled_from("uvwxyz"), st.one_of(st.just("gone"), PLACES)), max_size=25))
def test_every_item_has_one_id_and_no_two_share_one(steps: list[tuple[str, Any]]) -> None:
    ids, there = Ids(), dict[str, Place | None]()
    for key, place in steps:
        if place == "gone":
            if key in there:
                del there[key]
                remove(ids, key)
        else:
            there[key] = place
            put(ids, **{key: place})
        assert set(ids.of) == set(there)
        assert {name: key for key, name in ids.of.items()} == ids.items
        domains = defaultdict(set)
        for found in filter(None, there.values()):
            domains[found[1:]].add(found.domain)
        for key_, found in there.items():
            if found is not None and found.domain and len(domains[found[1:]]) > 1:
                assert found.domain in ids.of[key_].split("::")
