"""The hook on the agent's values: the block is in the request, never in what is saved; a turn is handed over once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from nanomem_tui.attach import hook as hooks
from nanomem_tui.attach.client import Client
from nanomem_tui.attach.hook import Seen, make_hook_class, make_provider
from nanomem_tui.attach.turns import Place, place_of

Make = Callable[..., Client]


class Base:
    """Of the agent's own hook only that it exists."""


def request(text="I like tea", **fields):
    known = {"channel": "telegram", "chat_id": "7", "sender_id": "u1", "session_key": "telegram:7", "message_id": None}
    return SimpleNamespace(**{**known, "metadata": {}, "turn_id": text, "original_user_text": text, **fields})


class Agent:
    """Runs one turn over the hook as nanobot's runner does: copies for the run, the live list for the iterations."""

    def __init__(self, client, monkeypatch):
        self.seen = Seen(client)
        self.monkeypatch = monkeypatch
        self.sent: list[Any] = []
        self.saved: list[dict[str, Any]] = []

    async def turn(self, request, *, content=None, tools=(), error=None, ephemeral=False):
        self.monkeypatch.setattr(hooks, "current_request", lambda: request)
        hook = make_hook_class(Base)(self.seen, SimpleNamespace(ephemeral=ephemeral))
        messages = [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": content or request.original_user_text},
        ]
        context = SimpleNamespace(messages=copy.deepcopy(messages), final_content=None, error=None, exception=None)
        await hook.before_run(context)
        for number in range(2):
            await hook.before_iteration(SimpleNamespace(iteration=number, messages=messages))
            if number == 0:
                self.sent = copy.deepcopy(messages)
                for name, result, failed in tools:
                    call = SimpleNamespace(name=name)
                    if failed:
                        await hook.on_execute_tool_error(None, call, None, {"path": "x"}, result)
                    else:
                        await hook.after_execute_tool(None, call, None, {"path": "x"}, result)
                messages.append({"role": "assistant", "content": "yes"})
        context.exception = error
        if error is None:
            context.final_content = "yes"
            await hook.after_run(context)
        else:
            await hook.on_error(context)
        self.saved = copy.deepcopy(messages)
        await hook.on_finally(context)


@pytest.fixture
def agent(make_client, monkeypatch):
    return Agent(make_client(), monkeypatch)


async def test_the_block_is_in_the_request_and_not_in_what_is_saved(agent):
    await agent.turn(request())
    assert agent.sent[-1]["content"] == "I like tea"
    await agent.turn(request("what do I like?"))
    assert agent.sent[-1] == {"role": "user", "content": "what do I like?\n\n[Memory]\nI like tea\n[/Memory]"}
    assert len(agent.sent) == 2, "a message more would shift what the agent saves"
    assert agent.saved[1]["content"] == "what do I like?"


async def test_a_message_with_a_picture_keeps_its_parts(agent):
    await agent.turn(request())
    parts = [{"type": "image_url", "image_url": {"url": "data:"}}, {"type": "text", "text": "what is this?"}]
    await agent.turn(request("what is this?"), content=parts)
    assert agent.sent[-1]["content"] == [*parts, {"type": "text", "text": "[Memory]\nI like tea\n[/Memory]"}]
    assert agent.saved[1]["content"] == parts


async def test_a_turn_is_handed_over_with_its_tools_but_not_what_was_recalled(agent, server):
    tools = [("read_file", "x" * 5000, False), ("exec", "error: no such file", True), ("memory_recall", "tea", False)]
    await agent.turn(request(message_id="m1", metadata={"_webui_quote": "tea?"}), tools=tools)
    begin, end = server.asked
    assert begin["reply_to"] == {"text": "tea?"}
    assert (end["do"], end["turn"], end["assistant"]) == ("end", "t0", "yes")
    assert (end["session_key"], end["sender_id"], end["message_id"]) == ("telegram:7", "u1", "m1")
    assert [(tool["name"], len(tool.get("result", "")), tool.get("error")) for tool in end["tools"]] == [
        ("read_file", 2000, None),
        ("exec", 0, "error: no such file"),
    ]


