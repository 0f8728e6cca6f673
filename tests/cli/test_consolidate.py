"""`consolidate`, `history migrate` and `history compact` on the command line: previews, answers, exit codes."""

import json

import pytest

from nanomem_tui.cli import output
from tests.dreams.test_consolidator import KEY, Home, session, talk
from tests.store.homes import agent_runs


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """A home with a session over a small budget, which is the default workspace."""
    home = Home(tmp_path)
    home.write(talk(12))
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(home.workspace))
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_BUDGET_TOKENS", "800")
    return home


def test_a_preview_writes_nothing_and_needs_a_yes(agent, run):
    before = agent.files()
    planned = run("consolidate", KEY, "--dry-run", "--json").json
    assert (planned["operation"], planned["dry_run"]) == (None, True)
    (found,) = planned["sessions"]
    assert (found["id"], found["start"], found["budget"], found["dreamer"]) == (KEY, 0, 800, "rules")
    assert found["tokens"] > 800 > found["left"]
    assert found["entries"][0]["text"].startswith("- [durable] I moved to City0 last week.")
    refused = run("consolidate", KEY)
    assert refused.code == 2
    assert "add --yes" in refused.err
    assert "Would archive" in refused.out
    assert agent.files() == before
    assert not (agent.workspace.parent / "nanomem").exists(), "nor a folder of ours"


def test_done_told_and_taken_back(agent, run):
    before = agent.files()
    body = run("consolidate", KEY, "--yes", "--json").json
    assert body["operation"]["kind"] == "session.consolidate"
    assert [entry["cursor"] for entry in body["sessions"][0]["entries"]] == list(range(1, len(agent.entries()) + 1))
    assert session(agent).last_archived == body["sessions"][0]["end"]
    again = run("consolidate", KEY, "--yes")
    assert again.code == 0
    assert "within its budget" in again.out
    assert run("consolidate", "--all", "--yes", "--json").json == {"operation": None, "sessions": []}
    assert run("undo").code == 0
    assert agent.files() == before


def test_all_sessions_over_their_budget(agent, run):
    agent.write(talk(12), key="cli:direct")
    agent.write(talk(1), key="cli:short")
    agent.write(talk(12), key="dream:20260101-000000")
    body = run("consolidate", "--all", "--yes", "--json").json
    assert sorted(one["id"] for one in body["sessions"]) == ["cli:direct", KEY]
    assert len(body["operations"]) == 2
    assert run("consolidate", "--all", "--yes").out == "Every session is within its budget.\n"


def test_a_person_is_asked(agent, run, monkeypatch):
    monkeypatch.setattr(output, "can_ask", lambda: True)
    monkeypatch.setattr(output, "ask", lambda question: "oldest part" not in question)
    assert run("consolidate", KEY).code == 1
    assert agent.entries() == []
    monkeypatch.setattr(output, "ask", lambda _: True)
    assert run("consolidate", KEY).code == 0
    assert agent.entries()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("consolidate",), "name one session"),
        (("consolidate", KEY, "--all"), "name one session"),
        (("consolidate", "nobody:1"), "no such session"),
        (("consolidate", KEY, "--budget", "0"), "--budget"),
        (("consolidate", KEY, "--dreamer", "model"), "no language model is set up"),
        (("history", "compact", "--keep", "-1"), "--keep"),
    ],
)
def test_bad_input_is_one_line(agent, run, line, said):
    before = agent.files()
    found = run(*line)
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert said in found.err
    assert agent.files() == before


def test_beside_an_agent_all_of_it_is_refused(agent, run, monkeypatch):
    row = json.dumps({"cursor": 1, "timestamp": "2026-01-01 00:00", "content": "x"})
    (agent.memory / "history.jsonl").write_text(f"{row}\n{row.replace('1,', '2,')}\n")
    (agent.memory / ".dream_cursor").write_text("2")
    agent_runs(monkeypatch)
    before = agent.files()
    for line in (("consolidate", KEY, "--yes"), ("history", "compact", "--keep", "1", "--yes")):
        found = run(*line)
        assert found.code == 2
        assert "nanobot gateway" in found.err
    assert run("history", "compact", "--keep", "1", "--dry-run", "--json").code == 2
    assert agent.files() == before


