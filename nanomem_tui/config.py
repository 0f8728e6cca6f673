"""Settings: our TOML files, then the environment, then the agent's own `config.json`, in that order of trust.

One declaration per setting; reading, checking, showing and writing follow from it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.errors import BadInput, InvalidConfig, Problem, from_os_error
from nanomem_tui.paths import Paths, user_settings


class Settings(NamedTuple):
    """Every setting with its default; the names are those of the TOML files and, as `NANOMEM_…`, of the environment."""

    flush_every_updates: int = 8
    flush_interval_seconds: float = 120.0
    max_items: int = 100_000
    export_max_items: int = 300
    max_lessons: int = 200
    lesson_confidence_decay_hours: float = 168.0
    audit: bool = True
    export: bool = True
    session_keep_messages: int = 300
    session_compact_threshold_messages: int = 400
    session_compact_threshold_bytes: int = 2_000_000
    memory_enabled: bool = True
    short_term_turns: int = 12
    pending_limit: int = 20
    wal_enabled: bool = True
    wal_state_dir: str = "memory/session-state"
    retention_episodic_days: int = 90
    retention_fact_days: int = 3650
    retention_preference_days: int = 3650
    retention_decision_days: int = 3650
    mirrors: str = "auto"
    memory_db_path: str = ""
    dream_max_batch_size: int = 20
    dream_max_iterations: int = 10
    theme: str = ""
    ascii: bool = False
    keys: Mapping[str, str] = MappingProxyType({})


class About(NamedTuple):
    """What there is to know of a setting: its help, the key in the agent's `config.json`, its smallest value, the
    words it may be."""

    help: str
    agent_key: str = ""
    least: float | None = None
    choices: tuple[str, ...] = ()


ABOUT: Mapping[str, About] = {
    "flush_every_updates": About("checkpoint after this many changed rows", "agents.memory.flushEveryUpdates", 1),
    "flush_interval_seconds": About(
        "checkpoint after this many seconds with changes", "agents.memory.flushIntervalSeconds", 0
    ),
    "max_items": About("items kept before a checkpoint compacts by itself (beyond 1.1 times this; 0: never)", least=0),
    "export_max_items": About("items written to the agent's LTM_SNAPSHOT.json", least=1),
    "max_lessons": About("lessons written to the agent's LESSONS.jsonl", "agents.selfImprovement.maxLessons", 1),
    "lesson_confidence_decay_hours": About(
        "hours after which a lesson's confidence is one less", "agents.selfImprovement.lessonConfidenceDecayHours", 1
    ),
    "audit": About("write the agent's audit logs where it keeps them"),
    "export": About("write changes back to the files that the agent keeps"),
    "session_keep_messages": About(
        "messages that a session keeps when it is compacted", "agents.sessions.compactKeepMessages", 1
    ),
    "session_compact_threshold_messages": About(
        "messages at which a session of ours is compacted", "agents.sessions.compactThresholdMessages", 1
    ),
    "session_compact_threshold_bytes": About(
        "bytes at which a session of ours is compacted", "agents.sessions.compactThresholdBytes", 1
    ),
    "memory_enabled": About("remember and recall in turns (off: a turn reads and writes nothing)", "memory.enabled"),
    "short_term_turns": About("turns of a session kept as working memory", "agents.memory.shortTermTurns", 0),
    "pending_limit": About("pending items kept for a session", "agents.memory.pendingLimit", 0),
    "wal_enabled": About("write each turn into the session state before and after the answer", "memory.wal.enabled"),
    "wal_state_dir": About("folder of the session state, inside the workspace", "memory.wal.stateDir"),
    **{
        f"retention_{kind}_days": About(
            f"days that a captured item of kind {kind} is kept (0: for good)", f"memory.retention.{kind}Days", 0
        )
        for kind in ("episodic", "fact", "preference", "decision")
    },
    "mirrors": About(
        "append what is remembered to Markdown files in memory/ (auto: where they are kept)",
        choices=("auto", "on", "off"),
    ),
    "memory_db_path": About("a database of the scoped system, to import from", "memory.dbPath"),
    "dream_max_batch_size": About("history entries that one Dream reads", "agents.defaults.dream.maxBatchSize", 1),
    "dream_max_iterations": About("edit steps that one Dream takes", "agents.defaults.dream.maxIterations", 1),
    "theme": About("colour theme of the console (empty: chosen by the terminal)"),
    "ascii": About("draw without box characters"),
    "keys": About("action = key, to remap the console"),
}
"""Each setting of `Settings`, by name."""


class Loaded(NamedTuple):
    """The settings in force, where each that is not a default came from, and what could not be used."""

    settings: Settings
    sources: Mapping[str, str]
    problems: tuple[Problem, ...]


NAMES = Settings._fields
_DEFAULTS: Mapping[str, Any] = Settings._field_defaults


def load(paths: Paths | None) -> Loaded:
    """Read every source. Raises InvalidConfig when one of our own TOML files does not parse; a broken or foreign
    agent configuration is only reported."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[Problem] = []
    for source, found in _sources(paths, problems):
        for name, value in found.items():
            if name in NAMES:
                values.setdefault(name, check(name, value, source))
                sources.setdefault(name, source)
            else:
                hint = nearest(name, NAMES)
                problems.append(Problem(f"unknown setting `{name}`", source, fix=hint, severity="warning"))
    return Loaded(Settings(**values), sources, tuple(problems))


