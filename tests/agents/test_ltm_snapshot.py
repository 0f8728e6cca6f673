from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.snapshot_files import LtmItem, LtmSnapshot, dump_snapshot, parse_snapshot

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = {"id", "text", "source", "session_key", "created_at", "updated_at", "hits"}
ITEMS = st.builds(
    lambda **fields: LtmItem(**fields),
    id=TEXT.filter(bool),
    text=TEXT,
    source=TEXT,
    session_key=TEXT,
    created_at=TEXT,
    updated_at=TEXT,
    hits=st.integers(0, 10**9),
    extra=st.dictionaries(TEXT.filter(lambda key: key not in NAMES), st.none() | st.booleans() | TEXT, max_size=2),
)
SNAPSHOTS = st.builds(
    lambda **fields: LtmSnapshot(**fields),
    items=st.lists(ITEMS, max_size=5, unique_by=lambda item: item.id).map(tuple),
    updated_at=TEXT,
    extra=st.dictionaries(
        TEXT.filter(lambda key: key not in {"version", "updated_at", "items"}), st.integers(), max_size=2
    ),
)


def real(samples, home):
    return (samples / home / "home/.nanobot/workspace/memory/LTM_SNAPSHOT.json").read_bytes()


@given(SNAPSHOTS)
def test_a_snapshot_survives_its_file(snapshot):
    data = dump_snapshot(snapshot)
    again = parse_snapshot(data, "s")
    assert again.complete
    assert again.problems == ()
    items = tuple(item._replace(origin={}, number=0) for item in again.items)
    assert again._replace(items=items, origin={}) == snapshot
    assert dump_snapshot(again) == data


@given(
    st.lists(
        st.dictionaries(st.sampled_from([*sorted(NAMES), "more"]), st.none() | st.integers() | TEXT, min_size=1),
        max_size=3,
    )
)
def test_fields_of_any_order_and_type_stay_as_they_were(values):
    top = {"items": [{"text": "", **value, "id": "x", "text2": 1} for value in values], "more": [1], "version": "2"}
    for item in top["items"]:
        if not isinstance(item["text"], str):
            item["text"] = "t"
    data = json.dumps(top, ensure_ascii=False, indent=2).encode()
    snapshot = parse_snapshot(data, "s")
    assert snapshot.complete
    assert dump_snapshot(snapshot) == data


def test_a_changed_field_changes_alone():
    item = LtmItem.from_dict({"hits": "many", "more": 1, "id": "a", "text": "old"})
    assert item._replace(text="new").to_dict() == {"hits": "many", "more": 1, "id": "a", "text": "new"}
    assert item._replace(hits=3, source="s").to_dict() == {
        "hits": 3,
        "more": 1,
        "id": "a",
        "text": "old",
        "source": "s",
    }
    assert list(item._replace(hits=3).to_dict()) == ["hits", "more", "id", "text"]
    assert item._replace(extra={}).to_dict() == {"hits": "many", "id": "a", "text": "old"}


def test_the_real_snapshot_comes_back_byte_for_byte(samples):
    data = real(samples, "ramfirst")
    snapshot = parse_snapshot(data, "LTM_SNAPSHOT.json")
    assert (len(snapshot.items), snapshot.complete, snapshot.version) == (156, True, 1)
    assert snapshot.updated_at == "2026-11-21T20:45:49.117328"
    assert dump_snapshot(snapshot) == data


def test_a_snapshot_that_was_cut_off_yields_every_whole_item_and_says_where_it_ends(samples):
    data = real(samples, "torn")
    snapshot = parse_snapshot(data, "LTM_SNAPSHOT.json")
    assert (len(snapshot.items), snapshot.complete) == (129, False)
    (problem,) = snapshot.problems
    assert problem.what == "the file ends in the middle after item 129"
    assert data.split(b"\n")[problem.line - 1].strip() == b"{"
    assert snapshot.items == parse_snapshot(real(samples, "ramfirst"), "s").items[:129]


