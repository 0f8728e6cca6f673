"""`nanomem inbox` and `triage`: quarantined texts and the review queue, and a person's decisions about them.

A text is printed as stored: of a masked secret there is only its kind and fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import Count, Group, Words, agreed, decided, paged, pass_state, warn
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.planned import show_changes
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.errors import NotFound, NothingToDo
from nanomem_tui.review.findings import KINDS, Decision, DecisionDetails, Finding

if TYPE_CHECKING:
    from nanomem_tui.dreams.log import EntryEvidence
    from nanomem_tui.memory.quarantined_rows import Waiting
    from nanomem_tui.review.inbox import Decided, Inbox, Rule
    from nanomem_tui.review.quarantine import Quarantine, WaitingEdit
    from nanomem_tui.workspace import Workspace

    Held = Waiting | WaitingEdit

NOTHING = "Nothing waits in the inbox."
ids_argument = click.argument("ids", metavar="[ID]...", type=Words(), nargs=-1)
all_option = click.option("--all", "everything", is_flag=True, help="Everything that waits.")


@click.group("inbox", cls=Group)
def inbox() -> None:
    """What was held back, items, lessons and edits of Dreams: look at it, accept it, reject it.

    \b
    Example:
      nanomem inbox list
      nanomem inbox accept ltm_1739443200123_1
    """


@inbox.command("list")
@paged
@pass_state
def list_waiting(state: State, limit: int | None, offset: int) -> None:
    """What waits for a person, the newest first, and why. Of an edit: the line that goes, then the line that comes.

    \b
    Example:
      nanomem inbox list --json
    """
    with state.open() as ws:
        quarantine = ws.quarantine
        found = quarantine.list()
        shown = page(found, limit, offset)
        body = [_json(ws, quarantine, one) for one in shown]
        broken = quarantine.problems()
    output.notes(f"Note: {problem.text()}" for problem in broken)
    ending = output.of_total(len(shown), len(found), "thing waiting", "things waiting")
    state.show(body, lambda: [*_table(shown), ending] if found else [NOTHING])


def _json(ws: Workspace, quarantine: Quarantine, one: Held) -> dict[str, Any]:
    head = {"id": one.id, "layer": one.layer, "text": one.text}
    return {**head, "why": one.why, "since": one.since, "origin": one.origin, **_fields(ws, quarantine, one), **head}


def _fields(ws: Workspace, quarantine: Quarantine, one: Held) -> dict[str, Any]:
    from nanomem_tui.review.quarantine import WaitingEdit
    from nanomem_tui.store.values import Item

    if isinstance(one, WaitingEdit):
        edit = one.hunk.edit
        named = {"kind": one.layer, "op": edit.op, "file": edit.file, "to_file": edit.to_file, "section": edit.section}
        evidence = json_objects.plain(quarantine.evidence(one))
        return {**named, "old": one.old, "new": one.new, "dreamer": one.hunk.dreamer, "evidence": evidence}
    row = one.row
    return json_objects.item(row) if isinstance(row, Item) else json_objects.lesson(row, ws.lessons)


def _table(shown: Sequence[Held]) -> list[str]:
    columns = [
        Column("ID"),
        Column("Is", drop=3),
        Column("Text", limit=90, least=28),
        Column("Why", limit=60, least=20),
        Column("From", limit=40, least=12, drop=1),
        Column("Since", drop=2),
    ]
    cells = [(one.id, one.layer, one.text, one.why, one.origin, output.when(one.since)) for one in shown]
    return table(columns, cells, output.terminal_width())


@inbox.command()
@click.argument("row_id", metavar="ID", type=Words())
@pass_state
def show(state: State, row_id: str) -> None:
    """One thing that waits: its words, why it was held back, who said it where. Of an edit: what asks for it.

    \b
    Example:
      nanomem inbox show ltm_1739443200123_1
    """
    from nanomem_tui.memory.retention import forget_target
    from nanomem_tui.review.quarantine import WaitingEdit

    with state.open() as ws:
        ws.store.load("item")
        quarantine = ws.quarantine
        one = _waiting(quarantine, [row_id])[0]
        body = _json(ws, quarantine, one)
        if isinstance(one, WaitingEdit):
            body["now"] = quarantine.now(one)
            entries = quarantine.evidence(one)
            state.show(body, lambda: edit_lines(one, entries, body["now"]))
            return
    pairs = [
        ("ID", one.id),
        ("Is", f"{body['kind']} item, {body['scope_key']}" if one.layer == "item" else "a lesson"),
        ("Deletes", forget_target(one.row)),
        ("Why", one.why),
        ("From", one.origin),
        ("Message", str(body.get("source_message_id") or "")),
        ("Said there", _evidence(one)),
        ("Since", output.when(one.since)),
        ("Said", f"{body['hits']} times" if body["hits"] > 1 else ""),
    ]
    state.show(body, lambda: [*paragraph(one.text, output.terminal_width()), "", *output.fields(pairs)])


def _evidence(one: Waiting) -> str:
    """The words that a fact out of dialogue is from."""
    held = one.row.meta.get("inbox")
    return str(held.get("evidence") or "") if isinstance(held, dict) else ""


def edit_lines(one: WaitingEdit, entries: Sequence[EntryEvidence], now: str) -> list[str]:
    """An edit in full: the line that goes, the line that comes, why it waits, and the entries that ask for it."""
    width = output.terminal_width()
    lines = [f"{one.where}:"]
    for sign, text in (("-", one.old), ("+", one.new)):
        shown = paragraph(text, width and max(width - 2, 20)) if text else []
        lines += [f"{sign} {part}" for part in shown]
    pairs = [
        ("ID", one.id),
        ("Is", f"an edit of a Dream: {one.hunk.edit.op}"),
        ("Why", one.why),
        ("Now", f"cannot be made as it is: {now}" if now else ""),
        ("Reason", one.hunk.edit.why),
        ("From", one.origin),
        ("Since", output.when(one.since)),
    ]
    return [*lines, "", *output.fields(pairs), *evidence_lines(entries)]


def evidence_lines(entries: Sequence[EntryEvidence]) -> list[str]:
    """One line for each history entry: its number, time, session and the statement that asks for the edit."""
    lines = []
    for entry in entries:
        head = " ".join(filter(None, (f"  #{entry.cursor}", entry.timestamp, entry.session_key)))
        lines.append(f"{head}: {entry.text}" if entry.timestamp else f"{head} is not in the history any more")
    return lines


@inbox.command()
@ids_argument
@all_option
@click.option("--text", type=Words(), help="Use these words instead: of a lesson what to do, of an edit the new line.")
@decided
@pass_state
def accept(state: State, ids: Sequence[str], everything: bool, text: str | None, yes: bool, dry_run: bool) -> None:
    """Make what waits active, and edits in their files. Only `--all` asks, as nobody may have read all of it.

    An item or a lesson that was accepted before is so already: that is said, and is no failure.

    \b
    Example:
      nanomem inbox accept ltm_1739443200123_1 --text "Prefers aisle seats"
    """
    _one_way(ids, everything=everything)
    if text is not None and (everything or len(ids) != 1):
        raise click.UsageError("--text goes with one ID", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        quarantine = ws.quarantine
        ws.store.load("item")
        asked = [row_id for row_id in ids if text is not None or not _decided(quarantine, row_id)]
        found = quarantine.list() if everything else _waiting(quarantine, asked) if asked else []
        preview = {"accepted": [_json(ws, quarantine, one) for one in found]}
        question = f"Accept {output.counted(len(found), 'thing')}?"
        lines = ["Would accept:", *_table(found)]
        if everything and found and not agreed(state, preview, lines, question, yes=yes or dry_run, dry_run=False):
            return
        done = quarantine.accept([one.id for one in found], text) if found else None
        warnings = _warnings(ws, found[0], text) if text is not None and found else []
        accepted = [_after(ws, quarantine, one) for one in (done.rows if done else ())]
        left = [{"id": one.id, "reason": error.what} for one, error in (done.left if done else ())]
        body = {"accepted": accepted, "left": left, "warnings": warnings}
        state.tell_uncommitted(ws, [done.operation] if done else [])
    warn(state, [*warnings, *(f"{entry['id']} waits on: {entry['reason']}" for entry in left)])
    otherwise = NOTHING if everything else f"It does not wait in the inbox any more: {', '.join(ids)}"
    show_changes(state, [done.operation] if done else [], body, otherwise, dry_run=dry_run)


def _decided(quarantine: Quarantine, row_id: str) -> bool:
    """Whether that is here and does not wait: accepted before."""
    try:
        quarantine.get(row_id)
    except NothingToDo:
        return True
    return False


def _waiting(quarantine: Quarantine, ids: Sequence[str]) -> Sequence[Held]:
    """What waits under those ids, each once. Raises NotFound also for what is here and does not wait."""
    try:
        return quarantine.named(ids)
    except NothingToDo as error:
        raise NotFound(error.what, error.where, "see `nanomem inbox list`") from None


def _after(ws: Workspace, quarantine: Quarantine, one: Held) -> dict[str, Any]:
    from nanomem_tui.memory.retention import forget_target

    if one.layer == "item" and not forget_target(getattr(one, "row", None)):
        return json_objects.item(ws.items.get(one.id))
    if one.layer == "lesson":
        return json_objects.lesson(ws.lessons.get(one.id), ws.lessons)
    return _json(ws, quarantine, one)


def _warnings(ws: Workspace, one: Held, text: str) -> list[str]:
    """What is odd about the words that a person gave instead."""
    if one.layer == "item":
        return ws.items.warnings(ws.items.get(one.id))
    from nanomem_tui.memory import safety

    return safety.warnings(ws.lessons.get(one.id).better_action if one.layer == "lesson" else text)


@inbox.command()
@ids_argument
@all_option
@decided
@pass_state
def reject(state: State, ids: Sequence[str], everything: bool, yes: bool, dry_run: bool) -> None:
    """Take what waits away. `nanomem undo` puts it back into the inbox.

    Asks first (or --yes), as what takes words away does; `accept` takes nothing away, and does not.

    \b
    Example:
      nanomem inbox reject --all --dry-run
    """
    _one_way(ids, everything=everything)
    with state.open() as ws:
        quarantine = ws.quarantine
        ws.store.load("item")
        found = _waiting(quarantine, ids) if ids else quarantine.list()
        preview = {"rejected": [_json(ws, quarantine, one) for one in found]}
        op = None
        if found:
            question = f"Reject {output.counted(len(found), 'thing')}?"
            lines = ["Would reject:", *_table(found)]
            if not agreed(state, preview, lines, question, yes=yes, dry_run=dry_run):
                return
            op = quarantine.reject([one.id for one in found]).operation
    state.show({"operation": json_objects.operation(op), **preview}, [op.label if op else NOTHING])


def _one_way(ids: Sequence[str], *, everything: bool) -> None:
    if bool(ids) is everything:
        raise click.UsageError("name the IDs, or --all alone", click.get_current_context())


# -- `nanomem triage`: all that wants a person, with the evidence, and the decisions about it -------------------------

NO_FINDINGS = "Nothing to review."
kind_option = click.option("--kind", "kinds", type=click.Choice(list(KINDS)), multiple=True, help="Only this kind.")
all_findings_option = click.option("--all", "everything", is_flag=True, help="Everything, or all of --kind.")


def choosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a decision is about, named by ids or by kind, and `--yes` and `--dry-run`."""
    return ids_argument(kind_option(all_findings_option(command)))


