"""Every setting: its default and what it means.

Owns the declarations, and checks which values can work. Where values come from is `config`'s.
"""

from __future__ import annotations

import contextlib
import math
import os.path
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from nanomem_tui.core import files
from nanomem_tui.core.errors import BadInput, InvalidConfig

GONE = frozenset(
    "audit capture_episodic_allowance capture_mode capture_scopes capture_tools capture_unnamed_channels "
    "chroma_path collector_interval_seconds consolidate_chars_per_token context_max_tokens context_tokenizer "
    "crystallize_messages export_max_items feedback_max_message_chars feedback_require_prefix "
    "lesson_confidence_decay_hours min_lesson_confidence model_price_in model_price_out operational_seconds "
    "pending_limit promotion_min_users promotion_triggers recall_context_chars recall_global recall_max_distance "
    "recall_related_facts session_compact_threshold_bytes tiers_goal_days tiers_longterm_gb tiers_metric_days "
    "tiers_metric_hourly_days tiers_record_days tiers_undo_days tiers_working_gb".split()
)
"""Settings of earlier versions that have no effect any more: a file that names one is read all the same."""

RETAINED = ("episodic", "fact", "preference", "decision")
"""The kinds of captured items, each with its own days in `retention_days`."""

EARLIER: Mapping[str, tuple[str, str]] = {
    "embedding_path": ("embedding_model", ""),
    **{f"retention_{kind}_days": ("retention_days", kind) for kind in RETAINED},
}
"""Earlier names that still count: the setting that each is now, and its name in the table of that."""

UNUSED_AGENT_KEYS = (
    "agents.memory.pendingLimit",
    "agents.selfImprovement.feedbackMaxMessageChars",
    "agents.selfImprovement.feedbackRequirePrefix",
    "agents.selfImprovement.lessonConfidenceDecayHours",
    "agents.selfImprovement.minLessonConfidence",
    "agents.selfImprovement.promotionMinUsers",
    "agents.selfImprovement.promotionTriggers",
    "agents.sessions.compactThresholdBytes",
    "memory.capture.mode",
)
"""Keys of an agent's configuration that are known, and that nanomem does not go by."""

OFF = "memory is switched off (memory_enabled)"
"""Why nobody is given anything, and nothing is kept."""


class Settings(NamedTuple):
    """Every setting with its default; the names are those of the TOML files and, as `NANOMEM_…`, of the environment."""

    flush_every_updates: int = 8
    flush_interval_seconds: float = 120.0
    max_items: int = 100_000
    max_lessons: int = 200
    export: bool = True
    session_keep_messages: int = 300
    session_compact_threshold_messages: int = 400
    memory_enabled: bool = True
    short_term_turns: int = 12
    wal_enabled: bool = True
    wal_state_dir: str = "memory/session-state"
    retention_days: Mapping[str, int] = MappingProxyType(
        {"episodic": 90, "fact": 3650, "preference": 3650, "decision": 3650}
    )
    mirrors: str = "auto"
    memory_db_path: str = ""
    recall_backend: str = "auto"
    recall_profile: str = "default"
    recall_max_results: int = 8
    recall_max_prompt_chars: int = 2400
    recall_user_layer_results: int = -1
    private_in_groups: tuple[str, ...] = ()
    capture_enabled: bool = True
    capture_min_confidence: float = 0.78
    capture_min_importance: float = 0.6
    capture_channels: tuple[str, ...] = ("cli", "telegram", "whatsapp", "discord", "feishu")
    capture_assistant: bool = False
    capture_inbox_roles: tuple[str, ...] = ("assistant", "tool")
    capture_senders: tuple[str, ...] = ()
    capture_max_entries_per_turn: int = 4
    learning_enabled: bool = True
    max_lessons_in_prompt: int = 5
    promotion_enabled: bool = True
    dream_max_batch_size: int = 20
    dream_max_iterations: int = 10
    dream_dreamer: str = "auto"
    dream_schedule: str = "auto"
    dream_interval_h: float = 2.0
    dream_cron: str = ""
    crystallize_extractor: str = "rules"
    crystallize_schedule: str = ""
    consolidate_schedule: str = "own"
    consolidate_budget_tokens: int = 32_000
    model_base_url: str = ""
    model_name: str = ""
    model_key_env: str = "NANOMEM_MODEL_KEY"
    model_timeout_seconds: float = 120.0
    model_max_tokens: int = 4096
    model_context_tokens: int = 32_000
    model_prices: Mapping[str, tuple[float, float]] = MappingProxyType({})
    embedding_enabled: bool = True
    embedding_backend: str = "auto"
    embedding_model: str = ""
    embedding_base_url: str = ""
    embedding_key_env: str = "NANOMEM_EMBEDDING_KEY"
    vector_index: str = "rows"
    chroma_url: str = ""
    pgvector_url: str = ""
    database_url: str = ""
    mcp_writes: bool = False
    agent_name: str = ""
    workspaces: tuple[str, ...] = ()
    remember_workspaces: bool = False
    operational_entries: int = 10_000
    collector_enabled: bool = False
    lifecycle_enabled: bool = True
    theme: str = ""
    ascii: bool = False
    thin_output: str = "auto"
    real_cursor: bool = False
    reduced_motion: bool = False
    keys: Mapping[str, str] = MappingProxyType({})

    @property
    def dreamer(self) -> str:
        """Who dreams, `rules` or `model`: a model only where it is set or these settings name an endpoint; the keys of
        the agent are used by nobody who was not asked to."""
        if self.dream_dreamer != "auto":
            return self.dream_dreamer
        return "model" if self.model_base_url else "rules"


