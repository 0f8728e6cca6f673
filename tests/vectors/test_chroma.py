"""The index in a real Chroma: as the crystallized system has it, never in a folder of others, and never needed."""

import importlib.util
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import InvalidConfig, Refused
from nanomem_tui.core.operations import new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.vectors import outside
from nanomem_tui.vectors.outside import COLLECTION, LOCK, MARKER, ChromaCollection, ChromaCopy, chroma_location
from nanomem_tui.vectors.semantic_search import SemanticSearch, outside_of
from tests.conftest import need
from tests.vectors.fakes import Words, made
from tests.vectors.test_documents import fact

pytestmark = pytest.mark.vectors
CAT = "the cat sleeps on the sofa"


@pytest.fixture(autouse=True)
def installed():
    need(importlib.util.find_spec("chromadb") is not None, "chromadb is not installed: make vectors")


def meaning(ws, words=None, **settings):
    wanted = ws.settings._replace(vector_index="chroma", **settings)
    return SemanticSearch(ws.store, wanted, made(words or Words()), outside_of(ws.store, wanted))


def folder_of(ws):
    found = chroma_location(ws.settings, ws.paths)
    assert isinstance(found, Path)
    return found


@contextmanager
def reading(folder):
    """The collection as any other program sees it."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    try:
        yield client.get_collection(COLLECTION, embedding_function=None)
    finally:
        client.close()


def add_facts(ws, *items):
    ws.perform(new_operation("add", "facts", [change_of("item", None, item) for item in items]))


# -- what is in it ----------------------------------------------------------------------------------------------------


def test_the_collection_is_that_of_the_crystallized_system(ws):
    name = fact("имя", "Анна", domain="family", sub_category="relatives")
    add_facts(ws, name, fact("city", "Riga", category="place"))
    ws.flush()
    asked = meaning(ws)
    assert asked.sync() == 9
    assert asked.state()["index"] == "chroma"
    asked.close()
    with reading(folder_of(ws)) as collection:
        assert collection.metadata["hnsw:space"] == "cosine"
        assert collection.configuration_json["hnsw"]["space"] == "cosine"
        found = collection.get(ids=["fact::person::имя"], include=["documents", "metadatas", "embeddings"])
        assert found["documents"] == ["Domain: family\nКатегория: person\nКлюч: имя\nЗначение: Анна"]
        marks = found["metadatas"][0]
        assert {name: marks[name] for name in ("type", "category", "key", "value", "domain", "sub_category")} == {
            "type": "fact", "category": "person", "key": "имя", "value": "Анна", "domain": "family",
            "sub_category": "relatives",
        }  # fmt: skip
        assert marks["updated_at"][:10] == "2026-03-01"
        assert collection.count() == 9
        question = Words().vector("Анна имя")
        assert collection.query(query_embeddings=[question], n_results=1)["ids"] == [["fact::person::имя"]]
        assert sum(called.startswith("item::ltm_") for called in collection.get()["ids"]) == 7


def test_it_finds_what_the_rows_find(ws):
    add_facts(ws, *(fact(f"key {n}", f"walrus {n} of {n % 7}") for n in range(60)))
    rows = SemanticSearch(ws.store, ws.settings, made(Words()))
    asked = meaning(ws)
    asked.sync()
    for question in ("walrus 12 of 5", "a cat on a sofa", "nothing like it"):
        expected = rows.nearest(question, 5)
        found = asked.nearest(question, 5)
        assert found[0][0] == expected[0][0] or question == "nothing like it"
        assert [far for _, far in found] == pytest.approx([far for _, far in expected], abs=1e-4)
        few = {key for key, _ in expected[2:4]}
        assert {key for key, _ in asked.nearest(question, 5, few)} == few
        assert asked.nearest(question, 5, set()) == []
    one = rows.nearest("a cat on a sofa", 1)[0][0]
    assert [far for _, far in asked.near(one, 3)] == pytest.approx([far for _, far in rows.near(one, 3)], abs=1e-4)
    asked.close()


def test_it_follows_what_changes(ws):
    first, second = fact("name", "Ana", domain="work"), fact("name", "Bo", domain="home")._replace(id="fact_other")
    add_facts(ws, first)
    asked = meaning(ws)
    asked.sync()
    add_facts(ws, second)
    ws.items.edit(first.id, text="name: Anna Maria")
    asked.sync()
    assert asked.nearest("name Anna Maria", 1)[0][0] == first.id
    asked.close()
    with reading(folder_of(ws)) as collection:
        facts = [name for name in collection.get()["ids"] if name.startswith("fact")]
        assert sorted(facts) == ["fact::home::person::name", "fact::person::name"]
        assert "Anna Maria" in collection.get(ids=["fact::person::name"])["documents"][0]
    asked = meaning(ws)
    ws.items.delete([second.id])
    asked.sync()
    assert second.id not in dict(asked.nearest("name Bo", 20))
    asked.close()
    with reading(folder_of(ws)) as collection:
        assert [name for name in collection.get()["ids"] if name.startswith("fact")] == ["fact::person::name"]
        assert "Anna Maria" in collection.get(ids=["fact::person::name"])["documents"][0]


def test_what_it_holds_is_neither_embedded_nor_given_to_it_again(ws, monkeypatch):
    prepared(ws)
    words = Words()
    asked = meaning(ws, words)
    monkeypatch.setattr(ChromaCollection, "upsert", lambda *_: pytest.fail("it has that"))
    assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
    assert words.asked == ["a cat on a sofa"]
    assert asked.state()["index"] == "chroma"
    asked.close()


def test_vectors_of_another_model_are_thrown_away(ws):
    asked = meaning(ws, Words("old"))
    asked.sync()
    asked.close()
    new = Words("new", 32)
    asked = meaning(ws, new)
    asked.sync()
    assert len(asked.nearest("a cat on a sofa", 9)) == 7
    asked.close()
    with reading(folder_of(ws)) as collection:
        assert len(collection.get(include=["embeddings"], limit=1)["embeddings"][0]) == 32
        assert collection.metadata["nanomem_model"] == "new"


def test_nobody_else_can_read_it(ws):
    asked = meaning(ws)
    asked.sync()
    folder = folder_of(ws)
    modes = {path: path.stat().st_mode & 0o077 for path in [folder, *folder.rglob("*")]}
    asked.close()
    assert set(modes.values()) == {0}
    assert not [problem for problem in ws.doctor() if "chroma" in problem.where]


# -- the folders of others ---------------------------------------------------------------------------------------------


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def foreign(tmp_path):
    """A folder as the crystallized system leaves it."""
    import chromadb
    from chromadb.config import Settings

    folder = tmp_path / "home" / "chroma"
    client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection(COLLECTION, metadata={"hnsw:space": "cosine"}, embedding_function=None)
    collection.upsert(ids=["fact::a::b"], embeddings=[Words().vector("x")], metadatas=[{"type": "fact"}])
    client.close()
    return folder


def test_a_folder_of_others_is_never_written(ws, foreign):
    folder_of(ws).parent.mkdir(parents=True)
    foreign = foreign.rename(folder_of(ws))
    before = contents(foreign)
    asked = meaning(ws)
    assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
    assert asked.state()["index"] == "rows"
    assert "did not make" in asked.state()["problem"]
    with pytest.raises(Refused):
        ChromaCopy(foreign, ws.id, ["items"], "words-1", {}, anew=True)
    asked.sync(anew=True)
    asked.close()
    assert contents(foreign) == before


def test_the_folder_of_another_workspace_is_left_alone(ws):
    folder = folder_of(ws)
    ChromaCopy(folder, "another", ["items"], "words-1", {}).close()
    asked = meaning(ws)
    asked.sync()
    assert "another workspace" in asked.state()["problem"]
    asked.close()


def test_a_path_that_is_no_folder_is_told(ws):
    folder_of(ws).parent.mkdir(parents=True)
    folder_of(ws).write_text("x")
    asked = meaning(ws)
    assert asked.sync() == 7
    assert "no folder" in asked.state()["problem"]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def prepared(ws):
    asked = meaning(ws)
    asked.sync()
    asked.close()
    return folder_of(ws)


def spoil_database(folder):
    (folder / "chroma.sqlite3").write_bytes(b"not a database at all" * 500)


def cut_database(folder):
    path = folder / "chroma.sqlite3"
    os.truncate(path, path.stat().st_size // 2)


def of_a_later_version(folder):
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as connection, connection:
        connection.execute(
            "INSERT INTO migrations SELECT dir, 999, '00999-later.sqlite.sql', 'SELECT 1', 'x' FROM migrations LIMIT 1"
        )


def of_changed_migrations(folder):
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as connection, connection:
        connection.execute("UPDATE migrations SET sql = 'other', hash = 'other', filename = 'other' WHERE version = 1")


def of_an_old_version(folder):
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as connection, connection:
        connection.execute("DROP TABLE collections")


def without_database(folder):
    (folder / "chroma.sqlite3").unlink()


def with_a_folder_as_database(folder):
    without_database(folder)
    (folder / "chroma.sqlite3").mkdir()


SPOILS = [spoil_database, cut_database, of_a_later_version, of_changed_migrations, of_an_old_version, without_database,
          with_a_folder_as_database]  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: spoil.__name__)
def test_a_folder_that_cannot_be_used_breaks_nothing_and_is_made_anew(workspace, spoil):
    with open_workspace(workspace) as ws:
        folder = prepared(ws)
    spoil(folder)
    with open_workspace(workspace) as ws:
        asked = meaning(ws)
        assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
        assert [hit.item.text for hit in ws.items.search("cat")] == [CAT]
        state = asked.state()
        if state["index"] == "rows":
            assert "Chroma cannot be used" in state["problem"]
            assert "reindex --vectors" in state["problem"]
            assert "\n" not in state["problem"]
        asked.sync(anew=True)
        state = asked.state()
        assert (state["index"], state["problem"], state["done"]) == ("chroma", "", 7)
        assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
        asked.close()


def test_a_folder_that_goes_while_it_is_used_costs_no_search(ws):
    asked = meaning(ws)
    asked.sync()
    shutil.rmtree(folder_of(ws))
    ws.items.add("kombucha ferments")
    assert ws.items.get(asked.nearest("kombucha", 1)[0][0]).text == "kombucha ferments"
    assert len(asked.nearest("a cat on a sofa", 20)) == 8
    asked.close()


def test_a_folder_that_another_process_uses_is_left_to_it(ws):
    prepared(ws)
    code = (
        "import fcntl, os, sys\nhandle = os.open(sys.argv[1], os.O_RDWR)\nfcntl.flock(handle, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(folder_of(ws) / LOCK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        asked = meaning(ws)
        assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
        assert (asked.state()["index"], "another process" in asked.state()["problem"]) == ("rows", True)
        asked.close()
        other.stdin.close()
    asked = meaning(ws)
    asked.nearest("a cat on a sofa", 1)
    assert asked.state()["index"] == "chroma"
    asked.close()


def test_without_chromadb_the_rows_are_searched_and_what_to_install_is_said(ws, monkeypatch):
    monkeypatch.setitem(sys.modules, "chromadb", None)
    asked = meaning(ws)
    assert ws.items.get(asked.nearest("a cat on a sofa", 1)[0][0]).text == CAT
    assert "pip install '.[chroma]'" in asked.state()["problem"]
    assert not folder_of(ws).exists()


def test_a_marker_that_is_spoilt_makes_a_folder_somebody_elses(ws):
    folder = prepared(ws)
    (folder / MARKER).write_text("{")
    before = contents(folder)
    asked = meaning(ws)
    asked.sync()
    assert asked.state()["index"] == "rows"
    assert contents(folder) == before


# -- a server ----------------------------------------------------------------------------------------------------------


def free_port():
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(tmp_path):
    """A Chroma server on this machine."""
    import httpx

    port = free_port()
    program = Path(sys.executable).with_name("chroma")
    command = [program, "run", "--path", str(tmp_path / "server"), "--host", "127.0.0.1", "--port", str(port)]
    quiet = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}
    with (tmp_path / "server.log").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env=quiet, cwd=tmp_path)
    try:
        url, end = f"http://127.0.0.1:{port}", time.monotonic() + 60
        while True:
            assert running.poll() is None, (tmp_path / "server.log").read_text()
            try:
                httpx.get(f"{url}/api/v2/heartbeat", timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                assert time.monotonic() < end, "the server did not start"
                time.sleep(0.05)
        yield url, running
    finally:
        running.kill()
        running.wait()


def test_a_server_holds_the_collection(ws, server):
    url, running = server
    add_facts(ws, fact("name", "Ana"), fact("city", "Riga"))
    ws.flush()
    asked = meaning(ws, chroma_url=url)
    assert asked.sync() == 9
    assert asked.state()["index"] == "chroma"
    assert asked.nearest("name Ana", 1)[0][0] == "fact_name"
    asked.close()
    words = Words()
    asked = meaning(ws, words, chroma_url=url)
    assert asked.nearest("name Ana", 1)[0][0] == "fact_name"
    assert words.asked == ["name Ana"]
    running.kill()
    running.wait()
    assert asked.nearest("name Ana", 1)[0][0] == "fact_name", "the rows have it too"
    assert asked.state()["index"] == "rows"
    assert "Chroma cannot be used" in asked.state()["problem"]
    asked.close()
    asked = meaning(ws, chroma_url=url)
    assert asked.nearest("name Ana", 1)[0][0] == "fact_name", "also when it is not there at the start"
    asked.close()


def test_a_collection_of_others_on_a_server_is_left_alone(ws, server):
    import chromadb
    from chromadb.config import Settings

    url, _ = server
    port = int(url.rsplit(":", 1)[1])
    client = chromadb.HttpClient("127.0.0.1", port, settings=Settings(anonymized_telemetry=False))
    client.create_collection(COLLECTION, embedding_function=None)
    asked = meaning(ws, chroma_url=url)
    asked.sync(anew=True)
    assert "not of this workspace" in asked.state()["problem"]
    assert client.get_collection(COLLECTION, embedding_function=None).count() == 0
    asked.close()
    outside.close_client(client)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://127.0.0.1:1", "http://127.0.0.1", "http://[::1", "x"])
def test_an_address_that_is_none_is_told(ws, url):
    with pytest.raises(InvalidConfig, match="chroma_url"):
        chroma_location(ws.settings._replace(chroma_url=url), ws.paths)
    asked = meaning(ws, chroma_url=url)
    assert asked.sync() == 7
    assert "chroma_url" in asked.state()["problem"]


# -- no network --------------------------------------------------------------------------------------------------------

QUIET = """
import json, sys
tried = []
def hook(name, args):
    if name in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"):
        tried.append([name, repr(args[1:])])
