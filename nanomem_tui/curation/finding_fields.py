"""The filter language on findings: its fields, and what each means of a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nanomem_tui.curation.values import Finding
from nanomem_tui.memory.filters import Kind

FINDING_FIELDS: Mapping[str, Kind] = {
    "is": "text", "why": "text", "scope": "text", "source": "text", "age": "age", "kind": "text", "sure": "number",
    "id": "text",
}  # fmt: skip
_VALUES: Mapping[str, Callable[[Finding], Any]] = {
    "is": lambda row: {row.kind, row.layer}, "kind": lambda row: row.kind, "why": lambda row: row.why,
    "age": lambda row: row.since, "scope": lambda row: row.scope_key, "source": lambda row: row.source,
    "sure": lambda row: row.weight, "id": lambda row: {row.id, *row.ids},
}  # fmt: skip


def finding_field(row: Finding, name: str) -> Any:
    """A field of a finding; `is` is its kind, or item, lesson or edit."""
    return _VALUES[name](row)


def finding_text(row: Finding) -> str:
    """What words are searched in: the text, the reason and what it is."""
    return f"{row.text}\n{row.why}\n{row.kind}"
