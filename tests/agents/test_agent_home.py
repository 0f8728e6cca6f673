import json
import os
from pathlib import Path

import pytest

from nanomem_tui.agents.releases import agent_settings, detect, workspace_id
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core.paths import find_workspace

ID = "0123456789abcdef0123456789abcdef"
OTHER = "f" * 32


def write(path, text="x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def home(tmp_path):
    """An agent home with an empty workspace."""
    (tmp_path / "agent/workspace/memory").mkdir(parents=True)
    write(tmp_path / "agent/config.json", "{}")
    return tmp_path / "agent"


@pytest.mark.parametrize(
    ("name", "release", "sessions", "naming"),
    [
        ("nb035", "nanobot 0.3.5", "sessions/b320cfc38283ad9d0550a89f257ad3d8", "base64url"),
        ("v0_1_5", "nanobot 0.1.5", "workspace/sessions", "lossy"),
        ("ramfirst", "ram-first", "sessions", "lossy"),
        ("torn", "ram-first", "sessions", "lossy"),
        ("ftswal", "scoped", None, "lossy"),
    ],
)
def test_each_real_home_is_told_for_what_it_is(samples, name, release, sessions, naming):
    paths = find_workspace(samples / name / "home/.nanobot/workspace")
    layout = detect(paths)
    assert (layout.release, layout.session_naming) == (release, naming)
    assert layout.sessions_dir == (samples / name / "home/.nanobot" / sessions if sessions else None)
    assert layout.has_history_jsonl == (name in {"nb035", "v0_1_5"})
    assert not layout.has_history_md
    assert layout.unlisted == ()


def test_sessions_are_found_by_the_id_whatever_path_they_record(samples):
    layout = detect(find_workspace(samples / "nb035/home/.nanobot"))
    assert layout.workspace_id == "b320cfc38283ad9d0550a89f257ad3d8"
    assert layout.notes == ("its sessions record the workspace as /home/alice/.nanobot/workspace",)
    assert len(list(layout.sessions_dir.glob("*.jsonl"))) == 39


def test_without_an_id_the_sessions_that_record_this_path_are_taken(home):
    write(home / "sessions" / ID / ".workspace", f"{home}/workspace\n")
    write(home / "sessions" / OTHER / ".workspace", "/elsewhere\n")
    layout = detect(find_workspace(home))
    assert (layout.sessions_dir, layout.workspace_id) == (home / "sessions" / ID, ID)
    assert layout.release == "nanobot 0.3.5"
    write(home / "sessions" / OTHER / ".workspace", f"{home}/workspace\n")
    assert detect(find_workspace(home)).sessions_dir is None


def test_an_id_wins_over_a_recorded_path_and_a_broken_id_is_none(home):
    write(home / "workspace/.nanobot/workspace-id", OTHER + "\n")
    write(home / "sessions" / ID / ".workspace", f"{home}/workspace\n")
    write(home / "sessions" / OTHER / ".workspace", "/elsewhere\n")
    assert detect(find_workspace(home)).sessions_dir == home / "sessions" / OTHER
    for broken in ("", "../../etc", "abc", "\0" * 32):
        write(home / "workspace/.nanobot/workspace-id", broken)
        assert workspace_id(find_workspace(home)) is None


def test_a_workspace_elsewhere_finds_its_sessions_in_the_default_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "project/.nanobot/workspace-id", ID)
    write(tmp_path / ".nanobot/sessions" / ID / key_to_name("cli:direct"))
    paths = find_workspace(tmp_path / "project")
    assert paths.home is None
    assert detect(paths).sessions_dir == tmp_path / ".nanobot/sessions" / ID