THEMES = (
    "auto", "dark", "light", "nanomem-dark", "nanomem-light", "ansi-dark", "ansi-light", "atom-one-dark",
    "atom-one-light", "catppuccin-frappe", "catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula",
    "flexoki", "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn", "rose-pine-moon", "solarized-dark",
    "solarized-light", "textual-dark", "textual-light", "tokyo-night",
)  # fmt: skip
"""The themes of the console: who chooses among ours, ours, and those of the library it is made with."""


class SettingInfo(NamedTuple):
    """What there is to know of a setting: its help, the key in the agent's `config.json`, the smallest and the largest
    number, the words that it (or each of its values) may be, the names that its table may hold."""

    help: str
    agent_key: str = ""
    least: float | None = None
    choices: tuple[str, ...] = ()
    most: float | None = None
    names: tuple[str, ...] = ()


ABOUT: Mapping[str, SettingInfo] = {
    "flush_every_updates": SettingInfo("checkpoint after this many changed rows", "agents.memory.flushEveryUpdates", 1),
    "flush_interval_seconds": SettingInfo(
        "checkpoint after this many seconds with changes", "agents.memory.flushIntervalSeconds", 0
    ),
    "max_items": SettingInfo(
        "items kept before a checkpoint compacts by itself (beyond 1.1 times this; 0: never)", least=0
    ),
    "max_lessons": SettingInfo("lessons written to the agent's LESSONS.jsonl", "agents.selfImprovement.maxLessons", 1),
    "export": SettingInfo("write changes back to the files that the agent keeps"),
    "session_keep_messages": SettingInfo(
        "messages that a session keeps when it is compacted", "agents.sessions.compactKeepMessages", 1
    ),
    "session_compact_threshold_messages": SettingInfo(
        "messages at which a session of ours is compacted", "agents.sessions.compactThresholdMessages", 1
    ),
    "memory_enabled": SettingInfo(
        "remember and recall in turns (off: a turn reads and writes nothing)", "memory.enabled"
    ),
    "short_term_turns": SettingInfo("turns of a session kept as working memory", "agents.memory.shortTermTurns", 0),
    "wal_enabled": SettingInfo(
        "write each turn into the session state before and after the answer", "memory.wal.enabled"
    ),
    "wal_state_dir": SettingInfo("folder of the session state, inside the workspace", "memory.wal.stateDir"),
    "retention_days": SettingInfo(
        "kind = days that a captured item of that kind is kept (0: for good, also those that are there)",
        names=RETAINED,
    ),
    "mirrors": SettingInfo(
        "append what is remembered to Markdown files in memory/ (auto: where they are kept)",
        choices=("auto", "on", "off"),
    ),
    "memory_db_path": SettingInfo("a database of the scoped system, to import from", "memory.dbPath"),
    "recall_backend": SettingInfo(
        "what finds items: words and meaning where the extra `vector` is installed (auto), both by choice (hybrid, "
        "reserved_hybrid), or words alone (ram, or the database's index)",
        "memory.backend",
        choices=("auto", "ram", "sqlite_fts", "hybrid", "reserved_hybrid"),
    ),
    "recall_profile": SettingInfo(
        "how items are ranked: our own way, or exactly as one of the systems that nanomem reads",
        choices=("default", "seed000", "seed001"),
    ),
    "recall_max_results": SettingInfo("items recalled for a message", "memory.recall.maxResults", 1),
    "recall_max_prompt_chars": SettingInfo(
        "characters of retrieved memory in a prompt, with its frame", "memory.recall.maxPromptChars", 1
    ),
    "recall_user_layer_results": SettingInfo(
        "items recalled because they are about the sender (-1: as many as there is room for; 2 with profile seed001)",
        "memory.recall.userPreferenceLayerResults",
        -1,
    ),
    "private_in_groups": SettingInfo(
        "kinds of what a person says in a private chat that are recalled for them in groups too (none: nothing is)",
        choices=("preference", "fact"),
    ),
    "capture_enabled": SettingInfo("save what turns say by themselves (off: only recall)", "memory.capture.enabled"),
    "capture_min_confidence": SettingInfo("confidence that a capture needs", "memory.capture.minConfidence", 0, most=1),
    "capture_min_importance": SettingInfo("importance that a capture needs", "memory.capture.minImportance", 0, most=1),
    "capture_channels": SettingInfo("channels in which turns are captured", "memory.capture.channels"),
    "capture_assistant": SettingInfo("also read what the assistant says", "memory.capture.captureAssistant"),
    "capture_inbox_roles": SettingInfo(
        "whose words wait in the inbox until a person accepts them", choices=("user", "assistant", "tool")
    ),
    "capture_senders": SettingInfo(
        "senders who teach at once, what the others say waits in the inbox (none: all named ones)"
    ),
    "capture_max_entries_per_turn": SettingInfo(
        "captures of one turn (0: none)", "memory.capture.maxEntriesPerTurn", 0
    ),
    "learning_enabled": SettingInfo("learn lessons and put them before the model", "agents.selfImprovement.enabled"),
    "max_lessons_in_prompt": SettingInfo(
        "lessons put before the model", "agents.selfImprovement.maxLessonsInPrompt", 0
    ),
    "promotion_enabled": SettingInfo(
        "make a lesson global that many people teach", "agents.selfImprovement.promotionEnabled"
    ),
    "dream_max_batch_size": SettingInfo(
        "history entries that one Dream reads", "agents.defaults.dream.maxBatchSize", 1
    ),
    "dream_max_iterations": SettingInfo(
        "edits that a Dream makes for each entry of its batch", "agents.defaults.dream.maxIterations", 1
    ),
    "dream_dreamer": SettingInfo(
        "who dreams: fixed rules, offline, or a language model (auto: a model only where model_base_url is set)",
        choices=("auto", "rules", "model"),
    ),
    "dream_schedule": SettingInfo(
        "Dreams by themselves, in the console and `dream schedule` (auto: unless the agent dreams by itself)",
        choices=("auto", "on", "off"),
    ),
    "dream_interval_h": SettingInfo("hours between two Dreams", "agents.defaults.dream.intervalH", 0.05),
    "dream_cron": SettingInfo(
        "cron line that says when Dreams run, in place of the hours", "agents.defaults.dream.cron"
    ),
    "crystallize_extractor": SettingInfo(
        "who finds facts: fixed rules, offline, or a language model", choices=("rules", "model")
    ),
    "crystallize_schedule": SettingInfo(
        "cron line that says when facts are looked for, where Dreams run by themselves"
    ),
    "consolidate_schedule": SettingInfo(
        "sessions archived by themselves when over their budget: those that nanomem writes (own), or the agent's too, "
        "while it does not run (all)",
        choices=("own", "all", "off"),
    ),
    "consolidate_budget_tokens": SettingInfo("tokens of a session beyond which its oldest part is archived", least=1),
    "model_base_url": SettingInfo(
        "address of an OpenAI-compatible endpoint (empty: the one of the agent's configuration)"
    ),
    "model_name": SettingInfo("model to ask, or a preset of the agent (empty: the one of the agent's Dream)"),
    "model_key_env": SettingInfo("environment variable that holds the key for model_base_url"),
    "model_timeout_seconds": SettingInfo("seconds for one question to the model, with its retries", least=1),
    "model_max_tokens": SettingInfo("tokens of one answer of the model", least=16),
    "model_context_tokens": SettingInfo("tokens of question and answer together that the model takes", least=1000),
    "model_prices": SettingInfo(
        "prices of a million tokens asked/answered by beginnings of names: gpt-4o=2.5/10,o3=2/8"
    ),
    "embedding_enabled": SettingInfo(
        "search by meaning, where an embedding model is installed", "memory.embedding.enabled"
    ),
    "embedding_backend": SettingInfo(
        "who makes vectors of texts (auto, reserved_hybrid: MiniLM of the extra `vector`; endpoint gets the texts)",
        "memory.embedding.backend",
        choices=("auto", "minilm", "endpoint", "onnx", "sentence-transformers", "reserved_hybrid"),
    ),
    "embedding_model": SettingInfo(
        "embedding model: ONNX file or folder on this machine, name for the endpoint or for sentence-transformers"
    ),
    "embedding_base_url": SettingInfo(
        "address of an endpoint that answers /embeddings, asked if embedding_backend says so"
    ),
    "embedding_key_env": SettingInfo("environment variable that holds the key for embedding_base_url"),
    "vector_index": SettingInfo("what finds vectors, made anew from the rows", choices=("rows", "chroma", "pgvector")),
    "chroma_url": SettingInfo("address of a Chroma server to use in its place, as http://127.0.0.1:8000"),
    "pgvector_url": SettingInfo(
        "PostgreSQL database with pgvector, without a password (~/.pgpass or PGPASSWORD has it)"
    ),
    "database_url": SettingInfo("PostgreSQL database for the memory, without a password (empty: a file of our own)"),
    "mcp_writes": SettingInfo("let agents propose memories over MCP, with --allow-writes too; a person accepts them"),
    "agent_name": SettingInfo(
        "who the agent of a workspace is in the log, where several work (empty: the name of its home)",
        "agents.defaults.botName",
    ),
    "workspaces": SettingInfo(
        "workspaces that one console and one search are over: PATH, or NAME=PATH; of the user alone"
    ),
    "remember_workspaces": SettingInfo("also those that the console was opened on before; of the user alone"),
    "operational_entries": SettingInfo(
        "entries of what happens now, before the oldest go into working memory", least=1
    ),
    "collector_enabled": SettingInfo("measure processes, connections, processor, memory, disk and GPU of this machine"),
    "lifecycle_enabled": SettingInfo(
        "move old records to long-term memory by itself, once a day (`nanomem lifecycle`)"
    ),
    "theme": SettingInfo("colour theme of the console (empty: chosen by the terminal)", choices=("", *THEMES)),
    "ascii": SettingInfo("draw without box characters"),
    "thin_output": SettingInfo(
        "write to the terminal only what differs from what it shows (auto: over SSH)", choices=("auto", "on", "off")
    ),
    "real_cursor": SettingInfo(
        "show the terminal's own cursor on the current row, for screen readers that look for it"
    ),
    "reduced_motion": SettingInfo("rows that others changed do not flash: nothing moves by itself"),
    "keys": SettingInfo("action = key, to remap the console"),
}
"""Each setting of `Settings`, by name."""

