"""What docs/agents.md tells makers of other agents is true: its examples run, its fields are those of the answers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "agents.md").read_text(encoding="utf-8")


def example(language):
    """The example of that language on the page."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.fixture
def environment(tmp_path):
    """A PATH with our `nanomem`, and a home of its own."""
    script = tmp_path / "bin" / "nanomem"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nanomem_tui "$@"\n')
    script.chmod(0o755)
    folders = [str(script.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    root = str(Path(__file__).resolve().parents[1])
    return {**os.environ, "PATH": os.pathsep.join(folders), "HOME": str(tmp_path), "PYTHONPATH": root}


@pytest.mark.slow
def test_the_examples_run(tmp_path, environment):
    shell = subprocess.run(
        ["sh", "-ec", example("sh")], env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert (shell.returncode, shell.stderr) == (0, "")
    assert '"kind": "preference"' in shell.stdout
    assert "I prefer the window seat." in shell.stdout
    environment["NANOMEM_WORKSPACE"] = str(tmp_path / "myagent" / "memory-home")
    python = subprocess.run(
        [sys.executable, "-c", example("python")],
        env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert (python.returncode, python.stderr) == (0, "")
    assert "I prefer the window seat." in python.stdout
    assert "{'stopped': True}" in python.stdout


def test_every_field_of_an_answer_is_told(tmp_path, environment):
    workspace = tmp_path / "w"
    workspace.mkdir()
    who = {"channel": "telegram", "chat_id": "7", "text": "hello"}
    lines = [{"do": "begin", **who}, {"do": "turn", **who, "assistant": "Hi!"}, {"do": "flush"}]
    lines.append({"do": "recall", **who, "text": "long " * 110_000, "colour": "red"})
    done = subprocess.run(
        ["nanomem", "turn", "serve", "--workspace", str(workspace)],
        input="".join(json.dumps(line) + "\n" for line in lines),
        env=environment, capture_output=True, encoding="utf-8", timeout=60, check=True,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert answers[-1].keys() >= {"clipped", "problems"}
    for answer in answers:
        for field in answer:
            assert f"`{field}`" in PAGE or f'"{field}"' in PAGE, field
