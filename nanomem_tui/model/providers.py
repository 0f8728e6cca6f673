"""The providers that an agent of the nanobot family knows by name, and which of them it takes for a model.

Owns facts of its releases: names, the words in a model's name, addresses, how a model's name is shortened for them; and
the order in which one is chosen. Pure: a `providers` table in, a provider out. Must not resolve or hold a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Provider(NamedTuple):
    """What is known of a provider.

    `keywords` point to it in a model's name. `kind`: `gateway` routes any model, `local` runs beside the agent,
    `direct` needs no key, `login` is signed in to elsewhere, "" is any other. `speaks` is "" for OpenAI's protocol,
    else the name of another. `strip`: prefixes that a model's name loses, `*` for any.
    """

    name: str
    keywords: tuple[str, ...] = ()
    base: str = ""
    kind: str = ""
    strip: tuple[str, ...] = ()
    speaks: str = ""
    port: str = ""


def _p(
    name: str, keywords: str, base: str = "", kind: str = "", strip: str = "", *, speaks: str = "", port: str = ""
) -> Provider:
    return Provider(name, tuple(keywords.split()), base, kind, tuple(strip.split()), speaks, port)


_ARK, _BYTE = "https://ark.cn-beijing.volces.com/api", "https://ark.ap-southeast.bytepluses.com/api"
_ZEN = "opencode opencode_zen"
_AMAZON = (
    "bedrock anthropic.claude amazon.nova meta. mistral. cohere. qwen. deepseek. openai.gpt-oss ai21. moonshot. "
    "writer. zai."
)
PROVIDERS: tuple[Provider, ...] = (
    _p("custom", "", kind="direct"),
    _p("azure_openai", "azure azure-openai", kind="direct", speaks="Azure"),
    _p("bedrock", _AMAZON, kind="direct", speaks="AWS Bedrock"),
    _p("openrouter", "openrouter", "https://openrouter.ai/api/v1", "gateway"),
    _p("orcarouter", "orcarouter", "https://api.orcarouter.ai/v1", "gateway"),
    _p("edenai", "edenai", "https://api.edenai.run/v3", "gateway"),
    _p("opencode", "opencode/ opencode opencode-zen", "https://opencode.ai/zen/v1", "gateway", _ZEN),
    _p("opencode_zen", "opencode/ opencode_zen opencode-zen", "https://opencode.ai/zen/v1", "gateway", _ZEN),
    _p("opencode_go", "opencode-go opencode_go", "https://opencode.ai/zen/go/v1", "gateway", "opencode_go"),
    _p("huggingface", "huggingface hugging-face", "https://router.huggingface.co/v1", "gateway"),
    _p("skywork", "skywork skyclaw apifree", "https://api.apifree.ai/agent/v1", "gateway"),
    _p("aihubmix", "aihubmix", "https://aihubmix.com/v1", "gateway", "*"),
    _p("siliconflow", "siliconflow", "https://api.siliconflow.cn/v1", "gateway"),
    _p("novita", "novita", "https://api.novita.ai/openai", "gateway"),
    _p("volcengine", "volcengine volces ark", f"{_ARK}/v3", "gateway"),
    _p("volcengine_coding_plan", "volcengine-plan", f"{_ARK}/coding/v3", "gateway", "*"),
    _p("byteplus", "byteplus", f"{_BYTE}/v3", "gateway", "*"),
    _p("byteplus_coding_plan", "byteplus-plan", f"{_BYTE}/coding/v3", "gateway", "*"),
    # Anthropic answers in the protocol of OpenAI too, at its own address.
    _p("anthropic", "anthropic claude", "https://api.anthropic.com/v1", strip="anthropic"),
    _p("openai", "openai gpt", "https://api.openai.com/v1"),
    _p("openai_codex", "openai-codex", kind="login", speaks="a sign-in of its own"),
    _p("xai_grok", "xai-grok xai_grok", kind="login", speaks="a sign-in of its own"),
    _p("github_copilot", "github_copilot copilot", kind="login", speaks="a sign-in of its own"),
    _p("deepseek", "deepseek", "https://api.deepseek.com"),
    _p("gemini", "gemini gemma", "https://generativelanguage.googleapis.com/v1beta/openai/"),
    _p("zhipu", "zhipu glm zai", "https://open.bigmodel.cn/api/paas/v4"),
    _p("dashscope", "qwen dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
    _p("modelscope", "modelscope", "https://api-inference.modelscope.cn/v1", "gateway", "modelscope"),
    _p("moonshot", "moonshot kimi", "https://api.moonshot.ai/v1"),
    _p("kimi_coding", "kimi-coding kimi_coding kimi-for-coding", speaks="Anthropic"),
    _p("minimax", "minimax", "https://api.minimax.io/v1"),
    _p("minimax_anthropic", "minimax_anthropic", speaks="Anthropic"),
    _p("mistral", "mistral magistral ministral codestral devstral", "https://api.mistral.ai/v1"),
    _p("stepfun", "stepfun step", "https://api.stepfun.com/v1"),
    _p("xiaomi_mimo", "xiaomi_mimo mimo", "https://api.xiaomimimo.com/v1"),
    _p("longcat", "longcat", "https://api.longcat.chat/openai/v1"),
    _p("ant_ling", "ant_ling ant-ling ling- ring-", "https://api.ant-ling.com/v1"),
    _p("vllm", "vllm", kind="local"),
    _p("ollama", "ollama nemotron", "http://localhost:11434/v1", "local", port="11434"),
    _p("lm_studio", "lm-studio lmstudio lm_studio", "http://localhost:1234/v1", "local", port="1234"),
    _p("atomic_chat", "atomic-chat atomic_chat atomicchat", "http://localhost:1337/v1", "local", port="1337"),
    _p("ovms", "openvino ovms", "http://localhost:8000/v3", "local"),
    _p("nvidia", "nvidia nemotron nvapi", "https://integrate.api.nvidia.com/v1"),
    _p("groq", "groq", "https://api.groq.com/openai/v1"),
    _p("qianfan", "qianfan ernie", "https://qianfan.baidubce.com/v2"),
)
"""In the order in which the agent looks for one."""

NO_CHAT = frozenset({"assemblyai"})
"""Names that only transcribe speech."""

Entry = Mapping[str, Any]


def snake(name: str) -> str:
    """A provider's name as the agent compares it: `lmStudio`, `lm-studio` and `lm_studio` are one."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()


