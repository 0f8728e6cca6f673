"""`nanomem session` and `consolidate`: the agent's conversations, and archiving the oldest part of long ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.agents import releases
from nanomem_tui.cli import json_objects, output, passages
from nanomem_tui.cli.fast_commands import time_lines, within
from nanomem_tui.cli.options import (
    Command,
    Count,
    Group,
    Words,
    agreed,
    all_read,
    asked_query,
    completing,
    dated,
    decided,
    paged,
    pass_state,
    query_options,
    with_undo,
)
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.state import State, page
from nanomem_tui.core import errors
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.agents.session_file import Message, Session
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.session_archive import Consolidation
    from nanomem_tui.language.times_asked import Span, TimeAsked
    from nanomem_tui.memory.sessions.sessions import SessionCompaction, SessionInfo, TranscriptHit
    from nanomem_tui.memory.sessions.transcript_repair import Rescue
    from nanomem_tui.workspace import Workspace


NONE = "The agent finds this session, or there is none of that key; `nanomem session list` shows them all."


@click.group("session", cls=Group)
def session() -> None:
    """The agent's conversations: read, search, compact, bring back.

    \b
    Example:
      nanomem session list
    """


@session.command("list")
@paged
@pass_state
def list_sessions(state: State, limit: int | None, offset: int) -> None:
    """All sessions, the last used first: the agent's own, and conversations that were imported, which are only read.

    \b
    Example:
      nanomem session list --limit 10
    """
    with state.open() as ws:
        found = ws.sessions.list()
        unreadable = ws.sessions.unreadable()
    shown = page(found, limit, offset)
    ending = output.of_total(len(shown), len(found), "session")
    state.show([json_objects.session_info(info) for info in shown], lambda: [*_list_lines(shown), ending])
    _tell_untold(ws)
    all_read(unreadable)


def _tell_untold(ws: Workspace) -> None:
    """Say on stderr which conversations are not among what was printed: it is not that there are none."""
    missing = releases.missing_sessions(ws.layout)
    if missing is not None:
        output.notes([f"Note: {missing.text()}"])
    problem = ws.sessions.untold
    if problem is not None:
        output.notes([f"Imported conversations are left out: {problem.text()}"])


def _list_lines(found: Sequence[SessionInfo]) -> list[str]:
    columns = [
        Column("Key", least=36, of=lambda info: info.key),
        Column("Messages", right=True, of=lambda info: str(info.messages)),
        Column("Size", right=True, of=lambda info: output.size(info.size)),
        Column("Not archived", right=True, drop=2, of=lambda info: "" if info.imported else str(info.unarchived)),
        Column("First", drop=3, of=lambda info: output.when(info.created_at)),
        Column("Last", of=lambda info: output.when(info.updated_at)),
        Column("Title", limit=40, least=12, drop=3, optional=True, of=lambda info: info.title or ""),
        Column("Note", limit=40, least=10, drop=1, optional=True, of=_note),
    ]
    return output.columned(columns, found)


def _note(info: SessionInfo) -> str:
    damage = f"{output.counted(info.problems, 'problem')}" if info.problems else ""
    return ", ".join(filter(None, [info.hidden_reason, damage, "turn in flight" if info.checkpoint else ""]))


@session.command()
@click.argument("key", type=Words(), shell_complete=completing("sessions"))
@click.option("--full", is_flag=True, help="Tool calls and results in full, and hidden messages.")
@paged
@pass_state
def show(state: State, key: str, full: bool, limit: int | None, offset: int) -> None:
    """One conversation; tool calls are folded into a line each. --limit and --offset count messages.

    \b
    Example:
      nanomem session show telegram:12345 --limit 20
    """
    with state.open() as ws:
        part, total = ws.sessions.part(key, "", offset, limit)
    state.show(json_objects.session(part), lambda: _transcript(part, total, full=full))


def _transcript(part: Session, total: int, *, full: bool) -> list[str]:
    width = output.terminal_width() or 100
    lines = [f"{part.key}  {output.counted(total, 'message')}", ""]
    for message in part.messages:
        if message.hidden and not full:
            continue
        lines.append(f"#{message.index} {message.role}{_stamp(message)}")
        lines.extend(f"  {line}" for line in _body(message, width - 2, full=full))
        lines.append("")
    lines.extend(f"{found.text()}" for found in part.problems)
    return lines


def _stamp(message: Message) -> str:
    name = f" {message.name}" if message.name else ""
    return f"{name}  {output.when(message.timestamp)}" if message.timestamp else name


def _body(message: Message, width: int, *, full: bool) -> list[str]:
    calls = [(call.name, str(call.arguments)) for call in message.tool_calls]
    if message.role == "tool" and not full:
        return [one_line(f"← {message.content}", width)]
    lines = paragraph(message.content, width) if message.content else []
    if full:
        return [*lines, *(line for name, given in calls for line in paragraph(f"→ {name} {given}", width))]
    return [*lines, *(one_line(f"→ {name} {given}", width) for name, given in calls)]


@session.command()
@query_options
@dated
@click.option("--limit", type=Count(), default=50, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@click.option("--exact", is_flag=True, help="Only messages that hold every word.")
@pass_state
def search(
    state: State, query: str | None, terms: Sequence[str], since: str, until: str, limit: int, offset: int, exact: bool
) -> None:
    """Search every transcript: messages that hold every word, the newest first, then those nearest to what was asked.

    "a phrase" and -without are taken as they stand: nothing else follows. A time in the words ("the seat yesterday")
    is no word that a message must hold: those of that time stand first. --since and --until leave out messages of any
    other time; without words they list what is left.

    \b
    Example:
      nanomem session search window seat
      nanomem session search "what did you say about the seat?"
      nanomem session search '"window seat" -aisle'
      nanomem session search seat --since "last tuesday"
    """
    text = asked_query(query, terms, may_be_empty=bool(since or until))
    with state.open() as ws:
        span = within(ws, since, until)
        time = None if exact else ws.conversations.time_of(text)
        hits = _exact(ws, text, time, span, limit + offset)
        ids = [f"{hit.session_key}#{hit.index}" for hit in hits]
        near = passages.nearest(ws, "sessions", text, ids, 0 if exact and text else limit + offset, span)
        unreadable = ws.sessions.unreadable()
    hits, told = hits[offset:], near.hits[max(0, offset - len(hits)) :]
    body = [*map(json_objects.transcript_hit, hits), *map(json_objects.conversation_hit, told)]
    if time is not None:
        of_time = [True] * len(hits) + ["time" in one.parts for one in told]
        body = [one | ({"time": time.to_json()} if fits else {}) for one, fits in zip(body, of_time, strict=True)]
    listed = "" if text else "In these days, the newest first:"
    state.show(body, lambda: [*time_lines(time, span), *passages.followed(_hit_lines(hits), told, listed)])
    passages.tell_left_out(near.left_out, quiet=state.json)
    _tell_untold(ws)
    all_read(unreadable)


def _exact(ws: Workspace, text: str, time: TimeAsked | None, span: Span | None, limit: int) -> list[TranscriptHit]:
    """The messages that hold every word; where the words name a time, those of that time that hold all others."""
    spans = [span] if span is not None else []
    if time is not None:
        if time.only:  # no word is left that a message must hold
            return []
        in_time, in_span = ws.conversations.said_in(time.spans), ws.conversations.said_in(spans)
        return ws.sessions.search(time.rest, limit, lambda at: in_time(at) and (not spans or in_span(at)))
    return ws.sessions.search(text, limit, ws.conversations.said_in(spans) if spans else None)


def _hit_lines(hits: Sequence[TranscriptHit]) -> list[str]:
    columns = [
        Column("Session", least=24),
        Column("#", right=True),
        Column("Role", drop=2),
        Column("Time", drop=1),
        Column("Text", limit=120, least=32),
    ]
    cells = [(h.session_key, str(h.index), h.role, output.when(h.timestamp), h.text) for h in hits]
    return table(columns, cells, output.terminal_width())


@session.command()
@click.argument("key", type=Words(), required=False, shell_complete=completing("sessions"))
@click.option("--all", "every", is_flag=True, help="Every session that is longer than what is kept.")
@click.option("--keep", type=Count(1), help="Messages to keep (default: `session_keep_messages`, 300).")
@click.option("--force", is_flag=True, help="Also while an agent runs, which may write its own copy back.")
@decided
@pass_state
def compact(state: State, key: str | None, every: bool, keep: int | None, force: bool, yes: bool, dry_run: bool) -> int:
    """Keep the last messages of a session; the others go to our backups and `nanomem undo` brings them back.

    With --all it does so at once; of one session it asks first.

    Refused while an agent runs on this workspace.

    \b
    Example:
      nanomem session compact telegram:12345 --keep 300 --dry-run
      nanomem session compact --all
    """
    if (key is None) == (not every):
        raise click.UsageError("name one session, or give --all", click.get_current_context())
    with state.open() as ws:
        keep = keep or ws.settings.session_keep_messages
        plans = ws.sessions.compact_all_preview(keep) if key is None else [ws.sessions.compact_preview(key, keep)]
        preview: dict[str, Any] = {"sessions": [{"id": plan.key, **json_objects.plain(plan)} for plan in plans]}
        if not any(plan.removed for plan in plans):
            state.show({"operation": None, **preview}, ["Nothing to compact."])
            return 0
        question = f"Compact {output.counted(len(plans), 'session')}?"
        if not agreed(state, preview, _plan_lines(plans), question, yes=yes or every, dry_run=dry_run):
            refused = not force and all(plan.refused for plan in plans) and (key is not None or ws.agent().running)
            return errors.Refused.exit_code if refused else 0
        if key is not None:
            op: Operation | None = ws.sessions.compact(key, keep, force)
        else:
            op = next(iter(ws.sessions.compact_all(keep, force)), None)
    left = [f"Left as it is: {plan.key} ({plan.refused})" for plan in plans if plan.refused and not force]
    lines = [with_undo(op) if op else "Nothing was compacted.", *left]
    state.show({"operation": json_objects.operation(op), **preview}, lines)
    return 0


def _plan_lines(plans: Sequence[SessionCompaction]) -> list[str]:
    columns = [
        Column("Session", least=24, of=lambda plan: plan.key),
        Column("Messages", right=True, of=lambda plan: str(plan.messages)),
        Column("Kept", right=True, of=lambda plan: str(plan.kept)),
        Column("Removed", right=True, of=lambda plan: str(plan.removed)),
        Column(
            "Bytes", right=True, of=lambda plan: f"{output.size(plan.bytes_before)} → {output.size(plan.bytes_after)}"
        ),
        Column("Refused", limit=60, least=16, optional=True, of=lambda plan: plan.refused),
    ]
    return ["Would compact:", *output.columned(columns, plans)]


@session.command()
@click.argument("key", type=Words(), required=False, shell_complete=completing("sessions"))
@click.option("--key", "whose", type=Words(), help="Whose it is: for the file of that name, which does not say so.")
@decided
@pass_state
def rescue(state: State, key: str | None, whose: str | None, yes: bool, dry_run: bool) -> int:
    """Bring back conversations that the agent no longer finds: an upgrade left their files the names of old releases.

    Where the agent began another conversation under the same key meanwhile, the old messages go in front of it.
    Refused while an agent runs on this workspace. `nanomem undo` takes it back.

    \b
    Example:
      nanomem session rescue --dry-run
      nanomem session rescue --yes
      nanomem session rescue cli_direct.jsonl --key cli:direct
    """
    from nanomem_tui.memory import doctor
    from nanomem_tui.memory.sessions import transcript_repair

    if whose is not None and key is None:
        raise click.UsageError("--key needs the name of a file", click.get_current_context())
    with state.open() as ws:
        keys = {transcript_repair.find_ownerless(ws, key): whose} if whose is not None and key is not None else {}
        every_one = transcript_repair.plan_rescues(ws, keys)
        found = [one for one in every_one if (one.path in keys if keys else key in (None, one.key))]
        preview: dict[str, Any] = {"sessions": [{"id": one.key, **json_objects.plain(one)} for one in found]}
        can = [one for one in found if not one.refused]
        if not found:
            lost = [problem.text() for problem in doctor.identity(ws.paths, ws.layout)]
            left = transcript_repair.list_unrescued(ws)
            if left:
                lost += ["Nothing to rescue; as they are stay:", *(f"  {one}" for one in left)]
            every = lost or ["The agent finds every session."]
            state.show({"operation": None, **preview}, every if key is None else [NONE])
            return 0 if key is None else 1
        if can:
            question = f"Bring back {output.counted(len(can), 'session')}?"
            if not agreed(state, preview, _rescue_lines(found), question, yes=yes, dry_run=dry_run):
                return 0
        elif dry_run:
            state.show({"operation": None, **preview}, _rescue_lines(found))
            return errors.Refused.exit_code
        op = transcript_repair.rescue(ws, [one.path for one in found], keys)
    left = [f"Left as it is: {one.key} ({one.refused})" for one in found if one.refused]
    state.show(
        {"operation": json_objects.operation(op), **preview}, [f"{op.label} (`nanomem undo` takes it back).", *left]
    )
    return 0


def _rescue_lines(found: Sequence[Rescue]) -> list[str]:
    columns = [
        Column("Session", least=24, of=lambda one: one.key),
        Column("Messages", right=True, of=lambda one: str(one.messages)),
        Column("File", least=20, limit=48, of=lambda one: one.path.rpartition("/")[2]),
        Column(
            "Becomes",
            least=20,
            limit=60,
            drop=1,
            of=lambda one: (
                f"the first of {output.counted(one.messages + one.joined, 'message')} there" if one.joined else one.name
            ),
        ),
        Column("Refused", limit=60, least=16, optional=True, of=lambda one: one.refused),
    ]
    return ["Would bring back:", *output.columned(columns, found)]


# -- `nanomem consolidate`: the oldest part of a session that outgrew its budget goes into the archive ----------------

_SHOWN = 20  # things left out


@click.command("consolidate", cls=Command)
@click.argument("key", type=Words(), required=False, shell_complete=completing("sessions"))
@click.option("--all", "every", is_flag=True, help="Every session that is over its budget.")
@click.option("--budget", type=Count(1), help="Tokens that a session may have, if not as set.")
@click.option("--dreamer", type=click.Choice(["rules", "model"]), help="Who summarises, if not as set.")
@decided
@pass_state
def consolidate(
    state: State, key: str | None, every: bool, budget: int | None, dreamer: str | None, yes: bool, dry_run: bool
) -> None:
    """Summarise the oldest part of a session into the archive; the transcript keeps every message.

    What is archived leaves the agent's prompt; a summary takes its place. `nanomem undo` takes it back while nothing
    came after it. Refused while an agent runs on this workspace.

    \b
    Example:
      nanomem consolidate telegram:12345 --dry-run
      nanomem consolidate --all --yes
    """
    if (key is None) == (not every):
        raise click.UsageError("name one session, or give --all", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        if not dry_run:
            ws.consolidator.recover()
        plans = _plans(ws, key, budget, dreamer)
        preview = {"sessions": [plan.to_json() for plan in plans]}
        possible = [plan for plan in plans if not plan.refused and not plan.nothing]
        if not possible:
            _nothing(state, plans, preview)
            return
        question = f"Archive the oldest part of {output.counted(len(possible), 'session')}?"
        if not agreed(state, preview, _lines(plans), question, yes=yes, dry_run=dry_run):
            return
        done = _applied(ws, possible, alone=key is not None)
    operations = [op for op, _ in done]
    body = {
        "operation": json_objects.operation(operations[-1]) if operations else None,
        "operations": [json_objects.operation(op) for op in operations],
        "sessions": [plan.to_json() for _, plan in done] + [plan.to_json() for plan in plans if plan not in possible],
    }
    left = [f"Left as it is: {plan.key} ({plan.refused})" for plan in plans if plan.refused]
    notes = [f"{plan.key}: {plan.note}" for _, plan in done if plan.note]
    if yes:  # else the preview named them
        notes += [line for _, plan in done for line in _left_out(plan)]
    state.show(body, [*(f"{op.label}, {_entries(plan)}" for op, plan in done), *notes, *left])


def _plans(ws: Workspace, key: str | None, budget: int | None, dreamer: str | None) -> list[Consolidation]:
    with output.Progress() as progress:
        if key is not None:
            return [ws.consolidator.plan(key, budget=budget, dreamer=dreamer, watch=progress)]
        return ws.consolidator.plan_all(budget=budget, dreamer=dreamer, watch=progress)


def _applied(ws: Workspace, plans: Sequence[Consolidation], *, alone: bool) -> list[tuple[Operation, Consolidation]]:
    """Each plan as an operation of its own; of several one that cannot be done is told, and the others go on."""
    done = []
    for plan in plans:
        try:
            done.append(ws.consolidator.apply(plan))
        except errors.NanomemError as error:
            if alone or isinstance(error, (errors.DiskFull, errors.AccessDenied)):
                raise
            output.notes([error.line()])
    return done


def _nothing(state: State, plans: Sequence[Consolidation], preview: dict[str, Any]) -> None:
    """Say why nothing can be archived. Raises Refused where that is the reason."""
    for plan in plans:
        if plan.refused and not plan.nothing:
            raise errors.Refused(plan.refused, plan.key, "nothing was changed")
    why = [f"{plan.key}: {plan.nothing}, {plan.tokens:,} of {plan.budget:,} tokens." for plan in plans]
    state.show({"operation": None, **preview}, why or ["Every session is within its budget."])


def _lines(plans: Sequence[Consolidation]) -> list[str]:
    columns = [
        Column("Session", least=24, of=lambda plan: plan.key),
        Column("Messages", right=True, of=lambda plan: f"{plan.messages:,}"),
        Column("Archived", right=True, of=lambda plan: f"{plan.start:,} to {plan.end:,}"),
        Column("Tokens", right=True, of=lambda plan: f"{plan.tokens:,} → {plan.left:,}"),
        Column("Entries", right=True, drop=1, of=lambda plan: str(len(plan.entries))),
        Column("Refused", limit=60, least=16, optional=True, of=lambda plan: plan.refused),
    ]
    lines = ["Would archive:", *output.columned(columns, plans)]
    for plan in plans if len(plans) == 1 else ():
        for entry in plan.entries:
            lines += ["", entry.timestamp, *paragraph(entry.content, output.terminal_width())]
    for plan in plans:
        lines += [f"{plan.key}: {plan.note}"] if plan.note else []
        lines += _left_out(plan)
    return lines


def _left_out(plan: Consolidation) -> list[str]:
    lines = [f"Left out (#{one.message}, {one.why}): {one_line(one.text, 120)}" for one in plan.left_out[:_SHOWN]]
    more = len(plan.left_out) - _SHOWN
    return [*lines, f"… and {more:,} more"] if more > 0 else lines


def _entries(plan: Consolidation) -> str:
    cursors = [entry.cursor for entry in plan.entries]
    if not cursors:
        return "nothing in it to keep"
    span = str(cursors[0]) if len(cursors) == 1 else f"{cursors[0]} to {cursors[-1]}"
    return f"{output.counted(len(cursors), 'entry', 'entries')} ({span}); {plan.left:,} tokens stay"
