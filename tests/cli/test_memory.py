"""`nanomem memory`: what is printed and in which keys, and what each changing command leaves behind."""

import json
import os
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from nanomem_tui.cli import output
from nanomem_tui.core.text import cell_width
from tests.store.homes import make_home

ITEM_KEYS = [
    "id", "text", "kind", "scope_type", "scope_key", "channel", "chat_id", "sender_id", "session_key", "importance",
    "confidence", "source", "source_message_id", "source_role", "created_at", "updated_at", "last_accessed_at",
    "expires_at", "hits", "enabled", "pinned", "is_deleted", "meta", "foreign",
]  # fmt: skip
OPERATION_KEYS = ["id", "at", "actor", "kind", "label", "changes", "undoes", "redoes", "meta"]
HOSTILE = "\x1b]52;c;aGk=\x07\x9b2J\u202eevil [/foo] [@click=app.bell]x[/]"


def ids(run):
    return [row["id"] for row in run("memory", "list", "--json").json]


def by_id(run, item_id):
    return run("memory", "show", item_id, "--json").json


def listing(folder):
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# -- reading ----------------------------------------------------------------------------------------------------------


def test_list_prints_every_item_newest_first_with_the_keys_of_the_table(ramfirst, run):
    rows = run("memory", "list", "--json").json
    assert len(rows) == 156
    assert list(rows[0]) == ITEM_KEYS
    assert [row["updated_at"] for row in rows] == sorted((row["updated_at"] for row in rows), reverse=True)
    assert all(row["enabled"] is True and row["foreign"] is False for row in rows)


def test_list_pages(ramfirst, run):
    rows = run("memory", "list", "--json").json
    assert run("memory", "list", "--limit", "5", "--offset", "10", "--json").json == rows[10:15]
    assert run("memory", "list", "--limit", "0", "--json").json == []
    assert run("memory", "list", "--offset", "1000", "--json").json == []


def test_list_narrows_by_what_a_row_is(ramfirst, run):
    rows = run("memory", "list", "--json").json
    session = next(row["session_key"] for row in rows if row["session_key"])
    assert {row["session_key"] for row in run("memory", "list", "--session", session, "--json").json} == {session}
    assert run("memory", "list", "--kind", "decision", "--json").json == []
    assert run("memory", "list", "--disabled", "--json").json == []
    assert len(run("memory", "list", "--scope", "global", "--json").json) == 1
    assert len(run("memory", "list", "--scope", "chat", "--json").json) == 155
    hits = [row["hits"] for row in run("memory", "list", "--sort", "hits", "--json").json]
    assert hits == sorted(hits, reverse=True)


@pytest.mark.parametrize("line", ["memory list", "memory search user", "memory prune --older-than-days 1 --dry-run"])
def test_a_kind_that_is_not_there_names_those_that_are(line, ramfirst, run):
    result = run(*line.split(), "--kind", "nonsense")
    assert (result.code, result.out) == (2, "")
    assert "one of preference, fact, decision, episodic" in result.err
    assert result.err.count("\n") == 1
    assert run(*line.split(), "--kind", "episodic").code == 0


@pytest.mark.parametrize("line", ["memory list", "memory search dark", "memory prune --older-than-days 1 --dry-run"])
def test_a_kind_that_the_data_has_is_one(line, home, run):
    workspace = home("ftswal")
    with closing(sqlite3.connect(workspace.parent / "memory" / "longterm.db")) as connection:
        connection.execute("UPDATE memory_entries SET kind = 'recipe' WHERE rowid < 5")
        connection.commit()
    assert run(*line.split(), "--kind", "recipe").code == 0
    assert "episodic, recipe" in run(*line.split(), "--kind", "nonsense").err


def test_a_scope_that_is_not_there_names_those_that_are(ramfirst, run):
    result = run("memory", "list", "--scope", "nonsense")
    assert result.code == 2
    assert "one of chat, user, global, all" in result.err
    assert run("memory", "list", "--scope", "channel:telegram:chat:1", "--json").json == []


