"""The Consolidator with a model: what it reads, what of its answer is kept, and what is done when it fails."""

from __future__ import annotations

from functools import partial

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.archive import TRUNCATED_SUFFIX
from tests.dreams.test_consolidator import KEY, KEY_OF_OPENAI, Home, asked, said, session, talk
from tests.model.server import ModelServer, says, status
from tests.store.homes import agent_runs


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.fixture
def running(monkeypatch):
    """From its call on an agent runs."""
    return partial(agent_runs, monkeypatch)


@pytest.fixture
def serve(home, monkeypatch):
    """`serve(script…)`: a scripted endpoint that the settings name."""
    servers: list[ModelServer] = []

    def start(*script, context=32_000):
        server = ModelServer(*script)
        servers.append(server.__enter__())
        monkeypatch.setenv("NANOMEM_MODEL_BASE_URL", server.url)
        monkeypatch.setenv("NANOMEM_MODEL_NAME", "scripted")
        monkeypatch.setenv("NANOMEM_MODEL_TIMEOUT_SECONDS", "5")
        monkeypatch.setenv("NANOMEM_MODEL_CONTEXT_TOKENS", str(context))
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


def fact(text, message, mark="durable"):
    return {"text": text, "message": message, "mark": mark}


def test_a_model_names_the_facts(home, serve):
    home.write(asked(12, m0="I moved to City0 last week.", m16="I prefer trains to planes. You too?"))
    facts = [
        fact("The user moved to City0 last week", 0), fact("Prefers  trains\nto planes", 16, "permanent"),
        fact("Moved to Atlantis", 0), fact(f"The key is {KEY_OF_OPENAI}", 0), fact("odd", 999, "SKILL"),
    ]  # fmt: skip
    server = serve(says({"facts": facts}, usage={"prompt_tokens": 90, "completion_tokens": 9}))
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
        ws.consolidator.apply(plan)
    rows = home.entries()
    assert rows[0]["content"] == "- [durable] The user moved to City0 last week"
    assert (rows[0]["timestamp"], rows[1]["timestamp"]) == ("2026-01-01 10:00", "2026-01-02 10:04")
    assert rows[1]["content"] == "- [permanent] Prefers trains to planes"
    assert [one.why[:15] for one in plan.left_out] == ["no message says", "it holds a secr", "it names no mes"]
    assert KEY_OF_OPENAI not in str(plan.left_out)
    assert plan.usage.tokens_in == 90
    assert "ls 0" in server.asked[0].text
    assert server.asked[0].text.count("==") >= 4, "messages stand between fences"


def test_no_secret_of_a_message_is_in_a_question(home, serve):
    rows = talk(12)
    rows[0] = said("user", f"My key is {KEY_OF_OPENAI} and the password of the NAS is hunter2secret!")
    home.write(rows)
    server = serve(says({"facts": [fact("The key is [OpenAI key #12345678]", 0)]}))
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
    assert "[OpenAI key #" in server.asked[0].text
    assert not any(part in asked.text for asked in server.asked for part in (KEY_OF_OPENAI, "hunter2secret"))
    assert [one.why for one in plan.left_out] == ["it holds a secret: OpenAI key"]


@pytest.mark.parametrize("reply", [says({"facts": []}), status(400, "no")], ids=["asked", "dumped"])
def test_no_model_reads_and_no_dump_holds_what_is_not_to_be_remembered(home, serve, reply):
    home.write(
        [said("user", "Please do not save this: I have gout"), said("assistant", "So you have gout."), *talk(20)]
    )
    server = serve(reply)
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
        ws.consolidator.apply(plan)
    told = "".join(asked.text for asked in server.asked) + str(home.entries())
    assert "City0" in told
    assert "gout" not in told


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply", [status(500), status(400, "no"), says("no json"), says({"wrong": 1})], ids=["500", "400", "prose", "shape"]
)
def test_when_the_model_fails_the_messages_stand_as_they_are(home, serve, reply):
    home.write(talk(200))
    serve(reply)
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
        ws.consolidator.apply(plan)
        assert plan.raw
        assert "the model failed" in plan.note
        (row,) = home.entries()
        assert row["content"].startswith(f"[RAW] {plan.archived} messages\n[2026-01-01T10:00] USER: I moved to City0")
        assert len(row["content"]) <= 16_000
        assert not row["content"].endswith(TRUNCATED_SUFFIX), "no more is archived than the dump holds"
        assert f"City{plan.end // 4 - 1}" in row["content"]
        assert session(home).last_archived == plan.end < 700
        ws.undo()
        assert home.entries() == []