def _sources(paths: Paths | None, problems: list[Problem]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in ([paths.settings] if paths else []) + [user_settings()]:
        yield str(file), read_toml(file)
    yield "environment", _environment()
    if paths is not None and paths.agent_config is not None:
        yield str(paths.agent_config), _agent_values(paths.agent_config, problems)


def read_toml(path: Path) -> dict[str, Any]:
    """The table of a TOML file, `{}` when it is absent. Raises InvalidConfig with the line."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise from_os_error(error, "reading the settings") from error
    import tomllib  # 5 ms, and most workspaces have no settings file

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidConfig(
            f"the settings do not parse ({error})", str(path), "correct that line or remove the file"
        ) from error


def check(name: str, value: Any, source: str) -> Any:
    """`value` in the type of the setting. Raises InvalidConfig."""
    kind = _kind(name)
    types: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}
    wanted = types.get(kind, (dict,))
    fits = isinstance(value, wanted) and (kind == "bool" or not isinstance(value, bool))
    least = ABOUT[name].least
    fits = fits and (kind != "float" or math.isfinite(value))
    if not fits or (least is not None and value < least):
        bound = f" of at least {least:g}" if least is not None else ""
        raise InvalidConfig(f"`{name}` must be a {kind}{bound}, not {value!r}", source, "see `nanomem config show`")
    choices = ABOUT[name].choices
    if choices and value not in choices:
        fix = f"one of {', '.join(choices)}"
        raise InvalidConfig(f"`{name}` cannot be {value!r}", source, fix)
    return float(value) if kind == "float" else value


def from_text(name: str, text: str, source: str) -> Any:
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
        elif kind != "str":
            value = json.loads(text)
    return check(name, value, source)


def _kind(name: str) -> str:
    """The type of a setting by name; a table is a `dict`."""
    default = _DEFAULTS[name]
    return "dict" if isinstance(default, Mapping) else type(default).__name__


def nearest(name: str, known: tuple[str, ...]) -> str:
    """`did you mean …?` for a misspelt name, empty when nothing is near."""
    import difflib

    close = difflib.get_close_matches(name, known, 1, 0.5)
    return f"did you mean `{close[0]}`?" if close else ""


def _environment() -> dict[str, Any]:
    reserved = {"NANOMEM_WORKSPACE", "NANOMEM_CONFIG"}
    found = {}
    for variable, text in os.environ.items():
        name = variable.removeprefix("NANOMEM_").lower()
        if variable.startswith("NANOMEM_") and variable not in reserved and name in NAMES:
            found[name] = from_text(name, text, f"environment variable {variable}")
    return found


def _agent_values(path: Path, problems: list[Problem]) -> dict[str, Any]:
    try:
        root = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        problems.append(Problem(f"the agent's configuration cannot be read ({error})", str(path), severity="warning"))
        return {}
    found: dict[str, Any] = {}
    for name, about in ABOUT.items():
        value: Any = root
        for part in about.agent_key.split(".") if about.agent_key else ["\0"]:
            value = value.get(part) if isinstance(value, dict) else None
        if value is None:
            continue
        try:
            found[name] = check(name, value, str(path))
        except InvalidConfig as error:
            problems.append(Problem(error.what, str(path), fix=error.fix, severity="warning"))
    return found