def test_the_index_is_made_anew(ramfirst, run):
    assert "No database yet" in run("memory", "reindex").out
    run("memory", "add", "--text", "zebras graze at dawn")
    with closing(sqlite3.connect(ramfirst.parent / "nanomem" / "nanomem.db")) as connection:
        connection.execute("DELETE FROM memory_entries_fts WHERE rowid > 100")
        connection.commit()
    assert "100 of 157 items in the index: would be made anew." in run("memory", "reindex", "--dry-run").out
    assert run("memory", "reindex", "--json").json["index"] == {"items": 157, "indexed": 157, "current": True}
    assert run("memory", "search", "zebras", "--json").json[0]["text"] == "zebras graze at dawn"


def test_a_write_that_sets_a_file_aside_says_where(home, run):
    workspace = home("torn")
    result = run("memory", "add", "--text", "tea")
    assert result.code == 0
    kept = sorted((workspace.parent / "nanomem" / "quarantine").iterdir())
    names = [path.name.partition("-")[2] for path in kept]
    assert "LTM_SNAPSHOT.json" in names
    assert result.err.splitlines() == [
        f"Note: {name} could not be read whole; as it was it is kept in {path}"
        for name, path in zip(names, kept, strict=True)
    ]
    assert run("memory", "add", "--text", "coffee").err == ""


@pytest.mark.slow
def test_one_is_one_and_many_are_many(ramfirst, run):
    item_id = run("memory", "list", "--limit", "1", "--json").json[0]["id"]
    run("memory", "delete", item_id, "--yes")
    lessons = [row["id"] for row in run("memory", "lessons", "list", "--include-disabled", "--json").json]
    run("memory", "lessons", "delete", *lessons[1:], "--yes")
    assert "reset: 1 lesson removed" in run("memory", "lessons", "reset", "--yes").out
    said = "".join(run(*line.split()).out for line in ("memory status", "log", "session list", "memory list"))
    assert not re.search(r"\b1 (\w+s)\b(?<!is)", said)
    assert "1 note" not in said


def test_the_table_has_the_seeds_columns_and_says_how_many(ramfirst, run):
    lines = run("memory", "list", "--limit", "3").out.splitlines()
    assert lines[0].split("  ")[0] == "ID"
    assert [word for word in ("Text", "Source", "Hits", "Session", "Updated At") if word not in lines[0]] == []
    assert lines[-1] == "3 of 156 items"


