"""Presence: which processes count as an agent of this workspace, told from a made-up process table."""

import json
import os
import shutil
import sys
import time

import pytest

from nanomem_tui.core.paths import find_workspace
from nanomem_tui.store.files import presence
from nanomem_tui.store.files.presence import find_running_agent, role_of


class Machine:
    """A process table in a folder, laid out like Linux's."""

    def __init__(self, root):
        self.proc = root / "proc"
        self.proc.mkdir()
        (self.proc / "version").write_text("not a process")

    def run(
        self, pid, *argv, home="/nowhere", state="S", group=None, started="4242", cgroup="0::/", environ=True, title=""
    ):
        folder = self.proc / str(pid)
        folder.mkdir()
        line = b"".join(os.fsencode(part) + b"\0" for part in argv)
        if title:
            line = os.fsencode(title) + b"\0" * 60
        (folder / "cmdline").write_bytes(line)
        fields = [str(pid), "(na) me)", state, "1", str(group or pid), *["0"] * 16, started, "0"]
        (folder / "stat").write_text(" ".join(fields))
        (folder / "cgroup").write_text(cgroup)
        if environ:
            (folder / "environ").write_bytes(b"PATH=/bin\0HOME=" + os.fsencode(home) + b"\0")


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def paths(tmp_path):
    home = tmp_path / "user" / ".nanobot"
    (home / "workspace" / "memory").mkdir(parents=True)
    (home / "config.json").write_text("{}")
    return find_workspace(home / "workspace")


def user_home(paths):
    assert paths.home is not None
    return paths.home.parent


def record(paths, name="gateway.json", **fields):
    assert paths.home is not None
    (paths.home / "run").mkdir(exist_ok=True)
    (paths.home / "run" / name).write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("argv", "role"),
    [
        (["nanobot", "agent"], "nanobot agent"),
        (["/usr/local/bin/nanobot", "gateway", "--port", "1"], "nanobot gateway"),
        (["/usr/bin/python3.11", "/opt/v/bin/nanobot", "serve"], "nanobot serve"),
        (["python", "-X", "utf8", "-m", "nanobot", "gateway"], "nanobot gateway"),
        (["nanobot-gateway"], "nanobot gateway"),
        (["nanobot-agent"], "nanobot agent"),
        (["nanobot"], "nanobot"),
        (["nanobot", "-m", "hello"], "nanobot agent"),
        (["featherflow", "gateway"], "featherflow gateway"),
        (["nanobot", "--version"], ""),
        (["nanobot", "gateway", "status"], ""),
        (["nanobot", "cron", "list"], ""),
        (["timeout", "9", "nanobot", "gateway"], ""),
        (["vim", "nanobot", "agent"], ""),
        (["grep", "-r", "nanobot gateway"], ""),
        (["python", "-m", "pytest", "tests/nanobot_driver.py"], ""),
        (["nanomem", "memory", "status"], ""),
        ([], ""),
    ],
)
def test_only_command_lines_of_an_agent_at_work_count(argv, role):
    assert role_of(argv) == role


def test_nobody_runs(machine, paths):
    machine.run(10, "/usr/bin/bash", home=user_home(paths))
    assert find_running_agent(paths, proc=machine.proc) == presence.Presence(False, None, "", False)


def test_an_agent_of_this_home_is_found(machine, paths):
    machine.run(31, "python3", "/v/bin/nanobot", "agent", home=user_home(paths))
    assert find_running_agent(paths, proc=machine.proc) == presence.Presence(True, 31, "nanobot agent", False)


def test_an_agent_that_replaced_its_title_is_found(machine, paths):
    machine.run(32, title="nanobot-agent", home=user_home(paths))
    assert find_running_agent(paths, proc=machine.proc).what == "nanobot agent"


def test_an_agent_of_another_home_is_not_ours(machine, paths, tmp_path):
    machine.run(33, "nanobot", "gateway", home=tmp_path / "someone")
    machine.run(34, title="nanobot-gateway", home=tmp_path / "someone")
    assert not find_running_agent(paths, proc=machine.proc).running


def test_the_workspace_named_on_the_command_line_decides(machine, paths, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    machine.run(35, "nanobot", "agent", "--workspace", str(other), home=user_home(paths))
    assert not find_running_agent(paths, proc=machine.proc).running
    machine.run(36, "nanobot", "agent", f"--workspace={paths.workspace}", home=tmp_path)
    assert find_running_agent(paths, proc=machine.proc).pid == 36


def test_a_relative_workspace_is_read_from_the_folder_of_the_process(machine, paths, tmp_path):
    machine.run(37, "nanobot", "agent", "-w", "workspace", home=tmp_path)
    (machine.proc / "37" / "cwd").symlink_to(paths.workspace.parent)
    assert find_running_agent(paths, proc=machine.proc).pid == 37


def test_the_workspace_of_a_named_config_decides(machine, paths, tmp_path):
    config = tmp_path / "else" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(paths.workspace)}}}))
    machine.run(38, "nanobot", "gateway", "-c", str(config), home=tmp_path)
    assert find_running_agent(paths, proc=machine.proc).pid == 38
    config.write_text("{ not json")
    assert not find_running_agent(paths, proc=machine.proc).running


