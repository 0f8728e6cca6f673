"""What a folder holds to import: files of other systems, an agent's Markdown, in a folder that is no agent's any other
file; and what lies there that is not taken.

Looks at names and counts only; reads no memory. Must not know a format's rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nanomem_tui.agents import databases
from nanomem_tui.agents import layout as agents_layout
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import Paths, locate
from nanomem_tui.core.text import counted
from nanomem_tui.memory import backfill

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
    """The files to import, each once; the Markdown of an agent only where nothing else holds its memories."""
    found = [path.resolve() for path in _named(folder) if path.is_file()]
    return list(dict.fromkeys(found)) or list(_markdown(folder))


def other_folders(folder: Path, taken: Sequence[Path]) -> list[Path]:
    """The files directly in a folder that is no agent's, beside those `taken`; by name, hidden ones left out."""
    return _beside(folder, taken) if _home(folder) is None else []


def _beside(folder: Path, taken: Sequence[Path]) -> list[Path]:
    real = folder.resolve()
    files = [real / path.name for path in sorted(folder.iterdir()) if path.name[0] != "." and not path.is_dir()]
    return [path for path in files if path.resolve() not in taken and not path.name.endswith(_COMPANIONS)]


def left(folder: Path, taken: Sequence[Path], refused: Mapping[Path, str]) -> list[str]:
    """What else a folder holds that is not imported, in sentences for a person. `refused`: files with the reason."""
    names = [path.relative_to(folder.resolve()).as_posix() for path in taken if path.is_relative_to(folder.resolve())]
    told = [f"Found in {folder.resolve().name or folder}: {', '.join(names)}."] if names else []
    home = _home(folder)
    if home is None:
        whys = {**refused, **dict.fromkeys(_closed(folder, taken), "a folder")}
        return told + _not_taken([f"{path.name} ({why})" for path, why in whys.items()])
    layout = agents_layout.detect(home)
    here = [name for name in INSTRUCTIONS if (home.workspace / name).is_file()]
    beside = [path for path in _beside(folder, taken) if path.name not in INSTRUCTIONS]
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
    """The folders directly in a folder out of which nothing is taken, hidden ones left out."""
    inside = [path for path in sorted(folder.iterdir()) if path.name[0] != "." and path.is_dir()]
    return [path for path in inside if not any(one.is_relative_to(path.resolve()) for one in taken)]


def _in_memory(home: Paths, folder: Path, taken: Sequence[Path]) -> list[str]:
    """The files below an agent's `memory/` that are not taken, but for its archive and our own data."""
    memory = home.memory.resolve()
    if not memory.is_dir() or not memory.is_relative_to(folder):
        return []
    below = [path for path in _below(memory) if path.resolve() not in taken and not path.name.endswith(_COMPANIONS)]
    own = (home.data.resolve(), memory / "history.jsonl", memory / "HISTORY.md")
    others = [path for path in below if not any(path.is_relative_to(one) for one in own)]
    return [path.relative_to(folder).as_posix() for path in others]


def _below(folder: Path) -> list[Path]:
    """The files below a folder, hidden ones left out."""
    return [path for path in sorted(folder.rglob("*")) if path.name[0] != "." and path.is_file()]


def _not_taken(names: Sequence[str], fix: str = "") -> list[str]:
    """That these are not taken, in a sentence; nothing where there are none."""
    named = [*names[:TOLD], f"{len(names) - TOLD:,} more"] if len(names) > TOLD else names
    return [f"Not taken: {', '.join(named)}{fix}."] if named else []


def chroma(home: Path | None) -> list[Path]:
    """The index of vectors in an agent's home, where it holds one."""
    found = databases.database(home / CHROMA) if home is not None else None
    return [found] if found is not None else []


def _named(folder: Path) -> Iterator[Path]:
    """Where files of other systems may lie: in the home that the folder is or holds, then in the usual places."""
    home = _home(folder)
    if home is not None:
        known = (home.ltm_snapshot, home.lessons, home.longterm_db, home.facts_db)
        yield from (path for path in known if path is not None)
        yield from chroma(home.home)
    yield from (folder / place / name for place in PLACES for name in (*NAMES, f"{CHROMA}/{databases.NAME}"))


def _markdown(folder: Path) -> Iterator[Path]:
    """What an agent of files wrote of its user and of what it learned."""
    home = _home(folder)
    if home is not None:
        memories = home.workspace / "memories"  # of Hermes; OpenClaw keeps its MEMORY.md in the workspace itself
        own = (home.user, home.workspace / "MEMORY.md", memories / "USER.md", memories / "MEMORY.md")
        yield from (path for path in own if path.is_file())
        yield from (path for _, path in backfill.files(home))


def _home(folder: Path) -> Paths | None:
    for place in (folder, folder / "home"):
        with contextlib.suppress(NanomemError):
            return locate(place)
    return None
