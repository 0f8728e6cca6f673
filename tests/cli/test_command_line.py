"""The command line as such: options before or after, late loading, one line for every error, exit codes."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from itertools import takewhile
from pathlib import Path

import click
import pexpect
import pytest

from nanomem_tui import __version__, actions, demo
from nanomem_tui.cli import output
from nanomem_tui.cli.main import monospaced, root
from nanomem_tui.core import errors
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.core.text import cell_width
from nanomem_tui.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


def nanomem(*args, stdin=None, **env):
    """The program as a process of its own, in a pipe."""
    whole = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    line = [sys.executable, "-m", "nanomem_tui", *map(str, args)]
    return subprocess.run(line, capture_output=True, env=whole, input=stdin or b"", timeout=60, check=False)


def commands(group, path=()):
    """Every command of the tree with the words that name it."""
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found.append(((*path, name), command))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


COMMANDS = commands(root)
LEAVES = [(path, command) for path, command in COMMANDS if not isinstance(command, click.Group)]


@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_every_command_explains_itself_with_an_example(path, command, run):
    result = run(*path, "--help")
    assert result.code == 0
    assert "Example:" in result.out
    assert f"nanomem {path[0]}" in result.out
    assert all(param.help for param in command.params if isinstance(param, click.Option)), "an option without help"


@pytest.mark.parametrize(
    ("path", "command"), LEAVES, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_every_command_takes_json_and_workspace_and_every_list_pages(path, command):
    options = {name for param in command.params for name in param.opts}
    assert {"--json", "--workspace"} <= options
    if path[-1] in ("list", "search", "log", "history"):
        assert {"--limit", "--offset"} <= options
    if path[-1] in ("delete", "compact", "prune", "reset") or path == ("dream", "restore"):
        assert {"--yes", "--dry-run"} <= options


@pytest.mark.parametrize(
    "line",
    [
        ["--workspace", "W", "--json", "memory", "lessons", "list"],
        ["memory", "--workspace", "W", "--json", "lessons", "list"],
        ["memory", "lessons", "--json", "list", "--workspace", "W"],
        ["memory", "lessons", "list", "--workspace=W", "--json"],
        ["--json", "memory", "lessons", "list", "--workspace", "W"],
    ],
)
def test_global_options_stand_anywhere(line, ramfirst, run, monkeypatch):
    monkeypatch.delenv("NANOMEM_WORKSPACE")
    result = run(*(word.replace("W", str(ramfirst)) if "W" in word and "-W" not in word else word for word in line))
    assert result.code == 0
    assert len(result.json) == 61


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (["memry"], "memory"),
        (["memory", "lst"], "list"),
        (["memory", "lessons", "enabel"], "enable"),
        (["session", "serach"], "search"),
        (["memory", "list", "--limt", "3"], "--limit"),
        (["--run-draem"], "--run-dream"),
        (["memory", "delete", "x", "--dryrun"], "--dry-run"),
    ],
)
def test_a_misspelt_word_names_the_nearest_known(line, meant, run):
    result = run(*line)
    assert result.code == 2
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert f"did you mean '{meant}'" in result.err


@pytest.mark.parametrize(
    "line",
    [
        ["memory", "show"],
        ["memory", "list", "--limit", "-1"],
        ["memory", "list", "--limit", "many"],
        ["memory", "search"],
        ["memory", "add"],
        ["session", "compact"],
        ["history", "show", "x"],
        ["undo", "--key", "k"],
        ["undo", "0"],
        ["--dry-run"],
        ["--dry-run", "memory", "flush"],
        ["--svg", "x.svg"],
        ["memory", "add", "--text", "\udcff"],
    ],
)
def test_a_wrong_line_is_one_line_with_help_and_exit_code_2(line, run, ramfirst):
    result = run(*line)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert result.err.startswith("nanomem: ")


def test_a_group_named_alone_tells_what_it_holds(run):
    result = run("memory", "lessons")
    assert (result.code, result.err) == (0, "")
    assert "reset" in result.out


def test_a_wrong_line_points_to_the_help_of_its_own_command(run):
    assert "`nanomem memory add --help`" in run("memory", "add", "--text").err
    assert "`nanomem wal --help`" in run("wal", "--json").err
    assert "--workspace /tmp" in run("/tmp").err


def commands_of_actions():
    """The command that does the same, of every action of the console."""
    lines = {line for action in actions.ACTIONS for line in (action.command, *action.commands.values())}
    return sorted({part for line in lines for part in line.split(" · ") if part})


@pytest.mark.parametrize("line", commands_of_actions())
def test_the_headless_twin_of_every_action_is_a_command(line):
    command: click.Command = root
    for word in takewhile(lambda word: not word.startswith("-"), line.replace("KIND", "goal").split()):
        if isinstance(command, click.Group):
            found = command.get_command(click.Context(command), word)
            assert found is not None, word
            command = found
    options = {name for param in (*root.params, *command.params) for name in (*param.opts, *param.secondary_opts)}
    assert {word.partition("=")[0] for word in line.split() if word.startswith("--")} <= options


def test_version_answers_without_a_parser():
    probe = (
        "import sys; sys.argv = ['nanomem', '--version']; import nanomem_tui.__main__ as m; m.main();"
        "print(sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.startswith(f"nanomem {__version__}\n")
    for name in ("click", "dataclasses", "json", "textual", "rich"):
        assert f"'{name}'" not in done.stdout


def test_a_command_ends_at_once_whatever_a_thread_is_at():
    probe = (
        "import sys, threading, time; import nanomem_tui.__main__ as m; sys.argv = ['nanomem', '--help'];"
        "busy = lambda: [time.sleep(60), print('still here')];"
        "threading.Thread(target=busy, daemon=True).start();"
        "import atexit; atexit.register(print, 'not at once');"
        "m.start()"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, cwd=ROOT, check=True, timeout=30
    )
    assert done.stdout.startswith("Usage: nanomem")
    assert "at once" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "line",
    [
        ["memory", "status"],
        ["memory", "list"],
        ["memory", "search", "window"],
        ["session", "list"],
        ["--help"],
        ["log"],
    ],
)
def test_commands_that_read_load_nothing_heavy(line, ramfirst):
    probe = (
        "import sys; from nanomem_tui.cli.main import run; code = run(sys.argv[1:]);"
        # Of rich only its table of character widths may be there, which `text` asks for wide characters.
        "heavy = {'textual', 'sqlmodel', 'sqlalchemy', 'pydantic', 'rich.console', 'rapidfuzz'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else code)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", probe, *line], capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_console_needs_a_terminal(ramfirst):
    for line in ([], ["--demo"], ["--workspace", str(ramfirst)], ["--json"]):
        done = nanomem(*line)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode().count("\n") == 1
        assert "terminal" in done.stderr.decode()


def test_a_reader_that_goes_away_is_no_error(ramfirst):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "nanomem_tui", "memory", "list"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


ANSWERS = (["--version"], ["memory", "list"], ["memory", "add", "--text", "Two lamps"], ["undo"], ["backup", "make"])


@pytest.mark.slow
@pytest.mark.parametrize("line", ANSWERS)
def test_a_full_disk_under_stdout_is_said_and_that_it_is_done(ramfirst, run, line):
    run("memory", "add", "--text", "One lamp")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "nanomem_tui", *line]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=env, check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done.stderr
    assert b"the answer cannot be written: stdout: No space left" in done.stderr
    assert b"is done as far as it went" in done.stderr
    texts = {row["text"] for row in run("memory", "list", "--limit", "1000", "--json").json}
    assert ("Two lamps" in texts) == ("add" in line)
    assert ("One lamp" in texts) == (line != ["undo"])
    assert len(run("backup", "list", "--json").json) == (line[0] == "backup")


@pytest.mark.slow
def test_a_full_disk_under_stderr_stops_nothing(ramfirst, run):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open("/dev/full", "wb") as full:
        for line, code in ((("memory", "add", "--text", "Two lamps"), 0), (("memory", "show", "nobody"), 2)):
            command = [sys.executable, "-m", "nanomem_tui", *line]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, env=env, check=False)
            assert (done.returncode, b"Two lamps" in done.stdout) == (code, code == 0)


FAILURES = [
    (errors.NotFound("no such item", "x", "see the list"), 2, "no such item: x. Fix: see the list"),
    (errors.NothingToDo("nothing to undo"), 1, "nothing to undo"),
    (PermissionError(errno.EACCES, "Permission denied", "/w/USER.md"), 2, "no permission"),
    (OSError(errno.ENOSPC, "No space left on device", "/w"), 2, "no space left"),
    (OSError(errno.EIO, "Input/output error", "/w"), 2, "Input/output error"),
    (sqlite3.DatabaseError("database disk image is malformed"), 2, "cannot be read"),
    (sqlite3.OperationalError("database is locked"), 2, "busy"),
    (sqlite3.OperationalError("database or disk is full"), 2, "no space left"),
    (sqlite3.OperationalError("attempt to write a readonly database"), 2, "cannot be opened"),
    (KeyboardInterrupt(), 130, "interrupted"),
    (ValueError("\x1b]0;owned\x07\nsecond line"), 2, "internal error: ValueError"),
]


@pytest.mark.parametrize(("error", "code", "text"), FAILURES, ids=lambda value: type(value).__name__)
def test_every_failure_is_one_clear_line(error, code, text, run, ramfirst, monkeypatch):
    def fail(self):
        raise error

    monkeypatch.setattr(Workspace, "status", fail)
    result = run("memory", "status", "--json")
    assert (result.code, result.out) == (code, "")
    assert result.err.count("\n") <= 1
    assert "\x1b" not in result.err
    if code != 130:
        assert text in result.err


def test_an_error_of_the_driver_is_known_inside_its_wrapper():
    class Wrapped(Exception):
        orig = sqlite3.OperationalError("database is locked")

    known = output.as_known(Wrapped())
    assert isinstance(known, errors.Refused)


def test_where_a_failure_happened_is_told_to_who_asks(ramfirst, run, monkeypatch):
    def fail(self):
        raise ValueError("\x1b[2J")

    monkeypatch.setattr(Workspace, "status", fail)
    monkeypatch.setenv("NANOMEM_DEBUG", "1")
    result = run("memory", "status")
    assert "Traceback" in result.err
    assert "\x1b" not in result.err


def test_no_workspace_and_not_a_workspace_are_told_apart(tmp_path, run):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("x")
    said = {
        "nowhere": "no workspace", "file": "not a folder", "empty": "the folder is empty", "full": "no agent's memory",
    }  # fmt: skip
    for name, text in said.items():
        result = run("memory", "status", "--workspace", tmp_path / name)
        assert result.code == 2
        assert text in result.err
        assert result.err.count("\n") == 1


def test_a_folder_that_may_not_be_read_is_said(ramfirst, run, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "listdir", refuse)
    result = run("memory", "list")
    assert result.code == 2
    assert "no permission to read the workspace" in result.err


def test_settings_that_do_not_parse_are_said_with_their_file(ramfirst, run, monkeypatch, tmp_path):
    file = tmp_path / "broken.toml"
    file.write_text("flush_every_updates = = 3\n")
    monkeypatch.setenv("NANOMEM_CONFIG", str(file))
    result = run("memory", "status")
    assert result.code == 2
    assert str(file) in result.err
    assert result.err.count("\n") == 1


def database_of(workspace, run):
    run("memory", "add", "--text", "makes the database")
    return workspace.parent / "nanomem" / "nanomem.db"


def test_a_database_of_a_later_version_is_left_alone(ramfirst, run):
    file = database_of(ramfirst, run)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0099'")
        connection.commit()
    connection.close()
    for line in (["memory", "list"], ["memory", "add", "--text", "another"]):
        result = run(*line)
        assert result.code == 2
        assert "newer nanomem" in result.err
        assert result.err.count("\n") == 1


@pytest.mark.slow
def test_a_corrupt_database_is_said_and_kept(ramfirst, run):
    file = database_of(ramfirst, run)
    for side in ("-wal", "-shm"):
        file.with_name(file.name + side).unlink(missing_ok=True)
    file.write_bytes(b"this is no database" * 300)
    before = file.read_bytes()
    result = run("memory", "list")
    assert result.code == 2
    assert "cannot be read" in result.err
    assert "doctor --fix" in result.err
    assert result.err.count("\n") == 1
    status = run("memory", "status")
    assert (status.code, status.err.count("\n")) == (2, 1)
    assert "items, lessons could not be counted" in status.err
    assert "Items" in status.out
    assert "None" not in status.out
    listed = run("session", "list", "--json")
    assert (listed.code, len(json.loads(listed.out))) == (0, 6), "what the agent keeps in files"
    assert listed.err.startswith("Imported conversations are left out: ")
    assert run("doctor").code == 1
    assert file.read_bytes() == before
    assert run("doctor", "--fix", "--yes").code == 0
    assert "makes the database" in run("memory", "list").out, "from the copy and the operations since"


def test_ctrl_c_at_the_question_is_130(ramfirst, run, monkeypatch):
    def interrupt(question):
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "can_ask", lambda: True)
    monkeypatch.setattr(output, "ask", interrupt)
    assert run("memory", "lessons", "reset").code == 130


@pytest.mark.slow
def test_a_screen_is_printed_as_text_or_written_as_a_picture(ramfirst, tmp_path):
    printed = nanomem("--snapshot", "items", "--size", "72x16")
    assert (printed.returncode, printed.stderr) == (0, b"")
    lines = printed.stdout.decode("utf-8").splitlines()
    assert len(lines) == 16
    assert all(cell_width(line) <= 72 for line in lines)
    assert any("156" in line for line in lines)
    file = tmp_path / "screen.svg"
    drawn = nanomem("--snapshot", "lessons", "--svg", file)
    assert (drawn.returncode, drawn.stdout) == (0, b"")
    assert file.read_text("utf-8").startswith("<svg")
    assert 'url("http' not in file.read_text("utf-8"), "who looks at a picture fetches nothing"
    png = tmp_path / "screen.png"
    drawn = nanomem("--snapshot", "lessons", "--png", png)
    if drawn.returncode == 0:
        assert png.read_bytes().startswith(b"\x89PNG")
    else:
        assert b"no font of even width on this machine" in drawn.stderr


def test_the_best_font_that_is_there_draws_a_picture(tmp_path):
    assert monospaced([tmp_path, tmp_path / "nowhere"]) is None
    (tmp_path / "truetype").mkdir()
    (tmp_path / "truetype" / "LiberationMono-Regular.ttf").touch()
    assert monospaced([tmp_path]) == "Liberation Mono"
    (tmp_path / "DejaVuSansMono.ttf").touch()
    assert monospaced([tmp_path]) == "DejaVu Sans Mono"


@pytest.mark.slow
def test_a_screen_of_the_demonstration_leaves_nothing_behind(ramfirst, tmp_path, run, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "tmp").mkdir()
    before = sorted(path for path in ramfirst.parent.rglob("*"))
    result = run("--demo", "--snapshot", "items", "--size", "100x30")
    assert (result.code, result.err) == (0, "")
    assert demo.ITEMS[0][1][:20] in result.out or demo.ITEMS[-1][1][:20] in result.out
    assert list((tmp_path / "tmp").iterdir()) == []
    assert sorted(path for path in ramfirst.parent.rglob("*")) == before


@pytest.mark.parametrize("place", ["nowhere/screen.svg", "."])
def test_a_picture_that_cannot_be_written_names_its_file(place, ramfirst, tmp_path, run):
    file = f"{tmp_path}/{place}"
    for line in (("--snapshot", "status", "--svg", file), ("memory", "export", "--output", file)):
        result = run(*line)
        assert result.code == 2
        assert file.removesuffix("/.") in result.err
        assert "nanomem-tmp" not in result.err
        assert result.err.count("\n") == 1


def test_a_command_is_meant_only_where_what_was_typed_is_near_it(ramfirst, run):
    assert "did you mean" not in run("frobnicate").err
    assert "did you mean 'memory'?" in run("memroy").err
    assert "did you mean 'list'?" in run("memory", "ls").err


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--demo memory list", "--demo goes with no command"),
        ("memory list --demo", "--demo goes with no command"),
        ("--snapshot items memory list", "--snapshot goes with no command"),
        ("--dry-run memory flush", "--dry-run stands after the command"),
        ("--demo --run-dream", "--demo does not go with --run-dream"),
        ("--demo --workspace /tmp", "--workspace does not go with it"),
        ("--demo", "`nanomem --demo --snapshot items` prints a screen"),
        ("--snapshot items --size 0x10", "no size"),
    ],
)
def test_options_of_the_console_say_where_they_belong(line, text, ramfirst, run, capsys):
    assert run(*line.split()).code == 2
    result = run(*line.split())
    assert text in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(("line", "text"), [(["itms"], "items"), (["items", "--size", "wide"], "80x24")])
def test_a_screen_that_is_not_there_or_has_no_size_is_one_line(line, text, ramfirst, run):
    result = run("--snapshot", *line)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert text in result.err


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code", "left"), [("y", 0, 155), ("", 1, 156)])
def test_at_a_real_terminal_a_person_is_asked_and_enter_alone_is_a_no(answer, code, left, ramfirst, run):
    chosen = run("memory", "list", "--limit", "1", "--json").json[0]["id"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = pexpect.spawn(sys.executable, ["-m", "nanomem_tui", "memory", "delete", chosen], env=env, timeout=60)
    child.expect_exact("Delete 1 item? [y/N]")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code
    assert len(run("memory", "list", "--json").json) == left


def test_the_help_of_the_service_says_where_its_socket_is(tmp_path):
    told = " ".join(nanomem("serve", "grpc", "--help").stdout.decode().split())
    alone, inside = tmp_path / "alone", tmp_path / "home" / "workspace"
    for workspace in (alone, inside):
        (workspace / "memory").mkdir(parents=True)
    (inside.parent / "config.json").write_text("{}")
    assert find_workspace(alone).data == alone / "memory" / "nanomem"
    assert find_workspace(inside).data == inside.parent / "nanomem"
    assert "`nanomem` beside the workspace" in told
    assert "`memory/nanomem` in a workspace that is in no agent's home" in told
