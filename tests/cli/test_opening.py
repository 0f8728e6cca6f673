"""Opening what a person names: the folder itself before what lies in it, and sessions beside another configuration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import paths
from nanomem_tui.core.errors import BadInput, NotAWorkspace, WorkspaceMissing
from nanomem_tui.store.files import presence
from tests.conftest import need
from tests.store.homes import files

ID = "0123456789abcdef0123456789abcdef"
SAID = "the blue bicycle of Zed"


def remember(folder, text="a fact"):
    """Make a workspace with a memory of its own."""
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "MEMORY.md").write_text(f"# Memory\n\n- {text}\n")
    return folder


def soul(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SOUL.md").write_text("# Soul\n")
    return folder


# -- the folder that is named


@pytest.mark.parametrize("inner", ["workspace", ".nanobot/workspace"])
def test_a_folder_that_holds_memory_opens_whatever_lies_in_it(tmp_path, run, inner):
    outer = remember(tmp_path / "agent", "of the outer one")
    soul(outer / inner)
    (outer / "config.json").write_text("{}")
    before = files(outer)
    for line in (("memory", "status"), ("doctor",)):
        told = run(*line, "--workspace", outer)
        both = told.out + told.err
        assert str(outer) in both
        assert f"--workspace {outer / inner}" in both, "both are named, and how to choose"
    assert run("memory", "status", "--json", "--workspace", outer / inner).json["workspace"] == str(outer / inner)
    assert files(outer) == before
    with open_workspace(outer) as ws:
        assert ws.paths.workspace == outer


def test_the_memory_folder_of_a_workspace_opens_and_the_workspace_around_it_is_named(tmp_path, run):
    outer = soul(remember(tmp_path / "agent"))
    told = run("memory", "status", "--workspace", outer / "memory")
    assert f"Workspace   {outer / 'memory'}\n" in told.out
    assert f"--workspace {outer} opens it" in told.err
    assert "move away" not in told.err, "what would be moved is its memory"


def test_a_workspace_without_memory_names_another_one_in_it(tmp_path, run):
    outer = soul(tmp_path / "agent")
    soul(outer / "workspace")
    told = run("memory", "status", "--workspace", outer)
    assert f"Workspace   {outer}\n" in told.out
    assert f"--workspace {outer / 'workspace'} opens it" in told.err


@pytest.mark.parametrize("there", ["../gone", "~/gone"])
def test_a_configuration_is_named_whose_workspace_is_not_there(tmp_path, run, there):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": there}}}))
    refused = run("memory", "status", "--config", config)
    assert (refused.code, f"the workspace that {config} names is not there" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "sign",
    ["memory/history.jsonl", "memory/2026-01-02.md", "MEMORY.md", ".nanobot/workspace-id", "memory/LESSONS.jsonl"],
)
def test_any_memory_of_its_own_makes_the_named_folder_the_one(tmp_path, sign):
    (tmp_path / sign).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / sign).write_text("x")
    inner = remember(tmp_path / "workspace")
    found = paths.find_workspace(tmp_path)
    assert (found.workspace, found.others) == (tmp_path, (inner,))
    assert [problem.severity for problem in found.problems()] == ["warning"]


def test_a_home_with_the_database_of_another_system_is_no_workspace(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "longterm.db").write_bytes(b"")
    inner = soul(tmp_path / "workspace")
    assert paths.find_workspace(tmp_path).workspace == inner


def test_a_memory_inside_is_opened_where_the_named_folder_has_none(tmp_path):
    soul(tmp_path)
    inner = remember(tmp_path / "workspace")
    found = paths.find_workspace(tmp_path)
    assert (found.workspace, found.others) == (inner, (tmp_path,))
    (tmp_path / "SOUL.md").unlink()
    assert paths.find_workspace(tmp_path).others == ()


def test_two_memories_in_a_folder_without_one_are_a_choice(tmp_path, run):
    first, second = remember(tmp_path / "workspace"), remember(tmp_path / ".nanobot" / "workspace")
    with pytest.raises(NotAWorkspace):
        paths.find_workspace(tmp_path)
    told = run("memory", "list", "--workspace", tmp_path)
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert f"two workspaces here: {first} and {second}. Fix: name one: --workspace {first}" in told.err
    configured = {"agents": {"defaults": {"workspace": str(second)}}}
    (tmp_path / ".nanobot" / "config.json").write_text(json.dumps(configured))
    found = paths.find_workspace(tmp_path)
    assert (found.workspace, found.others) == (second, (first,)), "the agent's configuration says which"


def test_our_own_memory_of_a_folder_counts(tmp_path, run):
    outer = soul(tmp_path / "agent")
    assert run("memory", "add", "--text", "kept here", "--workspace", outer).code == 0
    remember(outer / "workspace")
    assert [row["text"] for row in _json(run("memory", "list", "--json", "--workspace", outer))] == ["kept here"]


def _json(result):
    found: list[dict[str, str]] = json.loads(result.out)
    return found


# -- sessions beside another configuration


@pytest.fixture
def instance(tmp_path):
    """A workspace, the configuration of an agent that lies elsewhere, and the one session beside it."""
    workspace, folder = remember(tmp_path / "srv" / "ws", SAID), tmp_path / "bots" / "a"
    (workspace / ".nanobot").mkdir()
    (workspace / ".nanobot" / "workspace-id").write_text(f"{ID}\n")
    sessions = folder / "sessions" / ID
    sessions.mkdir(parents=True)
    (sessions / ".workspace").write_text(f"{workspace}\n")
    transcript = sessions / "Y2xpOmRpcmVjdA.jsonl"
    lines = ({"_type": "metadata", "key": "cli:direct"}, {"role": "user", "content": SAID})
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = folder / "config.json"
    config.write_text(json.dumps({"agents": {"defaults": {"workspace": str(workspace)}}}))
    return workspace, config, transcript


def test_sessions_beside_another_configuration_are_found_by_its_name(
    instance,
    run,
    monkeypatch,
):
    workspace, config, transcript = instance
    lines = (
        ("session", "list", "--json", "--workspace", config.parent),
        ("session", "list", "--json", "--config", config),
        ("--config", config, "session", "list", "--json"),
        ("session", "--config", config.parent, "list", "--json", "--workspace", workspace),
    )
    for line in lines:
        assert [row["id"] for row in run(*line).json] == ["cli:direct"], line
    assert run("memory", "status", "--json", "--config", config).json["sessions"] == 1
    assert run("doctor", "--config", config).code == 0
    monkeypatch.setenv("NANOMEM_AGENT_CONFIG", str(config))
    assert [row["path"] for row in run("session", "list", "--json").json] == [str(transcript)]
    with open_workspace(config_file=config) as ws:
        assert (ws.paths.workspace, ws.paths.agent_config) == (workspace, config)
        assert ws.paths.data == paths.find_workspace(workspace).data, "it is one memory, however it is named"


def test_the_console_finds_them_too(instance, run):
    _, config, _ = instance
    assert "cli:direct" in run("--snapshot", "sessions", "--config", config).out


def test_a_configuration_may_have_any_name_and_leave_the_workspace_out(
    instance,
    run,
):
    workspace, config, _ = instance
    other = config.with_name("second.json")
    other.write_text('{"agents": {}}')
    listed = run("session", "list", "--json", "--config", other, "--workspace", workspace)
    assert [row["id"] for row in listed.json] == ["cli:direct"]


def test_what_is_forgotten_goes_from_sessions_beside_another_configuration(
    instance,
    run,
):
    workspace, config, transcript = instance
    done = run("forget", "--text", "blue bicycle", "--yes", "--config", config)
    assert done.code == 0
    assert str(transcript) in done.out
    assert "blue bicycle" not in transcript.read_text() + (workspace / "memory" / "MEMORY.md").read_text()


def test_sessions_that_lie_nowhere_are_a_finding_and_left_by_forget(
    instance,
    run,
):
    workspace, _, transcript = instance
    at = ("--workspace", workspace)
    for told in (run("session", "list", *at), run("session", "search", "bicycle", *at)):
        assert ID in told.err
        assert "--config FILE" in told.err
    assert f"warning  .nanobot/workspace-id: no sessions of the id {ID} were found" in run("doctor", *at).out
    assert ID in run("session", "rescue", *at).out
    found = run("find", "bicycle", "--in", "session", *at)
    assert (found.code, "Nothing found in what could be read." in found.out, ID in found.err) == (1, True, True)
    assert any(ID in one["what"] for one in run("memory", "status", "--json", *at).json["problems"])
    done = run("forget", "--text", "blue bicycle", "--yes", "--json", *at)
    assert done.code == 1
    left = json.loads(done.out)["receipt"]["left"]
    assert [one["where"] for one in left] == [f"sessions/{ID}"]
    assert "--config FILE" in left[0]["why"]
    assert SAID in transcript.read_text()


def test_a_workspace_whose_sessions_are_there_is_told_nothing(instance, run):
    workspace, config, _ = instance
    shutil.move(config.parent / "sessions", workspace.parent / "sessions")
    assert run("session", "list", "--json", "--workspace", workspace).json
    assert run("doctor", "--workspace", workspace).code == 0


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.json", None, "cannot be read"),
        ("broken.json", "{", "not JSON"),
        ("list.json", "[]", "not a JSON object"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_line(
    tmp_path,
    run,
    name,
    content,
    said,
):
    if content is not None:
        (tmp_path / name).write_text(content)
    told = run("memory", "list", "--config", tmp_path / name)
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert said in told.err
    assert f"{tmp_path / name}. Fix: " in told.err
    with pytest.raises(BadInput):
        open_workspace(tmp_path, config_file=tmp_path / name)


def test_a_configured_workspace_that_is_gone_is_named(instance, run):
    workspace, config, _ = instance
    shutil.rmtree(workspace)
    for line in (("--config", config), ("--workspace", config.parent)):
        told = run("memory", "list", *line)
        assert (told.code, str(workspace) in told.err) == (2, True)
    with pytest.raises(WorkspaceMissing):
        paths.find_workspace(config.parent)
    told = run("memory", "list", "--workspace", config)
    assert f"--config {config}" in told.err


# -- what belongs to another account


def bounded(*line):
    """A command line that runs without the rights that root has over files which it may not read.

    It keeps the right to look at processes: the home of an agent is known then, and closed.
    """
    words = [str(word) for word in line]
    if os.geteuid() != 0:
        return words
    need(shutil.which("setpriv") is not None, "setpriv is not installed")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *words]


ALL = """
import json, os, sys, tempfile
from nanomem_tui.cli.main import run
found = []
for line in json.loads(sys.argv[1]):
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    child = os.fork()
    if not child:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        code = run([*line.split(), "--workspace", sys.argv[2]])
        sys.stdout.flush()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said = [file.seek(0) or file.read().decode() for file in (out, err)]
    found.append((line, code, *said))
