"""What works on every screen: selecting, finding, undo, the screens themselves, moving."""

from __future__ import annotations

from nanomem_tui.actions.action import Action
from nanomem_tui.conditions import changeable, openable, redoable, undoable, with_row

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
    Action("undo", ("u",), "undo", "Undo the last change that you made in this console.", "global", headless="undo",
           enabled=undoable, footer=15, footers={"inbox": 13}),
    Action("redo", ("ctrl+r",), "redo", "Do again what was taken back.", "global", headless="redo", enabled=redoable),
    Action("ledger", ("U",), "ledger", "Every change: who, when, what; take back any of them.", "global",
           headless="log"),
    Action("go_moments", ("H",), "moments", "The memory as it was at any moment, what differs, and the way back.",
           "global", headless="moments list"),
    Action("last_turn", (".",), "last turn", "The turn that ran last: what the agent was given before it answered, and "
           "what it saved.", "global", headless="turn show"),
    Action("copy", ("y",), "copy", "Copy the text to your clipboard: by tmux or a program of this desktop, over SSH by "
           "the terminal itself; it is said which.", "global", enabled=with_row),
    Action("copy_to_file", (), "copy to file", "Copy the text to a file in nanomem's folder, where no clipboard can be "
           "reached.", "global", enabled=with_row),
    Action("export_view", ("X",), "export", "Write the rows that are shown, or those selected, to a file: JSON, CSV or "
           "Markdown, with every column.", "global", headless="--snapshot SCREEN --filter TEXT --rows FILE",
           enabled=with_row),
    Action("sort", ("s",), "sort", "Sort by the next column; the heading shows which.", "global", enabled=with_row),
    Action("wrap", ("w",), "wrap", "Wrap long lines, or not.", "global"),
    Action("zoom", ("z",), "zoom", "Give this pane the whole width; again for both.", "global"),
    Action("reload", ("f5",), "reload", "Read everything again.", "global"),
    Action("flush", ("ctrl+s",), "save now", "Write a checkpoint now.", "global", headless="memory flush",
           enabled=changeable),
    Action("theme", (), "next theme", "Dark, light, or the colours of your terminal.", "global"),
    Action("tour", (), "tour", "The first lines, or the walk from where it was left; esc puts them away.", "global"),
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
    Action("go_inbox", ("9",), "Inbox", "All that wants a person, one after the other, with the evidence.", "go",
           headless="triage list"),
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
