"""What the doctor, the status and `memory reindex --vectors` say of vectors and of the index outside the database."""

import errno
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import util
from pathlib import Path

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.cli.commands.memory import NONE_YET
from nanomem_tui.cli.main import run as run_line
from nanomem_tui.core.errors import AccessDenied, MissingExtra
from nanomem_tui.vectors import embedders, outside
from nanomem_tui.vectors.collection import VectorFile
from nanomem_tui.vectors.outside import MARKER, chroma_location
from nanomem_tui.vectors.semantic_search import SemanticSearch, find_problems
from tests.store.homes import make_home
from tests.vectors.fakes import Words, made

EMBEDDER_OF = embedders.embedder_of


@pytest.fixture(autouse=True)
def words(monkeypatch):
    """The embedder of every command."""
    found = Words()
    monkeypatch.setattr(embedders, "embedder_of", lambda settings, paths: found)
    return found


Run = Callable[..., str]


@pytest.fixture
def run(capsys):
    """What a command line prints that ends with `code`."""

    def call(workspace, *arguments, code=0):
        capsys.readouterr()
        ended = run_line(["--workspace", str(workspace), *arguments])
        found = capsys.readouterr()
        assert ended == code, found.err
        return found.out + found.err

    return call


def told(workspace, **settings):
    with open_workspace(workspace) as ws:
        return [problem.text() for problem in find_problems(ws.store, ws.settings._replace(**settings))]


def spoil(workspace, statement):
    with closing(sqlite3.connect(workspace.parent / "nanomem" / "vectors.db")) as connection, connection:
        connection.execute(statement)


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_embeds_what_has_no_vector(run, workspace, words):
    before = run(workspace, "memory", "reindex", "--vectors", "--dry-run")
    assert before == "0 of 7 items with a vector of words-1: the others would be embedded.\n"
    assert words.asked == []
    after = run(workspace, "memory", "reindex", "--vectors")
    assert after == "7 of 7 items with a vector of words-1, 7 embedded now; searched in rows.\n"
    body = json.loads(run(workspace, "memory", "reindex", "--vectors", "--json"))
    assert body["vectors"] == {"model": "words-1", "index": "rows", "done": 7, "total": 7}
    assert body["embedded"] == 0
    assert "nothing has to be embedded" in run(workspace, "memory", "reindex", "--vectors", "--dry-run")


def test_the_command_embeds_the_records_of_an_agents_work_too(run, workspace, words):
    with open_workspace(workspace) as ws:
        ws.records.store("incident", {"description": "the web server is down"})
        ws.records.store("tool-call", {"tool_name": "look", "input": {}})
    before = run(workspace, "memory", "reindex", "--vectors", "--dry-run").splitlines()
    assert before[1] == "0 of 2 records with a vector of words-1: the others would be embedded."
    after = run(workspace, "memory", "reindex", "--vectors").splitlines()
    assert after[1] == "1 of 1 record with a vector of words-1, 1 embedded now; searched in rows."
    body = json.loads(run(workspace, "memory", "reindex", "--vectors", "--anew", "--json"))
    assert body["records"] == {"model": "words-1", "index": "rows", "done": 1, "total": 1}
    assert body["embedded"] == 8


def test_records_are_embedded_where_there_are_no_items(run, tmp_path, words):
    workspace = tmp_path / "other" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "SOUL.md").touch()
    assert run(workspace, "memory", "reindex", "--vectors") == NONE_YET + "\n"
    with open_workspace(workspace) as ws:
        ws.records.store("goal", {"description": "Keep the site up"})
    assert run(workspace, "memory", "reindex", "--vectors").startswith("1 of 1 record with a vector")


def test_the_command_mends_rows_that_are_no_vectors(run, workspace, words):
    run(workspace, "memory", "reindex", "--vectors")
    spoil(workspace, "UPDATE vectors SET vector = zeroblob(1024) WHERE key = (SELECT min(key) FROM vectors)")
    assert "1 embedded now" in run(workspace, "memory", "reindex", "--vectors")
    assert told(workspace) == []


@pytest.mark.parametrize("damage", ["DROP TABLE vectors", "ALTER TABLE vectors DROP COLUMN text_hash"])
def test_a_table_that_somebody_took_out_is_made_anew(run, workspace, damage):
    run(workspace, "memory", "reindex", "--vectors")
    spoil(workspace, damage)
    lacks = next(line for line in run(workspace, "doctor").splitlines() if "vectors" in line)
    assert "cache: `nanomem memory reindex --vectors` makes it anew" in lacks
    assert "7 embedded now" in run(workspace, "memory", "reindex", "--vectors")
    assert "lacks" not in run(workspace, "doctor")


def test_an_embedding_makes_the_table_anew_too(workspace, words):
    with open_workspace(workspace) as ws:
        SemanticSearch(ws.store, ws.settings, made(words)).sync()
    spoil(workspace, "DROP TABLE vectors")
    with open_workspace(workspace) as ws:
        found = SemanticSearch(ws.store, ws.settings, made(words))
        assert found.nearest("the cat", 1)
        found.close()
        assert found.problems() == []
        assert VectorFile(ws.paths.vectors).counts(["items"])[0].rows == 7


def test_everything_is_embedded_anew(run, workspace, words):
    run(workspace, "memory", "reindex", "--vectors")
    spoil(workspace, "UPDATE vectors SET vector = (SELECT v.vector FROM vectors v ORDER BY v.key LIMIT 1)")
    assert "0 embedded now" in run(workspace, "memory", "reindex", "--vectors")
    assert "all would be embedded anew" in run(workspace, "memory", "reindex", "--vectors", "--anew", "--dry-run")
    assert "7 embedded now" in run(workspace, "memory", "reindex", "--vectors", "--anew")
    words.asked.clear()
    assert told(workspace) == []
    assert words.asked == [], "the doctor asks no model"
    assert "goes with --vectors" in run(workspace, "memory", "reindex", "--anew", code=2)


