"""Bookmarks, named filters and macros at work on a screen: what the keys ; ' | # @ do.

Owns the way from a key to what is kept, and back to the screen. Changes of memory are made by the macros' own service.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from nanomem_tui.actions import SCREENS
from nanomem_tui.core.operations import Change
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.review import macros
from nanomem_tui.screens.jumping import show_place
from nanomem_tui.screens.kept_dialogs import BookmarksScreen, FilterChoice, FiltersScreen, MacrosScreen
from nanomem_tui.screens.recording import Recorder
from nanomem_tui.screens.rows import in_pairs
from nanomem_tui.store.files.user import LONGEST_NAME, Bookmark, Kept, Macro, NamedFilter, Step
from nanomem_tui.widgets.document import Block, Body, Spans
from nanomem_tui.widgets.toast import say, say_error

if TYPE_CHECKING:
    from nanomem_tui.screens.workspace_screen import WorkspaceScreen
    from nanomem_tui.workspace import Workspace

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
    from nanomem_tui.widgets.prompt import AskScreen

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
        line = ((f"{number}. ", "dim"), (macros.told(one.step), ""), (f"  {count}", "accent" if one.ids else "dim"))
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
