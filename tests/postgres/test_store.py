"""The memory in a real PostgreSQL: what only a server can get wrong."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.errors import (
    AccessDenied,
    Conflict,
    InvalidConfig,
    NanomemError,
    NewerDatabase,
    StoreError,
)
from nanomem_tui.operations import Change, Operation, new_operation
from nanomem_tui.store import chain
from nanomem_tui.store.postgres import schema
from nanomem_tui.store.postgres.server import Server, spoken
from nanomem_tui.workspace import Workspace
from tests.postgres_server import PostgresServer, schema_in
from tests.store.homes import kill, make_home

pytestmark = pytest.mark.vectors
ROOT = Path(__file__).resolve().parents[2]


def texts(workspace: Path) -> set[str]:
    with open_workspace(workspace) as ws:
        return {item.text for item in ws.items.all()}


def settled(ws: Workspace) -> None:
    """Until what was decided is on the server, or could not be written."""
    assert ws.store.behind is not None
    assert ws.store.behind.wait(30)


# -- one process ----------------------------------------------------------------------------------------------------


def test_what_is_kept_is_on_the_server_and_nowhere_else(home: Path) -> None:
    with open_workspace(home) as ws:
        ws.items.add("the ferry leaves at nine")
        ws.flush()
        assert not ws.paths.database.exists()
        assert [item.text for item in ws.items.all() if "ferry" in item.text] == ["the ferry leaves at nine"]
        told = ws.status()["store"]
    assert told["database"].startswith("PostgreSQL")
    assert told["operations"] == 1
    assert "the ferry leaves at nine" in texts(home)


def test_looking_makes_no_table(home: Path, postgres: PostgresServer, url: str) -> None:
    with open_workspace(home) as ws:
        assert len(ws.items.all()) == 4
        assert ws.status()["store"]["database"] is None
    name = schema_in(url)
    tables = postgres.run("postgres", f"SELECT tablename FROM pg_tables WHERE schemaname = '{name}'")
    assert tables == []


def test_everything_is_undone_and_redone_across_openings(home: Path) -> None:
    with open_workspace(home) as ws:
        before = {row.id: row.text for row in ws.items.all()}
        added = ws.items.add("one more")
        ws.items.edit("ltm_1", text="edited")
        ws.items.delete(["ltm_2"])
        after = {row.id: row.text for row in ws.items.all()}
    with open_workspace(home) as ws:
        ws.undo(count=3)
        assert {row.id: row.text for row in ws.items.all()} == before
    with open_workspace(home) as ws:
        ws.redo(count=3)
        assert {row.id: row.text for row in ws.items.all()} == after
    assert added is not None


def test_a_text_with_a_nul_is_kept_with_its_sign_and_is_undone(home: Path) -> None:
    with open_workspace(home) as ws:
        ws.items.add("a\0b")
        ws.flush()
    with open_workspace(home) as ws:
        assert "a␀b" in {item.text for item in ws.items.all()}
        assert not ws.problems()
        ws.undo()
        assert "a␀b" not in {item.text for item in ws.items.all()}


@pytest.mark.parametrize(
    "text", ['it\'s 100 % \\ "quoted" ? %s $1', "ไทย ตัวอย่าง", "東京の天気", "👩‍👩‍👧 family", "x" * 100_000]
)
def test_any_text_comes_back_as_it_was_and_is_found(home: Path, text: str) -> None:
    with open_workspace(home) as ws:
        ws.items.add(text)
    with open_workspace(home) as ws:
        assert text in {item.text for item in ws.items.all()}
        assert not [problem for problem in ws.doctor() if problem.severity == "error"]


def test_a_statement_of_ours_as_the_driver_takes_it() -> None:
    assert spoken("SELECT '?%' FROM t WHERE a = ? AND b LIKE 'it''s ?'") == (
        "SELECT '?%%' FROM t WHERE a = %s AND b LIKE 'it''s ?'"
    )


# -- several processes -------------------------------------------------------------------------------------------------


def test_what_another_console_wrote_is_seen_at_the_next_look(home: Path) -> None:
    with open_workspace(home) as one, open_workspace(home) as other:
        one.items.add("begin")
        one.flush()
        other.items.all()
        one.items.add("seen by both")
        one.flush()
        until(lambda: other.refresh() or "seen by both" in {item.text for item in other.items.all()})
        assert "seen by both" in {item.text for item in other.items.all()}


def elsewhere(home: Path, folder: Path) -> Path:
    """The same workspace as another machine has it: its files copied, its ledger its own."""
    shutil.copytree(home.parent, folder / home.parent.name, dirs_exist_ok=True)
    return folder / home.parent.name / home.name


def on_two_machines(home: Path, folder: Path) -> tuple[Workspace, Workspace]:
    with open_workspace(home) as ws:
        ws.items.add("begin")
        ws.flush()
    return open_workspace(home), open_workspace(elsewhere(home, folder))


def test_two_machines_know_each_other_s_decisions_at_once(home: Path, tmp_path: Path) -> None:
    here, there = on_two_machines(home, tmp_path / "other")
    with here, there:
        assert here.id == there.id
        there.items.all()
        here.items.edit("ltm_1", text="decided here")
        edit = here.log()[0].operation.id
        with pytest.raises(Conflict):
            there.perform(stale_edit())
        there.undo()
        assert next(item.text for item in there.items.all() if item.id == "ltm_1") == "item number 1"
        with pytest.raises(NanomemError):
            here.undo(edit)


def stale_edit() -> Operation:
    """An edit that starts from the text that was there before the other machine changed it."""
    change = Change("item", "ltm_1", {"text": "item number 1"}, {"text": "decided there"})
    return new_operation("items.edit", "edit", [change])


def _adds(workspace: Path, name: str, count: int) -> None:
    with open_workspace(workspace) as ws:
        for number in range(count):
            ws.items.add(f"{name} {number}")
            if number % 7 == 0:
                ws.flush()


def test_four_processes_on_two_machines_lose_and_double_nothing(home: Path, tmp_path: Path) -> None:
    here, there = on_two_machines(home, tmp_path / "other")
    places = [here.paths.workspace, there.paths.workspace]
    here.close()
    there.close()
    context = multiprocessing.get_context("spawn")
    jobs = [context.Process(target=_adds, args=(places[n % 2], f"process {n}", 25)) for n in range(4)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(120)
        assert job.exitcode == 0
    with open_workspace(home) as ws:
        found = [item.text for item in ws.items.all() if item.text.startswith("process")]
        assert sorted(found) == sorted(f"process {n} {i}" for n in range(4) for i in range(25))
        log = [entry.operation.id for entry in ws.log(limit=1_000)]
        assert len(log) == len(set(log)) == 101
    with open_workspace(home) as ws, ws.store.opened() as connection:
        assert chain.verify(connection, ws.id).whole


# -- the server goes away --------------------------------------------------------------------------------------------


class Proxy:
    """Lets connections through to the server's socket until it is told to cut them and to refuse more."""

    def __init__(self, folder: Path, target: Path) -> None:
        self._target = target
        self._socket = socket.socket(socket.AF_UNIX)
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._open = True
        self._socket.bind(str(folder / target.name))
        self._socket.listen(50)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                ours, _ = self._socket.accept()
            except OSError:
                return
            if not self._open:
                ours.close()
                continue
            theirs = socket.socket(socket.AF_UNIX)
            theirs.connect(str(self._target))
            self._pairs.append((ours, theirs))
            for a, b in ((ours, theirs), (theirs, ours)):
                threading.Thread(target=_pump, args=(a, b), daemon=True).start()

    def cut(self) -> None:
        """The server is gone."""
        self._open = False
        pairs, self._pairs = self._pairs, []
        for one in (end for pair in pairs for end in pair):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def mend(self) -> None:
        """It is back."""
        self._open = True

    def close(self) -> None:
        self.cut()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy(postgres: PostgresServer, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory(prefix="nm-px-") as folder:
        found = Proxy(Path(folder), postgres.folder / ".s.PGSQL.5432")
        monkeypatch.setenv("NANOMEM_DATABASE_URL", url.replace(f"host={postgres.folder}", f"host={folder}"))
        yield found
        found.close()


def test_what_is_decided_while_the_server_is_away_is_written_when_it_is_back(proxy: Proxy, tmp_path: Path) -> None:
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.add("before")
        ws.flush()
        proxy.cut()
        ws.items.add("while it was away")
        settled(ws)
        assert "PostgreSQL does not answer" in ws.degraded
        with pytest.raises(StoreError):
            ws.flush()
        assert "while it was away" in {item.text for item in ws.items.all()}
        proxy.mend()
        ws.flush()
        assert ws.degraded == ""
    assert {"before", "while it was away"} <= texts(home)


def test_what_waits_is_written_by_looking_once_the_server_is_back(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanomem_tui.store.memory_store.AGAIN", 0.0)
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.add("before")
        ws.flush()
        proxy.cut()
        ws.items.add("while it was away")
        settled(ws)
        ws.refresh()
        settled(ws)
        assert [problem for problem in ws.problems() if problem.what.startswith("degraded")]
        proxy.mend()
        ws.refresh()
        settled(ws)
        assert (ws.degraded, ws.store.dirty) == ("", 0)
        assert not [problem for problem in ws.problems() if problem.what.startswith("degraded")]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("edit", "edit", ("blue", {"text": "green"})),
        ("edit", "delete", ("green", {"is_deleted": True})),
        ("delete", "edit", ("blue", {"is_deleted": True})),
    ],
)
def test_what_a_machine_did_without_its_server_takes_nothing_that_another_one_wrote(
    proxy: Proxy, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str, expected: object
) -> None:
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.set_pinned(["ltm_4"], True)
    by_proxy = os.environ["NANOMEM_DATABASE_URL"]
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    here = open_workspace(elsewhere(home, tmp_path / "other"))
    monkeypatch.setenv("NANOMEM_DATABASE_URL", by_proxy)
    with open_workspace(home) as away:
        away.items.all()
        proxy.cut()
        with here:
            here.items.edit("ltm_1", text="green") if first == "edit" else here.items.delete(["ltm_1"])
        away.items.edit("ltm_1", text="blue") if second == "edit" else away.items.delete(["ltm_1"])
        settled(away)
        proxy.mend()
        away.flush()
        row = away.items.get("ltm_1")
        assert (row.text, row.meta["conflict"]) == expected
        assert [one.id for one in away.triage.findings(["unsettled"])] == ["unsettled:ltm_1"]
        if first == second:
            away.undo()
            assert away.items.get("ltm_1").text == "green"


