"""A person who speaks in a chat: what the tests of turns say and look at."""

from __future__ import annotations

import json
from pathlib import Path

from nanomem_tui.memory.turns.request import Begun, Ended, turn_end, turn_input
from nanomem_tui.workspace import Workspace


def settle(workspace: Path, **settings: object) -> None:
    """Write settings of this workspace."""
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    folder = workspace.parent / "nanomem"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(lines)


def said(text: str, **fields: object) -> dict[str, object]:
    """A message of Ana in her chat."""
    return {"session_key": "telegram:42", "sender_id": "ana", "text": text, **fields}


def begin(ws: Workspace, text: str = "item number 2", **fields: object) -> Begun:
    """A turn of hers begins."""
    return ws.engine.begin_turn(turn_input(said(text, **fields)))


def end(ws: Workspace, turn: str, assistant: str = "Sure.", **fields: object) -> Ended:
    """A turn ends."""
    return ws.engine.end_turn(turn_end({"turn": turn, "assistant": assistant, **fields}))


def state_file(workspace: Path) -> str:
    """The session state of her chat."""
    return (workspace / "memory" / "session-state" / "telegram_42.md").read_text()


def turn(ws: Workspace, text: str, assistant: str = "Sure.", **fields: object) -> Ended:
    """A turn of hers from begin to end."""
    return end(ws, begin(ws, text, **fields).turn, assistant)
