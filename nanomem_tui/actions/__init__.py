"""Every action of a person, once: its name, keys, words, danger, command-line twin and when it can't be done.

The key bindings, the footer, the help screen, the command palette and ``docs/keys.md`` are all made from `ACTIONS`.
This package holds no behaviour and imports no Textual: a screen does an action in its ``do_<name>`` method. Which keys
are in force, and how a key reads, is in `keymap`.
"""

from __future__ import annotations

from collections.abc import Mapping

from nanomem_tui.actions.action import Action, Danger, Group
from nanomem_tui.actions.everywhere import EVERYWHERE
from nanomem_tui.actions.habits import HABITS
from nanomem_tui.actions.lists import ON_LISTS
from nanomem_tui.actions.traces import ON_TRACES
from nanomem_tui.actions.triage import ON_TRIAGE

__all__ = ["ACTIONS", "BY_NAME", "GROUP_TITLES", "SCREENS", "SLASH", "Action", "Danger", "Group", "actions_on"]

#: Screens by name, with their title, in the order of their keys.
SCREENS: Mapping[str, str] = {
    "items": "Items",
    "lessons": "Lessons",
    "sessions": "Sessions",
    "wal": "WAL",
    "dream": "Dream",
    "recall": "Recall",
    "status": "Status",
    "ledger": "Ledger",
    "notes": "Notes",
    "archive": "Archive",
    "files": "Files",
    "blame": "Blame",
    "review": "Review",
    "versions": "Versions",
    "survival": "Survival",
    "injections": "Injections",
    "scopes": "Scopes",
    "inbox": "Inbox",
    "duplicates": "Duplicates",
    "conflicts": "Conflicts",
    "rules": "Rules",
    "knowledge": "Knowledge",
    "journal": "Journal",
    "reflections": "Reflections",
    "usage": "Usage",
    "tiers": "Tiers",
    "trail": "Records",
    "context": "Context",
    "pictures": "Pictures",
    "moments": "Moments",
}
GROUP_TITLES: Mapping[Group, str] = {
    "screen": "On this screen",
    "select": "Selecting",
    "global": "Everywhere",
    "go": "Screens",
    "move": "Moving",
}

ACTIONS: tuple[Action, ...] = (*ON_LISTS, *ON_TRACES, *ON_TRIAGE, *HABITS, *EVERYWHERE)

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}

SLASH: Mapping[str, str] = {"dream_run": "/dream", "go_dream": "/dream-log", "dream_restore": "/dream-restore"}
"""What an agent's own commands are called that do what an action does on the Dream screen: the palette takes them."""


def actions_on(screen: str, *groups: Group) -> list[Action]:
    """The actions of `screen`, of these groups (none given: all), in the order of the registry."""
    return [action for action in ACTIONS if action.on(screen) and (not groups or action.group in groups)]
