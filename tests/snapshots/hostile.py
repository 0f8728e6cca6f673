"""A home whose every text tries something: what a poisoned memory could hold."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from nanomem_tui.agents import snapshot_files, turn_log
from nanomem_tui.agents.git_history import GitHistory
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.operations import Change, new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Record, text_of
from nanomem_tui.tiers.records import NewRecord
from nanomem_tui.workspace import open_workspace

#: Each attack with a word beside it that must be seen on the screen: what was sent away harmless is shown, not hidden.
ATTACKS: dict[str, str] = {
    "clipboard": "\x1b]52;c;SE9TVElMRQ==\x07",
    "title": "\x1b]0;HOSTILETITLE\x07",
    "link": "\x1b]8;;http://hostile.example\x1b\\",
    "erase": "\x1b[2J\x1b[H",
    "colour": "\x1b[31;1m",
    "csi": "\x9b2J",
    "osc": "\x9d0;HOSTILETITLE\x9c",
    "bidi": "‮‭⁦",
    "hidden": "​⁠\U000e0041",
    "bell": "\x07\x08\x0b\x7f",
    "return": "\rOVERWRITTEN",
    "shift": "\x0e\x0f",
    "markup": "[/foo][@click=app.quit]",
}
#: Bytes that must never leave for the terminal, beside what the console draws with itself.
FORBIDDEN: tuple[bytes, ...] = (
    b"\x1b]52",
    b"SE9TVElMRQ==\x07",
    b"\x1b]0;",
    b"\x1b]8;;http://hostile",
    b"\x1b[2J\x1b[HERASE",
    b"\x07",
    b"\x08",
    b"\x0b",
    b"\x0e",
    b"\x7f",
    b"\rOVER",
)
FORBIDDEN_CHARACTERS = "\x9b\x9c\x9d‮‭⁦​⁠\U000e0041"


def attack(name: str) -> str:
    """One attack between words."""
    return f"{name}-before {ATTACKS[name]}{name.upper()}-after"


def everything() -> str:
    """All of them in one text."""
    return " ".join(attack(name) for name in ATTACKS)


def build(home: Path) -> Path:
    """Write a hostile home at `home` and return its workspace."""
    workspace = home / "workspace"
    memory = workspace / "memory"
    folder = home / "sessions"
    for path in (memory / "session-state", folder, workspace / ".nanobot"):
        path.mkdir(parents=True)
    (home / "config.json").write_text(json.dumps({"agents": {"defaults": {"workspace": str(workspace)}}}))
    at = "2026-01-02T09:00:00"
    names = list(ATTACKS)
    items = [
        snapshot_files.LtmItem(f"ltm_17000000000{n:02}_{n}", attack(name), attack(name), f"cli:{name}", at, at, 1)
        for n, name in enumerate(names)
    ]
    (memory / "LTM_SNAPSHOT.json").write_bytes(snapshot_files.dump_snapshot(snapshot_files.LtmSnapshot(tuple(items))))
    lines = [
        snapshot_files.LessonLine(
            id=f"lesson_{1700000000000 + number}_{number}", key=attack(name), trigger=attack(name),
            bad_action=attack(name), better_action=attack(name), scope="session", session_key=everything(),
            source=attack(name), confidence=5, hits=1, enabled=True, created_at=at, updated_at=at,
        )
        for number, name in enumerate(names)
    ]  # fmt: skip
    (memory / "LESSONS.jsonl").write_bytes(snapshot_files.dump_lessons(lines))
    _sessions(folder, at)
    entries = [
        {"cursor": n, "timestamp": "2026-01-02 09:00", "content": f"- [durable] {attack(name)}", "session_key": name}
        for n, name in enumerate(names, 1)
    ]
    (memory / "history.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    for name in names[:3]:
        data = turn_log.dump_header(f"cli:{name}", "cli", name)
        data += turn_log.dump_pre(at + "+00:00", {"speaker": "user", "user": everything()})
        data += turn_log.dump_post(at + "+00:00", everything(), [everything()])
        data += turn_log.dump_pre(at + "+00:00", {"speaker": everything(), "user": everything()})
        (memory / "session-state" / turn_log.wal_name(f"cli:{name}")).write_bytes(data)
    (memory / "2026-01-02.md").write_text(everything())
    for name in ("SOUL.md", "USER.md", "memory/MEMORY.md"):
        (workspace / name).write_text("# Title\n\n" + "\n".join(f"- {attack(one)}" for one in names) + "\n")
    _commits(workspace)
    _known(workspace)
    _work(workspace)
    _strange(workspace, folder, at)
    return workspace


def _strange(workspace: Path, folder: Path, at: str) -> None:
    """What no program of ours would write: names of files, NULs, half characters, a line of a megabyte, and hostile
    words in what a person keeps: bookmarks, filters, macros, documents, keys."""
    ours, memory = workspace.parent / "nanomem", workspace / "memory"
    (memory / f"2026-01-03 {attack('csi')}.md").write_text(everything())
    (memory / f"{attack('clipboard')}.md").write_text(everything())
    (memory / "session-state" / f"{attack('link').replace('/', '|')}.md").write_text(f"# {everything()}\n")
    (folder / f"{attack('bell')}.jsonl").write_text('{"role": "user", "content": "no head"}\n')
    half, long = "\\ud800\\udfff\\u0000 half", "long " * 200_000
    with (memory / "history.jsonl").open("a") as file:
        for number, text in enumerate((half, long, everything().replace("\x1b", "\\u001b") + "\x00"), 100):
            file.write(f'{{"cursor": {number}, "timestamp": "2026-01-02 10:00", "content": "{text}"}}\n')
    head = {"_type": "metadata", "key": "cli:strange", "created_at": at, "metadata": {}}
    said = "".join(f'{{"role": "user", "content": "{text}"}}\n' for text in (half, long))
    (folder / key_to_name("cli:strange")).write_text(json.dumps(head) + "\n" + said)
    with (workspace / "USER.md").open("ab") as user:
        user.write(b"- nul \x00 byte and " + long.encode() + b"\n")
    text = everything()
    mark = {"screen": "items", "row": text, "title": text}
    step = {"action": text, "screen": text, "values": {text: text}}
    kept = {
        "version": 1, "bookmarks": [mark, {**mark, "screen": text}],
        "filters": [{"name": text, "screen": "items", "text": text}], "macros": [{"name": text, "steps": [step]}],
    }  # fmt: skip
    (ours / "habits.json").write_text(json.dumps(kept))
    with open_workspace(workspace) as opened:
        for name in ATTACKS:
            with contextlib.suppress(NanomemError):
                opened.knowledge.add_text(f"# {attack(name)}\n\n{text}\n", attack(name), attack(name))


def _sessions(folder: Path, at: str) -> None:
    for name in ATTACKS:
        key = f"cli:{name}"
        head = {"_type": "metadata", "key": key, "created_at": at, "metadata": {"title": attack(name)}}
        call = {"id": "1", "function": {"name": attack(name), "arguments": json.dumps({"x": attack(name)})}}
        messages = [
            {"role": "user", "content": everything(), "timestamp": attack(name), "sender_id": attack(name)},
            {"role": "assistant", "content": attack(name), "tool_calls": [call], "reasoning_content": attack(name)},
            {"role": "tool", "name": attack(name), "content": everything()},
            {"role": attack(name), "content": attack(name), "media": [attack(name)]},
        ]
        text = "".join(json.dumps(line) + "\n" for line in (head, *messages))
        (folder / key_to_name(key)).write_text(text)


def _known(workspace: Path) -> None:
    """Facts, a journal, reflections and token use that no command of ours would take in."""
    at, day = "2025-01-02T09:00:00+00:00", "2025-01-02"
    changes: list[Change] = []
    for number, name in enumerate(ATTACKS):
        text = attack(name)
        names = {"domain": text if number % 2 else None, "category": text, "sub_category": text, "key": text}
        fields = json.dumps({"fact": {**names, "value": text}, text: text})
        item = Item(f"fact_{number}", text_of(text, text), source=text, source_message_id=text, session_key=text,
                    meta_json=fields, created_at=at, updated_at=at)  # fmt: skip
        changes.append(change_of("item", None, item))
        used = {"model": text, "source": text, "total_tokens": 5, "prompt_tokens": 5, "requests": 1}
        failed = {"args": text, "error": text, text: text}
        for kind, about, meta in (("journal", day, {text: text}), ("reflection", text, failed), ("usage", day, used)):
            record = Record(f"{kind}_{number}", kind, about, text, text, text, at, json.dumps(meta), at, at)
            changes.append(change_of("record", None, record))
    with open_workspace(workspace) as opened:
        opened.perform(new_operation("import", "import", changes, actor="import"))


def _work(workspace: Path) -> None:
    """The trail of an agent that was told all of it, and what it says now."""
    records = []
    for number, name in enumerate(ATTACKS):
        text, of_goal, of_task = attack(name), f"goal_{number}", f"task_{number}"
        records += [
            NewRecord("goal", {"description": text, "status": text, "result": text, "metadata": {text: [text]}},
                      of_goal),
            NewRecord("task", {"goal_id": of_goal, "description": text, "agent": text, "status": text, "error": text,
                            "output": everything()}, of_task),
            NewRecord("tool-call", {"task_id": of_task, "tool_name": text, "agent": text, "input": {text: text},
                                 "reason": text}, f"call_{number}"),
            NewRecord("decision", {"task_id": of_task, "context": text, "options": [text, {"name": text, text: text}],
                                "chosen": text, "reasoning": everything(), "outcome": text}, f"decision_{number}"),
        ]  # fmt: skip
    with open_workspace(workspace) as opened:
        opened.records.store_many(records, overheard=True)
        for name in ATTACKS:
            opened.operational.push("event", {attack(name): attack(name)}, attack(name))
            opened.operational.push("metric", {"name": attack(name), "value": 1, "unit": attack(name)}, attack(name))


def _commits(workspace: Path) -> None:
    with open_workspace(workspace) as opened:
        paths = opened.paths
    GitHistory.init(paths)
    git = GitHistory.open(paths)
    assert git is not None
    for name in ATTACKS:
        text = (workspace / "USER.md").read_text() + f"- again {attack(name)}\n"
        (workspace / "USER.md").write_text(text)
        git.commit_files({"USER.md": text.encode()}, f"dream: {attack(name)}\n\n{everything()}", author=f"{name} <x@y>")
