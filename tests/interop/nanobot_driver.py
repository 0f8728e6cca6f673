"""Drives a real nanobot-ai 0.3.5 on the agent home under $HOME, with a scripted model, offline; prints one JSON object.

Runs under the Python of the agent's own environment: the standard library and nanobot only, nothing of ours.

    turn MESSAGE [--session KEY]     one user turn: {"reply", "calls": [{"messages", "tools"}]}, as the model saw them
    dream                            one `/dream` run: {"reply", "calls"}; the script says what the model does
    dream-log [SHA]                  {"reply"}
    dream-restore [SHA]              {"reply"}
    sessions                         {"sessions": [...]}, as its own store lists and loads them (see `sessions` below)

The script comes on standard input as JSON: a list of the model's answers in order, each {"text": ...} or
{"tool": name, "arguments": {...}}; when it runs out the model says "ok".
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from loguru import logger
from nanobot.agent.loop import AgentLoop
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.bus.queue import MessageBus
from nanobot.config.loader import load_config
from scripted_model import ScriptedModel


def build(answers: list[dict[str, Any]]) -> tuple[AgentLoop, MessageBus, ScriptedModel]:
    """The agent as its own `from_config` builds it, but for the model."""
    config = load_config(Path.home() / ".nanobot" / "config.json")
    model, bus = ScriptedModel(answers), MessageBus()
    loop = AgentLoop.from_config(config, bus, provider=model, model="scripted", tool_registry=ToolRegistry())
    return loop, bus, model


async def say(loop: AgentLoop, message: str, session: str) -> str:
    """What the agent answers to one message of the command line channel."""
    channel, _, chat = session.partition(":")
    reply = await loop.process_direct(message, session_key=session, channel=channel, chat_id=chat)
    return reply.content if reply is not None else ""


async def dream(loop: AgentLoop, bus: MessageBus) -> str:
    """`/dream` answers at once and works behind: the report comes over the bus."""
    await say(loop, "/dream", "cli:direct")
    while True:
        message = await asyncio.wait_for(bus.consume_outbound(), timeout=60)
        if "Dream" in message.content:
            return message.content


def sessions(loop: AgentLoop) -> list[dict[str, Any]]:
    """Every session that the agent lists: its messages, those that it would replay to a model, and its two offsets."""
    found = []
    for row in loop.sessions.list_sessions():
        session = loop.sessions.get_or_create(row["key"])
        found.append(
            {
                "key": session.key,
                "messages": session.messages,
                "replayed": session.get_history(),
                "last_archived": session.last_archived,
                "last_consolidated": session.last_consolidated,
            }
        )
    return found


async def run(arguments: argparse.Namespace, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer to one subcommand."""
    loop, bus, model = build(answers)
    if arguments.do == "sessions":
        return {"sessions": sessions(loop)}
    if arguments.do == "dream":
        return {"reply": await dream(loop, bus), "calls": model.calls}
    if arguments.do == "turn":
        return {"reply": await say(loop, arguments.message, arguments.session), "calls": model.calls}
    command = f"/{arguments.do} {arguments.sha}".strip()
    return {"reply": await say(loop, command, "cli:direct")}


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="do", required=True)
    turn = kinds.add_parser("turn")
    turn.add_argument("message")
    turn.add_argument("--session", default="cli:interop")
    for name in ("dream-log", "dream-restore"):
        kinds.add_parser(name).add_argument("sha", nargs="?", default="")
    kinds.add_parser("dream")
    kinds.add_parser("sessions")
    arguments = parser.parse_args()
    logger.remove()
    answers = json.loads(sys.stdin.read() or "[]")
    print(json.dumps(asyncio.run(run(arguments, answers))))


if __name__ == "__main__":
    main()
