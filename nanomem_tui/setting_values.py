"""Which values a setting can have, and a value out of a text.

Owns the checks of one value. Must not know where values come from: that is `config`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanomem_tui import json_text, prices, setting_checks
from nanomem_tui.errors import BadInput, InvalidConfig
from nanomem_tui.settings import ABOUT, DEFAULTS, NAMES, About


def check(name: str, value: Any, source: str, workspace: Path | None = None) -> Any:
    """`value` in the type of the setting; `workspace`: the one that it is for, where that is known.

    Raises InvalidConfig for a value that cannot work.
    """
    if name == "model_prices" and isinstance(value, Mapping):
        return {model: _price(model, entry, source) for model, entry in value.items()}
    if name == "workspaces" and isinstance(value, Mapping):  # a table of names and paths says the same
        value = [f"{key}={path}" for key, path in value.items()]
    kind, about = _kind(name), ABOUT[name]
    fits = isinstance(value, _TYPES[kind]) and (kind == "bool" or not isinstance(value, bool))
    fits = fits and (kind != "float" or math.isfinite(value))
    fits = fits and (about.least is None or value >= about.least) and (about.most is None or value <= about.most)
    inside = (value.values() if kind == "table" else value if kind == "list" else ()) if fits else ()
    if not fits or not all(isinstance(entry, str) for entry in inside):
        fix = f"nanomem config set {name} NAME=TEXT,NAME=TEXT" if kind == "table" else "see `nanomem config show`"
        raise InvalidConfig(f"`{name}` must be {_KINDS[kind]}{_bound(about)}, not {value!r}", source, fix)
    if about.names and (unknown := [key for key in value if key not in about.names]):
        raise InvalidConfig(f"`{name}` cannot hold {unknown[0]!r}", source, f"one of {', '.join(about.names)}")
    for word in inside if kind in ("list", "table") else [value]:
        if about.choices and word not in about.choices:
            fix = nearest(str(word), about.choices) or f"one of {', '.join(filter(None, about.choices))}"
            raise InvalidConfig(f"`{name}` cannot be {word!r}", source, fix)
    trouble = setting_checks.folder_trouble(value, workspace) if name == "wal_state_dir" else ""
    trouble = setting_checks.cron_trouble(value) if name in ("dream_cron", "crystallize_schedule") else trouble
    for entry in value if name == "workspaces" else ():
        if wrong := setting_checks.workspace_trouble(entry):
            fix = f"see `nanomem workspaces add {entry.rpartition('=')[2].strip() or 'PATH'}`"
            raise InvalidConfig(f"`{name}` cannot hold {entry!r}: {wrong}", source, fix)
    if trouble:
        raise InvalidConfig(f"`{name}` cannot be {value!r}: {trouble}", source, f"see `{_EXAMPLES[name]}`")
    if name == "embedding_base_url" and (trouble := setting_checks.address_trouble(value)):
        fix = "see `nanomem config set embedding_base_url http://127.0.0.1:8080/v1`; a key goes into embedding_key_env"
        raise InvalidConfig(f"`{name}` cannot be used: {trouble}", source, fix)
    return float(value) if kind == "float" else tuple(value) if kind == "list" else value


def to_keep(name: str, text: str, workspace: Path | None = None) -> Any:
    """The value of a setting given as text, for who writes it into a file. Raises BadInput, as `from_text` does, and
    InvalidConfig for an address that nobody can be asked at, too: one that is in a file is told when it is used."""
    value = from_text(name, text, "", workspace)
    check_address(name, value, "")
    return value


def check_address(name: str, value: Any, source: str) -> None:
    """Raise InvalidConfig where the setting is an address and `value` is none, or holds a password, which settings do
    not keep. Repeats no word of it."""
    if name not in _ADDRESSES or not value:
        return
    if name in ("database_url", "pgvector_url"):
        if not setting_checks.is_postgres(value):
            raise no_postgres(name, source)
        if setting_checks.holds_password(value):
            raise with_password(name, source)
    elif trouble := setting_checks.address_trouble(value, user=name == "model_base_url", port=name == "chroma_url"):
        fix = f"nanomem config set {name} {_ADDRESSES[name]}"
        raise InvalidConfig(f"`{name}` cannot be used: {trouble}", source, fix)


def no_postgres(name: str, source: str) -> InvalidConfig:
    """The error of an address that leads to no database."""
    fix = f"nanomem config set {name} {_ADDRESSES[name]}"
    return InvalidConfig(f"`{name}` is no address of a PostgreSQL database", source, fix)


def with_password(name: str, source: str) -> InvalidConfig:
    """The error of the address of a database with a password in it."""
    fix = f"put it into ~/.pgpass, or into PGPASSWORD; nanomem config set {name} {_ADDRESSES[name]}"
    return InvalidConfig(f"`{name}` holds a password, which settings do not keep", source, fix)


_ADDRESSES = {
    "database_url": "postgresql+psycopg://user@host/database",
    "pgvector_url": "postgresql+psycopg://user@host/database",
    "chroma_url": "http://127.0.0.1:8000",
    "model_base_url": "http://127.0.0.1:8080/v1",
}
"""The settings that are addresses, and one as an example; `embedding_base_url` is looked at by `check`."""


def _price(model: str, value: Any, source: str) -> tuple[float, float]:
    try:
        return prices.price(value)
    except ValueError as error:
        fix = "nanomem config set model_prices gpt-4o=2.5/10"
        raise InvalidConfig(f"`model_prices` of {model!r} cannot be {value!r}: {error}", source, fix) from None


_EXAMPLES = {
    "wal_state_dir": "nanomem config set wal_state_dir memory/session-state",
    "dream_cron": "nanomem config set dream_cron '0 4 * * *'",
    "crystallize_schedule": "nanomem config set crystallize_schedule '0 4 * * *'",
}


_KINDS = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text", "list": "a list of texts",
    "table": "a table of texts",
}  # fmt: skip
_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "bool": (bool,), "str": (str,), "list": (list, tuple), "table": (dict,),
}  # fmt: skip


def _bound(about: About) -> str:
    if about.most is not None and about.least is not None:
        return f" from {about.least:g} to {about.most:g}"
    return f" of at least {about.least:g}" if about.least is not None else ""


def from_text(name: str, text: str, source: str, workspace: Path | None = None) -> Any:
    """The value of a setting given as text, on the command line or in the environment. Raises BadInput."""
    if name not in NAMES:
        raise BadInput(f"unknown setting `{name}`", source, nearest(name, NAMES) or "see `nanomem config show`")
    kind = _kind(name)
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    value: Any = text
    with contextlib.suppress(ValueError):
        if kind == "bool":
            value = words.get(text.strip().lower(), text)
        elif kind in ("int", "float"):
            value = int(text) if kind == "int" else float(text)
        elif kind == "list" and not text.lstrip().startswith("["):
            value = [word.strip() for word in text.split(",") if word.strip()]
        elif kind == "table":
            value = _table(text)
        elif kind != "str":
            value = json_text.loads(text)
    return check(name, value, source, workspace)


def _table(text: str) -> Any:
    """A table as JSON, as TOML writes it, or as `name=word, name=word`. Raises ValueError for what is none of these."""
    if not text.lstrip().startswith("{"):
        pairs = [part.partition("=") for part in text.split(",")]
        return {name.strip(): word.strip() for name, sign, word in pairs if sign} if all(p[1] for p in pairs) else text
    try:
        return json_text.loads(text)
    except ValueError:
        import tomllib  # only where one is set so

        return tomllib.loads(f"table = {text}")["table"]


def _kind(name: str) -> str:
    """The type of a setting by name; a mapping is a `table`, a tuple of words a `list`."""
    default = DEFAULTS[name]
    return "table" if isinstance(default, Mapping) else "list" if isinstance(default, tuple) else type(default).__name__


def nearest(name: str, known: tuple[str, ...], least: float = 0.5) -> str:
    """`did you mean …?` for a misspelt name, empty when nothing is near (`least` of 1 is the name itself)."""
    import difflib

    close = difflib.get_close_matches(name, known, 1, least)
    return f"did you mean `{close[0]}`?" if close else ""
