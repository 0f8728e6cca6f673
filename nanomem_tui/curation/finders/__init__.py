"""Who looks for things that want a person: one module for each kind of finding.

Owns which finders there are, in the order of `values.KINDS`. Must not decide anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanomem_tui.curation.values import Finder
    from nanomem_tui.workspace import Workspace


def finders(ws: Workspace) -> Sequence[Finder]:
    """The finders of one workspace, each new; what they need of it they read when they are asked to find."""
    from nanomem_tui.curation.finders.held import HeldBack

    return [HeldBack(ws.waits)]
