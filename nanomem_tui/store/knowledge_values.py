"""What the knowledge base holds, as values: documents, and the chunks that they are cut into."""

from __future__ import annotations

from typing import Any, NamedTuple

KINDS = ("file", "man", "package", "page", "pack", "solution", "nanomem")
"""Where documents come from; the last are the pages that this package brings along."""

PATH = " > "
"""What stands between the headings of a section."""


class Chunk(NamedTuple):
    """A piece of a document: under which headings it stands, its lines in the source (from 1), and its text."""

    section: str
    line_from: int
    line_to: int
    text: str


class Document(NamedTuple):
    """A document as it was read. `source` says where it can be found again, `about` what it is about in one line.

    `meta`: the `path` that it was read from, where sync may read it again, and `of`: what it was added as a part of.
    """

    kind: str
    title: str
    source: str
    chunks: tuple[Chunk, ...]
    about: str = ""
    meta: dict[str, Any] = {}


class KnowledgeDocument(NamedTuple):
    """A document of the knowledge base, without its text."""

    id: str
    kind: str
    title: str
    source: str
    about: str
    hash: str
    chunks: int
    added_at: str
    checked_at: str
    meta: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The document as a JSON object."""
        return self._asdict()


class KnowledgeHit(NamedTuple):
    """A chunk that a search found, with its place: document, section, and lines of the source."""

    id: str
    document_id: str
    kind: str
    title: str
    source: str
    section: str
    line_from: int
    line_to: int
    text: str
    score: float
    parts: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """The hit as a JSON object."""
        return self._asdict()
