"""What an empty answer says of where the memory is, totals of what is cut, errors that say what to do, and the commands
for fields, merges and pins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.store.atomic import original_name

Home = Callable[[str], Path]
Run = Callable[..., Any]


@pytest.mark.parametrize("args", [("memory", "list"), ("memory", "search", "penicillin"), ("recall", "penicillin")])
def test_an_agent_that_keeps_files_is_told_of(home: Home, run: Run, args: tuple[str, ...]) -> None:
    home("nb035")
    found = run(*args)
    assert found.code == 0
    assert found.err.count("\n") == 1
    assert "memory in files" in found.err
    assert "nanomem memory backfill" in found.err
    assert ("USER.md (1 line)" in found.err) is ("penicillin" in args)
    assert run(*args, "--json").err == ""


def test_a_search_that_is_cut_says_how_many_there_are(home: Home, run: Run) -> None:
    home("ftswal")
    args = ("memory", "search", "like window seats")
    every = run(*args, "--json", "--limit", "100").json
    cut = run(*args, "--limit", "2")
    assert len(cut.out.splitlines()) == 3
    assert cut.err.startswith(f"2 of {len(every)}:")
    assert run(*args, "--limit", "100").err == ""


def test_a_negative_setting_is_out_of_range_not_an_option(home: Home, run: Run) -> None:
    home("nb035")
    found = run("config", "set", "max_items", "-5", "--dry-run")
    assert found.code == 2
    assert "at least 0, not -5" in found.err


def test_an_export_into_no_folder_says_what_to_do(home: Home, run: Run, tmp_path: Path) -> None:
    home("ftswal")
    found = run("memory", "export", "--to", tmp_path / "no" / "e.jsonl")
    assert found.code == 2
    assert "its folder is not there" in found.err
    assert "make it" in found.err
    assert "doctor" not in found.err


def test_a_quarantined_file_has_its_own_name() -> None:
    assert original_name("20261122-0403361a2b-nanomem.db-wal") == "nanomem.db-wal"
    assert original_name("0123456789abcdef-2026-01-02.md") == "2026-01-02.md"


def test_items_are_pinned_and_merged(home: Home, run: Run) -> None:
    home("ramfirst")
    ids = [row["id"] for row in run("memory", "list", "--json").json][:3]
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


def test_the_scope_of_an_item_is_edited(home: Home, run: Run) -> None:
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
