"""Everything in nanomem that writes: how its workspace is prepared, what a person asks of it, and what is looked at.

Owns the table `WRITERS`. Each of them starts from one full, small home. `look` is what a new process sees of the
writer's thing, without ids and times, which differ from run to run: it is as before the writer's work or as after it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_lossy_name, key_to_name
from nanomem_tui.core import clock
from nanomem_tui.core.operations import new_operation
from nanomem_tui.memory.turns.request import turn_end
from nanomem_tui.tiers.records import NewRecord
from nanomem_tui.workspace import Workspace
from tests.store.git_samples import git, write
from tests.store.homes import kill, make_home

KEY = "telegram:7"
ID = "b320cfc38283ad9d0550a89f257ad3d8"
SECRET = "sk-proj-" + "Ab3dE5fGh7Jk9LmN0pQr2StU4vWx6Yz8"
NOW = datetime(2026, 3, 2, 12, 20, tzinfo=UTC)
STEPS = ("first", "work", "flush", "close", "again")
"""What a trial acknowledges: a change before the work, the work, a checkpoint, the end, one change more."""
FIRST = "told before the work"
ENTRIES = (
    "- [durable] User keeps two cats",
    "- [correction] Staging host is stg-2.example.internal, not stg-1.example.internal\n- [durable] API port: 8080",
)
OLD_HISTORY = "# History\n\n[2026-01-02 03:04] Moved the database.\n\nIt took two hours.\n\n[2026-01-03 05:06] Seen.\n"
Look = Any


@dataclass(frozen=True)
class Writer:
    """One writer: `prepare` changes the full home, `work` is a call through the workspace, or `command` a line."""

    look: Callable[[Workspace], Look]
    work: Callable[[Workspace], object] = lambda ws: None
    command: tuple[str, ...] = ()
    prepare: Callable[[Path], object] = lambda workspace: None
    touches: tuple[str, ...] = ()
    """Files of the agent that it may change, as patterns below the home."""
    at: datetime | None = None
    """The time at which it works."""
    least: int = 12
    """Fewer steps than these mean that they are not counted."""
    resumes: bool = False
    """It may be found half done; then the same again finishes it."""
    takes_back: bool = False
    """Its work takes earlier changes back."""
    survives: Callable[[Workspace], Look] | None = None
    """What of its thing a power cut may not cost once it is acknowledged, where that is not all of it."""
    beside: bool = False
    """A copy for people, or a file of its own, whose failure is told and fails no change: made again by the next."""


def workspace_of(base: Path) -> Path:
    """The workspace of a home that was prepared below `base`."""
    return base / "home" / "workspace"


def full_home(base: Path) -> Path:
    """A small home in which there is something of everything."""
    workspace = make_home(base)
    rows = [
        {"cursor": number, "timestamp": f"2026-01-0{number} 03:04", "content": text}
        for number, text in enumerate(("Moved the database.", "Ana likes tea.", *ENTRIES), 1)
    ]
    write(
        workspace,
        {
            "SOUL.md": "# Soul\n- calm\n",
            "USER.md": "# User\n- a\n- b\n",
            "memory/MEMORY.md": "# M\n\n- Staging host: stg-1.example.internal\n- likes tea\n",
            "memory/history.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
            "memory/.cursor": "4",
            "memory/.dream_cursor": "2",
            "memory/2026-02-15.md": "# Notes\n\n- buy bread\n",
        },
    )
    (workspace / ".nanobot").mkdir()
    (workspace / ".nanobot" / "workspace-id").write_text(f"{ID}\n")
    session_file(workspace, key_to_name(KEY)).write_bytes(transcript(KEY, 12))
    session_file(workspace, key_to_name("cli:direct")).write_bytes(transcript("cli:direct", 3))
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "add", "SOUL.md", "USER.md", "memory/MEMORY.md", "memory/.dream_cursor")
    git(workspace, "commit", "-q", "-m", "init: nanobot memory store")
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_4"], True)
        ws.facts.set("about", "city", "Lisbon")
        ws.records.store("task", {"description": "look at the disk"}, "t1")
        ws.operational.push("event", {"message": "began"}, "tests")
        ws.engine.whole_turn(turn_end(said("Remember that I like green tea"), whole=True))
    return workspace


def said(text: str) -> dict[str, Any]:
    return {"session_key": "telegram:42", "sender_id": "ana", "text": text, "assistant": "Sure."}


def session_file(workspace: Path, name: str) -> Path:
    folder = workspace.parent / "sessions" / ID
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def transcript(key: str, turns: int) -> bytes:
    head = {"_type": "metadata", "key": key, "created_at": "2026-05-01T10:00:00", "updated_at": "2026-05-01T10:00:00"}
    rows: list[dict[str, Any]] = [{**head, "metadata": {}, "last_consolidated": 0}]
    for number in range(turns):
        at = f"2026-01-02T10:{number:02}:00"
        rows += [
            {"role": "user", "content": f"I moved to City{number} last week.", "timestamp": at},
            {"role": "assistant", "content": f"It is raining in City{number}.", "timestamp": at},
        ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


# -- what is looked at -------------------------------------------------------------------------------------------------


def texts(ws: Workspace) -> Look:
    """What is remembered."""
    return sorted((row.text, bool(row.enabled), bool(row.pinned)) for row in ws.items.all() if row.text not in OURS)


OURS = {FIRST, "room is back", "after the fault", "and once more"}
"""What the trials remember beside the work."""


def lessons(ws: Workspace) -> Look:
    return sorted((row.trigger, row.better_action, bool(row.enabled)) for row in ws.lessons.all())


def snapshot_file(ws: Workspace) -> Look:
    found = json.loads(ws.paths.ltm_snapshot.read_bytes())["items"]
    return sorted((row["text"], bool(row.get("enabled", True))) for row in found if row["text"] not in OURS)


def lessons_file(ws: Workspace) -> Look:
    lines = [json.loads(line) for line in ws.paths.lessons.read_bytes().split(b"\n") if line]
    return sorted((row["trigger"], row["better_action"], row["enabled"]) for row in lines)


def audit_file(ws: Workspace) -> Look:
    """How often each text was told to be added; no line twice."""
    lines = [line for line in ws.paths.ltm_audit.read_bytes().split(b"\n") if line]
    assert len(lines) == len(set(lines)), "an event twice"
    found = Counter(line.count(b"audited") > 0 for line in lines)
    return found[True]


def documents(ws: Workspace) -> Look:
    return [ws.documents.read(name) for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")]


def in_head(ws: Workspace) -> Look:
    """The files, and what the newest commit holds of them."""
    kept = [git(ws.paths.workspace, "show", f"HEAD:{name}") for name in ("SOUL.md", "USER.md", "memory/MEMORY.md")]
    git(ws.paths.workspace, "fsck", "--strict", "--no-dangling")
    return documents(ws), kept


def archive(ws: Workspace) -> Look:
    cursor = ws.paths.memory / ".cursor"
    return [entry.content for entry in ws.history.entries()], cursor.read_text() if cursor.exists() else ""


def dreamt(ws: Workspace) -> Look:
    """The files, the cursor, what waits, and the commit."""
    waiting = sorted(hunk.edit.new for hunk in ws.dream.review.waiting())
    return in_head(ws), (ws.paths.memory / ".dream_cursor").read_text(), waiting


def session(ws: Workspace) -> Look:
    return [(message.role, message.content, message.hidden) for message in ws.sessions.get(KEY).messages]


def sessions_listed(ws: Workspace) -> Look:
    return sorted((info.key, info.hidden_reason) for info in ws.sessions.list())


def turns(ws: Workspace) -> Look:
    """What is remembered, how many turns are open, and whether the one that brought it came to its end. One that was
    torn while it was written ends without what it said, and the same comes once more then."""
    found, told = ws.wal.counts(), texts(ws)
    done = any("black coffee" in text for text, *_ in told)
    return told, found["open"], done and found["turns"] - found["open"] >= 2


def mirror(ws: Workspace) -> Look:
    found = ws.paths.memory / "semantic" / "facts.md"
    number = found.read_text().count("mirrored once") if found.is_file() else 0
    return texts(ws), number


def records(ws: Workspace) -> Look:
    """What the agent recorded, without times."""
    times = ("created_at", "completed_at", "last_used", "timestamp")
    kinds = [kind for kind, found in ws.records.counts().items() if sum(found.values())]
    return {
        record.key: ({name: value for name, value in record.fields.items() if name not in times}, record.tier)
        for kind in kinds
        for record in ws.records.list_records(kind)
    }


def archived(ws: Workspace) -> Look:
    return sorted(records(ws)), sorted(hit.record.key for hit in ws.lifecycle.archives.search("harbour")[0])


def happening(ws: Workspace) -> Look:
    return sorted(entry.data["message"] for entry in ws.operational.recent(None) if entry.category == "event")


def happened(ws: Workspace) -> Look:
    """What is told of it, now or in working memory: a critical entry is in that before it is acknowledged."""
    return sorted({*happening(ws), *(record.fields["data"]["message"] for record in ws.records.list_records("event"))})


def known(ws: Workspace) -> Look:
    return [(one.title, len(ws.knowledge.chunks(one.id))) for one in ws.knowledge.documents()]


def schema(ws: Workspace) -> Look:
    return texts(ws)


def backups(ws: Workspace) -> Look:
    from nanomem_tui.store.moving import backup
    from nanomem_tui.store.moving.backup import folder_of

    found = backup.list_archives(folder_of(ws.paths))
    for made in found:
        assert not backup.check_archive(made.path)[1]
    return min(1, len(found))


def exported(ws: Workspace) -> Look:
    path = ws.paths.workspace.parents[1] / "out.jsonl"
    if not path.exists():
        return None
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    return sorted(row["text"] for row in rows if row.get("type") == "item" and row["text"] not in OURS)


def own_settings(ws: Workspace) -> Look:
    return ws.settings.max_items


def secret_free(ws: Workspace) -> Look:
    """Whether the secret is found in a file that is read."""
    held = [path for path in (ws.paths.memory_md, ws.paths.history) if SECRET.encode() in path.read_bytes()]
    return texts(ws), [path.name for path in held]


def readable(ws: Workspace) -> Look:
    """The archive as bytes: what is no line of JSON hinders the agent."""
    lines = ws.paths.history.read_bytes().split(b"\n")
    return len([line for line in lines if line.strip()]), ws.paths.soul.read_bytes()


# -- how they are prepared ---------------------------------------------------------------------------------------------


def no_git(workspace: Path) -> None:
    import shutil

    shutil.rmtree(workspace / ".git")


def left_by_a_kill(workspace: Path) -> None:
    """Changes that no checkpoint came after: their process was killed."""
    ws = open_workspace(workspace)
    ws.items.add("left by a kill")
    ws.lessons.set_enabled(["lesson_1"], False)
    kill(ws)


def another_memory(form: str) -> Callable[[Path], None]:
    """A file of another workspace's memory, beside the home."""

    def prepare(workspace: Path) -> None:
        other = workspace.parents[1] / "other"
        other.mkdir()
        with open_workspace(make_home(other, items=2, lessons=1)) as ws:
            for number in range(12):
                ws.facts.set("other", f"name {number}", f"value {number}")
            ws.transfer.export(form, workspace.parents[1] / "incoming")

    return prepare


