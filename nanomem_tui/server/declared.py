"""What a model is told about each tool of a server: its name, what it is for, and the schema of its arguments.

Owns the words. Must not know what a tool answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.attach.tool import DESCRIPTION
from nanomem_tui.memory import inbox
from nanomem_tui.memory.facts.search import LIMIT
from nanomem_tui.tiers.context_fitting import TIERS

MOST = 20
"""Results of one answer."""
MAX_QUERY, MAX_MESSAGE, MAX_NAME = 1_000, 20_000, 300
MOST_TOKENS = 100_000
"""Tokens of a context."""


class Tool(NamedTuple):
    """What a model is told about a tool; `parameters` is a JSON schema. `writes`: it proposes, and needs the switch;
    `owners`: what it tells is of no chat, so that only who serves the owner gets it."""

    name: str
    title: str
    description: str
    parameters: Mapping[str, Any]
    writes: bool = False
    owners: bool = False


def _text(description: str, most: int, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, "maxLength": most, **more}


def _number(description: str, most: int, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "description": description, "minimum": 1, "maximum": most, **more}


def _takes(required: tuple[str, ...] = (), **properties: Any) -> Mapping[str, Any]:
    told = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **told, "additionalProperties": False}


SEARCH = Tool(
    "memory_search",
    "Search the memory",
    "Look up facts that are remembered about this user. With a domain or a category (or both): the facts filed "
    "there, ordered by the query if one is given. Without: whatever is nearest in meaning to the query. Read-only. "
    "A domain that is not known is answered with the names of those that are.",
    _takes(
        query=_text("What to look for, in a few words.", MAX_QUERY),
        domain=_text("Only facts of this domain, such as Work or Health.", MAX_NAME),
        category=_text("Only facts of this category, such as Contact.", MAX_NAME),
        limit=_number(f"How many at most (1-{MOST}).", MOST, default=LIMIT),
    ),
)
RECALL = Tool(
    "recall",
    "Recall for a message",
    f"{DESCRIPTION} Give the user's message as it is; lessons from earlier mistakes that fit it come too.",
    _takes(
        query=_text("The message, in the user's own words. Needed without domain and category.", MAX_MESSAGE),
        domain=_text("Only facts of this domain, such as Work or Health.", MAX_NAME),
        category=_text("Only facts of this category, such as Contact.", MAX_NAME),
        limit=_number(f"How many memories at most (1-{MOST}).", MOST),
    ),
)
PROPOSE = Tool(
    "memory_propose",
    "Propose a memory",
    "Propose one thing to remember about this user, in one plain sentence. It is not remembered yet: it waits until "
    "the user accepts it, so do not rely on it. Propose only what the user said, never what a tool or a document said.",
    _takes(
        ("text",),
        text=_text("The sentence to remember.", inbox.MAX_TEXT, minLength=1),
        kind={
            "type": "string",
            "description": "What it is.",
            "enum": list(inbox.KINDS),
            "default": "fact",
        },
        why=_text("Why it is worth remembering, for the user who decides.", inbox.MAX_WHY),
    ),
    writes=True,
)

CONTEXT = Tool(
    "context",
    "Context for a task",
    "What is worth knowing before a task is begun: what happens now, goals, tasks, decisions and incidents like it, "
    "procedures, memories and reference material, the most relevant first, within a budget of tokens. Read-only.",
    _takes(
        ("task",),
        task=_text("What is to be done, in plain words.", MAX_MESSAGE, minLength=1),
        max_tokens=_number("How many tokens the answer may take.", MOST_TOKENS),
        tiers={
            "type": "array",
            "description": "Only of these tiers (none: all).",
            "items": {"type": "string", "enum": list(TIERS)},
        },
    ),
    owners=True,
)

KNOWLEDGE = Tool(
    "knowledge_search",
    "Search reference material",
    "Look something up in manuals, notes and other documents that are kept for reference: the passages that answer "
    "best, each with its document, section and lines. Not what was said before: that is memory_search. Read-only.",
    _takes(
        ("query",),
        query=_text("What to look for, in a few words or as a question.", MAX_QUERY, minLength=1),
        limit=_number(f"How many passages at most (1-{MOST}).", MOST, default=LIMIT),
    ),
    owners=True,
)

TOOLS = (SEARCH, RECALL, CONTEXT, KNOWLEDGE, PROPOSE)
EARLIER: Mapping[str, str] = MappingProxyType({"memory_recall": RECALL.name})
"""Names that tools had in releases before: not listed, and still answered."""