TAKES_AWAY = frozenset({"reject", "delete", "merge"})


@click.group("triage", cls=Group, invoke_without_command=True)
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
    ending = output.of_total(len(shown), len(found), "finding")
    body = [json_of(one) for one in shown]
    state.show(body, lambda: [*finding_table(shown), ending] if found else [NO_FINDINGS])


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


@triage.command("show")
@click.argument("finding_id", metavar="ID", type=Words())
@pass_state
def show_finding(state: State, finding_id: str) -> None:
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
    state.show(body, [*output.fields(pairs), now.words() if counts else NO_FINDINGS])


# -- decisions --------------------------------------------------------------------------------------------------------


def _command(decision: Decision, help_text: str) -> Callable[..., None]:
    """The command of a decision that needs nothing but findings."""

    @triage.command(decision, help=help_text)
    @choosing
    @decided
    @pass_state
    def run(state: State, **chosen: Any) -> None:
        _decide(state, decision, DecisionDetails(), **chosen)

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
@choosing
@click.option("--into", type=Words(), metavar="ID", help="The item that stays (default: the one that is proposed).")
@decided
@pass_state
def merge(state: State, into: str | None, **chosen: Any) -> None:
    """Make one item of those that say the same. Asks first (or --yes).

    \b
    Example:
      nanomem triage merge duplicate:ltm_1+ltm_2 --yes
    """
    if into is not None and len(chosen["ids"]) != 1:
        raise click.UsageError("--into goes with one ID", click.get_current_context())
    _decide(state, "merge", DecisionDetails(into=into), **chosen)


