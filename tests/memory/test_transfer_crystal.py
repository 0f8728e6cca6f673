"""`memory.db` of the crystallized system: all five kinds come in, are known again, and go back as they came."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.memory.transfer import crystallized
from tests.store.homes import kill, make_home

HOME = {"items": 0, "lessons": 0}

CRYSTAL = "crystal/home/.nanobot/memory.db"
KINDS = {"fact": 91, "journal": 45, "message": 360, "reflection": 20, "usage": 10}
TABLES = ("facts", "journal", "conversations", "reflections", "token_usage")
NOW = "2026-02-15T08:37:00"


@pytest.fixture
def source(samples, tmp_path):
    """A copy of the sample that a test may change."""
    return Path(shutil.copyfile(samples / CRYSTAL, tmp_path / "memory.db"))


def tables():
    """The columns of every table of that system, which take anything: by its name."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(crystallized.dump([]).data)
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        return {
            name: ", ".join(
                f"{column} {kind} PRIMARY KEY AUTOINCREMENT" if key else f"{column} {kind} DEFAULT {default or 'NULL'}"
                for _, column, kind, _, default, key in connection.execute(f"PRAGMA table_info({name})")
            )
            for (name,) in names.fetchall()
        }


def database(path, **rows):
    """A database of that system with these rows: by table, in the order of the columns without the id."""
    with closing(sqlite3.connect(path)) as connection:
        for table, columns in tables().items():
            connection.execute(f"CREATE TABLE {table} ({columns})")
        for table, values in rows.items():
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")][1:]
            for value in values:
                marks = ", ".join("?" * len(value))
                connection.execute(f"INSERT INTO {table} ({', '.join(names[: len(value)])}) VALUES ({marks})", value)
        connection.commit()
    return path


