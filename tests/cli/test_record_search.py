"""`nanomem record search`: the example of seed 004 on the command line."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.vectors import embedders
from tests.vectors.fakes import Words, unavailable


@pytest.fixture
def words(monkeypatch):
    made = Words()
    monkeypatch.setattr(embedders, "embedder_of", lambda settings, paths: made)
    return made


@pytest.fixture
def place(tmp_path, monkeypatch):
    found = tmp_path / "home" / "workspace"
    found.mkdir(parents=True)
    (found / "SOUL.md").touch()
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    with open_workspace(found) as ws:
        keep = ws.records.store
        keep(
            "incident",
            {"description": "nginx answers 502 after a restart", "resolution": "moved php to 9001"},
            "before",
        )
        keep("incident", {"description": "the disk is full", "resolution": "logs rotated"}, "disk")
        keep("goal", {"description": "no 502 of nginx any more"}, "goal")
    return found


def test_what_was_like_this_before_and_what_helped(place, run, words):
    query = ("record", "search", "nginx returning 502 bad gateway after restart")
    done = run(*query)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[1] for line in lines[1:3]] == ["incident", "goal"]
    assert "moved php to 9001" in lines[1]
    assert lines[-1].endswith("by words and meaning")
    (hit,) = run(*query, "--in", "incidents", "--limit", "1", "--json").json
    assert (hit["id"], hit["kind"], 0.5 <= hit["score"] <= 1) == ("before", "incident", True)
    assert set(hit["parts"]) == {"lexical", "meaning", "distance", "words"}


def test_by_words_alone_it_is_said_why(place, run, words):
    words.broken = unavailable()
    done = run("record", "search", "disk full")
    assert done.out.splitlines()[-1] == "1 record, by words"
    assert done.err == "Note: by words alone: nobody answers: http://127.0.0.1:1. Fix: start it\n"


def test_what_is_found_nowhere_says_so(place, run, words):
    assert run("record", "search", "xyzzy", "--in", "tasks").out == "0 records, by words and meaning\n"


@pytest.mark.parametrize(
    "line", [("nginx", "--in", "memories"), ("nginx", "--limit", "0"), ("nginx", "--limit", "101"), ()]
)
def test_what_cannot_be_asked_is_one_line(place, run, line):
    done = run("record", "search", *line)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1


def test_a_pattern_is_found_by_its_words_and_tells_what_to_do(place, run, words):
    with open_workspace(place) as ws:
        ws.records.store("pattern", {"trigger": "nginx answers 502", "action": "restart php"}, "restart")
        ws.records.store("config-change", {"file_path": "/etc/nginx.conf", "content": "user www;"}, "conf")
    done = run("record", "search", "nginx 502")
    (line,) = [line for line in done.out.splitlines() if "restart php" in line]
    assert line.split()[1:3] == ["pattern", "restart"]
    (hit,) = run("record", "search", "nginx", "502", "--in", "patterns", "--json").json
    assert (hit["id"], hit["parts"]["words"]) == ("restart", ["nginx", "502"])
    assert [hit["id"] for hit in run("record", "search", "www", "--json").json] == ["conf"]


def test_help_says_what_is_searched(run):
    told = " ".join(run("record", "search", "--help").out.split())
    assert "All kinds are searched. Patterns, states of agents and configurations are found by their words" in told
    assert "patterns" in told.partition("--in")[2]
