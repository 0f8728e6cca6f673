"""Bookmarks, named filters and macros at work on a screen: what the keys ; ' | # @ do.

Owns the way from a key to what is kept, and back to the screen. Changes of memory are made by the macros' own service.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.actions import SCREENS
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.memory.filters import fold, parse, rank_matches, search
from nanomem_tui.review import macros
from nanomem_tui.review.macros import describe_step
from nanomem_tui.screens.base.jumping import show_place
from nanomem_tui.screens.base.rows import in_pairs
from nanomem_tui.store.files.user import LONGEST_NAME, Bookmark, Kept, Macro, NamedFilter, Step
from nanomem_tui.widgets.bars import say, say_error
from nanomem_tui.widgets.dialogs import PAGE_KEYS, ChoosingDialog
from nanomem_tui.widgets.filter_bar import LineInput
from nanomem_tui.widgets.paged_table import TreeTable
from nanomem_tui.widgets.table import Column, LineTable
from nanomem_tui.widgets.text_view import Block, Body, Spans

if TYPE_CHECKING:
    from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
    from nanomem_tui.workspace import Workspace


# The dialogs over what a person keeps: bookmarks, named filters, macros. Typing narrows, enter chooses, ^x forgets.

Row = TypeVar("Row", bound=NamedTuple)


class KeptDialog(ChoosingDialog[Row], Generic[Row]):
    """A list of kept things. `forget(row)` takes one out; it is asked for twice by the same key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *PAGE_KEYS,
        Binding("ctrl+x", "forget", "forget", show=False, priority=True),
    ]
    EMPTY: ClassVar[str] = "Nothing is kept yet."
    HINT: ClassVar[str] = "type to find"

    def __init__(self, title: str, rows: Sequence[Row], forget: Callable[[Row], None]) -> None:
        super().__init__(title, tall=True)
        self.rows = list(rows)
        self._forget = forget
        self._asked: Row | None = None

    def columns(self) -> list[Column[Row]]:
        """What is told of one."""
        raise NotImplementedError

    def words(self, row: Row) -> str:
        """What typing searches."""
        raise NotImplementedError

    def listed(self, typed: str) -> list[Row]:
        """What is shown for what was typed."""
        texts = [fold(self.words(row)) for row in self.rows]
        return [self.rows[index] for index in rank_matches(texts, search(texts, parse(typed, {})))]

    def can_forget(self, row: Row) -> bool:
        """Whether it is something kept."""
        return True

    def inside(self) -> list[Widget]:
        """The field and the list."""
        table = LineTable(self.columns(), lambda row: "\n".join(map(str, row)))
        table.can_focus = False
        return [LineInput(placeholder=self.HINT), table]

    def keys(self) -> list[tuple[str, str]]:
        """How to choose and to forget."""
        return [
            (" enter", "key"), (" choose ", ""), (" ↑ ↓", "key"), (" move ", ""), (" ^x", "key"), (" forget ", ""),
            (" esc", "key"), (" back", ""),
        ]  # fmt: skip

    def on_mount(self) -> None:
        """Show all."""
        self.table.set_rows(self.listed(""), empty=self.EMPTY)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.table.set_rows(self.listed(event.value), empty=self.EMPTY)
        self.table.move_cursor(0)

    def action_forget(self) -> None:
        """Forget the row at the cursor, when asked twice."""
        row = self.table.cursor_row
        if row is None or not self.can_forget(row):
            return
        if self._asked != row:
            self._asked = row
            self.say_keys([(f" forget {one_line(self.words(row), 40)}? ", "warn"), (" ^x", "key"), (" again does", "")])
            return
        self._asked = None
        try:
            self._forget(row)
        except NanomemError as error:
            self.say_keys([(f" {error.line()}", "bad")])
            return
        self.rows.remove(row)
        self.table.set_rows(self.listed(self.query_one(LineInput).value), empty=self.EMPTY)
        self.say_keys(self.keys())


class BookmarksScreen(KeptDialog[Bookmark]):
    """The bookmarks; the result is the one to go to."""

    EMPTY = "No bookmark yet: ; sets one on the row at the cursor."

    def __init__(self, rows: Sequence[Bookmark], forget: Callable[[Bookmark], None]) -> None:
        super().__init__("Bookmarks", rows, forget)

    def columns(self) -> list[Column[Bookmark]]:
        """Where it is, and its words."""
        return [
            Column("screen", "Screen", lambda row: row.part or SCREENS.get(row.screen, row.screen), width=12,
                   tone="accent"),
            Column("title", "Words", lambda row: row.title or row.row, min_width=24),
        ]  # fmt: skip

    def words(self, row: Bookmark) -> str:
        """All of it."""
        return f"{row.part} {row.screen} {row.title} {row.row}"


