"""`nanomem facts`: list, show, search and change facts by domain, category and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import memory_answers, output
from nanomem_tui.cli.json_objects import FOREIGN
from nanomem_tui.cli.memory_answers import conflicts, marks
from nanomem_tui.cli.options import (
    Command,
    Count,
    Group,
    Words,
    agreed,
    asked_query,
    belonging_to,
    decided,
    given_text,
    ids_argument,
    paged,
    pass_state,
    query_options,
    rehearsable,
    seen_as,
    warn,
)
from nanomem_tui.cli.output import Column, paragraph
from nanomem_tui.cli.planned import added, show_changes
from nanomem_tui.cli.resource import Resource, typed
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.facts.facts import Value
    from nanomem_tui.memory.facts.search import Found
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.store.values import Fact
    from nanomem_tui.workspace import Workspace


_CHANGES = "nanomem_tui.cli.commands.facts"
_LATE = {"set": f"{_CHANGES}:set_", **{name: f"{_CHANGES}:{name}" for name in ("edit", "delete", "merge")}}
SHOWN = 5
"""Hits of a search where nobody says how many: as many as the seed's tool gives."""


@click.group("facts", cls=Group, late=_LATE)
def facts() -> None:
    """Facts with a domain, a category and a key, and the values that each had.

    \b
    Example:
      nanomem facts list --domain Work
      nanomem facts set --domain Work --category Contact --key phone --value "555 0100"
    """


FACTS: Resource = Resource(
    ("fact",), "facts", "facts", lambda _, fact: fact.to_json(),
    lambda rows, _: [f"Would delete {FACTS.counted(len(rows))}:", *fact_lines(rows)], layer="item",
)  # fmt: skip


# -- listing -----------------------------------------------------------------------------------------------------------


@facts.command("list")
@click.option("--domain", type=Words(), help='Only this domain; "" for facts without one.')
@click.option("--category", type=Words(), help="Only this category.")
@click.option("--sub-category", type=Words(), help="Only this sub-category.")
@click.option("--key", type=Words(), help="Only this key.")
@seen_as
@click.option("--tree", is_flag=True, help="By domain and category.")
@paged
@pass_state
def list_facts(state: State, audience: Audience, tree: bool, limit: int | None, offset: int, **names: Any) -> None:
    """The facts with these names, newest first; upper and lower case are one. Those of a database that is not imported
    are listed too, read only.

    \b
    Example:
      nanomem facts list --domain Work --category Contact
      nanomem facts list --tree
    """
    with state.open() as ws:
        found = ws.facts.all(**names, audience=None if audience.is_owner else audience, foreign=True)
        shown = page(found, limit, offset)
        by_name = ws.facts.tree(shown) if tree else {}
        asked = any(name is not None for name in names.values())
        note = "" if found or asked or state.json else memory_answers.elsewhere_note(ws)
    body: Any = [fact.to_json() for fact in shown]
    if tree:
        body = {one: {name: [f.to_json() for f in rows] for name, rows in of.items()} for one, of in by_name.items()}
    ending = FACTS.ending(len(shown), len(found))
    state.show(body, lambda: [*(_tree(by_name) if tree else fact_lines(shown)), ending])
    memory_answers.say(state, note)


def fact_lines(shown: Sequence[Fact]) -> list[str]:
    """The facts as a table; their scope and state only where these differ."""
    columns = [
        Column("ID", of=lambda fact: fact.id),
        Column("Domain", limit=24, least=8, drop=1, optional=True, of=lambda fact: fact.domain or ""),
        Column("Category", limit=24, least=8, of=lambda fact: fact.category),
        Column("Sub", limit=20, least=6, drop=4, optional=True, of=lambda fact: fact.sub_category or ""),
        Column("Key", limit=40, least=10, of=lambda fact: fact.key),
        Column("Value", limit=90, least=16, of=lambda fact: fact.value),
        Column("Scope", drop=5, optional=True, of=lambda fact: fact.item.scope_type if scopes else ""),
        Column("State", drop=3, optional=True, of=lambda fact: marks(fact.item)),
        Column("Updated At", drop=2, of=lambda fact: output.when(fact.item.updated_at)),
    ]
    scopes = len({fact.item.scope_type for fact in shown}) > 1

    return output.columned(columns, shown)


def _tree(by_name: Mapping[str, Mapping[str, Sequence[Fact]]]) -> list[str]:
    width = output.terminal_width()
    lines = []

    def add(depth: int, text: str) -> None:
        lines.append("  " * depth + one_line(text, width - 2 * depth if width else 0))

    for domain, categories in by_name.items():
        add(0, domain)
        for category, rows in categories.items():
            add(1, f"{category} ({len(rows)})")
            for fact in rows:
                sub = f"{fact.sub_category} / " if fact.sub_category else ""
                add(2, f"{sub}{fact.key}: {fact.value}")
    return lines


