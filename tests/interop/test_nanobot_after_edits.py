"""The real agent on a workspace that nanomem changed: it sees the change on its next turn, its own commands work."""

import base64
import json

import pytest

pytestmark = pytest.mark.interop

LONG = "matrix:!5000151:example.org"
ADDED = "- Plays the cello on Sundays"


def add_line(agent, ws, name="USER.md", line=ADDED):
    text = (agent.workspace / name).read_text(encoding="utf-8")
    ws.documents.edit(name, text + line + "\n")


def agent_files(agent):
    """Every file that is the agent's: all of its home but the repository's inside and our own folder."""
    home = agent.home / ".nanobot"
    skipped = {".git", "nanomem"}
    found = (path for path in sorted(home.rglob("*")) if not skipped & set(path.relative_to(home).parts))
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in found if path.is_file()}


def pairs_hold(messages):
    """Whether every tool call has its result after it, and no result stands without its call."""
    asked = [call["id"] for message in messages for call in message.get("tool_calls") or []]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    return sorted(asked) == sorted(answered)


@pytest.mark.parametrize("name", ["USER.md", "SOUL.md", "memory/MEMORY.md"])
def test_an_edit_is_seen_on_the_next_turn_and_its_undo_too(agent, ws, name):
    before = (agent.workspace / name).read_bytes()
    add_line(agent, ws, name)
    assert ADDED in agent.sees()
    ws.undo()
    assert ADDED not in agent.sees()
    assert (agent.workspace / name).read_bytes() == before


def test_our_commits_do_not_disturb_its_dream_commands(agent, ws):
    add_line(agent, ws)
    assert agent.git("log", "-1", "--format=%an %s").startswith("nanomem nanomem: ")
    assert agent.reply("dream-log") == agent.expected("dream_log_output.txt").rstrip("\n")
    assert agent.reply("dream-restore") == agent.expected("dream_restore_list_output.txt").rstrip("\n")
    assert agent.reply("dream-restore", "51617caa").startswith("Restored Dream memory to the state before `51617caa`.")
    assert agent.git("log", "-1", "--format=%an %s").strip() == "nanobot revert: undo 51617caa"


def test_our_edit_is_not_taken_for_its_own(agent, ws):
    """A line that a person wrote stays out of the next Dream's commit, and in the file."""
    add_line(agent, ws)
    edit = {"path": "USER.md", "old_text": "- 不喜欢客套话", "new_text": "- 不喜欢客套话\n- Collects maps"}
    agent.run("dream", script=[{"tool": "edit_file", "arguments": edit}, {"text": "done"}])
    diff = agent.git("show", "--format=%s", "HEAD")
    assert diff.startswith("dream: manual run")
    assert "+- Collects maps" in diff
    assert f"+{ADDED}" not in diff
    assert ADDED in (agent.workspace / "USER.md").read_text(encoding="utf-8")


def test_our_dream_is_one_of_its_dreams(agent, ws):
    before = agent.git("rev-parse", "HEAD").strip()
    entry = {"cursor": 283, "timestamp": "2025-09-13 09:00", "content": "- [permanent] User keeps two cats"}
    with (agent.workspace / "memory" / "history.jsonl").open("a", encoding="utf-8") as history:
        history.write(json.dumps(entry) + "\n")
    (agent.workspace / "memory" / ".cursor").write_text("283", encoding="utf-8")
    (agent.workspace / "memory" / ".dream_cursor").write_text("282", encoding="utf-8")
    ws.dream.run()
    sha = agent.git("rev-parse", "HEAD").strip()
    assert sha != before
    log = agent.reply("dream-log")
    assert f"- Commit: `{sha[:8]}`" in log
    assert "+- " in log
    assert "Dream memory change" in log
    assert agent.reply("dream-restore").splitlines()[4].startswith(f"- `{sha[:8]}`")
    assert "Dream completed" not in agent.reply("dream"), "nothing is left for its own"
    assert agent.git("rev-parse", "HEAD").strip() == sha
    assert "two cats" in agent.sees()
    assert agent.reply("dream-restore", sha[:8]).startswith(f"Restored Dream memory to the state before `{sha[:8]}`.")
    assert "two cats" not in agent.sees()


def test_what_we_restored_is_what_it_sees(agent, ws):
    sha = agent.git("rev-parse", "af4387c8").strip()
    taken = [line[1:] for line in agent.git("show", "--format=", sha, "--", "USER.md").splitlines() if line[:2] == "+-"]
    cursor = (agent.workspace / "memory" / ".dream_cursor").read_text()
    ws.dream.revert(sha)
    prompt = agent.sees()
    assert all(line not in prompt for line in taken)
    assert (agent.workspace / "memory" / ".dream_cursor").read_text() == cursor
    assert agent.reply("dream-log") == agent.expected("dream_log_output.txt").rstrip("\n")


def test_it_lists_and_goes_on_with_a_session_that_we_compacted(agent, ws):
    before = agent.sessions()
    ws.sessions.compact(LONG, keep=20)
    after = agent.sessions()
    assert set(after) == set(before)
    assert {key for key in before if after[key] != before[key]} == {LONG}
    kept = after[LONG]["messages"]
    assert 20 <= len(kept) < len(before[LONG]["messages"])
    assert kept == before[LONG]["messages"][-len(kept) :]
    assert pairs_hold(kept)
    turn = agent.run("turn", "still there?", "--session", LONG)
    sent = [message for message in turn["calls"][0]["messages"] if message["role"] != "system"]
    assert pairs_hold(sent)
    assert len(agent.sessions()[LONG]["messages"]) == len(kept) + 2


@pytest.mark.parametrize("key", ["telegram:8281248569", "whatsapp:4900147@s.whatsapp.net", "discord:2600079"])
def test_offsets_of_an_archived_session_still_fit(agent, ws, key):
    """What the agent has archived is not replayed after a compaction, and what it has not is."""
    before = agent.sessions()[key]
    ws.sessions.compact(key, keep=5)
    after = agent.sessions()[key]
    assert after["replayed"] == before["replayed"]
    assert after["messages"][after["last_archived"] :] == before["messages"][before["last_archived"] :]


def test_everything_undone_leaves_the_agents_files_as_they_were(agent, ws):
    before = agent_files(agent)
    add_line(agent, ws)
    add_line(agent, ws, "memory/MEMORY.md", "- One more")
    ws.sessions.compact(LONG, keep=20)
    ws.dream.revert(agent.git("rev-parse", "af4387c8").strip())
    assert agent_files(agent) != before
    for _ in range(4):
        ws.undo()
    assert agent_files(agent) == before
    assert agent.reply("dream-log") == agent.expected("dream_log_output.txt").rstrip("\n")


def test_session_files_keep_their_names(agent, ws):
    ws.sessions.compact(LONG, keep=20)
    stem = base64.urlsafe_b64encode(LONG.encode()).decode().rstrip("=")
    assert [path.suffix for path in agent.home.rglob(f"{stem}*")] == [".jsonl"]