def change(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def imported(ws, path):
    plan = ws.transfer.preview(path)
    ws.transfer.run(plan)
    return plan


def stored(path):
    """Every row of every table, without its id, in a fixed order."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        return {name: sorted(row[1:] for row in connection.execute(f"SELECT * FROM {name}")) for name in TABLES}


@pytest.mark.slow
def test_everything_in_it_is_found_afterwards(ws, samples):
    path = samples / CRYSTAL
    plan = imported(ws, path)
    assert plan.kinds == {kind: {"new": number} for kind, number in KINDS.items()}
    theirs = stored(path)
    for category, key, value, domain, sub_category, *_ in theirs["facts"]:
        (fact,) = ws.facts.find(category, key, domain or "")
        assert (fact.value, fact.domain, fact.sub_category) == (value, domain, sub_category)
        assert fact.id in {hit.item.id for hit in ws.items.search(f'"{fact.item.text[:40]}" {key}', limit=100)}
    assert sorted((row.about, row.text) for row in ws.journal.entries()) == [row[:2] for row in theirs["journal"]]
    told = [(row.about, row.meta["args"], row.meta["error"], row.text, row.session_key) for row in ws.reflections.all()]
    assert sorted(told) == [row[:5] for row in theirs["reflections"]]
    used = [(one.day, one.model, one.prompt_tokens, one.completion_tokens, one.total_tokens, one.requests)
            for one in ws.usage.rows()]  # fmt: skip
    assert sorted(used) == [row[:6] for row in theirs["token_usage"]]
    said = [
        (info.key, message.role, message.content, message.timestamp)
        for info in ws.sessions.list()
        for message in ws.sessions.get(info.key).messages
    ]
    assert sorted(said) == theirs["conversations"]
    ws.flush()
    with open_workspace(ws.paths.workspace) as again:
        assert len(again.facts.all()) == 91
        assert sum(info.messages for info in again.sessions.list()) == 360


@pytest.mark.slow
def test_it_is_one_operation_that_is_taken_back_and_made_again(ws, samples):
    imported(ws, samples / CRYSTAL)
    (entry,) = ws.log()
    what = "import 91 items, 45 journal entries, 360 messages, 20 reflections and 10 rows of token use from memory.db"
    assert (entry.operation.label, len(entry.operation.changes)) == (what, 526)
    ws.undo()
    assert (ws.facts.all(), ws.transfer.records(), ws.sessions.list()) == ([], [], [])
    assert imported(ws, samples / CRYSTAL).counts["new"] == 526
    ws.undo()
    ws.redo()
    assert len(ws.transfer.records()) == 435


@pytest.mark.slow
def test_a_killed_import_is_whole_or_not_there(workspace, samples):
    ws = open_workspace(workspace)
    plan = ws.transfer.preview(samples / CRYSTAL)
    kill(ws)
    with open_workspace(workspace) as ws:
        assert ws.transfer.records() == []
        ws.transfer.run(plan)
        kill(ws)
    with open_workspace(workspace) as ws:
        assert len(ws.transfer.records()) == 435
        assert ws.transfer.preview(samples / CRYSTAL).counts["same"] == 526


@pytest.mark.slow
def test_what_a_person_changed_or_deleted_stays_so(ws, source):
    imported(ws, source)
    fact, other = ws.facts.all()[:2]
    entry, gone = ws.journal.entries()[:2]
    ws.facts.edit(fact.id, value="by hand")
    ws.facts.delete([other.id])
    ws.journal.edit(entry.id, text="rewritten")
    ws.journal.delete([gone.id])
    reflection = ws.reflections.all()[0]
    ws.reflections.delete([reflection.id])
    again = ws.transfer.preview(source)
    assert again.todo == []
    verdicts = {entry.row.id: (entry.verdict, entry.why) for entry in again.entries if entry.verdict != "same"}
    assert verdicts == {
        fact.id: ("conflict", "text, updated_at differ: ours stays"),
        other.id: ("deleted", "it was deleted here"),
        entry.id: ("conflict", "text differs: ours stays"),
        gone.id: ("deleted", "it was deleted here"),
        reflection.id: ("deleted", "it was deleted here"),
    }
    with pytest.raises(NothingToDo):
        ws.transfer.run(again)
    back = ws.transfer.preview(source, restore=True)
    assert {entry.row.id for entry in back.todo} == {other.id, gone.id, reflection.id}


@pytest.mark.slow
def test_a_database_that_went_on_brings_what_is_new(ws, source):
    imported(ws, source)
    change(
        source,
        f"INSERT INTO journal (date, content, created_at) VALUES ('2026-03-01', 'new day', '{NOW}')",
        "INSERT INTO reflections (tool_name, tool_args, error_text, insight, session_key, created_at) "
        "SELECT tool_name, tool_args, error_text, insight, session_key, created_at FROM reflections WHERE id = 1",
        "UPDATE token_usage SET total_tokens = total_tokens + 5, requests = requests + 1, updated_at = "
        "'2026-02-16T00:00:01' WHERE id = 1",
        "UPDATE facts SET value = 'changed there', updated_at = '2026-03-01T00:00:00' WHERE id = 1",
    )
    plan = ws.transfer.preview(source)
    assert plan.kinds["journal"] == {"same": 45, "new": 1}
    assert plan.kinds["reflection"] == {"same": 20, "new": 1}, "the same one once more, at the same second"
    assert plan.kinds["usage"] == {"update": 1, "same": 9}
    assert plan.kinds["fact"] == {"conflict": 1, "same": 90}
    newer = ws.transfer.preview(source, prefer="newer")
    assert newer.kinds["fact"] == {"update": 1, "same": 90}
    ws.transfer.run(newer)
    (row,) = [one for one in ws.usage.rows() if (one.day, one.model) == ("2026-02-15", "gemini-2.0-flash")]
    assert (row.total_tokens, row.requests) == (18005, 3)
    (fact,) = ws.facts.find("偏好", "项 0")
    newest, before = ws.facts.history(fact.id)
    assert newest.value == fact.value == "changed there" != before.value


BROKEN = {
    "facts": (
        ((None, "k", "v"), "category missing"),
        (("c", b"\x00", "v"), "key is no text"),
        (("c", " ", "v"), "key: it is empty"),
        (("c\x1b[2J", "k", "v"), "category: it holds control characters"),
        (("c", "k", " \n"), "value is empty"),
        (("c", "k", "x" * 1_048_576), "more than 1,000,000 characters"),
        (("c" * 500, "k", "v"), "category: it has 500 characters"),
    ),
    "journal": (
        (("2026-02-15", None, NOW), "content is missing"),
        (("soon", "text", "soon"), "date is no day"),
        (("2026-02-15", "x" * 1_048_576, NOW), "more than 1,000,000 characters"),
    ),
    "conversations": (
        ((None, "user", "text", NOW), "chat_id is missing"),
        (("a:1", None, "text", NOW), "role is missing"),
        (("a:1", "user", b"\xff", NOW), "message is no text"),
        (("a:1", "user", "text", "then"), "its time is no time"),
        (("a:\x07", "user", "text", NOW), "control characters"),
    ),
    "reflections": (
        (("", "", "e", "i", "a:1", NOW), "tool_name is no name"),
        (("t", b"5", "e", "i", "a:1", NOW), "tool_args or error_text is no text"),
        (("t", "", "e", "i", b"7", NOW), "session_key is no text"),
    ),
    "token_usage": (
        (("2026-02-15", None, 1, 2, 3, 4, NOW, NOW), "model is missing"),
        (("2026-02-15", "m", -1, 2, 3, 4, NOW, NOW), "prompt_tokens is no count"),
        (("2026-02-15", "m", "many", 2, 3, 4, NOW, NOW), "prompt_tokens is no count"),
    ),
}  # fmt: skip
WHOLE = {
    "facts": ("c", "whole", "v", None, None, NOW, NOW),
    "journal": ("2026-02-15", "whole", NOW),
    "conversations": ("a:1", "user", "whole", NOW),
    "reflections": ("t", None, "e", "whole", None, NOW),
    "token_usage": ("2026-02-15", "m", 1, 2, 3, 4, NOW, NOW),
}


@pytest.mark.parametrize("table", BROKEN)
def test_a_broken_row_is_named_and_the_rest_comes(ws, tmp_path, table):
    bad = [row + (WHOLE[table][len(row) :]) for row, _ in BROKEN[table]]
    path = database(tmp_path / "x.db", **{table: [WHOLE[table], *bad, (*WHOLE[table][:1], "more", *WHOLE[table][2:])]})
    plan = ws.transfer.preview(path)
    assert [why in problem.what for problem, (_, why) in zip(plan.problems, BROKEN[table], strict=True)] == [
        True
    ] * len(bad), [problem.what for problem in plan.problems]
    ((_, verdicts),) = plan.kinds.items()
    assert verdicts == {"new": 2, "bad": len(bad)}
    ws.transfer.run(plan)
    assert all(problem.what.isprintable() for problem in plan.problems)


def test_a_lone_surrogate_is_named_and_left_out(ws, tmp_path):
    path = database(tmp_path / "x.db", facts=[WHOLE["facts"]], journal=[WHOLE["journal"]] * 2)
    change(
        path,
        "INSERT INTO facts VALUES (9, 'c', CAST(X'6BEDA080' AS TEXT), 'v', NULL, NULL, '', '')",
        "UPDATE journal SET content = CAST(X'61EDA080' AS TEXT) WHERE id = 1",
    )
    plan = ws.transfer.preview(path)
    assert [problem.what for problem in plan.problems] == [
        "fact 2 (k?): key: it holds control characters",
        "journal entry 1: text holds a lone surrogate, which is no UTF-8",
    ]
    assert plan.counts["new"] == 2


def test_a_damaged_database_gives_what_can_be_read(ws, source):
    data = bytearray(source.read_bytes())
    page = data.index(b"That charity race sounds great") // 4096 * 4096
    data[page : page + 4096] = b"\xff" * 4096
    source.write_bytes(data)
    plan = imported(ws, source)
    assert plan.kinds["fact"]["new"] == 91
    assert 300 < plan.kinds["message"]["new"] < 360
    assert any("conversations cannot be read beyond row" in problem.what for problem in plan.problems)


def test_names_that_differ_in_case_are_one_fact_with_both_values(ws, tmp_path):
    later = "2026-03-01T00:00:00"
    rows = [
        ("Drinks", "Tea", "green", "Home", "Hot", NOW, NOW),
        ("drinks", " tea", "black", "home", None, NOW, later),
        ("DRINKS", "TEA", "green", "HOME", None, NOW, "2026-02-20T00:00:00"),
        ("Drinks", "tea!", "none", "Work", None, NOW, NOW),
    ]
    path = database(tmp_path / "x.db", facts=rows)
    plan = imported(ws, path)
    assert plan.counts["new"] == 2
    (fact,) = ws.facts.find("drinks", "tea")
    assert (fact.value, fact.category) == ("black", "drinks")
    assert [(one.value, one.until == "") for one in ws.facts.history(fact.id)] == [("black", True), ("green", False)]
    (told,) = [entry.why for entry in plan.entries if entry.row.id == fact.id]
    assert told == "fact 3, fact 1 is the same fact, and older: its value is kept in the history"
    ws.facts.set("Drinks", "tea", "none at all", domain="Home")
    assert [one.value for one in ws.facts.history(fact.id)] == ["none at all", "black", "green"]
    assert ws.transfer.preview(path).todo == []


def test_a_fact_that_is_here_under_another_id_is_known_by_its_names(ws, tmp_path):
    _, fact, _ = ws.facts.set("Drinks", "coffee", "black", domain="Home")
    ws.facts.edit(fact.id, key="tea")
    path = database(tmp_path / "x.db", facts=[("drinks", "TEA", "black", "home", None, NOW, NOW)])
    plan = ws.transfer.preview(path)
    assert [(entry.verdict, entry.present.id) for entry in plan.entries if entry.present] == [("same", fact.id)]
    assert plan.todo == []


def test_how_a_key_is_written_is_no_difference(ws, tmp_path):
    _, fact, _ = ws.facts.set("Drinks", "Tea", "green", domain="Home")
    path = database(tmp_path / "x.db", facts=[("DRINKS", "TEA", "green", "home", "Hot", NOW, NOW)])
    (entry,) = ws.transfer.preview(path).entries
    assert (entry.verdict, entry.row.id) == ("same", fact.id)
    change(path, "UPDATE facts SET value = 'black', updated_at = '2999-01-01T00:00:00'")
    ws.transfer.run(ws.transfer.preview(path, prefer="newer"))
    (now,) = ws.facts.all()
    assert (now.id, now.key, now.value, now.sub_category) == (fact.id, "Tea", "black", "Hot")
    assert now.item.text == "Tea: black"


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00", "9999-12-31T23:59:59", "2026-02-30T00:00:00", "now", ""])
def test_times_at_the_edge_of_time_stop_nothing(ws, tmp_path, moment):
    rows = {table: [(*row[:-1], moment)] for table, row in WHOLE.items()}
    path = database(tmp_path / "x.db", **rows)
    plan = imported(ws, path)
    assert plan.counts["new"] + plan.counts["bad"] == 5
    ws.transfer.export("facts-db", tmp_path / "out.db")
    assert ws.sessions.list() == [] or ws.sessions.get("a:1").messages
    assert ws.transfer.preview(path).todo == []


def test_equal_words_in_two_domains_are_two_facts(ws, tmp_path):
    rows = [("c", "k", "v", "Home", None, NOW, NOW), ("c", "k::Work", "v", "Work", None, NOW, NOW)]
    imported(ws, database(tmp_path / "x.db", facts=rows))
    assert {(fact.domain, fact.key, fact.value) for fact in ws.facts.all()} == {("Home", "k", "v"), ("Work", "k", "v")}


@pytest.mark.slow
def test_export_and_import_again_give_the_same(ws, samples, tmp_path):
    imported(ws, samples / CRYSTAL)
    made = ws.transfer.export("facts-db", tmp_path / "back.db")
    assert (made.words, made.notes) == (
        "91 items, 45 journal entries, 360 messages, 20 reflections and 10 rows of token use", ()
    )  # fmt: skip
    assert stored(made.path) == stored(samples / CRYSTAL)
    assert ws.transfer.preview(made.path).counts["same"] == 526
    for form in ("facts-db", "jsonl"):
        path = tmp_path / f"{form}.out"
        ws.transfer.export(form, path)
        with open_workspace(make_home(tmp_path / form, items=0, lessons=0)) as other:
            imported(other, path)
            assert rows(other) == rows(ws), form


def rows(ws):
    found = [*(fact.item for fact in ws.facts.all()), *ws.transfer.records()]
    plain = {row.id: row._replace(revision=0) for row in found}
    return {key: row._replace(scope_key="", expires_at=None) if hasattr(row, "scope_key") else row
            for key, row in plain.items()}  # fmt: skip


def test_what_was_noted_here_goes_out_and_is_known_again(ws, tmp_path):
    ws.facts.set("Drinks", "tea", "green", domain="Home")
    ws.facts.set("Drinks", "tea", "black", domain="Work")
    ws.facts.set("Drinks", "tea", "none")
    ws.journal.add("a note")
    ws.journal.add("a note")
    ws.reflections.add("web", "{}", "timeout", "ask for less", "cli:1")
    made = ws.transfer.export("facts-db", tmp_path / "x.db")
    (told,) = made.notes
    assert told == (
        "2 facts share category and key with one of another domain, for which that table has no room: written as "
        "tea::Home, tea::Work; an import reads the key without the domain."
    )
    again = ws.transfer.preview(made.path)
    assert (again.counts["same"], again.todo) == (6, [])
    with open_workspace(make_home(tmp_path / "other", items=0)) as other:
        imported(other, made.path)
        assert {(one.domain, one.value) for one in other.facts.find("drinks", "tea")} == {
            ("Home", "green"), ("Work", "black"), (None, "none")
        }  # fmt: skip
        assert [row.text for row in other.journal.entries()] == ["a note", "a note"]


def test_secrets_in_records_are_written_as_their_names(ws, tmp_path):
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    path = database(
        tmp_path / "x.db",
        conversations=[("a:1", "user", f"my key is {key}", NOW)],
        reflections=[("t", f'{{"key": "{key}"}}', f"bad {key}", "ask", None, NOW)],
    )
    plan = imported(ws, path)
    assert all("a secret in it is written as its name" in entry.why for entry in plan.entries)
    assert not any(key in row.text + row.meta_json for row in ws.transfer.records())
    assert ws.transfer.preview(path).todo == []
    with open_workspace(make_home(tmp_path / "other", items=0)) as other:
        other.transfer.run(other.transfer.preview(path, trust=True))
        assert all(key in row.text + row.meta_json for row in other.transfer.records())


def test_the_secret_of_a_fact_is_kept_nowhere(ws, tmp_path):
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    later = "2026-03-01T00:00:00"
    rows = [("c", "k", f"it is {key}", None, None, NOW, NOW), ("c", "old", f"it was {key}", None, None, NOW, NOW),
            ("C", "Old", "nothing now", None, None, NOW, later)]  # fmt: skip
    plan = imported(ws, database(tmp_path / "x.db", facts=rows))
    assert sorted(entry.verdict for entry in plan.entries) == ["inbox", "new"]
    ws.flush()
    files = [path for path in ws.paths.data.rglob("*") if path.is_file()]
    assert files
    assert not any(key.encode() in path.read_bytes() for path in files)


@pytest.mark.slow
def test_a_database_in_the_home_is_listed_until_it_is_imported(sample_copy):
    home = sample_copy("crystal") / "home" / ".nanobot"
    (home / "workspace" / "memory").mkdir(parents=True)
    with open_workspace(home / "workspace") as ws:
        assert {row.source for row in ws.items.foreign()} == {"foreign:memory.db"}
        (told,) = ws.status()["foreign"]
        assert (told["format"], told["active"], told["others"]["conversations"]) == ("facts", 91, 360)
        assert ws.items.search("花生", limit=3)[0].item.source == "foreign:memory.db"
        (candidate,) = ws.transfer.candidates()
        imported(ws, candidate.path)
        assert ws.items.foreign() == []
        ws.facts.delete([ws.facts.all()[0].id])
        assert ws.items.foreign() == [], "a person deleted it"
        ws.undo(count=2)
        assert len(ws.items.foreign()) == 91