def test_the_table_fits_80_columns_with_wide_text(ramfirst, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    run(
        "memory",
        "add",
        "--text",
        "每次超过两小时的航班都喜欢靠窗的座位，除了夜间航班以外的所有情况都是如此，请一定记住这一点",
    )
    lines = run("memory", "list").out.splitlines()
    assert len(lines) == 159
    assert all(cell_width(line) <= 80 for line in lines)


def test_foreign_rows_are_listed_and_shown_read_only(home, run):
    home("ftswal")
    rows = run("memory", "list", "--json").json
    assert rows
    assert all(row["foreign"] for row in rows)
    assert list(rows[0]) == ITEM_KEYS
    assert by_id(run, rows[0]["id"]) == rows[0]
    assert run("memory", "status", "--json").json["items"]["foreign"] == len(rows)


@pytest.mark.slow
def test_reading_changes_no_byte(sample_copy, run, monkeypatch):
    for name in ("ramfirst", "torn", "ftswal", "nb035", "v0_1_5"):
        home = sample_copy(name) / "home"
        monkeypatch.setenv("NANOMEM_WORKSPACE", str(home / ".nanobot" / "workspace"))
        before = listing(home)
        for line in (
            ["memory", "status"], ["memory", "list"], ["memory", "search", "the"], ["memory", "lessons", "list"],
            ["session", "list"], ["wal", "list"], ["wal", "check"], ["history", "list"], ["log"], ["memory", "export"],
        ):  # fmt: skip
            assert run(*line).code in (0, 1), line
        assert listing(home) == before


def test_show_prints_one_item_and_takes_a_beginning_of_its_id(ramfirst, run):
    row = run("memory", "list", "--json").json[0]
    assert by_id(run, row["id"]) == row
    assert by_id(run, row["id"][:-1]) == row
    human = run("memory", "show", row["id"]).out
    assert row["text"] in human
    assert "Updated" in human


def test_an_unknown_id_is_one_line(ramfirst, run):
    for line in (["show"], ["history"], ["disable"], ["delete", "--yes"], ["edit", "--text", "x"]):
        result = run("memory", line[0], "nope", *line[1:])
        assert (result.code, result.out) == (2, "")
        assert result.err.count("\n") == 1
        assert "nope" in result.err


def test_search_prints_hits_with_score_and_parts(ramfirst, run):
    hits = run("memory", "search", "--query", "window seats", "--json").json
    assert list(hits[0]) == [*ITEM_KEYS, "score", "parts"]
    assert "window" in hits[0]["text"]
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert run("memory", "search", "window", "seats", "--limit", "2", "--offset", "1", "--json").json == hits[1:3]


def test_a_search_that_finds_nothing_is_an_empty_array(ramfirst, run):
    result = run("memory", "search", "--query", "zebra xylophone", "--json")
    assert (result.code, result.json) == (0, [])
    assert "Nothing found" in run("memory", "search", "zebra xylophone").out


def test_explain_shows_the_parts_of_each_score(ramfirst, run):
    lines = run("memory", "search", "window", "--explain", "--limit", "2").out.splitlines()
    assert len(lines) == 5
    assert "importance" in lines[2]


def test_export_holds_all_items_and_lessons(ramfirst, run, tmp_path):
    whole = run("memory", "export").json
    assert (len(whole["items"]), len(whole["lessons"])) == (156, 61)
    file = tmp_path / "memory.json"
    told = {"path": str(file), "items": 156, "lessons": 61, "records": 0, "left_out": {}}
    assert run("memory", "export", "--output", file, "--json").json == told
    assert json.loads(file.read_text("utf-8")) == whole


# -- changing ---------------------------------------------------------------------------------------------------------


def test_add_prints_what_it_made_and_is_kept(ramfirst, run):
    made = run("memory", "add", "--text", "Use concise responses", "--kind", "preference", "--json").json
    assert list(made) == ["operation", "item", "warnings"]
    assert list(made["operation"]) == OPERATION_KEYS
    assert made["operation"]["actor"] == "human"
    assert (made["item"]["text"], made["item"]["kind"], made["item"]["scope_type"]) == (
        "Use concise responses", "preference", "global",
    )  # fmt: skip
    assert run("memory", "list", "--limit", "1", "--json").json == [made["item"]]
    assert run("memory", "status", "--json").json["checkpoint"]["dirty"] == 0


def test_add_knows_scopes(ramfirst, run):
    line = [
        "memory",
        "add",
        "--text",
        "here only",
        "--scope",
        "chat",
        "--channel",
        "cli",
        "--chat-id",
        "direct",
        "--json",
    ]
    assert run(*line).json["item"]["scope_key"] == "channel:cli:chat:direct"
    refused = run("memory", "add", "--text", "nobody", "--scope", "chat")
    assert refused.code == 2
    assert "--channel" in refused.err


def test_edit_changes_what_is_named(ramfirst, run):
    row = run("memory", "list", "--json").json[3]
    done = run("memory", "edit", row["id"], "--text", "corrected", "--json").json
    assert list(done) == ["operation", "item", "warnings"]
    assert done["item"]["text"] == by_id(run, row["id"])["text"] == "corrected"
    again = run("memory", "edit", row["id"], "--text", "corrected", "--json").json
    assert again["operation"] is None
    run("undo")
    assert by_id(run, row["id"])["text"] == row["text"]


def editor(folder, body):
    script = folder / "editor.py"
    script.write_text(f"import os, sys\npath = sys.argv[1]\n{body}\n")
    return f"{sys.executable} {script}"


def test_edit_opens_the_editor_on_a_private_file(ramfirst, run, tmp_path, monkeypatch):
    row = run("memory", "list", "--json").json[0]
    seen = tmp_path / "seen"
    body = (
        "modes = [f'{os.stat(place).st_mode & 0o777:o}' for place in (path, os.path.dirname(path))]\n"
        f"open({str(seen)!r}, 'w').write(' '.join([*modes, path]))\n"
        "text = open(path, encoding='utf-8').read()\n"
        "open(path, 'w', encoding='utf-8').write(text.rstrip() + ' 修改过\\n')"
    )
    monkeypatch.setenv("EDITOR", editor(tmp_path, body))
    monkeypatch.delenv("VISUAL", raising=False)
    done = run("memory", "edit", row["id"], "--json").json
    assert done["item"]["text"] == f"{row['text']} 修改过"
    file_mode, folder_mode, path = seen.read_text().split(" ", 2)
    assert (file_mode, folder_mode) == ("600", "700")
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("sys.exit(3)", "status 3"),
        ("open(path, 'wb').write(b'\\xff')", "cannot be read"),
        ("os.unlink(path)", "cannot be read"),
    ],
)
def test_an_editor_that_fails_changes_nothing(body, text, ramfirst, run, tmp_path, monkeypatch):
    row = run("memory", "list", "--json").json[0]
    monkeypatch.setenv("VISUAL", editor(tmp_path, body))
    result = run("memory", "edit", row["id"])
    assert result.code == 2
    assert text in result.err
    assert by_id(run, row["id"]) == row


