"""`nanomem recall --saved` and `--forget`: the questions whose answers must not get lost, listed and taken out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.cli import output, values
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core.text import counted

if TYPE_CHECKING:
    from nanomem_tui.core.errors import Problem
    from nanomem_tui.memory.recall.questions import Question
    from nanomem_tui.memory.recall.regressions import Checked


def show(state: State, path: Path) -> int:
    """One line a question: its number, its words, and the items that it must recall."""
    from nanomem_tui.memory.recall import regressions

    found, broken = regressions.read(path) if path.exists() else ([], [])
    body = [
        {
            "line": one.line, "message": one.question.text, "expect": list(one.expect),
            **one.question.audience._asdict(), "reply_to": one.question.reply_to, "limit": one.question.limit,
        } for one in found
    ]  # fmt: skip
    columns = [
        Column("N", right=True),
        Column("Asked by", limit=40, optional=True),
        Column("Message", limit=90, least=24),
        Column("Must recall", limit=90, least=20),
    ]
    cells = [(str(one.line), _who(one.question), one.question.text, ", ".join(one.expect)) for one in found]
    state.show(values.plain(body), lambda: table(columns, cells, output.terminal_width()) or ["No saved questions."])
    tell_broken(broken)
    return 0


def _who(question: Question) -> str:
    """Whose question it is: `ana in telegram 42`; "" for the owner."""
    channel, chat_id, sender_id = question.audience
    chat = " ".join(filter(None, (channel, chat_id)))
    return " in ".join(filter(None, (sender_id, chat)))


def forget(state: State, path: Path, which: str) -> int:
    """Take questions out. Raises NotFound."""
    from nanomem_tui.memory.recall import regressions

    removed = [line.decode("utf-8", "replace") for line in regressions.forget(path, which)]
    kept = f"{path}.bak"
    line = f"Forgot {counted(len(removed), 'saved question')}; the file as it was is kept in {kept}."
    state.show({"forgotten": removed, "path": str(path), "kept": kept}, [line])
    return 0


def lost(checked: Checked) -> list[dict[str, str]]:
    """What a question must recall and does not, with the reason, as the command line prints it."""
    return [{"id": key, "why": why} for key, why in checked.lost]


def tell_broken(broken: Sequence[Problem]) -> None:
    """Name the lines that are no questions, on stderr."""
    if broken:
        output.notes([f"Warning: {problem.text()}" for problem in broken])
