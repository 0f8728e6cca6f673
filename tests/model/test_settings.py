"""Which model is asked: our settings first, else what the agent's configuration says, read the way the agent does."""

import json

import pytest

from nanomem_tui.core.errors import InvalidConfig
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.model.settings import model_config

OPENROUTER = {"openrouter": {"apiKey": "sk-or-0123456789"}}


@pytest.fixture
def resolve(tmp_path):
    """`resolve(agent_config, settings…, environ={})`: where the model of that home is asked."""

    def call(agent=None, *, environ=None, **settings):
        (tmp_path / "workspace" / "memory").mkdir(parents=True, exist_ok=True)
        if agent is not None:
            (tmp_path / "config.json").write_text(agent if isinstance(agent, str) else json.dumps(agent))
        return model_config(find_workspace(tmp_path / "workspace"), Settings(**settings), environ or {})

    return call


def agent(model="qwen/qwen3", providers=None, dream=None, **defaults):
    chosen = {"model": model, **({"dream": dream} if dream is not None else {}), **defaults}
    return {"agents": {"defaults": chosen}, "providers": OPENROUTER if providers is None else providers}


def test_our_own_endpoint_with_its_own_key(resolve):
    config = resolve(
        agent(), environ={"NANOMEM_MODEL_KEY": "mine", "OPENAI_API_KEY": "other"},
        model_base_url="http://localhost:8080/v1", model_name="smol", model_max_tokens=99,
        model_prices={"smol": (1.0, 0.0)},
    )  # fmt: skip
    assert (config.base_url, config.model, config.api_key) == ("http://localhost:8080/v1", "smol", "mine")
    assert (config.max_tokens, config.price_in, config.price_out) == (99, 1.0, 0.0)
    named = resolve(model_base_url="http://h/v1", model_name="m", model_key_env="OTHER", environ={"OTHER": "o"})
    assert named.api_key == "o"
    assert named.price_in is None


def test_the_agents_key_never_goes_to_our_address(resolve):
    config = resolve(agent(), model_base_url="http://elsewhere/v1", model_name="m")
    assert config.api_key == ""
    assert "sk-or" not in str(config.secrets)


@pytest.mark.parametrize(
    ("model", "providers", "url", "name"),
    [
        ("qwen/qwen3", OPENROUTER, "https://openrouter.ai/api/v1", "qwen/qwen3"),
        ("gpt-4o", {"openai": {"apiKey": "k"}}, "https://api.openai.com/v1", "gpt-4o"),
        ("openai/gpt-4o", {"aihubmix": {"apiKey": "k"}}, "https://aihubmix.com/v1", "gpt-4o"),
        ("anthropic/claude-x", {"anthropic": {"apiKey": "k"}}, "https://api.anthropic.com/v1", "claude-x"),
        ("llama3.2", {"ollama": {"apiBase": "http://box:11434/v1"}}, "http://box:11434/v1", "llama3.2"),
        ("qwen3", {"lmStudio": {"apiBase": "http://box:1234/v1"}}, "http://box:1234/v1", "qwen3"),
        ("myProxy/foo", {"myProxy": {"apiBase": "http://p/v1", "apiKey": "k"}}, "http://p/v1", "foo"),
        ("x", {"custom": {"apiBase": "http://c/v1", "apiKey": "k"}}, "http://c/v1", "x"),
        ("deepseek-chat", {"deepseek": {"api_key": "k"}}, "https://api.deepseek.com", "deepseek-chat"),
        ("gpt-4o", {"openai": {"apiKey": "k", "apiBase": "http://proxy/v1"}}, "http://proxy/v1", "gpt-4o"),
    ],
)
def test_the_provider_is_the_one_that_the_agent_takes(resolve, model, providers, url, name):
    config = resolve(agent(model, providers))
    assert (config.base_url, config.model) == (url, name)


