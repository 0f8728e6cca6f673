"""What others do in a workspace: whether an agent runs there, and which files changed since the last look.

Whether one runs is decided by processes, because no agent locks its history or memory files: `run/gateway*.json` and
the process table. What changed is told by `stat` alone. Must not signal a process, take a lock, decide what is refused
while an agent runs (callers do, and they also own `--force`), or know what a file means.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.core import files
from nanomem_tui.core.paths import TRACKED_FILES, Paths, expand_home

PROC = Path("/proc")
DREAM_SECONDS = 120.0
PROGRAMS = frozenset(("nanobot", "featherflow", "yeoman"))
INTERPRETERS = ("python", "pypy")
ROLES = frozenset(("agent", "gateway", "serve", "webui", "api"))
ROOT_OPTIONS = frozenset(("-h", "--help", "-v", "--version", "--install-completion", "--show-completion"))
GATEWAY_CONTROLS = frozenset(("status", "logs", "stop", "restart", "install-service", "uninstall-service"))
CONTAINER_SIGNS = (b"docker", b"containerd", b"kubepods", b"libpod", b"lxc")
# A session of a Dream starts with "dream:", whose base64url form has no remainder, so it is a prefix there too.
DREAM_PREFIXES = ("ZHJlYW06", "dream_")


class Presence(NamedTuple):
    """Whether an agent runs here: its process, what it is (`nanobot gateway`), and whether a Dream is under way."""

    running: bool = False
    pid: int | None = None
    what: str = ""
    dreaming: bool = False


class Program(NamedTuple):
    """An agent's process: its role, and its arguments unless the program replaced its own title with a name."""

    pid: int
    what: str
    arguments: tuple[str, ...]
    hidden: bool


def find_running_agent(
    paths: Paths, sessions_dir: Path | None = None, *, proc: Path = PROC, own_pid: int | None = None
) -> Presence:
    """The agent that runs on this workspace, if any; takes a few milliseconds and never raises.

    `sessions_dir` is where a Dream's session would appear; without it `dreaming` is always False.
    """
    found = next(_agents(paths, proc, os.getpid() if own_pid is None else own_pid), None)
    if found is None:
        return Presence()
    return Presence(True, found.pid, found.what, _dreaming(sessions_dir))


def running_since(paths: Paths, agent: Presence, *, proc: Path = PROC, own_pid: int | None = None) -> datetime | None:
    """When the oldest of the agents that run here now began, `agent` among them; None where that cannot be told.

    What began before was begun by a process that has ended.
    """
    pids = {found.pid for found in _agents(paths, proc, os.getpid() if own_pid is None else own_pid)}
    if agent.pid is not None:
        pids.add(agent.pid)
    began = [_began(pid, proc) for pid in pids]
    known = [moment for moment in began if moment is not None]
    return min(known) if known and len(known) == len(began) else None


def _began(pid: int, proc: Path) -> datetime | None:
    """When a process began, to a second."""
    try:
        if proc.is_dir():
            ticks = int(_stat(pid, proc)[2])
            age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        else:
            age = _age_by_ps(pid)
    except (OSError, ValueError, AttributeError):  # no such process, or no such clock
        return None
    return datetime.fromtimestamp(time.time() - max(0.0, age), UTC)


def _age_by_ps(pid: int) -> float:
    """How many seconds a process has been running. Raises ValueError or OSError when nobody knows."""
    import subprocess

    try:
        asked = ["ps", "-o", "etime=", "-p", str(pid)]
        told = subprocess.run(asked, capture_output=True, timeout=20, check=False).stdout.decode("ascii", "replace")
    except subprocess.SubprocessError as error:
        raise OSError(str(error)) from error
    days, _, clock = told.strip().rpartition("-")  # [[days-]hours:]minutes:seconds
    seconds = 0
    for part in clock.split(":"):
        seconds = seconds * 60 + int(part)
    return float(int(days or 0) * 86_400 + seconds)


def _agents(paths: Paths, proc: Path, own_pid: int) -> Iterator[Program]:
    """The agents of this workspace; one that recorded itself may come twice."""
    for record in _records(paths.run_dir):
        pid = record["pid"]
        if pid != own_pid and _is_recorded(pid, record, proc) and _may_be_here(record.get("workspace"), paths):
            yield Program(pid, "nanobot gateway", (), hidden=False)
    for program in _programs(proc, own_pid):
        if _works_here(program, paths, proc):
            yield program


