"""Which agent made an operation: its name, in the free field `agent` of what an agent or an import did.

Owns that field and where the name comes from. Operations without it are older, or of a person; they stay as they are.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from nanomem_tui.operations import SIGNED, Operation, Value
from nanomem_tui.paths import Paths, usual_name
from nanomem_tui.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.settings import Settings

LONGEST = 60


def agent_name(settings: Settings, found: Paths) -> str:
    """What the agent of a workspace is called: as the settings or its own configuration say, else as its home."""
    return one_line(settings.agent_name or usual_name(found), LONGEST).strip()


def signature(settings: Settings, found: Paths) -> Value:
    """The field as each operation of that agent has it."""
    return MappingProxyType({SIGNED: agent_name(settings, found)})


def signed(operation: Operation, signature: Value) -> Operation:
    """The operation with the name of its agent; as it is where it is a person's, a Dream's, or names one already."""
    if operation.actor not in ("agent", "import") or SIGNED in operation.meta:
        return operation
    return operation._replace(meta={**operation.meta, **signature})
