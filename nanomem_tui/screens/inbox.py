"""The Inbox and Rules screens: what needs a person's decision, with its evidence and one key for each decision, and
the rules made of decisions.

The queue in `review` decides whether a decision can be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget

from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.retention import forget_target
from nanomem_tui.memory.scopes import HINT
from nanomem_tui.review.findings import (
    FINDING_FIELDS,
    KINDS,
    Decision,
    DecisionDetails,
    Evidence,
    Finding,
    Progress,
    finding_field,
    finding_text,
)
from nanomem_tui.review.inbox import DECISION_VERBS, QUARANTINED, Rule, can_rule, rule_like
from nanomem_tui.screens.base.console import show_message
from nanomem_tui.screens.base.editable_rows import LISTED, MANY, SAID, format_time
from nanomem_tui.screens.base.list_screen import View
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.screens.recall.answer import PickScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.dialogs import Dialog
from nanomem_tui.widgets.diff_view import DiffLine, Hunk, spans_of
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Preview, Spans

if TYPE_CHECKING:
    from nanomem_tui.memory.quarantined_rows import Waiting
    from nanomem_tui.review.inbox import Decided, Inbox
    from nanomem_tui.review.quarantine import Quarantine, WaitingEdit
    from nanomem_tui.store.values import Row
    from nanomem_tui.workspace import Workspace


SIGNS: Mapping[str, str] = {"secret": "!", "injection": "!", "leak": "!", "unsettled": "!", "conflict": "!"}


class InboxScreen(WorkspaceScreen[Finding]):
    """The queue of findings."""

    SCREEN = "inbox"
    TELLS_BENEATH = True
    TELLS_GONE = False  # what a person decides on goes, and that is said
    EACH_PAGE = True  # what is dangerous is there at once, and decided on while the rest is looked for
    EMPTY = (
        "Inbox is empty. What reads like an order or a secret or was not sure enough is held back here; "
        "what says the same, contradicts, grew old or was never used is found here."
    )
    HELP = (
        "All that wants a person, what is dangerous first, with the reason and the evidence beside it: what was held "
        "back when it was captured, imported or dreamt (it is nowhere else until you accept it), and what is better "
        "looked at. Each key decides on the row at the cursor, or on those selected, and goes on to the next; u undoes "
        "any of it. & decides alike on all that is like this. What you keep is asked about again only when it changes."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = FINDING_FIELDS

    def __init__(self) -> None:
        super().__init__()
        self._progress = Progress(0, 0.0, 0)
        self._resumed = False
        self.decided: Decision = "delete"  # the last decision, which `&` proposes

    # The list

    def beneath(self, row: Finding) -> str:
        """The whole reason."""
        return row.why

    def columns(self) -> Sequence[Column[Finding]]:
        """What it is, the words, and why it wants a person."""
        return (
            Column("is", "Type", lambda row: row.kind, width=9, tone="accent", sort=lambda row: row.kind),
            Column("text", "Memory", lambda row: row.text, min_width=30, flex=2, sort=lambda row: row.text.casefold()),
            Column("why", "Reason", lambda row: row.why, min_width=18, tone="warn", sort=lambda row: row.why),
            Column("source", "Source", lambda row: row.source, width=14, priority=3, tone="dim",
                   sort=lambda row: row.source),
            aged("Age", lambda row: row.since, priority=1, align="right", tone="dim", sort=lambda row: row.since),
        )  # fmt: skip

    def row_id(self, row: Finding) -> str:
        """Of what is held back its own id, by which other screens know it; else that of the finding."""
        return row.ids[0] if row.kind in QUARANTINED else row.id

    def load(self) -> Iterable[Sequence[Finding]]:
        """What is held back at once, then each kind as it is found; and how far the person has come."""
        triage = self.ws.triage
        held = triage.last_findings(QUARANTINED)
        number = len(held)
        self._progress = triage.progress(number)
        yield held
        for found in triage.coming():
            number += len(found)
            yield found
        self._progress = triage.progress(number)
        yield ()

    def nothing(self) -> str:
        """That nothing is left, and how much was done."""
        return (
            f"{counted(self._progress.decided, 'thing')} decided: all done." if self._progress.decided else self.EMPTY
        )

    def search_text(self, row: Finding) -> str:
        """Words are searched in the text and in the reason."""
        return finding_text(row)

    def field(self, row: Finding, name: str) -> Any:
        """The fields of the filter language; `is` is the kind of the finding, or item, lesson or edit."""
        return finding_field(row, name)

    def sign(self, row: Finding) -> str:
        """What is dangerous; everything else only asks."""
        return SIGNS.get(row.kind, "?")

    def facts(self, row: Finding) -> frozenset[str]:
        """Whether it is known where it came from, and whether it is about several things."""
        kept = self._kept(row)
        has = {"source"} if kept is not None and kept.session_key else set[str]()
        return frozenset(has | ({"several"} if len(row.ids) > 1 and row.kind not in QUARANTINED else set()))

    def copy_text(self) -> str:
        """The words."""
        return "\n".join(row.text for row in self.targets())

    def detail(self, row: Finding) -> Document:
        """The words, why they want a person, and the evidence."""
        return document(self.ws.triage, self.ws.quarantine, row, self.key_of)

    def _say_totals(self) -> None:
        super()._say_totals()
        done = self._progress.words().rpartition(", ")[0]
        if done:
            shown, total = self.shown(), len(self.listing.rows)
            left = f"{shown:,} of {total:,}" if shown != total else f"{total:,} left"
            selected = len(self.table.selected)
            looks = "looking" if self._loading else ""
            parts = [left, f"{selected:,} selected" if selected else "", done, looks, *self.also_said()]
            self.say_counts(" · ".join(filter(None, parts)))

    def _show_view(self, view: View[Finding]) -> None:
        """Show the rows; the first time that all are there, go on where the last decision was made."""
        asked = self._wanted_row is not None
        super()._show_view(view)
        if not self._resumed and view.done and not self._loading:
            self._resumed = True
            place = next((self.row_id(row) for row in view.rows if row.id == self._progress.next), None)
            if place is not None and not asked and self.table.cursor == 0:
                self.table.move_to_id(place)

    def is_about(self, row: Finding, keys: frozenset[str]) -> bool:
        """Whether what it is about is among them."""
        return super().is_about(row, keys) or not keys.isdisjoint(row.ids)

    def operations_done(self, operations: Sequence[Operation]) -> None:
        """Take out what was decided on."""
        touched = {change.key for one in operations for change in one.changes}
        decided = {key for one in operations if not one.is_reversal for key in one.meta.get("findings", ())}
        self.drop_rows(lambda row: row.id in decided or not touched.isdisjoint(row.ids))

    # Deciding

    async def do_accept(self) -> None:
        """Keep it as it is; what was held back becomes active."""
        await self._decide("keep")

    async def do_reject(self) -> None:
        """Take it away."""
        await self._decide("reject")

    async def do_delete(self) -> None:
        """Delete it."""
        await self._decide("delete")

    async def do_toggle(self) -> None:
        """Switch it off."""
        await self._decide("disable")

    async def do_merge(self) -> None:
        """Make one of those that say the same."""
        await self._decide("merge")

    async def do_snooze(self) -> None:
        """Put it off for a week."""
        await self._decide("snooze")

    def do_split(self) -> None:
        """Move it to the scope that is asked for, where it belongs first."""
        ask_for_scope(self, self.targets())

    async def do_all_like(self) -> None:
        """Decide alike on all that is like the row at the cursor."""
        row = self.table.cursor_row
        if row is not None:
            await ask_for_all_like(self, row)

    async def _decide(self, decision: Decision) -> None:
        """Decide on one row or a few at once, on many after a look at them."""
        rows = self.targets()

        async def decide(_yes: bool = True) -> None:
            await self.decide(rows, decision)
            self.table.clear_selection()

        if len(rows) <= MANY:
            await decide()
            return
        blocks: list[Block] = [
            Spans((("  ", ""), (one_line(row.text, 160), ""), (f"  {one_line(row.why, 60)}", "dim")), 2)
            for row in rows[:LISTED]
        ]
        if len(rows) > LISTED:
            blocks.append(Body(f"… and {len(rows) - LISTED:,} more", "dim"))

        title = f"{DECISION_VERBS[decision].capitalize()} {counted(len(rows), 'finding')}"
        self.confirm(title, blocks, decide, opened_by=self.key_of(ACTION_OF[decision]))

    async def do_edit(self) -> None:
        """Give the one at the cursor other words; several selected ones those that are proposed for each."""
        from nanomem_tui.widgets.dialogs import EditScreen

        row = self.table.cursor_row
        if row is None:
            return
        if len(self.table.selected) > 1:
            await self._decide("edit")
            return
        words = await self.console.in_thread(lambda ws: _words(ws, row))
        proposed = await self.console.in_thread(lambda ws: ws.triage.proposed(row))

        async def save(text: str | None) -> None:
            if text:
                await self.decide([row], "edit", DecisionDetails(text=text))

        def wrong(text: str) -> str:
            if row.kind != "edit":
                return ""
            return self.ws.quarantine.now(cast("WaitingEdit", self.ws.quarantine.get(row.ids[0])), text)

        verb = "Accept" if row.kind in QUARANTINED else "Edit"
        title = f"{verb} {row.ids[0]}{' with these words' if row.kind in QUARANTINED else ''}"
        self.ask(EditScreen(title, words, typed=proposed, wrong=wrong), save)

    async def decide(self, rows: Sequence[Finding], decision: Decision, how: DecisionDetails | None = None) -> None:
        """Decide by `Inbox.decide` (review/inbox.py); the cursor goes on to the next row."""
        going = {row.id for row in rows}
        shown = list(self.table.rows)
        at = max((place for place, row in enumerate(shown) if row.id in going), default=-1)
        after = next((row.id for row in shown[at + 1 :] if row.id not in going), "")
        await self.make_decision(lambda ws: ws.triage.decide(rows, decision, how, next_id=after))
        self.decided = decision

    async def make_decision(self, decide: Callable[[Workspace], Decided]) -> None:
        """Make a decision in a thread, then say what was done, and what had to stay."""
        made: list[Decided] = []

        def work(ws: Workspace) -> Sequence[Operation]:
            made.append(decide(ws))
            return [made[0].operation]

        for operation in await self.change(work):
            say(self, f"{one_line(operation.label, SAID)} (u undoes it)")
        left = made[0].left
        if left:
            first = f"{one_line(left[0][0].text, SAID)}: {left[0][1].what}"
            more = f" and {counted(len(left) - 1, 'more', 'more')}" if len(left) > 1 else ""
            say(self, f"Still in the inbox: {first}{more}", "warning")

    # Elsewhere

    async def do_source(self) -> None:
        """To the message that it came from, or to its session."""
        from nanomem_tui.review.finders.rows import message_of
        from nanomem_tui.store.values import Item

        row = self.table.cursor_row
        kept = None if row is None else self._kept(row)
        if kept is None or not kept.session_key:
            return
        key = kept.session_key
        index = await self.console.in_thread(lambda ws: message_of(ws, kept)) if isinstance(kept, Item) else None
        if index is not None:
            show_message(self.console, key, index)
        else:
            self.console.go("sessions", key)
            say(self, "Which message it came from is not known: this is its session")

    def _kept(self, row: Finding) -> Row | None:
        """The item or lesson that a finding is about; None for an edit."""
        if row.layer not in ("item", "lesson") or not row.ids:
            return None
        return cast("Row | None", self.ws.store.snapshot.table(row.layer).get(row.ids[0]))


def _words(ws: Workspace, finding: Finding) -> str:
    """The words that an edit of a finding begins with. Raises BadInput for what has none."""
    if finding.kind == "edit":
        edit = cast("WaitingEdit", ws.quarantine.get(finding.ids[0]))
        if not edit.new:
            raise BadInput("a removal has no words", edit.where, "accept or reject it")
        return edit.new
    row: Any = ws.store.load().table(finding.layer).get(finding.ids[0])
    if row is None:
        raise BadInput("it has no words of its own", finding.id, f"see {KINDS.get(finding.kind, finding.kind)}")
    if forget_target(row):
        raise BadInput("what is to be forgotten has no words", row.id, "accept or reject it")
    return str(getattr(row, "better_action", "") or getattr(row, "text", ""))


# What the Inbox screen shows beside a finding: its words, why it wants a person, the evidence, and the keys.

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


def document(triage: Inbox, quarantine: Quarantine, finding: Finding, key_of: KeyOf) -> Document:
    """All that a person needs to decide. Raises what the finder does when the finding is gone."""
    if finding.kind == "edit":
        return _edit(quarantine, cast("WaitingEdit", quarantine.get(finding.ids[0])), key_of)
    if finding.kind == "waiting":
        return _held(cast("Waiting", quarantine.get(finding.ids[0])), key_of)
    blocks: list[Block] = [Body(finding.text), Body(f"{_sentence(finding)}.", "warn"), keys(finding, key_of)]
    try:
        evidence = triage.evidence(finding)
    except NanomemError as error:
        evidence = [Evidence("the evidence cannot be read", error.line())]
    for beside in evidence:
        blocks += _evidence_block(finding, beside)
    named = (
        ("is", f"{finding.layer}, {finding.source}".strip(", ")),
        ("scope", finding.scope_key),
        ("since", format_time(finding.since) if finding.since else ""),
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


def _evidence_block(finding: Finding, beside: Evidence) -> list[Block]:
    """One piece of evidence: what it is, its words (against those of the finding where both say the same), its date."""
    blocks: list[Block] = [Heading(beside.label)]
    if finding.kind in ALIKE and beside.text not in ("", finding.text) and "\n" not in finding.text + beside.text:
        blocks += diff(finding.text, beside.text)
    elif beside.text:
        blocks.append(Body(beside.text))
    told = (("said", format_time(beside.at) if beside.at else ""), ("from", beside.origin), ("id", beside.id))
    return [*blocks, *(Field(name, value) for name, value in told if value)]


def _held(one: Waiting, key_of: KeyOf) -> Document:
    """The words that would be remembered, why they wait, and who said them where."""
    kept = one.row
    accept, reject, edit = (key_of(name) for name in ("accept", "reject", "edit"))
    told = Body(f"{accept} accepts it, {reject} rejects it, {edit} accepts it with other words.", "dim")
    if forget_target(kept):
        told = Body(f"{accept} deletes that memory (u brings it back), {reject} keeps it.", "dim")
    waits = Body(f"Waits: {one.why.removeprefix('waits ')}.", "warn")
    named = (
        ("from", one.origin),
        ("is", f"{getattr(kept, 'kind', '')} {one.layer}".strip()),
        ("scope", getattr(kept, "scope_key", "") or getattr(kept, "scope", "")),
        ("message", getattr(kept, "source_message_id", "")),
        ("since", format_time(one.since)),
        ("said", f"{kept.hits:,} times" if kept.hits > 1 else ""),
        ("id", one.id),
    )
    blocks: list[Block] = [Body(one.text), waits, told, Heading("Where it is from")]
    blocks += [Field(name, str(value)) for name, value in named if value]
    held = kept.meta.get("inbox")
    if isinstance(held, Mapping):
        blocks += [Field(name, str(value)) for name, value in held.items() if name != "why" and value]
    return Document(tuple(blocks), copy=one.text)


def _edit(quarantine: Quarantine, row: WaitingEdit, key_of: KeyOf) -> Document:
    """The line that goes and the line that comes, word by word; why it waits, and the entries that ask for it."""
    why = Body(f"Waits: {row.why.removeprefix('waits ')}.", "warn")
    blocks: list[Block] = [Spans(((row.where, "heading"),)), *diff(row.old, row.new), why]
    accept, reject, edit_key = (key_of(name) for name in ("accept", "reject", "edit"))
    gone, mends = quarantine.now(row), not quarantine.now(row, "other words")
    if gone:
        blocks.append(Body(f"It cannot be made as it is: {gone}.", "bad"))
    said = "" if gone else f"{accept} accepts it, "
    said += f"{reject} rejects it" + (f", {edit_key} accepts it with other words." if mends else ".")
    blocks += [Body(said, "dim"), Heading("What asks for it")]
    entries = quarantine.evidence(row)
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
        ("since", format_time(row.since)),
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


# “All like this”: the dialog that shows what a rule made from a finding would decide on, and makes it so.

Chosen = tuple[Rule, Sequence[Finding]]


async def ask_for_all_like(screen: InboxScreen, row: Finding) -> None:
    """Show all that is like `row`, let the person choose the decision, and make it."""

    def alike(ws: Workspace) -> tuple[list[Finding], bool, dict[str, str]]:
        meant = ws.triage.rules.meant(rule_like(row, "keep"))
        leaks = [(one.id, ws.scopes.leak_of(one.ids[0])) for one in meant if one.kind == "leak"]
        homes = {key: leak.belongs for key, leak in leaks if leak is not None and leak.belongs}
        return meant, ws.triage.proposed(row) is not None, homes

    found, has_words, homes = await screen.console.in_thread(alike)
    ways: dict[Decision, None] = dict.fromkeys((*row.offers, "keep", "snooze"))
    offered = [one for one in ways if can_rule(row, one) and (one != "edit" or has_words)]
    proposed = screen.decided if screen.decided in offered else offered[0]
    keys = {screen.key_of(ACTION_OF[one]): one for one in offered if screen.key_of(ACTION_OF[one])}

    async def decide(chosen: Chosen | None) -> None:
        if chosen is not None:
            rule, meant = chosen
            await screen.make_decision(lambda ws: ws.triage.rules.apply(rule, keep=True, findings=meant))
            screen.decided = rule.decision

    screen.ask(AllLikeScreen(row, found, keys, proposed, homes), decide)


class AllLikeScreen(Dialog[Chosen | None]):
    """What is alike, and one decision about it. `keys`: the key of each decision that can be chosen; `homes`: where
    what leaks belongs, by the id of the finding."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave", show=False, priority=True)]
    DEFAULT_CSS = "AllLikeScreen Preview { height: auto; max-height: 100%; margin-bottom: 1; }"

    def __init__(
        self,
        row: Finding,
        found: Sequence[Finding],
        keys: Mapping[str, Decision],
        proposed: Decision,
        homes: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__("All like this")
        self._row = row
        self._found = found
        self._by_key = dict(keys)
        self._decision = proposed
        self._homes = homes

    @property
    def rule(self) -> Rule:
        """The rule as it is chosen now."""
        return rule_like(self._row, self._decision)

    @property
    def meant(self) -> list[Finding]:
        """What it would decide on."""
        rule = self.rule
        return [one for one in self._found if rule.means(one)]

    def inside(self) -> list[Widget]:
        """What would be decided on."""
        return [Preview(id="like-preview")]

    def on_mount(self) -> None:
        """Show it; the keys scroll there."""
        self._show()
        self.query_one(Preview).focus()

    def keys(self) -> list[tuple[str, str]]:
        """How to decide so, and how to leave."""
        if not self.meant:
            return [(" esc", "key"), (" back: nothing is meant by that", "")]
        return [(" y", "key"), (" apply ", ""), (" n", "key"), (" no ", ""), (" j k", "key"), (" scroll", "")]

    def on_key(self, event: events.Key) -> None:
        """Another decision, yes or no."""
        chosen = self._by_key.get(event.character or "") or self._by_key.get(event.key)
        if chosen is not None:
            event.stop()
            self._decision = chosen
            self._show()
        elif event.character == "y" and self.meant:
            event.stop()
            self.dismiss((self.rule, self.meant))
        elif event.key in {"n", "q"}:
            event.stop()
            self.dismiss(None)

    def action_leave(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)

    def _where(self, one: Finding) -> tuple[str, str]:
        """Where one of them goes, said where the decision moves it."""
        home = self._homes.get(one.id, "") if self._decision == "split" else ""
        return (f"  to {one_line(home, 60)}", "accent") if home else ("", "")

    def _show(self) -> None:
        meant = self.meant
        blocks: list[Block] = [Body(f"{self.rule.words()}.", "warn")]
        choices = [(f" {key} ", "key" if one == self._decision else "dim") for key, one in self._by_key.items()]
        named = [(f"{SAYS[one]} ", "accent" if one == self._decision else "dim") for one in self._by_key.values()]
        blocks.append(Spans(tuple(part for pair in zip(choices, named, strict=True) for part in pair), 2))
        blocks.append(Heading(f"{counted(len(meant), 'finding')} decided; rule saved. u undoes both."))
        blocks += [
            Spans(
                (("  ", ""), (one_line(one.text, 160), ""), self._where(one), (f"  {one_line(one.why, 60)}", "dim")), 2
            )
            for one in meant[:LISTED]
        ]
        if len(meant) > LISTED:
            blocks.append(Body(f"… and {len(meant) - LISTED:,} more", "dim"))
        self.query_one("#like-preview", Preview).show(Document(tuple(blocks)))
        self.say_keys(self.keys())


# To which scope findings of the inbox go: a dialog with the known scopes, the one where they belong first.

EACH = "where each belongs"


class Target(NamedTuple):
    """A scope by its name (`EACH`: another one for each), and who sees it."""

    name: str
    why: str


def ask_for_scope(screen: InboxScreen, rows: Sequence[Finding]) -> None:
    """Ask where the findings go, and take them there."""
    if not rows or any(row.layer != "item" or row.kind in QUARANTINED for row in rows):
        raise BadInput("only an item has a scope to move to", rows[0].id if rows else "")

    async def move(target: Target | None) -> None:
        if target is not None:
            await screen.decide(rows, "split", DecisionDetails(scope=None if target.name == EACH else target.name))

    def typed(text: str) -> Target | None:
        try:
            scope = screen.ws.scopes.named(text.strip())
        except BadInput:
            return None
        return Target(scope.name, scope.words)

    whose = one_line(rows[0].text, 40) if len(rows) == 1 else counted(len(rows), "item")
    columns: list[Column[Target]] = [
        Column("scope", "To", lambda target: target.name, min_width=20),
        Column("why", "Who sees it", lambda target: target.why, width=34, priority=1, tone="dim"),
    ]
    name = lambda target: target.name  # noqa: E731
    screen.ask(
        PickScreen(f"Move {whose}", columns, name, name, lambda: _targets(screen.ws, rows), typed=typed, hint=HINT),
        move,
    )


def _targets(ws: Workspace, rows: Sequence[Finding]) -> list[Target]:
    known = [Target(scope.name, scope.words) for scope in ws.scopes.all_scopes()]
    leaks = [ws.scopes.leak_of(row.ids[0]) for row in rows if row.kind == "leak"]
    homes = {leak.belongs for leak in leaks if leak is not None and leak.belongs}
    if not homes or len(leaks) < len(rows):
        return known
    first = Target(EACH, f"{counted(len(homes), 'scope')}, as each finding says")
    if len(homes) == 1:
        scope = ws.scopes.named(homes.pop())
        first = Target(scope.name, f"where {'it belongs' if len(rows) == 1 else 'they belong'}")
    return [first, *(target for target in known if target.name != first.name)]


# The Rules screen, behind Inbox: the decisions that were made for all that is alike, and what each is about now.


class Kept(NamedTuple):
    """A rule and what it is about now."""

    rule: Rule
    meant: tuple[Finding, ...]


class RulesScreen(WorkspaceScreen[Kept]):
    """The rules that are kept."""

    SCREEN = "rules"
    EMPTY = "No rules yet. & in the inbox (9) decides on all that is like one finding, and keeps the rule."
    HELP = (
        "A rule is a decision for all that is like one finding: of its kind, scope and source, for such a reason. It "
        "is never applied by itself: & applies the one at the cursor after a look at what it is about; "
        "`nanomem triage --apply-rules` applies all of them. d lets a rule go; what it decided stays."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"is": "text", "kind": "text", "age": "age", "now": "number"}

    def columns(self) -> Sequence[Column[Kept]]:
        """The rule in words, and how much it is about now."""
        return (
            Column("kind", "Of", lambda row: row.rule.kind, width=9, tone="accent", sort=lambda row: row.rule.kind),
            Column("rule", "Rule", lambda row: row.rule.words(), min_width=36, flex=2),
            Column("now", "Now", lambda row: f"{len(row.meant):,}", width=6, align="right",
                   sort=lambda row: len(row.meant)),
            aged("Age", lambda row: row.rule.at, priority=1, align="right", tone="dim", sort=lambda row: row.rule.at),
        )  # fmt: skip

    def row_id(self, row: Kept) -> str:
        """The id of the rule."""
        return row.rule.id

    def load(self) -> Iterable[Sequence[Kept]]:
        """The rules, the newest first."""
        rules = self.ws.triage.rules
        yield [Kept(rule, tuple(rules.meant(rule))) for rule in rules.all()]

    def search_text(self, row: Kept) -> str:
        """Words are searched in the rule."""
        return row.rule.words()

    def field(self, row: Kept, name: str) -> Any:
        """The fields of the filter language; `is` is the decision."""
        rule = row.rule
        return {"is": rule.decision, "kind": rule.kind, "age": rule.at, "now": len(row.meant)}[name]

    def dimmed(self, row: Kept) -> bool:
        """There is nothing that it is about."""
        return not row.meant

    def detail(self, row: Kept) -> Document:
        """The rule by its parts, and what it is about now."""
        rule = row.rule
        named = (
            ("decision", rule.decision),
            ("of", KINDS.get(rule.kind, rule.kind)),
            ("reason", rule.why or "any"),
            ("scope", rule.scope_key or "any"),
            ("source", rule.source or "any"),
            ("kept", format_time(rule.at)),
            ("id", rule.id),
        )
        blocks: list[Block] = [Spans(((rule.words(), "heading"),), 2), *(Field(*pair) for pair in named)]
        return Document((*blocks, *_listed(row.meant)), copy=rule.words())

    # Changing

    async def do_all_like(self) -> None:
        """Apply the rule at the cursor after a look at what it is about."""
        row = self.table.cursor_row
        if row is None:
            return
        if not row.meant:
            say(self, "The rule is about nothing now", "warning")
            return

        async def decide(_yes: bool) -> None:
            def work(ws: Workspace) -> Sequence[Operation]:
                return [ws.triage.rules.apply(row.rule, findings=row.meant).operation]

            for operation in await self.change(work):
                say(self, f"{one_line(operation.label, SAID)} (u undoes it)")
            self.reload()

        title = one_line(row.rule.words(), 60)
        self.confirm(title[:1].upper() + title[1:], _listed(row.meant), decide, opened_by=self.key_of("all_like"))

    async def do_delete(self) -> None:
        """Let rules go."""
        ids = [row.rule.id for row in self.targets()]
        for operation in await self.change(lambda ws: ws.triage.rules.delete(ids)):
            say(self, f"{one_line(operation.label, SAID)} (u undoes it)")
        self.table.clear_selection()


def _listed(meant: Sequence[Finding]) -> list[Block]:
    """What a rule is about, one line each."""
    blocks: list[Block] = [Heading(f"{counted(len(meant), 'finding')} now")]
    blocks += [
        Spans((("  ", ""), (one_line(one.text, 160), ""), (f"  {one_line(one.why, 60)}", "dim")), 2)
        for one in meant[:LISTED]
    ]
    if len(meant) > LISTED:
        blocks.append(Body(f"… and {len(meant) - LISTED:,} more", "dim"))
    return blocks
