"""The hook around each turn of the agent: memory goes into the prompt before it, what was said is handed over after it.

The block is appended to the message that the user sent, in the request only, and taken out again before the agent saves
the turn: several of the agent's providers keep only the last system message, so a second one would replace its own
instructions; and what lies in a session file could no longer be forgotten. Nothing here may fail a turn.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from . import say
from .client import Client
from .turns import Place, Turn, current_request, place_of

BEGIN = 3.0
"""Seconds that a turn waits for its block; the first of a process waits `FIRST`."""
FIRST = 10.0
END = 5.0
"""Seconds that a finished turn waits for its acknowledgement; it is handed over either way."""


class Seen:
    """The turns on their way by the agent's turn id, so that its hook and its context provider share one."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.turns: dict[str, Turn] = {}
        self.answered = False

    def turn(self, place: Place) -> Turn:
        """The turn of `place`, made when it is new."""
        found = self.turns.get(place.turn_id) if place.turn_id else None
        if found is None:
            found = Turn(self.client, place)
            if place.turn_id:
                while len(self.turns) >= 200:  # turns that were cancelled before they ran
                    self.turns.pop(next(iter(self.turns)))
                self.turns[place.turn_id] = found
        return found

    async def block(self, turn: Turn) -> str:
        """The block for the prompt, "" when memory has none or no time."""
        answer = await self.client.wait(turn.begin(), BEGIN if self.answered else FIRST)
        self.answered = self.answered or answer is not None
        block = answer.get("block") if answer else None
        return block.strip() if isinstance(block, str) else ""

    async def end(self, turn: Turn, assistant: str | None) -> None:
        """Hand over a finished turn and give it a moment."""
        self.turns.pop(turn.place.turn_id, None)
        last = turn.end(assistant)
        if last is not None:
            await self.client.wait(last, END)


def make_hook_class(base: type[Any]) -> type[Any]:
    """The hook as a subclass of the agent's own `AgentHook`."""

    class MemoryHook(base):  # type: ignore[misc]  # a class that only the agent's process has
        """Memory for the turns that it sees; one object may serve one turn or all of them."""

        def __init__(self, seen: Seen, turn_context: Any = None) -> None:
            super().__init__()
            self._seen = seen
            self._context = turn_context
            self._running: dict[Any, _Run] = {}

        def _run(self) -> _Run | None:
            request = current_request()
            return self._running.get(_key(request))

        async def before_run(self, context: Any) -> None:
            request = current_request()
            place = place_of(request, self._context)
            if place is None or not place.ours or getattr(self._context, "ephemeral", False):
                return
            run = _Run(self._seen.turn(place))
            self._running[_key(request)] = run
            run.block = await self._seen.block(run.turn)

        async def before_iteration(self, context: Any) -> None:
            run = self._run()
            if run is not None and run.block and context.iteration == 0:
                run.put(context.messages)

        async def after_execute_tool(self, context: Any, tool_call: Any, tool: Any, params: Any, result: Any) -> None:
            run = self._run()
            if run is not None:
                run.turn.tool(str(tool_call.name), params, result)

        async def on_execute_tool_error(self, context: Any, tool_call: Any, tool: Any, params: Any, error: Any) -> None:
            run = self._run()
            if run is not None:
                run.turn.tool(str(tool_call.name), params, None, error)

        async def after_run(self, context: Any) -> None:
            run = self._run()
            if run is None:
                return
            run.take_out()
            # The text of a failed run is the agent's own excuse, not an answer.
            await self._seen.end(run.turn, None if getattr(context, "error", None) else context.final_content)

        async def on_error(self, context: Any) -> None:
            run = self._run()
            if run is not None:
                run.take_out()

        async def on_finally(self, context: Any) -> None:
            run = self._running.pop(_key(current_request()), None)
            if run is None:
                return
            run.take_out()
            if getattr(context, "exception", None) is not None:
                # The user did say it, whatever became of the answer; nobody waits for a cancelled turn.
                self._seen.turns.pop(run.turn.place.turn_id, None)
                run.turn.end(None)

    return MemoryHook


class _Run:
    """One run with its block, and where the block was put."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.block = ""
        self._message: dict[str, Any] | None = None
        self._content: Any = None

    def put(self, messages: Any) -> None:
        """Append the block to the newest message, when the user wrote it and it does not hold the block already."""
        last = messages[-1] if isinstance(messages, list) and messages else None
        if not isinstance(last, dict) or last.get("role") != "user":
            return
        content = last.get("content")
        if self.block in str(content):
            return
        self._message, self._content = last, content
        if isinstance(content, list):
            last["content"] = [*content, {"type": "text", "text": self.block}]
        else:
            last["content"] = f"{content}\n\n{self.block}" if content else self.block

    def take_out(self) -> None:
        """Give the message back as it was."""
        if self._message is not None:
            self._message["content"] = self._content
            self._message = None


def make_provider(seen: Seen, resumes: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """A context provider for the agent: for conversations that the model's provider keeps, and for late messages.

    Such a provider is sent only what is new, made before any hook runs: there the block must travel as the agent's own
    kind of context, which its session file keeps (the provider keeps it too).
    """

    async def provide(request: Any) -> Any:
        try:
            place = place_of(request)
            if place is None or not place.ours:
                return None
            known = seen.turns.get(place.turn_id)
            if known is not None and known.place != place:
                known.follow(place)
                return None
            if not resumes(request):
                return None
            block = await seen.block(seen.turn(place))
            made = importlib.import_module("nanobot.runtime_context").RuntimeContextBlock
            return made(source="nanomem", content=block) if block else None
        except Exception as error:  # noqa: BLE001  # whatever it is, the agent's turn goes on
            say.once(f"provider:{type(error).__name__}", f"{type(error).__name__}: {error}; no block in this turn")
            return None

    return provide


def _key(request: Any) -> Any:
    return getattr(request, "turn_id", None) or id(request)
