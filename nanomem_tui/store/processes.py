"""Other processes on the memory of a home: who has it open, who decides, and who writes the agent's files.

Owns the locks that say so, and the id of this copy of a home. Each is an flock, which ends with its process: a pid
proves nothing, it is used again, and another machine has others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import AccessDenied, NanomemError, NotFound, Refused, from_os_error
from nanomem_tui.core.paths import Paths
from nanomem_tui.store import models, operations
from nanomem_tui.store.engine import Database

if TYPE_CHECKING:
    from nanomem_tui.store.postgres import PostgresDatabase


# -- who has a memory open for long, and who must be alone with it ----------------------------------------------------

PROC = Path("/proc")


@contextlib.contextmanager
def staying(paths: Paths) -> Iterator[None]:
    """Have the memory open until the end of the block. Raises Refused while somebody is alone with it."""
    with _held(_folder(paths), fcntl.LOCK_SH) as held:
        if not held:
            what = "a text is being forgotten, or a backup brought back, in this memory"
            raise Refused(what, str(paths.workspace), "try again when it is done")
        yield


@contextlib.contextmanager
def alone(paths: Paths) -> Iterator[None]:
    """Be the only one who has the memory open. Raises Refused, with the name of who else has where it can be told."""
    with _held(_folder(paths), fcntl.LOCK_EX) as held:
        if not held:
            raise Refused(f"{who_has_it_open(paths)} has this memory open", str(paths.workspace),
                          "close it first: it would write back what it knows")  # fmt: skip
        yield


def _folder(paths: Paths) -> Path:
    """The folder that is locked."""
    return paths.own_id.parent


@contextlib.contextmanager
def _held(folder: Path, how: int) -> Iterator[bool]:
    handle = None
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle is None or _locked(handle, how)
    finally:
        if handle is not None:
            os.close(handle)


def _locked(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks here
        return True
    return True


def who_has_it_open(paths: Paths) -> str:
    """One who has the memory open for long, in words."""
    pid = next(_holders(_folder(paths)), None)
    if pid is None:
        return "another nanomem"
    return f"{_name(pid)} (process {pid})"


def _holders(folder: Path) -> Iterator[int]:
    """The processes that hold a lock of a folder, where the system tells."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = str(os.stat(folder).st_ino)
        for line in (PROC / "locks").read_text().splitlines():
            fields = line.split()  # 1: FLOCK ADVISORY READ 1234 08:01:5678 0 EOF
            if "->" not in fields and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
                yield int(fields[4])


def _name(pid: int) -> str:
    """What a process of ours does: `nanomem turn serve`; without more words it is the console."""
    try:
        words = [os.fsdecode(word) for word in (PROC / str(pid) / "cmdline").read_bytes().split(b"\0") if word]
    except OSError:
        return "another nanomem"
    at = next((at for at, word in enumerate(words) if os.path.basename(word) in ("nanomem", "nanomem_tui")), None)
    if at is None:
        return "another program"
    options = {place + 1 for place, word in enumerate(words) if word in ("--workspace", "--config")}
    given = [word for place, word in enumerate(words) if place > at and place not in options and word.isalpha()][:2]
    return f"`nanomem {' '.join(given)}`" if given else "the console"


# -- who writes files of others ---------------------------------------------------------------------------------------


