"""`nanomem turn`: what an agent calls around its answer. JSON in, JSON out; `serve` keeps the engine in RAM for it.

Owns the reading of stdin and the lines of the protocol. Must not decide anything about a turn.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import click

from nanomem_tui.cli import failures, output
from nanomem_tui.cli.shared import MAX_INPUT, Group, json_object, pass_state
from nanomem_tui.cli.state import State
from nanomem_tui.cli.turns import list_turns, show_turn
from nanomem_tui.core import errors

if TYPE_CHECKING:
    from nanomem_tui.memory.turns.values import TurnInput
    from nanomem_tui.workspace import Workspace

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

    with _Ending() as ending, state.open(starting=True) as ws, processes.staying(ws.paths):
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
        return {"error": failures.describe(error)[0]}, False


def _do(ws: Workspace, do: str, body: dict[str, Any]) -> dict[str, Any]:
    from nanomem_tui.memory.turns.values import turn_end, turn_input

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
    from nanomem_tui.memory.turns import values
    from nanomem_tui.memory.turns.values import turn_input

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
