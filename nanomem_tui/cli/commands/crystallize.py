"""`nanomem crystallize`: propose facts from what people said, with the words that say them; a person decides."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import Command, Count, Words, pass_state
from nanomem_tui.cli.output import paragraph
from nanomem_tui.cli.state import State
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NothingToDo
from nanomem_tui.core.text import one_line, quoted
from nanomem_tui.memory.facts.crystallize import Answer, Decision
from nanomem_tui.memory.facts.proposals import reason_refused

if TYPE_CHECKING:
    from nanomem_tui.memory.facts.crystallize import Crystallized, Plan
    from nanomem_tui.memory.facts.proposals import EndedFact, JudgedProposal
    from nanomem_tui.workspace import Workspace


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
    from nanomem_tui.memory.facts.crystallize import Crystallized

    if dry_run:
        return Crystallized(plan)
    if wanted is not None:
        decisions = [Decision(one, "keep" if one.number in wanted else "leave") for one in plan.open]
    elif yes:
        decisions = [Decision(one, "inbox" if one.why or one.unnamed else "keep") for one in plan.open]
    elif plan.open and dream.can_decide(state):
        decisions = decided(plan)
    else:
        decisions = [Decision(one, "inbox") for one in plan.open]
    return _kept(ws, plan, decisions)


def _kept(ws: Workspace, plan: Plan, decisions: Sequence[Decision]) -> Crystallized:
    from nanomem_tui.memory.facts.crystallize import Crystallized

    if not decisions and not ws.store.has_database:
        return Crystallized(plan)  # a home in which nothing was found stays as it is
    return ws.crystallizer.keep(plan, decisions)


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
        with contextlib.suppress(ValueError):
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


# `nanomem crystallize` at a terminal: the facts one by one, each with the words that say it, and the answer.

QUESTION = "y keep, n reject, e edit, a all, q later, ? help: "
WRONG = "The answers are y, n, e, a, q and ?."
HELP = (
    "  y  keep this fact    n  let it go: it is not proposed again",
    "  e  keep it with another value",
    "  a  keep all that follow; what a person has to judge goes to the inbox",
    "  q  decide on the rest later, in the inbox; what you kept is kept",
    "  ctrl+c ends it with nothing changed",
)


def decided(plan: Plan) -> list[Decision]:
    """What the person at the terminal makes of each fact. Raises KeyboardInterrupt with nothing changed."""
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
