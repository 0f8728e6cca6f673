"""`nanomem journal`, `reflections` and `usage`: what they print, what scripts get, what a dry run leaves as it is."""

import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import click
import pytest

from nanomem_tui.core.text import cell_width
from tests.agents.test_llm_usage import call, made
from tests.store.homes import files


@pytest.fixture
def crystal(home, sample_copy, run):
    """A workspace into which the sample of the crystallized system was imported."""
    base = sample_copy("crystal") / "home" / ".nanobot"
    workspace = base / "workspace"
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    assert run("memory", "import", base / "memory.db", "--yes", "--workspace", workspace).code == 0
    return workspace


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty workspace in an agent's home, which is the default one."""
    workspace = tmp_path / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (tmp_path / "home" / "config.json").write_text("{}")
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "user.toml"))
    return workspace


# -- what was imported -------------------------------------------------------------------------------------------------


def test_all_rows_of_the_sample_are_found_afterwards(crystal, run):
    where = ("--workspace", crystal, "--json")
    journal = run("journal", "list", *where).json
    assert len(journal) == 45
    assert set(journal[0]) == {"id", "date", "text", "session_key", "source", "at", "created_at", "updated_at"}
    assert [row["date"] for row in journal] == sorted((row["date"] for row in journal), reverse=True)
    assert len(run("reflections", "list", *where).json) == 20
    rows = run("usage", *where).json
    with closing(sqlite3.connect(crystal.parent / "memory.db")) as theirs:
        columns = "date, model, prompt_tokens, completion_tokens, total_tokens, requests"
        wanted = theirs.execute(f"SELECT {columns} FROM token_usage").fetchall()
    assert sorted(tuple(row[name] for name in columns.split(", ")) for row in rows) == sorted(wanted)
    assert {row["origin"] for row in rows} == {"import"}


@pytest.mark.slow
def test_pages_and_words_of_the_sample(crystal, run):
    where = ("--workspace", crystal)
    assert len(run("journal", "list", "--limit", 4, "--offset", 43, *where, "--json").json) == 2
    assert "4 of 45 journal entries" in run("journal", "list", "--limit", 4, *where).out
    days = run("journal", "list", "--since", "2026-02-16", "--until", "2026-02-16", *where, "--json").json
    assert {row["date"] for row in days} == {"2026-02-16"}
    found = run("journal", "search", "--query", '"Запись 12:"', *where, "--json").json
    assert found
    assert all("Запись 12" in row["text"] for row in found)
    assert len(run("reflections", "list", "--tool", "web_search", "--query", "меньший", *where, "--json").json) == 20
    assert run("reflections", "list", "--tool", "other", *where, "--json").json == []


# -- journal -----------------------------------------------------------------------------------------------------------


def test_an_entry_is_added_shown_edited_deleted_and_brought_back(place, run):
    added = run("journal", "add", "--text", "Moved the server", "--day", "2026-02-15", "--json").json
    key = added["entry"]["id"]
    assert (added["entry"]["date"], added["warnings"], added["operation"]["kind"]) == ("2026-02-15", [], "journal.add")
    assert run("journal", "show", key, "--json").json == added["entry"]
    shown = run("journal", "show", key)
    assert "Moved the server" in shown.out
    assert (
        run("journal", "edit", key, "--text", "Moved the servers", "--json").json["entry"]["text"].endswith("servers")
    )
    assert run("journal", "edit", key, "--text", "Moved the servers").out == "Nothing changed.\n"
    gone = run("journal", "delete", key, "--yes", "--json").json
    assert [row["id"] for row in gone["entries"]] == [key]
    assert run("journal", "list", "--json").json == []
    assert run("journal", "show", key).code == 2
    assert run("undo").code == 0
    assert [row["id"] for row in run("journal", "list", "--json").json] == [key]


def test_a_dry_run_of_the_journal_changes_no_byte(place, run):
    key = run("journal", "add", "--text", "Moved the server", "--json").json["entry"]["id"]
    before = files(place.parent)
    for line in (
        ("add", "--text", "another"), ("edit", key, "--text", "other words"), ("delete", key),
    ):  # fmt: skip
        done = run("journal", *line, "--dry-run")
        assert done.code == 0
        assert "Would" in done.out
        assert run("journal", *line, "--dry-run", "--json").json["dry_run"] is True
    assert files(place.parent) == before
    assert "other words" in run("journal", "edit", key, "--text", "other words", "--dry-run").out


