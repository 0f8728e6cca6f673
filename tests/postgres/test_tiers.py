"""The agent's work and the knowledge base in a real PostgreSQL: what only a server can get wrong."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanomem_tui import clock, open_workspace
from nanomem_tui.errors import NanomemError, Refused
from nanomem_tui.store import tier_aging, tier_rows, tier_words
from nanomem_tui.store.postgres import leases
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_kinds import KINDS
from nanomem_tui.store.tier_pages import Among, Stretch, count, page
from nanomem_tui.store.tier_words import Rows
from nanomem_tui.tiers import knowledge_files
from nanomem_tui.tiers.knowledge_files import Found
from nanomem_tui.tiers.trail import Stored
from nanomem_tui.workspace import Workspace
from tests.postgres_server import PostgresServer, schema_in

pytestmark = pytest.mark.vectors
WORDS = ["nginx", "disk", "certificate", "restart", "backup", "cron", "kernel", "latency", "proxy", "reload", "token"]


@pytest.fixture
def place(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace whose memory lies on the server."""
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    return empty(tmp_path / "home")


@pytest.fixture
def ws(place: Path) -> Iterator[Workspace]:
    with open_workspace(place) as opened:
        yield opened


def empty(home: Path) -> Path:
    (home / "workspace").mkdir(parents=True)
    return home / "workspace"


def said(draw: random.Random, most: int) -> str:
    return " ".join(draw.choices(WORDS, weights=range(len(WORDS), 0, -1), k=draw.randint(2, most)))


# -- the same as in a file ---------------------------------------------------------------------------------------------


