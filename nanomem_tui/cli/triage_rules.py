"""`nanomem triage like` and `nanomem triage rules`: one decision for all that is alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from nanomem_tui.cli import output, words
from nanomem_tui.cli.planned import tell
from nanomem_tui.cli.shared import Command, Group, Words, agreed, decided, paged, pass_state
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.cli.triage import finding_table, json_of, told

if TYPE_CHECKING:
    from nanomem_tui.review.findings import Decision, Finding
    from nanomem_tui.review.rules import Rule

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
        from nanomem_tui.review.rules import like

        rules = ws.triage.rules
        rule = like(ws.triage.get(finding_id), cast("Decision", decision))
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
    cells = [(rule.id, rule.words(), f"{number:,}", words.when(rule.at)) for rule, number in found]
    body = [{**json_of_rule(rule), "findings": number} for rule, number in found]
    lines = [*table(columns, cells, output.terminal_width()), words.counted(len(every), "rule")]
    state.show(body, lines if every else [NONE])


@rules.command()
@click.argument("rule_id", metavar="ID", type=Words())
@pass_state
def show(state: State, rule_id: str) -> None:
    """One rule, and what it is about now: what applying it would decide on.

    \b
    Example:
      nanomem triage rules show rule_1739443200123_1
    """
    with state.open() as ws:
        rule = ws.triage.rules.get(rule_id)
        found = ws.triage.rules.meant(rule)
    body = {**json_of_rule(rule), "findings": [json_of(one) for one in found]}
    ending = words.counted(len(found), "finding")
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
    question = f"Decide so on {words.counted(number, 'finding')}?"
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
        question = f"Let {words.counted(len(gone), 'rule')} go?"
        if not dry_run and not agreed(state, body, lines, question, yes=yes, dry_run=False):
            return
        operation = ws.triage.rules.delete(ids)
    tell(state, [operation], body, dry_run=dry_run)
