"""A folder of Chroma's PersistentClient, read without Chroma and without a trace: what it keeps beside its vectors.

Knows the tables of `chroma.sqlite3` from 0.4 on, and which collections the crystallized system (seed 003) used. The
vectors themselves lie in files of another form and are of no use here. Must not know what a fact is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.core.errors import BadInput, Problem
from nanomem_tui.formats.foreign_tables import Raw, Tables, tables

NAME = "chroma.sqlite3"
"""The database in such a folder."""
OURS = "nanomem.json"
"""A file in such a folder that nanomem made for its own index."""
COLLECTIONS = ("nanobot_facts", "nanobot_memory")
"""The collections of that system: its own name for facts, then the one of its first releases."""
DOCUMENT = "chroma:document"
"""The key under which a document is kept among the metadata."""

_NEEDED = {
    "collections": frozenset({"id", "name"}),
    "segments": frozenset({"id", "scope", "collection"}),
    "embeddings": frozenset({"id", "segment_id", "embedding_id", "seq_id"}),
    "embedding_metadata": frozenset({"id", "key", "string_value", "int_value", "float_value"}),
}
_VALUES = ("string_value", "int_value", "float_value", "bool_value")
_QUEUE = ("seq_id", "operation", "topic", "id", "metadata")
_ADD, _UPDATE, _UPSERT, _DELETE = range(4)


class ChromaEntry(NamedTuple):
    """An entry of a collection: its id, its metadata, and among them the document (under `DOCUMENT`)."""

    id: str
    collection: str
    metadata: dict[str, Any]


class ChromaFolder(NamedTuple):
    """What was read: the `entries` of the collections that were asked for, in their order, and how many entries each
    of the `others` has."""

    entries: list[ChromaEntry]
    others: dict[str, int]
    problems: list[Problem]


def database(path: Path) -> Path | None:
    """The database of the Chroma folder at `path`, which may be named itself; None when there is none."""
    found = path / NAME if path.is_dir() else path
    return found if found.name == NAME and found.is_file() else None


def read_chroma_folder(path: Path, where: str) -> ChromaFolder:
    """The entries of both collections in the database at `path`, and what could not be read.

    What waits in Chroma's queue and is in no table yet is read as if it were. Raises BadInput for a version whose
    tables are others, and like `foreign_databases.open_read_only`.
    """
    with tables(path, where) as source:
        _check(source, path)
        names = {str(raw["id"]): str(raw["name"]) for _, raw in source.rows("collections", ("id", "name"))}
        segments = _segments(source)
        found: dict[str, dict[str, dict[str, Any]]] = {
            key: {} for wanted in COLLECTIONS for key, name in names.items() if name == wanted
        }
        others = dict.fromkeys((name for name in names.values() if name not in COLLECTIONS), 0)
        by_number: dict[int, dict[str, Any]] = {}
        for _, raw in source.rows("embeddings", ("id", "segment_id", "embedding_id")):
            collection = segments.get(str(raw["segment_id"]), "")
            if collection in found:
                by_number[raw["id"]] = found[collection].setdefault(str(raw["embedding_id"]), {})
            elif collection in names:
                others[names[collection]] += 1
        for _, raw in source.rows("embedding_metadata", ("id", "key", *_VALUES)):
            if raw["id"] in by_number:
                by_number[raw["id"]][str(raw["key"])] = _value(raw)
        _replay(source, found, segments)
        entries = [ChromaEntry(key, names[of], meta) for of, rows in found.items() for key, meta in rows.items()]
        return ChromaFolder(entries, others, source.problems)


def _check(source: Tables, path: Path) -> None:
    for table, columns in _NEEDED.items():
        missing = sorted(columns - source.columns(table))
        if missing:
            what = f"no Chroma folder of a version that is known: its table {table} lacks {', '.join(missing)}"
            raise BadInput(what, str(path), "known are those of Chroma 0.4 to 1.5")


def _segments(source: Tables) -> dict[str, str]:
    """Whose segment of metadata each is: the id of its collection."""
    found = source.rows("segments", ("id", "scope", "collection"))
    return {str(raw["id"]): str(raw["collection"]) for _, raw in found if raw["scope"] == "METADATA"}


def _value(raw: Raw) -> Any:
    if raw.get("bool_value") is not None:
        return bool(raw["bool_value"])
    return next((raw[name] for name in _VALUES if raw.get(name) is not None), None)


def _replay(source: Tables, wanted: Mapping[str, dict[str, dict[str, Any]]], segments: Mapping[str, str]) -> None:
    """Do to the collections (by their ids) what was queued after the last change that is in their tables."""
    done = dict.fromkeys(wanted, 0)
    for table, columns in (("max_seq_id", ("segment_id", "seq_id")), ("embeddings", ("segment_id", "seq_id"))):
        for _, raw in source.rows(table, columns):
            collection = segments.get(str(raw["segment_id"]), "")
            if collection in done:
                done[collection] = max(done[collection], _number(raw["seq_id"]))
    for _, raw in source.rows("embeddings_queue", _QUEUE):
        collection = str(raw["topic"]).rpartition("/")[2]
        if collection in done and _number(raw["seq_id"]) > done[collection]:
            _apply(wanted[collection], raw)


def _apply(rows: dict[str, dict[str, Any]], raw: Raw) -> None:
    """One queued change, as Chroma makes it: a key of None goes."""
    key, operation = str(raw["id"]), raw["operation"]
    if operation == _DELETE:
        rows.pop(key, None)
        return
    if (operation == _ADD and key in rows) or (operation == _UPDATE and key not in rows):
        return
    try:
        told = json.loads(raw["metadata"] or "{}")
    except (ValueError, TypeError, RecursionError):
        return
    if isinstance(told, dict) and operation in (_ADD, _UPDATE, _UPSERT):
        merged = {**rows.get(key, {}), **told}
        rows[key] = {name: value for name, value in merged.items() if value is not None}


def _number(value: Any) -> int:
    """A position in the queue; releases before 0.5 kept it as bytes."""
    if isinstance(value, bytes):
        return int.from_bytes(value, "big")
    return value if isinstance(value, int) else 0
