"""The start of an attached Python, with a package that looks like the agent's; each in a process of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui.attach import agents
from tests.attach.conftest import SERVE

PARTS = {
    "nanobot/__init__.py": "",
    "nanobot/agent/__init__.py": "",
    "nanobot/agent/hook.py": "class AgentHook:\n    pass\n",
    "nanobot/agent/tools/__init__.py": "",
    "nanobot/agent/tools/base.py": "class Tool:\n    pass\n",
    "nanobot/agent/loop.py": """
class Tools(dict):
    def has(self, name): return name in self
    def register(self, tool): self[tool.name] = tool
class AgentLoop:
    def __init__(self, workspace, {argument}=None):
        self.workspace, self.hooks, self.tools = workspace, {argument}, Tools()
""",
}
LOOK = """
import json, sys
from nanobot.agent.loop import AgentLoop
loop = AgentLoop("/w")
print(json.dumps({"hooks": len(loop.hooks or []), "tools": list(loop.tools),
                  "ours": sorted(n for n in sys.modules if n.startswith("nanomem"))}))
"""


def start(tmp_path, code, *, argument="hook_factories", extra=""):
    for name, text in PARTS.items():
        path = tmp_path / "agent" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{argument}", argument))
    environment = agents.environment(None, {"PATH": "", "NANOMEM_COMMAND": f"{sys.executable} {SERVE} {tmp_path}/log"})
    environment["PYTHONPATH"] += os.pathsep + str(tmp_path / "agent") + extra
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("argument", ["hook_factories", "hooks"])
def test_the_loop_gets_the_hook_and_the_tool(tmp_path, argument):
    out, err = start(tmp_path, LOOK, argument=argument)
    said = json.loads(out)
    assert (said["hooks"], said["tools"], err) == (1, ["memory_recall"], "")
    # Beside an installed nanomem they have its name; either way these modules are all that comes into the agent.
    ours = re.compile(r"nanomem_attach(\..*)?|nanomem_tui(\.attach(\..*)?)?")
    assert [name for name in said["ours"] if not ours.fullmatch(name)] == []


def test_an_agent_without_hooks_starts_and_says_so(tmp_path):
    out, err = start(tmp_path, LOOK, argument="something")
    assert json.loads(out)["hooks"] == 0
    assert "runs without memory" in err


def test_a_python_that_is_no_agent_loads_two_small_modules(tmp_path):
    code = "import sys; print([n for n in sys.modules if 'nanomem' in n], 'asyncio' in sys.modules, sys.path[0])"
    out, err = start(tmp_path, code)
    assert out.startswith("['nanomem_attach', 'nanomem_attach.watch'] False")
    assert (err, "startup" in out) == ("", False)


def test_the_environments_own_start_still_runs(tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('their own')\n")
    out, err = start(tmp_path, "import sitecustomize; print(sitecustomize.__file__)", extra=os.pathsep + str(own))
    assert (out.splitlines()[0], Path(out.splitlines()[1]).parent, err) == ("their own", own, "")