@pytest.mark.slow
@pytest.mark.parametrize("what", ["item", "lesson"])
def test_what_somebody_changed_while_the_editor_was_open_stays(what, ramfirst, run, tmp_path, monkeypatch):
    """The editor is a program that changes the same thing by another process before it writes."""
    line = ["memory"] if what == "item" else ["memory", "lessons"]
    key, option = run(*line, "list", "--json").json[0]["id"], "--text" if what == "item" else "--action"
    other = [sys.executable, "-m", "nanomem_tui", "--workspace", str(ramfirst), *line, "edit", key, option, "theirs"]
    body = f"import subprocess\nsubprocess.run({other!r}, check=True)\nopen(path, 'w').write('words of mine\\n')"
    monkeypatch.setenv("EDITOR", editor(tmp_path, body))
    monkeypatch.delenv("VISUAL", raising=False)
    result = run(*line, "edit", key)
    assert result.code == 2
    assert "words of mine" in result.err, "what was written is not lost"
    assert "meanwhile" in result.err
    row = next(row for row in run(*line, "list", "--json").json if row["id"] == key)
    assert row["text" if what == "item" else "better_action"] == "theirs"


def test_edit_without_an_editor_says_what_to_do(ramfirst, run, monkeypatch):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    result = run("memory", "edit", ids(run)[0])
    assert result.code == 2
    assert "--text" in result.err
    lesson = run("memory", "lessons", "list", "--json").json[0]["id"]
    result = run("memory", "lessons", "edit", lesson)
    assert (result.code, "--action" in result.err, "--text" in result.err) == (2, True, False)


def test_disable_and_enable_many(ramfirst, run):
    chosen = ids(run)[:3]
    done = run("memory", "disable", *chosen, "--json").json
    assert [row["enabled"] for row in done["items"]] == [False] * 3
    assert {row["id"] for row in run("memory", "list", "--disabled", "--json").json} == set(chosen)
    assert run("memory", "status", "--json").json["items"]["enabled"] == 153
    assert run("memory", "disable", *chosen, "--json").json["operation"] is None
    assert all(row["enabled"] for row in run("memory", "enable", *chosen, "--json").json["items"])


def test_delete_shows_first_asks_for_yes_and_can_be_undone(ramfirst, run):
    before = run("memory", "list", "--json").json
    chosen = before[0]
    looked = run("memory", "delete", chosen["id"], "--dry-run", "--json")
    assert looked.code == 0
    assert looked.json == {"operation": None, "dry_run": True, "items": [chosen]}
    refused = run("memory", "delete", chosen["id"])
    assert refused.code == 2
    assert chosen["id"] in refused.out
    assert "--yes" in refused.err
    assert refused.err.count("\n") == 1
    assert run("memory", "list", "--json").json == before
    done = run("memory", "delete", chosen["id"], "--yes", "--json").json
    assert done["items"] == [chosen]
    assert chosen["id"] not in ids(run)
    run("undo")
    assert run("memory", "list", "--json").json == before


def test_dry_run_wins_over_yes(ramfirst, run):
    chosen = ids(run)[0]
    assert run("memory", "delete", chosen, "--yes", "--dry-run").code == 0
    assert chosen in ids(run)


