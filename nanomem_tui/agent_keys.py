"""The keys of an agent's `config.json` that are about memory: where each stands, and what of a file is read by nobody.

Names what has a wrong shape, a wrong name or a wrong place. Must not decide what a value may be: that is `settings`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nanomem_tui.errors import Problem
from nanomem_tui.setting_values import nearest
from nanomem_tui.settings import ABOUT

_OURS = ("memory", "agents.memory", "agents.selfImprovement")
"""Sections that are only about memory: a key there that nobody knows is a mistake."""
_SHARED = ("", "agents", "agents.defaults")
"""Sections in which an agent keeps much else: only what can be meant for one of ours is a mistake there."""
_KEYS = frozenset(about.agent_key for about in ABOUT.values() if about.agent_key)
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


def judged(root: Any, source: str) -> list[Problem]:
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
    if close := nearest(leaf, _inside(section), 0.7):
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
