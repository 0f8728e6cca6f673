"""The documents of the knowledge base on the Tiers screen: each with its source, unfolded with its sections.

Reads through the workspace, in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nanomem_tui.core.text import counted
from nanomem_tui.screens.knowledge_detail import Title
from nanomem_tui.screens.rows import age_of
from nanomem_tui.screens.transcript import Preface
from nanomem_tui.widgets.document import Block, Body, Line, Spans, lay_out
from nanomem_tui.widgets.parts_view import Part

if TYPE_CHECKING:
    from nanomem_tui.store.work.values import KnowledgeDocument
    from nanomem_tui.workspace import Workspace

SHOWN = 200  # documents, the newest
UNFOLDED = 30  # documents whose sections are read
NOTHING = (
    "None was added yet: `nanomem knowledge add` takes a file, a folder, a man page or what a package documents. The "
    "pages of nanomem itself are searched too."
)


@dataclass(frozen=True, slots=True)
class Filed:
    """A document; enter unfolds its sections."""

    document: KnowledgeDocument
    sections: tuple[tuple[str, int], ...]
    stops: bool = True

    @property
    def key(self) -> str:
        """Its id."""
        return self.document.id

    def lines(self, width: int, unfolded: bool, wrapped: bool) -> list[Line]:
        """Its title, how long it is, where it is from."""
        one = self.document
        long = counted(one.chunks, "chunk")
        head = ((f"{age_of(one.added_at)}  ", "dim"), (one.title, ""), (f"  {one.kind}, {long}  ", "dim"))
        blocks: list[Block] = [Spans((*head, (one.source, "label")), 4)]
        if unfolded:
            blocks += [Spans(((f"    {line:>6,}  ", "dim"), (section, "")), 12) for section, line in self.sections]
            blocks += [] if self.sections else [Body(f"nanomem knowledge show {one.id}", "dim", 4)]
        return lay_out(blocks, width, wrapped)

    def plain(self) -> str:
        """Its title, source and sections."""
        return "\n".join((f"{self.document.title}: {self.document.source}", *(section for section, _ in self.sections)))


def added(ws: Workspace) -> list[KnowledgeDocument]:
    """The documents that were added, the newest first. Raises the errors of the store."""
    return sorted(ws.knowledge.documents(own=False), key=lambda one: one.added_at, reverse=True)


def parts_of(ws: Workspace) -> list[Part]:
    """The documents, each with its sections. Raises the errors of the store."""
    documents = added(ws)
    head: list[Block] = [Spans((("Documents", "heading"),)), Body("What can be looked up: the knowledge base.", "dim")]
    if not documents:
        return [Preface((*head, Body(""), Body(NOTHING, "dim")))]
    more = f"the newest {SHOWN:,} of {len(documents):,}" if len(documents) > SHOWN else "enter shows the sections"
    parts: list[Part] = [Preface(tuple(head)), Title("documents", f"Added ({len(documents):,})", more)]
    for place, document in enumerate(documents[:SHOWN]):
        chunks = ws.knowledge.chunks(document.id) if place < UNFOLDED else []
        sections: dict[str, int] = {}
        for _, chunk in chunks:
            sections.setdefault(chunk.section, chunk.line_from)
        parts.append(Filed(document, tuple(sections.items())))
    return parts