print(json.dumps(found))
"""


def nanomem(workspace, home, *lines):
    """Each line with its exit code, stdout and stderr, one after another in a process without those rights."""
    command = bounded(sys.executable, "-c", ALL, json.dumps(lines), workspace)
    environment = {**os.environ, "HOME": str(home)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=environment)
    return [(line, code, out, err) for line, code, out, err in json.loads(done.stdout)]


def gateway(home, **more):
    """A process that calls itself what an agent does, in one word, and ends when nothing more comes to it."""
    name, program = ["nanobot-gateway"], shutil.which("cat")
    return subprocess.Popen(name, executable=program, stdin=subprocess.PIPE, cwd="/", env={"HOME": str(home)}, **more)


@pytest.fixture(params=["closed home", "other account"])
def others_agent(request, tmp_path):
    """The home of an agent that runs now, under the title that it gives itself, and whose files we may not see."""
    home = tmp_path / "theirs"
    (home / ".nanobot" / "run").mkdir(parents=True)
    started: dict[str, int] = {}
    if request.param == "other account":
        need(os.geteuid() == 0, "only root starts a process of another account")
        for path in (home, home / ".nanobot", home / ".nanobot" / "run"):
            os.chown(path, 65534, 65534)
        started = {"user": 65534, "group": 65534}
    home.chmod(0 if request.param == "closed home" else 0o700)
    process = gateway(home, **started)
    yield home
    process.communicate()
    home.chmod(0o700)


@pytest.mark.slow
def test_the_agent_of_another_account_is_passed_over(tmp_path, others_agent):
    workspace = remember(tmp_path / "mine")
    lines = ("memory status", "doctor", "dream status", "scrub", "memory add --text hello_there_world",
             "forget --text hello_there_world --yes")  # fmt: skip
    for line, code, out, err in nanomem(workspace, tmp_path, *lines):
        assert (code, err) == (0, ""), (line, out)
        assert str(others_agent) not in out


def test_a_record_of_an_agent_that_names_nobody_s_home_breaks_nothing(tmp_path):
    workspace = remember(tmp_path / "workspace")
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "run").mkdir()
    process = gateway(Path("/nowhere"))
    try:
        for recorded in ("~nobody-of-that-name/x", "nul\0", "/nowhere/at/all"):
            record = {"pid": process.pid, "workspace": recorded}
            (tmp_path / "run" / "gateway.json").write_text(json.dumps(record))
            assert presence.find_running_agent(paths.find_workspace(workspace)).running, recorded
    finally:
        process.communicate()


@pytest.mark.slow
def test_folders_of_another_account_beside_the_workspace_stop_nothing(tmp_path):
    need(os.geteuid() == 0, "only root gives a folder to another account")
    workspace = remember(tmp_path / "home" / "ws")
    for closed in ("memory", ".nanobot", "sessions", "other"):
        theirs = tmp_path / "home" / closed
        (theirs / "memory").mkdir(parents=True)
        theirs.chmod(0o700)
        os.chown(theirs, 65534, 65534)
    lines = ("memory status", "session list", "find fact")
    for line, code, _, err in nanomem(workspace, tmp_path, *lines):
        assert (code, err) == (0, ""), line
    for line, _, out, err in nanomem(
        workspace, tmp_path, "doctor", "scrub", "forget --text nothing --yes", "backup make"
    ):
        assert (out != "", "nanomem:" in err) == (True, False), (line, err)


@pytest.mark.slow
def test_settings_in_the_home_of_another_account_are_passed_over_and_named(tmp_path):
    need(os.geteuid() == 0, "only root gives a folder to another account")
    workspace, theirs = remember(tmp_path / "mine"), tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 65534, 65534)
    added, told = nanomem(workspace, theirs, "memory add --text hello", "memory status")
    assert (added[1], told[1], "no permission while reading the settings" in told[2]) == (0, 0, True)
