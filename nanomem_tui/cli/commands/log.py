"""`nanomem log`, `undo`, `redo` and `moments`: every recorded change, how to undo it, and the memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import (
    Command,
    Count,
    Group,
    Words,
    agreed,
    completing,
    decided,
    paged,
    pass_state,
    rehearsable,
)
from nanomem_tui.cli.output import Column, table
from nanomem_tui.cli.planned import FLAGS, SHOWN, SILENT, change_lines, show_changes, shown_value
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.errors import NanomemError, NotFound, NothingToDo
from nanomem_tui.core.paths import DREAM_CURSOR
from nanomem_tui.core.text import quoted

if TYPE_CHECKING:
    from nanomem_tui.agents.git import FileDiff
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.review.moments import Difference, Kept, Moment
    from nanomem_tui.store.database.operation_log import LogEntry
    from nanomem_tui.workspace import Workspace


PAST = {"undo": "undid", "redo": "redid"}


@click.command(cls=Command)
@click.option("--key", type=Words(), help="Only what touched this item, lesson, session or file.")
@click.option("--full", is_flag=True, help="With --json: what was there before and after, too.")
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def log(state: State, key: str | None, full: bool, limit: int, offset: int) -> None:
    """Every change that was made here, newest first, by whom, and whether it was taken back.

    \b
    Example:
      nanomem log --limit 10
    """
    with state.open() as ws:
        entries = ws.log(limit=limit, offset=offset, key=key)
    body = [json_objects.log_entry(entry, changes=full) for entry in entries]
    state.show(body, lambda: entry_lines(entries) or ["No change recorded."])


def entry_lines(entries: Sequence[LogEntry]) -> list[str]:
    """Operations as a table."""
    columns = [
        Column("Time", of=lambda e: output.when(e.operation.at)),
        Column("ID", of=lambda e: e.operation.id),
        Column("By", limit=28, least=10, drop=1, of=lambda e: e.operation.who),
        Column("State", optional=True, of=lambda e: "undone" if e.undone else ""),
        Column("Change", limit=100, least=20, of=lambda e: e.operation.label),
    ]

    return output.columned(columns, entries)


@click.command(cls=Command)
@click.argument("what", metavar="[N|ID]", type=Words(), required=False, shell_complete=completing("operations"))
@click.option("--key", "keys", type=Words(), multiple=True, help="Take back only what touched this item (with an ID).")
@rehearsable
@pass_state
def undo(state: State, what: str | None, keys: Sequence[str], dry_run: bool) -> None:
    """Undo the last change, the last N, or the one with this ID. Exit code 1 when there is nothing to undo.

    The last change is the newest that a person made, in this or any other program (`u` in the console undoes only what
    was changed there). Who made it and when is printed; --dry-run shows it before.

    \b
    Example:
      nanomem undo
      nanomem undo 3 --dry-run
    """
    named = what is not None and not what.isdigit()
    if keys and not named:
        raise click.UsageError("--key needs the ID of an operation", click.get_current_context())
    count = 1 if named else _count(what)

    def step(ws: Workspace) -> Sequence[Operation]:
        return ws.undo(op_id=what, keys=list(keys) or None) if named else ws.undo()

    _repeat(state, step, count, "undo", dry_run=dry_run)


@click.command(cls=Command)
@click.argument("count", metavar="[N]", type=Words(), required=False)
@rehearsable
@pass_state
def redo(state: State, count: str | None, dry_run: bool) -> None:
    """Make the last undone change again, or the last N. Exit code 1 when there is nothing to redo.

    \b
    Example:
      nanomem redo
    """
    _repeat(state, lambda ws: ws.redo(), _count(count), "redo", dry_run=dry_run)


def _count(text: str | None) -> int:
    if text is None:
        return 1
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1_000_000:
        raise click.UsageError(f"{text!r} is no number of changes", click.get_current_context())
    return int(text)


def _repeat(
    state: State, step: Callable[[Workspace], Sequence[Operation]], count: int, verb: str, *, dry_run: bool
) -> None:
    """Take `count` steps and tell how far that went; what was done before a step that failed is told, too."""
    done: list[Operation] = []
    targets: list[Operation] = []
    failure: NanomemError | None = None
    with state.open(dry_run=dry_run) as ws:
        while len(done) < count and failure is None:
            try:
                done += step(ws)
            except NanomemError as error:
                if not done:
                    raise
                failure = error
        targets = [_target(ws, operation) for operation in done]
        state.tell_uncommitted(ws, done)
    stopped = isinstance(failure, NothingToDo)
    why = "" if failure is None else failure.what if stopped else "stopped"
    _tell(state, done, targets, count, verb, why, dry_run=dry_run)
    if failure is not None and not stopped:
        raise failure


def _target(ws: Workspace, operation: Operation) -> Operation:
    """Return the operation that an undo or a redo is about."""
    entry = ws.store.journal.find(operation.undoes or operation.redoes or "")
    return operation if entry is None else entry.operation


def _tell(
    state: State, done: Sequence[Operation], targets: Sequence[Operation], count: int, verb: str, why: str,
    *, dry_run: bool,
) -> None:  # fmt: skip
    operations = [json_objects.operation(op) for op in done]
    body: dict[str, Any] = {
        "operation": None if dry_run else operations[-1],
        "asked": count,
        "done": 0 if dry_run else len(done),
    }
    listed: dict[str, Any] = {"dry_run": True, "planned": operations} if dry_run else {"operations": operations}
    if why:
        why = why.replace("nothing to", "nothing more to")
    ending = f"{'would ' + verb if dry_run else PAST[verb]} {len(done):,}" + (f"; {why}" if why else "")
    body["targets"] = [
        {"id": op.id, "at": op.at, "actor": op.actor, "agent": op.agent, "kind": op.kind, "label": op.label}
        for op in targets
    ]
    lines: list[str] = []
    for op, target in zip(done, targets, strict=True):
        lines += change_lines([op]) if dry_run else [op.label]
        lines.append(f"  made by {target.who}, {output.when(target.at)}, {target.id}")
    if any(change.key == DREAM_CURSOR for op in done for change in op.changes):
        from nanomem_tui.dreams import log

        note = log.describe_rewind(done)
        lines += [note] if note else []
        body["note"] = note
    state.show({**body, **listed}, [*lines, *([ending] if count > 1 else [])])


# -- `nanomem moments`: the memory as it was at any moment, what differs between two, and the way back ----------------

SIGNS = {"added": "+", "removed": "-", "changed": "~"}
when_argument = click.argument("when", type=Words())


def chosen_rows(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which rows: their layer, kind and scope, or their ids."""
    for option in (
        click.option("--id", "ids", type=Words(), multiple=True, help="Only this row; may be given again."),
        click.option("--scope", type=Words(), help="Only rows of this scope, as `nanomem scopes list` names it."),
        click.option("--kind", type=Words(), help="Only rows of this kind (fact, preference, ...)."),
        click.option("--layer", type=Words(), metavar="LAYER", help="Only item, lesson, record or work."),
    ):
        command = option(command)
    return command


