"""Which model is asked, where, and with which key: from our settings, else from the configuration of the agent.

Owns reading the agent's `providers`, `modelPresets` and its Dream's model the way the agent does, `${NAME}` of the
environment included. A key goes only to the address that it is configured for. Reads one file; asks nobody.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import files
from nanomem_tui.core.errors import InvalidConfig, from_os_error
from nanomem_tui.core.settings import Price, price_of
from nanomem_tui.model.client import ModelConfig
from nanomem_tui.model.providers import NO_CHAT, PROVIDERS, Provider, chosen, key_of, request_name, snake, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from nanomem_tui.core.paths import Paths
    from nanomem_tui.core.settings import Settings

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
    price = own_price(settings, settings.model_name)
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
    preset = _preset(root, settings.model_name, str(path))
    raw = {key_of(name): entry for name, entry in _table(root, "providers").items() if isinstance(entry, dict)}
    names = (*raw, *(one.name for one in PROVIDERS if one.name not in raw))
    providers = {name: _with_environment(name, raw.get(name, {}), environ) for name in names}
    provider = chosen(providers, preset.model, preset.provider)
    entry = providers.get(provider.name, {}) if provider is not None else {}
    where = f"{path} providers.{provider.name}" if provider is not None else str(path)
    entry = _resolved(entry, environ, where)
    base = _base(provider, entry, preset.model, where)
    assert provider is not None
    model = _resolved(request_name(provider, preset.model), environ, where)
    price = own_price(settings, model)
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


def _preset(root: Mapping[str, Any], ours: str, where: str) -> _Preset:
    """The model to ask: the one of our settings, else of the agent's Dream, else its own; a preset or a name."""
    defaults = _table(_table(root, "agents"), "defaults")
    dream = _table(defaults, "dream")
    presets = _table(root, "modelPresets")
    own = _of(defaults, _Preset(_DEFAULT_MODEL))
    main = text_of(defaults, "modelPreset")
    if main and main != "default":
        if main not in presets:
            raise InvalidConfig(f"the agent's modelPreset {main!r} is none of its modelPresets", where, "correct it")
        own = _of(_table(presets, main), own._replace(provider="auto"))
    name = ours or text_of(dream, "modelOverride") or text_of(dream, "model")
    if name == "default":
        return _of(defaults, _Preset(_DEFAULT_MODEL))
    if name in presets:
        return _of(_table(presets, name), _Preset(_DEFAULT_MODEL))
    return own._replace(model=name) if name else own


def _of(entry: Mapping[str, Any], otherwise: _Preset) -> _Preset:
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
        given = environ.get(f"NANOBOT_PROVIDERS__{name}__{snake(field)}".upper())
        if given and field not in entry and snake(field) not in entry:
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
    value = entry.get(name, entry.get(snake(name)))
    return value if isinstance(value, dict) else {}


def _texts(entry: Mapping[str, Any], name: str) -> dict[str, str]:
    return {str(key): value for key, value in _table(entry, name).items() if isinstance(value, str)}


def _count(entry: Mapping[str, Any], name: str, otherwise: int) -> int:
    value = entry.get(name, entry.get(snake(name)))
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise


def _share(value: Any, otherwise: float | None) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def own_price(settings: Settings, model: str) -> Price | None:
    """What the model that we ask costs, as far as a person said: by itself, else by its name."""
    if settings.model_price_in or settings.model_price_out:
        return Price(settings.model_price_in, settings.model_price_out)
    return price_of(model, settings.model_prices)
