"""The Inbox screen: all that wants a person, one after the other, with the evidence beside it and one key for each
decision.

Owns what a person sees of the queue and which decision a key makes; the queue decides whether it can be made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.turns.wishes import target_of
from nanomem_tui.review.findings import (
    FINDING_FIELDS,
    KINDS,
    Decision,
    Finding,
    How,
    Progress,
    finding_field,
    finding_text,
)
from nanomem_tui.review.queue import HELD, TOLD
from nanomem_tui.screens.listing import View
from nanomem_tui.screens.rows import LISTED, MANY, SAID
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import TitleBar
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.document import Block, Body, Document, Spans
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.review.queue import Done
    from nanomem_tui.review.waiting import WaitingEdit
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
        "Nothing wants you. What reads like an order or a secret or was not sure enough is held back here; "
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
            Column("is", "Is", lambda row: row.kind, width=9, tone="accent", sort=lambda row: row.kind),
            Column("text", "Words", lambda row: row.text, min_width=30, flex=2, sort=lambda row: row.text.casefold()),
            Column("why", "Why", lambda row: row.why, min_width=18, tone="warn", sort=lambda row: row.why),
            Column("source", "Source", lambda row: row.source, width=14, priority=3, tone="dim",
                   sort=lambda row: row.source),
            aged("Age", lambda row: row.since, priority=1, align="right", tone="dim", sort=lambda row: row.since),
        )  # fmt: skip

    def row_id(self, row: Finding) -> str:
        """Of what is held back its own id, by which other screens know it; else that of the finding."""
        return row.ids[0] if row.kind in HELD else row.id

    def load(self) -> Iterable[Sequence[Finding]]:
        """What is held back at once, then each kind as it is found; and how far the person has come."""
        triage = self.ws.triage
        held = triage.known(HELD)
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
        return frozenset(has | ({"several"} if len(row.ids) > 1 and row.kind not in HELD else set()))

    def copy_text(self) -> str:
        """The words."""
        return "\n".join(row.text for row in self.targets())

    def detail(self, row: Finding) -> Document:
        """The words, why they want a person, and the evidence."""
        from nanomem_tui.screens.inbox_detail import document

        return document(self.ws.triage, self.ws.waits, row, self.key_of)

    def _say_totals(self) -> None:
        super()._say_totals()
        done = self._progress.words().rpartition(", ")[0]
        if done:
            shown, total = self.shown(), len(self.listing.rows)
            left = f"{shown:,} of {total:,}" if shown != total else f"{total:,} left"
            selected = len(self.table.selected)
            looks = "looking" if self._loading else ""
            parts = [left, f"{selected:,} selected" if selected else "", done, looks, *self.also_said()]
            self.query_one(TitleBar).set_right(" · ".join(filter(None, parts)))

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
        """What was decided on goes at once, so that the next key means the next row; then all is read again."""
        touched = {change.key for one in operations for change in one.changes}
        decided = {key for one in operations if not one.is_reversal for key in one.meta.get("findings", ())}
        rows = [row for row in self.listing.rows if row.id not in decided and touched.isdisjoint(row.ids)]
        if len(rows) < len(self.listing.rows):
            self.listing.set_rows(rows)
            self._make_view()
        self.reload()

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
        from nanomem_tui.screens.inbox_move import ask_for_scope

        ask_for_scope(self, self.targets())

    async def do_all_like(self) -> None:
        """Decide alike on all that is like the row at the cursor."""
        from nanomem_tui.screens.inbox_like import ask_for_all_like

        row = self.table.cursor_row
        if row is not None:
            await ask_for_all_like(self, row)

    async def _decide(self, decision: Decision) -> None:
        """One thing or a few at once, many after a look at them."""
        rows = self.targets()

        async def decide(_yes: bool = True) -> None:
            await self.take(rows, decision)
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
        from nanomem_tui.screens.inbox_detail import ACTION_OF

        title = f"{TOLD[decision].capitalize()} {counted(len(rows), 'finding')}"
        self.confirm(title, blocks, decide, opened_by=self.key_of(ACTION_OF[decision]))

    async def do_edit(self) -> None:
        """Give the one at the cursor other words; several selected ones those that are proposed for each."""
        from nanomem_tui.widgets.prompt import EditScreen

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
                await self.take([row], "edit", How(text=text))

        def wrong(text: str) -> str:
            if row.kind != "edit":
                return ""
            return self.ws.waits.now(cast("WaitingEdit", self.ws.waits.get(row.ids[0])), text)

        verb = "Accept" if row.kind in HELD else "Edit"
        title = f"{verb} {row.ids[0]}{' with these words' if row.kind in HELD else ''}"
        self.ask(EditScreen(title, words, typed=proposed, wrong=wrong), save)

    async def take(self, rows: Sequence[Finding], decision: Decision, how: How | None = None) -> None:
        """Decide in a thread, then say what was done, and what had to stay."""
        going = {row.id for row in rows}
        shown = list(self.table.rows)
        at = max((place for place, row in enumerate(shown) if row.id in going), default=-1)
        after = next((row.id for row in shown[at + 1 :] if row.id not in going), "")
        await self.do_take(lambda ws: ws.triage.take(rows, decision, how, next_id=after))
        self.decided = decision

    async def do_take(self, decide: Any) -> None:
        """Make a decision (`Workspace` in, `Done` out) in a thread, and tell of it."""
        made: list[Done] = []

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

    def do_next_list(self) -> None:
        """To the next desk behind this one."""
        self.console.go(desk_after(self.SCREEN))

    async def do_source(self) -> None:
        """To the message that it came from, or to its session."""
        from nanomem_tui.screens.find import show_message
        from nanomem_tui.screens.origin import message_of
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


DESKS = ("inbox", "duplicates", "conflicts", "rules")


def desk_after(screen: str) -> str:
    """The next of the screens on which a person decides, of those that there are."""
    from nanomem_tui.screens.registry import PLACES

    there = [name for name in DESKS if name in PLACES]
    return there[(there.index(screen) + 1) % len(there)]


def _words(ws: Workspace, finding: Finding) -> str:
    """The words that an edit of a finding begins with. Raises BadInput for what has none."""
    if finding.kind == "edit":
        edit = cast("WaitingEdit", ws.waits.get(finding.ids[0]))
        if not edit.new:
            raise BadInput("a removal has no words", edit.place, "accept or reject it")
        return edit.new
    row: Any = ws.store.load().table(finding.layer).get(finding.ids[0])
    if row is None:
        raise BadInput("it has no words of its own", finding.id, f"see {KINDS.get(finding.kind, finding.kind)}")
    if target_of(row):
        raise BadInput("what is to be forgotten has no words", row.id, "accept or reject it")
    return str(getattr(row, "better_action", "") or getattr(row, "text", ""))
