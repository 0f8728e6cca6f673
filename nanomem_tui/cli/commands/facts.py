"""`nanomem facts`: list, show, search and change facts; `nanomem crystallize`: propose facts out of conversations."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import fast_commands, json_objects, output
from nanomem_tui.cli.fast_commands import conflicts, marks
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
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.core.text import one_line, quoted

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.facts.crystallize import Answer, Crystallized, Decision, Plan
    from nanomem_tui.memory.facts.facts import Value
    from nanomem_tui.memory.facts.proposals import EndedFact, JudgedProposal
    from nanomem_tui.memory.facts.search import Found
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.store.values import Fact
    from nanomem_tui.workspace import Workspace


SHOWN = 5
"""Hits of a search where nobody says how many: as many as the seed's tool gives."""


@click.group("facts", cls=Group)
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
        note = "" if found or asked or state.json else fast_commands.elsewhere_note(ws)
    body: Any = [fact.to_json() for fact in shown]
    if tree:
        body = {one: {name: [f.to_json() for f in rows] for name, rows in of.items()} for one, of in by_name.items()}
    ending = FACTS.ending(len(shown), len(found))
    state.show(body, lambda: [*(_tree(by_name) if tree else fact_lines(shown)), ending])
    fast_commands.say(state, note)


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
        which = ", ".join(f"{fact.id} ({_apart(fact)})" for fact in found[:SHOWN])
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise BadInput(f"{len(found)} facts have these names", where, f"name --domain or an ID: {which}{more}")
    return found[0]


def _is_foreign(fact: Fact) -> bool:
    return fact.item.source.startswith(json_objects.FOREIGN)


def _apart(fact: Fact) -> str:
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
        note = "" if silent else fast_commands.elsewhere_note(ws, query, audience, ours_only=True)
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
    fast_commands.say(state, note)


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


@facts.command("set")
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


@facts.command()
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


facts.add_command(
    FACTS.deleting(
        """Take facts away, with all their values. `nanomem undo` brings them back.

        \b
        Example:
          nanomem facts delete fact_0123456789abcdef0123 --yes
        """
    )
)


@facts.command()
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


# -- `nanomem crystallize`: facts proposed from what people said, with the words that say them; a person decides ------

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MOST_REFUSED = 20
_DONE = {"keep": "kept", "inbox": "to the inbox", "reject": "rejected", "leave": "left as it is"}


@click.command("crystallize", cls=Command)
@click.option("--extractor", type=click.Choice(["rules", "model"]), help="Who finds facts, if not as set.")
@click.option("--session", type=Words(), metavar="KEY", help="Read this session alone, of whatever channel.")
@click.option(
    "--since", type=Words(), metavar="TIME", help="Read what was said since: 2026-03-01, yesterday, or 3d, 12h."
)
@click.option("--limit", type=Count(1), help="Messages to read, the last ones (default: 100).")
@click.option("--all", "everything", is_flag=True, help="Read every message of every session.")
@click.option("--ask-again", is_flag=True, help="Ask the model also about messages that it has read.")
@click.option(
    "--yes", is_flag=True, help="Keep all without asking, but what is for you to judge: that goes to the inbox."
)
@click.option("--accept", type=Words(), metavar="N,N-N", help="Keep those of these numbers, and leave the others.")
@click.option("--dry-run", is_flag=True, help="Say what it finds, and change nothing.")
@pass_state
def crystallize(
    state: State,
    since: str | None,
    limit: int | None,
    everything: bool,
    yes: bool,
    accept: str | None,
    dry_run: bool,
    **how: Any,
) -> int:
    """Find facts in what people said lately, and keep those that you accept. Exit code 1 when there is nothing new.

    At a terminal each is shown with the words that say it, and asked about. Without one they wait in the inbox, unless
    --yes or --accept says what to keep. A value that changes stays in the history of its fact. For you to judge are
    another value than one that you set or pinned, or that was said beside other things, and what somebody said whom
    nobody named. That a fact is so no longer waits in the inbox too.

    A model is asked once about a message: what it said of it is kept for later runs.

    \b
    Example:
      nanomem crystallize --dry-run
      nanomem crystallize --session telegram:12345 --yes
    """
    if sum((yes, accept is not None, dry_run)) > 1 and not (dry_run and yes):
        raise click.UsageError("give one of --yes, --accept and --dry-run", click.get_current_context())
    if limit is not None and everything:
        raise click.UsageError("--limit does not go with --all", click.get_current_context())
    begin = _since(state, since) if since is not None else None
    with state.open() as ws, ws.crystallizer.alone():
        with output.Progress() as progress:
            plan = ws.crystallizer.plan(since=begin, limit=limit, everything=everything, watch=progress, **how)
        wanted = _numbers(accept, len(plan.open)) if accept is not None else None
        done = _done(state, ws, plan, wanted, yes=yes, dry_run=dry_run)
    output.notes(f"Note: {problem}, and the session was left out" for problem in plan.dialogue.problems)
    state.show(_body(done, dry_run=dry_run), lambda: _lines(done, dry_run=dry_run))
    return 0 if done.operation is not None or (plan.is_new if dry_run else False) else NothingToDo.exit_code