LOOKS = frozenset({"theme", "ascii", "thin_output", "real_cursor", "reduced_motion", "keys"})
"""Those of the console alone: what is wrong with one is told, and no reason to keep a person from their memory."""

OF_USER = frozenset({"workspaces", "remember_workspaces"})
"""Those of the user alone: one workspace does not say which others a person sees. A wrong one is told, as a look is."""

NAMES = Settings._fields
DEFAULTS: Mapping[str, Any] = Settings._field_defaults


# -- What a folder, a cron line and an address must be to be used as a setting ----------------------------------------

LONGEST_NAME = 40
"""Characters of the name of a workspace."""
_POSTGRES = re.compile(r"postgres(ql)?(\+psycopg)?://")
_WORDS = re.compile(r"\s*[a-z_]+\s*=")
"""How an address begins that is written as libpq's own words are: `host=… dbname=…`."""
_ODD_PASSWORD = re.compile(r"[^@/:\[]*:(?!\d*[/,?])[^@]+@")
"""A name and a password with a sign in it that ends the host of an address."""
_SHOWN = re.compile(r"(?P<before>//)[^/\s:]*:\S*(?=@)|(?P<word>password\s*=\s*)(?:'[^']*'|[^&\s'\"]+)", re.IGNORECASE)


def folder_trouble(value: str, workspace: Path | None) -> str:
    """Why session state cannot lie there; a path that is not relative is one of a certain workspace."""
    base = str(workspace or "/workspace")
    folder = os.path.normpath(os.path.join(base, value))
    if folder != base and folder.startswith(os.path.join(base, "")):
        return ""
    return "it must be a folder inside the workspace"


