"""The registry of actions: keys, label, help, command and screens of each, when it can be done, and the user's keys.

A key of the action `toggle` runs `do_toggle` of the screen (`grep -rn "def do_toggle" nanomem_tui`): of its own class,
else of a base class in `screens/base/`, else of the app. A few actions of every screen are named in
`screens/registry.py`; moving and selecting are `action_<name>` of a widget. The method calls what the command calls.

A condition looks at a `Context` and returns None, or the reason why an action cannot be done now. The settings may move
keys: what speaks against that is said here. Knows no widget and no Textual.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nanomem_tui.core.config import Loaded
from nanomem_tui.core.errors import Problem
from nanomem_tui.tabs import TABS, tab_of

NO_MORE = "No more of your changes; U opens history"
"""Why `undo` stops: what else there is was done before, or by others."""


@dataclass(frozen=True, slots=True)
class Context:
    """What an action may look at to say whether it can be done now; a screen makes one when asked.

    `has` names further things that are true, such as "source" (the row knows where it came from), "detail" (it is
    shown) or "in detail" (the keys are for it). `read_only` is why nothing can be changed, `row_read_only` why the row
    at the cursor can't; empty when it can.
    """

    screen: str
    rows: int = 0
    selected: int = 0
    dirty: int = 0
    agent_alive: bool = False
    can_undo: bool = False
    can_redo: bool = False
    read_only: str = ""
    row_read_only: str = ""
    has: frozenset[str] = frozenset()


def always(_context: Context) -> str | None:
    """Can always be done."""
    return None


def with_row(context: Context) -> str | None:
    """Needs a row under the cursor."""
    return None if context.rows else "there is no row here"


def writable(context: Context) -> str | None:
    """Needs a row, and a workspace that can be written."""
    return context.read_only or with_row(context) or context.row_read_only or None


def changeable(context: Context) -> str | None:
    """Needs a workspace that can be written."""
    return context.read_only or None


def addable(context: Context) -> str | None:
    """Needs a workspace that can be written, and rows of a kind that people write."""
    told = "told by agents" in context.has
    return context.read_only or ("these are told by agents, not written by hand" if told else None)


def two_rows(context: Context) -> str | None:
    """Needs two rows that are selected, or one that is about several things."""
    several = context.selected > 1 or "several" in context.has
    alone = "it is about one thing: there is nothing to merge"
    return writable(context) or (
        None if several else alone if context.screen == "inbox" else "select two or more rows first (space)"
    )


def undoable(context: Context) -> str | None:
    """Needs a change that was made in this console and stands."""
    return context.read_only or (None if context.can_undo else NO_MORE)


def redoable(context: Context) -> str | None:
    """Needs a change that was undone in this console."""
    return context.read_only or (None if context.can_redo else "nothing to redo")


def without_agent(context: Context) -> str | None:
    """An agent has conversations and the archive in memory."""
    return "an agent is running: it would write over what changes here" if context.agent_alive else context.read_only


def compactable(context: Context) -> str | None:
    """Needs rows to compact; what an agent has in memory, no agent."""
    of_agent = context.screen in ("sessions", "archive")
    return (without_agent(context) if of_agent else context.read_only) or with_row(context)


def consolidable(context: Context) -> str | None:
    """Needs a conversation, and no agent that has it in memory."""
    return without_agent(context) or with_row(context)


def with_detail(context: Context) -> str | None:
    """Needs a detail that is shown."""
    if context.screen == "trail" and "nothing to open" in context.has:
        return "this record has no links: esc goes back"
    return with_row(context) or (None if "detail" in context.has else "the detail is not shown: tab goes there")


def openable(context: Context) -> str | None:
    """Needs a row; in a detail of which enter opens parts, one of these."""
    if "elsewhere to open" in context.has:
        return "nothing to open at the cursor: n goes on to what there is"
    return "nothing to open here: esc goes back" if "nothing to open" in context.has else with_row(context)


def with_source(context: Context) -> str | None:
    """Needs a row that knows where it came from."""
    return with_row(context) or (None if "source" in context.has else "where this came from is not known")


def with_item(context: Context) -> str | None:
    """On Recall not every row is an item."""
    return with_row(context) or (None if context.screen != "recall" or "item" in context.has else "this is no item")


def with_message(context: Context) -> str | None:
    """Needs an item that a message brought back."""
    asked = "message" in context.has
    return context.read_only or (with_item(context) if asked else "type a message first (/)")


def turned(context: Context) -> str | None:
    """Needs a weight that was changed."""
    return None if "turned" in context.has else "no weight was changed"


def unfinished(context: Context) -> str | None:
    """Needs a log with a turn that never ended."""
    known = context.selected or "unfinished" in context.has
    return writable(context) or (None if known else "every turn of this log ended, or is recovered")


# What an action of a person is: its name, keys, words, danger, command and when it can't be done.

Group = Literal["move", "select", "go", "global", "screen"]
#: "preview": shows what will change and asks; "typed": can't be undone, asks for a typed word.
Danger = Literal["none", "preview", "typed"]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do.

    `keys` are Textual key names or single characters, the first is the one shown; none: palette only. `screens` empty
    means everywhere. `labels`, `helps`, `commands` and `footers` hold what differs on one screen, `in_detail` the
    place in the footer while the keys are for the detail. `footer` orders the footer (1 first; 0: only in help).
    `command` is the command that does the same. Its keys run the method `do_<name>` of the screen.
    """

    name: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: Group = "screen"
    screens: tuple[str, ...] = ()
    danger: Danger = "none"
    command: str = ""
    enabled: Callable[[Context], str | None] = always
    footer: int = 0
    footers: Mapping[str, int] = field(default_factory=dict)
    in_detail: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    helps: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)

    def on(self, screen: str) -> bool:
        """Whether the action exists on `screen`."""
        return not self.screens or screen in self.screens

    def label_on(self, screen: str) -> str:
        """The short label on `screen`."""
        return self.labels.get(screen, self.label)

    def footer_on(self, screen: str, in_detail: bool = False) -> int:
        """Its place in the footer of `screen`; 0 for none."""
        place = self.footers.get(screen, self.footer)
        return self.in_detail.get(screen, place) if in_detail else place

    def help_on(self, screen: str) -> str:
        """What it does on `screen`."""
        return self.helps.get(screen, self.help)

    def command_on(self, screen: str) -> str:
        """The command that does the same, without the leading ``nanomem``; empty when it is only of the screen."""
        return self.commands.get(screen, self.command)


