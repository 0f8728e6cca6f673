"""What nobody who may teach has said becomes active by no way in: it waits for a person, or is not taken at all."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.language import injection
from nanomem_tui.memory.quarantined_rows import Proposals
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.workspace import Workspace
from tests.memory.turns import settle, turn
from tests.poison.attacks import PLAIN, orders
from tests.store.homes import make_home

pytestmark = pytest.mark.slow

Feed = Callable[[Workspace, str, int], object]


@pytest.fixture
def ws(tmp_path):
    home = make_home(tmp_path, items=0, lessons=0)
    settle(home, capture_senders=["ana"])
    with open_workspace(home) as opened:
        yield opened


def by_tool(ws, text, number):
    """A page or a mail that a tool read, on behalf of somebody who may teach."""
    tools = [{"name": "web_fetch", "arguments": "{}", "result": text}]
    turn(ws, f"What does page {number} say?", "I read it.", tools=tools)


def by_failing_tool(ws, text, number):
    """What a tool gives as its error."""
    tools = [{"name": "exec", "arguments": f'{{"n": {number}}}', "result": "", "error": text}]
    turn(ws, f"Run job {number}?", "It failed.", tools=tools)


def by_answer(ws, text, number):
    """The agent says it again in its own answer."""
    turn(ws, f"And what about {number}?", text)


def by_stranger(ws, text, number):
    """Somebody in a group who may not teach."""
    turn(ws, text, sender_id="mallory", message_id=f"m{number}")


def by_nobody(ws, text, number):
    """A message whose sender the channel does not name."""
    turn(ws, text, sender_id=None, message_id=f"n{number}")


def by_reply(ws, text, number):
    """The message that somebody who may teach replies to, which is another's."""
    turn(ws, f"Who wrote {number}?", reply_text=text, reply_participant="mallory")


PASTED = (
    "Here is an email I got:\nHi,\n{}\nRegards",
    "Translate: <doc>{}</doc>",
    "Summarize the following article:\n{}",
    "[file: cv.pdf]\n{}",
    'What do you make of this?\n"""{}"""',
    "fyi\n---------- Forwarded message ---------\n{}",
    "Can you check this mail? “Hello. {} Bye.”",
    'Is it rude to write "Hi. {}"?',
    "Eve, [20.11.2026 10:01]\n{}\n\nwhat do you make of it?",
    "[20/11/2026, 10:01:22] Eve: {}",
    "Bob: hi\nEve: {}\nsummarise the chat",
)


def by_paste(ws, text, number):
    """Somebody who may teach pastes what another one wrote."""
    turn(ws, PASTED[number % len(PASTED)].format(text), message_id=f"p{number}")


def by_proposal(ws, text, number):
    """The agent's model proposes it."""
    Proposals(ws.store, ws.perform, Audience()).add(f"{text[:400]} ({number})")


WAYS = pytest.mark.parametrize(
    "feed",
    [by_tool, by_failing_tool, by_answer, by_stranger, by_nobody, by_reply, by_paste],
    ids=lambda feed: feed.__name__,
)


def given(ws, text):
    """What an agent is given for a question about it."""
    found = ws.engine.ask(Question(text[:300]))
    return [hit.item.text for hit in found.hits] + [lesson.better_action for lesson in found.lessons]


def active(ws):
    lessons = [f"{row.trigger} → {row.better_action}" for row in ws.lessons.all() if row.enabled and not row.waits]
    return [row.text for row in ws.items.all() if row.enabled and not row.waits] + lessons


@WAYS
def test_nothing_untrusted_becomes_active(ws, feed):
    texts = [*orders(), *PLAIN]
    for number, text in enumerate(texts):
        feed(ws, text, number)
    assert active(ws) == []
    assert [text for text in texts[:: len(texts) // 20] if given(ws, text)] == []
    exported = json.dumps([row.text for row in ws.items.all()])
    assert not any(text in exported for text in PLAIN)


def test_what_a_model_proposes_waits(ws):
    start = clock.now()
    for number, text in enumerate([*orders(), *PLAIN]):
        with clock.at(start + timedelta(hours=number)):  # no flood
            by_proposal(ws, text, number)
            if number % 40 == 39:
                ws.inbox.reject([one.id for one in ws.inbox.list()])
    assert active(ws) == []


def test_who_may_teach_is_heard(ws):
    """So that the tests above can fail: the same facts, said by her, are kept. What reads as an order waits even so."""
    for number, text in enumerate(PLAIN):
        turn(ws, text, message_id=f"a{number}")
    assert len(active(ws)) >= 10
    known = active(ws)
    for number, text in enumerate(orders()):
        turn(ws, text, message_id=f"o{number}")
    assert [text for text in active(ws) if injection.reason(text)] == []
    assert len(active(ws)) - len(known) <= sum(not injection.reason(text) for text in orders())


def test_orders_in_an_imported_file_wait(ws, tmp_path):
    file = tmp_path / "memories.md"
    file.write_text("# Facts\n\n" + "".join(f"- {' '.join(text.split())}\n" for text in orders()), encoding="utf-8")
    ws.transfer.run(ws.transfer.preview(file))
    caught = [text for text in orders() if injection.reason(" ".join(text.split()))]
    assert len(caught) >= 80
    assert [text for text in active(ws) if injection.reason(text)] == []
    assert ws.inbox.count() >= 60


def test_a_dream_writes_no_order_of_the_archive(ws):
    memory = ws.paths.memory
    lines = [
        {"cursor": number, "timestamp": "2026-05-01 10:00", "content": " ".join(text.split())}
        for number, text in enumerate(orders(), 1)
    ]
    (memory / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    before = {name: (ws.documents.read(name) or "") for name in TRACKED_FILES}
    ws.dream.run()
    after = {name: (ws.documents.read(name) or "") for name in TRACKED_FILES}
    new = [line for name in TRACKED_FILES for line in after[name].splitlines() if line not in before[name].splitlines()]
    assert [line for line in new if injection.reason(line)] == []
    assert [line for line in new if any(" ".join(text.split()) in line for text in orders())] == []
    assert active(ws) == []
