"""What is done with the rows of a list: items, lessons, facts, sessions, files and what waits."""

from __future__ import annotations

from collections.abc import Mapping

from nanomem_tui.actions.action import Action
from nanomem_tui.conditions import (
    addable,
    changeable,
    compactable,
    consolidable,
    two_rows,
    with_row,
    with_source,
    without_agent,
    writable,
)

_ROWS = ("items", "lessons")
_KNOWN = ("knowledge", "journal", "reflections")
_NEXT = {"notes": "archive", "archive": "sessions", "dream": "files", "files": "runs", "blame": "runs",
         "versions": "next file", "recall": "real turns",
         "injections": "recall", "items": "scopes", "scopes": "items",
         "lessons": "inbox", "inbox": "duplicates", "duplicates": "rules",
         "rules": "inbox",
         "knowledge": "journal", "journal": "reflections", "reflections": "usage", "usage": "facts",
         "tiers": "records", "trail": "next kind", "status": "pictures", "pictures": "status"}  # fmt: skip

_TWINS: Mapping[str, Mapping[str, str]] = {
    "add": {"knowledge": "facts set --category C --key K --value V", "journal": "journal add --text T",
            "reflections": "reflections add", "trail": "record KIND add --data JSON"},
    "edit": {"knowledge": "facts edit ID", "journal": "journal edit ID",
             "reflections": "reflections edit ID", "trail": "record KIND edit ID"},
    "delete": {"knowledge": "facts delete ID", "journal": "journal delete ID",
               "reflections": "reflections delete ID", "trail": "record KIND delete ID --yes"},
}  # fmt: skip

