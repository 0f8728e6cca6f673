"""`nanomem turn` and `attach`: what an agent calls around its answer, and how it is set up to do so.

JSON in, JSON out; `turn serve` keeps the engine in RAM. Nothing about a turn is decided here.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import click

from nanomem_tui.cli import output
from nanomem_tui.cli.options import MAX_INPUT, Command, Group, Words, json_object, paged, pass_state
from nanomem_tui.cli.output import Column, paragraph
from nanomem_tui.cli.state import State, page
from nanomem_tui.core import errors
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    from nanomem_tui.attach.agents import Agent
    from nanomem_tui.memory.turns.request import TurnInput
    from nanomem_tui.memory.turns.traces import Injected, InjectedPart
    from nanomem_tui.workspace import Workspace


# -- `nanomem turn list` and `show`: what real turns were given, and what came of them --------------------------------


@click.command("list", cls=Command)
@click.option("--session", type=Words(), help="Only turns of this session.")
@click.option("--id", "row", type=Words(), help="Only turns that were given this item or lesson, or that saved it.")
@click.option("--open", "is_open", is_flag=True, help="Only turns that neither ended nor were declined.")
@paged
@pass_state
def list_turns(
    state: State, session: str | None, row: str | None, is_open: bool, limit: int | None, offset: int
) -> None:
    """The turns that agents took with this memory, newest first, and how much each was given.

    \b
    Example:
      nanomem turn list --session telegram:42
    """
    with state.open() as ws:
        turns = ws.traces.injections.turns()
    wanted = [
        turn
        for turn in turns
        if (not session or turn.session_key == session)
        and (not row or row in (*turn.items, *turn.lessons, *turn.saved, *turn.learned, *turn.held))
        and (not is_open or turn.is_open)
    ]
    shown = page(wanted, limit, offset)
    state.show([_turn(one) for one in shown], lambda: _list_lines(shown) or ["No turns."])


@click.command("show", cls=Command)
@click.argument("turn", type=Words(), default="")
@pass_state
def show_turn(state: State, turn: str) -> None:
    """What a turn was given, in the words that the model had, and what became of each since; without a TURN, the last.

    \b
    Example:
      nanomem turn show
    """
    from nanomem_tui.memory.turns.traces import find_injected, find_turn

    with state.open() as ws:
        found = find_turn(ws.traces.injections, turn)
        given = find_injected(ws.store, found)
    body = {**_turn(found), "memories": [one._asdict() for one in given]}
    state.show(body, lambda: _turns_lines(found, given))


def _turn(one: Injected) -> dict[str, Any]:
    return {"id": one.turn, **{name: value for name, value in one._asdict().items() if name != "turn"}}


def _list_lines(turns: Sequence[Injected]) -> list[str]:
    columns = [
        Column("Began", of=lambda one: output.when(one.at)),
        Column("Session", least=20, of=lambda one: one.session_key),
        Column("Given", right=True, of=lambda one: str(len(one.items) + len(one.lessons))),
        Column("Characters", right=True, optional=True, of=lambda one: f"{one.chars:,}"),
        Column("Saved", right=True, of=lambda one: str(len(one.saved) + len(one.learned))),
        Column("What was said", least=20, of=lambda one: one.user + (" (not ended)" if one.is_open else "")),
        Column("Turn", optional=True, of=lambda one: one.turn),
    ]
    return output.columned(columns, turns)


def _turns_lines(turn: Injected, given: Sequence[InjectedPart]) -> list[str]:
    width = output.terminal_width()
    ended = f"declined {output.when(turn.declined_at)}" if turn.declined_at else output.when(turn.ended_at)
    told = [
        ("turn", turn.turn),
        ("session", turn.session_key),
        ("said", turn.user),
        ("began", output.when(turn.at)),
        ("ended", ended or "not yet, or never"),
        ("block", output.counted(turn.chars, "character")),
        ("earlier turns", ", ".join(map(one_line, turn.older))),
    ]
    lines = output.fields([pair for pair in told if pair[1]])
    if not given:
        lines.append("It was given no item and no lesson, and saved none.")
    for one in given:
        near = ", near in meaning" if one.near else ""
        since = f"; {one.since}" if one.since else ""
        lines += ["", f"{one.how} {one.what} {one.id}{near}{since}"]
        lines += paragraph(one.then or one.text or "(its words are not known any more)", width)
        if one.then and one.text:
            lines += paragraph(f"now: {one.text}", width)
    return lines


_LIKE = '{"session_key": …, "text": …}'


@click.group("turn", cls=Group, invoke_without_command=True)
@pass_state
@click.pass_context
def turn(ctx: click.Context, state: State) -> None:
    """Remember for an agent: `begin` before it answers, `end` after. Alone: a finished turn, told at once.

    \b
    Example:
      echo '{"session_key": "telegram:42", "text": "hello", "assistant": "Hi!"}' | nanomem turn
    """
    if ctx.invoked_subcommand is None:
        _answer_once(state, "turn")


@turn.command()
@pass_state
def begin(state: State) -> None:
    """Begin a turn: a JSON object on stdin, the block of memory and what is in it on stdout.

    Where nothing can be written the block is given all the same, with `problem`; `clipped` names the fields that were
    too long to be read whole.

    Fields: session_key or channel and chat_id; text; sender_id, message_id, speaker, media, at,
    reply_to {text, message_id, participant}; leave_out ["notes", "turns", "older", "pending"] of the block.

    \b
    Example:
      echo '{"session_key": "telegram:42", "text": "where is my key?"}' | nanomem turn begin
    """
    _answer_once(state, "begin")


@turn.command()
@pass_state
def end(state: State) -> None:
    """End a turn: `turn` as `begin` printed it (or the same fields), and what the agent did.

    Fields: turn; assistant; tools [{name, arguments, result, error}]; pending_actions, done_actions; declined.

    \b
    Example:
      echo '{"turn": "turn_1772359200000_7", "assistant": "In the drawer."}' | nanomem turn end
    """
    _answer_once(state, "end")


@turn.command()
@pass_state
def serve(state: State) -> None:
    """Answer turns until stdin ends: a JSON object a line, with `do`: begin, end, turn, recall, flush or stop.

    Every line gets one line back, in order; one that cannot be done gets {"error": why}.

    \b
    Example:
      nanomem turn serve < requests.jsonl
    """
    from nanomem_tui.store import processes

    with _Ending() as ending, state.open(starting=True) as ws, processes.shared_use(ws.paths):
        ws.start_checkpoints()
        if ws.settings.memory_enabled:
            ws.recall.warm()
        for request in ending.until(_lines()):
            answer, last = _served(ws, request)
            output.json_line(answer)
            if last:
                break
        ws.consolidate_if_due()


class _Ending:
    """SIGTERM and SIGHUP end the pipe as its end does: the request that is worked on is answered, and what waits is
    saved."""

    SIGNALS = (signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._asked = threading.Event()
        self._waits = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._ask) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, _number: int, _frame: object) -> None:
        self._asked.set()
        if self._waits:
            raise _Asked

    def until(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """The lines, until the process is asked to end; it is not interrupted but while it waits for one."""
        while not self._asked.is_set():
            try:
                self._waits = True
                if self._asked.is_set():
                    return
                line = next(lines, None)
            except _Asked:
                return
            finally:
                self._waits = False
            if line is None:
                return
            yield line


class _Asked(Exception):
    """The process was asked to end while it waited for a line."""


turn.add_command(list_turns)
turn.add_command(show_turn)


def _answer_once(state: State, do: str) -> None:
    if output.can_ask():
        raise errors.BadInput("nothing on stdin", "", f"give one JSON object: nanomem turn {do} < turn.json")
    body = json_object(sys.stdin.buffer.read(MAX_INPUT + 1), "stdin", _LIKE)
    with state.open(starting=True) as ws:
        answer = _do(ws, do, body)
        output.document(answer)
        sys.stdout.flush()
        ws.consolidate_if_due()
    told = [answer["problem"]] if answer.get("problem") else []
    output.notes([f"Note: {problem}" for problem in (*told, *answer.get("problems", ()))])


def _lines() -> Iterator[bytes]:
    """The lines of stdin; one that is too long is given in part, and its rest is left out."""
    stream = sys.stdin.buffer
    while line := stream.readline(MAX_INPUT + 1):
        rest = line
        while len(line) > MAX_INPUT and rest and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_INPUT)
        if line.strip():
            yield line


def _served(ws: Workspace, line: bytes) -> tuple[dict[str, Any], bool]:
    """The answer to one line, and whether it was the last."""
    do: Any = None
    try:
        body = json_object(line, "stdin", _LIKE)
        do = body.get("do")
        return _do(ws, str(do), body), do == "stop"
    except Exception as error:  # noqa: BLE001  # the border where an error becomes an answer; the engine goes on
        return {"error": output.describe(error)[0]}, False


def _do(ws: Workspace, do: str, body: dict[str, Any]) -> dict[str, Any]:
    from nanomem_tui.memory.turns.request import turn_end, turn_input

    if do == "begin":
        return ws.engine.begin_turn(turn_input(body)).to_json()
    if do == "end":
        return ws.engine.end_turn(turn_end(body)).to_json()
    if do == "turn":
        return ws.engine.whole_turn(turn_end(body, whole=True)).to_json()
    if do == "recall":
        limit, max_chars = (_number(body, name) for name in ("limit", "max_chars"))
        if body.get("domain") or body.get("category"):
            return _facts(ws, body, limit)
        given = turn_input(body)
        shown = ws.engine.preview(given, limit=limit, max_chars=max_chars).to_json()
        return shown | _excerpts(ws, given)
    if do == "flush":
        return dict(ws.flush()._asdict())
    if do == "stop":
        return {"stopped": True}
    raise errors.BadInput(f"unknown request `{do}`", "do", "one of begin, end, turn, recall, flush, stop")


def _excerpts(ws: Workspace, given: TurnInput) -> dict[str, Any]:
    """What was said and noted, as far as the chat may be told of it; why not, where it cannot be read."""
    try:
        found = ws.reach.search(given.text, given.audience, given.session_key)
    except errors.NanomemError as error:
        problems = [*given.problems, f"conversations were not searched: {error.line()}"]
        return {"excerpts": [], "problems": problems}
    return {"excerpts": [excerpt.to_json() for excerpt in found]}


def _facts(ws: Workspace, body: dict[str, Any], limit: int | None) -> dict[str, Any]:
    """The facts of a domain or a category that the chat may see, those that fit the text first."""
    from nanomem_tui.memory.facts.search import LIMIT
    from nanomem_tui.memory.turns import request as values
    from nanomem_tui.memory.turns.request import turn_input

    domain, category = (values.text_field(body, name, 200).strip() or None for name in ("domain", "category"))
    text = values.text_field(body, "text", 1000, clip=True)
    rest = {name: value for name, value in body.items() if name not in ("domain", "category")}
    given = turn_input({**rest, "text": text or domain or category})
    ws.store.load("item")
    ws.store.refresh()
    found = ws.memory_search(text, domain, category, limit=limit or LIMIT, audience=given.audience)
    return {"hits": [one.to_json() for one in found.results], "total": found.total, "problems": list(given.problems)}


def _number(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise errors.BadInput("no number of at least 0", name)
    return value


# `nanomem attach`: an agent with this memory in its turns: what is in place, and the one command that starts it.

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
