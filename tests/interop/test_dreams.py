"""Dreams of ours and of the real agent on one home: each sees the other's, and ours takes back what its own loses."""

import json

import pytest

from nanomem_tui.core.errors import Conflict, NothingToDo, Refused

pytestmark = pytest.mark.interop
FILES = ("SOUL.md", "USER.md", "memory/MEMORY.md")
STANDS = "af4387c8"
"""A Dream of the agent of which lines stand, five Dreams back and more."""


def remember(agent, *contents):
    """Entries that no Dream has read, behind those that are there."""
    memory = agent.workspace / "memory"
    rows = [json.loads(line) for line in (memory / "history.jsonl").read_bytes().split(b"\n") if line]
    last = max(row["cursor"] for row in rows)
    with (memory / "history.jsonl").open("a", encoding="utf-8") as history:
        for number, content in enumerate(contents, last + 1):
            row = {"cursor": number, "timestamp": "2025-09-13 09:00", "content": content}
            history.write(json.dumps(row, ensure_ascii=False) + "\n")
    (memory / ".cursor").write_text(str(last + len(contents)), encoding="utf-8")
    (memory / ".dream_cursor").write_text(str(last), encoding="utf-8")


def texts(agent):
    return {name: (agent.workspace / name).read_bytes() for name in FILES}


def test_every_dream_has_the_id_that_the_agent_and_git_give_it(agent, ws):
    named = [line.split("`")[1] for line in agent.reply("dream-restore").split("\n") if line.startswith("- `")]
    runs = ws.dream.runs()
    assert [run.short for run in runs[: len(named)]] == named
    log = agent.git("log", "--format=%H %s").splitlines()
    assert [run.sha for run in runs] == [row[:40] for row in log if row[41:].startswith("dream:")]
    for run in runs[:3]:
        shown = agent.reply("dream-log", run.short)
        assert f"- Commit: `{run.short}`" in shown
        assert all(path in shown for path in run.files)


def test_its_log_shows_the_lines_of_our_dream_and_ours_those_of_its(agent, ws):
    remember(agent, "- [durable] User keeps two cats", "- [durable] Decided to use port 8443 for the relay")
    result = ws.dream.run()
    log = agent.reply("dream-log")
    assert f"- Commit: `{result.sha[:8]}`" in log
    assert all(f"+{edit.new}" in log for edit in result.edits)
    remember(agent, "- [durable] the user collects maps")
    edit = {"path": "USER.md", "old_text": "- 不喜欢客套话", "new_text": "- 不喜欢客套话\n- Collects maps"}
    agent.run("dream", script=[{"tool": "edit_file", "arguments": edit}, {"text": "done"}])
    newest = ws.dream.runs(2)
    assert [run.sha for run in newest] == [agent.git("rev-parse", "HEAD").strip(), result.sha]
    _, diffs = ws.dream.show(newest[0].sha)
    assert "+- Collects maps" in "".join(diff.unified() for diff in diffs)


def test_taking_back_an_older_dream_keeps_what_the_agents_own_command_loses(agent, ws):
    """The same Dream, taken back by us and by the agent, on the same home."""
    remember(agent, "- [permanent] User keeps two cats")
    ws.dream.run()
    later = b"two cats"
    before, cursor = texts(agent), (agent.workspace / "memory/.dream_cursor").read_text()
    preview = ws.dream.revert_preview(STANDS)
    operation = ws.dream.revert(STANDS)
    after = texts(agent)
    assert any(later in text for text in after.values())
    assert {name for name in FILES if after[name] != before[name]} == {file.path for file in preview.files}
    assert (agent.workspace / "memory/.dream_cursor").read_text() == cursor
    ws.undo(operation.id)
    assert texts(agent) == before
    assert agent.reply("dream-restore", STANDS).startswith("Restored Dream memory")
    assert not any(later in text for text in texts(agent).values()), "its own command goes back in time"
    assert int((agent.workspace / "memory/.dream_cursor").read_text()) < int(cursor)


def test_each_dream_is_taken_back_alone_or_says_why_not(agent, ws):
    before, outcomes = texts(agent), []
    for run in ws.dream.runs():
        try:
            operation = ws.dream.revert(run.sha)
        except NothingToDo as gone:
            outcomes.append(f"gone {gone.exit_code}")
        except (Conflict, Refused):
            outcomes.append("refused")
        else:
            outcomes.append("taken back")
            ws.undo(operation.id)
        assert texts(agent) == before
    assert {"gone 1", "taken back"} <= set(outcomes)
    assert agent.reply("dream-log").startswith("## Dream Update")
