"""Who dreams when nobody says so: a model only where nanomem's own settings name an endpoint, and then no one else."""

import json

import pytest

from nanomem_tui.core.errors import ModelUnavailable
from nanomem_tui.core.settings import Settings
from tests.dreams.dreaming import TEA, USAGE, Dreaming, edit, fact, step, study
from tests.store.git_samples import needs_git

ENDPOINT = {"model_base_url": "http://127.0.0.1:9/v1", "model_name": "scripted"}


@pytest.mark.parametrize(
    ("settings", "dreamer"),
    [
        ({}, "rules"),
        ({"model_name": "scripted"}, "rules"),
        (ENDPOINT, "model"),
        ({**ENDPOINT, "dream_dreamer": "rules"}, "rules"),
        ({"dream_dreamer": "model"}, "model"),
    ],
)
def test_a_model_dreams_only_where_our_settings_name_an_endpoint(settings, dreamer):
    assert Settings(**settings).dreamer == dreamer


@needs_git
def test_the_keys_of_the_agent_are_not_used_unasked(tmp_path):
    on = Dreaming(tmp_path, (TEA,), model_base_url="", model_name="")
    config = on.bench.paths.workspace.parent / "config.json"
    providers = {"openai": {"apiKey": "sk-of-the-agent", "apiBase": on.server.url}}
    config.write_text(json.dumps({"providers": providers, "agents": {"defaults": {"model": "openai/gpt-5"}}}))
    with on.server:
        result = on.bench.dreams.run()
    assert (result.dreamer, result.usage.calls, on.asked) == ("rules", 0, [])


@needs_git
def test_where_an_endpoint_is_set_its_model_dreams_and_what_it_took_is_told(tmp_path):
    on = Dreaming(tmp_path, (TEA,), study(fact("tea", 21)), step(edit("add", 21, new="- Prefers tea")))
    with on.server:
        result = on.bench.dreams.run()
    assert (result.dreamer, result.usage.calls) == ("model", 2)
    assert result.usage.tokens_in == 2 * USAGE["prompt_tokens"]
    assert result.usage.tokens_out == 2 * USAGE["completion_tokens"]


@needs_git
def test_a_model_that_cannot_be_reached_is_replaced_by_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "nanomem_tui.model.client.ModelClient.__init__.__kwdefaults__", {"backoff": 0.01, "attempts": 1}
    )
    on = Dreaming(tmp_path, (TEA,), model_base_url=ENDPOINT["model_base_url"], model_timeout_seconds=2.0)
    before = on.state()
    with on.server, pytest.raises(ModelUnavailable):
        on.bench.dreams.run()
    assert on.state() == before
    assert on.bench.dreams.status()["unprocessed"] == 1
