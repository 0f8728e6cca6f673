"""The work records and documents of the first edition: shown by who reads, taken over by who writes."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import paths
from nanomem_tui.core.errors import CorruptDatabase, Refused

pytestmark = pytest.mark.sqlite
DATA = Path(__file__).parents[1] / "data" / "first-edition-work.sql"
OWNER = "e7f8582bba9e059b"
RUN = "run_"


@pytest.fixture
def place(tmp_path):
    """A workspace whose work lies in a file of the first edition."""
    place = tmp_path / "home" / "workspace"
    place.mkdir(parents=True)
    found = paths.find_workspace(place, starting=True)
    made(found, paths.workspace_id(found))
    return place


def made(found, *owners):
    found.data.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(found.tiers_database)) as connection:
        sql = DATA.read_text(encoding="utf-8")
        connection.executescript(sql.replace(OWNER, owners[0]))
        for owner in owners[1:]:
            lines = [line.replace(OWNER, owner) for line in sql.splitlines() if line.startswith("INSERT INTO goals ")]
            connection.executescript("\n".join(lines).replace("VALUES (2,", "VALUES (99,"))
    (found.data / "tiers.lock").write_text("tiers.db\n")


def shown(ws):
    """What a person sees of it."""
    return {
        "tiers": {row.id: row.tier for kind in ("goal", "task", "incident") for row in ws.records.list_records(kind)},
        "goal": dict(ws.records.get("goal", "g1").fields),
        "overwritten": [(past.before, past.after) for past in ws.records.history("task", "t2")],
        "found": [hit.record.key for hit in ws.records.search("nginx")],
        "hour": [row.fields["mean"] for row in ws.records.list_records("metric-hour")],
        "pattern": ws.records.find_pattern("nginx is down").id,
        "documents": [(one.title, one.chunks) for one in ws.knowledge.documents(own=False)],
        "known": [hit.text for hit in ws.knowledge.search("which port is for the proxy")],
        "last": ws.lifecycle.last_at(),
    }


def check(seen):
    assert seen["tiers"] == {"g1": "longterm", "g2": "working", "t1": "longterm", "t2": "working", "i1": "longterm"}
    assert seen["goal"]["metadata"] == {"team": ["ops"]}
    assert seen["overwritten"] == [({"description": "Gather numbers"}, {"description": "Gather the numbers"})]
    assert {"task/t1", "incident/i1", "pattern/p1"} <= set(seen["found"])
    assert (seen["hour"], seen["pattern"], seen["documents"]) == ([6.0], "p1", [("The guide", 1)])
    assert "Port 80" in seen["known"][0]
    assert seen["last"] is not None


def files(place):
    return {str(path): path.read_bytes() for path in sorted(place.parent.rglob("*")) if path.is_file()}


def test_who_reads_is_shown_it_and_changes_no_byte(place):
    before = files(place)
    with open_workspace(place) as ws:
        assert ws.status()["tiers"]["working"] == 5
        check(shown(ws))
        assert any("first edition" in problem.what for problem in ws.doctor())
    assert files(place) == before


def test_who_writes_takes_it_over_and_keeps_the_old_file(place):
    with open_workspace(place) as ws:
        seen = shown(ws)
        ws.records.store("task", {"description": "after it"}, "t9")
        check({**shown(ws), "tiers": seen["tiers"]})
        assert ws.records.get("task", "t9").fields["description"] == "after it"
        data = ws.paths.data
    assert not (data / "tiers.db").exists()
    assert len(list(data.glob("backups/first-edition-work-*/tiers.db"))) == 1
    assert {oct(os.stat(data / "work.db").st_mode & 0o777)} == {"0o600"}
    with open_workspace(place) as ws:
        check({**shown(ws), "tiers": seen["tiers"]})


def test_a_run_of_the_lifecycle_can_be_taken_back_afterwards(place):
    with open_workspace(place) as ws:
        ws.records.store("task", {"description": "after it"}, "t9")
        line = next(line for line in DATA.read_text().splitlines() if line.startswith("INSERT INTO lifecycle_runs "))
        run = ws.lifecycle.runs.get(line.split("'")[3])
        assert run is not None
        ws.lifecycle.runs.take_back(run)
        assert ws.records.get("goal", "g1").tier == "working"
        assert sorted(row.fields["value"] for row in ws.records.list_records("metric")) == [5.0, 7.0]
        assert ws.records.list_records("metric-hour") == []


def test_what_somebody_took_away_stays_away(place):
    with open_workspace(place) as ws:
        ws.records.store("task", {"description": "after it"}, "t9")
        assert not ws.knowledge.is_untouched()
        assert ws.knowledge.sync().new == ()


def test_a_file_that_another_workspace_shares_stays(place):
    found = paths.find_workspace(place, starting=True)
    found.tiers_database.unlink()
    made(found, paths.workspace_id(found), "0123456789abcdef")
    with open_workspace(place) as ws:
        ws.records.store("task", {"description": "after it"}, "t9")
        assert {row.id for row in ws.records.list_records("goal")} == {"g1", "g2"}
    assert found.tiers_database.exists()


def test_a_process_of_the_first_edition_at_work_is_waited_for_by_nobody(place):
    found = paths.find_workspace(place, starting=True)
    with closing(sqlite3.connect(found.tiers_database, isolation_level=None)) as old:
        old.execute("PRAGMA journal_mode=WAL")
        old.execute("SELECT count(*) FROM goals").fetchone()
        with open_workspace(place) as ws:
            with pytest.raises(Refused, match="first edition"):
                ws.records.store("task", {"description": "x"})
            check(shown(ws))
    assert found.tiers_database.exists()
    assert not found.work_database.exists()


def test_a_damaged_file_is_told_and_stays(place):
    found = paths.find_workspace(place, starting=True)
    found.tiers_database.write_bytes(b"no database at all" * 1000)
    with open_workspace(place) as ws:
        with pytest.raises(CorruptDatabase):
            ws.records.store("task", {"description": "x"})
        with pytest.raises(CorruptDatabase):
            ws.records.list_records("task")
    assert found.tiers_database.exists()


KILLED = """
import os, sys
from pathlib import Path
from nanomem_tui import open_workspace
from nanomem_tui.store.first_edition import takeover
real, left = os.replace, [int(sys.argv[2])]
def replace(*where):
    left[0] -= 1
    if left[0] < 0:
        os._exit(9)
    real(*where)
os.replace = replace
with open_workspace(Path(sys.argv[1])) as ws:
    ws.records.store("task", {"description": "after it"}, "t9")
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", [0, 1])
def test_a_kill_leaves_the_old_or_the_new_one_whole(place, step):
    done = subprocess.run([sys.executable, "-c", KILLED, str(place), str(step)], check=False, timeout=60)
    assert done.returncode == 9
    with open_workspace(place) as ws:
        check(shown(ws))
        ws.records.store("task", {"description": "after it"}, "t9")
        check({**shown(ws), "tiers": {key: tier for key, tier in shown(ws)["tiers"].items() if key != "t9"}})
        assert not ws.paths.tiers_database.exists()