def take_in(ws: Workspace) -> None:
    plan = ws.transfer.preview(ws.paths.workspace.parents[1] / "incoming", trust=True)
    ws.transfer.run(plan)


def years(workspace: Path) -> None:
    with clock.at(NOW), open_workspace(workspace) as ws:
        stored = []
        for year in (2024, 2025):
            at = clock.iso(datetime(year, 5, 1, tzinfo=UTC))
            fields = {"description": f"Harbour {year}", "status": "completed", "created_at": at}
            stored += [NewRecord("goal", fields, f"g{year}_{number}") for number in range(3)]
        stored += [NewRecord("metric", {"name": "cpu", "value": 1.0, "timestamp": clock.iso(NOW - timedelta(days=60))})]
        ws.records.store_many(stored)


def moved_years(workspace: Path) -> None:
    years(workspace)
    with clock.at(NOW), open_workspace(workspace) as ws:
        ws.lifecycle.run()


def old_history(workspace: Path) -> None:
    (workspace / "memory" / "HISTORY.md").write_text(OLD_HISTORY)
    for name in ("history.jsonl", ".cursor"):
        (workspace / "memory" / name).unlink()


def upgraded(workspace: Path) -> None:
    """Sessions under the names of an older release."""
    for number, key in enumerate(("cli:a", "cli:b")):
        session_file(workspace, key_to_lossy_name(key)).write_bytes(transcript(key, number + 2))