def cron_trouble(cron: str) -> str:
    """Why a cron expression cannot be used; "" when it can, or when there is none."""
    if not cron:
        return ""
    from cronsim import CronSim, CronSimError  # only where one is set

    if len(cron.split()) != 5:
        return "five fields are wanted"
    try:
        next(CronSim(cron, datetime(2026, 1, 1)))
    except (CronSimError, StopIteration) as error:
        return str(error) or "it names no time"
    return ""


def address_trouble(value: str, *, user: bool = False, port: bool = False) -> str:
    """Why nobody can be asked at an address; "" when somebody can, or when there is none. Repeats no word of it: it may
    hold a password. `user`: it may name one; `port`: it has to name one."""
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "it is no address"
    if not usable:
        return "it must begin with http:// or https:// and a host"
    if "@" in parts.netloc and not user:
        return "a name or a password does not belong into it"
    return "it must name a port" if port and parts.port is None else ""


def is_postgres(value: str) -> bool:
    """Whether an address can be one of a PostgreSQL database; asked without its driver, which may not be installed."""
    return bool(_POSTGRES.match(value) or _WORDS.match(value))


def holds_password(value: str) -> bool:
    """Whether the address of a PostgreSQL database has a password in it."""
    begin = _POSTGRES.match(value)
    if begin is None:
        return re.search(r"\bpassword\s*=\s*(?!'')\S", value) is not None
    rest = value[begin.end() :]
    user = rest.partition("/")[0].rpartition("@")[0]
    asked = dict(parse_qsl(rest.partition("?")[2]))
    return bool(user.partition(":")[2] or _ODD_PASSWORD.match(rest) or asked.get("password"))


