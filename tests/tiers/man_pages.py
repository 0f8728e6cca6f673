"""The man pages of 200 commands (`make manuals`, else those of the machine) and questions labelled for them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nanomem_tui.store.work.values import KnowledgeHit
from nanomem_tui.tiers import knowledge_sources
from nanomem_tui.tiers.knowledge_sources import Found

HERE = Path(__file__).resolve().parent
UNPACKED = HERE.parents[1] / ".peers" / "man" / "man"
COMMANDS = (HERE / "man_commands.txt").read_text().split()
SETS = ("keywords", "questions")
"""What people type into a search, and what they would ask somebody."""


def questions(name: str) -> list[dict[str, Any]]:
    """Fifty questions, each with the pages that answer it and the sections of each that do."""
    found: list[dict[str, Any]] = json.loads((HERE / f"man_{name}.json").read_text())
    return found


def manuals() -> Found | None:
    """The pages of the commands; None where they are not all here."""
    before = os.environ.get("MANPATH")
    if UNPACKED.is_dir():
        os.environ["MANPATH"] = str(UNPACKED)
    try:
        every = {(page.name, page.section): page for page in knowledge_sources.manual_pages()}
        sections = ("8", "1", "1ssl")
        wanted = [next((every[name, one] for one in sections if (name, one) in every), None) for name in COMMANDS]
        pages = [page for page in wanted if page is not None]
        return knowledge_sources.read_manuals(pages, "") if len(pages) == len(COMMANDS) else None
    finally:
        if before is None:
            os.environ.pop("MANPATH", None)
        else:
            os.environ["MANPATH"] = before


def answers(question: dict[str, Any], hit: KnowledgeHit) -> bool:
    """Whether a hit is in a section that answers the question."""
    sections = question["answers"].get(hit.title, ())
    return any(hit.section == one or hit.section.startswith(f"{one} > ") for one in sections)
