"""`nanomem record KIND`: what an agent recorded of its work, kind by kind.

Owns the form of the lines, and how a value on a command line becomes one of a record. What a record may hold is not its
matter.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from nanomem_tui.cli import values
from nanomem_tui.cli.memory_changes import warned
from nanomem_tui.cli.planned import added, tell
from nanomem_tui.cli.record_lines import counted_of, lines, link_lines, links, past_lines, records_table
from nanomem_tui.cli.shared import (
    MAX_INPUT,
    Command,
    Group,
    Words,
    agreed,
    asked_query,
    decided,
    json_object,
    paged,
    pass_state,
    query_options,
    rehearsable,
)
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.errors import BadInput, NothingToDo
from nanomem_tui.store.work.kinds import ABOUT, RECORD_KINDS, TIERS, Field, Kind, kind_of

SHOWN = 20  # of those that are to be deleted

_EXAMPLES: Mapping[str, tuple[str, str]] = {
    "goal": ("status=active", '{"description": "Keep the site up", "priority": 1}'),
    "task": ("status=failed", '{"goal_id": "goal_7", "description": "Restart nginx"}'),
    "tool-call": ("tool_name=fs.read", '{"tool_name": "fs.read", "input": {"path": "/etc/hosts"}}'),
    "agent-state": ("agent_name=system-agent", '{"agent_name": "system-agent", "state": {"busy": true}}'),
    "decision": ("chosen=reload", '{"context": "nginx 502", "chosen": "reload", "reasoning": "less disruptive"}'),
    "pattern": ('trigger="nginx down"', '{"trigger": "nginx down", "action": "restart nginx"}'),
    "procedure": ("name=restart", '{"name": "restart", "description": "Restart nginx", "steps": ["stop", "start"]}'),
    "incident": ("resolved_by=ana", '{"description": "nginx answers 502", "root_cause": "out of memory"}'),
    "config-change": (
        "file_path=/etc/hosts", '{"file_path": "/etc/hosts", "content": "127.0.0.1 localhost", "reason": "reset"}'
    ),
}  # fmt: skip
"""Of each kind a condition of a list, and the data of a record."""


_READ: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "real": float,
    "bool": lambda text: {"yes": True, "true": True, "no": False, "false": False}.get(text.lower(), text),
}
"""A value on the command line as its field takes it; what it cannot be is refused with the others."""


class _OfKind(Command):
    """A command of every kind. Its help has the places `{kind}`, `{where}` and `{data}`."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help with the words of the kind."""
        kind = _kind(ctx)
        where, data = _EXAMPLES[kind.name]
        shown = copy.copy(self)
        shown.help = (self.help or "").replace("{kind}", kind.name).replace("{where}", where).replace("{data}", data)
        click.Command.format_help_text(shown, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The fields of the kind."""
        if self.name in ("list", "add", "edit"):
            told = ", ".join(
                f"{field.name}{'*' if field.needed else ''} ({_type(field)})" for field in _kind(ctx).fields
            )
            formatter.write_paragraph()
            formatter.write_text(f"Fields (* must be given): {told}.")


def _type(field: Field) -> str:
    """What a field takes."""
    limits = field.limits.told if field.limits is not None else ""
    return limits if field.type in ("text", "json") and limits else ", ".join(filter(None, (field.type, limits)))


def _kind(ctx: click.Context) -> Kind:
    """The kind that the command line names."""
    return kind_of(str(ctx.parent.info_name if ctx.parent else ""))


class _Kinds(Group):
    """The kinds as the commands of `record`; a kind may also be named as its table is."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every kind, and what is done with all of them."""
        return [*RECORD_KINDS, "search", "export"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """What can be done with records of a kind. Raises BadInput for a kind that there is not."""
        if cmd_name == "search":
            from nanomem_tui.cli.record_search import search as in_all

            return in_all
        if cmd_name == "export":
            from nanomem_tui.cli.record_export import export

            return export
        kind = kind_of(cmd_name)
        if kind.name not in RECORD_KINDS:
            raise BadInput("not recorded one by one", kind.name, f"one of {', '.join(RECORD_KINDS)}")
        return _kind_group(kind)


def _kind_group(kind: Kind) -> Group:
    example = f"\b\nExample:\n  nanomem record {kind.name} list --where {_EXAMPLES[kind.name][0]}"
    commands = (list_records, show, search, history, add, edit, delete)
    named = {str(command.name): command for command in commands}
    return Group(kind.name, commands=named, help=f"{ABOUT[kind.name]}\n\n{example}")


@click.group("record", cls=_Kinds, subcommand_metavar="KIND COMMAND [ARGS]...")
def record() -> None:
    """What the agent recorded of its work: goals, tasks, tool calls, decisions and the rest.

    \b
    Example:
      nanomem record goal list --where status=active
      nanomem record search "nginx returning 502"
    """


# -- looking ----------------------------------------------------------------------------------------------------------


@click.command("list", cls=_OfKind)
@click.option("--tier", type=click.Choice(TIERS), help="Only of working or of long-term memory.")
@click.option("--where", type=Words(), multiple=True, metavar="FIELD=VALUE", help="Only those with that value.")
@click.option("--since", type=Words(), default="", metavar="TIME", help="From this day or time on, like 2026-02-15.")
@click.option("--until", type=Words(), default="", metavar="TIME", help="Before this day or time.")
@paged
@pass_state
@click.pass_context
def list_records(
    ctx: click.Context,
    state: State,
    tier: Any,
    where: Sequence[str],
    since: str,
    until: str,
    limit: int | None,
    offset: int,
) -> None:
    """The records, newest first.

    \b
    Example:
      nanomem record {kind} list --where {where} --limit 20
    """
    kind = _kind(ctx)
    wanted = _wanted(kind, where)
    with state.open() as ws:
        found = ws.records.of(kind.name, tier, wanted, since, until, limit, offset)
        whole = limit is None and not offset
        number = len(found) if whole else ws.records.count(kind.name, tier, wanted, since, until)
    ending = counted_of(kind, number) if len(found) == number else f"{len(found):,} of {counted_of(kind, number)}"
    state.show([row.to_json() for row in found], lambda: [*records_table(kind, found), ending])


@click.command(cls=_OfKind)
@click.argument("record_id", metavar="ID", type=Words())
@pass_state
@click.pass_context
def show(ctx: click.Context, state: State, record_id: str) -> None:
    """One record in full, with what hangs together with it: the tasks of a goal and their tool calls.

    \b
    Example:
      nanomem record {kind} show ID
    """
    kind = _kind(ctx)
    with state.open() as ws:
        found = ws.records.get(kind.name, record_id)
        linked = links(ws, found)
    body = {**found.to_json(), "stored_at": found.stored_at, "changed_at": found.changed_at, "links": linked}
    state.show(body, lambda: [*lines(kind, found), *link_lines(linked)])


@click.command(cls=_OfKind)
@query_options
@click.option("--tier", type=click.Choice(TIERS), help="Only of working or of long-term memory.")
@paged
@pass_state
@click.pass_context
def search(
    ctx: click.Context, state: State, query: str | None, terms: Sequence[str], tier: Any, limit: int | None, offset: int
) -> None:
    """The records that hold words of a question, best first; 20 of them unless --limit says more.

    \b
    Example:
      nanomem record {kind} search "nginx 502"
    """
    kind = _kind(ctx)
    most = (20 if limit is None else limit) + offset
    with state.open() as ws:
        hits = page(ws.records.search(asked_query(query, terms), (kind.name,), tier, most), None, offset)
    rows = [hit.record for hit in hits]
    state.show([hit.to_json() for hit in hits], lambda: [*records_table(kind, rows), counted_of(kind, len(rows))])


@click.command(cls=_OfKind)
@click.argument("record_id", metavar="ID", type=Words())
@paged
@pass_state
@click.pass_context
def history(ctx: click.Context, state: State, record_id: str, limit: int | None, offset: int) -> None:
    """Every change of a record, newest first: by people, by imports, and what agents overwrote.

    \b
    Example:
      nanomem record {kind} history ID
    """
    kind = _kind(ctx)
    with state.open() as ws:
        found = ws.records.history(kind.name, ws.records.get(kind.name, record_id).id)
    past = page(found, limit, offset)
    body = [{"id": one.operation, **one._asdict()} for one in past]
    state.show(values.plain(body), lambda: past_lines(past) or ["Never changed."])


# -- changing ---------------------------------------------------------------------------------------------------------


@click.command(cls=_OfKind)
@click.option("--data", type=Words(), required=True, metavar="JSON", help="The fields, as a JSON object (-: on stdin).")
@click.option("--id", "record_id", type=Words(), default="", help="Its id (default: a new one).")
@rehearsable
@pass_state
@click.pass_context
def add(ctx: click.Context, state: State, data: str, record_id: str, dry_run: bool) -> None:
    """Record something; safe on disk when the command returns.

    \b
    Example:
      nanomem record {kind} add --data '{data}'
    """
    kind = _kind(ctx)
    fields = _object(kind, data)
    own = fields.pop("id", None) if kind.field("id") is None else None
    if own is not None and (not isinstance(own, str) or (record_id and own != record_id)):
        raise BadInput("`id` is no text, or not the one that --id gives", "--data", "give the id once")
    with state.open(dry_run=dry_run, starting=True) as ws:
        operation, row = ws.records.add(kind.name, fields, record_id or own or "")
    warnings = warned(state, fields)
    added(state, operation, row.id, {"record": row.to_json(), "warnings": warnings}, dry_run=dry_run)


@click.command(cls=_OfKind)
@click.argument("record_id", metavar="ID", type=Words())
@click.option("--data", type=Words(), required=True, metavar="JSON", help="The fields that change (-: on stdin).")
@rehearsable
@pass_state
@click.pass_context
def edit(ctx: click.Context, state: State, record_id: str, data: str, dry_run: bool) -> None:
    """Change fields of a record; null takes a value away.

    \b
    Example:
      nanomem record {kind} edit ID --data '{data}'
    """
    from nanomem_tui.store.work import layer

    kind = _kind(ctx)
    fields = _object(kind, data)
    with state.open(dry_run=dry_run) as ws:
        row = ws.records.get(kind.name, record_id)
        try:
            done = [ws.records.edit(kind.name, row.id, fields)]
        except NothingToDo:
            done = []
        else:
            changed = next(change for change in done[0].changes if change.key == row.key)
            row = layer.record_of(changed.key, changed.after or {})
    warnings = warned(state, fields) if done else []
    tell(state, done, {"record": row.to_json(), "warnings": warnings}, "Nothing changed.", dry_run=dry_run)


@click.command(cls=_OfKind)
@click.argument("ids", metavar="ID...", type=Words(), nargs=-1, required=True)
@decided
@pass_state
@click.pass_context
def delete(ctx: click.Context, state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Take records away. `nanomem undo` brings them back.

    \b
    Example:
      nanomem record {kind} delete ID --yes
    """
    kind = _kind(ctx)
    with state.open() as ws:
        rows = list({row.id: row for row in (ws.records.get(kind.name, one) for one in ids)}.values())
        preview = {"records": [row.to_json() for row in rows]}
        told = ["Would delete:", *records_table(kind, rows[:SHOWN])]
        if not agreed(state, preview, told, f"Delete {counted_of(kind, len(rows))}?", yes=yes, dry_run=dry_run):
            return
        operation = ws.records.delete(kind.name, [row.id for row in rows])
    state.show({"operation": values.operation(operation), **preview}, [operation.label])


# -- values of a command line -----------------------------------------------------------------------------------------


def _object(kind: Kind, data: str) -> dict[str, Any]:
    """The fields that were given. Raises BadInput."""
    given = sys.stdin.buffer.read(MAX_INPUT + 1) if data == "-" else data.encode()
    return json_object(given, "stdin" if data == "-" else "--data", _EXAMPLES[kind.name][1], once=True)


def _wanted(kind: Kind, conditions: Sequence[str]) -> dict[str, Any]:
    """The values that fields are to have, of conditions like `status=active`; without one: none. Raises BadInput."""
    found: dict[str, Any] = {}
    for condition in conditions:
        name, sign, text = condition.partition("=")
        field = kind.field(name)
        if field is None or not sign:
            names = ", ".join(field.name for field in kind.fields if field.type != "json")
            raise BadInput(f"{condition!r} is no FIELD=VALUE of a {kind.name}", "--where", f"its fields: {names}")
        value: Any = text if text or (field.required and field.type == "text") else None
        if text and field.type in _READ:
            with contextlib.suppress(ValueError):
                value = _READ[field.type](text)
        found[name] = value
    return found
