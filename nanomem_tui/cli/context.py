"""`nanomem context`: what an agent should know for a task, out of every tier, within a budget of tokens. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nanomem_tui.cli import output, passages
from nanomem_tui.cli.shared import Command, Count, Words, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.cli.tables import paragraph
from nanomem_tui.core.text import counted, one_line

if TYPE_CHECKING:
    from nanomem_tui.tiers.context import Context, ContextChunk

_BAR = 30  # cells
_SHOWN = 10  # of what was cut, where nobody wants an explanation
_INDENT = "  "


@click.command("context", cls=Command)
@click.argument("task", type=Words(), nargs=-1, required=True)
@click.option("--max-tokens", type=Count(1), help="Tokens of all chunks together at most (default: the setting).")
@click.option(
    "--tiers", type=Words(), multiple=True, metavar="TIER[,TIER]", help="Of these alone: operational, working, "
    "longterm, knowledge.",
)  # fmt: skip
@click.option("--channel", type=Words(), help="Items and lessons as seen from this channel.")
@click.option("--chat-id", type=Words(), help="Items and lessons as seen from this chat.")
@click.option("--sender-id", type=Words(), help="Items and lessons as seen by this person.")
@click.option("--explain", is_flag=True, help="Show the parts of each relevance, and everything that was left out.")
@click.option("--block", is_flag=True, help="Print the block that a model is given, all of it within the budget.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw the budget without block characters.")
@pass_state
def context(
    state: State,
    *,
    task: Sequence[str],
    max_tokens: int | None,
    tiers: Sequence[str],
    channel: str | None,
    chat_id: str | None,
    sender_id: str | None,
    explain: bool,
    block: bool,
    ascii_only: bool,
) -> None:
    """What is to be known for a task: events of now, records of work, items and lessons, documents.

    The best chunks first, none twice, never more tokens than asked for. Nothing is written by asking. Beside what reads
    as an order to a model stands a warning, here and in --json; --block leaves it out.

    \b
    Example:
      nanomem context "renew the certificates of web-1" --max-tokens 800
      nanomem context "why is nginx slow?" --tiers operational,working --explain
      nanomem context "why is nginx slow?" --block
    """
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.tiers.context_fitting import warning

    named = [tier for given in tiers for tier in given.split(",")]
    with state.open() as ws:
        found = ws.context.assemble(
            " ".join(task), max_tokens, named, Audience(channel, chat_id, sender_id), framed=block
        )
        text = ws.context.block(found) if block else ""
    body = found.to_json() | ({"block": text} if block else {})
    for row in body["chunks"]:
        if why := warning(row["source"], row["content"]):
            row["warning"] = why
    state.show(body, (lambda: text.split("\n")) if text else (lambda: _lines(found, explain, ascii_only)))
    if not state.json:
        output.notes([f"Note: {note}" for note in found.notes])


def _lines(found: Context, explain: bool, ascii_only: bool) -> list[str]:
    from nanomem_tui.tiers.context_fitting import warning

    width = output.terminal_width()
    lines: list[str] = []
    for chunk in found.chunks:
        lines += paragraph(_head(chunk), width)
        if why := warning(chunk.source, chunk.content):
            lines += [_INDENT + line for line in paragraph(f"Careful: it {why}.", width and width - len(_INDENT))]
        lines += [_INDENT + line for line in paragraph(chunk.content, width and width - len(_INDENT))]
        if explain:
            lines += [_INDENT + line for line in paragraph(_parts(chunk), width and width - len(_INDENT))]
        lines.append("")
    if not found.chunks:
        lines += [found.nothing, ""]
    lines.append(_budget(found, ascii_only))
    lines.append(f"Counted by {found.counted_by}.")
    if found.cut:
        many = len(found.cut) if explain else _SHOWN
        lines += ["", "Left out:"]
        lines += [one_line(f"  {one.relevance:.2f}  {one.source}  {one.why}", width or 0) for one in found.cut[:many]]
        if len(found.cut) > many:
            lines.append(f"  … and {len(found.cut) - many:,} more (--explain)")
    return lines


def _head(chunk: ContextChunk) -> str:
    shortened = f", of {chunk.whole:,}" if chunk.whole else ""
    return f"{chunk.relevance:.2f}  {chunk.source}  ({counted(chunk.tokens, 'token')}{shortened})"


def _parts(chunk: ContextChunk) -> str:
    return passages.parts(dict(chunk.parts))


def _budget(found: Context, ascii_only: bool) -> str:
    from nanomem_tui.widgets.plots import meter
    from nanomem_tui.widgets.signs import ASCII, UNICODE

    bar = meter(found.total_tokens / found.max_tokens, _BAR, ASCII if ascii_only else UNICODE)
    return f"{bar} {found.total_tokens:,} of {counted(found.max_tokens, 'token')}"
