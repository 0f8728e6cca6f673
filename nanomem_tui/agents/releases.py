"""Which release wrote an agent's home, and where its parts lie. Looks at names and a few small files; changes nothing.

Homes get moved and copied, so sessions are found by the workspace's id, whatever paths they record.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nanomem_tui.agents.session_names import SUFFIX, name_to_key
from nanomem_tui.core import files
from nanomem_tui.core.errors import Problem
from nanomem_tui.core.paths import Paths

SessionNaming = Literal["base64url", "lossy"]

RAM_FIRST = "ram-first"
SCOPED = "scoped"
FACTS = "facts"
PLAIN = "plain Markdown"
OLDEST_DREAM = "nanobot 0.1.5"
HERMES = "Hermes"
OPENCLAW = "OpenClaw"
NOT_READ = {HERMES: "memories/MEMORY.md", OPENCLAW: "MEMORY.md"}
"""The agents whose homes are known and not read yet, with the file of their memory."""

WORKSPACE_ID = ".nanobot/workspace-id"
"""Where the agent keeps the id of a workspace, in it."""

_ID = re.compile(r"[0-9a-f]{32}")
_SESSION_KEY = re.compile(rb'"session_key"\s*:')
_PEEK = 65536


class Layout(NamedTuple):
    """What an agent home is.

    `release` is the oldest release that writes such files: `nanobot 0.1.4` to `nanobot 0.3.5`, `ram-first` (snapshot
    and lessons), `scoped` (longterm.db and session state), `facts` (memory.db), `Hermes`, `OpenClaw` or `plain
    Markdown`. `workspace_id` is
    the agent's own, 32 hex digits. `notes` are for a person. `unlisted` names session files that this release ignores.
    `unclaimed`: the folders of sessions of which nobody can tell which are this workspace's, when its id is lost.
    `missing`: where sessions of its id were looked for, when they lie in none of these folders.
    """

    release: str
    sessions_dir: Path | None
    session_naming: SessionNaming
    workspace_id: str | None
    has_history_jsonl: bool
    has_history_md: bool
    notes: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    unclaimed: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = ()


class _Sessions(NamedTuple):
    folder: Path | None
    naming: SessionNaming
    release: str
    notes: tuple[str, ...] = ()
    workspace_id: str | None = None
    unclaimed: tuple[Path, ...] = ()
    missing: bool = False


def detect(paths: Paths, state_folder: Path | None = None) -> Layout:
    """The layout of the home around `paths`. What cannot be read counts as absent; never raises for it.

    `state_folder`: where the session state lies when it is not in its usual place.
    """
    found = _sessions(paths)
    notes = list(found.notes)
    release = _release(paths, found, state_folder or paths.wal_dir)
    unlisted = _unlisted(found)
    if unlisted:
        notes.append(f"{len(unlisted)} session files have old names, which this release does not list")
    if release == OLDEST_DREAM:
        notes.append("releases 0.1.5 to 0.2.1 write the same files")
    return Layout(
        release=release,
        sessions_dir=found.folder,
        session_naming=found.naming,
        workspace_id=found.workspace_id,
        has_history_jsonl=_is_file(paths.history),
        has_history_md=_is_file(paths.history_md),
        notes=tuple(notes),
        unlisted=unlisted,
        unclaimed=found.unclaimed,
        missing=tuple(_session_roots(paths)) if found.missing else (),
    )


def unsupported_agent(layout: Layout) -> Problem | None:
    """That a home is of an agent whose memory is not read yet; None for every other one."""
    file = NOT_READ.get(layout.release)
    if file is None:
        return None
    article = "an" if layout.release == OPENCLAW else "a"
    what = f"{article} {layout.release} home: its MEMORY.md is not read yet"
    return Problem(what, file, None, "`nanomem memory import` of that file takes in what it says now", "note")


def missing_sessions(layout: Layout) -> Problem | None:
    """That the sessions of a workspace lie in none of the folders where they were looked for, and what to do; None
    where there are some, or where the workspace has no id that says so."""
    if not layout.missing:
        return None
    what = f"no sessions of the id {layout.workspace_id} were found in {' or '.join(map(str, layout.missing))}"
    fix = "name the configuration that its agent is started with: --config FILE"
    return Problem(what, WORKSPACE_ID, None, fix, "warning")


def sessions_stamp(paths: Paths, *others: Path) -> tuple[tuple[int, int] | None, ...]:
    """What changes when transcripts may lie elsewhere than before: inode and time of each folder that `detect` asks,
    and of `others`; None for one that is not there."""
    id_folder = (paths.workspace / WORKSPACE_ID).parent
    return tuple(map(_stamp, (*_session_roots(paths), paths.workspace / "sessions", id_folder, *others)))


def _stamp(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def workspace_id(paths: Paths) -> str | None:
    """The id that the agent gave this workspace, or None."""
    return _id_of(paths.workspace)


def _id_of(workspace: Path) -> str | None:
    text = _read_small(workspace / WORKSPACE_ID).strip().lower()
    return text if _ID.fullmatch(text) else None


def session_folders(paths: Paths, layout: Layout) -> tuple[Path, ...]:
    """The folders that may hold transcripts of this workspace: where the agent looks, then those of older releases."""
    folders: list[Path] = []
    for folder in named_folders(paths, layout).values():
        if folder is not None and os.path.isdir(folder) and not any(_same(folder, known) for known in folders):
            folders.append(folder)
    return tuple(folders)


def named_folders(paths: Paths, layout: Layout) -> dict[str, Path | None]:
    """The same by the names that recorded changes know them by: "" is where the agent looks."""
    home = paths.home / "sessions" if paths.home is not None else None
    return {"": layout.sessions_dir, "workspace": paths.workspace / "sessions", "home": home}


def folder_name(paths: Paths, layout: Layout, folder: Path) -> str:
    """The name of one of those folders."""
    known = named_folders(paths, layout).items()
    return next(name for name, path in known if path is not None and _same(path, folder))


def has_session_files(paths: Paths, layout: Layout) -> bool:
    """Whether a folder that may hold transcripts holds anything."""
    return any(map(_names, session_folders(paths, layout)))


def agent_settings(paths: Paths) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """The memory settings of the agent's `config.json`, and a problem when it cannot be read.

    Sections, each as it stands in the file, absent ones left out: `dream`, `defaults` (timezone, idle compaction …),
    `ram_first`, `sessions`, `self_improvement`, `memory` (the scoped system). Secrets of providers are never taken.
    """
    path = paths.agent_config
    if path is None:
        return {}, ()
    try:
        value = json.loads(files.read(path).decode("utf-8"))
    except OSError as error:
        return {}, (Problem(error.strerror or "cannot be read", path.name, None, "check its owner and mode"),)
    except (ValueError, RecursionError) as error:
        return {}, (Problem(f"not JSON: {error}", path.name, getattr(error, "lineno", None), "the agent cannot start"),)
    if not isinstance(value, dict):
        return {}, (Problem("not an object", path.name, 1, "the agent cannot start"),)
    agents = _object(value, "agents")
    defaults = _object(agents, "defaults")
    simple = {key: part for key, part in defaults.items() if key in _DEFAULT_KEYS}
    sections = {
        "dream": _object(defaults, "dream"),
        "defaults": simple,
        "ram_first": _object(agents, "memory"),
        "sessions": _object(agents, "sessions"),
        "self_improvement": _object(agents, "selfImprovement"),
        "memory": _object(value, "memory"),
    }
    return {name: section for name, section in sections.items() if section}, ()


_DEFAULT_KEYS = frozenset({
    "workspace", "timezone", "timezoneMode", "idleCompactAfterMinutes", "sessionTtlMinutes",
    "idleCompactCheckIntervalSeconds", "unifiedSession", "contextWindowTokens", "maxTokens", "botName",
})  # fmt: skip


def _sessions(paths: Paths) -> _Sessions:
    """Where the transcripts lie: beside the workspace by id (0.3.5), inside it, or in the home itself (the oldest)."""
    own_id = workspace_id(paths)
    for base in _session_roots(paths):
        if own_id and os.path.isdir(base / own_id):
            return _namespaced(paths, base / own_id, own_id)
    for base in _session_roots(paths)[: max(1, len(paths.agent_folders))]:
        if named := _recorded_here(base, paths.workspace):
            lacks = "the workspace has no id" if own_id is None else "no sessions lie under the id of the workspace"
            note = f"{lacks}; its sessions were found by the path they record"
            return _namespaced(paths, named, named.name, note)
    inside = paths.workspace / "sessions"
    unclaimed = _unclaimed(paths) if not _transcripts(inside) else ()
    if len(unclaimed) == 1:
        lacks = "the workspace has no id" if own_id is None else "no sessions lie under the id of the workspace"
        note = f"{lacks}; the only sessions that no other workspace claims are taken for its own"
        return _namespaced(paths, unclaimed[0], unclaimed[0].name, note)
    return _older(paths, inside, own_id)._replace(unclaimed=unclaimed if own_id is None else ())


def _older(paths: Paths, inside: Path, own_id: str | None) -> _Sessions:
    """Where older releases keep them, or where the agent will once there are any."""
    if os.path.isdir(inside):
        names = _transcripts(inside)
        if names and all(name_to_key(name) for name in names):
            return _Sessions(inside, "base64url", "nanobot 0.3.0", workspace_id=own_id)
        mixed = any(name_to_key(name) for name in names)
        notes = ("some sessions have new names, some old ones: an upgrade to 0.3.0 was under way",) if mixed else ()
        found = _Sessions(inside, "lossy", "nanobot 0.3.0" if mixed else "", notes, own_id)
        return found._replace(missing=own_id is not None and not names)
    outer = paths.home / "sessions" if paths.home else None
    if outer is not None and _transcripts(outer):
        return _Sessions(outer, "lossy", "", workspace_id=own_id)
    if own_id is None:
        return _Sessions(None, "lossy", "")
    return _Sessions(None, "base64url", "nanobot 0.3.5", workspace_id=own_id, missing=True)


def _session_roots(paths: Paths) -> list[Path]:
    """Folders that may hold `<workspace id>/`: beside the agent's configuration, of this home, of the default home."""
    roots = [folder / "sessions" for folder in paths.agent_folders]
    default = Path.home() / ".nanobot" / "sessions"
    return roots if default in roots else [*roots, default]


