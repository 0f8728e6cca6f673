"""The doctor: every kind of damage is named with its place, a healthy home has no finding, nothing is changed."""

import os
import shutil
import sqlite3
import subprocess
import time
from datetime import timedelta
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.releases import detect
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.agents.turn_log import dump_header, dump_pre
from nanomem_tui.core import clock
from nanomem_tui.core.errors import Problem
from nanomem_tui.core.operations import new_key
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.memory import repairs
from nanomem_tui.memory.doctor import examine, has_wal_reset_fix
from nanomem_tui.memory.turns import turn_operation
from nanomem_tui.memory.turns.traces import OpenTurn
from nanomem_tui.memory.turns.wal_states import may_go_on
from nanomem_tui.store.files.presence import Presence
from nanomem_tui.store.moving import backup
from tests.store.homes import make_home

OLD = time.time() - 7200


def report(home, agent=None, known=()):
    paths = find_workspace(home)
    return examine(paths, detect(paths), known, agent or Presence())


def one(found, where):
    """The one finding about that place."""
    (problem,) = [problem for problem in found if problem.where == where]
    assert problem.what
    return problem


@pytest.fixture
def home(sample_copy):
    return sample_copy("nb035") / "home" / ".nanobot"


@pytest.fixture
def memory(home):
    return home / "workspace" / "memory"


def put(home, name, data, *, age=0, ours=False):
    """Write a file below a home; `ours`: in a folder of ours, private; `age`: seconds ago."""
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(data)
    if ours:
        path.chmod(0o600)
        for folder in (path.parent, home / "nanomem"):
            folder.chmod(0o700)
    if age:
        os.utime(path, (time.time() - age, time.time() - age))
    return path


def transcripts(home):
    return next(path for path in (home / "sessions").iterdir() if path.is_dir()).relative_to(home).as_posix()


META, SAID = b'{"_type": "metadata", "key": "cli:x"', b'{"role": "user", "content": "a"}\n'
KEPT = "nanomem/quarantine/0123456789abcdef-"
ENTRY = b'{"cursor": 283, "timestamp": "2026-01-01 00:00", "content": "\xff"}\n'
DAMAGE = [  # the file below the home ("+": at its end), what it holds, where it is told, and two things that are said
    *((f"workspace/{name}", b"# fine\nnot \xff fine\n", name, "0xFF", "error")
      for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")),
    ("workspace/memory/MEMORY.md", b"- fact\n" * 21_000, "memory/MEMORY.md", "large", "warning"),
    ("workspace/memory/MEMORY.md", b"- fact\n" * 65_000, "memory/MEMORY.md", "every turn fails", "error"),
    ("+workspace/memory/history.jsonl", b'{"cursor": 283, "timest', "memory/history.jsonl", "torn tail", "error"),
    ("+workspace/memory/history.jsonl", ENTRY, "memory/history.jsonl", "neither append nor dream", "error"),
    *(("workspace/memory/.cursor", text, "memory/.cursor", words, "")
      for text, words in ((b"7", "behind"), (b"500", "ahead"), (b"x1", "not a number"), (b"", "not a number"),
                          (b"9" * 30, "99 is beyond the last entry (282)"))),
    *(("workspace/memory/.dream_cursor", text, "memory/.dream_cursor", words, severity)
      for text, words, severity in ((b"", "reads 282 entries again", "error"), (b"99999", "ahead", "error"),
                                    (b"\xef\xbb\xbf", "reads 282 entries again", "error"),
                                    (b"-5", "below 0", "warning"))),
    ("{sessions}/" + key_to_name("cli:x"), META + b', "last_archived": 9}\n' + SAID, "", "last_archived", ""),
    ("{sessions}/" + key_to_name("cli:x"), SAID, "", "no metadata line", ""),
    ("{sessions}/cli_x.jsonl", META + b"}\n" + SAID, "", "does not find session cli:x", ""),
    (f"{KEPT}LTM_SNAPSHOT.json", b"{", "", "LTM_SNAPSHOT.json could not be read whole", "then remove it"),
    (f"{KEPT}index.lock", b"", "", "index.lock was held by nobody; it is kept here as it was", "nothing in it"),
    (f"{KEPT}HEAD.lock", b"abc", "", "HEAD.lock was held by nobody; it is kept here as it was", "nothing in it"),
    (f"{KEPT}LESSONS.jsonl", b"", "", "LESSONS.jsonl was empty; it is kept here as it was", "nothing in it"),
    ("config.json", b'{"agents": ', "config.json", "not JSON", ""),
    (f"workspace/.git/objects/ab/{'c' * 38}", b"", f".git/objects/ab/{'c' * 38}", "empty git object", ""),
    ("nanomem-backups/.20261124-000000-000.nanomem-backup.01234567.nanomem-tmp", b"half", "", "interrupted", ""),
    ("llm_usage.sqlite3", b"no database" * 500, "llm_usage.sqlite3", "cannot read", ""),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "data", "where", "words", "more"), DAMAGE)
