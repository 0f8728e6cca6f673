"""The Tiers screen: how many work records each tier holds, by kind, and what happens now."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on, work
from textual.message import Message
from textual.timer import Timer

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.console import Running
from nanomem_tui.screens.base.editable_rows import format_age, format_time
from nanomem_tui.screens.base.parts_screen import DetailParts, PartsScreen
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.screens.knowledge_list import Title
from nanomem_tui.screens.sessions import size_text
from nanomem_tui.screens.work import record_detail
from nanomem_tui.screens.work.record_columns import TITLES
from nanomem_tui.screens.work.record_detail import Linked, Now, NowPart
from nanomem_tui.screens.work.record_list import origin_of
from nanomem_tui.store.work.kinds import ABOUT
from nanomem_tui.widgets.bars import say, say_error
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.parts_view import Part, Preface
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Line, Spans, lay_out
from nanomem_tui.widgets.theme import glyphs

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.store.work.values import KnowledgeDocument
    from nanomem_tui.tiers.lifecycle import LifecyclePlan, PlannedStep
    from nanomem_tui.workspace import Workspace


# The documents of the knowledge base on the Tiers screen: each with its source, unfolded with its sections.

SHOWN = 200  # documents, the newest
UNFOLDED = 30  # documents whose sections are read
NOTHING = (
    "None was added yet: `nanomem knowledge add` takes a file, a folder, a man page or what a package documents. The "
    "pages of nanomem itself are searched too."
)


@dataclass(frozen=True, slots=True)
class Filed:
    """A document; enter unfolds its sections."""

    document: KnowledgeDocument
    sections: tuple[tuple[str, int], ...]
    stops: bool = True

    @property
    def key(self) -> str:
        """Its id."""
        return self.document.id

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """Its title, how long it is, where it is from."""
        one = self.document
        long = counted(one.chunks, "chunk")
        head = ((f"{format_age(one.added_at)}  ", "dim"), (one.title, ""), (f"  {one.kind}, {long}  ", "dim"))
        blocks: list[Block] = [Spans((*head, (one.source, "label")), 4)]
        if unfolded:
            blocks += [Spans(((f"    {line:>6,}  ", "dim"), (section, "")), 12) for section, line in self.sections]
            blocks += [] if self.sections else [Body(f"nanomem knowledge show {one.id}", "dim", 4)]
        return lay_out(blocks, width, wrapped)

    def plain(self) -> str:
        """Its title, source and sections."""
        return "\n".join((f"{self.document.title}: {self.document.source}", *(section for section, _ in self.sections)))


def added(ws: Workspace) -> list[KnowledgeDocument]:
    """The documents that were added, the newest first. Raises the errors of the store."""
    return sorted(ws.knowledge.documents(own=False), key=lambda one: one.added_at, reverse=True)


def parts_of(ws: Workspace) -> list[Part]:
    """The documents, each with its sections. Raises the errors of the store."""
    documents = added(ws)
    head: list[Block] = [Spans((("Documents", "heading"),)), Body("What can be looked up: the knowledge base.", "dim")]
    if not documents:
        return [Preface((*head, Body(""), Body(NOTHING, "dim")))]
    more = f"the newest {SHOWN:,} of {len(documents):,}" if len(documents) > SHOWN else "enter shows the sections"
    parts: list[Part] = [Preface(tuple(head)), Title("documents", f"Added ({len(documents):,})", more)]
    for place, document in enumerate(documents[:SHOWN]):
        chunks = ws.knowledge.chunks(document.id) if place < UNFOLDED else []
        sections: dict[str, int] = {}
        for _, chunk in chunks:
            sections.setdefault(chunk.section, chunk.line_from)
        parts.append(Filed(document, tuple(sections.items())))
    return parts


# The lifecycle of records on the Tiers screen: what is due, how large the tiers grow, and a run after a look at it.

_FATES: Mapping[str, str] = {
    "moved": "to long-term memory", "averaged": "averaged by the hour", "deleted": "deleted",
}  # fmt: skip


class RunsLifecycle(WorkspaceScreen[str]):
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


def step_blocks(step: PlannedStep) -> list[Block]:
    """What a run would do to one kind."""
    named = TITLES[step.kind].lower() if step.rows > 1 else step.kind.replace("-", " ")
    rows = ((f"{step.rows:>9,} ", "accent"), (f"{named} ", ""), (_FATES[step.what], "dim"))
    stay = f"; {step.stay:,} as old stay" if step.stay else ""
    about = f"about {_bytes(step.bytes)}, the oldest of {format_time(step.oldest)}{stay}"
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


FOLLOW_SECONDS = 1.0
PLAN_SECONDS = 60.0  # between two looks at what is due while others write: they read every table
LIFECYCLE, DOCUMENTS = "lifecycle", "documents"
NEWEST = 12  # records that the detail of a kind names


class Held(NamedTuple):
    """How many records of a kind each tier holds, and when the newest one was; None where the kind has no such tier."""

    working: int | None
    longterm: int | None
    newest: str


class TiersScreen(PartsScreen[str], RunsLifecycle):
    """Kinds of records; a row is the name of a kind, the last one their lifecycle."""

    SCREEN = "tiers"
    FLASHES = False
    OPENS = (Linked, NowPart, Filed)
    HELP = (
        "What there is of the agent's work: now (the last hour, in memory), in working memory, in long-term memory. "
        "enter shows the records of a kind; in the detail: what happens now, drawn and followed while it is shown, "
        "then the newest records, to which enter leads. Below the records stand the documents of the knowledge base "
        "and the lifecycle: what is due, how large the tiers are and will be; Y runs it."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"kind": "text"}

    class Looked(Message):
        """From the looking thread: operational memory, or why it cannot be read."""

        def __init__(self, now: Now, trouble: str) -> None:
            super().__init__()
            self.now = now
            self.trouble = trouble

    def __init__(self) -> None:
        super().__init__()
        self._held: Mapping[str, Held] = {}
        self._plan: LifecyclePlan | None = None
        self._last_run = ""
        self._planned_at = -PLAN_SECONDS
        self._bytes = 0
        self._now = Now()
        self._trouble = ""
        self._told = ""
        self._following: Timer | None = None
        self._looking = False

    # The list

    def columns(self) -> Sequence[Column[str]]:
        """A column for each tier."""
        return (
            Column("kind", "Records", _title, min_width=19),
            Column("now", "Now", self._of_now, width=7, align="right", tone="accent"),
            Column("working", "Working", lambda kind: self._count(kind, 0), width=11, align="right"),
            Column("longterm", "Long-term", lambda kind: self._count(kind, 1), width=11, align="right"),
            Column("newest", "Newest", self._newest_of, width=8, priority=1, align="right", tone="dim"),
        )

    def _of_now(self, kind: str) -> str:
        number = self._now.count(kind)
        return f"{number:,}" if number else ""

    def _count(self, kind: str, tier: int) -> str:
        if kind == LIFECYCLE:
            return f"{self._plan.rows:,} due" if self._plan is not None and not tier else ""
        held = self._held.get(kind)
        if held is None:
            return "…"
        number = held[tier]
        return "" if number is None else f"{number:,}"

    def _newest_of(self, kind: str) -> str:
        held = self._held.get(kind)
        newest = max(held.newest if held is not None else "", self._now.newest.get(kind, ""))
        return format_age(newest) if newest else ""

    def row_id(self, row: str) -> str:
        """The name of the kind."""
        return row

    def load(self) -> Iterable[Sequence[str]]:
        """The kinds at once, how many there are of each when that is counted."""
        yield [*TITLES, DOCUMENTS, LIFECYCLE]
        records = self.ws.records
        counts = records.counts()
        held = {}
        for kind in TITLES:
            newest = records.list_records(kind, limit=1) if any(counts[kind].values()) else []
            held[kind] = Held(counts[kind].get("working"), counts[kind].get("longterm"), newest[0].at if newest else "")
        documents = added(self.ws)
        held[DOCUMENTS] = Held(None, len(documents), documents[0].added_at if documents else "")
        self._held = held
        self._bytes = bytes_of(self.ws)
        self.app.call_later(self.table.refresh_rows)
        if time.monotonic() - self._planned_at >= PLAN_SECONDS:
            self._plan = self.ws.lifecycle.plan()
            last = self.ws.lifecycle.last_at()
            self._last_run = format_time(clock.iso(last)) if last is not None else "never"
            self._planned_at = time.monotonic()

    def search_text(self, row: str) -> str:
        """Words are searched in the titles."""
        return f"{_title(row)} {ABOUT.get(row, '')}"

    def field(self, row: str, name: str) -> Any:
        """Only its name."""
        return row

    def _say_totals(self) -> None:
        super()._say_totals()
        if self.listing.filter:
            return
        total = sum((held.working or 0) + (held.longterm or 0) for kind, held in self._held.items() if kind in TITLES)
        parts = [counted(total, "record") if self._held else "", f"{size_text(self._bytes)}B" if self._bytes else ""]
        if self._loading:
            parts.append("loading")
        self.say_counts(" · ".join(filter(None, parts)))

    @on(PartsScreen.RowsLoaded)
    def _counted(self, event: PartsScreen.RowsLoaded) -> None:
        if event.done and event.turn == self._load_turn:
            self.refresh_detail()

    # The detail

    def detail(self, row: str) -> DetailParts:
        """The kind in numbers, what there is of it now, its newest records."""
        if row == DOCUMENTS:
            return DetailParts(row, tuple(parts_of(self.ws)))
        if row == LIFECYCLE:
            return DetailParts(row, (Preface(tuple(blocks_of(self._plan, self._last_run))),))
        held = self._held.get(row)
        blocks: list[Block] = [Spans(((TITLES[row], "heading"),)), Body(ABOUT[row], "dim")]
        if held is not None:
            for name, number in (("working", held.working), ("long-term", held.longterm)):
                if number is not None:
                    blocks.append(Field(name, f"{number:,}"))
        blocks += of_kind(self._plan, row)
        if self._trouble and row in record_detail.KINDS:
            blocks.append(Body(f"What happens now cannot be read: {self._trouble}", "bad"))
        parts: list[Part] = [Preface(tuple(blocks)), *record_detail.parts_of_now(self._now, row)]
        newest = self.ws.records.list_records(row, limit=NEWEST)
        if newest:
            parts += [Title("newest", "The newest"), *(Linked("", record) for record in newest)]
        elif not self._now.count(row):
            parts.append(Preface((Body(""), Body(f"None yet. {origin_of(row)}", "dim")), "nothing"))
        return DetailParts(row, tuple(parts))

    def show_detail(self, detail: Any) -> None:
        """From its beginning; where it is when it is the same kind."""
        if isinstance(detail, DetailParts):
            same = bool(self.view.parts) and self._told == detail.row_id
            if same and self.view.parts == detail.parts:
                return
            self._told = detail.row_id
            self.view.show(detail.parts, keep_place=same)
            if not same:
                self.view.move_to_part(detail.parts[0].key)
        elif isinstance(detail, Document):
            self.view.show((), empty="No kind is chosen.")

    # Where keys lead

    @property
    def _trail(self) -> Any:
        return self.console.get_screen("trail")

    def open_row(self, row: str) -> None:
        """Enter: the records of the kind."""
        if row not in TITLES:
            self.show_pane("detail")
            return
        if self._trail.kind != row:
            self._trail.choose_kind(row)
        self.console.go("trail")

    def do_open(self) -> None:
        """Enter in the detail: to the record; all that was told of something of now."""
        part = self.view.current
        if isinstance(part, Linked):
            self._trail.show_record(part.record.kind, part.record.id)
            self.console.go("trail")
        elif isinstance(part, (NowPart, Filed)):
            self.view.toggle()

    def do_context(self) -> None:
        """To what would be known for a task."""
        self.console.go("context")

    def do_reload(self) -> None:
        """Read everything again, also what is due."""
        self._planned_at = -PLAN_SECONDS
        super().do_reload()

    def operations_done(self, operations: Sequence[Operation]) -> None:
        """Another thing may be due now."""
        self.do_reload()

    def do_sort(self) -> None:
        """The kinds have one order."""
        say(self, "The kinds of records have one order", "warning")

    # Following what happens now

    def on_mount(self) -> None:
        """Follow from now on."""
        super().on_mount()
        self._following = self.set_interval(FOLLOW_SECONDS, self._follow)
        self._follow()

    def on_screen_resume(self, event: Any) -> None:
        """Shown again: follow again."""
        super().on_screen_resume(event)
        if self._following is not None:
            self._following.resume()
            self._follow()

    def on_screen_suspend(self) -> None:
        """Not shown: nothing is looked at."""
        if self._following is not None:
            self._following.pause()

    def _follow(self) -> None:
        if not self._looking:
            self._looking = True
            self._read_now()

    @work(thread=True, group="live", exit_on_error=False)
    def _read_now(self) -> None:
        now, trouble = self._now, ""
        try:
            now = record_detail.read_now(self.ws, now, glyphs(self))
        except (NanomemError, OSError) as error:
            trouble = str(error)
        self.post_message(self.Looked(now, trouble))

    @on(Looked)
    def _looked(self, event: Looked) -> None:
        self._looking = False
        if event.now is self._now and event.trouble == self._trouble:
            return
        self._now, self._trouble = event.now, event.trouble or event.now.trouble
        self.table.refresh_rows()
        if self.table.cursor_row in record_detail.KINDS:
            self.refresh_detail()


def _title(row: str) -> str:
    return TITLES.get(row, row.capitalize())


def bytes_of(ws: Any) -> int:
    """Bytes of `work.db` with what is not merged into it yet."""
    path = ws.paths.work_database
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
