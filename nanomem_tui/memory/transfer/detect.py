"""Detect the format of a file to import, by its content and, where that does not say it, by its name; read its rows,
and find the sources around a workspace. A new format has its line in `FORMATS` and its place in `read_bytes`.

Reads only, and never `reply_context.db`, which is the agent's and holds no memories.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.agents import databases
from nanomem_tui.agents import releases as agents_layout
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import AccessDenied, BadInput, NanomemError, NotFound, Refused
from nanomem_tui.core.files import read_file
from nanomem_tui.core.paths import Paths, find_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted
from nanomem_tui.memory.transfer import backfill, crystallized, foreign, jsonl, markdown, scoped
from nanomem_tui.memory.transfer.import_plan import Reading

# What a folder holds to import: files of other systems, an agent's Markdown, in a folder that is no agent's any other
# file; and what lies there that is not taken.

CHROMA = "chroma"
"""The folder in an agent's home where the crystallized system keeps its index of vectors."""
NAMES = ("LTM_SNAPSHOT.json", "LESSONS.jsonl", "working.db", "longterm.db", "memory.db")
PLACES = ("", "memory", "workspace/memory", ".nanobot", ".nanobot/memory", ".nanobot/workspace/memory", "home/.nanobot")
"""Where such files lie in a folder: it may be a workspace, an agent's home, or what a home was packed into."""

TOLD = 10
"""Files and folders that are not taken and are named one by one."""
INSTRUCTIONS = (
    "SOUL.md", "AGENTS.md", "BOOTSTRAP.md", "CLAUDE.md", "HEARTBEAT.md", "IDENTITY.md", "TOOLS.md"
)  # fmt: skip
"""What agents are told and do not remember."""
_OF_AGENT = {"config.json": "the agent's settings", "reply_context.db": "never opened"}
"""What an agent keeps beside its memory, and why it is not taken."""
_OF_OTHERS = ("memories", "memory", "users", "pending")
"""Folders of a home that is not read yet in which memories may lie."""
_AGENT_FOLDERS = frozenset(
    "cron home media memories memory nanomem pending prompts sessions skills users workspace".split()
)
"""Folders of an agent's home that are read where they are, hold no memories, or are named file by file."""
_COMPANIONS = ("-wal", "-shm", "-journal")


def files(folder: Path) -> list[Path]:
    """Return the files to import, each once; the Markdown of an agent only where nothing else holds its memories."""
    found = [path.resolve() for path in _named(folder) if path.is_file()]
    return list(dict.fromkeys(found)) or list(_markdown(folder))


def _other_files(folder: Path, taken: Sequence[Path]) -> list[Path]:
    real = folder.resolve()
    files = [real / path.name for path in sorted(folder.iterdir()) if path.name[0] != "." and not path.is_dir()]
    return [path for path in files if path.resolve() not in taken and not path.name.endswith(_COMPANIONS)]


def left(folder: Path, taken: Sequence[Path], refused: Mapping[Path, str]) -> list[str]:
    """Return sentences about what a folder holds and is not imported; `refused`: files with the reason."""
    names = [path.relative_to(folder.resolve()).as_posix() for path in taken if path.is_relative_to(folder.resolve())]
    told = [f"Found in {folder.resolve().name or folder}: {', '.join(names)}."] if names else []
    home = _home(folder)
    if home is None:
        whys = {**refused, **dict.fromkeys(_closed(folder, taken), "a folder")}
        return told + _not_taken([f"{path.name} ({why})" for path, why in whys.items()])
    layout = agents_layout.detect(home)
    here = [name for name in INSTRUCTIONS if (home.workspace / name).is_file()]
    beside = [path for path in _other_files(folder, taken) if path.name not in INSTRUCTIONS]
    if layout.release in agents_layout.NOT_READ:
        beside += [path for name in _OF_OTHERS for path in _below(folder.resolve() / name) if path not in taken]
    named = [(path.relative_to(folder.resolve()).as_posix(), _OF_AGENT.get(path.name)) for path in beside]
    named += [(name, None) for name in _in_memory(home, folder.resolve(), taken)]
    named += [(path.name, "a folder") for path in _closed(folder, taken) if path.name not in _AGENT_FOLDERS]
    told += _not_taken([f"{name} ({why})" if why else name for name, why in named], "; name one to import it")
    here += [name for name in ("history.jsonl", "HISTORY.md") if (home.memory / name).is_file()]
    sessions = sum(1 for place in agents_layout.session_folders(home, layout) for _ in place.glob("*.jsonl"))
    here += [counted(sessions, "session")] if sessions else []
    if here:
        way = f"nanomem recall MESSAGE --in all --workspace {home.workspace}"
        told.append(f"Not imported: {', '.join(here)}; they are read where they are ({way}).")
    return told