def _namespaced(paths: Paths, folder: Path, own_id: str, *notes: str) -> _Sessions:
    recorded = _read_small(folder / ".workspace").strip()
    moved = bool(recorded) and Path(recorded) != paths.workspace
    extra = (f"its sessions record the workspace as {recorded}",) if moved else ()
    return _Sessions(folder, "base64url", "nanobot 0.3.5", (*notes, *extra), own_id)


def _recorded_here(root: Path, workspace: Path) -> Path | None:
    """The one folder of sessions that records this workspace's path; None when there is none, or more than one."""
    names = [name for name in _names(root) if _ID.fullmatch(name)]
    ours = {str(workspace), os.path.realpath(workspace)}
    matches = [root / name for name in names if _read_small(root / name / ".workspace").strip() in ours]
    return matches[0] if len(matches) == 1 else None


def _unclaimed(paths: Paths) -> tuple[Path, ...]:
    """The folders of sessions in this home that are no other workspace's, by its id or by the path they record."""
    if paths.home is None:
        return ()
    root = paths.home / "sessions"
    folders = [root / name for name in _names(root) if _ID.fullmatch(name) and _transcripts(root / name)]
    ids = [*paths.home.glob(f"*/{WORKSPACE_ID}"), *paths.home.glob(f"*/*/{WORKSPACE_ID}")]
    others = (path.parents[1] for path in ids if not _same(path.parents[1], paths.workspace))
    claimed = {_id_of(workspace) for workspace in others}
    return tuple(folder for folder in folders if folder.name not in claimed and not _is_of_another(folder, paths))


