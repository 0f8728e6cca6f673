"""Keys in order: each goes where the one before it led, so that what is typed fast is never taken for a command.

Owns the keys that wait. It knows no screen: an app says when keys count, and which keys leave the focus where it is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message_pump import MessagePump

from nanomem_tui.actions import ACTIONS, Action, actions_on

if TYPE_CHECKING:
    from textual.widget import Widget

    from nanomem_tui.actions import Moved


PAINT_SECONDS = 0.03  # by then what a key did is on the screen
PATIENCE = 2.0  # seconds that are waited for one widget at most: no key is held for good
LOOK = 0.02  # seconds between two looks whether a widget has gone


class RowsToCome:
    """A screen whose rows are read in a thread: keys that mean a row may have to wait for them."""

    ROW_KEYS: ClassVar[frozenset[str]] = frozenset()
    """The keys that mean a row, where they wait for the rows of what was typed before them."""

    @property
    def rows_to_come(self) -> bool:
        """Whether the rows that were asked for last are not shown yet."""
        return False


class KeysInOrder(App[int]):
    """An app that hands out a key only when the one before it has done all that it does.

    Textual forwards keys to the widget in focus as they come, before the one in front has moved the focus: the letters
    of a filter typed in one go would be commands. And what a priority binding says it does at once, ahead of the
    letters that the widget has not taken yet: ^s would save a text without its end. A key that stays where it is, typed
    text or a move, costs nothing.
    """

    staying_keys: frozenset[str] = frozenset()
    _holding = True
    _key_at_work = False
    _typed = False  # whether what was typed last may still lie in the queue of the widget in focus
    _waiting: list[events.Key | events.Paste]
    _key_waits: asyncio.Event

    def hold_keys(self) -> None:
        """Keep every key until `give_out_keys`."""
        self._waiting, self._key_waits, self._holding = [], asyncio.Event(), True

    def give_out_keys(self) -> None:
        """Keys count from now; those that were kept go first, in order."""
        if self._holding:
            self._holding = False
            self._key_at_work = True
            self._begin()

    def keep_keys(self) -> None:
        """Keys wait until what was begun just now is done, as after a key that leads away."""
        if not self.keys_wait:
            self._key_at_work = True
            self._begin()

    @property
    def keys_wait(self) -> bool:
        """Whether a key is kept, or may still do something."""
        return self._holding or self._key_at_work

    async def on_event(self, event: events.Event) -> None:
        """Give out a key, or what was pasted, at once, or keep it until the one before it is done."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self.keys_wait:
            self._waiting.append(event)
            self._key_waits.set()
        elif self.acts_ahead(event):
            self._waiting.append(event)
            self._key_at_work = True
            self._begin(after_key=False)
        else:
            self._key_at_work = self._may_lead_away(event)
            self._typed = not self._key_at_work
            await super().on_event(event)
            if self._key_at_work:
                self._begin()

    def _may_lead_away(self, key: events.Key | events.Paste) -> bool:
        """Whether the next key may belong elsewhere: not after a letter in a field, nor after a move."""
        if isinstance(key, events.Paste):
            return False
        if hasattr(self.focused, "cursor_blink"):  # a field of one line or of many
            return not key.is_printable
        return key.key not in self.staying_keys

    def acts_ahead(self, key: events.Key | events.Paste) -> bool:
        """Whether a key does something before the widget in focus has taken what was typed before it."""
        if not self._typed or isinstance(key, events.Paste):
            return False
        places = (self.focused or self.screen).ancestors_with_self
        return any(one.priority for place in places for one in place._bindings.key_to_bindings.get(key.key, ()))

    def _begin(self, *, after_key: bool = True) -> None:
        self.run_worker(self._give_out(after_key=after_key), group="keys", exit_on_error=False)

    async def _give_out(self, *, after_key: bool) -> None:
        try:
            if after_key:
                with contextlib.suppress(TimeoutError):  # what the key did is painted first, unless another one waits
                    await asyncio.wait_for(self._key_waits.wait(), PAINT_SECONDS)
                await self.keys_done()
            while self._waiting:
                if self.acts_ahead(self._waiting[0]):
                    await self.typed_before(self._waiting[0])
                key = self._waiting.pop(0)
                leads_away = self._may_lead_away(key)
                self._typed = not leads_away
                await super().on_event(key)
                if leads_away:
                    await self.keys_done()
        finally:  # whatever went wrong with one key, the next ones count
            self._key_waits.clear()
            self._key_at_work = False
            if self._waiting and self.is_running:
                self._key_at_work = True
                self._begin()

    async def keys_done(self) -> None:
        """Wait until the last key has done what it does.

        It is handled by the widget in focus and by what that lies in; what it began there, a focus or a dialog, by the
        app; and a dialog that has come begins to listen.
        """
        for _ in range(2):
            before = (self.screen, self.focused)
            await self._caught_up()
            if before == (self.screen, self.focused):
                return

    async def typed_before(self, key: events.Key | events.Paste) -> None:
        """Wait until all that was typed before a key that acts ahead stands where it was typed."""
        await self._caught_up()

    async def _caught_up(self) -> None:
        for pump in (*(self.focused or self.screen).ancestors_with_self, self):
            await caught_up(pump)


