"""`nanomem memory import`, `export`, `backfill` and `restore`: memories in, out, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import (
    Command,
    Words,
    agreed,
    as_typed,
    decided,
    only_looking,
    pass_state,
    rehearsable,
    with_undo,
)
from nanomem_tui.cli.output import Column, table
from nanomem_tui.cli.planned import show_changes
from nanomem_tui.cli.state import State
from nanomem_tui.core import errors

if TYPE_CHECKING:
    from nanomem_tui.core.errors import Problem
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.transfer.import_plan import Entry, Exported, ImportPlan
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace

SHOWN = 20
"""Rows of a preview that a person is shown; JSON has all."""
EXPORT_FORMATS = ("json", "jsonl", "ltm-snapshot", "lessons", "scoped-db", "facts-db", "markdown")
_LISTED = ("conflict", "inbox", "deleted", "update", "new")
"""Verdicts whose rows are shown, in this order."""
_TOLD = {
    "new": "new", "update": "to be updated", "inbox": "to the inbox", "same": "here already", "conflict": "in conflict",
    "deleted": "deleted here", "deleted_there": "deleted there", "bad": "unreadable",
}  # fmt: skip

_DONE = {**_TOLD, "new": "added", "update": "updated", "inbox": "put into the inbox"}
"""The same once it is done."""


@click.command("import", cls=Command)
@click.argument("path", type=Words(), required=False)
@click.option(
    "--prefer", type=click.Choice(["ours", "theirs", "newer"]), default="ours", show_default=True,
    help="Who wins where both have an item and differ.",
)  # fmt: skip
@click.option("--restore", is_flag=True, help="Bring back what was deleted here.")
@click.option("--trust", is_flag=True, help="Take what reads like orders to a model without a look at it.")
@click.option(
    "--source-workspace", type=Words(), default="", metavar="ID", help="Of a database with several: this one."
)
@decided
@pass_state
def import_(state: State, path: str | None, yes: bool, dry_run: bool, **choices: Any) -> None:
    """Take memories, and records of an agent's work, from a file of another system, a Chroma folder, Markdown, or an
    export, or from all such files in a folder; none is ever written. What a folder holds and is not taken is told.

    Without PATH: from the one database of another system that lies in the agent's home or is named by `memory.dbPath`.
    One operation; `nanomem undo` takes it back.

    \b
    Example:
      nanomem memory import ~/.nanobot/memory/longterm.db --dry-run
    """
    with output.Progress() as progress, state.open(starting=True) as ws:
        source = Path(path) if path else _only_source(ws)
        plan = ws.transfer.preview(source, **choices, tell=progress)
        progress.end()
        if not plan.entries and plan.problems and plan.counts["bad"]:
            first = plan.problems[0]
            raise errors.BadInput(f"nothing in it can be read: {first.what}", first.where)
        body = _plan_body(plan)
        operation: Operation | None = None
        if plan.todo:
            rows = output.counted(len(plan.todo), "row")
            rehearsed = [f"Would import {rows}; nothing was changed."] if dry_run else []
            lines = [*_plan_lines(plan, _TOLD), *rehearsed]
            if not agreed(state, body, lines, f"Import {rows}?", yes=yes, dry_run=dry_run):
                return
            progress(f"Writing {rows}")
            operation = ws.transfer.run(plan)
            progress(f"Saving {rows}")
    lines = _plan_lines(plan, _DONE if operation else _TOLD)
    found = {"operation": json_objects.operation(operation), **body}
    state.show(found, [operation.label, *lines] if operation else ["Nothing to import.", *lines])


def _only_source(ws: Workspace) -> Path:
    from nanomem_tui.memory.transfer import foreign

    found = ws.transfer.candidates()
    named = foreign.configured_database(ws.paths, ws.settings)
    if named is not None and not any(foreign.same_file(named, one.path) for one in found):
        what = "holds no memories of a known system" if named.is_file() else "is not there"
        raise errors.BadInput(f"the database that `memory.dbPath` names {what}", str(named), "name a file to import")
    if not found:
        raise errors.BadInput("no database of another system lies in the agent's home", "", "name a file to import")
    if len(found) > 1:
        names = " or ".join(str(one.path) for one in found)
        raise errors.BadInput(f"{len(found)} databases could be meant", "", f"name one: {names}")
    return found[0].path


def _plan_body(plan: ImportPlan) -> dict[str, Any]:
    return {
        "path": str(plan.path),
        "format": plan.format,
        "counts": plan.counts,
        "kinds": plan.kinds,
        "entries": [json_objects.plain(entry.to_json()) for entry in plan.entries],
        "problems": [json_objects.problem(found) for found in plan.problems],
        "notes": list(plan.notes),
        "over_cap": plan.over_cap._asdict() if plan.over_cap is not None else None,
    }


def _plan_lines(plan: ImportPlan, called: Mapping[str, str]) -> list[str]:
    """The counts, what wants a look, and what could not be read. `called`: what each verdict is called."""
    told = [f"{count:,} {called[name]}" for name, count in plan.counts.items() if count]
    lines = [f"{plan.name} ({plan.format}): {', '.join(told) or 'nothing in it'}."]
    lines += [f"  {told}" for told in plan.told_by_kind(called)]
    lines += plan.notes
    lines += [plan.over_cap.line()] if plan.over_cap is not None else []
    shown = plan.some(_LISTED, SHOWN)
    lines += _entry_lines(shown, called)
    more = sum(plan.counts[name] for name in _LISTED) - len(shown)
    lines += [f"… and {output.counted(more, 'more row')}; --json shows all"] if more else []
    return [*lines, *_problem_lines(plan.problems)]


def _entry_lines(entries: Sequence[Entry], called: Mapping[str, str]) -> list[str]:
    columns = [
        Column("", limit=18),
        Column("Text", limit=90, least=24),
        Column("Why", limit=60, least=16, optional=True),
        Column("Where", limit=50, least=20, drop=1),
    ]
    cells = [(called[entry.verdict], str(entry.to_json()["text"]), entry.why, entry.place) for entry in entries]
    return table(columns, cells, output.terminal_width())


def _problem_lines(problems: Sequence[Problem]) -> list[str]:
    lines = [problem.text() for problem in problems[:SHOWN]]
    more = len(problems) - SHOWN
    return [*lines, f"… and {output.counted(more, 'more problem')}; --json shows all"] if more > 0 else lines


@click.command(cls=Command)
@click.option(
    "--format", "name", type=click.Choice(EXPORT_FORMATS), default="json", show_default=True, help="What to write."
)
@click.option(
    "--to", "--output", "target", type=Words(), metavar="FILE", help="Write to this file (json: - or none is stdout)."
)
@click.option(
    "--scope", type=click.Choice(["global", "all"]), default="global", show_default=True,
    help="For formats without scopes: only what every chat may see, or all.",
)  # fmt: skip
@click.option("--force", "--yes", "force", is_flag=True, help="Replace the file when it is there.")
@pass_state
def export(state: State, name: str, target: str | None, scope: str, force: bool) -> None:
    """Items, lessons and records (journal, imported conversations, reflections, token use) as a file: jsonl holds every
    field and the earlier values of facts, and is read back without a loss; the others are those of other systems, and
    what they cannot hold is said. A new file is 0600. The records of an agent's work: `nanomem record export`.

    \b
    Example:
      nanomem memory export --format jsonl --to memories.jsonl
    """
    if target == "-" and name == "json":
        target = None
    elif target == "-":
        raise click.UsageError("only --format json goes to standard output", click.get_current_context())
    if target is None and name != "json":
        raise click.UsageError("name the file: --to FILE", click.get_current_context())
    with state.open() as ws:
        if name == "json":
            _export_document(state, ws, target, force=force)
            return
        assert target is not None
        made = ws.transfer.export(name, target, every_scope=scope == "all", force=force)
    state.show(json_objects.plain(made), _export_lines(made))


def _export_document(state: State, ws: Workspace, target: str | None, *, force: bool) -> None:
    from nanomem_tui.memory.transfer.jsonl import told_earlier

    items = ws.items.all()
    earlier = ws.transfer.earlier(items)
    whole = {
        "items": [{**json_objects.item(row), **told_earlier(earlier.get(row.id))} for row in items],
        "lessons": [json_objects.lesson(row, ws.lessons) for row in ws.lessons.all()],
        "records": [row.to_json() for row in ws.transfer.records()],
    }
    if target is None:
        output.document(whole)
        return
    from nanomem_tui.memory.transfer.service import write_export

    path = Path(target).expanduser()
    ws.transfer.check_target(path, force=force)
    write_export(path, (output.json_text(whole) + "\n").encode("utf-8"))
    waiting = ws.inbox.count()
    left = {"waiting in the inbox": waiting} if waiting else {}
    summary = {"path": target, **{part: len(rows) for part, rows in whole.items()}, "left_out": left}
    wrote = [
        output.counted(len(rows), part.removesuffix("s")) for part, rows in whole.items() if rows or part != "records"
    ]
    state.show(summary, [f"Wrote {' and '.join(wrote)} to {target}.", *_left_out(left)])


def _left_out(left: Mapping[str, int]) -> list[str]:
    return [f"Left out: {', '.join(f'{number:,} {why}' for why, number in left.items())}."] if left else []


def _export_lines(made: Exported) -> list[str]:
    lines = [f"Wrote {made.words} to {made.path}.", *made.notes]
    lines += _left_out(made.left_out)
    return lines if made.lost == "nothing" else [*lines, f"The format does not hold: {made.lost}."]


@click.command(cls=Command)
@as_typed
@pass_state
def backfill(state: State, dry_run: bool) -> None:
    """Take in what MEMORY.md, daily notes and other Markdown in memory/ say, once; the files stay as they are.

    The engine does it at its first turn. What is here already, or was deleted, is left out.

    \b
    Example:
      nanomem memory backfill --dry-run
    """
    from nanomem_tui.memory.transfer import backfill as backfills

    with state.open() as ws:
        plan = backfills.preview(ws.store, ws.paths, ws.settings)
        body = {
            "items": [json_objects.item(row) for row in plan.items], "files": list(plan.files), "same": plan.same,
            "inbox": plan.inbox, "done_before": plan.done, "problems": [json_objects.problem(p) for p in plan.problems],
        }  # fmt: skip
        operation: Operation | None = None
        if plan.items or not plan.done:
            if only_looking(state, body, lambda: list(_backfill_lines(plan)), dry_run=dry_run):
                return
            try:
                operation = backfills.run(ws.store, plan, ws.perform, actor="human")
            except errors.NothingToDo:
                operation = None
    lines = [with_undo(operation)] if operation else ["Nothing to take in.", *_backfill_lines(plan)]
    state.show({"operation": json_objects.operation(operation), **body}, lines)


def _backfill_lines(plan: Any) -> Iterable[str]:
    new = output.counted(len(plan.items), "new item")
    files = output.counted(len(plan.files), "file")
    yield f"{new} in {files}, {plan.same:,} here already, {plan.inbox:,} to the inbox."
    columns = [Column("Kind"), Column("Text", limit=90, least=24), Column("Where", limit=40, drop=1)]
    cells = [(row.kind, row.text, _source_text(row.meta.get("from"))) for row in plan.items[:SHOWN]]
    yield from table(columns, cells, output.terminal_width())
    if len(plan.items) > SHOWN:
        yield f"… and {output.counted(len(plan.items) - SHOWN, 'more item')}; --json shows all"
    yield from _problem_lines(plan.problems)


def _source_text(source: Any) -> str:
    return f"{source.get('file')}:{source.get('line')}" if isinstance(source, dict) else ""


@click.command(cls=Command)
@click.argument("ids", metavar="[ID]...", type=Words(), nargs=-1)
@rehearsable
@pass_state
def restore(state: State, ids: Sequence[str], dry_run: bool) -> None:
    """Bring deleted items back; without an ID: list what is deleted. A unique beginning of an ID is enough.

    \b
    Example:
      nanomem memory restore ltm_1739443200123_1
    """
    from nanomem_tui.memory import retention

    with state.open(dry_run=dry_run) as ws:
        if not ids:
            from nanomem_tui.cli.fast_commands import item_lines

            rows = retention.list_deleted(ws.store)
            shown = [*item_lines(rows[:SHOWN]), *([f"… {len(rows):,} in all"] if len(rows) > SHOWN else [])]
            state.show([json_objects.item(row) for row in rows], shown or ["Nothing is deleted."])
            return
        gone = [item_id for item_id in ids if not _is_here(ws, item_id)]
        done: list[Operation] = []
        restored: list[Item] = []
        if gone:
            operation, restored = retention.restore(ws.store, ws.settings, gone, ws.perform)
            done = [operation]
    show_changes(state, done, {"items": [json_objects.item(row) for row in restored]}, "Not deleted.", dry_run=dry_run)


def _is_here(ws: Workspace, item_id: str) -> bool:
    """Whether an item of exactly that id is there, and not deleted."""
    row = ws.store.load("item").items.get(item_id)
    return row is not None and not row.is_deleted