def test_the_dreams_own_model_is_a_preset_or_a_name(resolve):
    presets = {"small": {"model": "tiny/one", "provider": "openrouter", "maxTokens": 500, "contextWindowTokens": 4000}}
    for key in ("modelOverride", "model"):
        config = resolve({**agent(dream={key: "small"}), "modelPresets": presets})
        assert (config.model, config.max_tokens, config.context_tokens) == ("tiny/one", 500, 4000)
    assert resolve(agent(dream={"model": "other/model"})).model == "other/model"
    assert resolve(agent(dream={"modelOverride": None})).model == "qwen/qwen3"
    assert resolve({**agent(modelPreset="small"), "modelPresets": presets}).model == "tiny/one"
    default = {**agent(modelPreset="small", dream={"modelOverride": "default"}), "modelPresets": presets}
    assert resolve(default).model == "qwen/qwen3"
    assert resolve({**agent(), "modelPresets": presets}, model_name="small").model == "tiny/one"
    assert resolve(agent(dream={"modelOverride": "a"}), model_name="b").model == "b"


def test_our_limits_are_the_upper_ones(resolve):
    config = resolve(agent(maxTokens=100_000, temperature=0.7), model_max_tokens=2000, model_context_tokens=9000)
    assert (config.max_tokens, config.context_tokens, config.temperature) == (2000, 9000, 0.7)


def test_references_to_the_environment(resolve):
    providers = {
        "custom": {"apiKey": "${MY_KEY}", "apiBase": "http://${HOST}/v1", "extraHeaders": {"X-Team": "${TEAM}-1"}},
        "openai": {"apiKey": "${NOT_SET}"},
    }
    environ = {"MY_KEY": "k-123", "HOST": "h:1", "TEAM": "t"}
    config = resolve(agent("m", providers, provider="custom"), environ=environ)
    assert (config.api_key, config.base_url, config.headers) == ("k-123", "http://h:1/v1", {"X-Team": "t-1"})
    with pytest.raises(InvalidConfig, match="NOT_SET is not set"):
        resolve(agent("gpt-4", providers), environ=environ)


def test_the_agents_environment_fills_what_the_file_leaves_out(resolve):
    environ = {"NANOBOT_PROVIDERS__OPENROUTER__API_KEY": "from-environment"}
    for providers in ({"openrouter": {}}, {}):
        assert resolve(agent(providers=providers), environ=environ).api_key == "from-environment"
    with pytest.raises(InvalidConfig):
        resolve(agent(providers={"openrouter": {"apiKey": None}}), environ=environ)


def test_extras_of_a_provider_come_along(resolve):
    extras = {"extraQuery": {"api-version": "1"}, "extraBody": {"top_k": 3}, "proxy": "http://u:secret-word@p:1"}
    config = resolve(agent(providers={"openrouter": {"apiKey": "sk-or-0123456789", **extras}}))
    assert (config.query, config.body, config.proxy) == ({"api-version": "1"}, {"top_k": 3}, extras["proxy"])
    assert "secret-word" not in repr(config)
    assert "sk-or-0123456789" not in repr(config)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (None, "no language model is set up"),
        ({}, "no provider is configured for anthropic/claude-opus-4-5"),
        (agent(providers={}), "no provider is configured for qwen/qwen3"),
        (agent(providers={"openrouter": {"apiKey": ""}}, provider="openrouter"), "openrouter of qwen/qwen3 has no key"),
        (agent("x", {}, provider="custom"), "custom of x has no apiBase"),
        (agent("azure/gpt", {"azureOpenai": {"apiKey": "k", "apiBase": "http://a"}}), "needs Azure"),
        (agent("github-copilot/gpt", {}), "needs a sign-in of its own"),
        (agent("claude", {"anthropic": {"apiKey": "k", "apiBase": "http://a"}}), "needs Anthropic"),
        (agent(modelPreset="gone"), "modelPreset 'gone' is none"),
        ("{broken", "is no JSON"),
        ("[]", "is no object"),
        ({"agents": [], "providers": "x"}, "no provider is configured"),
    ],
)
def test_what_is_missing_is_named_and_the_other_way_too(resolve, given, why):
    with pytest.raises(InvalidConfig) as caught:
        resolve(given)
    line = caught.value.line()
    assert why in line
    assert "\n" not in line
    if "set up" in line:
        assert "--dreamer rules" in line


def test_an_address_without_a_model_is_told(resolve):
    with pytest.raises(InvalidConfig, match="model_name is not"):
        resolve(model_base_url="http://h/v1")
