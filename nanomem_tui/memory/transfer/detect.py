"""What a file to import is, by what is in it, and its rows; and which sources of memories lie around a workspace.

Reads only, and never `reply_context.db`, which is the agent's and holds no memories.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.agents import databases
from nanomem_tui.core import files
from nanomem_tui.core.errors import AccessDenied, BadInput, NanomemError, NotFound, Refused
from nanomem_tui.core.files import read_file
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory import foreign
from nanomem_tui.memory.transfer import chroma, facts, folders, jsonl, markdown, ram_first, scoped
from nanomem_tui.memory.transfer.values import Reading

FORBIDDEN = "reply_context.db"
MAX_FILE = 512 * 1024 * 1024
_SQLITE = b"SQLite format 3\0"
_RANKS = ("nanomem-db", "jsonl", "json", "scoped-db", "ltm-snapshot", "lessons", "facts-db", "chroma", "markdown",
          "working-db", "longterm-db")  # fmt: skip
"""The formats, those that hold most of a row first: of a row that comes twice the first is taken."""
_UNKNOWN = "not a format that is known"
_KNOWN = (
    "LTM_SNAPSHOT.json, LESSONS.jsonl, longterm.db, memory.db, working.db, a Chroma folder, Markdown, or an export of "
    "nanomem"
)


class Candidate(NamedTuple):
    """A source of memories beside the workspace, and why it is one."""

    path: Path
    format: str
    why: str


def candidates(paths: Paths, settings: Settings) -> list[Candidate]:
    """The databases of other systems that belong to this workspace: in its home, or named by the agent's settings."""
    likely = [
        (paths.longterm_db, "in the agent's home"),
        (foreign.named(paths, settings), "named by memory.dbPath"),
        (paths.facts_db, "in the agent's home"),
    ]
    found: list[Candidate] = []
    for path, why in likely:
        if path is None or path.name == FORBIDDEN or any(foreign.same_file(path, one.path) for one in found):
            continue
        kind = databases.identify(path) if path.is_file() else None
        if kind in ("scoped", "facts"):
            found.append(Candidate(path, f"{kind}-db", why))
    if not found:  # else it is an index of what was found
        found += [Candidate(path, "chroma", "in the agent's home") for path in folders.chroma(paths.home)]
    return found


def read(path: Path, paths: Paths, workspace_id: str, source_workspace: str = "") -> list[tuple[Path, Reading]]:
    """What is in a file, or in the known files of a folder. Raises NotFound, BadInput, AccessDenied or Refused."""
    database = databases.database(path)
    if path.is_dir() and database is None:
        return _read_folder(path, paths, workspace_id, source_workspace)
    path = database or path
    return [(path, _read_one(path, paths, workspace_id, source_workspace))]


def _read_folder(folder: Path, paths: Paths, workspace_id: str, source_workspace: str) -> list[tuple[Path, Reading]]:
    """Each file of a folder that is known by its name, or in a folder that is no agent's by what is in it."""
    known = folders.files(folder)
    found = [(file, _read_one(file, paths, workspace_id, source_workspace)) for file in known]
    refused: dict[Path, str] = {}
    others = folders.other_folders(folder, known)
    for file in others:
        try:
            if file.name in folders.INSTRUCTIONS or not _may_hold_memories(file):
                raise BadInput("instructions to an agent" if file.name in folders.INSTRUCTIONS else _UNKNOWN)
            asked = source_workspace if _head(file) == _SQLITE else ""
            found.append((file, _read_one(file, paths, workspace_id, asked)))
        except NanomemError as error:
            refused[file] = error.what
    told = folders.left(folder, [file for file, _ in found], refused)
    if not found:
        what = " ".join(["no memories of a known format in that folder.", *told]).removesuffix(".")
        raise BadInput(what, str(folder), f"name a file: {_KNOWN}")
    if others:
        found.sort(key=lambda one: _RANKS.index(one[1].format))
    (first, reading), *rest = found
    return [(first, reading._replace(notes=[*told, *reading.notes])), *rest]