class FilterChoice(NamedTuple):
    """A filter to use, or with `save` to keep under that name; `was` is what the name stood for."""

    name: str
    text: str
    save: bool = False
    was: str = ""


class FiltersScreen(KeptDialog[FilterChoice]):
    """The named filters of a screen, and the way to name the one that is typed there."""

    EMPTY = "No filter of this screen has a name. Type a filter (/) first, then | and a name for it."
    HINT = "a name"

    def __init__(
        self, title: str, rows: Sequence[NamedFilter], current: str, forget: Callable[[FilterChoice], None]
    ) -> None:
        super().__init__(title, [FilterChoice(one.name, one.text) for one in rows], forget)
        self._current = current.strip()

    def columns(self) -> list[Column[FilterChoice]]:
        """Its name and what it says."""
        return [
            Column("name", "Name", _name_told, min_width=16, flex=1, tone="accent"),
            Column("text", "Filter", lambda row: row.text, min_width=20, flex=2),
        ]

    def words(self, row: FilterChoice) -> str:
        """Names come first."""
        return f"{row.name} {row.text}"

    def can_forget(self, row: FilterChoice) -> bool:
        """What is not kept yet cannot be forgotten."""
        return not row.save

    def listed(self, typed: str) -> list[FilterChoice]:
        """Those that fit; the one that is typed on the screen, to be kept under the name that is typed here."""
        found = super().listed(typed)
        name = one_line(typed).strip()
        same = next((row for row in self.rows if row.name == name), None)
        if not name or not self._current or (same is not None and same.text == self._current):
            return found
        save = FilterChoice(name, self._current, save=True, was=same.text if same else "")
        return [*found, save] if same is not None else [save, *found]


def _name_told(row: FilterChoice) -> str:
    if not row.save:
        return row.name
    return f"replace {row.name} by" if row.was else f"keep as {row.name}"


class MacrosScreen(KeptDialog[Macro]):
    """The macros; the result is the one to do."""

    EMPTY = "No macro yet: # begins to record what you do, and # again ends it."

    def __init__(self, rows: Sequence[Macro], forget: Callable[[Macro], None]) -> None:
        super().__init__("Macros", rows, forget)

    def columns(self) -> list[Column[Macro]]:
        """Its name and its steps."""
        return [
            Column("name", "Name", lambda row: row.name, min_width=14, flex=1, tone="accent"),
            Column("steps", "What it does", lambda row: "; ".join(map(describe_step, row.steps)), min_width=30, flex=3),
        ]

    def words(self, row: Macro) -> str:
        """Its name; the steps too."""
        return f"{row.name} {' '.join(map(describe_step, row.steps))}"


# A macro while it is recorded: which action was begun on which rows, and the operation that it came to.


class Recorder:
    """What was done since the recording began."""

    def __init__(self, screen: WorkspaceScreen[Any]) -> None:
        table = screen.table
        self._screen_then = screen.SCREEN
        self._cursor_then = table.cursor_id
        self._selected_then = table.selected
        self._begun: tuple[str, str, str, str] | None = None  # action, screen, rows, filter
        self._steps: list[tuple[str, Step]] = []

    @property
    def steps(self) -> tuple[Step, ...]:
        """What it holds so far."""
        return tuple(step for _, step in self._steps)

    def standing(self, ws: Workspace) -> tuple[Step, ...]:
        """What it holds, without what was taken back since."""
        found = {op_id: ws.store.journal.find(op_id) for op_id, _ in self._steps}
        return tuple(step for op_id, step in self._steps if (entry := found[op_id]) is None or not entry.undone)

    def began(self, screen: WorkspaceScreen[Any], action: str) -> None:
        """An action was asked for: remember on what."""
        held = macros.can_hold(screen.SCREEN, action)
        self._begun = (action, screen.SCREEN, self._rows(screen), screen.listing.filter.source) if held else None

    def done(self, screen: WorkspaceScreen[Any], operations: Sequence[Operation]) -> None:
        """Operations were made: those of the action that was begun are a step, others are told to be none."""
        for operation in operations:
            step = None if self._begun is None else self._step(*self._begun, operation)
            if step is None:
                say(screen, f"Done, but not recorded: {operation.label}", "warning")
            else:
                self._steps.append((operation.id, step))
        screen.say_totals()

    def _step(self, action: str, screen: str, rows: str, query: str, operation: Operation) -> Step | None:
        return macros.record_step(action, screen, rows, query, operation) if rows else None

    def _rows(self, screen: WorkspaceScreen[Any]) -> str:
        """The rows that an action means, by their meaning; "" for more than can be named."""
        selected = screen.table.selected
        here = self._screen_then == screen.SCREEN
        if not selected:
            row = screen.table.cursor_id or ""
            return macros.CURSOR if here and row == self._cursor_then else row
        if selected == _shown(screen) and not screen.listing.fuzzy and not screen.listing.filter.problems:
            return macros.SHOWN
        if here and selected == self._selected_then:
            return macros.SELECTION
        return " ".join(sorted(selected)) if len(selected) <= macros.MOST_IDS else ""


