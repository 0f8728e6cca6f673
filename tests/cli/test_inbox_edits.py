"""`nanomem inbox` on edits of Dreams: what each would change and why it waits, and what a decision leaves behind."""

import dataclasses
import json

import pytest

from nanomem_tui.core.paths import find_workspace
from nanomem_tui.dreams.edits import LineEdit
from tests.review.test_waiting import ADD, REMOVE, REPLACE, TEXT, USER, hold_edits
from tests.store.homes import files, make_home

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
HELD = f"- token: {TOKEN}"


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A home in which three edits wait, the newest last, and one of the entries that ask for them is in the history."""
    made = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    hold_edits(made, REPLACE, REMOVE, ADD)
    entry = {"cursor": 6, "timestamp": "2026-04-03 00:02", "content": "- allergic to nuts", "session_key": "cli:direct"}
    (made / "memory" / "history.jsonl").write_text(json.dumps(entry) + "\n")
    return made


def ids(run):
    return sorted(row["id"] for row in run("inbox", "list", "--json").json)


def text(workspace):
    return (workspace / USER).read_text()


def test_the_list_holds_both_lines_the_reason_and_the_evidence(workspace, run):
    rows = {row["op"]: row for row in run("inbox", "list", "--json").json}
    assert list(rows["replace"])[:6] == ["id", "layer", "text", "why", "since", "origin"]
    assert {row["layer"] for row in rows.values()} == {row["kind"] for row in rows.values()} == {"edit"}
    assert (rows["replace"]["old"], rows["replace"]["new"]) == ("- likes tea", "- likes coffee")
    assert (rows["remove"]["old"], rows["remove"]["new"]) == ("- lives in Bremen", "")
    assert (rows["add"]["file"], rows["add"]["section"], rows["add"]["why"]) == (
        USER, "Health", "nothing accounts for it",
    )  # fmt: skip
    assert [entry["cursor"] for entry in rows["add"]["evidence"]] == [6, 99]
    assert rows["add"]["evidence"][0]["text"] == "allergic to nuts"
    shown = run("inbox", "list").out
    assert "- likes tea + likes coffee" in shown
    assert "3 things waiting" in shown
    assert "3 wait in the inbox" in run("memory", "status").out
    assert run("memory", "status", "--json").json["inbox"] == 3


def test_one_is_shown_with_what_asks_for_it(workspace, run):
    key = next(row["id"] for row in run("inbox", "list", "--json").json if row["op"] == "add")
    shown = run("inbox", "show", key).out
    assert shown.startswith("USER.md, Health:\n+ - allergic to nuts\n")
    assert "  #6 2026-04-03 00:02 cli:direct: allergic to nuts\n" in shown
    assert "  #99 is not in the history any more\n" in shown
    assert "Now" not in shown
    (workspace / USER).write_text("# User\n")
    other = next(row["id"] for row in run("inbox", "list", "--json").json if row["op"] == "replace")
    assert "cannot be made as it is: the line to change is not there any more" in run("inbox", "show", other).out
    assert run("inbox", "show", other, "--json").json["now"]


def test_a_look_at_an_accept_shows_the_lines_of_the_file(workspace, run):
    replace, remove, add = ids(run)
    assert "    - - likes tea\n    + - likes coffee\n" in run("inbox", "accept", replace, "--dry-run").out
    assert "    - - lives in Bremen\n" in run("inbox", "accept", remove, "--dry-run").out
    assert "    + - allergic to nuts\n" in run("inbox", "accept", add, "--dry-run").out
    assert text(workspace) == TEXT


def test_the_mark_of_a_masked_secret_is_not_written_in_its_place(workspace, run):
    before = set(ids(run))
    hold_edits(workspace, dataclasses.replace(ADD, new="- password: [password #83e3]"))
    (key,) = set(ids(run)) - before
    assert "was masked and is not kept" in run("inbox", "show", key).out
    refused = run("inbox", "accept", key)
    assert (refused.code, "--text" in refused.err) == (2, True)
    assert text(workspace) == TEXT
    assert run("inbox", "accept", key, "--text", "keeps the password in a safe").code == 0
    assert "- keeps the password in a safe" in text(workspace)


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (LineEdit("remove", USER, old=HELD, evidence=(7,)), TEXT),
        (LineEdit("replace", USER, old=HELD, new=f"{HELD}, of CI", evidence=(7,)), f"{TEXT}{HELD}, of CI\n"),
        (LineEdit("move", USER, old=HELD, to_file="memory/MEMORY.md", section="Keys", evidence=(7,)), TEXT),
    ],
)
def test_a_secret_in_the_line_that_goes_is_nowhere_told_and_the_line_is_found(workspace, run, edit, after):
    before = set(ids(run))
    hold_edits(workspace, edit)
    (workspace / USER).write_text(f"{TEXT}{HELD}\n")
    entry = {"cursor": 7, "timestamp": "2026-04-03 00:02", "content": f"- the token is {TOKEN}, of CI"}
    (workspace / "memory" / "history.jsonl").write_text(json.dumps(entry) + "\n")
    (key,) = set(ids(run)) - before
    shown = [
        run("inbox", *words).out for words in (["list"], ["list", "--json"], ["show", key], ["show", key, "--json"])
    ]
    assert all("[GitHub token #" in text and TOKEN not in text for text in shown)
    kept = b"".join(path.read_bytes() for path in find_workspace(workspace).review.glob("*.json"))
    assert (b"[GitHub token #" in kept, TOKEN.encode() in kept) == (True, False)
    assert run("inbox", "accept", key).code == 0
    assert text(workspace) == after
    run("undo")
    assert (text(workspace), set(ids(run)) - before) == (f"{TEXT}{HELD}\n", {key})


def test_accept_reject_and_undo(workspace, run):
    replace, remove, add = ids(run)
    body = run("inbox", "accept", replace, "--json").json
    assert (body["operation"]["kind"], body["left"], text(workspace)) == (
        "dream.accept", [], TEXT.replace("tea", "coffee"),
    )  # fmt: skip
    assert run("inbox", "reject", remove, "--yes").out.startswith("reject remove")
    run("inbox", "accept", add, "--text", "allergic to peanuts")
    assert "- allergic to peanuts" in text(workspace)
    assert ids(run) == []
    for _ in range(3):
        assert run("undo").code == 0
    assert (ids(run), text(workspace)) == ([replace, remove, add], TEXT)


def test_a_dry_run_changes_nothing_and_says_what_would(workspace, run):
    before = files(workspace.parent)
    planned = run("inbox", "accept", *ids(run), "--dry-run")
    assert (planned.code, "Would accept 3 edits" in planned.out, "leaves the inbox" in planned.out) == (0, True, True)
    assert run("inbox", "reject", ids(run)[0], "--dry-run", "--json").json["dry_run"] is True
    assert files(workspace.parent) == before


def test_what_cannot_be_made_waits_on_and_the_rest_is_done(workspace, run):
    (workspace / USER).write_text("# User\n\n- lives in Bremen\n")
    done = run("inbox", "accept", "--all", "--yes")
    assert (done.code, "waits on: the line to change is not there any more" in done.err) == (0, True)
    assert len(ids(run)) == 1
    alone = run("inbox", "accept", *ids(run))
    assert (alone.code, alone.err.count("\n"), "not there any more" in alone.err) == (2, 1, True)


@pytest.mark.parametrize("bad", ["", "two\nlines", "\x1b[31mred"])
def test_words_that_are_no_line_are_refused(workspace, run, bad):
    refused = run("inbox", "accept", ids(run)[2], "--text", bad)
    assert (refused.code, refused.err.count("\n"), text(workspace)) == (2, 1, TEXT)


def test_hostile_words_and_broken_files_are_shown_and_obeyed_by_nobody(workspace, run):
    hold_edits(workspace, REPLACE.__class__("add", USER, new="- \x1b]52;c;AAAA\x07 [/foo] \u202e"))
    (workspace.parent / "nanomem" / "review" / "hunk_1_1.json").write_text("{")
    listed = run("inbox", "list")
    assert not {"\x1b", "\x07", "\u202e"} & set(listed.out)
    assert listed.err.startswith("Note: review/hunk_1_1.json: no waiting edit")
    assert "4 things waiting" in listed.out
