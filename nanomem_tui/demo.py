"""The demonstration: a throw-away home of an agent, written by the product's own code, with things to find and undo.

Duplicates, small talk, a poisoned line, a disabled lesson, an unfinished turn, Dreams, and one bad Dream among them;
and what the agent worked at.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from nanomem_tui import demo_content, demo_work
from nanomem_tui.agents import jsonl, snapshot_files, turn_log
from nanomem_tui.agents.archive import HistoryEntry, dump_entry
from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.agents.transcripts import key_to_name
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.operations import new_operation
from nanomem_tui.core.paths import DREAM_CURSOR, Paths, locate
from nanomem_tui.core.text import counted
from nanomem_tui.memory import edits
from nanomem_tui.memory.facts.facts import FactValue
from nanomem_tui.memory.scopes import Audience, key_for
from nanomem_tui.memory.turns.values import TurnEnd, TurnInput
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from nanomem_tui.workspace import Workspace, open_workspace

WORKSPACE_ID = "d3a0d3a0d3a0d3a0d3a0d3a0d3a0d3a0"


@contextmanager
def demo_home() -> Iterator[Path]:
    """The workspace of a fresh demonstration home; everything is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="nanomem-demo-") as folder:
        yield build(Path(folder) / ".nanobot")


def build(home: Path) -> Path:
    """Write a demonstration home at `home` (which must not exist) and return its workspace."""
    now = clock.now()
    workspace = home / "workspace"
    for folder in (
        home,
        home / "sessions" / WORKSPACE_ID,
        workspace / "memory" / "session-state",
        workspace / ".nanobot",
    ):
        atomic.make_folder(folder)
    atomic.write_atomic(
        home / "config.json",
        json.dumps({"agents": {"defaults": {"workspace": str(workspace), "botName": "Wren"}}}).encode(),
    )
    atomic.write_atomic(workspace / ".nanobot" / "workspace-id", WORKSPACE_ID.encode() + b"\n")
    atomic.write_atomic(home / "sessions" / WORKSPACE_ID / ".workspace", f"{workspace}\n".encode())
    for name, text in (("SOUL.md", demo_content.SOUL), ("USER.md", demo_content.USER)):
        atomic.write_atomic(workspace / name, text.encode())
    paths = locate(workspace)
    _write_rows(paths, now)
    _write_history(paths, now)
    _write_sessions(home, now)
    _write_wal(paths, now)
    _ask(paths, now)  # before there is a MEMORY.md, which the first turn would take in
    atomic.write_atomic(paths.memory / "MEMORY.md", demo_content.MEMORY.encode())
    note = f"# {now:%Y-%m-%d}\n\nRelease notes drafted; Elin called about the weekend.\n"
    atomic.write_atomic(paths.memory / f"{now - timedelta(days=1):%Y-%m-%d}.md", note.encode())
    _live(paths, now)
    _lose(paths, now)
    return workspace


def _ago(now: datetime, hours: float) -> str:
    return clock.local_naive(now - timedelta(hours=hours))


def _write_rows(paths: Paths, now: datetime) -> None:
    items = []
    for number, (hours, text, source, session, hits) in enumerate(demo_content.ITEMS, 1):
        key = f"ltm_{int((now - timedelta(hours=hours)).timestamp() * 1000)}_{number}"
        at = _ago(now, hours)
        items.append(snapshot_files.LtmItem(key, text, source, session, at, at, hits))
    snapshot = snapshot_files.LtmSnapshot(tuple(items), updated_at=_ago(now, 3))
    atomic.write_atomic(paths.ltm_snapshot, snapshot_files.dump_snapshot(snapshot))
    lines = []
    for number, (hours, trigger, bad, better, scope, source, confidence, hits, enabled) in enumerate(
        demo_content.LESSONS, 1
    ):
        at = _ago(now, hours)
        session = "" if scope == "global" else "telegram:20417"
        lines.append(
            snapshot_files.LessonLine(
                id=f"lesson_{int((now - timedelta(hours=hours)).timestamp() * 1000)}_{number}",
                key=f"{trigger}|{better.lower()}|{scope}|{session}",
                trigger=trigger,
                bad_action=bad,
                better_action=better,
                scope=scope,
                session_key=session,
                source=source,
                confidence=confidence,
                hits=hits,
                enabled=enabled,
                created_at=at,
                updated_at=at,
            )
        )
    atomic.write_atomic(paths.lessons, snapshot_files.dump_lessons(lines))
    atomic.write_atomic(paths.ltm_audit, b"")
    atomic.write_atomic(paths.lessons_audit, b"")


def _write_history(paths: Paths, now: datetime) -> None:
    data = b""
    for cursor, (hours, session, content) in enumerate(demo_content.HISTORY, 1):
        stamp = (now - timedelta(hours=hours)).astimezone().strftime("%Y-%m-%d %H:%M")
        data += dump_entry(HistoryEntry(cursor, stamp, content, session))
    atomic.write_atomic(paths.history, data)
    atomic.write_atomic(paths.cursor, str(len(demo_content.HISTORY)).encode())


