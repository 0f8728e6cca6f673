"""`nanomem migrate-store` on the new database: a memory is the same afterwards, or where it was."""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run as run_line
from nanomem_tui.core import paths
from nanomem_tui.core.errors import Moved
from nanomem_tui.store import storage
from tests.conftest import let_go
from tests.store.homes import Agent, make_home
from tests.store.servers import connect
from tests.store.test_first_edition import ARCHIVE

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
Fresh = Callable[[], str]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def url(database_on_server):
    return database_on_server()


@pytest.fixture
def workspace(tmp_path):
    """A memory with items, lessons, undone operations and records of work."""
    found = make_home(tmp_path, items=6)
    with open_workspace(found) as ws:
        for number in range(6):
            ws.items.add(f"note {number}: likes tea of kind {number % 3}")
        first, second, *_ = ws.items.all()
        ws.items.edit(first.id, text="says something else now")
        ws.items.add("a zero \0 in it")
        ws.items.delete([second.id])
        ws.undo()
        ws.undo()
        ws.redo()
        ws.records.store("task", {"description": "look after the proxy"}, "t1")
    return found


def command(workspace, *line):
    return run_line([*line, "--workspace", str(workspace)])


def migrate(workspace, *line):
    return command(workspace, "migrate-store", *line, "--yes")


def seen(workspace):
    """All that a person sees: rows, the log, the history of each item, what is found, records of work."""
    with open_workspace(workspace) as ws:
        rows = [*ws.items.all(), *ws.lessons.all()]
        return {
            "rows": {row.id: row for row in rows},
            "log": [(entry.operation, entry.undone) for entry in ws.store.journal.log(10_000)],
            "history": {row.id: [entry.operation.id for entry in ws.store.journal.log(99, key=row.id)] for row in rows},
            "found": sorted(hit.item.id for hit in ws.items.search("tea", limit=999)),
            "records": [record.id for record in ws.records.list_records("task", limit=99)],
        }


def on_server(workspace):
    with open_workspace(workspace) as ws:
        return ws.store.server is not None


def refused(workspace, capsys, *line, code=2):
    """The one line of a move that is refused; what a person sees is as before."""
    before = seen(workspace)
    capsys.readouterr()
    assert migrate(workspace, *line) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert seen(workspace) == before
    return told.err


