"""nanomem: a terminal console and a local-first memory engine for AI agents.

The public names of the library are here, and each is imported when it is first asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, without its 5 ms: `nanomem --version` pays for nothing
if TYPE_CHECKING:
    from nanomem_tui.core.errors import NanomemError
    from nanomem_tui.memory.recall.recall import Question
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.memory.turns.request import turn_end, turn_input
    from nanomem_tui.tiers.semantic import KnowledgeBase, Memory
    from nanomem_tui.workspace import Workspace, open_workspace

__version__ = "0.1.0"
__all__ = [
    "Audience",
    "KnowledgeBase",
    "Memory",
    "NanomemError",
    "Question",
    "Workspace",
    "__version__",
    "open_workspace",
    "turn_end",
    "turn_input",
]

_PLACES = {
    "Audience": "memory.scopes",
    "KnowledgeBase": "tiers.semantic",
    "Memory": "tiers.semantic",
    "NanomemError": "core.errors",
    "Question": "memory.recall.recall",
    "Workspace": "workspace",
    "open_workspace": "workspace",
    "turn_end": "memory.turns.request",
    "turn_input": "memory.turns.request",
}


def __getattr__(name: str) -> object:
    """Return a public name from its module."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