def _shown(screen: WorkspaceScreen[Any]) -> frozenset[str]:
    """The ids of all rows that the filter lets through."""
    table = screen.table
    return frozenset(table.leaves) if isinstance(table, TreeTable) else frozenset(map(screen.row_id, table.rows))


TITLE = 120  # characters of a row that a bookmark keeps
LAST = "last"
"""What a recording is called that was given no name."""
SHOWN = 20  # rows of a macro that are shown
WORDS = 60  # characters of each
UNTOLD = frozenset({"updated_at", "meta_json", "key", "expires_at"})


def mark_of(screen: WorkspaceScreen[Any]) -> Bookmark | None:
    """The bookmark that the row at the cursor would have."""
    row = screen.table.cursor_row
    if row is None:
        return None
    words = one_line(screen.search_text(row).split("\t", 1)[0], TITLE)
    return Bookmark(
        screen.SCREEN, screen.row_id(row), words, str(getattr(row, "kind", "")) if _is_trail(screen) else ""
    )


def _is_trail(screen: WorkspaceScreen[Any]) -> bool:
    return screen.SCREEN == "trail"


async def _kept(screen: WorkspaceScreen[Any]) -> Kept:
    """All that is kept; why it cannot be read is said."""

    def read(ws: Any) -> tuple[Kept, list[Any]]:
        return ws.habits.read(), ws.habits.problems()

    kept, problems = await screen.console.in_thread(read)
    for problem in problems:
        say(screen, problem.text(), "warning")
    return kept


async def bookmark(screen: WorkspaceScreen[Any]) -> None:
    """Set a bookmark on the row at the cursor, or remove it."""
    mark = mark_of(screen)
    if mark is None:
        return

    def turn(ws: Any) -> bool:
        had: bool = ws.habits.has_bookmark(mark)
        if had:
            ws.habits.remove_bookmark(mark)
        else:
            ws.habits.set_bookmark(mark)
        return had

    had = await screen.console.in_thread(turn)
    list_key = screen.key_of("bookmarks")
    say(screen, "Bookmark removed; the row stays" if had else f"Bookmark set: {list_key} lists them")


async def bookmarks(screen: WorkspaceScreen[Any]) -> None:
    """Choose a bookmark and go there."""
    kept = await _kept(screen)

    async def go(mark: Bookmark | None) -> None:
        if mark is None:  # never handed on
            return
        if mark.screen not in SCREENS:
            say(screen, f"there is no screen {mark.screen}", "warning")
            return
        show_place(screen.console, mark.screen, mark.row, mark.part)

    screen.ask(BookmarksScreen(kept.bookmarks, screen.ws.habits.remove_bookmark), go)


async def filters(screen: WorkspaceScreen[Any]) -> None:
    """Choose a filter by its name, or give the one that is typed a name."""
    own = [one for one in (await _kept(screen)).filters if one.screen == screen.SCREEN]

    async def use(choice: FilterChoice | None) -> None:
        if choice is None:  # never handed on
            return
        if not choice.save:
            screen.filter_by(choice.text)
            return
        entry = NamedFilter(choice.name, screen.SCREEN, choice.text)
        await screen.console.in_thread(lambda ws: ws.habits.save_filter(entry))
        say(screen, f"Kept as {choice.name}: {screen.key_of('filters')} chooses it")

    def forget(choice: FilterChoice) -> None:
        screen.ws.habits.delete_filter(choice.name, screen.SCREEN)

    title = f"Filters of {SCREENS[screen.SCREEN]}"
    screen.ask(FiltersScreen(title, own, screen.listing.filter.source, forget), use)


