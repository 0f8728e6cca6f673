"""`nanomem moments`: what it prints of the past, and what it brings back."""

from __future__ import annotations

import subprocess

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import Conflict
from tests.store.homes import make_home


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Three items; then one was edited, one deleted, and one came. The ids by a word, `then`: the moment before."""
    made = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    ids: dict[str, str] = {}
    with open_workspace(made) as ws:
        for row in ws.items.all():
            ws.items.delete([row.id])
        for name, text, kind in (
            ("tea", "Drinks green tea 茶", "preference"),
            ("cat", "Has a cat\x1b]0;x\x07", "fact"),
            ("city", "Lives in Graz", "fact"),
        ):
            ids[name] = ws.items.add(text, kind=kind)[1].id
        ws.flush()
        ids["then"] = ws.log(1)[0].operation.id
        ws.items.edit(ids["tea"], text="Drinks coffee")
        ws.items.delete([ids["cat"]])
        ids["bird"] = ws.items.add("Has a bird")[1].id
    return ids


def texts(run):
    return {row["text"] for row in run("memory", "list", "--json").json}


def test_a_moment_is_shown_as_it_was(told, run):
    found = run("moments", "show", told["then"], "--layer", "item", "--json").json
    assert {row["id"] for row in found["rows"]} == {told["tea"], told["cat"], told["city"]}
    assert found["moment"]["after"] == told["then"]
    plain = run("moments", "show", told["then"], "--kind", "preference").out
    assert "Drinks green tea 茶" in plain
    assert plain.splitlines()[-1] == "1 row"
    assert "\x1b" not in run("moments", "show", told["then"]).out


def test_a_difference_says_what_came_went_and_changed(told, run):
    found = run("moments", "diff", told["then"], "--json").json["differences"]
    assert {one["id"]: (one["fate"], one["fields"][:1]) for one in found} == {
        told["tea"]: ("changed", ["text"]),
        told["cat"]: ("removed", []),
        told["bird"]: ("added", []),
    }
    lines = run("moments", "diff", told["then"]).out.splitlines()
    assert f"~ item {told['tea']}: “Drinks coffee”" in lines
    assert "    text: “Drinks green tea 茶” → “Drinks coffee”" in lines
    assert any(line.startswith(f"- item {told['cat']}") for line in lines)
    assert any(line.startswith(f"+ item {told['bird']}") for line in lines)
    assert "\x1b" not in "".join(lines)
    assert run("moments", "diff", "now").out == "Nothing differs.\n"


@pytest.mark.slow
def test_one_row_a_kind_a_scope_or_all_comes_back_and_undo_takes_that_back(told, run):
    late = {"Drinks coffee", "Lives in Graz", "Has a bird"}
    early = {"Drinks green tea 茶", "Has a cat\x1b]0;x\x07", "Lives in Graz"}
    for wanted, left in (
        (["--id", told["tea"]], {"Drinks green tea 茶", "Lives in Graz", "Has a bird"}),
        (["--kind", "fact"], {"Drinks coffee", *early} - {"Drinks green tea 茶"}),
        (["--layer", "item"], early),
        (["--all"], early),
        (["--scope", "global"], early),
    ):
        assert run("moments", "restore", told["then"], *wanted, "--dry-run").code == 0
        assert texts(run) == late
        done = run("moments", "restore", told["then"], *wanted, "--yes", "--json").json
        assert done["operation"]["kind"] == "moments.restore"
        assert texts(run) == left, wanted
        assert run("undo").code == 0
        assert texts(run) == late


def test_a_rehearsal_says_what_each_row_would_be(told, run):
    lines = run("moments", "restore", told["then"], "--all", "--dry-run").out.splitlines()
    assert lines[0].startswith("Would restore 3 rows as of ")
    assert "      text: “Drinks coffee” → “Drinks green tea 茶”" in lines
    assert any(line.startswith(f"  + item {told['cat']}") for line in lines)
    assert any(line.startswith(f"  - item {told['bird']}") for line in lines)


@pytest.mark.slow
def test_the_list_names_moments_that_the_other_commands_know(told, run):
    found = run("moments", "list", "--json").json
    kinds = [one["kind"] for one in found]
    assert {"operation", "checkpoint"} <= set(kinds)
    assert all(run("moments", "show", one["id"], "--json").code == 0 for one in found)
    assert [one["at"] for one in found] == sorted((one["at"] for one in found), reverse=True)
    assert [one["name"] for one in run("moments", "list", "--limit", "2", "--offset", "1", "--json").json] == [
        one["name"] for one in found[1:3]
    ]
    for one in found:
        assert run("moments", "diff", one["name"], "--json").code == 0, one
    assert found[0]["name"] in run("moments", "list").out


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (["diff", "soon"], 2, "that names no moment"),
        (["show", "2001-01-01"], 2, "nothing is recorded of that time"),
        (["restore", "now", "--all"], 1, "nothing differs from then"),
        (["restore", "now"], 2, "name what to restore"),
        (["restore", "now", "--all", "--kind", "fact"], 2, "name what to restore"),
        (["show", "now", "--layer", "sessions"], 2, "no such layer"),
        (["show", "now", "--scope", "nowhere"], 2, "nowhere"),
    ],
)
def test_what_cannot_be_is_one_line(told, run, line, code, said):
    found = run("moments", *line)
    assert (found.code, found.err.count("\n")) == (code, 1), found
    assert said in found.err


def test_without_a_yes_nothing_is_restored(told, run):
    found = run("moments", "restore", told["then"], "--all")
    assert found.code == 2
    assert "add --yes" in found.err
    assert "Has a bird" in texts(run)


def test_files_differ_by_their_lines_between_two_versions_and_since_one(run, home):
    workspace = home("nb035")
    newest, older = (one["name"] for one in run("moments", "list", "--json").json[:2])
    found = run("moments", "diff", older, newest, "--json").json
    line = ["git", "-C", str(workspace), "diff", "--name-only", older, newest, "--", "*.md"]
    known = subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()
    assert sorted(one["path"] for one in found["files"]) == sorted(known) != []
    assert "nothing is recorded of that time" in found["unknown"]
    (workspace / "USER.md").write_text((workspace / "USER.md").read_text() + "- By hand\x1b]0;x\x07\n")
    since = run("moments", "diff", newest).out
    assert "+- By hand" in since
    assert "\x1b" not in since
    assert run("moments", "diff", newest, "--layer", "item").code == 2


def test_the_files_of_a_moment_are_shown_as_they_were(run, home):
    workspace = home("nb035")
    older = run("moments", "list", "--json").json[3]["name"]
    line = ["git", "-C", str(workspace), "show", f"{older}:USER.md"]
    known = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    shown = run("moments", "show", older, "--json").json
    assert {one["path"]: one["text"] for one in shown["files"]}["USER.md"] == known
    assert "nothing is recorded of that time" in shown["unknown"]
    assert run("moments", "show", older, "--file", "USER.md").out.rstrip("\n") == known.rstrip("\n")
    (workspace / "USER.md").write_text("# By hand \x1b]0;x\x07\n")
    assert "\x1b" not in run("moments", "show", "now", "--file", "USER.md").out
    wrong = run("moments", "show", older, "--file", "OTHER.md")
    assert wrong.code == 2
    assert "SOUL.md, USER.md" in wrong.err


def test_an_edited_file_is_in_the_moment_right_after_it(tmp_path, run, home):
    workspace = home("nb035")
    before = (workspace / "USER.md").read_text()
    made = []
    for number in range(3):
        source = tmp_path / "text"
        source.write_text(f"{before}- Number {number}\n")
        assert run("files", "edit", "USER.md", "--from", source).code == 0
        made.append(run("log", "--limit", "1", "--json").json[0]["id"])
    for one, other, came in ((0, 1, "+- Number 1"), (1, 2, "+- Number 2"), (0, 2, "+- Number 2")):
        lines = run("moments", "diff", made[one], made[other]).out.splitlines()
        assert [line for line in lines if line.startswith("+- ")] == [came]
    assert run("moments", "diff", made[2]).out == "Nothing differs.\n"


def damaged(workspace):
    """The newest commit of the memory's files cannot be read any more."""
    head = subprocess.run(
        ["git", "-C", str(workspace), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = workspace / ".git" / "objects" / head[:2] / head[2:]
    found.chmod(0o600)
    found.write_bytes(b"junk")


def test_versions_that_cannot_be_read_leave_the_rest_of_the_past(run, home):
    workspace = home("nb035")
    assert run("memory", "add", "--text", "Drinks tea").code == 0
    then = run("log", "--limit", "1", "--json").json[0]["id"]
    assert run("memory", "add", "--text", "Drinks coffee").code == 0
    damaged(workspace)
    listed = run("moments", "list")
    assert (listed.code, then in listed.out) == (0, True)
    assert "Without the versions of the files." in listed.err
    since = run("moments", "diff", then)
    assert (since.code, "Drinks coffee" in since.out) == (0, True)
    assert "a git object that cannot be read" in since.err


@pytest.fixture
def worked(tmp_path, monkeypatch, run):
    """Goals of which one was edited since, one deleted, and one added; the operation before."""
    made = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(made))
    with open_workspace(made) as ws:
        ws.records.add("goal", {"description": "Keep the site up", "priority": 3}, "g1")
        ws.records.add("goal", {"description": "Write the handbook"}, "g2")
        ws.items.add("The harbour is cold")
        then = ws.log(1)[0].operation.id
        ws.records.edit("goal", "g1", {"description": "Keep the site fast"})
        ws.records.delete("goal", ["g2"])
        ws.records.add("goal", {"description": "Learn Dutch"}, "g3")
    return then


def goals(run):
    return {one["id"]: one["description"] for one in run("record", "goal", "list", "--json").json}


EARLY = {"g1": "Keep the site up", "g2": "Write the handbook"}
LATE = {"g1": "Keep the site fast", "g3": "Learn Dutch"}


def test_a_difference_tells_what_became_of_work_records(worked, run):
    found = run("moments", "diff", worked, "--json").json["differences"]
    assert {one["id"]: (one["layer"], one["fate"], one["fields"]) for one in found} == {
        "goal/g1": ("work", "changed", ["description"]),
        "goal/g2": ("work", "removed", []),
        "goal/g3": ("work", "added", []),
    }
    (edited,) = [one for one in found if one["id"] == "goal/g1"]
    assert (edited["then"]["description"], edited["now"]["description"]) == ("Keep the site up", "Keep the site fast")
    lines = run("moments", "diff", worked).out.splitlines()
    assert "~ work goal/g1: “Keep the site fast”" in lines
    assert "    description: “Keep the site up” → “Keep the site fast”" in lines
    assert "- work goal/g2: “Write the handbook”" in lines
    assert "+ work goal/g3: “Learn Dutch”" in lines
    shown = run("moments", "show", worked, "--layer", "work", "--json").json["rows"]
    assert {row["id"]: row["description"] for row in shown} == EARLY
    assert run("moments", "diff", worked, "--layer", "item", "--json").json["differences"] == []


@pytest.mark.slow
def test_work_records_come_back_as_one_operation_and_undo_takes_that_back(worked, run):
    for wanted, left in (
        (["--id", "g1"], {**LATE, "g1": EARLY["g1"]}),
        (["--id", "goal/g2"], {**LATE, "g2": EARLY["g2"]}),
        (["--kind", "goal"], EARLY),
        (["--layer", "work"], EARLY),
        (["--all"], EARLY),
    ):
        assert run("moments", "restore", worked, *wanted, "--dry-run").code == 0
        assert goals(run) == LATE
        assert run("moments", "restore", worked, *wanted, "--yes").code == 0
        assert goals(run) == left
        assert run("undo").code == 0
        assert goals(run) == LATE
    assert run("moments", "restore", worked, "--layer", "lesson", "--yes").code == 1


def test_rows_and_work_come_back_together(worked, run):
    run("memory", "add", "--text", "The lake is warm")
    assert run("moments", "restore", worked, "--all", "--yes").code == 0
    assert goals(run) == EARLY
    assert "The lake is warm" not in texts(run)
    assert run("undo").code == 0
    assert goals(run) == LATE
    assert "The lake is warm" in texts(run)


def test_what_an_agent_told_of_its_work_since_stays(worked, run):
    with open_workspace() as ws:
        ws.records.store("goal", {"status": "active", "priority": 1}, "g1")
        ws.records.store("goal", {"description": "Told by the agent"}, "g4")
    assert {one["id"] for one in run("moments", "diff", worked, "--json").json["differences"]} == {
        "goal/g1", "goal/g2", "goal/g3",
    }  # fmt: skip
    assert run("moments", "restore", worked, "--all", "--yes").code == 0
    assert goals(run) == {**EARLY, "g4": "Told by the agent"}
    (goal,) = [one for one in run("record", "goal", "list", "--json").json if one["id"] == "g1"]
    assert (goal["status"], goal["priority"]) == ("active", 1)


def test_a_record_that_changed_since_the_plan_is_not_overwritten(worked):
    with open_workspace() as ws:
        plan = ws.moments.plan(ws.moments.named(worked))
        ws.records.edit("goal", "g1", {"description": "Another one"})
        with pytest.raises(Conflict, match="changed since you looked"):
            ws.moments.restore(plan)
        assert ws.records.get("goal", "g1").fields["description"] == "Another one"
