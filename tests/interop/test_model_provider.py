"""The provider that we find in an agent's configuration is the one that the real agent asks, in many configurations."""

import json
import random
import subprocess

import pytest

from nanomem_tui.model.settings import choose_provider, find_preset, key_of, text_of
from tests.conftest import need
from tests.interop.real_agent import PEER

pytestmark = pytest.mark.interop
REAL = """
import json, sys
from nanobot.config.schema import Config
found = []
for data in json.load(sys.stdin):
    config = Config.model_validate(data)
    preset = config.resolve_preset(data["agents"]["defaults"]["dream"]["modelOverride"])
    key, base = config.get_api_key(preset.model, preset=preset), config.get_api_base(preset.model, preset=preset)
    found.append([config.get_provider_name(preset.model, preset=preset), key, base])
json.dump(found, sys.stdout)
"""
NAMES = (
    "custom azureOpenai bedrock openrouter opencode aihubmix volcengine anthropic openai deepseek gemini zhipu "
    "dashscope moonshot minimax vllm ollama lmStudio ovms nvidia groq mistral githubCopilot myProxy other-one"
).split()
MODELS = (
    "anthropic/claude-opus-4-5 claude-3 gpt-4o openai/gpt-4o llama3.2 nvidia/nemotron-70b nemotron-mini qwen3 "
    "deepseek/deepseek-chat deepseek-chat myProxy/foo my-proxy/foo other-one/x glm-4 kimi-k2 ollama/llama3 "
    "lm-studio/abc openrouter/x/y gemma-2 mistral-large zai-glm something github-copilot/gpt-5 openai-codex/gpt "
    "ark-1 opencode/big azure/gpt bedrock/claude meta.llama step-1"
).split()
OTHER_PROTOCOL = (None, "anthropic", "openai", "github_copilot", "openai_codex")
"""The agent has no address for these: it asks them in another way, or leaves the address to a library."""


def configurations(count):
    dice = random.Random(7)
    made = []
    for _ in range(count):
        providers = {
            name: {
                "apiKey": dice.choice([None, f"key-{name}"]),
                "apiBase": dice.choice([None, None, f"http://{name.lower()}.example/v1", "http://localhost:11434/v1"]),
            }
            for name in dice.sample(NAMES, dice.randint(0, 5))
        }
        preset = {"model": dice.choice(MODELS), "provider": dice.choice(["auto", "auto", *NAMES])}
        defaults = {
            "model": dice.choice(MODELS),
            "provider": dice.choice(["auto"] * 6 + NAMES),
            "modelPreset": dice.choice([None, None, "own"]),
            "dream": {"modelOverride": dice.choice([None, None, "own", "default"])},
        }
        made.append({"agents": {"defaults": defaults}, "providers": providers, "modelPresets": {"own": preset}})
    return made


def ours(data):
    preset = find_preset(data, "", "config.json")
    providers = {key_of(name): entry for name, entry in data["providers"].items()}
    provider = choose_provider(providers, preset.model, preset.provider)
    if provider is None:
        return [None, None, None]
    entry = providers.get(provider.name, {})
    return [provider.name, text_of(entry, "apiKey") or None, text_of(entry, "apiBase") or provider.base or None]


def test_we_ask_whom_the_agent_asks():
    need(PEER.exists(), "no agent to drive: run `make peers`")
    made = configurations(1500)
    done = subprocess.run([PEER, "-c", REAL], input=json.dumps(made), capture_output=True, text=True, check=True)
    for data, (name, key, base) in zip(made, json.loads(done.stdout), strict=True):
        mine = ours(data)
        assert mine[:2] == [name and key_of(name), key], data
        assert mine[0] in OTHER_PROTOCOL or mine[2] == base, data
