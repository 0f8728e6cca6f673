"""What an empty answer says of where the memory is, totals of what is cut, errors that say what to do, and the commands
for fields, merges and pins."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.core.atomic import original_name
from nanomem_tui.core.text import cell_width

Home = Callable[[str], Path]
Run = Callable[..., Any]


@pytest.mark.parametrize("args", [("memory", "list"), ("memory", "search", "penicillin"), ("recall", "penicillin")])
def test_an_agent_that_keeps_files_is_told_of(home, run, args):
    home("nb035")
    found = run(*args)
    assert found.code == 0
    assert found.err.count("\n") == 1
    assert "memory in files" in found.err
    assert "nanomem memory backfill" in found.err
    assert ("USER.md (1 line)" in found.err) is ("penicillin" in args)
    assert run(*args, "--json").err == ""


def test_a_recall_names_the_command_that_imports_what_is_only_listed(home, run):
    workspace = home("ftswal")
    found = run("recall", "window seats")
    database = workspace.parent / "memory" / "longterm.db"
    assert found.out.startswith("Nothing is recalled.")
    assert (
        f"185 rows of longterm.db must be imported before recall gives it: `nanomem memory import {database}`"
        in found.err
    )
    assert run("memory", "import", database, "--yes").code == 0
    assert "import" not in run("recall", "window seats").err


@pytest.mark.parametrize("line", [("recall", "seats"), ("memory", "search", "seats")])
def test_a_chat_without_its_channel_and_a_channel_alone_are_explained(home, run, line):
    home("ramfirst")
    for option in ("--chat-id", "--sender-id"):
        found = run(*line, option, "A")
        assert found.code == 2
        assert f"{option}. Fix: give --channel too" in found.err
        assert "--scope" not in found.err
    home("ftswal")
    found = run(*line, "--channel", "telegram")
    assert "a channel alone sees what is global; give --chat-id" in found.err
    assert run(*line, "--channel", "telegram", "--json").err == ""


@pytest.mark.slow
def test_a_home_without_a_workspace_is_imported_by_the_command_it_names(sample_copy, run):
    home = sample_copy("crystal") / "home" / ".nanobot"
    refused = run("memory", "list", "--workspace", home)
    assert refused.code == 2
    (home / "workspace").mkdir()
    there = ("--workspace", home / "workspace")
    assert f"nanomem memory import {home / 'memory.db'}" in refused.err
    assert run("memory", "import", home / "memory.db", "--yes", *there).code == 0
    assert run("memory", "status", "--json", *there).json["items"]["total"] == 91


def test_words_that_were_read_as_others_are_told(home, run):
    home("nb035")
    run("memory", "add", "--text", "DB: Postgresql 16")
    assert "Read as: postgres → postgresql" in run("recall", "postgres").out
    assert run("recall", "postgres", "--json").json["corrected"] == {"postgres": "postgresql"}
    found = run("memory", "search", "--query", "postgres")
    assert "Postgresql 16" in found.out
    assert "Read as: postgres → postgresql" in found.err
    assert run("memory", "search", "--query", "postgresql").err == ""


def test_a_profile_and_weights_are_given_on_the_line(home, run):
    home("ramfirst")
    asked = ("recall", "staging host", "--json")
    usual, seed = run(*asked).json["hits"], run(*asked, "--profile", "seed000").json["hits"]
    assert set(seed[0]["parts"]) >= {"overlap", "coverage"}
    changed = run(*asked, "--weight", "importance=0.5", "--weight", "recency=0").json["hits"]
    assert changed[0]["parts"]["recency"] == 0
    assert changed[0]["score"] > usual[0]["score"]
    for bad, why in (
        ("luck=1", "importance, recency, hits"),
        ("recency", "PART=NUMBER"),
        ("recency=nan", "PART=NUMBER"),
        ("recency=-100", "PART=NUMBER of 0 or more"),
    ):
        found = run("recall", "x", "--weight", bad)
        assert (found.code, why in found.err, "--weight" in found.err) == (2, True, True)
    assert "default, seed000, seed001" in run("recall", "x", "--profile", "best").err


@pytest.mark.slow
def test_lessons_that_faded_are_told_and_one_says_why(home, run):
    home("ramfirst")
    assert "61 (61 enabled, 0 strong enough to be given)" in run("memory", "status").out
    assert run("memory", "status", "--json").json["lessons"]["strong"] == 0
    assert "61 lessons faded" in run("memory", "lessons", "list").err
    assert "61 lessons faded" in run("recall", "keep it short").err
    lesson = run("memory", "lessons", "list", "--scope", "global", "--json").json[0]
    why = run("recall", "keep it short", "--why-not", lesson["id"], "--json").json
    assert why["recalled"] is False
    assert "faded to 0.0 since 2026-" in why["why"]
    command = why["why"].split(": nanomem ")[1].split()
    assert run(*command).code == 0
    assert "61 enabled, 1 strong" in run("memory", "status").out
    assert run("recall", lesson["trigger"], "--why-not", lesson["id"], "--json").json["recalled"] is True
    run("memory", "lessons", "disable", lesson["id"])
    assert run("recall", "x", "--why-not", lesson["id"]).out.startswith("disabled")
    assert run("recall", "x", "--why-not", "nope").code == 2


def test_kind_and_scope_are_listed_where_they_differ_and_there_is_room(home, run, monkeypatch):
    home("ftswal")
    mixed = run("memory", "list", "--limit", "60").out.splitlines()
    assert mixed[0].split()[:4] == ["ID", "Text", "Kind", "Scope"]
    assert {"preference", "user"} <= set(mixed[1].split())
    assert "Kind" not in run("memory", "list", "--limit", "60", "--kind", "preference").out.splitlines()[0]
    monkeypatch.setattr("nanomem_tui.cli.output.terminal_width", lambda: 80)
    narrow = run("memory", "list", "--limit", "60").out.splitlines()
    assert "Kind" not in narrow[0]
    assert max(map(cell_width, narrow)) <= 80


def test_a_preview_of_a_removal_stops_at_twenty(home, run):
    home("ramfirst")
    line = ("memory", "prune", "--older-than-days", "1", "--dry-run")
    rows = len(run(*line, "--json").json["items"])
    shown = run(*line).out.splitlines()
    assert rows > 22
    assert len(shown) == 23
    assert shown[-1] == f"… and {rows - 20:,} more; --json shows all"


def test_a_setting_of_the_wrong_kind_says_what_it_must_be(home, run):
    home("nb035")
    for dry in ((), ("--dry-run",)):
        found = run("config", "set", "max_items", "many", *dry)
        assert found.code == 2
        assert found.err.endswith("must be a whole number of at least 0, not 'many'. Fix: see `nanomem config show`\n")


def test_a_search_that_is_cut_says_how_many_there_are(home, run):
    home("ftswal")
    args = ("memory", "search", "like window seats")
    every = run(*args, "--json", "--limit", "100").json
    cut = run(*args, "--limit", "2")
    assert len(cut.out.splitlines()) == 3
    assert cut.err.startswith(f"2 of {len(every)}:")
    assert run(*args, "--limit", "100").err == ""


def test_a_negative_setting_is_out_of_range_not_an_option(home, run):
    home("nb035")
    found = run("config", "set", "max_items", "-5", "--dry-run")
    assert found.code == 2
    assert "at least 0, not -5" in found.err


def test_an_export_into_no_folder_says_what_to_do(home, run, tmp_path):
    home("ftswal")
    found = run("memory", "export", "--to", tmp_path / "no" / "e.jsonl")
    assert found.code == 2
    assert "its folder is not there" in found.err
    assert "make it" in found.err
    assert "doctor" not in found.err


def test_a_quarantined_file_has_its_own_name():
    assert original_name("20261122-0403361a2b-nanomem.db-wal") == "nanomem.db-wal"
    assert original_name("0123456789abcdef-2026-01-02.md") == "2026-01-02.md"


@pytest.mark.slow
def test_items_are_pinned_and_merged(home, run):
    home("ramfirst")
    ids = [row["id"] for row in run("memory", "list", "--session", "discord:9001", "--json").json][:3]
    assert run("memory", "pin", ids[0], "--dry-run", "--json").json["dry_run"]
    assert not run("memory", "show", ids[0], "--json").json["pinned"]
    assert run("memory", "pin", *ids[:2]).code == 0
    assert run("memory", "pin", *ids[:2]).out == "Already pinned.\n"
    assert run("memory", "show", ids[0], "--json").json["pinned"]
    assert run("memory", "unpin", ids[0]).code == 0
    assert not run("memory", "show", ids[0], "--json").json["pinned"]
    assert run("memory", "merge", ids[1], ids[2], "--dry-run").out.startswith("Would merge 2 items")
    assert run("memory", "merge", ids[1]).code == 2
    done = run("memory", "merge", ids[1], ids[2], "--json").json
    left = {row["id"] for row in run("memory", "list", "--json").json}
    assert left & set(ids[1:]) == {done["item"]["id"]}


def test_the_scope_of_an_item_is_edited(home, run):
    home("ramfirst")
    key = run("memory", "list", "--json").json[0]["id"]
    assert run("memory", "edit", key, "--scope", "chat").code == 2
    args = ("--scope", "chat", "--channel", "cli", "--chat-id", "direct")
    row = run("memory", "edit", key, *args, "--json").json["item"]
    assert (row["scope_type"], row["scope_key"]) == ("chat", "channel:cli:chat:direct")
    assert (row["channel"], row["chat_id"]) == ("cli", "direct")
    row = run("memory", "edit", key, "--scope", "global", "--json").json["item"]
    assert (row["scope_type"], row["channel"], row["chat_id"]) == ("global", None, None)
    assert run("memory", "edit", key, "--channel", "cli").code == 2
