"""Every action of a person, once: its name, keys, words, danger, command-line twin and when it can't be done.

The key bindings, the footer, the help screen, the command palette and ``docs/keys.md`` are all made from `ACTIONS`.
This module holds no behaviour and imports no Textual: a screen does an action in its ``do_<name>`` method. Which keys
are in force, and how a key reads, is in `keymap`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from nanomem_tui.conditions import (
    Context,
    addable,
    always,
    changeable,
    compactable,
    consolidable,
    openable,
    redoable,
    turned,
    two_rows,
    undoable,
    unfinished,
    with_detail,
    with_item,
    with_message,
    with_row,
    with_source,
    without_agent,
    writable,
)

Group = Literal["move", "select", "go", "global", "screen"]
#: "preview": shows what will change and asks; "typed": can't be undone, asks for a typed word.
Danger = Literal["none", "preview", "typed"]

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
    "inbox": "Inbox",
    "knowledge": "Knowledge",
    "journal": "Journal",
    "reflections": "Reflections",
    "usage": "Usage",
    "tiers": "Tiers",
    "trail": "Records",
    "context": "Context",
}
GROUP_TITLES: Mapping[Group, str] = {
    "screen": "On this screen",
    "select": "Selecting",
    "global": "Everywhere",
    "go": "Screens",
    "move": "Moving",
}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do.

    `keys` are Textual key names or single characters, the first is the one shown; none: palette only. `screens` empty
    means everywhere. `labels`, `helps`, `twins` and `footers` hold what differs on one screen, `in_detail` the
    place in the footer while the keys are for the detail. `footer` orders the footer (1 first; 0: only in help).
    `headless` is the command that does the same.
    """

    name: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: Group = "screen"
    screens: tuple[str, ...] = ()
    danger: Danger = "none"
    headless: str = ""
    enabled: Callable[[Context], str | None] = always
    footer: int = 0
    footers: Mapping[str, int] = field(default_factory=dict)
    in_detail: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    helps: Mapping[str, str] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)

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

    def twin(self, screen: str) -> str:
        """The command that does the same, without the leading ``nanomem``; empty when it is only of the screen."""
        return self.twins.get(screen, self.headless)


_ROWS = ("items", "lessons")
_KNOWN = ("knowledge", "journal", "reflections")
_PARTS = ("dream", "sessions", "wal", "injections", "blame", "review", "versions", "knowledge", "tiers", "trail")
_NEXT = {"notes": "archive", "archive": "sessions", "dream": "files", "files": "runs", "blame": "runs",
         "versions": "next file", "recall": "real turns",
         "injections": "recall", "items": "inbox", "lessons": "inbox", "inbox": "items",
         "knowledge": "journal", "journal": "reflections", "reflections": "usage", "usage": "facts",
         "tiers": "records", "trail": "next kind"}  # fmt: skip

_TWINS: Mapping[str, Mapping[str, str]] = {
    "add": {"knowledge": "facts set --category C --key K --value V", "journal": "journal add --text T",
            "reflections": "reflections add", "trail": "record KIND add --data JSON"},
    "edit": {"knowledge": "facts edit ID", "journal": "journal edit ID",
             "reflections": "reflections edit ID", "trail": "record KIND edit ID"},
    "delete": {"knowledge": "facts delete ID", "journal": "journal delete ID",
               "reflections": "reflections delete ID", "trail": "record KIND delete ID --yes"},
}  # fmt: skip