def key_of(name: str) -> str:
    """The name under which a provider of a configuration is looked for; one that it made up has no words in it."""
    found = known(name)
    return found.name if found is not None else name.replace("-", "_").lower()


def known(name: str) -> Provider | None:
    """The provider of that name, None for one that the configuration made up."""
    return next((provider for provider in PROVIDERS if provider.name == snake(name)), None)


def chosen(providers: Mapping[str, Entry], model: str, wanted: str = "auto") -> Provider | None:
    """The provider that the agent takes for `model`: the one `wanted`, else by the prefix of its name, by a word
    in it, a local one with an address, the first with a key, one of its own with an address. None when there is none.

    `providers` is the table of the configuration, by names as `key_of` gives them.
    """
    if wanted not in ("auto", ""):
        return known(wanted) or _made_up(providers, wanted)
    low = model.lower()
    prefix = low.split("/", 1)[0].replace("-", "_") if "/" in low else ""
    named = known(prefix) if prefix else None
    if named is not None and named.name == prefix and _usable(named, _entry(providers, named)):
        return named
    if prefix and (own := _made_up(providers, prefix)) is not None:
        return own
    found = _first(providers, lambda one, entry: _by_word(one, entry, low, named) and _usable(one, entry))
    found = found or (_local(providers) if named is None else None)
    found = found or _first(providers, lambda one, entry: one.kind != "login" and bool(_text(entry, "apiKey")))
    return found or next((_of(name) for name, entry in _own(providers) if _text(entry, "apiBase")), None)


def request_name(provider: Provider, model: str) -> str:
    """The name of the model as it is sent to the provider."""
    prefix, slash, rest = model.partition("/")
    if not slash or not provider.strip:
        return model
    if provider.strip == ("*",):
        return model.rpartition("/")[2]
    return rest if {snake(prefix), key_of(prefix)} & {*provider.strip} else model


def text_of(entry: Entry, name: str) -> str:
    """A text of a provider's table by its camelCase name, as the agent reads both spellings; "" when absent."""
    return _text(entry, name)


def _text(entry: Entry, name: str) -> str:
    value = entry.get(name, entry.get(snake(name)))
    return value if isinstance(value, str) else ""


def _entry(providers: Mapping[str, Entry], provider: Provider) -> Entry:
    return providers.get(provider.name, {})


def _usable(provider: Provider, entry: Entry) -> bool:
    return provider.kind in ("login", "local", "direct") or bool(_text(entry, "apiKey"))


def _by_word(provider: Provider, entry: Entry, model: str, named: Provider | None) -> bool:
    normal = model.replace("-", "_")
    if not any(word in model or word.replace("-", "_") in normal for word in provider.keywords):
        return False
    # The families of models that a local server is known for run elsewhere too: it needs an address of its own here.
    return provider.kind != "local" or (bool(_text(entry, "apiBase")) and named in (None, provider))


def _first(providers: Mapping[str, Entry], fits: Callable[[Provider, Entry], bool]) -> Provider | None:
    return next((provider for provider in PROVIDERS if fits(provider, _entry(providers, provider))), None)


def _local(providers: Mapping[str, Entry]) -> Provider | None:
    at = {p.name: _text(_entry(providers, p), "apiBase") for p in PROVIDERS if p.kind == "local"}
    there: Sequence[Provider] = [p for p in PROVIDERS if at.get(p.name)]
    return next((p for p in there if p.port and p.port in at[p.name]), there[0] if there else None)


def _own(providers: Mapping[str, Entry]) -> list[tuple[str, Entry]]:
    """The providers that the configuration made up, in its order."""
    return [(name, entry) for name, entry in providers.items() if known(name) is None and name not in NO_CHAT]


def _made_up(providers: Mapping[str, Entry], name: str) -> Provider | None:
    return next((_of(own) for own, _ in _own(providers) if own == key_of(name)), None)


def _of(name: str) -> Provider:
    return Provider(name, kind="direct", strip=(name,))