def _write_sessions(home: Path, now: datetime) -> None:
    for hours, (key, turns) in enumerate(demo_content.SESSIONS.items(), 2):
        lines: list[dict[str, Any]] = []
        for place, (role, content) in enumerate(turns):
            at = clock.local_naive(now - timedelta(hours=hours * 5, minutes=-2 * place))
            if role == "tool":
                call = {"id": f"call_{place}", "type": "function", "function": {"name": content, "arguments": "{}"}}
                lines.append({"role": "assistant", "content": "", "tool_calls": [call], "timestamp": at})
                result = {"role": "tool", "tool_call_id": call["id"], "name": content, "content": "ok"}
                lines.append({**result, "timestamp": at})
            else:
                lines.append({"role": role, "content": content, "timestamp": at})
        first, last = lines[0]["timestamp"], lines[-1]["timestamp"]
        head = {"_type": "metadata", "key": key, "created_at": first, "updated_at": last, "metadata": {}}
        body = [{**head, "last_archived": 0, "last_consolidated": 0}, *lines]
        path = home / "sessions" / WORKSPACE_ID / key_to_name(key)
        atomic.write_atomic(path, b"".join(jsonl.dump_line(line) for line in body))


def _write_wal(paths: Paths, now: datetime) -> None:
    for key, turns in list(demo_content.SESSIONS.items())[:3]:
        channel, _, chat = key.partition(":")
        said = [text for role, text in turns if role == "user"]
        data = turn_log.dump_header(key, channel, chat)
        for place, text in enumerate(said):
            moment = now - timedelta(hours=10 - place)
            data += turn_log.dump_pre(clock.iso(moment), {"speaker": "user", "message_id": f"m{place}", "user": text})
            if key != "telegram:20417" or place < len(said) - 1:
                data += turn_log.dump_post(clock.iso(moment + timedelta(seconds=9)), "Done.")
        atomic.write_atomic(paths.wal_dir / turn_log.wal_name(key), data)


def _ask(paths: Paths, now: datetime) -> None:
    """A turn that was given memory, as the agent's hook does it: what it was given led it astray."""
    key = "email:mira@lantern.example"
    channel, _, chat = key.partition(":")
    turns = demo_content.SESSIONS[key]
    asked = max(place for place, (role, _) in enumerate(turns) if role == "user")
    hours = 5 * (2 + list(demo_content.SESSIONS).index(key))
    with open_workspace(paths.workspace) as ws, clock.at(now - timedelta(hours=hours, minutes=-2 * asked)):
        given = TurnInput(key, channel, chat, chat, message_id="m7", text=turns[asked][1])
        ws.engine.end_turn(TurnEnd(ws.engine.begin_turn(given).turn, assistant=turns[asked + 1][1]))


def _live(paths: Paths, now: datetime) -> None:
    """What was learned and dreamt, day by day, as it happened: facts, words of chats, a journal, Dreams, work."""
    with clock.at(now - timedelta(hours=demo_content.HISTORY[0][0] + 1)):
        GitHistory.init(paths)
    with open_workspace(paths.workspace) as ws:
        for hours, happens in sorted(_events(ws), key=lambda event: -event[0]):
            with clock.at(now - timedelta(hours=hours)):
                happens()
        demo_work.work(ws, now)


def _events(ws: Workspace) -> Iterator[tuple[float, Callable[[], object]]]:
    """What happened, each with how many hours ago, in no order."""
    for hours, learned in demo_content.FACTS:
        facts = [
            FactValue(category, key, value, domain, session_key=session, source="explicit_user")
            for domain, category, key, value, session in learned
        ]
        label = f"learn {counted(len(facts), 'fact')}"
        yield hours, partial(ws.facts.set_many, facts, actor="agent", kind="facts.set", label=label)
    for number, (hours, text, channel, chat, sender, leaks) in enumerate(demo_content.SCOPED, 1):
        yield hours, partial(_told, ws, number, text, Audience(channel, chat, sender), leaks=leaks)
    for hours, text in demo_content.JOURNAL:
        yield hours, partial(ws.journal.add, text, source="agent", actor="agent")
    for hours, tool, args, error, insight in demo_content.REFLECTIONS:
        yield hours, partial(ws.reflections.add, tool, args, error, insight, source="agent", actor="agent")
    for hours, model, source, asked, answered in demo_content.USAGE:
        yield hours, partial(ws.usage.add, source, model, asked, answered)
    for last in range(3, demo_content.DREAMT + 1, 4):  # over the first entries, a few at a time
        yield demo_content.HISTORY[last - 1][0] - 1, partial(ws.dream.run, max_batch_size=4 if last > 3 else 3)


def _told(ws: Workspace, number: int, text: str, said: Audience, *, leaks: bool) -> None:
    """An item that was said in a chat, and is kept for it; or, where it `leaks`, for all."""
    key = f"ltm_{clock.now_ms()}_{number}"
    at, scope = clock.iso(clock.now()), "global" if leaks else "chat"
    item = Item(
        id=key, text=text, scope_type=scope, scope_key=key_for(scope, said, ws.id), channel=said.channel,
        chat_id=said.chat_id, sender_id=said.sender_id, session_key=f"{said.channel}:{said.chat_id}",
        source="explicit_user", created_at=at, updated_at=at,
    )  # fmt: skip
    label = f"remember {edits.told(text)}"
    ws.perform(new_operation("capture", label, [change_of("item", None, item)], actor="agent"))


def _lose(paths: Paths, now: datetime) -> None:
    """A Dream of the agent's own that loses what mattered."""
    git = GitHistory.open(paths)
    assert git is not None
    files: dict[str, bytes | None] = {}
    for name, old, new in demo_content.BAD_DREAM:
        text = (paths.workspace / name).read_text("utf-8").replace(old, new)
        atomic.write_atomic(paths.workspace / name, text.encode())
        files[name] = text.encode()
    files[DREAM_CURSOR] = paths.dream_cursor.read_bytes()
    with clock.at(now - timedelta(hours=14)):
        git.commit_files(files, "dream: periodic memory consolidation", author="nanobot <nanobot@dream>")
