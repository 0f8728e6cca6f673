"""`nanomem history` and `wal`: the agent's archive of summaries, and the turn logs of its sessions."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output, passages
from nanomem_tui.cli.options import (
    Count,
    Group,
    Words,
    agreed,
    all_read,
    asked_query,
    completing,
    decided,
    paged,
    pass_state,
    query_options,
    rehearsable,
)
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import show_changes
from nanomem_tui.cli.state import State, page
from nanomem_tui.core import errors
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.agents.turn_log import Turn, WalState
    from nanomem_tui.memory.recall.conversations import ConversationHit
    from nanomem_tui.memory.sessions.archive import OldEntry
    from nanomem_tui.memory.sessions.archive_changes import HistoryCompaction, Migration
    from nanomem_tui.memory.turns.wal_states import WalInfo
    from nanomem_tui.workspace import Workspace


@click.group("history", cls=Group)
def history() -> None:
    """The archive that the agent writes and Dream reads.

    \b
    Example:
      nanomem history list --limit 10
    """


@history.command("list")
@paged
@pass_state
def list_entries(state: State, limit: int | None, offset: int) -> None:
    """The entries, newest first.

    \b
    Example:
      nanomem history list --limit 10
    """
    with state.open() as ws:
        found = ws.history.entries(limit=limit, offset=offset)
        all_read(ws.history.unreadable())
        older = ws.history.older if limit is None else 0
    if older:
        output.notes([f"Note: {older:,} older entries are not listed; --limit and --offset list them page by page."])
    state.show([json_objects.history_entry(entry) for entry in found], lambda: _lines(found) or ["No history."])


def _lines(found: Sequence[HistoryEntry], old: Sequence[OldEntry] = ()) -> list[str]:
    columns = [
        Column("Cursor", right=True),
        Column("Time"),
        Column("Session", limit=28, least=12, drop=1, optional=True),
        Column("Content", limit=120, least=28),
    ]
    cells = [(str(entry.cursor), entry.timestamp, entry.session_key or "", entry.content) for entry in found]
    cells += [(one.id, one.entry.timestamp, "", one.entry.content) for one in old]
    return table(columns, cells, output.terminal_width())


@history.command()
@query_options
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@click.option("--exact", is_flag=True, help="Only entries that hold every word.")
@pass_state
def search(state: State, query: str | None, terms: Sequence[str], limit: int, offset: int, exact: bool) -> None:
    """Entries that hold every word, the newest first, then those nearest to what was asked.

    "a phrase" and -without are taken as they stand: nothing else follows.

    \b
    Example:
      nanomem history search --query migration
      nanomem history search "when did the server move?"
    """
    text = asked_query(query, terms)
    with state.open() as ws:
        found = ws.history.search(text, limit=limit + offset)
        ids = [str(entry.cursor) for entry in found]
        near = passages.nearest(ws, "history", text, ids, 0 if exact else limit + offset)
        old = ws.history.search_old(text, limit=max(0, limit + offset - len(found)))
        told = near.hits[max(0, offset - len(found) - len(old)) :]
        found, old = found[offset:], old[max(0, offset - len(found)) :]
        hits = [_hit(ws, entry) for entry in found] + [_old_hit(one) for one in old]
        hits += [_nearest(ws, one) for one in told]
        all_read(ws.history.unreadable())
    state.show(hits, lambda: passages.followed(_lines(found, old), told))
    passages.tell_left_out(near.left_out, quiet=state.json)


def _hit(ws: Workspace, entry: HistoryEntry) -> dict[str, Any]:
    before, after = ws.history.neighbours(entry)
    around = {"before": [*map(json_objects.history_entry, before)], "after": [*map(json_objects.history_entry, after)]}
    return {**json_objects.history_entry(entry), "match": "words", **around, "score": 1.0, "parts": {}}


def _old_hit(one: OldEntry) -> dict[str, Any]:
    """An entry that lies in an old file beside the archive."""
    return {**json_objects.old_entry(one), "match": "words", "before": [], "after": [], "score": 1.0, "parts": {}}


def _nearest(ws: Workspace, found: ConversationHit) -> dict[str, Any]:
    """The entry of a passage; `passage` is the line of it that was found, between those around it."""
    body = json_objects.conversation_hit(found)
    around = {"match": body["match"], "passage": found.text, "before": body["before"], "after": body["after"]}
    entry = json_objects.history_entry(ws.history.get(found.number))
    return {**entry, **around, "score": body["score"], "parts": body["parts"]}


class _Cursor(click.IntRange):
    """A cursor, or the id of an entry in an old file (`HISTORY.md:7`)."""

    name = "cursor"

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the id as it stands; a usage error for neither."""
        return value if str(value).startswith("HISTORY.md") else super().convert(value, param, ctx)


