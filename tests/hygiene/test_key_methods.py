"""A key's way to its code: the action of the key names the method that does it."""

from importlib import import_module

import pytest

from nanomem_tui.actions import ACTIONS
from nanomem_tui.app import NanomemApp
from nanomem_tui.screens import registry
from nanomem_tui.widgets.diff_view import DiffView
from nanomem_tui.widgets.table import LineTable


@pytest.mark.parametrize("name", registry.PLACES)
def test_each_action_of_a_screen_is_a_method_that_is_called_like_it(name):
    place = registry.PLACES[name]
    screen = getattr(import_module(f"nanomem_tui.screens.{place.module}"), place.class_name)
    for action in ACTIONS:
        if not action.on(name):
            continue
        if action.group in ("move", "select"):
            assert any(hasattr(widget, f"action_{action.name}") for widget in (LineTable, DiffView)), action
        else:
            done = hasattr(screen, f"do_{action.name}") or hasattr(NanomemApp, f"do_{action.name}")
            assert done or registry.shared_action(action.name), f"{action.name} on {name}: no method do_{action.name}"
