"""Time travel: operations, checkpoints and Dreams in time, the difference between any two, and how to restore.

Owns the two ends that a person compares; the past is read by `review.moments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, NotFound
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import Kind
from nanomem_tui.memory.scopes import scope_of_item
from nanomem_tui.review.moments import Difference, value_of, words_of
from nanomem_tui.screens.base.diffs import RevertPart, revert
from nanomem_tui.screens.base.editable_rows import SAID, format_change
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.screens.recall.answer import PickScreen
from nanomem_tui.store.values import Item
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.diff_view import DiffLine, Hunk, Sign, spans_of
from nanomem_tui.widgets.text_view import Block, Body, Document, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.agents.git import FileDiff
    from nanomem_tui.core import merge
    from nanomem_tui.review.moments import Moment, PastChange


# What differs between two moments as blocks of a detail or a dialog: a sign and the words of each row, the fields
# that changed, the lines of files. Pure.

SHOWN = 200  # rows
LINES = 400  # of a file
SILENT = frozenset({"updated_at", "key", "revision"})
TONES = {"+": "added", "-": "removed"}
SIGNS = {"added": ("+ ", "added"), "removed": ("- ", "removed"), "changed": ("~ ", "accent")}


def difference_blocks(found: Sequence[Difference], *, back: bool = False) -> list[Block]:
    """What became of each row; `back`: what bringing the past back makes of it."""
    blocks: list[Block] = []
    for one in found[:SHOWN]:
        old, new = (one.now, one.then) if back else (one.then, one.now)
        fate = "added" if old is None else "removed" if new is None else "changed"
        row = new or old
        assert row is not None
        kind = str(getattr(row, "kind", "") or one.layer)
        blocks.append(Spans((SIGNS[fate], (f"{kind} ", "dim"), (one_line(words_of(row), 300), "")), 2))
        if old is None or new is None:
            continue
        for name in one.fields:
            label, before, after = format_change(name, value_of(old, name), value_of(new, name))
            if name not in SILENT and before != after:
                lines = (DiffLine("-", one_line(before, 300)), DiffLine("+", one_line(after, 300)))
                for line, spans in spans_of(Hunk(lines)):
                    tone = TONES[line.sign]
                    blocks.append(Spans(((f"  {line.sign} ", tone), (label, "dim"), *spans), 4))
    if len(found) > SHOWN:
        blocks.append(Body(f"… and {len(found) - SHOWN:,} more", "dim"))
    return blocks


def file_blocks(files: Sequence[FileDiff]) -> list[Block]:
    """The lines that came and went, file by file."""
    blocks: list[Block] = []
    for one in files:
        blocks.append(Heading(one.path))
        lines = [pair for hunk in one.hunks for pair in spans_of(_changed(hunk))]
        blocks += [Spans(((f"{line.sign} ", TONES[line.sign]), *spans), 2) for line, spans in lines[:LINES]]
        if len(lines) > LINES:
            blocks.append(Body(f"… and {len(lines) - LINES:,} more lines", "dim"))
    return blocks


def _changed(hunk: merge.Hunk) -> Hunk:
    """The lines of a hunk that came or went."""
    signs: dict[str, Sign] = {"insert": "+", "delete": "-"}
    return Hunk(tuple(DiffLine(signs[x.tag], one_line(x.text, 1000)) for x in hunk.lines if x.tag in signs))


FIRST, MOST = 100, 10_000  # marks


class MomentsScreen(WorkspaceScreen["PastChange"]):
    """All moments, newest first."""

    SCREEN = "moments"
    FLASHES = False
    EMPTY = "No moments yet. Every change, checkpoint and Dream will be one."
    HELP = (
        "The memory as it was right after each change, checkpoint and Dream, newest first. The detail shows what came "
        "(+), went (-) and changed (~) from the moment at the cursor to the other end, which is now until { moves it "
        "back; > marks it. What was taken back since is dim and has a - before it. t brings back what was there at the "
        "cursor: one row, a kind, a scope, a file or all of it. esc goes back."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "id": "text", "what": "text", "kind": "text", "age": "age", "undone": "switch",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._other: PastChange | None = None  # None: now
        self._without_versions = False

    # The list

    def columns(self) -> Sequence[Column[PastChange]]:
        """When, what kind of moment, what was done."""
        return (
            Column("when", "When", _when, width=16, priority=3, tone="dim"),
            aged("Age", lambda row: row.at, priority=2, align="right", tone="dim"),
            Column("kind", "Moment", lambda row: row.kind, width=10, sort=lambda row: row.kind),
            Column("what", "After", lambda row: row.label, min_width=34),
        )  # fmt: skip

    def row_id(self, row: PastChange) -> str:
        """The name that stays."""
        return row.id

    def load(self) -> Iterable[Sequence[PastChange]]:
        """The newest, then the rest of them."""
        first = self.ws.moments.marks(FIRST)
        self._without_versions = self.ws.moments.unread is not None
        yield first
        if len(first) == FIRST:
            yield self.ws.moments.marks(MOST, FIRST)

    def search_text(self, row: PastChange) -> str:
        """Words are searched in what was done."""
        return f"{row.label} {row.kind}"

    def field(self, row: PastChange, name: str) -> Any:
        """The fields of the filter language."""
        return {"id": row.name, "what": row.label, "kind": row.kind, "age": row.at, "undone": row.undone}[name]

    def dimmed(self, row: PastChange) -> bool:
        """What was taken back."""
        return row.undone

    def sign(self, row: PastChange) -> str:
        """The other end, or what was taken back."""
        if self._other is not None and self.row_id(row) == self.row_id(self._other):
            return ">"
        return "-" if row.undone else ""

    def also_said(self) -> list[str]:
        """The other end; that the versions of the files cannot be read, about which each detail says more."""
        end = "now" if self._other is None else _when(self._other)
        damaged = ["versions unreadable"] if self._without_versions else []
        return [f"to {end}", *damaged, *super().also_said()]

    def copy_text(self) -> str:
        """The names, as `nanomem moments` takes them."""
        return "\n".join(row.id for row in self.targets())

    # The detail

    def detail(self, row: PastChange) -> Document:
        """What differs from then to the other end."""
        moments, other = self.ws.moments, self._other
        ends = sorted((one for one in (row, other) if one is not None), key=_time)
        first, second = moments.at_change(ends[0]), moments.at_change(ends[1]) if len(ends) > 1 else None
        to = "now" if second is None else second.name
        blocks: list[Block] = [
            Spans((("From ", "dim"), (one_line(first.name, 200), ""))),
            Spans((("to ", "dim"), (one_line(to, 200), ""))),
        ]
        files, unread = self._files(first, second)
        blocks += unread
        try:
            found = moments.diff(first, second)
        except NotFound as error:
            return Document(
                (*blocks, Body(f"{error.what[:1].upper()}{error.what[1:]}: {error.fix}.", "warn"), *file_blocks(files))
            )
        if not found and not files:
            return Document((*blocks, Heading("Nothing differs")))
        total = [Heading(f"{counted(len(found), 'row')} {'differs' if len(found) == 1 else 'differ'}")] if found else []
        return Document((*blocks, *total, *difference_blocks(found), *file_blocks(files)))

    def _files(self, first: Moment, second: Moment | None) -> tuple[list[FileDiff], list[Block]]:
        """What differs of the files, or why that is not known."""
        try:
            return self.ws.moments.files(first, second), []
        except NanomemError as error:
            return [], [Body(f"Without the versions of the files. {error.line()}", "bad")]

    # Actions

    def do_earlier(self) -> None:
        """One moment back, whatever the order of the list."""
        self._step(1)

    def do_later(self) -> None:
        """One moment on."""
        self._step(-1)

    def do_other_earlier(self) -> None:
        """The other end one moment back."""
        self._move_other(1)

    def do_other_later(self) -> None:
        """The other end one moment on, at last to now."""
        self._move_other(-1)

    def _step(self, by: int) -> None:
        rows = sorted(self.table.rows, key=_time, reverse=True)
        to = self._index_of(rows, self.table.cursor_row) + by
        if 0 <= to < len(rows):
            self.table.move_to_id(self.row_id(rows[to]))

    def _move_other(self, by: int) -> None:
        rows = sorted(self.listing.rows, key=_time, reverse=True)
        to = min(self._index_of(rows, self._other) + by, len(rows) - 1)
        self._other = rows[to] if to >= 0 else None
        self.table.refresh()
        self.say_totals()
        self.refresh_detail()

    def _index_of(self, rows: Sequence[PastChange], row: PastChange | None) -> int:
        """The place of a moment among those sorted by time; -1 of now."""
        wanted = self.row_id(row) if row is not None else None
        return next((place for place, one in enumerate(rows) if self.row_id(one) == wanted), -1)

    def do_dream_restore(self) -> None:
        """Bring back what was there at the cursor."""
        row = self.table.cursor_row
        if row is not None:
            ask_what(self, row)

    def leave(self) -> bool:
        """Back to the screen before."""
        self.console.go_back()
        return True


def _time(row: PastChange) -> str:
    moment = clock.parse(row.at)
    return clock.iso(moment) if moment else row.at


def _when(row: PastChange) -> str:
    """To the second where it was today: several are of one minute."""
    moment = clock.parse(row.at)
    if moment is None:
        return row.at
    today = moment.astimezone().date() == clock.now().astimezone().date()
    return f"{moment.astimezone():{'today %H:%M:%S' if today else '%Y-%m-%d %H:%M'}}"


# Bringing a moment back: a dialog with what can be brought back by itself, a look at what that changes, one
# operation.

Wanted = Callable[["Difference"], bool]


class Way(NamedTuple):
    """Something that can be brought back: its words, how much that is, and which rows are meant; or a file of the
    version with the SHA `commit`."""

    id: str
    why: str
    wanted: Wanted
    file: str = ""
    commit: str = ""


def ask_what(screen: WorkspaceScreen[Any], mark: PastChange) -> None:
    """Ask what of the moment is to come back, show what that changes, and do it after a yes."""

    def load() -> list[Way]:
        moments = screen.ws.moments
        return ways(screen, moments.at_change(mark))

    async def chosen(way: Way | None) -> None:
        if way is None:
            return
        if way.file:
            title = f"Bring back {way.file} as it was {mark.at[:16].replace('T', ' ')}"
            parts = [(way.file, RevertPart(file=way.file, as_of=True))]
            revert(screen, way.commit, title, parts, "Bring back")
            return
        await _confirm(screen, mark, way)

    columns: list[Column[Way]] = [
        Column("way", "Bring back", lambda way: way.id, min_width=24),
        Column("why", "", lambda way: way.why, width=20, priority=1, tone="dim"),
    ]
    title = f"Bring back what was there after: {one_line(mark.label, 60)}"
    screen.ask(PickScreen(title, columns, lambda way: way.id, lambda way: way.id, load), chosen)


def ways(screen: WorkspaceScreen[Any], moment: Moment) -> list[Way]:
    """All of it, each layer, kind and scope with how many rows these are, each file, then row by row. Raises
    NothingToDo when nothing differs."""
    from nanomem_tui.core.errors import NothingToDo

    moments = screen.ws.moments
    files = moments.files(moment)
    try:
        found = moments.diff(moment)
    except NotFound:
        if not files:
            raise
        found = []
    if not found and not files:
        raise NothingToDo("nothing differs from then", moment.name)
    rows = [Way("all of it", counted(len(found), "row"), lambda one: True)] if found else []
    for title, names in (("layer", _layers), ("kind", _kinds), ("scope", _scopes)):
        counts: dict[str, int] = {}
        for one in found:
            for name in names(one):
                counts[name] = counts.get(name, 0) + 1
        rows += [
            Way(f"{title} {name}", counted(count, "row"), _named(names, name)) for name, count in sorted(counts.items())
        ]
    commit = moments.version(moment) if files else ""
    rows += [Way(f"file {one.path}", "as it was", lambda one: False, one.path, commit) for one in files if commit]
    rows += [Way(f"{_sign(one)} {one_line(_words(one), 200)} ({one.key})", one.layer, _the(one.key)) for one in found]
    return rows


async def _confirm(screen: WorkspaceScreen[Any], mark: PastChange, way: Way) -> None:
    plan = await screen.console.in_thread(lambda ws: ws.moments.plan(ws.moments.at_change(mark), way.wanted))

    async def do(_yes: bool) -> None:
        for done in await screen.change(lambda ws: ws.moments.restore(plan)):
            say(screen, f"{one_line(done.label, SAID)} (u undoes it)")

    title = f"{plan.label[:1].upper()}{plan.label[1:]}"
    screen.confirm(
        one_line(title, 70),
        difference_blocks(plan.differences, back=True),
        do,
        opened_by=screen.key_of("dream_restore"),
    )


def _named(names: Callable[[Difference], set[str]], name: str) -> Wanted:
    return lambda one: name in names(one)


def _the(key: str) -> Wanted:
    return lambda one: one.key == key


def _layers(one: Difference) -> set[str]:
    return {one.layer}


def _kinds(one: Difference) -> set[str]:
    return {str(getattr(row, "kind", "")) for row in (one.then, one.now) if row is not None} - {""}


def _scopes(one: Difference) -> set[str]:
    return {scope_of_item(row).name for row in (one.then, one.now) if isinstance(row, Item)}


def _words(one: Difference) -> str:
    row = one.then or one.now
    return words_of(row) if row is not None else ""


def _sign(one: Difference) -> str:
    return {"added": "-", "removed": "+", "changed": "~"}[one.fate]
