"""Every path: of an agent's workspace, of its home, and of our own folder. Looks at what exists, changes nothing."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import AccessDenied, BadInput, NotAWorkspace, Problem, StoreError, WorkspaceMissing

WORKSPACE_SIGNS = ("memory", "SOUL.md", "USER.md", "AGENTS.md", "sessions", ".nanobot/workspace-id")
HOME_SIGNS = ("config.json", "sessions", "memory/longterm.db", "memory.db")
DATABASES = ("memory.db", "memory/longterm.db", "longterm.db")
TRACKED_FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md")
DREAM_CURSOR = "memory/.dream_cursor"


class Paths(NamedTuple):
    """The places of one workspace: `workspace`, the agent's `home` when it has one, and `data`, our own folder.

    `config_file` is the agent's configuration where it lies outside `home`: the agent keeps its sessions beside it.
    `others` are workspaces that the folder named may mean as well, and that were not opened.
    """

    workspace: Path
    home: Path | None
    data: Path
    config_file: Path | None = None
    others: tuple[Path, ...] = ()

    @property
    def memory(self) -> Path:
        return self.workspace / "memory"

    @property
    def soul(self) -> Path:
        return self.workspace / "SOUL.md"

    @property
    def user(self) -> Path:
        return self.workspace / "USER.md"

    @property
    def memory_md(self) -> Path:
        return self.memory / "MEMORY.md"

    @property
    def history(self) -> Path:
        return self.memory / "history.jsonl"

    @property
    def history_md(self) -> Path:
        return self.memory / "HISTORY.md"

    @property
    def cursor(self) -> Path:
        return self.memory / ".cursor"

    @property
    def dream_cursor(self) -> Path:
        return self.memory / ".dream_cursor"

    @property
    def ltm_snapshot(self) -> Path:
        return self.memory / "LTM_SNAPSHOT.json"

    @property
    def lessons(self) -> Path:
        return self.memory / "LESSONS.jsonl"

    @property
    def ltm_audit(self) -> Path:
        return self.memory / "LTM_AUDIT.jsonl"

    @property
    def lessons_audit(self) -> Path:
        return self.memory / "LESSONS_AUDIT.jsonl"

    @property
    def wal_dir(self) -> Path:
        return self.memory / "session-state"

    @property
    def workspace_id_file(self) -> Path:
        return self.workspace / ".nanobot" / "workspace-id"

    @property
    def longterm_db(self) -> Path | None:
        """The database of the seed-001 system, when the agent home has one."""
        return self._of_home("memory/longterm.db")

    @property
    def facts_db(self) -> Path | None:
        """The database of the seed-003 system, when the agent home has one."""
        return self._of_home("memory.db")

    @property
    def token_log(self) -> Path | None:
        """Where the agent counts the tokens of its calls, when it does."""
        return self._of_agent("llm_usage.sqlite3")

    @property
    def agent_config(self) -> Path | None:
        """The agent's configuration, when there is one."""
        return self.config_file or self._of_home("config.json")

    @property
    def run_dir(self) -> Path | None:
        """Where a gateway writes its process files."""
        return self._of_agent("run")

    @property
    def agent_folders(self) -> tuple[Path, ...]:
        """Where the agent keeps its sessions and the like: beside its configuration, and in its home."""
        beside = self.config_file.parent if self.config_file is not None else None
        return tuple(folder for folder in dict.fromkeys((beside, self.home)) if folder is not None)

    def _of_agent(self, name: str) -> Path | None:
        return next((folder / name for folder in self.agent_folders if os.path.exists(folder / name)), None)

    def _of_home(self, name: str) -> Path | None:
        path = self.home / name if self.home else None
        return path if path is not None and os.path.exists(path) else None

    @property
    def git_dirs(self) -> tuple[Path, ...]:
        """Where a history of the memory files may lie: the workspace (real releases), then `memory/` (seed 002)."""
        return (self.workspace / ".git", self.memory / ".git")

    @property
    def outer_git_dir(self) -> Path | None:
        """The nearest `.git` of a folder above the workspace, where the workspace has none of its own.

        As git does, a folder of that name without a HEAD is passed over for one further up.
        """
        if any(map(os.path.lexists, self.git_dirs)):
            return None
        found = [git for folder in self.workspace.parents if os.path.lexists(git := folder / ".git")]
        repositories = (git for git in found if not git.is_dir() or os.path.lexists(git / "HEAD"))
        return next(repositories, next(iter(found), None))

    @property
    def is_versioned(self) -> bool:
        """Whether a repository is there that may hold a history of the memory files; `probe` says whether it does."""
        return any(map(os.path.lexists, self.git_dirs)) or self.outer_git_dir is not None

    @property
    def store(self) -> Path:
        """The folder of this workspace's database and of what lies beside it: each workspace of a home has its own."""
        return self.data / f"workspace{self._suffix}" if self._suffix else self.data

    @property
    def database(self) -> Path:
        return self.store / "nanomem.db"

    @property
    def first_edition_database(self) -> Path:
        """Where the first edition kept the memories of all workspaces of a home."""
        return self.data / "nanomem.db"

    @property
    def writers(self) -> Path:
        """Where each process that writes files of others keeps a lock while it lives."""
        return self.store / "writers"

    @property
    def tiers_database(self) -> Path:
        """Where the first edition kept them, of every workspace of a home."""
        return self.data / "tiers.db"

    @property
    def work_database(self) -> Path:
        """Where the records of an agent's work lie, and the knowledge base."""
        return self.data / f"work{self._suffix}.db"

    @property
    def vectors(self) -> Path:
        """Where the vectors of texts lie, a cache."""
        return self.data / f"vectors{self._suffix}.db"

    @property
    def ledger(self) -> Path:
        return self.data / "ledger"

    @property
    def own_id(self) -> Path:
        """Where we keep the id that this workspace had at our first change: it outlives a move of the home."""
        return self.data / "ids" / (self.workspace.name if self.home else "workspace")

    @property
    def quarantine(self) -> Path:
        return self.data / "quarantine"

    @property
    def backups(self) -> Path:
        return self.data / "backups"

    @property
    def copies(self) -> Path:
        """Where the daily copies of the database lie."""
        return self.store / "copies"

    @property
    def review(self) -> Path:
        """Where edits of Dreams wait for a person."""
        return self.data / "review"

    @property
    def habits(self) -> Path:
        """Where bookmarks and named filters of a person lie, once one is kept."""
        return self.data / f"habits{self._suffix}.json"

    @property
    def drafts(self) -> Path:
        """Where texts lie that were being written when the console was ended."""
        return self.data / f"drafts{self._suffix}"

    @property
    def _suffix(self) -> str:
        """What tells the files of a workspace from those of another in the same home; "" for the usual one."""
        name = self.workspace.name
        return "" if self.home is None or name == "workspace" else f"-{name}"

    @property
    def settings(self) -> Path:
        """The settings of this workspace; the user's own file is `user_settings()`."""
        return self.data / "config.toml"

    def relative(self, path: Path) -> str:
        """`path` as a person would name it: relative to the workspace or the agent home where it lies in one."""
        for base in (self.workspace, self.home):
            if base is not None and path.is_relative_to(base):
                return path.relative_to(base).as_posix()
        return str(path)

    def problems(self) -> list[Problem]:
        """What is ambiguous in the folder that was named: the workspaces that lie there and were not opened."""
        found = []
        for other in self.others:
            fix = f"--workspace {shlex.quote(str(other))} opens it"
            if not (self.workspace.name == "memory" and self.workspace.parent == other):
                fix += "; move away the one that you do not use"
            what = f"another workspace, not opened: the one in use is {self.workspace}"
            found.append(Problem(what, str(other), None, fix, "warning" if holds_memory(other) else "note"))
        return found