async def caught_up(pump: MessagePump) -> bool:
    """Wait until `pump` has handled all that is in its queue now, or has gone; False when that takes too long."""
    reached = asyncio.Event()
    if _has_gone(pump) or not pump.call_later(reached.set):
        return True
    for _ in range(int(PATIENCE / LOOK)):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(reached.wait(), LOOK)
        if reached.is_set() or _has_gone(pump):
            return True
    return False


def _has_gone(pump: MessagePump) -> bool:
    return not pump.is_running or not pump.is_attached


# -- Key bindings made from the registry of actions, so that no key is written down twice -----------------------------


def screen_bindings(screen: str) -> list[Binding]:
    """The bindings of a screen: each calls ``action_do(name)``. Moving and selecting belong to the widget in focus."""
    return [_binding(action, f"do('{action.name}')") for action in actions_on(screen, "screen", "global", "go")]


def widget_bindings(*names: str) -> list[Binding]:
    """The bindings of a widget for the named actions: each calls the widget's own ``action_<name>``."""
    by_name = {action.name: action for action in ACTIONS}
    return [_binding(by_name[name], name) for name in names]


def moved_keys(widget: Widget) -> Moved:
    """The keys that the settings give to actions, as the app of `widget` took them."""
    return cast("Moved", getattr(widget.app, "moved_keys", {}))


def as_keymap(moved: Moved) -> dict[str, str]:
    """What ``App.set_keymap`` takes: keys by the names that Textual has for them."""
    return {name: ",".join(map(_key_name, keys)) for name, keys in moved.items()}


def key_names(keys: Iterable[str]) -> frozenset[str]:
    """Keys by the names that Textual has for them."""
    return frozenset(map(_key_name, keys))


def _key_name(key: str) -> str:
    return "comma" if key == "," else next(iter(Binding.make_bindings([Binding(key, "")]))).key


def _binding(action: Action, target: str) -> Binding:
    keys = ",".join(action.keys) or f"no-key-{action.name}"  # the palette's only; the settings may give it one
    return Binding(keys, target, action.label, show=False, id=action.name)


# -- Moving up and down by keys, the same in every list and text: one set of bindings, one meaning each ---------------


class Moves:
    """Mix-in for a widget with a cursor or a view that moves by lines; it implements the first three methods."""

    MOVE_BINDINGS: ClassVar[list[BindingType]] = list(
        widget_bindings("cursor_down", "cursor_up", "half_down", "half_up", "page_down", "page_up", "first", "last")
    )

    def move_by(self, lines: int) -> None:
        """Move down by `lines`, up when negative."""
        raise NotImplementedError

    def move_to_edge(self, last: bool) -> None:
        """Move to the first or the last line."""
        raise NotImplementedError

    def page_lines(self) -> int:
        """How many lines a page is."""
        raise NotImplementedError

    def action_cursor_down(self) -> None:
        """One line down."""
        self.move_by(1)

    def action_cursor_up(self) -> None:
        """One line up."""
        self.move_by(-1)

    def action_half_down(self) -> None:
        """Half a page down."""
        self.move_by(max(self.page_lines() // 2, 1))

    def action_half_up(self) -> None:
        """Half a page up."""
        self.move_by(-max(self.page_lines() // 2, 1))

    def action_page_down(self) -> None:
        """A page down."""
        self.move_by(self.page_lines())

    def action_page_up(self) -> None:
        """A page up."""
        self.move_by(-self.page_lines())

    def action_first(self) -> None:
        """To the first line."""
        self.move_to_edge(last=False)

    def action_last(self) -> None:
        """To the last line."""
        self.move_to_edge(last=True)
