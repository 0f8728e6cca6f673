"""`nanomem forget`: nothing of it is left in any byte, the rest is as it was, and nothing brings it back."""

import contextlib
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.turns.request import TurnInput
from nanomem_tui.vectors.collection import PassageVectors
from nanomem_tui.vectors.embedders import CheckedEmbedder
from nanomem_tui.vectors.records import RecordMeaning
from nanomem_tui.vectors.semantic_search import SemanticSearch
from tests.cli.conftest import Result
from tests.purge import planted
from tests.vectors.fakes import Words

pytestmark = pytest.mark.slow

Run = Callable[..., Result]


@pytest.fixture
def workspace(home, run):
    found = home("nb035")
    planted.plant(found, run)
    return found


def test_nothing_of_a_text_is_left_in_any_byte(workspace, run):
    run("backup", "make")
    before = planted.holding(workspace.parent)
    assert len(before) >= 10
    rehearsed = run("forget", "--text", planted.TEXT, "--backups", "--dry-run")
    assert (rehearsed.code, planted.holding(workspace.parent)) == (0, before)
    done = run("forget", "--text", planted.TEXT, "--yes", "--backups")
    assert done.code == 1, done.out + done.err
    assert [line for line in done.out.splitlines() if line.startswith("Left: ") and ": .git: " not in line] == []
    assert planted.outside_git(workspace.parent) == []
    assert run("doctor").code == 0
    planted.without_history(workspace)
    assert run("forget", "--again", "--yes").code == 0
    assert planted.holding(workspace.parent) == []


def test_the_rest_is_as_it_was(workspace, run):
    items = {one["id"]: one for one in run("memory", "list", "--json").json if planted.WORD not in one["text"]}
    lines = [line for line in (workspace / "memory" / "MEMORY.md").read_text().splitlines() if planted.WORD not in line]
    messages = run("session", "show", "cli:direct", "--json").json["messages"]
    assert run("forget", "--text", planted.TEXT.upper(), "--yes").code == 1  # git: some is left
    after = {one["id"]: one for one in run("memory", "list", "--json").json}
    assert after == items
    assert (workspace / "memory" / "MEMORY.md").read_text().splitlines() == lines
    now = run("session", "show", "cli:direct", "--json").json["messages"]
    assert len(now) == len(messages)
    assert [one for one in now if "[forgotten]" not in json.dumps(one)] == [
        one for one in messages if planted.WORD not in json.dumps(one)
    ]
    assert run("memory", "search", "--query", "tea", "--json").json[0]["text"] == "tea is black"


def test_what_is_left_is_named_with_the_reason_and_the_exit_code_says_so(workspace, run):
    run("backup", "make")
    result = run("forget", "--text", planted.TEXT, "--yes")
    assert result.code == 1
    assert "Left: .git" in result.out
    assert "nanomem writes no history anew" in result.out
    assert "--backups removes those that hold it" in result.out
    left = planted.holding(workspace.parent)
    assert left
    assert all(".git/" in where or "nanomem-backups/" in where for where in left)


def test_what_was_forgotten_does_not_come_back(workspace, run, tmp_path, monkeypatch):
    run("memory", "export", "--format", "jsonl", "--to", str(tmp_path / "out.jsonl"))
    held = (tmp_path / "out.jsonl").read_bytes()
    assert planted.WORD.encode() in held
    assert run("forget", "--text", planted.TEXT, "--yes", "--backups").code == 1  # git
    refused = run("memory", "add", "--text", f"They say  {planted.TEXT.upper()}, really")
    assert refused.code == 2
    assert "a person wanted it to be forgotten" in refused.err
    assert run("memory", "import", str(tmp_path / "out.jsonl"), "--yes").code == 0
    turn = {"text": f"Please remember that {planted.TEXT}.", "channel": "cli", "chat_id": "direct", "sender_id": "u"}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps({**turn, "assistant": "Yes."}).encode())))
    ended = run("turn", "--json").json
    assert [one["why"] for one in ended["dropped"]] == ["a person wanted it to be forgotten"]
    texts = [one["text"] for one in run("memory", "list", "--json").json]
    assert not [text for text in texts if planted.WORD in text]
    (receipt,) = run("forget", "--list", "--json").json
    assert run("forget", "--lift", receipt["id"], "--yes").code == 0
    assert run("memory", "add", "--text", planted.TEXT).code == 0


