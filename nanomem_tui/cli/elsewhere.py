"""Where else to look when the items have nothing: an agent that keeps its memory in files, and which of them say it.

Reads the documents only, which are small. Must not import click: the plain commands do without it (see `quick`).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from nanomem_tui.cli import output
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted

if TYPE_CHECKING:
    from nanomem_tui.cli.state import State
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.workspace import Workspace

SHORTEST = 3  # characters of a word that is looked for
_WHERE = "this agent keeps its memory in files (SOUL.md, USER.md, memory/MEMORY.md, history, sessions)"
_WAYS = "`nanomem recall --in all`, `nanomem session search`, `nanomem history search`, `nanomem memory backfill`"


def note(ws: Workspace, words: str = "", audience: Audience | None = None, *, ours_only: bool = False) -> str:
    """One line on where else to look: at another audience, in a database to import, in an agent's files; "" where
    nowhere. Counts the lines with `words`. `ours_only`: what the other systems' rows say was not looked at."""
    if audience is not None and audience.channel and audience.chat_id is None and audience.sender_id is None:
        return "Note: a channel alone sees what is global; give --chat-id or --sender-id too, or leave --channel out."
    if told := renamed_memory(ws) or _to_import(ws, with_rows=ours_only):
        return told
    if not ws.layout.has_history_jsonl:
        return ""
    counts = {name: _lines(ws, name, words) for name in ws.documents.names()}
    found = [f"{name} ({counted(lines, 'line')})" for name, lines in counts.items() if lines]
    here = f"; your words are in {', '.join(found)}" if found else ""
    return f"Note: {_WHERE}{here}: see {_WAYS}."


def renamed_memory(ws: Workspace) -> str:
    """That the agent's home has a memory that nothing shows; "" where it has none, or this workspace has one."""
    from nanomem_tui.store import place

    return next((f"Note: {one.text()}" for one in place.renamed(ws.paths)), "")


def _to_import(ws: Workspace, *, with_rows: bool) -> str:
    """The databases of other systems whose rows are not ours yet, and the command that imports them; "" for none.
    `with_rows`: those too whose rows are listed and searched beside ours."""
    from nanomem_tui.memory.transfer.detect import candidates

    rows = len(ws.items.foreign()) if with_rows else 0
    empty = not ws.items.count()["total"]  # else what is in a database of facts may have come with an import
    wanted = {"scoped-db", "facts-db"} if rows else set[str]()
    wanted |= {"facts-db", "chroma"} if empty else set()
    found = [one for one in candidates(ws.paths, ws.settings) if one.format in wanted]
    if not found:
        return ""
    what = f"{counted(rows, 'row')} of" if rows else "what is in"
    ways = ", ".join(f"`nanomem memory import {shlex.quote(str(one.path))}`" for one in found)
    return f"Note: {what} {found[0].path.name} must be imported before recall gives it: {ways}."


def say(state: State, line: str) -> None:
    """Print the note on stderr, for a person."""
    if line and not state.json:
        output.notes([line])


def _lines(ws: Workspace, name: str, words: str) -> int:
    """How many lines of a document hold one of `words`."""
    wanted = [word for word in words.casefold().split() if len(word) >= SHORTEST]
    try:
        text = (ws.documents.read(name) or "").casefold() if wanted else ""
    except NanomemError:
        return 0
    return sum(any(word in line for word in wanted) for line in text.splitlines())