# -- What works on every screen: selecting, finding, undo, the screens themselves, moving -----------------------------

EVERYWHERE: tuple[Action, ...] = (
    # Selecting rows.
    Action("select", ("space",), "select", "Select the row, or not; the cursor moves on.", "select", footer=30,
           enabled=with_row),
    Action("select_range", ("v",), "range", "Start a range here; again to end it at the cursor.", "select",
           enabled=with_row),
    Action("select_all", ("*",), "all shown", "Select every row shown; again for none.", "select", enabled=with_row),
    # What works everywhere.
    Action("filter", ("/",), "filter",
           'Filter as you type: kind:fact scope:telegram:* age:>30d hits:0 "exact" -word; esc clears. On Recall: type '
           "the message.", "global", footer=89, labels={"recall": "message", "context": "task"},
           helps={"context": "Type the task; what is known for it is told at each key."}),
    Action("help", ("?",), "help", "The keys of this screen.", "global", footer=90),
    Action("palette", (":", "ctrl+p"), "commands", "Every action by name.", "global", footer=80),
    Action("open", ("enter",), "open", "Open the row: to the detail, or into it.", "global", enabled=openable,
           footer=40, in_detail={"trail": 2, "tiers": 2}),
    Action("back", ("escape",), "back", "Back: to the list, then without filter, then without selection.", "global",
           in_detail={"trail": 4, "tiers": 4}),
    Action("next_pane", ("tab",), "pane", "To the other pane.", "global", footer=50),
    Action("previous_pane", ("shift+tab",), "pane", "To the pane before.", "global"),
    Action("undo", ("u",), "undo", "Undo the last change that you made in this console.", "global", command="undo",
           enabled=undoable, footer=15, footers={"inbox": 13}),
    Action("redo", ("ctrl+r",), "redo", "Do again what was taken back.", "global", command="redo", enabled=redoable),
    Action("ledger", ("U",), "ledger", "Every change: who, when, what; take back any of them.", "global",
           command="log"),
    Action("go_moments", ("H",), "moments", "The memory as it was at any moment, what differs, and the way back.",
           "global", command="moments list"),
    Action("last_turn", (".",), "last turn", "The turn that ran last: what the agent was given before it answered, and "
           "what it saved.", "global", command="turn show"),
    Action("copy", ("y",), "copy", "Copy the text to your clipboard: by tmux or a program of this desktop, over SSH by "
           "the terminal itself; it is said which.", "global", enabled=with_row),
    Action("copy_to_file", (), "copy to file", "Copy the text to a file in nanomem's folder, where no clipboard can be "
           "reached.", "global", enabled=with_row),
    Action("export_view", ("X",), "export", "Write the rows that are shown, or those selected, to a file: JSON, CSV or "
           "Markdown, with every column.", "global", command="--snapshot SCREEN --filter TEXT --rows FILE",
           enabled=with_row),
    Action("sort", ("s",), "sort", "Sort by the next column; the heading shows which.", "global", enabled=with_row),
    Action("wrap", ("w",), "wrap", "Wrap long lines, or not.", "global"),
    Action("zoom", ("z",), "zoom", "Give this pane the whole width; again for both.", "global"),
    Action("reload", ("f5",), "reload", "Read everything again.", "global"),
    Action("flush", ("ctrl+s",), "save now", "Write a checkpoint now.", "global", command="memory flush",
           enabled=changeable),
    Action("theme", (), "next theme", "Dark, light, or the colours of your terminal.", "global"),
    Action("tour", (), "tour", "The first lines, or the walk from where it was left; esc puts them away.", "global"),
    Action("quit", ("q",), "quit", "Leave; everything is saved.", "global", footer=99),
    # The lists of the tabs; the digit of a tab shows its first.
    *(
        Action(f"go_{one.screen}", (tab.key,) if one is tab.lists[0] else (), one.title, one.help, "go",
               command=one.command)
        for tab in TABS for one in tab.lists
    ),
    Action("next_list", ("]",), "next list", "The next list of this tab.", "global", footer=70),
    Action("previous_list", ("[",), "list before", "The list before in this tab.", "global"),
    # Moving in lists and texts.
    Action("cursor_down", ("j", "down"), "down", "One line down.", "move"),
    Action("cursor_up", ("k", "up"), "up", "One line up.", "move"),
    Action("half_down", ("ctrl+d",), "half page", "Half a page down.", "move"),
    Action("half_up", ("ctrl+u",), "half page", "Half a page up.", "move"),
    Action("page_down", ("pagedown",), "page", "A page down.", "move"),
    Action("page_up", ("pageup",), "page", "A page up.", "move"),
    Action("first", ("g", "home"), "first", "To the first line.", "move"),
    Action("last", ("G", "end"), "last", "To the last line.", "move"),
    Action("scroll_left", ("left",), "left",
           "Text to the left, when it is not wrapped; in a tree: fold, or to the heading.", "move"),
    Action("scroll_right", ("right",), "right",
           "Text to the right, when it is not wrapped; in a tree: unfold, or into it.", "move"),
)  # fmt: skip


