"""Settings: our TOML files, then the environment, then the agent's own `config.json`, in that order of trust.

Owns where values come from and who wins; what a setting is and may be, is told by `settings`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.core import files
from nanomem_tui.core.errors import AccessDenied, InvalidConfig, NanomemError, Problem, from_os_error
from nanomem_tui.core.paths import Paths, is_of_other_account, user_settings
from nanomem_tui.core.settings import (
    ABOUT,
    DEFAULTS,
    EARLIER,
    GONE,
    LOOKS,
    NAMES,
    OF_USER,
    RETAINED,
    UNUSED_AGENT_KEYS,
    Settings,
    check,
    from_text,
    suggestion,
)

# The keys of an agent's `config.json` that are about memory: where each stands, and what of a file is read by nobody.

_OURS = ("memory", "agents.memory", "agents.selfImprovement")
"""Sections that are only about memory: a key there that nobody knows is a mistake."""
_SHARED = ("", "agents", "agents.defaults")
"""Sections in which an agent keeps much else: only what can be meant for one of ours is a mistake there."""
_READ = {about.agent_key: name for name, about in ABOUT.items() if about.agent_key}
_READ |= {f"memory.retention.{kind}Days": f"retention_{kind}_days" for kind in RETAINED}
"""The setting that a key of an agent gives, by its name or an earlier one."""
_KEYS = frozenset((*_READ, *UNUSED_AGENT_KEYS))
_SECTIONS = frozenset(key.rpartition(".")[0] for key in _KEYS)
_NAMES = tuple(sorted(_KEYS | _SECTIONS))
SHOWN = 40
"""Characters that are shown of a value of a wrong shape."""
_ALSO = {"learning": "agents.selfImprovement", "lessons": "agents.selfImprovement"}
"""Sections by the names that they have elsewhere."""


def value_at(root: Any, key: str) -> Any:
    """The value at a dotted key, None when there is none."""
    for part in key.split(".") if key else ["\0"]:
        root = root.get(part) if isinstance(root, dict) else None
    return root


def section_warnings(root: Any, source: str) -> list[Problem]:
    """A warning for each section that is no object and for each key about memory that nobody reads."""
    if not isinstance(root, dict):
        return [Problem(f"the agent's configuration must be an object, not {_shown(root)}", source, severity="warning")]
    shapes = [
        Problem(f"`{section}` must be an object, not {_shown(value)}", source, fix=_holds(section), severity="warning")
        for section in sorted(_SECTIONS | {*_SHARED} - {""})
        if (value := value_at(root, section)) is not None and not isinstance(value, dict)
    ]
    unknown = [(key, _hint(key)) for section in _OURS for key in _unknown(value_at(root, section), section)]
    unknown += [found for section in _SHARED for found in _astray(root, section)]
    return shapes + [Problem(f"unknown key `{key}`", source, fix=fix, severity="warning") for key, fix in unknown]


def _unknown(value: Any, at: str) -> Iterator[str]:
    """The keys below a section of ours that nobody knows."""
    for name, inner in value.items() if isinstance(value, dict) else ():
        key = f"{at}.{name}"
        if key in _SECTIONS:
            yield from _unknown(inner, key)
        elif key not in _KEYS:
            yield key


def _astray(root: Mapping[str, Any], section: str) -> Iterator[tuple[str, str]]:
    """The keys of a section that is not ours by which only one of ours can be meant, each with what is meant."""
    table = value_at(root, section) if section else root
    for name, value in table.items() if isinstance(table, dict) else ():
        key = f"{section}.{name}".lstrip(".")
        if key in _KEYS or key in _SECTIONS or key in _SHARED or value is None:
            continue
        inside = value if isinstance(value, dict) else ()
        meant = _of_name(_SECTIONS, name) or ([_ALSO[name]] if name in _ALSO else [])
        for inner in inside if meant else ():
            best = next((one for one in meant if f"{one}.{inner}" in _KEYS), meant[0])
            yield f"{key}.{inner}", _hint(f"{best}.{inner}")
        if not isinstance(value, dict) and meant:
            yield key, _holds(meant[0])
        elif not isinstance(value, dict) and name != name.lower() and (known := _of_name(_KEYS, name)):
            yield key, f"did you mean `{known[0]}`?"


def _of_name(keys: Iterable[str], name: str) -> list[str]:
    return sorted(key for key in keys if key.rpartition(".")[2] == name)


def _hint(key: str) -> str:
    """What may be meant by a key: itself, one of its section, one of that name elsewhere, or what it may hold."""
    section, _, leaf = key.rpartition(".")
    if key in _KEYS:
        return f"did you mean `{key}`?"
    if close := suggestion(leaf, _inside(section), 0.7):
        return close.replace("`", f"`{section}.", 1)
    elsewhere = _of_name(_NAMES, leaf)
    return f"did you mean `{elsewhere[0]}`?" if elsewhere else _holds(section)


def _inside(section: str) -> tuple[str, ...]:
    """The names of what a section may hold."""
    return tuple(name.rpartition(".")[2] for name in _NAMES if name.rpartition(".")[0] == section)


def _holds(section: str) -> str:
    return f"`{section}` may hold {', '.join(_inside(section))}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


ENVIRONMENT = "environment"
"""How the environment is named as a source."""


NOTHING_USED = "nothing of it is used"
"""What is said of a settings file that does not parse, where that ends nothing."""
UNNAMED = "nanobot"
"""What an agent calls itself in its configuration when nobody gave it a name: no two of them differ by it."""


class Loaded(NamedTuple):
    """The settings in force, where each that is not a default came from, and what could not be used."""

    settings: Settings
    sources: Mapping[str, str]
    problems: tuple[Problem, ...]


def load(paths: Paths | None, *, forgiving: bool = False) -> Loaded:
    """Read every source. Raises InvalidConfig when one of our own TOML files does not parse, or holds a value that
    cannot work; a broken or foreign agent configuration is only reported, and so is a wrong look of the console.

    `forgiving`: nothing is raised; what cannot be used is a problem of severity error with its place and what is used
    instead, for who shows or repairs the settings.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[Problem] = []
    refused: list[tuple[str, Problem]] = []
    workspace = paths.workspace if paths else None
    for source, found in _sources(paths, problems, forgiving=forgiving):
        for given, told in found.items():
            name, value = _now(given, told)
            if name not in NAMES:
                inside = [f"{name}_{inner}" for inner in value] if isinstance(value, dict) else []
                hint = next(filter(None, (suggestion(one, NAMES) for one in [*inside, name])), "")
                what = f"`{name}` is no setting any more" if name in GONE else f"unknown setting `{name}`"
                hint = "remove the line" if name in GONE else hint
                problems.append(Problem(what, source, fix=hint, severity="warning"))
                continue
            if paths is not None and name in OF_USER and source == str(paths.settings):
                what, fix = f"`{name}` is for the user's own file, and is not used here", str(user_settings())
                problems.append(Problem(what, source, fix=f"set it in {fix}", severity="warning"))
                continue
            if given in EARLIER and source != str(paths.agent_config if paths else None):
                fix = f"rename it to `{name}`"
                problems.append(Problem(f"`{given}` is now `{name}`", source, fix=fix, severity="warning"))
            try:
                good = _value(name, value, source, workspace)
            except NanomemError as error:
                if not (forgiving or name in LOOKS | OF_USER):
                    raise
                refused.append((name, Problem(error.what, error.where, _line(source, given), error.fix)))
                continue
            values[name] = {**good, **values.get(name, {})} if name == "retention_days" else values.get(name, good)
            sources.setdefault(name, source)
    if "retention_days" in values:
        values["retention_days"] = {**DEFAULTS["retention_days"], **values["retention_days"]}
    settings = Settings(**values)
    for name, problem in refused:
        used = f"{toml_value(getattr(settings, name))} ({sources.get(name, 'default')}) is used instead"
        problems.append(problem._replace(what=f"{problem.what}; {used}"))
    return Loaded(settings, sources, tuple(problems))