def test_what_was_just_decided_is_undone_while_the_server_is_away(proxy: Proxy, tmp_path: Path) -> None:
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.add("before")
        ws.flush()
        proxy.cut()
        ws.items.edit("ltm_1", text="a slip")
        ws.undo()
        assert ws.items.get("ltm_1").text == "item number 1"
        ws.redo()
        ws.undo()
        with pytest.raises(StoreError):  # what is older is on the server
            ws.undo()
        with pytest.raises(StoreError):  # a part of it would be taken for all
            ws.log()
        proxy.mend()
        ws.flush()
    with open_workspace(home) as ws:
        assert ws.items.get("ltm_1").text == "item number 1"
        assert ws.undo()[0].label == "undo: add “before”"


def test_a_killed_process_s_ledger_is_written_by_the_next(proxy: Proxy, tmp_path: Path) -> None:
    home = make_home(tmp_path)
    ws = open_workspace(home)
    ws.items.add("before")
    ws.flush()
    proxy.cut()
    ws.items.add("acknowledged")
    kill(ws)
    proxy.mend()
    assert {"before", "acknowledged"} <= texts(home)
    with open_workspace(home) as again:
        again.flush()
        assert [entry.operation.label for entry in again.log()].count("add “acknowledged”") == 1


def test_without_its_server_a_memory_says_so_and_shows_nothing_false(proxy: Proxy, tmp_path: Path) -> None:
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.add("kept")
    proxy.cut()
    ws = open_workspace(home)
    with pytest.raises(StoreError, match="does not answer"):
        ws.items.all()
    with pytest.raises(StoreError, match="does not answer"):
        ws.items.add("not acknowledged")
    assert [problem for problem in ws.doctor() if "does not answer" in problem.what]
    ws.close()
    proxy.mend()
    assert "kept" in texts(home)
    assert "not acknowledged" not in texts(home)


