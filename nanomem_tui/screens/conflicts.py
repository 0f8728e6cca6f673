"""The Conflicts screen, behind Duplicates: memories that contradict each other, both beside their origin, one key for
each decision.

Owns what a person sees of a contradiction; what a decision leaves is for the contradictions themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.superseded import text_of
from nanomem_tui.screens.conflicts_detail import OneSide, parts
from nanomem_tui.screens.parts_screen import PartsScreen
from nanomem_tui.screens.rows import LISTED, MANY, SAID
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.document import Block, Body, Spans
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.review.conflicts import Conflicts, Contradiction

Decide = Callable[["Conflicts", Sequence["Contradiction"]], Operation]


class ConflictsScreen(PartsScreen["Contradiction"]):
    """Pairs of memories that cannot both be so."""

    SCREEN = "conflicts"
    BEHIND = "inbox"
    TELLS_BENEATH = True
    TELLS_GONE = False  # what a person decides on goes, and that is said
    EMPTY = "Nothing contradicts anything that the same chat is given."
    HELP = (
        "Two memories that one chat may be given and that cannot both be so: another value of what has one at a time, "
        "or yes and no. Sign before a row: * they are of two scopes. What gives way is kept, marked with what stands "
        "instead of it, and no agent is given it any more; it stays in its history, and u takes the decision back. "
        "What you keep is asked about again only when the words of one of the two change."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "why": "text", "sure": "number", "scope": "text", "source": "text", "across": "switch", "age": "age",
        "id": "text",
    }  # fmt: skip

    # The list

    def beneath(self, row: Contradiction) -> str:
        """The whole reason."""
        return f"{row.why}; sure {row.weight:.0%}"

    def columns(self) -> Sequence[Column[Contradiction]]:
        """Both texts, why, and when the newer was said."""
        return (
            Column("older", "Older", lambda row: text_of(row.older), min_width=18, flex=2,
                   sort=lambda row: text_of(row.older).casefold()),
            Column("newer", "Newer", lambda row: text_of(row.newer), min_width=18, flex=2,
                   sort=lambda row: text_of(row.newer).casefold()),
            Column("why", "Why", lambda row: row.why, min_width=16, priority=2, tone="warn", sort=lambda row: row.why),
            Column("scope", "Scope", _scope, width=16, priority=3, tone="dim", sort=_scope),
            aged("Age", lambda row: row.newer.updated_at, priority=1, align="right", tone="dim",
                 sort=lambda row: row.newer.updated_at),
        )  # fmt: skip

    def row_id(self, row: Contradiction) -> str:
        """The id of the pair."""
        return row.id

    def load(self) -> Iterable[Sequence[Contradiction]]:
        """All pairs, the surest first."""
        yield self.ws.conflicts.all()

    def search_text(self, row: Contradiction) -> str:
        """Words are searched in both."""
        return f"{text_of(row.older)}\n{text_of(row.newer)}"

    def field(self, row: Contradiction, name: str) -> Any:
        """The fields of the filter language; of the two either may be meant."""
        from nanomem_tui.review.conflicts import scope_words

        both = (row.older, row.newer)
        values: Mapping[str, Callable[[], Any]] = {
            "why": lambda: row.why, "sure": lambda: row.weight, "across": lambda: row.across,
            "scope": lambda: {scope_words(one) for one in both}, "source": lambda: {one.source for one in both},
            "age": lambda: row.newer.updated_at, "id": lambda: {row.id, *row.ids},
        }  # fmt: skip
        return values[name]()

    def sign(self, row: Contradiction) -> str:
        """Whether they are of two scopes."""
        return "*" if row.across else ""

    def facts(self, row: Contradiction) -> frozenset[str]:
        """It is about two; whether it is known where the one that is meant came from."""
        return frozenset({"several", *({"source"} if self._meant(row).row.session_key else ())})

    def copy_rows(self) -> str:
        """The words of both."""
        return "\n".join(self.search_text(row) for row in self.targets())

    def detail(self, row: Contradiction) -> Any:
        """The pair."""
        return row

    def show_detail(self, detail: Any) -> None:
        """Both side by side, then where each is from."""
        if not hasattr(detail, "judged"):
            self.view.show(())
            return
        look = f"; sure {detail.weight:.0%}"
        self.view.show(parts(detail, glyphs(self).separator), ((detail.why, "warn"), (look, "dim")))

    def is_about(self, row: Contradiction, keys: frozenset[str]) -> bool:
        """Whether one of its two items is among them."""
        return super().is_about(row, keys) or not keys.isdisjoint(row.ids)

    def operations_done(self, operations: Sequence[Operation]) -> None:
        """What was decided on goes at once, so that the next key means the next row; then all is read again."""
        gone = {change.key for one in operations for change in one.changes if _goes(change.after)}
        marked = {change.after.get("about") for one in operations for change in one.changes if change.after}
        rows = [row for row in self.listing.rows if gone.isdisjoint(row.ids) and row.id not in marked]
        if len(rows) < len(self.listing.rows):
            self.listing.set_rows(rows)
            self._make_view()
        self.reload()

    # Deciding

    async def do_accept(self) -> None:
        """Keep both."""
        await self._decide("accept", "Keep both of", lambda conflicts, rows: conflicts.keep_both(rows))

    async def do_merge(self) -> None:
        """The newer stands, the older was so before."""
        await self._decide("merge", "The newer stands in", lambda conflicts, rows: conflicts.supersede(rows))

    async def do_reject(self) -> None:
        """The older stands, the newer is not so."""
        await self._decide("reject", "The older stands in", lambda conflicts, rows: conflicts.keep_old(rows))

    async def do_toggle(self) -> None:
        """The newer stands, the older was never so."""
        await self._decide("toggle", "The older was wrong in", lambda conflicts, rows: conflicts.keep_new(rows))

    async def do_snooze(self) -> None:
        """Put it off for a week."""
        await self._decide("snooze", "Put off", lambda conflicts, rows: conflicts.snooze(rows))

    async def _decide(self, action: str, verb: str, decide: Decide) -> None:
        """One pair or a few at once, many after a look at them."""
        rows = self.targets()

        async def do(_yes: bool = True) -> None:
            for operation in await self.change(lambda ws: decide(ws.conflicts, rows)):
                say(self, f"{one_line(operation.label, SAID)} (u undoes it)")
            self.table.clear_selection()

        if len(rows) <= MANY:
            await do()
            return
        blocks: list[Block] = [
            Spans(((one_line(text_of(row.older), 100), ""), (" ≠ ", "warn"), (one_line(text_of(row.newer), 100), "")))
            for row in rows[:LISTED]
        ]
        if len(rows) > LISTED:
            blocks.append(Body(f"… and {len(rows) - LISTED:,} more", "dim"))
        self.confirm(f"{verb} {counted(len(rows), 'pair')}", blocks, do, opened_by=self.key_of(action))

    def do_split(self) -> None:
        """Move one of the two, at the cursor of the detail or the older, to the scope where it holds."""
        from nanomem_tui.review.queue import SCOPE_HINT, scope_fields
        from nanomem_tui.widgets.prompt import AskScreen

        row = self.table.cursor_row
        if row is None:
            return
        meant = self._meant(row)

        def wrong(scope: str) -> str:
            try:
                scope_fields(scope.strip(), "")
            except NanomemError as error:
                return f"{error.what}: {SCOPE_HINT}"
            return ""

        async def move(scope: str | None) -> None:
            if scope:
                done = await self.change(lambda ws: ws.conflicts.split(row, scope.strip(), meant.side))
                say(self, f"{one_line(done[0].label, SAID)} (u undoes it)")

        title = f"Both are so: the {meant.side} belongs to which scope"
        self.ask(AskScreen(title, placeholder=SCOPE_HINT, wrong=wrong), move)

    def _meant(self, row: Contradiction) -> OneSide:
        """The one at the cursor of the detail, else the older."""
        part = self.view.current if self._pane == "detail" else None
        return part if isinstance(part, OneSide) and part.pair.id == row.id else OneSide(row, "older")

    # Elsewhere

    def do_next_list(self) -> None:
        """To the next desk."""
        from nanomem_tui.screens.inbox import desk_after

        self.console.go(desk_after(self.SCREEN))

    async def do_source(self) -> None:
        """To the message that the one at the cursor came from, or to its session."""
        from nanomem_tui.screens.find import show_message
        from nanomem_tui.screens.origin import message_of
        from nanomem_tui.store.values import Item

        row = self.table.cursor_row
        one = self._meant(row).row if row is not None else None
        if one is None or not one.session_key:
            return
        key = one.session_key
        try:
            index = await self.console.in_thread(lambda ws: message_of(ws, one)) if isinstance(one, Item) else None
        except NanomemError:
            index = None
        if index is not None:
            show_message(self.console, key, index)
        else:
            self.console.go("sessions", key)
            say(self, "Which message it came from is not known: this is its session")


def _goes(after: Mapping[str, Any] | None) -> bool:
    return after is None or not after.get("enabled", True) or bool(after.get("is_deleted"))


def _scope(row: Contradiction) -> str:
    from nanomem_tui.review.conflicts import scope_words

    return "two scopes" if row.across else scope_words(row.older)
