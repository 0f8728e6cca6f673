"""Writing WAL state: the seed's format, one session per file, torn tails, two processes."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from nanomem_tui.agents.turn_log import parse_wal
from nanomem_tui.core.errors import BadInput, Conflict, DiskFull, InvalidConfig, NanomemError
from nanomem_tui.core.paths import Paths
from nanomem_tui.memory.turns.traces import WalWriter, checked_key, state_folder

AT = "2026-02-10T09:32:00+00:00"
LATER = "2026-02-10T09:32:09+00:00"


@pytest.fixture
def writer(tmp_path):
    return WalWriter(tmp_path / "memory" / "session-state")


def parsed(writer, key):
    return parse_wal(writer.file(key).read_bytes(), writer.file(key).name)


def test_a_turn_is_byte_for_byte_what_the_scoped_system_writes(writer):
    fields = {"speaker": "user", "message_id": "m2", "user": "hello", "reply_to_message_id": "m1"}
    writer.pre("cli:direct", "cli", "direct", AT, fields)
    writer.post("cli:direct", LATER, "hi", ["send the file"])
    assert (writer.folder / "cli_direct.md").read_text() == (
        "# Session WAL State\n\n- session_key: cli:direct\n- channel: cli\n- chat_id: direct\n\n## Turns\n\n"
        f"### {AT} PRE\n- speaker: user\n- message_id: m2\n- user: hello\n- reply_to_message_id: m1\n\n"
        f"### {LATER} POST\n- assistant: hi\n- pending_actions:\n  - send the file\n\n"
    )


def test_a_new_turn_is_added_to_what_the_scoped_system_wrote(writer, samples):
    sample = samples / "ftswal" / "home" / ".nanobot" / "workspace" / "memory" / "session-state" / "cli_direct.md"
    before = sample.read_bytes()
    writer.folder.mkdir(parents=True)
    (writer.folder / "cli_direct.md").write_bytes(before)
    writer.pre("cli:direct", "cli", "direct", AT, {"speaker": "user", "user": "again"})
    after = (writer.folder / "cli_direct.md").read_bytes()
    assert after.startswith(before)
    assert parsed(writer, "cli:direct").turns[-1].pre["user"] == "again"
    assert len(parsed(writer, "cli:direct").turns) == len(parse_wal(before, "cli_direct.md").turns) + 1


def test_two_sessions_of_one_name_never_share_a_file(writer):
    writer.pre("slack:T1_C2", "slack", "T1_C2", AT, {"user": "one"})
    writer.pre("slack_T1:C2", "slack_T1", "C2", AT, {"user": "two"})
    again = WalWriter(writer.folder)
    again.post("slack_T1:C2", LATER, "two done")
    assert [turn.open for turn in parsed(again, "slack:T1_C2").turns] == [True]
    assert [turn.open for turn in parsed(again, "slack_T1:C2").turns] == [False]
    assert len(list(writer.folder.iterdir())) == 2


def test_a_log_that_somebody_gave_to_another_session_is_left_alone(writer):
    writer.pre("slack:T1_C2", "slack", "T1_C2", AT, {"user": "one"})
    writer.pre("slack_T1:C2", "slack_T1", "C2", AT, {"user": "two"})
    theirs = writer.file("slack_T1:C2")
    theirs.write_bytes(theirs.read_bytes().replace(b"slack_T1:C2", b"slack_T1:C3"))
    with pytest.raises(Conflict, match="another session"):
        WalWriter(writer.folder).post("slack_T1:C2", LATER, "two done")
    assert b"POST" not in theirs.read_bytes()


def test_a_torn_tail_costs_the_turn_that_it_is_in_and_nothing_else(writer):
    writer.pre("a:1", "a", "1", AT, {"user": "whole"})
    with writer.file("a:1").open("ab") as file:
        file.write(b"### 2026-02-10T09:33:00+00:00 PRE\n- user: to")
    writer.pre("a:1", "a", "1", LATER, {"user": "next"})
    writer.post("a:1", LATER, "done")
    turns = parsed(writer, "a:1").turns
    assert [(turn.pre["user"], turn.open) for turn in turns] == [("whole", True), ("to", True), ("next", False)]


def test_a_header_that_was_cut_off_is_written_again(writer):
    writer.folder.mkdir(parents=True)
    (writer.folder / "a_1.md").write_bytes(b"# Session WAL State\n\n- session_k")
    writer.pre("a:1", "a", "1", AT, {"user": "first"})
    writer.post("a:1", LATER, "done")
    state = parsed(writer, "a:1")
    assert (state.session_key, state.channel, [turn.open for turn in state.turns]) == ("a:1", "a", [False])
    assert writer.file("a:1").read_bytes().count(b"# Session WAL State") == 2


def test_a_long_key_and_one_of_any_script_find_their_file_again(writer):
    for key in ("telegram:" + "x" * 300, "微信:" + "群" * 100, "wa:4915@g.us"):
        writer.pre(key, "c", "1", AT, {"user": "long"})
        assert len(writer.file(key).name.encode()) <= 255
        assert parsed(WalWriter(writer.folder), key).turns[0].pre["user"] == "long"


@pytest.mark.parametrize("key", ["", "  ", "../../etc", "a:../b", "a\\..\\b", "a\nb", "k" * 600, "x\udc80"])
def test_a_key_that_is_a_path_is_refused_before_anything_is_made(writer, key):
    with pytest.raises(BadInput):
        checked_key(key)
    with pytest.raises(BadInput):
        writer.pre(key, "a", "1", AT, {"user": "x"})
    assert not writer.folder.exists()


def test_a_link_is_not_followed(writer, tmp_path):
    writer.folder.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (writer.folder / "a_1.md").symlink_to(outside)
    with pytest.raises(NanomemError):
        writer.pre("a:1", "a", "1", AT, {"user": "x"})
    assert outside.read_text() == "mine"


def test_many_writers_lose_no_turn(writer):
    def write(number):
        own = WalWriter(writer.folder)
        for turn in range(20):
            own.pre("a:1", "a", "1", AT, {"user": f"{number}-{turn}"})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    said = [turn.pre["user"] for turn in parsed(writer, "a:1").turns]
    assert sorted(said) == sorted(f"{number}-{turn}" for number in range(4) for turn in range(20))
    assert writer.file("a:1").read_bytes().count(b"# Session WAL State") == 1


def test_files_and_folder_are_private(writer):
    writer.pre("a:1", "a", "1", AT, {"user": "x"})
    assert os.stat(writer.file("a:1")).st_mode & 0o777 == 0o600
    assert os.stat(writer.folder).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("setting", ["", "..", "../outside", "/etc", "memory/../.."])
def test_the_state_folder_lies_in_the_workspace(tmp_path, setting):
    paths = Paths(tmp_path / "w", None, tmp_path / "w" / "memory" / "nanomem")
    with pytest.raises(InvalidConfig):
        state_folder(paths, setting)
    assert state_folder(paths, "memory/session-state") == paths.wal_dir


def full(handle, data):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_on_a_full_disk_a_file_that_was_made_goes_again_and_one_that_was_there_stays(writer, monkeypatch):
    writer.pre("cli:there", "cli", "there", AT, {"user": "one"})
    before = writer.file("cli:there").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        for key in ("cli:there", "cli:new"):
            with pytest.raises(DiskFull, match="nothing was changed"):
                writer.pre(key, "cli", key.partition(":")[2], AT, {"user": "two"})
    assert [path.name for path in writer.folder.iterdir()] == ["cli_there.md"]
    assert writer.file("cli:there").read_bytes() == before
    writer.pre("cli:new", "cli", "new", AT, {"user": "three"})
    assert len(parsed(writer, "cli:new").turns) == 1
