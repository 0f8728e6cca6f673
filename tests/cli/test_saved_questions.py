"""`nanomem recall --save`, `--check`, `--saved` and `--forget`, with a broken line in the file."""

import json
from pathlib import Path

import pytest

from tests.store.homes import make_home


@pytest.fixture
def file(tmp_path, run, monkeypatch):
    """A file with two questions and a broken line between them."""
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(make_home(tmp_path)))
    path = Path(run("recall", "item number 1", "--save", "ltm_1", "--json").json["path"])
    with path.open("a") as stream:
        stream.write('{"message": "half\n')
    told = run("recall", "item number 2", "--save", "ltm_2")
    assert told.code == 0
    assert f"{path}:2" in told.err
    return path


def test_a_broken_line_stops_no_check_and_passes_none(file, run):
    done = run("recall", "--check", "--json")
    body = json.loads(done.out)
    assert (done.code, body["questions"], body["lost"]) == (1, 2, 0), "what cannot be asked is not well"
    assert run("recall", "--check").out == "2 questions, 0 with a loss, and 1 line that could not be asked.\n"
    assert [problem["line"] for problem in body["problems"]] == [2]
    assert f"{file}:2" in done.err
    assert done.err.startswith("Warning: ")
    named = [entry for entry in run("doctor", "--json").json if entry["where"].endswith(file.name)]
    assert [(entry["line"], entry["severity"]) for entry in named] == [(2, "warning")]
    file.write_text("broken\n")
    assert run("recall", "--check").code == 2
    file.unlink()
    run("recall", "item number 1", "--save", "ltm_1")
    assert (run("recall", "--check").code, run("recall", "--check").err) == (0, "")


def test_a_question_that_recalls_nothing_yet_is_saved_and_says_so(file, run):
    file.unlink()
    done = run("recall", "submarine", "--save", "ltm_1", "--json")
    (lost,) = json.loads(done.out)["lost"]
    assert (done.code, lost["id"]) == (0, "ltm_1")
    assert done.err == f"Note: it does not recall ltm_1 now: {lost['why']}\n"
    again = run("recall", "submarine", "--save", "ltm_1")
    assert (again.code, again.err) == (0, done.err)
    weighed = run("recall", "item number 1", "--save", "ltm_1", "--weight", "recency=9")
    assert (weighed.code, weighed.err) == (0, "")


def test_a_question_is_saved_once_and_listed_with_who_asks(file, run):
    line = (
        "recall",
        "item number 2",
        "--channel",
        "telegram",
        "--chat-id",
        "42",
        "--sender-id",
        "ana",
        "--save",
        "ltm_2",
    )
    assert run(*line).out.startswith("Saved: ")
    before = file.read_bytes()
    again = run(*line)
    assert (again.code, again.out.startswith("That question is saved already: ")) == (0, True)
    assert file.read_bytes() == before
    assert "ana in telegram 42" in run("recall", "--saved").out
    listed = json.loads(run("recall", "--saved", "--json").out)
    assert [(one["channel"], one["chat_id"], one["sender_id"]) for one in listed][-1] == ("telegram", "42", "ana")
    assert len(listed) == 3, "the same words of somebody else are another question"


def test_questions_are_listed_and_forgotten(file, run):
    listed = json.loads(run("recall", "--saved", "--json").out)
    assert [(one["line"], one["expect"]) for one in listed] == [(1, ["ltm_1"]), (3, ["ltm_2"])]
    assert "item number 2" in run("recall", "--saved").out
    assert run("recall", "--forget", "2").code == 0, "the broken line"
    assert "ltm_1" in run("recall", "--forget", "ltm_1", "--json").json["forgotten"][0]
    assert [one["expect"] for one in run("recall", "--saved", "--json").json] == [["ltm_2"]]
    assert run("recall", "--forget", "7").code == 2
    assert run("recall", "--forget", "1").code == 0
    assert run("recall", "--saved").out == "No saved questions.\n"
