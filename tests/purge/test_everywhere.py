"""Whatever lies in the home is looked through, or named: other files, folders that cannot be read, rows in copies."""

import gzip
import json
import os
from collections.abc import Callable

import pytest

from tests.cli.conftest import Result
from tests.purge import planted

Run = Callable[..., Result]
SECRET = "sk-proj-" + "Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8"


@pytest.fixture
def scattered(home):
    """A home with a secret, and a text, in files that belong to no memory."""
    workspace = home("nb035")
    line = json.dumps({"role": "user", "content": f"the key is {SECRET}"})
    written = {
        workspace / "b.txt": f"tea\nthe key is {SECRET}\n",
        workspace / "sub" / "a.md": f"# A\n\n- the key is {SECRET}\n",
        workspace / "sub" / "hello.py": f'KEY = "{SECRET}"\nprint(KEY)\n',
        workspace.parent / "sessions" / "z.jsonl.bak": f"{line}\n",
        workspace.parent / "media" / "y.txt": f"{SECRET}\n",
    }
    for path, text in written.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return workspace


NAMES = ("workspace/b.txt", "workspace/sub/a.md", "workspace/sub/hello.py", "sessions/z.jsonl.bak", "media/y.txt")


@pytest.mark.slow
def test_every_text_of_the_home_is_looked_through(scattered, run):
    told = run("scrub").out
    assert not [name for name in NAMES if name not in told]
    assert run("scrub", "--mask", "--yes").code in (0, 1)
    assert planted.outside_git(scattered.parent, SECRET) == []
    assert "print(KEY)" in (scattered / "sub" / "hello.py").read_text()


LINE = f"password: {SECRET}, and the Quxwhalery\n"


@pytest.fixture
def beside(home, monkeypatch, tmp_path):
    """A home with a secret, and a text, in what lies in the agent's home beside the memory."""
    workspace = home("nb035")
    top = workspace.parent
    job = {"id": "a1", "schedule": {"kind": "every"}, "payload": {"message": LINE}}
    written = {
        top / "history" / "cli_history": f"\n# 2026-11-20 10:00:00\n+{LINE}".encode(),
        top / "cron" / "jobs.json": json.dumps({"version": 1, "jobs": [job]}).encode(),
        top / "logs" / "agent.log": f"10:00 INFO {LINE}".encode(),
        top / "bridge" / "auth.json": json.dumps({"token": SECRET, "note": "Quxwhalery"}).encode(),
        top / "logs" / "old.log.gz": gzip.compress(LINE.encode()),
        top / "bridge" / "node_modules" / "a.js": LINE.encode(),
        workspace / "memory" / "2026-11-21.md": f"# Notes\n- {LINE}- buy bread\n".encode("utf-16"),
        workspace / "memory" / "old.zip": b"PK\x03\x04 whatever it holds",
    }
    for path, data in written.items():
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(data)
    planted.git(workspace, "remote", "add", "origin", f"https://ana:{SECRET}@quxwhalery.example/x.git")
    settings = tmp_path / "config.toml"
    settings.write_text("# the Quxwhalery\n")
    monkeypatch.setattr("nanomem_tui.store.moving.backup.user_settings", lambda: settings)
    return workspace


CLEANED = ("history/cli_history", "cron/jobs.json", "logs/agent.log", "workspace/memory/2026-11-21.md")
LEFT = ("bridge/auth.json", "logs/old.log.gz", ".git/config")


