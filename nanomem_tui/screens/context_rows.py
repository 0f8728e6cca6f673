"""What the Context screen shows, as values: what is asked, the answer, and its rows.

Asks the assembly (in a thread) and makes rows of what it says; it must not rank, cut or count by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core.text import counted
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.tiers.context_fitting import TIERS, ContextChunk

if TYPE_CHECKING:
    from nanomem_tui.tiers.context import Context
    from nanomem_tui.workspace import Workspace

RULE = "rule"
"""The id of the row between what is given and what is left out."""
BUDGETS = (50, 100, 200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000)
"""The budgets that keys lead through."""


class Asked(NamedTuple):
    """What a person wants to know: the task, of which tiers, in how many tokens, for whom."""

    text: str = ""
    tiers: tuple[str, ...] = TIERS
    max_tokens: int = 4_000
    audience: Audience = Audience()


class Answer(NamedTuple):
    """What the assembly said (None: no task yet), and the block that a model would be given."""

    asked: Asked
    context: Context | None = None
    block: str = ""


class ContextRow(NamedTuple):
    """A row of the list: a chunk that is given, one that was left out, or the rule between them."""

    answer: Answer
    found: ContextChunk | None = None
    rank: int = 0

    @property
    def id(self) -> str:
        """The source of it with its id, which one answer has once."""
        return f"{self.found.source} {self.found.id}" if self.found is not None else RULE

    @property
    def given(self) -> ContextChunk | None:
        """The chunk, where the row is one that is given."""
        return self.found if self.found is not None and not self.found.why else None

    @property
    def cut(self) -> ContextChunk | None:
        """What was left out, where the row is that."""
        return self.found if self.found is not None and self.found.why else None

    @property
    def text(self) -> str:
        """What the list says of it."""
        if self.found is None:
            return rule_of(self.answer)
        return f"{self.found.why}: {self.found.content}" if self.found.why else self.found.content


def answer(ws: Workspace, asked: Asked) -> Answer:
    """Ask; in a thread. Raises BadInput for somebody that cannot be, and the store's errors."""
    if not asked.text.strip():
        return Answer(asked)
    found = ws.context.assemble(asked.text, asked.max_tokens, asked.tiers, asked.audience)
    return Answer(asked, found, ws.context.block(found))


def rows_of(answer: Answer) -> list[ContextRow]:
    """What is given, the rule, and what was left out; nothing where nothing was asked."""
    if answer.context is None:
        return []
    rows = [ContextRow(answer, chunk, rank) for rank, chunk in enumerate(answer.context.chunks, 1)]
    return [*rows, ContextRow(answer), *(ContextRow(answer, one) for one in answer.context.cut)]


def rule_of(answer: Answer) -> str:
    """What is given in all, and how much was left out: short, for a narrow list."""
    context = answer.context
    if context is None:
        return ""
    if not context.chunks:
        return context.notes[0] if context.notes else context.nothing
    left = f"{len(context.cut):,} left out below" if context.cut else "nothing left out"
    return f"{counted(context.total_tokens, 'token')}, {left}"


def other_budget(tokens: int, step: int) -> int:
    """The next budget, or for a `step` of -1 the one before."""
    if step > 0:
        return next((budget for budget in BUDGETS if budget > tokens), BUDGETS[-1])
    return next((budget for budget in reversed(BUDGETS) if budget < tokens), BUDGETS[0])
