"""The agent's work and the knowledge base move with the memory: records, what agents overwrote, documents, the runs of
the lifecycle; they are found as before."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.main import run as run_line
from nanomem_tui.core import clock, paths
from nanomem_tui.core.errors import Moved
from nanomem_tui.tiers import knowledge_sources
from nanomem_tui.tiers.knowledge_sources import Found
from nanomem_tui.tiers.records import NewRecord
from tests.store.homes import make_home

pytestmark = [pytest.mark.vectors, pytest.mark.sqlite]
WORDS = ["nginx", "disk", "certificate", "restart", "backup", "cron", "kernel", "latency", "proxy", "reload", "token"]
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def said(draw, most):
    return " ".join(draw.choices(WORDS, k=draw.randint(2, most)))


def command(workspace, *line):
    return run_line([*line, "--workspace", str(workspace)])


def worked(workspace, draw, name):
    """Records of several kinds, some changed and some gone, and documents."""
    with open_workspace(workspace) as ws:
        tasks = [NewRecord("task", {"description": said(draw, 6)}, f"{name}t{n:03}") for n in range(60)]
        rest = [NewRecord("incident", {"description": said(draw, 6)}, f"{name}i{n}") for n in range(20)]
        ws.records.store_many([*tasks, *rest])
        ws.records.store("task", {"description": "said anew by the proxy"}, f"{name}t004")
        ws.records.delete("task", [f"{name}t{n:03}" for n in range(0, 60, 7)])
        texts = [(f"{name} {draw.choice(WORDS)} {n}", f"# {said(draw, 3)}\n\n{said(draw, 40)}") for n in range(12)]
        ws.knowledge.add(Found([knowledge_sources.text_document(text, "", title) for title, text in texts], []))
        ws.knowledge.remove([ws.knowledge.get(texts[2][0]).id])


def found(workspace):
    """What is there, and what is found."""
    with open_workspace(workspace) as ws, clock.at(NOON):
        kinds = ("task", "incident")
        records = {kind: ws.records.list_records(kind, limit=1_000) for kind in kinds}
        return {
            "records": records,
            "past": [ws.records.history(kind, one.id) for kind in kinds for one in records[kind]],
            "hits": [sorted(hit.record.id for hit in ws.records.search(word, limit=500)) for word in WORDS],
            "documents": ws.knowledge.documents(own=False),
            "known": [sorted(hit.id for hit in ws.knowledge.search(word, 50)) for word in WORDS],
            "runs": ws.lifecycle.last_at(),
        }


def test_there_and_back(tmp_path, postgres):
    draw = random.Random(3)
    workspace = make_home(tmp_path, items=2)
    worked(workspace, draw, "a")
    _, url = postgres.fresh()
    for number, way in enumerate((("sqlite", url), (url, "sqlite"), ("sqlite", url))):
        before = found(workspace)
        assert sum(map(len, before["hits"])) > 40
        assert sum(map(len, before["known"])) > 20
        assert command(workspace, "migrate-store", *way, "--yes") == 0
        assert found(workspace) == before
        worked(workspace, draw, f"b{number}")
        with open_workspace(workspace) as ws:
            ws.undo()
            ws.redo()


def test_what_the_lifecycle_did_can_be_taken_back_there(tmp_path, postgres):
    workspace = make_home(tmp_path, items=2)
    _, url = postgres.fresh()
    with open_workspace(workspace) as ws, clock.at(NOON):
        old = [NewRecord("task", {"description": f"old {n}", "status": "completed"}, f"o{n}") for n in range(30)]
        ws.records.store_many(old)
    with open_workspace(workspace) as ws:
        before = {one.id: one.fields for one in ws.records.list_records("task", limit=99)}
    with open_workspace(workspace) as ws, clock.at(NOON + timedelta(days=200)):
        ws.lifecycle.run()
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    with open_workspace(workspace) as ws, clock.at(NOON + timedelta(days=201)):
        runs = [entry.operation.id for entry in ws.log(20) if entry.operation.actor == "compaction"]
        ws.undo(runs[0])
        assert {one.id: one.fields for one in ws.records.list_records("task", limit=99)} == before


def test_who_has_the_old_one_open_is_told(tmp_path, postgres):
    workspace = make_home(tmp_path, items=2)
    _, url = postgres.fresh()
    with open_workspace(workspace) as ws:
        ws.items.add("a memory that lies in the file")
    old = open_workspace(workspace)
    assert command(workspace, "migrate-store", "sqlite", url, "--yes") == 0
    with pytest.raises(Moved, match="lie elsewhere now"):
        old.records.store("task", {"description": "nobody would see it"}, "t1")
    old.close()
    with open_workspace(workspace) as ws:
        ws.records.store("task", {"description": "seen by all"}, "t1")
    assert command(workspace, "migrate-store", url, "sqlite", "--yes") == 0
    with open_workspace(workspace) as ws:
        assert ws.records.get("task", "t1").fields["description"] == "seen by all"
        ws.records.store("task", {"description": "and it goes on"}, "t2")


def test_what_is_forgotten_is_in_no_file_that_a_move_left(tmp_path, postgres):
    workspace = make_home(tmp_path, items=2)
    secret = "the platypus password"
    with open_workspace(workspace) as ws:
        ws.items.add(secret)
        ws.records.store("task", {"description": secret}, "t1")
        ws.flush()
    assert command(workspace, "migrate-store", "sqlite", postgres.fresh()[1], "--yes") == 0
    assert command(workspace, "forget", "--text", secret, "--yes") == 0
    data = paths.find_workspace(workspace).data
    held = [file.name for file in data.rglob("*") if file.is_file() and b"platypus" in file.read_bytes()]
    assert held == []