def test_damage_is_told_at_its_place_with_what_it_means(home, name, data, where, words, more):
    name = name.replace("{sessions}", transcripts(home))
    before = (home / name[1:]).read_bytes() if name.startswith("+") else b""
    name = name.removeprefix("+")
    put(home, name, before + data, age=7200, ours=name.startswith("nanomem/"))
    told = [problem for problem in report(home) if problem.where == (where or name)]
    assert any(words in one.what for one in told), told
    assert more in {one.severity for one in told} or any(more in one.fix for one in told), told


def test_a_git_lock_that_a_killed_process_of_ours_left_is_told_as_ours(home):
    put(home, "workspace/.git/nanomem-locks", b"index", age=7200)
    put(home, "workspace/.git/index.lock", b"", age=7200)
    found = one(report(home), ".git/index.lock")
    assert ("killed process of nanomem" in found.what, found.fix) == (True, "the next commit of nanomem removes it")


@pytest.mark.parametrize("name", ["nb035", "ramfirst"])
def test_a_healthy_home_has_no_finding(samples, name):
    assert report(samples / name / "home" / ".nanobot") == []


def test_a_home_after_a_crash(samples):
    found = report(samples / "torn" / "home" / ".nanobot")
    places = [(problem.where, problem.line) for problem in found]
    assert places == [
        ("memory/LTM_SNAPSHOT.json", 1166),
        ("memory/LESSONS.jsonl", 61),
        ("memory/LTM_AUDIT.jsonl", 11),
        ("memory/LTM_AUDIT.jsonl", 31),
        ("sessions/cli_direct.jsonl", 4),
    ]
    assert all(problem.fix for problem in found)


def test_the_doctor_changes_nothing(sample_copy):
    for name in ("nb035", "torn", "ftswal", "v0_1_5"):
        home = sample_copy(name) / "home"
        before = {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in home.rglob("*")}
        report(home / ".nanobot")
        assert {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in home.rglob("*")} == before


def test_what_is_known_already_is_told_once_and_errors_come_first(samples):
    home = samples / "torn" / "home" / ".nanobot"
    found = report(home)
    remark = Problem("a remark", "somewhere", fix="something to do", severity="warning")
    again = report(home, known=[remark, found[2]])
    assert sorted(problem.text() for problem in again) == sorted(problem.text() for problem in [remark, *found])
    assert again[-1] == remark


def test_an_id_of_the_workspace_that_leads_to_no_sessions(home):
    """A flipped bit, a torn file, none at all: the sessions are shown all the same, what the agent will do is told."""
    ours = home / "workspace" / ".nanobot" / "workspace-id"
    known = ours.read_text().strip()
    record = home / "sessions" / known / ".workspace"
    record.write_text(f"{home / 'workspace'}\n")
    assert report(home) == []
    for spoiled, words in ((f"{known[:-1]}{'0' if known[-1] != '0' else '1'}\n", "no sessions lie under this id"),
                           (known[:7], "is gone"), (None, "is gone")):  # fmt: skip
        ours.unlink() if spoiled is None else ours.write_text(spoiled)
        problem = one([found for found in report(home) if known in found.fix], ".nanobot/workspace-id")
        assert words in problem.what
        with open_workspace(home / "workspace") as ws:
            assert ws.sessions.list()


