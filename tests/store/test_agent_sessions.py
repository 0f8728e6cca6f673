"""An item of a RAM-first agent that names a session belongs to that session: in what is read, recalled and written."""

import tarfile
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.scopes import Audience
from tests.memory.turns import begin, turn
from tests.store.homes import Agent, files, item, make_home

OLD = Path(__file__).parents[1] / "data" / "kept-as-global.tar.gz"
"""The home of an agent whose items a release before this one kept for every chat."""


def home(tmp_path, *rows):
    """A RAM-first home with these items."""
    workspace = make_home(tmp_path, items=0, lessons=0)
    agent = Agent(workspace)
    agent.items = {row["id"]: row for row in rows}
    agent.flush()
    return workspace


def seen(ws, text, **fields):
    """The ids of what a turn is given."""
    return {hit.item.id for hit in begin(ws, text, sender_id="", **fields).hits}


def written(workspace):
    """The session of each item in the agent's file, by its words."""
    return {row["text"]: row["session_key"] for row in Agent(workspace).read_items()}


FALCON = item(1, "The code name is Falcon", session_key="telegram:1")
THURSDAY = item(2, "The code review is on Thursday", session_key="discord:9")
SIX = item(3, "The code office closes at six", session_key="")


def test_an_item_is_given_in_its_session_and_in_no_other(tmp_path):
    with open_workspace(home(tmp_path, FALCON, THURSDAY, SIX)) as ws:
        assert seen(ws, "what code is it?", session_key="telegram:1") == {"ltm_1", "ltm_3"}
        assert seen(ws, "what code is it?", session_key="discord:9") == {"ltm_2", "ltm_3"}
        assert seen(ws, "what code is it?", session_key="telegram:2") == {"ltm_3"}
        assert {row.id for row in ws.items.all()} == {"ltm_1", "ltm_2", "ltm_3"}
        assert ws.status()["items"]["by_scope"] == {"chat": 2, "global": 1}
        assert not ws.scopes.leaks()


def test_an_item_of_a_topic_is_given_in_that_topic_alone(tmp_path):
    topic = item(1, "The code name is Falcon", session_key="telegram:-100:topic:42")
    in_group = {"channel": "telegram", "chat_id": "-100"}
    with open_workspace(home(tmp_path, topic)) as ws:
        assert seen(ws, "code name?", session_key="telegram:-100:topic:42", **in_group) == {"ltm_1"}
        assert seen(ws, "code name?", session_key="telegram:-100:topic:42") == {"ltm_1"}
        assert seen(ws, "code name?", session_key="telegram:-100:topic:7", **in_group) == set()
        assert seen(ws, "code name?", session_key="telegram:-100", **in_group) == set()


@pytest.mark.parametrize("key", ["heartbeat", "telegram:", ":42", "tele gram:42", "telegram:../../x"])
def test_an_item_of_a_session_that_names_no_chat_is_seen_by_the_owner_alone(tmp_path, key):
    workspace = home(tmp_path, item(1, "The code name is Falcon", session_key=key))
    with open_workspace(workspace) as ws:
        assert seen(ws, "code name?", session_key="telegram:42") == set()
        assert [row.id for row in ws.items.all()] == ["ltm_1"]
        assert not ws.scopes.seen_by(Audience("telegram", "42"))
        ws.items.set_pinned(["ltm_1"], True)
    assert written(workspace) == {"The code name is Falcon": key}


def test_an_item_that_the_agent_adds_while_we_look_is_of_its_session(tmp_path):
    workspace = home(tmp_path, SIX)
    with open_workspace(workspace) as ws:
        ws.items.add("a first change")
        ws.flush()
        agent = Agent(workspace)
        agent.items["ltm_1"] = FALCON
        agent.flush()
        ws.refresh()
        assert ws.items.get("ltm_1").scope_key == "channel:telegram:chat:1"
        assert seen(ws, "code name?", session_key="discord:9") == {"ltm_3"}


def test_what_a_chat_teaches_is_written_for_the_agent_with_its_session(tmp_path):
    workspace = home(tmp_path)
    with open_workspace(workspace) as ws:
        turn(ws, "Remember that my favourite tea is sencha", session_key="telegram:42", sender_id="42")
        turn(ws, "We decided to use Postgres for the archive", session_key="discord:9", sender_id="ana")
        turn(
            ws, "Remember that my desk is number 7", session_key="telegram:-100:topic:3", channel="telegram",
            chat_id="-100", sender_id="42",
        )  # fmt: skip
    assert set(written(workspace).values()) == {"telegram:42", "discord:9", "telegram:-100:topic:3"}
    with open_workspace(workspace) as ws:  # what we wrote is no change of the agent's
        assert not [one for one in ws.log() if one.operation.kind == "agent.changed"]


def test_what_a_person_moved_is_written_for_where_it_was_moved(tmp_path):
    workspace = home(tmp_path, FALCON, THURSDAY)
    with open_workspace(workspace) as ws:
        ws.scopes.move(["ltm_1"], ws.scopes.named("global"))
        ws.scopes.move(["ltm_2"], ws.scopes.named("telegram:77"))
    assert written(workspace) == {FALCON["text"]: "", THURSDAY["text"]: "telegram:77"}
    agent = Agent(workspace)
    agent.flush()
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").scope_type == "global"
        assert ws.items.get("ltm_2").scope_key == "channel:telegram:chat:77"


def test_an_item_that_the_agent_hears_again_elsewhere_goes_there(tmp_path):
    workspace = home(tmp_path, FALCON)
    with open_workspace(workspace) as ws:
        ws.items.add("a first change")
    agent = Agent(workspace)
    agent.items["ltm_1"] |= {"session_key": "discord:9", "hits": 2}
    agent.flush()
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").scope_key == "channel:discord:chat:9"
        assert seen(ws, "code name?", session_key="telegram:1") == set()


