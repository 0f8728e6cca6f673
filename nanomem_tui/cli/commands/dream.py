"""`nanomem dream` and `blame`: run a Dream, list and show Dreams, revert them, versions of the memory files, who
wrote a line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.options import Command, Count, Group, Words, agreed, paged, pass_state
from nanomem_tui.cli.options import decided as options_decided
from nanomem_tui.cli.output import Column, paragraph, table
from nanomem_tui.cli.state import State, page
from nanomem_tui.core import errors
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.agents.git import Commit, FileDiff
    from nanomem_tui.dreams.blame import SavedVersion, Versions
    from nanomem_tui.dreams.edits import LineEdit
    from nanomem_tui.dreams.guards import Refusal
    from nanomem_tui.dreams.log import BlamedLine, Writer
    from nanomem_tui.dreams.revert import RestoreConflict, RevertPreview
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.workspace import Workspace


_MAX_REFUSED = 1000  # characters of a refused line that are printed: one may be as long as an entry


@click.group("dream", cls=Group, late={"schedule": "nanomem_tui.cli.commands.dream_schedule:schedule"})
def dream() -> None:
    """The agent's Dreams: run one, see what each changed, take one back.

    \b
    Example:
      nanomem dream log --limit 5
    """


def dream_once(state: State, *, dry_run: bool, review: bool, **how: Any) -> int:
    """One Dream, told in words or as JSON; 0. Raises NothingToDo (exit code 1), Refused, Conflict, ModelError.

    `review`: a person at a terminal is asked about each edit; without one each goes to the inbox.
    """
    asked = review and not dry_run and can_decide(state)
    with state.open(dry_run=dry_run) as ws:
        with output.Progress() as progress:
            result = ws.dream.run(dry_run=dry_run or asked, review=review and not asked, watch=progress, **how)
        if asked:
            result = decided(ws, result)
        body = _result_body(ws, result, dry_run=dry_run)
    if result.unreadable:
        from nanomem_tui.dreams.run import describe_passed_over

        output.notes([describe_passed_over(result.unreadable)])
    state.show(body, lambda: _result_lines(result, body["waiting"], dry_run=dry_run))
    return 0


def _result_body(ws: Workspace, result: DreamResult, *, dry_run: bool) -> dict[str, Any]:
    """The JSON object of a Dream: what it did, in counts too, and the ids under which refused edits wait."""
    from nanomem_tui.dreams.review import mask_edit

    waiting = ws.dream.review.waiting()
    ids = {hunk.edit: hunk.id for hunk in waiting}
    found: dict[str, Any] = result.to_json()
    for entry, refusal in zip(found["refused"], result.refused, strict=True):
        entry["id"] = None if dry_run else ids.get(refusal.edit) or ids.get(mask_edit(refusal.edit))
    counts = {name: len(found[name]) for name in ("edits", "refused", "skipped")}
    return {
        **found,
        "counts": {"read": result.read, "remaining": result.remaining, **counts},
        "tokens": result.usage.tokens_in + result.usage.tokens_out,
        "cost": result.usage.cost,
        "waiting": len(waiting),
        "operation": json_objects.operation(result.operation),
        "dry_run": dry_run,
    }


def _result_lines(result: DreamResult, waiting: int, *, dry_run: bool) -> list[str]:
    from nanomem_tui.dreams import rules
    from nanomem_tui.dreams.entries import skipped_summary
    from nanomem_tui.dreams.review import WAITS, mask_edit
    from nanomem_tui.language import secrets

    would = "Would change" if dry_run else "Changed"
    lines = [f"Read {output.counted(result.read, 'entry', 'entries')} ({result.span}), {result.remaining} wait."]
    if result.usage.calls:
        lines.append(f"{output.spent(result.usage)}.")
        lines.extend(f"  {one_line(line, 500)}" for line in result.analysis.split("\n") if line.strip())
    for name, (added, removed) in result.files.items():
        own = [edit for edit in result.edits if edit.file == name]
        by = f", by {output.counted(len(own), 'edit')}" if own else ""
        lines.append(f"{would} {name}: +{added} -{removed}{by}")
        lines.extend(f"  {secrets.mask(line)}" for line in _changed_lines(result.before[name], result.after[name]))
        lines.extend(f"  {_edit_line(mask_edit(edit).to_json())}" for edit in own if edit.op == "move")
    if not result.files and not result.refused:
        lines.append(f"{result.unchanged[:1].upper()}{result.unchanged[1:]}.")
    for refusal in result.refused:
        why = "For you to judge" if refusal.why == WAITS else f"Refused ({refusal.why})"
        told = one_line(_edit_line(mask_edit(refusal.edit).to_json()), _MAX_REFUSED)
        lines.append(f"{why}: {refusal.edit.file} {told}")
    if result.unread and (result.files or result.refused):  # else `unchanged` says so
        lines.append(f"Not read: {rules.describe_unread(result.unread)}.")
    if result.skipped:
        lines.append(f"{skipped_summary(result.skipped)}:")
        lines.extend(f"  #{left.cursor} {left.reason}: {one_line(left.text, 200)}" for left in result.skipped)
    lines.extend(f"Note: {note}." for note in result.notes)
    lines.append(f"Commit {result.sha[:8]}; `nanomem undo` takes it back." if result.sha else "")
    lines.append(waiting_line(waiting) if waiting and not dry_run else "")
    return [line for line in lines if line]


def _edit_line(edit: dict[str, Any]) -> str:
    signs = {"add": "+", "replace": "~", "remove": "-", "move": ">"}
    where = [edit.get("to_file") or edit["file"], *filter(None, [edit.get("section")])] if edit["op"] == "move" else []
    to = f" (to {one_line(', '.join(where), 200)})" if where else ""
    return f"{signs.get(edit['op'], '?')} {edit.get('new') or edit.get('old', '')}{to}"


def _changed_lines(before: str, after: str) -> list[str]:
    """All that changed, line by line: also the headings and blank lines that came with an edit."""
    from nanomem_tui.core import merge

    signs = {"delete": "-", "insert": "+"}
    lines = [line for hunk in merge.hunks(before, after, 0) for line in hunk.lines]
    return [f"{signs[line.tag]} {line.text}".rstrip() for line in lines if line.tag != "equal"]


@dream.command()
@click.option("--dreamer", type=click.Choice(["rules", "model"]), help="Who dreams, if not as set.")
@click.option("--max-batch-size", type=Count(1), help="History entries to read.")
@click.option("--max-iterations", type=Count(1), help="Edits to make in all; entries beyond wait.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Begin no change after so many seconds.")
@click.option("--dry-run", is_flag=True, help="Say what it would change, and change nothing.")
@click.option("--review", is_flag=True, help="Decide on each edit; without a terminal each goes to the inbox.")
@pass_state
def run(state: State, **how: Any) -> int:
    """One Dream over the oldest history entries that none has read. Exit code 1 when there is none.

    What the guards refuse waits in the inbox (`nanomem inbox list`).

    \b
    Example:
      nanomem dream run --dry-run
    """
    return dream_once(state, **how)


@dream.command("log")
@click.argument("sha", type=Words(), required=False)
@click.option("--dreams", is_flag=True, help="Only Dreams: neither restores nor what a person changed.")
@paged
@pass_state
def log_commits(state: State, sha: str | None, dreams: bool, limit: int | None, offset: int) -> None:
    """What changed the agent's memory files, newest first; with a SHA the diff of that one change.

    \b
    Example:
      nanomem dream log --limit 5
    """
    if sha is not None:
        _show(state, sha)
        return
    with state.open() as ws:
        body = logged(ws, dreams=dreams, limit=limit, offset=offset)
        none = nothing_shown(ws, dreams=dreams) if not body else ""
        damage = ws.dream.damage([entry["sha"] for entry in body])
    state.show(body, lambda: log_lines(body) or [none])
    output.notes([f"Note: {line}" for line in damage])


def nothing_shown(ws: Workspace, *, dreams: bool) -> str:
    """Why a page of the log is empty: there is nothing at all, or nothing within the limits."""
    everything = ws.dream.commits()
    of_dreams = [commit for commit in everything if commit.is_dream]
    if not (of_dreams if dreams else everything):
        return ws.dream.why_none() or "No Dream has run yet."
    what = output.counted(len(of_dreams), "Dream") if dreams else output.counted(len(everything), "change")
    return f"None of {what} within that limit and offset."


def logged(ws: Workspace, *, dreams: bool, limit: int | None, offset: int) -> list[dict[str, Any]]:
    """The changes of the memory files, newest first, as JSON objects; `dreams`: only what Dreams did."""
    commits = ws.dream.commits(None if dreams or limit is None else limit + offset)
    recorded = ws.dream.recorded()
    shown = page([c for c in commits if c.is_dream or not dreams], limit, offset)
    return [json_objects.commit(entry, recorded.meta_of(entry)) for entry in shown]


def log_lines(body: Sequence[dict[str, Any]]) -> list[str]:
    """What `logged` gives, as a table."""
    columns = [
        Column("Commit", of=lambda entry: entry["sha"][:8]),
        Column("Time", of=lambda entry: output.when(entry["at"])),
        Column("By", drop=1, of=lambda entry: entry["who"]),
        Column("+", right=True, of=lambda entry: str(entry["added"])),
        Column("-", right=True, of=lambda entry: str(entry["removed"])),
        Column(
            "Entries", right=True, drop=2, of=lambda entry: "" if entry["entries"] is None else str(entry["entries"])
        ),
        Column(
            "Files",
            limit=40,
            least=14,
            drop=3,
            of=lambda entry: " ".join(name.rsplit("/", 1)[-1] for name in entry["files"]),
        ),
        Column(
            "Refused",
            right=True,
            drop=4,
            optional=True,
            of=lambda entry: f"{entry['refused']:,}" if entry["refused"] else "",
        ),
        Column(
            "Tokens",
            right=True,
            drop=5,
            optional=True,
            of=lambda entry: f"{entry['tokens']:,}" if entry["tokens"] else "",
        ),
        Column(
            "Cost",
            right=True,
            drop=6,
            optional=True,
            of=lambda entry: "" if entry["cost"] is None else f"{entry['cost']:.4f}",
        ),
        Column("Message", limit=80, least=24, of=lambda entry: entry["message"]),
    ]
    return output.columned(columns, body)


@dream.command()
@click.argument("sha", type=Words(), required=False)
@pass_state
def show(state: State, sha: str | None) -> int:
    """One change of the memory files, line by line; without a SHA the last Dream, or else the last change.

    \b
    Example:
      nanomem dream show
      nanomem dream show SHA
    """
    if sha is None:
        with state.open() as ws:
            commits = ws.dream.commits()
            sha = next((commit.sha for commit in [*(one for one in commits if one.is_dream), *commits]), None)
    if sha is None:
        state.show({}, ["No Dream has run yet."])
        return 0
    _show(state, sha)
    return 0


def _show(state: State, sha: str) -> None:
    with state.open() as ws:
        commit, diffs = ws.dream.show(sha)
        body = {
            **json_objects.commit(commit, ws.dream.recorded().meta_of(commit)),
            "message": commit.message,
            "diffs": [json_objects.file_diff(d) for d in diffs],
        }
        state.show(body, lambda: _commit_lines(commit, diffs))


def _commit_lines(commit: Commit, diffs: Sequence[FileDiff]) -> list[str]:
    from nanomem_tui.dreams.log import who_made

    head = output.fields(
        [
            ("Commit", commit.sha),
            ("Time", output.when(commit.at)),
            ("By", f"{who_made(commit)}, {commit.author}"),
            ("Message", commit.subject),
            ("Entries", "" if commit.entries is None else str(commit.entries)),
        ]
    )
    return [*head, "", *_diff_lines(diffs)]


def _diff_lines(diffs: Sequence[FileDiff]) -> list[str]:
    return [line for found in diffs for line in found.unified().rstrip("\n").split("\n")]


@dream.command()
@click.argument("first", metavar="A", type=Words())
@click.argument("second", metavar="B", type=Words())
@pass_state
def diff(state: State, first: str, second: str) -> None:
    """The memory files as they were after commit A against those after commit B.

    \b
    Example:
      nanomem dream diff SHA SHA
    """
    with state.open() as ws:
        found = ws.dream.diff(first, second)
    state.show([json_objects.file_diff(entry) for entry in found], _diff_lines(found) or ["No difference."])


@dream.command()
@pass_state
def status(state: State) -> None:
    """How many Dreams there were, what waits for the next one, and whether one runs now.

    \b
    Example:
      nanomem dream status
    """
    from nanomem_tui.dreams.schedule import CrystallizeSchedule, DreamSchedule

    with state.open() as ws:
        schedules = {"schedule": DreamSchedule(ws).status(), "crystallize": CrystallizeSchedule(ws).status()}
        above = {"outer_repository": ws.dream.outer_repository() or None, "why_none": ws.dream.why_none() or None}
        found = json_objects.plain({**ws.dream.status(), **above, **schedules})
    last, problem, ahead = found["last"] or {}, found["problem"], found["ahead"]
    pairs = [
        ("Dreams", "unknown" if problem else f"{found['runs']} in {output.counted(found['commits'], 'commit')}"),
        ("Cursor", _line(ahead) if ahead else f"{found['cursor']} of {found['latest']}, {found['unprocessed']} wait"),
        ("Not read", _not_read(found["unread"])),
        ("Running", "yes" if found["running"] else "no"),
        ("Versions", f"cannot be read: {_line(problem)}" if problem else _versions(found)),
        ("Not kept", _not_kept(found)),
        ("Last", f"{output.when(last['at'])} {last['sha'][:8]} {last['message']}" if last else ""),
        *_schedule_pairs(found["schedule"]),
        *_facts_pairs(found["crystallize"]),
    ]
    state.show(found, output.fields(pairs))


def _versions(found: dict[str, Any]) -> str:
    if found["git"]:
        outer = found["outer_repository"]
        return f"kept in git, in the repository {outer}" if outer else "kept in git"
    return found["why_none"] or "none yet"


def _not_kept(found: dict[str, Any]) -> str:
    names = ", ".join(found["unversioned"])
    waits = (
        "it does not track them" if found["outer_repository"] else "what Dreams would change there waits in the inbox"
    )
    return f"versions of {names}: {waits}" if names else ""


def _not_read(number: int) -> str:
    if not number:
        return ""
    entries = output.counted(number, "entry", "entries")
    return f"{entries} that the rules could not read: nanomem --run-dream --dreamer model"


def _line(told: dict[str, Any]) -> str:
    from nanomem_tui.core.errors import Refused

    return Refused(told["what"], told["where"], told["fix"]).line()


def _schedule_pairs(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Whether Dreams run by themselves, when the next one does, and what went wrong."""
    often = f"cron {found['cron']}" if found["cron"] else f"every {found['every_h']:g} h"
    failures = output.counted(found["failures"], "time") if found["failures"] else ""
    passed = ", ".join(map(str, found["passed"]))
    return [
        ("Schedule", f"{often} in the console and `nanomem dream schedule`: {found['why']}" if found["on"]
         else f"off: {found['why']}"),
        ("Next", f"at {output.when(found['next_at'])} or later" if found["on"] else ""),
        ("Failed", f"{failures} in a row: {found['error']}" if failures else ""),
        ("Passed over", f"entries that no Dreamer could read: {passed}" if passed else ""),
    ]  # fmt: skip


