"""Where things lie: found by what is there, and nothing is made by looking."""

import json
import os
from pathlib import Path

import pytest

from nanomem_tui.core import paths
from nanomem_tui.core.errors import AccessDenied, NanomemError, NotAWorkspace, WorkspaceMissing
from tests.store.homes import files, make_home


def test_a_home_is_told_by_what_lies_beside_the_workspace(tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    alone = paths.find_workspace(workspace)
    assert (alone.home, alone.data) == (None, workspace / "memory" / "nanomem")
    (tmp_path / "config.json").write_text("{}")
    found = paths.find_workspace(workspace)
    assert (found.home, found.data) == (tmp_path, tmp_path / "nanomem")
    assert found.agent_config == tmp_path / "config.json"
    assert (found.longterm_db, found.facts_db) == (None, None)


@pytest.mark.parametrize("name", ["nb035", "v0_1_5", "ramfirst", "torn", "ftswal"])
def test_every_sample_is_found_from_its_workspace_and_from_its_home(sample_copy, name):
    home = sample_copy(name) / "home" / ".nanobot"
    before = files(home)
    for given in (home / "workspace", home, home.parent, str(home / "workspace" / "..")):
        found = paths.find_workspace(given)
        assert found.workspace == home / "workspace"
        alone = name == "v0_1_5"  # nothing but the workspace is left of that home
        assert found.data == (home / "workspace" / "memory" if alone else home) / "nanomem"
    assert files(home) == before


def test_a_link_leads_to_the_real_place(tmp_path):
    workspace = make_home(tmp_path)
    (tmp_path / "link").symlink_to(workspace)
    assert paths.find_workspace(tmp_path / "link") == paths.find_workspace(workspace)


def test_what_is_no_workspace_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, error in (
        ("none", WorkspaceMissing),
        ("loop", WorkspaceMissing),
        ("file", NotAWorkspace),
        ("empty", NotAWorkspace),
        ("x" * 300, NanomemError),
        ("nul\0", NanomemError),
        ("~no-such-user-here/x", NanomemError),
    ):
        given = name if name.startswith("~") else tmp_path / name
        with pytest.raises(error) as caught:
            paths.find_workspace(given)
        assert "\n" not in caught.value.line()
        assert caught.value.fix


def test_who_starts_needs_an_empty_folder_only(tmp_path):
    workspace = tmp_path / ".nanobot" / "workspace"
    with pytest.raises(WorkspaceMissing, match=f"mkdir -p {workspace}"):
        paths.find_workspace(workspace, starting=True)
    workspace.mkdir(parents=True)
    for given in (workspace, workspace.parent, tmp_path):
        assert paths.find_workspace(given, starting=True).workspace == workspace
        with pytest.raises(NotAWorkspace):
            paths.find_workspace(given)
    (workspace.parent / "config.json").write_text("{}")
    found = paths.find_workspace(workspace, starting=True)
    assert (found.home, found.data) == (workspace.parent, workspace.parent / "nanomem")
    found.own_id.parent.mkdir(parents=True)
    found.own_id.write_text("a" * 16)
    assert paths.find_workspace(workspace) == found  # what was begun stays a workspace
    full = tmp_path / "full"
    full.mkdir()
    (full / "letter.txt").write_text("x")
    with pytest.raises(NotAWorkspace, match=f"mkdir -p {full / 'memory'}"):
        paths.find_workspace(full, starting=True)
    (full / "config.json").write_text("{}")
    with pytest.raises(NotAWorkspace, match=f"mkdir -p {full / 'workspace'}"):
        paths.find_workspace(full, starting=True)


def test_a_database_beside_a_workspace_that_is_not_there_is_named(sample_copy):
    home = sample_copy("crystal") / "home" / ".nanobot"
    for given in (home / "workspace", home):
        with pytest.raises((WorkspaceMissing, NotAWorkspace)) as caught:
            paths.find_workspace(given)
        assert f"mkdir -p {home / 'workspace'} && nanomem memory import {home / 'memory.db'}" in caught.value.fix


def test_no_permission_is_said(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)

    def denied(path):
        raise PermissionError(13, "denied", str(path))

    monkeypatch.setattr(os, "listdir", denied)
    with pytest.raises(AccessDenied, match="no permission"):
        paths.find_workspace(workspace)


def test_the_default_is_what_the_agent_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / ".nanobot"
    home.mkdir()
    assert paths.default_workspace() == home / "workspace"
    for content, wanted in (
        ('{"agents": {"defaults": {"workspace": "~/elsewhere"}}}', tmp_path / "elsewhere"),
        ('{"agents": {"defaults": {"workspace": ""}}}', home / "workspace"),
        ('{"agents": {"defaults": {"workspace": null}}}', home / "workspace"),
        ("{broken", home / "workspace"),
        ("[]", home / "workspace"),
    ):
        (home / "config.json").write_text(content)
        assert paths.default_workspace() == wanted, content
    monkeypatch.setenv("NANOMEM_WORKSPACE", "~/chosen")
    assert paths.default_workspace() == tmp_path / "chosen"


def test_names_are_said_as_a_person_would(tmp_path):
    found = paths.find_workspace(make_home(tmp_path))
    assert found.relative(found.ltm_snapshot) == "memory/LTM_SNAPSHOT.json"
    assert found.relative(found.database) == "nanomem/nanomem.db"
    assert found.relative(Path("/elsewhere/x")) == "/elsewhere/x"


def test_the_users_settings_lie_where_the_platform_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NANOMEM_CONFIG", raising=False)
    assert paths.user_settings() == tmp_path / ".config" / "nanomem" / "config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert paths.user_settings() == tmp_path / "xdg" / "nanomem" / "config.toml"
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "mine.toml"))
    assert paths.user_settings() == tmp_path / "mine.toml"


def test_json_of_the_agent_may_be_anything(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".nanobot").mkdir()
    for value in (5, True, [], {}, "nul\0"):
        (tmp_path / ".nanobot" / "config.json").write_text(json.dumps({"agents": {"defaults": {"workspace": value}}}))
        assert isinstance(paths.default_workspace(), Path)