def without_password(text: str) -> str:
    """An address as it may be shown."""
    if is_postgres(text) and not holds_password(text) and "password" not in text.lower():
        return text
    return _SHOWN.sub(lambda found: f"{found['before'] or found['word']}…", text)


def named_path(entry: str) -> tuple[str, str]:
    """The name ("" for none) and the path of an entry of `workspaces`: PATH, or NAME=PATH."""
    name, sign, path = entry.partition("=")
    named = bool(sign) and "/" not in name and not name.startswith("~")
    return (name.strip(), path.strip()) if named else ("", entry.strip())


def workspace_trouble(entry: str) -> str:
    """Why an entry of `workspaces` names no place that is the same from everywhere; "" when it does."""
    name, path = named_path(entry)
    if not path.startswith(("/", "~")):
        return "a whole path is wanted, from / or ~"
    return "" if len(name) <= LONGEST_NAME else f"the name has more than {LONGEST_NAME} characters"


# What a million tokens of a model cost: the prices that a person set, and which of them is a model's. Pure.

MILLION = 1_000_000


class Price(NamedTuple):
    """The price of a million tokens asked and of a million answered, in whatever money the person reckons."""

    asked: float
    answered: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What so many tokens cost."""
        return (prompt_tokens * self.asked + completion_tokens * self.answered) / MILLION


def price(value: Any) -> Price:
    """A price as a person writes it: `[2.5, 10]`, or the text `2.5/10`. Raises ValueError with the reason."""
    parts = value.split("/") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or len(parts) != 2:
        raise ValueError("two numbers are wanted, like 2.5/10")
    if any(isinstance(part, bool) or not isinstance(part, int | float | str) for part in parts):
        raise ValueError("two numbers are wanted, like 2.5/10")
    found = Price(*map(float, parts))
    if not all(math.isfinite(number) and number >= 0 for number in found):
        raise ValueError("a price is at least 0")
    return found


def price_of(model: str, prices: Mapping[str, Any]) -> Price | None:
    """The price of a model: that of the longest name that it begins with, as it is or without its provider; None
    when none was set.

    A name ends where a word of the model does: `gpt-4o` is also the price of `gpt-4o-2024-08-06`, and not of
    `gpt-4omni`; with `*` at its end it may end anywhere.
    """
    names = {model.casefold(), model.rpartition("/")[2].casefold()}
    fitting = [name for name in prices if any(_fits(name.casefold(), one) for one in names)]
    return Price(*prices[max(fitting, key=len)]) if fitting else None


def _fits(name: str, model: str) -> bool:
    begins = name.removesuffix("*")
    rest = model[len(begins) :]
    return model.startswith(begins) and (name != begins or not rest or not rest[0].isalnum())


# -- Which values a setting can have, and a value out of a text -------------------------------------------------------


def check(name: str, value: Any, source: str, workspace: Path | None = None) -> Any:
    """`value` in the type of the setting; `workspace`: the one that it is for, where that is known.

    Raises InvalidConfig for a value that cannot work.
    """
    if name == "model_prices" and isinstance(value, Mapping):
        return {model: _price(model, entry, source) for model, entry in value.items()}
    if name == "workspaces" and isinstance(value, Mapping):  # a table of names and paths says the same
        value = [f"{key}={path}" for key, path in value.items()]
    kind, about = _kind(name), ABOUT[name]
    if about.names and isinstance(value, Mapping) and (unknown := [key for key in value if key not in about.names]):
        raise InvalidConfig(f"`{name}` cannot hold {unknown[0]!r}", source, f"one of {', '.join(about.names)}")
    if name == "retention_days" and isinstance(value, Mapping):
        return {key: _days(key, entry, source) for key, entry in value.items()}
    fits = isinstance(value, _TYPES[kind]) and (kind == "bool" or not isinstance(value, bool))
    fits = fits and (kind != "float" or math.isfinite(value))
    fits = fits and (about.least is None or value >= about.least) and (about.most is None or value <= about.most)
    inside = (value.values() if kind == "table" else value if kind == "list" else ()) if fits else ()
    if not fits or not all(isinstance(entry, str) for entry in inside):
        of_numbers = name == "retention_days"
        like = "episodic=90,fact=365" if of_numbers else "NAME=TEXT,NAME=TEXT"
        fix = f"nanomem config set {name} {like}" if kind == "table" else "see `nanomem config show`"
        what = "a table of numbers" if of_numbers else _KINDS[kind]
        raise InvalidConfig(f"`{name}` must be {what}{_bound(about)}, not {value!r}", source, fix)
    for word in inside if kind in ("list", "table") else [value]:
        if about.choices and word not in about.choices:
            fix = suggestion(str(word), about.choices) or f"one of {', '.join(filter(None, about.choices))}"
            raise InvalidConfig(f"`{name}` cannot be {word!r}", source, fix)
    trouble = folder_trouble(value, workspace) if name == "wal_state_dir" else ""
    trouble = cron_trouble(value) if name in ("dream_cron", "crystallize_schedule") else trouble
    for entry in value if name == "workspaces" else ():
        if wrong := workspace_trouble(entry):
            fix = f"see `nanomem workspaces add {entry.rpartition('=')[2].strip() or 'PATH'}`"
            raise InvalidConfig(f"`{name}` cannot hold {entry!r}: {wrong}", source, fix)
    if trouble:
        raise InvalidConfig(f"`{name}` cannot be {value!r}: {trouble}", source, f"see `{_EXAMPLES[name]}`")
    if name == "embedding_base_url" and (trouble := address_trouble(value)):
        fix = "see `nanomem config set embedding_base_url http://127.0.0.1:8080/v1`; a key goes into embedding_key_env"
        raise InvalidConfig(f"`{name}` cannot be used: {trouble}", source, fix)
    return float(value) if kind == "float" else tuple(value) if kind == "list" else value


def checked_value(name: str, text: str, workspace: Path | None = None) -> Any:
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
        if not is_postgres(value):
            raise invalid_postgres_address(name, source)
        if holds_password(value):
            raise with_password(name, source)
    elif trouble := address_trouble(value, user=name == "model_base_url", port=name == "chroma_url"):
        fix = f"nanomem config set {name} {_ADDRESSES[name]}"
        raise InvalidConfig(f"`{name}` cannot be used: {trouble}", source, fix)


def invalid_postgres_address(name: str, source: str) -> InvalidConfig:
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
        return price(value)
    except ValueError as error:
        fix = "nanomem config set model_prices gpt-4o=2.5/10"
        raise InvalidConfig(f"`model_prices` of {model!r} cannot be {value!r}: {error}", source, fix) from None


def _days(kind: str, value: Any, source: str) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        what = f"`retention_days` of {kind} must be a whole number of at least 0, not {value!r}"
        raise InvalidConfig(what, source, f"nanomem config set retention_days {kind}=365")
    return number


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


def _bound(about: SettingInfo) -> str:
    if about.most is not None and about.least is not None:
        return f" from {about.least:g} to {about.most:g}"
    return f" of at least {about.least:g}" if about.least is not None else ""


def from_text(name: str, text: str, source: str, workspace: Path | None = None) -> Any:
    """The value of a setting given as text, on the command line or in the environment. Raises BadInput."""
    if name not in NAMES:
        if name in GONE:
            raise BadInput(f"`{name}` is no setting any more", source, "see `nanomem config show`")
        if name in EARLIER:
            raise BadInput(f"`{name}` is now `{EARLIER[name][0]}`", source, f"nanomem config set {EARLIER[name][0]} …")
        raise BadInput(f"unknown setting `{name}`", source, suggestion(name, NAMES) or "see `nanomem config show`")
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
            value = files.loads(text)
    return check(name, value, source, workspace)


def _table(text: str) -> Any:
    """A table as JSON, as TOML writes it, or as `name=word, name=word`. Raises ValueError for what is none of these."""
    if not text.lstrip().startswith("{"):
        pairs = [part.partition("=") for part in text.split(",")]
        return {name.strip(): word.strip() for name, sign, word in pairs if sign} if all(p[1] for p in pairs) else text
    try:
        return files.loads(text)
    except ValueError:
        import tomllib  # only where one is set so

        return tomllib.loads(f"table = {text}")["table"]


def _kind(name: str) -> str:
    """The type of a setting by name; a mapping is a `table`, a tuple of words a `list`."""
    default = DEFAULTS[name]
    return "table" if isinstance(default, Mapping) else "list" if isinstance(default, tuple) else type(default).__name__


def suggestion(name: str, known: tuple[str, ...], least: float = 0.5) -> str:
    """`did you mean …?` for a misspelt name, empty when nothing is near (`least` of 1 is the name itself)."""
    import difflib

    close = difflib.get_close_matches(name, known, 1, least)
    return f"did you mean `{close[0]}`?" if close else ""
