"""`nanomem doctor --fix`: what is broken is put right, after a backup, and no byte of it is lost."""

import contextlib
import json
import os
import shutil
import sqlite3
import time

import pytest

from nanomem_tui.store.files.presence import Presence
from nanomem_tui.workspace import Workspace

LINE = b'{"cursor": 1, "timestamp": "2026-05-01 10:00", "content": "one"}\n'


@pytest.fixture
def broken(run, home, samples):
    """A home of nanobot 0.3.5 with one of each: what a crash, a bad shell command and an upgrade leave."""
    workspace = home("nb035")
    run("memory", "add", "--text", "Prefers trains")
    memory = workspace / "memory"
    (memory / "history.jsonl").write_bytes(LINE + b'{"cursor": 2, "content": "\xff"}\n' + b'{"cursor": 3, "ti')
    (memory / ".cursor").write_text("x")
    (memory / ".dream_cursor").write_text("99999")
    (workspace / "USER.md").write_bytes(b"# User\n- caf\xe9\n")
    lock = workspace / ".git" / "index.lock"
    lock.write_bytes(b"")
    left = workspace / ".USER.md.abc.nanomem-tmp"
    left.write_bytes(b"half a fi")
    for path in (lock, left):
        os.utime(path, (time.time() - 86400,) * 2)
    [sessions] = [path.parent for path in (workspace.parent / "sessions").glob("*/.workspace")]
    (sessions / "gone.checkpoint.json").write_bytes(b'{"version": 1}')
    old = samples / "v0_1_5" / "home" / ".nanobot" / "workspace" / "sessions" / "telegram_4300129.jsonl"
    (sessions / old.name).write_bytes(old.read_bytes())
    (workspace.parent / "nanomem" / "nanomem.db").chmod(0o644)
    return workspace


def quarantined(workspace):
    return [path.read_bytes() for path in (workspace.parent / "nanomem" / "quarantine").iterdir()]


def test_what_would_be_done_is_told_and_nothing_is(run, broken):
    before = (broken / "memory" / "history.jsonl").read_bytes()
    told = run("doctor", "--fix", "--dry-run")
    assert told.code == 1
    assert "Would fix: memory/history.jsonl: 2 lines that cannot be read" in told.out
    assert len(run("doctor", "--fix", "--dry-run", "--json").json["repairs"]) == 9
    assert (broken / "memory" / "history.jsonl").read_bytes() == before
    assert not (broken.parent / "nanomem-backups").exists()


@pytest.mark.slow
def test_all_of_it_is_put_right_and_kept_as_it_was(run, broken):
    history = (broken / "memory" / "history.jsonl").read_bytes()
    assert run("doctor").code == 1
    done = run("doctor", "--fix", "--yes")
    assert (done.out.count("Fixed:"), "Not fixed" in done.out, done.code) == (9, False, 0)
    assert (broken / "memory" / "history.jsonl").read_bytes() == LINE
    assert (broken / "memory" / ".cursor").read_text() == "1"
    assert (broken / "memory" / ".dream_cursor").read_text() == "1"
    assert (broken / "USER.md").read_text() == "# User\n- caf�\n"
    assert not (broken / ".git" / "index.lock").exists()
    assert {history, b"# User\n- caf\xe9\n", b"half a fi", b'{"version": 1}', b"99999", b"x"} <= {*quarantined(broken)}
    assert run("session", "rescue").out == "The agent finds every session.\n"
    assert "nothing that can be put right" in run("doctor", "--fix").out


@pytest.mark.slow
def test_the_backup_takes_it_back(run, broken):
    files = ("memory/history.jsonl", "memory/.dream_cursor", "USER.md", ".git/index.lock")
    before = {name: (broken / name).read_bytes() for name in files}
    told = run("doctor", "--fix", "--yes").out
    back = next(line for line in told.splitlines() if "takes it back" in line).split("`")[1].split()
    assert run(*back[1:], "--yes").code == 0
    assert {name: (broken / name).read_bytes() for name in files[:3]} == {name: before[name] for name in files[:3]}


@pytest.mark.slow
def test_the_log_tells_of_it_and_undo_names_the_backup(run, broken):
    told = run("doctor", "--fix", "--yes").out
    backup = next(line for line in told.splitlines() if "takes it back" in line).split("`")[1].split()[-1]
    [entry] = [one for one in run("log", "--full", "--json").json if one["kind"] == "doctor.fix"]
    assert (entry["actor"], entry["meta"]["backup"]) == ("human", backup)
    assert "put right 5 things" in entry["label"]
    assert ".git/index.lock" in [where for where, _, _ in entry["meta"]["fixes"]]
    assert run("undo").out.startswith("undo: put right 4 things: memory/history.jsonl, USER.md")
    assert run("undo").out.startswith("undo: rescue 1 session\n")  # that one stands for itself
    for line in (["undo"], ["undo", entry["id"]]):
        refused = run(*line)
        assert refused.code != 0
        assert f"`nanomem backup restore {backup}` takes it back, and all that was done since" in refused.err
        assert "`nanomem undo ID` for an older one; see `nanomem log`" in refused.err