def _facts_pairs(found: dict[str, Any]) -> list[tuple[str, str]]:
    """When facts are looked for by themselves, where that is set, and what went wrong."""
    failures = output.counted(found["failures"], "time") if found["failures"] else ""
    next_one = f"next at {output.when(found['next_at'])} or later" if found["on"] else f"off: {found['why']}"
    return [
        ("Facts", f"cron {found['cron']}, {next_one}" if found["cron"] else ""),
        ("Facts failed", f"{failures} in a row: {found['error']}" if failures else ""),
    ]


# `nanomem dream restore`: a Dream, a file or a hunk of it taken back, or a file brought back as it was.


@dream.command("restore")
@click.argument("sha", type=Words(), required=False)
@click.option("--file", type=Words(), help="Only this file of it.")
@click.option("--hunk", type=click.IntRange(min=1), help="Only this run of changed lines, counted from 1.")
@click.option("--edit", type=click.IntRange(min=1), help="Only this one of its edits; --dry-run numbers them.")
@click.option("--whole", is_flag=True, help="All files as they were before it: later edits are lost.")
@click.option("--as-of", is_flag=True, help="The --file as it was after it: later edits of the file are lost.")
@click.option(
    "--settle", type=click.Choice(["now", "then"]), help="Which side stays of lines that later edits changed."
)
@click.option("--rewind-cursor/--keep-cursor", default=None, help="Whether the next Dream reads those entries again.")
@options_decided
@paged
@pass_state
def restore(
    state: State,
    sha: str | None,
    file: str | None,
    hunk: int | None,
    yes: bool,
    dry_run: bool,
    limit: int | None,
    offset: int,
    **how: Any,
) -> int:
    """Take a Dream back and keep every later edit; without a SHA, list what can be taken back.

    With --as-of one file is brought back as it was after that change (`nanomem dream versions FILE` lists them).

    \b
    Example:
      nanomem dream restore SHA --file USER.md --dry-run
      nanomem dream restore SHA --edit 3
      nanomem dream restore SHA --file USER.md --as-of --dry-run
    """
    if sha is None:
        with state.open() as ws:
            body = logged(ws, dreams=True, limit=limit, offset=offset)
            none = nothing_shown(ws, dreams=True) if not body else ""
        state.show(body, lambda: log_lines(body) or [none])
        return 0
    at = None if hunk is None else hunk - 1
    single = (file, hunk, how["edit"]) == (None, None, None) and not how["whole"]
    with state.open() as ws:
        plan = ws.dream.revert_preview(sha, file, at, **how)
        preview = json_objects.plain(plan.to_json())
        if plan.changes_anything and not plan.conflicts:
            question = f"Bring back {file}?" if how["as_of"] else f"Take back {plan.commit.short}?"
            if not agreed(state, preview, lambda: _lines(plan, file, single), question, yes=yes, dry_run=dry_run):
                return 0
        elif dry_run:
            state.show({"operation": None, "dry_run": True, **preview}, lambda: _lines(plan, file, single))
            return errors.Conflict.exit_code if plan.conflicts else errors.NothingToDo.exit_code
        op = ws.dream.revert(sha, file, at, **how)
    state.show({"operation": json_objects.operation(op), **preview}, [op.label, *([plan.note] if plan.note else [])])
    return 0


