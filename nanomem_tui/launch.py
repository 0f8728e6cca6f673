"""The way into the console: a first frame before anything slow is imported, the app, and the terminal as it was found.

Owns the terminal's state and the endings: whatever happens, the terminal is given back as it was found and what waits
is saved. It must not import Textual or the workspace before the first frame is painted.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from nanomem_tui.tabs import TABS
from nanomem_tui.terminal import SIGNALS

if TYPE_CHECKING:
    from nanomem_tui.opening import Opening
    from nanomem_tui.store.values import Item


# Mouse, focus, paste and resize reports off, kitty keys off, wrap on, screen back, cursor shown, colours off.
LEAVE = (
    "\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2048l"
    "\x1b[<u\x1b[?7h\x1b[?1049l\x1b[?25h\x1b[0m"
)
KEYS, SCREEN = 0, 2  # file descriptors: the ones that Textual's driver uses
PATIENCE = 5.0  # seconds
FIRST_ROWS_SECONDS = 0.2  # how long the import of Textual waits for the first rows to be read and shown
#: No animation; a lone ESC is the key after this many milliseconds, for a terminal sends a sequence in one piece; no
#: frame is held back for the next sixtieth of a second, so that rows follow the letter that asks for them at once.
ENVIRONMENT = {"TEXTUAL_ANIMATIONS": "none", "ESCDELAY": "5", "TEXTUAL_FPS": "240"}


def run_console(workspace: str | None, *, demo: bool, ascii_only: bool, config: str | None = None) -> int:
    """Show the console until it is left; the exit code. Raises the errors of opening a workspace. `config`: the agent's
    configuration where it is not the usual one.

    Raises BadInput where there is no terminal to draw on, and NanomemError when what waited could not be saved.
    """
    # A driver named in the environment (a browser, a test) brings its own screen.
    if not (sys.stdin.isatty() and sys.stdout.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
        from nanomem_tui.core.errors import BadInput

        picture = "`nanomem --demo --snapshot items` prints a screen"
        raise BadInput("the console needs a terminal", "", picture if demo else "name a command, see `nanomem --help`")
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        code = _demonstrate(ascii_only) if demo else _show(workspace, ascii_only, config)
    finally:
        for stream in (sys.stdout, sys.stderr):
            _flush(stream)
    if threading.active_count() > 1:  # a thread still reads for a screen that is gone; everything is saved
        os._exit(code)
    return code


def _flush(stream: TextIO) -> None:
    """Write what `stream` holds; where the terminal is gone, let the interpreter's last flush go nowhere.

    It would fail, and make 120 of the exit code.
    """
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):  # no descriptor of its own
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def _show(workspace: str | None, ascii_only: bool, config_file: str | None) -> int:
    with terminal("loading") as ending:
        from nanomem_tui.core import config, paths
        from nanomem_tui.opening import Opening
        from nanomem_tui.store import processes

        found = paths.find_workspace(workspace, config=config_file)
        with processes.shared_use(found):
            return _run(Opening(found, config.load(found)), ascii_only, ending, "first")


def _demonstrate(ascii_only: bool) -> int:
    with terminal("making a demonstration") as ending:
        from nanomem_tui.core import config, paths
        from nanomem_tui.demo import demo_home
        from nanomem_tui.opening import Opening

        with demo_home() as folder:
            found = paths.find_workspace(folder)
            return _run(Opening(found, config.load(found), made_up="demo"), ascii_only, ending, "walk")


def _run(opening: Opening, ascii_only: bool, ending: Ending, tour: str) -> int:
    gc.disable()  # until the app is there: nothing that an import makes is garbage
    opening.ahead()
    ending.show(lambda columns, lines: rows_frame(columns, lines, opening.wait(FIRST_ROWS_SECONDS)))
    import asyncio

    from nanomem_tui.app import NanomemApp
    from nanomem_tui.terminal.driver import console_driver
    from nanomem_tui.widgets import tour as tours

    driver = console_driver(ending.state) if ending.state is not None else None
    app = NanomemApp(opening, ascii_only=ascii_only, driver_class=driver, on_signal=ending.by_signal)
    app.tour = tours.first_tour(tour, app.moved_keys, app.ascii_only)
    gc.freeze()
    gc.enable()
    if ending.asked:  # and something let that pass
        raise SystemExit(128 + ending.asked)
    loop = asyncio.new_event_loop()  # one that does not wait for reading threads at its end
    asyncio.set_event_loop(loop)
    try:
        result = app.run(loop=loop)
    finally:
        ending.given_back = driver is not None and driver.left
        if app.opening.opened is not None:  # the one it is on now; those before it are let go of
            app.opening.opened.close()
    return result if isinstance(result, int) else app.return_code or 0


# The terminal


class Ending:
    """How the terminal was found, and the ways to give it back. `state` is None where there is no terminal.

    `asked` is the signal that asked for the end before the app took signals itself, 0 for none.
    """

    def __init__(self, state: list[Any] | None = None) -> None:
        self.state = state
        self.given_back = state is None
        self.asked = 0

    def by_early_signal(self, number: int, _frame: FrameType | None) -> None:
        """Before the app takes signals itself: leave through every `finally`."""
        self.asked = number
        raise SystemExit(128 + number)

    def show(self, frame: Callable[[int, int], str]) -> None:
        """Write a frame made for the terminal's columns and lines."""
        if self.state is not None:
            with contextlib.suppress(OSError):
                os.write(SCREEN, frame(*os.get_terminal_size(SCREEN)).encode())

    def give_back(self) -> None:
        """Restore the terminal, once."""
        if self.given_back or self.state is None:
            return
        import termios

        self.given_back = True
        with contextlib.suppress(OSError):
            os.write(SCREEN, LEAVE.encode())
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(KEYS, termios.TCSANOW, self.state)

    def by_signal(self, number: int) -> None:
        """A signal asked for the end: when the orderly one takes too long, restore the terminal and stop hard.

        What was acknowledged is in the database: nothing is lost by that.
        """

        def stop() -> None:
            self.given_back = False
            self.give_back()
            os._exit(128 + number)

        timer = threading.Timer(PATIENCE, stop)
        timer.daemon = True
        timer.start()