ACTIONS: tuple[Action, ...] = (
    # What each screen is for.
    Action("accept", ("+",), "accept", "Make what waits active: recalled from now on; an edit of a Dream is made. u "
           "puts it back into the inbox.", "screen", ("inbox", "review"), headless="inbox accept ID", enabled=writable,
           footer=8,
           helps={"review": "Accept the edit, or those selected; again to leave it open. Nothing is written yet."},
           twins={"review": ""}),
    Action("reject", ("-",), "reject", "Take what waits away. u puts it back into the inbox.", "screen",
           ("inbox", "review"), headless="inbox reject ID", enabled=writable, footer=9,
           helps={"review": "Reject the edit, or those selected; again to leave it open."}, twins={"review": ""}),
    Action("edit", ("e",), "edit", "Edit the text here; ctrl+s saves, esc leaves it as it was.", "screen",
           (*_ROWS, *_KNOWN, "files", "inbox", "review", "trail"), headless="memory edit ID", enabled=writable,
           footer=10,
           labels={"inbox": "other words", "review": "other words"},
           helps={"inbox": "Accept it with other words; esc leaves it waiting.",
                  "review": "Accept the edit with other words; esc leaves it as it was.",
                  "knowledge": "Edit the value and the names of the fact; the value that it had stays in its history.",
                  "trail": "Edit the fields of the record as one text; what is JSON is checked before it is saved."},
           twins={"lessons": "memory lessons edit ID", "files": "", "inbox": "inbox accept ID --text T",
                  "review": "", **_TWINS["edit"]}),
    Action("edit_external", ("E",), "$EDITOR", "Edit the text in your own editor.", "screen",
           (*_ROWS, *_KNOWN, "files", "trail"), headless="memory edit ID", enabled=writable,
           twins={"lessons": "memory lessons edit ID", "files": "", **_TWINS["edit"]}),
    Action("fields", ("i",), "kind, scope", "Set kind, importance and scope, of the row or of all selected rows.",
           "screen", ("items",), headless="memory edit ID --kind K --importance N", enabled=writable, footer=18),
    Action("toggle", ("x",), "disable",
           "Disable what is enabled and enable what is disabled: kept, but never recalled.",
           "screen", (*_ROWS, "knowledge"), headless="memory disable ID · memory enable ID", enabled=writable,
           footer=11,
           labels={"lessons": "on/off"}, twins={"lessons": "memory lessons disable ID · memory lessons enable ID"},
           helps={"knowledge": "Disable what is enabled and enable what is disabled: kept, but never recalled. On a "
                               "heading all facts under it, shown first."}),
    Action("delete", ("d",), "delete", "Delete one row at once, u brings it back; several are shown first.", "screen",
           (*_ROWS, *_KNOWN, "trail"), "none", "memory delete ID --yes", writable, 12,
           twins={"lessons": "memory lessons delete ID --yes", **_TWINS["delete"]},
           helps={"knowledge": "Delete one fact at once, u brings it back; several, and all under a heading, are shown "
                               "first."}),
    Action("merge", ("m",), "merge", "Make one item of the selected ones.", "screen", ("items", "knowledge"),
           "preview", "memory merge ID ID", two_rows, 15, twins={"knowledge": "facts merge ID ID"},
           helps={"knowledge": "Make one fact of the selected ones: the one at the cursor stays, the values of the "
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
                      "trail"),
           headless="memory show ID", enabled=with_source, footer=17, in_detail={"trail": 3},
           labels={"sessions": "memories", "wal": "session", "archive": "session", "injections": "the turn",
                   "blame": "what was said", "reflections": "lesson", "trail": "up"},
           twins={"sessions": "session show KEY", "wal": "session show KEY", "archive": "session show KEY",
                  "injections": "session show KEY", "inbox": "session show KEY", "blame": "blame FILE:LINE",
                  "journal": "session show KEY", "reflections": "memory lessons list", "lessons": "reflections list",
                  "trail": "record KIND show ID"},
           helps={"lessons": "Jump to the reflection that it follows from, or to the session where it was learned.",
                  "trail": "Go up: from the tool call or the decision to its task, from the task to its goal; in the "
                           "detail along the link at the cursor. esc comes back."}),
    Action("reset_lessons", (), "reset lessons", "Forget every lesson of this workspace.", "screen", ("lessons",),
           "typed", "memory lessons reset --yes", changeable),
    Action("search_all", ("F",), "find in all", "Search every transcript, every summary and every note.", "screen",
           ("sessions", "notes", "archive"), headless="session search Q", footer=12),
    Action("next_list", ("l",), "notes", "To the next list behind this key: notes and archive, files, real turns, what "
           "waits in the inbox.", "screen",
           (*_ROWS, "inbox", "sessions", "notes", "archive", "dream", "files", "blame", "versions", "recall",
            "injections", *_KNOWN, "usage", "tiers", "trail"), footer=13,
           footers={"items": 20, "lessons": 20, **dict.fromkeys(_KNOWN, 9)}, labels=_NEXT,
           helps={"versions": "The versions of the next file: SOUL, USER, MEMORY.",
                  "tiers": "The records of this kind.", "trail": "The records of the next kind."},
           twins={"archive": "history list", "items": "inbox list", "lessons": "inbox list",
                  "knowledge": "journal list", "journal": "reflections list", "reflections": "usage",
                  "usage": "facts list", "tiers": "record KIND list", "trail": "record KIND list"}),
    Action("import_file", (), "import", "Take memories from a file or folder: another system's, Markdown, an export. "
           "Counts and duplicates are shown first; one operation, u takes it back.", "screen", ("items",), "preview",
           "memory import PATH", changeable),
    Action("export_file", (), "export", "Write what is remembered to a file of your own.", "screen", ("items",),
           headless="memory export --format F --to FILE"),
    Action("backfill", (), "take in notes", "Take in what MEMORY.md, daily notes and other Markdown in memory/ say, as "
           "the agent's first turn does once; u takes it back.", "screen", ("items",), "preview", "memory backfill",
           changeable),
    Action("blame", ("b",), "blame", "Who wrote each line of the memory files, which entries asked for it, and which "
           "messages these came from.", "screen", ("dream", "files", "sessions"), headless="blame FILE",
           enabled=with_row, footer=16, footers={"sessions": 0}, labels={"sessions": "led to"},
           helps={"dream": "The lines that this change wrote and that stand; in the diff: of its file.",
                  "sessions": "The lines of the memory files that the message at the cursor led to."},
           twins={"sessions": "blame --session KEY --message N"}),
    Action("only_dreams", ("h",), "only Dreams", "Show only Dreams; again for every change of the memory files.",
           "screen", ("dream",), headless="dream log --dreams", footer=15),
    Action("follow", ("f",), "follow", "Show new turns as the agent writes them; again to stop.", "screen", ("wal",),
           headless="wal show KEY", enabled=with_row, footer=10),
    Action("wal_recover", ("!",), "recover", "Put turns that never ended among the pending items of their session, and "
           "remember what they asked to be remembered; shown first, u takes it back.", "screen", ("wal",), "preview",
           "wal recover KEY", unfinished, 11),
    Action("dream_run", ("r",), "run", "Run a Dream now; one commit, can be taken back.", "screen",
           ("dream", "review"), "preview", "--run-dream", changeable, 12, labels={"review": "apply"},
           helps={"review": "Run the Dream with the edits that are accepted: one commit, can be taken back."}),
    Action("dream_review", ("T",), "dry run",
           "Try a Dream: see what it would change, and from which entries; accept or reject each edit, apply the rest.",
           "screen", ("dream", "review"), headless="--run-dream --dry-run", enabled=changeable, footer=14,
           labels={"dream": "review", "review": "try anew"}),
    Action("dream_restore", ("t",), "take back",
           "Take back what the cursor is on: this hunk, this file, the whole run, or this change; later edits stay.",
           "screen", ("dream", "versions", "survival", "ledger"), "preview", "dream restore SHA --file F --hunk N",
           writable, 11, twins={"ledger": "undo ID", "versions": "dream restore SHA --file F --as-of"},
           labels={"versions": "bring back"},
           helps={"versions": "Bring the file back as it was then, or take back only what that change did to it.",
                  "survival": "Take that Dream back, or a part of it; later edits stay."}),
    Action("versions", ("V",), "versions", "The memory files as they were after each change, to go through in time.",
           "screen", ("dream",), headless="dream versions FILE", enabled=with_row, footer=17),
    Action("survival", ("%",), "survival", "How much of what each Dream wrote still stands, as a curve.", "screen",
           ("dream",), headless="dream survival", enabled=with_row, footer=19),
    Action("next_hunk", ("n",), "next hunk", "To the next part of the detail: hunk, message or turn.", "screen", _PARTS,
           enabled=with_detail, footer=18, in_detail={"trail": 5, "tiers": 5},
           labels={"sessions": "next message", "wal": "next turn", "injections": "next item", "blame": "next reason",
                   "versions": "next change", "knowledge": "next part", "tiers": "next part", "trail": "next link"}),
    Action("previous_hunk", ("N",), "hunk before", "To the part before.", "screen", _PARTS, enabled=with_detail,
           labels={"sessions": "last message", "wal": "last turn", "injections": "last item", "blame": "last reason",
                   "versions": "last change", "knowledge": "last part", "tiers": "last part", "trail": "last link"}),
    Action("reply_to", ("Q",), "reply to", "Type the words of the message that it replies to; they count half.",
           "screen", ("recall",), headless="recall MESSAGE --reply-to TEXT", footer=11),
    Action("asker", ("A",), "who asks", "Choose who asks: the owner, a chat, a person; or type channel:chat sender.",
           "screen", ("recall", "context"), headless="recall MESSAGE --channel C --chat-id X --sender-id Y", footer=10,
           twins={"context": "context TASK --channel C --chat-id X --sender-id Y"}),
    Action("context", ("K",), "context", "What an agent would be given for a task, out of every tier.", "screen",
           ("tiers", "trail"), headless="context TASK", footer=14),
    Action("toggle_tier", ("=",), "tier on/off", "Ask the tier in brackets, or not.", "screen", ("context",),
           headless="context TASK --tiers TIER,TIER", footer=13),
    Action("profile", ("P",), "profile", "Rank by the next profile: our own way, as seed 000, as seed 001.", "screen",
           ("recall",), footer=16),
    Action("next_weight", ("]",), "weight", "To the next weight.", "screen", ("recall", "context"), footer=17,
           labels={"context": "tier"}, helps={"context": "To the next tier."}),
    Action("previous_weight", ("[",), "weight before", "To the weight before.", "screen", ("recall", "context"),
           labels={"context": "tier before"}, helps={"context": "To the tier before."}),
    Action("more_weight", (">",), "more of it", "Let the weight count more; everything is ranked again.", "screen",
           ("recall", "context"), footer=18, footers={"context": 11}, labels={"context": "more tokens"},
           helps={"context": "A larger budget of tokens."}, twins={"context": "context TASK --max-tokens N"}),
    Action("less_weight", ("<",), "less of it", "Let the weight count less; 0 leaves it out.", "screen",
           ("recall", "context"), footers={"context": 12}, labels={"context": "fewer tokens"},
           helps={"context": "A smaller budget of tokens."}, twins={"context": "context TASK --max-tokens N"}),
    Action("reset_weights", ("R",), "reset weights", "The weights of the profile again.", "screen", ("recall",),
           enabled=turned),
    Action("why_not", ("W",), "why not",
           "Say why an item is not recalled: this one on Items, on Recall one that you choose by typing.", "screen",
           ("items", "recall"), headless="recall MESSAGE --why-not ID", footer=19),
    Action("injected", ("I",), "turns given", "The real turns that were given this, or that saved it.", "screen",
           (*_ROWS, "recall"), enabled=with_item),
    Action("keep_recall", ("M",), "must find", "Save the message as a question that must find this row, or the "
           "selected rows.", "screen", ("recall",), headless="recall MESSAGE --save ID", enabled=with_message,
           footer=12),
    Action("check_recall", (), "check saved", "Ask every saved question again and show what got lost.", "screen",
           ("recall",), headless="recall --check"),
    Action("lifecycle_run", ("Y",), "lifecycle", "Move what is old enough to long-term memory; u takes it back.",
           "screen", ("tiers",), "preview", "lifecycle run", changeable, 12),
    Action("doctor", ("D",), "doctor", "Check every file and table, and say what to do.", "screen", ("status",),
           headless="doctor", footer=10),
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
    Action("undo", ("u",), "undo", "Take back the last change that you made.", "global", headless="undo",
           enabled=undoable, footer=15),
    Action("redo", ("ctrl+r",), "redo", "Do again what was taken back.", "global", headless="redo", enabled=redoable),
    Action("ledger", ("U",), "ledger", "Every change: who, when, what; take back any of them.", "global",
           headless="log"),
    Action("copy", ("y",), "copy", "Copy the text to the clipboard of your own terminal.", "global", enabled=with_row),
    Action("sort", ("s",), "sort", "Sort by the next column; the heading shows which.", "global", enabled=with_row),
    Action("wrap", ("w",), "wrap", "Wrap long lines, or not.", "global"),
    Action("zoom", ("z",), "zoom", "Give this pane the whole width; again for both.", "global"),
    Action("reload", ("f5",), "reload", "Read everything again.", "global"),
    Action("flush", ("ctrl+s",), "save now", "Write a checkpoint now.", "global", headless="memory flush",
           enabled=changeable),
    Action("theme", (), "next theme", "Dark, light, or the colours of your terminal.", "global"),
    Action("quit", ("q",), "quit", "Leave; everything is saved.", "global", footer=99),
    # The screens.
    Action("go_items", ("1",), "Items", "What the agent believes for long.", "go", headless="memory list"),
    Action("go_lessons", ("2",), "Lessons", "What it learned to do otherwise.", "go", headless="memory lessons list"),
    Action("go_sessions", ("3",), "Sessions", "Its conversations.", "go", headless="session list"),
    Action("go_wal", ("4",), "WAL", "Turns as they were written, also unfinished ones.", "go", headless="wal list"),
    Action("go_dream", ("5",), "Dream", "What Dreams changed, with diffs and the way back.", "go",
           headless="dream log"),
    Action("go_recall", ("6",), "Recall", "What a message would bring back, why, and why not.", "go",
           headless="recall MESSAGE"),
    Action("go_knowledge", ("7",), "Knowledge", "Facts by domain and category, journal, reflections, tokens used.",
           "go", headless="facts list"),
    Action("go_tiers", ("8",), "Tiers", "What happens now, and the records of the agent's work: goals, tasks, tool "
           "calls, decisions and the rest.", "go", headless="record KIND list"),
    Action("go_status", ("0",), "Status", "The health of every part.", "go", headless="memory status"),
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

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}

SLASH: Mapping[str, str] = {"dream_run": "/dream", "go_dream": "/dream-log", "dream_restore": "/dream-restore"}
"""What an agent's own commands are called that do what an action does on the Dream screen: the palette takes them."""


def actions_on(screen: str, *groups: Group) -> list[Action]:
    """The actions of `screen`, of these groups (none given: all), in the order of the registry."""
    return [action for action in ACTIONS if action.on(screen) and (not groups or action.group in groups)]
