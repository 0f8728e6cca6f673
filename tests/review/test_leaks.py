"""Leaks: what tells one chat of another is found with the reason, and what only looks like it is not."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.review import leaks
from nanomem_tui.store.values import Item
from tests.review.test_scopes import put
from tests.store.homes import make_home

AT_HOME = {"telegram": "-100", "sender_id": "ana"}


@pytest.fixture
def ws(tmp_path):
    """Ana and Mark write in one chat, 12345|bo_77 and 小林 in another; nobody is known of a third one."""
    with open_workspace(make_home(tmp_path)) as opened:
        for number, (chat, sender) in enumerate(
            (("-100987", "Ana"), ("-100987", "mark"), ("-200123", "12345|bo_77"), ("-200123", "小林"), ("general", ""))
        ):
            where = {"channel": "telegram", "chat_id": chat, "sender_id": sender or None}
            put(opened, f"at_{number}", f"telegram:{chat}", f"greeting {number}", **where)
        yield opened


def leak(ws, where, text, **fields):
    """What leaks of one item."""
    put(ws, "one", where, text, **fields)
    return next((one for one in ws.scopes.leaks() if one.item.id == "one"), None)


@pytest.mark.parametrize(
    ("where", "text", "belongs"),
    [
        ("global", "Ana is looking for another job", "telegram:@Ana"),
        ("global", "ask @mark for the keys", "telegram:@mark"),
        ("global", "bo_77 owes us money", "telegram:@12345|bo_77"),
        ("global", "the group -200123 plans a party", "telegram:-200123"),
        ("global", "小林さんは来週引っ越す", "telegram:@小林"),
        ("telegram:-200123", "Ana's salary was raised", "telegram:@Ana"),
        ("telegram:-100987", "what 12345 said of the plan", "telegram:@12345|bo_77"),
        ("telegram:@Ana", "thinks that 小林 is late", "telegram:@小林"),
    ],
)
def test_a_name_of_elsewhere_leaks(ws, where, text, belongs):
    found = leak(ws, where, text)
    assert found is not None
    assert (found.kind, found.belongs) == ("names", belongs)
    assert belongs in found.why


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("telegram:-100987", "Ana is looking for another job"),  # she is at home there
        ("telegram:@Ana", "Mark is her brother"),  # they share a chat
        ("telegram:@Ana", "Ana likes tea"),
        ("global", "Mark every letter as read"),  # a word that everybody writes
        ("global", "an analysis of bananas by anastasia"),
        ("global", "the general meeting is on Monday"),
        ("global", "it took 1234 steps and 123456 ms"),
        ("global", "write short answers"),
        ("global", "write to support@shop.example"),
    ],
)
def test_what_only_looks_like_a_name_does_not(ws, where, text):
    assert leak(ws, where, text) is None


def test_of_two_of_one_name_the_one_who_is_known_here_is_meant(ws):
    for channel in ("slack", "feishu"):
        put(ws, channel, f"{channel}:C1", "greeting", channel=channel, chat_id="C1", sender_id="Ana")
    assert leak(ws, "slack:C1", "Ana is looking for another job") is None
    assert leak(ws, "telegram:-100987", "Ana is looking for another job") is None
    assert leak(ws, "telegram:-200123", "Ana is looking for another job") is not None


def test_private_things_leak_where_every_chat_sees_them(ws):
    told = {"channel": "telegram", "chat_id": "-100987", "sender_id": "Ana"}
    found = leak(ws, "global", "my landlord wants me out", **told)
    assert found is not None
    assert (found.kind, found.belongs) == ("private", "telegram:@Ana")
    assert "“my” was said in telegram:@Ana" in found.why
    found = leak(ws, "global", "reach her at ana@home.example", **told)
    assert found is not None
    assert found.why == "it holds an e-mail address; every chat sees it"
    assert "home.example" not in found.why
    assert leak(ws, "telegram:-100987", "my landlord wants me out", **told) is None


def test_where_one_chat_only_is_known_nothing_leaks_to_anybody():
    told = {"channel": "telegram", "chat_id": "-100987", "session_key": "telegram:-100987"}
    mine = Item("one", "my dog is called Rex, and -100987 knows", scope_key="workspace:x:global", **told)
    assert leaks.LeakSearch().find([mine], leaks.KnownNames([mine])) == []
    other = mine._replace(id="two", text="tea", channel="slack", chat_id="C1", session_key="slack:C1")
    assert [found.item.id for found in leaks.LeakSearch().find([mine, other], leaks.KnownNames([mine, other]))] == [
        "one"
    ]


def test_what_chats_do_not_see_does_not_leak(ws):
    assert leak(ws, "global", "Ana is looking for another job", enabled=False) is None


def test_a_global_row_under_the_key_of_a_chat_is_seen_by_nobody(ws):
    found = leak(ws, "global", "needle", scope_key="channel:telegram:chat:-100987")
    assert found is not None
    assert found.kind == "unseen"


def test_an_item_is_moved_where_it_belongs_and_leaks_no_more(ws):
    found = leak(ws, "global", "Ana is looking for another job")
    assert found is not None
    ws.scopes.move([found.item.id], ws.scopes.named(found.belongs))
    assert [one.item.id for one in ws.scopes.leaks()] == []