@contextlib.contextmanager
def terminal(words: str) -> Iterator[Ending]:
    """Take the terminal (raw, no echo, other screen) with a first frame that says `words`; give it back at the end.

    Keys typed before the app reads them wait in the terminal's own queue, in order. Where standard input or output is
    no terminal, or `TEXTUAL_DRIVER` names another driver, nothing is done.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or "TEXTUAL_DRIVER" in os.environ:
        yield Ending()
        return
    import termios

    ending = Ending(termios.tcgetattr(KEYS))
    before = {number: signal.signal(number, ending.by_early_signal) for number in SIGNALS}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # until the app can give the terminal back
    try:
        _take(ending.state or [])
        ending.show(lambda columns, lines: words_frame(columns, lines, words))
        yield ending
    except Exception:
        if ending.asked:  # the way out came up in the midst of an import, which made an error of it
            raise SystemExit(128 + ending.asked) from None
        raise
    finally:
        ending.give_back()
        for number, handler in before.items():
            signal.signal(number, handler)


def _take(state: list[Any]) -> None:
    """Raw keys without echo; ctrl+c still ends the program."""
    import termios

    raw = [*state[:6], list(state[6])]
    raw[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
    termios.tcsetattr(KEYS, termios.TCSANOW, raw)


# The frame before the app: a title and words at once, then the first rows, in the terminal's own colours.

ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"
FIRST_FRAME_KEYS = " ? help  q quit"
GUTTER = 4  # cells: cursor, selection, sign, space
FRAME = 2  # cells of the frame of the list, left and right
WIDE = 100  # columns from which the app shows the detail beside the list


def words_frame(columns: int, lines: int, words: str) -> str:
    """Take the other screen, with the tabs, and say `words` on it."""
    here, *others = [f" {tab.key} {tab.title}" for tab in TABS]
    title, rest = f"{here} "[:columns], "".join(others)[: max(columns - len(here) - 1, 0)]
    return (
        f"{ENTER}\x1b[H\x1b[1;7m{title}\x1b[0;2m{rest}\x1b[0m"
        + _at(4, words[: columns - 4], 4)
        + _at(lines, FIRST_FRAME_KEYS[:columns])
    )


def rows_frame(columns: int, lines: int, items: Sequence[Item]) -> str:
    """The rows of the first page, where the list will be; safe text only."""
    from nanomem_tui.core.text import one_line, pad
    from nanomem_tui.screens.item_columns import item_columns, sign_of
    from nanomem_tui.widgets.columns import fit

    width = (columns if columns < WIDE else columns * 11 // 20) - FRAME
    fitted = fit(item_columns(), width - GUTTER - 1)
    titles = " ".join(pad(column.title, size, column.align) for column, size in fitted)
    parts = ["\x1b[0m", _at(4, " " * (columns - 4), 4), _at(3, f"{' ' * GUTTER}\x1b[1m{titles}\x1b[0m", 2)]
    for number, item in enumerate(items[: max(lines - 6, 0)]):
        cells = [pad(one_line(column.render(item), size), size, column.align) for column, size in fitted]
        parts.append(_at(number + 4, f"  {pad(sign_of(item), 1)} {' '.join(cells)}", 2))
    return "".join(parts)


def _at(line: int, text: str, column: int = 1) -> str:
    return f"\x1b[{line};{column}H{text}"


# One screen without a terminal

_FONT_URL = re.compile(r',\s*url\("https?://[^"]*"\) format\("[^"]*"\)')
"""Where a picture would have its font fetched from, by whoever looks at it."""


def snapshot_screen(
    workspace: str | None,
    screen: str,
    size: tuple[int, int],
    form: str,
    *,
    ascii_only: bool = False,
    query: str = "",
    config_file: str | None = None,
) -> str:
    """One screen of the console: `text`, an `svg` picture, or the rows of its list as `json`, `csv` or `md`.

    `size` is columns and rows, `query` a filter as it is typed. Raises BadInput for an unknown screen or a filter that
    is not understood, NanomemError where the list could not be read, and the errors of opening a workspace.
    """
    from nanomem_tui import actions
    from nanomem_tui.core import config, paths
    from nanomem_tui.core.errors import BadInput
    from nanomem_tui.opening import Opening

    if screen not in actions.SCREENS:
        raise BadInput(f"no screen `{screen}`", "--snapshot", f"one of {', '.join(actions.SCREENS)}")
    found = paths.find_workspace(workspace, config=config_file)
    opening = Opening(found, config.load(found))
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    import asyncio

    return asyncio.run(_snapshot(opening, screen, size, form, ascii_only, query))


async def _snapshot(
    opening: Opening, screen: str, size: tuple[int, int], form: str, ascii_only: bool, query: str
) -> str:
    from nanomem_tui.app import NanomemApp
    from nanomem_tui.core.errors import BadInput, NanomemError
    from nanomem_tui.screens.base.copying import export_text
    from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
    from nanomem_tui.widgets.table import LineTable

    app = NanomemApp(opening, first_screen=screen, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await app.settled()
        app.check_workspace()
        await app.settled()
        shown = app.main_screen
        if query and isinstance(shown, WorkspaceScreen):
            shown.filter_by(query)
            await app.settled()
            problems = shown.listing.filter.problems
        else:
            problems = ()
        await pilot.pause()
        unread = next((table.said for table in shown.query(LineTable) if table.state == "error"), None)
        if form == "svg":
            picture = _FONT_URL.sub("", app.export_screenshot(title=f"nanomem: {screen}"))
        elif form == "text" or not isinstance(shown, WorkspaceScreen):
            picture = app.screen_text()
        else:
            picture = export_text(shown, form)
    if opening.opened is not None:
        opening.opened.close()
    if unread is not None:
        what, *where, fix = unread
        raise NanomemError(what.removeprefix("Error: "), " ".join(where), fix)
    if problems:
        raise BadInput(problems[0], "--filter", "see ? on the screen for what can be asked")
    return picture