@pytest.mark.parametrize(
    ("files", "release", "naming"),
    [
        (["memory/HISTORY.md", "sessions/cli_direct.jsonl"], "nanobot 0.1.4", "lossy"),
        (["memory/history.jsonl", "sessions/cli_direct.jsonl"], "nanobot 0.1.5", "lossy"),
        (["memory/history.jsonl", "sessions/" + key_to_name("cli:direct")], "nanobot 0.3.0", "base64url"),
        (["sessions/a_b.jsonl", "sessions/" + key_to_name("cli:direct")], "nanobot 0.3.0", "lossy"),
        (["memory/LESSONS.jsonl"], "ram-first", "lossy"),
        (["memory/session-state/cli_direct.md"], "scoped", "lossy"),
        (["../memory/longterm.db"], "scoped", "lossy"),
        (["../memory.db"], "facts", "lossy"),
        (["memory/MEMORY.md"], "plain Markdown", "lossy"),
        (["memory/HISTORY.md", "../sessions/cli_direct.jsonl"], "nanobot 0.1.4", "lossy"),
    ],
)
def test_a_release_is_known_by_what_it_leaves(home, files, release, naming):
    for name in files:
        write(Path(os.path.normpath(home / "workspace" / name)), "")
    layout = detect(find_workspace(home / "workspace"))
    assert (layout.release, layout.session_naming) == (release, naming)
    assert (layout.sessions_dir is not None) == any("sessions/" in name for name in files)


def test_history_with_session_keys_is_of_a_later_release(home):
    write(home / "workspace/memory/history.jsonl", '{"cursor": 1, "session_key": "a:b"}\n')
    assert detect(find_workspace(home)).release == "nanobot 0.2.2"


def test_sessions_that_an_upgrade_made_invisible_are_named(home):
    write(home / "workspace/.nanobot/workspace-id", ID)
    for name in (key_to_name("cli:direct"), "cli_direct.jsonl", "slack_T1_C2.jsonl", ".tmp.jsonl"):
        write(home / "sessions" / ID / name)
    layout = detect(find_workspace(home))
    assert layout.unlisted == ("cli_direct.jsonl", "slack_T1_C2.jsonl")
    assert any("2 session files" in note for note in layout.notes)


def test_looking_changes_nothing(sample_copy):
    home = sample_copy("nb035") / "home/.nanobot"
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in home.rglob("*")}
    detect(find_workspace(home))
    agent_settings(find_workspace(home))
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in home.rglob("*")} == before


def test_the_memory_settings_of_an_agent_are_taken_and_no_secrets(home):
    config = {
        "agents": {
            "defaults": {"dream": {"intervalH": 3}, "idleCompactAfterMinutes": 15, "provider": "x"},
            "memory": {"flushEveryUpdates": 4},
            "selfImprovement": {"enabled": False},
            "sessions": [],
        },
        "memory": {"recall": {"maxResults": 3}},
        "providers": {"x": {"apiKey": "SECRET"}},
    }
    write(home / "config.json", json.dumps(config))
    settings, problems = agent_settings(find_workspace(home))
    assert problems == ()
    assert settings == {
        "dream": {"intervalH": 3},
        "defaults": {"idleCompactAfterMinutes": 15},
        "ram_first": {"flushEveryUpdates": 4},
        "self_improvement": {"enabled": False},
        "memory": {"recall": {"maxResults": 3}},
    }
    assert "SECRET" not in str(settings)


@pytest.mark.parametrize(("text", "line"), [("", 1), ('{\n"a": ', 2), ("[]", 1), ("[" * 100_000, None)])
def test_a_broken_configuration_is_one_problem(home, text, line):
    write(home / "config.json", text)
    settings, (problem,) = agent_settings(find_workspace(home))
    assert settings == {}
    assert (problem.where, problem.line) == ("config.json", line)


def test_a_configuration_of_bad_bytes_is_one_problem_and_none_is_none(home):
    (home / "config.json").write_bytes(b'{"a": "\xff"}')
    assert len(agent_settings(find_workspace(home))[1]) == 1
    (home / "config.json").unlink()
    assert agent_settings(find_workspace(home)) == ({}, ())


def test_session_state_may_lie_elsewhere_in_the_workspace(tmp_path):
    state = tmp_path / "home" / "workspace" / "memory" / "turns"
    state.mkdir(parents=True)
    (tmp_path / "home" / "config.json").write_text("{}")
    paths = find_workspace(tmp_path / "home")
    assert (detect(paths).release, detect(paths, state).release) == ("plain Markdown", "scoped")
