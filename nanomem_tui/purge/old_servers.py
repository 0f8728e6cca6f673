"""The servers that the memory has left, and nobody uses any more: they are named, with what to do, and not touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanomem_tui.errors import NanomemError
from nanomem_tui.store import old_stores

if TYPE_CHECKING:
    from nanomem_tui.purge.databases import Memory


def named(memory: Memory) -> list[tuple[str, str]]:
    """List what may still hold a text, and why that is left: each server that the memory was on before it moved."""
    file = memory.paths.relative(memory.paths.data / old_stores.FILE)
    try:
        left = old_stores.known(memory.paths, memory.workspace_id).there
    except NanomemError as error:
        return [(file, error.line())]
    why = "what it holds is left: delete it there as docs/postgresql.md shows"
    return [
        (f"the old store {url}", f"{why}, then put a # before its line in {file}")
        for url in left
        if not _is_used(url, memory)
    ]


def _is_used(url: str, memory: Memory) -> bool:
    """Whether the memory is on that server now."""
    if memory.server is None:
        return False
    from nanomem_tui.store.postgres.server import address

    try:
        return address(url) == memory.server.settings
    except NanomemError:
        return False