def test_records_are_found_as_in_a_file(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(11)
    tasks = [Stored("task", {"description": f"{said(draw, 8)} n{n % 50}"}, f"t{n:04}") for n in range(900)]
    rest = [Stored("incident", {"description": said(draw, 6), "symptoms": [said(draw, 3)]}, f"i{n}") for n in range(90)]
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


def test_documents_are_found_as_in_a_file(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
            documents = [knowledge_files.text_document(text, "", title) for title, text in texts]
            ws.knowledge.add(Found(documents, []))
            ws.knowledge.add(Found([knowledge_files.text_document("all of it anew: w7", "", texts[3][0])], []))
            ws.knowledge.remove([ws.knowledge.get(texts[5][0]).id])
            hits = [[(hit.id, hit.score) for hit in ws.knowledge.search(question, 8)] for question in asked]
            hits += [[(hit.id, hit.score) for hit in ws.knowledge.search(q, 5, ["solution"])] for q in asked[:5]]
            answers.append(hits)
    same = [hits == others for hits, others in zip(*answers, strict=True)]
    assert sum(same) / len(same) >= 0.9, "the index alone may choose otherwise where more hold a word than are rated"
    firsts = [[hits[0] if hits else None for hits in part] for part in answers]
    assert firsts[0] == firsts[1]


def test_words_are_counted_and_cut_anew_with_the_documents(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from nanomem_tui.store import knowledge_rows

    ws.knowledge.add_text("the ferry leaves at nine", "", "Ferries")
    terms = "SELECT word, held, titled FROM knowledge_terms WHERE workspace_id = ? ORDER BY word"
    words = "SELECT word, block, held, title FROM knowledge_words WHERE workspace_id = ? ORDER BY word"

    def kept() -> list[list[tuple[object, ...]]]:
        return ws.tier_database.read(lambda c: [c.execute(q, (ws.id,)).fetchall() for q in (terms, words)])

    before = kept()
    ws.knowledge.add_text("another text", "", "Others")
    ws.undo()
    assert kept() == before
    monkeypatch.setattr(knowledge_rows, "VERSION", 1_000)  # another release cuts words in another way
    ws.tier_database.write(lambda connection: knowledge_rows.begin(connection, ws.id))
    assert kept() == before
    ws.undo()
    assert kept() == [[], []]


def test_a_filter_of_the_console_lets_through_what_it_does_in_a_file(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["restart nginx", "100% of it", "a_b", "a\\b", "über", "line\nbreak nginx", "(paren", "NGINX", "[x]"]
    filters = [("*nginx*",), ("100%*",), ("a?b",), ("*\\*",), ("(*", "*break*"), ("restart nginx",), ("*.*",)]
    answers = []
    for where in ("", url):
        monkeypatch.setenv("NANOMEM_DATABASE_URL", where)
        with open_workspace(empty(tmp_path / ("server" if where else "file"))) as ws:
            ws.records.store_many([Stored("task", {"description": text}, f"t{n}") for n, text in enumerate(texts)])

            def look(connection: Connection, own: str = ws.id) -> list[object]:
                found: list[object] = []
                for patterns in filters:
                    wanted = Stretch(KINDS["task"], among=(Among("description", patterns),))
                    rows = page(connection, own, wanted, 50)
                    found.append((count(connection, own, wanted), {row.id for row in rows}))
                return found

            answers.append(ws.tier_database.read(look))
    assert answers[0] == answers[1]


# -- the words of records ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_index_knows_the_rows_of_each_word(ws: Workspace, seed: int) -> None:
    draw = random.Random(seed)
    held: dict[int, set[str]] = {}
    ws.records.store("goal", {"description": "x"})  # the tables are there

    def change(connection: Connection) -> None:
        for _ in range(400):
            number = draw.randint(1, 300)
            words = set(draw.choices(WORDS, k=draw.randint(1, 5)))
            now = " ".join(sorted(words))
            if number not in held:
                tier_words.add(connection, "patterns", number, now)
            else:
                was = " ".join(sorted(held[number]))
                if draw.random() < 0.3:
                    tier_words.forget(connection, "patterns", number, was)
                    del held[number]
                    continue
                tier_words.replace(connection, "patterns", number, was, now)
            held[number] = words

    ws.tier_database.write(change)

    def rows(words: set[str]) -> list[int]:
        return sorted((number for number, some in held.items() if words <= some), reverse=True)

    def look(connection: Connection) -> None:
        looked = tier_words.look(connection, ws.id, "patterns", WORDS, Rows(20))
        assert {word: looked._newest_of(word) for word in WORDS} == {word: rows({word})[:20] for word in WORDS}  # type: ignore[attr-defined]
        for _ in range(30):
            some = draw.sample(WORDS, draw.randint(1, 3))
            since = draw.randint(-5, 300)
            newest = [number for number in rows(set(some)) if number >= since][:20]
            assert looked.together(some, since) == newest
            any_of = sorted((number for number, words in held.items() if words & {*some}), reverse=True)
            assert tier_words.of_any(connection, ws.id, "patterns", some, 1_000) == any_of
        left = connection.execute("SELECT count(*) FROM patterns_words WHERE held = 0").fetchone()[0]
        assert left == 0

    ws.tier_database.read(look)


def test_texts_of_any_length_are_kept_and_found_by_their_field(ws: Workspace) -> None:
    draw = random.Random(3)
    long = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9_000)) + end for end in ("a", "b")]
    for number, text in enumerate(long):
        ws.records.store("pattern", {"trigger": text, "action": f"do {number}"}, f"p{number}")
        ws.records.store("event", {"category": text, "data": {}}, f"e{number}")
        ws.records.store("task", {"description": "x", "goal_id": text}, f"t{number}")
        ws.records.store("tool-call", {"tool_name": text, "input": {"n": 1}, "success": True}, f"c{number}")
    for number, text in enumerate(long):
        assert [row.id for row in ws.records.of("event", where={"category": text})] == [f"e{number}"]
        assert [row.id for row in ws.records.tasks_of(text)] == [f"t{number}"]
        assert ws.records.count("pattern", where={"trigger": text}) == 1
        found, called = ws.records.find_pattern(text), ws.records.cached_result(text, {"n": 1})
        assert (found and found.id, called and called.id) == (f"p{number}", f"c{number}")


def test_a_number_is_not_given_twice_where_something_is_known_by_it(ws: Workspace) -> None:
    def number() -> int:
        query = "SELECT max(number) FROM goals WHERE workspace_id = ?"
        return int(ws.tier_database.read(lambda c: c.execute(query, (ws.id,)).fetchone()[0]))

    ws.records.store_many([Stored("goal", {"description": f"goal {n}"}, f"g{n}") for n in range(3)])
    assert number() == 3
    ws.records.delete("goal", ["g2", "g1"])
    ws.records.store("goal", {"description": "a new one"}, "g9")
    assert number() == 4


# -- several at once --------------------------------------------------------------------------------------------------


def _stores(workspace: Path, name: str, many: int) -> None:
    with open_workspace(workspace) as ws:
        for number in range(many):
            ws.records.store("task", {"description": f"{name} step {number}", "procedure_id": "p"}, f"{name}-{number}")
            ws.records.update("task", f"{name}-{number}", {"status": "completed", "duration_ms": 10})


def test_processes_and_threads_lose_and_double_nothing(place: Path) -> None:
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
        query = "SELECT count(*), count(DISTINCT number), max(number) FROM tasks WHERE workspace_id = ?"
        assert ws.tier_database.read(lambda c: c.execute(query, (ws.id,)).fetchone()) == (140, 140, 140)
        found = {hit.record.id for hit in ws.records.search("process1 step", ["task"], limit=200)}
        assert {f"process1-{n}" for n in range(20)} <= found
        assert not [problem for problem in ws.doctor() if problem.severity == "error"]


def _in_a_thread(ws: Workspace, thread: int) -> None:
    for number in range(20):
        ws.records.store("task", {"description": f"thread {thread} step {number}"}, f"thread{thread}-{number}")


def test_a_console_sees_that_another_wrote(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nanomem_tui.store.postgres import tiers

    monkeypatch.setattr(tiers, "LOOK", 0.0)
    with open_workspace(place) as here, open_workspace(place) as there:
        assert "tiers" not in here.refresh()
        there.records.store("goal", {"description": "x"})
        assert "tiers" in here.refresh()
        assert "tiers" not in here.refresh()


def test_what_fails_is_rolled_back_alone(ws: Workspace) -> None:
    ws.records.store("goal", {"description": "first"}, "g")
    begun = threading.Event()
    go_on = threading.Event()

    def slow(connection: Connection) -> None:
        begun.set()
        go_on.wait(20)

    def writes(connection: Connection, *, fails: bool) -> None:
        record = tier_rows.get(connection, ws.id, KINDS["goal"], "g")
        assert record is not None
        tier_rows.put(connection, ws.id, [record._replace(id="bad" if fails else "good")])
        if fails:
            raise ValueError("its own fault")

    raised: list[Exception] = []

    def write(*, fails: bool) -> None:
        try:
            ws.tier_database.write(lambda connection: writes(connection, fails=fails))
        except ValueError as error:
            raised.append(error)

    threads = [threading.Thread(target=ws.tier_database.write, args=(slow,))]
    threads[0].start()
    assert begun.wait(20)
    threads += [threading.Thread(target=write, kwargs={"fails": n % 2 == 0}) for n in range(4)]
    for thread in threads[1:]:
        thread.start()
    time.sleep(0.2)
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(raised) == 2
    assert {row.id for row in ws.records.of("goal")} == {"g", "good"}


def test_one_machine_at_a_time_runs_the_lifecycle(ws: Workspace) -> None:
    ws.records.store("goal", {"description": "x", "status": "completed"}, "g")
    assert ws.store.server is not None
    other = leases.Lease(ws.store.server, "lifecycle")
    other.holder = "another-machine:1:abc"
    assert other.take()
    with pytest.raises(Refused, match="under way on another machine"):
        ws.lifecycle.run()
    assert ws.lifecycle.step().kind == "busy"
    other.let_go()
    ws.lifecycle.run()


def _takes(url: str) -> None:
    from nanomem_tui.store.postgres.server import Server

    assert leases.Lease(Server(url, "w"), "lifecycle").take(600)


def test_what_a_killed_process_of_this_machine_held_is_taken_over_at_once(ws: Workspace, url: str) -> None:
    job = multiprocessing.get_context("spawn").Process(target=_takes, args=(url,))
    job.start()
    job.join(60)
    assert job.exitcode == 0
    from nanomem_tui.store.postgres.server import Server

    assert leases.Lease(Server(url, "w"), "lifecycle").take()
    assert not leases.Lease(Server(url, "w"), "lifecycle").take(), "who holds it now runs"


# -- one database, several workspaces ---------------------------------------------------------------------------------


def as_member(url: str, postgres: PostgresServer, workspace_id: str) -> str:
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


def filled(home: Path, name: str, secret: str) -> str:
    with open_workspace(empty(home / name)) as ws:
        ws.records.store("task", {"description": secret, "status": "completed"}, "same-id")
        ws.records.store("task", {"status": "failed"}, "same-id")  # which is noted
        ws.records.store("metric", {"name": "cpu", "value": 1.0, "timestamp": "2020-01-01T00:00:00+00:00"})
        ws.knowledge.add_text(secret, "", secret)
        ws.lifecycle.run()
        return ws.id


def test_a_member_of_one_workspace_reaches_the_work_of_no_other(
    tmp_path: Path, url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from nanomem_tui.store.postgres import tier_schema

    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    mine, theirs = (filled(tmp_path, name, f"secret of {name}") for name in ("mine", "theirs"))
    monkeypatch.setenv("NANOMEM_DATABASE_URL", as_member(url, postgres, mine))
    with open_workspace(tmp_path / "mine/workspace") as ws:
        assert ws.records.get("task", "same-id").fields["description"] == "secret of mine"
        ws.records.store("task", {"description": "by a worker"}, "t2")
        assert [hit.record.id for hit in ws.records.search("secret worker", ["task"])] == ["t2", "same-id"]
        assert ws.knowledge.search("secret", own=False)[0].text == "secret of mine"
        ws.lifecycle.run(force=True)
        ws.records.delete("task", ["same-id"])
        ws.undo()
    with open_workspace(tmp_path / "theirs/workspace") as ws:
        assert ws.records.of("task") == []
        with pytest.raises(NanomemError, match="a right is missing"):
            ws.records.store("task", {"description": "from outside"})
    tables = tier_schema.tables()
    with psycopg.connect(url.replace("postgres@", "worker@"), autocommit=True) as raw:
        for workspace_id in (mine, theirs, ""):
            raw.execute("SELECT set_config('nanomem.workspace', %s, false)", (workspace_id,))
            for table in tables:
                rows = str(raw.execute(f"SELECT * FROM {table}").fetchall())
                assert theirs not in rows
                assert "secret of theirs" not in rows
                assert raw.execute(f"DELETE FROM {table} WHERE workspace_id = %s", (theirs,)).rowcount == 0
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    with open_workspace(tmp_path / "theirs/workspace") as ws:
        assert [row.fields["description"] for row in ws.records.of("task")] == ["secret of theirs"]
        assert [hit.text for hit in ws.knowledge.search("secret", own=False)] == ["secret of theirs"]


def test_a_search_of_a_member_reads_keys_and_no_table(
    tmp_path: Path, url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walls keep an index of PostgreSQL's own for words from being used (its operator may tell what it saw)."""
    import psycopg

    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    for name in ("one", "two"):
        with open_workspace(empty(tmp_path / name)) as ws:
            many = [Stored("event", {"category": "c", "data": {"said": f"disk {n % 40} w{n}"}}) for n in range(2_000)]
            ws.records.store_many(many)
            own = ws.id
    member = as_member(url, postgres, own)
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("ANALYZE events")
        raw.execute("ANALYZE events_words")
    with psycopg.connect(member, autocommit=True) as raw:
        raw.execute("SELECT set_config('nanomem.workspace', %s, false)", (own,))
        where = "WHERE workspace_id = %s AND word = %s"
        query = f"SELECT block, held FROM events_words {where} ORDER BY block DESC LIMIT 128"
        plan = str(raw.execute(f"EXPLAIN {query}", (own, "w7")).fetchall())
        assert "events_words_pkey" in plan
        assert "Seq Scan on events_words" not in plan
        query = "SELECT max(number) FROM events WHERE workspace_id = %s"
        assert "events_pkey" in str(raw.execute(f"EXPLAIN {query}", (own,)).fetchall())


def test_two_workspaces_number_and_count_for_themselves(tmp_path: Path, place: Path) -> None:
    with open_workspace(place) as one, open_workspace(empty(tmp_path / "second")) as two:
        one.records.store_many([Stored("task", {"description": f"task {n}"}, f"t{n}") for n in range(5)])
        two.records.store("task", {"description": "task"}, "t1")
        assert one.status()["tiers"] == {"working": 5, "longterm": 0, "exact": True, "bytes": 0}
        assert two.status()["tiers"] == {"working": 1, "longterm": 0, "exact": True, "bytes": 0}
        two.records.delete("task", ["t1"])
        assert one.records.count("task") == 5
        assert len(one.records.search("task", ["task"])) == 5
        due = tier_aging.Due(KINDS["task"], "moved", "2999")
        numbers = one.tier_database.read(lambda c: tier_aging.following(c, one.id, due, tier_aging.START, 10))
        assert numbers == []  # none has ended


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_looking_makes_no_table(ws: Workspace, postgres: PostgresServer, url: str) -> None:
    assert ws.records.search("nginx") == []
    assert ws.lifecycle.plan().sizes is None
    assert ws.knowledge.documents(own=False) == []
    name = schema_in(url)
    assert postgres.run("postgres", f"SELECT tablename FROM pg_tables WHERE schemaname = '{name}'") == []


def test_a_memory_of_before_gets_the_tables_of_the_work(ws: Workspace, url: str) -> None:
    import psycopg

    from nanomem_tui.store.postgres import tier_schema

    ws.items.add("kept by an older release")
    ws.flush()
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(f"DROP TABLE memory_postings, {', '.join(tier_schema.tables())} CASCADE")
        raw.execute("ALTER TABLE memory_entries ADD COLUMN words TSVECTOR")
        raw.execute("CREATE INDEX idx_memory_words ON memory_entries USING gin (words)")
        raw.execute("DROP POLICY nanomem_members_of_one_role ON nanomem_members")
        raw.execute("UPDATE nanomem_schema SET version = 3")
    assert ws.records.of("task") == []
    with open_workspace(ws.paths.workspace) as now:
        now.records.store("task", {"description": "by this release"}, "t")
        assert [item.text for item in now.items.all()] == ["kept by an older release"]
        assert now.records.get("task", "t").title == "by this release"


def test_a_text_with_a_nul_is_kept_with_its_sign_and_is_whole(ws: Workspace) -> None:
    ws.records.store("task", {"description": "a\0b", "output": {"said": "c\0d"}}, "t")
    assert ws.records.get("task", "t").fields["description"] == "a␀b"
    ws.records.edit("task", "t", {"description": "e\0f"})
    assert not [problem for problem in ws.doctor() if problem.severity == "error"]
    ws.undo()
    assert ws.records.get("task", "t").fields["description"] == "a␀b"


def test_the_doctor_names_a_table_and_a_wall_that_are_gone(ws: Workspace, url: str) -> None:
    import psycopg

    ws.records.store("task", {"description": "x"})
    ws.flush()
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("ALTER TABLE decisions NO FORCE ROW LEVEL SECURITY")
        raw.execute("DROP TABLE knowledge_terms")
        raw.execute("ALTER TABLE incidents DROP COLUMN symptoms")
        raw.execute("DROP INDEX idx_tasks_at")
    told = " ".join(problem.text() for problem in ws.doctor())
    wall = "row level security is off for decisions"
    for name in (wall, "knowledge_terms", "incidents lacks symptoms", "idx_tasks_at"):
        assert name in told


def test_the_records_of_a_file_come_to_the_server_by_an_export(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = empty(tmp_path / "home")
    monkeypatch.setenv("NANOMEM_DATABASE_URL", "")
    with open_workspace(workspace) as ws:
        many = [Stored("task", {"description": f"step {n}"}, f"t{n}") for n in range(20)]
        ws.records.store_many([*many, Stored("goal", {"description": "the goal"}, "g")])
        before = [row for kind in ("task", "goal") for row in ws.records.of(kind)]
        ws.transfer.export_work(tmp_path / "work.jsonl")
    monkeypatch.setenv("NANOMEM_DATABASE_URL", url)
    with open_workspace(workspace) as ws:
        assert any("they are not shown" in problem.what for problem in ws.doctor()) == ws.tier_database.path.exists()
        ws.transfer.run(ws.transfer.preview(tmp_path / "work.jsonl"))
        after = [row for kind in ("task", "goal") for row in ws.records.of(kind)]
        assert [(row.id, row.fields) for row in after] == [(row.id, row.fields) for row in before]
        assert [hit.record.id for hit in ws.records.search("step 7", ["task"], limit=1)] == ["t7"]


def test_what_is_forgotten_is_gone_from_the_work_too(ws: Workspace) -> None:
    from nanomem_tui.purge import work_rows
    from nanomem_tui.purge.wanted_words import Words

    ws.records.store("task", {"description": "call Rosalind Quigley back"}, "t")
    ws.records.store("task", {"description": "called back"}, "t")
    ws.knowledge.add_text("Rosalind Quigley knows the password", "", "Contacts")
    words = Words(["Rosalind Quigley"])
    ws.tier_database.write(
        lambda connection: work_rows.clean(connection, ws.id, words, lambda *_: None, write=True), durable=True
    )

    def everything(connection: Connection) -> str:
        from nanomem_tui.store.postgres import tier_schema

        return " ".join(str(connection.execute(f"SELECT * FROM {name}").fetchall()) for name in tier_schema.tables())

    held = ws.tier_database.read(everything).lower()
    assert "rosalind" not in held
    assert "quigley" not in held
