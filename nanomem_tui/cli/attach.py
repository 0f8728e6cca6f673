"""`nanomem attach`: an agent with this memory in its turns: what is in place, and the one command that starts it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.shared import Group, Words, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.core import errors

if TYPE_CHECKING:
    from nanomem_tui.attach.agents import Agent

_NO_AGENT = "install nanobot-ai, or name its command or its Python with --agent"


@click.group("attach", cls=Group)
def attach() -> None:
    """An agent with this memory: it recalls before each turn, captures after it, and may ask in between.

    \b
    Example:
      nanomem attach run agent -m "hello"
    """


_agent_option = click.option(
    "--agent", type=Words(), metavar="PROGRAM", help="The agent's command or its Python (default: nanobot)."
)


@attach.command("run", context_settings={"allow_interspersed_args": False})
@_agent_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@pass_state
def run(state: State, agent: str | None, arguments: tuple[str, ...]) -> None:
    """Start nanobot with the hook in place; everything after `run` is its own command line.

    Nothing is installed into the agent or written to its config: it is started with a few variables in its environment,
    which the gateways that it starts inherit. Without an argument: `nanobot agent`.

    \b
    Example:
      nanomem attach run agent --classic
      nanomem attach run gateway
      nanomem attach run -- agent -m "where do I like to sit?"
    """
    from nanomem_tui.attach import agents

    found = _found(agent)
    running = _running(state)
    if running.get("attached") is False:
        which = f"{running['what']} (pid {running['pid']})"
        output.notes([f"Note: {which} runs already, without memory; `nanobot gateway stop` it if this talks to it"])
    environment = agents.environment(state.named(), channels=_channels(state))
    if state.agent_config is not None:
        environment["NANOMEM_AGENT_CONFIG"] = os.path.abspath(state.agent_config)
    line = [*found.command, *(arguments or ("agent",))]
    try:
        os.execve(line[0], line, environment)  # noqa: S606  # the agent takes our place, terminal and signals included
    except OSError as error:
        raise errors.NanomemError(f"cannot start the agent: {error.strerror}", line[0], _NO_AGENT) from error


@attach.command()
@_agent_option
@pass_state
def status(state: State, agent: str | None) -> int:
    """Which agent was found, whether a running one has this memory, and whether the memory answers.

    Exit code 1 when no agent is found or the memory does not answer.

    \b
    Example:
      nanomem attach status
    """
    from nanomem_tui.attach import agents

    found = agents.find_agent(agent)
    if found is None:
        whose = _release(state) if agent is None else ""
        where = f"; the workspace is that of {whose}, whose program is not on PATH" if whose else ""
        lines = [f"No agent: {agents.why_none(agent)}{where}.", f"To do: {_NO_AGENT}"]
        state.show({"agent": None, "release": whose or None}, lines)
        return 1
    release = agents.release_of(found)
    body: dict[str, Any] = {
        "agent": {"command": list(found.command), "python": found.python, "version": release.version},
        "tested": release.tested,
        "installed_beside": release.beside,
        "tool": release.tool,
        "running": _running(state) or None,
        "memory": _memory(state),
    }
    state.show(body, lambda: _status_lines(body))
    return 0 if body["memory"]["answers"] else 1


def _release(state: State) -> str:
    """Which nanobot wrote the workspace; "" for none, or another agent."""
    try:
        with state.open() as ws:
            release = ws.layout.release
    except errors.NanomemError:
        return ""
    return release if release.startswith("nanobot") else ""


def _found(named: str | None) -> Agent:
    from nanomem_tui.attach import agents

    found = agents.find_agent(named)
    if found is None:
        raise errors.NotFound(agents.why_none(named), "", _NO_AGENT)
    return found


def _running(state: State) -> dict[str, Any]:
    """The agent that runs on the workspace: pid, what, attached; empty when none does."""
    from nanomem_tui.attach import agents

    try:
        with state.open() as ws:
            presence = ws.agent()
    except errors.NanomemError:
        return {}
    if not presence.running or presence.pid is None:
        return {}
    return {"pid": presence.pid, "what": presence.what, "attached": agents.is_attached(presence.pid)}


def _channels(state: State) -> tuple[str, ...]:
    """The channels to capture where nobody chose any: the usual ones and the agent's screen; () else."""
    from nanomem_tui.attach import agents
    from nanomem_tui.core.settings import Settings

    usual = Settings().capture_channels
    try:
        with state.open() as ws:
            chosen = ws.settings.capture_channels
    except errors.NanomemError:
        chosen = usual
    return (*usual, agents.OWN_SCREEN) if chosen == usual else ()


def _memory(state: State) -> dict[str, Any]:
    """Whether a child answers a question as the hook would ask it, and after how many milliseconds from its start."""
    from nanomem_tui.attach import agents
    from nanomem_tui.attach.child import Child, Gone

    started = time.perf_counter()
    try:
        config = ["--config", state.agent_config] if state.agent_config is not None else []
        child = Child(state.named(), [*agents.own_command(), *config])
    except Gone as error:
        return {"answers": False, "why": str(error)}
    try:
        answer = child.ask({"do": "recall", "text": "hello", "channel": "cli", "chat_id": "nanomem"}, 20.0)
    except Gone as error:
        return {"answers": False, "why": str(error)}
    finally:
        child.close(5.0)
    if answer.get("error"):
        return {"answers": False, "why": str(answer["error"])}
    return {"answers": True, "ms": round((time.perf_counter() - started) * 1000)}


def _status_lines(body: dict[str, Any]) -> list[str]:
    agent, memory, running = body["agent"], body["memory"], body["running"]
    version = agent["version"] or "of unknown release"
    tested = "" if body["tested"] or not agent["version"] else "  (not a tested release)"
    lines = [
        f"Agent    nanobot-ai {version}{tested}  {' '.join(agent['command'])}",
        "Hook     put in by `nanomem attach run`; nothing is installed into the agent",
        "Tool     "
        + (
            f"memory_recall, found by the agent by itself (nanomem {body['installed_beside']} beside it)"
            if body["tool"]
            else "memory_recall, brought by `nanomem attach run`"
        ),
    ]
    if running:
        how = {True: "with this memory", False: "without it: start it by `nanomem attach run`", None: "started unseen"}
        lines.append(f"Running  {running['what']} (pid {running['pid']}), {how[running['attached']]}")
    else:
        lines.append("Running  no agent on this workspace")
    said = f"answers, {memory['ms']} ms from a cold start" if memory["answers"] else f"no answer: {memory['why']}"
    return [*lines, f"Memory   {said}"]
