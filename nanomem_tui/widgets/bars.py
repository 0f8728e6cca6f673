"""Lines at the edges of the screen: title, status, keys, notices, and the line to filter a list with.

Each bar is one line of parts with tones and is painted only when a part changed, so an idle console writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.style import Style
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.css.scalar import Scalar
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.actions import BY_NAME, SCREENS, Context, actions_on, key_text, keys_of, way_beside
from nanomem_tui.core.errors import shown_error
from nanomem_tui.core.text import cell_width, counted, one_line, safe_text
from nanomem_tui.tabs import TABS, tab_of
from nanomem_tui.widgets.key_queue import moved_keys
from nanomem_tui.widgets.text_view import Span
from nanomem_tui.widgets.theme import glyphs, joined

TONES = ("here", "dim", "key", "good", "warn", "bad")


class LineBar(Widget):
    """One line made of parts. A subclass calls `set_parts`; texts are made safe here."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"line-bar--{tone}" for tone in TONES}
    DEFAULT_CSS = """
    LineBar { height: 1; background: $panel; color: $foreground; }
    LineBar > .line-bar--here { color: $primary; text-style: bold reverse; }
    LineBar > .line-bar--dim { color: $foreground 60%; }
    LineBar > .line-bar--key { color: $primary; text-style: bold; }
    LineBar > .line-bar--good { color: $success; }
    LineBar > .line-bar--warn { color: $warning; text-style: bold; }
    LineBar > .line-bar--bad { color: $error; text-style: bold; }
    LineBar:ansi > .line-bar--dim { color: ansi_default; text-style: dim; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._parts: tuple[Span, ...] = ()
        self._actions: tuple[str, ...] = ()

    def set_parts(self, parts: Sequence[Span], actions: Sequence[str] = ()) -> None:
        """Show these parts; paints only when they differ from what is shown. `actions`: what a click on each does."""
        self._actions = tuple(actions)
        safe = tuple((safe_text(text).replace("\n", " ").replace("\t", " "), tone) for text, tone in parts)
        if safe != self._parts:
            self._parts = safe
            self.refresh()

    @property
    def text(self) -> str:
        """What is shown, as plain text."""
        return "".join(text for text, _ in self._parts)

    def render_line(self, y: int) -> Strip:
        """The line."""
        width = self.size.width
        parts: list[tuple[str, Style]] = [(text, self._tone(tone)) for text, tone in self._parts] if y == 0 else []
        return Strip(joined(parts, width, self._tone("")), width)

    def _tone(self, name: str) -> Style:
        return self.rich_style + self.get_component_rich_style(f"line-bar--{name}") if name else self.rich_style

    async def on_click(self, event: events.Click) -> None:
        """Do the action of the part that was clicked, if it has one."""
        end = 0
        for (text, _tone), action in zip(self._parts, self._actions, strict=False):
            end += cell_width(text)
            if event.x < end:
                await self.run_action(f"screen.do({action!r})")
                return

    def on_resize(self) -> None:
        """Fit the parts to the new width."""
        self.fit()

    def fit(self) -> None:
        """Choose the parts for the width; called when it changed."""


class TitleBar(LineBar):
    """The tabs with their digits, the one shown standing out."""

    def __init__(self, screen: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown = screen

    def fit(self) -> None:
        """All tabs by name, with room between them where there is some; a screen of no tab stands after them. Where
        they do not fit, the others by their digits alone."""
        moved, here = moved_keys(self), tab_of(self._shown)
        ways = [(f"go_{tab.lists[0].screen}", tab.title, "here" if tab is here else "dim") for tab in TABS]
        if here is None:
            ways.append((way_beside(self._shown).name, SCREENS[self._shown], "here"))
        tabs = [(key_text(keys_of(BY_NAME[name], moved)[0]), title, tone) for name, title, tone in ways]
        named = [(f" {key} {title} " if tone == "here" else f" {key} {title}", tone) for key, title, tone in tabs]
        short = [part if part[1] == "here" else (f" {tab[0]}", "dim") for part, tab in zip(named, tabs, strict=True)]
        roomy = [(f" {text.strip()}  ", tone) for text, tone in named]
        fits = (one for one in (roomy, named) if sum(cell_width(text) for text, _ in one) <= self.size.width)
        self.set_parts(next(fits, short), [name for name, _, _ in ways])


@dataclass(frozen=True, slots=True)
class Status:
    """What the status bar says.

    `agent` in words ("agent alive", "agent in a turn", "agent idle", "dreaming", "no agent"); `waiting` what is to be
    written still, in words; `checkpoint` the local time of the last one ("14:32:10"), `cost_ms` what it took; `inbox`
    how many things wait for a person; `at_problems` whether the screen lists the problems itself;
    `degraded` a sentence when a part does not work; `busy` progress with numbers.
    """

    workspace: str = ""
    agent: str = ""
    waiting: str = ""
    checkpoint: str = ""
    cost_ms: float | None = None
    problems: int = 0
    at_problems: bool = False
    inbox: int = 0
    degraded: str = ""
    busy: str = ""


class StatusBar(LineBar):
    """The state of the workspace in words. Parts that do not fit leave from the end; trouble stands first."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.status = Status()

    def show(self, status: Status) -> None:
        """Show `status`; nothing is written when it is what is shown."""
        if status != self.status:
            self.status = status
            self.fit()

    def fit(self) -> None:
        """As many parts as there is room for."""
        shown: list[Span] = []
        used = 1
        separator = f" {glyphs(self).separator} "
        for text, tone in status_parts(self.status):
            size = cell_width(one_line(text)) + (len(separator) if shown else 0)
            if used + size > self.size.width and shown:
                break
            if shown:
                shown.append((separator, "dim"))
            shown.append((text if shown else one_line(text, max(self.size.width - 2, 1)), tone))
            used += size
        self.set_parts([(" ", ""), *shown])


