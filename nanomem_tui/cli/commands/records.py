"""`nanomem record KIND`: work records, kind by kind: list, show, add, edit, delete, export."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import (
    MAX_INPUT,
    Command,
    Count,
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
    warned,
)
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import added, show_changes, shown_value
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.errors import BadInput, NothingToDo
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.language.tokens import tokens
from nanomem_tui.store.work.kinds import ABOUT, KINDS, RECORD_KINDS, TIERS, Field, Kind, kind_of
from nanomem_tui.store.work.values import plain

if TYPE_CHECKING:
    from nanomem_tui.store.work.values import TierRecord
    from nanomem_tui.tiers.records import RecordChange
    from nanomem_tui.workspace import Workspace


# -- How the records of an agent's work read in a terminal. Prints nothing --------------------------------------------

SHORT = 60  # characters of a value that stands beside its name
AROUND = 100  # characters of what stands around a word that was found
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "goal": ("status", "priority"),
    "task": ("goal_id", "agent", "status"),
    "tool-call": ("task_id", "agent", "success", "duration_ms", "reason"),
    "agent-state": ("state",),
    "decision": ("chosen", "outcome"),
    "pattern": ("success_rate", "uses", "action"),
    "procedure": ("success_count", "fail_count"),
    "incident": ("root_cause", "resolution"),
    "config-change": ("changed_by", "reason"),
}
"""What a list shows beside the id, the time and the title."""
_RIGHT = frozenset({"priority", "duration_ms", "success_rate", "uses", "success_count", "fail_count"})


def records_table(kind: Kind, rows: Sequence[TierRecord]) -> list[str]:
    """A line for each record."""
    columns = [
        Column("ID", limit=36),
        Column("Time"),
        *(Column(name, limit=40, least=8, drop=2, right=name in _RIGHT, optional=True) for name in _COLUMNS[kind.name]),
        Column(kind.title, limit=120, least=16),
    ]
    cells = [
        (row.id, output.when(row.at), *(_cell(row.fields[name]) for name in _COLUMNS[kind.name]), row.title)
        for row in rows
    ]
    return table(columns, cells, output.terminal_width())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def found_in(record: TierRecord, held: Collection[str]) -> str:
    """The field that holds most of these tokens, and its words around the first of them; nothing where the title shows
    them."""
    kind = KINDS[record.kind]
    texts = {name: plain(record.fields.get(name)) for name in kind.words}
    name = max(texts, key=lambda one: len({*held}.intersection(tokens(texts[one]))))
    text = " ".join(texts[name].split())
    at = _first_match(text, held)
    if name == kind.title and at < AROUND:
        return ""
    start = max(0, at - AROUND // 3)
    part = text[start : start + AROUND]
    return f"{name}: {'…' * (start > 0)}{part.strip()}{'…' * (start + AROUND < len(text))}"


def _first_match(text: str, held: Collection[str]) -> int:
    """Where the first of the tokens stands in a text; 0 where that is not known."""
    for word in re.finditer(r"\w+", text):
        found = tokens(word.group())
        if len(found) == 1 and found[0] in held:
            return word.start()
        if len(found) > 1 and (inside := [word.group().find(one) for one in held if one in word.group()]):
            return word.start() + min(inside)  # a script that sets no spaces
    return 0


def lines(kind: Kind, found: TierRecord) -> list[str]:
    """The short values beside their names, then the long ones below theirs."""
    shown = {field.name: _full_value(field.type, found.fields[field.name]) for field in kind.fields}
    long = {name: text for name, text in shown.items() if "\n" in text or len(text) > SHORT}
    pairs = [("id", found.id), ("tier", found.tier)]
    pairs += [(name, text) for name, text in shown.items() if name not in long]
    pairs += [("origin", found.origin), ("stored", output.when(found.stored_at))]
    pairs += [("changed", output.when(found.changed_at))] if found.changed_at != found.stored_at else []
    told = output.fields(pairs)
    width = output.terminal_width()
    for name, text in long.items():
        told += ["", f"{name}:", *(f"  {line}" for line in paragraph(text, width - 2 if width else None))]
    return told


def _full_value(type_: str, value: Any) -> str:
    if type_ == "time":
        return output.when(value) if value else ""
    if isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= SHORT else json.dumps(value, ensure_ascii=False, indent=2)
    return _cell(value)


def links(ws: Workspace, found: TierRecord) -> list[dict[str, Any]]:
    """What hangs together with a record; of the tasks of a goal also their own."""
    linked = []
    for relation, other in ws.records.links(found):
        below = links(ws, other) if relation == "task" and found.kind == "goal" else []
        below = [one for one in below if one["relation"] != "goal"]
        linked.append({"relation": relation, **other.to_json(), "links": below})
    return linked


def link_lines(linked: Sequence[Mapping[str, Any]]) -> list[str]:
    """What hangs together with a record, as `links` gives it."""
    from nanomem_tui.tiers.records import LINKED

    rows = [(("", one), *(("↳ ", below) for below in one["links"])) for one in linked]
    cells = [
        (f"{indent}{one['relation']}", one["id"], output.when(one[KINDS[one["kind"]].when]), _state(one),
         str(one[KINDS[one["kind"]].title] or ""))
        for group in rows
        for indent, one in group
    ]  # fmt: skip
    columns = [
        Column("Linked"),
        Column("ID", limit=36),
        Column("Time", drop=1),
        Column("", limit=20, optional=True),
        Column("What", limit=100, least=16),
    ]
    many = [name for name, number in Counter(one["relation"] for one in linked).items() if number >= LINKED]
    told = [f"Of its {name}s the newest {LINKED} are named." for name in many]
    return ["", *table(columns, cells, output.terminal_width()), *told] if cells else []


def _state(one: Mapping[str, Any]) -> str:
    if one["kind"] == "tool-call":
        return {True: "worked", False: "failed"}.get(one["success"], "")
    return str(one.get("status") or "")


def past_lines(past: Sequence[RecordChange]) -> list[str]:
    """The changes of a record, with the fields that changed; what came or went whole is told by its label."""
    told: list[str] = []
    for one in past:
        told.append(f"{output.when(one.at)}  {one.actor}: {one.label}{' (taken back)' * one.undone}")
        if any(value is not None for value in one.before.values()) and any(
            value is not None for value in one.after.values()
        ):
            told += [
                f"  {name}: {shown_value(one.before.get(name))} → {shown_value(value)}"
                for name, value in one.after.items()
            ]
    return told


def counted_of(kind: Kind, number: int) -> str:
    """So many records of a kind, in words."""
    return output.counted(number, kind.name.replace("-", " "))


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
    limits = field.limits.summary if field.limits is not None else ""
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
            return record_search_search
        if cmd_name == "export":
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
    """Work records: goals, tasks, tool calls, decisions and the rest.

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
        found = ws.records.list_records(kind.name, tier, wanted, since, until, limit, offset)
        whole = limit is None and not offset
        number = len(found) if whole else ws.records.count(kind.name, tier, wanted, since, until)
    ending = output.of_total(len(found), number, kind.name.replace("-", " "))
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
    state.show(json_objects.plain(body), lambda: past_lines(past) or ["Never changed."])


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
    show_changes(state, done, {"record": row.to_json(), "warnings": warnings}, "Nothing changed.", dry_run=dry_run)


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
    state.show({"operation": json_objects.operation(operation), **preview}, [operation.label])


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


