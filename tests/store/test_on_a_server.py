"""The product on the new database of a server: by the library, as a console and as commands use it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import (
    AccessDenied,
    Conflict,
    InvalidConfig,
    NanomemError,
    NewerDatabase,
    ServerAway,
    StoreError,
)
from nanomem_tui.core.operations import Change, new_operation
from nanomem_tui.store.database import bookkeeping
from tests import postgres_pooler
from tests.store.homes import Agent, make_home
from tests.store.servers import line_to

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
Fresh = Callable[[], str]


@pytest.fixture
def url(database_on_server):
    return database_on_server()


@pytest.fixture
def home(tmp_path, url, monkeypatch):
    """A workspace whose memory lies on the server."""
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    return make_home(tmp_path)


def texts(workspace):
    with open_workspace(workspace) as ws:
        return {item.text for item in ws.items.all()}


def nanomem(home, *words):
    line = [sys.executable, "-W", "ignore", "-m", "nanomem_tui", *words, "--workspace", str(home)]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=os.environ)


def until(true, seconds=20.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def schemas(postgres, url):
    name = url.partition("?")[0].rpartition("/")[2]
    asked = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_|public)'"
    return [found for (found,) in postgres.run(name, asked)]


# -- one process ----------------------------------------------------------------------------------------------------


def test_what_is_kept_is_on_the_server_and_nowhere_else(home):
    with open_workspace(home) as ws:
        ws.items.add("the ferry leaves at nine")
        ws.flush()
        told = ws.status()["store"]
        assert not ws.paths.database.exists()
        assert not ws.paths.copies.exists()
        assert not list(ws.paths.data.rglob("operations.jsonl"))
    assert told["database"].startswith("PostgreSQL")
    assert told["server"]
    assert (told["operations"], told["index"]) == (1, "current")
    assert "the ferry leaves at nine" in texts(home)


def test_looking_makes_no_table_and_changes_no_byte(home, postgres, url):
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    with open_workspace(home) as ws:
        assert len(ws.items.all()) == 4
        assert ws.status()["store"]["database"] is None
        assert ws.log() == []
        ws.doctor()
        ws.refresh()
        assert ws.degraded == ""
    assert schemas(postgres, url) == []
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_everything_is_undone_and_redone_across_openings(home):
    with open_workspace(home) as ws:
        before = {row.id: row.text for row in ws.items.all()}
        ws.items.add("one more")
        ws.items.edit("ltm_1", text="edited")
        ws.items.delete(["ltm_2"])
        after = {row.id: row.text for row in ws.items.all()}
    with open_workspace(home) as ws:
        ws.undo(count=3)
        assert {row.id: row.text for row in ws.items.all()} == before
    with open_workspace(home) as ws:
        ws.redo(count=3)
        assert {row.id: row.text for row in ws.items.all()} == after


@pytest.mark.parametrize(
    "text", ['it\'s 100 % \\ "quoted" ? %s $1', "ไทย ตัวอย่าง", "東京の天気", "👩‍👩‍👧 family", "a\0b", "x" * 100_000]
)
def test_any_text_comes_back_as_it_was(home, text):
    with open_workspace(home) as ws:
        ws.items.add(text)
    with open_workspace(home) as ws:
        assert text in {item.text for item in ws.items.all()}
        assert not [problem for problem in ws.doctor() if problem.severity == "error"]


def test_commands_find_read_and_change_it(home):
    assert nanomem(home, "memory", "add", "--text", "the kayak is red").returncode == 0
    assert "kayak" in nanomem(home, "memory", "search", "kayak").stdout
    assert "kayak" in nanomem(home, "recall", "what colour is the kayak?").stdout
    assert json.loads(nanomem(home, "memory", "status", "--json").stdout)["store"]["server"]
    assert "add “the kayak is red”" in nanomem(home, "log").stdout
    assert nanomem(home, "undo").returncode == 0
    assert "kayak" not in nanomem(home, "memory", "list").stdout


def test_an_agent_s_files_are_exchanged(home):
    agent = Agent(home)
    with open_workspace(home) as ws:
        ws.items.add("from a person")
        ws.items.delete(["ltm_1"])
    assert "from a person" in {row["text"] for row in agent.read_items()}
    agent.load()
    agent.items["ltm_2"]["text"] = "as the agent has it now"
    agent.flush()
    assert "as the agent has it now" in texts(home)
    with open_workspace(home) as ws:
        ws.items.set_pinned(["ltm_3"], True)
        assert "ltm_1" not in {row.id for row in ws.items.all()}
        assert [entry.operation.actor for entry in ws.log()][:2] == ["human", "agent"]


# -- several processes and machines ---------------------------------------------------------------------------------


def test_what_another_console_wrote_is_seen_at_the_next_look(home):
    with open_workspace(home) as one, open_workspace(home) as other:
        one.items.add("begin")
        other.items.all()
        one.items.add("seen by both")
        until(lambda: other.refresh() or "seen by both" in {item.text for item in other.items.all()})
        assert "seen by both" in {item.text for item in other.items.all()}


def elsewhere(home, folder):
    """The same workspace as another machine has it: its files copied."""
    shutil.copytree(home.parent, folder / home.parent.name, dirs_exist_ok=True)
    return folder / home.parent.name / home.name


def on_two_machines(home, folder):
    with open_workspace(home) as ws:
        ws.items.add("begin")
    return open_workspace(home), open_workspace(elsewhere(home, folder))


def stale_edit():
    """An edit that starts from the text that was there before the other machine changed it."""
    change = Change("item", "ltm_1", {"text": "item number 1"}, {"text": "decided there"})
    return new_operation("items.edit", "edit", [change])


def test_two_machines_know_each_other_s_decisions_at_once(home, tmp_path):
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


ADDS = """
import sys
from nanomem_tui import open_workspace
with open_workspace(sys.argv[1]) as ws:
    for number in range(20):
        ws.items.add(f"process {sys.argv[2]} {number}")