def test_a_lost_id_of_a_home_that_was_moved(home):
    """The sessions record another path: the one folder that no other workspace claims is theirs."""
    ours = home / "workspace" / ".nanobot" / "workspace-id"
    known = ours.read_text().strip()
    ours.unlink()
    assert "is gone" in one([found for found in report(home) if known in found.fix], ".nanobot/workspace-id").what
    with open_workspace(home / "workspace") as ws:
        assert len(ws.sessions.list()) == 39
        [repair] = [found for found in repairs.find_repairs(ws) if found.where == ".nanobot/workspace-id"]
        assert repairs.apply_repairs(ws, [repair]) == [(repair, "")]
    assert ours.read_text() == f"{known}\n"
    assert [one for one in report(home) if one.severity != "note"] == []


def test_a_lost_id_where_several_folders_may_be_it(home):
    ours = home / "workspace" / ".nanobot" / "workspace-id"
    known, other = ours.read_text().strip(), "f" * 32
    shutil.copytree(home / "sessions" / known, home / "sessions" / other)
    assert report(home) == []
    ours.unlink()
    problem = one(report(home), ".nanobot/workspace-id")
    assert problem.severity == "error"
    assert known in problem.what
    assert other in problem.what
    left = []
    backup.all_files(find_workspace(home), detect(find_workspace(home)), lambda *told: left.append(told))
    [(_, why)] = [told for told in left if told[0] == "sessions"]
    assert known in why
    second = home / "second" / ".nanobot" / "workspace-id"  # another workspace of this home has that id
    second.parent.mkdir(parents=True)
    second.write_text(other)
    assert detect(find_workspace(home / "workspace")).workspace_id == known


def test_sessions_of_a_workspace_that_was_removed_are_not_taken_for_ours(home):
    ours = home / "workspace" / ".nanobot" / "workspace-id"
    (home / "sessions" / ours.read_text().strip() / ".workspace").write_text(f"{home / 'removed'}\n")
    ours.unlink()
    assert detect(find_workspace(home)).sessions_dir is None


def test_an_empty_dream_cursor_before_the_first_dream_is_no_error(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / ".dream_cursor").write_bytes(b"")
    line = '{"cursor": 1, "timestamp": "2026-01-01 00:00", "content": "said"}\n'
    (tmp_path / "memory" / "history.jsonl").write_text(line)
    found = [problem for problem in report(tmp_path) if problem.where == "memory/.dream_cursor"]
    assert [(problem.severity, problem.what) for problem in found] == [
        ("note", "empty: no Dream has read what is there yet (1 entry)")
    ]


def session(home, name, *lines):
    folder = next(path for path in (home / "sessions").iterdir() if path.is_dir())
    path = folder / name
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def place(path, home):
    return path.relative_to(home).as_posix()


@pytest.mark.parametrize(("make", "kind"), [(Path.mkdir, "folder"), (os.mkfifo, "pipe")])
def test_what_lies_in_the_place_of_a_session_file_is_named_and_listed(home, make, kind):
    path = session(home, key_to_name("cli:x"), b"{}")
    path.unlink()
    make(path)
    problem = one(report(home), place(path, home))
    assert (problem.what, problem.fix) == (f"a {kind} lies in the place of the file", "move it away")
    with open_workspace(home / "workspace") as ws:
        [listed] = [info for info in ws.sessions.list() if info.path == str(path)]
    assert listed.hidden_reason == problem.what


def test_a_key_collision_of_an_old_release(samples):
    problem = one(report(samples / "v0_1_5" / "home" / ".nanobot"), "sessions/slack_T1_C2.jsonl")
    assert "slack:T1_C2" in problem.what


def test_turns_that_were_in_flight(home):
    folder = next(path for path in (home / "sessions").iterdir() if path.is_dir())
    live = folder / key_to_name("cli:direct").replace(".jsonl", ".checkpoint.json")
    live.write_text("{}")
    assert "when the agent stopped" in one(report(home), place(live, home)).what
    assert report(home, agent=Presence(True, 1, "nanobot agent")) == []
    os.utime(live, (0, 0))
    assert "throws it away" in one(report(home), place(live, home)).what
    live.unlink()
    orphan = folder / "bm9uZQ.checkpoint.json"
    orphan.write_text("{}")
    assert "without its session" in one(report(home), place(orphan, home)).what


