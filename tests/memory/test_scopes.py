"""Scopes: keys exactly as the scoped system writes them, and nothing of a foreign chat or user is ever visible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.scopes import (
    USER_KINDS,
    Audience,
    accept_held,
    chat_key,
    global_key,
    hold_for_review,
    is_waiting,
    key_for,
    layer_of,
    user_key,
    visible_layers,
)
from nanomem_tui.store.values import KINDS, SCOPE_TYPES, Item

CHAT = chat_key("telegram", "-100")
USER = user_key("telegram", "7")


def item(scope_type, scope_key, kind="fact", **fields):
    return Item("ltm_1", "likes tea", kind=kind, scope_type=scope_type, scope_key=scope_key, **fields)


def test_the_keys_are_those_of_the_scoped_system():
    assert chat_key("cli", "direct") == "channel:cli:chat:direct"
    assert user_key("cli", "anna", "direct") == "channel:cli:user:anna"
    assert user_key("cli", None, "direct") == "channel:cli:user:direct"
    assert global_key("0123456789abcdef") == "workspace:0123456789abcdef:global"
    assert key_for("chat", Audience("cli", "direct", "anna"), "x") == "channel:cli:chat:direct"
    assert key_for("user", Audience("cli", "direct", "anna"), "x") == "channel:cli:user:anna"
    assert key_for("global", Audience(), "x") == "workspace:x:global"


@pytest.mark.parametrize("kind", KINDS)
def test_the_chat_layer_holds_every_kind_and_the_user_layer_only_two(kind):
    here = Audience("telegram", "-100", "7")
    assert layer_of(item("chat", CHAT, kind), here) == "chat"
    assert layer_of(item("user", USER, kind), here) == ("user" if kind in ("preference", "fact") else None)
    assert layer_of(item("global", "workspace:x:global", kind), here) == "global"
    assert layer_of(item("global", "workspace:x:global", kind), here, with_global=False) is None


def test_a_scope_narrows_and_never_widens():
    rows = [item("chat", CHAT), item("user", USER), item("global", "workspace:x:global")]
    here, owner = Audience("telegram", "-100", "7"), Audience()
    assert [layer_of(row, here, "user") for row in rows] == [None, "user", None]
    assert [layer_of(row, here, "global") for row in rows] == [None, None, "global"]
    assert [layer_of(row, here, "global", with_global=False) for row in rows] == [None, None, None]
    assert [layer_of(row, owner, "chat") for row in rows] == ["owner", None, None]
    assert [layer_of(row, owner) for row in rows] == ["owner"] * 3


def test_a_chat_that_is_called_like_a_person_sees_nothing_that_was_told_elsewhere():
    key = user_key("telegram", "ana")
    told, private = (item("user", key, chat_id=chat, sender_id="ana") for chat in ("7", "ana"))
    unnamed, by_hand = item("user", key, chat_id="ana"), item("user", key, sender_id="ana")
    rows = [told, private, unnamed, by_hand]
    assert [layer_of(row, Audience("telegram", "ana")) for row in rows] == [None, "user", "user", None]
    assert [layer_of(row, Audience("telegram", "9", "ana")) for row in rows] == ["user"] * 4


def test_a_channel_alone_sees_only_what_is_global():
    rows = [item("chat", CHAT), item("user", USER), item("global", "workspace:x:global")]
    assert [layer_of(row, Audience("telegram")) for row in rows] == [None, None, "global"]


def test_a_deleted_item_and_one_that_contradicts_itself_are_nobodys():
    here = Audience("telegram", "-100", "7")
    assert layer_of(item("chat", CHAT, is_deleted=True), here) is None
    assert layer_of(item("chat", CHAT, is_deleted=True), Audience()) is None
    assert layer_of(item("global", "channel:telegram:chat:9"), here) is None
    assert layer_of(item("user", CHAT), here) is None


@pytest.mark.parametrize(
    "audience",
    [
        Audience(chat_id="1"),
        Audience(sender_id="1"),
        Audience("", "1"),
        Audience("a:chat:b", "c"),
        Audience("../x", "1"),
        Audience("telegram", "../../etc"),
        Audience("telegram", "a\nb"),
        Audience("telegram", "1", "\x1b[2J"),
        Audience("telegram", ""),
        Audience("telegram", "1" * 600),
        Audience("telegram", "\ud800"),
    ],
)
def test_a_malformed_audience_is_refused(audience):
    with pytest.raises(BadInput):
        visible_layers(audience)


def test_an_unknown_scope_is_refused():
    for scope in ("../", "everyone", ""):
        with pytest.raises(BadInput, match="unknown scope"):
            visible_layers(Audience(), scope)
    with pytest.raises(BadInput, match="unknown scope"):
        key_for("all", Audience("cli", "direct"), "x")


IDS = st.sampled_from(["1", "2", "-100", "user:1", "1:user:2", "chat", "a/b"])
CHANNELS = st.sampled_from(["telegram", "cli", "chat", "user", "channel"])
AUDIENCES = st.builds(Audience, CHANNELS, st.none() | IDS, st.none() | IDS)


@given(
    st.lists(st.tuples(AUDIENCES, st.sampled_from(SCOPE_TYPES), st.sampled_from(KINDS))),
    AUDIENCES,
    st.sampled_from(["all", *SCOPE_TYPES]),
    st.booleans(),
)
def test_nothing_of_a_foreign_chat_or_user_is_ever_visible(made, asking, scope, with_global):
    layer = visible_layers(asking, scope, with_global=with_global)
    for maker, scope_type, kind in made:
        if scope_type != "global" and maker.chat_id is None and (scope_type == "chat" or maker.sender_id is None):
            continue
        told = {} if scope_type == "global" else {"chat_id": maker.chat_id, "sender_id": maker.sender_id}
        row = item(scope_type, key_for(scope_type, maker, "x"), kind, **told)
        same_chat = (maker.channel, maker.chat_id) == (asking.channel, asking.chat_id)
        users = [one.sender_id if one.sender_id is not None else one.chat_id for one in (maker, asking)]
        same_user = maker.channel == asking.channel and users[0] == users[1]
        if asking.sender_id is None and maker.sender_id is not None:
            same_user = same_user and same_chat  # a chat called like somebody is not that person
        allowed = {
            "chat": same_chat,
            "user": same_user and kind in USER_KINDS,
            "global": with_global,
        }[scope_type] and scope in ("all", scope_type)
        assert layer(row) == (scope_type if allowed else None)


def test_an_item_waits_until_it_is_accepted():
    plain = item("chat", CHAT, meta_json='{"a":1}')
    inbox = hold_for_review(plain, "it reads as an instruction", finding="injection")
    assert not is_waiting(plain)
    assert not is_waiting(plain._replace(enabled=False))
    assert is_waiting(inbox)
    assert not inbox.enabled
    assert inbox.meta == {"a": 1, "inbox": {"why": "it reads as an instruction", "finding": "injection"}}
    assert accept_held(inbox) == plain._replace(meta_json='{"a": 1}')
    assert not is_waiting(inbox._replace(enabled=True))