@pytest.mark.parametrize(("answer", "code", "left"), [(True, 0, 155), (False, 1, 156)])
def test_at_a_terminal_a_person_is_asked(answer, code, left, ramfirst, run, monkeypatch):
    monkeypatch.setattr(output, "can_ask", lambda: True)
    monkeypatch.setattr(output, "ask", lambda question: answer)
    assert run("memory", "delete", ids(run)[0]).code == code
    assert len(ids(run)) == left


@pytest.mark.slow
def test_compact_tells_what_goes_and_why(ramfirst, run):
    looked = run("memory", "compact", "--max-items", "20", "--dry-run", "--json").json
    assert (looked["operation"], looked["kept"], looked["max_items"]) == (None, 20, 20)
    assert len(looked["removed"]) == 136
    assert looked["removed"][0]["reason"]
    done = run("memory", "compact", "--max-items", "20", "--yes", "--json").json
    assert len(ids(run)) == done["kept"] == 20
    again = run("memory", "compact", "--max-items", "20", "--json")
    assert (again.code, again.json["operation"]) == (0, None)
    run("undo")
    assert len(ids(run)) == 156


def test_prune_takes_what_is_old(ramfirst, run):
    looked = run("memory", "prune", "--older-than-days", "0", "--dry-run", "--json").json
    assert len(looked["items"]) == 156
    assert run("memory", "prune", "--older-than-days", "100000", "--json").json["operation"] is None
    run("memory", "prune", "--older-than-days", "0", "--yes")
    assert ids(run) == []


def test_flush_says_what_it_wrote(ramfirst, run):
    run("memory", "disable", ids(run)[0])
    assert run("memory", "flush", "--dry-run", "--json").json["dry_run"] is True
    assert set(run("memory", "flush", "--json").json) == {"operations", "rows", "ms", "exported"}
    assert run("memory", "flush").out.startswith("Wrote ")


def test_history_lists_the_changes_of_one_item_only(ramfirst, run):
    one, other = ids(run)[:2]
    run("memory", "disable", one, other)
    run("memory", "edit", one, "--text", "second")
    entries = run("memory", "history", one, "--json").json
    assert [entry["kind"] for entry in entries] == ["items.edit", "items.disable"]
    assert [change["key"] for entry in entries for change in entry["changes"]] == [one, one]
    assert entries[1]["touched"] == 2
    assert len(run("memory", "history", one, "--limit", "1", "--json").json) == 1
    assert "disable 2 items" in run("memory", "history", one).out


# -- lessons ----------------------------------------------------------------------------------------------------------

LESSON_KEYS = [
    "id", "key", "trigger", "bad_action", "better_action", "scope", "session_key", "actor_key", "source", "confidence",
    "hits", "enabled", "created_at", "updated_at", "last_applied_at", "promoted_global_key", "is_deleted", "meta",
    "effective",
]  # fmt: skip


def lesson_ids(run):
    return [row["id"] for row in run("memory", "lessons", "list", "--json").json]


def test_lessons_are_listed_counted_and_shown(ramfirst, run):
    rows = run("memory", "lessons", "list", "--json").json
    assert len(rows) == 61
    assert list(rows[0]) == LESSON_KEYS
    assert run("memory", "lessons", "status", "--json").json["total"] == 61
    assert run("memory", "lessons", "show", rows[0]["id"], "--json").json["id"] == rows[0]["id"]
    assert "Do " in run("memory", "lessons", "show", rows[0]["id"]).out
    narrowed = run("memory", "lessons", "list", "--scope", "global", "--limit", "2", "--json").json
    assert {row["scope"] for row in narrowed} == {"global"}


def test_the_lessons_table_has_the_seeds_columns(ramfirst, run, monkeypatch):
    run("memory", "lessons", "disable", lesson_ids(run)[0])
    head = run("memory", "lessons", "list", "--include-disabled").out.splitlines()[0]
    words = ("ID", "Scope", "Enabled", "Trigger", "Confidence", "Effective", "Hits", "Updated At", "Action")
    assert [word for word in words if word not in head] == []
    monkeypatch.setenv("COLUMNS", "80")
    assert all(cell_width(line) <= 80 for line in run("memory", "lessons", "list").out.splitlines())


