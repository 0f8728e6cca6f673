"""What an item takes over from those that are merged into it, and that the words of those are known again."""

from nanomem_tui import open_workspace
from nanomem_tui.memory.items import SameTextIndex, merge_into, merged_words
from nanomem_tui.store.values import Item

OLD = Item("a", "Likes tea", scope_key="s", created_at="2026-01-01", hits=3, session_key="telegram:42",
           source="capture", source_message_id="m1", source_role="user", updated_at="2026-01-01")  # fmt: skip
NEW = Item("b", "User likes tea", scope_key="s", created_at="2026-02-01", hits=4, updated_at="2026-02-01")


def test_an_item_keeps_the_hits_the_oldest_origin_and_every_source_of_those_merged_into_it():
    made = merge_into(NEW, [OLD])

    assert (made.text, made.hits, made.created_at) == ("User likes tea", 7, "2026-01-01")
    assert (made.session_key, made.source_message_id, made.source_role) == ("telegram:42", "m1", "user")
    assert [entry["id"] for entry in made.meta["merged_from"]] == ["a", "b"]
    assert made.meta["merged_from"][0]["text"] == "Likes tea"
    assert list(merged_words(made)) == ["Likes tea"]


def test_what_was_merged_before_goes_on_in_what_it_is_merged_into():
    third = Item("c", "The user likes tea", scope_key="s", created_at="2025-12-01", updated_at="2026-03-01")

    made = merge_into(third, [merge_into(NEW, [OLD])])

    assert [entry["id"] for entry in made.meta["merged_from"]] == ["c", "a", "b"]
    assert sorted(merged_words(made)) == ["Likes tea", "User likes tea"]


def test_the_words_of_another_scope_stay_there():
    made = merge_into(NEW._replace(scope_key="everybody"), [OLD])

    assert "Likes tea" not in made.meta_json
    assert made.meta["merged_from"][0]["session_key"] == "telegram:42"


def test_an_alias_holds_only_as_long_as_the_words_of_the_item_do():
    made = merge_into(NEW, [OLD])

    assert not merged_words(made._replace(text="User likes coffee"))
    assert not merged_words(made._replace(meta_json='{"aliases": 7}'))


def test_free_fields_of_others_that_are_none_of_ours_are_left_out():
    odd = '{"merged_from": [7, {"id": []}, {"id": "z", "created_at": null}, {}], "aliases": {"of": 1, "words": 2}}'

    made = merge_into(NEW._replace(meta_json=odd), [OLD._replace(meta_json='{"merged_from": "x"}')])

    assert sorted(entry["id"] for entry in made.meta["merged_from"]) == ["a", "b", "z"]
    assert list(merged_words(made)) == ["Likes tea"]


def test_the_same_words_told_again_are_the_item_that_they_were_merged_into(tmp_path):
    with open_workspace(tmp_path) as ws:
        _, one, _ = ws.items.add("Likes tea")
        _, other, _ = ws.items.add("User likes tea")
        twins = SameTextIndex(ws.store)

        ws.items.merge([one.id, other.id], into=other.id)
        assert twins.find(one.scope_key, "likes tea.").id == other.id

        ws.items.edit(other.id, text="User likes coffee")
        assert twins.find(one.scope_key, "likes tea") is None


def test_words_of_its_own_are_known_before_those_of_a_merge(tmp_path):
    with open_workspace(tmp_path) as ws:
        _, one, _ = ws.items.add("Likes tea")
        _, other, _ = ws.items.add("User likes tea")
        ws.items.merge([one.id, other.id], into=other.id)
        _, again, _ = ws.items.add("Likes tea")

        assert SameTextIndex(ws.store).find(one.scope_key, "Likes tea").id == again.id


def test_an_undo_of_a_merge_brings_every_field_back(tmp_path):
    with open_workspace(tmp_path) as ws:
        _, one, _ = ws.items.add("Likes tea")
        _, other, _ = ws.items.add("User likes tea")
        before = [ws.items.get(key)[:-1] for key in (one.id, other.id)]

        ws.items.merge([one.id, other.id])
        ws.undo()

        assert [ws.items.get(key)[:-1] for key in (one.id, other.id)] == before