async def test_a_run_that_fails_gives_the_message_back_and_keeps_what_was_said(agent, server):
    await agent.turn(request())
    await agent.turn(request("and now?"), error=RuntimeError("no model"))
    agent.seen.client.close()
    assert agent.saved[1]["content"] == "and now?"
    assert [(row["do"], row.get("assistant")) for row in server.asked[2:]] == [
        ("begin", None),
        ("end", ""),
        ("eof", None),
    ]


@pytest.mark.parametrize(
    "quiet",
    [
        {"session_key": "dream:2026"},
        {"session_key": "heartbeat"},
        {"session_key": "cron:1"},
        {"sender_id": "cron"},
        {"sender_id": "subagent"},
        {"sender_id": "system:recovery"},
        {"channel": None},
        {"chat_id": ""},
        {"original_user_text": "  "},
    ],
)
async def test_where_nobody_speaks_nothing_is_asked(agent, server, quiet):
    await agent.turn(request(**quiet), content="tick")
    assert server.asked == []


async def test_an_ephemeral_turn_is_not_captured(agent, server):
    await agent.turn(request(), ephemeral=True)
    assert server.asked == []


@pytest.mark.parametrize("fault", ["exit", "die", "junk", "refuse"])
async def test_a_broken_memory_changes_nothing_for_the_agent(make_client, monkeypatch, fault):
    agent = Agent(make_client(fault), monkeypatch)
    await agent.turn(request())
    assert agent.sent[-1]["content"] == "I like tea"
    assert agent.saved[-1]["content"] == "yes"


async def test_a_child_that_dies_in_a_turn_is_told_the_whole_turn_afterwards(make_client, monkeypatch, server):
    agent = Agent(make_client("refuse"), monkeypatch)
    await agent.turn(request())
    assert [row["do"] for row in server.asked] == ["begin", "turn"]
    assert server.asked[1]["text"] == "I like tea"


async def test_a_slow_memory_costs_its_time_once(make_client, monkeypatch):
    monkeypatch.setattr(hooks, "FIRST", 0.3)
    monkeypatch.setattr(hooks, "END", 0.3)
    agent = Agent(make_client("hang", answer=2.0), monkeypatch)
    await agent.turn(request())
    assert agent.sent[-1]["content"] == "I like tea"


async def test_a_conversation_that_the_provider_keeps_gets_the_block_as_context_once(make_client, monkeypatch, server):
    agent = Agent(make_client(), monkeypatch)
    await agent.turn(request())
    made = SimpleNamespace(RuntimeContextBlock=lambda source, content: (source, content))
    monkeypatch.setattr(hooks.importlib, "import_module", lambda name: made)
    provide = make_provider(agent.seen, lambda request: True)
    now = request("what do I like?")
    source, block = await provide(now)
    assert (source, block) == ("nanomem", "[Memory]\nI like tea\n[/Memory]")
    await agent.turn(now, content=f"what do I like?\n\n{block}")
    assert agent.sent[-1]["content"].count("I like tea") == 1
    assert server.dos() == ["begin", "end", "begin", "end"]


async def test_a_message_that_comes_while_the_agent_works_is_remembered_too(make_client, monkeypatch, server):
    agent = Agent(make_client(), monkeypatch)
    provide = make_provider(agent.seen, lambda request: False)
    first, late = request(), request("and remember coffee", turn_id="I like tea")
    assert await provide(first) is None
    agent.seen.turn(place_of(first) or pytest.fail("no place")).begin()
    assert await provide(late) is None
    await agent.turn(first)
    agent.seen.client.close()
    assert [(row["do"], row.get("text")) for row in server.asked[:-1]] == [
        ("begin", "I like tea"),
        ("end", "I like tea"),
        ("turn", "and remember coffee"),
    ]


async def test_a_provider_that_fails_is_silence(make_client):
    def broken(request):
        raise AttributeError("runtime")

    assert await make_provider(Seen(make_client()), broken)(request()) is None


def test_turns_that_never_run_are_forgotten(make_client):
    seen = Seen(make_client())
    for number in range(500):
        seen.turn(Place("s", "c", "d", None, None, "t", turn_id=str(number)))
    assert len(seen.turns) <= 200
