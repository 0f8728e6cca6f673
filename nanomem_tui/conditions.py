"""When an action can be done, and the words for why it cannot be done now.

Each condition looks at a `Context` and returns None or the reason. Must not know keys, screens' widgets or an action.
"""

from __future__ import annotations

from dataclasses import dataclass

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