@pytest.mark.slow
@pytest.mark.parametrize("line", [("scrub", "--mask"), ("forget", "--text", "Quxwhalery")])
def test_what_lies_in_the_home_is_cleaned_or_told(beside, run, line, tmp_path):
    word = SECRET if line[0] == "scrub" else planted.WORD
    told = run(*line, "--dry-run").out
    assert [name for name in (*CLEANED, *LEFT) if name not in told] == []
    done = run(*line, "--yes")
    assert done.code == 1
    for name in LEFT:
        assert f"Left: {name}: " in done.out
        assert "it came back" not in done.out
    assert ("Left: " + str(tmp_path / "config.toml") in done.out) == (line[0] == "forget")
    assert "Could not be looked through: workspace/memory/old.zip" in done.out
    assert "Not looked at: 1 folder of programs: bridge/node_modules." in done.out.replace("2 folders", "1 folder")
    left = ["bridge/auth.json", "bridge/node_modules/a.js", "logs/old.log.gz", "workspace/.git/config"]
    assert planted.holding(beside.parent, word) == left
    assert "- buy bread" in (beside / "memory" / "2026-11-21.md").read_text("utf-16")
    assert json.loads((beside.parent / "cron" / "jobs.json").read_text())["jobs"][0]["id"] == "a1"


@pytest.mark.slow
def test_the_keys_that_an_agent_needs_are_never_masked(home, run):
    config = home("nb035").parent / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "providers": {"openai": {"apiKey": SECRET}}}))
    assert run("scrub", "--mask", "--yes").code == 1
    assert SECRET in config.read_text()
    assert "config.json (line 1): OpenAI key" in run("scrub").out


@pytest.mark.slow
def test_a_text_to_forget_too_and_no_picture_is_touched(scattered, run):
    picture = scattered / "p.png"
    picture.write_bytes(b"\x89PNG\0" + SECRET.encode())
    assert run("forget", "--text", SECRET, "--yes").code in (0, 1)
    assert planted.holding(scattered.parent, SECRET) == ["workspace/p.png"]
    assert (scattered / "b.txt").read_text() == "tea\n"


def test_a_file_that_is_no_text_is_named_and_left(workspace, run):
    held = {
        "p.png": b"\x89PNG\0" + b"...purple giraffe...",
        "notes.txt": "The Purple Giraffe\n".encode("utf-16"),
        "another.png": b"\x89PNG\0 of a giraffe",
    }
    for name, data in held.items():
        (workspace / name).write_bytes(data)
    told = run("forget", "--text", "Purple Giraffe", "--yes")
    assert told.code == 1, "something is left"
    for name in ("p.png", "notes.txt"):
        line = next(line for line in told.out.splitlines() if f"workspace/{name}" in line)
        assert "no text: look at it yourself" in line
    assert "another.png" not in told.out
    assert {name: (workspace / name).read_bytes() for name in held} == held


def test_of_a_word_that_stands_in_any_picture_nothing_is_said(workspace, run):
    (workspace / "p.png").write_bytes(b"\x89PNG\0...Ana...")
    assert "p.png" not in run("forget", "--text", "Ana", "--yes").out


@pytest.mark.slow
def test_a_file_that_is_too_large_is_named(scattered, run):
    with (scattered / "large.log").open("wb") as file:
        file.truncate((16 << 20) + 1)
    assert "Not looked at: 1 file of no memory, larger than 16 MB: workspace/large.log." in run("scrub").out


@pytest.mark.slow
def test_a_link_that_leads_out_of_the_memory_is_named(home, run, tmp_path):
    workspace = home("nb035")
    outside, document = tmp_path / "outside.md", workspace / "memory" / "MEMORY.md"
    outside.write_text(f"- the key is {SECRET}\n- the purple giraffe\n")
    document.unlink()
    document.symlink_to(outside)
    (workspace / "also.md").symlink_to(workspace / "USER.md")  # what it leads to is looked through
    (workspace / "gone.md").symlink_to(tmp_path / "nowhere")
    (workspace / "more").mkdir()
    (workspace / "more" / "out").symlink_to(tmp_path)
    named = (
        f"Could not be looked through: workspace/memory/MEMORY.md: it is a link to {outside}, which is not looked at"
    )
    for line in (["scrub"], ["scrub", "--mask", "--yes"], ["forget", "--text", "purple giraffe", "--yes"]):
        told = run(*line)
        assert (told.code, told.out.count("not looked at"), named in told.out) == (1, 1, True)
        assert "Not looked at: 1 link of no memory to places outside: workspace/more/out." in told.out
        assert "also.md" not in told.out
        assert "gone.md" not in told.out
    assert "; 1 place left" in run("log", "--limit", "1").out
    assert "purple giraffe" in outside.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "said"), [(1, "1 time in 1 place"), (2, "2 times in 1 place")])
