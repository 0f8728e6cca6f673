"""Where else to look when the items have nothing: an agent that keeps its memory in files, and which of them say it.

Reads the documents only, which are small. Must not import click: the plain commands do without it (see `quick`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanomem_tui.cli import output
from nanomem_tui.errors import NanomemError
from nanomem_tui.text import counted

if TYPE_CHECKING:
    from nanomem_tui.cli.state import State
    from nanomem_tui.workspace import Workspace

SHORTEST = 3  # characters of a word that is looked for
_WHERE = "this agent keeps its memory in files (SOUL.md, USER.md, memory/MEMORY.md, history, sessions)"
_WAYS = "`nanomem recall --in all`, `nanomem session search`, `nanomem history search`, `nanomem memory backfill`"


def note(ws: Workspace, words: str = "") -> str:
    """One line on where the memory is, for a workspace of files; "" for any other. Counts the lines with `words`."""
    if not ws.layout.has_history_jsonl:
        return ""
    counts = {name: _lines(ws, name, words) for name in ws.documents.names()}
    found = [f"{name} ({counted(lines, 'line')})" for name, lines in counts.items() if lines]
    here = f"; your words are in {', '.join(found)}" if found else ""
    return f"Note: {_WHERE}{here}: see {_WAYS}."


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