@history.command()
@click.argument("cursor", type=_Cursor())
@pass_state
def show(state: State, cursor: int | str) -> None:
    """One entry in full, by its cursor; one of an old file beside the archive by file and line, as a search names it.

    \b
    Example:
      nanomem history show 42
      nanomem history show HISTORY.md:7
    """
    with state.open() as ws:
        all_read(ws.history.unreadable())
        if isinstance(cursor, str):
            old = ws.history.get_old(cursor)
            entry, body = old.entry, json_objects.old_entry(old)
        else:
            entry = ws.history.get(cursor)
            body = json_objects.history_entry(entry)
    head = f"{body['id']}  {output.when(entry.timestamp)}  {entry.session_key or ''}".rstrip()
    state.show(body, lambda: [head, *paragraph(entry.content, output.terminal_width())])


# `nanomem history migrate` and `history compact`: the archive changed as a whole, with a preview before it.

SHOWN_LINES = 10
NOT_DREAMT = "No Dream will read these entries: all of them are taken as read"
DREAMT = "The next Dreams read these entries: some before them are not read yet"


@history.command()
@decided
@pass_state
def migrate(state: State, yes: bool, dry_run: bool) -> int:
    """Turn the HISTORY.md of an old release into history.jsonl; the file stays beside it as a backup.

    Each entry keeps its date, over as many paragraphs as it has. Dream takes all of it as read. Where history.jsonl
    holds entries already, those that it lacks of HISTORY.md and its backups go behind them. Refused while an agent runs
    on this workspace; `nanomem undo` takes all of it back.

    \b
    Example:
      nanomem history migrate --dry-run
    """
    with state.open() as ws:
        try:
            plan = ws.history_changes.migration()
        except errors.NothingToDo as nothing:  # it was done before, or an agent of today wrote here from the start
            state.show({"operation": None, "entries": 0}, [f"Nothing to migrate: {nothing.what}."])
            return 0
        if plan.refused and not dry_run:
            raise errors.Refused(plan.refused, plan.sources[-1], "nothing was changed")
        if not agreed(state, plan.to_json(), _migration(plan), "Migrate the old archive?", yes=yes, dry_run=dry_run):
            return errors.Refused.exit_code if plan.refused else 0
        op = ws.history_changes.migrate()
        state.tell_uncommitted(ws, [op])
    kept = f"HISTORY.md is kept as {plan.backup}; `nanomem undo` takes all of it back."
    kept = kept if plan.backup else "`nanomem undo` takes all of it back."
    dream = DREAMT if plan.dreamed else NOT_DREAMT
    state.show({"operation": json_objects.operation(op), **plan.to_json()}, [op.label, f"{dream}.", kept])
    return 0


def _migration(plan: Migration) -> list[str]:
    found = output.fields(
        [
            ("Entries", f"{plan.entries:,}, {plan.first} to {plan.last}"),
            ("Undated", f"{plan.undated:,}, dated by the file's time" if plan.undated else ""),
            ("Unreadable", f"{output.counted(plan.unreadable, 'line')}, shown with \ufffd" if plan.unreadable else ""),
            ("No date", _at(plan.bad_dates, "the text keeps what stands there, the date is that of the entry before")),
            ("Out of order", _at(plan.out_of_order, "older than an entry before it; it stays where it is")),
            (
                "Date within",
                _at(
                    plan.dated_within,
                    "no entry of its own, but text of the one before: an entry begins with [YYYY-MM-DD HH:MM]",
                ),
            ),
            ("Behind", f"the {output.counted(plan.behind, 'entry', 'entries')} there" if plan.behind else ""),
            ("Dream", DREAMT if plan.dreamed else NOT_DREAMT),
            ("Kept as", plan.backup),
            ("Refused", plan.refused),
        ]
    )
    return [f"Would migrate {' and '.join(plan.sources)} to memory/history.jsonl:", *found]