def test_a_receipt_counts_in_plain_english(home, run, lines, said):
    with (home("nb035") / "USER.md").open("a") as file:
        file.write("- the purple giraffe\n" * lines)
    done = run("forget", "--text", "purple giraffe", "--yes")
    assert f"forgot 1 text: {said}" in done.out.lower()
    assert f"forgot 1 text: {said}" in run("log", "--limit", "1").out


@pytest.mark.slow
def test_a_folder_that_cannot_be_read_is_named_and_nothing_is_taken_out(scattered, run, monkeypatch):
    listdir = os.listdir

    def denied(path="."):
        if str(path).endswith("skills"):
            raise PermissionError(13, "Permission denied", str(path))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", denied)
    told = run("scrub")
    assert told.code == 1
    assert "Could not be looked through: workspace/skills: it cannot be read (Permission denied)" in told.out
    assert "workspace/skills" in run("forget", "--text", SECRET, "--dry-run").out
    for line in (["forget", "--text", SECRET], ["scrub", "--mask"]):
        refused = run(*line, "--yes")
        assert (refused.code, "workspace/skills" in refused.err) == (2, True)
    assert len(planted.holding(scattered.parent, SECRET)) == len(NAMES)
    assert run("forget", "--list", "--json").json == []


def test_by_id_a_short_text_goes_from_the_log_of_the_agent_and_from_copies(workspace, run):
    assert run("memory", "add", "--text", "Quxwhal").code == 0
    assert run("memory", "flush").code == 0
    key = run("memory", "list", "--limit", "1", "--json").json[0]["id"]
    audit = workspace / "memory" / "LTM_AUDIT.jsonl"
    assert key in audit.read_text()
    assert run("forget", "--id", key, "--yes").code == 0
    assert planted.outside_git(workspace.parent, "Quxwhal") == []
    assert key not in audit.read_text()


def test_that_copies_made_elsewhere_are_not_reached_is_said(workspace, run, tmp_path):
    assert run("memory", "add", "--text", "tea at ten").code == 0
    assert run("backup", "make", "--in", str(tmp_path / "usb")).code == 0
    for more in (["--dry-run"], ["--yes"]):
        assert "Not reached: backups made with `--in`" in run("forget", "--text", "tea at ten", *more).out


@pytest.mark.slow
@pytest.mark.sqlite("the file itself")
@pytest.mark.parametrize("damage", ["", "header"])
def test_in_the_bytes_of_a_database_other_fields_stand_right_beside_it(home, run, damage):
    """A database that somebody committed, and a damaged one in the quarantine: a row has nothing between its fields."""
    workspace = home("nb035")
    planted.plant(workspace, run)
    data = workspace.parent / "nanomem" / "nanomem.db"
    run("memory", "flush")
    if damage:
        kept = data.parent / "quarantine" / "nanomem.db.1"
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(b"\0" * 100 + data.read_bytes()[100:])
    else:
        (workspace / "old.db").write_bytes(data.read_bytes())
        planted.git(workspace, "add", "--force", "old.db")
        planted.git(workspace, "commit", "-q", "-m", "a copy")
        planted.git(workspace, "rm", "-q", "--cached", "old.db")
        planted.git(workspace, "commit", "-q", "-m", "none")
        (workspace / "old.db").unlink()
    assert run("forget", "--text", planted.TEXT, "--backups", "--yes").code == 1  # git
    assert planted.outside_git(workspace.parent) == []