"""


def test_four_processes_on_two_machines_lose_and_double_nothing(home, tmp_path):
    """None of them made the tables before: they begin in the same moment."""
    (home / ".nanobot").mkdir(exist_ok=True)
    (home / ".nanobot" / "workspace-id").write_text("0123456789abcdef0123456789abcdef")
    places = [home, elsewhere(home, tmp_path / "other")]
    lines = [[sys.executable, "-W", "ignore", "-c", ADDS, str(places[n % 2]), str(n)] for n in range(4)]
    jobs = [subprocess.Popen(line, stderr=subprocess.PIPE, text=True) for line in lines]
    for job in jobs:
        _, error = job.communicate(timeout=120)
        assert job.returncode == 0, error
    with open_workspace(home) as ws:
        found = [item.text for item in ws.items.all()]
        wanted = [f"process {n} {i}" for n in range(4) for i in range(20)]
        assert sorted(found) == sorted([*wanted, *(f"item number {n}" for n in range(1, 5))])
        log = [entry.operation.id for entry in ws.log(limit=1_000) if entry.operation.actor == "human"]
        assert len(log) == len(set(log)) == 80


def test_one_process_leads_a_piece_of_work(home):
    with open_workspace(home) as one, open_workspace(home) as other:
        one.items.add("begin")
        with one.leading("dream") as leads:
            assert leads
            with other.leading("dream") as leads_too:
                assert not leads_too
        with other.leading("dream") as leads:
            assert leads


def test_what_another_machine_has_still_to_write_is_left_to_it(home, tmp_path, monkeypatch):
    """Its process is killed, or at work; its files are on its disk."""
    here, there = on_two_machines(home, tmp_path / "other")
    with here, there:
        there.documents.edit("USER.md", "written there\n")
        (entry,) = there.log(limit=1)
        state = "UPDATE operations SET state = 'planned' WHERE id = %s"
        for ws in (here, there):
            ws.items.all()
        writer = there.store.writer.writers.name
        with there.store.server.writing(durable=True) as connection:
            connection.exec_driver_sql(state, (entry.operation.id,))
            bookkeeping.take_lease(connection, f"files of {writer}", writer)
        user = here.paths.user.read_bytes() if here.paths.user.exists() else b""
        here.store.settle()
        assert here.store.unfinished() == []
        assert not [problem for problem in here.doctor() if entry.operation.id in problem.what]
        with there.store.server.writing(durable=True) as connection:
            bookkeeping.drop_lease(connection, f"files of {writer}")
        here.store.settle()
        assert [one.operation.id for one in here.store.unfinished()] == [entry.operation.id]
        assert (here.paths.user.read_bytes() if here.paths.user.exists() else b"") == user
        (told,) = [problem for problem in here.doctor() if entry.operation.id in problem.what]
        assert "was begun in another home that shares this memory" in told.what
        assert "the next change in that home finishes it" in told.fix
    with open_workspace(there.paths.workspace) as again:
        again.store.settle()
        assert again.store.unfinished() == []
        assert again.paths.user.read_text() == "written there\n"


# -- the server goes away --------------------------------------------------------------------------------------------


@pytest.fixture
def line(postgres, monkeypatch, url):
    """A line to the server, by which every memory of the test goes."""
    with line_to(postgres) as (found, address):
        database = url.partition("?")[0].rpartition("/")[2]
        monkeypatch.setenv("NANOMEM_DATABASE_URL", address.replace("/postgres?", f"/{database}?"))
        yield found


def test_a_console_goes_on_reading_while_the_server_is_away(line, tmp_path):
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.add("before")
        line.leave()
        with pytest.raises(ServerAway):
            ws.items.add("while it was away")
        until(lambda: ws.refresh() or ws.degraded)
        assert "does not answer" in ws.degraded
        assert "\n" not in ws.degraded
        assert [problem for problem in ws.problems() if problem.what.startswith("degraded")]
        assert "before" in {item.text for item in ws.items.all()}
        line.return_()
        until(lambda: ws.refresh() or not ws.degraded)
        ws.items.add("after")
    assert {"before", "after"} <= texts(home)
    assert "while it was away" not in texts(home)


def test_without_its_server_a_memory_says_so_and_shows_nothing_false(line, tmp_path):
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.add("kept")
    line.leave()
    with open_workspace(home) as ws:
        with pytest.raises(StoreError, match="does not answer"):
            ws.items.all()
        with pytest.raises(StoreError, match="does not answer"):
            ws.items.add("not acknowledged")
        assert [problem for problem in ws.doctor() if "does not answer" in problem.what]
    told = nanomem(home, "memory", "list")
    assert (told.returncode, told.stdout, told.stderr.count("\n")) == (2, "", 1)
    line.return_()
    assert "kept" in texts(home)
    assert "not acknowledged" not in texts(home)


def test_counters_of_turns_wait_for_a_server_that_is_away(line, tmp_path):
    home = make_home(tmp_path)
    with open_workspace(home) as ws:
        ws.items.add("before")
        ws.items.edit("ltm_1", text="the ferry leaves at nine")
        ws.items.hit(["ltm_1"]) if hasattr(ws.items, "hit") else ws.store.snapshot.count("item", "ltm_1", 1, "2027")
        line.leave()
        with pytest.raises(StoreError):
            ws.flush()
        line.return_()
        ws.flush()
        assert ws.degraded == ""
    with open_workspace(home) as ws:
        assert ws.items.get("ltm_1").hits == 2


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "error", "words"),
    [
        ("mysql://x/y", InvalidConfig, "no address"),
        ("postgresql://u:secret@localhost/x", InvalidConfig, "holds a password"),
        ("postgresql://nobody@/postgres?host={folder}", StoreError, 'role "nobody" does not exist'),
        ("postgresql://postgres@/nowhere?host={folder}", StoreError, "nowhere"),
        ("postgresql://postgres@127.0.0.1:1/x?connect_timeout=2", StoreError, "does not answer"),
        ("postgresql://postgres@/postgres?host={folder}&port=many", InvalidConfig, "no address"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(
    postgres, tmp_path, monkeypatch, address, error,
    words,
):  # fmt: skip
    monkeypatch.setenv("NANOMEM_DATABASE_URL", address.format(folder=postgres.folder))
    home = make_home(tmp_path)
    with pytest.raises(error) as caught, open_workspace(home) as ws:
        ws.items.add("x")
    assert isinstance(caught.value, NanomemError)
    assert words in caught.value.line()
    run = nanomem(home, "memory", "list")
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert "secret" not in run.stderr + caught.value.line()


def test_a_database_that_does_not_hold_every_text_is_refused(postgres, tmp_path, monkeypatch):
    how = "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    postgres.run("postgres", "DROP DATABASE IF EXISTS few_letters", f"CREATE DATABASE few_letters {how}")
    monkeypatch.setenv("NANOMEM_DATABASE_URL", postgres.url("few_letters"))
    home = make_home(tmp_path)
    told = nanomem(home, "memory", "add", "--text", "東京の天気")
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
    assert "the database has the encoding LATIN1" in told.stderr
    assert "`createdb -E UTF8 -T template0 few_letters_utf8`" in told.stderr
    assert "the database has the encoding LATIN1" in nanomem(home, "doctor").stdout


def test_a_newer_schema_is_refused_and_left_alone(home):
    with open_workspace(home) as ws:
        ws.items.add("x")
        with ws.store.server.writing(durable=True) as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerDatabase, match="schema 9999"), open_workspace(home) as ws:
        ws.items.all()
    with open_workspace(home) as ws:
        with ws.store.server.writing(durable=True) as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
        assert "x" in {item.text for item in ws.items.all()}


def test_a_role_that_is_no_member_is_told_so(home, url, postgres, monkeypatch):
    with open_workspace(home) as ws:
        ws.items.add("x")
    postgres.run("postgres", "DROP ROLE IF EXISTS weak", "CREATE ROLE weak LOGIN")
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url.replace("postgres@", "weak@"))
    with pytest.raises(AccessDenied, match="no member"), open_workspace(home) as ws:
        ws.items.all()
    told = nanomem(home, "doctor")
    assert (told.returncode, "no member of this workspace" in told.stdout) == (1, True)


def test_a_memory_lives_behind_a_pool(tmp_path, postgres, monkeypatch):
    with postgres_pooler.database(postgres) as pooled:
        monkeypatch.setenv("NANOMEM_DATABASE_URL", pooled)
        home = make_home(tmp_path)
        with open_workspace(home) as ws:
            for number in range(12):  # more often than a driver waits before it prepares a statement
                ws.items.add(f"the ferry {number} leaves at nine")
                ws.flush()
                assert not ws.degraded
            assert nanomem(home, "memory", "add", "--text", "said elsewhere").returncode == 0
            ws.items.add("one more")  # who decides sees what others did
            assert {"said elsewhere", "one more"} <= {item.text for item in ws.items.all()}


# -- members ---------------------------------------------------------------------------------------------------------


def test_a_role_is_let_in_and_taken_out_again(home, url, postgres, monkeypatch):
    postgres.run("postgres", "DROP ROLE IF EXISTS colleague", "CREATE ROLE colleague LOGIN")
    assert nanomem(home, "memory", "add", "--text", "seen by two").returncode == 0
    added = nanomem(home, "members", "add", "colleague")
    assert (added.returncode, added.stderr) == (0, "")
    assert "colleague" in nanomem(home, "members", "list").stdout
    owners = os.environ["NANOMEM_DATABASE_URL"]
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url.replace("postgres@", "colleague@"))
    assert "seen by two" in texts(home)
    assert nanomem(home, "memory", "add", "--text", "by the colleague").returncode == 0
    monkeypatch.setenv("NANOMEM_DATABASE_URL", owners)
    assert nanomem(home, "members", "remove", "colleague").returncode == 0
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url.replace("postgres@", "colleague@"))
    with pytest.raises(AccessDenied, match="no member"):
        texts(home)
    monkeypatch.setenv("NANOMEM_DATABASE_URL", owners)
    assert "by the colleague" in texts(home)
