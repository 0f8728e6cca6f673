"""The Status screen: the health of every part, unsaved changes, findings of the doctor; and the Pictures screen with
charts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.widget import Widget

from nanomem_tui.background import waiting_words
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, Problem, Refused
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.turns.traces import COUNTERS
from nanomem_tui.review.charts import Picture, pictures
from nanomem_tui.screens.base.editable_rows import format_age, format_time
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.plots import bars, chart_line, draw_chart, sparkline
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Line, Preview, Spans
from nanomem_tui.widgets.theme import ASCII, UNICODE, Glyphs, glyphs

if TYPE_CHECKING:
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.memory.repairs import Repair
    from nanomem_tui.memory.turns.traces import Injected
    from nanomem_tui.store.moving.backup import Made
    from nanomem_tui.workspace import Workspace


# Recall, capture and every counter on the Status screen: what turns were given and kept, in numbers and over time.

DAYS = 60  # with turns, the last ones, that are plotted
CAPTURED = (
    ("saved", "memory_capture_saved"),
    ("known already", "memory_capture_deduped"),
    ("not sure enough", "memory_capture_dropped_low_conf"),
    ("kept back as unsafe", "memory_capture_dropped_safety"),
)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Recall": ("memory_recall_hit", "memory_recall_miss", "memory_prompt_chars"),
    "Capture": ("memory_capture_saved", "memory_capture_deduped", "memory_capture_dropped_low_conf",
                "memory_capture_dropped_safety"),
    "Turns": ("turns_begun", "turns_ended", "turns_declined", "sessions_compacted"),
    "Lessons": ("lessons_shown", "lessons_learned"),
    "Ledger": ("ledger_operations", "ledger_durable"),
    "Checkpoints": ("checkpoints", "checkpoint_operations", "checkpoint_rows", "checkpoint_ms"),
}  # fmt: skip
"""Every counter, in the order in which they are told."""
BARRED: Mapping[str, str] = {
    "turns_begun": "begun", "turns_ended": "ended", "turns_declined": "declined", "lessons_shown": "shown",
    "lessons_learned": "learned", "ledger_operations": "operations", "ledger_durable": "durable",
    "checkpoint_operations": "operations", "checkpoint_rows": "rows",
}  # fmt: skip
"""Those that are drawn beside others of their group, in one word: the same unit, so that lengths compare."""


def recall_words(counters: Mapping[str, int]) -> str:
    """How often a turn was given something, in one line."""
    hit, miss = counters["memory_recall_hit"], counters["memory_recall_miss"]
    if not hit + miss:
        return "no turn yet"
    return f"{hit:,} of {counted(hit + miss, 'turn')} given something ({hit / (hit + miss):.0%})"


def capture_words(counters: Mapping[str, int]) -> str:
    """What became of what turns said, in one line."""
    numbers = {name: counters[key] for name, key in CAPTURED}
    if not any(numbers.values()):
        return "nothing yet"
    saved = numbers.pop("saved")
    return f"{saved:,} saved, {sum(numbers.values()):,} not"


def recall_blocks(counters: Mapping[str, int], turns: Sequence[Injected], width: int, signs: Glyphs) -> list[Block]:
    """Hits and misses, and by day: turns, how many of them were given something, characters of a block."""
    hit, miss = counters["memory_recall_hit"], counters["memory_recall_miss"]
    if not hit + miss and not turns:
        return [Body("It begins with the first turn that an agent takes with our memory.", "dim")]
    rows = [("given something", hit), ("given nothing", miss)]
    blocks: list[Block] = [Heading("Turns"), Body("\n".join(bars(rows, width, signs)), keep=True)]
    if hit + miss:
        chars = counters["memory_prompt_chars"] / (hit + miss)
        blocks.append(Field("each turn", f"{chars:,.0f} characters before the model"))
    by_day = _by_day(turns)
    if len(by_day) > 1:
        of_day = list(by_day.values())
        share = [sum(bool(turn.items) for turn in one) / len(one) for one in of_day]
        blocks.append(Heading(f"By day, {min(by_day)} to {max(by_day)}"))
        blocks += _line("turns", [len(one) for one in of_day], width, signs)
        blocks += _line("given something", [100 * number for number in share], width, signs, "%")
        blocks += _line("characters", [sum(t.chars for t in one) / len(one) for one in of_day], width, signs)
        blocks += _line("saved", [sum(len(t.saved) for t in one) for one in of_day], width, signs)
    return blocks


def capture_blocks(counters: Mapping[str, int], width: int, signs: Glyphs) -> list[Block]:
    """What became of what turns said."""
    rows = [(name, counters[key]) for name, key in CAPTURED]
    if not any(number for _, number in rows):
        return [Body("No turn said anything that was worth a thought yet.", "dim")]
    return [Body("\n".join(bars(rows, width, signs)), keep=True)]


def counter_words(counters: Mapping[str, int]) -> str:
    """How much was counted, in one line."""
    named = (("turns_begun", "turn"), ("ledger_operations", "operation"), ("checkpoints", "checkpoint"))
    parts = [counted(counters[name], noun) for name, noun in named if counters[name]]
    return ", ".join(parts) or "nothing counted yet"


def counter_blocks(counters: Mapping[str, int], width: int, signs: Glyphs) -> list[Block]:
    """Every counter by its name, with a bar beside those of its kind."""
    blocks: list[Block] = [Body("Since the first turn here, kept across restarts; nanomem memory status --openmetrics "
                                "prints them for a monitoring system.", "dim")]  # fmt: skip
    for group, names in GROUPS.items():
        blocks.append(Heading(group))
        drawn = [(BARRED[name], counters[name]) for name in names if name in BARRED]
        if any(number for _, number in drawn):
            blocks.append(Body("\n".join(bars(drawn, width, signs)), "accent", keep=True))
        if group == "Checkpoints" and counters["checkpoints"]:
            each = counters["checkpoint_ms"] / counters["checkpoints"]
            rows = counters["checkpoint_rows"] / counters["checkpoints"]
            blocks.append(Field("each one", f"{each:,.1f} ms for {rows:,.1f} rows"))
        blocks += [Spans(((f"{counters[name]:>9,}  ", ""), (name, "key"), (f"  {COUNTERS[name]}", "dim")), 11)
                   for name in names]  # fmt: skip
    return blocks


def _by_day(turns: Iterable[Injected]) -> dict[date, list[Injected]]:
    """The turns by local day, the last days that had some, oldest first."""
    days: dict[date, list[Injected]] = defaultdict(list)
    for turn in turns:
        moment = clock.parse(turn.at)
        if moment is not None:
            days[moment.astimezone().date()].append(turn)
    return dict(sorted(days.items())[-DAYS:])


def _line(name: str, values: Sequence[float], width: int, signs: Glyphs, unit: str = "") -> list[Block]:
    """A line of steps with what it shows: from the least to the most."""
    if not any(values):
        return []
    told = f"{min(values):,.0f}{unit} to {max(values):,.0f}{unit}, last {values[-1]:,.0f}{unit}"
    return [Field(name, told), Body(sparkline(values, width, signs), "accent", keep=True)]


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
        from nanomem_tui.dreams.schedule import DreamSchedule

        try:
            found = DreamSchedule(self.ws).status()
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

    async def do_mend(self) -> None:
        """Put right what the doctor can, after a look at it and a backup."""
        await ask_to_repair(self)

    async def do_backup(self) -> None:
        """Everything in one file."""
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
        ago = f", {format_age(state['at'])} ago" if state["at"] else ""
        how = Body("What was written into memory/*.md before; the file and line of each item stand on Items.", "dim")
        yield Part("Backfill", f"done{ago}: {brought}{', taken back' * state['undone']}",
                   blocks=(how, Field("done", format_time(state["at"]))))  # fmt: skip
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
    last = (Field("last", format_time(saved["last_at"])), Field("took", cost))
    if degraded:
        stays = "What is shown stays readable; what you type is kept until it can be saved."
        return Part("Saving", degraded, "bad", (Body(stays),))
    if waiting:
        return Part("Saving", waiting, "", (Body(SAFE), *last))
    if not saved["last_at"]:
        return Part("Saving", "nothing was ever changed here", "good", last)
    return Part("Saving", f"all saved, last {format_age(saved['last_at'])} ago", "good", last)


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


# -- What the doctor can put right, shown first and done after a backup; and a backup for its own sake ----------------

Done = tuple["Made", list[tuple["Repair", str]]]


async def ask_to_repair(screen: StatusScreen) -> None:
    """Show what would be put right and what has to wait, and do it after a yes. Raises Refused where nothing can be."""
    from nanomem_tui.memory import repairs

    planned = await screen.console.in_thread(repairs.find_repairs)
    can, waits = [one for one in planned if not one.held], [one for one in planned if one.held]
    if not can:
        why = waits[0].held if waits else "nothing is broken that can be put right by itself"
        raise Refused("nothing can be put right now", why, "D says what is wrong")

    async def repair(_yes: bool) -> None:
        say(screen, "A backup is made, then it is put right …")
        made, done = await screen.console.in_thread(_repair)
        failed = [f"{one.where}: {why}" for one, why in done if why]
        if failed:
            say(screen, one_line("; ".join(failed), 150), "warning", f"{counted(len(failed), 'thing')} not put right")
        else:
            way = "; ".join(way.replace("`", "") for way in repairs.describe_undo(done, made.path.name))
            say(screen, way, title=f"{counted(len(done), 'thing')} put right")
        await screen.do_doctor()

    blocks = [block for one in can for block in _blocks(one)]
    if waits:
        blocks.append(Body(f"{counted(len(waits), 'thing')} waits: {waits[0].held}", "warn"))
    reason = "A backup is made first; what cannot be read goes to the quarantine, and nothing is deleted."
    title = f"Put right {counted(len(can), 'thing')}"
    screen.confirm(title, blocks, repair, reason=reason, opened_by=screen.key_of("mend"))


async def back_up(screen: StatusScreen) -> None:
    """Make a backup beside the home, and say where."""
    say(screen, "A backup is made …")
    made = await screen.console.in_thread(_backup)
    where = str(made.path)
    say(screen, where, title=f"{counted(made.files, 'file')} backed up")


def _repair(ws: Workspace) -> Done:
    from nanomem_tui.memory import repairs

    ws.flush()
    return repairs.back_up_and_repair(ws, repairs.find_repairs(ws))


def _backup(ws: Workspace) -> Made:
    from nanomem_tui.store.moving import backup

    ws.flush()
    return backup.make_backup(ws.paths, ws.layout)


def _blocks(one: Repair) -> list[Block]:
    return [
        Spans(((f"{one.where}: ", "accent"), (one_line(one.what, 200), "")), 2),
        Body(one_line(one.how, 200), "dim", indent=2),
    ]


# -- The Pictures screen, behind Status: what the memory looks like over time and by kind -----------------------------

SMALL = 14  # cells
MOST_WIDE = 120  # cells of a plot
HEIGHT = 20  # lines at most


class PicturePane(Preview):
    """One picture as wide and as high as the pane."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.picture: Picture | None = None

    def show_picture(self, picture: Picture | None) -> None:
        """Show it; nothing is painted when it is what is shown already."""
        if picture != self.picture:
            self.picture = picture
            self.lay_out_again()

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The picture, which a narrow pane makes narrow."""
        if self.picture is None:
            return []
        height = min(max(self.size.height, 1), HEIGHT)
        return draw_chart(self.picture, min(width, MOST_WIDE), height, glyphs(self))


class PicturesScreen(WorkspaceScreen[Picture]):
    """The pictures of one memory."""

    SCREEN = "pictures"
    FLASHES = False
    HELP = "What the memory looks like over time and by kind. Each picture says in a sentence what it comes to."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"name": "text"}

    def columns(self) -> Sequence[Column[Picture]]:
        """What it shows, small, and what it comes to."""
        return (
            Column("title", "Picture", lambda row: row.title, width=18),
            Column("small", "", lambda row: chart_line(row, SMALL, glyphs(self)), width=SMALL, priority=1,
                   tone="accent", written=lambda row: ""),
            Column("said", "What it comes to", lambda row: row.said, min_width=30),
        )  # fmt: skip

    def row_id(self, row: Picture) -> str:
        """Its name."""
        return row.name

    def load(self) -> Iterable[Sequence[Picture]]:
        """One after the other, those that are quick first."""
        for picture in pictures(self.ws):
            yield [picture]

    def search_text(self, row: Picture) -> str:
        """What is said of it."""
        return f"{row.title}\n{row.said}"

    def field(self, row: Picture, name: str) -> Any:
        """Only its name."""
        return row.name

    def dimmed(self, row: Picture) -> bool:
        """There is nothing to draw."""
        return not row.labels

    def detail(self, row: Picture) -> Picture:
        """The picture itself."""
        return row

    def make_detail(self) -> Widget:
        """A plot."""
        return PicturePane(id="detail")

    def show_detail(self, detail: Any) -> None:
        """From its top."""
        if isinstance(detail, Picture):
            self.query_one(PicturePane).show_picture(detail)
        elif isinstance(detail, Document):
            self.query_one(PicturePane).show_picture(None)