def _lines(plan: RevertPreview, file: str | None, offer: bool) -> list[str]:
    """What it would do; `offer`: with the edits, each of which may be taken back alone."""
    of = f"{plan.commit.short}: {plan.commit.subject}"
    lines = [f"Would bring back {file} as of {of}" if plan.as_of else f"Would take back {of}"]
    if not plan.changes_anything and not plan.conflicts:
        where = f"{file} as of {of}" if plan.as_of else of
        return [f"Nothing would change: {plan.problem}.", where]
    for changed in plan.to_json()["files"]:
        lines += str(changed["diff"]).rstrip("\n").split("\n")
    for conflict in plan.conflicts:
        lines += _sides(conflict)
    if offer and len(plan.edits) > 1:
        lines.append("Its edits (--edit N takes back one of them):")
        lines += [f"  {one.number:>3}  {one.path}  {one_line(one.words, 200)}" for one in plan.edits]
    return [*lines, *(text for text in (plan.note, plan.problem) if text)]


def _sides(conflict: RestoreConflict) -> list[str]:
    """A conflict with both its sides."""
    lines = [f"Conflict in {conflict.path}, line {conflict.line}"]
    for title, option, side in (("now", "now", conflict.now), ("before it", "then", conflict.then)):
        lines.append(f"  {title} (--settle {option}):")
        lines += [f"    {line}".rstrip() for line in map(str.rstrip, side)] or ["    (no line)"]
    return lines