def workspace_id(found: Paths) -> str:
    """The id that we began with; before that `.nanobot/workspace-id`, else 16 digits of the sha1 of the real path.

    What we began with stays: a home may be moved, and an agent may be replaced by a release that makes an id. The
    database says it. Raises StoreError where there is none and the file is damaged: a server may hold the memory under
    the id that is lost, and the memory of another workspace is not shown.
    """
    if known := _id_in(found.database):
        return known
    if own := read_id(found.own_id):
        return own
    if found.own_id.exists() and not found.database.exists():
        fix = "put it back from a backup; on a server, its memory is the schema of that name"
        raise StoreError("the id of this workspace cannot be read", str(found.own_id), fix)
    return derived_id(found)


_SECOND_EDITION = 4
"""`PRAGMA user_version` of a database that keeps the id, as it stands in the header of the file."""


def _id_in(database: Path) -> str:
    """The id that the database of a workspace keeps; "" where it keeps none, or cannot be read."""
    try:
        with core_files.opened(
            database
        ) as file:  # one of the first edition is not even opened: SQLite would write beside
            if int.from_bytes(file.read(64)[60:], "big") != _SECOND_EDITION:
                return ""
    except OSError:
        return ""
    import sqlite3  # not needed where there is none

    with contextlib.suppress(sqlite3.Error, TypeError):
        uri = f"{database.absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
            text = str(connection.execute("SELECT workspace_id FROM meta").fetchone()[0])
            return text if _is_id(text) else ""
    return ""


