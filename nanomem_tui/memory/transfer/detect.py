"""What a file to import is, by what is in it, and its rows; and which sources of memories lie around a workspace.

Reads only, and never `reply_context.db`, which is the agent's and holds no memories.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.errors import AccessDenied, BadInput, NotFound, Refused
from nanomem_tui.formats import foreign_databases
from nanomem_tui.memory import foreign
from nanomem_tui.memory.reading import read_file
from nanomem_tui.memory.transfer import facts, folders, jsonl, markdown, ram_first, scoped
from nanomem_tui.memory.transfer.values import Reading
from nanomem_tui.paths import Paths
from nanomem_tui.settings import Settings

FORBIDDEN = "reply_context.db"
MAX_FILE = 512 * 1024 * 1024
_SQLITE = b"SQLite format 3\0"
_KNOWN = "LTM_SNAPSHOT.json, LESSONS.jsonl, longterm.db, memory.db, Markdown, or an export of nanomem"


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
        kind = foreign_databases.identify(path) if path.is_file() else None
        if kind in ("scoped", "facts"):
            found.append(Candidate(path, f"{kind}-db", why))
    return found


def read(path: Path, paths: Paths, workspace_id: str, source_workspace: str = "") -> list[tuple[Path, Reading]]:
    """What is in a file, or in the known files of a folder. Raises NotFound, BadInput, AccessDenied or Refused."""
    if path.is_dir():
        files = folders.files(path)
        told = folders.left(path, files)
        if not files:
            what = " ".join(["no memories of a known format in that folder", *told])
            raise BadInput(what, str(path), f"name a file: {_KNOWN}")
        found = [(file, _read_one(file, paths, workspace_id, source_workspace)) for file in files]
        (first, reading), *rest = found
        return [(first, reading._replace(notes=[*told, *reading.notes])), *rest]
    return [(path, _read_one(path, paths, workspace_id, source_workspace))]


def _read_one(path: Path, paths: Paths, workspace_id: str, source_workspace: str) -> Reading:
    where = paths.relative(path)
    _check(path)
    try:
        with path.open("rb") as file:
            head = file.read(len(_SQLITE))
    except OSError as error:
        raise AccessDenied(f"cannot be read ({error.strerror})", str(path), "check its owner and mode") from error
    if head == _SQLITE:
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
    kind = foreign_databases.identify(path)
    if kind == "scoped":
        return scoped.read(path, where, workspace_id, foreign.folder_id(paths), source_workspace)
    if kind == "facts":
        reading = facts.read(path, where, workspace_id)
        return reading._replace(notes=[*reading.notes, *folders.left_in(path)])
    if kind is None:
        with foreign_databases.open_read_only(path):  # says what is wrong with a damaged one
            pass
    what = "a database of another system" if kind is None else f"a database of {kind.replace('-', ' ')}"
    raise BadInput(f"{what}, which holds no memories to import", str(path), f"known are {_KNOWN}")


def read_bytes(data: bytes, name: str, where: str, workspace_id: str) -> Reading:
    """What is in the bytes of a file that is no database. Raises BadInput for what is none of the known formats."""
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
    if name.lower().endswith(".txt") and b"\0" not in data[:65536]:
        return markdown.read(data, where, workspace_id)
    raise BadInput("not a format that is known", where, f"known are {_KNOWN}")


def _is_lessons(start: bytes) -> bool:
    """Whether a text begins with lines that are lessons; the first may be damaged."""
    for line in start.split(b"\n")[:20]:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line)
            return isinstance(value, dict) and "trigger" in value and "items" not in value
    return False