# -- one fact ----------------------------------------------------------------------------------------------------------


@facts.command()
@click.argument("fact_id", metavar="[ID]", type=Words(), required=False)
@click.option("--domain", type=Words(), help='With --key: in this domain; "" for none.')
@click.option("--category", type=Words(), help="With --key: in this category.")
@click.option("--key", type=Words(), help="The fact of this key.")
@pass_state
def get(state: State, fact_id: str | None, domain: str | None, category: str | None, key: str | None) -> None:
    """One fact, by its ID (a unique beginning is enough) or by its category and key.

    \b
    Example:
      nanomem facts get --category Contact --key phone --domain Work
    """
    ctx = click.get_current_context()
    if fact_id is not None and (domain is not None or category is not None or key is not None):
        raise click.UsageError("name the ID, or --category and --key", ctx)
    with state.open() as ws:
        if fact_id is not None:
            fact = next((one for one in ws.facts.all(foreign=True) if one.id == fact_id), None) or ws.facts.get(fact_id)
        elif category is None or key is None:
            raise click.UsageError("name the ID, or --category and --key", ctx)
        else:
            fact = _named(ws, category, key, domain)
        earlier = 0 if _is_foreign(fact) else len(ws.facts.history(fact.id)) - 1
    state.show(fact.to_json(), lambda: _detail(fact, earlier))


def _named(ws: Workspace, category: str, key: str, domain: str | None) -> Fact:
    """The one fact of these names. Raises NotFound, or BadInput where there are several."""
    found = ws.facts.all(domain=domain, category=category, key=key, foreign=True)
    where = " / ".join(filter(None, (domain, category, key)))
    if not found:
        raise NotFound("no such fact", where, "see `nanomem facts list`")
    if len(found) > 1:
        which = ", ".join(f"{fact.id} ({_place(fact)})" for fact in found[:SHOWN])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise BadInput(f"{len(found)} facts have these names", where, f"name --domain or an ID: {which}{more}")
    return found[0]


def _is_foreign(fact: Fact) -> bool:
    return fact.item.source.startswith(FOREIGN)


def _place(fact: Fact) -> str:
    """What sets a fact apart from others of its category and key."""
    from nanomem_tui.memory.facts.facts import NO_DOMAIN

    scope = "" if fact.item.scope_type == "global" else f", {fact.item.scope_key}"
    return f"{fact.domain or NO_DOMAIN}{scope}"


def _detail(fact: Fact, earlier: int) -> list[str]:
    item = fact.item
    pairs = [
        ("ID", fact.id),
        *fact_pairs(fact, earlier),
        ("State", marks(item)),
        *conflicts(item, f"nanomem facts edit {fact.id}"),
        ("Scope", f"{item.scope_type} {item.scope_key}".strip()),
        ("Session", item.session_key or ""),
        ("Source", item.source),
        ("Message", " ".join(filter(None, (item.source_message_id, item.source_role)))),
        ("Hits", str(item.hits)),
        ("Created", output.when(item.created_at)),
        ("Updated", output.when(item.updated_at)),
    ]
    return [*paragraph(fact.value, output.terminal_width()), "", *output.fields(pairs)]


def fact_pairs(fact: Fact, earlier: int) -> list[tuple[str, str]]:
    """The names of a fact, and how many values it had before."""
    before = f"{output.counted(earlier, 'value')} before this one (nanomem facts history {fact.id})" if earlier else ""
    return [
        ("Domain", fact.domain or ""),
        ("Category", fact.category),
        ("Sub-category", fact.sub_category or ""),
        ("Key", fact.key),
        ("Earlier", before),
    ]


@facts.command()
@click.argument("fact_id", metavar="ID", type=Words())
@paged
@pass_state
def history(state: State, fact_id: str, limit: int | None, offset: int) -> None:
    """The values that a fact had, newest first: from when to when, who gave it, in which session.

    \b
    Example:
      nanomem facts history fact_0123456789abcdef0123
    """
    with state.open() as ws:
        fact = ws.facts.get(fact_id)
        found = ws.facts.history(fact.id)
    shown = page(found, limit, offset)
    body = [{"id": fact.id, **value.to_json()} for value in shown]
    state.show(body, lambda: _values(shown))


def _values(shown: Sequence[Value]) -> list[str]:
    columns = [
        Column("From", of=lambda value: output.when(value.since)),
        Column("To", of=lambda value: output.when(value.until) if value.until else "now"),
        Column("Value", limit=90, least=20, of=lambda value: value.value),
        Column("By", drop=2, optional=True, of=lambda value: value.actor),
        Column("Session", limit=28, least=12, drop=3, optional=True, of=lambda value: value.session_key or ""),
        Column("Message", limit=24, least=10, drop=4, optional=True, of=lambda value: value.source_message_id or ""),
        Column("Operation", drop=1, optional=True, of=lambda value: value.operation),
    ]
    return output.columned(columns, shown)