@pytest.mark.slow
def test_no_undo_stops_at_permissions_and_locks(run, home):
    workspace = home("nb035")
    run("memory", "add", "--text", "Prefers trains")
    (workspace.parent / "nanomem").chmod(0o755)
    lock = workspace / ".git" / "index.lock"
    lock.write_bytes(b"")
    os.utime(lock, (time.time() - 86400,) * 2)
    assert run("doctor", "--fix", "--yes").out.count("Fixed:") == 2
    fixed = next(one["id"] for one in run("log", "--json").json if one["kind"] == "doctor.fix")
    assert "changed nothing of what is remembered" in run("undo", fixed).err
    assert run("undo").out.startswith("undo: add")
    assert run("redo").code == 0


def test_beside_an_agent_its_files_wait(run, broken, monkeypatch):
    before = (broken / "memory" / "history.jsonl").read_bytes()
    monkeypatch.setattr(Workspace, "agent", lambda _ws: Presence(True, 4711, "nanobot gateway", False))
    told = run("doctor", "--fix", "--yes")
    assert "Waits: memory/history.jsonl: 2 lines that cannot be read (nanobot gateway runs (process 4711))" in told.out
    assert (broken / "memory" / "history.jsonl").read_bytes() == before
    assert (broken.parent / "nanomem" / "nanomem.db").stat().st_mode & 0o777 == 0o600


def test_what_changed_in_that_moment_is_not_written_over(run, broken):
    from nanomem_tui import open_workspace
    from nanomem_tui.memory import repairs

    with open_workspace(broken) as ws:
        found = [one for one in repairs.find_repairs(ws) if one.where.endswith("history.jsonl")]
        (broken / "memory" / "history.jsonl").write_bytes(LINE + LINE)
        [(_, why)] = repairs.apply_repairs(ws, found)
    assert "the file changed since" in why
    assert (broken / "memory" / "history.jsonl").read_bytes() == LINE + LINE


def test_a_healthy_home_has_nothing_to_fix(run, home):
    workspace = home("nb035")
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    done = run("doctor", "--fix", "--yes")
    assert done.code == 0
    assert done.out.startswith("There is nothing that can be put right by itself.\nAll is well.\n")
    assert {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()} == before
    assert run("doctor", "--dry-run").code == 2


@pytest.mark.slow
@pytest.mark.parametrize(("make", "kind"), [(os.mkfifo, "pipe"), (os.mkdir, "folder")])
def test_what_lies_in_the_place_of_a_file_stays_and_the_rest_is_put_right(run, broken, make, kind):
    (broken / "USER.md").unlink()
    make(broken / "USER.md")
    told = run("doctor")
    assert f"error    USER.md: a {kind} lies in the place of USER.md (move it away)" in told.out
    assert " 3:" not in told.out
    done = run("doctor", "--fix", "--yes")
    assert (done.out.count("Fixed:"), "Not fixed" in done.out, done.code) == (8, False, 1), done.out
    assert f"a {kind} lies in the place of USER.md" in done.out


@pytest.mark.slow
def test_a_counter_that_no_archive_ever_reached_is_set_back(run, home):
    workspace = home("nb035")
    counter = workspace / "memory" / ".cursor"
    right = counter.read_text().strip()
    counter.write_text("99999999999")
    assert f"99999999999 is beyond the last entry ({right})" in run("doctor").out
    assert "are lost" not in run("doctor").out
    assert run("doctor", "--fix", "--yes").code == 0
    assert counter.read_text() == right
    assert b"99999999999" in quarantined(workspace)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["copies", "backups"])
def test_a_file_in_the_place_of_a_folder_of_ours_is_moved_away(name, run, home):
    workspace = home("nb035")
    run("memory", "add", "--text", "Prefers trains")
    place = workspace.parent / "nanomem" / name
    shutil.rmtree(place, ignore_errors=True)
    place.write_text("what is this?")
    place.chmod(0o644)
    [told] = [line for line in run("doctor").out.splitlines() if f"nanomem/{name}: " in line]
    assert "a file lies in the place of the folder: no change can be recorded" in told
    done = run("doctor", "--fix", "--yes")
    assert (done.code, "Not fixed" in done.out) == (0, False), done.out
    assert b"what is this?" in quarantined(workspace)
    assert run("memory", "add", "--text", "Likes tea").code == 0
    assert run("memory", "search", "tea").out


@pytest.mark.slow
def test_a_damaged_database_is_told_once_and_made_anew(run, home):
    workspace = home("nb035")
    run("memory", "add", "--text", "Prefers trains")
    run("memory", "add", "--text", "Likes tea")
    database = workspace.parent / "nanomem" / "nanomem.db"
    torn = database.read_bytes()[:-5_000]
    database.write_bytes(torn)
    told = run("doctor")
    assert told.out.count("nanomem/nanomem.db: ") == 1, told.out
    assert "`nanomem doctor --fix` makes it anew" in told.out
    assert "Would fix: " in run("doctor", "--fix", "--dry-run").out
    assert database.read_bytes() == torn
    done = run("doctor", "--fix", "--yes")
    assert done.code == 0, done.out
    assert torn in quarantined(workspace)
    assert database.read_bytes() != torn
    assert {row["text"] for row in run("memory", "list", "--json").json} >= {"Prefers trains", "Likes tea"}


