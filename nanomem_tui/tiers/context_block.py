"""Context as a model is given it: one block, fenced and labelled as data, as the block of recall is.

What is in it is hostile: nothing can end the fence, begin a line of its own or hide a character; no part holds a
secret, and what reads as an order to the model is left out. Owns that form; what stands in it was chosen elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from nanomem_tui.memory import injection
from nanomem_tui.memory.prompt import HEAD, LEFT_OUT, plain, plain_lines
from nanomem_tui.memory.safety import FENCE_CLOSE, FENCE_OPEN
from nanomem_tui.tiers.context_values import ContextChunk

FRAME = f"{FENCE_OPEN}\n{HEAD}\n\n{FENCE_CLOSE}"
"""The block without anything in it."""


def rendered(chunks: Iterable[ContextChunk]) -> str:
    """The block of these chunks, best first; empty where there is none."""
    lines = [entry(chunk.source, chunk.content) for chunk in chunks]
    return "\n".join([FENCE_OPEN, HEAD, "", *lines, FENCE_CLOSE]) if lines else ""


@lru_cache(1024)
def entry(source: str, content: str) -> str:
    """One chunk in the block: where it comes from, and what it says, the lines after the first one indented."""
    said = LEFT_OUT if injection.reason(content) else plain_lines(content).replace("\n", "\n  ")
    return f"- [{plain(source)}] {said}"
