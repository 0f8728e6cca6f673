"""Field-by-field merge of one row that two writers changed (DESIGN: two writers). Pure."""

from __future__ import annotations

from typing import Any

from nanomem_tui.store.values import AnyRow, dumped

_ADDED = frozenset({"hits"})
_NEWEST = frozenset({"updated_at", "last_accessed_at", "last_applied_at"})
_TEXTS = frozenset({"text", "trigger", "bad_action", "better_action"})


def merge_row(base: AnyRow | None, ours: AnyRow, theirs: AnyRow) -> AnyRow:
    """The row that keeps what each side changed since `base`: hits add up, the newest time wins.

    Of a text that both changed differently the newer one stays, and the other is noted under `conflict` in the row's
    free fields, for a person to settle. A delete by either side stays a delete. The revision is that of `theirs`.
    """
    old: dict[str, Any] = base._asdict() if base is not None else {}
    mine, other = ours._asdict(), theirs._asdict()
    newer = other["updated_at"] > mine["updated_at"]
    merged: dict[str, Any] = {}
    conflicts: dict[str, Any] = {}
    for name, value in mine.items():
        start = old.get(name)
        if name in _ADDED:
            merged[name] = other[name] + max(0, value - start) if start is not None else max(value, other[name])
        elif value == other[name] or (base is not None and other[name] == start):
            merged[name] = value
        elif name in _NEWEST:
            merged[name] = max(filter(None, (value, other[name])), default=value)
        elif base is not None and value == start:
            merged[name] = other[name]
        elif name in _TEXTS:
            merged[name], conflicts[name] = (other[name], value) if newer else (value, other[name])
        else:
            merged[name] = value
    if base is None:
        merged["is_deleted"] = bool(mine["is_deleted"] or other["is_deleted"])
    merged["revision"] = other["revision"]
    if mine["meta_json"] != other["meta_json"] != old.get("meta_json") or conflicts:
        merged["meta_json"] = _merged_meta(base, ours, theirs, conflicts)
    return ours._replace(**merged)


def note_conflict(row: AnyRow, conflicts: dict[str, Any]) -> str:
    """The free fields of a row with those other texts noted, beside the ones that wait already."""
    return dumped({**row.meta, "conflict": {**_object(row.meta.get("conflict")), **conflicts}})


def noted(row: AnyRow | None) -> Any:
    """The other texts that are noted in a row; None where there are none."""
    return row.meta.get("conflict") if row is not None and "conflict" in row.meta_json else None


def kept_in_conflict(row: AnyRow) -> AnyRow:
    """A row that one edited and another one deleted, each without knowing of the other: it stays, for a person to
    settle."""
    return row._replace(is_deleted=False, meta_json=note_conflict(row, {"is_deleted": True}))


def _merged_meta(base: AnyRow | None, ours: AnyRow, theirs: AnyRow, conflicts: dict[str, Any]) -> str:
    start = base.meta if base is not None else {}
    mine, other = ours.meta, theirs.meta
    meta: dict[str, Any] = {}
    for name in {**other, **mine}:
        source = other if mine.get(name) == start.get(name) else mine
        if name in source:
            meta[name] = source[name]
    if conflicts:
        meta["conflict"] = {**_object(meta.get("conflict")), **conflicts}
    return dumped(meta)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