def test_hostile_words_do_not_reach_the_terminal(agent, run):
    agent.write([{**row, "content": f"{row['content']} \x1b]52;c;eA==\x07"} for row in talk(12)], key="cli:bad")
    found = run("consolidate", "cli:bad", "--dry-run")
    assert found.code == 0
    assert "\x1b" not in found.out
    assert "\x07" not in found.out


# -- the archive


@pytest.fixture
def old(agent):
    (agent.memory / "HISTORY.md").write_text("[2026-01-02 03:04] One.\n\nStill one.\n\n[2026-01-03 03:04] Two 你.\n")
    return agent


def test_a_migration_says_that_no_dream_reads_it_and_which_dates_are_no_entries(old, run):
    text = "[2026-01-02 03:04] One.\n- 2024-04-01: dash entry\n\n[2026-01-03 03:04] Two.\n"
    (old.memory / "HISTORY.md").write_text(text)
    planned = run("history", "migrate", "--dry-run", "--json").json
    assert (planned["entries"], planned["dated_within"]) == (2, [2])
    looked = " ".join(run("history", "migrate", "--dry-run").out.split())
    assert "line 2: no entry of its own, but text of the one before" in looked
    for told in (looked, run("history", "migrate", "--yes").out):
        assert "No Dream will read these entries" in told


def test_an_old_archive_is_migrated(old, run):
    before = old.files()
    planned = run("history", "migrate", "--dry-run", "--json").json
    assert (planned["entries"], planned["first"], planned["last"]) == (2, "2026-01-02 03:04", "2026-01-03 03:04")
    assert run("history", "migrate").code == 2
    assert old.files() == before
    done = run("history", "migrate", "--yes")
    assert done.code == 0
    assert "HISTORY.md.bak" in done.out
    listed = run("history", "list", "--json").json
    assert [(row["cursor"], row["text"]) for row in listed] == [(2, "Two 你."), (1, "One.\n\nStill one.")]
    again = run("history", "migrate", "--yes")
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith("Nothing to migrate: ")
    undone = run("undo")
    assert (undone.code, undone.out.splitlines()[-1]) == (0, "the cursor goes back from 2 to 0")
    assert old.files() == before


def test_the_archive_is_compacted(agent, run):
    rows = [{"cursor": n, "timestamp": "2026-01-01 00:00", "content": f"entry {n}"} for n in range(1, 10)]
    lines = [json.dumps(row) + "\n" for row in rows]
    (agent.memory / "history.jsonl").write_text("".join([*lines[:3], "broken\n", *lines[3:]]))
    (agent.memory / ".dream_cursor").write_text("6")
    before = agent.files()
    planned = run("history", "compact", "--keep", "2", "--dry-run", "--json").json
    assert (planned["removed"], planned["kept"], planned["waiting"], planned["unreadable"]) == (6, 3, 3, 1)
    assert run("history", "compact", "--keep", "2").code == 2
    looked = " ".join(run("history", "compact", "--keep", "2", "--dry-run").out.split())
    assert "Blame can no longer show these entries as the source of lines; undo brings them back." in looked
    assert agent.files() == before
    done = run("history", "compact", "--keep", "2", "--yes")
    assert done.code == 0
    assert "3 entries that Dream has not read yet stay" in done.out
    assert "could not be read whole" in done.err
    assert [row["cursor"] for row in agent.entries()] == [7, 8, 9]
    nothing = run("history", "compact", "--keep", "2", "--yes")
    assert (nothing.code, nothing.out.split("\n")[0]) == (0, "Nothing to compact.")
    assert run("undo").code == 0
    assert agent.files() == before


def test_help_names_them(run):
    assert "consolidate" in run("--help").out
    for line in (("history", "--help"), ("history", "migrate", "--help"), ("consolidate", "--help")):
        found = run(*line)
        assert (found.code, "Example" in found.out) == (0, True)


def test_a_rehearsed_undo_changes_nothing(agent, run):
    run("consolidate", KEY, "--yes")
    before = agent.files()
    planned = run("undo", "--dry-run")
    assert planned.code == 0
    assert agent.files() == before