def _at(lines: Sequence[int], fate: str) -> str:
    """Which lines, and what becomes of them; "" for none."""
    more = ", …" if len(lines) > SHOWN_LINES else ""
    return f"line {', '.join(map(str, lines[:SHOWN_LINES]))}{more}: {fate}" if lines else ""


@history.command()
@click.option("--keep", type=Count(), default=1000, show_default=True, help="Entries to keep at least.")
@decided
@pass_state
def compact(state: State, keep: int, yes: bool, dry_run: bool) -> int:
    """Let the oldest entries of the archive go; never one that Dream has not read.

    Lines that cannot be read move to the quarantine. `nanomem undo` brings all of it back. Refused while an agent runs
    on this workspace.

    \b
    Example:
      nanomem history compact --keep 500 --dry-run
    """
    with state.open() as ws:
        plan = ws.history_changes.compaction(keep)
        if plan.nothing:
            state.show({"operation": None, **plan.to_json()}, ["Nothing to compact.", *plan.notes])
            return 0
        if plan.refused and not dry_run:
            raise errors.Refused(plan.refused, "memory/history.jsonl", "stop the agent first")
        never_read = _never_read(ws, plan)
        lines = [*_compaction(plan), *never_read]
        if not agreed(state, plan.to_json(), lines, "Compact the archive?", yes=yes, dry_run=dry_run):
            return errors.Refused.exit_code if plan.refused else 0
        op = ws.history_changes.compact(keep)
    state.show({"operation": json_objects.operation(op), **plan.to_json()}, [op.label, *plan.notes, *never_read])
    return 0


def _never_read(ws: Workspace, plan: HistoryCompaction) -> list[str]:
    """What goes without anybody having read it."""
    number = sum(1 for entry in ws.dream.queue().unread if plan.last is not None and entry.cursor <= plan.last)
    entries = output.counted(number, "entry", "entries")
    return [f"{entries} of them the rules could not read, and no model has."] if number else []


def _compaction(plan: HistoryCompaction) -> list[str]:
    span = f", cursors {plan.first} to {plan.last}" if plan.removed else ""
    found = output.fields(
        [
            ("Entries", f"{plan.entries:,}"),
            ("Removed", f"{plan.removed:,}{span}"),
            ("Kept", f"{plan.kept:,}"),
            ("Unreadable", f"{output.counted(plan.unreadable, 'line')} to the quarantine" if plan.unreadable else ""),
            ("Size", f"{output.size(plan.bytes_before)} → {output.size(plan.bytes_after)}"),
            ("Refused", plan.refused),
        ]
    )
    return ["Would compact memory/history.jsonl:", *found, *plan.notes]


# -- `nanomem wal`: the turn logs that tell what an agent was doing when it stopped -----------------------------------


@click.group("wal", cls=Group)
def wal() -> None:
    """The agent's turn logs: what it began, and what it finished.

    \b
    Example:
      nanomem wal check
    """


@wal.command("list")
@paged
@pass_state
def list_files(state: State, limit: int | None, offset: int) -> None:
    """One line per session: turns, and those that never ended.

    \b
    Example:
      nanomem wal list
    """
    with state.open() as ws:
        shown = page(ws.wal.list(), limit, offset)
        unreadable = ws.wal.unreadable()
    state.show([json_objects.wal_info(info) for info in shown], lambda: _list_lines(shown) or ["No turn logs."])
    all_read(unreadable)


def _list_lines(found: Sequence[WalInfo]) -> list[str]:
    columns = [
        Column("Session", least=32, of=lambda info: info.session_key),
        Column("Turns", right=True, of=lambda info: str(info.turns)),
        Column("Open", right=True, of=lambda info: str(info.open_turns)),
        Column("Size", right=True, of=lambda info: output.size(info.size)),
        Column("Updated", of=lambda info: output.when(info.updated_at)),
        Column(
            "Note",
            optional=True,
            of=lambda info: ", ".join(
                output.counted(number, one)
                for number, one in ((len(info.others), "more file"), (info.problems, "problem"))
                if number
            ),
        ),
    ]
    return output.columned(columns, found)