# -- searching ---------------------------------------------------------------------------------------------------------


@facts.command()
@query_options
@click.option("--domain", type=Words(), help="Only this domain: all its facts, those that fit best first.")
@click.option("--category", type=Words(), help="Only this category: all its facts, those that fit best first.")
@seen_as
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@click.option("--limit", type=Count(1), default=SHOWN, show_default=True, help="Print N at most.")
@click.option("--offset", type=Count(), default=0, help="Leave out the first N.")
@pass_state
def search(
    state: State,
    query: str | None,
    terms: Sequence[str],
    domain: str | None,
    category: str | None,
    **how: Any,
) -> None:
    """Facts nearest in meaning to some words; by the words themselves where nothing finds by meaning.

    \b
    Example:
      nanomem facts search "how do I reach the plumber" --limit 3
      nanomem facts search phone --domain Work
    """
    find(state, asked_query(query, terms), domain, category, **how, facts_only=True)


def find(
    state: State,
    query: str,
    domain: str | None,
    category: str | None,
    audience: Audience,
    *,
    limit: int,
    offset: int,
    explain: bool,
    facts_only: bool,
) -> None:
    """Print what `memory_search` finds, and on stderr what kept it from finding by meaning."""
    from nanomem_tui.memory.recall.scoring import MAX_DISTANCE

    with state.open() as ws:
        answer = ws.memory_search(
            query, domain, category, limit=limit + offset, audience=audience, facts_only=facts_only, far=True
        )
        silent = bool(answer.results) or state.json
        note = "" if silent else memory_answers.elsewhere_note(ws, query, audience, ours_only=True)
    shown = answer.results[offset:]
    state.show(
        [one.to_json() for one in shown], lambda: _found(shown, MAX_DISTANCE, explain=explain) or ["Nothing found."]
    )
    if state.json:
        return
    if answer.total > len(answer.results):
        output.notes([f"{len(shown):,} of {answer.total:,}: --limit N and --offset N show others"])
    if answer.note:
        output.notes([f"Note: found by words: {answer.note}"])
    memory_answers.say(state, note)


def _found(shown: Sequence[Found], most: float, *, explain: bool) -> list[str]:
    """The hits as a table: how far each is in meaning, or its score by words; under a line of their own those that are
    farther than `most`, of which no agent is told."""
    columns = [
        Column(
            "Distance",
            right=True,
            optional=True,
            of=lambda one: "" if one.distance is None else f"{one.distance:.3f}{'' if one.is_near else ' far'}",
        ),
        Column("Score", right=True, drop=2, optional=True, of=lambda one: f"{one.score:.3f}" if by_words else ""),
        Column("ID", of=lambda one: one.id),
        Column("Domain", limit=24, least=8, drop=1, optional=True, of=lambda one: (one.fact and one.fact.domain) or ""),
        Column(
            "Category", limit=24, least=8, drop=3, optional=True, of=lambda one: (one.fact and one.fact.category) or ""
        ),
        Column("Text", limit=120, least=28, of=lambda one: one.text),
        Column("Updated", drop=4, of=lambda one: output.when(one.item.updated_at)),
    ]
    by_words = any(one.distance is None and one.score for one in shown)

    head, *rows = output.columned(columns, shown) or [""]
    near = sum(one.is_near or one.how == "facts" for one in shown)
    lines = [[row] for row in rows]
    if explain:
        from nanomem_tui.cli.passages import parts

        told = [f"       found by {one.how}; {parts(dict(one.parts))}".rstrip("; ") for one in shown]
        lines = [[row, more] for row, more in zip(rows, told, strict=True)]
    if near < len(shown):
        lines.insert(near, [f"Not near ({most:g} or farther in meaning):"])
    return [head, *chain.from_iterable(lines)] if shown else []


# The commands of `nanomem facts` that change facts. Each is one recorded operation that `nanomem undo` takes back.