@pytest.mark.slow
def test_cut_anywhere_it_yields_a_beginning_of_the_items(samples):
    data = real(samples, "ramfirst")[:4000]
    items = parse_snapshot(real(samples, "ramfirst"), "s").items
    found = 0
    for end in range(len(data)):
        snapshot = parse_snapshot(data[:end], "s")
        assert not snapshot.complete
        assert snapshot.problems
        assert snapshot.items == items[: len(snapshot.items)]
        assert len(snapshot.items) >= found
        found = len(snapshot.items)
    assert found > 10


def test_damage_in_the_middle_costs_the_item_it_sits_in():
    items = tuple(LtmItem(f"ltm_{number}", f"text {number}") for number in range(6))
    data = dump_snapshot(LtmSnapshot(items))
    for hurt in (b"\0" * 20, b'"', b"\n}", b'"{"', b"\xff"):
        broken = data.replace(b"text 2", b"te" + hurt + b"xt 2")
        snapshot = parse_snapshot(broken, "s")
        assert not snapshot.complete
        assert [item.id for item in snapshot.items if item.id != "ltm_2"] == [
            "ltm_0",
            "ltm_1",
            "ltm_3",
            "ltm_4",
            "ltm_5",
        ]
        assert snapshot.problems


def test_an_id_that_comes_twice_is_warned_of_and_places_are_those_of_the_file():
    values = [{"id": "a", "text": "1"}, 5, {"id": "a", "text": "2"}, {"id": "b", "text": "3"}]
    snapshot = parse_snapshot(json.dumps({"items": [values[0], *values[2:]]}).encode(), "s")
    assert (len(snapshot.items), snapshot.complete) == (3, True)
    assert [(problem.what, problem.severity) for problem in snapshot.problems] == [
        ("the id of item 2, a, comes twice", "warning")
    ]
    snapshot = parse_snapshot(json.dumps({"items": values}).encode(), "s")
    assert [item.number for item in snapshot.items] == [1, 3, 4]
    assert not snapshot.complete


def test_a_missing_comma_costs_no_item():
    items = tuple(LtmItem(f"ltm_{number}", "t") for number in range(4))
    data = dump_snapshot(LtmSnapshot(items)).replace(b"},", b"}", 1)
    snapshot = parse_snapshot(data, "s")
    assert [item.id for item in snapshot.items] == [item.id for item in items]
    assert not snapshot.complete


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"\0" * 50, "broken after item 0"),
        (b"[]", "no list of items"),
        (b'{"items": {}}', "no list of items"),
        (b'{"items": [', "ends in the middle"),
        (b'{"version": 1', "broken after item 0"),
        (b"not json", "broken"),
        (b"[" * 100_000, "broken"),
        (b'{"items": [1]}', "item 1 is no object"),
        (b'{"items": [{"text": "x"}]}', "item 1 has no id"),
        (b'{"items": [{"id": "x"}]}', "item 1 has no text"),
        (b'{"items": [{"id": "x", "text": "y"}]} trailing', "broken after item 1"),
    ],
)
def test_what_is_no_whole_snapshot_says_why_and_must_not_be_written_over(data, why):
    snapshot = parse_snapshot(data, "s")
    assert not snapshot.complete
    assert why in snapshot.problems[0].what


def test_an_object_without_items_is_an_empty_snapshot():
    assert parse_snapshot(b"{}", "s") == LtmSnapshot(())


def test_half_a_character_that_was_read_is_written_again():
    data = b'{\n  "items": [\n    {\n      "id": "a",\n      "text": "\\ud83d"\n    }\n  ]\n}'
    snapshot = parse_snapshot(data, "s")
    assert snapshot.complete
    assert dump_snapshot(snapshot) == data
    odd = data.replace(b"ud83d", b"udcff")
    assert parse_snapshot(odd, "s").complete
