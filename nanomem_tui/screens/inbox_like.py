"""“All like this”: the dialog that shows what a rule made from a finding would decide on, and makes it so.

Owns the choice of the decision while the dialog is open. The rule itself is a matter of `curation.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget

from nanomem_tui.core.text import counted, one_line
from nanomem_tui.review.findings import Decision, Finding
from nanomem_tui.review.rules import Rule, can_rule, like
from nanomem_tui.screens.inbox_detail import ACTION_OF, SAYS
from nanomem_tui.screens.rows import LISTED
from nanomem_tui.widgets.dialog import Dialog
from nanomem_tui.widgets.document import Block, Body, Document, Heading, Spans
from nanomem_tui.widgets.preview import Preview

if TYPE_CHECKING:
    from nanomem_tui.screens.inbox import InboxScreen
    from nanomem_tui.workspace import Workspace

Chosen = tuple[Rule, Sequence[Finding]]


async def ask_for_all_like(screen: InboxScreen, row: Finding) -> None:
    """Show all that is like `row`, let the person choose the decision, and make it."""

    def alike(ws: Workspace) -> tuple[list[Finding], bool, dict[str, str]]:
        meant = ws.triage.rules.meant(like(row, "keep"))
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
            await screen.do_take(lambda ws: ws.triage.rules.apply(rule, keep=True, findings=meant))
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
        return like(self._row, self._decision)

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
        return [(" y", "key"), (" yes, decide so ", ""), (" n", "key"), (" no ", ""), (" j k", "key"), (" scroll", "")]

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
        blocks.append(Heading(f"{counted(len(meant), 'finding')}, and the rule is kept; u takes back both"))
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
