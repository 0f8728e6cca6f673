"""Import, export and backfill of memories in the console, each with a preview.

Work runs in a worker, so that no key waits; `memory.transfer` reads, judges and writes.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from nanomem_tui.core.errors import BadInput, NanomemError, Refused
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.screens.base.editable_rows import LISTED, SAID
from nanomem_tui.widgets.bars import say, say_error
from nanomem_tui.widgets.text_view import Block, Body, Field, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.core.errors import Problem
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.memory.transfer.backfill import Backfill
    from nanomem_tui.memory.transfer.import_plan import Exported, ImportPlan, Tell
    from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
    from nanomem_tui.workspace import Workspace

Result = TypeVar("Result")

SOON = 0.4  # seconds after which it is said that something is under way
EACH = 1.0  # seconds between two words about it
PROBLEMS = 20  # that are named one by one
TOLD: Mapping[str, tuple[str, str]] = {
    "new": ("new", "good"),
    "update": ("to be updated", "good"),
    "inbox": ("to the inbox, for you to judge", "warn"),
    "same": ("here already (duplicates)", ""),
    "conflict": ("in conflict: ours stays", "warn"),
    "deleted": ("deleted here: stays deleted", ""),
    "deleted_there": ("deleted there", ""),
    "bad": ("unreadable", "bad"),
}
"""The counts of a plan in words, with their tones."""
ORDER = ("conflict", "inbox", "deleted", "update", "new")
EXPORT_HINT = "jsonl (all of it), ltm-snapshot, lessons, scoped-db, facts-db, markdown"


# Under way


def start(screen: WorkspaceScreen[Any], work: Callable[[], Awaitable[None]]) -> None:
    """Do `work` beside the keys; an error becomes one line."""

    async def run() -> None:
        try:
            await work()
        except Stopped as error:
            say(screen, error.what)
        except Exception as error:  # noqa: BLE001 - as for any action: said in words
            say_error(screen, error)

    screen.app.run_worker(run(), group="transfer", exit_on_error=False)


class Stopped(NanomemError):
    """A person stopped it while it was under way."""


_stops: WeakKeyDictionary[WorkspaceScreen[Any], threading.Event] = WeakKeyDictionary()
"""What stops the work that is under way for a screen."""


def stop(screen: WorkspaceScreen[Any]) -> bool:
    """Stop the import that is under way for the screen; False when none is that can be stopped."""
    asked = _stops.get(screen)
    if asked is None:
        return False
    asked.set()
    screen.console.say_busy("Stopping …")
    return True


async def under_way(
    screen: WorkspaceScreen[Any], what: str, work: Awaitable[Result], asked: threading.Event | None = None
) -> Result:
    """Wait for `work`; what takes long is told in the status bar, with the seconds that it took. With `asked` it can be
    stopped (`stop`): the work looks at that."""
    task = asyncio.ensure_future(work)
    began = time.monotonic()
    how = " (esc stops it)" if asked is not None else ""
    if asked is not None:
        _stops[screen] = asked
    try:
        done, _ = await asyncio.wait({task}, timeout=SOON)
        while not done:
            if asked is None or not asked.is_set():
                screen.console.say_busy(f"{what}, {time.monotonic() - began:.0f} s …{how}")
            done, _ = await asyncio.wait({task}, timeout=EACH)
    finally:
        _stops.pop(screen, None)
        screen.console.say_busy("")
    return task.result()


def _until(asked: threading.Event) -> Tell:
    """Hears how far an import is, and ends it once it was asked to stop."""

    def tell(_what: str, _done: int, _total: int) -> None:
        if asked.is_set():
            raise Stopped("stopped: nothing was changed")

    return tell


async def _do(
    screen: WorkspaceScreen[Any],
    what: str,
    work: Callable[[Workspace], Operation],
    asked: threading.Event | None = None,
) -> None:
    for operation in await under_way(screen, what, screen.console.change(work), asked):
        say(screen, f"{one_line(operation.label, SAID)} (u undoes it)")


# Import


def import_file(screen: WorkspaceScreen[Any]) -> None:
    """Ask for a file; the one database of another system that lies around is offered."""

    async def offer() -> None:
        found = await screen.console.in_thread(lambda ws: ws.transfer.candidates())
        _ask_for_file(screen, str(found[0].path) if len(found) == 1 else "")

    start(screen, offer)


def _ask_for_file(screen: WorkspaceScreen[Any], path: str) -> None:
    from nanomem_tui.widgets.dialogs import AskScreen

    async def preview(answer: str | None) -> None:
        start(screen, lambda: _preview(screen, answer or ""))

    title = "Import from a file or folder"
    screen.ask(AskScreen(title, path, "path of a snapshot, lessons, a database, Chroma, Markdown, an export"), preview)


async def _preview(screen: WorkspaceScreen[Any], path: str) -> None:
    asked = threading.Event()
    try:
        looked = screen.console.in_thread(lambda ws: ws.transfer.preview(path.strip(), tell=_until(asked)))
        plan = await under_way(screen, f"Reading {_name(path)}", looked, asked)
    except Stopped:
        raise
    except NanomemError as error:
        _ask_for_file(screen, path)
        say_error(screen, error)
        return
    count = len(plan.todo)

    async def do(_yes: bool) -> None:
        what, asked = f"Importing {counted(count, 'row')}", threading.Event()
        start(screen, lambda: _do(screen, what, lambda ws: ws.transfer.run(plan, tell=_until(asked)), asked))

    refused = "" if count else "Nothing to import: all of it is here, was deleted here, or could not be read."
    title = f"Import {counted(count, 'row')} from {plan.name}" if count else f"Import from {plan.name}"
    reason = "One operation, which u takes back. The file itself is never written."
    screen.confirm(title, plan_blocks(plan), do, reason=reason, refused=refused)


def _name(path: str) -> str:
    """The file and how large it is."""
    file = Path(path.strip()).expanduser()
    try:
        size = file.stat().st_size if file.is_file() else 0
    except OSError:
        size = 0
    return f"{file.name} ({size / 1e6:,.1f} MB)" if size > 1e6 else file.name


def plan_blocks(plan: ImportPlan) -> list[Block]:
    """The counts, then what wants a look, then what is new, then what could not be read."""
    blocks: list[Block] = [Field("format", plan.format)]
    blocks += [Field(f"{count:,}", TOLD[name][0], TOLD[name][1]) for name, count in plan.counts.items() if count]
    blocks += [
        Body(told) for told in plan.told_by_kind({name: words.partition(" (")[0] for name, (words, _) in TOLD.items()})
    ]
    blocks += [Body(note, "dim") for note in plan.notes]
    blocks += [Body(plan.over_cap.line(), "warn")] if plan.over_cap is not None else []
    shown = plan.some(ORDER, LISTED)
    if shown:
        blocks.append(Heading("Rows"))
    for entry in shown:
        text = str(entry.to_json()["text"])
        why = f"  {entry.why}" if entry.why else ""
        blocks.append(Spans(((f"{entry.verdict:<9}", TOLD[entry.verdict][1]), (one_line(text, 200), ""), (why, "dim")),
                            9))  # fmt: skip
    return [*blocks, *_more(sum(map(plan.counts.__getitem__, ORDER)), LISTED), *_problem_blocks(plan.problems)]


def _problem_blocks(problems: Sequence[Problem]) -> Iterable[Block]:
    if problems:
        yield Heading(f"Not read ({len(problems):,})")
        yield from (Spans(((problem.text(), "warn"),), 2) for problem in problems[:PROBLEMS])
        yield from _more(len(problems), PROBLEMS)


def _more(count: int, shown: int) -> list[Block]:
    return [Body(f"… and {count - shown:,} more", "dim")] if count > shown else []


# The notes


def backfill(screen: WorkspaceScreen[Any]) -> None:
    """Show what the Markdown of the workspace says that is not here yet, then take it in."""
    from nanomem_tui.memory.transfer import backfill as backfills

    async def preview() -> None:
        looked = screen.console.in_thread(lambda ws: backfills.preview(ws.store, ws.paths, ws.settings))
        plan = await under_way(screen, "Reading the notes", looked)
        count = len(plan.items)

        async def do(_yes: bool) -> None:
            what = f"Taking in {counted(count, 'item')}"
            start(screen, lambda: _do(
                screen, what, lambda ws: backfills.run(ws.store, plan, ws.perform, actor="human")))  # fmt: skip

        refused = "" if count else "Nothing to take in: what the notes say is here, or was deleted here."
        files = counted(len(plan.files), "Markdown file")
        title = f"Take in {counted(count, 'item')} from {files}" if count else f"Take in notes: {files}"
        reason = "One operation, which u takes back. The files stay as they are."
        screen.confirm(title, backfill_blocks(plan), do, reason=reason, refused=refused)

    start(screen, preview)


def backfill_blocks(plan: Backfill) -> list[Block]:
    """The counts, then the items with their places."""
    blocks: list[Block] = []
    if plan.done:
        blocks.append(Body("It was done before; this takes in what came since.", "dim"))
    named = ((len(plan.items), "new", "good"), (plan.same, "here already, or deleted here", ""),
             (plan.inbox, "of the new ones to the inbox, for you to judge", "warn"))  # fmt: skip
    blocks += [Field(f"{count:,}", told, tone) for count, told, tone in named if count]
    blocks.append(Body(f"From {', '.join(plan.files) or 'no file: memory/ holds no Markdown'}", "dim"))
    if plan.items:
        blocks.append(Heading("Items"))
    for row in plan.items[:LISTED]:
        source = row.meta.get("from")
        place = f"  {source.get('file')}:{source.get('line')}" if isinstance(source, Mapping) else ""
        waits = ("inbox    ", "warn") if row.waits else ("new      ", "good")
        blocks.append(Spans((waits, (one_line(row.text, 200), ""), (place, "dim")), 9))
    return [*blocks, *_more(len(plan.items), LISTED), *_problem_blocks(plan.problems)]


# Export


def export_file(screen: WorkspaceScreen[Any], typed: Mapping[str, str] | None = None) -> None:
    """Ask where to and in which format, and write it; a file that is there is replaced after a typed word only."""
    from nanomem_tui.memory.transfer.service import EXPORT_FORMATS
    from nanomem_tui.widgets.dialogs import FormField, FormScreen

    known = {"file": "", "format": "jsonl", "scope": "global", **(typed or {})}

    def check(changed: Mapping[str, str]) -> Mapping[str, str]:
        wanted = {**known, **changed}
        if not wanted["file"]:
            raise BadInput("no file is named", "file", "type a path")
        if wanted["format"] not in EXPORT_FORMATS:
            raise BadInput(f"no format “{wanted['format']}”", "format", f"one of {', '.join(EXPORT_FORMATS)}")
        if wanted["scope"] not in {"global", "all"}:
            raise BadInput(f"no scope “{wanted['scope']}”", "scope", "global or all")
        return wanted

    async def write(wanted: Mapping[str, str] | None) -> None:
        if wanted:
            start(screen, lambda: _export(screen, wanted))

    fields = (
        FormField("file", known["file"], "a new file, for example ~/memories.jsonl; only you can read it"),
        FormField("format", known["format"], EXPORT_HINT),
        FormField("scope", known["scope"], "for a format without scopes: global, or all with what is of one chat"),
    )
    screen.ask(FormScreen("Export what is remembered", fields, check), write)


async def _export(screen: WorkspaceScreen[Any], wanted: Mapping[str, str], force: bool = False) -> None:
    def write(ws: Workspace) -> Exported | int:
        """A number: the file is there, of so many bytes, and may be replaced."""
        path = Path(wanted["file"]).expanduser()
        try:
            return ws.transfer.export(wanted["format"], path, every_scope=wanted["scope"] == "all", force=force)
        except Refused:
            ws.transfer.check_target(path, force=True)
            return path.stat().st_size

    made = await under_way(screen, f"Writing {wanted['file']}", screen.console.in_thread(write))
    if not isinstance(made, int):
        say(screen, export_words(made))
        return

    async def replace(_yes: bool) -> None:
        start(screen, lambda: _export(screen, wanted, force=True))

    blocks = [Field("file", wanted["file"]), Field("now", f"{made:,} bytes")]
    screen.confirm("Replace a file", blocks, replace, reason="What is in it now is lost.", word="replace")


def export_words(made: Exported) -> str:
    """What was written, and what was not."""
    left = ", ".join(f"{number:,} {why}" for why, number in made.left_out.items())
    notes = "".join(f". {note}" for note in made.notes)
    return f"Wrote {made.words} to {made.path.name}" + (f"; left out: {left}" if left else "") + notes
