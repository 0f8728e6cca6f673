"""What the right pane of the Knowledge screen shows of a fact: its fields, every value that it had, what is near it.

Reads through the workspace, in a thread. Which key leads where is for the screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.text import counted
from nanomem_tui.memory import edits, retention
from nanomem_tui.memory.facts.facts import NO_DOMAIN, Value
from nanomem_tui.memory.scopes import scope_of
from nanomem_tui.screens.nearness import Near
from nanomem_tui.screens.rows import when
from nanomem_tui.screens.transcript import Preface
from nanomem_tui.store.values import Fact
from nanomem_tui.widgets.document import Block, Body, Field, Heading, Line, Spans, lay_out
from nanomem_tui.widgets.parts_view import Part
from nanomem_tui.widgets.tree_table import Node

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

NAMED = 20  # categories that the detail of a domain names


class Shown(NamedTuple):
    """What the right pane shows: a row, and the parts of it."""

    row_id: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Title:
    """The heading of the parts that follow, and a sentence about them."""

    key: str
    text: str
    note: str = ""
    tone: str = "dim"
    stops: bool = False

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """An empty line, the heading, the sentence."""
        blocks: list[Block] = [Heading(self.text)]
        if self.note:
            blocks.append(Body(self.note, self.tone))
        return [(), *lay_out(blocks, width, wrapped)]

    def plain(self) -> str:
        """The heading."""
        return self.text


@dataclass(frozen=True, slots=True)
class Valued:
    """One value that the fact had."""

    number: int
    value: Value
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among the parts."""
        return f"value {self.number}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """From when to when, by whom, from where; the value."""
        value = self.value
        until = _minute(value.until) if value.until else "now"
        head = [(f"{_minute(value.since)} to {until}", "dim" if value.until else "good"), ("  ", "")]
        head.append((value.actor or "came with the row", "accent" if value.actor else "dim"))
        from_where = " ".join(filter(None, (value.session_key, value.source_message_id)))
        if from_where:
            head.append((f"  {from_where}", "label"))
        return lay_out((Spans(tuple(head), 2), Body(value.value, "removed" if value.until else "", 2)), width, wrapped)

    def plain(self) -> str:
        """The value."""
        return self.value.value


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A fact that is among the nearest; `is_near`: nearer than what recall takes for near."""

    fact: Fact
    distance: float
    is_near: bool
    stops: bool = True

    @property
    def key(self) -> str:
        """Its own among the parts."""
        return f"near {self.fact.id}"

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """How far, where it stands, what it says."""
        fact = self.fact
        off = [("  (disabled)", "warn")] if not fact.item.enabled else []
        far, words = ("accent", "") if self.is_near else ("dim", "dim")
        parts = ((f"{self.distance:.2f}  ", far), (f"{fact.domain or NO_DOMAIN} / {fact.category}  ", "dim"))
        return lay_out((Spans((*parts, (fact.item.text, words), *off), 6),), width, wrapped)

    def plain(self) -> str:
        """Its words."""
        return self.fact.item.text


def parts_of(ws: Workspace, fact: Fact, near: Near | None, history: Sequence[Block]) -> tuple[Part, ...]:
    """The parts of a fact; `near` is None while it is looked for, `history` what the row has been through."""
    values = ws.facts.history(fact.id)
    parts: list[Part] = [Preface(tuple(_head(fact)))]
    parts.append(Title("values", f"Values ({len(values):,})"))
    parts += [Valued(number, value) for number, value in enumerate(values)]
    if near is None:
        parts.append(Title("near", "Near it", "looking …"))
    else:
        how = "in meaning" if near.by == "meaning" else "in words"
        nothing = "" if near.found else "Nothing is near. "
        parts.append(Title("near", f"Near it {how} ({len(near.found)})", f"{nothing}{near.note}".strip()))
        most = ws.settings.recall_max_distance
        parts += [Neighbour(one, distance, distance < most) for one, distance in near.found]
    return (*parts, Preface((Body(""), *_fields(ws, fact), *history), "fields"))


def heading_parts(node: Node, facts: Sequence[Fact], names: Sequence[tuple[str, int]]) -> tuple[Part, ...]:
    """The parts of a heading: how many facts, which categories, the newest of them."""
    blocks: list[Block] = [Spans(((node.name, "heading"),)), Field("facts", f"{node.total:,}")]
    off = sum(not fact.item.enabled for fact in facts)
    if len(facts) < node.total:
        blocks.append(Field("shown", f"{len(facts):,}, the filter hides the others"))
    if off:
        blocks.append(Field("disabled", f"{off:,}"))
    if facts:
        newest = max(facts, key=lambda fact: fact.item.updated_at)
        blocks += [Field("newest", when(newest.item.updated_at)), Body(newest.item.text, indent=13)]
    if names:
        blocks.append(Heading(counted(len(names), "category", "categories")))
        blocks += [Spans(((f"{count:>6,}  ", "dim"), (name, ""))) for name, count in names[:NAMED]]
        if len(names) > NAMED:
            blocks.append(Body(f"… and {len(names) - NAMED:,} more", "dim"))
    return (Preface(tuple(blocks)),)


def _head(fact: Fact) -> list[Block]:
    row = fact.item
    blocks: list[Block] = [Spans(((fact.key, "accent"),)), Body(fact.value)]
    if not row.enabled:
        blocks.append(Body("Disabled: kept, never recalled (x enables it).", "warn"))
    blocks += [Body(line, "bad") for line in edits.unsettled_lines(row)]
    blocks += [Field("domain", fact.domain or NO_DOMAIN), Field("category", fact.category)]
    return [*blocks, Field("sub-category", fact.sub_category)] if fact.sub_category else blocks


def _fields(ws: Workspace, fact: Fact) -> list[Block]:
    row = fact.item
    expires = retention.expiry(row, ws.settings)
    named = (
        ("scope", scope_of(row)),
        ("source", row.source),
        ("session", row.session_key),
        ("message", row.source_message_id),
        ("role", row.source_role),
        ("sender", row.sender_id),
        ("hits", f"{row.hits:,}"),
        ("importance", f"{row.importance:.2f}"),
        ("confidence", f"{row.confidence:.2f}"),
        ("created", when(row.created_at)),
        ("updated", when(row.updated_at)),
        ("recalled", when(row.last_accessed_at) if row.last_accessed_at else None),
        ("expires", when(expires) if expires else None),
        ("id", row.id),
    )
    blocks: list[Block] = [Heading("Fields"), *(Field(name, str(value)) for name, value in named if value)]
    free = {name: value for name, value in row.meta.items() if name not in {"fact", "conflict"} and value}
    return [*blocks, *(Field(name, str(value)) for name, value in free.items())]


def _minute(at: str) -> str:
    moment = clock.parse(at)
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else at or "the beginning"
