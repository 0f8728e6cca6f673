"""The lifecycle of records on the Tiers screen: what is due, how large the tiers grow, and a run after a look at it.

Owns the question and the words. What a run does is for the lifecycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual import work

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted
from nanomem_tui.screens.dreaming import Dreaming, Running
from nanomem_tui.screens.rows import when
from nanomem_tui.screens.sessions import size_text
from nanomem_tui.screens.tiers_kinds import TITLES
from nanomem_tui.widgets.document import Block, Body, Field, Heading, Spans
from nanomem_tui.widgets.toast import say, say_error

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.tiers.lifecycle import LifecyclePlan, Step
    from nanomem_tui.workspace import Workspace

_FATES: Mapping[str, str] = {
    "moved": "to long-term memory", "averaged": "averaged by the hour", "deleted": "deleted",
}  # fmt: skip


class RunsLifecycle(Dreaming[str]):
    """A screen on which the lifecycle can be run."""

    async def do_lifecycle_run(self) -> None:
        """Show what a run would do, then do it."""
        self.none_runs()
        plan = await self.console.in_thread(lambda ws: ws.lifecycle.plan())
        if not plan.rows and not plan.refused:
            say(self, "Nothing is due: no record is old enough")
            return
        refused = f"{plan.refused}; `nanomem lifecycle run --force` if the clock is right." if plan.refused else ""

        async def run(_yes: bool) -> None:
            self._run()

        title = f"Run the lifecycle: {counted(plan.rows, 'row')} due"
        self.confirm(title, due_blocks(plan), run, opened_by=self.key_of("lifecycle_run"), refused=refused)

    @work(group="dream", exit_on_error=False)
    async def _run(self) -> None:
        """Beside the keys: a million records take their time."""

        async def age(run: Running) -> list[Operation]:
            def tell(kind: str, rows: int) -> None:
                if not run.stopped.is_set():
                    run.step(f"{rows:,} of {TITLES.get(kind, kind).lower()}")

            def work(ws: Workspace) -> list[Operation]:
                ran = ws.lifecycle.run(stopped=run.stopped.is_set, watch=tell)
                return [] if ran.operation is None else [ran.operation]

            return await self.change(work)

        try:
            done = await self.beside_the_keys(age, Running("looking", "Running the lifecycle", "the lifecycle"))
        except NanomemError as error:
            say_error(self, error)
            return
        said = f"{done[0].label} (u undoes it)" if done else "Nothing was due"
        say(self, said)


def due_blocks(plan: LifecyclePlan) -> list[Block]:
    """What a run would do to each kind."""
    steps = [step for step in plan.steps if step.rows]
    if not steps:
        return [Body("Nothing is due: no record is old enough.", "dim")]
    return [block for step in steps for block in step_blocks(step)]


def step_blocks(step: Step) -> list[Block]:
    """What a run would do to one kind."""
    named = TITLES[step.kind].lower() if step.rows > 1 else step.kind.replace("-", " ")
    rows = ((f"{step.rows:>9,} ", "accent"), (f"{named} ", ""), (_FATES[step.what], "dim"))
    stay = f"; {step.stay:,} as old stay" if step.stay else ""
    about = f"about {_bytes(step.bytes)}, the oldest of {when(step.oldest)}{stay}"
    return [Spans(rows, 10), Body(about, "dim", 10)]


def blocks_of(plan: LifecyclePlan | None, last: str) -> list[Block]:
    """What is due, what becomes of the tiers, when the last run was."""
    from nanomem_tui.tiers.lifecycle import forecast_line

    blocks: list[Block] = [
        Spans((("Lifecycle", "heading"),)),
        Body("What is old leaves working memory for long-term memory, once a day by itself; nothing is lost.", "dim"),
    ]
    if plan is None or plan.sizes is None:
        return [*blocks, Body("Nothing was ever stored.", "dim")]
    if plan.refused:
        blocks.append(Body(f"Not by itself: {plan.refused}", "bad"))
    blocks += [Field("last run", last), Heading("Due"), *due_blocks(plan), Heading("Forecast")]
    blocks += [Body(forecast_line(one, _bytes)) for one in plan.sizes.forecasts]
    largest = sorted(plan.sizes.tables, key=lambda table: -table.rows * table.row_bytes)
    shown = [table for table in largest if table.rows]
    if shown:
        blocks.append(Heading("Size, about"))
    for table in shown:
        size = _bytes(int(table.rows * table.row_bytes))
        name = f"{TITLES[table.kind].lower()}, {'working' if table.tier == 'working' else 'long-term'}"
        blocks.append(Spans(((f"{size:>9} ", "accent"), (name, ""), (f"  {table.rows:,}", "dim")), 10))
    return blocks


def _bytes(size: int) -> str:
    return f"{size_text(size)}B"


def of_kind(plan: LifecyclePlan | None, kind: str) -> Sequence[Block]:
    """What is due of one kind; nothing where nothing is."""
    steps = [step for step in plan.steps if step.kind == kind and step.rows] if plan is not None else []
    return [Field("due", f"{step.rows:,} {_FATES[step.what]}") for step in steps]
