"""`nanomem session`, `wal`, `history`, `log`, `undo`, `redo`, `doctor` and `config` on real homes."""

from __future__ import annotations

import errno
import os
import tomllib
from pathlib import Path

import pytest

from nanomem_tui.text import cell_width

# -- session ----------------------------------------------------------------------------------------------------------

SESSION_KEYS = [
    "id", "key", "path", "messages", "size", "created_at", "updated_at", "last_archived", "unarchived", "title",
    "hidden_reason", "problems", "checkpoint", "other_keys", "imported",
]  # fmt: skip


def test_sessions_are_listed_the_last_used_first(home, run) -> None:
    home("nb035")
    rows = run("session", "list", "--json").json
    assert len(rows) == 39
    assert list(rows[0]) == SESSION_KEYS
    assert [row["updated_at"] for row in rows] == sorted((row["updated_at"] for row in rows), reverse=True)
    assert run("session", "list", "--limit", "3", "--offset", "2", "--json").json == rows[2:5]
    assert run("session", "list").out.splitlines()[-1] == "39 sessions"


def test_a_transcript_is_shown_with_its_tool_calls_folded(home, run, monkeypatch: pytest.MonkeyPatch) -> None:
    home("nb035")
    found = None
    for row in run("session", "list", "--json").json:
        whole = run("session", "show", row["key"], "--json").json
        if any(message["tool_calls"] for message in whole["messages"]):
            found = whole
            break
    assert found is not None
    assert list(found)[:2] == ["id", "key"]
    assert "raw" not in found["messages"][0]
    monkeypatch.setenv("COLUMNS", "80")
    folded = run("session", "show", found["key"]).out
    full = run("session", "show", found["key"], "--full").out
    assert "→ " in folded
    assert all(cell_width(line) <= 80 for line in folded.splitlines())
    assert len(full.splitlines()) >= len(folded.splitlines())
    assert len(run("session", "show", found["key"], "--limit", "2", "--json").json["messages"]) == 2


def test_transcripts_are_searched(ramfirst: Path, run) -> None:
    word = next(
        message["content"].split()[0]
        for message in run("session", "show", "cli:direct", "--json").json["messages"]
        if message["role"] == "user" and message["content"].split()[0].isalpha()
    )
    hits = run("session", "search", word, "--limit", "5", "--json").json
    assert 0 < len(hits) <= 5
    assert list(hits[0])[:4] == ["id", "text", "score", "parts"]
    assert hits[0]["session_key"] in hits[0]["id"]
    assert run("session", "search", "--query", "zebraxylophone", "--json").json == []


def test_a_session_is_compacted_after_a_look_and_comes_back(ramfirst: Path, run) -> None:
    file = next((ramfirst.parent / "sessions").glob("cli_direct.jsonl"))
    before = file.read_bytes()
    looked = run("session", "compact", "cli:direct", "--keep", "20", "--dry-run", "--json").json
    assert looked["operation"] is None
    plan = looked["sessions"][0]
    assert plan["removed"] > 0
    assert plan["kept"] + plan["removed"] == plan["messages"]
    refused = run("session", "compact", "cli:direct", "--keep", "20")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert file.read_bytes() == before
    done = run("session", "compact", "cli:direct", "--keep", "20", "--yes", "--json").json
    assert done["operation"]["kind"] == "session.compact"
    assert len(run("session", "show", "cli:direct", "--json").json["messages"]) == plan["kept"]
    assert run("undo").code == 0
    assert file.read_bytes() == before


def test_all_long_sessions_are_compacted_as_one_change(ramfirst: Path, run) -> None:
    nothing = run("session", "compact", "--all", "--keep", "5000", "--json")
    assert (nothing.code, nothing.json["operation"]) == (0, None)
    done = run("session", "compact", "--all", "--keep", "50", "--yes", "--json").json
    assert len(done["sessions"]) == len(done["operation"]["changes"]) > 1
    assert all(row["messages"] <= 50 for row in run("session", "list", "--json").json)


