"""What the ledger holds of a Dream of ours, as cells and blocks: who dreamt, what it took, what was refused and why.

Turns recorded values into those of the widgets; what has another shape than ours is left out. Reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.core.text import counted, one_line
from nanomem_tui.dreams.log import DreamRun, mapping
from nanomem_tui.model.client import Usage
from nanomem_tui.screens.diffs import Evidence, entry_line
from nanomem_tui.screens.dreaming import usage_words
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.document import Block, Body, Field, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.agents.git import Commit
    from nanomem_tui.store.files import merge

Meta = Mapping[str, Any]
Runs = Mapping[str, DreamRun]

WORDS = 200  # characters of a line that was refused


def run_columns(runs: Runs) -> list[Column[Commit]]:
    """Columns for what some of the `runs` (by commit) have: edits refused, tokens, cost."""
    columns = []
    if any(run.refused for run in runs.values()):
        columns.append(_column("refused", "Refused", 7, 6, runs, lambda run: run.refused, "{:,}"))
    if any(run.tokens for run in runs.values()):
        columns.append(_column("tokens", "Tokens", 7, 7, runs, lambda run: run.tokens, "{:,}"))
    if any(run.cost for run in runs.values()):
        columns.append(_column("cost", "Cost", 7, 8, runs, lambda run: run.cost, "{:.4f}"))
    return columns


def _column(key: str, title: str, width: int, priority: int, runs: Runs, value: Any, form: str) -> Column[Commit]:
    def render(row: Commit) -> str:
        found = value(runs[row.sha]) if row.sha in runs else None
        return form.format(found) if found else ""

    def sort(row: Commit) -> float:
        return (value(runs[row.sha]) or 0) if row.sha in runs else -1

    return Column(key, title, render, width=width, priority=priority, align="right", tone="dim", sort=sort)


def evidence_recorded(
    meta: Meta, of: Callable[[Collection[int]], Mapping[int, HistoryEntry]], otherwise: Evidence
) -> Evidence:
    """The entries that the Dream itself named for the lines of a hunk; for a hunk without any what `otherwise` says.
    `of` gives entries by their cursors."""
    named: dict[str, list[int]] = {}
    for edit in _objects(meta.get("edits")):
        for line in (edit.get("new"), edit.get("old")):
            if isinstance(line, str) and line.strip():
                cursors = edit.get("evidence")
                named.setdefault(line.strip(), []).extend(cursors if isinstance(cursors, (list, tuple)) else ())

    entries = of({cursor for cursors in named.values() for cursor in cursors})

    def behind(hunk: merge.Hunk) -> tuple[str, ...]:
        changed = [line.text.strip() for line in hunk.lines if line.tag != "equal"]
        cursors = sorted({cursor for line in changed for cursor in named.get(line, ())})
        found = tuple(entry_line(entries[cursor]) for cursor in cursors if cursor in entries)
        return found or otherwise(hunk)

    return behind


def told_above(meta: Meta) -> list[Block]:
    """Who dreamt, what it took, and how many edits were not made."""
    usage = usage_of(mapping(meta.get("usage")))
    blocks: list[Block] = [Field("dreamer", f"nanomem, {meta.get('dreamer') or 'rules'}")]
    if usage.calls:
        blocks.append(Field("it took", usage_words(usage)))
    refused, rejected = (len(_objects(meta.get(key))) for key in ("refused", "rejected"))
    if refused:
        blocks.append(Field("not made", f"{counted(refused, 'edit')}, each with its reason below", "warn"))
    if rejected:
        blocks.append(Field("rejected", f"{counted(rejected, 'edit')}, by a person"))
    return blocks


def told_below(meta: Meta) -> list[Block]:
    """What the model made of the entries, and the edits and facts that changed nothing, with the reasons."""
    blocks: list[Block] = []
    analysis = meta.get("analysis")
    if isinstance(analysis, str) and analysis.strip():
        blocks += [Heading("What the Dreamer made of them"), Body(analysis.strip())]
    refused, rejected = _objects(meta.get("refused")), _objects(meta.get("rejected"))
    if refused:
        blocks.append(Heading(f"Not made ({len(refused):,})"))
        for edit in refused:
            blocks += [_line(edit), Spans((("    ", ""), (str(edit.get("reason") or ""), "warn")), 4)]
    if rejected:
        blocks += [Heading(f"Rejected by a person ({len(rejected):,})"), *map(_line, rejected)]
    if left := _objects(meta.get("left")):
        blocks.append(Heading(f"Found, and no edit made of it ({len(left):,})"))
        for fact in left:
            words = one_line(str(fact.get("text") or ""), WORDS)
            where, why = f"  #{fact.get('cursor')} ", f"  {fact.get('reason') or ''}"
            blocks.append(Spans(((where, "dim"), (words, ""), (why, "dim")), 4))
    return blocks


def usage_of(meta: Meta) -> Usage:
    """What a model took, as the ledger holds it; what is no number there is none here."""

    def number(name: str) -> float:
        found = meta.get(name)
        return found if isinstance(found, (int, float)) else 0

    cost = meta.get("cost")
    return Usage(
        calls=int(number("calls")),
        tokens_in=int(number("tokens_in")),
        tokens_out=int(number("tokens_out")),
        cost=float(cost) if isinstance(cost, (int, float)) else None,
        seconds=float(number("seconds")),
        model=str(meta.get("model") or ""),
        estimated=meta.get("estimated") is True,
    )


def _line(edit: Meta) -> Block:
    words = one_line(str(edit.get("new") or edit.get("old") or ""), WORDS)
    return Spans(((f"  {edit.get('op') or 'edit'} ", "dim"), (words, ""), (f"  {edit.get('file') or ''}", "dim")), 4)


def _objects(value: object) -> Sequence[Meta]:
    found: Iterable[object] = value if isinstance(value, (list, tuple)) else ()
    return [one for one in found if isinstance(one, Mapping)]
