"""A real nanobot-ai with our MCP server in its config: another environment, another line of the protocol's library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nanomem_tui.memory.safety import FENCE_OPEN
from tests.conftest import need
from tests.interop.real_agent import PEER, ROOT
from tests.servers.test_mcp import INSTALLED

pytestmark = pytest.mark.interop

DRIVER = Path(__file__).with_name("attached_driver.py")
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from nanomem_tui.__main__ import main; sys.exit(main())"


def turns(agent, *calls):
    """A turn for each call of a tool by the model: the tools that it was offered, and what each answered."""
    steps = [
        {"say": "who fixes the pipe?", "chat": f"cli:{number}", "answers": [{"tool": tool, "arguments": arguments}]}
        for number, (tool, arguments) in enumerate(calls)
    ]
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [PEER, DRIVER],
        input=json.dumps(steps),
        env={"HOME": str(agent.home), "PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8", **nowhere},
        cwd=agent.home,
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = [step["calls"] for step in json.loads(done.stdout)["steps"]]
    return found[0][0]["tools"], [str(called[1]["messages"][-1]["content"]) for called in found]


def test_the_agent_calls_memory_search_of_the_server_in_its_config(agent, ws):
    need(INSTALLED, "no library of the protocol: pip install 'mcp>=2.3,<3'")
    ws.facts.set("Contact", "plumber", "Ivan, 555 0177", domain="Home")
    path = agent.home / ".nanobot" / "config.json"
    config = json.loads(path.read_text())
    server = {"command": sys.executable, "args": ["-c", START, "serve", "mcp", "--workspace", str(agent.workspace)]}
    config.setdefault("tools", {})["mcpServers"] = {"nanomem": server}
    path.write_text(json.dumps(config))
    tools, (filed, recalled, refused) = turns(
        agent,
        ("mcp_nanomem_memory_search", {"domain": "home"}),
        ("mcp_nanomem_recall", {"query": "who is my plumber?"}),
        ("mcp_nanomem_memory_search", {"query": " "}),
    )
    assert {"mcp_nanomem_memory_search", "mcp_nanomem_recall"} <= set(tools)
    assert FENCE_OPEN in filed
    assert "- [Home / Contact] plumber: Ivan, 555 0177 (" in filed
    assert "- [fact] plumber: Ivan, 555 0177" in recalled
    assert "give words, a domain or a category" in refused