@click.group("moments", cls=Group)
def moments() -> None:
    """The past: items, lessons, records and work as they were at any moment, and the way back.

    \b
    A moment is an operation's id, a Dream's SHA, a time (2026-11-20, yesterday 18:00,
    14:05, 2h ago), checkpoint-3 or now.

    \b
    Example:
      nanomem moments list
      nanomem moments diff yesterday
      nanomem moments restore "2h ago" --kind preference --dry-run

    Of an agent's work (goals, tasks, decisions …) what a person added, edited or deleted is taken back; what the agent
    itself told since stays.
    """


@moments.command("list")
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def list_moments(state: State, limit: int, offset: int) -> None:
    """Operations, checkpoints and Dreams, newest first: after each of them is a moment.

    \b
    Example:
      nanomem moments list --limit 10
    """
    with state.open() as ws:
        found = ws.moments.marks(limit, offset)
        unread = ws.moments.unread
    if unread is not None:
        output.notes([f"Without the versions of the files. {unread.line()}"])
    columns = [Column("Time"), Column("Moment"), Column("State", optional=True), Column("What", limit=100, least=20)]
    cells = [(output.when(one.at), one.name, "undone" if one.undone else "", one.label) for one in found]
    state.show(
        [{"id": one.id, **one._asdict()} for one in found],
        lambda: table(columns, cells, output.terminal_width()) if cells else ["No change recorded."],
    )


