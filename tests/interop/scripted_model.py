"""A model for a real nanobot-ai that answers from a list: no network, the same answers each time.

Runs under the Python of the agent's own environment, beside the drivers: the standard library and nanobot only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from nanobot.providers.base import LLMProvider, LLMResponse, ToolCallRequest


class ScriptedModel(LLMProvider):
    """Answers from a list, each {"text"} or {"tool", "arguments"}, then with "ok"; keeps what it was sent.

    `asked` is called before each answer.
    """

    def __init__(self, answers: Sequence[dict[str, Any]] = (), asked: Callable[[], None] = lambda: None) -> None:
        try:
            super().__init__(provider_name="scripted")
        except TypeError:  # releases before 0.3.5 take no name
            super().__init__()
        self.answers = list(answers)
        self.asked = asked
        self.calls: list[dict[str, Any]] = []

    def get_default_model(self) -> str:
        return "scripted"

    async def chat(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None, **_: Any
    ) -> LLMResponse:
        names = [tool.get("function", tool).get("name") for tool in tools or []]
        self.calls.append(json.loads(json.dumps({"messages": messages, "tools": names})))
        self.asked()
        answer = self.answers.pop(0) if self.answers else {"text": "ok"}
        if "tool" in answer:
            call = ToolCallRequest(id=f"call_{len(self.calls)}", name=answer["tool"], arguments=answer["arguments"])
            return LLMResponse(content=None, tool_calls=[call], finish_reason="tool_calls")
        return LLMResponse(content=answer["text"])