# `--review` at a terminal: the edits of a Dream one by one, each with its words and what asks for it, and the answer.

QUESTION = "+ accept, - reject, e edit, a all, q later, ? help: "
WRONG = "The answers are + (or y), -, e, a, q and ?."
HELP = (
    "  +  make this edit    -  let it go for good    e  make it in other words",
    "  a  make all that follow; those that were refused go to the inbox",
    "  q  decide on the rest later, in the inbox; what you accepted is made",
    "  ctrl+c ends it with nothing changed: the next Dream reads it all again",
)


def can_decide(state: State) -> bool:
    """Whether a person is there to be asked, edit by edit."""
    return not state.json and output.can_ask() and sys.stderr is not None and sys.stderr.isatty()


@dataclass
class Answers:
    """What was decided so far: the edits to make, those that go to the inbox, and the files as they would be."""

    texts: dict[str, str]
    made: list[LineEdit] = field(default_factory=list)
    left: list[Refusal] = field(default_factory=list)
    rejected: list[Refusal] = field(default_factory=list)

    def make(self, edit: LineEdit) -> None:
        """Make it on top of those before it. Raises BadInput or Conflict when that cannot be."""
        from nanomem_tui.dreams.edits import apply_edits, rebase
        from nanomem_tui.dreams.review import check_possible

        check_possible(edit)
        there = rebase(edit, self.texts, [one.edit for one in (*self.left, *self.rejected)])
        self.texts = apply_edits(self.texts, [there])
        self.made.append(there)