def test_where_there_is_no_database_the_command_makes_none(run, tmp_path, words):
    folder = make_home(tmp_path)
    assert "No database yet" in run(folder, "memory", "reindex", "--vectors")
    assert not (folder.parent / "nanomem").exists()
    assert words.asked == []


def test_without_a_model_the_command_says_what_to_install(run, workspace, monkeypatch):
    def missing(*_):
        raise MissingExtra("search by meaning needs numpy", "", "pip install '.[vector]'")

    monkeypatch.setattr(embedders, "embedder_of", missing)
    assert "pip install '.[vector]'" in run(workspace, "memory", "reindex", "--vectors", code=2)
    assert "All is well" in run(workspace, "doctor") or "error" not in run(workspace, "doctor")


# -- the status -------------------------------------------------------------------------------------------------------


def test_the_status_counts_vectors_without_loading_anything(run, workspace, words):
    assert "Vectors" not in run(workspace, "memory", "status")
    run(workspace, "memory", "reindex", "--vectors")
    words.asked.clear()
    assert "Vectors      7 of words-1\n" in run(workspace, "memory", "status")
    with open_workspace(workspace) as ws:
        ws.items.add("kombucha")
        asked = SemanticSearch(ws.store, ws.settings, made(Words("words-2")))
        asked.nearest("x", 1, patience=0)
        asked.close()
    shown = run(workspace, "memory", "status")
    assert "Vectors      8 of words-2, 7 of words-1\n" in shown
    body = json.loads(run(workspace, "memory", "status", "--json"))["vectors"]
    assert body == {"enabled": True, "index": "rows", "by_model": {"words-2": 8, "words-1": 7}}
    assert words.asked == []


# -- settings that cannot work --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "severity", "said"),
    [
        ({"embedding_backend": "onnx", "embedding_model": "/nope/model.onnx"}, "warning", "/nope/model.onnx"),
        ({"embedding_backend": "onnx"}, "warning", "embedding_model is not set"),
        ({"embedding_backend": "endpoint", "embedding_model": "m"}, "warning", "embedding_base_url is not set"),
        (
            {"embedding_backend": "endpoint", "embedding_base_url": "http://127.0.0.1:9/v1", "embedding_model": "m"},
            "warning",
            "pip install '.[llm]'",
        ),
        ({}, "note", "pip install '.[vector]'"),
        ({"embedding_enabled": False}, "", ""),
    ],
)
def test_the_doctor_names_settings_that_give_no_vector(workspace, monkeypatch, settings, severity, said):
    monkeypatch.setattr(embedders, "embedder_of", EMBEDDER_OF)
    known = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name in ("httpx", "onnxruntime") else known(name))
    with open_workspace(workspace) as ws:
        found = list(find_problems(ws.store, ws.settings._replace(**settings)))
    assert [problem.severity for problem in found] == [severity] * bool(severity)
    assert said in "".join(problem.text() + problem.fix for problem in found)


# -- the doctor -------------------------------------------------------------------------------------------------------


def test_all_is_well_before_and_after(run, workspace):
    assert told(workspace) == []
    run(workspace, "memory", "reindex", "--vectors")
    assert told(workspace) == []


def test_the_doctor_says_what_is_left_of_another_model(run, workspace):
    run(workspace, "memory", "reindex", "--vectors")
    spoil(
        workspace,
        "INSERT INTO vectors (collection, key, model, at, text_hash, vector)"
        " SELECT collection, key, 'older', at, text_hash, vector FROM vectors LIMIT 2",
    )
    assert "vectors of 2 models: 7 of words-1, 2 of older" in "\n".join(told(workspace))
    assert "note" in run(workspace, "doctor")


def folder_of(ws):
    found = chroma_location(ws.settings, ws.paths)
    assert isinstance(found, Path)
    return found


def of_chroma(workspace):
    """What is said of the folder; whether chromadb is installed here is another matter."""
    return "\n".join(line for line in told(workspace, vector_index="chroma") if "not installed" not in line)


def test_the_doctor_looks_into_a_folder_of_chroma(workspace):
    assert of_chroma(workspace) == ""
    with open_workspace(workspace) as ws:
        folder, owner = folder_of(ws), ws.id
    folder.mkdir(parents=True)
    (folder / "strange").write_text("x")
    assert "nanomem did not make" in of_chroma(workspace)
    (folder / "strange").unlink()
    (folder / MARKER).write_text(json.dumps({"workspace": owner}))
    assert of_chroma(workspace) == ""
    (folder / MARKER).write_text(json.dumps({"workspace": "another"}))
    assert "of another workspace" in of_chroma(workspace)


def test_a_folder_of_chroma_that_cannot_be_looked_into_is_told_as_an_error_of_ours(tmp_path, monkeypatch):
    def refuse(folder):
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))

    monkeypatch.setattr(outside.os, "scandir", refuse)
    with pytest.raises(AccessDenied, match="no permission"):
        outside.check_owner(tmp_path, "ws")


def test_the_doctor_says_that_chromadb_is_not_there(workspace, monkeypatch):
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    assert "pip install '.[chroma]'" in "\n".join(told(workspace, vector_index="chroma"))


def test_the_doctor_asks_no_server(workspace):
    assert of_chroma(workspace) == ""
    lines = told(workspace, vector_index="chroma", chroma_url="http://127.0.0.1:9")
    assert [line for line in lines if "not installed" not in line] == []
    said = "\n".join(told(workspace, vector_index="pgvector"))
    assert "pgvector_url" in said or "pip install '.[postgres]'" in said