def _done(
    state: State, ws: Workspace, plan: Plan, wanted: frozenset[int] | None, *, yes: bool, dry_run: bool
) -> Crystallized:
    """The plan as it was decided: by options, by a person at the terminal, or for the inbox."""
    from nanomem_tui.cli.commands import dream
    from nanomem_tui.memory.facts.crystallize import Crystallized, Decision

    if dry_run:
        return Crystallized(plan)
    if wanted is not None:
        decisions = [Decision(one, "keep" if one.number in wanted else "leave") for one in plan.open]
    elif yes:
        decisions = [Decision(one, "inbox" if one.why or one.unnamed else "keep") for one in plan.open]
    elif plan.open and dream.can_decide(state):
        decisions = decide_each(plan)
    else:
        decisions = [Decision(one, "inbox") for one in plan.open]
    return _kept(ws, plan, decisions)


def _kept(ws: Workspace, plan: Plan, decisions: Sequence[Decision]) -> Crystallized:
    from nanomem_tui.memory.facts.crystallize import Crystallized

    if not decisions and not ws.store.has_database:
        return Crystallized(plan)  # a home in which nothing was found stays as it is
    return ws.crystallizer.apply(plan, decisions)


def _since(state: State, text: str) -> datetime:
    """A time: a date, ISO 8601, how long ago, or words like `yesterday`. Raises BadInput."""
    ago = re.fullmatch(r"(\d{1,5})([mhdw])", text.strip())
    if ago is not None:
        return clock.now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    moment = clock.parse(text.strip())
    if moment is None:
        from nanomem_tui.language import times_asked
        from nanomem_tui.memory.recall import said_on, times

        paths = state.locate()
        with suppress(ValueError):
            day = times_asked.read_date(text, times.today(paths)).since
            return datetime.combine(day, datetime.min.time(), said_on.agent_zone(paths)).astimezone(UTC)
        raise BadInput(f"no time: {quoted(text)}", "--since", "give a date like 2026-03-01, or how long ago: 3d, 12h")
    return moment


def _numbers(text: str, most: int) -> frozenset[int]:
    """The numbers of `1,3-5`. Raises BadInput for what is none, or beyond what was found."""
    found: set[int] = set()
    for part in filter(None, (one.strip() for one in text.split(","))):
        span = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        first, last = (int(span[1]), int(span[2] or span[1])) if span else (0, 0)
        if not 1 <= first <= last:
            raise BadInput(f"no number: {quoted(part)}", "--accept", "give numbers of the preview, like 1,3-5")
        if last > most:
            raise BadInput(f"there is no fact {last}", "--accept", f"{output.counted(most, 'fact')} to decide on")
        found.update(range(first, last + 1))
    if not found:
        raise BadInput("no number is given", "--accept", "give numbers of the preview, like 1,3-5")
    return frozenset(found)