# -- What a person moves about with: anything by typing, bookmarks, named filters -------------------------------------

MARKED = (
    "items", "lessons", "sessions", "wal", "dream", "notes", "archive", "files", "knowledge", "journal", "reflections",
    "trail", "ledger", "injections", "inbox",
)  # fmt: skip
"""Screens whose rows have an id that lasts."""
FILTERED = (*MARKED, "status", "usage", "blame", "versions")

HABITS: tuple[Action, ...] = (
    Action("jump", ("J",), "jump", "Go to anything by typing a part of it: a screen, an item, a fact, a lesson, a "
           "session, a file, a note, a Dream, a record. kind:session looks at one kind.", "global",
           command="find TEXT"),
    Action("workspaces", ("ctrl+o",), "workspaces", "To another agent's memory: choose it by typing; twice goes back "
           "to the one before. ^o in J looks in all of them.", "global",
           command="workspaces list · --workspace NAME · find TEXT --all-workspaces"),
    Action("bookmark", (";",), "bookmark", "Set a bookmark on the row at the cursor; again to remove it.", "global",
           MARKED, command="bookmarks add SCREEN ID · bookmarks delete SCREEN ID", enabled=with_row),
    Action("bookmarks", ("'",), "bookmarks", "List the bookmarks and go to one.", "global", command="bookmarks list"),
    Action("filters", ("|",), "filters", "Choose a named filter of this screen, or give the one that is typed a name.",
           "global", FILTERED, command="filters list · filters save NAME FILTER --screen S"),
)  # fmt: skip


# -- What is done with the rows of a list: items, lessons, facts, sessions, files and what waits ----------------------