def decided(ws: Workspace, proposed: DreamResult) -> DreamResult:
    """The Dream that was `proposed`, with what the person at the terminal makes of each edit.

    An accepted edit whose line somebody changed meanwhile goes to the inbox with the reason.
    Raises what `DreamRunner.apply` does, and KeyboardInterrupt with nothing changed.
    """
    from nanomem_tui.dreams.edits import TITLES
    from nanomem_tui.dreams.guards import Refusal
    from nanomem_tui.dreams.review import WAITS
    from nanomem_tui.dreams.run import apply_applicable

    questions = [*(Refusal(edit, "") for edit in proposed.edits), *proposed.refused]
    answers = Answers({name: ws.documents.read(name) or "" for name in TITLES})
    entries = (
        ws.history.entries_of({cursor for asked in questions for cursor in asked.edit.evidence}) if questions else {}
    )
    all_the_rest = ""
    for number, asked in enumerate(questions, 1):
        waits = Refusal(asked.edit, asked.why or WAITS)
        answer = all_the_rest or _ask(asked, f"{number} of {len(questions)}", entries, answers)
        if answer in ("a", "q"):
            all_the_rest = answer
            if answer == "q" or asked.why or not _made(answers, asked.edit):
                answers.left.append(waits)
        elif answer == "-":
            answers.rejected.append(asked)
    result, stale = apply_applicable(
        ws.dream.runner, ws.documents.read, proposed, answers.made, answers.left, answers.rejected
    )
    if questions:
        made, rejected, left = len(answers.made) - len(stale), len(answers.rejected), len(answers.left) + len(stale)
        output.notes([f"{made} accepted, {rejected} rejected, {left} to the inbox"])
        output.notes(f"Could not be made any more, and waits: {_words(one.edit)} ({one.why})" for one in stale)
    return result