# -- `nanomem record search`: the records of every kind most like a question, as seed 004 asks for them ---------------

COLLECTIONS = tuple(KINDS[name].table for name in RECORD_KINDS)
"""The records of each kind."""
_SAID = ("resolution", "action", "reasoning", "result", "reason", "error")
"""What is told beside the title: what helped."""


@click.command("search", cls=Command)
@query_options
@click.option(
    "--in", "collections", type=click.Choice(COLLECTIONS), multiple=True, help="Only in this collection, or several."
)
@click.option("--limit", type=click.IntRange(1, 100), default=5, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def record_search_search(
    state: State, query: str | None, terms: Sequence[str], collections: Sequence[str], limit: int, offset: int
) -> None:
    """The records most like a question, by their words and their meaning: what was like this before, and what helped?

    All kinds are searched. Patterns, states of agents and configurations are found by their words alone; all are where
    no embedding model is installed, which is said.

    \b
    Example:
      nanomem record search "nginx returning 502 bad gateway after restart" --in incidents --in procedures
    """
    with state.open() as ws:
        answer = ws.records.semantic_search(asked_query(query, terms), collections, offset + limit)
    hits = answer.hits[offset:]
    columns = [
        Column("Score", right=True),
        Column("Kind"),
        Column("ID", limit=36, drop=2),
        Column("Time", drop=1),
        Column("What", limit=60, least=16),
        Column("What helped", limit=100, least=12, drop=3, optional=True),
    ]
    found = [(f"{hit.score:.2f}", hit.record) for hit in hits]
    rows = [(score, one.kind, one.id, output.when(one.at), one.title, _helped(one.fields)) for score, one in found]
    ending = f"{output.counted(len(rows), 'record')}, by {answer.by}"
    state.show([hit.to_json() for hit in hits], lambda: [*table(columns, rows, output.terminal_width()), ending])
    output.notes([f"Note: by words alone: {one_line(answer.note, 300)}"] if answer.note else [])


def _helped(fields: Mapping[str, object]) -> str:
    return next((str(fields[name]) for name in _SAID if fields.get(name)), "")


# `nanomem record export`: every record of an agent's work in a file, which `nanomem memory import` reads back.


@click.command("export", cls=Command)
@click.option("--to", "--output", "target", type=Words(), required=True, metavar="FILE", help="Write to this file.")
@click.option("--force", "--yes", "force", is_flag=True, help="Replace the file when it is there.")
@pass_state
def export(state: State, target: str, force: bool) -> None:
    """Every record of every kind as JSON lines, with events and metrics, of working and of long-term memory.

    `nanomem memory import FILE` takes them in again, here or in another workspace, with every field. What records were
    before they were changed, and years that lie in an archive, are not in it. The file is 0600.

    \b
    Example:
      nanomem record export --to work.jsonl
      nanomem memory import work.jsonl --dry-run
    """
    if target == "-":
        raise click.UsageError("`-` is the name of no file", click.get_current_context())
    with state.open() as ws:
        counts = ws.transfer.export_work(target, force=force)
    total = sum(counts.values())
    of_kinds = ", ".join(counted(number, kind.replace("-", " ")) for kind, number in counts.items())
    body = {"path": target, "records": total, "counts": counts}
    state.show(body, [f"Wrote {counted(total, 'record')} to {target}: {of_kinds}."])