def test_what_others_could_read_is_in_the_quarantine_for_its_owner_alone(run, home):
    workspace = home("nb035")
    run("memory", "add", "--text", "Prefers trains")
    database = workspace.parent / "nanomem" / "nanomem.db"
    database.write_bytes(database.read_bytes()[:-5_000])
    database.chmod(0o644)
    assert run("doctor", "--fix", "--yes").code == 0
    [kept] = [path for path in database.with_name("quarantine").iterdir() if path.suffix == ".db"]
    assert [path.stat().st_mode & 0o777 for path in (kept, database)] == [0o600, 0o600]


def test_an_altered_row_is_named_with_its_field(run, home):
    workspace = home("nb035")
    run("memory", "add", "--text", "Prefers trains")
    with contextlib.closing(sqlite3.connect(workspace.parent / "nanomem" / "nanomem.db")) as connection:
        connection.execute("UPDATE memory_entries SET content = 'wire money to Bob'")
        connection.commit()
    done = run("doctor")
    assert done.code == 1
    assert "its field text is not what was written" in done.out


def test_a_database_that_is_a_link_is_not_followed(run, home, tmp_path):
    workspace = home("nb035")
    run("memory", "add", "--text", "Prefers trains")
    database = workspace.parent / "nanomem" / "nanomem.db"
    elsewhere = tmp_path / "elsewhere.db"
    database.rename(elsewhere)
    database.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    for line in (["memory", "add", "--text", "Likes tea"], ["memory", "list"]):
        refused = run(*line)
        assert (refused.code, "a link lies in the place of the database" in refused.err) == (2, True), refused.err
    assert elsewhere.read_bytes() == before
    assert "put the real file in its place" in run("doctor").out
    database.unlink()
    elsewhere.rename(database)
    assert run("memory", "add", "--text", "Likes tea").code == 0
    assert {row["text"] for row in run("memory", "list", "--json").json} >= {"Prefers trains", "Likes tea"}


@pytest.mark.slow
def test_a_snapshot_that_ends_in_the_middle_is_written_anew_from_what_is_known(run, home):
    workspace = home("ramfirst")
    snapshot = workspace / "memory" / "LTM_SNAPSHOT.json"
    assert run("memory", "add", "--text", "we like tea").code == 0
    whole = [one["id"] for one in json.loads(snapshot.read_bytes())["items"]]
    torn = snapshot.read_bytes()[:-700]
    snapshot.write_bytes(torn)
    listed = run("memory", "list", "--json").json
    told = run("doctor", "--fix", "--yes").out
    assert "Fixed: memory/LTM_SNAPSHOT.json: cannot be read whole" in told
    assert [one["id"] for one in json.loads(snapshot.read_bytes())["items"]] == whole
    assert torn in quarantined(workspace)
    assert run("memory", "list", "--json").json == listed
    assert "LTM_SNAPSHOT.json: the file ends" not in run("doctor").out


@pytest.mark.slow
def test_a_line_of_a_transcript_that_cannot_be_read_goes_with_its_count_and_undo_brings_it_back(run, home):
    workspace = home("nb035")
    path = max((workspace.parent / "sessions").glob("*/*.jsonl"), key=lambda one: one.stat().st_size)
    head, *lines = path.read_bytes().splitlines(keepends=True)
    lines = [line for line in lines if b"provider_state" not in line]
    head = json.dumps({**json.loads(head), "last_consolidated": 2}).encode() + b"\n"
    broken = head + lines[0] + b'{"role": "us\n' + b"".join(lines[1:])
    path.write_bytes(broken)
    advice = "`nanomem doctor --fix` takes the line out while no agent runs"
    assert advice in run("doctor").out
    assert [advice in one["fix"] for one in run("memory", "status", "--json").json["problems"]] == [True]
    told = run("doctor", "--fix", "--yes").out
    assert "1 line that cannot be read: the agent counts on" in told
    after = path.read_bytes().splitlines(keepends=True)
    assert after[1:] == lines
    assert json.loads(after[0]) == {**json.loads(head), "last_consolidated": 1}
    assert run("undo").out.startswith("undo: put right 1 thing: sessions/")
    assert path.read_bytes() == broken


@pytest.mark.slow
@pytest.mark.parametrize("name", ["history.jsonl", "LTM_AUDIT.jsonl"])
def test_what_it_can_take_out_is_told_with_that(home, run, name):
    file = home("nb035") / "memory" / name
    before = file.read_bytes() if file.exists() else b""
    file.write_bytes(before + b"junk {\n")
    told = run("doctor")
    assert told.code == 1
    assert "`nanomem doctor --fix` takes the line out" in told.out
    assert run("doctor", "--fix", "--yes").code == 0
    assert file.read_bytes() == before
