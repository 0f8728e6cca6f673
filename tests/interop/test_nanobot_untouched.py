"""The driver tells the truth: on an untouched home the real agent says what it said when the sample was made."""

import pytest

pytestmark = pytest.mark.interop


def test_lists_every_session(agent):
    sessions = agent.sessions()
    assert len(sessions) == 39
    assert sessions["telegram:8281248569"]["last_archived"] == 9


def test_dream_log_and_restore_list_are_those_of_the_sample(agent):
    assert agent.reply("dream-log") == agent.expected("dream_log_output.txt").rstrip("\n")
    assert agent.reply("dream-restore") == agent.expected("dream_restore_list_output.txt").rstrip("\n")


def test_dream_restore_takes_a_dream_back(agent):
    assert "memory systems" not in agent.git("show", "HEAD:USER.md")
    assert agent.reply("dream-restore", "51617caa").startswith("Restored Dream memory to the state before `51617caa`.")
    assert "revert: undo 51617caa" in agent.git("log", "-1", "--format=%s")


def test_a_turn_shows_the_model_the_memory_files(agent):
    prompt = agent.sees()
    assert (agent.workspace / "USER.md").read_text(encoding="utf-8").strip() in prompt


def test_a_scripted_dream_edits_commits_and_moves_the_cursor(agent):
    edit = {"path": "USER.md", "old_text": "- 不喜欢客套话", "new_text": "- 不喜欢客套话\n- Collects maps"}
    done = agent.run("dream", script=[{"tool": "edit_file", "arguments": edit}, {"text": "done"}])
    assert done["reply"].startswith("Dream completed")
    assert "- Collects maps" in (agent.workspace / "USER.md").read_text(encoding="utf-8")
    assert agent.git("log", "-1", "--format=%an %s").strip() == "nanobot dream: manual run"
