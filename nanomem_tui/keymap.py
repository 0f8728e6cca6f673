"""Which keys do an action: those of the registry or those that the settings give it, how a key reads, and the page of
keys.

Owns moving keys, and what speaks against it. Must not know what an action does, and imports no Textual.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from nanomem_tui.actions import ACTIONS, BY_NAME, GROUP_TITLES, SCREENS, Action, actions_on
from nanomem_tui.core.config import Loaded
from nanomem_tui.core.errors import Problem

Moved = Mapping[str, tuple[str, ...]]
"""The actions whose keys are not those of the registry, by name."""

_WAYS: Mapping[str, tuple[str, ...]] = {
    "notes": ("go_sessions", "next_list"), "archive": ("go_sessions", "next_list", "next_list"),
    "files": ("go_dream", "next_list"), "injections": ("go_recall", "next_list"), "ledger": ("ledger",),
    "duplicates": ("go_inbox", "next_list"), "conflicts": ("go_inbox", "next_list", "next_list"),
    "rules": ("go_inbox", "next_list", "next_list", "next_list"),
    "scopes": ("go_items", "next_list"), "blame": ("go_dream", "blame"),
    "review": ("go_dream", "dream_review"), "versions": ("go_dream", "versions"),
    "journal": ("go_knowledge", "next_list"), "reflections": ("go_knowledge", "next_list", "next_list"),
    "usage": ("go_knowledge", "next_list", "next_list", "next_list"), "trail": ("go_tiers", "open"),
    "context": ("go_tiers", "context"), "pictures": ("go_status", "next_list"),
}  # fmt: skip
_KEY_NAMES = {
    "escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "down": "↓", "up": "↑", "left": "←", "right": "→",
}  # fmt: skip
_NAMED = frozenset({
    "escape", "enter", "return", "tab", "space", "backspace", "insert", "delete", "home", "end", "pageup", "pagedown",
    "left", "right", "up", "down", *(f"f{number}" for number in range(1, 25)),
})  # fmt: skip
"""Keys that have a name, and no sign."""
_HELD = frozenset({"ctrl", "shift", "alt", "meta", "super", "hyper"})
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


def first_key(name: str, moved: Moved) -> str:
    """The key that is shown for the action of that name, as people read it."""
    return key_text(keys_of(BY_NAME[name], moved)[0])


def keys_text(action: Action, moved: Moved, ascii_only: bool = False) -> str:
    """All keys of an action, separated by spaces; how to reach it when it has none."""
    return " ".join(key_text(key, ascii_only) for key in keys_of(action, moved)) or ": palette"


def remap(overrides: Mapping[str, str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The keys that `overrides` (action name → keys, separated by commas) move, and what is wrong, in words.

    An override that names no action or no key, or takes a key of another action, is left out.
    """
    known = {name: _keys(text) for name, text in overrides.items() if name in BY_NAME}
    problems = [f"keys: there is no action “{name}”{_meant(name)}" for name in overrides if name not in BY_NAME]
    problems += [f"keys: no key is given for “{name}”" for name, keys in known.items() if not keys]
    wrong = {name: [said for key in keys if (said := _why_no_key(key))] for name, keys in known.items()}
    problems += [f"keys: {said}, for “{name}”" for name, why in wrong.items() for said in why]
    known = {name: keys for name, keys in known.items() if keys and not wrong[name]}
    if not conflicts(known):  # two keys may change places: judge them together first
        return known, problems
    wanted: dict[str, tuple[str, ...]] = {}
    for name, keys in known.items():
        clash = conflicts({**wanted, name: keys})
        problems.extend(f"keys: {sentence}" for sentence in clash)
        if not clash:
            wanted[name] = keys
    return wanted, problems


def judged(loaded: Loaded) -> Loaded:
    """The settings, and among their problems what is wrong with the keys that they move."""
    if not loaded.settings.keys:
        return loaded
    where, fix = loaded.sources.get("keys", "keys"), "docs/keys.md has the actions and their keys"
    found = [Problem(said.removeprefix("keys: "), where, fix=fix) for said in remap(loaded.settings.keys)[1]]
    return loaded._replace(problems=(*loaded.problems, *(one for one in found if one not in loaded.problems)))


def _meant(name: str) -> str:
    """The action whose label or name is nearly that, as the end of a sentence; "" without one."""
    from nanomem_tui.core.settings import nearest

    labelled = [one.name for one in ACTIONS if name.casefold() in (one.label, *one.labels.values())]
    near = " or ".join(f"`{one}`" for one in labelled[:3])
    near = f"did you mean {near}?" if near else nearest(name, tuple(BY_NAME), 0.7)
    return f"; {near}" if near else ""


def _why_no_key(key: str) -> str:
    """Why no terminal sends that key, "" for one that may."""
    *held, last = key.split("+") if len(key) > 1 else [key]
    if held == ["shift"] and len(last) == 1 and last.isalpha():
        return f"no terminal sends {key}: write {last.upper()}"
    named = len(last) == 1 or last in _NAMED or len(_sign(last)) == 1 or last == "circumflex_accent"
    return "" if named and _HELD.issuperset(held) else f"there is no key “{key}”"


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


def in_one(problems: Sequence[Problem]) -> str:
    """Several problems of the settings in one sentence, for a place where only one is seen; where they stand is said by
    `config show`."""
    more = f"; and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"{problems[0].what}{more}: nanomem config show" if problems else ""


def keys_markdown() -> str:
    """The text of ``docs/keys.md``."""
    lines = [
        "# Keys",
        "",
        _MOVING,
        "",
        "Made from the registry of actions (`nanomem_tui/actions/`); change it there.",
        "",
    ]
    for screen, title in SCREENS.items():
        own = actions_on(screen, "screen")
        if own:
            lines += [f"## {title}", "", *_table(own, screen)]
    for group in ("global", "select", "move", "go"):
        lines += [f"## {GROUP_TITLES[group]}", "", *_table([a for a in ACTIONS if a.group == group], "")]
    return "\n".join(lines).rstrip() + "\n"


_MOVING = """Any action can have other keys: name it as in the column Name, in the settings file that
`nanomem config path` prints (with `--here`: the one for this workspace only):

```toml
[keys]
delete = "f6"            # d does nothing then
toggle = "ctrl+t, f7"    # several keys: separated by commas
```

`nanomem config set keys '{delete = "f6"}'` writes the same after a look at it. What names no action or no key, or takes
the key of another action on the same screen, is left out, and said at the start, on the screen Status, by
`nanomem doctor` and by `nanomem config show`."""


def _table(actions: Iterable[Action], screen: str) -> list[str]:
    asks = {"none": "", "preview": " Shows first what will change.", "typed": " Asks for a typed word."}
    rows = ["| Key | Action | Name | What it does | Command |", "|---|---|---|---|---|"]
    for action in actions:
        keys = " ".join(f"`{key_text(key)}`" for key in action.keys).replace("|", "\\|") or "`:`"
        twin = " · ".join(f"`nanomem {part}`" for part in action.twin(screen).split(" · ") if part)
        told = f"{action.help_on(screen)}{asks[action.danger]}"
        rows.append(f"| {keys} | {action.label_on(screen)} | `{action.name}` | {told} | {twin} |")
    return [*rows, ""]