def read_id(file: Path) -> str:
    """The id in a file; empty when there is none, or none that can be one."""
    try:
        text = core_files.read(file).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if _is_id(text) else ""


def sharing_workspaces(found: Paths) -> dict[str, str]:
    """The other workspaces that share our folder, its database and its settings: name and id."""
    ids = found.own_id.parent
    try:
        files = sorted(file for file in ids.iterdir() if file != found.own_id and file.is_file())
    except OSError:
        return {}
    return {file.name: known for file in files if (known := read_id(file))}


def _is_id(text: str) -> bool:
    return 0 < len(text) <= 64 and text.isalnum()


def derived_id(found: Paths) -> str:
    """The id of a workspace that we did not begin with yet."""
    if named := read_id(found.workspace_id_file):
        return named
    import hashlib  # 3 ms, and not needed where there is an id

    return hashlib.sha1(str(found.workspace.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def usual_name(found: Paths) -> str:
    """What a workspace is called that nobody gave a name: as its folder, or as the home of its agent, or, where that is
    hidden (`.nanobot`), as the folder that it lies in; the user's own is called as the home all the same."""
    folder, around = found.workspace, found.home or found.workspace.parent
    if folder.name != "workspace" and folder.name.strip("."):
        return folder.name.strip(".")
    hidden = around.name.startswith(".") and around.parent != Path.home()
    return (around.parent if hidden else around).name.strip(".") or "workspace"


def user_settings() -> Path:
    """The user's settings file: `NANOMEM_CONFIG`, else `nanomem/config.toml` in the platform's configuration folder."""
    if chosen := os.environ.get("NANOMEM_CONFIG"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "nanomem" / "config.toml"


def is_of_other_account(path: Path) -> bool:
    """Whether a file or folder belongs to another account, as far as we may look at it."""
    try:
        return os.stat(path).st_uid != os.geteuid()
    except OSError:
        return False


def user_state() -> Path:
    """The user's folder for what the program remembers of itself: `nanomem` in the platform's state folder."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "nanomem"


def remembered_workspaces() -> Path:
    """The user's list of the workspaces that the console was opened on, where `remember_workspaces` asks for one."""
    return user_state() / "workspaces.json"


def default_workspace() -> Path:
    """`NANOMEM_WORKSPACE`, else the workspace in the agent's configuration, else `~/.nanobot/workspace`."""
    if chosen := os.environ.get("NANOMEM_WORKSPACE"):
        return expand_home(chosen)
    return configured_workspace(usual_config()) or _usual_workspace()


def usual_config() -> Path:
    """Where an agent's configuration lies unless it is started with another one."""
    return Path.home() / ".nanobot" / "config.json"


def _usual_workspace() -> Path:
    return Path.home() / ".nanobot" / "workspace"


def configured_workspace(config: Path) -> Path | None:
    """The workspace that an agent's configuration names; None where it names none or cannot be read."""
    try:
        configured = core_files.loads(core_files.read(config))["agents"]["defaults"]["workspace"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return expand_home(configured) if isinstance(configured, str) and configured else None


def find_workspace(
    path: Path | str | None = None, *, starting: bool = False, config: Path | str | None = None
) -> Paths:
    """The paths of the workspace at `path`, or of an agent home that holds or names one; default: the workspace that
    `config` names, else `default_workspace()`.

    `starting`: an empty folder will do, for who is about to write the first memory. `config`: the agent's
    configuration, or the folder that holds it. Raises WorkspaceMissing, NotAWorkspace, AccessDenied or BadInput.
    """
    config_file = _config_file(config) if config is not None else None
    if path is not None:
        named = expand_home(path)
    elif config_file is not None:
        named = configured_workspace(config_file) or _usual_workspace()
    else:
        named = default_workspace()
    try:
        if not named.exists():
            make = f"make it: mkdir -p {shlex.quote(str(named))}" if starting else _import_hint(named, named.parent)
            if path is None and config_file is not None and configured_workspace(config_file) == named:
                fix = f"name its folder with --workspace PATH, or make it: mkdir -p {shlex.quote(str(named))}"
                what = f"the workspace that {config_file} names is not there"
                raise WorkspaceMissing(what, os.path.abspath(named), fix)
            usual = "name one with --workspace PATH, or try `nanomem --demo`"
            raise WorkspaceMissing("no workspace", str(named), make or usual)
        if not named.is_dir():
            fix = "name the agent's workspace folder"
            if named.suffix == ".json":
                fix += f", or its configuration with --config {shlex.quote(str(named))}"
            raise NotAWorkspace("not a folder", str(named), fix)
        os.listdir(named)
    except PermissionError as error:
        raise AccessDenied("no permission to read the workspace", str(named), "check its owner and mode") from error
    except OSError as error:
        what = f"no path that can be opened ({error.strerror})"
        raise WorkspaceMissing(what, str(named)[:80], "name one with --workspace PATH") from error
    workspace, others = _workspace_in(named.resolve(), starting=starting)
    home = workspace.parent if _has(workspace.parent, HOME_SIGNS) else None
    data = home / "nanomem" if home else workspace / "memory" / "nanomem"
    found = Paths(workspace, home, data, None, others)
    config_file = config_file or _config_beside(found, named.resolve())
    return found if config_file == found.agent_config else found._replace(config_file=config_file)


def _config_file(config: Path | str) -> Path:
    """The agent's configuration that is named, by its own path or by its folder. Raises BadInput."""
    file = expand_home(config)
    file = file / "config.json" if os.path.isdir(file) else file
    try:
        value = core_files.loads(core_files.read(file))
    except OSError as error:
        what = f"the agent's configuration cannot be read ({error.strerror})"
        raise BadInput(what, str(file), "name the agent's config.json with --config FILE") from error
    except ValueError as error:
        raise BadInput("the agent's configuration is not JSON", str(file), "correct it, or name another") from error
    if not isinstance(value, dict):
        raise BadInput("the agent's configuration is not a JSON object", str(file), "correct it, or name another")
    return Path(os.path.realpath(file))


def _config_beside(found: Paths, named: Path) -> Path | None:
    """The agent's configuration where it lies outside its home and names this workspace: in the folder that a person
    named, or in the usual place."""
    beside = [named / "config.json", named / ".nanobot" / "config.json"]
    usual = [] if found.agent_config is not None else [usual_config()]
    for file in (*beside, *usual):
        configured = configured_workspace(file) if file.parent != found.home else None
        if configured is not None and os.path.realpath(configured) == str(found.workspace):
            return file
    return None


def expand_home(path: Path | str) -> Path:
    """`path` with `~` replaced; as it is where that names nobody."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _has(folder: Path, names: Iterable[str]) -> bool:
    """Whether one of these lies in a folder, as far as we may look into it."""
    return any(os.path.exists(folder / name) for name in names)


def holds_memory(folder: Path) -> bool:
    """Whether a folder is a workspace that has a memory of its own, and not only the files that an agent starts with.

    A database of the scoped system does not count: it lies in `memory/` of the agent's home, beside its workspace.
    """
    try:
        names = os.listdir(folder / "memory")
    except OSError:
        names = []
    own = any(not name.startswith("longterm.db") for name in names)
    files = ("MEMORY.md", "memories/MEMORY.md", "memories/USER.md", ".nanobot/workspace-id")
    return own or _has(folder, files) or os.path.exists(_begun(folder))


def _workspace_in(folder: Path, *, starting: bool) -> tuple[Path, tuple[Path, ...]]:
    """The workspace that a folder is, else that which it holds or whose agent it configures; and the others there that
    it may mean as well.

    What holds a memory comes before what has only the signs of a workspace, and the folder itself before what lies in
    it. Raises NotAWorkspace, and WorkspaceMissing where the configured workspace is not there.
    """
    configured = [configured_workspace(folder / name) for name in ("config.json", ".nanobot/config.json")]
    named = [Path(os.path.realpath(path)) for path in configured if path is not None]
    inner = [path for path in dict.fromkeys((*named, folder / "workspace", folder / ".nanobot" / "workspace"))
             if path != folder and os.path.isdir(path)]  # fmt: skip
    full = [path for path in inner if holds_memory(path)]
    if holds_memory(folder):
        above = [folder.parent] if folder.name == "memory" and _has(folder.parent, ("SOUL.md", "USER.md")) else []
        return folder, (*above, *(path for path in inner if path in full or _has(path, ("SOUL.md", "USER.md"))))
    own = _has(folder, ("SOUL.md", "USER.md"))
    if len(full) > 1 and full[0] not in named:
        both = f"{full[0]} and {full[1]}"
        raise NotAWorkspace("two workspaces here", both, f"name one: --workspace {shlex.quote(str(full[0]))}")
    if full:
        return full[0], (*full[1:], *([folder] if own else []))
    for path in (*([folder] if own else []), *inner, folder):
        if _has(path, WORKSPACE_SIGNS) and not (path == folder and named and not own):
            return path, tuple(other for other in inner if other != path and _has(other, ("SOUL.md", "USER.md")))
    if starting:
        for path in (*inner, folder) if inner else (folder,):
            if not any(name[0] != "." for name in os.listdir(path)):
                return path, ()
    if named and not os.path.isdir(named[0]):
        fix = f"name its folder with --workspace PATH, or make it: mkdir -p {shlex.quote(str(named[0]))}"
        raise WorkspaceMissing(f"the workspace that {folder / 'config.json'} names is not there", str(named[0]), fix)
    inside = folder / "workspace"
    if not starting and not any(name[0] != "." for name in os.listdir(folder)):
        write = f"nanomem memory add --text … --workspace {shlex.quote(str(folder))}"
        fix = _import_hint(folder, folder.parent) or f"your first write creates the workspace: {write}"
        raise NotAWorkspace("the folder is empty, nothing is remembered here", str(folder), fix)
    fix = _import_hint(inside, folder) or _import_hint(folder, folder.parent)
    if not fix and starting:
        where = inside if _has(folder, HOME_SIGNS) else folder / "memory"
        fix = f"name an agent's workspace or an empty folder, or begin here: mkdir -p {shlex.quote(str(where))}"
    raise NotAWorkspace("no agent's memory here", str(folder), fix or "name the folder that holds memory/ or SOUL.md")


def _begun(workspace: Path) -> Path:
    """What we leave beside a workspace in an agent's home at our first change of it: its id."""
    return workspace.parent / "nanomem" / "ids" / workspace.name


def _import_hint(workspace: Path, home: Path) -> str:
    """How to import a database of another system that lies in a home without a workspace; "" where none does."""
    found = next((home / name for name in DATABASES if os.path.isfile(home / name)), None)
    if found is None:
        return ""
    make, read = (shlex.quote(str(path)) for path in (workspace, found))
    return f"{found.name} lies beside it; import it: mkdir -p {make} && nanomem memory import {read} --workspace {make}"
