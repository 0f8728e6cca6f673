"""A real nanobot-ai on the agent home under $HOME, started as its own command line is; offline, with a scripted model.

Runs under the Python of the agent's own environment with the environment that `nanomem attach run` makes: nothing here
knows of nanomem. Reads a JSON list of steps on standard input and prints one JSON object.

    {"say": TEXT, "chat": "telegram:7", "sender": "u1", "answers": [...], "session": KEY, "ephemeral": false}

does one turn; each answer is {"text"} or {"tool", "arguments"}, and when they run out the model says "ok". With
{"kill": true} the process named in `$NANOMEM_TEST_PID_FILE` is killed while the model answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from nanobot.agent.loop import AgentLoop
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.bus.queue import MessageBus
from nanobot.config.loader import load_config
from scripted_model import ScriptedModel


def kill_children() -> None:
    """kill -9 for every process that this one started."""
    for entry in Path(f"/proc/{os.getpid()}/task").glob("*/children"):
        for pid in entry.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


async def run(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Every step in one process: its reply and the requests that the model got for it."""
    config = load_config(Path.home() / ".nanobot" / "config.json")
    model, bus = ScriptedModel(), MessageBus()
    extra: dict[str, Any] = {}
    with contextlib.suppress(ImportError):  # as the command line composes it
        from nanobot.agent.hooks import create_file_edit_activity_hook

        extra["hook_factories"] = [create_file_edit_activity_hook]
    servers: Any = None
    if "tool_registry" in inspect.signature(AgentLoop.__init__).parameters:  # not before 0.3.5
        from nanobot.agent.tools.mcp import MCPProvider

        extra["tool_registry"] = ToolRegistry()
        servers = MCPProvider.from_config(config, extra["tool_registry"])
        await servers.connect()
    loop = AgentLoop.from_config(config, bus, provider=model, model="scripted", **extra)
    done = []
    for step in steps:
        model.answers, model.calls = list(step.get("answers", [])), []
        model.asked = kill_children if step.get("kill") else lambda: None
        channel, _, chat = step.get("chat", "cli:direct").partition(":")
        reply = await loop.process_direct(
            step["say"],
            session_key=step.get("session", f"{channel}:{chat}"),
            channel=channel,
            chat_id=chat,
            sender_id=step.get("sender", "user"),
            ephemeral=bool(step.get("ephemeral")),
        )
        done.append({"reply": reply.content if reply is not None else "", "calls": model.calls})
    if servers is not None:
        await servers.aclose()
    return {"steps": done, "modules": sorted(name for name in sys.modules if name.startswith("nanomem"))}


if __name__ == "__main__":
    steps = json.loads(sys.stdin.read())
    print(json.dumps(asyncio.run(run(steps))))
