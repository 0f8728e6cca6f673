"""The tabs of the console, and the lists of each: what a person asks, and where it is answered.

A tab has a digit. Its lists are the main screens that belong to it, and the first of them is what the digit shows.
"""

from __future__ import annotations

from typing import NamedTuple


class Listed(NamedTuple):
    """One list of a tab: the name of its screen, its title, what it shows, and the command that shows the same."""

    screen: str
    title: str
    help: str
    command: str = ""


class Tab(NamedTuple):
    """One tab: its digit, its title, and its lists in order."""

    key: str
    title: str
    lists: tuple[Listed, ...]


TABS: tuple[Tab, ...] = (
    Tab("1", "Memory", (
        Listed("items", "Items", "What your agent remembers for long.", "memory list"),
        Listed("knowledge", "Facts", "Facts, by domain and category.", "facts list"),
        Listed("files", "Files", "SOUL, USER and MEMORY as they are.", "files list"),
        Listed("blame", "Blame", "Who wrote each line of SOUL, USER and MEMORY, and out of what.", "blame FILE"),
        Listed("scopes", "Scopes", "Who sees which memories, and what leaks.", "scopes list"),
    )),
    Tab("2", "Lessons", (
        Listed("lessons", "Lessons", "What your agent learned from its mistakes.", "memory lessons list"),
        Listed("reflections", "Reflections", "What it thought after a task.", "reflections list"),
    )),
    Tab("3", "Sessions", (
        Listed("sessions", "Transcripts", "What was said, conversation by conversation.", "session list"),
        Listed("archive", "Summaries", "What was summed up of older conversations.", "history list"),
        Listed("journal", "Journal", "What happened, day by day.", "journal list"),
        Listed("notes", "Notes", "The agent's own notes, file by file."),
    )),
    Tab("4", "WAL", (Listed("wal", "Turn log", "Turns as they were written, also unfinished ones.", "wal list"),)),
    Tab("5", "Dreams", (
        Listed("dream", "Runs", "What each Dream changed, with diffs and the way back.", "dream log"),
        Listed("review", "Review", "What a Dream wants to change and waits for your yes, change by change.",
               "--run-dream --dry-run"),
        Listed("versions", "Versions", "Each version of SOUL, USER and MEMORY.", "dream versions FILE"),
    )),
    Tab("6", "Recall", (
        Listed("recall", "Try", "What a message would bring back, why, and why not.", "recall MESSAGE"),
        Listed("injections", "Context log", "What real turns were given.", "recall MESSAGE"),
    )),
    Tab("7", "Inbox", (
        Listed("inbox", "All", "Everything that needs your decision, with the evidence.", "triage list"),
        Listed("duplicates", "Duplicates", "Memories that say the same.", "duplicates list"),
        Listed("conflicts", "Conflicts", "Memories that contradict each other.", "conflicts list"),
        Listed("rules", "Rules", "What you decided for all findings of a kind.", "triage rules list"),
    )),
    Tab("8", "Work", (
        Listed("tiers", "Overview", "What happens now, and the agent's work by kind of record.", "record KIND list"),
        Listed("trail", "Records", "Goals, tasks, tool calls, decisions and the rest.", "record KIND list"),
        Listed("context", "Task context", "What is known for a task.", "context TASK"),
    )),
    Tab("9", "System", (
        Listed("status", "Health", "The health of every part.", "memory status"),
        Listed("usage", "Usage", "Tokens used, by day and model.", "usage"),
        Listed("pictures", "Charts", "What the memory looks like over time.", "memory status"),
    )),
)  # fmt: skip


def tab_of(screen: str) -> Tab | None:
    """The tab that a screen belongs to; None for one that stands beside the tabs (what changed, and moments)."""
    return next((tab for tab in TABS if any(one.screen == screen for one in tab.lists)), None)


def list_after(screen: str, step: int = 1) -> str:
    """The screen that follows in its tab, round and round; the screen itself where it has no tab."""
    tab = tab_of(screen)
    if tab is None:
        return screen
    names = [one.screen for one in tab.lists]
    return names[(names.index(screen) + step) % len(names)]
