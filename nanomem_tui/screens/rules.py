"""The Rules screen, behind Inbox: the decisions that were made for all that is alike, and what each is about now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from nanomem_tui.core.operations import Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.review.findings import KINDS, Finding
from nanomem_tui.review.rules import Rule
from nanomem_tui.screens.inbox import desk_after
from nanomem_tui.screens.rows import LISTED, SAID, when
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Spans
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


class Kept(NamedTuple):
    """A rule and what it is about now."""

    rule: Rule
    meant: tuple[Finding, ...]


class RulesScreen(WorkspaceScreen[Kept]):
    """The rules that are kept."""

    SCREEN = "rules"
    BEHIND = "inbox"
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
            ("kept", when(rule.at)),
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

    def do_next_list(self) -> None:
        """Back to the inbox."""
        self.console.go(desk_after(self.SCREEN))


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
