"""What differs between two moments as blocks of a detail or a dialog: a sign and the words of each row, the fields that
changed, the lines of files. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.text import one_line
from nanomem_tui.review.moments import Difference, value_of, words_of
from nanomem_tui.screens.rows import in_pairs
from nanomem_tui.widgets.diff import DiffLine, Hunk, Sign, spans_of
from nanomem_tui.widgets.document import Block, Body, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.agents.git import FileDiff
    from nanomem_tui.store.files import merge

SHOWN = 200  # rows
LINES = 400  # of a file
SILENT = frozenset({"updated_at", "key", "revision"})
TONES = {"+": "added", "-": "removed"}
SIGNS = {"added": ("+ ", "added"), "removed": ("- ", "removed"), "changed": ("~ ", "accent")}


def difference_blocks(found: Sequence[Difference], *, back: bool = False) -> list[Block]:
    """What became of each row; `back`: what bringing the past back makes of it."""
    blocks: list[Block] = []
    for one in found[:SHOWN]:
        old, new = (one.now, one.then) if back else (one.then, one.now)
        fate = "added" if old is None else "removed" if new is None else "changed"
        row = new or old
        assert row is not None
        kind = str(getattr(row, "kind", "") or one.layer)
        blocks.append(Spans((SIGNS[fate], (f"{kind} ", "dim"), (one_line(words_of(row), 300), "")), 2))
        if old is None or new is None:
            continue
        for name in one.fields:
            label, before, after = in_pairs(name, value_of(old, name), value_of(new, name))
            if name not in SILENT and before != after:
                lines = (DiffLine("-", one_line(before, 300)), DiffLine("+", one_line(after, 300)))
                for line, spans in spans_of(Hunk(lines)):
                    tone = TONES[line.sign]
                    blocks.append(Spans(((f"  {line.sign} ", tone), (label, "dim"), *spans), 4))
    if len(found) > SHOWN:
        blocks.append(Body(f"… and {len(found) - SHOWN:,} more", "dim"))
    return blocks


def file_blocks(files: Sequence[FileDiff]) -> list[Block]:
    """The lines that came and went, file by file."""
    blocks: list[Block] = []
    for one in files:
        blocks.append(Heading(one.path))
        lines = [pair for hunk in one.hunks for pair in spans_of(_changed(hunk))]
        blocks += [Spans(((f"{line.sign} ", TONES[line.sign]), *spans), 2) for line, spans in lines[:LINES]]
        if len(lines) > LINES:
            blocks.append(Body(f"… and {len(lines) - LINES:,} more lines", "dim"))
    return blocks


def _changed(hunk: merge.Hunk) -> Hunk:
    """The lines of a hunk that came or went."""
    signs: dict[str, Sign] = {"insert": "+", "delete": "-"}
    return Hunk(tuple(DiffLine(signs[x.tag], one_line(x.text, 1000)) for x in hunk.lines if x.tag in signs))
