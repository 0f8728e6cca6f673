"""The workspace of a console, opened beside its start: a thread imports and reads while the screens are made.

Imports nothing slow: the first rows are read, and shown, before Textual is there.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import NanomemError

if TYPE_CHECKING:
    from nanomem_tui.core.config import Loaded
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.store.database.operation_log import OwnChanges
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace

FIRST_PAGE = 100  # rows


class Opening:
    """A workspace that is opened when it is first asked for, or ahead of that in a thread."""

    def __init__(self, paths: Paths, loaded: Loaded, *, made_up: str = "") -> None:
        """`made_up`: what a demonstration is called, which nobody wants to be remembered."""
        if loaded.settings.keys:
            from nanomem_tui.actions import judged

            loaded = judged(loaded)
        self.paths = paths
        self.loaded = loaded
        self.made_up = made_up
        self.opened: Workspace | None = None
        self._own_changes: OwnChanges | None = None
        self.first_page: list[Item] = []
        self._lock = threading.Lock()
        self._read = threading.Event()

    @property
    def own_changes(self) -> OwnChanges:
        """What was changed in this console, for its undo."""
        if self._own_changes is None:
            from nanomem_tui.store.database.operation_log import (
                OwnChanges,  # with the store, which the first frame does not need
            )

            self._own_changes = OwnChanges()
        return self._own_changes

    @own_changes.setter
    def own_changes(self, changes: OwnChanges) -> None:
        self._own_changes = changes

    def ahead(self) -> None:
        """Begin now, in a thread: nobody has to wait, and an error is met again by who asks for the rows."""
        threading.Thread(target=self.read, name="nanomem-opening", daemon=True).start()

    def read(self) -> None:
        """Read the first page; who asks for the rows is told what is wrong. Never raises."""
        try:
            self.first_page = self.workspace().items.first(FIRST_PAGE)
        except Exception:  # noqa: BLE001 - the screen reads again and shows what is wrong
            self.first_page = []
        self._read.set()
        if self.loaded.settings.remember_workspaces and not self.made_up:
            from nanomem_tui.store.files import user

            user.note_workspace(self.paths.workspace)

    def close(self) -> NanomemError | None:
        """Save what waits and close the workspace; return the error where that failed."""
        with self._lock:
            if self.opened is None:
                return None
            try:
                self.opened.close()
            except NanomemError as error:
                return error
            return None

    def wait(self, seconds: float) -> list[Item]:
        """The first page when it is there within `seconds`, else nothing."""
        self._read.wait(seconds)
        return self.first_page

    def workspace(self) -> Workspace:
        """The workspace; the first use takes some 50 ms, so ask in a thread."""
        with self._lock:
            if self.opened is None:
                from nanomem_tui.workspace import Workspace

                self.opened = Workspace(self.paths, self.loaded)
                self.opened.own_changes = self.own_changes
            return self.opened
