"""Field-by-field merge of one row that two writers changed (DESIGN: two writers). Pure."""

from __future__ import annotations

import json
from typing import Any

from nanomem_tui.store.values import Row

_ADDED = frozenset({"hits"})
_NEWEST = frozenset({"updated_at", "last_accessed_at", "last_applied_at"})
_TEXTS = frozenset({"text", "trigger", "bad_action", "better_action"})


def merge_row(base: Row | None, ours: Row, theirs: Row) -> Row:
    """The row that keeps what each side changed since `base`: hits add up, the newest time wins.

    A text that both changed differently stays ours and is noted under `conflict` in the row's free fields, for a
    person to settle. A delete by either side stays a delete.
    """
    old: dict[str, Any] = base._asdict() if base is not None else {}
    mine, other = ours._asdict(), theirs._asdict()
    merged: dict[str, Any] = {}
    conflicts: dict[str, Any] = {}
    for name, value in mine.items():
        start = old.get(name)
        if value == other[name] or other[name] == start:
            merged[name] = value
        elif name in _ADDED:
            merged[name] = other[name] + max(0, value - (start or 0))
        elif name in _NEWEST:
            merged[name] = max(filter(None, (value, other[name])), default=value)
        elif value == start:
            merged[name] = other[name]
        else:
            merged[name] = value
            if name in _TEXTS:
                conflicts[name] = other[name]
    merged["is_deleted"] = bool(mine["is_deleted"] or other["is_deleted"])
    merged["revision"] = other["revision"]
    if conflicts:
        meta = json.loads(merged["meta_json"]) if merged["meta_json"] else {}
        merged["meta_json"] = json.dumps({**meta, "conflict": conflicts}, ensure_ascii=False, sort_keys=True)
    return ours._replace(**merged)
