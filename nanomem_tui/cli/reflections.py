"""`nanomem reflections`: tools that failed, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.memory_changes import warn
from nanomem_tui.cli.planned import added, tell
from nanomem_tui.cli.shared import (
    Group,
    Words,
    agreed,
    decided,
    paged,
    pass_state,
    rehearsable,
)
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.store.values import Record

SHOWN = 20  # of those that are to be deleted
id_argument = click.argument("reflection_id", metavar="ID", type=Words())


@click.group("reflections", cls=Group)
def reflections() -> None:
    """Tools that failed, and what follows from it.

    \b
    Example:
      nanomem reflections list --tool web_search
    """


@reflections.command("list")
@click.option("--tool", type=Words(), default="", help="Only of this tool.")
@click.option("--query", type=Words(), default="", help="Only those that hold these words.")
@paged
@pass_state
def list_reflections(state: State, tool: str, query: str, limit: int | None, offset: int) -> None:
    """The reflections, newest first.

    \b
    Example:
      nanomem reflections list --tool web_search --query timeout
    """
    with state.open() as ws:
        found = ws.reflections.all(tool, query)
    shown = page(found, limit, offset)
    total = words.counted(len(found), "reflection")
    ending = total if len(shown) == len(found) else f"{len(shown)} of {total}"
    state.show([values.reflection(row) for row in shown], lambda: [*_table(shown), ending])


@reflections.command()
@id_argument
@pass_state
def show(state: State, reflection_id: str) -> None:
    """One reflection: what failed, what follows, and the lesson that it became.

    \b
    Example:
      nanomem reflections show reflection_1739443200123_1
    """
    with state.open() as ws:
        row = ws.reflections.get(reflection_id)
        lesson, outdated = ws.reflections.lesson_of(row), ws.reflections.outdated(row)
    body = {**values.reflection(row), "lesson": lesson.id if lesson else None}
    pairs = [
        ("ID", row.id),
        ("Tool", row.about),
        ("Arguments", body["tool_args"] or ""),
        ("Error", body["error_text"]),
        ("Insight", row.text),
        ("Careful", words.reads_as(row)),
        ("Times", str(body["times"]) if body["times"] > 1 else ""),
        ("Lesson", lesson.id if lesson else f"none yet: nanomem reflections lesson {row.id}"),
        ("", f"says something else: nanomem reflections lesson {row.id} brings it up to date" if outdated else ""),
        ("Session", row.session_key),
        ("Source", row.source),
        ("Happened", words.when(row.at)),
        ("Created", words.when(row.created_at)),
    ]
    state.show(body, lambda: output.fields(pairs))


@reflections.command()
@click.option("--tool", type=Words(), required=True, help="The tool that failed.")
@click.option("--args", type=Words(), default="", help="What it was given; secrets are masked.")
@click.option("--error", type=Words(), required=True, help="What it said; secrets are masked.")
@click.option("--insight", type=Words(), required=True, help="What follows from it.")
@click.option("--session", "session_key", type=Words(), default="", help="The session that it happened in.")
@rehearsable
@pass_state
def add(state: State, tool: str, args: str, error: str, insight: str, session_key: str, dry_run: bool) -> None:
    """Keep a reflection; safe on disk when the command returns.

    \b
    Example:
      nanomem reflections add --tool web_search --error timeout --insight "Ask for less"
    """
    with state.open(dry_run=dry_run, starting=True) as ws:
        op, row, warnings = ws.reflections.add(tool, args, error, insight, session_key)
    body = {"reflection": values.reflection(row), "warnings": warnings}
    warn(state, warnings)
    added(state, op, row.id, body, dry_run=dry_run)


@reflections.command()
@id_argument
@click.option("--tool", type=Words(), help="The tool that failed.")
@click.option("--args", type=Words(), help="What it was given.")
@click.option("--error", type=Words(), help="What it said.")
@click.option("--insight", type=Words(), help="What follows (without any option: edit it in $EDITOR).")
@rehearsable
@pass_state
def edit(
    state: State,
    reflection_id: str,
    tool: str | None,
    args: str | None,
    error: str | None,
    insight: str | None,
    dry_run: bool,
) -> None:
    """Correct a reflection, here or in your editor. A lesson that it became stays as it is, which is
    then said: `nanomem reflections lesson ID` brings it up to date.

    \b
    Example:
      nanomem reflections edit reflection_1739443200123_1 --insight "Ask for less at once"
    """
    given = {"tool": tool, "args": args, "error": error, "insight": insight}
    fields = {name: text for name, text in given.items() if text is not None}
    with state.open(dry_run=dry_run) as ws:
        row = ws.reflections.get(reflection_id)
        shown: Record | None = None
        kept: AbstractContextManager[None] = nullcontext()
        if not fields:
            from nanomem_tui.cli import editor

            shown, fields = row, {"insight": editor.edit_text(row.text, "--insight")}
            kept = editor.words_kept(fields["insight"])
        is_now = {
            "tool": row.about,
            "insight": row.text,
            **{name: row.meta.get(name, "") for name in ("args", "error")},
        }
        changed = {name: text for name, text in fields.items() if text != is_now[name]}
        done: list[Operation] = []
        warnings: list[str] = []
        with kept:
            if changed:
                op, row, warnings = ws.reflections.edit(row.id, expected=shown, **changed)
                done = [op]
    warn(state, warnings)
    body = {"reflection": values.reflection(row), "warnings": warnings}
    tell(state, done, body, "Nothing changed.", dry_run=dry_run)


@reflections.command()
@click.argument("ids", metavar="ID...", type=Words(), nargs=-1, required=True)
@decided
@pass_state
def delete(state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Take reflections away; lessons that they became stay. `nanomem undo` brings them back.

    \b
    Example:
      nanomem reflections delete reflection_1739443200123_1 --yes
    """
    with state.open() as ws:
        rows = list({row.id: row for row in map(ws.reflections.get, ids)}.values())
        preview = {"reflections": [values.reflection(row) for row in rows]}
        question = f"Delete {words.counted(len(rows), 'reflection')}?"
        lines = ["Would delete:", *_table(rows[:SHOWN])]
        if not agreed(state, preview, lines, question, yes=yes, dry_run=dry_run):
            return
        op = ws.reflections.delete([row.id for row in rows])
    state.show({"operation": values.operation(op), **preview}, [op.label])