def _body(done: Crystallized, *, dry_run: bool) -> dict[str, Any]:
    plan = done.plan
    verdicts: list[str] = [one.verdict for one in plan.judged]
    counts = {name: verdicts.count(name) for name in dict.fromkeys(("new", "contradicts", "same", *verdicts))}
    counts |= {"kept": done.number_of("keep"), "inbox": done.number_of("inbox"), "rejected": done.number_of("reject")}
    return {
        "operation": json_objects.operation(done.operation),
        "dry_run": dry_run,
        "extractor": plan.extractor,
        "messages": plan.dialogue.messages,
        "sessions": plan.dialogue.sessions,
        "proposals": [_proposal(one, done) for one in plan.judged],
        "counts": counts,
        "over": [_over(one) for one in plan.over],
        "refused": [{**proposal.to_json(), "reason": why} for proposal, why in plan.refused],
        "left_out": list(plan.dialogue.left_out),
        "problems": list(plan.dialogue.problems),
        "notes": list(plan.notes),
        "usage": plan.usage.to_json(),
        "tokens": plan.usage.tokens_in + plan.usage.tokens_out,
        "cost": plan.usage.cost,
    }


def _proposal(one: JudgedProposal, done: Crystallized) -> dict[str, Any]:
    answer, row_id = done.done.get(one.number, ("", "")) if one.number else ("", "")
    decision = {"keep": "kept", "inbox": "inbox", "reject": "rejected", "leave": "left"}.get(answer)
    return {
        "id": row_id or one.known or None,
        "number": one.number or None,
        "verdict": one.verdict,
        "decision": decision,
        "old": one.old or None,
        "why": one.why or one.unnamed or None,
        "scope_type": one.scope.type,
        "scope_key": one.scope.key,
        **one.proposal.to_json(),
    }


def _over(one: EndedFact) -> dict[str, Any]:
    evidence = one.evidence
    told = {"session_key": evidence.session_key, "message": evidence.number, "at": evidence.at or None}
    return {
        "id": one.fact.id,
        "key": one.fact.key,
        "value": one.fact.value,
        "evidence": {**told, "text": evidence.text},
    }


def _lines(done: Crystallized, *, dry_run: bool) -> list[str]:
    from nanomem_tui.memory.facts.proposals import TOLD

    plan = done.plan
    read = f"{output.counted(plan.dialogue.messages, 'message')} of {output.counted(plan.dialogue.sessions, 'session')}"
    lines = [f"Read {read} by {'rules' if plan.extractor == 'rules' else 'a model'}."]
    lines += [f"{output.spent(plan.usage)}."] if plan.usage.calls else []
    for one in plan.open:
        answer, _ = done.done.get(one.number, ("", ""))
        lines += proposal_lines(one if answer in ("", "inbox") else one._replace(unnamed=""), _DONE.get(answer, ""))
    settled = [one.verdict for one in plan.judged if not one.number]
    told = {TOLD[name]: settled.count(name) for name in dict.fromkeys(settled)}
    lines += [f"Settled: {', '.join(f'{number} {why}' for why, number in told.items())}."] if told else []
    lines += [f"Refused ({why}): {one_line(proposal.text, 200)}" for proposal, why in plan.refused[:_MOST_REFUSED]]
    if len(plan.refused) > _MOST_REFUSED:
        lines.append(f"… and {output.counted(len(plan.refused) - _MOST_REFUSED, 'more')} refused")
    lines += [f"Note: {note}." for note in (*plan.dialogue.left_out, *plan.notes)]
    goes = "it would wait in the inbox that it goes" if dry_run else "that it goes waits in the inbox"
    lines += [
        f"So no longer: {one_line(fact.item.text, 200)}: {goes} ({quoted(evidence.text, 200)})"
        for fact, evidence in plan.over
    ]
    lines += [_ending(done, dry_run=dry_run)]
    return lines


