"""Which model is asked, where, and with which key: from our settings, else from the configuration of the agent.

Owns reading the agent's `providers`, `modelPresets` and its Dream's model the way the agent does, `${NAME}` of the
environment included. A key goes only to the address that it is configured for. Reads one file; asks nobody.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import files
from nanomem_tui.core.errors import InvalidConfig, from_os_error
from nanomem_tui.core.settings import Price, price_of
from nanomem_tui.model.client import ModelConfig

if TYPE_CHECKING:
    from pathlib import Path

    from nanomem_tui.core.paths import Paths
    from nanomem_tui.core.settings import Settings


# The providers that an agent of the nanobot family knows by name, and which of them it takes for a model.


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


def snake_case(name: str) -> str:
    """A provider's name as the agent compares it: `lmStudio`, `lm-studio` and `lm_studio` are one."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()


def key_of(name: str) -> str:
    """The name under which a provider of a configuration is looked for; one that it made up has no words in it."""
    found = known_provider(name)
    return found.name if found is not None else name.replace("-", "_").lower()


def known_provider(name: str) -> Provider | None:
    """The provider of that name, None for one that the configuration made up."""
    return next((provider for provider in PROVIDERS if provider.name == snake_case(name)), None)


def choose_provider(providers: Mapping[str, Entry], model: str, wanted: str = "auto") -> Provider | None:
    """The provider that the agent takes for `model`: the one `wanted`, else by the prefix of its name, by a word
    in it, a local one with an address, the first with a key, one of its own with an address. None when there is none.

    `providers` is the table of the configuration, by names as `key_of` gives them.
    """
    if wanted not in ("auto", ""):
        return known_provider(wanted) or _made_up(providers, wanted)
    low = model.lower()
    prefix = low.split("/", 1)[0].replace("-", "_") if "/" in low else ""
    named = known_provider(prefix) if prefix else None
    if named is not None and named.name == prefix and _usable(named, _entry(providers, named)):
        return named
    if prefix and (own := _made_up(providers, prefix)) is not None:
        return own
    found = _first(providers, lambda one, entry: _by_word(one, entry, low, named) and _usable(one, entry))
    found = found or (_local(providers) if named is None else None)
    found = found or _first(providers, lambda one, entry: one.kind != "login" and bool(_text(entry, "apiKey")))
    return found or next((_providers_of(name) for name, entry in _own(providers) if _text(entry, "apiBase")), None)


def request_name(provider: Provider, model: str) -> str:
    """The name of the model as it is sent to the provider."""
    prefix, slash, rest = model.partition("/")
    if not slash or not provider.strip:
        return model
    if provider.strip == ("*",):
        return model.rpartition("/")[2]
    return rest if {snake_case(prefix), key_of(prefix)} & {*provider.strip} else model


def text_of(entry: Entry, name: str) -> str:
    """A text of a provider's table by its camelCase name, as the agent reads both spellings; "" when absent."""
    return _text(entry, name)


def _text(entry: Entry, name: str) -> str:
    value = entry.get(name, entry.get(snake_case(name)))
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
    return [(name, entry) for name, entry in providers.items() if known_provider(name) is None and name not in NO_CHAT]


def _made_up(providers: Mapping[str, Entry], name: str) -> Provider | None:
    return next((_providers_of(own) for own, _ in _own(providers) if own == key_of(name)), None)


def _providers_of(name: str) -> Provider:
    return Provider(name, kind="direct", strip=(name,))


NONE = "no language model is set up"
FIX = "set model_base_url and model_name, or use --dreamer rules"
_DEFAULT_MODEL = "anthropic/claude-opus-4-5"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class _Preset(NamedTuple):
    """A model with what the agent's configuration says of it."""

    model: str
    provider: str = "auto"
    max_tokens: int = 8192
    context_tokens: int = 200_000
    temperature: float | None = 0.1


def model_config(paths: Paths, settings: Settings, environ: Mapping[str, str] = os.environ) -> ModelConfig:
    """Where the model of a Dream is asked. Raises InvalidConfig when none is set up, or not completely."""
    if settings.model_base_url:
        return _ours(settings, environ)
    path = paths.agent_config
    if path is None:
        raise InvalidConfig(NONE, "the settings", FIX)
    return _theirs(path, _read(path), settings, environ)


def _ours(settings: Settings, environ: Mapping[str, str]) -> ModelConfig:
    if not settings.model_name:
        raise InvalidConfig("model_base_url is set and model_name is not", "the settings", FIX)
    price = price_of_model(settings, settings.model_name)
    return ModelConfig(
        base_url=settings.model_base_url,
        model=settings.model_name,
        api_key=environ.get(settings.model_key_env, "").strip(),
        timeout=settings.model_timeout_seconds,
        max_tokens=settings.model_max_tokens,
        context_tokens=settings.model_context_tokens,
        price_in=price.asked if price else None,
        price_out=price.answered if price else None,
        source=f"environment variable {settings.model_key_env}",
    )


