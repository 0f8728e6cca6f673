"""`nanomem session rescue`: what is told before, what is done, and how it is refused."""

import shutil

import pytest


@pytest.fixture
def upgraded(home, samples):
    """The sessions folder of an agent that took over those of an old release under their old names."""
    workspace = home("nb035")
    [folder] = [path.parent for path in (workspace.parent / "sessions").glob("*/.workspace")]
    for path in (samples / "v0_1_5" / "home" / ".nanobot" / "workspace" / "sessions").iterdir():
        shutil.copy2(path, folder)
    return folder


def test_what_would_be_done_is_told_and_nothing_is(run, upgraded):
    before = sorted(path.name for path in upgraded.iterdir())
    told = run("session", "rescue", "--dry-run")
    assert told.code == 0
    assert "telegram_4300129.jsonl" in told.out
    assert sorted(path.name for path in upgraded.iterdir()) == before
    assert len(run("session", "rescue", "--dry-run", "--json").json["sessions"]) == 8


@pytest.mark.slow
def test_all_come_back_and_undo_takes_it_back(run, upgraded):
    hidden = "the agent does not find session"
    assert "session rescue" in run("doctor").out
    done = run("session", "rescue", "--yes")
    assert (done.code, done.out.splitlines()[0]) == (0, "rescue 8 sessions (`nanomem undo` takes it back).")
    assert hidden not in run("doctor").out
    assert run("session", "rescue").out == "The agent finds every session.\n"
    assert run("undo").code == 0
    assert hidden in run("doctor").out


def test_one_is_named(run, upgraded):
    assert run("session", "rescue", "discord:4400132", "--yes", "--json").json["sessions"][0]["id"] == "discord:4400132"
    assert len(run("session", "rescue", "--dry-run", "--json").json["sessions"]) == 7
    assert run("session", "rescue", "cli:nobody", "--yes").code == 1


def test_a_turn_in_flight_holds_its_session_back(run, upgraded):
    (upgraded / "discord_4400132.checkpoint.json").write_text("{}")
    done = run("session", "rescue", "--yes")
    assert "rescue 7 sessions" in done.out
    assert "Left as it is: discord:4400132 (a turn in flight" in done.out
    alone = run("session", "rescue", "--yes")
    assert alone.code == 2
    assert "turn in flight" in alone.err
    assert run("session", "rescue", "--dry-run").code == 2


@pytest.mark.slow
def test_one_that_does_not_say_whose_it_is_is_promised_to_nobody_and_a_person_says_it(run, upgraded):
    run("session", "rescue", "--yes")
    lines = b'{"_type": "metadata", "created_at": "2026-01-01"}\n{"role": "user", "content": "where was I?"}\n'
    (upgraded / "old_chat.jsonl").write_bytes(lines)
    [told] = [line for line in run("doctor").out.splitlines() if "old_chat.jsonl" in line]
    assert "it does not say whose it is" in told
    assert "session rescue old_chat.jsonl --key KEY" in told
    assert "session rescue` brings it back" not in told
    assert "old_chat.jsonl --key KEY" in run("session", "rescue", "--yes").err
    assert run("session", "rescue", "--key", "cli:x").code == 2
    assert run("session", "rescue", "nothing.jsonl", "--key", "cli:x", "--yes").code == 2
    done = run("session", "rescue", "old_chat.jsonl", "--key", "cli:found", "--yes")
    assert (done.code, done.err) == (0, "")
    assert "where was I?" in run("session", "show", "cli:found").out
    assert "old_chat" not in run("doctor").out
    assert run("undo").code == 0
    assert (upgraded / "old_chat.jsonl").read_bytes() == lines


def test_a_lost_id_is_said_where_every_name_is_right(run, home):
    workspace = home("nb035")
    (workspace / ".nanobot" / "workspace-id").unlink()
    assert "the id of the workspace is gone" in run("session", "rescue").out
    assert run("memory", "status", "--json").json["sessions"] == 39
