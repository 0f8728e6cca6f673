"""The one-time backfill (seed 001 §3): what people and agents wrote into Markdown before there was a store, as items.

Owns which files are read, once, and the operation that makes items of them. What a note says is `markdown`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents.markdown import daily_note_name, decode
from nanomem_tui.core import clock
from nanomem_tui.core.errors import NanomemError, NothingToDo, Problem
from nanomem_tui.core.files import read_file, regular_files
from nanomem_tui.core.operations import Actor, Operation, Perform, new_operation
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.memory import retention, scopes
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item

if TYPE_CHECKING:
    from nanomem_tui.memory.transfer.markdown import Piece
    from nanomem_tui.store.database.operation_log import LogEntry
    from nanomem_tui.store.memory_store import MemoryStore

MARKER = "backfill:v1"
KIND = "memory.backfill"
LEFT_OUT = frozenset({"HISTORY.md"})
MAX_FILE = 16 * 1024 * 1024


class Backfill(NamedTuple):
    """A backfill that is not done yet: the new items, of how many files, how many are here already or wait for a
    person, what could not be read, and whether it was done before."""

    items: tuple[Item, ...]
    files: tuple[str, ...]
    same: int
    inbox: int
    problems: tuple[Problem, ...]
    done: bool


def is_done(store: MemoryStore) -> bool:
    """Return whether the backfill was made, also one that was taken back or whose marker a crash prevented."""
    return done_at(store) is not None


def done_at(store: MemoryStore) -> str | None:
    """Return when the backfill was made, UTC ISO, or "" when nobody knows any more; None: it was not made."""
    marker = store.marker(MARKER)
    if marker is not None and clock.parse(marker) is not None:
        return marker
    made = newest(store)
    return made.operation.at if made is not None else "" if marker is not None else None


def newest(store: MemoryStore) -> LogEntry | None:
    """Return the last backfill that brought something, also one that was taken back; None: none did."""
    return store.journal.newest(KIND, "import") or store.journal.newest(KIND, "human")


def preview(store: MemoryStore, paths: Paths, settings: Settings) -> Backfill:
    """Return what `run` would add; what was deleted here stays away, what an undone backfill brought does not."""
    from nanomem_tui.language import secrets
    from nanomem_tui.memory import safety
    from nanomem_tui.memory.transfer.plan import key_of

    snapshot = store.load("item")
    problems: list[Problem] = []
    undone = store.journal.taken_back(KIND)
    with snapshot.lock:
        known = {key_of(row) for row in snapshot.items.values() if not (row.is_deleted and row.id in undone)}
    items: list[Item] = []
    looked_at: list[str] = []
    same = inbox = 0
    for name, path in files(paths):
        where = paths.relative(path)
        try:
            if path.stat().st_size > MAX_FILE:
                problems.append(Problem(f"more than {MAX_FILE // 2**20} MB", where, fix="import it by `memory import`"))
                continue
            text, bad = decode(read_file(path), where)
        except NanomemError as error:
            problems.append(Problem(error.what, where, fix=error.fix))
            continue
        except OSError:
            continue
        looked_at.append(where)
        problems += bad
        for row in _items(text, name, where, store.workspace_id, settings, problems):
            reason = safety.reason_to_hold(row.text) if key_of(row) not in known else ""
            shown = row._replace(text=secrets.mask(row.text)) if reason else row
            if known & {key_of(row), key_of(shown)}:
                same += 1
                continue
            known |= {key_of(row), key_of(shown)}
            inbox += bool(reason)
            items.append(scopes.hold_for_review(shown, reason, by="backfill") if reason else row)
    return Backfill(tuple(items), tuple(looked_at), same, inbox, tuple(problems), is_done(store))


def run(store: MemoryStore, plan: Backfill, perform: Perform | None = None, *, actor: Actor = "import") -> Operation:
    """Add what the plan shows, as one operation, and set the marker. Raises NothingToDo (with the marker set)."""
    if not plan.items:
        store.set_marker(MARKER, clock.iso(clock.now()))
        raise NothingToDo("nothing to take in", "memory/*.md", f"{counted(plan.same, 'item')} are here already")
    with store.deciding.alone():  # another process may have taken the same files in meanwhile
        known = {row.id for row in store.load("item").items.values() if not row.is_deleted}
        changes = [change_of("item", None, row) for row in plan.items if row.id not in known]
        if not changes:
            raise NothingToDo("nothing to take in", "memory/*.md", f"{counted(len(known), 'item')} are here already")
        label = f"backfill {counted(len(changes), 'item')} from {counted(len(plan.files), 'Markdown file')}"
        meta: Mapping[str, object] = {"started_by": "human" if actor == "human" else "agent"}
        operation = (perform or store.perform)(new_operation(KIND, label, changes, actor="import", meta=meta))
        store.set_marker(MARKER, operation.at)
        return operation


def run_once(store: MemoryStore, paths: Paths, settings: Settings, perform: Perform | None = None) -> Operation | None:
    """Return the backfill of the engine's first turn; None when it was made before or there is nothing to take in."""
    if is_done(store):
        return None
    try:
        return run(store, preview(store, paths, settings), perform)
    except NothingToDo:
        return None


def files(paths: Paths) -> list[tuple[str, Path]]:
    """Return the Markdown files of `memory/`: MEMORY.md, the notes of days, then the others."""
    names = [name for name, _ in regular_files(paths.memory, ".md") if name not in LEFT_OUT]
    ordered = sorted(names, key=lambda name: (name != "MEMORY.md", daily_note_name(name) is None, name))
    return [(name, paths.memory / name) for name in ordered]


def _items(
    text: str, name: str, where: str, workspace_id: str, settings: Settings, problems: list[Problem]
) -> list[Item]:
    """Return the items of one file. A daily note is of its day, and kept from now on as long as its kind is."""
    from nanomem_tui.memory.transfer import import_plan  # who asks whether it was done reads no note
    from nanomem_tui.memory.transfer.markdown import markdown_fields, markdown_pieces

    day = daily_note_name(name)
    now = clock.now()
    undated = {"created_at": clock.iso(now), "updated_at": clock.iso(now)}
    pieces, left = markdown_pieces(text, where)
    problems += left
    found: list[Item] = []
    for piece in pieces:
        fields = {**undated, **markdown_fields(piece, where, day, source="backfill")}
        fields |= {"id": _id(piece, where), "expires_at": retention.expires_at(piece.kind, now, settings)}
        try:
            found.append(import_plan.item(fields, workspace_id)[0])
        except import_plan.BadRow as error:
            problems.append(Problem(str(error), where, piece.line))
    return found


def _id(piece: Piece, where: str) -> str:
    """Return the same id whenever and wherever the same words of a file are taken in: two processes add one item."""
    import hashlib  # not for a status, which only asks whether this was done

    words = f"{where}\n{piece.text}"
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return f"md_{digest[:20]}"