def status_parts(status: Status) -> list[Span]:
    """What the bar says, most needed first."""
    parts: list[Span] = []
    if status.degraded:
        parts.append((status.degraded, "bad"))
    if status.busy:
        parts.append((status.busy, "warn"))
    if status.problems:
        way = "" if status.at_problems else ": press 9"
        parts.append((f"{counted(status.problems, 'problem')}{way}", "warn"))
    if status.inbox:
        parts.append((f"{status.inbox:,} in the inbox", "warn"))
    if status.waiting:
        parts.append((status.waiting, ""))
    if status.agent:
        parts.append((status.agent, "good" if status.agent != "no agent" else "dim"))
    if status.checkpoint:
        cost = "" if status.cost_ms is None else f", {status.cost_ms:,.0f} ms"
        parts.append((f"saved {status.checkpoint}{cost}", ""))
    if status.workspace:
        parts.append((status.workspace, "dim"))
    return parts


class ActionFooter(LineBar):
    """The keys that do something now, from the registry of actions."""

    def __init__(self, screen: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._for = Context(screen)

    def show(self, context: Context) -> None:
        """Show the keys for `context`; nothing is written when they stay the same."""
        if context != self._for or not self._parts:
            self._for = context
            self.fit()

    def fit(self) -> None:
        """The most useful keys that fit; filter, help and quit always."""
        screen = self._for.screen
        places = {a.name: a.footer_on(screen, in_detail="in detail" in self._for.has) for a in actions_on(screen)}
        here = [action for action in actions_on(screen) if places[action.name]]
        keys = {action.name: keys_of(action, moved_keys(self)) for action in here}
        offered = [action for action in here if keys[action.name] and action.enabled(self._for) is None]
        offered.sort(key=lambda action: places[action.name])
        always = [action for action in offered if places[action.name] >= 89]
        ascii_only = bool(getattr(self.app, "ascii_only", False))
        texts = {a.name: (key_text(keys[a.name][0], ascii_only), a.label_on(screen)) for a in offered}
        room = self.size.width - sum(len(key) + len(label) + 3 for key, label in (texts[a.name] for a in always))
        chosen: list[str] = []
        for action in offered:
            key, label = texts[action.name]
            room -= 0 if action in always else len(key) + len(label) + 3
            if action in always or room >= 0:
                chosen.append(action.name)
        parts: list[Span] = []
        for name in chosen:
            key, label = texts[name]
            parts += [(f" {key}", "key"), (f" {label} ", "")]
        self.set_parts(parts, [name for name in chosen for _ in range(2)])


# Where an app says things: what went well in the status bar for a while, trouble as one notice over the screen.

NOTICE_SECONDS = 3.0  # at least
READ_A_SECOND = 8  # characters


class Notices(App[int]):
    """An app whose status bar has a place for words: `notice`, "" when there are none."""

    notice = ""
    _notice_timer: Timer | None = None

    def notice_changed(self) -> None:
        """There are other words, or none: show that. For the app to say how."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Say something, for as long as it takes to read."""
        if severity == "information" and not title:
            self.say_busy(message)
            self._notice_timer = self.set_timer(max(NOTICE_SECONDS, len(message) / READ_A_SECOND), self._end_notice)
        else:
            self.clear_notifications()
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    def say_busy(self, words: str) -> None:
        """Say in the status bar what is under way, until other words or none come."""
        if self._notice_timer is not None:
            self._notice_timer.stop()
        self.notice = words
        self.notice_changed()

    def _end_notice(self) -> None:
        self.notice = ""
        self.notice_changed()


# -- Short notices over the screen. The one place that calls `App.notify`: always safe text, never markup -------------

Severity = Literal["information", "warning", "error"]
SECONDS: dict[Severity, float] = {"information": 3.0, "warning": 3.0, "error": 6.0}


def say(at: Widget | App[object], text: str, severity: Severity = "information", title: str = "") -> None:
    """Show `text` (at most three lines of it) for some seconds; errors stay longer. esc and another screen end it."""
    app = at if isinstance(at, App) else at.app
    app.notify(
        one_line(text, 160), title=one_line(title, 50), severity=severity, timeout=SECONDS[severity], markup=False
    )


def say_error(at: Widget | App[object], error: BaseException) -> None:
    """Show an error: what, where and what to do."""
    said = shown_error(error)
    text = " ".join(part for part in (said.where, f"({said.fix})" if said.fix else "") if part)
    say(at, text or said.what, "error", said.what if text else "")


# -- The line to filter a list with: it tells what was typed at once and says what was not understood -----------------

LONGEST = 8_000  # characters of a line: more was pasted by mistake, and would be drawn with each key


class LineInput(Input):
    """A one-line field that doesn't blink and takes from the clipboard no control character, and no more than a line
    may have."""

    DEFAULT_CSS = """
    LineInput, LineInput:focus {
        height: 1; border: none; padding: 0; background: $panel; color: $foreground; width: 1fr;
    }
    """

    def __init__(self, value: str = "", placeholder: str = "", *, id: str | None = None) -> None:
        super().__init__(value=one_line(value), placeholder=placeholder, compact=True, id=id, select_on_focus=False)
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        room = max(LONGEST - len(self.value), 0)
        pasted = event.text
        event.text = one_line(pasted[:room])
        if len(pasted) > room:
            say(self, f"Only {room:,} of the {len(pasted):,} characters that were pasted are taken", "warning")


class FilterBar(Horizontal):
    """Hidden until `open`. Enter and the down key keep the filter and go back to the list; esc clears it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "clear", show=False),
        Binding("down,tab", "keep", "to the list", show=False),
    ]
    DEFAULT_CSS = """
    FilterBar { height: 1; background: $panel; }
    FilterBar #filter-sign { width: 2; }
    FilterBar #filter-said { width: auto; max-width: 60%; min-width: 1; }
    """

    class FilterChanged(Message):
        """The query is now `query`; several in a row become one."""

        def __init__(self, bar: FilterBar, query: str) -> None:
            super().__init__()
            self.bar = bar
            self.query = query

        @property
        def control(self) -> FilterBar:
            """The bar."""
            return self.bar

        def can_replace(self, message: Message) -> bool:
            """Only what was typed last matters."""
            return isinstance(message, FilterBar.FilterChanged)

    class FilterLeft(Message):
        """The person went back to the list; `cleared` when the filter was given up."""

        def __init__(self, bar: FilterBar, cleared: bool) -> None:
            super().__init__()
            self.bar = bar
            self.cleared = cleared

    def __init__(self, hint: str = "") -> None:
        """`hint`: what may be typed, shown while nothing is."""
        super().__init__()
        self._hint = hint
        self.display = False  # not by a class: a style of its own is quicker, and esc waits for nothing

    def compose(self) -> ComposeResult:
        """A sign, the field, and what is said about the query."""
        yield LineBar(id="filter-sign")
        yield LineInput(placeholder=self._hint, id="filter-input")
        yield LineBar(id="filter-said")

    def on_mount(self) -> None:
        """Set the sign once."""
        self.query_one("#filter-sign", LineBar).set_parts([("/ ", "key")])

    @property
    def query_text(self) -> str:
        """The query as typed."""
        return self.query_one(LineInput).value

    @property
    def is_open(self) -> bool:
        """Whether the bar is shown."""
        return self.display

    def open(self) -> None:
        """Show the bar and let the person type."""
        self.display = True
        self.query_one(LineInput).focus()

    def clear(self) -> None:
        """Give the filter up and hide the bar."""
        self.query_one(LineInput).value = ""
        self.say("")
        self.display = False

    def set_query(self, query: str) -> None:
        """Filter by `query` as if it had been typed."""
        self.display = True
        self.query_one(LineInput).value = one_line(query)

    def say(self, text: str, tone: str = "dim") -> None:
        """Say something about the query beside it: totals, or what was not understood."""
        said = self.query_one("#filter-said", LineBar)
        shown = f" {one_line(text, max(self.app.size.width * 3 // 5 - 2, 1))} " if text else ""
        width = Scalar.from_number(max(cell_width(shown), 1))
        if said.styles.width != width:  # another style is another layout
            said.styles.width = width
        said.set_parts([(shown, tone)])

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.FilterChanged(self, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Back to the list with the filter; an empty one hides the bar."""
        if not self.query_text:
            self.clear()
        self.post_message(self.FilterLeft(self, cleared=not self.query_text))

    def action_clear(self) -> None:
        """Clear the filter and go back to the list."""
        self.clear()
        self.post_message(self.FilterLeft(self, cleared=True))