class Writers:
    """The lock files of one workspace, in a folder; `name` is that of this process, once it has begun."""

    def __init__(self, folder: Path, shared: Paths | None = None) -> None:
        """`shared`: the paths of this home, where others share the memory."""
        self.name = ""
        self._folder = folder
        self._shared = shared
        self._handle: int | None = None

    @property
    def is_alone(self) -> bool:
        """Whether no other home shares the memory."""
        return self._shared is None

    def begin(self) -> str:
        """Hold this process's lock from now on; return its name. Raises the errors of `from_os_error`."""
        if self._handle is None:
            home = f"{made_home(self._shared)}." if self._shared is not None else ""
            self.name = f"{home}{os.getpid()}-{secrets.token_hex(4)}"
            atomic.make_folder(self._folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            with contextlib.ExitStack() as opened:
                try:
                    handle = os.open(self._folder / self.name, flags, atomic.PRIVATE_FILE)
                    opened.callback(os.close, handle)
                    fcntl.flock(handle, fcntl.LOCK_EX)
                except OSError as error:
                    raise from_os_error(error, "beginning a change of files") from error
                opened.pop_all()
                self._handle = handle
        return self.name

    def is_of_here(self, name: str) -> bool:
        """Whether a process of that name writes, or wrote, the files of this home."""
        home, dot, _ = name.partition(".")
        return not dot or (self._shared is not None and home == known_home(self._shared))

    def is_alive(self, name: str) -> bool:
        """Whether the process of that name, one of here, still runs. Its file is removed when it does not."""
        if name == self.name:
            return self._handle is not None
        if not name or "/" in name:
            return False
        try:
            handle = os.open(self._folder / name, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()
            return False
        finally:
            os.close(handle)

    def close(self) -> None:
        """Let go of this process's lock."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                (self._folder / self.name).unlink()
            os.close(self._handle)
            self._handle = None


# -- the id of this copy of an agent's home ---------------------------------------------------------------------------

HOME = "here"


def known_home(paths: Paths) -> str:
    """The id; empty as long as there is none of this copy."""
    path = paths.own_id.parent / HOME
    try:
        found, inode = files.read(path).decode("ascii").split()
        return found if found.isalnum() and int(inode) == os.lstat(path).st_ino else ""
    except (OSError, UnicodeDecodeError, ValueError, NanomemError):
        return ""


def made_home(paths: Paths) -> str:
    """The id, made now where there is none. Raises the errors of `from_os_error`."""
    if found := known_home(paths):
        return found
    path = paths.own_id.parent / HOME
    found = os.urandom(8).hex()
    try:
        atomic.make_folder(path.parent)
        temporary = path.with_name(f".{HOME}.{found}.nanomem-tmp")
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, atomic.PRIVATE_FILE)
        with open(handle, "wb") as file:
            file.write(f"{found} {os.fstat(handle).st_ino}\n".encode())
            file.flush()
            os.fsync(handle)
        os.replace(temporary, path)
        atomic.sync_folder(path.parent)
    except OSError as error:
        raise from_os_error(error, "making nanomem's folder") from error
    return found


# -- changes that rest on what stands now -----------------------------------------------------------------------------

WAIT = 5.0
"""Seconds to wait for another process that decides."""


class Deciding:
    """Who decides in one workspace. `look`: sees what other processes did."""

    def __init__(self, folder: Path, look: Callable[[], object]) -> None:
        self._folder = folder
        self._look = look
        self._threads = threading.RLock()
        self._depth = 0

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from deciding meanwhile; entered before the lock of the rows, and within itself. Raises
        Refused when another decides for longer than some seconds."""
        with contextlib.ExitStack() as held, self._threads:
            if not self._depth:
                with contextlib.suppress(FileNotFoundError):  # nothing was ever written here
                    handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
                    held.callback(os.close, handle)
                    atomic.wait_for_lock(handle, self._folder, WAIT)
                self._look()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1


# Who shares a memory: leases say who does a piece of work, such as a Dream, for all; members see it on a server.

LEASES = models.table(models.Lease)
SECONDS = 60.0
"""How long a lease holds unless it is renewed."""


@contextlib.contextmanager
def held(database: Database, work: str, seconds: float = SECONDS) -> Iterator[bool]:
    """Whether this process got the lease for a piece of work; it is renewed until the end. Raises StoreError.

    Somebody else may get it before the end where this process sleeps, or does not reach the server, for `seconds`: what
    the work writes is compared in any case.
    """
    holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    if not _take(database, work, holder, seconds):
        yield False
        return
    over = threading.Event()

    def renew() -> None:
        while not over.wait(seconds / 3):
            with contextlib.suppress(NanomemError):  # asked again later
                _take(database, work, holder, seconds)

    renewing = threading.Thread(target=renew, name="nanomem-lease", daemon=True)
    renewing.start()
    try:
        yield True
    finally:
        over.set()
        renewing.join()
        mine = (LEASES.c.work == work) & (LEASES.c.holder == holder)
        with contextlib.suppress(NanomemError), database.writing(durable=False) as connection:  # it lapses by itself
            connection.execute(update(LEASES).where(mine).values(until=0.0))


def take(connection: Connection, work: str, holder: str, seconds: float = SECONDS) -> bool:
    """Take a lease that nobody holds, or renew one's own, in the transaction of the caller; whether that was done.
    Raises IntegrityError where another process makes it in this moment."""
    now = _now(connection)
    free = (LEASES.c.until <= now) | (LEASES.c.holder == holder)
    taken = update(LEASES).where(LEASES.c.work == work, free).values(holder=holder, until=now + seconds)
    if connection.execute(taken).rowcount:
        return True
    if connection.execute(select(LEASES.c.work).where(LEASES.c.work == work)).first() is not None:
        return False
    connection.execute(insert(LEASES).values(work=work, holder=holder, until=now + seconds))
    return True


def is_held(connection: Connection, work: str) -> bool:
    """Whether anybody holds the lease for a piece of work."""
    asked = select(LEASES.c.work).where(LEASES.c.work == work, LEASES.c.until > _now(connection))
    return connection.execute(asked).first() is not None


def drop(connection: Connection, work: str) -> None:
    """Let go of the lease for a piece of work that is done for good."""
    connection.execute(delete(LEASES).where(LEASES.c.work == work))


def _take(database: Database, work: str, holder: str, seconds: float) -> bool:
    try:
        with database.writing(durable=False) as connection:
            return take(connection, work, holder, seconds)
    except IntegrityError:  # another process made the row in this moment
        return False


def _now(connection: Connection) -> float:
    """The time in seconds, by the clock that all who share the memory have in common."""
    if connection.dialect.name == "sqlite":
        return time.time()
    return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())


# -- the members of a workspace ---------------------------------------------------------------------------------------

_HAS_LOGIN = "SELECT rolcanlogin FROM pg_roles WHERE rolname = %s"
_TABLES = (
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
    " WHERE nspname = %s AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY relname"
)
_STRAYS = (
    "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s"
    " AND relkind IN ('r', 'p') AND relowner <> nspowner AND pg_has_role(relowner, 'USAGE') ORDER BY relname"
)
_MEMBERS = (
    "SELECT DISTINCT m.rolname FROM pg_auth_members a JOIN pg_roles g ON g.oid = a.roleid"
    " JOIN pg_roles m ON m.oid = a.member WHERE g.rolname = %s ORDER BY 1"
)


def members(database: PostgresDatabase) -> list[str]:
    """List the roles that see the memory; superusers see it too. Raises NotFound where there is no schema."""
    with database.reading() as connection:
        owner = _owner(database, connection)
        return [owner] if _is_a_persons(connection, owner) else _members_of(connection, owner)


def grant(database: PostgresDatabase, member: str) -> None:
    """Let a role see and change the memory. Raises NotFound for the role, or AccessDenied: the first one to be let in
    needs an owner with CREATEROLE, for the role of the workspace; others whoever made that."""
    with database.reading() as connection:
        owner = _owner(database, connection)
        if connection.exec_driver_sql(_HAS_LOGIN, (member,)).first() is None:
            raise NotFound("there is no such role on the server", member, f"make it: CREATE ROLE {member} LOGIN")
        statements = _to_owner(database, connection, owner)
        group = owner
        if _is_a_persons(connection, owner):
            group = f"{database.schema[:50]}_{secrets.token_hex(4)}"
            statements = _to_group(database, connection, group, owner)
        statements.append(f"GRANT {database.quoted(group)} TO {database.quoted(member)}")
    try:
        with database.transaction() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)
    except AccessDenied as error:
        needed = statements[-1] if group == owner else f"ALTER ROLE {database.quoted(owner)} CREATEROLE"
        raise AccessDenied(error.what, error.where, f"let an administrator run: {needed}") from error


