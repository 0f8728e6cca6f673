"""`nanomem journal`: what was noted of days."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values
from nanomem_tui.cli.memory_answers import within
from nanomem_tui.cli.options import (
    Group,
    State,
    Words,
    agreed,
    asked_query,
    dated,
    decided,
    page,
    paged,
    pass_state,
    query_options,
    rehearsable,
    warn,
    words_kept,
)
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import added, tell

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.store.values import Record


SHOWN = 20  # of those that are to be deleted


@click.group("journal", cls=Group)
def journal() -> None:
    """What was noted of days.

    \b
    Example:
      nanomem journal add "Moved the server to Berlin"
    """


@journal.command("list")
@dated
@paged
@pass_state
def list_entries(state: State, since: str, until: str, limit: int | None, offset: int) -> None:
    """The entries, newest day first.

    \b
    Example:
      nanomem journal list --since 2026-02-15 --until "last week"
    """
    with state.open() as ws:
        span = within(ws, since, until)
        days = (str(span.since), str(span.until)) if span is not None else ("", "")
        found = ws.journal.entries(*days)
    _show(state, found, limit, offset)


@journal.command()
@query_options
@paged
@pass_state
def search(state: State, query: str | None, terms: Sequence[str], limit: int | None, offset: int) -> None:
    """The entries that hold every word; "a phrase" and -without are taken as they stand.

    \b
    Example:
      nanomem journal search --query server
    """
    with state.open() as ws:
        found = ws.journal.entries(words=asked_query(query, terms))
    _show(state, found, limit, offset)


@journal.command()
@click.argument("entry_id", metavar="ID", type=Words())
@pass_state
def show(state: State, entry_id: str) -> None:
    """One entry in full.

    \b
    Example:
      nanomem journal show journal_1739443200123_1
    """
    with state.open() as ws:
        row = ws.journal.get(entry_id)
    body = values.journal_entry(row)
    pairs = [
        ("ID", row.id),
        ("Day", row.about),
        ("Session", row.session_key),
        ("Source", row.source),
        ("Noted", output.when(row.at)),
        ("Updated", output.when(row.updated_at)),
        ("Careful", output.reads_as(row)),
    ]
    state.show(body, lambda: [*output.fields(pairs), "", *paragraph(row.text, output.terminal_width())])


@journal.command()
@click.argument("said", type=Words(), nargs=-1, metavar="[TEXT]")
@click.option("--text", type=Words(), help="What is to be noted.")
@click.option("--day", type=Words(), default="", help="The day that it is about (default: today).")
@click.option("--session", "session_key", type=Words(), default="", help="The session that it comes from.")
@rehearsable
@pass_state
def add(state: State, said: Sequence[str], text: str | None, day: str, session_key: str, dry_run: bool) -> None:
    """Note something; safe on disk when the command returns.

    \b
    Example:
      nanomem journal add "Moved the server to Berlin" --day 2026-02-15
    """
    if (text is None) is not bool(said):
        raise click.UsageError("name what is to be noted, once", click.get_current_context())
    text = " ".join(said) if text is None else text
    with state.open(dry_run=dry_run, starting=True) as ws:
        op, row, warnings = ws.journal.add(text, day, session_key=session_key)
    body = {"entry": values.journal_entry(row), "warnings": warnings}
    warn(state, warnings)
    added(state, op, row.id, body, dry_run=dry_run)


@journal.command()
@click.argument("entry_id", metavar="ID", type=Words())
@click.option("--text", type=Words(), help="The new words (without any option: edit them in $EDITOR).")
@click.option("--day", type=Words(), help="The day that it is about.")
@rehearsable
@pass_state
def edit(state: State, entry_id: str, text: str | None, day: str | None, dry_run: bool) -> None:
    """Correct an entry, here or in your editor.

    \b
    Example:
      nanomem journal edit journal_1739443200123_1 --day 2026-02-14
    """
    with state.open(dry_run=dry_run) as ws:
        row = ws.journal.get(entry_id)
        shown: Record | None = None
        kept: AbstractContextManager[None] = nullcontext()
        if text is None and day is None:
            from nanomem_tui.terminal import editor

            shown, text = row, editor.edit_text(row.text, "--text")
            kept = words_kept(text)
        changed = {"text": text if text != row.text else None, "day": day if day != row.about else None}
        with kept:
            done = [ws.journal.edit(row.id, expected=shown, **changed)] if any(changed.values()) else []
        after = ws.journal.get(row.id)
        warnings = ws.journal.warnings(after) if changed["text"] else []
    warn(state, warnings)
    body = {"entry": values.journal_entry(after), "warnings": warnings}
    tell(state, done, body, "Nothing changed.", dry_run=dry_run)


@journal.command()
@click.argument("ids", metavar="ID...", type=Words(), nargs=-1, required=True)
@decided
@pass_state
def delete(state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Take entries away. `nanomem undo` brings them back.

    \b
    Example:
      nanomem journal delete journal_1739443200123_1 --yes
    """
    with state.open() as ws:
        rows = list({row.id: row for row in map(ws.journal.get, ids)}.values())
        preview = {"entries": [values.journal_entry(row) for row in rows]}
        question = f"Delete {_counted(len(rows))}?"
        lines = ["Would delete:", *_table(rows[:SHOWN])]
        if not agreed(state, preview, lines, question, yes=yes, dry_run=dry_run):
            return
        op = ws.journal.delete([row.id for row in rows])
    state.show({"operation": values.operation(op), **preview}, [op.label])