sys.addaudithook(hook)
from tests.vectors.test_chroma import meaning
from nanomem_tui import open_workspace
with open_workspace(sys.argv[1]) as ws:
    asked = meaning(ws)
    asked.sync()
    found = asked.nearest("a cat on a sofa", 3)
    state = asked.state()
    asked.close()
print(json.dumps([tried, len(found), state["index"]]))
"""


def test_nothing_tries_to_reach_out(workspace, tmp_path):
    """Python's own calls are listened to; where the system lets us, the process has no network at all."""
    home = {**os.environ, "HOME": str(tmp_path)}
    command = [sys.executable, "-c", QUIET, str(workspace)]
    alone = ["unshare", "--net", "--map-root-user", *command]
    can = (
        shutil.which("unshare")
        and subprocess.run([*alone[:3], "true"], capture_output=True, check=False).returncode == 0
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(alone if can else command, capture_output=True, text=True, check=False, env=home, cwd=root)
    assert done.returncode == 0, done.stderr
    tried, found, index = json.loads(done.stdout.splitlines()[-1])
    assert (tried, found, index) == ([], 3, "chroma")


# -- killed ------------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from nanomem_tui import open_workspace
from nanomem_tui.vectors import semantic_search as service
from nanomem_tui.vectors.outside import ChromaCollection
from tests.vectors.test_chroma import meaning
service.BATCH = 2
real, puts = ChromaCollection.upsert, []
def put(self, rows):
    puts.append(rows)
    if len(puts) == 2 and sys.argv[2] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(self, rows)
    if len(puts) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
ChromaCollection.upsert = put
with open_workspace(sys.argv[1]) as ws:
    meaning(ws).sync()
"""


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_kill_while_the_collection_is_filled_is_made_up_for(workspace, where):
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(workspace), where], capture_output=True, check=False, cwd=root
    )
    assert done.returncode == -9, done.stderr.decode()
    with open_workspace(workspace) as ws:
        words = Words()
        asked = meaning(ws, words)
        asked.sync()
        assert asked.state()["index"] == "chroma"
        assert len(words.asked) == 3, "four were committed"
        assert len(asked.nearest("a cat on a sofa", 20)) == 7
        asked.close()
        folder = folder_of(ws)
    with reading(folder) as collection:
        assert collection.count() == 7
