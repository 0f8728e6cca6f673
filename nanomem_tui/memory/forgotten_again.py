"""What was forgotten and stands in a document again, as an agent writes these by hand: no gate of ours sees it.

Looks by the hashes that are kept, and says where; what it is only the person knows. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from nanomem_tui import regular
from nanomem_tui.errors import Problem
from nanomem_tui.paths import Paths
from nanomem_tui.store import forgotten

SHOWN = 5
"""Lines of a document that are named."""


def problems(paths: Paths) -> Iterator[Problem]:
    """The documents and notes that hold what is forgotten. Raises the errors of `forgotten.load`, and OSError."""
    kept = forgotten.load(paths)
    if not kept:
        return
    for path in (*sorted(paths.workspace.glob("*.md")), *sorted(paths.memory.glob("*.md"))):
        if path.is_symlink() or not path.is_file():
            continue
        text = regular.read(path).decode("utf-8", "replace")
        lines = sorted({text.count("\n", 0, begin) + 1 for begin, _ in kept.places(text)})
        if lines:
            more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
            listed = ", ".join(map(str, lines[:SHOWN])) + more
            what = f"forgotten, and there again: line{'s' if len(lines) > 1 else ''} {listed}"
            yield Problem(what, paths.relative(path), lines[0], "`nanomem forget --again` takes it out", "warning")