def test_damage_in_a_turn_log(sample_copy):
    home = sample_copy("ftswal") / "home" / ".nanobot"
    log = home / "workspace" / "memory" / "session-state" / "cli_direct.md"
    log.write_bytes(log.read_bytes() + b"- user: \xff")
    damage = [problem for problem in report(home) if "began and never ended" not in problem.what]
    assert {problem.where for problem in damage} == {"memory/session-state/cli_direct.md"}


def test_turns_that_never_ended_are_a_warning_with_the_command_that_shows_them(sample_copy):
    home = sample_copy("ftswal") / "home" / ".nanobot"
    found = report(home)
    assert len(found) == 5
    assert {problem.severity for problem in found} == {"warning"}
    problem = one(found, "memory/session-state/feishu_oc_a.md")
    assert problem.what.startswith("3 turns of feishu:oc_a began and never ended")
    assert "`nanomem wal recover feishu:oc_a`" in problem.fix


def test_turns_of_one_session_in_several_logs_are_told_once_each_in_its_place(tmp_path):
    folder = make_home(tmp_path) / "memory" / "session-state"
    folder.mkdir()
    for name, number in (("telegram_1.md", 1), ("zz.md", 2)):
        begun = dump_pre(f"2026-03-0{number}T10:00:00+00:00", {"user": f"question {number}"})
        (folder / name).write_bytes(dump_header("telegram:1", "telegram", "1") + begun)
    with open_workspace(folder.parents[1]) as ws:
        (told,) = [problem for problem in ws.doctor() if "never ended" in problem.what]
        assert (told.what.partition(" began")[0], told.where) == ("2 turns of telegram:1", "memory/session-state/zz.md")
        turn_operation.recover(ws.wal.check(), ws.wal.get, ws.traces.pending, ws.store, ws.settings, ws.perform)
        (told,) = [problem for problem in ws.doctor() if "never ended" in problem.what]
        assert told.what == "2 turns of telegram:1 began and never ended, and were recovered into pending items"
        assert [item.text for item in ws.traces.pending.waiting_in("telegram:1")] == ["question 1", "question 2"]


def test_all_turns_of_an_agent_that_runs_may_go_on_and_none_of_one_that_ended(sample_copy):
    home = sample_copy("ftswal") / "home" / ".nanobot"
    where = "memory/session-state/feishu_oc_a.md"
    log, agent = home / "workspace" / where, Presence(True, os.getpid(), "nanobot agent")
    with log.open("ab") as file:
        for number in range(3):  # a message arrives while the agent works on the one before
            waited = clock.iso(clock.now() - timedelta(days=2 * (number == 2)))
            file.write(dump_pre(waited, {"user": f"in flight {number}"}, new_key("turn")))
        file.write(dump_pre(clock.iso(clock.now()), {"user": "of the scoped system"}))
    assert one(report(home), where).what.startswith("7 turns")
    assert one(report(home, agent=agent), where).what.startswith("3 turns"), "those before this process began"
    gone = {problem.where for problem in report(home, agent=Presence(True, 2**22 + 1, "nanobot agent"))}
    assert where not in gone, "nobody knows since when it runs"


def test_a_turn_that_began_before_the_oldest_agent_was_begun_by_one_that_ended():
    began = clock.parse("2026-03-01T10:00:00+00:00")
    ms = int(began.timestamp() * 1000)
    for key, at, goes_on in (
        (f"turn_{ms - 3_000}_7", "2026-03-01T11:00:00+00:00", False),
        (f"turn_{ms + 1}_7", "2026-02-01T10:00:00+00:00", True),
        ("", "2026-03-01T10:00:01+00:00", True),
        ("turn_of_another_kind", "2026-03-01T09:00:00+00:00", False),
        ("", "yesterday", False),
    ):
        assert may_go_on(OpenTurn("a:1", 1, at, "x", 1, key), began) is goes_on
        assert may_go_on(OpenTurn("a:1", 1, at, "x", 1, key), None)