def _is_of_another(folder: Path, paths: Paths) -> bool:
    """Whether the path that sessions record is another workspace of this home, or one elsewhere that has this id and
    no other folder of that name: a copy of a home records the path of the first."""
    recorded = Path(_read_small(folder / ".workspace").strip() or paths.workspace)
    if paths.home is not None and recorded.is_relative_to(paths.home) and recorded != paths.workspace:
        return True
    own = recorded.parent / "sessions" / folder.name
    return _id_of(recorded) == folder.name and (_same(own, folder) or not os.path.isdir(own))


def _release(paths: Paths, found: _Sessions, state_folder: Path) -> str:
    if _is_file(paths.ltm_snapshot) or _is_file(paths.lessons):
        return RAM_FIRST
    if other := _other_agent(paths):
        return other
    if paths.longterm_db is not None:
        return SCOPED
    if found.release:
        return found.release
    if _is_file(paths.history):
        return "nanobot 0.2.2" if _SESSION_KEY.search(_peek(paths.history)) else OLDEST_DREAM
    if _is_file(paths.history_md):
        return "nanobot 0.1.4"
    if paths.facts_db is not None:
        return FACTS
    if os.path.isdir(state_folder):  # no sign beside others: our own engine keeps session state for every agent
        return SCOPED
    return "nanobot 0.1.4" if found.folder is not None else PLAIN