@moments.command()
@when_argument
@chosen_rows
@click.option("--file", "path", type=Words(), help="Print this file as it was then: SOUL.md, USER.md, MEMORY.md.")
@paged
@pass_state
def show(state: State, when: str, path: str | None, limit: int | None, offset: int, **which: Any) -> None:
    """What was there at a moment: rows, and where no rows are asked for SOUL, USER and MEMORY, too.

    Of an agent's work the records that a person changed since then.

    \b
    Example:
      nanomem moments show "yesterday 18:00" --kind preference
      nanomem moments show yesterday --file USER.md
    """
    with state.open() as ws:
        chosen = ws.moments.chosen(**which)
        moment = ws.moments.named(when)
        if path is not None:
            _show_file(state, moment, path, ws.moments.texts(moment))
            return
        files, unread = ({}, None) if any(chosen) else _texts(ws, moment)
        unknown = ""
        try:
            there = ws.moments.rows_at(moment)
        except NotFound as error:
            if not files:
                raise
            there, unknown = {}, f"Items, lessons, records and work: {error.what} ({error.fix})."
    if unread is not None:
        output.notes([f"Without the versions of the files. {unread.line()}"])
    rows = [(place[0], row) for place, row in sorted(there.items()) if chosen.row(row)]
    shown = page(rows, limit, offset)
    columns = [
        Column("Layer", drop=1),
        Column("Kind", drop=2),
        Column("ID", limit=26, least=12),
        Column("Text", least=28),
    ]
    cells = [(name, str(getattr(row, "kind", "")), row.id, _row_text(row)) for name, row in shown]
    ending = output.of_total(len(shown), len(rows), "row")
    body = {
        "moment": _moment_json(moment),
        "rows": [{"layer": name, **_json(row)} for name, row in shown],
        "files": [{"path": name, "text": text} for name, text in files.items()],
        "unknown": unknown or None,
    }
    told = [f"{name}: {output.counted(len(text.splitlines()), 'line')}" for name, text in files.items()]
    state.show(
        body, lambda: [*(table(columns, cells, output.terminal_width()) if cells else []), unknown or ending, *told]
    )


@moments.command()
@click.argument("first", type=Words())
@click.argument("second", type=Words(), required=False)
@chosen_rows
@paged
@pass_state
def diff(state: State, first: str, second: str | None, limit: int | None, offset: int, **which: Any) -> None:
    """What differs between two moments, or between one and now: + came, - went, ~ changed.

    Where no rows are asked for also the lines of SOUL, USER and MEMORY, which `nanomem dream restore` brings back.

    \b
    Example:
      nanomem moments diff yesterday
      nanomem moments diff checkpoint-2 checkpoint-1 --json
    """
    with state.open() as ws:
        chosen = ws.moments.chosen(**which)
        ends = [ws.moments.named(first), ws.moments.named(second or "now")]
        files, unread = ([], None) if any(chosen) else _files(ws, ends)
        unknown = ""
        try:
            found = [one for one in ws.moments.diff(*ends) if chosen.difference(one)]
        except NotFound as error:
            if not files:
                raise
            found, unknown = [], f"Items, lessons, records and work: {error.what} ({error.fix})."
    shown = page(found, limit, offset)
    body = {
        "first": _moment_json(ends[0]),
        "second": _moment_json(ends[1]),
        "differences": [_difference_json(one) for one in shown],
        "files": [json_objects.file_diff(one) for one in files],
        "unknown": unknown or None,
    }
    if unread is not None:
        output.notes([f"Without the versions of the files. {unread.line()}"])
    lines = [line for one in shown for line in _lines(one)]
    if len(shown) < len(found):
        lines.append(f"{len(shown)} of {output.counted(len(found), 'row')}")
    lines += [unknown] if unknown else []
    lines += [line for one in files for line in one.unified().rstrip("\n").split("\n")]
    state.show(body, lines or ["Nothing differs."])