@pytest.mark.slow
def test_a_disabled_lesson_is_listed_when_asked_for(ramfirst, run):
    chosen = lesson_ids(run)[0]
    done = run("memory", "lessons", "disable", chosen, "--json").json
    assert (done["lessons"][0]["id"], done["lessons"][0]["enabled"]) == (chosen, False)
    assert chosen not in lesson_ids(run)
    everyone = run("memory", "lessons", "list", "--include-disabled", "--json").json
    assert chosen in [row["id"] for row in everyone]
    run("memory", "lessons", "enable", chosen)
    assert chosen in lesson_ids(run)


def test_a_lesson_is_added_corrected_and_deleted(ramfirst, run):
    made = run("memory", "lessons", "add", "--trigger", "response:length", "--action", "Two sentences", "--json").json
    lesson = made["lesson"]
    assert (lesson["scope"], lesson["better_action"]) == ("global", "Two sentences")
    done = run("memory", "lessons", "edit", lesson["id"], "--confidence", "9", "--json").json
    assert done["lesson"]["confidence"] == 9
    assert run("memory", "lessons", "delete", lesson["id"]).code == 2
    assert (
        run("memory", "lessons", "delete", lesson["id"], "--dry-run", "--json").json["lessons"][0]["id"] == lesson["id"]
    )
    run("memory", "lessons", "delete", lesson["id"], "--yes")
    assert lesson["id"] not in lesson_ids(run)


@pytest.mark.slow
def test_lessons_are_compacted_and_reset_and_come_back(ramfirst, run):
    looked = run("memory", "lessons", "compact", "--max-lessons", "10", "--dry-run", "--json").json
    assert (looked["kept"], len(looked["removed"])) == (10, 51)
    run("memory", "lessons", "compact", "--max-lessons", "10", "--yes")
    assert len(lesson_ids(run)) == 10
    assert run("memory", "lessons", "reset").code == 2
    assert len(run("memory", "lessons", "reset", "--dry-run", "--json").json["lessons"]) == 10
    run("memory", "lessons", "reset", "--yes")
    assert lesson_ids(run) == []
    assert run("memory", "lessons", "reset").code == 0
    run("undo", "2")
    assert len(lesson_ids(run)) == 61


# -- hostile text -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_hostile_text_never_reaches_the_terminal_and_keeps_its_value(ramfirst, run):
    made = run("memory", "add", "--text", HOSTILE, "--json")
    item = made.json["item"]
    assert item["text"] == HOSTILE
    run("memory", "lessons", "add", "--trigger", HOSTILE, "--action", HOSTILE)
    lesson = lesson_ids(run)[0]
    lines = [
        ["memory", "list"],
        ["memory", "list", "--json"],
        ["memory", "show", item["id"]],
        ["memory", "search", "evil"],
        ["memory", "history", item["id"]],
        ["memory", "delete", item["id"], "--dry-run"],
        ["memory", "export"],
        ["memory", "lessons", "list"],
        ["memory", "lessons", "list", "--json"],
        ["memory", "lessons", "show", lesson],
        ["log"],
        ["log", "--full", "--json"],
        ["undo"],
    ]
    outputs = [run(*line).out for line in lines]
    assert all(outputs)
    for text in outputs:
        assert not set("\x1b\x07\x9b\u202e") & set(text)


def test_a_ten_megabyte_line_is_listed_in_one_line(ramfirst, run):
    file = ramfirst / "memory" / "LTM_SNAPSHOT.json"
    body = json.loads(file.read_text("utf-8"))
    body["items"][0]["text"] = "x" * 10_000_000
    file.write_text(json.dumps(body, indent=2, ensure_ascii=False), "utf-8")
    result = run("memory", "list")
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) < 300
    assert result.out.splitlines()[-1] == "156 items"


def test_a_torn_workspace_shows_what_is_broken_and_keeps_the_rest(home, run):
    home("torn")
    status = run("memory", "status", "--json").json
    assert status["problems"]
    assert {"what", "where", "line", "fix", "severity"} <= set(status["problems"][0])
    assert len(run("memory", "lessons", "list", "--json").json) == 60
    assert run("memory", "list", "--json").json


