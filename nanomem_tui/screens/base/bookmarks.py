"""Bookmarks and named filters of a screen (`;` `'` `|`): the dialogs that list them, and the way back to a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.actions import SCREENS
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import one_line
from nanomem_tui.memory.filters import fold, parse, rank_matches, search
from nanomem_tui.screens.base.console import show_place
from nanomem_tui.store.files.user import Bookmark, NamedFilter, SavedHabits
from nanomem_tui.widgets.bars import LineInput, say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialogs import PAGE_KEYS, ChoosingDialog
from nanomem_tui.widgets.table import LineTable

if TYPE_CHECKING:
    from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen


# The dialogs over what a person keeps: bookmarks and named filters. Typing narrows, enter chooses, ^x forgets.

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


TITLE = 120  # characters of a row that a bookmark keeps


def bookmark_of_row(screen: WorkspaceScreen[Any]) -> Bookmark | None:
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


async def _kept(screen: WorkspaceScreen[Any]) -> SavedHabits:
    """All that is kept; why it cannot be read is said."""

    def read(ws: Any) -> tuple[SavedHabits, list[Any]]:
        return ws.habits.read(), ws.habits.problems()

    kept, problems = await screen.console.in_thread(read)
    for problem in problems:
        say(screen, problem.text(), "warning")
    return kept


async def bookmark(screen: WorkspaceScreen[Any]) -> None:
    """Set a bookmark on the row at the cursor, or remove it."""
    mark = bookmark_of_row(screen)
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
