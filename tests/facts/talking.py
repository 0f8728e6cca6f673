"""A small home whose people talk: sessions written message by message, as an agent does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from nanomem_tui.agents.session_names import key_to_lossy_name
from nanomem_tui.memory.facts import crystallize
from nanomem_tui.memory.facts.crystallize import Crystallized, Decision, Plan
from nanomem_tui.memory.facts.dialogue import SpokenMessage
from nanomem_tui.memory.facts.proposals import Proposal
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.workspace import Workspace

START = datetime(2026, 3, 1, 9, 0, 0)


def facts_in(text: str, before: str = "") -> list[Proposal]:
    """What the rules propose of one message; `before`: what the assistant said right before it."""
    return crystallize.propose_by_rules([SpokenMessage("cli:direct", 0, START.isoformat(), text, before)])


def over_in(text: str) -> list[Proposal]:
    """What one message says to be so no longer."""
    return crystallize.find_ended_facts([SpokenMessage("cli:direct", 0, START.isoformat(), text)])


def talking(base: Path, **sessions: Sequence[str]) -> Path:
    """A workspace in which `cli_direct=["I live in Rome"]` was said; `telegram_42` is the session `telegram:42`."""
    workspace = base / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "LESSONS.jsonl").write_text("")  # of a system that has no Dreams of its own
    for name, messages in sessions.items():
        say(workspace, name.replace("_", ":", 1), *messages)
    return workspace


def say(workspace: Path, key: str, *messages: str | dict[str, Any], at: datetime | None = None) -> Path:
    """Append messages to a session: a text is one of the user, `bot: …` one of the assistant; a minute apart."""
    file = workspace / "sessions" / key_to_lossy_name(key)
    file.parent.mkdir(exist_ok=True)
    known = file.read_bytes().count(b"\n") if file.exists() else 0
    lines = [] if known else [{"_type": "metadata", "key": key, "created_at": START.isoformat(), "metadata": {}}]
    for number, given in enumerate(messages, max(known, 1)):
        moment = (at or START) + timedelta(minutes=number)
        message: dict[str, Any] = {"content": given} if isinstance(given, str) else dict(given)
        role, text = "user", message["content"]
        if isinstance(text, str) and text.startswith("bot: "):
            role, text = "assistant", text.removeprefix("bot: ")
        lines.append({"role": role, "timestamp": moment.isoformat(), **message, "content": text})
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return file


def verdicts(plan: Plan) -> list[tuple[str, str]]:
    """Every proposal of a plan with its verdict."""
    return [(one.proposal.text, one.verdict) for one in plan.judged]


def keep_all(ws: Workspace, **how: Any) -> Crystallized:
    """A run of which a person keeps everything."""
    plan = ws.crystallizer.plan(**how)
    return ws.crystallizer.apply(plan, [Decision(one, "keep") for one in plan.open])


def values(ws: Workspace, audience: Audience | None = None) -> dict[str, str]:
    """The values of the facts, by key."""
    return {fact.key: fact.value for fact in ws.facts.all(audience=audience)}
