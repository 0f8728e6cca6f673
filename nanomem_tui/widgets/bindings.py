"""Key bindings made from the registry of actions, so that no key is written down twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.binding import Binding

from nanomem_tui.actions import ACTIONS, Action, actions_on

if TYPE_CHECKING:
    from textual.widget import Widget

    from nanomem_tui.keymap import Moved


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