def test_stdout_is_utf8_json_whatever_the_locale(ramfirst):
    import subprocess

    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "PYTHONIOENCODING": "ascii"}
    line = [sys.executable, "-m", "nanomem_tui", "memory", "list", "--json"]
    done = subprocess.run(line, capture_output=True, env=env, check=True)
    assert any("一" <= c <= "鿿" for c in done.stdout.decode("utf-8"))


def test_a_history_that_cannot_be_read_is_not_an_empty_one(home, run):
    workspace = home("nb035")
    history = workspace / "memory" / "history.jsonl"
    history.unlink()
    history.mkdir()
    result = run("memory", "status")
    assert result.code == 2
    assert "? entries" in result.out
    assert "history could not be counted" in result.err
    found = json.loads(run("memory", "status", "--json").out)["problems"]
    named = [problem for problem in found if "history.jsonl" in problem["where"]]
    assert len(named) == 1


def test_a_secret_that_a_person_types_is_kept_and_told_and_the_doctor_counts_it(workspace, run):
    done = run("memory", "add", "--text", "my password is hunter2Blue!")
    assert "kept as you typed it; it holds a password: `nanomem scrub --mask` takes it out" in done.err
    assert "hunter2Blue" not in done.out + done.err
    run("memory", "lessons", "add", "--trigger", "login", "--action", "the password is hunter2Blue!")
    notes = [one for one in run("doctor", "--json").json if "a secret, as it was typed" in one["what"]]
    assert [(one["what"], one["where"], one["severity"]) for one in notes] == [
        ("1 item holds a secret, as it was typed", "items", "note"),
        ("1 lesson holds a secret, as it was typed", "lessons", "note"),
    ]
    assert "hunter2Blue" not in run("doctor").out


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("fill", ("memory", "compact", "--max-items", "1")),
        ("fill", ("memory", "prune", "--older-than-days", "0")),
        ("note", ("memory", "backfill")),
        ("talk", ("session", "compact", "--all", "--keep", "2")),
    ],
)
def test_what_the_systems_run_as_typed_runs_without_a_question(tmp_path, monkeypatch, run, change, line):
    workspace = make_home(tmp_path, items=3 if change == "fill" else 0)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(workspace))
    if change == "note":
        (workspace / "memory" / "MEMORY.md").write_text("# Notes\n- The ferry leaves at nine\n")
    if change == "talk":
        rows = [{"_type": "metadata", "key": "cli:direct", "metadata": {}}]
        rows += [{"role": "user", "content": f"message {number}"} for number in range(9)]
        (workspace / "sessions").mkdir(exist_ok=True)
        (workspace / "sessions" / "cli_direct.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = (run("memory", "list", "--json").json, run("session", "list", "--json").json)
    looked = run(*line, "--dry-run", "--json").json
    assert (looked["operation"], looked["dry_run"]) == (None, True)
    assert (run("memory", "list", "--json").json, run("session", "list", "--json").json) == before
    done = run(*line)
    assert (done.code, done.err) == (0, "")
    undo = re.search(r"\(`nanomem (undo op_\w+)` takes it back\)", done.out)
    assert undo is not None, done.out
    again = run(*line)
    assert (again.code, again.err) == (0, "")
    assert "undo" not in again.out
    assert run(*undo[1].split()).code == 0
    assert len(run("memory", "list", "--json").json) == len(before[0])


def test_adding_what_is_remembered_says_into_which_id(workspace, run):
    first = run("memory", "add", "--text", "Likes the ferry", "--json").json
    again = run("memory", "add", "--text", "likes the ferry.")
    assert "merged" not in first
    assert again.out.endswith(f"which is remembered already: {first['item']['id']}\n")
    told = run("memory", "add", "--text", "Likes the ferry", "--importance", "0.9", "--json").json
    assert (told["merged"], told["item"]["id"], told["item"]["hits"]) == (True, first["item"]["id"], 2)
    elsewhere = run("memory", "add", "--text", "Likes the ferry", "--channel", "cli", "--chat-id", "1", "--json").json
    assert "merged" not in elsewhere
    assert elsewhere["item"]["id"] != first["item"]["id"]