def test_a_container_sees_the_workspace_under_its_own_root(machine, paths, tmp_path):
    root = tmp_path / "image"
    (root / "root").mkdir(parents=True)
    (root / "root" / ".nanobot").symlink_to(paths.home)
    machine.run(39, "nanobot", "gateway", home="/root")
    (machine.proc / "39" / "root").symlink_to(root)
    assert find_running_agent(paths, proc=machine.proc).pid == 39


def test_an_agent_in_a_container_we_may_not_look_into_counts(machine, paths):
    machine.run(40, "nanobot", "gateway", environ=False, cgroup="0::/docker/abc")
    assert find_running_agent(paths, proc=machine.proc).pid == 40


def test_a_recorded_gateway_with_its_identity_is_found(machine, paths):
    machine.run(50, "/usr/bin/strange", group=49, started="777")
    record(paths, pid=50, identity="49:777")
    assert find_running_agent(paths, proc=machine.proc) == presence.Presence(True, 50, "nanobot gateway", False)


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="a process table is laid out so on Linux alone")
def test_since_when_agents_run_is_told_of_the_oldest(machine, paths):
    ticks = os.sysconf("SC_CLK_TCK")
    up = int(time.clock_gettime(time.CLOCK_BOOTTIME) * ticks)
    machine.run(31, "nanobot", "agent", home=user_home(paths), started=str(up - 100 * ticks))
    machine.run(32, "nanobot", "gateway", home=user_home(paths), started=str(up - 5_000 * ticks))
    machine.run(33, "nanobot", "gateway", home="/elsewhere", started=str(up - 9_000 * ticks))
    found = presence.running_since(paths, find_running_agent(paths, proc=machine.proc), proc=machine.proc)
    assert 5_000 <= time.time() - found.timestamp() < 9_000
    (machine.proc / "31" / "stat").write_text("")
    assert presence.running_since(paths, find_running_agent(paths, proc=machine.proc), proc=machine.proc) is None


def test_since_when_an_agent_runs_is_known_without_a_process_file_system(paths, tmp_path):
    own = presence.Presence(True, os.getpid(), "nanobot agent")
    here = presence.running_since(paths, own)
    assert here is not None
    assert here.timestamp() <= time.time()
    if shutil.which("ps"):
        by_ps = presence.running_since(paths, own, proc=tmp_path / "no such folder")
        assert abs(by_ps.timestamp() - here.timestamp()) < 60


@pytest.mark.parametrize("identity", ["49:778", 12, None])
def test_a_process_number_given_to_another_program_is_no_gateway(machine, paths, identity):
    machine.run(50, "/usr/bin/strange", group=49, started="777")
    record(paths, pid=50, identity=identity)
    assert not find_running_agent(paths, proc=machine.proc).running


def test_a_dead_or_zombie_gateway_is_not_running(machine, paths):
    record(paths, pid=51)
    assert not find_running_agent(paths, proc=machine.proc).running
    machine.run(51, title="nanobot-gateway", state="Z")
    assert not find_running_agent(paths, proc=machine.proc).running


def test_a_gateway_recorded_for_another_workspace_is_not_ours(machine, paths, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    machine.run(52, title="nanobot-gateway", group=52, home=user_home(paths))
    record(paths, name="gateway.0123.json", pid=52, identity="52:4242", workspace=str(other))
    assert not find_running_agent(paths, proc=machine.proc).running
    record(paths, name="gateway.0123.json", pid=52, identity="52:4242", workspace="/gone/since/the/home/moved")
    assert find_running_agent(paths, proc=machine.proc).pid == 52


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": -1}', '{"clients": {}}', "\xff"])
def test_a_broken_record_is_no_gateway_and_no_error(machine, paths, text):
    assert paths.home is not None
    (paths.home / "run").mkdir()
    (paths.home / "run" / "gateway.json").write_bytes(text.encode("latin-1"))
    assert not find_running_agent(paths, proc=machine.proc).running


def test_our_own_process_never_counts(machine, paths):
    machine.run(60, "nanobot", "agent", home=user_home(paths))
    assert not find_running_agent(paths, proc=machine.proc, own_pid=60).running


def test_a_dream_is_under_way_only_beside_an_agent_and_only_when_fresh(machine, paths, tmp_path):
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    dream = sessions / "ZHJlYW06MjAyNTA5MDctMTEzMjAw.checkpoint.json"
    dream.write_text("{}")
    assert not find_running_agent(paths, sessions, proc=machine.proc).dreaming
    machine.run(70, title="nanobot-gateway", home=user_home(paths))
    assert find_running_agent(paths, sessions, proc=machine.proc).dreaming
    old = time.time() - 600
    os.utime(dream, (old, old))
    assert not find_running_agent(paths, sessions, proc=machine.proc).dreaming


def test_the_process_list_of_other_systems_is_understood(paths, tmp_path, monkeypatch):
    ps = tmp_path / "ps"
    ps.write_text(f"#!{sys.executable}\nprint('   1 /sbin/init')\nprint('  77 nanobot agent -w {paths.workspace}')\n")
    ps.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_running_agent(paths, proc=tmp_path / "absent").pid == 77
