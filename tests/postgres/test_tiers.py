"""The agent's work and the knowledge base in a real PostgreSQL: what only a server can get wrong."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import sqlite3
import threading
from datetime import timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Refused
from nanomem_tui.store.database import bookkeeping, migrations
from nanomem_tui.store.database.reading import OlderSchema
from nanomem_tui.store.moving import backup
from nanomem_tui.store.work import models, records, work_store
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import Among, Stretch
from nanomem_tui.tiers import knowledge_sources
from nanomem_tui.tiers.knowledge_sources import Found
from nanomem_tui.tiers.records import NewRecord
from tests.postgres_server import schema_in

pytestmark = pytest.mark.vectors
WORDS = ["nginx", "disk", "certificate", "restart", "backup", "cron", "kernel", "latency", "proxy", "reload", "token"]


@pytest.fixture
def place(tmp_path, url, monkeypatch):
    """An empty workspace whose memory lies on the server."""
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    return empty(tmp_path / "home")


@pytest.fixture
def ws(place):
    with open_workspace(place) as opened:
        yield opened


def empty(home):
    (home / "workspace").mkdir(parents=True)
    return home / "workspace"


def said(draw, most):
    return " ".join(draw.choices(WORDS, weights=range(len(WORDS), 0, -1), k=draw.randint(2, most)))


# -- the same as in a file ---------------------------------------------------------------------------------------------


def test_records_are_found_as_in_a_file(tmp_path, url, monkeypatch):
    draw = random.Random(11)
    tasks = [NewRecord("task", {"description": f"{said(draw, 8)} n{n % 50}"}, f"t{n:04}") for n in range(900)]
    rest = [
        NewRecord("incident", {"description": said(draw, 6), "symptoms": [said(draw, 3)]}, f"i{n}") for n in range(90)
    ]
    asked = [said(random.Random(n), 4) + (f" n{n}" if n % 3 else "") for n in range(40)]
    answers = []
    for where in ("", url):
        monkeypatch.setenv("NANOMEM_DATABASE_URL", where)
        with clock.at(clock.now()), open_workspace(empty(tmp_path / ("server" if where else "file"))) as ws:
            ws.records.store_many([*tasks, *rest])
            ws.records.delete("task", [f"t{n:04}" for n in range(0, 900, 9)])
            ws.records.store("task", {"description": "the proxy again"}, "t0001")
            found = [
                [(hit.record.id, round(hit.score, 9)) for hit in ws.records.search(question, kinds, limit=8)]
                for question in asked
                for kinds in ((), ("task",))
            ]
            found += [
                [(hit.record.id, round(hit.score, 9)) for hit in ws.records.search(question, ["task"], where=where_it)]
                for question in asked[:10]
                for where_it in ({"status": "pending"}, {"status": "completed"})
            ]
            answers.append(found)
    assert answers[0] == answers[1]
    assert sum(map(len, answers[0])) > 300


def test_documents_are_found_as_in_a_file(tmp_path, url, monkeypatch):
    draw = random.Random(5)
    texts = [
        (f"{draw.choice(WORDS)} {draw.choice(WORDS)} {n}", "\n\n".join(
            f"# {said(draw, 3)}\n\n{said(draw, 60)} w{draw.randint(0, 30)}" for _ in range(draw.randint(1, 6))))
        for n in range(120)
    ]  # fmt: skip
    asked = [said(random.Random(n), 4) for n in range(25)] + ["certifcate", "relaod the proxi", "w7", "what is w29"]
    answers = []
    for where in ("", url):
        monkeypatch.setenv("NANOMEM_DATABASE_URL", where)
        with open_workspace(empty(tmp_path / ("server" if where else "file"))) as ws:
            documents = [knowledge_sources.text_document(text, "", title) for title, text in texts]
            ws.knowledge.add(Found(documents, []))
            ws.knowledge.add(Found([knowledge_sources.text_document("all of it anew: w7", "", texts[3][0])], []))
            ws.knowledge.remove([ws.knowledge.get(texts[5][0]).id])
            hits = [[(hit.id, hit.score) for hit in ws.knowledge.search(question, 8)] for question in asked]
            hits += [[(hit.id, hit.score) for hit in ws.knowledge.search(q, 5, ["solution"])] for q in asked[:5]]
            answers.append(hits)
    same = [hits == others for hits, others in zip(*answers, strict=True)]
    assert sum(same) / len(same) >= 0.9, "the index alone may choose otherwise where more hold a word than are rated"
    firsts = [[hits[0] if hits else None for hits in part] for part in answers]
    assert firsts[0] == firsts[1]


def test_a_filter_of_the_console_lets_through_what_it_does_in_a_file(tmp_path, url, monkeypatch):
    texts = ["restart nginx", "100% of it", "a_b", "a\\b", "über", "line\nbreak nginx", "(paren", "NGINX", "[x]"]
    filters = [("*nginx*",), ("100%*",), ("a?b",), ("*\\*",), ("(*", "*break*"), ("restart nginx",), ("*.*",)]
    answers = []
    for where in ("", url):
        monkeypatch.setenv("NANOMEM_DATABASE_URL", where)
        with open_workspace(empty(tmp_path / ("server" if where else "file"))) as ws:
            ws.records.store_many([NewRecord("task", {"description": text}, f"t{n}") for n, text in enumerate(texts)])

            def look(connection):
                found: list[object] = []
                for patterns in filters:
                    wanted = Stretch(KINDS["task"], among=(Among("description", patterns),))
                    rows = records.page(connection, wanted, 50)
                    found.append((records.count_within(connection, wanted), {row.id for row in rows}))
                return found

            answers.append(ws.tier_database.read(look))
    assert answers[0] == answers[1]


# -- the words of records ---------------------------------------------------------------------------------------------


def test_texts_of_any_length_are_kept_and_found_by_their_field(ws):
    draw = random.Random(3)
    long = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9_000)) + end for end in ("a", "b")]
    for number, text in enumerate(long):
        ws.records.store("pattern", {"trigger": text, "action": f"do {number}"}, f"p{number}")
        ws.records.store("event", {"category": text, "data": {}}, f"e{number}")
        ws.records.store("task", {"description": "x", "goal_id": text}, f"t{number}")
        ws.records.store("tool-call", {"tool_name": text, "input": {"n": 1}, "success": True}, f"c{number}")
    for number, text in enumerate(long):
        assert [row.id for row in ws.records.list_records("event", where={"category": text})] == [f"e{number}"]
        assert [row.id for row in ws.records.tasks_of(text)] == [f"t{number}"]
        assert ws.records.count("pattern", where={"trigger": text}) == 1
        found, called = ws.records.find_pattern(text), ws.records.cached_result(text, {"n": 1})
        assert (found and found.id, called and called.id) == (f"p{number}", f"c{number}")


def test_a_number_is_not_given_twice_where_something_is_known_by_it(ws):
    def number():
        return ws.tier_database.read(lambda connection: records.newest_number(connection, KINDS["goal"]))

    ws.records.store_many([NewRecord("goal", {"description": f"goal {n}"}, f"g{n}") for n in range(3)])
    before = number()
    ws.records.delete("goal", ["g2", "g1"])
    ws.records.store("goal", {"description": "a new one"}, "g9")
    assert number() > before


# -- several at once --------------------------------------------------------------------------------------------------


def _stores(workspace, name, many):
    with open_workspace(workspace) as ws:
        for number in range(many):
            ws.records.store("task", {"description": f"{name} step {number}", "procedure_id": "p"}, f"{name}-{number}")
            ws.records.update("task", f"{name}-{number}", {"status": "completed", "duration_ms": 10})


def test_processes_and_threads_lose_and_double_nothing(place):
    with open_workspace(place) as ws:
        ws.records.store("procedure", {"name": "restart", "description": "Restart it"}, "p")
    context = multiprocessing.get_context("spawn")
    jobs = [context.Process(target=_stores, args=(place, f"process{n}", 20)) for n in range(3)]
    for job in jobs:
        job.start()
    with open_workspace(place) as ws:
        threads = [threading.Thread(target=_in_a_thread, args=(ws, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for job in jobs:
        job.join(120)
        assert job.exitcode == 0
    with open_workspace(place) as ws:
        assert ws.records.count("task") == 3 * 20 + 4 * 20
        assert ws.records.get("procedure", "p").fields["success_count"] == 3 * 20, "each was counted, by whom ever"
        found = {hit.record.id for hit in ws.records.search("process1 step", ["task"], limit=200)}
        assert {f"process1-{n}" for n in range(20)} <= found
        assert not [problem for problem in ws.doctor() if problem.severity == "error"]


def _in_a_thread(ws, thread):
    for number in range(20):
        ws.records.store("task", {"description": f"thread {thread} step {number}"}, f"thread{thread}-{number}")


def test_a_console_sees_that_another_wrote(place, monkeypatch):
    monkeypatch.setattr(work_store, "LOOK", 0.0)
    with open_workspace(place) as here, open_workspace(place) as there:
        assert "tiers" not in here.refresh()
        there.records.store("goal", {"description": "x"})
        assert "tiers" in here.refresh()
        assert "tiers" not in here.refresh()


def test_one_machine_at_a_time_runs_the_lifecycle(ws):
    ws.records.store("goal", {"description": "x", "status": "completed"}, "g")
    with bookkeeping.lease(ws.tier_database.database, "lifecycle") as held:
        assert held
        with pytest.raises(Refused, match="under way on another machine"):
            ws.lifecycle.run()
        assert ws.lifecycle.step().kind == "busy"
    ws.lifecycle.run()


# -- one database, several workspaces ---------------------------------------------------------------------------------


def as_member(url, postgres, workspace_id):
    """The address by which a role comes that is a member of one workspace."""
    place = schema_in(url)
    postgres.run(
        "postgres", "DROP ROLE IF EXISTS worker", "CREATE ROLE worker LOGIN",
        f"GRANT USAGE ON SCHEMA {place} TO worker",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {place} TO worker",
        f"REVOKE INSERT, UPDATE, DELETE ON {place}.nanomem_members, {place}.nanomem_schema FROM worker",
        f"INSERT INTO {place}.nanomem_members VALUES ('worker', '{workspace_id}')",
    )  # fmt: skip
    return url.replace("postgres@", "worker@")


def filled(home, name, secret):
    with open_workspace(empty(home / name)) as ws:
        ws.records.store("task", {"description": secret, "status": "completed"}, "same-id")
        ws.records.store("task", {"status": "failed"}, "same-id")  # which is noted
        ws.records.store("metric", {"name": "cpu", "value": 1.0, "timestamp": "2020-01-01T00:00:00+00:00"})
        ws.knowledge.add_text(secret, "", secret)
        ws.lifecycle.run()
        return ws.id


def test_two_workspaces_number_and_count_for_themselves(tmp_path, place):
    with open_workspace(place) as one, open_workspace(empty(tmp_path / "second")) as two:
        one.records.store_many([NewRecord("task", {"description": f"task {n}"}, f"t{n}") for n in range(5)])
        two.records.store("task", {"description": "task"}, "t1")
        assert one.status()["tiers"] == {"working": 5, "longterm": 0, "exact": True, "bytes": 0}
        assert two.status()["tiers"] == {"working": 1, "longterm": 0, "exact": True, "bytes": 0}
        two.records.delete("task", ["t1"])
        assert one.records.count("task") == 5
        assert len(one.records.search("task", ["task"])) == 5


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_looking_makes_no_table(ws, postgres, url):
    assert ws.records.search("nginx") == []
    assert ws.lifecycle.plan().sizes is None
    assert ws.knowledge.documents(own=False) == []
    name = ws.id
    assert postgres.run("postgres", f"SELECT tablename FROM pg_tables WHERE schemaname = '{name}'") == []


def test_a_text_with_a_nul_comes_back_as_it_was(ws):
    ws.records.store("task", {"description": "a\0b", "output": {"said": "c\0d"}}, "t")
    assert ws.records.get("task", "t").fields["description"] == "a\0b"
    assert ws.records.get("task", "t").fields["output"] == {"said": "c\0d"}
    assert not [problem for problem in ws.doctor() if problem.severity == "error"]


def test_the_records_of_a_file_come_to_the_server_by_an_export(tmp_path, url, monkeypatch):
    workspace = empty(tmp_path / "home")
    monkeypatch.setenv("NANOMEM_DATABASE_URL", "")
    with open_workspace(workspace) as ws:
        many = [NewRecord("task", {"description": f"step {n}"}, f"t{n}") for n in range(20)]
        ws.records.store_many([*many, NewRecord("goal", {"description": "the goal"}, "g")])
        before = [row for kind in ("task", "goal") for row in ws.records.list_records(kind)]
        ws.transfer.export_work(tmp_path / "work.jsonl")
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    with open_workspace(workspace) as ws:
        assert any("they are not shown" in problem.what for problem in ws.doctor()) == ws.tier_database.path.exists()
        ws.transfer.run(ws.transfer.preview(tmp_path / "work.jsonl"))
        after = [row for kind in ("task", "goal") for row in ws.records.list_records(kind)]
        assert [(row.id, row.fields) for row in after] == [(row.id, row.fields) for row in before]
        assert [hit.record.id for hit in ws.records.search("step 7", ["task"], limit=1)] == ["t7"]


def test_what_is_forgotten_is_gone_from_the_work_too(ws):
    from nanomem_tui.purge import databases
    from nanomem_tui.purge.matchers import Words

    ws.records.store("task", {"description": "call Rosalind Quigley back"}, "t")
    ws.records.store("task", {"description": "called back"}, "t")
    ws.knowledge.add_text("Rosalind Quigley knows the password", "", "Contacts")
    words = Words(["Rosalind Quigley"])
    ws.tier_database.write(
        lambda connection: databases.clean_work(connection, words, lambda *_: None, write=True), durable=True
    )

    def everything(connection):
        names = [table.name for table in models.METADATA.sorted_tables] + ["tasks_words", "knowledge_words"]
        return " ".join(str(connection.exec_driver_sql(f"SELECT * FROM {name}").all()) for name in names)

    held = ws.tier_database.read(everything).lower()
    assert "rosalind" not in held
    assert "quigley" not in held


def test_what_happens_now_is_seen_by_all_and_ages(ws, place):
    ws.operational.push("metric", {"name": "load", "value": 1})
    ws.operational.push("event", {"message": "nul \0 kept", "level": "error"}, "ops")
    with open_workspace(place) as other:
        other.operational.push("metric", {"name": "load", "value": 2})
        assert [value.value for value in ws.operational.metrics()] == [2.0]
        assert [entry.data["message"] for entry in other.operational.recent(category="event")] == ["nul \0 kept"]
    assert ws.records.count("event") == 1, "a critical one is there at once"
    assert ws.operational.age(clock.now() + timedelta(hours=2)) == 3
    assert ws.operational.recent() == []
    assert (ws.records.count("metric"), ws.records.count("event")) == (2, 1)


def test_names_longer_than_an_index_of_a_server_takes_are_kept(ws):
    long = "".join(chr(random.Random(n).randrange(0x4E00, 0x9FFF)) for n in range(5000))
    ws.operational.push("tool_result", {"tool": long, "input": 1, "output": 2})
    ws.operational.push("event", {"agent": long, "state": "idle"})
    assert [entry.data["tool"] for entry in ws.operational.recent(category="tool_result")] == [long]
    assert [one.state for one in ws.operational.agent_states()] == ["idle"]


def test_records_of_an_earlier_release_are_migrated_by_who_writes_and_by_no_reader_nor_backup(ws, place):
    ws.records.store("goal", {"description": "Ship it"}, "g1")
    with ws.tier_database.database.making() as connection:
        for table in ("happening", migrations.WORK.table.name):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        connection.exec_driver_sql("UPDATE work_meta SET version = 1")

    def schema():
        with ws.tier_database.database.reading() as connection:
            return migrations.version_of(connection, migrations.WORK)

    with open_workspace(place) as again:
        with pytest.raises(OlderSchema, match="doctor --fix"):
            again.records.get("goal", "g1")
        with backup.as_file(again.paths, again.settings.database_url, again.paths.work_database) as kept:
            assert kept is not None
            with contextlib.closing(sqlite3.connect(kept)) as file:
                assert file.execute("SELECT id FROM goals").fetchall() == [("g1",)]
        assert schema() == "0001"
        again.operational.push("event", {"message": "after it"})
        assert again.records.get("goal", "g1").fields["description"] == "Ship it"
        assert schema() == migrations.WORK.newest