@triage.command()
@choosing
@click.option(
    "--text", type=Words(), help="The words instead (default: those proposed, a secret masked, dates written)."
)
@decided
@pass_state
def edit(state: State, text: str | None, **chosen: Any) -> None:
    """Give it other words; what waits in the inbox is accepted with them.

    \b
    Example:
      nanomem triage edit dated:ltm_1739443200123_1 --text "Moved to Lisbon in May 2026"
      nanomem triage edit --kind secret --all --yes
    """
    if text is not None and len(chosen["ids"]) != 1:
        raise click.UsageError("--text goes with one ID", click.get_current_context())
    _decide(state, "edit", DecisionDetails(text=text), **chosen)


@triage.command()
@choosing
@click.option(
    "--scope",
    type=Words(),
    help="global, telegram:42 (a chat) or telegram:@ana (a person); default: where a leak belongs.",
)
@decided
@pass_state
def split(state: State, scope: str | None, **chosen: Any) -> None:
    """Move it to the scope where it belongs.

    \b
    Example:
      nanomem triage split conflict:ltm_1+ltm_2 --scope telegram:42
      nanomem triage split --kind leak --all --yes
    """
    _decide(state, "split", DecisionDetails(scope=scope), **chosen)


@triage.command()
@choosing
@click.option("--days", type=Count(1), default=7, show_default=True, help="For how long.")
@decided
@pass_state
def snooze(state: State, days: int, **chosen: Any) -> None:
    """Put it off: it is asked about again when the days are over.

    \b
    Example:
      nanomem triage snooze --kind unused --all --days 30
    """
    from datetime import timedelta

    from nanomem_tui.core import clock

    until = clock.iso(clock.now() + timedelta(days=min(days, 36_500)))
    _decide(state, "snooze", DecisionDetails(until=until), **chosen)