def _theirs(path: Path, root: Mapping[str, Any], settings: Settings, environ: Mapping[str, str]) -> ModelConfig:
    preset = find_preset(root, settings.model_name, str(path))
    raw = {key_of(name): entry for name, entry in _table(root, "providers").items() if isinstance(entry, dict)}
    names = (*raw, *(one.name for one in PROVIDERS if one.name not in raw))
    providers = {name: _with_environment(name, raw.get(name, {}), environ) for name in names}
    provider = choose_provider(providers, preset.model, preset.provider)
    entry = providers.get(provider.name, {}) if provider is not None else {}
    where = f"{path} providers.{provider.name}" if provider is not None else str(path)
    entry = _resolved(entry, environ, where)
    base = _base(provider, entry, preset.model, where)
    assert provider is not None
    model = _resolved(request_name(provider, preset.model), environ, where)
    price = price_of_model(settings, model)
    return ModelConfig(
        base_url=base,
        model=model,
        api_key=text_of(entry, "apiKey").strip(),
        timeout=settings.model_timeout_seconds,
        max_tokens=min(settings.model_max_tokens, preset.max_tokens),
        context_tokens=min(settings.model_context_tokens, preset.context_tokens),
        temperature=preset.temperature,
        price_in=price.asked if price else None,
        price_out=price.answered if price else None,
        headers=_texts(entry, "extraHeaders"),
        query=_texts(entry, "extraQuery"),
        body=_table(entry, "extraBody"),
        proxy=text_of(entry, "proxy"),
        source=where,
    )


def _base(provider: Provider | None, entry: Mapping[str, Any], model: str, where: str) -> str:
    """The address of the endpoint. Raises InvalidConfig when the provider has none that we can use, or lacks a key."""
    if provider is None:
        raise InvalidConfig(f"{NONE}: no provider is configured for {model}", where, FIX)
    own = text_of(entry, "apiBase").strip()
    if provider.name in NO_CHAT or provider.speaks or (provider.name == "anthropic" and own):
        speaks = provider.speaks or "Anthropic"
        raise InvalidConfig(
            f"{NONE}: the provider {provider.name} of {model} needs {speaks}, not the protocol of OpenAI", where, FIX
        )
    if not text_of(entry, "apiKey").strip() and provider.kind not in ("local", "direct"):
        raise InvalidConfig(f"{NONE}: the provider {provider.name} of {model} has no key", where, FIX)
    if not (own or provider.base):
        raise InvalidConfig(f"{NONE}: the provider {provider.name} of {model} has no apiBase", where, FIX)
    return own or provider.base


def find_preset(root: Mapping[str, Any], ours: str, where: str) -> _Preset:
    """The model to ask: the one of our settings, else of the agent's Dream, else its own; a preset or a name."""
    defaults = _table(_table(root, "agents"), "defaults")
    dream = _table(defaults, "dream")
    presets = _table(root, "modelPresets")
    own = _read_preset(defaults, _Preset(_DEFAULT_MODEL))
    main = text_of(defaults, "modelPreset")
    if main and main != "default":
        if main not in presets:
            raise InvalidConfig(f"the agent's modelPreset {main!r} is none of its modelPresets", where, "correct it")
        own = _read_preset(_table(presets, main), own._replace(provider="auto"))
    name = ours or text_of(dream, "modelOverride") or text_of(dream, "model")
    if name == "default":
        return _read_preset(defaults, _Preset(_DEFAULT_MODEL))
    if name in presets:
        return _read_preset(_table(presets, name), _Preset(_DEFAULT_MODEL))
    return own._replace(model=name) if name else own


def _read_preset(entry: Mapping[str, Any], otherwise: _Preset) -> _Preset:
    return _Preset(
        text_of(entry, "model") or otherwise.model,
        text_of(entry, "provider") or otherwise.provider,
        _count(entry, "maxTokens", otherwise.max_tokens),
        _count(entry, "contextWindowTokens", otherwise.context_tokens),
        _share(entry.get("temperature"), otherwise.temperature),
    )


def _with_environment(name: str, entry: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """`entry` with the key and address that the agent takes from its environment where the file has no such field."""
    found = dict(entry)
    for field in ("apiKey", "apiBase"):
        given = environ.get(f"NANOBOT_PROVIDERS__{name}__{snake_case(field)}".upper())
        if given and field not in entry and snake_case(field) not in entry:
            found[field] = given
    return found


def _resolved(value: Any, environ: Mapping[str, str], where: str) -> Any:
    """`value` with each `${NAME}` replaced. Raises InvalidConfig when the environment has no such variable."""
    if isinstance(value, str):
        for name in _REFERENCE.findall(value):
            if name not in environ:
                raise InvalidConfig(f"the environment variable {name} is not set", where, "the agent's configuration "
                                    "refers to it")  # fmt: skip
        return _REFERENCE.sub(lambda found: environ[found[1]], value)
    if isinstance(value, dict):
        return {name: _resolved(inner, environ, where) for name, inner in value.items()}
    return [_resolved(inner, environ, where) for inner in value] if isinstance(value, list) else value


def _read(path: Path) -> dict[str, Any]:
    try:
        root = json.loads(files.read(path))
    except OSError as error:
        raise from_os_error(error, "reading the agent's configuration") from error
    except (ValueError, RecursionError):
        raise InvalidConfig("the agent's configuration is no JSON", str(path), "see `nanomem doctor`") from None
    if not isinstance(root, dict):
        raise InvalidConfig("the agent's configuration is no object", str(path), "see `nanomem doctor`")
    return root


def _table(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = entry.get(name, entry.get(snake_case(name)))
    return value if isinstance(value, dict) else {}


def _texts(entry: Mapping[str, Any], name: str) -> dict[str, str]:
    return {str(key): value for key, value in _table(entry, name).items() if isinstance(value, str)}


def _count(entry: Mapping[str, Any], name: str, otherwise: int) -> int:
    value = entry.get(name, entry.get(snake_case(name)))
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise


def _share(value: Any, otherwise: float | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def price_of_model(settings: Settings, model: str) -> Price | None:
    """Return what the model that we ask costs, as far as a person said."""
    return price_of(model, settings.model_prices)