def test_an_operation_that_held_it_says_so_and_is_not_taken_back(workspace, run):
    assert run("forget", "--text", planted.TEXT, "--yes").code == 1
    log = run("log", "--json").json
    gone = [entry for entry in log if "[forgotten]" in entry["label"]]
    assert gone
    result = run("undo", gone[0]["id"])
    assert result.code == 1
    assert "nothing brings that back" in result.err
    assert run("undo").code == 1  # what is older of that item fits nothing any more
    assert planted.WORD not in json.dumps(run("log", "--full", "--json").json)


def test_by_id_all_that_it_ever_said_goes(workspace, run):
    key = next(one["id"] for one in run("memory", "list", "--json").json if one["text"] == "tea is black")
    assert run("forget", "--id", key, "--yes").code in (0, 1)
    assert run("memory", "show", key).code == 2
    assert "tea is black" not in json.dumps(run("log", "--full", "--json").json)
    assert run("forget", "--id", "nobody", "--yes").code == 2


def test_the_vectors_of_what_is_forgotten_go_with_it(workspace, run):
    with open_workspace(workspace) as ws:
        ws.records.store("incident", {"description": "the quagga is ill"}, "ill")
        ws.records.store("incident", {"description": "the cat is ill"}, "cat")
        ws.items.add("a quagga lives in the garden")
        ws.flush()
        maker = CheckedEmbedder(Words())
        SemanticSearch(ws.store, ws.settings, Words).sync()
        RecordMeaning(ws.store, ws.tier_database, lambda: maker).sync()
        passages = PassageVectors(lambda: maker, ws.paths.vectors)
        passages.make(["the quagga again"])
        passages.close()
        path, kept = ws.paths.vectors, {item.id for item in ws.items.all() if "quagga" not in item.text}

    def held(name):
        with closing(sqlite3.connect(path)) as connection:
            query = "SELECT key FROM vectors WHERE collection = ? AND vector IS NOT NULL"
            return {key for (key,) in connection.execute(query, (name,))}

    assert len(held("items") - kept) == 1
    assert run("forget", "--text", "quagga", "--yes").code in (0, 1)
    assert set() < held("items") <= kept
    assert held("incidents") == {"cat"}
    assert held("passages") == set(), "nothing tells what these are of"
    assert not [line for line in run("doctor").out.splitlines() if "vectors" in line]


def test_a_conversation_goes_with_its_memories(workspace, run):
    said = [one["content"] for one in run("session", "show", "cli:direct", "--json").json["messages"]]
    long = [text for text in said if len(text) > 24 and text.isascii() and "\n" not in text]
    assert long
    run("forget", "--session", "cli:direct", "--yes", "--backups")
    assert "cli:direct" not in [one["key"] for one in run("session", "list", "--json").json]
    for text in long:
        assert planted.outside_git(workspace.parent, text) == []


@pytest.mark.parametrize("line", [["forget"], ["forget", "--text", "a"], ["forget", "--text", "x y", "--list"]])
def test_what_says_too_little_is_refused(line, workspace, run):
    assert run(*line, "--yes").code == 2


def test_nobody_else_may_have_it_open(workspace, run):
    import subprocess
    import sys

    held = "import sys; f = open(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    ours = next(path for path in sorted((workspace.parent / "nanomem").rglob("*")) if path.is_file())
    with subprocess.Popen([sys.executable, "-c", held, ours], stdin=-1, stdout=-1) as other:
        assert other.stdout is not None
        other.stdout.readline()
        result = run("forget", "--text", planted.TEXT, "--yes")
        other.communicate()
    assert result.code == 2
    assert str(other.pid) in result.err
    assert planted.holding(workspace.parent)


def test_what_a_person_said_goes_from_every_conversation(workspace, run, monkeypatch):
    def turn(text, sender):
        body = {"text": text, "channel": "telegram", "chat_id": "-77", "sender_id": sender, "assistant": "Noted."}
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(body).encode())))
        assert run("turn", "--json").code == 0

    turn("Remember that my locker number is 4417 in the Zanzibar hall.", "elin")
    turn("Remember that I prefer the window seat on long flights.", "mira")
    session = next((workspace.parent / "sessions").rglob("*.jsonl"))
    said = {"role": "user", "content": "My Zanzibar locker again, who has the key for it?", "sender_id": "elin"}
    with session.open("a") as file:
        file.write(json.dumps(said) + "\n")
    lines = len(session.read_bytes().split(b"\n"))
    assert run("forget", "--person", "elin", "--yes", "--backups").code == 0
    assert planted.outside_git(workspace.parent, "Zanzibar") == []
    assert len(session.read_bytes().split(b"\n")) == lines
    assert "window seat" in run("memory", "search", "--query", "window seat flights", "--json").out


