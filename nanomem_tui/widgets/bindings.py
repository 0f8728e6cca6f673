"""Key bindings made from the registry of actions, so that no key is written down twice."""

from __future__ import annotations

from textual.binding import Binding

from nanomem_tui.actions import ACTIONS, Action, actions_on


def screen_bindings(screen: str) -> list[Binding]:
    """The bindings of a screen: each calls ``action_do(name)``. Moving and selecting belong to the widget in focus."""
    return [
        _binding(action, f"do('{action.name}')")
        for action in actions_on(screen, "screen", "global", "go")
        if action.keys
    ]


def widget_bindings(*names: str) -> list[Binding]:
    """The bindings of a widget for the named actions: each calls the widget's own ``action_<name>``."""
    by_name = {action.name: action for action in ACTIONS}
    return [_binding(by_name[name], name) for name in names]


def _binding(action: Action, target: str) -> Binding:
    return Binding(",".join(action.keys), target, action.label, show=False, id=action.name)
