"""`nanomem triage`: all that wants a person, with the evidence, and the decisions about it.

Prints a text as it is stored; what was masked when it was captured is masked here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.commands.memory import warn
from nanomem_tui.cli.options import Command, Count, Group, State, Words, agreed, decided, page, paged, pass_state
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import tell
from nanomem_tui.review.findings import KINDS, Decision, DecisionDetails, Finding

if TYPE_CHECKING:
    from nanomem_tui.review.queue import Decided, Rule, Triage


NOTHING = "Nothing to review."
ids_argument = click.argument("ids", metavar="[ID]...", type=Words(), nargs=-1)
kind_option = click.option("--kind", "kinds", type=click.Choice(list(KINDS)), multiple=True, help="Only this kind.")
all_option = click.option("--all", "everything", is_flag=True, help="Everything, or all of --kind.")
TAKES_AWAY = frozenset({"reject", "delete", "merge"})


@click.group(
    "triage",
    cls=Group,
    late={"rules": "nanomem_tui.cli.commands.triage:rules", "like": "nanomem_tui.cli.commands.triage:like_one"},
    invoke_without_command=True,
)
@click.option("--apply-rules", "by_rules", is_flag=True, help="Apply every rule that is kept: as `triage rules apply`.")
@decided
@pass_state
@click.pass_context
def triage(ctx: click.Context, state: State, by_rules: bool, yes: bool, dry_run: bool) -> None:
    """All that wants a person: look at it, keep it, reword it, take it away; every decision can be undone.

    \b
    Example:
      nanomem triage list --kind duplicate
      nanomem triage delete long:ltm_1739443200123_1 --yes
    """
    if ctx.invoked_subcommand is not None:
        if by_rules or yes or dry_run:
            raise click.UsageError("--apply-rules, --yes and --dry-run before it go with no other command", ctx)
        return
    if not by_rules:
        output.lines([ctx.get_help()])
        ctx.exit()

    apply_rules(state, (), yes=yes, dry_run=dry_run)


@triage.command("list")
@kind_option
@click.option("--kept", is_flag=True, help="What was kept, put off or switched off instead.")
@paged
@pass_state
def list_findings(state: State, kinds: Sequence[str], kept: bool, limit: int | None, offset: int) -> None:
    """What wants a person, the most dangerous kind first, and why.

    \b
    Example:
      nanomem triage list --kind secret --kind injection --json
    """
    with state.open() as ws:
        if kept:
            marks = [mark for mark in ws.triage.marks() if not kinds or mark.finding.partition(":")[0] in kinds]
            _show_marks(state, page(marks, limit, offset), len(marks))
            return
        found = ws.triage.findings(kinds or None)
        problems = ws.triage.problems()
    shown = page(found, limit, offset)
    output.notes(f"Note: {problem.text()}" for problem in problems)
    total = output.counted(len(found), "finding")
    ending = total if len(shown) == len(found) else f"{len(shown)} of {total}"
    body = [json_of(one) for one in shown]
    state.show(body, lambda: [*finding_table(shown), ending] if found else [NOTHING])


def _show_marks(state: State, shown: Sequence[Any], total: int) -> None:
    body = [
        {"id": mark.finding, "decision": mark.decision, "at": mark.at, "until": mark.until or None} for mark in shown
    ]
    cells = [(mark.finding, mark.decision, output.when(mark.at), output.when(mark.until)) for mark in shown]
    columns = [Column("ID", least=24), Column("Was"), Column("When"), Column("Until", optional=True)]
    lines = [*table(columns, cells, output.terminal_width()), output.counted(total, "finding")]
    state.show(body, lines if total else ["Nothing was kept or put off."])


def json_of(one: Finding) -> dict[str, Any]:
    """A finding as JSON."""
    body = one._asdict()
    body["print"] = body.pop("print_")
    return body


def finding_table(shown: Sequence[Finding]) -> list[str]:
    """Findings as a table."""
    columns = [
        Column("Is"),
        Column("ID", limit=44, least=16),
        Column("Text", limit=90, least=28),
        Column("Why", limit=60, least=20),
        Column("Since", drop=1),
    ]
    cells = [(one.kind, one.id, one.text, one.why, output.when(one.since)) for one in shown]
    return table(columns, cells, output.terminal_width())


@triage.command()
@click.argument("finding_id", metavar="ID", type=Words())
@pass_state
def show(state: State, finding_id: str) -> None:
    """One finding: its words, why it wants a person, and the evidence beside it. ID: of the finding, or of the item.

    \b
    Example:
      nanomem triage show long:ltm_1739443200123_1
    """
    with state.open() as ws:
        one = ws.triage.get(finding_id)
        evidence = ws.triage.evidence(one)
    pairs = [
        ("ID", one.id),
        ("Is", KINDS.get(one.kind, one.kind)),
        ("Why", one.why),
        ("About", ", ".join(one.ids)),
        ("Scope", one.scope_key),
        ("Source", one.source),
        ("Since", output.when(one.since)),
        ("Decide", ", ".join(one.offers)),
    ]
    lines = [*paragraph(one.text, output.terminal_width()), "", *output.fields(pairs)]
    for beside in evidence:
        head = ", ".join(filter(None, (beside.label, beside.id, output.when(beside.at), beside.origin)))
        lines += ["", f"{head}:", *paragraph(beside.text, output.terminal_width())]
    state.show({**json_of(one), "evidence": [beside._asdict() for beside in evidence]}, lines)


@triage.command()
@pass_state
def status(state: State) -> None:
    """How much is left of each kind, how much was decided in this sitting, and how fast.

    \b
    Example:
      nanomem triage status --json
    """
    with state.open() as ws:
        counts = ws.triage.counts()
        now = ws.triage.progress(sum(counts.values()))
        kept, rules = len(ws.triage.marks()), len(ws.triage.rules.all())
    body = {"counts": counts, **now._asdict(), "a_minute": round(now.a_minute, 1), "kept": kept, "rules": rules}
    pairs = [(KINDS[kind].capitalize(), f"{number:,}") for kind, number in counts.items()]
    pairs += [("Kept or put off", f"{kept:,}"), ("Rules", f"{rules:,}")]
    state.show(body, [*output.fields(pairs), now.words() if counts else NOTHING])


# -- decisions --------------------------------------------------------------------------------------------------------


def _command(decision: Decision, help_text: str) -> Callable[..., None]:
    """The command of a decision that needs nothing but findings."""

    @triage.command(decision, help=help_text)
    @ids_argument
    @kind_option
    @all_option
    @decided
    @pass_state
    def run(state: State, ids: Sequence[str], kinds: Sequence[str], everything: bool, yes: bool, dry_run: bool) -> None:
        _decide(state, decision, ids, DecisionDetails(), kinds, everything=everything, yes=yes, dry_run=dry_run)

    return cast("Callable[..., None]", run)


_command(
    "keep",
    """Keep it as it is: it is asked about again only when it changes. What waits in the inbox is accepted.

    \b
    Example:
      nanomem triage keep stale:ltm_1739443200123_1
    """,
)
_command(
    "reject",
    """Take it away: delete it, or let it go where it waits in the inbox. Asks first (or --yes).

    \b
    Example:
      nanomem triage reject waiting:ltm_1739443200123_1 --yes
    """,
)
_command(
    "disable",
    """Switch it off: kept, but never recalled.

    \b
    Example:
      nanomem triage disable --kind stale --all --dry-run
    """,
)
_command(
    "delete",
    """Delete it; of several that belong together the one that is proposed. Asks first (or --yes).

    \b
    Example:
      nanomem triage delete --kind long --all --yes
    """,
)


@triage.command()
@ids_argument
@kind_option
@all_option
@click.option("--into", type=Words(), metavar="ID", help="The item that stays (default: the one that is proposed).")
@decided
@pass_state
def merge(
    state: State,
    ids: Sequence[str],
    kinds: Sequence[str],
    everything: bool,
    into: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Make one item of those that say the same. Asks first (or --yes).

    \b
    Example:
      nanomem triage merge duplicate:ltm_1+ltm_2 --yes
    """
    if into is not None and len(ids) != 1:
        raise click.UsageError("--into goes with one ID", click.get_current_context())
    _decide(state, "merge", ids, DecisionDetails(into=into), kinds, everything=everything, yes=yes, dry_run=dry_run)