@reflections.command()
@id_argument
@click.option(
    "--scope", type=click.Choice(["session", "global"]), default="global", show_default=True, help="Where it applies."
)
@rehearsable
@pass_state
def lesson(state: State, reflection_id: str, scope: str, dry_run: bool) -> None:
    """Make the lesson that follows from a reflection, which is what the agent is given, or bring the one that it became
    up to date. One that reads as an order to the model waits in the inbox.

    \b
    Example:
      nanomem reflections lesson reflection_1739443200123_1
    """
    with state.open(dry_run=dry_run) as ws:
        op, made = ws.reflections.lesson(reflection_id, scope)
        row = ws.reflections.get(reflection_id)
        rows = {"reflection": values.reflection(row), "lesson": values.lesson(made, ws.lessons.effective(made))}
    more = [f"to have it given: nanomem inbox accept {made.id}"] if made.waits else []
    added(state, op, made.id, rows, more, dry_run=dry_run)


def _table(rows: Sequence[Record]) -> list[str]:
    columns = [
        Column("ID"),
        Column("Time", drop=3),
        Column("Tool", limit=24, least=8),
        Column("Times", right=True, optional=True),
        Column("Error", limit=60, least=14, drop=2),
        Column("Insight", limit=100, least=14),
        Column("Lesson", optional=True, drop=1),
    ]
    shown = [values.reflection(row) for row in rows]
    cells = [
        (
            row["id"], words.when(row["at"]), row["tool_name"], str(row["times"]) if row["times"] > 1 else "",
            row["error_text"], row["insight"], row["lesson"] or "",
        )
        for row in shown
    ]  # fmt: skip
    return table(columns, cells, output.terminal_width())