_ROWS = ("items", "lessons")
_KNOWN = ("knowledge", "journal", "reflections")
_COMMANDS: Mapping[str, Mapping[str, str]] = {
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
           ("inbox", "review", "duplicates", "conflicts"), command="triage keep ID", enabled=writable, footer=8,
           labels={"review": "accept", "duplicates": "keep all", "conflicts": "keep both"},
           helps={"conflicts": "Both are so. Asked about again only when the words of one of the two change.",
                  "duplicates": "Keep all: they are no duplicates. Asked about again only when one of their texts "
                                "changes.",
                  "review": "Accept the edit, or those selected; again to leave it open. Nothing is written yet."},
           commands={"review": "", "duplicates": "duplicates keep ID", "conflicts": "conflicts keep-both ID"}),
    Action("reject", ("-",), "reject", "Take it away: deleted, or let go where it was held back. u brings it back.",
           "screen", ("inbox", "review", "conflicts"), command="triage reject ID --yes", enabled=writable, footer=9,
           labels={"conflicts": "keep old"},
           helps={"conflicts": "Keep the older; the newer is marked as wrong and never injected.",
                  "review": "Reject the edit, or those selected; again to leave it open."},
           commands={"review": "", "conflicts": "conflicts keep-old ID"}),
    Action("edit", ("e",), "edit", "Edit the text here; ctrl+s saves, esc leaves it as it was.", "screen",
           (*_ROWS, *_KNOWN, "files", "inbox", "review", "trail"), command="memory edit ID", enabled=writable,
           footer=10,
           labels={"review": "other words"},
           helps={"inbox": "Give it other words; what was held back is accepted with them. esc leaves it.",
                  "review": "Accept the edit with other words; esc leaves it as it was.",
                  "knowledge": "Edit the value and the names of the fact; the value that it had stays in its history.",
                  "trail": "Edit the fields of the record as one text; what is JSON is checked before it is saved."},
           commands={"lessons": "memory lessons edit ID", "files": "files edit FILE",
                     "inbox": "triage edit ID --text T", "review": "", **_COMMANDS["edit"]}),
    Action("edit_external", ("E",), "$EDITOR", "Edit the text in your own editor.", "screen",
           (*_ROWS, *_KNOWN, "files", "trail"), command="memory edit ID", enabled=writable,
           commands={"lessons": "memory lessons edit ID", "files": "files edit FILE", **_COMMANDS["edit"]}),
    Action("fields", ("i",), "kind, scope", "Set kind, importance and scope, of the row or of all selected rows.",
           "screen", ("items",), command="memory edit ID --kind K --importance N", enabled=writable, footer=18),
    Action("toggle", ("x",), "disable",
           "Disable what is enabled and enable what is disabled: kept, but never recalled.",
           "screen", (*_ROWS, "knowledge", "inbox", "duplicates", "conflicts"),
           command="memory disable ID · memory enable ID", enabled=writable, footer=11,
           labels={"inbox": "off", "lessons": "on/off", "duplicates": "disable others", "conflicts": "old was wrong"},
           commands={"lessons": "memory lessons disable ID · memory lessons enable ID", "inbox": "triage disable ID",
                  "duplicates": "duplicates disable ID", "conflicts": "conflicts keep-new ID"},
           helps={"conflicts": "Keep the newer; the older was never true: it is marked as wrong and never injected.",
                  "duplicates": "Disable all but one: the one at the cursor of the detail, else the one proposed.",
                  "inbox": "Switch it off: kept, but never recalled.",
                  "knowledge": "Disable what is enabled and enable what is disabled: kept, but never recalled. On a "
                               "heading all facts under it, shown first."}),
    Action("delete", ("d",), "delete", "Delete one row at once, u brings it back; several are shown first.", "screen",
           (*_ROWS, *_KNOWN, "trail", "inbox", "rules", "duplicates"), "none", "memory delete ID --yes", writable, 12,
           labels={"duplicates": "delete others"},
           commands={"duplicates": "duplicates delete ID --yes",
                  "lessons": "memory lessons delete ID --yes", "inbox": "triage delete ID --yes",
                  "rules": "triage rules delete ID --yes", **_COMMANDS["delete"]},
           helps={"rules": "Let the rule go; what it decided stays.",
                  "duplicates": "Delete all but one: the one at the cursor of the detail, else the one proposed.",
                  "knowledge": "Delete one fact at once, u brings it back; several, and all under a heading, are shown "
                               "first."}),
    Action("merge", ("m",), "merge", "Make one item of the selected ones.", "screen",
           ("items", "knowledge", "inbox", "duplicates", "conflicts"), "preview", "memory merge ID ID", two_rows, 15,
           footers={"duplicates": 7, "conflicts": 7}, labels={"conflicts": "keep new"},
           commands={"conflicts": "conflicts supersede ID", "duplicates": "duplicates merge ID",
                  "knowledge": "facts merge ID ID",
                  "inbox": "triage merge ID --yes"},
           helps={"inbox": "Merge the items of the finding; in a conflict, keep the newer.",
                  "conflicts": "Keep the newer; the older was true before: it stays in the history, never injected.",
                  "duplicates": "Make one item of them: of the one at the cursor of the detail, else of the one "
                                "proposed. Several clusters only where each is sure.",
                  "knowledge": "Make one fact of the selected ones: the one at the cursor stays, the values of the "
                               "others go on in its history."}),
    Action("pin", ("p",), "pin", "Pin the item, so that compaction and expiry leave it alone; again to unpin.",
           "screen", ("items",), "none", "memory pin ID · memory unpin ID", writable, 16),
    Action("add", ("a",), "add", "Write a new item.", "screen", ("items", *_KNOWN, "trail"),
           command="memory add --text T", enabled=addable, footer=13, commands=_COMMANDS["add"],
           helps={"knowledge": "Write a new fact, or give a known one another value.",
                  "journal": "Write an entry for today, or for another day.",
                  "reflections": "Write down what a failed tool call taught.",
                  "trail": "Write a new record of this kind."}),
    Action("by_meaning", ("~",), "by meaning", "Search by meaning: type what you look for; the nearest facts come "
           "first. ~ before the words of a filter does the same.", "screen", ("knowledge",), command="facts search Q",
           footer=8),
    Action("fold_all", ("O",), "outline", "Fold every category, or unfold all of them.", "screen", ("knowledge",),
           enabled=with_row, footer=19),
    Action("make_lesson", ("L",), "make lesson", "Make it a lesson, which is what the agent is given; or link the "
           "one that says so already.", "screen", ("reflections",), command="reflections lesson ID", enabled=writable,
           footer=11),
    Action("group_by", ("B",), "by", "Add up by the next: day, model, source, whose it is.", "screen", ("usage",),
           command="usage --by model", footer=10),
    Action("measure", ("C",), "cost", "Draw the cost, or tokens again.", "screen", ("usage",), footer=11),
    Action("compact", ("c",), "compact",
           "Remove duplicates and what is over the number that you type; shows what would go, and can be undone.",
           "screen", (*_ROWS, "sessions", "archive"), "preview", "memory compact --max-items N", compactable, 14,
           footers={"archive": 20},
           helps={"sessions": "Cut a conversation down to its newest messages; can be undone.",
                  "archive": "Let the oldest summaries go, never one that no Dream has read; can be undone."},
           commands={"lessons": "memory lessons compact --max-lessons N", "sessions": "session compact KEY",
                  "archive": "history compact --keep N"}),
    Action("consolidate", (), "consolidate", "Summarise the oldest part of a conversation that is over its budget into "
           "the archive; the transcript keeps every message.", "screen", ("sessions",), "preview", "consolidate KEY",
           consolidable),
    Action("migrate_history", (), "migrate", "Turn the HISTORY.md of an old release into the archive of today, each "
           "entry with its date; the file stays as a backup.", "screen", ("archive",), "preview", "history migrate",
           without_agent),
    Action("source", ("o",), "source", "Jump to where this came from or went to: the turn, the memories, the session.",
           "screen", ("items", "sessions", "wal", "archive", "injections", "inbox", "blame", "lessons", *_KNOWN,
                      "trail", "duplicates", "conflicts"),
           command="memory show ID", enabled=with_source, footer=17, in_detail={"trail": 3},
           labels={"sessions": "memories", "wal": "session", "archive": "session", "injections": "the turn",
                   "blame": "what was said", "reflections": "lesson", "trail": "up"},
           commands={"sessions": "session show KEY", "wal": "session show KEY", "archive": "session show KEY",
                  "injections": "session show KEY", "inbox": "session show KEY",
                  "duplicates": "session show KEY", "conflicts": "session show KEY",
                  "blame": "blame FILE:LINE",
                  "journal": "session show KEY", "reflections": "memory lessons list", "lessons": "reflections list",
                  "trail": "record KIND show ID"},
           helps={"lessons": "Jump to the reflection that it follows from, or to the session where it was learned.",
                  "trail": "Go up: from the tool call or the decision to its task, from the task to its goal; in the "
                           "detail along the link at the cursor. esc comes back."}),
    Action("reset_lessons", (), "reset lessons", "Forget every lesson of this workspace.", "screen", ("lessons",),
           "typed", "memory lessons reset --yes", changeable),
    Action("search_all", ("F",), "find in all", "Search every transcript, every summary and every note.", "screen",
           ("sessions", "notes", "archive"), command="session search Q", footer=12),
    Action("next_part", ("l",), "next kind", "The records of the next kind.", "screen", ("trail", "versions"),
           footer=13, labels={"versions": "next file"},
           helps={"versions": "The versions of the next file: SOUL, USER, MEMORY."},
           commands={"trail": "record KIND list"}),
    Action("import_file", (), "import", "Take memories from a file or folder: another system's, Markdown, an export. "
           "Counts and duplicates are shown first; one operation, u takes it back.", "screen", ("items",), "preview",
           "memory import PATH", changeable),
    Action("export_file", (), "export", "Write what is remembered to a file of your own.", "screen", ("items",),
           command="memory export --format F --to FILE"),
    Action("backfill", (), "import notes", "Take in what MEMORY.md, daily notes and other Markdown in memory/ say, as "
           "the agent's first turn does once; u takes it back.", "screen", ("items",), "preview", "memory backfill",
           changeable),
)  # fmt: skip


