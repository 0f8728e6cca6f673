"""A model is paid once for a message: what it said is known to later runs."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run
from nanomem_tui.core.errors import ModelError
from tests.facts.talking import keep_all, say, talking, values
from tests.facts.test_extract_model import answers, fact
from tests.model.server import status

SAID = ["I live in Rome", "bot: Nice.", "I like green tea most"]
FACTS = (fact(), fact("drink", "green tea", 2, category="Food"))


def crystallize(workspace, *options):
    """How `nanomem crystallize` with the model ends: every line opens the memory anew."""
    return run(["crystallize", "--extractor", "model", *options, "--workspace", str(workspace)])


def test_a_dry_run_and_the_run_after_it_pay_once(endpoint, tmp_path, capsys):
    server = endpoint(answers(*FACTS))
    workspace = talking(tmp_path, cli_direct=SAID)
    assert crystallize(workspace, "--dry-run") == 0
    assert "Rome" in capsys.readouterr().out
    assert (crystallize(workspace, "--yes"), len(server.asked)) == (0, 1)
    assert crystallize(workspace, "--yes") == 1, "there is nothing new"
    assert len(server.asked) == 1
    with open_workspace(workspace) as ws:
        assert values(ws) == {"city": "Rome", "drink": "green tea"}


def test_only_new_messages_are_asked_about(endpoint, tmp_path):
    server = endpoint(answers(*FACTS), answers(fact("pet", "a cat called Tom", 3, category="Family")))
    workspace = talking(tmp_path, cli_direct=SAID)
    with open_workspace(workspace) as ws:
        keep_all(ws, extractor="model")
    say(workspace, "cli:direct", "I have a cat called Tom")
    with open_workspace(workspace) as ws:
        keep_all(ws, extractor="model")
        assert values(ws) == {"city": "Rome", "drink": "green tea", "pet": "a cat called Tom"}
    assert "Rome" not in server.asked[1].text
    assert "cat called Tom" in server.asked[1].text


def test_a_message_without_a_fact_is_not_asked_about_again(endpoint, tmp_path):
    server = endpoint(answers())
    workspace = talking(tmp_path, cli_direct=SAID)
    for _ in range(2):
        with open_workspace(workspace) as ws:
            assert not ws.crystallizer.plan("model").judged
    assert len(server.asked) == 1


def test_what_was_paid_for_before_a_failure_is_not_paid_for_again(endpoint, tmp_path, monkeypatch):
    server = endpoint(answers(fact()), status(401), answers(fact("drink", "green tea", 17, category="Food")))
    monkeypatch.setenv("NANOMEM_MODEL_CONTEXT_TOKENS", "5600")
    monkeypatch.setenv("NANOMEM_MODEL_MAX_TOKENS", "4000")  # two questions
    walks = [f"I walk along the river with friend number {number} every evening" for number in range(15)]
    workspace = talking(tmp_path, cli_direct=["I live in Rome", *walks, "I like green tea most"])
    with open_workspace(workspace) as ws, pytest.raises(ModelError):
        ws.crystallizer.plan("model")
    with open_workspace(workspace) as ws:
        found = ws.crystallizer.plan("model")
    assert {one.proposal.key for one in found.judged} == {"city", "drink"}
    assert len(server.asked) == 3
    assert "Rome" not in server.asked[2].text


def test_the_model_is_asked_again_where_a_person_wants_it_or_another_model_is_set(endpoint, tmp_path, monkeypatch):
    server = endpoint(answers(*FACTS), answers(*FACTS), answers(*FACTS))
    workspace = talking(tmp_path, cli_direct=SAID)
    assert crystallize(workspace, "--dry-run") == 0
    assert crystallize(workspace, "--dry-run", "--ask-again") == 0
    assert len(server.asked) == 2
    monkeypatch.setenv("NANOMEM_MODEL_NAME", "another")
    assert crystallize(workspace, "--dry-run") == 0
    assert len(server.asked) == 3


def test_what_is_forgotten_is_not_kept_among_the_answers(endpoint, tmp_path):
    endpoint(answers(*FACTS))
    workspace = talking(tmp_path, cli_direct=SAID)
    with open_workspace(workspace) as ws:
        keep_all(ws, extractor="model")
        folder = ws.paths.data
    run(["forget", "--text", "Rome", "--yes", "--workspace", str(workspace)])
    held = [path for path in folder.rglob("*") if path.is_file() and b"Rome" in path.read_bytes()]
    assert held == []
