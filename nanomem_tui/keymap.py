"""Which keys do an action: those of the registry or those that the settings give it, how a key reads, and the page of
keys.

Owns moving keys, and what speaks against it. Must not know what an action does, and imports no Textual.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from nanomem_tui.actions import ACTIONS, BY_NAME, GROUP_TITLES, SCREENS, Action, actions_on

Moved = Mapping[str, tuple[str, ...]]
"""The actions whose keys are not those of the registry, by name."""

_WAYS: Mapping[str, tuple[str, ...]] = {
    "notes": ("go_sessions", "next_list"), "archive": ("go_sessions", "next_list", "next_list"),
    "files": ("go_dream", "next_list"), "injections": ("go_recall", "next_list"), "ledger": ("ledger",),
    "duplicates": ("go_inbox", "next_list"), "conflicts": ("go_inbox", "next_list", "next_list"),
    "rules": ("go_inbox", "next_list", "next_list", "next_list"),
    "scopes": ("go_items", "next_list"), "blame": ("go_dream", "blame"),
    "review": ("go_dream", "dream_review"), "versions": ("go_dream", "versions"), "survival": ("go_dream", "survival"),
    "journal": ("go_knowledge", "next_list"), "reflections": ("go_knowledge", "next_list", "next_list"),
    "usage": ("go_knowledge", "next_list", "next_list", "next_list"), "trail": ("go_tiers", "open"),
    "context": ("go_tiers", "context"), "pictures": ("go_status", "next_list"),
}  # fmt: skip
_KEY_NAMES = {
    "escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "down": "↓", "up": "↑", "left": "←", "right": "→",
}  # fmt: skip
_SIGNS = {"slash": "/", "backslash": "\\", "at": "@", "minus": "-", "plus": "+", "underscore": "_"}


def keys_of(action: Action, moved: Moved) -> tuple[str, ...]:
    """The keys of an action that are in force; the first is the one shown."""
    return moved.get(action.name, action.keys)


def way_to(screen: str, moved: Moved) -> tuple[str, ...]:
    """The keys that lead to a screen from any other."""
    go = f"go_{screen}"
    return tuple(keys_of(BY_NAME[name], moved)[0] for name in ((go,) if go in BY_NAME else _WAYS[screen]))


def key_text(key: str, ascii_only: bool = False) -> str:
    """A key as people read it: ``esc``, ``↓``, ``^s``."""
    if key.startswith("ctrl+"):
        return "^" + key[5:]
    if ascii_only and key in {"down", "up", "left", "right"}:
        return key
    return _KEY_NAMES.get(key, key)


def keys_text(action: Action, moved: Moved, ascii_only: bool = False) -> str:
    """All keys of an action, separated by spaces; how to reach it when it has none."""
    return " ".join(key_text(key, ascii_only) for key in keys_of(action, moved)) or ": palette"


def remap(overrides: Mapping[str, str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The keys that `overrides` (action name → keys, separated by commas) move, and what is wrong, in words.

    An override that names no action or no key, or takes a key of another action, is left out.
    """
    known = {name: _keys(text) for name, text in overrides.items() if name in BY_NAME}
    problems = [f"keys: there is no action “{name}”" for name in overrides if name not in BY_NAME]
    problems += [f"keys: no key is given for “{name}”" for name, keys in known.items() if not keys]
    known = {name: keys for name, keys in known.items() if keys}
    if not conflicts(known):  # two keys may change places: judge them together first
        return known, problems
    wanted: dict[str, tuple[str, ...]] = {}
    for name, keys in known.items():
        clash = conflicts({**wanted, name: keys})
        problems.extend(f"keys: {sentence}" for sentence in clash)
        if not clash:
            wanted[name] = keys
    return wanted, problems


def _keys(text: str) -> tuple[str, ...]:
    """The keys of a setting, a sign as itself however it was named."""
    return tuple(_sign(key.strip()) for key in text.split(",") if key.strip())


def _sign(key: str) -> str:
    if key in _SIGNS:
        return _SIGNS[key]
    try:
        return unicodedata.lookup(key.replace("_", " ").upper()) if len(key) > 1 else key
    except KeyError:
        return key


def staying_keys(moved: Moved) -> set[str]:
    """The keys that only move or select, after which the next key belongs where they did."""
    return {key for action in ACTIONS if action.group in {"move", "select"} for key in keys_of(action, moved)}


def conflicts(moved: Moved | None = None) -> list[str]:
    """The keys that would do two things on one screen, as sentences; empty when all is well."""
    found: dict[str, list[str]] = {}
    for screen, title in SCREENS.items():
        taken: dict[str, str] = {}
        for action in actions_on(screen):
            for key in keys_of(action, moved or {}):
                other = taken.setdefault(key, action.name)
                if other != action.name:
                    found.setdefault(f"{key} is both {other} and {action.name}", []).append(title)
    return [f"{clash} on {_some(titles)}" for clash, titles in found.items()]


def _some(titles: Sequence[str]) -> str:
    return ", ".join(titles) if len(titles) < 4 else f"{', '.join(titles[:2])} and {len(titles) - 2} more screens"


def in_one(problems: Sequence[str]) -> str:
    """Several problems in one sentence, for a place where only one is seen."""
    more = f"; and {len(problems) - 1} more: nanomem config show" if len(problems) > 1 else ""
    return f"{problems[0]}{more}" if problems else ""


def keys_markdown() -> str:
    """The text of ``docs/keys.md``."""
    lines = ["# Keys", "", "Made from the registry of actions (`nanomem_tui/actions/`); change it there.", ""]
    for screen, title in SCREENS.items():
        own = actions_on(screen, "screen")
        if own:
            lines += [f"## {title}", "", *_table(own, screen)]
    for group in ("global", "select", "move", "go"):
        lines += [f"## {GROUP_TITLES[group]}", "", *_table([a for a in ACTIONS if a.group == group], "")]
    return "\n".join(lines).rstrip() + "\n"


def _table(actions: Iterable[Action], screen: str) -> list[str]:
    asks = {"none": "", "preview": " Shows first what will change.", "typed": " Asks for a typed word."}
    rows = ["| Key | Action | What it does | Command |", "|---|---|---|---|"]
    for action in actions:
        keys = " ".join(f"`{key_text(key)}`" for key in action.keys).replace("|", "\\|") or "`:`"
        twin = " · ".join(f"`nanomem {part}`" for part in action.twin(screen).split(" · ") if part)
        rows.append(f"| {keys} | {action.label_on(screen)} | {action.help_on(screen)}{asks[action.danger]} | {twin} |")
    return [*rows, ""]