def _words(edit: LineEdit) -> str:
    from nanomem_tui.dreams.review import mask_edit

    shown = mask_edit(edit)
    return f"{shown.op} in {shown.to_file or shown.file}: {one_line((shown.new or shown.old).strip(), 200)}"


def _made(answers: Answers, edit: LineEdit) -> bool:
    try:
        answers.make(edit)
    except (BadInput, Conflict):
        return False
    return True


def _ask(asked: Refusal, place: str, entries: Mapping[int, HistoryEntry], answers: Answers) -> str:
    """Show an edit and ask until there is an answer that can be: `+` (it is made then), `-`, `a` or `q`."""
    output.toned(_shown(asked, place, entries))
    while True:
        answer = _dream_review_line(QUESTION)
        if answer is None or answer in ("q", "a", "-"):
            return answer or "q"
        if answer not in ("+", "y", "e"):
            output.notes(HELP if answer in ("?", "h", "help") else [WRONG])
            continue
        try:
            answers.make(_reworded(asked.edit) if answer == "e" else asked.edit)
        except NanomemError as error:
            output.notes([f"That cannot be: {error.line()}"])
        else:
            return "+"


def _shown(asked: Refusal, place: str, entries: Mapping[int, HistoryEntry]) -> Iterator[Sequence[tuple[str, str]]]:
    """The lines of an edit: where, the words that go and come, why it was refused, and the entries that ask for it."""
    from nanomem_tui.cli.commands.inbox import evidence_lines
    from nanomem_tui.dreams.blame import recorded_evidence
    from nanomem_tui.dreams.review import StoredEdit as Hunk
    from nanomem_tui.dreams.review import mask_edit
    from nanomem_tui.language import secrets
    from nanomem_tui.review.quarantine import WaitingEdit
    from nanomem_tui.widgets.diff_view import DiffLine, spans_of
    from nanomem_tui.widgets.diff_view import Hunk as Lines

    edit = mask_edit(asked.edit)
    one = WaitingEdit(Hunk("", edit, asked.why, "", ""))
    yield ()
    yield [(f"({place}) {edit.op} in {one.where}", "heading")]
    lines = [DiffLine("-", one.old)] if one.old else []
    lines += [DiffLine("+", one.new)] if one.new else []
    for line, spans in spans_of(Lines(tuple(lines))):
        yield [(f"{line.sign} ", "added" if line.sign == "+" else "removed"), *spans]
    if edit.why:
        yield [(f"  {edit.why}", "dim")]
    for text in evidence_lines(recorded_evidence(one.new or one.old, edit.evidence, entries)):
        yield [(f"  from {secrets.mask(text.strip())}", "dim")]
    if asked.why:
        yield [(f"  refused: {asked.why}", "warn")]


def _reworded(edit: LineEdit) -> LineEdit:
    """The edit in the person's words, from their editor where one is set. Raises BadInput, Refused."""
    from nanomem_tui.dreams.review import reword

    if edit.op == "remove":
        return reword(edit, "")
    now = edit.new or edit.old
    if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
        from nanomem_tui.terminal.editor import edit_text

        return reword(edit, edit_text(now))
    return reword(edit, _dream_review_line("The line instead: ") or "")


