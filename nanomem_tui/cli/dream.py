"""`nanomem dream`: run a Dream, read what Dreams did, take them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output, values, words
from nanomem_tui.cli.shared import Count, Group, Words, paged, pass_state
from nanomem_tui.cli.state import State, page
from nanomem_tui.cli.tables import Column, table
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.agents.git import Commit, FileDiff
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.workspace import Workspace


_MAX_REFUSED = 1000  # characters of a refused line that are printed: one may be as long as an entry
_LATE = {
    "restore": "nanomem_tui.cli.dream_restore:restore",
    "versions": "nanomem_tui.cli.dream_versions:versions",
    "survival": "nanomem_tui.cli.dream_versions:survival",
    "schedule": "nanomem_tui.cli.dream_schedule:schedule",
}


@click.group("dream", cls=Group, late=_LATE)
def dream() -> None:
    """The agent's Dreams: run one, see what each changed, take one back.

    \b
    Example:
      nanomem dream log --limit 5
    """


def dream_once(
    state: State,
    dreamer: str | None,
    max_batch_size: int | None,
    max_iterations: int | None,
    timeout: float | None,
    *,
    dry_run: bool,
    review: bool = False,
) -> int:
    """One Dream, told in words or as JSON; 0. Raises NothingToDo (exit code 1), Refused, Conflict, ModelError.

    `review`: a person at a terminal is asked about each edit; without one each goes to the inbox.
    """
    from nanomem_tui.cli import dream_review

    asked = review and not dry_run and dream_review.can_decide(state)
    with state.open(dry_run=dry_run) as ws:
        with output.Progress() as progress:
            result = ws.dream.run(
                dry_run=dry_run or asked, review=review and not asked, max_batch_size=max_batch_size,
                max_iterations=max_iterations, timeout=timeout, dreamer=dreamer, watch=progress,
            )  # fmt: skip
        if asked:
            result = dream_review.decided(ws, result)
        body = _result_body(ws, result, dry_run=dry_run)
    if result.unreadable:
        from nanomem_tui.dreams.run import passed_over

        output.notes([passed_over(result.unreadable)])
    state.show(body, lambda: _result_lines(result, body["waiting"], dry_run=dry_run))
    return 0


def _result_body(ws: Workspace, result: DreamResult, *, dry_run: bool) -> dict[str, Any]:
    """The JSON object of a Dream: what it did, in counts too, and the ids under which refused edits wait."""
    from nanomem_tui.dreams.review import masked

    waiting = ws.dream.review.waiting()
    ids = {hunk.edit: hunk.id for hunk in waiting}
    found: dict[str, Any] = result.to_json()
    for entry, refusal in zip(found["refused"], result.refused, strict=True):
        entry["id"] = None if dry_run else ids.get(refusal.edit) or ids.get(masked(refusal.edit))
    counts = {name: len(found[name]) for name in ("edits", "refused", "skipped")}
    return {
        **found,
        "counts": {"read": result.read, "remaining": result.remaining, **counts},
        "tokens": result.usage.tokens_in + result.usage.tokens_out,
        "cost": result.usage.cost,
        "waiting": len(waiting),
        "operation": values.operation(result.operation),
        "dry_run": dry_run,
    }


def _result_lines(result: DreamResult, waiting: int, *, dry_run: bool) -> list[str]:
    from nanomem_tui.cli.dream_review import waiting_line
    from nanomem_tui.dreams import rules
    from nanomem_tui.dreams.entries import skipped_summary
    from nanomem_tui.dreams.review import WAITS, masked
    from nanomem_tui.language import secrets

    would = "Would change" if dry_run else "Changed"
    lines = [f"Read {words.counted(result.read, 'entry', 'entries')} ({result.span}), {result.remaining} wait."]
    if result.usage.calls:
        lines.append(f"{words.spent(result.usage)}.")
        lines.extend(f"  {one_line(line, 500)}" for line in result.analysis.split("\n") if line.strip())
    for name, (added, removed) in result.files.items():
        own = [edit for edit in result.edits if edit.file == name]
        by = f", by {words.counted(len(own), 'edit')}" if own else ""
        lines.append(f"{would} {name}: +{added} -{removed}{by}")
        lines.extend(f"  {secrets.mask(line)}" for line in _changed_lines(result.before[name], result.after[name]))
        lines.extend(f"  {_edit_line(masked(edit).to_json())}" for edit in own if edit.op == "move")
    if not result.files and not result.refused:
        lines.append(f"{result.unchanged[:1].upper()}{result.unchanged[1:]}.")
    for refusal in result.refused:
        why = "For you to judge" if refusal.why == WAITS else f"Refused ({refusal.why})"
        told = one_line(_edit_line(masked(refusal.edit).to_json()), _MAX_REFUSED)
        lines.append(f"{why}: {refusal.edit.file} {told}")
    if result.unread and (result.files or result.refused):  # else `unchanged` says so
        lines.append(f"Not read: {rules.told(result.unread)}.")
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
    from nanomem_tui.store.files import merge

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
def run(
    state: State,
    dreamer: str | None,
    max_batch_size: int | None,
    max_iterations: int | None,
    timeout: float | None,
    dry_run: bool,
    review: bool,
) -> int:
    """One Dream over the oldest history entries that none has read. Exit code 1 when there is none.

    What the guards refuse waits in the inbox (`nanomem inbox list`).

    \b
    Example:
      nanomem dream run --dry-run
    """
    return dream_once(state, dreamer, max_batch_size, max_iterations, timeout, dry_run=dry_run, review=review)


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
    what = words.counted(len(of_dreams), "Dream") if dreams else words.counted(len(everything), "change")
    return f"None of {what} within that limit and offset."


def logged(ws: Workspace, *, dreams: bool, limit: int | None, offset: int) -> list[dict[str, Any]]:
    """The changes of the memory files, newest first, as JSON objects; `dreams`: only what Dreams did."""
    commits = ws.dream.commits(None if dreams or limit is None else limit + offset)
    recorded = ws.dream.recorded()
    shown = page([c for c in commits if c.is_dream or not dreams], limit, offset)
    return [values.commit(entry, recorded.of(entry)) for entry in shown]


def log_lines(body: Sequence[dict[str, Any]]) -> list[str]:
    """What `logged` gives, as a table."""
    columns = [
        Column("Commit"),
        Column("Time"),
        Column("By", drop=1),
        Column("+", right=True),
        Column("-", right=True),
        Column("Entries", right=True, drop=2),
        Column("Files", limit=40, least=14, drop=3),
        Column("Refused", right=True, drop=4, optional=True),
        Column("Tokens", right=True, drop=5, optional=True),
        Column("Cost", right=True, drop=6, optional=True),
        Column("Message", limit=80, least=24),
    ]
    cells = [
        (
            entry["sha"][:8],
            words.when(entry["at"]),
            entry["who"],
            str(entry["added"]),
            str(entry["removed"]),
            "" if entry["entries"] is None else str(entry["entries"]),
            " ".join(name.rsplit("/", 1)[-1] for name in entry["files"]),
            f"{entry['refused']:,}" if entry["refused"] else "",
            f"{entry['tokens']:,}" if entry["tokens"] else "",
            "" if entry["cost"] is None else f"{entry['cost']:.4f}",
            entry["message"],
        )
        for entry in body
    ]
    return table(columns, cells, output.terminal_width())


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
            **values.commit(commit, ws.dream.recorded().of(commit)),
            "message": commit.message,
            "diffs": [values.file_diff(d) for d in diffs],
        }
        state.show(body, lambda: _commit_lines(commit, diffs))


def _commit_lines(commit: Commit, diffs: Sequence[FileDiff]) -> list[str]:
    from nanomem_tui.dreams.log import who_made

    head = output.fields(
        [
            ("Commit", commit.sha),
            ("Time", words.when(commit.at)),
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
    state.show([values.file_diff(entry) for entry in found], _diff_lines(found) or ["No difference."])


@dream.command()
@pass_state
def status(state: State) -> None:
    """How many Dreams there were, what waits for the next one, and whether one runs now.

    \b
    Example:
      nanomem dream status
    """
    from nanomem_tui.dreams.schedule import Schedule
    from nanomem_tui.memory.facts.crystallize import CrystallizeSchedule

    with state.open() as ws:
        schedules = {"schedule": Schedule(ws).status(), "crystallize": CrystallizeSchedule(ws).status()}
        above = {"outer_repository": ws.dream.outer_repository() or None, "why_none": ws.dream.why_none() or None}
        found = values.plain({**ws.dream.status(), **above, **schedules})
    last, problem, ahead = found["last"] or {}, found["problem"], found["ahead"]
    pairs = [
        ("Dreams", "unknown" if problem else f"{found['runs']} in {words.counted(found['commits'], 'commit')}"),
        ("Cursor", _line(ahead) if ahead else f"{found['cursor']} of {found['latest']}, {found['unprocessed']} wait"),
        ("Not read", _not_read(found["unread"])),
        ("Running", "yes" if found["running"] else "no"),
        ("Versions", f"cannot be read: {_line(problem)}" if problem else _versions(found)),
        ("Not kept", _not_kept(found)),
        ("Last", f"{words.when(last['at'])} {last['sha'][:8]} {last['message']}" if last else ""),
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
    entries = words.counted(number, "entry", "entries")
    return f"{entries} that the rules could not read: nanomem --run-dream --dreamer model"


def _line(told: dict[str, Any]) -> str:
    from nanomem_tui.core.errors import Refused

    return Refused(told["what"], told["where"], told["fix"]).line()


def _schedule_pairs(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Whether Dreams run by themselves, when the next one does, and what went wrong."""
    often = f"cron {found['cron']}" if found["cron"] else f"every {found['every_h']:g} h"
    failures = words.counted(found["failures"], "time") if found["failures"] else ""
    passed = ", ".join(map(str, found["passed"]))
    return [
        ("Schedule", f"{often} in the console and `nanomem dream schedule`: {found['why']}" if found["on"]
         else f"off: {found['why']}"),
        ("Next", f"at {words.when(found['next_at'])} or later" if found["on"] else ""),
        ("Failed", f"{failures} in a row: {found['error']}" if failures else ""),
        ("Passed over", f"entries that no Dreamer could read: {passed}" if passed else ""),
    ]  # fmt: skip


def _facts_pairs(found: dict[str, Any]) -> list[tuple[str, str]]:
    """When facts are looked for by themselves, where that is set, and what went wrong."""
    failures = words.counted(found["failures"], "time") if found["failures"] else ""
    next_one = f"next at {words.when(found['next_at'])} or later" if found["on"] else f"off: {found['why']}"
    return [
        ("Facts", f"cron {found['cron']}, {next_one}" if found["cron"] else ""),
        ("Facts failed", f"{failures} in a row: {found['error']}" if failures else ""),
    ]