@wal.command("show")
@click.argument("key", type=Words(), shell_complete=completing("sessions"))
@paged
@pass_state
def wal_show(state: State, key: str, limit: int | None, offset: int) -> None:
    """The turns of one session; a turn that never ended is marked.

    \b
    Example:
      nanomem wal show telegram:12345 --limit 20
    """
    with state.open() as ws:
        found = ws.wal.get(key)
        recovered = {turn.number for turn in found.open_turns if ws.wal.is_recovered(key, turn)}
        all_read([problem for problem in ws.wal.unreadable() if not found.turns])
    turns = page(found.turns, limit, offset)
    body = {
        "id": found.session_key,
        **json_objects.plain(found),
        "turns": [{**json_objects.plain(turn), "recovered": turn.number in recovered} for turn in turns],
        "problems": [json_objects.problem(entry) for entry in found.problems],
    }
    state.show(body, lambda: _turn_lines(found, turns, recovered))


def _turn_lines(found: WalState, turns: Sequence[Turn], recovered: Collection[int]) -> list[str]:
    width = output.terminal_width() or 200
    lines = [f"{found.session_key}  {output.counted(len(found.turns), 'turn')}"]
    for turn in turns:
        mark = "  NOT FINISHED, RECOVERED" if turn.number in recovered else "  NOT FINISHED" if turn.open else ""
        lines.append(f"#{turn.number}  {output.when(turn.at_pre)}{mark}")
        lines.append("  " + one_line(f"user: {turn.pre.get('user') or ''}", width - 2))
        if turn.declined:
            lines.append("  (declined: nothing of it was kept)")
        elif not turn.open:
            lines.append("  " + one_line(f"assistant: {turn.assistant or '(empty)'}", width - 2))
        lines.extend("  " + one_line(f"pending: {action}", width - 2) for action in turn.pending_actions)
        lines.extend("  " + one_line(f"done: {action}", width - 2) for action in turn.done_actions)
    return [*lines, *(entry.text() for entry in found.problems)]


@wal.command()
@paged
@pass_state
def check(state: State, limit: int | None, offset: int) -> int:
    """Turns that began and never ended: what was lost when an agent stopped. Exit code 1 when there are any.

    \b
    Example:
      nanomem wal check
    """
    with state.open() as ws:
        found = ws.wal.check()
        recovered = len(ws.wal.recovered())
        unreadable = ws.wal.unreadable()
    rest = "Every turn that can be read was finished" if unreadable else "Every turn was finished"
    shown = page(found, limit, offset)
    columns = [
        Column("Session", least=24),
        Column("Turn", right=True),
        Column("Began"),
        Column("User", limit=90, least=20),
    ]
    state.show(
        [json_objects.open_turn(turn) for turn in shown],
        lambda: (
            (
                table(
                    columns,
                    [(t.session_key, str(t.number), output.when(t.at), t.user or "") for t in shown],
                    output.terminal_width(),
                )
                or [f"{rest} or recovered." if recovered else f"{rest}."]
            )
            + ([_recovered(recovered)] if recovered else [])
        ),
    )
    all_read(unreadable)
    return 1 if found else 0


def _recovered(number: int) -> str:
    were, items = ("was", "a pending item") if number == 1 else ("were", "pending items")
    return f"{output.counted(number, 'turn')} that never ended {were} recovered into {items}."


@wal.command()
@click.argument("key", type=Words(), required=False, shell_complete=completing("sessions"))
@rehearsable
@pass_state
def recover(state: State, key: str | None, dry_run: bool) -> None:
    """Put turns that never ended among the pending items of their session (default: of every session).

    The agent is told of them in its next turn there; what was to be remembered ("Remember that …") is remembered.
    `nanomem undo` takes it back.

    \b
    Example:
      nanomem wal recover telegram:12345
    """
    from nanomem_tui.memory.turns import turn_operation

    with state.open(dry_run=dry_run) as ws:
        found = [turn for turn in ws.wal.check() if key in (None, turn.session_key)]
        if key is not None and not found:
            ws.wal.get(key)  # an unknown session is an error of its own
        done: turn_operation.TurnRecovery | None = None
        with contextlib.suppress(NothingToDo):  # so that it may run again and again
            done = turn_operation.recover(found, ws.wal.get, ws.traces.pending, ws.store, ws.settings, ws.perform)
    body = {
        "recovered": [json_objects.open_turn(turn) for turn in found],
        "captured": [json_objects.item(item) for item in (done.captured if done else ())],
        "quarantined": [json_objects.item(item) for item in (done.held if done else ())],
    }
    otherwise = "Nothing to recover: every turn was finished, or is recovered already."
    show_changes(state, [done.operation] if done else [], body, otherwise, dry_run=dry_run)
