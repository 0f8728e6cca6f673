"""The main screens, and the actions of all of them, by name: the one place that loads a screen by name, when it is
first shown.

The names are those of the registry of actions, so that ``go_<name>`` leads here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from textual.screen import Screen


@dataclass(frozen=True, slots=True)
class ScreenPlace:
    """One main screen: its module in this package, its class, and the layers of `Workspace.refresh` that it shows.

    `layers` empty: it shows something of every layer.
    """

    module: str
    class_name: str
    layers: frozenset[str] = frozenset()

    def shows(self, layers: frozenset[str]) -> bool:
        """Whether a change of `layers` is to be seen there."""
        return bool(layers) and (not self.layers or bool(self.layers & layers))


PLACES: Mapping[str, ScreenPlace] = {
    "items": ScreenPlace("items", "ItemsScreen", frozenset({"items"})),
    "lessons": ScreenPlace("lessons", "LessonsScreen", frozenset({"lessons"})),
    "sessions": ScreenPlace("sessions", "SessionsScreen", frozenset({"sessions", "records"})),
    "wal": ScreenPlace("wal", "WalScreen", frozenset({"wal"})),
    "dream": ScreenPlace("dreams.dream", "DreamScreen", frozenset({"dream", "documents", "history"})),
    "recall": ScreenPlace("recall.recall", "RecallScreen", frozenset({"items", "lessons", "documents"})),
    "status": ScreenPlace("status", "StatusScreen"),
    "ledger": ScreenPlace(
        "operations",
        "OperationsScreen",
        frozenset({"items", "lessons", "records", "documents", "sessions", "review", "tiers", "ledger"}),
    ),
    "notes": ScreenPlace("archive", "NotesScreen", frozenset({"notes"})),
    "archive": ScreenPlace("archive", "ArchiveScreen", frozenset({"history", "dream"})),
    "files": ScreenPlace("files", "FilesScreen", frozenset({"documents"})),
    "blame": ScreenPlace("dreams.blame", "BlameScreen", frozenset({"documents", "dream"})),
    "review": ScreenPlace("dreams.dream_review", "ReviewScreen", frozenset({"dream", "documents", "history"})),
    "versions": ScreenPlace("dreams.dream_versions", "VersionsScreen", frozenset({"dream", "documents"})),
    "injections": ScreenPlace("recall.injections", "InjectionsScreen", frozenset({"items", "wal", "sessions"})),
    "inbox": ScreenPlace("inbox", "InboxScreen", frozenset({"items", "lessons", "review", "documents", "records"})),
    "scopes": ScreenPlace("scopes", "ScopesScreen", frozenset({"items", "lessons", "sessions", "wal", "records"})),
    "rules": ScreenPlace("inbox", "RulesScreen", frozenset({"records"})),
    "duplicates": ScreenPlace("duplicates", "DuplicatesScreen", frozenset({"items", "records"})),
    "conflicts": ScreenPlace("duplicates", "ConflictsScreen", frozenset({"items", "lessons", "records"})),
    "knowledge": ScreenPlace("knowledge", "KnowledgeScreen", frozenset({"items"})),
    "journal": ScreenPlace("journal", "JournalScreen", frozenset({"records"})),
    "reflections": ScreenPlace("journal", "ReflectionsScreen", frozenset({"records", "lessons"})),
    "usage": ScreenPlace("usage", "UsageScreen", frozenset({"records", "usage"})),
    "tiers": ScreenPlace("work.tiers", "TiersScreen", frozenset({"tiers"})),
    "context": ScreenPlace("work.context", "ContextScreen", frozenset({"items", "lessons", "tiers"})),
    "pictures": ScreenPlace(
        "status", "PicturesScreen", frozenset({"items", "records", "usage", "dream", "documents", "wal"})
    ),
    "moments": ScreenPlace(
        "moments", "MomentsScreen", frozenset({"items", "lessons", "records", "documents", "ledger"})
    ),
    "trail": ScreenPlace("work.record_list", "TrailScreen", frozenset({"tiers"})),
}

#: The layer of `Workspace.refresh` that an operation's layer is part of.
LAYER_OF_CHANGE: Mapping[str, str] = {
    "item": "items",
    "lesson": "lessons",
    "record": "records",
    "file": "documents",
    "session": "sessions",
    "mirror": "notes",
    "history": "history",
    "hunk": "review",
    "pending": "wal",
    "tier": "tiers",
    "lifecycle": "tiers",
    "knowledge": "tiers",
}


SHARED_ACTIONS: Mapping[str, str] = {
    "copy": "base.copying:copy_to_clipboard",
    "copy_to_file": "base.copying:copy_to_file",
    "export_view": "base.copying:export_view",
    "jump": "base.jump_dialog:jump",
    "workspaces": "base.jump_dialog:choose_workspace",
    "bookmark": "base.bookmarks:bookmark",
    "bookmarks": "base.bookmarks:bookmarks",
    "filters": "base.bookmarks:filters",
}
"""Actions of every main screen: the module in this package, and the function that is given the screen."""


def shared_action(name: str) -> Callable[[Any], Any] | None:
    """Return the function of an action that works on every main screen; None where it is none of these."""
    module, _, function = SHARED_ACTIONS.get(name, "").partition(":")
    found: Callable[[Any], Any] | None = getattr(_load(module), function) if module else None
    return found


def make_screen(name: str) -> Screen[Any]:
    """A new screen of that name."""
    place = PLACES[name]
    return cast("Screen[Any]", getattr(_load(place.module), place.class_name)())


def _load(module: str) -> ModuleType:
    return importlib.import_module(f"{__package__}.{module}")
