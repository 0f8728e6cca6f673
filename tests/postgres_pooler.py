"""A PgBouncer for tests that hands out its connections by transaction, in front of the tests' own PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hygiene.repository import ROOT
from tests.postgres_server import PostgresServer

UNPACKED = ROOT / ".peers" / "pgbouncer"
PROGRAM = UNPACKED / "usr/sbin/pgbouncer"
PORT = 6432
CONFIG = """\
[databases]
{name} = host={server} dbname={name} user=postgres
[pgbouncer]
unix_socket_dir = {folder}
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 8
"""


@contextlib.contextmanager
def database(postgres: PostgresServer) -> Iterator[str]:
    """The address of an empty database of its own, through the pool."""
    if not (UNPACKED / ".done").exists():
        pytest.skip("no PgBouncer: `make pooler` unpacks one")
    name = f"pooled_{os.getpid()}"
    postgres.run("postgres", f"CREATE DATABASE {name}")
    folder = Path(tempfile.mkdtemp(prefix="nm-pool-"))
    try:
        config = folder / "pgbouncer.ini"
        config.write_text(CONFIG.format(name=name, server=postgres.folder, folder=folder, port=PORT), "utf-8")
        owner = pwd.getpwuid(postgres.folder.stat().st_uid)  # no other reaches the server's socket
        if os.getuid() == 0:
            for path in (folder, config):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        as_owner = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        libraries = {"LD_LIBRARY_PATH": ":".join(map(str, UNPACKED.glob("usr/lib/*-linux-gnu*")))}
        with subprocess.Popen([PROGRAM, "-q", config], env={**os.environ, **libraries}, **as_owner) as process:  # type: ignore[call-overload]
            try:
                wait_for(folder / f".s.PGSQL.{PORT}")
                yield f"postgresql+psycopg://postgres@/{name}?host={folder}&port={PORT}"
            finally:
                process.terminate()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        postgres.run("postgres", f"DROP DATABASE {name} WITH (FORCE)")


def wait_for(path: Path) -> None:
    end = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < end, "PgBouncer did not begin"
        time.sleep(0.02)