def test_an_unknown_session_is_one_line(ramfirst: Path, run) -> None:
    for line in (["session", "show", "no:body"], ["session", "compact", "no:body"], ["wal", "show", "no:body"]):
        result = run(*line)
        assert result.code == 2
        assert "no:body" in result.err


# -- wal --------------------------------------------------------------------------------------------------------------


def test_turn_logs_are_listed_and_shown(home, run, monkeypatch: pytest.MonkeyPatch) -> None:
    home("ftswal")
    rows = run("wal", "list", "--json").json
    assert len(rows) == 5
    assert sum(row["turns"] for row in rows) == 400
    assert list(rows[0]) == ["id", "session_key", "path", "turns", "size", "updated_at", "problems", "others", "open"]
    shown = run("wal", "show", rows[0]["session_key"], "--limit", "3", "--json").json
    assert (shown["id"], len(shown["turns"])) == (rows[0]["session_key"], 3)
    monkeypatch.setenv("COLUMNS", "80")
    text = run("wal", "show", rows[0]["session_key"]).out
    assert all(cell_width(line) <= 80 for line in text.splitlines())


def test_check_names_the_turns_that_never_ended_and_exits_1(home, run) -> None:
    home("ftswal")
    result = run("wal", "check", "--json")
    assert result.code == 1
    found = result.json
    assert len(found) == run("memory", "status", "--json").json["wal"]["open"] > 0
    assert list(found[0]) == ["id", "session_key", "number", "at", "user", "line", "path"]
    text = run("wal", "show", found[0]["session_key"]).out
    assert f"#{found[0]['number']} " in text
    assert "NOT FINISHED" in text