def _decide(
    state: State,
    decision: Decision,
    how: DecisionDetails,
    *,
    ids: Sequence[str],
    kinds: Sequence[str],
    everything: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    if bool(ids) is everything or (kinds and not everything):
        raise click.UsageError("name the IDs, or --all, or --kind and --all", click.get_current_context())
    asks = everything or decision in TAKES_AWAY
    with state.open(dry_run=dry_run) as ws:
        found = ws.triage.named(ids) if ids else _offered(ws.triage, decision, kinds)
        if asks and found and not dry_run and not agree(state, decision, found, yes=yes):
            return
        done = ws.triage.decide(found, decision, how) if found else None
        state.tell_uncommitted(ws, [done.operation] if done else [])
    print_decision(state, done, dry_run=dry_run)


def _offered(triage: Inbox, decision: Decision, kinds: Sequence[str]) -> list[Finding]:
    """Of all there is what the decision can be made about."""
    from nanomem_tui.review.inbox import is_possible

    return [one for one in triage.findings(kinds or None) if is_possible(one, decision, several=True)]


def agree(state: State, decision: Decision, found: Sequence[Finding], *, yes: bool) -> bool:
    """Whether to go on with a decision about many, or one that takes something away."""
    from nanomem_tui.review.inbox import DECISION_VERBS

    verb = DECISION_VERBS[decision]
    preview = {"decided": [json_of(one) for one in found], "left": []}
    question = f"{verb.capitalize()} {output.counted(len(found), 'finding')}?"
    return agreed(state, preview, [f"Would {verb}:", *finding_table(found)], question, yes=yes, dry_run=False)


def print_decision(state: State, done: Decided | None, *, dry_run: bool) -> None:
    """Print what was decided, and what had to stay."""
    left = [{"id": one.id, "reason": error.what} for one, error in (done.left if done else ())]
    body = {"decided": [json_of(one) for one in (done.findings if done else ())], "left": left}
    warn(state, [f"{entry['id']} is left: {entry['reason']}" for entry in left])
    show_changes(state, [done.operation] if done else [], body, NO_FINDINGS, dry_run=dry_run)


# -- `nanomem triage like` and `nanomem triage rules`: one decision for all that is alike -----------------------------

NONE = "There are no rules."
DECISIONS = ("keep", "reject", "merge", "edit", "disable", "delete", "split", "snooze")


@triage.group("rules")
def rules() -> None:
    """Rules that were kept: list them, see what each is about now, apply them, let them go.

    \b
    Example:
      nanomem triage rules list
    """


@triage.command("like")
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
    once: bool,
    later: bool,
    yes: bool,
    dry_run: bool,
    **wider: bool,
) -> None:
    """Decide alike on all that is like one finding: of its kind, scope and source, for such a reason. Keeps the rule.

    \b
    Example:
      nanomem triage like long:ltm_1739443200123_1 delete --dry-run
    """
    if once and later:
        raise click.UsageError("--once and --later are opposites", click.get_current_context())
    with state.open(dry_run=dry_run) as ws:
        from nanomem_tui.review.inbox import rule_like

        rules = ws.triage.rules
        rule = rule_like(ws.triage.get(finding_id), cast("Decision", decision))
        fields = {"any_scope": "scope_key", "any_source": "source", "any_reason": "why"}
        wide: dict[str, Any] = {fields[name]: "" for name, wanted in wider.items() if wanted}
        rule = rule._replace(**wide)
        if later:
            show_changes(state, [rules.add(rule)], {"rule": json_of_rule(rule)}, dry_run=dry_run)
            return
        found = rules.meant(rule)
        if not dry_run and not _agree(state, [(rule, found)], yes=yes):
            return
        done = rules.apply(rule, keep=not once, findings=found)
        state.tell_uncommitted(ws, [done.operation])
    print_decision(state, done, dry_run=dry_run)


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
            show_changes(state, [], {"decided": [], "left": []}, "No rule is about anything now.", dry_run=dry_run)
            return
        if not dry_run and not _agree(state, found, yes=yes):
            return
        done, failed = kept.apply_all([rule for rule, _ in found])
        state.tell_uncommitted(ws, [one.operation for one in done])
    left = [{"id": one.id, "reason": error.what} for each in done for one, error in each.left]
    left += [{"id": rule.id, "reason": error.what} for rule, error in failed]
    body = {"decided": [json_of(one) for each in done for one in each.findings], "left": left}
    output.notes(f"Warning: {entry['id']} is left: {entry['reason']}" for entry in left)
    show_changes(state, [one.operation for one in done], body, "No rule is about anything now.", dry_run=dry_run)


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
    show_changes(state, [operation], body, dry_run=dry_run)
