"""What a person says in a private chat is recalled for them there, and not in a group unless the settings say so."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.scopes import Audience
from tests.memory.turns import begin, settle, turn

HOME = {"items": 0, "lessons": 0}

ASK = "which allergy, and which sorting do I prefer?"
FACT, WISH = "My allergy is penicillin", "I prefer answers with a sorting by date"


def told(ws, channel, chat_id, sender_id):
    """A fact and a preference of somebody, said in a chat."""
    for text in (f"Remember: {FACT}", f"{WISH}."):
        turn(ws, text, session_key=f"{channel}:{chat_id}", sender_id=sender_id)


def given(ws, channel, chat_id, sender_id):
    """The block of a turn of somebody in a chat."""
    return begin(ws, ASK, session_key=f"{channel}:{chat_id}", sender_id=sender_id).block


@pytest.mark.parametrize(
    ("channel", "private", "group", "sender"),
    [
        ("telegram", "42", "-100123", "42"),
        ("telegram", "42", "-100123", "42|ana"),
        ("telegram", "42", "-100123:topic:7", "42|ana"),
        ("whatsapp", "4915@s.whatsapp.net", "123-456@g.us", "4915"),
        ("feishu", "ou_7d8a", "oc_55aa", "ou_7d8a"),
        ("discord", "ana", "900100", "ana"),
    ],
)
def test_a_group_is_given_nothing_private(ws, channel, private, group, sender):
    told(ws, channel, private, sender)
    assert FACT in given(ws, channel, private, sender)
    block = given(ws, channel, group, sender)
    assert "penicillin" not in block
    assert "sorting by date" not in block
    assert not ws.scopes.leaks()
    assert {row.kind for row, _ in ws.scopes.seen_by(Audience(channel, group, sender))} == set()


@pytest.mark.parametrize(
    ("channel", "first", "second", "sender"),
    [
        ("telegram", "42", "42", "42"),
        ("cli", "direct", "other", "ana"),
        ("telegram", "-100123", "42", "42"),  # said before all: nothing private
        ("telegram", "-100123", "-100456", "42"),
        ("whatsapp", "4915@s.whatsapp.net", "4915@lid", "4915"),
    ],
)
def test_the_words_of_a_person_follow_them_everywhere_else(ws, channel, first, second, sender):
    told(ws, channel, first, sender)
    assert FACT in given(ws, channel, second, sender)


@pytest.mark.parametrize("kinds", [["preference"], ["fact"], ["fact", "preference"]])
def test_the_settings_name_the_kinds_that_groups_are_given_and_leaks_counts_them(workspace, kinds):
    settle(workspace, private_in_groups=kinds)
    with open_workspace(workspace) as ws:
        told(ws, "telegram", "42", "42")
        block = given(ws, "telegram", "-100123", "42")
        assert {kind for kind, text in (("fact", FACT), ("preference", WISH)) if text in block} == set(kinds)
        found = ws.scopes.leaks()
        assert {(leak.kind, leak.item.kind, leak.belongs) for leak in found} == {
            ("group", kind, "telegram:42") for kind in kinds
        }


def test_what_a_person_says_again_in_a_group_is_private_no_more(ws):
    told(ws, "telegram", "42", "42")
    told(ws, "telegram", "-100123", "42")
    for chat in ("42", "-100123", "-100456"):
        assert FACT in given(ws, "telegram", chat, "42")


def test_what_a_person_put_into_their_scope_by_hand_is_given_in_groups(ws):
    ws.items.add(FACT, scope_type="user", channel="telegram", sender_id="42")
    assert FACT in given(ws, "telegram", "-100123", "42")


@pytest.mark.slow
def test_facts_of_a_private_chat_are_not_listed_for_a_group(ws):
    told(ws, "telegram", "42", "42")
    group, private = Audience("telegram", "-100123", "42"), Audience("telegram", "42", "42")
    assert ws.memory_search("allergy penicillin", audience=private).results
    assert not ws.memory_search("allergy penicillin", audience=group).results