def _ending(done: Crystallized, *, dry_run: bool) -> str:
    if not done.plan.open and not done.plan.over:
        return "Nothing new."
    if dry_run:
        return f"Would ask about {output.counted(len(done.plan.open), 'fact')}; nothing was changed."
    if done.operation is None:
        return (
            "Nothing new: what was found waits in the inbox already." if not done.plan.is_new else "Nothing was kept."
        )
    waits = done.number_of("inbox") or done.plan.over
    more = "; `nanomem inbox list` shows what waits" if waits else ""
    return f"{done.operation.label.removeprefix('crystallize: ').capitalize()}{more}; `nanomem undo` takes it back."


def proposal_lines(one: JudgedProposal, ending: str = "") -> list[str]:
    """A proposal in lines: what it says, what it would replace, whose it is, the words that say it, why it is held."""
    proposal, evidence = one.proposal, one.proposal.evidence
    place = " / ".join(filter(None, (proposal.domain, proposal.category, proposal.sub_category)))
    head = f"{one.number:>3}  {one_line(proposal.key, 100)}: {one_line(proposal.value, 300)}  ({one_line(place, 120)})"
    lines = [f"{head}: {ending}" if ending else head]
    lines += [f"     was: {one_line(one.old, 300)}"] if one.old else []
    lines += ["     waits in the inbox"] if one.verdict == "waiting" else []
    at = f", {output.when(evidence.at)}" if evidence.at else ""
    whose = "" if one.scope.type == "global" else f", only for {one_line(one.scope.key, 80)}"
    lines.append(f"     {evidence.session_key} #{evidence.number}{at}{whose}: {quoted(evidence.text, 200)}")
    lines += [f"     for you to judge: {why}" for why in filter(None, (one.why, one.unnamed))]
    return [part for line in lines for part in _wrapped(line)]


def _wrapped(line: str) -> list[str]:
    """A line in lines of the terminal, set in as it is."""
    width = output.terminal_width()
    return [f"     {part}" if number else part for number, part in enumerate(paragraph(line, width and width - 5))]


# At a terminal: the facts one by one, each with the words that say it, and the answer.

QUESTION = "y keep, n reject, e edit, a all, q later, ? help: "
WRONG = "The answers are y, n, e, a, q and ?."
HELP = (
    "  y  keep this fact    n  let it go: it is not proposed again",
    "  e  keep it with another value",
    "  a  keep all that follow; what a person has to judge goes to the inbox",
    "  q  decide on the rest later, in the inbox; what you kept is kept",
    "  ctrl+c ends it with nothing changed",
)


def decide_each(plan: Plan) -> list[Decision]:
    """What the person at the terminal makes of each fact. Raises KeyboardInterrupt with nothing changed."""
    from nanomem_tui.memory.facts.crystallize import Decision

    found: list[Decision] = []
    rest = ""
    for one in plan.open:
        if rest:
            later: Answer = "inbox" if rest == "q" or one.why else "keep"
            found.append(Decision(one, later))
            continue
        output.notes(["", *proposal_lines(one, f"{one.number} of {len(plan.open)}")])
        answer, value = _ask(one)
        if answer in ("a", "q"):
            rest = answer
            # it was read, with its reason
            found.append(Decision(one, "inbox" if answer == "q" else "keep"))
        else:
            found.append(Decision(one, "reject" if answer == "n" else "keep", value))
    return found


def _ask(one: JudgedProposal) -> tuple[str, str | None]:
    """The answer to one fact, asked for until it is one, and the value that stands instead."""
    from nanomem_tui.memory.facts.proposals import reason_refused

    while True:
        answer = _line(QUESTION)
        if answer is None:
            return "q", None
        if answer in ("y", "yes", "+"):
            return "y", None
        if answer in ("n", "no", "-"):
            return "n", None
        if answer in ("a", "q"):
            return answer, None
        if answer == "e":
            value = _line("The value instead: ")
            why = reason_refused(one.proposal._replace(value=value or ""))
            if not why:
                return "y", value
            output.notes([f"That cannot be: {why}."])
        else:
            output.notes(HELP if answer in ("?", "h", "help") else [WRONG])


def _line(question: str) -> str | None:
    """What is typed, without space around it; None when nothing more comes."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None