# -- What is done with turns, Dreams, recall and the records of work --------------------------------------------------

_PARTS = ("dream", "sessions", "wal", "injections", "blame", "review", "versions", "knowledge", "tiers", "trail",
          "duplicates", "conflicts")  # fmt: skip

ON_TRACES: tuple[Action, ...] = (
    Action("blame", ("b",), "blame", "Who wrote each line of the memory files, which entries asked for it, and which "
           "messages these came from.", "screen", ("dream", "files", "sessions"), command="blame FILE",
           enabled=with_row, footer=16, footers={"sessions": 0}, labels={"sessions": "led to"},
           helps={"dream": "The lines that this change wrote and that stand; in the diff: of its file.",
                  "sessions": "The lines of the memory files that the message at the cursor led to."},
           commands={"sessions": "blame --session KEY --message N"}),
    Action("only_dreams", ("h",), "only Dreams", "Show only Dreams; again for every change of the memory files.",
           "screen", ("dream",), command="dream log --dreams", footer=15),
    Action("follow", ("f",), "follow", "Show new turns as the agent writes them; again to stop.", "screen",
           ("wal", "sessions"), command="wal show KEY", enabled=with_row, footer=10, footers={"sessions": 15},
           helps={"sessions": "Show new messages as the agent writes them; again to stop."},
           commands={"sessions": "session show KEY"}),
    Action("wal_recover", ("!",), "recover", "Put turns that never ended among the pending items of their session, and "
           "remember what they asked to be remembered; shown first, u takes it back.", "screen", ("wal",), "preview",
           "wal recover KEY", unfinished, 11),
    Action("dream_run", ("r",), "run", "Run a Dream now; one commit, can be taken back.", "screen",
           ("dream", "review"), "preview", "--run-dream", changeable, 12, labels={"review": "apply"},
           helps={"review": "Run the Dream with the edits that are accepted: one commit, can be taken back."}),
    Action("dream_review", ("T",), "dry run",
           "Try a Dream: see what it would change, and from which entries; accept or reject each edit, apply the rest.",
           "screen", ("dream", "review"), command="--run-dream --dry-run", enabled=changeable, footer=14,
           labels={"dream": "review", "review": "try anew"}),
    Action("dream_restore", ("t",), "take back",
           "Take back what the cursor is on: this hunk, this file, the whole run, or this change; later edits stay.",
           "screen", ("dream", "versions", "ledger", "moments"), "preview",
           "dream restore SHA --file F --hunk N", writable, 11,
           commands={"ledger": "undo ID", "versions": "dream restore SHA --file F --as-of",
                  "moments": "moments restore MOMENT --id ID"},
           labels={"versions": "bring back", "moments": "bring back"},
           helps={"versions": "Bring the file back as it was then, or take back only what that change did to it.",
                  "moments": "Bring back what was there then: one row, a kind, a scope, a file, or all of it."}),
    Action("earlier", ("(",), "earlier", "One moment back in time.", "screen", ("moments",), enabled=with_row,
           footer=12),
    Action("later", (")",), "later", "One moment on in time.", "screen", ("moments",), enabled=with_row, footer=13),
    Action("other_earlier", ("{",), "end earlier", "The moment that is compared with, one back in time.", "screen",
           ("moments",), enabled=with_row, footer=14),
    Action("other_later", ("}",), "end later", "The moment that is compared with, one on in time, at last to now.",
           "screen", ("moments",), enabled=with_row, footer=15),
    Action("versions", ("V",), "versions", "The memory files as they were after each change, to go through in time.",
           "screen", ("dream",), command="dream versions FILE", enabled=with_row, footer=17),
    Action("next_hunk", ("n",), "next hunk", "To the next part of the detail: hunk, message or turn.", "screen", _PARTS,
           enabled=with_detail, footer=18, in_detail={"trail": 5, "tiers": 5},
           labels={"sessions": "next message", "wal": "next turn", "injections": "next item", "blame": "next reason",
                   "versions": "next change", "knowledge": "next part", "tiers": "next part", "trail": "next link",
                   "duplicates": "next item", "conflicts": "next one"}),
    Action("previous_hunk", ("N",), "hunk before", "To the part before.", "screen", _PARTS, enabled=with_detail,
           labels={"sessions": "last message", "wal": "last turn", "injections": "last item", "blame": "last reason",
                   "versions": "last change", "knowledge": "last part", "tiers": "last part", "trail": "last link",
                   "duplicates": "last item", "conflicts": "last one"}),
    Action("reply_to", ("Q",), "reply to", "Type the words of the message that it replies to; they count half.",
           "screen", ("recall",), command="recall MESSAGE --reply-to TEXT", footer=11),
    Action("asker", ("A",), "who asks", "Choose who asks: the owner, a chat, a person; or type channel:chat sender.",
           "screen", ("recall", "context", "scopes", "injections"), footer=10,
           command="recall MESSAGE --channel C --chat-id X --sender-id Y",
           labels={"scopes": "recall as", "injections": "ask again"}, footers={"injections": 12},
           helps={"scopes": "Ask Recall as the chat or person at the cursor.",
                  "injections": "Ask Recall what the same person would be given for the same words now."},
           commands={"context": "context TASK --channel C --chat-id X --sender-id Y"}),
    Action("context", ("K",), "context", "What an agent would be given for a task, out of every tier.", "screen",
           ("tiers", "trail"), command="context TASK", footer=14),
    Action("toggle_tier", ("=",), "tier on/off", "Ask the tier in brackets, or not.", "screen", ("context",),
           command="context TASK --tiers TIER,TIER", footer=13),
    Action("profile", ("P",), "profile", "Rank by the next profile: our own way, as seed 000, as seed 001.", "screen",
           ("recall",), footer=16),
    Action("next_weight", ("#",), "weight", "To the next weight.", "screen", ("recall", "context"), footer=17,
           labels={"context": "tier"}, helps={"context": "To the next tier."}),
    Action("previous_weight", ("@",), "weight before", "To the weight before.", "screen", ("recall", "context"),
           labels={"context": "tier before"}, helps={"context": "To the tier before."}),
    Action("more_weight", (">",), "more of it", "Let the weight count more; everything is ranked again.", "screen",
           ("recall", "context"), footer=18, footers={"context": 11}, labels={"context": "more tokens"},
           helps={"context": "A larger budget of tokens."}, commands={"context": "context TASK --max-tokens N"}),
    Action("less_weight", ("<",), "less of it", "Let the weight count less; 0 leaves it out.", "screen",
           ("recall", "context"), footers={"context": 12}, labels={"context": "fewer tokens"},
           helps={"context": "A smaller budget of tokens."}, commands={"context": "context TASK --max-tokens N"}),
    Action("reset_weights", ("R",), "reset weights", "The weights of the profile again.", "screen", ("recall",),
           enabled=turned),
    Action("why_not", ("W",), "why not",
           "Say why an item is not recalled: this one on Items, on Recall one that you choose by typing.", "screen",
           ("items", "recall"), command="recall MESSAGE --why-not ID", footer=19),
    Action("injected", ("I",), "turns given", "The real turns that were given this, or that saved it.", "screen",
           (*_ROWS, "recall"), enabled=with_item),
    Action("keep_recall", ("M",), "must find", "Save the message as a question that must find this row, or the "
           "selected rows.", "screen", ("recall",), command="recall MESSAGE --save ID", enabled=with_message,
           footer=12),
    Action("check_recall", (), "check saved", "Ask every saved question again and show what got lost.", "screen",
           ("recall",), command="recall --check"),
    Action("lifecycle_run", ("Y",), "lifecycle", "Move what is old enough to long-term memory; u takes it back.",
           "screen", ("tiers",), "preview", "lifecycle run", changeable, 12),
    Action("doctor", ("D",), "doctor", "Check every file and table, and say what to do.", "screen", ("status",),
           command="doctor", footer=10),
    Action("mend", ("ctrl+f",), "put right", "Put right what the doctor can, after a backup; what it cannot read goes "
           "to the quarantine.", "screen", ("status",), "preview", "doctor --fix", changeable, 11),
    Action("backup", (), "back up", "Workspace, sessions, databases and configuration in one file beside the home.",
           "screen", ("status",), command="backup make"),
)  # fmt: skip


