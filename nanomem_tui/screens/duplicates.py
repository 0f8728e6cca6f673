"""The Duplicates and Conflicts screens, behind Inbox: similar or contradicting memories side by side, one key for
each decision.

What may be decided about several at once is for `review`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.quarantined_rows import describe_origin
from nanomem_tui.memory.retention import row_text
from nanomem_tui.memory.scopes import scope_label
from nanomem_tui.review.conflicts import Contradiction, Side, scope_words
from nanomem_tui.review.duplicates import Cluster, describe_differences
from nanomem_tui.screens.base.console import show_message
from nanomem_tui.screens.base.editable_rows import LISTED, MANY, SAID, format_time
from nanomem_tui.screens.base.parts_screen import PartsScreen
from nanomem_tui.store.values import Item, Row
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.diff_view import DiffLine, Hunk, spans_of
from nanomem_tui.widgets.text_view import Block, Body, Field, Line, Span, Spans, lay_out, side_by_side
from nanomem_tui.widgets.theme import glyphs

if TYPE_CHECKING:
    from nanomem_tui.review.conflicts import Conflicts
    from nanomem_tui.review.duplicates import Duplicates


# The members of a cluster side by side: what stays left, each other one right, with the words that differ; who said
# each when, and how often it was recalled.

FOLDED = 600
"""Characters of a text before it is unfolded."""
TOLD = 4
"""Differences that are named."""


@dataclass(frozen=True, slots=True)
class Member:
    """One item of a cluster, beside the one that is proposed to stay."""

    item: Item
    first: Item
    number: int
    of: int
    separator: str
    stops: bool = True

    @property
    def key(self) -> str:
        """The id of the item."""
        return self.item.id

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """What becomes of it, its words against those that stay, and where they are from."""
        is_first = self.item.id == self.first.id
        head: list[Span] = [(f"{self.number} of {self.of}  ", "heading")]
        head.append(("proposed to stay", "good") if is_first else ("says the same", "accent"))
        if self.item.pinned:
            head.append(("  pinned", "accent"))
        lines = lay_out([Spans(tuple(head))], width)
        if is_first:
            lines += lay_out([Body(self._cut(self.item, unfolded))], width)
        else:
            left, right = self._both(unfolded)
            lines += side_by_side([left], [right], width, self.separator)
            lines += lay_out(self._differences(), width)
        return [*lines, *lay_out(self._fields(), width), ()]

    def plain(self) -> str:
        """The words."""
        return self.item.text

    def _both(self, unfolded: bool) -> tuple[Block, Block]:
        """The text that stays and this one, the words that differ marked, each with its sign."""
        texts = (" ".join(self._cut(item, unfolded).split()) for item in (self.first, self.item))
        old, new = (DiffLine(sign, text) for sign, text in zip("-+", texts, strict=True))  # type: ignore[arg-type]
        if old.text == new.text:
            return Spans((("= ", "dim"), (old.text, "")), 2), Spans((("= ", "dim"), (new.text, "")), 2)
        spans = [spans for _, spans in spans_of(Hunk((old, new)))]
        return Spans((("  ", ""), *spans[0]), 2), Spans((("~ ", "accent"), *spans[1]), 2)

    def _differences(self) -> Iterable[Block]:
        found = describe_differences(self.first.text, self.item.text)
        told = ", ".join(found[:TOLD]) + (", and more" if len(found) > TOLD else "")
        if told:
            yield Field("differs", told, "warn")

    def _fields(self) -> Iterable[Block]:
        item, said = self.item, describe_origin(self.item)
        recalled = f", last {format_time(item.last_accessed_at)}" if item.last_accessed_at else ""
        named = (
            (
                "said",
                ", ".join(
                    filter(None, (format_time(item.created_at), said, "" if item.source in said else item.source))
                ),
            ),
            ("recalled", counted(item.hits, "time") + recalled if item.hits else "never"),
            ("is", f"{item.kind}, {scope_label(item)}"),
            ("id", item.id),
        )
        return [Field(name, value, "" if name == "said" else "dim") for name, value in named]

    @staticmethod
    def _cut(item: Item, unfolded: bool) -> str:
        if unfolded or len(item.text) <= FOLDED:
            return item.text
        return f"{item.text[:FOLDED]} ({len(item.text) - FOLDED:,} more characters: enter unfolds)"


def members(cluster: Cluster, separator: str) -> list[Member]:
    """A part for each item of a cluster, the one that is to stay first."""
    items = cluster.items
    return [Member(item, cluster.kept, at + 1, len(items), separator) for at, item in enumerate(items)]


SIGNS: Mapping[str, str] = {"same": "=", "near": "~", "meaning": "o", "scopes": "*"}
Decide = Callable[["Duplicates", Sequence["Cluster"], str], Operation]


class DuplicatesScreen(PartsScreen["Cluster"]):
    """Clusters of items that say the same."""

    SCREEN = "duplicates"
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
            Column("why", "Reason", lambda row: row.why, min_width=16, priority=2, tone="warn",
                   sort=lambda row: row.why),
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
        """Take out what was decided on."""
        touched = {change.key for one in operations for change in one.changes}
        named = {name for one in operations if not one.is_reversal for name in one.meta.get("findings", ())}
        self.drop_rows(lambda row: row.id in named or not touched.isdisjoint(row.ids))

    # Deciding

    async def do_accept(self) -> None:
        """Keep all: they are no duplicates."""
        await self._mark("accept", "Keep all of", lambda duplicates, rows: duplicates.dismiss(rows))

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
                place = f"  {scope_label(item)}" if len(row.scope_keys) > 1 else ""
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

    def do_open(self) -> None:
        """Unfold a long text, or fold it again."""
        self.view.toggle()

    async def do_source(self) -> None:
        """To the message that the item came from, or to its session."""
        from nanomem_tui.review.finders.rows import message_of

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
    return scope_label(row.kept) if len(row.scope_keys) == 1 else counted(len(row.scope_keys), "scope")


# The two sides of a contradiction, the older left and the newer right, with the words that differ; who said each
# when, and to whom an agent gives it.


@dataclass(frozen=True, slots=True)
class Both:
    """The words of the two, side by side."""

    pair: Contradiction
    separator: str
    key: str = "both"
    stops: bool = True

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """The older left, the newer right."""
        texts = [" ".join(row_text(row).split()) for row in (self.pair.older, self.pair.newer)]
        old, new = DiffLine("-", texts[0]), DiffLine("+", texts[1])
        spans = [found for _, found in spans_of(Hunk((old, new)))]
        left: list[Block] = [Body("older", "dim"), Spans((("- ", "warn"), *spans[0]), 2)]
        right: list[Block] = [Body("newer", "dim"), Spans((("+ ", "accent"), *spans[1]), 2)]
        return [*side_by_side(left, right, width, self.separator), ()]

    def plain(self) -> str:
        """Both texts."""
        return f"{row_text(self.pair.older)}\n{row_text(self.pair.newer)}"


@dataclass(frozen=True, slots=True)
class OneSide:
    """Who said one of the two, when, where, and what an agent is given of it."""

    pair: Contradiction
    side: Side
    stops: bool = True

    @property
    def row(self) -> Row:
        """The item or lesson."""
        return self.pair.row(self.side)

    @property
    def key(self) -> str:
        """Its id."""
        return self.row.id

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """The words, their origin, and the line that an agent would get."""
        row = self.row
        head: list[Span] = [(f"The {self.side}", "heading")]
        if isinstance(row, Item) and row.pinned:
            head.append(("  pinned", "accent"))
        recalled = row.last_accessed_at if isinstance(row, Item) else row.last_applied_at
        named = (
            ("said", ", ".join(dict.fromkeys((format_time(row.updated_at), describe_origin(row), row.source)))),
            ("first", format_time(row.created_at) if row.created_at[:16] != row.updated_at[:16] else ""),
            ("recalled", counted(row.hits, "time") + (f", last {format_time(recalled)}" if recalled else "")),
            ("is", f"{row.kind if isinstance(row, Item) else 'lesson'}, {scope_words(row)}"),
            ("given as", as_injected(row)),
            ("when", row.trigger if not isinstance(row, Item) else ""),
            ("id", row.id),
        )
        blocks: list[Block] = [Spans(tuple(head))]
        blocks += [Field(name, value, "" if name in ("said", "given as") else "dim") for name, value in named if value]
        return [*lay_out(blocks, width), ()]

    def plain(self) -> str:
        """The words."""
        return row_text(self.row)


def as_injected(row: Row) -> str:
    """What an agent would get of a row: the line of its block."""
    from nanomem_tui.memory.turns import prompt

    return prompt.item_line(row) if isinstance(row, Item) else prompt.lesson_line(row)


def parts(pair: Contradiction, separator: str) -> Sequence[Both | OneSide]:
    """Both side by side, then where each is from."""
    return [Both(pair, separator), OneSide(pair, "older"), OneSide(pair, "newer")]


# The Conflicts screen, behind Duplicates: memories that contradict each other, both beside their origin, one key for
# each decision.

ConflictsDecide = Callable[["Conflicts", Sequence["Contradiction"]], Operation]


class ConflictsScreen(PartsScreen["Contradiction"]):
    """Pairs of memories that cannot both be so."""

    SCREEN = "conflicts"
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
            Column("older", "Older", lambda row: row_text(row.older), min_width=18, flex=2,
                   sort=lambda row: row_text(row.older).casefold()),
            Column("newer", "Newer", lambda row: row_text(row.newer), min_width=18, flex=2,
                   sort=lambda row: row_text(row.newer).casefold()),
            Column("why", "Reason", lambda row: row.why, min_width=16, priority=2, tone="warn",
                   sort=lambda row: row.why),
            Column("scope", "Scope", _conflicts_scope, width=16, priority=3, tone="dim", sort=_conflicts_scope),
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
        return f"{row_text(row.older)}\n{row_text(row.newer)}"

    def field(self, row: Contradiction, name: str) -> Any:
        """The fields of the filter language; of the two either may be meant."""
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
        """Take out what was decided on."""
        gone = {change.key for one in operations for change in one.changes if _goes(change.after)}
        marked = {change.after.get("about") for one in operations for change in one.changes if change.after}
        self.drop_rows(lambda row: row.id in marked or not gone.isdisjoint(row.ids))

    # Deciding

    async def do_accept(self) -> None:
        """Keep both."""
        await self._decide("accept", "Keep both of", lambda conflicts, rows: conflicts.keep_both(rows))

    async def do_merge(self) -> None:
        """Keep the newer; the older was true before."""
        await self._decide("merge", "Keep new in", lambda conflicts, rows: conflicts.supersede(rows))

    async def do_reject(self) -> None:
        """Keep the older; the newer is not true."""
        await self._decide("reject", "Keep old in", lambda conflicts, rows: conflicts.keep_old(rows))

    async def do_toggle(self) -> None:
        """Keep the newer; the older was never true."""
        await self._decide("toggle", "The older was wrong in", lambda conflicts, rows: conflicts.keep_new(rows))

    async def do_snooze(self) -> None:
        """Put it off for a week."""
        await self._decide("snooze", "Put off", lambda conflicts, rows: conflicts.snooze(rows))

    async def _decide(self, action: str, verb: str, decide: ConflictsDecide) -> None:
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
            Spans(((one_line(row_text(row.older), 100), ""), (" ≠ ", "warn"), (one_line(row_text(row.newer), 100), "")))
            for row in rows[:LISTED]
        ]
        if len(rows) > LISTED:
            blocks.append(Body(f"… and {len(rows) - LISTED:,} more", "dim"))
        self.confirm(f"{verb} {counted(len(rows), 'pair')}", blocks, do, opened_by=self.key_of(action))

    def do_split(self) -> None:
        """Move one of the two, at the cursor of the detail or the older, to the scope where it holds."""
        from nanomem_tui.memory.scopes import HINT, parse_scope
        from nanomem_tui.widgets.dialogs import AskScreen

        row = self.table.cursor_row
        if row is None:
            return
        meant = self._meant(row)

        def wrong(scope: str) -> str:
            try:
                parse_scope(scope, "")
            except NanomemError as error:
                return f"{error.what}: {HINT}"
            return ""

        async def move(scope: str | None) -> None:
            if scope:
                done = await self.change(lambda ws: ws.conflicts.split(row, scope.strip(), meant.side))
                say(self, f"{one_line(done[0].label, SAID)} (u undoes it)")

        title = f"Both are so: the {meant.side} belongs to which scope"
        self.ask(AskScreen(title, placeholder=HINT, wrong=wrong), move)

    def _meant(self, row: Contradiction) -> OneSide:
        """The one at the cursor of the detail, else the older."""
        part = self.view.current if self._pane == "detail" else None
        return part if isinstance(part, OneSide) and part.pair.id == row.id else OneSide(row, "older")

    # Elsewhere

    async def do_source(self) -> None:
        """To the message that the one at the cursor came from, or to its session."""
        from nanomem_tui.review.finders.rows import message_of

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


def _conflicts_scope(row: Contradiction) -> str:

    return "two scopes" if row.across else scope_words(row.older)