@click.command("set", cls=Command)
@click.option("--domain", type=Words(), help="The part of life that it belongs to, such as Work.")
@click.option("--category", type=Words(), required=True, help="What sort of fact it is, such as Contact.")
@click.option("--sub-category", type=Words(), help="A finer sort.")
@click.option("--key", type=Words(), required=True, help="What it is called.")
@click.option("--value", type=Words(), help="What is so.")
@click.option("--value-file", type=Words(), metavar="FILE", help="The value is in this file (-: on stdin).")
@click.option("--scope", type=click.Choice(["chat", "user", "global"]), help="Who sees it (default: global).")
@belonging_to
@rehearsable
@pass_state
def set_(
    state: State,
    value: str | None,
    value_file: str | None,
    scope: str | None,
    audience: Audience,
    dry_run: bool,
    category: str,
    key: str,
    **names: Any,
) -> None:
    """Give a fact its value; the one that it had stays in its history. Safe on disk when the command returns.

    A domain, a category and a key name one fact: the same key in another domain is another fact.

    \b
    Example:
      nanomem facts set --domain Work --category Contact --key phone --value "555 0100"
    """
    given = _value(value, value_file)
    if given is None:
        raise click.UsageError("give --value or --value-file", click.get_current_context())
    done: list[Operation] = []
    with state.open(dry_run=dry_run, starting=True) as ws:
        ws.store.load("item")
        try:
            operation, fact, warnings = ws.facts.set(
                category, key, given, **names, scope_type=scope, **audience._asdict()
            )
        except NothingToDo as nothing:
            fact, warnings = ws.facts.get(nothing.where), []
        else:
            done = [operation]
    warn(state, warnings)
    body = {"fact": fact.to_json(), "warnings": list(warnings)}
    if done:
        added(state, done[0], fact.id, body, dry_run=dry_run)
    else:
        show_changes(state, [], body, "It is so already.", dry_run=dry_run)


def _value(value: str | None, file: str | None) -> str | None:
    """The value that was given, here or in a file; None without any. Raises BadInput, NanomemError."""
    if file is None:
        return value
    if value is not None:
        raise click.UsageError("give --value or --value-file, not both", click.get_current_context())
    return given_text(file, "reading the value", "give a shorter value", "value")


@click.command(cls=Command)
@click.argument("fact_id", metavar="ID", type=Words())
@click.option("--value", type=Words(), help="What is so now (without any option: edit it in $EDITOR).")
@click.option("--value-file", type=Words(), metavar="FILE", help="The value is in this file (-: on stdin).")
@click.option("--key", type=Words(), help="Another key.")
@click.option("--category", type=Words(), help="Another category.")
@click.option("--domain", type=Words(), help='Another domain; "" takes it away.')
@click.option("--sub-category", type=Words(), help='Another sub-category; "" takes it away.')
@rehearsable
@pass_state
def edit(state: State, fact_id: str, value: str | None, value_file: str | None, dry_run: bool, **names: Any) -> None:
    """Correct a fact, its value or its names, here or in your editor.

    \b
    Example:
      nanomem facts edit fact_0123456789abcdef0123 --key "phone at work"
    """
    given = {"value": _value(value, value_file), **names}
    done: list[Operation] = []
    with state.open(dry_run=dry_run) as ws:
        ws.store.load("item")
        fact = ws.facts.get(fact_id)
        new = typed(given, fact.item, "value", fact.value, "--value")
        with new.kept(), suppress(NothingToDo):
            done = [ws.facts.edit(fact.id, expected=new.seen, **new.fields)]
        fact = ws.facts.get(fact.id)
        warnings = ws.items.warnings(fact.item) if done and "value" in new.fields else []
    warn(state, warnings)
    show_changes(state, done, {"fact": fact.to_json(), "warnings": warnings}, "Nothing changed.", dry_run=dry_run)


delete = FACTS.deleting(
    """Take facts away, with all their values. `nanomem undo` brings them back.

    \b
    Example:
      nanomem facts delete fact_0123456789abcdef0123 --yes
    """
)


@click.command(cls=Command)
@ids_argument
@click.option("--into", type=Words(), metavar="ID", help="The fact that stays, with its names and its value.")
@decided
@pass_state
def merge(state: State, ids: Sequence[str], into: str | None, yes: bool, dry_run: bool) -> None:
    """Make one fact of several: the newest (or --into) stays, the values of the others go into its history.

    \b
    Example:
      nanomem facts merge fact_0123456789abcdef0123 fact_fedcba9876543210fedc --dry-run
    """
    with state.open(dry_run=dry_run) as ws:
        rows = FACTS.rows(ws, [*ids, *([into] if into else [])])
        kept = ws.facts.get(into) if into else max(rows, key=lambda fact: fact.item.updated_at)
        preview = {"merged": [fact.to_json() for fact in rows], "kept": kept.id}
        if not into and not dry_run and len(rows) > 1:
            lines = [*fact_lines(rows), f"What stands is {kept.id}; the other values go into its history."]
            agreed(state, preview, lines, "Merge them?", yes=yes, dry_run=False)
        operation = ws.facts.merge([fact.id for fact in rows], into=kept.id)
        body = {"fact": ws.facts.get(kept.id).to_json(), **preview}
    show_changes(state, [operation], body, dry_run=dry_run)