# What is done with findings beyond what is done with any row, and with the rules that are made from decisions.

ON_TRIAGE: tuple[Action, ...] = (
    Action("snooze", ("Z",), "put off", "Put it off for a week; it is asked about again then.", "screen",
           ("inbox", "duplicates", "conflicts"), command="triage snooze ID", enabled=writable, footer=16),
    Action("split", ("S",), "move scope", "Move it to the scope where it belongs: global, a chat or a person.",
           "screen", ("inbox", "items", "scopes", "conflicts"),
           command="triage split ID --scope S", enabled=writable, footer=18,
           footers={"items": 19, "scopes": 8}, labels={"items": "to scope", "scopes": "to scope"},
           helps={"conflicts": "Both are so, each in its scope: the one at the cursor of the detail moves, "
                               "else the older.",
                  "items": "Move or copy the row, or the selected ones, to another scope: choose it by typing.",
                  "scopes": "Move or copy what leaks, or all that a scope holds, to another scope."},
           commands={**dict.fromkeys(("items", "scopes"), "scopes move ID --to S · scopes copy ID --to S"),
                  "conflicts": "conflicts split ID --scope S"}),
    Action("all_like", ("&",), "all like this", "Decide alike on all that is like this: of its kind, scope and source, "
           "for such a reason. The rule is kept with it; u takes back both.", "screen", ("inbox", "rules"), "preview",
           "triage like ID DECISION", writable, 14, labels={"rules": "apply"},
           helps={"rules": "Apply the rule to what it is about now."}, commands={"rules": "triage rules apply ID"}),
)  # fmt: skip


