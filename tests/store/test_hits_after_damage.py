"""Hits are counted once, also when a database is made anew from a copy that is older than the last export."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.workspace import Workspace
from tests.store.homes import Agent, kill, make_home

pytestmark = pytest.mark.sqlite("the file itself")

KEY = "ltm_1"
DATABASE = "nanomem/nanomem.db"


def use(ws: Workspace, times: int) -> None:
    """Turns that used the item."""
    for _ in range(times):
        row = ws.items.get(KEY)
        ws.perform(new_operation("turn", "used", [change_of("item", row, row._replace(hits=row.hits + 1))]))


def agent_uses(agent: Agent, times: int) -> None:
    """The agent used it too, in its RAM, and writes its file."""
    agent.items[KEY]["hits"] += times
    agent.items[KEY]["updated_at"] = "2026-04-01T00:00:00.000001"
    agent.flush()


def hits(workspace: Path) -> int:
    with open_workspace(workspace) as ws:
        return ws.items.get(KEY).hits


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A store with a copy, an export after it, and work that no export holds yet."""
    made = make_home(tmp_path, config={"agents": {}})
    with open_workspace(made) as ws:
        use(ws, 2)
    with open_workspace(made) as ws:
        use(ws, 4)
    ws = open_workspace(made)
    use(ws, 8)
    ws.store.checkpoint()
    kill(ws)
    assert len(list((made.parent / "nanomem" / "backups").glob("copy-*.db"))) == 1
    return made


def nothing(workspace: Path) -> int:
    return 0


def agent_from_the_export(workspace: Path) -> int:
    agent_uses(Agent(workspace), 16)
    return 16


def agent_noticed_before(workspace: Path) -> int:
    agent_uses(Agent(workspace), 16)
    ws = open_workspace(workspace)
    ws.items.all()
    ws.refresh()
    ws.store.checkpoint()
    kill(ws)
    return 16


def agent_noticed_and_exported(workspace: Path) -> int:
    agent_uses(Agent(workspace), 16)
    with open_workspace(workspace) as ws:
        use(ws, 32)
    return 48


@pytest.mark.parametrize("then", [nothing, agent_from_the_export, agent_noticed_before, agent_noticed_and_exported])
def test_no_hit_is_counted_twice(workspace: Path, then: Callable[[Path], int]) -> None:
    ours, theirs = 14 + hits_at_first(), then(workspace)
    (workspace.parent / DATABASE).write_bytes(b"this is no database" * 500)
    found = hits(workspace)
    # What the agent added since an export that nobody remembers may be taken for ours, never the other way round.
    assert ours <= found <= ours + theirs
    assert found > ours or not theirs
    with open_workspace(workspace) as ws:
        use(ws, 64)
        ws.flush()
        assert ws.items.get(KEY).hits == found + 64
    assert hits(workspace) == Agent(workspace).items[KEY]["hits"] == found + 64
    agent_uses(Agent(workspace), 3)
    assert hits(workspace) == found + 67


def test_a_text_of_an_export_that_nobody_remembers_is_not_taken_for_the_agents(workspace: Path) -> None:
    with open_workspace(workspace) as ws:
        ws.items.edit(KEY, text="exported")
    ws = open_workspace(workspace)
    ws.items.edit(KEY, text="edited since")
    ws.store.checkpoint()
    kill(ws)
    (workspace.parent / DATABASE).write_bytes(b"this is no database" * 500)
    for _ in range(2):
        with open_workspace(workspace) as ws:
            row = ws.items.get(KEY)
            assert (row.text, row.meta.get("conflict")) == ("edited since", None)
            use(ws, 1)


def hits_at_first() -> int:
    """What the agent had counted before all."""
    from tests.store.homes import item

    return int(item(1)["hits"])
