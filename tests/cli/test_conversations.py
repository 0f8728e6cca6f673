"""What was said, from the command line: exact hits first, the nearest behind them, and `recall --in`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.core.text import cell_width
from nanomem_tui.memory.recall import passages

Run = Callable[..., Any]

TALK = (
    ("user", "Where did you find the puppy adoption papers?"),
    ("assistant", "In the blue folder, under the passports."),
    ("user", "Thanks. Puppy or no puppy, adoption takes a lot of paper."),
    ("user", "Something else: the harbour \x1b[31mopens at nine."),
)


@pytest.fixture
def talk(tmp_path, monkeypatch):
    """A workspace in which a little was said; it is the default one."""
    workspace = tmp_path / "workspace"
    (workspace / "sessions").mkdir(parents=True)
    (workspace / "memory").mkdir()
    lines: list[dict[str, Any]] = [{"_type": "metadata", "key": "telegram:7", "metadata": {}}]
    lines += [
        {"role": role, "content": text, "timestamp": f"2026-03-01T10:00:0{number}"}
        for number, (role, text) in enumerate(TALK)
    ]
    (workspace / "sessions" / key_to_name("telegram:7")).write_text("".join(json.dumps(x) + "\n" for x in lines))
    entry = {"cursor": 4, "timestamp": "2026-01-02 03:04", "content": "- [durable] The server moved\n- 房租每月五号交"}
    (workspace / "memory" / "history.jsonl").write_text(json.dumps(entry, ensure_ascii=False) + "\n")
    (workspace / "memory" / "2026-01-05.md").write_text("# Day\nFed the puppy\n")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    return workspace


def found(run, *args):
    return [(str(hit["id"]), hit["match"]) for hit in run(*args, "--json").json]


def test_what_holds_every_word_comes_first_and_the_nearest_follow(talk, run):
    hits = run("session", "search", "puppy", "adoption", "--json").json
    assert [(hit["id"], hit["match"]) for hit in hits[:2]] == [("telegram:7#2", "words"), ("telegram:7#0", "words")]
    assert [(hit["id"], hit["match"]) for hit in hits[2:]] == [("telegram:7#1", "nearest"), ("telegram:7#3", "nearest")]
    assert [one["text"] for one in hits[2]["before"]] == [TALK[0][1]]
    assert [one["id"] for one in hits[1]["after"]] == ["telegram:7#1", "telegram:7#2"]
    assert all(list(hit)[:4] == ["id", "text", "score", "parts"] for hit in hits)
    assert set(hits[2]["parts"]) == {"terms", "words", "near", "session", "length", "cues"}
    assert (hits[2]["session_key"], hits[2]["index"], hits[2]["role"]) == ("telegram:7", 1, "assistant")


def test_pages_go_through_both(talk, run):
    every = found(run, "session", "search", "puppy adoption")
    pages = [found(run, "session", "search", "puppy adoption", "--limit", "1", "--offset", str(n)) for n in range(5)]
    assert pages == [[one] for one in every] + [[]]


def test_passages_that_stand_beside_one_another_are_printed_once_and_marked_where_they_hold_a_word(talk, run):
    said = (
        *(("user", f"filler number {number}") for number in range(8)),
        ("user", "Which seat do you want?"),
        ("assistant", "OK."),
        ("user", "The one by the window, as always"),
        ("assistant", "OK, noted."),
        *(("user", f"more of number {number}") for number in range(8)),
    )
    file = talk / "sessions" / key_to_name("telegram:7")
    lines: list[dict[str, Any]] = [{"_type": "metadata", "key": "telegram:7", "metadata": {}}]
    lines += [{"role": role, "content": text, "timestamp": "2026-03-01T10:00:00"} for role, text in said]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(run("recall", "seat", "--in", "all", "--json").json["hits"]) > 1
    printed = run("recall", "seat", "--in", "all").out.splitlines()
    assert [line for line in printed if line.startswith("  > ")] == ["  > Which seat do you want?"]
    assert [line for line in printed if line.startswith("telegram:7#")] == printed[:1]
    assert [line.strip() for line in printed[1:]] == [
        "user: filler number 6",
        "user: filler number 7",
        "> Which seat do you want?",
        "assistant: OK.",
        "user: The one by the window, as always",
        "assistant: OK, noted.",
    ]
    explained = run("recall", "seat", "--in", "all", "--explain").out
    assert "telegram:7#8: terms seat" in explained


def test_passages_far_from_one_another_are_printed_apart(talk, run):
    said = ["the seat", *(f"number {number}" for number in range(9)), "a seat again"]
    file = talk / "sessions" / key_to_name("telegram:7")
    lines: list[dict[str, Any]] = [{"_type": "metadata", "key": "telegram:7", "metadata": {}}]
    lines += [{"role": "user", "content": text, "timestamp": "2026-03-01T10:00:00"} for text in said]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    printed = run("recall", "seat", "--in", "sessions").out.splitlines()
    assert sorted(line for line in printed if line.startswith("  > ")) == ["  > a seat again", "  > the seat"]
    assert sum(line.startswith("telegram:7#") for line in printed) == 2


@pytest.mark.parametrize(
    "args", [("puppy",), ('"puppy adoption"',), ("puppy -folder",), ("puppy", "adoption", "--exact")]
)
def test_who_says_precisely_what_gets_no_more(talk, run, args):
    assert {match for _, match in found(run, "session", "search", *args)} == {"words"}
    assert found(run, "session", "search", "pupy", "--exact") == []
    assert run("session", "search", "pupy", "--exact").out == "Nothing found.\n"


def test_a_person_sees_what_stands_around_a_passage(talk, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    said = run("session", "search", "when does the harbor open?").out
    assert said.startswith("Nothing holds all of that. Nearest to it:\n\ntelegram:7#3  user  ")
    assert "\n  > Something else: the harbour" in said
    assert "\n    user: Thanks. Puppy or no puppy" in said
    assert "\x1b" not in said
    assert all(cell_width(line) <= 60 for line in said.splitlines())
    both = run("session", "search", "puppy adoption").out
    assert both.index("Session") < both.index("Nearest to that:") < both.index("  > In the blue folder")


def test_the_archive_is_searched_in_the_same_way(talk, run):
    (exact,) = run("history", "search", "server", "--json").json
    assert (exact["match"], exact["before"], exact["after"], exact["score"], exact["parts"]) == (
        "words",
        [],
        [],
        1.0,
        {},
    )
    (near,) = run("history", "search", "我什么时候交房租?", "--json").json
    assert (near["id"], near["match"], near["passage"]) == (4, "nearest", "房租每月五号交")
    assert near["text"] == near["content"]
    assert [one["text"] for one in near["before"]] == ["The server moved"]
    assert list(near)[-2:] == ["score", "parts"]
    assert "archive #4" in run("history", "search", "我什么时候交房租?").out
    assert run("history", "search", "我什么时候交房租?", "--exact", "--json").json == []


def test_recall_in_every_source(talk, run):
    body = run("recall", "where is the puppy?", "--in", "all", "--json").json
    assert body["left_out"] == []
    assert {hit["source"] for hit in body["hits"]} == {"sessions", "notes"}
    note = next(hit for hit in body["hits"] if hit["source"] == "notes")
    assert (note["id"], note["name"], note["line"]) == ("2026-01-05.md:2", "2026-01-05.md", 2)
    assert [
        hit["source"] for hit in run("recall", "puppy", "--in", "notes", "--limit", "1", "--json").json["hits"]
    ] == ["notes"]
    said = run("recall", "puppy", "--in", "notes", "--explain").out
    assert said.startswith("note 2026-01-05.md:2  ")
    assert "terms puppi; words " in said
    assert run("recall", "xyzzyx", "--in", "all").out == "Nothing is recalled.\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("puppy", "--in", "all", "--channel", "telegram"), "--channel does not go with --in"),
        (("puppy", "--in", "all", "--check"), "--check does not go with --in"),
        (("puppy", "--in", "letters"), "letters"),
        (("--in", "all"), "the message is empty"),
    ],
)
def test_what_does_not_go_with_it_is_refused(talk, run, args, said):
    refused = run("recall", *args)
    assert refused.code == 2
    assert said in refused.err
    assert refused.err.count("\n") == 1


def test_what_was_not_looked_at_is_said(talk, run, monkeypatch):
    monkeypatch.setattr(passages, "MOST_PASSAGES", 2)
    monkeypatch.setattr(passages, "STRIDE", 1)
    told = "Note: not looked at for what is nearest: the beginning of 1 long session\n"
    assert run("recall", "harbour", "--in", "sessions").err == told
    assert run("session", "search", "harbour opening").err == told
    assert run("recall", "harbour", "--in", "sessions", "--json").json["left_out"] == [
        "the beginning of 1 long session"
    ]