def _may_hold_memories(path: Path) -> bool:
    """Whether the beginning of a file could be that of a known format: what is large is not read for nothing."""
    _check(path)
    head = _head(path, 65_536)
    return head.startswith(_SQLITE) or files.is_wide(head) or b"\0" not in head


def _head(path: Path, size: int = len(_SQLITE)) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise AccessDenied(f"cannot be read ({error.strerror})", str(path), "check its owner and mode") from error


def _read_one(path: Path, paths: Paths, workspace_id: str, source_workspace: str) -> Reading:
    where = paths.relative(path)
    _check(path)
    if _head(path) == _SQLITE:
        return _read_database(path, where, paths, workspace_id, source_workspace)
    if source_workspace:
        raise BadInput("no database, so it holds no workspaces", str(path), "leave --source-workspace out")
    return read_bytes(read_file(path.resolve()), path.name, where, workspace_id)


def _check(path: Path) -> None:
    if path.name == FORBIDDEN:
        raise Refused("that file is the agent's reply context and holds no memories", str(path), "it is never opened")
    if not path.exists():
        raise NotFound("no such file", str(path), "check the path")
    if not path.is_file():
        raise BadInput("not a regular file", str(path), f"name a file: {_KNOWN}")
    if path.stat().st_size > MAX_FILE:
        raise BadInput(f"more than {MAX_FILE // 2**20} MB", str(path), "import it in parts")


def _read_database(path: Path, where: str, paths: Paths, workspace_id: str, source_workspace: str) -> Reading:
    kind = databases.identify(path)
    if kind == "scoped":
        return scoped.read(path, where, workspace_id, foreign.folder_id(paths), source_workspace)
    if kind == "facts":
        return facts.read_memory_db(path, where, workspace_id)
    if kind in ("working", "longterm-records"):
        from nanomem_tui.memory.transfer import work  # who only looks which files there are has no use for it

        return work.read(path, where, "working-db" if kind == "working" else "longterm-db")
    if kind == "chroma" or path.name == databases.NAME:
        return chroma.read_chroma_facts(path, where, workspace_id)
    if kind is None:
        with databases.open_read_only(path):  # says what is wrong with a damaged one
            pass
    what = "a database of another system" if kind is None else f"a database of {kind.replace('-', ' ')}"
    raise BadInput(f"{what}, which holds no memories to import", str(path), f"known are {_KNOWN}")


def read_bytes(data: bytes, name: str, where: str, workspace_id: str) -> Reading:
    """What is in the bytes of a file that is no database. Raises BadInput for what is none of the known formats."""
    data = files.plain(data)
    start = data[:65536].removeprefix(b"\xef\xbb\xbf").lstrip()
    if jsonl.is_ours(data):
        return jsonl.read(data, where, workspace_id)
    if name.lower().endswith((".md", ".markdown")):
        return markdown.read(data, where, workspace_id)
    if start.startswith(b"{"):
        if _is_lessons(start):
            return ram_first.read(ram_first.LESSONS, data, where, workspace_id)
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(data)
            if jsonl.is_document(value):
                return jsonl.read_document(value, where, workspace_id)
        if b'"items"' in start:
            return ram_first.read(ram_first.SNAPSHOT, data, where, workspace_id)
        if name == "LESSONS.jsonl":
            return ram_first.read(ram_first.LESSONS, data, where, workspace_id)
    if name in ("LTM_SNAPSHOT.json", "LESSONS.jsonl"):
        source = ram_first.SNAPSHOT if name == "LTM_SNAPSHOT.json" else ram_first.LESSONS
        return ram_first.read(source, data, where, workspace_id)
    if markdown.is_page(data):
        return markdown.read(data, where, workspace_id)
    if name.lower().endswith(".txt"):
        return markdown.read(data, where, workspace_id, by_line=True)
    raise BadInput(_UNKNOWN, where, f"known are {_KNOWN}")


def _is_lessons(start: bytes) -> bool:
    """Whether a text begins with lines that are lessons; the first may be damaged."""
    for line in start.split(b"\n")[:20]:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line)
            return isinstance(value, dict) and "trigger" in value and "items" not in value
    return False
