"""nanomem: a terminal console and a local-first memory engine for AI agents."""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, without its 5 ms: `nanomem --version` pays for nothing
if TYPE_CHECKING:
    from nanomem_tui.tiers.semantic import KnowledgeBase, Memory
    from nanomem_tui.workspace import Workspace, open_workspace

__version__ = "0.1.0"
__all__ = ["KnowledgeBase", "Memory", "Workspace", "__version__", "open_workspace"]


def __getattr__(name: str) -> object:
    """The public names, imported when they are first asked for."""
    if name in ("Workspace", "open_workspace"):
        from nanomem_tui import workspace

        return getattr(workspace, name)
    if name in ("KnowledgeBase", "Memory"):
        from nanomem_tui.tiers import semantic

        return getattr(semantic, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