# --- what a gateway recorded of itself


def _records(run_dir: Path | None) -> Iterator[dict[str, Any]]:
    try:
        names = sorted(os.listdir(run_dir)) if run_dir else []
    except OSError:  # no such folder, or one of another account
        return
    for name in names:
        if not name.startswith("gateway") or not name.endswith(".json"):
            continue
        with contextlib.suppress(OSError, ValueError):
            record = files.loads(files.read(Path(str(run_dir), name)))
            if isinstance(record, dict) and isinstance(record.get("pid"), int) and record["pid"] > 0:
                yield record


def _is_recorded(pid: int, record: dict[str, Any], proc: Path) -> bool:
    """Whether that process lives and is the one of the record, not another that was given the same number."""
    if not proc.is_dir():
        return any(program.pid == pid for program in _programs(proc, 0))
    state, group, started = _stat(pid, proc)
    if state in ("", "Z"):
        return False
    identity = record.get("stable_identity", record.get("identity"))
    if isinstance(identity, str) and ":" in identity:
        return identity.rpartition(":")[2] == started
    if isinstance(identity, int):
        return identity == group
    return any(name.encode() in _read(proc / str(pid) / "cmdline") for name in PROGRAMS)


def _stat(pid: int, proc: Path) -> tuple[str, int, str]:
    """State letter, process group and start time of a process; ("", 0, "") when there is none."""
    fields = _read(proc / str(pid) / "stat").decode("ascii", "replace").rpartition(")")[2].split()
    if len(fields) < 20 or not fields[2].lstrip("-").isdigit():
        return "", 0, ""
    return fields[0], int(fields[2]), fields[19]


def _may_be_here(recorded: object, paths: Paths) -> bool:
    """False only for a recorded workspace that exists and is another one: homes get moved, containers rename them."""
    if not isinstance(recorded, str) or not recorded:
        return True
    place = expand_home(recorded)
    return _same(place, paths.workspace) or not os.path.exists(place)


# --- the process table


def _programs(proc: Path, own_pid: int) -> Iterator[Program]:
    table = _table_of_proc(proc) if proc.is_dir() else _table_of_ps()
    for pid, arguments in table:
        role = role_of(arguments)
        if role and pid != own_pid:
            yield Program(pid, role, tuple(arguments), hidden=len(arguments) == 1)


def _table_of_proc(proc: Path) -> Iterator[tuple[int, list[str]]]:
    wanted = [name.encode() for name in PROGRAMS]
    for entry in os.listdir(proc):
        if entry.isdigit():
            line = _read(f"{proc}/{entry}/cmdline")
            if any(name in line for name in wanted):
                yield int(entry), [os.fsdecode(part) for part in line.split(b"\0") if part]


def _table_of_ps() -> Iterator[tuple[int, list[str]]]:
    import subprocess  # 5 ms, and not needed where there is a process file system

    with contextlib.suppress(OSError, subprocess.SubprocessError):
        listing = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, timeout=2, check=False).stdout
        for line in listing.splitlines():
            pid, *arguments = os.fsdecode(line).split() or [""]
            if pid.isdigit():
                yield int(pid), arguments


def role_of(arguments: Sequence[str]) -> str:
    """What an agent's command line is, such as `nanobot gateway`; `""` when it is no agent.

    A recent agent replaces its title by one word, `nanobot-gateway`, and drops its arguments.
    """
    if not arguments:
        return ""
    first = os.path.basename(arguments[0])
    name, _, role = first.partition("-")
    if name in PROGRAMS and role in ROLES:
        return f"{name} {role}"
    if first in PROGRAMS:
        return _role(first, arguments[1:])
    if first.startswith(INTERPRETERS):
        for at, argument in enumerate(arguments[1:6], start=1):
            if os.path.basename(argument) in PROGRAMS:
                return _role(os.path.basename(argument), arguments[at + 1 :])
    return ""


def _role(name: str, arguments: Sequence[str]) -> str:
    if not arguments:
        return name
    first = arguments[0]
    if first.startswith("-"):
        return "" if first.partition("=")[0] in ROOT_OPTIONS else f"{name} agent"
    if first == "gateway" and len(arguments) > 1 and arguments[1] in GATEWAY_CONTROLS:
        return ""
    return f"{name} {first}" if first in ROLES else ""