def _closed(folder: Path, taken: Sequence[Path]) -> list[Path]:
    inside = [path for path in sorted(folder.iterdir()) if path.name[0] != "." and path.is_dir()]
    return [path for path in inside if not any(one.is_relative_to(path.resolve()) for one in taken)]


def _in_memory(home: Paths, folder: Path, taken: Sequence[Path]) -> list[str]:
    """Return the files below an agent's `memory/` that are not taken, but for its archive and our own data."""
    memory = home.memory.resolve()
    if not memory.is_dir() or not memory.is_relative_to(folder):
        return []
    below = [path for path in _below(memory) if path.resolve() not in taken and not path.name.endswith(_COMPANIONS)]
    own = (home.data.resolve(), memory / "history.jsonl", memory / "HISTORY.md")
    others = [path for path in below if not any(path.is_relative_to(one) for one in own)]
    return [path.relative_to(folder).as_posix() for path in others]


def _below(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.name[0] != "." and path.is_file()]


def _not_taken(names: Sequence[str], fix: str = "") -> list[str]:
    named = [*names[:TOLD], f"{len(names) - TOLD:,} more"] if len(names) > TOLD else names
    return [f"Not taken: {', '.join(named)}{fix}."] if named else []


def chroma(home: Path | None) -> list[Path]:
    """Return the index of vectors in an agent's home, where it holds one."""
    found = databases.chroma_database(home / CHROMA) if home is not None else None
    return [found] if found is not None else []


def _named(folder: Path) -> Iterator[Path]:
    """Yield where files of other systems may lie: in the home that the folder is or holds, then in the usual places."""
    home = _home(folder)
    if home is not None:
        known = (home.ltm_snapshot, home.lessons, home.longterm_db, home.facts_db)
        yield from (path for path in known if path is not None)
        yield from chroma(home.home)
    yield from (folder / place / name for place in PLACES for name in (*NAMES, f"{CHROMA}/{databases.NAME}"))


def _markdown(folder: Path) -> Iterator[Path]:
    """Yield what an agent of files wrote of its user and of what it learned."""
    home = _home(folder)
    if home is not None:
        memories = home.workspace / "memories"  # of Hermes; OpenClaw keeps its MEMORY.md in the workspace itself
        own = (home.user, home.workspace / "MEMORY.md", memories / "USER.md", memories / "MEMORY.md")
        yield from (path for path in own if path.is_file())
        yield from (path for _, path in backfill.files(home))


def _home(folder: Path) -> Paths | None:
    for place in (folder, folder / "home"):
        with contextlib.suppress(NanomemError):
            return find_workspace(place)
    return None


FORBIDDEN = "reply_context.db"
MAX_FILE = 512 * 1024 * 1024
_SQLITE = b"SQLite format 3\0"
FORMATS = {
    "nanomem-db": "a database of nanomem",
    "jsonl": "an export of nanomem",
    "json": "",
    "scoped-db": "longterm.db",
    "ltm-snapshot": "LTM_SNAPSHOT.json",
    "lessons": "LESSONS.jsonl",
    "facts-db": "memory.db",
    "chroma": "a Chroma folder",
    "markdown": "Markdown",
    "working-db": "working.db",
    "longterm-db": "",
}
"""Every format that a reader gives (`Reading.format`), and what a person calls a file of it, where no other line does.
Those come first that hold most of a row: of a row that comes twice in a folder the first is taken."""
_RANKS = list(FORMATS)
_UNKNOWN = "not a format that is known"
_KNOWN = ", ".join(filter(None, FORMATS.values()))


class Candidate(NamedTuple):
    """A source of memories beside the workspace, and why it is one."""

    path: Path
    format: str
    why: str


def candidates(paths: Paths, settings: Settings) -> list[Candidate]:
    """Return databases of other systems in the workspace's home, or named by the agent's settings."""
    likely = [
        (paths.longterm_db, "in the agent's home"),
        (foreign.configured_database(paths, settings), "named by memory.dbPath"),
        (paths.facts_db, "in the agent's home"),
    ]
    found: list[Candidate] = []
    for path, why in likely:
        if path is None or path.name == FORBIDDEN or any(foreign.same_file(path, one.path) for one in found):
            continue
        kind = databases.identify_database(path) if path.is_file() else None
        if kind in ("scoped", "facts"):
            found.append(Candidate(path, f"{kind}-db", why))
    if not found:  # else it is an index of what was found
        found += [Candidate(path, "chroma", "in the agent's home") for path in chroma(paths.home)]
    return found