def broken_lines(workspace: Path) -> None:
    with (workspace / "memory" / "history.jsonl").open("ab") as file:
        file.write(b'{"cursor": 5, "timest\n\xff\xff\n')
    with (workspace / "SOUL.md").open("ab") as file:
        file.write(b"- \xff\n")


def with_secret(workspace: Path) -> None:
    with (workspace / "memory" / "MEMORY.md").open("a") as file:
        file.write(f"- the key is {SECRET}\n")
    row = {"cursor": 5, "timestamp": "2026-02-15 09:00", "content": f"[FACT] the key is {SECRET}"}
    with (workspace / "memory" / "history.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    (workspace / "memory" / ".cursor").write_text("5")


def documents_beside(workspace: Path) -> None:
    (workspace.parents[1] / "page.md").write_text("# Harbour\n\n" + "The gate opens at nine.\n\n" * 40)


def add_document(ws: Workspace) -> None:
    from nanomem_tui.tiers import knowledge_sources

    ws.knowledge.add(knowledge_sources.read_path(ws.paths.workspace.parents[1] / "page.md"))


def mirrored(workspace: Path) -> None:
    (workspace / "memory" / "semantic").mkdir()


def old_items(workspace: Path) -> None:
    with clock.at(NOW - timedelta(days=400)), open_workspace(workspace) as ws:
        for number in range(3):
            ws.items.add(f"long ago {number}", "fact")


def rescue(ws: Workspace) -> None:
    from nanomem_tui.memory.sessions import transcript_repair

    transcript_repair.rescue(ws)


def make_backup(ws: Workspace) -> None:
    from nanomem_tui.store.moving import backup

    backup.make_backup(ws.paths, ws.layout)


def with_backup(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        ws.flush()
        make_backup(ws)
    with open_workspace(workspace) as ws:
        ws.items.add("younger than the backup")
        ws.documents.edit("SOUL.md", "# Soul\n- younger than the backup\n")


def edit_three(ws: Workspace) -> None:
    """One operation on three files."""
    names = ("SOUL.md", "USER.md", "memory/MEMORY.md")
    told = {name: (ws.documents.read(name) or "").replace("- ", "- really ", 1) for name in names}
    ws.perform(new_operation("file.edit", "three", [ws.documents.change(name, text) for name, text in told.items()]))


def exports(ws: Workspace) -> None:
    ws.items.edit("ltm_1", text="exported anew")
    ws.flush()


def teach(ws: Workspace) -> None:
    ws.lessons.add("the disk is full", "look at the logs first")
    ws.flush()


def audit(ws: Workspace) -> None:
    ws.items.add("audited once")
    ws.flush()


def talked(workspace: Path) -> None:
    head = {"_type": "metadata", "key": "cli:talk", "created_at": "2026-05-01T10:00:00", "metadata": {}}
    said = ("I live in Rome", "I prefer tea", "I'm allergic to nuts")
    rows = [{"role": "user", "content": text, "timestamp": "2026-01-02T10:00:00"} for text in said]
    lines = "".join(json.dumps(row) + "\n" for row in (head, *rows))
    session_file(workspace, key_to_name("cli:talk")).write_text(lines)


def crystallize(ws: Workspace) -> None:
    """Of three facts one is kept, one waits, one is rejected."""
    from nanomem_tui.memory.facts.crystallize import Decision

    plan = ws.crystallizer.plan()
    answers = {"lives in": "keep", "tea": "inbox", "nuts": "reject"}
    new = [one for one in plan.open if one.verdict == "new" and one.proposal.key in answers]
    ws.crystallizer.apply(plan, [Decision(one, answers[one.proposal.key]) for one in new])  # type: ignore[arg-type]


def crystallized(ws: Workspace) -> Look:
    """What is remembered, what waits, and what would be proposed anew."""
    new = sorted(one.proposal.key for one in ws.crystallizer.plan().judged if one.verdict == "new")
    return texts(ws), sorted(one.text for one in ws.inbox.list()), new


def after_a_dream(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        assert ws.dream.run().files


def undo_the_dream(ws: Workspace) -> None:
    done = next(
        (entry for entry in ws.log(limit=100) if entry.operation.kind == "dream.run" and not entry.undone), None
    )
    if done is not None:
        ws.undo(done.operation.id)


MEMORY_FILES = ("workspace/SOUL.md", "workspace/USER.md", "workspace/memory/MEMORY.md", "workspace/.git/*")
DREAMS = (*MEMORY_FILES, "workspace/memory/.dream_cursor", "workspace/memory/.dream*")
ARCHIVE = ("workspace/memory/history.jsonl*", "workspace/memory/.cursor", "workspace/memory/HISTORY.md*", *DREAMS)
SESSIONS = ("sessions/*",)

WRITERS: dict[str, Writer] = {
    "change": Writer(texts, lambda ws: ws.items.add("the change itself")),
    "checkpoint": Writer(lambda ws: (texts(ws), lessons(ws)), lambda ws: ws.flush(), prepare=left_by_a_kill),
    "facts": Writer(texts, lambda ws: ws.facts.set("about", "city", "Porto")),
    "facts out of dialogue": Writer(crystallized, crystallize, prepare=talked),
    "LTM_SNAPSHOT.json": Writer(snapshot_file, exports, beside=True),
    "LESSONS.jsonl": Writer(lessons_file, teach, beside=True),
    "LTM_AUDIT.jsonl": Writer(audit_file, audit, beside=True),
    "mirrors": Writer(
        mirror, lambda ws: ws.items.add("mirrored once", "fact"), prepare=mirrored, beside=True,
        touches=("workspace/memory/semantic/*",),
    ),
    "session state": Writer(
        turns, lambda ws: ws.engine.whole_turn(turn_end(said("Remember that I like black coffee"), whole=True)),
        survives=texts,
        touches=("workspace/memory/session-state/*", *SESSIONS),
    ),
    "compaction of the archive": Writer(archive, lambda ws: ws.history_changes.compact(1), touches=ARCHIVE),
    "migration of the archive": Writer(
        archive, lambda ws: ws.history_changes.migrate(), prepare=old_history, touches=ARCHIVE
    ),
    "memory files": Writer(documents, edit_three, touches=MEMORY_FILES),
    "git": Writer(
        in_head, lambda ws: ws.documents.edit("USER.md", "# User\n- a\n- b\n- c\n"), touches=MEMORY_FILES, beside=True
    ),
    "dream": Writer(dreamt, lambda ws: ws.dream.run(), touches=DREAMS, beside=True),
    "undo of a dream": Writer(dreamt, undo_the_dream, prepare=after_a_dream, touches=DREAMS, beside=True),
    "dream without versions": Writer(documents, lambda ws: ws.dream.run(), prepare=no_git, touches=DREAMS, beside=True),
    "session compaction": Writer(session, lambda ws: ws.sessions.compact(KEY, 4), touches=SESSIONS),
    "consolidation": Writer(
        lambda ws: (session(ws), len(ws.history.entries())),
        lambda ws: ws.consolidator.consolidate(KEY, budget=120), touches=(*SESSIONS, *ARCHIVE), beside=True,
    ),
    "session rescue": Writer(sessions_listed, rescue, prepare=upgraded, touches=SESSIONS),
    "import": Writer(texts, take_in, prepare=another_memory("jsonl")),
    "import of a database": Writer(texts, take_in, prepare=another_memory("scoped-db")),
    "export": Writer(
        exported, lambda ws: ws.transfer.export("jsonl", ws.paths.workspace.parents[1] / "out.jsonl", force=True)
    ),
    "records": Writer(
        records, lambda ws: ws.records.store("task", {"description": "look at disk 2"}, "t2"),
        survives=texts,  # an agent told it of its work: see docs/trust.md
    ),
    "operational": Writer(
        happened, lambda ws: ws.operational.push("event", {"message": "the power failed"}, "tests", True),
    ),
    "lifecycle": Writer(records, lambda ws: ws.lifecycle.run(), prepare=years, at=NOW, resumes=True),
    "archive": Writer(
        archived, lambda ws: ws.lifecycle.archive(2024), prepare=moved_years, at=NOW, resumes=True
    ),
    "retention": Writer(texts, lambda ws: ws.items.prune(300), prepare=old_items),
    "knowledge": Writer(known, add_document, prepare=documents_beside),
    "backup": Writer(backups, make_backup),
    "restore": Writer(
        lambda ws: (texts(ws), documents(ws)), command=("backup", "restore", "--yes"), prepare=with_backup,
        touches=(*MEMORY_FILES, "*"), resumes=True, takes_back=True,
    ),
    "doctor": Writer(
        readable, command=("doctor", "--fix", "--yes"), prepare=broken_lines, touches=(*ARCHIVE, "workspace/SOUL.md")
    ),
    "scrub": Writer(
        secret_free, command=("scrub", "--mask", "--yes"), prepare=with_secret, touches=(*ARCHIVE, "*"), resumes=True,
    ),
    "settings": Writer(own_settings, command=("config", "set", "max_items", "77", "--here")),
}  # fmt: skip


# -- the work of a trial -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def settings_of(writer: Writer, base: Path) -> Iterator[None]:
    """The time and the environment in which it works."""
    os.environ["NANOMEM_WORKSPACE"] = str(workspace_of(base))
    with clock.at(writer.at) if writer.at is not None else contextlib.nullcontext():
        yield


def steps(writer: Writer, base: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """What a trial does, by the names of `STEPS`."""
    ws = open_workspace(workspace_of(base))
    yield "first", lambda: ws.items.add(FIRST)
    if writer.command:
        yield "close", ws.close
        yield "work", lambda: command(*writer.command)
        return
    yield "work", lambda: writer.work(ws)
    yield "flush", ws.flush
    yield "close", ws.close


def command(*line: str) -> None:
    """A command line in this process; an error of it is raised."""
    from nanomem_tui.cli.main import run
    from nanomem_tui.core.errors import NanomemError

    if line[:2] == ("backup", "restore"):
        from nanomem_tui.store.moving import backup
        from nanomem_tui.store.moving.backup import folder_of

        with open_workspace(os.environ["NANOMEM_WORKSPACE"]) as ws:
            line = (*line, backup.list_archives(folder_of(ws.paths))[-1].path.name)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        code = run(list(line))
    if code:
        raise NanomemError(f"`nanomem {' '.join(line)}` ended with {code}")


def warm_up() -> None:
    """Load what the writers need, once for all trials."""
    import tempfile

    from nanomem_tui.cli import main

    assert main
    with tempfile.TemporaryDirectory() as folder:
        full_home(Path(folder))
