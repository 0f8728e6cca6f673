"""What is being written when the console is ended from outside, or a merge is put away, is kept, and offered where the
same is edited again."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.text import counted
from nanomem_tui.store.files.user import Drafts
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.app import Switching


def keep_drafts(console: Switching) -> None:
    """Keep what every open editor holds and nobody saved; where nothing can be written that is lost."""
    from nanomem_tui.screens.merge_dialog import MergeScreen
    from nanomem_tui.widgets.prompt import EditScreen  # dialogs are no part of the start

    for shown in console.screen_stack:
        if isinstance(shown, EditScreen | MergeScreen) and (text := shown.draft) is not None:
            with contextlib.suppress(OSError, NanomemError):
                Drafts(console.opening.paths).keep(*shown.draft_of, text)


def offer_draft(console: Switching, dialog: Screen[Any]) -> None:
    """Begin an editor with the draft that belongs to it."""
    from nanomem_tui.widgets.prompt import EditScreen

    if isinstance(dialog, EditScreen) and (text := Drafts(console.opening.paths).of(*dialog.draft_of)) is not None:
        dialog.take_draft(text)


def answered(console: Switching, dialog: Screen[Any], answer: object) -> None:
    """An editor was saved or left by who saw its draft: it goes. A merge that was put away is kept as one."""
    from nanomem_tui.screens.merge_dialog import MergeScreen
    from nanomem_tui.widgets.prompt import EditScreen

    if isinstance(dialog, EditScreen):
        Drafts(console.opening.paths).drop(*dialog.draft_of)
    elif isinstance(dialog, MergeScreen) and answer is None:
        Drafts(console.opening.paths).keep(*dialog.draft_of, dialog.draft)
        say(console.main_screen, "Not saved, and kept: edit the file again to go on with both sides of it", "warning")


def tell_drafts(console: Switching) -> None:
    """Say that there are some."""
    if number := Drafts(console.opening.paths).count():
        text = f"{counted(number, 'text')} not saved yet: edit the same again, it is kept there"
        say(console.main_screen, text, "warning")