def revoke(database: PostgresDatabase, member: str) -> None:
    """Let a role see the memory no more, nor hear that it changes. Raises Refused for the role that asks, NotFound, or
    AccessDenied where somebody else let it in."""
    with database.transaction() as connection:
        owner = _owner(database, connection)
        if member == connection.exec_driver_sql("SELECT current_user").scalar_one():
            raise Refused("a role cannot take out itself", member, "let another member do it")
        if _is_a_persons(connection, owner) or member not in _members_of(connection, owner):
            raise NotFound("that role is no member", member, "nothing was changed")
        statement = f"REVOKE {database.quoted(owner)} FROM {database.quoted(member)}"
        connection.exec_driver_sql(statement)
        if member in _members_of(connection, owner):
            fix = f"let who let it in, or an administrator, run: {statement}"
            raise AccessDenied("somebody else made that role a member", member, fix)
        operations.next_revision(connection)  # tells it on the old channel too, so that others look
        channel = f"nanomem_{secrets.token_hex(12)}"
        connection.execute(update(operations.META).values(channel=channel))


def act_as_owner(connection: Connection) -> None:
    """Make what the rest of a transaction makes on a server belong to the owner of the schema: all members see it."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            "SELECT set_config('role', pg_get_userbyid(nspowner)::text, true)"
            " FROM pg_namespace WHERE nspname = current_schema()"
        )


def strays(database: PostgresDatabase) -> list[str]:
    """List the tables of ours that do not belong to the owner of the schema: other members do not see them. Raises
    NotFound where there is no schema."""
    with database.reading() as connection:
        _owner(database, connection)
        return _strays(database, connection)


def give_strays_to_owner(database: PostgresDatabase) -> None:
    """Give the tables of `strays` to the owner of the schema. Raises NotFound, AccessDenied, or StoreError."""
    with database.transaction() as connection:
        for statement in _to_owner(database, connection, _owner(database, connection)):
            connection.exec_driver_sql(statement)


def _strays(database: PostgresDatabase, connection: Connection) -> list[str]:
    return list(connection.exec_driver_sql(_STRAYS, (database.schema,)).scalars())


def _to_owner(database: PostgresDatabase, connection: Connection, owner: str) -> list[str]:
    quoted, schema = database.quoted, database.quoted(database.schema)
    return [f"ALTER TABLE {schema}.{quoted(table)} OWNER TO {quoted(owner)}" for table in _strays(database, connection)]


def _to_group(database: PostgresDatabase, connection: Connection, group: str, owner: str) -> list[str]:
    """Return the statements that give schema and tables to a new role and make the owner a member of it."""
    tables = connection.exec_driver_sql(_TABLES, (database.schema,)).scalars()
    quoted, schema = database.quoted, database.quoted(database.schema)
    is_new = (connection.dialect.server_version_info or ()) >= (16,)  # who makes a role may let others in, by itself
    return [
        f"CREATE ROLE {quoted(group)} NOLOGIN",
        f"GRANT {quoted(group)} TO {quoted(owner)}{'' if is_new else ' WITH ADMIN OPTION'}",
        f"GRANT CREATE ON SCHEMA {schema} TO {quoted(group)}",
        *(f"ALTER TABLE {schema}.{quoted(table)} OWNER TO {quoted(group)}" for table in tables),
        f"ALTER SCHEMA {schema} OWNER TO {quoted(group)}",
    ]


def _owner(database: PostgresDatabase, connection: Connection) -> str:
    owner = database.owner(connection)
    if not owner:
        raise NotFound("this memory is not on the server", database.where, "it is made by the first change")
    return owner


def _is_a_persons(connection: Connection, role: str) -> bool:
    return bool(connection.exec_driver_sql(_HAS_LOGIN, (role,)).scalar())


def _members_of(connection: Connection, role: str) -> list[str]:
    return list(connection.exec_driver_sql(_MEMBERS, (role,)).scalars())