def test_a_memory_out_of_notes_takes_the_line_with_it_that_it_was_made_of(tmp_path, run):
    notes = tmp_path / "kept" / "memory" / "MEMORY.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("# Memory\n\n## Staging server\n- Config: port 8080\n- Owner: Quxwhale Meyer\n")
    place = ("--workspace", str(notes.parents[1]))
    assert run("memory", "backfill", *place).code == 0
    rows = json.loads(run("memory", "list", "--json", *place).out)
    [row] = [row for row in rows if row["text"] == "Staging server: Owner: Quxwhale Meyer"]
    assert run("forget", "--id", row["id"], "--yes", *place).code == 0
    assert notes.read_text() == "# Memory\n\n## Staging server\n- Config: port 8080\n"


def test_a_dream_does_not_bring_it_back(workspace, run):
    assert run("forget", "--text", planted.TEXT, "--yes", "--backups").code == 1  # git
    entry = {"cursor": 1000, "timestamp": "2026-02-16 09:00", "content": f"- The user said that {planted.TEXT}"}
    other = {"cursor": 1001, "timestamp": "2026-02-16 09:01", "content": "- The user likes rye bread"}
    with (workspace / "memory" / "history.jsonl").open("a") as file:
        file.write(json.dumps(entry) + "\n" + json.dumps(other) + "\n")
    (workspace / "memory" / ".dream_cursor").write_text("999")
    result = run("dream", "run")
    assert "a person wanted it to be forgotten" in result.out
    for name in ("memory/MEMORY.md", "USER.md", "SOUL.md"):
        assert planted.WORD not in (workspace / name).read_text()
    assert "rye bread" in "".join((workspace / name).read_text() for name in ("memory/MEMORY.md", "USER.md"))


def test_what_a_dream_refuses_is_told_without_its_words(run, home):
    workspace = home("nb035")
    assert run("forget", "--text", "purple lighthouse", "--yes").code == 0
    history = workspace / "memory" / "history.jsonl"
    entry = {
        "cursor": 283,
        "timestamp": "2026-02-16 09:00",
        "content": "- [permanent] User lives in the purple lighthouse.",
    }
    with history.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    (workspace / "memory" / ".dream_cursor").write_text("282")
    assert "a person wanted it to be forgotten" in run("dream", "run").out
    assert planted.holding(workspace.parent, "purple lighthouse") == ["workspace/memory/history.jsonl"]
    (told,) = [one for one in run("log", "--json", "--full").json if one["kind"] == "dream.run"]
    assert told["label"] == "Dream: 1 entry, nothing changed, 1 edit refused as forgotten"
    assert told["meta"]["refused"][0]["new"] == "- User lives in the [forgotten]."
    assert run("inbox", "list", "--json").json == []


@pytest.mark.slow
def test_the_archive_and_a_conversation_that_hold_it_again_are_named_by_the_doctor(run, home):
    workspace = home("nb035")
    assert run("forget", "--text", "purple lighthouse", "--yes").code == 0
    session = next((workspace.parent / "sessions").rglob("*.jsonl"))
    for path, name in ((workspace / "memory" / "history.jsonl", "content"), (session, "content")):
        with path.open("a") as file:
            file.write(json.dumps({"cursor": 283, "role": "user", name: "My Purple\nlighthouse"}) + "\n")
    told = [one for one in run("doctor").out.splitlines() if "there again" in one]
    assert [one.split(":")[0].removeprefix("warning  ") for one in told] == [
        "memory/history.jsonl",
        session.relative_to(workspace.parent).as_posix(),
    ]
    assert run("forget", "--again", "--yes").code == 0
    assert "there again" not in run("doctor").out


def test_what_differs_in_signs_alone_is_found_and_refused_alike(workspace, run):
    for text in ("My blue bike is red", "The blue-bike lock code is in the drawer", "the ｂｌｕｅ bike of Ann"):
        assert run("memory", "add", "--text", text).code == 0
    run("memory", "add", "--text", "the drawer is open")
    other = next(one for one in run("memory", "list", "--json").json if one["text"] == "the drawer is open")
    run("memory", "flush")
    done = run("forget", "--text", "blue bike", "--yes")
    assert (done.code, done.err) == (0, ""), done.out
    texts = [one["text"] for one in run("memory", "list", "--json").json]
    assert "the drawer is open" in texts
    assert not [text for text in texts if "bike" in text]
    for line in (["memory", "add"], ["memory", "edit", other["id"]]):
        refused = run(*line, "--text", "a blue-bike stands there")
        assert (refused.code, "wanted it to be forgotten" in refused.err) == (2, True)


