"""No label of an operation shows a secret, whatever was done with the memory that holds it; what undo says neither."""

import pytest

from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory import retention
from nanomem_tui.memory.items import edit_items
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.memory import turns

SECRET = "ghp_" + "a1B2" * 9
"""Long enough that a label, which is cut, would end inside it."""
TEXT = f"token {SECRET} of the build"


def item(ws):
    return ws.items.add(TEXT)[1].id


def lesson(ws):
    return ws.lessons.add(TEXT, "be careful").changes[0].key


def add_item(ws):
    item(ws)


def edit_item(ws):
    ws.items.edit("ltm_1", text=TEXT)


def edit_two(ws):
    edit_items(ws.store, ws.perform, ["ltm_1", "ltm_2"], {"text": TEXT})


def switch_item(ws):
    key = item(ws)
    ws.items.set_enabled([key], False)
    ws.items.set_pinned([key], True)


def merge_items(ws):
    key = item(ws)
    ws.items.merge(["ltm_1", key], into=key)


def delete_and_restore(ws):
    key = item(ws)
    ws.items.delete([key])
    retention.restore(ws.store, ws.settings, [key], ws.perform)


def lessons(ws):
    key = lesson(ws)
    ws.lessons.edit(key, confidence=9)
    ws.lessons.edit(key, confidence=9)
    ws.lessons.set_enabled([key], False)
    ws.lessons.delete([key])


def decide(ws):
    rows = [Item(f"held_{n}", f"{n} {TEXT}", enabled=False, meta_json='{"inbox": {"why": "held"}}') for n in (1, 2)]
    ws.perform(new_operation("turn", "turn: 2 things in the inbox", [change_of("item", None, row) for row in rows]))
    ws.inbox.accept(["held_1"])
    ws.inbox.reject(["held_2"])


DONE = (add_item, edit_item, edit_two, switch_item, merge_items, delete_and_restore, lessons, decide)


@pytest.mark.parametrize("do", DONE, ids=lambda do: do.__name__)
def test_a_label_never_holds_a_secret(ws, do):
    before = len(ws.log())
    do(ws)
    done = len(ws.log()) - before
    assert done > 0
    ws.undo()
    ws.redo()
    labels = [entry.operation.label for entry in ws.log()]
    assert not [label for label in labels if SECRET[:8] in label]
    assert [label for label in labels if "GitHub token" in label], "and each says what stood there"


def test_who_asks_to_forget_a_secret_gets_all_of_it_forgotten_and_undone(ws):
    key = ws.items.add("the build token is " + SECRET, channel="telegram", chat_id="42", sender_id="ana")[1].id
    turns.turn(ws, "Forget the build token")
    [held] = ws.inbox.list()
    assert SECRET in held.text
    operation = ws.inbox.accept([held.id])
    assert SECRET not in operation.label
    assert key not in {row.id for row in ws.items.all()}
    assert SECRET not in ws.undo()[0].label
    assert ws.items.get(key).text == "the build token is " + SECRET
