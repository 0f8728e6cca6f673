"""A Chroma folder of the crystallized system (seed 003) as items: the facts that its index of vectors was made of.

Each fact is the same as in that system's table. Entries that are no facts, and other collections, are told.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nanomem_tui.agents import databases
from nanomem_tui.agents.databases import DOCUMENT, ChromaEntry
from nanomem_tui.core.text import counted
from nanomem_tui.memory.transfer import fact_rows
from nanomem_tui.memory.transfer.fact_rows import FactRow
from nanomem_tui.memory.transfer.record_rows import clock_there
from nanomem_tui.memory.transfer.values import Reading

FIELDS = frozenset({"text", "updated_at"})
_ID = re.compile(r"fact::(?P<category>.*?)::(?P<key>.*)", re.DOTALL)
_DOCUMENT = re.compile(
    r"(?:Domain: (?P<domain>[^\n]*)\n)?(?:Категория: (?P<category>[^\n]*)\n)?(?:Ключ: (?P<key>[^\n]*)\n)?"
    r"Значение: (?P<value>.*)",
    re.DOTALL,
)
_NAMES = ("category", "key", "value", "domain", "sub_category")


def read_chroma_facts(path: Path, where: str, workspace_id: str) -> Reading:
    """The facts in the database of such a folder. Raises BadInput for a version that is not known, and what opening
    does."""
    folder = databases.read_chroma_folder(path, where)
    facts = [entry for entry in folder.entries if entry.metadata.get("type", "fact") == "fact"]
    found, problems = fact_rows.read_fact_rows(map(_row, facts), where, workspace_id)
    notes = [
        f"{counted(number, 'entry', 'entries')} of the collection {fact_rows.shown(name)} are not those of an agent: "
        "left out."
        for name, number in folder.others.items()
        if number
    ]
    others = len(folder.entries) - len(facts)
    notes += [f"{counted(others, 'entry that is no fact', 'entries that are no facts')}: left out."] if others else []
    refused = {"fact": len(problems)}
    every = [*folder.problems, *problems]
    return Reading("chroma", found, every, fields=FIELDS, notes=notes, times=clock_there, refused=refused)


def _row(entry: ChromaEntry) -> FactRow:
    """An entry by the names of the table; what its metadata do not say is taken from the document, and from its id."""
    told: dict[str, Any] = {}
    for pattern, text in ((_ID, entry.id), (_DOCUMENT, entry.metadata.get(DOCUMENT))):
        match = pattern.fullmatch(text) if isinstance(text, str) else None
        told |= {name: value for name, value in match.groupdict().items() if value} if match is not None else {}
    meta = {name: _text(entry.metadata[name]) for name in _NAMES if entry.metadata.get(name) not in (None, "")}
    return FactRow(
        f"entry {fact_rows.shown(entry.id)}", {**told, **meta, "updated_at": entry.metadata.get("updated_at")}
    )


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