def test_folders_that_cannot_be_written_are_named(home, monkeypatch):
    refused = {str(home), str(home / "workspace"), str(home / "workspace" / "memory")}
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) not in refused)
    found = report(home)
    assert {problem.where for problem in found} == {".", "memory"} | {problem.where for problem in found[:1]}
    assert "no change can be recorded" in found[0].what
    assert all(problem.severity == "error" and "chmod" in problem.fix for problem in found)


def test_a_full_disk_is_named(home, monkeypatch):
    class Full:
        f_bavail, f_frsize, f_flag = 3, 4096, 0

    monkeypatch.setattr(os, "statvfs", lambda path: Full)
    (problem,) = report(home)
    assert "disk is full" in problem.what


@pytest.mark.parametrize("name", ["torn", "v0_1_5", "ftswal"])
def test_every_problem_says_what_a_person_can_do(sample_copy, name):
    home = sample_copy(name) / "home" / ".nanobot"
    damage = b'\xef\xbb\xbf{"cursor": 1}\r\n[]\n\xff\n\0\0\n{"torn'
    (home / "workspace" / "memory" / "history.jsonl").write_bytes(damage)
    (home / "workspace" / "memory" / ".cursor").write_text("x")
    (home / "workspace" / "USER.md").write_bytes(b"\xff")
    found = report(home)
    assert len(found) > 5
    for problem in found:
        assert problem.fix, problem
        assert "nanomem doctor" not in problem.fix.replace("nanomem doctor --fix", "")  # which would go in a circle


def test_a_problem_that_two_parts_tell_is_told_once(home):
    twice = [Problem("the database cannot be read", str(home / "nanomem" / "nanomem.db"), fix="x")]
    twice.append(Problem("the database cannot be read", "nanomem/nanomem.db", fix="x"))
    assert one(report(home, known=twice), "nanomem/nanomem.db").fix == "x"


def test_a_git_repository_that_lost_its_head(home):
    (home / "workspace" / ".git" / "HEAD").write_text("ref: refs/heads/gone\0\n")
    assert ".git" in {problem.where for problem in report(home)}


def test_a_git_lock_left_behind(home):
    lock = home / "workspace" / ".git" / "index.lock"
    lock.write_bytes(b"")
    assert report(home) == []
    os.utime(lock, (OLD, OLD))
    assert "lock" in one(report(home), ".git/index.lock").what
    assert report(home, agent=Presence(True, 1, "nanobot gateway", dreaming=True)) == []


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/master"])
def test_a_lock_of_the_branch_is_told_at_once_and_is_an_error_once_it_is_old(home, name):
    lock = home / "workspace" / ".git" / f"{name}.lock"
    lock.write_bytes(b"")
    os.utime(lock)
    found = one(report(home), f".git/{name}.lock")
    assert (found.severity, "no Dream can commit" in found.what) == ("warning", True)
    os.utime(lock, (OLD, OLD))
    found = one(report(home), f".git/{name}.lock")
    assert (found.severity, "a lock that nobody holds" in found.what) == ("error", True)
    assert report(home, agent=Presence(True, 1, "nanobot gateway", dreaming=True)) == []


def test_what_others_on_the_machine_can_write_is_named_with_what_ends_that(home, memory):
    [session, *_] = (home / "sessions").glob("*/*.jsonl")
    workspace = home / "workspace"
    named = (workspace, memory / "MEMORY.md", memory / "history.jsonl", workspace / "SOUL.md", session)
    for path in named:
        path.chmod(path.stat().st_mode | 0o022)
    found = report(home)
    assert {problem.severity for problem in found} == {"warning"}
    assert sorted(problem.fix for problem in found) == sorted(f"`chmod o-w {path}`" for path in named)
    assert "mode 0666: other users can write" in one(found, "memory/MEMORY.md").what
    for problem in found:
        subprocess.run(problem.fix.strip("`"), shell=True, check=True)  # the line as it is told
    assert report(home) == [], "what a group may write is left to its owner"