def _dream_review_line(question: str) -> str | None:
    """What is typed, without space around it; None when nothing more comes."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line.strip() if line else None


def waiting_line(number: int) -> str:
    """How many edits wait, and where they are decided on."""
    verb = "waits" if number == 1 else "wait"
    return f"{counted(number, 'edit')} of Dreams {verb} in the inbox: nanomem inbox list"


# `nanomem dream versions` and `nanomem blame`: a memory file through time, and who wrote each of its lines.


@dream.command("versions")
@click.argument("file", type=Words())
@click.argument("sha", type=Words(), required=False)
@paged
@pass_state
def versions(state: State, file: str, sha: str | None, limit: int | None, offset: int) -> None:
    """Every version of SOUL.md, USER.md or MEMORY.md, newest first; with a SHA the file as it was after that change.

    `nanomem dream restore SHA --file FILE --as-of` brings one back.

    \b
    Example:
      nanomem dream versions USER.md --limit 5
      nanomem dream versions USER.md SHA
    """
    from nanomem_tui.dreams.log import full_name

    path = full_name(file)
    with state.open() as ws:
        if sha is not None:
            _show_version(state, ws, path, sha)
            return
        found = ws.dream.versions
        all_of_it = list(found.of_file(path))
        body = [_version(found, saved, path) for saved in page(all_of_it, limit, offset)]
        why_none = ws.dream.why_none()
    number = counted(len(all_of_it), "version")
    none = (
        f"None of {number} within that limit and offset." if all_of_it else why_none or "No version of it is kept yet."
    )
    state.show(body, lambda: _version_lines(body) or [none])


def _show_version(state: State, ws: Workspace, path: str, sha: str) -> None:
    commit = ws.dream.commit(sha)
    text = ws.dream.versions.text(commit.sha, path)
    if text is None:
        raise errors.NotFound("there was no such file then", path, "choose a later version")
    body = {"id": commit.sha, "sha": commit.sha, "at": commit.at, "message": commit.subject, "file": path, "text": text}
    state.show(body, lambda: paragraph(text.removesuffix("\n"), output.terminal_width()))


def _version(found: Versions, saved: SavedVersion, path: str) -> dict[str, Any]:
    added: int | None = None
    removed: int | None = None
    with suppress(errors.NanomemError):  # a version whose text is lost
        added, removed = found.counts(saved, path)
    return {
        "id": saved.sha or "now", "sha": saved.sha or None, "at": saved.at or None, "who": saved.who,
        "message": saved.subject, "file": path, "added": added, "removed": removed,
    }  # fmt: skip


def _version_lines(body: Sequence[dict[str, Any]]) -> list[str]:
    columns = [
        Column("Commit"),
        Column("Time"),
        Column("Who", drop=1),
        Column("+", right=True),
        Column("-", right=True),
        Column("Message", limit=80, least=24),
    ]
    cells = [
        ((row["sha"] or "now")[:8], output.when(row["at"]), row["who"],
         *("?" if row[sign] is None else str(row[sign]) for sign in ("added", "removed")),
         row["message"])
        for row in body
    ]  # fmt: skip
    return table(columns, cells, output.terminal_width())


# `nanomem blame`: who wrote each line of SOUL, USER and MEMORY, why, and from which words of a session.

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d{1,9})", re.DOTALL)
_SHOWN = 400  # characters of an entry or a message
_GUESSED = "\n~ entries found by the words that they share with the line: a guess, no Dream recorded them."
_BACK = "\n< brought back by an undo or a revert; `nanomem blame FILE:LINE` names who wrote it first."


@click.command("blame", cls=Command)
@click.argument("place", metavar="[FILE[:LINE]]", type=Words(), required=False)
@click.option("--session", "session_key", type=Words(), metavar="KEY", help="The other way: from a session ...")
@click.option("--message", type=click.IntRange(min=0), metavar="N", help="... and a message of it to the lines.")
@pass_state
def blame(state: State, place: str | None, session_key: str | None, message: int | None) -> int | None:
    """Who wrote each line of SOUL.md, USER.md or MEMORY.md, and which history entries asked for it.

    With a LINE also the words of the session that these came from. With --session and --message the way back: the
    lines that a message led to. Exit code 1 when it led to none.

    \b
    Example:
      nanomem blame USER.md:12
      nanomem blame --session cli:direct --message 4
    """
    if session_key is not None or message is not None:
        if session_key is None or message is None:
            raise click.UsageError("--session and --message go together", click.get_current_context())
        return _led_to(state, place, session_key, message)
    if place is None:
        raise click.UsageError("name a file: SOUL.md, USER.md or MEMORY.md", click.get_current_context())
    match = _PLACE.fullmatch(place)
    file, number = (match["file"], int(match["line"])) if match else (place, 0)
    with state.open() as ws:
        lines = ws.dream.blames.blame(file)
        if match:
            if not 1 <= number <= len(lines):
                raise errors.NotFound("no such line", place, f"the file has {counted(len(lines), 'line')}")
            lines = ws.dream.blames.with_messages(lines[number - 1 : number])
        elif state.json:
            lines = ws.dream.blames.with_messages(lines)
        none = ws.dream.why_none()
        doubts = ws.dream.blames.doubts(lines)
    body = [line.to_json() for line in lines]
    if match:
        state.show(body[0], lambda: _line_lines(lines[0], none))
    else:
        state.show(body, lambda: [*(_table(lines) or ["The file is empty."]), *([none] if none else [])])
    output.notes(f"Note: {doubt}" for doubt in doubts)
    return None


def _led_to(state: State, place: str | None, session_key: str, message: int) -> int:
    with state.open() as ws:
        found = ws.dream.blames.led_to(session_key, message)
        if place is not None:
            from nanomem_tui.dreams.log import full_name

            name = full_name(place)
            found = [line for line in found if line.file == name]
    state.show([line.to_json() for line in found], lambda: _led_lines(found) or ["It led to no line."])
    return 0 if found else 1


def _table(lines: Sequence[BlamedLine]) -> list[str]:
    columns = [
        Column("Line", right=True, of=lambda line: str(line.number)),
        Column("Commit", of=_commit),
        Column("Who", of=lambda line: line.role),
        Column("When", drop=2, of=lambda line: output.when(line.at)[:10] if line.at else ""),
        Column("Entries", limit=15, drop=3, optional=True, of=lambda line: line.named),
        Column("Session", limit=20, least=12, drop=4, optional=True, of=lambda line: line.session_key or ""),
        Column("Text", least=24, of=lambda line: line.text),
    ]

    width = output.terminal_width()
    note = paragraph(_BACK, width) if any(line.first for line in lines) else []
    return [*output.columned(columns, lines), *_guessed(lines, width), *note]


def _guessed(lines: Sequence[BlamedLine], width: int | None) -> list[str]:
    return paragraph(_GUESSED, width) if any(line.guessed for line in lines) else []


def _commit(line: BlamedLine) -> str:
    if line.writer is None:
        return "not yet"
    return f"{line.writer.short}{'<' if line.first else ''}"


def _led_lines(lines: Sequence[BlamedLine]) -> list[str]:
    columns = [Column("Line", limit=30), Column("Commit"), Column("Who", drop=1), Column("Entries", drop=2, limit=15),
               Column("Text", least=24)]  # fmt: skip
    rows = [(f"{line.file}:{line.number}", _commit(line), line.role, line.named, line.text) for line in lines]
    width = output.terminal_width()
    return [*table(columns, rows, width), *_guessed(lines, width)]


def _line_lines(line: BlamedLine, none: str) -> list[str]:
    width = output.terminal_width()
    rows = [*paragraph(f"{line.file}:{line.number}  {one_line(line.text)}", width), ""]
    if line.writer is None:
        rows += paragraph(none or "It is not committed yet: the next Dream or edit through nanomem commits it.", width)
    else:
        pairs = [_writer(line.writer, "Brought back" if line.first else "Written")]
        pairs += [_writer(line.first, "First written")] if line.first else []
        rows += [part for row in output.fields(pairs) for part in paragraph(row, width)]
    rows += _why(line, width)
    return rows


def _writer(writer: Writer, verb: str) -> tuple[str, str]:
    said = one_line(writer.subject, 60)
    by = "a person, who accepted what a Dream proposed" if writer.accepted else writer.who
    return verb, f"{output.when(writer.at)} by {by}, commit {writer.short} {said}"


def _why(line: BlamedLine, width: int | None) -> list[str]:
    doubt = paragraph(line.doubt, width) if line.doubt else []
    if not line.entries:
        return ["", *doubt]
    sure = "History entries that asked for it (it named them):"
    likely = "History entries that may have asked for it (a guess, by the words they share: no Dream recorded them):"
    rows = ["", likely if line.guessed else sure]
    for entry in line.entries:
        session = f" {entry.session_key}" if entry.session_key else ""
        said = entry.text or "(no longer in the archive)"
        rows += paragraph(f"  #{entry.cursor} {entry.timestamp}{session}: {one_line(said, _SHOWN)}", width)
    rows += [
        *doubt,
        "",
        "Said in the session, by the words they share:"
        if line.messages
        else "No message of a session shares enough words with it.",
    ]
    for message in line.messages:
        head = f"  {message.session_key} message {message.index}, {message.role}, {output.when(message.timestamp)}"
        rows += paragraph(f"{head}: {one_line(message.text, _SHOWN)}", width)
    return rows
