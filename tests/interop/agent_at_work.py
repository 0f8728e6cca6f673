"""A real nanobot's own stores, any release from 0.1.5 on, writing as fast as they can until standard input ends.

Runs under the Python of the agent's environment: the standard library and nanobot only. `agent WORKSPACE` is started
under the name `nanobot`, so that it is seen for what it is. It prints `ready`, and at its end one JSON object: the
entries, messages and lines that its own calls acknowledged. `read WORKSPACE` prints what a fresh process of it reads.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from pathlib import Path

from nanobot.agent.memory import MemoryStore
from nanobot.session.manager import SessionManager

KEY = "telegram:4711"


def work(workspace: Path) -> dict[str, list[str]]:
    """Write until nobody wants more; what was written, in order."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    store, sessions = MemoryStore(workspace), SessionManager(workspace)
    store.git.init()
    session = sessions.get_or_create(KEY)
    told: dict[str, list[str]] = {"entries": [], "messages": [], "lines": []}
    print("ready", flush=True)
    number = 0
    while not ended.is_set() or number < 40:
        number += 1
        store.append_history(f"entry {number} of the agent")
        told["entries"].append(f"entry {number} of the agent")
        session.add_message("user" if number % 2 else "assistant", f"message {number}")
        sessions.save(session)
        told["messages"].append(f"message {number}")
        if number % 5 == 0:
            store.write_memory(f"{store.read_memory()}- line {number} of the agent\n")
            told["lines"].append(f"- line {number} of the agent")
        if number % 20 == 0:
            with contextlib.suppress(RuntimeError):  # we committed in that very moment: the next one holds it
                store.git.auto_commit(f"dream: number {number}")
    return told


def read(workspace: Path) -> dict[str, object]:
    """What the agent finds, by its own calls."""
    store = MemoryStore(workspace)
    entries = store.read_unprocessed_history(since_cursor=0)
    session = SessionManager(workspace).get_or_create(KEY)
    return {
        "entries": [entry["content"] for entry in entries],
        "cursors": [entry["cursor"] for entry in entries],
        "messages": [message["content"] for message in session.messages],
        "lines": store.read_memory().splitlines(),
        "commits": [commit.message for commit in store.git.log(max_entries=10_000)],
    }


if __name__ == "__main__":
    print(json.dumps({"agent": work, "read": read}[sys.argv[1]](Path(sys.argv[2]))), flush=True)