def _works_here(program: Program, paths: Paths, proc: Path) -> bool:
    """Whether that agent works on our workspace: True unless it plainly works elsewhere."""
    workspace = _option(program.arguments, "--workspace", "-w")
    if workspace:
        return _same(_as_seen_by(program.pid, workspace, proc), paths.workspace)
    config = _option(program.arguments, "--config", "-c")
    home = _home_of(program.pid, proc)
    if config is None and home is None:
        return True
    config_file = _as_seen_by(program.pid, config or f"{home}/.nanobot/config.json", proc)
    if program.hidden:
        for record in _records(config_file.parent / "run"):
            if record["pid"] == program.pid and isinstance(record.get("workspace"), str):
                return _same(_as_seen_by(program.pid, record["workspace"], proc), paths.workspace)
        if home and _inside(paths.workspace, Path(home)):
            return True
    if paths.home is not None and _same(config_file.parent, paths.home):
        return True
    return _same(_as_seen_by(program.pid, _configured_workspace(config_file), proc), paths.workspace)


def _option(arguments: Sequence[str], *names: str) -> str | None:
    for at, argument in enumerate(arguments):
        if argument in names and at + 1 < len(arguments):
            return arguments[at + 1]
        name, equals, value = argument.partition("=")
        if equals and name in names:
            return value
    return None


def _home_of(pid: int, proc: Path) -> str | None:
    """The home folder of a process; None when nothing is known of it (another user's container)."""
    folder = proc / str(pid)
    for variable in _read(folder / "environ").split(b"\0"):
        if variable.startswith(b"HOME="):
            return os.fsdecode(variable[5:])
    if any(sign in _read(folder / "cgroup") for sign in CONTAINER_SIGNS):
        return None
    import pwd  # only for a process that hides its environment

    try:
        return pwd.getpwuid(os.stat(folder).st_uid).pw_dir
    except (OSError, KeyError):
        return None


def _as_seen_by(pid: int, path: str, proc: Path) -> Path:
    """`path` of another process from here: through its root folder where we may look into it, else as it reads."""
    folder = proc / str(pid)
    if path.startswith("~"):
        path = (_home_of(pid, proc) or "~") + path[1:]
    if not path.startswith("/"):
        with contextlib.suppress(OSError):
            path = os.path.join(os.readlink(folder / "cwd"), path)
    through = folder / "root" / path.lstrip("/")
    return through if os.path.exists(through) else Path(path)


def _configured_workspace(config: Path) -> str:
    try:
        configured = files.loads(files.read(config))["agents"]["defaults"]["workspace"]
    except (OSError, ValueError, KeyError, TypeError):
        configured = None
    return configured if isinstance(configured, str) and configured else "~/.nanobot/workspace"


