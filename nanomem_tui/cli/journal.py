"""`nanomem journal`: what was noted of days."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.memory_answers import within
from nanomem_tui.cli.memory_changes import warn
from nanomem_tui.cli.planned import added, tell
from nanomem_tui.cli.shared import (
    Group,
    Words,
    agreed,
    asked_query,
    dated,
    decided,
    paged,
    pass_state,
    query_options,
    rehearsable,
)
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, paragraph, table

if TYPE_CHECKING:
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
        ("Noted", words.when(row.at)),
        ("Updated", words.when(row.updated_at)),
        ("Careful", words.reads_as(row)),
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
            from nanomem_tui.cli import editor

            shown, text = row, editor.edit_text(row.text, "--text")
            kept = editor.words_kept(text)
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
    return words.counted(number, "journal entry", "journal entries")
