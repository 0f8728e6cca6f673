"""Puts the hook and the tool into an agent's process by wrapping its loop's constructor.

Called by `watch` once the agent's loop is imported. An agent whose parts are not what we know goes on as if we were not
there, and its log says why.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from types import ModuleType
from typing import Any

from . import TOOL, say
from .client import shared
from .hook import Seen, make_hook_class, make_provider
from .tool import make_tool_class


def wrap(module: ModuleType) -> None:
    """Wrap the constructor of the agent loop in `module`, once."""
    loop = getattr(module, "AgentLoop", None)
    if loop is None or getattr(loop, "_nanomem", False):
        return
    plain = loop.__init__
    accepted = inspect.signature(plain).parameters

    @functools.wraps(plain)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it takes the constructor's place
        try:
            seen = _join(kwargs, accepted, inspect.signature(plain).bind_partial(self, *args, **kwargs).arguments)
        except Exception as error:  # noqa: BLE001  # an agent that we do not know starts without us
            say.once("join", f"this agent takes no hook ({type(error).__name__}: {error}); it runs without memory")
            seen = None
        plain(self, *args, **kwargs)
        if seen is not None:
            try:
                _furnish(self, seen)
            except Exception as error:  # noqa: BLE001  # as above
                say.once("furnish", f"this agent takes no tool ({type(error).__name__}: {error})")

    loop.__init__ = __init__
    loop._nanomem = True


def _join(kwargs: dict[str, Any], accepted: Any, given: Any) -> Seen:
    """Add our hook to the constructor's own arguments."""
    workspace = given.get("workspace")
    seen = Seen(shared(str(workspace) if workspace else None))
    made = make_hook_class(importlib.import_module("nanobot.agent.hook").AgentHook)
    if "hook_factories" in accepted:
        kwargs["hook_factories"] = [*(kwargs.get("hook_factories") or []), lambda context: made(seen, context)]
    elif "hooks" in accepted:
        kwargs["hooks"] = [*(kwargs.get("hooks") or []), made(seen)]
    else:
        raise TypeError("its loop knows no hooks")
    return seen


def _furnish(loop: Any, seen: Seen) -> None:
    """What can be added only once the loop stands: the context provider, and the tool if no entry point brought it."""
    if hasattr(loop, "register_runtime_context_provider"):
        loop.register_runtime_context_provider(make_provider(seen, lambda request: _resumes(loop, request)))
    if not loop.tools.has(TOOL):
        base = importlib.import_module("nanobot.agent.tools.base").Tool
        loop.tools.register(make_tool_class(base)(str(loop.workspace)))
    seen.client.warm()


def _resumes(loop: Any, request: Any) -> bool:
    """Whether the model's provider goes on with a conversation that it keeps itself."""
    session = loop.sessions.get_or_create(request.session_key)
    state = getattr(session, "provider_state", None)
    runtime = request.runtime
    return state is not None and bool(runtime.provider.can_resume_conversation_state(state, runtime.model))