def _now(name: str, value: Any) -> tuple[str, Any]:
    """A setting by its name of today, and its value; of an earlier name for a part of a table, the table."""
    now, part = EARLIER.get(name, (name, ""))
    return now, {part: value} if part else value


def _value(name: str, value: Any, source: str, workspace: Path | None) -> Any:
    if source == ENVIRONMENT and isinstance(value, str):
        return from_text(name, value, f"environment variable NANOMEM_{name.upper()}", workspace)
    return check(name, value, source, workspace)


def _sources(
    paths: Paths | None, problems: list[Problem], *, forgiving: bool
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in ([paths.settings] if paths else []) + [user_settings()]:
        try:
            yield str(file), read_toml(file)
        except NanomemError as error:
            denied = isinstance(error, AccessDenied) and file.is_relative_to(Path.home())
            if not forgiving and not (denied and is_of_other_account(Path.home())):
                raise
            problems.append(Problem(f"{error.what}; {NOTHING_USED}", error.where, fix=error.fix))
    yield ENVIRONMENT, _environment()
    if paths is not None and paths.agent_config is not None:
        yield str(paths.agent_config), _agent_values(paths.agent_config, problems, paths.workspace)


def _line(source: str, name: str) -> int | None:
    """The line of a settings file on which a name is set; None where it is in no line of its own."""
    import re

    try:
        lines = files.read(Path(source)).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    starts = re.compile(rf"""\s*(\[\s*)?["']?{re.escape(name)}["']?\s*[\].=]""")
    return next((number for number, line in enumerate(lines, 1) if starts.match(line)), None)


def toml_value(value: Any) -> str:
    """A value as TOML writes it, in one line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {toml_value(entry)}" for key, entry in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def _key(text: str) -> str:
    return text if text.replace("-", "a").replace("_", "a").isalnum() and text.isascii() else toml_value(text)


def read_toml(path: Path) -> dict[str, Any]:
    """The table of a TOML file, `{}` when it is absent. Raises InvalidConfig with the line."""
    try:
        data = files.read(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise from_os_error(error, "reading the settings") from error
    import tomllib  # 5 ms, and most workspaces have no settings file

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidConfig(
            f"the settings do not parse ({error})", str(path), "correct that line or remove the file"
        ) from error


def _environment() -> dict[str, str]:
    """The settings that the environment names, as texts."""
    reserved = {"NANOMEM_WORKSPACE", "NANOMEM_CONFIG", "NANOMEM_AGENT_CONFIG"}
    found = {}
    for variable, text in os.environ.items():
        name = variable.removeprefix("NANOMEM_").lower()
        if variable.startswith("NANOMEM_") and variable not in reserved and (name in NAMES or name in EARLIER):
            found[name] = text
    return found


def _agent_values(path: Path, problems: list[Problem], workspace: Path) -> dict[str, Any]:
    try:
        root = json.loads(files.read(path))
    except (OSError, ValueError, RecursionError) as error:
        problems.append(Problem(f"the agent's configuration cannot be read ({error})", str(path), severity="warning"))
        return {}
    found: dict[str, Any] = {}
    for key, name in _READ.items():
        value = value_at(root, key)
        if value is None or (name, value) == ("agent_name", UNNAMED):
            continue
        try:
            check(*_now(name, value), str(path), workspace)
            found[name] = value
        except InvalidConfig as error:
            problems.append(Problem(error.what, f"{path} {key}", fix=error.fix, severity="warning"))
    problems += section_warnings(root, str(path))
    return found