def test_words_of_the_index_that_belong_to_a_row_that_stays_are_nothing_left(workspace, run):
    assert run("memory", "add", "--text", "blue bikes stand there").code == 0  # "blue bike" in the index
    assert run("memory", "add", "--text", "I have a blue bike").code == 0
    assert run("memory", "flush").code == 0
    done = run("forget", "--text", "blue bike", "--yes")
    assert (done.code, "Left" in done.out, "remove the file" in done.out) == (0, False, False), done.out
    assert "blue bikes stand there" in [one["text"] for one in run("memory", "list", "--json").json]


@pytest.mark.sqlite("the file itself")
def test_what_lies_in_a_freed_page_is_written_over_and_is_no_reason_to_remove_the_database(workspace, run):
    database = workspace.parent / "nanomem" / "nanomem.db"
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE gone (said TEXT)")
        connection.executemany("INSERT INTO gone VALUES (?)", [("a purple zeppelin " * 200,)] * 20)
        connection.commit()
        connection.execute("DROP TABLE gone")
        connection.commit()
    assert b"purple zeppelin" in database.read_bytes()
    done = run("forget", "--text", "purple zeppelin", "--yes")
    assert (done.code, "remove the file" in done.out) == (0, False), done.out
    assert b"purple zeppelin" not in database.read_bytes()


def test_a_preview_names_the_rows_that_go_and_the_lines(workspace, run):
    for text in ("Mum likes tea", "Summer in Mumbai is hot"):
        assert run("memory", "add", "--text", text).code == 0
    (workspace / "memory" / "MEMORY.md").write_text("# M\n\n- a\n- Mum is 60\n- Summer\n")
    told = run("forget", "--text", "mum", "--dry-run")
    assert "Goes: memory_entries ltm_" in told.out
    assert "Mum likes tea" in told.out
    assert "Summer" not in told.out
    assert "memory/MEMORY.md (line 4)" in told.out
    preview = run("forget", "--text", "mum", "--dry-run", "--json").json
    assert [one["said"] for one in preview["rows"]] == ["Mum likes tea"]
    assert preview["lines"]["workspace/memory/MEMORY.md"] == [4]
    asked = run("forget", "--text", "mum")
    assert (asked.code, "Mum likes tea" in asked.out) == (2, True)
    assert run("forget", "--text", "mum", "--yes").code in (0, 1)
    assert "Summer in Mumbai is hot" in [one["text"] for one in run("memory", "list", "--json").json]
    assert (workspace / "memory" / "MEMORY.md").read_text() == "# M\n\n- a\n- Summer\n"


@pytest.mark.slow
def test_of_many_rows_some_are_named_and_the_rest_counted(workspace, run):
    for number in range(45):
        assert run("memory", "add", "--text", f"zeppelin number {number}").code == 0
    told = run("forget", "--text", "zeppelin", "--dry-run")
    assert told.out.count("Goes: ") == 40
    assert "and 5 more rows; --full names all" in told.out
    assert run("forget", "--text", "zeppelin", "--dry-run", "--full").out.count("Goes: ") == 45
    assert len(run("forget", "--text", "zeppelin", "--dry-run", "--json").json["rows"]) == 45


@pytest.mark.slow
@pytest.mark.parametrize("line", [["forget", "--text", planted.TEXT], ["scrub", "--mask"]])
def test_undo_after_it_takes_back_nothing_else(line, workspace, run):
    run("memory", "add", "--text", "my key is sk-proj-Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8")
    run("memory", "add", "--text", "coffee at nine")
    older = run("log", "--json").json[0]["id"]
    assert run(*line, "--yes", "--backups").code in (0, 1)  # 1: git holds it
    for more in ([], ["--dry-run"]):
        refused = run("undo", *more)
        assert refused.code == 1
        assert f"the last change was a {line[0]}, which nothing takes back" in refused.err
        assert "`nanomem undo ID`" in refused.err
    assert "coffee at nine" in run("memory", "list", "--json").out
    assert run("memory", "add", "--text", "tea at ten").code == 0
    assert run("undo").code == 0
    assert run("undo").code == 1
    assert run("undo", older).code == 0
    assert "coffee at nine" not in run("memory", "list", "--json").out


@pytest.mark.parametrize("option", ["--person", "--session", "--id"])
@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_none(option, name, workspace, run):
    refused = run("forget", option, name, "--yes")
    assert (refused.code, f"an empty {option} names nothing" in refused.err) == (2, True)
    assert run("forget", "--list", "--json").json == []


