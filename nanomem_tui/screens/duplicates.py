"""The Duplicates screen, behind Inbox: clusters of items that say the same, the members side by side, one key for each
decision.

Owns what a person sees of a cluster; what may be decided on several at once is for the duplicates themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.duplicates_detail import Member, members
from nanomem_tui.screens.item_columns import scope_of
from nanomem_tui.screens.parts_screen import PartsScreen
from nanomem_tui.screens.rows import LISTED, MANY, SAID
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.document import Block, Body, Spans
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.review.duplicates import Cluster, Duplicates
    from nanomem_tui.store.values import Item

SIGNS: Mapping[str, str] = {"same": "=", "near": "~", "meaning": "o", "scopes": "*"}
Decide = Callable[["Duplicates", Sequence["Cluster"], str], Operation]


class DuplicatesScreen(PartsScreen["Cluster"]):
    """Clusters of items that say the same."""

    SCREEN = "duplicates"
    BEHIND = "inbox"
    TELLS_BENEATH = True
    TELLS_GONE = False  # what a person decides on goes, and that is said
    EMPTY = "No duplicates: no two items of a scope say the same."
    HELP = (
        "Items that say what another one says. Signs before a row: = the same words, which may be merged without a "
        "look, ? the same words of different people or kinds, ~ nearly the same, o alike in meaning, * the same words "
        "for everybody and in a narrower scope. Other numbers, names, dates, colours, units and denials make two "
        "facts: such items are not here. In the detail the cursor says which one stays. A merge keeps hits, the oldest "
        "origin, every source and the other words; u takes any of it back. Several selected clusters are decided on "
        "together only where each is sure."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "is": "text", "sure": "switch", "items": "number", "alike": "number", "why": "text", "scope": "text",
        "kind": "text", "source": "text", "hits": "number", "age": "age", "id": "text",
    }  # fmt: skip

    # The list

    def beneath(self, row: Cluster) -> str:
        """The whole reason."""
        return row.why

    def columns(self) -> Sequence[Column[Cluster]]:
        """How many, how alike, the words that would stay, why, and whose they are."""
        return (
            Column("items", "Items", lambda row: str(len(row.items)), width=5, align="right",
                   sort=lambda row: len(row.items)),
            Column("alike", "Alike", lambda row: f"{row.alike:.0%}", width=5, align="right", tone="dim",
                   sort=lambda row: row.alike),
            Column("text", "Words that stay", lambda row: row.kept.text, min_width=24, flex=2,
                   sort=lambda row: row.kept.text.casefold()),
            Column("why", "Why", lambda row: row.why, min_width=16, priority=2, tone="warn", sort=lambda row: row.why),
            Column("scope", "Scope", _scope, width=16, priority=3, tone="dim", sort=_scope),
            aged("Age", _newest, priority=1, align="right", tone="dim", sort=_newest),
        )  # fmt: skip

    def row_id(self, row: Cluster) -> str:
        """The id of the cluster."""
        return row.id

    def load(self) -> Iterable[Sequence[Cluster]]:
        """The same words first, then what is nearly the same."""
        yield self.ws.duplicates.clusters()

    def search_text(self, row: Cluster) -> str:
        """Words are searched in every member."""
        return "\n".join(item.text for item in row.items)

    def field(self, row: Cluster, name: str) -> Any:
        """The fields of the filter language; of the members any may be meant."""
        values: Mapping[str, Callable[[], Any]] = {
            "is": lambda: row.grade, "sure": lambda: row.sure, "items": lambda: len(row.items),
            "alike": lambda: row.alike, "why": lambda: row.why, "age": lambda: _newest(row),
            "scope": lambda: {*row.scope_keys, _scope(row)}, "kind": lambda: {item.kind for item in row.items},
            "source": lambda: {item.source for item in row.items}, "hits": lambda: sum(item.hits for item in row.items),
            "id": lambda: {row.id, *row.ids},
        }  # fmt: skip
        return values[name]()

    def sign(self, row: Cluster) -> str:
        """How alike the members are, in one character."""
        return "?" if row.grade == "same" and not row.sure else SIGNS[row.grade]

    def facts(self, row: Cluster) -> frozenset[str]:
        """It is about several items; whether it is known where the one that is meant came from."""
        return frozenset({"several", *({"source"} if self._meant(row).session_key else ())})

    def copy_rows(self) -> str:
        """The words of every member."""
        return "\n".join(item.text for row in self.targets() for item in row.items)

    def detail(self, row: Cluster) -> Any:
        """The members."""
        return row

    def show_detail(self, detail: Any) -> None:
        """The members side by side, from the one that is to stay."""
        cluster = detail if hasattr(detail, "items") else None
        if cluster is None:
            self.view.show(())
            return
        tone = "good" if cluster.sure else "warn"
        look = "sure" if cluster.sure else "needs a look"
        parts = members(cluster, glyphs(self).separator)
        self.view.show(parts, ((f"{counted(len(parts), 'item')}:", "heading"), (f"{look}: {cluster.why}", tone)))
        self.view.move_to_part(cluster.kept.id)

    def is_about(self, row: Cluster, keys: frozenset[str]) -> bool:
        """Whether one of its items is among them."""
        return super().is_about(row, keys) or not keys.isdisjoint(row.ids)

    def operations_done(self, operations: Sequence[Operation]) -> None:
        """What was decided on goes at once, so that the next key means the next row; then all is read again."""
        touched = {change.key for one in operations for change in one.changes}
        named = {name for one in operations if not one.is_reversal for name in one.meta.get("findings", ())}
        rows = [row for row in self.listing.rows if row.id not in named and touched.isdisjoint(row.ids)]
        if len(rows) < len(self.listing.rows):
            self.listing.set_rows(rows)
            self._make_view()
        self.reload()

    # Deciding

    async def do_accept(self) -> None:
        """Keep all: they are no duplicates."""
        await self._mark("accept", "Keep all of", lambda duplicates, rows: duplicates.keep(rows))

    async def do_snooze(self) -> None:
        """Put it off for a week."""
        await self._mark("snooze", "Put off", lambda duplicates, rows: duplicates.snooze(rows))

    async def _mark(self, action: str, verb: str, mark: Callable[[Duplicates, Sequence[Cluster]], Operation]) -> None:
        rows = self.targets()

        async def do(_yes: bool = True) -> None:
            await self._done(await self.change(lambda ws: mark(ws.duplicates, rows)))

        if len(rows) <= MANY:
            await do()
        else:
            self._ask(f"{verb} {counted(len(rows), 'cluster')}", rows, "", do, action)

    async def do_merge(self) -> None:
        """Make one item of them: of the one at the cursor of the detail, else of the one proposed."""
        await self._decide("merge", "Merge", lambda duplicates, rows, stays: duplicates.merge(rows, stays))

    async def do_toggle(self) -> None:
        """Disable the others."""
        await self._decide(
            "toggle", "Disable the others of", lambda duplicates, rows, stays: duplicates.disable_others(rows, stays)
        )

    async def do_delete(self) -> None:
        """Delete the others."""
        await self._decide(
            "delete", "Delete the others of", lambda duplicates, rows, stays: duplicates.delete_others(rows, stays)
        )

    async def _decide(self, action: str, verb: str, decide: Decide) -> None:
        """One cluster that is sure or looked at, at once; others after a look at what stays."""
        rows = self.targets()
        stays = self._stays(rows)

        async def do(_yes: bool = True) -> None:
            await self._done(await self.change(lambda ws: decide(ws.duplicates, rows, stays)))

        doubtful = [row for row in rows if not row.sure]
        refused = ""
        if len(rows) > 1 and doubtful:
            refused = (
                f"{counted(len(doubtful), 'cluster')} of these need a look ({doubtful[0].why}): decide on those one by "
                "one. sure:yes in the filter shows the others."
            )
        elif len(rows) == 1 and len(rows[0].scope_keys) > 1 and not stays:
            refused = (
                f"They are of different scopes. Go to the one that is to stay ({self.key_of('next_pane')}), "
                f"then {self.key_of(action)}: it keeps its scope."
            )
        looked = rows[0].sure or bool(self.detail_pane.display)
        if len(rows) == 1 and len(rows[0].scope_keys) == 1 and looked:
            await do()
        else:
            what = counted(len(rows), "cluster") if len(rows) > 1 else counted(len(rows[0].items), "item")
            self._ask(f"{verb} {what}", rows, stays, do, action, refused)

    def _ask(
        self, title: str, rows: Sequence[Cluster], stays: str, then: Callable[..., Any], action: str, refused: str = ""
    ) -> None:
        """Show what stays and what goes before it is done."""
        blocks: list[Block] = []
        for row in rows[:LISTED]:
            kept = stays or row.kept.id
            for item in sorted(row.items, key=lambda item: item.id != kept)[:LISTED]:
                sign, tone = ("stays  ", "good") if item.id == kept else ("other  ", "bad")
                place = f"  {scope_of(item)}" if len(row.scope_keys) > 1 else ""
                blocks.append(Spans(((sign, tone), (one_line(item.text, 200), ""), (place, "dim")), 7))
        if len(rows) > LISTED:
            blocks.append(Body(f"… and {counted(len(rows) - LISTED, 'more cluster')}", "dim"))
        self.confirm(title, blocks, then, opened_by=self.key_of(action), refused=refused)

    async def _done(self, operations: Sequence[Operation]) -> None:
        for operation in operations:
            say(self, f"{one_line(operation.label, SAID)} (u undoes it)")
        self.table.clear_selection()

    def _stays(self, rows: Sequence[Cluster]) -> str:
        """The id of the one that a person chose in the detail; "" where the one proposed is meant."""
        part = self.view.current if self._pane == "detail" and len(rows) == 1 else None
        return part.item.id if isinstance(part, Member) and part.item.id in rows[0].ids else ""

    def _meant(self, row: Cluster) -> Item:
        """The item at the cursor of the detail, else the one that is proposed to stay."""
        stays = self._stays([row])
        return next((item for item in row.items if item.id == stays), row.kept)

    # Elsewhere

    def do_next_list(self) -> None:
        """To the next desk."""
        from nanomem_tui.screens.inbox import desk_after

        self.console.go(desk_after(self.SCREEN))

    def do_open(self) -> None:
        """Unfold a long text, or fold it again."""
        self.view.toggle()

    async def do_source(self) -> None:
        """To the message that the item came from, or to its session."""
        from nanomem_tui.screens.find import show_message
        from nanomem_tui.screens.origin import message_of

        row = self.table.cursor_row
        item = self._meant(row) if row is not None else None
        if item is None or not item.session_key:
            return
        key = item.session_key
        try:
            index = await self.console.in_thread(lambda ws: message_of(ws, item))
        except NanomemError:
            index = None
        if index is not None:
            show_message(self.console, key, index)
        else:
            self.console.go("sessions", key)
            say(self, "Which message it came from is not known: this is its session")


def _newest(row: Cluster) -> str:
    return max(item.updated_at for item in row.items)


def _scope(row: Cluster) -> str:
    return scope_of(row.kept) if len(row.scope_keys) == 1 else counted(len(row.scope_keys), "scope")
