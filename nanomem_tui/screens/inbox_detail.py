"""What the Inbox screen shows beside a finding: its words, why it wants a person, the evidence, and the keys.

Shows a text as it is stored: of a secret that was masked, nothing but its kind and fingerprint is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.memory.turns.wishes import target_of
from nanomem_tui.review.findings import KINDS, Decision, Evidence, Finding
from nanomem_tui.screens.rows import when
from nanomem_tui.widgets.diff import DiffLine, Hunk, spans_of
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.memory.inbox import Waiting
    from nanomem_tui.review.queue import Triage
    from nanomem_tui.review.waiting import WaitingEdit, Waits

KeyOf = Callable[[str], str]
ACTION_OF: Mapping[Decision, str] = {
    "keep": "accept", "reject": "reject", "merge": "merge", "edit": "edit", "disable": "toggle", "delete": "delete",
    "split": "split", "snooze": "snooze",
}  # fmt: skip
"""The action of the registry that makes a decision."""
SAYS: Mapping[Decision, str] = {
    "keep": "keeps it", "reject": "takes it away", "merge": "merges them", "edit": "gives it other words",
    "disable": "switches it off", "delete": "deletes it", "split": "moves it to another scope",
    "snooze": "puts it off for a week",
}  # fmt: skip
OF_CONFLICTS: Mapping[Decision, str] = {
    "keep": "keeps both", "merge": "lets the newer stand", "reject": "lets the older stand",
    "disable": "says that the older was never so", "split": "gives the older a scope of its own",
}  # fmt: skip
"""The same keys where two contradict each other."""
OF_TWO: Mapping[Decision, str] = {"keep": "lets this stand", "reject": "takes what the other one made of it"}
OF_KIND: Mapping[str, Mapping[Decision, str]] = {"conflict": OF_CONFLICTS, "unsettled": OF_TWO}
ALIKE = frozenset({"duplicate", "conflict", "restated", "unsettled"})
"""Kinds of which the evidence is another text, to be compared word by word."""


def document(triage: Triage, waits: Waits, finding: Finding, key_of: KeyOf) -> Document:
    """All that a person needs to decide. Raises what the finder does when the finding is gone."""
    if finding.kind == "edit":
        return _edit(waits, cast("WaitingEdit", waits.get(finding.ids[0])), key_of)
    if finding.kind == "waiting":
        return _held(cast("Waiting", waits.get(finding.ids[0])), key_of)
    blocks: list[Block] = [Body(finding.text), Body(f"{_sentence(finding)}.", "warn"), keys(finding, key_of)]
    try:
        evidence = triage.evidence(finding)
    except NanomemError as error:
        evidence = [Evidence("the evidence cannot be read", error.line())]
    for beside in evidence:
        blocks += _beside(finding, beside)
    named = (
        ("is", f"{finding.layer}, {finding.source}".strip(", ")),
        ("scope", finding.scope_key),
        ("since", when(finding.since) if finding.since else ""),
        ("sure", f"{finding.weight:.0%}"),
        ("id", finding.ids[0] if finding.ids else finding.id),
    )
    blocks += [Heading("Where it is from"), *(Field(name, value) for name, value in named if value)]
    return Document(tuple(blocks), copy=finding.text)


def keys(finding: Finding, key_of: KeyOf) -> Block:
    """The keys of what is offered, the proposed one first; each can be undone."""
    offered: Sequence[Decision] = tuple(dict.fromkeys((*finding.offers, "keep")))
    says = {**SAYS, **OF_KIND.get(finding.kind, {})}
    if finding.kind == "leak" and finding.offers[0] == "split":
        says = {**SAYS, "split": "takes it where it belongs"}
    told = [f"{key_of(ACTION_OF[one])} {says[one]}" for one in offered if key_of(ACTION_OF[one])]
    return Body(f"{', '.join(told)}; {key_of('undo')} undoes it.", "dim")


def _sentence(finding: Finding) -> str:
    """Why it wants a person: the kind, and what was found."""
    kind, why = KINDS.get(finding.kind, finding.kind), finding.why.rstrip(".")
    said = why if why.startswith(kind) else f"{kind}: {why}" if why else kind
    return f"{said[:1].upper()}{said[1:]}"


def _beside(finding: Finding, beside: Evidence) -> list[Block]:
    """One piece of evidence: what it is, its words (against those of the finding where both say the same), its date."""
    blocks: list[Block] = [Heading(beside.label)]
    if finding.kind in ALIKE and beside.text not in ("", finding.text) and "\n" not in finding.text + beside.text:
        blocks += diff(finding.text, beside.text)
    elif beside.text:
        blocks.append(Body(beside.text))
    told = (("said", when(beside.at) if beside.at else ""), ("from", beside.origin), ("id", beside.id))
    return [*blocks, *(Field(name, value) for name, value in told if value)]


def _held(one: Waiting, key_of: KeyOf) -> Document:
    """The words that would be remembered, why they wait, and who said them where."""
    kept = one.row
    accept, reject, edit = (key_of(name) for name in ("accept", "reject", "edit"))
    told = Body(f"{accept} accepts it, {reject} rejects it, {edit} accepts it with other words.", "dim")
    if target_of(kept):
        told = Body(f"{accept} deletes that memory (u brings it back), {reject} keeps it.", "dim")
    waits = Body(f"Waits: {one.why.removeprefix('waits ')}.", "warn")
    named = (
        ("from", one.origin),
        ("is", f"{getattr(kept, 'kind', '')} {one.layer}".strip()),
        ("scope", getattr(kept, "scope_key", "") or getattr(kept, "scope", "")),
        ("message", getattr(kept, "source_message_id", "")),
        ("since", when(one.since)),
        ("said", f"{kept.hits:,} times" if kept.hits > 1 else ""),
        ("id", one.id),
    )
    blocks: list[Block] = [Body(one.text), waits, told, Heading("Where it is from")]
    blocks += [Field(name, str(value)) for name, value in named if value]
    held = kept.meta.get("inbox")
    if isinstance(held, Mapping):
        blocks += [Field(name, str(value)) for name, value in held.items() if name != "why" and value]
    return Document(tuple(blocks), copy=one.text)


def _edit(waits: Waits, row: WaitingEdit, key_of: KeyOf) -> Document:
    """The line that goes and the line that comes, word by word; why it waits, and the entries that ask for it."""
    why = Body(f"Waits: {row.why.removeprefix('waits ')}.", "warn")
    blocks: list[Block] = [Spans(((row.place, "heading"),)), *diff(row.old, row.new), why]
    accept, reject, edit_key = (key_of(name) for name in ("accept", "reject", "edit"))
    gone, mends = waits.now(row), not waits.now(row, "other words")
    if gone:
        blocks.append(Body(f"It cannot be made as it is: {gone}.", "bad"))
    said = "" if gone else f"{accept} accepts it, "
    said += f"{reject} rejects it" + (f", {edit_key} accepts it with other words." if mends else ".")
    blocks += [Body(said, "dim"), Heading("What asks for it")]
    entries = waits.evidence(row)
    for entry in entries:
        said = entry.text if entry.timestamp else "not in the history any more"
        head = " ".join(filter(None, (entry.timestamp, entry.session_key)))
        blocks.append(Spans(((f"#{entry.cursor} ", "accent"), (f"{head} ", "dim"), (said, "")), 2))
    if not entries:
        blocks.append(Body("No history entry is named.", "dim"))
    edit = row.hunk.edit
    named = (
        ("is", f"edit of a Dream ({row.hunk.dreamer}): {edit.op}"),
        ("reason", edit.why),
        ("since", when(row.since)),
        ("id", row.id),
    )
    blocks += [Heading("Where it is from"), *(Field(name, value) for name, value in named if value)]
    return Document(tuple(blocks), copy=row.new or row.old)


def diff(old: str, new: str) -> Iterable[Block]:
    """Two lines, what differs between them marked."""
    lines = [DiffLine("-", old)] if old else []
    lines += [DiffLine("+", new)] if new else []
    for line, spans in spans_of(Hunk(tuple(lines))):
        tone = "added" if line.sign == "+" else "removed"
        yield Spans(((f"{line.sign} ", tone), *spans), 2)
