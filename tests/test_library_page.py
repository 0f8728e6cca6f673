"""What docs/library.md tells makers of programs is true: its examples run, and the parts that it names are there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui import open_workspace

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_examples_run_one_after_the_other(tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    said = []
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        done = subprocess.run(
            [sys.executable, "-W", "error::UserWarning", "-c", example],
            env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        said.append(done.stdout)
    assert len(said) == 4
    assert said[0].count("Ana prefers the aisle seat") >= 3, "listed, found and recalled"
    assert "nobody" in said[0], "the error names what is not there"
    assert "black" in said[1]
    assert said[2].index("Porto") < said[2].index("Lisbon"), "the newest value first"
    assert said[2].count("['Porto']") == 2
    assert "raised its memory limit" in said[3], "what helped before"


def test_the_parts_that_are_named_are_there(tmp_path):
    (tmp_path / "w").mkdir()
    with open_workspace(tmp_path / "w") as ws:
        for name in set(re.findall(r"\bws\.(\w+)", PAGE)):
            assert hasattr(ws, name), name
