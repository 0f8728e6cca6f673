"""What an agent does to a row and its delete, undo and redo here: which of them came first does not matter, also after
a kill."""

import pytest

from nanomem_tui import open_workspace
from tests.store.homes import Agent, kill, make_home, state

KEY = "ltm_1"


@pytest.fixture
def workspace(tmp_path):
    return make_home(tmp_path)


@pytest.fixture
def agent(workspace):
    """It was started before all that happens, so it knows every item until it is started anew."""
    return Agent(workspace)


def agent_uses(agent, ws, key=KEY):
    """One more use, in the agent's file, and seen here."""
    agent.items[key]["hits"] += 1
    agent.flush()
    ws.refresh()
    ws.items.all()


def delete_and_undo(ws, meanwhile):
    """The database has the item as deleted; that it is back stands in the ledger alone."""
    ws.items.delete([KEY])
    ws.store.checkpoint()
    ws.undo()
    meanwhile()


def use_while_deleted(ws, meanwhile):
    """The agent's use comes while the item is deleted."""
    ws.items.delete([KEY])
    ws.store.checkpoint()
    meanwhile()
    ws.undo()


def use_then_delete(ws, meanwhile):
    """The database has the item as before all."""
    ws.items.set_pinned([KEY], True)
    ws.store.checkpoint()
    meanwhile()
    ws.items.delete([KEY])
    ws.undo()


ORDERS = [delete_and_undo, use_while_deleted, use_then_delete]


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_a_use_by_the_agent_is_kept(workspace, agent, order, killed):
    ws = open_workspace(workspace)
    order(ws, lambda: agent_uses(agent, ws))
    assert ws.items.get(KEY).hits == 2
    kill(ws) if killed else ws.close()
    for _ in range(2):  # read from the ledger, then from the database
        with open_workspace(workspace) as ws:
            assert ws.items.get(KEY).hits == 2
            ws.flush()
    assert agent.read_items()[0]["hits"] == 2


@pytest.mark.parametrize("order", ORDERS)
def test_a_text_by_the_agent_is_kept(workspace, agent, order):
    def edit():
        agent.items[KEY]["text"] = "what the agent makes of it"
        agent.flush()
        ws.refresh()

    ws = open_workspace(workspace)
    order(ws, edit)
    kill(ws)
    row = state(workspace)[KEY]
    assert (row.text, row.meta) == ("what the agent makes of it", {})


@pytest.mark.parametrize("killed", [False, True])
def test_an_item_that_is_added_once_more_keeps_its_uses(workspace, agent, killed):
    ws = open_workspace(workspace)
    key = ws.items.add("kept")[1].id
    ws.flush()
    agent.load()
    ws.undo()
    ws.store.checkpoint()
    if killed:
        ws.redo()
        agent_uses(agent, ws, key)
        kill(ws)
        ws = open_workspace(workspace)
    else:
        agent_uses(agent, ws, key)
        ws.redo()
    assert ws.items.get(key).hits == 1
    ws.close()
    assert state(workspace)[key].hits == 1


def test_a_deleted_item_stays_deleted_whatever_the_agent_writes(workspace, agent):
    with open_workspace(workspace) as ws:
        ws.items.delete([KEY])
        ws.flush()
        agent.items[KEY]["text"] = "another text"
        agent_uses(agent, ws)
        ws.flush()
    assert KEY not in state(workspace)
    assert KEY not in {row["id"] for row in agent.read_items()}


def test_what_a_killed_process_did_reaches_the_agents_file_with_the_next_flush(workspace, agent):
    ws = open_workspace(workspace)
    ws.items.delete([KEY])
    kill(ws)
    with open_workspace(workspace) as ws:
        ws.flush()
        assert KEY not in {row["id"] for row in agent.read_items()}