def _show(state: State, found: Sequence[Record], limit: int | None, offset: int) -> None:
    shown = page(found, limit, offset)
    total = _counted(len(found))
    ending = total if len(shown) == len(found) else f"{len(shown)} of {total}"
    state.show([values.journal_entry(row) for row in shown], lambda: [*_table(shown), ending])


def _table(rows: Sequence[Record]) -> list[str]:
    columns = [
        Column("ID"),
        Column("Day"),
        Column("Session", limit=28, least=12, drop=1, optional=True),
        Column("Text", limit=120, least=16),
    ]
    cells: list[tuple[str, ...]] = [(row.id, row.about, row.session_key, row.text) for row in rows]
    return table(columns, cells, output.terminal_width())


def _counted(number: int) -> str:
    return output.counted(number, "journal entry", "journal entries")


# -- `nanomem reflections`: tools that failed, and what follows from it -----------------------------------------------

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
    total = output.counted(len(found), "reflection")
    ending = total if len(shown) == len(found) else f"{len(shown)} of {total}"
    state.show([values.reflection(row) for row in shown], lambda: [*_reflections_table(shown), ending])


@reflections.command("show")
@id_argument
@pass_state
def reflections_show(state: State, reflection_id: str) -> None:
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
        ("Careful", output.reads_as(row)),
        ("Times", str(body["times"]) if body["times"] > 1 else ""),
        ("Lesson", lesson.id if lesson else f"none yet: nanomem reflections lesson {row.id}"),
        ("", f"says something else: nanomem reflections lesson {row.id} brings it up to date" if outdated else ""),
        ("Session", row.session_key),
        ("Source", row.source),
        ("Happened", output.when(row.at)),
        ("Created", output.when(row.created_at)),
    ]
    state.show(body, lambda: output.fields(pairs))


@reflections.command("add")
@click.option("--tool", type=Words(), required=True, help="The tool that failed.")
@click.option("--args", type=Words(), default="", help="What it was given; secrets are masked.")
@click.option("--error", type=Words(), required=True, help="What it said; secrets are masked.")
@click.option("--insight", type=Words(), required=True, help="What follows from it.")
@click.option("--session", "session_key", type=Words(), default="", help="The session that it happened in.")
@rehearsable
@pass_state
def reflections_add(
    state: State, tool: str, args: str, error: str, insight: str, session_key: str, dry_run: bool
) -> None:
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


@reflections.command("edit")
@id_argument
@click.option("--tool", type=Words(), help="The tool that failed.")
@click.option("--args", type=Words(), help="What it was given.")
@click.option("--error", type=Words(), help="What it said.")
@click.option("--insight", type=Words(), help="What follows (without any option: edit it in $EDITOR).")
@rehearsable
@pass_state
def reflections_edit(
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
            from nanomem_tui.terminal import editor

            shown, fields = row, {"insight": editor.edit_text(row.text, "--insight")}
            kept = words_kept(fields["insight"])
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


@reflections.command("delete")
@click.argument("ids", metavar="ID...", type=Words(), nargs=-1, required=True)
@decided
@pass_state
def reflections_delete(state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Take reflections away; lessons that they became stay. `nanomem undo` brings them back.

    \b
    Example:
      nanomem reflections delete reflection_1739443200123_1 --yes
    """
    with state.open() as ws:
        rows = list({row.id: row for row in map(ws.reflections.get, ids)}.values())
        preview = {"reflections": [values.reflection(row) for row in rows]}
        question = f"Delete {output.counted(len(rows), 'reflection')}?"
        lines = ["Would delete:", *_reflections_table(rows[:SHOWN])]
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


def _reflections_table(rows: Sequence[Record]) -> list[str]:
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
            row["id"], output.when(row["at"]), row["tool_name"], str(row["times"]) if row["times"] > 1 else "",
            row["error_text"], row["insight"], row["lesson"] or "",
        )
        for row in shown
    ]  # fmt: skip
    return table(columns, cells, output.terminal_width())
