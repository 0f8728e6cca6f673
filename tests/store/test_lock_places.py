"""What lies in the place of a lock and is no file blocks nobody for ever, and is told and moved away."""

import os
import socket

import pytest

pytestmark = pytest.mark.sqlite("the locks of a file")
NEEDED = {"store.lock", "operations.lock"}
"""Without these no change is made."""
OTHERS = ("history.lock", "consolidate.lock", "dream.lock", "work.lock", "embedding.lock", "files.lock")
PIPES = [("store.lock", "pipe"), ("store.lock", "socket"), ("work.lock", "pipe")]
PLACES = [*((name, "folder") for name in (*sorted(NEEDED), *OTHERS)), *PIPES]


@pytest.fixture
def data(tmp_path, monkeypatch, run):
    workspace = tmp_path / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace.parent / "config.json").write_text("{}")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    assert run("memory", "add", "--text", "Ana has two cats").code == 0
    return workspace.parent / "nanomem"


def put(path, kind, monkeypatch):
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
        (path / "kept").write_text("of somebody")
    else:
        monkeypatch.chdir(path.parent)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), PLACES)
def test_it_is_an_error_that_the_doctor_moves_away(
    data,
    run,
    monkeypatch,
    name,
    kind,
):
    put(data / name, kind, monkeypatch)
    added = run("memory", "add", "--text", "Ana plays chess")
    refused = name in NEEDED and kind != "pipe"
    assert (added.code, added.err.count("\n")) == ((2, 1) if refused else (0, 0)), added.err
    told = run("doctor")
    assert told.code == 1
    assert f"nanomem/{name}: a {kind} lies in the place of a lock" in told.out
    fixed = run("doctor", "--fix", "--yes")
    assert fixed.code == 0, fixed.err
    assert f"Fixed: nanomem/{name}" in fixed.out
    [kept] = (data / "quarantine").glob(f"*-{name}")
    assert kind != "folder" or (kept / "kept").read_text() == "of somebody"
    assert run("memory", "add", "--text", "Ana sails").err == ""
    assert len(run("memory", "list", "--json").json) == (2 if refused else 3)
