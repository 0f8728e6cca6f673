"""Context assembly (seed 004): what an agent should know before it asks a model to do a task.

The task is read, the tiers are searched, and what they say is put on one scale, said once and within a budget of tokens
(`context_fitting`, `token_counts`). A look that writes nothing; the same store gives the same answer for the whole of a
day. Owns the order of these steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.settings import OFF, Settings
from nanomem_tui.language import secrets
from nanomem_tui.language.secrets import signs as secret_signs
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.tiers import context_fitting, context_sources, token_counts
from nanomem_tui.tiers.context_fitting import Budget
from nanomem_tui.tiers.context_sources import Parts
from nanomem_tui.tiers.context_values import TIERS, Context, ContextChunk, Finding, task_of, tiers_of

__all__ = ["MOST_TOKENS", "TIERS", "Context", "ContextAssembly", "ContextChunk"]

MOST_TOKENS = 1_000_000
"""The largest budget; one beyond it is this."""


class ContextAssembly:
    """Assembles context from the parts of one workspace. May be called from any thread."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts = parts
        self._settings = settings

    def assemble(
        self,
        task: str,
        max_tokens: int | None = None,
        tiers: Sequence[str] = (),
        audience: Audience | None = None,
        *,
        framed: bool = False,
    ) -> Context:
        """What is to be known for a task, best first, in at most `max_tokens` (None: the setting).

        `tiers`: these alone (none: all); `audience`: for whom, as in recall (None: the owner, who sees everything).
        `framed`: the block that is made of it stays within the budget too, frame and sources included. Raises BadInput
        for no task, no such tier, a budget of nothing, or an audience that cannot be, and the store's errors.

        No chunk holds a secret: each stands as its kind and a fingerprint.
        """
        asked = task_of(task)
        wanted = tiers_of(tiers)
        most = self._settings.context_max_tokens if max_tokens is None else min(max_tokens, MOST_TOKENS)
        if most < 1:
            raise BadInput("no room for context", f"{most} tokens", "give 1 or more")
        name, count = token_counts.counter(self._settings.context_tokenizer)
        if not self._settings.memory_enabled:
            return Context(asked, (), 0, most, name, wanted, notes=(OFF,))
        found = context_sources.look(self._parts, asked, wanted, audience or Audience())
        ranked = context_fitting.rank(found.findings, asked.words, clock.now().date())
        ranked = [one._replace(finding=_masked(one.finding)) for one in ranked]

        def cost(source: str, content: str) -> int:
            return count(context_fitting.entry(source, content) + "\n") if framed else count(content)

        room = most - (count(context_fitting.FRAME) if framed else 0)
        fitted = Budget(room, count, cost).fit(ranked)
        chunks = fitted.chunks
        while framed and chunks and count(context_fitting.rendered(chunks)) > most:
            last = chunks.pop()  # tokens of parts are not those of the whole, to the last one
            fitted.cut.insert(0, last._replace(tokens=0, whole=0, why="the budget is full"))
        notes = tuple(found.notes if asked.words else ["no word of the task says anything", *found.notes])
        total = sum(chunk.tokens for chunk in chunks)
        return Context(asked, tuple(chunks), total, most, name, wanted, tuple(fitted.cut), notes)

    def block(self, context: Context) -> str:
        """The block that a model is given; within the budget where the context was assembled `framed`."""
        return context_fitting.rendered(context.chunks)


def _masked(finding: Finding) -> Finding:
    """A finding without its secrets, before it is cut: of half a secret nobody would know what it is."""
    if not (secret_signs.may_hold(finding.content) or secret_signs.may_hold(finding.source)):
        return finding
    return finding._replace(content=secrets.mask(finding.content), place=secrets.mask(finding.place))
