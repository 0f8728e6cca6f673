"""Consolidating sessions from their list: what would be archived as a preview, then one operation for each.

Owns the question. What is archived, and whether it may be now, is for the Consolidator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import work

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.screens.dreaming import Dreaming, Running
from nanomem_tui.widgets.document import Block, Body, Field, Spans
from nanomem_tui.widgets.toast import say, say_error

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.consolidate import Consolidation
    from nanomem_tui.memory.sessions.sessions import SessionInfo
    from nanomem_tui.workspace import Workspace

SHOWN = 20  # things left out


class Consolidating(Dreaming["SessionInfo"]):
    """A list of sessions that can be consolidated."""

    def do_consolidate(self) -> None:
        """Show what archiving the oldest part of each session would do, then do it."""
        self.none_runs()
        self._plan(self.targets())

    @work(group="dream", exit_on_error=False)
    async def _plan(self, rows: Sequence[SessionInfo]) -> None:
        """Beside the keys: a language model takes its time."""

        async def plan(run: Running) -> list[Consolidation]:
            def plans(ws: Workspace) -> list[Consolidation]:
                ws.consolidator.recover()
                return [ws.consolidator.plan(row.key, watch=run.step) for row in rows]

            return await self.console.in_thread(plans)

        try:
            found = await self.beside_the_keys(plan, Running("reading", "Summarising", "the summary"))
        except NanomemError as error:
            say_error(self, error)
            return
        self.app.clear_notifications()  # what was at work is done
        self._ask_about(found)

    def _ask_about(self, plans: Sequence[Consolidation]) -> None:
        can = [plan for plan in plans if not plan.refused and not plan.nothing]
        first = plans[0]
        refused = "" if can else first.refused or f"There is nothing to archive: {first.nothing}."

        async def consolidate(_yes: bool) -> None:
            left: list[NanomemError] = []

            def each(ws: Workspace) -> list[Operation]:
                done = []
                for plan in can:
                    try:
                        done.append(ws.consolidator.apply(plan)[0])
                    except NanomemError as error:
                        left.append(error)
                return done

            for operation in await self.change(each):
                say(self, f"{operation.label} (u undoes it)")
            for error in left:
                say_error(self, error)

        title = f"Consolidate {first.key}" if len(plans) == 1 else f"Consolidate {len(can)} of {len(plans)} sessions"
        self.confirm(title, [block for plan in plans for block in blocks_of(plan)], consolidate, refused=refused)


def blocks_of(plan: Consolidation) -> list[Block]:
    """What consolidating one session would do."""
    blocks: list[Block] = [Spans(((plan.key, "heading"),))]
    if plan.refused:
        blocks.append(Body(f"Not now: {plan.refused}", "bad"))
    if plan.nothing:
        return [*blocks, Body(f"{plan.nothing}, {plan.tokens:,} of {plan.budget:,} tokens", "dim")]
    blocks += [
        Field("archived", f"messages {plan.start:,} to {plan.end:,} of {plan.messages:,}; the transcript keeps them"),
        Field("tokens", f"{plan.tokens:,} → {plan.left:,} in the prompt, the budget is {plan.budget:,}"),
        Field("by", plan.dreamer),
    ]
    if plan.note:
        blocks.append(Body(plan.note, "warn"))
    for entry in plan.entries:
        blocks += [Spans(((entry.timestamp, "dim"),)), Body(entry.content, indent=2)]
    for one in plan.left_out[:SHOWN]:
        blocks.append(Spans(((f"left out (#{one.message}, {one.why}): ", "dim"), (one_line(one.text, 120), "")), 2))
    if len(plan.left_out) > SHOWN:
        blocks.append(Body(f"… and {counted(len(plan.left_out) - SHOWN, 'more line')}", "dim"))
    return blocks