@pytest.mark.parametrize(
    ("sample", "file", "lines"),
    [
        ("nb035", "memory/history.jsonl", ["history list", "history search x", "history show 3"]),
        ("ftswal", "memory/session-state/cli_direct.md", ["wal list", "wal check", "wal show cli:direct"]),
        (
            "ramfirst",
            "memory/LTM_SNAPSHOT.json",
            ["memory list", "memory search x", "memory add --text x", "memory show x"],
        ),
        ("ramfirst", "memory/LTM_SNAPSHOT.json", ["memory edit x --text y", "memory delete x", "memory status"]),
        (
            "ramfirst",
            "memory/LESSONS.jsonl",
            ["memory lessons list", "memory lessons show x", "memory lessons disable x"],
        ),
        ("ramfirst", "../sessions/cli_direct.jsonl", ["session list", "session search x"]),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_and_not_an_empty_list(
    sample: str, file: str, lines: list[str], home, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = os.path.realpath(home(sample) / file)
    opening, reading = os.open, Path.read_bytes

    def refuse(path: object, *rest: object, **named: object) -> int:
        if os.path.realpath(str(path)) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opening(path, *rest, **named)  # type: ignore[arg-type]

    def refuse_reading(path: Path) -> bytes:
        os.close(refuse(path, os.O_RDONLY))
        return reading(path)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse_reading)
    for line in lines:
        result = run(*line.split())
        assert result.code == 2, line
        assert result.err.count("\n") == 1, line
        assert "ermission" in result.err, line
        assert Path(file).name in result.err, line


def test_check_is_silent_where_there_is_no_log(ramfirst: Path, run) -> None:
    assert (run("wal", "check").code, run("wal", "check", "--json").json) == (0, [])
    assert run("wal", "list", "--json").json == []


# -- history ----------------------------------------------------------------------------------------------------------


def test_history_is_listed_searched_and_shown(home, run) -> None:
    home("nb035")
    rows = run("history", "list", "--json").json
    assert len(rows) == 282
    assert list(rows[0]) == ["id", "cursor", "timestamp", "session_key", "text", "content"]
    assert rows[0]["cursor"] > rows[-1]["cursor"]
    assert run("history", "list", "--limit", "2", "--offset", "1", "--json").json == rows[1:3]
    entry = run("history", "show", rows[5]["cursor"], "--json").json
    assert entry == rows[5]
    assert rows[5]["content"].splitlines()[0] in run("history", "show", rows[5]["cursor"]).out
    word = next(w for row in rows for w in row["text"].split() if w.isascii() and w.isalpha() and len(w) > 5)
    hits = run("history", "search", word, "--limit", "3", "--json").json
    assert hits
    assert list(hits[0])[-2:] == ["score", "parts"]
    assert run("history", "show", "999999").code == 2


# -- the ledger -------------------------------------------------------------------------------------------------------


def test_changes_are_logged_undone_and_redone(ramfirst: Path, run) -> None:
    chosen = run("memory", "list", "--json").json[0]["id"]
    assert run("log", "--json").json == []
    assert "No change" in run("log").out
    first = run("memory", "disable", chosen, "--json").json["operation"]
    run("memory", "edit", chosen, "--text", "second thought")
    entries = run("log", "--json").json
    assert [entry["kind"] for entry in entries] == ["items.edit", "items.disable"]
    assert "changes" not in entries[0]
    assert run("log", "--full", "--limit", "1", "--json").json[0]["changes"][0]["key"] == chosen
    done = run("undo", "--json").json
    assert done["operation"]["undoes"] == entries[0]["id"]
    assert [entry["undone"] for entry in run("log", "--json").json if entry["kind"].startswith("items")] == [
        True,
        False,
    ]
    assert "undone" in run("log").out
    redone = run("redo", "--json").json
    assert redone["operation"]["redoes"] == entries[0]["id"]
    assert run("undo", first["id"]).code == 0
    row = run("memory", "show", chosen, "--json").json
    assert (row["enabled"], row["text"]) == (True, "second thought")


def test_many_are_undone_at_once(ramfirst: Path, run) -> None:
    chosen = [row["id"] for row in run("memory", "list", "--limit", "3", "--json").json]
    for item_id in chosen:
        run("memory", "disable", item_id)
    assert len(run("undo", "3", "--json").json["operations"]) == 3
    assert run("memory", "list", "--disabled", "--json").json == []
    assert len(run("redo", "3", "--json").json["operations"]) == 3


def test_undo_and_redo_say_how_far_they_went(ramfirst: Path, run) -> None:
    for item_id in [row["id"] for row in run("memory", "list", "--limit", "3", "--json").json]:
        run("memory", "disable", item_id)
    result = run("undo", "99")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[-1] == "undid 3; nothing more to undo"
    body = run("redo", "99", "--json").json
    assert (body["asked"], body["done"], len(body["operations"])) == (99, 3, 3)
    assert run("undo", "2").out.splitlines()[-1] == "undid 2"
    assert run("redo", "9").out.splitlines()[-1] == "redid 2; nothing more to redo"
    assert len(run("undo").out.splitlines()) == 1


def test_what_was_undone_before_one_that_cannot_be_is_told(ramfirst: Path, run) -> None:
    run("session", "compact", "cli:direct", "--keep", "5", "--yes")
    run("memory", "add", "--text", "tea")
    for blob in (ramfirst.parent / "nanomem" / "backups").rglob("*"):
        if blob.is_file():
            blob.unlink()
    result = run("undo", "2")
    assert result.code == 2
    assert result.out.splitlines() == ["undo: add “tea”", "undid 1; stopped"]
    assert result.err.count("\n") == 1


def test_the_log_says_first_what_was_undone_and_closes_quotations(ramfirst: Path, run, monkeypatch) -> None:
    item_id = run("memory", "list", "--limit", "1", "--json").json[0]["id"]
    run("memory", "edit", item_id, "--text", "said “never again” and went on for quite some time after that")
    run("undo")
    monkeypatch.setenv("COLUMNS", "80")
    head, *rows = run("log").out.splitlines()
    assert "State" in head.split()
    assert [" undone " in row for row in rows] == [False, True]
    for row in rows:
        assert row.count("“") == row.count("”"), row


def test_one_item_of_a_large_change_is_taken_back_alone(ramfirst: Path, run) -> None:
    chosen = [row["id"] for row in run("memory", "list", "--limit", "3", "--json").json]
    op = run("memory", "disable", *chosen, "--json").json["operation"]["id"]
    assert run("undo", op, "--key", chosen[1]).code == 0
    left = {row["id"] for row in run("memory", "list", "--disabled", "--json").json}
    assert left == {chosen[0], chosen[2]}


def test_nothing_to_undo_or_redo_is_exit_code_1(ramfirst: Path, run) -> None:
    for word in ("undo", "redo"):
        result = run(word)
        assert (result.code, result.out) == (1, "")
        assert result.err.count("\n") == 1
    assert run("undo", "op_nobody").code == 2


# -- doctor and settings ----------------------------------------------------------------------------------------------


def test_the_doctor_exits_1_where_something_is_wrong(home, run) -> None:
    home("torn")
    result = run("doctor", "--json")
    assert result.code == 1
    assert list(result.json[0]) == ["id", "what", "where", "line", "fix", "severity"]
    assert any("LESSONS.jsonl" in found["where"] for found in result.json)
    human = run("doctor").out.splitlines()
    assert human[-2] == f"{len(result.json)} findings"
    assert "SQLite" in human[-1]


def test_a_byte_that_is_no_utf8_is_found_and_costs_its_line_only(ramfirst: Path, run) -> None:
    file = ramfirst / "memory" / "LESSONS.jsonl"
    lines = file.read_bytes().split(b"\n")
    lines[2] = lines[2][:40] + b"\xff" + lines[2][40:]
    file.write_bytes(b"\n".join(lines))
    found = run("doctor", "--json")
    assert found.code == 1
    assert any(entry["line"] == 3 for entry in found.json)
    assert len(run("memory", "lessons", "list", "--json").json) == 60


def test_settings_are_shown_set_and_found(ramfirst: Path, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings" / "config.toml"
    monkeypatch.setenv("NANOMEM_CONFIG", str(file))
    assert run("config", "path").out.strip() == str(file)
    assert run("config", "path", "--json").json == {"path": str(file), "exists": False}
    shown = run("config", "show", "--json").json
    assert list(shown) == ["settings", "sources", "problems"]
    assert shown["settings"]["flush_every_updates"] == 8
    done = run("config", "set", "flush_every_updates", "16", "--json").json
    undo = "nanomem config unset flush_every_updates"
    assert done == {"key": "flush_every_updates", "value": 16, "was": None, "path": str(file), "undo": undo}
    assert tomllib.loads(file.read_text()) == {"flush_every_updates": 16}
    assert run("config", "show", "--json").json["sources"]["flush_every_updates"] == str(file)
    assert "flush_every_updates" in run("config", "show").out
    run("config", "set", "max_items", "5")
    assert file.with_name("config.toml.bak").exists()


def test_a_setting_that_is_wrong_is_refused(
    ramfirst: Path, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "config.toml"))
    for line, text in (
        (["flush_evry_updates", "3"], "flush_every_updates"),
        (["flush_every_updates", "many"], "a whole"),
    ):
        result = run("config", "set", *line)
        assert result.code == 2
        assert text in result.err
    assert not (tmp_path / "config.toml").exists()


def test_settings_of_one_workspace_go_before_the_users(ramfirst: Path, run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "config.toml"))
    run("config", "set", "max_items", "7", "--here")
    told = run("config", "set", "max_items", "9")
    assert "last word" in told.err
    assert run("config", "show", "--json").json["settings"]["max_items"] == 7


def test_settings_need_no_workspace(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOMEM_CONFIG", str(tmp_path / "config.toml"))
    assert run("config", "set", "max_items", "9").code == 0
    assert run("config", "show", "--json").json["settings"]["max_items"] == 9
    assert run("config", "set", "max_items", "9", "--here").code == 2
