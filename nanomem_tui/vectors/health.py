"""What the doctor says of vectors and their index: settings that cannot work, rows that are none or of other texts,
what is left of other models, a folder of Chroma that cannot be used.

Reads only, asks no endpoint for a vector, and loads a model of this machine only where there are vectors of it to be
compared.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from operator import mul
from typing import TYPE_CHECKING

from nanomem_tui.errors import MissingExtra, NanomemError, Problem
from nanomem_tui.installing import extra_command
from nanomem_tui.text import counted
from nanomem_tui.vectors.collection import ITEMS, VectorFile, numbers_of
from nanomem_tui.vectors.records import RecordTexts
from nanomem_tui.vectors.texts import is_active, wanted

if TYPE_CHECKING:
    from pathlib import Path

    from nanomem_tui.settings import Settings
    from nanomem_tui.store.memory_store import MemoryStore
    from nanomem_tui.vectors.embedders import Embedder

NAMES = (ITEMS, *RecordTexts.collections)
ANEW = "`nanomem memory reindex --vectors` makes it anew; until then the rows are searched"
AGAIN = "`nanomem memory reindex --vectors` embeds them anew"
EVERYTHING = "`nanomem memory reindex --vectors --anew` embeds everything anew"
USUAL = frozenset({"auto", "minilm", "reserved_hybrid"})
ON_THIS_MACHINE = USUAL | {"onnx"}
"""Backends that answer a few texts in a moment, and ask nobody."""
SAMPLE = 8
"""Vectors that are made once more, to see whether they are those that are kept."""
ALIKE = 0.9
"""The cosine of two vectors of one text at least; a run of other texts beside it changes the last digits."""


def problems(store: MemoryStore, settings: Settings) -> Iterator[Problem]:
    """Everything that is wrong with the vectors of a workspace, and with the copy outside that its settings name."""
    file = VectorFile(store.paths.vectors)
    try:
        yield from _embedding(store, settings, file)
        yield from _file(file)
    finally:
        file.close()
    if settings.vector_index == "chroma":
        yield from _chroma(store, settings)
    elif settings.vector_index == "pgvector":
        yield from _pgvector(settings)


def _file(file: VectorFile) -> Iterator[Problem]:
    """What is wrong with the file of the vectors."""
    where = file.path.name
    if not file.path.exists():
        return
    looks = ("SELECT number, at, text_hash, vector FROM vectors LIMIT 1", "SELECT name, value FROM marks LIMIT 1")
    whole = file.read(lambda c: [c.execute(one).fetchone() for one in looks], None) is not None
    if not whole or file.read(lambda c: c.execute("PRAGMA quick_check(1)").fetchone()[0], "") != "ok":
        what = "the file of the vectors is damaged, or lacks a table"
        yield Problem(what, where, None, "it is a cache: `nanomem memory reindex --vectors` makes it anew", "warning")
        return
    if bad := file.bad(NAMES):
        what = f"{counted(bad, 'vector')} of another size than the others, or with numbers that are none"
        yield Problem(what, where, None, AGAIN, "warning")
    held = file.counts([ITEMS])
    if len(held) > 1:
        listed = ", ".join(f"{count.rows:,} of {count.model}" for count in held)
        what = f"vectors of {len(held)} models: {listed}; those of one serve, and the others go when it has all"
        yield Problem(what, where, None, AGAIN, "note")


def _embedding(store: MemoryStore, settings: Settings, file: VectorFile) -> Iterator[Problem]:
    """What keeps the settings from giving a vector, and whether those that are there are of their texts."""
    if not settings.embedding_enabled:
        return
    from nanomem_tui.vectors import embedders

    try:
        embedder = embedders.embedder_of(settings, store.paths)
        if settings.embedding_backend in ON_THIS_MACHINE:
            yield from _sample(store, file, embedder)
    except MissingExtra as error:
        usual = settings.embedding_backend in USUAL
        yield Problem(error.what, "embedding_backend", None, error.fix, "note" if usual else "warning")
    except NanomemError as error:
        yield Problem(f"nothing is found by meaning: {error.what}", error.where, None, error.fix, "warning")


def _sample(store: MemoryStore, file: VectorFile, embedder: Embedder) -> Iterator[Problem]:
    """Whether some of the vectors are those of the texts that they say they are of."""
    if all(count.model != embedder.name for count in file.counts([ITEMS])):
        return
    snapshot = store.load("item")
    with snapshot.lock:
        asked = {item.id: wanted(item) for item in snapshot.items.values() if is_active(item)}
    every = sorted(asked)
    keys = every[:: max(1, len(every) // SAMPLE)][:SAMPLE]
    of_text = 'collection = ? AND model = ? AND "key" = ? AND text_hash = ?'
    query = f"SELECT CAST(vector AS BLOB) FROM vectors WHERE {of_text}"
    fit = []
    for one in (asked[key] for key in keys):
        values = (ITEMS, embedder.name, one.key, one.text_hash)
        row = file.read(lambda c, values=values: c.execute(query, values).fetchone(), None)  # type: ignore[misc]
        numbers = numbers_of(row[0], len(row[0]) // 4) if row is not None and row[0] is not None else None
        if numbers is not None:
            fit.append((one.text, numbers))
    if not fit:
        return
    made = embedder.embed([text for text, _ in fit])
    apart = sum(
        len(numbers) != len(vector) or sum(map(mul, numbers, vector.tolist())) < ALIKE
        for (_, numbers), vector in zip(fit, made, strict=True)
    )
    if apart:
        what = f"{apart} of {counted(len(fit), 'vector')} that were looked at are not of their texts"
        yield Problem(what, file.path.name, None, EVERYTHING, "warning")


def _chroma(store: MemoryStore, settings: Settings) -> Iterator[Problem]:
    from nanomem_tui.vectors import chroma

    if importlib.util.find_spec("chromadb") is None:
        what = "vector_index is chroma, and chromadb is not installed: the rows are searched"
        yield Problem(what, "the settings", None, extra_command("chroma"), "warning")
    try:
        folder = chroma.place_of(settings, store.paths).folder
        if folder is None or not folder.exists():
            return
        chroma.check_owner(folder, store.workspace_id)
        yield from _folder(folder, store.workspace_id)
    except NanomemError as error:
        yield Problem(error.what, error.where, None, error.fix, "warning")


def _folder(folder: Path, workspace_id: str) -> Iterator[Problem]:
    """What is wrong with the database in a folder of ours; Chroma's own files beside it are looked at by Chroma."""
    import sqlite3

    from nanomem_tui.formats.foreign_databases import open_read_only
    from nanomem_tui.vectors.chroma import COLLECTION, OWNER

    path = folder / "chroma.sqlite3"
    if not path.exists():
        if any(entry.is_dir() for entry in folder.iterdir()):
            yield Problem("its database is gone", str(folder), None, ANEW, "warning")
        return
    query = (
        "SELECT m.str_value FROM collections c JOIN collection_metadata m ON m.collection_id = c.id AND m.key = ?"
        " WHERE c.name = ?"
    )
    try:
        with open_read_only(path) as connection:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            owners = [owner for (owner,) in connection.execute(query, (OWNER, COLLECTION))] if verdict == "ok" else []
    except (NanomemError, sqlite3.Error) as error:
        what = error.what if isinstance(error, NanomemError) else f"of a version that is not known here ({error})"
        yield Problem(what, str(path), None, ANEW, "warning")
        return
    if verdict != "ok":
        yield Problem(f"damaged: {verdict}", str(path), None, ANEW, "warning")
    elif owners != [workspace_id]:
        yield Problem(f"its collection {COLLECTION} is not of this workspace", str(path), None, ANEW, "warning")


def _pgvector(settings: Settings) -> Iterator[Problem]:
    """What is wrong with the address, or keeps the index from being there."""
    from nanomem_tui.vectors.pgvector import PgServer

    try:
        server = PgServer(settings.pgvector_url)
        try:
            server.run(server.check)
        finally:
            server.close()
    except NanomemError as error:
        yield Problem(f"{error.what}: the rows are searched", error.where, None, error.fix, "warning")