def test_of_many_that_others_can_write_the_first_are_named(home, memory):
    [session, *_] = (home / "sessions").glob("*/*.jsonl")
    for number in range(40):
        path = session.with_name(f"telegram_{number}.jsonl")
        path.write_bytes(session.read_bytes())
        path.chmod(0o666)
    found = [problem for problem in report(home) if "o-w" in problem.fix]
    assert len(found) == 21
    assert found[-1].what == "20 more files like these"


def test_what_an_interrupted_write_left_behind(home, memory):
    left = memory / ".MEMORY.md.0123456789ab.nanomem-tmp"
    left.write_bytes(b"half")
    (memory / "history.jsonl.tmp").write_bytes(b"now")
    assert report(home) == []
    os.utime(left, (OLD, OLD))
    assert "interrupted" in one(report(home), f"memory/{left.name}").what


@pytest.fixture
def database(home):
    with open_workspace(home / "workspace") as ws:
        ws.items.add("x" * 200_000)
        path = ws.paths.database
    shutil.rmtree(path.parent / "ledger", ignore_errors=True)
    return path


def findings(home):
    with open_workspace(home / "workspace") as ws:
        return [problem for problem in ws.doctor() if "SQLite" not in problem.what]


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
def test_a_sound_database_has_no_finding(home, database):
    assert findings(home) == []


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
def test_a_database_from_a_newer_version(home, database):
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0099'")
        connection.commit()
    connection.close()
    (problem,) = findings(home)
    assert "99" in problem.what


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize("damage", [b"\0" * 4096, b"not a database at all, but long enough to look like one" * 90])
@pytest.mark.parametrize("offset", [0, 8192])
def test_a_damaged_database(home, database, damage, offset):
    data = bytearray(database.read_bytes())
    data[offset : offset + len(damage)] = damage
    database.write_bytes(data)
    assert [problem.severity for problem in findings(home)][:1] == ["error"]


def test_a_damaged_foreign_database(sample_copy):
    home = sample_copy("ftswal") / "home" / ".nanobot"
    (home / "memory" / "longterm.db").write_bytes(b"garbage" * 1000)
    assert "cannot read" in one(report(home), "memory/longterm.db").what


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
def test_files_of_ours_that_others_can_read(home, database):
    database.chmod(0o644)
    database.parent.chmod(0o755)
    assert {(p.where, p.severity) for p in findings(home)} == {
        ("nanomem", "warning"), ("nanomem/nanomem.db", "warning"),
    }  # fmt: skip
    assert all("chmod" in problem.fix for problem in findings(home))


@pytest.mark.slow
@pytest.mark.sqlite("what lies beside the file")
def test_links_in_our_own_folder(home, database, tmp_path):
    (database.parent / "ledger").symlink_to(tmp_path)
    (database.parent / "x.log").symlink_to(tmp_path / "y")
    assert [problem.what for problem in findings(home)] == ["a link in nanomem's own folder"] * 2


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False), ((3, 44, 5), False), ((3, 44, 6), True), ((3, 45, 0), False), ((3, 50, 6), False),
        ((3, 50, 7), True), ((3, 51, 2), False), ((3, 51, 3), True), ((3, 53, 0), True), ((4, 0, 0), True),
    ],
)  # fmt: skip
def test_the_releases_of_sqlite_that_lose_a_commit(version, safe):
    assert has_wal_reset_fix(version) is safe


def test_a_file_that_may_not_be_read_does_not_end_the_report(home, memory):
    (memory / "history.jsonl").unlink()
    (memory / "history.jsonl").mkdir()
    (home / "workspace" / "SOUL.md").write_bytes(b"\xff")
    assert {"SOUL.md", "memory/history.jsonl"} <= {problem.where for problem in report(home)}


def test_a_bare_workspace_can_be_examined(tmp_path):
    (tmp_path / "SOUL.md").write_text("I am.\n")
    assert report(tmp_path) == []


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DROP INDEX idx_memory_updated", "lacks index idx_memory_updated"),
        ("ALTER TABLE lessons DROP COLUMN promoted_global_key", "damaged: its table lessons is not as it was made"),
    ],
)
def test_a_database_that_lacks_an_index_or_a_column(home, database, statement, told):
    connection = sqlite3.connect(database)
    connection.execute(statement)
    connection.commit()
    connection.close()
    assert told in [problem.what for problem in findings(home)]