@pytest.mark.parametrize("width", [60, 80])
def test_lists_fit_the_terminal_and_name_what_can_be_shown(crystal, run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    for group in ("journal", "reflections"):
        lines = run(group, "list", "--limit", 5, "--workspace", crystal).out.splitlines()
        assert max(map(cell_width, lines)) <= width
        assert run(group, "show", lines[1].split()[0], "--workspace", crystal).code == 0


def test_deleting_asks_and_without_anybody_to_ask_it_is_refused(place, run):
    key = run("journal", "add", "--text", "Moved the server", "--json").json["entry"]["id"]
    refused = run("journal", "delete", key)
    assert refused.code == 2
    assert "add --yes to do it" in refused.err
    assert len(run("journal", "list", "--json").json) == 1


@pytest.mark.parametrize(
    "line",
    [
        ("journal", "add"),
        ("journal", "add", "x", "--text", "y"),
        ("journal", "add", "--text", " "),
        ("journal", "add", "--text", "x", "--day", "someday"),
        ("journal", "list", "--since", "some week"),
        ("journal", "show", "nothing"),
        ("journal", "search"),
        ("reflections", "show", "nothing"),
        ("reflections", "add", "--tool", "", "--error", "e", "--insight", "i"),
        ("reflections", "lesson", "nothing"),
        ("usage", "--days", "0"),
        ("usage", "--by", "week"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(place, run, line):
    done = run(*line)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("nanomem: ")


def test_what_was_noted_cannot_steer_the_terminal(place, run):
    key = run("journal", "add", "--text", "a \x1b]52;c;ZXZpbA==\x07 b\u202e\x9b2J", "--json").json["entry"]["id"]
    run("reflections", "add", "--tool", "\x1b[2Jexec", "--error", "\x1b[31m", "--insight", "\x07 i")
    for line in (("journal", "list"), ("journal", "show", key), ("reflections", "list"), ("log",)):
        done = run(*line)
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(done.out + done.err)
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(run(*line, "--json").out)


def test_a_list_of_nothing_says_so(place, run):
    before = files(place.parent)
    assert run("journal", "list").out == "0 journal entries\n"
    assert run("reflections", "list").out == "0 reflections\n"
    assert run("usage").out == "No token use.\n"
    for line in ("journal list", "reflections list", "usage", "usage --by model"):
        assert run(*line.split(), "--json").json == []
    assert files(place.parent) == before


# -- reflections -------------------------------------------------------------------------------------------------------


def test_a_reflection_is_kept_edited_and_becomes_a_lesson(place, run):
    key = "sk-proj-" + "aB3" * 16
    given = ("--tool", "web_search", "--args", f'{{"token": "{key}"}}', "--error", "timeout", "--insight", "Ask less")
    added = run("reflections", "add", *given)
    assert added.code == 0
    assert "masked" in added.err
    (row,) = run("reflections", "list", "--json").json
    assert list(row)[:6] == ["id", "tool_name", "tool_args", "error_text", "insight", "session_key"]
    assert key not in json.dumps(row)
    edited = run("reflections", "edit", row["id"], "--insight", "Ask for less", "--json").json
    assert edited["reflection"]["insight"] == "Ask for less"
    before = files(place.parent)
    assert "web_search" in run("reflections", "lesson", row["id"], "--dry-run").out
    assert files(place.parent) == before
    became = run("reflections", "lesson", row["id"], "--json").json
    assert became["reflection"]["lesson"] == became["lesson"]["id"]
    assert run("reflections", "show", row["id"], "--json").json["lesson"] == became["lesson"]["id"]
    shown = run("memory", "lessons", "show", became["lesson"]["id"]).out
    assert "Ask for less" in shown
    assert row["id"] in shown
    again = run("reflections", "lesson", row["id"])
    assert again.code == 1
    assert run("reflections", "delete", row["id"], "--yes").code == 0
    assert len(run("memory", "lessons", "list", "--json").json) == 1


def test_what_is_to_be_noted_may_stand_as_it_is(place, run):
    assert run("journal", "add", "Moved to Porto").code == 0
    assert run("journal", "add", "Back", "home", "--day", "2026-02-15", "--json").json["entry"]["text"] == "Back home"
    assert [row["text"] for row in run("journal", "list", "--json").json] == ["Moved to Porto", "Back home"]


@pytest.mark.parametrize("page", ["README.md", "docs/commands.md"])
def test_every_command_of_a_page_is_one(page, place, run, monkeypatch):
    monkeypatch.setattr(click.Command, "invoke", lambda *_: None)  # read to its last word, and not done
    text = (Path(__file__).resolve().parents[2] / page).read_text()
    lines = [line.strip() for line in text.splitlines() if line.startswith("    nanomem ")]
    lines += re.findall(r"`(nanomem [^`]+)`", text)
    commands = [words[1:] for line in lines if (words := shlex.split(line, comments=True))[1:]]
    asked = [words for words in commands if words[0] not in ("attach", "serve")]
    assert len(asked) > 5
    wrong = [said.err for words in asked if "--help`)" in (said := run(*words)).err]
    assert wrong == []


# -- usage -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def used(place, run):
    made(
        place.parent / "llm_usage.sqlite3",
        call("2026-03-02T10:00:00+00:00", tokens=(1_000_000, 100_000, 1_100_000, 0)),
        call("2026-03-01T10:00:00+00:00", model="local", source="cron", finish="error", tokens=(0, 0, 0, 0)),
        call("2026-02-27T10:00:00+00:00", model="\x1b[2Jqwen", tokens=(10, 5, 15, 15)),
    )
    return place


def test_the_price_that_usage_asks_for_is_added_to_those_that_are_set(used, run):
    run("config", "set", "model_prices", "gpt-4o=2.512345678/10", "--here")
    hint = run("usage", "--by", "model").out.rpartition(": nanomem ")[2]
    table = '{"gpt-4o": "2.512345678/10", "\\u001b[2Jqwen": "ASKED/ANSWERED"}'
    assert hint == f"config set model_prices '{table}' --here\n"
    words = shlex.split(run("usage").out.rpartition(": nanomem ")[2].replace("ASKED/ANSWERED", "1/2"))
    assert run(*words).code == 0
    prices = run("config", "show", "--json").json["settings"]["model_prices"]
    assert list(prices["gpt-4o"].values()) == [2.512345678, 10]
    assert list(prices["\x1b[2Jqwen"].values()) == [1, 2]
    assert "No price" not in run("usage").out


def test_usage_tells_rows_totals_and_what_has_no_price(used, run):
    run("config", "set", "model_prices", "gpt-4o=2.5/10")
    done = run("usage")
    assert "at least 3.5000" in done.out
    assert "No price is set for" in done.out
    assert "1 failed" in done.out
    assert "15 of the tokens are estimated" in done.out
    assert "\x1b" not in done.out
    rows = run("usage", "--json").json
    assert [(row["date"], row["source"], row["cost"]) for row in rows] == [
        ("2026-03-02", "user", 3.5), ("2026-03-01", "cron", 0.0), ("2026-02-27", "user", None),
    ]  # fmt: skip
    assert run("usage", "--limit", 1, "--offset", 1, "--json").json == rows[1:2]
    sums = run("usage", "--by", "source", "--json").json
    assert [(one["id"], one["source"], one["requests"], one["cost"]) for one in sums] == [
        ("user", "user", 2, 3.5), ("cron", "cron", 1, 0.0),
    ]  # fmt: skip
    assert sums[0]["unpriced"] == ["\x1b[2Jqwen"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_plot_fits_the_terminal_and_shows_days_of_nothing(used, run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("usage", "--plot").out.splitlines()
    days = [line for line in lines if line.startswith("2026-")]
    assert [line.split()[0] for line in days] == ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]
    assert "█" in days[-1]
    assert "█" not in days[1]
    assert max(map(len, days)) <= width
    monkeypatch.setenv("NANOMEM_ASCII", "true")
    plain = run("usage", "--plot", "--by", "model").out
    assert plain.split("\n")[0].isascii()
    assert "@" in plain


def test_a_broken_log_of_the_agent_is_a_note_beside_the_rest(used, run):
    (used.parent / "llm_usage.sqlite3").write_bytes(b"torn" * 999)
    done = run("usage")
    assert (done.code, done.out) == (0, "No token use.\n")
    assert "llm_usage.sqlite3" in done.err
    assert run("usage", "--json").json == []