# Macros


async def record(screen: WorkspaceScreen[Any]) -> None:
    """Begin to record; or end it and ask for a name."""
    recorder, key = screen.recorder, screen.key_of("record_macro")
    if recorder is None:
        screen.RECORDERS[screen.app] = Recorder(screen)
        say(screen, f"Recording what you change: {key} ends it")
        screen.say_totals()
        return
    steps = await screen.console.in_thread(recorder.standing)
    if steps:
        _ask_name(screen, steps)
        return
    del screen.RECORDERS[screen.app]
    say(screen, "The recording ended; it held nothing")
    screen.say_totals()


def _ask_name(screen: WorkspaceScreen[Any], steps: tuple[Step, ...]) -> None:
    from nanomem_tui.widgets.dialogs import AskScreen

    def wrong(answer: str) -> str:
        return f"at most {LONGEST_NAME} characters" if len(answer.strip()) > LONGEST_NAME else ""

    async def keep(answer: str | None) -> None:
        try:
            macro = Macro((answer or "").strip() or LAST, steps)
            was = await screen.console.in_thread(lambda ws: ws.habits.save_macro(macro))
        except Exception as error:  # noqa: BLE001 - said; the recording goes on, so that nothing of it is lost
            say_error(screen, error)
            return
        del screen.RECORDERS[screen.app]
        replaced = ", in place of the one before" if was else ""
        key = screen.key_of("replay_macro")
        say(screen, f"Kept as {macro.name}{replaced}: {counted(len(steps), 'step')}; {key} does it again")
        screen.say_totals()

    title = f"A name for {counted(len(steps), 'recorded step')} (none: {LAST})"
    screen.app.push_screen(AskScreen(title, "", "a name", wrong), keep)


async def replay(screen: WorkspaceScreen[Any]) -> None:
    """Choose a macro, see what it would do, and do it."""
    if screen.recorder is not None:
        say(screen, f"end the recording first ({screen.key_of('record_macro')})", "warning")
        return
    kept = await _kept(screen)

    def forget(macro: Macro) -> None:
        screen.ws.habits.delete_macro(macro.name)

    async def preview(macro: Macro | None) -> None:
        if macro is None:  # never handed on
            return
        rows = [screen.row_id(row) for row in screen.targets()]
        made = await screen.console.in_thread(lambda ws: _plan(ws, macro, rows))
        if made.operation is None:
            say(screen, f"{macro.name} changes nothing here")
            return

        async def do(_yes: bool) -> None:
            for operation in await screen.change(lambda ws: macros.run(ws, made)):
                say(screen, f"{one_line(operation.label, TITLE)} (u undoes it)")

        title = f"{macro.name}: {counted(len(made.operation.changes), 'row')} would change"
        screen.confirm(title, _blocks(made), do, opened_by=screen.key_of("replay_macro"))

    screen.ask(MacrosScreen(kept.macros, forget), preview)


def _plan(ws: Workspace, macro: Macro, rows: Sequence[str]) -> macros.Plan:
    from nanomem_tui.workspaces import Rehearsal

    with closing(Rehearsal(ws.paths, ws.configuration)) as rehearsal:
        return macros.plan(ws, rehearsal, macro, rows)


def _blocks(made: macros.Plan) -> list[Block]:
    """What a macro would do, step by step, then row by row."""
    blocks: list[Block] = []
    for number, one in enumerate(made.steps, 1):
        count = counted(len(one.ids), "row") if one.ids else "nothing to do"
        line = (
            (f"{number}. ", "dim"),
            (macros.describe_step(one.step), ""),
            (f"  {count}", "accent" if one.ids else "dim"),
        )
        blocks.append(Spans(line, 3))
    changes = made.operation.changes if made.operation is not None else ()
    for change in changes[:SHOWN]:
        words = one_line(made.texts.get(change.key, change.key), WORDS)
        blocks.append(Spans((("- ", "bad"), (f"{words}  ", ""), (_in_words(change), "dim")), 2))
    if len(changes) > SHOWN:
        blocks.append(Body(f"… and {len(changes) - SHOWN:,} more", "dim"))
    return blocks


def _in_words(change: Change) -> str:
    """What becomes of one row."""
    before, after = change.before or {}, change.after or {}
    told = [in_pairs(name, before.get(name), value) for name, value in after.items() if name not in UNTOLD]
    return ", ".join(f"{name}{one_line(old, WORDS)} → {one_line(new, WORDS)}" for name, old, new in told)
