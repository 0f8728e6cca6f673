"""What a person moves about with: anything by typing, bookmarks, named filters, macros."""

from __future__ import annotations

from nanomem_tui.actions.action import Action
from nanomem_tui.conditions import changeable, with_row

MARKED = (
    "items", "lessons", "sessions", "wal", "dream", "notes", "archive", "files", "knowledge", "journal", "reflections",
    "trail", "ledger", "injections", "inbox",
)  # fmt: skip
"""Screens whose rows have an id that lasts."""
FILTERED = (*MARKED, "status", "usage", "blame", "survival", "versions")

HABITS: tuple[Action, ...] = (
    Action("jump", ("J",), "jump", "Go to anything by typing a part of it: a screen, an item, a fact, a lesson, a "
           "session, a file, a note, a Dream, a record. kind:session looks at one kind.", "global",
           headless="find TEXT"),
    Action("workspaces", ("ctrl+o",), "workspaces", "To another agent's memory: choose it by typing; twice goes back "
           "to the one before. ^o in J looks in all of them.", "global",
           headless="workspaces list · --workspace NAME · find TEXT --all-workspaces"),
    Action("bookmark", (";",), "bookmark", "Set a bookmark on the row at the cursor; again to remove it.", "global",
           MARKED, headless="bookmarks add SCREEN ID · bookmarks delete SCREEN ID", enabled=with_row),
    Action("bookmarks", ("'",), "bookmarks", "List the bookmarks and go to one.", "global", headless="bookmarks list"),
    Action("filters", ("|",), "filters", "Choose a named filter of this screen, or give the one that is typed a name.",
           "global", FILTERED, headless="filters list · filters save NAME FILTER --screen S"),
    Action("record_macro", ("#",), "record", "Record what you do from here on, by its meaning; again to end, and to "
           "give it a name. Held are changes of items, facts and lessons, and decisions of the inbox: on the row at "
           "the cursor, on the selection, or on all that a filter lets through.", "global", enabled=changeable),
    Action("replay_macro", ("@",), "replay", "Do a recorded macro again: it is shown first, and is one change, which u "
           "takes back.", "global", danger="preview", headless="macro run NAME", enabled=changeable),
)  # fmt: skip