def _same(left: Path, right: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return os.path.samefile(left, right)
    return False


def _inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _read(path: Path | str) -> bytes:
    """The start of a small file, empty when it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, 65536)
    except OSError:
        return b""
    finally:
        os.close(handle)


# --- a Dream under way


def _dreaming(sessions_dir: Path | None) -> bool:
    """Whether a Dream's session or its checkpoint was written in the last two minutes."""
    if sessions_dir is None:
        return False
    since = time.time() - DREAM_SECONDS
    with contextlib.suppress(OSError), os.scandir(sessions_dir) as entries:
        for entry in entries:
            if entry.name.startswith(DREAM_PREFIXES) and entry.stat(follow_symlinks=False).st_mtime >= since:
                return True
    return False


# -- which files changed ----------------------------------------------------------------------------------------------

LAYERS = (
    "items", "foreign", "lessons", "sessions", "wal", "history", "dream", "documents", "notes", "review", "usage",
    "tiers",
)  # fmt: skip

TICK = 10_000_000
"""Nanoseconds that the time of a file may lie behind the clock: kernels stamp files by the tick."""

Print = tuple[tuple[str, int, int, int], ...]
"""For each file its path, inode, size in bytes and time of change in nanoseconds."""


class Watch:
    """Remembers the files of each layer as they were when it was made or last asked.

    `sessions` tells where the transcripts lie now. `state_folder`: where the session state lies, when not in its usual
    place. `databases`: those of another system, beside the one in the agent's home. `since`: a time in nanoseconds,
    before it was made, from which changes count too: the first look names them, so that who opens a workspace need not
    look at every file before the first is read. Our own database is left out: it tells of foreign commits itself.
    `work.db` is not. Temporary files of anybody are ignored.
    """

    def __init__(
        self,
        paths: Paths,
        sessions: Callable[[], Path | None] = lambda: None,
        *,
        since: int | None = None,
        state_folder: Path | None = None,
        databases: Iterable[Path] = (),
    ) -> None:
        self._paths = paths
        self._state_folder = state_folder or paths.wal_dir
        usual = paths.home / "memory" / "longterm.db" if paths.home is not None else None
        self._databases = tuple(dict.fromkeys(filter(None, (usual, *databases))))
        self._sessions_now = sessions
        self._late = self._changed_since(since - TICK) if since is not None else set()
        self._seen = {layer: self._print(layer) for layer in LAYERS}

    def changed_layers(self) -> set[str]:
        """The names of the layers that changed since the last look."""
        changed, self._late = self._late, set()
        for layer in LAYERS:
            found = self._print(layer)
            if found != self._seen[layer]:
                self._seen[layer] = found
                changed.add(layer)
        return changed

    def seen(self, *layers: str) -> None:
        """Take those layers as they are now, without reporting them: for a change that we made ourselves."""
        for layer in layers:
            self._seen[layer] = self._print(layer)

    def _changed_since(self, moment: int) -> set[str]:
        """The layers with a file that was written since, or in whose folder of files one was removed."""
        folders = {
            "sessions": self._session_folders(),
            "wal": (self._state_folder,),
            "notes": (self._paths.memory / "episodic", self._paths.memory / "semantic"),
            "review": (self._paths.review,),
        }
        return {
            layer
            for layer in LAYERS
            if any(at.st_ctime_ns >= moment for _, at in (*self._files(layer), *_files(folders.get(layer, ()))))
        }

    def _print(self, layer: str) -> Print:
        found = ((path, at.st_ino, at.st_size, at.st_mtime_ns) for path, at in self._files(layer))
        return tuple(sorted(found))

    def _files(self, layer: str) -> Iterable[tuple[str, os.stat_result]]:
        paths = self._paths
        match layer:
            case "items":
                return _files((paths.ltm_snapshot,))
            case "foreign":
                return _files(chain.from_iterable(map(_with_wal, self._databases)))
            case "lessons":
                return _files((paths.lessons,))
            case "sessions":
                folders = self._session_folders()
                return chain.from_iterable(_folder(one, (".jsonl", ".checkpoint.json")) for one in folders)
            case "wal":
                return _folder(self._state_folder, (".md",))
            case "history":
                return _files((paths.history, paths.history_md, paths.cursor))
            case "dream":
                return self._dream()
            case "documents":
                return _files(paths.workspace / name for name in TRACKED_FILES)
            case "notes":
                return self._notes()
            case "review":
                return _folder(paths.review, (".json",))
            case "usage":
                return _files(_with_wal(paths.token_log)) if paths.token_log is not None else ()
        return _files(_with_wal(paths.work_database))

    def _session_folders(self) -> tuple[Path, ...]:
        folder = self._sessions_now()
        return (folder,) if folder is not None else ()

    def _dream(self) -> Iterable[tuple[str, os.stat_result]]:
        yield from _files((self._paths.dream_cursor,))
        for git in (*self._paths.git_dirs, *filter(None, [self._paths.outer_git_dir])):
            yield from _files((git / "HEAD", git / "packed-refs"))
            yield from _tree(git / "refs" / "heads")

    def _notes(self) -> Iterable[tuple[str, os.stat_result]]:
        for path, at in _folder(self._paths.memory, (".md",)):
            if not path.endswith(("/MEMORY.md", "/HISTORY.md")):
                yield path, at
        for name in ("episodic", "semantic"):
            yield from _folder(self._paths.memory / name, (".md",))


def _with_wal(database: Path) -> tuple[Path, Path]:
    return database, database.with_name(f"{database.name}-wal")


def _files(paths: Iterable[Path]) -> Iterable[tuple[str, os.stat_result]]:
    for path in paths:
        try:
            yield str(path), os.stat(path)
        except OSError:
            continue


def _folder(folder: Path, endings: tuple[str, ...]) -> Iterable[tuple[str, os.stat_result]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(endings) and not entry.name.startswith("."):
            try:
                yield entry.path, entry.stat()
            except OSError:
                continue


def _tree(folder: Path) -> Iterable[tuple[str, os.stat_result]]:
    """Branches of every depth: `dream/x` is a folder in a folder."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            at = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISDIR(at.st_mode):
            yield from _tree(Path(entry.path))
        elif not entry.name.endswith(".lock"):
            yield entry.path, at