ON_LISTS: tuple[Action, ...] = (
    Action("accept", ("+",), "keep", "Keep it as it is: it is asked about again only when it changes. What was held "
           "back is accepted: recalled from now on; an edit of a Dream is made. u takes that back.", "screen",
           ("inbox", "review", "duplicates"), headless="triage keep ID", enabled=writable, footer=8,
           labels={"review": "accept", "duplicates": "keep all"},
           helps={"duplicates": "Keep all: they are no duplicates. Asked about again only when one of their texts "
                                "changes.",
                  "review": "Accept the edit, or those selected; again to leave it open. Nothing is written yet."},
           twins={"review": "", "duplicates": "duplicates keep ID"}),
    Action("reject", ("-",), "reject", "Take it away: deleted, or let go where it was held back. u brings it back.",
           "screen", ("inbox", "review"), headless="triage reject ID --yes", enabled=writable, footer=9,
           helps={"review": "Reject the edit, or those selected; again to leave it open."}, twins={"review": ""}),
    Action("edit", ("e",), "edit", "Edit the text here; ctrl+s saves, esc leaves it as it was.", "screen",
           (*_ROWS, *_KNOWN, "files", "inbox", "review", "trail"), headless="memory edit ID", enabled=writable,
           footer=10,
           labels={"review": "other words"},
           helps={"inbox": "Give it other words; what was held back is accepted with them. esc leaves it.",
                  "review": "Accept the edit with other words; esc leaves it as it was.",
                  "knowledge": "Edit the value and the names of the fact; the value that it had stays in its history.",
                  "trail": "Edit the fields of the record as one text; what is JSON is checked before it is saved."},
           twins={"lessons": "memory lessons edit ID", "files": "files edit FILE", "inbox": "triage edit ID --text T",
                  "review": "", **_TWINS["edit"]}),
    Action("edit_external", ("E",), "$EDITOR", "Edit the text in your own editor.", "screen",
           (*_ROWS, *_KNOWN, "files", "trail"), headless="memory edit ID", enabled=writable,
           twins={"lessons": "memory lessons edit ID", "files": "files edit FILE", **_TWINS["edit"]}),
    Action("fields", ("i",), "kind, scope", "Set kind, importance and scope, of the row or of all selected rows.",
           "screen", ("items",), headless="memory edit ID --kind K --importance N", enabled=writable, footer=18),
    Action("toggle", ("x",), "disable",
           "Disable what is enabled and enable what is disabled: kept, but never recalled.",
           "screen", (*_ROWS, "knowledge", "inbox", "duplicates"), headless="memory disable ID · memory enable ID",
           enabled=writable, footer=11, labels={"inbox": "off", "lessons": "on/off", "duplicates": "disable others"},
           twins={"lessons": "memory lessons disable ID · memory lessons enable ID", "inbox": "triage disable ID",
                  "duplicates": "duplicates disable ID"},
           helps={"duplicates": "Disable all but one: the one at the cursor of the detail, else the one proposed.",
                  "inbox": "Switch it off: kept, but never recalled.",
                  "knowledge": "Disable what is enabled and enable what is disabled: kept, but never recalled. On a "
                               "heading all facts under it, shown first."}),
    Action("delete", ("d",), "delete", "Delete one row at once, u brings it back; several are shown first.", "screen",
           (*_ROWS, *_KNOWN, "trail", "inbox", "rules", "duplicates"), "none", "memory delete ID --yes", writable, 12,
           labels={"duplicates": "delete others"},
           twins={"duplicates": "duplicates delete ID --yes",
                  "lessons": "memory lessons delete ID --yes", "inbox": "triage delete ID --yes",
                  "rules": "triage rules delete ID --yes", **_TWINS["delete"]},
           helps={"rules": "Let the rule go; what it decided stays.",
                  "duplicates": "Delete all but one: the one at the cursor of the detail, else the one proposed.",
                  "knowledge": "Delete one fact at once, u brings it back; several, and all under a heading, are shown "
                               "first."}),
    Action("merge", ("m",), "merge", "Make one item of the selected ones.", "screen",
           ("items", "knowledge", "inbox", "duplicates"), "preview", "memory merge ID ID", two_rows, 15,
           footers={"duplicates": 7},
           twins={"duplicates": "duplicates merge ID", "knowledge": "facts merge ID ID",
                  "inbox": "triage merge ID --yes"},
           helps={"inbox": "Make one item of those that the finding is about.",
                  "duplicates": "Make one item of them: of the one at the cursor of the detail, else of the one "
                                "proposed. Several clusters only where each is sure.",
                  "knowledge": "Make one fact of the selected ones: the one at the cursor stays, the values of the "
                               "others go on in its history."}),
    Action("pin", ("p",), "pin", "Pin the item, so that compaction and expiry leave it alone; again to unpin.",
           "screen", ("items",), "none", "memory pin ID · memory unpin ID", writable, 16),
    Action("add", ("a",), "add", "Write a new item.", "screen", ("items", *_KNOWN, "trail"),
           headless="memory add --text T", enabled=addable, footer=13, twins=_TWINS["add"],
           helps={"knowledge": "Write a new fact, or give a known one another value.",
                  "journal": "Write an entry for today, or for another day.",
                  "reflections": "Write down what a failed tool call taught.",
                  "trail": "Write a new record of this kind."}),
    Action("by_meaning", ("~",), "by meaning", "Search by meaning: type what you look for; the nearest facts come "
           "first. ~ before the words of a filter does the same.", "screen", ("knowledge",), headless="facts search Q",
           footer=8),
    Action("fold_all", ("O",), "outline", "Fold every category, or unfold all of them.", "screen", ("knowledge",),
           enabled=with_row, footer=19),
    Action("make_lesson", ("L",), "make lesson", "Make it a lesson, which is what the agent is given; or link the "
           "one that says so already.", "screen", ("reflections",), headless="reflections lesson ID", enabled=writable,
           footer=11),
    Action("group_by", ("B",), "by", "Add up by the next: day, model, source, whose it is.", "screen", ("usage",),
           headless="usage --by model", footer=10),
    Action("measure", ("C",), "cost", "Draw the cost, or tokens again.", "screen", ("usage",), footer=11),
    Action("compact", ("c",), "compact",
           "Remove duplicates and what is over the limit; shows what would go, and can be undone.",
           "screen", (*_ROWS, "sessions", "archive"), "preview", "memory compact --max-items N", compactable, 14,
           footers={"archive": 20},
           helps={"sessions": "Cut a conversation down to its newest messages; can be undone.",
                  "archive": "Let the oldest summaries go, never one that no Dream has read; can be undone."},
           twins={"lessons": "memory lessons compact --max-lessons N", "sessions": "session compact KEY",
                  "archive": "history compact --keep N"}),
    Action("consolidate", (), "consolidate", "Summarise the oldest part of a conversation that is over its budget into "
           "the archive; the transcript keeps every message.", "screen", ("sessions",), "preview", "consolidate KEY",
           consolidable),
    Action("migrate_history", (), "migrate", "Turn the HISTORY.md of an old release into the archive of today, each "
           "entry with its date; the file stays as a backup.", "screen", ("archive",), "preview", "history migrate",
           without_agent),
    Action("source", ("o",), "source", "Jump to where this came from or went to: the turn, the memories, the session.",
           "screen", ("items", "sessions", "wal", "archive", "injections", "inbox", "blame", "lessons", *_KNOWN,
                      "trail", "duplicates"),
           headless="memory show ID", enabled=with_source, footer=17, in_detail={"trail": 3},
           labels={"sessions": "memories", "wal": "session", "archive": "session", "injections": "the turn",
                   "blame": "what was said", "reflections": "lesson", "trail": "up"},
           twins={"sessions": "session show KEY", "wal": "session show KEY", "archive": "session show KEY",
                  "injections": "session show KEY", "inbox": "session show KEY",
                  "duplicates": "session show KEY",
                  "blame": "blame FILE:LINE",
                  "journal": "session show KEY", "reflections": "memory lessons list", "lessons": "reflections list",
                  "trail": "record KIND show ID"},
           helps={"lessons": "Jump to the reflection that it follows from, or to the session where it was learned.",
                  "trail": "Go up: from the tool call or the decision to its task, from the task to its goal; in the "
                           "detail along the link at the cursor. esc comes back."}),
    Action("reset_lessons", (), "reset lessons", "Forget every lesson of this workspace.", "screen", ("lessons",),
           "typed", "memory lessons reset --yes", changeable),
    Action("search_all", ("F",), "find in all", "Search every transcript, every summary and every note.", "screen",
           ("sessions", "notes", "archive"), headless="session search Q", footer=12),
    Action("next_list", ("l",), "notes", "To the next list behind this key: notes and archive, files, real turns, who "
           "sees what, what waits in the inbox.", "screen",
           (*_ROWS, "scopes", "inbox", "duplicates", "rules", "sessions", "notes", "archive", "dream", "files", "blame",
            "versions", "recall", "injections", *_KNOWN, "usage", "tiers", "trail", "status", "pictures"), footer=13,
           footers={"items": 20, "lessons": 20, "inbox": 20, **dict.fromkeys(_KNOWN, 9)}, labels=_NEXT,
           helps={"versions": "The versions of the next file: SOUL, USER, MEMORY.",
                  "tiers": "The records of this kind.", "trail": "The records of the next kind."},
           twins={"archive": "history list", "dream": "files list", "items": "scopes list", "scopes": "memory list",
                  "lessons": "inbox list",
                  "knowledge": "journal list", "journal": "reflections list", "reflections": "usage",
                  "usage": "facts list", "tiers": "record KIND list", "trail": "record KIND list",
                  "status": "pictures", "pictures": "memory status"}),
    Action("import_file", (), "import", "Take memories from a file or folder: another system's, Markdown, an export. "
           "Counts and duplicates are shown first; one operation, u takes it back.", "screen", ("items",), "preview",
           "memory import PATH", changeable),
    Action("export_file", (), "export", "Write what is remembered to a file of your own.", "screen", ("items",),
           headless="memory export --format F --to FILE"),
    Action("backfill", (), "take in notes", "Take in what MEMORY.md, daily notes and other Markdown in memory/ say, as "
           "the agent's first turn does once; u takes it back.", "screen", ("items",), "preview", "memory backfill",
           changeable),
)  # fmt: skip