def _other_agent(paths: Paths) -> str:
    """Hermes or OpenClaw where a workspace has what they write, and none of what nanobot keeps memory in; "" elsewhere.

    Hermes keeps its memory in `memories/`; OpenClaw keeps it in the root of the workspace, beside files that nanobot
    has too.
    """
    kept = (paths.history, paths.history_md, paths.memory_md, paths.workspace_id_file)
    if any(map(_is_file, kept)):
        return ""
    if any(_is_file(paths.workspace / "memories" / name) for name in ("MEMORY.md", "USER.md")):
        return HERMES
    if _is_file(paths.workspace / "state.db") and _is_file(paths.workspace / "config.yaml"):
        return HERMES
    names = ("MEMORY.md", "DREAMS.md", "dreams.md", "IDENTITY.md", "BOOT.md")
    own = any(_is_file(paths.workspace / name) for name in names) or os.path.isdir(paths.memory / "dreaming")
    return OPENCLAW if own and _is_openclaw(paths.workspace) else ""


def _is_openclaw(workspace: Path) -> bool:
    """Whether its configuration lies beside a workspace, or its own files in it (notes may have a `MEMORY.md`)."""
    own = ("SOUL.md", "IDENTITY.md", "AGENTS.md", "DREAMS.md", "dreams.md")
    return _is_file(workspace.parent / "openclaw.json") or any(_is_file(workspace / name) for name in own)


def _unlisted(found: _Sessions) -> tuple[str, ...]:
    if found.folder is None or found.naming != "base64url":
        return ()
    return tuple(name for name in _transcripts(found.folder) if name_to_key(name) is None)


def _transcripts(folder: Path) -> list[str]:
    return [name for name in _names(folder) if name.endswith(SUFFIX) and not name.startswith(".")]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _peek(path: Path) -> bytes:
    """The first and the last bytes of a file."""
    try:
        with files.opened(path) as file:
            first = file.read(_PEEK)
            file.seek(max(0, os.fstat(file.fileno()).st_size - _PEEK))
            return first + file.read(_PEEK)
    except OSError:
        return b""


def _read_small(path: Path) -> str:
    try:
        with files.opened(path) as file:
            return file.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""


def _object(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _same(left: Path, right: Path) -> bool:
    try:
        return os.path.samefile(left, right)
    except OSError:
        return False


def zone_of(paths: Paths) -> tzinfo | None:
    """The time zone of the agent's configuration, in which its cron lines are meant; None for that of this machine."""
    name = agent_settings(paths)[0].get("defaults", {}).get("timezone")
    if not isinstance(name, str) or not name:
        return None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None