def read(path: Path, paths: Paths, workspace_id: str, source_workspace: str = "") -> list[tuple[Path, Reading]]:
    """Return what is in a file, or in the known files of a folder."""
    database = databases.chroma_database(path)
    if path.is_dir() and database is None:
        return _read_folder(path, paths, workspace_id, source_workspace)
    path = database or path
    return [(path, _read_one(path, paths, workspace_id, source_workspace))]


def _read_folder(folder: Path, paths: Paths, workspace_id: str, source_workspace: str) -> list[tuple[Path, Reading]]:
    """Return each file of a folder that is known by its name, or in a folder that is no agent's by what is in it."""
    known = files(folder)
    found = [(file, _read_one(file, paths, workspace_id, source_workspace)) for file in known]
    refused: dict[Path, str] = {}
    others = _other_files(folder, known) if _home(folder) is None else []
    for file in others:
        try:
            if file.name in INSTRUCTIONS or not _may_hold_memories(file):
                raise BadInput("instructions to an agent" if file.name in INSTRUCTIONS else _UNKNOWN)
            asked = source_workspace if _head(file) == _SQLITE else ""
            found.append((file, _read_one(file, paths, workspace_id, asked)))
        except NanomemError as error:
            refused[file] = error.what
    told = left(folder, [file for file, _ in found], refused)
    if not found:
        what = " ".join(["no memories of a known format in that folder.", *told]).removesuffix(".")
        raise BadInput(what, str(folder), f"name a file: {_KNOWN}")
    if others:
        found.sort(key=lambda one: _RANKS.index(one[1].format))
    (first, reading), *rest = found
    return [(first, reading._replace(notes=[*told, *reading.notes])), *rest]


def _may_hold_memories(path: Path) -> bool:
    _check(path)
    head = _head(path, 65_536)
    return head.startswith(_SQLITE) or core_files.is_wide(head) or b"\0" not in head


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
    kind = databases.identify_database(path)
    if kind == "scoped":
        return scoped.read_scoped(path, where, workspace_id, foreign.folder_id(paths), source_workspace)
    if kind == "facts":
        return crystallized.read_memory_db(path, where, workspace_id)
    if kind in ("working", "longterm-records"):
        from nanomem_tui.memory.transfer import work  # who only looks which files there are has no use for it

        return work.read(path, where, "working-db" if kind == "working" else "longterm-db")
    if kind == "chroma" or path.name == databases.NAME:
        return crystallized.read_chroma_facts(path, where, workspace_id)
    if kind is None:
        with databases.open_read_only(path):  # says what is wrong with a damaged one
            pass
    what = "a database of another system" if kind is None else f"a database of {kind.replace('-', ' ')}"
    raise BadInput(f"{what}, which holds no memories to import", str(path), f"known are {_KNOWN}")


def read_bytes(data: bytes, name: str, where: str, workspace_id: str) -> Reading:
    """Return what is in the bytes of a file that is no database."""
    data = core_files.as_utf8(data)
    start = data[:65536].removeprefix(b"\xef\xbb\xbf").lstrip()
    if jsonl.is_ours(data):
        return jsonl.read(data, where, workspace_id)
    if name.lower().endswith((".md", ".markdown")):
        return markdown.read(data, where, workspace_id)
    if start.startswith(b"{"):
        if _is_lessons(start):
            return scoped.read_ram_first(scoped.LESSONS, data, where, workspace_id)
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(data)
            if jsonl.is_document(value):
                return jsonl.read_document(value, where, workspace_id)
        if b'"items"' in start:
            return scoped.read_ram_first(scoped.SNAPSHOT, data, where, workspace_id)
        if name == "LESSONS.jsonl":
            return scoped.read_ram_first(scoped.LESSONS, data, where, workspace_id)
    if name in ("LTM_SNAPSHOT.json", "LESSONS.jsonl"):
        source = scoped.SNAPSHOT if name == "LTM_SNAPSHOT.json" else scoped.LESSONS
        return scoped.read_ram_first(source, data, where, workspace_id)
    if markdown.is_page(data):
        return markdown.read(data, where, workspace_id)
    if name.lower().endswith(".txt"):
        return markdown.read(data, where, workspace_id, by_line=True)
    raise BadInput(_UNKNOWN, where, f"known are {_KNOWN}")


def _is_lessons(start: bytes) -> bool:
    """Return whether a text begins with lines that are lessons; the first may be damaged."""
    for line in start.split(b"\n")[:20]:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(line)
            return isinstance(value, dict) and "trigger" in value and "items" not in value
    return False
