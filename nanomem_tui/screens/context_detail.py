"""What the Context screen tells of one row: the chunk, its relevance in parts, the budget by tier, the model's block.

Pure: values in, a `Document` out. Texts are untrusted; the layout makes them safe.
"""

from __future__ import annotations

from collections.abc import Iterator

from nanomem_tui.core.text import counted
from nanomem_tui.screens.context_rows import Answer, ContextRow, rule_of
from nanomem_tui.screens.recall_detail import MARKED, METER, marked
from nanomem_tui.screens.rows import when
from nanomem_tui.tiers.context import Context
from nanomem_tui.tiers.context_fitting import ContextChunk
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Spans
from nanomem_tui.widgets.plots import bars, meter
from nanomem_tui.widgets.signs import UNICODE, Glyphs

HOW = "relevance = match × tier × (1 + 0.15 recency + 0.15 importance) / 1.3"
PLOT = 40
"""Cells of the plot of tokens by tier."""


def document(row: ContextRow, signs: Glyphs = UNICODE) -> Document:
    """All there is to tell of a row."""
    blocks: list[Block] = []
    if row.found is None:
        blocks.append(Body(rule_of(row.answer)))
    else:
        blocks += _found(row, row.found, signs)
    if row.answer.context is not None:
        blocks += _whole(row.answer, row.answer.context, signs)
    return Document(tuple(blocks), copy=row.found.content if row.found is not None else row.answer.block)


def _found(row: ContextRow, found: ContextChunk, signs: Glyphs) -> Iterator[Block]:
    for line in found.content[:MARKED].split("\n"):
        yield Spans(tuple(marked(line, found.parts.get("terms", ()))), 2)
    if len(found.content) > MARKED:
        yield Body(f"… {len(found.content) - MARKED:,} more characters", "dim")
    if found.why:
        yield Body(f"Left out: {found.why}.", "warn")
    elif found.whole:
        yield Body(f"Given: number {row.rank}, {found.tokens:,} of its {counted(found.whole, 'token')}.", "warn")
    else:
        yield Body(f"Given: number {row.rank}, {counted(found.tokens, 'token')}.", "good")
    yield Heading(f"Relevance {found.relevance:.4f}")
    parts = [(name, value) for name, value in found.parts.items() if isinstance(value, float)]
    lines = [f"{name:<11}{value:>7.4f} {meter(value, METER, signs)}" for name, value in parts]
    yield Body("\n".join(lines), keep=True)
    yield Body(HOW if signs.eighths else HOW.replace("×", "x"), "dim")
    yield Field("source", found.source)
    if found.at and not found.why:
        yield Field("when", when(found.at))


def _whole(answer: Answer, context: Context, signs: Glyphs) -> Iterator[Block]:
    """What does not depend on the row: the task as it was read, the budget, the block."""
    yield Heading("The task")
    yield Field("words", ", ".join(context.task.written.values()) or "none that say anything")
    if context.task.names:
        yield Field("names", ", ".join(context.task.names))
    for note in context.notes:
        yield Field("note", note, "warn")
    yield Heading(f"The budget: {context.total_tokens:,} of {counted(context.max_tokens, 'token')}")
    by_tier = {tier: sum(one.tokens for one in context.chunks if one.tier == tier) for tier in context.tiers}
    yield Body("\n".join(bars([(tier, float(many)) for tier, many in by_tier.items()], PLOT, signs)), keep=True)
    yield Field("counted by", context.counted_by)
    yield Heading(f"The block that a model gets ({len(answer.block):,} characters)")
    yield Body(answer.block) if answer.block else Body("None: there is nothing to tell it.", "dim")
