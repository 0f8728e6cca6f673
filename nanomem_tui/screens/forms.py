"""Asking for a few fields at once, and again when they could not be saved, as they were typed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nanomem_tui.core.errors import NanomemError, NothingToDo
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.form import FormField, FormScreen
from nanomem_tui.widgets.toast import say

Typed = Mapping[str, str]


def ask_fields(
    screen: WorkspaceScreen[Any],
    title: str,
    fields: Sequence[FormField],
    then: Callable[[Typed], Awaitable[None]],
    *,
    check: Callable[[Typed], None] = lambda typed: None,
    typed: Typed | None = None,
    why: str = "",
    at: str = "",
) -> None:
    """Let a person fill in `fields` and do `then` with those that were changed.

    `at` is where the cursor begins, as in `FormScreen`. `check` raises an error of the tree for what can't be taken;
    what `then` raises is said above the same form, with what was typed.
    """

    def checked(changed: Typed) -> Typed:
        check(changed)
        return dict(changed)

    async def answered(changed: Typed | None) -> None:
        if not changed:
            return
        try:
            await then(changed)
        except NothingToDo:
            say(screen, "Nothing was changed")
        except NanomemError as error:
            ask_fields(screen, title, fields, then, check=check, typed=changed, why=error.line(), at=at)

    screen.ask(FormScreen(title, fields, checked, typed=typed, why=why, empty="needed", at=at), answered)
