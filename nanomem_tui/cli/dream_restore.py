"""`nanomem dream restore`: a Dream, a file or a hunk of it taken back, or a file brought back as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import values
from nanomem_tui.cli.dream import log_lines, logged, nothing_shown
from nanomem_tui.cli.shared import Command, Words, agreed, decided, paged, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core import errors
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.dreams.restore import RestoreConflict, RestorePreview, Side


@click.command("restore", cls=Command)
@click.argument("sha", type=Words(), required=False)
@click.option("--file", type=Words(), help="Only this file of it.")
@click.option("--hunk", type=click.IntRange(min=1), help="Only this run of changed lines, counted from 1.")
@click.option("--edit", type=click.IntRange(min=1), help="Only this one of its edits; --dry-run numbers them.")
@click.option("--whole", is_flag=True, help="All files as they were before it: later edits are lost.")
@click.option("--as-of", is_flag=True, help="The --file as it was after it: later edits of the file are lost.")
@click.option(
    "--settle", type=click.Choice(["now", "then"]), help="Which side stays of lines that later edits changed."
)
@click.option("--rewind-cursor/--keep-cursor", default=None, help="Whether the next Dream reads those entries again.")
@decided
@paged
@pass_state
def restore(
    state: State,
    sha: str | None,
    file: str | None,
    hunk: int | None,
    edit: int | None,
    whole: bool,
    as_of: bool,
    settle: Side | None,
    rewind_cursor: bool | None,
    yes: bool,
    dry_run: bool,
    limit: int | None,
    offset: int,
) -> int:
    """Take a Dream back and keep every later edit; without a SHA, list what can be taken back.

    With --as-of one file is brought back as it was after that change (`nanomem dream versions FILE` lists them).

    \b
    Example:
      nanomem dream restore SHA --file USER.md --dry-run
      nanomem dream restore SHA --edit 3
      nanomem dream restore SHA --file USER.md --as-of --dry-run
    """
    if sha is None:
        with state.open() as ws:
            body = logged(ws, dreams=True, limit=limit, offset=offset)
            none = nothing_shown(ws, dreams=True) if not body else ""
        state.show(body, lambda: log_lines(body) or [none])
        return 0
    at = None if hunk is None else hunk - 1
    single = (file, hunk, edit) == (None, None, None) and not whole
    with state.open() as ws:
        plan = ws.dream.restore_preview(
            sha, file, at, edit=edit, whole=whole, rewind_cursor=rewind_cursor, settle=settle, as_of=as_of
        )
        preview = values.plain(plan.to_json())
        if plan.changes_anything and not plan.conflicts:
            question = f"Bring back {file}?" if as_of else f"Take back {plan.commit.short}?"
            if not agreed(state, preview, lambda: _lines(plan, file, single), question, yes=yes, dry_run=dry_run):
                return 0
        elif dry_run:
            state.show({"operation": None, "dry_run": True, **preview}, lambda: _lines(plan, file, single))
            return errors.Conflict.exit_code if plan.conflicts else errors.NothingToDo.exit_code
        op = ws.dream.restore(
            sha, file, at, edit=edit, whole=whole, rewind_cursor=rewind_cursor, settle=settle, as_of=as_of
        )
    state.show({"operation": values.operation(op), **preview}, [op.label, *([plan.note] if plan.note else [])])
    return 0


def _lines(plan: RestorePreview, file: str | None, offer: bool) -> list[str]:
    """What it would do; `offer`: with the edits, each of which may be taken back alone."""
    of = f"{plan.commit.short}: {plan.commit.subject}"
    lines = [f"Would bring back {file} as of {of}" if plan.as_of else f"Would take back {of}"]
    if not plan.changes_anything and not plan.conflicts:
        where = f"{file} as of {of}" if plan.as_of else of
        return [f"Nothing would change: {plan.problem}.", where]
    for changed in plan.to_json()["files"]:
        lines += str(changed["diff"]).rstrip("\n").split("\n")
    for conflict in plan.conflicts:
        lines += _sides(conflict)
    if offer and len(plan.edits) > 1:
        lines.append("Its edits (--edit N takes back one of them):")
        lines += [f"  {one.number:>3}  {one.path}  {one_line(one.words, 200)}" for one in plan.edits]
    return [*lines, *(text for text in (plan.note, plan.problem) if text)]


def _sides(conflict: RestoreConflict) -> list[str]:
    """A conflict with both its sides."""
    lines = [f"Conflict in {conflict.path}, line {conflict.line}"]
    for title, option, side in (("now", "now", conflict.now), ("before it", "then", conflict.then)):
        lines.append(f"  {title} (--settle {option}):")
        lines += [f"    {line}".rstrip() for line in map(str.rstrip, side)] or ["    (no line)"]
    return lines
