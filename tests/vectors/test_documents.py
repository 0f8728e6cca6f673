"""How items stand in a collection: ids, documents and metadata as the crystallized system wrote them."""

import json

from nanomem_tui.core import clock
from nanomem_tui.store.values import Item
from nanomem_tui.vectors import outside


def fact(key, value, category="person", **fields):
    parts = {"category": category, "key": key, "value": value, **fields}
    meta = json.dumps({"fact": parts})
    return Item(f"fact_{key}", f"{key}: {value}", meta_json=meta, updated_at="2026-03-01T10:00:00.5+00:00")


def test_a_fact_has_the_four_lines_and_the_metadata_of_the_seed():
    item = fact("имя", "Анна", domain="family", sub_category="relatives")
    assert outside.document(item) == "Domain: family\nКатегория: person\nКлюч: имя\nЗначение: Анна"
    marks = outside.metadata(item, "hash")
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


def test_an_item_that_is_no_fact_has_a_type_and_an_id_of_its_own():
    item = Item("ltm_1", "likes tea", kind="preference")
    marks = outside.metadata(item, "hash")
    assert (marks["type"], marks["category"], marks["key"], marks["value"]) == (
        "item",
        "preference",
        "ltm_1",
        "likes tea",
    )
    assert outside.document(item) == "likes tea"
    assert outside.ids_of(item) == ["item::ltm_1"]


def test_a_fact_may_have_the_id_of_the_seed_then_one_with_its_domain_then_one_of_its_own():
    assert outside.ids_of(fact("name", "Ana", domain="work")) == [
        "fact::person::name", "fact::work::person::name", "fact::work::person::name::fact_name",
    ]  # fmt: skip
    assert outside.ids_of(fact("name", "Ana")) == ["fact::person::name", "fact::person::name::fact_name"]