def test_a_dump_holds_no_secret_and_of_many_sessions_one_is_dumped(home, serve):
    for key in ("cli:a", "cli:b", "cli:c"):
        home.write([said("user", f"My key is {KEY_OF_OPENAI} for the API."), *talk(20)], key=key)
    server = serve(status(400, "no"))
    with open_workspace(home.workspace) as ws:
        (plan,) = ws.consolidator.plan_all(budget=800, dreamer="model")
        asked = len(server.asked)
        ws.consolidator.apply(plan)
    assert plan.raw
    assert KEY_OF_OPENAI not in (home.memory / "history.jsonl").read_text() + plan.summary
    assert len(server.asked) == asked < 5


def test_what_was_made_before_the_model_failed_is_kept(home, serve):
    home.write(asked(60, m0="I moved to City0."))
    serve(says({"facts": [fact("User moved to City0", 0)]}), status(400, "no"), context=6000)
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
        ws.consolidator.apply(plan)
    assert not plan.raw
    assert 0 < plan.end < 200
    assert [row["content"] for row in home.entries()] == ["- [durable] User moved to City0"]
    assert "what follows waits" in plan.note


def test_an_answer_that_is_cut_is_asked_for_in_parts(home, serve):
    home.write(talk(40))
    cut = says('{"facts": [', finish="length")
    server = serve(cut, says({"facts": [fact("User moved to City0", 0)]}), says({"facts": []}))
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=3000, dreamer="model")
        assert not plan.raw
        whole, *parts = [asked.text for asked in server.asked]
        assert len(parts) >= 2
        assert all(len(part) < len(whole) for part in parts)
        assert sum(part.count("[message 0,") for part in parts) == 1, "nothing is asked twice"
        server.script[:] = [cut]
        asked_before = len(server.asked)
        assert ws.consolidator.plan(KEY, budget=3500, dreamer="model").raw
        assert len(server.asked) - asked_before <= 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("User hates boat number 0", "says the opposite"),
        ("User likes boat number 0", "does not say likes"),
        ("User sold boat number 0", "says the opposite"),
        ("User's mother owns boat number 0", "says it of another"),
    ],
)
def test_what_a_model_makes_of_a_message_is_held_against_its_words(home, serve, text, why):
    home.write(asked(12, m0="I own boat number 0."))
    serve(says({"facts": [fact(text, 0, "permanent")]}))
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
    assert "I own boat number 0." in plan.entries[0].content
    assert text not in str(plan.entries)
    assert [(one.message, one.text, one.why) for one in plan.left_out] == [(0, text, f"message 0 {why}")]
    assert f"1 fact of the model left out: message 0 {why}" in plan.note
    assert "a fact that the model left out is archived as said" in plan.note


def test_what_people_said_and_a_model_leaves_out_is_archived_as_said(home, serve):
    home.write(asked(12, m0="I own a red boat.", m4="I am allergic to nuts.", m8="My sister is called Mei."))
    serve(says({"facts": [fact("The user is allergic to nuts", 4, "permanent")]}))
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
        ws.consolidator.apply(plan)
    told = "\n".join(row["content"] for row in home.entries())
    for line in ("The user is allergic to nuts", "I own a red boat.", "My sister is called Mei."):
        assert line in told
    assert "I am allergic" not in told
    assert plan.note == "2 facts that the model left out are archived as said"


def test_what_was_said_stands_in_for_what_the_rules_would_not_have_read(home, serve):
    home.write(asked(12, m0="Stand-up: half past nine, room Oslo."))
    serve(says({"facts": [fact("Stand-up was cancelled in room Oslo", 0)]}))
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
    assert "- [durable] Stand-up: half past nine, room Oslo." in plan.entries[0].content


def test_a_model_that_finds_nothing_leaves_a_trace(home, serve):
    home.write(asked(12))
    serve(says({"facts": []}))
    with open_workspace(home.workspace) as ws:
        plan = ws.consolidator.plan(KEY, budget=800, dreamer="model")
    assert [entry.content[:25] for entry in plan.entries] == [f"- [ephemeral] {plan.archived} messages"[:25]]


def test_nobody_pays_for_what_may_not_be_done(home, serve, running):
    home.write(talk(8))
    server = serve(says({"facts": []}))
    running()
    with open_workspace(home.workspace) as ws:
        assert ws.consolidator.plan(KEY, budget=400, dreamer="model").refused
    assert server.asked == []