@moments.command()
@when_argument
@chosen_rows
@click.option("--all", "everything", is_flag=True, help="All that differs.")
@decided
@pass_state
def restore(state: State, when: str, everything: bool, yes: bool, dry_run: bool, **which: Any) -> None:
    """Bring back what was there at a moment, as one operation, which `nanomem undo` takes back.

    Counts of hits stay as they are. Exit code 1 when nothing differs from then.

    \b
    Example:
      nanomem moments restore op_1763900000_1_1 --id ltm_1739443200123_1
      nanomem moments restore yesterday --all --dry-run
    """
    if everything is any(which.values()):
        raise click.UsageError(
            "name what to restore (--id, --kind, --layer, --scope), or --all", click.get_current_context()
        )
    with state.open() as ws:
        chosen = ws.moments.chosen(**which)
        plan = ws.moments.plan(ws.moments.named(when), chosen.difference)
        body = {"moment": _moment_json(plan.moment), "rows": [_difference_json(one) for one in plan.differences]}
        lines = [
            f"Would {plan.label}",
            *(f"  {line}" for one in plan.differences[:SHOWN] for line in _lines(one, back=True)),
        ]
        if len(plan.differences) > SHOWN:
            lines.append(f"  … and {output.counted(len(plan.differences) - SHOWN, 'more row')}")
        question = f"{plan.label[0].upper()}{plan.label[1:]}?"
        if not agreed(state, body, lines, question, yes=yes, dry_run=dry_run):
            return
        done = ws.moments.restore(plan)
    show_changes(state, [done], body, dry_run=False)


def _texts(ws: Workspace, moment: Moment) -> tuple[dict[str, str], NanomemError | None]:
    """The files of then, or why they are not known."""
    try:
        return ws.moments.texts(moment), None
    except NanomemError as error:
        return {}, error


def _show_file(state: State, moment: Moment, path: str, texts: Mapping[str, str]) -> None:
    """Print one file of then. Raises NotFound."""
    wanted = next((name for name in texts if path in (name, name.rpartition("/")[2])), None)
    if wanted is None:
        there = f"there were {', '.join(texts)}" if texts else "no version of the memory's files is known of then"
        raise NotFound("no such file at that moment", path, there)
    text = texts[wanted]
    body = {"moment": _moment_json(moment), "path": wanted, "text": text}
    state.show(body, lambda: text.rstrip("\n").split("\n"))


def _files(ws: Workspace, ends: Sequence[Moment]) -> tuple[list[FileDiff], NanomemError | None]:
    """What differs of the files, or why that is not known."""
    try:
        return ws.moments.files(*ends), None
    except NanomemError as error:
        return [], error


def _lines(one: Difference, *, back: bool = False) -> Iterator[str]:
    """A difference in words; `back`: from what is to what was."""
    from nanomem_tui.review.moments import value_of

    old, new = (one.now, one.then) if back else (one.then, one.now)
    row = new or old
    assert row is not None
    fate = "added" if old is None else "removed" if new is None else "changed"
    yield f"{SIGNS[fate]} {one.layer} {one.key}: {quoted(_row_text(row), 100)}"
    if old is not None and new is not None:
        for name in one.fields:
            if name not in SILENT:
                before, after = (bool(v) if name in FLAGS else v for v in (value_of(old, name), value_of(new, name)))
                yield f"    {name}: {shown_value(before)} → {shown_value(after)}"


def _row_text(row: Kept) -> str:
    from nanomem_tui.review.moments import words_of

    return words_of(row)


def _json(row: Kept) -> dict[str, Any]:
    from nanomem_tui.store.work.values import TierRecord

    return dict(json_objects.plain(row if isinstance(row, TierRecord) else row._asdict()))


def _moment_json(moment: Moment) -> dict[str, Any]:
    return {"name": moment.name, "at": moment.at, "after": moment.after or None, "now": moment.now}


def _difference_json(one: Difference) -> dict[str, Any]:
    then, now = (_json(row) if row is not None else None for row in (one.then, one.now))
    return {"layer": one.layer, "id": one.key, "fate": one.fate, "fields": list(one.fields), "then": then, "now": now}
