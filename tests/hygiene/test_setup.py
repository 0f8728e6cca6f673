"""The first minute on a new machine: `make demo` works, or says in one line what is missing."""

import os
import shutil
import subprocess
import sys

import pexpect
import pytest

from tests.hygiene.repository import ROOT

SCRIPT = ROOT / "scripts" / "venv.sh"


def machine(tmp_path, python):
    """The environment of a machine with a shell, `rm`, and the `python3` whose script is given."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "rm"):
        (programs / name).symlink_to(str(shutil.which(name)))
    if python is not None:
        (programs / "python3").write_text(f"#!/bin/sh\n{python}\n")
        (programs / "python3").chmod(0o755)
    return {"PATH": str(programs), "HOME": str(tmp_path)}


def install(tmp_path, environment):
    command = [str(shutil.which("sh")), SCRIPT, tmp_path / "venv", "nothing-to-install"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (None, "no Python >= 3.11 found: install one"),
        ("exit 1", "no Python >= 3.11 found: install one"),
        ('case "$1" in -c) exit 0;; esac; exit 1', "python3 cannot make a virtual environment: install its venv part"),
    ],
    ids=["no python", "an old python", "a python without venv"],
)
def test_what_is_missing_is_said_in_one_line(tmp_path, python, said):
    done = install(tmp_path, machine(tmp_path, python))
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_make_demo_works_in_a_clean_clone_with_a_clean_home(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    subprocess.run(["git", "clone", "-q", ROOT, tmp_path / "clone"], check=True)
    (tmp_path / "home").mkdir()
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    environment = {**kept, "HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "TERM": "xterm-256color"}
    console = pexpect.spawn(
        "make demo", cwd=tmp_path / "clone", env=environment, encoding="utf-8", timeout=300, dimensions=(24, 80)
    )
    console.logfile_read = sys.stderr
    console.expect("Items")
    console.send("q")
    console.expect(pexpect.EOF, timeout=20)
    console.close()
    assert console.exitstatus == 0
