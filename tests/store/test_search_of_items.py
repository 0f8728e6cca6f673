"""Search: the same words find the same items in the index and in RAM, in any script, within any scope."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput
from nanomem_tui.store.values import Item
from tests.store.homes import make_home

TEXTS = [
    "User prefers concise Chinese replies",
    "女儿小满 2019 年 5 月生",
    "ชอบกาแฟดำ",
    "ダークモードが好き",
    "flush_every_updates is 8",
    "Straße and Café, NAÏVE",
    "plain café",
    'quotes " and * and -- and (paren)',
]


def found(ws, query, **rest):
    return {hit.item.text for hit in ws.items.search(query, **rest)}


SHARES_A_HOME = True


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    made = make_home(tmp_path_factory.mktemp("search"), items=0)
    with open_workspace(made) as ws:
        for text in TEXTS:
            ws.items.add(text)
        ws.items.add("chat secret", "decision", channel="telegram", chat_id="1")
        ws.items.add("user secret", scope_type="user", channel="telegram", sender_id="7")
        ws.items.add("other secret", channel="telegram", chat_id="2")
        hidden = ws.items.add("disabled secret")[1]
        ws.items.set_enabled([hidden.id], False)
        gone = ws.items.add("deleted secret")[1]
        ws.items.delete([gone.id])
    return made


@pytest.mark.parametrize("loaded", [False, True], ids=["from the index", "beside the rows"])
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("PREFER concise", TEXTS[0]),
        ("小满", TEXTS[1]),
        ("满", TEXTS[1]),
        ("กาแฟ", TEXTS[2]),
        ("ﾀﾞｰｸ", TEXTS[3]),
        ("flush_every_updates", TEXTS[4]),
        ("strasse", TEXTS[5]),
        ('(paren) " *', TEXTS[7]),
    ],
)
def test_words_of_any_script_find_their_item(workspace, query, text, loaded):
    with open_workspace(workspace) as ws:
        if loaded:
            ws.items.all()
        hits = ws.items.search(query)
        assert hits[0].item.text == text
        assert hits[0].parts["terms"]
        assert ws.store.loaded is loaded


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "   ", "the", "☃", '"', "*", "NOT", "\0", "a" * 10_000, "AND OR NEAR("])
def test_no_query_breaks_the_index(workspace, query):
    with open_workspace(workspace) as ws:
        before = found(ws, query)
        ws.items.all()
        assert found(ws, query) == before


@given(st.text(max_size=20))
def test_the_index_of_the_database_and_the_one_in_ram_agree_on_any_query(workspace, query):
    with open_workspace(workspace) as ws:
        by_index = [(hit.item.id, hit.parts["terms"]) for hit in ws.items.search(query)]
        assert not ws.items.recall.ready
        ws.items.recall.warm(background=False)
        assert sorted(by_index) == sorted((hit.item.id, hit.parts["terms"]) for hit in ws.items.search(query))


def test_no_argument_widens_a_scope(workspace):
    with open_workspace(workspace) as ws:
        everything = {"chat secret", "user secret", "other secret"}
        assert found(ws, "secret") == everything, "the owner sees every scope"
        assert found(ws, "secret", channel="telegram", chat_id="1") == {"chat secret"}
        assert found(ws, "secret", channel="telegram", chat_id="1", sender_id="7") == {"chat secret", "user secret"}
        assert found(ws, "secret", channel="discord", chat_id="1") == set()
        assert found(ws, "secret", channel="telegram") == set()
        with pytest.raises(BadInput, match="a chat or a sender belongs to a channel"):
            found(ws, "secret", chat_id="1")
        assert found(ws, "secret", channel="telegram", chat_id="1", scope="all") == {"chat secret"}
        assert found(ws, "secret", scope="user") == {"user secret"}
        assert found(ws, "secret", kind="decision") == {"chat secret"}
        for bad in ({"scope": "galaxy"}, {"kind": "rumour"}):
            with pytest.raises(BadInput):
                ws.items.search("secret", **bad)


def test_a_rare_scope_is_found_among_many_better_matches(tmp_path):
    from nanomem_tui.core.operations import new_operation
    from nanomem_tui.store.snapshot import change_of

    workspace = make_home(tmp_path, items=0)
    with open_workspace(workspace) as ws:
        rows = [Item(f"ltm_{n}", "coffee coffee", scope_key="x", importance=1.0) for n in range(600)]
        ws.perform(new_operation("import", "many", [change_of("item", None, row) for row in rows], actor="import"))
        ws.items.add("a longer text in which coffee is one word of many", channel="cli", chat_id="me")
    with open_workspace(workspace) as ws:
        hits = ws.items.search("coffee", scope="chat")
        assert [hit.item.chat_id for hit in hits] == ["me"]
        assert not ws.store.loaded


def test_what_a_search_finds_moves_with_every_change(tmp_path):
    with open_workspace(make_home(tmp_path)) as ws:
        ws.items.recall.warm(background=False)
        ws.items.edit("ltm_1", text="needle")
        assert found(ws, "needle") == {"needle"}
        ws.undo()
        assert found(ws, "needle") == set()
        ws.redo()
        ws.items.set_enabled(["ltm_1"], False)
        assert found(ws, "needle") == set()
        ws.items.set_enabled(["ltm_1"], True)
        assert found(ws, "needle") == {"needle"}
        ws.items.delete(["ltm_1"])
        assert found(ws, "needle") == set()
        with open_workspace(ws.paths.workspace) as other:
            other.items.add("needle of another process")
        ws.refresh()
        assert found(ws, "needle") == {"needle of another process"}
