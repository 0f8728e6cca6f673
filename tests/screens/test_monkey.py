"""Keys at random on every screen, an agent writing beside: nothing breaks, nothing is lost, and undo brings back the
start."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from nanomem_tui.core.errors import NothingToDo
from nanomem_tui.workspace import open_workspace
from tests.conftest import LONG
from tests.screens.console import PATIENCE, console

pytestmark = [pytest.mark.slow, pytest.mark.hypothesis]

SCREENS = ("items", "lessons", "sessions", "wal", "dream", "recall", "knowledge", "tiers", "inbox", "status", "ledger")
SIGNS = {
    "+": "plus", "-": "minus", "/": "slash", ":": "colon", "?": "question_mark", "*": "asterisk",
    "!": "exclamation_mark", "%": "percent_sign", "=": "equals_sign", "<": "less_than_sign", ">": "greater_than_sign",
    "[": "left_square_bracket", "]": "right_square_bracket", "~": "tilde", "&": "ampersand", ";": "semicolon",
    "'": "apostrophe", "#": "number_sign", "@": "at", "|": "vertical_line", "(": "left_parenthesis",
    ")": "right_parenthesis",
}  # fmt: skip
KEYS = (
    *"abcdefghijklmnoprstuvwxyz", *"ABCDFGHIJKLMNOPQRSTUVWYZ", *"0123456789", *SIGNS.values(),
    "enter", "escape", "tab", "space", "up", "down", "left", "right", "pageup", "pagedown", "home", "end", "backspace",
    "ctrl+s", "ctrl+r", "ctrl+d", "ctrl+u", "f5",
)  # fmt: skip
"""Every key but those that leave or open another program, or a file of the person's (q, E, X)."""
TELLING = ("escape", "y", "enter", "u", "d", "x", "e", "m", "plus", "minus")
"""Keys that do more than move: they come more often."""


@contextmanager
def agent_beside(workspace):
    """An agent that remembers and talks while the console runs: its own items, its own session, never ours."""
    stop = threading.Event()
    ltm = workspace / "memory" / "LTM_SNAPSHOT.json"
    session = next((workspace.parent / "sessions").rglob("*.jsonl")).with_name("agent_monkey.jsonl")

    def write():
        number = 0
        while not stop.wait(0.15):
            number += 1
            body = json.loads(ltm.read_text("utf-8"))
            item = {**body["items"][0], "id": f"ltm_17000000000{number:02}_{number}", "text": f"the agent's {number}"}
            body["items"].append(item)
            made = ltm.with_suffix(".agent")
            made.write_text(json.dumps(body, ensure_ascii=False), "utf-8")
            os.replace(made, ltm)
            with session.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"role": "user", "content": f"said {number}"}) + "\n")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def kept(ws):
    """What was there at the start and has to be there at the end: rows by id, files byte by byte."""
    snapshot = ws.store.load()
    rows: dict[str, Any] = {
        f"{layer} {key}": row._replace(revision=0, updated_at="") if layer == "record" else row._replace(revision=0)
        for layer in ("item", "lesson", "record")
        for key, row in snapshot.table(layer).items()
        if not row.is_deleted
    }
    files = {name: ws.documents.read(name) for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")}
    for file in (ws.paths.workspace.parent / "sessions").rglob("*.jsonl"):
        if file.name != "agent_monkey.jsonl":
            files[file.name] = file.read_text("utf-8")
    return {**rows, **files}


async def press_all(workspace, screens, keys):
    """Press the keys; who leaves by the palette is let in again."""
    left = list(keys)
    for screen in screens:
        async with console(workspace, screen, (100, 30), painted=True) as on:
            share = left[: max(len(keys) // len(screens), 1)]
            left = left[len(share) :]
            for key in share:
                await press(on, key)
                if on.app._exit:
                    break


async def press(on, key):
    await on.pilot.press(key)
    await on.app.settled(PATIENCE)


def operations(ws):
    """The operations of a person that stand, by their ids."""
    told = (entry.operation for entry in ws.log(100_000) if not entry.undone)
    return {one.id for one in told if one.actor == "human" and not one.is_reversal}


def undo_all(ws, known):
    """Take back, one after the other, all that was done since `known`, as a person would."""
    while operations(ws) - known:
        try:
            ws.undo()
        except NothingToDo:
            return


@given(
    screens=st.lists(st.sampled_from(SCREENS), min_size=3, max_size=3, unique=True),
    keys=st.lists(st.sampled_from((*KEYS, *TELLING * 3)), min_size=240, max_size=240),
)
@settings(
    max_examples=8 if LONG else 3,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_random_keys_beside_an_agent_lose_nothing(built_demo, screens, keys):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        home = Path(folder) / ".nanobot"
        shutil.copytree(built_demo, home, symlinks=True)
        workspace = home / "workspace"
        shutil.rmtree(home / "nanomem")  # u takes back no operation of before
        with open_workspace(workspace) as ws:
            before, known = kept(ws), operations(ws)
        with agent_beside(workspace):
            asyncio.run(press_all(workspace, screens, keys))
        with open_workspace(workspace) as ws:
            ws.refresh()
            undo_all(ws, known)
            after = kept(ws)
        assert {name: after.get(name) for name in before} == before
        new = [row.text for name, row in after.items() if name.startswith("item ") and name not in before]
        assert all(text.startswith("the agent's ") for text in new), new