def test_there_and_back(workspace, url, capsys):
    before = seen(workspace)
    assert before["found"]
    assert migrate(workspace, "sqlite", url, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "new"
    assert told["tables"]["memory_entries"]["rows"] == told["rows"]["memory_entries"] == 13
    assert on_server(workspace)
    assert seen(workspace) == before
    with open_workspace(workspace) as ws:
        ws.items.add("said on the server: tea again")
        ws.undo()
        ws.redo()
        ws.items.edit(ws.items.all()[0].id, text="edited on the server")
    there = seen(workspace)
    assert len(there["log"]) > len(before["log"])
    assert migrate(workspace, url, "sqlite") == 0
    assert not on_server(workspace)
    assert seen(workspace) == there
    found = paths.find_workspace(workspace)
    assert [file.name for file in found.copies.iterdir()], "it has a copy that knows what was done on the server"
    with open_workspace(workspace) as ws:
        ws.items.add("and in the file again")
        assert not ws.degraded
        assert not [problem for problem in ws.doctor() if problem.severity == "error"]


def test_from_one_server_to_another_and_to_itself_by_another_name(workspace, database_on_server, capsys):
    before = seen(workspace)
    one, other = database_on_server(), database_on_server()
    assert migrate(workspace, "sqlite", one) == 0
    assert migrate(workspace, one, other) == 0
    assert seen(workspace) == before
    assert migrate(workspace, other, one) == 0
    assert seen(workspace) == before
    twin = one.replace("?host=", "?host=/./")
    assert "same place" in refused(workspace, capsys, one, twin)


def test_what_is_remembered_of_the_agents_files_moves_too(workspace, url):
    agent = Agent(workspace)
    audit = workspace / "memory" / "LTM_AUDIT.jsonl"
    with open_workspace(workspace) as ws:
        ws.items.delete(["ltm_3"])
    for way in (("sqlite", url), (url, "sqlite"), ("sqlite", url)):
        before, logged = seen(workspace), audit.read_bytes()
        assert migrate(workspace, *way) == 0
        with open_workspace(workspace) as ws:
            ws.flush()
        assert (seen(workspace), audit.read_bytes()) == (before, logged)
        agent.flush()  # has what was deleted still in its own memory
        assert "ltm_3" not in seen(workspace)["rows"]
        with open_workspace(workspace) as ws:
            ws.items.add(f"something new after {way[0][:6]}")
        new = audit.read_bytes()
        assert new.startswith(logged)
        assert new[len(logged) :].count(b"something new") <= 1
    assert "ltm_3" not in {row["id"] for row in Agent(workspace).read_items()}


# -- refused ---------------------------------------------------------------------------------------------------------


def test_no_such_place(workspace, url, postgres, capsys):
    gone = url.replace(str(postgres.folder), str(postgres.folder / "nobody"))
    assert "does not answer" in refused(workspace, capsys, "sqlite", gone)
    assert "no such database" in refused(workspace, capsys, "sqlite", re.sub(r"/\w+\?", "/nothing?", url))
    assert "no address" in refused(workspace, capsys, "sqlite", "mysql://here")
    assert "holds a password" in refused(workspace, capsys, "sqlite", "postgresql://me:secret@nowhere/db")
    assert "same place" in refused(workspace, capsys, "sqlite", "sqlite")
    assert "same place" in refused(workspace, capsys, url, url.replace("postgresql://", "postgresql+psycopg://"))


def test_nothing_to_move(tmp_path, url, capsys):
    workspace = make_home(tmp_path)
    assert "nothing was written there yet" in refused(workspace, capsys, "sqlite", url, code=1)
    assert "nothing was written there yet" in refused(workspace, capsys, url, "sqlite", code=1)


def test_no_right_to_make_tables(workspace, url, postgres, capsys):
    postgres.run("postgres", "DROP ROLE IF EXISTS maker", "CREATE ROLE maker LOGIN")
    told = refused(workspace, capsys, "sqlite", url.replace("postgres@", "maker@"))
    assert "a right is missing" in told
    assert "docs/postgresql.md" in told


def test_while_a_console_has_it_open(workspace, url, capsys):
    with open_workspace(workspace) as ws:
        ws.items.all()
        ws.items.add("by the console")
        capsys.readouterr()
        assert migrate(workspace, "sqlite", url) == 2
        assert "another process has the memory open" in capsys.readouterr().err
        ws.items.add("and again")
    assert migrate(workspace, "sqlite", url) == 0
    assert {"by the console", "and again"} <= {getattr(row, "text", "") for row in seen(workspace)["rows"].values()}


def test_a_memory_that_is_in_use_there(workspace, url, capsys):
    assert command(workspace, "config", "set", "--here", "database_url", url) == 0
    with open_workspace(workspace) as ws:
        ws.items.add("another memory of the same workspace")
    assert command(workspace, "config", "set", "--here", "database_url", "") == 0
    seen(workspace)  # takes over what the other memory exported
    before = seen(workspace)
    assert "--replace" in refused(workspace, capsys, "sqlite", url)
    assert migrate(workspace, "sqlite", url, "--replace") == 0
    assert seen(workspace) == before


def test_where_it_has_moved_on(workspace, database_on_server, capsys):
    one, other, third = (database_on_server() for _ in range(3))
    assert migrate(workspace, "sqlite", one) == 0
    assert migrate(workspace, one, other) == 0
    assert "has moved to" in refused(workspace, capsys, one, third)
    capsys.readouterr()
    assert migrate(workspace, one, other) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_it_is_told_before(workspace, url, postgres, capsys):
    capsys.readouterr()
    assert command(workspace, "migrate-store", "sqlite", url, "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["dry_run"] is True
    assert told["rows"]["memory_entries"] == 13
    name = url.partition("?")[0].rpartition("/")[2]
    assert postgres.run(name, "SELECT count(*) FROM pg_tables WHERE schemaname !~ '^(pg_|information_)'") == [(0,)]
    assert command(workspace, "migrate-store", "sqlite", url) == 2  # nobody to ask
    assert "add --yes" in capsys.readouterr().err


def test_who_opens_the_old_store_is_told(workspace, url, capsys):
    assert migrate(workspace, "sqlite", url, "--keep-settings") == 0
    assert "database_url" in capsys.readouterr().out
    assert command(workspace, "memory", "add", "--text", "said to the old one") == 2
    assert "the memory lies elsewhere now" in capsys.readouterr().err
    with pytest.raises(Moved), open_workspace(workspace) as ws:
        ws.items.all()
    assert migrate(workspace, "sqlite", url) == 0  # sets what was kept
    assert on_server(workspace)


# -- members ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def shared(workspace, url, postgres):
    """The workspace, and an empty database as two roles reach it: `mia`, who may make groups, and `other`."""
    name = url.partition("?")[0].rpartition("/")[2]
    grant = f"GRANT CREATE ON DATABASE {name} TO mia"
    postgres.run("postgres", "CREATE ROLE mia LOGIN CREATEROLE", "CREATE ROLE other LOGIN", grant)
    yield workspace, url.replace("postgres@", "mia@"), url.replace("postgres@", "other@")
    let_go(url)
    postgres.run("postgres", f"DROP DATABASE {name} WITH (FORCE)", f"CREATE DATABASE {name}")
    groups = postgres.run("postgres", "SELECT r.rolname FROM pg_auth_members JOIN pg_roles r ON r.oid = roleid"
                          " WHERE member = 'mia'::regrole")  # fmt: skip
    postgres.run("postgres", *(f'DROP ROLE "{role}"' for role in (*{group for (group,) in groups}, "mia", "other")))


def moved_there_and_back_and_there(workspace, url):
    """A memory with a member, `other`, that was in a file for a while."""
    assert migrate(workspace, "sqlite", url) == 0
    assert command(workspace, "members", "add", "other") == 0
    assert migrate(workspace, url, "sqlite") == 0
    assert migrate(workspace, "sqlite", url) == 0


def changes_everything(workspace, url):
    """A role changes, finds and takes back memories and records of work."""
    assert command(workspace, "config", "set", "--here", "database_url", url) == 0
    assert command(workspace, "memory", "add", "--text", "tea of this role") == 0
    assert command(workspace, "undo") == 0
    assert command(workspace, "record", "task", "search", "proxy") == 0
    with open_workspace(workspace) as ws:
        ws.records.store("task", {"description": "by this role"})
        assert not [problem for problem in ws.doctor() if problem.severity == "error"]


def test_a_member_changes_a_memory_that_was_in_a_file_for_a_while(shared):
    workspace, mine, others = shared
    moved_there_and_back_and_there(workspace, mine)
    changes_everything(workspace, others)
    changes_everything(workspace, mine)


INDEXES = "memory_entries_fts", "tasks_words", "knowledge_words"


@pytest.fixture
def locked_out(shared, postgres):
    """As `shared`, with tables that an earlier release left to the role that moved the memory."""
    workspace, mine, _ = shared
    moved_there_and_back_and_there(workspace, mine)
    name = mine.partition("?")[0].rpartition("/")[2]
    schema = schema_of(workspace)
    postgres.run(name, *(f'ALTER TABLE "{schema}"."{table}" OWNER TO mia' for table in INDEXES))
    return shared


def schema_of(workspace):
    return paths.workspace_id(paths.find_workspace(workspace))


@pytest.mark.parametrize("line", [("members", "add", "other"), ("doctor", "--fix", "--yes")], ids=" ".join)
def test_tables_of_one_member_are_given_to_all(locked_out, line):
    workspace, _, others = locked_out
    assert command(workspace, *line) == 0
    changes_everything(workspace, others)


def test_who_cannot_give_a_table_to_all_is_told_what_its_owner_can_run(locked_out, postgres, capsys):
    workspace, mine, others = locked_out
    command(workspace, "config", "set", "--here", "database_url", others)
    capsys.readouterr()
    assert command(workspace, "doctor") == 1
    told = re.findall(r"let its owner run: (ALTER TABLE .*)\)", capsys.readouterr().out)
    assert [one.split()[2] for one in told] == [f'"{schema_of(workspace)}"."{table}"' for table in sorted(INDEXES)]
    with connect(mine) as of_mia:
        for statement in told:
            of_mia.execute(statement)
    changes_everything(workspace, others)


# -- cut off ---------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from nanomem_tui.cli.main import run
count, at = 0, int(sys.argv[1])
def step(*_):
    global count
    count += 1
    if count == at:
        os.kill(os.getpid(), signal.SIGKILL)
event.listen(Engine, "before_cursor_execute", step)
event.listen(Engine, "commit", step)
sys.exit(run(["migrate-store", sys.argv[3], sys.argv[4], "--yes", "--workspace", sys.argv[2]]))
"""


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_killed_anywhere_it_is_in_one_of_both_and_the_same_command_goes_on(workspace, url, *, back):
    if back:
        assert migrate(workspace, "sqlite", url) == 0
    way = (url, "sqlite") if back else ("sqlite", url)
    before = seen(workspace)
    for at in (3, 20, 60, 90, 110, 130, 150, 170):
        line = [sys.executable, "-W", "ignore", "-c", KILLED, str(at), str(workspace), *way]
        code = subprocess.run(line, check=False, capture_output=True, env=os.environ).returncode
        if code != -signal.SIGKILL:
            assert code == 0
            break
        try:
            assert seen(workspace) == before
        except Moved:  # it is there, and the settings were not set any more
            break
    assert migrate(workspace, *way) == 0
    assert seen(workspace) == before
    assert on_server(workspace) is not back


KILLED_WHERE = """
import os, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from nanomem_tui.cli.main import run
def step(connection, cursor, statement, *_):
    if connection.dialect.name == sys.argv[1] and all(part in statement for part in sys.argv[2].split("|")):
        os.kill(os.getpid(), signal.SIGKILL)
event.listen(Engine, "before_cursor_execute", step)
run(["migrate-store", "sqlite", sys.argv[4], "--keep-settings", "--yes", "--workspace", sys.argv[3]])
"""


def cut_off(workspace, url, *where):
    """A move that is killed before a statement of that dialect with these parts."""
    line = [sys.executable, "-W", "ignore", "-c", KILLED_WHERE, *where, str(workspace), url]
    assert subprocess.run(line, check=False, capture_output=True, env=os.environ).returncode == -signal.SIGKILL


def planned(workspace, url, capsys, *more):
    """What would happen, in words and as JSON."""
    line = ["migrate-store", "sqlite", url, "--dry-run", *more]
    capsys.readouterr()
    assert command(workspace, *line) == 0
    said = capsys.readouterr().out
    assert command(workspace, *line, "--json") == 0
    return said, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_a_memory_that_moved_without_its_setting_says_which_command_goes_on(workspace, url, capsys, *, back):
    if back:
        assert migrate(workspace, "sqlite", url) == 0
    way = (url, "sqlite") if back else ("sqlite", url)
    assert migrate(workspace, *way, "--keep-settings") == 0
    capsys.readouterr()
    assert command(workspace, "memory", "list") == 2
    told = "migrate-store FROM sqlite" if back else "migrate-store sqlite TO"
    assert f"Fix: run the same `nanomem {told}` again: it sets `database_url`" in capsys.readouterr().err
    assert migrate(workspace, *way) == 0
    assert command(workspace, "memory", "list") == 0


def test_the_plan_says_that_a_move_was_cut_off_before_the_switch(workspace, url, capsys):
    before = seen(workspace)
    assert planned(workspace, url, capsys)[1]["state"] == "new"
    cut_off(workspace, url, "sqlite", "UPDATE meta|moved_to=")
    said, plan = planned(workspace, url, capsys)
    assert "was cut off; this goes on with it: " in said
    assert "13 in memory_entries" in said
    assert "What it left there is copied anew" in said
    assert plan["state"] == "resumed"
    assert plan["replaced"] > 13
    assert seen(workspace) == before
    assert migrate(workspace, "sqlite", url) == 0
    assert on_server(workspace)
    assert seen(workspace) == before


def test_the_plan_says_that_only_the_work_is_left_of_a_move(workspace, url, capsys):
    before = seen(workspace)
    cut_off(workspace, url, "postgresql", "UPDATE work_meta")
    said, plan = planned(workspace, url, capsys, "--keep-settings")
    assert "was cut off; this goes on with it: 1 in tasks" in said
    assert (plan["state"], plan["rows"]["tasks"]) == ("resumed", 1)
    assert "memory_entries" not in plan["rows"]
    assert migrate(workspace, "sqlite", url, "--keep-settings") == 0
    assert migrate(workspace, "sqlite", url) == 0
    assert on_server(workspace)
    assert seen(workspace) == before


CHANGES_ROWS = """
CREATE FUNCTION changed_row() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN NEW.content := NEW.content || '!'; RETURN NEW; END $$;
CREATE FUNCTION changes_rows() RETURNS event_trigger LANGUAGE plpgsql AS
    $$ DECLARE made record; BEGIN
        FOR made IN SELECT object_identity FROM pg_event_trigger_ddl_commands() WHERE object_type = 'table' LOOP
            IF made.object_identity LIKE '%.memory_entries' THEN
                EXECUTE format('CREATE TRIGGER changed BEFORE INSERT ON %s FOR EACH ROW '
                    'EXECUTE FUNCTION public.changed_row()', made.object_identity);
            END IF;
        END LOOP;
    END $$;
CREATE EVENT TRIGGER changes_rows ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION changes_rows();
"""
"""A server that keeps other rows than those it was given."""


def test_rows_that_do_not_come_out_the_same_are_not_used(workspace, url, capsys):
    before = seen(workspace)
    with connect(url) as server:
        server.execute(CHANGES_ROWS)
        assert migrate(workspace, "sqlite", url) == 2
        server.execute("DROP EVENT TRIGGER changes_rows")
        server.execute("DROP FUNCTION changed_row CASCADE")
    assert "arrived, or not as they were" in capsys.readouterr().err
    assert seen(workspace) == before
    assert not on_server(workspace)
    assert migrate(workspace, "sqlite", url) == 0


# -- the first edition -------------------------------------------------------------------------------------------------


def test_one_of_the_first_edition_is_taken_over_and_moved(tmp_path, database_on_server):
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    workspace, url = tmp_path / "exchanging" / "workspace", database_on_server()
    before = seen(workspace)
    assert before["log"]
    assert migrate(workspace, "sqlite", url) == 0
    assert {**seen(workspace), "records": []} == {**before, "records": []}
    assert on_server(workspace)
    with open_workspace(workspace) as ws:
        ws.items.add("and it goes on")
        assert not ws.degraded


# -- what is left of it ------------------------------------------------------------------------------------------------


def test_a_server_that_was_left_is_named_by_forget_and_the_one_in_use_is_cleaned(
    workspace, database_on_server, postgres, capsys
):
    one, other = database_on_server(), database_on_server()
    assert migrate(workspace, "sqlite", one) == 0
    assert migrate(workspace, one, other) == 0
    capsys.readouterr()
    assert command(workspace, "forget", "--text", "likes tea", "--yes") == 1
    told = capsys.readouterr().out
    (named,) = [line for line in told.splitlines() if "the old store " in line]
    assert one in named
    assert "docs/postgresql.md" in named
    assert storage.SERVERS_FILE in named
    assert "Taken out: PostgreSQL " in told
    assert "Taken out: nanomem.db, memory_entries" in told
    data = paths.find_workspace(workspace).data
    assert [path for path in data.rglob("*") if path.is_file() and b"likes tea" in path.read_bytes()] == []
    name = other.partition("?")[0].rpartition("/")[2]
    tables = postgres.run(name, "SELECT schemaname, tablename FROM pg_tables WHERE schemaname !~ '^(pg_|information_)'")
    asked = 'SELECT 1 FROM "{}"."{}" t WHERE t::text LIKE \'%likes tea%\' LIMIT 1'
    assert [table for table in tables if postgres.run(name, asked.format(*table))] == []
