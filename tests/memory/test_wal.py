"""WAL state: the logs of turns, and the turns that never ended."""

import os

import pytest

from nanomem_tui.agents.turn_log import dump_header, dump_post, dump_pre
from nanomem_tui.core.errors import NotFound
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.memory.turns.wal_states import WalStates


@pytest.fixture
def sample(samples):
    return WalStates(find_workspace(samples / "ftswal" / "home" / ".nanobot"))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "memory" / "session-state"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def wal(folder):
    return WalStates(find_workspace(folder.parents[1]))


def turn(number, post=True):
    begun = dump_pre(f"2026-03-0{number}T10:00:00+00:00", {"speaker": "user", "user": f"question {number}"})
    return begun + (dump_post(f"2026-03-0{number}T10:00:05+00:00", f"answer {number}") if post else b"")


def test_the_sample_holds_four_hundred_turns_and_names_those_that_never_ended(sample):
    assert sample.counts() == {"files": 5, "turns": 400, "open": 12}
    assert len(sample.list()) == 5
    unfinished = sample.check()
    assert len(unfinished) == 12
    for turn in unfinished:
        state = sample.get(turn.session_key)
        found = state.turns[turn.number - 1]
        assert (found.open, found.at_pre, found.line) == (True, turn.at, turn.line)
        assert turn.user
    assert sample.problems() == []


def test_the_last_written_comes_first(folder, wal):
    (folder / "a.md").write_bytes(dump_header("cli:a", "cli", "a") + turn(1) + turn(2, post=False))
    (folder / "b.md").write_bytes(dump_header("cli:b", "cli", "b") + turn(3))
    assert [(info.session_key, info.turns, info.open_turns) for info in wal.list()] == [
        ("cli:b", 1, 0),
        ("cli:a", 2, 1),
    ]
    assert [info.updated_at for info in wal.list()] == ["2026-03-03T10:00:05+00:00", "2026-03-02T10:00:00+00:00"]
    assert [(turn.session_key, turn.number, turn.user) for turn in wal.check()] == [("cli:a", 2, "question 2")]


def test_several_logs_of_one_session_are_one(folder, wal):
    (folder / "telegram_1.md").write_bytes(dump_header("telegram:1", "telegram", "1") + turn(1) + turn(4, post=False))
    (folder / "zz.md").write_bytes(dump_header("telegram:1", "", "") + turn(2, post=False) + turn(3))
    (info,) = wal.list()
    assert (info.session_key, info.turns, info.open_turns) == ("telegram:1", 4, 2)
    assert [os.path.basename(path) for path in (info.path, *info.others)] == ["telegram_1.md", "zz.md"]
    state = wal.get("telegram:1")
    assert (state.channel, state.chat_id) == ("telegram", "1")
    assert [(turn.number, turn.pre["user"]) for turn in state.turns] == [(n, f"question {n}") for n in (1, 2, 3, 4)]
    assert [(turn.number, turn.user, os.path.basename(turn.path)) for turn in wal.check()] == [
        (4, "question 4", "telegram_1.md"),
        (2, "question 2", "zz.md"),
    ]
    assert wal.counts() == {"files": 2, "turns": 4, "open": 2}


def test_a_turn_that_stands_in_a_copy_too_is_told_once(folder, wal):
    begun = dump_header("telegram:1", "telegram", "1") + dump_pre(
        "2026-03-01T10:00:00+00:00", {"user": "one"}, "turn_1"
    )
    (folder / "copy.md").write_bytes(begun)
    (folder / "telegram_1.md").write_bytes(begun + dump_post("2026-03-01T10:00:05+00:00", "done", turn="turn_1"))
    assert [(turn.assistant, turn.open) for turn in wal.get("telegram:1").turns] == [("done", False)]
    assert wal.check() == []


def test_what_the_agent_appends_appears(folder, wal):
    path = folder / "a.md"
    path.write_bytes(dump_header("cli:a", "cli", "a") + turn(1, post=False))
    assert wal.counts()["open"] == 1
    with path.open("ab") as file:
        file.write(dump_post("2026-03-01T10:00:09+00:00", "done"))
    assert wal.counts() == {"files": 1, "turns": 1, "open": 0}


def test_an_unknown_session_is_not_found(sample):
    with pytest.raises(NotFound):
        sample.get("../../etc/passwd")


def test_damage_is_reported_and_the_rest_is_shown(folder, wal, tmp_path):
    (folder / "a.md").write_bytes(dump_header("cli:a", "cli", "a") + turn(1) + b"- user: \xff\n")
    (folder / "empty.md").write_bytes(b"")
    (folder / "noise.md").write_bytes(os.urandom(4000))
    (folder / "link.md").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe.md")
    infos = {os.path.basename(info.path): info for info in wal.list()}
    assert set(infos) == {"a.md", "empty.md", "noise.md"}
    assert infos["a.md"].turns == 1
    assert infos["a.md"].problems == 1
    assert {problem.where for problem in wal.problems()} >= {"memory/session-state/a.md"}


def test_a_workspace_without_logs(tmp_path):
    (tmp_path / "SOUL.md").write_text("x")
    wal = WalStates(find_workspace(tmp_path))
    assert (wal.list(), wal.check(), wal.counts()) == ([], [], {"files": 0, "turns": 0, "open": 0})