# Every action of a person, once: its name, keys, words, danger, command and when it can't be done.

__all__ = ["ACTIONS", "BY_NAME", "GROUP_TITLES", "SCREENS", "SLASH", "Action", "Danger", "Group", "actions_on"]

#: Screens by name, with what they are called: the first list of a tab as the tab.
SCREENS: Mapping[str, str] = {
    **{one.screen: tab.title if one is tab.lists[0] else one.title for tab in TABS for one in tab.lists},
    "ledger": "History",
    "moments": "Moments",
}  # fmt: skip
GROUP_TITLES: Mapping[Group, str] = {
    "screen": "On this screen",
    "select": "Selecting",
    "global": "Everywhere",
    "go": "Lists",
    "move": "Moving",
}

ACTIONS: tuple[Action, ...] = (*ON_LISTS, *ON_TRACES, *ON_TRIAGE, *HABITS, *EVERYWHERE)

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}

SLASH: Mapping[str, str] = {"dream_run": "/dream", "go_dream": "/dream-log", "dream_restore": "/dream-restore"}
"""What an agent's own commands are called that do what an action does on the Dream screen: the palette takes them."""


def actions_on(screen: str, *groups: Group) -> list[Action]:
    """The actions of `screen`, of these groups (none given: all), in the order of the registry."""
    return [action for action in ACTIONS if action.on(screen) and (not groups or action.group in groups)]


# Which keys do an action: those of the registry or those that the settings give it, and how a key reads.

Moved = Mapping[str, tuple[str, ...]]
"""The actions whose keys are not those of the registry, by name."""

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


def way_beside(screen: str) -> Action:
    """The action that leads to a screen of no tab."""
    return BY_NAME.get(screen) or BY_NAME[f"go_{screen}"]


def way_to(screen: str, moved: Moved) -> tuple[str, ...]:
    """The keys that lead to a screen from any other: the digit of its tab, and the key of the next list."""
    tab = tab_of(screen)
    if tab is None:
        return (keys_of(way_beside(screen), moved)[0],)
    names = [one.screen for one in tab.lists]
    steps = (f"go_{names[0]}", *["next_list"] * names.index(screen))
    return tuple(keys_of(BY_NAME[name], moved)[0] for name in steps)


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
    from nanomem_tui.core.settings import suggestion

    labelled = [one.name for one in ACTIONS if name.casefold() in (one.label, *one.labels.values())]
    near = " or ".join(f"`{one}`" for one in labelled[:3])
    near = f"did you mean {near}?" if near else suggestion(name, tuple(BY_NAME), 0.7)
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