def test_what_is_found_nowhere_is_not_said_to_be_kept_out_before_it_is(workspace, run):
    asked = run("forget", "--text", "no such thing")
    assert asked.code == 2
    assert "from now on" not in asked.out
    assert "once it is forgotten it is kept out" in asked.out
    assert run("memory", "add", "--text", "no such thing").code == 0


def test_a_list_tells_what_was_lifted(workspace, run):
    for text in ("no such thing", "nor this one"):
        assert run("forget", "--text", text, "--yes").code == 0
    _, oldest = run("forget", "--list", "--json").json
    assert run("forget", "--lift", oldest["id"], "--yes").code == 0
    lines = run("forget", "--list").out.splitlines()
    assert ["lifted" in line for line in lines] == [False, True]
    assert ["lifted" in one for one in run("forget", "--list", "--json").json] == [False, True]
    assert run("memory", "add", "--text", "no such thing").code == 0
    assert run("memory", "add", "--text", "nor this one").code == 2


@pytest.mark.slow
def test_that_a_text_stands_inside_longer_words_is_said_and_an_option_takes_them(workspace, run):
    for text in ("my number is +4915551234567", "Kayaks and kayaking, all summer", "Ｋａｙａｋｓ too", "tea at ten"):
        assert run("memory", "add", "--text", text).code == 0
    for text, line in (("15551234567", "+4915551234567"), ("kayak", "Kayaks and kayaking")):
        told = run("forget", "--text", text, "--dry-run")
        assert "It is found nowhere" in told.out
        assert "It also stands inside longer words: " in told.out
        assert "--part-of-words takes these too" in told.out
        assert run("forget", "--text", text, "--dry-run", "--json").json["inside_longer_words"]
        assert line in run("forget", "--text", text, "--part-of-words", "--dry-run").out
    assert "inside longer words" in run("forget", "--text", "kayak", "--yes").out
    done = run("forget", "--text", "kayak", "--text", "15551234567", "--part-of-words", "--yes")
    assert "longer words" not in done.out
    left = [one["text"] for one in run("memory", "list", "--json").json]
    assert "tea at ten" in left
    assert not [text for text in left if "kayak" in text.lower() or "4915551" in text or "Ｋ" in text]
    assert run("forget", "--id", "x", "--part-of-words").code == 2


def test_only_what_is_still_there_is_said_to_hold_longer_words(workspace, run):
    notes = workspace / "memory" / "2026-02-16.md"
    notes.write_text("- a kayak\n- kayaks are long\n")
    assert run("backup", "make").code == 0
    notes.write_text("- a kayak\n")
    assert "inside longer words" in run("forget", "--text", "kayak", "--backups", "--dry-run").out
    told = run("forget", "--text", "kayak", "--backups", "--yes")
    assert ".nanomem-backup: 1 time" in told.out
    assert "inside longer words" not in told.out


def test_a_name_of_two_characters_is_long_enough_where_each_is_a_word(workspace, run):
    assert run("memory", "add", "--text", "小红喜欢喝茶").code == 0
    assert run("forget", "--text", "小红", "--yes").code in (0, 1)
    assert "小红" not in run("memory", "list", "--json").out
    for text in ("红", "ab"):
        assert run("forget", "--text", text, "--yes").code == 2


@pytest.mark.slow
def test_what_an_agent_wrote_again_by_hand_is_named_by_the_doctor_and_taken_out_again(workspace, run):
    assert run("forget", "--again", "--yes").code == 2  # nothing was
    assert run("forget", "--text", planted.TEXT, "--yes").code in (0, 1)
    assert "there again" not in run("doctor").out
    document = workspace / "memory" / "MEMORY.md"
    before = document.read_text()
    document.write_text(f"# M\n\n- {planted.TEXT.upper()}\n{before}")
    told = run("doctor").out
    assert "warning  memory/MEMORY.md:3: forgotten, and there again: line 3" in told
    assert "`nanomem forget --again` takes it out" in told
    with open_workspace(workspace) as ws:  # a model does not see it meanwhile
        block = ws.engine.preview(TurnInput("cli:1", text="What do you know?")).block
        assert "[forgotten]" in block
        assert planted.TEXT.casefold() not in block.casefold()
    assert "MEMORY.md (line 3)" in run("forget", "--again", "--dry-run").out
    assert run("forget", "--again", "--yes").code in (0, 1)
    assert document.read_text() == f"# M\n\n{before}"
    assert "there again" not in run("doctor").out
    assert run("memory", "add", "--text", planted.TEXT).code == 2