@triage.command()
@ids_argument
@kind_option
@all_option
@click.option(
    "--text", type=Words(), help="The words instead (default: those proposed, a secret masked, dates written)."
)
@decided
@pass_state
def edit(
    state: State,
    ids: Sequence[str],
    kinds: Sequence[str],
    everything: bool,
    text: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Give it other words; what waits in the inbox is accepted with them.

    \b
    Example:
      nanomem triage edit dated:ltm_1739443200123_1 --text "Moved to Lisbon in May 2026"
      nanomem triage edit --kind secret --all --yes
    """
    if text is not None and len(ids) != 1:
        raise click.UsageError("--text goes with one ID", click.get_current_context())
    _decide(state, "edit", ids, DecisionDetails(text=text), kinds, everything=everything, yes=yes, dry_run=dry_run)


@triage.command()
@ids_argument
@kind_option
@all_option
@click.option(
    "--scope",
    type=Words(),
    help="global, telegram:42 (a chat) or telegram:@ana (a person); default: where a leak belongs.",
)
@decided
@pass_state
def split(
    state: State,
    ids: Sequence[str],
    kinds: Sequence[str],
    everything: bool,
    scope: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Move it to the scope where it belongs.

    \b
    Example:
      nanomem triage split conflict:ltm_1+ltm_2 --scope telegram:42
      nanomem triage split --kind leak --all --yes
    """
    _decide(state, "split", ids, DecisionDetails(scope=scope), kinds, everything=everything, yes=yes, dry_run=dry_run)


@triage.command()
@ids_argument
@kind_option
@all_option
@click.option("--days", type=Count(1), default=7, show_default=True, help="For how long.")
@decided
@pass_state
def snooze(
    state: State, ids: Sequence[str], kinds: Sequence[str], everything: bool, days: int, yes: bool, dry_run: bool
) -> None:
    """Put it off: it is asked about again when the days are over.

    \b
    Example:
      nanomem triage snooze --kind unused --all --days 30
    """
    from datetime import timedelta

    from nanomem_tui.core import clock

    until = clock.iso(clock.now() + timedelta(days=min(days, 36_500)))
    _decide(state, "snooze", ids, DecisionDetails(until=until), kinds, everything=everything, yes=yes, dry_run=dry_run)


def _decide(
    state: State,
    decision: Decision,
    ids: Sequence[str],
    how: DecisionDetails,
    kinds: Sequence[str] = (),
    *,
    everything: bool = False,
    yes: bool = False,
    dry_run: bool = False,
) -> None:
    if bool(ids) is everything or (kinds and not everything):
        raise click.UsageError("name the IDs, or --all, or --kind and --all", click.get_current_context())
    asks = everything or decision in TAKES_AWAY
    with state.open(dry_run=dry_run) as ws:
        found = ws.triage.named(ids) if ids else _offered(ws.triage, decision, kinds)
        if asks and found and not dry_run and not agree(state, decision, found, yes=yes):
            return
        done = ws.triage.take(found, decision, how) if found else None
        state.tell_uncommitted(ws, [done.operation] if done else [])
    told(state, done, dry_run=dry_run)


def _offered(triage: Triage, decision: Decision, kinds: Sequence[str]) -> list[Finding]:
    """Of all there is what the decision can be made about."""
    from nanomem_tui.review.queue import is_possible

    return [one for one in triage.findings(kinds or None) if is_possible(one, decision, several=True)]


def agree(state: State, decision: Decision, found: Sequence[Finding], *, yes: bool) -> bool:
    """Whether to go on with a decision about many, or one that takes something away."""
    from nanomem_tui.review.queue import DECISION_VERBS

    verb = DECISION_VERBS[decision]
    preview = {"decided": [json_of(one) for one in found], "left": []}
    question = f"{verb.capitalize()} {output.counted(len(found), 'finding')}?"
    return agreed(state, preview, [f"Would {verb}:", *finding_table(found)], question, yes=yes, dry_run=False)


def told(state: State, done: Decided | None, *, dry_run: bool) -> None:
    """Print what was decided, and what had to stay."""
    left = [{"id": one.id, "reason": error.what} for one, error in (done.left if done else ())]
    body = {"decided": [json_of(one) for one in (done.findings if done else ())], "left": left}
    warn(state, [f"{entry['id']} is left: {entry['reason']}" for entry in left])
    tell(state, [done.operation] if done else [], body, NOTHING, dry_run=dry_run)


# -- `nanomem triage like` and `nanomem triage rules`: one decision for all that is alike -----------------------------

NONE = "There are no rules."
DECISIONS = ("keep", "reject", "merge", "edit", "disable", "delete", "split", "snooze")


@click.command("like", cls=Command)
@click.argument("finding_id", metavar="ID", type=Words())
@click.argument("decision", type=click.Choice(DECISIONS))
@click.option("--any-scope", is_flag=True, help="Of every scope, not of its own alone.")
@click.option("--any-source", is_flag=True, help="Of every source.")
@click.option("--any-reason", is_flag=True, help="For every reason that its kind may have.")
@click.option("--once", is_flag=True, help="Do not keep the rule.")
@click.option("--later", is_flag=True, help="Keep the rule and decide nothing now.")
@decided
@pass_state
def like_one(
    state: State,
    finding_id: str,
    decision: str,
    any_scope: bool,
    any_source: bool,
    any_reason: bool,
    once: bool,
    later: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    """Decide alike on all that is like one finding: of its kind, scope and source, for such a reason. Keeps the rule.

    \b
    Example:
      nanomem triage like long:ltm_1739443200123_1 delete --dry-run
    """
    if once and later:
        raise click.UsageError("--once and --later are opposites", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        from nanomem_tui.review.queue import rule_like

        rules = ws.triage.rules
        rule = rule_like(ws.triage.get(finding_id), cast("Decision", decision))
        rule = rule._replace(
            scope_key="" if any_scope else rule.scope_key,
            source="" if any_source else rule.source,
            why="" if any_reason else rule.why,
        )
        if later:
            tell(state, [rules.add(rule)], {"rule": json_of_rule(rule)}, dry_run=dry_run)
            return
        found = rules.meant(rule)
        if not dry_run and not _agree(state, [(rule, found)], yes=yes):
            return
        done = rules.apply(rule, keep=not once, findings=found)
        state.tell_uncommitted(ws, [done.operation])
    told(state, done, dry_run=dry_run)


@click.group("rules", cls=Group)
def rules() -> None:
    """Rules that were kept: list them, see what each is about now, apply them, let them go.

    \b
    Example:
      nanomem triage rules list
    """


def json_of_rule(rule: Rule) -> dict[str, Any]:
    """A rule as JSON."""
    body = rule._asdict()
    return {"id": body.pop("id") or None, "rule": rule.words(), **body}


@rules.command("list")
@paged
@pass_state
def list_rules(state: State, limit: int | None, offset: int) -> None:
    """The rules that are kept, the newest first, and how many findings each is about now.

    \b
    Example:
      nanomem triage rules list --json
    """
    with state.open() as ws:
        every = ws.triage.rules.all()
        found = [(rule, len(ws.triage.rules.meant(rule))) for rule in page(every, limit, offset)]
    columns = [Column("ID"), Column("Rule", least=30), Column("Now", right=True), Column("Since", drop=1)]
    cells = [(rule.id, rule.words(), f"{number:,}", output.when(rule.at)) for rule, number in found]
    body = [{**json_of_rule(rule), "findings": number} for rule, number in found]
    lines = [*table(columns, cells, output.terminal_width()), output.counted(len(every), "rule")]
    state.show(body, lines if every else [NONE])


@rules.command("show")
@click.argument("rule_id", metavar="ID", type=Words())
@pass_state
def triage_rules_show(state: State, rule_id: str) -> None:
    """One rule, and what it is about now: what applying it would decide on.

    \b
    Example:
      nanomem triage rules show rule_1739443200123_1
    """
    with state.open() as ws:
        rule = ws.triage.rules.get(rule_id)
        found = ws.triage.rules.meant(rule)
    body = {**json_of_rule(rule), "findings": [json_of(one) for one in found]}
    ending = output.counted(len(found), "finding")
    state.show(body, lambda: [f"{rule.words()} ({rule.id})", "", *finding_table(found), ending])


@rules.command()
@click.argument("ids", metavar="[ID]...", type=Words(), nargs=-1)
@decided
@pass_state
def apply(state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Apply rules to what they are about now, each as one operation; without IDs all of them, the oldest first.

    \b
    Example:
      nanomem triage rules apply --dry-run
    """
    apply_rules(state, ids, yes=yes, dry_run=dry_run)


def apply_rules(state: State, ids: Sequence[str], *, yes: bool, dry_run: bool) -> None:
    """Apply the named rules, or all; what they are about is shown first."""
    with state.open(dry_run=dry_run) as ws:
        kept = ws.triage.rules
        chosen = [kept.get(one) for one in ids] or list(reversed(kept.all()))
        found = [(rule, meant) for rule in chosen if (meant := kept.meant(rule))]
        if not found:
            tell(state, [], {"decided": [], "left": []}, "No rule is about anything now.", dry_run=dry_run)
            return
        if not dry_run and not _agree(state, found, yes=yes):
            return
        done, failed = kept.apply_all([rule for rule, _ in found])
        state.tell_uncommitted(ws, [one.operation for one in done])
    left = [{"id": one.id, "reason": error.what} for each in done for one, error in each.left]
    left += [{"id": rule.id, "reason": error.what} for rule, error in failed]
    body = {"decided": [json_of(one) for each in done for one in each.findings], "left": left}
    output.notes(f"Warning: {entry['id']} is left: {entry['reason']}" for entry in left)
    tell(state, [one.operation for one in done], body, "No rule is about anything now.", dry_run=dry_run)


def _agree(state: State, found: Sequence[tuple[Rule, Sequence[Finding]]], *, yes: bool) -> bool:
    preview = {"decided": [json_of(one) for _, meant in found for one in meant], "left": []}
    lines = [line for rule, meant in found for line in (f"Would {rule.words()}:", *finding_table(meant), "")]
    number = sum(len(meant) for _, meant in found)
    question = f"Decide so on {output.counted(number, 'finding')}?"
    return agreed(state, preview, lines[:-1], question, yes=yes, dry_run=False)


@rules.command()
@click.argument("ids", metavar="ID...", type=Words(), nargs=-1, required=True)
@decided
@pass_state
def delete(state: State, ids: Sequence[str], yes: bool, dry_run: bool) -> None:
    """Let rules go; what they decided stays, and `nanomem undo` brings them back. Asks first (or --yes).

    \b
    Example:
      nanomem triage rules delete rule_1739443200123_1 --yes
    """
    with state.open(dry_run=dry_run) as ws:
        gone = [ws.triage.rules.get(one) for one in ids]
        body = {"deleted": [json_of_rule(rule) for rule in gone]}
        lines = ["Would let go:", *(f"{rule.id}  {rule.words()}" for rule in gone)]
        question = f"Let {output.counted(len(gone), 'rule')} go?"
        if not dry_run and not agreed(state, body, lines, question, yes=yes, dry_run=False):
            return
        operation = ws.triage.rules.delete(ids)
    tell(state, [operation], body, dry_run=dry_run)
