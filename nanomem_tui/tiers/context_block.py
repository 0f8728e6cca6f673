"""Context as a model is given it: one block, fenced and labelled as data, as the block of recall is.

What is in it is hostile: nothing can end the fence, begin a line of its own or hide a character; no part holds a
secret, and what reads as an order to the model is left out. Owns that form; what stands in it was chosen elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nanomem_tui.memory import injection
from nanomem_tui.memory.prompt import HEAD, LEFT_OUT, plain, plain_lines
from nanomem_tui.memory.safety import FENCE_CLOSE, FENCE_OPEN
from nanomem_tui.tiers.context_values import TIERS, ContextChunk

_SIGNS = re.compile(r"[/#>]+")
"""What stands between the parts of a source."""
_BELOW = 400
"""Characters of a text that are read together with its heading."""
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
    tier = source.partition("/")[0]
    named = plain(source) if not _orders(source, content) else f"{tier}/{LEFT_OUT}" if tier in TIERS else LEFT_OUT
    return f"- [{named}] {said}"


def warning(source: str, content: str) -> str:
    """Why a chunk reads as an order to a model, or where it comes from does; empty when neither does."""
    return injection.reason(content) or _orders(source, content)


def _orders(source: str, content: str) -> str:
    """The same of where it comes from, alone or with what stands below it: who writes a document writes its title and
    its headings too."""
    written = _SIGNS.sub(" ", source)
    below = "" if injection.reason(content) else content[:_BELOW]
    return injection.reason(written) or injection.reason(f"{written} {below}")