def test_what_a_person_moved_stays_there_when_the_agent_hears_it_elsewhere(tmp_path):
    workspace = home(tmp_path, FALCON)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        ws.scopes.move(["ltm_1"], ws.scopes.named("telegram:77"))
    agent.items["ltm_1"] |= {"session_key": "discord:9", "hits": 2}
    agent.flush()  # it has not read its file again
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").scope_key == "channel:telegram:chat:77"


def test_the_agent_folding_two_chats_into_one_deletes_neither(tmp_path):
    workspace = home(tmp_path, FALCON)
    with open_workspace(workspace) as ws:
        ws.items.add(FALCON["text"], channel="discord", chat_id="9")
    agent = Agent(workspace)
    assert len(agent.items) == 2
    del agent.items["ltm_1"]  # its compaction knows words alone
    agent.flush()
    with open_workspace(workspace) as ws:
        assert {row.scope_key for row in ws.items.all()} == {"channel:telegram:chat:1", "channel:discord:chat:9"}


def test_an_import_puts_the_items_of_a_snapshot_into_their_chats(tmp_path):
    source = home(tmp_path / "one", FALCON, THURSDAY, SIX)
    with open_workspace(make_home(tmp_path / "two", items=0, lessons=0)) as ws:
        ws.transfer.run(ws.transfer.preview(source / "memory" / "LTM_SNAPSHOT.json"))
        assert {(row.id, row.scope_key.rpartition(":")[2]) for row in ws.items.all() if row.scope_type == "chat"} == {
            ("ltm_1", "1"), ("ltm_2", "9"),
        }  # fmt: skip
        assert seen(ws, "code?", session_key="telegram:1") == {"ltm_1", "ltm_3"}


# -- stores that an earlier release made -------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path):
    """A fresh copy of the old home: `ltm_1` of telegram:12345 and `ltm_2` of discord:9001 kept for every chat, `ltm_3`
    of no session, `ltm_4` moved by hand to telegram:777, `ltm_5` moved by hand to every chat."""

    def copy():
        with tarfile.open(OLD) as tar:
            tar.extractall(tmp_path, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
        return tmp_path / "home" / "workspace"

    return copy


def scopes(ws):
    return {row.id: row.scope_key for row in ws.items.all() if row.id.startswith("ltm_") and len(row.id) == 5}


PLACED = {
    "ltm_1": "channel:telegram:chat:12345",
    "ltm_2": "channel:discord:chat:9001",
    "ltm_4": "channel:telegram:chat:777",
}


@pytest.mark.sqlite("a file of an earlier release")
def test_the_first_write_gives_old_items_to_their_chats_as_one_operation(old):
    workspace = old()
    with open_workspace(workspace) as ws:
        ws.flush()
    with open_workspace(workspace) as ws:
        assert {key: value for key, value in scopes(ws).items() if "chat" in value} == PLACED
        made = [one.operation for one in ws.log() if one.operation.kind == "items.sessions"]
        assert [(one.label, len(one.changes)) for one in made] == [
            ("2 items now belong only to the chat where they were said", 2)
        ]
        assert seen(ws, "the code name of the server room", session_key="discord:9001") == set()
        assert seen(ws, "the code name of the server room", session_key="telegram:12345") == {"ltm_1"}


@pytest.mark.sqlite("a file of an earlier release")
def test_a_turn_is_given_no_old_item_of_another_chat_even_before_the_first_write(old):
    with open_workspace(old()) as ws:
        assert seen(ws, "code name of the server room", session_key="discord:9001") == set()


@pytest.mark.sqlite("a file of an earlier release")
def test_undone_old_items_stay_as_the_person_wants_them(old):
    workspace = old()
    with open_workspace(workspace) as ws:
        ws.flush()
        ws.undo()
    with open_workspace(workspace) as ws:
        ws.items.add("a change")
        ws.flush()
    with open_workspace(workspace) as ws:
        found = scopes(ws)
        assert (found["ltm_1"].startswith("workspace:"), found["ltm_2"].startswith("workspace:")) == (True, True)
        assert sum(one.operation.kind == "items.sessions" for one in ws.log()) == 1
    assert set(written(workspace).values()) == {"", "telegram:777"}


@pytest.mark.sqlite("a file of an earlier release")
def test_the_first_command_of_a_person_can_move_an_old_item(old):
    workspace = old()
    with open_workspace(workspace) as ws:
        ws.scopes.move(["ltm_1"], ws.scopes.named("telegram:777"))
    with open_workspace(workspace) as ws:
        assert scopes(ws)["ltm_1"] == "channel:telegram:chat:777"
        assert scopes(ws)["ltm_2"] == PLACED["ltm_2"]


@pytest.mark.sqlite("a file of an earlier release")
def test_two_processes_give_old_items_to_their_chats_once(old):
    workspace = old()
    with open_workspace(workspace) as one, open_workspace(workspace) as other:
        assert one.items.all()
        assert other.items.all()
        one.flush()
        other.refresh()
        other.flush()
    with open_workspace(workspace) as ws:
        assert sum(entry.operation.kind == "items.sessions" for entry in ws.log()) == 1


@pytest.mark.sqlite("a file of an earlier release")
def test_looking_at_an_old_home_writes_nothing(old):
    workspace = old()
    before = files(workspace.parent)
    with open_workspace(workspace) as ws:
        assert scopes(ws)["ltm_1"] == PLACED["ltm_1"]
        assert ws.status()["items"]["total"] == 6
    assert files(workspace.parent, skip=lambda path: path.name.endswith((".lock", "-wal", "-shm"))) == {
        name: data for name, data in before.items() if not name.endswith((".lock", "-wal", "-shm"))
    }
