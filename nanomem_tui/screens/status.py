"""The Status screen: the health of every part, what waits to be saved, growth, and what the doctor finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, Problem
from nanomem_tui.core.text import counted
from nanomem_tui.looking import waiting_words
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.rows import age_of, when
from nanomem_tui.screens.status_turns import (
    capture_blocks,
    capture_words,
    counter_blocks,
    counter_words,
    recall_blocks,
    recall_words,
)
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading
from nanomem_tui.widgets.plots import bars, sparkline
from nanomem_tui.widgets.signs import ASCII, UNICODE
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.core.paths import Paths

_Stamp = tuple[int, int] | None

PLOT_WIDTH = 44  # cells
MONTHS = 12
SAFE = (
    "Every change is in the database. A checkpoint saves how often a memory was used, and writes the agent's own "
    "files; ^s makes one now, leaving does."
)
Health = Literal["good", "note", "warn", "bad", ""]


@dataclass(frozen=True, slots=True)
class Part:
    """One line of the screen: a part of the workspace or a finding, and all that is known of it."""

    name: str
    value: str
    health: Health = ""
    blocks: tuple[Block, ...] = ()


class StatusScreen(WorkspaceScreen[Part]):
    """The health of the workspace."""

    SCREEN = "status"
    HELP = "The health of every part. ! is an error, ? wants attention. ^s saves now, D looks at every file and table."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"health": "text"}
    TELLS_GONE = False  # a line that goes was said of a part: nobody deleted it

    def __init__(self) -> None:
        super().__init__()
        self._findings: tuple[tuple[Problem, _Stamp], ...] = ()
        self._examined = False

    def columns(self) -> Sequence[Column[Part]]:
        """What, and how it is."""
        return (
            Column("name", "Part", lambda part: part.name, min_width=20),
            Column("value", "State", lambda part: part.value, min_width=24, flex=2),
        )

    def row_id(self, row: Part) -> str:
        """Its name; findings have their text too, for one file can have many."""
        return row.name if row.health in {"", "good"} else f"{row.name} {row.value}"

    def search_text(self, row: Part) -> str:
        """What is said of it."""
        return f"{row.name} {row.value}"

    def field(self, row: Part, name: str) -> Any:
        """Only its health."""
        return row.health or "good"

    def sign(self, row: Part) -> str:
        """Trouble, in one character."""
        return {"bad": "!", "warn": "?"}.get(row.health, "")

    def detail(self, row: Part) -> Document:
        """All that is known of the part."""
        return Document((Body(f"{row.name}: {row.value}"), *row.blocks))

    def load(self) -> Iterable[Sequence[Part]]:
        """Every part, then what is wrong."""
        status = self.ws.status()
        signs = ASCII if getattr(self.app, "ascii_only", False) else UNICODE
        problems = [Problem(**problem) for problem in status["problems"]]
        parts = [
            _workspace(status),
            _agent(status),
            Part("Items", _count(status["items"]), blocks=tuple(self._item_plots(status["items"], signs))),
            Part("Lessons", _count(status["lessons"]), blocks=tuple(_by(status["lessons"], signs))),
            *_inbox(status["inbox"]),
            *_backfill(status["backfill"]),
            *self._turns(signs),
            *_files(status),
            *_records(status, signs),
            self._schedule(),
            self._saving(status),
            *_database(status),
            *_foreign(status),
        ]
        self._findings = tuple(one for one in self._findings if one[1] == _stamp(self.ws.paths, one[0]))
        found = list(dict.fromkeys([*problems, *(problem for problem, _ in self._findings)]))
        wanted = sum(problem.severity != "note" for problem in found)
        if not wanted:
            said = "none, says the doctor" if self._examined else "none seen; D looks everywhere"
            parts.append(Part("Problems", said, "good"))
        self.console.state = self.console.state._replace(problems=wanted)
        yield [*parts, *map(_problem, found)]

    def _turns(self, signs: Any) -> Iterable[Part]:
        """What turns were given, and what they kept."""
        traces = self.ws.traces
        counters = traces.counters.read()
        recalled = recall_blocks(counters, traces.injections.turns(), PLOT_WIDTH, signs)
        yield Part("Recall", recall_words(counters), blocks=tuple(recalled))
        yield Part("Capture", capture_words(counters), blocks=tuple(capture_blocks(counters, PLOT_WIDTH, signs)))
        yield Part("Counters", counter_words(counters), blocks=tuple(counter_blocks(counters, PLOT_WIDTH, signs)))

    def _item_plots(self, counts: Mapping[str, Any], signs: Any) -> Iterable[Block]:
        yield from _by(counts, signs)
        if not counts.get("total"):
            return
        rows = self.ws.items.all()
        months = Counter(row.created_at[:7] for row in rows if row.created_at)
        shown = sorted(months.items())[-MONTHS:]
        yield Heading("Written, by month")
        yield Body(sparkline([number for _, number in shown], PLOT_WIDTH, signs), "accent", keep=True)
        yield Body("\n".join(bars(shown, PLOT_WIDTH, signs)), keep=True)
        yield Heading("Recalled")
        never = sum(1 for row in rows if not row.hits)
        yield Body(
            "\n".join(bars([("never", never), ("once or more", len(rows) - never)], PLOT_WIDTH, signs)), keep=True
        )

    def _schedule(self) -> Part:
        """Whether Dreams run by themselves, and when the next one does."""
        from nanomem_tui.dreams.schedule import Schedule

        try:
            found = Schedule(self.ws).status()
        except NanomemError as error:  # the rest of the screen stays usable
            return Part("Dream schedule", error.what, "warn")
        found["passed"] = ", ".join(map(str, found["passed"]))
        if not found["on"]:
            return Part("Dream schedule", f"off: {found['why']}", blocks=_fields(found))
        failed = f"failed {counted(found['failures'], 'time')}: {found['error']}; " if found["failures"] else ""
        often = f"cron {found['cron']}" if found["cron"] else f"every {found['every_h']:g} h"
        said = f"{failed}{often}, {_due(found['next_at'])}"
        return Part("Dream schedule", said, "warn" if failed else "", _fields(found))

    def _saving(self, status: Mapping[str, Any]) -> Part:
        """In the words of the status bar, and as true at the same moment."""
        store = self.ws.store
        return _saving(status, self.console.state.degraded, waiting_words(store.dirty, store.only_exports_wait))

    def do_next_list(self) -> None:
        """What the memory looks like over time."""
        self.console.go("pictures")

    async def do_mend(self) -> None:
        """Put right what the doctor can, after a look at it and a backup."""
        from nanomem_tui.screens.mending import ask_to_mend

        await ask_to_mend(self)

    async def do_backup(self) -> None:
        """Everything in one file."""
        from nanomem_tui.screens.mending import back_up

        await back_up(self)

    async def do_doctor(self) -> None:
        """Look at every file and table."""
        say(self, "The doctor looks at every file and table …")
        self._findings = await self.console.in_thread(
            lambda ws: tuple((problem, _stamp(ws.paths, problem)) for problem in ws.doctor())
        )
        self._examined = True
        count = len(self._findings)
        say(self, f"The doctor found {counted(count, 'thing') if count else 'nothing'}")
        self.reload()


def _stamp(paths: Paths, problem: Problem) -> _Stamp:
    """When the file that a finding is about was written, and its size: what was said of another one is out of date.

    None for what is no file.
    """
    for base in filter(None, (paths.workspace, paths.home)):
        try:
            found = (base / problem.where).stat() if problem.where else None
        except (OSError, ValueError):
            continue
        if found is not None and S_ISREG(found.st_mode):
            return found.st_mtime_ns, found.st_size
    return None


def _count(counts: Mapping[str, Any]) -> str:
    if counts.get("total") is None:
        return "cannot be read"
    foreign = f", {counts['foreign']:,} more of another system" if counts.get("foreign") else ""
    return f"{counts['total']:,}, {counts['enabled']:,} enabled{foreign}"


def _inbox(waiting: int | None) -> Iterable[Part]:
    if waiting:
        how = Body("l on the Items screen shows each with its reason, to accept or reject it.", "dim")
        yield Part("Inbox", f"{counted(waiting, 'thing')} held back, for you to judge", "warn", (how,))


def _backfill(state: Mapping[str, Any] | None) -> Iterable[Part]:
    """What became of the Markdown from before there was a store; nothing where there is none."""
    if state is None:
        yield Part("Backfill", "cannot be read")
    elif state["done"]:
        brought = counted(state["items"], "item") if state["items"] else "nothing to take in"
        ago = f", {age_of(state['at'])} ago" if state["at"] else ""
        how = Body("What was written into memory/*.md before; the file and line of each item stand on Items.", "dim")
        yield Part("Backfill", f"done{ago}: {brought}{', taken back' * state['undone']}",
                   blocks=(how, Field("done", when(state["at"]))))  # fmt: skip
    elif state["files"]:
        how = Body("The agent's first turn takes in what they say, once. “: take in notes” on Items does now.", "dim")
        yield Part("Backfill", f"not yet: {counted(state['files'], 'Markdown file')}", blocks=(how,))


def _by(counts: Mapping[str, Any], signs: Any) -> Iterable[Block]:
    for name, values in counts.items():
        if name.startswith("by_") and values:
            ranked = sorted(values.items(), key=lambda pair: -pair[1])[:10]
            yield Heading(f"By {name.removeprefix('by_')}")
            yield Body("\n".join(bars(ranked, PLOT_WIDTH, signs)), keep=True)


def _workspace(status: Mapping[str, Any]) -> Part:
    places = (("workspace", status["workspace"]), ("home", status["home"]), ("our data", status["data"]))
    return Part("Agent home", status["release"], blocks=tuple(Field(name, str(place or "-")) for name, place in places))


def _agent(status: Mapping[str, Any]) -> Part:
    agent = status["agent"]
    if not agent["running"]:
        return Part("Agent", "not running")
    return Part("Agent", f"{agent['what']} runs (pid {agent['pid']})", blocks=(
        Body("Its sessions can't be compacted while it runs; everything else can be changed beside it.", "dim"),
    ))  # fmt: skip


def _files(status: Mapping[str, Any]) -> Iterable[Part]:
    sessions, notes = status["sessions"], status["notes"]
    yield Part("Sessions", "cannot be read" if sessions is None else f"{sessions:,}")
    history, dream, wal = status["history"], status["dream"], status["wal"]
    if history["entries"] is None:
        yield Part("History", "cannot be read")
    else:
        waiting = f", {history['unprocessed']:,} not yet dreamt on" if history.get("unprocessed") else ""
        yield Part("History", f"{counted(history['entries'], 'entry', 'entries')}{waiting}", blocks=_fields(history))
    if dream["runs"] is None:
        yield Part("Dream", "cannot be read")
    else:
        runs, ahead = counted(dream["runs"], "run"), dream["ahead"]
        if ahead:
            said = f"{runs}, cursor {ahead['cursor']:,}, {ahead['by']:,} ahead of the last entry"
            yield Part("Dream", said, "bad", _fields({**dream, "ahead": ahead["what"]}))
        else:
            yield Part("Dream", f"{runs}, cursor {dream['cursor']:,}", blocks=_fields(dream))
    if wal["files"] is None:
        yield Part("WAL", "cannot be read")
    else:
        unfinished = f", {wal['open']:,} unfinished" if wal["open"] else ""
        text = f"{counted(wal['turns'], 'turn')} in {counted(wal['files'], 'file')}{unfinished}"
        yield Part("WAL", text, "warn" if wal["open"] else "", _fields(wal))
    yield Part("Notes", "cannot be read" if notes is None else f"{notes:,}")


def _records(status: Mapping[str, Any], signs: Any) -> Iterable[Part]:
    """Journal, reflections and token use, where there are any."""
    for name, one, many in (("journal", "entry", "entries"), ("reflections", "reflection", "reflections")):
        if status[name]:
            yield Part(name.capitalize(), counted(status[name], one, many))
    usage = status["usage"] or {}
    if usage.get("requests"):
        said = f"{usage['total_tokens']:,} tokens in {counted(usage['requests'], 'request')}"
        yield Part("Token use", said, blocks=tuple(_by(usage, signs)))


def _saving(status: Mapping[str, Any], degraded: str, waiting: str) -> Part:
    """`waiting` in the words of the status bar."""
    saved = status["checkpoint"]
    cost = f"{saved['last_ms']:,.1f} ms" if saved["last_ms"] is not None else "-"
    last = (Field("last", when(saved["last_at"])), Field("took", cost))
    if degraded:
        stays = "What is shown stays readable; what you type is kept until it can be saved."
        return Part("Saving", degraded, "bad", (Body(stays),))
    if waiting:
        return Part("Saving", waiting, "", (Body(SAFE), *last))
    if not saved["last_at"]:
        return Part("Saving", "nothing was ever changed here", "good", last)
    return Part("Saving", f"all saved, last {age_of(saved['last_at'])} ago", "good", last)


def _database(status: Mapping[str, Any]) -> Iterable[Part]:
    store = status["store"] or {}
    database = store.get("database")
    words = f"schema {store['schema']}, {counted(store['operations'], 'change')} recorded" if database else "none yet"
    yield Part("Database", words, blocks=_fields(store) + (
        () if database else (Body("It is made at the first change; until then nothing is written here.", "dim"),)
    ))  # fmt: skip


def _foreign(status: Mapping[str, Any]) -> Iterable[Part]:
    for found in status["foreign"] or ():
        rows = f"{counted(found['active'], 'row')} of another system" if found["active"] is not None else found["why"]
        yield Part(found["path"], f"{rows}, read-only", blocks=_fields(found))


def _due(next_at: str) -> str:
    """When the next Dream is due: the time of a day that is today, else with its date."""
    moment, now = clock.parse(next_at), clock.now()
    if moment is None or moment <= now:
        return "one is due"
    local = moment.astimezone()
    today = local.date() == now.astimezone().date()
    return f"the next at {local:%H:%M}" if today else f"the next on {local:%Y-%m-%d} at {local:%H:%M}"


def _fields(values: Mapping[str, Any]) -> tuple[Block, ...]:
    return tuple(Field(name.replace("_", " "), str(value)) for name, value in values.items() if value not in (None, ""))


def _problem(problem: Problem) -> Part:
    where = problem.where if problem.line is None else f"{problem.where}:{problem.line}"
    blocks = [Field("where", where), Field("what", problem.what)]
    if problem.fix:
        blocks.append(Field("what to do", problem.fix, "accent"))
    health: Health = "bad" if problem.severity == "error" else "note" if problem.severity == "note" else "warn"
    return Part(where or "problem", problem.what, health, tuple(blocks))