@pytest.mark.parametrize("at", [0, 1, 2, 3, 5, 8, 12, 16, 20, 25])
def test_a_connection_that_drops_at_any_statement_loses_and_doubles_nothing(
    proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Also at the COMMIT, of which nobody can say then whether it was made."""
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.add("before")
        ws.flush()
        ws.items.edit("ltm_1", text="edited")
        counted = 0
        import psycopg

        real = psycopg.Connection.execute

        def dropping(self, query, *more, **named):  # type: ignore[no-untyped-def]
            nonlocal counted
            counted += 1
            if counted - 1 == at:
                proxy.cut()
            if query == "COMMIT" and counted - 1 == at - 1:
                done = real(self, query, *more, **named)
                proxy.cut()
                raise psycopg.OperationalError("the connection is lost") if done else AssertionError
            return real(self, query, *more, **named)

        with monkeypatch.context() as patch:
            patch.setattr(psycopg.Connection, "execute", dropping)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ws.items.add("after")
                for _ in range(2):
                    try:
                        ws.flush()
                    except NanomemError:
                        break
        proxy.mend()
        ws.flush()
        ids = [entry.operation.id for entry in ws.log(limit=100)]
        assert len(ids) == len(set(ids)) == 3
    with open_workspace(home) as ws:
        assert sorted(item.text for item in ws.items.all()) == sorted(
            ["edited", "item number 2", "item number 3", "item number 4", "before", "after"]
        )
        assert ws.log()[0].operation.label == "add “after”"


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "error", "words"),
    [
        ("mysql://x/y", InvalidConfig, "no address"),
        ("postgresql://u:secret@localhost/x", InvalidConfig, "holds a password"),
        ("postgresql://nobody@/postgres?host={folder}", StoreError, 'role "nobody" does not exist'),
        ("postgresql://postgres@/nowhere?host={folder}", StoreError, "nowhere"),
        ("postgresql://postgres@127.0.0.1:1/x?connect_timeout=2", StoreError, "does not answer"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, error: type[Exception],
    words: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("NANOMEM_DATABASE_URL", address.format(folder=postgres.folder))
    home = make_home(tmp_path)
    with pytest.raises(error) as caught, open_workspace(home) as ws:
        ws.items.add("x")
    assert isinstance(caught.value, NanomemError)
    line = caught.value.line()
    assert words in line
    assert "\n" not in line
    assert "secret" not in line
    run = subprocess.run(
        [sys.executable, "-m", "nanomem_tui", "memory", "list", "--workspace", str(home)],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert run.returncode == 2
    assert len(run.stderr.strip().splitlines()) == 1
    assert "secret" not in run.stderr


def test_a_newer_schema_is_refused_and_left_alone(home: Path, url: str) -> None:
    with open_workspace(home) as ws:
        ws.items.add("x")
        ws.flush()
        server = Server(url, ws.id)
    with server.alone() as raw:
        raw.execute("UPDATE nanomem_schema SET version = 99")
    with pytest.raises(NewerDatabase, match="schema 99"), open_workspace(home) as ws:
        ws.items.all()
    with server.alone() as raw:
        raw.execute(f"UPDATE nanomem_schema SET version = {schema.VERSION}")
    assert "x" in texts(home)
    server.close()


def test_a_newer_release_that_comes_while_this_one_runs_is_told_and_nothing_is_lost(home: Path, url: str) -> None:
    with open_workspace(home) as ws:
        ws.items.add("x")
        ws.flush()
        server = Server(url, ws.id)
        with server.alone() as raw:
            raw.execute("UPDATE nanomem_schema SET version = 99")
        ws.items.add("y")
        settled(ws)
        assert "schema 99" in ws.degraded
        with server.alone() as raw:
            raw.execute(f"UPDATE nanomem_schema SET version = {schema.VERSION}")
    assert {"x", "y"} <= texts(home)
    server.close()


def test_a_role_without_rights_is_told_what_it_lacks(
    home: Path, url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_workspace(home) as ws:
        ws.items.add("x")
        ws.flush()
    postgres.run("postgres", "DROP ROLE IF EXISTS weak", "CREATE ROLE weak LOGIN")
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url.replace("postgres@", "weak@"))
    with pytest.raises((AccessDenied, StoreError)) as caught, open_workspace(home) as ws:
        ws.items.all()
    assert isinstance(caught.value, NanomemError)
    assert caught.value.fix


# -- one database, several workspaces -----------------------------------------------------------------------------


def test_a_member_of_one_workspace_reaches_no_other_by_any_way(
    tmp_path: Path, url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    ids = []
    for name in ("mine", "theirs"):
        with open_workspace(make_home(tmp_path / name)) as ws:
            ws.items.add(f"a secret of {name}")
            ws.flush()
            ids.append(ws.id)
    mine, theirs = ids
    place = schema_in(url)
    postgres.run(
        "postgres", "DROP ROLE IF EXISTS member", "CREATE ROLE member LOGIN",
        f"GRANT USAGE ON SCHEMA {place} TO member",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {place} TO member",
        f"REVOKE ALL ON {place}.nanomem_members, {place}.nanomem_schema FROM member",
        f"GRANT SELECT ON {place}.nanomem_members, {place}.nanomem_schema TO member",
        f"INSERT INTO {place}.nanomem_members VALUES ('member', '{mine}')",
    )  # fmt: skip
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url.replace("postgres@", "member@"))
    with open_workspace(tmp_path / "mine/home/workspace") as ws:
        assert "a secret of mine" in {item.text for item in ws.items.all()}
        ws.items.add("written by a member")
        ws.flush()
        ws.undo()
    for name in ("LTM_SNAPSHOT.json", "LESSONS.jsonl"):
        (tmp_path / "theirs/home/workspace/memory" / name).unlink()
    outside = open_workspace(tmp_path / "theirs/home/workspace")
    assert "a secret of theirs" not in str(outside.items.all())
    outside.items.add("from outside")
    settled(outside)
    assert "a right is missing" in outside.degraded
    kill(outside)
    with psycopg.connect(url.replace("postgres@", "member@"), autocommit=True) as raw:
        for said in (mine, theirs, ""):
            raw.execute("SELECT set_config('nanomem.workspace', %s, false)", (said,))
            for table in ("memory_entries", "operations", "operation_keys", "lessons", "records", "foreign_rows",
                          "memory_words", "memory_postings", "memory_meta", "vectors"):  # fmt: skip
                rows = str(raw.execute(f"SELECT * FROM {table}").fetchall())
                assert theirs not in rows
                assert "secret of theirs" not in rows
        postgres.run("postgres", f"INSERT INTO {place}.nanomem_members VALUES ('another', '{theirs}')")
        assert raw.execute("SELECT * FROM nanomem_members").fetchall() == [("member", mine)]
        raw.execute("SELECT set_config('nanomem.workspace', %s, false)", (theirs,))
        with pytest.raises(psycopg.Error):
            raw.execute("INSERT INTO nanomem_members VALUES ('member', %s)", (theirs,))
        with pytest.raises(psycopg.Error):
            raw.execute("INSERT INTO memory_meta VALUES (%s, '1')", (f"{theirs}:revision",))
        for drop in ("ALTER TABLE memory_entries DISABLE ROW LEVEL SECURITY",
                     "DROP POLICY memory_entries_of_one_workspace ON memory_entries"):  # fmt: skip
            with pytest.raises(psycopg.Error):
                raw.execute(drop)


def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
